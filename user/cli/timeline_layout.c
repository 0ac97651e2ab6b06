// SPDX-License-Identifier: GPL-2.0
/*
 * Which row each bar is drawn in.
 *
 * A bar and all that hangs on it are a family, which has rows of its own: one above, what
 * hangs on it below.  Families of one type that are not there together have the same rows,
 * one after the other.  Types are below their ufile, and ufiles below their process.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "timeline.h"

/**
 * struct family - a bar and what hangs on it
 * @root:	bar
 * @begin:	first event
 * @end:	last event
 * @rows:	of each kind
 * @base:	first row of each kind
 * @slot:	that it was given, of its type's
 */
struct family {
	size_t root;
	size_t begin;
	size_t end;
	size_t rows[NR_KINDS];
	size_t base[NR_KINDS];
	size_t slot;
};

/**
 * struct slot - rows that families have one after the other
 * @end:	last event of the last one
 * @families:	their number
 * @name:	of the first one
 * @rows:	of each kind
 * @base:	first row of each kind
 */
struct slot {
	size_t end;
	size_t families;
	const char *name;
	size_t rows[NR_KINDS];
	size_t base[NR_KINDS];
};

/**
 * struct layout - what is needed meanwhile
 * @timeline:	the timeline
 * @families:	of all bars
 * @nr_families: their number
 * @room:	for so many
 * @family_of:	of each bar, the index of its family
 */
struct layout {
	struct timeline *timeline;
	struct family *families;
	size_t nr_families;
	size_t room;
	size_t *family_of;
};

static size_t root_of(const struct timeline *timeline, size_t bar)
{
	while (timeline->bars[bar].parent != NONE)
		bar = timeline->bars[bar].parent;
	return bar;
}

static void new_group(struct timeline *timeline, char *label)
{
	struct group *group;

	timeline->groups = timeline_add(timeline->groups, &timeline->room[4],
					&timeline->nr_groups, sizeof(*group));
	group = &timeline->groups[timeline->nr_groups - 1];
	group->label = label;
	group->first = timeline->nr_rows;
}

static size_t new_row(struct timeline *timeline, enum kind kind, char *label)
{
	struct row *row;

	timeline->rows = timeline_add(timeline->rows, &timeline->room[3], &timeline->nr_rows,
				      sizeof(*row));
	row = &timeline->rows[timeline->nr_rows - 1];
	row->group = timeline->nr_groups - 1;
	row->kind = kind;
	row->label = label;
	return timeline->nr_rows - 1;
}

static struct layout *sorted_layout;

static int by_begin(const void *a, const void *b)
{
	const struct bar *bars = sorted_layout->timeline->bars;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (bars[x].head != bars[y].head)
		return bars[x].head < bars[y].head ? -1 : 1;
	return x < y ? -1 : 1;
}

/* Indices of all bars, in the order of their heads. */
static size_t *sort_bars(struct layout *layout)
{
	const size_t count = layout->timeline->nr_bars;
	size_t *sorted = need(malloc((count + 1) * sizeof(*sorted))), n;

	for (n = 0; n < count; n++)
		sorted[n] = n;
	sorted_layout = layout;
	qsort(sorted, count, sizeof(*sorted), by_begin);
	return sorted;
}

static void make_families(struct layout *layout)
{
	struct timeline *timeline = layout->timeline;
	size_t n, root;

	layout->family_of = need(malloc((timeline->nr_bars + 1) * sizeof(size_t)));
	for (n = 0; n < timeline->nr_bars; n++)
		layout->family_of[n] = NONE;
	for (n = 0; n < timeline->nr_bars; n++) {
		struct family *family;

		root = root_of(timeline, n);
		if (layout->family_of[root] == NONE) {
			layout->families = timeline_add(layout->families, &layout->room,
							&layout->nr_families, sizeof(*family));
			layout->family_of[root] = layout->nr_families - 1;
			layout->families[layout->nr_families - 1].root = root;
			layout->families[layout->nr_families - 1].begin = NONE;
		}
		layout->family_of[n] = layout->family_of[root];
		family = &layout->families[layout->family_of[n]];
		if (timeline->bars[n].head < family->begin)
			family->begin = timeline->bars[n].head;
		if (timeline->bars[n].tail > family->end)
			family->end = timeline->bars[n].tail;
	}
}

/*
 * Bars of one kind in one family: each in the first row that is free.  Meanwhile the row of a
 * bar is the number among those of its kind in the family.
 */
static void lay_out_families(struct layout *layout, const size_t *sorted)
{
	struct timeline *timeline = layout->timeline;
	size_t n, i;

	/* Ends of the rows: of one family and kind at NR_KINDS * family + kind. */
	struct ends {
		size_t *of;
		size_t room;
		size_t count;
	} *all = need(calloc(layout->nr_families * NR_KINDS + 1, sizeof(*all)));

	for (n = 0; n < timeline->nr_bars; n++) {
		struct bar *bar = &timeline->bars[sorted[n]];
		size_t family = layout->family_of[sorted[n]];
		struct ends *ends = &all[family * NR_KINDS + bar->kind];

		for (i = 0; i < ends->count; i++)
			if (ends->of[i] < bar->head)
				break;
		if (i == ends->count)
			ends->of = timeline_add(ends->of, &ends->room, &ends->count,
						sizeof(*ends->of));
		ends->of[i] = bar->tail;
		bar->row = i;
		layout->families[family].rows[bar->kind] = ends->count;
	}
	for (n = 0; n < layout->nr_families * NR_KINDS; n++)
		free(all[n].of);
	free(all);
}

static char *row_label(const struct slot *slot, enum kind kind, const struct bar *root)
{
	if (kind != root->kind)
		return format("  %s", kinds[kind].name);
	if (slot->families == 1)
		return format("%s", slot->name);
	return format("%s (%zu)", root->type, slot->families);
}

/* All families of one ufile and one type; members are their indices, in order. */
static void lay_out_type(struct layout *layout, const size_t *members, size_t count)
{
	struct timeline *timeline = layout->timeline;
	const struct bar *root = &timeline->bars[layout->families[members[0]].root];
	struct slot *slots = NULL;
	size_t n, i, kind, room = 0, nr_slots = 0;

	for (n = 0; n < count; n++) {
		struct family *family = &layout->families[members[n]];

		for (i = 0; i < nr_slots; i++)
			if (slots[i].end < family->begin)
				break;
		if (i == nr_slots) {
			slots = timeline_add(slots, &room, &nr_slots, sizeof(*slots));
			slots[i].name = timeline->bars[family->root].name;
		}
		slots[i].end = family->end;
		slots[i].families++;
		for (kind = 0; kind < NR_KINDS; kind++)
			if (slots[i].rows[kind] < family->rows[kind])
				slots[i].rows[kind] = family->rows[kind];
		family->slot = i;
	}
	for (i = 0; i < nr_slots; i++)
		for (kind = 0; kind < NR_KINDS; kind++)
			for (n = 0; n < slots[i].rows[kind]; n++) {
				size_t row = new_row(timeline, kind,
						     row_label(&slots[i], kind, root));

				if (!n)
					slots[i].base[kind] = row;
			}
	for (n = 0; n < count; n++) {
		struct family *family = &layout->families[members[n]];

		memcpy(family->base, slots[family->slot].base, sizeof(family->base));
	}
	free(slots);
}

/* The types of one ufile, its own first. */
static void lay_out_ufile(struct layout *layout, const size_t *sorted, const char *ufile)
{
	struct timeline *timeline = layout->timeline;
	size_t *members = need(malloc((layout->nr_families + 1) * sizeof(*members)));
	bool *done = need(calloc(layout->nr_families + 1, sizeof(*done)));
	size_t n, m, family, count, pass;

	for (pass = 0; pass < 2; pass++)
		for (n = 0; n < timeline->nr_bars; n++) {
			const struct bar *root = &timeline->bars[sorted[n]];

			family = layout->family_of[sorted[n]];
			if (done[family] || layout->families[family].root != sorted[n] ||
			    root->kind == KIND_TEST || strcmp(root->ufile, ufile) ||
			    (!pass && root->kind != KIND_UFILE))
				continue;
			for (count = 0, m = n; m < timeline->nr_bars; m++) {
				const struct bar *other = &timeline->bars[sorted[m]];

				family = layout->family_of[sorted[m]];
				if (done[family] || layout->families[family].root != sorted[m] ||
				    strcmp(other->ufile, ufile) || strcmp(other->type, root->type))
					continue;
				done[family] = true;
				members[count++] = family;
			}
			lay_out_type(layout, members, count);
		}
	free(done);
	free(members);
}

/* The process of a ufile: who opened it, or who is seen with it first. */
static char *process_of(const struct timeline *timeline, const struct bar *bar)
{
	const struct trace_event *event = &timeline->trace.events[bar->seen];

	if (!*bar->ufile || !strcmp(bar->ufile, "0"))
		return format("not known whose");
	return format("%s (%d)", event->comm, event->pid);
}

/* Processes in the order in which they are seen first. */
static void lay_out_processes(struct layout *layout, const size_t *sorted)
{
	struct timeline *timeline = layout->timeline;
	char **process = need(calloc(timeline->nr_bars + 1, sizeof(*process)));
	size_t n, m;

	/* A bar for each ufile; what has no ufile is one as well. */
	for (n = 0; n < timeline->nr_bars; n++) {
		const struct bar *bar = &timeline->bars[n];
		bool known = *bar->ufile && strcmp(bar->ufile, "0");

		if (bar->kind == KIND_TEST || (known && bar->kind != KIND_UFILE))
			continue;
		for (m = 0; m < n; m++)
			if (process[m] && !strcmp(timeline->bars[m].ufile, bar->ufile))
				break;
		if (m == n)
			process[n] = process_of(timeline, bar);
	}
	for (n = 0; n < timeline->nr_bars; n++) {
		char *label = process[n];

		if (!label)
			continue;
		new_group(timeline, format("%s", label));
		for (m = n; m < timeline->nr_bars; m++) {
			if (!process[m] || strcmp(process[m], label))
				continue;
			lay_out_ufile(layout, sorted, timeline->bars[m].ufile);
			if (m != n)
				free(process[m]);
			process[m] = NULL;
		}
		free(label);
	}
	free(process);
}

static void lay_out_tests(struct layout *layout, const size_t *sorted)
{
	struct timeline *timeline = layout->timeline;
	size_t n, row = NONE;

	for (n = 0; n < timeline->nr_bars; n++) {
		if (timeline->bars[sorted[n]].kind != KIND_TEST)
			continue;
		if (row == NONE) {
			new_group(timeline, format("tests"));
			row = new_row(timeline, KIND_TEST, format("test"));
		}
		layout->families[layout->family_of[sorted[n]]].base[KIND_TEST] = row;
	}
}

/* A row for marks that are about no object. */
static char *mark_label(const struct trace_event *event)
{
	char device[64];

	if (!strcmp(event->name, "console"))
		return format("kernel log");
	if (!strncmp(event->name, "memic_", strlen("memic_")))
		return format("device memory");
	if (strcmp(event->name, "command"))
		return format("others");
	trace_field(event, "device", device, sizeof(device));
	return format("commands %s", device);
}

static void lay_out_marks(struct timeline *timeline)
{
	const size_t first = timeline->nr_rows;
	size_t n, row;

	for (n = 0; n < timeline->nr_marks; n++) {
		struct mark *mark = &timeline->marks[n];
		char *label;

		if (mark->bar != NONE) {
			mark->row = timeline->bars[mark->bar].row;
			continue;
		}
		label = mark_label(&timeline->trace.events[mark->event]);
		for (row = first; row < timeline->nr_rows; row++)
			if (!strcmp(timeline->rows[row].label, label))
				break;
		if (row < timeline->nr_rows) {
			free(label);
		} else {
			if (row == first)
				new_group(timeline, format("device and kernel"));
			row = new_row(timeline, NR_KINDS, label);
		}
		mark->row = row;
	}
}

void timeline_lay_out(struct timeline *timeline)
{
	struct layout layout = { .timeline = timeline };
	size_t *sorted, n;

	make_families(&layout);
	sorted = sort_bars(&layout);
	lay_out_families(&layout, sorted);
	lay_out_tests(&layout, sorted);
	lay_out_processes(&layout, sorted);
	for (n = 0; n < timeline->nr_bars; n++)
		timeline->bars[n].row +=
			layout.families[layout.family_of[n]].base[timeline->bars[n].kind];
	lay_out_marks(timeline);
	free(sorted);
	free(layout.families);
	free(layout.family_of);
}
