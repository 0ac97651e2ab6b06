// SPDX-License-Identifier: GPL-2.0
/*
 * Work queues.  The device follows a send queue through its doorbell record
 * and takes work requests in order.  UMR and NOP are executed; nothing is
 * sent anywhere.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mlx5/cq.h>
#include <linux/mlx5/qp.h>

#include "vhca.h"

/* So that one queue does not keep the thread from the command queue. */
#define VHCA_WORK_BATCH		64

/* struct mlx5_wqe_ctrl_seg: opmod_idx_opcode and qpn_ds */
#define VHCA_WQE_OPCODE_MASK	0xff
#define VHCA_WQE_DS_MASK	0x3f
#define VHCA_WQE_DS		16	/* bytes */

/* Tells whose vendor_err_synd it is. */
#define VHCA_VENDOR_SYNDROME	0x99

static void vhca_complete_send(struct vhca *v, struct vhca_qp *qp, u16 index,
			       u8 opcode, u8 syndrome)
{
	struct mlx5_cqe64 cqe = {};

	if (syndrome) {
		struct mlx5_err_cqe *err = (void *)&cqe;

		err->vendor_err_synd = VHCA_VENDOR_SYNDROME;
		err->syndrome = syndrome;
		cqe.op_own = MLX5_CQE_REQ_ERR << 4;
	} else {
		cqe.op_own = MLX5_CQE_REQ << 4;
	}
	/* Users find their QP by this (CQE version 1), the kernel by number. */
	cqe.srqn = cpu_to_be32(MLX5_GET(qpc, qp->context, user_index));
	cqe.sop_drop_qpn = cpu_to_be32((u32)opcode << 24 | qp->object.id);
	cqe.wqe_counter = cpu_to_be16(index);
	vhca_cq_post(v, qp->send_cqn, &cqe);
}

static void vhca_flush_receive(struct vhca *v, struct vhca_qp *qp)
{
	struct mlx5_err_cqe err = {
		.srqn = cpu_to_be32(MLX5_GET(qpc, qp->context, user_index)),
		.vendor_err_synd = VHCA_VENDOR_SYNDROME,
		.syndrome = MLX5_CQE_SYNDROME_WR_FLUSH_ERR,
		.s_wqe_opcode_qpn = cpu_to_be32(qp->object.id),
		.wqe_counter = cpu_to_be16(qp->rq_ci),
		.op_own = MLX5_CQE_RESP_ERR << 4,
	};

	qp->rq_ci++;
	vhca_cq_post(v, qp->recv_cqn, (struct mlx5_cqe64 *)&err);
}

/* In the error state what is posted completes with an error. */
static bool vhca_receive_queue_poll(struct vhca *v, struct vhca_qp *qp)
{
	u16 posted;
	u32 i;

	if (!qp->has_rq || qp->state != MLX5_QP_STATE_ERR)
		return false;
	posted = be32_to_cpu(READ_ONCE(qp->doorbell[MLX5_RCV_DBR])) -
		 qp->rq_ci;
	if (posted > BIT(qp->log_rq)) {
		vhca_violation(v, "rq_overrun", qp->object.id, posted, NULL);
		qp->rq_ci += posted;
		return false;
	}
	for (i = 0; i < posted; i++)
		vhca_flush_receive(v, qp);
	return posted;
}

/* Copy @bbs basic blocks of a request; it may wrap around the queue's end. */
static bool vhca_fetch(struct vhca *v, struct vhca_qp *qp, u32 first, u32 bbs)
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
		memcpy(v->wqe + i * MLX5_SEND_WQE_BB, block, MLX5_SEND_WQE_BB);
	}
	return true;
}

/*
 * Returns 0 or a completion syndrome.  Management datagrams have nobody to go
 * to and are dropped as a network may drop them.
 */
static u8 vhca_work_execute(struct vhca *v, struct vhca_qp *qp, u8 opcode,
			    u32 len)
{
	if (qp->state == MLX5_QP_STATE_ERR)
		return MLX5_CQE_SYNDROME_WR_FLUSH_ERR;
	switch (opcode) {
	case MLX5_OPCODE_NOP:
		return 0;
	case MLX5_OPCODE_UMR:
		return vhca_umr_execute(v, qp, v->wqe, len);
	}
	switch (qp->service) {
	case MLX5_QP_ST_QP0:
	case MLX5_QP_ST_QP1:
	case MLX5_QP_ST_UD:
		return 0;
	}
	if (vhca_gap_is_new(v, VHCA_GAP_DATA_PATH))
		vhca_info(v, "not modelled, said once: work request 0x%x on QP 0x%llx, completes with an error\n",
			  opcode, qp->object.id);
	return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
}

/*
 * Take the next request; there are @posted basic blocks.  Returns false if the
 * queue cannot be followed any more.
 */
static bool vhca_work_take(struct vhca *v, struct vhca_qp *qp, u16 posted)
{
	const struct mlx5_wqe_ctrl_seg *ctrl = (void *)v->wqe;
	u16 index = qp->sq_ci;
	u8 opcode, syndrome;
	u32 len, bbs;

	if (!vhca_fetch(v, qp, 0, 1))
		return false;
	len = (be32_to_cpu(ctrl->qpn_ds) & VHCA_WQE_DS_MASK) * VHCA_WQE_DS;
	opcode = be32_to_cpu(ctrl->opmod_idx_opcode) & VHCA_WQE_OPCODE_MASK;
	bbs = max(DIV_ROUND_UP(len, MLX5_SEND_WQE_BB), 1);
	if (bbs > posted) {
		vhca_violation(v, "wqe_beyond_doorbell", qp->object.id, index,
			       NULL);
		return false;
	}
	if (!vhca_fetch(v, qp, 1, bbs))
		return false;
	syndrome = vhca_work_execute(v, qp, opcode, len);
	v->stats.work_requests++;
	qp->sq_ci += bbs;
	if (syndrome) {
		qp->state = MLX5_QP_STATE_ERR;
		vhca_complete_send(v, qp, index, opcode, syndrome);
	} else if (ctrl->fm_ce_se & MLX5_WQE_CTRL_CQ_UPDATE) {
		vhca_complete_send(v, qp, index, opcode, 0);
	}
	return true;
}

static bool vhca_send_queue_poll(struct vhca *v, struct vhca_qp *qp)
{
	unsigned int taken = 0;
	u16 pi, posted;

	if (!qp->has_sq || (qp->state != MLX5_QP_STATE_RTS &&
			    qp->state != MLX5_QP_STATE_ERR))
		return false;
	pi = be32_to_cpu(READ_ONCE(qp->doorbell[MLX5_SND_DBR]));
	/* The requests are complete when the record counts them. */
	smp_rmb();
	while ((posted = pi - qp->sq_ci) && taken < VHCA_WORK_BATCH) {
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
	return taken;
}

/**
 * vhca_workqueue_poll - execute work requests and answer armed CQs
 * @v: the device
 *
 * Models what the device does on a write to a UAR page.
 *
 * Context: firmware thread, vhca.lock held, bus mastering allowed
 * Return: true if there was something to do
 */
bool vhca_workqueue_poll(struct vhca *v)
{
	struct vhca_object *object;
	unsigned long id;
	bool busy = false;

	xa_for_each(&v->ledger.by_id[VHCA_QP], id, object) {
		busy |= vhca_send_queue_poll(v, to_vhca_qp(object));
		busy |= vhca_receive_queue_poll(v, to_vhca_qp(object));
	}
	xa_for_each(&v->ledger.by_id[VHCA_CQ], id, object)
		vhca_cq_notify(v, to_vhca_cq(object));
	return busy;
}
