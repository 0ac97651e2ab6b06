/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Quality of service: elements of a tree that shares bandwidth out, and rates to send at.
 * They are kept and shown; nothing is ever slowed down by them.
 */
#ifndef VHCA_SCHEDULING_H
#define VHCA_SCHEDULING_H

#include "sw_icm.h"

/* obj_type of general objects, and its place in their message, for mlx5_ifc.h has neither. */
#define VHCA_OBJ_SCHEDULING	0x26
#define VHCA_SCHEDULING_HIERARCHY	(0xc0 / 32)	/* the top byte */
#define VHCA_SCHEDULING_CONTEXT	(0x180 / 32)

void vhca_caps_scheduling(void *caps);
u8 vhca_scheduling_init(struct vhca *v, struct vhca_general_object *general,
			const struct vhca_cmd *cmd);
u8 vhca_scheduling_modify(struct vhca_general_object *general, const struct vhca_cmd *cmd);
void vhca_scheduling_describe(const struct vhca_general_object *general,
			      struct vhca_object_record *record);
bool vhca_scheduling_has_group(struct vhca *v, u32 id, u16 uid);

#endif /* VHCA_SCHEDULING_H */
