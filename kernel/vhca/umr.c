// SPDX-License-Identifier: GPL-2.0
/*
 * UMR: changing a memory key by a work request; and the check of all keys
 * when device memory is freed.
 *
 * UMR is really executed, on contexts and translations, so that what the
 * device can reach at any time is known: a dma-buf that was revoked must be
 * out of every key before the memory behind it is freed.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mlx5/cq.h>

#include "vhca.h"

/**
 * struct vhca_umr_wqe - a UMR work request, struct mlx5r_umr_wqe of mlx5_ib
 * @ctrl: names the key
 * @umr: says what to change
 * @mkc: the new context
 * @data: what follows: a pointer to translations, or those themselves
 */
struct vhca_umr_wqe {
	struct mlx5_wqe_ctrl_seg	ctrl;
	struct mlx5_wqe_umr_ctrl_seg	umr;
	u8				mkc[MLX5_ST_SZ_BYTES(mkc)];
	struct mlx5_wqe_data_seg	data[];
};

/* flags of struct mlx5_wqe_umr_ctrl_seg: fail if it is bound to another QP. */
#define VHCA_UMR_CHECK_QPN	BIT(3)

/*
 * The queue pair that the driver keeps for memory registration has no PD and
 * may use all keys; any other is bound to its own PD.
 *
 * A user's queue pair changes indirect keys only (memory windows and their
 * like), which lead to other keys and are checked again there.  Of a key that
 * translates to physical addresses not even the length is the user's to say,
 * since behind it there may be translations of its last owner.
 */
static bool vhca_umr_may_use(const struct vhca_qp *qp,
			     const struct vhca_mkey *mkey)
{
	if (qp->service == MLX5_QP_ST_REG_UMR)
		return true;
	if (MLX5_GET(mkc, mkey->context, pd) != qp->pd)
		return false;
	switch (vhca_mkey_mode(mkey)) {
	case MLX5_MKC_ACCESS_MODE_KLMS:
	case MLX5_MKC_ACCESS_MODE_KSM:
		return true;
	default:
		return qp->privileged;
	}
}

/* What the request wants of the key itself. */
static bool vhca_umr_check(const struct vhca_qp *qp,
			   const struct vhca_mkey *mkey,
			   const struct vhca_umr_wqe *wqe)
{
	u32 key = be32_to_cpu(wqe->ctrl.umr_mkey);

	/* Only who registers memory gives keys away to others. */
	if (be64_to_cpu(wqe->umr.mkey_mask) & MLX5_MKEY_MASK_PD &&
	    qp->service != MLX5_QP_ST_REG_UMR)
		return false;
	/* The driver names a key by the variant that it will have. */
	if (!qp->privileged &&
	    MLX5_GET(mkc, mkey->context, mkey_7_0) != (key & 0xff))
		return false;
	return !(wqe->umr.flags & VHCA_UMR_CHECK_QPN) ||
	       MLX5_GET(mkc, mkey->context, qpn) == VHCA_ANY_QP ||
	       MLX5_GET(mkc, mkey->context, qpn) == qp->object.id;
}

/*
 * The block signature format behind the translations, where its number of octowords is not
 * their offset; NULL if there is none.  Returns false if it cannot be what the driver means.
 */
static bool vhca_umr_bsf(const struct vhca_mkey *mkey, const struct vhca_umr_wqe *wqe, u32 len,
			 const struct mlx5_bsf **bsf)
{
	u32 at = sizeof(*wqe) + be16_to_cpu(wqe->umr.xlt_octowords) * VHCA_OCTOWORD;
	u32 octowords = be16_to_cpu(wqe->umr.bsf_octowords);

	*bsf = NULL;
	if (wqe->umr.flags & MLX5_UMR_TRANSLATION_OFFSET_EN || !octowords)
		return true;
	if (octowords != VHCA_BSF_OCTOWORDS || !(wqe->umr.flags & MLX5_UMR_INLINE) ||
	    MLX5_GET(mkc, mkey->context, bsf_octword_size) < octowords ||
	    len < at + sizeof(**bsf))
		return false;
	*bsf = (const void *)wqe + at;
	return true;
}

/* The protection domain that a queue pair reads translations in. */
static u32 vhca_umr_pd(struct vhca *v, const struct vhca_qp *qp, u32 lkey)
{
	struct vhca_object *object;

	if (qp->service != MLX5_QP_ST_REG_UMR)
		return qp->pd;
	object = vhca_ledger_find(v, VHCA_MKEY, lkey >> 8);
	return object ? MLX5_GET(mkc, to_vhca_mkey(object)->context, pd) : 0;
}

/*
 * Bring the translations of a request into the key: they are in it, or where
 * its data segment points.  Nothing is changed unless all can be had.
 */
static bool vhca_umr_load(struct vhca *v, struct vhca_qp *qp,
			  const struct vhca_umr_wqe *wqe, u32 len, void *to,
			  u32 bytes)
{
	const struct mlx5_wqe_data_seg *data = wqe->data;
	u32 rest = len - sizeof(*wqe);
	struct vhca_access access;

	if (wqe->umr.flags & MLX5_UMR_INLINE) {
		if (rest < bytes)
			return false;
		memcpy(to, data, bytes);
		return true;
	}
	if (rest < sizeof(*data) || be32_to_cpu(data->byte_count) < bytes)
		return false;
	access = (struct vhca_access) {
		.key	 = be32_to_cpu(data->lkey),
		.right	 = VHCA_LOCAL_READ,
		.pd	 = vhca_umr_pd(v, qp, be32_to_cpu(data->lkey)),
		.qpn	 = qp->object.id,
		.address = be64_to_cpu(data->addr),
		.len	 = bytes,
	};
	return vhca_access_read(v, &access, NULL) &&
	       vhca_access_read(v, &access, to);
}

static u64 vhca_umr_offset(const struct mlx5_wqe_umr_ctrl_seg *umr)
{
	if (!(umr->flags & MLX5_UMR_TRANSLATION_OFFSET_EN))
		return 0;
	return (u64)be32_to_cpu(umr->xlt_offset_47_16) << 16 |
	       be16_to_cpu(umr->xlt_offset);
}

static void vhca_umr_context(void *to, const void *from, u64 mask)
{
	u32 take[MLX5_ST_SZ_DW(mkc)] = {};

	if (mask & MLX5_MKEY_MASK_FREE)
		MLX5_SET(mkc, take, free, ~0);
	if (mask & MLX5_MKEY_MASK_PAGE_SIZE)
		MLX5_SET(mkc, take, log_page_size, ~0);
	if (mask & MLX5_MKEY_MASK_PD)
		MLX5_SET(mkc, take, pd, ~0);
	if (mask & MLX5_MKEY_MASK_EN_SIGERR)
		MLX5_SET(mkc, take, expected_sigerr_count, ~0);
	if (mask & MLX5_MKEY_MASK_BSF_EN)
		MLX5_SET(mkc, take, bsf_en, ~0);
	if (mask & MLX5_MKEY_MASK_EN_RINVAL)
		MLX5_SET(mkc, take, en_rinval, ~0);
	if (mask & MLX5_MKEY_MASK_KEY)
		MLX5_SET(mkc, take, mkey_7_0, ~0);
	if (mask & MLX5_MKEY_MASK_QPN)
		MLX5_SET(mkc, take, qpn, ~0);
	if (mask & MLX5_MKEY_MASK_LR)
		MLX5_SET(mkc, take, lr, ~0);
	if (mask & MLX5_MKEY_MASK_LW)
		MLX5_SET(mkc, take, lw, ~0);
	if (mask & MLX5_MKEY_MASK_RR)
		MLX5_SET(mkc, take, rr, ~0);
	if (mask & MLX5_MKEY_MASK_RW)
		MLX5_SET(mkc, take, rw, ~0);
	if (mask & MLX5_MKEY_MASK_A)
		MLX5_SET(mkc, take, a, ~0);
	if (mask & MLX5_MKEY_MASK_LEN) {
		MLX5_SET(mkc, take, length64, ~0);
		MLX5_SET64(mkc, take, len, ~0ULL);
	}
	if (mask & MLX5_MKEY_MASK_START_ADDR)
		MLX5_SET64(mkc, take, start_addr, ~0ULL);
	vhca_merge(to, from, take, MLX5_ST_SZ_DW(mkc));
}

/**
 * vhca_umr_execute - execute a UMR work request
 * @v: the device
 * @qp: the queue pair that it was posted to
 * @wqe: the request, a copy
 * @len: bytes of it
 *
 * Nothing is changed unless all of it is in order.
 *
 * Context: firmware thread, vhca.lock held
 * Return: 0, or the syndrome of the error completion, MLX5_CQE_SYNDROME_*
 */
u8 vhca_umr_execute(struct vhca *v, struct vhca_qp *qp, const void *wqe,
		    u32 len)
{
	const struct vhca_umr_wqe *w = wqe;
	const struct mlx5_bsf *bsf;
	struct vhca_object *object;
	struct vhca_mkey *mkey;
	u32 key, octowords;
	bool free;
	u64 offset;

	if (len < sizeof(*w))
		return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	key = be32_to_cpu(w->ctrl.umr_mkey);
	octowords = be16_to_cpu(w->umr.xlt_octowords);
	offset = vhca_umr_offset(&w->umr);

	object = vhca_ledger_find(v, VHCA_MKEY, key >> 8);
	if (!object) {
		vhca_violation_of(v, "umr_unknown_mkey", VHCA_MKEY, key >> 8,
				  qp->object.id, false);
		return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	}
	mkey = to_vhca_mkey(object);
	if (!MLX5_GET(mkc, mkey->context, umr_en)) {
		vhca_violation(v, "umr_not_enabled", key >> 8, qp->object.id,
			       NULL);
		return MLX5_CQE_SYNDROME_MW_BIND_ERR;
	}
	if (!vhca_umr_may_use(qp, mkey) || !vhca_umr_check(qp, mkey, w))
		return MLX5_CQE_SYNDROME_MW_BIND_ERR;
	if (!vhca_umr_bsf(mkey, w, len, &bsf))
		return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	free = vhca_mkey_free(mkey);
	/* CHECK_FREE: fail if it is free; CHECK_NOT_FREE: if it is not. */
	if ((w->umr.flags & MLX5_UMR_CHECK_FREE && free) ||
	    (w->umr.flags & MLX5_UMR_CHECK_NOT_FREE && !free)) {
		vhca_violation(v, "umr_check_failed", key >> 8, w->umr.flags,
			       NULL);
		return MLX5_CQE_SYNDROME_MW_BIND_ERR;
	}

	if (octowords) {
		if (offset > mkey->octowords ||
		    octowords > mkey->octowords - offset) {
			vhca_violation(v, "umr_out_of_range", key >> 8,
				       offset + octowords, NULL);
			return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
		}
		v->poll_bytes += octowords * VHCA_OCTOWORD;
		if (!vhca_umr_load(v, qp, w, len,
				   (void *)mkey->xlt + offset * VHCA_OCTOWORD,
				   octowords * VHCA_OCTOWORD))
			return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
	}
	vhca_umr_context(mkey->context, w->mkc,
			 be64_to_cpu(w->umr.mkey_mask));
	if (bsf)
		mkey->bsf = *bsf;
	if (bsf || be64_to_cpu(w->umr.mkey_mask) & MLX5_MKEY_MASK_EN_SIGERR)
		mkey->signature_failed = false;
	vhca_mkey_check_pd(v, mkey, qp->object.id);
	return 0;
}

static bool vhca_overlap(u64 a, u64 a_len, u64 b, u64 b_len)
{
	return a < b + b_len && b < a + a_len;
}

/*
 * Does a key that translates by MTTs reach a range of physical memory?  Only
 * entries within its length count: one that was used for a longer region
 * before keeps the rest, which it cannot reach.
 */
static bool vhca_mkey_mtt_reaches(const struct vhca_mkey *mkey, u64 phys,
				  u64 len)
{
	u8 shift = MLX5_GET(mkc, mkey->context, log_page_size);
	u64 page_size = 1ULL << shift;
	u64 first = MLX5_GET64(mkc, mkey->context, start_addr) &
		    (page_size - 1);
	u64 rest = MLX5_GET64(mkc, mkey->context, len);
	u32 entries = mkey->octowords * (VHCA_OCTOWORD / sizeof(*mkey->xlt));
	u32 i;

	if (MLX5_GET(mkc, mkey->context, length64))
		rest = U64_MAX - first;
	for (i = 0; i < entries && rest; i++) {
		u64 mtt = be64_to_cpu(mkey->xlt[i]) & ~VHCA_MTT_FLAGS;
		u64 used = min(rest, page_size - first);

		if (mtt && vhca_overlap(mtt + first, used, phys, len))
			return true;
		rest -= used;
		first = 0;
	}
	return false;
}

/*
 * Does a key of @v reach memory of @owner?  Only an address on the bus leads
 * to another device's memory; one in the own BAR is of the own memory alone.
 */
static bool vhca_mkey_reaches(struct vhca *v, const struct vhca_mkey *mkey,
			      const struct vhca *owner, u64 start, u64 len)
{
	switch (vhca_mkey_mode(mkey)) {
	case MLX5_MKC_ACCESS_MODE_MEMIC:	/* start_addr is in BAR0 */
		return v == owner &&
		       vhca_overlap(MLX5_GET64(mkc, mkey->context, start_addr),
				    MLX5_GET64(mkc, mkey->context, len),
				    start, len);
	case MLX5_MKC_ACCESS_MODE_MTT:
		return vhca_mkey_mtt_reaches(mkey,
					     owner->params.bar_phys + start,
					     len);
	default:
		/* PA reaches everything; KLM and KSM only other keys. */
		return false;
	}
}

/**
 * struct vhca_freed - device memory that is being freed
 * @owner: the device that it is of
 * @start: offset of the memory in its BAR0
 * @len: bytes of it
 */
struct vhca_freed {
	const struct vhca	*owner;
	u64			start;
	u64			len;
};

/* vhca.lock of @v held, not necessarily by its own thread. */
static void vhca_mkey_check_freed(struct vhca *v, const struct vhca_freed *m)
{
	struct vhca_object *object;
	unsigned long index;

	xa_for_each(&v->ledger.by_id[VHCA_MKEY], index, object) {
		struct vhca_mkey *mkey = to_vhca_mkey(object);

		if (vhca_mkey_free(mkey) ||
		    !vhca_mkey_reaches(v, mkey, m->owner, m->start, m->len))
			continue;
		if (v == m->owner)
			vhca_violation_of(v, "memic_freed_under_mkey",
					  VHCA_MEMIC, m->start, index, false);
		else
			vhca_violation(v, "mkey_into_freed_memic", index,
				       m->owner->params.bar_phys + m->start,
				       NULL);
	}
}

/**
 * vhca_mkey_check_memic - no key that is not free, of this device or another,
 *	may reach device memory that is being freed
 * @v: the device
 * @start: offset of the memory in BAR0
 * @len: bytes of it
 *
 * vhca.lock is dropped for a while, as the locks of the other devices are
 * taken in turn.  What the caller knows stays true: nothing but the firmware
 * thread changes the device's objects, and it is here.  That it is here also
 * keeps the driver from being told that the memory is free, so no key that
 * comes to reach it meanwhile can be a rightful one.
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_mkey_check_memic(struct vhca *v, u64 start, u64 len)
{
	struct vhca_freed freed = { .owner = v, .start = start, .len = len };
	struct vhca *other = NULL;

	vhca_mkey_check_freed(v, &freed);
	mutex_unlock(&v->lock);
	while ((other = vhca_next(other))) {
		if (other == v)
			continue;
		mutex_lock(&other->lock);
		vhca_mkey_check_freed(other, &freed);
		mutex_unlock(&other->lock);
	}
	mutex_lock(&v->lock);
}
