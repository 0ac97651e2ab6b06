/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device under test: which one it is and where its files are.
 */
#ifndef _SELFTESTS_DEVICE_H
#define _SELFTESTS_DEVICE_H

#include <stdbool.h>

#include <infiniband/verbs.h>
#include <infiniband/mlx5dv.h>

#include "vhca.h"

/**
 * struct device - an mlx5 RDMA device, with a virtual HCA behind it or real
 * @name: as ibv_devices prints it ("mlx5_0")
 * @pci: address of its PCI function
 * @vhca: folder of the virtual HCA in debugfs, empty where there is none: see real_device.h
 * @info: layout of its memory, filled in by the caller
 */
struct device {
	char name[64];
	char pci[32];
	char vhca[128];
	struct vhca_info info;
};

/**
 * device_find() - find the device under test
 * @dev: filled in
 *
 * The device is the one that the environment variable UOBJSCOPE_DEVICE names,
 * else the first one that libmlx5 drives.  One without a virtual HCA must be named.
 *
 * Return: NULL, or why no test can be run here together with the way out, as
 * the text for a SKIP.
 */
const char *device_find(struct device *dev);

/**
 * device_find_named() - find a device by its name
 * @dev: filled in
 * @name: as ibv_devices prints it, or NULL for the first that libmlx5 drives
 *
 * Return: as device_find() does.
 */
const char *device_find_named(struct device *dev, const char *name);

/**
 * device_find_other() - find a second device with a virtual HCA
 * @dev: the device under test
 * @other: filled in
 *
 * Return: whether there is one.
 */
bool device_find_other(const struct device *dev, struct device *other);

/**
 * device_open() - open a context of the device, with a DEVX context
 * @dev: the device
 *
 * Return: the context, or NULL with errno set.
 */
struct ibv_context *device_open(const struct device *dev);

/**
 * device_bar() - where the device's BAR0 begins
 * @dev: the device
 *
 * Return: its physical address, as PCI shows it, or 0 if it does not.
 */
uint64_t device_bar(const struct device *dev);

/**
 * device_warm_up() - let the driver make what it makes once and then keeps
 * @dev: the device
 *
 * The first memory region creates the queue pair that mlx5_ib posts its
 * translation updates to, and the first one on a dma-buf the event queue for
 * page faults.  Both stay until the driver goes, and would look like leaks in
 * whichever test comes first.
 *
 * Return: 0 or an errno.
 */
int device_warm_up(const struct device *dev);

#endif /* _SELFTESTS_DEVICE_H */
