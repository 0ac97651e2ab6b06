// SPDX-License-Identifier: GPL-2.0
/*
 * Attachments: how they come and go.
 *
 * An attachment is in importer.attachments from the end of ATTACH until somebody
 * takes it out, which only one can.  Others that have found it before keep its
 * memory, its dma-buf and its device by their reference, and see under the
 * reservation lock that it is gone.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "importer.h"

/*
 * Each of them is a symbol of its own, for who wants to know whose attachment it
 * is, see attachment.h.
 */
static const struct dma_buf_attach_ops dmabuf_importer_ops_p2p = {
	.allow_peer2peer	= true,
	.IMPORTER_CALLBACK	= importer_invalidated,
};

static const struct dma_buf_attach_ops dmabuf_importer_ops_p2p_no_callback = {
	.allow_peer2peer	= true,
};

static const struct dma_buf_attach_ops dmabuf_importer_ops_pages = {
	.IMPORTER_CALLBACK	= importer_invalidated,
};

static const struct dma_buf_attach_ops dmabuf_importer_ops_pages_no_callback = {
	.allow_peer2peer	= false,
};

static const struct dma_buf_attach_ops *ops_of(u32 flags)
{
	switch (flags) {
	case 0:
		return &dmabuf_importer_ops_pages;
	case DMABUF_IMPORTER_PEER2PEER:
		return &dmabuf_importer_ops_p2p;
	case DMABUF_IMPORTER_NO_CALLBACK:
		return &dmabuf_importer_ops_pages_no_callback;
	case DMABUF_IMPORTER_PEER2PEER | DMABUF_IMPORTER_NO_CALLBACK:
		return &dmabuf_importer_ops_p2p_no_callback;
	}
	/* A static importer: operations are what makes one dynamic. */
	return NULL;
}

static void attachment_free(struct kref *kref)
{
	struct importer_attachment *a = container_of(kref, struct importer_attachment, kref);

	dma_buf_put(a->dmabuf);
	pci_dev_put(a->pdev);
	importer_put(a->importer);
	kfree(a);
}

/**
 * importer_attachment_put - give back a reference to an attachment
 * @a: the attachment
 *
 * Context: process context, may sleep; the reservation lock must not be held
 */
void importer_attachment_put(struct importer_attachment *a)
{
	kref_put(&a->kref, attachment_free);
}

/**
 * importer_attachment_get - find an attachment
 * @importer: the context
 * @id: of the attachment
 *
 * Context: process context.  Takes the xarray's lock.
 * Return: the attachment with a reference, or NULL
 */
struct importer_attachment *importer_attachment_get(struct importer *importer, u32 id)
{
	struct importer_attachment *a;

	xa_lock(&importer->attachments);
	a = xa_load(&importer->attachments, id);
	if (a)
		kref_get(&a->kref);
	xa_unlock(&importer->attachments);
	return a;
}

/**
 * importer_attachment_lock - find an attachment and lock its dma-buf's reservation
 * @importer: the context
 * @id: of the attachment
 *
 * Context: process context, may sleep.  Takes dma_buf.resv.
 * Return: the attachment, which is attached until importer_attachment_unlock(),
 *	or an error pointer: -ENOENT if there is none, -EINTR
 */
struct importer_attachment *importer_attachment_lock(struct importer *importer, u32 id)
{
	struct importer_attachment *a = importer_attachment_get(importer, id);
	int err;

	if (!a)
		return ERR_PTR(-ENOENT);
	err = dma_resv_lock_interruptible(a->dmabuf->resv, NULL);
	if (err)
		goto err_put;
	if (!a->gone)
		return a;
	err = -ENOENT;
	dma_resv_unlock(a->dmabuf->resv);
err_put:
	importer_attachment_put(a);
	return ERR_PTR(err);
}

/**
 * importer_attachment_unlock - undo importer_attachment_lock()
 * @a: the attachment
 *
 * Context: process context, may sleep
 */
void importer_attachment_unlock(struct importer_attachment *a)
{
	dma_resv_unlock(a->dmabuf->resv);
	importer_attachment_put(a);
}

/* Only what was taken out of importer.attachments, which is @a's last reference but others'. */
static void detach(struct importer_attachment *a)
{
	/*
	 * Not to be interrupted, since nobody else would do it: what the lock may be
	 * waited for ends by itself.
	 */
	dma_resv_lock(a->dmabuf->resv, NULL);
	importer_unmap_locked(a, false);
	importer_unpin_locked(a);
	a->gone = true;
	dma_resv_unlock(a->dmabuf->resv);
	/* Only an attachment that is mapped starts it again. */
	cancel_delayed_work_sync(&a->limit);
	dma_buf_detach(a->dmabuf, a->attach);
	importer_attachment_put(a);
}

static bool flags_are_good(u32 flags)
{
	/* A static importer has no operations to say more with. */
	if (flags & DMABUF_IMPORTER_STATIC)
		return flags == DMABUF_IMPORTER_STATIC;
	return !(flags & ~(DMABUF_IMPORTER_PEER2PEER | DMABUF_IMPORTER_NO_CALLBACK));
}

/**
 * importer_attach - DMABUF_IMPORTER_ATTACH
 * @importer: the context
 * @arg: struct dmabuf_importer_attach
 *
 * The importer's side of dma_buf_dynamic_attach().
 *
 * Context: process context, may sleep.  The exporter's attach operation is called
 *	without the reservation lock.
 * Return: 0, -EINVAL for arguments that cannot be, -EOPNOTSUPP for no callback
 *	where the kernel demands one, -ENODEV for no such device, -EBADF or -EINVAL
 *	for a descriptor that is no dma-buf, -ENOMEM, -EBUSY if there are no more
 *	ids, or what the exporter says
 */
int importer_attach(struct importer *importer, void *arg)
{
	struct dmabuf_importer_attach *attach = arg;
	struct importer_attachment *a;
	int err;

	if (attach->reserved || attach->id || attach->policy > DMABUF_IMPORTER_NEVER ||
	    !flags_are_good(attach->flags))
		return -EINVAL;
	if (attach->flags & DMABUF_IMPORTER_NO_CALLBACK && !importer_callback_is_optional())
		return -EOPNOTSUPP;
	/* Else the number of another domain would be found that has the same low bits. */
	if (attach->domain > INT_MAX)
		return -ENODEV;

	a = kzalloc_obj(*a);
	if (!a)
		return -ENOMEM;
	kref_init(&a->kref);
	a->priv.magic = DMABUF_IMPORTER_PRIV_MAGIC;
	a->flags = attach->flags;
	a->policy = attach->policy;
	a->importer = importer;
	INIT_DELAYED_WORK(&a->limit, importer_limit_work);
	init_waitqueue_head(&a->resume);

	a->pdev = pci_get_domain_bus_and_slot(attach->domain, attach->bus, attach->devfn);
	if (!a->pdev) {
		err = -ENODEV;
		goto err_free;
	}
	a->dmabuf = dma_buf_get(attach->fd);
	if (IS_ERR(a->dmabuf)) {
		err = PTR_ERR(a->dmabuf);
		goto err_device;
	}
	/* The place is taken first, so that nothing can fail once it is attached. */
	err = xa_alloc_cyclic(&importer->attachments, &a->id, NULL, IMPORTER_IDS,
			      &importer->next_attachment, GFP_KERNEL);
	if (err < 0)
		goto err_dmabuf;
	a->attach = dma_buf_dynamic_attach(a->dmabuf, &a->pdev->dev, ops_of(a->flags), a);
	if (IS_ERR(a->attach)) {
		err = PTR_ERR(a->attach);
		goto err_id;
	}
	kref_get(&importer->kref);
	attach->id = a->id;
	xa_store(&importer->attachments, a->id, a, GFP_KERNEL);
	return 0;

err_id:
	xa_erase(&importer->attachments, a->id);
err_dmabuf:
	dma_buf_put(a->dmabuf);
err_device:
	pci_dev_put(a->pdev);
err_free:
	kfree(a);
	return err;
}

/**
 * importer_detach - DMABUF_IMPORTER_DETACH
 * @importer: the context
 * @arg: struct dmabuf_importer_id
 *
 * A mapping and a pin are given back first.
 *
 * Context: process context, may sleep.  Takes dma_buf.resv.
 * Return: 0, -EINVAL, or -ENOENT if there is no such attachment (any more)
 */
int importer_detach(struct importer *importer, void *arg)
{
	const struct dmabuf_importer_id *id = arg;
	struct importer_attachment *a;

	if (id->reserved)
		return -EINVAL;
	/*
	 * Not xa_erase() before it is known to be there: an id whose attachment is
	 * being made is only reserved, and would be lost to it.
	 */
	xa_lock(&importer->attachments);
	a = xa_load(&importer->attachments, id->id);
	if (a)
		__xa_erase(&importer->attachments, id->id);
	xa_unlock(&importer->attachments);
	if (!a)
		return -ENOENT;
	detach(a);
	return 0;
}

/**
 * importer_detach_all - detach all that is left at the end of a context
 * @importer: the context, which nobody else uses any more
 *
 * Context: process context, may sleep.  Takes dma_buf.resv.
 */
void importer_detach_all(struct importer *importer)
{
	struct importer_attachment *a;
	unsigned long id;

	xa_for_each(&importer->attachments, id, a) {
		xa_erase(&importer->attachments, id);
		detach(a);
		cond_resched();
	}
}
