/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects that are gone, and their late use.
 *
 * The ledger forgets an object that is destroyed.  What is kept here is when it
 * was made and when it went, so that a command or a work request that names it
 * afterwards is told from one with a wrong number, and the history of all three
 * can be looked at.  All of it belongs to the holder of vhca.lock.
 */
#ifndef VHCA_DEATH_H
#define VHCA_DEATH_H

#include <linux/types.h>

#include "object.h"

struct vhca;

#define VHCA_DEATHS	4096	/* objects that are remembered, a power of two */

/**
 * struct vhca_death - an object that is gone
 * @kind: what it was
 * @id: its number, or for device memory its offset in BAR0
 * @born_seq: sequence number of the command that created it
 * @died_seq: and of the last command when it went: that which destroyed it, or
 *	the last one before the driver or the device went
 */
struct vhca_death {
	enum vhca_kind	kind;
	u64		id;
	u64		born_seq;
	u64		died_seq;
};

/**
 * struct vhca_deaths - the last of them
 * @ring: VHCA_DEATHS entries, number n at n modulo that
 * @count: how many there were
 */
struct vhca_deaths {
	struct vhca_death	*ring;
	u64			count;
};

int vhca_deaths_init(struct vhca *v);
void vhca_deaths_exit(struct vhca *v);
void vhca_death_record(struct vhca *v, const struct vhca_object *object);
const struct vhca_death *vhca_death_find(struct vhca *v, enum vhca_kind kind,
					 u64 id);
void vhca_violation_of(struct vhca *v, const char *what, enum vhca_kind kind,
		       u64 id, u64 detail, bool say_kind);
void vhca_check_use(struct vhca *v, enum vhca_kind kind, u64 id, u64 detail);

#endif /* VHCA_DEATH_H */
