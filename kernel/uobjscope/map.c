// SPDX-License-Identifier: GPL-2.0
/*
 * Finds records by a number, so that matching them takes a time that grows with
 * their number and not with its square.
 */
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "map.h"
#include "vector.h"

#define SCOPE_MAP_BITS	6

/* The slot of @key, or the free one where it belongs. */
static struct scope_map_slot *slot_of(const struct scope_map *map, u64 key)
{
	u32 n = hash_64(key, map->bits);

	while (map->slot[n].key && map->slot[n].key != key)
		n = (n + 1) & ((1u << map->bits) - 1);
	return &map->slot[n];
}

static int grow(struct scope_map *map)
{
	struct scope_map larger = {
		.bits	= map->slot ? map->bits + 1 : SCOPE_MAP_BITS,
		.nr	= map->nr,
	};
	u32 n;

	if (larger.bits > 30)
		return -ENOMEM;
	larger.slot = kvcalloc(1u << larger.bits, sizeof(*larger.slot), SCOPE_GFP);
	if (!larger.slot)
		return -ENOMEM;
	for (n = 0; map->slot && n < 1u << map->bits; n++)
		if (map->slot[n].key)
			*slot_of(&larger, map->slot[n].key) = map->slot[n];
	kvfree(map->slot);
	*map = larger;
	return 0;
}

/**
 * scope_map_put - remember a value
 * @map: the table; one that is all 0 is empty
 * @key: not 0; what it led to before is forgotten
 * @value: to be found by it
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM
 */
int scope_map_put(struct scope_map *map, u64 key, u32 value)
{
	struct scope_map_slot *slot;
	int err;

	if (!map->slot || map->nr >= (1u << map->bits) / 2) {
		err = grow(map);
		if (err)
			return err;
	}
	slot = slot_of(map, key);
	map->nr += !slot->key;
	slot->key = key;
	slot->value = value;
	return 0;
}

/**
 * scope_map_get - find a value
 * @map: the table
 * @key: what it was remembered by
 * @value: where to put it
 *
 * Return: whether it was found
 */
bool scope_map_get(const struct scope_map *map, u64 key, u32 *value)
{
	const struct scope_map_slot *slot;

	if (!map->slot || !key)
		return false;
	slot = slot_of(map, key);
	*value = slot->value;
	return slot->key;
}

/**
 * scope_map_free - give the memory back
 * @map: the table
 */
void scope_map_free(struct scope_map *map)
{
	kvfree(map->slot);
	*map = (struct scope_map){};
}
