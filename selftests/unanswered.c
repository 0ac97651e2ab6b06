// SPDX-License-Identifier: GPL-2.0
/*
 * Calls whose command the device does not answer: the driver gives it up, the call fails,
 * and nothing of it is left but what the device has made without saying so.
 *
 * slow_faults.sh runs this with a device that has told the driver to wait for some seconds
 * only.  Until the device answers, no other command goes: it does when the call is back.
 */
#include <time.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/dm_ops.h"
#include "common/scene.h"
#include "common/scope.h"
#include "common/witnesses.h"

#define DM_NEEDED	(8ULL * SCENE_DM_SIZE)
#define PATIENCE	5000	/* milliseconds */

FIXTURE(unanswered)
{
	struct bed bed;
	struct scene scene;
	struct witnesses before;
};

/**
 * struct unanswered - a call, and a command of it
 * @make: what has to be there before, or NULL
 * @call: the call
 * @unmake: takes back what @make did, or NULL
 * @executed: the device does what it is told, and only does not say so
 * @left: kind of the object that it has then
 */
FIXTURE_VARIANT(unanswered)
{
	int (*make)(struct scene *scene);
	int (*call)(struct scene *scene);
	int (*unmake)(struct scene *scene);
	bool executed;
	const char *left;
};

FIXTURE_VARIANT_ADD(unanswered, context) { .call = scene_open_raw };
FIXTURE_VARIANT_ADD(unanswered, pd) { .call = scene_alloc_pd };
FIXTURE_VARIANT_ADD(unanswered, dm) { .call = scene_alloc_dm };
FIXTURE_VARIANT_ADD(unanswered, operation)
{
	.make = scene_alloc_dm_by_library,
	.call = scene_map_op,
	.unmake = scene_free_dm_by_library,
};

FIXTURE_VARIANT_ADD(unanswered, sw_icm) { .call = scene_alloc_sw_icm };
FIXTURE_VARIANT_ADD(unanswered, region) { .call = scene_reg_dm };
FIXTURE_VARIANT_ADD(unanswered, uar) { .call = scene_alloc_uar };
FIXTURE_VARIANT_ADD(unanswered, cq) { .call = scene_create_cq };
FIXTURE_VARIANT_ADD(unanswered, qp)
{
	.make = scene_create_cq,
	.call = scene_create_qp,
	.unmake = scene_destroy_cq,
};

FIXTURE_VARIANT_ADD(unanswered, executed_cq)
{
	.call = scene_create_cq,
	.executed = true,
	.left = "cq",
};

FIXTURE_VARIANT_ADD(unanswered, executed_uar)
{
	.call = scene_alloc_uar,
	.executed = true,
	.left = "uar",
};

FIXTURE_SETUP(unanswered)
{
	struct scene *scene = &self->scene;

	if (!bed_make(_metadata, &self->bed, true))
		return;
	/* What the driver says of a command that it gives up, and of the answer. */
	marker_expect("mlx5_core .*: (wait_func\\w*|mlx5_cmd_comp_handler|mlx5_cmd_invoke):");
	marker_expect("infiniband .*: create_qp:");
	/* Of what was made without an answer, when its context goes. */
	marker_expect("violation: (uctx_destroyed_under_object|destroy_of_busy) ");
	marker_expect("mlx5_core .*: mlx5_cmd_out_err:");
	ASSERT_EQ(NULL, scope_missing());
	ASSERT_LE(DM_NEEDED, self->bed.dev.info.memic.size);
	scene_init(scene, &self->bed.dev);
	ASSERT_EQ(0, scene_furnish(scene));
	if (variant->make)
		ASSERT_EQ(0, variant->make(scene));
	ASSERT_EQ(0, witnesses_take(&self->bed.dev, &self->before));
}

FIXTURE_TEARDOWN(unanswered)
{
	struct scene *scene = &self->scene;

	EXPECT_EQ(0, vhca_write(&self->bed.dev, "faults", "clear\n"));
	scope_drop(&self->before.scope);
	if (_metadata->exit_code != KSFT_PASS || !scene->ctx)
		return;
	if (variant->unmake)
		EXPECT_EQ(0, variant->unmake(scene));
	EXPECT_EQ(0, ibv_free_dm(scene->dm));
	EXPECT_EQ(0, ibv_dealloc_pd(scene->pd));
	EXPECT_EQ(0, ibv_close_device(scene->ctx));
	/* What the device has made without saying so is the driver's no more. */
	if (!variant->left)
		bed_unmake(_metadata, &self->bed);
}

/* VAR-10, DM-13, UOBJ-10, ENT-07, ERRNO-DM, ERRNO-MR: The call fails with ETIMEDOUT. */
TEST_F_TIMEOUT(unanswered, uobj_10_given_up, 120)
{
	const struct device *dev = &self->bed.dev;
	const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	struct vhca_file file;
	int unanswered, err, tries = 0;

	ASSERT_EQ(0, vhca_write(dev, "faults", variant->executed ?
				"opcode=any no_answer\n" :
				"opcode=any no_answer status=internal_error\n"));
	ASSERT_EQ(ETIMEDOUT, variant->call(&self->scene));
	ASSERT_EQ(0, vhca_open(dev, "faults", &file));
	unanswered = vhca_number(file.header, "unanswered");
	vhca_close(&file);
	ASSERT_EQ(1, unanswered);
	/* The answer comes late, and nobody waits for it. */
	ASSERT_EQ(0, vhca_write(dev, "faults", "clear\n"));
	if (variant->left) {
		ASSERT_EQ(1, vhca_find_new(dev, variant->left, self->before.device.seq, NULL));
		ASSERT_EQ(0, scope_take(&self->before.scope));
		ASSERT_EQ(0, scope_left(&self->before.scope));
	} else {
		ASSERT_TRUE(witnesses_agree(dev, &self->before, PATIENCE));
	}
	/* All goes on, once the driver has taken notice. */
	while ((err = scene_alloc_pd(&self->scene)) == EAGAIN && ++tries < 200)
		nanosleep(&pause, NULL);
	ASSERT_EQ(0, err);
	ASSERT_EQ(0, scene_dealloc_pd(&self->scene));
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
