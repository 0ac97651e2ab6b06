// SPDX-License-Identifier: GPL-2.0
/*
 * L27: reading a DEVX event without data copies from a subscription that was freed.
 *
 * Symptom: a thread reads the cookie of an event from a channel that was made with
 * OMIT_EV_DATA, and has to wait for the page that it reads to; meanwhile the context is
 * closed, or the device goes.  It gets eight bytes of kernel memory that was freed: with
 * slab_debug=FZPU 0x6b6b6b6b6b6b6b6b in place of the cookie.
 *
 * Wrong: devx_async_event_read() in drivers/infiniband/hw/mlx5/devx.c takes the
 * subscription from the list of events under the lock and copies its cookie to the user
 * after the lock was dropped.  The file that it reads keeps the channel's uobject, but not
 * the subscriptions: devx_async_event_destroy_uobj() frees them after an RCU grace period,
 * and it runs when the uverbs file is closed as well.  Linux 5.3 and later, 7.3 included.
 *
 * Fix: copy the cookie to a variable before the lock is dropped.
 *
 * How an event comes about: a write with a wrong key, to a queue pair of this program.  The
 * subscription is for a DEVX object that has the queue pair's number; with the kernel's
 * list of events a DEVX XRCD can stand for the queue pair, as the kind of object is no part
 * of the look-up there (L28).  XRCDs are allocated until one has the number; where the
 * device has no such, or has a list of events of its own, this program cannot tell.
 *
 * The page is kept away by userfaultfd(), which wants root for that; FUSE does as well.
 *
 * Build:  gcc -Wall -pthread -o l27_devx_event_read l27_devx_event_read.c -lmlx5 -libverbs
 * Run:    ./l27_devx_event_read [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.  Without
 *         slab_debug memory that was freed may still have the cookie, which looks good.
 */
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <linux/membarrier.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CANNOT_TELL	4

/* MLX5_EVENT_TYPE_WQ_ACCESS_ERROR and MLX5_CMD_OP_ALLOC_XRCD. */
#define WQ_ACCESS_ERROR	0x11
#define ALLOC_XRCD	0x80e
#define MOST_XRCDS	4096
#define OMIT_DATA	MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA
#define COOKIE		0x1122334455667788ull
#define PAGE		4096
#define PORT		1

/* The first mlx5 device, or the one of that name, with a DEVX context. */
static struct ibv_context *open_device(const char *name)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
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

/* A page that is not there; whoever needs it waits for userfaultfd. */
static void *page_of(int *uffd)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	range.range.start = (uintptr_t)page;
	range.range.len = PAGE;
	if (page == MAP_FAILED || *uffd < 0 || ioctl(*uffd, UFFDIO_API, &api) ||
	    ioctl(*uffd, UFFDIO_REGISTER, &range))
		err(CANNOT_TELL, "userfaultfd: be root");
	return page;
}

struct reader {
	int fd;
	uint64_t *page;
	ssize_t got;
};

static void *read_cookie(void *arg)
{
	struct reader *reader = arg;

	reader->got = read(reader->fd, reader->page, sizeof(*reader->page));
	return NULL;
}

/* Whatever is mapped of a uverbs file keeps it open. */
static void unmap_uverbs(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long begin[64], end[64];
	char line[512];
	int n = 0;

	while (maps && n < 64 && fgets(line, sizeof(line), maps))
		if (strstr(line, "/dev/infiniband/uverbs") &&
		    sscanf(line, "%lx-%lx", &begin[n], &end[n]) == 2)
			n++;
	while (n--)
		munmap((void *)begin[n], end[n] - begin[n]);
}

static void wait_for(int fd, const char *what)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	if (poll(&pfd, 1, 20000) != 1)
		errx(CANNOT_TELL, "no %s within 20 s", what);
}

int main(int argc, char **argv)
{
	const uint16_t events[] = { WQ_ACCESS_ERROR };
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	struct ibv_cq *cq = pd ? ibv_create_cq(ctx, 4, NULL, NULL, 0) : NULL;
	struct mlx5dv_devx_event_channel *channel;
	struct ibv_qp *from, *to;
	struct uffd_msg msg;
	struct uffdio_zeropage zero = { .range.len = PAGE };
	struct reader reader;
	pthread_t thread;
	int uffd, i;

	if (!cq)
		err(CANNOT_TELL, "no mlx5 device with DEVX");
	from = make_qp(pd, cq);
	to = make_qp(pd, cq);
	connect_qp(from, to);
	connect_qp(to, from);
	channel = mlx5dv_devx_create_event_channel(ctx, OMIT_DATA);
	if (!channel)
		err(CANNOT_TELL, "no channel for DEVX events");
	if (mlx5dv_devx_subscribe_devx_event(channel, object_of_number(ctx, to->qp_num),
					     sizeof(events), (uint16_t *)events, COOKIE))
		err(CANNOT_TELL, "no subscription");
	reader.fd = channel->fd;
	reader.page = page_of(&uffd);
	cause_event(from, pd);
	wait_for(channel->fd, "event");
	if (pthread_create(&thread, NULL, read_cookie, &reader))
		errx(CANNOT_TELL, "no thread");
	wait_for(uffd, "page fault of the reader");
	if (read(uffd, &msg, sizeof(msg)) != sizeof(msg) || msg.event != UFFD_EVENT_PAGEFAULT)
		err(CANNOT_TELL, "userfaultfd");
	unmap_uverbs();
	close(ctx->cmd_fd);
	/* Each lets an RCU grace period pass. */
	for (i = 0; i < 3; i++)
		if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
			err(CANNOT_TELL, "membarrier()");
	zero.range.start = (uintptr_t)reader.page;
	if (ioctl(uffd, UFFDIO_ZEROPAGE, &zero))
		err(CANNOT_TELL, "userfaultfd");
	pthread_join(thread, NULL);
	if (reader.got != sizeof(*reader.page))
		errx(CANNOT_TELL, "the read has returned %zd", reader.got);
	printf("%s: subscribed with %#llx, read %#llx after the context was closed\n",
	       *reader.page == COOKIE ? "good" : "bad", COOKIE,
	       (unsigned long long)*reader.page);
	return *reader.page != COOKIE;
}
