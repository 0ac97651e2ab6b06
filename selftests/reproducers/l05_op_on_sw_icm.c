// SPDX-License-Identifier: GPL-2.0
/*
 * L05: DM_MAP_OP_ADDR takes SW ICM for MEMIC.
 *
 * IT MAY OOPS THE KERNEL, OR DAMAGE ITS MEMORY, WHERE THE FAULT IS.  Run it in a virtual
 * machine.
 *
 * Symptom: mlx5dv_dm_map_op_addr() on device memory that is SW ICM locks a mutex that lies
 * beyond the structure, in memory of somebody else.  With slab_debug=FZPU that is always an
 * oops in the locking of the mutex; without, what happens depends on the neighbour: an
 * oops, a call that hangs, or a MODIFY_MEMIC command for an address that is none.
 *
 * Wrong: the handler of DM_MAP_OP_ADDR in drivers/infiniband/hw/mlx5/dm.c uses to_memic()
 * without a look at the type.  struct mlx5_ib_dm_icm has 64 bytes, ops_xa_lock of struct
 * mlx5_ib_dm_memic is 176 bytes from its begin.  Linux 5.13 and later.
 *
 * Fix: EOPNOTSUPP for all types but MEMIC, as DM_QUERY has it.
 *
 * Needs CAP_NET_RAW and CAP_SYS_RAWIO, without which there is no SW ICM.
 *
 * Build:  gcc -Wall -o l05_op_on_sw_icm l05_op_on_sw_icm.c -lmlx5 -libverbs
 * Run:    ./l05_op_on_sw_icm [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#include <err.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

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

static struct ibv_dm *alloc(struct ibv_context *ctx, enum mlx5dv_alloc_dm_type type)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct mlx5dv_alloc_dm_attr dv_attr = { .type = type };

	return mlx5dv_alloc_dm(ctx, &attr, &dv_attr);
}

int main(int argc, char **argv)
{
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	struct ibv_dm *memic = ctx ? alloc(ctx, MLX5DV_DM_TYPE_MEMIC) : NULL;
	struct ibv_dm *icm;

	/* Otherwise the device's capabilities are what refuses it. */
	if (!memic || !mlx5dv_dm_map_op_addr(memic, 0))
		err(CANNOT_TELL, "operation 0 of device memory cannot be mapped");
	icm = alloc(ctx, MLX5DV_DM_TYPE_STEERING_SW_ICM);
	if (!icm)
		err(CANNOT_TELL, "no SW ICM");
	if (mlx5dv_dm_map_op_addr(icm, 0)) {
		printf("bad: operation 0 of SW ICM is mapped\n");
		return 1;
	}
	printf("%s: %s, expected %s\n", errno == EOPNOTSUPP ? "good" : "bad", strerror(errno),
	       strerror(EOPNOTSUPP));
	return errno != EOPNOTSUPP;
}
