// SPDX-License-Identifier: GPL-2.0
/*
 * Randomness, and the memory that the device has to do with; see fuzz_kunit.h.
 *
 * Every address that the device makes a pointer of comes by vhca_ram(), and every packet
 * by vhca_route_leads_to() if it is not to a group.  Both are replaced here: random
 * addresses lead to memory that is there for it or nowhere, and packets to no device but
 * this one.  Groups are such as nobody else is in.
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <kunit/static_stub.h>
#include <rdma/ib_verbs.h>

#include "fuzz_kunit.h"

/* Far from the devices that are there. */
#define FUZZ_INDEX	1000
#define FUZZ_BAR	BIT_ULL(45)

/* There is one at a time. */
static struct fuzz *fuzz_now;

/**
 * fuzz_below - a random number
 * @f: where from
 * @n: what it is below
 *
 * Return: the number
 */
u32 fuzz_below(struct fuzz *f, u32 n)
{
	return reciprocal_scale(prandom_u32_state(&f->random), n);
}

/**
 * fuzz_one_in - something that happens now and then
 * @f: where from
 * @n: how often: once in so many times
 *
 * Return: whether it happens now
 */
bool fuzz_one_in(struct fuzz *f, u32 n)
{
	return !fuzz_below(f, n);
}

static u64 fuzz_u64(struct fuzz *f)
{
	u64 high = prandom_u32_state(&f->random);

	return high << 32 | prandom_u32_state(&f->random);
}

/**
 * fuzz_value - a number that is more likely to be a bound than others are
 * @f: where from
 *
 * Return: the number
 */
u64 fuzz_value(struct fuzz *f)
{
	switch (fuzz_below(f, 9)) {
	case 0:
		return 0;
	case 1:
		return U64_MAX;
	case 2:
		return BIT_ULL(fuzz_below(f, 64));
	case 3:
		return BIT_ULL(fuzz_below(f, 64)) - 1;
	case 4:
		return fuzz_below(f, 256);
	case 5:
		return (u64)fuzz_below(f, 64) << VHCA_PAGE_SHIFT;
	case 6:
		return (u64)prandom_u32_state(&f->random) << 32;
	default:
		return fuzz_u64(f);
	}
}

/**
 * fuzz_page_address - where a page is for the device
 * @f: whose memory
 * @page: which, from 0
 *
 * Return: the physical address
 */
u64 fuzz_page_address(const struct fuzz *f, unsigned int page)
{
	return f->start + ((u64)page << VHCA_PAGE_SHIFT);
}

/**
 * fuzz_address - an address for the driver to give
 * @f: whose memory
 *
 * Return: that of a page, mostly
 */
u64 fuzz_address(struct fuzz *f)
{
	u64 page = fuzz_page_address(f, FUZZ_EVENTS +
				     fuzz_below(f, FUZZ_PAGES - FUZZ_EVENTS));

	switch (fuzz_below(f, 64)) {
	case 0:
		return fuzz_value(f);
	case 1:
		return fuzz_page_address(f, FUZZ_PAGES) - fuzz_below(f, 64);
	case 2:
		return f->start - fuzz_below(f, VHCA_PAGE_SIZE);
	case 3:
		return page + fuzz_below(f, VHCA_PAGE_SIZE);
	default:
		return page;
	}
}

/**
 * fuzz_group_gid - the GID of a multicast group
 * @f: whose
 * @gid: where to put its 16 bytes
 *
 * There are few, so that some are in one that others send to.
 */
void fuzz_group_gid(struct fuzz *f, void *gid)
{
	u8 *bytes = gid;

	memset(bytes, 0, sizeof(union ib_gid));
	/* Global, transient, and of no upper layer. */
	bytes[0] = 0xff;
	bytes[1] = 0x1e;
	bytes[15] = fuzz_below(f, 3);
}

/**
 * fuzz_spoil - make something wrong
 * @f: where randomness comes from
 * @bytes: what is right
 * @len: bytes of it
 * @keep: so many of these stay as they are
 *
 * Half of the time nothing is.
 */
void fuzz_spoil(struct fuzz *f, void *bytes, u32 len, u32 keep)
{
	unsigned int times = fuzz_one_in(f, 2) ? 0 : 1 + fuzz_below(f, 3);
	u64 value;
	u32 at, n;

	if (len <= keep)
		return;
	while (times--) {
		n = min(len - keep, fuzz_one_in(f, 3) ? 1U : 4U);
		at = keep + fuzz_below(f, (len - keep) / n) * n;
		value = fuzz_value(f);
		if (fuzz_one_in(f, 2))
			*((u8 *)bytes + at) ^= BIT(fuzz_below(f, 8));
		else
			memcpy(bytes + at, &value, n);
	}
}

/**
 * fuzz_object - any object of a kind
 * @f: of whose device
 * @kind: the kind
 * @own: only of the user's own
 *
 * Return: the object, or NULL if there is none
 */
struct vhca_object *fuzz_object(struct fuzz *f, enum vhca_kind kind, bool own)
{
	struct vhca_ledger *l = &f->v->ledger;
	struct vhca_object *object;
	unsigned int n = 0;
	unsigned long id;

	xa_for_each(&l->by_id[kind], id, object)
		n += !own || object->uid == f->uid;
	if (!n)
		return NULL;
	n = fuzz_below(f, n);
	xa_for_each(&l->by_id[kind], id, object) {
		if (own && object->uid != f->uid)
			continue;
		if (!n--)
			return object;
	}
	return NULL;
}

/**
 * fuzz_number - the number of any object of a kind
 * @f: of whose device
 * @kind: the kind
 * @own: of the user's own, if it has one
 *
 * Return: the number; now and then one that nobody has
 */
u32 fuzz_number(struct fuzz *f, enum vhca_kind kind, bool own)
{
	struct vhca_object *object = fuzz_object(f, kind, own);

	return object && !fuzz_one_in(f, 48) ? object->id :
					       fuzz_value(f) & VHCA_MAX_NUMBER;
}

/* Is this page the user's, or memory that the device needs for its command? */
static bool fuzz_may_reach(const struct fuzz *f, unsigned int page)
{
	if (!f->uid)
		return true;
	if (page < FUZZ_FIRST_SHARED)
		return f->sending && page < FUZZ_EVENTS;
	return !(page % 2);
}

/* In place of vhca_ram(). */
static void *fuzz_ram(u64 address, u64 len)
{
	struct fuzz *f = fuzz_now;
	u64 size = (u64)FUZZ_PAGES << VHCA_PAGE_SHIFT;
	u64 first = address - f->start, page;
	bool allowed = len && address >= f->start && first < size && len <= size - first;

	for (page = first >> VHCA_PAGE_SHIFT;
	     allowed && page <= (first + len - 1) >> VHCA_PAGE_SHIFT; page++)
		allowed = fuzz_may_reach(f, page);
	if (allowed)
		return f->memory + first;
	/* The driver may give any address, and a user none. */
	if (f->uid && !f->escapes++)
		f->escape = address;
	return NULL;
}

/* In place of vhca_route_leads_to(): every second LID leads here, and no GID. */
static bool fuzz_leads_to(const struct vhca_route *route, unsigned int index)
{
	return index == FUZZ_INDEX && !(route->lid & 1);
}

/* Is there a canary, and not what the user may reach? */
static bool fuzz_is_canary(unsigned int page, unsigned int offset)
{
	return page % 2 ||
	       (page == FUZZ_REGION && offset < FUZZ_EDGE) ||
	       (page == FUZZ_REGION_LAST && offset >= VHCA_PAGE_SIZE - FUZZ_EDGE);
}

static u64 *fuzz_word(const struct fuzz *f, unsigned int page, unsigned int offset)
{
	return (u64 *)(f->memory + (page << VHCA_PAGE_SHIFT) + offset);
}

static u64 fuzz_canary(unsigned int page, unsigned int offset)
{
	return (u64)FUZZ_CANARY << 32 | (page << 16) | offset;
}

/**
 * fuzz_fill - have the memory filled: canaries where they are, and zeros
 * @f: whose memory
 */
void fuzz_fill(struct fuzz *f)
{
	unsigned int page, at;

	memset(f->memory, 0, FUZZ_PAGES << VHCA_PAGE_SHIFT);
	for (page = FUZZ_FIRST_SHARED; f->uid && page < FUZZ_PAGES; page++)
		for (at = 0; at < VHCA_PAGE_SIZE; at += sizeof(u64))
			if (fuzz_is_canary(page, at))
				*fuzz_word(f, page, at) = fuzz_canary(page, at);
}

/* Are the canaries of a page as they were, and is nothing like them beside them? */
static bool fuzz_page_is_sound(struct fuzz *f, unsigned int page)
{
	unsigned int at;

	for (at = 0; at < VHCA_PAGE_SIZE; at += sizeof(u64)) {
		u64 word = *fuzz_word(f, page, at);

		if (fuzz_is_canary(page, at)) {
			if (word == fuzz_canary(page, at))
				continue;
			snprintf(f->why, sizeof(f->why),
				 "what is not the user's has changed, page %u at %u",
				 page, at);
			return false;
		}
		if (upper_32_bits(word) != FUZZ_CANARY && lower_32_bits(word) != FUZZ_CANARY)
			continue;
		snprintf(f->why, sizeof(f->why),
			 "what is not the user's has come to page %u at %u", page, at);
		return false;
	}
	return true;
}

/* The key of who does nothing: nobody else may change it. */
static bool fuzz_window_is_sound(struct fuzz *f)
{
	struct vhca_object *object = vhca_ledger_find(f->v, VHCA_MKEY, f->window);
	struct vhca_mkey *mkey;

	if (!object)
		return false;
	mkey = to_vhca_mkey(object);
	return !memcmp(mkey->context, f->window_context, sizeof(mkey->context)) &&
	       !memchr_inv(mkey->xlt, 0, mkey->octowords * VHCA_OCTOWORD);
}

/**
 * fuzz_is_sound - has the user reached nothing but its own?
 * @f: whose memory
 *
 * No canary was changed, none has come to where the user can read it, the queues of
 * others are as they were, and the device has asked for no memory but the user's.
 *
 * Return: true if so; else @f says why
 */
bool fuzz_is_sound(struct fuzz *f)
{
	unsigned int page;

	if (!f->uid)
		return true;
	if (f->escapes) {
		snprintf(f->why, sizeof(f->why),
			 "%u times beyond the user's memory, first to page %lld", f->escapes,
			 (s64)(f->escape - f->start) >> VHCA_PAGE_SHIFT);
		return false;
	}
	if (memcmp(f->quiet, f->memory + (FUZZ_QUIET << VHCA_PAGE_SHIFT), sizeof(f->quiet))) {
		snprintf(f->why, sizeof(f->why), "a queue of somebody else has changed");
		return false;
	}
	if (!fuzz_window_is_sound(f)) {
		snprintf(f->why, sizeof(f->why), "a key of somebody else has changed");
		return false;
	}
	for (page = FUZZ_FIRST_SHARED; page < FUZZ_PAGES; page++)
		if (!fuzz_page_is_sound(f, page))
			return false;
	return true;
}

static void fuzz_end(void *fuzz)
{
	struct fuzz *f = fuzz;
	unsigned int i;

	vhca_fabric_leave(f->v);
	fuzz_now = NULL;
	for (i = 0; i <= FUZZ_KEPT; i++) {
		kfree(f->kept_in[i]);
		kfree(f->kept_out[i]);
	}
	free_pages((unsigned long)f->memory, FUZZ_LOG_PAGES);
}

/**
 * fuzz_begin - get ready
 * @test: the test, whose device it is
 *
 * Return: what all the others want; goes with the test
 */
struct fuzz *fuzz_begin(struct kunit *test)
{
	struct fuzz *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->test = test;
	f->v = test->priv;
	f->v->index = FUZZ_INDEX;
	f->v->params.bar_phys = FUZZ_BAR;
	f->memory = (u8 *)__get_free_pages(GFP_KERNEL, FUZZ_LOG_PAGES);
	KUNIT_ASSERT_NOT_NULL(test, f->memory);
	f->start = virt_to_phys(f->memory);
	fuzz_now = f;
	vhca_fabric_join(f->v);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, fuzz_end, f), 0);
	kunit_activate_static_stub(test, vhca_ram, fuzz_ram);
	kunit_activate_static_stub(test, vhca_route_leads_to, fuzz_leads_to);
	return f;
}
