// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of general objects, and of SW ICM: which places it can have.
 */
#include <linux/mlx5/driver.h>
#include <linux/sizes.h>

#include "device_kunit.h"
#include "scheduling.h"
#include "sw_icm.h"

/* A type of SW ICM: what of the capability page says where it is. */
struct icm_type {
	const char	*name;
	u64		start;
	u8		log_size;
};

static void read_types(struct kunit *test, struct icm_type types[4], u8 *log_granule)
{
	u32 *memory = kunit_kzalloc(test, MLX5_UN_SZ_BYTES(hca_cap_union), GFP_KERNEL);
	u32 *flow = kunit_kzalloc(test, MLX5_UN_SZ_BYTES(hca_cap_union), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	KUNIT_ASSERT_NOT_NULL(test, flow);
	vhca_sw_icm_caps(memory, flow);
	*log_granule = MLX5_GET(device_mem_cap, memory, log_sw_icm_alloc_granularity);
	types[0] = (struct icm_type) { "steering",
		MLX5_GET64(device_mem_cap, memory, steering_sw_icm_start_address),
		MLX5_GET(device_mem_cap, memory, log_steering_sw_icm_size) };
	types[1] = (struct icm_type) { "header_modify",
		MLX5_GET64(device_mem_cap, memory, header_modify_sw_icm_start_address),
		MLX5_GET(device_mem_cap, memory, log_header_modify_sw_icm_size) };
	types[2] = (struct icm_type) { "header_modify_pattern",
		MLX5_GET64(device_mem_cap, memory,
			   header_modify_pattern_sw_icm_start_address),
		MLX5_GET(device_mem_cap, memory, log_header_modify_pattern_sw_icm_size) };
	types[3] = (struct icm_type) { "encap",
		MLX5_GET64(device_mem_cap, memory, indirect_encap_sw_icm_start_address),
		MLX5_GET(device_mem_cap, memory, log_indirect_encap_sw_icm_size) };
}

static u8 create(struct kunit *test, u16 type, u32 in_len, u64 start, u8 log_size,
		 u32 *id)
{
	struct vhca_cmd *cmd;
	u8 status;

	cmd = vhca_kunit_command(test, MLX5_CMD_OP_CREATE_GENERAL_OBJECT, in_len,
				 MLX5_ST_SZ_BYTES(general_obj_out_cmd_hdr));
	MLX5_SET(general_obj_in_cmd_hdr, cmd->in, obj_type, type);
	if (in_len == MLX5_ST_SZ_BYTES(create_sw_icm_in)) {
		MLX5_SET64(create_sw_icm_in, cmd->in, sw_icm.sw_icm_start_addr, start);
		MLX5_SET(create_sw_icm_in, cmd->in, sw_icm.log_sw_icm_size, log_size);
	}
	status = vhca_kunit_execute(test, cmd);
	if (id)
		*id = MLX5_GET(general_obj_out_cmd_hdr, cmd->out, obj_id);
	return status;
}

static u8 create_icm(struct kunit *test, u64 start, u8 log_size, u32 *id)
{
	return create(test, MLX5_OBJ_TYPE_SW_ICM, MLX5_ST_SZ_BYTES(create_sw_icm_in),
		      start, log_size, id);
}

static u8 destroy(struct kunit *test, u16 type, u32 id)
{
	struct vhca_cmd *cmd;

	cmd = vhca_kunit_command(test, MLX5_CMD_OP_DESTROY_GENERAL_OBJECT,
				 MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr),
				 MLX5_ST_SZ_BYTES(general_obj_out_cmd_hdr));
	MLX5_SET(general_obj_in_cmd_hdr, cmd->in, obj_type, type);
	MLX5_SET(general_obj_in_cmd_hdr, cmd->in, obj_id, id);
	return vhca_kunit_execute(test, cmd);
}

/* Those types are taken that are advertised, and no others. */
static void general_object_types(struct kunit *test)
{
	const u32 len = MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr);
	struct vhca *v = test->priv;
	u64 types = MLX5_GET64(cmd_hca_cap, v->caps_max, general_obj_types);
	unsigned int type;

	KUNIT_ASSERT_NE(test, types, 0);
	for (type = 0; type < 64; type++) {
		/* Which want more than a header. */
		if (type == MLX5_OBJ_TYPE_SW_ICM || type == VHCA_OBJ_SCHEDULING)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, create(test, type, len, 0, 0, NULL),
				    types & BIT_ULL(type) ?
					    MLX5_CMD_STAT_OK :
					    MLX5_CMD_STAT_BAD_PARAM_ERR,
				    "type %u", type);
	}
	/* Beyond the bits that there are, and where they would begin again. */
	for (type = 64; type < 128; type++)
		KUNIT_EXPECT_EQ_MSG(test, create(test, type, len, 0, 0, NULL),
				    MLX5_CMD_STAT_BAD_PARAM_ERR, "type %u", type);
	KUNIT_EXPECT_EQ(test, create(test, 0xffff, len, 0, 0, NULL),
			MLX5_CMD_STAT_BAD_PARAM_ERR);
	/* What the driver has not chosen is not there. */
	MLX5_SET64(cmd_hca_cap, v->caps, general_obj_types, 0);
	KUNIT_EXPECT_EQ(test, create(test, MLX5_OBJ_TYPE_VIRTIO_NET_Q, len, 0, 0, NULL),
			MLX5_CMD_STAT_BAD_PARAM_ERR);
}

static void general_object_destroy_wants_type(struct kunit *test)
{
	const u32 len = MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr);
	const u16 type = MLX5_OBJ_TYPE_VIRTIO_NET_Q;
	struct vhca *v = test->priv;
	u32 id;

	KUNIT_ASSERT_EQ(test, create(test, type, len, 0, 0, &id), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, destroy(test, MLX5_OBJ_TYPE_SW_ICM, id),
			MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, 0, "destroy_of_unknown", id,
				    MLX5_CMD_OP_DESTROY_GENERAL_OBJECT);
	KUNIT_EXPECT_EQ(test, v->ledger.count, 1);
	KUNIT_EXPECT_EQ(test, destroy(test, type, id), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, destroy(test, type, id), MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, 1, "destroy_of_unknown", id,
				    MLX5_CMD_OP_DESTROY_GENERAL_OBJECT);
	KUNIT_EXPECT_EQ(test, v->ledger.count, 0);
}

static void sw_icm_regions_are_apart(struct kunit *test)
{
	struct icm_type types[4];
	unsigned int i, j;
	u8 log_granule;

	read_types(test, types, &log_granule);
	KUNIT_EXPECT_EQ(test, log_granule, 12);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		u64 size = BIT_ULL(types[i].log_size);

		KUNIT_EXPECT_TRUE_MSG(test, IS_ALIGNED(types[i].start, size), "%s",
				      types[i].name);
		/* An address is of device memory in BAR0, or of SW ICM. */
		KUNIT_EXPECT_GE_MSG(test, types[i].start, VHCA_BAR_MIN_SIZE, "%s",
				    types[i].name);
		KUNIT_EXPECT_STREQ(test, vhca_sw_icm_region_name(types[i].start),
				   types[i].name);
		KUNIT_EXPECT_STREQ(test, vhca_sw_icm_region_name(types[i].start + size - 1),
				   types[i].name);
		KUNIT_EXPECT_STREQ(test, vhca_sw_icm_region_name(types[i].start - 1), "-");
		KUNIT_EXPECT_STREQ(test, vhca_sw_icm_region_name(types[i].start + size),
				   "-");
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_TRUE(test, types[j].start + BIT_ULL(types[j].log_size) <=
					  types[i].start ||
					  types[i].start + size <= types[j].start);
	}
}

/* The bounds of each type: its size, its ends, and the smallest piece. */
static void sw_icm_create_bounds(struct kunit *test)
{
	struct vhca *v = test->priv;
	struct icm_type types[4];
	unsigned int i, j;
	u8 log_granule;

	read_types(test, types, &log_granule);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		const u64 start = types[i].start, size = BIT_ULL(types[i].log_size);
		const u8 log_size = types[i].log_size;
		const struct { u64 start; u8 log_size; bool good; } pieces[] = {
			{ start, log_size, true },
			{ start, log_size + 1, false },
			{ start, log_granule, true },
			{ start, log_granule - 1, false },
			{ start, 0, false },
			{ start, 63, false },
			{ start, 64, false },
			{ start, 255, false },
			{ start + size - SZ_4K, log_granule, true },
			{ start + size - SZ_4K, log_granule + 1, false },
			{ start + size, log_granule, false },
			{ start - SZ_4K, log_granule, false },
			{ start + SZ_2K, log_granule, false },
			{ start + SZ_4K, log_size, false },
			/* A place that is no multiple of its size is good. */
			{ start + SZ_4K, log_granule + 1, true },
		};

		for (j = 0; j < ARRAY_SIZE(pieces); j++) {
			KUNIT_EXPECT_EQ_MSG(test, create_icm(test, pieces[j].start,
							     pieces[j].log_size, NULL),
					    pieces[j].good ? MLX5_CMD_STAT_OK :
							     MLX5_CMD_STAT_BAD_PARAM_ERR,
					    "%s, piece %u", types[i].name, j);
			vhca_ledger_forget(v);
		}
	}
	KUNIT_EXPECT_EQ(test, create(test, MLX5_OBJ_TYPE_SW_ICM,
				     MLX5_ST_SZ_BYTES(create_sw_icm_in) - 1, 0, 0, NULL),
			MLX5_CMD_STAT_BAD_INP_LEN_ERR);
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 0);
}

/* A place has one owner; the driver's bitmap should have known. */
static void sw_icm_create_refuses_overlap(struct kunit *test)
{
	struct vhca *v = test->priv;
	struct icm_type types[4];
	u8 log_granule;
	u64 start;
	u32 id;

	read_types(test, types, &log_granule);
	start = types[0].start + SZ_16K;
	KUNIT_ASSERT_EQ(test, create_icm(test, start, 14, &id), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, create_icm(test, start, 12, NULL),
			MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, 0, "sw_icm_busy", start, start);
	KUNIT_EXPECT_EQ(test, create_icm(test, start + SZ_16K - SZ_4K, 13, NULL),
			MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, 1, "sw_icm_busy", start + SZ_16K - SZ_4K, start);
	KUNIT_EXPECT_EQ(test, create_icm(test, start - SZ_4K, 13, NULL),
			MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, 2, "sw_icm_busy", start - SZ_4K, start);
	KUNIT_EXPECT_EQ(test, create_icm(test, types[0].start, types[0].log_size, NULL),
			MLX5_CMD_STAT_BAD_RES_ERR);
	KUNIT_EXPECT_EQ(test, v->ledger.count, 1);
	/* Both neighbours, and the same place in another type. */
	KUNIT_EXPECT_EQ(test, create_icm(test, start - SZ_4K, 12, NULL),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, create_icm(test, start + SZ_16K, 12, NULL),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, create_icm(test, types[1].start + SZ_16K, 14, NULL),
			MLX5_CMD_STAT_OK);
	/* And it again, once it is free. */
	KUNIT_EXPECT_EQ(test, destroy(test, MLX5_OBJ_TYPE_SW_ICM, id), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, create_icm(test, start, 14, NULL), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 4);
}

static struct kunit_case vhca_general_object_cases[] = {
	KUNIT_CASE(general_object_types),
	KUNIT_CASE(general_object_destroy_wants_type),
	KUNIT_CASE(sw_icm_regions_are_apart),
	KUNIT_CASE(sw_icm_create_bounds),
	KUNIT_CASE(sw_icm_create_refuses_overlap),
	{}
};

static struct kunit_suite vhca_general_object_suite = {
	.name		= "mlx5_vhca_general_object",
	.init		= vhca_kunit_init,
	.test_cases	= vhca_general_object_cases,
};

kunit_test_suite(vhca_general_object_suite);
