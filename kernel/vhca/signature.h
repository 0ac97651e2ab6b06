/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Signatures of memory keys: what stands in memory behind each block of data, made when
 * data is written by the key and checked when it is read.
 */
#ifndef VHCA_SIGNATURE_H
#define VHCA_SIGNATURE_H

#include <linux/mlx5/qp.h>

#include "object.h"

struct vhca_mkey;
struct vhca_qp;

/* Bytes of the largest block, and of the largest signature. */
#define VHCA_SIGNED_BLOCK	4160
#define VHCA_MAX_SIGNATURE	8

/* A BSF in units of 16 bytes: the basic part, and those of T10-DIF for both sides. */
#define VHCA_BSF_OCTOWORDS	(sizeof(struct mlx5_bsf) / 16)

/**
 * enum vhca_signature_type - how the guard of a block is computed
 * @VHCA_SIGNATURE_CRC32: CRC-32 of IEEE 802.3; it is all that the signature has
 * @VHCA_SIGNATURE_CRC32C: the same with Castagnoli's polynomial
 * @VHCA_SIGNATURE_T10DIF_CRC: T10-DIF, of 8 bytes: a CRC-16, application and reference tag
 * @VHCA_SIGNATURE_T10DIF_CSUM: the same with the checksum of IP
 */
enum vhca_signature_type {
	VHCA_SIGNATURE_CRC32,
	VHCA_SIGNATURE_CRC32C,
	VHCA_SIGNATURE_T10DIF_CRC,
	VHCA_SIGNATURE_T10DIF_CSUM,
};

/**
 * struct vhca_signature - what a key says of the memory behind it
 * @type: how it is computed
 * @block: bytes of data in front of each signature, 0 if there are none
 * @bytes: of a signature
 * @check: which bytes of it are compared, from the first in the top bit on
 * @seed: of the guard
 * @application: application tag
 * @reference: reference tag of the first block
 * @counts: the reference tag is one more in each block
 * @escape: bit 0: 0xffff for an application tag is not compared; bit 1: if the reference
 *	tag has all bits as well
 */
struct vhca_signature {
	enum vhca_signature_type	type;
	u32				block;
	u32				bytes;
	u8				check;
	u32				seed;
	u16				application;
	u32				reference;
	bool				counts;
	u8				escape;
};

/**
 * struct vhca_signature_error - a signature that is not what it should be
 * @mkey: the key, NULL if there is none
 * @syndrome: what is wrong, VHCA_SIGNATURE_*
 * @expected: what it should be, T10-DIF as it is or a CRC in the upper half
 * @actual: what it is
 * @offset: where in the data its block begins
 */
struct vhca_signature_error {
	struct vhca_mkey	*mkey;
	u16			syndrome;
	u64			expected;
	u64			actual;
	u64			offset;
};

/**
 * struct vhca_psv - protection state: where a signature begins
 * @object: what all objects have
 * @pd: its protection domain
 * @transient: the signature in front of the first block, as struct vhca_signature_error has
 *	them
 */
struct vhca_psv {
	struct vhca_object	object;
	u32			pd;
	u64			transient;
};

#define to_vhca_psv(o)	container_of(o, struct vhca_psv, object)

/* cmd_psv.c */
u8 vhca_psv_set(struct vhca *v, const struct vhca_qp *qp, const void *wqe, u32 len);

/* signature.c */
bool vhca_signature_of(struct vhca *v, const struct vhca_mkey *mkey, struct vhca_signature *s);
u64 vhca_signature_make(const struct vhca_signature *s, u64 block, const void *data);
void vhca_signature_store(const struct vhca_signature *s, u64 signature, u8 *to);
u64 vhca_signature_load(const struct vhca_signature *s, const u8 *from);
u16 vhca_signature_compare(const struct vhca_signature *s, u64 expected, u64 actual);
void vhca_signature_report(struct vhca *v, u32 qpn, const struct vhca_signature_error *error);

#endif /* VHCA_SIGNATURE_H */
