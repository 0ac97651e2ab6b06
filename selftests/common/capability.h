/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the calling process may do beyond others.
 */
#ifndef _SELFTESTS_CAPABILITY_H
#define _SELFTESTS_CAPABILITY_H

#include <linux/capability.h>
#include <stdbool.h>

/**
 * capability_set() - take a capability from what is in effect, or give it back
 * @capability: CAP_*
 * @on: whether it is in effect afterwards
 *
 * Return: 0 or an errno.
 */
int capability_set(int capability, bool on);

#endif /* _SELFTESTS_CAPABILITY_H */
