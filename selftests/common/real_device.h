/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device that nothing looks into: real hardware, or what is to be taken for such.
 *
 * There the ledger of the virtual HCA is no witness.  A step that asserts what the ledger has
 * (ASSERT_LEDGER()) is left to the other witnesses, which are the kernel's own; a test that
 * looks something up in it, or has the device fail, is skipped.  It belongs to somebody, so
 * what takes it away or uses it up is done only where UOBJSCOPE_ALLOW has the word for that.
 */
#ifndef _SELFTESTS_REAL_DEVICE_H
#define _SELFTESTS_REAL_DEVICE_H

#include <stdbool.h>

#include "device.h"

/**
 * device_has_ledger() - is there a virtual HCA behind it?
 * @dev: the device
 *
 * Return: whether its files can be read.  With UOBJSCOPE_NO_LEDGER in the environment
 * device_find() takes any device for one without.
 */
static inline bool device_has_ledger(const struct device *dev)
{
	return dev->vhca[0];
}

/**
 * real_device_info() - ask the device itself for the layout of its memory
 * @dev: the device
 * @info: filled in from QUERY_HCA_CAP, with counts of 0 where it has nothing of that kind; TLP
 *	VARs, which have no capability that can be asked for, are left out
 *
 * Models mlx5_ib_init_var_region() and mlx5_cmd_alloc_memic().
 *
 * Return: 0 or an errno.
 */
int real_device_info(const struct device *dev, struct vhca_info *info);

/**
 * real_device_needs_ledger() - skip the running test
 * @dev: a device without a ledger
 */
void real_device_needs_ledger(const struct device *dev);

/**
 * real_device_must_allow() - go on only if that may be done to the device
 * @dev: the device; to one with a ledger everything may be done
 * @word: what UOBJSCOPE_ALLOW must have: "unbind" or "exhaustion"
 *
 * Else the running test is skipped.
 */
void real_device_must_allow(const struct device *dev, const char *word);

#endif /* _SELFTESTS_REAL_DEVICE_H */
