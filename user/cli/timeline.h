/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A timeline: objects as bars from birth to death, what else happens to them as marks,
 * what ends many at once as vertical lines, and the rows that all these are drawn in.
 *
 * Where something is on the axis is told by the index of an event, from which its time
 * follows: so two things are never in the same place unless one event made both.
 */
#ifndef UOBJSCOPE_CLI_TIMELINE_H
#define UOBJSCOPE_CLI_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "trace.h"

/** define NONE - an index of nothing */
#define NONE	((size_t)-1)

/** enum kind - what a bar is; in the order of rows of one family */
enum kind {
	KIND_TEST,
	KIND_UFILE,
	KIND_UOBJECT,
	KIND_ENTRY,
	KIND_MAPPING,
	KIND_DMABUF,
	KIND_ATTACHMENT,
	KIND_DMA_MAPPING,
	NR_KINDS
};

/**
 * struct kind_info - of a kind
 * @name:	for a person
 * @key:	field of its events that says which one it is; NULL for a test
 * @birth:	name of the event
 * @death:	name of the event
 * @color:	of its bars, "#rrggbb"
 * @ink:	of text on them
 */
struct kind_info {
	const char *name;
	const char *key;
	const char *birth;
	const char *death;
	const char *color;
	const char *ink;
};

extern const struct kind_info kinds[NR_KINDS];

/** enum line_kind - what a vertical line is about */
enum line_kind {
	LINE_REVOKE,
	LINE_UNBIND,
	LINE_FAULT,
	LINE_LOST,
	NR_LINE_KINDS
};

/**
 * struct line_info - of a kind of line
 * @name:	for a person
 * @color:	of it, "#rrggbb"
 */
struct line_info {
	const char *name;
	const char *color;
};

extern const struct line_info line_kinds[NR_LINE_KINDS];

/** enum bar_edge - why a bar begins or ends where it does */
enum bar_edge {
	EDGE_EVENT,	/* the event of its birth or death */
	EDGE_CUT,	/* the trace begins later, or ends earlier */
	EDGE_LOST,	/* the event did not come: it was then at the latest, or earliest */
	EDGE_NEVER,	/* never committed: there is no birth */
};

/**
 * struct bar - an object
 * @kind:	of it
 * @id:		what its key says
 * @ufile:	that it belongs to, as text; empty if not known
 * @name:	for a person
 * @type:	bars of one type share rows
 * @seen:	first event that tells of it
 * @head:	event from which it is seen at all, @birth or before it
 * @birth:	event
 * @death:	event
 * @tail:	event until which it is seen, @death or after it
 * @begins:	why at @birth
 * @ends:	why at @death
 * @parent:	bar that it hangs on, or NONE
 * @of:		for a DMABUF, the bar of what it exports, or NONE
 * @depth:	for a DMA mapping, births that have no death yet
 * @freed:	nobody refers to it any more; of a uobject
 * @row:	that it is drawn in
 * @next:	bar that has the same hash
 */
struct bar {
	enum kind kind;
	char id[32];
	char ufile[24];
	char *name;
	char *type;
	size_t seen;
	size_t head;
	size_t birth;
	size_t death;
	size_t tail;
	enum bar_edge begins;
	enum bar_edge ends;
	size_t parent;
	size_t of;
	unsigned int depth;
	bool freed;
	size_t row;
	size_t next;
};

/**
 * struct mark - an event that is neither birth nor death
 * @event:	this
 * @bar:	that it is about, or NONE
 * @row:	that it is drawn in
 */
struct mark {
	size_t event;
	size_t bar;
	size_t row;
};

/**
 * struct line - a moment that concerns all
 * @event:	this
 * @kind:	of it
 * @label:	for a person
 */
struct line {
	size_t event;
	enum line_kind kind;
	char *label;
};

/**
 * struct row - what is drawn side by side
 * @group:	that it belongs to
 * @kind:	of its bars, NR_KINDS if it has marks only
 * @label:	for a person
 */
struct row {
	size_t group;
	enum kind kind;
	char *label;
};

/**
 * struct group - rows under one heading
 * @label:	for a person
 * @first:	row
 */
struct group {
	char *label;
	size_t first;
};

/**
 * struct timeline - all of it
 * @trace:	what it is made of
 * @bars:	these, in the order of their first events
 * @nr_bars:	their number
 * @marks:	these
 * @nr_marks:	their number
 * @lines:	these
 * @nr_lines:	their number
 * @rows:	these, of one group after the other
 * @nr_rows:	their number
 * @groups:	these
 * @nr_groups:	their number
 * @index:	last bar of each hash, while the timeline is made
 * @room:	of each of the arrays above, in that order
 */
struct timeline {
	struct trace trace;
	struct bar *bars;
	size_t nr_bars;
	struct mark *marks;
	size_t nr_marks;
	struct line *lines;
	size_t nr_lines;
	struct row *rows;
	size_t nr_rows;
	struct group *groups;
	size_t nr_groups;
	size_t *index;
	size_t room[5];
};

/**
 * timeline_add() - room for one more in an array
 * @array:	of the timeline's
 * @room:	for so many
 * @count:	of them; one more afterwards
 * @size:	of one
 *
 * Return: the array, which may have moved, with the new one all zero.
 */
void *timeline_add(void *array, size_t *room, size_t *count, size_t size);

/**
 * timeline_make() - bars, marks and lines of a trace
 * @timeline:	all zero but for the trace
 */
void timeline_make(struct timeline *timeline);

/**
 * timeline_lay_out() - give bars and marks their rows
 * @timeline:	of timeline_make()
 *
 * Bars of one row are not together at any event.  A bar is above all that hangs on it.
 */
void timeline_lay_out(struct timeline *timeline);

/**
 * timeline_us() - when an event was
 * @timeline:	the timeline
 * @event:	index
 *
 * Return: microseconds since the first one.
 */
double timeline_us(const struct timeline *timeline, size_t event);

/**
 * timeline_free() - give all back
 * @timeline:	its trace as well
 */
void timeline_free(struct timeline *timeline);

/* Writers.  by_order: one event has as much room as another, however long it took. */
void timeline_perfetto(const struct timeline *timeline, FILE *out);
void timeline_svg(const struct timeline *timeline, const char *title, bool by_order, FILE *out);
void timeline_html(const struct timeline *timeline, const char *title, bool by_order, FILE *out);

#endif
