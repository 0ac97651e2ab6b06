/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Types of file operations.
 */
#ifndef HOST_LINUX_FS_H
#define HOST_LINUX_FS_H

#include <sys/types.h>

#include <linux/types.h>

#endif /* HOST_LINUX_FS_H */
