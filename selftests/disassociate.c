// SPDX-License-Identifier: GPL-2.0
/*
 * The device is taken away while programs have objects on it, and comes back.
 *
 * Everything that is bound to hardware must be gone when the driver has let go, and
 * what is left, file descriptors and mappings, must be harmless: they answer EIO, or
 * read and write a page that leads nowhere.  Witnesses are the device's ledger, which
 * must hold nothing that mlx5_core does not hold for itself, the kernel's counts by
 * uobjscope.ko, and the caller.
 *
 * Where a dma-buf of uverbs has outlived its context, kernels before 7.3 leak
 * the ufile (L01).  Such tests say so by known_issues, and check that nothing else is left.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/dma-buf.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/connection.h"
#include "common/dm_ops.h"
#include "common/event.h"
#include "common/importer.h"
#include "common/kernel_counts.h"
#include "common/kernel_signs.h"
#include "common/known.h"
#include "common/milliseconds.h"
#include "common/page_faults.h"
#include "common/process.h"
#include "common/rebind.h"
#include "common/skip.h"
#include "common/touch.h"
#include "common/unbind.h"
#include "common/uverbs_ioctl.h"
#include "common/var_ops.h"

#define DM_SIZE		8192
#define TIMEOUT		90

/* mlx5_ib's MLX5_IB_MMAP_CORE_CLOCK: a page of the device that can only be read. */
#define CLOCK_COMMAND	5
#define COMMAND_SHIFT	8

/* What each fixture here has. */
struct room {
	struct bed *bed;
	struct kernel_counts *counts;
	struct ibv_context **ctx;
	int *imp;
	int64_t *seq;
};

#define ROOM(self) \
	((struct room) { \
		.bed = &(self)->bed, .counts = &(self)->counts, .ctx = &(self)->ctx, \
		.imp = &(self)->imp, .seq = &(self)->seq, \
	})

static void room_make(struct __test_metadata *_metadata, struct room room)
{
	ASSERT_FALSE(unbind_is_stuck())
		TH_LOG("an earlier removal is still waiting");
	/*
	 * A test that failed may have left the device without its driver, or that unloaded.  A
	 * machine that never had the device may have no such driver: bed_make() says so.
	 */
	if (module_refcount("mlx5_ib") < 0 && module_refcount("mlx5_vhca") >= 0)
		ASSERT_EQ(0, system("modprobe mlx5_ib"));
	unbind_mend();
	if (!bed_make(_metadata, room.bed, true) ||
	    !counts_begin(_metadata, room.bed, room.counts))
		return;
	ASSERT_NE(NULL, unbind_baseline(&room.bed->dev));
	/* Its pools and queues are those of another driver instance than before. */
	ASSERT_EQ(0, rest_take(&room.bed->dev, &room.bed->before));
	*room.seq = vhca_seq(&room.bed->dev);
	ASSERT_LE(0, *room.seq);
	/* Most get along without; who does not says so by need_importer(). */
	if (!importer_missing())
		importer_open(room.imp);
	*room.ctx = device_open(&room.bed->dev);
	ASSERT_NE(NULL, *room.ctx);
	counts_of(_metadata, room.counts, (*room.ctx)->cmd_fd);
}

static void need_importer(int imp)
{
	if (imp < 0)
		skip_test("%s", importer_missing());
}

/* Give all back, the device first: without it the state at rest cannot be compared. */
static void room_clear(struct __test_metadata *_metadata, struct room room)
{
	/* What holds up a removal goes first. */
	EXPECT_EQ(0, vhca_write(&room.bed->dev, "faults", "clear"));
	EXPECT_EQ(0, vhca_write(&room.bed->dev, "page_faults", "tell"));
	if (*room.imp >= 0)
		EXPECT_EQ(0, close(*room.imp));
	if (*room.ctx)
		EXPECT_EQ(0, ibv_close_device(*room.ctx));
	EXPECT_EQ(0, _bind_again(&room.bed->dev));
}

static void room_unmake(struct __test_metadata *_metadata, struct room room)
{
	room_clear(_metadata, room);
	counts_end(_metadata, room.counts);
	bed_unmake(_metadata, room.bed);
}

/*
 * The same where a dma-buf has outlived its context: the ufile may be left, with what it
 * alone has, if that is known of this kernel.
 */
static void room_unmake_leaky(struct __test_metadata *_metadata, struct room room)
{
	struct scope *scope = &room.counts->scope;
	struct known_issue issue;
	int ufiles = 0, uobjs;

	room_clear(_metadata, room);
	if (_metadata->exit_code == KSFT_PASS) {
		EXPECT_EQ(0, scope_take(scope));
		ufiles = scope_count(scope, UOBJSCOPE_UFILE,
				     scope_kv("id=%lu", room.counts->ufile));
		uobjs = scope_count(scope, UOBJSCOPE_UOBJ,
				    scope_kv("ufile=%lu", room.counts->ufile));
		EXPECT_EQ(0, scope_count(scope, UOBJSCOPE_UOBJ,
					 scope_kv("ufile=%lu state=live", room.counts->ufile)));
		EXPECT_EQ(ufiles + uobjs, scope_left(scope))
			scope_print_left(scope);
	}
	scope_drop(scope);
	bed_unmake(_metadata, room.bed);
	if (_metadata->exit_code != KSFT_PASS)
		return;
	EXPECT_EQ(0, known_issue("L01", &issue))
		return;
	known_report(_metadata, &issue, ufiles);
}

/* The driver has given back all that it had, and the device has nothing to complain of. */
#define ASSERT_AT_BASELINE(from) \
do { \
	char __ledger[512]; \
	ASSERT_EQ(0, unbind_ledger(&self->bed.dev, __ledger, sizeof(__ledger))); \
	ASSERT_STREQ((from) == UNBIND_RDMA ? unbind_baseline(&self->bed.dev) : "", __ledger); \
	ASSERT_EQ(self->bed.before.violations, vhca_violations(&self->bed.dev)); \
} while (0)

/* By a new snapshot, the fixture's ufile is one without device, mappings and objects. */
#define ASSERT_DISASSOCIATED(ref) \
do { \
	LOOK(); \
	ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("state=disassociated device=- listed=0 umaps=0 " \
					      "ref=%d !ctxn", ref)); \
	ASSERT_NONE(UOBJ, OURS("state=live")); \
	ASSERT_NONE(UOBJ, OURS("state=locked")); \
	ASSERT_NONE(MMAP, OURS("")); \
	ASSERT_NONE(VMA, OURS("")); \
} while (0)

static int map_at(struct ibv_context *ctx, void *at, size_t length, int prot, off_t off,
		  uint32_t **map)
{
	*map = mmap(at, length, prot, MAP_SHARED | (at ? MAP_FIXED : 0), ctx->cmd_fd, off);
	return *map == MAP_FAILED ? errno : 0;
}

FIXTURE(disassociate)
{
	struct bed bed;
	struct kernel_counts counts;
	struct ibv_context *ctx;
	int imp;
	int64_t seq;
	size_t page_size;
};

FIXTURE_SETUP(disassociate)
{
	self->imp = -1;
	self->page_size = sysconf(_SC_PAGESIZE);
	room_make(_metadata, ROOM(self));
}

FIXTURE_TEARDOWN(disassociate)
{
	room_unmake(_metadata, ROOM(self));
}

/* An object of each kind, with so many handles. */
#define OBJECTS	9

struct objects {
	struct ibv_pd *pd;
	struct end end;
	struct raw_var var;
	struct mlx5dv_var *dv_var;
	struct ibv_dm *dm;
	struct ibv_mr *dm_mr;
	struct ibv_mr *mr;
	struct ibv_srq *srq;
	struct ibv_comp_channel *channel;
};

static char memory[4096];

static void objects_make(struct __test_metadata *_metadata, struct ibv_context *ctx,
			 struct objects *o)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 1 } };

	o->pd = ibv_alloc_pd(ctx);
	ASSERT_NE(NULL, o->pd);
	end_make(o->pd, &connection_defaults, &o->end);
	raw_var_alloc(ctx->cmd_fd, 0, &o->var);
	var_alloc(ctx, 0, &o->dv_var);
	dm_alloc(ctx, DM_SIZE, &o->dm);
	mr_reg_dm(o->pd, o->dm, 0, DM_SIZE, &o->dm_mr);
	o->mr = ibv_reg_mr(o->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, o->mr);
	o->srq = ibv_create_srq(o->pd, &attr);
	ASSERT_NE(NULL, o->srq);
	o->channel = ibv_create_comp_channel(ctx);
	ASSERT_NE(NULL, o->channel);
}

#define PTR_CALL(call)	(errno = 0, (call) ? 0 : errno)

/*
 * Share the context once more.  Whether the library has closed the descriptor depends on
 * how far it came (L14), so it is a copy.
 */
static int import_error(struct ibv_context *ctx)
{
	const int fd = dup(ctx->cmd_fd);
	const int err = PTR_CALL(ibv_import_device(fd));

	close(fd);
	return err;
}

/*
 * UOBJ-09, ERRNO-VAR, ERRNO-DM, ERRNO-DMABUF, ERRNO-MR: Without its device a context
 * answers EIO to all that would need the driver, and frees what it had: the handles are
 * there until then, and not afterwards.
 */
TEST_F_TIMEOUT(disassociate, uobj_09_calls, TIMEOUT)
{
	struct dmabuf_importer_export export = { .size = 4096 };
	struct ibv_device_attr attr;
	struct ibv_qp_attr qp_attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_context *ctx = self->ctx;
	uint32_t command[16] = {};
	struct objects o;
	int handles;

	objects_make(_metadata, ctx, &o);
	if (self->imp >= 0)
		importer_export(self->imp, &export);
	LOOK();
	handles = scope_count(&self->counts.scope, UOBJSCOPE_UOBJ, OURS("class=idr state=live"));
	ASSERT_LE(OBJECTS, handles);
	unbind(&self->bed.dev, UNBIND_RDMA);
	ASSERT_AT_BASELINE(UNBIND_RDMA);
	/* The completion channel is a file of its own. */
	ASSERT_DISASSOCIATED(3);
	ASSERT_COUNT(handles, UOBJ, OURS("class=idr state=dead ref=1"));
	ASSERT_NONE(DEVICE, OUR_DEVICE);

	var_alloc_err(EIO, ctx, 0);
	raw_var_alloc_err(EIO, ctx->cmd_fd, 0, 0);
	dm_alloc_err(EIO, ctx, DM_SIZE);
	ASSERT_EQ(EIO, PTR_CALL(ibv_import_dm(ctx, o.dm->handle)));
	dm_map_op_err(EIO, o.dm, 0);
	if (!kernel_is_before(7, 0)) {
		dmabuf_export_err(EIO, o.dm);
		raw_dmabuf_export_err(EIO, ctx->cmd_fd, o.var.mmap_off);
	}
	mr_reg_dm_err(EIO, o.pd, o.dm, 0, DM_SIZE);
	if (self->imp >= 0)
		mr_reg_dmabuf_err(EIO, o.pd, 0, 4096, export.fd);
	map_err(EIO, ctx, o.var.length, MAP_SHARED, o.var.mmap_off);
	ASSERT_EQ(EIO, PTR_CALL(ibv_reg_mr(o.pd, memory, sizeof(memory), 0)));
	ASSERT_EQ(EIO, PTR_CALL(ibv_alloc_pd(ctx)));
	ASSERT_EQ(EIO, PTR_CALL(ibv_create_cq(ctx, 15, NULL, NULL, 0)));
	ASSERT_EQ(EIO, PTR_CALL(ibv_create_comp_channel(ctx)));
	ASSERT_EQ(EIO, ibv_query_device(ctx, &attr));
	ASSERT_EQ(EIO, ibv_modify_qp(o.end.qp, &qp_attr, IBV_QP_STATE));
	ASSERT_EQ(EIO, mlx5dv_devx_general_cmd(ctx, command, sizeof(command), command,
					       sizeof(command)));
	ASSERT_EQ(ENODEV, PTR_CALL(device_open(&self->bed.dev)));
	ASSERT_EQ(ENODEV, import_error(ctx));
	/* What failed has made nothing and taken nothing. */
	LOOK();
	ASSERT_UNCHANGED();

	raw_var_free(ctx->cmd_fd, o.var.handle);
	raw_var_free_err(ENOENT, ctx->cmd_fd, o.var.handle);
	mlx5dv_free_var(o.dv_var);
	mr_dereg(o.dm_mr);
	mr_dereg(o.mr);
	dm_free(o.dm);
	end_destroy(&o.end);
	ASSERT_EQ(0, ibv_destroy_srq(o.srq));
	ASSERT_EQ(0, ibv_dealloc_pd(o.pd));
	LOOK();
	ASSERT_COUNT(handles - OBJECTS, UOBJ, OURS("class=idr"));
	ASSERT_EQ(0, ibv_destroy_comp_channel(o.channel));
	ASSERT_DISASSOCIATED(2);

	/* It is the old device that it was opened on, also when there is a new one. */
	bind_again(&self->bed.dev);
	var_alloc_err(EIO, ctx, 0);
	dm_alloc_err(EIO, ctx, DM_SIZE);
	map_err(EIO, ctx, o.var.length, MAP_SHARED, o.var.mmap_off);
	ASSERT_DISASSOCIATED(2);
	ASSERT_EQ(EIO, import_error(ctx));
	if (self->imp >= 0)
		ASSERT_EQ(0, close(export.fd));
}

static int read_completion(void *channel)
{
	struct ibv_cq *cq;
	void *cq_context;

	return ibv_get_cq_event(channel, &cq, &cq_context) ? errno : 0;
}

static int read_async(void *ctx)
{
	struct ibv_async_event event;

	if (ibv_get_async_event(ctx, &event))
		return errno;
	return event.event_type == IBV_EVENT_DEVICE_FATAL ? 0 : EPROTO;
}

static int read_devx_event(void *channel)
{
	struct {
		struct mlx5dv_devx_async_event_hdr header;
		char data[256];
	} event;

	return mlx5dv_devx_get_event(channel, &event.header, sizeof(event)) < 0 ? errno : 0;
}

static int read_devx_answer(void *comp)
{
	struct {
		struct mlx5dv_devx_async_cmd_hdr header;
		char data[256];
	} answer;

	/* Returns the errno itself. */
	return mlx5dv_devx_get_async_cmd_comp(comp, &answer.header, sizeof(answer));
}

/*
 * UOBJ-09: Who waits for an event of the device is told that there will be none: by EIO, or
 * by the event that ends all asynchronous events.
 */
TEST_F_TIMEOUT(disassociate, uobj_09_readers, TIMEOUT)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(self->ctx);
	struct mlx5dv_devx_event_channel *devx =
		mlx5dv_devx_create_event_channel(self->ctx,
						 MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA);
	struct mlx5dv_devx_cmd_comp *comp = mlx5dv_devx_create_cmd_comp(self->ctx);
	const struct {
		int (*call)(void *arg);
		void *arg;
		int err;
	} readers[] = {
		{ read_completion, channel, EIO },
		{ read_devx_event, devx, EIO },
		{ read_devx_answer, comp, EIO },
		{ read_async, self->ctx, 0 },
	};
	struct caller callers[ARRAY_SIZE(readers)];
	unsigned int i;

	ASSERT_NE(NULL, channel);
	ASSERT_NE(NULL, devx);
	ASSERT_NE(NULL, comp);
	for (i = 0; i < ARRAY_SIZE(readers); i++) {
		caller_start(&callers[i], readers[i].call, readers[i].arg);
		caller_waits(&callers[i], "vfs_read");
	}
	unbind(&self->bed.dev, UNBIND_RDMA);
	for (i = 0; i < ARRAY_SIZE(readers); i++)
		caller_end(&callers[i], readers[i].err);
	/* And those who come later, but for that of the event, which comes once. */
	for (i = 0; i < ARRAY_SIZE(readers); i++)
		if (readers[i].err)
			ASSERT_EQ(readers[i].err, readers[i].call(readers[i].arg));
	ASSERT_AT_BASELINE(UNBIND_RDMA);
	mlx5dv_devx_destroy_cmd_comp(comp);
	mlx5dv_devx_destroy_event_channel(devx);
	ASSERT_EQ(0, ibv_destroy_comp_channel(channel));
	ASSERT_DISASSOCIATED(2);
}

/* Where each kind of mapping of one context is. */
struct pages {
	struct raw_var var[2];
	struct raw_dm dm;
	uint32_t *map[2];
	uint32_t *dm_map;
	/* Not to be read without its device: L35. */
	uint32_t *clock;
};

static void pages_map(struct __test_metadata *_metadata, struct ibv_context *ctx,
		      struct pages *p)
{
	const size_t page_size = sysconf(_SC_PAGESIZE);
	int i;

	for (i = 0; i < 2; i++) {
		raw_var_alloc(ctx->cmd_fd, 0, &p->var[i]);
		ASSERT_EQ(0, _map(ctx, p->var[i].length, MAP_SHARED, p->var[i].mmap_off,
				  &p->map[i]));
		__atomic_store_n(p->map[i], 0x1000 + i, __ATOMIC_RELAXED);
	}
	raw_dm_alloc(ctx->cmd_fd, DM_SIZE, &p->dm);
	ASSERT_EQ(0, map_at(ctx, NULL, DM_SIZE, PROT_READ | PROT_WRITE, raw_dm_off(p->dm.page_idx),
			    &p->dm_map));
	__atomic_store_n(p->dm_map, 0x2000, __ATOMIC_RELAXED);
	ASSERT_EQ(0, map_at(ctx, NULL, page_size, PROT_READ,
			    (off_t)CLOCK_COMMAND << COMMAND_SHIFT << 12, &p->clock));
	ASSERT_WORD(0x1000, p->map[0]);
	ASSERT_WORD(0x1001, p->map[1]);
	ASSERT_WORD(0x2000, p->dm_map);
}

static void pages_unmap(struct __test_metadata *_metadata, struct pages *p)
{
	unmap(p->map[0], p->var[0].length);
	unmap(p->map[1], p->var[1].length);
	unmap(p->dm_map, DM_SIZE);
	unmap(p->clock, sysconf(_SC_PAGESIZE));
}

/* Read a word in another process: 0, EFAULT for a SIGBUS, or another errno. */
static int read_in_child(const uint32_t *at, uint32_t expected)
{
	uint32_t word = 0;
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (!pid) {
		status = touch_read(at, &word);
		_exit(status ? status : word == expected ? 0 : ERANGE);
	}
	if (waitpid(pid, &status, 0) != pid)
		return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

/*
 * VAR-15, ENT-01: All mappings of a ufile lead to one page of zeros, its own, which can be
 * written: those of other objects, of another process, and none of another ufile.  The
 * device sees none of it.  For what can only be read see known.l35_zero_page.
 */
TEST_F_TIMEOUT(disassociate, var_15_dummy_page, TIMEOUT)
{
	struct vhca_region *region = &self->bed.dev.info.var;
	struct ibv_context *other;
	struct pages ours, theirs;
	struct peer child;
	uint8_t *before, *after;
	uint32_t word;

	other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, other);
	pages_map(_metadata, self->ctx, &ours);
	pages_map(_metadata, other, &theirs);
	peer_fork(&child);
	LOOK();
	ASSERT_COUNT(2, MMAP, OURS("kind=VAR ref=3 vmas=2 driver_removed=0"));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=3 vmas=2 driver_removed=0");
	ASSERT_DEVICE(4, "var_used");

	unbind(&self->bed.dev, UNBIND_RDMA);
	ASSERT_AT_BASELINE(UNBIND_RDMA);
	ASSERT_DISASSOCIATED(2);
	before = malloc(region->size);
	after = malloc(region->size);
	ASSERT_NE(NULL, before);
	ASSERT_NE(NULL, after);
	ASSERT_EQ(0, vhca_memory(&self->bed.dev, "var", 0, before, region->size));

	ASSERT_WORD(0, ours.map[0]);
	ASSERT_EQ(0, touch_write(ours.map[0], 5));
	ASSERT_WORD(5, ours.map[0]);
	ASSERT_WORD(5, ours.map[1]);
	/* Each page of a mapping of several. */
	ASSERT_WORD(5, ours.dm_map);
	ASSERT_WORD(5, ours.dm_map + self->page_size / sizeof(uint32_t));
	/* Another process that had the mapping before, and another ufile. */
	peer_poke(&child, (uintptr_t)ours.map[1], 6);
	ASSERT_WORD(6, ours.map[0]);
	ASSERT_WORD(0, theirs.map[0]);
	ASSERT_EQ(0, touch_write(theirs.map[0], 7));
	ASSERT_WORD(6, ours.map[0]);
	ASSERT_WORD(7, theirs.map[1]);

	ASSERT_EQ(0, vhca_memory(&self->bed.dev, "var", 0, after, region->size));
	ASSERT_EQ(0, memcmp(before, after, region->size));
	ASSERT_DISASSOCIATED(2);
	free(before);
	free(after);
	/* With a new device it stays as it is. */
	bind_again(&self->bed.dev);
	ASSERT_WORD(6, ours.map[0]);
	ASSERT_EQ(0, touch_write(ours.map[0], 8));
	ASSERT_EQ(0, vhca_memory(&self->bed.dev, "var",
				 ours.var[0].page_id * region->stride, &word, sizeof(word)));
	ASSERT_NE(8U, word);
	LOOK();
	ASSERT_DEVICE(0, "var_used");
	ASSERT_DEVICE(0, "memic_pages_used");
	peer_end(&child);
	pages_unmap(_metadata, &ours);
	pages_unmap(_metadata, &theirs);
	ASSERT_EQ(0, ibv_close_device(other));
}

/*
 * VAR-15, ENT-06: What copies or splits a mapping after the removal makes one that can have
 * no page any more (rdma_umap_open() in drivers/infiniband/core/uverbs_main.c): fork(),
 * mremap(), and of mprotect() and munmap() on a part the new pieces, which are those around
 * it.  Of fork() and mremap() that is what was not touched before: they take pages along
 * that are there, which by then are the dummy's.
 */
TEST_F_TIMEOUT(disassociate, var_15_copies_afterwards, TIMEOUT)
{
	const size_t words = self->page_size / sizeof(uint32_t);
	uint32_t *map[2], *moved, *pages, *more;
	struct raw_var var[2];
	struct raw_dm dm[2];
	int i;

	for (i = 0; i < 2; i++) {
		raw_var_alloc(self->ctx->cmd_fd, 0, &var[i]);
		ASSERT_EQ(0, _map(self->ctx, var[i].length, MAP_SHARED, var[i].mmap_off, &map[i]));
		ASSERT_EQ(0, touch_write(map[i], 1));
		raw_dm_alloc(self->ctx->cmd_fd, 3 * self->page_size, &dm[i]);
	}
	ASSERT_EQ(0, map_at(self->ctx, NULL, 3 * self->page_size, PROT_READ | PROT_WRITE,
			    raw_dm_off(dm[0].page_idx), &pages));
	ASSERT_EQ(0, map_at(self->ctx, NULL, 3 * self->page_size, PROT_READ | PROT_WRITE,
			    raw_dm_off(dm[1].page_idx), &more));
	unbind(&self->bed.dev, UNBIND_RDMA);
	ASSERT_AT_BASELINE(UNBIND_RDMA);
	ASSERT_DISASSOCIATED(2);

	ASSERT_EQ(EFAULT, read_in_child(map[0], 0));
	ASSERT_EQ(0, touch_write(map[0], 5));
	ASSERT_EQ(0, read_in_child(map[0], 5));
	ASSERT_EQ(EFAULT, read_in_child(map[1], 5));
	ASSERT_WORD(5, pages + words);
	ASSERT_WORD(5, pages);

	ASSERT_EQ(0, mprotect(pages + words, self->page_size, PROT_READ));
	ASSERT_WORD(5, pages + words);
	ASSERT_NO_WORD(pages);
	ASSERT_NO_WORD(pages + 2 * words);
	ASSERT_EQ(0, munmap(more + words, self->page_size));
	ASSERT_NO_WORD(more);
	ASSERT_NO_WORD(more + 2 * words);

	for (i = 0; i < 2; i++) {
		moved = mremap(map[i], var[i].length, var[i].length,
			       MREMAP_MAYMOVE | MREMAP_FIXED, more + i * words);
		ASSERT_EQ((void *)(more + i * words), (void *)moved);
	}
	ASSERT_WORD(5, more);
	ASSERT_NO_WORD(more + words);
	/* Nothing of it is a mapping that the core has to know. */
	ASSERT_DISASSOCIATED(2);
	ASSERT_EQ(0, munmap(more, 3 * self->page_size));
	ASSERT_EQ(0, munmap(pages, 3 * self->page_size));
	ASSERT_DISASSOCIATED(2);
}

/* Does the device see a word that is stored at an address, by a peer if there is one? */
static bool reaches_device(const struct device *dev, uint32_t *at, const struct raw_var *var,
			   struct peer *peer, uint32_t word)
{
	uint32_t seen = ~word;

	if (peer)
		_peer_poke(peer, (uintptr_t)at, word);
	else
		touch_write(at, word);
	vhca_memory(dev, "var", var->page_id * dev->info.var.stride, &seen, sizeof(seen));
	return seen == word;
}

/*
 * VAR-15, CON-08: fork() and mremap() while the removal goes on, of a mapping that it has not
 * come to yet.  It is held up by a command that the device takes its time for.  The copies
 * must not lead to the device: the core does not know them, nobody will ever zap them, and the
 * next one who is given the pages has them too.
 */
TEST_F_TIMEOUT(disassociate, var_15_copies_meanwhile, TIMEOUT)
{
	const size_t words = self->page_size / sizeof(uint32_t);
	uint32_t *map[2], *moved;
	struct known_issue issue;
	struct raw_var var[2];
	struct unbind unbind;
	struct peer child;
	bool copied, remapped;
	void *area;
	int i;

	if (!known_look_up(_metadata, &issue, "L30"))
		return;
	/* A refused mremap() then looks for the memory type of pages that are gone. */
	if (kernel_is_before(6, 16))
		marker_expect("WARNING: .* get_pat_info[+]");
	for (i = 0; i < 2; i++) {
		raw_var_alloc(self->ctx->cmd_fd, 0, &var[i]);
		ASSERT_EQ(0, _map(self->ctx, var[i].length, MAP_SHARED, var[i].mmap_off, &map[i]));
		ASSERT_TRUE(reaches_device(&self->bed.dev, map[i], &var[i], NULL, 0x1000 + i));
	}
	area = mmap(NULL, self->page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, area);
	ASSERT_NE(NULL, ibv_alloc_pd(self->ctx));
	ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults", "opcode=DEALLOC_PD delay_ms=60000"));
	unbind_start(&unbind, &self->bed.dev, UNBIND_RDMA);
	caller_waits(&unbind.caller, "uverbs_destroy_ufile_hw");
	peer_fork(&child);
	moved = mremap(map[1], var[1].length, var[1].length, MREMAP_MAYMOVE | MREMAP_FIXED, area);
	ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults", "clear"));
	unbind_end(&unbind);
	ASSERT_EQ(area, (void *)moved);
	ASSERT_AT_BASELINE(UNBIND_RDMA);
	ASSERT_DISASSOCIATED(2);
	/* Ours was zapped. */
	ASSERT_FALSE(reaches_device(&self->bed.dev, map[0], &var[0], NULL, 0x2000));
	copied = reaches_device(&self->bed.dev, map[0], &var[0], &child, 0x3000);
	remapped = reaches_device(&self->bed.dev, moved, &var[1], NULL, 0x4000);
	TH_LOG("fork: %s, mremap: %s", copied ? "the device's page" : "none",
	       remapped ? "the device's page" : "none");
	_peer_kill(&child);
	ASSERT_EQ(0, munmap(area, self->page_size));
	unmap(map[0], words * sizeof(uint32_t));
	ASSERT_EQ(copied, remapped);
	known_report(_metadata, &issue, copied);
}

/*
 * VAR-15, VAR-05: fork() before the removal: each process has its own mapping, all are
 * zapped, and each can go before or after that.
 */
TEST_F_TIMEOUT(disassociate, var_15_processes, TIMEOUT)
{
	struct peer before, after;
	struct raw_var var;
	uint32_t *map;

	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	ASSERT_EQ(0, _map(self->ctx, var.length, MAP_SHARED, var.mmap_off, &map));
	peer_fork(&before);
	peer_fork(&after);
	LOOK();
	ASSERT_ONE(MMAP, OURS("kind=VAR"), "ref=4 vmas=3");
	peer_kill(&before);
	peer_unmap(&after, (uintptr_t)map, var.length);
	/* What was killed may be torn down a little later. */
	unmap(map, var.length);
	unbind(&self->bed.dev, UNBIND_RDMA);
	ASSERT_AT_BASELINE(UNBIND_RDMA);
	ASSERT_DISASSOCIATED(2);
	peer_kill(&after);
	ASSERT_DISASSOCIATED(2);
}

/*
 * VAR-16, VAR-04: VARs, of both kinds, that were freed while mapped are known to the
 * mapping alone.  Their pages are given back before the driver frees its bitmaps, so that
 * all can be had again.
 */
TEST_F_TIMEOUT(disassociate, var_16_freed_but_mapped, TIMEOUT)
{
	const bool tlp = self->bed.dev.info.tlp_var.count;
	struct raw_var var[3];
	uint32_t *map[3];
	int i, n = tlp ? 3 : 2;

	for (i = 0; i < n; i++) {
		raw_var_alloc(self->ctx->cmd_fd, i == 2 ? MLX5_IB_UAPI_VAR_ALLOC_FLAG_TLP : 0,
			      &var[i]);
		ASSERT_EQ(0, _map(self->ctx, var[i].length, MAP_SHARED, var[i].mmap_off, &map[i]));
	}
	raw_var_free(self->ctx->cmd_fd, var[0].handle);
	if (tlp)
		raw_var_free(self->ctx->cmd_fd, var[2].handle);
	LOOK();
	ASSERT_COUNT(1, MMAP, OURS("kind=VAR ref=1 vmas=1 driver_removed=1 var_bit=1"));
	ASSERT_COUNT(1, MMAP, OURS("kind=VAR ref=2 vmas=1 driver_removed=0 var_bit=1"));
	ASSERT_COUNT(tlp, MMAP, OURS("kind=TLP_VAR ref=1 vmas=1 driver_removed=1 var_bit=1"));
	ASSERT_DEVICE(2, "var_used");
	unbind(&self->bed.dev, UNBIND_RDMA);
	ASSERT_AT_BASELINE(UNBIND_RDMA);
	ASSERT_DISASSOCIATED(2);
	for (i = 0; i < n; i++)
		ASSERT_WORD(0, map[i]);
	bind_again(&self->bed.dev);
	LOOK();
	ASSERT_DEVICE(0, "var_used");
	if (tlp)
		ASSERT_DEVICE(0, "tlp_var_used");
	for (i = 0; i < n; i++)
		unmap(map[i], var[i].length);
}

/*
 * DM-17, DM-08: Device memory that is mapped, registered, has an operation mapped, or was
 * freed with one mapped: the driver gives operations back before their memory, and all of
 * it before it goes.
 */
TEST_F_TIMEOUT(disassociate, dm_17_live, TIMEOUT)
{
	struct vhca_object memic[2], operation[2];
	void *op[2], *start;
	struct ibv_dm *dm[2];
	int64_t op_at, memic_at;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	int i;

	if (!(self->bed.dev.info.memic_operations & 1))
		SKIP(return, "the device has no MEMIC operation 0");
	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	for (i = 0; i < 2; i++) {
		const int64_t seq = vhca_seq(&self->bed.dev);

		dm_alloc(self->ctx, DM_SIZE, &dm[i]);
		dm_map_op(dm[i], 0, &op[i]);
		ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "memic", seq, &memic[i]));
		ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "memic_operation", seq,
					   &operation[i]));
	}
	mr_reg_dm(pd, dm[0], 0, DM_SIZE, &mr);
	dm_free(dm[1]);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 usecnt=0 dm_ref=2 dm_users=1 ops=1");
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=2 vmas=1 driver_removed=0");
	ASSERT_COUNT(1, MMAP, OURS("kind=MEMIC_OP ref=2 vmas=1 driver_removed=0"));
	ASSERT_COUNT(1, MMAP, OURS("kind=MEMIC_OP ref=1 vmas=1 driver_removed=1 dm_ref=1"));
	ASSERT_DEVICE(2 * DM_SIZE / 4096, "memic_pages_used");
	start = (void *)((uintptr_t)op[0] & -self->page_size);

	self->seq = vhca_seq(&self->bed.dev);
	unbind(&self->bed.dev, UNBIND_RDMA);
	ASSERT_AT_BASELINE(UNBIND_RDMA);
	ASSERT_DISASSOCIATED(2);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(1, vhca_count_since(&self->bed.dev, self->seq, VHCA_MODIFY_MEMIC,
					      operation[i].memic));
		ASSERT_EQ(1, vhca_count_since(&self->bed.dev, self->seq, VHCA_DEALLOC_MEMIC,
					      memic[i].id));
		op_at = vhca_last_since(&self->bed.dev, self->seq, VHCA_MODIFY_MEMIC,
					operation[i].memic);
		memic_at = vhca_last_since(&self->bed.dev, self->seq, VHCA_DEALLOC_MEMIC,
					   memic[i].id);
		ASSERT_LT(0, op_at);
		ASSERT_LT(op_at, memic_at);
	}
	/* The memory is a dummy, for the library as well. */
	ASSERT_EQ(0, touch_write(start, 5));
	dm_read(&i, dm[0], 0, sizeof(i));
	ASSERT_EQ(5, i);
	mr_dereg(mr);
	dm_free(dm[0]);
	dm_unmap_op(op[0], DM_SIZE);
	dm_unmap_op(op[1], DM_SIZE);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
	bind_again(&self->bed.dev);
	LOOK();
	ASSERT_DEVICE(0, "memic_pages_used");
}

/*
 * CON-14, VAR-15: The removal comes upon a mapping of an address space that is being torn
 * down: it is nobody's to take (mmget_not_zero() in uverbs_user_mmap_disassociate()), but
 * its entry is given back, once, and the dying process finds its mapping without one.
 *
 * A child dies with two mappings: first goes that of device memory of another context,
 * which is freed with it, and the device is told to take its time for that.
 */
TEST_F_TIMEOUT(disassociate, con_14_dying_address_space, TIMEOUT)
{
	struct ibv_context *other;
	uint32_t *low, *high;
	struct unbind unbind;
	struct raw_var var;
	struct raw_dm dm;
	struct peer child;
	char *area;

	other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, other);
	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	raw_dm_alloc(other->cmd_fd, self->page_size, &dm);
	area = mmap(NULL, 4 * self->page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, area);
	ASSERT_EQ(0, map_at(other, area, self->page_size, PROT_READ | PROT_WRITE,
			    raw_dm_off(dm.page_idx), &low));
	ASSERT_EQ(0, map_at(self->ctx, area + 2 * self->page_size, var.length,
			    PROT_READ | PROT_WRITE, var.mmap_off, &high));
	peer_fork(&child);
	raw_dm_free(other->cmd_fd, dm.handle);
	unmap(low, self->page_size);
	unmap(high, var.length);
	LOOK();
	ASSERT_ONE(MMAP, OURS("kind=VAR"), "ref=2 vmas=1 driver_removed=0");
	ASSERT_ONE(VMA, OURS("start=%lu", (uintptr_t)high), scope_kv("pid=%d", child.pid));
	ASSERT_DEVICE(1, "memic_pages_used");

	ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults", "opcode=DEALLOC_MEMIC delay_ms=60000"));
	ASSERT_EQ(0, kill(child.pid, SIGKILL));
	process_waits(child.pid, "mlx5_cmd_dealloc_memic");
	unbind_start(&unbind, &self->bed.dev, UNBIND_RDMA);
	/* It has one context after the other, ours first, and of that the newest mapping. */
	caller_waits(&unbind.caller, "uverbs_user_mmap_disassociate");
	/* Past that: not for the address space but for a command, to free a UAR of ours. */
	caller_waits(&unbind.caller, "mlx5_cmd_exec");
	process_waits(child.pid, "mlx5_cmd_dealloc_memic");
	ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults", "clear"));
	unbind_end(&unbind);
	ASSERT_EQ(child.pid, waitpid(child.pid, NULL, 0));
	ASSERT_EQ(0, close(child.sock));
	ASSERT_AT_BASELINE(UNBIND_RDMA);
	ASSERT_DISASSOCIATED(2);
	ASSERT_EQ(0, munmap(area, 4 * self->page_size));
	ASSERT_EQ(0, ibv_close_device(other));
}

/*
 * ATT-14: A region on a dma-buf of another exporter goes with its device: it is
 * deregistered, unmapped and detached, and an invalidation afterwards finds nobody.
 */
TEST_F_TIMEOUT(disassociate, att_14_importer_goes_first, TIMEOUT)
{
	struct dmabuf_importer_export export = { .size = DM_SIZE };
	struct dmabuf_importer_export_query query;
	struct dmabuf_sign sign;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint64_t ino;

	need_importer(self->imp);
	importer_export(self->imp, &export);
	ino = dmabuf_inode(export.fd);
	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	mr_reg_dmabuf(pd, 0, DM_SIZE, export.fd, &mr);
	importer_export_query(self->imp, export.id, &query);
	ASSERT_EQ(1U, query.attaches);
	ASSERT_EQ(1U, query.maps);
	ASSERT_EQ(0U, query.unmaps);
	ASSERT_EQ(2, fdinfo_count(export.fd));
	unbind(&self->bed.dev, UNBIND_RDMA);
	ASSERT_AT_BASELINE(UNBIND_RDMA);
	importer_export_query(self->imp, export.id, &query);
	ASSERT_EQ(1U, query.detaches);
	ASSERT_EQ(1U, query.unmaps);
	ASSERT_EQ(query.pins, query.unpins);
	ASSERT_EQ(1, dmabuf_look(ino, &sign));
	ASSERT_EQ(0, sign.attachments);
	ASSERT_EQ(1, fdinfo_count(export.fd));
	importer_invalidate(self->imp, export.id, DMABUF_IMPORTER_REVOKE |
			    DMABUF_IMPORTER_WAIT_FENCES | DMABUF_IMPORTER_WAIT_UNMAPPED, 0);
	ASSERT_DISASSOCIATED(2);
	mr_dereg(mr);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
	ASSERT_EQ(0, close(export.fd));
}

/* The device goes while a queue pair waits for a page fault that nobody was told of. */
static void go_with_page_fault(struct __test_metadata *_metadata,
			       struct _test_data_disassociate *self, enum unbind_from from)
{
	struct dmabuf_importer_export export = { .size = DM_SIZE };
	struct dmabuf_importer_export_query query;
	struct page_faults before;
	struct region buffer = { .len = DM_SIZE };
	struct region other;
	struct ibv_send_wr wr;
	struct end a, b;
	struct ibv_pd *pd;

	page_faults_take(&self->bed.dev, &before);
	importer_export(self->imp, &export);
	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	mr_reg_dmabuf(pd, 0, DM_SIZE, export.fd, &buffer.mr);
	region_make(pd, DM_SIZE, 0, CONNECTION_ALL_ACCESS, &other);
	end_make(pd, &connection_defaults, &a);
	end_make(pd, &connection_defaults, &b);
	end_connect(&a, &b, &connection_defaults);
	end_connect(&b, &a, &connection_defaults);
	importer_invalidate(self->imp, export.id, DMABUF_IMPORTER_MOVE, 0);
	page_faults_hold(&self->bed.dev);
	wr = rdma(IBV_WR_RDMA_WRITE, &other);
	post(&a, &wr, &buffer);
	page_faults_held(&self->bed.dev, 1);
	unbind(&self->bed.dev, from);
	ASSERT_AT_BASELINE(from);
	ASSERT_PAGE_FAULTS(&self->bed.dev, &before, .raised = 1, .dropped = 1);
	page_faults_tell(&self->bed.dev);
	importer_export_query(self->imp, export.id, &query);
	ASSERT_EQ(1U, query.attaches);
	ASSERT_EQ(1U, query.detaches);
	ASSERT_EQ(1U, query.maps);
	ASSERT_EQ(1U, query.unmaps);
	ASSERT_DISASSOCIATED(2);
	end_destroy(&a);
	end_destroy(&b);
	mr_dereg(buffer.mr);
	region_destroy(&other);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
	ASSERT_EQ(0, close(export.fd));
}

/*
 * ATT-26, ATT-14: The device goes while a queue pair waits for a page fault of a region
 * that its exporter has moved, of which the driver has not been told: it never is.
 */
TEST_F_TIMEOUT(disassociate, att_26_waits_for_a_page_fault, TIMEOUT)
{
	go_with_page_fault(_metadata, self, UNBIND_RDMA);
}

/* ATT-26, ATT-14: The same of the function, as when the device's module is unloaded. */
TEST_F_TIMEOUT(disassociate, att_26_function_waits_for_a_page_fault, TIMEOUT)
{
	go_with_page_fault(_metadata, self, UNBIND_FUNCTION);
}

/*
 * DMABUF-14: A dma-buf keeps the module that exported it, which is ib_uverbs, and not the
 * driver; nor does a context keep that.
 */
TEST_F_TIMEOUT(disassociate, dmabuf_14_module_references, TIMEOUT)
{
	const int driver = module_refcount("mlx5_ib");
	int exporter, fd, copy;
	struct ibv_dm *dm;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	exporter = module_refcount("ib_uverbs");
	ASSERT_LE(0, driver);
	ASSERT_LT(0, exporter);
	dmabuf_export(dm, &fd);
	ASSERT_EQ(exporter + 1, module_refcount("ib_uverbs"));
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	ASSERT_LE(0, copy);
	ASSERT_EQ(exporter + 1, module_refcount("ib_uverbs"));
	ASSERT_EQ(0, close(copy));
	ASSERT_EQ(driver, module_refcount("mlx5_ib"));
	dm_free(dm);
	ASSERT_EQ(exporter + 1, module_refcount("ib_uverbs"));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(exporter, module_refcount("ib_uverbs"));
	ASSERT_EQ(driver, module_refcount("mlx5_ib"));
}

/*
 * A dma-buf of device memory when the device goes; who has it, and from which driver
 * it is taken.
 */
FIXTURE(disassociate_dmabuf)
{
	struct bed bed;
	struct kernel_counts counts;
	struct ibv_context *ctx;
	int imp;
	int64_t seq;
};

FIXTURE_VARIANT(disassociate_dmabuf)
{
	enum unbind_from from;
	bool attached;
	bool mapped;
	bool region;
	uint32_t policy;
};

FIXTURE_VARIANT_ADD(disassociate_dmabuf, unattached) { .from = UNBIND_RDMA };
FIXTURE_VARIANT_ADD(disassociate_dmabuf, attached) { .from = UNBIND_RDMA, .attached = true };
FIXTURE_VARIANT_ADD(disassociate_dmabuf, mapped) {
	.from = UNBIND_RDMA, .attached = true, .mapped = true,
};
FIXTURE_VARIANT_ADD(disassociate_dmabuf, slow) {
	.from = UNBIND_RDMA, .attached = true, .mapped = true,
	.policy = DMABUF_IMPORTER_ON_RELEASE,
};
FIXTURE_VARIANT_ADD(disassociate_dmabuf, region) { .from = UNBIND_RDMA, .region = true };
FIXTURE_VARIANT_ADD(disassociate_dmabuf, function) {
	.from = UNBIND_FUNCTION, .attached = true, .mapped = true, .region = true,
	.policy = DMABUF_IMPORTER_ON_RELEASE,
};

FIXTURE_SETUP(disassociate_dmabuf)
{
	self->imp = -1;
	room_make(_metadata, ROOM(self));
}

FIXTURE_TEARDOWN(disassociate_dmabuf)
{
	room_unmake_leaky(_metadata, ROOM(self));
}

/*
 * DMABUF-13, ATT-15, ATT-07, ATT-08, DMABUF-06: The dma-buf is revoked, who has it mapped is
 * told, and the removal waits until nobody has.  The descriptor stays, attaching works, and
 * mapping fails, also for a region on the next device.
 */
TEST_F_TIMEOUT(disassociate_dmabuf, dmabuf_13_removal, TIMEOUT)
{
	const bool slow = variant->policy == DMABUF_IMPORTER_ON_RELEASE;
	struct ibv_context *other = NULL, *later;
	const int mapped = variant->mapped + variant->region;
	const int attached = variant->attached + variant->region;
	struct dmabuf_importer_query query;
	struct vhca_object memic;
	struct dmabuf_sign sign;
	struct ibv_mr *mr = NULL;
	uint32_t id = 0, late;
	struct unbind unbind;
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	uint64_t ino;
	int fd;

	need_importer(self->imp);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "memic", self->seq, &memic));
	dmabuf_export(dm, &fd);
	ino = dmabuf_inode(fd);
	if (variant->attached)
		importer_attach(self->imp, self->bed.dev.pci, fd, DMABUF_IMPORTER_PEER2PEER,
				variant->policy, &id);
	if (variant->mapped)
		importer_map(self->imp, id);
	if (variant->region) {
		other = device_open(&self->bed.dev);
		ASSERT_NE(NULL, other);
		pd = ibv_alloc_pd(other);
		ASSERT_NE(NULL, pd);
		mr_reg_dmabuf(pd, 0, DM_SIZE, fd, &mr);
	}
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"),
		   scope_kv("ref=2 state=live kref=%d revoked=0 file_ref=%d", 1 + mapped,
			    1 + attached));
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=3 vmas=1 dmabufs=1 driver_removed=0");
	ASSERT_COUNT(mapped, ATTACH, OURS("ino=%lu mapped=1", ino));

	unbind_start(&unbind, &self->bed.dev, variant->from);
	if (slow) {
		importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id,
			       DMABUF_IMPORTER_MAPPED);
		caller_waits(&unbind.caller, "uverbs_dmabuf_fd_destroy_uobj");
		ASSERT_FALSE(caller_is_done(&unbind.caller));
		ASSERT_EQ(0, vhca_count_since(&self->bed.dev, self->seq, VHCA_DEALLOC_MEMIC,
					      memic.id));
		LOOK();
		ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "kref=1 revoked=1");
		ASSERT_ONE(UFILE, OUR_UFILE, "state=destroying");
		importer_release(self->imp, id);
	}
	unbind_end(&unbind);
	ASSERT_AT_BASELINE(variant->from);
	ASSERT_DISASSOCIATED(3);
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=1 state=dead kref=0 revoked=1");
	if (variant->attached) {
		importer_query(self->imp, id, &query);
		ASSERT_EQ(0U, query.state);
		ASSERT_EQ(1U, query.invalidations);
		ASSERT_EQ((uint32_t)variant->mapped, query.unmaps);
	}
	/* The region has gone with its own ufile. */
	ASSERT_EQ(1, dmabuf_look(ino, &sign));
	ASSERT_EQ((int)variant->attached, sign.attachments);
	ASSERT_EQ(1L + variant->attached, sign.files);

	importer_attach(self->imp, self->bed.dev.pci, fd, DMABUF_IMPORTER_PEER2PEER, 0, &late);
	importer_map_err(ENODEV, self->imp, late);
	if (variant->attached)
		importer_map_err(ENODEV, self->imp, id);
	bind_again(&self->bed.dev);
	later = device_open(&self->bed.dev);
	ASSERT_NE(NULL, later);
	pd = ibv_alloc_pd(later);
	ASSERT_NE(NULL, pd);
	mr_reg_dmabuf_err(ENODEV, pd, 0, DM_SIZE, fd);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
	ASSERT_EQ(0, ibv_close_device(later));
	importer_map_err(ENODEV, self->imp, late);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=1 state=dead kref=0 revoked=1");
	importer_detach(self->imp, late);
	if (variant->attached)
		importer_detach(self->imp, id);
	if (other)
		ASSERT_EQ(0, ibv_close_device(other));
	dm_free(dm);
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, dmabuf_look(ino, &sign));
}

/* A dma-buf that is still there when all that it names has gone. */
FIXTURE(disassociate_outlived)
{
	struct bed bed;
	struct kernel_counts counts;
	struct ibv_context *ctx;
	int imp;
	int64_t seq;
};

FIXTURE_SETUP(disassociate_outlived)
{
	self->imp = -1;
	room_make(_metadata, ROOM(self));
}

FIXTURE_TEARDOWN(disassociate_outlived)
{
	room_unmake_leaky(_metadata, ROOM(self));
}

#define JUNK_IOCTLS	200

/* All that can be done with a dma-buf's descriptor, and then what means nothing. */
static void use_dmabuf(struct __test_metadata *_metadata, int fd, int imp, const char *pci,
		       unsigned int seed)
{
	struct dma_buf_export_sync_file export = { .flags = DMA_BUF_SYNC_RW };
	struct dma_buf_import_sync_file import = { .flags = DMA_BUF_SYNC_READ };
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ };
	struct pollfd pfd = { .fd = fd, .events = POLLIN | POLLOUT };
	uint64_t junk[64];
	struct stat st;
	uint32_t id;
	int i;

	ASSERT_EQ(0, fstat(fd, &st));
	ASSERT_EQ(DM_SIZE, lseek(fd, 0, SEEK_END));
	ASSERT_EQ(0, lseek(fd, 0, SEEK_SET));
	ASSERT_EQ(MAP_FAILED, mmap(NULL, DM_SIZE, PROT_READ, MAP_SHARED, fd, 0));
	ASSERT_EQ(EINVAL, errno);
	ASSERT_EQ(-1, read(fd, junk, sizeof(junk)));
	ASSERT_EQ(-1, write(fd, junk, sizeof(junk)));
	ASSERT_EQ(1, poll(&pfd, 1, 0));
	ASSERT_EQ(0, ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ;
	ASSERT_EQ(0, ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
	ASSERT_EQ(0, ioctl(fd, DMA_BUF_SET_NAME_B, "outlived"));
	ASSERT_EQ(0, ioctl(fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export));
	import.fd = export.fd;
	ASSERT_EQ(0, ioctl(fd, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import));
	ASSERT_EQ(0, close(export.fd));
	ASSERT_EQ(1, fdinfo_count(fd));
	importer_attach(imp, pci, fd, DMABUF_IMPORTER_PEER2PEER, 0, &id);
	importer_map_err(ENODEV, imp, id);
	importer_pin_err(EOPNOTSUPP, imp, id);
	ASSERT_EQ(2, fdinfo_count(fd));
	importer_detach(imp, id);
	importer_attach_err(EOPNOTSUPP, imp, pci, fd, DMABUF_IMPORTER_STATIC, 0);
	ASSERT_EQ(1, fdinfo_count(fd));

	for (i = 0; i < JUNK_IOCTLS; i++) {
		const unsigned long cmd = _IOC(rand_r(&seed) & 3, DMA_BUF_BASE,
					       4 + rand_r(&seed) % 252, rand_r(&seed) % 512);

		memset(junk, rand_r(&seed), sizeof(junk));
		ASSERT_EQ(-1, ioctl(fd, cmd, i & 1 ? junk : (void *)(uintptr_t)rand_r(&seed)));
		ASSERT_EQ(ENOTTY, errno);
	}
}

static int module_unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

/*
 * DMABUF-16, DMABUF-15, DMABUF-14, DMABUF-06: A descriptor of a dma-buf is safe when its
 * memory was freed, its context closed, its device taken away, and its driver unloaded. It
 * keeps ib_uverbs, whose functions it needs, and nothing else.
 */
TEST_F_TIMEOUT(disassociate_outlived, dmabuf_16_everything_gone, TIMEOUT)
{
	const char *text = getenv("SEED"), *pci = self->bed.dev.pci;
	const unsigned int seed = text ? strtoul(text, NULL, 0) : (unsigned long)time(NULL);
	struct vhca_object memic;
	struct ibv_dm *dm;
	int exporter, fd;

	need_importer(self->imp);
	TH_LOG("SEED=%u", seed);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "memic", self->seq, &memic));
	dmabuf_export(dm, &fd);
	dm_free(dm);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=2 state=live kref=0 revoked=1 file_ref=1");
	ASSERT_ONE(MMAP, OURS("kind=MEMIC"), "ref=1 vmas=0 dmabufs=0 driver_removed=1");
	use_dmabuf(_metadata, fd, self->imp, pci, seed);

	ASSERT_EQ(0, ibv_close_device(self->ctx));
	self->ctx = NULL;
	LOOK();
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=1 state=closed file_open=0 listed=0");
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=1 state=dead kref=0 revoked=1");
	ASSERT_EQ(1, vhca_count_since(&self->bed.dev, self->seq, VHCA_DEALLOC_MEMIC, memic.id));
	use_dmabuf(_metadata, fd, self->imp, pci, seed + 1);

	unbind(&self->bed.dev, UNBIND_FUNCTION);
	ASSERT_AT_BASELINE(UNBIND_FUNCTION);
	LOOK();
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=1 file_open=0 device=- listed=0");
	use_dmabuf(_metadata, fd, self->imp, pci, seed + 2);

	ASSERT_EQ(0, module_unload("mlx5_ib"));
	ASSERT_EQ(-1, module_refcount("mlx5_ib"));
	ASSERT_EQ(EAGAIN, module_unload("ib_uverbs"));
	use_dmabuf(_metadata, fd, self->imp, pci, seed + 3);
	ASSERT_EQ(0, system("modprobe mlx5_ib"));
	bind_again(&self->bed.dev);
	use_dmabuf(_metadata, fd, self->imp, pci, seed + 4);
	exporter = module_refcount("ib_uverbs");
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(exporter - 1, module_refcount("ib_uverbs"));
}

/* What threads do that export while the device goes. */
#define EXPORTERS	3
#define EXPORTS_MAX	1000
#define EXPORTS_BEFORE	30	/* by each, before the device goes */

struct exporter {
	pthread_t thread;
	int cmd_fd;
	off_t off;
	int fd[EXPORTS_MAX];
	int count;
	int err;
};

/* Until the device is gone; nothing is closed, as kernels before 7.3 cannot take it (L02). */
static void *export_until_gone(void *arg)
{
	struct exporter *e = arg;
	int count = 0, err = 0;

	while (!err && count < EXPORTS_MAX) {
		err = _raw_dmabuf_export(e->cmd_fd, e->off, &e->fd[count]);
		if (!err)
			__atomic_store_n(&e->count, ++count, __ATOMIC_RELEASE);
	}
	e->err = err;
	return NULL;
}

/*
 * CON-08, DMABUF-10: Exports until the device goes: each has a descriptor that was revoked,
 * or EIO; no other errno is seen.
 */
TEST_F_TIMEOUT(disassociate_outlived, con_08_exports, TIMEOUT)
{
	const struct timespec pause = { .tv_nsec = 1000 * 1000 };
	static const struct rlimit files = { EXPORTERS * EXPORTS_MAX + 100,
					     EXPORTERS * EXPORTS_MAX + 100 };
	static struct exporter exporter[EXPORTERS];
	struct raw_var var[EXPORTERS];
	int i, n, total = 0;
	uint32_t id;

	need_importer(self->imp);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));

	for (i = 0; i < EXPORTERS; i++) {
		raw_var_alloc(self->ctx->cmd_fd, 0, &var[i]);
		exporter[i].cmd_fd = self->ctx->cmd_fd;
		exporter[i].off = var[i].mmap_off;
		ASSERT_EQ(0, pthread_create(&exporter[i].thread, NULL, export_until_gone,
					    &exporter[i]));
	}
	for (i = 0; i < EXPORTERS; i++)
		while (__atomic_load_n(&exporter[i].count, __ATOMIC_ACQUIRE) < EXPORTS_BEFORE)
			nanosleep(&pause, NULL);
	unbind(&self->bed.dev, UNBIND_RDMA);
	for (i = 0; i < EXPORTERS; i++) {
		ASSERT_EQ(0, pthread_join(exporter[i].thread, NULL));
		if (exporter[i].count < EXPORTS_MAX)
			ASSERT_EQ(EIO, exporter[i].err);
		total += exporter[i].count;
	}
	ASSERT_AT_BASELINE(UNBIND_RDMA);
	ASSERT_DISASSOCIATED(2 + total);
	ASSERT_COUNT(total, UOBJ, OURS("type=DMABUF state=dead ref=1 kref=0 revoked=1"));
	for (i = 0; i < EXPORTERS; i++) {
		for (n = 0; n < exporter[i].count; n++) {
			if (n % 16 == 0) {
				importer_attach(self->imp, self->bed.dev.pci, exporter[i].fd[n],
						DMABUF_IMPORTER_PEER2PEER, 0, &id);
				importer_map_err(ENODEV, self->imp, id);
				importer_detach(self->imp, id);
			}
			ASSERT_EQ(0, close(exporter[i].fd[n]));
		}
	}
}

/* All kinds of objects at once, in two contexts and two processes. */
/* What device and driver say when the function leaves the bus. */
static const char *const vanished[] = {
	"mlx5_vhca: .*: (leaves the bus|virtual HCA)",
	"mlx5_core .*: (poll_health|print_health_info|mlx5_crdump_collect|mlx5_handle_bad_state):",
	"mlx5_core .*: (mlx5_health_try_recover|mlx5_error_sw_reset|mlx5_internal_err_ret_value):",
	"mlx5_core .*: (mlx5_health_wait_pci_up|mlx5_wait_for_pages|mlx5_uninit_one):",
	"mlx5_core .*: NIC IFC still",
	"infiniband .*: mlx5r_umr_post_send_wait:",
};

FIXTURE(disassociate_all)
{
	struct bed bed;
	struct kernel_counts counts;
	struct ibv_context *ctx;
	int imp;
	int64_t seq;
};

/*
 * @gone: the function has left the bus before, and the driver has found that out
 *
 * @no_regions: none is registered by then
 *
 * One that is unplugged with a region never goes (L38, slow_known.sh).
 * A driver that can no longer tell the device does not know how to take back an operation on
 * device memory (L20), and warns of what it has lost: there is none then.
 */
FIXTURE_VARIANT(disassociate_all)
{
	enum unbind_from from;
	bool gone;
	bool no_operation;
	bool no_regions;
};

FIXTURE_VARIANT_ADD(disassociate_all, rdma) { .from = UNBIND_RDMA };
FIXTURE_VARIANT_ADD(disassociate_all, function) { .from = UNBIND_FUNCTION };
FIXTURE_VARIANT_ADD(disassociate_all, remove) { .from = UNBIND_REMOVE };
FIXTURE_VARIANT_ADD(disassociate_all, gone)
{
	.from = UNBIND_REMOVE,
	.gone = true,
	.no_operation = true,
};

FIXTURE_VARIANT_ADD(disassociate_all, unplug)
{
	.from = UNBIND_UNPLUG,
	.no_operation = true,
	.no_regions = true,
};

FIXTURE_SETUP(disassociate_all)
{
	self->imp = -1;
	room_make(_metadata, ROOM(self));
}

FIXTURE_TEARDOWN(disassociate_all)
{
	room_unmake_leaky(_metadata, ROOM(self));
}

/*
 * VAR-15, VAR-16, DM-17, DM-16, DMABUF-13, ATT-15, UOBJ-07, UOBJ-09: Everything is alive: VARs
 * mapped here and in another process, one freed but mapped; device memory with a region,
 * with an operation that is mapped, exported, registered by another context and attached by
 * an importer; queues of all kinds.  The removal does not hang, the device holds nothing of it
 * afterwards, and all that is left can be freed.
 */
TEST_F_TIMEOUT(disassociate_all, var_15_dm_17_dmabuf_13_all_live, TIMEOUT)
{
	struct mlx5dv_alloc_dm_attr icm_attr = { .type = MLX5DV_DM_TYPE_STEERING_SW_ICM };
	struct ibv_alloc_dm_attr dm_attr = { .length = DM_SIZE };
	struct dmabuf_importer_query query;
	struct ibv_dm *exported, *icm;
	uint8_t blob[VAR_BLOB_MAX] = {};
	struct ibv_context *other;
	struct mlx5dv_var *freed;
	struct ibv_mr *region;
	struct peer_var theirs;
	uint32_t *map[2], id;
	struct objects o, p;
	struct peer peer;
	uint64_t addr, began;
	int fd, handles;
	size_t length, i;
	void *op = NULL;

	need_importer(self->imp);
	if (variant->no_operation)
		for (i = 0; i < ARRAY_SIZE(vanished); i++)
			marker_expect(vanished[i]);
	other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, other);
	objects_make(_metadata, self->ctx, &o);
	objects_make(_metadata, other, &p);
	var_map(self->ctx, o.dv_var, &map[0]);
	var_alloc(self->ctx, 0, &freed);
	length = freed->length;
	var_map(self->ctx, freed, &map[1]);
	mlx5dv_free_var(freed);
	peer_start(&peer);
	peer_import(&peer, self->ctx);
	var_export(o.dv_var, blob);
	peer_var_import(&peer, blob, &theirs);
	peer_var_map(&peer, &theirs, &addr);
	if (!variant->no_operation)
		dm_map_op(o.dm, 0, &op);
	dm_alloc(self->ctx, DM_SIZE, &exported);
	dmabuf_export(exported, &fd);
	importer_attach(self->imp, self->bed.dev.pci, fd, DMABUF_IMPORTER_PEER2PEER,
			DMABUF_IMPORTER_AT_ONCE, &id);
	importer_map(self->imp, id);
	mr_reg_dmabuf(p.pd, 0, DM_SIZE, fd, &region);
	icm = mlx5dv_alloc_dm(self->ctx, &dm_attr, &icm_attr);
	if (!icm)
		ASSERT_EQ(EOPNOTSUPP, errno);
	LOOK();
	handles = scope_count(&self->counts.scope, UOBJSCOPE_UOBJ, OURS("class=idr state=live"));
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=2 kref=3 revoked=0");
	ASSERT_COUNT(2, ATTACH, OURS("mapped=1"));
	if (op)
		ASSERT_ONE(MMAP, OURS("kind=MEMIC_OP"), "ref=2 vmas=1");
	ASSERT_ONE(MMAP, OURS("kind=VAR page_id=%u", o.dv_var->page_id), "ref=3 vmas=2");

	if (variant->no_regions) {
		mr_dereg(region);
		mr_dereg(o.dm_mr);
		mr_dereg(o.mr);
		mr_dereg(p.dm_mr);
		mr_dereg(p.mr);
		LOOK();
		handles = scope_count(&self->counts.scope, UOBJSCOPE_UOBJ,
				      OURS("class=idr state=live"));
	}
	if (variant->gone) {
		ASSERT_EQ(0, vhca_write(&self->bed.dev, "function", "gone"));
		ASSERT_EQ(IBV_EVENT_DEVICE_FATAL, event_wait(self->ctx));
	}
	began = milliseconds();
	unbind(&self->bed.dev, variant->from);
	TH_LOG("note: the removal took %ld ms", (long)(milliseconds() - began));
	ASSERT_AT_BASELINE(variant->from);
	/* Its file, two event files, a completion channel, a dma-buf. */
	ASSERT_DISASSOCIATED(5);
	ASSERT_COUNT(handles, UOBJ, OURS("class=idr state=dead ref=1"));
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "state=dead kref=0 revoked=1");
	importer_query(self->imp, id, &query);
	ASSERT_EQ(1U, query.invalidations);
	ASSERT_EQ(1U, query.unmaps);
	ASSERT_EQ(0U, query.state);
	ASSERT_EQ(0, touch_write(map[0], 3));
	ASSERT_WORD(3, map[1]);
	peer_poke(&peer, addr, 4);
	ASSERT_WORD(4, map[1]);

	/* By the library, in the order in which a program would. */
	unmap(map[0], o.dv_var->length);
	unmap(map[1], length);
	peer_end(&peer);
	if (!variant->no_regions) {
		mr_dereg(region);
		mr_dereg(o.dm_mr);
		mr_dereg(o.mr);
	}
	if (op)
		dm_unmap_op(op, DM_SIZE);
	if (icm)
		dm_free(icm);
	dm_free(o.dm);
	dm_free(exported);
	mlx5dv_free_var(o.dv_var);
	raw_var_free(self->ctx->cmd_fd, o.var.handle);
	end_destroy(&o.end);
	ASSERT_EQ(0, ibv_destroy_srq(o.srq));
	ASSERT_EQ(0, ibv_destroy_comp_channel(o.channel));
	ASSERT_EQ(0, ibv_dealloc_pd(o.pd));
	importer_detach(self->imp, id);
	/* Of the other context nothing is freed but by its close. */
	ASSERT_EQ(0, ibv_destroy_comp_channel(p.channel));
	ibv_unimport_dm(p.dm);
	ASSERT_EQ(0, ibv_close_device(other));
	ASSERT_EQ(0, close(fd));
}

/*
 * ATT-04, ATT-09: The first region of a device that was just probed finds the driver's own
 * queues missing, and the device has none to give.  Nothing is left of it, and the next one
 * asks for them again.
 */
TEST_F_TIMEOUT(disassociate, att_04_first_region_of_a_device, TIMEOUT)
{
	static const char * const refused[] = {
		"opcode=CREATE_CQ status=limits_exceeded\n",
		"opcode=CREATE_QP status=limits_exceeded\n",
		"opcode=RST2INIT_QP status=limits_exceeded\n",
		"opcode=CREATE_EQ status=limits_exceeded\n",
	};
	struct dmabuf_importer_export export = { .size = DM_SIZE };
	struct dmabuf_importer_export_query query;
	struct ibv_context *ctx;
	struct rebind rebind;
	struct ibv_mr *mr;
	struct ibv_pd *pd;
	int qps, now;
	unsigned int i;

	need_importer(self->imp);
	marker_expect("mlx5_core .*: mlx5_cmd_out_err:.* status limits exceeded");
	marker_expect("infiniband .*: (create_qp:|mlx5r_umr_)");
	importer_export(self->imp, &export);
	ASSERT_EQ(0, rebind_find(&rebind, &self->bed.dev));
	ASSERT_EQ(0, rebind_unbind(&rebind));
	ASSERT_EQ(0, rebind_bind(&rebind));
	ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, ctx);
	pd = ibv_alloc_pd(ctx);
	ASSERT_NE(NULL, pd);
	ASSERT_EQ(0, rest_ledger_delta(&self->bed.dev, &self->bed.before, "qp", &qps));
	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults", refused[i]));
		mr_reg_dmabuf_err(ENOMEM, pd, 0, DM_SIZE, export.fd);
		importer_export_query(self->imp, export.id, &query);
		ASSERT_EQ(query.attaches, query.detaches);
		ASSERT_EQ(query.maps, query.unmaps);
		ASSERT_EQ(0, rest_ledger_delta(&self->bed.dev, &self->bed.before, "qp", &now));
		/* The last one is about page faults; the queues for work are there by then. */
		ASSERT_EQ(qps + (i == ARRAY_SIZE(refused) - 1), now)
			TH_LOG("%s", refused[i]);
	}
	mr_reg_dmabuf(pd, 0, DM_SIZE, export.fd, &mr);
	importer_export_query(self->imp, export.id, &query);
	ASSERT_EQ(query.attaches, query.detaches + 1);
	mr_dereg(mr);
	importer_export_query(self->imp, export.id, &query);
	ASSERT_EQ(query.attaches, query.detaches);
	ASSERT_EQ(query.maps, query.unmaps);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
	ASSERT_EQ(0, ibv_close_device(ctx));
	ASSERT_EQ(0, close(export.fd));
	/* What it makes once is there again for who comes next. */
	ASSERT_EQ(0, device_warm_up(&self->bed.dev));
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
