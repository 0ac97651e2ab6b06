// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of random input: whatever a driver or a user sends, the device answers it,
 * and it neither reads nor writes what it was not given.
 *
 * The former is for KASAN to see, and for what surrounds the memory that is given.  Of a
 * user, who may send commands by DEVX and write anything to its queues, it is seen that
 * all that the device touches is that user's.
 *
 * By default there is little of it.  The parameters fuzz_seed and fuzz_inputs of the
 * module say more, and the suite can be run again; see "Random input" in
 * Documentation/vhca.rst.
 */
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>

#include "fuzz_kunit.h"

/* So often all is made anew; a seed and this number lead to the same input again. */
#define FUZZ_ROUND	1024

static unsigned int fuzz_inputs = 2 * FUZZ_ROUND;
module_param(fuzz_inputs, uint, 0600);
MODULE_PARM_DESC(fuzz_inputs, "KUnit: random inputs of each kind");

static unsigned int fuzz_seed = 1;
module_param(fuzz_seed, uint, 0600);
MODULE_PARM_DESC(fuzz_seed, "KUnit: seed of the random inputs");

static void fuzz_step(struct fuzz *f)
{
	if (fuzz_one_in(f, 2))
		fuzz_command(f);
	else if (!f->uid && fuzz_one_in(f, 8))
		fuzz_datagram(f);
	else
		fuzz_work(f);
}

/* As a reader of debugfs sees what is there. */
static void fuzz_look(struct vhca *v)
{
	struct vhca_object_record record;
	struct vhca_object *object;

	mutex_lock(&v->lock);
	list_for_each_entry(object, &v->ledger.births, node)
		vhca_object_describe(object, &record);
	mutex_unlock(&v->lock);
}

/* One round.  To find which input it was each is looked behind if @closely. */
static bool fuzz_round(struct fuzz *f, u32 seed, u16 uid, bool closely)
{
	prandom_seed_state(&f->random, (u64)seed << 16 | uid);
	f->uid = uid;
	f->victim = uid + 1;
	f->escapes = 0;
	f->inputs = 0;
	fuzz_scene(f);
	while (f->inputs < FUZZ_ROUND) {
		fuzz_step(f);
		if (closely && !fuzz_is_sound(f))
			return false;
	}
	fuzz_look(f->v);
	return fuzz_is_sound(f);
}

static void fuzz_rounds(struct kunit *test, u16 uid)
{
	unsigned int rounds = DIV_ROUND_UP(fuzz_inputs, FUZZ_ROUND), round;
	struct fuzz *f = fuzz_begin(test);
	struct vhca_stats *stats = &f->v->stats;
	u64 began = ktime_get_ns(), inputs = 0;

	for (round = 0; round < rounds; round++) {
		u32 seed = fuzz_seed + round;
		bool sound = fuzz_round(f, seed, uid, false);

		inputs += f->inputs;
		if (!sound && !fuzz_round(f, seed, uid, true))
			KUNIT_FAIL(test, "%s, behind input %llu, command %llu (opcode 0x%x)",
				   f->why, f->inputs, f->v->recorder.seq, f->last);
		if (!sound || test->status == KUNIT_FAILURE) {
			KUNIT_FAIL(test, "fuzz_seed=%u fuzz_inputs=%u leads there",
				   seed, FUZZ_ROUND);
			return;
		}
		cond_resched();
	}
	kunit_info(test, "fuzz_seed=%u inputs=%llu ms=%llu commands=%llu refused=%llu work_requests=%llu packets=%llu completions=%llu violations=%u\n",
		   fuzz_seed, inputs, div_u64(ktime_get_ns() - began, NSEC_PER_MSEC), f->done,
		   f->refused, stats->work_requests, stats->packets, stats->completions,
		   f->v->recorder.nr_violations);
	/* It went further than to the door. */
	KUNIT_EXPECT_GT(test, f->done, inputs / 16);
	KUNIT_EXPECT_GT(test, stats->packets, 0);
}

static void fuzz_driver(struct kunit *test)
{
	fuzz_rounds(test, 0);
}

static void fuzz_user(struct kunit *test)
{
	fuzz_rounds(test, 7);
}

/* What an administrator writes to debugfs. */
static void fuzz_faults(struct kunit *test)
{
	struct fuzz *f = fuzz_begin(test);

	prandom_seed_state(&f->random, fuzz_seed);
	while (f->inputs < fuzz_inputs)
		fuzz_text(f);
	kunit_info(test, "fuzz_seed=%u inputs=%llu taken=%llu refused=%llu\n", fuzz_seed,
		   f->inputs, f->done, f->refused);
	KUNIT_EXPECT_GT(test, f->done, f->inputs / 64);
	KUNIT_EXPECT_GT(test, f->refused, f->inputs / 64);
}

static struct kunit_case vhca_fuzz_cases[] = {
	KUNIT_CASE_SLOW(fuzz_driver),
	KUNIT_CASE_SLOW(fuzz_user),
	KUNIT_CASE(fuzz_faults),
	{}
};

static struct kunit_suite vhca_fuzz_suite = {
	.name		= "mlx5_vhca_fuzz",
	.init		= vhca_kunit_init,
	.test_cases	= vhca_fuzz_cases,
};

kunit_test_suite(vhca_fuzz_suite);
