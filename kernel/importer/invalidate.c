// SPDX-License-Identifier: GPL-2.0
/*
 * The invalidation callback, and the commands that decide what it does.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>

#include "importer.h"

/**
 * importer_state - the state of an attachment
 * @a: the attachment
 *
 * Context: any.  importer.lock held.
 * Return: enum dmabuf_importer_state
 */
u32 importer_state(const struct importer_attachment *a)
{
	lockdep_assert_held(&a->importer->lock);
	return (a->priv.mapped ? DMABUF_IMPORTER_MAPPED : 0) |
	       (a->priv.pinned ? DMABUF_IMPORTER_PINNED : 0) |
	       (a->owed ? DMABUF_IMPORTER_OWED : 0) |
	       (a->stall_ms ? DMABUF_IMPORTER_ARMED : 0) |
	       (a->stalled ? DMABUF_IMPORTER_STALLED : 0);
}

static bool goes_on(struct importer_attachment *a)
{
	bool on;

	spin_lock(&a->importer->lock);
	on = !a->stalled;
	spin_unlock(&a->importer->lock);
	return on;
}

/* Holds up the exporter, who holds the reservation lock. */
static void stall(struct importer_attachment *a, u32 ms)
{
	bool by_limit = !wait_event_timeout(a->resume, goes_on(a), msecs_to_jiffies(ms));

	spin_lock(&a->importer->lock);
	a->stalled = false;
	spin_unlock(&a->importer->lock);
	importer_event(a->importer, DMABUF_IMPORTER_EVENT_RESUME, a->id,
		       by_limit ? DMABUF_IMPORTER_BY_LIMIT : 0);
	if (by_limit)
		pr_warn_ratelimited("attachment %u of %s: callback goes on after %u ms\n",
				    a->id, pci_name(a->pdev), ms);
}

/**
 * importer_invalidated - dma_buf_attach_ops.invalidate_mappings
 * @attach: the attachment
 *
 * May be called as soon as dma_buf_dynamic_attach() has put it on the list, thus
 * before importer_attachment.attach is set; it is not mapped then.
 *
 * Context: process context, may sleep.  The exporter holds dma_buf.resv.
 */
void importer_invalidated(struct dma_buf_attachment *attach)
{
	struct importer_attachment *a = attach->importer_priv;
	struct importer *importer = a->importer;
	struct dmabuf_importer_event event;
	bool at_once;
	u32 state, ms;

	dma_resv_assert_held(attach->dmabuf->resv);
	spin_lock(&importer->lock);
	ms = a->stall_ms;
	a->stall_ms = 0;
	a->stalled = ms;
	state = importer_state(a);
	spin_unlock(&importer->lock);

	event = importer_event(importer, DMABUF_IMPORTER_EVENT_INVALIDATE, a->id, state);
	spin_lock(&importer->lock);
	a->query.invalidations++;
	a->query.last_state = state;
	a->query.last_seq = event.seq;
	a->query.last_time_ns = event.time_ns;
	spin_unlock(&importer->lock);
	if (ms)
		stall(a, ms);

	spin_lock(&importer->lock);
	at_once = a->policy == DMABUF_IMPORTER_AT_ONCE;
	if (a->priv.mapped)
		a->owed = true;
	spin_unlock(&importer->lock);
	if (at_once && a->sgt) {
		importer_unmap_locked(a, false);
		importer_event(importer, DMABUF_IMPORTER_EVENT_UNMAP, a->id, 0);
	}
}

/**
 * importer_query - DMABUF_IMPORTER_QUERY
 * @importer: the context
 * @arg: struct dmabuf_importer_query
 *
 * Context: process context.  Takes importer.lock only, so it answers whoever
 *	holds the reservation lock.
 * Return: 0, -EINVAL, -ENOENT
 */
int importer_query(struct importer *importer, void *arg)
{
	struct dmabuf_importer_query *query = arg;
	const struct dmabuf_importer_query asked = { .id = query->id };
	struct importer_attachment *a;

	if (memcmp(query, &asked, sizeof(asked)))
		return -EINVAL;
	a = importer_attachment_get(importer, asked.id);
	if (!a)
		return -ENOENT;
	spin_lock(&importer->lock);
	*query = a->query;
	query->state = importer_state(a);
	query->policy = a->policy;
	spin_unlock(&importer->lock);
	query->id = asked.id;
	query->flags = a->flags;
	query->fences = importer_fences_of(importer, asked.id);
	importer_attachment_put(a);
	return 0;
}

/**
 * importer_set_policy - DMABUF_IMPORTER_SET_POLICY
 * @importer: the context
 * @arg: struct dmabuf_importer_set_policy
 *
 * For later calls of the callback, and for one that is stalled.
 *
 * Context: process context.  Takes importer.lock.
 * Return: 0, -EINVAL, -ENOENT
 */
int importer_set_policy(struct importer *importer, void *arg)
{
	const struct dmabuf_importer_set_policy *policy = arg;
	struct importer_attachment *a;

	if (policy->policy > DMABUF_IMPORTER_NEVER)
		return -EINVAL;
	a = importer_attachment_get(importer, policy->id);
	if (!a)
		return -ENOENT;
	spin_lock(&importer->lock);
	a->policy = policy->policy;
	spin_unlock(&importer->lock);
	importer_attachment_put(a);
	return 0;
}

/**
 * importer_release - DMABUF_IMPORTER_RELEASE
 * @importer: the context
 * @arg: struct dmabuf_importer_id
 *
 * The late answer to an invalidation.
 *
 * Context: process context, may sleep.  Takes dma_buf.resv.
 * Return: 0, -EINVAL, -ENOENT, -ENODATA if no invalidation waits for an answer,
 *	-EPERM if the policy is never to give one, -EINTR
 */
int importer_release(struct importer *importer, void *arg)
{
	const struct dmabuf_importer_id *id = arg;
	struct importer_attachment *a;
	bool owed, never;

	if (id->reserved)
		return -EINVAL;
	a = importer_attachment_lock(importer, id->id);
	if (IS_ERR(a))
		return PTR_ERR(a);
	spin_lock(&importer->lock);
	owed = a->owed;
	never = a->policy == DMABUF_IMPORTER_NEVER;
	spin_unlock(&importer->lock);
	if (owed && !never)
		importer_unmap_locked(a, false);
	importer_attachment_unlock(a);
	return !owed ? -ENODATA : never ? -EPERM : 0;
}

/**
 * importer_stall - DMABUF_IMPORTER_STALL
 * @importer: the context
 * @arg: struct dmabuf_importer_stall
 *
 * Context: process context.  Takes importer.lock.
 * Return: 0, -EINVAL also for an attachment without callback, -ENOENT, -EBUSY if
 *	it is stalled or armed
 */
int importer_stall(struct importer *importer, void *arg)
{
	const struct dmabuf_importer_stall *stall = arg;
	struct importer_attachment *a;
	u32 limit_ms = stall->limit_ms;
	int err = 0;

	if (!importer_limit(&limit_ms))
		return -EINVAL;
	a = importer_attachment_get(importer, stall->id);
	if (!a)
		return -ENOENT;
	spin_lock(&importer->lock);
	if (a->flags & (DMABUF_IMPORTER_STATIC | DMABUF_IMPORTER_NO_CALLBACK))
		err = -EINVAL;
	else if (a->stalled || a->stall_ms)
		err = -EBUSY;
	else
		a->stall_ms = limit_ms;
	spin_unlock(&importer->lock);
	importer_attachment_put(a);
	return err;
}

/* Whether there was anything to end. */
static bool resume(struct importer_attachment *a)
{
	bool was;

	spin_lock(&a->importer->lock);
	was = a->stalled || a->stall_ms;
	a->stalled = false;
	a->stall_ms = 0;
	spin_unlock(&a->importer->lock);
	wake_up(&a->resume);
	return was;
}

/**
 * importer_resume - DMABUF_IMPORTER_RESUME
 * @importer: the context
 * @arg: struct dmabuf_importer_id
 *
 * Context: process context.  Takes importer.lock only.
 * Return: 0, -EINVAL, -ENOENT, -ENODATA if it is neither stalled nor armed
 */
int importer_resume(struct importer *importer, void *arg)
{
	const struct dmabuf_importer_id *id = arg;
	struct importer_attachment *a;
	bool was;

	if (id->reserved)
		return -EINVAL;
	a = importer_attachment_get(importer, id->id);
	if (!a)
		return -ENOENT;
	was = resume(a);
	importer_attachment_put(a);
	return was ? 0 : -ENODATA;
}

/**
 * importer_resume_all - end all stalls at the end of a context
 * @importer: the context, which nobody else uses any more
 *
 * None can begin afterwards, since none is armed.
 *
 * Context: process context
 */
void importer_resume_all(struct importer *importer)
{
	struct importer_attachment *a;
	unsigned long id;

	xa_for_each(&importer->attachments, id, a)
		resume(a);
}
