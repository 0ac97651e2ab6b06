// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "connection.h"
#include "text.h"

#define PORT		1
#define GUARD_BYTE	0xa5
/* Long enough for the slowest machine: only what fails waits for it. */
#define DEADLINE_S	20

const struct connection_options connection_defaults = {
	.type = IBV_QPT_RC,
	.access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	.depth = 16,
	.inline_size = 64,
	.timeout = 8,
	.retries = 2,
	.rnr_retries = 7,
	.rnr_timer = 1,
	.psn = 0xfffffe,
};

static int end_modify_init(struct end *end, const struct connection_options *o)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = o->access,
	};

	return ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

int _end_make(struct ibv_pd *pd, const struct connection_options *o, struct end *end)
{
	struct ibv_qp_init_attr init = {
		.qp_type = o->type,
		.cap = {
			.max_send_wr = o->depth,
			.max_recv_wr = o->depth,
			.max_send_sge = 4,
			.max_recv_sge = 4,
			.max_inline_data = o->inline_size,
		},
	};
	struct ibv_port_attr port;
	int err;

	memset(end, 0, sizeof(*end));
	end->pd = pd;
	err = ibv_query_port(pd->context, PORT, &port);
	if (err)
		return err;
	end->lid = port.lid;
	if (ibv_query_gid(pd->context, PORT, 0, &end->gid))
		return errno;
	end->cq = ibv_create_cq(pd->context, 2 * o->depth, NULL, o->channel, 0);
	if (!end->cq)
		return errno;
	init.send_cq = end->cq;
	init.recv_cq = end->cq;
	end->qp = ibv_create_qp(pd, &init);
	if (!end->qp)
		return errno;
	return end_modify_init(end, o);
}

int _end_connect(struct end *end, const struct end *to, const struct connection_options *o)
{
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = to->qp->qp_num,
		.rq_psn = o->psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = o->rnr_timer,
		.ah_attr = {
			.port_num = PORT,
			.is_global = o->global,
			.dlid = o->global ? 0 : to->lid,
			.grh = { .dgid = to->gid, .hop_limit = 1 },
		},
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = o->psn,
		.timeout = o->timeout,
		.retry_cnt = o->retries,
		.rnr_retry = o->rnr_retries,
		.max_rd_atomic = 1,
	};
	bool rc = o->type == IBV_QPT_RC;
	int err;

	err = ibv_modify_qp(end->qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			    (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
	if (err)
		return err;
	return ibv_modify_qp(end->qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN |
			     (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			      IBV_QP_MAX_QP_RD_ATOMIC : 0));
}

int _end_reset(struct end *end)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	return ibv_modify_qp(end->qp, &attr, IBV_QP_STATE);
}

int _end_destroy(struct end *end)
{
	int err = 0;

	if (end->qp)
		err = ibv_destroy_qp(end->qp);
	if (end->cq && !err)
		err = ibv_destroy_cq(end->cq);
	memset(end, 0, sizeof(*end));
	return err;
}

int _end_wait(struct end *end, struct ibv_wc *wc)
{
	struct timespec now, begin;
	int n;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		n = ibv_poll_cq(end->cq, 1, wc);
		if (n < 0)
			return EIO;
		if (n)
			return 0;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec <= DEADLINE_S);
	return ETIMEDOUT;
}

int _end_event(struct end *end, enum ibv_event_type *type)
{
	struct pollfd fd = { .fd = end->pd->context->async_fd, .events = POLLIN };
	struct ibv_async_event event;
	int n;

	n = poll(&fd, 1, DEADLINE_S * 1000);
	if (n <= 0)
		return n ? errno : ETIMEDOUT;
	if (ibv_get_async_event(end->pd->context, &event))
		return errno;
	*type = event.event_type;
	n = event.element.qp == end->qp ? 0 : EPROTO;
	ibv_ack_async_event(&event);
	return n;
}

enum ibv_qp_state end_state(struct end *end)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init) ? IBV_QPS_UNKNOWN : attr.qp_state;
}

/* 251 is prime: the pattern does not repeat at the distances that bugs have. */
static uint8_t pattern(uint8_t seed, size_t i)
{
	return (i % 251) + (i / 251) * 3 + seed;
}

int _region_make(struct ibv_pd *pd, size_t len, size_t offset, int access,
		 struct region *region)
{
	size_t page = sysconf(_SC_PAGESIZE);

	memset(region, 0, sizeof(*region));
	region->map_size = (2 * page + offset + len + page) & ~(page - 1);
	region->map = mmap(NULL, region->map_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (region->map == MAP_FAILED) {
		region->map = NULL;
		return errno;
	}
	memset(region->map, GUARD_BYTE, region->map_size);
	region->data = region->map + page + offset;
	region->len = len;
	if (!len)
		return 0;
	memset(region->data, 0, len);
	region->mr = ibv_reg_mr(pd, region->data, len, access);
	return region->mr ? 0 : errno;
}

int _region_destroy(struct region *region)
{
	int err = region->mr ? ibv_dereg_mr(region->mr) : 0;

	if (region->map && !err && munmap(region->map, region->map_size))
		err = errno;
	memset(region, 0, sizeof(*region));
	return err;
}

void region_fill(struct region *region, uint8_t seed)
{
	size_t i;

	for (i = 0; i < region->len; i++)
		region->data[i] = pattern(seed, i);
}

bool region_holds(const struct region *region, size_t offset, size_t len, uint8_t seed,
		  size_t from)
{
	size_t i;

	for (i = 0; i < len; i++) {
		uint8_t expected = pattern(seed, from + i);

		if (region->data[offset + i] == expected)
			continue;
		diag("byte %zu of %zu: expected 0x%02x, seen 0x%02x", offset + i, region->len,
		     expected, region->data[offset + i]);
		return false;
	}
	return true;
}

bool region_is_guarded(const struct region *region)
{
	const uint8_t *p;

	for (p = region->map; p < region->map + region->map_size; p++) {
		if (p >= region->data && p < region->data + region->len)
			continue;
		if (*p == GUARD_BYTE)
			continue;
		diag("byte %td from the region of %zu: expected 0x%02x, seen 0x%02x",
		     p - region->data, region->len, GUARD_BYTE, *p);
		return false;
	}
	return true;
}

static struct ibv_sge whole(const struct region *region)
{
	return (struct ibv_sge) {
		.addr = (uintptr_t)region->data,
		.length = region->len,
		.lkey = region->mr->lkey,
	};
}

int _post(struct end *end, const struct ibv_send_wr *wr, const struct region *region)
{
	struct ibv_send_wr one = *wr, *bad;
	struct ibv_sge sge;

	one.send_flags |= IBV_SEND_SIGNALED;
	if (region && region->mr && !one.sg_list) {
		sge = whole(region);
		one.sg_list = &sge;
		one.num_sge = 1;
	}
	return ibv_post_send(end->qp, &one, &bad);
}

int _post_receive(struct end *end, uint64_t id, const struct region *region)
{
	struct ibv_recv_wr wr = { .wr_id = id }, *bad;
	struct ibv_sge sge;

	if (region && region->mr) {
		sge = whole(region);
		wr.sg_list = &sge;
		wr.num_sge = 1;
	}
	return ibv_post_recv(end->qp, &wr, &bad);
}

static uint32_t rkey_of(const struct region *region)
{
	return region->mr ? region->mr->rkey : 0;
}

struct ibv_send_wr rdma(enum ibv_wr_opcode opcode, const struct region *to)
{
	return (struct ibv_send_wr) {
		.wr_id = 1,
		.opcode = opcode,
		.wr.rdma = {
			.remote_addr = (uintptr_t)to->data,
			.rkey = rkey_of(to),
		},
	};
}

struct ibv_send_wr atomic(enum ibv_wr_opcode opcode, const struct region *to,
			  uint64_t compare_add, uint64_t swap)
{
	return (struct ibv_send_wr) {
		.wr_id = 1,
		.opcode = opcode,
		.wr.atomic = {
			.remote_addr = (uintptr_t)to->data,
			.compare_add = compare_add,
			.swap = swap,
			.rkey = rkey_of(to),
		},
	};
}
