// SPDX-License-Identifier: GPL-2.0
/*
 * The sending side of connections (RC, XRC, and DC for each message anew), of
 * unacknowledged messages (UC) and of datagrams (UD).
 *
 * A message is cut into pieces.  The next piece is sent when the one before
 * was answered, so there is at most one packet of a queue pair on its way, all
 * requests are executed in order, and a fence has nothing left to wait for.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ktime.h>
#include <linux/mlx5/cq.h>

#include "vhca.h"

/* A segment of a work request. */
#define VHCA_SEGMENT		16

/* struct mlx5_wqe_inline_seg: byte_count */
#define VHCA_INLINE_MASK	MLX5_WQE_INLINE_SEG_BYTE_COUNT_MASK

/* No memory, or no place: this is soon enough, and not counted as a loss. */
#define VHCA_SOON_NS		(100 * NSEC_PER_USEC)

/*
 * ack_timeout of ads: 4.096 us times two to this power; 0 is for ever.  Here
 * it is never shorter than a poll nor so long that one waits for nothing.
 */
#define VHCA_TIMEOUT_UNIT_NS	4096
#define VHCA_MIN_TIMEOUT_NS	(1 * NSEC_PER_MSEC)
#define VHCA_MAX_TIMEOUT_NS	(100 * NSEC_PER_MSEC)

/* rnr_retry of qpc: try for ever. */
#define VHCA_RNR_FOR_EVER	7

/* min_rnr_nak of qpc, in units of 10 us: IBTA, encoding of the RNR NAK timer. */
static const u16 vhca_rnr_delays[] = {
	0xffff, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072,
	4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

#define VHCA_RNR_UNIT_NS	(10 * NSEC_PER_USEC)

/* Bytes of the largest datagram, which is one packet of the largest MTU. */
#define VHCA_MAX_DATAGRAM	SZ_4K

/* Top bit of the Q_Key in a request: take that of the queue pair. */
#define VHCA_OWN_QKEY		BIT(31)

static bool vhca_sends_data(u8 opcode)
{
	return opcode != MLX5_OPCODE_RDMA_READ &&
	       opcode != MLX5_OPCODE_ATOMIC_CS &&
	       opcode != MLX5_OPCODE_ATOMIC_FA;
}

/* Bytes of a request before the segments that its operation has. */
static u32 vhca_request_prefix(u8 service)
{
	const u32 ctrl = sizeof(struct mlx5_wqe_ctrl_seg);

	switch (service) {
	case MLX5_QP_ST_UD:
	case MLX5_QP_ST_DCI:
		return ctrl + sizeof(struct mlx5_wqe_datagram_seg);
	case MLX5_QP_ST_XRC:
		return ctrl + sizeof(struct mlx5_wqe_xrc_seg);
	default:
		return ctrl;
	}
}

/*
 * Bytes of a request before its data segments, 0 if the service does not have
 * the operation.
 */
static u32 vhca_request_header(u8 service, u8 opcode)
{
	const u32 ctrl = vhca_request_prefix(service);
	const u32 raddr = sizeof(struct mlx5_wqe_raddr_seg);

	switch (opcode) {
	case MLX5_OPCODE_SEND:
	case MLX5_OPCODE_SEND_IMM:
		return ctrl;
	case MLX5_OPCODE_RDMA_WRITE:
	case MLX5_OPCODE_RDMA_WRITE_IMM:
		return service == MLX5_QP_ST_UD ? 0 : ctrl + raddr;
	}
	if (!vhca_is_reliable(service))
		return 0;
	switch (opcode) {
	case MLX5_OPCODE_SEND_INVAL:
		return ctrl;
	case MLX5_OPCODE_RDMA_READ:
		return ctrl + raddr;
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_FA:
		return ctrl + raddr + sizeof(struct mlx5_wqe_atomic_seg);
	}
	return 0;
}

/**
 * struct vhca_segment - where a data segment has its bytes
 * @len: bytes
 * @inlined: they are these, in the request itself; else NULL
 * @lkey: key of the memory where they are
 * @address: and the address
 */
struct vhca_segment {
	u32		len;
	const void	*inlined;
	u32		lkey;
	u64		address;
};

/* Read the segment at *@at and go behind it; false if it is none. */
static bool vhca_segment_next(const struct vhca_message *m, u32 *at,
			      struct vhca_segment *segment)
{
	const struct mlx5_wqe_data_seg *data = (const void *)&m->wqe[*at];
	u32 rest = m->wqe_len - *at;
	u32 count, bytes;

	if (rest < VHCA_SEGMENT)
		return false;
	count = be32_to_cpu(data->byte_count);
	if (!(count & MLX5_INLINE_SEG)) {
		*segment = (struct vhca_segment) {
			.len	 = count,
			.lkey	 = be32_to_cpu(data->lkey),
			.address = be64_to_cpu(data->addr),
		};
		*at += VHCA_SEGMENT;
		return true;
	}
	count &= VHCA_INLINE_MASK;
	bytes = ALIGN(sizeof(struct mlx5_wqe_inline_seg) + count,
		      VHCA_SEGMENT);
	if (bytes > rest || !vhca_sends_data(m->opcode))
		return false;
	*segment = (struct vhca_segment) {
		.len	 = count,
		.inlined = &m->wqe[*at + sizeof(struct mlx5_wqe_inline_seg)],
	};
	*at += bytes;
	return true;
}

/**
 * vhca_requester_begin - begin to send a message
 * @qp: the queue pair; its message has the work request, its opcode, flags,
 *	index and size
 *
 * Context: firmware thread, vhca.lock held
 * Return: 0, or the syndrome of the error completion, MLX5_CQE_SYNDROME_*
 */
u8 vhca_requester_begin(struct vhca_qp *qp)
{
	u32 header = vhca_request_header(qp->service, qp->message.opcode);
	struct vhca_message *m = &qp->message;
	struct vhca_segment segment;
	u64 total = 0;
	u32 at;

	if (!header || m->wqe_len < header)
		return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	for (at = header; at < m->wqe_len; ) {
		if (!vhca_segment_next(m, &at, &segment))
			return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
		total += segment.len;
	}
	if (total > (qp->service == MLX5_QP_ST_UD ? VHCA_MAX_DATAGRAM :
						    BIT(VHCA_LOG_MAX_MESSAGE)))
		return MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
	if ((m->opcode == MLX5_OPCODE_ATOMIC_CS ||
	     m->opcode == MLX5_OPCODE_ATOMIC_FA) && total != sizeof(u64))
		return MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
	m->data = header;
	m->total = total;
	m->offset = 0;
	m->losses = 0;
	m->refusals = 0;
	m->resume_ns = 0;
	m->away = false;
	m->active = true;
	return 0;
}

/**
 * enum vhca_copied - what became of copying from or to a message's memory
 * @VHCA_COPIED: all of it was copied
 * @VHCA_COPY_ABSENT: a translation is not present
 * @VHCA_COPY_REFUSED: a key does not allow it
 */
enum vhca_copied {
	VHCA_COPIED,
	VHCA_COPY_ABSENT,
	VHCA_COPY_REFUSED,
};

/*
 * Copy @len bytes between @data and the message's own memory, from @offset in
 * the message.
 */
static enum vhca_copied vhca_message_copy(struct vhca *v, struct vhca_qp *qp,
					  u32 offset, u32 len, void *data,
					  bool to_memory)
{
	struct vhca_message *m = &qp->message;
	struct vhca_segment segment;
	u32 at = m->data;

	while (len && vhca_segment_next(m, &at, &segment)) {
		struct vhca_access access = {
			.key	= segment.lkey,
			.right	= to_memory ? VHCA_LOCAL_WRITE :
					      VHCA_LOCAL_READ,
			.pd	= qp->pd,
			.qpn	= qp->object.id,
		};
		u32 n;

		if (offset >= segment.len) {
			offset -= segment.len;
			continue;
		}
		n = min(len, segment.len - offset);
		access.address = segment.address + offset;
		access.len = n;
		if (segment.inlined)
			memcpy(data, segment.inlined + offset, n);
		else if (to_memory ? !vhca_access_write(v, &access, data) :
				     !vhca_access_read(v, &access, data))
			return access.absent ? VHCA_COPY_ABSENT :
					       VHCA_COPY_REFUSED;
		data += n;
		len -= n;
		offset = 0;
	}
	return len ? VHCA_COPY_REFUSED : VHCA_COPIED;
}

static void vhca_requester_end(struct vhca *v, struct vhca_qp *qp, u8 syndrome)
{
	struct vhca_message *m = &qp->message;

	m->active = false;
	m->away = false;
	qp->sq_ci += m->bbs;
	if (syndrome)
		vhca_request_has_failed(qp);
	if (syndrome || m->flags & MLX5_WQE_CTRL_CQ_UPDATE)
		vhca_send_complete(v, qp, m->index, m->opcode, m->total,
				   syndrome);
}

static void vhca_requester_wait(struct vhca *v, struct vhca_message *m, u64 ns)
{
	m->resume_ns = ktime_get_ns() + ns;
	vhca_workqueue_resume(v, m->resume_ns);
}

static const void *vhca_qp_path(struct vhca_qp *qp)
{
	return MLX5_ADDR_OF(qpc, qp->context, primary_address_path);
}

static u64 vhca_requester_timeout(struct vhca_qp *qp)
{
	u8 log = MLX5_GET(ads, vhca_qp_path(qp), ack_timeout);

	if (!log)
		return VHCA_MAX_TIMEOUT_NS;
	return clamp_t(u64, (u64)VHCA_TIMEOUT_UNIT_NS << log,
		       VHCA_MIN_TIMEOUT_NS, VHCA_MAX_TIMEOUT_NS);
}

/* The present piece was acknowledged, or is of a kind that never is. */
static void vhca_requester_advance(struct vhca *v, struct vhca_qp *qp, u32 len)
{
	struct vhca_message *m = &qp->message;

	m->psn = (m->psn + 1) & VHCA_PSN_MASK;
	m->losses = 0;
	m->refusals = 0;
	m->offset += len;
	if (m->offset == m->total)
		vhca_requester_end(v, qp, 0);
}

static void vhca_requester_lost(struct vhca *v, struct vhca_qp *qp, u32 len)
{
	struct vhca_message *m = &qp->message;

	if (!vhca_is_reliable(qp->service)) {
		vhca_requester_advance(v, qp, len);
		return;
	}
	m->losses++;
	vhca_requester_wait(v, m, vhca_requester_timeout(qp));
}

static void vhca_requester_refused(struct vhca *v, struct vhca_qp *qp,
				   u8 timer)
{
	u8 retries = MLX5_GET(qpc, qp->context, rnr_retry);
	struct vhca_message *m = &qp->message;

	if (retries != VHCA_RNR_FOR_EVER && m->refusals >= retries) {
		vhca_requester_end(v, qp, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR);
		return;
	}
	if (m->refusals < VHCA_RNR_FOR_EVER)
		m->refusals++;
	vhca_requester_wait(v, m, (u64)vhca_rnr_delays[timer] *
				  VHCA_RNR_UNIT_NS);
}

/* The address vector of a request that is long enough for one. */
static const struct mlx5_av *vhca_message_av(const struct vhca_message *m)
{
	const struct mlx5_wqe_datagram_seg *datagram =
		(const void *)&m->wqe[sizeof(struct mlx5_wqe_ctrl_seg)];

	return &datagram->av;
}

static void vhca_packet_address(struct vhca_qp *qp, struct vhca_packet *packet)
{
	const struct mlx5_av *av = vhca_message_av(&qp->message);

	packet->target_qpn = be32_to_cpu(av->dqp_dct) & VHCA_MAX_NUMBER;
	packet->dc_key = be64_to_cpu(av->key.dc_key);
	packet->qkey = be32_to_cpu(av->key.qkey.qkey);
	if (packet->qkey & VHCA_OWN_QKEY)
		packet->qkey = MLX5_GET(qpc, qp->context, q_key);
	packet->sl = av->stat_rate_sl & 0xf;
	packet->global = vhca_route_of_av(av).global;
}

/* Datagrams of the driver's management queue pair can come from another one. */
static u32 vhca_shown_qpn(struct vhca_qp *qp)
{
	u32 qpn = MLX5_GET(qpc, qp->context, deth_sqpn);

	return qpn && !qp->object.uid && qp->service == MLX5_QP_ST_UD ? qpn : qp->object.id;
}

static void vhca_packet_fill(struct vhca_qp *qp, struct vhca_packet *packet)
{
	const struct mlx5_wqe_ctrl_seg *ctrl = (const void *)qp->message.wqe;
	u32 prefix = vhca_request_prefix(qp->service);
	const struct mlx5_wqe_raddr_seg *raddr = (const void *)ctrl + prefix;
	const struct mlx5_wqe_atomic_seg *atomic = (const void *)(raddr + 1);
	const struct mlx5_wqe_xrc_seg *xrc = (const void *)(ctrl + 1);
	struct vhca_message *m = &qp->message;

	packet->source_qpn = qp->object.id;
	packet->shown_qpn = vhca_shown_qpn(qp);
	packet->source_life = qp->life;
	packet->target_qpn = MLX5_GET(qpc, qp->context, remote_qpn);
	packet->service = qp->service;
	packet->opcode = m->opcode;
	packet->solicited = m->flags & MLX5_WQE_CTRL_SOLICITED;
	packet->psn = m->psn;
	packet->total = m->total;
	packet->offset = m->offset;
	packet->immediate = ctrl->imm;
	/* The request is long enough for the segments that the opcode has. */
	if (vhca_has_addresses(qp->service))
		vhca_packet_address(qp, packet);
	if (qp->service == MLX5_QP_ST_XRC)
		packet->srqn = be32_to_cpu(xrc->xrc_srqn) & VHCA_MAX_NUMBER;
	if (m->data > prefix) {
		packet->rkey = be32_to_cpu(raddr->rkey);
		packet->address = be64_to_cpu(raddr->raddr);
	}
	if (m->data > prefix + sizeof(*raddr)) {
		packet->swap_add = be64_to_cpu(atomic->swap_add);
		packet->compare = be64_to_cpu(atomic->compare);
	}
}

/*
 * Fill a packet with the bytes that it brings.  If they cannot be had, either
 * there is a page fault then or the message has failed.
 */
static bool vhca_requester_gather(struct vhca *v, struct vhca_qp *qp,
				  struct vhca_packet *packet)
{
	enum vhca_copied copied;

	if (!vhca_sends_data(packet->opcode))
		return true;
	copied = vhca_message_copy(v, qp, packet->offset, packet->len,
				   packet->payload, false);
	if (copied == VHCA_COPIED)
		return true;
	if (copied == VHCA_COPY_REFUSED ||
	    !vhca_page_fault_send(v, qp, packet->len, NULL))
		vhca_requester_give_up(v, qp);
	return false;
}

static struct vhca_route vhca_requester_route(struct vhca_qp *qp)
{
	if (vhca_has_addresses(qp->service))
		return vhca_route_of_av(vhca_message_av(&qp->message));
	return vhca_route_of_path(vhca_qp_path(qp));
}

/**
 * vhca_requester_send - send the next piece of a queue pair's message
 * @v: the device
 * @qp: the queue pair, which is able to send and has a message
 *
 * Context: firmware thread, vhca.lock held
 * Return: true if something was done; false if there is something to wait for
 */
bool vhca_requester_send(struct vhca *v, struct vhca_qp *qp)
{
	struct vhca_message *m = &qp->message;
	struct vhca_packet *packet;
	struct vhca_route route;

	if (m->away || qp->faults[VHCA_REQUESTER].state)
		return false;
	if (m->resume_ns) {
		if (ktime_get_ns() < m->resume_ns) {
			vhca_workqueue_resume(v, m->resume_ns);
			return false;
		}
		m->resume_ns = 0;
		if (m->losses > MLX5_GET(qpc, qp->context, retry_count)) {
			vhca_requester_end(v, qp,
					   MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
			return true;
		}
	}
	packet = vhca_packet_get(v, min_t(u32, m->total - m->offset,
					  VHCA_MAX_PAYLOAD));
	if (!packet) {
		vhca_requester_wait(v, m, VHCA_SOON_NS);
		return false;
	}
	vhca_packet_fill(qp, packet);
	if (!vhca_requester_gather(v, qp, packet)) {
		vhca_packet_put(v, packet);
		return true;
	}
	route = vhca_requester_route(qp);
	switch (vhca_fabric_send(v, &route, packet)) {
	case VHCA_SENT:
		m->away = true;
		return true;
	case VHCA_FULL:
		vhca_packet_put(v, packet);
		vhca_requester_wait(v, m, VHCA_SOON_NS);
		return false;
	default:
		vhca_requester_lost(v, qp, packet->len);
		vhca_packet_put(v, packet);
		return true;
	}
}

/**
 * vhca_requester_give_up - fail a message whose own memory cannot be reached
 * @v: the device
 * @qp: the queue pair
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_requester_give_up(struct vhca *v, struct vhca_qp *qp)
{
	vhca_requester_end(v, qp, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
}

/*
 * What was executed may bring bytes back.  Returns true if their place is not
 * present, and the packet is kept until it is.
 */
static bool vhca_requester_store(struct vhca *v, struct vhca_qp *qp,
				 struct vhca_packet *packet)
{
	enum vhca_copied copied = VHCA_COPIED;

	if (!vhca_sends_data(packet->opcode))
		copied = vhca_message_copy(v, qp, packet->offset, packet->len,
					   packet->payload, true);
	if (copied == VHCA_COPIED) {
		vhca_requester_advance(v, qp, packet->len);
		return false;
	}
	if (copied == VHCA_COPY_ABSENT &&
	    vhca_page_fault_send(v, qp, packet->len, packet)) {
		/* Nothing is sent meanwhile. */
		qp->message.away = true;
		return true;
	}
	vhca_requester_give_up(v, qp);
	return false;
}

/**
 * vhca_requester_take - take the answer to a request
 * @v: the device that has asked
 * @packet: the answer
 *
 * Nobody may be there any more: the queue pair was destroyed, reset, or got
 * into its error state since.
 *
 * Context: firmware thread, vhca.lock held
 * Return: true if it is kept, as its bytes have no place yet; false if it is
 *	the caller's still
 */
bool vhca_requester_take(struct vhca *v, struct vhca_packet *packet)
{
	struct vhca_object *object;
	struct vhca_qp *qp;

	object = vhca_ledger_find(v, VHCA_QP, packet->source_qpn);
	if (!object)
		return false;
	qp = to_vhca_qp(object);
	if (qp->life != packet->source_life || !qp->message.away ||
	    qp->state != MLX5_QP_STATE_RTS)
		return false;
	qp->message.away = false;
	switch (packet->reply) {
	case VHCA_ACK:
		return vhca_requester_store(v, qp, packet);
	case VHCA_RNR:
		vhca_requester_refused(v, qp, packet->rnr_timer);
		break;
	case VHCA_NAK_INVALID_REQUEST:
		vhca_requester_end(v, qp,
				   MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
		break;
	case VHCA_NAK_ACCESS:
		vhca_requester_end(v, qp,
				   MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
		break;
	case VHCA_NAK_OPERATION:
		vhca_requester_end(v, qp, MLX5_CQE_SYNDROME_REMOTE_OP_ERR);
		break;
	default:
		vhca_requester_lost(v, qp, packet->len);
		break;
	}
	return false;
}
