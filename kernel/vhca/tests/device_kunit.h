/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device for the KUnit suites: all that a struct vhca is made of but its
 * function, its firmware thread and its window.  Where the device has a BAR it
 * has ordinary memory here.  Nothing else of the module knows of it.
 */
#ifndef VHCA_DEVICE_KUNIT_H
#define VHCA_DEVICE_KUNIT_H

#include <kunit/test.h>

#include "vhca.h"

/* Bytes of its device memory; less than what the module takes by default. */
#define VHCA_KUNIT_MEMIC	SZ_64K

int vhca_kunit_init(struct kunit *test);
struct vhca_cmd *vhca_kunit_command(struct kunit *test, u16 opcode, u32 in_len,
				    u32 out_len);
void *vhca_kunit_add(struct kunit *test, enum vhca_kind kind, u16 uid, size_t size);
void vhca_kunit_put(void *structure, unsigned int dword, u32 value);
u8 vhca_kunit_execute(struct kunit *test, struct vhca_cmd *cmd);
u32 vhca_kunit_create(struct kunit *test, u16 opcode, u16 uid);
u8 vhca_kunit_destroy(struct kunit *test, u16 opcode, u32 number);
void vhca_kunit_expect_violation(struct kunit *test, unsigned int before,
				 const char *what, u64 object, u64 detail);

#endif /* VHCA_DEVICE_KUNIT_H */
