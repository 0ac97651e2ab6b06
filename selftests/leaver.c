// SPDX-License-Identifier: GPL-2.0
/*
 * Leave something behind, or nothing, for leaks.sh:
 *
 *   leaver nothing          make and destroy one of each, in the right order
 *   leaver dmabuf PIDFILE   leave a process that has forgotten to close a dma-buf of device
 *                           memory that it has freed
 *   leaver mr PIDFILE       leave a process that has forgotten to deregister a memory region
 *                           on such a dma-buf, which it has closed
 *   leaver order            do all that is to be done, the dma-buf after its context
 *
 * The processes that are left have their number in PIDFILE, and do what they have forgotten,
 * and end, when they get SIGTERM.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#define DM_LENGTH	4096
/* kselftest's status of a test that was skipped. */
#define CANNOT		4

/**
 * struct made - what is there
 * @context: the device
 * @pd: for the memory region
 * @dm: device memory
 * @fd: a dma-buf of it
 * @mr: a memory region on that
 */
struct made {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	int fd;
	struct ibv_mr *mr;
};

static int failed(const char *what)
{
	perror(what);
	return errno == ENOPKG || errno == EOPNOTSUPP ? CANNOT : 1;
}

static int make(struct made *made, bool mr)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_alloc_dm_attr dm_attr = { .length = DM_LENGTH };
	struct ibv_device **list = ibv_get_device_list(NULL);

	made->context = list && *list ? mlx5dv_open_device(*list, &attr) : NULL;
	if (!made->context)
		return failed("open device");
	made->pd = ibv_alloc_pd(made->context);
	if (!made->pd)
		return failed("ibv_alloc_pd");
	made->dm = ibv_alloc_dm(made->context, &dm_attr);
	if (!made->dm)
		return failed("ibv_alloc_dm");
	made->fd = rdma_core_dm_export(made->dm);
	if (made->fd < 0)
		return failed("ibv_dm_export_dmabuf_fd");
	if (!mr)
		return 0;
	made->mr = ibv_reg_dmabuf_mr(made->pd, 0, DM_LENGTH, 0, made->fd, IBV_ACCESS_LOCAL_WRITE);
	return made->mr ? 0 : failed("ibv_reg_dmabuf_mr");
}

static int destroy_mr(struct made *made)
{
	errno = ibv_dereg_mr(made->mr);
	return errno ? failed("ibv_dereg_mr") : 0;
}

static int close_dmabuf(struct made *made)
{
	return close(made->fd) ? failed("close of the dma-buf") : 0;
}

static int free_memory(struct made *made)
{
	errno = ibv_free_dm(made->dm);
	return errno ? failed("ibv_free_dm") : 0;
}

static int close_device(struct made *made)
{
	errno = ibv_dealloc_pd(made->pd);
	if (errno)
		return failed("ibv_dealloc_pd");
	errno = ibv_close_device(made->context);
	return errno ? failed("ibv_close_device") : 0;
}

static int leave_nothing(void)
{
	struct made made;

	return make(&made, true) ?: destroy_mr(&made) ?: close_dmabuf(&made) ?:
	       free_memory(&made) ?: close_device(&made);
}

static int in_wrong_order(void)
{
	struct made made;

	return make(&made, false) ?: free_memory(&made) ?: close_device(&made) ?:
	       close_dmabuf(&made);
}

static int write_pid(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file || fprintf(file, "%d\n", getpid()) < 0 || fclose(file))
		return failed(path);
	return 0;
}

/* In the process that stays; the other one ends when this has said what came of it. */
static int serve(const char *pidfile, bool mr, int result)
{
	struct made made;
	sigset_t end;
	int err, got;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);
	err = make(&made, mr) ?: mr ? close_dmabuf(&made) : 0;
	err = err ?: free_memory(&made) ?: write_pid(pidfile);
	if (write(result, &err, sizeof(err)) != sizeof(err) || err)
		return 1;
	close(result);
	sigwait(&end, &got);
	return (mr ? destroy_mr(&made) : close_dmabuf(&made)) ?: close_device(&made);
}

static int leave_process(const char *pidfile, bool mr)
{
	int result[2], err = 1;

	if (pipe(result))
		return failed("pipe");
	switch (fork()) {
	case -1:
		return failed("fork");
	case 0:
		close(result[0]);
		/* Whoever reads what the command prints does not wait for this one. */
		if (setsid() < 0 || !freopen("/dev/null", "w", stdout))
			return failed("setsid");
		return serve(pidfile, mr, result[1]);
	}
	close(result[1]);
	if (read(result[0], &err, sizeof(err)) != sizeof(err))
		return 1;
	return err;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "nothing"))
		return leave_nothing();
	if (argc == 2 && !strcmp(argv[1], "order"))
		return in_wrong_order();
	if (argc == 3 && !strcmp(argv[1], "dmabuf"))
		return leave_process(argv[2], false);
	if (argc == 3 && !strcmp(argv[1], "mr"))
		return leave_process(argv[2], true);
	fprintf(stderr, "expected nothing, order, dmabuf PIDFILE or mr PIDFILE\n");
	return 2;
}
