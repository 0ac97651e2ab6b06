// SPDX-License-Identifier: GPL-2.0
/*
 * The functions that feed the lifetime events.
 *
 * An event of a birth comes when nobody else can see the object yet, one of a death
 * before its memory can be used again: so the events of an object are in order.  Not so
 * where the end of the function alone tells what was made: a mmap entry can be looked up,
 * and an attachment be told of a revocation, just before the event says that it is there.
 *
 * Handlers run in the context of the probed function, before it or after it, with
 * preemption off.  Where nobody listens to an event they do nothing.  Private structures
 * are looked into only if the layout guard has refused no device.
 */
#include <linux/dma-buf.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#include "core_priv.h"
#include "uverbs.h"

#include "dmabuf.h"
#include "dying.h"
#include "lifetime_probe.h"
#include "record.h"
#include "registry.h"
#include "roots.h"
#include "snapshot.h"
#include "var_region.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static u64 token_of(const void *address)
{
	return address ? scope_token((unsigned long)address) : 0;
}

/* Of one with a context, that is, not destroyed yet. */
static struct scope_event_uobject uobject_of(const struct ib_uobject *uobj)
{
	const struct uverbs_api_object *object = uobj->uapi_object;
	const struct ib_ucontext *ucontext = uobj->context;

	return (struct scope_event_uobject) {
		.ufile	 = scope_registry_ufile_id(uobj->ufile),
		.token	 = token_of(uobj),
		.object	 = token_of(uobj->object),
		.type_id = object->id,
		.handle	 = object->type_class == &uverbs_fd_class ? -1 : (s32)uobj->id,
		.driver	 = ucontext && ucontext->device->ops.driver_id == RDMA_DRIVER_MLX5 ?
			   SCOPE_DRIVER_MLX5 : SCOPE_DRIVER_OTHER,
	};
}

/* struct ib_uobject *rdma_alloc_begin_uobject(const struct uverbs_api_object *obj, ...) */
static bool alloc_begin(struct scope_regs *regs, struct scope_call *call)
{
	return trace_uobject_alloc_enabled();
}

static void alloc_end(unsigned long returned, const struct scope_call *call)
{
	struct scope_event_uobject uobject;

	if (IS_ERR_OR_NULL((void *)returned))
		return;
	uobject = uobject_of((struct ib_uobject *)returned);
	trace_uobject_alloc(&uobject);
}

static void dmabuf_commit(const struct dma_buf *dmabuf, const struct scope_event_uobject *uobject)
{
	struct scope_event_dmabuf event = {
		.ufile	= uobject->ufile,
		.token	= token_of(dmabuf),
		.device	= "-",
	};

	trace_dmabuf_export(&event, uobject->token, file_inode(dmabuf->file)->i_ino, dmabuf->size);
}

/* void alloc_commit_idr_uobject(struct ib_uobject *uobj), alloc_commit_fd_uobject() alike */
static bool commit_begin(struct scope_regs *regs, struct scope_call *call)
{
	const struct ib_uobject *uobj = scope_probe_argument(regs, 0);
	struct scope_event_uobject uobject;
	const struct dma_buf *dmabuf;

	if (!trace_uobject_commit_enabled() && !trace_dmabuf_export_enabled())
		return false;
	uobject = uobject_of(uobj);
	trace_uobject_commit(&uobject);
	dmabuf = trace_dmabuf_export_enabled() ? scope_dmabuf_of(uobj) : NULL;
	if (dmabuf)
		dmabuf_commit(dmabuf, &uobject);
	return false;
}

/*
 * int uverbs_destroy_uobject(struct ib_uobject *uobj, enum rdma_remove_reason reason, ...)
 *
 * At its end the uobject may be gone.
 *
 * It is called again for what is destroyed already: for a uobject that has a handle or a
 * file yet when its ufile is cleaned up, by the command or the close that comes later.  All
 * others have a context, from the time on that they are allocated.
 */
static bool destroy_begin(struct scope_regs *regs, struct scope_call *call)
{
	const struct ib_uobject *uobj = scope_probe_argument(regs, 0);

	if (!trace_uobject_destroy_enabled() && !trace_uobject_destroyed_enabled() &&
	    !trace_uobject_free_enabled())
		return false;
	if (!READ_ONCE(uobj->context))
		return false;
	call->uobject = uobject_of(uobj);
	call->number = (unsigned long)scope_probe_argument(regs, 1);
	trace_uobject_destroy(&call->uobject, call->number);
	if (trace_uobject_free_enabled())
		scope_dying_uobject(uobj, &call->uobject);
	return trace_uobject_destroyed_enabled();
}

static void destroy_end(unsigned long returned, const struct scope_call *call)
{
	trace_uobject_destroyed(&call->uobject, call->number, (int)returned);
}

/*
 * void kvfree_call_rcu(struct rcu_head *head, void *ptr)
 *
 * What uverbs_uobject_put() ends with, and all its copies in its callers.
 */
static bool free_begin(struct scope_regs *regs, struct scope_call *call)
{
	struct scope_event_uobject uobject;

	/* Taken in any case: the memory may be another uobject's when the event is on again. */
	if (scope_dying_take_uobject(scope_probe_argument(regs, 1), &uobject))
		trace_uobject_free(&uobject);
	return false;
}

/*
 * void setup_ufile_idr_uobject(struct ib_uverbs_file *ufile)
 *
 * The registry's probe of the same function may come later, and finds it known then.
 */
static bool open_begin(struct scope_regs *regs, struct scope_call *call)
{
	if (trace_ufile_open_enabled())
		trace_ufile_open(scope_registry_add_ufile(scope_probe_argument(regs, 0), true));
	return false;
}

/* void uverbs_destroy_ufile_hw(struct ib_uverbs_file *ufile, enum rdma_remove_reason reason) */
static bool cleanup_begin(struct scope_regs *regs, struct scope_call *call)
{
	if (!trace_ufile_cleanup_enabled() && !trace_ufile_cleaned_enabled())
		return false;
	call->uobject.ufile = scope_registry_ufile_id(scope_probe_argument(regs, 0));
	trace_ufile_cleanup(call->uobject.ufile, (unsigned long)scope_probe_argument(regs, 1));
	return trace_ufile_cleaned_enabled();
}

static void cleanup_end(unsigned long returned, const struct scope_call *call)
{
	trace_ufile_cleaned(call->uobject.ufile);
}

/**
 * scope_lifetime_ufile_release - a ufile is about to be freed
 * @ufile: in the registry yet
 *
 * Context: any but non-maskable interrupts; ib_uverbs_release_file() begins.
 */
void scope_lifetime_ufile_release(const struct ib_uverbs_file *ufile)
{
	if (trace_ufile_release_enabled() && scope_lifetime_is_on())
		trace_ufile_release(scope_registry_ufile_id(ufile));
}

static struct scope_event_entry entry_of(struct rdma_user_mmap_entry *entry)
{
	return (struct scope_event_entry) {
		.ufile	= scope_registry_ufile_id(entry->ucontext->ufile),
		.token	= token_of(entry),
		.pgoff	= entry->start_pgoff,
		.npages	= entry->npages,
		.ref	= kref_read(&entry->ref),
	};
}

/* int rdma_user_mmap_entry_insert_range(ucontext, struct rdma_user_mmap_entry *entry, ...) */
static bool insert_begin(struct scope_regs *regs, struct scope_call *call)
{
	call->number = (unsigned long)scope_probe_argument(regs, 1);
	return trace_mmap_entry_insert_enabled();
}

static void insert_end(unsigned long returned, const struct scope_call *call)
{
	struct scope_event_entry event;

	if ((int)returned)
		return;
	event = entry_of((struct rdma_user_mmap_entry *)call->number);
	trace_mmap_entry_insert(&event);
}

/* struct rdma_user_mmap_entry *rdma_user_mmap_entry_get_pgoff(...) */
static bool get_begin(struct scope_regs *regs, struct scope_call *call)
{
	return trace_mmap_entry_get_enabled();
}

static void get_end(unsigned long returned, const struct scope_call *call)
{
	struct scope_event_entry event;

	if (!returned)
		return;
	event = entry_of((struct rdma_user_mmap_entry *)returned);
	trace_mmap_entry_get(&event);
}

/* void rdma_user_mmap_entry_put(struct rdma_user_mmap_entry *entry) */
static bool put_begin(struct scope_regs *regs, struct scope_call *call)
{
	struct scope_event_entry event;

	if (!trace_mmap_entry_put_enabled())
		return false;
	event = entry_of(scope_probe_argument(regs, 0));
	trace_mmap_entry_put(&event);
	return false;
}

/*
 * void rdma_user_mmap_entry_remove(struct rdma_user_mmap_entry *entry)
 *
 * Revokes the entry's dma-bufs, and has waited for their mappings when it ends.
 */
static bool remove_begin(struct scope_regs *regs, struct scope_call *call)
{
	struct rdma_user_mmap_entry *entry = scope_probe_argument(regs, 0);
	struct scope_event_entry event;

	if (entry && trace_mmap_entry_remove_enabled()) {
		event = entry_of(entry);
		trace_mmap_entry_remove(&event);
	}
	return trace_dmabuf_drained_enabled();
}

static void drained_end(unsigned long returned, const struct scope_call *call)
{
	struct scope_event_dmabuf dmabuf;

	while (scope_dying_take_dmabuf(&dmabuf))
		trace_dmabuf_drained(&dmabuf);
}

/* void rdma_user_mmap_entry_free(struct kref *kref) */
static bool entry_free_begin(struct scope_regs *regs, struct scope_call *call)
{
	struct kref *kref = scope_probe_argument(regs, 0);
	struct scope_event_entry event;

	if (!trace_mmap_entry_free_enabled())
		return false;
	event = entry_of(container_of(kref, struct rdma_user_mmap_entry, ref));
	trace_mmap_entry_free(&event);
	return false;
}

/* Of a mapping that is open, and has not lost it. */
static const void *entry_behind(const struct vm_area_struct *vma)
{
	const struct rdma_umap_priv *priv = vma->vm_private_data;

	return priv && !scope_roots_refused() ? priv->entry : NULL;
}

static struct scope_event_vma vma_of(const struct vm_area_struct *vma, const void *entry)
{
	return (struct scope_event_vma) {
		.ufile	= scope_registry_ufile_id(vma->vm_file->private_data),
		.token	= token_of(vma),
		.entry	= token_of(entry),
		.start	= vma->vm_start,
		.end	= vma->vm_end,
	};
}

/* void rdma_umap_priv_init(struct rdma_umap_priv *priv, vma, entry) */
static bool umap_init_begin(struct scope_regs *regs, struct scope_call *call)
{
	struct scope_event_vma event;

	if (!trace_vma_open_enabled())
		return false;
	event = vma_of(scope_probe_argument(regs, 1), scope_probe_argument(regs, 2));
	trace_vma_open(&event);
	return false;
}

/*
 * int ib_uverbs_mmap(struct file *filp, struct vm_area_struct *vma)
 *
 * The birth of a mapping that the RDMA core does not track, mlx5's clock page for one: it
 * has the core's operations, and so is closed by them, but never comes to the function
 * above.  It has no private data then; nor has that of a driver that has put operations of
 * its own in their place, and none of these is closed by rdma_umap_close().
 */
static bool mmap_begin(struct scope_regs *regs, struct scope_call *call)
{
	call->number = (unsigned long)scope_probe_argument(regs, 1);
	return trace_vma_open_enabled();
}

static void mmap_end(unsigned long returned, const struct scope_call *call)
{
	const struct vm_area_struct *vma = (void *)call->number;
	struct scope_event_vma event;

	if ((int)returned || vma->vm_private_data)
		return;
	event = vma_of(vma, NULL);
	trace_vma_open(&event);
}

/*
 * void rdma_umap_open(struct vm_area_struct *vma)
 *
 * The same for a copy, which stays without private data if the mapping had none, if there
 * was no memory, or if the device was about to go.
 */
static bool umap_open_begin(struct scope_regs *regs, struct scope_call *call)
{
	call->number = (unsigned long)scope_probe_argument(regs, 0);
	return trace_vma_open_enabled();
}

static void umap_open_end(unsigned long returned, const struct scope_call *call)
{
	mmap_end(0, call);
}

/* void rdma_umap_close(struct vm_area_struct *vma) */
static bool umap_close_begin(struct scope_regs *regs, struct scope_call *call)
{
	const struct vm_area_struct *vma = scope_probe_argument(regs, 0);
	struct scope_event_vma event;

	if (!trace_vma_close_enabled())
		return false;
	event = vma_of(vma, entry_behind(vma));
	trace_vma_close(&event);
	return false;
}

/*
 * void zap_special_vma_range(struct vm_area_struct *vma, ...)
 *
 * Of any driver: a mapping of ours is one whose file's private data is a known ufile.
 */
static bool zap_begin(struct scope_regs *regs, struct scope_call *call)
{
	const struct vm_area_struct *vma = scope_probe_argument(regs, 0);
	struct scope_event_vma event;

	if (!trace_vma_zap_enabled() || !vma->vm_file)
		return false;
	event = vma_of(vma, NULL);
	if (!event.ufile)
		return false;
	event.entry = token_of(entry_behind(vma));
	trace_vma_zap(&event);
	return false;
}

/*
 * void mlx5_ib_mmap_free(struct rdma_user_mmap_entry *entry)
 *
 * At its end the entry is gone.
 */
static bool mmap_free_begin(struct scope_regs *regs, struct scope_call *call)
{
	struct rdma_user_mmap_entry *entry = scope_probe_argument(regs, 0);
	const struct mlx5_user_mmap_entry *mentry = to_mmmap(entry);

	if (!trace_var_free_enabled() || scope_roots_refused())
		return false;
	call->second = scope_is_tlp_var(mentry->mmap_flag);
	if (mentry->mmap_flag != MLX5_IB_MMAP_TYPE_VAR && !call->second)
		return false;
	call->uobject.ufile = scope_registry_ufile_id(entry->ucontext->ufile);
	call->uobject.token = token_of(entry);
	call->number = mentry->page_idx;
	return true;
}

static void mmap_free_end(unsigned long returned, const struct scope_call *call)
{
	trace_var_free(call->uobject.ufile, call->uobject.token, call->number, call->second);
}

/* void mlx5_cmd_dealloc_memic(struct mlx5_dm *dm, phys_addr_t addr, u64 length) */
static bool memic_begin(struct scope_regs *regs, struct scope_call *call)
{
	trace_memic_free((unsigned long)scope_probe_argument(regs, 1),
			 (unsigned long)scope_probe_argument(regs, 2));
	return false;
}

/* void mlx5_cmd_dealloc_memic_op(struct mlx5_dm *dm, phys_addr_t addr, u8 operation) */
static bool memic_op_begin(struct scope_regs *regs, struct scope_call *call)
{
	trace_memic_op_free((unsigned long)scope_probe_argument(regs, 1),
			    (u8)(unsigned long)scope_probe_argument(regs, 2));
	return false;
}

/* Of any exporter: an event only if the registry knows the dma-buf. */
static bool know_dmabuf(const struct dma_buf *dmabuf, struct scope_event_dmabuf *event)
{
	*event = (struct scope_event_dmabuf) {
		.ufile	= scope_registry_dmabuf_ufile(dmabuf),
		.token	= token_of(dmabuf),
		.device	= "-",
	};
	return event->ufile;
}

static bool know_attachment(const struct dma_buf_attachment *attachment,
			    struct scope_event_dmabuf *event)
{
	if (!know_dmabuf(attachment->dmabuf, event))
		return false;
	event->attachment = token_of(attachment);
	event->device = dev_name(attachment->dev);
	return true;
}

/* void dma_buf_invalidate_mappings(struct dma_buf *dmabuf) */
static bool invalidate_begin(struct scope_regs *regs, struct scope_call *call)
{
	struct scope_event_dmabuf event;

	if ((!trace_dmabuf_revoke_enabled() && !trace_dmabuf_drained_enabled()) ||
	    !know_dmabuf(scope_probe_argument(regs, 0), &event))
		return false;
	trace_dmabuf_revoke(&event);
	if (trace_dmabuf_drained_enabled())
		scope_dying_dmabuf(&event);
	return false;
}

/* void uverbs_dmabuf_fd_destroy_uobj(struct ib_uobject *uobj, ...), revokes and waits */
static bool dmabuf_destroy_begin(struct scope_regs *regs, struct scope_call *call)
{
	return trace_dmabuf_drained_enabled();
}

/**
 * scope_lifetime_dmabuf_release - a dma-buf is about to be freed
 * @dmabuf: in the registry yet
 *
 * Context: any but non-maskable interrupts; uverbs_dmabuf_release() begins.
 */
void scope_lifetime_dmabuf_release(const struct dma_buf *dmabuf)
{
	struct scope_event_dmabuf event;

	if (trace_dmabuf_release_enabled() && scope_lifetime_is_on() &&
	    know_dmabuf(dmabuf, &event))
		trace_dmabuf_release(&event);
}

/* struct dma_buf_attachment *dma_buf_dynamic_attach(struct dma_buf *dmabuf, ...) */
static bool attach_begin(struct scope_regs *regs, struct scope_call *call)
{
	return trace_dmabuf_attach_enabled();
}

static void attach_end(unsigned long returned, const struct scope_call *call)
{
	struct scope_event_dmabuf event;

	if (!IS_ERR_OR_NULL((void *)returned) && know_attachment((void *)returned, &event))
		trace_dmabuf_attach(&event);
}

/* void dma_buf_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach) */
static bool detach_begin(struct scope_regs *regs, struct scope_call *call)
{
	struct scope_event_dmabuf event;

	if (trace_dmabuf_detach_enabled() && scope_probe_argument(regs, 1) &&
	    know_attachment(scope_probe_argument(regs, 1), &event))
		trace_dmabuf_detach(&event);
	return false;
}

/* struct sg_table *uverbs_dmabuf_map(struct dma_buf_attachment *attachment, ...) */
static bool map_begin(struct scope_regs *regs, struct scope_call *call)
{
	call->number = (unsigned long)scope_probe_argument(regs, 0);
	return trace_dmabuf_map_enabled();
}

static void map_end(unsigned long returned, const struct scope_call *call)
{
	struct scope_event_dmabuf event;

	if (!IS_ERR_OR_NULL((void *)returned) && know_attachment((void *)call->number, &event))
		trace_dmabuf_map(&event);
}

/* void uverbs_dmabuf_unmap(struct dma_buf_attachment *attachment, ...) */
static bool unmap_begin(struct scope_regs *regs, struct scope_call *call)
{
	struct scope_event_dmabuf event;

	if (trace_dmabuf_unmap_enabled() &&
	    know_attachment(scope_probe_argument(regs, 0), &event))
		trace_dmabuf_unmap(&event);
	return false;
}

/* Without @begin: the registry's probe does it, before it forgets the object. */
struct scope_lifetime_probe scope_lifetime_probes[] = {
	{ .symbol = "rdma_alloc_begin_uobject", .begin = alloc_begin, .end = alloc_end,
	  .events = { "uobject_alloc" } },
	{ .symbol = "alloc_commit_idr_uobject", .begin = commit_begin,
	  .events = { "uobject_commit" } },
	{ .symbol = "alloc_commit_fd_uobject", .begin = commit_begin,
	  .events = { "uobject_commit", "dmabuf_export" } },
	{ .symbol = "uverbs_destroy_uobject", .begin = destroy_begin, .end = destroy_end,
	  .events = { "uobject_destroy", "uobject_destroyed" } },
	{ .symbol = "kvfree_call_rcu", .begin = free_begin,
	  .events = { "uobject_free" } },
	{ .symbol = "setup_ufile_idr_uobject", .begin = open_begin,
	  .events = { "ufile_open" } },
	{ .symbol = "uverbs_destroy_ufile_hw", .begin = cleanup_begin, .end = cleanup_end,
	  .events = { "ufile_cleanup", "ufile_cleaned" } },
	{ .symbol = "ib_uverbs_release_file",
	  .events = { "ufile_release" } },
	{ .symbol = "rdma_user_mmap_entry_insert_range", .begin = insert_begin, .end = insert_end,
	  .events = { "mmap_entry_insert" } },
	{ .symbol = "rdma_user_mmap_entry_get_pgoff", .begin = get_begin, .end = get_end,
	  .events = { "mmap_entry_get" } },
	{ .symbol = "rdma_user_mmap_entry_put", .begin = put_begin,
	  .events = { "mmap_entry_put" } },
	{ .symbol = "rdma_user_mmap_entry_remove", .begin = remove_begin, .end = drained_end,
	  .events = { "mmap_entry_remove", "dmabuf_drained" } },
	{ .symbol = "rdma_user_mmap_entry_free", .begin = entry_free_begin,
	  .events = { "mmap_entry_free" } },
	{ .symbol = "rdma_umap_priv_init", .begin = umap_init_begin,
	  .events = { "vma_open" } },
	{ .symbol = "ib_uverbs_mmap", .begin = mmap_begin, .end = mmap_end,
	  .events = { "vma_open" } },
	{ .symbol = "rdma_umap_open", .begin = umap_open_begin, .end = umap_open_end,
	  .events = { "vma_open" } },
	{ .symbol = "rdma_umap_close", .begin = umap_close_begin,
	  .events = { "vma_close" } },
	{ .symbol = "zap_special_vma_range", .begin = zap_begin,
	  .events = { "vma_zap" } },
	{ .symbol = "mlx5_ib_mmap_free", .module = "mlx5_ib",
	  .begin = mmap_free_begin, .end = mmap_free_end,
	  .events = { "var_free" } },
	{ .symbol = "mlx5_cmd_dealloc_memic", .module = "mlx5_ib", .begin = memic_begin,
	  .events = { "memic_free" } },
	{ .symbol = "mlx5_cmd_dealloc_memic_op", .module = "mlx5_ib", .begin = memic_op_begin,
	  .events = { "memic_op_free" } },
	{ .symbol = "dma_buf_invalidate_mappings", .begin = invalidate_begin,
	  .events = { "dmabuf_revoke" } },
	{ .symbol = "uverbs_dmabuf_fd_destroy_uobj", .begin = dmabuf_destroy_begin,
	  .end = drained_end,
	  .events = { "dmabuf_drained" } },
	{ .symbol = "uverbs_dmabuf_release",
	  .events = { "dmabuf_release" } },
	{ .symbol = "dma_buf_dynamic_attach", .begin = attach_begin, .end = attach_end,
	  .events = { "dmabuf_attach" } },
	{ .symbol = "dma_buf_detach", .begin = detach_begin,
	  .events = { "dmabuf_detach" } },
	{ .symbol = "uverbs_dmabuf_map", .begin = map_begin, .end = map_end,
	  .events = { "dmabuf_map" } },
	{ .symbol = "uverbs_dmabuf_unmap", .begin = unmap_begin,
	  .events = { "dmabuf_unmap" } },
};

const unsigned int scope_lifetime_nr_probes = ARRAY_SIZE(scope_lifetime_probes);
