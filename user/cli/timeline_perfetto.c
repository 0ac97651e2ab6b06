// SPDX-License-Identifier: GPL-2.0
/*
 * A timeline in the form that Perfetto's and Chrome's viewers load ("Trace Event Format").
 *
 * A process of the viewer is a ufile.
 */
#include <stdlib.h>

#include "cli.h"
#include "timeline.h"

static json_object *new_event(json_object *events, const char *phase, const char *name,
			      const char *ufile, double us)
{
	json_object *event = json_map();

	json_put(event, "ph", json_text(phase));
	json_put(event, "name", json_text(name));
	json_put(event, "pid", json_number(strtoull(ufile, NULL, 10)));
	json_put(event, "ts", need(json_object_new_double(us)));
	json_append(events, event);
	return event;
}

static void bar_edge(const struct timeline *timeline, json_object *events, size_t n,
		     bool is_birth)
{
	const struct bar *bar = &timeline->bars[n];
	size_t at = is_birth ? bar->birth : bar->death;
	enum bar_edge why = is_birth ? bar->begins : bar->ends;
	json_object *event = new_event(events, is_birth ? "b" : "e", bar->name, bar->ufile,
				       timeline_us(timeline, at));
	json_object *args = json_map();
	const char *said;

	json_put(event, "cat", json_text(kinds[bar->kind].name));
	json_put(event, "id", json_number(n + 1));
	json_put(event, "tid", json_number(bar->kind));
	if (why == EDGE_EVENT)
		said = timeline->trace.events[at].name;
	else if (is_birth)
		said = "before";
	else
		said = why == EDGE_CUT ? "still there" : "lost";
	json_put(args, "event", json_text(said));
	json_put(event, "args", args);
}

static void mark(const struct timeline *timeline, json_object *events, const struct mark *mark)
{
	const struct trace_event *at = &timeline->trace.events[mark->event];
	json_object *event, *args = json_map();
	char ufile[24];

	trace_field(at, "ufile", ufile, sizeof(ufile));
	event = new_event(events, "i", at->name, ufile, timeline_us(timeline, mark->event));
	json_put(event, "tid", json_number(NR_KINDS));
	json_put(event, "s", json_text(*ufile ? "p" : "g"));
	json_put(args, "fields", json_text(at->fields));
	json_put(args, "pid", json_number(at->pid));
	json_put(event, "args", args);
}

static void line(const struct timeline *timeline, json_object *events, const struct line *line)
{
	json_object *event = new_event(events, "I", line->label, "",
				       timeline_us(timeline, line->event));

	json_put(event, "cat", json_text(line_kinds[line->kind].name));
	json_put(event, "tid", json_number(NR_KINDS));
	json_put(event, "s", json_text("g"));
}

static void name_ufile(const struct timeline *timeline, json_object *events,
		       const struct bar *bar)
{
	const struct trace_event *first = &timeline->trace.events[bar->seen];
	json_object *event = new_event(events, "M", "process_name", bar->ufile, 0);
	json_object *args = json_map();
	char *name = format("%s of %s (%d)", bar->name, first->comm, first->pid);

	json_put(args, "name", json_text(name));
	json_put(event, "args", args);
	free(name);
}

void timeline_perfetto(const struct timeline *timeline, FILE *out)
{
	json_object *top = json_map(), *events = json_array();
	size_t n;

	for (n = 0; n < timeline->nr_bars; n++) {
		if (timeline->bars[n].kind == KIND_UFILE)
			name_ufile(timeline, events, &timeline->bars[n]);
		if (timeline->bars[n].begins == EDGE_NEVER)
			continue;
		bar_edge(timeline, events, n, true);
		bar_edge(timeline, events, n, false);
	}
	for (n = 0; n < timeline->nr_marks; n++)
		mark(timeline, events, &timeline->marks[n]);
	for (n = 0; n < timeline->nr_lines; n++)
		line(timeline, events, &timeline->lines[n]);
	json_put(top, "displayTimeUnit", json_text("ns"));
	json_put(top, "traceEvents", events);
	json_print(top, out, true);
}
