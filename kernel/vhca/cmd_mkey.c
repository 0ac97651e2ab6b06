// SPDX-License-Identifier: GPL-2.0
/*
 * Memory keys.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/slab.h>

#include "vhca.h"

/*
 * A UMR work request writes translations in units of 64 bytes, to a smaller
 * key as well, so there are always whole units.
 */
#define VHCA_XLT_UNIT		(MLX5_UMR_FLEX_ALIGNMENT / VHCA_OCTOWORD)

static const char *vhca_mkey_mode_name(u8 mode)
{
	switch (mode) {
	case MLX5_MKC_ACCESS_MODE_PA:
		return "pa";
	case MLX5_MKC_ACCESS_MODE_MTT:
		return "mtt";
	case MLX5_MKC_ACCESS_MODE_KLMS:
		return "klms";
	case MLX5_MKC_ACCESS_MODE_KSM:
		return "ksm";
	case MLX5_MKC_ACCESS_MODE_SW_ICM:
		return "sw_icm";
	case MLX5_MKC_ACCESS_MODE_MEMIC:
		return "memic";
	default:
		return "other";
	}
}

/**
 * vhca_mkey_mode - how a key translates
 * @mkey: the key
 *
 * Return: MLX5_MKC_ACCESS_MODE_*
 */
u8 vhca_mkey_mode(const struct vhca_mkey *mkey)
{
	return MLX5_GET(mkc, mkey->context, access_mode_4_2) << 2 |
	       MLX5_GET(mkc, mkey->context, access_mode_1_0);
}

/**
 * vhca_mkey_free - is a key free, so that it gives access to nothing?
 * @mkey: the key
 *
 * Return: true if it is free
 */
bool vhca_mkey_free(const struct vhca_mkey *mkey)
{
	return MLX5_GET(mkc, mkey->context, free);
}

/**
 * vhca_mkey_check_pd - a key that is not free is in no PD that was destroyed
 * @v: the device
 * @mkey: the key
 * @detail: what has put it there, see vhca_check_use()
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_mkey_check_pd(struct vhca *v, const struct vhca_mkey *mkey,
			u64 detail)
{
	u32 pd = MLX5_GET(mkc, mkey->context, pd);

	if (!vhca_mkey_free(mkey) && !vhca_ledger_find(v, VHCA_PD, pd))
		vhca_check_use(v, VHCA_PD, pd, detail);
}

static void vhca_mkey_release(struct vhca *v, struct vhca_object *object)
{
	struct vhca_mkey *mkey = to_vhca_mkey(object);

	kvfree(mkey->xlt);
	kfree(mkey);
}

/* How many entries of a key that translates by MTTs lead anywhere, and where. */
static void vhca_mkey_describe_mtt(const struct vhca_mkey *mkey,
				   struct vhca_object_record *record)
{
	u32 entries = mkey->octowords * (VHCA_OCTOWORD / sizeof(*mkey->xlt));
	u32 i, present = 0;
	u64 first = 0;

	for (i = 0; i < entries; i++) {
		u64 mtt = be64_to_cpu(mkey->xlt[i]) & ~VHCA_MTT_FLAGS;

		if (mtt && !present++)
			first = mtt;
	}
	vhca_detail_dec(record, "translations", present);
	vhca_detail_hex(record, "leads_to", first);
}

static void vhca_mkey_describe(struct vhca_object *object,
			       struct vhca_object_record *record)
{
	struct vhca_mkey *mkey = to_vhca_mkey(object);

	vhca_detail_hex(record, "pd", MLX5_GET(mkc, mkey->context, pd));
	vhca_detail_text(record, "mode",
			 vhca_mkey_mode_name(vhca_mkey_mode(mkey)));
	vhca_detail_hex(record, "start", MLX5_GET64(mkc, mkey->context,
						    start_addr));
	vhca_detail_dec(record, "length", MLX5_GET64(mkc, mkey->context, len));
	vhca_detail_dec(record, "length64", MLX5_GET(mkc, mkey->context,
						     length64));
	vhca_detail_dec(record, "free", vhca_mkey_free(mkey));
	vhca_detail_hex(record, "variant", MLX5_GET(mkc, mkey->context,
						    mkey_7_0));
	if (vhca_mkey_mode(mkey) == MLX5_MKC_ACCESS_MODE_MTT)
		vhca_mkey_describe_mtt(mkey, record);
}

const struct vhca_kind_info vhca_mkey_kind = {
	.name = "mkey", .min = 0x100, .max = 0xfffff,
	.release = vhca_mkey_release,
	.describe = vhca_mkey_describe,
};

/*
 * Physical addresses are the driver's.  A user context makes keys that lead to
 * other keys, and in a protection domain of its own.  It says how large they are, and
 * pays nothing for that, so there is less than for the driver.
 */
static u8 vhca_mkey_check(struct vhca *v, const struct vhca_mkey *mkey,
			  const struct vhca_cmd *cmd)
{
	struct vhca_object *pd;
	u8 mode = vhca_mkey_mode(mkey);

	if (!cmd->uid)
		return MLX5_CMD_STAT_OK;
	if (mode != MLX5_MKC_ACCESS_MODE_KLMS &&
	    mode != MLX5_MKC_ACCESS_MODE_KSM)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (MLX5_GET(mkc, mkey->context, translations_octword_size) >
	    BIT(VHCA_LOG_MAX_KLMS))
		return MLX5_CMD_STAT_LIM_ERR;
	pd = vhca_ledger_find(v, VHCA_PD, MLX5_GET(mkc, mkey->context, pd));
	return pd && pd->uid == cmd->uid ? MLX5_CMD_STAT_OK :
					   MLX5_CMD_STAT_BAD_RES_ERR;
}

/* Pages of a list without access flags are present, whatever is done there. */
static void vhca_mkey_set_present(struct vhca_mkey *mkey)
{
	u32 entries = mkey->octowords * (VHCA_OCTOWORD / sizeof(*mkey->xlt));
	u32 i;

	if (vhca_mkey_mode(mkey) != MLX5_MKC_ACCESS_MODE_MTT)
		return;
	for (i = 0; i < entries; i++)
		if (mkey->xlt[i])
			mkey->xlt[i] |= cpu_to_be64(MLX5_EN_RD | MLX5_EN_WR);
}

/**
 * vhca_cmd_create_mkey - CREATE_MKEY, from mlx5_core_create_mkey()
 * @v: the device
 * @cmd: the command, create_mkey_in
 *
 * The translations may come along (reg_create() of mlx5_ib) or later by UMR.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_create_mkey(struct vhca *v, struct vhca_cmd *cmd)
{
	void *mkc = MLX5_ADDR_OF(create_mkey_in, cmd->in,
				 memory_key_mkey_entry);
	u32 given = cmd->in_len - MLX5_ST_SZ_BYTES(create_mkey_in);
	u32 octowords = MLX5_GET(mkc, mkc, translations_octword_size);
	struct vhca_mkey *mkey;
	u8 status;

	if (MLX5_GET(create_mkey_in, cmd->in, mkey_umem_valid)) {
		if (vhca_gap_is_new(v, VHCA_GAP_UMEM))
			vhca_info(v, "not modelled, said once: CREATE_MKEY on a umem\n");
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	}
	if (octowords > VHCA_MAX_OCTOWORDS)
		return MLX5_CMD_STAT_LIM_ERR;
	octowords = max(octowords, DIV_ROUND_UP(given, VHCA_OCTOWORD));
	octowords = ALIGN(octowords, VHCA_XLT_UNIT);

	mkey = kzalloc_obj(*mkey, v->gfp);
	if (!mkey)
		return MLX5_CMD_STAT_NO_RES_ERR;
	memcpy(mkey->context, mkc, sizeof(mkey->context));
	status = vhca_mkey_check(v, mkey, cmd);
	if (status)
		goto err_release;
	mkey->octowords = octowords;
	if (octowords) {
		mkey->xlt = vhca_calloc(v, octowords, VHCA_OCTOWORD);
		if (!mkey->xlt) {
			status = MLX5_CMD_STAT_NO_RES_ERR;
			goto err_release;
		}
		memcpy(mkey->xlt, MLX5_ADDR_OF(create_mkey_in, cmd->in,
					       klm_pas_mtt), given);
		if (!MLX5_GET(create_mkey_in, cmd->in, pg_access))
			vhca_mkey_set_present(mkey);
	}
	status = vhca_ledger_add(v, &mkey->object, VHCA_MKEY, cmd);
	if (status)
		goto err_release;
	vhca_mkey_check_pd(v, mkey, cmd->opcode);
	vhca_cmd_set_number(cmd, mkey->object.id);
	return MLX5_CMD_STAT_OK;

err_release:
	vhca_mkey_release(v, &mkey->object);
	return status;
}

/**
 * vhca_cmd_query_mkey - QUERY_MKEY: read a key, for mlx5_core_query_mkey()
 * @v: the device
 * @cmd: the command, query_mkey_in
 *
 * mlx5_ib asks it where an indirect key leads, to serve a page fault behind it.
 * The translations follow from the first one on, as many as there is room for,
 * always with their access flags.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_query_mkey(struct vhca *v, struct vhca_cmd *cmd)
{
	u32 header = MLX5_BYTE_OFF(query_mkey_out, bsf0_klm0_pas_mtt0_1);
	u32 index = vhca_cmd_number(cmd);
	struct vhca_object *object;
	struct vhca_mkey *mkey;

	cmd->object = index;
	object = vhca_ledger_find(v, VHCA_MKEY, index);
	if (!object)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	mkey = to_vhca_mkey(object);
	memcpy(MLX5_ADDR_OF(query_mkey_out, cmd->out, memory_key_mkey_entry),
	       mkey->context, sizeof(mkey->context));
	if (mkey->octowords)
		memcpy(cmd->out + header, mkey->xlt,
		       min_t(u32, cmd->out_len - header,
			     mkey->octowords * VHCA_OCTOWORD));
	return MLX5_CMD_STAT_OK;
}
