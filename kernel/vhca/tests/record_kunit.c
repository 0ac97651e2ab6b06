// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of the record: the last commands, totals by opcode, violations.
 */
#include <linux/ktime.h>

#include "device_kunit.h"

static void record_history_keeps_the_last(struct kunit *test)
{
	struct vhca *v = test->priv;
	const u64 commands = VHCA_HISTORY + 10;
	struct vhca_cmd cmd = { .opcode = MLX5_CMD_OP_ALLOC_PD };
	u64 seq;

	for (seq = 1; seq <= commands; seq++) {
		cmd.seq = seq;
		cmd.object = seq * 3;
		vhca_record_command(v, &cmd, 0);
	}
	/* The first ten are gone, and none but them. */
	for (seq = commands - VHCA_HISTORY + 1; seq <= commands; seq++) {
		KUNIT_ASSERT_EQ(test, v->recorder.history[seq % VHCA_HISTORY].seq,
				seq);
		KUNIT_ASSERT_EQ(test, v->recorder.history[seq % VHCA_HISTORY].object,
				seq * 3);
	}
}

static void record_history_has_all_of_a_command(struct kunit *test)
{
	struct vhca *v = test->priv;
	const u64 taken = ktime_get_ns() - NSEC_PER_SEC;
	const struct vhca_cmd cmd = {
		.seq = 7, .ns = taken, .object = BIT_ULL(40), .opcode = 0x801,
		.op_mod = 3, .uid = 9, .status = MLX5_CMD_STAT_LIM_ERR,
		.syndrome = 0x5ca00801,
	};
	const struct vhca_history_entry *entry = &v->recorder.history[7];

	vhca_record_command(v, &cmd, 5);
	KUNIT_EXPECT_EQ(test, entry->seq, 7);
	KUNIT_EXPECT_EQ(test, entry->ns, taken);
	/* From when it was taken, and not what executing it took. */
	KUNIT_EXPECT_GE(test, entry->took_ns, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, entry->object, BIT_ULL(40));
	KUNIT_EXPECT_EQ(test, entry->opcode, 0x801);
	KUNIT_EXPECT_EQ(test, entry->op_mod, 3);
	KUNIT_EXPECT_EQ(test, entry->uid, 9);
	KUNIT_EXPECT_EQ(test, entry->status, MLX5_CMD_STAT_LIM_ERR);
	KUNIT_EXPECT_EQ(test, entry->syndrome, 0x5ca00801);
}

static void record_totals_by_opcode(struct kunit *test)
{
	struct vhca_cmd good = { .opcode = 0x800 }, other = { .opcode = 0xffff };
	struct vhca_cmd bad = { .opcode = 0x800, .status = MLX5_CMD_STAT_LIM_ERR };
	struct vhca *v = test->priv;
	struct vhca_opcode_stats *stats;

	/* Only the first of an opcode is new. */
	KUNIT_EXPECT_TRUE(test, vhca_record_command(v, &good, 10));
	KUNIT_EXPECT_FALSE(test, vhca_record_command(v, &bad, 30));
	KUNIT_EXPECT_FALSE(test, vhca_record_command(v, &good, 20));
	KUNIT_EXPECT_TRUE(test, vhca_record_command(v, &other, 1));
	KUNIT_EXPECT_EQ(test, v->recorder.nr_opcodes, 2);

	stats = xa_load(&v->recorder.by_opcode, 0x800);
	KUNIT_ASSERT_NOT_NULL(test, stats);
	KUNIT_EXPECT_EQ(test, stats->opcode, 0x800);
	KUNIT_EXPECT_EQ(test, stats->count, 3);
	KUNIT_EXPECT_EQ(test, stats->errors, 1);
	KUNIT_EXPECT_EQ(test, stats->total_ns, 60);
	KUNIT_EXPECT_EQ(test, stats->max_ns, 30);
	stats = xa_load(&v->recorder.by_opcode, 0xffff);
	KUNIT_ASSERT_NOT_NULL(test, stats);
	KUNIT_EXPECT_EQ(test, stats->count, 1);
	KUNIT_EXPECT_EQ(test, stats->errors, 0);
}

/* The first are kept, all are counted. */
static void record_violations_are_bounded(struct kunit *test)
{
	struct vhca *v = test->priv;
	const struct vhca_violation *first = v->recorder.violations;
	const struct vhca_violation *last = first + VHCA_MAX_VIOLATIONS - 1;
	unsigned int i;

	for (i = 0; i < VHCA_MAX_VIOLATIONS + 5; i++) {
		v->recorder.seq = i;
		vhca_record_violation(v, "test", i, 2 * i, i ? NULL : "pd");
	}
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, VHCA_MAX_VIOLATIONS + 5);
	KUNIT_EXPECT_EQ(test, first->object, 0);
	KUNIT_EXPECT_STREQ(test, first->kind, "pd");
	KUNIT_EXPECT_EQ(test, last->object, VHCA_MAX_VIOLATIONS - 1);
	KUNIT_EXPECT_EQ(test, last->detail, 2 * (VHCA_MAX_VIOLATIONS - 1));
	KUNIT_EXPECT_EQ(test, last->seq, VHCA_MAX_VIOLATIONS - 1);
	KUNIT_EXPECT_STREQ(test, last->what, "test");
	KUNIT_EXPECT_NULL(test, last->kind);
}

static struct kunit_case vhca_record_cases[] = {
	KUNIT_CASE(record_history_keeps_the_last),
	KUNIT_CASE(record_history_has_all_of_a_command),
	KUNIT_CASE(record_totals_by_opcode),
	KUNIT_CASE(record_violations_are_bounded),
	{}
};

static struct kunit_suite vhca_record_suite = {
	.name		= "mlx5_vhca_record",
	.init		= vhca_kunit_init,
	.test_cases	= vhca_record_cases,
};

kunit_test_suite(vhca_record_suite);
