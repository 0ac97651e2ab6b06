// SPDX-License-Identifier: GPL-2.0
/*
 * uobjscope timeline: the lifetime events of uobjscope.ko as objects on a time axis, in
 * the form that Perfetto's and Chrome's viewers load ("Trace Event Format").
 *
 * What is read is the text that the kernel's file trace and "trace-cmd report" have:
 *
 *	   program-1234    [001] ..... 12.345678: vma_open: ufile=3 vma=... entry=...
 *
 * A process of the viewer is a ufile.  An object is a bar from the event of its birth to
 * that of its death; one that was there before, or still is at the end, is cut off there,
 * and says so.  All other events are marks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define KERNEL_TRACE	"/sys/kernel/tracing/trace"

/**
 * struct kind - a kind of object
 * @name: for a person
 * @key: field that says which one it is
 * @birth: name of the event
 * @death: name of the event
 */
struct kind {
	const char *name;
	const char *key;
	const char *birth;
	const char *death;
};

/* The hardware object of a uobject goes with uobject_destroyed, unless that failed. */
static const struct kind kinds[] = {
	{ "ufile", "ufile", "ufile_open", "ufile_release" },
	{ "uobject", "uobject", "uobject_commit", "uobject_destroyed" },
	{ "mmap entry", "entry", "mmap_entry_insert", "mmap_entry_free" },
	{ "mapping", "vma", "vma_open", "vma_close" },
	{ "dma-buf", "dmabuf", "dmabuf_export", "dmabuf_release" },
	{ "attachment", "attachment", "dmabuf_attach", "dmabuf_detach" },
	{ "dma mapping", "attachment", "dmabuf_map", "dmabuf_unmap" },
};

/**
 * struct line - a line of the trace
 * @comm: of the task
 * @pid: of the task
 * @us: microseconds
 * @event: its name
 * @fields: the rest, with a blank before each
 */
struct line {
	char comm[32];
	int pid;
	double us;
	char event[48];
	const char *fields;
};

/**
 * struct bar - an object that is there
 * @kind: of it
 * @id: what its key says
 * @ufile: that it belongs to
 * @number: of the bar
 * @name: of the bar
 */
struct bar {
	const struct kind *kind;
	char id[32];
	char ufile[32];
	unsigned int number;
	char *name;
};

/**
 * struct timeline - what is being made
 * @events: the viewer's
 * @bars: of objects that are there
 * @count: of @bars
 * @room: for so many
 * @numbers: bars so far
 * @seen: events so far
 * @begin: first time
 * @end: last time
 */
struct timeline {
	json_object *events;
	struct bar *bars;
	size_t count;
	size_t room;
	unsigned int numbers;
	unsigned long seen;
	double begin;
	double end;
};

/* A field of a line; empty if it is not there. */
static void field(const struct line *line, const char *name, char *value, size_t size)
{
	size_t length = strlen(name);
	const char *at = line->fields;

	*value = 0;
	while ((at = strchr(at, ' '))) {
		at += strspn(at, " ");
		if (strncmp(at, name, length) || at[length] != '=')
			continue;
		at += length + 1;
		snprintf(value, size, "%.*s", (int)strcspn(at, " "), at);
		return;
	}
}

/* Where the task's number ends, if a processor is named there; else NULL. */
static char *find_task_end(char *text, char *cpu)
{
	static const char digits[] = "0123456789";
	char *end = cpu, *at;

	if (cpu[2] == ']' || cpu[2 + strspn(cpu + 2, digits)] != ']')
		return NULL;
	while (end > text && end[-1] == ' ')
		end--;
	for (at = end; at > text && strchr(digits, at[-1]); at--)
		;
	return at < end && at > text && at[-1] == '-' ? end : NULL;
}

/* A task's name may have anything in it. */
static bool parse(char *text, struct line *line)
{
	char *cpu, *dash, *at, *end = NULL;

	text[strcspn(text, "\n")] = 0;
	text += strspn(text, " ");
	for (cpu = strstr(text, " ["); cpu; cpu = strstr(cpu + 1, " [")) {
		end = find_task_end(text, cpu);
		if (end)
			break;
	}
	if (!end)
		return false;
	*end = 0;
	dash = strrchr(text, '-');
	snprintf(line->comm, sizeof(line->comm), "%.*s", (int)(dash - text), text);
	line->pid = atoi(dash + 1);
	/* The time is the first word that is a number with a colon. */
	for (at = strchr(cpu + 2, ' '); at; at = strchr(at, ' ')) {
		at += strspn(at, " ");
		line->us = strtod(at, &end) * 1e6;
		if (end != at && *end == ':')
			break;
	}
	if (!at)
		return false;
	at = end + 1;
	at += strspn(at, " ");
	end = strchr(at, ':');
	if (!end || (size_t)(end - at) >= sizeof(line->event))
		return false;
	snprintf(line->event, sizeof(line->event), "%.*s", (int)(end - at), at);
	line->fields = end + 1;
	return true;
}

static json_object *new_event(struct timeline *timeline, const char *phase, const char *name,
			      const char *ufile, double us)
{
	json_object *event = json_map();

	json_put(event, "ph", json_text(phase));
	json_put(event, "name", json_text(name));
	json_put(event, "pid", json_number(strtoull(ufile, NULL, 10)));
	json_put(event, "ts", need(json_object_new_double(us - timeline->begin)));
	json_append(timeline->events, event);
	return event;
}

static void bar_edge(struct timeline *timeline, const struct bar *bar, const char *phase,
		     double us, const char *said)
{
	json_object *event = new_event(timeline, phase, bar->name, bar->ufile, us);
	json_object *args = json_map();

	json_put(event, "cat", json_text(bar->kind->name));
	json_put(event, "id", json_number(bar->number));
	json_put(event, "tid", json_number(bar->kind - kinds));
	json_put(args, "event", json_text(said));
	json_put(event, "args", args);
}

static char *name_of(const struct kind *kind, const struct line *line, const char *id)
{
	char type[32], handle[32], start[32];

	field(line, "type", type, sizeof(type));
	field(line, "handle", handle, sizeof(handle));
	field(line, "start", start, sizeof(start));
	if (*type && *handle && strcmp(handle, "-1"))
		return format("%s %s", type, handle);
	if (*type)
		return format("%s", type);
	if (*start)
		return format("%s %s", kind->name, start);
	return format("%s %s", kind->name, id);
}

static struct bar *find_bar(struct timeline *timeline, const struct kind *kind, const char *id)
{
	size_t n;

	for (n = timeline->count; n--; )
		if (timeline->bars[n].kind == kind && !strcmp(timeline->bars[n].id, id))
			return &timeline->bars[n];
	return NULL;
}

static struct bar *begin_bar(struct timeline *timeline, const struct kind *kind,
			     const struct line *line, const char *id, double us, const char *said)
{
	struct bar *bar;

	if (timeline->count == timeline->room) {
		timeline->room = timeline->room ? 2 * timeline->room : 64;
		timeline->bars = need(realloc(timeline->bars,
					      timeline->room * sizeof(*timeline->bars)));
	}
	bar = &timeline->bars[timeline->count++];
	bar->kind = kind;
	snprintf(bar->id, sizeof(bar->id), "%s", id);
	field(line, "ufile", bar->ufile, sizeof(bar->ufile));
	bar->number = ++timeline->numbers;
	bar->name = name_of(kind, line, id);
	bar_edge(timeline, bar, "b", us, said);
	return bar;
}

static void end_bar(struct timeline *timeline, struct bar *bar, double us, const char *said)
{
	bar_edge(timeline, bar, "e", us, said);
	free(bar->name);
	*bar = timeline->bars[--timeline->count];
}

static void mark(struct timeline *timeline, const struct line *line)
{
	char ufile[32];
	json_object *event, *args = json_map();

	field(line, "ufile", ufile, sizeof(ufile));
	event = new_event(timeline, "i", line->event, ufile, line->us);
	json_put(event, "tid", json_number(ARRAY_SIZE(kinds)));
	json_put(event, "s", json_text(*ufile ? "p" : "g"));
	json_put(args, "fields", json_text(line->fields + strspn(line->fields, " ")));
	json_put(args, "pid", json_number(line->pid));
	json_put(event, "args", args);
}

static void name_ufile(struct timeline *timeline, const struct line *line, const char *ufile)
{
	json_object *event = new_event(timeline, "M", "process_name", ufile, line->us);
	json_object *args = json_map();
	char *name = format("ufile %s of %s (%d)", ufile, line->comm, line->pid);

	json_put(args, "name", json_text(name));
	json_put(event, "args", args);
	free(name);
}

static void take(struct timeline *timeline, const struct line *line)
{
	char id[32], ret[16];
	bool is_bar = false;
	struct bar *bar;
	size_t n;

	if (!timeline->seen++)
		timeline->begin = line->us;
	timeline->end = line->us;
	field(line, "ret", ret, sizeof(ret));
	for (n = 0; n < ARRAY_SIZE(kinds); n++) {
		const struct kind *kind = &kinds[n];
		bool birth = !strcmp(line->event, kind->birth);

		if (!birth && strcmp(line->event, kind->death))
			continue;
		field(line, kind->key, id, sizeof(id));
		if (!*id)
			continue;
		bar = find_bar(timeline, kind, id);
		if (birth) {
			/* The death of the one before, in the same memory, was lost. */
			if (bar)
				end_bar(timeline, bar, line->us, "lost");
			begin_bar(timeline, kind, line, id, line->us, line->event);
			if (!n)
				name_ufile(timeline, line, id);
			is_bar = true;
		} else if (!*ret || !strcmp(ret, "0")) {
			if (!bar)
				bar = begin_bar(timeline, kind, line, id, timeline->begin,
						"before");
			end_bar(timeline, bar, line->us, line->event);
			is_bar = true;
		}
	}
	if (!is_bar)
		mark(timeline, line);
}

/* Is it an event of ours, or of the virtual HCA's? */
static bool is_ours(const struct line *line)
{
	static const char *const prefixes[] = {
		"uobject_", "ufile_", "mmap_entry_", "vma_", "var_free", "memic_", "dmabuf_",
		"command",
	};
	size_t n;

	for (n = 0; n < ARRAY_SIZE(prefixes); n++)
		if (!strncmp(line->event, prefixes[n], strlen(prefixes[n])))
			return true;
	return false;
}

static int read_trace(struct timeline *timeline, FILE *file, const char *path)
{
	struct line line;
	size_t size = 0;
	char *text = NULL;
	unsigned long lost = 0;

	while (getline(&text, &size, file) >= 0) {
		if (!timeline->seen && !strncmp(text, "\027\010\104tracing", 10)) {
			complain("%s: a trace.dat, expected what trace-cmd report prints of it",
				 path);
			free(text);
			return EXIT_UNREADABLE;
		}
		lost += strstr(text, "LOST") && strstr(text, "EVENTS]");
		if (*text != '#' && parse(text, &line) && is_ours(&line))
			take(timeline, &line);
	}
	free(text);
	if (ferror(file)) {
		complain("%s: cannot read: %s", path, strerror(errno));
		return EXIT_UNREADABLE;
	}
	if (!timeline->seen) {
		complain("%s: no lifetime events, expected those of trace-cmd record -e uobjscope",
			 path);
		return EXIT_UNREADABLE;
	}
	if (lost)
		remark("events were lost in %lu places, bars may be too long", lost);
	return EXIT_FINE;
}

int cmd_timeline(const struct options *options)
{
	const char *path = options->nargs ? options->args[0] : KERNEL_TRACE;
	struct timeline timeline = { .events = json_array() };
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	json_object *top;
	FILE *out;
	int status;

	if (!file) {
		complain("%s: cannot open: %s", path, strerror(errno));
		json_object_put(timeline.events);
		return EXIT_UNREADABLE;
	}
	status = read_trace(&timeline, file, path);
	if (file != stdin)
		fclose(file);
	while (timeline.count)
		end_bar(&timeline, &timeline.bars[timeline.count - 1], timeline.end, "still there");
	free(timeline.bars);
	if (status) {
		json_object_put(timeline.events);
		return status;
	}
	top = json_map();
	json_put(top, "displayTimeUnit", json_text("ns"));
	json_put(top, "traceEvents", timeline.events);
	out = begin_output();
	json_print(top, out, true);
	return end_output(out, EXIT_FINE);
}
