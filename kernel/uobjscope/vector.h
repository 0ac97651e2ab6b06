/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A growing array that is filled under locks.
 *
 * Memory is reserved before a lock is taken and used up under it.  The array
 * lies in pieces of a page, so that it needs no large allocation and no entry
 * ever moves.
 */
#ifndef UOBJSCOPE_VECTOR_H
#define UOBJSCOPE_VECTOR_H

#include <linux/gfp.h>
#include <linux/types.h>

/**
 * define SCOPE_GFP - how memory of a snapshot is asked for
 *
 * Charged to the reader, and rather refused than taken from another task: a
 * snapshot that is too large must fail, not kill.
 */
#define SCOPE_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/**
 * struct scope_vector - the array
 * @item: bytes of an entry
 * @per_piece: entries in a piece
 * @nr: entries in use
 * @room: entries that there is memory for
 * @pieces: entries in @piece
 * @piece: the pieces
 */
struct scope_vector {
	unsigned int	item;
	unsigned int	per_piece;
	unsigned int	nr;
	unsigned int	room;
	unsigned int	pieces;
	void		**piece;
};

void scope_vector_init(struct scope_vector *v, unsigned int item);
int scope_vector_reserve(struct scope_vector *v, unsigned int count);
void *scope_vector_push(struct scope_vector *v);
void scope_vector_free(struct scope_vector *v);

/**
 * scope_vector_at - an entry
 * @v: the array
 * @n: less than the entries in use
 *
 * Return: the entry, where it stays until the array is freed
 */
static inline void *scope_vector_at(const struct scope_vector *v, unsigned int n)
{
	return v->piece[n / v->per_piece] + n % v->per_piece * v->item;
}

/**
 * scope_vector_room - how many entries can be pushed
 * @v: the array
 *
 * Return: their number
 */
static inline unsigned int scope_vector_room(const struct scope_vector *v)
{
	return v->room - v->nr;
}

#endif /* UOBJSCOPE_VECTOR_H */
