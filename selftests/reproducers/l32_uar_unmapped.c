// SPDX-License-Identifier: GPL-2.0
/*
 * L32: a UAR that cannot be mapped has libmlx5 destroy another one.
 *
 * Symptom: where the process has no address space, mappings or memory left for the page of
 * a new UAR, the UAR with the handle 0 is destroyed in place of the new one, which stays
 * allocated.  That is the first one of the context, and where the context was imported, as
 * ibv_import_device() allocates a UAR too, it is the exporter's.
 *
 * Wrong: mlx5_alloc_dyn_uar() in providers/mlx5/verbs.c of rdma-core takes the handle out
 * of the answer behind the mmap(), whose failure has mlx5_free_uar() destroy uar_handle.
 *
 * Fix: read the handle before the mmap().
 *
 * RLIMIT_AS makes the mmap() fail.
 *
 * Build:  gcc -Wall -o l32_uar_unmapped l32_uar_unmapped.c -lmlx5 -libverbs
 * Run:    ./l32_uar_unmapped [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#include <err.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl.h>

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

/* 0 or an errno. */
static int destroy_uar(int fd, __u32 handle)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[1];
	} cmd = {
		.hdr.length = sizeof(cmd),
		.hdr.object_id = MLX5_IB_OBJECT_UAR,
		.hdr.method_id = MLX5_IB_METHOD_UAR_OBJ_DESTROY,
		.hdr.num_attrs = 1,
		.hdr.driver_id = RDMA_DRIVER_MLX5,
		.attr = {
			{ .attr_id = MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE,
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = handle },
		},
	};

	return ioctl(fd, RDMA_VERBS_IOCTL, &cmd) ? errno : 0;
}

/* Have all mappings fail, or none. */
static void limit(int mappings_fail)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit))
		err(CANNOT_TELL, "RLIMIT_AS");
	limit.rlim_cur = mappings_fail ? 4096 : limit.rlim_max;
	if (setrlimit(RLIMIT_AS, &limit))
		err(CANNOT_TELL, "RLIMIT_AS");
}

int main(int argc, char **argv)
{
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	struct mlx5dv_devx_uar *uar;
	int first, tries;

	if (!ctx)
		err(CANNOT_TELL, "no mlx5 device");
	/* The library, and stdio, have what they want of the heap. */
	uar = mlx5dv_devx_alloc_uar(ctx, MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED);
	if (!uar)
		err(CANNOT_TELL, "no UAR");
	/* The library makes more than one of a page, and has the others at hand. */
	limit(1);
	for (tries = 0; uar && tries < 64; tries++)
		uar = mlx5dv_devx_alloc_uar(ctx, MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED);
	limit(0);
	if (uar)
		errx(CANNOT_TELL, "a mapping beyond RLIMIT_AS does not fail");
	/* What nobody has destroyed can be, this once. */
	first = destroy_uar(ctx->cmd_fd, 0);
	if (first && first != ENOENT)
		errx(CANNOT_TELL, "the handle 0 is no UAR: %s", strerror(first));
	printf("%s: a UAR could not be mapped, and the one with handle 0 is %s\n",
	       first ? "bad" : "good", first ? "gone" : "there");
	fflush(stdout);
	/* The library would destroy it again. */
	_exit(!!first);
}
