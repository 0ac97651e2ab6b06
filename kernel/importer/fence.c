// SPDX-License-Identifier: GPL-2.0
/*
 * Fences that are held: each stands in a dma-buf's reservation object and is
 * signalled by a command, by the end of the context, or when its time is over.
 *
 * A fence may have been pruned from the reservation object by others once it is
 * signalled, or be looked at long after; it needs nothing of ours then.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-fence.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "importer.h"

/**
 * struct importer_fence - a fence that is held
 * @importer: the context, which cannot end before this does
 * @id: of the fence
 * @attachment: id of the attachment that it was made through
 * @fence: the fence, with a reference
 * @limit: signals it when its time is over
 * @limit_ms: that time
 * @late: that has happened; under importer.lock
 */
struct importer_fence {
	struct importer		*importer;
	u32			id;
	u32			attachment;
	struct dma_fence	*fence;
	struct delayed_work	limit;
	u32			limit_ms;
	bool			late;
};

static const char *fence_name(struct dma_fence *fence)
{
	return KBUILD_MODNAME;
}

static const struct dma_fence_ops importer_fence_ops = {
	.get_driver_name	= fence_name,
	.get_timeline_name	= fence_name,
	.release		= IMPORTER_FENCE_RELEASE,
};

static void fence_limit_work(struct work_struct *work)
{
	struct importer_fence *f = container_of(to_delayed_work(work), struct importer_fence,
						limit);

	spin_lock(&f->importer->lock);
	f->late = true;
	spin_unlock(&f->importer->lock);
	dma_fence_signal(f->fence);
	importer_event(f->importer, DMABUF_IMPORTER_EVENT_FENCE, f->id, DMABUF_IMPORTER_BY_LIMIT);
	pr_warn_ratelimited("fence %u: signalled after %u ms\n", f->id, f->limit_ms);
}

/* Only what was taken out of importer.fences; whether its time was over. */
static bool fence_end(struct importer_fence *f)
{
	bool late;

	cancel_delayed_work_sync(&f->limit);
	late = f->late;
	if (!late)
		dma_fence_signal(f->fence);
	dma_fence_put(f->fence);
	kfree(f);
	return late;
}

static int add_fence(struct importer *importer, u32 id, struct dma_fence *fence, u32 usage)
{
	struct importer_attachment *a = importer_attachment_lock(importer, id);
	int err;

	if (IS_ERR(a))
		return PTR_ERR(a);
	err = dma_resv_reserve_fences(a->dmabuf->resv, 1);
	if (!err)
		dma_resv_add_fence(a->dmabuf->resv, fence, usage);
	importer_attachment_unlock(a);
	return err;
}

/**
 * importer_hold_fence - DMABUF_IMPORTER_HOLD_FENCE
 * @importer: the context
 * @arg: struct dmabuf_importer_fence
 *
 * What an importer does for accesses that it cannot stop at once.
 *
 * Context: process context, may sleep.  Takes dma_buf.resv.
 * Return: 0, -EINVAL, -ENOENT, -EINTR, -ENOMEM, -EBUSY if there are no more ids
 */
int importer_hold_fence(struct importer *importer, void *arg)
{
	struct dmabuf_importer_fence *hold = arg;
	struct importer_fence *f;
	int err;

	BUILD_BUG_ON(DMABUF_IMPORTER_KERNEL != (int)DMA_RESV_USAGE_KERNEL);
	BUILD_BUG_ON(DMABUF_IMPORTER_WRITE != (int)DMA_RESV_USAGE_WRITE);
	BUILD_BUG_ON(DMABUF_IMPORTER_USE_READ != (int)DMA_RESV_USAGE_READ);
	BUILD_BUG_ON(DMABUF_IMPORTER_BOOKKEEP != (int)DMA_RESV_USAGE_BOOKKEEP);

	if (hold->fence || hold->usage > DMABUF_IMPORTER_BOOKKEEP ||
	    !importer_limit(&hold->limit_ms))
		return -EINVAL;
	f = kzalloc_obj(*f);
	if (!f)
		return -ENOMEM;
	f->importer = importer;
	f->attachment = hold->id;
	f->limit_ms = hold->limit_ms;
	INIT_DELAYED_WORK(&f->limit, fence_limit_work);
	/* A context of its own each: fences of one context must be signalled in order. */
	f->fence = importer_fence_new(&importer_fence_ops, dma_fence_context_alloc(1), 1);
	if (!f->fence) {
		err = -ENOMEM;
		goto err_free;
	}
	err = xa_alloc_cyclic(&importer->fences, &f->id, NULL, IMPORTER_IDS,
			      &importer->next_fence, GFP_KERNEL);
	if (err < 0)
		goto err_fence;
	err = add_fence(importer, hold->id, f->fence, hold->usage);
	if (err)
		goto err_id;
	hold->fence = f->id;
	queue_delayed_work(importer_wq, &f->limit, msecs_to_jiffies(f->limit_ms));
	xa_store(&importer->fences, f->id, f, GFP_KERNEL);
	return 0;

err_id:
	xa_erase(&importer->fences, f->id);
err_fence:
	/* One that nobody ever saw must be signalled as well. */
	dma_fence_signal(f->fence);
	dma_fence_put(f->fence);
err_free:
	kfree(f);
	return err;
}

/**
 * importer_signal - DMABUF_IMPORTER_SIGNAL
 * @importer: the context
 * @arg: struct dmabuf_importer_id
 *
 * Context: process context, may sleep.  Takes no reservation lock.
 * Return: 0, -EINVAL, -ENOENT, -ETIME if its time was over before
 */
int importer_signal(struct importer *importer, void *arg)
{
	const struct dmabuf_importer_id *id = arg;
	struct importer_fence *f;

	if (id->reserved)
		return -EINVAL;
	xa_lock(&importer->fences);
	f = xa_load(&importer->fences, id->id);
	if (f)
		__xa_erase(&importer->fences, id->id);
	xa_unlock(&importer->fences);
	if (!f)
		return -ENOENT;
	return fence_end(f) ? -ETIME : 0;
}

/**
 * importer_signal_all - signal all that is left at the end of a context
 * @importer: the context, which nobody else uses any more
 *
 * Context: process context, may sleep
 */
void importer_signal_all(struct importer *importer)
{
	struct importer_fence *f;
	unsigned long id;

	xa_for_each(&importer->fences, id, f) {
		xa_erase(&importer->fences, id);
		fence_end(f);
	}
}

/**
 * importer_fences_of - count the fences of an attachment
 * @importer: the context
 * @id: of the attachment
 *
 * Context: process context.  Takes the xarray's lock.
 * Return: those that are not signalled
 */
u32 importer_fences_of(struct importer *importer, u32 id)
{
	struct importer_fence *f;
	unsigned long index;
	u32 n = 0;

	/* Who takes one out frees it, so not by RCU. */
	xa_lock(&importer->fences);
	xa_for_each(&importer->fences, index, f)
		n += f->attachment == id && !dma_fence_is_signaled(f->fence);
	xa_unlock(&importer->fences);
	return n;
}
