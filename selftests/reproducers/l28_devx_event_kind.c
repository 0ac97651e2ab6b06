// SPDX-License-Identifier: GPL-2.0
/*
 * L28: a DEVX subscription for one object gets the events of others, also of other users.
 *
 * Symptom: a process that has a DEVX object of any kind, here an XRCD, and subscribes it for
 * events of queue pairs gets those of the queue pair that has the object's number, with the
 * data of the event, whoever has made that queue pair.
 *
 * Wrong: in drivers/infiniband/hw/mlx5/devx.c the kind of an object is part of the look-up
 * by which an event finds its subscriptions, as numbers are unique for each kind only.
 * get_legacy_obj_type() has 0 for kinds that it does not know, which is
 * MLX5_EVENT_QUEUE_TYPE_QP, and what get_event_obj_type() has for completion queues.
 * Linux 5.3 and later, 7.3 included.
 *
 * Fix: refuse to subscribe an object for an event that its kind does not have.
 *
 * XRCDs are allocated until one has the number of the other process' queue pair; where the
 * device gives no such, or wants other lists of events, this program cannot tell.
 *
 * Build:  gcc -Wall -o l28_devx_event_kind l28_devx_event_kind.c -lmlx5 -libverbs
 * Run:    ./l28_devx_event_kind [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT_TELL	4

/* MLX5_EVENT_TYPE_WQ_ACCESS_ERROR and MLX5_CMD_OP_ALLOC_XRCD. */
#define WQ_ACCESS_ERROR	0x11
#define ALLOC_XRCD	0x80e
#define MOST_XRCDS	4096
#define COOKIE		0x1122334455667788ull
#define PORT		1

/* The first mlx5 device, or the one of that name. */
static struct ibv_context *open_device(const char *name, uint32_t flags)
{
	struct mlx5dv_context_attr attr = { .flags = flags };
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (; list && *list; list++)
		if (mlx5dv_is_supported(*list) &&
		    (!name || !strcmp(name, ibv_get_device_name(*list))))
			return mlx5dv_open_device(*list, &attr);
	errno = ENODEV;
	return NULL;
}

static struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = PORT,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	if (!qp || ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				 IBV_QP_ACCESS_FLAGS))
		err(CANNOT_TELL, "no queue pair");
	return qp;
}

static void connect_qp(struct ibv_qp *qp, struct ibv_qp *to)
{
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = to->qp_num,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 1,
		.ah_attr = { .is_global = 1, .port_num = PORT, .grh = { .hop_limit = 1 } },
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = 1,
	};
	struct ibv_port_attr port;

	if (ibv_query_port(qp->context, PORT, &port) ||
	    ibv_query_gid(qp->context, PORT, 0, &rtr.ah_attr.grh.dgid))
		err(CANNOT_TELL, "no address of port %d", PORT);
	rtr.ah_attr.dlid = port.lid;
	if (ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) ||
	    ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			  IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC))
		err(CANNOT_TELL, "queue pairs are not connected");
}

/* A DEVX object of that number. */
static struct mlx5dv_devx_obj *object_of_number(struct ibv_context *ctx, uint32_t number)
{
	const uint32_t in[4] = { htobe32(ALLOC_XRCD << 16) };
	struct mlx5dv_devx_obj *xrcd;
	uint32_t out[4];
	int i;

	for (i = 0; i < MOST_XRCDS; i++) {
		memset(out, 0, sizeof(out));
		xrcd = mlx5dv_devx_obj_create(ctx, in, sizeof(in), out, sizeof(out));
		if (!xrcd)
			err(CANNOT_TELL, "no DEVX XRCD after %d of them", i);
		if ((be32toh(out[2]) & 0xffffff) == number)
			return xrcd;
	}
	errx(CANNOT_TELL, "of %d DEVX XRCDs none has the number %#x", MOST_XRCDS, number);
}

/* Write with a key that nobody has: the receiver hears of it. */
static void cause_event(struct ibv_qp *from, struct ibv_pd *pd)
{
	static char data[8];
	struct ibv_mr *mr = ibv_reg_mr(pd, data, sizeof(data), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { .addr = (uintptr_t)data, .length = sizeof(data) };
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
		.wr.rdma = { .remote_addr = (uintptr_t)data, .rkey = 0xffffff00 },
	};

	if (!mr)
		err(CANNOT_TELL, "no memory region");
	sge.lkey = mr->lkey;
	if (ibv_post_send(from, &wr, &bad))
		errx(CANNOT_TELL, "no request");
}

/* Whether there is something to read within so many milliseconds. */
static int can_read(int fd, int limit_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, limit_ms) == 1;
}

/* The process that is listened to: says its number, and when it is told to has an error. */
static int victim(const char *name, int talk)
{
	struct ibv_context *ctx = open_device(name, 0);
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	struct ibv_cq *cq = pd ? ibv_create_cq(ctx, 4, NULL, NULL, 0) : NULL;
	struct ibv_async_event event;
	struct ibv_qp *from, *to;
	char word;

	if (!cq)
		err(CANNOT_TELL, "no mlx5 device");
	from = make_qp(pd, cq);
	to = make_qp(pd, cq);
	connect_qp(from, to);
	connect_qp(to, from);
	if (write(talk, &to->qp_num, sizeof(to->qp_num)) < 0)
		return CANNOT_TELL;
	/* Whoever may not listen has gone. */
	if (read(talk, &word, 1) != 1)
		return 0;
	cause_event(from, pd);
	if (!can_read(ctx->async_fd, 20000) || ibv_get_async_event(ctx, &event) ||
	    event.event_type != IBV_EVENT_QP_ACCESS_ERR)
		errx(CANNOT_TELL, "the queue pair has not heard of its error within 20 s");
	ibv_ack_async_event(&event);
	/* By then whoever is to hear of it has, but for the time that a thread needs. */
	return write(talk, "", 1) != 1 || read(talk, &word, 1) < 0 ? CANNOT_TELL : 0;
}

static int listen_to(const char *name, int talk)
{
	const uint16_t events[] = { WQ_ACCESS_ERROR };
	struct ibv_context *ctx = open_device(name, MLX5DV_CONTEXT_FLAGS_DEVX);
	struct mlx5dv_devx_event_channel *channel;
	struct {
		struct mlx5dv_devx_async_event_hdr hdr;
		uint8_t data[64];
	} event;
	uint32_t number;
	ssize_t got;
	char word;

	if (!ctx)
		err(CANNOT_TELL, "no mlx5 device with DEVX");
	if (read(talk, &number, sizeof(number)) != sizeof(number))
		return CANNOT_TELL;
	channel = mlx5dv_devx_create_event_channel(ctx, 0);
	if (!channel)
		err(CANNOT_TELL, "no channel for DEVX events");
	if (mlx5dv_devx_subscribe_devx_event(channel, object_of_number(ctx, number),
					     sizeof(events), (uint16_t *)events, COOKIE)) {
		printf("good: an XRCD for events of queue pairs: %s\n", strerror(errno));
		return 0;
	}
	if (write(talk, "", 1) != 1 || read(talk, &word, 1) != 1)
		return CANNOT_TELL;
	if (!can_read(channel->fd, 1000)) {
		printf("good: nothing is heard of queue pair %#x\n", number);
		return 0;
	}
	got = read(channel->fd, &event, sizeof(event));
	printf("bad: %zd bytes of an event of queue pair %#x of another process\n", got, number);
	return 1;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	int talk[2], result, status;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, talk))
		err(CANNOT_TELL, "socketpair()");
	pid = fork();
	if (!pid) {
		close(talk[0]);
		_exit(victim(name, talk[1]));
	}
	close(talk[1]);
	result = listen_to(name, talk[0]);
	close(talk[0]);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return CANNOT_TELL;
	return result != 1 && WEXITSTATUS(status) ? CANNOT_TELL : result;
}
