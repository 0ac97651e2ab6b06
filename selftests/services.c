// SPDX-License-Identifier: GPL-2.0
/*
 * More of the device's data path than connections that have all to themselves: datagrams,
 * shared receive queues, and completion queues that change their size; and rates of packet
 * pacing, which have an uobject but no effect.
 *
 * As in data_path.c these are tests of the virtual HCA, on which those of the driver rely.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/connection.h"
#include "common/vhca.h"

#define GRH		40u	/* bytes in front of a datagram's data */
#define SIZE		512u
#define SEED		7
#define QKEY		0x11223344u
#define DEPTH		8
#define GROUP_LID	0xc000u
#define GROUP_QPN	0xffffffu

FIXTURE(services)
{
	struct bed bed;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct connection_options options;
	struct ibv_wc wc;
};

FIXTURE_SETUP(services)
{
	if (!bed_make(_metadata, &self->bed, true))
		return;
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	self->pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, self->pd);
	self->options = connection_defaults;
}

FIXTURE_TEARDOWN(services)
{
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	bed_unmake(_metadata, &self->bed);
}

/* An end whose queue pair is of the type UD and ready to send, with the Q_Key that is given. */
static int datagram_end(struct ibv_pd *pd, uint32_t qkey, struct end *end)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey };
	struct ibv_port_attr port;

	end->pd = pd;
	if (ibv_query_port(pd->context, 1, &port) || ibv_query_gid(pd->context, 1, 0, &end->gid))
		return errno;
	end->lid = port.lid;
	end->cq = ibv_create_cq(pd->context, 2 * DEPTH, NULL, NULL, 0);
	if (!end->cq)
		return errno;
	init.send_cq = end->cq;
	init.recv_cq = end->cq;
	end->qp = ibv_create_qp(pd, &init);
	if (!end->qp)
		return errno;
	if (ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_QKEY))
		return errno;
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(end->qp, &attr, IBV_QP_STATE))
		return errno;
	attr.qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static struct ibv_ah *address_of(const struct end *to, bool global)
{
	struct ibv_ah_attr attr = { .dlid = to->lid, .port_num = 1, .is_global = global };

	attr.grh.dgid = to->gid;
	attr.grh.hop_limit = 1;
	return ibv_create_ah(to->pd, &attr);
}

static struct ibv_send_wr datagram(struct ibv_ah *ah, const struct end *to, uint32_t qkey)
{
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND };

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = to->qp->qp_num;
	wr.wr.ud.remote_qkey = qkey;
	return wr;
}

/* The data is behind the place of the header, and the header is there if there was a route. */
TEST_F(services, datagram)
{
	struct region from, to;
	struct end a, b;
	int global;

	ASSERT_EQ(0, datagram_end(self->pd, QKEY, &a));
	ASSERT_EQ(0, datagram_end(self->pd, QKEY, &b));
	for (global = 0; global < 2; global++) {
		struct ibv_ah *ah = address_of(&b, global);
		struct ibv_send_wr wr = datagram(ah, &b, QKEY);
		struct ibv_grh *grh;

		ASSERT_NE(NULL, ah);
		region_make(self->pd, SIZE, 1, 0, &from);
		region_make(self->pd, GRH + SIZE, 3, IBV_ACCESS_LOCAL_WRITE, &to);
		region_fill(&from, SEED);
		memset(to.data, 0xee, GRH);
		post_receive(&b, 2, &to);
		post(&a, &wr, &from);
		end_wait(&a, 1, IBV_WC_SUCCESS, &self->wc);
		end_wait(&b, 2, IBV_WC_SUCCESS, &self->wc);
		ASSERT_EQ(GRH + SIZE, self->wc.byte_len);
		ASSERT_EQ(a.qp->qp_num, self->wc.src_qp);
		ASSERT_EQ(a.lid, self->wc.slid);
		ASSERT_EQ(global, !!(self->wc.wc_flags & IBV_WC_GRH));
		ASSERT_TRUE(region_holds(&to, GRH, SIZE, SEED, 0));
		ASSERT_TRUE(region_is_guarded(&to));
		grh = (void *)to.data;
		if (global) {
			ASSERT_EQ(6u, be32toh(grh->version_tclass_flow) >> 28);
			ASSERT_EQ(SIZE, be16toh(grh->paylen));
			ASSERT_EQ(0, memcmp(&grh->sgid, &a.gid, sizeof(a.gid)));
			ASSERT_EQ(0, memcmp(&grh->dgid, &b.gid, sizeof(b.gid)));
		} else {
			ASSERT_EQ(0xee, to.data[0]);
			ASSERT_EQ(0xee, to.data[GRH - 1]);
		}
		ASSERT_EQ(0, ibv_destroy_ah(ah));
		region_destroy(&from);
		region_destroy(&to);
	}
	end_destroy(&a);
	end_destroy(&b);
}

/* Any group will do; the last byte tells two of them apart. */
static union ibv_gid group_gid(uint8_t last)
{
	return (union ibv_gid) { .raw = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = last } };
}

static struct ibv_ah *address_of_group(struct ibv_pd *pd, uint8_t last)
{
	struct ibv_ah_attr attr = { .dlid = GROUP_LID, .port_num = 1, .is_global = 1 };

	attr.grh.dgid = group_gid(last);
	return ibv_create_ah(pd, &attr);
}

/* As the device has it: the driver's own word of it is what is under test. */
static int groups_of(const struct device *dev, const struct end *end)
{
	struct vhca_object object;

	return vhca_find(dev, "qp", end->qp->qp_num, &object) == 1 ? (int)object.groups : -1;
}

static int group_attach(struct end *end, uint8_t last)
{
	const union ibv_gid gid = group_gid(last);

	return ibv_attach_mcast(end->qp, &gid, GROUP_LID);
}

static int group_detach(struct end *end, uint8_t last)
{
	const union ibv_gid gid = group_gid(last);

	return ibv_detach_mcast(end->qp, &gid, GROUP_LID);
}

enum { SENDER, MEMBER, OTHER_MEMBER, STRANGER, GROUP_ENDS };

/*
 * What is sent to a group comes to all who are in it, the sender as well, with the group in
 * the header; to none who is in another one or has left, and once to who has entered twice.
 */
TEST_F(services, multicast)
{
	static const bool in_group[] = { true, true, true, false };
	struct region from, to[GROUP_ENDS];
	struct end end[GROUP_ENDS];
	union ibv_gid gid = group_gid(1);
	struct ibv_send_wr wr;
	struct ibv_grh *grh;
	struct ibv_ah *ah;
	int i;

	region_make(self->pd, SIZE, 1, 0, &from);
	region_fill(&from, SEED);
	for (i = 0; i < GROUP_ENDS; i++) {
		ASSERT_EQ(0, datagram_end(self->pd, QKEY, &end[i]));
		region_make(self->pd, GRH + SIZE, 3, IBV_ACCESS_LOCAL_WRITE, &to[i]);
		ASSERT_EQ(0, groups_of(&self->bed.dev, &end[i]));
		ASSERT_EQ(0, group_attach(&end[i], in_group[i] ? 1 : 2));
		ASSERT_EQ(1, groups_of(&self->bed.dev, &end[i]));
		post_receive(&end[i], 2, &to[i]);
	}
	ASSERT_EQ(0, group_attach(&end[MEMBER], 1));
	ASSERT_EQ(1, groups_of(&self->bed.dev, &end[MEMBER]));
	ASSERT_EQ(0, group_attach(&end[OTHER_MEMBER], 3));
	ASSERT_EQ(2, groups_of(&self->bed.dev, &end[OTHER_MEMBER]));

	ah = address_of_group(self->pd, 1);
	ASSERT_NE(NULL, ah);
	wr = datagram(ah, &end[MEMBER], QKEY);
	wr.wr.ud.remote_qpn = GROUP_QPN;
	post(&end[SENDER], &wr, &from);
	end_wait(&end[MEMBER], 2, IBV_WC_SUCCESS, &self->wc);
	ASSERT_EQ(end[SENDER].qp->qp_num, self->wc.src_qp);
	ASSERT_TRUE(!!(self->wc.wc_flags & IBV_WC_GRH));
	ASSERT_TRUE(region_holds(&to[MEMBER], GRH, SIZE, SEED, 0));
	ASSERT_TRUE(region_is_guarded(&to[MEMBER]));
	grh = (void *)to[MEMBER].data;
	ASSERT_EQ(0, memcmp(&grh->sgid, &end[SENDER].gid, sizeof(gid)));
	ASSERT_EQ(0, memcmp(&grh->dgid, &gid, sizeof(gid)));
	end_wait(&end[OTHER_MEMBER], 2, IBV_WC_SUCCESS, &self->wc);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, _end_wait(&end[SENDER], &self->wc));
	ASSERT_EQ(0, ibv_poll_cq(end[STRANGER].cq, 1, &self->wc));

	ASSERT_EQ(0, group_detach(&end[OTHER_MEMBER], 1));
	ASSERT_EQ(1, groups_of(&self->bed.dev, &end[OTHER_MEMBER]));
	post_receive(&end[MEMBER], 3, &to[MEMBER]);
	post_receive(&end[OTHER_MEMBER], 3, &to[OTHER_MEMBER]);
	post(&end[SENDER], &wr, &from);
	end_wait(&end[MEMBER], 3, IBV_WC_SUCCESS, &self->wc);
	ASSERT_EQ(0, ibv_poll_cq(end[OTHER_MEMBER].cq, 1, &self->wc));
	/* It cannot leave what it is not in; and what it is in keeps the queue pair. */
	ASSERT_NE(0, group_detach(&end[OTHER_MEMBER], 1));
	ASSERT_EQ(EBUSY, ibv_destroy_qp(end[OTHER_MEMBER].qp));

	ASSERT_EQ(0, ibv_destroy_ah(ah));
	region_destroy(&from);
	for (i = 0; i < GROUP_ENDS; i++) {
		ASSERT_EQ(0, group_detach(&end[i], i == STRANGER ? 2 :
						  i == OTHER_MEMBER ? 3 : 1));
		ASSERT_EQ(0, groups_of(&self->bed.dev, &end[i]));
		region_destroy(&to[i]);
		end_destroy(&end[i]);
	}
}

/* A process that enters a group, tells its queue pair's number, and waits for its end. */
static void enter_and_wait(const struct device *dev, int out)
{
	struct ibv_context *ctx = device_open(dev);
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	uint32_t qpn = 0;
	struct end end;

	if (pd && !datagram_end(pd, QKEY, &end) && !group_attach(&end, 1))
		qpn = end.qp->qp_num;
	if (write(out, &qpn, sizeof(qpn)) == sizeof(qpn) && qpn)
		pause();
	_exit(1);
}

/* It is taken out of its group by the kernel, with the queue pair, which could not go else. */
TEST_F(services, multicast_member_is_killed)
{
	struct vhca_object object;
	uint32_t qpn = 0;
	int ends[2];
	pid_t child;

	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		enter_and_wait(&self->bed.dev, ends[1]);
	close(ends[1]);
	ASSERT_EQ((ssize_t)sizeof(qpn), read(ends[0], &qpn, sizeof(qpn)));
	close(ends[0]);
	ASSERT_NE(0u, qpn);
	ASSERT_EQ(1, vhca_find(&self->bed.dev, "qp", qpn, &object));
	EXPECT_EQ(1u, object.groups);
	ASSERT_EQ(0, kill(child, SIGKILL));
	ASSERT_EQ(child, waitpid(child, NULL, 0));
	ASSERT_EQ(0, vhca_find(&self->bed.dev, "qp", qpn, NULL));
}

/* Who has not the key, or no room, is not heard; the sender never knows. */
TEST_F(services, datagram_is_lost)
{
	struct region from, large, to;
	struct ibv_send_wr wr;
	struct ibv_ah *ah;
	struct end a, b;

	ASSERT_EQ(0, datagram_end(self->pd, QKEY, &a));
	ASSERT_EQ(0, datagram_end(self->pd, QKEY, &b));
	ah = address_of(&b, false);
	ASSERT_NE(NULL, ah);
	region_make(self->pd, SIZE, 0, 0, &from);
	region_make(self->pd, 8192, 0, 0, &large);
	region_make(self->pd, GRH + SIZE, 0, IBV_ACCESS_LOCAL_WRITE, &to);
	region_fill(&from, SEED);
	region_fill(&to, SEED + 1);
	/* No request is there. */
	wr = datagram(ah, &b, QKEY);
	post(&a, &wr, &from);
	end_wait(&a, 1, IBV_WC_SUCCESS, &self->wc);
	post_receive(&b, 2, &to);
	wr = datagram(ah, &b, QKEY ^ 1);
	post(&a, &wr, &from);
	end_wait(&a, 1, IBV_WC_SUCCESS, &self->wc);
	ASSERT_EQ(0, ibv_poll_cq(b.cq, 1, &self->wc));
	ASSERT_REGION(&to, SEED + 1);
	wr = datagram(ah, &b, QKEY);
	post(&a, &wr, &from);
	end_wait(&a, 1, IBV_WC_SUCCESS, &self->wc);
	end_wait(&b, 2, IBV_WC_SUCCESS, &self->wc);
	/* No datagram is larger than a packet. */
	post(&a, &wr, &large);
	end_wait(&a, 1, IBV_WC_LOC_LEN_ERR, &self->wc);
	ASSERT_EQ(0, ibv_destroy_ah(ah));
	region_destroy(&from);
	region_destroy(&large);
	region_destroy(&to);
	end_destroy(&a);
	end_destroy(&b);
}

/* An end that receives from a shared queue. */
static int sharing_end(struct ibv_pd *pd, const struct connection_options *o,
		       struct ibv_srq *srq, struct end *end)
{
	struct ibv_qp_init_attr init = {
		.qp_type = o->type, .srq = srq,
		.cap = { .max_send_wr = DEPTH, .max_send_sge = 1 },
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = o->access,
	};
	int err = _end_make(pd, o, end);

	if (err)
		return err;
	err = ibv_destroy_qp(end->qp);
	if (err)
		return err;
	init.send_cq = end->cq;
	init.recv_cq = end->cq;
	end->qp = ibv_create_qp(pd, &init);
	if (!end->qp)
		return errno;
	return ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

static int post_shared(struct ibv_srq *srq, uint64_t id, const struct region *region)
{
	struct ibv_sge sge = { (uintptr_t)region->data, region->len, region->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_srq_recv(srq, &wr, &bad);
}

/*
 * Two receive from one queue: requests go to whom a message comes for, in their order; the
 * owner hears once that there are fewer than the limit; and it cannot go before both.
 */
TEST_F(services, shared_receive_queue)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = 3 }, seen = {};
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND };
	struct pollfd fd = { .fd = self->ctx->async_fd, .events = POLLIN };
	struct connection_options *o = &self->options;
	int64_t seq = vhca_seq(&self->bed.dev);
	struct end from[2], to[2];
	struct ibv_async_event event;
	struct region data, room[5];
	struct vhca_object object;
	struct ibv_srq *srq;
	unsigned int i;

	srq = ibv_create_srq(self->pd, &init);
	ASSERT_NE(NULL, srq);
	ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "rmp", seq, &object));
	for (i = 0; i < 2; i++) {
		end_make(self->pd, o, &from[i]);
		ASSERT_EQ(0, sharing_end(self->pd, o, srq, &to[i]));
		end_connect(&from[i], &to[i], o);
		end_connect(&to[i], &from[i], o);
	}
	ASSERT_EQ(EBUSY, ibv_destroy_srq(srq));
	region_make(self->pd, SIZE, 0, 0, &data);
	for (i = 0; i < 5; i++) {
		region_make(self->pd, SIZE, i, IBV_ACCESS_LOCAL_WRITE, &room[i]);
		ASSERT_EQ(0, post_shared(srq, 10 + i, &room[i]));
	}
	ASSERT_EQ(0, ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT));
	ASSERT_EQ(0, ibv_query_srq(srq, &seen));
	ASSERT_EQ(3u, seen.srq_limit);
	for (i = 0; i < 5; i++) {
		/* One, then the other. */
		region_fill(&data, SEED + i);
		post(&from[i % 2], &wr, &data);
		end_wait(&from[i % 2], 1, IBV_WC_SUCCESS, &self->wc);
		end_wait(&to[i % 2], 10 + i, IBV_WC_SUCCESS, &self->wc);
		ASSERT_EQ(SIZE, self->wc.byte_len);
		ASSERT_REGION(&room[i], SEED + i);
		/* Two of five are left when the third is taken. */
		if (i == 2) {
			ASSERT_EQ(1, poll(&fd, 1, 20000));
			ASSERT_EQ(0, ibv_get_async_event(self->ctx, &event));
			ASSERT_ENUM(IBV_EVENT_SRQ_LIMIT_REACHED, event.event_type);
			ASSERT_EQ(srq, event.element.srq);
			ibv_ack_async_event(&event);
		}
		ASSERT_EQ(0, poll(&fd, 1, 0));
	}
	ASSERT_EQ(0, ibv_query_srq(srq, &seen));
	ASSERT_EQ(0u, seen.srq_limit);
	/* What was taken is posted again, now in another order than it lies in. */
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, post_shared(srq, 20 + i, &room[i]));
	for (i = 0; i < 3; i++) {
		region_fill(&data, SEED + 10 + i);
		post(&from[0], &wr, &data);
		end_wait(&from[0], 1, IBV_WC_SUCCESS, &self->wc);
		end_wait(&to[0], 20 + i, IBV_WC_SUCCESS, &self->wc);
		ASSERT_REGION(&room[i], SEED + 10 + i);
	}
	for (i = 0; i < 2; i++) {
		end_destroy(&from[i]);
		end_destroy(&to[i]);
	}
	for (i = 0; i < 5; i++)
		region_destroy(&room[i]);
	region_destroy(&data);
	ASSERT_EQ(0, ibv_destroy_srq(srq));
	ASSERT_EQ(0, vhca_find(&self->bed.dev, "rmp", object.id, NULL));
}

/* Entries that were there before are read after, in order; what has no room is refused. */
TEST_F(services, resized_completion_queue)
{
	struct connection_options *o = &self->options;
	struct ibv_send_wr wr;
	struct region from, to;
	struct end a, b;
	unsigned int i;

	marker_expect("mlx5_core .*MODIFY_CQ.*bad size");
	o->depth = DEPTH;
	end_make(self->pd, o, &a);
	end_make(self->pd, o, &b);
	end_connect(&a, &b, o);
	end_connect(&b, &a, o);
	region_make(self->pd, SIZE, 0, 0, &from);
	region_make(self->pd, SIZE, 0, CONNECTION_ALL_ACCESS, &to);
	wr = rdma(IBV_WR_RDMA_WRITE, &to);
	for (i = 0; i < 6; i++) {
		wr.wr_id = i;
		post(&a, &wr, &from);
		/* Half are there before, half come after. */
		if (i == 2) {
			end_wait(&a, 0, IBV_WC_SUCCESS, &self->wc);
			ASSERT_EQ(0, ibv_resize_cq(a.cq, 100));
			ASSERT_LE(100, a.cq->cqe);
		}
	}
	for (i = 1; i < 6; i++)
		end_wait(&a, i, IBV_WC_SUCCESS, &self->wc);
	ASSERT_EQ(0, ibv_poll_cq(a.cq, 1, &self->wc));
	for (i = 0; i < 4; i++)
		post(&a, &wr, &from);
	/* All of them are executed by then. */
	usleep(200000);
	ASSERT_NE(0, ibv_resize_cq(a.cq, 1));
	for (i = 0; i < 4; i++)
		end_wait(&a, 5, IBV_WC_SUCCESS, &self->wc);
	ASSERT_EQ(0, ibv_resize_cq(a.cq, 1));
	post(&a, &wr, &from);
	end_wait(&a, 5, IBV_WC_SUCCESS, &self->wc);
	end_destroy(&a);
	end_destroy(&b);
	region_destroy(&from);
	region_destroy(&to);
}

#define RATE	100	/* kbps */

/*
 * A rate is in the device's table as long as somebody has it: one entry for all who want the
 * same, and one for each who wants its own.
 */
TEST_F(services, paced_rate)
{
	const uint32_t rate = htobe32(RATE);
	struct mlx5dv_pp *shared[2], *own;

	shared[0] = mlx5dv_pp_alloc(self->ctx, sizeof(rate), &rate, 0);
	if (!shared[0] && (errno == EOPNOTSUPP || errno == EPROTONOSUPPORT))
		SKIP(return, "the device has no packet pacing");
	ASSERT_NE(NULL, shared[0]);
	ASSERT_LEDGER(1, "rate");
	shared[1] = mlx5dv_pp_alloc(self->ctx, sizeof(rate), &rate, 0);
	ASSERT_NE(NULL, shared[1]);
	ASSERT_EQ(shared[0]->index, shared[1]->index);
	ASSERT_LEDGER(1, "rate");
	own = mlx5dv_pp_alloc(self->ctx, sizeof(rate), &rate,
			      MLX5DV_PP_ALLOC_FLAGS_DEDICATED_INDEX);
	ASSERT_NE(NULL, own);
	ASSERT_NE(shared[0]->index, own->index);
	ASSERT_LEDGER(2, "rate");
	mlx5dv_pp_free(shared[0]);
	ASSERT_LEDGER(2, "rate");
	mlx5dv_pp_free(shared[1]);
	ASSERT_LEDGER(1, "rate");
	mlx5dv_pp_free(own);
	ASSERT_LEDGER(0, "rate");
}

/* They go with the process that has them. */
TEST_F(services, paced_rate_of_one_who_is_killed)
{
	const uint32_t rate = htobe32(RATE);
	struct ibv_context *ctx;
	char made = 0;
	int ends[2];
	pid_t child;

	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		ctx = device_open(&self->bed.dev);
		made = ctx && mlx5dv_pp_alloc(ctx, sizeof(rate), &rate, 0) &&
		       mlx5dv_pp_alloc(ctx, sizeof(rate), &rate,
				       MLX5DV_PP_ALLOC_FLAGS_DEDICATED_INDEX);
		if (write(ends[1], &made, 1) == 1 && made)
			pause();
		_exit(1);
	}
	close(ends[1]);
	ASSERT_EQ(1, read(ends[0], &made, 1));
	close(ends[0]);
	if (made)
		ASSERT_LEDGER(2, "rate");
	ASSERT_EQ(0, kill(child, SIGKILL));
	ASSERT_EQ(child, waitpid(child, NULL, 0));
	ASSERT_LEDGER(0, "rate");
	if (!made)
		SKIP(return, "the device has no packet pacing");
}

TEST_HARNESS_MAIN
