// SPDX-License-Identifier: GPL-2.0
/*
 * Lifetime of device memory (DM) that is MEMIC, of its operations and of memory
 * regions on it.
 *
 * A DM is a uobject, an mmap entry and a piece of MEMIC.  Firmware is told to
 * allocate and to free the latter, so the device's ledger is one witness; the
 * kernel's counts are the other: what holds the entry (the DM, each mapping, each
 * dma-buf), what holds the MEMIC (its entry, and that of each operation) and what
 * makes a free fail (the regions).  What matters most is the moment of
 * DEALLOC_MEMIC: after the last user is gone, and once.
 *
 * The library frees first and unmaps then, so every ibv_free_dm() is one of a mapped
 * DM.  A test that looks in between frees by ioctl, and unmaps by ibv_unimport_dm().
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/dm_ops.h"
#include "common/kernel_counts.h"
#include "common/kernel_signs.h"
#include "common/known_issues.h"
#include "common/memic_counts.h"
#include "common/uverbs_ioctl.h"
#include "common/var_ops.h"

#define DM_SIZE	8192

/* Several of them must fit. */
#define DM_NEEDED	(8 * DM_SIZE)

FIXTURE(dm)
{
	struct bed bed;
	struct ibv_context *ctx;
	struct kernel_counts counts;
	struct ibv_pd *pd;
	int64_t seq;
	uint64_t bar;
	size_t page_size;
};

FIXTURE_SETUP(dm)
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
	self->bar = device_bar(&self->bed.dev);
	ASSERT_NE(0UL, self->bar);
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	self->pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, self->pd);
	self->seq = vhca_seq(&self->bed.dev);
	ASSERT_LE(0, self->seq);
	counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
}

FIXTURE_TEARDOWN(dm)
{
	/* Also of a test that failed with a rule still there. */
	EXPECT_EQ(0, vhca_write(&self->bed.dev, "faults", "clear\n"));
	if (self->ctx) {
		EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
		EXPECT_EQ(0, ibv_close_device(self->ctx));
	}
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

/* Number of the last such command since the set-up. */
#define LAST(opcode, object) \
	vhca_last_since(&self->bed.dev, self->seq, opcode, object)

/* By the last snapshot the only DM is at rest, with so many regions and operations. */
#define ASSERT_DM(regions, operations) \
do { \
	const int __regions = (regions); \
	const int __ops = (operations); \
	ASSERT_ONE(UOBJ, OURS("type=DM"), \
		   scope_kv("ref=2 usecnt=0 state=live class=idr dm_users=%d dm_ref=%d ops=%d", \
			    __regions, 1 + __ops, __ops)); \
	ASSERT_ENTRY_OF(OURS("kind=MEMIC"), UOBJ, OURS("type=DM")); \
} while (0)

/* The memory's entry: one reference of the DM, if it is not freed, and of each user. */
#define ASSERT_ENTRY(freed, mappings, exports) \
do { \
	const int __freed = (freed); \
	const int __vmas = (mappings); \
	const int __dmabufs = (exports); \
	/* A free takes all dma-bufs off the list, and each keeps its reference. */ \
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), \
		   scope_kv("ref=%d vmas=%d dmabufs=%d driver_removed=%d", \
			    !__freed + __vmas + __dmabufs, __vmas, \
			    __freed ? 0 : __dmabufs, __freed)); \
} while (0)

/* Nothing of any DM is left, and no page of MEMIC is taken. */
#define ASSERT_NO_DM() \
do { \
	ASSERT_NONE(UOBJ, OURS("type=DM")); \
	ASSERT_NONE(MMAP, OURS("kind=MEMIC")); \
	ASSERT_NONE(MMAP, OURS("kind=MEMIC_OP")); \
	ASSERT_DEVICE(0, "memic_pages_used"); \
	ASSERT_LEDGER(0, "memic"); \
	ASSERT_LEDGER(0, "memic_operation"); \
} while (0)

/* Skip a test of operations that the device does not have, as bed_lacks_vars() does. */
static bool lacks_operations(struct __test_metadata *_metadata, const struct bed *bed,
			     uint64_t mask)
{
	if ((bed->dev.info.memic_operations & mask) == mask)
		return false;
	SKIP(return true, "the device lacks MEMIC operations of mask 0x%lx", mask);
}

/*
 * DM-01: A DM has a uobject at rest, one reference to its MEMIC, and to its entry
 * one of its own and one of the mapping that the library makes.  The device is told
 * once, of as many bytes as were asked for rounded up to 64; pages are taken whole.
 */
TEST_F(dm, dm_01_alloc)
{
	static const size_t lengths[][3] = {
		/* asked for, bytes, pages */
		{ 1, 64, 1 }, { 64, 64, 1 }, { 100, 128, 1 }, { 4096, 4096, 1 },
		{ 4097, 4160, 2 }, { DM_SIZE, DM_SIZE, 2 },
	};
	struct vhca_object memic;
	struct ibv_dm *dm;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		self->seq = vhca_seq(&self->bed.dev);
		dm_alloc(self->ctx, lengths[i][0], &dm);
		ASSERT_NEW_MEMIC(&memic);
		ASSERT_EQ(lengths[i][1], memic.size);
		LOOK();
		ASSERT_DM(0, 0);
		ASSERT_ENTRY(0, 1, 0);
		ASSERT_ONE(UOBJ, OURS("type=DM handle=%u", dm->handle),
			   scope_kv("dm_type=memic length=%lu dm_size=%lu dev_addr=%lu",
				    lengths[i][0], lengths[i][1], self->bar + memic.id));
		ASSERT_ONE(MMAP, OURS("kind=MEMIC"),
			   scope_kv("npages=%lu addr=%lu", lengths[i][2],
				    (self->bar + memic.id) & -self->page_size));
		ASSERT_DEVICE((int)lengths[i][2], "memic_pages_used");
		ASSERT_ONE(UFILE, OUR_UFILE,
			   scope_kv("ref=2 uobjects=%d", self->counts.uobjects + 1));
		ASSERT_UNEXPLAINED(0, scope_kv("ufile:%lu/DM", self->counts.ufile));
		dm_free(dm);
		LOOK();
		ASSERT_NO_DM();
		ASSERT_MEMIC_FREED(1, &memic);
	}
}

/*
 * DM-01: What is copied in is what the device sees at that place, and what is copied
 * out.
 */
TEST_F(dm, dm_01_copy)
{
	uint8_t in[DM_SIZE], out[DM_SIZE], seen[DM_SIZE];
	struct vhca_object memic;
	struct ibv_dm *dm;
	int i;

	for (i = 0; i < DM_SIZE; i++)
		in[i] = i * 7 + i / 256;
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dm_write(dm, 0, in, DM_SIZE);
	ASSERT_EQ(0, vhca_memory(&self->bed.dev, "memic",
				 memic.id - self->bed.dev.info.memic.offset, seen, DM_SIZE));
	ASSERT_EQ(0, memcmp(in, seen, DM_SIZE));
	dm_read(out, dm, 0, DM_SIZE);
	ASSERT_EQ(0, memcmp(in, out, DM_SIZE));
	dm_free(dm);
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * DM-02: The free ends the uobject, and that the DM can be mapped; the mapping keeps
 * the memory, and the device is not told before it has gone.  No part of the page is
 * anybody else's meanwhile.
 */
TEST_F(dm, dm_02_free_while_mapped)
{
	struct vhca_object memic, second;
	uint32_t word = 0xdecade01, seen = 0;
	struct ibv_dm *dm, *other;
	int64_t handle, pgoff;
	uint32_t *map;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	LOOK();
	handle = VALUE(UOBJ, OURS("type=DM"), "handle");
	pgoff = VALUE(MMAP, OURS("kind=MEMIC"), "pgoff");
	raw_dm_free(self->ctx->cmd_fd, dm->handle);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=DM"));
	ASSERT_ENTRY(1, 1, 0);
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "dm_ref=1 dm_users=0 ops=0");
	ASSERT_DEVICE(DM_SIZE / 4096, "memic_pages_used");
	ASSERT_MEMIC_FREED(0, &memic);
	ASSERT_HELD_BY(1, VMA, scope_kv("ufile:%lu/mmap:%ld", self->counts.ufile, pgoff));
	dm_write(dm, 0, &word, sizeof(word));
	dm_read(&seen, dm, 0, sizeof(seen));
	ASSERT_EQ(word, seen);

	/* Neither handle nor offset lead to it. */
	raw_dm_free_err(ENOENT, self->ctx->cmd_fd, handle);
	raw_dm_query_err(ENOENT, self->ctx->cmd_fd, handle, 0);
	ASSERT_EQ(EINVAL, _map(self->ctx, DM_SIZE, MAP_SHARED, raw_dm_off(pgoff), &map));
	raw_dmabuf_export_err(EINVAL, self->ctx->cmd_fd, raw_dm_off(pgoff));
	/* The handle is given out again, pages and offset are not. */
	dm_alloc(self->ctx, DM_SIZE, &other);
	ASSERT_EQ(handle, (int64_t)other->handle);
	ASSERT_EQ(2, vhca_find_new(&self->bed.dev, "memic", self->seq, &second));
	ASSERT_NE(memic.id, second.id);
	LOOK();
	ASSERT_COUNT(2, MMAP, OURS("kind=MEMIC"));
	ASSERT_COUNT(1, MMAP, OURS("kind=MEMIC pgoff=%ld driver_removed=1", pgoff));
	dm_free(other);

	ibv_unimport_dm(dm);
	LOOK();
	ASSERT_NO_DM();
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * DM-02: A child has a mapping of its own, if fork() copies it, and with it a
 * reference: the memory stays until the child is gone too.
 */
TEST_F(dm, dm_02_child_keeps_the_memory)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct peer child;
	int64_t vmas;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	peer_fork(&child);
	LOOK();
	vmas = VALUE(MMAP, OURS("kind=MEMIC"), "vmas");
	ASSERT_EQ(2, vmas);
	ASSERT_ENTRY(0, 2, 0);
	ASSERT_DM(0, 0);
	dm_free(dm);
	LOOK();
	ASSERT_ENTRY(1, 1, 0);
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "dm_ref=1");
	ASSERT_MEMIC_FREED(0, &memic);
	peer_kill(&child);
	LOOK();
	ASSERT_NO_DM();
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * DM-03, DM-06, DM-19, C15: A region makes a free fail with EBUSY, and the failed
 * free changes nothing: counts, memory, mapping and region are as before.  Each
 * region counts.  In the end the device is told to destroy the mkeys before it is
 * told to free what they translate to.  (That the driver does not unmap for DMA what
 * a region on device memory never had is for a kernel with CONFIG_DMA_API_DEBUG to
 * say, in its log.)
 */
TEST_F(dm, dm_03_free_with_a_region_is_busy)
{
	uint32_t word = 0x600df00d, back = 0;
	struct vhca_object memic, mkey[2];
	struct ibv_mr *mr[2];
	struct ibv_dm *dm;
	int64_t users;
	int i;

	LOOK();
	users = VALUE(UOBJ, OURS("type=PD"), "users");
	ASSERT_NE(SCOPE_NOTHING, users);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	for (i = 0; i < 2; i++) {
		mr_reg_dm(self->pd, dm, i * 4096, 4096, &mr[i]);
		ASSERT_EQ(1, vhca_find(&self->bed.dev, "mkey", mr_mkey(mr[i]), &mkey[i]));
		ASSERT_EQ(0UL, mkey[i].free);
		ASSERT_STREQ("memic", mkey[i].mode);
		ASSERT_EQ(memic.id + i * 4096, mkey[i].start);
	}
	LOOK();
	ASSERT_DM(2, 0);
	ASSERT_ENTRY(0, 1, 0);
	ASSERT_ONE(UOBJ, OURS("type=PD"), scope_kv("ref=2 users=%ld", users + 2));
	ASSERT_ONE(UOBJ, OURS("type=MR handle=%u", mr[0]->handle),
		   scope_kv("ref=2 usecnt=0 lkey=%u mrlen=4096 !dmabuf_ino", mr[0]->lkey));

	for (i = 0; i < 2; i++) {
		dm_free_err(EBUSY, dm);
		raw_dm_free_err(EBUSY, self->ctx->cmd_fd, dm->handle);
		LOOK();
		ASSERT_UNCHANGED();
		ASSERT_MEMIC_FREED(0, &memic);
		ASSERT_EQ(1, vhca_find(&self->bed.dev, "mkey", mkey[i].id, NULL));
		dm_write(dm, 64, &word, sizeof(word));
		dm_read(&back, dm, 64, sizeof(back));
		ASSERT_EQ(word, back);
		mr_dereg(mr[i]);
		ASSERT_EQ(0, vhca_find(&self->bed.dev, "mkey", mkey[i].id, NULL));
		LOOK();
		ASSERT_DM(1 - i, 0);
		ASSERT_ENTRY(0, 1, 0);
		ASSERT_ONE(UOBJ, OURS("type=PD"), scope_kv("ref=2 users=%ld", users + 1 - i));
	}
	ASSERT_MEMIC_FREED(0, &memic);
	dm_free(dm);
	LOOK();
	ASSERT_NO_DM();
	ASSERT_MEMIC_FREED(1, &memic);
	for (i = 0; i < 2; i++) {
		ASSERT_LT(LAST(VHCA_ALLOC_MEMIC, memic.id), LAST(VHCA_CREATE_MKEY, mkey[i].id));
		ASSERT_LT(LAST(VHCA_CREATE_MKEY, mkey[i].id), LAST(VHCA_DESTROY_MKEY, mkey[i].id));
		ASSERT_LT(LAST(VHCA_DESTROY_MKEY, mkey[i].id), LAST(VHCA_DEALLOC_MEMIC, memic.id));
	}
}

/*
 * C15: What makes a free fail is a region, and nothing else: not a mapping, not one
 * of an operation, not a dma-buf, and not a region on that dma-buf.
 */
TEST_F(dm, c15_what_a_free_does_not_wait_for)
{
	struct vhca_object memic;
	struct ibv_mr *mr;
	struct ibv_dm *dm;
	void *op = NULL;
	int fd;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dmabuf_export(dm, &fd);
	mr_reg_dmabuf(self->pd, 0, DM_SIZE, fd, &mr);
	if (self->bed.dev.info.memic_operations & 1)
		dm_map_op(dm, 0, &op);
	LOOK();
	ASSERT_DM(0, !!op);
	ASSERT_ENTRY(0, 1, 1);
	dm_free(dm);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=DM"));
	ASSERT_ENTRY(1, 0, 1);
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "revoked=1 kref=0 file_ref=2");
	ASSERT_MEMIC_FREED(0, &memic);
	if (op)
		dm_unmap_op(op, DM_SIZE);
	mr_dereg(mr);
	ASSERT_MEMIC_FREED(0, &memic);
	ASSERT_EQ(0, close(fd));
	LOOK();
	ASSERT_NO_DM();
	ASSERT_MEMIC_FREED(1, &memic);
}

/* ibv_reg_dm_mr() with any access rights. */
static int reg_with(struct ibv_pd *pd, struct ibv_dm *dm, unsigned int access)
{
	struct ibv_mr *mr = ibv_reg_dm_mr(pd, dm, 0, DM_SIZE, access);

	return mr ? 0 : errno;
}

/*
 * DM-05: A registration that fails leaves no count behind that would make the free
 * fail, whether the kernel or the device refuses it.
 */
TEST_F(dm, dm_05_failed_region_does_not_count)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct ibv_mr *mr;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	LOOK();
	mr_reg_dm_err(EINVAL, self->pd, dm, DM_SIZE, DM_SIZE);
	mr_reg_dm_err(EINVAL, self->pd, dm, DM_SIZE + 4, 4);
	mr_reg_dm_err(EINVAL, self->pd, dm, 0, DM_SIZE + 1);
	mr_reg_dm_err(EINVAL, self->pd, dm, UINT64_MAX - 3, 8);
	ASSERT_EQ(EINVAL, reg_with(self->pd, dm, IBV_ACCESS_LOCAL_WRITE));
	ASSERT_EQ(EINVAL, reg_with(self->pd, dm, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_WRITE));
	ASSERT_EQ(EINVAL, reg_with(self->pd, dm, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND));
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_LEDGER(0, "mkey");

	marker_expect("mlx5_core .*: mlx5_cmd_out_err:.*CREATE_MKEY.* status limits exceeded");
	/* All of them: the driver's pool of mkeys may make one at any time. */
	ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults",
				"opcode=CREATE_MKEY count=all status=limits_exceeded\n"));
	mr_reg_dm_err(ENOMEM, self->pd, dm, 0, DM_SIZE);
	ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults", "clear\n"));
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_LEDGER(0, "mkey");

	mr_reg_dm(self->pd, dm, 0, DM_SIZE, &mr);
	LOOK();
	ASSERT_DM(1, 0);
	mr_dereg(mr);
	dm_free(dm);
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * DM-05: The device does not let go of the mkey, so the deregistration fails.  The
 * region goes on to count, and a free to fail.
 */
TEST_F(dm, dm_05_region_that_cannot_go_counts)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	int err;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	mr_reg_dm(self->pd, dm, 0, DM_SIZE, &mr);
	marker_expect("mlx5_core .*: mlx5_cmd_out_err:.*DESTROY_MKEY.* status bad resource state");
	ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults",
				"opcode=DESTROY_MKEY count=all status=bad_resource_state\n"));
	err = _raw_mr_dereg(self->ctx->cmd_fd, mr->handle);
	ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults", "clear\n"));
	ASSERT_EQ(EINVAL, err);
	LOOK();
	ASSERT_DM(1, 0);
	ASSERT_ONE(UOBJ, OURS("type=MR"), "ref=2 usecnt=0 state=live");
	dm_free_err(EBUSY, dm);
	ASSERT_EQ(1, vhca_find(&self->bed.dev, "mkey", mr_mkey(mr), NULL));

	mr_dereg(mr);
	LOOK();
	ASSERT_DM(0, 0);
	ASSERT_NONE(UOBJ, OURS("type=MR"));
	dm_free(dm);
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * DM-07: The first mapping of an operation makes it in the device, and an entry for
 * it, which holds the MEMIC.  A second one is another mapping of the same entry, and
 * no news to the device.  Another operation is another entry.
 */
TEST_F(dm, dm_07_operation_is_made_once)
{
	struct vhca_object memic, operation;
	void *first, *second, *other;
	struct ibv_dm *dm;

	if (lacks_operations(_metadata, &self->bed, 3))
		return;
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dm_map_op(dm, 0, &first);
	ASSERT_COMMANDS(1, VHCA_MODIFY_MEMIC);
	ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "memic_operation", self->seq, &operation));
	ASSERT_EQ(memic.id, operation.memic);
	ASSERT_EQ(0UL, operation.operation);
	LOOK();
	ASSERT_DM(0, 1);
	ASSERT_ENTRY(0, 1, 0);
	ASSERT_ONE(MMAP, OURS("kind=MEMIC_OP"),
		   scope_kv("op=0 ref=2 vmas=1 dmabufs=0 driver_removed=0 npages=%lu addr=%lu",
			    DM_SIZE / self->page_size,
			    (self->bar + operation.id) & -self->page_size));
	ASSERT_UNEXPLAINED(0, scope_kv("ufile:%lu/DM", self->counts.ufile));

	dm_map_op(dm, 0, &second);
	ASSERT_NE(first, second);
	ASSERT_COMMANDS(1, VHCA_MODIFY_MEMIC);
	LOOK();
	ASSERT_DM(0, 1);
	ASSERT_ONE(MMAP, OURS("kind=MEMIC_OP"), "op=0 ref=3 vmas=2 driver_removed=0");
	ASSERT_LEDGER(1, "memic_operation");

	dm_map_op(dm, 1, &other);
	ASSERT_COMMANDS(2, VHCA_MODIFY_MEMIC);
	LOOK();
	ASSERT_DM(0, 2);
	ASSERT_ONE(MMAP, OURS("kind=MEMIC_OP op=1"), "ref=2 vmas=1 driver_removed=0");
	ASSERT_LEDGER(2, "memic_operation");

	dm_unmap_op(first, DM_SIZE);
	dm_unmap_op(second, DM_SIZE);
	dm_unmap_op(other, DM_SIZE);
	/* The DM itself keeps its operations, mapped or not. */
	LOOK();
	ASSERT_DM(0, 2);
	ASSERT_COUNT(2, MMAP, OURS("kind=MEMIC_OP ref=1 vmas=0 driver_removed=0"));
	ASSERT_LEDGER(2, "memic_operation");
	ASSERT_COMMANDS(2, VHCA_MODIFY_MEMIC);
	dm_free(dm);
	LOOK();
	ASSERT_NO_DM();
	ASSERT_MEMIC_FREED(1, &memic);
	ASSERT_COMMANDS(4, VHCA_MODIFY_MEMIC);
}

/* DM_ALLOC or DM_MAP_OP_ADDR without the attribute for the page index, which is optional. */
static int alloc_without_index(int fd, uint64_t length)
{
	const uint32_t alignment = 0;
	uint64_t start;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(UVERBS_ATTR_ALLOC_DM_HANDLE, 0),
		uverbs_in(UVERBS_ATTR_ALLOC_DM_LENGTH, &length, sizeof(length)),
		uverbs_in(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, &alignment, sizeof(alignment)),
		uverbs_out(MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, &start, sizeof(start)),
	};

	return uverbs_ioctl(fd, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, attr, 4);
}

static int map_op_without_index(int fd, uint32_t handle, uint8_t op)
{
	uint64_t start;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE, handle),
		uverbs_in(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, &op, sizeof(op)),
		uverbs_out(MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET, &start,
			   sizeof(start)),
	};

	return uverbs_ioctl(fd, UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_MAP_OP_ADDR, attr, 3);
}

/*
 * DM-07b, ERRNO-DM: Without the attribute for the page index, which is declared as
 * optional, neither call can succeed: both fail with ENOENT, and give back to the
 * device what they had of it.  (With the operation mapped already the second one
 * gives back what is in use: that is L24, and program known has it.)  Where L24 is fixed
 * the operation is made, once.
 */
TEST_F(dm, dm_07b_without_a_page_index)
{
	struct known_issue issue;
	struct vhca_object memic;
	struct ibv_dm *dm;
	int i;

	ASSERT_EQ(0, known_issue("L24", &issue));
	if (lacks_operations(_metadata, &self->bed, 1))
		return;
	LOOK();
	ASSERT_EQ(ENOENT, alloc_without_index(self->ctx->cmd_fd, DM_SIZE));
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_COMMANDS(1, VHCA_ALLOC_MEMIC);
	ASSERT_COMMANDS(1, VHCA_DEALLOC_MEMIC);
	ASSERT_NO_DM();

	self->seq = vhca_seq(&self->bed.dev);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	LOOK();
	if (issue.state == KNOWN_FIXED) {
		for (i = 0; i < 2; i++) {
			ASSERT_EQ(0, map_op_without_index(self->ctx->cmd_fd, dm->handle, 0));
			LOOK();
			ASSERT_DM(0, 1);
			ASSERT_COMMANDS(1, VHCA_MODIFY_MEMIC);
			ASSERT_LEDGER(1, "memic_operation");
		}
	} else {
		ASSERT_EQ(ENOENT, map_op_without_index(self->ctx->cmd_fd, dm->handle, 0));
		LOOK();
		ASSERT_UNCHANGED();
		ASSERT_COMMANDS(2, VHCA_MODIFY_MEMIC);
	}
	dm_free(dm);
	ASSERT_LEDGER(0, "memic_operation");
	ASSERT_MEMIC_FREED(1, &memic);
}

/* The device was told to give back each operation before the memory it belongs to. */
static bool operations_went_first(const struct device *dev, int64_t seq, int operations)
{
	struct vhca_history history;
	bool first = false;
	unsigned int i;
	int given_back = 0;

	if (vhca_since(dev, seq, &history))
		return false;
	for (i = 0; i < history.count; i++) {
		if (history.command[i].status)
			continue;
		given_back += history.command[i].opcode == VHCA_MODIFY_MEMIC &&
			      history.command[i].op_mod == VHCA_MEMIC_OPERATION_DEALLOC;
		if (history.command[i].opcode == VHCA_DEALLOC_MEMIC)
			first = given_back == operations;
	}
	vhca_forget(&history);
	return first;
}

/*
 * DM-08: The DM is freed while its memory, one operation twice and another one once
 * are mapped.  In whatever order these go, an operation is given back to the device
 * with its last mapping, and the memory with the last of all.
 */
TEST_F(dm, dm_08_free_with_operations_mapped)
{
	/* What is unmapped: the memory, or one mapping of an operation. */
	static const char * const orders[] = { "m001", "001m", "10m0" };
	struct vhca_object memic;
	int left[2], ops, memory;
	struct ibv_dm *dm;
	unsigned int i;
	void *map[2][2];
	const char *p;

	if (lacks_operations(_metadata, &self->bed, 3))
		return;
	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		self->seq = vhca_seq(&self->bed.dev);
		dm_alloc(self->ctx, DM_SIZE, &dm);
		ASSERT_NEW_MEMIC(&memic);
		dm_map_op(dm, 0, &map[0][0]);
		dm_map_op(dm, 0, &map[0][1]);
		dm_map_op(dm, 1, &map[1][0]);
		raw_dm_free(self->ctx->cmd_fd, dm->handle);
		left[0] = 2;
		left[1] = 1;
		memory = 1;
		for (p = orders[i]; ; p++) {
			ops = !!left[0] + !!left[1];
			LOOK();
			ASSERT_NONE(UOBJ, OURS("type=DM"));
			ASSERT_COUNT(memory, MMAP, OURS("kind=MEMIC"));
			ASSERT_COUNT(memory, MMAP, OURS("kind=MEMIC ref=1 vmas=1"));
			ASSERT_COUNT(memory, MMAP,
				     OURS("kind=MEMIC driver_removed=1 dm_ref=%d ops=0",
					  memory + ops));
			ASSERT_COUNT(!!left[0], MMAP, OURS("kind=MEMIC_OP op=0"));
			ASSERT_COUNT(!!left[0], MMAP,
				     OURS("op=0 ref=%d vmas=%d driver_removed=1 dm_ref=%d ops=0",
					  left[0], left[0], memory + ops));
			ASSERT_COUNT(!!left[1], MMAP, OURS("kind=MEMIC_OP op=1"));
			ASSERT_COUNT(!!left[1], MMAP,
				     OURS("op=1 ref=1 vmas=1 driver_removed=1 dm_ref=%d ops=0",
					  memory + ops));
			ASSERT_LEDGER(ops, "memic_operation");
			ASSERT_EQ(!!*p, vhca_find(&self->bed.dev, "memic", memic.id, NULL));
			ASSERT_DEVICE(*p ? DM_SIZE / 4096 : 0, "memic_pages_used");
			if (!*p)
				break;
			if (*p == 'm') {
				ibv_unimport_dm(dm);
				memory = 0;
			} else {
				left[*p - '0']--;
				dm_unmap_op(map[*p - '0'][left[*p - '0']], DM_SIZE);
			}
		}
		ASSERT_NO_DM();
		ASSERT_MEMIC_FREED(1, &memic);
		ASSERT_COMMANDS(4, VHCA_MODIFY_MEMIC);
		ASSERT_TRUE(operations_went_first(&self->bed.dev, self->seq, 2));
	}
}

/*
 * DM-08: The library's free unmaps the memory and forgets the operation, which then
 * keeps the memory for as long as the process has it mapped.
 */
TEST_F(dm, dm_08_operation_goes_before_its_memory)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	void *op;

	if (lacks_operations(_metadata, &self->bed, 1))
		return;
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dm_map_op(dm, 0, &op);
	dm_free(dm);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=DM"));
	ASSERT_NONE(MMAP, OURS("kind=MEMIC"));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC_OP"), "ref=1 vmas=1 driver_removed=1 dm_ref=1 ops=0");
	ASSERT_LEDGER(1, "memic_operation");
	ASSERT_MEMIC_FREED(0, &memic);
	ASSERT_COMMANDS(1, VHCA_MODIFY_MEMIC);

	dm_unmap_op(op, DM_SIZE);
	LOOK();
	ASSERT_NO_DM();
	ASSERT_MEMIC_FREED(1, &memic);
	ASSERT_COMMANDS(2, VHCA_MODIFY_MEMIC);
	ASSERT_TRUE(operations_went_first(&self->bed.dev, self->seq, 1));
}

/*
 * DM-09, ERRNO-DM: Operations that the device does not have, or that are none, and a
 * DM that is no more.  Nothing changes, and the device hears of none.
 */
TEST_F(dm, dm_09_unknown_operations)
{
	struct ibv_dm *dm;
	unsigned int op;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	LOOK();
	for (op = 0; op < 256; op++)
		if (op >= 32 || !(self->bed.dev.info.memic_operations & 1ULL << op))
			dm_map_op_err(EOPNOTSUPP, dm, op);
	raw_dm_map_op_err(ENOENT, self->ctx->cmd_fd, UINT32_MAX, 0, 0);
	raw_dm_map_op_err(EINVAL, self->ctx->cmd_fd, self->pd->handle, 0, 0);
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_DM(0, 0);
	raw_dm_free(self->ctx->cmd_fd, dm->handle);
	raw_dm_map_op_err(ENOENT, self->ctx->cmd_fd, dm->handle, 0, 0);
	ibv_unimport_dm(dm);
	LOOK();
	ASSERT_NO_DM();
	ASSERT_COMMANDS(0, VHCA_MODIFY_MEMIC);
}

/*
 * DM-10: Memory and operation have an offset each, and what is exported is what the
 * offset is of: the reference goes to that entry.  (Which of the two the library
 * exports once an operation is mapped is L10, and program known has it.)
 */
TEST_F(dm, dm_10_export_by_offset)
{
	int64_t memory, operation;
	struct vhca_object memic;
	struct ibv_dm *dm;
	void *op;
	int fd;

	if (lacks_operations(_metadata, &self->bed, 1))
		return;
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dm_map_op(dm, 0, &op);
	LOOK();
	memory = VALUE(MMAP, OURS("kind=MEMIC"), "pgoff");
	operation = VALUE(MMAP, OURS("kind=MEMIC_OP"), "pgoff");
	ASSERT_NE(SCOPE_NOTHING, memory);
	ASSERT_NE(SCOPE_NOTHING, operation);

	raw_dmabuf_export(self->ctx->cmd_fd, raw_dm_off(memory), &fd);
	LOOK();
	ASSERT_ENTRY(0, 1, 1);
	ASSERT_ONE(MMAP, OURS("kind=MEMIC_OP"), "ref=2 vmas=1 dmabufs=0");
	ASSERT_ENTRY_OF(OURS("kind=MEMIC"), UOBJ, OURS("type=DMABUF"));
	ASSERT_EQ(0, close(fd));

	raw_dmabuf_export(self->ctx->cmd_fd, raw_dm_off(operation), &fd);
	LOOK();
	ASSERT_ENTRY(0, 1, 0);
	ASSERT_ONE(MMAP, OURS("kind=MEMIC_OP"), "ref=3 vmas=1 dmabufs=1");
	ASSERT_ENTRY_OF(OURS("kind=MEMIC_OP"), UOBJ, OURS("type=DMABUF"));

	/* The dma-buf of the operation is the last that holds operation and memory. */
	dm_unmap_op(op, DM_SIZE);
	dm_free(dm);
	LOOK();
	ASSERT_ONE(MMAP, OURS("kind=MEMIC_OP"),
		   "ref=1 vmas=0 dmabufs=0 driver_removed=1 dm_ref=1 ops=0");
	ASSERT_LEDGER(1, "memic_operation");
	ASSERT_MEMIC_FREED(0, &memic);
	ASSERT_EQ(0, close(fd));
	LOOK();
	ASSERT_NO_DM();
	ASSERT_MEMIC_FREED(1, &memic);
	ASSERT_TRUE(operations_went_first(&self->bed.dev, self->seq, 1));
}

/*
 * DM-13: All pages of MEMIC but those in use can be had, then ENOMEM.  A DM that was
 * freed but is mapped, or whose dma-buf is open, counts as used.  Once all are freed
 * all can be had again.
 */
TEST_F(dm, dm_13_exhaustion)
{
	const int pages = self->bed.dev.info.memic.count;
	const int used = vhca_find_new(&self->bed.dev, "memic", 0, NULL);
	int round, n, err, all = 0, fd;
	struct ibv_dm **dm;

	real_device_must_allow(&self->bed.dev, "exhaustion");
	ASSERT_LE(0, used);
	dm = calloc(pages + 1, sizeof(*dm));
	ASSERT_NE(NULL, dm);
	for (round = 0; round < 2; round++) {
		for (n = 0, err = 0; n <= pages; n++) {
			err = _dm_alloc(self->ctx, 64, &dm[n]);
			if (err)
				break;
		}
		ASSERT_EQ(ENOMEM, err);
		ASSERT_LEDGER(n, "memic");
		LOOK();
		ASSERT_DEVICE(n, "memic_pages_used");
		ASSERT_COUNT(n, UOBJ, OURS("type=DM ref=2 usecnt=0 dm_ref=1 dm_users=0"));
		ASSERT_COUNT(n, MMAP, OURS("kind=MEMIC ref=2 vmas=1"));
		if (!round)
			all = n;
		ASSERT_EQ(all, n);
		/* Where others have memory of the device its share is unknown. */
		if (!used)
			ASSERT_EQ(pages, n);

		dmabuf_export(dm[n - 1], &fd);
		dm_free(dm[n - 1]);
		raw_dm_free(self->ctx->cmd_fd, dm[n - 2]->handle);
		dm_alloc_err(ENOMEM, self->ctx, 64);
		LOOK();
		ASSERT_DEVICE(n, "memic_pages_used");
		ASSERT_COUNT(n - 2, UOBJ, OURS("type=DM"));
		ASSERT_COUNT(2, MMAP, OURS("kind=MEMIC ref=1 driver_removed=1"));
		ASSERT_LEDGER(n, "memic");

		ASSERT_EQ(0, close(fd));
		dm_alloc(self->ctx, 64, &dm[n - 1]);
		dm_alloc_err(ENOMEM, self->ctx, 64);
		ibv_unimport_dm(dm[n - 2]);
		dm_alloc(self->ctx, 64, &dm[n - 2]);
		dm_alloc_err(ENOMEM, self->ctx, 64);
		while (n--)
			dm_free(dm[n]);
		LOOK();
		ASSERT_NO_DM();
	}
	free(dm);
}

/* DM_ALLOC with a type that is none. */
static int alloc_of_type(int fd, uint64_t type)
{
	const uint64_t length = DM_SIZE;
	const uint32_t alignment = 0;
	uint16_t page_idx;
	uint64_t start;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(UVERBS_ATTR_ALLOC_DM_HANDLE, 0),
		uverbs_in(UVERBS_ATTR_ALLOC_DM_LENGTH, &length, sizeof(length)),
		uverbs_in(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, &alignment, sizeof(alignment)),
		uverbs_out(MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, &start, sizeof(start)),
		uverbs_out(MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, &page_idx, sizeof(page_idx)),
		uverbs_in(MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, &type, sizeof(type)),
	};

	return uverbs_ioctl(fd, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, attr, 6);
}

/* ibv_alloc_dm() of something that begins at a multiple of 2^@log_align. */
static int alloc_aligned(struct ibv_context *ctx, uint32_t log_align)
{
	struct ibv_alloc_dm_attr attr = { .length = 64, .log_align_req = log_align };
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &attr);

	if (!dm)
		return errno;
	return ibv_free_dm(dm) ? EBUSY : 0;
}

/*
 * DM-14, ERRNO-DM: Sizes, alignments and types that cannot be.  Firmware is not even
 * asked.
 */
TEST_F(dm, dm_14_impossible_sizes)
{
	struct ibv_device_attr_ex attr = {};

	ASSERT_EQ(0, ibv_query_device_ex(self->ctx, NULL, &attr));
	ASSERT_LT(0UL, attr.max_dm_size);
	LOOK();
	dm_alloc_err(EINVAL, self->ctx, 0);
	dm_alloc_err(EINVAL, self->ctx, attr.max_dm_size + 1);
	raw_dm_alloc_err(EINVAL, self->ctx->cmd_fd, 0, 0);
	raw_dm_alloc_err(ENOMEM, self->ctx->cmd_fd,
			 self->bed.dev.info.memic.size + self->page_size, 0);
	ASSERT_EQ(EINVAL, alloc_aligned(self->ctx, 200));
	ASSERT_EQ(EOPNOTSUPP, alloc_of_type(self->ctx->cmd_fd, 99));
	/* Of 32 bits. */
	ASSERT_EQ(EINVAL, alloc_of_type(self->ctx->cmd_fd, 1ULL << 32));
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_COMMANDS(0, VHCA_ALLOC_MEMIC);
	ASSERT_EQ(0, alloc_of_type(self->ctx->cmd_fd, MLX5_IB_UAPI_DM_TYPE_MEMIC));
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DM"), "dm_type=memic ref=2");
	raw_dm_free(self->ctx->cmd_fd, VALUE(UOBJ, OURS("type=DM"), "handle"));
	LOOK();
	ASSERT_NO_DM();
}

/*
 * DM-15, UOBJ-10: The memory is allocated but an answer cannot be written.  The call
 * fails with EFAULT, the device is told once to free what it allocated, and uobject,
 * handle and entry are gone.
 */
TEST_F(dm, dm_15_answer_cannot_be_written)
{
	static const uint16_t answers[] = {
		MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET,
		MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX,
	};
	struct raw_dm first, dm;
	size_t i;

	/* The handle and the index that the failing calls are given. */
	raw_dm_alloc(self->ctx->cmd_fd, DM_SIZE, &first);
	raw_dm_free(self->ctx->cmd_fd, first.handle);
	self->seq = vhca_seq(&self->bed.dev);
	LOOK();
	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		raw_dm_alloc_err(EFAULT, self->ctx->cmd_fd, DM_SIZE, answers[i]);
		ASSERT_COMMANDS((int)i + 1, VHCA_ALLOC_MEMIC);
		ASSERT_COMMANDS((int)i + 1, VHCA_DEALLOC_MEMIC);
		LOOK();
		ASSERT_UNCHANGED();
		ASSERT_NO_DM();
	}
	raw_dm_alloc(self->ctx->cmd_fd, DM_SIZE, &dm);
	ASSERT_EQ(first.handle, dm.handle);
	ASSERT_EQ(first.page_idx, dm.page_idx);
	LOOK();
	ASSERT_DM(0, 0);
	ASSERT_ENTRY(0, 0, 0);
	raw_dm_free(self->ctx->cmd_fd, dm.handle);
	LOOK();
	ASSERT_NO_DM();
}

/*
 * UOBJ-10: The same with an operation: it is given back, the DM has none, and one
 * reference to its MEMIC as before.
 */
TEST_F(dm, uobj_10_operation_answer_cannot_be_written)
{
	static const uint16_t answers[] = {
		MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET,
		MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX,
	};
	struct raw_dm dm;
	size_t i;

	if (lacks_operations(_metadata, &self->bed, 1))
		return;
	raw_dm_alloc(self->ctx->cmd_fd, DM_SIZE, &dm);
	LOOK();
	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		raw_dm_map_op_err(EFAULT, self->ctx->cmd_fd, dm.handle, 0, answers[i]);
		ASSERT_COMMANDS(2 * (int)(i + 1), VHCA_MODIFY_MEMIC);
		ASSERT_LEDGER(0, "memic_operation");
		LOOK();
		ASSERT_UNCHANGED();
		ASSERT_DM(0, 0);
		ASSERT_NONE(MMAP, OURS("kind=MEMIC_OP"));
	}
	ASSERT_LEDGER(1, "memic");
	raw_dm_free(self->ctx->cmd_fd, dm.handle);
	LOOK();
	ASSERT_NO_DM();
}

/*
 * DM-15: The kernel has allocated, but the process may map no more: the library
 * frees again, and the device has its memory back.  The same for an operation, which
 * the DM keeps, and for an import.
 */
TEST_F(dm, dm_15_library_cannot_map)
{
	const bool operations = self->bed.dev.info.memic_operations & 1;
	struct rlimit limit, none;
	struct ibv_dm *dm, *more;
	int alloc, import, op = 0;
	struct vhca_object memic;
	void *addr;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	LOOK();
	ASSERT_EQ(0, getrlimit(RLIMIT_AS, &limit));
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = limit.rlim_max };
	/* The limit is given back before anything can stop the test. */
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &none));
	alloc = _dm_alloc(self->ctx, DM_SIZE, &more);
	import = _dm_import(self->ctx, dm->handle, &more);
	if (operations)
		op = _dm_map_op(dm, 0, &addr);
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &limit));
	ASSERT_EQ(ENOMEM, alloc);
	ASSERT_EQ(ENOMEM, import);
	ASSERT_EQ(operations ? ENOMEM : 0, op);
	ASSERT_COMMANDS(2, VHCA_ALLOC_MEMIC);
	ASSERT_COMMANDS(1, VHCA_DEALLOC_MEMIC);
	ASSERT_MEMIC_FREED(0, &memic);
	LOOK();
	ASSERT_DM(0, operations);
	ASSERT_ENTRY(0, 1, 0);
	ASSERT_COUNT(operations, MMAP, OURS("kind=MEMIC_OP ref=1 vmas=0 driver_removed=0"));
	ASSERT_DEVICE(DM_SIZE / 4096, "memic_pages_used");
	dm_free(dm);
	LOOK();
	ASSERT_NO_DM();
}

/*
 * DM-16, DM-19, UOBJ-06: A context is closed that has a DM with a region and an
 * operation.  The mappings that the library has left keep all of it, the region
 * included.  With the last of them everything goes in the one order that is right:
 * mkey, operation, memory.
 */
TEST_F(dm, dm_16_close_with_everything)
{
	struct mlx5dv_dm dv = {};
	struct mlx5dv_obj obj;
	struct vhca_object memic;
	struct ibv_mr *mr;
	struct ibv_dm *dm;
	void *op = NULL;
	uint32_t mkey;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	mr_reg_dm(self->pd, dm, 0, DM_SIZE, &mr);
	mkey = mr_mkey(mr);
	if (self->bed.dev.info.memic_operations & 1)
		dm_map_op(dm, 0, &op);
	obj = (struct mlx5dv_obj){ .dm = { .in = dm, .out = &dv } };
	ASSERT_EQ(0, mlx5dv_init_obj(&obj, MLX5DV_OBJ_DM));
	ASSERT_NE(NULL, dv.buf);
	ASSERT_EQ(0, ibv_close_device(self->ctx));
	self->ctx = NULL;
	LOOK();
	ASSERT_ONE(UFILE, OUR_UFILE,
		   scope_kv("ref=1 state=live file_open=1 umaps=%d", 1 + !!op));
	ASSERT_NONE(FD, OURS(""));
	ASSERT_DM(1, !!op);
	ASSERT_ENTRY(0, 1, 0);
	ASSERT_ONE(UOBJ, OURS("type=MR"), "ref=2 usecnt=0 state=live");
	ASSERT_COMMANDS(0, VHCA_DEALLOC_MEMIC);

	if (op) {
		dm_unmap_op(op, DM_SIZE);
		LOOK();
		ASSERT_ONE(UFILE, OUR_UFILE, "ref=1 state=live file_open=1 umaps=1");
		ASSERT_DM(1, 1);
	}
	/* A DM's address is within its first page. */
	dm_unmap_op(dv.buf, DM_SIZE);
	LOOK();
	ASSERT_NONE(UFILE, OUR_UFILE);
	ASSERT_NONE(UOBJ, OURS(""));
	ASSERT_NO_DM();
	ASSERT_LEDGER(0, "mkey");
	ASSERT_MEMIC_FREED(1, &memic);
	ASSERT_LT(0, LAST(VHCA_DESTROY_MKEY, mkey));
	ASSERT_LT(LAST(VHCA_DESTROY_MKEY, mkey), LAST(VHCA_DEALLOC_MEMIC, memic.id));
	ASSERT_TRUE(operations_went_first(&self->bed.dev, self->seq, !!op));
}

/*
 * DM-16, DM-19: A process is killed that has a DM; a DM and a region; an operation as
 * well; a dma-buf as well.  Each time everything is given back, once, and the memory
 * last.  (A region on its own dma-buf would outlive that one's descriptor: L01.)
 */
TEST_F(dm, dm_16_sigkill_at_each_step)
{
	const int operations = self->bed.dev.info.memic_operations & 1;
	uint64_t token, mr, addr, ufile, mkey;
	struct vhca_object memic, key;
	struct peer peer;
	uint32_t handle;
	int step, there;

	for (step = 1; step <= 4; step++) {
		self->seq = vhca_seq(&self->bed.dev);
		mkey = 0;
		peer_start(&peer);
		peer_open(&peer, self->bed.dev.name);
		peer_dm_alloc(&peer, DM_SIZE, &token, &handle);
		ASSERT_NEW_MEMIC(&memic);
		if (step >= 2) {
			peer_dm_reg(&peer, token, DM_SIZE, &mr);
			ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "mkey", self->seq, &key));
			mkey = key.id;
		}
		/* Before the operation, after which the library exports that one (L10). */
		if (step >= 4)
			peer_dm_export(&peer, token, &there);
		if (step >= 3 && operations)
			peer_dm_map_op(&peer, token, 0, &addr);
		LOOK();
		ASSERT_ONE(UOBJ, scope_kv("type=DM handle=%u dm_ref=%d dm_users=%d ops=%d", handle,
					  1 + (step >= 3 ? operations : 0), step >= 2,
					  step >= 3 ? operations : 0), "ref=2 state=live");
		ufile = VALUE(UOBJ, "type=DM", "ufile");
		ASSERT_ONE(MMAP, THEIRS(ufile, "kind=MEMIC"),
			   scope_kv("ref=%d vmas=1 dmabufs=%d driver_removed=0",
				    2 + (step >= 4), step >= 4));
		ASSERT_COUNT(step >= 3 ? operations : 0, MMAP,
			     THEIRS(ufile, "kind=MEMIC_OP ref=2 vmas=1"));
		ASSERT_COUNT(step >= 4, UOBJ,
			     THEIRS(ufile, "type=DMABUF ref=2 kref=1 revoked=0 file_ref=1"));

		peer_kill(&peer);
		LOOK();
		ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
		ASSERT_NONE(UOBJ, THEIRS(ufile, ""));
		ASSERT_NONE(MMAP, THEIRS(ufile, ""));
		ASSERT_DEVICE(0, "memic_pages_used");
		ASSERT_LEDGER(0, "mkey");
		ASSERT_LEDGER(0, "memic_operation");
		ASSERT_MEMIC_FREED(1, &memic);
		ASSERT_COMMANDS(1, VHCA_DEALLOC_MEMIC);
		ASSERT_COMMANDS(step >= 3 ? 2 * operations : 0, VHCA_MODIFY_MEMIC);
		ASSERT_TRUE(operations_went_first(&self->bed.dev, self->seq,
						  step >= 3 ? operations : 0));
		if (mkey)
			ASSERT_LT(LAST(VHCA_DESTROY_MKEY, mkey),
				  LAST(VHCA_DEALLOC_MEMIC, memic.id));
	}
}

/*
 * ERRNO-DM, UOBJ-04: Handles that are none, and handles of another type: each call
 * says which of the two it was, and changes nothing.
 */
TEST_F(dm, errno_dm_wrong_handles)
{
	const int fd = self->ctx->cmd_fd;
	struct vhca_object memic;
	struct ibv_dm *dm;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	LOOK();
	raw_dm_free_err(ENOENT, fd, UINT32_MAX);
	raw_dm_free_err(EINVAL, fd, self->pd->handle);
	raw_dm_query_err(ENOENT, fd, UINT32_MAX, 0);
	raw_dm_query_err(EINVAL, fd, self->pd->handle, 0);
	raw_dm_map_op_err(ENOENT, fd, UINT32_MAX, 0, 0);
	raw_dm_map_op_err(EINVAL, fd, self->pd->handle, 0, 0);
	dm_import_err(ENOENT, self->ctx, UINT32_MAX);
	dm_import_err(EINVAL, self->ctx, self->pd->handle);
	raw_mr_dereg_err(EINVAL, fd, dm->handle);
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_DM(0, 0);
	ASSERT_ONE(UOBJ, OURS("type=PD"), "ref=2 usecnt=0 state=live");
	dm_free(dm);
	ASSERT_MEMIC_FREED(1, &memic);
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
