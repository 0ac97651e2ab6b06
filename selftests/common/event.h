/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events of a context.
 */
#ifndef _SELFTESTS_EVENT_H
#define _SELFTESTS_EVENT_H

#include <infiniband/verbs.h>

/**
 * event_wait() - wait for an asynchronous event, up to a minute
 * @ctx: the context
 *
 * The driver looks every two to three seconds for what it can only find out.
 *
 * Return: IBV_EVENT_*, acknowledged; -1 if there was none, -2 if it cannot be read.
 */
int event_wait(struct ibv_context *ctx);

#endif /* _SELFTESTS_EVENT_H */
