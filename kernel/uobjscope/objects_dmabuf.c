// SPDX-License-Identifier: GPL-2.0
/*
 * DMABUF uobjects, their dma-bufs, and who is attached to these.
 *
 * A uobject may outlive its dma_buf, and a dma_buf its place on the ufile's list
 * of uobjects; the registry knows which dma_bufs are alive.  Each is pinned by a
 * reference to its file only while it is looked at.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/kallsyms.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "mlx5_ib.h"
#include "uverbs.h"

#include "../importer/attachment.h"
#include "dmabuf.h"
#include "hold.h"
#include "patience.h"
#include "registry.h"
#include "walk.h"

/**
 * scope_dmabuf_read - read what a DMABUF uobject has of its own
 * @r: scope_fill_uobj() has been there
 * @uobj: of any type, of class fd; kept by the caller
 *
 * Context: any.  Takes nothing.  Its dma_buf is not followed.
 */
void scope_dmabuf_read(struct scope_uobj_record *r, const struct ib_uobject *uobj)
{
	const struct uverbs_obj_type *type = READ_ONCE(uobj->uapi_object->type_attrs);
	const struct ib_uverbs_dmabuf_file *dmabuf;

	if (r->type != UVERBS_OBJECT_DMABUF)
		return;
	/* A second look of the layout guard; the type is gone with the device. */
	if (type && type->obj_size != sizeof(*dmabuf))
		return;
	dmabuf = container_of_const(uobj, struct ib_uverbs_dmabuf_file, uobj);
	r->has |= SCOPE_HAS_KREF | SCOPE_HAS_ENTRY;
	r->kref = kref_read(&dmabuf->kref);
	r->revoked = dmabuf->revoked;
	r->entry = (unsigned long)READ_ONCE(dmabuf->mmap_entry);
	r->dmabuf = (unsigned long)READ_ONCE(dmabuf->dmabuf);
}

/**
 * scope_dmabuf_of - the dma_buf of a DMABUF uobject that is being committed
 * @uobj: of any type
 *
 * The object size is checked each time, since no device may have been there to check it
 * when the module was loaded.
 *
 * Context: any; at the begin of alloc_commit_fd_uobject().
 * Return: the dma_buf, or NULL if it is of another type
 */
struct dma_buf *scope_dmabuf_of(const struct ib_uobject *uobj)
{
	const struct uverbs_api_object *object = uobj->uapi_object;

	if (object->id != UVERBS_OBJECT_DMABUF || !object->type_attrs ||
	    object->type_attrs->obj_size != sizeof(struct ib_uverbs_dmabuf_file))
		return NULL;
	return container_of(uobj, struct ib_uverbs_dmabuf_file, uobj)->dmabuf;
}

/**
 * scope_dmabuf_uobject - the uobject of a dma-buf of uverbs
 * @dmabuf: a dma_buf of uverbs, kept by the caller
 *
 * Only the public part of it may be looked at.
 *
 * Context: any.
 * Return: the uobject, which the dma-buf's file keeps
 */
struct ib_uobject *scope_dmabuf_uobject(const struct dma_buf *dmabuf)
{
	BUILD_BUG_ON(offsetof(struct ib_uverbs_dmabuf_file, uobj));
	return dmabuf->priv;
}

/**
 * scope_dmabuf_count - how many dma-bufs does a mmap entry list?
 * @r: its record
 * @entry: the entry, kept by the caller
 *
 * The list's own lock is held while a revocation waits for importers; then it is not known.
 * Nor is it of a list that is longer than SCOPE_DMABUFS_MAX: it is as long as a program
 * likes, and nothing else runs on this processor meanwhile.
 *
 * Context: atomic.  Takes dmabufs_lock by trylock.
 * Return: how many were passed, known or not
 */
u32 scope_dmabuf_count(struct scope_mmap_record *r, struct rdma_user_mmap_entry *entry)
{
	const struct list_head *at;
	u32 passed = 0;
	u64 began;

	if (!mutex_trylock(&entry->dmabufs_lock))
		return 0;
	began = scope_hold_begin();
	list_for_each(at, &entry->dmabufs)
		if (passed++ == SCOPE_DMABUFS_MAX)
			break;
	r->dmabufs_known = passed <= SCOPE_DMABUFS_MAX;
	if (r->dmabufs_known)
		r->dmabufs = passed;
	scope_hold_end(SCOPE_LOCK_DMABUFS, began);
	mutex_unlock(&entry->dmabufs_lock);
	return passed;
}

/* "name+0x0/0x18 [module]" to "name"; an address that has no name tells nothing. */
static void name_importer(struct scope_importer *importer)
{
	char symbol[KSYM_SYMBOL_LEN];
	char *end;

	sprint_symbol(symbol, (unsigned long)importer->ops);
	end = strstr(symbol, "+0x0/");
	if (!end) {
		strscpy(importer->symbol, "unknown");
		return;
	}
	importer->umem = (strstarts(symbol, "ib_umem_dmabuf_attach_") && strstr(end, " [ib_")) ||
			 (strstarts(symbol, "mlx5_ib_dmabuf_attach_") && strstr(end, " [mlx5_ib]"));
	importer->ours = strstarts(symbol, DMABUF_IMPORTER_OPS_PREFIX) &&
			 strstr(end, " [dmabuf_importer]");
	*end = 0;
	strscpy(importer->symbol, symbol);
}

/* Its operations cannot go away: it is attached, and the reservation lock held. */
static const struct scope_importer *importer_of(struct scope_walk *walk,
						const struct dma_buf_attach_ops *ops)
{
	struct scope_importer *importer;
	unsigned int n;

	for (n = 0; n < walk->nr_importers; n++)
		if (walk->importers[n].ops == ops)
			return &walk->importers[n];
	/* With more of them than that, the last place is used over and over. */
	if (walk->nr_importers < SCOPE_IMPORTERS)
		walk->nr_importers++;
	importer = &walk->importers[walk->nr_importers - 1];
	*importer = (struct scope_importer){ .ops = ops };
	name_importer(importer);
	return importer;
}

/*
 * mlx5_ib keeps the MR in the umem's private pointer, and sets it to NULL under
 * the reservation lock, or detaches, before it frees the MR.
 */
static void read_mr(struct scope_walk *walk, struct scope_attach_record *r,
		    const struct ib_umem_dmabuf *umem)
{
	const struct mlx5_ib_mr *mr = READ_ONCE(umem->private);
	const struct scope_walked_device *device;
	u32 n;

	if (!mr || !scope_map_get(&walk->device_by_address, (unsigned long)umem->umem.ibdev, &n))
		return;
	device = scope_vector_at(&walk->devices, n);
	if (device->refused || device->driver != SCOPE_DRIVER_MLX5)
		return;
	r->mr = (unsigned long)&mr->ibmr;
	r->mr_tracked = mr->ibmr.res.valid;
	r->mrn = mr->ibmr.res.id;
	r->lkey = mr->ibmr.lkey;
}

/* No symbol of that module is needed; another build of it has another number. */
static void read_ours(struct scope_attach_record *r, const struct dmabuf_importer_priv *priv)
{
	if (!priv || priv->magic != DMABUF_IMPORTER_PRIV_MAGIC)
		return;
	r->ours = true;
	r->mapped = priv->mapped;
	r->pinned = priv->pinned;
}

static void read_attachment(struct scope_walk *walk, struct scope_attach_record *r,
			    const struct dma_buf_attachment *attachment)
{
	const struct scope_importer *importer;
	const struct ib_umem_dmabuf *umem;

	r->address = (unsigned long)attachment;
	strscpy(r->device, dev_name(attachment->dev));
	r->peer2peer = attachment->peer2peer;
	if (!attachment->importer_ops)
		return;
	r->invalidate = attachment->importer_ops->invalidate_mappings;
	importer = importer_of(walk, attachment->importer_ops);
	strscpy(r->importer, importer->symbol);
	if (importer->ours)
		read_ours(r, attachment->importer_priv);
	umem = attachment->importer_priv;
	if (!importer->umem || !umem)
		return;
	r->umem = true;
	strscpy(r->ibdev, umem->umem.ibdev->name);
	r->mapped = umem->sgt;
	r->pinned = umem->pinned;
	r->revoked = umem->revoked;
	r->offset = umem->umem.address;
	r->length = umem->umem.length;
	read_mr(walk, r, umem);
}

static bool lock_resv(struct scope_walk *walk, struct dma_buf *dmabuf)
{
	struct scope_patience patience = SCOPE_PATIENCE;

	while (!dma_resv_trylock(dmabuf->resv)) {
		if (!walk->patience || !scope_patience(&patience))
			return false;
		walk->patience--;
	}
	return true;
}

static void unlock_resv(struct dma_buf *dmabuf, u64 began)
{
	scope_hold_end(SCOPE_LOCK_RESV, began);
	dma_resv_unlock(dmabuf->resv);
}

/* @dmabuf has a reference; takes its reservation lock by trylock. */
static int read_attachments(struct scope_walk *walk, struct scope_walked *walked,
			    struct dma_buf *dmabuf)
{
	struct dma_buf_attachment *attachment;
	struct scope_attach_record *r;
	unsigned int count;
	u64 began;
	int err;

	for (;;) {
		/* Room for the one record that says that it was busy, at least. */
		err = scope_vector_reserve(&walk->attaches, 1);
		if (err)
			return err;
		if (!lock_resv(walk, dmabuf)) {
			r = scope_vector_push(&walk->attaches);
			r->ufile = walked->record.id;
			r->ino = file_inode(dmabuf->file)->i_ino;
			r->busy = true;
			return 0;
		}
		began = scope_hold_begin();
		count = list_count_nodes(&dmabuf->attachments);
		if (count <= scope_vector_room(&walk->attaches))
			break;
		unlock_resv(dmabuf, began);
		err = scope_vector_reserve(&walk->attaches, count + count / 8);
		if (err)
			return err;
	}
	list_for_each_entry(attachment, &dmabuf->attachments, node) {
		r = scope_vector_push(&walk->attaches);
		r->ufile = walked->record.id;
		r->ino = file_inode(dmabuf->file)->i_ino;
		read_attachment(walk, r, attachment);
	}
	unlock_resv(dmabuf, began);
	return 0;
}

static void read_dmabuf(struct scope_uobj_record *r, struct dma_buf *dmabuf)
{
	r->has |= SCOPE_HAS_DMABUF;
	r->ino = file_inode(dmabuf->file)->i_ino;
	/* Without ours. */
	r->file_ref = file_count(dmabuf->file) - 1;
	r->size = dmabuf->size;
}

/* The dma_buf of a uobject that is on the list; it may be gone, or another's by now. */
static int walk_listed(struct scope_walk *walk, struct scope_walked *walked,
		       struct scope_uobj_record *r)
{
	struct dma_buf *dmabuf = scope_registry_get_dmabuf(r->dmabuf);
	int err = 0;

	if (!dmabuf)
		return 0;
	if ((unsigned long)dmabuf->priv == r->address) {
		read_dmabuf(r, dmabuf);
		err = read_attachments(walk, walked, dmabuf);
	}
	dma_buf_put(dmabuf);
	return err;
}

/*
 * A dma_buf whose uobject was destroyed.  The uobject is there still: the dma_buf
 * has a reference to it until it is released.
 */
static int walk_unlisted(struct scope_walk *walk, struct scope_walked *walked,
			 struct ib_uverbs_file *ufile, unsigned long address)
{
	struct ib_uverbs_dmabuf_file *priv;
	struct scope_uobj_record *r;
	struct dma_buf *dmabuf;
	int err;

	err = scope_vector_reserve(&walk->uobjs, 1);
	if (err)
		return err;
	dmabuf = scope_registry_get_dmabuf(address);
	if (!dmabuf)
		return 0;
	priv = dmabuf->priv;
	if (priv && priv->uobj.ufile == ufile) {
		r = scope_vector_push(&walk->uobjs);
		r->ufile = walked->record.id;
		r->driver = walked->known.driver;
		scope_fill_uobj(r, &priv->uobj, true);
		scope_dmabuf_read(r, &priv->uobj);
		read_dmabuf(r, dmabuf);
		err = read_attachments(walk, walked, dmabuf);
	}
	dma_buf_put(dmabuf);
	return err;
}

/**
 * scope_walk_dmabufs - read the dma-bufs of a ufile
 * @walk: the walk
 * @walked: the ufile's records; those of its uobjects have been made
 * @ufile: the ufile, with a reference
 *
 * Giving back the last reference to a dma_buf, or to its file, releases it here;
 * for a file that is when the reader returns from the kernel.
 *
 * Context: may sleep.  Takes dma_buf.resv by trylock.
 * Return: 0 or -ENOMEM
 */
int scope_walk_dmabufs(struct scope_walk *walk, struct scope_walked *walked,
		       struct ib_uverbs_file *ufile)
{
	const struct scope_known_dmabuf *known;
	struct scope_uobj_record *r;
	u32 n, end = walk->uobjs.nr;
	int err = 0;

	for (n = walked->uobjs; n < end && !err; n++) {
		r = scope_vector_at(&walk->uobjs, n);
		if (r->is_fd && r->dmabuf)
			err = walk_listed(walk, walked, r);
		if (!(n % SCOPE_BATCH))
			cond_resched();
	}
	for (n = walked->dmabuf; n && !err; n = known->next) {
		u32 listed;

		known = scope_vector_at(&walk->dmabufs, n - 1);
		if (!scope_map_get(&walk->uobj_by_dmabuf, known->address, &listed))
			err = walk_unlisted(walk, walked, ufile, known->address);
		cond_resched();
	}
	return err;
}
