// SPDX-License-Identifier: GPL-2.0
/*
 * The device's data path, and what it refuses: what the two sides are told, and
 * that the memory that must not be reached was not.
 */
#include <stdlib.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/connection.h"
#include "common/dm_ops.h"
#include "common/ifc.h"

#define SEED_FROM	7
#define SEED_TO		101

FIXTURE(refusal)
{
	struct bed bed;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_pd *foreign_pd;
	struct connection_options options;
	struct end a;
	struct end b;
	struct region from;
	struct region to;
	struct ibv_wc wc;
};

FIXTURE_SETUP(refusal)
{
	if (!bed_make(_metadata, &self->bed, true))
		return;
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	self->pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, self->pd);
	self->foreign_pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, self->foreign_pd);
	self->options = connection_defaults;
	end_make(self->pd, &self->options, &self->a);
	end_make(self->pd, &self->options, &self->b);
	region_make(self->pd, 4096, 100, CONNECTION_ALL_ACCESS, &self->from);
	region_make(self->pd, 4096, 200, CONNECTION_ALL_ACCESS, &self->to);
	region_fill(&self->from, SEED_FROM);
	region_fill(&self->to, SEED_TO);
}

FIXTURE_TEARDOWN(refusal)
{
	EXPECT_EQ(0, _end_destroy(&self->a));
	EXPECT_EQ(0, _end_destroy(&self->b));
	EXPECT_EQ(0, _region_destroy(&self->from));
	EXPECT_EQ(0, _region_destroy(&self->to));
	EXPECT_EQ(0, ibv_dealloc_pd(self->foreign_pd));
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	bed_unmake(_metadata, &self->bed);
}

#define connect_ends() \
do { \
	end_connect(&self->a, &self->b, &self->options); \
	end_connect(&self->b, &self->a, &self->options); \
} while (0)

/* Both regions are as they were made. */
#define ASSERT_UNTOUCHED() \
do { \
	ASSERT_REGION(&self->from, SEED_FROM); \
	ASSERT_REGION(&self->to, SEED_TO); \
} while (0)

/*
 * The request fails with this status, what was posted behind it is flushed, and
 * both its queue pair and the other side's are in the error state or not.
 */
#define ASSERT_REFUSED(wr, wanted, other_fails) \
do { \
	const enum ibv_qp_state __other = (other_fails) ? IBV_QPS_ERR : IBV_QPS_RTS; \
	struct ibv_send_wr __next = { .wr_id = 77, .opcode = IBV_WR_SEND }; \
	post(&self->a, wr, &self->from); \
	post(&self->a, &__next, NULL); \
	end_wait(&self->a, (wr)->wr_id, wanted, &self->wc); \
	end_wait(&self->a, 77, IBV_WC_WR_FLUSH_ERR, &self->wc); \
	ASSERT_ENUM(IBV_QPS_ERR, end_state(&self->a)); \
	ASSERT_ENUM(__other, end_state(&self->b)); \
	ASSERT_UNTOUCHED(); \
} while (0)

/* The ends again in the state that the set-up has made. */
#define renew_ends() \
do { \
	end_destroy(&self->a); \
	end_destroy(&self->b); \
	end_make(self->pd, &self->options, &self->a); \
	end_make(self->pd, &self->options, &self->b); \
} while (0)

/* A key that never was, a variant that is not, and one that was deregistered. */
TEST_F(refusal, remote_key)
{
	struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, &self->to);
	struct region gone;
	uint32_t keys[3];
	size_t i;

	region_make(self->pd, 4096, 0, CONNECTION_ALL_ACCESS, &gone);
	keys[0] = 0xfffff00;
	keys[1] = self->to.mr->rkey ^ 1;
	keys[2] = gone.mr->rkey;
	region_destroy(&gone);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		enum ibv_event_type event;

		connect_ends();
		wr.wr.rdma.rkey = keys[i];
		ASSERT_REFUSED(&wr, IBV_WC_REM_ACCESS_ERR, true);
		ASSERT_EQ(0, _end_event(&self->b, &event));
		ASSERT_ENUM(IBV_EVENT_QP_ACCESS_ERR, event);
		renew_ends();
	}
}

/* Keys of an address that was registered again: the old one has died. */
TEST_F(refusal, registered_again)
{
	struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, &self->to);
	struct ibv_mr *second;

	connect_ends();
	ASSERT_EQ(0, ibv_rereg_mr(self->to.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ));
	ASSERT_REFUSED(&wr, IBV_WC_REM_ACCESS_ERR, true);
	renew_ends();

	/* Another region on the same memory is another matter. */
	connect_ends();
	second = ibv_reg_mr(self->pd, self->to.data, self->to.len, CONNECTION_ALL_ACCESS);
	ASSERT_NE(NULL, second);
	wr.wr.rdma.rkey = second->rkey;
	post(&self->a, &wr, &self->from);
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
	ASSERT_REGION(&self->to, SEED_FROM);
	mr_dereg(second);
}

/* One byte too far at either end, and around the end of all addresses. */
TEST_F(refusal, remote_bounds)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ };
	const uintptr_t begin = (uintptr_t)self->to.data;
	const uint64_t addresses[] = { begin + 1, begin - 1, begin + self->to.len,
				       UINT64_MAX - 100, 0 };
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		for (j = 0; j < ARRAY_SIZE(addresses); j++) {
			struct ibv_send_wr wr = rdma(opcodes[i], &self->to);

			connect_ends();
			wr.wr.rdma.remote_addr = addresses[j];
			ASSERT_REFUSED(&wr, IBV_WC_REM_ACCESS_ERR, true);
			renew_ends();
		}
	}
}

/*
 * A message of several pieces of which only the last one is out of bounds: not
 * even the first one arrives.
 */
TEST_F(refusal, remote_bounds_of_a_long_message)
{
	struct region from, to;

	region_make(self->pd, 1 << 18, 0, 0, &from);
	region_make(self->pd, (1 << 18) - 1, 0, CONNECTION_ALL_ACCESS, &to);
	struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, &to);

	region_fill(&from, SEED_FROM);
	region_fill(&to, SEED_TO);
	connect_ends();
	post(&self->a, &wr, &from);
	end_wait(&self->a, 1, IBV_WC_REM_ACCESS_ERR, &self->wc);
	ASSERT_REGION(&to, SEED_TO);
	region_destroy(&from);
	region_destroy(&to);
}

/* The region lacks the right that the operation needs. */
TEST_F(refusal, remote_rights)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		int access;
	} cases[] = {
		{ IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE },
		{ IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_ACCESS_REMOTE_ATOMIC },
	};
	struct region word;
	size_t i;

	region_make(self->pd, 8, 0, IBV_ACCESS_LOCAL_WRITE, &word);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ibv_send_wr wr = { .wr_id = 1, .opcode = cases[i].opcode };
		uint64_t address = ((uintptr_t)self->to.data + 7) & ~7ULL;
		struct ibv_mr *mr;

		mr = ibv_reg_mr(self->pd, self->to.data, self->to.len,
				CONNECTION_ALL_ACCESS & ~cases[i].access);
		ASSERT_NE(NULL, mr);
		connect_ends();
		if (cases[i].access == IBV_ACCESS_REMOTE_ATOMIC) {
			wr.wr.atomic.remote_addr = address;
			wr.wr.atomic.rkey = mr->rkey;
			wr.wr.atomic.compare_add = 1;
			post(&self->a, &wr, &word);
			end_wait(&self->a, 1, IBV_WC_REM_ACCESS_ERR, &self->wc);
			ASSERT_UNTOUCHED();
		} else {
			wr.wr.rdma.remote_addr = (uintptr_t)self->to.data;
			wr.wr.rdma.rkey = mr->rkey;
			ASSERT_REFUSED(&wr, IBV_WC_REM_ACCESS_ERR, true);
		}
		renew_ends();
		mr_dereg(mr);
	}
	region_destroy(&word);
}

/* The queue pair lacks the right, however much the region grants. */
TEST_F(refusal, rights_of_the_queue_pair)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		int access;
	} cases[] = {
		{ IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE },
		{ IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC },
	};
	struct region word, to;
	enum ibv_event_type event;
	size_t i;

	region_make(self->pd, 8, 0, CONNECTION_ALL_ACCESS, &word);
	region_make(self->pd, 8, 0, CONNECTION_ALL_ACCESS, &to);
	region_fill(&to, SEED_TO);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ibv_send_wr wr = rdma(cases[i].opcode, &to);

		if (cases[i].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
			wr = atomic(cases[i].opcode, &to, 1, 0);
		self->options.access = connection_defaults.access & ~cases[i].access;
		renew_ends();
		connect_ends();
		post(&self->a, &wr, &word);
		end_wait(&self->a, 1, IBV_WC_REM_INV_REQ_ERR, &self->wc);
		ASSERT_EQ(0, _end_event(&self->b, &event));
		ASSERT_ENUM(IBV_EVENT_QP_REQ_ERR, event);
		ASSERT_ENUM(IBV_QPS_ERR, end_state(&self->b));
		ASSERT_REGION(&to, SEED_TO);
	}
	region_destroy(&word);
	region_destroy(&to);
}

/* The other side's region is of another protection domain than its queue pair. */
TEST_F(refusal, foreign_domain_there)
{
	struct ibv_mr *mr = ibv_reg_mr(self->foreign_pd, self->to.data, self->to.len,
				       CONNECTION_ALL_ACCESS);
	struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, &self->to);

	ASSERT_NE(NULL, mr);
	connect_ends();
	wr.wr.rdma.rkey = mr->rkey;
	ASSERT_REFUSED(&wr, IBV_WC_REM_ACCESS_ERR, true);
	mr_dereg(mr);
}

/*
 * What can be wrong with the sender's own memory: the domain, the bounds, the
 * variant, and for an answer the right to write.  The other side hears nothing.
 */
TEST_F(refusal, local)
{
	struct ibv_mr *foreign, *read_only;
	struct ibv_sge sges[5];
	size_t i;

	foreign = ibv_reg_mr(self->foreign_pd, self->from.data, self->from.len,
			     IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, foreign);
	read_only = ibv_reg_mr(self->pd, self->from.data, self->from.len, 0);
	ASSERT_NE(NULL, read_only);
	for (i = 0; i < ARRAY_SIZE(sges); i++)
		sges[i] = (struct ibv_sge) {
			.addr = (uintptr_t)self->from.data,
			.length = self->from.len,
			.lkey = self->from.mr->lkey,
		};
	sges[0].lkey = foreign->lkey;
	sges[1].addr += 1;
	sges[2].addr -= 1;
	sges[3].lkey ^= 1;
	sges[4].lkey = read_only->lkey;
	for (i = 0; i < ARRAY_SIZE(sges); i++) {
		const bool answer = i == 4;
		struct ibv_send_wr wr = rdma(answer ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
					     &self->to);

		wr.sg_list = &sges[i];
		wr.num_sge = 1;
		connect_ends();
		ASSERT_REFUSED(&wr, IBV_WC_LOC_PROT_ERR, false);
		renew_ends();
	}
	mr_dereg(foreign);
	mr_dereg(read_only);
}

/* An atomic operation on an address that is not a multiple of eight. */
TEST_F(refusal, misaligned_atomic)
{
	struct region word;

	region_make(self->pd, 8, 0, IBV_ACCESS_LOCAL_WRITE, &word);
	struct ibv_send_wr wr = atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, &self->to, 1, 0);

	wr.wr.atomic.remote_addr = ((uintptr_t)self->to.data & ~7ULL) + 12;
	connect_ends();
	post(&self->a, &wr, &word);
	end_wait(&self->a, 1, IBV_WC_REM_INV_REQ_ERR, &self->wc);
	ASSERT_UNTOUCHED();
	region_destroy(&word);
}

/* A message that is one byte longer than the receiver's memory. */
TEST_F(refusal, receive_too_small)
{
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND };
	struct region small;

	region_make(self->pd, self->from.len - 1, 0, IBV_ACCESS_LOCAL_WRITE, &small);
	region_fill(&small, SEED_TO);
	connect_ends();
	post_receive(&self->b, 2, &small);
	post_receive(&self->b, 3, &small);
	ASSERT_REFUSED(&wr, IBV_WC_REM_INV_REQ_ERR, true);
	end_wait(&self->b, 2, IBV_WC_LOC_LEN_ERR, &self->wc);
	end_wait(&self->b, 3, IBV_WC_WR_FLUSH_ERR, &self->wc);
	ASSERT_REGION(&small, SEED_TO);
	region_destroy(&small);
}

/* The receiver's own memory does not allow it: it is told so, the sender of a failure. */
TEST_F(refusal, receive_into_what_is_not_writable)
{
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND };
	struct region read_only;

	region_make(self->pd, self->from.len, 0, 0, &read_only);
	region_fill(&read_only, SEED_TO);
	connect_ends();
	post_receive(&self->b, 2, &read_only);
	ASSERT_REFUSED(&wr, IBV_WC_REM_OP_ERR, true);
	end_wait(&self->b, 2, IBV_WC_LOC_PROT_ERR, &self->wc);
	ASSERT_REGION(&read_only, SEED_TO);
	region_destroy(&read_only);
}

/* No receive request, for longer than the sender tries.  The receiver is not to blame. */
TEST_F(refusal, receiver_not_ready)
{
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND };

	self->options.rnr_retries = 2;
	connect_ends();
	ASSERT_REFUSED(&wr, IBV_WC_RNR_RETRY_EXC_ERR, false);
}

/* The sender tries for ever, and when the receiver is ready the message arrives. */
TEST_F(refusal, receiver_ready_later)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE_WITH_IMM };
	struct ibv_wc wc;
	size_t i, j;

	connect_ends();
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct ibv_send_wr wr = rdma(opcodes[i], &self->to);

		region_fill(&self->to, SEED_TO);
		post(&self->a, &wr, &self->from);
		/* More than once, however slow the machine is. */
		for (j = 0; j < 50; j++) {
			ASSERT_EQ(0, ibv_poll_cq(self->a.cq, 1, &wc));
			ASSERT_ENUM(IBV_QPS_RTS, end_state(&self->a));
		}
		post_receive(&self->b, 2, &self->to);
		end_wait(&self->a, 1, IBV_WC_SUCCESS, &wc);
		end_wait(&self->b, 2, IBV_WC_SUCCESS, &wc);
		ASSERT_REGION(&self->to, SEED_FROM);
	}
}

/* Nobody at the other end: never connected, reset, destroyed, or with another number. */
TEST_F(refusal, nobody_there)
{
	struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, &self->to);
	struct connection_options other;
	struct end third;

	end_connect(&self->a, &self->b, &self->options);
	post(&self->a, &wr, &self->from);
	end_wait(&self->a, 1, IBV_WC_RETRY_EXC_ERR, &self->wc);
	ASSERT_ENUM(IBV_QPS_INIT, end_state(&self->b));
	ASSERT_UNTOUCHED();

	renew_ends();
	connect_ends();
	end_reset(&self->b);
	post(&self->a, &wr, &self->from);
	end_wait(&self->a, 1, IBV_WC_RETRY_EXC_ERR, &self->wc);
	ASSERT_UNTOUCHED();

	renew_ends();
	connect_ends();
	end_destroy(&self->b);
	post(&self->a, &wr, &self->from);
	end_wait(&self->a, 1, IBV_WC_RETRY_EXC_ERR, &self->wc);
	ASSERT_UNTOUCHED();

	/* Connected, but to somebody else. */
	end_make(self->pd, &self->options, &self->b);
	end_make(self->pd, &self->options, &third);
	end_connect(&self->b, &third, &self->options);
	end_reset(&self->a);
	end_destroy(&self->a);
	end_make(self->pd, &self->options, &self->a);
	end_connect(&self->a, &self->b, &self->options);
	post(&self->a, &wr, &self->from);
	end_wait(&self->a, 1, IBV_WC_RETRY_EXC_ERR, &self->wc);
	ASSERT_ENUM(IBV_QPS_RTS, end_state(&self->b));
	ASSERT_UNTOUCHED();
	end_destroy(&third);

	/* Connected, but they do not agree on the first packet's number. */
	renew_ends();
	other = self->options;
	other.psn -= 5;
	end_connect(&self->a, &self->b, &self->options);
	end_connect(&self->b, &self->a, &other);
	post(&self->a, &wr, &self->from);
	end_wait(&self->a, 1, IBV_WC_RETRY_EXC_ERR, &self->wc);
	ASSERT_UNTOUCHED();

	/* A port that there is not. */
	renew_ends();
	self->b.lid = 0x1234;
	end_connect(&self->a, &self->b, &self->options);
	post(&self->a, &wr, &self->from);
	end_wait(&self->a, 1, IBV_WC_RETRY_EXC_ERR, &self->wc);
	ASSERT_UNTOUCHED();
}

/* The other end comes to life while the sender still tries. */
TEST_F(refusal, there_later)
{
	struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, &self->to);

	self->options.timeout = 14;
	self->options.retries = 7;
	end_connect(&self->a, &self->b, &self->options);
	post(&self->a, &wr, &self->from);
	end_connect(&self->b, &self->a, &self->options);
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
	ASSERT_REGION(&self->to, SEED_FROM);
}

/* A queue pair that was reset works as a new one does. */
TEST_F(refusal, works_again_after_reset)
{
	struct ibv_send_wr bad = rdma(IBV_WR_RDMA_WRITE, &self->to), good = bad;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = connection_defaults.access,
	};
	struct end *end[] = { &self->a, &self->b };
	size_t i;

	connect_ends();
	bad.wr.rdma.rkey ^= 1;
	ASSERT_REFUSED(&bad, IBV_WC_REM_ACCESS_ERR, true);
	for (i = 0; i < ARRAY_SIZE(end); i++) {
		end_reset(end[i]);
		ASSERT_EQ(0, ibv_modify_qp(end[i]->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					   IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	}
	connect_ends();
	post(&self->a, &good, &self->from);
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
	ASSERT_REGION(&self->to, SEED_FROM);
}

/* Move to the error state by hand: what is posted in both queues is flushed. */
TEST_F(refusal, flush)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND };
	int i;

	connect_ends();
	post_receive(&self->a, 50, NULL);
	post_receive(&self->a, 51, NULL);
	/* Nobody is ready for this one, and it is tried for ever. */
	post(&self->a, &wr, &self->from);
	ASSERT_EQ(0, ibv_modify_qp(self->a.qp, &attr, IBV_QP_STATE));
	wr.wr_id = 2;
	post(&self->a, &wr, &self->from);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, _end_wait(&self->a, &self->wc));
		ASSERT_ENUM(IBV_WC_WR_FLUSH_ERR, self->wc.status);
	}
	ASSERT_ENUM(IBV_QPS_RTS, end_state(&self->b));
	/* It must not arrive any more. */
	post_receive(&self->b, 3, &self->to);
	ASSERT_ENUM(IBV_QPS_RTS, end_state(&self->b));
	ASSERT_UNTOUCHED();
}

/*
 * Unconnected: the sender hears of nothing, and what cannot be done is dropped.
 * The device counts what it drops.
 */
static int64_t lost(const struct device *dev)
{
	struct vhca_file file;
	int64_t count = -1;
	unsigned int i;

	if (vhca_open(dev, "info", &file))
		return -1;
	for (i = 0; i < file.count; i++)
		if (!strncmp(file.record[i], "stats ", 6))
			count = vhca_number(file.record[i], "packets_lost");
	vhca_close(&file);
	return count;
}

TEST_F(refusal, unconnected_is_dropped)
{
	struct ibv_send_wr bad = rdma(IBV_WR_RDMA_WRITE, &self->to), good = bad;
	struct ibv_send_wr send = { .wr_id = 1, .opcode = IBV_WR_SEND };
	struct region small;
	int64_t before;

	self->options.type = IBV_QPT_UC;
	renew_ends();
	connect_ends();
	region_make(self->pd, 64, 0, IBV_ACCESS_LOCAL_WRITE, &small);
	region_fill(&small, SEED_TO);
	before = lost(&self->bed.dev);
	ASSERT_LE(0, before);

	bad.wr.rdma.rkey ^= 1;
	post(&self->a, &bad, &self->from);
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
	ASSERT_EQ(before + 1, lost(&self->bed.dev));
	/* Nothing is posted. */
	post(&self->a, &send, &self->from);
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
	ASSERT_EQ(before + 2, lost(&self->bed.dev));
	/* Too little is posted; it remains so. */
	post_receive(&self->b, 2, &small);
	post(&self->a, &send, &self->from);
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
	ASSERT_EQ(before + 3, lost(&self->bed.dev));
	ASSERT_REGION(&small, SEED_TO);
	ASSERT_UNTOUCHED();
	ASSERT_ENUM(IBV_QPS_RTS, end_state(&self->b));
	ASSERT_EQ(0, ibv_poll_cq(self->b.cq, 1, &self->wc));

	/* And the next message is taken. */
	post(&self->a, &good, &self->from);
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
	ASSERT_REGION(&self->to, SEED_FROM);
	ASSERT_EQ(before + 3, lost(&self->bed.dev));
	region_destroy(&small);
}

/* Bind a memory window of type 2 to a part of a region. */
static struct ibv_send_wr bind_window(struct ibv_mw *mw, struct ibv_mr *mr, uint64_t address,
				      uint64_t length)
{
	return (struct ibv_send_wr) {
		.wr_id = 10,
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = {
				.mr = mr,
				.addr = address,
				.length = length,
				.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
			},
		},
	};
}

#define WINDOW	1024

/*
 * A memory window shows a part of a region, to the queue pair that it was bound
 * on and to no other, until the other side invalidates it.
 */
TEST_F(refusal, memory_window)
{
	const uint64_t begin = (uintptr_t)self->to.data + 512;
	struct ibv_send_wr bind, wr = { .wr_id = 1, .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_send_wr inval = { .wr_id = 3, .opcode = IBV_WR_SEND_WITH_INV };
	struct region from;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	uint32_t rkey;
	int i;

	region_make(self->pd, WINDOW, 0, 0, &from);
	region_fill(&from, SEED_FROM);
	mr = ibv_reg_mr(self->pd, self->to.data, self->to.len,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	ASSERT_NE(NULL, mr);
	mw = ibv_alloc_mw(self->pd, IBV_MW_TYPE_2);
	ASSERT_NE(NULL, mw);
	for (i = 0; i < 4; i++) {
		const bool good = i == 0 || i == 3;

		connect_ends();
		bind = bind_window(mw, mr, begin, WINDOW);
		rkey = bind.bind_mw.rkey;
		post(&self->b, &bind, NULL);
		end_wait(&self->b, 10, IBV_WC_SUCCESS, &self->wc);
		mw->rkey = rkey;
		region_fill(&self->to, SEED_TO);

		/* Within it; a byte before; a byte behind; within it, then no more. */
		wr.wr.rdma.rkey = rkey;
		wr.wr.rdma.remote_addr = begin + (i == 1 ? -1 : i == 2 ? 1 : 0);
		post(&self->a, &wr, &from);
		end_wait(&self->a, 1, good ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR, &self->wc);
		ASSERT_TRUE(region_holds(&self->to, 0, 512, SEED_TO, 0));
		ASSERT_TRUE(region_holds(&self->to, 512, WINDOW, good ? SEED_FROM : SEED_TO,
					 good ? 0 : 512));
		ASSERT_TRUE(region_holds(&self->to, 512 + WINDOW, self->to.len - 512 - WINDOW,
					 SEED_TO, 512 + WINDOW));
		if (i == 3) {
			post_receive(&self->b, 4, NULL);
			inval.invalidate_rkey = rkey;
			post(&self->a, &inval, NULL);
			end_wait(&self->a, 3, IBV_WC_SUCCESS, &self->wc);
			end_wait(&self->b, 4, IBV_WC_SUCCESS, &self->wc);
			ASSERT_TRUE(!!(self->wc.wc_flags & IBV_WC_WITH_INV));
			ASSERT_EQ(rkey, self->wc.invalidated_rkey);
			region_fill(&self->to, SEED_TO);
			post(&self->a, &wr, &from);
			end_wait(&self->a, 1, IBV_WC_REM_ACCESS_ERR, &self->wc);
			ASSERT_UNTOUCHED();
		}
		/* What was bound to the old queue pair is not good for the new one. */
		ASSERT_EQ(0, ibv_dealloc_mw(mw));
		mw = ibv_alloc_mw(self->pd, IBV_MW_TYPE_2);
		ASSERT_NE(NULL, mw);
		renew_ends();
	}
	ASSERT_EQ(0, ibv_dealloc_mw(mw));
	mr_dereg(mr);
	region_destroy(&from);
}

/* The window of one queue pair, used through another of the same domain. */
TEST_F(refusal, memory_window_of_another)
{
	struct ibv_send_wr bind, wr = rdma(IBV_WR_RDMA_WRITE, &self->to);
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct end c, d;

	mr = ibv_reg_mr(self->pd, self->to.data, self->to.len,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	ASSERT_NE(NULL, mr);
	mw = ibv_alloc_mw(self->pd, IBV_MW_TYPE_2);
	ASSERT_NE(NULL, mw);
	end_make(self->pd, &self->options, &c);
	end_make(self->pd, &self->options, &d);
	end_connect(&c, &d, &self->options);
	end_connect(&d, &c, &self->options);
	connect_ends();
	bind = bind_window(mw, mr, (uintptr_t)self->to.data, self->to.len);
	post(&d, &bind, NULL);
	end_wait(&d, 10, IBV_WC_SUCCESS, &self->wc);
	wr.wr.rdma.rkey = bind.bind_mw.rkey;
	ASSERT_REFUSED(&wr, IBV_WC_REM_ACCESS_ERR, true);
	post(&c, &wr, &self->from);
	end_wait(&c, 1, IBV_WC_SUCCESS, &self->wc);
	ASSERT_REGION(&self->to, SEED_FROM);
	ASSERT_EQ(0, ibv_dealloc_mw(mw));
	end_destroy(&c);
	end_destroy(&d);
	mr_dereg(mr);
}

/*
 * A work request that the library does not make: UMR on the user's own region, so
 * that it leads to any physical address, or belongs to another domain, or is
 * longer than it was.
 */
struct umr_request {
	struct mlx5_wqe_ctrl_seg ctrl;
	struct mlx5_wqe_umr_ctrl_seg umr;
	struct mlx5_wqe_mkey_context_seg mkc;
	__be64 mtt[8];
};

TEST_F(refusal, umr_of_physical_addresses)
{
	static const uint64_t masks[] = {
		0,
		1ULL << 0,	/* length */
		1ULL << 7,	/* protection domain */
		1ULL << 29,	/* free */
	};
	const uint32_t key = self->to.mr->lkey;
	struct mlx5dv_qp dv = {};
	struct mlx5dv_obj obj = { .qp = { .in = self->a.qp, .out = &dv } };
	struct umr_request *wqe;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		connect_ends();
		obj.qp.in = self->a.qp;
		ASSERT_EQ(0, mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP));
		wqe = dv.sq.buf;
		memset(wqe, 0, sizeof(*wqe));
		mlx5dv_set_ctrl_seg(&wqe->ctrl, 0, MLX5_OPCODE_UMR, 0, self->a.qp->qp_num,
				    MLX5_WQE_CTRL_CQ_UPDATE, sizeof(*wqe) / 16, 0, htobe32(key));
		wqe->umr.flags = MLX5_WQE_UMR_CTRL_FLAG_INLINE;
		wqe->umr.mkey_mask = htobe64(masks[i]);
		wqe->mkc.len = htobe64(1 << 30);
		wqe->mkc.qpn_mkey = htobe32(0xffffff00 | (key & 0xff));
		if (!masks[i]) {
			wqe->umr.klm_octowords = htobe16(sizeof(wqe->mtt) / 16);
			for (j = 0; j < ARRAY_SIZE(wqe->mtt); j++)
				wqe->mtt[j] = htobe64(0x100000 | 3);
		}
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		dv.dbrec[MLX5_SND_DBR] = htobe32((sizeof(*wqe) + 63) / 64);
		ASSERT_EQ(0, _end_wait(&self->a, &self->wc));
		ASSERT_ENUM(IBV_WC_MW_BIND_ERR, self->wc.status);
		renew_ends();
	}
	/* The region is what it was. */
	connect_ends();
	struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, &self->to);

	post(&self->a, &wr, &self->from);
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
	ASSERT_REGION(&self->to, SEED_FROM);
}

/* What a stranger tries: everything of its own, and only the key is not. */
static int stranger(const char *device, uint32_t rkey, uint64_t address, int opcode)
{
	struct device dev = {};
	struct region region;
	struct ibv_context *ctx;
	struct end a, b;
	struct ibv_wc wc;
	struct ibv_pd *pd;

	if (setgid(65534) || setuid(65534))
		return 200;
	snprintf(dev.name, sizeof(dev.name), "%s", device);
	ctx = device_open(&dev);
	if (!ctx)
		return 201;
	pd = ibv_alloc_pd(ctx);
	if (!pd || _end_make(pd, &connection_defaults, &a) ||
	    _end_make(pd, &connection_defaults, &b) ||
	    _end_connect(&a, &b, &connection_defaults) ||
	    _end_connect(&b, &a, &connection_defaults) ||
	    _region_make(pd, 64, 0, CONNECTION_ALL_ACCESS, &region))
		return 202;
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.wr.rdma = { .remote_addr = address, .rkey = rkey },
	};
	struct ibv_send_wr own = {
		.opcode = opcode,
		.wr.rdma = { .remote_addr = (uintptr_t)region.data, .rkey = region.mr->rkey },
	};

	/* It can do this to itself: so the refusal is of the key. */
	if (_post(&a, &own, &region) || _end_wait(&a, &wc) || wc.status != IBV_WC_SUCCESS)
		return 203;
	region_fill(&region, 33);
	if (_post(&a, &wr, &region) || _end_wait(&a, &wc))
		return 204;
	if (!region_holds(&region, 0, 64, 33, 0))
		return 205;
	return wc.status;
}

/* A process without privileges that knows key and address of another's region. */
TEST_F(refusal, other_process)
{
	static const int opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ };
	int status;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		pid_t pid = fork();

		ASSERT_LE(0, pid);
		if (!pid)
			_exit(stranger(self->bed.dev.name, self->to.mr->rkey,
				       (uintptr_t)self->to.data, opcodes[i]));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_TRUE(WIFEXITED(status));
		ASSERT_ENUM(IBV_WC_REM_ACCESS_ERR, WEXITSTATUS(status));
		ASSERT_UNTOUCHED();
	}
}

/* What a queue pair that is made by DEVX is on; it has no queues of its own. */
struct devx_qp {
	uint8_t service;
	uint32_t pd;
	uint32_t send_cq;
	uint32_t receive_cq;
};

#define DBR_UMEM_ID	(0x720 / 32)	/* dword of qpc that mlx5_ifc.h has no name for */
#define RQ_NONE		3

/* Make one and destroy it; returns the command's status, or a negative errno. */
static int devx_status(struct ibv_context *ctx, const struct devx_qp *qp, uint32_t umem,
		       uint32_t uar)
{
	uint32_t in[DEVX_ST_SZ_DW(create_qp_in)] = {}, out[DEVX_ST_SZ_DW(create_qp_out)] = {};
	void *qpc = DEVX_ADDR_OF(create_qp_in, in, qpc);
	struct mlx5dv_devx_obj *object;
	int status;

	DEVX_SET(create_qp_in, in, opcode, MLX5_CMD_OP_CREATE_QP);
	DEVX_SET(create_qp_in, in, wq_umem_id, umem);
	DEVX_SET(qpc, qpc, st, qp->service);
	DEVX_SET(qpc, qpc, pd, qp->pd);
	DEVX_SET(qpc, qpc, cqn_snd, qp->send_cq);
	DEVX_SET(qpc, qpc, cqn_rcv, qp->receive_cq);
	DEVX_SET(qpc, qpc, uar_page, uar);
	DEVX_SET(qpc, qpc, no_sq, 1);
	DEVX_SET(qpc, qpc, rq_type, RQ_NONE);
	((__be32 *)qpc)[DBR_UMEM_ID] = htobe32(umem);
	object = mlx5dv_devx_obj_create(ctx, in, sizeof(in), out, sizeof(out));
	if (object)
		return -mlx5dv_devx_obj_destroy(object);
	status = DEVX_GET(create_qp_out, out, status);
	return status ?: -errno;
}

static uint32_t number_of_pd(struct ibv_pd *in)
{
	struct mlx5dv_pd pd = {};
	struct mlx5dv_obj obj = { .pd = { .in = in, .out = &pd } };

	return mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD) ? 0 : pd.pdn;
}

static uint32_t number_of_cq(struct ibv_cq *in)
{
	struct mlx5dv_cq cq = {};
	struct mlx5dv_obj obj = { .cq = { .in = in, .out = &cq } };

	return mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ) ? 0 : cq.cqn;
}

/*
 * A user of DEVX knows the numbers of another context's domain and queues: a queue pair in
 * that domain would reach all that is registered there.
 */
TEST_F(refusal, devx_on_what_is_another_contexts)
{
	struct ibv_context *other = device_open(&self->bed.dev);
	void *memory = aligned_alloc(4096, 4096);
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_devx_uar *uar;
	struct ibv_pd *other_pd;
	struct ibv_cq *other_cq;

	ASSERT_TRUE(other && memory);
	umem = mlx5dv_devx_umem_reg(self->ctx, memory, 4096, IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, umem);
	uar = mlx5dv_devx_alloc_uar(self->ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	ASSERT_NE(NULL, uar);
	other_pd = ibv_alloc_pd(other);
	other_cq = ibv_create_cq(other, 8, NULL, NULL, 0);
	ASSERT_TRUE(other_pd && other_cq);
	const struct devx_qp own = {
		.service = MLX5_QPC_ST_RC,
		.pd = number_of_pd(self->pd),
		.send_cq = number_of_cq(self->a.cq),
		.receive_cq = number_of_cq(self->b.cq),
	};
	struct devx_qp qp = own;

	ASSERT_EQ(IFC_OK, devx_status(self->ctx, &qp, umem->umem_id, uar->page_id));
	qp.pd = number_of_pd(other_pd);
	EXPECT_EQ(IFC_BAD_RES, devx_status(self->ctx, &qp, umem->umem_id, uar->page_id));
	qp = own;
	qp.send_cq = number_of_cq(other_cq);
	EXPECT_EQ(IFC_BAD_RES, devx_status(self->ctx, &qp, umem->umem_id, uar->page_id));
	qp = own;
	qp.receive_cq = number_of_cq(other_cq);
	EXPECT_EQ(IFC_BAD_RES, devx_status(self->ctx, &qp, umem->umem_id, uar->page_id));
	/* Who registers memory changes all keys. */
	qp = own;
	qp.service = MLX5_QPC_ST_REG_UMR;
	EXPECT_EQ(IFC_BAD_PARAM, devx_status(self->ctx, &qp, umem->umem_id, uar->page_id));
	mlx5dv_devx_free_uar(uar);
	ASSERT_EQ(0, mlx5dv_devx_umem_dereg(umem));
	ASSERT_EQ(0, ibv_destroy_cq(other_cq));
	ASSERT_EQ(0, ibv_dealloc_pd(other_pd));
	ASSERT_EQ(0, ibv_close_device(other));
	free(memory);
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
