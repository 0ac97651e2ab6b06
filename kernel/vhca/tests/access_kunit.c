// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of memory keys: who may reach what, and where the bytes go.
 */
#include <linux/io.h>
#include <linux/slab.h>

#include "device_kunit.h"

#define PAGES	4
#define PD	5
#define QPN	0x123
#define ANY_QP	0xffffff
#define VARIANT	0x42
#define START	0x7f0000001000ULL	/* what the key's first byte is called */

/**
 * struct bed - a device with memory that keys lead to
 * @v: the device
 * @memory: the memory, of PAGES pages of 4 KiB
 * @data: as much of the test's own
 */
struct bed {
	struct vhca	*v;
	u8		*memory;
	u8		*data;
};

static struct bed *bed(struct kunit *test)
{
	struct bed *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, b);
	b->v = test->priv;
	b->memory = kunit_kzalloc(test, PAGES * VHCA_PAGE_SIZE, GFP_KERNEL);
	b->data = kunit_kzalloc(test, PAGES * VHCA_PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, b->memory);
	KUNIT_ASSERT_NOT_NULL(test, b->data);
	for (i = 0; i < PAGES * VHCA_PAGE_SIZE; i++)
		b->memory[i] = i * 7 + i / VHCA_PAGE_SIZE;
	return b;
}

/* A key with all rights and translations as they are given. */
static struct vhca_mkey *new_key(struct kunit *test, u8 mode, u64 start, u64 len,
				 const void *xlt, u32 xlt_size)
{
	u32 header = MLX5_ST_SZ_BYTES(create_mkey_in);
	u32 out = MLX5_ST_SZ_BYTES(create_mkey_out);
	struct vhca *v = test->priv;
	struct vhca_cmd *cmd;
	void *mkc;

	cmd = vhca_kunit_command(test, MLX5_CMD_OP_CREATE_MKEY, header + xlt_size, out);
	MLX5_SET(create_mkey_in, cmd->in, pg_access, 1);
	mkc = MLX5_ADDR_OF(create_mkey_in, cmd->in, memory_key_mkey_entry);
	MLX5_SET(mkc, mkc, access_mode_1_0, mode & 3);
	MLX5_SET(mkc, mkc, access_mode_4_2, mode >> 2);
	MLX5_SET(mkc, mkc, lr, 1);
	MLX5_SET(mkc, mkc, lw, 1);
	MLX5_SET(mkc, mkc, rr, 1);
	MLX5_SET(mkc, mkc, rw, 1);
	MLX5_SET(mkc, mkc, a, 1);
	MLX5_SET(mkc, mkc, pd, PD);
	MLX5_SET(mkc, mkc, qpn, ANY_QP);
	MLX5_SET(mkc, mkc, mkey_7_0, VARIANT);
	MLX5_SET64(mkc, mkc, start_addr, start);
	MLX5_SET64(mkc, mkc, len, len);
	MLX5_SET(mkc, mkc, log_page_size, VHCA_PAGE_SHIFT);
	MLX5_SET(mkc, mkc, translations_octword_size,
		 DIV_ROUND_UP(xlt_size, VHCA_OCTOWORD));
	memcpy(MLX5_ADDR_OF(create_mkey_in, cmd->in, klm_pas_mtt), xlt, xlt_size);
	KUNIT_ASSERT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_OK);
	return to_vhca_mkey(vhca_ledger_find(v, VHCA_MKEY, cmd->object));
}

static u32 key_of(const struct vhca_mkey *mkey)
{
	return (u32)mkey->object.id << 8 | VARIANT;
}

/* An MTT key over the bed's pages in reverse order. */
static struct vhca_mkey *mtt_key(struct kunit *test, struct bed *b)
{
	__be64 mtt[PAGES];
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		mtt[i] = cpu_to_be64((virt_to_phys(b->memory) +
				      (PAGES - 1 - i) * VHCA_PAGE_SIZE) | 3);
	return new_key(test, MLX5_MKC_ACCESS_MODE_MTT, START, PAGES * VHCA_PAGE_SIZE,
		       mtt, sizeof(mtt));
}

static struct vhca_access access_to(const struct vhca_mkey *mkey, u64 address, u64 len)
{
	return (struct vhca_access) {
		.key = key_of(mkey), .right = VHCA_LOCAL_READ, .pd = PD,
		.qpn = QPN, .address = address, .len = len,
	};
}

/* Both ways of asking have to agree. */
static void expect_access(struct kunit *test, struct bed *b,
			  struct vhca_access *access, bool allowed,
			  const char *what)
{
	KUNIT_EXPECT_EQ_MSG(test, vhca_access_allowed(b->v, access), allowed, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, vhca_access_read(b->v, access, NULL), allowed, "%s",
			    what);
}

static void access_asks_for_key(struct kunit *test)
{
	struct bed *b = bed(test);
	struct vhca_mkey *mkey = mtt_key(test, b);
	struct vhca_access access = access_to(mkey, START, 1);

	expect_access(test, b, &access, true, "as it is");
	access.key ^= 1;
	expect_access(test, b, &access, false, "another variant");
	access.key ^= 1 ^ 0x100;
	expect_access(test, b, &access, false, "another index");
	access.key ^= 0x100;
	access.pd++;
	expect_access(test, b, &access, false, "another domain");
	access.pd--;
	MLX5_SET(mkc, mkey->context, qpn, QPN + 1);
	expect_access(test, b, &access, false, "bound to another queue pair");
	MLX5_SET(mkc, mkey->context, qpn, QPN);
	expect_access(test, b, &access, true, "bound to this queue pair");
	MLX5_SET(mkc, mkey->context, free, 1);
	expect_access(test, b, &access, false, "free");
	/* An access of no bytes needs no key. */
	access.len = 0;
	expect_access(test, b, &access, true, "no bytes");
}

static void access_asks_for_right(struct kunit *test)
{
	static const u8 rights[] = {
		VHCA_LOCAL_READ, VHCA_LOCAL_WRITE, VHCA_REMOTE_READ,
		VHCA_REMOTE_WRITE, VHCA_REMOTE_ATOMIC,
	};
	struct bed *b = bed(test);
	struct vhca_mkey *mkey = mtt_key(test, b);
	struct vhca_access access = access_to(mkey, START, 1);
	unsigned int granted, i;

	for (granted = 0; granted < BIT(ARRAY_SIZE(rights)); granted++) {
		MLX5_SET(mkc, mkey->context, lr, !!(granted & VHCA_LOCAL_READ));
		MLX5_SET(mkc, mkey->context, lw, !!(granted & VHCA_LOCAL_WRITE));
		MLX5_SET(mkc, mkey->context, rr, !!(granted & VHCA_REMOTE_READ));
		MLX5_SET(mkc, mkey->context, rw, !!(granted & VHCA_REMOTE_WRITE));
		MLX5_SET(mkc, mkey->context, a, !!(granted & VHCA_REMOTE_ATOMIC));
		for (i = 0; i < ARRAY_SIZE(rights); i++) {
			access.right = rights[i];
			KUNIT_EXPECT_EQ_MSG(test, vhca_access_allowed(b->v, &access),
					    !!(granted & rights[i]),
					    "granted 0x%x, asked 0x%x", granted,
					    rights[i]);
		}
	}
}

static void access_asks_for_range(struct kunit *test)
{
	const u64 size = PAGES * VHCA_PAGE_SIZE;
	const struct { u64 address, len; bool allowed; } ranges[] = {
		{ START, size, true },
		{ START + size - 1, 1, true },
		{ START, size + 1, false },
		{ START - 1, 1, false },
		{ START - 1, 2, false },
		{ START + size, 1, false },
		{ START + size - 1, 2, false },
		{ START + 1, U64_MAX, false },
		{ U64_MAX, 1, false },
		{ U64_MAX, 2, false },
		{ 0, 1, false },
	};
	struct bed *b = bed(test);
	struct vhca_mkey *mkey = mtt_key(test, b);
	struct vhca_access access;
	char what[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		access = access_to(mkey, ranges[i].address, ranges[i].len);
		snprintf(what, sizeof(what), "0x%llx, %llu", ranges[i].address,
			 ranges[i].len);
		expect_access(test, b, &access, ranges[i].allowed, what);
	}
	/* Without a length all is covered, but no translation is there for it. */
	MLX5_SET(mkc, mkey->context, length64, 1);
	access = access_to(mkey, START + size, 1);
	KUNIT_EXPECT_TRUE(test, vhca_access_allowed(b->v, &access));
	KUNIT_EXPECT_FALSE(test, vhca_access_read(b->v, &access, NULL));
	access = access_to(mkey, U64_MAX, 2);
	KUNIT_EXPECT_FALSE(test, vhca_access_allowed(b->v, &access));
}

/* Bytes from the last of one page to the first of the next but one. */
static void access_mtt_crosses_pages(struct kunit *test)
{
	struct bed *b = bed(test);
	const u64 len = VHCA_PAGE_SIZE + 2;
	struct vhca_access access = access_to(mtt_key(test, b),
					      START + VHCA_PAGE_SIZE - 1, len);

	KUNIT_ASSERT_TRUE(test, vhca_access_read(b->v, &access, b->data));
	KUNIT_EXPECT_EQ(test, b->data[0], b->memory[4 * VHCA_PAGE_SIZE - 1]);
	KUNIT_EXPECT_MEMEQ(test, b->data + 1, b->memory + 2 * VHCA_PAGE_SIZE,
			   VHCA_PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, b->data[len - 1], b->memory[VHCA_PAGE_SIZE]);
	KUNIT_EXPECT_EQ(test, b->data[len], 0);

	memset(b->data, 0xaa, len);
	access.right = VHCA_LOCAL_WRITE;
	KUNIT_ASSERT_TRUE(test, vhca_access_write(b->v, &access, b->data));
	KUNIT_EXPECT_EQ(test, b->memory[4 * VHCA_PAGE_SIZE - 1], 0xaa);
	KUNIT_EXPECT_NE(test, b->memory[4 * VHCA_PAGE_SIZE - 2], 0xaa);
	KUNIT_EXPECT_NULL(test, memchr_inv(b->memory + 2 * VHCA_PAGE_SIZE, 0xaa,
					   VHCA_PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, b->memory[VHCA_PAGE_SIZE], 0xaa);
	KUNIT_EXPECT_NE(test, b->memory[VHCA_PAGE_SIZE + 1], 0xaa);
}

/* A region that begins within a page. */
static void access_mtt_begins_within_page(struct kunit *test)
{
	struct bed *b = bed(test);
	const __be64 mtt[] = {
		cpu_to_be64(virt_to_phys(b->memory) | 3),
		cpu_to_be64((virt_to_phys(b->memory) + 2 * VHCA_PAGE_SIZE) | 3),
	};
	struct vhca_mkey *mkey = new_key(test, MLX5_MKC_ACCESS_MODE_MTT, START + 0xff0,
					 VHCA_PAGE_SIZE, mtt, sizeof(mtt));
	struct vhca_access access = access_to(mkey, START + 0xff0, 32);

	KUNIT_ASSERT_TRUE(test, vhca_access_read(b->v, &access, b->data));
	KUNIT_EXPECT_MEMEQ(test, b->data, b->memory + 0xff0, 16);
	KUNIT_EXPECT_MEMEQ(test, b->data + 16, b->memory + 2 * VHCA_PAGE_SIZE, 16);
}

/* Each page has its own flags: not present, read, write; the last is nowhere. */
static void access_mtt_asks_for_flags(struct kunit *test)
{
	struct bed *b = bed(test);
	const u64 at = virt_to_phys(b->memory);
	const __be64 mtt[] = {
		cpu_to_be64(at), cpu_to_be64(at | 1), cpu_to_be64(at | 2),
		cpu_to_be64(BIT_ULL(51) | 3),
	};
	struct vhca_mkey *mkey = new_key(test, MLX5_MKC_ACCESS_MODE_MTT, START,
					 PAGES * VHCA_PAGE_SIZE, mtt, sizeof(mtt));
	static const bool can_read[] = { false, true, false, false };
	static const bool can_write[] = { false, false, true, false };
	static const bool is_there[] = { true, true, true, false };
	struct vhca_access access;
	unsigned int i;

	for (i = 0; i < PAGES; i++) {
		access = access_to(mkey, START + i * VHCA_PAGE_SIZE, 8);
		KUNIT_EXPECT_EQ_MSG(test, vhca_access_read(b->v, &access, b->data),
				    can_read[i], "page %u", i);
		KUNIT_EXPECT_EQ_MSG(test, access.absent, is_there[i] && !can_read[i],
				    "page %u", i);
		access.right = VHCA_LOCAL_WRITE;
		KUNIT_EXPECT_EQ_MSG(test, vhca_access_write(b->v, &access, b->data),
				    can_write[i], "page %u", i);
		KUNIT_EXPECT_EQ_MSG(test, access.absent, is_there[i] && !can_write[i],
				    "page %u", i);
		/* The key itself allows both. */
		KUNIT_EXPECT_TRUE(test, vhca_access_allowed(b->v, &access));
	}
}

static void access_physical(struct kunit *test)
{
	struct bed *b = bed(test);
	struct vhca_mkey *mkey = new_key(test, MLX5_MKC_ACCESS_MODE_PA, 0, 0, NULL, 0);
	struct vhca_access access;

	MLX5_SET(mkc, mkey->context, length64, 1);
	access = access_to(mkey, virt_to_phys(b->memory) + 3, VHCA_PAGE_SIZE);
	KUNIT_ASSERT_TRUE(test, vhca_access_read(b->v, &access, b->data));
	KUNIT_EXPECT_MEMEQ(test, b->data, b->memory + 3, VHCA_PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, b->data[VHCA_PAGE_SIZE], 0);
	access.address = BIT_ULL(51);
	KUNIT_EXPECT_FALSE(test, vhca_access_read(b->v, &access, b->data));
	access.address = 0;
	KUNIT_EXPECT_FALSE(test, vhca_access_read(b->v, &access, b->data));
}

static struct mlx5_klm klm(const struct vhca_mkey *mkey, u64 va, u32 len)
{
	return (struct mlx5_klm) {
		.bcount = cpu_to_be32(len), .key = cpu_to_be32(key_of(mkey)),
		.va = cpu_to_be64(va),
	};
}

/* Entries of 10, 0 and 20 bytes, one behind the other. */
static void access_klm(struct kunit *test)
{
	struct bed *b = bed(test);
	struct vhca_mkey *below = mtt_key(test, b);
	const u8 *first = b->memory + 3 * VHCA_PAGE_SIZE;
	const struct mlx5_klm list[] = {
		klm(below, START + 100, 10), klm(below, 0, 0),
		klm(below, START + 500, 20), klm(below, START, 1000),
	};
	struct vhca_mkey *mkey = new_key(test, MLX5_MKC_ACCESS_MODE_KLMS, 0, 30, list,
					 sizeof(list));
	struct vhca_access access = access_to(mkey, 0, 30);

	KUNIT_ASSERT_TRUE(test, vhca_access_read(b->v, &access, b->data));
	KUNIT_EXPECT_MEMEQ(test, b->data, first + 100, 10);
	KUNIT_EXPECT_MEMEQ(test, b->data + 10, first + 500, 20);
	KUNIT_EXPECT_EQ(test, b->data[30], 0);
	access = access_to(mkey, 9, 2);
	KUNIT_ASSERT_TRUE(test, vhca_access_read(b->v, &access, b->data));
	KUNIT_EXPECT_EQ(test, b->data[0], first[109]);
	KUNIT_EXPECT_EQ(test, b->data[1], first[500]);
	access = access_to(mkey, 30, 1);
	KUNIT_EXPECT_FALSE(test, vhca_access_read(b->v, &access, b->data));
}

/* What is behind an entry must be allowed as well, by local rights. */
static void access_klm_asks_below(struct kunit *test)
{
	struct bed *b = bed(test);
	struct vhca_mkey *below = mtt_key(test, b);
	const struct mlx5_klm list[] = {
		klm(below, START + PAGES * VHCA_PAGE_SIZE - 8, 16),
		klm(below, START, 16), klm(below, START, 16), klm(below, START, 16),
	};
	struct vhca_mkey *mkey = new_key(test, MLX5_MKC_ACCESS_MODE_KLMS, 0, 64, list,
					 sizeof(list));
	struct vhca_access access = access_to(mkey, 0, 8);

	access.right = VHCA_REMOTE_READ;
	KUNIT_EXPECT_TRUE(test, vhca_access_read(b->v, &access, b->data));
	/* An entry may be longer than what its key covers. */
	access.len = 9;
	KUNIT_EXPECT_FALSE(test, vhca_access_read(b->v, &access, b->data));
	access.len = 8;
	MLX5_SET(mkc, below->context, rr, 0);
	KUNIT_EXPECT_TRUE(test, vhca_access_read(b->v, &access, b->data));
	MLX5_SET(mkc, below->context, lr, 0);
	KUNIT_EXPECT_FALSE(test, vhca_access_read(b->v, &access, b->data));
	MLX5_SET(mkc, below->context, lr, 1);
	MLX5_SET(mkc, below->context, pd, PD + 1);
	KUNIT_EXPECT_FALSE(test, vhca_access_read(b->v, &access, b->data));
	MLX5_SET(mkc, below->context, pd, PD);
	MLX5_SET(mkc, below->context, free, 1);
	KUNIT_EXPECT_FALSE(test, vhca_access_read(b->v, &access, b->data));
}

static void access_ksm(struct kunit *test)
{
	struct bed *b = bed(test);
	struct vhca_mkey *below = mtt_key(test, b);
	const struct mlx5_ksm list[] = {
		{ .key = cpu_to_be32(key_of(below)),
		  .va = cpu_to_be64(START + 2 * VHCA_PAGE_SIZE) },
		{ .key = cpu_to_be32(key_of(below)), .va = cpu_to_be64(START) },
		{}, {},
	};
	struct vhca_mkey *mkey = new_key(test, MLX5_MKC_ACCESS_MODE_KSM, 0,
					 3 * VHCA_PAGE_SIZE, list, sizeof(list));
	struct vhca_access access = access_to(mkey, VHCA_PAGE_SIZE - 4, 8);

	KUNIT_ASSERT_TRUE(test, vhca_access_read(b->v, &access, b->data));
	KUNIT_EXPECT_MEMEQ(test, b->data, b->memory + 2 * VHCA_PAGE_SIZE - 4, 4);
	KUNIT_EXPECT_MEMEQ(test, b->data + 4, b->memory + 3 * VHCA_PAGE_SIZE, 4);
	/* The third entry names no key. */
	access = access_to(mkey, 2 * VHCA_PAGE_SIZE, 1);
	KUNIT_EXPECT_FALSE(test, vhca_access_read(b->v, &access, b->data));
	/* There is no fifth. */
	MLX5_SET(mkc, mkey->context, length64, 1);
	access = access_to(mkey, 4 * VHCA_PAGE_SIZE, 1);
	KUNIT_EXPECT_FALSE(test, vhca_access_read(b->v, &access, b->data));
}

/* Keys behind keys, as deep as it is advertised and one deeper. */
static void access_indirection_is_bounded(struct kunit *test)
{
	struct bed *b = bed(test);
	struct vhca_mkey *mkey = mtt_key(test, b);
	struct vhca_access access;
	unsigned int depth;
	u64 va = START;

	for (depth = 1; depth <= VHCA_MAX_INDIRECTION + 1; depth++) {
		const struct mlx5_klm list[4] = { klm(mkey, va, 16) };

		mkey = new_key(test, MLX5_MKC_ACCESS_MODE_KLMS, 0, 16, list,
			       sizeof(list));
		va = 0;
		access = access_to(mkey, 0, 16);
		KUNIT_EXPECT_EQ_MSG(test, vhca_access_read(b->v, &access, b->data),
				    depth <= VHCA_MAX_INDIRECTION, "depth %u", depth);
	}
}

/* A key that leads to itself, with many entries: ends, and soon. */
static void access_loop_ends(struct kunit *test)
{
	struct bed *b = bed(test);
	const struct mlx5_klm list[4] = {};
	struct vhca_mkey *mkey = new_key(test, MLX5_MKC_ACCESS_MODE_KLMS, 0, BIT(20),
					 list, sizeof(list));
	struct mlx5_klm *entries = (void *)mkey->xlt;
	struct vhca_access access = access_to(mkey, 0, 64);
	unsigned int i;

	for (i = 0; i < 4; i++)
		entries[i] = klm(mkey, 0, 16);
	KUNIT_EXPECT_FALSE(test, vhca_access_read(b->v, &access, b->data));
	access.right = VHCA_LOCAL_WRITE;
	KUNIT_EXPECT_FALSE(test, vhca_access_write(b->v, &access, b->data));
}

/* A list that is long and has nothing in it costs as much as data does. */
static void access_of_long_list_counts(struct kunit *test)
{
	struct bed *b = bed(test);
	struct mlx5_klm list[64] = {};
	struct vhca_access access;

	list[63] = klm(mtt_key(test, b), START, 16);
	access = access_to(new_key(test, MLX5_MKC_ACCESS_MODE_KLMS, 0, 16, list,
				   sizeof(list)), 0, 16);
	b->v->poll_bytes = 0;
	KUNIT_EXPECT_TRUE(test, vhca_access_read(b->v, &access, b->data));
	KUNIT_EXPECT_EQ(test, b->v->poll_bytes, sizeof(list));
	access = access_to(mtt_key(test, b), START, 16);
	KUNIT_EXPECT_TRUE(test, vhca_access_read(b->v, &access, b->data));
	KUNIT_EXPECT_EQ(test, b->v->poll_bytes, sizeof(list));
}

static void access_invalidate(struct kunit *test)
{
	struct bed *b = bed(test);
	struct vhca_mkey *mkey = mtt_key(test, b);
	struct vhca_access access = access_to(mkey, START, 1);
	struct vhca_access other;

	/* Not without its owner's leave. */
	KUNIT_EXPECT_FALSE(test, vhca_access_invalidate(b->v, &access));
	MLX5_SET(mkc, mkey->context, en_rinval, 1);
	other = access;
	other.key ^= 1;
	KUNIT_EXPECT_FALSE(test, vhca_access_invalidate(b->v, &other));
	other = access;
	other.pd++;
	KUNIT_EXPECT_FALSE(test, vhca_access_invalidate(b->v, &other));
	MLX5_SET(mkc, mkey->context, qpn, QPN + 1);
	KUNIT_EXPECT_FALSE(test, vhca_access_invalidate(b->v, &access));
	MLX5_SET(mkc, mkey->context, qpn, ANY_QP);
	KUNIT_EXPECT_FALSE(test, vhca_mkey_free(mkey));
	expect_access(test, b, &access, true, "before");
	KUNIT_EXPECT_TRUE(test, vhca_access_invalidate(b->v, &access));
	expect_access(test, b, &access, false, "after");
	KUNIT_EXPECT_FALSE(test, vhca_access_invalidate(b->v, &access));
}

/* A user context's keys lead to other keys, in a domain of its own. */
static void access_user_key_is_indirect(struct kunit *test)
{
	static const struct { u8 mode; bool good; } modes[] = {
		{ MLX5_MKC_ACCESS_MODE_PA, false },
		{ MLX5_MKC_ACCESS_MODE_MTT, false },
		{ MLX5_MKC_ACCESS_MODE_MEMIC, false },
		{ MLX5_MKC_ACCESS_MODE_KLMS, true },
		{ MLX5_MKC_ACCESS_MODE_KSM, true },
	};
	u32 own = vhca_kunit_create(test, MLX5_CMD_OP_ALLOC_PD, 9);
	u32 foreign = vhca_kunit_create(test, MLX5_CMD_OP_ALLOC_PD, 8);
	const u32 pds[] = { own, foreign, 0xfff };
	struct vhca_cmd *cmd;
	unsigned int i, j;
	void *mkc;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		for (j = 0; j < ARRAY_SIZE(pds); j++) {
			cmd = vhca_kunit_command(test, MLX5_CMD_OP_CREATE_MKEY,
						 MLX5_ST_SZ_BYTES(create_mkey_in),
						 MLX5_ST_SZ_BYTES(create_mkey_out));
			mkc = MLX5_ADDR_OF(create_mkey_in, cmd->in,
					   memory_key_mkey_entry);
			MLX5_SET(create_mkey_in, cmd->in, uid, 9);
			MLX5_SET(mkc, mkc, access_mode_1_0, modes[i].mode & 3);
			MLX5_SET(mkc, mkc, access_mode_4_2, modes[i].mode >> 2);
			MLX5_SET(mkc, mkc, pd, pds[j]);
			KUNIT_EXPECT_EQ_MSG(test, vhca_kunit_execute(test, cmd),
					    !modes[i].good ?
						    MLX5_CMD_STAT_BAD_PARAM_ERR :
					    j ? MLX5_CMD_STAT_BAD_RES_ERR :
						MLX5_CMD_STAT_OK,
					    "mode %u, domain %u", modes[i].mode, pds[j]);
		}
	}
}

/* A domain goes after the keys in it that are not free. */
static void access_key_keeps_domain(struct kunit *test)
{
	struct bed *b = bed(test);
	struct vhca_mkey *mkey = mtt_key(test, b);
	u32 pd = vhca_kunit_create(test, MLX5_CMD_OP_ALLOC_PD, 0);

	MLX5_SET(mkc, mkey->context, pd, pd);
	KUNIT_EXPECT_EQ(test, vhca_kunit_destroy(test, MLX5_CMD_OP_DEALLOC_PD, pd),
			MLX5_CMD_STAT_BAD_RES_STATE_ERR);
	vhca_kunit_expect_violation(test, 0, "pd_freed_under_mkey", pd,
				    mkey->object.id);
	MLX5_SET(mkc, mkey->context, free, 1);
	KUNIT_EXPECT_EQ(test, vhca_kunit_destroy(test, MLX5_CMD_OP_DEALLOC_PD, pd),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, b->v->recorder.nr_violations, 1);
}

/* Translations that a command says it has, more than it can have. */
static void access_key_size_is_bounded(struct kunit *test)
{
	static const struct { u32 octowords; u8 status; } sizes[] = {
		{ 0, MLX5_CMD_STAT_OK },
		{ 1, MLX5_CMD_STAT_OK },
		{ VHCA_MAX_OCTOWORDS + 1, MLX5_CMD_STAT_LIM_ERR },
		{ U32_MAX, MLX5_CMD_STAT_LIM_ERR },
	};
	struct vhca *v = test->priv;
	struct vhca_cmd *cmd;
	unsigned int i;
	void *mkc;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		cmd = vhca_kunit_command(test, MLX5_CMD_OP_CREATE_MKEY,
					 MLX5_ST_SZ_BYTES(create_mkey_in),
					 MLX5_ST_SZ_BYTES(create_mkey_out));
		mkc = MLX5_ADDR_OF(create_mkey_in, cmd->in, memory_key_mkey_entry);
		MLX5_SET(mkc, mkc, translations_octword_size, sizes[i].octowords);
		KUNIT_EXPECT_EQ_MSG(test, vhca_kunit_execute(test, cmd),
				    sizes[i].status, "%u", sizes[i].octowords);
		if (sizes[i].status)
			continue;
		/* Whole units of 64 bytes, as UMR writes them. */
		KUNIT_EXPECT_EQ(test,
				to_vhca_mkey(vhca_ledger_find(v, VHCA_MKEY,
							      cmd->object))->octowords,
				sizes[i].octowords ? 4 : 0);
	}
}

static struct kunit_case vhca_access_cases[] = {
	KUNIT_CASE(access_asks_for_key),
	KUNIT_CASE(access_asks_for_right),
	KUNIT_CASE(access_asks_for_range),
	KUNIT_CASE(access_mtt_crosses_pages),
	KUNIT_CASE(access_mtt_begins_within_page),
	KUNIT_CASE(access_mtt_asks_for_flags),
	KUNIT_CASE(access_physical),
	KUNIT_CASE(access_klm),
	KUNIT_CASE(access_klm_asks_below),
	KUNIT_CASE(access_ksm),
	KUNIT_CASE(access_indirection_is_bounded),
	KUNIT_CASE(access_loop_ends),
	KUNIT_CASE(access_of_long_list_counts),
	KUNIT_CASE(access_invalidate),
	KUNIT_CASE(access_user_key_is_indirect),
	KUNIT_CASE(access_key_keeps_domain),
	KUNIT_CASE(access_key_size_is_bounded),
	{}
};

static struct kunit_suite vhca_access_suite = {
	.name		= "mlx5_vhca_access",
	.init		= vhca_kunit_init,
	.test_cases	= vhca_access_cases,
};

kunit_test_suite(vhca_access_suite);
