/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lifetime events: what happens to the objects that a snapshot shows, as tracepoints
 * (trace.h).  Probes feed them, which are registered by a switch.
 */
#ifndef UOBJSCOPE_LIFETIME_H
#define UOBJSCOPE_LIFETIME_H

#include <linux/errno.h>
#include <linux/types.h>

struct dma_buf;
struct ib_uverbs_file;
struct scope_text;

/**
 * struct scope_event_uobject - what events tell of a uobject
 * @ufile: id of its ufile, 0 if not known
 * @token: stands for its address
 * @object: stands for its object's, 0 if it has none
 * @type_id: uverbs_api_object.id
 * @handle: of class idr, -1 of class fd
 * @driver: enum scope_driver
 */
struct scope_event_uobject {
	u64	ufile;
	u64	token;
	u64	object;
	u32	type_id;
	s32	handle;
	u8	driver;
};

/**
 * struct scope_event_entry - what events tell of an mmap entry
 * @ufile: id of its ufile, 0 if not known
 * @token: stands for its address
 * @pgoff: first page offset
 * @npages: pages
 * @ref: rdma_user_mmap_entry.ref
 */
struct scope_event_entry {
	u64	ufile;
	u64	token;
	u64	pgoff;
	u64	npages;
	u32	ref;
};

/**
 * struct scope_event_vma - what events tell of a mapping
 * @ufile: id of its ufile
 * @token: stands for its vm_area_struct's address
 * @entry: stands for its mmap entry's, 0 for none
 * @start: first address
 * @end: the address after the last one
 */
struct scope_event_vma {
	u64	ufile;
	u64	token;
	u64	entry;
	u64	start;
	u64	end;
};

/**
 * struct scope_event_dmabuf - what events tell of a dma-buf
 * @ufile: id of the exporter's ufile
 * @token: stands for its address
 * @attachment: stands for the attachment's, 0 where it is about none
 * @device: importing device, - where it is about none
 */
struct scope_event_dmabuf {
	u64		ufile;
	u64		token;
	u64		attachment;
	const char	*device;
};

#ifdef CONFIG_FPROBE
int scope_lifetime_start(void);
void scope_lifetime_stop(void);
int scope_lifetime_switch(bool on);
bool scope_lifetime_is_on(void);
int scope_lifetime_list(struct scope_text *text);
void scope_lifetime_ufile_release(const struct ib_uverbs_file *ufile);
void scope_lifetime_dmabuf_release(const struct dma_buf *dmabuf);
#else
static inline int scope_lifetime_start(void)
{
	return 0;
}

static inline void scope_lifetime_stop(void)
{
}

static inline int scope_lifetime_switch(bool on)
{
	return on ? -EOPNOTSUPP : 0;
}

static inline bool scope_lifetime_is_on(void)
{
	return false;
}

static inline int scope_lifetime_list(struct scope_text *text)
{
	return -EOPNOTSUPP;
}
#endif

#endif /* UOBJSCOPE_LIFETIME_H */
