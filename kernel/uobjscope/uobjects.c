// SPDX-License-Identifier: GPL-2.0
/*
 * The uobjects of a ufile.
 *
 * Handles (class idr) are read from the ufile's xarray under RCU, which keeps
 * what is found: uobjects are freed by kfree_rcu().  Uobjects of class fd have no
 * handle; they are on the ufile's list as long as their hardware object lives,
 * and the list's own reference keeps them while uobjects_lock is held.
 *
 * No uobject is locked, and hw_destroy_rwsem is not needed: neither xarray nor
 * list is freed before the ufile is.
 */
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/xarray.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include "dmabuf.h"
#include "hold.h"
#include "registry.h"
#include "walk.h"

/* How often a list is begun anew because one's place on it was gone. */
#define RESTARTS	16

static u8 state_of(const struct scope_uobj_record *r, const void *context, bool committing)
{
	if (!r->object || !context)
		return SCOPE_UOBJ_DEAD;
	if (committing)
		return SCOPE_UOBJ_COMMITTING;
	return r->usecnt < 0 ? SCOPE_UOBJ_LOCKED : SCOPE_UOBJ_LIVE;
}

/**
 * scope_fill_uobj - read a uobject
 * @r: all 0
 * @uobj: kept by the caller: by RCU, by the list's reference, or by its file's
 * @is_fd: of class fd
 *
 * Context: any.  Takes nothing: each value is true at one instant.
 */
void scope_fill_uobj(struct scope_uobj_record *r, const struct ib_uobject *uobj, bool is_fd)
{
	bool committing;

	r->address = (unsigned long)uobj;
	r->object = (unsigned long)READ_ONCE(uobj->object);
	r->type = uobj->uapi_object->id;
	r->is_fd = is_fd;
	r->handle = is_fd ? 0 : uobj->id;
	r->ref = kref_read(&uobj->ref);
	r->usecnt = atomic_read(&uobj->usecnt);
	/*
	 * A handle leads nowhere before the commit.  For class fd, the id is the
	 * number of the file descriptor until then, see alloc_commit_fd_uobject().
	 */
	committing = is_fd && READ_ONCE(uobj->id);
	r->state = state_of(r, READ_ONCE(uobj->context), committing);
}

static struct scope_uobj_record *new_record(struct scope_walk *walk,
					    const struct scope_walked *walked)
{
	struct scope_uobj_record *r = scope_vector_push(&walk->uobjs);

	r->ufile = walked->record.id;
	r->driver = walked->known.driver;
	return r;
}

/* One batch of handles from *index on; whether there may be more. */
static bool read_handles(struct scope_walk *walk, struct scope_walked *walked,
			 struct ib_uverbs_file *ufile, unsigned long *index)
{
	XA_STATE(xas, &ufile->idr, *index);
	struct ib_uobject *uobj;
	unsigned int visited = 0;
	bool more = false;
	u64 began;

	rcu_read_lock();
	began = scope_hold_begin();
	xas_for_each(&xas, uobj, ULONG_MAX) {
		/* Taken, but not yet or no longer leading to a uobject. */
		if (xa_is_zero(uobj))
			walked->record.reserved++;
		else if (xas_retry(&xas, uobj))
			continue;
		else
			scope_fill_uobj(new_record(walk, walked), uobj, false);
		if (++visited == SCOPE_BATCH) {
			more = xas.xa_index != ULONG_MAX;
			*index = xas.xa_index + 1;
			break;
		}
	}
	scope_hold_end(SCOPE_LOCK_IDR, began);
	rcu_read_unlock();
	return more;
}

/**
 * struct place - where on the list of uobjects the walk is
 * @uobj: the last one seen, with a reference; NULL at the list's head
 * @seen: addresses of the records made so far
 * @restarts: times that @uobj had left the list
 */
struct place {
	struct ib_uobject	*uobj;
	struct scope_map	seen;
	unsigned int		restarts;
};

static void go_to(struct place *place, struct ib_uobject *uobj)
{
	if (place->uobj)
		uverbs_uobject_put(place->uobj);
	place->uobj = uobj;
}

/*
 * One batch of the list; whether there may be more.  uverbs_destroy_uobject()
 * unlinks with list_del_init(), so a uobject that has left the list is seen to
 * have; then the walk begins anew, passing by what it has seen.
 */
static bool read_list(struct scope_walk *walk, struct scope_walked *walked,
		      struct ib_uverbs_file *ufile, struct place *place)
{
	struct list_head *at = &ufile->uobjects;
	struct ib_uobject *uobj = NULL;
	unsigned int visited;
	bool more;
	u32 n;
	u64 began;

	spin_lock_irq(&ufile->uobjects_lock);
	began = scope_hold_begin();
	if (place->uobj) {
		if (list_empty(&place->uobj->list))
			place->restarts++;
		else
			at = &place->uobj->list;
	}
	for (visited = 0; visited < SCOPE_BATCH && at->next != &ufile->uobjects; visited++) {
		struct scope_uobj_record *r;

		at = at->next;
		uobj = list_entry(at, struct ib_uobject, list);
		if (uobj->uapi_object->type_class != &uverbs_fd_class ||
		    scope_map_get(&place->seen, (unsigned long)uobj, &n))
			continue;
		r = new_record(walk, walked);
		scope_fill_uobj(r, uobj, true);
		scope_dmabuf_read(r, uobj);
	}
	more = at->next != &ufile->uobjects;
	if (more)
		uverbs_uobject_get(uobj);
	scope_hold_end(SCOPE_LOCK_UOBJECTS, began);
	spin_unlock_irq(&ufile->uobjects_lock);
	go_to(place, more ? uobj : NULL);
	return more;
}

static int walk_list(struct scope_walk *walk, struct scope_walked *walked,
		     struct ib_uverbs_file *ufile)
{
	struct place place = {};
	struct scope_uobj_record *r;
	bool more = true;
	int err = 0;
	u32 n;

	while (more && !err) {
		n = walk->uobjs.nr;
		err = scope_vector_reserve(&walk->uobjs, SCOPE_BATCH);
		if (err)
			break;
		more = read_list(walk, walked, ufile, &place);
		for (; n < walk->uobjs.nr && !err; n++) {
			r = scope_vector_at(&walk->uobjs, n);
			err = scope_map_put(&place.seen, r->address, n);
			if (!err && r->dmabuf)
				err = scope_map_put(&walk->uobj_by_dmabuf, r->dmabuf, n);
		}
		/* Dying faster than one can read: say so and leave it. */
		if (place.restarts > RESTARTS) {
			walked->record.changed = true;
			break;
		}
		cond_resched();
	}
	go_to(&place, NULL);
	scope_map_free(&place.seen);
	return err;
}

/**
 * scope_walk_uobjects - read all uobjects of a ufile
 * @walk: the walk
 * @walked: the ufile's records
 * @ufile: the ufile, with a reference
 *
 * Context: may sleep.  Takes RCU and uobjects_lock, for a batch each.
 * Return: 0 or -ENOMEM
 */
int scope_walk_uobjects(struct scope_walk *walk, struct scope_walked *walked,
			struct ib_uverbs_file *ufile)
{
	unsigned long index = 0;
	bool more = true;
	int err;

	while (more) {
		err = scope_vector_reserve(&walk->uobjs, SCOPE_BATCH);
		if (err)
			return err;
		more = read_handles(walk, walked, ufile, &index);
		cond_resched();
	}
	return walk_list(walk, walked, ufile);
}
