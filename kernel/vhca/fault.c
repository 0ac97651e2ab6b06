// SPDX-License-Identifier: GPL-2.0
/*
 * Faults that a test asks for, see fault.h and Documentation/vhca.rst.
 *
 * A rule is a line of words key=value in any order.  What a key means is in
 * one table, so that a new effect is a row and a member of struct vhca_fault.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kstrtox.h>
#include <linux/mlx5/device.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
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
	u16 opcode;

	if (row)
		opcode = row->opcode;
	else if (kstrtou16(value, 0, &opcode) || !opcode)
		return false;
	fault->opcode = opcode;
	return true;
}

static bool vhca_parse_nth(struct vhca_fault *fault, const char *value)
{
	return !kstrtou32(value, 0, &fault->nth) && fault->nth;
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

static bool vhca_parse_status(struct vhca_fault *fault, const char *value)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vhca_statuses); i++) {
		if (!strcmp(value, vhca_statuses[i].name)) {
			fault->status = vhca_statuses[i].status;
			return true;
		}
	}
	return !kstrtou8(value, 0, &fault->status) && fault->status;
}

static bool vhca_parse_delay(struct vhca_fault *fault, const char *value)
{
	return !kstrtou32(value, 0, &fault->delay_ms) && fault->delay_ms &&
	       fault->delay_ms <= VHCA_FAULT_MAX_DELAY;
}

/**
 * struct vhca_fault_key - a key of a rule
 * @name: the key
 * @expected: what its value may be, for the log
 * @parse: takes the value; false if it is not usable
 */
struct vhca_fault_key {
	const char	*name;
	const char	*expected;
	bool		(*parse)(struct vhca_fault *fault, const char *value);
};

static const struct vhca_fault_key vhca_fault_keys[] = {
	{ "opcode", "the name of a command that is modelled, or a number from 1 to 65535",
	  vhca_parse_opcode },
	{ "nth", "a number from 1", vhca_parse_nth },
	{ "count", "a number from 1, or all", vhca_parse_count },
	{ "status",
	  "a status as mlx5_core prints it, _ for each blank, or a number from 1 to 255",
	  vhca_parse_status },
	{ "delay_ms", "a number from 1 to 600000", vhca_parse_delay },
};

static_assert(VHCA_FAULT_MAX_DELAY == 600000);

static bool vhca_fault_parse_word(struct vhca_fault *fault,
				  unsigned long *given, char *word,
				  struct vhca_refusal *refusal)
{
	char *value = strchr(word, '=');
	unsigned int i;

	if (value)
		*value++ = '\0';
	for (i = 0; i < ARRAY_SIZE(vhca_fault_keys); i++)
		if (value && !strcmp(word, vhca_fault_keys[i].name))
			break;
	if (i == ARRAY_SIZE(vhca_fault_keys))
		return vhca_refuse(refusal,
				   "got '%.64s%s', expected opcode=, nth=, count=, status= or delay_ms=",
				   word, value ? "=" : "");
	if (__test_and_set_bit(i, given))
		return vhca_refuse(refusal,
				   "got '%s=%.64s', expected each key once in a line",
				   word, value);
	if (!vhca_fault_keys[i].parse(fault, value))
		return vhca_refuse(refusal, "got '%s=%.64s', expected %s", word,
				   value, vhca_fault_keys[i].expected);
	return true;
}

/**
 * vhca_fault_parse - make a rule of a line
 * @fault: to be filled; good for nothing if the line is refused
 * @line: words key=value; is taken apart
 * @refusal: filled if it is refused
 *
 * Return: true if it is a rule
 */
bool vhca_fault_parse(struct vhca_fault *fault, char *line,
		      struct vhca_refusal *refusal)
{
	unsigned long given = 0;
	char *word;

	*fault = (struct vhca_fault) { .nth = 1, .count = 1 };
	while ((word = strsep(&line, " \t")))
		if (*word &&
		    !vhca_fault_parse_word(fault, &given, word, refusal))
			return false;
	if (!fault->opcode)
		return vhca_refuse(refusal,
				   "got a line without opcode=, expected one");
	if (!fault->status && !fault->delay_ms)
		return vhca_refuse(refusal,
				   "got opcode=0x%x without an effect, expected status= or delay_ms=",
				   fault->opcode);
	return true;
}

/* Rules that are gone delay nothing any more. */
static void vhca_fault_drop(struct vhca *v)
{
	v->faults.nr = 0;
	vhca_cmdq_hurry(v);
}

/**
 * vhca_fault_write - add rules, or clear them
 * @v: the device
 * @text: lines, each with a rule, or "clear", or empty, which clears as well;
 *	is taken apart
 *
 * Either all of it is done or nothing.
 *
 * Context: process context, takes vhca.lock
 * Return: 0, or -EINVAL or -ENOSPC after a line in the log, or -ENOMEM, or
 *	-ENODEV if the device is about to go
 */
int vhca_fault_write(struct vhca *v, char *text)
{
	struct vhca_refusal refusal;
	struct vhca_faults *new;
	bool clear = false;
	char *line;
	int err;

	new = kzalloc_obj(*new);
	if (!new)
		return -ENOMEM;
	/* The newline that ends the last line begins no further one. */
	line = text + strlen(text);
	if (line > text && line[-1] == '\n')
		line[-1] = '\0';
	while ((line = strsep(&text, "\n"))) {
		line = strim(line);
		if (!*line || !strcmp(line, "clear")) {
			clear = true;
			new->nr = 0;
			continue;
		}
		err = -ENOSPC;
		if (new->nr == VHCA_MAX_FAULTS)
			goto out;
		if (!vhca_fault_parse(&new->rules[new->nr], line, &refusal)) {
			vhca_warn_ratelimited(v, "faults: %s\n", refusal.text);
			err = -EINVAL;
			goto out;
		}
		new->nr++;
	}

	mutex_lock(&v->lock);
	if (v->faults.closed) {
		err = -ENODEV;
	} else if (!clear && new->nr > VHCA_MAX_FAULTS - v->faults.nr) {
		err = -ENOSPC;
	} else {
		if (clear)
			vhca_fault_drop(v);
		memcpy(&v->faults.rules[v->faults.nr], new->rules,
		       new->nr * sizeof(new->rules[0]));
		v->faults.nr += new->nr;
		err = 0;
	}
	mutex_unlock(&v->lock);
	vhca_firmware_wake(v);
out:
	if (err == -ENOSPC)
		vhca_warn_ratelimited(v, "faults: got more than %u rules, expected no more\n",
				      VHCA_MAX_FAULTS);
	kfree(new);
	return err;
}

/**
 * vhca_fault_close - drop all rules, end what they delay, take no more
 * @v: the device, whose firmware runs
 *
 * Context: process context, takes vhca.lock
 */
void vhca_fault_close(struct vhca *v)
{
	mutex_lock(&v->lock);
	v->faults.closed = true;
	vhca_fault_drop(v);
	mutex_unlock(&v->lock);
	vhca_firmware_wake(v);
}

/**
 * vhca_fault_apply - what happens to a command that has just been rung
 * @v: the device
 * @opcode: its opcode
 *
 * Each rule counts the command.  Of several that would act on it, the first
 * does.
 *
 * Context: firmware thread, vhca.lock held
 * Return: the effect, which may be none
 */
struct vhca_fault_effect vhca_fault_apply(struct vhca *v, u16 opcode)
{
	struct vhca_fault_effect effect = {};
	struct vhca_fault *fault;

	for (fault = v->faults.rules;
	     fault < v->faults.rules + v->faults.nr; fault++) {
		if (fault->opcode != opcode)
			continue;
		fault->seen++;
		if (effect.status || effect.delay_ms ||
		    fault->seen < fault->nth ||
		    (fault->count != VHCA_FAULT_ALWAYS &&
		     fault->seen - fault->nth >= fault->count))
			continue;
		fault->hits++;
		effect.status = fault->status;
		effect.delay_ms = fault->delay_ms;
	}
	return effect;
}

/**
 * vhca_fault_show - print a rule, as it could have been written
 * @m: where to
 * @fault: the rule
 */
void vhca_fault_show(struct seq_file *m, const struct vhca_fault *fault)
{
	const struct vhca_command *row = vhca_command_find(fault->opcode);
	unsigned int i;

	if (row)
		seq_printf(m, "opcode=%s", row->name);
	else
		seq_printf(m, "opcode=0x%x", fault->opcode);
	seq_printf(m, " nth=%u", fault->nth);
	if (fault->count == VHCA_FAULT_ALWAYS)
		seq_puts(m, " count=all");
	else
		seq_printf(m, " count=%u", fault->count);
	for (i = 0; i < ARRAY_SIZE(vhca_statuses); i++)
		if (vhca_statuses[i].status == fault->status)
			break;
	if (i < ARRAY_SIZE(vhca_statuses))
		seq_printf(m, " status=%s", vhca_statuses[i].name);
	else if (fault->status)
		seq_printf(m, " status=0x%x", fault->status);
	if (fault->delay_ms)
		seq_printf(m, " delay_ms=%u", fault->delay_ms);
}
