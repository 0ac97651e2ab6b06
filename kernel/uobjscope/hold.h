/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long locks were held to look.
 */
#ifndef UOBJSCOPE_HOLD_H
#define UOBJSCOPE_HOLD_H

#include <linux/timekeeping.h>
#include <linux/types.h>

/**
 * enum scope_lock - what is held to look
 * @SCOPE_LOCK_HW_DESTROY: ib_uverbs_file.hw_destroy_rwsem, for reading
 * @SCOPE_LOCK_IDR: RCU, while a ufile's handles are read
 * @SCOPE_LOCK_UOBJECTS: ib_uverbs_file.uobjects_lock
 * @SCOPE_LOCK_MMAP_XA: ib_ucontext.mmap_xa's lock
 * @SCOPE_LOCK_DMABUFS: rdma_user_mmap_entry.dmabufs_lock
 * @SCOPE_LOCK_UMAP: ib_uverbs_file.umap_lock
 * @SCOPE_LOCK_RESTRACK: the lock of a resource tracking table
 * @SCOPE_LOCK_RESV: dma_buf.resv
 * @SCOPE_LOCK_VAR_BITMAP: mlx5_var_region.bitmap_lock
 * @SCOPE_LOCK_MEMIC_BITMAP: mlx5_dm.lock
 * @SCOPE_LOCK_LISTS: ib_uverbs_device.lists_mutex
 * @SCOPE_LOCK_USECNT: a uobject locked for reading (deref=1)
 * @SCOPE_LOCKS: their number
 */
enum scope_lock {
	SCOPE_LOCK_HW_DESTROY,
	SCOPE_LOCK_IDR,
	SCOPE_LOCK_UOBJECTS,
	SCOPE_LOCK_MMAP_XA,
	SCOPE_LOCK_DMABUFS,
	SCOPE_LOCK_UMAP,
	SCOPE_LOCK_RESTRACK,
	SCOPE_LOCK_RESV,
	SCOPE_LOCK_VAR_BITMAP,
	SCOPE_LOCK_MEMIC_BITMAP,
	SCOPE_LOCK_LISTS,
	SCOPE_LOCK_USECNT,
	SCOPE_LOCKS,
};

/**
 * scope_hold_begin - a lock has just been taken
 *
 * Return: to be given to scope_hold_end()
 */
static inline u64 scope_hold_begin(void)
{
	return ktime_get_mono_fast_ns();
}

void scope_hold_end(enum scope_lock lock, u64 began);
u64 scope_hold_longest(enum scope_lock lock);
const char *scope_hold_name(enum scope_lock lock);

#endif /* UOBJSCOPE_HOLD_H */
