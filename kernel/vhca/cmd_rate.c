// SPDX-License-Identifier: GPL-2.0
/*
 * Packet pacing: the table of rates, of which the driver hands entries out
 * (mlx5_rl_add_rate_raw()), to a user as an uobject of its own (MLX5_IB_OBJECT_PP).  No queue
 * is slowed down by them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>

#include "vhca.h"

/**
 * struct vhca_rate - an entry of the table that has a rate
 * @object: what all objects have; its number is the entry's, from 1
 * @context: what the driver has set, set_pp_rate_limit_context
 */
struct vhca_rate {
	struct vhca_object	object;
	u32			context[MLX5_ST_SZ_DW(set_pp_rate_limit_context)];
};

#define to_vhca_rate(o)	container_of(o, struct vhca_rate, object)

static void vhca_rate_release(struct vhca *v, struct vhca_object *object)
{
	kfree(to_vhca_rate(object));
}

static void vhca_rate_describe(struct vhca_object *object, struct vhca_object_record *record)
{
	const void *context = to_vhca_rate(object)->context;

	vhca_detail_dec(record, "kbps", MLX5_GET(set_pp_rate_limit_context, context, rate_limit));
	vhca_detail_dec(record, "burst",
			MLX5_GET(set_pp_rate_limit_context, context, burst_upper_bound));
}

/* Entry 0 is no limit, and cannot be set. */
const struct vhca_kind_info vhca_rate_kind = {
	.name = "rate", .min = 1, .max = 0x3f,
	.release = vhca_rate_release,
	.describe = vhca_rate_describe,
};

/**
 * vhca_cmd_set_pp_rate_limit - SET_PP_RATE_LIMIT, from mlx5_set_pp_rate_limit_cmd()
 * @v: the device
 * @cmd: the command, set_pp_rate_limit_in
 *
 * A rate of 0 takes the entry's rate away.  mlx5_core sets an entry only while nobody has
 * it, so one that has a rate already is refused.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_set_pp_rate_limit(struct vhca *v, struct vhca_cmd *cmd)
{
	const void *context = MLX5_ADDR_OF(set_pp_rate_limit_in, cmd->in, ctx);
	u32 kbps = MLX5_GET(set_pp_rate_limit_context, context, rate_limit);
	u32 index = MLX5_GET(set_pp_rate_limit_in, cmd->in, rate_limit_index);
	struct vhca_rate *rate;
	u8 status;

	cmd->object = index;
	if (!kbps)
		return vhca_destroy_number(v, cmd, index);
	if (index < vhca_rate_kind.min || index > vhca_rate_kind.max)
		return MLX5_CMD_STAT_IX_ERR;
	if (kbps < VHCA_MIN_RATE || kbps > VHCA_MAX_RATE)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (vhca_ledger_find(v, VHCA_RATE, index))
		return MLX5_CMD_STAT_BAD_RES_STATE_ERR;
	rate = kzalloc_obj(*rate, v->gfp);
	if (!rate)
		return MLX5_CMD_STAT_NO_RES_ERR;
	memcpy(rate->context, context, sizeof(rate->context));
	status = vhca_ledger_add_at(v, &rate->object, VHCA_RATE, index, cmd);
	if (status)
		kfree(rate);
	return status;
}
