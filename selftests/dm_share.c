// SPDX-License-Identifier: GPL-2.0
/*
 * Device memory (DM) that several contexts or processes have: ibv_import_dm() and
 * ibv_unimport_dm().
 *
 * Unlike that of a VAR, an import asks the kernel, and maps: each one is a reference
 * to the one mmap entry, and each unimport drops one, whose DM it ever was.  The last
 * of them is what has the device take the memory back.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/dm_ops.h"
#include "common/kernel_counts.h"
#include "common/memic_counts.h"
#include "common/kernel_signs.h"
#include "common/known_issues.h"
#include "common/var_ops.h"

#define DM_SIZE	8192

/* Several of them must fit. */
#define DM_NEEDED	(8 * DM_SIZE)

FIXTURE(dm_share)
{
	struct bed bed;
	struct ibv_context *ctx;
	struct kernel_counts counts;
	struct ibv_pd *pd;
	int64_t seq;
	size_t page_size;
};

FIXTURE_SETUP(dm_share)
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
	self->seq = vhca_seq(&self->bed.dev);
	ASSERT_LE(0, self->seq);
	counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
}

FIXTURE_TEARDOWN(dm_share)
{
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

/*
 * By the last snapshot there is one DM, with so many regions, mappings by whomever,
 * and dma-bufs.
 */
#define ASSERT_DM(regions, mappings, exports) \
do { \
	const int __vmas = (mappings); \
	const int __dmabufs = (exports); \
	ASSERT_ONE(UOBJ, OURS("type=DM"), \
		   scope_kv("ref=2 usecnt=0 state=live dm_users=%d dm_ref=1", regions)); \
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), \
		   scope_kv("ref=%d vmas=%d dmabufs=%d driver_removed=0", \
			    1 + __vmas + __dmabufs, __vmas, __dmabufs)); \
	ASSERT_ENTRY_OF(OURS("kind=MEMIC"), UOBJ, OURS("type=DM")); \
} while (0)

/* It was freed, and so many mappings keep its memory. */
#define ASSERT_DM_IS_MAPPED_ONLY(mappings) \
do { \
	const int __vmas = (mappings); \
	ASSERT_NONE(UOBJ, OURS("type=DM")); \
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), \
		   scope_kv("ref=%d vmas=%d dmabufs=0 driver_removed=1 dm_ref=1", \
			    __vmas, __vmas)); \
	ASSERT_DEVICE(DM_SIZE / 4096, "memic_pages_used"); \
} while (0)

/* Nothing of it is left. */
#define ASSERT_NO_DM() \
do { \
	ASSERT_NONE(UOBJ, OURS("type=DM")); \
	ASSERT_NONE(MMAP, OURS("kind=MEMIC")); \
	ASSERT_DEVICE(0, "memic_pages_used"); \
	ASSERT_LEDGER(0, "memic"); \
} while (0)

/*
 * IMP-13, C18: Each import is one mapping, and each unimport one less, of the DM of
 * the same handle.  All are the same memory.
 */
TEST_F(dm_share, imp_13_every_import_maps)
{
	uint32_t word, seen = 0;
	struct ibv_dm *dm, *import[4];
	struct vhca_object memic;
	int i;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	ASSERT_NE(0U, dm->comp_mask & IBV_DM_MASK_HANDLE);
	for (i = 0; i < 4; i++) {
		dm_import(self->ctx, dm->handle, &import[i]);
		LOOK();
		ASSERT_DM(0, 2 + i, 0);
		word = 0x1dea0000 + i;
		dm_write(import[i], 8 * i, &word, sizeof(word));
		dm_read(&seen, dm, 8 * i, sizeof(seen));
		ASSERT_EQ(word, seen);
	}
	/* The query that an import makes is over, and was no news to the device. */
	ASSERT_EQ(1, vhca_other_since(&self->bed.dev, self->seq));
	ibv_unimport_dm(import[0]);
	LOOK();
	ASSERT_DM(0, 4, 0);
	dm_free(dm);
	for (i = 1; i < 4; i++) {
		LOOK();
		ASSERT_DM_IS_MAPPED_ONLY(4 - i);
		ASSERT_MEMIC_FREED(0, &memic);
		word = 0xfeed0000 + i;
		dm_write(import[i], DM_SIZE - 4, &word, sizeof(word));
		dm_read(&seen, import[3], DM_SIZE - 4, sizeof(seen));
		ASSERT_EQ(word, seen);
		ibv_unimport_dm(import[i]);
	}
	LOOK();
	ASSERT_NO_DM();
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * IMP-13, ERRNO-DM: The kernel is asked, so wrong handles are found at the import: none,
 * of another type, of another context, of a DM that was freed.  Neither they nor
 * answers that cannot be written change a count.
 */
TEST_F(dm_share, imp_13_wrong_handles)
{
	static const uint16_t answers[] = {
		MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET,
		MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX,
		MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH,
	};
	struct vhca_object memic;
	struct ibv_context *other;
	struct raw_dm query = {};
	uint64_t length;
	struct peer peer;
	struct ibv_dm *dm;
	unsigned int i;
	uint32_t handle;

	other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, other);
	dm_alloc(self->ctx, DM_SIZE - 10, &dm);
	handle = dm->handle;
	ASSERT_NEW_MEMIC(&memic);
	peer_start(&peer);
	peer_import(&peer, self->ctx);
	LOOK();
	raw_dm_query(self->ctx->cmd_fd, handle, &query, &length);
	ASSERT_EQ((uint64_t)DM_SIZE - 10, length);
	ASSERT_EQ(memic.id % self->page_size, query.start_offset);
	ASSERT_EQ(VALUE(MMAP, OURS("kind=MEMIC"), "pgoff") & 0xffff, (int64_t)query.page_idx);

	dm_import_err(ENOENT, self->ctx, UINT32_MAX);
	dm_import_err(EINVAL, self->ctx, self->pd->handle);
	dm_import_err(ENOENT, other, handle);
	peer_dm_import_err(ENOENT, &peer, UINT32_MAX);
	peer_dm_import_err(EINVAL, &peer, self->pd->handle);
	for (i = 0; i < ARRAY_SIZE(answers); i++)
		raw_dm_query_err(EFAULT, self->ctx->cmd_fd, handle, answers[i]);
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_DM(0, 1, 0);

	dm_free(dm);
	dm_import_err(ENOENT, self->ctx, handle);
	peer_dm_import_err(ENOENT, &peer, handle);
	LOOK();
	ASSERT_NO_DM();
	peer_end(&peer);
	ASSERT_EQ(0, ibv_close_device(other));
}

/*
 * IMP-13, IMP-14, C18: Another process imports the DM.  Its mapping holds the
 * memory after the free here; its unimport is what gives it back.
 */
TEST_F(dm_share, imp_13_importer_holds_the_memory)
{
	uint32_t word = 0xfeedbeef, seen = 0;
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct peer peer;
	uint64_t token;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dm_write(dm, 128, &word, sizeof(word));

	peer_start(&peer);
	peer_import(&peer, self->ctx);
	peer_dm_import(&peer, dm->handle, &token);
	LOOK();
	ASSERT_DM(0, 2, 0);
	peer_dm_read(&peer, token, 128, &seen);
	ASSERT_EQ(word, seen);
	peer_dm_write(&peer, token, 4096, ~word);
	dm_read(&seen, dm, 4096, sizeof(seen));
	ASSERT_EQ(~word, seen);

	dm_free(dm);
	LOOK();
	ASSERT_DM_IS_MAPPED_ONLY(1);
	ASSERT_HELD_BY(1, VMA, scope_kv("ufile:%lu/mmap:%ld", self->counts.ufile,
					VALUE(MMAP, OURS("kind=MEMIC"), "pgoff")));
	ASSERT_MEMIC_FREED(0, &memic);
	peer_dm_read(&peer, token, 4096, &seen);
	ASSERT_EQ(~word, seen);
	peer_dm_unimport(&peer, token);
	LOOK();
	ASSERT_NO_DM();
	ASSERT_MEMIC_FREED(1, &memic);
	peer_close(&peer);
	peer_end(&peer);
}

/*
 * IMP-14, C18: The importer frees.  The exporter's mapping holds the memory, and
 * gives it back by unimporting what it did not import: its own free fails with
 * ENOENT and leaves the mapping (L17, where that is not fixed).
 */
TEST_F(dm_share, imp_14_importer_frees)
{
	struct known_issue issue;
	uint32_t word = 0xc0ffee11, seen = 0;
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct peer peer;
	uint64_t token;

	ASSERT_EQ(0, known_issue("L17", &issue));
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	peer_start(&peer);
	peer_import(&peer, self->ctx);
	peer_dm_import(&peer, dm->handle, &token);
	peer_dm_free(&peer, token);
	LOOK();
	ASSERT_DM_IS_MAPPED_ONLY(1);
	ASSERT_MEMIC_FREED(0, &memic);
	dm_write(dm, 0, &word, sizeof(word));
	dm_read(&seen, dm, 0, sizeof(seen));
	ASSERT_EQ(word, seen);

	dm_free_err(ENOENT, dm);
	dm_import_err(ENOENT, self->ctx, dm->handle);
	LOOK();
	if (issue.state == KNOWN_FIXED) {
		ASSERT_NO_DM();
	} else {
		ASSERT_UNCHANGED();
		ASSERT_MEMIC_FREED(0, &memic);
	}
	ibv_unimport_dm(dm);
	LOOK();
	ASSERT_NO_DM();
	ASSERT_MEMIC_FREED(1, &memic);
	peer_end(&peer);
}

/*
 * IMP-14, IMP-08: What got the handle of the freed DM is another DM: the importer's
 * second free takes that one away.  Its mapping keeps the memory, as always.
 */
TEST_F(dm_share, imp_14_stale_import_frees_the_successor)
{
	struct known_issue issue;
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct peer peer;
	uint64_t token;
	uint32_t handle;
	bool stays;

	ASSERT_EQ(0, known_issue("L17", &issue));
	stays = issue.state != KNOWN_FIXED;
	peer_start(&peer);
	peer_import(&peer, self->ctx);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	handle = dm->handle;
	peer_dm_import(&peer, handle, &token);
	dm_free(dm);
	peer_dm_free_err(ENOENT, &peer, token);
	LOOK();
	/* That free left the peer's mapping. */
	if (stays)
		ASSERT_DM_IS_MAPPED_ONLY(1);
	else
		ASSERT_NO_DM();

	self->seq = vhca_seq(&self->bed.dev);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_EQ(handle, dm->handle);
	ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "memic", self->seq, &memic));
	LOOK();
	ASSERT_COUNT(1 + stays, MMAP, OURS("kind=MEMIC"));
	ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 state=live");
	peer_dm_free(&peer, token);
	LOOK();
	ASSERT_DM_IS_MAPPED_ONLY(1);
	ASSERT_MEMIC_FREED(0, &memic);
	dm_free_err(ENOENT, dm);
	ibv_unimport_dm(dm);
	LOOK();
	ASSERT_NO_DM();
	ASSERT_MEMIC_FREED(1, &memic);
	peer_end(&peer);
}

/*
 * DM-04, DM-03: A region on the DM counts on the one DM that there is, whoever
 * registered it and through which import; whoever frees gets EBUSY.
 */
TEST_F(dm_share, dm_04_region_counts_for_everybody)
{
	uint64_t token, there;
	struct vhca_object memic;
	struct ibv_dm *dm, *import;
	struct ibv_mr *mr[2];
	struct peer peer;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dm_import(self->ctx, dm->handle, &import);
	peer_start(&peer);
	peer_import(&peer, self->ctx);
	peer_dm_import(&peer, dm->handle, &token);
	mr_reg_dm(self->pd, dm, 0, DM_SIZE, &mr[0]);
	mr_reg_dm(self->pd, import, 4096, 4096, &mr[1]);
	peer_dm_reg(&peer, token, DM_SIZE, &there);
	LOOK();
	ASSERT_DM(3, 3, 0);
	ASSERT_COUNT(3, UOBJ, OURS("type=MR ref=2 usecnt=0 state=live"));
	ASSERT_LEDGER(3, "mkey");

	peer_dm_free_err(EBUSY, &peer, token);
	dm_free_err(EBUSY, dm);
	dm_free_err(EBUSY, import);
	LOOK();
	ASSERT_UNCHANGED();
	mr_dereg(mr[0]);
	dm_free_err(EBUSY, dm);
	mr_dereg(mr[1]);
	dm_free_err(EBUSY, dm);
	LOOK();
	ASSERT_DM(1, 3, 0);
	peer_mr_dereg(&peer, there);
	LOOK();
	ASSERT_DM(0, 3, 0);
	ASSERT_LEDGER(0, "mkey");
	ASSERT_MEMIC_FREED(0, &memic);
	dm_free(dm);
	LOOK();
	ASSERT_DM_IS_MAPPED_ONLY(2);
	ibv_unimport_dm(import);
	LOOK();
	ASSERT_DM_IS_MAPPED_ONLY(1);
	peer_end(&peer);
	LOOK();
	ASSERT_NO_DM();
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * DM-04, IMP-05: The process that registered a region is killed.  The region belongs
 * to the shared ufile: it stays and counts, and another process that has the ufile
 * can deregister it.
 */
TEST_F(dm_share, dm_04_region_outlives_its_process)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct peer peer;
	uint64_t token, there;
	int64_t handle;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	peer_start(&peer);
	peer_import(&peer, self->ctx);
	peer_dm_import(&peer, dm->handle, &token);
	peer_dm_reg(&peer, token, DM_SIZE, &there);
	LOOK();
	handle = VALUE(UOBJ, OURS("type=MR"), "handle");
	ASSERT_DM(1, 2, 0);
	peer_kill(&peer);
	LOOK();
	ASSERT_NONE(FD, OURS("pid=%d", peer.pid));
	ASSERT_DM(1, 1, 0);
	ASSERT_ONE(UOBJ, OURS("type=MR handle=%ld", handle), "ref=2 usecnt=0 state=live");
	ASSERT_LEDGER(1, "mkey");
	dm_free_err(EBUSY, dm);

	raw_mr_dereg_err(EINVAL, self->ctx->cmd_fd, dm->handle);
	raw_mr_dereg_err(ENOENT, self->ctx->cmd_fd, UINT32_MAX);
	raw_mr_dereg(self->ctx->cmd_fd, handle);
	LOOK();
	ASSERT_DM(0, 1, 0);
	ASSERT_LEDGER(0, "mkey");
	dm_free(dm);
	LOOK();
	ASSERT_NO_DM();
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * DM-03, ERRNO-DM: A DM and a PD of two contexts: the DM's handle is looked for in
 * the PD's ufile, where it is none, or something else.
 */
TEST_F(dm_share, errno_dm_foreign_context)
{
	struct ibv_context *other;
	struct vhca_object memic;
	struct ibv_dm *dm, *own;
	struct ibv_pd *pd;
	uint64_t ufile;

	other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, other);
	pd = ibv_alloc_pd(other);
	ASSERT_NE(NULL, pd);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	LOOK();
	ufile = scope_ufile(&self->counts.scope, getpid(), other->cmd_fd);
	mr_reg_dm_err(ENOENT, pd, dm, 0, DM_SIZE);
	raw_dm_free_err(ENOENT, other->cmd_fd, dm->handle);
	raw_dm_map_op_err(ENOENT, other->cmd_fd, dm->handle, 0, 0);
	raw_dm_free_err(EINVAL, other->cmd_fd, pd->handle);
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_DM(0, 1, 0);
	ASSERT_LEDGER(0, "mkey");

	/* With a DM of the same handle there it is that one that is freed. */
	dm_alloc(other, DM_SIZE, &own);
	ASSERT_EQ(dm->handle, own->handle);
	raw_dm_free(other->cmd_fd, dm->handle);
	LOOK();
	ASSERT_DM(0, 1, 0);
	ASSERT_ONE(MMAP, THEIRS(ufile, "kind=MEMIC"), "ref=1 vmas=1 driver_removed=1");
	ibv_unimport_dm(own);
	ASSERT_MEMIC_FREED(0, &memic);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
	ASSERT_EQ(0, ibv_close_device(other));
	dm_free(dm);
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * IMP-15, DM-18: The importer exports the DM: the dma-buf is one of the shared ufile,
 * and the free here revokes it there.
 */
TEST_F(dm_share, imp_15_dmabuf_of_the_importer)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct peer peer;
	uint64_t token;
	int there;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	peer_start(&peer);
	peer_import(&peer, self->ctx);
	peer_dm_import(&peer, dm->handle, &token);
	peer_dm_export(&peer, token, &there);
	LOOK();
	ASSERT_DM(0, 2, 1);
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=2 usecnt=0 file_ref=1 kref=1 revoked=0");
	ASSERT_ONE(FD, OURS("kind=dmabuf"), scope_kv("pid=%d fd=%d", peer.pid, there));

	dm_free(dm);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=DM"));
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=2 vmas=1 dmabufs=0 driver_removed=1");
	ASSERT_MEMIC_FREED(0, &memic);
	peer_dm_unimport(&peer, token);
	LOOK();
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=1 vmas=0 dmabufs=0 driver_removed=1");
	ASSERT_MEMIC_FREED(0, &memic);
	peer_close_fd(&peer, there);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=DMABUF"));
	ASSERT_NO_DM();
	ASSERT_MEMIC_FREED(1, &memic);
	peer_end(&peer);
}

/*
 * DM-07, DM-08, IMP-14: An operation that the importer has mapped holds the memory
 * after both have let go of the DM itself.
 */
TEST_F(dm_share, dm_08_operation_of_the_importer)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct peer peer;
	uint64_t token, addr;
	void *op;

	if (!(self->bed.dev.info.memic_operations & 1))
		SKIP(return, "the device has no MEMIC operation 0");
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	peer_start(&peer);
	peer_import(&peer, self->ctx);
	peer_dm_import(&peer, dm->handle, &token);
	peer_dm_map_op(&peer, token, 0, &addr);
	dm_map_op(dm, 0, &op);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 usecnt=0 dm_ref=2 ops=1");
	ASSERT_ONE(MMAP, OURS("kind=MEMIC_OP"), "op=0 ref=3 vmas=2 driver_removed=0");
	ASSERT_EQ(1, vhca_count_since(&self->bed.dev, self->seq, VHCA_MODIFY_MEMIC, VHCA_ANY));

	dm_free(dm);
	peer_dm_unimport(&peer, token);
	dm_unmap_op(op, DM_SIZE);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=DM"));
	ASSERT_NONE(MMAP, OURS("kind=MEMIC"));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC_OP"), "ref=1 vmas=1 driver_removed=1 dm_ref=1 ops=0");
	ASSERT_MEMIC_FREED(0, &memic);
	peer_kill(&peer);
	LOOK();
	ASSERT_NONE(MMAP, OURS("kind=MEMIC_OP"));
	ASSERT_NO_DM();
	ASSERT_LEDGER(0, "memic_operation");
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * DM-16, IMP-05: The importer is killed, and its mapping goes with it: the device
 * gets back what had been freed, or the DM has one mapping less.
 */
TEST_F(dm_share, dm_16_sigkill_of_an_importer)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct peer peer;
	uint64_t token;
	int freed;

	for (freed = 0; freed < 2; freed++) {
		self->seq = vhca_seq(&self->bed.dev);
		dm_alloc(self->ctx, DM_SIZE, &dm);
		ASSERT_NEW_MEMIC(&memic);
		peer_start(&peer);
		peer_import(&peer, self->ctx);
		peer_dm_import(&peer, dm->handle, &token);
		if (freed)
			dm_free(dm);
		LOOK();
		ASSERT_MEMIC_FREED(0, &memic);
		ASSERT_ONE(MMAP, OURS("kind=MEMIC"),
			   scope_kv("ref=%d vmas=%d driver_removed=%d", freed ? 1 : 3,
				    freed ? 1 : 2, freed));
		peer_kill(&peer);
		LOOK();
		ASSERT_NONE(VMA, OURS("pid=%d", peer.pid));
		ASSERT_MEMIC_FREED(freed, &memic);
		if (freed)
			continue;
		ASSERT_DM(0, 1, 0);
		dm_free(dm);
	}
	LOOK();
	ASSERT_NO_DM();
}

/*
 * The exporter is the peer here, so that it can go first.
 */
FIXTURE(dm_exporter)
{
	struct bed bed;
	struct ibv_context *ctx;
	struct kernel_counts counts;
	struct peer peer;
	uint64_t token;
	uint32_t handle;
	int64_t seq;
};

FIXTURE_VARIANT(dm_exporter)
{
	int (*end)(struct peer *peer);
};

/* It exits without freeing, unmapping or closing anything. */
FIXTURE_VARIANT_ADD(dm_exporter, exits)
{
	.end = _peer_end,
};

FIXTURE_VARIANT_ADD(dm_exporter, killed)
{
	.end = _peer_kill,
};

FIXTURE_SETUP(dm_exporter)
{
	if (!bed_make(_metadata, &self->bed, true) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	if (self->bed.dev.info.memic.size < DM_NEEDED) {
		bed_mark(_metadata, "end");
		SKIP(return, "less than %d bytes of MEMIC: load mlx5_vhca with a larger memic_size",
		     DM_NEEDED);
	}
	self->seq = vhca_seq(&self->bed.dev);
	ASSERT_LE(0, self->seq);
	peer_start(&self->peer);
	peer_open(&self->peer, self->bed.dev.name);
	peer_dm_alloc(&self->peer, DM_SIZE, &self->token, &self->handle);
	peer_lend(&self->peer, &self->ctx);
	counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
}

FIXTURE_TEARDOWN(dm_exporter)
{
	if (self->ctx)
		EXPECT_EQ(0, ibv_close_device(self->ctx));
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

/*
 * IMP-04, IMP-13: The exporter is gone, and its mapping with it.  The DM is still
 * there, with what was written to it, and can be imported, registered and freed.
 */
TEST_F(dm_exporter, imp_04_goes_first)
{
	const uint32_t word = 0xabad1dea;
	struct vhca_object memic;
	uint32_t seen = 0;
	struct ibv_dm *dm;
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	ASSERT_NEW_MEMIC(&memic);
	peer_dm_write(&self->peer, self->token, 64, word);
	ASSERT_DM(0, 1, 0);
	ASSERT_EQ(0, variant->end(&self->peer));
	LOOK();
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=2 state=live file_open=1");
	ASSERT_DM(0, 0, 0);
	ASSERT_MEMIC_FREED(0, &memic);

	dm_import(self->ctx, self->handle, &dm);
	LOOK();
	ASSERT_DM(0, 1, 0);
	dm_read(&seen, dm, 64, sizeof(seen));
	ASSERT_EQ(word, seen);
	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	mr_reg_dm(pd, dm, 0, DM_SIZE, &mr);
	dm_free_err(EBUSY, dm);
	LOOK();
	ASSERT_DM(1, 1, 0);
	mr_dereg(mr);
	dm_free(dm);
	LOOK();
	ASSERT_NO_DM();
	ASSERT_MEMIC_FREED(1, &memic);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
}

/*
 * IMP-04, DM-16: Nobody frees.  The importer's mapping keeps everything, until it is
 * unimported behind the closed context.
 */
TEST_F(dm_exporter, imp_04_only_a_mapping_is_left)
{
	struct mlx5dv_dm dv = {};
	struct vhca_object memic;
	struct mlx5dv_obj obj;
	struct ibv_dm *dm;

	ASSERT_NEW_MEMIC(&memic);
	dm_import(self->ctx, self->handle, &dm);
	obj = (struct mlx5dv_obj){ .dm = { .in = dm, .out = &dv } };
	ASSERT_EQ(0, mlx5dv_init_obj(&obj, MLX5DV_OBJ_DM));
	ASSERT_EQ(0, variant->end(&self->peer));
	ASSERT_EQ(0, ibv_close_device(self->ctx));
	self->ctx = NULL;
	LOOK();
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=1 state=live file_open=1 umaps=1");
	ASSERT_NONE(FD, OURS(""));
	ASSERT_DM(0, 1, 0);
	ASSERT_UNEXPLAINED(0, scope_kv("ufile:%lu", self->counts.ufile));
	ASSERT_MEMIC_FREED(0, &memic);
	dm_unmap_op(dv.buf, DM_SIZE);
	LOOK();
	ASSERT_NONE(UFILE, OUR_UFILE);
	ASSERT_NO_DM();
	ASSERT_MEMIC_FREED(1, &memic);
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
