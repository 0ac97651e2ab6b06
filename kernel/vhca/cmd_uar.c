// SPDX-License-Identifier: GPL-2.0
/*
 * UARs: the pages of BAR0 that doorbells are written to.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>

#include "vhca.h"

static void vhca_uar_release(struct vhca *v, struct vhca_object *object)
{
	kfree(object);
}

/* The number of a UAR is its page in BAR0; the driver maps it there. */
const struct vhca_kind_info vhca_uar_kind = {
	.name = "uar",
	.min = VHCA_UAR_BASE >> VHCA_PAGE_SHIFT,
	.max = (VHCA_VAR_BASE >> VHCA_PAGE_SHIFT) - 1,
	.release = vhca_uar_release,
};

/*
 * Nobody may see what the page's last owner has written.
 *
 * The device has no mapping of UARs, because drivers and users map some of
 * them uncached and others write-combined, and x86 has one memory type for a
 * page.  If a mapping of the last owner's is left, this one gets its type.
 */
static bool vhca_uar_clear(struct vhca *v, u64 number)
{
	void __iomem *page = ioremap(v->params.bar_phys +
				     (number << VHCA_PAGE_SHIFT),
				     VHCA_PAGE_SIZE);

	if (!page)
		return false;
	memset_io(page, 0, VHCA_PAGE_SIZE);
	iounmap(page);
	return true;
}

/**
 * vhca_cmd_alloc_uar - ALLOC_UAR, from mlx5_cmd_alloc_uar() and
 *	mlx5_cmd_uar_alloc() of mlx5_ib
 * @v: the device
 * @cmd: the command, alloc_uar_in
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_alloc_uar(struct vhca *v, struct vhca_cmd *cmd)
{
	u8 status = vhca_cmd_create_plain(v, cmd);

	if (status)
		return status;
	if (!vhca_uar_clear(v, cmd->object)) {
		vhca_ledger_remove(v, vhca_ledger_find(v, VHCA_UAR,
						       cmd->object));
		vhca_cmd_set_number(cmd, 0);
		return MLX5_CMD_STAT_NO_RES_ERR;
	}
	return MLX5_CMD_STAT_OK;
}
