// SPDX-License-Identifier: GPL-2.0
/*
 * The port: one InfiniBand port, always active.  With the capability ib_virt
 * mlx5_ib asks for all of it by these commands instead of MADs.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

#include "vhca.h"

#define VHCA_PORT_ACTIVE	4	/* enum ib_port_state */
#define VHCA_PORT_LINK_UP	5	/* enum ib_port_phys_state */
#define VHCA_VPORT_UP		4
#define VHCA_SUBNET_TIMEOUT	18

#define VHCA_ALL_ENTRIES	0xffff	/* as an index: the whole table */

/* What software says of itself by the port's capability mask. */
#define VHCA_PORT_CAPS	(IB_PORT_SM | IB_PORT_CM_SUP | IB_PORT_SNMP_TUNNEL_SUP | \
			 IB_PORT_DEVICE_MGMT_SUP | IB_PORT_VENDOR_CLASS_SUP)

/**
 * vhca_cmd_query_hca_vport_context - QUERY_HCA_VPORT_CONTEXT: state of the
 *	port, for mlx5_core_query_hca_vport_context()
 * @v: the device
 * @cmd: the command, query_hca_vport_context_in
 *
 * Return: MLX5_CMD_STAT_OK
 */
u8 vhca_cmd_query_hca_vport_context(struct vhca *v, struct vhca_cmd *cmd)
{
	void *ctx = MLX5_ADDR_OF(query_hca_vport_context_out, cmd->out,
				 hca_vport_context);

	MLX5_SET(hca_vport_context, ctx, has_smi, 1);
	MLX5_SET(hca_vport_context, ctx, port_physical_state,
		 VHCA_PORT_LINK_UP);
	MLX5_SET(hca_vport_context, ctx, port_state, VHCA_PORT_ACTIVE);
	MLX5_SET(hca_vport_context, ctx, vport_state, VHCA_VPORT_UP);
	MLX5_SET64(hca_vport_context, ctx, system_image_guid, vhca_node_guid(v));
	MLX5_SET64(hca_vport_context, ctx, node_guid, vhca_node_guid(v));
	MLX5_SET64(hca_vport_context, ctx, port_guid, vhca_port_guid(v));
	MLX5_SET(hca_vport_context, ctx, cap_mask1, v->port_caps);
	MLX5_SET(hca_vport_context, ctx, cap_mask1_field_select, VHCA_PORT_CAPS);
	MLX5_SET(hca_vport_context, ctx, lid, vhca_lid(v));
	MLX5_SET(hca_vport_context, ctx, sm_lid, VHCA_MANAGER_LID);
	MLX5_SET(hca_vport_context, ctx, subnet_timeout, VHCA_SUBNET_TIMEOUT);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_modify_hca_vport_context - MODIFY_HCA_VPORT_CONTEXT: change the port's
 *	capability mask, from mlx5_core_modify_hca_vport_context()
 * @v: the device
 * @cmd: the command, modify_hca_vport_context_in
 *
 * ib_cm says by it that it is there; all else belongs to whoever has virtual functions.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_modify_hca_vport_context(struct vhca *v, struct vhca_cmd *cmd)
{
	const void *ctx = MLX5_ADDR_OF(modify_hca_vport_context_in, cmd->in, hca_vport_context);
	u32 change = MLX5_GET(hca_vport_context, ctx, cap_mask1_field_select);

	if (cmd->uid || MLX5_GET(modify_hca_vport_context_in, cmd->in, other_vport) ||
	    MLX5_GET(hca_vport_context, ctx, field_select) || change & ~VHCA_PORT_CAPS)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	v->port_caps &= ~change;
	v->port_caps |= MLX5_GET(hca_vport_context, ctx, cap_mask1) & change;
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_query_lag - QUERY_LAG: the links that the port is made of, for
 *	mlx5dv_query_qp_lag_port()
 * @v: the device
 * @cmd: the command, query_lag_in
 *
 * Whoever wants the first or the second one gets it.  The driver has made no bond of them.
 *
 * Return: MLX5_CMD_STAT_OK
 */
u8 vhca_cmd_query_lag(struct vhca *v, struct vhca_cmd *cmd)
{
	void *ctx = MLX5_ADDR_OF(query_lag_out, cmd->out, ctx);

	MLX5_SET(lagc, ctx, tx_remap_affinity_1, 1);
	MLX5_SET(lagc, ctx, tx_remap_affinity_2, 2);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_query_hca_vport_gid - QUERY_HCA_VPORT_GID: the GID table, for
 *	mlx5_query_hca_vport_gid()
 * @v: the device
 * @cmd: the command, query_hca_vport_gid_in
 *
 * Entry 0 is made of the port's GUID, all others are zero.  Whoever asks for
 * the whole table gets its first entry and zeros.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_query_hca_vport_gid(struct vhca *v, struct vhca_cmd *cmd)
{
	u16 index = MLX5_GET(query_hca_vport_gid_in, cmd->in, gid_index);
	__be64 gid[] = {
		cpu_to_be64(VHCA_GID_PREFIX),
		cpu_to_be64(vhca_port_guid(v)),
	};

	if (cmd->out_len < MLX5_ST_SZ_BYTES(query_hca_vport_gid_out) +
			   sizeof(gid))
		return MLX5_CMD_STAT_BAD_OUTP_LEN_ERR;
	MLX5_SET(query_hca_vport_gid_out, cmd->out, gids_num, 1);
	if (index == 0 || index == VHCA_ALL_ENTRIES)
		memcpy(MLX5_ADDR_OF(query_hca_vport_gid_out, cmd->out, gid),
		       gid, sizeof(gid));
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_query_hca_vport_pkey - QUERY_HCA_VPORT_PKEY: the partition key
 *	table, for mlx5_query_hca_vport_pkey()
 * @v: the device
 * @cmd: the command, query_hca_vport_pkey_in
 *
 * Entry 0 is the default key with full membership, all others are empty.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_query_hca_vport_pkey(struct vhca *v, struct vhca_cmd *cmd)
{
	u16 index = MLX5_GET(query_hca_vport_pkey_in, cmd->in, pkey_index);

	if (cmd->out_len < MLX5_ST_SZ_BYTES(query_hca_vport_pkey_out) +
			   MLX5_ST_SZ_BYTES(pkey))
		return MLX5_CMD_STAT_BAD_OUTP_LEN_ERR;
	if (index == 0 || index == VHCA_ALL_ENTRIES)
		MLX5_SET(pkey, MLX5_ADDR_OF(query_hca_vport_pkey_out, cmd->out,
					    pkey), pkey, VHCA_FULL_PKEY);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_cmd_mad_ifc - MAD_IFC: a management datagram to the port itself, from
 *	mlx5_MAD_IFC()
 * @v: the device
 * @cmd: the command, mad_ifc_in
 *
 * Every request gets a response with the same header and no data; ib_core
 * asks for the performance counters in this way.
 *
 * Return: MLX5_CMD_STAT_OK
 */
u8 vhca_cmd_mad_ifc(struct vhca *v, struct vhca_cmd *cmd)
{
	struct ib_mad_hdr *response = MLX5_ADDR_OF(mad_ifc_out, cmd->out,
						   response_mad_packet);

	memcpy(response, MLX5_ADDR_OF(mad_ifc_in, cmd->in, mad),
	       sizeof(*response));
	response->method = IB_MGMT_METHOD_GET_RESP;
	return MLX5_CMD_STAT_OK;
}
