// SPDX-License-Identifier: GPL-2.0
/*
 * Sorted arrays that make look-ups fast.  All of them are built when a snapshot
 * is loaded, so that a look-up allocates nothing and cannot fail.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Which records an index holds, and by which keys. */
struct index_info {
	enum uobjscope_type type;
	enum uobjscope_key first;
	enum uobjscope_key second;
};

#define NONE UOBJSCOPE_KEYS

static const struct index_info index_info[UOBJSCOPE_INDEXES] = {
	[UOBJSCOPE_UFILES_BY_ID] = { UOBJSCOPE_UFILE, UOBJSCOPE_KEY_ID, NONE },
	[UOBJSCOPE_UFILES_BY_PID] = { UOBJSCOPE_UFILE, UOBJSCOPE_KEY_PID, NONE },
	[UOBJSCOPE_UOBJS_BY_UFILE] = { UOBJSCOPE_UOBJ, UOBJSCOPE_KEY_UFILE,
				       UOBJSCOPE_KEY_HANDLE },
	[UOBJSCOPE_UOBJS_BY_INO] = { UOBJSCOPE_UOBJ, UOBJSCOPE_KEY_INO, NONE },
	[UOBJSCOPE_UOBJS_BY_ENTRY] = { UOBJSCOPE_UOBJ, UOBJSCOPE_KEY_ENTRY, NONE },
	[UOBJSCOPE_UOBJS_BY_MRN] = { UOBJSCOPE_UOBJ, UOBJSCOPE_KEY_MRN, NONE },
	[UOBJSCOPE_UOBJS_BY_PDN] = { UOBJSCOPE_UOBJ, UOBJSCOPE_KEY_PDN, NONE },
	[UOBJSCOPE_UOBJS_BY_OBJECT] = { UOBJSCOPE_UOBJ, UOBJSCOPE_KEY_OBJECT, NONE },
	[UOBJSCOPE_UOBJS_BY_DM] = { UOBJSCOPE_UOBJ, UOBJSCOPE_KEY_DM, NONE },
	[UOBJSCOPE_MMAPS_BY_UFILE] = { UOBJSCOPE_MMAP, UOBJSCOPE_KEY_UFILE,
				       UOBJSCOPE_KEY_PGOFF },
	[UOBJSCOPE_MMAPS_BY_ENTRY] = { UOBJSCOPE_MMAP, UOBJSCOPE_KEY_ENTRY, NONE },
	[UOBJSCOPE_MMAPS_BY_OBJECT] = { UOBJSCOPE_MMAP, UOBJSCOPE_KEY_OBJECT, NONE },
	[UOBJSCOPE_VMAS_BY_UFILE] = { UOBJSCOPE_VMA, UOBJSCOPE_KEY_UFILE,
				      UOBJSCOPE_KEY_START },
	[UOBJSCOPE_VMAS_BY_PID] = { UOBJSCOPE_VMA, UOBJSCOPE_KEY_PID,
				    UOBJSCOPE_KEY_START },
	[UOBJSCOPE_VMAS_BY_ENTRY] = { UOBJSCOPE_VMA, UOBJSCOPE_KEY_ENTRY, NONE },
	[UOBJSCOPE_ATTACHES_BY_UFILE] = { UOBJSCOPE_ATTACH, UOBJSCOPE_KEY_UFILE, NONE },
	[UOBJSCOPE_ATTACHES_BY_INO] = { UOBJSCOPE_ATTACH, UOBJSCOPE_KEY_INO, NONE },
	[UOBJSCOPE_FDS_BY_PID] = { UOBJSCOPE_FD, UOBJSCOPE_KEY_PID, UOBJSCOPE_KEY_FD },
	[UOBJSCOPE_FDS_BY_UFILE] = { UOBJSCOPE_FD, UOBJSCOPE_KEY_UFILE, NONE },
	[UOBJSCOPE_FDS_BY_INO] = { UOBJSCOPE_FD, UOBJSCOPE_KEY_INO, NONE },
};

static int compare_number(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_items(const void *a, const void *b)
{
	const struct index_item *x = a, *y = b;
	int c = compare_number(x->first, y->first);

	if (!c)
		c = compare_number(x->second, y->second);
	/* Records of one part lie in the order of their lines. */
	if (!c)
		c = compare_number((uintptr_t)x->record, (uintptr_t)y->record);
	return c;
}

static int build_index(struct index *index, const struct index_info *info,
		       const struct uobjscope_record **records, size_t count)
{
	bool sorted = true;

	index->items = malloc((count + 1) * sizeof(*index->items));
	index->records = malloc((count + 1) * sizeof(*index->records));
	if (!index->items || !index->records)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct index_item *item = &index->items[index->count];

		if (!uobjscope_get(records[i], info->first, &item->first))
			continue;
		if (info->second == NONE ||
		    !uobjscope_get(records[i], info->second, &item->second))
			item->second = UINT64_MAX;
		item->record = records[i];
		if (index->count && compare_items(item - 1, item) > 0)
			sorted = false;
		index->count++;
	}
	/* The kernel prints most records in order. */
	if (!sorted)
		qsort(index->items, index->count, sizeof(*index->items), compare_items);
	for (size_t i = 0; i < index->count; i++)
		index->records[i] = index->items[i].record;
	return 0;
}

static int collect_records(struct uobjscope *scope)
{
	size_t count[UOBJSCOPE_TYPES] = { 0 };

	for (struct part *part = scope->parts; part; part = part->next) {
		for (size_t i = 0; i < part->count; i++)
			count[part->records[i].type]++;
		scope->sections |= part->sections;
		for (size_t i = 0; i < ARRAY_SIZE(scope->headers); i++)
			if (part->sections & uobjscope_section_info[i].section)
				scope->headers[i] = &part->headers[i];
	}
	for (int type = 0; type < UOBJSCOPE_TYPES; type++) {
		scope->by_type[type] = malloc((count[type] + 1) * sizeof(*scope->by_type[type]));
		if (!scope->by_type[type])
			return -1;
	}
	for (struct part *part = scope->parts; part; part = part->next)
		for (size_t i = 0; i < part->count; i++) {
			const struct uobjscope_record *record = &part->records[i];
			uint64_t changed;

			scope->by_type[record->type][scope->count[record->type]++] = record;
			if (record->type == UOBJSCOPE_UFILE &&
			    uobjscope_get(record, UOBJSCOPE_KEY_CHANGED, &changed))
				scope->changed += changed;
		}
	return 0;
}

static void free_lookup(struct uobjscope *scope)
{
	for (int type = 0; type < UOBJSCOPE_TYPES; type++)
		free(scope->by_type[type]);
	for (int i = 0; i < UOBJSCOPE_INDEXES; i++) {
		free(scope->indexes[i].items);
		free(scope->indexes[i].records);
	}
}

/* Two ufiles of one id could not be told apart, so such a text is refused. */
static int check_identities(const struct uobjscope *scope, const char *name,
			    struct uobjscope_error *error)
{
	const struct index *index = &scope->indexes[UOBJSCOPE_UFILES_BY_ID];

	for (size_t i = 1; i < index->count; i++)
		if (index->items[i - 1].first == index->items[i].first)
			return uobjscope_fail(error, UOBJSCOPE_ERR_SYNTAX,
					      index->records[i]->line,
					      "%s: line %lu: ufile %llu is there twice",
					      name, index->records[i]->line,
					      (unsigned long long)index->items[i].first);
	return 0;
}

int uobjscope_build(struct uobjscope *scope, const char *name, struct uobjscope_error *error)
{
	struct uobjscope built = { .parts = scope->parts };
	int ret = collect_records(&built);

	for (int i = 0; i < UOBJSCOPE_INDEXES && !ret; i++) {
		enum uobjscope_type type = index_info[i].type;

		ret = build_index(&built.indexes[i], &index_info[i],
				  built.by_type[type], built.count[type]);
	}
	if (ret)
		uobjscope_nomem(error, name);
	else
		ret = check_identities(&built, name, error);
	if (ret) {
		free_lookup(&built);
		return -1;
	}
	free_lookup(scope);
	*scope = built;
	return 0;
}

void uobjscope_free(struct uobjscope *scope)
{
	if (!scope)
		return;
	free_lookup(scope);
	while (scope->parts) {
		struct part *part = scope->parts;

		scope->parts = part->next;
		uobjscope_free_part(part);
	}
	free(scope);
}

/* First item that is not below (first, second). */
static size_t lower_bound(const struct index *index, uint64_t first, uint64_t second)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct index_item *item = &index->items[middle];

		if (item->first < first || (item->first == first && item->second < second))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct uobjscope_group uobjscope_find(const struct uobjscope *scope,
				      enum uobjscope_index which, uint64_t value)
{
	const struct index *index = &scope->indexes[which];
	size_t begin = lower_bound(index, value, 0);
	size_t end = value == UINT64_MAX ? index->count : lower_bound(index, value + 1, 0);

	return (struct uobjscope_group) { value, index->records + begin, end - begin };
}

struct uobjscope_group uobjscope_find_both(const struct uobjscope *scope,
					   enum uobjscope_index which,
					   uint64_t first, uint64_t second)
{
	const struct index *index = &scope->indexes[which];
	size_t begin = lower_bound(index, first, second);
	size_t end = begin;

	while (end < index->count && index->items[end].first == first &&
	       index->items[end].second == second &&
	       uobjscope_has(index->records[end], index_info[which].second))
		end++;
	return (struct uobjscope_group) { first, index->records + begin, end - begin };
}

int uobjscope_groups(const struct uobjscope *scope, enum uobjscope_index which,
		     struct uobjscope_group **groups, size_t *count)
{
	const struct index *index = &scope->indexes[which];
	size_t n = 0;

	*count = 0;
	*groups = malloc((index->count + 1) * sizeof(**groups));
	if (!*groups)
		return -1;
	for (size_t i = 0; i < index->count; i++) {
		if (!i || index->items[i].first != index->items[i - 1].first)
			(*groups)[n++] = (struct uobjscope_group) {
				index->items[i].first, index->records + i, 0
			};
		(*groups)[n - 1].count++;
	}
	*count = n;
	return 0;
}
