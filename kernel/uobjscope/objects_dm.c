// SPDX-License-Identifier: GPL-2.0
/*
 * Device memory.
 *
 * MEMIC is part of the structure that its mmap entry is part of, and lives as
 * long as the entry; an operation page's entry holds a reference to it.  So both
 * are read from mmap_xa.  SW ICM has no mmap entry: only deref=1 reaches it.
 */
#include <linux/bitmap.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>

#include "dm.h"

#include "hold.h"
#include "registry.h"
#include "walk.h"

/* Counted only: what is in the array is not followed. */
static u32 count_ops(struct mlx5_ib_dm_memic *memic)
{
	unsigned long op;
	void *entry;
	u32 n = 0;

	xa_for_each(&memic->ops, op, entry)
		n++;
	return n;
}

static void read_memic(struct scope_mmap_record *r, struct mlx5_ib_dm_memic *memic)
{
	r->object = (unsigned long)&memic->base.ibdm;
	r->length = memic->base.ibdm.length;
	r->dm_size = memic->base.size;
	r->dev_addr = memic->base.dev_addr;
	r->dm_type = memic->base.type;
	r->dm_ref = kref_read(&memic->ref);
	r->dm_users = atomic_read(&memic->base.ibdm.usecnt);
	r->ops = count_ops(memic);
}

/**
 * scope_dm_mmap - what mlx5_ib knows of the device memory behind an mmap entry
 * @r: of it, scope_var_mmap() has been there
 * @entry: of mlx5_ib, in mmap_xa, whose lock is held
 *
 * Context: atomic.  Takes nothing.
 */
void scope_dm_mmap(struct scope_mmap_record *r, struct rdma_user_mmap_entry *entry)
{
	struct mlx5_user_mmap_entry *mentry = to_mmmap(entry);

	if (r->kind == SCOPE_MMAP_MEMIC) {
		read_memic(r, container_of(mentry, struct mlx5_ib_dm_memic, mentry));
	} else if (r->kind == SCOPE_MMAP_MEMIC_OP) {
		struct mlx5_ib_dm_op_entry *op =
			container_of(mentry, struct mlx5_ib_dm_op_entry, mentry);

		read_memic(r, op->dm);
		r->op = op->op;
	}
}

/**
 * scope_dm_from_mmap - device memory's values for its uobject's line
 * @r: of a DM
 * @mmap: of its mmap entry
 */
void scope_dm_from_mmap(struct scope_uobj_record *r, const struct scope_mmap_record *mmap)
{
	r->has |= SCOPE_HAS_DM | SCOPE_HAS_DRIVER_DM | SCOPE_HAS_MEMIC | SCOPE_HAS_ENTRY;
	r->entry = mmap->address;
	r->length = mmap->length;
	r->dm_size = mmap->dm_size;
	r->dev_addr = mmap->dev_addr;
	r->dm_type = mmap->dm_type;
	r->dm_ref = mmap->dm_ref;
	r->dm_users = mmap->dm_users;
	r->ops = mmap->ops;
}

/**
 * scope_dm_read - read device memory itself
 * @r: of its uobject
 * @ibdm: its uobject is locked for reading
 *
 * Context: any.  Takes nothing.
 */
void scope_dm_read(struct scope_uobj_record *r, const struct ib_dm *ibdm)
{
	r->has |= SCOPE_HAS_DM;
	r->length = ibdm->length;
	r->dm_users = atomic_read(&ibdm->usecnt);
	if (r->driver == SCOPE_DRIVER_MLX5) {
		const struct mlx5_ib_dm *dm = container_of_const(ibdm, struct mlx5_ib_dm, ibdm);

		r->has |= SCOPE_HAS_DRIVER_DM;
		r->dm_size = dm->size;
		r->dev_addr = dm->dev_addr;
		r->dm_type = dm->type;
		if (dm->type != MLX5_IB_UAPI_DM_TYPE_MEMIC) {
			r->has |= SCOPE_HAS_ICM;
			r->obj_id = container_of_const(dm, struct mlx5_ib_dm_icm, base)->obj_id;
		}
	}
}

/**
 * scope_dm_usage - how many pages of device memory are taken
 * @ibdev: of mlx5_ib, kept by devices_lock
 * @r: where to put it
 *
 * Context: may sleep.  Takes mlx5_dm.lock by trylock.
 */
void scope_dm_usage(struct ib_device *ibdev, struct scope_device_record *r)
{
	struct mlx5_dm *dm = &to_mdev(ibdev)->dm;
	u64 began;

	if (!MLX5_CAP_DEV_MEM(dm->dev, memic) || !spin_trylock(&dm->lock))
		return;
	began = scope_hold_begin();
	r->memic.used = bitmap_weight(dm->memic_alloc_pages, MLX5_MAX_MEMIC_PAGES);
	scope_hold_end(SCOPE_LOCK_MEMIC_BITMAP, began);
	spin_unlock(&dm->lock);
	r->memic.entries = MLX5_CAP_DEV_MEM(dm->dev, memic_bar_size) >> PAGE_SHIFT;
	r->memic.known = true;
}
