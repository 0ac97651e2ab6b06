// SPDX-License-Identifier: GPL-2.0
/*
 * L17: device memory that another process freed stays mapped, and taken.
 *
 * Symptom: one of two processes that share a context frees device memory of the other.
 * ibv_free_dm() of the latter fails with ENOENT and leaves its mapping, which no call of
 * the library can remove any more: the device memory is taken until the process ends.
 *
 * Wrong: mlx5_free_dm() in providers/mlx5/verbs.c of rdma-core unmaps only after the kernel
 * has freed the object.
 *
 * Fix: unmap first, as mlx5_unimport_dm() does, or unmap and free the structure on ENOENT
 * as well: the object is gone.
 *
 * Build:  gcc -Wall -o l17_free_enoent l17_free_enoent.c -lmlx5 -libverbs
 * Run:    ./l17_free_enoent [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#include <err.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
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

static int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int count = 0;

	while (maps && fgets(line, sizeof(line), maps))
		count += !!strstr(line, "/dev/infiniband/uverbs");
	if (maps)
		fclose(maps);
	return count;
}

static int free_in_other_process(struct ibv_context *ctx, uint32_t handle)
{
	struct ibv_context *same = ibv_import_device(dup(ctx->cmd_fd));
	struct ibv_dm *dm = same ? ibv_import_dm(same, handle) : NULL;

	return dm ? ibv_free_dm(dm) : CANNOT_TELL;
}

int main(int argc, char **argv)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	const int before = mappings();
	struct ibv_dm *dm = ctx ? ibv_alloc_dm(ctx, &attr) : NULL;
	int status, result, left;
	pid_t pid;

	if (!dm)
		err(CANNOT_TELL, "no device memory");
	pid = fork();
	if (!pid)
		_exit(free_in_other_process(ctx, dm->handle));
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		errx(CANNOT_TELL, "the other process could not free it");
	result = ibv_free_dm(dm);
	left = mappings() - before;
	printf("%s: ibv_free_dm(): %s, mappings left: %d\n", left ? "bad" : "good",
	       strerror(result), left);
	return left != 0;
}
