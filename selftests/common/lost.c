// SPDX-License-Identifier: GPL-2.0
#include "lost.h"
#include "raw.h"
#include "text.h"
#include "vhca.h"

int lost_operation_dealloc(const struct device *dev)
{
	uint32_t in[DEVX_ST_SZ_DW(modify_memic_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(modify_memic_out)];
	const bool loaded = raw_load();
	struct vhca_object op;
	const char *missing;
	struct raw raw;
	int status;

	if (vhca_find_new(dev, "memic_operation", 0, &op) != 1)
		return -1;
	DEVX_SET(modify_memic_in, in, opcode, VHCA_MODIFY_MEMIC);
	DEVX_SET(modify_memic_in, in, op_mod, VHCA_MEMIC_OPERATION_DEALLOC);
	DEVX_SET(modify_memic_in, in, memic_operation_type, op.operation);
	DEVX_SET64(modify_memic_in, in, memic_start_addr, op.memic);
	missing = raw_open(&raw, dev);
	if (missing) {
		diag("an operation is left to the device: %s", missing);
		return -1;
	}
	status = raw_command(&raw, in, out);
	raw_close(&raw);
	if (loaded)
		raw_unload();
	return status;
}
