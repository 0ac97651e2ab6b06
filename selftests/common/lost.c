// SPDX-License-Identifier: GPL-2.0
#include "lost.h"
#include "raw.h"
#include "vhca.h"

int lost_operation_dealloc(const struct device *dev)
{
	uint32_t in[DEVX_ST_SZ_DW(modify_memic_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(modify_memic_out)];
	struct vhca_object op;

	if (vhca_find_new(dev, "memic_operation", 0, &op) != 1)
		return -1;
	DEVX_SET(modify_memic_in, in, opcode, VHCA_MODIFY_MEMIC);
	DEVX_SET(modify_memic_in, in, op_mod, VHCA_MEMIC_OPERATION_DEALLOC);
	DEVX_SET(modify_memic_in, in, memic_operation_type, op.operation);
	DEVX_SET64(modify_memic_in, in, memic_start_addr, op.memic);
	return raw_once(dev, in, sizeof(in), out, sizeof(out));
}
