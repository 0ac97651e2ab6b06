/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Firmware commands: one in execution, the table of those that are modelled,
 * and the handlers.  Handlers run in the firmware thread with vhca.lock held.
 */
#ifndef VHCA_COMMAND_H
#define VHCA_COMMAND_H

#include <linux/bits.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/mlx5_ifc.h>

#include "fault.h"
#include "object.h"

struct vhca;

/* Largest command input or output that the device takes, in bytes. */
#define VHCA_MAX_MESSAGE	(2u << 20)

/*
 * Upper half of the syndrome of a refused command, the lower half is the
 * opcode.  Real syndromes are numbers of places in closed source; what matters
 * is that one is there, since the driver logs it.
 */
#define VHCA_SYNDROME		0x5ca00000
/* The same where a rule of the file "faults" has refused it. */
#define VHCA_SYNDROME_FAULT	0x5cf00000

/* The command queue's entries: a regular one and one for page commands. */
#define VHCA_CMDQ_LOG_ENTRIES	1
#define VHCA_CMDQ_ENTRIES	BIT(VHCA_CMDQ_LOG_ENTRIES)

/*
 * How long mlx5_core waits for an answer if the device does not say, in ms (tout_def_sw_val
 * of lib/tout.c).
 */
#define VHCA_CMD_TIMEOUT	60000

/* How much of the input vhca_command_object() looks at, in bytes. */
#define VHCA_COMMAND_HEAD	24

/**
 * struct vhca_cmdq_entry - an entry of the command queue that was taken
 * @taken_ns: when, in ns of CLOCK_MONOTONIC
 * @due_ns: if it waits: when it is to be executed or answered; VHCA_NEVER until
 *	somebody wants it
 * @effect: what a fault wants
 * @seq: number of the command, once it was executed
 * @delivery: how that went, see enum vhca_delivery
 */
struct vhca_cmdq_entry {
	u64				taken_ns;
	u64				due_ns;
	struct vhca_fault_effect	effect;
	u64				seq;
	u8				delivery;
};

#define VHCA_NEVER	U64_MAX	/* of due_ns */

/**
 * struct vhca_cmd - a command in execution
 * @row: its row in the table, NULL for an unknown opcode
 * @in: the message from the driver, gathered into memory of our own
 * @in_len: bytes in @in, at least the row's in_size when the handler runs
 * @out: the answer, zeroed
 * @out_len: bytes in @out, at least the row's out_size when the handler runs
 * @seq: sequence number, counted from 1 over the life of the module
 * @ns: when it was taken, in ns of CLOCK_MONOTONIC
 * @opcode: MLX5_CMD_OP_*
 * @op_mod: the operation modifier
 * @uid: user context, 0 for the kernel
 * @object: number of the object created, destroyed, changed or asked for
 * @fault: answer with its status, if it has one, instead of executing it
 * @status: MLX5_CMD_STAT_*
 * @syndrome: goes with a @status that is not OK
 */
struct vhca_cmd {
	const struct vhca_command	*row;
	void				*in;
	u32				in_len;
	void				*out;
	u32				out_len;
	u64				seq;
	u64				ns;
	u16				opcode;
	u16				op_mod;
	u16				uid;
	u64				object;
	struct vhca_fault_effect	fault;
	u8				status;
	u32				syndrome;
};

/**
 * struct vhca_command - a row of the command table
 * @opcode: MLX5_CMD_OP_*
 * @name: the opcode's name without its prefix
 * @in_size: smallest input, in bytes; a shorter one is BAD_INP_LEN
 * @out_size: smallest output, in bytes; a shorter one is BAD_OUTP_LEN
 * @kind: kind of object that the command creates, destroys or names, if any
 * @handler: executes it; returns MLX5_CMD_STAT_*
 */
struct vhca_command {
	u16		opcode;
	const char	*name;
	u32		in_size;
	u32		out_size;
	enum vhca_kind	kind;
	u8		(*handler)(struct vhca *v, struct vhca_cmd *cmd);
};

const struct vhca_command *vhca_command_find(u16 opcode);
const struct vhca_command *vhca_command_row(unsigned int index);
const struct vhca_command *vhca_command_find_name(const char *name);
void vhca_command_execute(struct vhca *v, struct vhca_cmd *cmd);
u64 vhca_command_object(const void *in);
u32 vhca_cmd_number(const struct vhca_cmd *cmd);
void vhca_cmd_set_number(struct vhca_cmd *cmd, u32 number);

/* cmd_hca.c */
u8 vhca_cmd_accept(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_enable_hca(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_disable_hca(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_teardown_hca(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_query_issi(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_query_adapter(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_query_special_contexts(struct vhca *v, struct vhca_cmd *cmd);

/* cmd_caps.c */
int vhca_caps_init(struct vhca *v);
void vhca_caps_reset(struct vhca *v);
void vhca_caps_exit(struct vhca *v);
u8 vhca_cmd_query_hca_cap(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_set_hca_cap(struct vhca *v, struct vhca_cmd *cmd);

/* cmd_pages.c */
u8 vhca_cmd_query_pages(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_manage_pages(struct vhca *v, struct vhca_cmd *cmd);
void vhca_pages_reset(struct vhca *v, const char *why);

/* cmd_vport.c */
u8 vhca_cmd_query_hca_vport_context(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_modify_hca_vport_context(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_query_lag(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_query_hca_vport_gid(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_query_hca_vport_pkey(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_mad_ifc(struct vhca *v, struct vhca_cmd *cmd);

/* cmd_register.c */
u8 vhca_cmd_access_reg(struct vhca *v, struct vhca_cmd *cmd);

/* cmd_object.c */
u8 vhca_cmd_create_plain(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_destroy(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_dealloc_pd(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_destroy_uctx(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_destroy_number(struct vhca *v, struct vhca_cmd *cmd, u32 id);

/* send_queue.c */
u8 vhca_cmd_create_sq(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_modify_sq(struct vhca *v, struct vhca_cmd *cmd);

/* multicast.c */
u8 vhca_cmd_attach_to_mcg(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_detach_from_mcg(struct vhca *v, struct vhca_cmd *cmd);

/* cmd_dct.c */
u8 vhca_cmd_create_dct(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_drain_dct(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_query_dct(struct vhca *v, struct vhca_cmd *cmd);

/* cmd_umem.c */
u8 vhca_cmd_create_umem(struct vhca *v, struct vhca_cmd *cmd);

/* cmd_srq.c */
u8 vhca_cmd_create_srq(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_arm_srq(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_query_srq(struct vhca *v, struct vhca_cmd *cmd);

/* cmd_uar.c */
u8 vhca_cmd_alloc_uar(struct vhca *v, struct vhca_cmd *cmd);

/* cmd_psv.c */
u8 vhca_cmd_create_psv(struct vhca *v, struct vhca_cmd *cmd);

/* cmd_rate.c */
u8 vhca_cmd_set_pp_rate_limit(struct vhca *v, struct vhca_cmd *cmd);

/* cmd_general_object.c */
u8 vhca_cmd_create_general_object(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_modify_general_object(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_destroy_general_object(struct vhca *v, struct vhca_cmd *cmd);

/* cmd_eq.c, cmd_cq.c, cmd_qp.c, cmd_mkey.c */
u8 vhca_cmd_create_eq(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_create_cq(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_modify_cq(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_create_qp(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_modify_qp(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_query_qp(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_destroy_qp(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_create_mkey(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_query_mkey(struct vhca *v, struct vhca_cmd *cmd);

/* page_fault.c */
u8 vhca_cmd_page_fault_resume(struct vhca *v, struct vhca_cmd *cmd);

/* cmd_memic.c */
u8 vhca_cmd_alloc_memic(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_dealloc_memic(struct vhca *v, struct vhca_cmd *cmd);
u8 vhca_cmd_modify_memic(struct vhca *v, struct vhca_cmd *cmd);

#endif /* VHCA_COMMAND_H */
