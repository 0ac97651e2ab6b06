// SPDX-License-Identifier: GPL-2.0
/*
 * L26: a DEVX command shorter than its structure has bits set beyond its copy.
 *
 * IT OOPSES THE KERNEL WHERE THE FAULT IS.  Run it in a virtual machine.
 *
 * Symptom: DEVX OBJ_CREATE of a queue pair with 16 bytes of command, which is what the
 * kernel wants at least, damages memory of the kernel: an oops at the end of the ioctl.
 * Everybody who may open the device with a DEVX context can do that.
 *
 * Wrong: devx_set_umem_valid() in drivers/infiniband/hw/mlx5/devx.c sets wq_umem_valid,
 * dbr_umem_valid and others with MLX5_SET() at the offsets that they have in the structure
 * of the command, up to 268 bytes from its begin for CREATE_QP.  The handlers of OBJ_CREATE
 * and OBJ_MODIFY know the length of the copy and do not tell it; the attribute CMD_IN has
 * a minimum of 16 bytes, the size of the header.  A short copy lies in the buffer of the
 * ioctl, on the stack of ib_uverbs_cmd_verbs(), and what is behind it is changed.
 * Linux 7.2 and 7.3 have the same code.
 *
 * Fix: refuse a command that is shorter than the structure in which a bit is to be set.
 *
 * Build:  gcc -Wall -o l26_devx_short_input l26_devx_short_input.c -lmlx5 -libverbs
 * Run:    ./l26_devx_short_input [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#include <err.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define CANNOT_TELL	4

/* Big endian 0x500, MLX5_CMD_OP_CREATE_QP. */
#define CREATE_QP	{ 0x05, 0x00 }

/* The first mlx5 device, or the one of that name, with a DEVX context. */
static struct ibv_context *open_device(const char *name)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (; list && *list; list++)
		if (mlx5dv_is_supported(*list) &&
		    (!name || !strcmp(name, ibv_get_device_name(*list))))
			return mlx5dv_open_device(*list, &attr);
	errno = ENODEV;
	return NULL;
}

int main(int argc, char **argv)
{
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	const uint8_t in[16] = CREATE_QP;
	uint8_t out[16] = {};

	if (!ctx)
		err(CANNOT_TELL, "no mlx5 device with DEVX");
	/* The device refuses it in any case: a queue pair needs more. */
	if (mlx5dv_devx_obj_create(ctx, in, sizeof(in), out, sizeof(out)))
		errx(CANNOT_TELL, "16 bytes made a queue pair");
	printf("good: %s, and the kernel lives\n", strerror(errno));
	return 0;
}
