// SPDX-License-Identifier: GPL-2.0
/*
 * Objects that are nothing but a number to this device, and destroying any
 * object.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>

#include "vhca.h"

static void vhca_plain_release(struct vhca *v, struct vhca_object *object)
{
	kfree(object);
}

const struct vhca_kind_info vhca_pd_kind = {
	.name = "pd", .min = 1, .max = 0xffff,
	.release = vhca_plain_release,
};

/* The number of a UAR is its page in BAR0; the driver maps it there. */
const struct vhca_kind_info vhca_uar_kind = {
	.name = "uar",
	.min = VHCA_UAR_BASE >> VHCA_PAGE_SHIFT,
	.max = (VHCA_VAR_BASE >> VHCA_PAGE_SHIFT) - 1,
	.release = vhca_plain_release,
};

const struct vhca_kind_info vhca_xrcd_kind = {
	.name = "xrcd", .min = 1, .max = 0xffff,
	.release = vhca_plain_release,
};

/* mlx5_ib keeps the next two in one table: their numbers must differ. */
const struct vhca_kind_info vhca_xrc_srq_kind = {
	.name = "xrc_srq", .min = 0x100, .max = 0xfff,
	.release = vhca_plain_release,
};

const struct vhca_kind_info vhca_rmp_kind = {
	.name = "rmp", .min = 0x1000, .max = 0x3fff,
	.release = vhca_plain_release,
};

const struct vhca_kind_info vhca_uctx_kind = {
	.name = "uctx", .min = 1, .max = 0x3ff,
	.release = vhca_plain_release,
};

const struct vhca_kind_info vhca_umem_kind = {
	.name = "umem", .min = 1, .max = 0x3fff,
	.release = vhca_plain_release,
};

/**
 * vhca_cmd_create_plain - ALLOC_PD, ALLOC_UAR, ALLOC_XRCD, CREATE_XRC_SRQ,
 *	CREATE_RMP, CREATE_UCTX, CREATE_UMEM
 * @v: the device
 * @cmd: the command
 *
 * A real device sets up a context; here a number is handed out.  What such an
 * object is on (the PD of a receive queue, the pages of a umem) is not looked
 * at.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_create_plain(struct vhca *v, struct vhca_cmd *cmd)
{
	struct vhca_object *object;
	u8 status;

	object = kzalloc_obj(*object);
	if (!object)
		return MLX5_CMD_STAT_NO_RES_ERR;
	status = vhca_ledger_add(v, object, cmd->row->kind, cmd);
	if (status) {
		kfree(object);
		return status;
	}
	vhca_cmd_set_number(cmd, object->id);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_modify_plain - ARM_XRC_SRQ and MODIFY_RMP: changes that have no
 *	effect on what is modelled, to an object that must be there
 * @v: the device
 * @cmd: the command
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_modify_plain(struct vhca *v, struct vhca_cmd *cmd)
{
	u32 id = vhca_cmd_number(cmd);

	cmd->object = id;
	return vhca_ledger_find(v, cmd->row->kind, id) ?
	       MLX5_CMD_STAT_OK : MLX5_CMD_STAT_BAD_RES_ERR;
}

static u8 vhca_destroy_number(struct vhca *v, struct vhca_cmd *cmd, u32 id)
{
	const char *kind = vhca_kind_info(cmd->row->kind)->name;
	struct vhca_object *object;

	cmd->object = id;
	object = vhca_ledger_find(v, cmd->row->kind, id);
	if (!object) {
		vhca_violation(v, "destroy_of_unknown", id, cmd->opcode, kind);
		return MLX5_CMD_STAT_BAD_RES_ERR;
	}
	if (object->users) {
		vhca_violation(v, "destroy_of_busy", id, object->users, kind);
		return MLX5_CMD_STAT_BAD_RES_STATE_ERR;
	}
	vhca_ledger_remove(v, object);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_destroy - all commands that destroy a numbered object
 * @v: the device
 * @cmd: the command
 *
 * An object that another is on is refused with BAD_RES_STATE.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_destroy(struct vhca *v, struct vhca_cmd *cmd)
{
	return vhca_destroy_number(v, cmd, vhca_cmd_number(cmd));
}

/**
 * vhca_cmd_dealloc_pd - DEALLOC_PD, from mlx5_core_dealloc_pd() and
 *	mlx5_cmd_dealloc_pd()
 * @v: the device
 * @cmd: the command, dealloc_pd_in
 *
 * A memory key keeps its PD busy as long as it is not free.  Free keys do
 * not: mlx5_ib keeps them for later use, with the PD they had last.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_dealloc_pd(struct vhca *v, struct vhca_cmd *cmd)
{
	u32 pd = vhca_cmd_number(cmd);
	struct vhca_object *object;
	unsigned long index;

	xa_for_each(&v->ledger.by_id[VHCA_MKEY], index, object) {
		struct vhca_mkey *mkey = to_vhca_mkey(object);

		if (vhca_mkey_free(mkey) ||
		    MLX5_GET(mkc, mkey->context, pd) != pd)
			continue;
		cmd->object = pd;
		vhca_violation(v, "pd_freed_under_mkey", pd, index, NULL);
		return MLX5_CMD_STAT_BAD_RES_STATE_ERR;
	}
	return vhca_cmd_destroy(v, cmd);
}

/**
 * struct vhca_general_object - an object of CREATE_GENERAL_OBJECT
 * @object: what all objects have
 * @type: MLX5_OBJ_TYPE_* or MLX5_GENERAL_OBJECT_TYPES_*
 */
struct vhca_general_object {
	struct vhca_object	object;
	u16			type;
};

#define to_vhca_general_object(o) \
	container_of(o, struct vhca_general_object, object)

static void vhca_general_object_release(struct vhca *v,
					struct vhca_object *object)
{
	kfree(to_vhca_general_object(object));
}

static void vhca_general_object_describe(struct vhca_object *object,
					 struct vhca_object_record *record)
{
	vhca_detail_hex(record, "obj_type",
			to_vhca_general_object(object)->type);
}

const struct vhca_kind_info vhca_general_object_kind = {
	.name = "general_object", .min = 1, .max = 0xffffff,
	.release = vhca_general_object_release,
	.describe = vhca_general_object_describe,
};

/**
 * vhca_cmd_create_general_object - CREATE_GENERAL_OBJECT, from DEVX
 * @v: the device
 * @cmd: the command, general_obj_in_cmd_hdr
 *
 * Types that general_obj_types does not advertise are refused; the object's
 * own context is not looked at.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_create_general_object(struct vhca *v, struct vhca_cmd *cmd)
{
	u16 type = MLX5_GET(general_obj_in_cmd_hdr, cmd->in, obj_type);
	u64 types = MLX5_GET64(cmd_hca_cap, v->caps, general_obj_types);
	struct vhca_general_object *general;
	u8 status;

	if (type >= BITS_PER_TYPE(types) || !(types & BIT_ULL(type)))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	general = kzalloc_obj(*general);
	if (!general)
		return MLX5_CMD_STAT_NO_RES_ERR;
	general->type = type;
	status = vhca_ledger_add(v, &general->object, VHCA_GENERAL_OBJECT,
				 cmd);
	if (status) {
		kfree(general);
		return status;
	}
	MLX5_SET(general_obj_out_cmd_hdr, cmd->out, obj_id,
		 general->object.id);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_destroy_general_object - DESTROY_GENERAL_OBJECT, from DEVX
 * @v: the device
 * @cmd: the command, general_obj_in_cmd_hdr
 *
 * The type is a part of the name: an object of another type is not the one.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_destroy_general_object(struct vhca *v, struct vhca_cmd *cmd)
{
	u16 type = MLX5_GET(general_obj_in_cmd_hdr, cmd->in, obj_type);
	u32 id = MLX5_GET(general_obj_in_cmd_hdr, cmd->in, obj_id);
	struct vhca_object *object;

	object = vhca_ledger_find(v, VHCA_GENERAL_OBJECT, id);
	if (object && to_vhca_general_object(object)->type != type) {
		cmd->object = id;
		vhca_violation(v, "destroy_of_unknown", id, cmd->opcode,
			       vhca_general_object_kind.name);
		return MLX5_CMD_STAT_BAD_RES_ERR;
	}
	return vhca_destroy_number(v, cmd, id);
}
