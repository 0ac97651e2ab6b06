// SPDX-License-Identifier: GPL-2.0
/*
 * Page faults of the device on memory regions: on a dma-buf whose exporter has moved it,
 * and on memory of the process that was registered on demand.
 *
 * The exporter calls invalidate_mappings() of mlx5_ib, which takes the translations out of
 * the key and gives the mapping back (mlx5_ib_dmabuf_invalidate_cb() in hw/mlx5/mr.c).  The
 * next access is a page fault, for which mlx5_ib maps the dma-buf anew and writes the
 * translations (pagefault_dmabuf_mr() in hw/mlx5/odp.c).
 *
 * A fault can be kept in three places: the device holds the event back, the exporter has
 * the driver wait in its map operation, or the command that resumes is delayed.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/caller.h"
#include "common/connection.h"
#include "common/dmabuf_counts.h"
#include "common/importer.h"
#include "common/page_faults.h"
#include "common/process.h"
#include "common/worker.h"

#define SIZE		16384
#define SEED		7
#define OTHER_SEED	101
#define STALL_MS	30000
/* More than one piece of a message, and more than a few translations. */
#define BIG		(256 << 10)
#define ROUNDS		50

FIXTURE(refault)
{
	struct bed bed;
	struct kernel_counts counts;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct page_faults before;
	int imp;
	struct dmabuf_importer_export export;
	uint64_t ino;
	struct region buffer;	/* the dma-buf, as the device names it */
	struct region view;	/* and as this process sees it */
	struct region other;	/* memory of the process */
	struct end a;
	struct end b;
	struct ibv_wc wc;
};

FIXTURE_SETUP(refault)
{
	const char *missing = importer_missing();

	self->imp = -1;
	self->export.fd = -1;
	if (!bed_make(_metadata, &self->bed, true) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	if (missing) {
		bed_mark(_metadata, "end");
		SKIP(return, "%s", missing);
	}
	/* A test that ran out of time has not told of them. */
	page_faults_tell(&self->bed.dev);
	ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults", "clear"));
	page_faults_take(&self->bed.dev, &self->before);
	ASSERT_EQ(0, _importer_open(&self->imp));
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	self->pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, self->pd);
	counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
	region_make(self->pd, SIZE, 0, CONNECTION_ALL_ACCESS, &self->other);
	end_make(self->pd, &connection_defaults, &self->a);
	end_make(self->pd, &connection_defaults, &self->b);
	end_connect(&self->a, &self->b, &connection_defaults);
	end_connect(&self->b, &self->a, &connection_defaults);
}

/* What a test has let go of is NULL or -1. */
FIXTURE_TEARDOWN(refault)
{
	EXPECT_EQ(0, vhca_write(&self->bed.dev, "page_faults", "tell"));
	EXPECT_EQ(0, vhca_write(&self->bed.dev, "faults", "clear"));
	if (_metadata->exit_code == KSFT_PASS) {
		if (self->a.qp)
			EXPECT_EQ(0, _end_destroy(&self->a));
		if (self->b.qp)
			EXPECT_EQ(0, _end_destroy(&self->b));
		if (self->buffer.mr)
			EXPECT_EQ(0, ibv_dereg_mr(self->buffer.mr));
		if (self->view.data)
			EXPECT_EQ(0, munmap(self->view.data, SIZE));
		if (self->export.fd >= 0)
			EXPECT_EQ(0, close(self->export.fd));
		EXPECT_EQ(0, close(self->imp));
		EXPECT_EQ(0, _region_destroy(&self->other));
		EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
		EXPECT_EQ(0, ibv_close_device(self->ctx));
	}
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

static int register_buffer(void *arg)
{
	struct _test_data_refault *self = arg;

	self->buffer.mr = ibv_reg_dmabuf_mr(self->pd, 0, SIZE, 0, self->export.fd,
					    CONNECTION_ALL_ACCESS);
	return self->buffer.mr ? 0 : errno;
}

/* Export a buffer, as described; map it here; register it, which is its first mapping. */
#define make_buffer(...) \
do { \
	struct caller __caller; \
	self->export = (struct dmabuf_importer_export){ .size = SIZE, __VA_ARGS__ }; \
	importer_export(self->imp, &self->export); \
	self->ino = dmabuf_inode(self->export.fd); \
	self->view.data = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, \
			       self->export.fd, 0); \
	ASSERT_NE(MAP_FAILED, (void *)self->view.data); \
	self->view.len = SIZE; \
	self->buffer.len = SIZE; \
	caller_start(&__caller, register_buffer, self); \
	if (self->export.map_stall_ms) { \
		importer_event(self->imp, DMABUF_IMPORTER_EVENT_MAP_STALL, self->export.id, 0); \
		importer_export_resume(self->imp, self->export.id); \
		importer_event(self->imp, DMABUF_IMPORTER_EVENT_MAP_RESUME, self->export.id, 0); \
	} \
	caller_end(&__caller, 0); \
	fill(); \
} while (0)

#define fill() \
do { \
	region_fill(&self->view, SEED); \
	region_fill(&self->other, OTHER_SEED); \
} while (0)

#define ASSERT_HOLDS(region, seed) \
	ASSERT_TRUE(region_holds(region, 0, SIZE, seed, 0))

/* Have the exporter move the buffer, or make that it can never be mapped again. */
#define move_buffer() \
	importer_invalidate(self->imp, self->export.id, DMABUF_IMPORTER_MOVE, 0)
#define revoke_buffer() \
	importer_invalidate(self->imp, self->export.id, DMABUF_IMPORTER_REVOKE, 0)

/*
 * One attachment, as it was from the start; so many mappings of which one is there or
 * none; and the key has translations accordingly.
 */
#define ASSERT_BUFFER(map_count, unmap_count) \
do { \
	struct dmabuf_importer_export_query __query; \
	struct dmabuf_sign __sign; \
	importer_export_query(self->imp, self->export.id, &__query); \
	ASSERT_EQ((uint32_t)(map_count), __query.maps); \
	ASSERT_EQ((uint32_t)(unmap_count), __query.unmaps); \
	ASSERT_EQ(1U, __query.attaches); \
	ASSERT_EQ(0U, __query.detaches); \
	ASSERT_EQ(1, dmabuf_look(self->ino, &__sign)); \
	ASSERT_EQ(1, __sign.attachments); \
	ASSERT_TRANSLATES((map_count) > (unmap_count), mr_mkey(self->buffer.mr)); \
} while (0)

#define ASSERT_FAULTS(...) \
	ASSERT_PAGE_FAULTS(&self->bed.dev, &self->before, __VA_ARGS__)

/* One fault that was served. */
#define ASSERT_SERVED(count) \
	ASSERT_FAULTS(.raised = (count), .told = (count), .resumed = (count))

/* Take the region away; what the exporter has counted in the end adds up. */
#define drop_buffer() \
do { \
	mr_dereg(self->buffer.mr); \
	self->buffer.mr = NULL; \
	ASSERT_FINISHED(); \
} while (0)

#define ASSERT_FINISHED() \
do { \
	struct dmabuf_importer_export_query __last; \
	importer_export_query(self->imp, self->export.id, &__last); \
	ASSERT_EQ(1U, __last.detaches); \
	ASSERT_EQ(__last.maps, __last.unmaps); \
	ASSERT_EQ(__last.pins, __last.unpins); \
} while (0)

/* Take all of it away. */
#define forget_buffer() \
do { \
	if (self->buffer.mr) \
		drop_buffer(); \
	ASSERT_EQ(0, munmap(self->view.data, SIZE)); \
	self->view.data = NULL; \
	ASSERT_EQ(0, close(self->export.fd)); \
	self->export.fd = -1; \
} while (0)

/* Connect anew what has failed or was destroyed. */
#define renew_ends() \
do { \
	if (self->a.qp) \
		end_destroy(&self->a); \
	if (self->b.qp) \
		end_destroy(&self->b); \
	end_make(self->pd, &connection_defaults, &self->a); \
	end_make(self->pd, &connection_defaults, &self->b); \
	end_connect(&self->a, &self->b, &connection_defaults); \
	end_connect(&self->b, &self->a, &connection_defaults); \
} while (0)

/**
 * struct request - a request, and which of its two sides the buffer is on
 * @name: for diagnostics
 * @opcode: IBV_WR_*
 * @local: the sender's own memory is the buffer; else that of the other side
 * @received: a receive request is posted for it
 * @to_buffer: it writes to the buffer
 * @refused: what the sender is told where the fault cannot be served
 */
struct request {
	const char *name;
	enum ibv_wr_opcode opcode;
	bool local;
	bool received;
	bool to_buffer;
	enum ibv_wc_status refused;
};

static const struct request requests[] = {
	{ "write from it", IBV_WR_RDMA_WRITE, true, false, false, IBV_WC_LOC_PROT_ERR },
	{ "send from it", IBV_WR_SEND, true, true, false, IBV_WC_LOC_PROT_ERR },
	{ "read to it", IBV_WR_RDMA_READ, true, false, true, IBV_WC_LOC_PROT_ERR },
	{ "write to it", IBV_WR_RDMA_WRITE, false, false, true, IBV_WC_REM_ACCESS_ERR },
	{ "write to it, with immediate", IBV_WR_RDMA_WRITE_WITH_IMM, false, true, true,
	  IBV_WC_REM_ACCESS_ERR },
	{ "read from it", IBV_WR_RDMA_READ, false, false, false, IBV_WC_REM_ACCESS_ERR },
	{ "receive into it", IBV_WR_SEND, false, true, true, IBV_WC_REM_OP_ERR },
};

/* Post it; what comes of it is the caller's to wait for. */
#define post_request(r) \
do { \
	const struct region *__here = (r)->local ? &self->buffer : &self->other; \
	const struct region *__there = (r)->local ? &self->other : &self->buffer; \
	struct ibv_send_wr __wr = rdma((r)->opcode, __there); \
	if ((r)->received) \
		post_receive(&self->b, 2, (r)->opcode == IBV_WR_SEND ? __there : NULL); \
	post(&self->a, &__wr, __here); \
} while (0)

/* It succeeds, and what it was to move has arrived. */
#define finish_request(r) \
do { \
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc); \
	if ((r)->received) \
		end_wait(&self->b, 2, IBV_WC_SUCCESS, &self->wc); \
	ASSERT_HOLDS(&self->view, (r)->to_buffer ? OTHER_SEED : SEED) \
		TH_LOG("%s", (r)->name); \
	ASSERT_HOLDS(&self->other, (r)->to_buffer ? OTHER_SEED : SEED) \
		TH_LOG("%s", (r)->name); \
} while (0)

/* It fails, and nothing has moved. */
#define fail_request(r) \
do { \
	end_wait(&self->a, 1, (r)->refused, &self->wc); \
	ASSERT_HOLDS(&self->view, SEED); \
	ASSERT_HOLDS(&self->other, OTHER_SEED); \
} while (0)

/*
 * ATT-24: After the exporter has moved the buffer, the first request that needs it is a
 * page fault, whichever side of which operation it is; the region is mapped again, once,
 * by the attachment that it has, and the data is in the new pages.  The request after that
 * is none.
 */
TEST_F(refault, att_24_every_operation)
{
	unsigned int i;

	make_buffer();
	ASSERT_BUFFER(1, 0);
	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		const struct request *r = &requests[i];

		TH_LOG("%s", r->name);
		move_buffer();
		ASSERT_BUFFER(1 + i, 1 + i);
		post_request(r);
		finish_request(r);
		ASSERT_SERVED(1 + i);
		ASSERT_BUFFER(2 + i, 1 + i);
		fill();
		post_request(r);
		finish_request(r);
		ASSERT_SERVED(1 + i);
		ASSERT_BUFFER(2 + i, 1 + i);
		fill();
	}
	drop_buffer();
}

/* ATT-24: The same of atomic operations: each is executed once, at either side. */
TEST_F(refault, att_24_atomics)
{
	struct region here, there;
	uint64_t *view, *other;
	struct ibv_send_wr wr;

	make_buffer();
	view = (uint64_t *)self->view.data;
	other = (uint64_t *)self->other.data;
	*view = 1000;
	*other = 1;
	here = self->other;
	there = self->buffer;
	here.len = 8;
	there.len = 8;
	move_buffer();
	wr = atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, &there, 5, 0);
	post(&self->a, &wr, &here);
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
	ASSERT_EQ(1000UL, *other);
	ASSERT_EQ(1005UL, *view);
	ASSERT_SERVED(1);
	ASSERT_BUFFER(2, 1);

	/* The answer has no place: it waits, and the operation is not done again. */
	move_buffer();
	wr = atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, &here, 7, 0);
	post(&self->a, &wr, &there);
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
	ASSERT_EQ(1000UL, *view);
	ASSERT_EQ(1007UL, *other);
	ASSERT_SERVED(2);
	ASSERT_BUFFER(3, 2);
	drop_buffer();
}

/* ATT-24: The key leads to the new pages, as another importer of the buffer is told. */
TEST_F(refault, att_24_new_pages)
{
	const struct request *r = &requests[0];
	struct dmabuf_importer_entry entry;
	struct vhca_object old, new;
	uint32_t id, count = 1;

	make_buffer();
	ASSERT_EQ(1, vhca_find(&self->bed.dev, "mkey", mr_mkey(self->buffer.mr), &old));
	ASSERT_NE(0UL, old.leads_to);
	move_buffer();
	post_request(r);
	finish_request(r);
	ASSERT_EQ(1, vhca_find(&self->bed.dev, "mkey", mr_mkey(self->buffer.mr), &new));
	ASSERT_NE(old.leads_to, new.leads_to);
	importer_attach(self->imp, self->bed.dev.pci, self->export.fd, 0,
			DMABUF_IMPORTER_AT_ONCE, &id);
	importer_map(self->imp, id);
	importer_entries(self->imp, id, 0, &entry, &count);
	ASSERT_EQ(1U, count);
	ASSERT_EQ(entry.address, new.leads_to);
	importer_detach(self->imp, id);
	ASSERT_SERVED(1);
	mr_dereg(self->buffer.mr);
	self->buffer.mr = NULL;
}

/* One request from @here to @there, or the other way round, that succeeds. */
#define move_data(op, here, there) \
do { \
	struct ibv_send_wr __wr = rdma(op, there); \
	post(&self->a, &__wr, here); \
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc); \
} while (0)

/* Memory of so many bytes, registered with all rights. */
#define make_big(region, bytes) \
	region_make(self->pd, bytes, 0, CONNECTION_ALL_ACCESS, region)

/*
 * ATT-24: The pages are one block, then scattered, then one block again: the driver gives
 * the key another page size with its translations (mlx5r_umr_dmabuf_update_pgsz() in
 * hw/mlx5/umr.c), and every byte is where it was.
 */
TEST_F(refault, att_24_page_size)
{
	struct dmabuf_importer_export export = {
		.size = BIG, .flags = DMABUF_IMPORTER_EXPORT_CONTIGUOUS,
	};
	struct region buffer = { .len = BIG }, view = { .len = BIG }, other;
	unsigned int i;

	importer_export(self->imp, &export);
	view.data = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_SHARED, export.fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)view.data);
	buffer.mr = ibv_reg_dmabuf_mr(self->pd, 0, BIG, 0, export.fd, CONNECTION_ALL_ACCESS);
	ASSERT_NE(NULL, buffer.mr);
	make_big(&other, BIG);
	for (i = 0; i < 4; i++) {
		region_fill(&view, SEED + i);
		importer_invalidate(self->imp, export.id, DMABUF_IMPORTER_MOVE, 0);
		move_data(IBV_WR_RDMA_WRITE, &buffer, &other);
		ASSERT_TRUE(region_holds(&other, 0, BIG, SEED + i, 0));
		region_fill(&other, OTHER_SEED + i);
		move_data(IBV_WR_RDMA_WRITE, &other, &buffer);
		ASSERT_TRUE(region_holds(&view, 0, BIG, OTHER_SEED + i, 0));
		ASSERT_TRUE(region_is_guarded(&other));
		ASSERT_SERVED(1 + i);
	}
	mr_dereg(buffer.mr);
	region_destroy(&other);
	ASSERT_EQ(0, munmap(view.data, BIG));
	ASSERT_EQ(0, close(export.fd));
}

/*
 * ATT-24: The buffer is behind what is sent first: the fault comes when that has arrived,
 * and the driver is told how much to leave out.
 */
TEST_F(refault, att_24_second_segment)
{
	struct ibv_sge sge[2];
	struct ibv_send_wr wr;
	struct region from, to;

	make_buffer();
	make_big(&from, BIG);
	make_big(&to, BIG + SIZE);
	region_fill(&from, OTHER_SEED);
	sge[0] = (struct ibv_sge){ (uintptr_t)from.data, BIG, from.mr->lkey };
	sge[1] = (struct ibv_sge){ 0, SIZE, self->buffer.mr->lkey };
	wr = rdma(IBV_WR_RDMA_WRITE, &to);
	wr.sg_list = sge;
	wr.num_sge = 2;
	move_buffer();
	page_faults_hold(&self->bed.dev);
	post(&self->a, &wr, NULL);
	page_faults_held(&self->bed.dev, 1);
	ASSERT_TRUE(region_holds(&to, 0, BIG, OTHER_SEED, 0));
	page_faults_tell(&self->bed.dev);
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
	ASSERT_TRUE(region_holds(&to, BIG, SIZE, SEED, 0));
	ASSERT_TRUE(region_is_guarded(&to));
	ASSERT_SERVED(1);
	ASSERT_BUFFER(2, 1);
	region_destroy(&from);
	region_destroy(&to);
	drop_buffer();
}

/*
 * ATT-24: A process that asks for it has the region mapped before it is needed
 * (pagefault_mr() by ibv_advise_mr()): there is no fault then.  Of one that the exporter
 * does not map it is told why.
 */
TEST_F(refault, att_24_prefetch)
{
	struct ibv_sge sge = { .length = SIZE };

	make_buffer();
	sge.lkey = self->buffer.mr->lkey;
	move_buffer();
	ASSERT_BUFFER(1, 1);
	ASSERT_EQ(0, ibv_advise_mr(self->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				   IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1));
	ASSERT_BUFFER(2, 1);
	/* It finds the mapping there. */
	ASSERT_EQ(0, ibv_advise_mr(self->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				   IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1));
	ASSERT_BUFFER(2, 1);
	post_request(&requests[0]);
	finish_request(&requests[0]);
	ASSERT_FAULTS();
	revoke_buffer();
	ASSERT_EQ(ENODEV, ibv_advise_mr(self->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
					IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1));
	ASSERT_BUFFER(2, 2);
	drop_buffer();
}

/**
 * struct mover - moves a buffer again and again
 * @imp: the context of its exporter
 * @id: the export
 * @stop: until this is set
 * @moves: how often it has
 */
struct mover {
	int imp;
	uint32_t id;
	bool stop;
	unsigned int moves;
};

static int keep_moving(void *arg)
{
	struct mover *mover = arg;
	uint32_t mappings;
	int err = 0;

	while (!err && !__atomic_load_n(&mover->stop, __ATOMIC_ACQUIRE)) {
		err = _importer_invalidate(mover->imp, mover->id, DMABUF_IMPORTER_MOVE, 0,
					   &mappings);
		__atomic_add_fetch(&mover->moves, !err, __ATOMIC_RELEASE);
	}
	return err;
}

/*
 * ATT-24: The exporter moves it all the time, while requests go to and fro: none fails,
 * and what has arrived is in the buffer wherever that is by then.
 */
TEST_F(refault, att_24_under_way)
{
	struct dmabuf_importer_export_query query;
	struct mover mover = {};
	struct page_faults faults;
	struct caller caller;
	unsigned int i;

	make_buffer();
	mover.imp = self->imp;
	mover.id = self->export.id;
	caller_start(&caller, keep_moving, &mover);
	for (i = 0; i < ROUNDS; i++) {
		region_fill(&self->other, 1 + i % 250);
		move_data(IBV_WR_RDMA_WRITE, &self->other, &self->buffer);
		ASSERT_HOLDS(&self->view, 1 + i % 250);
		move_data(IBV_WR_RDMA_READ, &self->other, &self->buffer);
		ASSERT_HOLDS(&self->other, 1 + i % 250);
		move_data(IBV_WR_RDMA_READ, &self->buffer, &self->other);
		ASSERT_HOLDS(&self->view, 1 + i % 250);
	}
	__atomic_store_n(&mover.stop, true, __ATOMIC_RELEASE);
	caller_end(&caller, 0);
	ASSERT_EQ(0, _page_faults_since(&self->bed.dev, &self->before, &faults));
	importer_export_query(self->imp, self->export.id, &query);
	TH_LOG("%u moves, %u maps, %lu faults", mover.moves, query.maps,
	       (unsigned long)faults.raised);
	ASSERT_LT(0U, mover.moves);
	ASSERT_EQ(faults.raised, faults.told);
	ASSERT_EQ(faults.raised, faults.resumed);
	/* Each fault has mapped it, if it was not mapped already. */
	ASSERT_LE(query.maps, 1 + faults.raised);
	ASSERT_EQ(mover.moves, query.moves);
	drop_buffer();
}

/*
 * Requests by which the three kinds of faults are met: of the request itself, of its
 * answer, of the key that it names, and of what receives it.
 */
static const struct request * const kinds[] = {
	&requests[0], &requests[2], &requests[3], &requests[6],
};

/*
 * ATT-24: The exporter moves the buffer again while a request waits already.  There is no
 * mapping to be given back then, and the fault is served with the pages of the second move.
 */
TEST_F(refault, att_24_moved_while_it_waits)
{
	unsigned int i;

	make_buffer();
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		move_buffer();
		page_faults_hold(&self->bed.dev);
		post_request(kinds[i]);
		page_faults_held(&self->bed.dev, 1);
		move_buffer();
		ASSERT_BUFFER(1 + i, 1 + i);
		page_faults_tell(&self->bed.dev);
		finish_request(kinds[i]);
		ASSERT_SERVED(1 + i);
		ASSERT_BUFFER(2 + i, 1 + i);
		fill();
	}
	drop_buffer();
}

/* Has the device taken a command that it is to delay? */
static bool is_delayed(const struct device *dev)
{
	struct vhca_file file;
	bool delayed = false;

	if (!vhca_open(dev, "faults", &file)) {
		delayed = file.count && vhca_number(file.record[0], "hits");
		vhca_close(&file);
	}
	return delayed;
}

#define wait_for_delayed() \
do { \
	const struct timespec __pause = { .tv_nsec = 2 * 1000 * 1000 }; \
	int __tries; \
	for (__tries = 0; __tries < 10000 && !is_delayed(&self->bed.dev); __tries++) \
		nanosleep(&__pause, NULL); \
	ASSERT_TRUE(is_delayed(&self->bed.dev)); \
} while (0)

/*
 * ATT-24: The exporter moves the buffer when the fault was served and the device has not
 * been told yet.  What the device then finds is not present again: it is a second fault.
 */
TEST_F(refault, att_24_moved_before_resume)
{
	unsigned int i;

	make_buffer();
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		move_buffer();
		ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults",
					"opcode=PAGE_FAULT_RESUME delay_ms=600000"));
		post_request(kinds[i]);
		wait_for_delayed();
		ASSERT_BUFFER(2 + 2 * i, 1 + 2 * i);
		move_buffer();
		ASSERT_BUFFER(2 + 2 * i, 2 + 2 * i);
		ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults", "clear"));
		finish_request(kinds[i]);
		ASSERT_SERVED(2 + 2 * i);
		ASSERT_BUFFER(3 + 2 * i, 2 + 2 * i);
		fill();
	}
	drop_buffer();
}

/*
 * ATT-24: An exporter that cannot map just now says EAGAIN: the driver has the device try
 * again (pagefault_data_segments() and mlx5_ib_mr_rdma_pfault_handler() take it for an
 * invalidation that goes on), and the next fault is served.
 */
TEST_F(refault, att_24_exporter_says_again)
{
	struct dmabuf_importer_export_query query;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		make_buffer(.map_error = EAGAIN, .map_error_nth = 2);
		move_buffer();
		post_request(kinds[i]);
		finish_request(kinds[i]);
		ASSERT_SERVED(2 + 2 * i);
		ASSERT_BUFFER(2, 1);
		importer_export_query(self->imp, self->export.id, &query);
		ASSERT_EQ(1U, query.maps_failed);
		forget_buffer();
	}
}

/* A worker of the kernel that is in this function, or 0. */
static pid_t worker_in(const char *function)
{
	struct dirent *entry;
	DIR *proc = opendir("/proc");
	pid_t found = 0;

	while (proc && !found && (entry = readdir(proc))) {
		char path[300], *comm, *stack;

		if (!isdigit(entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		comm = text_read(path);
		snprintf(path, sizeof(path), "/proc/%s/stack", entry->d_name);
		stack = text_read(path);
		if (comm && stack && !strncmp(comm, "kworker", strlen("kworker")) &&
		    strstr(stack, function))
			found = atoi(entry->d_name);
		free(comm);
		free(stack);
	}
	if (proc)
		closedir(proc);
	return found;
}

/*
 * ATT-23, ATT-24: When it is mapped again the exporter may still be moving: the region is
 * not ready before the exporter's own fence is signalled.  It waits for no others.
 */
TEST_F(refault, att_23_fence)
{
	const struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };
	struct dmabuf_importer_export_query query;
	struct page_faults faults;
	uint32_t id, fence;
	pid_t worker = 0;
	int tries;

	make_buffer();
	importer_attach(self->imp, self->bed.dev.pci, self->export.fd, 0,
			DMABUF_IMPORTER_AT_ONCE, &id);
	importer_hold_fence(self->imp, id, DMABUF_IMPORTER_WRITE, STALL_MS, &fence);
	move_buffer();
	post_request(kinds[0]);
	finish_request(kinds[0]);
	ASSERT_SERVED(1);
	importer_signal(self->imp, fence);
	fill();

	importer_hold_fence(self->imp, id, DMABUF_IMPORTER_KERNEL, STALL_MS, &fence);
	move_buffer();
	post_request(kinds[2]);
	for (tries = 0; tries < 10000 && !worker; tries++) {
		nanosleep(&pause, NULL);
		worker = worker_in("dma_resv_wait_timeout");
	}
	ASSERT_NE(0, worker);
	process_waits(worker, "dma_resv_wait_timeout");
	importer_export_query(self->imp, self->export.id, &query);
	ASSERT_EQ(3U, query.maps);
	ASSERT_EQ(0, _page_faults_since(&self->bed.dev, &self->before, &faults));
	ASSERT_EQ(2UL, faults.told);
	ASSERT_EQ(1UL, faults.resumed);
	ASSERT_EQ(0, ibv_poll_cq(self->a.cq, 1, &self->wc));
	importer_signal(self->imp, fence);
	finish_request(kinds[2]);
	ASSERT_SERVED(2);
	importer_detach(self->imp, id);
	mr_dereg(self->buffer.mr);
	self->buffer.mr = NULL;
}

/*
 * ATT-25: The exporter will never map again: the request fails as one with a key that does
 * not allow it does, and nothing moves.  The region is there until it is deregistered.
 */
TEST_F(refault, att_25_revoked)
{
	struct dmabuf_importer_export_query query;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		const struct request *r = &requests[i];

		TH_LOG("%s", r->name);
		make_buffer();
		revoke_buffer();
		ASSERT_BUFFER(1, 1);
		post_request(r);
		fail_request(r);
		if (!r->local && r->opcode == IBV_WR_SEND)
			end_wait(&self->b, 2, IBV_WC_LOC_PROT_ERR, &self->wc);
		ASSERT_FAULTS(.raised = 1 + i, .told = 1 + i, .failed = 1 + i);
		ASSERT_BUFFER(1, 1);
		importer_export_query(self->imp, self->export.id, &query);
		ASSERT_EQ(1U, query.maps_failed);
		forget_buffer();
		renew_ends();
	}
}

/* ATT-25: An owner whose key was asked for hears of it. */
TEST_F(refault, att_25_event)
{
	enum ibv_event_type event;

	make_buffer();
	revoke_buffer();
	post_request(&requests[3]);
	fail_request(&requests[3]);
	ASSERT_EQ(0, _end_event(&self->b, &event));
	ASSERT_ENUM(IBV_EVENT_QP_ACCESS_ERR, event);
	ASSERT_ENUM(IBV_QPS_ERR, end_state(&self->a));
	ASSERT_ENUM(IBV_QPS_ERR, end_state(&self->b));
	ASSERT_FAULTS(.raised = 1, .told = 1, .failed = 1);
	drop_buffer();
}

/*
 * ATT-25: Any other errno than EAGAIN ends the request, ENOMEM too, though a comment above
 * pagefault_mr() would have it tried again.  The next queue pair's fault is served.
 */
TEST_F(refault, att_25_once)
{
	static const int errors[] = { ENOMEM, EIO, EFAULT };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		make_buffer(.map_error = errors[i], .map_error_nth = 2);
		move_buffer();
		post_request(kinds[i]);
		fail_request(kinds[i]);
		ASSERT_FAULTS(.raised = 1 + 2 * i, .told = 1 + 2 * i, .resumed = i,
			      .failed = 1 + i);
		ASSERT_BUFFER(1, 1);
		renew_ends();
		post_request(kinds[i]);
		finish_request(kinds[i]);
		ASSERT_FAULTS(.raised = 2 + 2 * i, .told = 2 + 2 * i, .resumed = 1 + i,
			      .failed = 1 + i);
		ASSERT_BUFFER(2, 1);
		forget_buffer();
	}
}

/* ATT-25: A transport that cannot stop has no page faults: the request fails at once. */
TEST_F(refault, att_25_unconnected)
{
	struct connection_options options = connection_defaults;

	make_buffer();
	end_destroy(&self->a);
	end_destroy(&self->b);
	options.type = IBV_QPT_UC;
	options.access = IBV_ACCESS_REMOTE_WRITE;
	end_make(self->pd, &options, &self->a);
	end_make(self->pd, &options, &self->b);
	end_connect(&self->a, &self->b, &options);
	end_connect(&self->b, &self->a, &options);
	move_buffer();
	post_request(&requests[0]);
	fail_request(&requests[0]);
	ASSERT_FAULTS();
	ASSERT_BUFFER(1, 1);
	drop_buffer();
}

static int deregister(void *arg)
{
	return ibv_dereg_mr(arg);
}

/*
 * ATT-26: The region is deregistered while a request waits.  The driver has not been told
 * yet: it finds no such region, lets the device go on, and that finds no such key.
 */
TEST_F(refault, att_26_deregistered_before)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		make_buffer();
		move_buffer();
		page_faults_hold(&self->bed.dev);
		post_request(kinds[i]);
		page_faults_held(&self->bed.dev, 1);
		drop_buffer();
		page_faults_tell(&self->bed.dev);
		fail_request(kinds[i]);
		ASSERT_SERVED(1 + i);
		forget_buffer();
		renew_ends();
	}
}

/*
 * Post it and have the driver wait for the exporter in the middle of the fault.  It has
 * the reservation object locked then, which is what bufinfo needs: see ASSERT_BUFFER().
 */
#define post_and_stall(r) \
do { \
	move_buffer(); \
	post_request(r); \
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_MAP_STALL, self->export.id, 0); \
} while (0)

#define end_stall() \
do { \
	importer_export_resume(self->imp, self->export.id); \
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_MAP_RESUME, self->export.id, 0); \
} while (0)

/* Does a thread wait for a reservation object? */
static bool wants_reservation(pid_t tid)
{
	char path[64], *stack;
	bool does;

	snprintf(path, sizeof(path), "/proc/%d/stack", tid);
	stack = text_read(path);
	does = !stack || strstr(stack, "ww_mutex");
	free(stack);
	return does;
}

/*
 * ATT-26: The driver is serving the fault: deregistering waits until it has.  The request
 * is the first or comes too late, and moves all or nothing.
 */
TEST_F(refault, att_26_deregistered_meanwhile)
{
	struct caller caller;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct request *r = kinds[i];
		bool done;

		make_buffer(.map_stall_ms = STALL_MS);
		post_and_stall(r);
		caller_start(&caller, deregister, self->buffer.mr);
		caller_waits(&caller, "mlx5_ib_dereg_mr");
		/* It waits for who uses the region, and has not begun to take it away. */
		ASSERT_FALSE(wants_reservation(caller.tid));
		end_stall();
		caller_end(&caller, 0);
		self->buffer.mr = NULL;
		ASSERT_FINISHED();
		ASSERT_EQ(0, _end_wait(&self->a, &self->wc));
		done = self->wc.status == IBV_WC_SUCCESS;
		if (!done)
			ASSERT_ENUM(r->refused, self->wc.status);
		ASSERT_HOLDS(&self->view, done && r->to_buffer ? OTHER_SEED : SEED);
		ASSERT_HOLDS(&self->other, done && !r->to_buffer ? SEED : OTHER_SEED);
		ASSERT_SERVED(1 + i);
		forget_buffer();
		renew_ends();
	}
}

/*
 * ATT-26: A queue pair is destroyed, reset or fails while it waits, and the driver has not
 * been told: it never is.  The other side hears nothing and gives up.
 */
TEST_F(refault, att_26_queue_pair_before)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	unsigned int i, n = 0;

	make_buffer();
	move_buffer();
	for (i = 0; i < 2 * ARRAY_SIZE(kinds); i++) {
		const struct request *r = kinds[i / 2];
		struct end *end = r->local ? &self->a : &self->b;

		page_faults_hold(&self->bed.dev);
		post_request(r);
		page_faults_held(&self->bed.dev, 1);
		ASSERT_EQ(0, i % 2 ? _end_reset(end) : _end_destroy(end));
		n++;
		ASSERT_FAULTS(.raised = n, .dropped = n);
		if (!r->local)
			end_wait(&self->a, 1, IBV_WC_RETRY_EXC_ERR, &self->wc);
		page_faults_tell(&self->bed.dev);
		ASSERT_HOLDS(&self->view, SEED);
		renew_ends();
		fill();
	}
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct request *r = kinds[i];
		struct end *end = r->local ? &self->a : &self->b;

		page_faults_hold(&self->bed.dev);
		post_request(r);
		page_faults_held(&self->bed.dev, 1);
		ASSERT_EQ(0, ibv_modify_qp(end->qp, &error, IBV_QP_STATE));
		end_wait(&self->a, 1, r->local ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR,
			 &self->wc);
		n++;
		ASSERT_FAULTS(.raised = n, .dropped = n);
		page_faults_tell(&self->bed.dev);
		renew_ends();
		fill();
	}
	/* It was never mapped for any of them; now it is. */
	ASSERT_BUFFER(1, 1);
	post_request(kinds[0]);
	finish_request(kinds[0]);
	ASSERT_FAULTS(.raised = n + 1, .told = 1, .resumed = 1, .dropped = n);
	ASSERT_BUFFER(2, 1);
	drop_buffer();
}

static int destroy_queue_pair(void *arg)
{
	return ibv_destroy_qp(arg);
}

/*
 * ATT-26: The driver is serving the fault of a work request, for which it holds the queue
 * pair: destroying that waits until the fault was served.  But it has reset it by then
 * (destroy_qp_common() in hw/mlx5/qp.c), so what it resumes does not wait any more.
 */
TEST_F(refault, att_26_queue_pair_meanwhile)
{
	struct caller caller;
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct request *r = kinds[i];
		struct end *end = r->local ? &self->a : &self->b;

		if (!r->local && r->opcode != IBV_WR_SEND)
			continue;
		make_buffer(.map_stall_ms = STALL_MS);
		post_and_stall(r);
		caller_start(&caller, destroy_queue_pair, end->qp);
		caller_waits(&caller, "mlx5_core_destroy_qp");
		end_stall();
		caller_end(&caller, 0);
		end->qp = NULL;
		ASSERT_EQ(0, ibv_destroy_cq(end->cq));
		n++;
		ASSERT_FAULTS(.raised = n, .told = n, .dropped = n, .late = n);
		ASSERT_BUFFER(2, 1);
		forget_buffer();
		renew_ends();
	}
}

/*
 * ATT-26: For the fault of a key that the other side has named the driver holds no queue
 * pair.  That one is destroyed at once, and resumed when it is gone already, which the
 * device has to take.
 */
TEST_F(refault, att_26_queue_pair_is_not_held)
{
	make_buffer(.map_stall_ms = STALL_MS);
	post_and_stall(&requests[3]);
	end_destroy(&self->b);
	self->b.qp = NULL;
	ASSERT_FAULTS(.raised = 1, .told = 1, .dropped = 1);
	end_wait(&self->a, 1, IBV_WC_RETRY_EXC_ERR, &self->wc);
	end_stall();
	page_faults_late(&self->bed.dev, &self->before, 1);
	ASSERT_FAULTS(.raised = 1, .told = 1, .dropped = 1, .late = 1);
	ASSERT_BUFFER(2, 1);
	ASSERT_HOLDS(&self->view, SEED);
	drop_buffer();
}

/* ATT-26: The sender is gone when the fault is served: nobody is told, nothing is left. */
TEST_F(refault, att_26_sender_is_gone)
{
	make_buffer();
	move_buffer();
	page_faults_hold(&self->bed.dev);
	post_request(&requests[3]);
	page_faults_held(&self->bed.dev, 1);
	end_destroy(&self->a);
	self->a.qp = NULL;
	page_faults_tell(&self->bed.dev);
	page_faults_over(&self->bed.dev);
	ASSERT_SERVED(1);
	ASSERT_BUFFER(2, 1);
	drop_buffer();
}

/**
 * struct lending - another process that has the region
 * @worker: the process
 * @fd: the buffer
 * @mr: its region; rkey and lkey only
 */
struct lending {
	struct worker worker;
	int fd;
	struct ibv_mr mr;
};

static int lend(void *arg)
{
	struct lending *lending = arg;

	return _worker_register(&lending->worker, lending->fd, SIZE, &lending->mr);
}

/* Start it, connected to this one's queue pair; this one has no region any more. */
#define lend_buffer(lending) \
do { \
	struct caller __caller; \
	drop_buffer(); \
	end_destroy(&self->a); \
	end_make(self->pd, &connection_defaults, &self->a); \
	(lending)->fd = self->export.fd; \
	worker_start(&(lending)->worker, self->bed.dev.name); \
	worker_connect(&(lending)->worker, &self->a, &connection_defaults); \
	caller_start(&__caller, lend, lending); \
	if (self->export.map_stall_ms) { \
		importer_event(self->imp, DMABUF_IMPORTER_EVENT_MAP_STALL, self->export.id, 0); \
		end_stall(); \
	} \
	caller_end(&__caller, 0); \
} while (0)

/* Write to it. */
#define post_to(lending) \
do { \
	struct region __there = { .len = SIZE, .mr = &(lending)->mr }; \
	struct ibv_send_wr __wr = rdma(IBV_WR_RDMA_WRITE, &__there); \
	post(&self->a, &__wr, &self->other); \
} while (0)

/* What the process had of the buffer was given back. */
#define ASSERT_GIVEN_BACK(map_count) \
do { \
	struct dmabuf_importer_export_query __query; \
	struct dmabuf_sign __sign; \
	ASSERT_EQ(1, dmabuf_look(self->ino, &__sign)); \
	ASSERT_EQ(0, __sign.attachments); \
	importer_export_query(self->imp, self->export.id, &__query); \
	ASSERT_EQ(2U, __query.attaches); \
	ASSERT_EQ(2U, __query.detaches); \
	ASSERT_EQ((uint32_t)(map_count), __query.maps); \
	ASSERT_EQ(__query.maps, __query.unmaps); \
} while (0)

/* ATT-26, ATT-13: The process that has the region is killed before the driver is told. */
TEST_F(refault, att_26_killed_before)
{
	struct lending lending = {};

	make_buffer();
	lend_buffer(&lending);
	move_buffer();
	page_faults_hold(&self->bed.dev);
	post_to(&lending);
	page_faults_held(&self->bed.dev, 1);
	worker_kill(&lending.worker);
	end_wait(&self->a, 1, IBV_WC_RETRY_EXC_ERR, &self->wc);
	ASSERT_GIVEN_BACK(2);
	ASSERT_HOLDS(&self->view, SEED);
	ASSERT_FAULTS(.raised = 1, .dropped = 1);
}

/*
 * ATT-26, ATT-13: It is killed while the driver serves the fault: its end waits for that.
 * The queue pair goes on before it is destroyed, or is gone when it is resumed.
 */
TEST_F(refault, att_26_killed_meanwhile)
{
	struct lending lending = {};
	struct page_faults faults;

	make_buffer(.map_stall_ms = STALL_MS);
	lend_buffer(&lending);
	move_buffer();
	post_to(&lending);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_MAP_STALL, self->export.id, 0);
	ASSERT_EQ(0, kill(lending.worker.pid, SIGKILL));
	process_waits(lending.worker.pid, "mlx5_ib_dereg_mr");
	end_stall();
	worker_wait(&lending.worker);
	ASSERT_EQ(0, _end_wait(&self->a, &self->wc));
	page_faults_over(&self->bed.dev);
	ASSERT_EQ(0, _page_faults_since(&self->bed.dev, &self->before, &faults));
	ASSERT_EQ(1UL, faults.raised);
	ASSERT_EQ(1UL, faults.told);
	ASSERT_EQ(1UL, faults.resumed + faults.dropped);
	ASSERT_GIVEN_BACK(3);
	ASSERT_HOLDS(&self->view, self->wc.status == IBV_WC_SUCCESS ? OTHER_SEED : SEED);
}

/* Memory of this process, registered on demand: the device may find any page missing. */
FIXTURE(on_demand)
{
	struct bed bed;
	struct kernel_counts counts;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct page_faults before;
	struct region area;	/* on demand */
	struct region other;
	struct end a;
	struct end b;
	struct ibv_wc wc;
};

/*
 * The driver makes the queue of page faults for the first region that may have some, and
 * keeps it (mlx5r_odp_create_eq()): it is there before anything is counted.  Where this
 * fails the tests will say why.
 */
static void have_fault_queue(void)
{
	static uint32_t word;
	struct ibv_context *ctx;
	struct ibv_mr *mr = NULL;
	struct ibv_pd *pd = NULL;
	struct device dev;

	if (device_find(&dev))
		return;
	ctx = device_open(&dev);
	if (ctx)
		pd = ibv_alloc_pd(ctx);
	if (pd)
		mr = ibv_reg_mr(pd, &word, sizeof(word),
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	if (mr)
		ibv_dereg_mr(mr);
	if (pd)
		ibv_dealloc_pd(pd);
	if (ctx)
		ibv_close_device(ctx);
}

FIXTURE_SETUP(on_demand)
{
	have_fault_queue();
	if (!bed_make(_metadata, &self->bed, true) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	/* A test that ran out of time has not told of them. */
	page_faults_tell(&self->bed.dev);
	ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults", "clear"));
	page_faults_take(&self->bed.dev, &self->before);
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	self->pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, self->pd);
	counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
	region_make(self->pd, SIZE, 0, CONNECTION_ALL_ACCESS, &self->other);
	region_fill(&self->other, OTHER_SEED);
	self->area.len = SIZE;
	self->area.data = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->area.data);
	end_make(self->pd, &connection_defaults, &self->a);
	end_make(self->pd, &connection_defaults, &self->b);
	end_connect(&self->a, &self->b, &connection_defaults);
	end_connect(&self->b, &self->a, &connection_defaults);
}

FIXTURE_TEARDOWN(on_demand)
{
	EXPECT_EQ(0, vhca_write(&self->bed.dev, "page_faults", "tell"));
	if (_metadata->exit_code == KSFT_PASS) {
		EXPECT_EQ(0, _end_destroy(&self->a));
		EXPECT_EQ(0, _end_destroy(&self->b));
		EXPECT_EQ(0, ibv_dereg_mr(self->area.mr));
		if (self->area.data)
			EXPECT_EQ(0, munmap(self->area.data, SIZE));
		EXPECT_EQ(0, _region_destroy(&self->other));
		EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
		EXPECT_EQ(0, ibv_close_device(self->ctx));
	}
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

#define register_area() \
do { \
	self->area.mr = ibv_reg_mr(self->pd, self->area.data, SIZE, \
				   CONNECTION_ALL_ACCESS | IBV_ACCESS_ON_DEMAND); \
	ASSERT_NE(NULL, self->area.mr) \
		TH_LOG("%m"); \
} while (0)

/*
 * ODP-01: Pages that nobody has touched are not there for the device either.  What needs
 * one is a page fault, at either side, for which the process gets its pages; after that
 * the device reaches them itself.  Pages that are there at registration are no fault.
 */
TEST_F(on_demand, odp_01_first_access)
{
	register_area();
	ASSERT_TRANSLATES(false, mr_mkey(self->area.mr));
	move_data(IBV_WR_RDMA_WRITE, &self->other, &self->area);
	ASSERT_HOLDS(&self->area, OTHER_SEED);
	ASSERT_SERVED(1);
	ASSERT_TRANSLATES(true, mr_mkey(self->area.mr));
	move_data(IBV_WR_RDMA_WRITE, &self->other, &self->area);
	ASSERT_SERVED(1);

	mr_dereg(self->area.mr);
	region_fill(&self->area, SEED);
	register_area();
	ASSERT_TRANSLATES(true, mr_mkey(self->area.mr));
	move_data(IBV_WR_RDMA_WRITE, &self->area, &self->other);
	ASSERT_HOLDS(&self->other, SEED);
	ASSERT_SERVED(1);
}

/* ODP-01: Pages that the process asks for before they are needed are no fault. */
TEST_F(on_demand, odp_01_prefetch)
{
	struct ibv_sge sge = { (uintptr_t)self->area.data, SIZE, 0 };

	register_area();
	sge.lkey = self->area.mr->lkey;
	ASSERT_EQ(0, ibv_advise_mr(self->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				   IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1));
	ASSERT_TRANSLATES(true, mr_mkey(self->area.mr));
	move_data(IBV_WR_RDMA_WRITE, &self->other, &self->area);
	ASSERT_HOLDS(&self->area, OTHER_SEED);
	ASSERT_FAULTS();
}

/*
 * ODP-01: The other side names a memory window on the region: the driver asks the device
 * where that leads, and brings what is behind it.
 */
TEST_F(on_demand, odp_01_window)
{
	struct ibv_send_wr bind, wr = rdma(IBV_WR_RDMA_WRITE, &self->area);
	struct region part = self->other;
	struct ibv_mw *mw;
	size_t i;

	self->area.mr = ibv_reg_mr(self->pd, self->area.data, SIZE, IBV_ACCESS_LOCAL_WRITE |
				   IBV_ACCESS_MW_BIND | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, self->area.mr)
		TH_LOG("%m");
	mw = ibv_alloc_mw(self->pd, IBV_MW_TYPE_2);
	ASSERT_NE(NULL, mw);
	bind = (struct ibv_send_wr){
		.wr_id = 10,
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = {
				.mr = self->area.mr,
				.addr = (uintptr_t)self->area.data + SIZE / 2,
				.length = SIZE / 4,
				.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
			},
		},
	};
	post(&self->b, &bind, NULL);
	end_wait(&self->b, 10, IBV_WC_SUCCESS, &self->wc);
	part.len = SIZE / 4;
	wr.wr.rdma.rkey = bind.bind_mw.rkey;
	wr.wr.rdma.remote_addr = bind.bind_mw.bind_info.addr;
	post(&self->a, &wr, &part);
	end_wait(&self->a, 1, IBV_WC_SUCCESS, &self->wc);
	ASSERT_SERVED(1);
	ASSERT_TRUE(region_holds(&self->area, SIZE / 2, SIZE / 4, OTHER_SEED, 0));
	for (i = 0; i < SIZE / 2; i++)
		ASSERT_EQ(0, self->area.data[i]);
	ASSERT_EQ(0, ibv_dealloc_mw(mw));
}

/*
 * ODP-02: A page that the process gives up is out of the key by the time the kernel takes
 * it; the next request is a fault, and finds what the process would find.
 */
TEST_F(on_demand, odp_02_given_up)
{
	size_t i;

	region_fill(&self->area, SEED);
	register_area();
	ASSERT_EQ(0, madvise(self->area.data, SIZE, MADV_DONTNEED));
	ASSERT_TRANSLATES(false, mr_mkey(self->area.mr));
	move_data(IBV_WR_RDMA_WRITE, &self->area, &self->other);
	ASSERT_SERVED(1);
	for (i = 0; i < SIZE; i++)
		ASSERT_EQ(0, self->other.data[i]);
	region_fill(&self->other, OTHER_SEED);
	ASSERT_EQ(0, madvise(self->area.data, SIZE, MADV_DONTNEED));
	move_data(IBV_WR_RDMA_READ, &self->area, &self->other);
	ASSERT_HOLDS(&self->area, OTHER_SEED);
	ASSERT_SERVED(2);
}

/*
 * ODP-02: Only the second half is not there: the fault comes in the middle of the message,
 * at either side, and nothing is lost or done twice.
 */
TEST_F(on_demand, odp_02_half)
{
	struct region area = { .len = BIG }, other;
	unsigned int i;

	area.data = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)area.data);
	region_fill(&area, SEED);
	area.mr = ibv_reg_mr(self->pd, area.data, BIG,
			     CONNECTION_ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, area.mr);
	region_make(self->pd, BIG, 0, CONNECTION_ALL_ACCESS, &other);
	for (i = 0; i < 4; i++) {
		static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ };
		const bool local = i / 2;
		const enum ibv_wr_opcode opcode = opcodes[i % 2];
		const bool to_area = local == (opcode == IBV_WR_RDMA_READ);

		region_fill(&area, SEED + i);
		region_fill(&other, OTHER_SEED + i);
		ASSERT_EQ(0, madvise(area.data + BIG / 2, BIG / 2, MADV_DONTNEED));
		move_data(opcode, local ? &area : &other, local ? &other : &area);
		ASSERT_SERVED(1 + i);
		if (to_area) {
			ASSERT_TRUE(region_holds(&area, 0, BIG, OTHER_SEED + i, 0));
			continue;
		}
		ASSERT_TRUE(region_holds(&other, 0, BIG / 2, SEED + i, 0));
		ASSERT_EQ(0, other.data[BIG / 2]);
		ASSERT_EQ(0, memcmp(other.data + BIG / 2, other.data + BIG / 2 + 1, BIG / 2 - 1));
	}
	ASSERT_TRUE(region_is_guarded(&other));
	mr_dereg(area.mr);
	ASSERT_EQ(0, munmap(area.data, BIG));
	region_destroy(&other);
	/* The fixture's own region was not needed. */
	register_area();
}

/*
 * ODP-03: Memory that is not mapped any more is not brought back: the request fails at
 * either side, and the region can be deregistered.
 */
TEST_F(on_demand, odp_03_unmapped)
{
	struct ibv_send_wr wr;
	int i;

	region_fill(&self->area, SEED);
	register_area();
	for (i = 0; i < 2; i++) {
		struct region gone = self->area;

		if (!i)
			ASSERT_EQ(0, munmap(self->area.data, SIZE));
		ASSERT_TRANSLATES(false, mr_mkey(self->area.mr));
		wr = rdma(IBV_WR_RDMA_WRITE, i ? &gone : &self->other);
		post(&self->a, &wr, i ? &self->other : &gone);
		end_wait(&self->a, 1, i ? IBV_WC_REM_ACCESS_ERR : IBV_WC_LOC_PROT_ERR, &self->wc);
		ASSERT_FAULTS(.raised = 1 + i, .told = 1 + i, .failed = 1 + i);
		ASSERT_HOLDS(&self->other, OTHER_SEED);
		renew_ends();
	}
	self->area.data = NULL;
}

int main(int argc, char **argv)
{
	if (worker_is_wanted(argc, argv))
		return worker_main(argv);
	return bed_main(argc, argv);
}
