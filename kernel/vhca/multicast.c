// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups: which queue pairs of this device are in them, and what arrives for
 * such a group.  Who sends to one sends to all ports, see vhca_fabric_send().
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>

#include "vhca.h"

/**
 * struct vhca_member - a queue pair in a multicast group
 * @node: place in vhca.members
 * @qp: the queue pair
 * @gid: the group
 */
struct vhca_member {
	struct list_head	node;
	struct vhca_qp		*qp;
	__be64			gid[2];
};

static struct vhca_member *vhca_member_find(struct vhca *v, const struct vhca_qp *qp,
					    const __be64 gid[2])
{
	struct vhca_member *member;

	list_for_each_entry(member, &v->members, node)
		if (member->qp == qp && !memcmp(member->gid, gid, sizeof(member->gid)))
			return member;
	return NULL;
}

static void vhca_member_remove(struct vhca *v, struct vhca_member *member)
{
	list_del(&member->node);
	member->qp->groups--;
	v->nr_members--;
	kfree(member);
}

/* The queue pair and the group that a command names; attach and detach are alike. */
static struct vhca_qp *vhca_multicast_find(struct vhca *v, struct vhca_cmd *cmd, __be64 gid[2])
{
	u32 qpn = vhca_cmd_number(cmd);
	struct vhca_object *object;

	cmd->object = qpn;
	memcpy(gid, MLX5_ADDR_OF(attach_to_mcg_in, cmd->in, multicast_gid), 2 * sizeof(*gid));
	object = vhca_ledger_find(v, VHCA_QP, qpn);
	if (!object || (cmd->uid && object->uid != cmd->uid))
		return NULL;
	return to_vhca_qp(object);
}

/**
 * vhca_cmd_attach_to_mcg - ATTACH_TO_MCG: put a queue pair into a multicast group, from
 *	mlx5_cmd_attach_mcg()
 * @v: the device
 * @cmd: the command, attach_to_mcg_in
 *
 * Return: MLX5_CMD_STAT_*; OK as well if it is in there already
 */
u8 vhca_cmd_attach_to_mcg(struct vhca *v, struct vhca_cmd *cmd)
{
	struct vhca_member *member;
	struct vhca_qp *qp;
	__be64 gid[2];

	qp = vhca_multicast_find(v, cmd, gid);
	if (!qp)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (qp->service != MLX5_QP_ST_UD || !vhca_gid_is_group(gid))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (vhca_member_find(v, qp, gid))
		return MLX5_CMD_STAT_OK;
	if (v->nr_members == BIT(VHCA_LOG_MAX_MEMBERS))
		return MLX5_CMD_STAT_LIM_ERR;
	member = kmalloc_obj(*member, v->gfp);
	if (!member)
		return MLX5_CMD_STAT_NO_RES_ERR;
	member->qp = qp;
	memcpy(member->gid, gid, sizeof(member->gid));
	list_add_tail(&member->node, &v->members);
	v->nr_members++;
	qp->groups++;
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_detach_from_mcg - DETACH_FROM_MCG: take it out again, from
 *	mlx5_cmd_detach_mcg()
 * @v: the device
 * @cmd: the command, detach_from_mcg_in
 *
 * Return: MLX5_CMD_STAT_*; BAD_RES_STATE_ERR if it is not in there
 */
u8 vhca_cmd_detach_from_mcg(struct vhca *v, struct vhca_cmd *cmd)
{
	struct vhca_member *member;
	struct vhca_qp *qp;
	__be64 gid[2];

	qp = vhca_multicast_find(v, cmd, gid);
	if (!qp)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	member = vhca_member_find(v, qp, gid);
	if (!member)
		return MLX5_CMD_STAT_BAD_RES_STATE_ERR;
	vhca_member_remove(v, member);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_multicast_leave - take a queue pair out of all groups
 * @v: the device
 * @qp: the queue pair, which is about to be freed
 *
 * Context: vhca.lock held
 */
void vhca_multicast_leave(struct vhca *v, struct vhca_qp *qp)
{
	struct vhca_member *member, *next;

	list_for_each_entry_safe(member, next, &v->members, node)
		if (member->qp == qp)
			vhca_member_remove(v, member);
}

/*
 * A port brings what is sent to a group back to the sender's own device; the sender can
 * want to be left out.
 */
static bool vhca_is_blocked(struct vhca *v, const struct vhca_qp *qp,
			    const struct vhca_packet *packet)
{
	return packet->source == v->index && packet->source_qpn == qp->object.id &&
	       MLX5_GET(qpc, qp->context, block_lb_mc);
}

/**
 * vhca_multicast_receive - give a datagram to all who are in its group
 * @v: the device
 * @packet: the datagram
 *
 * Who has no receive request does not get it, and nobody hears of that.
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_multicast_receive(struct vhca *v, struct vhca_packet *packet)
{
	struct vhca_member *member;

	list_for_each_entry(member, &v->members, node) {
		struct vhca_qp *qp = member->qp;

		if (memcmp(member->gid, packet->gid, sizeof(member->gid)) ||
		    vhca_is_blocked(v, qp, packet))
			continue;
		v->poll_bytes += packet->len + VHCA_PACKET_COST;
		vhca_responder_datagram(v, qp, packet);
	}
}
