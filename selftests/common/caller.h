/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A call that is expected to wait in the kernel until the test lets it go on.
 *
 * That it waits is not guessed from the time that it takes: the kernel shows the
 * functions that a sleeping thread is in.
 */
#ifndef _SELFTESTS_CALLER_H
#define _SELFTESTS_CALLER_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

/**
 * struct caller - a thread that makes one call
 * @thread: the thread
 * @tid: its number in the kernel
 * @call: what it does
 * @arg: what it does it with
 * @result: what the call returned
 * @done: it has returned
 * @lock: protects @tid, @result and @done
 * @changed: one of them has changed
 */
struct caller {
	pthread_t thread;
	pid_t tid;
	int (*call)(void *arg);
	void *arg;
	int result;
	bool done;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

/**
 * _caller_start() - make a call in a thread of its own
 * @caller: filled in; must stay where it is until _caller_end()
 * @call: the function
 * @arg: its argument
 *
 * Return: 0 or an errno.
 */
int _caller_start(struct caller *caller, int (*call)(void *arg), void *arg);

/**
 * _caller_waits() - wait until the call sleeps in a function of the kernel
 * @caller: the call
 * @function: name of the function, anywhere in the list of callers
 *
 * Return: 0, EALREADY if the call returned, ETIMEDOUT if it has not been seen
 * there within twenty seconds, or an errno.  What it is in instead is written as a
 * diagnostic.
 */
int _caller_waits(struct caller *caller, const char *function);

/**
 * caller_is_done() - has the call returned?
 * @caller: the call
 *
 * Return: whether it has.
 */
bool caller_is_done(struct caller *caller);

/**
 * _caller_end() - wait for the call to return
 * @caller: the call
 * @result: what it returned
 *
 * Return: 0, or ETIMEDOUT if it has not within twenty seconds.
 */
int _caller_end(struct caller *caller, int *result);

#define caller_start(caller, call, arg) \
	ASSERT_EQ(0, _caller_start(caller, call, arg))
#define caller_waits(caller, function) \
	ASSERT_EQ(0, _caller_waits(caller, function))
#define caller_end(caller, expected) \
do { \
	int __result; \
	ASSERT_EQ(0, _caller_end(caller, &__result)); \
	ASSERT_EQ(expected, __result); \
} while (0)

#endif /* _SELFTESTS_CALLER_H */
