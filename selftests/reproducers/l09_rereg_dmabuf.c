// SPDX-License-Identifier: GPL-2.0
/*
 * L09: access rights and protection domain of a region on a dma-buf can be changed.
 *
 * Symptom: REREG_MR with CHANGE_ACCESS or CHANGE_PD succeeds for such a region, also after
 * its exporter has revoked it.
 *
 * Wrong: mlx5_ib_rereg_user_mr() in drivers/infiniband/hw/mlx5/mr.c posts the change to the
 * device without the lock of the dma-buf, so it races with a revocation that invalidates
 * the same memory key.  Up to Linux 7.2.
 *
 * Fix: 09d09e5d79f3 ("RDMA/core: Prevent rereg_mr for dmabuf umems") in 7.3:
 * ib_umem_check_rereg() says EOPNOTSUPP.
 *
 * libibverbs refuses it too, so the ioctl is sent without it.
 *
 * Build:  gcc -Wall -o l09_rereg_dmabuf l09_rereg_dmabuf.c -lmlx5 -libverbs
 * Run:    ./l09_rereg_dmabuf [DEVICE]
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
#include <sys/ioctl.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
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

/* One method of the uverbs ioctl; 0 or an errno. */
static int method(int fd, int object, int number, struct ib_uverbs_attr *attr, int count)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[8];
	} cmd = {
		.hdr.length = sizeof(cmd.hdr) + count * sizeof(*attr),
		.hdr.object_id = object,
		.hdr.method_id = number,
		.hdr.num_attrs = count,
		.hdr.driver_id = RDMA_DRIVER_MLX5,
	};
	int err;

	memcpy(cmd.attr, attr, count * sizeof(*attr));
	err = ioctl(fd, RDMA_VERBS_IOCTL, &cmd) ? errno : 0;
	memcpy(attr, cmd.attr, count * sizeof(*attr));
	return err;
}

static int rereg(struct ibv_mr *mr, uint32_t flags, uint32_t access, uint32_t pd)
{
	struct ib_uverbs_rereg_mr in = {
		.mr_handle = mr->handle,
		.flags = flags,
		.access_flags = access,
		.pd_handle = pd,
	};
	struct ib_uverbs_rereg_mr_resp out;
	struct ib_uverbs_attr attr[] = {
		{ .attr_id = UVERBS_ATTR_WRITE_CMD, .flags = UVERBS_ATTR_F_MANDATORY,
		  .len = sizeof(uint64_t), .data = IB_USER_VERBS_CMD_REREG_MR },
		{ .attr_id = UVERBS_ATTR_CORE_IN, .flags = UVERBS_ATTR_F_MANDATORY,
		  .len = sizeof(in), .data = (uintptr_t)&in },
		{ .attr_id = UVERBS_ATTR_CORE_OUT, .flags = UVERBS_ATTR_F_MANDATORY,
		  .len = sizeof(out), .data = (uintptr_t)&out },
	};

	return method(mr->context->cmd_fd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE,
		      attr, 3);
}

int main(int argc, char **argv)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	struct ibv_pd *other = pd ? ibv_alloc_pd(ctx) : NULL;
	struct ibv_dm *dm = other ? ibv_alloc_dm(ctx, &attr) : NULL;
	int fd = dm ? ibv_dm_export_dmabuf_fd(dm) : -1;
	struct ibv_mr *mr = fd < 0 ? NULL :
			    ibv_reg_dmabuf_mr(pd, 0, 4096, 0, fd, IBV_ACCESS_LOCAL_WRITE);
	int access, domain, revoked;

	if (!mr)
		err(CANNOT_TELL, "no region on a dma-buf of device memory");
	access = rereg(mr, IBV_REREG_MR_CHANGE_ACCESS,
		       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, 0);
	domain = rereg(mr, IBV_REREG_MR_CHANGE_PD, 0, other->handle);
	/* The dma-buf is revoked with the memory. */
	ibv_free_dm(dm);
	revoked = rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, IBV_ACCESS_LOCAL_WRITE, 0);
	printf("%s: change of access: %s; of the domain: %s; of access when revoked: %s\n",
	       access && domain && revoked ? "good" : "bad", strerror(access),
	       strerror(domain), strerror(revoked));
	ibv_dereg_mr(mr);
	close(fd);
	return !access || !domain || !revoked;
}
