/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lifetime events, see Documentation/uobjscope.rst.
 *
 * What stands for an address is what stands for it in a snapshot.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM uobjscope

#if !defined(UOBJSCOPE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define UOBJSCOPE_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>

#include "lifetime.h"
#include "names.h"

TRACE_DEFINE_ENUM(RDMA_REMOVE_DESTROY);
TRACE_DEFINE_ENUM(RDMA_REMOVE_CLOSE);
TRACE_DEFINE_ENUM(RDMA_REMOVE_DRIVER_REMOVE);
TRACE_DEFINE_ENUM(RDMA_REMOVE_ABORT);
TRACE_DEFINE_ENUM(RDMA_REMOVE_DRIVER_FAILURE);

#define scope_show_reason(reason)					\
	__print_symbolic(reason,					\
			 { RDMA_REMOVE_DESTROY,		"destroy" },	\
			 { RDMA_REMOVE_CLOSE,		"close" },	\
			 { RDMA_REMOVE_DRIVER_REMOVE,	"driver_remove" }, \
			 { RDMA_REMOVE_ABORT,		"abort" },	\
			 { RDMA_REMOVE_DRIVER_FAILURE,	"driver_failure" })

DECLARE_EVENT_CLASS(uobject,
	TP_PROTO(const struct scope_event_uobject *uobject),
	TP_ARGS(uobject),
	TP_STRUCT__entry(
		__field(u64, ufile)
		__field(u64, uobject)
		__field(u64, object)
		__field(u32, type_id)
		__field(s32, handle)
		__string(type, scope_type_name(uobject->type_id, uobject->driver))
	),
	TP_fast_assign(
		__entry->ufile = uobject->ufile;
		__entry->uobject = uobject->token;
		__entry->object = uobject->object;
		__entry->type_id = uobject->type_id;
		__entry->handle = uobject->handle;
		__assign_str(type);
	),
	TP_printk("ufile=%llu type=%s handle=%d uobject=%016llx object=%016llx",
		  __entry->ufile, __get_str(type), __entry->handle, __entry->uobject,
		  __entry->object)
);

#define DEFINE_UOBJECT_EVENT(name)						\
	DEFINE_EVENT(uobject, name,						\
		     TP_PROTO(const struct scope_event_uobject *uobject),	\
		     TP_ARGS(uobject))

/* It has a handle that leads nowhere yet, or a reserved descriptor. */
DEFINE_UOBJECT_EVENT(uobject_alloc);

/* It is about to be there for everybody. */
DEFINE_UOBJECT_EVENT(uobject_commit);

/* The last reference has been dropped; its memory goes after a grace period. */
DEFINE_UOBJECT_EVENT(uobject_free);

/* Its object is about to be destroyed. */
TRACE_EVENT(uobject_destroy,
	TP_PROTO(const struct scope_event_uobject *uobject, u32 reason),
	TP_ARGS(uobject, reason),
	TP_STRUCT__entry(
		__field(u64, ufile)
		__field(u64, uobject)
		__field(u64, object)
		__field(u32, type_id)
		__field(s32, handle)
		__field(u32, reason)
		__string(type, scope_type_name(uobject->type_id, uobject->driver))
	),
	TP_fast_assign(
		__entry->ufile = uobject->ufile;
		__entry->uobject = uobject->token;
		__entry->object = uobject->object;
		__entry->type_id = uobject->type_id;
		__entry->handle = uobject->handle;
		__entry->reason = reason;
		__assign_str(type);
	),
	TP_printk("ufile=%llu type=%s handle=%d uobject=%016llx object=%016llx reason=%s",
		  __entry->ufile, __get_str(type), __entry->handle, __entry->uobject,
		  __entry->object, scope_show_reason(__entry->reason))
);

/* Its object has been destroyed, unless ret says that it could not be. */
TRACE_EVENT(uobject_destroyed,
	TP_PROTO(const struct scope_event_uobject *uobject, u32 reason, int ret),
	TP_ARGS(uobject, reason, ret),
	TP_STRUCT__entry(
		__field(u64, ufile)
		__field(u64, uobject)
		__field(u64, object)
		__field(u32, type_id)
		__field(s32, handle)
		__field(u32, reason)
		__field(s32, ret)
		__string(type, scope_type_name(uobject->type_id, uobject->driver))
	),
	TP_fast_assign(
		__entry->ufile = uobject->ufile;
		__entry->uobject = uobject->token;
		__entry->object = uobject->object;
		__entry->type_id = uobject->type_id;
		__entry->handle = uobject->handle;
		__entry->reason = reason;
		__entry->ret = ret;
		__assign_str(type);
	),
	TP_printk("ufile=%llu type=%s handle=%d uobject=%016llx object=%016llx reason=%s ret=%d",
		  __entry->ufile, __get_str(type), __entry->handle, __entry->uobject,
		  __entry->object, scope_show_reason(__entry->reason), __entry->ret)
);

DECLARE_EVENT_CLASS(ufile,
	TP_PROTO(u64 ufile),
	TP_ARGS(ufile),
	TP_STRUCT__entry(
		__field(u64, ufile)
	),
	TP_fast_assign(
		__entry->ufile = ufile;
	),
	TP_printk("ufile=%llu", __entry->ufile)
);

#define DEFINE_UFILE_EVENT(name)					\
	DEFINE_EVENT(ufile, name,					\
		     TP_PROTO(u64 ufile),				\
		     TP_ARGS(ufile))

DEFINE_UFILE_EVENT(ufile_open);

/* All its objects are gone. */
DEFINE_UFILE_EVENT(ufile_cleaned);

/* Nobody holds it any more, and its memory goes. */
DEFINE_UFILE_EVENT(ufile_release);

/* Its objects are about to be destroyed, the youngest first. */
TRACE_EVENT(ufile_cleanup,
	TP_PROTO(u64 ufile, u32 reason),
	TP_ARGS(ufile, reason),
	TP_STRUCT__entry(
		__field(u64, ufile)
		__field(u32, reason)
	),
	TP_fast_assign(
		__entry->ufile = ufile;
		__entry->reason = reason;
	),
	TP_printk("ufile=%llu reason=%s", __entry->ufile, scope_show_reason(__entry->reason))
);

DECLARE_EVENT_CLASS(mmap_entry,
	TP_PROTO(const struct scope_event_entry *mmap_entry),
	TP_ARGS(mmap_entry),
	TP_STRUCT__entry(
		__field(u64, ufile)
		__field(u64, entry)
		__field(u64, pgoff)
		__field(u64, npages)
		__field(u32, ref)
	),
	TP_fast_assign(
		__entry->ufile = mmap_entry->ufile;
		__entry->entry = mmap_entry->token;
		__entry->pgoff = mmap_entry->pgoff;
		__entry->npages = mmap_entry->npages;
		__entry->ref = mmap_entry->ref;
	),
	TP_printk("ufile=%llu entry=%016llx pgoff=0x%llx npages=%llu ref=%u", __entry->ufile,
		  __entry->entry, __entry->pgoff, __entry->npages, __entry->ref)
);

#define DEFINE_MMAP_ENTRY_EVENT(name)						\
	DEFINE_EVENT(mmap_entry, name,						\
		     TP_PROTO(const struct scope_event_entry *mmap_entry),	\
		     TP_ARGS(mmap_entry))

DEFINE_MMAP_ENTRY_EVENT(mmap_entry_insert);

/* By its offset, for a mapping or a DMABUF; ref counts that. */
DEFINE_MMAP_ENTRY_EVENT(mmap_entry_get);

/* ref still counts what is given back. */
DEFINE_MMAP_ENTRY_EVENT(mmap_entry_put);

/* By its driver: nobody can map it any more. */
DEFINE_MMAP_ENTRY_EVENT(mmap_entry_remove);

DEFINE_MMAP_ENTRY_EVENT(mmap_entry_free);

DECLARE_EVENT_CLASS(vma,
	TP_PROTO(const struct scope_event_vma *vma),
	TP_ARGS(vma),
	TP_STRUCT__entry(
		__field(u64, ufile)
		__field(u64, vma)
		__field(u64, entry)
		__field(u64, start)
		__field(u64, end)
	),
	TP_fast_assign(
		__entry->ufile = vma->ufile;
		__entry->vma = vma->token;
		__entry->entry = vma->entry;
		__entry->start = vma->start;
		__entry->end = vma->end;
	),
	TP_printk("ufile=%llu vma=%016llx entry=%016llx start=0x%llx end=0x%llx", __entry->ufile,
		  __entry->vma, __entry->entry, __entry->start, __entry->end)
);

#define DEFINE_VMA_EVENT(name)						\
	DEFINE_EVENT(vma, name,						\
		     TP_PROTO(const struct scope_event_vma *vma),	\
		     TP_ARGS(vma))

/* By mmap(), or copied by fork() or mremap(). */
DEFINE_VMA_EVENT(vma_open);

DEFINE_VMA_EVENT(vma_close);

/* The device's pages are about to be taken from it. */
DEFINE_VMA_EVENT(vma_zap);

/* mlx5: a page of a VAR, or of a TLP VAR, can be used again. */
TRACE_EVENT(var_free,
	TP_PROTO(u64 ufile, u64 mmap_entry, u32 page_id, bool tlp),
	TP_ARGS(ufile, mmap_entry, page_id, tlp),
	TP_STRUCT__entry(
		__field(u64, ufile)
		__field(u64, entry)
		__field(u32, page_id)
		__field(bool, tlp)
	),
	TP_fast_assign(
		__entry->ufile = ufile;
		__entry->entry = mmap_entry;
		__entry->page_id = page_id;
		__entry->tlp = tlp;
	),
	TP_printk("ufile=%llu entry=%016llx page_id=%u tlp=%d", __entry->ufile, __entry->entry,
		  __entry->page_id, __entry->tlp)
);

/* mlx5: device memory is about to be given back to the device. */
TRACE_EVENT(memic_free,
	TP_PROTO(u64 addr, u64 length),
	TP_ARGS(addr, length),
	TP_STRUCT__entry(
		__field(u64, addr)
		__field(u64, length)
	),
	TP_fast_assign(
		__entry->addr = addr;
		__entry->length = length;
	),
	TP_printk("addr=0x%llx length=%llu", __entry->addr, __entry->length)
);

/* mlx5: an operation on device memory is about to be given back to the device. */
TRACE_EVENT(memic_op_free,
	TP_PROTO(u64 addr, u32 op),
	TP_ARGS(addr, op),
	TP_STRUCT__entry(
		__field(u64, addr)
		__field(u32, op)
	),
	TP_fast_assign(
		__entry->addr = addr;
		__entry->op = op;
	),
	TP_printk("addr=0x%llx op=%u", __entry->addr, __entry->op)
);

DECLARE_EVENT_CLASS(dmabuf,
	TP_PROTO(const struct scope_event_dmabuf *dmabuf),
	TP_ARGS(dmabuf),
	TP_STRUCT__entry(
		__field(u64, ufile)
		__field(u64, dmabuf)
	),
	TP_fast_assign(
		__entry->ufile = dmabuf->ufile;
		__entry->dmabuf = dmabuf->token;
	),
	TP_printk("ufile=%llu dmabuf=%016llx", __entry->ufile, __entry->dmabuf)
);

#define DEFINE_DMABUF_EVENT(name)					\
	DEFINE_EVENT(dmabuf, name,					\
		     TP_PROTO(const struct scope_event_dmabuf *dmabuf),	\
		     TP_ARGS(dmabuf))

/* Importers are about to be told to stop; it can be mapped no more. */
DEFINE_DMABUF_EVENT(dmabuf_revoke);

/* All mappings have gone since. */
DEFINE_DMABUF_EVENT(dmabuf_drained);

DEFINE_DMABUF_EVENT(dmabuf_release);

TRACE_EVENT(dmabuf_export,
	TP_PROTO(const struct scope_event_dmabuf *dmabuf, u64 uobject, u64 ino, u64 size),
	TP_ARGS(dmabuf, uobject, ino, size),
	TP_STRUCT__entry(
		__field(u64, ufile)
		__field(u64, dmabuf)
		__field(u64, uobject)
		__field(u64, ino)
		__field(u64, size)
	),
	TP_fast_assign(
		__entry->ufile = dmabuf->ufile;
		__entry->dmabuf = dmabuf->token;
		__entry->uobject = uobject;
		__entry->ino = ino;
		__entry->size = size;
	),
	TP_printk("ufile=%llu dmabuf=%016llx uobject=%016llx ino=%llu size=%llu", __entry->ufile,
		  __entry->dmabuf, __entry->uobject, __entry->ino, __entry->size)
);

DECLARE_EVENT_CLASS(attachment,
	TP_PROTO(const struct scope_event_dmabuf *dmabuf),
	TP_ARGS(dmabuf),
	TP_STRUCT__entry(
		__field(u64, ufile)
		__field(u64, dmabuf)
		__field(u64, attachment)
		__string(device, dmabuf->device)
	),
	TP_fast_assign(
		__entry->ufile = dmabuf->ufile;
		__entry->dmabuf = dmabuf->token;
		__entry->attachment = dmabuf->attachment;
		__assign_str(device);
	),
	TP_printk("ufile=%llu dmabuf=%016llx attachment=%016llx device=%s", __entry->ufile,
		  __entry->dmabuf, __entry->attachment, __get_str(device))
);

#define DEFINE_ATTACHMENT_EVENT(name)					\
	DEFINE_EVENT(attachment, name,					\
		     TP_PROTO(const struct scope_event_dmabuf *dmabuf),	\
		     TP_ARGS(dmabuf))

DEFINE_ATTACHMENT_EVENT(dmabuf_attach);

DEFINE_ATTACHMENT_EVENT(dmabuf_detach);

DEFINE_ATTACHMENT_EVENT(dmabuf_map);

DEFINE_ATTACHMENT_EVENT(dmabuf_unmap);

#endif /* UOBJSCOPE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
