// SPDX-License-Identifier: GPL-2.0
/*
 * What differs between two snapshots.
 *
 * The records of either side are sorted by what identifies them, and the two
 * sorted arrays are merged.  Most groups of one identity have one record on
 * either side.  For the others (objects that have no identity of their own, such
 * as completion channels) equal records are taken away first; what is left is
 * a change only where there is no choice whom to pair with whom.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/**
 * struct identity - a record and what identifies it
 * @scope:	its snapshot
 * @record:	the record
 * @number:	what identifies it, by type; all of it must be equal
 * @name:	the same, as text, or NULL
 * @detail:	text that tells records of one identity apart, or NULL
 * @detail_number: the same, as a number
 */
struct identity {
	const struct uobjscope *scope;
	const struct uobjscope_record *record;
	uint64_t number[3];
	const char *name;
	const char *detail[2];
	uint64_t detail_number;
};

struct uobjscope_diff {
	const struct uobjscope *before;
	const struct uobjscope *after;
	struct uobjscope_change *changes;
	size_t count;
	size_t room;
};

static int compare_number(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_text(const char *a, const char *b)
{
	if (!a || !b)
		return !!a - !!b;
	return strcmp(a, b);
}

/* Whether a key says something of the object, and not of the act of looking. */
static bool is_compared(enum uobjscope_key key)
{
	switch (key) {
	case UOBJSCOPE_KEY_TOKEN:
	case UOBJSCOPE_KEY_OBJECT:
	case UOBJSCOPE_KEY_DM:
	case UOBJSCOPE_KEY_FILE:
	case UOBJSCOPE_KEY_CHANGED:
	case UOBJSCOPE_KEY_DEREF:
	case UOBJSCOPE_KEY_OTHER:
		return false;
	default:
		return true;
	}
}

/* A token means something in its own snapshot only, so look at what it names. */
static int compare_entry(const struct uobjscope *a, const struct uobjscope_record *x,
			 const struct uobjscope *b, const struct uobjscope_record *y)
{
	const struct uobjscope_record *m = uobjscope_entry_of(a, x);
	const struct uobjscope_record *n = uobjscope_entry_of(b, y);
	uint64_t p = 0, q = 0;

	if (!m || !n) {
		int c = !!m - !!n;

		if (c)
			return c;
		return uobjscope_has(x, UOBJSCOPE_KEY_ENTRY) -
		       uobjscope_has(y, UOBJSCOPE_KEY_ENTRY);
	}
	uobjscope_get(m, UOBJSCOPE_KEY_PGOFF, &p);
	uobjscope_get(n, UOBJSCOPE_KEY_PGOFF, &q);
	return compare_number(p, q);
}

static int compare_field(const struct uobjscope *a, const struct uobjscope_record *x,
			 const struct uobjscope *b, const struct uobjscope_record *y,
			 enum uobjscope_key key)
{
	const struct uobjscope_field *f = uobjscope_field(x, key);
	const struct uobjscope_field *g = uobjscope_field(y, key);

	if (!f || !g)
		return !!f - !!g;
	if (key == UOBJSCOPE_KEY_ENTRY)
		return x->type == UOBJSCOPE_MMAP ? 0 : compare_entry(a, x, b, y);
	if (f->none || g->none)
		return f->none - g->none;
	if (f->form == UOBJSCOPE_FORM_STRING)
		return strcmp(f->text, g->text);
	return compare_number(f->value, g->value);
}

/* First compared key from @key on that differs; *order tells how. */
static enum uobjscope_key first_difference(const struct uobjscope *a,
					   const struct uobjscope_record *x,
					   const struct uobjscope *b,
					   const struct uobjscope_record *y,
					   enum uobjscope_key key, int *order)
{
	size_t i = 0, j = 0;

	for (;;) {
		enum uobjscope_key next;

		while (i < x->count && (x->fields[i].key < key || !is_compared(x->fields[i].key)))
			i++;
		while (j < y->count && (y->fields[j].key < key || !is_compared(y->fields[j].key)))
			j++;
		if (i == x->count && j == y->count)
			return UOBJSCOPE_KEYS;
		if (i == x->count)
			next = y->fields[j].key;
		else if (j == y->count || x->fields[i].key < y->fields[j].key)
			next = x->fields[i].key;
		else
			next = y->fields[j].key;
		*order = compare_field(a, x, b, y, next);
		if (*order)
			return next;
		key = next + 1;
	}
}

static int compare_content(const struct identity *a, const struct identity *b)
{
	int order = 0;

	first_difference(a->scope, a->record, b->scope, b->record, 0, &order);
	return order;
}

static int compare_identity(const struct identity *a, const struct identity *b)
{
	int c = 0;

	for (size_t i = 0; i < ARRAY_SIZE(a->number) && !c; i++)
		c = compare_number(a->number[i], b->number[i]);
	return c ? c : compare_text(a->name, b->name);
}

static int compare_detail(const struct identity *a, const struct identity *b)
{
	int c = compare_text(a->detail[0], b->detail[0]);

	if (!c)
		c = compare_text(a->detail[1], b->detail[1]);
	return c ? c : compare_number(a->detail_number, b->detail_number);
}

static int compare_all(const void *x, const void *y)
{
	const struct identity *a = x, *b = y;
	int c = compare_identity(a, b);

	if (!c)
		c = compare_detail(a, b);
	return c ? c : compare_content(a, b);
}

/* A number that is one more than the key's, so that 0 stands for "none". */
static uint64_t number_or_none(const struct uobjscope_record *record, enum uobjscope_key key)
{
	uint64_t value;

	return uobjscope_get(record, key, &value) ? value + 1 : 0;
}

static void identify_uobj(struct identity *id)
{
	const struct uobjscope_record *record = id->record;
	uint64_t type = number_or_none(record, UOBJSCOPE_KEY_TYPE_ID);

	id->number[0] = number_or_none(record, UOBJSCOPE_KEY_UFILE);
	/* The driver's types lose their names with the device, not their numbers. */
	id->number[1] = type;
	if (!type)
		id->name = uobjscope_text(record, UOBJSCOPE_KEY_TYPE);
	id->number[2] = number_or_none(record, UOBJSCOPE_KEY_HANDLE);
	if (!id->number[2])
		id->number[2] = number_or_none(record, UOBJSCOPE_KEY_INO);
}

static void identify(struct identity *id, const struct uobjscope *scope,
		     const struct uobjscope_record *record)
{
	*id = (struct identity) { .scope = scope, .record = record };
	switch (record->type) {
	case UOBJSCOPE_DEVICE:
		id->name = uobjscope_text(record, UOBJSCOPE_KEY_NAME);
		break;
	case UOBJSCOPE_UFILE:
		id->number[0] = number_or_none(record, UOBJSCOPE_KEY_ID);
		break;
	case UOBJSCOPE_UOBJ:
		identify_uobj(id);
		break;
	case UOBJSCOPE_MMAP:
		id->number[0] = number_or_none(record, UOBJSCOPE_KEY_UFILE);
		id->number[1] = number_or_none(record, UOBJSCOPE_KEY_PGOFF);
		break;
	case UOBJSCOPE_VMA:
		id->number[0] = number_or_none(record, UOBJSCOPE_KEY_UFILE);
		id->number[1] = number_or_none(record, UOBJSCOPE_KEY_PID);
		id->number[2] = number_or_none(record, UOBJSCOPE_KEY_START);
		break;
	case UOBJSCOPE_ATTACH:
		id->number[0] = number_or_none(record, UOBJSCOPE_KEY_INO);
		id->detail[0] = uobjscope_text(record, UOBJSCOPE_KEY_DEVICE);
		id->detail[1] = uobjscope_text(record, UOBJSCOPE_KEY_IMPORTER);
		id->detail_number = number_or_none(record, UOBJSCOPE_KEY_MRN);
		break;
	case UOBJSCOPE_FD:
		id->number[0] = number_or_none(record, UOBJSCOPE_KEY_PID);
		id->number[1] = number_or_none(record, UOBJSCOPE_KEY_FD);
		break;
	default:
		break;
	}
}

static struct identity *sorted(const struct uobjscope *scope, enum uobjscope_type type)
{
	size_t count = scope->count[type];
	struct identity *ids = malloc((count + 1) * sizeof(*ids));

	if (!ids)
		return NULL;
	for (size_t i = 0; i < count; i++)
		identify(&ids[i], scope, scope->by_type[type][i]);
	qsort(ids, count, sizeof(*ids), compare_all);
	return ids;
}

static int add(struct uobjscope_diff *diff, const struct identity *before,
	       const struct identity *after)
{
	struct uobjscope_change *change;

	if (diff->count == diff->room) {
		size_t room = diff->room ? diff->room * 2 : 64;

		change = realloc(diff->changes, room * sizeof(*change));
		if (!change)
			return -1;
		diff->changes = change;
		diff->room = room;
	}
	change = &diff->changes[diff->count++];
	change->kind = !before ? UOBJSCOPE_ADDED : !after ? UOBJSCOPE_REMOVED :
							    UOBJSCOPE_CHANGED;
	change->type = (before ? before : after)->record->type;
	change->before = before ? before->record : NULL;
	change->after = after ? after->record : NULL;
	return 0;
}

/*
 * Take equal records of one identity away.  Both arrays are sorted; what is
 * left moves to their front and its numbers are returned in *na and *nb.
 */
static void drop_equal(struct identity *a, size_t *na, struct identity *b, size_t *nb)
{
	size_t i = 0, j = 0, m = 0, n = 0;

	while (i < *na || j < *nb) {
		int c;

		if (i == *na)
			c = 1;
		else if (j == *nb)
			c = -1;
		else
			c = compare_all(&a[i], &b[j]);
		if (c < 0) {
			a[m++] = a[i++];
		} else if (c > 0) {
			b[n++] = b[j++];
		} else {
			i++;
			j++;
		}
	}
	*na = m;
	*nb = n;
}

static size_t same_detail(const struct identity *ids, size_t count)
{
	size_t n = 1;

	while (n < count && !compare_detail(&ids[0], &ids[n]))
		n++;
	return n;
}

/*
 * Records of equal detail are one and the same if there is one on either side.
 * All others are left at the front, as drop_equal() leaves them.
 */
static int pair_details(struct uobjscope_diff *diff, struct identity *a, size_t *na,
			struct identity *b, size_t *nb)
{
	size_t i = 0, j = 0, m = 0, n = 0;

	while (i < *na || j < *nb) {
		size_t x = i < *na ? same_detail(&a[i], *na - i) : 0;
		size_t y = j < *nb ? same_detail(&b[j], *nb - j) : 0;
		int c = !x ? 1 : !y ? -1 : compare_detail(&a[i], &b[j]);

		if (!c && x == 1 && y == 1) {
			if (add(diff, &a[i], &b[j]))
				return -1;
			i++;
			j++;
			continue;
		}
		for (; c <= 0 && x; x--)
			a[m++] = a[i++];
		for (; c >= 0 && y; y--)
			b[n++] = b[j++];
	}
	*na = m;
	*nb = n;
	return 0;
}

static int diff_group(struct uobjscope_diff *diff, struct identity *a, size_t na,
		      struct identity *b, size_t nb)
{
	drop_equal(a, &na, b, &nb);
	if (pair_details(diff, a, &na, b, &nb))
		return -1;
	if (na == 1 && nb == 1)
		return add(diff, a, b);
	for (size_t i = 0; i < na; i++)
		if (add(diff, &a[i], NULL))
			return -1;
	for (size_t i = 0; i < nb; i++)
		if (add(diff, NULL, &b[i]))
			return -1;
	return 0;
}

static size_t same_identity(const struct identity *ids, size_t count)
{
	size_t n = 1;

	while (n < count && !compare_identity(&ids[0], &ids[n]))
		n++;
	return n;
}

static int diff_type(struct uobjscope_diff *diff, enum uobjscope_type type)
{
	struct identity *a = sorted(diff->before, type);
	struct identity *b = sorted(diff->after, type);
	size_t na = diff->before->count[type], nb = diff->after->count[type];
	size_t i = 0, j = 0;
	int ret = a && b ? 0 : -1;

	while (!ret && (i < na || j < nb)) {
		size_t x = i < na ? same_identity(&a[i], na - i) : 0;
		size_t y = j < nb ? same_identity(&b[j], nb - j) : 0;
		int c = !x ? 1 : !y ? -1 : compare_identity(&a[i], &b[j]);

		x = c <= 0 ? x : 0;
		y = c >= 0 ? y : 0;
		ret = diff_group(diff, a + i, x, b + j, y);
		i += x;
		j += y;
	}
	free(a);
	free(b);
	return ret;
}

struct uobjscope_diff *uobjscope_diff(const struct uobjscope *before,
				      const struct uobjscope *after,
				      struct uobjscope_error *error)
{
	struct uobjscope_diff *diff = calloc(1, sizeof(*diff));
	bool fds = before->sections & after->sections & UOBJSCOPE_FDS;

	if (!diff)
		goto nomem;
	diff->before = before;
	diff->after = after;
	for (int type = UOBJSCOPE_DEVICE; type <= UOBJSCOPE_FD; type++)
		if ((type != UOBJSCOPE_FD || fds) && diff_type(diff, type))
			goto nomem;
	return diff;

nomem:
	uobjscope_diff_free(diff);
	uobjscope_nomem(error, "diff");
	return NULL;
}

void uobjscope_diff_free(struct uobjscope_diff *diff)
{
	if (!diff)
		return;
	free(diff->changes);
	free(diff);
}

size_t uobjscope_diff_count(const struct uobjscope_diff *diff)
{
	return diff->count;
}

const struct uobjscope_change *uobjscope_diff_change(const struct uobjscope_diff *diff, size_t n)
{
	return n < diff->count ? &diff->changes[n] : NULL;
}

enum uobjscope_key uobjscope_diff_key(const struct uobjscope_diff *diff,
				      const struct uobjscope_change *change,
				      enum uobjscope_key key)
{
	int order;

	if (change->kind != UOBJSCOPE_CHANGED)
		return UOBJSCOPE_KEYS;
	return first_difference(diff->before, change->before, diff->after, change->after,
				key, &order);
}
