// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of firmware pages: how many can be given, and what comes back.
 */
#include <linux/io.h>

#include "device_kunit.h"

#define CANT_GIVE	0
#define GIVE		1
#define TAKE		2

static u64 ram(struct kunit *test)
{
	void *page = kunit_kzalloc(test, VHCA_PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, page);
	return virt_to_phys(page);
}

/* Says that it brings @nr pages, and has @room of them in its input. */
static u8 give(struct kunit *test, u32 nr, u32 room, u64 page)
{
	struct vhca_cmd *cmd;
	u32 i;

	cmd = vhca_kunit_command(test, MLX5_CMD_OP_MANAGE_PAGES,
				 MLX5_ST_SZ_BYTES(manage_pages_in) + room * sizeof(u64),
				 MLX5_ST_SZ_BYTES(manage_pages_out));
	MLX5_SET(manage_pages_in, cmd->in, op_mod, GIVE);
	MLX5_SET(manage_pages_in, cmd->in, input_num_entries, nr);
	for (i = 0; i < room; i++)
		MLX5_SET64(manage_pages_in, cmd->in, pas[i], page);
	return vhca_kunit_execute(test, cmd);
}

/* Returns how many came back into an output with room for @room. */
static u32 take(struct kunit *test, u32 nr, u32 room, u64 *last)
{
	struct vhca_cmd *cmd;
	u32 n;

	cmd = vhca_kunit_command(test, MLX5_CMD_OP_MANAGE_PAGES,
				 MLX5_ST_SZ_BYTES(manage_pages_in),
				 MLX5_ST_SZ_BYTES(manage_pages_out) +
				 room * sizeof(u64));
	MLX5_SET(manage_pages_in, cmd->in, op_mod, TAKE);
	MLX5_SET(manage_pages_in, cmd->in, input_num_entries, nr);
	KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_OK);
	n = MLX5_GET(manage_pages_out, cmd->out, output_num_entries);
	KUNIT_ASSERT_LE(test, n, room);
	if (n)
		*last = MLX5_GET64(manage_pages_out, cmd->out, pas[n - 1]);
	return n;
}

static void pages_query(struct kunit *test)
{
	static const struct { u16 op_mod; u32 pages; u8 status; } queries[] = {
		{ 0, 0, MLX5_CMD_STAT_BAD_PARAM_ERR },
		{ 1, VHCA_BOOT_PAGES, MLX5_CMD_STAT_OK },
		{ 2, VHCA_INIT_PAGES, MLX5_CMD_STAT_OK },
		{ 3, 0, MLX5_CMD_STAT_BAD_PARAM_ERR },
	};
	struct vhca_cmd *cmd;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(queries); i++) {
		cmd = vhca_kunit_command(test, MLX5_CMD_OP_QUERY_PAGES,
					 MLX5_ST_SZ_BYTES(query_pages_in),
					 MLX5_ST_SZ_BYTES(query_pages_out));
		MLX5_SET(query_pages_in, cmd->in, op_mod, queries[i].op_mod);
		KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd), queries[i].status);
		KUNIT_EXPECT_EQ(test, MLX5_GET(query_pages_out, cmd->out, num_pages),
				queries[i].pages);
	}
	/* What it asks for has room. */
	KUNIT_EXPECT_LE(test, VHCA_BOOT_PAGES + VHCA_INIT_PAGES, VHCA_MAX_PAGES);
}

static void pages_give_refuses(struct kunit *test)
{
	struct vhca *v = test->priv;
	u64 page = ram(test);

	KUNIT_EXPECT_EQ(test, give(test, 2, 1, page), MLX5_CMD_STAT_BAD_INP_LEN_ERR);
	KUNIT_EXPECT_EQ(test, give(test, 1, 1, page + 64), MLX5_CMD_STAT_BAD_PARAM_ERR);
	KUNIT_EXPECT_EQ(test, give(test, 1, 1, 0), MLX5_CMD_STAT_BAD_PARAM_ERR);
	KUNIT_EXPECT_EQ(test, give(test, 1, 1, BIT_ULL(51)),
			MLX5_CMD_STAT_BAD_PARAM_ERR);
	KUNIT_EXPECT_EQ(test, give(test, U32_MAX, 1, page), MLX5_CMD_STAT_LIM_ERR);
	KUNIT_EXPECT_EQ(test, v->nr_fw_pages, 0);
	KUNIT_EXPECT_EQ(test, give(test, 0, 0, page), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, v->nr_fw_pages, 0);
}

static void pages_give_has_a_limit(struct kunit *test)
{
	struct vhca *v = test->priv;
	u64 page = ram(test);

	KUNIT_EXPECT_EQ(test, give(test, VHCA_MAX_PAGES + 1, VHCA_MAX_PAGES + 1, page),
			MLX5_CMD_STAT_LIM_ERR);
	KUNIT_EXPECT_EQ(test, give(test, VHCA_MAX_PAGES - 1, VHCA_MAX_PAGES - 1, page),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, give(test, 2, 2, page), MLX5_CMD_STAT_LIM_ERR);
	KUNIT_EXPECT_EQ(test, v->nr_fw_pages, VHCA_MAX_PAGES - 1);
	KUNIT_EXPECT_EQ(test, give(test, 1, 1, page), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, v->nr_fw_pages, VHCA_MAX_PAGES);
	KUNIT_EXPECT_EQ(test, give(test, 1, 1, page), MLX5_CMD_STAT_LIM_ERR);
}

/* As many as are asked for, as fit, and as there are. */
static void pages_take_is_bounded(struct kunit *test)
{
	struct vhca *v = test->priv;
	u64 first = ram(test), second = ram(test), last = 0;

	KUNIT_EXPECT_EQ(test, take(test, 1, 1, &last), 0);
	KUNIT_ASSERT_EQ(test, give(test, 3, 3, first), MLX5_CMD_STAT_OK);
	KUNIT_ASSERT_EQ(test, give(test, 1, 1, second), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, take(test, 2, 1, &last), 1);
	KUNIT_EXPECT_EQ(test, last, second);
	KUNIT_EXPECT_EQ(test, take(test, 1, 8, &last), 1);
	KUNIT_EXPECT_EQ(test, last, first);
	KUNIT_EXPECT_EQ(test, take(test, 5, 0, &last), 0);
	KUNIT_EXPECT_EQ(test, v->nr_fw_pages, 2);
	KUNIT_EXPECT_EQ(test, take(test, U32_MAX, 8, &last), 2);
	KUNIT_EXPECT_EQ(test, v->nr_fw_pages, 0);
}

static void pages_manage_refuses_op_mod(struct kunit *test)
{
	struct vhca_cmd *cmd;
	u16 op_mod;

	for (op_mod = 0; op_mod < 5; op_mod++) {
		cmd = vhca_kunit_command(test, MLX5_CMD_OP_MANAGE_PAGES,
					 MLX5_ST_SZ_BYTES(manage_pages_in),
					 MLX5_ST_SZ_BYTES(manage_pages_out));
		MLX5_SET(manage_pages_in, cmd->in, op_mod, op_mod);
		KUNIT_EXPECT_EQ_MSG(test, vhca_kunit_execute(test, cmd),
				    op_mod <= TAKE ? MLX5_CMD_STAT_OK :
						     MLX5_CMD_STAT_BAD_PARAM_ERR,
				    "op_mod %u", op_mod);
	}
}

static void pages_reset_tells_of_leaks(struct kunit *test)
{
	struct vhca *v = test->priv;

	vhca_pages_reset(v, "KUnit");
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 0);
	KUNIT_ASSERT_EQ(test, give(test, 2, 2, ram(test)), MLX5_CMD_STAT_OK);
	vhca_pages_reset(v, "KUnit");
	vhca_kunit_expect_violation(test, 0, "leak_at_teardown", 0, 2);
	KUNIT_EXPECT_STREQ(test, v->recorder.violations[0].kind, "fw_page");
	KUNIT_EXPECT_EQ(test, v->nr_fw_pages, 0);
}

static struct kunit_case vhca_pages_cases[] = {
	KUNIT_CASE(pages_query),
	KUNIT_CASE(pages_give_refuses),
	KUNIT_CASE(pages_give_has_a_limit),
	KUNIT_CASE(pages_take_is_bounded),
	KUNIT_CASE(pages_manage_refuses_op_mod),
	KUNIT_CASE(pages_reset_tells_of_leaks),
	{}
};

static struct kunit_suite vhca_pages_suite = {
	.name		= "mlx5_vhca_pages",
	.init		= vhca_kunit_init,
	.test_cases	= vhca_pages_cases,
};

kunit_test_suite(vhca_pages_suite);
