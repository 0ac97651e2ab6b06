// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of the capability pages: what is read, and what can be chosen.
 */
#include <linux/mlx5/driver.h>
#include <linux/sizes.h>

#include "device_kunit.h"
#include "scheduling.h"

#define PAGE		MLX5_UN_SZ_BYTES(hca_cap_union)
#define QUERY_HEADER	MLX5_BYTE_OFF(query_hca_cap_out, capability)
#define SET_HEADER	MLX5_BYTE_OFF(set_hca_cap_in, capability)

#define MAXIMAL		0
#define CURRENT		1

static struct vhca_cmd *query_command(struct kunit *test, u16 op_mod, u32 out_len)
{
	struct vhca_cmd *cmd;

	cmd = vhca_kunit_command(test, MLX5_CMD_OP_QUERY_HCA_CAP,
				 MLX5_ST_SZ_BYTES(query_hca_cap_in), out_len);
	MLX5_SET(query_hca_cap_in, cmd->in, op_mod, op_mod);
	return cmd;
}

/* A page as the driver reads it. */
static void *query(struct kunit *test, unsigned int type, u16 which)
{
	struct vhca_cmd *cmd = query_command(test, type << 1 | which,
					     QUERY_HEADER + PAGE);

	KUNIT_ASSERT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_OK);
	return cmd->out + QUERY_HEADER;
}

static struct vhca_cmd *set_command(struct kunit *test, unsigned int type, u32 len)
{
	struct vhca_cmd *cmd;

	cmd = vhca_kunit_command(test, MLX5_CMD_OP_SET_HCA_CAP, SET_HEADER + len,
				 MLX5_ST_SZ_BYTES(set_hca_cap_out));
	MLX5_SET(set_hca_cap_in, cmd->in, op_mod, type << 1 | MAXIMAL);
	return cmd;
}

static u8 set(struct kunit *test, unsigned int type, const void *page, u32 len)
{
	struct vhca_cmd *cmd = set_command(test, type, len);

	memcpy(cmd->in + SET_HEADER, page, len);
	return vhca_kunit_execute(test, cmd);
}

static void caps_query_bounds_type(struct kunit *test)
{
	static const u16 beyond[] = { MLX5_CAP_NUM << 1, MLX5_CAP_NUM << 1 | 1, 0xffff };
	struct vhca_cmd *cmd;
	unsigned int i;

	query(test, MLX5_CAP_NUM - 1, MAXIMAL);
	query(test, MLX5_CAP_NUM - 1, CURRENT);
	for (i = 0; i < ARRAY_SIZE(beyond); i++) {
		cmd = query_command(test, beyond[i], QUERY_HEADER + PAGE);
		KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd),
				MLX5_CMD_STAT_BAD_PARAM_ERR);
		KUNIT_EXPECT_NULL(test, memchr_inv(cmd->out + QUERY_HEADER, 0, PAGE));
	}
}

/* An output that is longer or shorter than a page gets what fits. */
static void caps_query_fits_output(struct kunit *test)
{
	u8 *page = query(test, MLX5_CAP_GENERAL, MAXIMAL);
	u32 shortest = vhca_command_find(MLX5_CMD_OP_QUERY_HCA_CAP)->out_size;
	struct vhca_cmd *cmd;

	cmd = query_command(test, MLX5_CAP_GENERAL << 1, shortest);
	KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_MEMEQ(test, cmd->out + QUERY_HEADER, page,
			   min_t(u32, shortest - QUERY_HEADER, PAGE));
	cmd = query_command(test, MLX5_CAP_GENERAL << 1, QUERY_HEADER + PAGE + SZ_4K);
	KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_MEMEQ(test, cmd->out + QUERY_HEADER, page, PAGE);
	KUNIT_EXPECT_NULL(test, memchr_inv(cmd->out + QUERY_HEADER + PAGE, 0, SZ_4K));
}

/* What is advertised is where BAR0 has it. */
static void caps_agree_with_params(struct kunit *test)
{
	struct vhca *v = test->priv;
	void *memory = query(test, MLX5_CAP_DEV_MEM, CURRENT);
	void *var = query(test, MLX5_CAP_VDPA_EMULATION, CURRENT);
	void *tlp = query(test, MLX5_CAP_TLP_EMULATION, CURRENT);

	KUNIT_EXPECT_EQ(test, MLX5_GET(device_mem_cap, memory, memic), 1);
	KUNIT_EXPECT_EQ(test, MLX5_GET64(device_mem_cap, memory, memic_bar_start_addr),
			VHCA_MEMIC_BASE);
	KUNIT_EXPECT_EQ(test, MLX5_GET(device_mem_cap, memory, memic_bar_size),
			v->params.memic_size);
	KUNIT_EXPECT_EQ(test, MLX5_GET(device_mem_cap, memory, max_memic_size),
			v->params.memic_size / 4);
	KUNIT_EXPECT_EQ(test, MLX5_GET(device_mem_cap, memory, memic_operations),
			VHCA_MEMIC_OPERATIONS);

	KUNIT_EXPECT_EQ(test, MLX5_GET64(virtio_emulation_cap, var, doorbell_bar_offset),
			VHCA_VAR_BASE);
	/* As mlx5_ib counts VARs, in mlx5_ib_init_var_table(). */
	KUNIT_EXPECT_EQ(test,
			(1ULL << MLX5_GET(virtio_emulation_cap, var,
					  log_doorbell_bar_size)) * 4096 >>
			MLX5_GET(virtio_emulation_cap, var, log_doorbell_stride),
			1ULL << v->params.log_var_count);

	KUNIT_EXPECT_EQ(test, MLX5_GET64(tlp_dev_emu_capabilities, tlp,
					 tlp_rsp_gw_pages_bar_offset),
			VHCA_TLP_VAR_BASE);
	KUNIT_EXPECT_EQ(test, MLX5_GET(tlp_dev_emu_capabilities, tlp,
				       tlp_rsp_gw_num_pages), v->params.tlp_var_count);
	KUNIT_EXPECT_EQ(test, 4096ULL << MLX5_GET(tlp_dev_emu_capabilities, tlp,
						  log_tlp_rsp_gw_page_stride),
			1ULL << v->params.log_tlp_var_stride);
}

/* Numbers that the device hands out are below the limits that it advertises. */
static void caps_agree_with_ledger(struct kunit *test)
{
	void *cap = query(test, MLX5_CAP_GENERAL, CURRENT);

#define LIMIT(_field, _kind)						\
	KUNIT_EXPECT_LT(test, vhca_kind_info(_kind)->max,		\
			1U << MLX5_GET(cmd_hca_cap, cap, _field))
	LIMIT(log_max_qp, VHCA_QP);
	LIMIT(log_max_cq, VHCA_CQ);
	LIMIT(log_max_eq, VHCA_EQ);
	LIMIT(log_max_mkey, VHCA_MKEY);
	LIMIT(log_max_pd, VHCA_PD);
	LIMIT(log_max_xrcd, VHCA_XRCD);
	LIMIT(log_max_srq, VHCA_XRC_SRQ);
	LIMIT(log_max_rmp, VHCA_RMP);
	LIMIT(log_max_uctx, VHCA_UCTX);
	LIMIT(log_max_umem, VHCA_UMEM);
#undef LIMIT
	KUNIT_EXPECT_EQ(test, MLX5_GET64(cmd_hca_cap, cap, general_obj_types),
			MLX5_GENERAL_OBJ_TYPES_CAP_VIRTIO_NET_Q |
			MLX5_GENERAL_OBJ_TYPES_CAP_SW_ICM |
			BIT_ULL(VHCA_OBJ_SCHEDULING) | BIT_ULL(VHCA_OBJ_RESERVED_QPN) |
			BIT_ULL(VHCA_OBJ_AV_QP_MAPPING));
}

/* All that is maximal can be chosen, and so can nothing at all. */
static void caps_set_within(struct kunit *test)
{
	static const unsigned int types[] = {
		MLX5_CAP_GENERAL, MLX5_CAP_ODP, MLX5_CAP_FLOW_TABLE, MLX5_CAP_DEV_MEM,
		MLX5_CAP_VDPA_EMULATION, MLX5_CAP_TLP_EMULATION, MLX5_CAP_NUM - 1,
	};
	void *nothing = kunit_kzalloc(test, PAGE, GFP_KERNEL);
	unsigned int i, type;

	KUNIT_ASSERT_NOT_NULL(test, nothing);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		type = types[i];
		KUNIT_EXPECT_EQ_MSG(test, set(test, type, nothing, PAGE),
				    MLX5_CMD_STAT_OK, "type %u", type);
		KUNIT_EXPECT_MEMEQ_MSG(test, query(test, type, CURRENT), nothing, PAGE,
				       "type %u", type);
		KUNIT_EXPECT_EQ_MSG(test, set(test, type, query(test, type, MAXIMAL),
					      PAGE),
				    MLX5_CMD_STAT_OK, "type %u", type);
		KUNIT_EXPECT_MEMEQ_MSG(test, query(test, type, CURRENT),
				       query(test, type, MAXIMAL), PAGE, "type %u",
				       type);
	}
}

static void caps_set_refuses_lengths(struct kunit *test)
{
	void *page = query(test, MLX5_CAP_GENERAL, MAXIMAL);

	KUNIT_EXPECT_EQ(test, set(test, MLX5_CAP_GENERAL, page, PAGE - 1),
			MLX5_CMD_STAT_BAD_INP_LEN_ERR);
	KUNIT_EXPECT_EQ(test, set(test, MLX5_CAP_GENERAL, page, PAGE),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, set(test, MLX5_CAP_NUM, page, PAGE),
			MLX5_CMD_STAT_BAD_PARAM_ERR);
	KUNIT_EXPECT_EQ(test, set(test, 0x7fff, page, PAGE),
			MLX5_CMD_STAT_BAD_PARAM_ERR);
}

/* A field of the general page that is a number, within a word. */
struct number {
	const char	*name;
	u16		offset;
	u8		bits;
};

/* The name comes in two parts, which is how a macro can name it thrice. */
#define NUMBER(_some, _rest) {						\
	.name	= #_some #_rest,					\
	.offset	= __mlx5_bit_off(cmd_hca_cap, _some##_rest),		\
	.bits	= __mlx5_bit_sz(cmd_hca_cap, _some##_rest),		\
}

static const struct number numbers[] = {
	NUMBER(log_max_, qp), NUMBER(log_max_, cq), NUMBER(log_max_, eq),
	NUMBER(log_max_, mkey), NUMBER(log_max_, pd), NUMBER(log_max_, xrcd),
	NUMBER(log_max_, srq), NUMBER(log_max_, rmp), NUMBER(log_max_, eq_sz),
	NUMBER(log_max_, cq_sz), NUMBER(log_max_, qp_sz), NUMBER(log_max_, srq_sz),
	NUMBER(log_max_, wq_sz), NUMBER(log_max_, msg), NUMBER(log_max_, klm_list_size),
	NUMBER(log_max_, ra_req_qp), NUMBER(log_max_, ra_res_qp),
	NUMBER(log_max_, uctx), NUMBER(log_max_, umem), NUMBER(max_, wqe_sz_sq),
	NUMBER(max_, wqe_sz_rq), NUMBER(max_, indirection), NUMBER(max_, num_eqs),
};

/* Choose the maximal page but for one number. */
static u8 set_number(struct kunit *test, const struct number *n, int change)
{
	__be32 *word = query(test, MLX5_CAP_GENERAL, MAXIMAL);
	void *page = word;
	unsigned int shift = 32 - n->offset % 32 - n->bits;
	u32 mask = GENMASK(shift + n->bits - 1, shift), is;

	word += n->offset / 32;
	is = be32_to_cpu(*word);
	/* It must be more than nothing and less than all that the field holds. */
	KUNIT_ASSERT_NE_MSG(test, is & mask, 0, "%s", n->name);
	KUNIT_ASSERT_NE_MSG(test, is & mask, mask, "%s", n->name);
	*word = cpu_to_be32((is & ~mask) |
			    ((((is & mask) >> shift) + change) << shift & mask));
	return set(test, MLX5_CAP_GENERAL, page, PAGE);
}

/* Of a number less is less, whatever its bits are. */
static void caps_set_compares_numbers(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		KUNIT_EXPECT_EQ_MSG(test, set_number(test, &numbers[i], -1),
				    MLX5_CMD_STAT_OK, "%s", numbers[i].name);
		KUNIT_EXPECT_EQ_MSG(test, set_number(test, &numbers[i], 1),
				    MLX5_CMD_STAT_BAD_PARAM_ERR, "%s",
				    numbers[i].name);
	}
}

/* Every bit that is not maximal, one at a time; what is current stays. */
static void caps_set_refuses_more(struct kunit *test)
{
	static const unsigned int types[] = {
		MLX5_CAP_DEV_MEM, MLX5_CAP_VDPA_EMULATION, MLX5_CAP_ODP,
	};
	struct vhca_cmd *cmd;
	__be32 *before, *page;
	unsigned int i, bit;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		before = query(test, types[i], CURRENT);
		cmd = set_command(test, types[i], PAGE);
		page = cmd->in + SET_HEADER;
		/* The first 16 words have all that these pages have, or nearly. */
		for (bit = 0; bit < 16 * 32; bit++) {
			u32 mask = BIT(bit % 32), may = be32_to_cpu(before[bit / 32]);

			page[bit / 32] = cpu_to_be32(mask);
			KUNIT_ASSERT_EQ_MSG(test, vhca_kunit_execute(test, cmd),
					    may & mask ? MLX5_CMD_STAT_OK :
							 MLX5_CMD_STAT_BAD_PARAM_ERR,
					    "type %u, bit %u", types[i], bit);
			page[bit / 32] = 0;
		}
		KUNIT_ASSERT_EQ(test, set(test, types[i], before, PAGE),
				MLX5_CMD_STAT_OK);
		/* The last word. */
		page[PAGE / 4 - 1] = cpu_to_be32(1);
		KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd),
				MLX5_CMD_STAT_BAD_PARAM_ERR);
		KUNIT_EXPECT_MEMEQ(test, query(test, types[i], CURRENT), before, PAGE);
	}
}

/* A feature in a word that has numbers as well. */
static void caps_set_refuses_features(struct kunit *test)
{
	void *page = query(test, MLX5_CAP_GENERAL, MAXIMAL);

	KUNIT_ASSERT_EQ(test, MLX5_GET(cmd_hca_cap, page, event_cap), 0);
	MLX5_SET(cmd_hca_cap, page, event_cap, 1);
	KUNIT_EXPECT_EQ(test, set(test, MLX5_CAP_GENERAL, page, PAGE),
			MLX5_CMD_STAT_BAD_PARAM_ERR);
	MLX5_SET(cmd_hca_cap, page, event_cap, 0);
	MLX5_SET(cmd_hca_cap, page, atomic, 0);
	KUNIT_EXPECT_EQ(test, set(test, MLX5_CAP_GENERAL, page, PAGE),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, MLX5_GET(cmd_hca_cap,
				       query(test, MLX5_CAP_GENERAL, CURRENT), atomic), 0);
	/* The maximal page is never another. */
	KUNIT_EXPECT_EQ(test, MLX5_GET(cmd_hca_cap,
				       query(test, MLX5_CAP_GENERAL, MAXIMAL), atomic), 1);
}

/* Of atomics one field can be set, and the rest of what comes is nothing. */
static void caps_set_atomic_mode(struct kunit *test)
{
	void *page = kunit_kzalloc(test, PAGE, GFP_KERNEL), *now;

	KUNIT_ASSERT_NOT_NULL(test, page);
	MLX5_SET(atomic_caps, page, atomic_req_8B_endianness_mode, 1);
	KUNIT_EXPECT_EQ(test, set(test, MLX5_CAP_ATOMIC, page, PAGE),
			MLX5_CMD_STAT_OK);
	now = query(test, MLX5_CAP_ATOMIC, CURRENT);
	KUNIT_EXPECT_EQ(test, MLX5_GET(atomic_caps, now,
				       atomic_req_8B_endianness_mode), 1);
	KUNIT_EXPECT_NE(test, MLX5_GET(atomic_caps, now, atomic_operations), 0);
}

static void caps_reset_undoes(struct kunit *test)
{
	struct vhca *v = test->priv;
	void *nothing = kunit_kzalloc(test, PAGE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, nothing);
	KUNIT_ASSERT_EQ(test, set(test, MLX5_CAP_DEV_MEM, nothing, PAGE),
			MLX5_CMD_STAT_OK);
	vhca_caps_reset(v);
	KUNIT_EXPECT_MEMEQ(test, query(test, MLX5_CAP_DEV_MEM, CURRENT),
			   query(test, MLX5_CAP_DEV_MEM, MAXIMAL), PAGE);
	KUNIT_EXPECT_NOT_NULL(test, memchr_inv(query(test, MLX5_CAP_DEV_MEM, CURRENT),
					       0, PAGE));
}

static struct kunit_case vhca_caps_cases[] = {
	KUNIT_CASE(caps_query_bounds_type),
	KUNIT_CASE(caps_query_fits_output),
	KUNIT_CASE(caps_agree_with_params),
	KUNIT_CASE(caps_agree_with_ledger),
	KUNIT_CASE(caps_set_within),
	KUNIT_CASE(caps_set_refuses_lengths),
	KUNIT_CASE(caps_set_compares_numbers),
	KUNIT_CASE(caps_set_refuses_more),
	KUNIT_CASE(caps_set_refuses_features),
	KUNIT_CASE(caps_set_atomic_mode),
	KUNIT_CASE(caps_reset_undoes),
	{}
};

static struct kunit_suite vhca_caps_suite = {
	.name		= "mlx5_vhca_caps",
	.init		= vhca_kunit_init,
	.test_cases	= vhca_caps_cases,
};

kunit_test_suite(vhca_caps_suite);
