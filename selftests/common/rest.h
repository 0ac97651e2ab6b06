/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state at rest: what all witnesses hold while a test holds nothing.
 *
 * A test compares with the state at its own start and never with absolute
 * numbers, so it passes on a machine where others use the device as well, as
 * long as they do nothing at the same time.
 */
#ifndef _SELFTESTS_REST_H
#define _SELFTESTS_REST_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"

#define REST_KINDS	48

/**
 * struct rest - state of the device, the driver and the process
 * @kind: objects in the device's ledger by kind; mkeys that are free do not
 *	  count, since the driver keeps a pool of them
 * @kinds: number of kinds seen
 * @seq: last command of the device
 * @violations: what the device complained of so far
 * @vars: VAR pages that can be allocated
 * @tlp_vars: TLP VAR pages that can be allocated
 * @dmabufs: dma-bufs that were exported by ib_uverbs
 * @fds: open descriptors of this process
 */
struct rest {
	struct rest_kind {
		char kind[32];
		int count;
	} kind[REST_KINDS];
	int kinds;
	int64_t seq;
	int violations;
	int vars;
	int tlp_vars;
	int dmabufs;
	int fds;
};

/**
 * rest_take() - note the state
 * @dev: the device
 * @rest: filled in
 *
 * The VAR pages are those of the driver's bitmaps, by uobjscope.ko; without it
 * they are counted by allocating all that there are, in a context that is opened
 * and closed for it.
 *
 * Return: 0 or an errno.
 */
int rest_take(const struct device *dev, struct rest *rest);

/**
 * rest_take_device() - note what the device holds, and what it complained of
 * @dev: the device
 * @rest: filled in with @kind, @kinds, @seq and @violations; all else is 0
 *
 * For a state that is looked at again and again: no VAR is allocated.
 *
 * Return: 0 or an errno.
 */
int rest_take_device(const struct device *dev, struct rest *rest);

/**
 * rest_is_same() - compare two states, the command number aside
 * @before: one
 * @after: the other
 *
 * Return: whether they are the same.
 */
bool rest_is_same(const struct rest *before, const struct rest *after);

/**
 * rest_print_difference() - write as diagnostics what differs
 * @dev: the device
 * @before: state at the start
 * @after: state now
 */
void rest_print_difference(const struct device *dev, const struct rest *before,
			   const struct rest *after);

/**
 * rest_return() - wait for the state to come back
 * @dev: the device
 * @before: state at the start
 * @after: filled in with the last state seen
 *
 * What a killed process held is given back when its address space and files
 * are torn down, which may take until after its parent was told of its death.
 *
 * Return: 0, ETIMEDOUT if it has not come back within two seconds, or an errno.
 */
int rest_return(const struct device *dev, const struct rest *before, struct rest *after);

/**
 * rest_ledger_delta() - how many more objects the device holds now
 * @dev: the device
 * @before: state at the start
 * @kind: which objects
 * @delta: the difference
 *
 * Return: 0 or an errno.
 */
int rest_ledger_delta(const struct device *dev, const struct rest *before,
		      const char *kind, int *delta);

/**
 * rest_print_ledger() - write as diagnostics what the ledger holds more or less
 * @dev: the device
 * @before: state at the start
 */
void rest_print_ledger(const struct device *dev, const struct rest *before);

#endif /* _SELFTESTS_REST_H */
