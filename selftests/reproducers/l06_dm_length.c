// SPDX-License-Identifier: GPL-2.0
/*
 * L06: a length of device memory beyond 32 bits is cut instead of refused.
 *
 * Symptom: DM_ALLOC of 2^44 + 64 bytes succeeds and allocates 64.  The range of regions on
 * it is checked against the cut length too, so no access beyond it is known; the caller
 * has less than it asked for, and ibv_import_dm() of it fails.
 *
 * Wrong: mlx5_cmd_alloc_memic() in drivers/infiniband/hw/mlx5/dm.c is given a 64-bit length
 * and puts it into the 32-bit memic_size of ALLOC_MEMIC; struct ib_dm.length is 32 bits
 * as well.  libmlx5 compares with max_dm_size, so the ioctl is sent without it.
 *
 * Fix: refuse a length above the max_memic_size that the device advertises.
 *
 * Build:  gcc -Wall -o l06_dm_length l06_dm_length.c -lmlx5 -libverbs
 * Run:    ./l06_dm_length [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#include <err.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl.h>

#define CANNOT_TELL	4

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

/* One method of the uverbs ioctl; 0 or an errno. */
static int method(int fd, int object, int number, struct ib_uverbs_attr *attr, int count)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[8];
	} cmd = {
		.hdr.length = sizeof(cmd.hdr) + count * sizeof(*attr),
		.hdr.object_id = object,
		.hdr.method_id = number,
		.hdr.num_attrs = count,
		.hdr.driver_id = RDMA_DRIVER_MLX5,
	};
	int err;

	memcpy(cmd.attr, attr, count * sizeof(*attr));
	err = ioctl(fd, RDMA_VERBS_IOCTL, &cmd) ? errno : 0;
	memcpy(attr, cmd.attr, count * sizeof(*attr));
	return err;
}

static int alloc_dm(int fd, uint64_t length, uint32_t *handle, uint16_t *page)
{
	uint64_t offset;
	struct ib_uverbs_attr attr[] = {
		{ .attr_id = UVERBS_ATTR_ALLOC_DM_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY },
		{ .attr_id = UVERBS_ATTR_ALLOC_DM_LENGTH, .flags = UVERBS_ATTR_F_MANDATORY,
		  .len = sizeof(length), .data = length },
		{ .attr_id = UVERBS_ATTR_ALLOC_DM_ALIGNMENT, .flags = UVERBS_ATTR_F_MANDATORY,
		  .len = sizeof(uint32_t) },
		{ .attr_id = MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET,
		  .flags = UVERBS_ATTR_F_MANDATORY,
		  .len = sizeof(offset), .data = (uintptr_t)&offset },
		{ .attr_id = MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX,
		  .flags = UVERBS_ATTR_F_MANDATORY,
		  .len = sizeof(*page), .data = (uintptr_t)page },
	};
	int result = method(fd, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, attr, 5);

	*handle = attr[0].data;
	return result;
}

int main(int argc, char **argv)
{
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	uint32_t handle;
	uint16_t page;
	int result;

	if (!ctx)
		err(CANNOT_TELL, "no mlx5 device");
	result = alloc_dm(ctx->cmd_fd, 64, &handle, &page);
	if (result)
		errx(CANNOT_TELL, "no device memory: %s", strerror(result));
	result = alloc_dm(ctx->cmd_fd, (1ULL << 44) + 64, &handle, &page);
	printf("%s: DM_ALLOC of 2^44 + 64 bytes: %s, expected %s\n", result ? "good" : "bad",
	       strerror(result), strerror(EINVAL));
	return !result;
}
