// SPDX-License-Identifier: GPL-2.0
/*
 * What a ufile's owner can map, and what is mapped.
 *
 * The mmap entries are in the ucontext, which hw_destroy_rwsem keeps.  Under
 * the lock of mmap_xa what is found there is allocated, with whatever object of
 * the driver it is part of: rdma_user_mmap_entry_free() takes it out under that
 * lock before the driver frees it.  So device memory and doorbell pages are read
 * here, and no uobject needs to be locked for them.
 */
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "core_priv.h"

#include "compat.h"
#include "dmabuf.h"
#include "hold.h"
#include "patience.h"
#include "registry.h"
#include "walk.h"

/**
 * scope_walk_lock_ucontext - keep a ufile from being destroyed
 * @walk: the walk, whose patience is used up
 * @ufile: the ufile, with a reference
 *
 * hw_destroy_rwsem is never waited for: its writer, who destroys the ufile, may
 * itself wait for long, and it is then that one wants to look.  Nor is it held
 * for more than a batch: while a writer waits, everybody else's trylock fails,
 * with effects that a program sees.
 *
 * Context: may sleep.
 * Return: whether it is locked; to be given to scope_walk_unlock_ucontext()
 */
bool scope_walk_lock_ucontext(struct scope_walk *walk, struct ib_uverbs_file *ufile)
{
	struct scope_patience patience = SCOPE_PATIENCE;

	while (!down_read_trylock(&ufile->hw_destroy_rwsem)) {
		if (!walk->patience || !scope_patience(&patience))
			return false;
		walk->patience--;
	}
	return true;
}

/**
 * scope_walk_unlock_ucontext - the opposite of scope_walk_lock_ucontext()
 * @ufile: the ufile
 * @began: when it was locked, from scope_hold_begin()
 */
void scope_walk_unlock_ucontext(struct ib_uverbs_file *ufile, u64 began)
{
	up_read(&ufile->hw_destroy_rwsem);
	scope_hold_end(SCOPE_LOCK_HW_DESTROY, began);
}

/**
 * scope_fill_mmap - read an mmap entry
 * @r: all 0
 * @entry: found in mmap_xa, whose lock is still held
 *
 * Context: atomic.  Takes dmabufs_lock by trylock.
 * Return: dma-bufs of it that were passed, about SCOPE_DMABUFS_MAX at most
 */
u32 scope_fill_mmap(struct scope_mmap_record *r, struct rdma_user_mmap_entry *entry)
{
	r->address = (unsigned long)entry;
	r->pgoff = entry->start_pgoff;
	r->npages = entry->npages;
	r->ref = kref_read(&entry->ref);
	r->removed = entry->driver_removed;
	return scope_dmabuf_count(r, entry);
}

/**
 * scope_next_entry - walk the mmap entries
 * @xa: mmap_xa, its lock held
 * @index: where to look from; then, where to look from next
 * @entry: what is there
 *
 * An entry is stored at each of its page offsets and is found once, at the
 * first.  One that has not been told its first offset yet is passed over.
 *
 * Return: whether there is one
 */
bool scope_next_entry(struct xarray *xa, unsigned long *index,
		      struct rdma_user_mmap_entry **entry)
{
	struct rdma_user_mmap_entry *found;

	while ((found = xa_find(xa, index, ULONG_MAX, XA_PRESENT))) {
		if (found->start_pgoff != *index) {
			(*index)++;
			continue;
		}
		*entry = found;
		*index += max_t(unsigned long, found->npages, 1);
		return true;
	}
	return false;
}

static void read_ucontext(struct scope_ufile_record *r, struct ib_ucontext *ucontext)
{
	struct task_struct *task = READ_ONCE(ucontext->res.task);

	r->ctxn = ucontext->res.id;
	r->ctxn_known = true;
	/* Of a ufile older than the module, the task that made its context is known. */
	if (!r->pid && task) {
		r->pid = task->tgid;
		strscpy(r->comm, task->comm);
	}
}

/*
 * One batch of entries from *index on, a shorter one if many dma-bufs are to be counted;
 * whether there may be more.
 */
static bool read_entries(struct scope_walk *walk, struct scope_walked *walked,
			 struct ib_ucontext *ucontext, unsigned long *index)
{
	struct rdma_user_mmap_entry *entry;
	unsigned int n, passed = 0;
	bool more = true;
	u64 began;

	xa_lock(&ucontext->mmap_xa);
	began = scope_hold_begin();
	for (n = 0; n < SCOPE_BATCH && passed < SCOPE_DMABUFS_MAX; n++) {
		struct scope_mmap_record *r;

		more = scope_next_entry(&ucontext->mmap_xa, index, &entry);
		if (!more)
			break;
		r = scope_vector_push(&walk->mmaps);
		r->ufile = walked->record.id;
		passed += scope_fill_mmap(r, entry);
		if (walked->known.driver == SCOPE_DRIVER_MLX5) {
			scope_var_mmap(r, entry);
			scope_dm_mmap(r, entry);
		}
	}
	scope_hold_end(SCOPE_LOCK_MMAP_XA, began);
	xa_unlock(&ucontext->mmap_xa);
	return more;
}

/**
 * scope_walk_mmaps - read the mmap entries of a ufile, and its state
 * @walk: the walk
 * @walked: the ufile's records
 * @ufile: the ufile, with a reference
 *
 * Context: may sleep.  Takes hw_destroy_rwsem for reading by trylock and the
 * lock of mmap_xa, for a batch.
 * Return: 0 or -ENOMEM
 */
int scope_walk_mmaps(struct scope_walk *walk, struct scope_walked *walked,
		     struct ib_uverbs_file *ufile)
{
	struct scope_ufile_record *record = &walked->record;
	struct ib_ucontext *ucontext;
	unsigned long index = 0;
	bool more = true;
	u64 began;
	int err;

	while (more) {
		err = scope_vector_reserve(&walk->mmaps, SCOPE_BATCH);
		if (err)
			return err;
		if (!scope_walk_lock_ucontext(walk, ufile)) {
			record->state = SCOPE_UFILE_DESTROYING;
			return 0;
		}
		began = scope_hold_begin();
		/* Pairs with the store in ib_init_ucontext(). */
		ucontext = smp_load_acquire(&ufile->ucontext);
		if (ucontext) {
			record->state = SCOPE_UFILE_LIVE;
			read_ucontext(record, ucontext);
			more = read_entries(walk, walked, ucontext, &index);
		} else {
			/* Which of these it is, if any, is found out by the caller. */
			record->state = SCOPE_UFILE_NOCONTEXT;
			more = false;
		}
		scope_walk_unlock_ucontext(ufile, began);
		cond_resched();
	}
	return 0;
}

static bool lock_umaps(struct scope_walk *walk, struct ib_uverbs_file *ufile)
{
	struct scope_patience patience = SCOPE_PATIENCE;

	while (!mutex_trylock(&ufile->umap_lock)) {
		if (!walk->patience || !scope_patience(&patience))
			return false;
		walk->patience--;
	}
	return true;
}

/**
 * scope_walk_vmas - read the mappings of a ufile
 * @walk: the walk
 * @walked: the ufile's records
 * @ufile: the ufile, with a reference
 *
 * A mapping leaves the list under umap_lock before it is freed.  Its addresses
 * are not protected by it: they are approximate.  umap_lock is not waited for,
 * since the last user of an entry is let go under it, which can make the driver
 * wait for its device.
 *
 * Context: may sleep.  Takes umap_lock by trylock.
 * Return: 0 or -ENOMEM
 */
int scope_walk_vmas(struct scope_walk *walk, struct scope_walked *walked,
		    struct ib_uverbs_file *ufile)
{
	const struct mm_struct *last = NULL;
	struct rdma_umap_priv *priv;
	unsigned int count;
	pid_t pid = 0;
	u64 began;
	int err;

	for (;;) {
		if (!lock_umaps(walk, ufile))
			return 0;
		began = scope_hold_begin();
		count = list_count_nodes(&ufile->umaps);
		if (count <= scope_vector_room(&walk->vmas))
			break;
		scope_hold_end(SCOPE_LOCK_UMAP, began);
		mutex_unlock(&ufile->umap_lock);
		err = scope_vector_reserve(&walk->vmas, count + count / 8);
		if (err)
			return err;
	}
	list_for_each_entry(priv, &ufile->umaps, list) {
		struct scope_vma_record *r = scope_vector_push(&walk->vmas);

		r->ufile = walked->record.id;
		r->entry = (unsigned long)priv->entry;
		r->address = (unsigned long)priv->vma;
		r->start = READ_ONCE(priv->vma->vm_start);
		r->end = READ_ONCE(priv->vma->vm_end);
		/* Those of one process are in a row, most of the time. */
		if (priv->vma->vm_mm != last) {
			last = priv->vma->vm_mm;
			pid = scope_mm_pid(priv->vma->vm_mm);
		}
		r->pid = pid;
	}
	scope_hold_end(SCOPE_LOCK_UMAP, began);
	mutex_unlock(&ufile->umap_lock);
	walked->record.umaps = count;
	walked->record.umaps_known = true;
	return 0;
}
