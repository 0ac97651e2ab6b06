// SPDX-License-Identifier: GPL-2.0
/*
 * Access to memory by a memory key: the one way in which data gets from the
 * device to memory and back.
 *
 * A key is looked up by index and variant.  It must not be free, belong to the
 * protection domain of the queue pair, not be bound to another queue pair,
 * grant the right, and cover the range.  Then its translations say where the
 * bytes are: in RAM, in device memory of this or another device, or behind
 * other keys, for which the same is asked again with local rights.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>

#include "vhca.h"

/* Bits of an MTT: what can be done with the page; none of them: not present. */
#define VHCA_MTT_READ		BIT(0)
#define VHCA_MTT_WRITE		BIT(1)

/* The top bit of a KLM's length means something else. */
#define VHCA_KLM_LENGTH		0x7fffffff

/*
 * Where the first entry of an indirect key has this for a key it is no entry but says how
 * often those behind it, each of which has a stride, are gone through.
 */
#define VHCA_STRIDED		0x400

/**
 * struct vhca_strided - the first entry of a strided key, mlx5_wqe_umr_repeat_block_seg of
 *	libmlx5
 * @bytes: of one round
 * @mark: VHCA_STRIDED
 * @rounds: how many
 * @reserved: 0
 * @entries: how many follow
 */
struct vhca_strided {
	__be32	bytes;
	__be32	mark;
	__be32	rounds;
	__be16	reserved;
	__be16	entries;
};

/**
 * struct vhca_stride - one of those that follow, mlx5_wqe_umr_repeat_ent_seg
 * @stride: bytes from its place in one round to that in the next
 * @bytes: of it in each round
 * @key: the key behind it
 * @va: where it is in the first round
 */
struct vhca_stride {
	__be16	stride;
	__be16	bytes;
	__be32	key;
	__be64	va;
};

/*
 * Entries of indirect keys that one access looks at before it is given up:
 * all lists are their owners' to write, and need not be reasonable.
 */
#define VHCA_MAX_STEPS		(2 << VHCA_LOG_MAX_KLMS)

/**
 * struct vhca_walk - an access on its way through the translations
 * @v: the device
 * @pd: protection domain of the queue pair
 * @qpn: number of the queue pair
 * @write: to memory; else from it
 * @right: that the keys behind an indirect one have to grant
 * @data: where the next bytes go or come from; NULL to copy nothing
 * @steps: how many entries of indirect keys may still be looked at
 * @absent: it cannot go on as a translation is not present
 * @error: the first signature that is wrong
 */
struct vhca_walk {
	struct vhca	*v;
	u32		pd;
	u32		qpn;
	bool		write;
	u8		right;
	void		*data;
	unsigned int	steps;
	bool		absent;

	struct vhca_signature_error error;
};

static bool vhca_walk_key(struct vhca_walk *w, const struct vhca_access *access,
			  unsigned int depth);

static bool vhca_mkey_grants(const struct vhca_mkey *mkey, u8 right)
{
	const u32 *mkc = mkey->context;
	u8 granted = 0;

	if (MLX5_GET(mkc, mkc, lr))
		granted |= VHCA_LOCAL_READ;
	if (MLX5_GET(mkc, mkc, lw))
		granted |= VHCA_LOCAL_WRITE;
	if (MLX5_GET(mkc, mkc, rr))
		granted |= VHCA_REMOTE_READ;
	if (MLX5_GET(mkc, mkc, rw))
		granted |= VHCA_REMOTE_WRITE;
	if (MLX5_GET(mkc, mkc, a))
		granted |= VHCA_REMOTE_ATOMIC;
	return granted & right;
}

/* Addresses of device memory are counted from its start. */
static u64 vhca_mkey_start(const struct vhca_mkey *mkey)
{
	if (vhca_mkey_mode(mkey) == MLX5_MKC_ACCESS_MODE_MEMIC)
		return 0;
	return MLX5_GET64(mkc, mkey->context, start_addr);
}

static bool vhca_mkey_covers(const struct vhca_mkey *mkey, u64 address,
			     u64 len)
{
	u64 start = vhca_mkey_start(mkey);
	u64 size = MLX5_GET64(mkc, mkey->context, len);

	if (address + len < address)
		return false;
	if (MLX5_GET(mkc, mkey->context, length64))
		return true;
	return address >= start && len <= size && address - start <= size - len;
}

/* The key of an access, or NULL if it does not allow that access. */
static struct vhca_mkey *vhca_access_key(struct vhca *v,
					 const struct vhca_access *access)
{
	struct vhca_object *object;
	struct vhca_mkey *mkey;
	u32 qpn;

	object = vhca_ledger_find(v, VHCA_MKEY, access->key >> 8);
	if (!object)
		return NULL;
	mkey = to_vhca_mkey(object);
	qpn = MLX5_GET(mkc, mkey->context, qpn);
	if (vhca_mkey_free(mkey) ||
	    MLX5_GET(mkc, mkey->context, mkey_7_0) != (access->key & 0xff) ||
	    MLX5_GET(mkc, mkey->context, pd) != access->pd ||
	    (qpn != VHCA_ANY_QP && qpn != access->qpn) ||
	    !vhca_mkey_grants(mkey, access->right) ||
	    !vhca_mkey_covers(mkey, access->address, access->len))
		return NULL;
	return mkey;
}

/*
 * As memcpy(), in words.  memcpy() is one instruction that moves bytes on most
 * processors, and where these are emulated it is ten times as slow as this.
 */
static void vhca_copy(void *to, const void *from, u64 len)
{
	const u64 *f = from;
	u64 *t = to;

	for (; len >= 4 * sizeof(*t); len -= 4 * sizeof(*t)) {
		WRITE_ONCE(t[0], READ_ONCE(f[0]));
		WRITE_ONCE(t[1], READ_ONCE(f[1]));
		WRITE_ONCE(t[2], READ_ONCE(f[2]));
		WRITE_ONCE(t[3], READ_ONCE(f[3]));
		f += 4;
		t += 4;
	}
	memcpy(t, f, len);
}

/* Copy to or from a contiguous piece of physical memory. */
static bool vhca_walk_physical(struct vhca_walk *w, u64 address, u64 len)
{
	void *ram = vhca_ram(address, len);

	if (!ram) {
		if (!vhca_fabric_memic(address, w->data, len, w->write))
			return false;
	} else if (w->data && w->write) {
		vhca_copy(ram, w->data, len);
	} else if (w->data) {
		vhca_copy(w->data, ram, len);
	}
	if (w->data)
		w->data += len;
	return true;
}

static bool vhca_walk_mtt(struct vhca_walk *w, const struct vhca_mkey *mkey,
			  u64 address, u64 len)
{
	u32 entries = mkey->octowords * (VHCA_OCTOWORD / sizeof(*mkey->xlt));
	u64 present = w->write ? VHCA_MTT_WRITE : VHCA_MTT_READ;
	u8 shift = MLX5_GET(mkc, mkey->context, log_page_size);
	u64 start = MLX5_GET64(mkc, mkey->context, start_addr);
	u64 page_size = 1ULL << shift;
	u64 offset = address - start + (start & (page_size - 1));

	while (len) {
		u64 in_page = offset & (page_size - 1);
		u64 n = min(len, page_size - in_page);
		u64 i = offset >> shift;
		u64 mtt, to;

		if (i >= entries)
			return false;
		mtt = be64_to_cpu(mkey->xlt[i]);
		if (!(mtt & present)) {
			w->absent = true;
			return false;
		}
		to = (mtt & ~VHCA_MTT_FLAGS) + in_page;
		if (vhca_page_is_free(to))
			vhca_violation_of(w->v, "dma_to_free_page", VHCA_MKEY,
					  mkey->object.id, to, false);
		if (!vhca_walk_physical(w, to, n))
			return false;
		offset += n;
		len -= n;
	}
	return true;
}

/* One entry of an indirect key: another key, for @len bytes from @offset. */
static bool vhca_walk_entry(struct vhca_walk *w, u32 key, u64 va, u64 offset,
			    u64 len, unsigned int depth)
{
	const struct vhca_access access = {
		.key	 = key,
		.right	 = w->right,
		.pd	 = w->pd,
		.qpn	 = w->qpn,
		.address = va + offset,
		.len	 = len,
	};

	/* What an implicit region has not touched yet; the driver may bring it. */
	if (key == VHCA_NULL_MKEY) {
		w->absent = true;
		return false;
	}
	return va + offset >= va && vhca_walk_key(w, &access, depth + 1);
}

static bool vhca_walk_strided(struct vhca_walk *w, const struct vhca_mkey *mkey,
			      u64 offset, u64 len, unsigned int depth)
{
	const struct vhca_strided *head = (const void *)mkey->xlt;
	const struct vhca_stride *first = (const void *)(head + 1);
	u32 entries = be16_to_cpu(head->entries);
	u32 bytes = be32_to_cpu(head->bytes);
	u64 round;

	if (!bytes || !entries || entries >= mkey->octowords)
		return false;
	round = div_u64_rem(offset, bytes, &bytes);
	offset = bytes;
	for (; len && round < be32_to_cpu(head->rounds); round++) {
		u32 i;

		for (i = 0; len && i < entries; i++) {
			u64 size = be16_to_cpu(first[i].bytes);
			u64 n;

			if (!w->steps--)
				return false;
			if (offset >= size) {
				offset -= size;
				continue;
			}
			n = min(len, size - offset);
			if (!vhca_walk_entry(w, be32_to_cpu(first[i].key),
					     be64_to_cpu(first[i].va),
					     round * be16_to_cpu(first[i].stride) +
					     offset, n, depth))
				return false;
			offset = 0;
			len -= n;
		}
	}
	return !len;
}

static bool vhca_walk_klm(struct vhca_walk *w, const struct vhca_mkey *mkey,
			  u64 address, u64 len, unsigned int depth)
{
	const struct mlx5_klm *klm = (const void *)mkey->xlt;
	u64 offset = address - MLX5_GET64(mkc, mkey->context, start_addr);
	u32 i;

	if (mkey->octowords && be32_to_cpu(klm->key) == VHCA_STRIDED)
		return vhca_walk_strided(w, mkey, offset, len, depth);
	for (i = 0; len && i < mkey->octowords; i++, klm++) {
		u64 size = be32_to_cpu(klm->bcount) & VHCA_KLM_LENGTH;
		u64 n;

		if (!w->steps--)
			return false;
		if (offset >= size) {
			offset -= size;
			continue;
		}
		n = min(len, size - offset);
		if (!vhca_walk_entry(w, be32_to_cpu(klm->key),
				     be64_to_cpu(klm->va), offset, n, depth))
			return false;
		offset = 0;
		len -= n;
	}
	return !len;
}

/*
 * A block of data is complete: read it and what stands behind it, or write that.  What was
 * written is read by the right to write.
 */
static bool vhca_walk_signature(struct vhca_walk *w, struct vhca_mkey *mkey,
				const struct vhca_signature *s, u64 block, u64 address)
{
	u8 *data = w->v->signed_block, *signature = data + s->block;
	struct vhca_walk sub = *w;
	u64 expected, actual;
	u16 syndrome;
	bool done;

	sub.write = false;
	sub.data = data;
	w->v->poll_bytes += s->block * BITS_PER_BYTE;
	done = vhca_walk_klm(&sub, mkey, address, s->block, 0);
	if (done) {
		expected = vhca_signature_make(s, block, data);
		sub.write = w->write;
		sub.data = signature;
		if (w->write)
			vhca_signature_store(s, expected, signature);
		done = vhca_walk_klm(&sub, mkey, address + s->block, s->bytes, 0);
	}
	w->steps = sub.steps;
	w->absent = sub.absent;
	if (!done || w->write || w->error.mkey)
		return done;
	actual = vhca_signature_load(s, signature);
	syndrome = vhca_signature_compare(s, expected, actual);
	if (syndrome)
		w->error = (struct vhca_signature_error) {
			.mkey	  = mkey,
			.syndrome = syndrome,
			.expected = expected,
			.actual	  = actual,
			.offset	  = block * s->block,
		};
	return true;
}

/* Behind a key with signatures: they stand between the blocks of data, and are not counted. */
static bool vhca_walk_signed(struct vhca_walk *w, struct vhca_mkey *mkey, u64 address, u64 len)
{
	u64 start = MLX5_GET64(mkc, mkey->context, start_addr);
	u64 offset = address - start;
	struct vhca_signature s;

	if (!vhca_signature_of(w->v, mkey, &s))
		return false;
	if (!s.block)
		return vhca_walk_klm(w, mkey, address, len, 0);
	while (len) {
		u32 done;
		u64 block = div_u64_rem(offset, s.block, &done);
		u64 n = min(len, (u64)s.block - done);
		u64 at = start + block * (s.block + s.bytes);

		if (!vhca_walk_klm(w, mkey, at + done, n, 0))
			return false;
		if (w->data && done + n == s.block &&
		    !vhca_walk_signature(w, mkey, &s, block, at))
			return false;
		offset += n;
		len -= n;
	}
	return true;
}

static bool vhca_walk_ksm(struct vhca_walk *w, const struct vhca_mkey *mkey,
			  u64 address, u64 len, unsigned int depth)
{
	const struct mlx5_ksm *ksm = (const void *)mkey->xlt;
	u8 shift = MLX5_GET(mkc, mkey->context, log_page_size);
	u64 offset = address - MLX5_GET64(mkc, mkey->context, start_addr);
	u64 size = 1ULL << shift;

	while (len) {
		u64 in_entry = offset & (size - 1);
		u64 n = min(len, size - in_entry);
		u64 i = offset >> shift;

		if (i >= mkey->octowords || !w->steps--)
			return false;
		if (!vhca_walk_entry(w, be32_to_cpu(ksm[i].key),
				     be64_to_cpu(ksm[i].va), in_entry, n,
				     depth))
			return false;
		offset += n;
		len -= n;
	}
	return true;
}

static bool vhca_walk_key(struct vhca_walk *w, const struct vhca_access *access,
			  unsigned int depth)
{
	struct vhca_mkey *mkey = vhca_access_key(w->v, access);
	u64 address = access->address, len = access->len;

	if (!mkey || depth > VHCA_MAX_INDIRECTION)
		return false;
	switch (vhca_mkey_mode(mkey)) {
	case MLX5_MKC_ACCESS_MODE_PA:
		return vhca_walk_physical(w, address, len);
	case MLX5_MKC_ACCESS_MODE_MTT:
		return vhca_walk_mtt(w, mkey, address, len);
	case MLX5_MKC_ACCESS_MODE_MEMIC:
		address += MLX5_GET64(mkc, mkey->context, start_addr);
		return vhca_walk_physical(w, w->v->params.bar_phys + address,
					  len);
	case MLX5_MKC_ACCESS_MODE_KLMS:
		if (!MLX5_GET(mkc, mkey->context, bsf_en))
			return vhca_walk_klm(w, mkey, address, len, depth);
		/* Not behind another one, whose blocks are others. */
		return !depth && vhca_walk_signed(w, mkey, address, len);
	case MLX5_MKC_ACCESS_MODE_KSM:
		return vhca_walk_ksm(w, mkey, address, len, depth);
	default:
		return false;
	}
}

static bool vhca_access_walk(struct vhca *v, struct vhca_access *access,
			     void *data, bool write)
{
	struct vhca_walk w = {
		.v	= v,
		.pd	= access->pd,
		.qpn	= access->qpn,
		.write	= write,
		.right	= write ? VHCA_LOCAL_WRITE : VHCA_LOCAL_READ,
		.data	= data,
		.steps	= VHCA_MAX_STEPS,
	};

	bool done = !access->len || vhca_walk_key(&w, access, 0);

	access->absent = w.absent;
	if (w.error.mkey)
		vhca_signature_report(v, access->qpn, &w.error);
	/* To go through a list takes time, though no byte of data moves. */
	v->poll_bytes += (VHCA_MAX_STEPS - w.steps) * sizeof(struct mlx5_klm);
	return done;
}

/**
 * vhca_access_allowed - would a key allow an access?
 * @v: the device
 * @access: the access
 *
 * Looks at the key, not at where it leads.
 *
 * Context: firmware thread, vhca.lock held
 * Return: true if it would
 */
bool vhca_access_allowed(struct vhca *v, const struct vhca_access *access)
{
	return !access->len || vhca_access_key(v, access);
}

/**
 * vhca_access_read - read memory by a key
 * @v: the device
 * @access: the access; one of no bytes is allowed always; says whether it has
 *	failed as a translation is not present
 * @to: where the bytes go, NULL to see only if all of them can be had
 *
 * Context: firmware thread, vhca.lock held
 * Return: true if all was read
 */
bool vhca_access_read(struct vhca *v, struct vhca_access *access, void *to)
{
	return vhca_access_walk(v, access, to, false);
}

/**
 * vhca_access_write - write memory by a key
 * @v: the device
 * @access: the access, as vhca_access_read() has it
 * @from: the bytes
 *
 * Where a later part of the range cannot be reached, an earlier one may have
 * been written.
 *
 * Context: firmware thread, vhca.lock held
 * Return: true if all was written
 */
bool vhca_access_write(struct vhca *v, struct vhca_access *access,
		       const void *from)
{
	return vhca_access_walk(v, access, (void *)from, true);
}

/**
 * vhca_access_invalidate - make a key free, as the sender of a message asked
 * @v: the device
 * @access: names the key, its protection domain and queue pair
 *
 * Context: firmware thread, vhca.lock held
 * Return: true if that was allowed, by en_rinval of the key
 */
bool vhca_access_invalidate(struct vhca *v, const struct vhca_access *access)
{
	struct vhca_object *object;
	struct vhca_mkey *mkey;
	u32 qpn;

	object = vhca_ledger_find(v, VHCA_MKEY, access->key >> 8);
	if (!object)
		return false;
	mkey = to_vhca_mkey(object);
	qpn = MLX5_GET(mkc, mkey->context, qpn);
	if (vhca_mkey_free(mkey) || !MLX5_GET(mkc, mkey->context, en_rinval) ||
	    MLX5_GET(mkc, mkey->context, mkey_7_0) != (access->key & 0xff) ||
	    MLX5_GET(mkc, mkey->context, pd) != access->pd ||
	    (qpn != VHCA_ANY_QP && qpn != access->qpn))
		return false;
	MLX5_SET(mkc, mkey->context, free, 1);
	return true;
}
