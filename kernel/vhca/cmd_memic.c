// SPDX-License-Identifier: GPL-2.0
/*
 * Device memory (MEMIC) and its operations.
 *
 * An operation is a second address for memory that is allocated: a store to
 * it adds, or tests and sets.  Here it is plain memory without that effect,
 * but its life is followed.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mlx5/driver.h>
#include <linux/slab.h>

#include "vhca.h"

/* log_memic_addr_alignment counts from 64 bytes. */
#define VHCA_MEMIC_LOG_ALIGN	6

/**
 * struct vhca_memic - a range of device memory
 * @object: what all objects have; its id is the offset in BAR0
 * @size: bytes that the driver wants
 * @pages: pages that it takes
 */
struct vhca_memic {
	struct vhca_object	object;
	u32			size;
	u32			pages;
};

/**
 * struct vhca_memic_operation - an operation on such a range
 * @object: what all objects have; its id is the operation's own address
 * @memic: offset of the range in BAR0
 * @pages: pages of the range
 * @operation: number of the operation
 */
struct vhca_memic_operation {
	struct vhca_object	object;
	u64			memic;
	u32			pages;
	u8			operation;
};

#define to_vhca_memic(o) \
	container_of(o, struct vhca_memic, object)
#define to_vhca_memic_operation(o) \
	container_of(o, struct vhca_memic_operation, object)

static u32 vhca_memic_first_page(u64 id)
{
	return (id - VHCA_MEMIC_BASE) >> VHCA_PAGE_SHIFT;
}

static void vhca_memic_release(struct vhca *v, struct vhca_object *object)
{
	struct vhca_memic *memic = to_vhca_memic(object);
	u32 first = vhca_memic_first_page(memic->object.id);

	/* Nobody may see what another has left. */
	memset_io(v->memic + (first << VHCA_PAGE_SHIFT), 0,
		  memic->pages << VHCA_PAGE_SHIFT);
	bitmap_clear(v->memic_pages, first, memic->pages);
	kfree(memic);
}

static void vhca_memic_describe(struct vhca_object *object,
				struct vhca_object_record *record)
{
	vhca_detail_dec(record, "size", to_vhca_memic(object)->size);
}

const struct vhca_kind_info vhca_memic_kind = {
	.name = "memic",
	.release = vhca_memic_release,
	.describe = vhca_memic_describe,
};

static void vhca_memic_operation_release(struct vhca *v,
					 struct vhca_object *object)
{
	struct vhca_memic_operation *op = to_vhca_memic_operation(object);

	/* The page is mapped by users as the memory is, and keeps what they write. */
	memset_io(v->memic_operations + (op->object.id - VHCA_MEMIC_OPS_BASE), 0,
		  op->pages << VHCA_PAGE_SHIFT);
	kfree(op);
}

static void vhca_memic_operation_describe(struct vhca_object *object,
					  struct vhca_object_record *record)
{
	struct vhca_memic_operation *op = to_vhca_memic_operation(object);

	vhca_detail_hex(record, "memic", op->memic);
	vhca_detail_dec(record, "operation", op->operation);
}

const struct vhca_kind_info vhca_memic_operation_kind = {
	.name = "memic_operation",
	.release = vhca_memic_operation_release,
	.describe = vhca_memic_operation_describe,
};

/**
 * vhca_cmd_alloc_memic - ALLOC_MEMIC, from mlx5_cmd_alloc_memic()
 * @v: the device
 * @cmd: the command, alloc_memic_in
 *
 * The driver gives a range that it thinks is free and leaves the place in it
 * to the device, which takes its start.  If the device has no place there it
 * answers NO_RES, and the driver tries the next page; that is what happens
 * when the alignment does not fit, and when the driver is wrong.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_alloc_memic(struct vhca *v, struct vhca_cmd *cmd)
{
	u64 start = MLX5_GET64(alloc_memic_in, cmd->in, range_start_addr);
	u32 range = MLX5_GET(alloc_memic_in, cmd->in, range_size);
	u32 size = MLX5_GET(alloc_memic_in, cmd->in, memic_size);
	u8 log_align = MLX5_GET(alloc_memic_in, cmd->in,
				log_memic_addr_alignment);
	u32 total = v->params.memic_size;
	struct vhca_memic *memic;
	u32 first, pages, busy;
	u8 status;

	if (start < VHCA_MEMIC_BASE || start - VHCA_MEMIC_BASE >= total ||
	    !IS_ALIGNED(start, VHCA_PAGE_SIZE) ||
	    !range || !IS_ALIGNED(range, VHCA_PAGE_SIZE) ||
	    range > total - (start - VHCA_MEMIC_BASE) ||
	    !size || size > range)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (size > vhca_memic_max_alloc(v))
		return MLX5_CMD_STAT_LIM_ERR;
	if (log_align > VHCA_MEMIC_LOG_ALIGN)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (!IS_ALIGNED(start, BIT(log_align + VHCA_MEMIC_LOG_ALIGN)))
		return MLX5_CMD_STAT_NO_RES_ERR;

	first = vhca_memic_first_page(start);
	pages = DIV_ROUND_UP(size, VHCA_PAGE_SIZE);
	busy = find_next_bit(v->memic_pages, first + pages, first);
	if (busy < first + pages) {
		vhca_violation(v, "memic_busy_page", start,
			       VHCA_MEMIC_BASE +
			       ((u64)busy << VHCA_PAGE_SHIFT), NULL);
		return MLX5_CMD_STAT_NO_RES_ERR;
	}

	memic = kzalloc_obj(*memic, v->gfp);
	if (!memic)
		return MLX5_CMD_STAT_NO_RES_ERR;
	memic->size = size;
	memic->pages = pages;
	status = vhca_ledger_add_at(v, &memic->object, VHCA_MEMIC, start, cmd);
	if (status) {
		kfree(memic);
		return status;
	}
	bitmap_set(v->memic_pages, first, pages);
	MLX5_SET64(alloc_memic_out, cmd->out, memic_start_addr, start);
	return MLX5_CMD_STAT_OK;
}

/* No operation may outlive the memory that it is on. */
static void vhca_memic_check_operations(struct vhca *v, u64 memic)
{
	struct vhca_object *object;
	unsigned long id;

	xa_for_each(&v->ledger.by_id[VHCA_MEMIC_OPERATION], id, object)
		if (to_vhca_memic_operation(object)->memic == memic)
			vhca_violation_of(v, "memic_freed_under_operation",
					  VHCA_MEMIC, memic, id, false);
}

/**
 * vhca_cmd_dealloc_memic - DEALLOC_MEMIC, from mlx5_cmd_dealloc_memic()
 * @v: the device
 * @cmd: the command, dealloc_memic_in
 *
 * A memory key that still reaches the memory, and an operation that is still
 * on it, are violations; the memory goes all the same, as in a device that
 * does not look.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_dealloc_memic(struct vhca *v, struct vhca_cmd *cmd)
{
	u64 start = MLX5_GET64(dealloc_memic_in, cmd->in, memic_start_addr);
	u32 size = MLX5_GET(dealloc_memic_in, cmd->in, memic_size);
	struct vhca_object *object;

	cmd->object = start;
	object = vhca_ledger_find(v, VHCA_MEMIC, start);
	if (!object || to_vhca_memic(object)->size != size) {
		vhca_violation_of(v, "memic_dealloc_of_free", VHCA_MEMIC, start,
				  size, false);
		return MLX5_CMD_STAT_BAD_RES_ERR;
	}
	vhca_mkey_check_memic(v, start, size);
	vhca_memic_check_operations(v, start);
	vhca_ledger_remove(v, object);
	return MLX5_CMD_STAT_OK;
}

static u8 vhca_memic_operation_alloc(struct vhca *v, struct vhca_cmd *cmd,
				     u64 memic, u64 address, u8 operation)
{
	struct vhca_memic_operation *op;
	struct vhca_object *object;
	u8 status;

	if (cmd->out_len < MLX5_ST_SZ_BYTES(modify_memic_out))
		return MLX5_CMD_STAT_BAD_OUTP_LEN_ERR;
	object = vhca_ledger_find(v, VHCA_MEMIC, memic);
	if (!object) {
		vhca_violation_of(v, "memic_operation_on_free", VHCA_MEMIC,
				  memic, operation, false);
		return MLX5_CMD_STAT_BAD_RES_ERR;
	}
	if (vhca_ledger_find(v, VHCA_MEMIC_OPERATION, address)) {
		vhca_violation(v, "memic_operation_double_alloc", memic,
			       operation, NULL);
		return MLX5_CMD_STAT_BAD_RES_STATE_ERR;
	}
	op = kzalloc_obj(*op, v->gfp);
	if (!op)
		return MLX5_CMD_STAT_NO_RES_ERR;
	op->memic = memic;
	op->pages = to_vhca_memic(object)->pages;
	op->operation = operation;
	status = vhca_ledger_add_at(v, &op->object, VHCA_MEMIC_OPERATION,
				    address, cmd);
	if (status) {
		kfree(op);
		return status;
	}
	MLX5_SET64(modify_memic_out, cmd->out, memic_operation_addr, address);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_modify_memic - MODIFY_MEMIC: make or end an operation on device
 *	memory, from mlx5_cmd_alloc_memic_op() and mlx5_cmd_dealloc_memic_op()
 * @v: the device
 * @cmd: the command, modify_memic_in
 *
 * The address of an operation lies in a part of BAR0 of its own, at the same
 * offset as the memory.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_modify_memic(struct vhca *v, struct vhca_cmd *cmd)
{
	u64 memic = MLX5_GET64(modify_memic_in, cmd->in, memic_start_addr);
	u8 operation = MLX5_GET(modify_memic_in, cmd->in,
				memic_operation_type);
	struct vhca_object *object;
	u64 address;

	cmd->object = memic;
	if (memic < VHCA_MEMIC_BASE ||
	    memic - VHCA_MEMIC_BASE >= v->params.memic_size ||
	    operation >= VHCA_MEMIC_NR_OPERATIONS)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	address = VHCA_MEMIC_OPS_BASE + memic - VHCA_MEMIC_BASE +
		  (u64)operation * v->params.memic_size;

	switch (cmd->op_mod) {
	case MLX5_MODIFY_MEMIC_OP_MOD_ALLOC:
		return vhca_memic_operation_alloc(v, cmd, memic, address,
						  operation);
	case MLX5_MODIFY_MEMIC_OP_MOD_DEALLOC:
		object = vhca_ledger_find(v, VHCA_MEMIC_OPERATION, address);
		if (!object) {
			vhca_violation(v, "memic_operation_dealloc_of_free",
				       memic, operation, NULL);
			return MLX5_CMD_STAT_BAD_RES_ERR;
		}
		vhca_ledger_remove(v, object);
		return MLX5_CMD_STAT_OK;
	default:
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	}
}
