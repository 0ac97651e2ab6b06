// SPDX-License-Identifier: GPL-2.0
/*
 * Names of object types and kinds, as the kernel's user space interface spells
 * them.
 */
#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "names.h"
#include "object_types.h"

#define SCOPE_COUNT(array)	(sizeof(array) / sizeof((array)[0]))

#define CORE(name) \
	[UVERBS_OBJECT_##name] = #name
static const char * const core_types[] = {
	CORE(DEVICE),
	CORE(PD),
	CORE(COMP_CHANNEL),
	CORE(CQ),
	CORE(QP),
	CORE(SRQ),
	CORE(AH),
	CORE(MR),
	CORE(MW),
	CORE(FLOW),
	CORE(XRCD),
	CORE(RWQ_IND_TBL),
	CORE(WQ),
	CORE(FLOW_ACTION),
	CORE(DM),
	CORE(COUNTERS),
	CORE(ASYNC_EVENT),
	SCOPE_WITH_DMAH(CORE(DMAH))
	SCOPE_WITH_DMABUF(CORE(DMABUF))
	SCOPE_WITH_COMP_CNTR(CORE(COMP_CNTR))
};

#define MLX5(name) \
	[MLX5_IB_OBJECT_##name - UVERBS_ID_DRIVER_NS] = "MLX5_" #name
static const char * const mlx5_types[] = {
	MLX5(DEVX),
	MLX5(DEVX_OBJ),
	MLX5(DEVX_UMEM),
	MLX5(FLOW_MATCHER),
	MLX5(DEVX_ASYNC_CMD_FD),
	MLX5(DEVX_ASYNC_EVENT_FD),
	MLX5(VAR),
	MLX5(PP),
	MLX5(UAR),
	MLX5(STEERING_ANCHOR),
};

static const char *name_of(const char * const *names, size_t count, u32 n, const char *other)
{
	return n < count && names[n] ? names[n] : other;
}

/**
 * scope_type_name - name of an object type
 * @type: uverbs_api_object.id
 * @driver: enum scope_driver, for the types of a driver's own
 *
 * Return: a word without blanks; DRIVER or UNKNOWN for what has no name here.
 */
const char *scope_type_name(u32 type, u8 driver)
{
	if (!(type & UVERBS_ID_DRIVER_NS))
		return name_of(core_types, SCOPE_COUNT(core_types), type, "UNKNOWN");
	if (driver != SCOPE_DRIVER_MLX5)
		return "DRIVER";
	return name_of(mlx5_types, SCOPE_COUNT(mlx5_types), type & ~(u32)UVERBS_ID_DRIVER_NS,
		       "DRIVER");
}

/**
 * scope_mmap_kind_name - name of what an mmap entry maps
 * @kind: enum scope_mmap_kind
 *
 * Return: a word
 */
const char *scope_mmap_kind_name(u8 kind)
{
	static const char * const names[] = {
		[SCOPE_MMAP_UNKNOWN]	= "unknown",
		[SCOPE_MMAP_MEMIC]	= "MEMIC",
		[SCOPE_MMAP_VAR]	= "VAR",
		[SCOPE_MMAP_UAR_WC]	= "UAR_WC",
		[SCOPE_MMAP_UAR_NC]	= "UAR_NC",
		[SCOPE_MMAP_MEMIC_OP]	= "MEMIC_OP",
		[SCOPE_MMAP_TLP_VAR]	= "TLP_VAR",
	};

	return name_of(names, SCOPE_COUNT(names), kind, "unknown");
}

/**
 * scope_dm_type_name - name of a type of device memory
 * @dm_type: enum mlx5_ib_uapi_dm_type
 *
 * Return: a word
 */
const char *scope_dm_type_name(u32 dm_type)
{
	static const char * const names[] = {
		[MLX5_IB_UAPI_DM_TYPE_MEMIC] = "memic",
		[MLX5_IB_UAPI_DM_TYPE_STEERING_SW_ICM] = "steering_sw_icm",
		[MLX5_IB_UAPI_DM_TYPE_HEADER_MODIFY_SW_ICM] = "header_modify_sw_icm",
		[MLX5_IB_UAPI_DM_TYPE_HEADER_MODIFY_PATTERN_SW_ICM] =
			"header_modify_pattern_sw_icm",
		[MLX5_IB_UAPI_DM_TYPE_ENCAP_SW_ICM] = "encap_sw_icm",
	};

	return name_of(names, SCOPE_COUNT(names), dm_type, "unknown");
}

/**
 * scope_ufile_state_name - name of a ufile's state
 * @state: enum scope_ufile_state
 *
 * Return: a word
 */
const char *scope_ufile_state_name(u8 state)
{
	static const char * const names[] = {
		[SCOPE_UFILE_LIVE]		= "live",
		[SCOPE_UFILE_NOCONTEXT]		= "nocontext",
		[SCOPE_UFILE_CLOSED]		= "closed",
		[SCOPE_UFILE_DESTROYING]	= "destroying",
		[SCOPE_UFILE_DISASSOCIATED]	= "disassociated",
	};

	return name_of(names, SCOPE_COUNT(names), state, "unknown");
}

/**
 * scope_uobj_state_name - name of a uobject's state
 * @state: enum scope_uobj_state
 *
 * Return: a word
 */
const char *scope_uobj_state_name(u8 state)
{
	static const char * const names[] = {
		[SCOPE_UOBJ_LIVE]	= "live",
		[SCOPE_UOBJ_LOCKED]	= "locked",
		[SCOPE_UOBJ_COMMITTING]	= "committing",
		[SCOPE_UOBJ_DEAD]	= "dead",
	};

	return name_of(names, SCOPE_COUNT(names), state, "unknown");
}
