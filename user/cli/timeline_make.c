// SPDX-License-Identifier: GPL-2.0
/*
 * What a trace says of objects: their bars, the marks on these, and the lines.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "timeline.h"

/* Of bars that are looked up by what their key says. */
#define INDEX_SIZE	4096

/* The hardware object of a uobject goes with uobject_destroyed, unless that failed. */
const struct kind_info kinds[NR_KINDS] = {
	[KIND_TEST] = { "test", NULL, NULL, NULL, "#dfe3e8", "#1c2430" },
	[KIND_UFILE] = { "ufile", "ufile", "ufile_open", "ufile_release", "#5d6b7c", "#ffffff" },
	[KIND_UOBJECT] = { "uobject", "uobject", "uobject_commit", "uobject_destroyed", "#2f6fb3",
			   "#ffffff" },
	[KIND_ENTRY] = { "mmap entry", "entry", "mmap_entry_insert", "mmap_entry_free", "#1f8a70",
			 "#ffffff" },
	[KIND_MAPPING] = { "mapping", "vma", "vma_open", "vma_close", "#e0a21b", "#1c2430" },
	[KIND_DMABUF] = { "dma-buf", "dmabuf", "dmabuf_export", "dmabuf_release", "#8357a8",
			  "#ffffff" },
	[KIND_ATTACHMENT] = { "attachment", "attachment", "dmabuf_attach", "dmabuf_detach",
			      "#c0679b", "#ffffff" },
	[KIND_DMA_MAPPING] = { "dma mapping", "attachment", "dmabuf_map", "dmabuf_unmap",
			       "#e3b3cd", "#1c2430" },
};

const struct line_info line_kinds[NR_LINE_KINDS] = {
	[LINE_REVOKE] = { "revoke", "#8357a8" },
	[LINE_UNBIND] = { "unbind", "#c2571a" },
	[LINE_FAULT] = { "fault", "#c8102e" },
	[LINE_LOST] = { "events lost", "#777777" },
};

/* Which key says what an event is about that is neither birth nor death. */
static const struct {
	const char *event;
	enum kind kind;
} subjects[] = {
	{ "uobject_", KIND_UOBJECT }, { "ufile_", KIND_UFILE }, { "mmap_entry_", KIND_ENTRY },
	{ "var_free", KIND_ENTRY }, { "vma_", KIND_MAPPING }, { "dmabuf_", KIND_DMABUF },
};

static const struct trace_event *event_of(const struct timeline *timeline, size_t n)
{
	return &timeline->trace.events[n];
}

double timeline_us(const struct timeline *timeline, size_t event)
{
	return timeline->trace.events[event].us - timeline->trace.events[0].us;
}

void *timeline_add(void *array, size_t *room, size_t *count, size_t size)
{
	if (*count == *room) {
		*room = *room ? 2 * *room : 64;
		array = need(realloc(array, *room * size));
	}
	memset((char *)array + (*count)++ * size, 0, size);
	return array;
}

static size_t *bucket(struct timeline *timeline, enum kind kind, const char *id)
{
	unsigned int hash = kind;

	for (; *id; id++)
		hash = hash * 31 + (unsigned char)*id;
	return &timeline->index[hash % INDEX_SIZE];
}

/* The last one that had this key: it is there, or was; else NONE. */
static size_t find_bar(struct timeline *timeline, enum kind kind, const char *id)
{
	size_t n;

	for (n = *bucket(timeline, kind, id); n != NONE; n = timeline->bars[n].next)
		if (timeline->bars[n].kind == kind && !strcmp(timeline->bars[n].id, id))
			break;
	return n;
}

static bool is_there(const struct timeline *timeline, size_t bar)
{
	return bar != NONE && timeline->bars[bar].death == NONE;
}

/* One that is there, or NONE. */
static size_t find_live(struct timeline *timeline, enum kind kind, const char *id)
{
	size_t bar = find_bar(timeline, kind, id);

	return is_there(timeline, bar) ? bar : NONE;
}

static char *name_of(enum kind kind, const struct trace_event *event, const char *id)
{
	static const char *const tells[NR_KINDS] = {
		[KIND_ENTRY] = "pgoff", [KIND_MAPPING] = "start", [KIND_DMABUF] = "ino",
		[KIND_ATTACHMENT] = "device", [KIND_DMA_MAPPING] = "device",
	};
	char type[40], handle[24];

	if (kind == KIND_UOBJECT && trace_field(event, "type", type, sizeof(type))) {
		trace_field(event, "handle", handle, sizeof(handle));
		return *handle && strcmp(handle, "-1") ? format("%s %s", type, handle) :
							 format("%s", type);
	}
	if (tells[kind] && trace_field(event, tells[kind], type, sizeof(type)))
		return format("%s %s", kinds[kind].name, type);
	return format("%s %s", kinds[kind].name, id);
}

static size_t new_bar(struct timeline *timeline, enum kind kind, const char *id, size_t at)
{
	const struct trace_event *event = event_of(timeline, at);
	size_t n = timeline->nr_bars, *first = bucket(timeline, kind, id);
	char type[40];
	struct bar *bar;

	timeline->bars = timeline_add(timeline->bars, &timeline->room[0], &timeline->nr_bars,
				      sizeof(*bar));
	bar = &timeline->bars[n];
	bar->kind = kind;
	snprintf(bar->id, sizeof(bar->id), "%s", id);
	trace_field(event, "ufile", bar->ufile, sizeof(bar->ufile));
	bar->name = name_of(kind, event, id);
	if (kind != KIND_UOBJECT || !trace_field(event, "type", type, sizeof(type)))
		snprintf(type, sizeof(type), "%s", kinds[kind].name);
	bar->type = format("%s", type);
	bar->seen = at;
	bar->head = at;
	bar->birth = at;
	bar->death = NONE;
	bar->tail = NONE;
	bar->parent = NONE;
	bar->of = NONE;
	bar->next = *first;
	*first = n;
	return n;
}

/* One whose birth is not among the events: older than these, but not than its ufile. */
static size_t older_bar(struct timeline *timeline, enum kind kind, const char *id, size_t at)
{
	size_t n = new_bar(timeline, kind, id, at), ufile;
	struct bar *bar = &timeline->bars[n];

	bar->head = 0;
	bar->begins = EDGE_CUT;
	ufile = kind == KIND_UFILE ? NONE : find_bar(timeline, KIND_UFILE, bar->ufile);
	if (ufile != NONE && timeline->bars[ufile].begins == EDGE_EVENT) {
		bar->head = timeline->bars[ufile].birth;
		bar->begins = EDGE_LOST;
	}
	bar->birth = bar->head;
	return n;
}

static void end_bar(struct timeline *timeline, size_t n, size_t at, enum bar_edge why)
{
	struct bar *bar = &timeline->bars[n];

	bar->death = at;
	bar->tail = at;
	bar->ends = why;
	if (bar->birth == NONE) {
		bar->birth = bar->head;
		bar->begins = EDGE_NEVER;
	}
}

/* The uobject that a task is making right now, or NONE. */
static size_t find_making(const struct timeline *timeline, const struct trace_event *event)
{
	char ufile[24];
	size_t n, seen = 0;

	trace_field(event, "ufile", ufile, sizeof(ufile));
	/* It is one of the last. */
	for (n = timeline->nr_bars; n-- && seen < 256; seen++) {
		const struct bar *bar = &timeline->bars[n];

		if (bar->kind == KIND_UOBJECT && bar->birth == NONE && bar->death == NONE &&
		    !strcmp(bar->ufile, ufile) &&
		    event_of(timeline, bar->head)->pid == event->pid)
			return n;
	}
	return NONE;
}

static size_t parent_by(struct timeline *timeline, const struct trace_event *event,
			const char *field, enum kind kind)
{
	char id[32];

	return trace_field(event, field, id, sizeof(id)) ? find_live(timeline, kind, id) : NONE;
}

/* What a new bar hangs on. */
static size_t find_parent(struct timeline *timeline, enum kind kind,
			  const struct trace_event *event)
{
	switch (kind) {
	case KIND_ENTRY:
		return find_making(timeline, event);
	case KIND_MAPPING:
		return parent_by(timeline, event, "entry", KIND_ENTRY);
	case KIND_DMABUF:
		return parent_by(timeline, event, "uobject", KIND_UOBJECT);
	case KIND_ATTACHMENT:
		return parent_by(timeline, event, "dmabuf", KIND_DMABUF);
	case KIND_DMA_MAPPING:
		return parent_by(timeline, event, "attachment", KIND_ATTACHMENT);
	default:
		return NONE;
	}
}

static void add_mark(struct timeline *timeline, size_t event, size_t bar)
{
	struct mark *mark;

	timeline->marks = timeline_add(timeline->marks, &timeline->room[1], &timeline->nr_marks,
				       sizeof(*mark));
	mark = &timeline->marks[timeline->nr_marks - 1];
	mark->event = event;
	mark->bar = bar;
	if (bar != NONE && timeline->bars[bar].tail != NONE)
		timeline->bars[bar].tail = event;
}

static void add_line(struct timeline *timeline, size_t event, enum line_kind kind, char *label)
{
	struct line *line;

	timeline->lines = timeline_add(timeline->lines, &timeline->room[2], &timeline->nr_lines,
				       sizeof(*line));
	line = &timeline->lines[timeline->nr_lines - 1];
	line->event = event;
	line->kind = kind;
	line->label = label;
}

static void birth(struct timeline *timeline, enum kind kind, const char *id, size_t at)
{
	const struct trace_event *event = event_of(timeline, at);
	size_t bar = find_live(timeline, kind, id), parent;

	if (bar != NONE && kind == KIND_UOBJECT && timeline->bars[bar].birth == NONE) {
		timeline->bars[bar].birth = at;
		return;
	}
	if (bar != NONE && kind == KIND_DMA_MAPPING) {
		timeline->bars[bar].depth++;
		add_mark(timeline, at, bar);
		return;
	}
	/* The death of the one before, in the same memory, was lost. */
	if (bar != NONE)
		end_bar(timeline, bar, at, EDGE_LOST);
	parent = find_parent(timeline, kind, event);
	bar = new_bar(timeline, kind, id, at);
	timeline->bars[bar].parent = parent;
}

/*
 * A uobject of class fd is destroyed when its ufile is, and once more, with nothing left of
 * it, when its own file is closed.
 */
static bool is_dying(const struct timeline *timeline, size_t bar)
{
	return bar != NONE && timeline->bars[bar].kind == KIND_UOBJECT &&
	       !timeline->bars[bar].freed;
}

static void death(struct timeline *timeline, enum kind kind, const char *id, size_t at)
{
	size_t bar = find_bar(timeline, kind, id);
	char ret[16];
	bool refused;

	if (!is_there(timeline, bar) && !is_dying(timeline, bar))
		bar = older_bar(timeline, kind, id, at);
	refused = trace_field(event_of(timeline, at), "ret", ret, sizeof(ret)) && strcmp(ret, "0");
	if (refused || !is_there(timeline, bar)) {
		/* It could not be destroyed, and lives on, or nothing was left of it. */
		add_mark(timeline, at, bar);
	} else if (kind == KIND_DMA_MAPPING && timeline->bars[bar].depth) {
		timeline->bars[bar].depth--;
		add_mark(timeline, at, bar);
	} else {
		end_bar(timeline, bar, at, EDGE_EVENT);
	}
}

static bool begins_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* A uobject that has its handle and is not there for anybody yet. */
static void take_alloc(struct timeline *timeline, size_t at)
{
	char id[32];
	size_t bar;

	if (!trace_field(event_of(timeline, at), "uobject", id, sizeof(id)))
		return;
	bar = find_live(timeline, KIND_UOBJECT, id);
	if (bar != NONE)
		end_bar(timeline, bar, at, EDGE_LOST);
	bar = new_bar(timeline, KIND_UOBJECT, id, at);
	timeline->bars[bar].birth = NONE;
	add_mark(timeline, at, bar);
}

/* An event that something happens to an object in between, or after its death. */
static void take_mark(struct timeline *timeline, size_t at)
{
	const struct trace_event *event = event_of(timeline, at);
	size_t n, bar = NONE;
	char id[32];

	for (n = 0; n < ARRAY_SIZE(subjects); n++)
		if (begins_with(event->name, subjects[n].event))
			break;
	if (n < ARRAY_SIZE(subjects) &&
	    trace_field(event, kinds[subjects[n].kind].key, id, sizeof(id))) {
		bool is_free = !strcmp(event->name, "uobject_free");

		bar = find_bar(timeline, subjects[n].kind, id);
		if (!is_there(timeline, bar) && !is_dying(timeline, bar) && !is_free &&
		    strcmp(event->name, "var_free"))
			bar = older_bar(timeline, subjects[n].kind, id, at);
		if (is_free && bar != NONE)
			timeline->bars[bar].freed = true;
	}
	add_mark(timeline, at, bar);
}

/* What a DMABUF exports is looked up while it is made. */
static void take_get(struct timeline *timeline, size_t at)
{
	const struct trace_event *event = event_of(timeline, at);
	size_t making = find_making(timeline, event);
	char id[32];

	take_mark(timeline, at);
	if (making == NONE || strcmp(timeline->bars[making].type, "DMABUF"))
		return;
	trace_field(event, "entry", id, sizeof(id));
	timeline->bars[making].of = find_live(timeline, KIND_ENTRY, id);
}

/* The last test that has begun, if it has not ended, or NONE. */
static size_t find_test(const struct timeline *timeline)
{
	size_t n;

	for (n = timeline->nr_bars; n--; )
		if (timeline->bars[n].kind == KIND_TEST)
			return is_there(timeline, n) ? n : NONE;
	return NONE;
}

/* What the suite writes into the log when a test begins and when it has ended. */
static bool take_marker(struct timeline *timeline, size_t at)
{
	const char *text = strstr(event_of(timeline, at)->fields, "uobjscope: ");
	size_t bar;

	if (!text)
		return false;
	text += strlen("uobjscope: ");
	if (begins_with(text, "begin ")) {
		bar = find_test(timeline);
		/* It came to no end of its own. */
		if (bar != NONE)
			end_bar(timeline, bar, at - 1, EDGE_LOST);
		bar = new_bar(timeline, KIND_TEST, "", at);
		free(timeline->bars[bar].name);
		timeline->bars[bar].name = format("%s", text + strlen("begin "));
		return true;
	}
	if (begins_with(text, "end ")) {
		bar = find_test(timeline);
		if (bar != NONE && !strcmp(timeline->bars[bar].name, text + strlen("end ")))
			end_bar(timeline, bar, at, EDGE_EVENT);
		return true;
	}
	return begins_with(text, "program") || begins_with(text, "expect ");
}

/* A line of the kernel's log. */
static void take_console(struct timeline *timeline, size_t at)
{
	static const char *const reports[] = {
		"WARNING:", "BUG:", "BUG ", "Oops:", "UBSAN:", "refcount_t:", "DMA-API: ", "INFO: ",
		"violation", "left at teardown", "general protection fault", "Kernel panic",
	};
	const char *text = event_of(timeline, at)->fields;
	size_t n;

	if (take_marker(timeline, at))
		return;
	add_mark(timeline, at, NONE);
	for (n = 0; n < ARRAY_SIZE(reports); n++) {
		if (!strstr(text, reports[n]))
			continue;
		add_line(timeline, at, LINE_FAULT, format("%s", text));
		return;
	}
}

/* The name of the object that an event is about. */
static char *name_in(struct timeline *timeline, const struct trace_event *event,
		     const char *key, enum kind kind)
{
	char id[32];
	size_t bar;

	trace_field(event, key, id, sizeof(id));
	bar = find_bar(timeline, kind, id);
	return format("%s", bar == NONE ? id : timeline->bars[bar].name);
}

/* What is seen in all rows. */
static void take_line(struct timeline *timeline, size_t at)
{
	const struct trace_event *event = event_of(timeline, at);
	char text[40], name[48], *of;

	if (!strcmp(event->name, "dmabuf_revoke")) {
		of = name_in(timeline, event, "dmabuf", KIND_DMABUF);
		add_line(timeline, at, LINE_REVOKE, format("revoke %s", of));
		free(of);
	} else if (!strcmp(event->name, "ufile_cleanup") &&
		   trace_field(event, "reason", text, sizeof(text)) &&
		   begins_with(text, "driver_")) {
		trace_field(event, "ufile", name, sizeof(name));
		add_line(timeline, at, LINE_UNBIND, format("unbind, ufile %s", name));
	} else if (!strcmp(event->name, "command") &&
		   trace_field(event, "status", text, sizeof(text)) && strcmp(text, "0x0")) {
		trace_field(event, "name", name, sizeof(name));
		add_line(timeline, at, LINE_FAULT, format("%s status %s", name, text));
	}
}

/* Its ufile has a bar, if it was open before the trace began as well. */
static void take_ufile(struct timeline *timeline, size_t at)
{
	char ufile[24];

	if (trace_field(event_of(timeline, at), "ufile", ufile, sizeof(ufile)) &&
	    strcmp(ufile, "0") && strcmp(event_of(timeline, at)->name, "ufile_open") &&
	    find_bar(timeline, KIND_UFILE, ufile) == NONE)
		older_bar(timeline, KIND_UFILE, ufile, at);
}

static void take_object(struct timeline *timeline, size_t at)
{
	const struct trace_event *event = event_of(timeline, at);
	char id[32];
	size_t n;

	for (n = 0; n < NR_KINDS; n++) {
		if (!kinds[n].key || !trace_field(event, kinds[n].key, id, sizeof(id)))
			continue;
		if (!strcmp(event->name, kinds[n].birth))
			return birth(timeline, n, id, at);
		if (!strcmp(event->name, kinds[n].death))
			return death(timeline, n, id, at);
	}
	if (!strcmp(event->name, "console"))
		take_console(timeline, at);
	else if (!strcmp(event->name, "uobject_alloc"))
		take_alloc(timeline, at);
	else if (!strcmp(event->name, "mmap_entry_get"))
		take_get(timeline, at);
	else
		take_mark(timeline, at);
}

static void take(struct timeline *timeline, size_t at)
{
	if (event_of(timeline, at)->after_lost)
		add_line(timeline, at, LINE_LOST, format("events lost"));
	take_ufile(timeline, at);
	take_object(timeline, at);
	/* What it is about has a name now. */
	take_line(timeline, at);
}

/* A dma-buf is known by what it was made of. */
static void name_dmabufs(struct timeline *timeline)
{
	size_t n, of;

	for (n = 0; n < timeline->nr_bars; n++) {
		struct bar *bar = &timeline->bars[n];
		char *name;

		of = bar->of;
		if (of == NONE)
			continue;
		if (timeline->bars[of].parent != NONE)
			of = timeline->bars[of].parent;
		name = format("%s of %s", bar->name, timeline->bars[of].name);
		free(bar->name);
		bar->name = name;
	}
}

void timeline_make(struct timeline *timeline)
{
	size_t n;

	timeline->index = need(malloc(INDEX_SIZE * sizeof(*timeline->index)));
	for (n = 0; n < INDEX_SIZE; n++)
		timeline->index[n] = NONE;
	for (n = 0; n < timeline->trace.count; n++)
		take(timeline, n);
	for (n = 0; n < timeline->nr_bars; n++)
		if (is_there(timeline, n))
			end_bar(timeline, n, timeline->trace.count - 1, EDGE_CUT);
	free(timeline->index);
	timeline->index = NULL;
	name_dmabufs(timeline);
}

void timeline_free(struct timeline *timeline)
{
	size_t n;

	for (n = 0; n < timeline->nr_bars; n++) {
		free(timeline->bars[n].name);
		free(timeline->bars[n].type);
	}
	for (n = 0; n < timeline->nr_lines; n++)
		free(timeline->lines[n].label);
	for (n = 0; n < timeline->nr_rows; n++)
		free(timeline->rows[n].label);
	for (n = 0; n < timeline->nr_groups; n++)
		free(timeline->groups[n].label);
	free(timeline->bars);
	free(timeline->marks);
	free(timeline->lines);
	free(timeline->rows);
	free(timeline->groups);
	trace_free(&timeline->trace);
	memset(timeline, 0, sizeof(*timeline));
}
