// SPDX-License-Identifier: GPL-2.0
/*
 * Hold a mapped VAR, device memory, a memory region on it and one on ordinary memory
 * until the standard input ends, for scripts that take the device away meanwhile.
 * "ready" is printed when all are held.
 *
 * "hold open" only opens the device, of which the library maps doorbell pages.
 * "hold all" does the rest on each device, exports the memory as a dma-buf as well, and
 * has all devices register it that the kernel allows to.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#define DM_LENGTH	4096
#define DEVICES_MAX	4

struct held {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	int *page;
	int dmabuf;
};

static int failed(const char *what)
{
	perror(what);
	return 1;
}

static int hold_open(struct ibv_device *device, struct held *held)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };

	held->context = mlx5dv_open_device(device, &attr);
	return held->context ? 0 : failed("open device");
}

static int hold(struct ibv_device *device, struct held *held)
{
	struct ibv_alloc_dm_attr dm_attr = { .length = DM_LENGTH };
	static char memory[DM_LENGTH];
	struct mlx5dv_var *var;

	if (hold_open(device, held))
		return 1;
	var = mlx5dv_alloc_var(held->context, 0);
	if (!var)
		return failed("mlx5dv_alloc_var");
	held->page = mmap(NULL, var->length, PROT_READ | PROT_WRITE, MAP_SHARED,
			  held->context->cmd_fd, var->mmap_off);
	if (held->page == MAP_FAILED)
		return failed("mmap of the VAR");
	held->pd = ibv_alloc_pd(held->context);
	if (!held->pd)
		return failed("ibv_alloc_pd");
	held->dm = ibv_alloc_dm(held->context, &dm_attr);
	if (!held->dm)
		return failed("ibv_alloc_dm");
	if (!ibv_reg_dm_mr(held->pd, held->dm, 0, DM_LENGTH,
			   IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE))
		return failed("ibv_reg_dm_mr");
	/* Its key is one of those that the driver keeps, and has to be changed at the end. */
	if (!ibv_reg_mr(held->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE))
		return failed("ibv_reg_mr");
	return 0;
}

/* All lend to all; only between two devices may the kernel refuse. */
static int lend(struct held *held, int count)
{
	int i, j;

	for (i = 0; i < count; i++) {
		held[i].dmabuf = rdma_core_dm_export(held[i].dm);
		/* Where there are none, the rest is held. */
		if (held[i].dmabuf < 0 && errno == ENOPKG)
			continue;
		if (held[i].dmabuf < 0)
			return failed("ibv_dm_export_dmabuf_fd");
		for (j = 0; j < count; j++)
			if (!ibv_reg_dmabuf_mr(held[j].pd, 0, DM_LENGTH, 0, held[i].dmabuf,
					       IBV_ACCESS_LOCAL_WRITE) &&
			    (i == j || errno != EINVAL))
				return failed("ibv_reg_dmabuf_mr");
	}
	return 0;
}

int main(int argc, char **argv)
{
	const int open = argc > 1 && !strcmp(argv[1], "open");
	const int all = argc > 1 && !strcmp(argv[1], "all");
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct held held[DEVICES_MAX] = {};
	int i, count = 0;
	char byte;

	if (!list || !list[0])
		return failed("ibv_get_device_list");
	do {
		if (open ? hold_open(list[count], &held[count]) : hold(list[count], &held[count]))
			return 1;
		count++;
	} while (all && list[count] && count < DEVICES_MAX);
	if (all && lend(held, count))
		return 1;
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	/* After the device is gone this must not kill: the page is then a dummy. */
	for (i = 0; i < count && !open; i++)
		__atomic_store_n(held[i].page, 1, __ATOMIC_RELAXED);
	return 0;
}
