/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two queue pairs that are connected to each other, and memory to move between
 * them.
 *
 * The three names of each operation are explained in var_ops.h.
 */
#ifndef _SELFTESTS_CONNECTION_H
#define _SELFTESTS_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define CONNECTION_ALL_ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | \
				 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

/**
 * struct connection_options - what a connection is like
 * @type: IBV_QPT_RC or IBV_QPT_UC
 * @access: what the other side may do (IBV_ACCESS_REMOTE_*)
 * @global: name the other side by its GID, not by its LID
 * @depth: work requests of each queue
 * @inline_size: bytes that can be sent inline
 * @timeout: as in struct ibv_qp_attr, like all that follow
 * @retries: how often a packet that is lost is sent again
 * @rnr_retries: how often one that nobody was ready for is, 7 for ever
 * @rnr_timer: when
 * @psn: of the first packet
 * @channel: where its completion queue can call, or NULL
 */
struct connection_options {
	enum ibv_qp_type type;
	int access;
	bool global;
	int depth;
	int inline_size;
	int timeout;
	int retries;
	int rnr_retries;
	int rnr_timer;
	uint32_t psn;
	struct ibv_comp_channel *channel;
};

/* Loss is found out within milliseconds, unreadiness never. */
extern const struct connection_options connection_defaults;

/**
 * struct end - one end of a connection
 * @pd: protection domain, the caller's
 * @cq: completions of both queues
 * @qp: the queue pair
 * @lid: address of its port
 * @gid: the same
 */
struct end {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint16_t lid;
	union ibv_gid gid;
};

/**
 * _end_make() - make a queue pair that is able to be connected
 * @pd: protection domain
 * @options: what it will be like
 * @end: filled in
 *
 * Return: 0 or an errno.
 */
int _end_make(struct ibv_pd *pd, const struct connection_options *options, struct end *end);

/**
 * _end_connect() - connect one end to another, in this direction only
 * @end: the end
 * @to: the other one
 * @options: what the connection is like
 *
 * Return: 0 or an errno.
 */
int _end_connect(struct end *end, const struct end *to, const struct connection_options *options);

/**
 * _end_reset() - move an end's queue pair to RESET
 * @end: the end
 *
 * Return: 0 or an errno.
 */
int _end_reset(struct end *end);

/**
 * _end_destroy() - destroy queue pair and completion queue
 * @end: the end
 *
 * Return: 0 or an errno.
 */
int _end_destroy(struct end *end);

/**
 * _end_wait() - wait for a completion
 * @end: the end
 * @wc: filled in
 *
 * Return: 0, ETIMEDOUT if there is none within twenty seconds, or an errno.
 */
int _end_wait(struct end *end, struct ibv_wc *wc);

/**
 * _end_event() - wait for an asynchronous event of an end's queue pair
 * @end: the end
 * @event: its type
 *
 * Return: 0, ETIMEDOUT if there is none within twenty seconds, EPROTO if it is
 * of something else, or an errno.
 */
int _end_event(struct end *end, enum ibv_event_type *event);

/**
 * end_state() - the state of an end's queue pair, as the device says
 * @end: the end
 *
 * Return: the state, or IBV_QPS_UNKNOWN if it cannot be had.
 */
enum ibv_qp_state end_state(struct end *end);

#define end_make(pd, options, end)	ASSERT_EQ(0, _end_make(pd, options, end))
#define end_connect(end, to, options)	ASSERT_EQ(0, _end_connect(end, to, options))
#define end_reset(end)			ASSERT_EQ(0, _end_reset(end))
#define end_destroy(end)		ASSERT_EQ(0, _end_destroy(end))

/* The next completion is that of the request with this id, and has this status. */
#define end_wait(end, id, wanted, wc) \
do { \
	ASSERT_EQ(0, _end_wait(end, wc)); \
	ASSERT_EQ((uint64_t)(id), (wc)->wr_id); \
	ASSERT_ENUM(wanted, (wc)->status) \
		TH_LOG("%s", ibv_wc_status_str((wc)->status)); \
} while (0)

/**
 * struct region - registered memory with guard bytes on either side
 * @map: all of it
 * @map_size: bytes of that
 * @data: the registered part
 * @len: bytes of that
 * @mr: its memory region
 */
struct region {
	uint8_t *map;
	size_t map_size;
	uint8_t *data;
	size_t len;
	struct ibv_mr *mr;
};

/**
 * _region_make() - allocate memory and register it
 * @pd: protection domain
 * @len: bytes to register, may be 0 to register none
 * @offset: where in a page they begin
 * @access: IBV_ACCESS_*
 * @region: filled in; the memory has a pattern of its own
 *
 * Return: 0 or an errno.
 */
int _region_make(struct ibv_pd *pd, size_t len, size_t offset, int access,
		 struct region *region);

/**
 * _region_destroy() - deregister and free
 * @region: the region
 *
 * Return: 0 or an errno.
 */
int _region_destroy(struct region *region);

/**
 * region_fill() - write a pattern
 * @region: the region
 * @seed: which pattern; no two of 1 to 255 have a byte in common at a place
 */
void region_fill(struct region *region, uint8_t seed);

/**
 * region_holds() - compare a part of a region with a pattern
 * @region: the region
 * @offset: where the part begins
 * @len: bytes of it
 * @seed: which pattern
 * @from: which byte of the pattern comes first
 *
 * The first difference is written as a diagnostic.
 *
 * Return: whether it is the same.
 */
bool region_holds(const struct region *region, size_t offset, size_t len, uint8_t seed,
		  size_t from);

/**
 * region_is_guarded() - look at the memory around a region
 * @region: the region
 *
 * Return: whether it is as _region_make() left it.
 */
bool region_is_guarded(const struct region *region);

#define region_make(pd, len, offset, access, region) \
	ASSERT_EQ(0, _region_make(pd, len, offset, access, region))
#define region_destroy(region)	ASSERT_EQ(0, _region_destroy(region))

/* All of it has this pattern and nothing around it was touched. */
#define ASSERT_REGION(region, seed) \
do { \
	ASSERT_TRUE(region_holds(region, 0, (region)->len, seed, 0)); \
	ASSERT_TRUE(region_is_guarded(region)); \
} while (0)

/**
 * _post() - post one request that is signaled
 * @end: the end
 * @wr: the request; its list of segments is that of @region if it has none
 * @region: memory, or NULL
 *
 * Return: 0 or an errno.
 */
int _post(struct end *end, const struct ibv_send_wr *wr, const struct region *region);

/**
 * _post_receive() - post a receive request
 * @end: the end
 * @id: its id
 * @region: where the message goes, NULL for a message of no bytes
 *
 * Return: 0 or an errno.
 */
int _post_receive(struct end *end, uint64_t id, const struct region *region);

#define post(end, wr, region)		ASSERT_EQ(0, _post(end, wr, region))
#define post_receive(end, id, region)	ASSERT_EQ(0, _post_receive(end, id, region))

/**
 * rdma() - a request that reads or writes all of a region
 * @opcode: IBV_WR_RDMA_*
 * @to: the region at the other end
 *
 * Return: the request, with id 1.
 */
struct ibv_send_wr rdma(enum ibv_wr_opcode opcode, const struct region *to);

/**
 * atomic() - an atomic request
 * @opcode: IBV_WR_ATOMIC_*
 * @to: the region at the other end, whose first eight bytes are the operand
 * @compare_add: what to compare with or to add
 * @swap: what to swap in
 *
 * Return: the request, with id 1.
 */
struct ibv_send_wr atomic(enum ibv_wr_opcode opcode, const struct region *to,
			  uint64_t compare_add, uint64_t swap);

/* Enumerators are signed and enumerations are not: compare them as numbers. */
#define ASSERT_ENUM(wanted, seen)	ASSERT_EQ((int)(wanted), (int)(seen))

#endif /* _SELFTESTS_CONNECTION_H */
