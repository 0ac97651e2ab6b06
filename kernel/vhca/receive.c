// SPDX-License-Identifier: GPL-2.0
/*
 * Receive queues: that of a queue pair, which is a ring, and shared ones, in which each
 * request names the one behind it.  A request is taken when a message needs one.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mlx5/cq.h>

#include "vhca.h"

/* log_rq_stride of qpc is in units of 16 bytes. */
#define VHCA_LOG_RQ_UNIT	4

/*
 * The shared queue that a message takes its request from: with XRC the sender names it,
 * within the domain of the queue pair; else it is the queue pair's.
 */
static struct vhca_srq *vhca_receive_shared(struct vhca *v,
					    const struct vhca_qp *qp, u32 srqn)
{
	bool xrc = qp->service == MLX5_QP_ST_XRC;
	struct vhca_object *object;
	struct vhca_srq *srq;

	if (!xrc)
		srqn = MLX5_GET(qpc, qp->context, srqn_rmpn_xrqn);
	object = vhca_ledger_find(v, xrc ? VHCA_XRC_SRQ : VHCA_RMP, srqn);
	if (!object)
		return NULL;
	srq = to_vhca_srq(object);
	if (xrc && srq->xrcd != MLX5_GET(qpc, qp->context, xrcd))
		return NULL;
	return srq;
}

/**
 * vhca_receive_pd - the protection domain that a message's keys must be in
 * @v: the device
 * @qp: the queue pair that gets the message
 * @srqn: the shared queue that its sender names, with XRC
 * @pd: the protection domain
 *
 * Context: firmware thread, vhca.lock held
 * Return: true; or false if there is no such queue
 */
bool vhca_receive_pd(struct vhca *v, const struct vhca_qp *qp, u32 srqn,
		     u32 *pd)
{
	struct vhca_srq *srq;

	*pd = qp->pd;
	if (qp->service != MLX5_QP_ST_XRC)
		return true;
	srq = vhca_receive_shared(v, qp, srqn);
	if (srq)
		*pd = srq->pd;
	return srq;
}

/* How many requests are beyond @taken; false if there are more than the queue holds. */
static bool vhca_ring_posted(struct vhca *v, const __be32 *doorbell, u16 *taken,
			     u8 log_size, u64 id, u16 *posted)
{
	*posted = vhca_doorbell(doorbell) - *taken;
	/* The requests are complete when the record counts them. */
	smp_rmb();
	if (*posted <= BIT(log_size))
		return true;
	vhca_violation(v, "rq_overrun", id, *posted, NULL);
	*taken += *posted;
	return false;
}

/**
 * vhca_receive_posted - how many receive requests there are
 * @v: the device
 * @qp: the queue pair, with a receive queue of its own or a shared one
 * @srqn: the shared queue that the sender names, with XRC
 * @posted: the count
 *
 * Context: firmware thread, vhca.lock held
 * Return: true; or false if the doorbell record counts more than there can
 *	be, which is a violation, and the queue cannot be followed any more, or if there
 *	is no such queue
 */
bool vhca_receive_posted(struct vhca *v, struct vhca_qp *qp, u32 srqn,
			 u16 *posted)
{
	struct vhca_srq *srq;

	if (qp->has_rq)
		return vhca_ring_posted(v, &qp->doorbell[MLX5_RCV_DBR],
					&qp->rq_ci, qp->log_rq, qp->object.id,
					posted);
	srq = vhca_receive_shared(v, qp, srqn);
	if (srq && !srq->doorbell) {
		*posted = 0;
		return true;
	}
	return srq && vhca_ring_posted(v, srq->doorbell, &srq->taken,
				       srq->log_size, srq->object.id, posted);
}

static bool vhca_receive_copy(struct vhca_reception *r,
			      struct vhca_buffer *buffer, u8 log_stride)
{
	const void *wqe;

	r->wqe_len = BIT(log_stride);
	wqe = vhca_buffer_at(buffer, (u64)r->index << log_stride, r->wqe_len);
	if (!wqe)
		return false;
	memcpy(r->wqe, wqe, r->wqe_len);
	return true;
}

/* The queue pair's own next request: where it is and who is told of it. */
static void vhca_receive_own(struct vhca_qp *qp)
{
	struct vhca_reception *r = &qp->reception;

	r->srqn = 0;
	r->counter = qp->rq_ci;
	r->index = qp->rq_ci & (BIT(qp->log_rq) - 1);
	r->cqn = qp->recv_cqn;
	r->user_index = MLX5_GET(qpc, qp->context, user_index);
	r->pd = qp->pd;
}

static bool vhca_receive_fetch_own(struct vhca_qp *qp)
{
	vhca_receive_own(qp);
	/* A signature takes the first place, and is not looked at. */
	qp->reception.first = MLX5_GET(qpc, qp->context, wq_signature);
	return vhca_receive_copy(&qp->reception, &qp->buffer,
				 MLX5_GET(qpc, qp->context, log_rq_stride) +
				 VHCA_LOG_RQ_UNIT);
}

/* Who has set a limit hears once that there are fewer requests left. */
static void vhca_srq_check_limit(struct vhca *v, struct vhca_srq *srq)
{
	u16 left = vhca_doorbell(srq->doorbell) - srq->taken;

	if (left >= srq->limit)
		return;
	srq->limit = 0;
	vhca_eq_post_qp_event(v, MLX5_EVENT_TYPE_SRQ_RQ_LIMIT, srq->object.id);
}

static bool vhca_receive_fetch_shared(struct vhca *v, struct vhca_qp *qp,
				      struct vhca_srq *srq)
{
	const struct mlx5_wqe_srq_next_seg *link;
	struct vhca_reception *r = &qp->reception;
	bool xrc = qp->service == MLX5_QP_ST_XRC;

	r->srqn = srq->object.id;
	r->index = srq->next;
	r->counter = srq->next;
	r->cqn = xrc ? srq->cqn : qp->recv_cqn;
	r->user_index = xrc ? srq->user_index :
			      MLX5_GET(qpc, qp->context, user_index);
	r->pd = srq->pd;
	/* The link is as large as a segment, and has the signature in it. */
	r->first = 1;
	if (!vhca_receive_copy(r, &srq->buffer, srq->log_stride))
		return false;
	link = (const void *)r->wqe;
	srq->next = be16_to_cpu(link->next_wqe_index) &
		    (BIT(srq->log_size) - 1);
	/* Others take from it while this one is filled. */
	srq->taken++;
	vhca_srq_check_limit(v, srq);
	return true;
}

/**
 * vhca_receive_fetch - copy the next receive request
 * @v: the device
 * @qp: the queue pair, for which one is posted
 * @srqn: the shared queue that the sender names, with XRC
 *
 * Context: firmware thread, vhca.lock held
 * Return: true; or false if the queue is not laid out as such a queue must be
 */
bool vhca_receive_fetch(struct vhca *v, struct vhca_qp *qp, u32 srqn)
{
	struct vhca_srq *srq;

	if (qp->has_rq)
		return vhca_receive_fetch_own(qp);
	srq = vhca_receive_shared(v, qp, srqn);
	return srq && vhca_receive_fetch_shared(v, qp, srq);
}

/**
 * vhca_receive_complete - tell that a receive request has completed
 * @v: the device
 * @qp: the queue pair
 * @cqe: what there is to tell of a message; for an error, zeros
 * @syndrome: 0 for success, or MLX5_CQE_SYNDROME_*
 * @solicited: the sender wants the receiver to be told
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_receive_complete(struct vhca *v, struct vhca_qp *qp,
			   struct mlx5_cqe64 *cqe, u8 syndrome, bool solicited)
{
	struct vhca_reception *r = &qp->reception;

	cqe->sop_drop_qpn = cpu_to_be32(qp->object.id);
	if (syndrome)
		cqe->op_own = MLX5_CQE_RESP_ERR << 4;
	/* Users find their queue by this (CQE version 1), the kernel by number. */
	cqe->srqn = cpu_to_be32(r->user_index);
	vhca_complete(v, r->cqn, cqe, r->counter, syndrome, solicited);
	if (!r->srqn)
		qp->rq_ci++;
	r->active = false;
}

/**
 * vhca_receive_flush - in the error state what is posted completes with an error
 * @v: the device
 * @qp: the queue pair
 *
 * Of a shared queue only the request that was being filled does, of others some at a time.
 *
 * Context: firmware thread, vhca.lock held
 * Return: true if there was something to do
 */
bool vhca_receive_flush(struct vhca *v, struct vhca_qp *qp)
{
	struct mlx5_cqe64 cqe = {};
	u16 posted, i;

	if (qp->state != MLX5_QP_STATE_ERR)
		return false;
	if (!qp->has_rq) {
		if (!qp->reception.active)
			return false;
		vhca_receive_complete(v, qp, &cqe,
				      MLX5_CQE_SYNDROME_WR_FLUSH_ERR, true);
		return true;
	}
	if (!vhca_receive_posted(v, qp, 0, &posted))
		return false;
	posted = min(posted, VHCA_WORK_BATCH);
	v->poll_bytes += posted * VHCA_REQUEST_COST;
	for (i = 0; i < posted; i++) {
		cqe = (struct mlx5_cqe64) {};
		vhca_receive_own(qp);
		vhca_receive_complete(v, qp, &cqe,
				      MLX5_CQE_SYNDROME_WR_FLUSH_ERR, true);
	}
	return posted;
}
