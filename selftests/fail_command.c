// SPDX-License-Identifier: GPL-2.0
/*
 * Every call with the Nth command that it sends refused by the device, or late, or held,
 * for N from 1 until the call comes to its end untouched.
 *
 * What creates either succeeds or leaves nothing, and says what the driver makes of the
 * status, or what the table of exceptions has.  What destroys either succeeds, or does when
 * it is called again.  A command that is late or held changes nothing, whatever else is
 * looked at meanwhile.
 *
 * How many commands each call had is written as a diagnostic; one without any would prove
 * nothing, and is a failure.
 */
#include <sys/mman.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/caller.h"
#include "common/dm_ops.h"
#include "common/kernel_signs.h"
#include "common/known.h"
#include "common/lost.h"
#include "common/scene.h"
#include "common/scope.h"
#include "common/skip.h"
#include "common/unbind.h"
#include "common/var_ops.h"
#include "common/witnesses.h"

#define DM_NEEDED	(8 * SCENE_DM_SIZE)
#define PATIENCE	2000	/* milliseconds */
#define MOST		64U	/* commands, more than any call sends */

FIXTURE(fail_command)
{
	struct bed bed;
	struct witnesses before;
	struct scene scene;
	bool leaks;
};

/**
 * struct mode - what becomes of a command
 * @rule: in the words of the device's file faults
 * @err: what a call says whose command was refused, 0 for one that is not
 * @held: it waits until it is released
 */
FIXTURE_VARIANT(fail_command)
{
	const char *rule;
	int err;
	bool held;
};

/* Something that only happens to a device, and something that a full one says. */
FIXTURE_VARIANT_ADD(fail_command, refused) { .rule = "status=internal_error", .err = EIO };
FIXTURE_VARIANT_ADD(fail_command, full) { .rule = "status=limits_exceeded", .err = ENOMEM };
FIXTURE_VARIANT_ADD(fail_command, late) { .rule = "delay_ms=20" };
FIXTURE_VARIANT_ADD(fail_command, held) { .rule = "hold", .held = true };

FIXTURE_SETUP(fail_command)
{
	struct scene *scene = &self->scene;
	struct device dev;

	/* A test that was killed may have left some. */
	if (!device_find(&dev))
		vhca_write(&dev, "faults", "clear\n");
	if (!bed_make(_metadata, &self->bed, true))
		return;
	if (self->bed.dev.info.memic.size < DM_NEEDED)
		SKIP(return, "less than %d bytes of MEMIC: load mlx5_vhca with a larger memic_size",
		     DM_NEEDED);
	if (scope_missing())
		SKIP(return, "%s", scope_missing());
	scene_init(scene, &self->bed.dev);
	ASSERT_EQ(0, scene_furnish(scene));
	/* Without it what wants one is skipped. */
	if (!kernel_is_before(7, 0))
		dmabuf_export(scene->dm, &scene->fd);
	/* What the driver says of a refusal. */
	marker_expect("mlx5_core .*: mlx5_cmd_out_err:");
	marker_expect("infiniband .*: (create_qp|mlx5r_umr_|destroy_|mlx5_ib_)");
}

FIXTURE_TEARDOWN(fail_command)
{
	struct scene *scene = &self->scene;
	int err;

	EXPECT_EQ(0, vhca_write(&self->bed.dev, "faults", "clear\n"));
	/* A test that failed may have stopped anywhere; what it has goes with its process. */
	if ((_metadata->exit_code != KSFT_PASS && _metadata->exit_code != KSFT_XFAIL) ||
	    !scene->ctx)
		return;
	if (scene->fd >= 0)
		EXPECT_EQ(0, close(scene->fd));
	EXPECT_EQ(0, ibv_free_dm(scene->dm));
	/* What is lost may be using it. */
	err = ibv_dealloc_pd(scene->pd);
	EXPECT_TRUE(!err || self->leaks);
	EXPECT_EQ(0, ibv_close_device(scene->ctx));
	if (!self->leaks)
		bed_unmake(_metadata, &self->bed);
}

/**
 * struct operation - a call, and how to take back what it does
 * @name: for diagnostics
 * @make: what has to be there each time before it is called, or NULL
 * @call: the call
 * @undo: undoes a call that succeeded, NULL for a call that destroys: one that fails must
 *	then succeed when it is called again
 * @after: what to do after a call that failed, or NULL
 * @known: id of a known fault that it must show when a command is refused
 * @none: it sends no command, and so cannot fail
 * @maybe: whether it sends any is decided by what the driver keeps at hand
 */
struct operation {
	const char *name;
	int (*make)(struct scene *scene);
	int (*call)(struct scene *scene);
	int (*undo)(struct scene *scene);
	int (*after)(struct scene *scene);
	const char *known;
	bool none;
	bool maybe;
};

/* Whether the driver has lost device memory, for all tests of the program. */
static bool *lost;

static void __attribute__((constructor)) share_lost(void)
{
	lost = mmap(NULL, sizeof(*lost), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (lost == MAP_FAILED) {
		perror("mmap");
		_exit(1);
	}
}

/**
 * struct exception - what may come of a refused command beside the errno of its status
 * @opcode: the command
 * @call: in this operation, NULL for any
 * @err: the errno then, 0 if the call succeeds
 * @left: something is left behind
 * @why: who has decided so, or which known fault it is
 * @take: takes from the device what is left, as it would be in the way, or NULL
 */
struct exception {
	unsigned int opcode;
	const char *call;
	int err;
	bool left;
	const char *why;
	int (*take)(const struct device *dev);
};

static const struct exception exceptions[] = {
	{
		.opcode = VHCA_DEALLOC_MEMIC,
		.left = true,
		.why = "L33",
	}, {
		.opcode = VHCA_MODIFY_MEMIC,
		.call = "ibv_free_dm with an operation",
		.left = true,
		.why = "L33",
		.take = lost_operation_dealloc,
	}, {
		.opcode = VHCA_DEALLOC_UAR,
		.left = true,
		.why = "L33",
	}, {
		.opcode = VHCA_DESTROY_GENERAL,
		.left = true,
		.why = "L08",
	}, {
		.opcode = VHCA_DESTROY_QP,
		.left = true,
		.why = "L34",
	},
};

static const struct exception *exception_for(const char *call, unsigned int opcode)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(exceptions); i++)
		if (exceptions[i].opcode == opcode &&
		    (!exceptions[i].call || !strcmp(exceptions[i].call, call)))
			return &exceptions[i];
	return NULL;
}

static const char *known_by(const struct exception *exception)
{
	return exception && exception->why[0] == 'L' && exception->why[1] <= '9' ?
	       exception->why : NULL;
}

/* How often the only rule was applied, -1 if that cannot be read. */
static int hits(const struct device *dev)
{
	struct vhca_file file;
	int n = -1;

	if (vhca_open(dev, "faults", &file))
		return -1;
	if (file.count == 1)
		n = vhca_number(file.record[0], "hits");
	vhca_close(&file);
	return n;
}

/* The command that was refused after @seq, 0 if there is none. */
static unsigned int refused_since(const struct device *dev, uint64_t seq)
{
	struct vhca_history history;
	unsigned int i, opcode = 0;

	if (vhca_since(dev, seq, &history))
		return 0;
	for (i = 0; i < history.count && !opcode; i++)
		if (history.command[i].status)
			opcode = history.command[i].opcode;
	vhca_forget(&history);
	return opcode;
}

/**
 * struct tally - what came of the commands of a call
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

/* A call of another thread, for what is held. */
struct held_call {
	struct caller caller;
	int (*call)(struct scene *scene);
	struct scene *scene;
};

static int call_it(void *arg)
{
	struct held_call *held = arg;

	return held->call(held->scene);
}

/* The call is made, and if the device holds a command of it, that is let go. */
static int call_held(struct __test_metadata *_metadata, struct _test_data_fail_command *self,
		     const struct operation *op)
{
	const struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };
	struct held_call held = { .call = op->call, .scene = &self->scene };
	struct scope scope = {};
	struct vhca_file file;
	bool there = false;
	int result = -1;

	caller_start(&held.caller, call_it, &held);
	while (!there && !caller_is_done(&held.caller)) {
		ASSERT_EQ(0, vhca_open(&self->bed.dev, "faults", &file));
		there = vhca_number(file.header, "held");
		vhca_close(&file);
		nanosleep(&pause, NULL);
	}
	if (there) {
		/* All that the kernel has can be looked at, whatever locks are held. */
		ASSERT_EQ(0, scope_take(&scope));
		scope_drop(&scope);
		ASSERT_FALSE(caller_is_done(&held.caller));
		ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults", "release\n"));
	}
	ASSERT_EQ(0, _caller_end(&held.caller, &result));
	return result;
}

/* One call with one command.  What is wrong is reported, and the next one is tried. */
static bool sweep_one(struct __test_metadata *_metadata, struct _test_data_fail_command *self,
		      const struct _fixture_variant_fail_command *variant,
		      const struct operation *op, unsigned int nth, struct witnesses *state,
		      struct tally *tally)
{
	const struct exception *exception = NULL;
	const struct device *dev = &self->bed.dev;
	struct scene *scene = &self->scene;
	unsigned int opcode = 0;
	char rule[80];
	int64_t seq;
	int err, n;

	if (op->make)
		ASSERT_EQ(0, op->make(scene));
	seq = vhca_seq(dev);
	snprintf(rule, sizeof(rule), "opcode=any nth=%u %s\n", nth, variant->rule);
	ASSERT_EQ(0, vhca_write(dev, "faults", rule));
	err = variant->held ? call_held(_metadata, self, op) : op->call(scene);
	n = hits(dev);
	ASSERT_LE(0, n);
	ASSERT_EQ(0, vhca_write(dev, "faults", "clear\n"));
	if (n && variant->err) {
		opcode = refused_since(dev, seq);
		exception = exception_for(op->name, opcode);
	}
	if (!n || !variant->err) {
		ASSERT_EQ(0, err)
			TH_LOG("%s fails though nothing was refused: %s", op->name, strerror(err));
	} else if (!err) {
		tally->without++;
	} else {
		tally->failed++;
		if (err != variant->err) {
			tally->excepted += !!exception;
			EXPECT_TRUE(exception && exception->err == err)
				TH_LOG("%s: command %u, 0x%x, refused: errno %d, %s", op->name,
				       nth, opcode, err, strerror(err));
		}
	}
	if (err && op->after)
		ASSERT_EQ(0, op->after(scene));
	if (!err && op->undo)
		ASSERT_EQ(0, op->undo(scene));
	if (err && !op->undo)
		ASSERT_EQ(0, op->call(scene))
			TH_LOG("%s: command %u, 0x%x, refused: does not succeed afterwards",
			       op->name, nth, opcode);
	if (!witnesses_agree(dev, state, exception && exception->left ? 0 : PATIENCE)) {
		self->leaks = true;
		EXPECT_TRUE(exception && exception->left)
			TH_LOG("%s: command %u, 0x%x, refused: this is left", op->name, nth,
			       opcode);
		if (exception) {
			tally->excepted++;
			tally->known = known_by(exception) ?: tally->known;
			TH_LOG("%s: command %u, 0x%x: %s", op->name, nth, opcode, exception->why);
		}
		if (exception && exception->take)
			ASSERT_EQ(0, exception->take(dev));
		__atomic_store_n(lost, true, __ATOMIC_RELAXED);
		ASSERT_EQ(0, witnesses_take(dev, state));
	}
	return n;
}

static void sweep(struct __test_metadata *_metadata, struct _test_data_fail_command *self,
		  const struct _fixture_variant_fail_command *variant,
		  const struct operation *op)
{
	struct witnesses state = {};
	struct known_issue issue;
	struct tally tally = {};
	unsigned int nth;

	/* What is made once by the library, or by the kernel, is there then. */
	if (op->make)
		ASSERT_EQ(0, op->make(&self->scene));
	ASSERT_EQ(0, op->call(&self->scene));
	if (op->undo)
		ASSERT_EQ(0, op->undo(&self->scene));
	ASSERT_EQ(0, witnesses_take(self->scene.dev, &state));
	for (nth = 1; nth < MOST; nth++)
		if (!sweep_one(_metadata, self, variant, op, nth, &state, &tally))
			break;
	scope_drop(&state.scope);
	TH_LOG("%s: %u commands, %u failed the call, %u it did without, %u exceptions",
	       op->name, nth - 1, tally.failed, tally.without, tally.excepted);
	if (!op->maybe)
		ASSERT_EQ(op->none, nth == 1);
	ASSERT_GT(MOST, nth);
	if (op->known && variant->err && known_look_up(_metadata, &issue, op->known))
		known_report(_metadata, &issue, tally.known);
}

#define SWEEP(...) \
	sweep(_metadata, self, variant, &(const struct operation){ __VA_ARGS__ })

/* UOBJ-10: A context. */
TEST_F(fail_command, uobj_10_context)
{
	SWEEP("open and GET_CONTEXT", .call = scene_open_raw, .undo = scene_close_raw);
}

/* UOBJ-10: A PD. */
TEST_F(fail_command, uobj_10_pd)
{
	SWEEP("ibv_alloc_pd", .call = scene_alloc_pd, .undo = scene_dealloc_pd);
	SWEEP("ibv_dealloc_pd", .make = scene_alloc_pd, .call = scene_dealloc_pd);
}

/* VAR-01, VAR-03: A VAR is made and freed without the device, which has told of it once. */
TEST_F(fail_command, var_01_without_commands)
{
	SWEEP("VAR_OBJ_ALLOC", .call = scene_alloc_var, .undo = scene_free_var, .none = true);
	SWEEP("VAR_OBJ_DESTROY", .make = scene_alloc_var, .call = scene_free_var, .none = true);
}

/* DM-13, ERRNO-DM: Device memory, with and without the library's mapping. */
TEST_F(fail_command, dm_13_alloc)
{
	SWEEP("DM_ALLOC", .call = scene_alloc_dm, .undo = scene_free_dm);
	SWEEP("ibv_alloc_dm", .call = scene_alloc_dm_by_library,
	      .undo = scene_free_dm_by_library);
}

/* DM-02, L33: And its end. */
TEST_F(fail_command, dm_02_free)
{
	SWEEP("DM_FREE", .make = scene_alloc_dm, .call = scene_free_dm, .known = "L33");
}

/* DM-07: An operation. */
TEST_F(fail_command, dm_07_operation)
{
	if (!(self->bed.dev.info.memic_operations & 1))
		SKIP(return, "the device has no MEMIC operation 0");
	SWEEP("mlx5dv_dm_map_op_addr", .make = scene_alloc_dm_by_library, .call = scene_map_op,
	      .undo = scene_unmap_op_and_free, .after = scene_free_dm_by_library);
}

/* DM-08, L33: Device memory with an operation is freed. */
TEST_F(fail_command, dm_08_free_with_operation)
{
	if (!(self->bed.dev.info.memic_operations & 1))
		SKIP(return, "the device has no MEMIC operation 0");
	if (variant->err)
		marker_expect("violation: memic_freed_under_operation");
	SWEEP("ibv_free_dm with an operation", .make = scene_make_op,
	      .call = scene_free_dm_by_library, .known = "L33");
}

/* DM-11: SW ICM. */
TEST_F(fail_command, dm_11_sw_icm)
{
	SWEEP("mlx5dv_alloc_dm", .call = scene_alloc_sw_icm, .undo = scene_free_dm_by_library);
}

/* DM-11, L08: And its end. */
TEST_F(fail_command, dm_11_free_sw_icm)
{
	/* When the context goes. */
	if (variant->err)
		marker_expect("violation: uctx_destroyed_under_object general_object");
	SWEEP("ibv_free_dm of SW ICM", .make = scene_alloc_sw_icm,
	      .call = scene_free_dm_by_library, .known = "L08");
}

/* DM-05, ERRNO-MR: A region on device memory. */
TEST_F(fail_command, dm_05_region)
{
	SWEEP("ibv_reg_dm_mr", .call = scene_reg_dm, .undo = scene_dereg_mr);
	SWEEP("ibv_dereg_mr of device memory", .make = scene_reg_dm, .call = scene_dereg_mr);
}

/* ATT-04, ERRNO-MR: A region on a dma-buf; its key is one that the driver has, if it has any. */
TEST_F(fail_command, att_04_region)
{
	if (self->scene.fd < 0)
		SKIP(return, "no UVERBS_OBJECT_DMABUF: the kernel is older than 7.0");
	SWEEP("ibv_reg_dmabuf_mr", .call = scene_reg_dmabuf, .undo = scene_dereg_mr,
	      .maybe = true);
	SWEEP("ibv_dereg_mr of a dma-buf", .make = scene_reg_dmabuf, .call = scene_dereg_mr,
	      .maybe = true);
}

/* DMABUF-01, DMABUF-03: An export is made and closed without the device. */
TEST_F(fail_command, dmabuf_01_without_commands)
{
	SWEEP("ibv_dm_export_dmabuf_fd", .call = scene_export_dm, .undo = scene_close_fd,
	      .none = true);
	SWEEP("close of a dma-buf", .make = scene_export_dm, .call = scene_close_fd,
	      .none = true);
}

/* ENT-07: A UAR. */
TEST_F(fail_command, ent_07_uar)
{
	SWEEP("UAR_OBJ_ALLOC", .call = scene_alloc_uar, .undo = scene_free_uar);
}

/* ENT-05, L33: And its end. */
TEST_F(fail_command, ent_05_free_uar)
{
	/* When the context goes. */
	if (variant->err)
		marker_expect("violation: uctx_destroyed_under_object uar");
	SWEEP("UAR_OBJ_DESTROY", .make = scene_alloc_uar, .call = scene_free_uar,
	      .known = "L33");
}

/* UOBJ-10: A DEVX umem. */
TEST_F(fail_command, uobj_10_umem)
{
	SWEEP("mlx5dv_devx_umem_reg", .call = scene_reg_umem, .undo = scene_dereg_umem);
	SWEEP("mlx5dv_devx_umem_dereg", .make = scene_reg_umem, .call = scene_dereg_umem);
}

/* UOBJ-10: Queues. */
TEST_F(fail_command, uobj_10_queues)
{
	SWEEP("ibv_create_cq", .call = scene_create_cq, .undo = scene_destroy_cq);
	ASSERT_EQ(0, scene_create_cq(&self->scene));
	SWEEP("ibv_create_qp", .call = scene_create_qp, .undo = scene_destroy_qp);
	ASSERT_EQ(0, scene_destroy_cq(&self->scene));
}

/* UOBJ-02, L34: And their end. */
TEST_F(fail_command, uobj_02_queues)
{
	SWEEP("ibv_destroy_cq", .make = scene_create_cq, .call = scene_destroy_cq);
	ASSERT_EQ(0, scene_create_cq(&self->scene));
	/* What comes of a queue pair that is left: nothing that it uses can be destroyed. */
	if (variant->err) {
		marker_expect("failed to destroy QP");
		marker_expect("violation: (destroy_of_busy|uctx_destroyed_under_object) ");
		marker_expect("WARNING: .*uverbs_main[.]c:.* at uverbs_destroy_ufile_hw");
	}
	SWEEP("ibv_destroy_qp", .make = scene_create_qp, .call = scene_destroy_qp,
	      .known = "L34");
	ASSERT_EQ(self->leaks ? EINVAL : 0, scene_destroy_cq(&self->scene));
}

FIXTURE(fail_command_end)
{
	struct device dev;
};

FIXTURE_SETUP(fail_command_end)
{
	const char *missing = device_find(&self->dev);

	if (missing)
		SKIP(return, "%s", missing);
	bed_mark(_metadata, "begin");
}

FIXTURE_TEARDOWN(fail_command_end)
{
	bed_mark(_metadata, "end");
}

/*
 * UOBJ-09, L33: The driver is taken from the device, and looks itself whether all of its
 * memory is there.  The last of all tests.
 */
TEST_F(fail_command_end, uobj_09_lost_memory_is_told_of)
{
	int warnings;

	marker_expect("WARNING: .*(mlx5_ib_stage_init_cleanup|mlx5_dm_cleanup)");
	/* What of it is mapped for the device stays so, for who looks at that. */
	marker_expect("DMA-API: (.* pending DMA allocations while released|Mapped at:)");
	marker_expect("WARNING: .* at dma_debug_device_change");
	/* Of what a lost queue pair was on. */
	marker_expect("WARNING: .*(rdma_restrack_clean|ib_dealloc_pd|ib_free_cq)");
	marker_expect("restrack: ");
	marker_expect("mlx5_core .*: (mlx5_cmd_out_err|destroy_(unmap|comp)_eq|up_rel_func):");
	marker_expect("mlx5_vhca: .*(left behind|violation: destroy_of_busy)");
	warnings = kernel_warnings();
	ASSERT_LE(0, warnings);
	unbind(&self->dev, UNBIND_FUNCTION);
	EXPECT_EQ(*lost, warnings < kernel_warnings());
	bind_again(&self->dev);
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
