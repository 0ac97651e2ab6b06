/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where mlx5_ib keeps which doorbell pages are taken: a table with a region of VARs and one
 * of TLP VARs, or, in kernels that know no TLP VARs, a table that is the region.
 */
#ifndef UOBJSCOPE_VAR_REGION_H
#define UOBJSCOPE_VAR_REGION_H

#include "mlx5_ib.h"

#include "compat.h"

#ifdef SCOPE_HAVE_TLP_VAR
#define scope_var_region		mlx5_var_region
#define scope_region_of_var(table)	(&(table)->var_region)
#define scope_region_of_tlp_var(table)	(&(table)->tlp_var_region)

static inline bool scope_is_tlp_var(u8 mmap_flag)
{
	return mmap_flag == MLX5_IB_MMAP_TYPE_TLP_VAR;
}

/* Whether there are TLP VARs, and from which offset in BAR0 on. */
static inline bool scope_tlp_var_offset(struct mlx5_core_dev *mdev, u64 *offset)
{
	*offset = MLX5_CAP64_DEV_TLP_EMULATION(mdev, tlp_rsp_gw_pages_bar_offset);
	return MLX5_CAP_GEN(mdev, tlp_device_emulation_manager);
}
#else
#define scope_var_region		mlx5_var_table
#define scope_region_of_var(table)	(table)
#define scope_region_of_tlp_var(table)	((void)(table), (struct scope_var_region *)NULL)

static inline bool scope_is_tlp_var(u8 mmap_flag)
{
	return false;
}

static inline bool scope_tlp_var_offset(struct mlx5_core_dev *mdev, u64 *offset)
{
	return false;
}
#endif

#endif /* UOBJSCOPE_VAR_REGION_H */
