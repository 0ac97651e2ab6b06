// SPDX-License-Identifier: GPL-2.0
/*
 * L07: DM_MAP_OP_ADDR says ENOENT where it has no memory.
 *
 * Symptom: the call fails with ENOENT, which means that there is no such memory, if the
 * kernel cannot allocate the structure of the operation.
 *
 * Wrong: the handler of DM_MAP_OP_ADDR in drivers/infiniband/hw/mlx5/dm.c leaves err as the
 * look-up of the operation has set it, to -ENOENT.  Linux 5.13 and later.
 *
 * Fix: set err to -ENOMEM where the allocation fails.
 *
 * Each allocation of the call fails once, by /proc/self/fail-nth of a kernel with
 * CONFIG_FAILSLAB, or by the module fail_allocation of this suite:
 * insmod fail_allocation.ko function=__kmalloc_cache_noprof
 * Needs root for either.
 *
 * Build:  gcc -Wall -o l07_op_no_memory l07_op_no_memory.c -lmlx5 -libverbs
 * Run:    ./l07_op_no_memory [DEVICE]
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
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl.h>

#define CANNOT_TELL	4
#define MODULE		"/sys/module/fail_allocation/parameters/"
#define FAILSLAB	"/sys/kernel/debug/failslab/"
/* More than the call makes. */
#define ALLOCATIONS	64

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

static int say(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY);
	int bad = fd < 0 || write(fd, text, strlen(text)) < 0;

	if (fd >= 0)
		close(fd);
	return bad;
}

/* The file that takes the number of the allocation that is to fail. */
static int open_nth(void)
{
	char pid[16];
	int fd = open("/proc/self/fail-nth", O_RDWR);

	if (fd >= 0) {
		/* Those that may sleep fail as well. */
		say(FAILSLAB "ignore-gfp-wait", "N");
		return fd;
	}
	snprintf(pid, sizeof(pid), "%d", getpid());
	fd = open(MODULE "nth", O_RDWR);
	return fd >= 0 && !say(MODULE "pid", pid) ? fd : -1;
}

static void set_nth(int fd, int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", nth);

	/* Copies from and to this program may count: then it is this one that has failed. */
	if (pwrite(fd, text, len, 0) != len && pwrite(fd, text, len, 0) != len)
		err(CANNOT_TELL, "%d cannot be written", nth);
}

/* How many are left before one fails, 0 if one has. */
static int get_nth(int fd)
{
	char text[16] = "";

	if (pread(fd, text, sizeof(text) - 1, 0) < 1) {
		if (errno == EFAULT)
			return 1;
		err(CANNOT_TELL, "what is left cannot be read");
	}
	return atoi(text);
}

/* 0 or an errno. */
static int map_operation_0(struct ibv_dm *dm)
{
	uint64_t offset;
	uint16_t page;
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[4];
	} cmd = {
		.hdr.length = sizeof(cmd),
		.hdr.object_id = UVERBS_OBJECT_DM,
		.hdr.method_id = MLX5_IB_METHOD_DM_MAP_OP_ADDR,
		.hdr.num_attrs = 4,
		.hdr.driver_id = RDMA_DRIVER_MLX5,
		.attr = {
			{ .attr_id = MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE,
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = dm->handle },
			{ .attr_id = MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP,
			  .flags = UVERBS_ATTR_F_MANDATORY, .len = sizeof(uint8_t) },
			{ .attr_id = MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET,
			  .flags = UVERBS_ATTR_F_MANDATORY,
			  .len = sizeof(offset), .data = (uintptr_t)&offset },
			{ .attr_id = MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX,
			  .flags = UVERBS_ATTR_F_MANDATORY,
			  .len = sizeof(page), .data = (uintptr_t)&page },
		},
	};

	return ioctl(dm->context->cmd_fd, RDMA_VERBS_IOCTL, &cmd) ? errno : 0;
}

int main(int argc, char **argv)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	int nth, left, result, failed = 0, no_entry = 0, other = 0;
	int fd = open_nth();
	struct ibv_dm *dm;

	if (fd < 0)
		errx(CANNOT_TELL, "neither /proc/self/fail-nth nor " MODULE "nth can be written");
	for (nth = 1; nth <= ALLOCATIONS; nth++) {
		dm = ctx ? ibv_alloc_dm(ctx, &attr) : NULL;
		if (!dm)
			err(CANNOT_TELL, "no device memory");
		set_nth(fd, nth);
		result = map_operation_0(dm);
		left = get_nth(fd);
		set_nth(fd, 0);
		if (ibv_free_dm(dm))
			err(CANNOT_TELL, "device memory is not freed");
		if (left)
			break;
		failed++;
		no_entry += result == ENOENT;
		/* It may do without one of them. */
		other += result && result != ENOENT && result != ENOMEM;
	}
	if (result || !failed || nth > ALLOCATIONS)
		errx(CANNOT_TELL, "%d allocations failed, then: %s", failed, strerror(result));
	printf("%s: of %d allocations that failed %d: %s, %d: neither that nor %s\n",
	       no_entry || other ? "bad" : "good", failed, no_entry, strerror(ENOENT), other,
	       strerror(ENOMEM));
	return no_entry || other;
}
