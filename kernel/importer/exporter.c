// SPDX-License-Identifier: GPL-2.0
/*
 * An exporter of ordinary memory that fails, waits and invalidates as it is told.
 *
 * A context knows its exports by id, but has no reference to their dma-bufs:
 * these live by their descriptors and importers, as any others do.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/iosys-map.h>
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "importer.h"

/**
 * struct exporter - a buffer that was exported
 * @kref: of importer.exports, of the dma-buf, and of who is looking at it
 * @importer: the context, with a reference
 * @id: of it
 * @asked: what it was made with
 * @pages: the memory, until the dma-buf is released; changed below both the
 *	reservation lock and @pages_lock
 * @nr_pages: how many
 * @pages_lock: for who looks at @pages without the reservation lock: a process that
 *	maps them must not wait for an importer that is stalled
 * @alive: protects @dmabuf; while it is held the dma-buf is not released
 * @dmabuf: the dma-buf, NULL once it was released
 * @inode: of the dma-buf's file, with a reference, NULL before there is one: at the end
 *	file and inode are gone before the dma-buf is released
 * @revoked: it cannot be mapped any more; under the reservation lock
 * @wait: who waits for a stall's end, or for the last unmap
 * @mappings: now there; under importer.lock, as all below
 * @map_calls: of map, for @asked.map_error_nth
 * @stalled: calls of map that are waiting; at most one, by the reservation lock
 * @forgotten: the context is closed, so nobody could end a stall
 * @query: the counts
 */
struct exporter {
	struct kref				kref;
	struct importer				*importer;
	u32					id;
	struct dmabuf_importer_export		asked;
	struct page				**pages;
	unsigned int				nr_pages;
	struct mutex				pages_lock;	/* see above */
	struct mutex				alive;	/* keeps the dma-buf */
	struct dma_buf				*dmabuf;
	struct inode				*inode;
	bool					revoked;
	wait_queue_head_t			wait;
	u32					mappings;
	u32					map_calls;
	bool					stalled;
	bool					forgotten;
	struct dmabuf_importer_export_query	query;
};

static void exporter_free(struct kref *kref)
{
	struct exporter *e = container_of(kref, struct exporter, kref);

	iput(e->inode);
	importer_put(e->importer);
	mutex_destroy(&e->alive);
	mutex_destroy(&e->pages_lock);
	kfree(e);
}

static void exporter_put(struct exporter *e)
{
	kref_put(&e->kref, exporter_free);
}

static struct exporter *exporter_get(struct importer *importer, u32 id)
{
	struct exporter *e;

	xa_lock(&importer->exports);
	e = xa_load(&importer->exports, id);
	if (e)
		kref_get(&e->kref);
	xa_unlock(&importer->exports);
	return e;
}

static void count(struct exporter *e, u32 *counter)
{
	spin_lock(&e->importer->lock);
	++*counter;
	spin_unlock(&e->importer->lock);
}

/* One of two counters, by the result, which is passed on. */
static int count_result(struct exporter *e, int err, u32 *good, u32 *bad)
{
	count(e, err ? bad : good);
	return err;
}

static int exporter_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct exporter *e = dmabuf->priv;

	return count_result(e, -(int)e->asked.attach_error, &e->query.attaches,
			    &e->query.attaches_refused);
}

static void exporter_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct exporter *e = dmabuf->priv;

	count(e, &e->query.detaches);
}

static int exporter_pin(struct dma_buf_attachment *attach)
{
	struct exporter *e = attach->dmabuf->priv;

	dma_resv_assert_held(attach->dmabuf->resv);
	return count_result(e, -(int)e->asked.pin_error, &e->query.pins, &e->query.pins_failed);
}

static void exporter_unpin(struct dma_buf_attachment *attach)
{
	struct exporter *e = attach->dmabuf->priv;

	dma_resv_assert_held(attach->dmabuf->resv);
	count(e, &e->query.unpins);
}

static bool map_goes_on(struct exporter *e)
{
	bool on;

	spin_lock(&e->importer->lock);
	on = !e->stalled;
	spin_unlock(&e->importer->lock);
	return on;
}

/* A slow exporter; the importer holds the reservation lock meanwhile. */
static int stall_map(struct exporter *e)
{
	long left;

	if (!e->asked.map_stall_ms)
		return 0;
	spin_lock(&e->importer->lock);
	e->stalled = !e->forgotten;
	spin_unlock(&e->importer->lock);
	if (map_goes_on(e))
		return 0;
	importer_event(e->importer, DMABUF_IMPORTER_EVENT_MAP_STALL, e->id, 0);
	left = wait_event_interruptible_timeout(e->wait, map_goes_on(e),
						msecs_to_jiffies(e->asked.map_stall_ms));
	spin_lock(&e->importer->lock);
	e->stalled = false;
	spin_unlock(&e->importer->lock);
	importer_event(e->importer, DMABUF_IMPORTER_EVENT_MAP_RESUME, e->id,
		       left ? 0 : DMABUF_IMPORTER_BY_LIMIT);
	if (!left)
		pr_warn_ratelimited("export %u: map goes on after %u ms\n", e->id,
				    e->asked.map_stall_ms);
	/* As the dma-buf's documentation of map_dma_buf() has it. */
	return left < 0 ? -EINTR : 0;
}

static int map_error(struct exporter *e)
{
	u32 nth;
	int err;

	spin_lock(&e->importer->lock);
	nth = ++e->map_calls;
	spin_unlock(&e->importer->lock);
	err = stall_map(e);
	if (err)
		return err;
	if (e->revoked)
		return -ENODEV;
	if (e->asked.map_error_nth && e->asked.map_error_nth != nth)
		return 0;
	return -(int)e->asked.map_error;
}

/**
 * struct exporter_mapping - what an importer was given
 * @sgt: the table
 * @mark: of its addresses and lengths then
 */
struct exporter_mapping {
	struct sg_table	sgt;
	u32		mark;
};

static u32 mark_of(struct sg_table *sgt)
{
	struct scatterlist *sg;
	u32 mark = sgt->nents;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		const u64 where[] = { sg_dma_address(sg), sg_dma_len(sg) };

		mark = jhash(where, sizeof(where), mark);
	}
	return mark;
}

static struct sg_table *map_pages(struct exporter *e, struct device *dev,
				  enum dma_data_direction direction)
{
	struct exporter_mapping *mapping = kzalloc_obj(*mapping);
	int err;

	if (!mapping)
		return ERR_PTR(-ENOMEM);
	err = sg_alloc_table_from_pages(&mapping->sgt, e->pages, e->nr_pages, 0, e->asked.size,
					GFP_KERNEL);
	if (err)
		goto err_free;
	err = dma_map_sgtable(dev, &mapping->sgt, direction, 0);
	if (err)
		goto err_table;
	mapping->mark = mark_of(&mapping->sgt);
	return &mapping->sgt;

err_table:
	sg_free_table(&mapping->sgt);
err_free:
	kfree(mapping);
	return ERR_PTR(err);
}

static struct sg_table *exporter_map(struct dma_buf_attachment *attach,
				     enum dma_data_direction direction)
{
	struct exporter *e = attach->dmabuf->priv;
	struct sg_table *sgt;
	int err;

	dma_resv_assert_held(attach->dmabuf->resv);
	err = map_error(e);
	sgt = err ? ERR_PTR(err) : map_pages(e, attach->dev, direction);
	spin_lock(&e->importer->lock);
	if (IS_ERR(sgt)) {
		e->query.maps_failed++;
	} else {
		e->query.maps++;
		e->mappings++;
	}
	spin_unlock(&e->importer->lock);
	return sgt;
}

static void exporter_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			   enum dma_data_direction direction)
{
	struct exporter_mapping *mapping = container_of(sgt, struct exporter_mapping, sgt);
	struct exporter *e = attach->dmabuf->priv;
	const bool altered = mark_of(sgt) != mapping->mark;

	dma_resv_assert_held(attach->dmabuf->resv);
	dma_unmap_sgtable(attach->dev, sgt, direction, 0);
	sg_free_table(sgt);
	kfree(mapping);
	spin_lock(&e->importer->lock);
	e->query.unmaps++;
	e->query.altered += altered;
	e->mappings--;
	spin_unlock(&e->importer->lock);
	wake_up(&e->wait);
}

static int exporter_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct exporter *e = dmabuf->priv;
	void *address = vmap(e->pages, e->nr_pages, VM_MAP, PAGE_KERNEL);

	if (!address)
		return -ENOMEM;
	iosys_map_set_vaddr(map, address);
	return 0;
}

static void exporter_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	vunmap(map->vaddr);
}

/* All pages are mapped at once; what comes here is who looks after a move. */
static vm_fault_t exporter_fault(struct vm_fault *vmf)
{
	struct exporter *e = vmf->vma->vm_private_data;
	vm_fault_t fault = VM_FAULT_NOPAGE;
	int err;

	if (vmf->pgoff >= e->nr_pages)
		return VM_FAULT_SIGBUS;
	mutex_lock(&e->pages_lock);
	err = vm_insert_page(vmf->vma, vmf->address, e->pages[vmf->pgoff]);
	mutex_unlock(&e->pages_lock);
	/* Another thread may have been faster. */
	if (err && err != -EBUSY)
		fault = err == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
	return fault;
}

static const struct vm_operations_struct exporter_vm_ops = {
	.fault = exporter_fault,
};

/* The mapping has a reference to the dma-buf's file, so what it names stays. */
static int exporter_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct exporter *e = dmabuf->priv;
	int err;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	mutex_lock(&e->pages_lock);
	err = vm_map_pages(vma, e->pages, e->nr_pages);
	mutex_unlock(&e->pages_lock);
	vma->vm_private_data = e;
	vma->vm_ops = &exporter_vm_ops;
	return err;
}

static void free_page_array(struct page **pages, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr && pages[i]; i++)
		put_page(pages[i]);
	kvfree(pages);
}

/*
 * One block, the lowest page of it first, or the highest: then no page is followed by its
 * neighbour.
 */
static bool fill_with_block(struct page **pages, unsigned int nr, bool upwards)
{
	unsigned int order = get_order((size_t)nr << PAGE_SHIFT);
	struct page *block = alloc_pages(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN, order);
	unsigned int i;

	if (!block)
		return false;
	split_page(block, order);
	for (i = 0; i < nr; i++)
		pages[upwards ? i : nr - 1 - i] = &block[i];
	for (; i < 1U << order; i++)
		put_page(&block[i]);
	return true;
}

/*
 * A small buffer lies in one piece if it can, and is one entry of a table then, which an
 * importer of a part of it has to cut.
 */
static bool fill_with_pages(struct page **pages, unsigned int nr)
{
	const unsigned int order = get_order((size_t)nr << PAGE_SHIFT);
	unsigned int i;

	if (order <= PAGE_ALLOC_COSTLY_ORDER && nr == 1U << order &&
	    fill_with_block(pages, nr, true))
		return true;
	for (i = 0; i < nr; i++) {
		pages[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!pages[i])
			return false;
	}
	return true;
}

/* The pages for @e's memory, after it has moved so many times. */
static struct page **alloc_page_array(struct exporter *e, u32 moves)
{
	struct page **pages = kvcalloc(e->nr_pages, sizeof(*pages), GFP_KERNEL);
	bool filled;

	if (!pages)
		return NULL;
	if (e->asked.flags & DMABUF_IMPORTER_EXPORT_CONTIGUOUS)
		filled = fill_with_block(pages, e->nr_pages, !(moves & 1));
	else
		filled = fill_with_pages(pages, e->nr_pages);
	if (!filled) {
		free_page_array(pages, e->nr_pages);
		return NULL;
	}
	return pages;
}

static void free_pages_of(struct exporter *e)
{
	free_page_array(e->pages, e->nr_pages);
	e->pages = NULL;
}

static int alloc_pages_of(struct exporter *e)
{
	e->nr_pages = e->asked.size >> PAGE_SHIFT;
	e->pages = alloc_page_array(e, 0);
	return e->pages ? 0 : -ENOMEM;
}

static void exporter_release(struct dma_buf *dmabuf)
{
	struct exporter *e = dmabuf->priv;

	mutex_lock(&e->alive);
	e->dmabuf = NULL;
	mutex_unlock(&e->alive);
	free_pages_of(e);
	exporter_put(e);
}

/* The pin operation is what makes an exporter dynamic. */
static const struct dma_buf_ops dynamic_ops = {
	.attach		= exporter_attach,
	.detach		= exporter_detach,
	.pin		= exporter_pin,
	.unpin		= exporter_unpin,
	.map_dma_buf	= exporter_map,
	.unmap_dma_buf	= exporter_unmap,
	.release	= exporter_release,
	.mmap		= exporter_mmap,
	.vmap		= exporter_vmap,
	.vunmap		= exporter_vunmap,
};

static const struct dma_buf_ops static_ops = {
	.attach		= exporter_attach,
	.detach		= exporter_detach,
	.map_dma_buf	= exporter_map,
	.unmap_dma_buf	= exporter_unmap,
	.release	= exporter_release,
	.mmap		= exporter_mmap,
	.vmap		= exporter_vmap,
	.vunmap		= exporter_vunmap,
};

/**
 * importer_export_is_good - check what an export is to be like
 * @export: as it was asked for; the longest time is put where none is given
 *
 * Context: any
 * Return: whether it can be made
 */
bool importer_export_is_good(struct dmabuf_importer_export *export)
{
	if (export->fd || export->id ||
	    export->flags & ~(DMABUF_IMPORTER_EXPORT_STATIC | DMABUF_IMPORTER_EXPORT_CONTIGUOUS) ||
	    !export->size || export->size > IMPORTER_MAX_EXPORT || !PAGE_ALIGNED(export->size))
		return false;
	if (export->attach_error > MAX_ERRNO || export->pin_error > MAX_ERRNO ||
	    export->map_error > MAX_ERRNO || (export->map_error_nth && !export->map_error))
		return false;
	/* dma_buf_map_attachment() warns of an exporter that says so. */
	if (export->pin_error == EBUSY)
		return false;
	if (export->pin_error && export->flags & DMABUF_IMPORTER_EXPORT_STATIC)
		return false;
	return !export->map_stall_ms || importer_limit(&export->map_stall_ms);
}

static struct exporter *exporter_new(struct importer *importer,
				     const struct dmabuf_importer_export *asked)
{
	struct exporter *e = kzalloc_obj(*e);
	int err;

	if (!e)
		return ERR_PTR(-ENOMEM);
	kref_init(&e->kref);
	e->asked = *asked;
	mutex_init(&e->alive);
	mutex_init(&e->pages_lock);
	init_waitqueue_head(&e->wait);
	err = alloc_pages_of(e);
	if (err) {
		mutex_destroy(&e->pages_lock);
		mutex_destroy(&e->alive);
		kfree(e);
		return ERR_PTR(err);
	}
	kref_get(&importer->kref);
	e->importer = importer;
	return e;
}

/**
 * importer_export - DMABUF_IMPORTER_EXPORT
 * @importer: the context
 * @arg: struct dmabuf_importer_export
 *
 * Context: process context, may sleep
 * Return: 0, -EINVAL, -ENOMEM, -EMFILE, -ENFILE, -EBUSY if there are no more ids
 */
int importer_export(struct importer *importer, void *arg)
{
	struct dmabuf_importer_export *export = arg;
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct exporter *e;
	int err, fd;

	if (!importer_export_is_good(export))
		return -EINVAL;
	e = exporter_new(importer, export);
	if (IS_ERR(e))
		return PTR_ERR(e);
	err = xa_alloc_cyclic(&importer->exports, &e->id, NULL, IMPORTER_IDS,
			      &importer->next_export, GFP_KERNEL);
	if (err < 0)
		goto err_free;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		err = fd;
		goto err_id;
	}
	info.ops = export->flags & DMABUF_IMPORTER_EXPORT_STATIC ? &static_ops : &dynamic_ops;
	info.size = export->size;
	info.flags = O_RDWR;
	info.priv = e;
	e->dmabuf = dma_buf_export(&info);
	if (IS_ERR(e->dmabuf)) {
		err = PTR_ERR(e->dmabuf);
		goto err_fd;
	}
	e->inode = file_inode(e->dmabuf->file);
	ihold(e->inode);
	/* The dma-buf has the first reference, the context another. */
	kref_get(&e->kref);
	export->fd = fd;
	export->id = e->id;
	fd_install(fd, e->dmabuf->file);
	xa_store(&importer->exports, export->id, e, GFP_KERNEL);
	return 0;

err_fd:
	put_unused_fd(fd);
err_id:
	xa_erase(&importer->exports, e->id);
err_free:
	free_pages_of(e);
	exporter_put(e);
	return err;
}

static u32 mappings_of(struct exporter *e)
{
	u32 mappings;

	spin_lock(&e->importer->lock);
	mappings = e->mappings;
	spin_unlock(&e->importer->lock);
	return mappings;
}

static bool is_pinned(struct exporter *e)
{
	bool pinned;

	spin_lock(&e->importer->lock);
	pinned = e->query.pins != e->query.unpins;
	spin_unlock(&e->importer->lock);
	return pinned;
}

/*
 * Have the content in @pages, below the reservation lock, and @pages become what was
 * there before.  Processes that have it mapped find the new pages.
 */
static void move_to(struct exporter *e, struct page ***pages)
{
	unsigned int i;

	mutex_lock(&e->pages_lock);
	unmap_mapping_range(e->inode->i_mapping, 0, 0, 1);
	for (i = 0; i < e->nr_pages; i++)
		copy_highpage((*pages)[i], e->pages[i]);
	swap(e->pages, *pages);
	mutex_unlock(&e->pages_lock);
	count(e, &e->query.moves);
}

/*
 * Below exporter.alive, which keeps the dma-buf.  The memory is moved to @pages if that
 * is not NULL, as an exporter that needs the place for something else would do.
 */
static int invalidate(struct exporter *e, u32 flags, u32 limit_ms, struct page ***pages)
{
	struct dma_resv *resv = e->dmabuf->resv;
	const unsigned long timeout = msecs_to_jiffies(limit_ms);
	long left = 1;
	int err;

	err = dma_resv_lock_interruptible(resv, NULL);
	if (err)
		return err;
	/* What is pinned stays where it is, and nobody is told anything. */
	if (pages && is_pinned(e)) {
		dma_resv_unlock(resv);
		return -EBUSY;
	}
	count(e, &e->query.invalidations);
	if (flags & DMABUF_IMPORTER_REVOKE)
		e->revoked = true;
	importer_invalidate_mappings(e->dmabuf);
	if (flags & DMABUF_IMPORTER_WAIT_FENCES)
		left = dma_resv_wait_timeout(resv, DMA_RESV_USAGE_BOOKKEEP, true, timeout);
	if (pages && left > 0) {
		/* A late importer's mapping leads to the old pages still. */
		if (mappings_of(e))
			err = -EBUSY;
		else
			move_to(e, pages);
	}
	dma_resv_unlock(resv);
	if (err)
		return err;
	if (left > 0 && flags & DMABUF_IMPORTER_WAIT_UNMAPPED)
		left = wait_event_interruptible_timeout(e->wait, !mappings_of(e), timeout);
	if (left < 0)
		return -EINTR;
	return left ? 0 : -ETIMEDOUT;
}

static int invalidate_and_move(struct exporter *e, u32 flags, u32 limit_ms)
{
	struct page **pages;
	int err;

	if (e->asked.flags & DMABUF_IMPORTER_EXPORT_STATIC)
		return -EOPNOTSUPP;
	/* Below exporter.alive there is one move at a time. */
	pages = alloc_page_array(e, e->query.moves + 1);
	if (!pages)
		return -ENOMEM;
	err = invalidate(e, flags, limit_ms, &pages);
	free_page_array(pages, e->nr_pages);
	return err;
}

static bool invalidation_is_good(u32 flags)
{
	if (flags & DMABUF_IMPORTER_MOVE)
		return !(flags & ~(DMABUF_IMPORTER_MOVE | DMABUF_IMPORTER_WAIT_FENCES));
	return !(flags & ~(DMABUF_IMPORTER_REVOKE | DMABUF_IMPORTER_WAIT_FENCES |
			   DMABUF_IMPORTER_WAIT_UNMAPPED));
}

/**
 * importer_invalidate - DMABUF_IMPORTER_INVALIDATE
 * @importer: the context
 * @arg: struct dmabuf_importer_invalidate
 *
 * The exporter's side of dma_buf_invalidate_mappings(), with the two waits that
 * its documentation asks for, as rdma_user_mmap_entry_remove() has them; or with a
 * move, as exporters of memory that can be evicted have it.
 *
 * Context: process context, may sleep.  Takes exporter.alive and dma_buf.resv.
 * Return: 0, -EINVAL, -ENOENT if there is no such export or its dma-buf was
 *	released, -ETIMEDOUT, -EINTR; of a move also -EBUSY if it is pinned, or mapped
 *	still, -EOPNOTSUPP if it is static, -ENOMEM
 */
int importer_invalidate(struct importer *importer, void *arg)
{
	struct dmabuf_importer_invalidate *how = arg;
	struct exporter *e;
	int err;

	if (how->mappings || !importer_limit(&how->limit_ms) || !invalidation_is_good(how->flags))
		return -EINVAL;
	e = exporter_get(importer, how->id);
	if (!e)
		return -ENOENT;
	err = mutex_lock_interruptible(&e->alive);
	if (err)
		goto out;
	if (!e->dmabuf)
		err = -ENOENT;
	else if (how->flags & DMABUF_IMPORTER_MOVE)
		err = invalidate_and_move(e, how->flags, how->limit_ms);
	else
		err = invalidate(e, how->flags, how->limit_ms, NULL);
	mutex_unlock(&e->alive);
	how->mappings = mappings_of(e);
out:
	exporter_put(e);
	return err;
}

/**
 * importer_export_query - DMABUF_IMPORTER_EXPORT_QUERY
 * @importer: the context
 * @arg: struct dmabuf_importer_export_query
 *
 * Context: process context.  Takes importer.lock only.
 * Return: 0, -EINVAL, -ENOENT
 */
int importer_export_query(struct importer *importer, void *arg)
{
	struct dmabuf_importer_export_query *query = arg;
	const struct dmabuf_importer_export_query asked = { .id = query->id };
	struct exporter *e;

	if (memcmp(query, &asked, sizeof(asked)))
		return -EINVAL;
	e = exporter_get(importer, asked.id);
	if (!e)
		return -ENOENT;
	spin_lock(&importer->lock);
	*query = e->query;
	query->state = (READ_ONCE(e->dmabuf) ? DMABUF_IMPORTER_EXPORT_ALIVE : 0) |
		       (READ_ONCE(e->revoked) ? DMABUF_IMPORTER_EXPORT_REVOKED : 0) |
		       (e->stalled ? DMABUF_IMPORTER_EXPORT_STALLED : 0);
	spin_unlock(&importer->lock);
	query->id = asked.id;
	exporter_put(e);
	return 0;
}

/**
 * importer_export_resume - DMABUF_IMPORTER_EXPORT_RESUME
 * @importer: the context
 * @arg: struct dmabuf_importer_id
 *
 * Context: process context.  Takes importer.lock only.
 * Return: 0, -EINVAL, -ENOENT, -ENODATA if no call of map is waiting
 */
int importer_export_resume(struct importer *importer, void *arg)
{
	const struct dmabuf_importer_id *id = arg;
	struct exporter *e;
	bool was;

	if (id->reserved)
		return -EINVAL;
	e = exporter_get(importer, id->id);
	if (!e)
		return -ENOENT;
	spin_lock(&importer->lock);
	was = e->stalled;
	e->stalled = false;
	spin_unlock(&importer->lock);
	wake_up(&e->wait);
	exporter_put(e);
	return was ? 0 : -ENODATA;
}

/**
 * importer_forget_exports - leave the exports to themselves at the end of a context
 * @importer: the context, which nobody else uses any more
 *
 * They go on as they were made, but wait no more.
 *
 * Context: process context
 */
void importer_forget_exports(struct importer *importer)
{
	struct exporter *e;
	unsigned long id;

	xa_for_each(&importer->exports, id, e) {
		xa_erase(&importer->exports, id);
		spin_lock(&importer->lock);
		e->forgotten = true;
		e->stalled = false;
		spin_unlock(&importer->lock);
		wake_up(&e->wait);
		exporter_put(e);
	}
}
