// SPDX-License-Identifier: GPL-2.0
/*
 * The receiving side of a connection (RC) and of unacknowledged messages (UC).
 *
 * A connected queue pair that gets what it must not get answers with an error
 * and moves to its error state.  An unconnected one drops the message.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mlx5/cq.h>

#include "vhca.h"

/* flags_rqpn of a CQE: the message came with a global route. */
#define VHCA_CQE_GRH		BIT(28)

static bool vhca_uses_receive(u8 opcode)
{
	return opcode == MLX5_OPCODE_SEND || opcode == MLX5_OPCODE_SEND_IMM ||
	       opcode == MLX5_OPCODE_SEND_INVAL ||
	       opcode == MLX5_OPCODE_RDMA_WRITE_IMM;
}

/*
 * The queue pair that a packet is for, if it takes packets of that sender now,
 * and did so already when the packet was sent.
 */
static struct vhca_qp *vhca_responder_find(struct vhca *v,
					   const struct vhca_packet *packet)
{
	struct vhca_object *object;
	struct vhca_qp *qp;

	object = vhca_ledger_find(v, VHCA_QP, packet->target_qpn);
	if (!object)
		return NULL;
	qp = to_vhca_qp(object);
	if (qp->service != packet->service || packet->sent < qp->life ||
	    (qp->state != MLX5_QP_STATE_RTR &&
	     qp->state != MLX5_QP_STATE_RTS) ||
	    MLX5_GET(qpc, qp->context, remote_qpn) != packet->source_qpn ||
	    !vhca_path_leads_to(MLX5_ADDR_OF(qpc, qp->context,
					     primary_address_path),
				packet->source))
		return NULL;
	return qp;
}

/* The work requests of a receive queue consist of data segments. */
static const struct mlx5_wqe_data_seg *
vhca_receive_segment(const struct vhca_qp *qp, u32 i)
{
	const struct vhca_reception *r = &qp->reception;
	const struct mlx5_wqe_data_seg *segment = (const void *)r->wqe;

	/* A signature takes the first place, and is not looked at. */
	if (MLX5_GET(qpc, qp->context, wq_signature))
		i++;
	if ((i + 1) * sizeof(*segment) > r->wqe_len ||
	    segment[i].lkey == MLX5_TERMINATE_SCATTER_LIST_LKEY)
		return NULL;
	return &segment[i];
}

static u32 vhca_segment_len(const struct mlx5_wqe_data_seg *segment)
{
	return be32_to_cpu(segment->byte_count) & ~MLX5_INLINE_SEG;
}

static u64 vhca_receive_room(const struct vhca_qp *qp)
{
	const struct mlx5_wqe_data_seg *segment;
	u64 room = 0;
	u32 i;

	for (i = 0; (segment = vhca_receive_segment(qp, i)); i++)
		room += vhca_segment_len(segment);
	return room;
}

/*
 * Write a piece to where the receive request wants it.  Where that cannot be
 * done @absent says whether a translation is missing.
 */
static bool vhca_receive_scatter(struct vhca *v, struct vhca_qp *qp,
				 const struct vhca_packet *packet, bool *absent)
{
	const struct mlx5_wqe_data_seg *segment;
	const void *data = packet->payload;
	u32 offset = packet->offset;
	u32 len = packet->len;
	u32 i;

	*absent = false;
	for (i = 0; len && (segment = vhca_receive_segment(qp, i)); i++) {
		struct vhca_access access = {
			.key	= be32_to_cpu(segment->lkey),
			.right	= VHCA_LOCAL_WRITE,
			.pd	= qp->pd,
			.qpn	= qp->object.id,
		};
		u32 size = vhca_segment_len(segment);

		if (offset >= size) {
			offset -= size;
			continue;
		}
		access.address = be64_to_cpu(segment->addr) + offset;
		access.len = min(len, size - offset);
		if (!vhca_access_write(v, &access, data)) {
			*absent = access.absent;
			return false;
		}
		data += access.len;
		len -= access.len;
		offset = 0;
	}
	return !len;
}

/* What the receiver is told of a message that has arrived. */
static void vhca_responder_complete(struct vhca *v, struct vhca_qp *qp,
				    const struct vhca_packet *packet)
{
	void *path = MLX5_ADDR_OF(qpc, qp->context, primary_address_path);
	u32 flags = packet->source_qpn |
		    (u32)MLX5_GET(ads, path, sl) << 24;
	struct mlx5_cqe64 cqe = {
		.slid		= cpu_to_be16(vhca_lid_of(packet->source)),
		.immediate	= packet->immediate,
		.byte_cnt	= cpu_to_be32(packet->total),
	};
	u8 kind;

	switch (packet->opcode) {
	case MLX5_OPCODE_RDMA_WRITE_IMM:
		kind = MLX5_CQE_RESP_WR_IMM;
		break;
	case MLX5_OPCODE_SEND_IMM:
		kind = MLX5_CQE_RESP_SEND_IMM;
		break;
	case MLX5_OPCODE_SEND_INVAL:
		kind = MLX5_CQE_RESP_SEND_INV;
		break;
	default:
		kind = MLX5_CQE_RESP_SEND;
		cqe.immediate = 0;
		break;
	}
	if (MLX5_GET(ads, path, grh))
		flags |= VHCA_CQE_GRH;
	cqe.flags_rqpn = cpu_to_be32(flags);
	cqe.op_own = kind << 4;
	vhca_receive_complete(v, qp, &cqe, 0, packet->solicited);
}

/* A receive request fails, and with it the queue pair. */
static void vhca_responder_fail_receive(struct vhca *v, struct vhca_qp *qp,
					u8 syndrome)
{
	struct mlx5_cqe64 cqe = {};

	if (qp->service == MLX5_QP_ST_UC)
		return;
	vhca_receive_complete(v, qp, &cqe, syndrome, true);
	qp->state = MLX5_QP_STATE_ERR;
}

static enum vhca_reply vhca_responder_send(struct vhca *v, struct vhca_qp *qp,
					   struct vhca_packet *packet)
{
	struct vhca_reception *r = &qp->reception;
	bool absent;

	if (!packet->offset) {
		if (!vhca_receive_fetch(qp))
			return VHCA_NAK_OPERATION;
		r->active = true;
		if (packet->total > vhca_receive_room(qp)) {
			vhca_responder_fail_receive(v, qp,
						    MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
			return VHCA_NAK_INVALID_REQUEST;
		}
	} else if (!r->active) {
		return VHCA_NAK_INVALID_REQUEST;
	}
	if (!vhca_receive_scatter(v, qp, packet, &absent)) {
		if (absent && vhca_page_fault_receive(v, qp, packet))
			return VHCA_UNANSWERED;
		vhca_responder_fail_receive(v, qp,
					    MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
		return VHCA_NAK_OPERATION;
	}
	if (!vhca_packet_is_last(packet))
		return VHCA_ACK;
	if (packet->opcode == MLX5_OPCODE_SEND_INVAL) {
		const struct vhca_access access = {
			.key	= be32_to_cpu(packet->immediate),
			.pd	= qp->pd,
			.qpn	= qp->object.id,
		};

		if (!vhca_access_invalidate(v, &access))
			return VHCA_NAK_ACCESS;
	}
	vhca_responder_complete(v, qp, packet);
	return VHCA_ACK;
}

/* The key must be good for the whole message before the first byte moves. */
static bool vhca_responder_allows(struct vhca *v,
				  const struct vhca_access *access,
				  const struct vhca_packet *packet)
{
	struct vhca_access all = *access;

	all.address = packet->address;
	all.len = packet->total;
	return vhca_access_allowed(v, &all);
}

/* An access has failed: it is a page fault, or the key does not allow it. */
static enum vhca_reply vhca_responder_unable(struct vhca *v, struct vhca_qp *qp,
					     struct vhca_packet *packet,
					     const struct vhca_access *access)
{
	bool write = access->right != VHCA_REMOTE_READ;

	if (access->absent && vhca_page_fault_rdma(v, qp, packet, write))
		return VHCA_UNANSWERED;
	return VHCA_NAK_ACCESS;
}

static enum vhca_reply vhca_responder_write(struct vhca *v, struct vhca_qp *qp,
					    struct vhca_packet *packet,
					    struct vhca_access *access)
{
	if (!MLX5_GET(qpc, qp->context, rwe))
		return VHCA_NAK_INVALID_REQUEST;
	access->right = VHCA_REMOTE_WRITE;
	if (!vhca_responder_allows(v, access, packet))
		return VHCA_NAK_ACCESS;
	if (!vhca_access_write(v, access, packet->payload))
		return vhca_responder_unable(v, qp, packet, access);
	if (packet->opcode == MLX5_OPCODE_RDMA_WRITE_IMM &&
	    vhca_packet_is_last(packet))
		vhca_responder_complete(v, qp, packet);
	return VHCA_ACK;
}

static enum vhca_reply vhca_responder_read(struct vhca *v, struct vhca_qp *qp,
					   struct vhca_packet *packet,
					   struct vhca_access *access)
{
	if (!MLX5_GET(qpc, qp->context, rre))
		return VHCA_NAK_INVALID_REQUEST;
	access->right = VHCA_REMOTE_READ;
	if (!vhca_responder_allows(v, access, packet))
		return VHCA_NAK_ACCESS;
	if (!vhca_access_read(v, access, packet->payload))
		return vhca_responder_unable(v, qp, packet, access);
	return VHCA_ACK;
}

/*
 * Atomic among the operations of this device, which one thread executes; not
 * towards the CPU or another device (IBV_ATOMIC_HCA).  The operand at the
 * target and the answer are in the host's byte order, as the driver sets
 * atomic_req_8B_endianness_mode.
 */
static enum vhca_reply vhca_responder_atomic(struct vhca *v,
					     struct vhca_qp *qp,
					     struct vhca_packet *packet,
					     struct vhca_access *access)
{
	u64 old, new;

	if (!MLX5_GET(qpc, qp->context, rae) ||
	    !IS_ALIGNED(access->address, sizeof(old)))
		return VHCA_NAK_INVALID_REQUEST;
	access->right = VHCA_REMOTE_ATOMIC;
	if (!vhca_access_read(v, access, &old))
		return vhca_responder_unable(v, qp, packet, access);
	if (packet->opcode == MLX5_OPCODE_ATOMIC_FA)
		new = old + packet->swap_add;
	else
		new = old == packet->compare ? packet->swap_add : old;
	if (!vhca_access_write(v, access, &new))
		return vhca_responder_unable(v, qp, packet, access);
	memcpy(packet->payload, &old, sizeof(old));
	return VHCA_ACK;
}

/* Is there a receive request for a packet that needs one? */
static enum vhca_reply vhca_responder_ready(struct vhca *v, struct vhca_qp *qp,
					    const struct vhca_packet *packet)
{
	u16 posted;

	if (!vhca_uses_receive(packet->opcode))
		return VHCA_ACK;
	/* A write needs it at its end, any other message at its begin. */
	if (packet->opcode == MLX5_OPCODE_RDMA_WRITE_IMM ?
	    !vhca_packet_is_last(packet) : packet->offset)
		return VHCA_ACK;
	if (!qp->has_rq) {
		if (vhca_gap_is_new(v, VHCA_GAP_SHARED_RECEIVE))
			vhca_info(v, "not modelled, said once: QP 0x%llx receives from a shared queue, its peer gets an error\n",
				  qp->object.id);
		return VHCA_NAK_INVALID_REQUEST;
	}
	if (!vhca_receive_posted(v, qp, &posted))
		return VHCA_NAK_OPERATION;
	return posted ? VHCA_ACK : VHCA_RNR;
}

static enum vhca_reply vhca_responder_do(struct vhca *v, struct vhca_qp *qp,
					 struct vhca_packet *packet)
{
	struct vhca_access access = {
		.key	 = packet->rkey,
		.pd	 = qp->pd,
		.qpn	 = qp->object.id,
		.address = packet->address + packet->offset,
		.len	 = packet->len,
	};
	enum vhca_reply reply = vhca_responder_ready(v, qp, packet);

	if (reply != VHCA_ACK)
		return reply;
	switch (packet->opcode) {
	case MLX5_OPCODE_RDMA_WRITE:
	case MLX5_OPCODE_RDMA_WRITE_IMM:
		return vhca_responder_write(v, qp, packet, &access);
	case MLX5_OPCODE_RDMA_READ:
		return vhca_responder_read(v, qp, packet, &access);
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_FA:
		return vhca_responder_atomic(v, qp, packet, &access);
	default:
		return vhca_responder_send(v, qp, packet);
	}
}

/* The owner of a queue pair that fails hears of it, if no completion says so. */
static void vhca_responder_fail(struct vhca *v, struct vhca_qp *qp,
				enum vhca_reply reply)
{
	if (qp->state == MLX5_QP_STATE_ERR)
		return;
	qp->state = MLX5_QP_STATE_ERR;
	vhca_eq_post_qp_event(v, reply == VHCA_NAK_ACCESS ?
			      MLX5_EVENT_TYPE_WQ_ACCESS_ERROR :
			      MLX5_EVENT_TYPE_WQ_INVAL_REQ_ERROR,
			      qp->object.id);
}

/**
 * vhca_responder_give_up - refuse a request whose page fault was not served
 * @v: the device
 * @qp: the queue pair, which has waited for that
 * @packet: the request
 * @receiving: the memory was that of the receive request; else that of the
 *	key that the other side has named
 *
 * Context: firmware thread, vhca.lock held
 * Return: the answer
 */
enum vhca_reply vhca_responder_give_up(struct vhca *v, struct vhca_qp *qp,
				       const struct vhca_packet *packet,
				       bool receiving)
{
	enum vhca_reply reply = VHCA_NAK_ACCESS;

	if (receiving) {
		vhca_responder_fail_receive(v, qp,
					    MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
		reply = VHCA_NAK_OPERATION;
	}
	vhca_responder_fail(v, qp, reply);
	return reply;
}

/*
 * Unconnected: a message whose beginning was lost is dropped to its end, and
 * the next one is taken whatever its number.
 */
static bool vhca_responder_expects(struct vhca_qp *qp,
				   const struct vhca_packet *packet)
{
	struct vhca_reception *r = &qp->reception;

	if (qp->service == MLX5_QP_ST_UC && !packet->offset) {
		r->active = false;
		r->psn = packet->psn;
	}
	return packet->psn == r->psn;
}

/**
 * vhca_responder_execute - execute a request that has arrived
 * @v: the device
 * @packet: the request
 *
 * Who waits for a page fault takes no other request; of a sender that sends one
 * at a time such a one can only be of an earlier life.
 *
 * Context: firmware thread, vhca.lock held
 * Return: the answer; VHCA_UNANSWERED if the packet is kept, as the memory that
 *	it is about is not present
 */
enum vhca_reply vhca_responder_execute(struct vhca *v,
				       struct vhca_packet *packet)
{
	struct vhca_qp *qp = vhca_responder_find(v, packet);
	enum vhca_reply reply;

	if (!qp || qp->faults[VHCA_RESPONDER].state ||
	    !vhca_responder_expects(qp, packet)) {
		v->stats.packets_lost++;
		return VHCA_LOST;
	}
	reply = vhca_responder_do(v, qp, packet);
	switch (reply) {
	case VHCA_UNANSWERED:
		return VHCA_UNANSWERED;
	case VHCA_ACK:
		v->stats.packets++;
		qp->reception.psn = (packet->psn + 1) & VHCA_PSN_MASK;
		return VHCA_ACK;
	case VHCA_RNR:
		if (qp->service == MLX5_QP_ST_RC) {
			packet->rnr_timer = MLX5_GET(qpc, qp->context,
						     min_rnr_nak);
			return VHCA_RNR;
		}
		break;
	default:
		if (qp->service == MLX5_QP_ST_RC) {
			vhca_responder_fail(v, qp, reply);
			return reply;
		}
		break;
	}
	/* The number is not counted up, so the rest is not expected. */
	v->stats.packets_lost++;
	return VHCA_LOST;
}
