/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults that a test asks for: commands that fail, or that take their time.
 */
#ifndef VHCA_FAULT_H
#define VHCA_FAULT_H

#include <linux/types.h>

#include "refusal.h"

struct seq_file;
struct vhca;

#define VHCA_MAX_FAULTS		64
#define VHCA_FAULT_MAX_DELAY	600000	/* ms */
#define VHCA_FAULT_ALWAYS	U32_MAX	/* count=all */

/**
 * struct vhca_fault - one rule
 * @opcode: the commands that it is about, MLX5_CMD_OP_*
 * @nth: the first of them that it acts on, counted from 1
 * @count: on how many in a row it acts
 * @status: what they are answered with instead of being executed,
 *	MLX5_CMD_STAT_*, or 0 if they are executed
 * @delay_ms: how long the answer takes
 * @seen: how many such commands there were since the rule was made
 * @hits: how many of them it acted on
 */
struct vhca_fault {
	u16	opcode;
	u32	nth;
	u32	count;
	u8	status;
	u32	delay_ms;
	u64	seen;
	u64	hits;
};

/**
 * struct vhca_faults - all rules of a device, in the order they were written
 * @closed: the device is about to go, and takes no more rules
 * @nr: entries in @rules
 * @rules: the rules
 */
struct vhca_faults {
	bool			closed;
	unsigned int		nr;
	struct vhca_fault	rules[VHCA_MAX_FAULTS];
};

/**
 * struct vhca_fault_effect - what happens to a command
 * @status: see struct vhca_fault
 * @delay_ms: see struct vhca_fault
 */
struct vhca_fault_effect {
	u8	status;
	u32	delay_ms;
};

struct vhca_fault_effect vhca_fault_apply(struct vhca *v, u16 opcode);
bool vhca_fault_parse(struct vhca_fault *fault, char *line,
		      struct vhca_refusal *refusal);
int vhca_fault_write(struct vhca *v, char *text);
void vhca_fault_close(struct vhca *v);
void vhca_fault_show(struct seq_file *m, const struct vhca_fault *fault);

#endif /* VHCA_FAULT_H */
