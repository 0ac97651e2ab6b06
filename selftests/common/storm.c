// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "storm.h"

/* Seconds that a thread may take for its last round. */
#define PATIENCE	20
/* Turns that a thread waits for the others before it sleeps: who may be, who must be near. */
#define SPINS		2000
#define PATIENT_SPINS	1000000

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static int count_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 2 : CPU_COUNT(&set);
}

const char *storm_missing(void)
{
	if (count_cpus() >= 2)
		return NULL;
	return "one CPU: threads that take turns are no storm, use two or more";
}

static unsigned long from_environment(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : 0;
}

unsigned int storm_seconds(void)
{
	const unsigned int seconds = from_environment("STRESS") * 60 / STORMS;

	return seconds ? seconds : 1;
}

uint64_t storm_seed(const char *name)
{
	uint64_t hash = from_environment("SEED") ?: (unsigned long)time(NULL);

	diag("SEED=%lu", hash);
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3ULL;
	return hash;
}

/* The generator is splitmix64, whose streams differ by where they begin. */
static uint64_t next_number(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

uint32_t storm_random(struct storm_thread *t, uint32_t below)
{
	return next_number(&t->state) % below;
}

void storm_jitter(struct storm_thread *t)
{
	const uint32_t turns = 1U << storm_random(t, 16);
	uint32_t i;

	for (i = storm_random(t, turns); i; i--)
		__asm__ __volatile__("");
}

static bool is_over(struct storm *storm)
{
	return __atomic_load_n(&storm->over, __ATOMIC_ACQUIRE) || now_ns() >= storm->ends;
}

void storm_stop(struct storm *storm)
{
	__atomic_store_n(&storm->over, true, __ATOMIC_RELEASE);
}

static void count_round(struct storm_thread *t)
{
	__atomic_add_fetch(&t->rounds, 1, __ATOMIC_RELEASE);
}

bool storm_goes_on(struct storm_thread *t)
{
	/* However slow the machine is: each thread does something. */
	if (is_over(t->storm) && t->rounds)
		return false;
	count_round(t);
	return true;
}

/* Wait until all have come here, in one of two places that are used in turn. */
static void meet_at(struct storm *storm, struct storm_meeting *place, unsigned int spins_max)
{
	const unsigned int held = __atomic_load_n(&place->held, __ATOMIC_ACQUIRE);
	unsigned int spins = 0, arrived;

	arrived = __atomic_add_fetch(&place->arrived, 1, __ATOMIC_ACQ_REL);
	if (arrived == (unsigned int)storm->count) {
		__atomic_store_n(&place->arrived, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&place->held, held + 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &place->held, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
		return;
	}
	while (__atomic_load_n(&place->held, __ATOMIC_ACQUIRE) == held)
		if (++spins > spins_max)
			syscall(SYS_futex, &place->held, FUTEX_WAIT, held, NULL, NULL, 0);
}

void storm_meet(struct storm_thread *t)
{
	struct storm *storm = t->storm;

	meet_at(storm, &storm->gather, SPINS);
	/* Who slept comes later than who did not, but if each has a processor they can wait. */
	if (storm->count <= storm->cpus)
		meet_at(storm, &storm->start, PATIENT_SPINS);
}

bool storm_next(struct storm_thread *t)
{
	struct storm *storm = t->storm;

	storm_meet(t);
	if (!t->index)
		storm->more = !t->rounds || !is_over(storm);
	storm_meet(t);
	if (storm->more)
		count_round(t);
	return storm->more;
}

void storm_fail(struct storm_thread *t, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	diag("%s: thread %d, round %u: %s", t->storm->name, t->index, t->rounds, text);
	__atomic_store_n(&t->storm->failed, true, __ATOMIC_RELEASE);
	storm_stop(t->storm);
}

bool storm_one_of(struct storm_thread *t, const char *what, int err, const int *allowed)
{
	const int *a;

	if (!err)
		return true;
	for (a = allowed; *a; a++)
		if (*a == err)
			return false;
	storm_fail(t, "%s: %s", what, strerror(err));
	return false;
}

struct start {
	void (*run)(struct storm_thread *t);
	struct storm_thread *t;
};

static void *thread_main(void *arg)
{
	struct start start = *(struct start *)arg;

	free(arg);
	start.run(start.t);
	return NULL;
}

static int start_thread(struct storm_thread *t, void (*run)(struct storm_thread *t))
{
	struct start *start = malloc(sizeof(*start));
	int err;

	if (!start)
		return ENOMEM;
	start->run = run;
	start->t = t;
	err = pthread_create(&t->thread, NULL, thread_main, start);
	if (err)
		free(start);
	return err;
}

static int start_process(struct storm_thread *t, void (*run)(struct storm_thread *t))
{
	const pid_t parent = getpid();
	const pid_t pid = fork();

	if (pid) {
		t->pid = pid;
		return pid < 0 ? errno : 0;
	}
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	run(t);
	_exit(0);
}

int _storm_start(struct storm **storm_out, const char *name, int count, unsigned int flags,
		 void (*run)(struct storm_thread *t), void *arg)
{
	struct storm *storm;
	int i, err = 0;

	storm = mmap(NULL, sizeof(*storm), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (storm == MAP_FAILED)
		return errno;
	storm->name = name;
	storm->seed = storm_seed(name);
	storm->count = count;
	storm->cpus = count_cpus();
	storm->flags = flags;
	storm->ends = UINT64_MAX;
	if (!(flags & STORM_UNTIL_STOPPED))
		storm->ends = now_ns() + storm_seconds() * 1000000000ULL;
	for (i = 0; i < count && !err; i++) {
		struct storm_thread *t = &storm->thread[i];

		t->storm = storm;
		t->index = i;
		t->arg = arg;
		t->state = storm->seed + i;
		t->state = next_number(&t->state);
		err = flags & STORM_OF_PROCESSES ? start_process(t, run) : start_thread(t, run);
	}
	*storm_out = storm;
	return err;
}

bool storm_began(struct storm *storm, unsigned int rounds)
{
	const struct timespec pause = { .tv_nsec = 1000 * 1000 };
	int i;

	for (i = 0; i < storm->count; i++) {
		while (__atomic_load_n(&storm->thread[i].rounds, __ATOMIC_ACQUIRE) < rounds) {
			if (is_over(storm))
				return false;
			nanosleep(&pause, NULL);
		}
	}
	return true;
}

/* What a thread does in the kernel that should have come back. */
static void print_stacks(void)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "for t in /proc/%d/task/*; do echo \"# $t\"; sed 's/^/# /' $t/stack; done >&2",
		 getpid());
	if (system(command))
		diag("no stacks");
}

static int end_thread(struct storm_thread *t, const struct timespec *until)
{
	int err = pthread_timedjoin_np(t->thread, NULL, until);

	if (err == ETIMEDOUT) {
		diag("%s: thread %d does not come back from its round %u", t->storm->name,
		     t->index, t->rounds);
		print_stacks();
	}
	return err;
}

/* One that ends too early leaves others waiting for it, so all are looked at in turn. */
static int end_processes(struct storm *storm, const struct timespec *until)
{
	const struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };
	int i, err = 0, left = storm->count, status;
	struct timespec now = {};
	char path[64], *stack;

	while (left && now.tv_sec <= until->tv_sec) {
		for (i = 0; i < storm->count; i++) {
			struct storm_thread *t = &storm->thread[i];

			if (!t->pid || waitpid(t->pid, &status, WNOHANG) != t->pid)
				continue;
			t->pid = 0;
			left--;
			if (WIFEXITED(status) && !WEXITSTATUS(status))
				continue;
			diag("%s: process %d has ended with status %#x", storm->name, i, status);
			storm_stop(storm);
			err = EIO;
		}
		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_REALTIME, &now);
	}
	for (i = 0; i < storm->count; i++) {
		if (!storm->thread[i].pid)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/stack", storm->thread[i].pid);
		stack = text_read(path);
		diag("%s: process %d does not come back from its round %u: %s", storm->name, i,
		     storm->thread[i].rounds, stack ? stack : "");
		free(stack);
		kill(storm->thread[i].pid, SIGKILL);
		if (!err)
			err = ETIMEDOUT;
	}
	return err;
}

int _storm_end(struct storm *storm)
{
	unsigned int least = UINT32_MAX, most = 0;
	struct timespec until;
	int i, err = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += storm_seconds() + PATIENCE;
	if (storm->flags & STORM_OF_PROCESSES)
		err = end_processes(storm, &until);
	for (i = 0; i < storm->count; i++) {
		struct storm_thread *t = &storm->thread[i];

		if (!(storm->flags & STORM_OF_PROCESSES) && !err)
			err = end_thread(t, &until);
		least = t->rounds < least ? t->rounds : least;
		most = t->rounds > most ? t->rounds : most;
	}
	diag("%s: %d %s, %u to %u rounds each", storm->name, storm->count,
	     storm->flags & STORM_OF_PROCESSES ? "processes" : "threads", least, most);
	if (!err && storm->failed)
		err = EIO;
	/* A thread that has not come back still looks into it. */
	if (err != ETIMEDOUT)
		munmap(storm, sizeof(*storm));
	return err;
}
