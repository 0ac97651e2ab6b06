/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the device was told of MEMIC, as a test states it.
 *
 * A fixture has a member "bed" of struct bed, and a member "seq" with the number of the
 * last command at its set-up.  To be included after bed.h.
 */
#ifndef _SELFTESTS_MEMIC_COUNTS_H
#define _SELFTESTS_MEMIC_COUNTS_H

#include "bed.h"
#include "vhca.h"

/* Firmware executed the command this often since the set-up. */
#define ASSERT_COMMANDS(count, opcode) \
	ASSERT_EQ(count, vhca_count_since(&self->bed.dev, self->seq, opcode, VHCA_ANY))
#define ASSERT_COMMANDS_FOR(count, opcode, object) \
	ASSERT_EQ(count, vhca_count_since(&self->bed.dev, self->seq, opcode, object))

/* The device holds one memic more than before, the one that is given back here. */
#define ASSERT_NEW_MEMIC(object) \
do { \
	ASSERT_LEDGER(1, "memic"); \
	ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "memic", self->seq, object)); \
} while (0)

/* The memic was allocated once; it was freed this often (0 or 1) and is there or not. */
#define ASSERT_MEMIC_FREED(count, object) \
do { \
	const struct vhca_object *__object = (object); \
	const int __freed = (count); \
	ASSERT_COMMANDS_FOR(1, VHCA_ALLOC_MEMIC, __object->id); \
	ASSERT_COMMANDS_FOR(__freed, VHCA_DEALLOC_MEMIC, __object->id); \
	ASSERT_EQ(1 - __freed, vhca_find(&self->bed.dev, "memic", __object->id, NULL)); \
} while (0)

#endif /* _SELFTESTS_MEMIC_COUNTS_H */
