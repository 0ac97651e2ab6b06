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

const struct vhca_kind_info vhca_xrcd_kind = {
	.name = "xrcd", .min = 1, .max = 0xffff,
	.release = vhca_plain_release,
};

/* Of counters only the number is there: no flow table counts with them. */
const struct vhca_kind_info vhca_flow_counter_kind = {
	.name = "flow_counter", .min = 1, .max = 0xffff,
	.release = vhca_plain_release,
};

const struct vhca_kind_info vhca_uctx_kind = {
	.name = "uctx", .min = 1, .max = 0x3ff,
	.release = vhca_plain_release,
};

/**
 * vhca_cmd_create_plain - ALLOC_PD, ALLOC_XRCD, ALLOC_FLOW_COUNTER, CREATE_UCTX
 * @v: the device
 * @cmd: the command
 *
 * A real device sets up a context; here a number is handed out.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_create_plain(struct vhca *v, struct vhca_cmd *cmd)
{
	struct vhca_object *object;
	u8 status;

	object = kzalloc_obj(*object, v->gfp);
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
 * vhca_destroy_number - destroy an object
 * @v: the device
 * @cmd: the command that destroys, in whose row the kind is
 * @id: the object's number
 *
 * Context: firmware thread, vhca.lock held
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_destroy_number(struct vhca *v, struct vhca_cmd *cmd, u32 id)
{
	struct vhca_object *object;

	cmd->object = id;
	object = vhca_ledger_find(v, cmd->row->kind, id);
	if (!object) {
		vhca_violation_of(v, "destroy_of_unknown", cmd->row->kind, id,
				  cmd->opcode, true);
		return MLX5_CMD_STAT_BAD_RES_ERR;
	}
	if (object->users) {
		vhca_violation_of(v, "destroy_of_busy", cmd->row->kind, id,
				  object->users, true);
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
		vhca_violation_of(v, "pd_freed_under_mkey", VHCA_PD, pd, index,
				  false);
		return MLX5_CMD_STAT_BAD_RES_STATE_ERR;
	}
	return vhca_cmd_destroy(v, cmd);
}

/**
 * vhca_cmd_destroy_uctx - DESTROY_UCTX, from mlx5_ib_devx_destroy()
 * @v: the device
 * @cmd: the command, destroy_uctx_in
 *
 * mlx5_ib destroys the user context last of all that its process had
 * (mlx5_ib_dealloc_ucontext()), so an object that still names it is one that
 * was lost or comes too late.  The context goes all the same.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_destroy_uctx(struct vhca *v, struct vhca_cmd *cmd)
{
	u32 uid = vhca_cmd_number(cmd);
	struct vhca_object *object;

	if (vhca_ledger_find(v, VHCA_UCTX, uid))
		list_for_each_entry(object, &v->ledger.births, node)
			if (object->uid == uid)
				vhca_violation(v, "uctx_destroyed_under_object",
					       uid, object->id,
					       vhca_kind_info(object->kind)->name);
	return vhca_cmd_destroy(v, cmd);
}
