// SPDX-License-Identifier: GPL-2.0
/*
 * Hold a mapped VAR, device memory and a memory region on it until the standard
 * input ends, for scripts that take the device away meanwhile.  "ready" is
 * printed when all are held.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

static int failed(const char *what)
{
	perror(what);
	return 1;
}

int main(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_alloc_dm_attr dm_attr = { .length = 4096 };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;
	struct mlx5dv_var *var;
	struct ibv_dm *dm;
	struct ibv_pd *pd;
	char byte;
	void *page;

	context = list && list[0] ? mlx5dv_open_device(list[0], &attr) : NULL;
	if (!context)
		return failed("open device");
	var = mlx5dv_alloc_var(context, 0);
	if (!var)
		return failed("mlx5dv_alloc_var");
	page = mmap(NULL, var->length, PROT_READ | PROT_WRITE, MAP_SHARED, context->cmd_fd,
		    var->mmap_off);
	if (page == MAP_FAILED)
		return failed("mmap of the VAR");
	pd = ibv_alloc_pd(context);
	if (!pd)
		return failed("ibv_alloc_pd");
	dm = ibv_alloc_dm(context, &dm_attr);
	if (!dm)
		return failed("ibv_alloc_dm");
	if (!ibv_reg_dm_mr(pd, dm, 0, dm_attr.length,
			   IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE))
		return failed("ibv_reg_dm_mr");
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	/* After the device is gone this must not kill: the page is then a dummy. */
	__atomic_store_n((int *)page, 1, __ATOMIC_RELAXED);
	return 0;
}
