// SPDX-License-Identifier: GPL-2.0
/*
 * Capabilities of TLP VARs: the doorbell pages of an emulated PCI device.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mlx5/driver.h>

#include "caps.h"
#include "vhca.h"

/**
 * vhca_caps_tlp_var - say that there are TLP VARs, and where
 * @v: the device
 * @caps: all of its capabilities
 */
void vhca_caps_tlp_var(struct vhca *v, void *caps)
{
	void *cap = vhca_cap(caps, MLX5_CAP_TLP_EMULATION);

	MLX5_SET(cmd_hca_cap, vhca_cap(caps, MLX5_CAP_GENERAL), tlp_device_emulation_manager, 1);
	MLX5_SET64(tlp_dev_emu_capabilities, cap, tlp_rsp_gw_pages_bar_offset,
		   VHCA_TLP_VAR_BASE);
	/* Stride in units of 4 KiB. */
	MLX5_SET(tlp_dev_emu_capabilities, cap, log_tlp_rsp_gw_page_stride,
		 v->params.log_tlp_var_stride - VHCA_PAGE_SHIFT);
	MLX5_SET(tlp_dev_emu_capabilities, cap, tlp_rsp_gw_num_pages,
		 v->params.tlp_var_count);
}
