/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A system that has too many files open.
 */
#ifndef _SELFTESTS_FILE_MAX_H
#define _SELFTESTS_FILE_MAX_H

#include "device.h"

/**
 * struct file_max - how it was
 * @usual: the limit
 */
struct file_max {
	char usual[32];
};

/**
 * file_max_reach() - no file can be opened any more by who may not exceed the limit
 * @max: filled in
 * @dev: the device under test
 *
 * Nor can it by the calling process.  As it concerns all processes, the running test is
 * skipped where the device's owner has not allowed exhaustion.
 *
 * Return: 0 or an errno, after which all is as before.
 */
int file_max_reach(struct file_max *max, const struct device *dev);

/**
 * file_max_restore() - undo file_max_reach()
 * @max: of file_max_reach()
 *
 * Return: 0 or an errno.
 */
int file_max_restore(const struct file_max *max);

#endif /* _SELFTESTS_FILE_MAX_H */
