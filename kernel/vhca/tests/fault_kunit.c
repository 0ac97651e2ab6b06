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

static const struct vhca_fault *parse(struct kunit *test, const char *text)
{
	struct vhca_fault *fault = kunit_kzalloc(test, sizeof(*fault), GFP_KERNEL);
	struct vhca_refusal refusal = {};

	KUNIT_ASSERT_NOT_NULL(test, fault);
	KUNIT_ASSERT_TRUE_MSG(test, vhca_fault_parse(fault, copy(test, text),
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

static struct vhca_fault_effect apply(struct vhca *v, u16 opcode)
{
	const struct vhca_fault_subject subject = { .opcode = opcode };

	return vhca_fault_apply(v, &subject);
}

static struct vhca_fault_effect apply_to(struct vhca *v, u16 opcode, u16 op_mod,
					 u64 object)
{
	const struct vhca_fault_subject subject = {
		.opcode	= opcode,
		.op_mod	= op_mod,
		.object	= object,
	};

	return vhca_fault_apply(v, &subject);
}

static void fault_parse_has_defaults(struct kunit *test)
{
	const struct vhca_fault *fault = parse(test, RULE);

	KUNIT_EXPECT_EQ(test, fault->opcode, MLX5_CMD_OP_ALLOC_PD);
	KUNIT_EXPECT_EQ(test, fault->nth, 1);
	KUNIT_EXPECT_EQ(test, fault->count, 1);
	KUNIT_EXPECT_EQ(test, fault->effect.status, MLX5_CMD_STAT_LIM_ERR);
	KUNIT_EXPECT_EQ(test, fault->effect.syndrome, 0);
	KUNIT_EXPECT_EQ(test, fault->effect.delay_ms, 0);
	KUNIT_EXPECT_FALSE(test, fault->effect.hold);
	KUNIT_EXPECT_FALSE(test, fault->effect.no_answer);
	KUNIT_EXPECT_FALSE(test, fault->effect.drop_interrupt);
	KUNIT_EXPECT_FALSE(test, fault->any_opcode);
	KUNIT_EXPECT_FALSE(test, fault->has_op_mod);
	KUNIT_EXPECT_EQ(test, fault->object, 0);
	KUNIT_EXPECT_EQ(test, fault->queue, 0);
	KUNIT_EXPECT_EQ(test, fault->every, 1);
	KUNIT_EXPECT_EQ(test, fault->probability, VHCA_FAULT_CERTAIN);
	KUNIT_EXPECT_EQ(test, fault->seed, 0);
	KUNIT_EXPECT_FALSE(test, fault->stop_work);
	KUNIT_EXPECT_EQ(test, fault->seen, 0);
	KUNIT_EXPECT_EQ(test, fault->hits, 0);
}

static void fault_parse_any_order(struct kunit *test)
{
	const struct vhca_fault *fault =
		parse(test, "\tdelay_ms=0x10  count=3 status=bad_QP_state\tnth=2 opcode=0x800 ");

	KUNIT_EXPECT_EQ(test, fault->opcode, 0x800);
	KUNIT_EXPECT_EQ(test, fault->nth, 2);
	KUNIT_EXPECT_EQ(test, fault->count, 3);
	KUNIT_EXPECT_EQ(test, fault->effect.status, MLX5_CMD_STAT_BAD_QP_STATE_ERR);
	KUNIT_EXPECT_EQ(test, fault->effect.delay_ms, 16);
}

static void fault_parse_bounds(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, parse(test, "opcode=1 status=1")->opcode, 1);
	KUNIT_EXPECT_EQ(test, parse(test, "opcode=65535 status=1")->opcode, 0xffff);
	KUNIT_EXPECT_EQ(test, parse(test, RULE " nth=4294967295")->nth, U32_MAX);
	KUNIT_EXPECT_EQ(test, parse(test, RULE " count=4294967294")->count,
			U32_MAX - 1);
	KUNIT_EXPECT_EQ(test, parse(test, RULE " count=all")->count,
			VHCA_FAULT_ALWAYS);
	KUNIT_EXPECT_EQ(test, parse(test, "opcode=1 status=255")->effect.status, 0xff);
	KUNIT_EXPECT_EQ(test, parse(test, "opcode=1 delay_ms=600000")->effect.delay_ms,
			VHCA_FAULT_MAX_DELAY);
	KUNIT_EXPECT_TRUE(test, parse(test, "opcode=any status=1")->any_opcode);
	KUNIT_EXPECT_TRUE(test, parse(test, RULE " op_mod=0")->has_op_mod);
	KUNIT_EXPECT_EQ(test, parse(test, RULE " op_mod=65535")->op_mod, 0xffff);
	KUNIT_EXPECT_EQ(test, parse(test, RULE " object=0xffffffffffffffff")->object,
			U64_MAX);
	KUNIT_EXPECT_EQ(test, parse(test, RULE " every=4294967295")->every, U32_MAX);
	KUNIT_EXPECT_EQ(test, parse(test, RULE " probability=1")->probability, 1);
	KUNIT_EXPECT_EQ(test, parse(test, RULE " probability=1000")->probability,
			VHCA_FAULT_CERTAIN);
	KUNIT_EXPECT_EQ(test, parse(test, RULE " probability=1 seed=18446744073709551615")->seed,
			U64_MAX);
	KUNIT_EXPECT_EQ(test, parse(test, RULE " syndrome=0xffffffff")->effect.syndrome,
			U32_MAX);
	KUNIT_EXPECT_EQ(test, parse(test, "queue=0xffffff stop_work")->queue, 0xffffff);
	KUNIT_EXPECT_EQ(test, parse(test, "queue=any stop_work")->queue,
			VHCA_FAULT_ANY_QUEUE);
	/* One effect is enough, whichever. */
	KUNIT_EXPECT_TRUE(test, parse(test, "opcode=1 hold")->effect.hold);
	KUNIT_EXPECT_TRUE(test, parse(test, "opcode=1 no_answer")->effect.no_answer);
	KUNIT_EXPECT_TRUE(test, parse(test, "opcode=1 drop_interrupt")->effect.drop_interrupt);
	KUNIT_EXPECT_TRUE(test, parse(test, "queue=1 stop_work")->stop_work);
	KUNIT_EXPECT_EQ(test, parse(test, "opcode=1 delay_ms=1")->effect.status, 0);
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
	static const char * const op_mods[] = { "65536", "-1", "any", "" };
	static const char * const objects[] = { "0", "18446744073709551616", "-1", "any", "" };
	static const char * const everies[] = { "0", "4294967296", "-1", "" };
	static const char * const probabilities[] = { "0", "1001", "-1", "50%", "0.5", "" };
	static const char * const seeds[] = { "18446744073709551616", "-1", "x", "" };
	static const char * const syndromes[] = { "0", "4294967296", "-1", "" };
	static const char * const queues[] = { "0", "16777216", "-1", "all", "" };
	static const char * const flags[] = { "", "1", "no" };
	static const struct {
		const char *key, *rest, *expected;
		const char * const *values;
		unsigned int nr;
	} keys[] = {
		{ "opcode", "status=1", "a number from 1 to 65535, or any", opcodes,
		  ARRAY_SIZE(opcodes) },
		{ "nth", RULE, "a number from 1", nths, ARRAY_SIZE(nths) },
		{ "count", RULE, "a number from 1, or all", counts,
		  ARRAY_SIZE(counts) },
		{ "status", "opcode=1", "or a number from 1 to 255", statuses,
		  ARRAY_SIZE(statuses) },
		{ "delay_ms", "opcode=1", "a number from 1 to 600000", delays,
		  ARRAY_SIZE(delays) },
		{ "op_mod", RULE, "a number from 0 to 65535", op_mods,
		  ARRAY_SIZE(op_mods) },
		{ "object", RULE, "an id as in the ledger, from 1", objects,
		  ARRAY_SIZE(objects) },
		{ "every", RULE, "a number from 1", everies, ARRAY_SIZE(everies) },
		{ "probability", RULE, "a number from 1 to 1000", probabilities,
		  ARRAY_SIZE(probabilities) },
		{ "seed", RULE " probability=1", "a number", seeds,
		  ARRAY_SIZE(seeds) },
		{ "syndrome", RULE, "a number from 1 to 4294967295", syndromes,
		  ARRAY_SIZE(syndromes) },
		{ "queue", "stop_work", "from 1 to 16777215, or any", queues,
		  ARRAY_SIZE(queues) },
		{ "hold", "opcode=1", "no value", flags, ARRAY_SIZE(flags) },
		{ "no_answer", "opcode=1", "no value", flags, ARRAY_SIZE(flags) },
		{ "drop_interrupt", "opcode=1", "no value", flags, ARRAY_SIZE(flags) },
		{ "stop_work", "queue=1", "no value", flags, ARRAY_SIZE(flags) },
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
	static const char keys[] =
		"expected opcode=, op_mod=, object=, queue=, nth=, every=, count=, ";

	expect_refusal(test, RULE " times", "got 'times'",
		       "syndrome=, delay_ms=, hold, no_answer, drop_interrupt or stop_work");
	expect_refusal(test, RULE " times=2", "got 'times='", keys);
	expect_refusal(test, RULE " nth", "got 'nth'", keys);
	expect_refusal(test, RULE " =2", "got '='", keys);
	expect_refusal(test, RULE " Nth=2", "got 'Nth='", keys);
	expect_refusal(test, RULE " nth=1 nth=1", "got 'nth=1'",
		       "expected each key once in a line");
	expect_refusal(test, RULE " hold hold", "got 'hold'",
		       "expected each key once in a line");
	expect_refusal(test, "status=1 nth=2", "got a line without opcode= or queue=",
		       "expected one of them");
	expect_refusal(test, "", "got a line without opcode= or queue=",
		       "expected one of them");
}

/* Keys that need each other, or do not go together. */
static void fault_parse_refuses_combinations(struct kunit *test)
{
	static const struct {
		const char *line, *got, *expected;
	} lines[] = {
		{ "opcode=0x800 nth=2", "got opcode=",
		  "expected status=, delay_ms=, hold, no_answer or drop_interrupt with it" },
		{ "queue=1", "got queue=", "expected stop_work with it" },
		{ RULE " stop_work", "got stop_work", "expected queue= with it" },
		{ RULE " queue=1 stop_work", "got queue= with opcode=",
		  "expected one of them" },
		{ "queue=1 stop_work nth=2", "got nth=", "expected opcode= with it" },
		{ "queue=1 stop_work status=1", "got status=", "expected opcode= with it" },
		{ "queue=1 stop_work hold", "got hold", "expected opcode= with it" },
		{ RULE " seed=1", "got seed=", "expected probability= with it" },
		{ "opcode=1 hold syndrome=1", "got syndrome=", "expected status= with it" },
		{ "opcode=1 hold delay_ms=1", "got delay_ms= with hold",
		  "expected one of them" },
		{ "opcode=1 hold no_answer", "got no_answer with hold",
		  "expected one of them" },
		{ "opcode=1 drop_interrupt no_answer", "got drop_interrupt with no_answer",
		  "expected one of them" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lines); i++)
		expect_refusal(test, lines[i].line, lines[i].got, lines[i].expected);
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
	const struct vhca_fault *before, *after;
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
		vhca_fault_show(&m, before);
		KUNIT_ASSERT_LT(test, m.count, m.size);
		m.buf[m.count] = '\0';
		after = parse(test, m.buf);
		KUNIT_ASSERT_EQ(test, after->opcode, 0xfff);
		KUNIT_ASSERT_EQ(test, after->nth, U32_MAX);
		KUNIT_ASSERT_EQ(test, after->count, VHCA_FAULT_ALWAYS);
		KUNIT_ASSERT_EQ(test, after->effect.status, status);
		KUNIT_ASSERT_EQ(test, after->effect.delay_ms, VHCA_FAULT_MAX_DELAY);
	}
}

/* Each key, in the order of the table, and what is not written but holds. */
static void fault_show_each_key(struct kunit *test)
{
	static const struct {
		const char *written, *read;
	} lines[] = {
		{ RULE, "opcode=ALLOC_PD nth=1 count=1 status=limits_exceeded" },
		{ "hold every=3 object=0x2000000 op_mod=0 opcode=any",
		  "opcode=any op_mod=0x0 object=0x2000000 nth=1 every=3 count=1 hold" },
		{
			"no_answer probability=5 status=1 syndrome=7 opcode=0xfff count=all",
			"opcode=0xfff nth=1 count=all probability=5 seed=0 status=internal_error syndrome=0x7 no_answer",
		}, {
			"drop_interrupt probability=1000 seed=9 opcode=DEALLOC_PD delay_ms=3",
			"opcode=DEALLOC_PD nth=1 count=1 probability=1000 seed=9 delay_ms=3 drop_interrupt",
		},
		{ "stop_work queue=any", "queue=any stop_work" },
		{ "stop_work queue=17", "queue=0x11 stop_work" },
	};
	struct seq_file m = { .size = 256 };
	const struct vhca_fault *fault;
	unsigned int i;

	m.buf = kunit_kzalloc(test, m.size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m.buf);
	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		fault = parse(test, lines[i].written);
		m.count = 0;
		vhca_fault_show(&m, fault);
		KUNIT_ASSERT_LT(test, m.count, m.size);
		m.buf[m.count] = '\0';
		KUNIT_EXPECT_STREQ(test, m.buf, lines[i].read);
	}
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
	KUNIT_EXPECT_EQ(test, v->faults.rules[VHCA_MAX_FAULTS - 1].effect.delay_ms,
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
	KUNIT_EXPECT_EQ(test, apply(v, MLX5_CMD_OP_ALLOC_PD).status, 0);
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
		effect = apply(v, MLX5_CMD_OP_DEALLOC_PD);
		KUNIT_EXPECT_EQ(test, effect.status, 0);
		KUNIT_EXPECT_EQ(test, effect.delay_ms, 0);
		effect = apply(v, MLX5_CMD_OP_ALLOC_PD);
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
	KUNIT_EXPECT_EQ(test, apply(v, MLX5_CMD_OP_ALLOC_PD).status, 0);
	for (n = 0; n < 5; n++)
		KUNIT_EXPECT_EQ(test, apply(v, MLX5_CMD_OP_ALLOC_PD).status,
				MLX5_CMD_STAT_LIM_ERR);
	/* As many commands as nobody sends. */
	v->faults.rules[0].seen = U64_MAX / 2;
	KUNIT_EXPECT_EQ(test, apply(v, MLX5_CMD_OP_ALLOC_PD).status,
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
	KUNIT_EXPECT_EQ(test, apply(v, MLX5_CMD_OP_ALLOC_PD).status, 0);
	KUNIT_EXPECT_EQ(test, rules[0].hits, 1);
	KUNIT_EXPECT_EQ(test, rules[1].hits, 0);
	KUNIT_EXPECT_EQ(test, rules[1].seen, 1);
	KUNIT_EXPECT_EQ(test, apply(v, MLX5_CMD_OP_ALLOC_PD).status,
			MLX5_CMD_STAT_LIM_ERR);
	KUNIT_EXPECT_EQ(test, rules[0].hits, 1);
	KUNIT_EXPECT_EQ(test, rules[1].hits, 1);
	/* The second's two were the first two that it has seen. */
	KUNIT_EXPECT_EQ(test, apply(v, MLX5_CMD_OP_ALLOC_PD).status, 0);
}

/* Modifier and object select within the opcode, or within all. */
static void fault_apply_selects(struct kunit *test)
{
	struct vhca *v = test->priv;

	KUNIT_ASSERT_EQ(test, write(test, "opcode=0x207 op_mod=1 object=0x2001000 status=1"), 0);
	KUNIT_EXPECT_EQ(test, apply_to(v, 0x207, 1, 0x2001000).status, 1);
	KUNIT_EXPECT_EQ(test, apply_to(v, 0x207, 0, 0x2001000).status, 0);
	KUNIT_EXPECT_EQ(test, apply_to(v, 0x207, 1, 0x2002000).status, 0);
	KUNIT_EXPECT_EQ(test, apply_to(v, 0x206, 1, 0x2001000).status, 0);
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].seen, 1);
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].hits, 1);

	KUNIT_ASSERT_EQ(test, write(test, "clear\nopcode=any object=5 status=2 count=all"), 0);
	KUNIT_EXPECT_EQ(test, apply_to(v, MLX5_CMD_OP_DEALLOC_PD, 0, 5).status, 2);
	KUNIT_EXPECT_EQ(test, apply_to(v, MLX5_CMD_OP_DESTROY_CQ, 7, 5).status, 2);
	KUNIT_EXPECT_EQ(test, apply_to(v, MLX5_CMD_OP_DESTROY_CQ, 7, 6).status, 0);
	/* A modifier of 0 is one that is asked for, not none. */
	KUNIT_ASSERT_EQ(test, write(test, "clear\nopcode=any op_mod=0 status=3 count=all"), 0);
	KUNIT_EXPECT_EQ(test, apply_to(v, 1, 0, 9).status, 3);
	KUNIT_EXPECT_EQ(test, apply_to(v, 1, 1, 9).status, 0);
	/* A rule on queue pairs is not one on commands. */
	KUNIT_ASSERT_EQ(test, write(test, "clear\nqueue=any stop_work"), 0);
	KUNIT_EXPECT_EQ(test, apply_to(v, 0, 0, 0).status, 0);
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].seen, 0);
}

static void fault_apply_every(struct kunit *test)
{
	struct vhca *v = test->priv;
	unsigned int n;

	KUNIT_ASSERT_EQ(test, write(test, RULE " nth=2 every=3 count=3"), 0);
	for (n = 1; n <= 14; n++)
		KUNIT_EXPECT_EQ_MSG(test, apply(v, MLX5_CMD_OP_ALLOC_PD).status,
				    n == 2 || n == 5 || n == 8 ?
				    MLX5_CMD_STAT_LIM_ERR : 0, "command %u", n);
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].seen, 14);
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].hits, 3);
}

/* Which of 256 commands a rule acts on, a bit each. */
static void draw(struct kunit *test, const char *rule, unsigned long *bits)
{
	struct vhca *v = test->priv;
	unsigned int n;

	bitmap_zero(bits, 256);
	KUNIT_ASSERT_EQ(test, write(test, "clear"), 0);
	KUNIT_ASSERT_EQ(test, write(test, rule), 0);
	for (n = 0; n < 256; n++)
		if (apply(v, MLX5_CMD_OP_ALLOC_PD).status)
			__set_bit(n, bits);
}

/* The same seed, the same commands; another seed, others. */
static void fault_apply_probability(struct kunit *test)
{
	DECLARE_BITMAP(first, 256);
	DECLARE_BITMAP(second, 256);
	struct vhca *v = test->priv;

	draw(test, RULE " count=all probability=250 seed=7", first);
	draw(test, RULE " count=all probability=250 seed=7", second);
	KUNIT_EXPECT_TRUE(test, bitmap_equal(first, second, 256));
	/* Far more than what a quarter of them can miss by: the seed is given. */
	KUNIT_EXPECT_GE(test, bitmap_weight(first, 256), 32);
	KUNIT_EXPECT_LE(test, bitmap_weight(first, 256), 96);
	draw(test, RULE " count=all probability=250 seed=8", second);
	KUNIT_EXPECT_FALSE(test, bitmap_equal(first, second, 256));
	/* Without a seed it is 0. */
	draw(test, RULE " count=all probability=250", first);
	draw(test, RULE " count=all probability=250 seed=0", second);
	KUNIT_EXPECT_TRUE(test, bitmap_equal(first, second, 256));

	draw(test, RULE " count=all probability=1000 seed=7", first);
	KUNIT_EXPECT_TRUE(test, bitmap_full(first, 256));
	/* The count is of those that it acts on. */
	draw(test, RULE " count=5 probability=250 seed=7", first);
	KUNIT_EXPECT_EQ(test, bitmap_weight(first, 256), 5);
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].seen, 256);
	/* Others do not draw from it. */
	draw(test, RULE " count=all probability=250 seed=7\n"
	     "opcode=ALLOC_PD count=all probability=999 seed=1 delay_ms=1", first);
	draw(test, RULE " count=all probability=250 seed=7", second);
	KUNIT_EXPECT_TRUE(test, bitmap_equal(first, second, 256));
}

/* A queue pair is counted once for each rule that stops it. */
static void fault_stops_work(struct kunit *test)
{
	struct vhca_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);
	struct vhca *v = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, qp);
	qp->object.id = 0x41;
	KUNIT_EXPECT_FALSE(test, vhca_fault_stops_work(v, qp));
	KUNIT_ASSERT_EQ(test, write(test, "queue=0x40 stop_work\n" RULE), 0);
	KUNIT_EXPECT_FALSE(test, vhca_fault_stops_work(v, qp));
	KUNIT_ASSERT_EQ(test, write(test, "queue=0x41 stop_work"), 0);
	KUNIT_EXPECT_TRUE(test, vhca_fault_stops_work(v, qp));
	KUNIT_EXPECT_TRUE(test, vhca_fault_stops_work(v, qp));
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].hits, 0);
	KUNIT_EXPECT_EQ(test, v->faults.rules[2].hits, 1);
	/* A new rule is a new stop. */
	KUNIT_ASSERT_EQ(test, write(test, "clear\nqueue=any stop_work"), 0);
	KUNIT_EXPECT_TRUE(test, vhca_fault_stops_work(v, qp));
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].hits, 1);
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].seen, 1);
}

/* What is held goes on; rules on commands stay, stops do not. */
static void fault_write_releases(struct kunit *test)
{
	struct vhca *v = test->priv;

	KUNIT_ASSERT_EQ(test, write(test, "queue=1 stop_work\n" RULE "\nqueue=2 stop_work"), 0);
	v->cmdq_delayed = 3;
	v->cmdq_entries[0].due_ns = VHCA_NEVER;
	v->cmdq_entries[1].due_ns = VHCA_NEVER - 1;
	KUNIT_EXPECT_EQ(test, vhca_cmdq_held(v), 1);
	/* A rule in the same text is made after that. */
	KUNIT_EXPECT_EQ(test, write(test, "queue=3 stop_work\nrelease\n"), 0);
	KUNIT_ASSERT_EQ(test, v->faults.nr, 2);
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].effect.status, MLX5_CMD_STAT_LIM_ERR);
	KUNIT_EXPECT_EQ(test, v->faults.rules[1].queue, 3);
	KUNIT_EXPECT_EQ(test, vhca_cmdq_held(v), 0);
	KUNIT_EXPECT_EQ(test, v->cmdq_entries[0].due_ns, 0);
	/* A delay is no hold. */
	KUNIT_EXPECT_EQ(test, v->cmdq_entries[1].due_ns, VHCA_NEVER - 1);
	KUNIT_EXPECT_EQ(test, write(test, "release\n" RULE " nth=0"), -EINVAL);
	KUNIT_EXPECT_EQ(test, v->faults.nr, 2);
	v->cmdq_delayed = 0;
}

/* Interrupts that were dropped are not forgotten. */
static void fault_close_raises_dropped(struct kunit *test)
{
	struct vhca *v = test->priv;

	vhca_msi_drop(v, 1);
	vhca_msi_drop(v, VHCA_MAX_VECTORS);
	KUNIT_EXPECT_EQ(test, bitmap_weight(v->dropped, VHCA_MAX_VECTORS), 1);
	vhca_fault_close(v);
	KUNIT_EXPECT_TRUE(test, bitmap_empty(v->dropped, VHCA_MAX_VECTORS));
}

static struct kunit_case vhca_fault_cases[] = {
	KUNIT_CASE(fault_parse_has_defaults),
	KUNIT_CASE(fault_parse_any_order),
	KUNIT_CASE(fault_parse_bounds),
	KUNIT_CASE(fault_parse_refuses_values),
	KUNIT_CASE(fault_parse_refuses_words),
	KUNIT_CASE(fault_parse_refuses_combinations),
	KUNIT_CASE(fault_parse_refusal_is_bounded),
	KUNIT_CASE(fault_show_can_be_written),
	KUNIT_CASE(fault_show_each_key),
	KUNIT_CASE(fault_write_is_all_or_nothing),
	KUNIT_CASE(fault_write_clears),
	KUNIT_CASE(fault_write_has_a_limit),
	KUNIT_CASE(fault_close_takes_no_more),
	KUNIT_CASE(fault_apply_nth_and_count),
	KUNIT_CASE(fault_apply_all_from_nth),
	KUNIT_CASE(fault_apply_first_rule),
	KUNIT_CASE(fault_apply_selects),
	KUNIT_CASE(fault_apply_every),
	KUNIT_CASE(fault_apply_probability),
	KUNIT_CASE(fault_stops_work),
	KUNIT_CASE(fault_write_releases),
	KUNIT_CASE(fault_close_raises_dropped),
	{}
};

static struct kunit_suite vhca_fault_suite = {
	.name		= "mlx5_vhca_fault",
	.init		= vhca_kunit_init,
	.test_cases	= vhca_fault_cases,
};

kunit_test_suite(vhca_fault_suite);
