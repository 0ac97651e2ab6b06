/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The commands of /dev/dmabuf_importer.
 *
 * The three names of each are explained in var_ops.h.  @imp is a descriptor of
 * the device, thus one context of it.
 */
#ifndef _SELFTESTS_IMPORTER_H
#define _SELFTESTS_IMPORTER_H

#include <stdint.h>

#include "dmabuf_importer.h"

#define IMPORTER_MODULE	"dmabuf_importer"
#define IMPORTER_DEVICE	"/dev/dmabuf_importer"

/**
 * importer_missing() - load the module, if need be
 *
 * The module is the file that the environment variable DMABUF_IMPORTER_KO names,
 * else the one that helper_open() finds, else what modprobe finds.
 *
 * Return: NULL, or why there is no importer, as the text for a SKIP.
 */
const char *importer_missing(void);

/**
 * _importer_load() - load the module
 * @parameters: for it
 *
 * Return: 0 or an errno, ENOENT if its file is not known.
 */
int _importer_load(const char *parameters);

/**
 * _importer_unload() - unload the module
 *
 * Return: 0 or an errno, EAGAIN while it is in use.
 */
int _importer_unload(void);

/**
 * _importer_open() - make a context
 * @imp: the descriptor
 *
 * A module of another version than this header is refused.
 *
 * Return: 0 or an errno, EPROTO for another version.
 */
int _importer_open(int *imp);

/**
 * importer_ioctl() - any command
 * @imp: the context
 * @cmd: the command
 * @arg: its argument
 *
 * Return: 0 or an errno.
 */
int importer_ioctl(int imp, unsigned long cmd, void *arg);

/**
 * importer_some_pci() - a PCI function of this machine
 * @pci: filled in with its address, 32 bytes
 *
 * For dma-bufs of ordinary memory, where it matters little which one it is.
 *
 * Return: 0, or ENODEV if there is none.
 */
int importer_some_pci(char *pci);

/**
 * _importer_attach() - DMABUF_IMPORTER_ATTACH
 * @imp: the context
 * @pci: PCI address of the device
 * @dmabuf: descriptor of the dma-buf
 * @flags: enum dmabuf_importer_attach_flags
 * @policy: enum dmabuf_importer_policy
 * @id: the attachment
 *
 * Return: 0 or an errno.
 */
int _importer_attach(int imp, const char *pci, int dmabuf, uint32_t flags, uint32_t policy,
		     uint32_t *id);

/**
 * _importer_detach() - DMABUF_IMPORTER_DETACH
 * @imp: the context
 * @id: the attachment
 *
 * Return: 0 or an errno.
 */
int _importer_detach(int imp, uint32_t id);

/**
 * _importer_map() - DMABUF_IMPORTER_MAP in both directions
 * @imp: the context
 * @id: the attachment
 * @length: bytes of the mapping, may be NULL
 *
 * Return: 0 or an errno.
 */
int _importer_map(int imp, uint32_t id, uint64_t *length);

/**
 * _importer_unmap() - DMABUF_IMPORTER_UNMAP
 * @imp: the context
 * @id: the attachment
 *
 * Return: 0 or an errno.
 */
int _importer_unmap(int imp, uint32_t id);

/**
 * _importer_entries() - DMABUF_IMPORTER_ENTRIES
 * @imp: the context
 * @id: the attachment
 * @first: entry to begin with
 * @entry: filled in
 * @count: entries there; those that were filled in
 *
 * Return: 0 or an errno.
 */
int _importer_entries(int imp, uint32_t id, uint32_t first, struct dmabuf_importer_entry *entry,
		      uint32_t *count);

/**
 * _importer_read() - DMABUF_IMPORTER_READ
 * @imp: the context
 * @id: the attachment
 * @offset: where in the dma-buf
 * @buf: filled in
 * @length: bytes
 *
 * Return: 0 or an errno.
 */
int _importer_read(int imp, uint32_t id, uint64_t offset, void *buf, uint32_t length);

/**
 * _importer_pin() - DMABUF_IMPORTER_PIN
 * @imp: the context
 * @id: the attachment
 *
 * Return: 0 or an errno.
 */
int _importer_pin(int imp, uint32_t id);

/**
 * _importer_unpin() - DMABUF_IMPORTER_UNPIN
 * @imp: the context
 * @id: the attachment
 *
 * Return: 0 or an errno.
 */
int _importer_unpin(int imp, uint32_t id);

/**
 * _importer_query() - DMABUF_IMPORTER_QUERY
 * @imp: the context
 * @id: the attachment
 * @query: filled in
 *
 * Return: 0 or an errno.
 */
int _importer_query(int imp, uint32_t id, struct dmabuf_importer_query *query);

/**
 * _importer_policy() - DMABUF_IMPORTER_SET_POLICY
 * @imp: the context
 * @id: the attachment
 * @policy: enum dmabuf_importer_policy
 *
 * Return: 0 or an errno.
 */
int _importer_policy(int imp, uint32_t id, uint32_t policy);

/**
 * _importer_release() - DMABUF_IMPORTER_RELEASE
 * @imp: the context
 * @id: the attachment
 *
 * Return: 0 or an errno.
 */
int _importer_release(int imp, uint32_t id);

/**
 * _importer_stall() - DMABUF_IMPORTER_STALL
 * @imp: the context
 * @id: the attachment
 * @limit_ms: longest time
 *
 * Return: 0 or an errno.
 */
int _importer_stall(int imp, uint32_t id, uint32_t limit_ms);

/**
 * _importer_resume() - DMABUF_IMPORTER_RESUME
 * @imp: the context
 * @id: the attachment
 *
 * Return: 0 or an errno.
 */
int _importer_resume(int imp, uint32_t id);

/**
 * _importer_hold_fence() - DMABUF_IMPORTER_HOLD_FENCE
 * @imp: the context
 * @id: the attachment
 * @usage: enum dmabuf_importer_usage
 * @limit_ms: longest time
 * @fence: the fence
 *
 * Return: 0 or an errno.
 */
int _importer_hold_fence(int imp, uint32_t id, uint32_t usage, uint32_t limit_ms,
			 uint32_t *fence);

/**
 * _importer_signal() - DMABUF_IMPORTER_SIGNAL
 * @imp: the context
 * @fence: the fence
 *
 * Return: 0 or an errno.
 */
int _importer_signal(int imp, uint32_t fence);

/**
 * _importer_export() - DMABUF_IMPORTER_EXPORT
 * @imp: the context
 * @export: what is asked for and what is returned
 *
 * Return: 0 or an errno.
 */
int _importer_export(int imp, struct dmabuf_importer_export *export);

/**
 * _importer_invalidate() - DMABUF_IMPORTER_INVALIDATE
 * @imp: the context
 * @id: the export
 * @flags: enum dmabuf_importer_invalidate_flags
 * @limit_ms: longest time of each wait
 * @mappings: those that are left
 *
 * Return: 0 or an errno.
 */
int _importer_invalidate(int imp, uint32_t id, uint32_t flags, uint32_t limit_ms,
			 uint32_t *mappings);

/**
 * _importer_export_query() - DMABUF_IMPORTER_EXPORT_QUERY
 * @imp: the context
 * @id: the export
 * @query: filled in
 *
 * Return: 0 or an errno.
 */
int _importer_export_query(int imp, uint32_t id, struct dmabuf_importer_export_query *query);

/**
 * _importer_export_resume() - DMABUF_IMPORTER_EXPORT_RESUME
 * @imp: the context
 * @id: the export
 *
 * Return: 0 or an errno.
 */
int _importer_export_resume(int imp, uint32_t id);

/**
 * _importer_event() - wait for the next event
 * @imp: the context
 * @event: filled in
 *
 * Return: 0, ETIMEDOUT if there is none within twenty seconds, or an errno.
 */
int _importer_event(int imp, struct dmabuf_importer_event *event);

/**
 * importer_has_event() - is there an event to be read?
 * @imp: the context
 *
 * Return: whether there is.
 */
int importer_has_event(int imp);

#define importer_open(imp)		ASSERT_EQ(0, _importer_open(imp))
#define importer_load(parameters)	ASSERT_EQ(0, _importer_load(parameters))
#define importer_load_err(err, parameters) \
					ASSERT_EQ(err, _importer_load(parameters))
#define importer_unload()		ASSERT_EQ(0, _importer_unload())
#define importer_unload_err(err)	ASSERT_EQ(err, _importer_unload())
#define importer_attach(imp, pci, dmabuf, flags, policy, id) \
	ASSERT_EQ(0, _importer_attach(imp, pci, dmabuf, flags, policy, id))
#define importer_attach_err(err, imp, pci, dmabuf, flags, policy) \
do { \
	uint32_t __id; \
	ASSERT_EQ(err, _importer_attach(imp, pci, dmabuf, flags, policy, &__id)); \
} while (0)
#define importer_detach(imp, id)	ASSERT_EQ(0, _importer_detach(imp, id))
#define importer_detach_err(err, imp, id) \
					ASSERT_EQ(err, _importer_detach(imp, id))
#define importer_map(imp, id)		ASSERT_EQ(0, _importer_map(imp, id, NULL))
#define importer_map_err(err, imp, id)	ASSERT_EQ(err, _importer_map(imp, id, NULL))
#define importer_unmap(imp, id)		ASSERT_EQ(0, _importer_unmap(imp, id))
#define importer_unmap_err(err, imp, id) \
					ASSERT_EQ(err, _importer_unmap(imp, id))
#define importer_entries(imp, id, first, entry, count) \
	ASSERT_EQ(0, _importer_entries(imp, id, first, entry, count))
#define importer_entries_err(err, imp, id, first, entry, room) \
do { \
	uint32_t __count = (room); \
	ASSERT_EQ(err, _importer_entries(imp, id, first, entry, &__count)); \
} while (0)
#define importer_read(imp, id, offset, buf, length) \
	ASSERT_EQ(0, _importer_read(imp, id, offset, buf, length))
#define importer_read_err(err, imp, id, offset, buf, length) \
	ASSERT_EQ(err, _importer_read(imp, id, offset, buf, length))
#define importer_pin(imp, id)		ASSERT_EQ(0, _importer_pin(imp, id))
#define importer_pin_err(err, imp, id)	ASSERT_EQ(err, _importer_pin(imp, id))
#define importer_unpin(imp, id)		ASSERT_EQ(0, _importer_unpin(imp, id))
#define importer_unpin_err(err, imp, id) \
					ASSERT_EQ(err, _importer_unpin(imp, id))
#define importer_query(imp, id, query)	ASSERT_EQ(0, _importer_query(imp, id, query))
#define importer_policy(imp, id, policy) \
					ASSERT_EQ(0, _importer_policy(imp, id, policy))
#define importer_policy_err(err, imp, id, policy) \
					ASSERT_EQ(err, _importer_policy(imp, id, policy))
#define importer_release(imp, id)	ASSERT_EQ(0, _importer_release(imp, id))
#define importer_release_err(err, imp, id) \
					ASSERT_EQ(err, _importer_release(imp, id))
#define importer_stall(imp, id, limit_ms) \
					ASSERT_EQ(0, _importer_stall(imp, id, limit_ms))
#define importer_stall_err(err, imp, id, limit_ms) \
					ASSERT_EQ(err, _importer_stall(imp, id, limit_ms))
#define importer_resume(imp, id)	ASSERT_EQ(0, _importer_resume(imp, id))
#define importer_resume_err(err, imp, id) \
					ASSERT_EQ(err, _importer_resume(imp, id))
#define importer_hold_fence(imp, id, usage, limit_ms, fence) \
	ASSERT_EQ(0, _importer_hold_fence(imp, id, usage, limit_ms, fence))
#define importer_hold_fence_err(err, imp, id, usage, limit_ms) \
do { \
	uint32_t __fence; \
	ASSERT_EQ(err, _importer_hold_fence(imp, id, usage, limit_ms, &__fence)); \
} while (0)
#define importer_signal(imp, fence)	ASSERT_EQ(0, _importer_signal(imp, fence))
#define importer_signal_err(err, imp, fence) \
					ASSERT_EQ(err, _importer_signal(imp, fence))
#define importer_export(imp, export)	ASSERT_EQ(0, _importer_export(imp, export))
#define importer_export_err(err, imp, export) \
					ASSERT_EQ(err, _importer_export(imp, export))
#define importer_export_query(imp, id, query) \
					ASSERT_EQ(0, _importer_export_query(imp, id, query))
#define importer_export_resume(imp, id)	ASSERT_EQ(0, _importer_export_resume(imp, id))
#define importer_export_resume_err(err, imp, id) \
					ASSERT_EQ(err, _importer_export_resume(imp, id))
#define importer_invalidate(imp, id, flags, left) \
do { \
	uint32_t __left = UINT32_MAX; \
	ASSERT_EQ(0, _importer_invalidate(imp, id, flags, 0, &__left)); \
	ASSERT_EQ((uint32_t)(left), __left); \
} while (0)
#define importer_invalidate_err(err, imp, id, flags, limit_ms) \
do { \
	uint32_t __left; \
	ASSERT_EQ(err, _importer_invalidate(imp, id, flags, limit_ms, &__left)); \
} while (0)
/* The next event is this one. */
#define importer_event(imp, what, of, is) \
do { \
	struct dmabuf_importer_event __event = {}; \
	ASSERT_EQ(0, _importer_event(imp, &__event)); \
	ASSERT_EQ((uint32_t)(what), __event.type); \
	ASSERT_EQ((uint32_t)(of), __event.id); \
	ASSERT_EQ((uint32_t)(is), __event.state); \
} while (0)

#endif /* _SELFTESTS_IMPORTER_H */
