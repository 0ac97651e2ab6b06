// SPDX-License-Identifier: GPL-2.0
/*
 * ACCESS_REG: access to the device's registers, from mlx5_core_access_reg().
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mlx5/driver.h>
#include <linux/mlx5/port.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "vhca.h"

#define VHCA_NODE_DESCRIPTION	"virtual mlx5 HCA"

/* ib_link_width_*: bit N is 1X, 2X.., 4X is bit 2. */
#define VHCA_LINK_WIDTHS	0x1f
#define VHCA_LINK_4X		BIT(2)
/* ib_proto_*: SDR to EDR */
#define VHCA_LINK_SPEEDS	0x3f
#define VHCA_MTU		4096	/* bytes */

enum vhca_register_access {
	VHCA_REGISTER_WRITE,	/* op_mod 0 */
	VHCA_REGISTER_READ,	/* op_mod 1 */
};

/**
 * struct vhca_register - a register that is modelled
 * @id: MLX5_REG_*
 * @size: bytes of it
 * @read: fill @data, which holds what the driver sent; NULL: nothing to add
 */
struct vhca_register {
	u16	id;
	u32	size;
	void	(*read)(void *data);
};

/* Text of 64 bytes, see set_node_desc() in mlx5_ib. */
static void vhca_node_desc_read(void *data)
{
	strscpy_pad(data, VHCA_NODE_DESCRIPTION, IB_DEVICE_NODE_DESC_MAX);
}

/* Port type and speed: ptys_reg. */
static void vhca_ptys_read(void *data)
{
	MLX5_SET(ptys_reg, data, ib_link_width_capability, VHCA_LINK_WIDTHS);
	MLX5_SET(ptys_reg, data, ib_link_width_oper, VHCA_LINK_4X);
	MLX5_SET(ptys_reg, data, ib_proto_capability, VHCA_LINK_SPEEDS);
	MLX5_SET(ptys_reg, data, ib_proto_oper, IB_SPEED_EDR);
}

/* Port MTU: pmtu_reg. */
static void vhca_pmtu_read(void *data)
{
	MLX5_SET(pmtu_reg, data, max_mtu, VHCA_MTU);
	MLX5_SET(pmtu_reg, data, admin_mtu, VHCA_MTU);
	MLX5_SET(pmtu_reg, data, oper_mtu, VHCA_MTU);
}

/* Virtual lanes of the port: pvlc_reg. */
static void vhca_pvlc_read(void *data)
{
	MLX5_SET(pvlc_reg, data, vl_hw_cap, 1);
	MLX5_SET(pvlc_reg, data, vl_admin, 1);
	MLX5_SET(pvlc_reg, data, vl_operational, 1);
}

static const struct vhca_register vhca_registers[] = {
	{ MLX5_REG_NODE_DESC, IB_DEVICE_NODE_DESC_MAX, vhca_node_desc_read },
	{ MLX5_REG_PTYS, MLX5_ST_SZ_BYTES(ptys_reg), vhca_ptys_read },
	{ MLX5_REG_PMTU, MLX5_ST_SZ_BYTES(pmtu_reg), vhca_pmtu_read },
	{ MLX5_REG_PVLC, MLX5_ST_SZ_BYTES(pvlc_reg), vhca_pvlc_read },
	/* Timeouts: zeros leave the driver its own; asked for with cmd_timeout_ms. */
	{ MLX5_REG_DTOR, MLX5_ST_SZ_BYTES(dtor_reg), NULL },
	/* Only a physical function is told the host's byte order. */
	{ MLX5_REG_HOST_ENDIANNESS, 16, NULL },
};

/**
 * vhca_cmd_access_reg - ACCESS_REG: read or write a register
 * @v: the device
 * @cmd: the command, access_register_in
 *
 * A read answers with what was sent and the register's values over it, a
 * write is accepted and forgotten.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_access_reg(struct vhca *v, struct vhca_cmd *cmd)
{
	u16 id = MLX5_GET(access_register_in, cmd->in, register_id);
	u32 in = cmd->in_len - MLX5_ST_SZ_BYTES(access_register_in);
	u32 out = cmd->out_len - MLX5_ST_SZ_BYTES(access_register_out);
	void *data = MLX5_ADDR_OF(access_register_out, cmd->out,
				  register_data);
	unsigned int i;

	cmd->object = id;
	if (cmd->op_mod > VHCA_REGISTER_READ)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	for (i = 0; i < ARRAY_SIZE(vhca_registers); i++) {
		const struct vhca_register *reg = &vhca_registers[i];

		if (reg->id != id)
			continue;
		if (in < reg->size)
			return MLX5_CMD_STAT_BAD_INP_LEN_ERR;
		if (out < reg->size)
			return MLX5_CMD_STAT_BAD_OUTP_LEN_ERR;
		memcpy(data, MLX5_ADDR_OF(access_register_in, cmd->in,
					  register_data), min(in, out));
		if (cmd->op_mod == VHCA_REGISTER_READ && reg->read)
			reg->read(data);
		return MLX5_CMD_STAT_OK;
	}
	if (vhca_gap_is_new(v, VHCA_GAP_REGISTER))
		vhca_info(v, "not modelled, said once: register 0x%x\n", id);
	return MLX5_CMD_STAT_BAD_PARAM_ERR;
}
