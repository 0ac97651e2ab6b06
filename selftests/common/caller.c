// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "caller.h"
#include "process.h"
#include "text.h"

#define PATIENCE	20	/* seconds */

static void *caller_run(void *data)
{
	struct caller *caller = data;
	int result;

	pthread_mutex_lock(&caller->lock);
	caller->tid = syscall(SYS_gettid);
	pthread_cond_broadcast(&caller->changed);
	pthread_mutex_unlock(&caller->lock);
	result = caller->call(caller->arg);
	pthread_mutex_lock(&caller->lock);
	caller->result = result;
	caller->done = true;
	pthread_cond_broadcast(&caller->changed);
	pthread_mutex_unlock(&caller->lock);
	return NULL;
}

int _caller_start(struct caller *caller, int (*call)(void *arg), void *arg)
{
	int err;

	memset(caller, 0, sizeof(*caller));
	caller->call = call;
	caller->arg = arg;
	pthread_mutex_init(&caller->lock, NULL);
	pthread_cond_init(&caller->changed, NULL);
	err = pthread_create(&caller->thread, NULL, caller_run, caller);
	if (err)
		return err;
	pthread_mutex_lock(&caller->lock);
	while (!caller->tid)
		pthread_cond_wait(&caller->changed, &caller->lock);
	pthread_mutex_unlock(&caller->lock);
	return 0;
}

bool caller_is_done(struct caller *caller)
{
	bool done;

	pthread_mutex_lock(&caller->lock);
	done = caller->done;
	pthread_mutex_unlock(&caller->lock);
	return done;
}

int _caller_waits(struct caller *caller, const char *function)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	struct process_look look = {};
	int tries, waits = 0, err = 0;

	for (tries = 0; tries < PATIENCE * 100 && !waits; tries++) {
		if (tries)
			nanosleep(&pause, NULL);
		if (caller_is_done(caller)) {
			diag("the call returned %d instead of waiting in %s", caller->result,
			     function);
			process_look_end(&look);
			return EALREADY;
		}
		waits = process_look(caller->tid, function, &look);
	}
	if (waits < 0)
		err = errno;
	else if (!waits)
		err = ETIMEDOUT;
	if (err)
		diag("the call is not in %s but in: %s", function,
		     look.stack ? look.stack : "(nobody knows)");
	process_look_end(&look);
	return err;
}

int _caller_end(struct caller *caller, int *result)
{
	struct timespec until;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	pthread_mutex_lock(&caller->lock);
	while (!caller->done && !err)
		err = pthread_cond_timedwait(&caller->changed, &caller->lock, &until);
	pthread_mutex_unlock(&caller->lock);
	if (err)
		return err;
	pthread_join(caller->thread, NULL);
	*result = caller->result;
	return 0;
}
