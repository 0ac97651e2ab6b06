// SPDX-License-Identifier: GPL-2.0
/*
 * One function a record: its line of text.
 *
 * No lock is held here and no structure of the kernel is known.  What a record
 * does not know is left out of its line, never shown as 0.
 */
#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "names.h"
#include "object_types.h"
#include "report.h"

static void usage(struct scope_line *line, const struct scope_usage *usage,
		  const char *used, const char *entries)
{
	if (!usage->known)
		return;
	scope_line_number(line, used, usage->used);
	scope_line_number(line, entries, usage->entries);
}

/* A key that names an address is there only if there is one. */
static void token_if(struct scope_line *line, const char *key, unsigned long address,
		     scope_token_function *token)
{
	if (address)
		scope_line_token(line, key, token(address));
}

/**
 * scope_report_header - the first line of a snapshot
 * @line: to be overwritten
 * @header: what it says
 */
void scope_report_header(struct scope_line *line, const struct scope_header *header)
{
	scope_line_begin(line, "uobjscope");
	scope_line_number(line, "v", SCOPE_FORMAT);
	scope_line_text(line, "kernel", header->kernel);
	scope_line_number(line, "time_ns", header->time_ns);
	scope_line_number(line, "seq", header->seq);
	scope_line_number(line, "deref", header->deref);
	scope_line_word(line, "registry", header->fprobe ? "fprobe" : "devices");
	scope_line_number(line, "dropped", header->dropped);
	if (header->refused)
		scope_line_number(line, "refused", header->refused);
	scope_line_end(line);
}

/**
 * scope_report_device - a device line
 * @line: to be overwritten
 * @r: the record
 */
void scope_report_device(struct scope_line *line, const struct scope_device_record *r)
{
	scope_line_begin(line, "device");
	scope_line_text(line, "name", r->name);
	scope_line_text(line, "uverbs", r->uverbs);
	scope_line_text(line, "driver", r->driver);
	if (r->bus[0])
		scope_line_text(line, r->bus_is_pci ? "pci" : "parent", r->bus);
	scope_line_number(line, "ufiles", r->ufiles);
	usage(line, &r->var, "var_used", "var_entries");
	usage(line, &r->tlp_var, "tlp_var_used", "tlp_var_entries");
	usage(line, &r->memic, "memic_pages_used", "memic_pages");
	scope_line_end(line);
}

/**
 * scope_report_ufile - a ufile line
 * @line: to be overwritten
 * @r: the record
 */
void scope_report_ufile(struct scope_line *line, const struct scope_ufile_record *r)
{
	scope_line_begin(line, "ufile");
	scope_line_number(line, "id", r->id);
	scope_line_text(line, "device", r->device[0] ? r->device : "-");
	scope_line_text(line, "uverbs", r->uverbs);
	scope_line_word(line, "state", scope_ufile_state_name(r->state));
	scope_line_number(line, "listed", r->listed);
	scope_line_signed(line, "ref", r->ref);
	scope_line_number(line, "uobjects", r->uobjects);
	if (r->reserved)
		scope_line_number(line, "reserved", r->reserved);
	if (r->umaps_known)
		scope_line_number(line, "umaps", r->umaps);
	if (r->pid) {
		scope_line_number(line, "pid", r->pid);
		scope_line_text(line, "comm", r->comm);
	}
	if (r->ctxn_known)
		scope_line_number(line, "ctxn", r->ctxn);
	if (r->file_known)
		scope_line_number(line, "file_open", r->file_open);
	if (r->changed_known)
		scope_line_number(line, "changed", r->changed);
	scope_line_end(line);
}

static void restrack(struct scope_line *line, const struct scope_uobj_record *r)
{
	if (r->has & SCOPE_HAS_CQ) {
		scope_line_number(line, "cqn", r->id);
		scope_line_number(line, "cqe", r->cqe);
	}
	if (r->has & SCOPE_HAS_LQPN)
		scope_line_number(line, "lqpn", r->id);
	if (r->has & SCOPE_HAS_MR) {
		scope_line_number(line, "mrn", r->id);
		scope_line_hex(line, "lkey", r->lkey);
		scope_line_number(line, "mrlen", r->length);
	}
	if (r->has & SCOPE_HAS_SRQN)
		scope_line_number(line, "srqn", r->id);
	if (r->has & SCOPE_HAS_PDN)
		scope_line_number(line, "pdn", r->pdn);
	if (r->has & SCOPE_HAS_USERS)
		scope_line_signed(line, "users", r->users);
	if (r->has & SCOPE_HAS_IMPORT)
		scope_line_number(line, "dmabuf_ino", r->ino);
}

static void device_memory(struct scope_line *line, const struct scope_uobj_record *r)
{
	if (r->has & SCOPE_HAS_DM) {
		scope_line_number(line, "length", r->length);
		scope_line_signed(line, "dm_users", r->dm_users);
	}
	if (r->has & SCOPE_HAS_DRIVER_DM) {
		scope_line_word(line, "dm_type", scope_dm_type_name(r->dm_type));
		scope_line_hex(line, "dev_addr", r->dev_addr);
		scope_line_number(line, "dm_size", r->dm_size);
	}
	if (r->has & SCOPE_HAS_MEMIC) {
		scope_line_signed(line, "dm_ref", r->dm_ref);
		scope_line_number(line, "ops", r->ops);
	}
	if (r->has & SCOPE_HAS_ICM)
		scope_line_number(line, "obj_id", r->obj_id);
}

static void dma_buf(struct scope_line *line, const struct scope_uobj_record *r)
{
	if (r->has & SCOPE_HAS_DMABUF) {
		scope_line_number(line, "ino", r->ino);
		scope_line_number(line, "file_ref", r->file_ref);
		scope_line_number(line, "size", r->size);
	}
	if (r->has & SCOPE_HAS_KREF) {
		scope_line_signed(line, "kref", r->kref);
		scope_line_number(line, "revoked", r->revoked);
	}
}

/**
 * scope_report_uobj - a uobj line
 * @line: to be overwritten
 * @r: the record
 * @token: makes tokens
 */
void scope_report_uobj(struct scope_line *line, const struct scope_uobj_record *r,
		       scope_token_function *token)
{
	scope_line_begin(line, "uobj");
	scope_line_number(line, "ufile", r->ufile);
	scope_line_word(line, "type", scope_type_name(r->type, r->driver));
	scope_line_hex(line, "type_id", r->type);
	scope_line_word(line, "class", r->is_fd ? "fd" : "idr");
	if (!r->is_fd)
		scope_line_number(line, "handle", r->handle);
	scope_line_signed(line, "ref", r->ref);
	scope_line_signed(line, "usecnt", r->usecnt);
	scope_line_word(line, "state", scope_uobj_state_name(r->state));
	token_if(line, "token", r->address, token);
	token_if(line, "object", r->object, token);
	switch (r->type) {
	case UVERBS_OBJECT_DM:
		device_memory(line, r);
		break;
	default:
		if (scope_is_dmabuf(r->type))
			dma_buf(line, r);
		else
			restrack(line, r);
	}
	if (r->has & SCOPE_HAS_VAR)
		scope_line_number(line, "page_id", r->page_id);
	if (r->has & SCOPE_HAS_VAR_BIT)
		scope_line_number(line, "var_bit", r->var_bit);
	if (r->has & SCOPE_HAS_ENTRY)
		token_if(line, "entry", r->entry, token);
	token_if(line, "dm", r->dm, token);
	if (r->has & SCOPE_HAS_DEREF_BUSY)
		scope_line_word(line, "deref", "busy");
	scope_line_end(line);
}

/**
 * scope_report_mmap - an mmap line
 * @line: to be overwritten
 * @r: the record
 * @token: makes tokens
 */
void scope_report_mmap(struct scope_line *line, const struct scope_mmap_record *r,
		       scope_token_function *token)
{
	scope_line_begin(line, "mmap");
	scope_line_number(line, "ufile", r->ufile);
	scope_line_hex(line, "pgoff", r->pgoff);
	scope_line_number(line, "npages", r->npages);
	scope_line_signed(line, "ref", r->ref);
	scope_line_number(line, "driver_removed", r->removed);
	scope_line_word(line, "kind", scope_mmap_kind_name(r->kind));
	token_if(line, "entry", r->address, token);
	if (r->vmas_known)
		scope_line_number(line, "vmas", r->vmas);
	if (r->dmabufs_known)
		scope_line_number(line, "dmabufs", r->dmabufs);
	if (r->kind != SCOPE_MMAP_UNKNOWN)
		scope_line_hex(line, "addr", r->addr);
	switch (r->kind) {
	case SCOPE_MMAP_VAR:
	case SCOPE_MMAP_TLP_VAR:
	case SCOPE_MMAP_UAR_WC:
	case SCOPE_MMAP_UAR_NC:
		scope_line_number(line, "page_id", r->page_id);
		if (r->var_bit_known)
			scope_line_number(line, "var_bit", r->var_bit);
		break;
	case SCOPE_MMAP_MEMIC_OP:
		scope_line_number(line, "op", r->op);
		fallthrough;
	case SCOPE_MMAP_MEMIC:
		scope_line_number(line, "length", r->length);
		scope_line_hex(line, "dev_addr", r->dev_addr);
		scope_line_number(line, "dm_size", r->dm_size);
		scope_line_signed(line, "dm_ref", r->dm_ref);
		scope_line_signed(line, "dm_users", r->dm_users);
		scope_line_number(line, "ops", r->ops);
		token_if(line, "object", r->object, token);
		break;
	}
	scope_line_end(line);
}

/**
 * scope_report_vma - a vma line
 * @line: to be overwritten
 * @r: the record
 * @token: makes tokens
 */
void scope_report_vma(struct scope_line *line, const struct scope_vma_record *r,
		      scope_token_function *token)
{
	scope_line_begin(line, "vma");
	scope_line_number(line, "ufile", r->ufile);
	if (r->pid)
		scope_line_number(line, "pid", r->pid);
	scope_line_hex(line, "start", r->start);
	scope_line_hex(line, "end", r->end);
	if (r->entry)
		scope_line_token(line, "entry", token(r->entry));
	else
		scope_line_word(line, "entry", "-");
	token_if(line, "token", r->address, token);
	scope_line_end(line);
}

/**
 * scope_report_attach - an attach line
 * @line: to be overwritten
 * @r: the record
 * @token: makes tokens
 */
void scope_report_attach(struct scope_line *line, const struct scope_attach_record *r,
			 scope_token_function *token)
{
	scope_line_begin(line, "attach");
	scope_line_number(line, "ufile", r->ufile);
	scope_line_number(line, "ino", r->ino);
	if (r->busy) {
		scope_line_word(line, "state", "busy");
		scope_line_end(line);
		return;
	}
	scope_line_text(line, "device", r->device);
	scope_line_number(line, "peer2peer", r->peer2peer);
	scope_line_number(line, "invalidate", r->invalidate);
	scope_line_text(line, "importer", r->importer[0] ? r->importer : "none");
	if (r->umem) {
		scope_line_number(line, "umem", 1);
		scope_line_text(line, "ibdev", r->ibdev);
	}
	if (r->umem || r->ours) {
		scope_line_number(line, "mapped", r->mapped);
		scope_line_number(line, "pinned", r->pinned);
	}
	if (r->umem) {
		scope_line_number(line, "revoked", r->revoked);
		scope_line_hex(line, "offset", r->offset);
		scope_line_number(line, "length", r->length);
	}
	if (r->mr_tracked)
		scope_line_number(line, "mrn", r->mrn);
	if (r->mr)
		scope_line_hex(line, "lkey", r->lkey);
	token_if(line, "token", r->address, token);
	scope_line_end(line);
}

/**
 * scope_report_fd - an fd line
 * @line: to be overwritten
 * @r: the record
 * @token: makes tokens
 */
void scope_report_fd(struct scope_line *line, const struct scope_fd_record *r,
		     scope_token_function *token)
{
	static const char * const kinds[] = {
		[SCOPE_FD_UVERBS]	= "uverbs",
		[SCOPE_FD_DMABUF]	= "dmabuf",
		[SCOPE_FD_UOBJ]		= "uobj",
	};

	scope_line_begin(line, "fd");
	scope_line_number(line, "pid", r->pid);
	scope_line_text(line, "comm", r->comm);
	scope_line_number(line, "fd", r->fd);
	scope_line_word(line, "kind", kinds[r->kind]);
	if (r->kind == SCOPE_FD_UOBJ)
		scope_line_word(line, "type", scope_type_name(r->type, r->driver));
	if (r->kind == SCOPE_FD_DMABUF) {
		scope_line_number(line, "ino", r->ino);
		scope_line_number(line, "size", r->size);
	}
	scope_line_number(line, "file_ref", r->file_ref);
	if (r->kind == SCOPE_FD_DMABUF)
		scope_line_text(line, "exporter", r->exporter);
	if (r->ufile)
		scope_line_number(line, "ufile", r->ufile);
	if (r->kind == SCOPE_FD_UOBJ)
		scope_line_word(line, "state", r->live ? "live" : "dead");
	token_if(line, "file", r->file, token);
	scope_line_end(line);
}

/**
 * scope_report_end - the last line of every file
 * @line: to be overwritten
 * @records: lines between the first and this one
 */
void scope_report_end(struct scope_line *line, u64 records)
{
	scope_line_begin(line, "end");
	scope_line_number(line, "records", records);
	scope_line_end(line);
}
