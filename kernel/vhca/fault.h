/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults that a test asks for: commands that fail, that take their time or are
 * never answered, interrupts that are lost, and queue pairs that do not work.
 *
 * There is none that completes a command twice, on purpose: mlx5_core frees the
 * command's entry with its completion, so that another would be taken for that
 * of the next one, or use what is free (mlx5_cmd_comp_handler()).  That would
 * break the driver, and prove nothing of it.
 */
#ifndef VHCA_FAULT_H
#define VHCA_FAULT_H

#include <linux/prandom.h>
#include <linux/types.h>

#include "refusal.h"

struct seq_file;
struct vhca;
struct vhca_qp;

#define VHCA_MAX_FAULTS		64
#define VHCA_FAULT_MAX_DELAY	600000	/* ms */
#define VHCA_FAULT_ALWAYS	U32_MAX	/* count=all */
#define VHCA_FAULT_CERTAIN	1000	/* probability=, which is per mille */
#define VHCA_FAULT_ANY_QUEUE	U32_MAX	/* queue=any */

/**
 * struct vhca_fault_effect - what happens to a command
 * @status: what it is answered with instead of being executed,
 *	MLX5_CMD_STAT_*, or 0 if it is executed
 * @syndrome: what goes with @status, or 0 for the usual one
 * @delay_ms: how long it takes until it is executed
 * @hold: it is not executed before it is released
 * @no_answer: it is executed, and not answered
 * @drop_interrupt: it is answered, and no interrupt tells of that
 */
struct vhca_fault_effect {
	u8	status;
	u32	syndrome;
	u32	delay_ms;
	bool	hold;
	bool	no_answer;
	bool	drop_interrupt;
};

/**
 * struct vhca_fault_subject - what a rule looks at in a command
 * @opcode: MLX5_CMD_OP_*
 * @op_mod: the operation modifier, or the type of a general object
 * @object: what it names, see vhca_command_object()
 */
struct vhca_fault_subject {
	u16	opcode;
	u16	op_mod;
	u64	object;
};

/**
 * struct vhca_fault - one rule
 * @given: the keys that it was given or has by default, as the table in
 *	fault_parse.c has them
 * @opcode: the commands that it is about, MLX5_CMD_OP_*
 * @any_opcode: it is about all commands instead
 * @has_op_mod: only those with @op_mod
 * @op_mod: see struct vhca_fault_subject
 * @object: only those that name this object, or 0 for all
 * @queue: the queue pair that it is about, VHCA_FAULT_ANY_QUEUE, or 0 if it is
 *	about commands
 * @nth: the first command that it acts on, counted from 1
 * @every: from there on it acts on each Nth of them
 * @count: on how many it acts
 * @probability: how probable it is that it acts on one, per mille
 * @seed: what decides on which it then does
 * @effect: what it does to a command
 * @stop_work: the queue pair works no more
 * @serial: number of the rule, counted over the life of the module
 * @random: follows from @seed
 * @seen: how many such commands there were since the rule was made, or how
 *	often a queue pair was stopped
 * @chosen: how many it has chosen; another rule may have come before
 * @hits: how many it acted on
 */
struct vhca_fault {
	unsigned long			given;
	u16				opcode;
	bool				any_opcode;
	bool				has_op_mod;
	u16				op_mod;
	u64				object;
	u32				queue;
	u32				nth;
	u32				every;
	u32				count;
	u32				probability;
	u64				seed;
	struct vhca_fault_effect	effect;
	bool				stop_work;
	u64				serial;
	struct rnd_state		random;
	u64				seen;
	u64				chosen;
	u64				hits;
};

/**
 * struct vhca_faults - all rules of a device, in the order they were written
 * @closed: the device is about to go, and takes no more rules
 * @serial: of the rule that was made last
 * @nr: entries in @rules
 * @rules: the rules
 */
struct vhca_faults {
	bool			closed;
	u64			serial;
	unsigned int		nr;
	struct vhca_fault	rules[VHCA_MAX_FAULTS];
};

/* fault.c */
struct vhca_fault_effect
vhca_fault_apply(struct vhca *v, const struct vhca_fault_subject *subject);
bool vhca_fault_stops_work(struct vhca *v, struct vhca_qp *qp);
int vhca_fault_write(struct vhca *v, char *text);
void vhca_fault_close(struct vhca *v);

/* fault_parse.c */
bool vhca_fault_parse(struct vhca_fault *fault, char *line,
		      struct vhca_refusal *refusal);
void vhca_fault_show(struct seq_file *m, const struct vhca_fault *fault);

#endif /* VHCA_FAULT_H */
