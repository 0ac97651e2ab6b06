// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "dm_ops.h"
#include "skip.h"
#include "text.h"

#define DEBUGFS	"/sys/kernel/debug"

static bool device_is_wanted(struct ibv_device *ibdev, const char *wanted)
{
	if (wanted)
		return !strcmp(ibv_get_device_name(ibdev), wanted);
	return mlx5dv_is_supported(ibdev);
}

static bool device_is_mlx5(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	bool found = false;
	int i;

	for (i = 0; list && list[i] && !found; i++)
		found = !strcmp(ibv_get_device_name(list[i]), name) &&
			mlx5dv_is_supported(list[i]);
	if (list)
		ibv_free_device_list(list);
	return found;
}

/* Look through the list for the name, a context, or both. */
static int device_lookup(const char *wanted, char *name, size_t size,
			 struct ibv_context **ctx)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list;
	int i, err = ENODEV;

	list = ibv_get_device_list(NULL);
	if (!list)
		return errno;
	for (i = 0; list[i]; i++) {
		if (!device_is_wanted(list[i], wanted))
			continue;
		err = 0;
		if (name)
			snprintf(name, size, "%s", ibv_get_device_name(list[i]));
		if (ctx) {
			*ctx = mlx5dv_open_device(list[i], &attr);
			err = *ctx ? 0 : errno;
		}
		break;
	}
	ibv_free_device_list(list);
	return err;
}

/* The PCI function is the parent of the ib_device in sysfs. */
static bool device_find_pci(struct device *dev)
{
	char link[128], target[PATH_MAX], *base;
	ssize_t n;

	snprintf(link, sizeof(link), "/sys/class/infiniband/%s/device", dev->name);
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = 0;
	base = strrchr(target, '/');
	snprintf(dev->pci, sizeof(dev->pci), "%.31s", base ? base + 1 : target);
	return true;
}

const char *device_find_named(struct device *dev, const char *wanted)
{
	static char reason[512];

	memset(dev, 0, sizeof(*dev));
	if (geteuid())
		return "not root: the files in debugfs can only be read by root";
	if (device_lookup(wanted, dev->name, sizeof(dev->name), NULL)) {
		snprintf(reason, sizeof(reason), wanted ?
			 "no RDMA device %s" :
			 "no mlx5 RDMA device%s: load mlx5_vhca, mlx5_ib and ib_uverbs",
			 wanted ?: "");
		return reason;
	}
	if (!device_find_pci(dev)) {
		snprintf(reason, sizeof(reason),
			 "no PCI function behind %s: mount sysfs on /sys", dev->name);
		return reason;
	}
	if (access(DEBUGFS "/dma_buf", F_OK))
		return "no " DEBUGFS "/dma_buf: mount -t debugfs none " DEBUGFS;
	snprintf(dev->vhca, sizeof(dev->vhca), DEBUGFS "/mlx5_vhca/%s", dev->pci);
	if (access(dev->vhca, F_OK) || getenv("UOBJSCOPE_NO_LEDGER")) {
		/* What belongs to somebody must have been named. */
		if (!wanted || !device_is_mlx5(wanted)) {
			snprintf(reason, sizeof(reason),
				 "no %s: %s is not a virtual HCA, load mlx5_vhca or name one in UOBJSCOPE_DEVICE",
				 dev->vhca, dev->name);
			return reason;
		}
		dev->vhca[0] = '\0';
	}
	return NULL;
}

const char *device_find(struct device *dev)
{
	return device_find_named(dev, getenv("UOBJSCOPE_DEVICE"));
}

bool device_find_other(const struct device *dev, struct device *other)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	bool found = false;
	int i;

	for (i = 0; list && list[i] && !found; i++) {
		const char *name = ibv_get_device_name(list[i]);

		found = mlx5dv_is_supported(list[i]) && strcmp(name, dev->name) &&
			!device_find_named(other, name);
	}
	if (list)
		ibv_free_device_list(list);
	return found;
}

struct ibv_context *device_open(const struct device *dev)
{
	struct ibv_context *ctx = NULL;

	errno = device_lookup(dev->name, NULL, 0, &ctx);
	return ctx;
}

uint64_t device_bar(const struct device *dev)
{
	uint64_t start;
	char path[96], *text;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource", dev->pci);
	text = text_read(path);
	start = text ? strtoull(text, NULL, 0) : 0;
	free(text);
	return start;
}

/* By ioctl, as an older rdma-core has no call for an export. */
static int device_make_dmabuf_region(struct ibv_context *ctx, struct ibv_pd *pd)
{
	struct raw_dm dm;
	struct ibv_mr *mr;
	int err, fd;

	/* Without dma-bufs nothing is made for them. */
	if (kernel_is_before(7, 0))
		return 0;
	err = _raw_dm_alloc(ctx->cmd_fd, 4096, 0, &dm);
	if (err)
		return err;
	err = _raw_dmabuf_export(ctx->cmd_fd, raw_dm_off(dm.page_idx), &fd);
	if (!err) {
		mr = ibv_reg_dmabuf_mr(pd, 0, 4096, 0, fd, IBV_ACCESS_LOCAL_WRITE);
		err = mr ? ibv_dereg_mr(mr) : errno;
		close(fd);
	}
	if (_raw_dm_free(ctx->cmd_fd, dm.handle) && !err)
		err = EBUSY;
	return err;
}

/* A memory region on ordinary memory and one on a dma-buf, made and unmade. */
static int device_make_regions(struct ibv_context *ctx)
{
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_mr *mr;
	static char buf[64];
	int err, later;

	if (!pd)
		return errno;
	err = device_make_dmabuf_region(ctx, pd);
	mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	later = mr ? ibv_dereg_mr(mr) : errno;
	err = err ?: later;
	later = ibv_dealloc_pd(pd);
	return err ?: later;
}

int device_warm_up(const struct device *dev)
{
	struct ibv_context *ctx = device_open(dev);
	int err;

	if (!ctx)
		return errno;
	err = device_make_regions(ctx);
	if (ibv_close_device(ctx) && !err)
		err = errno;
	return err;
}
