// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of the command table: which commands there are, how long their
 * messages must be, what is answered.
 */
#include "device_kunit.h"

/* No opcode of any card. */
#define UNKNOWN_OPCODE	0xfff

static void command_rows_are_whole(struct kunit *test)
{
	const struct vhca_command *row;
	unsigned int i;

	for (i = 0; (row = vhca_command_row(i)); i++) {
		KUNIT_ASSERT_NOT_NULL(test, row->name);
		KUNIT_EXPECT_NOT_NULL_MSG(test, row->handler, "%s", row->name);
		/* What vhca_command_execute() reads and writes of any command. */
		KUNIT_EXPECT_GE_MSG(test, row->in_size,
				    MLX5_ST_SZ_BYTES(alloc_pd_in), "%s", row->name);
		KUNIT_EXPECT_GE_MSG(test, row->out_size, 2 * sizeof(__be32), "%s",
				    row->name);
		KUNIT_EXPECT_LT_MSG(test, row->in_size, VHCA_MAX_MESSAGE, "%s",
				    row->name);
		KUNIT_EXPECT_LT_MSG(test, row->out_size, VHCA_MAX_MESSAGE, "%s",
				    row->name);
		KUNIT_EXPECT_LT_MSG(test, row->kind, VHCA_KINDS, "%s", row->name);
	}
	KUNIT_EXPECT_GT(test, i, 0);
	KUNIT_EXPECT_NULL(test, vhca_command_row(i + 1));
	KUNIT_EXPECT_NULL(test, vhca_command_row(UINT_MAX));
}

/* The first row of an opcode or a name is the one that is found. */
static void command_rows_differ(struct kunit *test)
{
	const struct vhca_command *row;
	unsigned int i;

	for (i = 0; (row = vhca_command_row(i)); i++) {
		KUNIT_EXPECT_PTR_EQ_MSG(test, vhca_command_find(row->opcode), row,
					"%s", row->name);
		KUNIT_EXPECT_PTR_EQ_MSG(test, vhca_command_find_name(row->name),
					row, "%s", row->name);
	}
}

/* What creates an object has a partner of the same kind that destroys it. */
static void command_find_partners(struct kunit *test)
{
	static const struct {
		const char *create, *destroy;
		enum vhca_kind kind;
	} pairs[] = {
		{ "CREATE_EQ", "DESTROY_EQ", VHCA_EQ },
		{ "CREATE_CQ", "DESTROY_CQ", VHCA_CQ },
		{ "CREATE_QP", "DESTROY_QP", VHCA_QP },
		{ "CREATE_SQ", "DESTROY_SQ", VHCA_SQ },
		{ "CREATE_MKEY", "DESTROY_MKEY", VHCA_MKEY },
		{ "CREATE_PSV", "DESTROY_PSV", VHCA_PSV },
		{ "ALLOC_PD", "DEALLOC_PD", VHCA_PD },
		{ "ALLOC_UAR", "DEALLOC_UAR", VHCA_UAR },
		{ "ALLOC_XRCD", "DEALLOC_XRCD", VHCA_XRCD },
		{ "CREATE_XRC_SRQ", "DESTROY_XRC_SRQ", VHCA_XRC_SRQ },
		{ "CREATE_RMP", "DESTROY_RMP", VHCA_RMP },
		{ "CREATE_UCTX", "DESTROY_UCTX", VHCA_UCTX },
		{ "CREATE_UMEM", "DESTROY_UMEM", VHCA_UMEM },
		{ "ALLOC_FLOW_COUNTER", "DEALLOC_FLOW_COUNTER", VHCA_FLOW_COUNTER },
		{ "SET_PP_RATE_LIMIT", "SET_PP_RATE_LIMIT", VHCA_RATE },
		{ "CREATE_GENERAL_OBJECT", "DESTROY_GENERAL_OBJECT",
		  VHCA_GENERAL_OBJECT },
		{ "ALLOC_MEMIC", "DEALLOC_MEMIC", VHCA_MEMIC },
		{ "MODIFY_MEMIC", "MODIFY_MEMIC", VHCA_MEMIC_OPERATION },
	};
	const struct vhca_command *create, *destroy;
	unsigned int i;

	/* All kinds but VHCA_NO_KIND. */
	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(pairs), VHCA_KINDS - 1);
	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		create = vhca_command_find_name(pairs[i].create);
		destroy = vhca_command_find_name(pairs[i].destroy);
		KUNIT_ASSERT_NOT_NULL_MSG(test, create, "%s", pairs[i].create);
		KUNIT_ASSERT_NOT_NULL_MSG(test, destroy, "%s", pairs[i].destroy);
		KUNIT_EXPECT_EQ_MSG(test, create->kind, pairs[i].kind, "%s",
				    pairs[i].create);
		KUNIT_EXPECT_EQ_MSG(test, destroy->kind, pairs[i].kind, "%s",
				    pairs[i].destroy);
	}
}

static void command_find_refuses(struct kunit *test)
{
	static const char * const names[] = {
		"", "alloc_pd", "ALLOC_PD ", " ALLOC_PD", "ALLOC_P", "ALLOC_PDS",
		"MLX5_CMD_OP_ALLOC_PD",
	};
	unsigned int i;

	KUNIT_EXPECT_NULL(test, vhca_command_find(0));
	KUNIT_EXPECT_NULL(test, vhca_command_find(UNKNOWN_OPCODE));
	KUNIT_EXPECT_NULL(test, vhca_command_find(0xffff));
	for (i = 0; i < ARRAY_SIZE(names); i++)
		KUNIT_EXPECT_NULL_MSG(test, vhca_command_find_name(names[i]),
				      "'%s'", names[i]);
}

/* Where each member of the input and of the output is. */
static void command_execute_decodes(struct kunit *test)
{
	struct vhca_cmd *cmd = vhca_kunit_command(test, 0, 16, 16);
	struct vhca *v = test->priv;
	struct vhca_object *pd;
	__be32 *in = cmd->in;
	__be32 *out = cmd->out;

	in[0] = cpu_to_be32(MLX5_CMD_OP_ALLOC_PD << 16 | 0xabc);
	in[1] = cpu_to_be32(0x12340000 | 0xdef);
	cmd->ns = 42;
	KUNIT_ASSERT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, cmd->opcode, MLX5_CMD_OP_ALLOC_PD);
	KUNIT_EXPECT_EQ(test, cmd->uid, 0xabc);
	KUNIT_EXPECT_EQ(test, cmd->op_mod, 0xdef);
	KUNIT_EXPECT_EQ(test, cmd->seq, 1);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(out[0]), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(out[1]), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(out[2]), cmd->object);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(out[3]), 0);

	pd = vhca_ledger_find(v, VHCA_PD, cmd->object);
	KUNIT_ASSERT_NOT_NULL(test, pd);
	KUNIT_EXPECT_EQ(test, pd->uid, 0xabc);
	KUNIT_EXPECT_EQ(test, pd->born_seq, 1);
	KUNIT_EXPECT_EQ(test, pd->born_ns, 42);
}

static void command_execute_refuses_unknown(struct kunit *test)
{
	struct vhca_cmd *cmd = vhca_kunit_command(test, UNKNOWN_OPCODE, 16, 8);
	struct vhca *v = test->priv;

	KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd),
			MLX5_CMD_STAT_BAD_OP_ERR);
	KUNIT_EXPECT_EQ(test, MLX5_GET(alloc_pd_out, cmd->out, syndrome),
			VHCA_SYNDROME | UNKNOWN_OPCODE);
	KUNIT_EXPECT_EQ(test, v->recorder.history[1].status,
			MLX5_CMD_STAT_BAD_OP_ERR);
	KUNIT_EXPECT_EQ(test, v->recorder.history[1].opcode, UNKNOWN_OPCODE);
}

/* A byte less than its shortest, of each command; nothing is done. */
static void command_execute_refuses_short_input(struct kunit *test)
{
	const struct vhca_command *row;
	struct vhca *v = test->priv;
	struct vhca_cmd *cmd;
	unsigned int i;

	for (i = 0; (row = vhca_command_row(i)); i++) {
		/* The output is too short as well: the input is looked at first. */
		cmd = vhca_kunit_command(test, row->opcode, row->in_size - 1,
					 row->out_size - 1);
		KUNIT_EXPECT_EQ_MSG(test, vhca_kunit_execute(test, cmd),
				    MLX5_CMD_STAT_BAD_INP_LEN_ERR, "%s", row->name);
		KUNIT_EXPECT_EQ_MSG(test,
				    MLX5_GET(alloc_pd_out, cmd->out, syndrome),
				    VHCA_SYNDROME | row->opcode, "%s", row->name);
	}
	KUNIT_EXPECT_EQ(test, v->ledger.count, 0);
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 0);
	KUNIT_EXPECT_FALSE(test, v->hca_enabled);
}

static void command_execute_refuses_short_output(struct kunit *test)
{
	const struct vhca_command *row;
	struct vhca *v = test->priv;
	struct vhca_cmd *cmd;
	unsigned int i;

	for (i = 0; (row = vhca_command_row(i)); i++) {
		cmd = vhca_kunit_command(test, row->opcode, row->in_size,
					 row->out_size - 1);
		KUNIT_EXPECT_EQ_MSG(test, vhca_kunit_execute(test, cmd),
				    MLX5_CMD_STAT_BAD_OUTP_LEN_ERR, "%s",
				    row->name);
	}
	KUNIT_EXPECT_EQ(test, v->ledger.count, 0);
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 0);
	KUNIT_EXPECT_FALSE(test, v->hca_enabled);
}

/* With messages of zeros that are long enough, no command reads beyond them. */
static void command_execute_takes_shortest(struct kunit *test)
{
	const struct vhca_command *row;
	unsigned int i;
	u8 status;

	for (i = 0; (row = vhca_command_row(i)); i++) {
		/* It would map a page of a window that is not there. */
		if (row->opcode == MLX5_CMD_OP_ALLOC_UAR)
			continue;
		status = vhca_kunit_execute(test,
					    vhca_kunit_command(test, row->opcode,
							       row->in_size,
							       row->out_size));
		/* SET_HCA_CAP's table row has the shortest header only. */
		if (row->opcode == MLX5_CMD_OP_SET_HCA_CAP)
			continue;
		KUNIT_EXPECT_NE_MSG(test, status, MLX5_CMD_STAT_BAD_INP_LEN_ERR,
				    "%s", row->name);
		KUNIT_EXPECT_NE_MSG(test, status, MLX5_CMD_STAT_BAD_OP_ERR, "%s",
				    row->name);
	}
}

/* A fault is answered before anything is looked at, and nothing is done. */
static void command_execute_answers_fault(struct kunit *test)
{
	static const struct { u16 opcode; u32 in_len, out_len; } commands[] = {
		{ MLX5_CMD_OP_ALLOC_PD, 16, 16 },
		{ MLX5_CMD_OP_ALLOC_PD, 15, 8 },
		{ UNKNOWN_OPCODE, 16, 16 },
	};
	struct vhca *v = test->priv;
	struct vhca_cmd *cmd;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		cmd = vhca_kunit_command(test, commands[i].opcode,
					 commands[i].in_len, commands[i].out_len);
		cmd->fault.status = MLX5_CMD_STAT_LIM_ERR;
		KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd),
				MLX5_CMD_STAT_LIM_ERR);
		KUNIT_EXPECT_EQ(test, MLX5_GET(alloc_pd_out, cmd->out, syndrome),
				VHCA_SYNDROME_FAULT | commands[i].opcode);
	}
	KUNIT_EXPECT_EQ(test, v->ledger.count, 0);
	KUNIT_EXPECT_EQ(test, v->recorder.seq, ARRAY_SIZE(commands));
}

/* A number has 24 bits; what stands above it is another field's. */
static void command_number_has_24_bits(struct kunit *test)
{
	struct vhca_cmd *cmd = vhca_kunit_command(test, 0, 16, 16);
	__be32 *in = cmd->in, *out = cmd->out;

	in[2] = cpu_to_be32(0xff123456);
	KUNIT_EXPECT_EQ(test, vhca_cmd_number(cmd), 0x123456);
	in[2] = cpu_to_be32(0x00ffffff);
	KUNIT_EXPECT_EQ(test, vhca_cmd_number(cmd), 0xffffff);
	out[2] = cpu_to_be32(0xaa000000);
	vhca_cmd_set_number(cmd, 0x654321);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(out[2]), 0xaa654321);
	vhca_cmd_set_number(cmd, 0xffffff);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(out[2]), 0xaaffffff);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(out[3]), 0);
}

static void command_destroys_once(struct kunit *test)
{
	struct vhca *v = test->priv;
	u32 pd = vhca_kunit_create(test, MLX5_CMD_OP_ALLOC_PD, 0);

	/* Another kind has no object of this number. */
	KUNIT_EXPECT_EQ(test, vhca_kunit_destroy(test, MLX5_CMD_OP_DEALLOC_XRCD, pd),
			MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, 0, "destroy_of_unknown", pd,
				    MLX5_CMD_OP_DEALLOC_XRCD);
	KUNIT_EXPECT_STREQ(test, v->recorder.violations[0].kind, "xrcd");

	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_PD], 1);
	KUNIT_EXPECT_EQ(test, vhca_kunit_destroy(test, MLX5_CMD_OP_DEALLOC_PD, pd),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 1);
	KUNIT_EXPECT_EQ(test, v->ledger.count, 0);
	KUNIT_EXPECT_EQ(test, vhca_kunit_destroy(test, MLX5_CMD_OP_DEALLOC_PD, pd),
			MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, 1, "destroy_of_unknown", pd,
				    MLX5_CMD_OP_DEALLOC_PD);
}

static void command_destroy_refuses_busy(struct kunit *test)
{
	struct vhca_object user = {};
	struct vhca *v = test->priv;
	u32 pd = vhca_kunit_create(test, MLX5_CMD_OP_ALLOC_PD, 0);

	KUNIT_ASSERT_EQ(test, vhca_object_use(v, &user, VHCA_PD, pd),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, vhca_kunit_destroy(test, MLX5_CMD_OP_DEALLOC_PD, pd),
			MLX5_CMD_STAT_BAD_RES_STATE_ERR);
	vhca_kunit_expect_violation(test, 0, "destroy_of_busy", pd, 1);
	KUNIT_EXPECT_NOT_NULL(test, vhca_ledger_find(v, VHCA_PD, pd));
	vhca_object_unuse(&user);
	KUNIT_EXPECT_EQ(test, vhca_kunit_destroy(test, MLX5_CMD_OP_DEALLOC_PD, pd),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 1);
}

/* A change of an object that is not there is refused, and is no violation. */
static void command_modify_wants_object(struct kunit *test)
{
	struct vhca *v = test->priv;
	u32 rmp = vhca_kunit_create(test, MLX5_CMD_OP_CREATE_RMP, 0);
	const struct vhca_command *row =
		vhca_command_find(MLX5_CMD_OP_MODIFY_RMP);
	struct vhca_cmd *cmd;
	u32 number;

	KUNIT_ASSERT_NOT_NULL(test, row);
	for (number = rmp - 1; number <= rmp + 1; number++) {
		cmd = vhca_kunit_command(test, MLX5_CMD_OP_MODIFY_RMP,
					 row->in_size, row->out_size);
		MLX5_SET(modify_rmp_in, cmd->in, rmpn, number);
		KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd),
				number == rmp ? MLX5_CMD_STAT_OK :
						MLX5_CMD_STAT_BAD_RES_ERR);
		KUNIT_EXPECT_EQ(test, cmd->object, number);
	}
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 0);
}

/* A user context goes last of all that names it. */
static void command_destroy_uctx_under_object(struct kunit *test)
{
	struct vhca *v = test->priv;
	u32 uctx = vhca_kunit_create(test, MLX5_CMD_OP_CREATE_UCTX, 0);
	u32 other = vhca_kunit_create(test, MLX5_CMD_OP_CREATE_UCTX, 0);
	u32 pd = vhca_kunit_create(test, MLX5_CMD_OP_ALLOC_PD, uctx);

	KUNIT_EXPECT_EQ(test, vhca_kunit_destroy(test, MLX5_CMD_OP_DESTROY_UCTX,
						 other), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 0);
	KUNIT_EXPECT_EQ(test, vhca_kunit_destroy(test, MLX5_CMD_OP_DESTROY_UCTX,
						 uctx), MLX5_CMD_STAT_OK);
	vhca_kunit_expect_violation(test, 0, "uctx_destroyed_under_object", uctx,
				    pd);
	KUNIT_EXPECT_STREQ(test, v->recorder.violations[0].kind, "pd");
	/* One that is not there concerns no object, as number 0 does not. */
	KUNIT_EXPECT_EQ(test, vhca_kunit_destroy(test, MLX5_CMD_OP_DESTROY_UCTX, 0),
			MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, 1, "destroy_of_unknown", 0,
				    MLX5_CMD_OP_DESTROY_UCTX);
}

static struct kunit_case vhca_command_cases[] = {
	KUNIT_CASE(command_rows_are_whole),
	KUNIT_CASE(command_rows_differ),
	KUNIT_CASE(command_find_partners),
	KUNIT_CASE(command_find_refuses),
	KUNIT_CASE(command_execute_decodes),
	KUNIT_CASE(command_execute_refuses_unknown),
	KUNIT_CASE(command_execute_refuses_short_input),
	KUNIT_CASE(command_execute_refuses_short_output),
	KUNIT_CASE(command_execute_takes_shortest),
	KUNIT_CASE(command_execute_answers_fault),
	KUNIT_CASE(command_number_has_24_bits),
	KUNIT_CASE(command_destroys_once),
	KUNIT_CASE(command_destroy_refuses_busy),
	KUNIT_CASE(command_modify_wants_object),
	KUNIT_CASE(command_destroy_uctx_under_object),
	{}
};

static struct kunit_suite vhca_command_suite = {
	.name		= "mlx5_vhca_command",
	.init		= vhca_kunit_init,
	.test_cases	= vhca_command_cases,
};

kunit_test_suite(vhca_command_suite);
