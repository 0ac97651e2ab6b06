// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "rdma_core.h"
#include "skip.h"
#include "uverbs_ioctl.h"
#include "var_ops.h"

/* A device that does not emulate virtio has none, and the driver no such object. */
static void need_vars(uint32_t flags, int err)
{
	if (!flags && (err == EPROTONOSUPPORT || err == EOPNOTSUPP))
		skip_test("no VARs: the device does not emulate virtio queues");
}

/* More than any device has; the counting stops there. */
#define VAR_MAX	4096

int _var_alloc(struct ibv_context *ctx, uint32_t flags, struct mlx5dv_var **var)
{
	*var = mlx5dv_alloc_var(ctx, flags);
	if (!*var) {
		rdma_core_no_tlp(flags, errno);
		need_vars(flags, errno);
	}
	return *var ? 0 : errno;
}

int _map(struct ibv_context *ctx, size_t length, int flags, off_t off,
	 uint32_t **map)
{
	*map = mmap(NULL, length, PROT_READ | PROT_WRITE, flags, ctx->cmd_fd, off);
	return *map == MAP_FAILED ? errno : 0;
}

int _unmap(uint32_t *map, size_t length)
{
	return munmap(map, length) ? errno : 0;
}

int _var_import(struct ibv_context *ctx, void *blob, struct mlx5dv_var **var)
{
	*var = mlx5dv_var_import(ctx, blob);
	return *var ? 0 : errno;
}

static void *answer(uint16_t id, uint16_t bad, void *value)
{
	return id == bad ? UVERBS_BAD_POINTER : value;
}

int _raw_var_alloc(int fd, uint32_t flags, uint16_t bad, struct raw_var *var)
{
	const uint16_t offset = MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET;
	const uint16_t length = MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH;
	const uint16_t page_id = MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE, 0),
		uverbs_out(offset, answer(offset, bad, &var->mmap_off), sizeof(var->mmap_off)),
		uverbs_out(length, answer(length, bad, &var->length), sizeof(var->length)),
		uverbs_out(page_id, answer(page_id, bad, &var->page_id), sizeof(var->page_id)),
		uverbs_in(MLX5_IB_ATTR_VAR_OBJ_ALLOC_FLAGS, &flags, sizeof(flags)),
	};
	int err;

	/* Kernels before 7.1 do not know the last attribute. */
	err = uverbs_ioctl(fd, MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_ALLOC, attr,
			   flags ? 5 : 4);
	var->handle = attr[0].data;
	need_vars(flags, err);
	return err;
}

int _raw_var_free(int fd, uint32_t handle)
{
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(MLX5_IB_ATTR_VAR_OBJ_DESTROY_HANDLE, handle),
	};

	return uverbs_ioctl(fd, MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_DESTROY, attr, 1);
}

/*
 * Allocate pages until there is none left or one is not below @last, and free
 * them all.  The number of the last page goes to @page_id, if any.
 */
static int var_try(int fd, uint32_t flags, uint32_t last, uint32_t *page_id)
{
	static uint32_t handle[VAR_MAX];
	struct raw_var var;
	int n = 0, err = 0;

	while (n < VAR_MAX) {
		err = _raw_var_alloc(fd, flags, 0, &var);
		if (err)
			break;
		handle[n++] = var.handle;
		if (page_id)
			*page_id = var.page_id;
		if (var.page_id >= last)
			break;
	}
	if (err == ENOSPC)
		err = 0;
	for (last = n; last--;)
		if (_raw_var_free(fd, handle[last]) && !err)
			err = EBUSY;
	return err ? -err : n;
}

int var_count_free(int fd, uint32_t flags)
{
	return var_try(fd, flags, UINT32_MAX, NULL);
}

int var_page_is_free(int fd, uint32_t flags, uint32_t page_id)
{
	uint32_t got = UINT32_MAX;
	int n = var_try(fd, flags, page_id, &got);

	return n < 0 ? n : n && got == page_id;
}
