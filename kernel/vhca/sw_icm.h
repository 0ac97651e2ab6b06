/* SPDX-License-Identifier: GPL-2.0 */
/*
 * General objects, and SW ICM: memory of the device for flow steering by
 * software, which the driver hands out as device memory of further types.
 */
#ifndef VHCA_SW_ICM_H
#define VHCA_SW_ICM_H

#include <linux/mlx5/device.h>

#include "object.h"

/**
 * struct vhca_general_object - an object of CREATE_GENERAL_OBJECT
 * @object: what all objects have
 * @type: MLX5_OBJ_TYPE_* or MLX5_GENERAL_OBJECT_TYPES_*
 * @start: of SW ICM, its address in the device
 * @size: of SW ICM, bytes
 * @scheduling: of an element of the scheduling tree, its context
 */
struct vhca_general_object {
	struct vhca_object	object;
	u16			type;
	u64			start;
	u64			size;
	u32			scheduling[MLX5_ST_SZ_DW(scheduling_context)];
};

#define to_vhca_general_object(o) \
	container_of(o, struct vhca_general_object, object)

void vhca_sw_icm_caps(void *device_mem_cap, void *flow_table_nic_cap);
const char *vhca_sw_icm_region_name(u64 start);
u8 vhca_sw_icm_init(struct vhca *v, struct vhca_general_object *general,
		    struct vhca_cmd *cmd);
void vhca_sw_icm_check_mkeys(struct vhca *v,
			     struct vhca_general_object *general);

#endif /* VHCA_SW_ICM_H */
