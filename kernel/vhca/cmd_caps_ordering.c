// SPDX-License-Identifier: GPL-2.0
/*
 * Capabilities of queues whose receive requests may complete in any order.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mlx5/driver.h>

#include "caps.h"

#define SET_GEN(_field, _value) \
	MLX5_SET(cmd_hca_cap, cap, _field, _value)

/**
 * vhca_caps_ordering - say that requests may complete in any order; here they do in theirs
 * @caps: all of the device's capabilities
 */
void vhca_caps_ordering(void *caps)
{
	void *cap = vhca_cap(caps, MLX5_CAP_GENERAL);

	SET_GEN(dp_ordering_ooo_all_rc, 1);
	SET_GEN(dp_ordering_ooo_all_uc, 1);
	SET_GEN(dp_ordering_ooo_all_ud, 1);
	SET_GEN(dp_ordering_ooo_all_xrc, 1);
	SET_GEN(dp_ordering_ooo_all_dc, 1);
	MLX5_SET(cmd_hca_cap_2, vhca_cap(caps, MLX5_CAP_GENERAL_2), dp_ordering_force, 1);
}
