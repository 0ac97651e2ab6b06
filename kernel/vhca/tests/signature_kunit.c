// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of signatures: known values of each kind, and what is written and read by a
 * key that has them.
 */
#include <linux/io.h>
#include <linux/mlx5/cq.h>
#include <linux/slab.h>
#include <linux/unaligned.h>

#include "device_kunit.h"

#define PD	5
#define QPN	0x123
#define BLOCK	512
#define BLOCKS	3
#define SEED	0xffffffffULL

/* Of "123456789", as published catalogues of CRCs have them. */
static void signature_known(struct kunit *test)
{
	static const struct {
		enum vhca_signature_type type;
		u32 seed;
		u64 made;
	} known[] = {
		{ VHCA_SIGNATURE_CRC32, 0xffffffff, 0xcbf43926ULL << 32 },
		{ VHCA_SIGNATURE_CRC32C, 0xffffffff, 0xe3069283ULL << 32 },
		{ VHCA_SIGNATURE_T10DIF_CRC, 0, 0xd0dbULL << 48 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		struct vhca_signature s = {
			.type = known[i].type, .seed = known[i].seed, .block = 9, .bytes = 4,
		};

		KUNIT_EXPECT_EQ_MSG(test, vhca_signature_make(&s, 0, "123456789"),
				    known[i].made, "type %u", known[i].type);
	}
}

/* RFC 1071 has this example: the sum of these bytes is 0xddf2. */
static void signature_checksum(struct kunit *test)
{
	static const u8 data[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 };
	struct vhca_signature s = {
		.type = VHCA_SIGNATURE_T10DIF_CSUM, .block = sizeof(data), .bytes = 8,
		.application = 0xabcd, .reference = 0xffffffff, .counts = true,
	};

	KUNIT_EXPECT_EQ(test, vhca_signature_make(&s, 0, data), 0x220dabcdffffffffULL);
	KUNIT_EXPECT_EQ(test, vhca_signature_make(&s, 1, data), 0x220dabcd00000000ULL);
	s.counts = false;
	KUNIT_EXPECT_EQ(test, vhca_signature_make(&s, 1, data), 0x220dabcdffffffffULL);
}

/* What is not to be compared may be anything. */
static void signature_compare(struct kunit *test)
{
	struct vhca_signature s = { .type = VHCA_SIGNATURE_T10DIF_CRC, .bytes = 8 };
	u64 right = 0x1111222233333333ULL;
	static const struct {
		u8 check;
		u64 flip;
		u16 syndrome;
	} cases[] = {
		{ 0xff, 0, 0 },
		{ 0xff, BIT_ULL(63), BIT(13) },
		{ 0xff, BIT_ULL(40), BIT(12) },
		{ 0xff, BIT_ULL(3), BIT(11) },
		{ 0x3f, BIT_ULL(63), 0 },
		{ 0xcf, BIT_ULL(40), 0 },
		{ 0xf0, BIT_ULL(3), 0 },
		{ 0x00, U64_MAX, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		s.check = cases[i].check;
		KUNIT_EXPECT_EQ_MSG(test, vhca_signature_compare(&s, right,
								 right ^ cases[i].flip),
				    cases[i].syndrome, "case %u", i);
	}
	/* Tags that say: do not look. */
	s.check = 0xff;
	KUNIT_EXPECT_NE(test, vhca_signature_compare(&s, right, 0x1111ffff33333333ULL), 0);
	s.escape = 1;
	KUNIT_EXPECT_EQ(test, vhca_signature_compare(&s, right, 0x9999ffff44444444ULL), 0);
	s.escape = 2;
	KUNIT_EXPECT_NE(test, vhca_signature_compare(&s, right, 0x9999ffff44444444ULL), 0);
	KUNIT_EXPECT_EQ(test, vhca_signature_compare(&s, right, 0x9999ffffffffffffULL), 0);
	s = (struct vhca_signature) { .bytes = 4, .check = 0xf0 };
	KUNIT_EXPECT_EQ(test, vhca_signature_compare(&s, right, right ^ BIT_ULL(32)), BIT(13));
}

/**
 * struct bed - a key with signatures, over another one over memory
 * @v: the device
 * @memory: BLOCKS blocks and what is behind each of them
 * @data: as much data
 * @key: the key with signatures
 * @psv: its protection state
 */
struct bed {
	struct vhca		*v;
	u8			*memory;
	u8			*data;
	struct vhca_mkey	*key;
	struct vhca_psv		*psv;
};

static struct vhca_mkey *add_key(struct kunit *test, u8 mode, u64 len)
{
	struct vhca_mkey *mkey = to_vhca_mkey(vhca_kunit_add(test, VHCA_MKEY, 0, sizeof(*mkey)));

	mkey->xlt = kvzalloc(64, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mkey->xlt);
	mkey->octowords = 4;
	MLX5_SET(mkc, mkey->context, access_mode_1_0, mode);
	MLX5_SET(mkc, mkey->context, lr, 1);
	MLX5_SET(mkc, mkey->context, lw, 1);
	MLX5_SET(mkc, mkey->context, pd, PD);
	MLX5_SET(mkc, mkey->context, qpn, 0xffffff);
	MLX5_SET64(mkc, mkey->context, len, len);
	return mkey;
}

static struct bed *bed(struct kunit *test, u32 format, u32 bytes)
{
	u64 len = BLOCKS * (BLOCK + bytes);
	struct bed *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	struct vhca_mkey *memory;
	struct mlx5_klm *klm;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, b);
	b->v = test->priv;
	b->memory = kunit_kzalloc(test, len, GFP_KERNEL);
	b->data = kunit_kzalloc(test, BLOCKS * BLOCK, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, b->memory);
	KUNIT_ASSERT_NOT_NULL(test, b->data);
	for (i = 0; i < BLOCKS * BLOCK; i++)
		b->data[i] = i * 5 + i / BLOCK;
	memory = add_key(test, MLX5_MKC_ACCESS_MODE_PA, len);
	MLX5_SET64(mkc, memory->context, start_addr, virt_to_phys(b->memory));
	b->key = add_key(test, MLX5_MKC_ACCESS_MODE_KLMS, len);
	klm = (struct mlx5_klm *)b->key->xlt;
	klm->bcount = cpu_to_be32(len);
	klm->key = cpu_to_be32((u32)memory->object.id << 8);
	klm->va = cpu_to_be64(virt_to_phys(b->memory));
	b->psv = to_vhca_psv(vhca_kunit_add(test, VHCA_PSV, 0, sizeof(*b->psv)));
	b->psv->pd = PD;
	b->psv->transient = SEED << 32;
	b->key->bsf.basic.mem.bs_selector = 1;
	b->key->bsf.basic.check_byte_mask = 0xff;
	b->key->bsf.basic.m_bfs_psv = cpu_to_be32(format << 24 | (u32)b->psv->object.id);
	MLX5_SET(mkc, b->key->context, bsf_en, 1);
	return b;
}

static struct vhca_access access(const struct bed *b, u8 right, u64 address, u64 len)
{
	return (struct vhca_access) {
		.key = (u32)b->key->object.id << 8, .right = right, .pd = PD, .qpn = QPN,
		.address = address, .len = len,
	};
}

/* However it is cut into pieces, what is written has a signature behind each block. */
static void signature_written(struct kunit *test)
{
	static const u32 pieces[] = { 1, 100, BLOCK - 1, BLOCK, BLOCK + 1, BLOCKS * BLOCK };
	struct vhca_signature s = {
		.type = VHCA_SIGNATURE_CRC32, .block = BLOCK, .bytes = 4, .seed = SEED,
	};
	struct bed *b = bed(test, 0x20, 4);
	unsigned int i, n;
	u32 at, len;

	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		memset(b->memory, 0, BLOCKS * (BLOCK + 4));
		for (at = 0; at < BLOCKS * BLOCK; at += len) {
			struct vhca_access a;

			len = min(pieces[i], BLOCKS * BLOCK - at);
			a = access(b, VHCA_LOCAL_WRITE, at, len);
			KUNIT_ASSERT_TRUE(test, vhca_access_write(b->v, &a, b->data + at));
		}
		for (n = 0; n < BLOCKS; n++) {
			const u8 *block = b->memory + n * (BLOCK + 4);

			KUNIT_EXPECT_MEMEQ(test, block, b->data + n * BLOCK, BLOCK);
			KUNIT_EXPECT_EQ(test, get_unaligned_le32(block + BLOCK),
					vhca_signature_make(&s, n, b->data + n * BLOCK) >> 32);
		}
	}
}

/* What is read is the data without them, whether they are right or not. */
static void signature_read(struct kunit *test)
{
	struct bed *b = bed(test, 0x20, 4);
	u8 *got = kunit_kzalloc(test, BLOCKS * BLOCK, GFP_KERNEL);
	struct vhca_access a = access(b, VHCA_LOCAL_WRITE, 0, BLOCKS * BLOCK);

	KUNIT_ASSERT_NOT_NULL(test, got);
	KUNIT_ASSERT_TRUE(test, vhca_access_write(b->v, &a, b->data));
	a = access(b, VHCA_LOCAL_READ, 0, BLOCKS * BLOCK);
	KUNIT_ASSERT_TRUE(test, vhca_access_read(b->v, &a, got));
	KUNIT_EXPECT_MEMEQ(test, got, b->data, BLOCKS * BLOCK);
	KUNIT_EXPECT_FALSE(test, b->key->signature_failed);
	/* Nobody hears of it: there is no such queue pair. */
	b->memory[BLOCK + 4 + BLOCK] ^= 1;
	memset(got, 0, BLOCKS * BLOCK);
	KUNIT_ASSERT_TRUE(test, vhca_access_read(b->v, &a, got));
	KUNIT_EXPECT_MEMEQ(test, got, b->data, BLOCKS * BLOCK);
	KUNIT_EXPECT_FALSE(test, b->key->signature_failed);
}

/* A key that says what cannot be is good for nothing. */
static void signature_malformed(struct kunit *test)
{
	struct bed *b = bed(test, 0x20, 4);
	struct vhca_access a = access(b, VHCA_LOCAL_READ, 0, 1);

	KUNIT_EXPECT_TRUE(test, vhca_access_read(b->v, &a, NULL));
	b->key->bsf.basic.mem.bs_selector = 5;
	KUNIT_EXPECT_FALSE(test, vhca_access_read(b->v, &a, NULL));
	b->key->bsf.basic.mem.bs_selector = 200;
	KUNIT_EXPECT_FALSE(test, vhca_access_read(b->v, &a, NULL));
	b->key->bsf.basic.mem.bs_selector = 1;
	b->psv->pd++;
	KUNIT_EXPECT_FALSE(test, vhca_access_read(b->v, &a, NULL));
	b->psv->pd--;
	b->key->bsf.basic.m_bfs_psv = cpu_to_be32(0x30000000 | (u32)b->psv->object.id);
	KUNIT_EXPECT_FALSE(test, vhca_access_read(b->v, &a, NULL));
	b->key->bsf.basic.m_bfs_psv = cpu_to_be32(b->psv->object.id);
	KUNIT_EXPECT_FALSE(test, vhca_access_read(b->v, &a, NULL));
	b->key->bsf.m_inl.vld_refresh = cpu_to_be16(BIT(15));
	b->key->bsf.m_inl.sig_type = 3;
	KUNIT_EXPECT_FALSE(test, vhca_access_read(b->v, &a, NULL));
	b->key->bsf.m_inl.sig_type = 1;
	KUNIT_EXPECT_TRUE(test, vhca_access_read(b->v, &a, NULL));
}

static struct kunit_case vhca_signature_cases[] = {
	KUNIT_CASE(signature_known),
	KUNIT_CASE(signature_checksum),
	KUNIT_CASE(signature_compare),
	KUNIT_CASE(signature_written),
	KUNIT_CASE(signature_read),
	KUNIT_CASE(signature_malformed),
	{}
};

static struct kunit_suite vhca_signature_suite = {
	.name		= "mlx5_vhca_signature",
	.init		= vhca_kunit_init,
	.test_cases	= vhca_signature_cases,
};

kunit_test_suite(vhca_signature_suite);
