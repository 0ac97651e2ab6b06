/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pages of capabilities, one behind the other by their type.
 */
#ifndef VHCA_CAPS_H
#define VHCA_CAPS_H

#include <linux/mlx5/device.h>

struct vhca;

#define VHCA_CAP_SIZE		MLX5_UN_SZ_BYTES(hca_cap_union)

/**
 * vhca_cap - the page of a type
 * @caps: vhca.caps or vhca.caps_max
 * @type: enum mlx5_cap_type
 *
 * Return: the page, of VHCA_CAP_SIZE bytes
 */
static inline void *vhca_cap(void *caps, unsigned int type)
{
	return caps + type * VHCA_CAP_SIZE;
}

/**
 * vhca_cap_set_bit - set a capability that mlx5_ifc.h has no name for
 * @cap: its page
 * @bit: where it is, from the first bit on
 */
static inline void vhca_cap_set_bit(void *cap, unsigned int bit)
{
	__be32 *dwords = cap;

	dwords[bit / 32] |= cpu_to_be32(BIT(31 - bit % 32));
}

#ifdef VHCA_HAVE_TLP_VAR
static inline bool vhca_has_tlp_var(void)
{
	return true;
}

void vhca_caps_tlp_var(struct vhca *v, void *caps);
#else
/* The kernel's mlx5 does not know of them, nor has it a page for them. */
static inline bool vhca_has_tlp_var(void)
{
	return false;
}

static inline void vhca_caps_tlp_var(struct vhca *v, void *caps)
{
}
#endif

#ifdef VHCA_HAVE_ORDERING
void vhca_caps_ordering(void *caps);
#else
static inline void vhca_caps_ordering(void *caps)
{
}
#endif

#endif /* VHCA_CAPS_H */
