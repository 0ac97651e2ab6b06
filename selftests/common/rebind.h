/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Taking mlx5_ib from a device and giving it back, with mlx5_core staying.
 */
#ifndef _SELFTESTS_REBIND_H
#define _SELFTESTS_REBIND_H

#include "device.h"

/**
 * struct rebind - the auxiliary device that mlx5_ib drives
 * @name: its name ("mlx5_core.rdma.0")
 */
struct rebind {
	char name[64];
};

/**
 * rebind_find() - find it
 * @rebind: filled in
 * @dev: the device under test
 *
 * Return: 0 or an errno.
 */
int rebind_find(struct rebind *rebind, const struct device *dev);

/**
 * rebind_unbind() - take the driver away
 * @rebind: the auxiliary device
 *
 * Return: 0 or an errno.
 */
int rebind_unbind(const struct rebind *rebind);

/**
 * rebind_bind() - have the driver probe it
 * @rebind: the auxiliary device
 *
 * It is done by the calling task; afterwards the RDMA device is there.
 *
 * Return: 0 or the errno of the probe.
 */
int rebind_bind(const struct rebind *rebind);

#endif /* _SELFTESTS_REBIND_H */
