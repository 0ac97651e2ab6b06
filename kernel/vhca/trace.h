/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device's commands as events, beside those of the driver's objects.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mlx5_vhca

#if !defined(VHCA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VHCA_TRACE_H

#include <linux/tracepoint.h>

#include "vhca.h"

/* A command was executed, and its answer is not yet there for the driver. */
TRACE_EVENT(command,
	TP_PROTO(const struct vhca *v, const struct vhca_cmd *cmd),
	TP_ARGS(v, cmd),
	TP_STRUCT__entry(
		__field(u64, seq)
		__field(u64, object)
		__field(u16, opcode)
		__field(u16, op_mod)
		__field(u16, uid)
		__field(u8, status)
		__field(u32, syndrome)
		__string(device, v->name)
		__string(name, cmd->row ? cmd->row->name : "-")
	),
	TP_fast_assign(
		__entry->seq = cmd->seq;
		__entry->object = cmd->object;
		__entry->opcode = cmd->opcode;
		__entry->op_mod = cmd->op_mod;
		__entry->uid = cmd->uid;
		__entry->status = cmd->status;
		__entry->syndrome = cmd->syndrome;
		__assign_str(device);
		__assign_str(name);
	),
	TP_printk("device=%s seq=%llu opcode=0x%x name=%s op_mod=0x%x uid=%u object=0x%llx status=0x%x syndrome=0x%x",
		  __get_str(device), __entry->seq, __entry->opcode, __get_str(name),
		  __entry->op_mod, __entry->uid, __entry->object, __entry->status,
		  __entry->syndrome)
);

#endif /* VHCA_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
