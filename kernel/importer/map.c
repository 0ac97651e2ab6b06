// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings and pins of attachments, and what is seen through a mapping.
 *
 * All calls are made under the dma-buf's reservation lock, as drivers/dma-buf
 * demands of importers ("locking convention" in dma-buf.c); those on CPU access
 * are made without it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/iosys-map.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "importer.h"

static bool is_dynamic(const struct importer_attachment *a)
{
	return !(a->flags & DMABUF_IMPORTER_STATIC);
}

/**
 * importer_unmap_locked - give the mapping back, if there is one
 * @a: the attachment
 * @by_limit: because its time was over
 *
 * Context: process context, may sleep.  dma_buf.resv held.
 */
void importer_unmap_locked(struct importer_attachment *a, bool by_limit)
{
	dma_resv_assert_held(a->dmabuf->resv);
	if (!a->sgt)
		return;
	dma_buf_unmap_attachment(a->attach, a->sgt, a->direction);
	a->sgt = NULL;
	spin_lock(&a->importer->lock);
	a->priv.mapped = false;
	a->owed = false;
	a->query.nents = 0;
	a->query.unmaps++;
	a->query.unmaps_by_limit += by_limit;
	spin_unlock(&a->importer->lock);
}

/**
 * importer_unpin_locked - undo a pin, if there is one
 * @a: the attachment
 *
 * Context: process context, may sleep.  dma_buf.resv held.
 */
void importer_unpin_locked(struct importer_attachment *a)
{
	dma_resv_assert_held(a->dmabuf->resv);
	if (!a->priv.pinned)
		return;
	dma_buf_unpin(a->attach);
	spin_lock(&a->importer->lock);
	a->priv.pinned = false;
	a->query.unpins++;
	spin_unlock(&a->importer->lock);
}

/*
 * An exporter may be waiting for the mapping in a task that is beyond all signals,
 * and which may itself be what keeps our file from being closed.
 */
static void limit_mapping(struct importer_attachment *a)
{
	const unsigned long delay = msecs_to_jiffies(importer_max_hold_ms);

	a->limit_at = jiffies + delay;
	mod_delayed_work(importer_wq, &a->limit, delay);
}

/**
 * importer_limit_work - the time of a mapping is over
 * @work: importer_attachment.limit
 *
 * Context: workqueue.  Takes dma_buf.resv.
 */
void importer_limit_work(struct work_struct *work)
{
	struct importer_attachment *a = container_of(to_delayed_work(work),
						     struct importer_attachment, limit);
	bool over;

	dma_resv_lock(a->dmabuf->resv, NULL);
	/* That of the mapping that is there now, and not of an earlier one. */
	over = a->sgt && time_after_eq(jiffies, a->limit_at);
	if (over) {
		importer_unmap_locked(a, true);
		importer_event(a->importer, DMABUF_IMPORTER_EVENT_UNMAP, a->id,
			       DMABUF_IMPORTER_BY_LIMIT);
	}
	dma_resv_unlock(a->dmabuf->resv);
	if (over)
		pr_warn_ratelimited("attachment %u of %s: mapping taken back after %u ms\n",
				    a->id, pci_name(a->pdev), importer_max_hold_ms);
}

static u64 mapped_bytes(struct sg_table *sgt)
{
	struct scatterlist *sg;
	u64 bytes = 0;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i)
		bytes += sg_dma_len(sg);
	return bytes;
}

/**
 * importer_map - DMABUF_IMPORTER_MAP
 * @importer: the context
 * @arg: struct dmabuf_importer_map
 *
 * The importer's side of dma_buf_map_attachment().  The mapping is taken back
 * after the longest time, whether the exporter has asked for it or not.
 *
 * Context: process context, may sleep.  Takes dma_buf.resv.
 * Return: 0, -EINVAL, -ENOENT, -EBUSY if it is mapped, -EINTR, or what the
 *	exporter says
 */
int importer_map(struct importer *importer, void *arg)
{
	struct dmabuf_importer_map *map = arg;
	struct importer_attachment *a;
	struct sg_table *sgt;
	int err = 0;

	if (map->reserved || map->nents || map->length || map->direction > DMA_FROM_DEVICE)
		return -EINVAL;
	a = importer_attachment_lock(importer, map->id);
	if (IS_ERR(a))
		return PTR_ERR(a);
	if (a->sgt) {
		err = -EBUSY;
		goto out;
	}
	sgt = dma_buf_map_attachment(a->attach, map->direction);
	if (IS_ERR(sgt)) {
		err = PTR_ERR(sgt);
	} else {
		a->sgt = sgt;
		a->direction = map->direction;
		map->nents = sgt->nents;
		map->length = mapped_bytes(sgt);
		limit_mapping(a);
	}
	spin_lock(&importer->lock);
	a->query.map_error = -err;
	if (!err) {
		a->priv.mapped = true;
		a->query.nents = map->nents;
		a->query.maps++;
	}
	spin_unlock(&importer->lock);
out:
	importer_attachment_unlock(a);
	return err;
}

/**
 * importer_unmap - DMABUF_IMPORTER_UNMAP
 * @importer: the context
 * @arg: struct dmabuf_importer_id
 *
 * Context: process context, may sleep.  Takes dma_buf.resv.
 * Return: 0, -EINVAL, -ENOENT, -ENODATA if it is not mapped, -EINTR
 */
int importer_unmap(struct importer *importer, void *arg)
{
	const struct dmabuf_importer_id *id = arg;
	struct importer_attachment *a;
	int err = 0;

	if (id->reserved)
		return -EINVAL;
	a = importer_attachment_lock(importer, id->id);
	if (IS_ERR(a))
		return PTR_ERR(a);
	if (a->sgt)
		importer_unmap_locked(a, false);
	else
		err = -ENODATA;
	importer_attachment_unlock(a);
	return err;
}

/* Up to @room entries from number @first on; how many there were. */
static u32 copy_entries(struct sg_table *sgt, u32 first, struct dmabuf_importer_entry *to,
			u32 room)
{
	struct scatterlist *sg;
	u32 n = 0;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (i < first)
			continue;
		if (n == room)
			break;
		to[n].address = sg_dma_address(sg);
		to[n].length = sg_dma_len(sg);
		n++;
	}
	return n;
}

/**
 * importer_entries - DMABUF_IMPORTER_ENTRIES
 * @importer: the context
 * @arg: struct dmabuf_importer_entries
 *
 * Context: process context, may sleep.  Takes dma_buf.resv.
 * Return: 0, -EINVAL, -ENOENT, -ENODATA if it is not mapped, -EINTR, -ENOMEM,
 *	-EFAULT
 */
int importer_entries(struct importer *importer, void *arg)
{
	struct dmabuf_importer_entries *entries = arg;
	struct dmabuf_importer_entry *copy;
	struct importer_attachment *a;
	int err = 0;

	if (entries->reserved || !entries->count ||
	    entries->count > DMABUF_IMPORTER_MAX_ENTRIES || entries->first > INT_MAX)
		return -EINVAL;
	/* To the user without the lock, as a page fault may need it. */
	copy = kvcalloc(entries->count, sizeof(*copy), GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	a = importer_attachment_lock(importer, entries->id);
	if (IS_ERR(a)) {
		err = PTR_ERR(a);
		goto out;
	}
	if (a->sgt)
		entries->count = copy_entries(a->sgt, entries->first, copy, entries->count);
	else
		err = -ENODATA;
	importer_attachment_unlock(a);
	if (!err && copy_to_user(u64_to_user_ptr(entries->entries), copy,
				 entries->count * sizeof(*copy)))
		err = -EFAULT;
out:
	kvfree(copy);
	return err;
}

static int read_mapped(struct importer *importer, const struct dmabuf_importer_read *read,
		       void *to)
{
	struct importer_attachment *a;
	struct iosys_map map;
	int err;

	a = importer_attachment_lock(importer, read->id);
	if (IS_ERR(a))
		return PTR_ERR(a);
	err = -ENODATA;
	if (a->sgt) {
		err = dma_buf_vmap(a->dmabuf, &map);
		if (!err) {
			iosys_map_memcpy_from(to, &map, read->offset, read->length);
			dma_buf_vunmap(a->dmabuf, &map);
		}
	}
	importer_attachment_unlock(a);
	return err;
}

/**
 * importer_read - DMABUF_IMPORTER_READ
 * @importer: the context
 * @arg: struct dmabuf_importer_read
 *
 * By the CPU, through the exporter's vmap operation.  Memory behind a BAR has
 * none: what a device would read there cannot be read here.
 *
 * Context: process context, may sleep.  Takes dma_buf.resv.
 * Return: 0, -EINVAL, -ENOENT, -ENODATA if it is not mapped, -EOPNOTSUPP if the
 *	CPU cannot read it, -EINTR, -ENOMEM, -EFAULT, or what the exporter says
 */
int importer_read(struct importer *importer, void *arg)
{
	const struct dmabuf_importer_read *read = arg;
	struct importer_attachment *a;
	u64 end;
	void *copy;
	int err;

	if (!read->length || read->length > DMABUF_IMPORTER_MAX_READ)
		return -EINVAL;
	a = importer_attachment_get(importer, read->id);
	if (!a)
		return -ENOENT;
	err = -EINVAL;
	if (check_add_overflow(read->offset, (u64)read->length, &end) || end > a->dmabuf->size)
		goto out_put;
	err = -EOPNOTSUPP;
	if (!a->dmabuf->ops->vmap)
		goto out_put;
	err = -ENOMEM;
	copy = kvmalloc(read->length, GFP_KERNEL);
	if (!copy)
		goto out_put;
	/* Waits for those who still write, as a dynamic importer has to. */
	err = dma_buf_begin_cpu_access(a->dmabuf, DMA_FROM_DEVICE);
	if (err)
		goto out_free;
	err = read_mapped(importer, read, copy);
	dma_buf_end_cpu_access(a->dmabuf, DMA_FROM_DEVICE);
	if (!err && copy_to_user(u64_to_user_ptr(read->data), copy, read->length))
		err = -EFAULT;
out_free:
	kvfree(copy);
out_put:
	importer_attachment_put(a);
	return err;
}

/**
 * importer_pin - DMABUF_IMPORTER_PIN
 * @importer: the context
 * @arg: struct dmabuf_importer_id
 *
 * The importer's side of dma_buf_pin().
 *
 * Context: process context, may sleep.  Takes dma_buf.resv.
 * Return: 0, -EINVAL also for a static attachment, -ENOENT, -EBUSY if it is
 *	pinned, -EINTR, or what the exporter says
 */
int importer_pin(struct importer *importer, void *arg)
{
	const struct dmabuf_importer_id *id = arg;
	struct importer_attachment *a;
	int err;

	if (id->reserved)
		return -EINVAL;
	a = importer_attachment_lock(importer, id->id);
	if (IS_ERR(a))
		return PTR_ERR(a);
	/* Of these the kernel itself pins what it maps. */
	if (!is_dynamic(a))
		err = -EINVAL;
	else if (a->priv.pinned)
		err = -EBUSY;
	else
		err = dma_buf_pin(a->attach);
	if (!err) {
		spin_lock(&importer->lock);
		a->priv.pinned = true;
		a->query.pins++;
		spin_unlock(&importer->lock);
	}
	importer_attachment_unlock(a);
	return err;
}

/**
 * importer_unpin - DMABUF_IMPORTER_UNPIN
 * @importer: the context
 * @arg: struct dmabuf_importer_id
 *
 * Context: process context, may sleep.  Takes dma_buf.resv.
 * Return: 0, -EINVAL also for a static attachment, -ENOENT, -ENODATA if it is
 *	not pinned, -EINTR
 */
int importer_unpin(struct importer *importer, void *arg)
{
	const struct dmabuf_importer_id *id = arg;
	struct importer_attachment *a;
	int err = 0;

	if (id->reserved)
		return -EINVAL;
	a = importer_attachment_lock(importer, id->id);
	if (IS_ERR(a))
		return PTR_ERR(a);
	if (!is_dynamic(a))
		err = -EINVAL;
	else if (!a->priv.pinned)
		err = -ENODATA;
	else
		importer_unpin_locked(a);
	importer_attachment_unlock(a);
	return err;
}
