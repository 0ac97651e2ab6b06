// SPDX-License-Identifier: GPL-2.0
/*
 * How a rule of the file "faults" is written and printed, see
 * Documentation/vhca.rst.
 *
 * A rule is a line of words in any order, each key=value or just a key.  What a
 * key means, what it goes with and how it is printed is in one table, so that a
 * new effect is a row and a member of struct vhca_fault.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/kstrtox.h>
#include <linux/mlx5/device.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "vhca.h"

/*
 * How mlx5_core prints a status (cmd_status_str()), with an underscore for
 * each blank.
 */
static const struct {
	u8		status;
	const char	*name;
} vhca_statuses[] = {
	{ MLX5_CMD_STAT_INT_ERR,		"internal_error" },
	{ MLX5_CMD_STAT_BAD_OP_ERR,		"bad_operation" },
	{ MLX5_CMD_STAT_BAD_PARAM_ERR,		"bad_parameter" },
	{ MLX5_CMD_STAT_BAD_SYS_STATE_ERR,	"bad_system_state" },
	{ MLX5_CMD_STAT_BAD_RES_ERR,		"bad_resource" },
	{ MLX5_CMD_STAT_RES_BUSY,		"resource_busy" },
	{ MLX5_CMD_STAT_NOT_READY,		"FW_not_ready" },
	{ MLX5_CMD_STAT_LIM_ERR,		"limits_exceeded" },
	{ MLX5_CMD_STAT_BAD_RES_STATE_ERR,	"bad_resource_state" },
	{ MLX5_CMD_STAT_IX_ERR,			"bad_index" },
	{ MLX5_CMD_STAT_NO_RES_ERR,		"no_resources" },
	{ MLX5_CMD_STAT_BAD_INP_LEN_ERR,	"bad_input_length" },
	{ MLX5_CMD_STAT_BAD_OUTP_LEN_ERR,	"bad_output_length" },
	{ MLX5_CMD_STAT_BAD_QP_STATE_ERR,	"bad_QP_state" },
	{ MLX5_CMD_STAT_BAD_PKT_ERR,		"bad_packet_(discarded)" },
	{ MLX5_CMD_STAT_BAD_SIZE_OUTS_CQES_ERR,
	  "bad_size_too_many_outstanding_CQEs" },
};

static bool vhca_parse_opcode(struct vhca_fault *fault, const char *value)
{
	const struct vhca_command *row = vhca_command_find_name(value);

	if (!strcmp(value, "any")) {
		fault->any_opcode = true;
		return true;
	}
	if (row) {
		fault->opcode = row->opcode;
		return true;
	}
	return !kstrtou16(value, 0, &fault->opcode) && fault->opcode;
}

static void vhca_show_opcode(struct seq_file *m, const struct vhca_fault *fault)
{
	const struct vhca_command *row = vhca_command_find(fault->opcode);

	if (fault->any_opcode)
		seq_puts(m, "any");
	else if (row)
		seq_puts(m, row->name);
	else
		seq_printf(m, "0x%x", fault->opcode);
}

static bool vhca_parse_op_mod(struct vhca_fault *fault, const char *value)
{
	fault->has_op_mod = true;
	return !kstrtou16(value, 0, &fault->op_mod);
}

static void vhca_show_op_mod(struct seq_file *m, const struct vhca_fault *fault)
{
	seq_printf(m, "0x%x", fault->op_mod);
}

static bool vhca_parse_object(struct vhca_fault *fault, const char *value)
{
	return !kstrtou64(value, 0, &fault->object) && fault->object;
}

static void vhca_show_object(struct seq_file *m, const struct vhca_fault *fault)
{
	seq_printf(m, "0x%llx", fault->object);
}

static bool vhca_parse_queue(struct vhca_fault *fault, const char *value)
{
	if (!strcmp(value, "any")) {
		fault->queue = VHCA_FAULT_ANY_QUEUE;
		return true;
	}
	return !kstrtou32(value, 0, &fault->queue) && fault->queue &&
	       fault->queue <= VHCA_MAX_NUMBER;
}

static void vhca_show_queue(struct seq_file *m, const struct vhca_fault *fault)
{
	if (fault->queue == VHCA_FAULT_ANY_QUEUE)
		seq_puts(m, "any");
	else
		seq_printf(m, "0x%x", fault->queue);
}

static bool vhca_parse_nth(struct vhca_fault *fault, const char *value)
{
	return !kstrtou32(value, 0, &fault->nth) && fault->nth;
}

static void vhca_show_nth(struct seq_file *m, const struct vhca_fault *fault)
{
	seq_printf(m, "%u", fault->nth);
}

static bool vhca_parse_every(struct vhca_fault *fault, const char *value)
{
	return !kstrtou32(value, 0, &fault->every) && fault->every;
}

static void vhca_show_every(struct seq_file *m, const struct vhca_fault *fault)
{
	seq_printf(m, "%u", fault->every);
}

static bool vhca_parse_count(struct vhca_fault *fault, const char *value)
{
	if (!strcmp(value, "all")) {
		fault->count = VHCA_FAULT_ALWAYS;
		return true;
	}
	return !kstrtou32(value, 0, &fault->count) && fault->count &&
	       fault->count != VHCA_FAULT_ALWAYS;
}

static void vhca_show_count(struct seq_file *m, const struct vhca_fault *fault)
{
	if (fault->count == VHCA_FAULT_ALWAYS)
		seq_puts(m, "all");
	else
		seq_printf(m, "%u", fault->count);
}

static bool vhca_parse_probability(struct vhca_fault *fault, const char *value)
{
	return !kstrtou32(value, 0, &fault->probability) &&
	       fault->probability &&
	       fault->probability <= VHCA_FAULT_CERTAIN;
}

static void vhca_show_probability(struct seq_file *m,
				  const struct vhca_fault *fault)
{
	seq_printf(m, "%u", fault->probability);
}

static bool vhca_parse_seed(struct vhca_fault *fault, const char *value)
{
	return !kstrtou64(value, 0, &fault->seed);
}

static void vhca_show_seed(struct seq_file *m, const struct vhca_fault *fault)
{
	seq_printf(m, "%llu", fault->seed);
}

static bool vhca_parse_status(struct vhca_fault *fault, const char *value)
{
	u8 *status = &fault->effect.status;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vhca_statuses); i++) {
		if (!strcmp(value, vhca_statuses[i].name)) {
			*status = vhca_statuses[i].status;
			return true;
		}
	}
	return !kstrtou8(value, 0, status) && *status;
}

static void vhca_show_status(struct seq_file *m, const struct vhca_fault *fault)
{
	u8 status = fault->effect.status;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vhca_statuses); i++) {
		if (vhca_statuses[i].status == status) {
			seq_puts(m, vhca_statuses[i].name);
			return;
		}
	}
	seq_printf(m, "0x%x", status);
}

static bool vhca_parse_syndrome(struct vhca_fault *fault, const char *value)
{
	return !kstrtou32(value, 0, &fault->effect.syndrome) &&
	       fault->effect.syndrome;
}

static void vhca_show_syndrome(struct seq_file *m,
			       const struct vhca_fault *fault)
{
	seq_printf(m, "0x%x", fault->effect.syndrome);
}

static bool vhca_parse_delay(struct vhca_fault *fault, const char *value)
{
	u32 *delay_ms = &fault->effect.delay_ms;

	return !kstrtou32(value, 0, delay_ms) && *delay_ms &&
	       *delay_ms <= VHCA_FAULT_MAX_DELAY;
}

static void vhca_show_delay(struct seq_file *m, const struct vhca_fault *fault)
{
	seq_printf(m, "%u", fault->effect.delay_ms);
}

/* In the order in which they are printed. */
enum vhca_key {
	VHCA_KEY_OPCODE,
	VHCA_KEY_OP_MOD,
	VHCA_KEY_OBJECT,
	VHCA_KEY_QUEUE,
	VHCA_KEY_NTH,
	VHCA_KEY_EVERY,
	VHCA_KEY_COUNT,
	VHCA_KEY_PROBABILITY,
	VHCA_KEY_SEED,
	VHCA_KEY_STATUS,
	VHCA_KEY_SYNDROME,
	VHCA_KEY_DELAY_MS,
	VHCA_KEY_HOLD,
	VHCA_KEY_NO_ANSWER,
	VHCA_KEY_DROP_INTERRUPT,
	VHCA_KEY_STOP_WORK,
	VHCA_KEYS
};

#define KEY(_name)	BIT(VHCA_KEY_##_name)

/* Without one of these a rule on commands would have no effect. */
#define VHCA_COMMAND_EFFECTS						\
	(KEY(STATUS) | KEY(DELAY_MS) | KEY(HOLD) | KEY(NO_ANSWER) |	\
	 KEY(DROP_INTERRUPT))

/**
 * struct vhca_fault_key - a key of a rule
 * @name: the key
 * @expected: what its value may be, for the log
 * @needs: one of these must be there as well
 * @excludes: none of these may
 * @parse: takes the value; false if it is not usable; NULL for a key that has
 *	no value
 * @show: prints the value
 * @flag: of a key without a value: the bool in struct vhca_fault that it sets
 */
struct vhca_fault_key {
	const char	*name;
	const char	*expected;
	unsigned long	needs;
	unsigned long	excludes;
	bool		(*parse)(struct vhca_fault *fault, const char *value);
	void		(*show)(struct seq_file *m,
				const struct vhca_fault *fault);
	size_t		flag;
};

#define VALUE(_function)			\
	.parse = vhca_parse_##_function,	\
	.show = vhca_show_##_function
#define FLAG(_member)				\
	.flag = offsetof(struct vhca_fault, _member),	\
	.expected = "no value"

static const struct vhca_fault_key vhca_fault_keys[] = {
	[VHCA_KEY_OPCODE] = {
		.name = "opcode", .needs = VHCA_COMMAND_EFFECTS,
		.excludes = KEY(QUEUE),
		VALUE(opcode),
		.expected =
			"the name of a command that is modelled, a number from 1 to 65535, or any",
	},
	[VHCA_KEY_OP_MOD] = {
		.name = "op_mod", .needs = KEY(OPCODE),
		VALUE(op_mod),
		.expected = "a number from 0 to 65535",
	},
	[VHCA_KEY_OBJECT] = {
		.name = "object", .needs = KEY(OPCODE),
		VALUE(object),
		.expected = "an id as in the ledger, from 1",
	},
	[VHCA_KEY_QUEUE] = {
		.name = "queue", .needs = KEY(STOP_WORK),
		VALUE(queue),
		.expected = "the number of a queue pair, from 1 to 16777215, or any",
	},
	[VHCA_KEY_NTH] = {
		.name = "nth", .needs = KEY(OPCODE),
		VALUE(nth),
		.expected = "a number from 1",
	},
	[VHCA_KEY_EVERY] = {
		.name = "every", .needs = KEY(OPCODE),
		VALUE(every),
		.expected = "a number from 1",
	},
	[VHCA_KEY_COUNT] = {
		.name = "count", .needs = KEY(OPCODE),
		VALUE(count),
		.expected = "a number from 1, or all",
	},
	[VHCA_KEY_PROBABILITY] = {
		.name = "probability", .needs = KEY(OPCODE),
		VALUE(probability),
		.expected = "a number from 1 to 1000",
	},
	[VHCA_KEY_SEED] = {
		.name = "seed", .needs = KEY(PROBABILITY),
		VALUE(seed),
		.expected = "a number",
	},
	[VHCA_KEY_STATUS] = {
		.name = "status", .needs = KEY(OPCODE),
		VALUE(status),
		.expected =
			"a status as mlx5_core prints it, _ for each blank, or a number from 1 to 255",
	},
	[VHCA_KEY_SYNDROME] = {
		.name = "syndrome", .needs = KEY(STATUS),
		VALUE(syndrome),
		.expected = "a number from 1 to 4294967295",
	},
	[VHCA_KEY_DELAY_MS] = {
		.name = "delay_ms", .needs = KEY(OPCODE),
		VALUE(delay),
		.expected = "a number from 1 to 600000",
	},
	[VHCA_KEY_HOLD] = {
		.name = "hold", .needs = KEY(OPCODE),
		.excludes = KEY(DELAY_MS) | KEY(NO_ANSWER),
		FLAG(effect.hold),
	},
	[VHCA_KEY_NO_ANSWER] = {
		.name = "no_answer", .needs = KEY(OPCODE),
		.excludes = KEY(DROP_INTERRUPT),
		FLAG(effect.no_answer),
	},
	[VHCA_KEY_DROP_INTERRUPT] = {
		.name = "drop_interrupt", .needs = KEY(OPCODE),
		FLAG(effect.drop_interrupt),
	},
	[VHCA_KEY_STOP_WORK] = {
		.name = "stop_work", .needs = KEY(QUEUE),
		FLAG(stop_work),
	},
};

static_assert(ARRAY_SIZE(vhca_fault_keys) == VHCA_KEYS);
static_assert(VHCA_FAULT_MAX_DELAY == 600000);
static_assert(VHCA_FAULT_CERTAIN == 1000);
static_assert(VHCA_MAX_NUMBER == 16777215);

/* The names of some keys: "a=, b or c=". */
struct vhca_key_names {
	char	text[192];
};

static struct vhca_key_names vhca_key_names(unsigned long keys)
{
	struct vhca_key_names names = {};
	size_t used = 0;
	unsigned int i;

	for_each_set_bit(i, &keys, VHCA_KEYS) {
		const char *between = !used ? "" :
				      keys >> (i + 1) ? ", " : " or ";

		used += scnprintf(names.text + used, sizeof(names.text) - used,
				  "%s%s%s", between, vhca_fault_keys[i].name,
				  vhca_fault_keys[i].parse ? "=" : "");
	}
	return names;
}

static bool vhca_fault_take(struct vhca_fault *fault,
			    const struct vhca_fault_key *key, const char *value)
{
	if (key->parse)
		return value && key->parse(fault, value);
	*(bool *)((void *)fault + key->flag) = true;
	return !value;
}

static bool vhca_fault_parse_word(struct vhca_fault *fault, char *word,
				  struct vhca_refusal *refusal)
{
	char *value = strchr(word, '=');
	const char *equals = value ? "=" : "";
	unsigned int i;

	if (value)
		*value++ = '\0';
	for (i = 0; i < VHCA_KEYS; i++)
		if (!strcmp(word, vhca_fault_keys[i].name))
			break;
	if (i == VHCA_KEYS || (vhca_fault_keys[i].parse && !value))
		return vhca_refuse(refusal, "got '%.32s%s', expected %s", word,
				   equals,
				   vhca_key_names(BIT(VHCA_KEYS) - 1).text);
	if (__test_and_set_bit(i, &fault->given))
		return vhca_refuse(refusal,
				   "got '%s%s%.64s', expected each key once in a line",
				   word, equals, value ?: "");
	if (!vhca_fault_take(fault, &vhca_fault_keys[i], value))
		return vhca_refuse(refusal, "got '%s%s%.64s', expected %s",
				   word, equals, value ?: "",
				   vhca_fault_keys[i].expected);
	return true;
}

/* Do the keys of a line go together? */
static bool vhca_fault_check(const struct vhca_fault *fault,
			     struct vhca_refusal *refusal)
{
	unsigned long given = fault->given;
	unsigned int i;

	if (!(given & (KEY(OPCODE) | KEY(QUEUE))))
		return vhca_refuse(refusal,
				   "got a line without opcode= or queue=, expected one of them");
	for_each_set_bit(i, &given, VHCA_KEYS) {
		const struct vhca_fault_key *key = &vhca_fault_keys[i];

		if (given & key->excludes)
			return vhca_refuse(refusal,
					   "got %s with %s, expected one of them",
					   vhca_key_names(given & key->excludes).text,
					   vhca_key_names(BIT(i)).text);
		if (key->needs && !(given & key->needs))
			return vhca_refuse(refusal, "got %s, expected %s with it",
					   vhca_key_names(BIT(i)).text,
					   vhca_key_names(key->needs).text);
	}
	return true;
}

/**
 * vhca_fault_parse - make a rule of a line
 * @fault: to be filled; good for nothing if the line is refused
 * @line: words, each key=value or a key; is taken apart
 * @refusal: filled if it is refused
 *
 * Return: true if it is a rule
 */
bool vhca_fault_parse(struct vhca_fault *fault, char *line,
		      struct vhca_refusal *refusal)
{
	char *word;

	*fault = (struct vhca_fault) {
		.nth		= 1,
		.every		= 1,
		.count		= 1,
		.probability	= VHCA_FAULT_CERTAIN,
	};
	while ((word = strsep(&line, " \t")))
		if (*word && !vhca_fault_parse_word(fault, word, refusal))
			return false;
	if (!vhca_fault_check(fault, refusal))
		return false;
	if (fault->given & KEY(OPCODE))
		fault->given |= KEY(NTH) | KEY(COUNT);
	if (fault->given & KEY(PROBABILITY))
		fault->given |= KEY(SEED);
	prandom_seed_state(&fault->random, fault->seed);
	return true;
}

/**
 * vhca_fault_show - print a rule, as it could have been written
 * @m: where to
 * @fault: the rule
 */
void vhca_fault_show(struct seq_file *m, const struct vhca_fault *fault)
{
	const char *before = "";
	unsigned int i;

	for_each_set_bit(i, &fault->given, VHCA_KEYS) {
		const struct vhca_fault_key *key = &vhca_fault_keys[i];

		seq_printf(m, "%s%s", before, key->name);
		if (key->show) {
			seq_putc(m, '=');
			key->show(m, fault);
		}
		before = " ";
	}
}
