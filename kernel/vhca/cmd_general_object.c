// SPDX-License-Identifier: GPL-2.0
/*
 * General objects: kinds of objects that share three commands.  Of SW ICM and of
 * scheduling elements the contents are looked at, see sw_icm.c and scheduling.c, and of
 * reserved numbers how many they are.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>

#include "scheduling.h"
#include "sw_icm.h"
#include "vhca.h"

static void vhca_general_object_release(struct vhca *v,
					struct vhca_object *object)
{
	kfree(to_vhca_general_object(object));
}

static void vhca_general_object_describe(struct vhca_object *object,
					 struct vhca_object_record *record)
{
	struct vhca_general_object *general = to_vhca_general_object(object);

	vhca_detail_hex(record, "obj_type", general->type);
	if (general->type == MLX5_OBJ_TYPE_SW_ICM) {
		vhca_detail_hex(record, "sw_icm_addr", general->start);
		vhca_detail_dec(record, "size", general->size);
		vhca_detail_text(record, "region",
				 vhca_sw_icm_region_name(general->start));
	}
	if (general->type == VHCA_OBJ_SCHEDULING)
		vhca_scheduling_describe(general, record);
}

const struct vhca_kind_info vhca_general_object_kind = {
	.name = "general_object", .min = 1, .max = 0xffffff,
	.release = vhca_general_object_release,
	.describe = vhca_general_object_describe,
};

/*
 * Numbers of queue pairs that a user keeps for itself, to have them mean something to
 * others (mlx5dv_reserved_qpn_alloc()): a block of them, named by its first.  They are
 * above all that the device gives to queues.
 */
static u8 vhca_reserved_qpn_add(struct vhca *v, struct vhca_general_object *general,
				struct vhca_cmd *cmd)
{
	u8 log = MLX5_GET(general_obj_in_cmd_hdr, cmd->in,
			  op_param.create.log_obj_range);
	unsigned int i;

	if (log > VHCA_LOG_RESERVED_QPNS)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	for (i = 0; i < VHCA_RESERVED_QPN_BLOCKS; i++) {
		u64 first = VHCA_FIRST_RESERVED_QPN + (i << VHCA_LOG_RESERVED_QPNS);

		if (!vhca_ledger_find(v, VHCA_GENERAL_OBJECT, first))
			return vhca_ledger_add_at(v, &general->object,
						  VHCA_GENERAL_OBJECT, first,
						  cmd);
	}
	return MLX5_CMD_STAT_LIM_ERR;
}

/**
 * vhca_cmd_create_general_object - CREATE_GENERAL_OBJECT, from
 *	mlx5_dm_sw_icm_alloc() and DEVX
 * @v: the device
 * @cmd: the command, general_obj_in_cmd_hdr and the object's context
 *
 * Types that general_obj_types does not advertise are refused.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_create_general_object(struct vhca *v, struct vhca_cmd *cmd)
{
	u16 type = MLX5_GET(general_obj_in_cmd_hdr, cmd->in, obj_type);
	u64 types = MLX5_GET64(cmd_hca_cap, v->caps, general_obj_types);
	struct vhca_general_object *general;
	u8 status = MLX5_CMD_STAT_OK;

	if (type >= BITS_PER_TYPE(types) || !(types & BIT_ULL(type)))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	general = kzalloc_obj(*general, v->gfp);
	if (!general)
		return MLX5_CMD_STAT_NO_RES_ERR;
	general->type = type;
	if (type == MLX5_OBJ_TYPE_SW_ICM)
		status = vhca_sw_icm_init(v, general, cmd);
	else if (type == VHCA_OBJ_SCHEDULING)
		status = vhca_scheduling_init(v, general, cmd);
	if (!status && type == VHCA_OBJ_RESERVED_QPN)
		status = vhca_reserved_qpn_add(v, general, cmd);
	else if (!status)
		status = vhca_ledger_add(v, &general->object,
					 VHCA_GENERAL_OBJECT, cmd);
	if (status) {
		vhca_object_unuse(&general->object);
		kfree(general);
		return status;
	}
	MLX5_SET(general_obj_out_cmd_hdr, cmd->out, obj_id,
		 general->object.id);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_modify_general_object - MODIFY_GENERAL_OBJECT, from DEVX
 * @v: the device
 * @cmd: the command, general_obj_in_cmd_hdr and the object's context
 *
 * Only elements of the scheduling tree have something that can be changed.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_modify_general_object(struct vhca *v, struct vhca_cmd *cmd)
{
	u16 type = MLX5_GET(general_obj_in_cmd_hdr, cmd->in, obj_type);
	u32 id = MLX5_GET(general_obj_in_cmd_hdr, cmd->in, obj_id);
	struct vhca_object *object;

	cmd->object = id;
	object = vhca_ledger_find(v, VHCA_GENERAL_OBJECT, id);
	if (!object || to_vhca_general_object(object)->type != type ||
	    (cmd->uid && object->uid != cmd->uid))
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (type != VHCA_OBJ_SCHEDULING)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	return vhca_scheduling_modify(to_vhca_general_object(object), cmd);
}

/**
 * vhca_cmd_destroy_general_object - DESTROY_GENERAL_OBJECT, from
 *	mlx5_dm_sw_icm_dealloc() and DEVX
 * @v: the device
 * @cmd: the command, general_obj_in_cmd_hdr
 *
 * An object of another type than the command says is not found.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_destroy_general_object(struct vhca *v, struct vhca_cmd *cmd)
{
	u16 type = MLX5_GET(general_obj_in_cmd_hdr, cmd->in, obj_type);
	u32 id = MLX5_GET(general_obj_in_cmd_hdr, cmd->in, obj_id);
	struct vhca_general_object *general;
	struct vhca_object *object;

	object = vhca_ledger_find(v, VHCA_GENERAL_OBJECT, id);
	if (object) {
		general = to_vhca_general_object(object);
		if (general->type != type) {
			cmd->object = id;
			vhca_violation_of(v, "destroy_of_unknown",
					  VHCA_GENERAL_OBJECT, id, cmd->opcode,
					  true);
			return MLX5_CMD_STAT_BAD_RES_ERR;
		}
		if (type == MLX5_OBJ_TYPE_SW_ICM)
			vhca_sw_icm_check_mkeys(v, general);
	}
	return vhca_destroy_number(v, cmd, id);
}
