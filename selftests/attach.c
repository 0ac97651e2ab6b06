// SPDX-License-Identifier: GPL-2.0
/*
 * Attachments to dma-bufs of device memory: memory regions, of this context, of another
 * one and of another process; what can be done through them, and that nothing can be any
 * more once the memory was freed.
 *
 * An attachment has a reference to the dma-buf's file, a mapping one to the exporter
 * (the kref of its uobject), which whoever revokes waits for.  What an importer of its
 * own kind can do to the exporter is in importer_dm.c; where the exporter's file goes
 * first, in process_death.c.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/caller.h"
#include "common/connection.h"
#include "common/dmabuf_counts.h"
#include "common/importer.h"
#include "common/marker.h"
#include "common/process.h"
#include "common/raw_cq.h"
#include "common/uverbs_ioctl.h"
#include "common/worker.h"

#define DM_SIZE		8192
#define DM_NEEDED	(4 * DM_SIZE)
#define SEED		7
#define OTHER_SEED	101

#define P2P		DMABUF_IMPORTER_PEER2PEER

FIXTURE(attach)
{
	struct bed bed;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct kernel_counts counts;
	uint64_t bar;
	int64_t seq;
	struct ibv_dm *dm;
	struct vhca_object memic;
	uint64_t ino;
	int fd;
	int imp;
	struct worker worker;
	struct end a;
	struct end b;
	struct region from;
	struct region to;
	struct ibv_wc wc;
};

FIXTURE_SETUP(attach)
{
	self->fd = -1;
	self->imp = -1;
	if (!bed_make(_metadata, &self->bed, true) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	if (self->bed.dev.info.memic.size < DM_NEEDED) {
		bed_mark(_metadata, "end");
		SKIP(return, "less than %d bytes of MEMIC: load mlx5_vhca with a larger memic_size",
		     DM_NEEDED);
	}
	self->bar = device_bar(&self->bed.dev);
	ASSERT_NE(0UL, self->bar);
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	self->pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, self->pd);
	counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
	self->seq = vhca_seq(&self->bed.dev);
	ASSERT_LE(0, self->seq);
	dm_alloc(self->ctx, DM_SIZE, &self->dm);
	ASSERT_NEW_MEMIC(&self->memic);
	dmabuf_export(self->dm, &self->fd);
	self->ino = dmabuf_inode(self->fd);
}

/*
 * What a test has let go of is NULL or -1.  In the end the device has its memory back.  A
 * test that failed may have stopped anywhere, and a free of the memory might wait for what
 * is attached still; all of it goes when its process ends, the newest first.
 */
FIXTURE_TEARDOWN(attach)
{
	if (_metadata->exit_code == KSFT_PASS) {
		if (self->imp >= 0)
			EXPECT_EQ(0, close(self->imp));
		if (self->dm)
			EXPECT_EQ(0, ibv_free_dm(self->dm));
		if (self->fd >= 0)
			EXPECT_EQ(0, close(self->fd));
		EXPECT_EQ(1, vhca_count_since(&self->bed.dev, self->seq, VHCA_DEALLOC_MEMIC,
					      self->memic.id));
		EXPECT_EQ(0, dmabuf_look(self->ino, &(struct dmabuf_sign){}));
		EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
		EXPECT_EQ(0, ibv_close_device(self->ctx));
	}
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

/* A context of dmabuf_importer.ko; or the test is skipped, and must return. */
static bool lacks_importer(struct __test_metadata *_metadata, struct _test_data_attach *self)
{
	const char *missing = importer_missing();

	if (missing)
		SKIP(return true, "%s", missing);
	ASSERT_EQ(0, _importer_open(&self->imp));
	return false;
}

/* Attachments that are mapped, or not, by the last snapshot. */
#define ASSERT_ATTACHED(count, is) \
	ASSERT_COUNT(count, ATTACH, OURS("ino=%lu %s", self->ino, is))

/* The fixture's dma-buf, while it can be mapped, and after it was revoked. */
#define AT_REST "ref=2 usecnt=0 state=live"
#define ASSERT_LIVE(files, mappings) \
do { \
	ASSERT_DMABUF(self->ino, scope_kv(AT_REST " file_ref=%d kref=%d revoked=0", files, \
					  1 + (mappings))); \
	ASSERT_ATTACHED(mappings, "mapped=1 pinned=0"); \
} while (0)
#define ASSERT_REVOKED(files, attachments) \
do { \
	ASSERT_DMABUF(self->ino, scope_kv(AT_REST " file_ref=%d kref=0 revoked=1", files)); \
	ASSERT_ATTACHED(attachments, "mapped=0 pinned=0"); \
} while (0)

/* Free the memory; what the test has of it, beside the dma-buf, is gone then. */
#define free_memory() \
do { \
	dm_free(self->dm); \
	self->dm = NULL; \
} while (0)

/* The device holds this many more mkeys that are in use than at the test's start. */
#define ASSERT_MKEYS(delta)	ASSERT_LEDGER(delta, "mkey")

/* Ways to register a dma-buf, with all rights and addresses from 0. */
static struct ibv_mr *by_dmabuf_mr(struct ibv_pd *pd, size_t length, int fd)
{
	return ibv_reg_dmabuf_mr(pd, 0, length, 0, fd, CONNECTION_ALL_ACCESS);
}

static struct ibv_mr *by_mr_ex(struct ibv_pd *pd, size_t length, int fd)
{
	struct ibv_mr_init_attr attr = {
		.length = length,
		.access = CONNECTION_ALL_ACCESS,
		.comp_mask = IBV_REG_MR_MASK_IOVA | IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET,
		.fd = fd,
	};

	return ibv_reg_mr_ex(pd, &attr);
}

static struct ibv_mr *by_mlx5dv(struct ibv_pd *pd, size_t length, int fd)
{
	return mlx5dv_reg_dmabuf_mr(pd, 0, length, 0, fd, CONNECTION_ALL_ACCESS, 0);
}

static const struct {
	const char *name;
	struct ibv_mr *(*reg)(struct ibv_pd *pd, size_t length, int fd);
} ways[] = {
	{ "ibv_reg_dmabuf_mr", by_dmabuf_mr },
	{ "ibv_reg_mr_ex", by_mr_ex },
	{ "mlx5dv_reg_dmabuf_mr", by_mlx5dv },
};

/*
 * ATT-04, S14, S12: A memory region on the dma-buf is an importer: one attachment, one
 * file reference, one mapping, one user of the PD, and one mkey that leads to the DM's own
 * page.  Its end takes all of it back.  The device memory itself has no user more.
 */
TEST_F(attach, att_04_register)
{
	struct dmabuf_sign sign;
	struct vhca_object mkey;
	struct ibv_mr *mr;
	int64_t users;
	size_t i;

	LOOK();
	users = VALUE(UOBJ, OURS("type=PD"), "users");
	for (i = 0; i < 4 * ARRAY_SIZE(ways); i++) {
		mr = ways[i % ARRAY_SIZE(ways)].reg(self->pd, DM_SIZE, self->fd);
		ASSERT_NE(NULL, mr)
			TH_LOG("%s: %m", ways[i % ARRAY_SIZE(ways)].name);
		ASSERT_LIVE(2, 1);
		ASSERT_EQ(2, fdinfo_count(self->fd));
		ASSERT_ONE(ATTACH, OURS("ino=%lu", self->ino),
			   scope_kv("peer2peer=1 invalidate=1 umem=1 revoked=0 offset=0 length=%d",
				    DM_SIZE));
		ASSERT_ONE(ATTACH, OURS("ino=%lu", self->ino),
			   scope_kv("device=%s ibdev=%s lkey=%u", self->bed.dev.pci,
				    self->bed.dev.name, mr->lkey));
		ASSERT_ONE(UOBJ, OURS("type=MR handle=%u", mr->handle),
			   scope_kv("ref=2 usecnt=0 dmabuf_ino=%lu mrlen=%d", self->ino, DM_SIZE));
		ASSERT_ONE(UOBJ, OURS("type=PD"), scope_kv("users=%ld", users + 1));
		ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 usecnt=0 dm_ref=1 dm_users=0");
		ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=3 vmas=1 dmabufs=1 driver_removed=0");
		ASSERT_ONE(UFILE, OUR_UFILE, "ref=3");
		ASSERT_HELD_BY(2, ATTACH, scope_kv("ino:%lu", self->ino));
		ASSERT_UNEXPLAINED(0, scope_kv("ino:%lu", self->ino));
		ASSERT_EQ(1, dmabuf_look(self->ino, &sign));
		ASSERT_STREQ(self->bed.dev.pci, sign.importer);
		ASSERT_MKEYS(1);
		ASSERT_EQ(1, vhca_find(&self->bed.dev, "mkey", mr_mkey(mr), &mkey));
		ASSERT_EQ(0UL, mkey.free);
		ASSERT_STREQ("mtt", mkey.mode);
		ASSERT_TRANSLATES(true, mr_mkey(mr));
		if (mkey.translations > 0)
			ASSERT_EQ(self->bar + self->memic.id, mkey.leads_to);

		mr_dereg(mr);
		ASSERT_LIVE(1, 0);
		ASSERT_NONE(ATTACH, OURS(""));
		ASSERT_NONE(UOBJ, OURS("type=MR"));
		ASSERT_ONE(UOBJ, OURS("type=PD"), scope_kv("users=%ld", users));
		ASSERT_EQ(1, fdinfo_count(self->fd));
		ASSERT_MKEYS(0);
	}
	ASSERT_MEMIC_FREED(0, &self->memic);
}

/*
 * ATT-04, ATT-17: A region on a part: the attachment says which, and the device is led to
 * it.
 */
TEST_F(attach, att_04_parts)
{
	static const struct {
		uint64_t offset;
		size_t length;
	} part[] = {
		{ 0, DM_SIZE }, { 0, 1 }, { DM_SIZE / 2, DM_SIZE / 2 }, { 100, 200 },
		{ DM_SIZE - 1, 1 }, { 4000, 200 },
	};
	const uint64_t begin = self->bar + self->memic.id;
	struct vhca_object mkey;
	struct ibv_mr *mr;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(part); i++) {
		mr_reg_dmabuf(self->pd, part[i].offset, part[i].length, self->fd, &mr);
		ASSERT_LIVE(2, 1);
		ASSERT_ONE(ATTACH, OURS("ino=%lu", self->ino),
			   scope_kv("offset=%lu length=%zu", part[i].offset, part[i].length));
		ASSERT_EQ(1, vhca_find(&self->bed.dev, "mkey", mr_mkey(mr), &mkey));
		if (mkey.translations > 0)
			ASSERT_EQ(begin + (part[i].offset & -4096ULL), mkey.leads_to);
		mr_dereg(mr);
		ASSERT_LIVE(1, 0);
	}
}

/* Two queue pairs and memory for them, if the test has to do with data. */
#define make_connection() \
do { \
	end_make(self->pd, &connection_defaults, &self->a); \
	end_make(self->pd, &connection_defaults, &self->b); \
	end_connect(&self->a, &self->b, &connection_defaults); \
	end_connect(&self->b, &self->a, &connection_defaults); \
} while (0)
#define make_memory() \
do { \
	region_make(self->pd, WORKER_LENGTH, 5, CONNECTION_ALL_ACCESS, &self->from); \
	region_make(self->pd, WORKER_LENGTH, 3, CONNECTION_ALL_ACCESS, &self->to); \
} while (0)

/* A request for a part of the dma-buf, by the key of a region that begins with it. */
static struct ibv_send_wr dm_request(enum ibv_wr_opcode opcode, uint64_t offset, uint32_t rkey)
{
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = opcode };

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = offset;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = offset;
		wr.wr.rdma.rkey = rkey;
	}
	return wr;
}

/* What the device has in its memory, and what the process reads through its mapping. */
#define ASSERT_DM_HOLDS(at, bytes, count) \
do { \
	uint8_t __memory[DM_SIZE]; \
	ASSERT_EQ(0, vhca_memory(&self->bed.dev, "memic", \
				 self->memic.id - self->bed.dev.info.memic.offset, __memory, \
				 DM_SIZE)); \
	ASSERT_EQ(0, memcmp(__memory + (at), bytes, count)); \
	dm_read(__memory, self->dm, 0, DM_SIZE); \
	ASSERT_EQ(0, memcmp(__memory + (at), bytes, count)); \
} while (0)

/* Write, read and count through a region, by the queue pair of this process. */
#define ASSERT_REACHES(key, at) \
do { \
	struct ibv_send_wr __wr = dm_request(IBV_WR_RDMA_WRITE, at, key); \
	const uint64_t __old = 41, __new = 42; \
	struct region __word; \
	\
	region_fill(&self->from, SEED); \
	post(&self->a, &__wr, &self->from); \
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc); \
	ASSERT_DM_HOLDS(at, self->from.data, WORKER_LENGTH); \
	\
	region_fill(&self->to, OTHER_SEED); \
	__wr = dm_request(IBV_WR_RDMA_READ, at, key); \
	post(&self->a, &__wr, &self->to); \
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc); \
	ASSERT_REGION(&self->to, SEED); \
	\
	region_make(self->pd, sizeof(__old), 8, CONNECTION_ALL_ACCESS, &__word); \
	dm_write(self->dm, at, &__old, sizeof(__old)); \
	__wr = dm_request(IBV_WR_ATOMIC_FETCH_AND_ADD, at, key); \
	__wr.wr.atomic.compare_add = 1; \
	post(&self->a, &__wr, &__word); \
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc); \
	ASSERT_EQ(0, memcmp(__word.data, &__old, sizeof(__old))); \
	ASSERT_DM_HOLDS(at, &__new, sizeof(__new)); \
	__wr = dm_request(IBV_WR_ATOMIC_CMP_AND_SWP, at, key); \
	__wr.wr.atomic.compare_add = __new; \
	__wr.wr.atomic.swap = __old; \
	post(&self->a, &__wr, &__word); \
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc); \
	ASSERT_EQ(0, memcmp(__word.data, &__new, sizeof(__new))); \
	ASSERT_DM_HOLDS(at, &__old, sizeof(__old)); \
	region_destroy(&__word); \
} while (0)

/*
 * S14, S12, C10, C11: RDMA write, read and both atomics through a region on the dma-buf,
 * registered in each way there is.  What is written is in the DM's own memory, as the
 * device and as its mapping see it.
 */
TEST_F(attach, s14_same_process)
{
	struct ibv_mr *mr;
	size_t i;

	make_connection();
	make_memory();
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		mr = ways[i].reg(self->pd, DM_SIZE, self->fd);
		ASSERT_NE(NULL, mr)
			TH_LOG("%s: %m", ways[i].name);
		ASSERT_REACHES(mr->rkey, 1024 * i + 8);
		mr_dereg(mr);
	}
	region_destroy(&self->from);
	region_destroy(&self->to);
	end_destroy(&self->a);
	end_destroy(&self->b);
}

/*
 * S14, S15, ATT-04, DMABUF-04: The same, and the region is another process's, in a context
 * of its own, which has got no more than the descriptor; then that process reaches the
 * memory through a region of this one.
 */
TEST_F(attach, s14_other_process)
{
	struct ibv_mr theirs, *mr;
	uint64_t old = 0, word = 1000, after = 1234;
	struct region pattern;
	uint64_t ufile;

	worker_start(&self->worker, self->bed.dev.name);
	end_make(self->pd, &connection_defaults, &self->a);
	worker_connect(&self->worker, &self->a, &connection_defaults);
	make_memory();
	worker_register(&self->worker, self->fd, DM_SIZE, &theirs);
	ASSERT_LIVE(2, 1);
	ufile = scope_ufile(&self->counts.scope, self->worker.pid, self->worker.cmd_fd);
	ASSERT_NE(self->counts.ufile, ufile);
	ASSERT_ONE(UOBJ, THEIRS(ufile, "type=MR dmabuf_ino=%lu", self->ino),
		   scope_kv("ref=2 usecnt=0 lkey=%u", theirs.lkey));
	ASSERT_ONE(ATTACH, OURS("ino=%lu", self->ino), scope_kv("mapped=1 lkey=%u", theirs.lkey));
	ASSERT_COUNT(1, FD, scope_kv("ino=%lu", self->ino));
	ASSERT_REACHES(theirs.rkey, 512);
	worker_deregister(&self->worker);
	ASSERT_LIVE(1, 0);

	mr = by_dmabuf_mr(self->pd, DM_SIZE, self->fd);
	ASSERT_NE(NULL, mr);
	region_make(self->pd, WORKER_LENGTH, 0, 0, &pattern);
	region_fill(&pattern, OTHER_SEED);
	worker_transfer(&self->worker, IBV_WR_RDMA_WRITE, 4096, mr->rkey, OTHER_SEED, NULL);
	ASSERT_DM_HOLDS(4096, pattern.data, WORKER_LENGTH);
	worker_transfer(&self->worker, IBV_WR_RDMA_READ, 4096, mr->rkey, OTHER_SEED, NULL);
	dm_write(self->dm, 64, &word, sizeof(word));
	worker_transfer(&self->worker, IBV_WR_ATOMIC_FETCH_AND_ADD, 64, mr->rkey, 234, &old);
	ASSERT_EQ(word, old);
	ASSERT_DM_HOLDS(64, &after, sizeof(after));
	region_destroy(&pattern);
	mr_dereg(mr);
	region_destroy(&self->from);
	region_destroy(&self->to);
	end_destroy(&self->a);
	worker_end(&self->worker);
	ASSERT_LIVE(1, 0);
}

/*
 * ATT-05, ATT-10, DM-18, C15: The DM is freed under a memory region.  When the ioctl returns
 * the region has lost its translation and its mapping, and with them all access; region,
 * attachment and file reference stay until it is deregistered, and the memory stays
 * allocated for as long as the dma-buf lives.
 */
TEST_F(attach, att_05_free_under_a_region)
{
	struct ibv_mr *mr;
	uint32_t number;

	mr = by_dmabuf_mr(self->pd, DM_SIZE, self->fd);
	ASSERT_NE(NULL, mr);
	number = mr_mkey(mr);
	ASSERT_LIVE(2, 1);
	ASSERT_TRANSLATES(true, number);

	raw_dm_free(self->ctx->cmd_fd, self->dm->handle);
	ASSERT_REVOKED(2, 1);
	ASSERT_NONE(UOBJ, OURS("type=DM"));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=2 vmas=1 dmabufs=0 driver_removed=1");
	ASSERT_ONE(ATTACH, OURS("ino=%lu", self->ino), scope_kv("umem=1 lkey=%u", mr->lkey));
	ASSERT_ONE(UOBJ, OURS("type=MR"), scope_kv("ref=2 usecnt=0 dmabuf_ino=%lu", self->ino));
	ASSERT_TRANSLATES(false, number);
	ASSERT_MKEYS(1);
	ibv_unimport_dm(self->dm);
	self->dm = NULL;
	ASSERT_REVOKED(2, 1);
	ASSERT_MEMIC_FREED(0, &self->memic);

	mr_dereg(mr);
	ASSERT_REVOKED(1, 0);
	ASSERT_NONE(UOBJ, OURS("type=MR"));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=1 vmas=0 dmabufs=0 driver_removed=1");
	ASSERT_MKEYS(0);
	ASSERT_MEMIC_FREED(0, &self->memic);
	ASSERT_EQ(0, close(self->fd));
	self->fd = -1;
	ASSERT_NO_DMABUF(self->ino);
	ASSERT_MEMIC_FREED(1, &self->memic);
}

/*
 * ATT-05, ATT-16: The region is another process's.  The free here has taken its translation
 * before it returns, without that process having run.
 */
TEST_F(attach, att_05_region_of_another_process)
{
	struct ibv_mr theirs;

	worker_start(&self->worker, self->bed.dev.name);
	worker_register(&self->worker, self->fd, DM_SIZE, &theirs);
	ASSERT_LIVE(2, 1);
	ASSERT_TRANSLATES(true, mr_mkey(&theirs));
	/* It cannot run until it has died. */
	ASSERT_EQ(0, kill(self->worker.pid, SIGSTOP));
	free_memory();
	ASSERT_REVOKED(2, 1);
	ASSERT_TRANSLATES(false, mr_mkey(&theirs));
	ASSERT_MEMIC_FREED(0, &self->memic);
	worker_kill(&self->worker);
	ASSERT_REVOKED(1, 0);
	ASSERT_MKEYS(0);
	ASSERT_MEMIC_FREED(0, &self->memic);
}

/*
 * ATT-08, ATT-09, ERRNO-MR, C11: After the free nobody can map the dma-buf any more: a
 * registration fails with ENODEV in each way there is, here and in another process, and
 * leaves neither attachment nor file reference nor mkey.
 */
TEST_F(attach, att_09_register_after_revocation)
{
	size_t i;

	worker_start(&self->worker, self->bed.dev.name);
	free_memory();
	ASSERT_REVOKED(1, 0);
	for (i = 0; i < 10 * ARRAY_SIZE(ways); i++) {
		errno = 0;
		ASSERT_EQ(NULL, ways[i % ARRAY_SIZE(ways)].reg(self->pd, DM_SIZE, self->fd));
		ASSERT_EQ(ENODEV, errno);
	}
	worker_register_err(ENODEV, &self->worker, self->fd, DM_SIZE);
	LOOK();
	ASSERT_REVOKED(1, 0);
	ASSERT_NONE(ATTACH, OURS(""));
	ASSERT_NONE(UOBJ, OURS("type=MR"));
	ASSERT_MKEYS(0);
	worker_end(&self->worker);
}

/*
 * ATT-10: A region that has lost its mapping is deregistered: nothing is given back twice.
 * Whoever is left is not concerned.
 */
TEST_F(attach, att_10_deregister_after_revocation)
{
	struct ibv_mr *mr[3];
	int i;

	for (i = 0; i < 3; i++)
		mr_reg_dmabuf(self->pd, 0, DM_SIZE, self->fd, &mr[i]);
	ASSERT_LIVE(4, 3);
	free_memory();
	for (i = 0; i < 3; i++) {
		ASSERT_REVOKED(4 - i, 3 - i);
		ASSERT_MKEYS(3 - i);
		mr_dereg(mr[i]);
	}
	ASSERT_REVOKED(1, 0);
	ASSERT_MKEYS(0);
	ASSERT_EQ(self->bed.before.violations, vhca_violations(&self->bed.dev));
}

/*
 * ATT-11: The data path after the revocation: what reached the memory before reaches it no
 * more, to write, to read and to add, and as a source of a message; the request that tries
 * fails, and the memory is as it was.
 */
TEST_F(attach, att_11_data_path_after_revocation)
{
	static const enum ibv_wr_opcode opcode[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	const uint64_t place = self->memic.id - self->bed.dev.info.memic.offset;
	uint8_t before[DM_SIZE], after[DM_SIZE];
	struct ibv_send_wr wr;
	struct region word;
	struct ibv_sge sge;
	struct ibv_mr *mr;
	size_t i;

	make_connection();
	make_memory();
	region_make(self->pd, 8, 8, CONNECTION_ALL_ACCESS, &word);
	mr = by_dmabuf_mr(self->pd, DM_SIZE, self->fd);
	ASSERT_NE(NULL, mr);
	ASSERT_REACHES(mr->rkey, 0);
	free_memory();
	ASSERT_EQ(0, vhca_memory(&self->bed.dev, "memic", place, before, DM_SIZE));
	region_fill(&self->from, OTHER_SEED);
	for (i = 0; i < ARRAY_SIZE(opcode); i++) {
		region_fill(&self->to, OTHER_SEED);
		wr = dm_request(opcode[i], 0, mr->rkey);
		if (opcode[i] == IBV_WR_ATOMIC_FETCH_AND_ADD)
			wr.wr.atomic.compare_add = 1;
		post(&self->a, &wr, opcode[i] == IBV_WR_RDMA_WRITE ? &self->from :
		     opcode[i] == IBV_WR_RDMA_READ ? &self->to : &word);
		ASSERT_EQ(0, _end_wait(&self->a, &self->wc));
		ASSERT_EQ(1UL, self->wc.wr_id);
		ASSERT_NE(IBV_WC_SUCCESS, (int)self->wc.status);
		ASSERT_ENUM(IBV_QPS_ERR, end_state(&self->a));
		ASSERT_REGION(&self->to, OTHER_SEED);
		ASSERT_EQ(0, vhca_memory(&self->bed.dev, "memic", place, after, DM_SIZE));
		ASSERT_EQ(0, memcmp(before, after, DM_SIZE));
		end_destroy(&self->a);
		end_destroy(&self->b);
		make_connection();
	}

	/* By the key that is for this side's own use. */
	sge = (struct ibv_sge){ .addr = 0, .length = 64, .lkey = mr->lkey };
	wr = (struct ibv_send_wr){ .wr_id = 1, .opcode = IBV_WR_SEND, .sg_list = &sge,
				   .num_sge = 1 };
	post_receive(&self->b, 2, &self->to);
	post(&self->a, &wr, NULL);
	ASSERT_EQ(0, _end_wait(&self->a, &self->wc));
	ASSERT_NE(IBV_WC_SUCCESS, (int)self->wc.status);
	ASSERT_REGION(&self->to, OTHER_SEED);

	/* None of these attempts has made a mapping. */
	ASSERT_REVOKED(2, 1);
	ASSERT_TRANSLATES(false, mr_mkey(mr));
	ASSERT_MEMIC_FREED(0, &self->memic);
	ASSERT_EQ(self->bed.before.violations, vhca_violations(&self->bed.dev));
	end_destroy(&self->a);
	end_destroy(&self->b);
	region_destroy(&self->from);
	region_destroy(&self->to);
	region_destroy(&word);
	mr_dereg(mr);
}

/*
 * ATT-12, S15, C12: The region has the last reference to the dma-buf: closing the
 * descriptor releases nothing, deregistering does.
 */
TEST_F(attach, att_12_region_keeps_the_dmabuf)
{
	struct ibv_mr *mr;

	mr_reg_dmabuf(self->pd, 0, DM_SIZE, self->fd, &mr);
	ASSERT_EQ(0, close(self->fd));
	self->fd = -1;
	ASSERT_LIVE(1, 1);
	ASSERT_NONE(FD, scope_kv("ino=%lu", self->ino));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=3 vmas=1 dmabufs=1");
	ASSERT_TRANSLATES(true, mr_mkey(mr));
	free_memory();
	ASSERT_REVOKED(1, 1);
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=1 vmas=0 dmabufs=0 driver_removed=1");
	ASSERT_MEMIC_FREED(0, &self->memic);
	mr_dereg(mr);
	ASSERT_NO_DMABUF(self->ino);
	ASSERT_NONE(MMAP, OURS("kind=MEMIC"));
	ASSERT_MEMIC_FREED(1, &self->memic);
	ASSERT_EQ(self->bed.before.violations, vhca_violations(&self->bed.dev));
}

/*
 * ATT-13: The importing process is killed, or just ends, with its region mapped: mapping,
 * attachment, file reference and mkey are given back, and the exporter is as it was.
 */
TEST_F(attach, att_13_importer_dies)
{
	uint32_t word = 0x5eed5eed, back = 0;
	struct ibv_mr theirs;
	int i;

	dm_write(self->dm, 0, &word, sizeof(word));
	for (i = 0; i < 3; i++) {
		worker_start(&self->worker, self->bed.dev.name);
		worker_register(&self->worker, self->fd, DM_SIZE, &theirs);
		ASSERT_LIVE(2, 1);
		ASSERT_MKEYS(1);
		if (i == 0) {
			worker_kill(&self->worker);
		} else {
			if (i == 2)
				worker_close(&self->worker);
			worker_end(&self->worker);
		}
		ASSERT_LIVE(1, 0);
		ASSERT_NONE(ATTACH, OURS(""));
		ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=3 vmas=1 dmabufs=1 driver_removed=0");
		ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 usecnt=0 dm_ref=1 dm_users=0");
		ASSERT_ONE(UFILE, OUR_UFILE, "ref=3");
		ASSERT_MKEYS(0);
		ASSERT_MEMIC_FREED(0, &self->memic);
		dm_read(&back, self->dm, 0, sizeof(back));
		ASSERT_EQ(word, back);
	}
}

#define REGIONS	6

/*
 * ATT-16: Several regions, on one dma-buf and on another of the same memory, in two
 * contexts.  All lose their translation when the DM is freed, and each goes on its own.
 */
TEST_F(attach, att_16_several_regions)
{
	struct ibv_context *other = device_open(&self->bed.dev);
	struct ibv_pd *other_pd;
	struct ibv_mr *mr[REGIONS];
	uint64_t second_ino;
	int second, i;

	ASSERT_NE(NULL, other);
	other_pd = ibv_alloc_pd(other);
	ASSERT_NE(NULL, other_pd);
	dmabuf_export(self->dm, &second);
	second_ino = dmabuf_inode(second);
	for (i = 0; i < REGIONS; i++)
		mr_reg_dmabuf(i % 2 ? other_pd : self->pd, 0, DM_SIZE, i < 4 ? self->fd : second,
			      &mr[i]);
	ASSERT_LIVE(5, 4);
	ASSERT_DMABUF(second_ino, "ref=2 file_ref=3 kref=3 revoked=0");
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=4 vmas=1 dmabufs=2");
	ASSERT_MKEYS(REGIONS);
	free_memory();
	ASSERT_REVOKED(5, 4);
	ASSERT_DMABUF(second_ino, "ref=2 file_ref=3 kref=0 revoked=1");
	ASSERT_COUNT(2, ATTACH, OURS("ino=%lu mapped=0", second_ino));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=2 vmas=0 dmabufs=0 driver_removed=1");
	for (i = 0; i < REGIONS; i++) {
		ASSERT_TRANSLATES(false, mr_mkey(mr[i]));
		mr_dereg(mr[i]);
		ASSERT_MKEYS(REGIONS - 1 - i);
	}
	ASSERT_REVOKED(1, 0);
	ASSERT_EQ(0, close(second));
	ASSERT_NO_DMABUF(second_ino);
	ASSERT_MEMIC_FREED(0, &self->memic);
	ASSERT_EQ(0, ibv_dealloc_pd(other_pd));
	ASSERT_EQ(0, ibv_close_device(other));
}

/* A registration that fails; errno. */
static int reg_err(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
		   int access)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access);
	if (!mr)
		return errno;
	ibv_dereg_mr(mr);
	return 0;
}

#define REG_AGAIN	1000

/*
 * ATT-17, ERRNO-MR: Registrations that cannot be, a thousand times each: beyond the end,
 * around the end of all numbers, of nothing, at an address that does not fit the offset,
 * on no descriptor or on something else, with rights that there are not.  None leaves a
 * file reference, an attachment or an mkey behind.
 */
TEST_F(attach, att_17_wrong_registrations)
{
	const int access = IBV_ACCESS_LOCAL_WRITE;
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const struct {
		int err;
		uint64_t offset;
		size_t length;
		uint64_t iova;
		int fd;
		int access;
	} wrong[] = {
		{ EINVAL, 4096, DM_SIZE, 4096, self->fd, access },
		{ EINVAL, 0, DM_SIZE + 1, 0, self->fd, access },
		{ EINVAL, DM_SIZE, 1, DM_SIZE, self->fd, access },
		{ EINVAL, -4096ULL, DM_SIZE, -4096ULL, self->fd, access },
		{ EINVAL, 4096, -4096UL, 4096, self->fd, access },
		{ EINVAL, 0, 0, 0, self->fd, access },
		{ EINVAL, 0, 64, 1, self->fd, access },
		{ EINVAL, 100, 64, 4096, self->fd, access },
		{ EBADF, 0, DM_SIZE, 0, -1, access },
		{ EINVAL, 0, DM_SIZE, 0, null, access },
		{ EINVAL, 0, DM_SIZE, 0, self->ctx->cmd_fd, access },
		{ EINVAL, 0, DM_SIZE, 0, self->fd, IBV_ACCESS_REMOTE_WRITE },
		{ EINVAL, 0, DM_SIZE, 0, self->fd, access | IBV_ACCESS_ON_DEMAND },
	};
	size_t i;
	int n;

	ASSERT_LE(0, null);
	LOOK();
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		for (n = 0; n < REG_AGAIN; n++)
			ASSERT_EQ(wrong[i].err, reg_err(self->pd, wrong[i].offset, wrong[i].length,
							wrong[i].iova, wrong[i].fd,
							wrong[i].access))
				TH_LOG("case %zu, round %d", i, n);
		ASSERT_EQ(1, fdinfo_count(self->fd));
	}
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_LIVE(1, 0);
	ASSERT_MKEYS(0);
	ASSERT_EQ(0, close(null));
}

/* More than a pool of keys has left over. */
#define REGIONS_MAX	256

/*
 * ATT-17, ATT-04, ERRNO-MR: The device has no mkey for another region.  Those that the
 * driver's pool still has are used up first; then a registration fails with ENOMEM, and
 * takes back the attachment and the file reference that it had by then.
 */
TEST_F(attach, att_17_no_key)
{
	static struct ibv_mr *mr[REGIONS_MAX];
	int n = 0, err;

	marker_expect("mlx5_core .*: mlx5_cmd_out_err:.*CREATE_MKEY.* status limits exceeded");
	ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults",
				"opcode=CREATE_MKEY count=all status=limits_exceeded\n"));
	do {
		mr[n] = ibv_reg_dmabuf_mr(self->pd, 0, DM_SIZE, 0, self->fd,
					  CONNECTION_ALL_ACCESS);
		err = mr[n] ? 0 : errno;
		n += !err;
	} while (!err && n < REGIONS_MAX);
	EXPECT_EQ(0, vhca_write(&self->bed.dev, "faults", "clear\n"));
	ASSERT_EQ(ENOMEM, err);
	ASSERT_MKEYS(n);
	LOOK();
	ASSERT_LIVE(1 + n, n);
	ASSERT_ATTACHED(n, "");
	while (n--)
		mr_dereg(mr[n]);
	LOOK();
	ASSERT_LIVE(1, 0);
	ASSERT_ATTACHED(0, "");
	ASSERT_MKEYS(0);
}

struct registration {
	struct ibv_pd *pd;
	int fd;
	struct ibv_mr *mr;
};

static int register_it(void *arg)
{
	struct registration *registration = arg;

	errno = 0;
	registration->mr = by_dmabuf_mr(registration->pd, DM_SIZE, registration->fd);
	return registration->mr ? 0 : errno;
}

/*
 * ATT-23: A region waits for the fences by which an exporter says that the memory is not
 * ready, those of DMA_RESV_USAGE_KERNEL, and for no other.
 */
TEST_F(attach, att_23_region_waits_for_fence)
{
	struct registration registration = { .pd = self->pd, .fd = self->fd };
	uint32_t id, others, kernel;
	struct caller caller;

	if (lacks_importer(_metadata, self))
		return;
	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, DMABUF_IMPORTER_AT_ONCE, &id);
	importer_hold_fence(self->imp, id, DMABUF_IMPORTER_BOOKKEEP, 0, &others);
	ASSERT_EQ(0, register_it(&registration));
	mr_dereg(registration.mr);
	importer_hold_fence(self->imp, id, DMABUF_IMPORTER_KERNEL, 0, &kernel);
	caller_start(&caller, register_it, &registration);
	caller_waits(&caller, "dma_resv_wait_timeout");
	ASSERT_FALSE(caller_is_done(&caller));
	importer_signal(self->imp, kernel);
	caller_end(&caller, 0);
	LOOK();
	ASSERT_ATTACHED(1, "mapped=1");
	mr_dereg(registration.mr);
	importer_signal(self->imp, others);
	importer_detach(self->imp, id);
	LOOK();
	ASSERT_LIVE(1, 0);
}

/*
 * ATT-18: The library has no way to change a region on a dma-buf; the raw command is known
 * fault L09.  A region on ordinary memory changes its rights, its domain and its memory, and
 * the old ones are given back.
 */
TEST_F(attach, att_18_register_again)
{
	const int flags[] = {
		IBV_REREG_MR_CHANGE_ACCESS, IBV_REREG_MR_CHANGE_PD, IBV_REREG_MR_CHANGE_TRANSLATION,
	};
	const size_t length = 2 * 4096;
	struct ibv_pd *other_pd;
	int64_t users, pdn, other;
	struct ibv_mr *mr;
	uint8_t *memory;
	size_t i;

	mr_reg_dmabuf(self->pd, 0, DM_SIZE, self->fd, &mr);
	LOOK();
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		errno = 0;
		ASSERT_EQ(IBV_REREG_MR_ERR_INPUT, ibv_rereg_mr(mr, flags[i], self->pd, mr, 64, 0));
		ASSERT_EQ(EINVAL, errno);
	}
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_LIVE(2, 1);
	mr_dereg(mr);
	ASSERT_LIVE(1, 0);

	other_pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, other_pd);
	memory = mmap(NULL, 2 * length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, memory);
	LOOK();
	pdn = VALUE(UOBJ, OURS("type=PD handle=%u", self->pd->handle), "pdn");
	other = VALUE(UOBJ, OURS("type=PD handle=%u", other_pd->handle), "pdn");
	users = VALUE(UOBJ, OURS("type=PD handle=%u", other_pd->handle), "users");
	ASSERT_NE(pdn, other);
	mr = ibv_reg_mr(self->pd, memory, length, IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, mr);
	ASSERT_MKEYS(1);
	ASSERT_EQ(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  CONNECTION_ALL_ACCESS));
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=MR"), scope_kv("ref=2 usecnt=0 pdn=%ld lkey=%u", pdn,
						   mr->lkey));
	ASSERT_EQ(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other_pd, NULL, 0, 0));
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=MR"), scope_kv("ref=2 usecnt=0 pdn=%ld lkey=%u", other,
						   mr->lkey));
	ASSERT_ONE(UOBJ, OURS("type=PD handle=%u", other_pd->handle),
		   scope_kv("users=%ld", users + 1));
	ASSERT_EQ(EBUSY, ibv_dealloc_pd(other_pd));
	ASSERT_EQ(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, memory + length,
				  length / 2, 0));
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=MR"), scope_kv("ref=2 pdn=%ld mrlen=%zu lkey=%u", other,
						   length / 2, mr->lkey));
	ASSERT_MKEYS(1);
	mr_dereg(mr);
	ASSERT_MKEYS(0);
	ASSERT_EQ(0, ibv_dealloc_pd(other_pd));
	ASSERT_EQ(0, munmap(memory, 2 * length));
}

static int free_dm(void *arg)
{
	return ibv_free_dm(arg);
}

/* Register and deregister until the memory has been freed. */
struct registrar {
	struct ibv_pd *pd;
	int fd;
	unsigned int rounds;
};

static int register_until_revoked(void *arg)
{
	struct registrar *registrar = arg;
	struct ibv_mr *mr;
	int err;

	for (;;) {
		err = _mr_reg_dmabuf(registrar->pd, 0, DM_SIZE, registrar->fd, &mr);
		if (err)
			return err;
		__atomic_add_fetch(&registrar->rounds, 1, __ATOMIC_RELAXED);
		err = ibv_dereg_mr(mr);
		if (err)
			return err;
	}
}

/*
 * ATT-20, ATT-10: Exporter and importers are of one context, so what frees the memory and
 * what is told of it have the ufile in common, and a lock more.  It does not wait for
 * itself, with regions that stay and with one that comes and goes meanwhile.
 */
TEST_F(attach, att_20_one_context)
{
	struct registrar registrar = { .pd = self->pd, .fd = self->fd };
	struct caller freeing, registering;
	uint64_t ino[3];
	struct ibv_mr *mr[6];
	int fd[3], i;

	for (i = 0; i < 3; i++) {
		dmabuf_export(self->dm, &fd[i]);
		ino[i] = dmabuf_inode(fd[i]);
	}
	for (i = 0; i < 6; i++)
		mr_reg_dmabuf(self->pd, 0, DM_SIZE, fd[i / 2], &mr[i]);
	caller_start(&registering, register_until_revoked, &registrar);
	while (__atomic_load_n(&registrar.rounds, __ATOMIC_RELAXED) < 3)
		ASSERT_FALSE(caller_is_done(&registering));
	caller_start(&freeing, free_dm, self->dm);
	caller_end(&freeing, 0);
	self->dm = NULL;
	caller_end(&registering, ENODEV);
	ASSERT_REVOKED(1, 0);
	for (i = 0; i < 3; i++) {
		ASSERT_DMABUF(ino[i], "ref=2 file_ref=3 kref=0 revoked=1");
		ASSERT_COUNT(2, ATTACH, OURS("ino=%lu mapped=0", ino[i]));
		mr_dereg(mr[2 * i]);
		mr_dereg(mr[2 * i + 1]);
		ASSERT_EQ(0, close(fd[i]));
		ASSERT_NO_DMABUF(ino[i]);
	}
	ASSERT_MKEYS(0);
}

static struct mlx5dv_devx_umem *umem_of(struct ibv_context *ctx, size_t length, int fd)
{
	struct mlx5dv_devx_umem_in in = {
		.size = length,
		.access = IBV_ACCESS_LOCAL_WRITE,
		.pgsz_bitmap = UINT64_MAX & ~4095ULL,
		.comp_mask = MLX5DV_UMEM_MASK_DMABUF,
		.dmabuf_fd = fd,
	};

	errno = 0;
	return mlx5dv_devx_umem_reg_ex(ctx, &in);
}

/* A completion queue whose entries are in a dma-buf.  No library call makes one. */
static int cq_of(struct ibv_context *ctx, uint64_t length, int fd)
{
	static uint64_t record[512] __attribute__((aligned(4096)));
	const struct mlx5_ib_create_cq driver = {
		.db_addr = (uintptr_t)record,
		.cqe_size = 64,
	};
	const uint64_t offset = 0;
	const struct ib_uverbs_attr buffer[] = {
		uverbs_in(UVERBS_ATTR_CREATE_CQ_BUFFER_LENGTH, &length, sizeof(length)),
		uverbs_handle(UVERBS_ATTR_CREATE_CQ_BUFFER_FD, fd),
		uverbs_in(UVERBS_ATTR_CREATE_CQ_BUFFER_OFFSET, &offset, sizeof(offset)),
	};
	uint32_t handle;

	return raw_cq_create(ctx->cmd_fd, length / 64, &driver, buffer, 3, &handle);
}

/*
 * ATT-03, S14, C11, ERRNO-MR: Importers that pin are refused: a DEVX umem, a completion
 * queue, a data direct region.  They leave no file reference, no attachment, no object.
 */
TEST_F(attach, att_03_pinning_importers)
{
	struct ibv_mr *mr;
	int i;

	LOOK();
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(NULL, umem_of(self->ctx, DM_SIZE, self->fd));
		ASSERT_EQ(EOPNOTSUPP, errno);
		ASSERT_EQ(EOPNOTSUPP, cq_of(self->ctx, 4096, self->fd));
		errno = 0;
		mr = mlx5dv_reg_dmabuf_mr(self->pd, 0, DM_SIZE, 0, self->fd, CONNECTION_ALL_ACCESS,
					  MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT);
		ASSERT_EQ(NULL, mr);
		/* EINVAL where the device has no second function that data would go through. */
		ASSERT_TRUE(errno == EINVAL || errno == EOPNOTSUPP)
			TH_LOG("data direct: %m");
		ASSERT_EQ(1, fdinfo_count(self->fd));
	}
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_LIVE(1, 0);
	ASSERT_LEDGER(0, "umem");
	ASSERT_MKEYS(0);
}

/* What the exporter was asked for; all that is not named is zero. */
#define ASSERT_EXPORT(export, ...) \
do { \
	const struct dmabuf_importer_export_query __wanted = { __VA_ARGS__ }; \
	struct dmabuf_importer_export_query __has; \
	importer_export_query(self->imp, (export)->id, &__has); \
	EXPECT_EQ(__wanted.attaches, __has.attaches); \
	EXPECT_EQ(__wanted.attaches_refused, __has.attaches_refused); \
	EXPECT_EQ(__wanted.detaches, __has.detaches); \
	EXPECT_EQ(__wanted.maps, __has.maps); \
	EXPECT_EQ(__wanted.maps_failed, __has.maps_failed); \
	EXPECT_EQ(__wanted.unmaps, __has.unmaps); \
	EXPECT_EQ(__wanted.pins, __has.pins); \
	EXPECT_EQ(__wanted.pins_failed, __has.pins_failed); \
	EXPECT_EQ(__wanted.altered, __has.altered); \
	ASSERT_EQ(__wanted.unpins, __has.unpins); \
} while (0)

/*
 * ATT-22, ATT-03: A DEVX umem pins before it maps.  Whatever the exporter refuses, what it
 * has granted before is given back, once: the pin if the map fails, the attachment if the
 * pin does.
 */
TEST_F(attach, att_22_map_fails_after_the_pin)
{
	struct dmabuf_importer_export unmappable = { .size = DM_SIZE, .map_error = ENOMEM };
	struct dmabuf_importer_export unpinnable = { .size = DM_SIZE, .pin_error = EPERM };
	struct dmabuf_importer_export refusing = { .size = DM_SIZE, .attach_error = EACCES };
	struct dmabuf_importer_export good = { .size = DM_SIZE };
	struct mlx5dv_devx_umem *umem;
	unsigned int i;

	if (lacks_importer(_metadata, self))
		return;
	importer_export(self->imp, &unmappable);
	importer_export(self->imp, &unpinnable);
	importer_export(self->imp, &refusing);
	importer_export(self->imp, &good);
	for (i = 1; i <= 3; i++) {
		ASSERT_EQ(NULL, umem_of(self->ctx, DM_SIZE, unmappable.fd));
		ASSERT_EQ(ENOMEM, errno);
		ASSERT_EXPORT(&unmappable, .attaches = i, .detaches = i, .pins = i, .unpins = i,
			      .maps_failed = i);
		ASSERT_EQ(1, fdinfo_count(unmappable.fd));
		ASSERT_EQ(NULL, umem_of(self->ctx, DM_SIZE, unpinnable.fd));
		ASSERT_EQ(EPERM, errno);
		ASSERT_EXPORT(&unpinnable, .attaches = i, .detaches = i, .pins_failed = i);
		ASSERT_EQ(1, fdinfo_count(unpinnable.fd));
		ASSERT_EQ(NULL, umem_of(self->ctx, DM_SIZE, refusing.fd));
		ASSERT_EQ(EACCES, errno);
		ASSERT_EXPORT(&refusing, .attaches_refused = i);
		ASSERT_EQ(1, fdinfo_count(refusing.fd));

		umem = umem_of(self->ctx, DM_SIZE, good.fd);
		ASSERT_NE(NULL, umem);
		ASSERT_EXPORT(&good, .attaches = i, .detaches = i - 1, .pins = i, .unpins = i - 1,
			      .maps = i, .unmaps = i - 1);
		ASSERT_EQ(2, fdinfo_count(good.fd));
		ASSERT_LEDGER(1, "umem");
		ASSERT_EQ(0, mlx5dv_devx_umem_dereg(umem));
		ASSERT_EXPORT(&good, .attaches = i, .detaches = i, .pins = i, .unpins = i,
			      .maps = i, .unmaps = i);
		ASSERT_EQ(1, fdinfo_count(good.fd));
	}
	ASSERT_LEDGER(0, "umem");
	ASSERT_EQ(0, close(unmappable.fd));
	ASSERT_EQ(0, close(unpinnable.fd));
	ASSERT_EQ(0, close(refusing.fd));
	ASSERT_EQ(0, close(good.fd));
}

/*
 * ATT-04, ATT-09: A memory region, which does not pin, on a dma-buf whose exporter refuses
 * to attach or to map: nothing of it is left, the mkey that it had taken included.
 */
TEST_F(attach, att_04_exporter_refuses)
{
	struct dmabuf_importer_export unmappable = { .size = DM_SIZE, .map_error = ENXIO };
	struct dmabuf_importer_export refusing = { .size = DM_SIZE, .attach_error = EACCES };
	unsigned int i;

	if (lacks_importer(_metadata, self))
		return;
	importer_export(self->imp, &unmappable);
	importer_export(self->imp, &refusing);
	for (i = 1; i <= 5; i++) {
		mr_reg_dmabuf_err(ENXIO, self->pd, 0, DM_SIZE, unmappable.fd);
		ASSERT_EXPORT(&unmappable, .attaches = i, .detaches = i, .maps_failed = i);
		ASSERT_EQ(1, fdinfo_count(unmappable.fd));
		mr_reg_dmabuf_err(EACCES, self->pd, 0, DM_SIZE, refusing.fd);
		ASSERT_EXPORT(&refusing, .attaches_refused = i);
		ASSERT_EQ(1, fdinfo_count(refusing.fd));
		ASSERT_MKEYS(0);
	}
	ASSERT_EQ(0, close(unmappable.fd));
	ASSERT_EQ(0, close(refusing.fd));
}

/*
 * ATT-04: A region of a part of a dma-buf shortens the exporter's table at both ends while
 * it is mapped; the exporter is given it back as it was.
 */
TEST_F(attach, att_04_table_given_back_as_it_was)
{
	static const struct {
		uint64_t offset;
		size_t length;
	} parts[] = {
		{ 0, 4 * DM_SIZE },
		{ 4096, DM_SIZE },
		{ 0, 4096 },
		{ 100, 64 },
		{ 4 * DM_SIZE - 4096, 4096 },
	};
	struct dmabuf_importer_export export = { .size = 4 * DM_SIZE };
	struct ibv_mr *mr;
	unsigned int i;

	if (lacks_importer(_metadata, self))
		return;
	importer_export(self->imp, &export);
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		mr = ibv_reg_dmabuf_mr(self->pd, parts[i].offset, parts[i].length,
				       parts[i].offset, export.fd, IBV_ACCESS_LOCAL_WRITE);
		ASSERT_NE(NULL, mr)
			TH_LOG("part %u: %m", i);
		ASSERT_EXPORT(&export, .attaches = i + 1, .detaches = i, .maps = i + 1,
			      .unmaps = i);
		ASSERT_EQ(0, ibv_dereg_mr(mr));
		ASSERT_EXPORT(&export, .attaches = i + 1, .detaches = i + 1, .maps = i + 1,
			      .unmaps = i + 1);
	}
	ASSERT_EQ(0, close(export.fd));
}

/* What a free waits in until the last mapping is gone. */
#define WAITS_FOR_UNMAP	"rdma_user_mmap_entry_remove"

struct peer_free {
	struct peer *peer;
	uint64_t token;
};

static int free_by_peer(void *arg)
{
	const struct peer_free *free = arg;

	return _peer_dm_free(free->peer, free->token);
}

/*
 * ATT-07: A process that frees the memory waits for the last mapping, and no signal ends
 * that, not even SIGKILL; when the mapping is given back the free is done, and the process
 * dies.
 */
TEST_F(attach, att_07_sigkill_does_not_help)
{
	struct peer_free free = {};
	struct caller caller;
	struct peer peer;
	uint32_t id;

	if (lacks_importer(_metadata, self))
		return;
	peer_start(&peer);
	peer_import(&peer, self->ctx);
	free.peer = &peer;
	peer_dm_import(&peer, self->dm->handle, &free.token);
	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, DMABUF_IMPORTER_ON_RELEASE,
			&id);
	importer_map(self->imp, id);
	caller_start(&caller, free_by_peer, &free);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id, DMABUF_IMPORTER_MAPPED);
	process_waits(peer.pid, WAITS_FOR_UNMAP);
	ASSERT_EQ(0, kill(peer.pid, SIGKILL));
	process_owes(peer.pid, SIGKILL);
	process_waits(peer.pid, WAITS_FOR_UNMAP);
	ASSERT_DMABUF(self->ino, "ref=2 file_ref=2 kref=1 revoked=1");
	ASSERT_ATTACHED(1, "mapped=1");
	ASSERT_MEMIC_FREED(0, &self->memic);
	ASSERT_FALSE(caller_is_done(&caller));

	importer_release(self->imp, id);
	/* It was freed, and nobody was left to say so. */
	caller_end(&caller, EPIPE);
	peer_kill(&peer);
	ASSERT_REVOKED(2, 1);
	ASSERT_NONE(UOBJ, OURS("type=DM"));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=2 vmas=1 dmabufs=0 driver_removed=1");
	importer_detach(self->imp, id);
	ibv_unimport_dm(self->dm);
	self->dm = NULL;
}

static int close_fd(void *arg)
{
	return close(*(int *)arg) ? errno : 0;
}

/* A call by ioctl, for a thread of its own. */
struct raw_call {
	int cmd_fd;
	uint32_t handle;
	uint64_t off;
	int fd;
};

static int free_by_ioctl(void *arg)
{
	const struct raw_call *call = arg;

	return _raw_dm_free(call->cmd_fd, call->handle);
}

static int export_by_ioctl(void *arg)
{
	struct raw_call *call = arg;

	return _raw_dmabuf_export(call->cmd_fd, call->off, &call->fd);
}

/*
 * DMABUF-09, ERRNO-DMABUF: An export has found the entry when the memory is freed: it fails
 * with EIO, has no descriptor, and gives all back.  To have it so, a fence holds up the
 * close of another dma-buf of the same memory, which the free waits for, and the export
 * behind it.
 */
TEST_F(attach, dmabuf_09_export_races_free)
{
	struct raw_call freeing = { .cmd_fd = self->ctx->cmd_fd };
	struct raw_call exporting = { .cmd_fd = self->ctx->cmd_fd };
	struct caller close_caller, free_caller, export_caller;
	uint32_t id, fence;
	int fds;

	if (lacks_importer(_metadata, self))
		return;
	LOOK();
	freeing.handle = self->dm->handle;
	exporting.off = offset_of(VALUE(MMAP, OURS("kind=MEMIC"), "pgoff"));
	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, DMABUF_IMPORTER_AT_ONCE, &id);
	importer_hold_fence(self->imp, id, DMABUF_IMPORTER_BOOKKEEP, 0, &fence);
	importer_detach(self->imp, id);
	fds = fd_count();

	caller_start(&close_caller, close_fd, &self->fd);
	caller_waits(&close_caller, "dma_resv_wait_timeout");
	caller_start(&free_caller, free_by_ioctl, &freeing);
	caller_waits(&free_caller, "rdma_user_mmap_entry_remove");
	/* Who sleeps there is in the queue of the entry's lock. */
	process_sleeps(free_caller.tid);
	caller_start(&export_caller, export_by_ioctl, &exporting);
	caller_waits(&export_caller, "DMABUF_ALLOC");
	process_sleeps(export_caller.tid);
	LOOK();
	/* The memory is not marked as freed, and the export has its reference. */
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=4 vmas=1 driver_removed=0");
	importer_signal(self->imp, fence);
	caller_end(&close_caller, 0);
	caller_end(&free_caller, 0);
	caller_end(&export_caller, EIO);
	self->fd = -1;
	ASSERT_EQ(fds - 1, fd_count());
	ASSERT_NO_DMABUF(self->ino);
	ASSERT_NONE(UOBJ, OURS("type=DMABUF"));
	ASSERT_NONE(UOBJ, OURS("type=DM"));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=1 vmas=1 dmabufs=0 driver_removed=1");
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=2");
	ASSERT_EQ(self->bed.before.dmabufs, dmabuf_count("ib_uverbs"));
	ASSERT_MEMIC_FREED(0, &self->memic);
	ibv_unimport_dm(self->dm);
	self->dm = NULL;
	ASSERT_MEMIC_FREED(1, &self->memic);
}

int main(int argc, char **argv)
{
	if (worker_is_wanted(argc, argv))
		return worker_main(argv);
	return bed_main(argc, argv);
}
