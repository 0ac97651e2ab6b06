// SPDX-License-Identifier: GPL-2.0
/*
 * How long locks were held to look: the longest time of each since the module
 * was loaded, for the file info.
 */
#include <linux/atomic.h>

#include "hold.h"

static atomic64_t longest[SCOPE_LOCKS];

static const char * const names[SCOPE_LOCKS] = {
	[SCOPE_LOCK_HW_DESTROY]		= "hw_destroy_rwsem",
	[SCOPE_LOCK_IDR]		= "idr_rcu",
	[SCOPE_LOCK_UOBJECTS]		= "uobjects_lock",
	[SCOPE_LOCK_MMAP_XA]		= "mmap_xa",
	[SCOPE_LOCK_DMABUFS]		= "dmabufs_lock",
	[SCOPE_LOCK_UMAP]		= "umap_lock",
	[SCOPE_LOCK_RESTRACK]		= "restrack_xa",
	[SCOPE_LOCK_RESV]		= "dma_resv",
	[SCOPE_LOCK_VAR_BITMAP]		= "var_bitmap_lock",
	[SCOPE_LOCK_MEMIC_BITMAP]	= "memic_lock",
	[SCOPE_LOCK_LISTS]		= "lists_mutex",
	[SCOPE_LOCK_USECNT]		= "uobject_usecnt",
};

/**
 * scope_hold_end - a lock is about to be, or has just been, released
 * @lock: the lock
 * @began: from scope_hold_begin()
 *
 * Context: any.
 */
void scope_hold_end(enum scope_lock lock, u64 began)
{
	s64 held = ktime_get_mono_fast_ns() - began;
	s64 old = atomic64_read(&longest[lock]);

	while (held > old && !atomic64_try_cmpxchg(&longest[lock], &old, held))
		;
}

/**
 * scope_hold_longest - longest time so far
 * @lock: the lock
 *
 * Return: nanoseconds
 */
u64 scope_hold_longest(enum scope_lock lock)
{
	return atomic64_read(&longest[lock]);
}

/**
 * scope_hold_name - name of a lock in the file info
 * @lock: the lock
 *
 * Return: a word
 */
const char *scope_hold_name(enum scope_lock lock)
{
	return names[lock];
}
