// SPDX-License-Identifier: GPL-2.0
/*
 * Work for scripts that look at it:
 *
 *   many hold KIND=COUNT...   have so many pd, mr, var, dm or cq; "ready" is printed
 *                             when all are there, and they go when the standard input
 *                             ends
 *   many read FILE [MS]       read a file over and over until the standard input ends, or
 *                             for so long, with a pause after each as long as it took;
 *                             print "reads=N", and "ns=N" for the mean of the reads
 *   many walk MS KIND         allocate, use and free an object of a kind (var: mapped; dm:
 *                             exported; mr) over and over for so long
 *   many time N COMMAND...    run a command so often, its output thrown away, and print
 *                             "ns=N" for the mean
 *
 * The exit status is not 0 if any call of the driver, or any read, failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#define DM_SIZE	4096

static struct ibv_context *context;
static struct ibv_pd *pd;
static char page[4096] __attribute__((aligned(4096)));

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

static bool input_has_ended(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	char byte;

	return poll(&in, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

static int open_device(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);

	context = list && list[0] ? mlx5dv_open_device(list[0], &attr) : NULL;
	if (!context)
		return failed("open device");
	pd = ibv_alloc_pd(context);
	return pd ? 0 : failed("ibv_alloc_pd");
}

static void *make(const char *kind)
{
	struct ibv_alloc_dm_attr dm = { .length = DM_SIZE };

	if (!strcmp(kind, "pd"))
		return ibv_alloc_pd(context);
	if (!strcmp(kind, "mr"))
		return ibv_reg_mr(pd, page, sizeof(page), IBV_ACCESS_LOCAL_WRITE);
	if (!strcmp(kind, "var"))
		return mlx5dv_alloc_var(context, 0);
	if (!strcmp(kind, "dm"))
		return ibv_alloc_dm(context, &dm);
	if (!strcmp(kind, "cq"))
		return ibv_create_cq(context, 1, NULL, NULL, 0);
	errno = EINVAL;
	return NULL;
}

static int hold(int argc, char **argv)
{
	char byte, *count;
	int i, n;

	if (open_device())
		return 1;
	for (i = 0; i < argc; i++) {
		count = strchr(argv[i], '=');
		if (!count)
			return failed(argv[i]);
		*count++ = 0;
		for (n = 0; n < atoi(count); n++)
			if (!make(argv[i]))
				return failed(argv[i]);
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}

static int use_var(void)
{
	struct mlx5dv_var *var = mlx5dv_alloc_var(context, 0);
	void *map;

	if (!var)
		return failed("mlx5dv_alloc_var");
	map = mmap(NULL, var->length, PROT_READ | PROT_WRITE, MAP_SHARED, context->cmd_fd,
		   var->mmap_off);
	if (map == MAP_FAILED)
		return failed("mmap of the VAR");
	if (munmap(map, var->length))
		return failed("munmap");
	mlx5dv_free_var(var);
	return 0;
}

static int use_dm(void)
{
	struct ibv_alloc_dm_attr attr = { .length = DM_SIZE };
	struct ibv_dm *dm = ibv_alloc_dm(context, &attr);
	int fd, err;

	if (!dm)
		return failed("ibv_alloc_dm");
	fd = rdma_core_dm_export(dm);
	/* Where there are no dma-bufs, the memory alone has to do. */
	if (fd < 0 && errno != ENOPKG)
		return failed("ibv_dm_export_dmabuf_fd");
	if (fd >= 0 && close(fd))
		return failed("close");
	err = ibv_free_dm(dm);
	if (err) {
		errno = err;
		return failed("ibv_free_dm");
	}
	return 0;
}

static int use_mr(void)
{
	struct ibv_mr *mr = make("mr");
	int err;

	if (!mr)
		return failed("ibv_reg_mr");
	err = ibv_dereg_mr(mr);
	if (err) {
		errno = err;
		return failed("ibv_dereg_mr");
	}
	return 0;
}

/* A kind of object, and what uses one from its birth to its death. */
struct use {
	const char *kind;
	int (*once)(void);
};

static int walk(uint64_t ms, const char *kind)
{
	static const struct use uses[] = {
		{ "var", use_var }, { "dm", use_dm }, { "mr", use_mr }, { }
	};
	const struct use *use = uses;
	uint64_t end, n;

	while (use->kind && strcmp(use->kind, kind))
		use++;
	if (!use->kind) {
		errno = EINVAL;
		return failed(kind);
	}
	if (open_device())
		return 1;
	end = now_ns() + ms * 1000000;
	for (n = 0; now_ns() < end; n++)
		if (use->once())
			return 1;
	printf("times=%llu\n", (unsigned long long)n);
	return 0;
}

/* Until its end; the last line must be an end line, or the text was not whole. */
static int read_once(const char *path)
{
	static char text[1 << 16];
	char tail[64] = "";
	ssize_t n, last;
	size_t kept = 0;
	int fd;

	fd = open(path, O_RDONLY);
	if (fd < 0)
		return failed(path);
	while ((n = read(fd, text, sizeof(text))) > 0) {
		/* The last bytes, which may be of two reads. */
		last = n < (ssize_t)sizeof(tail) - 1 ? n : (ssize_t)sizeof(tail) - 1;
		if (kept + last > sizeof(tail) - 1) {
			memmove(tail, tail + kept + last - (sizeof(tail) - 1),
				sizeof(tail) - 1 - last);
			kept = sizeof(tail) - 1 - last;
		}
		memcpy(tail + kept, text + n - last, last);
		kept += last;
		tail[kept] = 0;
	}
	close(fd);
	if (n < 0)
		return failed(path);
	if (!strstr(tail, "end records=")) {
		fprintf(stderr, "%s: does not end as it should: %s\n", path, tail);
		return 1;
	}
	return 0;
}

static int read_loop(const char *path, uint64_t ms)
{
	uint64_t end = now_ns() + ms * 1000000, began, took, sum = 0, n;
	struct timespec pause;

	for (n = 0; ms ? now_ns() < end : !input_has_ended(); n++) {
		began = now_ns();
		if (read_once(path))
			return 1;
		took = now_ns() - began;
		sum += took;
		if (!ms)
			continue;
		/* uobjscope.ko would have the next one wait as long. */
		pause.tv_sec = took / 1000000000;
		pause.tv_nsec = took % 1000000000;
		nanosleep(&pause, NULL);
	}
	printf("reads=%llu ns=%llu\n", (unsigned long long)n,
	       (unsigned long long)(n ? sum / n : 0));
	return 0;
}

static int run_once(char **command)
{
	int status, null;
	pid_t pid = fork();

	if (pid < 0)
		return failed("fork");
	if (!pid) {
		null = open("/dev/null", O_WRONLY);
		dup2(null, STDOUT_FILENO);
		execvp(command[0], command);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "%s: failed, status 0x%x\n", command[0], status);
		return 1;
	}
	return 0;
}

static int measure(unsigned int times, char **command)
{
	uint64_t began;
	unsigned int n;

	/* Once for the caches. */
	if (run_once(command))
		return 1;
	began = now_ns();
	for (n = 0; n < times; n++)
		if (run_once(command))
			return 1;
	printf("ns=%llu\n", (unsigned long long)(times ? (now_ns() - began) / times : 0));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 3 && !strcmp(argv[1], "hold"))
		return hold(argc - 2, argv + 2);
	if (argc == 4 && !strcmp(argv[1], "walk"))
		return walk(strtoull(argv[2], NULL, 0), argv[3]);
	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "read"))
		return read_loop(argv[2], argc == 4 ? strtoull(argv[3], NULL, 0) : 0);
	if (argc >= 4 && !strcmp(argv[1], "time"))
		return measure(atoi(argv[2]), argv + 3);
	fprintf(stderr,
		"usage: many hold KIND=COUNT...|walk MS KIND|read FILE [MS]|time N COMMAND...\n");
	return 2;
}
