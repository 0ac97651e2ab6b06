/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Taking the device away from under its users, and giving it back.
 *
 * The kernel waits for all that holds up a removal, and no signal ends that.  So
 * the removal is the call of a thread (caller.h), which the test outlives in any
 * case; once one has not come back, no test of the program touches the device again.
 */
#ifndef _SELFTESTS_UNBIND_H
#define _SELFTESTS_UNBIND_H

#include <stdbool.h>
#include <stddef.h>

#include "caller.h"
#include "device.h"

/**
 * enum unbind_from - who loses what
 * @UNBIND_RDMA: mlx5_ib loses the auxiliary device that mlx5_core has made for it;
 *	mlx5_core and the function stay
 * @UNBIND_FUNCTION: mlx5_core loses the PCI function, and mlx5_ib what it was given
 * @UNBIND_REMOVE: the PCI device is removed; the function may be there still
 * @UNBIND_UNPLUG: the function leaves the bus, and a slot tells of it
 */
enum unbind_from {
	UNBIND_RDMA,
	UNBIND_FUNCTION,
	UNBIND_REMOVE,
	UNBIND_UNPLUG,
};

/**
 * struct unbind - one removal
 * @caller: the thread that waits for it
 * @driver: folder of the driver in sysfs
 * @name: what the driver calls the device
 * @file: what is written to
 * @text: what is written
 */
struct unbind {
	struct caller caller;
	char driver[64];
	char name[64];
	char file[160];
	char text[64];
};

/**
 * _unbind_start() - have the device taken away
 * @unbind: filled in; must stay where it is until _unbind_end()
 * @dev: the device
 * @from: which driver
 *
 * Return: 0, or an errno, ENODEV if the driver has no such device.
 */
int _unbind_start(struct unbind *unbind, const struct device *dev, enum unbind_from from);

/**
 * _unbind_end() - wait until it is gone
 * @unbind: of _unbind_start()
 *
 * Where the kernel waits after twenty seconds is written as a diagnostic, with who holds
 * the device as the snapshot has it.
 *
 * Return: 0, ETIMEDOUT, or what writing to the driver's file failed with.
 */
int _unbind_end(struct unbind *unbind);

/**
 * _unbind() - take the device away
 * @dev: the device
 * @from: which driver
 *
 * Return: as _unbind_start() and _unbind_end() do.
 */
int _unbind(const struct device *dev, enum unbind_from from);

/**
 * unbind_is_stuck() - has a removal not come back?
 *
 * Return: whether that has happened to any process of this program.
 */
bool unbind_is_stuck(void);

/**
 * _bind_again() - give all drivers what they lack, and wait for the device
 * @dev: the device
 *
 * If nothing is lacking, nothing is done.  The driver has then made what it makes
 * once, as device_warm_up() says.
 *
 * Return: 0, ETIMEDOUT if there is no device within ten seconds, EDEADLK if a
 * removal is stuck, or an errno.
 */
int _bind_again(const struct device *dev);

/**
 * _unbind_mend() - _bind_again() for what an earlier test has taken away
 *
 * For a test that begins: without a driver there is no device to be found.
 *
 * Return: as _bind_again() does, 0 if no test has taken anything.
 */
int _unbind_mend(void);

/**
 * unbind_ledger() - what the device holds, object by object
 * @dev: the device
 * @text: filled in: kinds and how many of each there are, "eq=4 uar=1"
 * @size: bytes at @text
 *
 * Memory keys that are free count as well: without a driver nobody has a pool.
 *
 * Return: 0 or an errno.
 */
int unbind_ledger(const struct device *dev, char *text, size_t size);

/**
 * unbind_baseline() - what the device holds while only mlx5_core has it
 * @dev: the device
 *
 * Found out once for all processes of this program, by a removal from under nobody.
 *
 * Return: the text, as unbind_ledger() writes it, or NULL with errno set.
 */
const char *unbind_baseline(const struct device *dev);

#define unbind_start(unbind, dev, from)	ASSERT_EQ(0, _unbind_start(unbind, dev, from))
#define unbind_end(unbind)		ASSERT_EQ(0, _unbind_end(unbind))
#define unbind(dev, from)		ASSERT_EQ(0, _unbind(dev, from))
#define unbind_mend()			ASSERT_EQ(0, _unbind_mend())
#define bind_again(dev)			ASSERT_EQ(0, _bind_again(dev))

#endif /* _SELFTESTS_UNBIND_H */
