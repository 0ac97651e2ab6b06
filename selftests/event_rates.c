// SPDX-License-Identifier: GPL-2.0
/*
 * How fast VARs are allocated and freed in several states of the kernel's tracing:
 *
 *   event_rates ROUNDS MS NAME COMMAND [NAME COMMAND]...
 *
 * Each COMMAND brings the kernel into a state, from any of the others.  Prints a line for
 * each: the rate, and the time for one VAR as a ratio to that of the first state.
 *
 * In each round each state is entered and measured once, for so many milliseconds, and
 * each round begins with another one; a ratio is that of two measurements of one round,
 * and what is printed is the median of all rounds.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#define MAX_ROUNDS	1000
#define MAX_STATES	8

/**
 * struct state - of the kernel's tracing
 * @name: what to call it
 * @command: enters it
 * @ns: nanoseconds for a VAR, by round
 */
struct state {
	const char *name;
	const char *command;
	double ns[MAX_ROUNDS];
};

static struct state states[MAX_STATES];
static int count;

static int failed(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return 1;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Nanoseconds for a VAR, less than 0 if one was not to be had. */
static double measure(struct ibv_context *context, uint64_t ns)
{
	const uint64_t begin = now_ns();
	uint64_t vars = 0, now;
	struct mlx5dv_var *var;

	do {
		var = mlx5dv_alloc_var(context, 0);
		if (!var)
			return -1;
		mlx5dv_free_var(var);
		vars++;
		now = now_ns();
	} while (now - begin < ns);
	return (double)(now - begin) / vars;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(const double *numerator, const double *denominator, int rounds)
{
	double sorted[MAX_ROUNDS];
	int n;

	for (n = 0; n < rounds; n++)
		sorted[n] = denominator ? numerator[n] / denominator[n] : numerator[n];
	qsort(sorted, rounds, sizeof(*sorted), compare);
	return sorted[rounds / 2];
}

static struct ibv_context *open_device(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);

	return list && *list ? mlx5dv_open_device(*list, &attr) : NULL;
}

int main(int argc, char **argv)
{
	struct ibv_context *context;
	int rounds, round, n;
	cpu_set_t cpu;
	uint64_t ns;

	rounds = argc > 4 ? atoi(argv[1]) : 0;
	ns = argc > 4 ? strtoull(argv[2], NULL, 10) * 1000000 : 0;
	for (n = 3; n + 1 < argc && count < MAX_STATES; n += 2, count++) {
		states[count].name = argv[n];
		states[count].command = argv[n + 1];
	}
	if (rounds < 1 || rounds > MAX_ROUNDS || !ns || n != argc) {
		fprintf(stderr, "expected ROUNDS (1-%d) MS, then up to %d NAME COMMAND\n",
			MAX_ROUNDS, MAX_STATES);
		return 2;
	}
	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu))
		return failed("sched_setaffinity");
	context = open_device();
	if (!context)
		return failed("open device");
	for (round = 0; round < rounds; round++)
		for (n = 0; n < count; n++) {
			struct state *state = &states[(round + n) % count];

			if (system(state->command)) {
				fprintf(stderr, "%s: %s has failed\n", state->name, state->command);
				return 1;
			}
			/* Without what is done once. */
			if (measure(context, ns / 10) < 0)
				return failed("mlx5dv_alloc_var");
			state->ns[round] = measure(context, ns);
			if (state->ns[round] < 0)
				return failed("mlx5dv_alloc_var");
		}
	for (n = 0; n < count; n++)
		printf("figure VAR-with-events-%s value=%.0f unit=ns ratio=%.3f peer=events %s\n",
		       states[n].name, median(states[n].ns, NULL, rounds),
		       median(states[n].ns, states[0].ns, rounds), states[0].name);
	return ibv_close_device(context) ? failed("ibv_close_device") : 0;
}
