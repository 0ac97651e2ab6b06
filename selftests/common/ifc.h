/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The layout of firmware commands, from the kernel's own description, for
 * DEVX_SET() and its like of <infiniband/mlx5dv.h>.
 *
 * The header is the kernel's, not one that is made for programs: what it needs
 * is put in place here.
 */
#ifndef _SELFTESTS_IFC_H
#define _SELFTESTS_IFC_H

#include <stdint.h>
#include <linux/stddef.h>
#include <infiniband/mlx5dv.h>

#define u8 uint8_t
#define u16 uint16_t
#ifndef BIT
#define BIT(n) (1u << (n))
#endif
#ifndef BIT_ULL
#define BIT_ULL(n) (1ull << (n))
#endif
#ifndef DECLARE_FLEX_ARRAY
#define DECLARE_FLEX_ARRAY(type, name) __DECLARE_FLEX_ARRAY(type, name)
#endif

#include "mlx5_ifc.h"

#undef u16
#undef u8

/* Status of a command: the enum of MLX5_CMD_STAT_* in linux/mlx5/device.h. */
enum ifc_status {
	IFC_OK			= 0x00,
	IFC_BAD_OP		= 0x02,
	IFC_BAD_PARAM		= 0x03,
	IFC_BAD_RES		= 0x05,
	IFC_LIM			= 0x08,
	IFC_BAD_RES_STATE	= 0x09,
	IFC_NO_RES		= 0x0f,
	IFC_BAD_QP_STATE	= 0x10,
	IFC_BAD_INP_LEN		= 0x50,
	IFC_BAD_OUTP_LEN	= 0x51,
};

/* Type of a general object: MLX5_OBJ_TYPE_VIRTIO_NET_Q in linux/mlx5/mlx5_ifc_vdpa.h. */
#define IFC_VIRTIO_NET_Q	0x0d

#endif /* _SELFTESTS_IFC_H */
