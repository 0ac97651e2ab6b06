// SPDX-License-Identifier: GPL-2.0
/*
 * L10: device memory that is exported after mlx5dv_dm_map_op_addr() is the operation's page.
 *
 * Symptom: whoever imports the dma-buf reads and writes the page of the operation and not
 * the memory.
 *
 * Wrong: dm_mmap() in providers/mlx5/verbs.c of rdma-core stores the offset that it maps
 * in struct mlx5_dm, for the memory and for each operation alike;
 * ibv_dm_export_dmabuf_fd() exports what is at the offset that was stored last.
 * Since 1b8cbbe9f ("mlx5: Add support for DM export DMABUF fd"), rdma-core 62 to 65.
 *
 * Fix: have the two callers that map the memory itself store the offset.
 *
 * Seen by: the offset that the library asks the kernel to export, in ioctl() of this
 * program, which takes the place of libc's.  It must be the same both times.
 *
 * Build:  gcc -Wall -o l10_export_after_op l10_export_after_op.c -lmlx5 -libverbs
 * Run:    ./l10_export_after_op [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl.h>

#define CANNOT_TELL	4

static uint64_t exported;

/* What the library calls: it notes the offset of an export. */
int ioctl(int fd, unsigned long request, ...)
{
	struct ib_uverbs_ioctl_hdr *cmd;
	va_list ap;
	int i;

	va_start(ap, request);
	cmd = va_arg(ap, struct ib_uverbs_ioctl_hdr *);
	va_end(ap);
	if (request == RDMA_VERBS_IOCTL && cmd->object_id == UVERBS_OBJECT_DMABUF)
		for (i = 0; i < cmd->num_attrs; i++)
			if (cmd->attrs[i].attr_id == UVERBS_ATTR_ALLOC_DMABUF_PGOFF)
				exported = cmd->attrs[i].data;
	return syscall(SYS_ioctl, fd, request, cmd);
}

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
	struct ibv_alloc_dm_attr attr = { .length = sysconf(_SC_PAGESIZE) };
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	struct ibv_dm *dm = ctx ? ibv_alloc_dm(ctx, &attr) : NULL;
	int before = dm ? ibv_dm_export_dmabuf_fd(dm) : -1;
	const uint64_t memory = exported;
	int after;

	if (before < 0)
		err(CANNOT_TELL, "no dma-buf of device memory");
	if (!memory)
		errx(CANNOT_TELL, "the export was not seen");
	if (!mlx5dv_dm_map_op_addr(dm, 0))
		err(CANNOT_TELL, "operation 0 of device memory cannot be mapped");
	after = ibv_dm_export_dmabuf_fd(dm);
	if (after < 0)
		err(CANNOT_TELL, "no second export");
	printf("%s: the export is of offset %#lx, after an operation was mapped of %#lx\n",
	       exported == memory ? "good" : "bad", memory, exported);
	close(before);
	close(after);
	ibv_free_dm(dm);
	return exported != memory;
}
