/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the driver has lost, and the device has still.
 */
#ifndef _SELFTESTS_LOST_H
#define _SELFTESTS_LOST_H

#include "device.h"

/**
 * lost_operation_dealloc() - take the last operation on device memory from the device,
 *	behind the driver's back
 * @dev: the device
 *
 * The next operation of that memory would be refused.
 *
 * Return: 0, or -1 after a diagnostic, or the status of the command.
 */
int lost_operation_dealloc(const struct device *dev);

#endif /* _SELFTESTS_LOST_H */
