/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Minima.
 */
#ifndef HOST_LINUX_MINMAX_H
#define HOST_LINUX_MINMAX_H

#define min_t(type, a, b) ({		\
	const type __a = (a);		\
	const type __b = (b);		\
	__a < __b ? __a : __b;		\
})
#define min(a, b)	min_t(typeof(a), a, b)

#endif /* HOST_LINUX_MINMAX_H */
