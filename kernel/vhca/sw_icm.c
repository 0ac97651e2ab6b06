// SPDX-License-Identifier: GPL-2.0
/*
 * SW ICM: the driver chooses the place, the device keeps book of it.  There is
 * no memory behind the addresses, as only flow steering would use it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/log2.h>
#include <linux/sizes.h>

#include "sw_icm.h"
#include "vhca.h"

/* The smallest piece, and what all pieces are a multiple of. */
#define VHCA_SW_ICM_LOG_GRANULE	12

/**
 * struct vhca_sw_icm_region - addresses of one type of SW ICM
 * @name: as the ledger prints it
 * @start: the first address, a multiple of the size
 * @log_size: log2 of the bytes
 */
struct vhca_sw_icm_region {
	const char	*name;
	u64		start;
	u8		log_size;
};

/* Far from all that is an offset in BAR0, and from each other. */
#define VHCA_SW_ICM_STEERING	0x100000000ULL
#define VHCA_SW_ICM_MODIFY	0x200000000ULL
#define VHCA_SW_ICM_PATTERN	0x300000000ULL
#define VHCA_SW_ICM_ENCAP	0x400000000ULL

static const struct vhca_sw_icm_region vhca_sw_icm_regions[] = {
	{ "steering",			VHCA_SW_ICM_STEERING,	20 },
	{ "header_modify",		VHCA_SW_ICM_MODIFY,	19 },
	{ "header_modify_pattern",	VHCA_SW_ICM_PATTERN,	18 },
	{ "encap",			VHCA_SW_ICM_ENCAP,	17 },
};

static const struct vhca_sw_icm_region *vhca_sw_icm_region(u64 start)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vhca_sw_icm_regions); i++) {
		const struct vhca_sw_icm_region *r = &vhca_sw_icm_regions[i];

		if (start >= r->start && start - r->start < BIT(r->log_size))
			return r;
	}
	return NULL;
}

/**
 * vhca_sw_icm_caps - say where SW ICM is
 * @device_mem_cap: capability page of device memory
 * @flow_table_nic_cap: capability page of flow tables
 *
 * mlx5_dm_create() takes the addresses; mlx5_ib asks in addition whether
 * software may own a flow table (handle_alloc_dm_sw_icm()).  Version 2 of that
 * is the one that goes with header modify patterns.
 */
void vhca_sw_icm_caps(void *device_mem_cap, void *flow_table_nic_cap)
{
	const struct vhca_sw_icm_region *r = vhca_sw_icm_regions;

	MLX5_SET(device_mem_cap, device_mem_cap, log_sw_icm_alloc_granularity,
		 VHCA_SW_ICM_LOG_GRANULE);
	MLX5_SET64(device_mem_cap, device_mem_cap,
		   steering_sw_icm_start_address, r[0].start);
	MLX5_SET(device_mem_cap, device_mem_cap, log_steering_sw_icm_size,
		 r[0].log_size);
	MLX5_SET64(device_mem_cap, device_mem_cap,
		   header_modify_sw_icm_start_address, r[1].start);
	MLX5_SET(device_mem_cap, device_mem_cap,
		 log_header_modify_sw_icm_size, r[1].log_size);
	MLX5_SET64(device_mem_cap, device_mem_cap,
		   header_modify_pattern_sw_icm_start_address, r[2].start);
	MLX5_SET(device_mem_cap, device_mem_cap,
		 log_header_modify_pattern_sw_icm_size, r[2].log_size);
	MLX5_SET64(device_mem_cap, device_mem_cap,
		   indirect_encap_sw_icm_start_address, r[3].start);
	MLX5_SET(device_mem_cap, device_mem_cap,
		 log_indirect_encap_sw_icm_size, r[3].log_size);

	MLX5_SET(flow_table_nic_cap, flow_table_nic_cap,
		 flow_table_properties_nic_receive.sw_owner_v2, 1);
	MLX5_SET(flow_table_nic_cap, flow_table_nic_cap,
		 flow_table_properties_nic_transmit.sw_owner_v2, 1);
}

/**
 * vhca_sw_icm_region_name - which type of SW ICM an address belongs to
 * @start: the address, of an object that was accepted
 *
 * Return: the name
 */
const char *vhca_sw_icm_region_name(u64 start)
{
	const struct vhca_sw_icm_region *r = vhca_sw_icm_region(start);

	return r ? r->name : "-";
}

static struct vhca_general_object *vhca_sw_icm_overlap(struct vhca *v,
						       u64 start, u64 size)
{
	struct vhca_object *object;
	unsigned long id;

	xa_for_each(&v->ledger.by_id[VHCA_GENERAL_OBJECT], id, object) {
		struct vhca_general_object *g = to_vhca_general_object(object);

		if (g->type == MLX5_OBJ_TYPE_SW_ICM &&
		    start < g->start + g->size && g->start < start + size)
			return g;
	}
	return NULL;
}

/**
 * vhca_sw_icm_init - take the place of a new piece of SW ICM
 * @v: the device
 * @general: to be filled, not in the ledger yet
 * @cmd: the command, create_sw_icm_in
 *
 * The driver keeps a bitmap of what is free, so a place that is taken is a
 * violation.
 *
 * Context: firmware thread, vhca.lock held
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_sw_icm_init(struct vhca *v, struct vhca_general_object *general,
		    struct vhca_cmd *cmd)
{
	const struct vhca_sw_icm_region *r;
	struct vhca_general_object *other;
	u8 log_size;
	u64 start;

	if (cmd->in_len < MLX5_ST_SZ_BYTES(create_sw_icm_in))
		return MLX5_CMD_STAT_BAD_INP_LEN_ERR;
	start = MLX5_GET64(create_sw_icm_in, cmd->in,
			   sw_icm.sw_icm_start_addr);
	log_size = MLX5_GET(create_sw_icm_in, cmd->in, sw_icm.log_sw_icm_size);
	r = vhca_sw_icm_region(start);
	if (!r || log_size < VHCA_SW_ICM_LOG_GRANULE ||
	    log_size > r->log_size ||
	    !IS_ALIGNED(start, BIT(VHCA_SW_ICM_LOG_GRANULE)) ||
	    BIT(log_size) > BIT(r->log_size) - (start - r->start))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	other = vhca_sw_icm_overlap(v, start, BIT(log_size));
	if (other) {
		vhca_violation(v, "sw_icm_busy", start, other->start, NULL);
		return MLX5_CMD_STAT_BAD_RES_ERR;
	}
	general->start = start;
	general->size = BIT(log_size);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_sw_icm_check_mkeys - see that no key leads to SW ICM that goes
 * @v: the device
 * @general: the SW ICM
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_sw_icm_check_mkeys(struct vhca *v,
			     struct vhca_general_object *general)
{
	struct vhca_object *object;
	unsigned long index;

	xa_for_each(&v->ledger.by_id[VHCA_MKEY], index, object) {
		struct vhca_mkey *mkey = to_vhca_mkey(object);
		u64 start, len;

		if (vhca_mkey_free(mkey) ||
		    vhca_mkey_mode(mkey) != MLX5_MKC_ACCESS_MODE_SW_ICM)
			continue;
		start = MLX5_GET64(mkc, mkey->context, start_addr);
		len = MLX5_GET64(mkc, mkey->context, len);
		if (start < general->start + general->size &&
		    (start >= general->start || general->start - start < len))
			vhca_violation(v, "sw_icm_freed_under_mkey",
				       general->start, index, NULL);
	}
}
