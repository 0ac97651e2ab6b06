// SPDX-License-Identifier: GPL-2.0
/*
 * The commands that are modelled.  To add one: a row here, a function.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ktime.h>
#include <linux/string.h>

#include "vhca.h"

/* A command whose input and output are as long as their structures. */
#define COMMAND(_opcode, _in, _out, _kind, _handler) {	\
	.opcode		= MLX5_CMD_OP_##_opcode,	\
	.name		= #_opcode,			\
	.in_size	= MLX5_ST_SZ_BYTES(_in),	\
	.out_size	= MLX5_ST_SZ_BYTES(_out),	\
	.kind		= _kind,			\
	.handler	= _handler,			\
}

/* The same where the names of the structures follow from a verb and a noun. */
#define CREATE(_opcode, _name, _kind, _handler) \
	COMMAND(_opcode, _name##_in, _name##_out, _kind, _handler)
#define PLAIN(_opcode, _name, _kind) \
	CREATE(_opcode, _name, _kind, vhca_cmd_create_plain)
#define DESTROY(_opcode, _name, _kind) \
	CREATE(_opcode, _name, _kind, vhca_cmd_destroy)
#define OTHER(_opcode, _name, _handler) \
	CREATE(_opcode, _name, VHCA_NO_KIND, _handler)

static const struct vhca_command vhca_commands[] = {
	OTHER(QUERY_ADAPTER, query_adapter, vhca_cmd_query_adapter),
	OTHER(INIT_HCA, init_hca, vhca_cmd_accept),
	OTHER(TEARDOWN_HCA, teardown_hca, vhca_cmd_teardown_hca),
	OTHER(ENABLE_HCA, enable_hca, vhca_cmd_enable_hca),
	OTHER(DISABLE_HCA, disable_hca, vhca_cmd_disable_hca),
	OTHER(QUERY_PAGES, query_pages, vhca_cmd_query_pages),
	OTHER(MANAGE_PAGES, manage_pages, vhca_cmd_manage_pages),
	OTHER(QUERY_ISSI, query_issi, vhca_cmd_query_issi),
	OTHER(SET_ISSI, set_issi, vhca_cmd_accept),
	/* The capability page follows a header; it may be shorter than 4 KiB. */
	COMMAND(QUERY_HCA_CAP, query_hca_cap_in, alloc_pd_out, VHCA_NO_KIND,
		vhca_cmd_query_hca_cap),
	COMMAND(SET_HCA_CAP, alloc_pd_in, set_hca_cap_out, VHCA_NO_KIND,
		vhca_cmd_set_hca_cap),

	CREATE(CREATE_MKEY, create_mkey, VHCA_MKEY, vhca_cmd_create_mkey),
	CREATE(QUERY_MKEY, query_mkey, VHCA_MKEY, vhca_cmd_query_mkey),
	DESTROY(DESTROY_MKEY, destroy_mkey, VHCA_MKEY),
	OTHER(QUERY_SPECIAL_CONTEXTS, query_special_contexts,
	      vhca_cmd_query_special_contexts),
	CREATE(CREATE_PSV, create_psv, VHCA_PSV, vhca_cmd_create_psv),
	DESTROY(DESTROY_PSV, destroy_psv, VHCA_PSV),
	CREATE(ALLOC_MEMIC, alloc_memic, VHCA_MEMIC, vhca_cmd_alloc_memic),
	CREATE(DEALLOC_MEMIC, dealloc_memic, VHCA_MEMIC,
	       vhca_cmd_dealloc_memic),
	/* Deallocating an operation, the driver wants no answer but the status. */
	COMMAND(MODIFY_MEMIC, modify_memic_in, dealloc_memic_out,
		VHCA_MEMIC_OPERATION, vhca_cmd_modify_memic),

	CREATE(CREATE_EQ, create_eq, VHCA_EQ, vhca_cmd_create_eq),
	DESTROY(DESTROY_EQ, destroy_eq, VHCA_EQ),
	CREATE(CREATE_CQ, create_cq, VHCA_CQ, vhca_cmd_create_cq),
	DESTROY(DESTROY_CQ, destroy_cq, VHCA_CQ),
	CREATE(MODIFY_CQ, modify_cq, VHCA_CQ, vhca_cmd_modify_cq),

	CREATE(CREATE_QP, create_qp, VHCA_QP, vhca_cmd_create_qp),
	CREATE(DESTROY_QP, destroy_qp, VHCA_QP, vhca_cmd_destroy_qp),
	CREATE(RST2INIT_QP, rst2init_qp, VHCA_QP, vhca_cmd_modify_qp),
	CREATE(INIT2INIT_QP, init2init_qp, VHCA_QP, vhca_cmd_modify_qp),
	CREATE(INIT2RTR_QP, init2rtr_qp, VHCA_QP, vhca_cmd_modify_qp),
	CREATE(RTR2RTS_QP, rtr2rts_qp, VHCA_QP, vhca_cmd_modify_qp),
	CREATE(RTS2RTS_QP, rts2rts_qp, VHCA_QP, vhca_cmd_modify_qp),
	CREATE(SQD_RTS_QP, sqd2rts_qp, VHCA_QP, vhca_cmd_modify_qp),
	CREATE(SQERR2RTS_QP, sqerr2rts_qp, VHCA_QP, vhca_cmd_modify_qp),
	CREATE(2ERR_QP, qp_2err, VHCA_QP, vhca_cmd_modify_qp),
	CREATE(2RST_QP, qp_2rst, VHCA_QP, vhca_cmd_modify_qp),
	OTHER(PAGE_FAULT_RESUME, page_fault_resume, vhca_cmd_page_fault_resume),
	COMMAND(QUERY_QP, query_qp_in, create_qp_out, VHCA_QP,
		vhca_cmd_query_qp),

	CREATE(ATTACH_TO_MCG, attach_to_mcg, VHCA_QP, vhca_cmd_attach_to_mcg),
	CREATE(DETACH_FROM_MCG, detach_from_mcg, VHCA_QP, vhca_cmd_detach_from_mcg),

	CREATE(CREATE_SQ, create_sq, VHCA_SQ, vhca_cmd_create_sq),
	CREATE(MODIFY_SQ, modify_sq, VHCA_SQ, vhca_cmd_modify_sq),
	DESTROY(DESTROY_SQ, destroy_sq, VHCA_SQ),

	CREATE(CREATE_DCT, create_dct, VHCA_QP, vhca_cmd_create_dct),
	CREATE(DRAIN_DCT, drain_dct, VHCA_QP, vhca_cmd_drain_dct),
	CREATE(QUERY_DCT, query_dct, VHCA_QP, vhca_cmd_query_dct),
	CREATE(DESTROY_DCT, destroy_dct, VHCA_QP, vhca_cmd_destroy_qp),

	CREATE(CREATE_XRC_SRQ, create_xrc_srq, VHCA_XRC_SRQ, vhca_cmd_create_srq),
	DESTROY(DESTROY_XRC_SRQ, destroy_xrc_srq, VHCA_XRC_SRQ),
	CREATE(QUERY_XRC_SRQ, query_xrc_srq, VHCA_XRC_SRQ, vhca_cmd_query_srq),
	CREATE(ARM_XRC_SRQ, arm_xrc_srq, VHCA_XRC_SRQ, vhca_cmd_arm_srq),
	CREATE(CREATE_RMP, create_rmp, VHCA_RMP, vhca_cmd_create_srq),
	DESTROY(DESTROY_RMP, destroy_rmp, VHCA_RMP),
	CREATE(MODIFY_RMP, modify_rmp, VHCA_RMP, vhca_cmd_arm_srq),
	CREATE(QUERY_RMP, query_rmp, VHCA_RMP, vhca_cmd_query_srq),

	OTHER(QUERY_HCA_VPORT_CONTEXT, query_hca_vport_context,
	      vhca_cmd_query_hca_vport_context),
	OTHER(MODIFY_HCA_VPORT_CONTEXT, modify_hca_vport_context,
	      vhca_cmd_modify_hca_vport_context),
	OTHER(QUERY_LAG, query_lag, vhca_cmd_query_lag),
	OTHER(QUERY_HCA_VPORT_GID, query_hca_vport_gid,
	      vhca_cmd_query_hca_vport_gid),
	OTHER(QUERY_HCA_VPORT_PKEY, query_hca_vport_pkey,
	      vhca_cmd_query_hca_vport_pkey),
	OTHER(MAD_IFC, mad_ifc, vhca_cmd_mad_ifc),
	OTHER(ACCESS_REG, access_register, vhca_cmd_access_reg),

	PLAIN(ALLOC_PD, alloc_pd, VHCA_PD),
	CREATE(DEALLOC_PD, dealloc_pd, VHCA_PD, vhca_cmd_dealloc_pd),
	CREATE(ALLOC_UAR, alloc_uar, VHCA_UAR, vhca_cmd_alloc_uar),
	DESTROY(DEALLOC_UAR, dealloc_uar, VHCA_UAR),
	PLAIN(ALLOC_FLOW_COUNTER, alloc_flow_counter, VHCA_FLOW_COUNTER),
	DESTROY(DEALLOC_FLOW_COUNTER, dealloc_flow_counter, VHCA_FLOW_COUNTER),
	CREATE(SET_PP_RATE_LIMIT, set_pp_rate_limit, VHCA_RATE, vhca_cmd_set_pp_rate_limit),
	PLAIN(ALLOC_XRCD, alloc_xrcd, VHCA_XRCD),
	DESTROY(DEALLOC_XRCD, dealloc_xrcd, VHCA_XRCD),

	COMMAND(CREATE_GENERAL_OBJECT, general_obj_in_cmd_hdr,
		general_obj_out_cmd_hdr, VHCA_GENERAL_OBJECT,
		vhca_cmd_create_general_object),
	COMMAND(MODIFY_GENERAL_OBJECT, general_obj_in_cmd_hdr,
		general_obj_out_cmd_hdr, VHCA_GENERAL_OBJECT,
		vhca_cmd_modify_general_object),
	COMMAND(DESTROY_GENERAL_OBJECT, general_obj_in_cmd_hdr,
		general_obj_out_cmd_hdr, VHCA_GENERAL_OBJECT,
		vhca_cmd_destroy_general_object),
	PLAIN(CREATE_UCTX, create_uctx, VHCA_UCTX),
	CREATE(DESTROY_UCTX, destroy_uctx, VHCA_UCTX, vhca_cmd_destroy_uctx),
	CREATE(CREATE_UMEM, create_umem, VHCA_UMEM, vhca_cmd_create_umem),
	DESTROY(DESTROY_UMEM, destroy_umem, VHCA_UMEM),
};

/**
 * vhca_command_find - look up the row of an opcode
 * @opcode: MLX5_CMD_OP_*
 *
 * Return: the row, or NULL if the command is not modelled
 */
const struct vhca_command *vhca_command_find(u16 opcode)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vhca_commands); i++)
		if (vhca_commands[i].opcode == opcode)
			return &vhca_commands[i];
	return NULL;
}

/**
 * vhca_command_row - go through the table
 * @index: from 0
 *
 * Return: the row, or NULL beyond the last one
 */
const struct vhca_command *vhca_command_row(unsigned int index)
{
	return index < ARRAY_SIZE(vhca_commands) ? &vhca_commands[index] : NULL;
}

/**
 * vhca_command_find_name - look up the row of a command by its name
 * @name: the name, as MLX5_CMD_OP_* without the prefix
 *
 * Return: the row, or NULL if the command is not modelled
 */
const struct vhca_command *vhca_command_find_name(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vhca_commands); i++)
		if (!strcmp(vhca_commands[i].name, name))
			return &vhca_commands[i];
	return NULL;
}

static u8 vhca_command_dispatch(struct vhca *v, struct vhca_cmd *cmd)
{
	if (cmd->fault.status)
		return cmd->fault.status;
	if (!cmd->row)
		return MLX5_CMD_STAT_BAD_OP_ERR;
	if (cmd->in_len < cmd->row->in_size)
		return MLX5_CMD_STAT_BAD_INP_LEN_ERR;
	if (cmd->out_len < cmd->row->out_size)
		return MLX5_CMD_STAT_BAD_OUTP_LEN_ERR;
	return cmd->row->handler(v, cmd);
}

static u32 vhca_command_syndrome(const struct vhca_cmd *cmd)
{
	if (!cmd->fault.status)
		return VHCA_SYNDROME | cmd->opcode;
	return cmd->fault.syndrome ?: VHCA_SYNDROME_FAULT | cmd->opcode;
}

/**
 * vhca_command_execute - execute a command and write down that it was
 * @v: the device
 * @cmd: the messages, when it was taken, and a fault; the other members are
 *	filled in here
 *
 * All commands have opcode, uid and op_mod at the same places of the input
 * and status and syndrome at the same of the output; the structures of
 * ALLOC_PD stand for all of them.
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_command_execute(struct vhca *v, struct vhca_cmd *cmd)
{
	unsigned int violations = v->recorder.nr_violations;
	u64 began;

	cmd->opcode = MLX5_GET(alloc_pd_in, cmd->in, opcode);
	cmd->op_mod = MLX5_GET(alloc_pd_in, cmd->in, op_mod);
	cmd->uid = MLX5_GET(alloc_pd_in, cmd->in, uid);
	cmd->row = vhca_command_find(cmd->opcode);
	/* A user may have all memory that is left for such, and not the reserves. */
	v->gfp = cmd->uid ? VHCA_GFP_SPARING : GFP_KERNEL;
	cmd->seq = ++v->recorder.seq;
	v->recorder.opcode = cmd->opcode;
	began = ktime_get_ns();

	cmd->status = vhca_command_dispatch(v, cmd);
	if (cmd->status)
		cmd->syndrome = vhca_command_syndrome(cmd);
	/* Unless the handler has complained of it. */
	if (cmd->status == MLX5_CMD_STAT_BAD_RES_ERR && cmd->object &&
	    cmd->row->kind && violations == v->recorder.nr_violations)
		vhca_check_use(v, cmd->row->kind, cmd->object, cmd->opcode);
	MLX5_SET(alloc_pd_out, cmd->out, status, cmd->status);
	MLX5_SET(alloc_pd_out, cmd->out, syndrome, cmd->syndrome);

	if (vhca_record_command(v, cmd, ktime_get_ns() - began) && !cmd->row)
		vhca_info(v, "command 0x%x (op_mod 0x%x) is not modelled: refused with BAD_OP, said once\n",
			  cmd->opcode, cmd->op_mod);
}

/*
 * Where commands that create return the number, and commands that name an
 * object have it, in 24 bits (or in fewer, with zeros above).
 */
#define SAME_PLACE(_a, _a_field, _b, _b_field)				\
	static_assert(offsetofend(struct mlx5_ifc_##_a##_bits,		\
				  _a_field) ==				\
		      offsetofend(struct mlx5_ifc_##_b##_bits, _b_field))
SAME_PLACE(alloc_pd_out, pd, create_eq_out, eq_number);
SAME_PLACE(alloc_pd_out, pd, create_cq_out, cqn);
SAME_PLACE(alloc_pd_out, pd, create_qp_out, qpn);
SAME_PLACE(alloc_pd_out, pd, create_mkey_out, mkey_index);
SAME_PLACE(alloc_pd_out, pd, alloc_uar_out, uar);
SAME_PLACE(alloc_pd_out, pd, alloc_xrcd_out, xrcd);
SAME_PLACE(alloc_pd_out, pd, create_xrc_srq_out, xrc_srqn);
SAME_PLACE(alloc_pd_out, pd, create_rmp_out, rmpn);
SAME_PLACE(alloc_pd_out, pd, create_uctx_out, uid);
SAME_PLACE(alloc_pd_out, pd, create_umem_out, umem_id);
SAME_PLACE(dealloc_pd_in, pd, destroy_eq_in, eq_number);
SAME_PLACE(dealloc_pd_in, pd, destroy_cq_in, cqn);
SAME_PLACE(dealloc_pd_in, pd, destroy_qp_in, qpn);
SAME_PLACE(dealloc_pd_in, pd, destroy_mkey_in, mkey_index);
SAME_PLACE(dealloc_pd_in, pd, query_mkey_in, mkey_index);
SAME_PLACE(dealloc_pd_in, pd, dealloc_uar_in, uar);
SAME_PLACE(dealloc_pd_in, pd, dealloc_xrcd_in, xrcd);
SAME_PLACE(dealloc_pd_in, pd, destroy_xrc_srq_in, xrc_srqn);
SAME_PLACE(dealloc_pd_in, pd, destroy_rmp_in, rmpn);
SAME_PLACE(dealloc_pd_in, pd, destroy_uctx_in, uid);
SAME_PLACE(dealloc_pd_in, pd, destroy_umem_in, umem_id);
SAME_PLACE(dealloc_pd_in, pd, rst2init_qp_in, qpn);
SAME_PLACE(dealloc_pd_in, pd, qp_2err_in, qpn);
SAME_PLACE(dealloc_pd_in, pd, qp_2rst_in, qpn);
SAME_PLACE(dealloc_pd_in, pd, query_qp_in, qpn);
SAME_PLACE(dealloc_pd_in, pd, modify_cq_in, cqn);
SAME_PLACE(dealloc_pd_in, pd, modify_rmp_in, rmpn);
SAME_PLACE(dealloc_pd_in, pd, arm_xrc_srq_in, xrc_srqn);
SAME_PLACE(alloc_pd_out, pd, alloc_flow_counter_out, flow_counter_id);
SAME_PLACE(dealloc_pd_in, pd, dealloc_flow_counter_in, flow_counter_id);
SAME_PLACE(alloc_pd_out, pd, create_sq_out, sqn);
SAME_PLACE(dealloc_pd_in, pd, modify_sq_in, sqn);
SAME_PLACE(dealloc_pd_in, pd, destroy_sq_in, sqn);
SAME_PLACE(alloc_pd_out, pd, create_dct_out, dctn);
SAME_PLACE(dealloc_pd_in, pd, drain_dct_in, dctn);
SAME_PLACE(dealloc_pd_in, pd, query_dct_in, dctn);
SAME_PLACE(dealloc_pd_in, pd, destroy_dct_in, dctn);
SAME_PLACE(dealloc_pd_in, pd, attach_to_mcg_in, qpn);
SAME_PLACE(dealloc_pd_in, pd, detach_from_mcg_in, qpn);
SAME_PLACE(attach_to_mcg_in, multicast_gid, detach_from_mcg_in, multicast_gid);
SAME_PLACE(dealloc_pd_in, pd, query_rmp_in, rmpn);
SAME_PLACE(dealloc_pd_in, pd, query_xrc_srq_in, xrc_srqn);

/* Device memory is named by its address; all else that is no object of its own by number. */
SAME_PLACE(dealloc_memic_in, memic_start_addr, modify_memic_in, memic_start_addr);
static_assert(offsetofend(struct mlx5_ifc_dealloc_memic_in_bits, memic_start_addr) ==
	      VHCA_COMMAND_HEAD * BITS_PER_BYTE);

/**
 * vhca_command_object - what a command names, without executing it
 * @in: the first VHCA_COMMAND_HEAD bytes of its input
 *
 * Return: the id as the ledger has it, of whatever kind; 0 or something that
 *	is no id for a command that names nothing
 */
u64 vhca_command_object(const void *in)
{
	switch (MLX5_GET(alloc_pd_in, in, opcode)) {
	case MLX5_CMD_OP_DEALLOC_MEMIC:
	case MLX5_CMD_OP_MODIFY_MEMIC:
		return MLX5_GET64(dealloc_memic_in, in, memic_start_addr);
	case MLX5_CMD_OP_MODIFY_GENERAL_OBJECT:
	case MLX5_CMD_OP_QUERY_GENERAL_OBJECT:
	case MLX5_CMD_OP_DESTROY_GENERAL_OBJECT:
		return MLX5_GET(general_obj_in_cmd_hdr, in, obj_id);
	default:
		return MLX5_GET(dealloc_pd_in, in, pd);
	}
}

/**
 * vhca_cmd_number - the number of the object that a command names
 * @cmd: the command
 *
 * Return: the number
 */
u32 vhca_cmd_number(const struct vhca_cmd *cmd)
{
	return MLX5_GET(dealloc_pd_in, cmd->in, pd);
}

/**
 * vhca_cmd_set_number - answer with the number of the object created
 * @cmd: the command
 * @number: the number
 */
void vhca_cmd_set_number(struct vhca_cmd *cmd, u32 number)
{
	MLX5_SET(alloc_pd_out, cmd->out, pd, number);
}
