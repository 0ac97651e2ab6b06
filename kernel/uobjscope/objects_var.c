// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbell pages: VAR, TLP VAR and UAR.
 *
 * There is no structure for a VAR: its uobject's object is the mmap entry.
 */
#include <linux/bitmap.h>
#include <linux/mutex.h>

#include "hold.h"
#include "registry.h"
#include "var_region.h"
#include "walk.h"

static u8 kind_of(u8 mmap_flag)
{
	switch (mmap_flag) {
	case MLX5_IB_MMAP_TYPE_MEMIC:
		return SCOPE_MMAP_MEMIC;
	case MLX5_IB_MMAP_TYPE_VAR:
		return SCOPE_MMAP_VAR;
	case MLX5_IB_MMAP_TYPE_UAR_WC:
		return SCOPE_MMAP_UAR_WC;
	case MLX5_IB_MMAP_TYPE_UAR_NC:
		return SCOPE_MMAP_UAR_NC;
	case MLX5_IB_MMAP_TYPE_MEMIC_OP:
		return SCOPE_MMAP_MEMIC_OP;
	default:
		return scope_is_tlp_var(mmap_flag) ? SCOPE_MMAP_TLP_VAR : SCOPE_MMAP_UNKNOWN;
	}
}

/* One bit is read whole without the lock. */
static void read_bit(struct scope_mmap_record *r, const struct scope_var_region *region)
{
	if (!region || !region->bitmap || r->page_id >= region->num_var_hw_entries)
		return;
	r->var_bit = test_bit(r->page_id, region->bitmap);
	r->var_bit_known = true;
}

/**
 * scope_var_mmap - what mlx5_ib knows of an mmap entry of any kind
 * @r: of it, scope_fill_mmap() has been there
 * @entry: of mlx5_ib, in mmap_xa, whose lock is held
 *
 * Context: atomic; hw_destroy_rwsem is held, so the device is there.  Takes
 * nothing.
 */
void scope_var_mmap(struct scope_mmap_record *r, const struct rdma_user_mmap_entry *entry)
{
	const struct mlx5_user_mmap_entry *mentry =
		container_of_const(entry, struct mlx5_user_mmap_entry, rdma_entry);
	const struct mlx5_var_table *table = &to_mdev(entry->ucontext->device)->var_table;

	r->kind = kind_of(mentry->mmap_flag);
	r->addr = mentry->address;
	r->page_id = mentry->page_idx;
	r->object = (unsigned long)mentry;
	if (r->kind == SCOPE_MMAP_VAR)
		read_bit(r, scope_region_of_var(table));
	else if (r->kind == SCOPE_MMAP_TLP_VAR)
		read_bit(r, scope_region_of_tlp_var(table));
}

static void read_usage(struct scope_usage *usage, struct scope_var_region *region)
{
	u64 began;

	if (!region || !region->bitmap || !mutex_trylock(&region->bitmap_lock))
		return;
	began = scope_hold_begin();
	usage->used = bitmap_weight(region->bitmap, region->num_var_hw_entries);
	usage->entries = region->num_var_hw_entries;
	usage->known = true;
	scope_hold_end(SCOPE_LOCK_VAR_BITMAP, began);
	mutex_unlock(&region->bitmap_lock);
}

/**
 * scope_var_usage - how many doorbell pages are taken
 * @ibdev: of mlx5_ib, kept by devices_lock
 * @r: where to put it
 *
 * Context: may sleep.  Takes each region's bitmap_lock by trylock.
 */
void scope_var_usage(struct ib_device *ibdev, struct scope_device_record *r)
{
	struct mlx5_var_table *table = &to_mdev(ibdev)->var_table;

	read_usage(&r->var, scope_region_of_var(table));
	read_usage(&r->tlp_var, scope_region_of_tlp_var(table));
}
