// SPDX-License-Identifier: GPL-2.0
/*
 * Send queues that belong to no queue pair.  The driver makes one to see whether writes to a
 * BlueFlame register are combined (mlx5_core_test_wc()); they execute requests that do
 * nothing, and nothing else.
 *
 * A request that is written to a BlueFlame register is taken from there and not from the
 * queue.  Only so does that test learn that writes are combined: what it writes there asks
 * for a completion, and what it has in the queue does not.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mlx5/cq.h>
#include <linux/mlx5/doorbell.h>
#include <linux/slab.h>

#include "vhca.h"

/* The halves of a UAR's registers, to which requests are written in turn. */
#define VHCA_REGISTER_HALF	(BIT(VHCA_LOG_BF_REGISTER) / 2)

/* wq_type of wq: a ring. */
#define VHCA_WQ_RING		1

/**
 * struct vhca_sq - a send queue, from create_sq_in
 * @object: what all objects have; its id is the queue's number
 * @state: MLX5_SQC_STATE_*
 * @cqn: CQ that is told
 * @uar: page with its registers
 * @user_index: by which its owner finds it
 * @log_size: log2 of its size in units of MLX5_SEND_WQE_BB bytes
 * @ci: consumer index, in the same units
 * @doorbell: its record
 * @buffer: the requests
 */
struct vhca_sq {
	struct vhca_object	object;
	u8			state;
	u32			cqn;
	u32			uar;
	u32			user_index;
	u8			log_size;
	u16			ci;
	__be32			*doorbell;
	struct vhca_buffer	buffer;
};

#define to_vhca_sq(o)	container_of(o, struct vhca_sq, object)

static void vhca_sq_release(struct vhca *v, struct vhca_object *object)
{
	struct vhca_sq *sq = to_vhca_sq(object);

	vhca_buffer_exit(&sq->buffer);
	kfree(sq);
}

static void vhca_sq_describe(struct vhca_object *object,
			     struct vhca_object_record *record)
{
	struct vhca_sq *sq = to_vhca_sq(object);

	vhca_detail_hex(record, "cq", sq->cqn);
	vhca_detail_dec(record, "log_size", sq->log_size);
}

/* A request names its queue by this number as it names a queue pair: they must differ. */
const struct vhca_kind_info vhca_sq_kind = {
	.name = "sq", .min = 0x4000, .max = 0x4fff,
	.release = vhca_sq_release,
	.describe = vhca_sq_describe,
};

static u8 vhca_sq_init(struct vhca *v, struct vhca_sq *sq, struct vhca_cmd *cmd)
{
	void *sqc = MLX5_ADDR_OF(create_sq_in, cmd->in, ctx);
	void *wq = MLX5_ADDR_OF(sqc, sqc, wq);
	u32 nr_pas = (cmd->in_len - MLX5_ST_SZ_BYTES(create_sq_in)) /
		     sizeof(__be64);
	u8 status;

	/* What a user would do with one is not modelled. */
	if (cmd->uid || MLX5_GET(wq, wq, wq_type) != VHCA_WQ_RING ||
	    BIT(MLX5_GET(wq, wq, log_wq_stride)) != MLX5_SEND_WQE_BB ||
	    MLX5_GET(wq, wq, wq_umem_valid) || MLX5_GET(wq, wq, dbr_umem_valid))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	sq->cqn = MLX5_GET(sqc, sqc, cqn);
	sq->uar = MLX5_GET(wq, wq, uar_page);
	sq->user_index = MLX5_GET(sqc, sqc, user_index);
	sq->log_size = MLX5_GET(wq, wq, log_wq_sz);
	if (sq->log_size > VHCA_LOG_MAX_QP_SIZE)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	status = vhca_object_use(v, &sq->object, VHCA_CQ, sq->cqn);
	if (!status)
		status = vhca_object_use(v, &sq->object, VHCA_UAR, sq->uar);
	if (status)
		return status;
	status = vhca_doorbell_init(v, MLX5_GET64(wq, wq, dbr_addr), 2, &sq->doorbell);
	if (status)
		return status;
	return vhca_buffer_init(v, &sq->buffer, MLX5_ADDR_OF(wq, wq, pas), nr_pas,
				MLX5_GET(wq, wq, log_wq_pg_sz),
				MLX5_GET(wq, wq, page_offset),
				(u64)MLX5_SEND_WQE_BB << sq->log_size);
}

/**
 * vhca_cmd_create_sq - CREATE_SQ, from mlx5_core_create_sq()
 * @v: the device
 * @cmd: the command, create_sq_in
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_create_sq(struct vhca *v, struct vhca_cmd *cmd)
{
	struct vhca_sq *sq;
	u8 status;

	sq = kzalloc_obj(*sq, v->gfp);
	if (!sq)
		return MLX5_CMD_STAT_NO_RES_ERR;
	status = vhca_sq_init(v, sq, cmd);
	if (!status)
		status = vhca_ledger_add(v, &sq->object, VHCA_SQ, cmd);
	if (status) {
		vhca_object_unuse(&sq->object);
		vhca_sq_release(v, &sq->object);
		return status;
	}
	vhca_cmd_set_number(cmd, sq->object.id);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_modify_sq - MODIFY_SQ: change the state, from mlx5_core_modify_sq()
 * @v: the device
 * @cmd: the command, modify_sq_in
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_modify_sq(struct vhca *v, struct vhca_cmd *cmd)
{
	u32 id = vhca_cmd_number(cmd);
	struct vhca_object *object;
	struct vhca_sq *sq;

	cmd->object = id;
	object = vhca_ledger_find(v, VHCA_SQ, id);
	if (!object)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	sq = to_vhca_sq(object);
	if (MLX5_GET(modify_sq_in, cmd->in, sq_state) != sq->state)
		return MLX5_CMD_STAT_BAD_RES_STATE_ERR;
	sq->state = MLX5_GET(modify_sq_in, cmd->in, ctx.state);
	return MLX5_CMD_STAT_OK;
}

/**
 * struct vhca_posted - a request as one place has it
 * @ctrl: its control segment
 */
struct vhca_posted {
	struct mlx5_wqe_ctrl_seg	ctrl;
};

static u16 vhca_posted_index(const struct vhca_posted *posted)
{
	return be32_to_cpu(posted->ctrl.opmod_idx_opcode) >>
	       MLX5_WQE_CTRL_WQE_INDEX_SHIFT;
}

static void vhca_sq_complete(struct vhca *v, struct vhca_sq *sq,
			     const struct vhca_posted *posted)
{
	u8 opcode = be32_to_cpu(posted->ctrl.opmod_idx_opcode) &
		    MLX5_WQE_CTRL_OPCODE_MASK;
	u8 syndrome = opcode == MLX5_OPCODE_NOP ? 0 :
		      MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	struct mlx5_cqe64 cqe = {
		.sop_drop_qpn	= cpu_to_be32((u32)opcode << 24 |
					      sq->object.id),
		.srqn		= cpu_to_be32(sq->user_index),
		.op_own		= (syndrome ? MLX5_CQE_REQ_ERR :
					      MLX5_CQE_REQ) << 4,
	};

	if (syndrome)
		sq->state = MLX5_SQC_STATE_ERR;
	if (syndrome || posted->ctrl.fm_ce_se & MLX5_WQE_CTRL_CQ_UPDATE)
		vhca_complete(v, sq->cqn, &cqe, sq->ci, syndrome, false);
}

/* What the registers of a UAR hold just now; nothing of it need be a request. */
static void vhca_registers_read(struct vhca *v, u32 uar,
				struct vhca_posted registers[VHCA_REGISTERS])
{
	/* As with vhca_uar_clear() it gets the memory type that the page has. */
	void __iomem *page = ioremap(v->params.bar_phys +
				     ((u64)uar << VHCA_PAGE_SHIFT),
				     VHCA_PAGE_SIZE);
	unsigned int i;

	memset(registers, 0, VHCA_REGISTERS * sizeof(*registers));
	if (!page)
		return;
	for (i = 0; i < VHCA_REGISTERS; i++)
		memcpy_fromio(&registers[i], page + MLX5_BF_OFFSET +
			      i * VHCA_REGISTER_HALF, sizeof(registers[i]));
	iounmap(page);
}

/* The request at the consumer index, from a register that has it or from the queue. */
static bool vhca_sq_fetch(struct vhca_sq *sq, const struct vhca_posted *registers,
			  struct vhca_posted *posted)
{
	u32 entries = BIT(sq->log_size);
	const void *at;
	unsigned int i;

	for (i = 0; i < VHCA_REGISTERS; i++) {
		u32 sqn = be32_to_cpu(registers[i].ctrl.qpn_ds) >>
			  MLX5_WQE_CTRL_QPN_SHIFT;

		if (sqn != sq->object.id ||
		    vhca_posted_index(&registers[i]) != sq->ci)
			continue;
		*posted = registers[i];
		return true;
	}
	at = vhca_buffer_at(&sq->buffer, (u64)(sq->ci & (entries - 1)) *
			    MLX5_SEND_WQE_BB, sizeof(*posted));
	if (!at)
		return false;
	memcpy(posted, at, sizeof(*posted));
	return true;
}

static bool vhca_sq_poll(struct vhca *v, struct vhca_sq *sq)
{
	u16 pi = vhca_doorbell(&sq->doorbell[MLX5_SND_DBR]);
	struct vhca_posted registers[VHCA_REGISTERS];
	struct vhca_posted posted;

	if (sq->state != MLX5_SQC_STATE_RDY || pi == sq->ci)
		return false;
	/* The requests are complete when the record counts them. */
	smp_rmb();
	vhca_registers_read(v, sq->uar, registers);
	while (sq->ci != pi && sq->state == MLX5_SQC_STATE_RDY) {
		if ((u16)(pi - sq->ci) > BIT(sq->log_size) ||
		    !vhca_sq_fetch(sq, registers, &posted)) {
			vhca_violation(v, "sq_overrun", sq->object.id,
				       (u16)(pi - sq->ci), NULL);
			sq->state = MLX5_SQC_STATE_ERR;
			break;
		}
		v->stats.work_requests++;
		vhca_sq_complete(v, sq, &posted);
		sq->ci++;
	}
	return true;
}

/**
 * vhca_send_queues_poll - execute what was posted to send queues
 * @v: the device
 *
 * Context: firmware thread, vhca.lock held, bus mastering allowed
 * Return: true if there was something to do
 */
bool vhca_send_queues_poll(struct vhca *v)
{
	struct vhca_object *object;
	unsigned long id;
	bool busy = false;

	xa_for_each(&v->ledger.by_id[VHCA_SQ], id, object)
		busy |= vhca_sq_poll(v, to_vhca_sq(object));
	return busy;
}

/**
 * vhca_send_queues_watch - have their doorbell records watched
 * @v: the device
 *
 * Context: firmware thread, vhca.lock held, bus mastering allowed
 */
void vhca_send_queues_watch(struct vhca *v)
{
	struct vhca_object *object;
	unsigned long id;

	xa_for_each(&v->ledger.by_id[VHCA_SQ], id, object)
		vhca_watch_word(v, &to_vhca_sq(object)->doorbell[MLX5_SND_DBR]);
}
