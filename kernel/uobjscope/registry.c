// SPDX-License-Identifier: GPL-2.0
/*
 * The registry: every ib_uverbs_file and every uverbs dma_buf that is alive.
 *
 * events.c tells it of both ends of their lives, before the memory of either
 * goes away.  So whoever finds an entry under registry_lock finds the object
 * allocated, and may take a reference unless the count is 0 already.  No
 * reference is held for being in the registry.
 *
 * What is counted of a dma_buf are the references to its file, and the file may go
 * before the dma_buf does: then the entry is closed, and only gives out the ufile.
 *
 * Where there are no probes, entries for ufiles only give out ids and are never
 * followed, see roots.c.
 *
 * Addresses are kept inverted: kmemleak must not find an object that nobody else
 * refers to here and think it well.
 */
#include <linux/atomic.h>
#include <linux/dma-buf.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/xarray.h>
#include <rdma/uverbs_types.h>

#include "compat.h"
#include "registry.h"

#define REGISTRY_BITS	12

/**
 * struct registry_entry - of either kind
 * @hash: in the table by address
 * @inverted: address
 * @known: of a ufile.  Of a dma_buf only the id
 * @ufile: of a dma_buf: id of its ufile
 * @closed: of a dma_buf: its file is about to be freed
 */
struct registry_entry {
	struct hlist_node	hash;
	unsigned long		inverted;
	struct scope_registered	known;
	u64			ufile;
	bool			closed;
};

/**
 * struct registry_table - entries of one kind
 * @by_id: for walking in order
 * @by_address: for finding
 * @nr: entries
 * @last_id: given out
 */
struct registry_table {
	struct xarray		by_id;
	DECLARE_HASHTABLE(by_address, REGISTRY_BITS);
	u64			nr;
	u64			last_id;
};

static struct registry_table ufiles = {
	.by_id = XARRAY_INIT(ufiles.by_id, 0),
};

static struct registry_table dmabufs = {
	.by_id = XARRAY_INIT(dmabufs.by_id, 0),
};

/* Innermost of all: protects both tables.  Taken from probes, so with interrupts off. */
static DEFINE_SPINLOCK(registry_lock);
static u64 dropped;
static atomic64_t seq;

static struct registry_entry *find(struct registry_table *table, const void *object)
{
	unsigned long inverted = ~(unsigned long)object;
	struct registry_entry *entry;

	hash_for_each_possible(table->by_address, entry, hash, inverted)
		if (entry->inverted == inverted)
			return entry;
	return NULL;
}

static struct registry_entry *find_id(struct registry_table *table, u64 id)
{
	return xa_load(&table->by_id, id);
}

/* Only the memory can be missing, and then it is counted. */
static struct registry_entry *add(struct registry_table *table, const void *object)
{
	struct registry_entry *entry = kzalloc_obj(*entry, GFP_ATOMIC | __GFP_NOWARN);

	if (!entry)
		goto no_memory;
	entry->inverted = ~(unsigned long)object;
	entry->known.id = ++table->last_id;
	if (xa_is_err(xa_store(&table->by_id, entry->known.id, entry,
			       GFP_ATOMIC | __GFP_NOWARN)))
		goto no_memory;
	hash_add(table->by_address, &entry->hash, entry->inverted);
	table->nr++;
	return entry;

no_memory:
	kfree(entry);
	dropped++;
	return NULL;
}

static void remove(struct registry_table *table, struct registry_entry *entry)
{
	hash_del(&entry->hash);
	xa_erase(&table->by_id, entry->known.id);
	table->nr--;
	kfree(entry);
}

/**
 * scope_registry_add_ufile - a ufile is there
 * @ufile: alive; it may be known already
 * @opener: the current task has just opened it
 *
 * Context: any but non-maskable interrupts; takes registry_lock.
 * Return: its id, 0 if there was no memory
 */
u64 scope_registry_add_ufile(struct ib_uverbs_file *ufile, bool opener)
{
	struct registry_entry *entry;
	unsigned long flags;
	u64 id = 0;

	spin_lock_irqsave(&registry_lock, flags);
	entry = find(&ufiles, ufile);
	if (!entry)
		entry = add(&ufiles, ufile);
	if (entry) {
		id = entry->known.id;
		if (opener) {
			entry->known.pid = current->tgid;
			strscpy(entry->known.comm, current->comm);
		}
	}
	spin_unlock_irqrestore(&registry_lock, flags);
	return id;
}

/**
 * scope_registry_remove_ufile - a ufile is about to be freed
 * @ufile: known or not
 *
 * Context: any but non-maskable interrupts; takes registry_lock.
 */
void scope_registry_remove_ufile(struct ib_uverbs_file *ufile)
{
	struct registry_entry *entry;
	unsigned long flags;

	spin_lock_irqsave(&registry_lock, flags);
	entry = find(&ufiles, ufile);
	if (entry)
		remove(&ufiles, entry);
	spin_unlock_irqrestore(&registry_lock, flags);
}

/**
 * scope_registry_ufile_id - id of a ufile
 * @ufile: any address
 *
 * Return: the id, 0 if it is not known
 */
u64 scope_registry_ufile_id(const struct ib_uverbs_file *ufile)
{
	struct registry_entry *entry;
	unsigned long flags;
	u64 id;

	spin_lock_irqsave(&registry_lock, flags);
	entry = find(&ufiles, ufile);
	id = entry ? entry->known.id : 0;
	spin_unlock_irqrestore(&registry_lock, flags);
	return id;
}

/**
 * scope_registry_next_ufile - walk the ufiles in the order of their ids
 * @after: the last id seen, 0 at first
 * @copy: what is known of the next one
 *
 * Return: whether there is one
 */
bool scope_registry_next_ufile(u64 after, struct scope_registered *copy)
{
	struct registry_entry *entry;
	unsigned long index = after;
	unsigned long flags;

	spin_lock_irqsave(&registry_lock, flags);
	entry = xa_find_after(&ufiles.by_id, &index, ULONG_MAX, XA_PRESENT);
	if (entry)
		*copy = entry->known;
	spin_unlock_irqrestore(&registry_lock, flags);
	return entry;
}

/**
 * scope_registry_read_ufile - what is known of a ufile
 * @id: of it
 * @copy: where to put it
 *
 * Return: whether it is still there
 */
bool scope_registry_read_ufile(u64 id, struct scope_registered *copy)
{
	struct registry_entry *entry;
	unsigned long flags;

	spin_lock_irqsave(&registry_lock, flags);
	entry = find_id(&ufiles, id);
	if (entry)
		*copy = entry->known;
	spin_unlock_irqrestore(&registry_lock, flags);
	return entry;
}

/**
 * scope_registry_get_ufile - get hold of a ufile
 * @id: of it
 *
 * Only where probes feed the registry.
 *
 * Return: the ufile with a reference to be given back by kref_put() with
 * ib_uverbs_release_file(), or NULL if it is gone
 */
struct ib_uverbs_file *scope_registry_get_ufile(u64 id)
{
	struct ib_uverbs_file *ufile = NULL;
	struct registry_entry *entry;
	unsigned long flags;

	spin_lock_irqsave(&registry_lock, flags);
	entry = find_id(&ufiles, id);
	if (entry) {
		ufile = (struct ib_uverbs_file *)~entry->inverted;
		if (!kref_get_unless_zero(&ufile->ref))
			ufile = NULL;
	}
	spin_unlock_irqrestore(&registry_lock, flags);
	return ufile;
}

/**
 * scope_registry_set_driver - remember whose objects a ufile's are
 * @id: of the ufile
 * @driver: enum scope_driver
 */
void scope_registry_set_driver(u64 id, u8 driver)
{
	struct registry_entry *entry;
	unsigned long flags;

	spin_lock_irqsave(&registry_lock, flags);
	entry = find_id(&ufiles, id);
	if (entry)
		entry->known.driver = driver;
	spin_unlock_irqrestore(&registry_lock, flags);
}

/**
 * scope_registry_note_end - a ufile's file is closed, or its device removed
 * @ufile: known or not
 * @closed: closed, else disassociated
 */
void scope_registry_note_end(const struct ib_uverbs_file *ufile, bool closed)
{
	struct registry_entry *entry;
	unsigned long flags;

	spin_lock_irqsave(&registry_lock, flags);
	entry = find(&ufiles, ufile);
	if (entry) {
		struct scope_registered *known = &entry->known;

		if (!known->closed && !known->disassociated) {
			known->closed = closed;
			known->disassociated = !closed;
		}
		known->released |= closed;
	}
	spin_unlock_irqrestore(&registry_lock, flags);
}

/**
 * scope_registry_keep_ufiles - forget the others
 * @keep: is this one to stay?  Called with registry_lock held
 * @arg: for @keep
 */
void scope_registry_keep_ufiles(bool (*keep)(u64 id, void *arg), void *arg)
{
	struct registry_entry *entry;
	unsigned long flags, id;

	spin_lock_irqsave(&registry_lock, flags);
	xa_for_each(&ufiles.by_id, id, entry)
		if (!keep(id, arg))
			remove(&ufiles, entry);
	spin_unlock_irqrestore(&registry_lock, flags);
}

/**
 * scope_registry_add_dmabuf - a dma_buf of a DMABUF uobject is there
 * @dmabuf: alive; it may be known already
 * @ufile: of the uobject
 *
 * Context: any but non-maskable interrupts; takes registry_lock.
 */
void scope_registry_add_dmabuf(struct dma_buf *dmabuf, const struct ib_uverbs_file *ufile)
{
	struct registry_entry *entry, *owner;
	unsigned long flags;

	spin_lock_irqsave(&registry_lock, flags);
	owner = find(&ufiles, ufile);
	if (!find(&dmabufs, dmabuf)) {
		entry = add(&dmabufs, dmabuf);
		if (entry && owner)
			entry->ufile = owner->known.id;
	}
	spin_unlock_irqrestore(&registry_lock, flags);
}

/**
 * scope_registry_close_dmabuf - the file of a dma_buf is about to be freed
 * @dmabuf: any address
 *
 * Who has got hold of it by scope_registry_get_dmabuf() keeps the file, so there is
 * nobody.
 *
 * Context: any but non-maskable interrupts; takes registry_lock.
 * Return: id of its ufile, 0 if it is not a known one of uverbs
 */
u64 scope_registry_close_dmabuf(const struct dma_buf *dmabuf)
{
	struct registry_entry *entry;
	unsigned long flags;
	u64 ufile = 0;

	spin_lock_irqsave(&registry_lock, flags);
	entry = find(&dmabufs, dmabuf);
	if (entry) {
		entry->closed = true;
		ufile = entry->ufile;
	}
	spin_unlock_irqrestore(&registry_lock, flags);
	return ufile;
}

/**
 * scope_registry_remove_dmabuf - a dma_buf is about to be freed
 * @dmabuf: known or not
 *
 * Context: any but non-maskable interrupts; takes registry_lock.
 */
void scope_registry_remove_dmabuf(struct dma_buf *dmabuf)
{
	struct registry_entry *entry;
	unsigned long flags;

	spin_lock_irqsave(&registry_lock, flags);
	entry = find(&dmabufs, dmabuf);
	if (entry)
		remove(&dmabufs, entry);
	spin_unlock_irqrestore(&registry_lock, flags);
}

/**
 * scope_registry_next_dmabuf - walk the dma_bufs in the order of their ids
 * @after: the last id seen, 0 at first
 * @id: of the next one
 * @ufile: id of its ufile, 0 if not known
 * @address: of it, for scope_registry_get_dmabuf()
 *
 * Return: whether there is one
 */
bool scope_registry_next_dmabuf(u64 after, u64 *id, u64 *ufile, unsigned long *address)
{
	struct registry_entry *entry;
	unsigned long index = after;
	unsigned long flags;

	spin_lock_irqsave(&registry_lock, flags);
	entry = xa_find_after(&dmabufs.by_id, &index, ULONG_MAX, XA_PRESENT);
	if (entry) {
		*id = entry->known.id;
		*ufile = entry->ufile;
		*address = ~entry->inverted;
	}
	spin_unlock_irqrestore(&registry_lock, flags);
	return entry;
}

/**
 * scope_registry_dmabuf_ufile - whose a dma_buf is
 * @dmabuf: any address
 *
 * Return: id of its ufile, 0 if it is not a known one of uverbs
 */
u64 scope_registry_dmabuf_ufile(const struct dma_buf *dmabuf)
{
	struct registry_entry *entry;
	unsigned long flags;
	u64 ufile;

	spin_lock_irqsave(&registry_lock, flags);
	entry = find(&dmabufs, dmabuf);
	ufile = entry ? entry->ufile : 0;
	spin_unlock_irqrestore(&registry_lock, flags);
	return ufile;
}

/**
 * scope_registry_get_dmabuf - get hold of a dma_buf
 * @address: that it may have
 *
 * A DMABUF uobject can outlive its dma_buf, so its pointer must not be followed.
 * Only where probes feed the registry.
 *
 * Return: the dma_buf with a reference to be given back by dma_buf_put(), or
 * NULL if none that is alive, and whose file is, has this address
 */
struct dma_buf *scope_registry_get_dmabuf(unsigned long address)
{
	struct dma_buf *dmabuf = NULL;
	struct registry_entry *entry;
	unsigned long flags;

	spin_lock_irqsave(&registry_lock, flags);
	entry = find(&dmabufs, (void *)address);
	if (entry && !entry->closed) {
		dmabuf = (struct dma_buf *)address;
		if (!scope_get_file(dmabuf->file))
			dmabuf = NULL;
	}
	spin_unlock_irqrestore(&registry_lock, flags);
	return dmabuf;
}

/**
 * scope_registry_event_at - something happens to a ufile
 * @ufile: known or not
 *
 * Context: any but non-maskable interrupts; takes registry_lock.
 * Return: its id, for the event's end, 0 if it is not known
 */
u64 scope_registry_event_at(const struct ib_uverbs_file *ufile)
{
	struct registry_entry *entry;
	unsigned long flags;
	u64 id = 0;

	atomic64_inc(&seq);
	spin_lock_irqsave(&registry_lock, flags);
	entry = find(&ufiles, ufile);
	if (entry) {
		entry->known.events++;
		id = entry->known.id;
	}
	spin_unlock_irqrestore(&registry_lock, flags);
	return id;
}

/**
 * scope_registry_event - something happens to a ufile that may be gone by now
 * @id: of it; 0 is nobody's
 *
 * Context: any but non-maskable interrupts; takes registry_lock.
 */
void scope_registry_event(u64 id)
{
	struct registry_entry *entry;
	unsigned long flags;

	atomic64_inc(&seq);
	if (!id)
		return;
	spin_lock_irqsave(&registry_lock, flags);
	entry = find_id(&ufiles, id);
	if (entry)
		entry->known.events++;
	spin_unlock_irqrestore(&registry_lock, flags);
}

/**
 * scope_registry_seq - events so far
 *
 * Return: their number since the module was loaded
 */
u64 scope_registry_seq(void)
{
	return atomic64_read(&seq);
}

/**
 * scope_registry_count - for the file info
 * @counts: where to put them
 */
void scope_registry_count(struct scope_registry_counts *counts)
{
	unsigned long flags;

	spin_lock_irqsave(&registry_lock, flags);
	counts->ufiles = ufiles.nr;
	counts->dmabufs = dmabufs.nr;
	counts->dropped = dropped;
	spin_unlock_irqrestore(&registry_lock, flags);
}

static void clear(struct registry_table *table)
{
	struct registry_entry *entry;
	unsigned long id;

	xa_for_each(&table->by_id, id, entry)
		remove(table, entry);
	xa_destroy(&table->by_id);
}

/**
 * scope_registry_clear - forget everything
 *
 * Context: nobody uses the registry any more.
 */
void scope_registry_clear(void)
{
	clear(&dmabufs);
	clear(&ufiles);
}
