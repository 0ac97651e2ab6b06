// SPDX-License-Identifier: GPL-2.0
/*
 * L29: a region whose addresses would wrap makes the driver warn.
 *
 * Symptom: ibv_reg_mr_iova() of two pages at the last page of the address space is refused,
 * as it should be, and the kernel writes a warning with all registers, each time; with
 * panic_on_warn it panics.  Everybody who may open the device can do that.
 *
 * Wrong: alloc_cacheable_mr() in drivers/infiniband/hw/mlx5/mr.c has WARN_ON(!page_size),
 * but ib_umem_find_best_pgsz() finds no page size where address plus length overflow, and
 * nobody has looked at the address before.  can_use_umr_rereg_pas() has the same for
 * REREG_MR.  7.2 and 7.3 have the same code.
 *
 * Fix: refuse without the warning, as reg_create() does.
 *
 * Needs root, to read the kernel log.
 *
 * Build:  gcc -Wall -o l29_iova_overflow l29_iova_overflow.c -lmlx5 -libverbs
 * Run:    ./l29_iova_overflow [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CANNOT_TELL	4
#define PAGE		4096

/* The first mlx5 device, or the one of that name. */
static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (; list && *list; list++)
		if (mlx5dv_is_supported(*list) &&
		    (!name || !strcmp(name, ibv_get_device_name(*list))))
			return ibv_open_device(*list);
	errno = ENODEV;
	return NULL;
}

/* How many of the lines that a reader of the kernel log has not seen yet are warnings. */
static int warnings(int kmsg)
{
	char record[8192];
	ssize_t len;
	int count = 0;

	do {
		len = read(kmsg, record, sizeof(record) - 1);
		if (len > 0) {
			record[len] = '\0';
			count += !!strstr(record, "WARNING: ");
		}
		/* EPIPE: some were overwritten. */
	} while (len > 0 || errno == EPIPE);
	if (errno != EAGAIN)
		err(CANNOT_TELL, "/dev/kmsg");
	return count;
}

int main(int argc, char **argv)
{
	static char pages[2 * PAGE] __attribute__((aligned(PAGE)));
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	int refused, seen;

	if (!pd)
		err(CANNOT_TELL, "no mlx5 device");
	if (kmsg < 0 || lseek(kmsg, 0, SEEK_END) < 0)
		err(CANNOT_TELL, "/dev/kmsg: be root");
	refused = ibv_reg_mr_iova(pd, pages, sizeof(pages), -(uint64_t)PAGE,
				  IBV_ACCESS_LOCAL_WRITE) ? 0 : errno;
	seen = warnings(kmsg);
	printf("%s: %s, %d warnings; expected %s and none\n", seen || !refused ? "bad" : "good",
	       strerror(refused), seen, strerror(EINVAL));
	return seen || !refused;
}
