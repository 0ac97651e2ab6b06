// SPDX-License-Identifier: GPL-2.0
/*
 * Objects between two events, the second of which comes where nothing else says which
 * object it is about:
 *
 * - a uobject from its destruction until its memory is given back.  The compiler puts
 *   the drop of a reference into its callers, so what is probed is kvfree_call_rcu(),
 *   which gets an address of whatever it be;
 * - a dma-buf from its revocation until all mappings of it are gone: the function that
 *   waits for that returns nothing.  Its task is the one that has revoked.
 *
 * Addresses are kept inverted: kmemleak must not find an object that nobody else refers
 * to here and think it well.
 */
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "dying.h"

#define DYING_BITS	10
/* What is waited for may never come, where its function cannot be probed. */
#define DYING_MAX	16384

/**
 * struct dying - an object, of one kind or the other
 * @hash: in the table by @inverted
 * @inverted: address of the uobject; of a dma-buf, that of the task
 * @uobject: of a uobject
 * @dmabuf: of a dma-buf
 */
struct dying {
	struct hlist_node		hash;
	unsigned long			inverted;
	union {
		struct scope_event_uobject	uobject;
		struct scope_event_dmabuf	dmabuf;
	};
};

static DEFINE_HASHTABLE(uobjects, DYING_BITS);
static DEFINE_HASHTABLE(dmabufs, DYING_BITS);
/* Innermost of all; protects both.  Raw, for kvfree_call_rcu() is called under such locks. */
static DEFINE_RAW_SPINLOCK(dying_lock);
static unsigned int nr_dying;
static u64 dropped;

static struct dying *find(struct hlist_head *head, unsigned long inverted)
{
	struct dying *dying;

	hlist_for_each_entry(dying, head, hash)
		if (dying->inverted == inverted)
			return dying;
	return NULL;
}

static struct hlist_head *bucket(struct hlist_head *table, unsigned long inverted)
{
	return &table[hash_min(inverted, DYING_BITS)];
}

static struct dying *new_dying(const void *address)
{
	struct dying *dying = kmalloc_obj(*dying, GFP_ATOMIC | __GFP_NOWARN);

	if (dying)
		dying->inverted = ~(unsigned long)address;
	return dying;
}

/* Gives back what the caller has to free: what was there, or what there is no room for. */
static struct dying *add(struct hlist_head *table, struct dying *dying, bool replace)
{
	struct dying *old = NULL;
	struct hlist_head *head;
	unsigned long flags;

	raw_spin_lock_irqsave(&dying_lock, flags);
	if (!dying || nr_dying == DYING_MAX) {
		dropped++;
		old = dying;
		goto unlock;
	}
	head = bucket(table, dying->inverted);
	if (replace)
		old = find(head, dying->inverted);
	if (old)
		hlist_del(&old->hash);
	else
		nr_dying++;
	hlist_add_head(&dying->hash, head);
unlock:
	raw_spin_unlock_irqrestore(&dying_lock, flags);
	return old;
}

static struct dying *take(struct hlist_head *table, const void *address)
{
	unsigned long inverted = ~(unsigned long)address;
	struct hlist_head *head = bucket(table, inverted);
	struct dying *dying;
	unsigned long flags;

	/* Nearly always; what this task or an earlier owner of the memory has added is seen. */
	if (hlist_empty(head))
		return NULL;
	raw_spin_lock_irqsave(&dying_lock, flags);
	dying = find(head, inverted);
	if (dying) {
		hlist_del(&dying->hash);
		nr_dying--;
	}
	raw_spin_unlock_irqrestore(&dying_lock, flags);
	return dying;
}

/**
 * scope_dying_uobject - a uobject is being destroyed
 * @address: of it; it may be known already, if it could not be destroyed before
 * @uobject: what is known of it
 *
 * Context: any but non-maskable interrupts; takes dying_lock.
 */
void scope_dying_uobject(const void *address, const struct scope_event_uobject *uobject)
{
	struct dying *dying = new_dying(address);

	if (dying)
		dying->uobject = *uobject;
	kfree(add(uobjects, dying, true));
}

/**
 * scope_dying_take_uobject - is that memory a uobject's?
 * @address: of any memory
 * @uobject: what was known of it
 *
 * Context: any but non-maskable interrupts; takes dying_lock.
 * Return: whether it is; the next time it is not
 */
bool scope_dying_take_uobject(const void *address, struct scope_event_uobject *uobject)
{
	struct dying *dying = take(uobjects, address);

	if (!dying)
		return false;
	*uobject = dying->uobject;
	kfree(dying);
	return true;
}

/**
 * scope_dying_dmabuf - the current task revokes a dma-buf
 * @dmabuf: what is known of it
 *
 * Context: any but non-maskable interrupts; takes dying_lock.
 */
void scope_dying_dmabuf(const struct scope_event_dmabuf *dmabuf)
{
	struct dying *dying = new_dying(current);

	if (dying)
		dying->dmabuf = *dmabuf;
	kfree(add(dmabufs, dying, false));
}

/**
 * scope_dying_take_dmabuf - which dma-buf has the current task revoked?
 * @dmabuf: what was known of it
 *
 * Context: any but non-maskable interrupts; takes dying_lock.
 * Return: whether there is one; each is given once
 */
bool scope_dying_take_dmabuf(struct scope_event_dmabuf *dmabuf)
{
	struct dying *dying = take(dmabufs, current);

	if (!dying)
		return false;
	*dmabuf = dying->dmabuf;
	kfree(dying);
	return true;
}

/**
 * scope_dying_dropped - objects that there was no memory, or no room, for
 *
 * Return: their number since the module was loaded; their second event is missing
 */
u64 scope_dying_dropped(void)
{
	return READ_ONCE(dropped);
}

static void clear(struct hlist_head *table)
{
	struct hlist_node *next;
	struct dying *dying;
	unsigned int n;

	for (n = 0; n < 1 << DYING_BITS; n++)
		hlist_for_each_entry_safe(dying, next, &table[n], hash) {
			hlist_del(&dying->hash);
			kfree(dying);
			nr_dying--;
		}
}

/**
 * scope_dying_clear - forget all
 *
 * Context: no probe is registered.
 */
void scope_dying_clear(void)
{
	clear(uobjects);
	clear(dmabufs);
}
