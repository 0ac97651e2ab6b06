// SPDX-License-Identifier: GPL-2.0
/*
 * L08: SW ICM that the firmware does not give back is lost, and freeing it succeeds.
 *
 * Symptom: the firmware refuses to destroy the object of SW ICM.  ibv_free_dm() returns 0;
 * the handle is gone, the object of the device, the kernel's structure and the driver's
 * mark that the blocks are taken stay.  Nobody can free them again, and when mlx5_core goes
 * it warns in mlx5_dm_cleanup().
 *
 * Wrong: mlx5_dm_icm_dealloc() in drivers/infiniband/hw/mlx5/dm.c returns 0 whatever the
 * firmware has said.  Linux 5.13 and later.
 *
 * Fix: return the error, so that the handle stays for another try.
 *
 * Needs root with CAP_NET_RAW and CAP_SYS_RAWIO, and mlx5_vhca.ko, the virtual HCA of this
 * suite, whose firmware can be told to refuse.
 *
 * Build:  gcc -Wall -o l08_sw_icm_refused l08_sw_icm_refused.c -lmlx5 -libverbs
 * Run:    ./l08_sw_icm_refused [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

/* What the firmware is to do with commands, by a file of mlx5_vhca. */
static void set_faults(struct ibv_context *ctx, const char *rules)
{
	char path[PATH_MAX], function[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device",
		 ibv_get_device_name(ctx->device));
	if (!realpath(path, function))
		err(CANNOT_TELL, "%s", path);
	snprintf(path, sizeof(path), "/sys/kernel/debug/mlx5_vhca/%.64s/faults",
		 strrchr(function, '/') + 1);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, rules, strlen(rules)) < 0)
		err(CANNOT_TELL, "%s: load mlx5_vhca, be root", path);
	close(fd);
}

int main(int argc, char **argv)
{
	struct mlx5dv_alloc_dm_attr dv_attr = { .type = MLX5DV_DM_TYPE_STEERING_SW_ICM };
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	struct ibv_dm *dm = ctx ? mlx5dv_alloc_dm(ctx, &attr, &dv_attr) : NULL;
	int refused, again;

	if (!dm)
		err(CANNOT_TELL, "no SW ICM");
	set_faults(ctx, "opcode=DESTROY_GENERAL_OBJECT status=bad_resource_state\n");
	refused = ibv_free_dm(dm);
	set_faults(ctx, "clear\n");
	if (!refused) {
		printf("bad: the device has refused, the free has succeeded\n");
		return 1;
	}
	again = ibv_free_dm(dm);
	printf("%s: refused: %s; tried again: %s\n", again ? "bad" : "good", strerror(refused),
	       strerror(again));
	return !!again;
}
