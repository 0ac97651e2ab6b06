// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: their contexts and states.  Work queues are in workqueue.c.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>

#include "scheduling.h"
#include "vhca.h"

/* rq_type of qpc: a receive queue of the QP's own, behind the doorbell; a shared one. */
#define VHCA_RQ_REGULAR		0
#define VHCA_RQ_SHARED		1
/* Of opt_param_mask: what becomes of the send queue when a signature is wrong. */
#define VHCA_OPTPAR_DRAIN_SIGERR	BIT(11)

/* log_rq_stride of qpc is in units of 16 bytes. */
#define VHCA_LOG_RQ_UNIT	4

static const char *vhca_qp_service_name(u8 service)
{
	switch (service) {
	case MLX5_QP_ST_RC:
		return "rc";
	case MLX5_QP_ST_UC:
		return "uc";
	case MLX5_QP_ST_UD:
		return "ud";
	case MLX5_QP_ST_XRC:
		return "xrc";
	case MLX5_QP_ST_DCI:
		return "dci";
	case MLX5_QP_ST_DCT:
		return "dct";
	case MLX5_QP_ST_QP0:
		return "qp0";
	case MLX5_QP_ST_QP1:
		return "qp1";
	case MLX5_QP_ST_REG_UMR:
		return "reg_umr";
	default:
		return "other";
	}
}

static const char *vhca_qp_state_name(u8 state)
{
	switch (state) {
	case MLX5_QP_STATE_RST:
		return "rst";
	case MLX5_QP_STATE_INIT:
		return "init";
	case MLX5_QP_STATE_RTR:
		return "rtr";
	case MLX5_QP_STATE_RTS:
		return "rts";
	case MLX5_QP_STATE_SQD:
		return "sqd";
	case MLX5_QP_STATE_ERR:
		return "err";
	default:
		return "other";
	}
}

static void vhca_qp_release(struct vhca *v, struct vhca_object *object)
{
	struct vhca_qp *qp = to_vhca_qp(object);

	vhca_page_fault_drop(v, qp);
	vhca_multicast_leave(v, qp);
	if (v->gsi == qp->object.id)
		v->gsi = 0;
	vhca_buffer_exit(&qp->buffer);
	kfree(qp);
}

static void vhca_qp_describe(struct vhca_object *object,
			     struct vhca_object_record *record)
{
	struct vhca_qp *qp = to_vhca_qp(object);

	vhca_detail_text(record, "type", vhca_qp_service_name(qp->service));
	vhca_detail_text(record, "state", vhca_qp_state_name(qp->state));
	vhca_detail_hex(record, "pd", qp->pd);
	vhca_detail_hex(record, "send_cq", qp->send_cqn);
	vhca_detail_hex(record, "recv_cq", qp->recv_cqn);
	if (qp->groups)
		vhca_detail_dec(record, "groups", qp->groups);
}

const struct vhca_kind_info vhca_qp_kind = {
	.name = "qp", .min = 0x40, .max = 0x3fff,
	.release = vhca_qp_release,
	.describe = vhca_qp_describe,
};

/**
 * struct vhca_use - what a context names
 * @kind: kind of object
 * @id: its number; 0 stands for none
 */
struct vhca_use {
	enum vhca_kind	kind;
	u32		id;
};

/* Put the QP on what its context names.  A UAR is nothing that leads to memory. */
static u8 vhca_qp_use(struct vhca *v, struct vhca_qp *qp, const struct vhca_cmd *cmd)
{
	const struct vhca_use uses[] = {
		{ VHCA_PD,  qp->pd },
		{ VHCA_CQ,  qp->send_cqn },
		{ VHCA_CQ,  qp->recv_cqn },
		{ VHCA_UAR, MLX5_GET(qpc, qp->context, uar_page) },
		qp->service == MLX5_QP_ST_XRC ?
		(struct vhca_use) { VHCA_XRCD, MLX5_GET(qpc, qp->context, xrcd) } :
		(struct vhca_use) { VHCA_RMP, qp->shares_rq ?
			MLX5_GET(qpc, qp->context, srqn_rmpn_xrqn) : 0 },
	};
	unsigned int i;
	u8 status;

	for (i = 0; i < ARRAY_SIZE(uses); i++) {
		/* 0 stands for none, but that no user has a queue pair in no PD. */
		if (!uses[i].id && !(cmd->uid && uses[i].kind == VHCA_PD))
			continue;
		status = uses[i].kind == VHCA_UAR ?
			 vhca_object_use(v, &qp->object, uses[i].kind,
					 uses[i].id) :
			 vhca_object_use_own(v, &qp->object, uses[i].kind,
					     uses[i].id, cmd);
		if (status)
			return status;
	}
	return MLX5_CMD_STAT_OK;
}

/* The doorbell record: in registered memory or anywhere, if there are queues at all. */
static u8 vhca_qp_doorbell(struct vhca *v, struct vhca_qp *qp,
			   const struct vhca_cmd *cmd, u64 size)
{
	void *qpc = MLX5_ADDR_OF(create_qp_in, cmd->in, qpc);
	u64 doorbell = MLX5_GET64(qpc, qpc, dbr_addr);

	if (MLX5_GET(qpc, qpc, dbr_umem_valid))
		return vhca_umem_doorbell(v, &qp->object,
					  (struct vhca_umem_place) {
			.id	= vhca_field(qpc, VHCA_QPC_DBR_UMEM_ID),
			.offset	= doorbell,
		}, cmd, &qp->doorbell);
	if (!doorbell)
		return size ? MLX5_CMD_STAT_BAD_PARAM_ERR : MLX5_CMD_STAT_OK;
	return vhca_doorbell_init(v, doorbell, 2, &qp->doorbell);
}

static u8 vhca_qp_init(struct vhca *v, struct vhca_qp *qp,
		       struct vhca_cmd *cmd)
{
	void *qpc = MLX5_ADDR_OF(create_qp_in, cmd->in, qpc);
	u32 nr_pas = (cmd->in_len - MLX5_ST_SZ_BYTES(create_qp_in)) /
		     sizeof(__be64);
	u64 size = 0;
	u8 status;

	memcpy(qp->context, qpc, sizeof(qp->context));
	qp->service = MLX5_GET(qpc, qpc, st);
	/* One may change all keys, the other two speak for the port: they are the driver's. */
	if (cmd->uid && (qp->service == MLX5_QP_ST_REG_UMR || qp->service == MLX5_QP_ST_QP0 ||
			 qp->service == MLX5_QP_ST_QP1))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	qp->state = MLX5_QP_STATE_RST;
	qp->life = vhca_fabric_new_life();
	qp->pd = MLX5_GET(qpc, qpc, pd);
	qp->send_cqn = MLX5_GET(qpc, qpc, cqn_snd);
	qp->recv_cqn = MLX5_GET(qpc, qpc, cqn_rcv);
	/* Privileged are the driver's own queue pairs, and none of a user's. */
	qp->privileged = !cmd->uid && (qp->service == MLX5_QP_ST_REG_UMR ||
				       MLX5_GET(qpc, qpc, rlky));
	qp->has_rq = MLX5_GET(qpc, qpc, rq_type) == VHCA_RQ_REGULAR;
	/* A DCI only sends; for one without a shared queue the driver names one of its own. */
	qp->shares_rq = MLX5_GET(qpc, qpc, rq_type) == VHCA_RQ_SHARED &&
			qp->service != MLX5_QP_ST_DCI;
	qp->has_sq = !MLX5_GET(qpc, qpc, no_sq);
	if (qp->has_rq) {
		u8 log_stride = MLX5_GET(qpc, qpc, log_rq_stride) +
				VHCA_LOG_RQ_UNIT;

		qp->log_rq = MLX5_GET(qpc, qpc, log_rq_size);
		if (BIT(log_stride) > VHCA_MAX_RQ_WQE ||
		    qp->log_rq > VHCA_LOG_MAX_QP_SIZE)
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
		size = BIT(qp->log_rq + log_stride);
	}
	qp->sq_offset = size;
	if (qp->has_sq) {
		qp->log_sq = MLX5_GET(qpc, qpc, log_sq_size);
		if (qp->log_sq > VHCA_LOG_MAX_QP_SIZE)
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
		size += (u64)MLX5_SEND_WQE_BB << qp->log_sq;
	}

	status = vhca_qp_use(v, qp, cmd);
	if (status)
		return status;
	status = vhca_qp_doorbell(v, qp, cmd, size);
	if (status)
		return status;
	if (MLX5_GET(create_qp_in, cmd->in, wq_umem_valid))
		return vhca_umem_buffer(v, &qp->object, &qp->buffer,
					(struct vhca_umem_place) {
			.id	= MLX5_GET(create_qp_in, cmd->in, wq_umem_id),
			.offset	= MLX5_GET64(create_qp_in, cmd->in,
					     wq_umem_offset),
		}, size, cmd);
	return vhca_buffer_init(v, &qp->buffer,
				MLX5_ADDR_OF(create_qp_in, cmd->in, pas),
				nr_pas, MLX5_GET(qpc, qpc, log_page_size),
				MLX5_GET(qpc, qpc, page_offset), size);
}

/**
 * vhca_cmd_create_qp - CREATE_QP, from mlx5_qpc_create_qp()
 * @v: the device
 * @cmd: the command, create_qp_in
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_create_qp(struct vhca *v, struct vhca_cmd *cmd)
{
	struct vhca_qp *qp;
	u8 status;

	qp = kzalloc_obj(*qp, v->gfp);
	if (!qp)
		return MLX5_CMD_STAT_NO_RES_ERR;
	status = vhca_qp_init(v, qp, cmd);
	if (!status)
		status = vhca_ledger_add(v, &qp->object, VHCA_QP, cmd);
	if (status) {
		vhca_object_unuse(&qp->object);
		vhca_qp_release(v, &qp->object);
		return status;
	}
	if (qp->service == MLX5_QP_ST_QP1)
		v->gsi = qp->object.id;
	vhca_cmd_set_number(cmd, qp->object.id);
	return MLX5_CMD_STAT_OK;
}

/* Parameters that a transition may bring, if opt_param_mask says so. */
static void vhca_qp_take_optional(u32 *take, u32 mask)
{
	if (mask & MLX5_QP_OPTPAR_RRE)
		MLX5_SET(qpc, take, rre, ~0);
	if (mask & MLX5_QP_OPTPAR_RWE)
		MLX5_SET(qpc, take, rwe, ~0);
	if (mask & MLX5_QP_OPTPAR_RAE) {
		MLX5_SET(qpc, take, rae, ~0);
		MLX5_SET(qpc, take, atomic_mode, ~0);
	}
	if (mask & MLX5_QP_OPTPAR_RNR_TIMEOUT)
		MLX5_SET(qpc, take, min_rnr_nak, ~0);
	if (mask & MLX5_QP_OPTPAR_Q_KEY)
		MLX5_SET(qpc, take, q_key, ~0);
	if (mask & MLX5_QP_OPTPAR_PKEY_INDEX)
		MLX5_SET(qpc, take, primary_address_path.pkey_index, ~0);
	if (mask & MLX5_QP_OPTPAR_PRI_PORT)
		MLX5_SET(qpc, take, primary_address_path.vhca_port_num, ~0);
	if (mask & MLX5_QP_OPTPAR_PM_STATE)
		MLX5_SET(qpc, take, pm_state, ~0);
	if (mask & VHCA_OPTPAR_DRAIN_SIGERR)
		MLX5_SET(qpc, take, drain_sigerr, ~0);
	if (mask & MLX5_QP_OPTPAR_LAG_TX_AFF)
		MLX5_SET(qpc, take, lag_tx_port_affinity, ~0);
	if (mask & MLX5_QP_OPTPAR_ALT_ADDR_PATH)
		memset(MLX5_ADDR_OF(qpc, take, secondary_address_path), 0xff,
		       MLX5_ST_SZ_BYTES(ads));
}

/* Parameters that a transition brings always. */
static void vhca_qp_take_required(u32 *take, u16 opcode)
{
	switch (opcode) {
	case MLX5_CMD_OP_RST2INIT_QP:
		vhca_qp_take_optional(take, MLX5_QP_OPTPAR_RRE |
				      MLX5_QP_OPTPAR_RWE |
				      MLX5_QP_OPTPAR_RAE |
				      MLX5_QP_OPTPAR_Q_KEY |
				      MLX5_QP_OPTPAR_PKEY_INDEX |
				      MLX5_QP_OPTPAR_PRI_PORT |
				      MLX5_QP_OPTPAR_LAG_TX_AFF |
				      MLX5_QP_OPTPAR_PM_STATE);
		break;
	case MLX5_CMD_OP_INIT2RTR_QP:
		MLX5_SET(qpc, take, mtu, ~0);
		MLX5_SET(qpc, take, log_msg_max, ~0);
		MLX5_SET(qpc, take, remote_qpn, ~0);
		MLX5_SET(qpc, take, next_rcv_psn, ~0);
		MLX5_SET(qpc, take, min_rnr_nak, ~0);
		MLX5_SET(qpc, take, log_rra_max, ~0);
		memset(MLX5_ADDR_OF(qpc, take, primary_address_path), 0xff,
		       MLX5_ST_SZ_BYTES(ads));
		/* These belong to the transition before and the next one. */
		MLX5_SET(qpc, take, primary_address_path.pkey_index, 0);
		MLX5_SET(qpc, take, primary_address_path.ack_timeout, 0);
		break;
	case MLX5_CMD_OP_RTR2RTS_QP:
		MLX5_SET(qpc, take, next_send_psn, ~0);
		MLX5_SET(qpc, take, log_sra_max, ~0);
		MLX5_SET(qpc, take, retry_count, ~0);
		MLX5_SET(qpc, take, rnr_retry, ~0);
		MLX5_SET(qpc, take, primary_address_path.ack_timeout, ~0);
		break;
	}
}

/*
 * Each transition brings a context of which only some fields count; the
 * others are zero and must not replace what an earlier command has set.
 */
static void vhca_qp_merge(struct vhca_qp *qp, const struct vhca_cmd *cmd)
{
	u32 take[MLX5_ST_SZ_DW(qpc)] = {};

	vhca_qp_take_required(take, cmd->opcode);
	vhca_qp_take_optional(take, MLX5_GET(init2rtr_qp_in, cmd->in,
					     opt_param_mask));
	vhca_merge(qp->context, MLX5_ADDR_OF(init2rtr_qp_in, cmd->in, qpc),
		   take, MLX5_ST_SZ_DW(qpc));
	switch (cmd->opcode) {
	case MLX5_CMD_OP_INIT2RTR_QP:
		qp->reception.psn = MLX5_GET(qpc, qp->context, next_rcv_psn);
		break;
	case MLX5_CMD_OP_RTR2RTS_QP:
		qp->message.psn = MLX5_GET(qpc, qp->context, next_send_psn);
		break;
	}
}

/* Groups of the scheduling tree, which need only be there: nothing is slowed down. */
static u8 vhca_qp_check_groups(struct vhca *v, const struct vhca_qp *qp,
			       const struct vhca_cmd *cmd)
{
	unsigned int i;

	if (cmd->in_len < (VHCA_MODIFY_QP_EXT_GROUPS + 2) * sizeof(__be32))
		return MLX5_CMD_STAT_BAD_INP_LEN_ERR;
	for (i = 0; i < 2; i++)
		if (!vhca_scheduling_has_group(v, vhca_field(cmd->in,
							     VHCA_MODIFY_QP_EXT_GROUPS + i),
					       qp->object.uid))
			return MLX5_CMD_STAT_BAD_RES_ERR;
	return MLX5_CMD_STAT_OK;
}

/* Of the extended context: requests to copy memory, and a stream that may go on. */
static u8 vhca_qp_merge_extension(struct vhca *v, struct vhca_qp *qp,
				  const struct vhca_cmd *cmd)
{
	u32 mask, data;

	if ((cmd->opcode != MLX5_CMD_OP_INIT2INIT_QP &&
	     cmd->opcode != MLX5_CMD_OP_RTS2RTS_QP) ||
	    cmd->in_len < (VHCA_MODIFY_QP_EXT_DATA + 1) * sizeof(__be32) ||
	    !(vhca_field(cmd->in, VHCA_MODIFY_QP_EXT) & BIT(31)))
		return MLX5_CMD_STAT_OK;
	mask = vhca_field(cmd->in, VHCA_MODIFY_QP_EXT_MASK);
	data = vhca_field(cmd->in, VHCA_MODIFY_QP_EXT_DATA);
	if (cmd->opcode == MLX5_CMD_OP_INIT2INIT_QP) {
		if (mask & VHCA_OPTPAR_EXT_MMO)
			qp->copies = data & VHCA_QPC_EXT_MMO;
	} else if (mask & VHCA_OPTPAR_EXT_STREAM) {
		vhca_stream_reset(qp, data & VHCA_QPC_EXT_STREAM);
	}
	return mask & VHCA_OPTPAR_EXT_GROUPS ? vhca_qp_check_groups(v, qp, cmd) :
					       MLX5_CMD_STAT_OK;
}

/* The state that a transition starts from; the device checks no more. */
static u8 vhca_qp_next_state(const struct vhca_qp *qp, u16 opcode, u8 *next)
{
	static const struct {
		u16	opcode;
		u8	from;
		u8	to;
	} transitions[] = {
		{ MLX5_CMD_OP_RST2INIT_QP, MLX5_QP_STATE_RST,
		  MLX5_QP_STATE_INIT },
		{ MLX5_CMD_OP_INIT2INIT_QP, MLX5_QP_STATE_INIT,
		  MLX5_QP_STATE_INIT },
		{ MLX5_CMD_OP_INIT2RTR_QP, MLX5_QP_STATE_INIT,
		  MLX5_QP_STATE_RTR },
		{ MLX5_CMD_OP_RTR2RTS_QP, MLX5_QP_STATE_RTR,
		  MLX5_QP_STATE_RTS },
		{ MLX5_CMD_OP_RTS2RTS_QP, MLX5_QP_STATE_RTS,
		  MLX5_QP_STATE_RTS },
		{ MLX5_CMD_OP_SQD_RTS_QP, MLX5_QP_STATE_SQD,
		  MLX5_QP_STATE_RTS },
		{ MLX5_CMD_OP_SQERR2RTS_QP, MLX5_QP_STATE_SQER,
		  MLX5_QP_STATE_RTS },
	};
	unsigned int i;

	switch (opcode) {
	case MLX5_CMD_OP_2ERR_QP:
		*next = MLX5_QP_STATE_ERR;
		return MLX5_CMD_STAT_OK;
	case MLX5_CMD_OP_2RST_QP:
		*next = MLX5_QP_STATE_RST;
		return MLX5_CMD_STAT_OK;
	}
	for (i = 0; i < ARRAY_SIZE(transitions); i++) {
		if (transitions[i].opcode != opcode)
			continue;
		if (transitions[i].from != qp->state)
			return MLX5_CMD_STAT_BAD_QP_STATE_ERR;
		*next = transitions[i].to;
		return MLX5_CMD_STAT_OK;
	}
	return MLX5_CMD_STAT_BAD_OP_ERR;
}

/**
 * vhca_cmd_modify_qp - RST2INIT_QP and the other transitions, from
 *	mlx5_core_qp_modify()
 * @v: the device
 * @cmd: the command, rst2init_qp_in and its like
 *
 * All of them with a context have it at the same place.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_modify_qp(struct vhca *v, struct vhca_cmd *cmd)
{
	u32 qpn = vhca_cmd_number(cmd);
	struct vhca_object *object;
	struct vhca_qp *qp;
	u8 status, next;

	cmd->object = qpn;
	object = vhca_ledger_find(v, VHCA_QP, qpn);
	if (!object)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	qp = to_vhca_qp(object);
	/* A DCT has no such states. */
	if (qp->service == MLX5_QP_ST_DCT)
		return MLX5_CMD_STAT_BAD_RES_STATE_ERR;
	status = vhca_qp_next_state(qp, cmd->opcode, &next);
	if (status)
		return status;
	switch (next) {
	case MLX5_QP_STATE_ERR:
		/* The firmware thread flushes what is posted. */
		break;
	case MLX5_QP_STATE_RST:
		/* What is on its way in either direction finds nobody. */
		vhca_page_fault_drop(v, qp);
		qp->life = vhca_fabric_new_life();
		qp->sq_ci = 0;
		qp->rq_ci = 0;
		qp->message.active = false;
		qp->message.away = false;
		qp->draining = false;
		qp->reception.active = false;
		qp->nr_failed_streams = 0;
		break;
	default:
		status = vhca_qp_merge_extension(v, qp, cmd);
		if (status)
			return status;
		vhca_qp_merge(qp, cmd);
		break;
	}
	qp->state = next;
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_query_qp - QUERY_QP: read the context, for mlx5_core_qp_query()
 * @v: the device
 * @cmd: the command, query_qp_in
 *
 * The context is what the driver has set, with the current state, how much of the send
 * queue is done, and sequence numbers, which count pieces of messages; other counters are
 * not kept.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_query_qp(struct vhca *v, struct vhca_cmd *cmd)
{
	u32 qpn = vhca_cmd_number(cmd);
	struct vhca_object *object;
	struct vhca_qp *qp;
	void *qpc;

	cmd->object = qpn;
	object = vhca_ledger_find(v, VHCA_QP, qpn);
	if (!object)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	qp = to_vhca_qp(object);
	/* That has a context of another form, and a command of its own. */
	if (qp->service == MLX5_QP_ST_DCT)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (cmd->out_len < MLX5_BYTE_OFF(query_qp_out, qpc) +
			   sizeof(qp->context))
		return MLX5_CMD_STAT_BAD_OUTP_LEN_ERR;
	qpc = MLX5_ADDR_OF(query_qp_out, cmd->out, qpc);
	memcpy(qpc, qp->context, sizeof(qp->context));
	MLX5_SET(qpc, qpc, state, qp->state);
	MLX5_SET(qpc, qpc, next_send_psn, qp->message.psn);
	MLX5_SET(qpc, qpc, next_rcv_psn, qp->reception.psn);
	MLX5_SET(qpc, qpc, hw_sq_wqebb_counter, qp->sq_ci);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_destroy_qp - DESTROY_QP, from mlx5_core_destroy_qp(), and DESTROY_DCT, from
 *	_mlx5_core_destroy_dct()
 * @v: the device
 * @cmd: the command, destroy_qp_in or destroy_dct_in, which are alike
 *
 * Both have their numbers from the same range.  One of the other kind is not found.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_destroy_qp(struct vhca *v, struct vhca_cmd *cmd)
{
	bool dct = cmd->opcode == MLX5_CMD_OP_DESTROY_DCT;
	u32 id = vhca_cmd_number(cmd);
	struct vhca_object *object = vhca_ledger_find(v, VHCA_QP, id);

	cmd->object = id;
	if (object && dct != (to_vhca_qp(object)->service == MLX5_QP_ST_DCT)) {
		vhca_violation_of(v, "destroy_of_unknown", VHCA_QP, id, cmd->opcode, true);
		return MLX5_CMD_STAT_BAD_RES_ERR;
	}
	return vhca_cmd_destroy(v, cmd);
}
