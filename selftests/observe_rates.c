// SPDX-License-Identifier: GPL-2.0
/*
 * How fast VARs are allocated and freed while the other CPU looks, and while it does
 * something else:
 *
 *   observe_rates ROUNDS MS FILE...
 *
 * prints one line for each thing that the other CPU does (nothing, computing, calling
 * the kernel, reading each FILE over and over): the rate, the ratio to the rate beside
 * each of the first three, and the interrupts between the CPUs a second.
 *
 * In each round each of them is measured once, for so many milliseconds, and each
 * round begins with another one; a ratio is that of two measurements of one round, and
 * what is printed is the median of all rounds, so that neither a slow spell of the
 * machine nor a drift makes a difference between them.  Both CPUs are fixed.
 *
 * Computing is what it costs that the other CPU is busy at all: much, where CPUs are
 * emulated or shared.  Calling the kernel is what it costs that it is busy in the
 * kernel, with none of the locks of RDMA.  The ratio to that is what is left for the
 * locks that the reader holds and the memory that it shares with the driver.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#define MAX_ROUNDS	1000
#define MAX_OTHERS	8
#define FIRST_FILE	3

/* Rows of /proc/interrupts that one CPU causes on another. */
static const char *const interrupts[] = { "CAL", "TLB", "RES" };

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define INTERRUPTS		ARRAY_SIZE(interrupts)

/**
 * struct other - what the other CPU does
 * @name:	what to call it
 * @work:	does a little of it, NULL for nothing; false if it failed
 * @go:		pipe that its process sleeps at until it is to work
 * @rate:	VARs a second, by round
 * @raised:	interrupts of all rounds together
 */
struct other {
	const char *name;
	bool (*work)(const char *name);
	int go[2];
	double rate[MAX_ROUNDS];
	uint64_t raised[INTERRUPTS];
};

/**
 * struct shared - what the processes tell each other
 * @wanted:	the one at work is to go on
 * @working:	it does
 * @broken:	its work has failed
 */
struct shared {
	bool wanted;
	bool working;
	bool broken;
};

static struct shared *shared;
static struct other others[MAX_OTHERS];
static int count;
static struct ibv_context *context;

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

static bool compute(const char *name)
{
	unsigned int n;

	(void)name;
	for (n = 0; n < 10000; n++)
		__asm__ __volatile__ ("" : "+r" (n));
	return true;
}

static bool read_whole(const char *path)
{
	static char text[1 << 16];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	while ((n = read(fd, text, sizeof(text))) > 0)
		;
	close(fd);
	return !n;
}

static bool call_the_kernel(const char *name)
{
	(void)name;
	return read_whole("/proc/self/status");
}

static bool pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

/* A process that sleeps until it is to work, and works until it is not to. */
static int start(struct other *other, int cpu)
{
	char byte;
	pid_t pid;

	if (pipe2(other->go, O_CLOEXEC))
		return failed("pipe");
	pid = fork();
	if (pid < 0)
		return failed("fork");
	if (pid)
		return 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!pin(cpu))
		shared->broken = true;
	while (read(other->go[0], &byte, 1) == 1) {
		do {
			if (!other->work(other->name))
				__atomic_store_n(&shared->broken, true, __ATOMIC_RELEASE);
			__atomic_store_n(&shared->working, true, __ATOMIC_RELEASE);
		} while (__atomic_load_n(&shared->wanted, __ATOMIC_ACQUIRE));
		__atomic_store_n(&shared->working, false, __ATOMIC_RELEASE);
	}
	_exit(0);
}

/* Until it has begun, or ended. */
static void wait_until(bool working)
{
	while (__atomic_load_n(&shared->working, __ATOMIC_ACQUIRE) != working &&
	       !__atomic_load_n(&shared->broken, __ATOMIC_ACQUIRE))
		sched_yield();
}

static int set_to_work(struct other *other)
{
	if (!other->work)
		return 0;
	__atomic_store_n(&shared->wanted, true, __ATOMIC_RELEASE);
	if (write(other->go[1], "", 1) != 1)
		return failed("pipe");
	wait_until(true);
	return 0;
}

static int set_to_rest(struct other *other)
{
	if (!other->work)
		return 0;
	__atomic_store_n(&shared->wanted, false, __ATOMIC_RELEASE);
	wait_until(false);
	if (!__atomic_load_n(&shared->broken, __ATOMIC_ACQUIRE))
		return 0;
	fprintf(stderr, "the other CPU could not do its work: %s\n", other->name);
	return 1;
}

/* Add up what all CPUs have got, times @sign. */
static int add_interrupts(struct other *other, int sign)
{
	static char line[4096];
	FILE *in = fopen("/proc/interrupts", "re");
	char *word, *rest;
	unsigned int i;

	if (!in)
		return failed("/proc/interrupts");
	while (fgets(line, sizeof(line), in)) {
		rest = line;
		word = strsep(&rest, ":");
		word += strspn(word, " ");
		for (i = 0; i < INTERRUPTS && strcmp(word, interrupts[i]); i++)
			;
		if (i == INTERRUPTS || !rest)
			continue;
		for (;;) {
			unsigned long long n;

			errno = 0;
			n = strtoull(rest, &word, 10);
			if (word == rest)
				break;
			other->raised[i] += sign * n;
			rest = word;
		}
	}
	fclose(in);
	return 0;
}

static int measure(struct other *other, int round, uint64_t ns)
{
	uint64_t began, end, n;
	struct mlx5dv_var *var;

	if (set_to_work(other) || add_interrupts(other, -1))
		return 1;
	began = now_ns();
	for (n = 0; (end = now_ns()) < began + ns; n++) {
		var = mlx5dv_alloc_var(context, 0);
		if (!var)
			return failed("mlx5dv_alloc_var");
		mlx5dv_free_var(var);
	}
	other->rate[round] = n * 1e9 / (end - began);
	return add_interrupts(other, 1) || set_to_rest(other);
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of the rates, or of their ratios to those beside @to. */
static double median(const struct other *other, const struct other *to, int rounds)
{
	static double value[MAX_ROUNDS];
	int n;

	for (n = 0; n < rounds; n++)
		value[n] = to ? other->rate[n] / to->rate[n] : other->rate[n];
	qsort(value, rounds, sizeof(value[0]), compare);
	return rounds % 2 ? value[rounds / 2] : (value[rounds / 2 - 1] + value[rounds / 2]) / 2;
}

static void print(const struct other *other, int rounds, double seconds)
{
	unsigned int i;
	int n;

	printf("beside %s: rate %.0f", other->name, median(other, NULL, rounds));
	for (n = 0; n < FIRST_FILE && other > &others[n]; n++)
		printf(", ratio to beside %s %.3f", others[n].name,
		       median(other, &others[n], rounds));
	for (i = 0; i < INTERRUPTS; i++)
		printf(", %s %.0f/s", interrupts[i], other->raised[i] / seconds);
	putchar('\n');
}

/* For the table of make bench: what the locks of the reader cost and the memory it shares. */
static void print_figure(const struct other *other, int rounds)
{
	const char *base = strrchr(other->name, '/');

	printf("figure VARs-beside-a-reader-of-%s value=%.0f unit=a-second ratio=%.3f ",
	       base ? base + 1 : other->name, median(other, NULL, rounds),
	       median(other, &others[FIRST_FILE - 1], rounds));
	printf("peer=beside %s\n", others[FIRST_FILE - 1].name);
}

static int open_device(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);

	context = list && list[0] ? mlx5dv_open_device(list[0], &attr) : NULL;
	return context ? 0 : failed("open device");
}

static int two_cpus(int *cpu)
{
	cpu_set_t set;
	int n, found = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		return failed("sched_getaffinity");
	for (n = 0; n < CPU_SETSIZE && found < 2; n++)
		if (CPU_ISSET(n, &set))
			cpu[found++] = n;
	if (found == 2)
		return 0;
	fputs("this needs two CPUs\n", stderr);
	return 1;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0, cpu[2], round, n;
	double ms = argc > 2 ? atof(argv[2]) : 0;

	if (argc < 4 || argc > MAX_OTHERS || rounds < 1 ||
	    rounds > MAX_ROUNDS || ms < 1) {
		fprintf(stderr, "usage: observe_rates ROUNDS MS FILE...\n"
			"At most %d rounds and %d files.\n", MAX_ROUNDS, MAX_OTHERS - FIRST_FILE);
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		return failed("mmap");
	if (two_cpus(cpu))
		return 1;
	others[count++] = (struct other){ .name = "nothing" };
	others[count++] = (struct other){ .name = "computing", .work = compute };
	others[count++] = (struct other){ .name = "calling the kernel", .work = call_the_kernel };
	for (n = 3; n < argc; n++)
		others[count++] = (struct other){ .name = argv[n], .work = read_whole };
	/* Before the device is open, so that the processes do not have its file. */
	for (n = 0; n < count; n++)
		if (others[n].work && start(&others[n], cpu[1]))
			return 1;
	if (!pin(cpu[0]))
		return failed("sched_setaffinity");
	if (open_device())
		return 1;
	for (round = 0; round < rounds; round++)
		for (n = 0; n < count; n++)
			if (measure(&others[(round + n) % count], round, ms * 1000000))
				return 1;
	for (n = 0; n < count; n++)
		print(&others[n], rounds, rounds * ms / 1000);
	for (n = FIRST_FILE; n < count; n++)
		print_figure(&others[n], rounds);
	return 0;
}
