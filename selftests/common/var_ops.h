/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operations on VAR objects.
 *
 * Each has up to three names: _var_alloc() returns 0 or an errno, var_alloc()
 * must succeed, var_alloc_err() must fail with the errno that is given first.
 * The latter two end the test otherwise and are for code that has the
 * harness's _metadata.
 */
#ifndef _SELFTESTS_VAR_OPS_H
#define _SELFTESTS_VAR_OPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include <infiniband/verbs.h>
#include <infiniband/mlx5dv.h>

/* A larger buffer than any attributes of a VAR that a library may export. */
#define VAR_BLOB_MAX	128

/**
 * struct raw_var - a VAR that was allocated without the library
 * @handle: uobject handle
 * @page_id: which page of the device
 * @length: bytes to map
 * @mmap_off: where to map them from
 */
struct raw_var {
	uint32_t handle;
	uint32_t page_id;
	uint32_t length;
	uint64_t mmap_off;
};

/**
 * _var_alloc() - mlx5dv_alloc_var()
 * @ctx: the context
 * @flags: MLX5DV_VAR_ALLOC_FLAG_TLP or 0
 * @var: the VAR
 *
 * Return: 0 or an errno.
 */
int _var_alloc(struct ibv_context *ctx, uint32_t flags, struct mlx5dv_var **var);

#define var_alloc(ctx, flags, var) \
	ASSERT_EQ(0, _var_alloc(ctx, flags, var))
#define var_alloc_err(err, ctx, flags) \
do { \
	struct mlx5dv_var *__var; \
	ASSERT_EQ(err, _var_alloc(ctx, flags, &__var)); \
} while (0)

/**
 * _map() - map an object of a context
 * @ctx: the context
 * @length: bytes to map
 * @flags: MAP_SHARED, or whatever is to be refused
 * @off: offset of the object
 * @map: the mapping
 *
 * Return: 0 or an errno.
 */
int _map(struct ibv_context *ctx, size_t length, int flags, off_t off,
	 uint32_t **map);

#define map_err(err, ctx, length, flags, off) \
do { \
	uint32_t *__map; \
	ASSERT_EQ(err, _map(ctx, length, flags, off, &__map)); \
} while (0)

/**
 * _var_map() - map a VAR as an application does
 * @ctx: the context
 * @var: the VAR
 * @map: the mapping
 *
 * Return: 0 or an errno.
 */
static inline int _var_map(struct ibv_context *ctx, const struct mlx5dv_var *var,
			   uint32_t **map)
{
	return _map(ctx, var->length, MAP_SHARED, var->mmap_off, map);
}

#define var_map(ctx, var, map) \
	ASSERT_EQ(0, _var_map(ctx, var, map))
#define var_map_err(err, ctx, var) \
do { \
	uint32_t *__map; \
	ASSERT_EQ(err, _var_map(ctx, var, &__map)); \
} while (0)

/**
 * _unmap() - undo _map()
 * @map: the mapping
 * @length: bytes of it
 *
 * Return: 0 or an errno.
 */
int _unmap(uint32_t *map, size_t length);

#define unmap(map, length) \
	ASSERT_EQ(0, _unmap(map, length))

/**
 * _var_import() - mlx5dv_var_import()
 * @ctx: the context
 * @blob: what mlx5dv_var_export() wrote
 * @var: the VAR
 *
 * Return: 0 or an errno.
 */
int _var_import(struct ibv_context *ctx, void *blob, struct mlx5dv_var **var);

#define var_import(ctx, blob, var) \
	ASSERT_EQ(0, _var_import(ctx, blob, var))
#define var_export(var, blob) \
	ASSERT_EQ(0, mlx5dv_var_export(var, blob))

/**
 * _raw_var_alloc() - allocate a VAR by ioctl
 * @fd: command descriptor of a context
 * @flags: of enum mlx5_ib_uapi_var_alloc_flags, or unknown ones
 * @bad: id of an answer that the kernel cannot write, 0 for none
 * @var: the VAR
 *
 * Return: 0 or an errno.
 */
int _raw_var_alloc(int fd, uint32_t flags, uint16_t bad, struct raw_var *var);

#define raw_var_alloc(fd, flags, var) \
	ASSERT_EQ(0, _raw_var_alloc(fd, flags, 0, var))
#define raw_var_alloc_err(err, fd, flags, bad) \
do { \
	struct raw_var __var; \
	ASSERT_EQ(err, _raw_var_alloc(fd, flags, bad, &__var)); \
} while (0)

/**
 * _raw_var_free() - free a VAR by ioctl
 * @fd: command descriptor of a context
 * @handle: uobject handle
 *
 * mlx5dv_free_var() returns nothing: it ends the program if the ioctl fails,
 * or, built without assertions as in Debian, says nothing.
 *
 * Return: 0 or an errno.
 */
int _raw_var_free(int fd, uint32_t handle);

#define raw_var_free(fd, handle) \
	ASSERT_EQ(0, _raw_var_free(fd, handle))
#define raw_var_free_err(err, fd, handle) \
	ASSERT_EQ(err, _raw_var_free(fd, handle))

/**
 * var_count_free() - count the VAR pages that can be allocated
 * @fd: command descriptor of a context
 * @flags: of enum mlx5_ib_uapi_var_alloc_flags
 *
 * All of them are allocated, and freed again.
 *
 * Return: the count, or minus the errno of an allocation that failed for
 * another reason than that no page is left.
 */
int var_count_free(int fd, uint32_t flags);

/**
 * var_page_is_free() - does the driver's bitmap say that nobody has the page?
 * @fd: command descriptor of a context
 * @flags: of enum mlx5_ib_uapi_var_alloc_flags
 * @page_id: the page
 *
 * The lowest free page is handed out first, so pages are allocated until the
 * wanted or a higher one comes, and are freed again.
 *
 * Return: 1 if it is free, 0 if not, or minus an errno.
 */
int var_page_is_free(int fd, uint32_t flags, uint32_t page_id);

#endif /* _SELFTESTS_VAR_OPS_H */
