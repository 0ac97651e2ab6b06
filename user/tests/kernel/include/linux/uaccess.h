/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User space, which ends where a test says so.
 */
#ifndef HOST_LINUX_UACCESS_H
#define HOST_LINUX_UACCESS_H

#include <linux/types.h>

/**
 * host_user_end - the first address that cannot be written; NULL: there is none
 */
extern char *host_user_end;

/**
 * copy_to_user() - as the kernel's
 * @to:		in "user space"
 * @from:	what to copy
 * @n:		bytes
 *
 * Return: bytes that were not copied.
 */
unsigned long copy_to_user(void __user *to, const void *from, unsigned long n);

#endif /* HOST_LINUX_UACCESS_H */
