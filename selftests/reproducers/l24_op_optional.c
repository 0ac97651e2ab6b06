// SPDX-License-Identifier: GPL-2.0
/*
 * L24: without its optional answer DM_MAP_OP_ADDR frees an operation that is mapped.
 *
 * Symptom: DM_MAP_OP_ADDR without the attribute RESP_PAGE_INDEX, which is optional, always
 * fails with ENOENT.  Where the operation is mapped already, the device is told to
 * allocate it once more, and then to free it: under the page that is still mapped.
 * Freeing the memory tells it once more.  What a device makes of the second allocation
 * is its own affair; one that refuses it, as mlx5_vhca does, is not told to free.
 *
 * Wrong: copy_op_to_user() in drivers/infiniband/hw/mlx5/dm.c returns the -ENOENT of
 * uverbs_copy_to() for an attribute that is not there.  The handler of DM_MAP_OP_ADDR
 * takes it for "no such operation yet": it has the device allocate the operation again,
 * fails again, and the unwinding frees it.
 *
 * Fix: look for the operation apart from copying the answer, and either copy only what the
 * caller wants or make the attribute mandatory.
 *
 * Build:  gcc -Wall -o l24_op_optional l24_op_optional.c -lmlx5 -libverbs
 * Run:    ./l24_op_optional [DEVICE]
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

static int map_operation_0(struct ibv_dm *dm, uint16_t *page)
{
	uint64_t offset;
	struct ib_uverbs_attr attr[] = {
		{ .attr_id = MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = dm->handle },
		{ .attr_id = MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP,
		  .flags = UVERBS_ATTR_F_MANDATORY, .len = sizeof(uint8_t) },
		{ .attr_id = MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET,
		  .flags = UVERBS_ATTR_F_MANDATORY,
		  .len = sizeof(offset), .data = (uintptr_t)&offset },
		{ .attr_id = MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX,
		  .flags = UVERBS_ATTR_F_MANDATORY,
		  .len = sizeof(*page), .data = (uintptr_t)page },
	};

	return method(dm->context->cmd_fd, UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_MAP_OP_ADDR,
		      attr, page ? 4 : 3);
}

int main(int argc, char **argv)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	struct ibv_dm *dm = ctx ? ibv_alloc_dm(ctx, &attr) : NULL;
	int alone, again, result;
	uint16_t page;

	if (!dm)
		err(CANNOT_TELL, "no device memory");
	alone = map_operation_0(dm, NULL);
	result = map_operation_0(dm, &page);
	if (result)
		errx(CANNOT_TELL, "operation 0 cannot be mapped: %s", strerror(result));
	again = map_operation_0(dm, NULL);
	printf("%s: without RESP_PAGE_INDEX: %s, expected %s or %s; once it is mapped: %s\n",
	       alone == ENOENT ? "bad" : "good", strerror(alone), strerror(0),
	       strerror(EINVAL), strerror(again));
	return alone == ENOENT;
}
