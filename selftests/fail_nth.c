// SPDX-License-Identifier: GPL-2.0
/*
 * Every call with the Nth allocation failing, or the Nth copy from or to its memory, for
 * N from 1 until the call comes to its end untouched.
 *
 * What creates or maps either succeeds or leaves nothing: no reference, no mmap entry, no
 * page, nothing with the device; and says ENOMEM, or EFAULT, or what the table of
 * exceptions has, with the function that has decided so.  What destroys either succeeds,
 * or does when it is called again.  What cannot fail, as a close, leaves nothing at all.
 *
 * Copies need a kernel with fault injection; allocations of slab objects do without, see
 * modules/fail_allocation.c.  How many fault points each call had is written as a
 * diagnostic; one without any would prove nothing, and is a failure.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/dm_ops.h"
#include "common/entry_ops.h"
#include "common/fail_nth.h"
#include "common/importer.h"
#include "common/kernel_signs.h"
#include "common/known.h"
#include "common/lost.h"
#include "common/peer_msg.h"
#include "common/raw.h"
#include "common/rebind.h"
#include "common/scene.h"
#include "common/scope.h"
#include "common/unbind.h"
#include "common/uverbs_ioctl.h"
#include "common/var_ops.h"
#include "common/witnesses.h"

#define DM_SIZE		SCENE_DM_SIZE
#define DM_NEEDED	(8 * DM_SIZE)
#define SITE		1024
#define PATIENCE	2000	/* milliseconds */

/* More fault points than any call has that is swept to its end. */
#define MOST		4000U

FIXTURE(fail_nth)
{
	struct bed bed;
	struct witnesses before;
	struct scene scene;
	int nth;
	bool leaks;
};

FIXTURE_VARIANT(fail_nth)
{
	enum fail_nth_what what;
	int err;
};

FIXTURE_VARIANT_ADD(fail_nth, memory)
{
	.what = FAIL_NTH_MEMORY,
	.err = ENOMEM,
};

FIXTURE_VARIANT_ADD(fail_nth, copy)
{
	.what = FAIL_NTH_COPY,
	.err = EFAULT,
};

/* Whether the driver has made what it makes once, for all tests of the program. */
static bool *warm;

static void __attribute__((constructor)) share_warm(void)
{
	warm = mmap(NULL, sizeof(*warm), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (warm == MAP_FAILED) {
		perror("mmap");
		_exit(1);
	}
}

/* The device, as bed_make() finds it; but nobody counts its VARs by allocating them all. */
static bool bed_make_quickly(struct __test_metadata *_metadata, struct bed *bed,
			     enum fail_nth_what what)
{
	const char *missing = fail_nth_missing(what);

	bed_mark(_metadata, "begin");
	if (!missing)
		missing = device_find(&bed->dev);
	if (!missing)
		missing = scope_missing();
	if (missing) {
		bed_mark(_metadata, "end");
		SKIP(return false, "%s", missing);
	}
	ASSERT_EQ(0, vhca_read_info(&bed->dev, &bed->dev.info));
	/* Said of each command that has no memory for its message, and below each allocation. */
	marker_expect("mlx5_core .*: mlx5_alloc_cmd_msg:.*: failed allocating block");
	marker_expect("^ *([?] )?[\\w.]+[+]0x[0-9a-f]+/0x[0-9a-f]+ \\[");
	if (!*warm)
		ASSERT_EQ(0, device_warm_up(&bed->dev));
	*warm = true;
	return true;
}

FIXTURE_SETUP(fail_nth)
{
	struct scene *scene = &self->scene;

	self->nth = -1;
	scene_init(scene, &self->bed.dev);
	if (!bed_make_quickly(_metadata, &self->bed, variant->what))
		return;
	if (self->bed.dev.info.memic.size < DM_NEEDED) {
		bed_mark(_metadata, "end");
		SKIP(return, "less than %d bytes of MEMIC: load mlx5_vhca with a larger memic_size",
		     DM_NEEDED);
	}
	ASSERT_EQ(0, witnesses_take(&self->bed.dev, &self->before));
	ASSERT_EQ(0, scene_furnish(scene));
	var_alloc(scene->ctx, 0, &scene->var);
	self->nth = fail_nth_open(0);
	ASSERT_LE(0, self->nth);
}

FIXTURE_TEARDOWN(fail_nth)
{
	struct scene *scene = &self->scene;
	int err;

	if (self->nth >= 0) {
		fail_nth_disarm(self->nth, NULL);
		EXPECT_EQ(0, close(self->nth));
	}
	fail_nth_worker_end();
	/* A test that failed may have stopped anywhere; what it has goes with its process. */
	if ((_metadata->exit_code == KSFT_PASS || _metadata->exit_code == KSFT_XFAIL) &&
	    scene->ctx) {
		if (scene->imp >= 0)
			EXPECT_EQ(0, close(scene->imp));
		if (scene->fd >= 0)
			EXPECT_EQ(0, close(scene->fd));
		EXPECT_EQ(0, ibv_free_dm(scene->dm));
		mlx5dv_free_var(scene->var);
		/* What is lost may be using it. */
		err = ibv_dealloc_pd(scene->pd);
		EXPECT_TRUE(!err || self->leaks);
		EXPECT_EQ(0, ibv_close_device(scene->ctx));
		/* What is known to be left was looked at where it was left. */
		if (!self->leaks)
			EXPECT_TRUE(witnesses_agree(&self->bed.dev, &self->before, PATIENCE));
	}
	bed_mark(_metadata, "end");
}

/**
 * struct operation - a call, and how to take back what it does
 * @name: for diagnostics
 * @make: what has to be there each time before it is called, or NULL; 0 or an errno
 * @call: the call; 0 or an errno
 * @undo: undoes a call that succeeded, NULL for a call that destroys: one that fails
 *	must then succeed when it is called again; 0 or an errno
 * @after: what to do after a call that failed, or NULL; 0 or an errno
 * @run: in place of @call: arms, and says what is left, itself, for a call that this task
 *	does not make
 * @clean: what it returns if nothing fails
 * @known: id of a known fault that it must show, where that is
 * @ends: the sweep ends with the first known fault, as what is lost is in the way
 * @none: it has no fault point, and so cannot fail
 * @maybe: whether it has any is decided by what the allocator keeps at hand
 * @no_copies: it copies nothing from or to the program
 * @again: errno of a second call that destroys, where the first has done so and could not
 *	write its answer; 0 if there is no answer
 * @any: it may fail with any errno: why
 */
struct operation {
	const char *name;
	int (*make)(struct scene *scene);
	int (*call)(struct scene *scene);
	int (*undo)(struct scene *scene);
	int (*after)(struct scene *scene);
	int (*run)(struct scene *scene, unsigned int nth, unsigned int *left);
	int clean;
	const char *known;
	bool ends;
	bool none;
	bool maybe;
	bool no_copies;
	int again;
	const char *any;
};

/**
 * struct exception - what may come of a fault point beside ENOMEM, or EFAULT
 * @function: it is on the way of this function
 * @what: of this kind
 * @err: the errno then, 0 if there is something left behind in place of it
 * @why: who has decided so, or which known fault it is
 * @call: in this operation, NULL for any
 */
struct exception {
	const char *function;
	enum fail_nth_what what;
	int err;
	const char *why;
	const char *call;
};

static const struct exception exceptions[] = {
	{ "remap_pfn_range", FAIL_NTH_MEMORY, EAGAIN,
	  "rdma_user_mmap_io() says so whatever remap_pfn_range() has failed with", NULL },
	{ "remap_pfn_range_track", FAIL_NTH_MEMORY, EAGAIN, "the same", NULL },
	{ "memdup_user", FAIL_NTH_MEMORY, EINVAL,
	  "ib_is_buffer_cleared() takes what it cannot copy for something that is set", NULL },
	{ "mlx5_ib_handler_MLX5_IB_METHOD_DM_MAP_OP_ADDR", FAIL_NTH_MEMORY, ENOENT, "L07", NULL },
	{ "mlx5_dm_sw_icm_dealloc", FAIL_NTH_MEMORY, 0, "L08", NULL },
	{ "mlx5_cmd_dealloc_memic", FAIL_NTH_MEMORY, 0, "L33", NULL },
	{ "mlx5_cmd_dealloc_memic_op", FAIL_NTH_MEMORY, 0, "L33", NULL },
	{ "mlx5_cmd_uar_dealloc", FAIL_NTH_MEMORY, 0, "L33", NULL },
	{ "mlx5_cmd_dealloc_transport_domain", FAIL_NTH_MEMORY, 0, "L33", NULL },
	{ "mlx5_ib_devx_destroy", FAIL_NTH_MEMORY, 0, "L33", NULL },
	{ "mlx5_core_destroy_qp", FAIL_NTH_MEMORY, 0, "L34", NULL },
	{ "ksys_mmap_pgoff", FAIL_NTH_MEMORY, 0, "L32", "ibv_import_device" },
};

/* The known fault that the exception is, if it is one. */
static const char *known_by(const struct exception *exception)
{
	return exception && exception->why[0] == 'L' && exception->why[1] <= '9' ?
	       exception->why : NULL;
}

static const struct exception *exception_for(const char *call, const char *site,
					     enum fail_nth_what what, int err)
{
	const struct exception *exception;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(exceptions); i++) {
		exception = &exceptions[i];
		if (exception->what == what && exception->err == err &&
		    (!exception->call || !strcmp(exception->call, call)) &&
		    fail_nth_site_has(site, exception->function))
			return exception;
	}
	return NULL;
}

/**
 * struct tally - what came of the fault points of a call
 * @failed: the call failed
 * @without: it did without
 * @excepted: it is in the table of exceptions
 * @known: the known fault that this is, NULL for none
 */
struct tally {
	unsigned int failed;
	unsigned int without;
	unsigned int excepted;
	const char *known;
};

/* One call with one fault point.  What is wrong is reported, and the next one is tried. */
static bool sweep_one(struct __test_metadata *_metadata, struct _test_data_fail_nth *self,
		      const struct _fixture_variant_fail_nth *variant, const struct operation *op,
		      unsigned int nth, struct witnesses *state, struct tally *tally)
{
	const struct exception *exception = NULL;
	struct scene *scene = &self->scene;
	unsigned int left;
	char site[SITE];
	int err, again;

	if (op->make)
		ASSERT_EQ(0, op->make(scene));
	if (op->run) {
		err = op->run(scene, nth, &left);
	} else {
		ASSERT_EQ(0, fail_nth_arm(self->nth, nth));
		err = op->call(scene);
		ASSERT_EQ(0, fail_nth_disarm(self->nth, &left));
	}
	if (left) {
		ASSERT_EQ(op->clean, err)
			TH_LOG("%s fails though nothing was made to fail", op->name);
	} else if (err == op->clean) {
		tally->without++;
	} else {
		tally->failed++;
		if (err != variant->err && !op->any) {
			fail_nth_site(site, sizeof(site));
			exception = exception_for(op->name, site, variant->what, err);
			tally->excepted += !!exception;
			tally->known = known_by(exception) ?: tally->known;
			EXPECT_NE(NULL, exception)
				TH_LOG("%s: fault point %u: errno %d, %s: %s", op->name, nth, err,
				       strerror(err), site);
		}
	}
	if (err && op->after)
		ASSERT_EQ(0, op->after(scene));
	if (!err && op->undo)
		ASSERT_EQ(0, op->undo(scene));
	if (err && !op->undo && op->call && !op->clean) {
		again = op->call(scene);
		if (again != op->again)
			ASSERT_EQ(0, again)
				TH_LOG("%s: fault point %u: does not succeed afterwards",
				       op->name, nth);
	}
	/* What is known to stay needs no waiting for. */
	if (!witnesses_agree(scene->dev, state, 0)) {
		if (!exception)
			fail_nth_site(site, sizeof(site));
		exception = left ? NULL : exception_for(op->name, site, variant->what, 0);
		if (!exception && witnesses_agree(scene->dev, state, PATIENCE))
			return !left;
		tally->excepted += !!exception;
		tally->known = known_by(exception) ?: tally->known;
		self->leaks = true;
		EXPECT_NE(NULL, exception)
			TH_LOG("%s: fault point %u: this is left: %s", op->name, nth, site);
		if (exception)
			TH_LOG("%s: fault point %u: left by %s(): %s", op->name, nth,
			       exception->function, exception->why);
		ASSERT_EQ(0, witnesses_take(scene->dev, state));
	}
	return !left;
}

static void sweep(struct __test_metadata *_metadata, struct _test_data_fail_nth *self,
		  const struct _fixture_variant_fail_nth *variant, const struct operation *op)
{
	struct witnesses state = {};
	struct known_issue issue;
	struct tally tally = {};
	const char *known;
	unsigned int nth;

	/* What is made once by the library, or by the kernel, is there then. */
	if (op->make)
		ASSERT_EQ(0, op->make(&self->scene));
	ASSERT_EQ(op->clean, op->run ? op->run(&self->scene, 0, &nth) : op->call(&self->scene));
	if (!op->clean && op->undo)
		ASSERT_EQ(0, op->undo(&self->scene));
	ASSERT_EQ(0, fail_nth_begin(variant->what));
	ASSERT_EQ(0, witnesses_take(self->scene.dev, &state));
	for (nth = 1; nth < MOST; nth++)
		if (!sweep_one(_metadata, self, variant, op, nth, &state, &tally) ||
		    (op->ends && tally.known))
			break;
	scope_drop(&state.scope);
	if (op->ends && tally.known)
		nth++;
	TH_LOG("%s: %u fault points, %u failed the call, %u it did without, %u exceptions",
	       op->name, nth - 1, tally.failed, tally.without, tally.excepted);
	/* A sweep without any would prove nothing. */
	if (!op->maybe || nth > 1)
		ASSERT_EQ(op->none || (op->no_copies && variant->what == FAIL_NTH_COPY), nth == 1);
	ASSERT_GT(MOST, nth);
	known = op->known ?: tally.known;
	if (known && known_look_up(_metadata, &issue, known))
		known_report(_metadata, &issue, tally.known);
}

#define SWEEP(...) \
	sweep(_metadata, self, variant, &(const struct operation){ __VA_ARGS__ })

/*
 * UOBJ-08, UOBJ-10: A context that cannot be opened is none: no ufile, no user context of
 * the device, no UAR.
 */
TEST_F_TIMEOUT(fail_nth, uobj_10_open, 300)
{
	SWEEP("open and GET_CONTEXT", .call = scene_open_raw, .undo = scene_close_raw);
}

/* UOBJ-08, UOBJ-10: The library opens more than one file, and does without some. */
TEST_F_TIMEOUT(fail_nth, uobj_10_open_by_library, 300)
{
	SWEEP("mlx5dv_open_device", .call = scene_open_library, .undo = scene_close_library,
	      .any = "the library takes a file that it cannot look at for one that is missing");
}

static int duplicate(struct scene *scene)
{
	scene->new_fd = fcntl(scene->ctx->cmd_fd, F_DUPFD_CLOEXEC, 0);
	return scene->new_fd < 0 ? errno : 0;
}

static int import_device(struct scene *scene)
{
	return POINTER(scene->new_ctx, ibv_import_device(scene->new_fd));
}

/* Whether the library has closed it is L14. */
static int close_if_open(struct scene *scene)
{
	if (fcntl(scene->new_fd, F_GETFD) >= 0)
		close(scene->new_fd);
	return 0;
}

/* IMP-03, IMP-12, L32: Importing a context that fails leaves the exporter's as it was. */
TEST_F_TIMEOUT(fail_nth, imp_12_import_device, 300)
{
	SWEEP("ibv_import_device", .make = duplicate, .call = import_device,
	      .known = variant->what == FAIL_NTH_MEMORY ? "L32" : NULL,
	      .undo = scene_close_library, .after = close_if_open,
	      .any = "the library takes a file that it cannot look at for one that is missing");
}

/* UOBJ-10: A PD. */
TEST_F_TIMEOUT(fail_nth, uobj_10_alloc_pd, 300)
{
	SWEEP("ibv_alloc_pd", .call = scene_alloc_pd, .undo = scene_dealloc_pd);
}

/* UOBJ-02: And its end. */
TEST_F_TIMEOUT(fail_nth, uobj_02_dealloc_pd, 300)
{
	SWEEP("ibv_dealloc_pd", .make = scene_alloc_pd, .call = scene_dealloc_pd);
}

static int alloc_var_by_library(struct scene *scene)
{
	return POINTER(scene->new_var, mlx5dv_alloc_var(scene->ctx, 0));
}

static int free_var_by_library(struct scene *scene)
{
	mlx5dv_free_var(scene->new_var);
	return 0;
}

/*
 * ENT-07, VAR-10, ERRNO-VAR: A VAR that cannot be allocated leaves its page free, and no
 * offset taken.
 */
TEST_F_TIMEOUT(fail_nth, ent_07_alloc_var, 300)
{
	SWEEP("VAR_OBJ_ALLOC", .call = scene_alloc_var, .undo = scene_free_var);
	SWEEP("mlx5dv_alloc_var", .call = alloc_var_by_library, .undo = free_var_by_library);
}

/* ENT-07, VAR-11: The same in the other bitmap. */
TEST_F_TIMEOUT(fail_nth, ent_07_alloc_tlp_var, 300)
{
	if (!self->bed.dev.info.tlp_var.count)
		SKIP(return, "no TLP VARs: load mlx5_vhca with some");
	SWEEP("VAR_OBJ_ALLOC of a TLP VAR", .call = scene_alloc_tlp_var, .undo = scene_free_var);
}

/* VAR-03, ERRNO-VAR: A free needs no memory. */
TEST_F_TIMEOUT(fail_nth, var_03_free, 300)
{
	SWEEP("VAR_OBJ_DESTROY", .make = scene_alloc_var, .call = scene_free_var,
	      .none = variant->what == FAIL_NTH_MEMORY);
}

static int map_var(struct scene *scene)
{
	return _var_map(scene->ctx, scene->var, (uint32_t **)&scene->map);
}

static int unmap_var(struct scene *scene)
{
	return _unmap(scene->map, scene->var->length);
}

/* VAR-02, ENT-01, ERRNO-VAR: A mapping that cannot be made has no reference. */
TEST_F_TIMEOUT(fail_nth, var_02_map, 300)
{
	SWEEP("mmap of a VAR", .call = map_var, .undo = unmap_var,
	      .no_copies = true);
}

static int make_mapped_and_freed(struct scene *scene)
{
	int err = scene_alloc_var(scene);

	if (!err)
		err = _map(scene->ctx, scene->raw_var.length, MAP_SHARED, scene->raw_var.mmap_off,
			   (uint32_t **)&scene->map);
	return err ?: scene_free_var(scene);
}

static int unmap_freed(struct scene *scene)
{
	return _unmap(scene->map, scene->raw_var.length);
}

/* VAR-04: The last mapping of a VAR that was freed. */
TEST_F_TIMEOUT(fail_nth, var_04_unmap_the_last, 300)
{
	SWEEP("munmap of a freed VAR", .make = make_mapped_and_freed, .call = unmap_freed,
	      .no_copies = true, .maybe = true);
}

static int move_var(struct scene *scene)
{
	scene->moved = mremap(scene->map, scene->var->length, scene->var->length,
			      MREMAP_MAYMOVE | MREMAP_FIXED, scene->moved);
	return scene->moved == MAP_FAILED ? errno : 0;
}

static void *room(void)
{
	const size_t length = 1 << 16;
	void *addr = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(addr, length);
	return addr;
}

static int map_to_move(struct scene *scene)
{
	int err = map_var(scene);

	scene->moved = room();
	return err;
}

static int unmap_moved(struct scene *scene)
{
	return _unmap(scene->moved, scene->var->length);
}

/* VAR-07: A mapping that cannot be moved is where it was. */
TEST_F_TIMEOUT(fail_nth, var_07_move, 300)
{
	SWEEP("mremap of a VAR", .make = map_to_move, .call = move_var, .undo = unmap_moved,
	      .after = unmap_var,
	      .no_copies = true);
}

static int fork_and_wait(struct scene *scene)
{
	const pid_t pid = fork();
	int status;

	if (!pid)
		_exit(0);
	if (pid < 0)
		return errno;
	if (waitpid(pid, &status, 0) != pid || status)
		return ECHILD;
	scene->length = 0;
	return 0;
}

static int nothing_to_do(struct scene *scene)
{
	return scene->length;
}

/* VAR-05, ENT-06: A child that cannot be made, or only without its mappings' references. */
TEST_F_TIMEOUT(fail_nth, var_05_fork, 300)
{
	if (variant->what != FAIL_NTH_MEMORY)
		SKIP(return, "nothing is copied from or to the program there");
	ASSERT_EQ(0, map_var(&self->scene));
	SWEEP("fork with a mapping", .call = fork_and_wait, .undo = nothing_to_do);
	ASSERT_EQ(0, unmap_var(&self->scene));
}

/* Read a mapping in a child made for it: 0, or the signal that it died of. */
static int read_in_child(pid_t pid, const int *go)
{
	int status;

	close(go[0]);
	if (write(go[1], "", 1) != 1)
		return -1;
	close(go[1]);
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void read_when_told(const uint32_t *word, const int *go)
{
	char told;

	if (read(go[0], &told, 1) != 1)
		_exit(1);
	__atomic_load_n(word, __ATOMIC_RELAXED);
	_exit(0);
}

/*
 * ENT-06, VAR-05, L30: A copy of a mapping that cannot be tracked leads nowhere: the child
 * gets a SIGBUS.  rdma_umap_open() zaps it, and dup_mmap() copies the page afterwards.
 */
TEST_F_TIMEOUT(fail_nth, ent_06_fork_without_memory, 300)
{
	struct scene *scene = &self->scene;
	int go[2], untracked = 0, reached = 0;
	bool alone;
	struct known_issue issue;
	struct scope scope = {};
	unsigned int nth, left = 0;
	pid_t pid;

	if (variant->what != FAIL_NTH_MEMORY)
		SKIP(return, "nothing is copied from or to the program there");
	if (!known_look_up(_metadata, &issue, "L30"))
		return;
	ASSERT_EQ(0, map_var(scene));
	ASSERT_EQ(0, fail_nth_begin(variant->what));
	ASSERT_EQ(0, fail_nth_only("rdma_umap_open"));
	/* One allocation for each mapping of the process, of which this is one. */
	for (nth = 1; !left && nth < MOST; nth++) {
		ASSERT_EQ(0, pipe(go));
		ASSERT_EQ(0, fail_nth_arm(self->nth, nth));
		pid = fork();
		if (!pid)
			read_when_told(scene->map, go);
		ASSERT_EQ(0, fail_nth_disarm(self->nth, &left));
		ASSERT_LT(0, pid);
		ASSERT_EQ(0, scope_take(&scope));
		/* This process has one, at the same address. */
		alone = scope_count(&scope, UOBJSCOPE_VMA,
				    scope_kv("start=%lu", (uintptr_t)scene->map)) == 1;
		untracked += alone;
		/* The child can read a mapping that is tracked, and no other. */
		if (!read_in_child(pid, go))
			reached += alone;
		else
			ASSERT_TRUE(alone);
	}
	scope_drop(&scope);
	ASSERT_EQ(0, unmap_var(scene));
	TH_LOG("%u fault points; %d times not tracked, %d times read nevertheless", nth - 2,
	       untracked, reached);
	ASSERT_EQ(1, untracked);
	known_report(_metadata, &issue, reached);
}

/* DM-01, DM-15, ENT-07, ERRNO-DM: Device memory, with and without the library's mapping. */
TEST_F_TIMEOUT(fail_nth, dm_15_alloc, 300)
{
	SWEEP("DM_ALLOC", .call = scene_alloc_dm, .undo = scene_free_dm);
	SWEEP("ibv_alloc_dm", .call = scene_alloc_dm_by_library, .undo = scene_free_dm_by_library);
}

/* DM-02, ERRNO-DM, L33: A free of device memory that is not mapped gives it back itself. */
TEST_F_TIMEOUT(fail_nth, dm_02_free, 300)
{
	SWEEP("DM_FREE", .make = scene_alloc_dm, .call = scene_free_dm,
	      .known = variant->what == FAIL_NTH_MEMORY ? "L33" : NULL);
}

/* DM-02: The library's free, with its unmapping. */
TEST_F_TIMEOUT(fail_nth, dm_02_free_by_library, 300)
{
	SWEEP("ibv_free_dm", .make = scene_alloc_dm_by_library, .call = scene_free_dm_by_library);
}

static int map_dm(struct scene *scene)
{
	return _map(scene->ctx, DM_SIZE, MAP_SHARED, raw_dm_off(scene->raw_dm.page_idx),
		    (uint32_t **)&scene->map);
}

static int unmap_dm(struct scene *scene)
{
	return _unmap(scene->map, DM_SIZE);
}

/* DM-01, ENT-01: Device memory is mapped once more. */
TEST_F_TIMEOUT(fail_nth, dm_01_map, 300)
{
	ASSERT_EQ(0, scene_alloc_dm(&self->scene));
	SWEEP("mmap of device memory", .call = map_dm, .undo = unmap_dm,
	      .no_copies = true);
	ASSERT_EQ(0, scene_free_dm(&self->scene));
}

/* DM-07, DM-15, ENT-07, ERRNO-DM: An operation; its ENOENT is L07. */
TEST_F_TIMEOUT(fail_nth, dm_07_map_op, 300)
{
	if (!(self->bed.dev.info.memic_operations & 1))
		SKIP(return, "the device has no MEMIC operation 0");
	SWEEP("mlx5dv_dm_map_op_addr", .make = scene_alloc_dm_by_library, .call = scene_map_op,
	      .undo = scene_unmap_op_and_free, .after = scene_free_dm_by_library);
}

/* DM-08, L33: Device memory with an operation is freed. */
TEST_F_TIMEOUT(fail_nth, dm_08_free_with_op, 300)
{
	if (!(self->bed.dev.info.memic_operations & 1))
		SKIP(return, "the device has no MEMIC operation 0");
	/* The next operation of that memory is refused by the device. */
	if (variant->what == FAIL_NTH_MEMORY)
		marker_expect("violation: memic_freed_under_operation");
	SWEEP("ibv_free_dm with an operation", .make = scene_make_op,
	      .call = scene_free_dm_by_library,
	      .known = variant->what == FAIL_NTH_MEMORY ? "L33" : NULL, .ends = true);
	if (self->leaks)
		ASSERT_EQ(0, lost_operation_dealloc(&self->bed.dev));
}

/* DM-11, ERRNO-DM: SW ICM. */
TEST_F_TIMEOUT(fail_nth, dm_11_alloc_sw_icm, 300)
{
	SWEEP("mlx5dv_alloc_dm", .call = scene_alloc_sw_icm, .undo = scene_free_dm_by_library);
}

/* DM-11, L08: A free of SW ICM that cannot tell the device succeeds and loses it. */
TEST_F_TIMEOUT(fail_nth, dm_11_free_sw_icm, 300)
{
	/* When the context goes. */
	if (variant->what == FAIL_NTH_MEMORY)
		marker_expect("violation: uctx_destroyed_under_object general_object");
	SWEEP("ibv_free_dm of SW ICM", .make = scene_alloc_sw_icm, .call = scene_free_dm_by_library,
	      .known = variant->what == FAIL_NTH_MEMORY ? "L08" : NULL);
}

static int import_dm(struct scene *scene)
{
	return _dm_import(scene->ctx, scene->dm->handle, &scene->new_dm);
}

static int unimport_dm(struct scene *scene)
{
	ibv_unimport_dm(scene->new_dm);
	return 0;
}

/* IMP-13, ERRNO-DM: An import has a mapping of its own. */
TEST_F_TIMEOUT(fail_nth, imp_13_import_dm, 300)
{
	SWEEP("ibv_import_dm", .call = import_dm, .undo = unimport_dm);
}

/* IMP-13: Its end is an unmapping. */
TEST_F_TIMEOUT(fail_nth, imp_13_unimport_dm, 300)
{
	SWEEP("ibv_unimport_dm", .make = import_dm, .call = unimport_dm,
	      .no_copies = true, .maybe = true);
}

/* DM-05: A region on device memory that cannot be registered does not use it. */
TEST_F_TIMEOUT(fail_nth, dm_05_reg, 300)
{
	SWEEP("ibv_reg_dm_mr", .call = scene_reg_dm, .undo = scene_dereg_mr);
}

/* DM-05: One that cannot be deregistered does. */
TEST_F_TIMEOUT(fail_nth, dm_05_dereg, 300)
{
	SWEEP("ibv_dereg_mr of device memory", .make = scene_reg_dm, .call = scene_dereg_mr);
}

/* UOBJ-10: A region on ordinary memory. */
TEST_F_TIMEOUT(fail_nth, uobj_10_reg_mr, 300)
{
	SWEEP("ibv_reg_mr", .call = scene_reg_memory, .undo = scene_dereg_mr);
}

/* UOBJ-02: And its end. */
TEST_F_TIMEOUT(fail_nth, uobj_02_dereg_mr, 300)
{
	SWEEP("ibv_dereg_mr", .make = scene_reg_memory, .call = scene_dereg_mr);
}

/* DMABUF-10, ERRNO-DMABUF: An export that fails has no reference, no file, no descriptor. */
TEST_F_TIMEOUT(fail_nth, dmabuf_10_export, 300)
{
	SWEEP("ibv_dm_export_dmabuf_fd", .call = scene_export_dm, .undo = scene_close_fd);
}

/* DMABUF-03: The last descriptor is closed, which needs no memory. */
TEST_F_TIMEOUT(fail_nth, dmabuf_03_close, 300)
{
	SWEEP("close of a dma-buf", .make = scene_export_dm, .call = scene_close_fd, .none = true);
}

static int export_then_free(struct scene *scene)
{
	int err = scene_alloc_dm(scene);

	if (!err)
		err = _raw_dmabuf_export(scene->ctx->cmd_fd, raw_dm_off(scene->raw_dm.page_idx),
					 &scene->new_fd);
	return err ?: scene_free_dm(scene);
}

/* DMABUF-05, L33: A close that gives the device its memory back. */
TEST_F_TIMEOUT(fail_nth, dmabuf_05_close_the_last, 300)
{
	SWEEP("close of a dma-buf of freed memory", .make = export_then_free,
	      .call = scene_close_fd,
	      .known = variant->what == FAIL_NTH_MEMORY ? "L33" : NULL,
	      .no_copies = true);
}

/* ATT-04, ERRNO-MR: A region on a dma-buf that cannot be registered is not attached. */
TEST_F_TIMEOUT(fail_nth, att_04_reg, 300)
{
	dmabuf_export(self->scene.dm, &self->scene.fd);
	SWEEP("ibv_reg_dmabuf_mr", .call = scene_reg_dmabuf, .undo = scene_dereg_mr);
}

/* ATT-04: And its end. */
TEST_F_TIMEOUT(fail_nth, att_04_dereg, 300)
{
	dmabuf_export(self->scene.dm, &self->scene.fd);
	SWEEP("ibv_dereg_mr of a dma-buf", .make = scene_reg_dmabuf, .call = scene_dereg_mr);
}

static int close_and_dereg(struct scene *scene)
{
	return scene_close_fd(scene) ?: scene_dereg_mr(scene);
}

static int dereg_close_and_free(struct scene *scene)
{
	return close_and_dereg(scene) ?: scene_free_dm_by_library(scene);
}

/* ATT-05, DM-18: Device memory is freed under a region on a dma-buf of it. */
TEST_F_TIMEOUT(fail_nth, att_05_free_under_region, 300)
{
	SWEEP("ibv_free_dm under a region", .make = scene_reg_then_free,
	      .call = scene_free_dm_by_library,
	      .undo = close_and_dereg, .after = dereg_close_and_free);
}

/* ENT-07, UOBJ-10: A UAR; the library would keep it for the next one. */
TEST_F_TIMEOUT(fail_nth, ent_07_alloc_uar, 300)
{
	SWEEP("UAR_OBJ_ALLOC", .call = scene_alloc_uar, .undo = scene_free_uar);
}

/* ENT-05, L33: And its end, by the entry's last reference. */
TEST_F_TIMEOUT(fail_nth, ent_05_free_uar, 300)
{
	/* When the context goes. */
	if (variant->what == FAIL_NTH_MEMORY)
		marker_expect("violation: uctx_destroyed_under_object uar");
	SWEEP("UAR_OBJ_DESTROY", .make = scene_alloc_uar, .call = scene_free_uar,
	      .known = variant->what == FAIL_NTH_MEMORY ? "L33" : NULL);
}

static int map_uar(struct scene *scene)
{
	scene->map = mmap(NULL, scene->length, PROT_WRITE, MAP_SHARED, scene->ctx->cmd_fd,
			  scene->off);
	return scene->map == MAP_FAILED ? errno : 0;
}

static int unmap_uar(struct scene *scene)
{
	return munmap(scene->map, scene->length) ? errno : 0;
}

static int export_uar(struct scene *scene)
{
	return _raw_dmabuf_export(scene->ctx->cmd_fd, scene->off, &scene->new_fd);
}

/* ENT-01, DMABUF-12: A UAR is mapped, and exported. */
TEST_F_TIMEOUT(fail_nth, dmabuf_12_uar, 300)
{
	ASSERT_EQ(0, scene_alloc_uar(&self->scene));
	SWEEP("mmap of a UAR", .call = map_uar, .undo = unmap_uar,
	      .no_copies = true);
	SWEEP("export of a UAR", .call = export_uar, .undo = scene_close_fd);
	ASSERT_EQ(0, scene_free_uar(&self->scene));
}

/* UOBJ-10: A DEVX umem. */
TEST_F_TIMEOUT(fail_nth, uobj_10_umem, 300)
{
	SWEEP("mlx5dv_devx_umem_reg", .call = scene_reg_umem, .undo = scene_dereg_umem);
}

/* UOBJ-02: And its end. */
TEST_F_TIMEOUT(fail_nth, uobj_02_umem, 300)
{
	SWEEP("mlx5dv_devx_umem_dereg", .make = scene_reg_umem, .call = scene_dereg_umem);
}

static int reg_umem_of_dmabuf(struct scene *scene)
{
	struct mlx5dv_devx_umem_in in = {
		.size = DM_SIZE,
		.access = IBV_ACCESS_LOCAL_WRITE,
		.pgsz_bitmap = UINT64_MAX & ~4095ULL,
		.comp_mask = MLX5DV_UMEM_MASK_DMABUF,
		.dmabuf_fd = scene->fd,
	};

	return POINTER(scene->new_umem, mlx5dv_devx_umem_reg_ex(scene->ctx, &in));
}

/* ATT-03: One on a dma-buf of device memory is refused in any case. */
TEST_F_TIMEOUT(fail_nth, att_03_umem, 300)
{
	dmabuf_export(self->scene.dm, &self->scene.fd);
	SWEEP("mlx5dv_devx_umem_reg_ex of device memory", .call = reg_umem_of_dmabuf,
	      .clean = EOPNOTSUPP);
}

static int create_channel(struct scene *scene)
{
	return POINTER(scene->new_channel, ibv_create_comp_channel(scene->ctx));
}

static int destroy_channel(struct scene *scene)
{
	return ibv_destroy_comp_channel(scene->new_channel);
}

/* UOBJ-10, UOBJ-14: A completion channel, queue and queue pair. */
TEST_F_TIMEOUT(fail_nth, uobj_10_queues, 300)
{
	SWEEP("ibv_create_comp_channel", .call = create_channel, .undo = destroy_channel);
	SWEEP("ibv_create_cq", .call = scene_create_cq, .undo = scene_destroy_cq);
	ASSERT_EQ(0, scene_create_cq(&self->scene));
	marker_expect("Create QP type [0-9]+ failed");
	SWEEP("ibv_create_qp", .call = scene_create_qp, .undo = scene_destroy_qp,
	      .any = variant->what == FAIL_NTH_COPY ?
		     "ib_is_buffer_cleared() takes what it cannot copy for something set" : NULL);
	ASSERT_EQ(0, scene_destroy_cq(&self->scene));
}

/* UOBJ-02: And their end. */
TEST_F_TIMEOUT(fail_nth, uobj_02_queues, 300)
{
	SWEEP("ibv_destroy_comp_channel", .make = create_channel, .call = destroy_channel,
	      .none = true);
	/* How many events were reported is told when it is gone, here and below. */
	SWEEP("ibv_destroy_cq", .make = scene_create_cq, .call = scene_destroy_cq,
	      .again = variant->what == FAIL_NTH_COPY ? ENOENT : 0);
	ASSERT_EQ(0, scene_create_cq(&self->scene));
	/*
	 * What the driver says where it has not told the device; and what comes of a queue pair
	 * that is left: nothing that it uses can be destroyed, here or with the context.
	 */
	marker_expect("failed to destroy QP");
	marker_expect("violation: (destroy_of_busy|uctx_destroyed_under_object) ");
	marker_expect("mlx5_cmd_out_err:.* status bad resource state");
	marker_expect("WARNING: .*uverbs_main[.]c:.* at uverbs_destroy_ufile_hw");
	SWEEP("ibv_destroy_qp", .make = scene_create_qp, .call = scene_destroy_qp,
	      .again = variant->what == FAIL_NTH_COPY ? ENOENT : 0);
	ASSERT_EQ(self->leaks ? EINVAL : 0, scene_destroy_cq(&self->scene));
}

/* A context, without the library, with one of each kind. */
static int open_and_fill(struct scene *scene)
{
	const struct ibv_context *ctx = scene->ctx;
	struct ibv_context own = *ctx;
	int err = scene_open_raw(scene);

	if (err)
		return err;
	own.cmd_fd = scene->cmd_fd;
	scene->ctx = &own;
	err = scene_alloc_var(scene) ?: scene_alloc_dm(scene) ?: scene_alloc_uar(scene);
	scene->ctx = (struct ibv_context *)ctx;
	return err;
}

/* UOBJ-06, UOBJ-07, VAR-12, DM-16, L33: A context is closed with all that it has. */
TEST_F_TIMEOUT(fail_nth, uobj_06_close, 300)
{
	if (variant->what == FAIL_NTH_MEMORY)
		marker_expect("violation: uctx_destroyed_under_object");
	SWEEP("close of a context", .make = open_and_fill, .call = scene_close_raw,
	      .known = variant->what == FAIL_NTH_MEMORY ? "L33" : NULL,
	      .no_copies = true);
}

/* A process with a context of its own, and mappings, ends. */
static int end_process(struct scene *scene, unsigned int nth, unsigned int *left)
{
	const pid_t pid = fork();
	siginfo_t info;
	int fd, err;

	if (!pid) {
		close(scene->ctx->cmd_fd);
		err = open_and_fill(scene);
		fd = fail_nth_open(0);
		if (!err && (mmap(NULL, scene->raw_var.length, PROT_WRITE, MAP_SHARED,
				  scene->cmd_fd, scene->raw_var.mmap_off) == MAP_FAILED ||
			     mmap(NULL, DM_SIZE, PROT_WRITE, MAP_SHARED, scene->cmd_fd,
				  raw_dm_off(scene->raw_dm.page_idx)) == MAP_FAILED))
			err = errno;
		if (!err)
			err = fd < 0 ? errno : fail_nth_arm(fd, nth);
		_exit(err);
	}
	if (pid < 0)
		return errno;
	/* What is left can be read of a process that is dead and was not waited for. */
	if (waitid(P_PID, pid, &info, WEXITED | WNOWAIT))
		return errno;
	fd = fail_nth_open(pid);
	err = fd < 0 ? errno : fail_nth_left(fd, left);
	close(fd);
	/* Nothing was armed. */
	if (!nth)
		*left = 1;
	waitpid(pid, NULL, 0);
	return err ?: info.si_status;
}

/* VAR-14, DM-16, UOBJ-07, L33: A process ends and cannot allocate on its way. */
TEST_F_TIMEOUT(fail_nth, var_14_exit, 300)
{
	if (variant->what != FAIL_NTH_MEMORY)
		SKIP(return, "a process that ends copies nothing of the driver's");
	marker_expect("violation: uctx_destroyed_under_object");
	SWEEP("exit", .run = end_process, .known = "L33");
}

/* A context of dmabuf_importer.ko; or the test is skipped, and must return. */
static bool lacks_importer(struct __test_metadata *_metadata, struct scene *scene)
{
	const char *missing = importer_missing();

	if (missing)
		SKIP(return true, "%s", missing);
	ASSERT_EQ(0, _importer_open(&scene->imp));
	ASSERT_EQ(0, _dmabuf_export(scene->dm, &scene->fd));
	return false;
}

static int attach(struct scene *scene)
{
	return _importer_attach(scene->imp, scene->dev->pci, scene->fd, DMABUF_IMPORTER_PEER2PEER,
				DMABUF_IMPORTER_AT_ONCE, &scene->id);
}

static int detach(struct scene *scene)
{
	return _importer_detach(scene->imp, scene->id);
}

static int map_attachment(struct scene *scene)
{
	return _importer_map(scene->imp, scene->id, NULL);
}

static int unmap_attachment(struct scene *scene)
{
	return _importer_unmap(scene->imp, scene->id);
}

/* ATT-01, ATT-02: Another importer: an attachment, and a mapping. */
TEST_F_TIMEOUT(fail_nth, att_02_importer, 300)
{
	if (lacks_importer(_metadata, &self->scene))
		return;
	if (variant->what == FAIL_NTH_COPY)
		SKIP(return, "the importer writes its answer before it does anything, too");
	SWEEP("attach", .call = attach, .undo = detach);
	ASSERT_EQ(0, attach(&self->scene));
	SWEEP("map of an attachment", .call = map_attachment, .undo = unmap_attachment);
	ASSERT_EQ(0, detach(&self->scene));
}

static int export_buffer(struct scene *scene)
{
	struct dmabuf_importer_export export = { .size = DM_SIZE };
	int err = _importer_export(scene->imp, &export);

	scene->new_fd = export.fd;
	return err;
}

/* ATT-03, ATT-22: A DEVX umem on a dma-buf of ordinary memory, which can be pinned. */
TEST_F_TIMEOUT(fail_nth, att_22_umem_of_dmabuf, 300)
{
	if (lacks_importer(_metadata, &self->scene))
		return;
	ASSERT_EQ(0, close(self->scene.fd));
	ASSERT_EQ(0, export_buffer(&self->scene));
	self->scene.fd = self->scene.new_fd;
	SWEEP("mlx5dv_devx_umem_reg_ex", .call = reg_umem_of_dmabuf, .undo = scene_dereg_umem);
	SWEEP("mlx5dv_devx_umem_dereg of a dma-buf", .make = reg_umem_of_dmabuf,
	      .call = scene_dereg_umem);
}

/* More allocations than a worker makes. */
#define MANY		1000

/*
 * DMABUF-04, DMABUF-05: The last reference to a dma-buf of freed memory is that of a
 * message that nobody can receive: a worker of the kernel's gives it back, while none of
 * its allocations succeeds.  The dma-buf goes in any case.
 */
TEST_F_TIMEOUT(fail_nth, dmabuf_05_released_by_worker, 300)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	struct scene *scene = &self->scene;
	struct peer_msg msg = {};
	struct dmabuf_sign sign;
	struct witnesses state = {};
	int pair[2], tries, left;
	char site[SITE] = "";
	uint64_t ino;

	if (variant->what != FAIL_NTH_MEMORY)
		SKIP(return, "a worker copies nothing from or to the program");
	ASSERT_EQ(0, witnesses_take(scene->dev, &state));
	ASSERT_EQ(0, export_then_free(scene));
	ino = dmabuf_inode(scene->new_fd);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	ASSERT_EQ(0, peer_send(pair[0], &msg, scene->new_fd));
	ASSERT_EQ(0, peer_send(pair[0], &msg, pair[1]));
	ASSERT_EQ(0, close(scene->new_fd));
	ASSERT_EQ(0, fail_nth_begin(variant->what));
	ASSERT_EQ(0, fail_nth_worker("uverbs_uobject_release", MANY));
	ASSERT_EQ(0, close(pair[1]));
	ASSERT_EQ(0, close(pair[0]));
	for (tries = 0; tries < 2000 && dmabuf_look(ino, &sign) == 1; tries++)
		nanosleep(&pause, NULL);
	/* It goes from that list before it is released. */
	for (tries = 0; tries < 200 && fail_nth_worker_left() == MANY; tries++)
		nanosleep(&pause, NULL);
	left = fail_nth_worker_left();
	ASSERT_NE(1, dmabuf_look(ino, &sign));
	fail_nth_site(site, sizeof(site));
	fail_nth_worker_end();
	TH_LOG("%d allocations of the worker failed, the last one in: %s", MANY - left, site);
	ASSERT_LT(left, MANY);
	if (!witnesses_agree(scene->dev, &state, PATIENCE)) {
		self->leaks = true;
		EXPECT_NE(NULL, exception_for("release by a worker", site, variant->what, 0));
	}
	scope_drop(&state.scope);
}

/* Slots of a node of an xarray (XA_CHUNK_SIZE). */
#define NODE		64

/* Entries of one page until the next offset is the given slot of a node. */
static int fill_offsets(struct scene *scene, enum entry_kind kind, unsigned int slot)
{
	struct entry entry;
	int err;

	do
		err = _entry_alloc(scene->ctx->cmd_fd, kind, 1, &entry);
	while (!err && (entry.off / sysconf(_SC_PAGESIZE) + 1) % NODE != slot);
	return err;
}

static int fill_handles(struct scene *scene)
{
	struct entry entry;
	int err;

	do
		err = _entry_alloc(scene->ctx->cmd_fd, ENTRY_VAR, 1, &entry);
	while (!err && (entry.handle + 1) % NODE);
	return err;
}

/* DM_MAP_OP_ADDR without a mapping, for an operation that is the first or not. */
static int first_op(struct scene *scene)
{
	return _raw_dm_map_op(scene->ctx->cmd_fd, scene->dm->handle, 0, 0);
}

static int second_op(struct scene *scene)
{
	return _raw_dm_map_op(scene->ctx->cmd_fd, scene->dm->handle, 1, 0);
}

/*
 * A call fails as no allocation in that function of the kernel succeeds; afterwards it
 * succeeds, and is undone.
 */
static void starve(struct __test_metadata *_metadata, struct _test_data_fail_nth *self,
		   const char *function, int (*call)(struct scene *scene),
		   int (*undo)(struct scene *scene))
{
	struct scene *scene = &self->scene;
	struct witnesses state = {};
	int left, err;

	ASSERT_EQ(0, witnesses_take(scene->dev, &state));
	ASSERT_EQ(0, fail_nth_begin(FAIL_NTH_MEMORY));
	ASSERT_EQ(0, fail_nth_starve(function, MANY));
	err = call(scene);
	left = fail_nth_worker_left();
	fail_nth_worker_end();
	ASSERT_EQ(ENOMEM, err)
		TH_LOG("with %d failed allocations in %s()", MANY - left, function);
	ASSERT_LT(left, MANY);
	ASSERT_TRUE(witnesses_agree(scene->dev, &state, PATIENCE));
	ASSERT_EQ(0, call(scene));
	if (undo) {
		ASSERT_EQ(0, undo(scene));
		ASSERT_TRUE(witnesses_agree(scene->dev, &state, PATIENCE));
	}
	scope_drop(&state.scope);
}

#define STARVE(function, call, undo)	starve(_metadata, self, function, call, undo)

/*
 * ENT-07, UOBJ-10, ENT-02: Handles and offsets are slots of nodes.  Where a new node is
 * needed the kernel tries twice to get one, so that one allocation that fails shows nothing.
 * If none succeeds the call fails; the slots that an entry of several pages had taken in
 * the node before are free again, for the next call.
 */
TEST_F_TIMEOUT(fail_nth, ent_07_no_node, 300)
{
	struct scene *scene = &self->scene;

	if (variant->what != FAIL_NTH_MEMORY)
		SKIP(return, "nothing is copied from or to the program there");
	if (self->bed.dev.info.var.count < 3 * NODE)
		SKIP(return, "fewer than %d VARs: load mlx5_vhca with more", 3 * NODE);
	ASSERT_EQ(0, fill_handles(scene));
	STARVE("__xa_alloc", scene_alloc_pd, scene_dealloc_pd);
	ASSERT_EQ(0, fill_offsets(scene, ENTRY_VAR, 0));
	STARVE("rdma_user_mmap_entry_insert_range", scene_alloc_var, scene_free_var);
	STARVE("rdma_user_mmap_entry_insert_range", scene_alloc_uar, scene_free_uar);
	ASSERT_EQ(0, fill_offsets(scene, ENTRY_MEMIC, NODE - 1));
	STARVE("rdma_user_mmap_entry_insert_range", scene_alloc_dm, scene_free_dm);
	if (self->bed.dev.info.memic_operations & 1)
		STARVE("rdma_user_mmap_entry_insert_range", first_op, NULL);
	/* The nodes of its offsets are there now. */
	if (self->bed.dev.info.memic_operations & 2)
		STARVE("__xa_insert", second_op, NULL);
}

/* ATT-04: The same of the key by which page faults find a region on a dma-buf. */
TEST_F_TIMEOUT(fail_nth, att_04_no_node, 300)
{
	if (variant->what != FAIL_NTH_MEMORY)
		SKIP(return, "nothing is copied from or to the program there");
	ASSERT_EQ(0, _dmabuf_export(self->scene.dm, &self->scene.fd));
	STARVE("__xa_store", scene_reg_dmabuf, scene_dereg_mr);
}

FIXTURE(fail_nth_unbind)
{
	struct bed bed;
	struct rebind rebind;
	int nth;
	bool leaks;
};

/* What the device says of an object whose end it was not told, when that of another comes. */
#define CONSEQUENCES \
	"destroy_of_busy|uctx_destroyed_under_object|pd_freed_under_mkey|" \
	"memic_freed_under_operation|memic_freed_under_mkey|sw_icm_freed_under_mkey|" \
	"memic_busy_page"

FIXTURE_SETUP(fail_nth_unbind)
{
	self->nth = -1;
	unbind_mend();
	if (!bed_make_quickly(_metadata, &self->bed, FAIL_NTH_MEMORY))
		return;
	/*
	 * What a command without memory has lost shows when the driver goes, to those who find
	 * something that should be gone.  That nothing of this comes without such a command is
	 * for the test to see.  KASAN's reports do not count.
	 */
	marker_expect("WARNING: .*(drivers/infiniband/|include/rdma/)");
	marker_expect("violation: (" CONSEQUENCES ") ");
	marker_expect("^(mlx5_core |infiniband |mlx5_ib: ).*(fail|destroy|not|unable)");
	ASSERT_NE(NULL, unbind_baseline(&self->bed.dev));
	ASSERT_EQ(0, rebind_find(&self->rebind, &self->bed.dev));
	self->nth = fail_nth_open(0);
	ASSERT_LE(0, self->nth);
}

FIXTURE_TEARDOWN(fail_nth_unbind)
{
	if (self->nth >= 0) {
		fail_nth_disarm(self->nth, NULL);
		EXPECT_EQ(0, close(self->nth));
		EXPECT_EQ(0, _bind_again(&self->bed.dev));
	}
	bed_mark(_metadata, "end");
}

/* What a process has when the device is taken away: one object of each kind, and mappings. */
struct inhabitant {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	struct mlx5dv_var *var;
	uint32_t *map;
	void *op;
};

static int move_in(const struct device *dev, struct inhabitant *in)
{
	int err;

	in->ctx = device_open(dev);
	if (!in->ctx)
		return errno;
	in->pd = ibv_alloc_pd(in->ctx);
	if (!in->pd)
		return errno;
	err = _dm_alloc(in->ctx, DM_SIZE, &in->dm) ?: _dm_map_op(in->dm, 0, &in->op);
	if (!err)
		err = _mr_reg_dm(in->pd, in->dm, 0, DM_SIZE, &in->mr);
	if (!err)
		err = _var_alloc(in->ctx, 0, &in->var);
	return err ?: _var_map(in->ctx, in->var, &in->map);
}

/* All of it succeeds, without the device. */
static int move_out(struct inhabitant *in)
{
	int err = _unmap(in->map, in->var->length) ?: _dm_unmap_op(in->op, DM_SIZE);

	mlx5dv_free_var(in->var);
	if (!err)
		err = ibv_dereg_mr(in->mr) ?: ibv_free_dm(in->dm);
	if (!err)
		err = ibv_dealloc_pd(in->pd);
	if (!err)
		err = ibv_close_device(in->ctx) ? errno : 0;
	return err;
}

/* What has come of a removal, as whoever looks at it from outside sees it. */
struct aftermath {
	char ledger[512];
	int warnings;
	int violations;
};

static int aftermath_take(const struct device *dev, struct aftermath *aftermath)
{
	aftermath->warnings = kernel_warnings();
	aftermath->violations = vhca_violations(dev);
	if (aftermath->warnings < 0 || aftermath->violations < 0)
		return errno ?: EIO;
	return unbind_ledger(dev, aftermath->ledger, sizeof(aftermath->ledger));
}

/* A removal has some hundred fault points and is followed by a probe: some of them. */
#define SAMPLES		12

/*
 * UOBJ-09, VAR-15, DM-17, L33, L34: The driver is taken from the device, and some allocation
 * on the way fails: it goes, and gives the device all back but what it has no memory to
 * speak of.
 */
TEST_F_TIMEOUT(fail_nth_unbind, uobj_09_unbind, 300)
{
	const char *seed = getenv("SEED");
	unsigned int nth = FAIL_NTH_NEVER, points = 0, left, i;
	struct aftermath before = {}, after = {};
	struct inhabitant in = {};
	unsigned int lost = 0;
	char site[SITE];
	bool excepted;
	int err;

	ASSERT_EQ(0, aftermath_take(&self->bed.dev, &before));
	snprintf(before.ledger, sizeof(before.ledger), "%s", unbind_baseline(&self->bed.dev));
	srand(seed ? strtoul(seed, NULL, 0) : 1);
	for (i = 0; i <= SAMPLES; i++) {
		ASSERT_EQ(0, move_in(&self->bed.dev, &in));
		/* A driver that does not know of lost memory tries to allocate the same. */
		before.violations = vhca_violations(&self->bed.dev);
		ASSERT_LE(0, before.violations);
		ASSERT_EQ(0, fail_nth_begin(FAIL_NTH_MEMORY));
		ASSERT_EQ(0, fail_nth_arm(self->nth, nth));
		err = rebind_unbind(&self->rebind);
		ASSERT_EQ(0, fail_nth_disarm(self->nth, &left));
		fail_nth_site(site, sizeof(site));
		/* Nobody has asked for a removal if the file cannot be opened or written. */
		if (err == ENOMEM && !fail_nth_site_has(site, "unbind_store"))
			err = rebind_unbind(&self->rebind);
		ASSERT_EQ(0, err)
			TH_LOG("fault point %u: %s", nth, site);
		EXPECT_EQ(0, move_out(&in))
			TH_LOG("fault point %u: %s", nth, site);
		ASSERT_EQ(0, aftermath_take(&self->bed.dev, &after));
		excepted = !left && fail_nth_site_has(site, "cmd_exec");
		if (excepted && strcmp(before.ledger, after.ledger)) {
			TH_LOG("fault point %u: %s, was %s, lost by a command without memory: %s",
			       nth, after.ledger, before.ledger, site);
			lost++;
		}
		/* The device would refuse that of the next round. */
		if (excepted && fail_nth_site_has(site, "mlx5_cmd_dealloc_memic_op")) {
			ASSERT_EQ(0, lost_operation_dealloc(&self->bed.dev));
			ASSERT_EQ(0, aftermath_take(&self->bed.dev, &after));
		}
		if (!excepted) {
			EXPECT_STREQ(before.ledger, after.ledger)
				TH_LOG("fault point %u: %s", nth, site);
			EXPECT_EQ(before.violations, after.violations)
				TH_LOG("fault point %u: %s", nth, site);
			EXPECT_EQ(before.warnings, after.warnings)
				TH_LOG("fault point %u: %s", nth, site);
		}
		before = after;
		ASSERT_EQ(0, rebind_bind(&self->rebind));
		ASSERT_EQ(0, device_warm_up(&self->bed.dev));
		if (!i) {
			points = FAIL_NTH_NEVER - left;
			ASSERT_LT(0U, points);
		}
		/* One of each part of the way. */
		nth = 1 + i * points / SAMPLES + rand() % (points / SAMPLES + 1);
	}
	TH_LOG("removal: %u fault points, of which %d were tried, %u lost something", points,
	       SAMPLES, lost);
	/* With the function goes what was lost, and nobody else finds it. */
	marker_expect("mlx5_core .*: (mlx5_cmd_out_err|destroy_(unmap|comp)_eq|up_rel_func):");
	marker_expect("mlx5_vhca: .*left behind");
	marker_expect("WARNING: .*mlx5_dm_cleanup");
	marker_expect("DMA-API: (.* pending DMA allocations while released|Mapped at:)");
	marker_expect("WARNING: .* at dma_debug_device_change");
	unbind(&self->bed.dev, UNBIND_FUNCTION);
	bind_again(&self->bed.dev);
}

static void restore(int status, void *tester)
{
	(void)status;
	if (getpid() == (pid_t)(uintptr_t)tester)
		fail_nth_end();
}

int main(int argc, char **argv)
{
	on_exit(restore, (void *)(uintptr_t)getpid());
	return bed_main(argc, argv);
}
