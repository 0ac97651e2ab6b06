// SPDX-License-Identifier: GPL-2.0
/*
 * The tree that shares bandwidth out, of mlx5dv_sched_node_create() and its kin: nodes that
 * arbitrate, and groups of queues as leaves.  It is a tree for the one who makes it, and has
 * no effect: the device sends as fast as it can.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mlx5/driver.h>

#include "caps.h"
#include "scheduling.h"
#include "vhca.h"

/* Fields of the general object that may be changed: modify_field_select. */
#define VHCA_SCHEDULING_BW_SHARE	BIT(0)
#define VHCA_SCHEDULING_MAX_AVERAGE_BW	BIT(1)

#define VHCA_SCHEDULING_FIELDS	(0xa0 / 32)	/* the lower half of modify_field_select */

/* nic_qp_scheduling has no name in mlx5_ifc.h. */
#define VHCA_QOS_NIC_QP_SCHEDULING	0x21

/**
 * vhca_caps_scheduling - say that there are scheduling elements and rates
 * @caps: all of the device's capabilities
 */
void vhca_caps_scheduling(void *caps)
{
	void *cap = vhca_cap(caps, MLX5_CAP_QOS);

	MLX5_SET(cmd_hca_cap, vhca_cap(caps, MLX5_CAP_GENERAL), qos, 1);
	MLX5_SET(qos_cap, cap, nic_sq_scheduling, 1);
	MLX5_SET(qos_cap, cap, nic_bw_share, 1);
	MLX5_SET(qos_cap, cap, nic_rate_limit, 1);
	MLX5_SET(qos_cap, cap, nic_element_type,
		 ELEMENT_TYPE_CAP_MASK_TSAR | ELEMENT_TYPE_CAP_MASK_QUEUE_GROUP);
	MLX5_SET(qos_cap, cap, nic_tsar_type, TSAR_TYPE_CAP_MASK_DWRR);
	vhca_cap_set_bit(cap, VHCA_QOS_NIC_QP_SCHEDULING);
	MLX5_SET(qos_cap, cap, packet_pacing, 1);
	MLX5_SET(qos_cap, cap, packet_pacing_uid, 1);
	MLX5_SET(qos_cap, cap, packet_pacing_min_rate, VHCA_MIN_RATE);
	MLX5_SET(qos_cap, cap, packet_pacing_max_rate, VHCA_MAX_RATE);
	MLX5_SET(qos_cap, cap, packet_pacing_rate_table_size,
		 vhca_rate_kind.max + 1);
}

static bool vhca_scheduling_is_node(const struct vhca_general_object *general)
{
	return MLX5_GET(scheduling_context, general->scheduling, element_type) ==
	       SCHEDULING_CONTEXT_ELEMENT_TYPE_TSAR;
}

/* The element of that number, if there is one and it is that user's. */
static struct vhca_general_object *vhca_scheduling_find(struct vhca *v, u32 id, u16 uid)
{
	struct vhca_object *object = vhca_ledger_find(v, VHCA_GENERAL_OBJECT, id);

	if (!object || to_vhca_general_object(object)->type != VHCA_OBJ_SCHEDULING ||
	    (uid && object->uid != uid))
		return NULL;
	return to_vhca_general_object(object);
}

/* The context in a message that is long enough for it, or NULL. */
static const void *vhca_scheduling_context(const struct vhca_cmd *cmd)
{
	if (cmd->in_len < VHCA_SCHEDULING_CONTEXT * sizeof(__be32) +
			  MLX5_ST_SZ_BYTES(scheduling_context))
		return NULL;
	return (const __be32 *)cmd->in + VHCA_SCHEDULING_CONTEXT;
}

/**
 * vhca_scheduling_init - make an element of the tree
 * @v: the device
 * @general: the general object, not in the ledger yet
 * @cmd: CREATE_GENERAL_OBJECT
 *
 * Its parent, a node of the same user, cannot be destroyed before it.  Only a node can be
 * without one.
 *
 * Context: firmware thread, vhca.lock held
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_scheduling_init(struct vhca *v, struct vhca_general_object *general,
			const struct vhca_cmd *cmd)
{
	const void *context = vhca_scheduling_context(cmd);
	struct vhca_general_object *parent;
	u32 id;

	if (!context)
		return MLX5_CMD_STAT_BAD_INP_LEN_ERR;
	if (vhca_field(cmd->in, VHCA_SCHEDULING_HIERARCHY) >> 24 != SCHEDULING_HIERARCHY_NIC)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	memcpy(general->scheduling, context, sizeof(general->scheduling));
	switch (MLX5_GET(scheduling_context, context, element_type)) {
	case SCHEDULING_CONTEXT_ELEMENT_TYPE_TSAR:
		/* tsar_type of struct mlx5_ifc_tsar_element_bits */
		if ((MLX5_GET(scheduling_context, context, element_attributes) >> 16 & 0xff) !=
		    TSAR_ELEMENT_TSAR_TYPE_DWRR)
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
		break;
	case SCHEDULING_CONTEXT_ELEMENT_TYPE_QUEUE_GROUP:
		break;
	default:
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	}
	id = MLX5_GET(scheduling_context, context, parent_element_id);
	if (!id)
		return vhca_scheduling_is_node(general) ? MLX5_CMD_STAT_OK :
							  MLX5_CMD_STAT_BAD_PARAM_ERR;
	parent = vhca_scheduling_find(v, id, cmd->uid);
	if (!parent || !vhca_scheduling_is_node(parent))
		return MLX5_CMD_STAT_BAD_RES_ERR;
	return vhca_object_use(v, &general->object, VHCA_GENERAL_OBJECT, id);
}

/**
 * vhca_scheduling_modify - change the shares of an element
 * @general: the element
 * @cmd: MODIFY_GENERAL_OBJECT
 *
 * It stays where it is in the tree.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_scheduling_modify(struct vhca_general_object *general, const struct vhca_cmd *cmd)
{
	const void *context = vhca_scheduling_context(cmd);
	u32 fields;

	if (!context)
		return MLX5_CMD_STAT_BAD_INP_LEN_ERR;
	fields = vhca_field(cmd->in, VHCA_SCHEDULING_FIELDS);
	if (fields & VHCA_SCHEDULING_BW_SHARE)
		MLX5_SET(scheduling_context, general->scheduling, bw_share,
			 MLX5_GET(scheduling_context, context, bw_share));
	if (fields & VHCA_SCHEDULING_MAX_AVERAGE_BW)
		MLX5_SET(scheduling_context, general->scheduling, max_average_bw,
			 MLX5_GET(scheduling_context, context, max_average_bw));
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_scheduling_describe - what the ledger shows of an element
 * @general: the element
 * @record: its record
 */
void vhca_scheduling_describe(const struct vhca_general_object *general,
			      struct vhca_object_record *record)
{
	const void *context = general->scheduling;

	vhca_detail_text(record, "element", vhca_scheduling_is_node(general) ? "node" : "leaf");
	vhca_detail_hex(record, "parent",
			MLX5_GET(scheduling_context, context, parent_element_id));
	vhca_detail_dec(record, "bw_share", MLX5_GET(scheduling_context, context, bw_share));
	vhca_detail_dec(record, "max_average_bw",
			MLX5_GET(scheduling_context, context, max_average_bw));
}

/**
 * vhca_scheduling_has_group - may a queue pair be put into a group?
 * @v: the device
 * @id: the group's number, 0 for none
 * @uid: user context of the queue pair
 *
 * The group is not kept busy by it: it can go first.
 *
 * Return: true if it may
 */
bool vhca_scheduling_has_group(struct vhca *v, u32 id, u16 uid)
{
	struct vhca_general_object *general;

	if (!id)
		return true;
	general = vhca_scheduling_find(v, id, uid);
	return general && !vhca_scheduling_is_node(general);
}
