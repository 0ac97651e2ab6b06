/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /dev/dmabuf_importer: what a program and the module say to each other.
 *
 * Private to this tree: the version changes whenever anything here does.  All
 * structures are of the same size and layout for programs of 32 and 64 bits.
 * What is reserved must be zero, and so must be what is only returned.
 *
 * Documentation/importer.rst has each command's errors.
 */
#ifndef DMABUF_IMPORTER_H
#define DMABUF_IMPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define DMABUF_IMPORTER_VERSION		2

/**
 * struct dmabuf_importer_version - what the module is
 * @version: DMABUF_IMPORTER_VERSION of the module
 * @max_hold_ms: longest time that anything can be held back, in milliseconds
 * @max_export: largest buffer that can be exported, in bytes
 */
struct dmabuf_importer_version {
	__u32 version;
	__u32 max_hold_ms;
	__u64 max_export;
};

/**
 * struct dmabuf_importer_id - names an attachment, a fence or an export
 * @id: of it
 * @reserved: zero
 */
struct dmabuf_importer_id {
	__u32 id;
	__u32 reserved;
};

/**
 * enum dmabuf_importer_attach_flags - kind of an attachment
 * @DMABUF_IMPORTER_STATIC: without importer operations, as dma_buf_attach() does
 * @DMABUF_IMPORTER_PEER2PEER: memory without pages is welcome
 * @DMABUF_IMPORTER_NO_CALLBACK: importer operations without invalidation
 */
enum dmabuf_importer_attach_flags {
	DMABUF_IMPORTER_STATIC		= 1 << 0,
	DMABUF_IMPORTER_PEER2PEER	= 1 << 1,
	DMABUF_IMPORTER_NO_CALLBACK	= 1 << 2,
};

/**
 * enum dmabuf_importer_policy - what the invalidation callback does
 * @DMABUF_IMPORTER_AT_ONCE: give the mapping back
 * @DMABUF_IMPORTER_ON_RELEASE: note it, and give the mapping back on
 *	DMABUF_IMPORTER_RELEASE
 * @DMABUF_IMPORTER_NEVER: count it, and nothing else
 */
enum dmabuf_importer_policy {
	DMABUF_IMPORTER_AT_ONCE,
	DMABUF_IMPORTER_ON_RELEASE,
	DMABUF_IMPORTER_NEVER,
};

/**
 * struct dmabuf_importer_attach - attach a device to a dma-buf
 * @fd: descriptor of the dma-buf
 * @flags: enum dmabuf_importer_attach_flags
 * @domain: PCI domain of the device
 * @bus: its bus
 * @devfn: its device number times 8 plus its function
 * @reserved: zero
 * @policy: enum dmabuf_importer_policy
 * @id: returned, of the attachment
 */
struct dmabuf_importer_attach {
	__s32 fd;
	__u32 flags;
	__u32 domain;
	__u8  bus;
	__u8  devfn;
	__u16 reserved;
	__u32 policy;
	__u32 id;
};

/**
 * struct dmabuf_importer_set_policy - change what the callback does
 * @id: of the attachment
 * @policy: enum dmabuf_importer_policy
 */
struct dmabuf_importer_set_policy {
	__u32 id;
	__u32 policy;
};

/**
 * struct dmabuf_importer_map - map the attachment
 * @id: of the attachment
 * @direction: as enum dma_data_direction: 0 both, 1 to the device, 2 from it
 * @nents: returned, entries of the mapping
 * @reserved: zero
 * @length: returned, bytes of all entries
 */
struct dmabuf_importer_map {
	__u32 id;
	__u32 direction;
	__u32 nents;
	__u32 reserved;
	__u64 length;
};

/**
 * struct dmabuf_importer_entry - a piece of the mapping
 * @address: where the device finds it
 * @length: bytes
 */
struct dmabuf_importer_entry {
	__u64 address;
	__u64 length;
};

/* Entries that one DMABUF_IMPORTER_ENTRIES can return. */
#define DMABUF_IMPORTER_MAX_ENTRIES	1024

/**
 * struct dmabuf_importer_entries - read the entries of the mapping
 * @id: of the attachment
 * @first: entry to begin with
 * @count: entries that @entries has room for; returned, how many were written
 * @reserved: zero
 * @entries: user address of struct dmabuf_importer_entry
 */
struct dmabuf_importer_entries {
	__u32 id;
	__u32 first;
	__u32 count;
	__u32 reserved;
	__u64 entries;
};

/* Bytes that one DMABUF_IMPORTER_READ can return. */
#define DMABUF_IMPORTER_MAX_READ	65536

/**
 * struct dmabuf_importer_read - read the memory of a mapped dma-buf by the CPU
 * @id: of the attachment
 * @length: bytes
 * @offset: where in the dma-buf
 * @data: user address to write them to
 */
struct dmabuf_importer_read {
	__u32 id;
	__u32 length;
	__u64 offset;
	__u64 data;
};

/**
 * enum dmabuf_importer_state - state of an attachment, and of an event
 * @DMABUF_IMPORTER_MAPPED: it has a mapping
 * @DMABUF_IMPORTER_PINNED: it is pinned
 * @DMABUF_IMPORTER_OWED: an invalidation has found a mapping that is there still
 * @DMABUF_IMPORTER_ARMED: the next call of the callback stalls
 * @DMABUF_IMPORTER_STALLED: the callback is being stalled
 * @DMABUF_IMPORTER_BY_LIMIT: events: because its time was over
 */
enum dmabuf_importer_state {
	DMABUF_IMPORTER_MAPPED		= 1 << 0,
	DMABUF_IMPORTER_PINNED		= 1 << 1,
	DMABUF_IMPORTER_OWED		= 1 << 2,
	DMABUF_IMPORTER_ARMED		= 1 << 3,
	DMABUF_IMPORTER_STALLED		= 1 << 4,
	DMABUF_IMPORTER_BY_LIMIT	= 1 << 5,
};

/**
 * struct dmabuf_importer_query - all that is known of an attachment
 * @id: of the attachment
 * @state: returned, enum dmabuf_importer_state
 * @flags: returned, enum dmabuf_importer_attach_flags
 * @policy: returned, enum dmabuf_importer_policy
 * @map_error: returned, errno of the last call of map, 0 if it succeeded
 * @nents: returned, entries of the mapping, 0 for none
 * @maps: returned, calls of map that succeeded
 * @unmaps: returned, calls of unmap
 * @unmaps_by_limit: returned, those among them because the time was over
 * @pins: returned, calls of pin that succeeded
 * @unpins: returned, calls of unpin
 * @invalidations: returned, calls of the callback
 * @last_state: returned, enum dmabuf_importer_state when it was called last
 * @fences: returned, fences held through this attachment and not signalled
 * @last_seq: returned, number of the event of that call
 * @last_time_ns: returned, when it was, by the monotonic clock
 */
struct dmabuf_importer_query {
	__u32 id;
	__u32 state;
	__u32 flags;
	__u32 policy;
	__u32 map_error;
	__u32 nents;
	__u32 maps;
	__u32 unmaps;
	__u32 unmaps_by_limit;
	__u32 pins;
	__u32 unpins;
	__u32 invalidations;
	__u32 last_state;
	__u32 fences;
	__u64 last_seq;
	__u64 last_time_ns;
};

/**
 * enum dmabuf_importer_usage - usage of a fence, as enum dma_resv_usage
 * @DMABUF_IMPORTER_KERNEL: nobody may touch the memory before
 * @DMABUF_IMPORTER_WRITE: somebody writes
 * @DMABUF_IMPORTER_USE_READ: somebody reads
 * @DMABUF_IMPORTER_BOOKKEEP: not for implicit synchronization
 */
enum dmabuf_importer_usage {
	DMABUF_IMPORTER_KERNEL,
	DMABUF_IMPORTER_WRITE,
	DMABUF_IMPORTER_USE_READ,
	DMABUF_IMPORTER_BOOKKEEP,
};

/**
 * struct dmabuf_importer_fence - hold a fence in the dma-buf's reservation object
 * @id: of the attachment
 * @usage: enum dmabuf_importer_usage
 * @limit_ms: it is signalled after that time, 0 for the longest
 * @fence: returned, id of the fence
 */
struct dmabuf_importer_fence {
	__u32 id;
	__u32 usage;
	__u32 limit_ms;
	__u32 fence;
};

/**
 * struct dmabuf_importer_stall - have the next call of the callback wait
 * @id: of the attachment
 * @limit_ms: it goes on after that time, 0 for the longest
 */
struct dmabuf_importer_stall {
	__u32 id;
	__u32 limit_ms;
};

/**
 * enum dmabuf_importer_export_flags - kind of an export
 * @DMABUF_IMPORTER_EXPORT_STATIC: without pin and unpin operations
 * @DMABUF_IMPORTER_EXPORT_CONTIGUOUS: the pages are one block at first; of those that
 *	it moves to no two are neighbours the first time, then they are one block again
 */
enum dmabuf_importer_export_flags {
	DMABUF_IMPORTER_EXPORT_STATIC		= 1 << 0,
	DMABUF_IMPORTER_EXPORT_CONTIGUOUS	= 1 << 1,
};

/**
 * struct dmabuf_importer_export - export a buffer as a dma-buf
 * @size: bytes, a multiple of the page size
 * @flags: enum dmabuf_importer_export_flags
 * @attach_error: errno that attaching fails with, 0 for none
 * @pin_error: errno that pinning fails with, 0 for none
 * @map_error: errno that mapping fails with, 0 for none
 * @map_error_nth: only that call of map fails, counted from 1; 0 for all
 * @map_stall_ms: a call of map waits for DMABUF_IMPORTER_EXPORT_RESUME, at most
 *	that time; 0 for no wait
 * @fd: returned, descriptor of the dma-buf
 * @id: returned, of the export
 */
struct dmabuf_importer_export {
	__u64 size;
	__u32 flags;
	__u32 attach_error;
	__u32 pin_error;
	__u32 map_error;
	__u32 map_error_nth;
	__u32 map_stall_ms;
	__s32 fd;
	__u32 id;
};

/**
 * enum dmabuf_importer_invalidate_flags - how to invalidate
 * @DMABUF_IMPORTER_REVOKE: mapping fails with ENODEV from then on
 * @DMABUF_IMPORTER_WAIT_FENCES: wait for all fences, with the reservation locked
 * @DMABUF_IMPORTER_WAIT_UNMAPPED: then wait until nobody has a mapping
 * @DMABUF_IMPORTER_MOVE: then, with the reservation locked still, move the content to
 *	other pages, which the next map leads to; with none but WAIT_FENCES
 */
enum dmabuf_importer_invalidate_flags {
	DMABUF_IMPORTER_REVOKE		= 1 << 0,
	DMABUF_IMPORTER_WAIT_FENCES	= 1 << 1,
	DMABUF_IMPORTER_WAIT_UNMAPPED	= 1 << 2,
	DMABUF_IMPORTER_MOVE		= 1 << 3,
};

/**
 * struct dmabuf_importer_invalidate - invalidate all mappings of an export
 * @id: of the export
 * @flags: enum dmabuf_importer_invalidate_flags
 * @limit_ms: longest time of each wait, 0 for the longest that there is
 * @mappings: returned, mappings that are left
 */
struct dmabuf_importer_invalidate {
	__u32 id;
	__u32 flags;
	__u32 limit_ms;
	__u32 mappings;
};

/**
 * enum dmabuf_importer_export_state - state of an export
 * @DMABUF_IMPORTER_EXPORT_ALIVE: its dma-buf has not been released
 * @DMABUF_IMPORTER_EXPORT_REVOKED: it cannot be mapped any more
 * @DMABUF_IMPORTER_EXPORT_STALLED: a call of map is waiting
 */
enum dmabuf_importer_export_state {
	DMABUF_IMPORTER_EXPORT_ALIVE	= 1 << 0,
	DMABUF_IMPORTER_EXPORT_REVOKED	= 1 << 1,
	DMABUF_IMPORTER_EXPORT_STALLED	= 1 << 2,
};

/**
 * struct dmabuf_importer_export_query - what importers did to an export
 * @id: of the export
 * @state: returned, enum dmabuf_importer_export_state
 * @attaches: returned, calls of attach that succeeded
 * @attaches_refused: returned, those that did not
 * @detaches: returned, calls of detach
 * @maps: returned, calls of map that succeeded
 * @maps_failed: returned, those that did not
 * @unmaps: returned, calls of unmap
 * @pins: returned, calls of pin that succeeded
 * @pins_failed: returned, those that did not
 * @unpins: returned, calls of unpin
 * @invalidations: returned, how often it was invalidated
 * @altered: returned, calls of unmap whose table had not the addresses and lengths any
 *	more that map had given it
 * @moves: returned, how often it has got other pages
 */
struct dmabuf_importer_export_query {
	__u32 id;
	__u32 state;
	__u32 attaches;
	__u32 attaches_refused;
	__u32 detaches;
	__u32 maps;
	__u32 maps_failed;
	__u32 unmaps;
	__u32 pins;
	__u32 pins_failed;
	__u32 unpins;
	__u32 invalidations;
	__u32 altered;
	__u32 moves;
};

/**
 * enum dmabuf_importer_event_type - what happened
 * @DMABUF_IMPORTER_EVENT_INVALIDATE: the callback was called; @state is that of
 *	the attachment at that time
 * @DMABUF_IMPORTER_EVENT_UNMAP: the callback, or the end of its time, has given
 *	a mapping back
 * @DMABUF_IMPORTER_EVENT_RESUME: a stalled callback goes on
 * @DMABUF_IMPORTER_EVENT_FENCE: a fence, @id, was signalled because its time was
 *	over
 * @DMABUF_IMPORTER_EVENT_MAP_STALL: somebody's map of the export @id has begun to
 *	wait
 * @DMABUF_IMPORTER_EVENT_MAP_RESUME: it goes on
 */
enum dmabuf_importer_event_type {
	DMABUF_IMPORTER_EVENT_INVALIDATE = 1,
	DMABUF_IMPORTER_EVENT_UNMAP,
	DMABUF_IMPORTER_EVENT_RESUME,
	DMABUF_IMPORTER_EVENT_FENCE,
	DMABUF_IMPORTER_EVENT_MAP_STALL,
	DMABUF_IMPORTER_EVENT_MAP_RESUME,
};

/* Events that are kept for read(); the oldest make room for new ones. */
#define DMABUF_IMPORTER_EVENTS	256

/**
 * struct dmabuf_importer_event - what read() returns, oldest first
 * @seq: number of the event, from 1; one that is missing was not kept
 * @time_ns: when it was, by the monotonic clock
 * @type: enum dmabuf_importer_event_type
 * @id: of the attachment, fence or export
 * @state: enum dmabuf_importer_state
 * @reserved: zero
 */
struct dmabuf_importer_event {
	__u64 seq;
	__u64 time_ns;
	__u32 type;
	__u32 id;
	__u32 state;
	__u32 reserved;
};

#define DMABUF_IMPORTER_TYPE	0xdb

#define DMABUF_IMPORTER_GET_VERSION \
	_IOR(DMABUF_IMPORTER_TYPE, 0x00, struct dmabuf_importer_version)
#define DMABUF_IMPORTER_ATTACH \
	_IOWR(DMABUF_IMPORTER_TYPE, 0x01, struct dmabuf_importer_attach)
#define DMABUF_IMPORTER_DETACH \
	_IOW(DMABUF_IMPORTER_TYPE, 0x02, struct dmabuf_importer_id)
#define DMABUF_IMPORTER_MAP \
	_IOWR(DMABUF_IMPORTER_TYPE, 0x03, struct dmabuf_importer_map)
#define DMABUF_IMPORTER_UNMAP \
	_IOW(DMABUF_IMPORTER_TYPE, 0x04, struct dmabuf_importer_id)
#define DMABUF_IMPORTER_ENTRIES \
	_IOWR(DMABUF_IMPORTER_TYPE, 0x05, struct dmabuf_importer_entries)
#define DMABUF_IMPORTER_READ \
	_IOW(DMABUF_IMPORTER_TYPE, 0x06, struct dmabuf_importer_read)
#define DMABUF_IMPORTER_PIN \
	_IOW(DMABUF_IMPORTER_TYPE, 0x07, struct dmabuf_importer_id)
#define DMABUF_IMPORTER_UNPIN \
	_IOW(DMABUF_IMPORTER_TYPE, 0x08, struct dmabuf_importer_id)
#define DMABUF_IMPORTER_QUERY \
	_IOWR(DMABUF_IMPORTER_TYPE, 0x09, struct dmabuf_importer_query)
#define DMABUF_IMPORTER_SET_POLICY \
	_IOW(DMABUF_IMPORTER_TYPE, 0x0a, struct dmabuf_importer_set_policy)
#define DMABUF_IMPORTER_RELEASE \
	_IOW(DMABUF_IMPORTER_TYPE, 0x0b, struct dmabuf_importer_id)
#define DMABUF_IMPORTER_STALL \
	_IOW(DMABUF_IMPORTER_TYPE, 0x0c, struct dmabuf_importer_stall)
#define DMABUF_IMPORTER_RESUME \
	_IOW(DMABUF_IMPORTER_TYPE, 0x0d, struct dmabuf_importer_id)
#define DMABUF_IMPORTER_HOLD_FENCE \
	_IOWR(DMABUF_IMPORTER_TYPE, 0x0e, struct dmabuf_importer_fence)
#define DMABUF_IMPORTER_SIGNAL \
	_IOW(DMABUF_IMPORTER_TYPE, 0x0f, struct dmabuf_importer_id)
#define DMABUF_IMPORTER_EXPORT \
	_IOWR(DMABUF_IMPORTER_TYPE, 0x10, struct dmabuf_importer_export)
#define DMABUF_IMPORTER_INVALIDATE \
	_IOWR(DMABUF_IMPORTER_TYPE, 0x11, struct dmabuf_importer_invalidate)
#define DMABUF_IMPORTER_EXPORT_QUERY \
	_IOWR(DMABUF_IMPORTER_TYPE, 0x12, struct dmabuf_importer_export_query)
#define DMABUF_IMPORTER_EXPORT_RESUME \
	_IOW(DMABUF_IMPORTER_TYPE, 0x13, struct dmabuf_importer_id)

#endif /* DMABUF_IMPORTER_H */
