// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware pages.  A real device keeps its contexts in pages that the driver
 * lends it; this one only remembers them, so that their giving and taking back
 * is exercised.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "vhca.h"

/* op_mod of QUERY_PAGES: MLX5_QUERY_PAGES_IN_OP_MOD_* */
#define VHCA_QUERY_BOOT_PAGES	1
#define VHCA_QUERY_INIT_PAGES	2

/* op_mod of MANAGE_PAGES: enum of pagealloc.c */
#define VHCA_PAGES_CANT_GIVE	0
#define VHCA_PAGES_GIVE		1
#define VHCA_PAGES_TAKE		2

/**
 * vhca_cmd_query_pages - QUERY_PAGES: how many pages the device wants, for
 *	mlx5_satisfy_startup_pages()
 * @v: the device
 * @cmd: the command, query_pages_in
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_query_pages(struct vhca *v, struct vhca_cmd *cmd)
{
	u32 pages;

	switch (cmd->op_mod) {
	case VHCA_QUERY_BOOT_PAGES:
		pages = VHCA_BOOT_PAGES;
		break;
	case VHCA_QUERY_INIT_PAGES:
		pages = VHCA_INIT_PAGES;
		break;
	default:
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	}
	MLX5_SET(query_pages_out, cmd->out, num_pages, pages);
	return MLX5_CMD_STAT_OK;
}

static u8 vhca_pages_give(struct vhca *v, struct vhca_cmd *cmd)
{
	u32 n = MLX5_GET(manage_pages_in, cmd->in, input_num_entries);
	u32 i;

	if (n > VHCA_MAX_PAGES - v->nr_fw_pages)
		return MLX5_CMD_STAT_LIM_ERR;
	if (cmd->in_len < MLX5_ST_SZ_BYTES(manage_pages_in) + n * sizeof(u64))
		return MLX5_CMD_STAT_BAD_INP_LEN_ERR;
	for (i = 0; i < n; i++) {
		u64 page = MLX5_GET64(manage_pages_in, cmd->in, pas[i]);

		if (!IS_ALIGNED(page, VHCA_PAGE_SIZE) ||
		    !vhca_dma_pointer(v, page, VHCA_PAGE_SIZE))
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
		v->fw_pages[v->nr_fw_pages + i] = page;
	}
	v->nr_fw_pages += n;
	return MLX5_CMD_STAT_OK;
}

static u8 vhca_pages_take(struct vhca *v, struct vhca_cmd *cmd)
{
	u32 n = MLX5_GET(manage_pages_in, cmd->in, input_num_entries);
	u32 room = (cmd->out_len - MLX5_ST_SZ_BYTES(manage_pages_out)) /
		   sizeof(u64);
	u32 i;

	n = min3(n, room, v->nr_fw_pages);
	for (i = 0; i < n; i++)
		MLX5_SET64(manage_pages_out, cmd->out, pas[i],
			   v->fw_pages[--v->nr_fw_pages]);
	MLX5_SET(manage_pages_out, cmd->out, output_num_entries, n);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_manage_pages - MANAGE_PAGES: pages given to or taken from the
 *	device, from give_pages() and reclaim_pages_cmd()
 * @v: the device
 * @cmd: the command, manage_pages_in
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_manage_pages(struct vhca *v, struct vhca_cmd *cmd)
{
	switch (cmd->op_mod) {
	case VHCA_PAGES_CANT_GIVE:
		return MLX5_CMD_STAT_OK;
	case VHCA_PAGES_GIVE:
		return vhca_pages_give(v, cmd);
	case VHCA_PAGES_TAKE:
		return vhca_pages_take(v, cmd);
	default:
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	}
}

/**
 * vhca_pages_reset - forget the firmware pages; those that are left were
 *	never taken back
 * @v: the device
 * @why: what happened, for the log
 *
 * Context: vhca.lock held
 */
void vhca_pages_reset(struct vhca *v, const char *why)
{
	if (!v->nr_fw_pages)
		return;
	vhca_violation_leak(v, why, v->nr_fw_pages, "fw_page");
	v->nr_fw_pages = 0;
}
