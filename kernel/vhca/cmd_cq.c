// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mlx5/cq.h>
#include <linux/slab.h>

#include "vhca.h"

/* The arm word has a sequence number above the consumer index. */
#define VHCA_CQ_INDEX_MASK	0xffffff
#define VHCA_CQ_ARM_SOLICITED	BIT(24)

/* What the record holds that nobody has armed, and what mlx5_create_cq() makes of that. */
#define VHCA_CQ_UNANSWERED	U32_MAX
#define VHCA_CQ_NOT_ARMED	(2U << 28)

/* syndrome of mlx5_eqe_cq_err */
#define VHCA_CQ_OVERRUN		1

/* op_mod of MODIFY_CQ */
#define VHCA_MODIFY_CQ_RESIZE	1

/* cqe_sz of cqc: 64 bytes, 128, or 128 of which the first half is nothing */
#define VHCA_CQE_64		0
#define VHCA_CQE_128_PAD	2

static u8 vhca_cq_log_entry(u8 cqe_sz)
{
	return ilog2(sizeof(struct mlx5_cqe64)) + (cqe_sz != VHCA_CQE_64);
}

static void vhca_cq_release(struct vhca *v, struct vhca_object *object)
{
	struct vhca_cq *cq = to_vhca_cq(object);

	vhca_buffer_exit(&cq->buffer);
	kfree(cq);
}

static void vhca_cq_describe(struct vhca_object *object,
			     struct vhca_object_record *record)
{
	struct vhca_cq *cq = to_vhca_cq(object);

	vhca_detail_hex(record, "eqn", cq->eqn);
	vhca_detail_dec(record, "log_size", cq->log_size);
}

const struct vhca_kind_info vhca_cq_kind = {
	.name = "cq", .min = 0x40, .max = 0x3fff,
	.release = vhca_cq_release,
	.describe = vhca_cq_describe,
};

static u8 vhca_cq_doorbell(struct vhca *v, struct vhca_cq *cq,
			   const struct vhca_cmd *cmd)
{
	void *cqc = MLX5_ADDR_OF(create_cq_in, cmd->in, cq_context);
	u64 doorbell = MLX5_GET64(cqc, cqc, dbr_addr);

	if (MLX5_GET(cqc, cqc, dbr_umem_valid))
		return vhca_umem_doorbell(v, &cq->object,
					  (struct vhca_umem_place) {
			.id	= vhca_field(cqc, VHCA_CQC_DBR_UMEM_ID),
			.offset	= doorbell,
		}, cmd, &cq->doorbell);
	return vhca_doorbell_init(v, doorbell, 2, &cq->doorbell);
}

/* Where CREATE_CQ has the entries, if that is in registered memory. */
static struct vhca_umem_place vhca_cq_place(const void *in)
{
	return (struct vhca_umem_place) {
		.id	= vhca_field(in, VHCA_CREATE_CQ_UMEM_ID),
		.offset	= (u64)vhca_field(in, VHCA_CREATE_CQ_UMEM_OFFSET) << 32 |
			  vhca_field(in, VHCA_CREATE_CQ_UMEM_OFFSET + 1),
		.write	= true,
	};
}

static u8 vhca_cq_init(struct vhca *v, struct vhca_cq *cq,
		       struct vhca_cmd *cmd)
{
	void *cqc = MLX5_ADDR_OF(create_cq_in, cmd->in, cq_context);
	u32 nr_pas = (cmd->in_len - MLX5_ST_SZ_BYTES(create_cq_in)) /
		     sizeof(__be64);
	u8 entry = MLX5_GET(cqc, cqc, cqe_sz);
	u8 status;

	cq->eqn = MLX5_GET(cqc, cqc, c_eqn_or_apu_element);
	cq->log_size = MLX5_GET(cqc, cqc, log_cq_size);
	cq->ignore_overrun = MLX5_GET(cqc, cqc, oi);
	if (entry > VHCA_CQE_128_PAD || cq->log_size > VHCA_LOG_MAX_CQ_SIZE)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	cq->log_entry = vhca_cq_log_entry(entry);

	status = vhca_object_use(v, &cq->object, VHCA_EQ, cq->eqn);
	if (!status)
		status = vhca_object_use(v, &cq->object, VHCA_UAR,
					 MLX5_GET(cqc, cqc, uar_page));
	if (status)
		return status;
	status = vhca_cq_doorbell(v, cq, cmd);
	if (status)
		return status;
	if (MLX5_GET(create_cq_in, cmd->in, cq_umem_valid))
		return vhca_umem_buffer(v, &cq->object, &cq->buffer,
					vhca_cq_place(cmd->in),
					1ULL << (cq->log_size + cq->log_entry),
					cmd);
	return vhca_buffer_init(v, &cq->buffer,
				MLX5_ADDR_OF(create_cq_in, cmd->in, pas),
				nr_pas, MLX5_GET(cqc, cqc, log_page_size),
				MLX5_GET(cqc, cqc, page_offset),
				1ULL << (cq->log_size + cq->log_entry));
}

/**
 * vhca_cmd_create_cq - CREATE_CQ, from mlx5_create_cq()
 * @v: the device
 * @cmd: the command, create_cq_in
 *
 * The driver arms a queue with a write to a UAR page, which is not watched,
 * and by writing the same word to the doorbell record before.  The first such
 * word is 0, which the record holds already, so a different one is put there;
 * the driver never reads it.  Where it cannot be put there, a queue that nobody
 * has armed yet is taken for armed, which is one event too many.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_create_cq(struct vhca *v, struct vhca_cmd *cmd)
{
	struct vhca_cq *cq;
	u8 status;

	cq = kzalloc_obj(*cq, v->gfp);
	if (!cq)
		return MLX5_CMD_STAT_NO_RES_ERR;
	status = vhca_cq_init(v, cq, cmd);
	if (!status)
		status = vhca_ledger_add(v, &cq->object, VHCA_CQ, cmd);
	if (status) {
		vhca_object_unuse(&cq->object);
		vhca_cq_release(v, &cq->object);
		return status;
	}
	cq->answered = VHCA_CQ_UNANSWERED;
	vhca_doorbell_mark(&cq->doorbell[VHCA_CQ_ARM], cq->answered);
	vhca_cmd_set_number(cmd, cq->object.id);
	return MLX5_CMD_STAT_OK;
}

/* Write an entry to its place, the owner bit last; false if that cannot be reached. */
static bool vhca_cq_write(struct vhca_cq *cq, struct mlx5_cqe64 *cqe)
{
	u32 entries = BIT(cq->log_size);
	struct mlx5_cqe64 *to;
	u64 offset;

	/* Of an entry of 128 bytes, the second half counts. */
	offset = ((u64)(cq->pi & (entries - 1)) << cq->log_entry) +
		 BIT(cq->log_entry) - sizeof(*cqe);
	to = vhca_buffer_at(&cq->buffer, offset, sizeof(*cqe));
	if (!to)
		return false;
	cqe->op_own |= !!(cq->pi & entries);
	memcpy(to, cqe, offsetof(struct mlx5_cqe64, op_own));
	/* The owner bit makes the entry valid: last. */
	smp_wmb();
	WRITE_ONCE(to->op_own, cqe->op_own);
	cq->pi++;
	return true;
}

/* Entries that the owner has not consumed. */
static u32 vhca_cq_used(const struct vhca_cq *cq)
{
	return (cq->pi - vhca_doorbell(&cq->doorbell[VHCA_CQ_CONSUMER])) &
	       VHCA_CQ_INDEX_MASK;
}

/*
 * The last entry in the old buffer says that the next one is in the new one; who reads
 * them copies what was before (mlx5_cq_resize_copy_cqes() of libmlx5).
 */
static u8 vhca_cq_resize(struct vhca *v, struct vhca_cq *cq, struct vhca_cmd *cmd)
{
	void *cqc = MLX5_ADDR_OF(modify_cq_in, cmd->in, cq_context);
	u32 nr_pas = (cmd->in_len - MLX5_ST_SZ_BYTES(modify_cq_in)) /
		     sizeof(__be64);
	struct mlx5_cqe64 last = { .op_own = MLX5_CQE_RESIZE_CQ << 4 };
	u8 log_size = MLX5_GET(cqc, cqc, log_cq_size);
	u8 entry = MLX5_GET(cqc, cqc, cqe_sz);
	struct vhca_buffer buffer;
	u8 status;

	if (MLX5_GET(modify_cq_in, cmd->in, cq_umem_valid) ||
	    entry > VHCA_CQE_128_PAD || log_size > VHCA_LOG_MAX_CQ_SIZE)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	/*
	 * Libraries keep the size of an entry.  The driver takes any from a user for the
	 * memory that it pins (resize_user()), and names one of two to the device.
	 */
	if (vhca_cq_log_entry(entry) != cq->log_entry)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (vhca_cq_used(cq) >= min(BIT(log_size), BIT(cq->log_size)))
		return MLX5_CMD_STAT_BAD_SIZE_OUTS_CQES_ERR;
	status = vhca_buffer_init(v, &buffer,
				  MLX5_ADDR_OF(modify_cq_in, cmd->in, pas),
				  nr_pas, MLX5_GET(cqc, cqc, log_page_size),
				  MLX5_GET(cqc, cqc, page_offset),
				  1ULL << (log_size + cq->log_entry));
	if (status)
		return status;
	if (!vhca_cq_write(cq, &last)) {
		vhca_buffer_exit(&buffer);
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	}
	vhca_buffer_exit(&cq->buffer);
	cq->buffer = buffer;
	cq->log_size = log_size;
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_modify_cq - MODIFY_CQ, from mlx5_core_modify_cq()
 * @v: the device
 * @cmd: the command, modify_cq_in
 *
 * Moderation is accepted, and has no effect as each event is sent at once.
 * A queue with more entries left than the new size has room for is not resized.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_modify_cq(struct vhca *v, struct vhca_cmd *cmd)
{
	u32 cqn = vhca_cmd_number(cmd);
	struct vhca_object *object;

	cmd->object = cqn;
	object = vhca_ledger_find(v, VHCA_CQ, cqn);
	if (!object)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (cmd->op_mod == VHCA_MODIFY_CQ_RESIZE)
		return vhca_cq_resize(v, to_vhca_cq(object), cmd);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cq_notify - send the completion event that the driver has asked for
 * @v: the device
 * @cq: the queue
 *
 * An arm word asks for one event as soon as there is an entry beyond its
 * consumer index, or if it says so an entry for which the sender of a message
 * solicited an event, or an error; each is answered once.
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_cq_notify(struct vhca *v, struct vhca_cq *cq)
{
	struct mlx5_eqe_comp event = { .cqn = cpu_to_be32(cq->object.id) };
	struct vhca_object *eq;
	u32 arm, pi, ready;

	arm = vhca_doorbell(&cq->doorbell[VHCA_CQ_ARM]);
	if (arm == cq->answered || (cq->answered == VHCA_CQ_UNANSWERED &&
				    arm == VHCA_CQ_NOT_ARMED))
		return;
	/* Half of the index space is before the producer, half behind. */
	pi = arm & VHCA_CQ_ARM_SOLICITED ? cq->solicited : cq->pi;
	ready = (pi - arm) & VHCA_CQ_INDEX_MASK;
	if (!ready || ready > VHCA_CQ_INDEX_MASK / 2)
		return;
	cq->answered = arm;
	eq = vhca_ledger_find(v, VHCA_EQ, cq->eqn);
	if (eq)
		vhca_eq_post(v, to_vhca_eq(eq), MLX5_EVENT_TYPE_COMP, &event,
			     sizeof(event));
}

static bool vhca_cq_full(struct vhca_cq *cq)
{
	return !cq->ignore_overrun && vhca_cq_used(cq) >= BIT(cq->log_size);
}

/* The owner hears of it once, and so does the log. */
static void vhca_cq_overrun(struct vhca *v, struct vhca_cq *cq)
{
	const struct mlx5_eqe_cq_err event = {
		.cqn	  = cpu_to_be32(cq->object.id),
		.syndrome = VHCA_CQ_OVERRUN,
	};

	vhca_violation(v, "cq_overrun", cq->object.id, cq->pi, NULL);
	if (cq->failed)
		return;
	cq->failed = true;
	vhca_eq_post_event(v, MLX5_EVENT_TYPE_CQ_ERROR, &event, sizeof(event));
}

/**
 * vhca_cq_post - write a completion queue entry
 * @v: the device
 * @cqn: number of the queue
 * @cqe: the entry, without its owner bit
 * @solicited: tell those as well who wait for solicited entries only
 *
 * A queue that overruns loses the entry, its owner gets an event, and the violation
 * is written down.  A real device also moves it to an error state.
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_cq_post(struct vhca *v, u32 cqn, struct mlx5_cqe64 *cqe,
		  bool solicited)
{
	struct vhca_object *object = vhca_ledger_find(v, VHCA_CQ, cqn);
	struct vhca_cq *cq;

	if (!object)
		return;
	cq = to_vhca_cq(object);
	if (vhca_cq_full(cq)) {
		vhca_cq_overrun(v, cq);
		return;
	}
	if (!vhca_cq_write(cq, cqe))
		return;
	if (solicited)
		cq->solicited = cq->pi;
	v->stats.completions++;
	vhca_cq_notify(v, cq);
}
