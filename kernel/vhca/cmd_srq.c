// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues: RMPs, which are mlx5_ib's basic SRQs, and XRC SRQs.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>

#include "vhca.h"

/* wq_type of wq: each request names the next one. */
#define VHCA_WQ_LINKED_LIST	0
/* log_rq_stride of xrc_srqc is in units of 16 bytes. */
#define VHCA_LOG_SRQ_UNIT	4
/* The least stride: the link, and one data segment. */
#define VHCA_LOG_SRQ_MIN	5

static void vhca_srq_release(struct vhca *v, struct vhca_object *object)
{
	struct vhca_srq *srq = to_vhca_srq(object);

	vhca_buffer_exit(&srq->buffer);
	kfree(srq);
}

static void vhca_srq_describe(struct vhca_object *object,
			      struct vhca_object_record *record)
{
	struct vhca_srq *srq = to_vhca_srq(object);

	vhca_detail_hex(record, "pd", srq->pd);
	vhca_detail_dec(record, "log_size", srq->log_size);
	vhca_detail_dec(record, "limit", srq->limit);
	if (object->kind == VHCA_RMP)
		return;
	vhca_detail_hex(record, "xrcd", srq->xrcd);
	vhca_detail_hex(record, "cq", srq->cqn);
}

/* mlx5_ib keeps the two in one table: their numbers must differ. */
const struct vhca_kind_info vhca_xrc_srq_kind = {
	.name = "xrc_srq", .min = 0x100, .max = 0xfff,
	.release = vhca_srq_release,
	.describe = vhca_srq_describe,
};

const struct vhca_kind_info vhca_rmp_kind = {
	.name = "rmp", .min = 0x1000, .max = 0x3fff,
	.release = vhca_srq_release,
	.describe = vhca_srq_describe,
};

/**
 * struct vhca_srq_pages - where the memory of a shared receive queue is
 * @log_page_size: log2 of the page size in units of 4 KiB
 * @page_offset: where in the first page it begins, in 64ths of a page
 * @doorbell: DMA address of the doorbell record
 * @pas: the pages' addresses
 * @nr_pas: how many
 */
struct vhca_srq_pages {
	u8		log_page_size;
	u8		page_offset;
	u64		doorbell;
	const __be64	*pas;
	u32		nr_pas;
};

/* A queue without a doorbell record never has a request, and so needs no memory. */
static u8 vhca_srq_attach(struct vhca *v, struct vhca_srq *srq,
			  const struct vhca_srq_pages *pages)
{
	u8 status;

	if (!pages->doorbell)
		return MLX5_CMD_STAT_OK;
	if (srq->log_size > VHCA_LOG_MAX_QP_SIZE ||
	    srq->log_stride < VHCA_LOG_SRQ_MIN ||
	    BIT(srq->log_stride) > VHCA_MAX_RQ_WQE)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	status = vhca_doorbell_init(v, pages->doorbell, 1, &srq->doorbell);
	if (status)
		return status;
	return vhca_buffer_init(v, &srq->buffer, pages->pas, pages->nr_pas,
				pages->log_page_size, pages->page_offset,
				1ULL << (srq->log_size + srq->log_stride));
}

/* Put the queue on what its context names; 0 stands for none. */
static u8 vhca_srq_use(struct vhca *v, struct vhca_srq *srq, enum vhca_kind kind, u32 id,
		       const struct vhca_cmd *cmd)
{
	return id ? vhca_object_use_own(v, &srq->object, kind, id, cmd) :
		    MLX5_CMD_STAT_OK;
}

static u8 vhca_rmp_init(struct vhca *v, struct vhca_srq *srq,
			struct vhca_cmd *cmd)
{
	void *rmpc = MLX5_ADDR_OF(create_rmp_in, cmd->in, ctx);
	void *wq = MLX5_ADDR_OF(rmpc, rmpc, wq);
	const struct vhca_srq_pages pages = {
		.log_page_size	= MLX5_GET(wq, wq, log_wq_pg_sz),
		.page_offset	= MLX5_GET(wq, wq, page_offset),
		.doorbell	= MLX5_GET64(wq, wq, dbr_addr),
		.pas		= MLX5_ADDR_OF(wq, wq, pas),
		.nr_pas		= (cmd->in_len -
				   MLX5_ST_SZ_BYTES(create_rmp_in)) /
				  sizeof(__be64),
	};
	u8 status;

	if (MLX5_GET(wq, wq, wq_umem_valid) ||
	    MLX5_GET(wq, wq, dbr_umem_valid) ||
	    MLX5_GET(wq, wq, wq_type) != VHCA_WQ_LINKED_LIST ||
	    MLX5_GET(rmpc, rmpc, basic_cyclic_rcv_wqe))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	memcpy(srq->context, rmpc, MLX5_ST_SZ_BYTES(rmpc));
	srq->pd = MLX5_GET(wq, wq, pd);
	srq->log_size = MLX5_GET(wq, wq, log_wq_sz);
	srq->log_stride = MLX5_GET(wq, wq, log_wq_stride);
	srq->limit = MLX5_GET(wq, wq, lwm);
	status = vhca_srq_use(v, srq, VHCA_PD, srq->pd, cmd);
	return status ?: vhca_srq_attach(v, srq, &pages);
}

static u8 vhca_xrc_srq_init(struct vhca *v, struct vhca_srq *srq,
			    struct vhca_cmd *cmd)
{
	void *srqc = MLX5_ADDR_OF(create_xrc_srq_in, cmd->in,
				  xrc_srq_context_entry);
	const struct vhca_srq_pages pages = {
		.log_page_size	= MLX5_GET(xrc_srqc, srqc, log_page_size),
		.page_offset	= MLX5_GET(xrc_srqc, srqc, page_offset),
		.doorbell	= (u64)MLX5_GET(xrc_srqc, srqc,
						db_record_addr_h) << 32 |
				  MLX5_GET(xrc_srqc, srqc,
					   db_record_addr_l) << 2,
		.pas		= MLX5_ADDR_OF(create_xrc_srq_in, cmd->in, pas),
		.nr_pas		= (cmd->in_len -
				   MLX5_ST_SZ_BYTES(create_xrc_srq_in)) /
				  sizeof(__be64),
	};
	u8 status;

	if (MLX5_GET(create_xrc_srq_in, cmd->in, xrc_srq_umem_valid) ||
	    MLX5_GET(xrc_srqc, srqc, dbr_umem_valid) ||
	    MLX5_GET(xrc_srqc, srqc, basic_cyclic_rcv_wqe))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	memcpy(srq->context, srqc, MLX5_ST_SZ_BYTES(xrc_srqc));
	srq->pd = MLX5_GET(xrc_srqc, srqc, pd);
	srq->xrcd = MLX5_GET(xrc_srqc, srqc, xrcd);
	srq->cqn = MLX5_GET(xrc_srqc, srqc, cqn);
	srq->user_index = MLX5_GET(xrc_srqc, srqc, user_index);
	srq->log_size = MLX5_GET(xrc_srqc, srqc, log_xrc_srq_size);
	srq->log_stride = MLX5_GET(xrc_srqc, srqc, log_rq_stride) +
			  VHCA_LOG_SRQ_UNIT;
	srq->limit = MLX5_GET(xrc_srqc, srqc, lwm);
	status = vhca_srq_use(v, srq, VHCA_PD, srq->pd, cmd);
	if (!status)
		status = vhca_srq_use(v, srq, VHCA_XRCD, srq->xrcd, cmd);
	if (!status)
		status = vhca_srq_use(v, srq, VHCA_CQ, srq->cqn, cmd);
	return status ?: vhca_srq_attach(v, srq, &pages);
}

/**
 * vhca_cmd_create_srq - CREATE_RMP and CREATE_XRC_SRQ, from create_rmp_cmd() and
 *	create_xrc_srq_cmd()
 * @v: the device
 * @cmd: the command, create_rmp_in or create_xrc_srq_in
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_create_srq(struct vhca *v, struct vhca_cmd *cmd)
{
	struct vhca_srq *srq;
	u8 status;

	srq = kzalloc_obj(*srq, v->gfp);
	if (!srq)
		return MLX5_CMD_STAT_NO_RES_ERR;
	status = cmd->row->kind == VHCA_RMP ? vhca_rmp_init(v, srq, cmd) :
					      vhca_xrc_srq_init(v, srq, cmd);
	if (!status)
		status = vhca_ledger_add(v, &srq->object, cmd->row->kind, cmd);
	if (status) {
		vhca_object_unuse(&srq->object);
		vhca_srq_release(v, &srq->object);
		return status;
	}
	vhca_cmd_set_number(cmd, srq->object.id);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_arm_srq - MODIFY_RMP and ARM_XRC_SRQ: set the limit, from arm_rmp_cmd() and
 *	arm_xrc_srq_cmd()
 * @v: the device
 * @cmd: the command, modify_rmp_in or arm_xrc_srq_in
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_arm_srq(struct vhca *v, struct vhca_cmd *cmd)
{
	u32 id = vhca_cmd_number(cmd);
	struct vhca_object *object;

	cmd->object = id;
	object = vhca_ledger_find(v, cmd->row->kind, id);
	if (!object)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (cmd->row->kind == VHCA_XRC_SRQ)
		to_vhca_srq(object)->limit = MLX5_GET(arm_xrc_srq_in, cmd->in,
						      lwm);
	else if (MLX5_GET(modify_rmp_in, cmd->in, bitmask.lwm))
		to_vhca_srq(object)->limit = MLX5_GET(modify_rmp_in, cmd->in,
						      ctx.wq.lwm);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_query_srq - QUERY_RMP and QUERY_XRC_SRQ: read the context, for query_rmp_cmd()
 *	and query_xrc_srq_cmd()
 * @v: the device
 * @cmd: the command, query_rmp_in or query_xrc_srq_in
 *
 * The context is what the driver has set, with the present limit, which is 0 when it
 * was reached.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_query_srq(struct vhca *v, struct vhca_cmd *cmd)
{
	u32 id = vhca_cmd_number(cmd);
	struct vhca_object *object;
	struct vhca_srq *srq;
	void *to;

	cmd->object = id;
	object = vhca_ledger_find(v, cmd->row->kind, id);
	if (!object)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	srq = to_vhca_srq(object);
	if (cmd->row->kind == VHCA_RMP) {
		to = MLX5_ADDR_OF(query_rmp_out, cmd->out, rmp_context);
		memcpy(to, srq->context, MLX5_ST_SZ_BYTES(rmpc));
		MLX5_SET(rmpc, to, wq.lwm, srq->limit);
	} else {
		to = MLX5_ADDR_OF(query_xrc_srq_out, cmd->out,
				  xrc_srq_context_entry);
		memcpy(to, srq->context, MLX5_ST_SZ_BYTES(xrc_srqc));
		MLX5_SET(xrc_srqc, to, lwm, srq->limit);
	}
	return MLX5_CMD_STAT_OK;
}
