// SPDX-License-Identifier: GPL-2.0
/*
 * A growing array that is filled under locks, see vector.h.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "vector.h"

/**
 * scope_vector_init - make an empty array
 * @v: the array
 * @item: bytes of an entry, at most a page
 */
void scope_vector_init(struct scope_vector *v, unsigned int item)
{
	*v = (struct scope_vector){
		.item		= item,
		.per_piece	= PAGE_SIZE / item,
	};
}

static int add_piece(struct scope_vector *v)
{
	void **piece, *page;

	if (v->room / v->per_piece == v->pieces) {
		unsigned int pieces = v->pieces ? v->pieces * 2 : 16;

		piece = kvmalloc_array(pieces, sizeof(*piece), SCOPE_GFP);
		if (!piece)
			return -ENOMEM;
		if (v->pieces)
			memcpy(piece, v->piece, v->pieces * sizeof(*piece));
		kvfree(v->piece);
		v->piece = piece;
		v->pieces = pieces;
	}
	page = (void *)__get_free_page(SCOPE_GFP);
	if (!page)
		return -ENOMEM;
	v->piece[v->room / v->per_piece] = page;
	v->room += v->per_piece;
	return 0;
}

/**
 * scope_vector_reserve - see to it that entries can be pushed
 * @v: the array
 * @count: of them
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM, with the array as it was
 */
int scope_vector_reserve(struct scope_vector *v, unsigned int count)
{
	int err;

	while (scope_vector_room(v) < count) {
		err = add_piece(v);
		if (err)
			return err;
	}
	return 0;
}

/**
 * scope_vector_push - append an entry
 * @v: an array with room left, see scope_vector_reserve()
 *
 * Context: any, under any lock.
 * Return: the entry, all 0
 */
void *scope_vector_push(struct scope_vector *v)
{
	return memset(scope_vector_at(v, v->nr++), 0, v->item);
}

/**
 * scope_vector_free - give the memory back
 * @v: the array
 */
void scope_vector_free(struct scope_vector *v)
{
	unsigned int n;

	for (n = 0; n < v->room / v->per_piece; n++)
		free_page((unsigned long)v->piece[n]);
	kvfree(v->piece);
	scope_vector_init(v, v->item);
}
