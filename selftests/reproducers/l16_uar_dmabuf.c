// SPDX-License-Identifier: GPL-2.0
/*
 * L16: a UAR that was freed stays within reach of its dma-buf and gets a new user.
 *
 * Symptom: after mlx5dv_devx_free_uar() the dma-buf that was exported of the UAR can still
 * be imported, while the next mlx5dv_devx_alloc_uar() hands out the same page: who holds
 * the dma-buf can ring the doorbells of queues that are none of its business.
 *
 * Wrong: mlx5dv_devx_free_uar() in providers/mlx5/verbs.c of rdma-core puts the UAR into a
 * list of free ones and does not free it in the kernel, so nothing revokes the dma-buf.
 *
 * Fix: do not reuse a UAR that was exported; free it in the kernel, which revokes.
 *
 * Build:  gcc -Wall -o l16_uar_dmabuf l16_uar_dmabuf.c -lmlx5 -libverbs
 * Run:    ./l16_uar_dmabuf [DEVICE]
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
	const uint32_t type = MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED;
	const long page = sysconf(_SC_PAGESIZE);
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	struct mlx5dv_devx_uar *uar = pd ? mlx5dv_devx_alloc_uar(ctx, type) : NULL;
	int fd = uar ? mlx5dv_devx_uar_export_dmabuf_fd(uar) : -1;
	struct mlx5dv_devx_uar *next;
	struct ibv_mr *mr;
	uint32_t old;
	int bad;

	if (fd < 0)
		err(CANNOT_TELL, "no dma-buf of a UAR");
	mr = ibv_reg_dmabuf_mr(pd, 0, page, 0, fd, IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		err(CANNOT_TELL, "the dma-buf cannot be imported");
	ibv_dereg_mr(mr);
	old = uar->page_id;
	mlx5dv_devx_free_uar(uar);
	mr = ibv_reg_dmabuf_mr(pd, 0, page, 0, fd, IBV_ACCESS_LOCAL_WRITE);
	next = mlx5dv_devx_alloc_uar(ctx, type);
	if (!next)
		err(CANNOT_TELL, "no second UAR");
	bad = mr && next->page_id == old;
	printf("%s: of UAR %u, which was freed, the dma-buf can %sbe imported; next UAR: %u\n",
	       bad ? "bad" : "good", old, mr ? "" : "not ", next->page_id);
	if (mr)
		ibv_dereg_mr(mr);
	mlx5dv_devx_free_uar(next);
	close(fd);
	return bad;
}
