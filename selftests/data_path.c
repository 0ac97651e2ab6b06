// SPDX-License-Identifier: GPL-2.0
/*
 * The device's data path: messages between queue pairs.
 *
 * Data is compared byte by byte, around it there are guard bytes, and what must
 * not be reached is looked at afterwards.  These are tests of the virtual HCA;
 * those of the driver rely on it: a memory region that was revoked must be out
 * of reach because the device says so, not because nothing ever moves.
 */
#include <limits.h>
#include <poll.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/connection.h"
#include "common/dm_ops.h"

/* Around the bounds of pages, cache lines and the device's own pieces. */
static const size_t sizes[] = { 0, 1, 63, 64, 4095, 4096, 65536, 1 << 20 };

/* Where in a page the memory begins. */
static const size_t offsets[] = { 0, 1, 4093 };

#define SEED_FROM	7
#define SEED_TO		101
#define DM_SIZE		8192

FIXTURE(data_path)
{
	struct bed bed;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct connection_options options;
	struct end a;
	struct end b;
	struct ibv_wc wc;
};

FIXTURE_VARIANT(data_path)
{
	enum ibv_qp_type type;
	bool global;
};

FIXTURE_VARIANT_ADD(data_path, rc)
{
	.type = IBV_QPT_RC,
};

FIXTURE_VARIANT_ADD(data_path, rc_global)
{
	.type = IBV_QPT_RC,
	.global = true,
};

FIXTURE_VARIANT_ADD(data_path, uc)
{
	.type = IBV_QPT_UC,
};

FIXTURE_SETUP(data_path)
{
	if (!bed_make(_metadata, &self->bed, true))
		return;
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	self->pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, self->pd);
	self->options = connection_defaults;
	self->options.type = variant->type;
	self->options.global = variant->global;
	end_make(self->pd, &self->options, &self->a);
	end_make(self->pd, &self->options, &self->b);
	end_connect(&self->a, &self->b, &self->options);
	end_connect(&self->b, &self->a, &self->options);
}

FIXTURE_TEARDOWN(data_path)
{
	EXPECT_EQ(0, _end_destroy(&self->a));
	EXPECT_EQ(0, _end_destroy(&self->b));
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	bed_unmake(_metadata, &self->bed);
}

/* There is nothing else in the completion queues. */
#define ASSERT_NO_COMPLETION(end) \
	ASSERT_EQ(0, ibv_poll_cq((end)->cq, 1, &self->wc))

/* Run a block for all sizes and offsets, with a region on either side. */
#define for_each_size(i) \
	for (i = 0; i < ARRAY_SIZE(sizes) * ARRAY_SIZE(offsets); i++)
#define SIZE(i)		(sizes[(i) / ARRAY_SIZE(offsets)])
#define FROM_OFFSET(i)	(offsets[(i) % ARRAY_SIZE(offsets)])
#define TO_OFFSET(i)	(offsets[((i) + 1) % ARRAY_SIZE(offsets)])

/* What is written is there, nothing else is, and the other side is not told. */
TEST_F(data_path, write)
{
	struct region from, to;
	size_t i;

	for_each_size(i) {
		region_make(self->pd, SIZE(i), FROM_OFFSET(i), 0, &from);
		region_make(self->pd, SIZE(i), TO_OFFSET(i), CONNECTION_ALL_ACCESS, &to);
		region_fill(&from, SEED_FROM);
		region_fill(&to, SEED_TO);
		struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, &to);

		post(&self->a, &wr, &from);
		end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
		ASSERT_ENUM(IBV_WC_RDMA_WRITE, self->wc.opcode);
		ASSERT_REGION(&to, SEED_FROM);
		ASSERT_REGION(&from, SEED_FROM);
		ASSERT_NO_COMPLETION(&self->b);
		region_destroy(&from);
		region_destroy(&to);
	}
}

/* The same with an immediate, of which the other side is told. */
TEST_F(data_path, write_with_immediate)
{
	struct region from, to;
	size_t i;

	for_each_size(i) {
		region_make(self->pd, SIZE(i), FROM_OFFSET(i), 0, &from);
		region_make(self->pd, SIZE(i), TO_OFFSET(i), CONNECTION_ALL_ACCESS, &to);
		region_fill(&from, SEED_FROM);
		region_fill(&to, SEED_TO);
		struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE_WITH_IMM, &to);

		wr.imm_data = htobe32(0x600d0000 + i);
		post_receive(&self->b, 2, NULL);
		post(&self->a, &wr, &from);
		end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
		end_wait(&self->b, 2, IBV_WC_SUCCESS, &self->wc);
		ASSERT_ENUM(IBV_WC_RECV_RDMA_WITH_IMM, self->wc.opcode);
		ASSERT_TRUE(!!(self->wc.wc_flags & IBV_WC_WITH_IMM));
		ASSERT_EQ(htobe32(0x600d0000 + i), self->wc.imm_data);
		ASSERT_EQ((uint32_t)SIZE(i), self->wc.byte_len);
		ASSERT_REGION(&to, SEED_FROM);
		region_destroy(&from);
		region_destroy(&to);
	}
}

TEST_F(data_path, read)
{
	struct region from, to;
	size_t i;

	if (variant->type != IBV_QPT_RC)
		SKIP(return, "only a reliable connection can read");
	for_each_size(i) {
		region_make(self->pd, SIZE(i), FROM_OFFSET(i), CONNECTION_ALL_ACCESS, &from);
		region_make(self->pd, SIZE(i), TO_OFFSET(i), IBV_ACCESS_LOCAL_WRITE, &to);
		region_fill(&from, SEED_FROM);
		region_fill(&to, SEED_TO);
		struct ibv_send_wr wr = rdma(IBV_WR_RDMA_READ, &from);

		post(&self->a, &wr, &to);
		end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
		ASSERT_ENUM(IBV_WC_RDMA_READ, self->wc.opcode);
		ASSERT_EQ((uint32_t)SIZE(i), self->wc.byte_len);
		ASSERT_REGION(&to, SEED_FROM);
		ASSERT_REGION(&from, SEED_FROM);
		ASSERT_NO_COMPLETION(&self->b);
		region_destroy(&from);
		region_destroy(&to);
	}
}

/* With an immediate and without, to where the receiver wants it. */
TEST_F(data_path, send)
{
	struct region from, to;
	size_t i;

	for_each_size(i) {
		bool immediate = i & 1;
		struct ibv_send_wr wr = {
			.wr_id = 1,
			.opcode = immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
			.imm_data = htobe32(0xfeed0000 + i),
		};

		region_make(self->pd, SIZE(i), FROM_OFFSET(i), 0, &from);
		/* More room than is needed, which must stay as it was. */
		region_make(self->pd, SIZE(i) + 100, TO_OFFSET(i), IBV_ACCESS_LOCAL_WRITE, &to);
		region_fill(&from, SEED_FROM);
		region_fill(&to, SEED_TO);
		post_receive(&self->b, 2, &to);
		post(&self->a, &wr, &from);
		end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
		ASSERT_ENUM(IBV_WC_SEND, self->wc.opcode);
		end_wait(&self->b, 2, IBV_WC_SUCCESS, &self->wc);
		ASSERT_ENUM(IBV_WC_RECV, self->wc.opcode);
		ASSERT_EQ((uint32_t)SIZE(i), self->wc.byte_len);
		ASSERT_EQ(immediate, !!(self->wc.wc_flags & IBV_WC_WITH_IMM));
		if (immediate)
			ASSERT_EQ(wr.imm_data, self->wc.imm_data);
		ASSERT_EQ(self->a.qp->qp_num, self->wc.src_qp);
		ASSERT_EQ(self->a.lid, self->wc.slid);
		ASSERT_EQ(variant->global, !!(self->wc.wc_flags & IBV_WC_GRH));
		ASSERT_TRUE(region_holds(&to, 0, SIZE(i), SEED_FROM, 0));
		ASSERT_TRUE(region_holds(&to, SIZE(i), 100, SEED_TO, SIZE(i)));
		ASSERT_TRUE(region_is_guarded(&to));
		region_destroy(&from);
		region_destroy(&to);
	}
}

/* Inline data is taken when the request is posted, and needs no memory region. */
TEST_F(data_path, inlined)
{
	struct region to;
	uint8_t data[64];
	size_t len;

	region_make(self->pd, sizeof(data), 3, CONNECTION_ALL_ACCESS, &to);
	for (len = 1; len <= sizeof(data); len++) {
		struct ibv_sge sge = { .addr = (uintptr_t)data, .length = len };
		struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, &to);

		region_fill(&to, SEED_FROM);
		memcpy(data, to.data, len);
		region_fill(&to, SEED_TO);
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.send_flags = IBV_SEND_INLINE;
		post(&self->a, &wr, NULL);
		memset(data, 0, sizeof(data));
		end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
		ASSERT_TRUE(region_holds(&to, 0, len, SEED_FROM, 0));
		ASSERT_TRUE(region_holds(&to, len, sizeof(data) - len, SEED_TO, len));
		ASSERT_TRUE(region_is_guarded(&to));
	}
	region_destroy(&to);
}

/* Cut a region into three segments that are not in order. */
static void cut(const struct region *region, struct ibv_sge sge[3], const size_t part[3])
{
	size_t at = 0;
	int i;

	for (i = 0; i < 3; i++) {
		sge[i] = (struct ibv_sge) {
			.addr = (uintptr_t)region->data + at,
			.length = part[i],
			.lkey = region->mr->lkey,
		};
		at += part[i];
	}
}

/* Segments of a size are cut differently on both sides, across the device's pieces. */
TEST_F(data_path, several_segments)
{
	static const size_t gather[] = { 1, 70001, 30000 }, scatter[] = { 65537, 3, 34462 };
	struct ibv_send_wr send = { .wr_id = 1, .opcode = IBV_WR_SEND };
	struct ibv_sge from_sge[3], to_sge[3];
	struct ibv_recv_wr receive = { .wr_id = 2, .sg_list = to_sge, .num_sge = 3 }, *bad;
	struct region from, to;

	region_make(self->pd, 100002, 11, CONNECTION_ALL_ACCESS, &from);
	region_make(self->pd, 100002, 4000, CONNECTION_ALL_ACCESS, &to);
	region_fill(&from, SEED_FROM);
	cut(&from, from_sge, gather);
	cut(&to, to_sge, scatter);
	send.sg_list = from_sge;
	send.num_sge = 3;
	ASSERT_EQ(0, ibv_post_recv(self->b.qp, &receive, &bad));
	post(&self->a, &send, NULL);
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
	end_wait(&self->b, 2, IBV_WC_SUCCESS, &self->wc);
	ASSERT_EQ((uint32_t)100002, self->wc.byte_len);
	ASSERT_REGION(&to, SEED_FROM);

	if (variant->type == IBV_QPT_RC) {
		struct ibv_send_wr wr = rdma(IBV_WR_RDMA_READ, &from);

		region_fill(&to, SEED_TO);
		wr.sg_list = to_sge;
		wr.num_sge = 3;
		post(&self->a, &wr, NULL);
		end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
		ASSERT_REGION(&to, SEED_FROM);
	}
	region_destroy(&from);
	region_destroy(&to);
}

/* What was there is the answer, and what is there afterwards is right. */
TEST_F(data_path, atomics)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		uint64_t compare_add;
		uint64_t swap;
		uint64_t after;
	} steps[] = {
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, 5, 0, 15 },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, -16, 0, UINT64_MAX },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, 15, 99, UINT64_MAX },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, UINT64_MAX, 0x0123456789abcdef,
		  0x0123456789abcdef },
	};
	uint64_t *target, *answer, before = 10;
	struct region from, to;
	size_t i;

	if (variant->type != IBV_QPT_RC)
		SKIP(return, "only a reliable connection has atomic operations");
	region_make(self->pd, 8, 8, IBV_ACCESS_LOCAL_WRITE, &from);
	region_make(self->pd, 8, 4088, CONNECTION_ALL_ACCESS, &to);
	target = (uint64_t *)to.data;
	answer = (uint64_t *)from.data;
	*target = before;
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		struct ibv_send_wr wr = atomic(steps[i].opcode, &to, steps[i].compare_add,
					       steps[i].swap);

		post(&self->a, &wr, &from);
		end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
		ASSERT_EQ(before, *answer);
		ASSERT_EQ(steps[i].after, *target);
		ASSERT_TRUE(region_is_guarded(&from));
		ASSERT_TRUE(region_is_guarded(&to));
		before = *target;
	}
	region_destroy(&from);
	region_destroy(&to);
}

/* Many requests at once are executed in their order; only the last one is signaled. */
TEST_F(data_path, order)
{
	const int count = 12;
	struct region from, to;
	uint32_t *word;
	int i;

	region_make(self->pd, count * sizeof(*word), 0, 0, &from);
	region_make(self->pd, sizeof(*word), 0, CONNECTION_ALL_ACCESS, &to);
	for (i = 0, word = (uint32_t *)from.data; i < count; i++)
		word[i] = i + 1;
	for (i = 0; i < count; i++) {
		struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, &to), *bad;
		struct ibv_sge sge = {
			.addr = (uintptr_t)&word[i],
			.length = sizeof(*word),
			.lkey = from.mr->lkey,
		};

		wr.wr_id = i;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.send_flags = i == count - 1 ? IBV_SEND_SIGNALED : 0;
		ASSERT_EQ(0, ibv_post_send(self->a.qp, &wr, &bad));
	}
	end_wait(&self->a, count - 1, IBV_WC_SUCCESS, &self->wc);
	ASSERT_EQ((uint32_t)count, *(uint32_t *)to.data);
	ASSERT_NO_COMPLETION(&self->a);
	region_destroy(&from);
	region_destroy(&to);
}

/*
 * Device memory, by a region on itself and by one on a dma-buf of it: what is
 * written is in the device's memory as the device sees it, and can be read back.
 */
TEST_F(data_path, device_memory)
{
	struct region from, to;
	struct vhca_object memic;
	uint8_t seen[DM_SIZE];
	struct ibv_mr *mr[2];
	struct ibv_dm *dm;
	int i, fd;

	if (variant->type != IBV_QPT_RC)
		SKIP(return, "not without reading");
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "memic", self->bed.before.seq, &memic));
	dmabuf_export(dm, &fd);
	mr[0] = ibv_reg_dm_mr(self->pd, dm, 0, DM_SIZE,
			      CONNECTION_ALL_ACCESS | IBV_ACCESS_ZERO_BASED);
	ASSERT_NE(NULL, mr[0]);
	mr[1] = ibv_reg_dmabuf_mr(self->pd, 0, DM_SIZE, 0, fd, CONNECTION_ALL_ACCESS);
	ASSERT_NE(NULL, mr[1]);
	for (i = 0; i < 2; i++) {
		struct ibv_send_wr wr = {
			.wr_id = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.wr.rdma = { .remote_addr = 100, .rkey = mr[i]->rkey },
		};

		region_make(self->pd, DM_SIZE - 100, 5, CONNECTION_ALL_ACCESS, &from);
		region_make(self->pd, DM_SIZE - 100, 0, CONNECTION_ALL_ACCESS, &to);
		region_fill(&from, SEED_FROM + i);
		post(&self->a, &wr, &from);
		end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
		ASSERT_EQ(0, vhca_memory(&self->bed.dev, "memic",
					 memic.id - self->bed.dev.info.memic.offset, seen,
					 DM_SIZE));
		ASSERT_EQ(0, memcmp(seen + 100, from.data, DM_SIZE - 100));

		/* By the other of the two. */
		wr.opcode = IBV_WR_RDMA_READ;
		wr.wr.rdma.rkey = mr[!i]->rkey;
		post(&self->a, &wr, &to);
		end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
		ASSERT_REGION(&to, SEED_FROM + i);
		region_destroy(&from);
		region_destroy(&to);
	}
	mr_dereg(mr[0]);
	mr_dereg(mr[1]);
	ASSERT_EQ(0, close(fd));
	dm_free(dm);
}

/* Sends from and receives into device memory. */
TEST_F(data_path, device_memory_is_local)
{
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND };
	struct ibv_recv_wr receive = { .wr_id = 2 }, *bad;
	uint8_t in[512], out[512];
	struct ibv_sge from, to;
	struct ibv_mr *mr;
	struct ibv_dm *dm;
	size_t i;

	for (i = 0; i < sizeof(in); i++)
		in[i] = i * 5 + i / 100;
	dm_alloc(self->ctx, 4096, &dm);
	mr = ibv_reg_dm_mr(self->pd, dm, 1024, 2048,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);
	ASSERT_NE(NULL, mr);
	dm_write(dm, 1024, in, sizeof(in));
	from = (struct ibv_sge) { .addr = 0, .length = sizeof(in), .lkey = mr->lkey };
	to = (struct ibv_sge) { .addr = 1024, .length = 1024, .lkey = mr->lkey };
	wr.sg_list = &from;
	receive.sg_list = &to;
	wr.num_sge = 1;
	receive.num_sge = 1;
	ASSERT_EQ(0, ibv_post_recv(self->b.qp, &receive, &bad));
	post(&self->a, &wr, NULL);
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
	end_wait(&self->b, 2, IBV_WC_SUCCESS, &self->wc);
	dm_read(out, dm, 2048, sizeof(out));
	ASSERT_EQ(0, memcmp(in, out, sizeof(in)));
	mr_dereg(mr);
	dm_free(dm);
}

/* An interrupt is asked for, for any completion or for solicited ones only. */
TEST_F(data_path, solicited)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(self->ctx);
	struct pollfd fd = { .events = POLLIN };
	struct ibv_cq *cq, *event_cq;
	struct connection_options *o = &self->options;
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND };
	struct end a, b;
	void *context;

	ASSERT_NE(NULL, channel);
	fd.fd = channel->fd;
	end_make(self->pd, o, &a);
	end_make(self->pd, o, &b);
	/* The receiver with a completion queue that can call. */
	cq = ibv_create_cq(self->ctx, 16, NULL, channel, 0);
	ASSERT_NE(NULL, cq);
	ASSERT_EQ(0, ibv_destroy_qp(b.qp));
	struct ibv_qp_init_attr init = {
		.send_cq = b.cq, .recv_cq = cq, .qp_type = o->type,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = o->access,
	};

	b.qp = ibv_create_qp(self->pd, &init);
	ASSERT_NE(NULL, b.qp);
	ASSERT_EQ(0, ibv_modify_qp(b.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				   IBV_QP_ACCESS_FLAGS));
	end_connect(&a, &b, o);
	end_connect(&b, &a, o);

	ASSERT_EQ(0, ibv_req_notify_cq(cq, 1));
	post_receive(&b, 2, NULL);
	post_receive(&b, 3, NULL);
	post(&a, &wr, NULL);
	end_wait(&a, 1, IBV_WC_SUCCESS, &self->wc);
	/* The completion is there, as its sender knows; an event would be, too. */
	ASSERT_EQ(0, poll(&fd, 1, 0));
	wr.send_flags = IBV_SEND_SOLICITED;
	post(&a, &wr, NULL);
	ASSERT_EQ(1, poll(&fd, 1, 20000));
	ASSERT_EQ(0, ibv_get_cq_event(channel, &event_cq, &context));
	ASSERT_EQ(cq, event_cq);
	ibv_ack_cq_events(cq, 1);
	ASSERT_EQ(2, ibv_poll_cq(cq, 2, (struct ibv_wc[2]) {}));
	end_wait(&a, 1, IBV_WC_SUCCESS, &self->wc);

	end_destroy(&a);
	end_destroy(&b);
	ASSERT_EQ(0, ibv_destroy_cq(cq));
	ASSERT_EQ(0, ibv_destroy_comp_channel(channel));
}

/*
 * The device memory of this device, registered on the other one: what arrives
 * there is in the memory here.
 */
static void lend(struct __test_metadata *_metadata, struct bed *bed, struct end *end,
		 struct ibv_pd *other)
{
	struct vhca_object memic;
	struct region from;
	uint8_t seen[4096];
	struct ibv_mr *mr;
	struct ibv_dm *dm;
	char topology[16];
	struct ibv_wc wc;
	FILE *f;
	int fd;

	f = fopen("/sys/module/mlx5_vhca/parameters/topology", "r");
	ASSERT_NE(NULL, f);
	ASSERT_EQ(1, fscanf(f, "%15s", topology));
	fclose(f);
	/* On host bridges of their own they do not reach each other. */
	if (strcmp(topology, "port"))
		return;
	dm_alloc(end->pd->context, sizeof(seen), &dm);
	ASSERT_EQ(1, vhca_find_new(&bed->dev, "memic", bed->before.seq, &memic));
	dmabuf_export(dm, &fd);
	mr = ibv_reg_dmabuf_mr(other, 0, sizeof(seen), 0, fd, CONNECTION_ALL_ACCESS);
	ASSERT_NE(NULL, mr);
	region_make(end->pd, sizeof(seen), 9, 0, &from);
	region_fill(&from, SEED_FROM);
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .rkey = mr->rkey },
	};

	post(end, &wr, &from);
	end_wait(end, 1, IBV_WC_SUCCESS, &wc);
	ASSERT_EQ(0, vhca_memory(&bed->dev, "memic", memic.id - bed->dev.info.memic.offset,
				 seen, sizeof(seen)));
	ASSERT_EQ(0, memcmp(seen, from.data, sizeof(seen)));
	region_destroy(&from);
	mr_dereg(mr);
	ASSERT_EQ(0, close(fd));
	dm_free(dm);
}

/*
 * Two devices: all operations from one to the other, and what the other has not
 * got.  Numbers of queue pairs and keys are the same on both, so that a packet
 * that went astray would find somebody.
 */
TEST_F(data_path, two_devices)
{
	struct connection_options *o = &self->options;
	struct ibv_send_wr send = { .wr_id = 1, .opcode = IBV_WR_SEND };
	struct region from, to, back, twin;
	struct ibv_context *ctx;
	struct device other;
	struct end here, there;
	struct ibv_pd *pd;

	if (!device_find_other(&self->bed.dev, &other))
		SKIP(return, "there is one device only: load mlx5_vhca with hcas=2");
	ctx = device_open(&other);
	ASSERT_NE(NULL, ctx);
	pd = ibv_alloc_pd(ctx);
	ASSERT_NE(NULL, pd);
	end_make(self->pd, o, &here);
	end_make(pd, o, &there);
	ASSERT_NE(here.lid, there.lid);
	end_connect(&here, &there, o);
	end_connect(&there, &here, o);
	region_make(self->pd, 100000, 1, CONNECTION_ALL_ACCESS, &from);
	region_make(pd, 100000, 2, CONNECTION_ALL_ACCESS, &to);
	region_make(self->pd, 100000, 3, CONNECTION_ALL_ACCESS, &back);
	region_make(self->pd, 100000, 4, CONNECTION_ALL_ACCESS, &twin);
	region_fill(&from, SEED_FROM);
	region_fill(&twin, SEED_TO);
	struct ibv_send_wr write = rdma(IBV_WR_RDMA_WRITE, &to);
	struct ibv_send_wr read = rdma(IBV_WR_RDMA_READ, &to);

	post(&here, &write, &from);
	end_wait(&here, 1, IBV_WC_SUCCESS, &self->wc);
	ASSERT_REGION(&to, SEED_FROM);
	if (variant->type == IBV_QPT_RC) {
		post(&here, &read, &back);
		end_wait(&here, 1, IBV_WC_SUCCESS, &self->wc);
		ASSERT_REGION(&back, SEED_FROM);
	}
	region_fill(&to, SEED_TO);
	post_receive(&there, 2, &to);
	post(&here, &send, &from);
	end_wait(&here, 1, IBV_WC_SUCCESS, &self->wc);
	end_wait(&there, 2, IBV_WC_SUCCESS, &self->wc);
	ASSERT_EQ(here.qp->qp_num, self->wc.src_qp);
	ASSERT_EQ(here.lid, self->wc.slid);
	ASSERT_REGION(&to, SEED_FROM);

	if (variant->type == IBV_QPT_RC) {
		/* A key of this device is none of the other's, or another one there. */
		struct ibv_send_wr wrong = rdma(IBV_WR_RDMA_WRITE, &twin);

		post(&here, &wrong, &from);
		end_wait(&here, 1, IBV_WC_REM_ACCESS_ERR, &self->wc);
		ASSERT_REGION(&twin, SEED_TO);
	}
	if (variant->type == IBV_QPT_RC) {
		end_destroy(&here);
		end_destroy(&there);
		end_make(self->pd, o, &here);
		end_make(pd, o, &there);
		end_connect(&here, &there, o);
		end_connect(&there, &here, o);
		lend(_metadata, &self->bed, &here, pd);
	}
	end_destroy(&here);
	end_destroy(&there);
	region_destroy(&from);
	region_destroy(&to);
	region_destroy(&back);
	region_destroy(&twin);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
	ASSERT_EQ(0, ibv_close_device(ctx));
}

/*
 * 64 queue pairs, each of which writes 64 KiB again and again: all advance, and
 * meanwhile commands are answered.
 */
#define CROWD		64
#define CROWD_BYTES	65536
#define CROWD_DEPTH	15
#define CROWD_ROUNDS	16
/* If one has not come so far when all together could have so often, it starves. */
#define CROWD_PATIENCE	20

TEST_F(data_path, crowd)
{
	static struct end end[CROWD];
	int done[CROWD] = {}, total = 0, slowest = 0, fastest = 0, i;
	struct connection_options o = self->options;
	struct region from, to;
	struct ibv_wc wc;
	struct ibv_pd *pd;

	region_make(self->pd, CROWD_BYTES, 0, 0, &from);
	region_make(self->pd, CROWD_BYTES, 0, CONNECTION_ALL_ACCESS, &to);
	struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, &to);

	region_fill(&from, SEED_FROM);
	for (i = 0; i < CROWD; i++) {
		/* Each is its own other end. */
		end_make(self->pd, &o, &end[i]);
		end_connect(&end[i], &end[i], &o);
	}
	for (i = 0; i < CROWD * CROWD_DEPTH; i++)
		post(&end[i % CROWD], &wr, &from);
	while (slowest < CROWD_ROUNDS) {
		ASSERT_GT(CROWD * CROWD_ROUNDS * CROWD_PATIENCE, total)
			TH_LOG("the slowest has %d writes, the fastest %d", slowest, fastest);
		slowest = INT_MAX;
		for (i = 0; i < CROWD; i++) {
			while (ibv_poll_cq(end[i].cq, 1, &wc)) {
				ASSERT_ENUM(IBV_WC_SUCCESS, wc.status);
				post(&end[i], &wr, &from);
				done[i]++;
				total++;
			}
			if (done[i] < slowest)
				slowest = done[i];
			if (done[i] > fastest)
				fastest = done[i];
		}
		pd = ibv_alloc_pd(self->ctx);
		ASSERT_NE(NULL, pd);
		ASSERT_EQ(0, ibv_dealloc_pd(pd));
	}
	TH_LOG("fairness: the slowest has %d writes, the fastest %d, ratio %.2f", slowest,
	       fastest, (double)slowest / fastest);
	ASSERT_REGION(&to, SEED_FROM);
	/* Destroyed in the midst of it. */
	for (i = 0; i < CROWD; i++)
		end_destroy(&end[i]);
	region_destroy(&from);
	region_destroy(&to);
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
