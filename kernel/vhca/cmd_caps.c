// SPDX-License-Identifier: GPL-2.0
/*
 * Capabilities: what the device says that it can do.  Everything that is not
 * set here reads as zero.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/log2.h>
#include <linux/mlx5/driver.h>
#include <linux/vmalloc.h>

#include "caps.h"
#include "scheduling.h"
#include "sw_icm.h"
#include "vhca.h"

#define VHCA_CAP_TYPES		MLX5_CAP_NUM

/* op_mod of QUERY_HCA_CAP and SET_HCA_CAP: the type, then this bit. */
#define VHCA_CAP_CURRENT	BIT(0)
#define VHCA_CAP_TYPE_SHIFT	1

#define SET_GEN(_field, _value) \
	MLX5_SET(cmd_hca_cap, cap, _field, _value)

/* One InfiniBand port whose tables are read by commands, without MADs. */
static void vhca_caps_port(void *cap)
{
	SET_GEN(port_type, MLX5_CAP_PORT_TYPE_IB);
	SET_GEN(num_ports, 1);
	SET_GEN(ib_virt, 1);
	SET_GEN(gid_table_size,
		MLX5_CMD_HCA_CAP_GID_TABLE_SIZE_8_GID_ENTRIES);
	SET_GEN(pkey_table_size,
		MLX5_CMD_HCA_CAP_PKEY_TABLE_SIZE_128_ENTRIES);
	SET_GEN(local_ca_ack_delay, 16);
	SET_GEN(log_max_msg, VHCA_LOG_MAX_MESSAGE);
	SET_GEN(log_max_mcg, VHCA_LOG_MAX_MEMBERS);
	SET_GEN(max_qp_mcg, BIT(VHCA_LOG_MAX_MEMBERS));
	SET_GEN(block_lb_mc, 1);
}

/* Numbers of the first block agree with the ranges of the object kinds. */
static void vhca_caps_limits(void *cap)
{
	SET_GEN(log_max_qp, ilog2(vhca_qp_kind.max + 1));
	SET_GEN(log_max_cq, ilog2(vhca_cq_kind.max + 1));
	SET_GEN(log_max_eq, ilog2(vhca_eq_kind.max + 1));
	SET_GEN(max_num_eqs, vhca_eq_kind.max + 1);
	SET_GEN(log_max_mkey, ilog2(vhca_mkey_kind.max + 1));
	SET_GEN(log_max_pd, ilog2(vhca_pd_kind.max + 1));
	SET_GEN(log_max_xrcd, ilog2(vhca_xrcd_kind.max + 1));
	SET_GEN(log_max_srq, 14);
	SET_GEN(log_max_rmp, 14);

	SET_GEN(log_pg_sz, VHCA_PAGE_SHIFT);
	SET_GEN(log_max_eq_sz, VHCA_LOG_MAX_EQ_SIZE);
	SET_GEN(log_max_cq_sz, VHCA_LOG_MAX_CQ_SIZE);
	SET_GEN(log_max_qp_sz, VHCA_LOG_MAX_QP_SIZE);
	SET_GEN(log_max_srq_sz, VHCA_LOG_MAX_QP_SIZE);
	SET_GEN(log_max_wq_sz, VHCA_LOG_MAX_QP_SIZE);
	SET_GEN(max_wqe_sz_sq, VHCA_MAX_SQ_WQE);
	SET_GEN(max_wqe_sz_rq, VHCA_MAX_RQ_WQE);
	SET_GEN(max_sgl_for_optimized_performance, 30);
	SET_GEN(log_max_klm_list_size, VHCA_LOG_MAX_KLMS);
	SET_GEN(max_indirection, VHCA_MAX_INDIRECTION);
	SET_GEN(log_max_ra_req_qp, 4);
	SET_GEN(log_max_ra_res_qp, 4);
}

/* Copying by work requests has no names in mlx5_ifc.h: dma_mmo_qp, log_dma_mmo_max_size. */
static void vhca_caps_copy(void *cap)
{
	__be32 *dwords = cap;

	vhca_cap_set_bit(cap, 0x748);
	dwords[0x60 / 32] |= cpu_to_be32(VHCA_LOG_MAX_COPY << 16);
}

/*
 * Signatures of memory keys, for which libmlx5 also wants sigerr_domain_and_sig_type, at
 * 0x480, and sigerr_cqe; sig_crc32c is at 0x148, sig_block_4048 at 0x1f0.
 */
static void vhca_caps_signature(void *cap)
{
	static const u16 bits[] = { 0x480, 0x212, 0x148, 0x1f0 };
	unsigned int i;

	SET_GEN(sho, 1);
	SET_GEN(drain_sigerr, 1);
	for (i = 0; i < ARRAY_SIZE(bits); i++)
		vhca_cap_set_bit(cap, bits[i]);
}

/*
 * The port is one of several links, of which a queue pair can name the one that it sends by;
 * rts2rts_lag_tx_port_affinity has no name in mlx5_ifc.h.
 */
static void vhca_caps_links(void *cap)
{
	SET_GEN(num_lag_ports, VHCA_LINKS);
	SET_GEN(lag_tx_port_affinity, 1);
	vhca_cap_set_bit(cap, 0x152);
}

/* log_reserved_qpn_granularity has no name in mlx5_ifc.h either. */
static void vhca_caps_reserved_qpn(void *cap_2)
{
	__be32 *dwords = cap_2;

	dwords[0x80 / 32] |= cpu_to_be32(VHCA_LOG_RESERVED_QPNS << 8);
}

static void vhca_caps_features(struct vhca *v, void *cap)
{
	SET_GEN(hca_cap_2, 1);
	SET_GEN(rc, 1);
	SET_GEN(uc, 1);
	SET_GEN(ud, 1);
	SET_GEN(xrc, 1);		/* mlx5_ib does not probe without */
	SET_GEN(cd, 1);
	SET_GEN(dct, 1);
	SET_GEN(qpc_extension, 1);
	SET_GEN(log_max_dci_stream_channels, VHCA_LOG_MAX_STREAMS);
	SET_GEN(log_max_dci_errored_streams, VHCA_LOG_MAX_FAILED_STREAMS);
	SET_GEN(log_max_ra_req_dc, 4);
	SET_GEN(log_max_ra_res_dc, 4);
	/* Of an entry of 128 bytes the first half is not written; no entry is compressed. */
	SET_GEN(cqe_128_always, 1);
	SET_GEN(cqe_compression, 1);
	SET_GEN(cqe_compression_128, 1);
	SET_GEN(mini_cqe_resp_stride_index, 1);
	SET_GEN(cqe_compression_max_num, 64);
	SET_GEN(cq_resize, 1);
	SET_GEN(qkv, 1);
	SET_GEN(pkv, 1);
	SET_GEN(cqe_version, 1);
	SET_GEN(compact_address_vector, 1);
	SET_GEN(set_deth_sqpn, 1);	/* the GSI queue pairs need it */
	SET_GEN(atomic, 1);

	/* Memory registration by UMR; entity size must not be disabled. */
	SET_GEN(imaicl, 1);
	SET_GEN(umr_ptr_rlky, 1);
	SET_GEN(umr_extended_translation_offset, 1);
	SET_GEN(fixed_buffer_size, 1);
	SET_GEN(null_mkey, 1);

	/*
	 * On-demand paging: mlx5_ib registers a dma-buf only where it could
	 * take page faults on it.
	 */
	SET_GEN(pg, 1);

	/* The size of the BlueFlame registers lays out a UAR page. */
	SET_GEN(log_bf_reg_size, VHCA_LOG_BF_REGISTER);
	if (v->params.blueflame) {
		SET_GEN(bf, 1);
		SET_GEN(log_max_sq, ilog2(vhca_sq_kind.max + 1 - vhca_sq_kind.min));
	}

	/* Zero would mean: no clock. */
	SET_GEN(device_frequency_khz, VHCA_FREQUENCY_KHZ);
	SET_GEN(device_frequency_mhz, VHCA_FREQUENCY_KHZ / 1000);

	/* User contexts of DEVX; mlx5dv features open with them. */
	SET_GEN(log_max_uctx, ilog2(vhca_uctx_kind.max + 1));
	SET_GEN(log_max_umem, ilog2(vhca_umem_kind.max + 1));

	SET_GEN(device_memory, 1);
	MLX5_SET64(cmd_hca_cap, cap, general_obj_types,
		   MLX5_GENERAL_OBJ_TYPES_CAP_VIRTIO_NET_Q |
		   MLX5_GENERAL_OBJ_TYPES_CAP_SW_ICM |
		   BIT_ULL(VHCA_OBJ_SCHEDULING) |
		   BIT_ULL(VHCA_OBJ_RESERVED_QPN) |
		   BIT_ULL(VHCA_OBJ_AV_QP_MAPPING));

	/*
	 * Only so that mlx5_core reads the page of flow tables, where it finds
	 * who may own them.  On an InfiniBand port it sets up none.
	 */
	SET_GEN(nic_flow_table, 1);
}

static void vhca_caps_memory(struct vhca *v, void *cap)
{
	MLX5_SET(device_mem_cap, cap, memic, 1);
	MLX5_SET(device_mem_cap, cap, log_min_memic_alloc_size, 6);
	MLX5_SET(device_mem_cap, cap, log_max_memic_addr_alignment, 6);
	MLX5_SET64(device_mem_cap, cap, memic_bar_start_addr, VHCA_MEMIC_BASE);
	MLX5_SET(device_mem_cap, cap, memic_bar_size, v->params.memic_size);
	MLX5_SET(device_mem_cap, cap, max_memic_size, vhca_memic_max_alloc(v));
	MLX5_SET(device_mem_cap, cap, memic_operations,
		 VHCA_MEMIC_OPERATIONS);
}

/* VARs: the doorbell pages of emulated virtio queues. */
static void vhca_caps_var(struct vhca *v, void *cap)
{
	MLX5_SET64(virtio_emulation_cap, cap, doorbell_bar_offset,
		   VHCA_VAR_BASE);
	MLX5_SET(virtio_emulation_cap, cap, log_doorbell_stride,
		 v->params.log_var_stride);
	/* In units of 4 KiB; mlx5_ib divides it by the stride. */
	MLX5_SET(virtio_emulation_cap, cap, log_doorbell_bar_size,
		 v->params.log_var_count + v->params.log_var_stride -
		 VHCA_PAGE_SHIFT);
	MLX5_SET(virtio_emulation_cap, cap, max_num_virtio_queues, 16);
}

#define SET_ODP(_field) \
	MLX5_SET(odp_cap, cap, transport_page_fault_scheme_cap._field, 1)

static void vhca_caps_odp(void *cap)
{
	SET_ODP(rc_odp_caps.send);
	SET_ODP(rc_odp_caps.receive);
	SET_ODP(rc_odp_caps.write);
	SET_ODP(rc_odp_caps.read);
	SET_ODP(rc_odp_caps.atomic);
	SET_ODP(rc_odp_caps.srq_receive);
	SET_ODP(ud_odp_caps.send);
	SET_ODP(ud_odp_caps.srq_receive);
	SET_ODP(dc_odp_caps.send);
	SET_ODP(dc_odp_caps.write);
	SET_ODP(dc_odp_caps.read);
	SET_ODP(dc_odp_caps.srq_receive);
	SET_ODP(xrc_odp_caps.send);
	SET_ODP(xrc_odp_caps.write);
	SET_ODP(xrc_odp_caps.read);
	SET_ODP(xrc_odp_caps.atomic);
	SET_ODP(xrc_odp_caps.srq_receive);
}

static void vhca_caps_atomic(void *cap)
{
	MLX5_SET(atomic_caps, cap, atomic_operations,
		 MLX5_ATOMIC_OPS_CMP_SWAP | MLX5_ATOMIC_OPS_FETCH_ADD);
	MLX5_SET(atomic_caps, cap, atomic_size_qp, 8);
	MLX5_SET(atomic_caps, cap, supported_atomic_req_8B_endianness_mode_1,
		 1);
}

/**
 * vhca_caps_init - fill the capability pages
 * @v: the device
 *
 * Return: 0 or -ENOMEM
 */
int vhca_caps_init(struct vhca *v)
{
	void *max;

	v->caps = vzalloc(VHCA_CAP_TYPES * VHCA_CAP_SIZE);
	v->caps_max = vzalloc(VHCA_CAP_TYPES * VHCA_CAP_SIZE);
	if (!v->caps || !v->caps_max) {
		vhca_caps_exit(v);
		return -ENOMEM;
	}
	max = v->caps_max;
	vhca_caps_port(vhca_cap(max, MLX5_CAP_GENERAL));
	vhca_caps_limits(vhca_cap(max, MLX5_CAP_GENERAL));
	vhca_caps_features(v, vhca_cap(max, MLX5_CAP_GENERAL));
	vhca_caps_copy(vhca_cap(max, MLX5_CAP_GENERAL));
	vhca_caps_links(vhca_cap(max, MLX5_CAP_GENERAL));
	vhca_caps_signature(vhca_cap(max, MLX5_CAP_GENERAL));
	vhca_caps_reserved_qpn(vhca_cap(max, MLX5_CAP_GENERAL_2));
	vhca_caps_ordering(max);
	vhca_caps_scheduling(max);
	vhca_caps_memory(v, vhca_cap(max, MLX5_CAP_DEV_MEM));
	vhca_caps_var(v, vhca_cap(max, MLX5_CAP_VDPA_EMULATION));
	vhca_caps_tlp_var(v, max);
	vhca_sw_icm_caps(vhca_cap(max, MLX5_CAP_DEV_MEM),
			 vhca_cap(max, MLX5_CAP_FLOW_TABLE));
	vhca_caps_odp(vhca_cap(max, MLX5_CAP_ODP));
	vhca_caps_atomic(vhca_cap(max, MLX5_CAP_ATOMIC));
	vhca_caps_reset(v);
	return 0;
}

/**
 * vhca_caps_reset - make all capabilities current
 * @v: the device
 *
 * Context: vhca.lock held, or before the firmware thread runs
 */
void vhca_caps_reset(struct vhca *v)
{
	memcpy(v->caps, v->caps_max, VHCA_CAP_TYPES * VHCA_CAP_SIZE);
}

/**
 * vhca_caps_exit - free the capability pages
 * @v: the device
 */
void vhca_caps_exit(struct vhca *v)
{
	vfree(v->caps_max);
	vfree(v->caps);
}

/**
 * vhca_cmd_query_hca_cap - QUERY_HCA_CAP: read a capability page, for
 *	mlx5_core_get_caps()
 * @v: the device
 * @cmd: the command, query_hca_cap_in
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_query_hca_cap(struct vhca *v, struct vhca_cmd *cmd)
{
	u32 header = MLX5_BYTE_OFF(query_hca_cap_out, capability);
	u32 type = cmd->op_mod >> VHCA_CAP_TYPE_SHIFT;
	void *caps = cmd->op_mod & VHCA_CAP_CURRENT ? v->caps : v->caps_max;

	if (type >= VHCA_CAP_TYPES)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	memcpy(MLX5_ADDR_OF(query_hca_cap_out, cmd->out, capability),
	       vhca_cap(caps, type),
	       min_t(u32, cmd->out_len - header, VHCA_CAP_SIZE));
	return MLX5_CMD_STAT_OK;
}

/* A field of cmd_hca_cap: where it is and how many bits it has. */
struct vhca_cap_field {
	u16	offset;
	u8	bits;
};

/* The name comes in two parts, which is how a macro can name it twice. */
#define NUMBER(_some, _rest) {						\
	.offset	= __mlx5_bit_off(cmd_hca_cap, _some##_rest),		\
	.bits	= __mlx5_bit_sz(cmd_hca_cap, _some##_rest),		\
}

/*
 * Fields that are numbers, of which less is less; each lies within a dword.
 * Of all others every bit is a feature.
 */
static const struct vhca_cap_field vhca_cap_numbers[] = {
	NUMBER(log_max_, qp), NUMBER(log_max_, cq), NUMBER(log_max_, eq),
	NUMBER(log_max_, mkey), NUMBER(log_max_, pd), NUMBER(log_max_, xrcd),
	NUMBER(log_max_, srq), NUMBER(log_max_, rmp), NUMBER(log_max_, eq_sz),
	NUMBER(log_max_, cq_sz), NUMBER(log_max_, qp_sz),
	NUMBER(log_max_, srq_sz), NUMBER(log_max_, wq_sz),
	NUMBER(log_max_, msg), NUMBER(log_max_, klm_list_size),
	NUMBER(log_max_, ra_req_qp), NUMBER(log_max_, ra_res_qp),
	NUMBER(log_max_, ra_req_dc), NUMBER(log_max_, ra_res_dc),
	NUMBER(log_max_, dci_stream_channels),
	NUMBER(log_max_, dci_errored_streams),
	NUMBER(log_max_, sq), NUMBER(log_max_, uctx), NUMBER(log_max_, umem),
	NUMBER(max_, wqe_sz_sq), NUMBER(max_, wqe_sz_rq),
	NUMBER(max_, indirection), NUMBER(max_, num_eqs),
	NUMBER(gid_, table_size), NUMBER(pkey_, table_size),
};

/* Is nothing chosen in a dword of the general page beyond what may be? */
static bool vhca_caps_general_within(unsigned int dword, u32 is, u32 may)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vhca_cap_numbers); i++) {
		const struct vhca_cap_field *f = &vhca_cap_numbers[i];
		unsigned int high = 31 - f->offset % 32;
		u32 mask;

		if (f->offset / 32 != dword)
			continue;
		mask = GENMASK(high, high + 1 - f->bits);
		if ((is & mask) > (may & mask))
			return false;
		is &= ~mask;
	}
	return !(is & ~may);
}

/* Is nothing chosen beyond the maximal page? */
static bool vhca_caps_within(const void *from, const void *max,
			     unsigned int type)
{
	const __be32 *chosen = from, *allowed = max;
	unsigned int i;

	for (i = 0; i < VHCA_CAP_SIZE / sizeof(*chosen); i++) {
		u32 is = be32_to_cpu(chosen[i]), may = be32_to_cpu(allowed[i]);

		if (type == MLX5_CAP_GENERAL ?
		    !vhca_caps_general_within(i, is, may) : is & ~may)
			return false;
	}
	return true;
}

/**
 * vhca_cmd_set_hca_cap - SET_HCA_CAP: choose current capabilities, from
 *	set_hca_cap()
 * @v: the device
 * @cmd: the command, set_hca_cap_in
 *
 * The driver sends a changed copy of the page, but for atomics a page of
 * zeros with just the one field that can be set.  What is not within the
 * maximal page is refused, and nothing is changed.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_set_hca_cap(struct vhca *v, struct vhca_cmd *cmd)
{
	u32 header = MLX5_BYTE_OFF(set_hca_cap_in, capability);
	u32 type = cmd->op_mod >> VHCA_CAP_TYPE_SHIFT;
	void *from = MLX5_ADDR_OF(set_hca_cap_in, cmd->in, capability);
	void *to;

	if (type >= VHCA_CAP_TYPES)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if (cmd->in_len < header + VHCA_CAP_SIZE)
		return MLX5_CMD_STAT_BAD_INP_LEN_ERR;
	to = vhca_cap(v->caps, type);
	if (type == MLX5_CAP_ATOMIC)
		MLX5_SET(atomic_caps, to, atomic_req_8B_endianness_mode,
			 MLX5_GET(atomic_caps, from,
				  atomic_req_8B_endianness_mode));
	else if (vhca_caps_within(from, vhca_cap(v->caps_max, type), type))
		memcpy(to, from, VHCA_CAP_SIZE);
	else
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	return MLX5_CMD_STAT_OK;
}
