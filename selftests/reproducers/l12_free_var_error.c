// SPDX-License-Identifier: GPL-2.0
/*
 * L12: mlx5dv_free_var() loses the kernel's error.
 *
 * Symptom: the kernel refuses to free a VAR, because it is busy or its handle is gone, and
 * the caller is not told; its structure is freed, so that it cannot try again.  Built with
 * assertions the library ends the program instead.
 *
 * Wrong: mlx5dv_free_var() in providers/mlx5/verbs.c of rdma-core returns nothing.
 *
 * Fix: return the errno and keep the structure, as ibv_dealloc_pd() and others do.
 *
 * Here the handle was freed in an imported context before.
 *
 * Build:  gcc -Wall -o l12_free_var_error l12_free_var_error.c -lmlx5 -libverbs
 * Run:    ./l12_free_var_error [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#include <err.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT_TELL	4

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

/* A library whose mlx5dv_free_var() has a result would have it in its header. */
#define HAS_RESULT \
	(!__builtin_types_compatible_p(__typeof__(mlx5dv_free_var(NULL)), void))

/* 0: the library told, 1: it did not. */
static int free_twice(const char *name)
{
	struct ibv_context *ctx = open_device(name), *same;
	struct mlx5dv_var *var = ctx ? mlx5dv_alloc_var(ctx, 0) : NULL, *imported;
	char attributes[256];

	if (!var || mlx5dv_var_export(var, attributes))
		err(CANNOT_TELL, "no VAR");
	same = ibv_import_device(dup(ctx->cmd_fd));
	imported = same ? mlx5dv_var_import(same, attributes) : NULL;
	if (!imported)
		err(CANNOT_TELL, "the VAR cannot be imported");
	mlx5dv_free_var(imported);
	mlx5dv_free_var(var);
	return !HAS_RESULT;
}

int main(int argc, char **argv)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(free_twice(argc > 1 ? argv[1] : NULL));
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status)) {
		printf("bad: mlx5dv_free_var() of a handle that is gone ended with %s\n",
		       strsignal(WTERMSIG(status)));
		return 1;
	}
	if (WEXITSTATUS(status) > 1)
		return CANNOT_TELL;
	printf("%s: mlx5dv_free_var() %s a result\n", WEXITSTATUS(status) ? "bad" : "good",
	       WEXITSTATUS(status) ? "returned from a free that failed, without" : "has");
	return WEXITSTATUS(status);
}
