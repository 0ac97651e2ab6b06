/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every ib_uverbs_file and every uverbs dma_buf that is alive, whether a list of
 * the kernel still leads to it or not.
 */
#ifndef UOBJSCOPE_REGISTRY_H
#define UOBJSCOPE_REGISTRY_H

#include <linux/types.h>

#include "record.h"

struct dma_buf;
struct ib_uverbs_file;

/**
 * struct scope_registered - what the registry knows of a ufile
 * @id: its own, never used again; 0 if there is no such ufile
 * @events: that touched the ufile so far
 * @pid: of the process that opened it, 0 if not known
 * @comm: of that task
 * @driver: enum scope_driver
 * @closed: its file was closed while its device was there
 * @disassociated: its device went away while its file was open
 * @released: its file was closed, earlier or later
 */
struct scope_registered {
	u64	id;
	u64	events;
	u32	pid;
	char	comm[SCOPE_COMM];
	u8	driver;
	bool	closed;
	bool	disassociated;
	bool	released;
};

/**
 * struct scope_registry_counts - for the file info
 * @ufiles: in the registry
 * @dmabufs: in the registry
 * @dropped: that it had no memory for, since the module was loaded
 */
struct scope_registry_counts {
	u64	ufiles;
	u64	dmabufs;
	u64	dropped;
};

u64 scope_registry_add_ufile(struct ib_uverbs_file *ufile, bool opener);
void scope_registry_remove_ufile(struct ib_uverbs_file *ufile);
u64 scope_registry_ufile_id(const struct ib_uverbs_file *ufile);
bool scope_registry_next_ufile(u64 after, struct scope_registered *copy);
bool scope_registry_read_ufile(u64 id, struct scope_registered *copy);
struct ib_uverbs_file *scope_registry_get_ufile(u64 id);
void scope_registry_set_driver(u64 id, u8 driver);
void scope_registry_note_end(const struct ib_uverbs_file *ufile, bool closed);
void scope_registry_keep_ufiles(bool (*keep)(u64 id, void *arg), void *arg);

void scope_registry_add_dmabuf(struct dma_buf *dmabuf, const struct ib_uverbs_file *ufile);
u64 scope_registry_close_dmabuf(const struct dma_buf *dmabuf);
void scope_registry_remove_dmabuf(struct dma_buf *dmabuf);
bool scope_registry_next_dmabuf(u64 after, u64 *id, u64 *ufile, unsigned long *address);
u64 scope_registry_dmabuf_ufile(const struct dma_buf *dmabuf);
struct dma_buf *scope_registry_get_dmabuf(unsigned long address);

u64 scope_registry_event_at(const struct ib_uverbs_file *ufile);
void scope_registry_event(u64 id);
u64 scope_registry_seq(void);

void scope_registry_count(struct scope_registry_counts *counts);
void scope_registry_clear(void);

#endif /* UOBJSCOPE_REGISTRY_H */
