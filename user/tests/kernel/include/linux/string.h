/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Strings: what the C library does not have.
 */
#ifndef HOST_LINUX_STRING_H
#define HOST_LINUX_STRING_H

#include <stdio.h>
#include <string.h>

#define strscpy(to, from)	snprintf(to, sizeof(to), "%s", from)

#endif /* HOST_LINUX_STRING_H */
