/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Everything that differs between the kernels that this module builds for.
 * IMPORTER_* come from Kbuild, which looks into the kernel's headers.
 */
#ifndef IMPORTER_COMPAT_H
#define IMPORTER_COMPAT_H

#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#ifndef kzalloc_obj
#define kzalloc_obj(what)	kzalloc(sizeof(what), GFP_KERNEL)
#endif

#ifdef IMPORTER_NAMESPACE_IS_NO_STRING
#define IMPORTER_IMPORT_NS()	MODULE_IMPORT_NS(DMA_BUF)
#else
#define IMPORTER_IMPORT_NS()	MODULE_IMPORT_NS("DMA_BUF")
#endif

/*
 * The callback and the function that calls it were named after moving until
 * revocation came, and an importer with operations had to have it.
 */
#ifdef IMPORTER_HAVE_INVALIDATE_MAPPINGS
#define IMPORTER_CALLBACK		invalidate_mappings
#define importer_invalidate_mappings	dma_buf_invalidate_mappings
static inline bool importer_callback_is_optional(void)
{
	return true;
}
#else
#define IMPORTER_CALLBACK		move_notify
#define importer_invalidate_mappings	dma_buf_move_notify
static inline bool importer_callback_is_optional(void)
{
	return false;
}
#endif

/*
 * Whether the buffer of a mapping can move: before revocation came that was an experiment,
 * without which dma-buf pins whatever is mapped.
 */
#if defined(IMPORTER_HAVE_INVALIDATE_MAPPINGS) || IS_ENABLED(CONFIG_DMABUF_MOVE_NOTIFY)
#define IMPORTER_MOVES	true
#else
#define IMPORTER_MOVES	false
#endif

/*
 * A fence that was signalled has done with its operations and with this module,
 * if it brings its own lock.  Without such fences each one keeps the module.
 */
#ifdef IMPORTER_HAVE_INLINE_FENCE_LOCK
#define IMPORTER_FENCE_RELEASE	NULL

static inline void importer_fences_leave(void)
{
}

static inline struct dma_fence *importer_fence_new(const struct dma_fence_ops *ops, u64 context,
						   u64 seqno)
{
	struct dma_fence *fence = kzalloc_obj(*fence);

	if (fence)
		dma_fence_init(fence, ops, NULL, context, seqno);
	return fence;
}
#else
struct importer_locked_fence {
	struct dma_fence	base;
	spinlock_t		lock;	/* of base alone */
};

/* Still in the module when the module can go: importer_fences_leave() waits for its end. */
static inline void importer_fence_release(struct dma_fence *fence)
{
	dma_fence_free(fence);
	module_put(THIS_MODULE);
}

/**
 * importer_fences_leave - wait until nobody is in importer_fence_release() any more
 *
 * A task may have been preempted there, behind the call that let the module go, where no
 * lock and no RCU section keeps it.  It does not sleep there of its own will: that, or
 * that it is in user space, is what is waited for of all tasks; and of interrupts, that
 * they end.  A preemptible kernel without function tracing, kprobes and BPF cannot wait
 * for it, and there a moment is left.
 *
 * Context: process context, may sleep; no fence is left.
 */
static inline void importer_fences_leave(void)
{
	synchronize_rcu_tasks();
}

#define IMPORTER_FENCE_RELEASE	importer_fence_release

static inline struct dma_fence *importer_fence_new(const struct dma_fence_ops *ops, u64 context,
						   u64 seqno)
{
	struct importer_locked_fence *fence = kzalloc_obj(*fence);

	if (!fence)
		return NULL;
	__module_get(THIS_MODULE);
	spin_lock_init(&fence->lock);
	dma_fence_init(&fence->base, ops, &fence->lock, context, seqno);
	return &fence->base;
}
#endif

#endif /* IMPORTER_COMPAT_H */
