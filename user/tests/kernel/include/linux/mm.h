/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages.
 */
#ifndef HOST_LINUX_MM_H
#define HOST_LINUX_MM_H

#include <linux/slab.h>

#define PAGE_SHIFT		12
#define PAGE_SIZE		4096UL
#define offset_in_page(at)	((unsigned long)(at) & (PAGE_SIZE - 1))

#define __get_free_page(gfp)	((unsigned long)host_alloc(1, PAGE_SIZE + (gfp) * 0, PAGE_SIZE))
#define free_page(page)		free((void *)(page))

#endif /* HOST_LINUX_MM_H */
