/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes that feed the registry.
 */
#ifndef UOBJSCOPE_EVENTS_H
#define UOBJSCOPE_EVENTS_H

#include <linux/errno.h>
#include <linux/types.h>

/**
 * struct scope_probe_state - for the file info
 * @symbol: probed function
 * @on: it is probed
 * @error: why it is not, 0 if that was not tried
 * @missed: calls that went by unseen
 */
struct scope_probe_state {
	const char	*symbol;
	bool		on;
	int		error;
	unsigned long	missed;
};

#ifdef CONFIG_FPROBE
int scope_events_start(void);
void scope_events_stop(void);
bool scope_events_lost(void);
u64 scope_events_missed(void);
bool scope_events_see_close(void);
bool scope_events_state(unsigned int n, struct scope_probe_state *state);
#else
static inline int scope_events_start(void)
{
	return -EOPNOTSUPP;
}

static inline void scope_events_stop(void)
{
}

static inline bool scope_events_lost(void)
{
	return true;
}

static inline u64 scope_events_missed(void)
{
	return 0;
}

static inline bool scope_events_see_close(void)
{
	return false;
}

static inline bool scope_events_state(unsigned int n, struct scope_probe_state *state)
{
	return false;
}
#endif

#endif /* UOBJSCOPE_EVENTS_H */
