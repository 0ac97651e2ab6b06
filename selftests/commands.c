// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware commands one after the other, for scripts that measure them.
 *
 *   commands first MS     the first command after MS milliseconds without any
 *   commands region MS    the same for a memory region, which takes a work
 *                         request on the driver's own queue pair
 *   commands rate COUNT   COUNT commands: median time, and how many a second
 *   commands queues COUNT hold COUNT queue pairs until the standard input ends
 *   commands uars VALUE   what is in the pages of some UARs, and put VALUE there
 *
 * A command is ALLOC_PD or DEALLOC_PD, which do nothing but that.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "common/uverbs_ioctl.h"

static struct ibv_context *context;

static int failed(const char *what)
{
	perror(what);
	return 1;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void idle(unsigned long ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static int first(unsigned long ms)
{
	struct ibv_pd *pd;
	uint64_t began, took;

	idle(ms);
	began = now();
	pd = ibv_alloc_pd(context);
	took = now() - began;
	if (!pd || ibv_dealloc_pd(pd))
		return failed("protection domain");
	printf("first_ns=%llu\n", (unsigned long long)took);
	return 0;
}

static int region(unsigned long ms)
{
	static char memory[4096];
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_mr *mr;
	uint64_t began, took;
	int i;

	if (!pd)
		return failed("ibv_alloc_pd");
	/* The first time the driver makes what it then keeps. */
	for (i = 0; i < 2; i++) {
		if (i)
			idle(ms);
		began = now();
		mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
		took = now() - began;
		if (!mr || ibv_dereg_mr(mr))
			return failed("ibv_reg_mr");
	}
	if (ibv_dealloc_pd(pd))
		return failed("ibv_dealloc_pd");
	printf("region_ns=%llu\n", (unsigned long long)took);
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int rate(unsigned long count)
{
	uint64_t *took = calloc(count, sizeof(*took));
	struct ibv_pd *pd = NULL;
	uint64_t began, all;
	unsigned long i;

	if (!took || !count)
		return failed("calloc");
	all = now();
	for (i = 0; i < count; i++) {
		began = now();
		if (pd) {
			if (ibv_dealloc_pd(pd))
				return failed("ibv_dealloc_pd");
			pd = NULL;
		} else {
			pd = ibv_alloc_pd(context);
			if (!pd)
				return failed("ibv_alloc_pd");
		}
		took[i] = now() - began;
	}
	all = now() - all;
	qsort(took, count, sizeof(*took), compare);
	printf("median_ns=%llu p99_ns=%llu per_second=%llu\n",
	       (unsigned long long)took[count / 2], (unsigned long long)took[count * 99 / 100],
	       (unsigned long long)(count * 1000000000ULL / (all ?: 1)));
	free(took);
	return pd ? ibv_dealloc_pd(pd) : 0;
}

static int queues(unsigned long count)
{
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	unsigned long i;
	char byte;

	if (!pd || !cq)
		return failed("protection domain and completion queue");
	for (i = 0; i < count; i++)
		if (!ibv_create_qp(pd, &attr))
			return failed("ibv_create_qp");
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}

#define UARS	64

/* By ioctl, as the library shares UARs and keeps those that are freed. */
static int uar_map(uint32_t *page, uint32_t **map)
{
	uint64_t type = MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC;
	uint64_t offset;
	uint32_t length;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, 0),
		uverbs_in(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, &type, sizeof(type)),
		uverbs_out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset)),
		uverbs_out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length, sizeof(length)),
		uverbs_out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, page, sizeof(*page)),
	};

	errno = uverbs_ioctl(context->cmd_fd, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC,
			     attr, 5);
	if (errno)
		return -1;
	*map = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, context->cmd_fd, offset);
	return *map == MAP_FAILED ? -1 : 0;
}

static int uars(unsigned long value)
{
	uint32_t page, seen, *map;
	int i;

	for (i = 0; i < UARS; i++) {
		if (uar_map(&page, &map))
			return failed("UAR");
		seen = __atomic_exchange_n(map, value, __ATOMIC_SEQ_CST);
		printf("page=%u seen=0x%x\n", page, seen);
	}
	return 0;
}

#define MODES	5

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(unsigned long number);
	} modes[MODES] = {
		{ "first", first }, { "region", region }, { "rate", rate }, { "queues", queues },
		{ "uars", uars },
	};
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);
	size_t i;

	for (i = 0; argc == 3 && i < MODES; i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		context = list && list[0] ? mlx5dv_open_device(list[0], &attr) : NULL;
		if (!context)
			return failed("open device");
		return modes[i].run(strtoul(argv[2], NULL, 0));
	}
	fprintf(stderr, "usage: commands first|region MS, rate|queues COUNT, uars VALUE\n");
	return 2;
}
