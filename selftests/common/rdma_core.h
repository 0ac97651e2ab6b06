/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls and numbers that older versions of rdma-core and of the kernel's headers lack.
 *
 * The tests call what they test by its name, and this file is included before all
 * others.  The linker turns such a call into one of rdma_core.c, which looks for the
 * library's own when the program runs, and ends the test as skipped if there is none.
 * So a program can be built with one version and run with another, either way.
 *
 * The Makefile asks the compiler for what the headers have (HAVE_...).
 */
#ifndef _SELFTESTS_RDMA_CORE_H
#define _SELFTESTS_RDMA_CORE_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

/* rdma-core 54 */
#ifndef HAVE_REG_DMABUF_MR
#define MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT	1

struct ibv_mr *mlx5dv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
				    uint64_t iova, int fd, int access, int mlx5_access);
#endif

/* rdma-core 59 */
#ifndef HAVE_REG_MR_EX
enum ibv_mr_init_attr_mask {
	IBV_REG_MR_MASK_IOVA = 1 << 0,
	IBV_REG_MR_MASK_ADDR = 1 << 1,
	IBV_REG_MR_MASK_FD = 1 << 2,
	IBV_REG_MR_MASK_FD_OFFSET = 1 << 3,
};

struct ibv_mr_init_attr {
	size_t length;
	int access;
	uint64_t comp_mask;
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	void *dmah;
};

struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr);
#endif

/* rdma-core 62 */
#ifndef HAVE_DM_EXPORT
int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm);
int mlx5dv_devx_uar_export_dmabuf_fd(struct mlx5dv_devx_uar *devx_uar);
#endif

/* rdma-core 63 */
#ifndef HAVE_VAR_EXPORT
struct mlx5dv_export_sizes {
	uint32_t var_attrs_size;
	uint32_t devx_umem_attrs_size;
	uint32_t devx_obj_attrs_size;
};

void _mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes, size_t sizes_len);
int mlx5dv_var_export(struct mlx5dv_var *dv_var, void *data);
struct mlx5dv_var *mlx5dv_var_import(struct ibv_context *context, void *data);
void mlx5dv_var_unimport(struct mlx5dv_var *dv_var);

static inline void mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes)
{
	_mlx5dv_get_export_sizes(sizes, sizeof(*sizes));
}
#endif

/* Linux 7.1 */
#ifndef MLX5DV_VAR_ALLOC_FLAG_TLP
#define MLX5DV_VAR_ALLOC_FLAG_TLP		1
#endif
#ifndef HAVE_UAPI_TLP_VAR
#define MLX5_IB_ATTR_VAR_OBJ_ALLOC_FLAGS	(MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID + 1)
#endif

/* Linux 6.17 */
#ifndef HAVE_UAPI_CQ_BUFFER
#define UVERBS_ATTR_CREATE_CQ_BUFFER_LENGTH	(UVERBS_ATTR_CREATE_CQ_EVENT_FD + 2)
#define UVERBS_ATTR_CREATE_CQ_BUFFER_FD		(UVERBS_ATTR_CREATE_CQ_EVENT_FD + 3)
#define UVERBS_ATTR_CREATE_CQ_BUFFER_OFFSET	(UVERBS_ATTR_CREATE_CQ_EVENT_FD + 4)
#endif

/* Linux 7.0; since 6.19 there is another object between. */
#ifndef HAVE_UAPI_DMABUF
#define UVERBS_OBJECT_DMABUF			(UVERBS_OBJECT_ASYNC_EVENT + 2)
#define UVERBS_METHOD_DMABUF_ALLOC		0
#define UVERBS_ATTR_ALLOC_DMABUF_HANDLE		0
#define UVERBS_ATTR_ALLOC_DMABUF_PGOFF		1
#endif

/**
 * rdma_core_dm_export() - ibv_dm_export_dmabuf_fd() for who can do without
 * @dm: the DM
 *
 * Never ends the test.
 *
 * Return: as the call does; -1 and ENOPKG where the library has no such call, or the
 * kernel is too old to have such an object.
 */
int rdma_core_dm_export(struct ibv_dm *dm);

/**
 * rdma_core_no_dmabuf() - end the test where the kernel has no dma-bufs of uverbs
 * @err: what an export failed with
 *
 * Those are the kernels before 7.0; of a newer one the error is a finding.
 */
void rdma_core_no_dmabuf(int err);

/**
 * rdma_core_no_tlp() - end the test where the library has no TLP VARs
 * @flags: of an allocation
 * @err: what it failed with
 *
 * No symbol of the library tells; those without VAR export are older.
 */
void rdma_core_no_tlp(uint32_t flags, int err);

#endif /* _SELFTESTS_RDMA_CORE_H */
