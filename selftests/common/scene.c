// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "entry_ops.h"
#include "raw_context.h"
#include "scene.h"
#include "uverbs_ioctl.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof(*(a)))

void scene_init(struct scene *scene, const struct device *dev)
{
	*scene = (struct scene){
		.dev = dev,
		.fd = -1,
		.imp = -1,
		.new_fd = -1,
		.cmd_fd = -1,
	};
}

int scene_furnish(struct scene *scene)
{
	int err = POINTER(scene->ctx, device_open(scene->dev));

	if (!err)
		err = POINTER(scene->pd, ibv_alloc_pd(scene->ctx));
	return err ?: _dm_alloc(scene->ctx, SCENE_DM_SIZE, &scene->dm);
}

int scene_open_raw(struct scene *scene)
{
	struct mlx5_ib_alloc_ucontext_resp answer = {};
	char path[96];
	int err;

	snprintf(path, sizeof(path), "/dev/infiniband/%s", scene->ctx->device->dev_name);
	scene->cmd_fd = open(path, O_RDWR | O_CLOEXEC);
	if (scene->cmd_fd < 0)
		return errno;
	err = raw_context_get(scene->cmd_fd, 8, &answer);
	if (!err)
		return 0;
	close(scene->cmd_fd);
	scene->cmd_fd = -1;
	return err;
}

int scene_close_raw(struct scene *scene)
{
	const int fd = scene->cmd_fd;

	scene->cmd_fd = -1;
	return close(fd) ? errno : 0;
}

int scene_open_library(struct scene *scene)
{
	return POINTER(scene->new_ctx, device_open(scene->dev));
}

int scene_close_library(struct scene *scene)
{
	return ibv_close_device(scene->new_ctx) ? errno : 0;
}

int scene_alloc_pd(struct scene *scene)
{
	return POINTER(scene->new_pd, ibv_alloc_pd(scene->ctx));
}

int scene_dealloc_pd(struct scene *scene)
{
	return ibv_dealloc_pd(scene->new_pd);
}

int scene_alloc_var(struct scene *scene)
{
	return _raw_var_alloc(scene->ctx->cmd_fd, 0, 0, &scene->raw_var);
}

int scene_alloc_tlp_var(struct scene *scene)
{
	return _raw_var_alloc(scene->ctx->cmd_fd, MLX5_IB_UAPI_VAR_ALLOC_FLAG_TLP, 0,
			      &scene->raw_var);
}

int scene_free_var(struct scene *scene)
{
	return _raw_var_free(scene->ctx->cmd_fd, scene->raw_var.handle);
}

int scene_alloc_dm(struct scene *scene)
{
	return _raw_dm_alloc(scene->ctx->cmd_fd, SCENE_DM_SIZE, 0, &scene->raw_dm);
}

int scene_free_dm(struct scene *scene)
{
	return _raw_dm_free(scene->ctx->cmd_fd, scene->raw_dm.handle);
}

int scene_alloc_dm_by_library(struct scene *scene)
{
	return _dm_alloc(scene->ctx, SCENE_DM_SIZE, &scene->new_dm);
}

int scene_free_dm_by_library(struct scene *scene)
{
	return ibv_free_dm(scene->new_dm);
}

int scene_map_op(struct scene *scene)
{
	return _dm_map_op(scene->new_dm, 0, &scene->map);
}

/* An operation goes with its memory. */
int scene_unmap_op_and_free(struct scene *scene)
{
	return _dm_unmap_op(scene->map, SCENE_DM_SIZE) ?: ibv_free_dm(scene->new_dm);
}

int scene_make_op(struct scene *scene)
{
	int err = scene_alloc_dm_by_library(scene) ?: scene_map_op(scene);

	return err ?: _dm_unmap_op(scene->map, SCENE_DM_SIZE);
}

int scene_alloc_sw_icm(struct scene *scene)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct mlx5dv_alloc_dm_attr dv_attr = { .type = MLX5DV_DM_TYPE_STEERING_SW_ICM };

	return POINTER(scene->new_dm, mlx5dv_alloc_dm(scene->ctx, &attr, &dv_attr));
}

int scene_reg_dm(struct scene *scene)
{
	return _mr_reg_dm(scene->pd, scene->dm, 0, SCENE_DM_SIZE, &scene->new_mr);
}

int scene_dereg_mr(struct scene *scene)
{
	return ibv_dereg_mr(scene->new_mr);
}

int scene_reg_memory(struct scene *scene)
{
	static char buf[4 * 4096] __attribute__((aligned(4096)));

	return POINTER(scene->new_mr, ibv_reg_mr(scene->pd, buf, sizeof(buf),
						 IBV_ACCESS_LOCAL_WRITE));
}

int scene_export_dm(struct scene *scene)
{
	return _dmabuf_export(scene->dm, &scene->new_fd);
}

int scene_close_fd(struct scene *scene)
{
	return close(scene->new_fd) ? errno : 0;
}

int scene_reg_dmabuf(struct scene *scene)
{
	return _mr_reg_dmabuf(scene->pd, 0, SCENE_DM_SIZE, scene->fd, &scene->new_mr);
}

int scene_reg_then_free(struct scene *scene)
{
	int err = scene_alloc_dm_by_library(scene) ?: _dmabuf_export(scene->new_dm, &scene->new_fd);

	return err ?: _mr_reg_dmabuf(scene->pd, 0, SCENE_DM_SIZE, scene->new_fd, &scene->new_mr);
}

int scene_alloc_uar(struct scene *scene)
{
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, 0),
		uverbs_in(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE,
			  &(uint64_t){ MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC }, sizeof(uint64_t)),
		uverbs_out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &scene->off,
			   sizeof(scene->off)),
		uverbs_out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &scene->length,
			   sizeof(scene->length)),
		uverbs_out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &(uint32_t){ 0 },
			   sizeof(uint32_t)),
	};
	int err = uverbs_ioctl(scene->ctx->cmd_fd, MLX5_IB_OBJECT_UAR,
			       MLX5_IB_METHOD_UAR_OBJ_ALLOC, attr, ARRAY_SIZE(attr));

	scene->handle = attr[0].data;
	return err;
}

int scene_free_uar(struct scene *scene)
{
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, scene->handle),
	};

	return uverbs_ioctl(scene->ctx->cmd_fd, MLX5_IB_OBJECT_UAR,
			    MLX5_IB_METHOD_UAR_OBJ_DESTROY, attr, ARRAY_SIZE(attr));
}

int scene_reg_umem(struct scene *scene)
{
	static char buf[4 * 4096] __attribute__((aligned(4096)));

	return POINTER(scene->new_umem, mlx5dv_devx_umem_reg(scene->ctx, buf, sizeof(buf),
							     IBV_ACCESS_LOCAL_WRITE));
}

int scene_dereg_umem(struct scene *scene)
{
	return mlx5dv_devx_umem_dereg(scene->new_umem);
}

int scene_create_cq(struct scene *scene)
{
	return POINTER(scene->new_cq, ibv_create_cq(scene->ctx, 16, NULL, NULL, 0));
}

int scene_destroy_cq(struct scene *scene)
{
	return ibv_destroy_cq(scene->new_cq);
}

int scene_create_qp(struct scene *scene)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = scene->new_cq,
		.recv_cq = scene->new_cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	return POINTER(scene->new_qp, ibv_create_qp(scene->pd, &attr));
}

int scene_destroy_qp(struct scene *scene)
{
	return ibv_destroy_qp(scene->new_qp);
}
