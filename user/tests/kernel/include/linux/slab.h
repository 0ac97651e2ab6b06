/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory.  A test can have it run out.
 */
#ifndef HOST_LINUX_SLAB_H
#define HOST_LINUX_SLAB_H

#include <errno.h>
#include <stdlib.h>

#include <linux/gfp.h>

/**
 * host_memory - how many more allocations succeed; negative: all
 */
extern int host_memory;

/**
 * host_alloc() - allocate, if there is memory left
 * @count:	things
 * @size:	bytes of each
 * @align:	alignment, 0 if any will do
 *
 * Return: memory to be given to free(), not all of it 0, or NULL.
 */
void *host_alloc(size_t count, size_t size, size_t align);

/**
 * host_zalloc() - the same, all of it 0
 * @count:	things
 * @size:	bytes of each
 *
 * Return: memory to be given to free(), or NULL.
 */
void *host_zalloc(size_t count, size_t size);

#define kvmalloc_array(count, size, gfp)	host_alloc(count, size, (gfp) * 0)
#define kvcalloc(count, size, gfp)		host_zalloc(count, (size) + (gfp) * 0)
#define kvfree(memory)				free(memory)

#endif /* HOST_LINUX_SLAB_H */
