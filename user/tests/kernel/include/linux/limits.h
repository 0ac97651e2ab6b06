/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits of the kernel's types.
 */
#ifndef HOST_LINUX_LIMITS_H
#define HOST_LINUX_LIMITS_H

#define U64_MAX		(~0ULL)
#define S64_MIN		(-0x7fffffffffffffffLL - 1)

#include_next <linux/limits.h>

#endif /* HOST_LINUX_LIMITS_H */
