// SPDX-License-Identifier: GPL-2.0
/*
 * dmabuf_importer.ko attached to dma-bufs of mlx5 device memory: what uverbs, the
 * exporter, does to an importer, and what an importer can do to uverbs.
 *
 * The device's ledger says where the memory is and whether it was given back,
 * uobjscope.ko what the kernel counts, and the importer what it was told.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/caller.h"
#include "common/dm_ops.h"
#include "common/importer.h"
#include "common/kernel_counts.h"
#include "common/kernel_signs.h"
#include "common/known_issues.h"

#define DM_SIZE	8192

#define P2P	DMABUF_IMPORTER_PEER2PEER
#define DEAF	DMABUF_IMPORTER_NO_CALLBACK

FIXTURE(importer_dm)
{
	struct bed bed;
	struct ibv_context *ctx;
	struct kernel_counts counts;
	uint64_t bar;
	int64_t seq;
	struct ibv_dm *dm;
	struct vhca_object memic;
	uint64_t ino;
	int fd;
	int imp;
};

/* The dma-buf's uobject, by a new snapshot. */
#define ASSERT_DMABUF(is) \
do { \
	LOOK(); \
	ASSERT_ONE(UOBJ, OURS("type=DMABUF ino=%lu", self->ino), is); \
} while (0)

/* Attachments that are mapped, or not, by the last snapshot. */
#define ASSERT_ATTACHED(count, is) \
	ASSERT_COUNT(count, ATTACH, OURS("ino=%lu %s", self->ino, is))

#define ASSERT_MEMIC_FREED(times) \
	ASSERT_EQ(times, vhca_count_since(&self->bed.dev, self->seq, VHCA_DEALLOC_MEMIC, \
					  self->memic.id))

#define ASSERT_STATE(expected, attachment) \
do { \
	struct dmabuf_importer_query __query; \
	importer_query(self->imp, attachment, &__query); \
	ASSERT_EQ((uint32_t)(expected), __query.state); \
} while (0)

#define ASSERT_NO_EVENT() \
	ASSERT_EQ(0, importer_has_event(self->imp))

FIXTURE_SETUP(importer_dm)
{
	const char *missing;

	if (!bed_make(_metadata, &self->bed, true) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	missing = importer_missing();
	if (missing || self->bed.dev.info.memic.size < DM_SIZE) {
		bed_mark(_metadata, "end");
		SKIP(return, "%s", missing ? missing :
		     "not enough MEMIC: load mlx5_vhca with a larger memic_size");
	}
	self->bar = device_bar(&self->bed.dev);
	ASSERT_NE(0UL, self->bar);
	self->seq = vhca_seq(&self->bed.dev);
	ASSERT_LE(0, self->seq);
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
	importer_open(&self->imp);
	dm_alloc(self->ctx, DM_SIZE, &self->dm);
	ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "memic", self->seq, &self->memic));
	dmabuf_export(self->dm, &self->fd);
	self->ino = dmabuf_inode(self->fd);
}

/* A test frees the memory; what is attached goes here, and only then the device is told. */
FIXTURE_TEARDOWN(importer_dm)
{
	if (self->imp >= 0)
		EXPECT_EQ(0, close(self->imp));
	if (self->fd >= 0)
		EXPECT_EQ(0, close(self->fd));
	if (_metadata->exit_code == KSFT_PASS) {
		EXPECT_EQ(1, vhca_count_since(&self->bed.dev, self->seq, VHCA_DEALLOC_MEMIC,
					      self->memic.id));
		EXPECT_EQ(0, scope_take(&self->counts.scope));
		EXPECT_EQ(0, scope_count(&self->counts.scope, UOBJSCOPE_UOBJ, OURS("type=DMABUF")));
		EXPECT_EQ(0, scope_count(&self->counts.scope, UOBJSCOPE_ATTACH, OURS("")));
	}
	if (self->ctx)
		EXPECT_EQ(0, ibv_close_device(self->ctx));
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

static int free_dm(void *arg)
{
	return ibv_free_dm(arg);
}

/* What a free waits in until the last mapping is gone. */
#define WAITS_FOR_UNMAP	"rdma_user_mmap_entry_remove"

/*
 * ATT-01, ATT-03: Who cannot do peer to peer is refused, and so is who wants to
 * pin; nothing of it is left.
 */
TEST_F(importer_dm, att_01_refusals)
{
	static const uint32_t refused[] = { 0, DEAF, DMABUF_IMPORTER_STATIC };
	unsigned int i;
	uint32_t id;

	for (i = 0; i < ARRAY_SIZE(refused); i++)
		importer_attach_err(EOPNOTSUPP, self->imp, self->bed.dev.pci, self->fd,
				    refused[i], 0);
	ASSERT_DMABUF("ref=2 file_ref=1 kref=1 revoked=0");
	ASSERT_ATTACHED(0, "");

	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, 0, &id);
	importer_pin_err(EOPNOTSUPP, self->imp, id);
	ASSERT_DMABUF("ref=2 file_ref=2 kref=1 revoked=0");
	ASSERT_ATTACHED(1, "mapped=0 pinned=0");
	importer_detach(self->imp, id);
	ASSERT_DMABUF("ref=2 file_ref=1 kref=1 revoked=0");
	ASSERT_ATTACHED(0, "");
	dm_free(self->dm);
}

/*
 * ATT-02, S12, S13: What is mapped, in either direction and in both, is the device memory,
 * where the device has it behind its BAR.  The CPU cannot read it through the dma-buf.
 */
TEST_F(importer_dm, att_02_map)
{
	struct dmabuf_importer_map map;
	struct dmabuf_importer_entry entry[2];
	struct dmabuf_sign sign;
	uint32_t id, direction, count = 2;
	uint64_t length;
	char byte;

	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, 0, &id);
	ASSERT_DMABUF("ref=2 file_ref=2 kref=1 revoked=0");
	ASSERT_ONE(ATTACH, OURS("ino=%lu", self->ino),
		   scope_kv("device=%s peer2peer=1 invalidate=1 importer=dmabuf_importer_ops_p2p",
			    self->bed.dev.pci));
	ASSERT_ONE(ATTACH, OURS("ino=%lu", self->ino), "mapped=0 pinned=0 !umem !revoked !mrn");

	ASSERT_EQ(0, _importer_map(self->imp, id, &length));
	ASSERT_EQ((uint64_t)DM_SIZE, length);
	importer_entries(self->imp, id, 0, entry, &count);
	ASSERT_EQ(1U, count);
	ASSERT_EQ(self->bar + self->memic.id, entry[0].address);
	ASSERT_EQ((uint64_t)DM_SIZE, entry[0].length);
	ASSERT_DMABUF("ref=2 file_ref=2 kref=2 revoked=0");
	ASSERT_ATTACHED(1, "mapped=1 pinned=0");
	ASSERT_EQ(1, dmabuf_look(self->ino, &sign));
	ASSERT_EQ(1, sign.attachments);
	ASSERT_STREQ(self->bed.dev.pci, sign.importer);
	importer_read_err(EOPNOTSUPP, self->imp, id, 0, &byte, 1);

	importer_unmap(self->imp, id);
	ASSERT_DMABUF("ref=2 file_ref=2 kref=1 revoked=0");
	ASSERT_ATTACHED(1, "mapped=0 pinned=0");
	for (direction = 1; direction <= 2; direction++) {
		map = (struct dmabuf_importer_map){ .id = id, .direction = direction };
		ASSERT_EQ(0, importer_ioctl(self->imp, DMABUF_IMPORTER_MAP, &map));
		count = 2;
		importer_entries(self->imp, id, 0, entry, &count);
		ASSERT_EQ(1U, count);
		ASSERT_EQ(self->bar + self->memic.id, entry[0].address);
		ASSERT_DMABUF("ref=2 file_ref=2 kref=2 revoked=0");
		importer_unmap(self->imp, id);
	}
	importer_map(self->imp, id);
	importer_detach(self->imp, id);
	ASSERT_DMABUF("ref=2 file_ref=1 kref=1 revoked=0");
	ASSERT_ATTACHED(0, "");
	ASSERT_NO_EVENT();
	dm_free(self->dm);
}

/*
 * ATT-05, ATT-08: The DM is freed under a mapping that is given back at once.
 * Attaching is possible afterwards, mapping is not.
 */
TEST_F(importer_dm, att_05_at_once)
{
	struct dmabuf_importer_query query;
	uint32_t id, late;

	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, DMABUF_IMPORTER_AT_ONCE, &id);
	importer_map(self->imp, id);
	dm_free(self->dm);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id, DMABUF_IMPORTER_MAPPED);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_UNMAP, id, 0);
	ASSERT_NO_EVENT();
	ASSERT_DMABUF("ref=2 file_ref=2 kref=0 revoked=1");
	ASSERT_ATTACHED(1, "mapped=0 pinned=0");
	ASSERT_MEMIC_FREED(0);

	importer_map_err(ENODEV, self->imp, id);
	importer_query(self->imp, id, &query);
	ASSERT_EQ((uint32_t)ENODEV, query.map_error);
	ASSERT_EQ(1U, query.invalidations);
	ASSERT_EQ(1U, query.unmaps);
	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, 0, &late);
	importer_map_err(ENODEV, self->imp, late);
	ASSERT_DMABUF("ref=2 file_ref=3 kref=0 revoked=1");
	ASSERT_ATTACHED(2, "mapped=0");
	importer_detach(self->imp, late);
	importer_detach(self->imp, id);
	ASSERT_DMABUF("ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_MEMIC_FREED(0);
}

/* A free waits for the last unmap, for whatever reason it does not come. */
#define ASSERT_FREE_WAITS(caller) \
do { \
	caller_waits(caller, WAITS_FOR_UNMAP); \
	ASSERT_DMABUF("ref=2 file_ref=2 kref=1 revoked=1"); \
	ASSERT_ATTACHED(1, "mapped=1"); \
	ASSERT_MEMIC_FREED(0); \
	ASSERT_FALSE(caller_is_done(caller)); \
} while (0)

/* ATT-07, ATT-05: A free waits for an importer that gives the mapping back when it likes. */
TEST_F(importer_dm, att_07_on_release)
{
	struct caller caller;
	uint32_t id;

	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, DMABUF_IMPORTER_ON_RELEASE,
			&id);
	importer_map(self->imp, id);
	caller_start(&caller, free_dm, self->dm);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id, DMABUF_IMPORTER_MAPPED);
	ASSERT_FREE_WAITS(&caller);
	ASSERT_STATE(DMABUF_IMPORTER_MAPPED | DMABUF_IMPORTER_OWED, id);
	importer_release(self->imp, id);
	caller_end(&caller, 0);
	ASSERT_DMABUF("ref=2 file_ref=2 kref=0 revoked=1");
	ASSERT_ATTACHED(1, "mapped=0");
	ASSERT_NO_EVENT();
}

/*
 * ATT-07: An importer that never unmaps of itself is waited for as well, until somebody
 * unmaps for it.
 */
TEST_F(importer_dm, att_07_never)
{
	struct caller caller;
	uint32_t id;

	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, DMABUF_IMPORTER_NEVER, &id);
	importer_map(self->imp, id);
	caller_start(&caller, free_dm, self->dm);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id, DMABUF_IMPORTER_MAPPED);
	ASSERT_FREE_WAITS(&caller);
	importer_release_err(EPERM, self->imp, id);
	ASSERT_FREE_WAITS(&caller);
	importer_unmap(self->imp, id);
	caller_end(&caller, 0);
	ASSERT_DMABUF("ref=2 file_ref=2 kref=0 revoked=1");
}

/*
 * ATT-19: uverbs takes an importer that cannot be told, and then waits for it; where L21 is
 * fixed it is refused, and nothing of it is left.
 */
TEST_F(importer_dm, att_19_no_callback)
{
	struct known_issue issue;
	struct caller caller;
	uint32_t id;

	ASSERT_EQ(0, known_issue("L21", &issue));
	if (issue.state == KNOWN_FIXED) {
		importer_attach_err(EOPNOTSUPP, self->imp, self->bed.dev.pci, self->fd, P2P | DEAF,
				    0);
		ASSERT_DMABUF("ref=2 file_ref=1 kref=1 revoked=0");
		ASSERT_ATTACHED(0, "");
		dm_free(self->dm);
		return;
	}
	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P | DEAF, 0, &id);
	importer_map(self->imp, id);
	LOOK();
	ASSERT_ONE(ATTACH, OURS("ino=%lu", self->ino),
		   "peer2peer=1 invalidate=0 mapped=1 importer=dmabuf_importer_ops_p2p_no_callback");
	caller_start(&caller, free_dm, self->dm);
	ASSERT_FREE_WAITS(&caller);
	ASSERT_NO_EVENT();
	importer_detach(self->imp, id);
	caller_end(&caller, 0);
	ASSERT_DMABUF("ref=2 file_ref=1 kref=0 revoked=1");
}

/* ATT-07: It is the same if the importer goes away altogether. */
TEST_F(importer_dm, att_07_importer_is_closed)
{
	struct caller caller;
	uint32_t id;

	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, DMABUF_IMPORTER_NEVER, &id);
	importer_map(self->imp, id);
	caller_start(&caller, free_dm, self->dm);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id, DMABUF_IMPORTER_MAPPED);
	ASSERT_FREE_WAITS(&caller);
	ASSERT_EQ(0, close(self->imp));
	self->imp = -1;
	caller_end(&caller, 0);
	ASSERT_DMABUF("ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_ATTACHED(0, "");
}

/*
 * ATT-07: Before that a free waits for all fences, with the reservation object
 * locked: the mapping is gone, and nobody else can look at the attachments.
 */
TEST_F(importer_dm, att_07_fence)
{
	static const uint32_t usage[] = {
		DMABUF_IMPORTER_BOOKKEEP, DMABUF_IMPORTER_KERNEL,
	};
	struct dmabuf_importer_query query;
	uint32_t id, fence[ARRAY_SIZE(usage)], i;
	struct caller caller;

	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, DMABUF_IMPORTER_AT_ONCE, &id);
	importer_map(self->imp, id);
	for (i = 0; i < ARRAY_SIZE(usage); i++)
		importer_hold_fence(self->imp, id, usage[i], 0, &fence[i]);
	caller_start(&caller, free_dm, self->dm);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id, DMABUF_IMPORTER_MAPPED);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_UNMAP, id, 0);
	for (i = 0; i < ARRAY_SIZE(usage); i++) {
		caller_waits(&caller, "dma_resv_wait_timeout");
		importer_query(self->imp, id, &query);
		ASSERT_EQ((uint32_t)ARRAY_SIZE(usage) - i, query.fences);
		ASSERT_EQ(0U, query.state);
		/* The exporter's own reference is not given back before. */
		ASSERT_DMABUF("ref=2 kref=1 revoked=1");
		ASSERT_ONE(ATTACH, OURS("ino=%lu", self->ino), "state=busy !mapped");
		importer_signal(self->imp, fence[i]);
	}
	caller_end(&caller, 0);
	ASSERT_DMABUF("ref=2 file_ref=2 kref=0 revoked=1");
	ASSERT_ATTACHED(1, "mapped=0");
}

/*
 * ATT-16: Several importers, of each kind, and a memory region.  All are told, and
 * the free waits for the last one.
 */
TEST_F(importer_dm, att_16_waits_for_the_slowest)
{
	static const uint32_t policy[] = {
		DMABUF_IMPORTER_AT_ONCE, DMABUF_IMPORTER_ON_RELEASE, DMABUF_IMPORTER_NEVER,
	};
	uint32_t id[ARRAY_SIZE(policy)], i;
	struct caller caller;
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	for (i = 0; i < ARRAY_SIZE(policy); i++) {
		importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, policy[i], &id[i]);
		importer_map(self->imp, id[i]);
	}
	mr_reg_dmabuf(pd, 0, DM_SIZE, self->fd, &mr);
	ASSERT_DMABUF("ref=2 file_ref=5 kref=5 revoked=0");
	ASSERT_ATTACHED(4, "mapped=1");
	ASSERT_ATTACHED(1, "umem=1");

	caller_start(&caller, free_dm, self->dm);
	caller_waits(&caller, WAITS_FOR_UNMAP);
	/* From the last one that was attached to the first. */
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id[2], DMABUF_IMPORTER_MAPPED);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id[1], DMABUF_IMPORTER_MAPPED);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id[0], DMABUF_IMPORTER_MAPPED);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_UNMAP, id[0], 0);
	caller_waits(&caller, WAITS_FOR_UNMAP);
	ASSERT_DMABUF("ref=2 file_ref=5 kref=2 revoked=1");
	ASSERT_ATTACHED(2, "mapped=1");
	importer_release(self->imp, id[1]);
	caller_waits(&caller, WAITS_FOR_UNMAP);
	ASSERT_DMABUF("ref=2 file_ref=5 kref=1 revoked=1");
	ASSERT_ATTACHED(1, "mapped=1");
	importer_unmap(self->imp, id[2]);
	caller_end(&caller, 0);
	ASSERT_DMABUF("ref=2 file_ref=5 kref=0 revoked=1");
	ASSERT_MEMIC_FREED(0);
	mr_dereg(mr);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
	ASSERT_DMABUF("ref=2 file_ref=4 kref=0 revoked=1");
}

/*
 * ATT-07, ATT-05, ATT-16: A stalled callback holds uverbs within its walk: it has marked
 * the dma-buf as revoked, later importers are still mapped, and the reservation object
 * is locked.
 */
TEST_F(importer_dm, att_07_stall)
{
	uint32_t first, later;
	struct caller caller;

	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, DMABUF_IMPORTER_AT_ONCE,
			&later);
	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, DMABUF_IMPORTER_AT_ONCE,
			&first);
	importer_map(self->imp, later);
	importer_map(self->imp, first);
	importer_stall(self->imp, first, 0);
	caller_start(&caller, free_dm, self->dm);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, first,
		       DMABUF_IMPORTER_MAPPED | DMABUF_IMPORTER_STALLED);
	caller_waits(&caller, "dma_buf_invalidate_mappings");
	ASSERT_DMABUF("ref=2 file_ref=3 kref=3 revoked=1");
	ASSERT_ONE(ATTACH, OURS("ino=%lu", self->ino), "state=busy");
	ASSERT_STATE(DMABUF_IMPORTER_MAPPED, later);
	ASSERT_NO_EVENT();
	importer_resume(self->imp, first);
	caller_end(&caller, 0);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_RESUME, first, 0);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_UNMAP, first, 0);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, later, DMABUF_IMPORTER_MAPPED);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_UNMAP, later, 0);
	ASSERT_DMABUF("ref=2 file_ref=3 kref=0 revoked=1");
}

/*
 * ATT-12: An attachment keeps the dma-buf, and with it the memory, when there is
 * no descriptor any more.
 */
TEST_F(importer_dm, att_12_attachment_keeps_the_dmabuf)
{
	uint32_t id;

	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, 0, &id);
	importer_map(self->imp, id);
	ASSERT_EQ(0, close(self->fd));
	self->fd = -1;
	ASSERT_DMABUF("ref=2 file_ref=1 kref=2 revoked=0");
	ASSERT_COUNT(0, FD, scope_kv("ino=%lu", self->ino));
	dm_free(self->dm);
	ASSERT_DMABUF("ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_MEMIC_FREED(0);
	importer_detach(self->imp, id);
	LOOK();
	ASSERT_COUNT(0, UOBJ, OURS("type=DMABUF"));
	ASSERT_MEMIC_FREED(1);
}

/* ATT-02: A PCI function that uverbs cannot reach peer to peer: it can attach, but not map. */
TEST_F(importer_dm, att_02_foreign_device)
{
	struct dmabuf_importer_query query;
	char pci[32];
	uint32_t id;
	int err;

	ASSERT_EQ(0, importer_some_pci(pci));
	if (!strcmp(pci, self->bed.dev.pci))
		SKIP(dm_free(self->dm); return, "no other PCI device");
	importer_attach(self->imp, pci, self->fd, P2P, 0, &id);
	err = _importer_map(self->imp, id, NULL);
	TH_LOG("map for %s: %s", pci, strerror(err));
	importer_query(self->imp, id, &query);
	ASSERT_EQ((uint32_t)err, query.map_error);
	/* On a host bridge that the kernel trusts it is allowed. */
	ASSERT_TRUE(!err || err == EINVAL);
	ASSERT_DMABUF(err ? "file_ref=2 kref=1" : "file_ref=2 kref=2");
	ASSERT_ATTACHED(1, err ? "mapped=0" : "mapped=1");
	importer_detach(self->imp, id);
	ASSERT_DMABUF("file_ref=1 kref=1");
	dm_free(self->dm);
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
