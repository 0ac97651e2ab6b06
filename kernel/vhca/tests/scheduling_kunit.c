// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of scheduling elements and of the table of rates.
 */
#include <linux/mlx5/driver.h>

#include "caps.h"
#include "device_kunit.h"
#include "scheduling.h"

#define USER	7
#define OTHER	8

#define NODE	SCHEDULING_CONTEXT_ELEMENT_TYPE_TSAR
#define LEAF	SCHEDULING_CONTEXT_ELEMENT_TYPE_QUEUE_GROUP

/* Bytes of a message with an element in it. */
#define MESSAGE	(VHCA_SCHEDULING_CONTEXT * sizeof(__be32) + MLX5_ST_SZ_BYTES(scheduling_context))

static struct vhca_cmd *element_command(struct kunit *test, u16 opcode, u16 uid, u32 len)
{
	struct vhca_cmd *cmd = vhca_kunit_command(test, opcode, len,
						  MLX5_ST_SZ_BYTES(general_obj_out_cmd_hdr));

	MLX5_SET(general_obj_in_cmd_hdr, cmd->in, uid, uid);
	MLX5_SET(general_obj_in_cmd_hdr, cmd->in, obj_type, VHCA_OBJ_SCHEDULING);
	return cmd;
}

static struct vhca_cmd *create_command(struct kunit *test, u16 uid, u8 type, u32 parent)
{
	struct vhca_cmd *cmd = element_command(test, MLX5_CMD_OP_CREATE_GENERAL_OBJECT, uid,
					       MESSAGE);
	void *context = (__be32 *)cmd->in + VHCA_SCHEDULING_CONTEXT;

	vhca_kunit_put(cmd->in, VHCA_SCHEDULING_HIERARCHY, SCHEDULING_HIERARCHY_NIC << 24);
	MLX5_SET(scheduling_context, context, element_type, type);
	MLX5_SET(scheduling_context, context, parent_element_id, parent);
	return cmd;
}

static u32 create(struct kunit *test, u16 uid, u8 type, u32 parent)
{
	struct vhca_cmd *cmd = create_command(test, uid, type, parent);

	KUNIT_ASSERT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_OK);
	return MLX5_GET(general_obj_out_cmd_hdr, cmd->out, obj_id);
}

static void expect_refused(struct kunit *test, u16 uid, u8 type, u32 parent, u8 status)
{
	KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, create_command(test, uid, type, parent)),
			status);
}

static u8 destroy(struct kunit *test, u32 id)
{
	struct vhca_cmd *cmd = element_command(test, MLX5_CMD_OP_DESTROY_GENERAL_OBJECT, USER,
					       MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr));

	MLX5_SET(general_obj_in_cmd_hdr, cmd->in, obj_id, id);
	return vhca_kunit_execute(test, cmd);
}

/* A node stays as long as something is below it, and below it is what is its user's. */
static void scheduling_tree(struct kunit *test)
{
	u32 root, node, leaf;

	root = create(test, USER, NODE, 0);
	node = create(test, USER, NODE, root);
	leaf = create(test, USER, LEAF, node);
	KUNIT_EXPECT_EQ(test, destroy(test, root), MLX5_CMD_STAT_BAD_RES_STATE_ERR);
	KUNIT_EXPECT_EQ(test, destroy(test, node), MLX5_CMD_STAT_BAD_RES_STATE_ERR);
	expect_refused(test, USER, LEAF, 0, MLX5_CMD_STAT_BAD_PARAM_ERR);
	expect_refused(test, USER, LEAF, leaf, MLX5_CMD_STAT_BAD_RES_ERR);
	expect_refused(test, OTHER, NODE, root, MLX5_CMD_STAT_BAD_RES_ERR);
	expect_refused(test, USER, NODE, root + 100, MLX5_CMD_STAT_BAD_RES_ERR);
	expect_refused(test, USER, SCHEDULING_CONTEXT_ELEMENT_TYPE_VPORT, root,
		       MLX5_CMD_STAT_BAD_PARAM_ERR);
	/* What was refused holds nothing. */
	KUNIT_EXPECT_EQ(test, destroy(test, leaf), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, destroy(test, node), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, destroy(test, root), MLX5_CMD_STAT_OK);
}

static void scheduling_form(struct kunit *test)
{
	struct vhca_cmd *cmd = create_command(test, USER, NODE, 0);

	vhca_kunit_put(cmd->in, VHCA_SCHEDULING_HIERARCHY, SCHEDULING_HIERARCHY_E_SWITCH << 24);
	KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_BAD_PARAM_ERR);
	cmd = create_command(test, USER, NODE, 0);
	MLX5_SET(scheduling_context, (__be32 *)cmd->in + VHCA_SCHEDULING_CONTEXT,
		 element_attributes, TSAR_ELEMENT_TSAR_TYPE_ETS << 16);
	KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_BAD_PARAM_ERR);
	cmd = element_command(test, MLX5_CMD_OP_CREATE_GENERAL_OBJECT, USER,
			      MESSAGE - sizeof(__be32));
	KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_BAD_INP_LEN_ERR);
}

/* What is changed is what the mask says, of an element of the one who asks. */
static void scheduling_modify(struct kunit *test)
{
	u32 id = create(test, USER, NODE, 0);
	struct vhca *v = test->priv;
	struct vhca_general_object *general;
	struct vhca_cmd *cmd;
	unsigned int mask;
	void *context;

	general = to_vhca_general_object(vhca_ledger_find(v, VHCA_GENERAL_OBJECT, id));
	for (mask = 0; mask < 4; mask++) {
		memset(general->scheduling, 0, sizeof(general->scheduling));
		cmd = element_command(test, MLX5_CMD_OP_MODIFY_GENERAL_OBJECT, USER, MESSAGE);
		MLX5_SET(general_obj_in_cmd_hdr, cmd->in, obj_id, id);
		/* The lower half of modify_field_select, which is the first field. */
		vhca_kunit_put(cmd->in, 0xa0 / 32, mask);
		context = (__be32 *)cmd->in + VHCA_SCHEDULING_CONTEXT;
		MLX5_SET(scheduling_context, context, bw_share, 3);
		MLX5_SET(scheduling_context, context, max_average_bw, 5);
		MLX5_SET(scheduling_context, context, parent_element_id, 1);
		KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_OK);
		context = general->scheduling;
		KUNIT_EXPECT_EQ(test, MLX5_GET(scheduling_context, context, bw_share),
				mask & BIT(0) ? 3 : 0);
		KUNIT_EXPECT_EQ(test, MLX5_GET(scheduling_context, context, max_average_bw),
				mask & BIT(1) ? 5 : 0);
		KUNIT_EXPECT_EQ(test, MLX5_GET(scheduling_context, context, parent_element_id),
				0);
	}
	cmd = element_command(test, MLX5_CMD_OP_MODIFY_GENERAL_OBJECT, OTHER, MESSAGE);
	MLX5_SET(general_obj_in_cmd_hdr, cmd->in, obj_id, id);
	KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_BAD_RES_ERR);
	cmd = element_command(test, MLX5_CMD_OP_MODIFY_GENERAL_OBJECT, USER,
			      MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr));
	MLX5_SET(general_obj_in_cmd_hdr, cmd->in, obj_id, id);
	KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_BAD_INP_LEN_ERR);
}

/* A queue pair is put into a leaf of its own user, or into none. */
static void scheduling_group(struct kunit *test)
{
	u32 node = create(test, USER, NODE, 0);
	u32 leaf = create(test, USER, LEAF, node);
	struct vhca *v = test->priv;

	KUNIT_EXPECT_TRUE(test, vhca_scheduling_has_group(v, 0, USER));
	KUNIT_EXPECT_TRUE(test, vhca_scheduling_has_group(v, leaf, USER));
	KUNIT_EXPECT_TRUE(test, vhca_scheduling_has_group(v, leaf, 0));
	KUNIT_EXPECT_FALSE(test, vhca_scheduling_has_group(v, leaf, OTHER));
	KUNIT_EXPECT_FALSE(test, vhca_scheduling_has_group(v, node, USER));
	KUNIT_EXPECT_FALSE(test, vhca_scheduling_has_group(v, leaf + 1, USER));
}

static u8 set_rate(struct kunit *test, u32 index, u32 kbps)
{
	struct vhca_cmd *cmd = vhca_kunit_command(test, MLX5_CMD_OP_SET_PP_RATE_LIMIT,
						  MLX5_ST_SZ_BYTES(set_pp_rate_limit_in),
						  MLX5_ST_SZ_BYTES(set_pp_rate_limit_out));

	MLX5_SET(set_pp_rate_limit_in, cmd->in, rate_limit_index, index);
	MLX5_SET(set_pp_rate_limit_in, cmd->in, ctx.rate_limit, kbps);
	return vhca_kunit_execute(test, cmd);
}

/* An entry has a rate from when it is set to when it is set to none. */
static void scheduling_rates(struct kunit *test)
{
	struct vhca *v = test->priv;
	/* The table begins with entry 0, which is no limit. */
	u32 last = MLX5_GET(qos_cap, vhca_cap(v->caps, MLX5_CAP_QOS),
			    packet_pacing_rate_table_size) - 1;

	KUNIT_ASSERT_GT(test, last, 1);
	KUNIT_EXPECT_EQ(test, set_rate(test, 0, 100), MLX5_CMD_STAT_IX_ERR);
	KUNIT_EXPECT_EQ(test, set_rate(test, last + 1, 100), MLX5_CMD_STAT_IX_ERR);
	KUNIT_EXPECT_EQ(test, set_rate(test, 1, VHCA_MAX_RATE + 1), MLX5_CMD_STAT_BAD_PARAM_ERR);
	KUNIT_EXPECT_EQ(test, set_rate(test, last, 100), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_NOT_NULL(test, vhca_ledger_find(v, VHCA_RATE, last));
	KUNIT_EXPECT_EQ(test, set_rate(test, last, 200), MLX5_CMD_STAT_BAD_RES_STATE_ERR);
	KUNIT_EXPECT_EQ(test, set_rate(test, last, 0), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_NULL(test, vhca_ledger_find(v, VHCA_RATE, last));
	KUNIT_EXPECT_EQ(test, set_rate(test, last, 0), MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, 0, "destroy_of_unknown", last,
				    MLX5_CMD_OP_SET_PP_RATE_LIMIT);
}

static struct kunit_case vhca_scheduling_cases[] = {
	KUNIT_CASE(scheduling_tree),
	KUNIT_CASE(scheduling_form),
	KUNIT_CASE(scheduling_modify),
	KUNIT_CASE(scheduling_group),
	KUNIT_CASE(scheduling_rates),
	{}
};

static struct kunit_suite vhca_scheduling_suite = {
	.name		= "mlx5_vhca_scheduling",
	.init		= vhca_kunit_init,
	.test_cases	= vhca_scheduling_cases,
};

kunit_test_suite(vhca_scheduling_suite);
