// SPDX-License-Identifier: GPL-2.0
/*
 * Lifetime of dma-bufs of device memory, and of whatever else an mmap entry is for.
 *
 * A dma-buf is a uobject of its own: from the export to the last close it has a
 * reference to the ufile and one to the mmap entry, so it keeps the memory, and the
 * VAR or UAR page, from being given to anybody else.  Freeing the object revokes it,
 * which ends all access and none of the references.
 *
 * Who imports them is the business of attach.c, and what happens when the file that
 * they were exported through goes first that of process_death.c.
 */
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/dmabuf_counts.h"
#include "common/doorbell.h"
#include "common/file_max.h"
#include "common/peer_msg.h"
#include "common/uverbs_ioctl.h"
#include "common/var_ops.h"

#define DM_SIZE		8192
#define VHCA_DEALLOC_UAR	0x803

/* Several of them must fit. */
#define DM_NEEDED	(8 * DM_SIZE)

FIXTURE(dmabuf)
{
	struct bed bed;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct kernel_counts counts;
	int64_t seq;
	size_t page_size;
};

FIXTURE_SETUP(dmabuf)
{
	if (!bed_make(_metadata, &self->bed, true) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	if (self->bed.dev.info.memic.size < DM_NEEDED) {
		bed_mark(_metadata, "end");
		SKIP(return, "less than %d bytes of MEMIC: load mlx5_vhca with a larger memic_size",
		     DM_NEEDED);
	}
	self->page_size = sysconf(_SC_PAGESIZE);
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	self->pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, self->pd);
	counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
	self->seq = vhca_seq(&self->bed.dev);
	ASSERT_LE(0, self->seq);
}

FIXTURE_TEARDOWN(dmabuf)
{
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

/*
 * DMABUF-01, DMABUF-14, UOBJ-01, ENT-01: An export is a uobject with two references, one to the
 * ufile and one to the memory's entry; a dma-buf of ib_uverbs with one file, no importer,
 * close-on-exec and the size of the mapped pages.  It holds ib_uverbs and not mlx5_ib.
 */
TEST_F(dmabuf, dmabuf_01_export)
{
	const int uverbs = module_refcount("ib_uverbs"), mlx5 = module_refcount("mlx5_ib");
	const size_t size = 2 * self->page_size;
	struct vhca_object memic;
	struct ibv_dm *dm;
	uint64_t ino;
	struct stat st;
	int fd;

	/* Not a multiple of the page size, which the dma-buf's size is. */
	dm_alloc(self->ctx, self->page_size + 64, &dm);
	ASSERT_NEW_MEMIC(&memic);
	LOOK();
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=2 vmas=1 dmabufs=0 driver_removed=0");
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=2");

	dmabuf_export(dm, &fd);
	ino = dmabuf_inode(fd);
	ASSERT_NE(0UL, ino);
	ASSERT_DMABUF(ino, "ref=2 usecnt=0 state=live class=fd file_ref=1 kref=1 revoked=0");
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), scope_kv("ino=%lu size=%zu", ino, size));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=3 vmas=1 dmabufs=1 driver_removed=0");
	ASSERT_ENTRY_OF(OURS("kind=MEMIC"), UOBJ, OURS("type=DMABUF"));
	ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("ref=3 uobjects=%d", self->counts.uobjects + 2));
	ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 usecnt=0 dm_ref=1 dm_users=0");
	ASSERT_NONE(ATTACH, OURS(""));
	ASSERT_ONE(FD, scope_kv("pid=%d fd=%d", getpid(), fd),
		   OURS("kind=dmabuf ino=%lu size=%zu file_ref=1 exporter=ib_uverbs", ino, size));
	ASSERT_UNEXPLAINED(0, scope_kv("ino:%lu", ino));
	ASSERT_EQ(1, fdinfo_count(fd));
	ASSERT_EQ(true, fd_is_cloexec(fd));
	ASSERT_EQ(0, fstat(fd, &st));
	ASSERT_EQ((off_t)size, st.st_size);
	ASSERT_EQ((off_t)size, lseek(fd, 0, SEEK_END));
	if (uverbs >= 0)
		ASSERT_EQ(uverbs + 1, module_refcount("ib_uverbs"));
	if (mlx5 >= 0)
		ASSERT_EQ(mlx5, module_refcount("mlx5_ib"));

	ASSERT_EQ(0, close(fd));
	ASSERT_NO_DMABUF(ino);
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=2 vmas=1 dmabufs=0 driver_removed=0");
	ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("ref=2 uobjects=%d", self->counts.uobjects + 1));
	ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 usecnt=0 dm_ref=1 dm_users=0");
	if (uverbs >= 0)
		ASSERT_EQ(uverbs, module_refcount("ib_uverbs"));
	ASSERT_MEMIC_FREED(0, &memic);
	dm_free(dm);
	ASSERT_MEMIC_FREED(1, &memic);
}

#define EXPORTS	16

/*
 * DMABUF-02: Each export is an object of its own; what one close drops is one.
 * None of them, opened or closed, is news to the device.
 */
TEST_F(dmabuf, dmabuf_02_many_exports)
{
	struct vhca_object memic;
	uint64_t ino[EXPORTS];
	int fd[EXPORTS], i;
	struct ibv_dm *dm;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	for (i = 0; i < EXPORTS; i++) {
		dmabuf_export(dm, &fd[i]);
		ino[i] = dmabuf_inode(fd[i]);
	}
	LOOK();
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), scope_kv("ref=%d dmabufs=%d", EXPORTS + 2, EXPORTS));
	ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("ref=%d", EXPORTS + 2));
	ASSERT_COUNT(EXPORTS, UOBJ, OURS("type=DMABUF ref=2 kref=1 file_ref=1 revoked=0"));
	ASSERT_EQ(self->bed.before.dmabufs + EXPORTS, dmabuf_count("ib_uverbs"));

	/* The even ones before the DM is freed and the odd ones after that. */
	for (i = 0; i < EXPORTS; i += 2) {
		ASSERT_EQ(0, close(fd[i]));
		ASSERT_NO_DMABUF(ino[i]);
		ASSERT_ONE(MMAP, OURS("kind=MEMIC"),
			   scope_kv("ref=%d dmabufs=%d", EXPORTS + 1 - i / 2,
				    EXPORTS - 1 - i / 2));
	}
	ASSERT_EQ(self->bed.before.dmabufs + EXPORTS / 2, dmabuf_count("ib_uverbs"));
	dm_free(dm);
	for (i = 1; i < EXPORTS; i += 2) {
		ASSERT_MEMIC_FREED(0, &memic);
		ASSERT_DMABUF(ino[i], "ref=2 kref=0 file_ref=1 revoked=1");
		ASSERT_ONE(MMAP, OURS("kind=MEMIC"),
			   scope_kv("ref=%d vmas=0 dmabufs=0 driver_removed=1",
				    (EXPORTS - i + 1) / 2));
		ASSERT_EQ(0, close(fd[i]));
		ASSERT_NO_DMABUF(ino[i]);
	}
	ASSERT_NONE(MMAP, OURS("kind=MEMIC"));
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=2");
	ASSERT_MEMIC_FREED(1, &memic);
}

/* DMABUF-02: A thousand exports, each closed at once, leave all counts as they were. */
TEST_F(dmabuf, dmabuf_02_a_thousand_rounds)
{
	struct ibv_dm *dm;
	int fd, i;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	LOOK();
	for (i = 0; i < 1000; i++) {
		dmabuf_export(dm, &fd);
		ASSERT_EQ(0, close(fd));
	}
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_EQ(self->bed.before.dmabufs, dmabuf_count("ib_uverbs"));
	dm_free(dm);
}

/*
 * DMABUF-03, S15, S16: All that the export took is given back within close(): the next
 * snapshot has no trace of it.  The device is told nothing, the memory works as before,
 * and can be exported again.
 */
TEST_F(dmabuf, dmabuf_03_close)
{
	uint32_t word = 0xd0d0cafe, back = 0;
	struct vhca_object memic;
	struct ibv_dm *dm;
	uint64_t ino;
	int64_t seq;
	int fd, i;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dm_write(dm, 256, &word, sizeof(word));
	seq = vhca_seq(&self->bed.dev);
	LOOK();
	for (i = 0; i < 2; i++) {
		dmabuf_export(dm, &fd);
		ino = dmabuf_inode(fd);
		ASSERT_EQ(0, close(fd));
		LOOK();
		ASSERT_UNCHANGED();
		ASSERT_NO_DMABUF(ino);
		dm_read(&back, dm, 256, sizeof(back));
		ASSERT_EQ(word, back);
	}
	ASSERT_EQ(0, vhca_other_since(&self->bed.dev, seq));
	dm_free(dm);
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * DMABUF-04, DMABUF-03, S15: A duplicate is the same dma-buf: one more file reference and
 * nothing else.  Only the last close is one.
 */
TEST_F(dmabuf, dmabuf_04_dup)
{
	struct ibv_dm *dm;
	uint64_t ino;
	int fd, copy;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	dmabuf_export(dm, &fd);
	ino = dmabuf_inode(fd);
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	ASSERT_LE(0, copy);
	ASSERT_EQ(ino, dmabuf_inode(copy));
	ASSERT_EQ(2, fdinfo_count(fd));
	ASSERT_DMABUF(ino, "ref=2 file_ref=2 kref=1 revoked=0");
	ASSERT_COUNT(1, UOBJ, OURS("type=DMABUF"));
	ASSERT_COUNT(2, FD, scope_kv("ino=%lu pid=%d", ino, getpid()));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=3 dmabufs=1");
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=3");
	ASSERT_EQ(0, close(fd));
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=1 revoked=0");
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=3 dmabufs=1");
	ASSERT_EQ(0, close(copy));
	ASSERT_NO_DMABUF(ino);
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=2 dmabufs=0");
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=2");
	dm_free(dm);
}

/*
 * DMABUF-04: A child has a descriptor of its own, and of the memory's entry a mapping.
 * The parent lets go of both; each of the child's keeps the memory, to the last one.
 */
TEST_F(dmabuf, dmabuf_04_fork)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct peer child;
	uint64_t ino;
	int fd;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dmabuf_export(dm, &fd);
	ino = dmabuf_inode(fd);
	peer_fork(&child);
	ASSERT_DMABUF(ino, "ref=2 file_ref=2 kref=1 revoked=0");
	ASSERT_COUNT(1, FD, scope_kv("ino=%lu pid=%d fd=%d", ino, child.pid, fd));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=4 vmas=2 dmabufs=1");
	ASSERT_EQ(0, close(fd));
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=1 revoked=0");
	dm_free(dm);
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=2 vmas=1 dmabufs=0 driver_removed=1");
	peer_close_fd(&child, fd);
	ASSERT_NO_DMABUF(ino);
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=1 vmas=1 dmabufs=0");
	ASSERT_MEMIC_FREED(0, &memic);
	peer_end(&child);
	LOOK();
	ASSERT_NONE(MMAP, OURS("kind=MEMIC"));
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * DMABUF-04, DMABUF-05, S15: A descriptor in another process is the last one.  The DM is
 * freed and closed here; the memory waits for the other process.
 */
TEST_F(dmabuf, dmabuf_04_peer_closes_last)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct peer peer;
	uint64_t ino;
	int fd, there;

	peer_start(&peer);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dmabuf_export(dm, &fd);
	ino = dmabuf_inode(fd);
	peer_keep_fd(&peer, fd, &there);
	ASSERT_DMABUF(ino, "ref=2 file_ref=2 kref=1 revoked=0");
	ASSERT_EQ(0, close(fd));
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=1 revoked=0");
	ASSERT_ONE(FD, scope_kv("ino=%lu", ino), scope_kv("pid=%d fd=%d", peer.pid, there));
	dm_free(dm);
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=1 vmas=0 dmabufs=0 driver_removed=1");
	ASSERT_MEMIC_FREED(0, &memic);
	peer_close_fd(&peer, there);
	ASSERT_NO_DMABUF(ino);
	ASSERT_MEMIC_FREED(1, &memic);
	peer_end(&peer);
}

/* DMABUF-04: The same, and the other process is killed. */
TEST_F(dmabuf, dmabuf_04_peer_is_killed)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct peer peer;
	uint64_t ino;
	int fd, there;

	peer_start(&peer);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dmabuf_export(dm, &fd);
	ino = dmabuf_inode(fd);
	peer_keep_fd(&peer, fd, &there);
	ASSERT_EQ(0, close(fd));
	dm_free(dm);
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_MEMIC_FREED(0, &memic);
	peer_kill(&peer);
	ASSERT_NO_DMABUF(ino);
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * DMABUF-04: The only descriptor is in a message that nobody has received: no process has
 * it, and the dma-buf is whole.  Received, it is a descriptor like any other; else it goes
 * with the socket.
 */
TEST_F(dmabuf, dmabuf_04_in_flight)
{
	struct peer_msg msg = {};
	struct vhca_object memic;
	struct ibv_dm *dm;
	int pair[2], fd;
	uint64_t ino;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dmabuf_export(dm, &fd);
	ino = dmabuf_inode(fd);
	ASSERT_EQ(0, peer_send(pair[0], &msg, fd));
	ASSERT_EQ(0, close(fd));
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=1 revoked=0");
	ASSERT_NONE(FD, scope_kv("ino=%lu", ino));
	ASSERT_UNEXPLAINED(1, scope_kv("ino:%lu", ino));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=3 dmabufs=1");

	ASSERT_EQ(0, peer_receive(pair[1], &msg, &fd));
	ASSERT_EQ(ino, dmabuf_inode(fd));
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=1 revoked=0");
	ASSERT_UNEXPLAINED(0, scope_kv("ino:%lu", ino));

	ASSERT_EQ(0, peer_send(pair[0], &msg, fd));
	ASSERT_EQ(0, close(fd));
	dm_free(dm);
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_MEMIC_FREED(0, &memic);
	ASSERT_EQ(0, close(pair[0]));
	ASSERT_EQ(0, close(pair[1]));
	ASSERT_NO_DMABUF(ino);
	ASSERT_MEMIC_FREED(1, &memic);
}

/* Send two descriptors in one message. */
static int send_two(int sock, const int fds[2])
{
	char byte = 0;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(2 * sizeof(int))];
	} control = {};
	struct msghdr hdr = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&hdr);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fds, 2 * sizeof(int));
	return sendmsg(sock, &hdr, MSG_NOSIGNAL) == 1 ? 0 : errno;
}

/*
 * DMABUF-04: The socket itself is in the message, so nobody can ever receive it and no
 * close ends it: the kernel's collector of such rings gives the dma-buf back.
 */
TEST_F(dmabuf, dmabuf_04_in_flight_for_ever)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	struct dmabuf_sign sign;
	struct vhca_object memic;
	int pair[2], fds[2], tries;
	struct ibv_dm *dm;
	uint64_t ino;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dmabuf_export(dm, &fds[0]);
	ino = dmabuf_inode(fds[0]);
	fds[1] = pair[1];
	ASSERT_EQ(0, send_two(pair[0], fds));
	ASSERT_EQ(0, close(fds[0]));
	dm_free(dm);
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_MEMIC_FREED(0, &memic);
	ASSERT_EQ(0, close(pair[1]));
	ASSERT_EQ(0, close(pair[0]));
	/* A work item of the kernel's does it. */
	for (tries = 0; tries < 2000 && dmabuf_look(ino, &sign) == 1; tries++)
		nanosleep(&pause, NULL);
	ASSERT_NO_DMABUF(ino);
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * DMABUF-05, DM-18, C15: The DM is freed with a descriptor open, one step at a time: the
 * free, which revokes the dma-buf; the library's unmap; the close.  The memory is the
 * device's own again at the last one and not before.
 */
TEST_F(dmabuf, dmabuf_05_free_with_a_descriptor)
{
	uint32_t word = 0x600dcafe, back = 0;
	struct vhca_object memic;
	struct ibv_dm *dm;
	uint64_t ino;
	int fd;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dmabuf_export(dm, &fd);
	ino = dmabuf_inode(fd);
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=1 revoked=0");
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=3 vmas=1 dmabufs=1 driver_removed=0");
	ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 usecnt=0 dm_ref=1 dm_users=0");
	ASSERT_DEVICE(DM_SIZE / 4096, "memic_pages_used");

	raw_dm_free(self->ctx->cmd_fd, dm->handle);
	ASSERT_DMABUF(ino, "ref=2 usecnt=0 state=live file_ref=1 kref=0 revoked=1");
	ASSERT_NONE(UOBJ, OURS("type=DM"));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=2 vmas=1 dmabufs=0 driver_removed=1");
	ASSERT_ENTRY_OF(OURS("kind=MEMIC"), UOBJ, OURS("type=DMABUF"));
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=3");
	ASSERT_DEVICE(DM_SIZE / 4096, "memic_pages_used");
	ASSERT_MEMIC_FREED(0, &memic);
	/* The mapping is what it was. */
	dm_write(dm, 64, &word, sizeof(word));
	dm_read(&back, dm, 64, sizeof(back));
	ASSERT_EQ(word, back);

	/* For the library this is an unmap, and no call into the kernel beside it. */
	ibv_unimport_dm(dm);
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=1 vmas=0 dmabufs=0 driver_removed=1");
	ASSERT_DEVICE(DM_SIZE / 4096, "memic_pages_used");
	ASSERT_MEMIC_FREED(0, &memic);

	ASSERT_EQ(0, close(fd));
	ASSERT_NO_DMABUF(ino);
	ASSERT_NONE(MMAP, OURS("kind=MEMIC"));
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=2");
	ASSERT_DEVICE(0, "memic_pages_used");
	ASSERT_MEMIC_FREED(1, &memic);
	ASSERT_EQ(self->bed.before.violations, vhca_violations(&self->bed.dev));
}

enum { FREE, UNMAP, CLOSE };

/*
 * DMABUF-05, S16, C12: The free of the memory, its unmap and the close of the dma-buf in
 * all orders.  Each takes its own reference to the entry with it; whichever is last gives
 * the memory back.
 */
TEST_F(dmabuf, dmabuf_05_every_order)
{
	static const int order[][3] = {
		{ FREE, UNMAP, CLOSE }, { FREE, CLOSE, UNMAP }, { UNMAP, FREE, CLOSE },
		{ UNMAP, CLOSE, FREE }, { CLOSE, FREE, UNMAP }, { CLOSE, UNMAP, FREE },
	};
	struct vhca_object memic;
	bool done[3];
	struct ibv_dm *dm;
	uint32_t handle;
	uint64_t ino;
	size_t i, j;
	int fd;

	for (i = 0; i < ARRAY_SIZE(order); i++) {
		/* The same place may be handed out again. */
		self->seq = vhca_seq(&self->bed.dev);
		dm_alloc(self->ctx, DM_SIZE, &dm);
		ASSERT_NEW_MEMIC(&memic);
		handle = dm->handle;
		dmabuf_export(dm, &fd);
		ino = dmabuf_inode(fd);
		memset(done, 0, sizeof(done));
		for (j = 0; j < 3; j++) {
			switch (order[i][j]) {
			case FREE:
				raw_dm_free(self->ctx->cmd_fd, handle);
				break;
			case UNMAP:
				ibv_unimport_dm(dm);
				break;
			case CLOSE:
				ASSERT_EQ(0, close(fd));
				break;
			}
			done[order[i][j]] = true;
			LOOK();
			ASSERT_COUNT(!done[FREE], UOBJ, OURS("type=DM ref=2 usecnt=0 dm_ref=1"));
			if (done[CLOSE]) {
				ASSERT_NO_DMABUF(ino);
			} else {
				ASSERT_DMABUF(ino, scope_kv("ref=2 file_ref=1 kref=%d revoked=%d",
							    !done[FREE], done[FREE]));
			}
			if (j == 2)
				break;
			ASSERT_ONE(MMAP, OURS("kind=MEMIC"),
				   scope_kv("ref=%zu vmas=%d dmabufs=%d driver_removed=%d",
					    2 - j, !done[UNMAP], !done[CLOSE] && !done[FREE],
					    done[FREE]));
			ASSERT_MEMIC_FREED(0, &memic);
		}
		ASSERT_NONE(MMAP, OURS("kind=MEMIC"));
		ASSERT_DEVICE(0, "memic_pages_used");
		ASSERT_MEMIC_FREED(1, &memic);
	}
}

/* Export while no file can be opened. */
static int export_without_files(const struct device *dev, struct ibv_dm *dm)
{
	struct file_max max;
	int err, fd;

	err = -file_max_reach(&max, dev);
	if (err)
		return err;
	err = _dmabuf_export(dm, &fd);
	if (!err)
		close(fd);
	return -file_max_restore(&max) ?: err;
}

/* The same while this process may have no descriptor more. */
static int export_without_descriptors(struct ibv_dm *dm)
{
	struct rlimit limit, none;
	int err, fd;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = limit.rlim_max };
	if (setrlimit(RLIMIT_NOFILE, &none))
		return -errno;
	err = _dmabuf_export(dm, &fd);
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	if (!err)
		close(fd);
	return err;
}

#define EXPORT_AGAIN	100

/*
 * DMABUF-10, ERRNO-DMABUF, S18, C13: Exports that fail, a hundred times each: there is no
 * such offset, it is another context's, it is of what was freed, it is within an entry,
 * it is a page without an entry; no descriptor or no file left.  They leave no dma-buf, no
 * descriptor, and each count as it was.
 */
TEST_F(dmabuf, dmabuf_10_failing_exports)
{
	const int cmd_fd = self->ctx->cmd_fd;
	struct ibv_context *other;
	struct vhca_object memic;
	uint64_t freed, memory, theirs;
	struct ibv_dm *dm, *dm2;
	int64_t address;
	int i, fds;

	other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, other);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	LOOK();
	memory = offset_of(VALUE(MMAP, OURS("kind=MEMIC"), "pgoff"));
	/* Behind ours, and there only. */
	dm_alloc(other, DM_SIZE, &dm2);
	LOOK();
	theirs = scope_ufile(&self->counts.scope, getpid(), other->cmd_fd);
	theirs = offset_of(VALUE(MMAP, THEIRS(theirs, "kind=MEMIC"), "pgoff"));
	ASSERT_EQ(memory, theirs);
	dm_free(dm2);
	dm_alloc(self->ctx, DM_SIZE, &dm2);
	LOOK();
	address = VALUE(UOBJ, OURS("type=DM handle=%u", dm2->handle), "dev_addr");
	freed = offset_of(VALUE(MMAP, OURS("kind=MEMIC addr=%ld", address), "pgoff"));
	ASSERT_NE(memory, freed);
	dm_free(dm2);
	fds = fd_count();
	LOOK();
	for (i = 0; i < EXPORT_AGAIN; i++) {
		raw_dmabuf_export_err(EINVAL, cmd_fd, 0x5a5a5a5a000ULL);
		raw_dmabuf_export_err(EINVAL, cmd_fd, UINT64_MAX);
		raw_dmabuf_export_err(EINVAL, cmd_fd, freed);
		raw_dmabuf_export_err(EINVAL, cmd_fd, memory + self->page_size);
		raw_dmabuf_export_err(EINVAL, other->cmd_fd, memory);
		/* The library's static doorbells; it has none where they are entries. */
		raw_dmabuf_export_err(EINVAL, cmd_fd, 0);
		/* The page with the device's clock: MLX5_IB_MMAP_CORE_CLOCK. */
		raw_dmabuf_export_err(EINVAL, cmd_fd, (5ULL << 8) * self->page_size);
		ASSERT_EQ(EMFILE, export_without_descriptors(dm));
		ASSERT_EQ(ENFILE, export_without_files(&self->bed.dev, dm));
	}
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_EQ(fds, fd_count());
	ASSERT_EQ(self->bed.before.dmabufs, dmabuf_count("ib_uverbs"));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=2 vmas=1 dmabufs=0");
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=2");
	dm_free(dm);
	ASSERT_MEMIC_FREED(1, &memic);
	ASSERT_EQ(0, ibv_close_device(other));
}

/*
 * DMABUF-10: The attribute is an offset in bytes, for all that it is called: what is below
 * a page of it is ignored.
 */
TEST_F(dmabuf, dmabuf_10_offset_within_a_page)
{
	struct ibv_dm *dm;
	uint64_t memory;
	int fd;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	LOOK();
	memory = offset_of(VALUE(MMAP, OURS("kind=MEMIC"), "pgoff"));
	raw_dmabuf_export(self->ctx->cmd_fd, memory + self->page_size - 1, &fd);
	ASSERT_DMABUF(dmabuf_inode(fd), scope_kv("ref=2 kref=1 size=%d", DM_SIZE));
	ASSERT_ENTRY_OF(OURS("kind=MEMIC"), UOBJ, OURS("type=DMABUF"));
	ASSERT_EQ(0, close(fd));
	dm_free(dm);
}

/*
 * DMABUF-10, ERRNO-DMABUF, S18: An object, or a method, that the kernel does not have:
 * what kernels before 7.0 say of this one.  Half an offset: refused before anything is
 * made.
 */
TEST_F(dmabuf, dmabuf_10_unknown_to_the_kernel)
{
	const uint64_t off = 0;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(UVERBS_ATTR_ALLOC_DMABUF_HANDLE, 0),
		uverbs_in(UVERBS_ATTR_ALLOC_DMABUF_PGOFF, &off, sizeof(off)),
	};
	const uint16_t method = UVERBS_METHOD_DMABUF_ALLOC;
	const int cmd_fd = self->ctx->cmd_fd;

	LOOK();
	ASSERT_EQ(EPROTONOSUPPORT, uverbs_ioctl(cmd_fd, 0xfff, method, attr, 2));
	ASSERT_EQ(EPROTONOSUPPORT, uverbs_ioctl(cmd_fd, UVERBS_OBJECT_DMABUF, 0xfff, attr, 2));
	attr[1].len = sizeof(uint32_t);
	ASSERT_EQ(EINVAL, uverbs_ioctl(cmd_fd, UVERBS_OBJECT_DMABUF, method, attr, 2));
	ASSERT_EQ(EINVAL, uverbs_ioctl(cmd_fd, UVERBS_OBJECT_DMABUF, method, attr, 1));
	LOOK();
	ASSERT_UNCHANGED();
}

/*
 * S18, C13: The library says -1 and why of memory that another handle has freed.  Memory that
 * was imported can be exported.
 */
TEST_F(dmabuf, dmabuf_s18_library)
{
	struct ibv_dm *dm, *imported;
	struct vhca_object memic;
	uint64_t ino;
	int fd;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dm_import(self->ctx, dm->handle, &imported);
	dmabuf_export(imported, &fd);
	ino = dmabuf_inode(fd);
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=1 revoked=0");
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=4 vmas=2 dmabufs=1");
	dm_free(dm);
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=0 revoked=1");
	errno = 0;
	ASSERT_EQ(-1, ibv_dm_export_dmabuf_fd(imported));
	ASSERT_EQ(EINVAL, errno);
	LOOK();
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=2 vmas=1 dmabufs=0 driver_removed=1");
	ASSERT_EQ(0, close(fd));
	ibv_unimport_dm(imported);
	ASSERT_MEMIC_FREED(1, &memic);
}

/* S18: Nor can memory be exported that has no page of the BAR (SW ICM). */
TEST_F(dmabuf, dmabuf_s18_sw_icm)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct mlx5dv_alloc_dm_attr icm = { .type = MLX5DV_DM_TYPE_STEERING_SW_ICM };
	struct ibv_dm *dm;

	dm = mlx5dv_alloc_dm(self->ctx, &attr, &icm);
	if (!dm) {
		ASSERT_EQ(EOPNOTSUPP, errno);
		SKIP(return, "the device has no SW ICM");
	}
	LOOK();
	errno = 0;
	ASSERT_EQ(-1, ibv_dm_export_dmabuf_fd(dm));
	ASSERT_EQ(EINVAL, errno);
	LOOK();
	ASSERT_UNCHANGED();
	dm_free(dm);
}

/* The entry of this kind is exported: one reference more, and listed. */
#define EXPORT_ENTRY(where, refs, fd, ino) \
do { \
	LOOK(); \
	raw_dmabuf_export(self->ctx->cmd_fd, offset_of(VALUE(MMAP, where, "pgoff")), fd); \
	*(ino) = dmabuf_inode(*(fd)); \
	ASSERT_DMABUF(*(ino), "ref=2 file_ref=1 kref=1 revoked=0"); \
	ASSERT_ENTRY_OF(where, UOBJ, OURS("type=DMABUF ino=%lu", *(ino))); \
	ASSERT_ONE(MMAP, where, scope_kv("ref=%d dmabufs=1 driver_removed=0", (refs) + 1)); \
} while (0)

/*
 * DMABUF-11: A VAR can be exported as well, by its offset.  The dma-buf then holds the
 * page as a mapping does: freeing the VAR revokes, and does not free the page.
 */
TEST_F(dmabuf, dmabuf_11_var)
{
	struct raw_var var;
	uint32_t *map;
	uint64_t ino;
	int fd;

	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	raw_dmabuf_export(self->ctx->cmd_fd, var.mmap_off, &fd);
	ino = dmabuf_inode(fd);
	ASSERT_DMABUF(ino, scope_kv("ref=2 file_ref=1 kref=1 revoked=0 size=%u", var.length));
	ASSERT_ONE(MMAP, OURS("kind=VAR"), "ref=2 vmas=0 dmabufs=1 driver_removed=0");
	ASSERT_ENTRY_OF(OURS("kind=VAR"), UOBJ, OURS("type=DMABUF"));
	ASSERT_EQ(0, _map(self->ctx, var.length, MAP_SHARED, var.mmap_off, &map));
	raw_var_free(self->ctx->cmd_fd, var.handle);
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_ONE(MMAP, OURS("kind=VAR"), "ref=2 vmas=1 dmabufs=0 driver_removed=1");
	ASSERT_DEVICE(1, "var_used");
	raw_dmabuf_export_err(EINVAL, self->ctx->cmd_fd, var.mmap_off);
	ASSERT_EQ(0, var_page_is_free(self->ctx->cmd_fd, 0, var.page_id));
	doorbell_store(map, DOORBELL_VAR, var.page_id);
	unmap(map, var.length);
	LOOK();
	ASSERT_ONE(MMAP, OURS("kind=VAR"), "ref=1 vmas=0 dmabufs=0 driver_removed=1");
	ASSERT_EQ(0, var_page_is_free(self->ctx->cmd_fd, 0, var.page_id));
	ASSERT_EQ(0, close(fd));
	ASSERT_NO_DMABUF(ino);
	ASSERT_NONE(MMAP, OURS("kind=VAR"));
	ASSERT_DEVICE(0, "var_used");
	ASSERT_EQ(1, var_page_is_free(self->ctx->cmd_fd, 0, var.page_id));
}

/* DMABUF-11, VAR-11: The same with a TLP VAR, whose page has a bitmap of its own. */
TEST_F(dmabuf, dmabuf_11_tlp_var)
{
	struct raw_var var;
	uint64_t ino;
	int fd;

	if (!self->bed.dev.info.tlp_var.count)
		SKIP(return, "no TLP VARs: load mlx5_vhca with some");
	raw_var_alloc(self->ctx->cmd_fd, MLX5_IB_UAPI_VAR_ALLOC_FLAG_TLP, &var);
	EXPORT_ENTRY(OURS("kind=TLP_VAR"), 1, &fd, &ino);
	raw_var_free(self->ctx->cmd_fd, var.handle);
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_ONE(MMAP, OURS("kind=TLP_VAR"), "ref=1 vmas=0 dmabufs=0 driver_removed=1");
	ASSERT_DEVICE(1, "tlp_var_used");
	ASSERT_DEVICE(0, "var_used");
	ASSERT_EQ(0, close(fd));
	ASSERT_NO_DMABUF(ino);
	ASSERT_NONE(MMAP, OURS("kind=TLP_VAR"));
	ASSERT_DEVICE(0, "tlp_var_used");
}

/*
 * DMABUF-11: The page of an operation.  Freeing the DM revokes it; the operation, and with
 * it the memory, stay the device's for as long as the dma-buf is open.
 */
TEST_F(dmabuf, dmabuf_11_memic_operation)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	uint64_t ino;
	void *op;
	int fd;

	if (!(self->bed.dev.info.memic_operations & 1))
		SKIP(return, "the device has no MEMIC operation 0");
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dm_map_op(dm, 0, &op);
	dm_unmap_op(op, DM_SIZE);
	EXPORT_ENTRY(OURS("kind=MEMIC_OP"), 1, &fd, &ino);
	dm_free(dm);
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_NONE(MMAP, OURS("kind=MEMIC"));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC_OP"),
		   "ref=1 vmas=0 dmabufs=0 driver_removed=1 dm_ref=1 ops=0");
	ASSERT_LEDGER(1, "memic_operation");
	ASSERT_COMMANDS(1, VHCA_MODIFY_MEMIC);
	ASSERT_MEMIC_FREED(0, &memic);
	ASSERT_EQ(0, close(fd));
	ASSERT_NO_DMABUF(ino);
	ASSERT_NONE(MMAP, OURS("kind=MEMIC_OP"));
	ASSERT_LEDGER(0, "memic_operation");
	ASSERT_COMMANDS(2, VHCA_MODIFY_MEMIC);
	ASSERT_MEMIC_FREED(1, &memic);
}

static int uar_alloc(int cmd_fd, uint32_t *handle, uint32_t *page_id, uint32_t *length,
		     uint64_t *off)
{
	const uint64_t type = MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, 0),
		uverbs_in(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, &type, sizeof(type)),
		uverbs_out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, off, sizeof(*off)),
		uverbs_out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, length, sizeof(*length)),
		uverbs_out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, page_id, sizeof(*page_id)),
	};
	int err = uverbs_ioctl(cmd_fd, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, attr, 5);

	*handle = attr[0].data;
	return err;
}

static int uar_destroy(int cmd_fd, uint32_t handle)
{
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, handle),
	};

	return uverbs_ioctl(cmd_fd, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, attr, 1);
}

/*
 * DMABUF-12, DMABUF-11: The page of a UAR.  Destroying the UAR revokes; firmware is told
 * to free it, once, when neither mapping nor dma-buf is left.
 */
TEST_F(dmabuf, dmabuf_12_uar)
{
	uint32_t handle, page_id, length, *map;
	const int cmd_fd = self->ctx->cmd_fd;
	uint64_t off, ino;
	int fd;

	ASSERT_EQ(0, uar_alloc(cmd_fd, &handle, &page_id, &length, &off));
	/* The context has others. */
	ASSERT_EQ(1, vhca_find(&self->bed.dev, "uar", page_id, NULL));
	ASSERT_EQ(0, _map(self->ctx, length, MAP_SHARED, off, &map));
	EXPORT_ENTRY(OURS("kind=UAR_NC page_id=%u", page_id), 2, &fd, &ino);
	ASSERT_EQ(0, uar_destroy(cmd_fd, handle));
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_NONE(UOBJ, OURS("type=MLX5_UAR handle=%u", handle));
	ASSERT_ONE(MMAP, OURS("kind=UAR_NC page_id=%u", page_id),
		   "ref=2 vmas=1 dmabufs=0 driver_removed=1");
	raw_dmabuf_export_err(EINVAL, cmd_fd, off);
	unmap(map, length);
	LOOK();
	ASSERT_ONE(MMAP, OURS("kind=UAR_NC page_id=%u", page_id), "ref=1 vmas=0 driver_removed=1");
	ASSERT_EQ(1, vhca_find(&self->bed.dev, "uar", page_id, NULL));
	ASSERT_COMMANDS(0, VHCA_DEALLOC_UAR);
	ASSERT_EQ(0, close(fd));
	ASSERT_NO_DMABUF(ino);
	ASSERT_NONE(MMAP, OURS("kind=UAR_NC page_id=%u", page_id));
	ASSERT_EQ(0, vhca_find(&self->bed.dev, "uar", page_id, NULL));
	ASSERT_COMMANDS_FOR(1, VHCA_DEALLOC_UAR, page_id);
	ASSERT_COMMANDS(1, VHCA_DEALLOC_UAR);
}

/*
 * DMABUF-12: The library exports a UAR that it has allocated.  What becomes of the dma-buf
 * when it is given back is known fault L16; closing it first leaves what was.
 */
TEST_F(dmabuf, dmabuf_12_uar_of_the_library)
{
	struct mlx5dv_devx_uar *uar;
	const char *entry;
	uint64_t ino;
	int fd;

	uar = mlx5dv_devx_alloc_uar(self->ctx, MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED);
	ASSERT_NE(NULL, uar);
	LOOK();
	entry = OURS("kind=UAR_NC page_id=%u", uar->page_id);
	ASSERT_ONE(MMAP, entry, "ref=2 vmas=1 dmabufs=0");
	fd = mlx5dv_devx_uar_export_dmabuf_fd(uar);
	ASSERT_LE(0, fd);
	ino = dmabuf_inode(fd);
	ASSERT_DMABUF(ino, scope_kv("ref=2 kref=1 revoked=0 size=%zu", self->page_size));
	entry = OURS("kind=UAR_NC page_id=%u", uar->page_id);
	ASSERT_ONE(MMAP, entry, "ref=3 vmas=1 dmabufs=1");
	ASSERT_ENTRY_OF(OURS("kind=UAR_NC page_id=%u", uar->page_id), UOBJ, OURS("type=DMABUF"));
	ASSERT_EQ(0, close(fd));
	ASSERT_NO_DMABUF(ino);
	ASSERT_ONE(MMAP, OURS("kind=UAR_NC page_id=%u", uar->page_id), "ref=2 vmas=1 dmabufs=0");
	ASSERT_COMMANDS(0, VHCA_DEALLOC_UAR);
	mlx5dv_devx_free_uar(uar);
}

/* Whether the fdinfo of a descriptor has a line. */
static bool fdinfo_has(int fd, const char *line)
{
	char path[64], *text;
	bool has;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	text = text_read(path);
	has = text && strstr(text, line);
	free(text);
	return has;
}

/* Whether both directions of the dma-buf are ready, without waiting. */
static bool is_ready(int fd)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN | POLLOUT };

	return poll(&poller, 1, 0) == 1 && poller.revents == (POLLIN | POLLOUT);
}

/*
 * DMABUF-15, DMABUF-16: The plain file operations, before and after the dma-buf was
 * revoked: nothing of it can be mapped or read by a process, it has a size and takes a
 * name, there is nothing to wait for; and none of it changes a count.
 */
TEST_F(dmabuf, dmabuf_15_file_operations)
{
	static const uint64_t edges[] = {
		DMA_BUF_SYNC_START, DMA_BUF_SYNC_END,
	};
	struct dma_buf_export_sync_file fences = { .flags = DMA_BUF_SYNC_RW };
	struct dma_buf_sync sync;
	struct ibv_dm *dm;
	uint64_t ino;
	char byte;
	size_t j;
	int fd, i;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	dmabuf_export(dm, &fd);
	ino = dmabuf_inode(fd);
	for (i = 0; i < 2; i++) {
		const char *name = i ? "revoked" : "memory";

		LOOK();
		ASSERT_EQ(MAP_FAILED, mmap(NULL, DM_SIZE, PROT_READ, MAP_SHARED, fd, 0));
		ASSERT_EQ(EINVAL, errno);
		ASSERT_EQ(-1, read(fd, &byte, 1));
		ASSERT_EQ(EINVAL, errno);
		ASSERT_EQ(-1, write(fd, &byte, 1));
		/* It is open for reading. */
		ASSERT_EQ(EBADF, errno);
		ASSERT_EQ(DM_SIZE, lseek(fd, 0, SEEK_END));
		ASSERT_EQ(0, lseek(fd, 0, SEEK_SET));
		ASSERT_EQ(-1, lseek(fd, 1, SEEK_END));
		ASSERT_EQ(EINVAL, errno);
		for (j = 0; j < ARRAY_SIZE(edges); j++) {
			sync.flags = DMA_BUF_SYNC_RW | edges[j];
			ASSERT_EQ(0, ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
		}
		ASSERT_EQ(0, ioctl(fd, DMA_BUF_SET_NAME_B, name));
		ASSERT_TRUE(fdinfo_has(fd, i ? "\nname:\trevoked\n" : "\nname:\tmemory\n"));
		ASSERT_TRUE(fdinfo_has(fd, "\nexp_name:\tib_uverbs\n"));
		ASSERT_TRUE(is_ready(fd));
		fences.fd = -1;
		ASSERT_EQ(0, ioctl(fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &fences));
		ASSERT_LE(0, fences.fd);
		ASSERT_EQ(0, close(fences.fd));
		ASSERT_EQ(-1, ioctl(fd, _IO(DMA_BUF_BASE, 200), NULL));
		ASSERT_EQ(ENOTTY, errno);
		LOOK();
		ASSERT_UNCHANGED();
		if (i)
			break;
		dm_free(dm);
		ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=0 revoked=1");
	}
	ASSERT_EQ(0, close(fd));
	ASSERT_NO_DMABUF(ino);
}

/* S17, C14: A descriptor is 0 or more; here it is 0. */
TEST_F(dmabuf, dmabuf_s17_descriptor_zero)
{
	int stdin_copy = fcntl(0, F_DUPFD_CLOEXEC, 3);
	struct ibv_dm *dm;
	uint64_t ino;
	int fd;

	if (stdin_copy < 0)
		SKIP(return, "descriptor 0 is not open: run with a standard input");
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_EQ(0, close(0));
	dmabuf_export(dm, &fd);
	ASSERT_EQ(0, fd);
	ino = dmabuf_inode(fd);
	ASSERT_EQ(1, fdinfo_count(fd));
	ASSERT_DMABUF(ino, "ref=2 file_ref=1 kref=1 revoked=0");
	ASSERT_EQ(0, close(fd));
	ASSERT_NO_DMABUF(ino);
	ASSERT_EQ(0, dup2(stdin_copy, 0));
	ASSERT_EQ(0, close(stdin_copy));
	dm_free(dm);
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
