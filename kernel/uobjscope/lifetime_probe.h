/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The probes behind the lifetime events, see lifetime_probes.c.
 */
#ifndef UOBJSCOPE_LIFETIME_PROBE_H
#define UOBJSCOPE_LIFETIME_PROBE_H

#include <linux/fprobe.h>
#include <linux/ftrace.h>
#include <linux/types.h>

#include "compat.h"
#include "lifetime.h"

/** define SCOPE_PROBE_EVENTS - that one function feeds, at most */
#define SCOPE_PROBE_EVENTS	2

/**
 * struct scope_call - what a probe remembers from a function's begin to its end
 * @uobject: it is about this uobject
 * @number: depends on the function
 * @second: depends on the function
 */
struct scope_call {
	struct scope_event_uobject	uobject;
	unsigned long			number;
	unsigned long			second;
};

/**
 * struct scope_lifetime_probe - a function that feeds lifetime events
 * @symbol: its name
 * @module: the module that it is in, if that can go while we are loaded, else NULL
 * @events: names of the tracepoints, the unused ones NULL
 * @begin: called at its begin, with preemption off; returns whether @end is to be called.
 *	With @end, call is what that gets, else it is NULL.  NULL where the registry's probe
 *	of the same function does it
 * @end: called at its end with what it returned, with preemption off; or NULL
 * @on: it is probed
 * @error: why it is not, where that was tried
 * @fprobe: the probe
 */
struct scope_lifetime_probe {
	const char	*symbol;
	const char	*module;
	const char	*events[SCOPE_PROBE_EVENTS];
	bool		(*begin)(struct scope_regs *regs, struct scope_call *call);
	void		(*end)(unsigned long returned, const struct scope_call *call);
	bool		on;
	int		error;
	struct fprobe	fprobe;
};

extern struct scope_lifetime_probe scope_lifetime_probes[];
extern const unsigned int scope_lifetime_nr_probes;

/**
 * scope_probe_argument - an argument of a probed function
 * @regs: registers at its begin
 * @n: the first one is 0
 *
 * Return: the argument
 */
static inline void *scope_probe_argument(struct scope_regs *regs, unsigned int n)
{
	return (void *)scope_regs_argument(regs, n);
}

#endif /* UOBJSCOPE_LIFETIME_PROBE_H */
