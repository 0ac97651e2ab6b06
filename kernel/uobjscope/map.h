/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds records by a number, most often an address.
 */
#ifndef UOBJSCOPE_MAP_H
#define UOBJSCOPE_MAP_H

#include <linux/types.h>

/**
 * struct scope_map - a hash table with open addressing
 * @bits: logarithm of the number of slots
 * @nr: slots in use
 * @slot: key and value; a free slot has key 0
 */
struct scope_map {
	unsigned int	bits;
	unsigned int	nr;
	struct scope_map_slot {
		u64	key;
		u32	value;
	} *slot;
};

int scope_map_put(struct scope_map *map, u64 key, u32 value);
bool scope_map_get(const struct scope_map *map, u64 key, u32 *value);
void scope_map_free(struct scope_map *map);

#endif /* UOBJSCOPE_MAP_H */
