// SPDX-License-Identifier: GPL-2.0
/*
 * Objects that are gone, and their late use, see death.h.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/slab.h>

#include "vhca.h"

/**
 * vhca_deaths_init - begin without any
 * @v: the device
 *
 * Return: 0 or -ENOMEM
 */
int vhca_deaths_init(struct vhca *v)
{
	v->deaths.ring = kvcalloc(VHCA_DEATHS, sizeof(*v->deaths.ring),
				  GFP_KERNEL);
	return v->deaths.ring ? 0 : -ENOMEM;
}

/**
 * vhca_deaths_exit - forget all of them
 * @v: the device
 */
void vhca_deaths_exit(struct vhca *v)
{
	kvfree(v->deaths.ring);
	v->deaths.ring = NULL;
}

/**
 * vhca_death_record - remember an object that goes
 * @v: the device
 * @object: the object, in the ledger until now
 *
 * Context: vhca.lock held
 */
void vhca_death_record(struct vhca *v, const struct vhca_object *object)
{
	struct vhca_deaths *d = &v->deaths;

	d->ring[d->count++ % VHCA_DEATHS] = (struct vhca_death) {
		.kind		= object->kind,
		.id		= object->id,
		.born_seq	= object->born_seq,
		.died_seq	= v->recorder.seq,
	};
}

/**
 * vhca_death_find - was there such an object?
 * @v: the device
 * @kind: its kind
 * @id: its number
 *
 * Context: vhca.lock held
 * Return: the last one that had this number, valid until another object goes;
 *	NULL if none is remembered
 */
const struct vhca_death *vhca_death_find(struct vhca *v, enum vhca_kind kind,
					 u64 id)
{
	struct vhca_deaths *d = &v->deaths;
	u64 i, kept = min_t(u64, d->count, VHCA_DEATHS);

	for (i = 1; i <= kept; i++) {
		struct vhca_death *death = &d->ring[(d->count - i) % VHCA_DEATHS];

		if (death->kind == kind && death->id == id)
			return death;
	}
	return NULL;
}

/**
 * vhca_violation_of - remember something that no correct driver does, with what
 *	is known of the object
 * @v: the device
 * @what: its name, a word
 * @kind: kind of the object
 * @id: its number
 * @detail: depends on @what
 * @say_kind: name the kind, as @what does not imply it
 *
 * The object may be there, be gone, or never have been.
 *
 * Context: vhca.lock held
 */
void vhca_violation_of(struct vhca *v, const char *what, enum vhca_kind kind,
		       u64 id, u64 detail, bool say_kind)
{
	const struct vhca_object *object = vhca_ledger_find(v, kind, id);
	const struct vhca_death *death;
	struct vhca_violation violation = {
		.what	= what,
		.object	= id,
		.detail	= detail,
		.kind	= say_kind ? vhca_kind_info(kind)->name : NULL,
	};

	if (object) {
		violation.born_seq = object->born_seq;
	} else {
		death = vhca_death_find(v, kind, id);
		if (death) {
			violation.born_seq = death->born_seq;
			violation.died_seq = death->died_seq;
		}
	}
	vhca_violation_add(v, &violation);
}

/**
 * vhca_check_use - an object that is not there was named: has it been?
 * @v: the device
 * @kind: its kind
 * @id: its number
 * @detail: what has named it: the opcode of a command, or the number of the
 *	queue pair whose work request it is
 *
 * A number that was never given, or so long ago that it is forgotten, may be
 * anybody's mistake.  One of an object that was destroyed is a use after the
 * end; a user with DEVX can do that as well as the driver.
 *
 * Context: vhca.lock held
 */
void vhca_check_use(struct vhca *v, enum vhca_kind kind, u64 id, u64 detail)
{
	if (vhca_death_find(v, kind, id))
		vhca_violation_of(v, "use_of_destroyed", kind, id, detail, true);
}
