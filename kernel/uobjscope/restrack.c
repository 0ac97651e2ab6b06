// SPDX-License-Identifier: GPL-2.0
/*
 * The numbers that "rdma resource show" uses.
 *
 * An object is in its device's resource tracking table, under the table's lock,
 * before the driver begins to destroy it: rdma_restrack_del() takes it out
 * first.  A uobject leads to it by its own address.  The way back, ib_mr.uobject and
 * its like, is not asked: after a REREG_MR that made another region it is that of the
 * uobject that is gone.  One pass over each table, in batches.
 */
#include <linux/sched.h>
#include <linux/xarray.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_verbs.h>
#include <rdma/restrack.h>

#include "restrack.h"
#include "uverbs.h"

#include "hold.h"
#include "registry.h"
#include "roots.h"
#include "walk.h"

/* Of an object that is a user's: what is known, and its address. */
static unsigned long read_pd(struct scope_tracked *t, struct rdma_restrack_entry *entry)
{
	struct ib_pd *pd = container_of(entry, struct ib_pd, res);

	t->has = SCOPE_HAS_PDN | SCOPE_HAS_USERS;
	t->type = UVERBS_OBJECT_PD;
	t->pdn = entry->id;
	t->users = atomic_read(&pd->usecnt);
	return (unsigned long)pd;
}

static unsigned long read_cq(struct scope_tracked *t, struct rdma_restrack_entry *entry)
{
	struct ib_cq *cq = container_of(entry, struct ib_cq, res);

	t->has = SCOPE_HAS_CQ | SCOPE_HAS_USERS;
	t->type = UVERBS_OBJECT_CQ;
	t->cqe = cq->cqe;
	t->users = atomic_read(&cq->usecnt);
	return (unsigned long)cq;
}

static void read_parent(struct scope_tracked *t, struct ib_pd *pd)
{
	if (!pd)
		return;
	t->has |= SCOPE_HAS_PDN;
	t->pdn = pd->res.id;
}

static unsigned long read_qp(struct scope_tracked *t, struct rdma_restrack_entry *entry)
{
	struct ib_qp *qp = container_of(entry, struct ib_qp, res);

	t->has = SCOPE_HAS_LQPN;
	t->type = UVERBS_OBJECT_QP;
	t->id = qp->qp_num;
	read_parent(t, qp->pd);
	return (unsigned long)qp;
}

static unsigned long read_mr(struct scope_tracked *t, struct rdma_restrack_entry *entry)
{
	struct ib_mr *mr = container_of(entry, struct ib_mr, res);

	t->has = SCOPE_HAS_MR;
	t->type = UVERBS_OBJECT_MR;
	t->lkey = mr->lkey;
	t->length = mr->length;
	t->dm = (unsigned long)READ_ONCE(mr->dm);
	read_parent(t, READ_ONCE(mr->pd));
	return (unsigned long)mr;
}

static unsigned long read_srq(struct scope_tracked *t, struct rdma_restrack_entry *entry)
{
	struct ib_srq *srq = container_of(entry, struct ib_srq, res);

	t->has = SCOPE_HAS_SRQN;
	t->type = UVERBS_OBJECT_SRQ;
	read_parent(t, srq->pd);
	return (unsigned long)srq;
}

static const struct {
	enum rdma_restrack_type	type;
	unsigned long		(*read)(struct scope_tracked *t,
					struct rdma_restrack_entry *entry);
} tables[] = {
	{ RDMA_RESTRACK_PD,	read_pd },
	{ RDMA_RESTRACK_CQ,	read_cq },
	{ RDMA_RESTRACK_QP,	read_qp },
	{ RDMA_RESTRACK_MR,	read_mr },
	{ RDMA_RESTRACK_SRQ,	read_srq },
};

/* One batch of a table from *index on; whether there may be more. */
static bool read_table(struct scope_walk *walk, struct ib_device *ibdev, unsigned int n,
		       unsigned long *index, unsigned long *objects)
{
	struct rdma_restrack_root *root = &ibdev->res[tables[n].type];
	struct rdma_restrack_entry *entry;
	unsigned int visited = 0;
	u64 began;

	xa_lock(&root->xa);
	began = scope_hold_begin();
	while (visited < SCOPE_BATCH &&
	       (entry = xa_find(&root->xa, index, ULONG_MAX, XA_PRESENT))) {
		struct scope_tracked *t = scope_vector_push(&walk->tracked);

		t->id = entry->id;
		/* What a user's object has in place of this, the kernel's own may not. */
		objects[visited++] = rdma_is_kernel_res(entry) ? 0 : tables[n].read(t, entry);
		(*index)++;
	}
	scope_hold_end(SCOPE_LOCK_RESTRACK, began);
	xa_unlock(&root->xa);
	return visited == SCOPE_BATCH;
}

static int walk_table(struct scope_walk *walk, unsigned int number, unsigned int n)
{
	unsigned long objects[SCOPE_BATCH];
	struct scope_device *device;
	unsigned long index = 0;
	bool more = true;
	u32 first, i;
	int err;

	while (more) {
		err = scope_vector_reserve(&walk->tracked, SCOPE_BATCH);
		if (err)
			return err;
		device = scope_device_lock(number);
		if (!device)
			return 0;
		first = walk->tracked.nr;
		more = read_table(walk, device->ibdev, n, &index, objects);
		scope_device_unlock();
		for (i = first; i < walk->tracked.nr; i++) {
			if (!objects[i - first])
				continue;
			err = scope_map_put(&walk->tracked_by_object, objects[i - first], i);
			if (err)
				return err;
		}
		cond_resched();
	}
	return 0;
}

/**
 * scope_walk_restrack - read a device's resource tracking
 * @walk: the walk
 * @number: of the device
 *
 * Context: may sleep.  Takes devices_lock, and a table's lock, for a batch.
 * Return: 0 or -ENOMEM
 */
int scope_walk_restrack(struct scope_walk *walk, unsigned int number)
{
	unsigned int n;
	int err = 0;

	for (n = 0; n < ARRAY_SIZE(tables) && !err; n++)
		err = walk_table(walk, number, n);
	return err;
}
