// SPDX-License-Identifier: GPL-2.0
/*
 * L11: ibv_memcpy_to_dm() writes below the memory where offset plus length wrap.
 *
 * Symptom: ibv_memcpy_to_dm(dm, 2^64 - 4, source, 4) returns 0 and stores the four bytes
 * before the mapping, wherever that is; ibv_memcpy_from_dm() reads from there.
 *
 * Wrong: mlx5_access_dm() in providers/mlx5/verbs.c of rdma-core compares
 * dm_offset + length with the length of the memory, and the sum wraps.
 *
 * Fix: compare without a sum, or refuse an offset above the length first.
 *
 * Build:  gcc -Wall -o l11_memcpy_wrap l11_memcpy_wrap.c -lmlx5 -libverbs
 * Run:    ./l11_memcpy_wrap [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#define _GNU_SOURCE
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

/* In a process of its own, which may not survive it. */
static int copy(const char *name)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_context *ctx = open_device(name);
	struct ibv_dm *dm = ctx ? ibv_alloc_dm(ctx, &attr) : NULL;
	const uint32_t word = 0x5eed5eed;

	if (!dm)
		err(CANNOT_TELL, "no device memory");
	if (ibv_memcpy_to_dm(dm, 0, &word, sizeof(word)))
		errx(CANNOT_TELL, "device memory cannot be written");
	return !ibv_memcpy_to_dm(dm, UINT64_MAX - 3, &word, sizeof(word));
}

int main(int argc, char **argv)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(copy(argc > 1 ? argv[1] : NULL));
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status)) {
		printf("bad: the copy to offset 2^64 - 4 ended with %s\n",
		       strsignal(WTERMSIG(status)));
		return 1;
	}
	if (WEXITSTATUS(status) > 1)
		return CANNOT_TELL;
	printf("%s: the copy of 4 bytes to offset 2^64 - 4 was %s\n",
	       WEXITSTATUS(status) ? "bad" : "good",
	       WEXITSTATUS(status) ? "done" : "refused");
	return WEXITSTATUS(status);
}
