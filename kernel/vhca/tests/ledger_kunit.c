// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of the ledger: numbers, counts, who is on whom, what is left.
 */
#include <linux/slab.h>

#include "device_kunit.h"

/* An object as those commands make it that need nothing but a number. */
static struct vhca_object *new_object(struct kunit *test)
{
	struct vhca_object *object = kzalloc_obj(*object);

	KUNIT_ASSERT_NOT_NULL(test, object);
	return object;
}

static struct vhca_object *add(struct kunit *test, enum vhca_kind kind)
{
	struct vhca_object *object = new_object(test);
	struct vhca *v = test->priv;
	struct vhca_cmd cmd = { .seq = ++v->recorder.seq, .uid = 7, .ns = 99 };
	u8 status = vhca_ledger_add(v, object, kind, &cmd);

	if (status)
		kfree(object);
	KUNIT_ASSERT_EQ(test, status, MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, cmd.object, object->id);
	return object;
}

static void ledger_add_numbers_in_turn(struct kunit *test)
{
	struct vhca *v = test->priv;
	struct vhca_object *second;

	KUNIT_EXPECT_EQ(test, add(test, VHCA_PD)->id, 1);
	second = add(test, VHCA_PD);
	KUNIT_EXPECT_EQ(test, second->id, 2);
	KUNIT_EXPECT_EQ(test, add(test, VHCA_PD)->id, 3);
	/* One that was destroyed does not come back at once. */
	vhca_ledger_remove(v, second);
	KUNIT_EXPECT_EQ(test, add(test, VHCA_PD)->id, 4);
	/* Each kind has its own. */
	KUNIT_EXPECT_EQ(test, add(test, VHCA_XRCD)->id, 1);
	KUNIT_EXPECT_EQ(test, add(test, VHCA_FLOW_COUNTER)->id, 1);
}

static void ledger_add_ends_at_limit(struct kunit *test)
{
	const struct vhca_kind_info *info = vhca_kind_info(VHCA_UCTX);
	unsigned int n = info->max - info->min + 1;
	struct vhca_object *last = NULL;
	struct vhca *v = test->priv;
	struct vhca_cmd cmd = {};
	unsigned int i;

	for (i = 0; i < n; i++)
		last = add(test, VHCA_UCTX);
	KUNIT_EXPECT_EQ(test, last->id, info->max);
	last = new_object(test);
	KUNIT_EXPECT_EQ(test, vhca_ledger_add(v, last, VHCA_UCTX, &cmd),
			MLX5_CMD_STAT_LIM_ERR);
	kfree(last);
	KUNIT_EXPECT_EQ(test, cmd.object, 0);
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_UCTX], n);
	/* The only free one is found wherever it is. */
	vhca_ledger_remove(v, vhca_ledger_find(v, VHCA_UCTX, info->min + 4));
	KUNIT_EXPECT_EQ(test, add(test, VHCA_UCTX)->id, info->min + 4);
	vhca_ledger_remove(v, vhca_ledger_find(v, VHCA_UCTX, info->min));
	vhca_ledger_remove(v, vhca_ledger_find(v, VHCA_UCTX, info->max));
	KUNIT_EXPECT_EQ(test, add(test, VHCA_UCTX)->id, info->max);
	KUNIT_EXPECT_EQ(test, add(test, VHCA_UCTX)->id, info->min);
}

static void ledger_add_at_refuses_taken(struct kunit *test)
{
	struct vhca_object *first = new_object(test), *second = new_object(test);
	struct vhca *v = test->priv;
	struct vhca_cmd cmd = { .seq = 5 };

	KUNIT_ASSERT_EQ(test, vhca_ledger_add_at(v, first, VHCA_PD, 0x200, &cmd),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, first->id, 0x200);
	KUNIT_EXPECT_EQ(test, cmd.object, 0x200);
	KUNIT_EXPECT_EQ(test, vhca_ledger_add_at(v, second, VHCA_PD, 0x200, &cmd),
			MLX5_CMD_STAT_NO_RES_ERR);
	KUNIT_EXPECT_PTR_EQ(test, vhca_ledger_find(v, VHCA_PD, 0x200), first);
	KUNIT_EXPECT_EQ(test, v->ledger.count, 1);
	kfree(second);
}

static void ledger_find_is_exact(struct kunit *test)
{
	struct vhca *v = test->priv;
	struct vhca_object *object = add(test, VHCA_PD);

	KUNIT_EXPECT_PTR_EQ(test, vhca_ledger_find(v, VHCA_PD, object->id), object);
	KUNIT_EXPECT_NULL(test, vhca_ledger_find(v, VHCA_PD, object->id - 1));
	KUNIT_EXPECT_NULL(test, vhca_ledger_find(v, VHCA_PD, object->id + 1));
	KUNIT_EXPECT_NULL(test, vhca_ledger_find(v, VHCA_XRCD, object->id));
	KUNIT_EXPECT_NULL(test, vhca_ledger_find(v, VHCA_PD, BIT_ULL(32) + object->id));
}

static void ledger_counts(struct kunit *test)
{
	struct vhca *v = test->priv;
	struct vhca_object *pd = add(test, VHCA_PD), *xrcd = add(test, VHCA_XRCD);

	add(test, VHCA_PD);
	KUNIT_EXPECT_EQ(test, v->ledger.count, 3);
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_PD], 2);
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_XRCD], 1);
	vhca_ledger_remove(v, pd);
	KUNIT_EXPECT_EQ(test, v->ledger.count, 2);
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_PD], 1);
	vhca_ledger_remove(v, xrcd);
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_XRCD], 0);
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_PD], 1);
}

static void ledger_keeps_order_of_birth(struct kunit *test)
{
	static const enum vhca_kind kinds[] = { VHCA_XRCD, VHCA_PD, VHCA_FLOW_COUNTER, VHCA_PD };
	struct vhca *v = test->priv;
	struct vhca_object *object;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		add(test, kinds[i]);
	i = 0;
	list_for_each_entry(object, &v->ledger.births, node) {
		KUNIT_ASSERT_LT(test, i, ARRAY_SIZE(kinds));
		KUNIT_EXPECT_EQ(test, object->kind, kinds[i]);
		KUNIT_EXPECT_EQ(test, object->born_seq, i + 1);
		i++;
	}
	KUNIT_EXPECT_EQ(test, i, ARRAY_SIZE(kinds));
}

static void ledger_use_counts_users(struct kunit *test)
{
	struct vhca *v = test->priv;
	struct vhca_object *pd = add(test, VHCA_PD), *user = add(test, VHCA_FLOW_COUNTER);

	/* Twice on the same is two uses. */
	KUNIT_EXPECT_EQ(test, vhca_object_use(v, user, VHCA_PD, pd->id),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, vhca_object_use(v, user, VHCA_PD, pd->id),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, pd->users, 2);
	KUNIT_EXPECT_EQ(test, user->nr_uses, 2);
	/* What is not there is not used. */
	KUNIT_EXPECT_EQ(test, vhca_object_use(v, user, VHCA_PD, pd->id + 1),
			MLX5_CMD_STAT_BAD_RES_ERR);
	KUNIT_EXPECT_EQ(test, vhca_object_use(v, user, VHCA_XRCD, pd->id),
			MLX5_CMD_STAT_BAD_RES_ERR);
	KUNIT_EXPECT_EQ(test, user->nr_uses, 2);
	vhca_ledger_remove(v, user);
	KUNIT_EXPECT_EQ(test, pd->users, 0);
}

static void ledger_use_up_to_limit(struct kunit *test)
{
	struct vhca *v = test->priv;
	struct vhca_object user = {}, *pd = add(test, VHCA_PD);
	unsigned int i;

	for (i = 0; i < VHCA_MAX_USES; i++)
		KUNIT_EXPECT_EQ(test, vhca_object_use(v, &user, VHCA_PD, pd->id),
				MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, pd->users, VHCA_MAX_USES);
	vhca_object_unuse(&user);
	KUNIT_EXPECT_EQ(test, pd->users, 0);
	KUNIT_EXPECT_EQ(test, user.nr_uses, 0);
}

/* Whatever is on whatever, in any order: all go, and nothing is complained of. */
static void ledger_forgets_all(struct kunit *test)
{
	struct vhca *v = test->priv;
	struct vhca_object *pd = add(test, VHCA_PD), *a = add(test, VHCA_FLOW_COUNTER);
	struct vhca_object *b = add(test, VHCA_FLOW_COUNTER);
	enum vhca_kind kind;

	KUNIT_ASSERT_EQ(test, vhca_object_use(v, a, VHCA_PD, pd->id),
			MLX5_CMD_STAT_OK);
	KUNIT_ASSERT_EQ(test, vhca_object_use(v, b, VHCA_FLOW_COUNTER, a->id),
			MLX5_CMD_STAT_OK);
	vhca_ledger_forget(v);
	KUNIT_EXPECT_EQ(test, v->ledger.count, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&v->ledger.births));
	for (kind = VHCA_EQ; kind < VHCA_KINDS; kind++) {
		KUNIT_EXPECT_EQ(test, v->ledger.counts[kind], 0);
		KUNIT_EXPECT_TRUE(test, xa_empty(&v->ledger.by_id[kind]));
	}
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 0);
}

static void ledger_reset_tells_of_leaks(struct kunit *test)
{
	struct vhca *v = test->priv;
	const struct vhca_violation *said = v->recorder.violations;

	vhca_ledger_reset(v, "KUnit");
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 0);
	add(test, VHCA_PD);
	add(test, VHCA_XRCD);
	add(test, VHCA_PD);
	vhca_ledger_reset(v, "KUnit");
	/* One of each kind that is left, with how many. */
	KUNIT_ASSERT_EQ(test, v->recorder.nr_violations, 2);
	KUNIT_EXPECT_STREQ(test, said[0].what, "leak_at_teardown");
	KUNIT_EXPECT_STREQ(test, said[0].kind, "pd");
	KUNIT_EXPECT_EQ(test, said[0].detail, 2);
	KUNIT_EXPECT_STREQ(test, said[1].kind, "xrcd");
	KUNIT_EXPECT_EQ(test, said[1].detail, 1);
	KUNIT_EXPECT_EQ(test, v->ledger.count, 0);
}

static void ledger_kinds_are_whole(struct kunit *test)
{
	const struct vhca_kind_info *info;
	enum vhca_kind kind, other;

	for (kind = VHCA_EQ; kind < VHCA_KINDS; kind++) {
		info = vhca_kind_info(kind);
		KUNIT_ASSERT_NOT_NULL_MSG(test, info, "kind %d", kind);
		KUNIT_ASSERT_NOT_NULL_MSG(test, info->name, "kind %d", kind);
		KUNIT_EXPECT_NOT_NULL_MSG(test, info->release, "%s", info->name);
		KUNIT_EXPECT_LE_MSG(test, info->min, info->max, "%s", info->name);
		/* Numbers have 24 bits in commands. */
		KUNIT_EXPECT_LE_MSG(test, info->max, 0xffffff, "%s", info->name);
		for (other = VHCA_EQ; other < kind; other++)
			KUNIT_EXPECT_STRNEQ(test, info->name,
					    vhca_kind_info(other)->name);
	}
	/* mlx5_ib keeps both in one table. */
	KUNIT_EXPECT_LT(test, vhca_kind_info(VHCA_XRC_SRQ)->max,
			vhca_kind_info(VHCA_RMP)->min);
	/* A work request names either in the same field. */
	KUNIT_EXPECT_LT(test, vhca_kind_info(VHCA_QP)->max,
			vhca_kind_info(VHCA_SQ)->min);
	/* Number 0 stands for none in fields of the driver's contexts. */
	KUNIT_EXPECT_GT(test, vhca_kind_info(VHCA_PD)->min, 0);
	KUNIT_EXPECT_GT(test, vhca_kind_info(VHCA_UCTX)->min, 0);
	KUNIT_EXPECT_GT(test, vhca_kind_info(VHCA_EQ)->min, 0);
}

static void ledger_describes(struct kunit *test)
{
	struct vhca_object_record record = { .nr_details = 5 };
	struct vhca_object *pd = add(test, VHCA_PD);

	vhca_object_describe(pd, &record);
	KUNIT_EXPECT_STREQ(test, record.kind, "pd");
	KUNIT_EXPECT_EQ(test, record.id, pd->id);
	KUNIT_EXPECT_EQ(test, record.uid, 7);
	KUNIT_EXPECT_EQ(test, record.born_seq, 1);
	KUNIT_EXPECT_EQ(test, record.born_ns, 99);
	KUNIT_EXPECT_EQ(test, record.nr_details, 0);

	vhca_detail_hex(&record, "address", U64_MAX);
	vhca_detail_dec(&record, "size", 10);
	vhca_detail_text(&record, "mode", "word");
	KUNIT_ASSERT_EQ(test, record.nr_details, 3);
	KUNIT_EXPECT_TRUE(test, record.details[0].hex);
	KUNIT_EXPECT_EQ(test, record.details[0].value, U64_MAX);
	KUNIT_EXPECT_NULL(test, record.details[0].text);
	KUNIT_EXPECT_FALSE(test, record.details[1].hex);
	KUNIT_EXPECT_EQ(test, record.details[1].value, 10);
	KUNIT_EXPECT_STREQ(test, record.details[1].key, "size");
	KUNIT_EXPECT_STREQ(test, record.details[2].text, "word");
}

/* The last one of that number, with when it came and went. */
static void death_is_found(struct kunit *test)
{
	struct vhca *v = test->priv;
	struct vhca_object *first = add(test, VHCA_PD);
	const struct vhca_death *death;
	u64 id = first->id;

	KUNIT_EXPECT_NULL(test, vhca_death_find(v, VHCA_PD, id));
	v->recorder.seq = 10;
	vhca_ledger_remove(v, first);
	death = vhca_death_find(v, VHCA_PD, id);
	KUNIT_ASSERT_NOT_NULL(test, death);
	KUNIT_EXPECT_EQ(test, death->born_seq, 1);
	KUNIT_EXPECT_EQ(test, death->died_seq, 10);
	KUNIT_EXPECT_NULL(test, vhca_death_find(v, VHCA_PD, id + 1));
	KUNIT_EXPECT_NULL(test, vhca_death_find(v, VHCA_XRCD, id));

	v->ledger.next_id[VHCA_PD] = id;
	first = add(test, VHCA_PD);
	KUNIT_ASSERT_EQ(test, first->id, id);
	v->recorder.seq = 20;
	vhca_ledger_remove(v, first);
	death = vhca_death_find(v, VHCA_PD, id);
	KUNIT_ASSERT_NOT_NULL(test, death);
	KUNIT_EXPECT_EQ(test, death->born_seq, 11);
	KUNIT_EXPECT_EQ(test, death->died_seq, 20);
}

static void death_is_forgotten(struct kunit *test)
{
	struct vhca *v = test->priv;
	struct vhca_object *object = add(test, VHCA_XRCD);
	u64 id = object->id;
	unsigned int i;

	vhca_ledger_remove(v, object);
	for (i = 1; i < VHCA_DEATHS; i++)
		vhca_ledger_remove(v, add(test, VHCA_PD));
	KUNIT_EXPECT_NOT_NULL(test, vhca_death_find(v, VHCA_XRCD, id));
	vhca_ledger_remove(v, add(test, VHCA_PD));
	KUNIT_EXPECT_NULL(test, vhca_death_find(v, VHCA_XRCD, id));
}

/* Only what was there can be used after its end. */
static void death_then_use(struct kunit *test)
{
	struct vhca *v = test->priv;
	struct vhca_object user = {}, *pd = add(test, VHCA_PD);
	const struct vhca_violation *violation = v->recorder.violations;
	u64 id = pd->id;

	v->recorder.opcode = MLX5_CMD_OP_CREATE_QP;
	v->recorder.seq = 5;
	KUNIT_EXPECT_EQ(test, vhca_object_use(v, &user, VHCA_PD, id + 1),
			MLX5_CMD_STAT_BAD_RES_ERR);
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 0);
	vhca_ledger_remove(v, pd);
	KUNIT_EXPECT_EQ(test, vhca_object_use(v, &user, VHCA_PD, id),
			MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, 0, "use_of_destroyed", id,
				    MLX5_CMD_OP_CREATE_QP);
	KUNIT_EXPECT_STREQ(test, violation->kind, "pd");
	KUNIT_EXPECT_EQ(test, violation->born_seq, 1);
	KUNIT_EXPECT_EQ(test, violation->died_seq, 5);
}

static struct kunit_case vhca_ledger_cases[] = {
	KUNIT_CASE(ledger_add_numbers_in_turn),
	KUNIT_CASE(ledger_add_ends_at_limit),
	KUNIT_CASE(ledger_add_at_refuses_taken),
	KUNIT_CASE(ledger_find_is_exact),
	KUNIT_CASE(ledger_counts),
	KUNIT_CASE(ledger_keeps_order_of_birth),
	KUNIT_CASE(ledger_use_counts_users),
	KUNIT_CASE(ledger_use_up_to_limit),
	KUNIT_CASE(ledger_forgets_all),
	KUNIT_CASE(ledger_reset_tells_of_leaks),
	KUNIT_CASE(ledger_kinds_are_whole),
	KUNIT_CASE(ledger_describes),
	KUNIT_CASE(death_is_found),
	KUNIT_CASE(death_is_forgotten),
	KUNIT_CASE(death_then_use),
	{}
};

static struct kunit_suite vhca_ledger_suite = {
	.name		= "mlx5_vhca_ledger",
	.init		= vhca_kunit_init,
	.test_cases	= vhca_ledger_cases,
};

kunit_test_suite(vhca_ledger_suite);
