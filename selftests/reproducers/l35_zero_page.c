// SPDX-License-Identifier: GPL-2.0
/*
 * L35: a mapping of a device that is gone counts the kernel's page of zeros.
 *
 * Symptom: a process that reads a mapping it can never write, such as libmlx5's own of the
 * device's clock, after the device was removed, has the page of zeros mapped with a
 * reference and a count of its mappings, which the kernel never does with that page.  One
 * with CONFIG_DEBUG_VM warns, in folio_add_file_rmap_ptes() and at the end of the mapping
 * in vm_normal_page() and folio_remove_rmap_ptes().
 *
 * Wrong: rdma_umap_fault() in drivers/infiniband/core/uverbs_main.c has the fault handler
 * map ZERO_PAGE() as any page that a file has.
 *
 * Fix: vmf_insert_pfn(), which has it mapped as what is not counted.
 *
 * Takes mlx5_ib from the device and gives it back, so it needs root, and a device that
 * nobody else is using.  /proc/kpagecount has the count of that page's mappings.
 *
 * Build:  gcc -Wall -o l35_zero_page l35_zero_page.c -lmlx5 -libverbs
 * Run:    ./l35_zero_page [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <linux/kernel-page-flags.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CANNOT_TELL	4
#define DRIVER		"/sys/bus/auxiliary/drivers/mlx5_ib.rdma/"

/* MLX5_IB_MMAP_CORE_CLOCK of the kernel's mlx5_ib.h, in the offset's bits for a command. */
#define CLOCK_OFFSET(page_size)	(((off_t)5 << 8) * (page_size))

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

/* The auxiliary device of mlx5_core that the driver has made this RDMA device of. */
static void find_auxiliary(const char *name, char *auxiliary, size_t size)
{
	char pattern[PATH_MAX];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/sys/class/infiniband/%s/device/mlx5_core.rdma.*",
		 name);
	if (glob(pattern, 0, NULL, &found))
		errx(CANNOT_TELL, "%s: not there", pattern);
	snprintf(auxiliary, size, "%s", strrchr(found.gl_pathv[0], '/') + 1);
	globfree(&found);
}

static void tell_driver(const char *what, const char *auxiliary)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), DRIVER "%s", what);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, auxiliary, strlen(auxiliary)) < 0)
		err(CANNOT_TELL, "%s %s", path, auxiliary);
	close(fd);
}

/* An entry of a file that has one for each page. */
static uint64_t entry_of(const char *path, uint64_t page)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t entry;

	if (fd < 0 || pread(fd, &entry, sizeof(entry), page * sizeof(entry)) != sizeof(entry))
		err(CANNOT_TELL, "%s", path);
	close(fd);
	return entry;
}

/* How often the page of zeros is mapped and counted; -1 for whom that is hidden. */
static long zero_page_mappings(long page_size)
{
	char *own = mmap(NULL, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t frame;

	if (own == MAP_FAILED)
		err(CANNOT_TELL, "mmap");
	/* Memory that was only read is that page.  Bits 0 to 54 are its frame. */
	(void)__atomic_load_n(own, __ATOMIC_RELAXED);
	frame = entry_of("/proc/self/pagemap", (uintptr_t)own / page_size) & ((1ULL << 55) - 1);
	munmap(own, page_size);
	if (!frame || !(entry_of("/proc/kpageflags", frame) >> KPF_ZERO_PAGE & 1))
		return -1;
	return entry_of("/proc/kpagecount", frame);
}

int main(int argc, char **argv)
{
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	const long page_size = sysconf(_SC_PAGESIZE);
	char auxiliary[NAME_MAX];
	uint32_t *clock, word;
	long before, after;

	if (!ctx)
		err(CANNOT_TELL, "no mlx5 device");
	clock = mmap(NULL, page_size, PROT_READ, MAP_SHARED, ctx->cmd_fd, CLOCK_OFFSET(page_size));
	if (clock == MAP_FAILED)
		err(CANNOT_TELL, "the clock cannot be mapped");
	before = zero_page_mappings(page_size);
	if (before < 0)
		errx(CANNOT_TELL, "cannot find the page of zeros: run as root");
	find_auxiliary(ibv_get_device_name(ctx->device), auxiliary, sizeof(auxiliary));
	tell_driver("unbind", auxiliary);
	word = __atomic_load_n(clock, __ATOMIC_RELAXED);
	after = zero_page_mappings(page_size);
	munmap(clock, page_size);
	tell_driver("bind", auxiliary);
	if (word)
		errx(CANNOT_TELL, "the mapping reads 0x%x, no page of zeros", word);
	printf("%s: the page of zeros has %ld counted mappings, before the device went %ld\n",
	       after > before ? "bad" : "good", after, before);
	return after > before;
}
