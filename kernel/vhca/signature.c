// SPDX-License-Identifier: GPL-2.0
/*
 * Signatures: what the block signature format (BSF) of a memory key says, and what follows
 * from it.  That of the network is accepted and does nothing: what two devices of this kind
 * send each other needs none.
 *
 * The order of a CRC's bytes in memory was not compared with a card.  That it is inverted at
 * the end follows from a test of rdma-core's: blocks of zeros with a seed of 0 and a signature
 * of zeros are wrong.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mlx5/cq.h>
#include <linux/unaligned.h>

#include "vhca.h"

/* Upper byte of m_bfs_psv; the low bits say where a CRC begins. */
#define VHCA_BFS_SHIFT		24
#define VHCA_BFS_TYPE		0xf0
#define VHCA_BFS_CRC32		0x20
#define VHCA_BFS_CRC32C		0x40
#define VHCA_PSV_INDEX		0xffffff

/* Of struct mlx5_bsf_inl. */
#define VHCA_INLINE_VALID	BIT(15)
#define VHCA_INLINE_CRC		1
#define VHCA_INLINE_CSUM	2
#define VHCA_INLINE_COUNTS	BIT(6)
#define VHCA_INLINE_ESCAPE	3

/* Bytes of T10-DIF, in check_byte_mask. */
#define VHCA_CHECK_GUARD	0xc0
#define VHCA_CHECK_APPLICATION	0x30
#define VHCA_CHECK_REFERENCE	0x0f

/* Syndrome of an error completion. */
#define VHCA_SIGNATURE_REFERENCE	BIT(11)
#define VHCA_SIGNATURE_APPLICATION	BIT(12)
#define VHCA_SIGNATURE_GUARD		BIT(13)

/* domain of the completion, which struct mlx5_sig_err_cqe has no name for. */
#define VHCA_DOMAIN_MEMORY	1

/* Polynomials: of the first two the lowest bit comes first. */
#define VHCA_CRC32_POLYNOMIAL	0xedb88320
#define VHCA_CRC32C_POLYNOMIAL	0x82f63b78
#define VHCA_T10DIF_POLYNOMIAL	0x8bb7

static const u16 vhca_blocks[] = {
	[1] = 512, [2] = 520, [3] = 4096, [4] = VHCA_SIGNED_BLOCK, [6] = 4048,
};

/* The seed and the tags; false if the key has no such protection state. */
static bool vhca_signature_begin(struct vhca *v, const struct vhca_mkey *mkey, u32 index,
				 struct vhca_signature *s)
{
	struct vhca_object *object = vhca_ledger_find(v, VHCA_PSV, index);
	u64 transient;

	if (!object || to_vhca_psv(object)->pd != MLX5_GET(mkc, mkey->context, pd))
		return false;
	transient = to_vhca_psv(object)->transient;
	if (s->bytes == sizeof(u32)) {
		s->seed = transient >> 32;
	} else {
		s->seed = transient >> 48;
		s->application = transient >> 32;
		s->reference = transient;
	}
	return true;
}

/**
 * vhca_signature_of - the signatures in the memory behind a key
 * @v: the device
 * @mkey: the key, whose BSF is enabled
 * @s: filled in
 *
 * Context: vhca.lock held
 * Return: true; or false if its BSF cannot be understood
 */
bool vhca_signature_of(struct vhca *v, const struct vhca_mkey *mkey, struct vhca_signature *s)
{
	const struct mlx5_bsf *bsf = &mkey->bsf;
	u32 format = be32_to_cpu(bsf->basic.m_bfs_psv);
	u8 selector = bsf->basic.mem.bs_selector;

	*s = (struct vhca_signature) { .check = bsf->basic.check_byte_mask };
	if (!selector)
		return true;
	if (selector >= ARRAY_SIZE(vhca_blocks) || !vhca_blocks[selector])
		return false;
	s->block = vhca_blocks[selector];
	s->bytes = sizeof(u32);
	switch (format >> VHCA_BFS_SHIFT & VHCA_BFS_TYPE) {
	case VHCA_BFS_CRC32:
		s->type = VHCA_SIGNATURE_CRC32;
		break;
	case VHCA_BFS_CRC32C:
		s->type = VHCA_SIGNATURE_CRC32C;
		break;
	case 0:
		if (!(be16_to_cpu(bsf->m_inl.vld_refresh) & VHCA_INLINE_VALID))
			return false;
		if (bsf->m_inl.sig_type == VHCA_INLINE_CRC)
			s->type = VHCA_SIGNATURE_T10DIF_CRC;
		else if (bsf->m_inl.sig_type == VHCA_INLINE_CSUM)
			s->type = VHCA_SIGNATURE_T10DIF_CSUM;
		else
			return false;
		s->bytes = sizeof(u64);
		s->counts = bsf->m_inl.dif_inc_ref_guard_check & VHCA_INLINE_COUNTS;
		s->escape = bsf->m_inl.dif_inc_ref_guard_check & VHCA_INLINE_ESCAPE;
		break;
	default:
		return false;
	}
	return vhca_signature_begin(v, mkey, format & VHCA_PSV_INDEX, s);
}

static u32 vhca_crc32(u32 polynomial, u32 crc, const u8 *data, u32 len)
{
	unsigned int bit;

	while (len--) {
		crc ^= *data++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
	}
	return ~crc;
}

static u16 vhca_crc16(u16 crc, const u8 *data, u32 len)
{
	unsigned int bit;

	while (len--) {
		crc ^= *data++ << 8;
		for (bit = 0; bit < 8; bit++)
			crc = crc << 1 ^ (crc & 0x8000 ? VHCA_T10DIF_POLYNOMIAL : 0);
	}
	return crc;
}

/* All blocks have an even number of bytes. */
static u16 vhca_checksum(u16 seed, const u8 *data, u32 len)
{
	u32 sum = seed;

	for (; len; len -= 2, data += 2)
		sum += get_unaligned_be16(data);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/**
 * vhca_signature_make - the signature of a block
 * @s: how it is made
 * @block: which block it is, from 0
 * @data: its data, all of it
 *
 * Return: the signature, see struct vhca_signature_error
 */
u64 vhca_signature_make(const struct vhca_signature *s, u64 block, const void *data)
{
	u64 tags = (u64)s->application << 32 | (u32)(s->reference + (s->counts ? block : 0));

	switch (s->type) {
	case VHCA_SIGNATURE_CRC32:
		return (u64)vhca_crc32(VHCA_CRC32_POLYNOMIAL, s->seed, data, s->block) << 32;
	case VHCA_SIGNATURE_CRC32C:
		return (u64)vhca_crc32(VHCA_CRC32C_POLYNOMIAL, s->seed, data, s->block) << 32;
	case VHCA_SIGNATURE_T10DIF_CRC:
		return (u64)vhca_crc16(s->seed, data, s->block) << 48 | tags;
	case VHCA_SIGNATURE_T10DIF_CSUM:
		return (u64)vhca_checksum(s->seed, data, s->block) << 48 | tags;
	}
	return 0;
}

/**
 * vhca_signature_store - a signature as it stands in memory
 * @s: what it is
 * @signature: the signature
 * @to: @s->bytes bytes
 */
void vhca_signature_store(const struct vhca_signature *s, u64 signature, u8 *to)
{
	if (s->bytes == sizeof(u32))
		put_unaligned_le32(signature >> 32, to);
	else
		put_unaligned_be64(signature, to);
}

/**
 * vhca_signature_load - what stands in memory as a signature
 * @s: what it is
 * @from: @s->bytes bytes
 *
 * Return: the signature
 */
u64 vhca_signature_load(const struct vhca_signature *s, const u8 *from)
{
	if (s->bytes == sizeof(u32))
		return (u64)get_unaligned_le32(from) << 32;
	return get_unaligned_be64(from);
}

/**
 * vhca_signature_compare - is a signature right?
 * @s: what it is, and what of it is compared
 * @expected: what it should be
 * @actual: what it is
 *
 * Return: 0, or what is wrong: a syndrome of struct mlx5_sig_err_cqe
 */
u16 vhca_signature_compare(const struct vhca_signature *s, u64 expected, u64 actual)
{
	u64 differs = expected ^ actual;
	u16 syndrome = 0;

	if (s->bytes == sizeof(u32))
		return s->check && differs ? VHCA_SIGNATURE_GUARD : 0;
	if ((actual >> 32 & 0xffff) == 0xffff &&
	    (s->escape & BIT(0) || (s->escape && (u32)actual == U32_MAX)))
		return 0;
	if (s->check & VHCA_CHECK_GUARD && differs >> 48)
		syndrome |= VHCA_SIGNATURE_GUARD;
	if (s->check & VHCA_CHECK_APPLICATION && differs >> 32 & 0xffff)
		syndrome |= VHCA_SIGNATURE_APPLICATION;
	if (s->check & VHCA_CHECK_REFERENCE && (u32)differs)
		syndrome |= VHCA_SIGNATURE_REFERENCE;
	return syndrome;
}

/**
 * vhca_signature_report - tell of a signature that is wrong
 * @v: the device
 * @qpn: the queue pair whose access it was
 * @error: what is wrong
 *
 * The data has moved nevertheless.  Who polls its completions learns of it, once until the
 * key is changed by a UMR request; and if its queue pair is one that stops then, what comes
 * next waits for it.
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_signature_report(struct vhca *v, u32 qpn, const struct vhca_signature_error *error)
{
	struct vhca_object *object = vhca_ledger_find(v, VHCA_QP, qpn);
	struct vhca_qp *qp;
	struct mlx5_sig_err_cqe cqe = {
		.expected_trans_sig = cpu_to_be32(error->expected >> 32),
		.actual_trans_sig   = cpu_to_be32(error->actual >> 32),
		.expected_reftag    = cpu_to_be32(error->expected),
		.actual_reftag	    = cpu_to_be32(error->actual),
		.syndrome	    = cpu_to_be16(error->syndrome),
		.rsvd22		    = { 0, VHCA_DOMAIN_MEMORY },
		.mkey		    = cpu_to_be32((u32)error->mkey->object.id << 8 |
					MLX5_GET(mkc, error->mkey->context, mkey_7_0)),
		.err_offset	    = cpu_to_be64(error->offset),
		.qpn		    = cpu_to_be32(qpn),
		.op_own		    = MLX5_CQE_SIG_ERR << 4,
	};

	static_assert(sizeof(cqe) == sizeof(struct mlx5_cqe64));
	if (!object || error->mkey->signature_failed)
		return;
	error->mkey->signature_failed = true;
	qp = to_vhca_qp(object);
	if (qp->service != MLX5_QP_ST_DCT)
		qp->draining = MLX5_GET(qpc, qp->context, drain_sigerr);
	vhca_cq_post(v, qp->send_cqn, (struct mlx5_cqe64 *)&cqe, false);
}
