// SPDX-License-Identifier: GPL-2.0
/*
 * What only a locked uobject leads to: deref=1.
 *
 * A uobject that is locked for reading keeps its object, and makes a command
 * that wants to change or destroy it meanwhile fail with EBUSY.  It must be
 * locked under hw_destroy_rwsem, since those who destroy a whole ufile expect
 * none of its uobjects to be locked.  That such a one waits for us makes no
 * command fail: rdma_alloc_begin_uobject() and ib_uverbs_mmap() then return EIO,
 * but ib_uverbs_close() has no caller left, and ib_uverbs_free_hw_resources() has
 * made all of them fail before, by uverbs_disassociate_api_pre().
 */
#include <linux/fs.h>
#include <linux/dma-buf.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "mlx5_ib.h"

#include "compat.h"
#include "hold.h"
#include "registry.h"
#include "walk.h"

/* With a reference, if the handle still leads to the uobject of that record. */
static struct ib_uobject *get_uobject(struct ib_uverbs_file *ufile,
				      const struct scope_uobj_record *r)
{
	struct ib_uobject *uobj;

	rcu_read_lock();
	uobj = xa_load(&ufile->idr, r->handle);
	if ((unsigned long)uobj != r->address || !kref_get_unless_zero(&uobj->ref))
		uobj = NULL;
	rcu_read_unlock();
	return uobj;
}

/* A registration that is changed in place changes its umem: only the lock keeps it. */
static void read_mr(struct scope_uobj_record *r, struct ib_mr *ibmr)
{
	struct ib_umem *umem;

	if (r->driver != SCOPE_DRIVER_MLX5)
		return;
	umem = to_mmr(ibmr)->umem;
	if (!umem || !umem->is_dmabuf)
		return;
	r->has |= SCOPE_HAS_IMPORT;
	r->ino = file_inode(to_ib_umem_dmabuf(umem)->attach->dmabuf->file)->i_ino;
}

static void read_object(struct scope_uobj_record *r, struct ib_uverbs_file *ufile)
{
	struct ib_uobject *uobj = get_uobject(ufile, r);
	u64 began;

	if (!uobj)
		return;
	if (scope_lock_for_reading(uobj)) {
		r->has |= SCOPE_HAS_DEREF_BUSY;
	} else {
		began = scope_hold_begin();
		if (uobj->object && r->type == UVERBS_OBJECT_DM)
			scope_dm_read(r, uobj->object);
		else if (uobj->object && r->type == UVERBS_OBJECT_MR)
			read_mr(r, uobj->object);
		scope_hold_end(SCOPE_LOCK_USECNT, began);
		/* As rdma_lookup_put_uobject() does; class idr has nothing else to put. */
		atomic_dec(&uobj->usecnt);
	}
	uverbs_uobject_put(uobj);
}

static bool wanted(const struct scope_uobj_record *r)
{
	if (r->is_fd || r->state == SCOPE_UOBJ_DEAD)
		return false;
	return r->type == UVERBS_OBJECT_MR ||
	       (r->type == UVERBS_OBJECT_DM && !(r->has & SCOPE_HAS_DM));
}

/**
 * scope_walk_deref - read what locks are needed for
 * @walk: the walk
 * @walked: the ufile's records, which know all that they can know without
 * @ufile: the ufile, with a reference
 *
 * Context: may sleep.  Takes hw_destroy_rwsem for reading by trylock, for a
 * batch, and in it one uobject at a time for reading.
 * Return: 0
 */
int scope_walk_deref(struct scope_walk *walk, struct scope_walked *walked,
		     struct ib_uverbs_file *ufile)
{
	struct scope_uobj_record *r;
	u32 n = walked->uobjs, end = walk->uobjs.nr;
	unsigned int batch;
	u64 began;

	while (n < end) {
		if (!scope_walk_lock_ucontext(walk, ufile))
			return 0;
		began = scope_hold_begin();
		for (batch = 0; n < end && batch < SCOPE_BATCH; n++, batch++) {
			r = scope_vector_at(&walk->uobjs, n);
			if (wanted(r))
				read_object(r, ufile);
		}
		scope_walk_unlock_ucontext(ufile, began);
		cond_resched();
	}
	return 0;
}
