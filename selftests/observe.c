// SPDX-License-Identifier: GPL-2.0
/*
 * uobjscope.ko shows what the kernel holds.
 *
 * Each step is a call of the library, and then what must be different in the
 * kernel, and by how much: ib_uobject.ref and usecnt, ib_uverbs_file.ref,
 * rdma_user_mmap_entry.ref, mlx5_ib_dm_memic.ref, ib_dm.usecnt, the kref of the
 * dma-buf's uobject, the VAR bitmap, the attachments.  The device's ledger,
 * bufinfo, rdma(8) and the caller's own view are second witnesses wherever they
 * know the same thing.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/dm_ops.h"
#include "common/kernel_counts.h"
#include "common/kernel_signs.h"
#include "common/peer_msg.h"
#include "common/rdma_show.h"
#include "common/unbind.h"
#include "common/var_ops.h"

#define DM_SIZE	8192

/* Several of them must fit. */
#define DM_NEEDED	(4 * DM_SIZE)

FIXTURE(observe)
{
	struct bed bed;
	struct ibv_context *ctx;
	struct kernel_counts counts;
	uint64_t bar;
	int64_t seq;
	size_t page_size;
};

/* How many mappings of uverbs files a process has, by its own account. */
static int mappings(pid_t pid)
{
	char path[64], *text, *p;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	text = text_read(path);
	for (p = text; p && (p = strstr(p, "/dev/infiniband/uverbs")); p++)
		n++;
	free(text);
	return n;
}

FIXTURE_SETUP(observe)
{
	if (!bed_make(_metadata, &self->bed, true) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	if (self->bed.dev.info.memic.size < DM_NEEDED) {
		bed_mark(_metadata, "end");
		SKIP(return, "not enough MEMIC: load mlx5_vhca with a larger memic_size");
	}
	self->page_size = sysconf(_SC_PAGESIZE);
	self->bar = device_bar(&self->bed.dev);
	ASSERT_NE(0UL, self->bar);
	self->seq = vhca_seq(&self->bed.dev);
	ASSERT_LE(0, self->seq);
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
}

FIXTURE_TEARDOWN(observe)
{
	if (self->ctx)
		EXPECT_EQ(0, ibv_close_device(self->ctx));
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

/*
 * UOBJ-01: An open context is a ufile with two references, the file's own and
 * that of the default async event file.  A uobject has one reference of the list
 * and one of its handle or file; the ufile has one more to that event file.
 */
TEST_F(observe, open_context)
{
	const int maps = mappings(getpid());
	int vmas;

	ASSERT_DEVICE(1, "ufiles");
	ASSERT_ONE(UFILE, OUR_UFILE,
		   scope_kv("ref=2 state=live listed=1 file_open=1 uobjects=%d device=%s",
			    self->counts.uobjects, self->bed.dev.name));
	ASSERT_ONE(UFILE, OUR_UFILE,
		   scope_kv("pid=%d comm=%s", getpid(), program_invocation_short_name));
	ASSERT_ONE(UOBJ, OURS("class=fd"),
		   "type=ASYNC_EVENT ref=3 usecnt=0 state=live !handle");
	/* What else there is are doorbells of the library. */
	ASSERT_COUNT(self->counts.uobjects - 1, UOBJ,
		     OURS("type=MLX5_UAR class=idr ref=2 usecnt=0"));
	ASSERT_NONE(MMAP, OURS("kind=VAR"));

	/*
	 * The library's own mappings of the device; each has the file as well.  That
	 * of the page with the clock's parameters is no umap, so no record has it.
	 */
	vmas = scope_count(&self->counts.scope, UOBJSCOPE_VMA, OURS("pid=%d", getpid()));
	ASSERT_LT(0, vmas);
	ASSERT_LE(vmas, maps);
	ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("umaps=%d", vmas));
	ASSERT_ONE(FD, scope_kv("pid=%d fd=%d", getpid(), self->ctx->cmd_fd),
		   OURS("kind=uverbs file_ref=%d", 1 + maps));
	ASSERT_ONE(FD, scope_kv("pid=%d fd=%d", getpid(), self->ctx->async_fd),
		   OURS("kind=uobj type=ASYNC_EVENT file_ref=1 state=live"));
	ASSERT_UNEXPLAINED(maps - vmas, scope_kv("ufile:%lu", self->counts.ufile));

	/* Looking changes nothing, and finds the same again. */
	LOOK();
	ASSERT_UNCHANGED();
}

/*
 * VAR-01 to VAR-04: A VAR from its birth to its death, and what is left of it
 * while it is freed but mapped.
 */
TEST_F(observe, var)
{
	uint32_t page_id, length;
	struct mlx5dv_var *var;
	uint64_t pgoff;
	uint32_t *map;

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	length = var->length;
	pgoff = pgoff_of(var->mmap_off);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=MLX5_VAR"),
		   scope_kv("ref=2 usecnt=0 state=live class=idr page_id=%u var_bit=1", page_id));
	ASSERT_ONE(MMAP, OURS("pgoff=%lu", pgoff),
		   "kind=VAR ref=1 driver_removed=0 vmas=0 dmabufs=0");
	ASSERT_ONE(MMAP, OURS("pgoff=%lu", pgoff),
		   scope_kv("npages=%lu page_id=%u addr=%lu", length / self->page_size, page_id,
			    self->bar + self->bed.dev.info.var.offset +
			    (uint64_t)page_id * self->bed.dev.info.var.stride));
	ASSERT_ENTRY_OF(OURS("pgoff=%lu", pgoff), UOBJ, OURS("type=MLX5_VAR"));
	ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("ref=2 uobjects=%d", self->counts.uobjects + 1));
	ASSERT_DEVICE(1, "var_used");
	if (self->bed.dev.info.tlp_var.count)
		ASSERT_DEVICE(0, "tlp_var_used");

	var_map(self->ctx, var, &map);
	LOOK();
	ASSERT_ONE(MMAP, OURS("pgoff=%lu", pgoff), "ref=2 vmas=1 driver_removed=0");
	ASSERT_ONE(VMA, OURS("start=%lu", (uintptr_t)map),
		   scope_kv("pid=%d end=%lu", getpid(), (uintptr_t)map + length));
	ASSERT_ENTRY_OF(OURS("pgoff=%lu", pgoff), VMA, OURS("start=%lu", (uintptr_t)map));
	ASSERT_ONE(UOBJ, OURS("type=MLX5_VAR"), "ref=2 usecnt=0 state=live");
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=2");

	unmap(map, length);
	LOOK();
	ASSERT_ONE(MMAP, OURS("pgoff=%lu", pgoff), "ref=1 vmas=0");
	ASSERT_NONE(VMA, OURS("start=%lu", (uintptr_t)map));

	var_map(self->ctx, var, &map);
	mlx5dv_free_var(var);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=MLX5_VAR"));
	ASSERT_ONE(MMAP, OURS("pgoff=%lu", pgoff),
		   scope_kv("kind=VAR ref=1 driver_removed=1 vmas=1 page_id=%u var_bit=1",
			    page_id));
	ASSERT_DEVICE(1, "var_used");
	ASSERT_HELD_BY(1, VMA, scope_kv("ufile:%lu/mmap:%lu", self->counts.ufile, pgoff));
	ASSERT_UNEXPLAINED(0, scope_kv("ufile:%lu/mmap:%lu", self->counts.ufile, pgoff));
	ASSERT_EQ(0, var_page_is_free(self->ctx->cmd_fd, 0, page_id));

	unmap(map, length);
	LOOK();
	ASSERT_NONE(MMAP, OURS("pgoff=%lu", pgoff));
	ASSERT_DEVICE(0, "var_used");
	ASSERT_EQ(1, var_page_is_free(self->ctx->cmd_fd, 0, page_id));
}

/*
 * VAR-02: Every VAR has a record of its own, the number of pages in use is their
 * number, and the page of each is the one that the library knows.  TLP VARs are
 * counted apart.
 */
TEST_F(observe, var_many)
{
	struct mlx5dv_var *var[8], *tlp;
	int i, n = self->bed.before.vars < 8 ? self->bed.before.vars : 8;

	for (i = 0; i < n; i++)
		var_alloc(self->ctx, 0, &var[i]);
	LOOK();
	ASSERT_DEVICE(n, "var_used");
	ASSERT_COUNT(n, UOBJ, OURS("type=MLX5_VAR ref=2 usecnt=0"));
	for (i = 0; i < n; i++) {
		ASSERT_ONE(UOBJ, OURS("type=MLX5_VAR page_id=%u", var[i]->page_id), "var_bit=1");
		ASSERT_ONE(MMAP, OURS("kind=VAR page_id=%u", var[i]->page_id),
			   scope_kv("pgoff=%lu ref=1", pgoff_of(var[i]->mmap_off)));
	}
	for (i = 0; i < n; i++)
		mlx5dv_free_var(var[i]);
	LOOK();
	ASSERT_DEVICE(0, "var_used");
	ASSERT_NONE(UOBJ, OURS("type=MLX5_VAR"));
	ASSERT_NONE(MMAP, OURS("kind=VAR"));

	if (!self->bed.dev.info.tlp_var.count)
		return;
	var_alloc(self->ctx, MLX5DV_VAR_ALLOC_FLAG_TLP, &tlp);
	LOOK();
	ASSERT_DEVICE(0, "var_used");
	ASSERT_DEVICE(1, "tlp_var_used");
	ASSERT_ONE(MMAP, OURS("kind=TLP_VAR"),
		   scope_kv("ref=1 page_id=%u var_bit=1 addr=%lu", tlp->page_id,
			    self->bar + self->bed.dev.info.tlp_var.offset +
			    (uint64_t)tlp->page_id * self->bed.dev.info.tlp_var.stride));
	mlx5dv_free_var(tlp);
}

/*
 * VAR-05: A child has a mapping, and with it a reference, of its own.
 */
TEST_F(observe, var_fork)
{
	struct mlx5dv_var *var;
	struct peer child;
	const char *entry;
	uint32_t *map;
	size_t length;

	var_alloc(self->ctx, 0, &var);
	length = var->length;
	var_map(self->ctx, var, &map);
	peer_fork(&child);
	LOOK();
	entry = OURS("kind=VAR");
	ASSERT_ONE(MMAP, entry, "ref=3 vmas=2 driver_removed=0");
	ASSERT_ONE(VMA, OURS("start=%lu pid=%d", (uintptr_t)map, getpid()), "");
	ASSERT_ONE(VMA, OURS("start=%lu pid=%d", (uintptr_t)map, child.pid), "");

	unmap(map, length);
	mlx5dv_free_var(var);
	LOOK();
	ASSERT_ONE(MMAP, OURS("kind=VAR"), "ref=1 vmas=1 driver_removed=1");
	ASSERT_NONE(VMA, OURS("start=%lu pid=%d", (uintptr_t)map, getpid()));
	ASSERT_ONE(VMA, OURS("start=%lu pid=%d", (uintptr_t)map, child.pid), "");
	ASSERT_DEVICE(1, "var_used");

	peer_unmap(&child, (uintptr_t)map, length);
	LOOK();
	ASSERT_NONE(MMAP, OURS("kind=VAR"));
	ASSERT_DEVICE(0, "var_used");
	peer_end(&child);
	LOOK();
	ASSERT_NONE(VMA, OURS("pid=%d", child.pid));
	ASSERT_NONE(FD, scope_kv("pid=%d", child.pid));
}

/* The device holds one memic more than at the start, the one that is given back here. */
#define ASSERT_NEW_MEMIC(object) \
	ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "memic", self->seq, object))

/*
 * DM-01, DM-03: Device memory has one reference of the library's mapping beside
 * the driver's; a memory region counts as a user of it and of the PD.
 */
TEST_F(observe, dm)
{
	struct vhca_object memic;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_dm *dm;
	int64_t users;
	uint64_t pdn;

	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=PD handle=%u", pd->handle), "ref=2 usecnt=0 state=live");
	users = scope_value(self->counts.scope.now, UOBJSCOPE_UOBJ, OURS("type=PD"), "users");
	pdn = scope_value(self->counts.scope.now, UOBJSCOPE_UOBJ, OURS("type=PD"), "pdn");
	ASSERT_NE(SCOPE_NOTHING, users);

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DM handle=%u", dm->handle),
		   "ref=2 usecnt=0 state=live dm_ref=1 dm_users=0 ops=0");
	ASSERT_ONE(UOBJ, OURS("type=DM"),
		   scope_kv("dm_type=memic length=%d dm_size=%lu dev_addr=%lu", DM_SIZE,
			    memic.size, self->bar + memic.id));
	ASSERT_ENTRY_OF(OURS("kind=MEMIC"), UOBJ, OURS("type=DM"));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"),
		   scope_kv("ref=2 vmas=1 dmabufs=0 driver_removed=0 npages=%lu addr=%lu",
			    DM_SIZE / self->page_size, self->bar + memic.id));
	ASSERT_DEVICE(DM_SIZE / 4096, "memic_pages_used");
	ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("ref=2 uobjects=%d", self->counts.uobjects + 2));

	mr_reg_dm(pd, dm, 0, DM_SIZE, &mr);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 usecnt=0 dm_ref=1 dm_users=1");
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=2 dm_users=1");
	ASSERT_ONE(UOBJ, OURS("type=PD"), scope_kv("ref=2 users=%ld", users + 1));
	ASSERT_ONE(UOBJ, OURS("type=MR handle=%u", mr->handle),
		   scope_kv("ref=2 usecnt=0 lkey=%u mrlen=%d pdn=%lu !dmabuf_ino", mr->lkey,
			    DM_SIZE, pdn));
	/* A free that fails leaves all of it. */
	dm_free_err(EBUSY, dm);
	LOOK();
	ASSERT_UNCHANGED();

	mr_dereg(mr);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 dm_users=0");
	ASSERT_ONE(UOBJ, OURS("type=PD"), scope_kv("users=%ld", users));
	ASSERT_NONE(UOBJ, OURS("type=MR"));

	dm_free(dm);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=DM"));
	ASSERT_NONE(MMAP, OURS("kind=MEMIC"));
	ASSERT_DEVICE(0, "memic_pages_used");
	ASSERT_EQ(0, vhca_find(&self->bed.dev, "memic", memic.id, NULL));
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=PD"));
}

/*
 * DM-07, DM-08: An operation has an entry of its own, which holds the memory as
 * well.  Unmapped, it stays until the memory is freed; mapped, it outlives that.
 */
TEST_F(observe, dm_operation)
{
	struct vhca_object memic, operation;
	struct ibv_dm *dm;
	void *op;

	if (!(self->bed.dev.info.memic_operations & 1))
		SKIP(return, "the device has no MEMIC operation 0");
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dm_map_op(dm, 0, &op);
	ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "memic_operation", self->seq, &operation));
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 usecnt=0 dm_ref=2 dm_users=0 ops=1");
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=2 vmas=1 driver_removed=0");
	/* The library's address has the memory's offset within the page. */
	ASSERT_ONE(MMAP, OURS("kind=MEMIC_OP"),
		   scope_kv("op=0 ref=2 vmas=1 driver_removed=0 dm_ref=2 ops=1 dev_addr=%lu",
			    self->bar + memic.id));
	ASSERT_EQ((int64_t)((self->bar + operation.id) & -self->page_size),
		  VALUE(MMAP, OURS("kind=MEMIC_OP"), "addr") & -(int64_t)self->page_size);
	ASSERT_UNEXPLAINED(0, scope_kv("ufile:%lu/DM", self->counts.ufile));

	dm_unmap_op(op, DM_SIZE);
	LOOK();
	ASSERT_ONE(MMAP, OURS("kind=MEMIC_OP"), "ref=1 vmas=0 driver_removed=0");
	ASSERT_ONE(UOBJ, OURS("type=DM"), "dm_ref=2 ops=1");

	dm_map_op(dm, 0, &op);
	dm_free(dm);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=DM"));
	ASSERT_NONE(MMAP, OURS("kind=MEMIC"));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC_OP"), "ref=1 vmas=1 driver_removed=1 dm_ref=1 ops=0");
	ASSERT_EQ(1, vhca_find(&self->bed.dev, "memic", memic.id, NULL));
	ASSERT_DEVICE(DM_SIZE / 4096, "memic_pages_used");

	dm_unmap_op(op, DM_SIZE);
	LOOK();
	ASSERT_NONE(MMAP, OURS("kind=MEMIC_OP"));
	ASSERT_EQ(0, vhca_find(&self->bed.dev, "memic", memic.id, NULL));
	ASSERT_DEVICE(0, "memic_pages_used");
}

/* Uverbs' counts of a dma-buf are those that bufinfo has. */
#define ASSERT_AS_BUFINFO(inode) \
do { \
	const uint64_t __inode = (inode); \
	struct dmabuf_sign __sign; \
	ASSERT_EQ(1, dmabuf_look(__inode, &__sign)); \
	ASSERT_ONE(UOBJ, scope_kv("type=DMABUF ino=%lu", __inode), \
		   scope_kv("file_ref=%ld size=%lu", __sign.files, __sign.size)); \
	ASSERT_COUNT(__sign.attachments, ATTACH, scope_kv("ino=%lu", __inode)); \
} while (0)

/*
 * DMABUF-01 to DMABUF-05: An export is a uobject of its own, with a reference
 * to the ufile and one to the memory's entry, from the export to the last close.
 */
TEST_F(observe, dmabuf)
{
	struct ibv_dm *dm;
	uint64_t ino;
	int fd, copy;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	dmabuf_export(dm, &fd);
	ino = dmabuf_inode(fd);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"),
		   "ref=2 usecnt=0 state=live class=fd file_ref=1 kref=1 revoked=0");
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), scope_kv("ino=%lu size=%d", ino, DM_SIZE));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=3 vmas=1 dmabufs=1 driver_removed=0");
	ASSERT_ENTRY_OF(OURS("kind=MEMIC"), UOBJ, OURS("type=DMABUF"));
	ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("ref=3 uobjects=%d", self->counts.uobjects + 2));
	ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 dm_ref=1 dm_users=0");
	ASSERT_NONE(ATTACH, OURS(""));
	ASSERT_ONE(FD, scope_kv("pid=%d fd=%d", getpid(), fd),
		   OURS("kind=dmabuf ino=%lu size=%d file_ref=1 exporter=ib_uverbs", ino, DM_SIZE));
	ASSERT_AS_BUFINFO(ino);
	ASSERT_UNEXPLAINED(0, scope_kv("ino:%lu", ino));

	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	ASSERT_LE(0, copy);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=2 file_ref=2 kref=1");
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=3");
	ASSERT_COUNT(2, FD, scope_kv("ino=%lu pid=%d", ino, getpid()));
	ASSERT_AS_BUFINFO(ino);
	ASSERT_EQ(0, close(copy));

	dm_free(dm);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=DM"));
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=1 vmas=0 dmabufs=0 driver_removed=1");
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=3");
	ASSERT_HELD_BY(1, FD, scope_kv("ino:%lu", ino));

	ASSERT_EQ(0, close(fd));
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=DMABUF"));
	ASSERT_NONE(MMAP, OURS("kind=MEMIC"));
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=2");
	ASSERT_DEVICE(0, "memic_pages_used");
}

/*
 * DMABUF-05: Who has opened the dma-buf with O_PATH keeps it, and its uobject, but not
 * its file, which is gone with the last descriptor.
 */
TEST_F(observe, dmabuf_without_a_file)
{
	struct ibv_dm *dm;
	char name[32];
	uint64_t ino;
	int fd, path;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	dmabuf_export(dm, &fd);
	ino = dmabuf_inode(fd);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	path = open(name, O_PATH | O_CLOEXEC);
	ASSERT_LE(0, path);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), scope_kv("ref=2 file_ref=1 ino=%lu", ino));
	ASSERT_COUNT(1, FD, scope_kv("ino=%lu", ino));

	ASSERT_EQ(0, close(fd));
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"),
		   "ref=2 state=live kref=1 revoked=0 !ino !file_ref !size");
	ASSERT_NONE(FD, scope_kv("ino=%lu", ino));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=3 vmas=1 dmabufs=1");
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=3");

	/* It can be revoked all the same. */
	dm_free(dm);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=2 kref=0 revoked=1 !ino !file_ref !size");
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=1 vmas=0 dmabufs=0 driver_removed=1");

	ASSERT_EQ(0, close(path));
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=DMABUF"));
	ASSERT_NONE(MMAP, OURS("kind=MEMIC"));
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=2");
	ASSERT_DEVICE(0, "memic_pages_used");
}

/*
 * ATT-04, ATT-05, ATT-10: A memory region on the dma-buf is an attachment, with
 * a reference to the file and a mapping.  The memory is freed under it.
 */
TEST_F(observe, dmabuf_region)
{
	int64_t users, mrn;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_dm *dm;
	uint64_t ino;
	int fd;

	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	dmabuf_export(dm, &fd);
	ino = dmabuf_inode(fd);
	LOOK();
	users = scope_value(self->counts.scope.now, UOBJSCOPE_UOBJ, OURS("type=PD"), "users");
	mr_reg_dmabuf(pd, 4096, DM_SIZE - 4096, fd, &mr);
	LOOK();
	mrn = scope_value(self->counts.scope.now, UOBJSCOPE_UOBJ, OURS("type=MR"), "mrn");
	ASSERT_NE(SCOPE_NOTHING, mrn);
	ASSERT_ONE(UOBJ, OURS("type=MR handle=%u", mr->handle),
		   scope_kv("ref=2 usecnt=0 lkey=%u dmabuf_ino=%lu", mr->lkey, ino));
	ASSERT_ONE(ATTACH, OURS("ino=%lu", ino),
		   "peer2peer=1 invalidate=1 umem=1 mapped=1 pinned=0 revoked=0");
	ASSERT_ONE(ATTACH, OURS("ino=%lu", ino),
		   scope_kv("device=%s ibdev=%s offset=4096 length=%d mrn=%ld lkey=%u",
			    self->bed.dev.pci, self->bed.dev.name, DM_SIZE - 4096, mrn,
			    mr->lkey));
	ASSERT_EQ(scope_find(&self->counts.scope, UOBJSCOPE_UOBJ, OURS("type=MR")),
		  uobjscope_mr_of(self->counts.scope.now,
				  scope_find(&self->counts.scope, UOBJSCOPE_ATTACH, OURS(""))));
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=2 usecnt=0 file_ref=2 kref=2 revoked=0");
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=3 vmas=1 dmabufs=1");
	ASSERT_ONE(UOBJ, OURS("type=PD"), scope_kv("users=%ld", users + 1));
	ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 dm_ref=1 dm_users=0");
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=3");
	ASSERT_AS_BUFINFO(ino);
	ASSERT_HELD_BY(2, ATTACH, scope_kv("ino:%lu", ino));
	ASSERT_HELD_BY(1, FD, scope_kv("ino:%lu", ino));
	ASSERT_UNEXPLAINED(0, scope_kv("ino:%lu", ino));

	/* The descriptor is one holder, the region another. */
	ASSERT_EQ(0, close(fd));
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=2 file_ref=1 kref=2 revoked=0");
	ASSERT_NONE(FD, scope_kv("ino=%lu", ino));
	ASSERT_AS_BUFINFO(ino);
	ASSERT_UNEXPLAINED(0, scope_kv("ino:%lu", ino));

	dm_free(dm);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=DM"));
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_ONE(ATTACH, OURS("ino=%lu", ino),
		   scope_kv("mapped=0 mrn=%ld lkey=%u", mrn, mr->lkey));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=1 vmas=0 dmabufs=0 driver_removed=1");
	ASSERT_ONE(UOBJ, OURS("type=MR"), scope_kv("ref=2 dmabuf_ino=%lu", ino));
	ASSERT_AS_BUFINFO(ino);

	mr_dereg(mr);
	LOOK();
	ASSERT_NONE(ATTACH, OURS(""));
	ASSERT_NONE(UOBJ, OURS("type=MR"));
	ASSERT_NONE(UOBJ, OURS("type=DMABUF"));
	ASSERT_NONE(MMAP, OURS("kind=MEMIC"));
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=2");
	ASSERT_ONE(UOBJ, OURS("type=PD"), scope_kv("users=%ld", users));
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
}

/*
 * ATT-16: Importers in two contexts; the attachment stands with the exporter,
 * the region with the importer.
 */
TEST_F(observe, dmabuf_two_importers)
{
	struct ibv_context *other;
	struct ibv_pd *pd[2];
	struct ibv_mr *mr[2];
	struct ibv_dm *dm;
	uint64_t ino, ufile;
	int fd, i;

	other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, other);
	pd[0] = ibv_alloc_pd(self->ctx);
	pd[1] = ibv_alloc_pd(other);
	ASSERT_NE(NULL, pd[0]);
	ASSERT_NE(NULL, pd[1]);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	dmabuf_export(dm, &fd);
	ino = dmabuf_inode(fd);
	for (i = 0; i < 2; i++)
		mr_reg_dmabuf(pd[i], 0, DM_SIZE, fd, &mr[i]);
	LOOK();
	ufile = scope_ufile(&self->counts.scope, getpid(), other->cmd_fd);
	ASSERT_NE(self->counts.ufile, ufile);
	ASSERT_ONE(UFILE, scope_kv("id=%lu", ufile), "ref=2");
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=2 file_ref=3 kref=3 revoked=0");
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=3 dmabufs=1");
	ASSERT_COUNT(2, ATTACH, OURS("ino=%lu mapped=1", ino));
	ASSERT_ONE(ATTACH, OURS("lkey=%u", mr[0]->lkey), "mapped=1");
	ASSERT_ONE(ATTACH, OURS("lkey=%u", mr[1]->lkey), "mapped=1");
	ASSERT_ONE(UOBJ, scope_kv("ufile=%lu type=MR", ufile),
		   scope_kv("lkey=%u dmabuf_ino=%lu", mr[1]->lkey, ino));
	ASSERT_AS_BUFINFO(ino);

	/* The importing context goes, and its region with it. */
	ASSERT_EQ(0, ibv_dereg_mr(mr[1]));
	ASSERT_EQ(0, ibv_dealloc_pd(pd[1]));
	ASSERT_EQ(0, ibv_close_device(other));
	LOOK();
	ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
	ASSERT_ONE(ATTACH, OURS("ino=%lu", ino), scope_kv("lkey=%u mapped=1", mr[0]->lkey));
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "file_ref=2 kref=2");
	mr_dereg(mr[0]);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "file_ref=1 kref=1");
	ASSERT_EQ(0, close(fd));
	dm_free(dm);
	ASSERT_EQ(0, ibv_dealloc_pd(pd[0]));
}

/*
 * DMABUF-11: A VAR can be exported as well; its entry then has one reference
 * more, mapped or not.
 */
TEST_F(observe, dmabuf_of_a_var)
{
	struct mlx5dv_var *var;
	int fd;

	var_alloc(self->ctx, 0, &var);
	raw_dmabuf_export(self->ctx->cmd_fd, var->mmap_off, &fd);
	LOOK();
	ASSERT_ONE(MMAP, OURS("kind=VAR"), "ref=2 vmas=0 dmabufs=1");
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=2 kref=1 file_ref=1 revoked=0");
	mlx5dv_free_var(var);
	LOOK();
	ASSERT_ONE(MMAP, OURS("kind=VAR"), "ref=1 vmas=0 dmabufs=0 driver_removed=1");
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=2 kref=0 file_ref=1 revoked=1");
	ASSERT_DEVICE(1, "var_used");
	ASSERT_EQ(0, close(fd));
	LOOK();
	ASSERT_NONE(MMAP, OURS("kind=VAR"));
	ASSERT_DEVICE(0, "var_used");
}

/*
 * IMP-01: A second process shares the ufile: one ufile, held by the descriptors
 * and mappings of both.
 */
TEST_F(observe, shared_ufile)
{
	uint8_t blob[VAR_BLOB_MAX] = {};
	struct mlx5dv_var *var;
	struct peer_var theirs;
	struct peer peer;
	uint64_t addr;
	int maps;

	peer_start(&peer);
	var_alloc(self->ctx, 0, &var);
	peer_import(&peer, self->ctx);
	var_export(var, blob);
	peer_var_import(&peer, blob, &theirs);
	peer_var_map(&peer, &theirs, &addr);
	maps = mappings(getpid()) + mappings(peer.pid);
	LOOK();
	/* The library makes an async event file for the peer, which counts as well. */
	ASSERT_COUNT(2, UOBJ, OURS("type=ASYNC_EVENT class=fd state=live"));
	ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("ref=3 state=live pid=%d", getpid()));
	ASSERT_COUNT(1, FD, OURS("kind=uverbs pid=%d", getpid()));
	ASSERT_COUNT(1, FD, OURS("kind=uverbs pid=%d", peer.pid));
	ASSERT_COUNT(1, FD, OURS("kind=uobj type=ASYNC_EVENT pid=%d", peer.pid));
	ASSERT_COUNT(2, FD, OURS("kind=uverbs file_ref=%d", 2 + maps));
	ASSERT_ONE(MMAP, OURS("kind=VAR"), "ref=2 vmas=1");
	ASSERT_ONE(VMA, OURS("start=%lu", addr), scope_kv("pid=%d", peer.pid));
	ASSERT_ONE(UOBJ, OURS("type=MLX5_VAR"), "ref=2 usecnt=0");

	peer_unmap(&peer, addr, theirs.length);
	peer_end(&peer);
	mlx5dv_free_var(var);
	LOOK();
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=2");
	ASSERT_COUNT(1, UOBJ, OURS("type=ASYNC_EVENT"));
	ASSERT_NONE(FD, OURS("pid=%d", peer.pid));
	ASSERT_NONE(VMA, OURS("pid=%d", peer.pid));
}

/*
 * UOBJ-08: All descriptors are closed, and a mapping keeps the file open: the
 * ufile is live, and the mapping is named as what holds it.
 */
TEST_F(observe, held_by_a_mapping)
{
	struct raw_var var;
	uint32_t *map;

	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	ASSERT_EQ(0, _map(self->ctx, var.length, MAP_SHARED, var.mmap_off, &map));
	ASSERT_EQ(0, ibv_close_device(self->ctx));
	self->ctx = NULL;
	LOOK();
	ASSERT_NONE(FD, OURS(""));
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=1 state=live file_open=1 listed=1 umaps=1 uobjects=1");
	ASSERT_ONE(UOBJ, OURS(""), "type=MLX5_VAR ref=2 usecnt=0 state=live");
	ASSERT_ONE(MMAP, OURS("kind=VAR"), "ref=2 vmas=1 driver_removed=0");
	ASSERT_DEVICE(1, "var_used");
	ASSERT_LE(1, scope_held_by(&self->counts.scope, scope_kv("ufile:%lu", self->counts.ufile),
				   UOBJSCOPE_HOLDER_VMA));
	ASSERT_UNEXPLAINED(0, scope_kv("ufile:%lu", self->counts.ufile));

	ASSERT_EQ(0, _unmap(map, var.length));
	LOOK();
	ASSERT_NONE(UFILE, OUR_UFILE);
	ASSERT_NONE(MMAP, OURS(""));
	ASSERT_DEVICE(0, "var_used");
}

/*
 * UOBJ-08: The only descriptor is in a message that nobody has received.  No
 * process has it, so it is what stays unexplained.
 */
TEST_F(observe, held_in_flight)
{
	struct peer_msg msg = {};
	struct raw_var var;
	int pair[2], fd;

	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	ASSERT_EQ(0, peer_send(pair[0], &msg, self->ctx->cmd_fd));
	ASSERT_EQ(0, ibv_close_device(self->ctx));
	self->ctx = NULL;
	LOOK();
	ASSERT_NONE(FD, OURS(""));
	ASSERT_NONE(VMA, OURS(""));
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=1 state=live file_open=1 umaps=0 uobjects=1");
	ASSERT_ONE(UOBJ, OURS("type=MLX5_VAR"), "ref=2 state=live");
	ASSERT_DEVICE(1, "var_used");
	ASSERT_UNEXPLAINED(1, scope_kv("ufile:%lu", self->counts.ufile));

	ASSERT_EQ(0, peer_receive(pair[1], &msg, &fd));
	LOOK();
	ASSERT_ONE(FD, OURS("pid=%d", getpid()), scope_kv("fd=%d kind=uverbs file_ref=1", fd));
	ASSERT_UNEXPLAINED(0, scope_kv("ufile:%lu", self->counts.ufile));
	ASSERT_EQ(0, close(fd));
	LOOK();
	ASSERT_NONE(UFILE, OUR_UFILE);
	ASSERT_DEVICE(0, "var_used");
	ASSERT_EQ(0, close(pair[0]));
	ASSERT_EQ(0, close(pair[1]));
}

/*
 * UOBJ-08: The file is closed and its objects are gone; the async event file
 * keeps the ufile, which no device lists any more.
 */
TEST_F(observe, held_by_the_async_file)
{
	struct raw_var var;
	int fd;

	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	fd = fcntl(self->ctx->async_fd, F_DUPFD_CLOEXEC, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ibv_close_device(self->ctx));
	self->ctx = NULL;
	LOOK();
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=1 state=closed file_open=0 listed=0 umaps=0");
	/* What was not freed keeps its handle, and that alone. */
	ASSERT_ONE(UOBJ, OURS("type=MLX5_VAR"), "ref=1 state=dead !object !entry !page_id");
	ASSERT_NONE(UOBJ, OURS("state=live"));
	ASSERT_NONE(MMAP, OURS(""));
	ASSERT_DEVICE(0, "var_used");
	ASSERT_ONE(FD, OURS("pid=%d", getpid()),
		   scope_kv("fd=%d kind=uobj type=ASYNC_EVENT file_ref=1 state=dead", fd));
	ASSERT_UNEXPLAINED(0, scope_kv("ufile:%lu", self->counts.ufile));
	ASSERT_EQ(0, close(fd));
	LOOK();
	ASSERT_NONE(UFILE, OUR_UFILE);
}

/*
 * A snapshot is of the moment it was opened at, whole, whatever happens while
 * it is open, and two may be open at once.  Neither keeps an object alive.
 */
TEST_F(observe, open_snapshots)
{
	struct uobjscope_error error;
	struct uobjscope *old[2];
	struct mlx5dv_var *var;
	int fd[2], i;

	var_alloc(self->ctx, 0, &var);
	for (i = 0; i < 2; i++) {
		fd[i] = open(UOBJSCOPE_DIR "/snapshot", O_RDONLY | O_CLOEXEC);
		ASSERT_LE(0, fd[i]);
	}
	mlx5dv_free_var(var);
	ASSERT_EQ(0, ibv_close_device(self->ctx));
	self->ctx = NULL;
	LOOK();
	ASSERT_NONE(UFILE, OUR_UFILE);
	ASSERT_DEVICE(0, "var_used");
	for (i = 0; i < 2; i++) {
		old[i] = uobjscope_load_fd(fd[i], "the old one", UOBJSCOPE_SNAPSHOT, &error);
		ASSERT_NE(NULL, old[i])
			TH_LOG("%s", error.message);
		ASSERT_EQ(2, scope_value(old[i], UOBJSCOPE_UFILE, OUR_UFILE, "ref"));
		ASSERT_EQ(1, scope_value(old[i], UOBJSCOPE_MMAP, OURS("kind=VAR"), "ref"));
		uobjscope_free(old[i]);
		ASSERT_EQ(0, close(fd[i]));
	}
}

/* An object of resource tracking, and the keys that both witnesses have for it. */
struct tracked {
	const char *rdma;
	const char *type;
	const char *id;
	const char *key[4];
};

static const struct tracked tracked[] = {
	{ "pd", "PD", "pdn", { "users" } },
	{ "cq", "CQ", "cqn", { "cqe", "users" } },
	{ "qp", "QP", "lqpn", { "pdn" } },
	{ "mr", "MR", "mrn", { "lkey", "mrlen", "pdn" } },
	{ "srq", "SRQ", "srqn", { "pdn" } },
};

/* How many objects of this process the two disagree about. */
static int disagreements(const struct scope *scope, uint64_t ufile, const struct tracked *t)
{
	int64_t id, theirs, ours;
	struct rdma_show show;
	int n = 0, wrong = 0;
	const char *where;
	unsigned int i, k;

	if (rdma_show(t->rdma, &show))
		return -1;
	for (i = 0; i < show.count; i++) {
		if (rdma_number(show.object[i], "pid") != getpid())
			continue;
		n++;
		id = rdma_number(show.object[i], t->id);
		where = scope_kv("ufile=%lu type=%s %s=%ld", ufile, t->type, t->id, id);
		for (k = 0; k < ARRAY_SIZE(t->key) && t->key[k]; k++) {
			theirs = rdma_number(show.object[i], t->key[k]);
			ours = scope_value(scope->now, UOBJSCOPE_UOBJ, where, t->key[k]);
			if (theirs == ours && theirs != SCOPE_NOTHING)
				continue;
			diag("%s: %s is %ld, but in rdma resource show %s: {%s}", where,
			     t->key[k], ours, t->rdma, show.object[i]);
			wrong++;
		}
	}
	where = scope_kv("ufile=%lu type=%s", ufile, t->type);
	if (n != scope_count(scope, UOBJSCOPE_UOBJ, where)) {
		diag("%s: %d, but %d in rdma resource show %s", where,
		     scope_count(scope, UOBJSCOPE_UOBJ, where), n, t->rdma);
		wrong++;
	}
	rdma_forget(&show);
	return wrong;
}

/*
 * Resource tracking has no VAR and no DM, but what it has must be the same here,
 * and what is here must be there.
 */
TEST_F(observe, as_rdma_resource_show)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr qp_attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_mr *mr[3];
	struct rdma_show show;
	struct ibv_pd *pd[3];
	struct ibv_cq *cq[2];
	struct ibv_srq *srq;
	struct ibv_qp *qp[2];
	unsigned int i, n;
	int64_t ctxn, uars;
	char *buf;
	int err;

	LOOK();
	uars = scope_count(&self->counts.scope, UOBJSCOPE_UOBJ, OURS("type=MLX5_UAR"));
	buf = aligned_alloc(self->page_size, 3 * self->page_size);
	ASSERT_NE(NULL, buf);
	for (i = 0; i < ARRAY_SIZE(pd); i++) {
		pd[i] = ibv_alloc_pd(self->ctx);
		ASSERT_NE(NULL, pd[i]);
	}
	for (i = 0; i < ARRAY_SIZE(mr); i++) {
		mr[i] = ibv_reg_mr(pd[i / 2], buf, (i + 1) * self->page_size,
				   IBV_ACCESS_LOCAL_WRITE);
		ASSERT_NE(NULL, mr[i]);
	}
	for (i = 0; i < ARRAY_SIZE(cq); i++) {
		cq[i] = ibv_create_cq(self->ctx, 15 << i, NULL, NULL, 0);
		ASSERT_NE(NULL, cq[i]);
	}
	srq = ibv_create_srq(pd[1], &srq_attr);
	ASSERT_NE(NULL, srq);
	for (i = 0; i < ARRAY_SIZE(qp); i++) {
		qp_attr.send_cq = cq[0];
		qp_attr.recv_cq = cq[i];
		qp[i] = ibv_create_qp(pd[i], &qp_attr);
		ASSERT_NE(NULL, qp[i]);
	}

	err = rdma_show("ctx", &show);
	if (err == ENOENT)
		SKIP(return, "no rdma(8): install iproute2");
	ASSERT_EQ(0, err);
	LOOK();
	ctxn = scope_value(self->counts.scope.now, UOBJSCOPE_UFILE, OUR_UFILE, "ctxn");
	for (i = 0, n = 0; i < show.count; i++)
		n += rdma_number(show.object[i], "ctxn") == ctxn &&
		     rdma_number(show.object[i], "pid") == getpid();
	ASSERT_EQ(1U, n);
	rdma_forget(&show);
	for (i = 0; i < ARRAY_SIZE(tracked); i++) {
		EXPECT_LT(0, scope_count(&self->counts.scope, UOBJSCOPE_UOBJ,
					 OURS("type=%s", tracked[i].type)));
		EXPECT_EQ(0, disagreements(&self->counts.scope, self->counts.ufile, &tracked[i]))
			TH_LOG("type %s", tracked[i].type);
	}
	/* The library's names for the same. */
	ASSERT_ONE(UOBJ, OURS("type=QP handle=%u", qp[1]->handle),
		   scope_kv("ref=2 usecnt=0 lqpn=%u", qp[1]->qp_num));
	ASSERT_ONE(UOBJ, OURS("type=MR handle=%u", mr[2]->handle),
		   scope_kv("ref=2 usecnt=0 lkey=%u", mr[2]->lkey));
	ASSERT_UNEXPLAINED(0, scope_kv("ufile:%lu/PD", self->counts.ufile));

	for (i = 0; i < ARRAY_SIZE(qp); i++)
		ASSERT_EQ(0, ibv_destroy_qp(qp[i]));
	ASSERT_EQ(0, ibv_destroy_srq(srq));
	for (i = 0; i < ARRAY_SIZE(cq); i++)
		ASSERT_EQ(0, ibv_destroy_cq(cq[i]));
	for (i = 0; i < ARRAY_SIZE(mr); i++)
		ASSERT_EQ(0, ibv_dereg_mr(mr[i]));
	for (i = 0; i < ARRAY_SIZE(pd); i++)
		ASSERT_EQ(0, ibv_dealloc_pd(pd[i]));
	free(buf);
	LOOK();
	/* The library keeps for the next one a UAR that it has made for a queue pair. */
	uars = scope_count(&self->counts.scope, UOBJSCOPE_UOBJ, OURS("type=MLX5_UAR")) - uars;
	ASSERT_COUNT(self->counts.uobjects + uars, UOBJ, OURS(""));
}

/* A process that reads snapshots until it is killed, and counts them in shared memory. */
static pid_t start_reader(unsigned int *reads)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		free(text_read(UOBJSCOPE_DIR "/snapshot"));
		__atomic_add_fetch(reads, 1, __ATOMIC_RELAXED);
	}
}

static unsigned int *shared_counter(void)
{
	void *page = mmap(NULL, sizeof(unsigned int), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? NULL : page;
}

/*
 * How often a region was busy within so many seconds, or minus another errno.  A
 * region of device memory cannot be changed, but is locked to find that out.
 */
static int count_busy(struct ibv_mr *mr, int enough, int seconds)
{
	const time_t end = time(NULL) + seconds;
	int busy = 0;

	while (busy < enough && time(NULL) < end) {
		errno = 0;
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0);
		if (errno == EBUSY)
			busy++;
		else if (errno != EINVAL)
			return -errno;
	}
	return busy;
}

/* A snapshot for which uobjects are locked where they have to be. */
#define LOOK_BEHIND() \
do { \
	ASSERT_EQ(0, scope_deref(true)); \
	EXPECT_EQ(0, scope_take(&self->counts.scope)); \
	ASSERT_EQ(0, scope_deref(false)); \
} while (0)

/*
 * DM-11, DM-12: SW ICM is device memory without an mmap entry, so only its
 * uobject leads to it.  Its address and the number of the object are those in the
 * device's ledger.
 */
TEST_F(observe, sw_icm)
{
	static const struct {
		enum mlx5dv_alloc_dm_type type;
		const char *name;
	} types[] = {
		{ MLX5DV_DM_TYPE_STEERING_SW_ICM, "steering_sw_icm" },
		{ MLX5DV_DM_TYPE_HEADER_MODIFY_SW_ICM, "header_modify_sw_icm" },
		{ MLX5DV_DM_TYPE_HEADER_MODIFY_PATTERN_SW_ICM, "header_modify_pattern_sw_icm" },
		{ MLX5DV_DM_TYPE_ENCAP_SW_ICM, "encap_sw_icm" },
	};
	struct ibv_alloc_dm_attr attr = { .length = DM_SIZE - 100 };
	struct vhca_object object;
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	unsigned int i;

	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct mlx5dv_alloc_dm_attr dv_attr = { .type = types[i].type };

		self->seq = vhca_seq(&self->bed.dev);
		dm = mlx5dv_alloc_dm(self->ctx, &attr, &dv_attr);
		if (!dm && errno == EOPNOTSUPP)
			SKIP(return, "the device has no SW ICM");
		ASSERT_NE(NULL, dm);
		ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "general_object", self->seq, &object));
		ASSERT_EQ((uint64_t)DM_SIZE, object.size);
		LOOK_BEHIND();
		ASSERT_ONE(UOBJ, OURS("type=DM handle=%u", dm->handle),
			   scope_kv("ref=2 state=live dm_users=0 dm_type=%s obj_id=%lu",
				    types[i].name, object.id));
		ASSERT_ONE(UOBJ, OURS("type=DM"),
			   scope_kv("dev_addr=%lu dm_size=%d length=%d", object.sw_icm_addr,
				    DM_SIZE, DM_SIZE - 100));
		ASSERT_NONE(MMAP, OURS("kind=MEMIC"));
		mr_reg_dm(pd, dm, 0, 4096, &mr);
		LOOK_BEHIND();
		ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 dm_users=1");
		dm_free_err(EBUSY, dm);
		mr_dereg(mr);
		dm_free(dm);
		LOOK();
		ASSERT_NONE(UOBJ, OURS("type=DM"));
	}
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
}

/*
 * With deref=1 uobjects are locked to look behind them, and who wants to change
 * or destroy one at that moment gets EBUSY: the price that is documented, and that
 * nobody pays without.
 */
TEST_F(observe, deref_makes_busy)
{
	const struct uobjscope_record *header;
	unsigned int *reads = shared_counter();
	int without, with, status;
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	pid_t reader;

	ASSERT_NE(NULL, reads);
	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	mr_reg_dm(pd, dm, 0, DM_SIZE, &mr);
	reader = start_reader(reads);
	ASSERT_LT(0, reader);
	without = count_busy(mr, 1, 2);
	status = scope_deref(true);
	with = status ? 0 : count_busy(mr, 1, 15);
	if (!status) {
		EXPECT_EQ(0, scope_take(&self->counts.scope));
		EXPECT_EQ(0, scope_deref(false));
	}
	ASSERT_EQ(0, kill(reader, SIGKILL));
	ASSERT_EQ(reader, waitpid(reader, NULL, 0));
	ASSERT_EQ(0, status);
	ASSERT_EQ(0, without);
	ASSERT_EQ(1, with);
	header = uobjscope_header(self->counts.scope.now, UOBJSCOPE_SNAPSHOT);
	ASSERT_STREQ("1", uobjscope_text(header, UOBJSCOPE_KEY_DEREF));
	mr_dereg(mr);
	dm_free(dm);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
}

/* A copy of a mapping has the pages, unless fork() came while a destruction waited. */
static int copy_and_touch(uint32_t *map)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		signal(SIGBUS, SIG_DFL);
		__atomic_store_n(map, 1, __ATOMIC_RELAXED);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return errno;
	return status ? EFAULT : 0;
}

/*
 * Make, map, copy and free one of each kind; the errno of the first call that
 * failed, and which it was.  Only the region is locked by deref=1, so only its
 * freeing may be refused, and not for ever.
 */
static int use_each(const struct device *dev, struct ibv_context *ctx, struct ibv_pd *pd,
		    struct ibv_dm *dm, const char **what)
{
	struct ibv_context *other;
	struct raw_var var;
	struct ibv_mr *mr;
	uint32_t *map;
	int err;

	*what = "making a VAR";
	err = _raw_var_alloc(ctx->cmd_fd, 0, 0, &var);
	if (err)
		return err;
	*what = "mapping it";
	err = _map(ctx, var.length, MAP_SHARED, var.mmap_off, &map);
	if (err)
		return err;
	*what = "copying the mapping";
	err = copy_and_touch(map);
	if (err)
		return err;
	*what = "unmapping it";
	err = _unmap(map, var.length);
	if (err)
		return err;
	*what = "freeing the VAR";
	err = _raw_var_free(ctx->cmd_fd, var.handle);
	if (err)
		return err;
	*what = "registering memory";
	err = _mr_reg_dm(pd, dm, 0, DM_SIZE, &mr);
	if (err)
		return err;
	*what = "deregistering it";
	do {
		err = ibv_dereg_mr(mr);
	} while (err == EBUSY);
	if (err)
		return err;
	*what = "opening another context";
	other = device_open(dev);
	if (!other)
		return errno;
	*what = "making a VAR there";
	err = _raw_var_alloc(other->cmd_fd, 0, 0, &var);
	if (err)
		return err;
	*what = "closing it with its VAR";
	return ibv_close_device(other) ? errno : 0;
}

#define READS	100
#define ROUNDS	20

/*
 * EBUSY is all that looking may cause.  EIO would come of hw_destroy_rwsem, which
 * is tried for by all that makes or maps an object: it must be shared with them.
 */
TEST_F_TIMEOUT(observe, deref_fails_nothing_else, 90)
{
	unsigned int *reads = shared_counter();
	const char *what = NULL;
	int round, status, err = 0;
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	pid_t reader;

	ASSERT_NE(NULL, reads);
	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	status = scope_deref(true);
	reader = start_reader(reads);
	ASSERT_LT(0, reader);
	for (round = 0; !err && (round < ROUNDS ||
				 __atomic_load_n(reads, __ATOMIC_RELAXED) < READS); round++)
		err = use_each(&self->bed.dev, self->ctx, pd, dm, &what);
	EXPECT_EQ(0, scope_deref(false));
	ASSERT_EQ(0, kill(reader, SIGKILL));
	ASSERT_EQ(reader, waitpid(reader, NULL, 0));
	ASSERT_EQ(0, status);
	ASSERT_EQ(0, err)
		TH_LOG("%s, in round %d, beside %u reads", what, round, *reads);
	dm_free(dm);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
	ASSERT_EQ(0, munmap(reads, sizeof(*reads)));
}

/*
 * The device goes, and the process and its descriptors stay: the ufile is
 * disassociated, its hardware objects are gone, and what is left is what a close
 * must free.  It is the last test, since the driver has to probe again.
 */
TEST_F_TIMEOUT(observe, unbound, 120)
{
	struct raw_var var;
	uint32_t *map;
	int err;

	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	ASSERT_EQ(0, _map(self->ctx, var.length, MAP_SHARED, var.mmap_off, &map));
	unbind(&self->bed.dev, UNBIND_FUNCTION);
	err = scope_take(&self->counts.scope);
	/* Whatever was seen, other tests need the device. */
	bind_again(&self->bed.dev);
	ASSERT_EQ(0, err);

	ASSERT_NONE(DEVICE, OUR_DEVICE);
	ASSERT_ONE(UFILE, OUR_UFILE,
		   scope_kv("ref=2 state=disassociated device=- listed=0 file_open=1 pid=%d !ctxn",
			    getpid()));
	ASSERT_NONE(MMAP, OURS(""));
	ASSERT_NONE(UOBJ, OURS("state=live"));
	ASSERT_ONE(UOBJ, OURS("type=MLX5_VAR"), "ref=1 state=dead !entry !page_id");
	ASSERT_ONE(FD, scope_kv("pid=%d fd=%d", getpid(), self->ctx->cmd_fd), OURS("kind=uverbs"));
	ASSERT_ONE(FD, scope_kv("pid=%d fd=%d", getpid(), self->ctx->async_fd),
		   OURS("kind=uobj type=ASYNC_EVENT state=dead"));

	/* The device is another one with the same name, and the ufile is not of it. */
	LOOK();
	ASSERT_ONE(DEVICE, OUR_DEVICE, "ufiles=0 var_used=0 memic_pages_used=0");
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=2 state=disassociated device=-");
	ASSERT_EQ(0, _unmap(map, var.length));
	ASSERT_EQ(0, ibv_close_device(self->ctx));
	self->ctx = NULL;
	LOOK();
	ASSERT_NONE(UFILE, OUR_UFILE);
	ASSERT_NONE(VMA, OURS(""));
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
