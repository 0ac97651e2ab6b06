/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the device remembers of what its driver did: the last commands, totals
 * by opcode, and violations.  Unlike the ledger it survives TEARDOWN_HCA.
 */
#ifndef VHCA_RECORD_H
#define VHCA_RECORD_H

#include <linux/types.h>
#include <linux/xarray.h>

struct vhca;
struct vhca_cmd;

#define VHCA_HISTORY		4096	/* commands kept, a power of two */
#define VHCA_MAX_VIOLATIONS	1024	/* later ones are only counted */

/**
 * struct vhca_history_entry - a command that was executed
 * @seq: see struct vhca_cmd, like all that follow
 * @ns: see there
 * @took_ns: from @ns until it was executed; delays and all
 * @object: see there
 * @opcode: see there
 * @op_mod: see there
 * @uid: see there
 * @status: see there
 * @syndrome: see there
 */
struct vhca_history_entry {
	u64	seq;
	u64	ns;
	u64	took_ns;
	u64	object;
	u16	opcode;
	u16	op_mod;
	u16	uid;
	u8	status;
	u32	syndrome;
};

/**
 * struct vhca_opcode_stats - totals of an opcode
 * @opcode: the opcode
 * @count: how often it came
 * @errors: how often it was refused
 * @total_ns: time spent executing it, without delays
 * @max_ns: the longest of these times
 */
struct vhca_opcode_stats {
	u16	opcode;
	u64	count;
	u64	errors;
	u64	total_ns;
	u64	max_ns;
};

/**
 * struct vhca_violation - something that no correct driver does
 * @seq: the last command when it was seen
 * @ns: when, in ns of CLOCK_MONOTONIC
 * @what: its name, a word
 * @object: number of the object concerned
 * @detail: depends on @what
 * @kind: kind of the object where @what does not imply it, else NULL
 * @born_seq: the command that created the object, 0 if that is not known
 * @died_seq: the command that destroyed it, 0 if it is there or that is not known
 */
struct vhca_violation {
	u64		seq;
	u64		ns;
	const char	*what;
	u64		object;
	u64		detail;
	const char	*kind;
	u64		born_seq;
	u64		died_seq;
};

/**
 * struct vhca_recorder - all of these
 * @seq: number of the last command
 * @opcode: its opcode
 * @history: ring of VHCA_HISTORY entries, entry of @seq at @seq modulo that
 * @by_opcode: struct vhca_opcode_stats
 * @nr_opcodes: entries in @by_opcode
 * @violations: the first VHCA_MAX_VIOLATIONS
 * @nr_violations: how many there were
 */
struct vhca_recorder {
	u64				seq;
	u16				opcode;
	struct vhca_history_entry	*history;
	struct xarray			by_opcode;
	unsigned int			nr_opcodes;
	struct vhca_violation		*violations;
	unsigned int			nr_violations;
};

int vhca_recorder_init(struct vhca *v);
void vhca_recorder_exit(struct vhca *v);
bool vhca_record_command(struct vhca *v, const struct vhca_cmd *cmd, u64 ns);
void vhca_record_violation(struct vhca *v, const char *what, u64 object,
			   u64 detail, const char *kind);
void vhca_violation_add(struct vhca *v, const struct vhca_violation *violation);
void vhca_violation(struct vhca *v, const char *what, u64 object, u64 detail,
		    const char *kind);
void vhca_violation_leak(struct vhca *v, const char *why, unsigned int count,
			 const char *kind);

#endif /* VHCA_RECORD_H */
