/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Many threads, or processes, that do the same at the same time, as a seed says.
 *
 * The seed is that of the environment (SEED), and is printed.  What a thread chooses
 * follows from it, from the storm's name and the thread's number, and from nothing else;
 * what the kernel makes of it does not.
 *
 * A storm lasts for a second, or for its share of STRESS minutes.
 */
#ifndef _SELFTESTS_STORM_H
#define _SELFTESTS_STORM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "text.h"

#define STORM_THREADS	8

/* Storms that share the minutes of STRESS. */
#define STORMS	16

/**
 * enum storm_flags - what a storm is like
 * @STORM_OF_PROCESSES: its threads are processes
 * @STORM_UNTIL_STOPPED: it does not end by itself
 */
enum storm_flags {
	STORM_OF_PROCESSES	= 1 << 0,
	STORM_UNTIL_STOPPED	= 1 << 1,
};

struct storm;

/**
 * struct storm_thread - one of the threads
 * @storm: its storm
 * @index: its number, from 0
 * @arg: as given to _storm_start()
 * @state: of its random numbers
 * @rounds: how many it has begun
 * @thread: the thread, or
 * @pid: the process
 */
struct storm_thread {
	struct storm *storm;
	int index;
	void *arg;
	uint64_t state;
	unsigned int rounds;
	pthread_t thread;
	pid_t pid;
};

/**
 * struct storm_meeting - where threads wait for each other
 * @arrived: how many are here
 * @held: how often all have been
 */
struct storm_meeting {
	unsigned int arrived;
	unsigned int held;
};

/**
 * struct storm - one storm, in memory that all processes share
 * @name: what it is called
 * @seed: what its choices follow from
 * @count: number of threads
 * @flags: enum storm_flags
 * @ends: when it ends, by the monotonic clock, in ns
 * @over: it has ended, or is to end: somebody has failed
 * @failed: somebody has
 * @cpus: processors that there are for it
 * @gather: where all come together
 * @start: where they go on from, if each has a processor
 * @more: what storm_next() says to all
 * @thread: the threads
 */
struct storm {
	const char *name;
	uint64_t seed;
	int count;
	unsigned int flags;
	uint64_t ends;
	bool over;
	bool failed;
	int cpus;
	struct storm_meeting gather;
	struct storm_meeting start;
	bool more;
	struct storm_thread thread[STORM_THREADS];
};

/**
 * storm_missing() - why there can be no storm
 *
 * Return: NULL if there can, else the text for a SKIP.
 */
const char *storm_missing(void);

/**
 * storm_seconds() - how long a storm lasts
 *
 * Return: the seconds.
 */
unsigned int storm_seconds(void);

/**
 * storm_seed() - what all choices of a storm follow from
 * @name: what it is called
 *
 * SEED is written as a diagnostic.
 *
 * Return: the number.
 */
uint64_t storm_seed(const char *name);

/**
 * _storm_start() - begin
 * @storm: filled in with the storm, to be given to _storm_end()
 * @name: what it is called
 * @count: how many threads
 * @flags: enum storm_flags
 * @run: what each does
 * @arg: for it
 *
 * Return: 0 or an errno.
 */
int _storm_start(struct storm **storm, const char *name, int count, unsigned int flags,
		 void (*run)(struct storm_thread *t), void *arg);

/**
 * storm_stop() - have all threads end with the round they are in
 * @storm: the storm
 */
void storm_stop(struct storm *storm);

/**
 * storm_began() - wait until each thread has begun some rounds
 * @storm: the storm
 * @rounds: how many
 *
 * For one that does not end by itself.
 *
 * Return: whether that is so; if not, one has failed.
 */
bool storm_began(struct storm *storm, unsigned int rounds);

/**
 * _storm_end() - wait for all threads
 * @storm: the storm, no longer usable afterwards
 *
 * How many rounds there were is written as a diagnostic.
 *
 * Return: 0, EIO if one has failed (it has said why), ETIMEDOUT if one does not come back;
 * where it is in the kernel is a diagnostic then.
 */
int _storm_end(struct storm *storm);

/**
 * storm_random() - the next choice of a thread
 * @t: the thread
 * @below: of how many
 *
 * Return: a number below that.
 */
uint32_t storm_random(struct storm_thread *t, uint32_t below);

/**
 * storm_jitter() - let some time pass, as the seed says; mostly very little
 * @t: the thread
 */
void storm_jitter(struct storm_thread *t);

/**
 * storm_goes_on() - does the thread do another round?
 * @t: the thread
 *
 * Return: whether it does.
 */
bool storm_goes_on(struct storm_thread *t);

/**
 * storm_meet() - wait for all other threads
 * @t: the thread
 *
 * They go on at the same moment, as far as there are processors.
 */
void storm_meet(struct storm_thread *t);

/**
 * storm_next() - meet, and decide together whether there is another round
 * @t: the thread
 *
 * Return: the same for all.
 */
bool storm_next(struct storm_thread *t);

/**
 * storm_fail() - the thread has seen what must not be
 * @t: the thread
 * @fmt: what, as for printf()
 *
 * The storm ends; in one whose threads meet, the round has still to be gone through.
 */
__printf(2, 3) void storm_fail(struct storm_thread *t, const char *fmt, ...);

/**
 * storm_one_of() - look at the result of a call
 * @t: the thread, which fails if it is neither success nor allowed
 * @what: the call, for the message
 * @err: the result, 0 or an errno
 * @allowed: errnos that are right as well; 0 ends the list
 *
 * Return: whether the call has succeeded.
 */
bool storm_one_of(struct storm_thread *t, const char *what, int err, const int *allowed);

/* Has it succeeded?  If not, only these errnos are right, */
#define STORM_ALLOWS(t, what, err, ...) \
	storm_one_of(t, what, err, (const int []){ __VA_ARGS__, 0 })
/* or none. */
#define STORM_WORKS(t, what, err) \
	storm_one_of(t, what, err, (const int []){ 0 })

#define storm_start(storm, name, count, flags, run, arg) \
	ASSERT_EQ(0, _storm_start(storm, name, count, flags, run, arg))
#define storm_end(storm)	ASSERT_EQ(0, _storm_end(storm))

#endif /* _SELFTESTS_STORM_H */
