// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "dm_ops.h"
#include "uverbs_ioctl.h"

int _dm_alloc(struct ibv_context *ctx, size_t length, struct ibv_dm **dm)
{
	struct ibv_alloc_dm_attr attr = { .length = length };

	*dm = ibv_alloc_dm(ctx, &attr);
	return *dm ? 0 : errno;
}

int _dm_import(struct ibv_context *ctx, uint32_t handle, struct ibv_dm **dm)
{
	*dm = ibv_import_dm(ctx, handle);
	return *dm ? 0 : errno;
}

int _dm_map_op(struct ibv_dm *dm, uint8_t op, void **addr)
{
	*addr = mlx5dv_dm_map_op_addr(dm, op);
	return *addr ? 0 : errno;
}

int _dm_unmap_op(void *addr, size_t length)
{
	uintptr_t mask = sysconf(_SC_PAGESIZE) - 1;

	return munmap((void *)((uintptr_t)addr & ~mask), length) ? errno : 0;
}

static void *answer(uint16_t id, uint16_t bad, void *value)
{
	return id == bad ? UVERBS_BAD_POINTER : value;
}

int _raw_dm_alloc(int fd, uint64_t length, uint16_t bad, struct raw_dm *dm)
{
	const uint16_t start = MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET;
	const uint16_t index = MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX;
	uint32_t alignment = 0;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(UVERBS_ATTR_ALLOC_DM_HANDLE, 0),
		uverbs_in(UVERBS_ATTR_ALLOC_DM_LENGTH, &length, sizeof(length)),
		uverbs_in(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, &alignment, sizeof(alignment)),
		uverbs_out(start, answer(start, bad, &dm->start_offset),
			   sizeof(dm->start_offset)),
		uverbs_out(index, answer(index, bad, &dm->page_idx), sizeof(dm->page_idx)),
	};
	int err;

	err = uverbs_ioctl(fd, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, attr, 5);
	dm->handle = attr[0].data;
	return err;
}

int _raw_dm_free(int fd, uint32_t handle)
{
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(UVERBS_ATTR_FREE_DM_HANDLE, handle),
	};

	return uverbs_ioctl(fd, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, attr, 1);
}

uint64_t raw_dm_off(uint16_t page_idx)
{
	/* Behind the command the low half of the index, before it the high one. */
	const uint64_t page = (uint64_t)(page_idx >> 8) << 16 | MLX5_IB_MMAP_DEVICE_MEM << 8 |
			      (page_idx & 0xff);

	return page * sysconf(_SC_PAGESIZE);
}

int _raw_dm_query(int fd, uint32_t handle, uint16_t bad, struct raw_dm *dm, uint64_t *length)
{
	const uint16_t start = MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET;
	const uint16_t index = MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX;
	const uint16_t size = MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE, handle),
		uverbs_out(start, answer(start, bad, &dm->start_offset),
			   sizeof(dm->start_offset)),
		uverbs_out(index, answer(index, bad, &dm->page_idx), sizeof(dm->page_idx)),
		uverbs_out(size, answer(size, bad, length), sizeof(*length)),
	};

	dm->handle = handle;
	return uverbs_ioctl(fd, UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, attr, 4);
}

int _raw_dm_map_op(int fd, uint32_t handle, uint8_t op, uint16_t bad)
{
	const uint16_t start = MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET;
	const uint16_t index = MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX;
	uint64_t start_offset;
	uint16_t page_idx;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE, handle),
		uverbs_in(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, &op, sizeof(op)),
		uverbs_out(start, answer(start, bad, &start_offset), sizeof(start_offset)),
		uverbs_out(index, answer(index, bad, &page_idx), sizeof(page_idx)),
	};

	return uverbs_ioctl(fd, UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_MAP_OP_ADDR, attr, 4);
}

int _dmabuf_export(struct ibv_dm *dm, int *fd)
{
	*fd = ibv_dm_export_dmabuf_fd(dm);
	return *fd >= 0 ? 0 : errno;
}

int _raw_dmabuf_export(int cmd_fd, uint64_t off, int *fd)
{
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(UVERBS_ATTR_ALLOC_DMABUF_HANDLE, 0),
		uverbs_in(UVERBS_ATTR_ALLOC_DMABUF_PGOFF, &off, sizeof(off)),
	};
	int err;

	err = uverbs_ioctl(cmd_fd, UVERBS_OBJECT_DMABUF, UVERBS_METHOD_DMABUF_ALLOC, attr, 2);
	*fd = err ? -1 : (int)attr[0].data;
	return err;
}

int _mr_reg_dmabuf(struct ibv_pd *pd, uint64_t offset, size_t length, int fd,
		   struct ibv_mr **mr)
{
	*mr = ibv_reg_dmabuf_mr(pd, offset, length, offset, fd, IBV_ACCESS_LOCAL_WRITE);
	return *mr ? 0 : errno;
}

int _mr_reg_dm(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length,
	       struct ibv_mr **mr)
{
	*mr = ibv_reg_dm_mr(pd, dm, offset, length,
			    IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	return *mr ? 0 : errno;
}

int _raw_mr_dereg(int fd, uint32_t handle)
{
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(UVERBS_ATTR_DESTROY_MR_HANDLE, handle),
	};

	return uverbs_ioctl(fd, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, attr, 1);
}
