// SPDX-License-Identifier: GPL-2.0
/*
 * L31: a GET_CONTEXT that fails keeps the caller's task_struct for ever.
 *
 * Symptom: each process that asks for a context and does not get one leaves its
 * task_struct, its credentials and its signal_struct behind when it has ended.  All that
 * it takes is a second GET_CONTEXT on a file that has a context, which is EINVAL.  Who may
 * open /dev/infiniband/uverbs* can so use up the kernel's memory, beyond all limits, as
 * the processes that it is charged to have gone.
 *
 * Wrong: ib_alloc_ucontext() has the context's restrack entry refer to the task.  Where
 * ib_init_ucontext() fails, the handler of UVERBS_METHOD_GET_CONTEXT in
 * drivers/infiniband/core/uverbs_std_types_device.c frees the context without
 * rdma_restrack_put(), which ib_uverbs_get_context(), the write() call, has there.
 *
 * Fix: rdma_restrack_put(&attrs->context->res) before the kfree().
 *
 * Children of this program ask on a file that they have inherited, and end; the kernel's
 * count of task_structs is compared with that after as many children that do not ask.
 * Needs root, as /proc/slabinfo is for root.
 *
 * Build:  gcc -Wall -o l31_get_context_task l31_get_context_task.c -lmlx5 -libverbs
 * Run:    ./l31_get_context_task [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#include <err.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl.h>

#define CANNOT_TELL	4
#define CHILDREN	400

/* The first mlx5 device, or the one of that name. */
static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (; list && *list; list++)
		if (mlx5dv_is_supported(*list) &&
		    (!name || !strcmp(name, ibv_get_device_name(*list))))
			return ibv_open_device(*list);
	errno = ENODEV;
	return NULL;
}

/* 0 or an errno. */
static int get_context(int fd)
{
	struct ib_uverbs_ioctl_hdr cmd = {
		.length = sizeof(cmd),
		.object_id = UVERBS_OBJECT_DEVICE,
		.method_id = UVERBS_METHOD_GET_CONTEXT,
		.driver_id = RDMA_DRIVER_MLX5,
	};

	return ioctl(fd, RDMA_VERBS_IOCTL, &cmd) ? errno : 0;
}

/* Memory that is free but has not been given back yet counts as well. */
static long task_structs(void)
{
	FILE *file = fopen("/proc/slabinfo", "re");
	char line[512];
	long count = -1;

	while (file && count < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "task_struct %ld", &count) != 1)
			count = -1;
	if (file)
		fclose(file);
	if (count < 0)
		errx(CANNOT_TELL, "/proc/slabinfo has no task_struct that can be read");
	return count;
}

/* Of those in the allocator's own lists, which count as well, what can be given back. */
static void give_back_free(void)
{
	FILE *file = fopen("/sys/kernel/slab/task_struct/shrink", "we");

	if (!file)
		return;
	fputs("1", file);
	fclose(file);
}

/* How many more there are once children have come and gone, ten seconds at most. */
static long left_by(int children, int fd)
{
	const struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
	const long before = task_structs();
	int i, status, tries;
	long more;
	pid_t pid;

	for (i = 0; i < children; i++) {
		pid = fork();
		if (pid < 0)
			err(CANNOT_TELL, "no child");
		if (!pid)
			_exit(fd >= 0 && get_context(fd) != EINVAL);
		if (waitpid(pid, &status, 0) != pid || status)
			errx(CANNOT_TELL, "a second GET_CONTEXT is not refused with EINVAL");
	}
	for (tries = 0; tries < 200; tries++) {
		give_back_free();
		more = task_structs() - before;
		if (more < children / 4)
			break;
		nanosleep(&pause, NULL);
	}
	return more;
}

int main(int argc, char **argv)
{
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	long without, with;

	if (!ctx)
		err(CANNOT_TELL, "no mlx5 device");
	left_by(CHILDREN, -1);
	without = left_by(CHILDREN, -1);
	if (without >= CHILDREN / 4)
		errx(CANNOT_TELL, "%ld task_structs more without any GET_CONTEXT", without);
	with = left_by(CHILDREN, ctx->cmd_fd);
	printf("%s: %d processes got EINVAL from GET_CONTEXT, %ld task_structs stay\n",
	       with >= CHILDREN / 2 ? "bad" : "good", CHILDREN, with);
	return with >= CHILDREN / 2;
}
