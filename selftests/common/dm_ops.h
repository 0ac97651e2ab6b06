/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operations on device memory (DM), on dma-bufs of it and on memory regions.
 *
 * The three names of each are explained in var_ops.h.
 */
#ifndef _SELFTESTS_DM_OPS_H
#define _SELFTESTS_DM_OPS_H

#include <stdint.h>

#include <infiniband/verbs.h>
#include <infiniband/mlx5dv.h>

/**
 * struct raw_dm - a DM that was allocated without the library
 * @handle: uobject handle
 * @page_idx: index to map it by
 * @start_offset: bytes from there
 */
struct raw_dm {
	uint32_t handle;
	uint16_t page_idx;
	uint64_t start_offset;
};

/**
 * _dm_alloc() - ibv_alloc_dm()
 * @ctx: the context
 * @length: bytes
 * @dm: the DM
 *
 * The library maps the memory as well.
 *
 * Return: 0 or an errno.
 */
int _dm_alloc(struct ibv_context *ctx, size_t length, struct ibv_dm **dm);

#define dm_alloc(ctx, length, dm) \
	ASSERT_EQ(0, _dm_alloc(ctx, length, dm))
#define dm_alloc_err(err, ctx, length) \
do { \
	struct ibv_dm *__dm; \
	ASSERT_EQ(err, _dm_alloc(ctx, length, &__dm)); \
} while (0)

/* ibv_free_dm() returns 0 or an errno already; it unmaps after a free that succeeded. */
#define dm_free(dm) \
	ASSERT_EQ(0, ibv_free_dm(dm))
#define dm_free_err(err, dm) \
	ASSERT_EQ(err, ibv_free_dm(dm))

#define dm_write(dm, off, buf, len) \
	ASSERT_EQ(0, ibv_memcpy_to_dm(dm, off, buf, len))
#define dm_read(buf, dm, off, len) \
	ASSERT_EQ(0, ibv_memcpy_from_dm(buf, dm, off, len))

/**
 * _dm_import() - ibv_import_dm()
 * @ctx: the context
 * @handle: handle of a DM of the same context, or of one that shares its file
 * @dm: the DM
 *
 * Return: 0 or an errno.
 */
int _dm_import(struct ibv_context *ctx, uint32_t handle, struct ibv_dm **dm);

#define dm_import(ctx, handle, dm) \
	ASSERT_EQ(0, _dm_import(ctx, handle, dm))
#define dm_import_err(err, ctx, handle) \
do { \
	struct ibv_dm *__dm; \
	ASSERT_EQ(err, _dm_import(ctx, handle, &__dm)); \
} while (0)

/**
 * _dm_map_op() - mlx5dv_dm_map_op_addr()
 * @dm: the DM
 * @op: the operation
 * @addr: address of the operation's page; no call of the library unmaps it
 *
 * Return: 0 or an errno.
 */
int _dm_map_op(struct ibv_dm *dm, uint8_t op, void **addr);

#define dm_map_op(dm, op, addr) \
	ASSERT_EQ(0, _dm_map_op(dm, op, addr))
#define dm_map_op_err(err, dm, op) \
do { \
	void *__addr; \
	ASSERT_EQ(err, _dm_map_op(dm, op, &__addr)); \
} while (0)

/**
 * _dm_unmap_op() - undo _dm_map_op()
 * @addr: address of the operation
 * @length: bytes of the DM
 *
 * Return: 0 or an errno.
 */
int _dm_unmap_op(void *addr, size_t length);

#define dm_unmap_op(addr, length) \
	ASSERT_EQ(0, _dm_unmap_op(addr, length))

/**
 * _raw_dm_alloc() - allocate a DM by ioctl
 * @fd: command descriptor of a context
 * @length: bytes
 * @bad: id of an answer that the kernel cannot write, 0 for none
 * @dm: the DM
 *
 * Return: 0 or an errno.
 */
int _raw_dm_alloc(int fd, uint64_t length, uint16_t bad, struct raw_dm *dm);

#define raw_dm_alloc(fd, length, dm) \
	ASSERT_EQ(0, _raw_dm_alloc(fd, length, 0, dm))
#define raw_dm_alloc_err(err, fd, length, bad) \
do { \
	struct raw_dm __dm; \
	ASSERT_EQ(err, _raw_dm_alloc(fd, length, bad, &__dm)); \
} while (0)

/**
 * _raw_dm_free() - free a DM by ioctl
 * @fd: command descriptor of a context
 * @handle: uobject handle
 *
 * Return: 0 or an errno.
 */
int _raw_dm_free(int fd, uint32_t handle);

#define raw_dm_free(fd, handle) \
	ASSERT_EQ(0, _raw_dm_free(fd, handle))
#define raw_dm_free_err(err, fd, handle) \
	ASSERT_EQ(err, _raw_dm_free(fd, handle))

/**
 * raw_dm_off() - what a DM, or an operation of one, is mapped and exported by
 * @page_idx: index that the kernel has given for it
 *
 * Return: the offset for mmap(), in bytes.
 */
uint64_t raw_dm_off(uint16_t page_idx);

/**
 * _raw_dm_query() - ask for what an import needs to know, by ioctl
 * @fd: command descriptor of a context
 * @handle: uobject handle of the DM
 * @bad: id of an answer that the kernel cannot write, 0 for none
 * @dm: filled in
 * @length: bytes that were asked for when it was allocated
 *
 * Return: 0 or an errno.
 */
int _raw_dm_query(int fd, uint32_t handle, uint16_t bad, struct raw_dm *dm, uint64_t *length);

#define raw_dm_query(fd, handle, dm, length) \
	ASSERT_EQ(0, _raw_dm_query(fd, handle, 0, dm, length))
#define raw_dm_query_err(err, fd, handle, bad) \
do { \
	struct raw_dm __dm; \
	uint64_t __length; \
	ASSERT_EQ(err, _raw_dm_query(fd, handle, bad, &__dm, &__length)); \
} while (0)

/**
 * _raw_dm_map_op() - ask for the page of an operation by ioctl
 * @fd: command descriptor of a context
 * @handle: uobject handle of the DM
 * @op: the operation
 * @bad: id of an answer that the kernel cannot write, 0 for none
 *
 * Return: 0 or an errno.
 */
int _raw_dm_map_op(int fd, uint32_t handle, uint8_t op, uint16_t bad);

#define raw_dm_map_op_err(err, fd, handle, op, bad) \
	ASSERT_EQ(err, _raw_dm_map_op(fd, handle, op, bad))

/**
 * _dmabuf_export() - ibv_dm_export_dmabuf_fd()
 * @dm: the DM
 * @fd: the descriptor
 *
 * Return: 0 or an errno.
 */
int _dmabuf_export(struct ibv_dm *dm, int *fd);

#define dmabuf_export(dm, fd) \
	ASSERT_EQ(0, _dmabuf_export(dm, fd))
#define dmabuf_export_err(err, dm) \
do { \
	int __fd; \
	ASSERT_EQ(err, _dmabuf_export(dm, &__fd)); \
} while (0)

/**
 * _raw_dmabuf_export() - export any mmap entry of a context by ioctl
 * @cmd_fd: command descriptor of the context
 * @off: offset that the entry is mapped by, in bytes
 * @fd: the descriptor
 *
 * Return: 0 or an errno.
 */
int _raw_dmabuf_export(int cmd_fd, uint64_t off, int *fd);

#define raw_dmabuf_export(cmd_fd, off, fd) \
	ASSERT_EQ(0, _raw_dmabuf_export(cmd_fd, off, fd))
#define raw_dmabuf_export_err(err, cmd_fd, off) \
do { \
	int __fd; \
	ASSERT_EQ(err, _raw_dmabuf_export(cmd_fd, off, &__fd)); \
} while (0)

/**
 * _mr_reg_dmabuf() - ibv_reg_dmabuf_mr() with local write access
 * @pd: the protection domain
 * @offset: bytes from the begin of the dma-buf
 * @length: bytes
 * @fd: descriptor of the dma-buf
 * @mr: the memory region
 *
 * Return: 0 or an errno.
 */
int _mr_reg_dmabuf(struct ibv_pd *pd, uint64_t offset, size_t length, int fd,
		   struct ibv_mr **mr);

#define mr_reg_dmabuf(pd, offset, length, fd, mr) \
	ASSERT_EQ(0, _mr_reg_dmabuf(pd, offset, length, fd, mr))
#define mr_reg_dmabuf_err(err, pd, offset, length, fd) \
do { \
	struct ibv_mr *__mr; \
	ASSERT_EQ(err, _mr_reg_dmabuf(pd, offset, length, fd, &__mr)); \
} while (0)

/**
 * _mr_reg_dm() - ibv_reg_dm_mr() with local write access
 * @pd: the protection domain
 * @dm: the DM
 * @offset: bytes from its begin
 * @length: bytes
 * @mr: the memory region
 *
 * Return: 0 or an errno.
 */
int _mr_reg_dm(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length,
	       struct ibv_mr **mr);

#define mr_reg_dm(pd, dm, offset, length, mr) \
	ASSERT_EQ(0, _mr_reg_dm(pd, dm, offset, length, mr))
#define mr_reg_dm_err(err, pd, dm, offset, length) \
do { \
	struct ibv_mr *__mr; \
	ASSERT_EQ(err, _mr_reg_dm(pd, dm, offset, length, &__mr)); \
} while (0)

#define mr_dereg(mr) \
	ASSERT_EQ(0, ibv_dereg_mr(mr))
#define mr_dereg_err(err, mr) \
	ASSERT_EQ(err, ibv_dereg_mr(mr))

/**
 * _raw_mr_dereg() - deregister a memory region by ioctl
 * @fd: command descriptor of a context
 * @handle: uobject handle, also of a region that another process has registered
 *
 * Return: 0 or an errno.
 */
int _raw_mr_dereg(int fd, uint32_t handle);

#define raw_mr_dereg(fd, handle) \
	ASSERT_EQ(0, _raw_mr_dereg(fd, handle))
#define raw_mr_dereg_err(err, fd, handle) \
	ASSERT_EQ(err, _raw_mr_dereg(fd, handle))

/**
 * mr_mkey() - number of the mkey behind a memory region
 * @mr: the memory region
 *
 * Return: its lkey without the variant in the low byte, as the device counts.
 */
static inline uint32_t mr_mkey(const struct ibv_mr *mr)
{
	return mr->lkey >> 8;
}

#endif /* _SELFTESTS_DM_OPS_H */
