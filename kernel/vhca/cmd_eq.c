// SPDX-License-Identifier: GPL-2.0
/*
 * Event queues.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>

#include "vhca.h"

static void vhca_eq_release(struct vhca *v, struct vhca_object *object)
{
	struct vhca_eq *eq = to_vhca_eq(object);

	vhca_buffer_exit(&eq->buffer);
	kfree(eq);
}

static void vhca_eq_describe(struct vhca_object *object,
			     struct vhca_object_record *record)
{
	struct vhca_eq *eq = to_vhca_eq(object);

	vhca_detail_dec(record, "log_size", eq->log_size);
	vhca_detail_dec(record, "intr", eq->vector);
}

const struct vhca_kind_info vhca_eq_kind = {
	.name = "eq", .min = 1, .max = 63,
	.release = vhca_eq_release,
	.describe = vhca_eq_describe,
};

static u8 vhca_eq_init(struct vhca *v, struct vhca_eq *eq,
		       struct vhca_cmd *cmd)
{
	void *eqc = MLX5_ADDR_OF(create_eq_in, cmd->in, eq_context_entry);
	u32 nr_pas = (cmd->in_len - MLX5_ST_SZ_BYTES(create_eq_in)) /
		     sizeof(__be64);
	unsigned int i;
	u8 status;

	eq->vector = MLX5_GET(eqc, eqc, intr);
	eq->log_size = MLX5_GET(eqc, eqc, log_eq_size);
	if (eq->vector >= v->params.vectors ||
	    eq->log_size > VHCA_LOG_MAX_EQ_SIZE)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	for (i = 0; i < ARRAY_SIZE(eq->events); i++)
		eq->events[i] = MLX5_GET64(create_eq_in, cmd->in,
					   event_bitmask[i]);
	status = vhca_object_use(v, &eq->object, VHCA_UAR,
				 MLX5_GET(eqc, eqc, uar_page));
	if (status)
		return status;
	return vhca_buffer_init(v, &eq->buffer,
				MLX5_ADDR_OF(create_eq_in, cmd->in, pas),
				nr_pas, MLX5_GET(eqc, eqc, log_page_size),
				MLX5_GET(eqc, eqc, page_offset),
				sizeof(struct mlx5_eqe) << eq->log_size);
}

/**
 * vhca_cmd_create_eq - CREATE_EQ, from create_map_eq() of mlx5_core
 * @v: the device
 * @cmd: the command, create_eq_in
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_create_eq(struct vhca *v, struct vhca_cmd *cmd)
{
	struct vhca_eq *eq;
	u8 status;

	eq = kzalloc_obj(*eq, v->gfp);
	if (!eq)
		return MLX5_CMD_STAT_NO_RES_ERR;
	status = vhca_eq_init(v, eq, cmd);
	if (!status)
		status = vhca_ledger_add(v, &eq->object, VHCA_EQ, cmd);
	if (status) {
		vhca_object_unuse(&eq->object);
		vhca_eq_release(v, &eq->object);
		return status;
	}
	vhca_cmd_set_number(cmd, eq->object.id);
	return MLX5_CMD_STAT_OK;
}

/*
 * Write an entry; false if there is no place for it.  The driver gives the
 * consumer index through a UAR page, which is not watched, so an overrun would
 * not be noticed; queues are large enough that there is none, since each CQ has
 * at most one event outstanding.
 */
static bool vhca_eq_write(struct vhca *v, struct vhca_eq *eq, u8 type,
			  u8 sub_type, const void *data, size_t len)
{
	u32 entries = BIT(eq->log_size);
	u32 i = eq->pi & (entries - 1);
	struct mlx5_eqe *eqe;

	eqe = vhca_buffer_at(&eq->buffer, i * sizeof(*eqe), sizeof(*eqe));
	if (!eqe)
		return false;
	memset(eqe, 0, offsetof(struct mlx5_eqe, owner));
	eqe->type = type;
	eqe->sub_type = sub_type;
	memcpy(&eqe->data, data, min(len, sizeof(eqe->data)));
	/* The owner bit makes the entry valid: last. */
	smp_wmb();
	WRITE_ONCE(eqe->owner, !!(eq->pi & entries));
	eq->pi++;
	v->stats.events++;
	return true;
}

/**
 * vhca_eq_post - write an event queue entry and raise the interrupt
 * @v: the device
 * @eq: the queue
 * @type: MLX5_EVENT_TYPE_*
 * @data: the event's data
 * @len: bytes of it, at most sizeof(union ev_data)
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_eq_post(struct vhca *v, struct vhca_eq *eq, u8 type,
		  const void *data, size_t len)
{
	if (vhca_eq_write(v, eq, type, 0, data, len))
		vhca_msi_raise(v, eq->vector);
}

/**
 * vhca_eq_post_page_fault - tell of a page fault
 * @v: the device
 * @eq: the queue that is for them
 * @sub_type: MLX5_PFAULT_SUBTYPE_*
 * @event: the event
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_eq_post_page_fault(struct vhca *v, struct vhca_eq *eq, u8 sub_type,
			     const struct mlx5_eqe_page_fault *event)
{
	if (vhca_eq_write(v, eq, MLX5_EVENT_TYPE_PAGE_FAULT, sub_type, event,
			  sizeof(*event)))
		vhca_msi_raise(v, eq->vector);
}

/**
 * vhca_eq_post_event - tell whoever wants to hear of events of a type
 * @v: the device
 * @type: MLX5_EVENT_TYPE_*, below 64
 * @data: the event's data
 * @len: bytes of it
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_eq_post_event(struct vhca *v, u8 type, const void *data, size_t len)
{
	struct vhca_object *object;
	unsigned long eqn;

	xa_for_each(&v->ledger.by_id[VHCA_EQ], eqn, object) {
		struct vhca_eq *eq = to_vhca_eq(object);

		if (eq->events[0] & BIT_ULL(type))
			vhca_eq_post(v, eq, type, data, len);
	}
}

/**
 * vhca_eq_post_qp_event - tell of something that befell a queue pair or a shared
 *	receive queue
 * @v: the device
 * @type: MLX5_EVENT_TYPE_*
 * @qpn: its number
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_eq_post_qp_event(struct vhca *v, u8 type, u32 qpn)
{
	struct mlx5_eqe_qp_srq event = { .qp_srq_n = cpu_to_be32(qpn) };

	vhca_eq_post_event(v, type, &event, sizeof(event));
}

/**
 * vhca_eq_post_command - tell that a command has completed
 * @v: the device
 * @entry: its entry in the command queue
 * @seq: its sequence number
 * @quiet: write the entry and raise no interrupt
 *
 * Only to event queues that are older than the command: the driver polls for
 * the CREATE_EQ that makes its command EQ, and an event for that command
 * would complete it twice.
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_eq_post_command(struct vhca *v, unsigned int entry, u64 seq,
			  bool quiet)
{
	struct mlx5_eqe_cmd event = { .vector = cpu_to_be32(BIT(entry)) };
	struct vhca_object *object;
	unsigned long eqn;

	xa_for_each(&v->ledger.by_id[VHCA_EQ], eqn, object) {
		struct vhca_eq *eq = to_vhca_eq(object);

		if (eq->object.born_seq >= seq ||
		    !(eq->events[0] & BIT_ULL(MLX5_EVENT_TYPE_CMD)) ||
		    !vhca_eq_write(v, eq, MLX5_EVENT_TYPE_CMD, 0, &event,
				   sizeof(event)))
			continue;
		if (quiet)
			vhca_msi_drop(v, eq->vector);
		else
			vhca_msi_raise(v, eq->vector);
	}
}
