/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of object types and kinds.
 */
#ifndef UOBJSCOPE_NAMES_H
#define UOBJSCOPE_NAMES_H

#include "record.h"

const char *scope_type_name(u32 type, u8 driver);
const char *scope_mmap_kind_name(u8 kind);
const char *scope_dm_type_name(u32 dm_type);
const char *scope_ufile_state_name(u8 state);
const char *scope_uobj_state_name(u8 state);

#endif /* UOBJSCOPE_NAMES_H */
