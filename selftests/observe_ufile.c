// SPDX-License-Identifier: GPL-2.0
/*
 * A ufile in each state that it can be in, for scripts that look at it:
 *
 *   observe_ufile STATE
 *
 * prints "ready" and what the script cannot know (numbers of descriptors, inodes,
 * addresses) as KEY=VALUE.  Each line of standard input leads to the next step, if
 * the state has one, which is printed as "step N"; the end of the input ends it.
 *
 *   open        a mapped VAR, device memory, a dma-buf of it and a region on that
 *   nocontext   the device's file is open, and no more
 *   mapping     all is closed, but a VAR is mapped.  Then: it is not
 *   flight      the only descriptor is in a message.  Then: it was received
 *   async       all is closed but the async event file.  Then: that too
 *   dmabuf      all is closed but a dma-buf of a VAR.  Then: that too
 *   leaving     as open, with a second descriptor of the async event file.  Then: all
 *               but that one is closed
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/device.h"
#include "common/dm_ops.h"
#include "common/peer_msg.h"
#include "common/var_ops.h"

#define DM_SIZE	4096

static struct ibv_context *ctx;
static struct raw_var var;
static struct ibv_mr *mr;
static uint32_t *map;
static int pair[2], kept = -1;

static int failed(const char *what, int err)
{
	fprintf(stderr, "%s: %s\n", what, strerror(err));
	return 1;
}

static int open_context(void)
{
	struct device dev;
	const char *missing = device_find(&dev);

	if (missing) {
		fprintf(stderr, "%s\n", missing);
		return 1;
	}
	ctx = device_open(&dev);
	return ctx ? 0 : failed("open the device", errno);
}

static int close_context(void)
{
	return ibv_close_device(ctx) ? failed("ibv_close_device", errno) : 0;
}

static int make_var(void)
{
	int err = open_context();

	if (err)
		return err;
	err = _raw_var_alloc(ctx->cmd_fd, 0, 0, &var);
	return err ? failed("allocate a VAR", err) : 0;
}

static int make_mapped_var(void)
{
	int err = make_var();

	if (err)
		return err;
	err = _map(ctx, var.length, MAP_SHARED, var.mmap_off, &map);
	if (err)
		return failed("map it", err);
	printf("map=0x%" PRIxPTR " end=0x%" PRIxPTR " handle=%u\n", (uintptr_t)map,
	       (uintptr_t)map + var.length, var.handle);
	return 0;
}

static int print_inode(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return failed("fstat", errno);
	printf("dmabuf=%d ino=%" PRIu64 "\n", fd, (uint64_t)st.st_ino);
	return 0;
}

static int make_open(void)
{
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	int err;

	if (make_mapped_var())
		return 1;
	printf("cmd=%d async=%d\n", ctx->cmd_fd, ctx->async_fd);
	pd = ibv_alloc_pd(ctx);
	if (!pd)
		return failed("ibv_alloc_pd", errno);
	err = _dm_alloc(ctx, DM_SIZE, &dm);
	if (err)
		return failed("ibv_alloc_dm", err);
	err = _dmabuf_export(dm, &kept);
	if (err)
		return failed("ibv_dm_export_dmabuf_fd", err);
	err = _mr_reg_dmabuf(pd, 0, DM_SIZE, kept, &mr);
	if (err)
		return failed("ibv_reg_dmabuf_mr", err);
	printf("lkey=0x%x\n", mr->lkey);
	return print_inode(kept);
}

static int close_kept(void)
{
	return close(kept) ? failed("close", errno) : 0;
}

/* A dma-buf that is closed after its ufile leaves that behind, before kernel 7.3. */
static int end_open(void)
{
	int err = ibv_dereg_mr(mr);

	return err ? failed("ibv_dereg_mr", err) : close_kept();
}

static int make_nocontext(void)
{
	kept = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
	if (kept < 0)
		return failed("/dev/infiniband/uverbs0", errno);
	printf("cmd=%d\n", kept);
	return 0;
}

static int make_mapping(void)
{
	return make_mapped_var() || close_context();
}

static int drop_mapping(void)
{
	int err = _unmap(map, var.length);

	return err ? failed("munmap", err) : 0;
}

static int make_flight(void)
{
	struct peer_msg msg = {};
	int err;

	if (make_var())
		return 1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return failed("socketpair", errno);
	err = peer_send(pair[0], &msg, ctx->cmd_fd);
	if (err)
		return failed("send the descriptor", err);
	return close_context();
}

static int take_from_flight(void)
{
	struct peer_msg msg;
	int err = peer_receive(pair[1], &msg, &kept);

	if (err || kept < 0)
		return failed("receive the descriptor", err);
	printf("cmd=%d\n", kept);
	return 0;
}

static int keep_async(void)
{
	kept = fcntl(ctx->async_fd, F_DUPFD_CLOEXEC, 0);
	if (kept < 0)
		return failed("dup of the async event file", errno);
	printf("kept=%d\n", kept);
	return 0;
}

static int make_async(void)
{
	return make_var() || keep_async() || close_context();
}

static int make_dmabuf(void)
{
	int err = make_var();

	if (err)
		return err;
	err = _raw_dmabuf_export(ctx->cmd_fd, var.mmap_off, &kept);
	if (err)
		return failed("export the VAR", err);
	return print_inode(kept) || close_context();
}

static int make_leaving(void)
{
	if (make_mapped_var() || keep_async())
		return 1;
	printf("cmd=%d async=%d\n", ctx->cmd_fd, ctx->async_fd);
	return 0;
}

static int leave(void)
{
	return drop_mapping() || close_context();
}

/* What makes a state, what is the next step, and what is to be done in the end. */
static const struct state {
	const char *name;
	int (*make)(void);
	int (*next)(void);
	int (*end)(void);
} states[] = {
	{ .name = "open",	.make = make_open,	.end = end_open },
	{ .name = "nocontext",	.make = make_nocontext },
	{ .name = "mapping",	.make = make_mapping,	.next = drop_mapping },
	{ .name = "flight",	.make = make_flight,	.next = take_from_flight },
	{ .name = "async",	.make = make_async,	.next = close_kept },
	{ .name = "dmabuf",	.make = make_dmabuf,	.next = close_kept },
	{ .name = "leaving",	.make = make_leaving,	.next = leave },
	{ }
};

int main(int argc, char **argv)
{
	const struct state *state = states;
	char line[64];
	int n = 1;

	while (argc == 2 && state->name && strcmp(state->name, argv[1]))
		state++;
	if (argc != 2 || !state->name) {
		fputs("usage: observe_ufile", stderr);
		for (state = states; state->name; state++)
			fprintf(stderr, "%c%s", state == states ? ' ' : '|', state->name);
		fputc('\n', stderr);
		return 2;
	}
	if (state->make())
		return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (n++ > 1 || !state->next || state->next())
			return failed("no such step", EINVAL);
		printf("step %d\n", n);
		fflush(stdout);
	}
	return state->end ? state->end() : 0;
}
