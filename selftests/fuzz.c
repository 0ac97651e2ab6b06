// SPDX-License-Identifier: GPL-2.0
/*
 * Random input of the virtual HCA as a process without privileges gives it: work requests,
 * receive requests and doorbell records, written past the library into the queues of its
 * own, and DEVX commands.
 *
 * Around each region, and in regions of another context whose keys are known here, lie
 * canaries: they must not change, and must not turn up in memory of the process's own.
 *
 * It goes on for FUZZ_SECONDS, two if that is not said; FUZZ_SEED says which input it is.
 * What goes straight into the device, and far more of it, is in the KUnit suite mlx5_vhca_fuzz.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/connection.h"
#include "common/ifc.h"

#define CANARY		0xc0dec4fe5afe0bedULL
#define GUARD_RUN	16	/* bytes of a guard that nobody writes by chance */
#define REGION		8192u
#define REGIONS		4
#define ENDS		6
#define BB		64u
#define DS		16u
#define BATCH		16
#define DEVX_OBJECTS	24
#define UMEM		16384u

/* Opcodes of work requests that <infiniband/mlx5dv.h> does not have. */
#define OPCODE_COPY	0x2f

struct queue {
	struct end end;
	struct mlx5dv_qp qp;
	struct mlx5dv_cq cq;
	uint16_t send;
	uint16_t receive;
	uint32_t consumed;
};

FIXTURE(fuzz)
{
	struct bed bed;
	struct ibv_context *ctx;
	struct ibv_context *other;
	struct ibv_pd *pd;
	struct ibv_pd *other_pd;
	struct region own[REGIONS];
	struct region victim[REGIONS];
	struct queue queue[ENDS];
	struct end idle;
	uint64_t random;
	time_t end;
	unsigned long inputs;
};

/* xorshift64*: the same on every machine. */
static uint32_t any(uint64_t *random)
{
	*random ^= *random >> 12;
	*random ^= *random << 25;
	*random ^= *random >> 27;
	return *random * 0x2545f4914f6cdd1dULL >> 32;
}

static uint32_t below(uint64_t *random, uint32_t n)
{
	return (uint64_t)any(random) * n >> 32;
}

static bool one_in(uint64_t *random, uint32_t n)
{
	return !below(random, n);
}

static uint64_t value(uint64_t *random)
{
	switch (below(random, 6)) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return 1ULL << below(random, 64);
	case 3:
		return (1ULL << below(random, 64)) - 1;
	case 4:
		return below(random, 256);
	default:
		return (uint64_t)any(random) << 32 | any(random);
	}
}

/* Half of the time something becomes wrong. */
static void spoil(uint64_t *random, void *bytes, uint32_t len)
{
	unsigned int times = one_in(random, 2) ? 0 : 1 + below(random, 3);
	uint64_t v;

	while (times--) {
		v = value(random);
		memcpy((uint8_t *)bytes + below(random, len / 4) * 4, &v, 4);
	}
}

static int ready(struct queue *q, const struct end *to)
{
	struct connection_options options = connection_defaults;
	struct mlx5dv_obj obj = { .qp = { .in = q->end.qp, .out = &q->qp },
				  .cq = { .in = q->end.cq, .out = &q->cq } };

	options.type = q->end.qp->qp_type;
	options.rnr_retries = 1;
	options.retries = 1;
	q->send = 0;
	q->receive = 0;
	return _end_connect(&q->end, to, &options) ?:
	       mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ);
}

static int again(struct queue *q, const struct end *to)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = connection_defaults.access,
	};

	return _end_reset(&q->end) ?:
	       ibv_modify_qp(q->end.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS) ?:
	       ready(q, to);
}

static void fill_with_canaries(struct region *region)
{
	uint64_t *word = (uint64_t *)region->data;
	size_t i;

	for (i = 0; i < region->len / sizeof(*word); i++)
		word[i] = CANARY;
}

FIXTURE_SETUP(fuzz)
{
	const char *seconds = getenv("FUZZ_SECONDS"), *seed = getenv("FUZZ_SEED");
	struct connection_options options = connection_defaults;
	int i;

	if (!bed_make(_metadata, &self->bed, true))
		return;
	self->random = 0x9e3779b97f4a7c15ULL + (seed ? strtoull(seed, NULL, 0) : 1);
	self->end = time(NULL) + (seconds ? strtoul(seconds, NULL, 0) : 2);
	self->ctx = device_open(&self->bed.dev);
	self->other = device_open(&self->bed.dev);
	ASSERT_TRUE(self->ctx && self->other);
	self->pd = ibv_alloc_pd(self->ctx);
	self->other_pd = ibv_alloc_pd(self->other);
	ASSERT_TRUE(self->pd && self->other_pd);
	for (i = 0; i < REGIONS; i++) {
		region_make(self->pd, REGION, 100 * i, CONNECTION_ALL_ACCESS, &self->own[i]);
		region_make(self->other_pd, REGION, 0, CONNECTION_ALL_ACCESS,
			    &self->victim[i]);
		fill_with_canaries(&self->victim[i]);
	}
	end_make(self->other_pd, &options, &self->idle);
	end_connect(&self->idle, &self->idle, &options);
	for (i = 0; i < ENDS; i++) {
		options.type = i < 4 ? IBV_QPT_RC : IBV_QPT_UC;
		options.depth = 64;
		end_make(self->pd, &options, &self->queue[i].end);
	}
	for (i = 0; i < ENDS; i++)
		ASSERT_EQ(0, ready(&self->queue[i], &self->queue[i ^ 1].end));
}

FIXTURE_TEARDOWN(fuzz)
{
	int i;

	for (i = 0; i < ENDS; i++)
		EXPECT_EQ(0, _end_destroy(&self->queue[i].end));
	EXPECT_EQ(0, _end_destroy(&self->idle));
	for (i = 0; i < REGIONS; i++) {
		EXPECT_EQ(0, _region_destroy(&self->own[i]));
		EXPECT_EQ(0, _region_destroy(&self->victim[i]));
	}
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
	EXPECT_EQ(0, ibv_dealloc_pd(self->other_pd));
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	EXPECT_EQ(0, ibv_close_device(self->other));
	/* What a user does with its own queues is written down, and expected here. */
	self->bed.before.violations = vhca_violations(&self->bed.dev);
	bed_unmake(_metadata, &self->bed);
}

/* A key and what is behind it, of the own or of the other context. */
static struct mlx5_wqe_data_seg place(struct _test_data_fuzz *self)
{
	uint64_t *random = &self->random;
	const struct region *r = one_in(random, 4) ? &self->victim[below(random, REGIONS)] :
						     &self->own[below(random, REGIONS)];
	uint32_t skip = one_in(random, 2) ? 0 : below(random, REGION);
	struct mlx5_wqe_data_seg data = {
		.byte_count = htobe32(below(random, REGION - skip + 1)),
		.lkey = htobe32(r->mr->lkey),
		.addr = htobe64((uintptr_t)r->data + skip),
	};

	switch (below(random, 16)) {
	case 0:
		data.byte_count = htobe32(value(random));
		break;
	case 1:
		data.addr = htobe64((uintptr_t)r->data - 1 - below(random, 64));
		break;
	case 2:
		data.addr = htobe64((uintptr_t)r->data + REGION - below(random, 64));
		data.byte_count = htobe32(1 + below(random, 128));
		break;
	case 3:
		data.lkey ^= htobe32(1u << below(random, 32));
		break;
	}
	return data;
}

/* A work request of any kind; returns its bytes. */
static uint32_t request(struct _test_data_fuzz *self, const struct queue *q, uint16_t index,
			uint8_t wqe[16 * BB])
{
	static const uint8_t opcodes[] = {
		MLX5_OPCODE_NOP, MLX5_OPCODE_SEND, MLX5_OPCODE_SEND_IMM, MLX5_OPCODE_SEND_INVAL,
		MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE_IMM,
		MLX5_OPCODE_RDMA_READ, MLX5_OPCODE_RDMA_READ, MLX5_OPCODE_ATOMIC_CS,
		MLX5_OPCODE_ATOMIC_FA, MLX5_OPCODE_UMR, OPCODE_COPY,
	};
	uint64_t *random = &self->random;
	uint8_t opcode = one_in(random, 64) ? any(random) :
			 opcodes[below(random, ARRAY_SIZE(opcodes))];
	struct mlx5_wqe_data_seg data = place(self);
	struct mlx5_wqe_umr_ctrl_seg *umr;
	uint32_t at = sizeof(struct mlx5_wqe_ctrl_seg), n;

	memset(wqe, 0, 16 * BB);
	switch (opcode) {
	case MLX5_OPCODE_RDMA_WRITE:
	case MLX5_OPCODE_RDMA_WRITE_IMM:
	case MLX5_OPCODE_RDMA_READ:
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_FA:
		memcpy(wqe + at, &data.addr, 8);
		memcpy(wqe + at + 8, &data.lkey, 4);
		at += DS;
		if (opcode != MLX5_OPCODE_ATOMIC_CS && opcode != MLX5_OPCODE_ATOMIC_FA)
			break;
		at += DS;
		data = place(self);
		data.byte_count = htobe32(8);
		memcpy(wqe + at, &data, DS);
		at += DS;
		break;
	case MLX5_OPCODE_UMR:
		umr = (void *)(wqe + at);
		umr->flags = any(random) | MLX5_WQE_UMR_CTRL_FLAG_INLINE;
		umr->klm_octowords = htobe16(4);
		umr->mkey_mask = htobe64(value(random));
		at += sizeof(*umr);
		spoil(random, wqe + at, sizeof(struct mlx5_wqe_mkey_context_seg));
		at += sizeof(struct mlx5_wqe_mkey_context_seg);
		break;
	case OPCODE_COPY:
		at += DS;
		break;
	}
	for (n = below(random, 5); n; n--, at += DS) {
		struct mlx5_wqe_data_seg more = place(self);

		memcpy(wqe + at, &more, DS);
	}
	mlx5dv_set_ctrl_seg((void *)wqe, index, opcode, opcode == OPCODE_COPY,
			    q->end.qp->qp_num,
			    any(random) | (one_in(random, 2) ? MLX5_WQE_CTRL_CQ_UPDATE : 0),
			    one_in(random, 32) ? below(random, 64) : at / DS, 0, data.lkey);
	if (one_in(random, 8))
		spoil(random, wqe, at);
	else
		spoil(random, wqe + DS, at > DS ? at - DS : 4);
	return at;
}

static void ring(__be32 *record, uint32_t word)
{
	/* What is rung for is there before. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(record, htobe32(word), __ATOMIC_RELEASE);
}

static void post_any(struct _test_data_fuzz *self, struct queue *q)
{
	const uint32_t mask = q->qp.sq.wqe_cnt - 1;
	uint64_t *random = &self->random;
	uint8_t wqe[16 * BB];
	uint32_t len, i;

	len = request(self, q, q->send, wqe);
	for (i = 0; i * BB < len; i++)
		memcpy((uint8_t *)q->qp.sq.buf + ((q->send + i) & mask) * q->qp.sq.stride,
		       wqe + i * BB, BB);
	q->send = one_in(random, 128) ? any(random) : q->send + i;
	ring(&q->qp.dbrec[MLX5_SND_DBR], q->send);
}

static void post_receive_any(struct _test_data_fuzz *self, struct queue *q)
{
	uint64_t *random = &self->random;
	struct mlx5_wqe_data_seg *data;
	uint32_t i;

	data = (void *)((uint8_t *)q->qp.rq.buf +
			(q->receive & (q->qp.rq.wqe_cnt - 1)) * q->qp.rq.stride);
	for (i = 0; i < q->qp.rq.stride / DS; i++)
		data[i] = place(self);
	spoil(random, data, q->qp.rq.stride);
	q->receive = one_in(random, 128) ? any(random) : (uint16_t)(q->receive + 1);
	ring(&q->qp.dbrec[MLX5_RCV_DBR], q->receive);
}

/* Go past what has completed, or say something else; and ask for an event. */
static void consume_any(struct _test_data_fuzz *self, struct queue *q)
{
	const uint8_t *entry;
	uint8_t own;

	for (;;) {
		entry = (uint8_t *)q->cq.buf +
			(q->consumed & (q->cq.cqe_cnt - 1)) * q->cq.cqe_size;
		own = __atomic_load_n(entry + q->cq.cqe_size - 1, __ATOMIC_ACQUIRE);
		if (own >> 4 == 0xf || (own & 1) != !!(q->consumed & q->cq.cqe_cnt))
			break;
		q->consumed++;
	}
	ring(&q->cq.dbrec[0], (one_in(&self->random, 64) ? any(&self->random) :
			       q->consumed) & 0xffffff);
	if (one_in(&self->random, 4))
		ring(&q->cq.dbrec[1], any(&self->random));
}

/* Why something that is not the process's was reached, or NULL. */
static const char *reached(struct _test_data_fuzz *self)
{
	uint8_t run[GUARD_RUN];
	uint64_t canary = CANARY;
	size_t i, j;

	for (i = 0; i < REGIONS; i++) {
		const uint64_t *word = (const uint64_t *)self->victim[i].data;

		for (j = 0; j < REGION / sizeof(*word); j++)
			if (word[j] != CANARY)
				return "a region of another context has changed";
		if (!region_is_guarded(&self->victim[i]) || !region_is_guarded(&self->own[i]))
			return "memory beside a region has changed";
		if (memmem(self->own[i].data, REGION, &canary, sizeof(canary)))
			return "bytes of another context's region have arrived";
		memset(run, self->own[i].map[0], sizeof(run));
		if (memmem(self->own[i].data, REGION, run, sizeof(run)))
			return "bytes from beside a region have arrived";
	}
	return NULL;
}

#define ASSERT_NOT_REACHED() \
do { \
	const char *__why = reached(self); \
	ASSERT_EQ(NULL, __why) \
		TH_LOG("%s, within %lu inputs, SEED=%s", __why, self->inputs, \
		       getenv("FUZZ_SEED") ?: "1"); \
} while (0)

static const struct timespec moment = { .tv_nsec = 200 * 1000 };

TEST_F(fuzz, work_requests)
{
	unsigned long resets = 0;
	int i, err;

	marker_expect("mlx5_vhca: .* (violation: |violation_add: |not modelled)");
	marker_expect("vhca_violation_add: .* suppressed");
	/* Another consumer index than the true one makes a completion queue look full. */
	marker_expect("mlx5_core .*: cq_err_event_notifier:.* CQ error on CQN ");
	while (time(NULL) < self->end) {
		for (i = 0; i < BATCH; i++) {
			struct queue *q = &self->queue[below(&self->random, ENDS)];

			switch (below(&self->random, 6)) {
			case 0:
				consume_any(self, q);
				break;
			case 1:
				post_receive_any(self, q);
				break;
			default:
				post_any(self, q);
				break;
			}
			self->inputs++;
		}
		nanosleep(&moment, NULL);
		for (i = 0; i < ENDS; i++) {
			if (end_state(&self->queue[i].end) == IBV_QPS_RTS)
				continue;
			err = again(&self->queue[i], &self->queue[i ^ 1].end);
			/* On its way it may get a request of the other end that ends it. */
			if (err)
				ASSERT_ENUM(IBV_QPS_ERR, end_state(&self->queue[i].end));
			resets += !err;
		}
		ASSERT_NOT_REACHED();
	}
	/* The other context's queue pair had nothing to do with it. */
	ASSERT_ENUM(IBV_QPS_RTS, end_state(&self->idle));
	TH_LOG("%lu inputs, %lu resets", self->inputs, resets);
	ASSERT_NE(0ul, resets);
	for (i = 0; i < ENDS; i++)
		ASSERT_EQ(0, _end_reset(&self->queue[i].end));
}

/* Objects that were made by DEVX, and memory for queues in them. */
struct devx {
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_devx_uar *uar;
	struct mlx5dv_devx_obj *object[DEVX_OBJECTS];
	uint16_t opcode[DEVX_OBJECTS];
	uint32_t number[DEVX_OBJECTS];
	uint32_t eqn;
	unsigned long made;
};

/* A number of the own or another context: they are small, and easily guessed. */
static uint32_t guess(struct _test_data_fuzz *self, uint32_t first)
{
	return one_in(&self->random, 16) ? any(&self->random) : first + below(&self->random, 24);
}

/* The context of a queue pair, a completion queue and so on, with numbers that are guessed. */
static void devx_body(struct _test_data_fuzz *self, const struct devx *d, uint16_t opcode,
		      void *in)
{
	uint64_t *random = &self->random;
	void *context;

	switch (opcode) {
	case MLX5_CMD_OP_CREATE_QP:
		context = DEVX_ADDR_OF(create_qp_in, in, qpc);
		DEVX_SET(qpc, context, st, below(random, 16));
		DEVX_SET(qpc, context, pd, guess(self, 1));
		DEVX_SET(qpc, context, cqn_snd, guess(self, 0x40));
		DEVX_SET(qpc, context, cqn_rcv, guess(self, 0x40));
		DEVX_SET(qpc, context, uar_page, d->uar->page_id);
		DEVX_SET(qpc, context, log_rq_size, below(random, 5));
		DEVX_SET(qpc, context, log_sq_size, below(random, 5));
		DEVX_SET(qpc, context, rq_type, below(random, 4));
		DEVX_SET(qpc, context, rlky, one_in(random, 4));
		DEVX_SET64(qpc, context, dbr_addr, below(random, 64) * 64);
		((__be32 *)context)[0x720 / 32] = htobe32(d->umem->umem_id);
		DEVX_SET(create_qp_in, in, wq_umem_id, d->umem->umem_id);
		DEVX_SET64(create_qp_in, in, wq_umem_offset, 4096 + below(random, 4) * 1024);
		break;
	case MLX5_CMD_OP_CREATE_CQ:
		context = DEVX_ADDR_OF(create_cq_in, in, cq_context);
		DEVX_SET(cqc, context, log_cq_size, below(random, 6));
		DEVX_SET(cqc, context, uar_page, d->uar->page_id);
		DEVX_SET(cqc, context, c_eqn_or_apu_element, d->eqn);
		DEVX_SET64(cqc, context, dbr_addr, below(random, 64) * 64);
		((__be32 *)context)[0x20 / 32] = htobe32(d->umem->umem_id);
		((__be32 *)in)[0x2c0 / 32] = htobe32(d->umem->umem_id);
		((__be32 *)in)[0x280 / 32 + 1] = htobe32(8192);
		break;
	case MLX5_CMD_OP_CREATE_DCT:
		context = DEVX_ADDR_OF(create_dct_in, in, dct_context_entry);
		DEVX_SET(dctc, context, pd, guess(self, 1));
		DEVX_SET(dctc, context, cqn, guess(self, 0x40));
		DEVX_SET(dctc, context, srqn_xrqn, guess(self, 0x1000));
		break;
	case MLX5_CMD_OP_CREATE_MKEY:
		context = DEVX_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
		DEVX_SET(mkc, context, access_mode_1_0, below(random, 4));
		DEVX_SET(mkc, context, pd, guess(self, 1));
		DEVX_SET(mkc, context, umr_en, 1);
		DEVX_SET(mkc, context, lr, 1);
		DEVX_SET(mkc, context, lw, 1);
		DEVX_SET(mkc, context, qpn, 0xffffff);
		DEVX_SET64(mkc, context, len, REGION);
		DEVX_SET(mkc, context, translations_octword_size, below(random, 16));
		break;
	}
}

/* With less the driver itself writes beyond what it has of the command (L26). */
#define SHORTEST	272

static void devx_create(struct _test_data_fuzz *self, struct devx *d)
{
	static const uint16_t opcodes[] = {
		MLX5_CMD_OP_CREATE_QP, MLX5_CMD_OP_CREATE_QP, MLX5_CMD_OP_CREATE_CQ,
		MLX5_CMD_OP_CREATE_DCT, MLX5_CMD_OP_CREATE_MKEY, MLX5_CMD_OP_ALLOC_PD,
		MLX5_CMD_OP_CREATE_RMP, MLX5_CMD_OP_CREATE_XRC_SRQ, MLX5_CMD_OP_ALLOC_XRCD,
		MLX5_CMD_OP_CREATE_GENERAL_OBJECT, MLX5_CMD_OP_CREATE_SQ,
		MLX5_CMD_OP_ALLOC_FLOW_COUNTER,
	};
	uint32_t in[1024 / 4] = {}, out[256 / 4] = {};
	uint64_t *random = &self->random;
	uint16_t opcode = opcodes[below(random, ARRAY_SIZE(opcodes))];
	unsigned int i = below(random, DEVX_OBJECTS);

	if (d->object[i] && mlx5dv_devx_obj_destroy(d->object[i]))
		return;	/* another is on it */
	d->object[i] = NULL;
	devx_body(self, d, opcode, in);
	spoil(random, in + 2, sizeof(in) / 2 - 8);
	DEVX_SET(alloc_pd_in, in, opcode, opcode);
	d->object[i] = mlx5dv_devx_obj_create(self->ctx, in, one_in(random, 8) ?
					      SHORTEST + below(random, sizeof(in) + 1 - SHORTEST) :
					      sizeof(in),
					      out, one_in(random, 8) ?
					      16 + below(random, sizeof(out) - 15) : sizeof(out));
	if (!d->object[i])
		return;
	d->opcode[i] = opcode;
	d->number[i] = be32toh(out[2]) & 0xffffff;
	d->made++;
}

/* One that was made is modified or asked for, and what its queues lie in is scribbled on. */
static void devx_use(struct _test_data_fuzz *self, struct devx *d, uint8_t *memory)
{
	static const uint16_t opcodes[] = {
		MLX5_CMD_OP_RST2INIT_QP, MLX5_CMD_OP_INIT2RTR_QP, MLX5_CMD_OP_RTR2RTS_QP,
		MLX5_CMD_OP_2ERR_QP, MLX5_CMD_OP_2RST_QP, MLX5_CMD_OP_QUERY_QP,
		MLX5_CMD_OP_MODIFY_CQ, MLX5_CMD_OP_QUERY_MKEY, MLX5_CMD_OP_QUERY_DCT,
	};
	uint32_t in[1024 / 4] = {}, out[1024 / 4] = {};
	unsigned int i = below(&self->random, DEVX_OBJECTS), step;
	uint64_t *random = &self->random;

	if (!d->object[i])
		return;
	spoil(random, in + 3, sizeof(in) / 2 - 12);
	for (step = 0; step < 3; step++) {
		bool up = d->opcode[i] == MLX5_CMD_OP_CREATE_QP && !one_in(random, 4);
		uint16_t opcode = up ? opcodes[step] :
				  opcodes[below(random, ARRAY_SIZE(opcodes))];

		DEVX_SET(dealloc_pd_in, in, opcode, opcode);
		DEVX_SET(dealloc_pd_in, in, pd, d->number[i]);
		if (step == 1)
			DEVX_SET(init2rtr_qp_in, in, qpc.remote_qpn, d->number[i]);
		if (opcode == MLX5_CMD_OP_QUERY_QP || opcode == MLX5_CMD_OP_QUERY_MKEY ||
		    opcode == MLX5_CMD_OP_QUERY_DCT)
			mlx5dv_devx_obj_query(d->object[i], in, sizeof(in), out, sizeof(out));
		else
			mlx5dv_devx_obj_modify(d->object[i], in, sizeof(in), out, sizeof(out));
		self->inputs++;
	}
	/* Requests in each block, and a record that counts one more. */
	for (i = 4096; i + BB <= UMEM; i += BB) {
		uint8_t wqe[16 * BB];

		request(self, &self->queue[0], 0, wqe);
		memcpy(memory + i, wqe, BB);
	}
	for (i = 0; i < 4096; i += 8)
		ring((__be32 *)(memory + i + 4 * one_in(random, 2)), below(random, 16));
}

static void devx_general(struct _test_data_fuzz *self)
{
	static const uint16_t opcodes[] = {
		MLX5_CMD_OP_QUERY_HCA_CAP, MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT,
		MLX5_CMD_OP_QUERY_ADAPTER, MLX5_CMD_OP_QUERY_ISSI, MLX5_CMD_OP_NOP,
		MLX5_CMD_OP_QUERY_LAG,
	};
	uint32_t in[256 / 4] = {}, out[8192 / 4];
	uint64_t *random = &self->random;

	spoil(random, in + 1, sizeof(in) - 4);
	DEVX_SET(alloc_pd_in, in, opcode, one_in(random, 8) ? any(random) :
		 opcodes[below(random, ARRAY_SIZE(opcodes))]);
	mlx5dv_devx_general_cmd(self->ctx, in, 16 + below(random, sizeof(in) - 15), out,
				16 + below(random, sizeof(out) - 15));
	self->inputs++;
}

TEST_F(fuzz, devx)
{
	uint8_t *memory = aligned_alloc(4096, UMEM);
	struct devx d = {};
	int i;

	ASSERT_NE(NULL, memory);
	memset(memory, 0, UMEM);
	marker_expect("mlx5_vhca: .* (violation: |not modelled|not RAM, refused)");
	marker_expect("vhca_(violation_add|dma_pointer): .* suppressed");
	/* A completion queue that was made too small is full. */
	marker_expect("mlx5_core .*: cq_err_event_notifier:.* CQ error on CQN ");
	d.umem = mlx5dv_devx_umem_reg(self->ctx, memory, UMEM, IBV_ACCESS_LOCAL_WRITE);
	if (!d.umem)
		SKIP(goto out, "no DEVX");
	d.uar = mlx5dv_devx_alloc_uar(self->ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	ASSERT_NE(NULL, d.uar);
	ASSERT_EQ(0, mlx5dv_devx_query_eqn(self->ctx, 0, &d.eqn));
	while (time(NULL) < self->end) {
		for (i = 0; i < BATCH; i++) {
			switch (below(&self->random, 4)) {
			case 0:
				devx_general(self);
				break;
			case 1:
				devx_use(self, &d, memory);
				break;
			default:
				devx_create(self, &d);
				self->inputs++;
				break;
			}
		}
		ASSERT_NOT_REACHED();
	}
	ASSERT_ENUM(IBV_QPS_RTS, end_state(&self->idle));
	TH_LOG("%lu inputs, %lu objects made", self->inputs, d.made);
	ASSERT_NE(0ul, d.made);
	/* In reverse: some are on others. */
	for (i = 0; i < 2 * DEVX_OBJECTS; i++)
		if (d.object[i % DEVX_OBJECTS] &&
		    !mlx5dv_devx_obj_destroy(d.object[i % DEVX_OBJECTS]))
			d.object[i % DEVX_OBJECTS] = NULL;
	for (i = 0; i < DEVX_OBJECTS; i++)
		ASSERT_EQ(NULL, d.object[i]);
	mlx5dv_devx_free_uar(d.uar);
	ASSERT_EQ(0, mlx5dv_devx_umem_dereg(d.umem));
out:
	free(memory);
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
