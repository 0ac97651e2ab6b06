// SPDX-License-Identifier: GPL-2.0
/*
 * What the virtual HCA does with commands that no driver sends: too short,
 * about objects that are not there or are in use, out of order, out of range.
 * Every refusal must have its status, change nothing, and be written down as a
 * violation if a correct driver cannot have caused it.
 *
 * Sizes and places are those of the kernel's mlx5_ifc.h; the device's own table
 * is compared with them and not trusted.
 */
#include <errno.h>

#include "kselftest_harness.h"

#include "common/ifc.h"
#include "common/raw_bed.h"

/* Enough for any fixed part of an input or output. */
#define MESSAGE_DW	1100

/* What is in front of the part of an output whose length the caller chooses. */
#define HEADER	DEVX_ST_SZ_BYTES(alloc_pd_out)

#define PAGE	4096u

/* Where the device says that its SW ICM for steering is, and how much. */
#define SW_ICM_STEERING		0x100000000ULL
#define SW_ICM_STEERING_SIZE	0x100000ULL

/**
 * struct command - a command that the device should know
 * @name: its name
 * @opcode: its opcode
 * @in_size: least bytes of its input
 * @out_size: least bytes of its output
 * @names: kind of the object that the input names in its third dword, or NULL
 * @destroys: the object is destroyed
 */
struct command {
	const char *name;
	uint16_t opcode;
	uint32_t in_size;
	uint32_t out_size;
	const char *names;
	bool destroys;
};

#define SIZES(op, in, out, kind, ends) \
	{ #op, MLX5_CMD_OP_##op, in, out, kind, ends }
#define COMMAND(op, st, kind, ends) \
	SIZES(op, DEVX_ST_SZ_BYTES(st##_in), DEVX_ST_SZ_BYTES(st##_out), kind, ends)
#define OTHER(op, st)		COMMAND(op, st, NULL, false)
#define ABOUT(op, st, kind)	COMMAND(op, st, kind, false)
#define DESTROY(op, st, kind)	COMMAND(op, st, kind, true)

static const struct command commands[] = {
	OTHER(QUERY_ADAPTER, query_adapter),
	OTHER(INIT_HCA, init_hca),
	OTHER(TEARDOWN_HCA, teardown_hca),
	OTHER(ENABLE_HCA, enable_hca),
	OTHER(DISABLE_HCA, disable_hca),
	OTHER(QUERY_PAGES, query_pages),
	OTHER(MANAGE_PAGES, manage_pages),
	OTHER(QUERY_ISSI, query_issi),
	OTHER(SET_ISSI, set_issi),
	SIZES(QUERY_HCA_CAP, DEVX_ST_SZ_BYTES(query_hca_cap_in), HEADER, NULL, false),
	SIZES(SET_HCA_CAP, HEADER, DEVX_ST_SZ_BYTES(set_hca_cap_out), NULL, false),
	OTHER(CREATE_MKEY, create_mkey),
	ABOUT(QUERY_MKEY, query_mkey, "mkey"),
	DESTROY(DESTROY_MKEY, destroy_mkey, "mkey"),
	OTHER(QUERY_SPECIAL_CONTEXTS, query_special_contexts),
	OTHER(CREATE_PSV, create_psv),
	DESTROY(DESTROY_PSV, destroy_psv, "psv"),
	OTHER(ALLOC_MEMIC, alloc_memic),
	OTHER(DEALLOC_MEMIC, dealloc_memic),
	SIZES(MODIFY_MEMIC, DEVX_ST_SZ_BYTES(modify_memic_in), HEADER, NULL, false),
	OTHER(CREATE_EQ, create_eq),
	DESTROY(DESTROY_EQ, destroy_eq, "eq"),
	OTHER(CREATE_CQ, create_cq),
	DESTROY(DESTROY_CQ, destroy_cq, "cq"),
	ABOUT(MODIFY_CQ, modify_cq, "cq"),
	OTHER(CREATE_QP, create_qp),
	DESTROY(DESTROY_QP, destroy_qp, "qp"),
	ABOUT(RST2INIT_QP, rst2init_qp, "qp"),
	ABOUT(INIT2INIT_QP, init2init_qp, "qp"),
	ABOUT(INIT2RTR_QP, init2rtr_qp, "qp"),
	ABOUT(RTR2RTS_QP, rtr2rts_qp, "qp"),
	ABOUT(RTS2RTS_QP, rts2rts_qp, "qp"),
	ABOUT(SQD_RTS_QP, sqd2rts_qp, "qp"),
	ABOUT(SQERR2RTS_QP, sqerr2rts_qp, "qp"),
	ABOUT(2ERR_QP, qp_2err, "qp"),
	ABOUT(2RST_QP, qp_2rst, "qp"),
	SIZES(QUERY_QP, DEVX_ST_SZ_BYTES(query_qp_in), HEADER, "qp", false),
	OTHER(PAGE_FAULT_RESUME, page_fault_resume),
	ABOUT(ATTACH_TO_MCG, attach_to_mcg, "qp"),
	ABOUT(DETACH_FROM_MCG, detach_from_mcg, "qp"),
	OTHER(CREATE_SQ, create_sq),
	ABOUT(MODIFY_SQ, modify_sq, "sq"),
	DESTROY(DESTROY_SQ, destroy_sq, "sq"),
	OTHER(CREATE_DCT, create_dct),
	ABOUT(DRAIN_DCT, drain_dct, "qp"),
	ABOUT(QUERY_DCT, query_dct, "qp"),
	DESTROY(DESTROY_DCT, destroy_dct, "qp"),
	OTHER(CREATE_XRC_SRQ, create_xrc_srq),
	DESTROY(DESTROY_XRC_SRQ, destroy_xrc_srq, "xrc_srq"),
	ABOUT(QUERY_XRC_SRQ, query_xrc_srq, "xrc_srq"),
	ABOUT(ARM_XRC_SRQ, arm_xrc_srq, "xrc_srq"),
	OTHER(CREATE_RMP, create_rmp),
	DESTROY(DESTROY_RMP, destroy_rmp, "rmp"),
	ABOUT(MODIFY_RMP, modify_rmp, "rmp"),
	ABOUT(QUERY_RMP, query_rmp, "rmp"),
	OTHER(QUERY_HCA_VPORT_CONTEXT, query_hca_vport_context),
	OTHER(MODIFY_HCA_VPORT_CONTEXT, modify_hca_vport_context),
	OTHER(QUERY_LAG, query_lag),
	OTHER(QUERY_HCA_VPORT_GID, query_hca_vport_gid),
	OTHER(QUERY_HCA_VPORT_PKEY, query_hca_vport_pkey),
	OTHER(MAD_IFC, mad_ifc),
	OTHER(ACCESS_REG, access_register),
	OTHER(ALLOC_PD, alloc_pd),
	DESTROY(DEALLOC_PD, dealloc_pd, "pd"),
	OTHER(ALLOC_UAR, alloc_uar),
	DESTROY(DEALLOC_UAR, dealloc_uar, "uar"),
	OTHER(ALLOC_FLOW_COUNTER, alloc_flow_counter),
	DESTROY(DEALLOC_FLOW_COUNTER, dealloc_flow_counter, "flow_counter"),
	OTHER(SET_PP_RATE_LIMIT, set_pp_rate_limit),
	OTHER(ALLOC_XRCD, alloc_xrcd),
	DESTROY(DEALLOC_XRCD, dealloc_xrcd, "xrcd"),
	SIZES(CREATE_GENERAL_OBJECT, DEVX_ST_SZ_BYTES(general_obj_in_cmd_hdr),
	      DEVX_ST_SZ_BYTES(general_obj_out_cmd_hdr), NULL, false),
	SIZES(MODIFY_GENERAL_OBJECT, DEVX_ST_SZ_BYTES(general_obj_in_cmd_hdr),
	      DEVX_ST_SZ_BYTES(general_obj_out_cmd_hdr), "general_object", false),
	SIZES(DESTROY_GENERAL_OBJECT, DEVX_ST_SZ_BYTES(general_obj_in_cmd_hdr),
	      DEVX_ST_SZ_BYTES(general_obj_out_cmd_hdr), "general_object", true),
	OTHER(CREATE_UCTX, create_uctx),
	DESTROY(DESTROY_UCTX, destroy_uctx, "uctx"),
	OTHER(CREATE_UMEM, create_umem),
	DESTROY(DESTROY_UMEM, destroy_umem, "umem"),
};

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

FIXTURE(device_commands)
{
	struct bed bed;
	struct raw raw;
	uint32_t in[MESSAGE_DW];
	uint32_t out[MESSAGE_DW];
};

FIXTURE_SETUP(device_commands)
{
	raw_bed_make(_metadata, &self->bed, &self->raw);
}

FIXTURE_TEARDOWN(device_commands)
{
	raw_bed_unmake(_metadata, &self->bed, &self->raw);
}

/* Begin a command: everything 0 but the opcode. */
static void begin(uint32_t *in, const struct command *command)
{
	memset(in, 0, MESSAGE_DW * sizeof(*in));
	DEVX_SET(alloc_pd_in, in, opcode, command->opcode);
}

/* How often the device was sent a command and refused it, from its own count. */
static void counted(const struct device *dev, uint16_t opcode, uint64_t *count, uint64_t *errors)
{
	struct vhca_file file;
	unsigned int i;

	*count = 0;
	*errors = 0;
	if (vhca_open(dev, "commands", &file))
		return;
	for (i = 0; i < file.count; i++) {
		if (vhca_number(file.record[i], "opcode") != opcode)
			continue;
		*count = vhca_number(file.record[i], "count");
		*errors = vhca_number(file.record[i], "errors");
	}
	vhca_close(&file);
}

/*
 * A command without a row above is one that nothing here was asked of, and a
 * row with another size than the structure's reads what was not sent.
 */
TEST_F(device_commands, table_is_the_one_tested)
{
	struct vhca_file file;
	unsigned int i;
	char name[64];

	ASSERT_EQ(0, vhca_open(&self->bed.dev, "modelled", &file));
	EXPECT_EQ(ARRAY_SIZE(commands), file.count);
	for (i = 0; i < file.count; i++) {
		const struct command *command;

		ASSERT_TRUE(vhca_key(file.record[i], "name", name, sizeof(name)));
		command = find_command(name);
		EXPECT_NE(NULL, command)
			TH_LOG("%s is modelled and has no test: add a row for it", name);
		if (!command)
			continue;
		EXPECT_EQ(command->opcode, vhca_number(file.record[i], "opcode"))
			TH_LOG("%s", name);
		EXPECT_EQ(command->in_size, vhca_number(file.record[i], "in_size"))
			TH_LOG("%s", name);
		EXPECT_EQ(command->out_size, vhca_number(file.record[i], "out_size"))
			TH_LOG("%s", name);
	}
	vhca_close(&file);
}

/*
 * An input one dword too short is refused before anything is done.  Where it is
 * then shorter than the entry of the command queue, the queue refuses it.
 */
TEST_F(device_commands, too_short_input)
{
	uint64_t count, errors, more, more_errors;
	int expected;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct command *command = &commands[i];

		begin(self->in, command);
		counted(&self->bed.dev, command->opcode, &count, &errors);
		expected = command->in_size > HEADER ? IFC_BAD_INP_LEN : -ENOMSG;
		EXPECT_EQ(expected, raw_send(&self->raw, self->in, command->in_size - 4,
					     self->out, MESSAGE_DW * 4))
			TH_LOG("%s", command->name);
		counted(&self->bed.dev, command->opcode, &more, &more_errors);
		EXPECT_EQ(errors + (expected > 0), more_errors)
			TH_LOG("%s", command->name);
		/* The driver may send some of them meanwhile. */
		EXPECT_LE(count + (expected > 0), more)
			TH_LOG("%s", command->name);
		/* A refusal says so, and says where. */
		if (expected > 0) {
			EXPECT_NE(0u, DEVX_GET(alloc_pd_out, self->out, syndrome))
				TH_LOG("%s", command->name);
		}
	}
	ASSERT_NO_VIOLATION();
}

TEST_F(device_commands, too_short_output)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct command *command = &commands[i];

		begin(self->in, command);
		EXPECT_EQ(IFC_BAD_OUTP_LEN,
			  raw_send(&self->raw, self->in, command->in_size, self->out,
				   command->out_size - 4))
			TH_LOG("%s", command->name);
		/* Not even room for the status. */
		EXPECT_EQ(-ENOMSG, raw_send(&self->raw, self->in, command->in_size,
					    self->out, 4))
			TH_LOG("%s", command->name);
	}
	ASSERT_NO_VIOLATION();
}

/* Status of a refusal is that of a resource that is not there; a destroy is written down. */
TEST_F(device_commands, unknown_number)
{
	uint32_t nobody;
	size_t i;

	marker_expect("mlx5_vhca: .* violation: destroy_of_unknown ");
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct command *command = &commands[i];

		if (!command->names)
			continue;
		nobody = !strcmp(command->names, "eq") ? RAW_NOBODY & 0xff :
			 !strcmp(command->names, "uctx") ? RAW_NOBODY & 0xffff : RAW_NOBODY;
		begin(self->in, command);
		DEVX_SET(dealloc_pd_in, self->in, pd, nobody);
		if (!strcmp(command->names, "general_object"))
			DEVX_SET(general_obj_in_cmd_hdr, self->in, obj_type,
				 IFC_VIRTIO_NET_Q);
		ASSERT_STATUS(IFC_BAD_RES,
			      raw_send(&self->raw, self->in, command->in_size, self->out,
				       MESSAGE_DW * 4))
			TH_LOG("%s", command->name);
		if (command->destroys)
			ASSERT_VIOLATION("destroy_of_unknown", nobody, command->opcode,
					 command->names);
		else
			ASSERT_NO_VIOLATION();
	}
}

/* A fault that never was, or is over, cannot be resumed; refault.c has those that can. */
TEST_F(device_commands, resume_of_no_fault)
{
	static const uint32_t tokens[] = { 0, 1, 0xfffffe };
	size_t i;

	marker_expect("mlx5_vhca: .* violation: resume_of_no_fault ");
	for (i = 0; i < ARRAY_SIZE(tokens); i++) {
		void *info;

		begin(self->in, find_command("PAGE_FAULT_RESUME"));
		info = DEVX_ADDR_OF(page_fault_resume_in, self->in,
				    page_fault_info.trans_page_fault_info);
		DEVX_SET(trans_page_fault_info, info, fault_token, tokens[i]);
		DEVX_SET(trans_page_fault_info, info, wq_number, RAW_NOBODY);
		ASSERT_STATUS(IFC_BAD_RES,
			      raw_send(&self->raw, self->in,
				       DEVX_ST_SZ_BYTES(page_fault_resume_in), self->out,
				       MESSAGE_DW * 4));
		ASSERT_VIOLATION("resume_of_no_fault", tokens[i], RAW_NOBODY, "");
	}
}

/* Those that need no more than a number; queues are below. */
static const struct {
	uint16_t create;
	uint16_t destroy;
	const char *kind;
} plain[] = {
	{ MLX5_CMD_OP_ALLOC_PD,		MLX5_CMD_OP_DEALLOC_PD,		"pd" },
	{ MLX5_CMD_OP_ALLOC_UAR,	MLX5_CMD_OP_DEALLOC_UAR,	"uar" },
	{ MLX5_CMD_OP_ALLOC_XRCD,	MLX5_CMD_OP_DEALLOC_XRCD,	"xrcd" },
	{ MLX5_CMD_OP_ALLOC_FLOW_COUNTER, MLX5_CMD_OP_DEALLOC_FLOW_COUNTER, "flow_counter" },
	{ MLX5_CMD_OP_CREATE_XRC_SRQ,	MLX5_CMD_OP_DESTROY_XRC_SRQ,	"xrc_srq" },
	{ MLX5_CMD_OP_CREATE_RMP,	MLX5_CMD_OP_DESTROY_RMP,	"rmp" },
	{ MLX5_CMD_OP_CREATE_UCTX,	MLX5_CMD_OP_DESTROY_UCTX,	"uctx" },
	{ MLX5_CMD_OP_CREATE_UMEM,	MLX5_CMD_OP_DESTROY_UMEM,	"umem" },
	{ MLX5_CMD_OP_CREATE_MKEY,	MLX5_CMD_OP_DESTROY_MKEY,	"mkey" },
};

/* What is destroyed is gone, once, and its number does not come back at once. */
TEST_F(device_commands, destroyed_once)
{
	uint32_t number, next;
	size_t i;

	marker_expect("mlx5_vhca: .* violation: destroy_of_unknown ");
	for (i = 0; i < ARRAY_SIZE(plain); i++) {
		ASSERT_STATUS(IFC_OK, raw_create(&self->raw, plain[i].create, 0, &number));
		ASSERT_EQ(1, vhca_find(&self->bed.dev, plain[i].kind, number, NULL));
		ASSERT_STATUS(IFC_OK, raw_name(&self->raw, plain[i].destroy, 0, number));
		ASSERT_EQ(0, vhca_find(&self->bed.dev, plain[i].kind, number, NULL));
		ASSERT_NO_VIOLATION();
		ASSERT_STATUS(IFC_BAD_RES, raw_name(&self->raw, plain[i].destroy, 0, number));
		ASSERT_VIOLATION("destroy_of_unknown", number, plain[i].destroy, plain[i].kind);
		ASSERT_STATUS(IFC_OK, raw_create(&self->raw, plain[i].create, 0, &next));
		ASSERT_NE(number, next);
		ASSERT_STATUS(IFC_OK, raw_name(&self->raw, plain[i].destroy, 0, next));
	}
}

/* A command that names an object, with room for whatever else it has. */
static int name(struct _test_data_device_commands *self, uint16_t opcode, uint32_t number)
{
	memset(self->in, 0, MESSAGE_DW * 4);
	DEVX_SET(dealloc_pd_in, self->in, opcode, opcode);
	DEVX_SET(dealloc_pd_in, self->in, pd, number);
	return raw_send(&self->raw, self->in, MESSAGE_DW * 4, self->out, MESSAGE_DW * 4);
}

/*
 * What is named after its end is told from what never was: with the command that made it,
 * and the one that destroyed it.
 */
TEST_F(device_commands, named_after_its_end)
{
	static const struct {
		uint16_t create, destroy, use;
		const char *kind;
	} cases[] = {
		{ MLX5_CMD_OP_CREATE_MKEY, MLX5_CMD_OP_DESTROY_MKEY, MLX5_CMD_OP_QUERY_MKEY,
		  "mkey" },
		{ MLX5_CMD_OP_CREATE_RMP, MLX5_CMD_OP_DESTROY_RMP, MLX5_CMD_OP_MODIFY_RMP,
		  "rmp" },
		{ MLX5_CMD_OP_CREATE_XRC_SRQ, MLX5_CMD_OP_DESTROY_XRC_SRQ,
		  MLX5_CMD_OP_ARM_XRC_SRQ, "xrc_srq" },
	};
	int64_t born, died;
	uint32_t number;
	size_t i;

	marker_expect("mlx5_vhca: .* violation: (use_of_destroyed|destroy_of_unknown) ");
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ASSERT_STATUS(IFC_OK, raw_create(&self->raw, cases[i].create, 0, &number));
		born = vhca_seq(&self->bed.dev);
		ASSERT_STATUS(IFC_OK, name(self, cases[i].use, number));
		ASSERT_STATUS(IFC_OK, raw_name(&self->raw, cases[i].destroy, 0, number));
		died = vhca_seq(&self->bed.dev);
		ASSERT_NO_VIOLATION();
		ASSERT_STATUS(IFC_BAD_RES, name(self, cases[i].use, number));
		ASSERT_VIOLATION("use_of_destroyed", number, cases[i].use, cases[i].kind);
		ASSERT_LIFE(born, died);
		/* That it does not come back is asked of the same life. */
		ASSERT_STATUS(IFC_BAD_RES, raw_name(&self->raw, cases[i].destroy, 0, number));
		ASSERT_VIOLATION("destroy_of_unknown", number, cases[i].destroy, cases[i].kind);
		ASSERT_LIFE(born, died);
		ASSERT_STATUS(IFC_BAD_RES, name(self, cases[i].use, RAW_NOBODY));
		ASSERT_NO_VIOLATION();
	}
}

/* A key that is not free is in a PD that is there, and so is what a queue is on. */
TEST_F(device_commands, on_what_has_ended)
{
	uint32_t in[DEVX_ST_SZ_DW(create_mkey_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(create_mkey_out)];
	void *mkc = DEVX_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
	uint32_t eq_in[DEVX_ST_SZ_DW(create_eq_in)] = {};
	uint32_t eq_out[DEVX_ST_SZ_DW(create_eq_out)];
	int64_t born, died;
	uint32_t pd, uar;

	marker_expect("mlx5_vhca: .* violation: use_of_destroyed ");
	ASSERT_STATUS(IFC_OK, raw_create(&self->raw, MLX5_CMD_OP_ALLOC_PD, 0, &pd));
	born = vhca_seq(&self->bed.dev);
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DEALLOC_PD, 0, pd));
	died = vhca_seq(&self->bed.dev);
	DEVX_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	DEVX_SET(mkc, mkc, qpn, 0xffffff);
	DEVX_SET(mkc, mkc, pd, pd);
	/* Free keys keep the one that they had last. */
	DEVX_SET(mkc, mkc, free, 1);
	ASSERT_STATUS(IFC_OK, raw_command(&self->raw, in, out));
	ASSERT_NO_VIOLATION();
	DEVX_SET(mkc, mkc, free, 0);
	ASSERT_STATUS(IFC_OK, raw_command(&self->raw, in, out));
	ASSERT_VIOLATION("use_of_destroyed", pd, MLX5_CMD_OP_CREATE_MKEY, "pd");
	ASSERT_LIFE(born, died);

	ASSERT_STATUS(IFC_OK, raw_create(&self->raw, MLX5_CMD_OP_ALLOC_UAR, 0, &uar));
	born = vhca_seq(&self->bed.dev);
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DEALLOC_UAR, 0, uar));
	died = vhca_seq(&self->bed.dev);
	DEVX_SET(create_eq_in, eq_in, opcode, MLX5_CMD_OP_CREATE_EQ);
	DEVX_SET(create_eq_in, eq_in, eq_context_entry.uar_page, uar);
	ASSERT_STATUS(IFC_BAD_RES, raw_command(&self->raw, eq_in, eq_out));
	ASSERT_VIOLATION("use_of_destroyed", uar, MLX5_CMD_OP_CREATE_EQ, "uar");
	ASSERT_LIFE(born, died);
}

/* A number of one kind is no number of another. */
TEST_F(device_commands, destroyed_by_its_own_command)
{
	uint32_t pd, xrcd;

	marker_expect("mlx5_vhca: .* violation: destroy_of_unknown ");
	/* The numbers of both kinds begin at 1 and may be the same: take one that is not. */
	ASSERT_STATUS(IFC_OK, raw_create(&self->raw, MLX5_CMD_OP_ALLOC_PD, 0, &pd));
	ASSERT_STATUS(IFC_OK, raw_create(&self->raw, MLX5_CMD_OP_ALLOC_XRCD, 0, &xrcd));
	while (vhca_find(&self->bed.dev, "xrcd", pd, NULL))
		ASSERT_STATUS(IFC_OK, raw_create(&self->raw, MLX5_CMD_OP_ALLOC_PD, 0, &pd));
	ASSERT_STATUS(IFC_BAD_RES, raw_name(&self->raw, MLX5_CMD_OP_DEALLOC_XRCD, 0, pd));
	ASSERT_VIOLATION("destroy_of_unknown", pd, MLX5_CMD_OP_DEALLOC_XRCD, "xrcd");
	ASSERT_EQ(1, vhca_find(&self->bed.dev, "pd", pd, NULL));
	ASSERT_EQ(1, vhca_find(&self->bed.dev, "xrcd", xrcd, NULL));
}

/* The user context that a command names is the one that the object belongs to. */
TEST_F(device_commands, owner_is_kept)
{
	uint32_t uid, pd;
	struct vhca_file file;
	unsigned int i, seen = 0;
	char kind[32];

	ASSERT_STATUS(IFC_OK, raw_create(&self->raw, MLX5_CMD_OP_CREATE_UCTX, 0, &uid));
	ASSERT_STATUS(IFC_OK, raw_create(&self->raw, MLX5_CMD_OP_ALLOC_PD, uid, &pd));
	ASSERT_EQ(0, vhca_open(&self->bed.dev, "ledger", &file));
	for (i = 0; i < file.count; i++) {
		if (!vhca_key(file.record[i], "kind", kind, sizeof(kind)) ||
		    strcmp(kind, "pd") || vhca_number(file.record[i], "id") != pd)
			continue;
		EXPECT_EQ(uid, vhca_number(file.record[i], "uid"));
		seen++;
	}
	vhca_close(&file);
	ASSERT_EQ(1u, seen);
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DEALLOC_PD, uid, pd));
}

static int create_mkey(struct raw *raw, uint32_t pd, bool free, uint32_t octowords,
		       uint32_t *index)
{
	uint32_t in[DEVX_ST_SZ_DW(create_mkey_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(create_mkey_out)];
	void *mkc = DEVX_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
	int status;

	DEVX_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	DEVX_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_MTT);
	DEVX_SET(mkc, mkc, pd, pd);
	DEVX_SET(mkc, mkc, free, free);
	DEVX_SET(mkc, mkc, qpn, 0xffffff);
	DEVX_SET(mkc, mkc, log_page_size, 12);
	DEVX_SET(mkc, mkc, translations_octword_size, octowords);
	status = raw_command(raw, in, out);
	*index = DEVX_GET(create_mkey_out, out, mkey_index);
	return status;
}

/* A key that gives access keeps its PD, one that is free does not. */
TEST_F(device_commands, pd_under_mkey)
{
	uint32_t pd, key;

	marker_expect("mlx5_vhca: .* violation: pd_freed_under_mkey ");
	ASSERT_STATUS(IFC_OK, raw_create(&self->raw, MLX5_CMD_OP_ALLOC_PD, 0, &pd));
	ASSERT_STATUS(IFC_OK, create_mkey(&self->raw, pd, false, 4, &key));
	ASSERT_STATUS(IFC_BAD_RES_STATE, raw_name(&self->raw, MLX5_CMD_OP_DEALLOC_PD, 0, pd));
	ASSERT_VIOLATION("pd_freed_under_mkey", pd, key, "");
	ASSERT_EQ(1, vhca_find(&self->bed.dev, "pd", pd, NULL));
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DESTROY_MKEY, 0, key));

	ASSERT_STATUS(IFC_OK, create_mkey(&self->raw, pd, true, 4, &key));
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DEALLOC_PD, 0, pd));
	ASSERT_NO_VIOLATION();
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DESTROY_MKEY, 0, key));
}

/* One command cannot take all memory. */
TEST_F(device_commands, mkey_out_of_range)
{
	uint32_t pd, key;

	ASSERT_STATUS(IFC_OK, raw_create(&self->raw, MLX5_CMD_OP_ALLOC_PD, 0, &pd));
	ASSERT_STATUS(IFC_LIM, create_mkey(&self->raw, pd, false, (1u << 20) + 1, &key));
	ASSERT_STATUS(IFC_LIM, create_mkey(&self->raw, pd, false, UINT32_MAX, &key));
	ASSERT_STATUS(IFC_OK, create_mkey(&self->raw, pd, false, 1u << 20, &key));
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DESTROY_MKEY, 0, key));
	ASSERT_NO_VIOLATION();
}

static int create_general(struct raw *raw, uint16_t type, uint32_t *id)
{
	uint32_t in[DEVX_ST_SZ_DW(general_obj_in_cmd_hdr)] = {};
	uint32_t out[DEVX_ST_SZ_DW(general_obj_out_cmd_hdr)];
	int status;

	DEVX_SET(general_obj_in_cmd_hdr, in, opcode, MLX5_CMD_OP_CREATE_GENERAL_OBJECT);
	DEVX_SET(general_obj_in_cmd_hdr, in, obj_type, type);
	status = raw_command(raw, in, out);
	*id = DEVX_GET(general_obj_out_cmd_hdr, out, obj_id);
	return status;
}

static int destroy_general(struct raw *raw, uint16_t type, uint32_t id)
{
	uint32_t in[DEVX_ST_SZ_DW(general_obj_in_cmd_hdr)] = {};
	uint32_t out[DEVX_ST_SZ_DW(general_obj_out_cmd_hdr)];

	DEVX_SET(general_obj_in_cmd_hdr, in, opcode, MLX5_CMD_OP_DESTROY_GENERAL_OBJECT);
	DEVX_SET(general_obj_in_cmd_hdr, in, obj_type, type);
	DEVX_SET(general_obj_in_cmd_hdr, in, obj_id, id);
	return raw_command(raw, in, out);
}

/* Types that are not advertised, or beyond what can be; a type is part of the name. */
TEST_F(device_commands, general_object)
{
	const uint16_t type = IFC_VIRTIO_NET_Q;
	uint32_t id;

	marker_expect("mlx5_vhca: .* violation: destroy_of_unknown ");
	ASSERT_STATUS(IFC_BAD_PARAM,
		      create_general(&self->raw, MLX5_GENERAL_OBJECT_TYPES_IPSEC, &id));
	ASSERT_STATUS(IFC_BAD_PARAM, create_general(&self->raw, 64, &id));
	ASSERT_STATUS(IFC_BAD_PARAM, create_general(&self->raw, 0xffff, &id));
	ASSERT_STATUS(IFC_OK, create_general(&self->raw, type, &id));
	ASSERT_LEDGER(1, "general_object");
	ASSERT_STATUS(IFC_BAD_RES,
		      destroy_general(&self->raw, MLX5_GENERAL_OBJECT_TYPES_IPSEC, id));
	ASSERT_VIOLATION("destroy_of_unknown", id, MLX5_CMD_OP_DESTROY_GENERAL_OBJECT,
			 "general_object");
	ASSERT_LEDGER(1, "general_object");
	ASSERT_STATUS(IFC_OK, destroy_general(&self->raw, type, id));
	ASSERT_LEDGER(0, "general_object");
	ASSERT_STATUS(IFC_BAD_RES, destroy_general(&self->raw, type, id));
	ASSERT_VIOLATION("destroy_of_unknown", id, MLX5_CMD_OP_DESTROY_GENERAL_OBJECT,
			 "general_object");
}

static int create_sw_icm(struct raw *raw, uint64_t start, uint8_t log_size, uint32_t *id)
{
	uint32_t in[DEVX_ST_SZ_DW(create_sw_icm_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(general_obj_out_cmd_hdr)];
	int status;

	DEVX_SET(create_sw_icm_in, in, hdr.opcode, MLX5_CMD_OP_CREATE_GENERAL_OBJECT);
	DEVX_SET(create_sw_icm_in, in, hdr.obj_type, MLX5_OBJ_TYPE_SW_ICM);
	DEVX_SET64(create_sw_icm_in, in, sw_icm.sw_icm_start_addr, start);
	DEVX_SET(create_sw_icm_in, in, sw_icm.log_sw_icm_size, log_size);
	status = raw_command(raw, in, out);
	*id = DEVX_GET(general_obj_out_cmd_hdr, out, obj_id);
	return status;
}

/* A place has one owner, which goes after the keys that lead to it. */
TEST_F(device_commands, sw_icm)
{
	const uint64_t start = SW_ICM_STEERING, end = start + SW_ICM_STEERING_SIZE;
	uint32_t in[DEVX_ST_SZ_DW(create_mkey_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(create_mkey_out)];
	void *mkc = DEVX_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
	uint32_t id, other, key;

	marker_expect("mlx5_vhca: .* violation: sw_icm_(busy|freed_under_mkey) ");
	ASSERT_STATUS(IFC_BAD_PARAM, create_sw_icm(&self->raw, start - PAGE, 12, &id));
	ASSERT_STATUS(IFC_BAD_PARAM, create_sw_icm(&self->raw, start + 64, 12, &id));
	ASSERT_STATUS(IFC_BAD_PARAM, create_sw_icm(&self->raw, start, 11, &id));
	ASSERT_STATUS(IFC_BAD_PARAM, create_sw_icm(&self->raw, start, 255, &id));
	ASSERT_STATUS(IFC_BAD_PARAM, create_sw_icm(&self->raw, end - PAGE, 13, &id));
	ASSERT_NO_VIOLATION();
	ASSERT_STATUS(IFC_OK, create_sw_icm(&self->raw, start + PAGE, 13, &id));
	ASSERT_STATUS(IFC_BAD_RES, create_sw_icm(&self->raw, start + 2 * PAGE, 12, &other));
	ASSERT_VIOLATION("sw_icm_busy", start + 2 * PAGE, start + PAGE, "");
	ASSERT_STATUS(IFC_BAD_RES, create_sw_icm(&self->raw, start, 14, &other));
	ASSERT_VIOLATION("sw_icm_busy", start, start + PAGE, "");
	ASSERT_LEDGER(1, "general_object");
	/* On both sides there is room. */
	ASSERT_STATUS(IFC_OK, create_sw_icm(&self->raw, start, 12, &other));
	ASSERT_STATUS(IFC_OK, destroy_general(&self->raw, MLX5_OBJ_TYPE_SW_ICM, other));
	ASSERT_STATUS(IFC_OK, create_sw_icm(&self->raw, start + 3 * PAGE, 12, &other));

	DEVX_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	DEVX_SET(mkc, mkc, access_mode_4_2, MLX5_MKC_ACCESS_MODE_SW_ICM >> 2);
	DEVX_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_SW_ICM & 3);
	DEVX_SET(mkc, mkc, qpn, 0xffffff);
	/* The last byte of the first. */
	DEVX_SET64(mkc, mkc, start_addr, start + 3 * PAGE - 1);
	DEVX_SET64(mkc, mkc, len, 1);
	ASSERT_STATUS(IFC_OK, raw_command(&self->raw, in, out));
	key = DEVX_GET(create_mkey_out, out, mkey_index);
	ASSERT_STATUS(IFC_OK, destroy_general(&self->raw, MLX5_OBJ_TYPE_SW_ICM, other));
	ASSERT_NO_VIOLATION();
	ASSERT_STATUS(IFC_OK, destroy_general(&self->raw, MLX5_OBJ_TYPE_SW_ICM, id));
	ASSERT_VIOLATION("sw_icm_freed_under_mkey", start + PAGE, key, "");
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DESTROY_MKEY, 0, key));
	ASSERT_LEDGER(0, "general_object");
}

static int query_cap(struct raw *raw, uint16_t op_mod, uint8_t *page)
{
	uint32_t in[DEVX_ST_SZ_DW(query_hca_cap_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(query_hca_cap_out)];
	int status;

	DEVX_SET(query_hca_cap_in, in, opcode, MLX5_CMD_OP_QUERY_HCA_CAP);
	DEVX_SET(query_hca_cap_in, in, op_mod, op_mod);
	status = raw_command(raw, in, out);
	memcpy(page, DEVX_ADDR_OF(query_hca_cap_out, out, capability),
	       DEVX_UN_SZ_BYTES(hca_cap_union));
	return status;
}

static int set_cap(struct raw *raw, uint16_t op_mod, const uint8_t *page, size_t len)
{
	uint32_t in[DEVX_ST_SZ_DW(set_hca_cap_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(set_hca_cap_out)];

	DEVX_SET(set_hca_cap_in, in, opcode, MLX5_CMD_OP_SET_HCA_CAP);
	DEVX_SET(set_hca_cap_in, in, op_mod, op_mod);
	memcpy(DEVX_ADDR_OF(set_hca_cap_in, in, capability), page, len);
	return raw_send(raw, in, DEVX_BYTE_OFF(set_hca_cap_in, capability) + len, out,
			sizeof(out));
}

#define CAP_SIZE	DEVX_UN_SZ_BYTES(hca_cap_union)
#define CAP_GENERAL	0
#define CAP_MAX		0
#define CAP_CURRENT	1
#define CAP_TYPES	256

/* What the driver sets must be within what it was told, or it believes in what is not. */
TEST_F(device_commands, capabilities)
{
	uint8_t max[CAP_SIZE], was[CAP_SIZE], page[CAP_SIZE], is[CAP_SIZE];
	const uint16_t general = CAP_GENERAL << 1;

	ASSERT_STATUS(IFC_OK, query_cap(&self->raw, general | CAP_MAX, max));
	ASSERT_STATUS(IFC_OK, query_cap(&self->raw, general | CAP_CURRENT, was));
	ASSERT_EQ(1u, DEVX_GET(cmd_hca_cap, max, device_memory));
	ASSERT_EQ(0u, DEVX_GET(cmd_hca_cap, max, eswitch_manager));

	/* A feature that is not there; a limit above the limit. */
	memcpy(page, was, CAP_SIZE);
	DEVX_SET(cmd_hca_cap, page, eswitch_manager, 1);
	ASSERT_STATUS(IFC_BAD_PARAM, set_cap(&self->raw, general, page, CAP_SIZE));
	memcpy(page, was, CAP_SIZE);
	DEVX_SET(cmd_hca_cap, page, log_max_qp, DEVX_GET(cmd_hca_cap, max, log_max_qp) + 1);
	ASSERT_STATUS(IFC_BAD_PARAM, set_cap(&self->raw, general, page, CAP_SIZE));
	ASSERT_STATUS(IFC_OK, query_cap(&self->raw, general | CAP_CURRENT, is));
	ASSERT_EQ(0, memcmp(was, is, CAP_SIZE));

	/* Less: a feature left out, and a limit whose bits are not a part of the other's. */
	memcpy(page, was, CAP_SIZE);
	DEVX_SET(cmd_hca_cap, page, xrc, 0);
	DEVX_SET(cmd_hca_cap, page, log_max_mkey, DEVX_GET(cmd_hca_cap, max, log_max_mkey) - 1);
	ASSERT_STATUS(IFC_OK, set_cap(&self->raw, general, page, CAP_SIZE));
	ASSERT_STATUS(IFC_OK, query_cap(&self->raw, general | CAP_CURRENT, is));
	ASSERT_EQ(0, memcmp(page, is, CAP_SIZE));
	ASSERT_STATUS(IFC_OK, query_cap(&self->raw, general | CAP_MAX, is));
	ASSERT_EQ(0, memcmp(max, is, CAP_SIZE));
	ASSERT_STATUS(IFC_OK, set_cap(&self->raw, general, was, CAP_SIZE));
	ASSERT_STATUS(IFC_OK, query_cap(&self->raw, general | CAP_CURRENT, is));
	ASSERT_EQ(0, memcmp(was, is, CAP_SIZE));

	/* Half a page, and pages that there are none of. */
	ASSERT_STATUS(IFC_BAD_INP_LEN, set_cap(&self->raw, general, was, CAP_SIZE - 4));
	ASSERT_STATUS(IFC_BAD_PARAM, set_cap(&self->raw, CAP_TYPES << 1, was, CAP_SIZE));
	ASSERT_STATUS(IFC_BAD_PARAM, query_cap(&self->raw, CAP_TYPES << 1, page));
	ASSERT_STATUS(IFC_BAD_PARAM, query_cap(&self->raw, 0xffff, page));
}

/* The MEMIC commands on a range that is given in full. */
static int alloc_memic(struct raw *raw, uint64_t start, uint32_t range, uint32_t size,
		       uint8_t log_align, uint64_t *address)
{
	uint32_t in[DEVX_ST_SZ_DW(alloc_memic_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(alloc_memic_out)];
	int status;

	DEVX_SET(alloc_memic_in, in, opcode, MLX5_CMD_OP_ALLOC_MEMIC);
	DEVX_SET64(alloc_memic_in, in, range_start_addr, start);
	DEVX_SET(alloc_memic_in, in, range_size, range);
	DEVX_SET(alloc_memic_in, in, memic_size, size);
	DEVX_SET(alloc_memic_in, in, log_memic_addr_alignment, log_align);
	status = raw_command(raw, in, out);
	*address = DEVX_GET64(alloc_memic_out, out, memic_start_addr);
	return status;
}

static int dealloc_memic(struct raw *raw, uint64_t address, uint32_t size)
{
	uint32_t in[DEVX_ST_SZ_DW(dealloc_memic_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(dealloc_memic_out)];

	DEVX_SET(dealloc_memic_in, in, opcode, MLX5_CMD_OP_DEALLOC_MEMIC);
	DEVX_SET64(dealloc_memic_in, in, memic_start_addr, address);
	DEVX_SET(dealloc_memic_in, in, memic_size, size);
	return raw_command(raw, in, out);
}

static int modify_memic(struct raw *raw, uint16_t op_mod, uint64_t memic, uint8_t operation,
			uint64_t *address)
{
	uint32_t in[DEVX_ST_SZ_DW(modify_memic_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(modify_memic_out)];
	int status;

	DEVX_SET(modify_memic_in, in, opcode, MLX5_CMD_OP_MODIFY_MEMIC);
	DEVX_SET(modify_memic_in, in, op_mod, op_mod);
	DEVX_SET64(modify_memic_in, in, memic_start_addr, memic);
	DEVX_SET(modify_memic_in, in, memic_operation_type, operation);
	status = raw_command(raw, in, out);
	if (address)
		*address = DEVX_GET64(modify_memic_out, out, memic_operation_addr);
	return status;
}

/* Ranges that begin, end or wrap outside the memory are refused. */
TEST_F(device_commands, memic_out_of_range)
{
	const struct vhca_region *memic = &self->bed.dev.info.memic;
	uint64_t base = memic->offset, end = base + memic->size, at;
	const uint32_t max = self->bed.dev.info.memic_max_alloc;
	const struct {
		const char *what;
		uint64_t start;
		uint32_t range;
		uint32_t size;
		uint8_t log_align;
		int status;
	} cases[] = {
		{ "below", base - PAGE, PAGE, PAGE, 0, IFC_BAD_PARAM },
		{ "from 0", 0, PAGE, PAGE, 0, IFC_BAD_PARAM },
		{ "at the end", end, PAGE, PAGE, 0, IFC_BAD_PARAM },
		{ "far beyond", UINT64_MAX - PAGE + 1, PAGE, PAGE, 0, IFC_BAD_PARAM },
		{ "across the end", end - PAGE, 2 * PAGE, PAGE, 0, IFC_BAD_PARAM },
		{ "all of 32 bits", base, 0u - PAGE, PAGE, 0, IFC_BAD_PARAM },
		{ "range that wraps", end - PAGE, UINT32_MAX & ~(PAGE - 1), PAGE, 0,
		  IFC_BAD_PARAM },
		{ "no page", base + 64, PAGE, 64, 0, IFC_BAD_PARAM },
		{ "no pages", base, PAGE + 64, 64, 0, IFC_BAD_PARAM },
		{ "no range", base, 0, PAGE, 0, IFC_BAD_PARAM },
		{ "no size", base, PAGE, 0, 0, IFC_BAD_PARAM },
		{ "larger than its range", base, PAGE, PAGE + 1, 0, IFC_BAD_PARAM },
		{ "larger than all", base, PAGE, UINT32_MAX, 0, IFC_BAD_PARAM },
		{ "larger than allowed", base, max + PAGE, max + 1, 0, IFC_LIM },
		{ "aligned beyond", base, PAGE, PAGE, 7, IFC_BAD_PARAM },
		{ "aligned far beyond", base, PAGE, PAGE, 255, IFC_BAD_PARAM },
	};
	size_t i;

	ASSERT_LT(max, memic->size);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		int status = alloc_memic(&self->raw, cases[i].start, cases[i].range,
					 cases[i].size, cases[i].log_align, &at);
		const char *what = cases[i].what;

		EXPECT_EQ(cases[i].status, status)
			TH_LOG("%s", what);
	}
	ASSERT_LEDGER(0, "memic");
	ASSERT_NO_VIOLATION();
}

/* Two owners of a page, a piece of a range freed, a range freed twice. */
TEST_F(device_commands, memic_taken_and_free)
{
	uint64_t base = self->bed.dev.info.memic.offset, at, other;
	int64_t born, died;

	marker_expect("mlx5_vhca: .* violation: memic_(busy_page|dealloc_of_free) ");
	ASSERT_STATUS(IFC_OK, alloc_memic(&self->raw, base + PAGE, 2 * PAGE, 2 * PAGE, 0, &at));
	born = vhca_seq(&self->bed.dev);
	ASSERT_EQ(base + PAGE, at);

	ASSERT_STATUS(IFC_NO_RES, alloc_memic(&self->raw, base, 2 * PAGE, 2 * PAGE, 0, &other));
	ASSERT_VIOLATION("memic_busy_page", base, base + PAGE, "");
	ASSERT_STATUS(IFC_NO_RES,
		      alloc_memic(&self->raw, base + 2 * PAGE, PAGE, 64, 0, &other));
	ASSERT_VIOLATION("memic_busy_page", base + 2 * PAGE, base + 2 * PAGE, "");
	ASSERT_LEDGER(1, "memic");
	/* Right beside it there is room. */
	ASSERT_STATUS(IFC_OK, alloc_memic(&self->raw, base, PAGE, PAGE, 0, &other));
	ASSERT_STATUS(IFC_OK, dealloc_memic(&self->raw, other, PAGE));

	ASSERT_STATUS(IFC_BAD_RES, dealloc_memic(&self->raw, at, PAGE));
	ASSERT_VIOLATION("memic_dealloc_of_free", at, PAGE, "");
	ASSERT_STATUS(IFC_BAD_RES, dealloc_memic(&self->raw, at + PAGE, PAGE));
	ASSERT_VIOLATION("memic_dealloc_of_free", at + PAGE, PAGE, "");
	ASSERT_LEDGER(1, "memic");
	ASSERT_STATUS(IFC_OK, dealloc_memic(&self->raw, at, 2 * PAGE));
	died = vhca_seq(&self->bed.dev);
	ASSERT_STATUS(IFC_BAD_RES, dealloc_memic(&self->raw, at, 2 * PAGE));
	ASSERT_VIOLATION("memic_dealloc_of_free", at, 2 * PAGE, "");
	ASSERT_LIFE(born, died);
	ASSERT_STATUS(IFC_BAD_RES, dealloc_memic(&self->raw, UINT64_MAX, UINT32_MAX));
	ASSERT_VIOLATION("memic_dealloc_of_free", UINT64_MAX, UINT32_MAX, "");
	ASSERT_LEDGER(0, "memic");
}

/* A key that leads to memory must be gone, or lead elsewhere, before the memory is. */
TEST_F(device_commands, memic_under_mkey)
{
	uint32_t in[DEVX_ST_SZ_DW(create_mkey_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(create_mkey_out)];
	void *mkc = DEVX_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
	uint64_t base = self->bed.dev.info.memic.offset, at;
	int64_t born;
	uint32_t key;

	marker_expect("mlx5_vhca: .* violation: memic_freed_under_mkey ");
	ASSERT_STATUS(IFC_OK, alloc_memic(&self->raw, base, 2 * PAGE, 2 * PAGE, 0, &at));
	born = vhca_seq(&self->bed.dev);
	DEVX_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	DEVX_SET(mkc, mkc, access_mode_4_2, MLX5_MKC_ACCESS_MODE_MEMIC >> 2);
	DEVX_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_MEMIC & 3);
	DEVX_SET(mkc, mkc, qpn, 0xffffff);
	/* The last byte of it. */
	DEVX_SET64(mkc, mkc, start_addr, at + 2 * PAGE - 1);
	DEVX_SET64(mkc, mkc, len, 1);
	ASSERT_STATUS(IFC_OK, raw_command(&self->raw, in, out));
	key = DEVX_GET(create_mkey_out, out, mkey_index);
	ASSERT_STATUS(IFC_OK, dealloc_memic(&self->raw, at, 2 * PAGE));
	ASSERT_VIOLATION("memic_freed_under_mkey", at, key, "");
	ASSERT_LIFE(born, 0);
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DESTROY_MKEY, 0, key));

	/* One byte further it is another's. */
	ASSERT_STATUS(IFC_OK, alloc_memic(&self->raw, base, 2 * PAGE, 2 * PAGE, 0, &at));
	DEVX_SET64(mkc, mkc, start_addr, at + 2 * PAGE);
	ASSERT_STATUS(IFC_OK, raw_command(&self->raw, in, out));
	ASSERT_STATUS(IFC_OK, dealloc_memic(&self->raw, at, 2 * PAGE));
	ASSERT_NO_VIOLATION();
}

/* An operation is made once and ended once, on memory that is there, and before it goes. */
TEST_F(device_commands, memic_operation)
{
	const uint16_t alloc = MLX5_MODIFY_MEMIC_OP_MOD_ALLOC;
	const uint16_t dealloc = MLX5_MODIFY_MEMIC_OP_MOD_DEALLOC;
	const struct vhca_region *memic = &self->bed.dev.info.memic;
	uint64_t at, address, second;

	marker_expect("mlx5_vhca: .* violation: memic_(operation_|freed_under_operation )");
	ASSERT_STATUS(IFC_BAD_RES, modify_memic(&self->raw, alloc, memic->offset, 1, NULL));
	ASSERT_VIOLATION("memic_operation_on_free", memic->offset, 1, "");
	ASSERT_STATUS(IFC_OK, alloc_memic(&self->raw, memic->offset, PAGE, PAGE, 0, &at));
	ASSERT_STATUS(IFC_OK, modify_memic(&self->raw, alloc, at, 0, &address));
	ASSERT_STATUS(IFC_OK, modify_memic(&self->raw, alloc, at, 1, &second));
	ASSERT_NE(address, second);
	ASSERT_LEDGER(2, "memic_operation");

	ASSERT_STATUS(IFC_BAD_RES_STATE, modify_memic(&self->raw, alloc, at, 1, NULL));
	ASSERT_VIOLATION("memic_operation_double_alloc", at, 1, "");
	ASSERT_STATUS(IFC_BAD_PARAM, modify_memic(&self->raw, alloc, at, 2, NULL));
	ASSERT_STATUS(IFC_BAD_PARAM, modify_memic(&self->raw, alloc, at, 255, NULL));
	ASSERT_STATUS(IFC_BAD_PARAM, modify_memic(&self->raw, 2, at, 1, NULL));
	ASSERT_STATUS(IFC_BAD_PARAM, modify_memic(&self->raw, alloc, memic->offset - 1, 1, NULL));
	ASSERT_STATUS(IFC_BAD_PARAM,
		      modify_memic(&self->raw, alloc, memic->offset + memic->size, 1, NULL));
	ASSERT_STATUS(IFC_BAD_PARAM, modify_memic(&self->raw, alloc, UINT64_MAX, 1, NULL));
	ASSERT_NO_VIOLATION();
	ASSERT_LEDGER(2, "memic_operation");

	ASSERT_STATUS(IFC_OK, modify_memic(&self->raw, dealloc, at, 1, NULL));
	ASSERT_STATUS(IFC_BAD_RES, modify_memic(&self->raw, dealloc, at, 1, NULL));
	ASSERT_VIOLATION("memic_operation_dealloc_of_free", at, 1, "");
	ASSERT_LEDGER(1, "memic_operation");

	ASSERT_STATUS(IFC_OK, dealloc_memic(&self->raw, at, PAGE));
	ASSERT_VIOLATION("memic_freed_under_operation", at, address, "");
	ASSERT_STATUS(IFC_OK, modify_memic(&self->raw, dealloc, at, 0, NULL));
	ASSERT_NO_VIOLATION();
}

/* Firmware pages: what is no page, more than can be, and more than were sent. */
TEST_F(device_commands, pages)
{
	const struct command *query = find_command("QUERY_PAGES");
	const struct command *manage = find_command("MANAGE_PAGES");
	const uint32_t give = 1, take = 2;

	marker_expect("mlx5_vhca: .* DMA to 0x[0-9a-f]+, 4096 bytes: not RAM, refused");
	begin(self->in, query);
	ASSERT_STATUS(IFC_BAD_PARAM, raw_send(&self->raw, self->in, query->in_size, self->out,
					      query->out_size));
	DEVX_SET(query_pages_in, self->in, op_mod, 0xffff);
	ASSERT_STATUS(IFC_BAD_PARAM, raw_send(&self->raw, self->in, query->in_size, self->out,
					      query->out_size));

	begin(self->in, manage);
	DEVX_SET(manage_pages_in, self->in, op_mod, 3);
	ASSERT_STATUS(IFC_BAD_PARAM, raw_send(&self->raw, self->in, manage->in_size, self->out,
					      manage->out_size));
	DEVX_SET(manage_pages_in, self->in, op_mod, give);
	DEVX_SET(manage_pages_in, self->in, input_num_entries, UINT32_MAX);
	ASSERT_STATUS(IFC_LIM, raw_send(&self->raw, self->in, manage->in_size, self->out,
					manage->out_size));
	DEVX_SET(manage_pages_in, self->in, input_num_entries, 2);
	ASSERT_STATUS(IFC_BAD_INP_LEN,
		      raw_send(&self->raw, self->in, manage->in_size + 8, self->out,
			       manage->out_size));
	/* No address at all, and one within a page. */
	ASSERT_STATUS(IFC_BAD_PARAM,
		      raw_send(&self->raw, self->in, manage->in_size + 16, self->out,
			       manage->out_size));
	ASSERT_EQ(0, raw_memory(&self->raw, PAGE));
	DEVX_SET(manage_pages_in, self->in, input_num_entries, 1);
	DEVX_SET64(manage_pages_in, self->in, pas[0], self->raw.address + 8);
	ASSERT_STATUS(IFC_BAD_PARAM,
		      raw_send(&self->raw, self->in, manage->in_size + 8, self->out,
			       manage->out_size));
	/* No room for an answer: none is taken. */
	begin(self->in, manage);
	DEVX_SET(manage_pages_in, self->in, op_mod, take);
	DEVX_SET(manage_pages_in, self->in, input_num_entries, UINT32_MAX);
	ASSERT_STATUS(IFC_OK, raw_send(&self->raw, self->in, manage->in_size, self->out,
				       manage->out_size));
	ASSERT_EQ(0u, DEVX_GET(manage_pages_out, self->out, output_num_entries));
	ASSERT_NO_VIOLATION();
}

/* Registers and tables of the port. */
TEST_F(device_commands, port)
{
	const struct command *reg = find_command("ACCESS_REG");
	const struct command *gid = find_command("QUERY_HCA_VPORT_GID");
	const struct command *pkey = find_command("QUERY_HCA_VPORT_PKEY");
	const uint32_t write = 0, node_desc = 0x6001, node_desc_size = 64;

	marker_expect("mlx5_vhca: .* not modelled, said once: register ");
	begin(self->in, reg);
	DEVX_SET(access_register_in, self->in, op_mod, write);
	DEVX_SET(access_register_in, self->in, register_id, 0xffff);
	ASSERT_STATUS(IFC_BAD_PARAM, raw_send(&self->raw, self->in, reg->in_size + 256,
					      self->out, reg->out_size + 256));
	DEVX_SET(access_register_in, self->in, register_id, node_desc);
	ASSERT_STATUS(IFC_BAD_INP_LEN,
		      raw_send(&self->raw, self->in, reg->in_size + node_desc_size - 4,
			       self->out, reg->out_size + node_desc_size));
	ASSERT_STATUS(IFC_BAD_OUTP_LEN,
		      raw_send(&self->raw, self->in, reg->in_size + node_desc_size,
			       self->out, reg->out_size + node_desc_size - 4));
	DEVX_SET(access_register_in, self->in, op_mod, 2);
	ASSERT_STATUS(IFC_BAD_PARAM,
		      raw_send(&self->raw, self->in, reg->in_size + node_desc_size,
			       self->out, reg->out_size + node_desc_size));

	/* The tables have entries behind the fixed part: one must fit. */
	begin(self->in, gid);
	ASSERT_STATUS(IFC_BAD_OUTP_LEN, raw_send(&self->raw, self->in, gid->in_size, self->out,
						 gid->out_size));
	ASSERT_STATUS(IFC_OK, raw_send(&self->raw, self->in, gid->in_size, self->out,
				       gid->out_size + 16));
	begin(self->in, pkey);
	ASSERT_STATUS(IFC_BAD_OUTP_LEN, raw_send(&self->raw, self->in, pkey->in_size, self->out,
						 pkey->out_size));
	ASSERT_STATUS(IFC_OK, raw_send(&self->raw, self->in, pkey->in_size, self->out,
				       pkey->out_size + DEVX_ST_SZ_BYTES(pkey)));
}

int main(int argc, char **argv)
{
	return raw_bed_main(argc, argv);
}
