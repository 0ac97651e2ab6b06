/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An importer context: one open file of /dev/dmabuf_importer.
 *
 * Locks, in this order:
 *
 *	exporter.alive			mutex
 *	 dma_buf.resv			of any dma-buf, one at a time
 *	  importer.lock			spinlock, innermost
 *
 * The xarrays' own locks are taken with at most the reservation lock held, and
 * nothing but a reference is taken below them.  A callback is called with the
 * reservation lock held by the exporter, and may wait there: so whatever ends
 * such a wait (RESUME, SIGNAL, QUERY, EXPORT_RESUME, read(), poll()) takes no
 * reservation lock, and all commands that do, but ATTACH and DETACH, can be
 * interrupted.
 *
 * Nothing is held back for longer than max_hold_ms, so that no order of commands,
 * and no death of a process, leaves others waiting for ever.
 */
#ifndef IMPORTER_H
#define IMPORTER_H

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "attachment.h"
#include "compat.h"
#include "dmabuf_importer.h"

/** define IMPORTER_MAX_EXPORT - bytes of the largest buffer of our own */
#define IMPORTER_MAX_EXPORT	(16UL << 20)

/** define IMPORTER_IDS - numbers of attachments, fences and exports */
#define IMPORTER_IDS		XA_LIMIT(1, 0xffffff)

/**
 * struct importer - a context
 * @kref: of the open file, of each attachment and of each export
 * @attachments: struct importer_attachment by id; each entry is a reference
 * @fences: struct importer_fence by id
 * @exports: struct exporter by id; each entry is a reference
 * @next_attachment: where to look for a free id, so that none comes back soon
 * @next_fence: the same
 * @next_export: the same
 * @lock: protects all below, and what is said to be under it elsewhere
 * @wait: who waits for events
 * @seq: events so far
 * @first: number of the oldest event that is kept and was not read, less 1
 * @events: the last of them, by number
 */
struct importer {
	struct kref			kref;
	struct xarray			attachments;
	struct xarray			fences;
	struct xarray			exports;
	u32				next_attachment;
	u32				next_fence;
	u32				next_export;
	spinlock_t			lock;	/* innermost of all */
	wait_queue_head_t		wait;
	u64				seq;
	u64				first;
	struct dmabuf_importer_event	events[DMABUF_IMPORTER_EVENTS];
};

/**
 * struct importer_attachment - an attachment
 * @priv: what others may read of it; changes under the reservation lock and
 *	importer.lock.  First, since dma_buf_attachment.importer_priv leads here
 * @kref: of importer.attachments, and of who is looking at it
 * @importer: its context, with a reference
 * @id: of it
 * @flags: enum dmabuf_importer_attach_flags
 * @pdev: importing device, with a reference
 * @dmabuf: the dma-buf, with a reference
 * @attach: what dma_buf_dynamic_attach() made; valid until @gone
 * @gone: it is being detached; under the reservation lock
 * @sgt: the mapping or NULL; under the reservation lock
 * @direction: of the mapping
 * @limit: takes a mapping back when its time is over
 * @limit_at: when that is, in jiffies, while there is one; under the reservation lock
 * @resume: where a stalled callback waits
 * @policy: enum dmabuf_importer_policy; under importer.lock, as all below
 * @owed: an invalidation has found a mapping that is there still
 * @stall_ms: the next call of the callback waits that long, 0 for not at all
 * @stalled: the callback is waiting
 * @query: the counts
 */
struct importer_attachment {
	struct dmabuf_importer_priv	priv;
	struct kref			kref;
	struct importer			*importer;
	u32				id;
	u32				flags;
	struct pci_dev			*pdev;
	struct dma_buf			*dmabuf;
	struct dma_buf_attachment	*attach;
	bool				gone;
	struct sg_table			*sgt;
	enum dma_data_direction		direction;
	struct delayed_work		limit;
	unsigned long			limit_at;
	wait_queue_head_t		resume;
	u32				policy;
	bool				owed;
	u32				stall_ms;
	bool				stalled;
	struct dmabuf_importer_query	query;
};

/* main.c */
extern struct workqueue_struct *importer_wq;
extern unsigned int importer_max_hold_ms;

bool importer_limit(u32 *limit_ms);
struct importer *importer_new(void);
void importer_put(struct importer *importer);

/* event.c */
struct dmabuf_importer_event importer_event(struct importer *importer, u32 type, u32 id,
					    u32 state);
bool importer_take_event(struct importer *importer, struct dmabuf_importer_event *event);
ssize_t importer_read_events(struct file *file, char __user *to, size_t count, loff_t *pos);
__poll_t importer_poll(struct file *file, poll_table *table);

/* attach.c */
struct importer_attachment *importer_attachment_get(struct importer *importer, u32 id);
void importer_attachment_put(struct importer_attachment *a);
struct importer_attachment *importer_attachment_lock(struct importer *importer, u32 id);
void importer_attachment_unlock(struct importer_attachment *a);
int importer_attach(struct importer *importer, void *arg);
int importer_detach(struct importer *importer, void *arg);
void importer_detach_all(struct importer *importer);

/* map.c */
void importer_unmap_locked(struct importer_attachment *a, bool by_limit);
void importer_unpin_locked(struct importer_attachment *a);
void importer_limit_work(struct work_struct *work);
int importer_map(struct importer *importer, void *arg);
int importer_unmap(struct importer *importer, void *arg);
int importer_entries(struct importer *importer, void *arg);
int importer_read(struct importer *importer, void *arg);
int importer_pin(struct importer *importer, void *arg);
int importer_unpin(struct importer *importer, void *arg);

/* invalidate.c */
void importer_invalidated(struct dma_buf_attachment *attach);
u32 importer_state(const struct importer_attachment *a);
int importer_query(struct importer *importer, void *arg);
int importer_set_policy(struct importer *importer, void *arg);
int importer_release(struct importer *importer, void *arg);
int importer_stall(struct importer *importer, void *arg);
int importer_resume(struct importer *importer, void *arg);
void importer_resume_all(struct importer *importer);

/* fence.c */
int importer_hold_fence(struct importer *importer, void *arg);
int importer_signal(struct importer *importer, void *arg);
void importer_signal_all(struct importer *importer);
u32 importer_fences_of(struct importer *importer, u32 id);

/* exporter.c */
bool importer_export_is_good(struct dmabuf_importer_export *export);
int importer_export(struct importer *importer, void *arg);
int importer_invalidate(struct importer *importer, void *arg);
int importer_export_query(struct importer *importer, void *arg);
int importer_export_resume(struct importer *importer, void *arg);
void importer_forget_exports(struct importer *importer);

#endif /* IMPORTER_H */
