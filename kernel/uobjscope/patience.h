/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How often a lock that is not to be had is tried again.
 */
#ifndef UOBJSCOPE_PATIENCE_H
#define UOBJSCOPE_PATIENCE_H

#include <linux/delay.h>
#include <linux/minmax.h>

/**
 * struct scope_patience - what is left of it
 * @tries: until one gives up
 * @wait_us: microseconds until the next
 */
struct scope_patience {
	unsigned int	tries;
	unsigned int	wait_us;
};

/** define SCOPE_PATIENCE - for one lock: some 20 ms */
#define SCOPE_PATIENCE	((struct scope_patience){ .tries = 12, .wait_us = 50 })

/**
 * scope_patience - wait before trying again
 * @patience: what is left of it
 *
 * Context: sleeps.
 * Return: false if it is all gone
 */
static inline bool scope_patience(struct scope_patience *patience)
{
	if (!patience->tries)
		return false;
	patience->tries--;
	usleep_range(patience->wait_us, patience->wait_us * 2);
	patience->wait_us = min(patience->wait_us * 2, 2000u);
	return true;
}

#endif /* UOBJSCOPE_PATIENCE_H */
