// SPDX-License-Identifier: GPL-2.0
/*
 * The linker makes of each call of NAME, wherever it stands, one of __wrap_NAME here
 * (--wrap, see the Makefile).
 */
#include <dlfcn.h>
#include <errno.h>

#include "rdma_core.h"
#include "skip.h"

/* A call of the library that is there, or the test is over. */
static void *needed(const char *name, int version)
{
	void *call = dlsym(RTLD_DEFAULT, name);

	if (!call)
		skip_test("no %s(): rdma-core is older than %d", name, version);
	return call;
}

void rdma_core_no_dmabuf(int err)
{
	if (err == EPROTONOSUPPORT && kernel_is_before(7, 0))
		skip_test("no UVERBS_OBJECT_DMABUF: the kernel is older than 7.0");
}

void rdma_core_no_tlp(uint32_t flags, int err)
{
	if (flags & MLX5DV_VAR_ALLOC_FLAG_TLP && err == EOPNOTSUPP &&
	    !dlsym(RTLD_DEFAULT, "mlx5dv_var_export"))
		skip_test("no TLP VARs in mlx5dv_alloc_var(): rdma-core is older than 63");
}

int rdma_core_dm_export(struct ibv_dm *dm)
{
	int (*call)(struct ibv_dm *dm) = dlsym(RTLD_DEFAULT, "ibv_dm_export_dmabuf_fd");

	int fd = -1;

	errno = ENOPKG;
	if (call)
		fd = call(dm);
	if (fd < 0 && errno == EPROTONOSUPPORT && kernel_is_before(7, 0))
		errno = ENOPKG;
	return fd;
}

struct ibv_mr *__wrap_mlx5dv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					   uint64_t iova, int fd, int access, int mlx5_access)
{
	struct ibv_mr *(*call)(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
			       int fd, int access, int mlx5_access) =
		needed("mlx5dv_reg_dmabuf_mr", 54);

	return call(pd, offset, length, iova, fd, access, mlx5_access);
}

struct ibv_mr *__wrap_ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	struct ibv_mr *(*call)(struct ibv_pd *pd, struct ibv_mr_init_attr *attr) =
		needed("ibv_reg_mr_ex", 59);

	return call(pd, attr);
}

int __wrap_ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	int (*call)(struct ibv_dm *dm) = needed("ibv_dm_export_dmabuf_fd", 62);
	int fd = call(dm);

	if (fd < 0)
		rdma_core_no_dmabuf(errno);
	return fd;
}

int __wrap_mlx5dv_devx_uar_export_dmabuf_fd(struct mlx5dv_devx_uar *uar)
{
	int (*call)(struct mlx5dv_devx_uar *uar) = needed("mlx5dv_devx_uar_export_dmabuf_fd", 62);
	int fd = call(uar);

	if (fd < 0)
		rdma_core_no_dmabuf(errno);
	return fd;
}

void __wrap__mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes, size_t len)
{
	void (*call)(struct mlx5dv_export_sizes *sizes, size_t len) =
		needed("_mlx5dv_get_export_sizes", 63);

	call(sizes, len);
}

int __wrap_mlx5dv_var_export(struct mlx5dv_var *var, void *data)
{
	int (*call)(struct mlx5dv_var *var, void *data) = needed("mlx5dv_var_export", 63);

	return call(var, data);
}

struct mlx5dv_var *__wrap_mlx5dv_var_import(struct ibv_context *ctx, void *data)
{
	struct mlx5dv_var *(*call)(struct ibv_context *ctx, void *data) =
		needed("mlx5dv_var_import", 63);

	return call(ctx, data);
}

void __wrap_mlx5dv_var_unimport(struct mlx5dv_var *var)
{
	void (*call)(struct mlx5dv_var *var) = needed("mlx5dv_var_unimport", 63);

	call(var);
}
