// SPDX-License-Identifier: GPL-2.0
/*
 * Dynamically connected targets (DCT): queue pairs that only receive, from whoever knows
 * their key.  The sending side (DCI) is a queue pair as others are.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>

#include "vhca.h"

/* What a receiver looks at is where a queue pair's context has it. */
static void vhca_dct_context(struct vhca_qp *qp, const void *dctc)
{
	void *qpc = qp->context;

	MLX5_SET(qpc, qpc, st, MLX5_QP_ST_DCT);
	MLX5_SET(qpc, qpc, no_sq, 1);
	MLX5_SET(qpc, qpc, user_index, MLX5_GET(dctc, dctc, user_index));
	MLX5_SET(qpc, qpc, cqn_rcv, MLX5_GET(dctc, dctc, cqn));
	MLX5_SET(qpc, qpc, srqn_rmpn_xrqn, MLX5_GET(dctc, dctc, srqn_xrqn));
	MLX5_SET(qpc, qpc, pd, MLX5_GET(dctc, dctc, pd));
	MLX5_SET(qpc, qpc, rre, MLX5_GET(dctc, dctc, rre));
	MLX5_SET(qpc, qpc, rwe, MLX5_GET(dctc, dctc, rwe));
	MLX5_SET(qpc, qpc, rae, MLX5_GET(dctc, dctc, rae));
	MLX5_SET(qpc, qpc, min_rnr_nak, MLX5_GET(dctc, dctc, min_rnr_nak));
	MLX5_SET64(qpc, qpc, dc_access_key,
		   MLX5_GET64(dctc, dctc, dc_access_key));
}

/**
 * vhca_cmd_create_dct - CREATE_DCT, from mlx5_core_create_dct()
 * @v: the device
 * @cmd: the command, create_dct_in
 *
 * In the ledger it is a queue pair of type dct, with whose numbers it shares its own.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_create_dct(struct vhca *v, struct vhca_cmd *cmd)
{
	const void *dctc = MLX5_ADDR_OF(create_dct_in, cmd->in,
					dct_context_entry);
	struct vhca_qp *qp;
	u8 status;

	qp = kzalloc_obj(*qp, v->gfp);
	if (!qp)
		return MLX5_CMD_STAT_NO_RES_ERR;
	vhca_dct_context(qp, dctc);
	qp->service = MLX5_QP_ST_DCT;
	qp->state = MLX5_QP_STATE_RTR;
	qp->life = vhca_fabric_new_life();
	qp->pd = MLX5_GET(dctc, dctc, pd);
	qp->recv_cqn = MLX5_GET(dctc, dctc, cqn);
	qp->shares_rq = true;
	status = vhca_object_use_own(v, &qp->object, VHCA_PD, qp->pd, cmd);
	if (!status)
		status = vhca_object_use_own(v, &qp->object, VHCA_CQ, qp->recv_cqn,
					     cmd);
	if (!status)
		status = vhca_object_use_own(v, &qp->object, VHCA_RMP,
					     MLX5_GET(dctc, dctc, srqn_xrqn), cmd);
	if (!status)
		status = vhca_ledger_add(v, &qp->object, VHCA_QP, cmd);
	if (status) {
		vhca_object_unuse(&qp->object);
		kfree(qp);
		return status;
	}
	vhca_cmd_set_number(cmd, qp->object.id);
	return MLX5_CMD_STAT_OK;
}

/* The DCT that a command names, or NULL. */
static struct vhca_qp *vhca_dct_find(struct vhca *v, struct vhca_cmd *cmd)
{
	u32 id = vhca_cmd_number(cmd);
	struct vhca_object *object;

	cmd->object = id;
	object = vhca_ledger_find(v, VHCA_QP, id);
	if (!object || to_vhca_qp(object)->service != MLX5_QP_ST_DCT)
		return NULL;
	return to_vhca_qp(object);
}

/**
 * vhca_cmd_drain_dct - DRAIN_DCT: take no messages any more and say when that is so,
 *	from mlx5_core_drain_dct()
 * @v: the device
 * @cmd: the command, drain_dct_in
 *
 * There is nothing under way that would have to end first, so it is so at once.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_drain_dct(struct vhca *v, struct vhca_cmd *cmd)
{
	struct vhca_qp *qp = vhca_dct_find(v, cmd);
	struct mlx5_eqe_dct event = {};

	if (!qp)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	vhca_page_fault_drop(v, qp);
	qp->state = MLX5_QP_STATE_RST;
	event.dctn = cpu_to_be32(qp->object.id);
	vhca_eq_post_event(v, MLX5_EVENT_TYPE_DCT_DRAINED, &event, sizeof(event));
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_query_dct - QUERY_DCT: read the context, for mlx5_core_dct_query()
 * @v: the device
 * @cmd: the command, query_dct_in
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_query_dct(struct vhca *v, struct vhca_cmd *cmd)
{
	struct vhca_qp *qp = vhca_dct_find(v, cmd);
	void *dctc;

	if (!qp)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	dctc = MLX5_ADDR_OF(query_dct_out, cmd->out, dct_context_entry);
	MLX5_SET(dctc, dctc, state, qp->state == MLX5_QP_STATE_RTR ?
				    MLX5_DCTC_STATE_ACTIVE :
				    MLX5_DCTC_STATE_DRAINED);
	MLX5_SET(dctc, dctc, cqn, qp->recv_cqn);
	MLX5_SET(dctc, dctc, pd, qp->pd);
	MLX5_SET(dctc, dctc, rre, MLX5_GET(qpc, qp->context, rre));
	MLX5_SET(dctc, dctc, rwe, MLX5_GET(qpc, qp->context, rwe));
	MLX5_SET(dctc, dctc, rae, MLX5_GET(qpc, qp->context, rae));
	MLX5_SET(dctc, dctc, srqn_xrqn,
		 MLX5_GET(qpc, qp->context, srqn_rmpn_xrqn));
	MLX5_SET(dctc, dctc, min_rnr_nak,
		 MLX5_GET(qpc, qp->context, min_rnr_nak));
	MLX5_SET64(dctc, dctc, dc_access_key,
		   MLX5_GET64(qpc, qp->context, dc_access_key));
	return MLX5_CMD_STAT_OK;
}
