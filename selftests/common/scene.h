/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls that create and destroy one thing each, for tests that have each of them fail in
 * every way.
 *
 * All have one form: they work on a scene, and return 0 or an errno.
 */
#ifndef _SELFTESTS_SCENE_H
#define _SELFTESTS_SCENE_H

#include <stdint.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "dm_ops.h"
#include "raw.h"
#include "var_ops.h"

/* Bytes of device memory, and of regions on it. */
#define SCENE_DM_SIZE	8192

/**
 * struct scene - what the calls of a test work on
 * @ctx: a context, unless the test opens its own
 * @pd: its PD
 * @dm: device memory that stays
 * @var: a VAR that stays
 * @fd: a dma-buf of @dm that stays, or -1
 * @imp: a context of dmabuf_importer.ko, or -1
 * @id: an attachment there
 *
 * What follows is made and taken back by the calls.
 */
struct scene {
	const struct device *dev;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	struct mlx5dv_var *var;
	int fd;
	int imp;
	uint32_t id;

	struct ibv_context *new_ctx;
	struct ibv_pd *new_pd;
	struct ibv_dm *new_dm;
	struct ibv_mr *new_mr;
	struct ibv_cq *new_cq;
	struct ibv_qp *new_qp;
	struct ibv_comp_channel *new_channel;
	struct mlx5dv_var *new_var;
	struct mlx5dv_devx_umem *new_umem;
	struct raw_var raw_var;
	struct raw_dm raw_dm;
	uint32_t handle;
	uint32_t length;
	uint64_t off;
	int new_fd;
	int cmd_fd;
	void *map;
	void *moved;
};

/* Calls of the library that return a pointer, as 0 or an errno. */
#define POINTER(where, call) \
({ \
	errno = 0; \
	(where) = (call); \
	(where) ? 0 : errno ?: EINVAL; \
})

/**
 * scene_init() - a scene in which nothing is there
 * @scene: the scene
 * @dev: the device
 */
void scene_init(struct scene *scene, const struct device *dev);

/**
 * scene_furnish() - make what stays: the context, its PD and device memory
 * @scene: of scene_init()
 *
 * Return: 0 or an errno.
 */
int scene_furnish(struct scene *scene);

/* A context without the library: the file, and GET_CONTEXT with a DEVX context. */
int scene_open_raw(struct scene *scene);
int scene_close_raw(struct scene *scene);

/* One by the library. */
int scene_open_library(struct scene *scene);
int scene_close_library(struct scene *scene);

int scene_alloc_pd(struct scene *scene);
int scene_dealloc_pd(struct scene *scene);

/* VARs, without the library. */
int scene_alloc_var(struct scene *scene);
int scene_alloc_tlp_var(struct scene *scene);
int scene_free_var(struct scene *scene);

/* Device memory, without the library and with it: then it is mapped. */
int scene_alloc_dm(struct scene *scene);
int scene_free_dm(struct scene *scene);
int scene_alloc_dm_by_library(struct scene *scene);
int scene_free_dm_by_library(struct scene *scene);

/* An operation on it, mapped; it goes with its memory.  scene_make_op() has it unmapped. */
int scene_map_op(struct scene *scene);
int scene_unmap_op_and_free(struct scene *scene);
int scene_make_op(struct scene *scene);

/* SW ICM, freed by scene_free_dm_by_library(). */
int scene_alloc_sw_icm(struct scene *scene);

/* Regions: on the device memory that stays, on memory, on the dma-buf that stays. */
int scene_reg_dm(struct scene *scene);
int scene_reg_memory(struct scene *scene);
int scene_reg_dmabuf(struct scene *scene);
int scene_dereg_mr(struct scene *scene);

/* A dma-buf of the device memory that stays. */
int scene_export_dm(struct scene *scene);
int scene_close_fd(struct scene *scene);

/* Device memory, a dma-buf of it and a region on that. */
int scene_reg_then_free(struct scene *scene);

/* A UAR, without the library, which keeps those that it has. */
int scene_alloc_uar(struct scene *scene);
int scene_free_uar(struct scene *scene);

/* A DEVX umem. */
int scene_reg_umem(struct scene *scene);
int scene_dereg_umem(struct scene *scene);

/* Queues; a queue pair is on the CQ that is there. */
int scene_create_cq(struct scene *scene);
int scene_destroy_cq(struct scene *scene);
int scene_create_qp(struct scene *scene);
int scene_destroy_qp(struct scene *scene);

#endif /* _SELFTESTS_SCENE_H */
