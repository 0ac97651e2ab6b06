/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel, the device and this process hold between two calls.
 */
#ifndef _SELFTESTS_WITNESSES_H
#define _SELFTESTS_WITNESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "rest.h"
#include "scope.h"

/**
 * struct witnesses - all of them at one time; zeros before they are taken first
 * @scope: the kernel's own, as uobjscope.ko has it
 * @device: the device's ledger and violations
 * @fds: open descriptors of this process
 * @dmabufs: dma-bufs of ib_uverbs
 */
struct witnesses {
	struct scope scope;
	struct rest device;
	int fds;
	int dmabufs;
};

/**
 * witnesses_take() - ask all of them
 * @dev: the device
 * @witnesses: filled in; its scope has to be dropped
 *
 * Return: 0 or an errno.
 */
int witnesses_take(const struct device *dev, struct witnesses *witnesses);

/**
 * witnesses_agree() - is all as it was?
 * @dev: the device
 * @witnesses: of witnesses_take()
 * @patience: milliseconds for what is given back behind the caller's back
 *
 * If it is not, what differs is written as diagnostics.
 *
 * Return: whether it is.
 */
bool witnesses_agree(const struct device *dev, struct witnesses *witnesses, uint64_t patience);

#endif /* _SELFTESTS_WITNESSES_H */
