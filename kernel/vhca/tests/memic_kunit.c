// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of device memory: which pages a command gets, and operations.
 */
#include <linux/io.h>

#include "device_kunit.h"

#define PAGE	VHCA_PAGE_SIZE

static u8 alloc(struct kunit *test, u64 start, u32 range, u32 size, u8 log_align)
{
	struct vhca_cmd *cmd;
	u8 status;

	cmd = vhca_kunit_command(test, MLX5_CMD_OP_ALLOC_MEMIC,
				 MLX5_ST_SZ_BYTES(alloc_memic_in),
				 MLX5_ST_SZ_BYTES(alloc_memic_out));
	MLX5_SET64(alloc_memic_in, cmd->in, range_start_addr, start);
	MLX5_SET(alloc_memic_in, cmd->in, range_size, range);
	MLX5_SET(alloc_memic_in, cmd->in, memic_size, size);
	MLX5_SET(alloc_memic_in, cmd->in, log_memic_addr_alignment, log_align);
	status = vhca_kunit_execute(test, cmd);
	KUNIT_EXPECT_EQ(test, MLX5_GET64(alloc_memic_out, cmd->out, memic_start_addr),
			status ? 0 : start);
	return status;
}

static u8 dealloc(struct kunit *test, u64 start, u32 size)
{
	struct vhca_cmd *cmd;

	cmd = vhca_kunit_command(test, MLX5_CMD_OP_DEALLOC_MEMIC,
				 MLX5_ST_SZ_BYTES(dealloc_memic_in),
				 MLX5_ST_SZ_BYTES(dealloc_memic_out));
	MLX5_SET64(dealloc_memic_in, cmd->in, memic_start_addr, start);
	MLX5_SET(dealloc_memic_in, cmd->in, memic_size, size);
	return vhca_kunit_execute(test, cmd);
}

static u8 modify(struct kunit *test, u16 op_mod, u64 start, u8 operation,
		 u32 out_len, u64 *address)
{
	struct vhca_cmd *cmd;
	u8 status;

	cmd = vhca_kunit_command(test, MLX5_CMD_OP_MODIFY_MEMIC,
				 MLX5_ST_SZ_BYTES(modify_memic_in), out_len);
	MLX5_SET(modify_memic_in, cmd->in, op_mod, op_mod);
	MLX5_SET64(modify_memic_in, cmd->in, memic_start_addr, start);
	MLX5_SET(modify_memic_in, cmd->in, memic_operation_type, operation);
	status = vhca_kunit_execute(test, cmd);
	if (address)
		*address = MLX5_GET64(modify_memic_out, cmd->out, memic_operation_addr);
	return status;
}

static u8 operation_alloc(struct kunit *test, u64 start, u8 operation, u64 *address)
{
	return modify(test, MLX5_MODIFY_MEMIC_OP_MOD_ALLOC, start, operation,
		      MLX5_ST_SZ_BYTES(modify_memic_out), address);
}

static u8 operation_dealloc(struct kunit *test, u64 start, u8 operation)
{
	return modify(test, MLX5_MODIFY_MEMIC_OP_MOD_DEALLOC, start, operation,
		      MLX5_ST_SZ_BYTES(dealloc_memic_out), NULL);
}

static void memic_alloc_refuses(struct kunit *test)
{
	const u64 base = VHCA_MEMIC_BASE, end = base + VHCA_KUNIT_MEMIC;
	const u32 largest = VHCA_KUNIT_MEMIC / 4;
	const struct { u64 start; u32 range, size; u8 log_align, status; } requests[] = {
		{ base, VHCA_KUNIT_MEMIC, largest, 0, MLX5_CMD_STAT_OK },
		{ base, VHCA_KUNIT_MEMIC, largest + 1, 0, MLX5_CMD_STAT_LIM_ERR },
		{ base - PAGE, PAGE, 1, 0, MLX5_CMD_STAT_BAD_PARAM_ERR },
		{ end, PAGE, 1, 0, MLX5_CMD_STAT_BAD_PARAM_ERR },
		{ end - PAGE, PAGE, 1, 0, MLX5_CMD_STAT_OK },
		{ end - PAGE, 2 * PAGE, 1, 0, MLX5_CMD_STAT_BAD_PARAM_ERR },
		{ base, VHCA_KUNIT_MEMIC + PAGE, 1, 0, MLX5_CMD_STAT_BAD_PARAM_ERR },
		{ base + 64, PAGE, 1, 0, MLX5_CMD_STAT_BAD_PARAM_ERR },
		{ base, PAGE - 64, 1, 0, MLX5_CMD_STAT_BAD_PARAM_ERR },
		{ base, 0, 1, 0, MLX5_CMD_STAT_BAD_PARAM_ERR },
		{ base, PAGE, 0, 0, MLX5_CMD_STAT_BAD_PARAM_ERR },
		{ base, PAGE, PAGE + 1, 0, MLX5_CMD_STAT_BAD_PARAM_ERR },
		{ base, PAGE, PAGE, 0, MLX5_CMD_STAT_OK },
		{ U64_MAX - PAGE + 1, PAGE, 1, 0, MLX5_CMD_STAT_BAD_PARAM_ERR },
		{ 0, PAGE, 1, 0, MLX5_CMD_STAT_BAD_PARAM_ERR },
		/* The alignment counts from 64 bytes; 4 KiB is the most. */
		{ base, PAGE, 1, 6, MLX5_CMD_STAT_OK },
		{ base, PAGE, 1, 7, MLX5_CMD_STAT_BAD_PARAM_ERR },
	};
	struct vhca *v = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		KUNIT_EXPECT_EQ_MSG(test, alloc(test, requests[i].start,
						requests[i].range, requests[i].size,
						requests[i].log_align),
				    requests[i].status, "request %u", i);
		vhca_ledger_forget(v);
		KUNIT_EXPECT_TRUE(test, bitmap_empty(v->memic_pages,
						     VHCA_MEMIC_MAX_PAGES));
	}
	/* The driver may ask for what cannot be. */
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 0);
}

/* A page has one owner, also where it is the last of several. */
static void memic_alloc_busy_page(struct kunit *test)
{
	const u64 base = VHCA_MEMIC_BASE;
	struct vhca *v = test->priv;

	KUNIT_ASSERT_EQ(test, alloc(test, base + 2 * PAGE, 2 * PAGE, PAGE + 1, 0),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, bitmap_weight(v->memic_pages, VHCA_MEMIC_MAX_PAGES), 2);
	KUNIT_EXPECT_EQ(test, alloc(test, base + PAGE, 2 * PAGE, PAGE + 1, 0),
			MLX5_CMD_STAT_NO_RES_ERR);
	vhca_kunit_expect_violation(test, 0, "memic_busy_page", base + PAGE,
				    base + 2 * PAGE);
	KUNIT_EXPECT_EQ(test, alloc(test, base + 3 * PAGE, PAGE, 1, 0),
			MLX5_CMD_STAT_NO_RES_ERR);
	vhca_kunit_expect_violation(test, 1, "memic_busy_page", base + 3 * PAGE,
				    base + 3 * PAGE);
	KUNIT_EXPECT_EQ(test, bitmap_weight(v->memic_pages, VHCA_MEMIC_MAX_PAGES), 2);
	/* Their neighbours are free. */
	KUNIT_EXPECT_EQ(test, alloc(test, base + PAGE, PAGE, PAGE, 0), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, alloc(test, base + 4 * PAGE, PAGE, 1, 0),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 2);
}

static void memic_dealloc_wants_the_same(struct kunit *test)
{
	const u64 start = VHCA_MEMIC_BASE + PAGE;
	struct vhca *v = test->priv;

	KUNIT_ASSERT_EQ(test, alloc(test, start, PAGE, 100, 0), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, dealloc(test, start, 101), MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, 0, "memic_dealloc_of_free", start, 101);
	KUNIT_EXPECT_EQ(test, dealloc(test, start + PAGE, 100),
			MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, 1, "memic_dealloc_of_free", start + PAGE, 100);
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_MEMIC], 1);
	KUNIT_EXPECT_EQ(test, dealloc(test, start, 100), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_TRUE(test, bitmap_empty(v->memic_pages, VHCA_MEMIC_MAX_PAGES));
	KUNIT_EXPECT_EQ(test, dealloc(test, start, 100), MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, 2, "memic_dealloc_of_free", start, 100);
}

/* The next owner finds nothing of the last one, and neighbours lose nothing. */
static void memic_dealloc_clears_pages(struct kunit *test)
{
	const u64 start = VHCA_MEMIC_BASE + 2 * PAGE;
	struct vhca *v = test->priv;
	u8 *memory = (u8 __force *)v->memic;

	memset(memory, 0xaa, VHCA_KUNIT_MEMIC);
	KUNIT_ASSERT_EQ(test, alloc(test, start, 2 * PAGE, PAGE + 1, 0),
			MLX5_CMD_STAT_OK);
	KUNIT_ASSERT_EQ(test, dealloc(test, start, PAGE + 1), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_NULL(test, memchr_inv(memory, 0xaa, 2 * PAGE));
	KUNIT_EXPECT_NULL(test, memchr_inv(memory + 2 * PAGE, 0, 2 * PAGE));
	KUNIT_EXPECT_NULL(test, memchr_inv(memory + 4 * PAGE, 0xaa,
					   VHCA_KUNIT_MEMIC - 4 * PAGE));
}

/* Nor what was written by way of an operation. */
static void memic_operation_dealloc_clears_pages(struct kunit *test)
{
	const u64 start = VHCA_MEMIC_BASE + PAGE;
	struct vhca *v = test->priv;
	u8 *memory = (u8 __force *)v->memic_operations;
	u64 address;

	memset(memory, 0xaa, 2 * VHCA_KUNIT_MEMIC);
	KUNIT_ASSERT_EQ(test, alloc(test, start, 2 * PAGE, PAGE + 1, 0), MLX5_CMD_STAT_OK);
	KUNIT_ASSERT_EQ(test, operation_alloc(test, start, 1, &address), MLX5_CMD_STAT_OK);
	KUNIT_ASSERT_EQ(test, operation_dealloc(test, start, 1), MLX5_CMD_STAT_OK);
	memory += address - VHCA_MEMIC_OPS_BASE;
	KUNIT_EXPECT_EQ(test, memory[-1], 0xaa);
	KUNIT_EXPECT_NULL(test, memchr_inv(memory, 0, 2 * PAGE));
	KUNIT_EXPECT_EQ(test, memory[2 * PAGE], 0xaa);
}

/* Each operation has addresses of its own, beside those of the memory. */
static void memic_operation_addresses(struct kunit *test)
{
	const u64 first = VHCA_MEMIC_BASE;
	const u64 last = VHCA_MEMIC_BASE + VHCA_KUNIT_MEMIC - PAGE;
	u64 address[4];
	unsigned int i, j;

	KUNIT_ASSERT_EQ(test, alloc(test, first, PAGE, 1, 0), MLX5_CMD_STAT_OK);
	KUNIT_ASSERT_EQ(test, alloc(test, last, PAGE, 1, 0), MLX5_CMD_STAT_OK);
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, operation_alloc(test, i & 2 ? last : first, i & 1,
						      &address[i]),
				MLX5_CMD_STAT_OK);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_GE(test, address[i], VHCA_MEMIC_OPS_BASE);
		KUNIT_EXPECT_LT(test, address[i], VHCA_MEMIC_OPS_BASE +
				VHCA_MEMIC_NR_OPERATIONS * VHCA_KUNIT_MEMIC);
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_NE(test, address[i], address[j]);
	}
	KUNIT_EXPECT_EQ(test, address[0], VHCA_MEMIC_OPS_BASE);
}

static void memic_operation_refuses(struct kunit *test)
{
	const u64 start = VHCA_MEMIC_BASE;
	struct vhca *v = test->priv;

	KUNIT_ASSERT_EQ(test, alloc(test, start, PAGE, 1, 0), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, operation_alloc(test, start, VHCA_MEMIC_NR_OPERATIONS,
					      NULL), MLX5_CMD_STAT_BAD_PARAM_ERR);
	KUNIT_EXPECT_EQ(test, operation_alloc(test, start - PAGE, 0, NULL),
			MLX5_CMD_STAT_BAD_PARAM_ERR);
	KUNIT_EXPECT_EQ(test, operation_alloc(test, start + VHCA_KUNIT_MEMIC, 0, NULL),
			MLX5_CMD_STAT_BAD_PARAM_ERR);
	KUNIT_EXPECT_EQ(test, modify(test, 2, start, 0,
				     MLX5_ST_SZ_BYTES(modify_memic_out), NULL),
			MLX5_CMD_STAT_BAD_PARAM_ERR);
	/* Its address does not fit into the answer to a deallocation. */
	KUNIT_EXPECT_EQ(test, modify(test, MLX5_MODIFY_MEMIC_OP_MOD_ALLOC, start, 0,
				     MLX5_ST_SZ_BYTES(modify_memic_out) - 1, NULL),
			MLX5_CMD_STAT_BAD_OUTP_LEN_ERR);
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 0);
	/* These the driver does not ask for if its counts are right. */
	KUNIT_EXPECT_EQ(test, operation_alloc(test, start + PAGE, 1, NULL),
			MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, 0, "memic_operation_on_free", start + PAGE, 1);
	KUNIT_EXPECT_EQ(test, operation_dealloc(test, start, 0),
			MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, 1, "memic_operation_dealloc_of_free", start, 0);
	KUNIT_EXPECT_EQ(test, operation_alloc(test, start, 0, NULL), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, operation_alloc(test, start, 0, NULL),
			MLX5_CMD_STAT_BAD_RES_STATE_ERR);
	vhca_kunit_expect_violation(test, 2, "memic_operation_double_alloc", start, 0);
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_MEMIC_OPERATION], 1);
	KUNIT_EXPECT_EQ(test, operation_dealloc(test, start, 0), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, operation_dealloc(test, start, 0),
			MLX5_CMD_STAT_BAD_RES_ERR);
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_MEMIC_OPERATION], 0);
}

/* Memory that goes under an operation; another's operation does not matter. */
static void memic_dealloc_under_operation(struct kunit *test)
{
	const u64 start = VHCA_MEMIC_BASE, other = VHCA_MEMIC_BASE + PAGE;
	struct vhca *v = test->priv;
	u64 address;

	KUNIT_ASSERT_EQ(test, alloc(test, start, PAGE, 1, 0), MLX5_CMD_STAT_OK);
	KUNIT_ASSERT_EQ(test, alloc(test, other, PAGE, 1, 0), MLX5_CMD_STAT_OK);
	KUNIT_ASSERT_EQ(test, operation_alloc(test, start, 1, &address),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, dealloc(test, other, 1), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 0);
	KUNIT_EXPECT_EQ(test, dealloc(test, start, 1), MLX5_CMD_STAT_OK);
	vhca_kunit_expect_violation(test, 0, "memic_freed_under_operation", start,
				    address);
}

static struct kunit_case vhca_memic_cases[] = {
	KUNIT_CASE(memic_alloc_refuses),
	KUNIT_CASE(memic_alloc_busy_page),
	KUNIT_CASE(memic_dealloc_wants_the_same),
	KUNIT_CASE(memic_dealloc_clears_pages),
	KUNIT_CASE(memic_operation_dealloc_clears_pages),
	KUNIT_CASE(memic_operation_addresses),
	KUNIT_CASE(memic_operation_refuses),
	KUNIT_CASE(memic_dealloc_under_operation),
	{}
};

static struct kunit_suite vhca_memic_suite = {
	.name		= "mlx5_vhca_memic",
	.init		= vhca_kunit_init,
	.test_cases	= vhca_memic_cases,
};

kunit_test_suite(vhca_memic_suite);
