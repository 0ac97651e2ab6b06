// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of a user that was registered for queues of its own making (DEVX).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/slab.h>

#include "vhca.h"

/**
 * struct vhca_umem - registered memory, from create_umem_in
 * @object: what all objects have; its id is the umem's number
 * @page_shift: log2 of the page size in bytes
 * @offset: where in the first page the memory begins, in bytes
 * @writable: the device may write to all of it
 * @nr_pages: entries in @pages
 * @pages: addresses of the pages, as the driver gives them
 */
struct vhca_umem {
	struct vhca_object	object;
	u8			page_shift;
	u64			offset;
	bool			writable;
	u64			nr_pages;
	u64			*pages;
};

#define to_vhca_umem(o)	container_of(o, struct vhca_umem, object)

static void vhca_umem_release(struct vhca *v, struct vhca_object *object)
{
	struct vhca_umem *umem = to_vhca_umem(object);

	kvfree(umem->pages);
	kfree(umem);
}

static void vhca_umem_describe(struct vhca_object *object,
			       struct vhca_object_record *record)
{
	struct vhca_umem *umem = to_vhca_umem(object);

	vhca_detail_dec(record, "pages", umem->nr_pages);
	vhca_detail_dec(record, "page_size", 1ULL << umem->page_shift);
}

const struct vhca_kind_info vhca_umem_kind = {
	.name = "umem", .min = 1, .max = 0x3fff,
	.release = vhca_umem_release,
	.describe = vhca_umem_describe,
};

static u8 vhca_umem_init(struct vhca *v, struct vhca_umem *umem,
			 const struct vhca_cmd *cmd)
{
	const void *context = MLX5_ADDR_OF(create_umem_in, cmd->in, umem);
	u32 given = (cmd->in_len - MLX5_ST_SZ_BYTES(create_umem_in)) /
		    sizeof(__be64);
	const __be64 *mtt = MLX5_ADDR_OF(umem, context, mtt);
	u8 log_page_size = MLX5_GET(umem, context, log_page_size);
	u64 i;

	umem->page_shift = log_page_size + VHCA_PAGE_SHIFT;
	umem->offset = MLX5_GET(umem, context, page_offset);
	umem->nr_pages = MLX5_GET64(umem, context, num_of_mtt);
	if (umem->nr_pages > given)
		return MLX5_CMD_STAT_BAD_INP_LEN_ERR;
	if (log_page_size > VHCA_MAX_LOG_PAGE_SIZE ||
	    umem->offset >> umem->page_shift)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	/* It may be nothing, in which no queue lies. */
	if (!umem->nr_pages)
		return MLX5_CMD_STAT_OK;
	umem->pages = vhca_calloc(v, umem->nr_pages, sizeof(*umem->pages));
	if (!umem->pages)
		return MLX5_CMD_STAT_NO_RES_ERR;
	umem->writable = true;
	for (i = 0; i < umem->nr_pages; i++) {
		u64 page = be64_to_cpu(mtt[i]);

		umem->writable &= !!(page & MLX5_EN_WR);
		umem->pages[i] = page & VHCA_PAGE_MASK;
	}
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_create_umem - CREATE_UMEM, from devx_umem_reg_cmd_alloc() and its callers
 * @v: the device
 * @cmd: the command, create_umem_in
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_create_umem(struct vhca *v, struct vhca_cmd *cmd)
{
	struct vhca_umem *umem;
	u8 status;

	umem = kzalloc_obj(*umem, v->gfp);
	if (!umem)
		return MLX5_CMD_STAT_NO_RES_ERR;
	status = vhca_umem_init(v, umem, cmd);
	if (!status)
		status = vhca_ledger_add(v, &umem->object, VHCA_UMEM, cmd);
	if (status) {
		vhca_umem_release(v, &umem->object);
		return status;
	}
	vhca_cmd_set_number(cmd, umem->object.id);
	return MLX5_CMD_STAT_OK;
}

/* Physical address of a byte of the memory, and how many follow it there; 0 beyond its end. */
static u64 vhca_umem_address(const struct vhca_umem *umem, u64 offset, u64 *rest)
{
	u64 page_size = 1ULL << umem->page_shift;
	u64 at = offset + umem->offset;
	u64 i = at >> umem->page_shift;

	if (at < offset || i >= umem->nr_pages)
		return 0;
	*rest = page_size - (at & (page_size - 1));
	return umem->pages[i] + (at & (page_size - 1));
}

/* The umem of a command's own user context, which the new object is then on. */
static u8 vhca_umem_use(struct vhca *v, struct vhca_object *user, u32 id,
			const struct vhca_cmd *cmd, struct vhca_umem **umem)
{
	u8 status = vhca_object_use_own(v, user, VHCA_UMEM, id, cmd);

	if (status)
		return status;
	*umem = to_vhca_umem(user->uses[user->nr_uses - 1]);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_umem_buffer - make a queue accessible that lies in registered memory
 * @v: the device
 * @user: the object that has the queue, and which is on the umem then
 * @buffer: to be filled
 * @where: the umem, and where in it the queue begins
 * @size: bytes that it must have
 * @cmd: the command that creates @user
 *
 * Context: firmware thread, vhca.lock held
 * Return: MLX5_CMD_STAT_OK, BAD_RES_ERR if it is not the user's, BAD_PARAM_ERR if the
 *	queue is not within it or not RAM, or may only be read, NO_RES_ERR if there is no
 *	memory
 */
u8 vhca_umem_buffer(struct vhca *v, struct vhca_object *user,
		    struct vhca_buffer *buffer, struct vhca_umem_place where,
		    u64 size, const struct vhca_cmd *cmd)
{
	struct vhca_umem *umem;
	u64 at, end;
	u8 status;
	u32 i;

	*buffer = (struct vhca_buffer) {};
	if (!size)
		return MLX5_CMD_STAT_OK;
	status = vhca_umem_use(v, user, where.id, cmd, &umem);
	if (status)
		return status;
	if (where.write && !umem->writable)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	end = where.offset + size;
	if (end < size || end + umem->offset < end)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	buffer->page_shift = VHCA_PAGE_SHIFT;
	buffer->offset = (where.offset + umem->offset) & (VHCA_PAGE_SIZE - 1);
	if ((buffer->offset + size) >> VHCA_PAGE_SHIFT > U32_MAX - 1)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	buffer->nr_pages = DIV_ROUND_UP_ULL(buffer->offset + size, VHCA_PAGE_SIZE);
	buffer->pages = vhca_calloc(v, buffer->nr_pages, sizeof(*buffer->pages));
	if (!buffer->pages)
		return MLX5_CMD_STAT_NO_RES_ERR;
	/* Each page of ours lies within one of the umem's, which is no smaller. */
	for (i = 0, at = where.offset; i < buffer->nr_pages; i++) {
		u64 rest = 0, address = vhca_umem_address(umem, at, &rest);
		u64 in_page = i ? 0 : buffer->offset;
		u64 len = min3(rest, (u64)VHCA_PAGE_SIZE - in_page, end - at);
		void *used = address ? vhca_dma_pointer(v, address, len) : NULL;

		if (!used) {
			vhca_buffer_exit(buffer);
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
		}
		buffer->pages[i] = used - in_page;
		at += len;
	}
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_umem_doorbell - find a doorbell record that lies in registered memory
 * @v: the device
 * @user: the object that has the record, and which is on the umem then
 * @where: the umem, and where in it the record begins
 * @cmd: the command that creates @user
 * @doorbell: the record, of two words
 *
 * Context: firmware thread, vhca.lock held
 * Return: MLX5_CMD_STAT_*, as of vhca_umem_buffer()
 */
u8 vhca_umem_doorbell(struct vhca *v, struct vhca_object *user,
		      struct vhca_umem_place where, const struct vhca_cmd *cmd,
		      __be32 **doorbell)
{
	struct vhca_umem *umem;
	u64 rest = 0, address;
	u8 status;

	status = vhca_umem_use(v, user, where.id, cmd, &umem);
	if (status)
		return status;
	address = vhca_umem_address(umem, where.offset, &rest);
	if (!address || rest < 2 * sizeof(__be32))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	return vhca_doorbell_init(v, address, 2, doorbell);
}
