// SPDX-License-Identifier: GPL-2.0
/*
 * Commands on the HCA as a whole.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "vhca.h"

#define VHCA_IEEE_VENDOR	0x02c9
#define VHCA_BOARD_ID		"VHCA000000001"

/* What a WQE may name without having created it; not in the mkey range. */
#define VHCA_RESERVED_LKEY	0x100

/**
 * vhca_cmd_accept - a command that changes nothing that is modelled
 * @v: the device
 * @cmd: the command
 *
 * Return: MLX5_CMD_STAT_OK
 */
u8 vhca_cmd_accept(struct vhca *v, struct vhca_cmd *cmd)
{
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_enable_hca - ENABLE_HCA: the function comes to life
 * @v: the device
 * @cmd: the command, enable_hca_in
 *
 * The first command of a probe, from mlx5_function_enable().
 *
 * Return: MLX5_CMD_STAT_OK
 */
u8 vhca_cmd_enable_hca(struct vhca *v, struct vhca_cmd *cmd)
{
	v->hca_enabled = true;
	v->port_caps = 0;
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_disable_hca - DISABLE_HCA: the last command, from
 *	mlx5_function_disable()
 * @v: the device
 * @cmd: the command, disable_hca_in
 *
 * The driver frees the command queue right after it.
 *
 * Return: MLX5_CMD_STAT_OK
 */
u8 vhca_cmd_disable_hca(struct vhca *v, struct vhca_cmd *cmd)
{
	v->hca_enabled = false;
	vhca_pages_reset(v, "DISABLE_HCA");
	vhca_cmdq_reset(v);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_teardown_hca - TEARDOWN_HCA: all objects go, from
 *	mlx5_function_close()
 * @v: the device
 * @cmd: the command, teardown_hca_in
 *
 * The driver has destroyed what it created; what is left was leaked.
 *
 * Return: MLX5_CMD_STAT_OK
 */
u8 vhca_cmd_teardown_hca(struct vhca *v, struct vhca_cmd *cmd)
{
	vhca_ledger_reset(v, "TEARDOWN_HCA");
	vhca_caps_reset(v);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_query_issi - QUERY_ISSI: versions of the interface to software
 * @v: the device
 * @cmd: the command, query_issi_in
 *
 * Versions 0 and 1.  mlx5_core_set_issi() takes 1, with which a basic SRQ is
 * a receive memory pool.
 *
 * Return: MLX5_CMD_STAT_OK
 */
u8 vhca_cmd_query_issi(struct vhca *v, struct vhca_cmd *cmd)
{
	MLX5_SET(query_issi_out, cmd->out, supported_issi_dw0, BIT(0) | BIT(1));
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_query_adapter - QUERY_ADAPTER: vendor and board, for
 *	mlx5_query_board_id()
 * @v: the device
 * @cmd: the command, query_adapter_in
 *
 * Return: MLX5_CMD_STAT_OK
 */
u8 vhca_cmd_query_adapter(struct vhca *v, struct vhca_cmd *cmd)
{
	MLX5_SET(query_adapter_out, cmd->out,
		 query_adapter_struct.ieee_vendor_id, VHCA_IEEE_VENDOR);
	memcpy(MLX5_ADDR_OF(query_adapter_out, cmd->out,
			    query_adapter_struct.vsd_contd_psid),
	       VHCA_BOARD_ID, strlen(VHCA_BOARD_ID));
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_query_special_contexts - QUERY_SPECIAL_CONTEXTS: keys that always
 *	exist, for mlx5r_cmd_query_special_mkeys()
 * @v: the device
 * @cmd: the command, query_special_contexts_in
 *
 * Return: MLX5_CMD_STAT_OK
 */
u8 vhca_cmd_query_special_contexts(struct vhca *v, struct vhca_cmd *cmd)
{
	MLX5_SET(query_special_contexts_out, cmd->out, resd_lkey,
		 VHCA_RESERVED_LKEY);
	MLX5_SET(query_special_contexts_out, cmd->out, null_mkey,
		 VHCA_NULL_MKEY);
	return MLX5_CMD_STAT_OK;
}
