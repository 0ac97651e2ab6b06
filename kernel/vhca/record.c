// SPDX-License-Identifier: GPL-2.0
/*
 * What the device remembers of what its driver did, see record.h.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "vhca.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/**
 * vhca_recorder_init - make an empty record
 * @v: the device
 *
 * Return: 0 or -ENOMEM
 */
int vhca_recorder_init(struct vhca *v)
{
	struct vhca_recorder *r = &v->recorder;

	xa_init(&r->by_opcode);
	r->history = kvcalloc(VHCA_HISTORY, sizeof(*r->history), GFP_KERNEL);
	r->violations = kvcalloc(VHCA_MAX_VIOLATIONS, sizeof(*r->violations),
				 GFP_KERNEL);
	if (r->history && r->violations && !vhca_deaths_init(v))
		return 0;
	vhca_recorder_exit(v);
	return -ENOMEM;
}

/**
 * vhca_recorder_exit - free the record
 * @v: the device
 */
void vhca_recorder_exit(struct vhca *v)
{
	struct vhca_recorder *r = &v->recorder;
	struct vhca_opcode_stats *stats;
	unsigned long opcode;

	xa_for_each(&r->by_opcode, opcode, stats)
		kfree(stats);
	xa_destroy(&r->by_opcode);
	vhca_deaths_exit(v);
	kvfree(r->violations);
	kvfree(r->history);
}

static struct vhca_opcode_stats *vhca_stats_of(struct vhca_recorder *r,
					       u16 opcode)
{
	struct vhca_opcode_stats *stats = xa_load(&r->by_opcode, opcode);

	if (stats)
		return stats;
	stats = kzalloc_obj(*stats);
	if (!stats)
		return NULL;
	stats->opcode = opcode;
	if (xa_err(xa_store(&r->by_opcode, opcode, stats, GFP_KERNEL))) {
		kfree(stats);
		return NULL;
	}
	r->nr_opcodes++;
	return stats;
}

/**
 * vhca_record_command - remember a command
 * @v: the device
 * @cmd: the command, executed
 * @ns: how long executing it took
 *
 * Context: firmware thread, vhca.lock held
 * Return: true if the opcode is seen for the first time
 */
bool vhca_record_command(struct vhca *v, const struct vhca_cmd *cmd, u64 ns)
{
	struct vhca_recorder *r = &v->recorder;
	struct vhca_opcode_stats *stats;

	r->history[cmd->seq % VHCA_HISTORY] = (struct vhca_history_entry) {
		.seq		= cmd->seq,
		.ns		= cmd->ns,
		.took_ns	= ktime_get_ns() - cmd->ns,
		.object		= cmd->object,
		.opcode		= cmd->opcode,
		.op_mod		= cmd->op_mod,
		.uid		= cmd->uid,
		.status		= cmd->status,
		.syndrome	= cmd->syndrome,
	};
	trace_command(v, cmd);
	stats = vhca_stats_of(r, cmd->opcode);
	if (!stats)
		return false;
	stats->count++;
	stats->errors += !!cmd->status;
	stats->total_ns += ns;
	stats->max_ns = max(stats->max_ns, ns);
	return stats->count == 1;
}

static void vhca_violation_keep(struct vhca *v,
				const struct vhca_violation *violation)
{
	struct vhca_recorder *r = &v->recorder;
	struct vhca_violation *kept;

	if (r->nr_violations < VHCA_MAX_VIOLATIONS) {
		kept = &r->violations[r->nr_violations];
		*kept = *violation;
		kept->seq = r->seq;
		kept->ns = ktime_get_ns();
	}
	r->nr_violations++;
}

/**
 * vhca_record_violation - remember something that no correct driver does,
 *	without a word in the log
 * @v: the device
 * @what: its name, a word
 * @object: number of the object concerned
 * @detail: depends on @what
 * @kind: kind of the object where @what does not imply it, else NULL
 *
 * Context: vhca.lock held
 */
void vhca_record_violation(struct vhca *v, const char *what, u64 object,
			   u64 detail, const char *kind)
{
	vhca_violation_keep(v, &(const struct vhca_violation) {
		.what	= what,
		.object	= object,
		.detail	= detail,
		.kind	= kind,
	});
}

/**
 * vhca_violation_add - remember something that no correct driver does
 * @v: the device
 * @violation: what it is; when it is, is filled in here
 *
 * Context: vhca.lock held
 */
void vhca_violation_add(struct vhca *v, const struct vhca_violation *violation)
{
	char life[64] = "";

	vhca_violation_keep(v, violation);
	if (violation->died_seq)
		snprintf(life, sizeof(life), ", born of command %llu, gone with %llu",
			 violation->born_seq, violation->died_seq);
	else if (violation->born_seq)
		snprintf(life, sizeof(life), ", born of command %llu",
			 violation->born_seq);
	vhca_warn_ratelimited(v, "violation: %s%s%s object 0x%llx detail 0x%llx, command %llu%s\n",
			      violation->what, violation->kind ? " " : "",
			      violation->kind ?: "", violation->object,
			      violation->detail, v->recorder.seq, life);
}

/**
 * vhca_violation - remember something that no correct driver does
 * @v: the device
 * @what: its name, a word
 * @object: number of the object concerned
 * @detail: depends on @what
 * @kind: kind of the object where @what does not imply it, else NULL
 *
 * Context: vhca.lock held
 */
void vhca_violation(struct vhca *v, const char *what, u64 object, u64 detail,
		    const char *kind)
{
	vhca_violation_add(v, &(const struct vhca_violation) {
		.what	= what,
		.object	= object,
		.detail	= detail,
		.kind	= kind,
	});
}

/**
 * vhca_violation_leak - remember that the driver has left objects behind
 * @v: the device
 * @why: how it left, for the log
 * @count: how many objects
 * @kind: of which kind
 *
 * Context: vhca.lock held
 */
void vhca_violation_leak(struct vhca *v, const char *why, unsigned int count,
			 const char *kind)
{
	vhca_record_violation(v, "leak_at_teardown", 0, count, kind);
	vhca_warn(v, "%s, left behind: %u %s\n", why, count, kind);
}
