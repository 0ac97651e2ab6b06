// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of the fault rules: how they are written, and what they act on.
 */
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "device_kunit.h"

#define RULE	"opcode=ALLOC_PD status=limits_exceeded"

static char *copy(struct kunit *test, const char *text)
{
	char *line = kunit_kstrdup(test, text, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, line);
	return line;
}

static struct vhca_fault parse(struct kunit *test, const char *text)
{
	struct vhca_refusal refusal = {};
	struct vhca_fault fault;

	KUNIT_ASSERT_TRUE_MSG(test, vhca_fault_parse(&fault, copy(test, text),
						     &refusal),
			      "'%s' is refused: %s", text, refusal.text);
	return fault;
}

/* What is refused is named, and so is what is expected. */
static void expect_refusal(struct kunit *test, const char *text, const char *got,
			   const char *expected)
{
	struct vhca_refusal refusal = {};
	struct vhca_fault fault;

	KUNIT_EXPECT_FALSE_MSG(test, vhca_fault_parse(&fault, copy(test, text),
						      &refusal),
			       "'%s' is taken", text);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(refusal.text, got),
				  "'%s': %s", text, refusal.text);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(refusal.text, expected),
				  "'%s': %s", text, refusal.text);
}

static void fault_parse_has_defaults(struct kunit *test)
{
	struct vhca_fault fault = parse(test, RULE);

	KUNIT_EXPECT_EQ(test, fault.opcode, MLX5_CMD_OP_ALLOC_PD);
	KUNIT_EXPECT_EQ(test, fault.nth, 1);
	KUNIT_EXPECT_EQ(test, fault.count, 1);
	KUNIT_EXPECT_EQ(test, fault.status, MLX5_CMD_STAT_LIM_ERR);
	KUNIT_EXPECT_EQ(test, fault.delay_ms, 0);
	KUNIT_EXPECT_EQ(test, fault.seen, 0);
	KUNIT_EXPECT_EQ(test, fault.hits, 0);
}

static void fault_parse_any_order(struct kunit *test)
{
	struct vhca_fault fault =
		parse(test, "\tdelay_ms=0x10  count=3 status=bad_QP_state\tnth=2 opcode=0x800 ");

	KUNIT_EXPECT_EQ(test, fault.opcode, 0x800);
	KUNIT_EXPECT_EQ(test, fault.nth, 2);
	KUNIT_EXPECT_EQ(test, fault.count, 3);
	KUNIT_EXPECT_EQ(test, fault.status, MLX5_CMD_STAT_BAD_QP_STATE_ERR);
	KUNIT_EXPECT_EQ(test, fault.delay_ms, 16);
}

static void fault_parse_bounds(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, parse(test, "opcode=1 status=1").opcode, 1);
	KUNIT_EXPECT_EQ(test, parse(test, "opcode=65535 status=1").opcode, 0xffff);
	KUNIT_EXPECT_EQ(test, parse(test, RULE " nth=4294967295").nth, U32_MAX);
	KUNIT_EXPECT_EQ(test, parse(test, RULE " count=4294967294").count,
			U32_MAX - 1);
	KUNIT_EXPECT_EQ(test, parse(test, RULE " count=all").count,
			VHCA_FAULT_ALWAYS);
	KUNIT_EXPECT_EQ(test, parse(test, "opcode=1 status=255").status, 0xff);
	KUNIT_EXPECT_EQ(test, parse(test, "opcode=1 delay_ms=600000").delay_ms,
			VHCA_FAULT_MAX_DELAY);
	/* One effect is enough, whichever. */
	KUNIT_EXPECT_EQ(test, parse(test, "opcode=1 delay_ms=1").status, 0);
}

static void fault_parse_refuses_values(struct kunit *test)
{
	static const char * const opcodes[] = {
		"0", "65536", "-1", "alloc_pd", "NOP_", "", "0x", "1x",
	};
	static const char * const nths[] = { "0", "4294967296", "-1", "all", "" };
	/* The largest number would be taken for all. */
	static const char * const counts[] = { "0", "4294967295", "-1", "ALL", "" };
	static const char * const statuses[] = {
		"0", "256", "OK", "ok", "limits exceeded", "Limits_exceeded", "",
	};
	static const char * const delays[] = { "0", "600001", "-1", "1ms", "" };
	static const struct {
		const char *key, *rest, *expected;
		const char * const *values;
		unsigned int nr;
	} keys[] = {
		{ "opcode", "status=1", "or a number from 1 to 65535", opcodes,
		  ARRAY_SIZE(opcodes) },
		{ "nth", RULE, "a number from 1", nths, ARRAY_SIZE(nths) },
		{ "count", RULE, "a number from 1, or all", counts,
		  ARRAY_SIZE(counts) },
		{ "status", "opcode=1", "or a number from 1 to 255", statuses,
		  ARRAY_SIZE(statuses) },
		{ "delay_ms", "opcode=1", "a number from 1 to 600000", delays,
		  ARRAY_SIZE(delays) },
	};
	char text[128], got[64];
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		for (j = 0; j < keys[i].nr; j++) {
			snprintf(text, sizeof(text), "%s %s=%s", keys[i].rest,
				 keys[i].key, keys[i].values[j]);
			/* A blank ends a value. */
			snprintf(got, sizeof(got), "got '%s=%.*s'", keys[i].key,
				 (int)strcspn(keys[i].values[j], " "),
				 keys[i].values[j]);
			expect_refusal(test, text, got, keys[i].expected);
		}
	}
}

static void fault_parse_refuses_words(struct kunit *test)
{
	static const char keys[] = "expected opcode=, nth=, count=, status= or delay_ms=";

	expect_refusal(test, RULE " times=2", "got 'times='", keys);
	expect_refusal(test, RULE " nth", "got 'nth'", keys);
	expect_refusal(test, RULE " =2", "got '='", keys);
	expect_refusal(test, RULE " Nth=2", "got 'Nth='", keys);
	expect_refusal(test, RULE " nth=1 nth=1", "got 'nth=1'",
		       "expected each key once in a line");
	expect_refusal(test, "status=1 nth=2", "got a line without opcode=",
		       "expected one");
	expect_refusal(test, "", "got a line without opcode=", "expected one");
	expect_refusal(test, "opcode=0x800 nth=2", "got opcode=0x800 without an effect",
		       "expected status= or delay_ms=");
}

/* The text of a refusal has a limit, whatever it is that is refused. */
static void fault_parse_refusal_is_bounded(struct kunit *test)
{
	struct vhca_refusal *refusal = kunit_kzalloc(test, sizeof(*refusal),
						     GFP_KERNEL);
	char *line = kunit_kzalloc(test, SZ_4K, GFP_KERNEL);
	struct vhca_fault fault;

	KUNIT_ASSERT_NOT_NULL(test, refusal);
	KUNIT_ASSERT_NOT_NULL(test, line);
	memset(line, 'x', SZ_4K - 1);
	memcpy(line, "status=", 7);
	KUNIT_EXPECT_FALSE(test, vhca_fault_parse(&fault, line, refusal));
	KUNIT_EXPECT_LT(test, strnlen(refusal->text, sizeof(refusal->text)),
			sizeof(refusal->text) - 1);
}

/* Each status by the name that it is printed with, and each number. */
static void fault_show_can_be_written(struct kunit *test)
{
	struct seq_file m = { .size = 256 };
	struct vhca_fault before, after;
	unsigned int status;
	char text[128];

	m.buf = kunit_kzalloc(test, m.size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m.buf);
	for (status = 1; status < 256; status++) {
		snprintf(text, sizeof(text),
			 "opcode=0xfff nth=4294967295 count=all status=0x%x delay_ms=600000",
			 status);
		before = parse(test, text);
		m.count = 0;
		vhca_fault_show(&m, &before);
		KUNIT_ASSERT_LT(test, m.count, m.size);
		m.buf[m.count] = '\0';
		after = parse(test, m.buf);
		KUNIT_ASSERT_EQ(test, after.opcode, 0xfff);
		KUNIT_ASSERT_EQ(test, after.nth, U32_MAX);
		KUNIT_ASSERT_EQ(test, after.count, VHCA_FAULT_ALWAYS);
		KUNIT_ASSERT_EQ(test, after.status, status);
		KUNIT_ASSERT_EQ(test, after.delay_ms, VHCA_FAULT_MAX_DELAY);
	}
	before = parse(test, RULE);
	m.count = 0;
	vhca_fault_show(&m, &before);
	m.buf[m.count] = '\0';
	KUNIT_EXPECT_STREQ(test, m.buf,
			   "opcode=ALLOC_PD nth=1 count=1 status=limits_exceeded");
}

static int write(struct kunit *test, const char *text)
{
	return vhca_fault_write(test->priv, copy(test, text));
}

/* So many lines, each a rule with a delay of its own. */
static char *rules(struct kunit *test, const char *first, unsigned int nr)
{
	char *text = kunit_kzalloc(test, SZ_4K, GFP_KERNEL);
	size_t used;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, text);
	used = scnprintf(text, SZ_4K, "%s", first);
	for (i = 1; i <= nr; i++)
		used += scnprintf(text + used, SZ_4K - used,
				  "opcode=1 delay_ms=%u\n", i);
	KUNIT_ASSERT_LT(test, used, SZ_4K - 1);
	return text;
}

static void fault_write_is_all_or_nothing(struct kunit *test)
{
	struct vhca *v = test->priv;

	KUNIT_EXPECT_EQ(test, write(test, RULE "\n" RULE " nth=2\n"), 0);
	KUNIT_EXPECT_EQ(test, v->faults.nr, 2);
	KUNIT_EXPECT_EQ(test, v->faults.rules[1].nth, 2);
	KUNIT_EXPECT_EQ(test, write(test, RULE "\nclear\n" RULE " nth=0\n"), -EINVAL);
	KUNIT_EXPECT_EQ(test, v->faults.nr, 2);
	KUNIT_EXPECT_EQ(test, v->faults.rules[1].nth, 2);
}

static void fault_write_clears(struct kunit *test)
{
	static const char * const clears[] = { "clear", "clear\n", "", "\n", " \t\n" };
	struct vhca *v = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(clears); i++) {
		KUNIT_ASSERT_EQ(test, write(test, RULE), 0);
		KUNIT_EXPECT_EQ(test, v->faults.nr, 1);
		KUNIT_EXPECT_EQ(test, write(test, clears[i]), 0);
		KUNIT_EXPECT_EQ_MSG(test, v->faults.nr, 0, "after '%s'", clears[i]);
	}
	/* What stands before it goes, what stands behind stays. */
	KUNIT_EXPECT_EQ(test, write(test, RULE), 0);
	KUNIT_EXPECT_EQ(test, write(test, RULE " nth=2\nclear\n" RULE " nth=3\n"), 0);
	KUNIT_ASSERT_EQ(test, v->faults.nr, 1);
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].nth, 3);
}

static void fault_write_has_a_limit(struct kunit *test)
{
	struct vhca *v = test->priv;

	KUNIT_EXPECT_EQ(test, vhca_fault_write(v, rules(test, "", VHCA_MAX_FAULTS + 1)),
			-ENOSPC);
	KUNIT_EXPECT_EQ(test, v->faults.nr, 0);
	KUNIT_EXPECT_EQ(test, vhca_fault_write(v, rules(test, "", VHCA_MAX_FAULTS)), 0);
	KUNIT_EXPECT_EQ(test, v->faults.nr, VHCA_MAX_FAULTS);
	KUNIT_EXPECT_EQ(test, v->faults.rules[VHCA_MAX_FAULTS - 1].delay_ms,
			VHCA_MAX_FAULTS);
	KUNIT_EXPECT_EQ(test, write(test, RULE), -ENOSPC);
	KUNIT_EXPECT_EQ(test, v->faults.nr, VHCA_MAX_FAULTS);
	/* There is room for as many once they are cleared, in one go. */
	KUNIT_EXPECT_EQ(test, vhca_fault_write(v, rules(test, "clear\n",
							VHCA_MAX_FAULTS)), 0);
	KUNIT_EXPECT_EQ(test, v->faults.nr, VHCA_MAX_FAULTS);
}

static void fault_close_takes_no_more(struct kunit *test)
{
	struct vhca *v = test->priv;

	KUNIT_EXPECT_EQ(test, write(test, RULE " count=all"), 0);
	v->cmdq_entries[0].due_ns = U64_MAX;
	v->cmdq_entries[1].due_ns = U64_MAX;
	vhca_fault_close(v);
	KUNIT_EXPECT_EQ(test, v->faults.nr, 0);
	/* What is delayed is delayed no longer. */
	KUNIT_EXPECT_EQ(test, v->cmdq_entries[0].due_ns, 0);
	KUNIT_EXPECT_EQ(test, v->cmdq_entries[1].due_ns, 0);
	KUNIT_EXPECT_EQ(test, write(test, RULE), -ENODEV);
	KUNIT_EXPECT_EQ(test, write(test, "clear"), -ENODEV);
	KUNIT_EXPECT_EQ(test, v->faults.nr, 0);
	KUNIT_EXPECT_EQ(test, vhca_fault_apply(v, MLX5_CMD_OP_ALLOC_PD).status, 0);
}

static void fault_apply_nth_and_count(struct kunit *test)
{
	struct vhca *v = test->priv;
	struct vhca_fault_effect effect;
	unsigned int n;

	KUNIT_ASSERT_EQ(test, write(test, RULE " nth=3 count=2 delay_ms=5"), 0);
	for (n = 1; n <= 6; n++) {
		bool acts = n == 3 || n == 4;

		/* Other commands do not count. */
		effect = vhca_fault_apply(v, MLX5_CMD_OP_DEALLOC_PD);
		KUNIT_EXPECT_EQ(test, effect.status, 0);
		KUNIT_EXPECT_EQ(test, effect.delay_ms, 0);
		effect = vhca_fault_apply(v, MLX5_CMD_OP_ALLOC_PD);
		KUNIT_EXPECT_EQ_MSG(test, effect.status,
				    acts ? MLX5_CMD_STAT_LIM_ERR : 0, "command %u", n);
		KUNIT_EXPECT_EQ_MSG(test, effect.delay_ms, acts ? 5 : 0,
				    "command %u", n);
	}
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].seen, 6);
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].hits, 2);
}

static void fault_apply_all_from_nth(struct kunit *test)
{
	struct vhca *v = test->priv;
	unsigned int n;

	KUNIT_ASSERT_EQ(test, write(test, RULE " nth=2 count=all"), 0);
	KUNIT_EXPECT_EQ(test, vhca_fault_apply(v, MLX5_CMD_OP_ALLOC_PD).status, 0);
	for (n = 0; n < 5; n++)
		KUNIT_EXPECT_EQ(test, vhca_fault_apply(v, MLX5_CMD_OP_ALLOC_PD).status,
				MLX5_CMD_STAT_LIM_ERR);
	/* As many commands as nobody sends. */
	v->faults.rules[0].seen = U64_MAX / 2;
	KUNIT_EXPECT_EQ(test, vhca_fault_apply(v, MLX5_CMD_OP_ALLOC_PD).status,
			MLX5_CMD_STAT_LIM_ERR);
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].hits, 6);
}

/* Of two that would act, the first does; both have seen the command. */
static void fault_apply_first_rule(struct kunit *test)
{
	struct vhca *v = test->priv;
	const struct vhca_fault *rules = v->faults.rules;

	KUNIT_ASSERT_EQ(test, write(test, "opcode=ALLOC_PD delay_ms=9\n"
					  RULE " count=2"), 0);
	KUNIT_EXPECT_EQ(test, vhca_fault_apply(v, MLX5_CMD_OP_ALLOC_PD).status, 0);
	KUNIT_EXPECT_EQ(test, rules[0].hits, 1);
	KUNIT_EXPECT_EQ(test, rules[1].hits, 0);
	KUNIT_EXPECT_EQ(test, rules[1].seen, 1);
	KUNIT_EXPECT_EQ(test, vhca_fault_apply(v, MLX5_CMD_OP_ALLOC_PD).status,
			MLX5_CMD_STAT_LIM_ERR);
	KUNIT_EXPECT_EQ(test, rules[0].hits, 1);
	KUNIT_EXPECT_EQ(test, rules[1].hits, 1);
	/* The second's two were the first two that it has seen. */
	KUNIT_EXPECT_EQ(test, vhca_fault_apply(v, MLX5_CMD_OP_ALLOC_PD).status, 0);
}

static struct kunit_case vhca_fault_cases[] = {
	KUNIT_CASE(fault_parse_has_defaults),
	KUNIT_CASE(fault_parse_any_order),
	KUNIT_CASE(fault_parse_bounds),
	KUNIT_CASE(fault_parse_refuses_values),
	KUNIT_CASE(fault_parse_refuses_words),
	KUNIT_CASE(fault_parse_refusal_is_bounded),
	KUNIT_CASE(fault_show_can_be_written),
	KUNIT_CASE(fault_write_is_all_or_nothing),
	KUNIT_CASE(fault_write_clears),
	KUNIT_CASE(fault_write_has_a_limit),
	KUNIT_CASE(fault_close_takes_no_more),
	KUNIT_CASE(fault_apply_nth_and_count),
	KUNIT_CASE(fault_apply_all_from_nth),
	KUNIT_CASE(fault_apply_first_rule),
	{}
};

static struct kunit_suite vhca_fault_suite = {
	.name		= "mlx5_vhca_fault",
	.init		= vhca_kunit_init,
	.test_cases	= vhca_fault_cases,
};

kunit_test_suite(vhca_fault_suite);
