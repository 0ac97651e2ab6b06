/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDMA devices and what hangs on them.
 */
#ifndef UOBJSCOPE_ROOTS_H
#define UOBJSCOPE_ROOTS_H

#include <linux/list.h>
#include <linux/types.h>

#include "guard.h"
#include "record.h"

struct dentry;
struct ib_device;
struct ib_uverbs_device;
struct ib_uverbs_file;
struct scope_vector;

/**
 * struct scope_device - a device that is there
 * @list: in the order of the numbers
 * @number: counts up, never 0, never used again
 * @ibdev: the device.  A rename frees what dev_name() gives, and overwrites ib_device.name
 *	where it is: so that is what is read.  Within our callbacks there is no rename
 * @uverbs: its uverbs device, with a reference
 * @driver: enum scope_driver
 * @misfit: why it is refused; nothing of a refused device is looked into
 * @directory: its files; NULL before they are made, an error pointer where there are none.
 *	Under devices_lock
 */
struct scope_device {
	struct list_head	list;
	unsigned int		number;
	struct ib_device	*ibdev;
	struct ib_uverbs_device	*uverbs;
	enum scope_driver	driver;
	struct scope_misfit	misfit;
	struct dentry		*directory;
};

int scope_roots_start(void);
void scope_roots_show(void);
void scope_roots_stop(void);
bool scope_roots_refused(void);
struct scope_device *scope_device_lock_next(unsigned int after);
struct scope_device *scope_device_lock(unsigned int number);
void scope_device_unlock(void);
int scope_device_files(unsigned int number, struct scope_vector *held);

#endif /* UOBJSCOPE_ROOTS_H */
