// SPDX-License-Identifier: GPL-2.0
/*
 * The receiving side of connections (RC, XRC, DC), of unacknowledged messages (UC) and of
 * datagrams (UD).
 *
 * A connected queue pair that gets what it must not get answers with an error
 * and moves to its error state.  An unconnected one drops the message.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ktime.h>
#include <linux/mlx5/cq.h>
#include <rdma/ib_verbs.h>

#include "vhca.h"

/* flags_rqpn of a CQE: the message came with a global route. */
#define VHCA_CQE_GRH		BIT(28)

/* A datagram's receive request has room for a global route header before the data. */
#define VHCA_GRH_SIZE		sizeof(struct ib_grh)

/* A sender of DC that has not gone on for so long does not come back. */
#define VHCA_SENDER_LOST_NS	NSEC_PER_SEC

/* The header's first word and next_hdr, as InfiniBand has them. */
#define VHCA_GRH_VERSION	(6U << 28)
#define VHCA_GRH_NEXT		0x1b

static bool vhca_is_send(u8 opcode)
{
	return opcode == MLX5_OPCODE_SEND || opcode == MLX5_OPCODE_SEND_IMM ||
	       opcode == MLX5_OPCODE_SEND_INVAL;
}

/* Does this piece go to a receive request?  That of a write needs one at its end. */
static bool vhca_takes_receive(const struct vhca_packet *packet)
{
	return vhca_is_send(packet->opcode) ||
	       (packet->opcode == MLX5_OPCODE_RDMA_WRITE_IMM &&
		vhca_packet_is_last(packet));
}

/* The two ends of DC differ, those of all others do not. */
static u8 vhca_target_service(u8 service)
{
	return service == MLX5_QP_ST_DCI ? MLX5_QP_ST_DCT : service;
}

static bool vhca_responder_hears(const struct vhca_qp *qp, const struct vhca_packet *packet)
{
	return packet->sent >= qp->life &&
	       (qp->state == MLX5_QP_STATE_RTR || qp->state == MLX5_QP_STATE_RTS ||
		qp->state == MLX5_QP_STATE_SQD);
}

static bool vhca_responder_has_qkey(const struct vhca_qp *qp, const struct vhca_packet *packet)
{
	return MLX5_GET(qpc, qp->context, q_key) == packet->qkey;
}

/* The driver's queue pair for management datagrams, if this is one. */
static struct vhca_qp *vhca_responder_find_gsi(struct vhca *v, const struct vhca_packet *packet)
{
	struct vhca_object *object = vhca_ledger_find(v, VHCA_QP, v->gsi);

	if (!object || !vhca_packet_is_management(packet) ||
	    !vhca_responder_hears(to_vhca_qp(object), packet))
		return NULL;
	return to_vhca_qp(object);
}

/*
 * The queue pair that a packet is for, if it takes packets of that sender now,
 * and did so already when the packet was sent.
 */
static struct vhca_qp *vhca_responder_find(struct vhca *v,
					   const struct vhca_packet *packet)
{
	struct vhca_object *object;
	struct vhca_route route;
	struct vhca_qp *qp;

	if (packet->service == MLX5_QP_ST_UD && packet->target_qpn == VHCA_GSI_QPN)
		return vhca_responder_find_gsi(v, packet);
	object = vhca_ledger_find(v, VHCA_QP, packet->target_qpn);
	if (!object)
		return NULL;
	qp = to_vhca_qp(object);
	if (qp->service != vhca_target_service(packet->service) ||
	    !vhca_responder_hears(qp, packet))
		return NULL;
	if (qp->service == MLX5_QP_ST_UD)
		return vhca_responder_has_qkey(qp, packet) ? qp : NULL;
	if (qp->service == MLX5_QP_ST_DCT)
		return MLX5_GET64(qpc, qp->context, dc_access_key) ==
		       packet->dc_key ? qp : NULL;
	route = vhca_route_of_path(MLX5_ADDR_OF(qpc, qp->context,
						primary_address_path));
	if (MLX5_GET(qpc, qp->context, remote_qpn) != packet->source_qpn ||
	    !vhca_route_leads_to(&route, packet->source))
		return NULL;
	return qp;
}

/* The work requests of a receive queue consist of data segments. */
static const struct mlx5_wqe_data_seg *
vhca_receive_segment(const struct vhca_qp *qp, u32 i)
{
	const struct vhca_reception *r = &qp->reception;
	const struct mlx5_wqe_data_seg *segment = (const void *)r->wqe;

	i += r->first;
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
 * Write @len bytes to where the receive request wants them, from @offset in its memory.
 * Where that cannot be done @absent says whether a translation is missing.
 */
static bool vhca_receive_scatter(struct vhca *v, struct vhca_qp *qp, u32 offset,
				 const void *data, u32 len, bool *absent)
{
	const struct mlx5_wqe_data_seg *segment;
	u32 i;

	*absent = false;
	for (i = 0; len && (segment = vhca_receive_segment(qp, i)); i++) {
		struct vhca_access access = {
			.key	= be32_to_cpu(segment->lkey),
			.right	= VHCA_LOCAL_WRITE,
			.pd	= qp->reception.pd,
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

/* What a datagram has before its data, in the receiver's memory. */
static u32 vhca_receive_prefix(const struct vhca_packet *packet)
{
	return packet->service == MLX5_QP_ST_UD ? VHCA_GRH_SIZE : 0;
}

/* The header is there only if the datagram had a global route; its place always is. */
static bool vhca_receive_grh(struct vhca *v, struct vhca_qp *qp,
			     const struct vhca_packet *packet, bool *absent)
{
	struct ib_grh grh = {
		.version_tclass_flow = cpu_to_be32(VHCA_GRH_VERSION),
		.paylen		     = cpu_to_be16(packet->total),
		.next_hdr	     = VHCA_GRH_NEXT,
	};
	__be64 gid[2];

	if (!packet->global)
		return true;
	vhca_fabric_gid(packet->source, gid);
	memcpy(&grh.sgid, gid, sizeof(grh.sgid));
	vhca_fabric_gid(v->index, gid);
	memcpy(&grh.dgid, packet->group ? packet->gid : gid, sizeof(grh.dgid));
	return vhca_receive_scatter(v, qp, 0, &grh, sizeof(grh), absent);
}

/* What the receiver is told of a message that has arrived. */
static void vhca_responder_complete(struct vhca *v, struct vhca_qp *qp,
				    const struct vhca_packet *packet)
{
	void *path = MLX5_ADDR_OF(qpc, qp->context, primary_address_path);
	bool addressed = vhca_has_addresses(packet->service);
	u32 flags = packet->shown_qpn |
		    (u32)(addressed ? packet->sl : MLX5_GET(ads, path, sl)) << 24;
	struct mlx5_cqe64 cqe = {
		.slid		= cpu_to_be16(vhca_lid_of(packet->source)),
		.immediate	= packet->immediate,
		.byte_cnt	= cpu_to_be32(vhca_receive_prefix(packet) +
					      packet->total),
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
		cqe.pkey = cpu_to_be32(packet->service == MLX5_QP_ST_UD ? VHCA_FULL_PKEY : 0);
		break;
	}
	if (addressed ? packet->global : MLX5_GET(ads, path, grh))
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

	/* What was taken from a shared queue has to come to its end. */
	if (!vhca_is_reliable(qp->service) && !qp->reception.srqn) {
		qp->reception.active = false;
		return;
	}
	vhca_receive_complete(v, qp, &cqe, syndrome, true);
	/* A target of DC is there for others as well. */
	if (qp->service != MLX5_QP_ST_DCT)
		qp->state = MLX5_QP_STATE_ERR;
}

static enum vhca_reply vhca_responder_send(struct vhca *v, struct vhca_qp *qp,
					   struct vhca_packet *packet)
{
	u32 prefix = vhca_receive_prefix(packet);
	struct vhca_reception *r = &qp->reception;
	bool absent = false;

	/* One that has waited for a page fault has its request already. */
	if (!packet->offset && !r->active) {
		if (!vhca_receive_fetch(v, qp, packet->srqn))
			return VHCA_NAK_OPERATION;
		r->active = true;
		r->source = packet->source;
		r->source_life = packet->source_life;
		if (prefix + packet->total > vhca_receive_room(qp)) {
			vhca_responder_fail_receive(v, qp,
						    MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
			return VHCA_NAK_INVALID_REQUEST;
		}
	} else if (!r->active) {
		return VHCA_NAK_INVALID_REQUEST;
	}
	if (!vhca_receive_grh(v, qp, packet, &absent) ||
	    !vhca_receive_scatter(v, qp, prefix + packet->offset, packet->payload,
				  packet->len, &absent)) {
		/* One that goes to others as well cannot be kept for this one. */
		if (absent && !packet->group && vhca_page_fault_receive(v, qp, packet))
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
			.pd	= r->pd,
			.qpn	= qp->object.id,
		};

		if (!vhca_access_invalidate(v, &access)) {
			/* The others that a target of DC is there for need it again. */
			if (qp->service == MLX5_QP_ST_DCT)
				vhca_responder_fail_receive(v, qp,
							    MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
			return VHCA_NAK_ACCESS;
		}
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
	    vhca_packet_is_last(packet)) {
		if (!vhca_receive_fetch(v, qp, packet->srqn))
			return VHCA_NAK_OPERATION;
		vhca_responder_complete(v, qp, packet);
	}
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

	if (!vhca_takes_receive(packet))
		return VHCA_ACK;
	/* A send has its request from its begin on. */
	if (vhca_is_send(packet->opcode) &&
	    (packet->offset || qp->reception.active))
		return VHCA_ACK;
	if (!qp->has_rq && !qp->shares_rq)
		return VHCA_NAK_INVALID_REQUEST;
	if (!vhca_receive_posted(v, qp, packet->srqn, &posted))
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
	if (!vhca_receive_pd(v, qp, packet->srqn, &access.pd))
		return VHCA_NAK_INVALID_REQUEST;
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
	if (qp->state == MLX5_QP_STATE_ERR || qp->service == MLX5_QP_ST_DCT)
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

/* Of a target of DC: may the message go on, or begin?  A sender may be gone for good. */
static bool vhca_target_is_free(struct vhca *v, struct vhca_qp *qp,
				const struct vhca_packet *packet)
{
	struct vhca_reception *r = &qp->reception;
	struct mlx5_cqe64 cqe = {};
	u64 now = ktime_get_ns();

	if (r->active && r->source == packet->source &&
	    r->source_life == packet->source_life) {
		r->since_ns = now;
		return true;
	}
	if (vhca_is_send(packet->opcode) && packet->offset)
		return false;
	if (r->active && now - r->since_ns < VHCA_SENDER_LOST_NS)
		return false;
	if (r->active)
		vhca_receive_complete(v, qp, &cqe,
				      MLX5_CQE_SYNDROME_WR_FLUSH_ERR, true);
	r->since_ns = now;
	return true;
}

/*
 * Unconnected: a message whose beginning was lost is dropped to its end, and
 * the next one is taken whatever its number.  A target of DC fills one receive request at
 * a time, and whoever comes meanwhile tries again; each sender has numbers of its own.
 */
static bool vhca_responder_expects(struct vhca *v, struct vhca_qp *qp,
				   const struct vhca_packet *packet)
{
	struct vhca_reception *r = &qp->reception;

	if (qp->service == MLX5_QP_ST_DCT) {
		r->psn = packet->psn;
		return !vhca_takes_receive(packet) ||
		       vhca_target_is_free(v, qp, packet);
	}
	if (!vhca_is_reliable(qp->service) && !packet->offset) {
		/* A datagram that waits for a page fault has its request. */
		if (qp->service != MLX5_QP_ST_UD && r->active) {
			struct mlx5_cqe64 cqe = {};

			/* The rest of a message was lost; a shared request must have an end. */
			if (r->srqn)
				vhca_receive_complete(v, qp, &cqe,
						      MLX5_CQE_SYNDROME_WR_FLUSH_ERR, true);
			r->active = false;
		}
		r->psn = packet->psn;
	}
	return packet->psn == r->psn;
}

/**
 * vhca_responder_datagram - let a queue pair take a datagram that is not for it alone
 * @v: the device
 * @qp: the queue pair
 * @packet: the datagram, which stays the caller's
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_responder_datagram(struct vhca *v, struct vhca_qp *qp, struct vhca_packet *packet)
{
	if (vhca_responder_hears(qp, packet) && vhca_responder_has_qkey(qp, packet) &&
	    !qp->faults[VHCA_RESPONDER].state && vhca_responder_expects(v, qp, packet) &&
	    vhca_responder_do(v, qp, packet) == VHCA_ACK)
		v->stats.packets++;
	else
		v->stats.packets_lost++;
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
	enum vhca_reply reply;
	struct vhca_qp *qp;

	if (packet->group) {
		vhca_multicast_receive(v, packet);
		return VHCA_ACK;
	}
	qp = vhca_responder_find(v, packet);
	if (!qp || qp->faults[VHCA_RESPONDER].state ||
	    !vhca_responder_expects(v, qp, packet)) {
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
		if (vhca_is_reliable(qp->service)) {
			packet->rnr_timer = MLX5_GET(qpc, qp->context,
						     min_rnr_nak);
			return VHCA_RNR;
		}
		break;
	default:
		if (vhca_is_reliable(qp->service)) {
			vhca_responder_fail(v, qp, reply);
			return reply;
		}
		break;
	}
	/* The number is not counted up, so the rest is not expected. */
	v->stats.packets_lost++;
	return VHCA_LOST;
}
