// SPDX-License-Identifier: GPL-2.0
/*
 * L15: a DM that was imported does not say that its handle is valid.
 *
 * Symptom: comp_mask of the DM that ibv_import_dm() returns lacks IBV_DM_MASK_HANDLE, so a
 * program that looks before it passes the handle on, as it should, cannot.
 *
 * Wrong: mlx5_import_dm() in providers/mlx5/verbs.c of rdma-core fills in the handle and
 * leaves comp_mask 0.
 *
 * Fix: set IBV_DM_MASK_HANDLE there, as mlx5_alloc_dm() does.
 *
 * Build:  gcc -Wall -o l15_import_mask l15_import_mask.c -lmlx5 -libverbs
 * Run:    ./l15_import_mask [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#include <err.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>
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

int main(int argc, char **argv)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	struct ibv_dm *dm = ctx ? ibv_alloc_dm(ctx, &attr) : NULL;
	struct ibv_context *same = dm ? ibv_import_device(dup(ctx->cmd_fd)) : NULL;
	struct ibv_dm *imported = same ? ibv_import_dm(same, dm->handle) : NULL;
	int bad;

	if (!imported)
		err(CANNOT_TELL, "no device memory that can be imported");
	if (!(dm->comp_mask & IBV_DM_MASK_HANDLE))
		errx(CANNOT_TELL, "one that is allocated does not say so either");
	bad = !(imported->comp_mask & IBV_DM_MASK_HANDLE);
	printf("%s: comp_mask is %#x if allocated, %#x if imported\n", bad ? "bad" : "good",
	       dm->comp_mask, imported->comp_mask);
	return bad;
}
