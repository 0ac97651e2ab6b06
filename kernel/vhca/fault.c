// SPDX-License-Identifier: GPL-2.0
/*
 * Faults that a test asks for: the rules that there are, and what they act on.
 * How they are written is in fault_parse.c.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include <linux/string.h>

#include "vhca.h"

/**
 * struct vhca_fault_change - what was written
 * @clear: drop the rules that there are
 * @release: let go what they hold
 * @nr: entries in @rules
 * @rules: to be added
 */
struct vhca_fault_change {
	bool			clear;
	bool			release;
	unsigned int		nr;
	struct vhca_fault	rules[VHCA_MAX_FAULTS];
};

/* Rules that are gone delay, hold and lose nothing any more. */
static void vhca_fault_drop(struct vhca *v)
{
	v->faults.nr = 0;
	vhca_cmdq_hurry(v);
	vhca_msi_raise_dropped(v);
}

/* A stop is over when its rule is gone; other rules stay. */
static void vhca_fault_release(struct vhca *v)
{
	struct vhca_faults *faults = &v->faults;
	unsigned int i, nr = 0;

	for (i = 0; i < faults->nr; i++)
		if (!faults->rules[i].stop_work)
			faults->rules[nr++] = faults->rules[i];
	faults->nr = nr;
	vhca_cmdq_release(v);
	vhca_msi_raise_dropped(v);
}

static int vhca_fault_read(struct vhca *v, char *text,
			   struct vhca_fault_change *change)
{
	struct vhca_refusal refusal;
	char *line;

	/* The newline that ends the last line begins no further one. */
	line = text + strlen(text);
	if (line > text && line[-1] == '\n')
		line[-1] = '\0';
	while ((line = strsep(&text, "\n"))) {
		line = strim(line);
		if (!*line || !strcmp(line, "clear")) {
			change->clear = true;
			change->nr = 0;
			continue;
		}
		if (!strcmp(line, "release")) {
			change->release = true;
			continue;
		}
		if (change->nr == VHCA_MAX_FAULTS)
			return -ENOSPC;
		if (!vhca_fault_parse(&change->rules[change->nr], line,
				      &refusal)) {
			vhca_warn_ratelimited(v, "faults: %s\n", refusal.text);
			return -EINVAL;
		}
		change->nr++;
	}
	return 0;
}

static int vhca_fault_commit(struct vhca *v,
			     const struct vhca_fault_change *change)
{
	struct vhca_faults *faults = &v->faults;
	unsigned int i, kept = change->clear ? 0 : faults->nr;

	if (faults->closed)
		return -ENODEV;
	for (i = 0; change->release && !change->clear && i < faults->nr; i++)
		kept -= faults->rules[i].stop_work;
	if (change->nr > VHCA_MAX_FAULTS - kept)
		return -ENOSPC;
	if (change->clear)
		vhca_fault_drop(v);
	if (change->release)
		vhca_fault_release(v);
	for (i = 0; i < change->nr; i++) {
		struct vhca_fault *fault = &faults->rules[faults->nr++];

		*fault = change->rules[i];
		fault->serial = ++faults->serial;
	}
	return 0;
}

/**
 * vhca_fault_write - add rules, clear them, or release what they hold
 * @v: the device
 * @text: lines, each with a rule; or "clear", or empty, which clears as well;
 *	or "release"; is taken apart
 *
 * Either all of it is done or nothing.  What is released is what was held
 * before; a rule in the same text is made afterwards, wherever it stands.
 *
 * Context: process context, takes vhca.lock
 * Return: 0, or -EINVAL or -ENOSPC after a line in the log, or -ENOMEM, or
 *	-ENODEV if the device is about to go
 */
int vhca_fault_write(struct vhca *v, char *text)
{
	struct vhca_fault_change *change = kzalloc_obj(*change);
	int err;

	if (!change)
		return -ENOMEM;
	err = vhca_fault_read(v, text, change);
	if (!err) {
		mutex_lock(&v->lock);
		err = vhca_fault_commit(v, change);
		mutex_unlock(&v->lock);
		vhca_firmware_wake(v);
	}
	if (err == -ENOSPC)
		vhca_warn_ratelimited(v, "faults: got more than %u rules, expected no more\n",
				      VHCA_MAX_FAULTS);
	kfree(change);
	return err;
}

/**
 * vhca_fault_close - drop all rules, end what they do, take no more
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

static bool vhca_fault_matches(const struct vhca_fault *fault,
			       const struct vhca_fault_subject *subject)
{
	return !fault->queue &&
	       (fault->any_opcode || fault->opcode == subject->opcode) &&
	       (!fault->has_op_mod || fault->op_mod == subject->op_mod) &&
	       (!fault->object || fault->object == subject->object);
}

/* Does it want the command that it has just counted? */
static bool vhca_fault_chooses(struct vhca_fault *fault)
{
	if (fault->seen < fault->nth ||
	    (fault->seen - fault->nth) % fault->every ||
	    (fault->count != VHCA_FAULT_ALWAYS &&
	     fault->chosen >= fault->count))
		return false;
	if (fault->probability < VHCA_FAULT_CERTAIN &&
	    prandom_u32_state(&fault->random) % VHCA_FAULT_CERTAIN >=
	    fault->probability)
		return false;
	fault->chosen++;
	return true;
}

/**
 * vhca_fault_apply - what happens to a command that has just been rung
 * @v: the device
 * @subject: what it is
 *
 * Each rule counts the command.  Of several that would act on it, the first
 * does.
 *
 * Context: firmware thread, vhca.lock held
 * Return: the effect, which may be none
 */
struct vhca_fault_effect
vhca_fault_apply(struct vhca *v, const struct vhca_fault_subject *subject)
{
	struct vhca_fault *fault, *acts = NULL;

	for (fault = v->faults.rules;
	     fault < v->faults.rules + v->faults.nr; fault++) {
		if (!vhca_fault_matches(fault, subject))
			continue;
		fault->seen++;
		if (vhca_fault_chooses(fault) && !acts)
			acts = fault;
	}
	if (!acts)
		return (struct vhca_fault_effect) {};
	acts->hits++;
	return acts->effect;
}

/**
 * vhca_fault_stops_work - may a queue pair do what it has to do?
 * @v: the device
 * @qp: the queue pair, which has something to do
 *
 * The rule that stops it counts it once, when it first finds it.
 *
 * Context: firmware thread, vhca.lock held
 * Return: true if it may not
 */
bool vhca_fault_stops_work(struct vhca *v, struct vhca_qp *qp)
{
	struct vhca_fault *fault;

	for (fault = v->faults.rules;
	     fault < v->faults.rules + v->faults.nr; fault++) {
		if (!fault->stop_work ||
		    (fault->queue != VHCA_FAULT_ANY_QUEUE &&
		     fault->queue != qp->object.id))
			continue;
		if (qp->stopped_by != fault->serial) {
			qp->stopped_by = fault->serial;
			fault->seen++;
			fault->hits++;
		}
		return true;
	}
	return false;
}
