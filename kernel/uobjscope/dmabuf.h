/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DMABUF uobjects.  A kernel that has none has no dma-bufs of uverbs either, nor a list of
 * them at a mmap entry: nothing of it is found there.
 */
#ifndef UOBJSCOPE_DMABUF_H
#define UOBJSCOPE_DMABUF_H

#include "compat.h"
#include "walk.h"

struct dma_buf;

#ifdef SCOPE_HAVE_DMABUF
void scope_dmabuf_read(struct scope_uobj_record *r, const struct ib_uobject *uobj);
struct dma_buf *scope_dmabuf_of(const struct ib_uobject *uobj);
struct ib_uobject *scope_dmabuf_uobject(const struct dma_buf *dmabuf);
u32 scope_dmabuf_count(struct scope_mmap_record *r, struct rdma_user_mmap_entry *entry);
int scope_walk_dmabufs(struct scope_walk *walk, struct scope_walked *walked,
		       struct ib_uverbs_file *ufile);
#else
static inline void scope_dmabuf_read(struct scope_uobj_record *r, const struct ib_uobject *uobj)
{
}

static inline struct dma_buf *scope_dmabuf_of(const struct ib_uobject *uobj)
{
	return NULL;
}

static inline struct ib_uobject *scope_dmabuf_uobject(const struct dma_buf *dmabuf)
{
	return NULL;
}

static inline u32 scope_dmabuf_count(struct scope_mmap_record *r,
				     struct rdma_user_mmap_entry *entry)
{
	r->dmabufs_known = true;
	return 0;
}

static inline int scope_walk_dmabufs(struct scope_walk *walk, struct scope_walked *walked,
				     struct ib_uverbs_file *ufile)
{
	return 0;
}
#endif

#endif /* UOBJSCOPE_DMABUF_H */
