// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to user objects, in its order: the lifetime events of uobjscope.ko, which
 * come from the kernel's own functions, and the commands of the device.
 *
 * Other tests state what is there before and after a call.  These state what happens in
 * between: that memory is given back after the last mapping of it, and not a moment before.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/dm_ops.h"
#include "common/importer.h"
#include "common/kernel_counts.h"
#include "common/process.h"
#include "common/trace.h"
#include "common/unbind.h"
#include "common/var_ops.h"

#define DM_SIZE		8192
#define TIMEOUT		90

/* Of everything that an object does, without what its mappings do to it. */
#define UOBJECT_EVENTS	"uobject_alloc uobject_commit uobject_destroy uobject_destroyed " \
			"uobject_free"
#define ENTRY_EVENTS	"mmap_entry_insert mmap_entry_get mmap_entry_put mmap_entry_remove " \
			"mmap_entry_free"
#define VMA_EVENTS	"vma_open vma_close vma_zap"
#define UFILE_EVENTS	"ufile_open ufile_cleanup ufile_cleaned ufile_release"
#define DMABUF_EVENTS	"dmabuf_export dmabuf_attach dmabuf_map dmabuf_revoke dmabuf_unmap " \
			"dmabuf_drained dmabuf_detach dmabuf_release"

FIXTURE(order)
{
	struct bed bed;
	struct kernel_counts counts;
	struct ibv_context *ctx;
	struct trace trace;
	int imp;
};

FIXTURE_SETUP(order)
{
	const char *missing;

	self->imp = -1;
	ASSERT_FALSE(unbind_is_stuck())
		TH_LOG("an earlier removal is still waiting");
	unbind_mend();
	if (!bed_make(_metadata, &self->bed, true) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	missing = trace_missing(UOBJECT_EVENTS " " ENTRY_EVENTS " " VMA_EVENTS " " UFILE_EVENTS);
	if (missing) {
		bed_mark(_metadata, "end");
		SKIP(return, "%s", missing);
	}
	ASSERT_NE(NULL, unbind_baseline(&self->bed.dev));
	/* Its pools and queues are those of another driver instance than before. */
	ASSERT_EQ(0, rest_take(&self->bed.dev, &self->bed.before));
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
	trace_begin(&self->trace);
}

FIXTURE_TEARDOWN(order)
{
	trace_drop(&self->trace);
	if (self->imp >= 0)
		EXPECT_EQ(0, close(self->imp));
	if (self->ctx)
		EXPECT_EQ(0, ibv_close_device(self->ctx));
	EXPECT_EQ(0, _bind_again(&self->bed.dev));
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

/* The test is not for a kernel of which not all functions can be probed. */
static bool lacks_events(struct __test_metadata *_metadata, const char *events)
{
	const char *missing = trace_missing(events);

	if (!missing)
		return false;
	SKIP(return true, "%s", missing);
}

/* Just these happened to the fixture's own ufile, of the events that are named. */
#define ASSERT_SEQUENCE(names, ...) \
	trace_sequence(&self->trace, scope_kv("ufile=%lu", self->counts.ufile), names, __VA_ARGS__)

/*
 * ENT-05, VAR-04: A VAR that is freed while it is mapped loses its handle at once, and its
 * page when the mapping goes: in each step the entry has the references that it should.
 */
TEST_F(order, order_01_var_from_birth_to_death)
{
	struct mlx5dv_var *var;
	uint32_t *map;
	int at;

	if (lacks_events(_metadata, "var_free"))
		return;
	var_alloc(self->ctx, 0, &var);
	const uint32_t page_id = var->page_id, length = var->length;

	var_map(self->ctx, var, &map);
	mlx5dv_free_var(var);
	unmap(map, length);
	trace_end(&self->trace);
	ASSERT_SEQUENCE(UOBJECT_EVENTS " " ENTRY_EVENTS " " VMA_EVENTS " var_free",
			"uobject_alloc type=MLX5_VAR",
			"mmap_entry_insert ref=1",
			"uobject_commit type=MLX5_VAR",
			"mmap_entry_get ref=2",
			"vma_open",
			"mmap_entry_put ref=3",
			"uobject_destroy type=MLX5_VAR reason=destroy",
			"mmap_entry_remove ref=2",
			"uobject_destroyed type=MLX5_VAR reason=destroy ret=0",
			"uobject_free type=MLX5_VAR",
			"vma_close",
			"mmap_entry_put ref=1",
			"mmap_entry_free ref=0",
			scope_kv("var_free page_id=%u tlp=0", page_id));

	/* All that is one uobject, one entry and one mapping. */
	at = trace_find(&self->trace, 0, "uobject_commit type=MLX5_VAR");
	const char *uobject = trace_field(&self->trace, at, "uobject");
	const char *entry = trace_field(&self->trace, at, "object");

	at = trace_find(&self->trace, at, "uobject_free");
	ASSERT_STREQ(uobject, trace_field(&self->trace, at, "uobject"));
	at = trace_find(&self->trace, 0, "vma_open");
	ASSERT_STREQ(entry, trace_field(&self->trace, at, "entry"));
	ASSERT_STREQ(trace_field(&self->trace, at, "vma"),
		     trace_field(&self->trace, trace_find(&self->trace, at, "vma_close"), "vma"));
	ASSERT_STREQ(entry, trace_field(&self->trace, trace_find(&self->trace, 0, "var_free"),
					"entry"));
}

/* Make objects of several kinds, tell which, and end without giving back any. */
static void child_makes_and_ends(const struct device *dev)
{
	struct ibv_context *ctx = device_open(dev);
	struct mlx5dv_var *var;
	struct ibv_dm *dm;
	struct ibv_pd *pd;

	if (!ctx || _var_alloc(ctx, 0, &var) || _dm_alloc(ctx, DM_SIZE, &dm))
		_exit(1);
	pd = ibv_alloc_pd(ctx);
	if (!pd || !ibv_create_cq(ctx, 1, NULL, NULL, 0) || _var_alloc(ctx, 0, &var))
		_exit(1);
	_exit(0);
}

static bool has_handle(const struct trace *trace, int at, const char *ufile)
{
	return !strcmp(trace_field(trace, at, "ufile"), ufile) &&
	       strcmp(trace_field(trace, at, "handle"), "-1");
}

/* Of the uobjects whose births are in @born, all but the one that an event is about. */
static int without(const struct trace *trace, int *born, int births, int at)
{
	int n, left = 0;

	for (n = 0; n < births; n++)
		if (strcmp(trace_field(trace, born[n], "uobject"),
			   trace_field(trace, at, "uobject")))
			born[left++] = born[n];
	return left;
}

/*
 * UOBJ-06: At the end of a process its objects are destroyed the youngest first, all of
 * them, between the begin and the end of the clean-up of their ufile.
 */
TEST_F(order, order_02_close_destroys_youngest_first)
{
	int at, begin, end, status, born[64], births = 0;
	char ufile[64];
	pid_t child;

	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		child_makes_and_ends(&self->bed.dev);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_EQ(0, status);
	trace_end(&self->trace);

	at = trace_find(&self->trace, 0, "ufile_open");
	ASSERT_LE(0, at);
	ASSERT_EQ(child, self->trace.events[at].pid);
	snprintf(ufile, sizeof(ufile), "%s", trace_field(&self->trace, at, "ufile"));
	begin = trace_find(&self->trace, at,
			   scope_kv("ufile_cleanup ufile=%s reason=close", ufile));
	end = trace_find(&self->trace, begin, scope_kv("ufile_cleaned ufile=%s", ufile));
	ASSERT_LE(0, begin);
	ASSERT_LE(0, end);
	ASSERT_LE(0, trace_find(&self->trace, end, scope_kv("ufile_release ufile=%s", ufile)));

	/* Without descriptors, which the kernel closes when it likes. */
	for (; at < begin; at++) {
		if (!has_handle(&self->trace, at, ufile))
			continue;
		if (trace_is(&self->trace, at, "uobject_commit")) {
			ASSERT_GT(64, births);
			born[births++] = at;
		} else if (trace_is(&self->trace, at, "uobject_destroy")) {
			births = without(&self->trace, born, births, at);
		}
	}
	/* Those five, and what the library has of its own. */
	ASSERT_LE(5, births);

	for (at = begin; at < end; at++) {
		if (!has_handle(&self->trace, at, ufile) ||
		    !trace_is(&self->trace, at, "uobject_destroy reason=close"))
			continue;
		ASSERT_LT(0, births);
		births--;
		ASSERT_STREQ(trace_field(&self->trace, born[births], "uobject"),
			     trace_field(&self->trace, at, "uobject")) {
			TH_LOG("%s was not the youngest that was left",
			       self->trace.events[at].text);
			trace_print(&self->trace);
		}
	}
	ASSERT_EQ(0, births);
}

/*
 * VAR-15: When the device goes, a mapping loses its pages before the page of the VAR that
 * it leads to can be anybody else's, and all that before the clean-up ends.
 */
TEST_F_TIMEOUT(order, order_03_zap_before_free, TIMEOUT)
{
	struct mlx5dv_var *var;
	const char *entry;
	uint32_t *map;
	int at;

	if (lacks_events(_metadata, "var_free"))
		return;
	var_alloc(self->ctx, 0, &var);
	const uint32_t page_id = var->page_id, length = var->length;

	var_map(self->ctx, var, &map);
	unbind(&self->bed.dev, UNBIND_RDMA);
	trace_end(&self->trace);
	unmap(map, length);
	at = trace_find(&self->trace, 0, "uobject_commit type=MLX5_VAR");
	entry = trace_field(&self->trace, at, "object");
	trace_sequence(&self->trace, scope_kv("entry=%s", entry),
		       VMA_EVENTS " " ENTRY_EVENTS " var_free",
		       "mmap_entry_insert ref=1",
		       "mmap_entry_get ref=2",
		       "vma_open",
		       "mmap_entry_put ref=3",
		       "mmap_entry_remove ref=2",
		       "vma_zap",
		       "mmap_entry_put ref=1",
		       "mmap_entry_free ref=0",
		       scope_kv("var_free page_id=%u", page_id));
	trace_order(&self->trace,
		    scope_kv("ufile_cleanup ufile=%lu reason=driver_remove", self->counts.ufile),
		    scope_kv("uobject_destroy type=MLX5_VAR object=%s reason=driver_remove", entry),
		    "uobject_destroyed type=MLX5_VAR ret=0",
		    scope_kv("vma_zap entry=%s", entry),
		    scope_kv("var_free entry=%s", entry),
		    scope_kv("ufile_cleaned ufile=%lu", self->counts.ufile));
}

/*
 * DMABUF-05, ATT-07: Freeing a VAR that is exported and imported revokes the dma-buf, and
 * returns when the importer has unmapped it, and not before: it does so when the free has
 * been seen to wait.
 */
TEST_F(order, order_04_revoke_before_free_returns)
{
	const char *missing = importer_missing();
	struct mlx5dv_var *var;
	const pid_t us = getpid();
	int fd, at, status;
	pid_t child;
	uint32_t id;

	if (missing)
		SKIP(return, "%s", missing);
	if (lacks_events(_metadata, DMABUF_EVENTS))
		return;
	importer_open(&self->imp);
	var_alloc(self->ctx, 0, &var);
	ASSERT_EQ(0, _raw_dmabuf_export(self->ctx->cmd_fd, var->mmap_off, &fd));
	importer_attach(self->imp, self->bed.dev.pci, fd, DMABUF_IMPORTER_PEER2PEER,
			DMABUF_IMPORTER_ON_RELEASE, &id);
	importer_map(self->imp, id);
	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		_exit(_process_waits(us, "rdma_user_mmap_entry_remove") ?:
		      _importer_release(self->imp, id));
	mlx5dv_free_var(var);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_EQ(0, status);
	importer_detach(self->imp, id);
	ASSERT_EQ(0, close(fd));
	trace_end(&self->trace);
	ASSERT_SEQUENCE(DMABUF_EVENTS " uobject_destroy uobject_destroyed",
			"dmabuf_export",
			"dmabuf_attach",
			"dmabuf_map",
			"uobject_destroy type=MLX5_VAR",
			"dmabuf_revoke",
			"dmabuf_unmap",
			"dmabuf_drained",
			"uobject_destroyed type=MLX5_VAR ret=0",
			"dmabuf_detach",
			"dmabuf_release",
			"uobject_destroy type=DMABUF reason=close",
			"uobject_destroyed type=DMABUF ret=0");
	at = trace_find(&self->trace, 0, "dmabuf_unmap");
	ASSERT_EQ(child, self->trace.events[at].pid);
}

/*
 * DM-08: Device memory that is freed while it and an operation on it are mapped goes back
 * to the device when the last mapping goes, the operation before the memory; and the
 * device is told of each in between.
 */
TEST_F(order, order_05_memic_after_last_mapping)
{
	struct ibv_dm *dm;
	void *op;

	if (lacks_events(_metadata, "memic_free memic_op_free"))
		return;
	if (!(self->bed.dev.info.memic_operations & 1))
		SKIP(return, "the device does not have the operation 0");
	dm_alloc(self->ctx, DM_SIZE, &dm);
	dm_map_op(dm, 0, &op);
	raw_dm_free(self->ctx->cmd_fd, dm->handle);
	dm_unmap_op(op, DM_SIZE);
	/* The library's way to unmap the memory, and no more. */
	ibv_unimport_dm(dm);
	trace_end(&self->trace);
	trace_sequence(&self->trace, "", "uobject_destroyed vma_close memic_op_free memic_free",
		       "uobject_destroyed type=DM ret=0",
		       "vma_close",
		       "memic_op_free op=0",
		       "vma_close",
		       scope_kv("memic_free length=%d", DM_SIZE));
	if (!self->bed.dev.vhca[0])
		return;
	trace_order(&self->trace,
		    "command name=ALLOC_MEMIC status=0x0",
		    "uobject_commit type=DM",
		    "uobject_destroyed type=DM",
		    "memic_op_free",
		    "command name=MODIFY_MEMIC status=0x0",
		    "mmap_entry_free",
		    "memic_free",
		    "command name=DEALLOC_MEMIC status=0x0");
}

/* How many mappings of the RDMA core's @entry were made; each must have gone, after that. */
static int pair_mappings(struct __test_metadata *_metadata, const struct trace *trace,
			 const char *ufile, const char *entry)
{
	int at = -1, opened = 0, closed = 0, close;

	while ((at = trace_find(trace, at + 1,
				scope_kv("vma_open ufile=%s entry=%s", ufile, entry))) >= 0) {
		opened++;
		close = trace_find(trace, at,
				   scope_kv("vma_close vma=%s", trace_field(trace, at, "vma")));
		EXPECT_LE(0, close)
			trace_print(trace);
	}
	at = -1;
	while ((at = trace_find(trace, at + 1,
				scope_kv("vma_close ufile=%s entry=%s", ufile, entry))) >= 0)
		closed++;
	EXPECT_EQ(opened, closed)
		trace_print(trace);
	return opened;
}

/*
 * ENT-06: What the library maps of a device that it opens has a birth and a death each, as
 * have the copies that a child gets; so has the clock's page, which the RDMA core does not
 * track.
 */
TEST_F(order, order_06_each_mapping_is_born)
{
	struct ibv_context *ctx = device_open(&self->bed.dev);
	int status, alone, at;
	char ufile[64];
	pid_t child;

	ASSERT_NE(NULL, ctx);
	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		_exit(0);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_EQ(0, ibv_close_device(ctx));
	trace_end(&self->trace);
	at = trace_find(&self->trace, 0, "ufile_open");
	ASSERT_LE(0, at);
	snprintf(ufile, sizeof(ufile), "%s", trace_field(&self->trace, at, "ufile"));
	/* Those without an entry: the clock's page in both processes, at least. */
	alone = pair_mappings(_metadata, &self->trace, ufile, "0000000000000000");
	ASSERT_LE(2, alone)
		trace_print(&self->trace);
	at = -1;
	while ((at = trace_find(&self->trace, at + 1,
				scope_kv("mmap_entry_insert ufile=%s", ufile))) >= 0)
		pair_mappings(_metadata, &self->trace, ufile,
			      trace_field(&self->trace, at, "entry"));
	/* Of the fixture's own context the child had copies as well. */
	ASSERT_LE(1, pair_mappings(_metadata, &self->trace,
				   scope_kv("%lu", self->counts.ufile), "0000000000000000"));
}

int main(int argc, char **argv)
{
	trace_switch();
	return bed_main(argc, argv);
}
