// SPDX-License-Identifier: GPL-2.0
/*
 * Protection states: where the signatures of a memory key begin, see signature.h.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mlx5/cq.h>
#include <linux/slab.h>

#include "vhca.h"

/* What one command can make. */
#define VHCA_MAX_PSVS	4

static void vhca_psv_release(struct vhca *v, struct vhca_object *object)
{
	kfree(to_vhca_psv(object));
}

static void vhca_psv_describe(struct vhca_object *object, struct vhca_object_record *record)
{
	vhca_detail_hex(record, "pd", to_vhca_psv(object)->pd);
	vhca_detail_hex(record, "transient", to_vhca_psv(object)->transient);
}

const struct vhca_kind_info vhca_psv_kind = {
	.name = "psv", .min = 1, .max = 0xffff,
	.release = vhca_psv_release,
	.describe = vhca_psv_describe,
};

static u8 vhca_psv_create(struct vhca *v, struct vhca_cmd *cmd, struct vhca_psv **made)
{
	struct vhca_psv *psv = kzalloc_obj(*psv, v->gfp);
	u8 status;

	if (!psv)
		return MLX5_CMD_STAT_NO_RES_ERR;
	psv->pd = MLX5_GET(create_psv_in, cmd->in, pd);
	status = vhca_object_use_own(v, &psv->object, VHCA_PD, psv->pd, cmd);
	if (!status)
		status = vhca_ledger_add(v, &psv->object, VHCA_PSV, cmd);
	if (status) {
		vhca_object_unuse(&psv->object);
		kfree(psv);
		return status;
	}
	*made = psv;
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_create_psv - CREATE_PSV, from mlx5_core_create_psv() and DEVX
 * @v: the device
 * @cmd: the command, create_psv_in
 *
 * All that are asked for are made, or none.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_create_psv(struct vhca *v, struct vhca_cmd *cmd)
{
	u8 number = MLX5_GET(create_psv_in, cmd->in, num_psv);
	struct vhca_psv *made[VHCA_MAX_PSVS];
	unsigned int i;
	u8 status;

	if (!number || number > VHCA_MAX_PSVS)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	for (i = 0; i < number; i++) {
		status = vhca_psv_create(v, cmd, &made[i]);
		if (status)
			goto undo;
	}
	for (i = 0; i < number; i++)
		*(__be32 *)(MLX5_ADDR_OF(create_psv_out, cmd->out, reserved_at_80) +
			    i * sizeof(__be32)) = cpu_to_be32(made[i]->object.id);
	cmd->object = made[0]->object.id;
	return MLX5_CMD_STAT_OK;

undo:
	while (i--)
		vhca_ledger_remove(v, &made[i]->object);
	return status;
}

/**
 * vhca_psv_set - execute a SET_PSV work request
 * @v: the device
 * @qp: the queue pair that it was posted to
 * @wqe: the request, a copy
 * @len: bytes of it
 *
 * Context: firmware thread, vhca.lock held
 * Return: 0, or the syndrome of the error completion, MLX5_CQE_SYNDROME_*
 */
u8 vhca_psv_set(struct vhca *v, const struct vhca_qp *qp, const void *wqe, u32 len)
{
	const struct mlx5_seg_set_psv *set = wqe + sizeof(struct mlx5_wqe_ctrl_seg);
	struct vhca_object *object;
	struct vhca_psv *psv;

	if (len < sizeof(struct mlx5_wqe_ctrl_seg) + sizeof(*set))
		return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	object = vhca_ledger_find(v, VHCA_PSV, be32_to_cpu(set->psv_num));
	if (!object || to_vhca_psv(object)->pd != qp->pd)
		return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
	psv = to_vhca_psv(object);
	psv->transient = (u64)be32_to_cpu(set->transient_sig) << 32 | be32_to_cpu(set->ref_tag);
	return 0;
}
