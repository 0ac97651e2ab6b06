// SPDX-License-Identifier: GPL-2.0
/*
 * Work queues.  The device follows a send queue through its doorbell record
 * and takes work requests in order.  UMR and NOP are executed here, messages
 * are begun here and sent by requester.c.  Receive queues are in receive.c.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ktime.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/qp.h>

#include "vhca.h"

/*
 * So that data does not keep the thread from the command queue: rounds over
 * all queues, and bytes that they may send, in one poll.  A message costs some
 * bytes more than it has.
 */
#define VHCA_POLL_ROUNDS	16
#define VHCA_POLL_BYTES		SZ_512K

/* struct mlx5_wqe_ctrl_seg: opmod_idx_opcode and qpn_ds */
#define VHCA_WQE_OPCODE_MASK	0xff
#define VHCA_WQE_DS_MASK	0x3f
#define VHCA_WQE_DS		16	/* bytes */

/* Tells whose vendor_err_synd it is. */
#define VHCA_VENDOR_SYNDROME	0x99

/**
 * vhca_complete - post a completion
 * @v: the device
 * @cqn: number of the CQ
 * @cqe: what there is to tell
 * @counter: of the work request
 * @syndrome: 0 for success, or MLX5_CQE_SYNDROME_*
 * @solicited: tell those as well who wait for solicited entries only
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_complete(struct vhca *v, u32 cqn, struct mlx5_cqe64 *cqe, u16 counter,
		   u8 syndrome, bool solicited)
{
	cqe->wqe_counter = cpu_to_be16(counter);
	if (syndrome) {
		struct mlx5_err_cqe *err = (void *)cqe;

		err->vendor_err_synd = VHCA_VENDOR_SYNDROME;
		err->syndrome = syndrome;
	} else {
		u64 cycles = vhca_cycles();

		cqe->timestamp_h = cpu_to_be32(upper_32_bits(cycles));
		cqe->timestamp_l = cpu_to_be32(lower_32_bits(cycles));
	}
	vhca_cq_post(v, cqn, cqe, solicited || syndrome);
}

/**
 * vhca_send_complete - tell that a send request has completed
 * @v: the device
 * @qp: the queue pair
 * @index: of the request in the send queue
 * @opcode: of the request, MLX5_OPCODE_*
 * @bytes: of the message
 * @syndrome: 0 for success, or MLX5_CQE_SYNDROME_*
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_send_complete(struct vhca *v, struct vhca_qp *qp, u16 index,
			u8 opcode, u32 bytes, u8 syndrome)
{
	struct mlx5_cqe64 cqe = {
		.byte_cnt	= cpu_to_be32(bytes),
		.sop_drop_qpn	= cpu_to_be32((u32)opcode << 24 |
					      qp->object.id),
		/* Users find their QP by this, see vhca_receive_complete(). */
		.srqn		= cpu_to_be32(MLX5_GET(qpc, qp->context,
						       user_index)),
		.op_own		= (syndrome ? MLX5_CQE_REQ_ERR :
					      MLX5_CQE_REQ) << 4,
	};

	vhca_complete(v, qp->send_cqn, &cqe, index, syndrome, false);
}

/* Copy @bbs basic blocks of a request; it may wrap around the queue's end. */
static bool vhca_send_fetch(struct vhca_qp *qp, u32 first, u32 bbs)
{
	u32 mask = BIT(qp->log_sq) - 1;
	u32 i;

	for (i = first; i < bbs; i++) {
		u64 offset = qp->sq_offset +
			     (u64)((qp->sq_ci + i) & mask) * MLX5_SEND_WQE_BB;
		void *block = vhca_buffer_at(&qp->buffer, offset,
					     MLX5_SEND_WQE_BB);

		if (!block)
			return false;
		memcpy(qp->message.wqe + i * MLX5_SEND_WQE_BB, block,
		       MLX5_SEND_WQE_BB);
	}
	return true;
}

/*
 * Returns 0 or a completion syndrome; the message is active if there is more
 * to do.  What QP0 sends has nobody to go to and is dropped as a network may drop it; of
 * QP1 the driver sends by queue pairs of UD.
 */
static u8 vhca_work_execute(struct vhca *v, struct vhca_qp *qp)
{
	struct vhca_message *m = &qp->message;

	if (qp->state == MLX5_QP_STATE_ERR || vhca_stream_has_failed(qp))
		return MLX5_CQE_SYNDROME_WR_FLUSH_ERR;
	switch (m->opcode) {
	case MLX5_OPCODE_NOP:
		return 0;
	case MLX5_OPCODE_UMR:
		return vhca_umr_execute(v, qp, m->wqe, m->wqe_len);
	case MLX5_OPCODE_SET_PSV:
		return vhca_psv_set(v, qp, m->wqe, m->wqe_len);
	case VHCA_OPCODE_COPY:
		return vhca_copy_execute(v, qp, m->wqe, m->wqe_len);
	}
	switch (qp->service) {
	case MLX5_QP_ST_QP0:
	case MLX5_QP_ST_QP1:
		return 0;
	case MLX5_QP_ST_RC:
	case MLX5_QP_ST_UC:
	case MLX5_QP_ST_UD:
	case MLX5_QP_ST_XRC:
	case MLX5_QP_ST_DCI:
		return vhca_requester_begin(qp);
	}
	if (vhca_gap_is_new(v, VHCA_GAP_WORK_REQUEST))
		vhca_info(v, "not modelled, said once: work request 0x%x on QP 0x%llx, completes with an error\n",
			  m->opcode, qp->object.id);
	return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
}

/*
 * Take the next request; there are @posted basic blocks.  Returns false if the
 * queue cannot be followed any more.
 */
static bool vhca_work_take(struct vhca *v, struct vhca_qp *qp, u16 posted)
{
	struct vhca_message *m = &qp->message;
	const struct mlx5_wqe_ctrl_seg *ctrl = (void *)m->wqe;
	u8 syndrome;

	if (!vhca_send_fetch(qp, 0, 1))
		return false;
	m->index = qp->sq_ci;
	m->opcode = be32_to_cpu(ctrl->opmod_idx_opcode) & VHCA_WQE_OPCODE_MASK;
	m->flags = ctrl->fm_ce_se;
	m->wqe_len = (be32_to_cpu(ctrl->qpn_ds) & VHCA_WQE_DS_MASK) *
		     VHCA_WQE_DS;
	m->bbs = max(DIV_ROUND_UP(m->wqe_len, MLX5_SEND_WQE_BB), 1);
	if (m->bbs > posted) {
		vhca_violation(v, "wqe_beyond_doorbell", qp->object.id,
			       m->index, NULL);
		return false;
	}
	/* The first block is not read again: its owner may have changed it. */
	if (!vhca_send_fetch(qp, 1, m->bbs))
		return false;
	v->stats.work_requests++;
	v->poll_bytes += VHCA_REQUEST_COST;
	syndrome = vhca_work_execute(v, qp);
	if (m->active)
		return true;
	qp->sq_ci += m->bbs;
	if (syndrome)
		vhca_request_has_failed(qp);
	if (syndrome || m->flags & MLX5_WQE_CTRL_CQ_UPDATE)
		vhca_send_complete(v, qp, m->index, m->opcode, 0, syndrome);
	return true;
}

/* Send a piece, and account for it. */
static bool vhca_message_send(struct vhca *v, struct vhca_qp *qp)
{
	struct vhca_message *m = &qp->message;
	u32 len = min_t(u32, m->total - m->offset, VHCA_MAX_PAYLOAD);

	if (!vhca_requester_send(v, qp))
		return false;
	v->poll_bytes += len + VHCA_PACKET_COST;
	return true;
}

/* A queue pair that is to stop does so when its request is done, and says so. */
static void vhca_send_queue_drain(struct vhca *v, struct vhca_qp *qp)
{
	if (!qp->draining || qp->message.active)
		return;
	qp->draining = false;
	if (qp->state != MLX5_QP_STATE_RTS)
		return;
	qp->state = MLX5_QP_STATE_SQD;
	vhca_eq_post_qp_event(v, MLX5_EVENT_TYPE_SQ_DRAINED, qp->object.id);
}

static bool vhca_send_queue_poll(struct vhca *v, struct vhca_qp *qp)
{
	unsigned int taken = 0;
	u16 pi, posted;

	vhca_send_queue_drain(v, qp);
	if (!qp->has_sq || (qp->state != MLX5_QP_STATE_RTS &&
			    qp->state != MLX5_QP_STATE_ERR))
		return false;
	/* A message that was under way is flushed from its begin. */
	if (qp->state == MLX5_QP_STATE_ERR)
		qp->message.active = false;
	pi = vhca_doorbell(&qp->doorbell[MLX5_SND_DBR]);
	/* The requests are complete when the record counts them. */
	smp_rmb();
	while (!qp->message.active && !qp->draining && (posted = pi - qp->sq_ci) &&
	       taken < VHCA_WORK_BATCH &&
	       (!taken || v->poll_bytes < VHCA_POLL_BYTES)) {
		if (posted > BIT(qp->log_sq)) {
			vhca_violation(v, "sq_overrun", qp->object.id, posted,
				       NULL);
			qp->state = MLX5_QP_STATE_ERR;
			qp->sq_ci = pi;
			break;
		}
		if (!vhca_work_take(v, qp, posted)) {
			vhca_violation(v, "sq_lost", qp->object.id, qp->sq_ci,
				       NULL);
			qp->state = MLX5_QP_STATE_ERR;
			qp->sq_ci = pi;
			break;
		}
		taken++;
	}
	if (qp->message.active && vhca_message_send(v, qp))
		return true;
	return taken;
}

/**
 * vhca_workqueue_resume - have the work queues looked at again
 * @v: the device
 * @ns: when, in ns of CLOCK_MONOTONIC
 *
 * Context: firmware thread, vhca.lock held, from within a poll
 */
void vhca_workqueue_resume(struct vhca *v, u64 ns)
{
	if (!v->resume_ns || ns < v->resume_ns)
		v->resume_ns = ns;
}

/* Has it something to do that is not begun, or not at its end? */
static bool vhca_work_waits(struct vhca_qp *qp)
{
	return qp->has_sq && (qp->state == MLX5_QP_STATE_RTS ||
			      qp->state == MLX5_QP_STATE_ERR) &&
	       (qp->message.active ||
		(u16)vhca_doorbell(&qp->doorbell[MLX5_SND_DBR]) != qp->sq_ci);
}

static bool vhca_queue_poll(struct vhca *v, struct vhca_qp *qp)
{
	bool busy = vhca_page_fault_go_on(v, qp);

	if (vhca_work_waits(qp) && vhca_fault_stops_work(v, qp))
		return busy;
	busy |= vhca_send_queue_poll(v, qp);
	return vhca_receive_flush(v, qp) || busy;
}

/*
 * The queue pairs of a range of numbers, until enough was sent; the next poll
 * begins where this one stopped.  Returns false if it stopped.
 */
static bool vhca_queues_poll_range(struct vhca *v, unsigned long first,
				   unsigned long last, bool *busy)
{
	struct vhca_object *object;
	unsigned long id;

	xa_for_each_range(&v->ledger.by_id[VHCA_QP], id, object, first, last) {
		if (v->poll_bytes >= VHCA_POLL_BYTES) {
			v->turn = id;
			*busy = true;
			return false;
		}
		*busy |= vhca_queue_poll(v, to_vhca_qp(object));
	}
	return true;
}

/* All queue pairs, beginning with the one whose turn it is. */
static bool vhca_queues_poll(struct vhca *v)
{
	u32 first = v->turn;
	bool busy = false;

	if (vhca_queues_poll_range(v, first, ULONG_MAX, &busy) && first)
		vhca_queues_poll_range(v, 0, first - 1, &busy);
	return busy;
}

/**
 * vhca_workqueue_poll - execute work requests and answer armed CQs
 * @v: the device
 *
 * Models what the device does on a write to a UAR page, and what arrives from
 * the network.  When it returns, vhca.resume_ns tells when it must be called
 * again even if neither happens.
 *
 * Context: firmware thread, vhca.lock held, bus mastering allowed
 * Return: true if there was something to do
 */
bool vhca_workqueue_poll(struct vhca *v)
{
	struct vhca_object *object;
	bool busy = false, again;
	unsigned int round = 0;
	unsigned long id;

	v->resume_ns = 0;
	v->poll_bytes = 0;
	do {
		again = vhca_queues_poll(v);
		again |= vhca_send_queues_poll(v);
		again |= vhca_fabric_poll(v, true);
		busy |= again;
	} while (again && ++round < VHCA_POLL_ROUNDS &&
		 v->poll_bytes < VHCA_POLL_BYTES);
	vhca_page_faults_tell(v);
	xa_for_each(&v->ledger.by_id[VHCA_CQ], id, object)
		vhca_cq_notify(v, to_vhca_cq(object));
	return busy;
}

/**
 * vhca_workqueue_watch - have the doorbell records of all queues watched
 * @v: the device
 *
 * Context: firmware thread, vhca.lock held, bus mastering allowed
 */
void vhca_workqueue_watch(struct vhca *v)
{
	struct vhca_object *object;
	unsigned long id;

	xa_for_each(&v->ledger.by_id[VHCA_QP], id, object) {
		struct vhca_qp *qp = to_vhca_qp(object);

		if (qp->has_sq)
			vhca_watch_word(v, &qp->doorbell[MLX5_SND_DBR]);
		if (qp->has_rq)
			vhca_watch_word(v, &qp->doorbell[MLX5_RCV_DBR]);
	}
	vhca_send_queues_watch(v);
	xa_for_each(&v->ledger.by_id[VHCA_CQ], id, object)
		vhca_watch_word(v, &to_vhca_cq(object)->doorbell[VHCA_CQ_ARM]);
}
