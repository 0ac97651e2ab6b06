// SPDX-License-Identifier: GPL-2.0
/*
 * A timeline as one page that needs nothing else: timeline.html, with the data in it.
 */
#include <string.h>

#include "cli.h"
#include "timeline.h"

/* Of page.S. */
extern const char timeline_page[];

#define PLACE	"@DATA@"

static json_object *index_or_none(size_t index)
{
	return index == NONE ? need(json_object_new_int(-1)) : json_number(index);
}

/* Whole nanoseconds are all that the kernel has. */
static json_object *microseconds(double us)
{
	char text[40];

	snprintf(text, sizeof(text), "%.3f", us);
	return need(json_object_new_double_s(us, text));
}

static json_object *events_json(const struct timeline *timeline)
{
	json_object *all = json_array();
	size_t n;

	for (n = 0; n < timeline->trace.count; n++) {
		const struct trace_event *event = &timeline->trace.events[n];
		json_object *one = json_array();

		json_append(one, microseconds(timeline_us(timeline, n)));
		json_append(one, need(json_object_new_int(event->pid)));
		json_append(one, json_text(event->comm));
		json_append(one, json_text(event->name));
		json_append(one, json_text(event->fields));
		json_append(all, one);
	}
	return all;
}

static json_object *bars_json(const struct timeline *timeline)
{
	json_object *all = json_array();
	size_t n;

	for (n = 0; n < timeline->nr_bars; n++) {
		const struct bar *bar = &timeline->bars[n];
		json_object *one = json_array();

		json_append(one, json_number(bar->kind));
		json_append(one, json_text(bar->name));
		json_append(one, json_number(bar->row));
		json_append(one, json_number(bar->head));
		json_append(one, json_number(bar->birth));
		json_append(one, json_number(bar->death));
		json_append(one, json_number(bar->tail));
		json_append(one, json_number(bar->begins));
		json_append(one, json_number(bar->ends));
		json_append(one, index_or_none(bar->parent));
		json_append(one, json_number(bar->seen));
		json_append(all, one);
	}
	return all;
}

static json_object *marks_json(const struct timeline *timeline)
{
	json_object *all = json_array();
	size_t n;

	for (n = 0; n < timeline->nr_marks; n++) {
		json_object *one = json_array();

		json_append(one, json_number(timeline->marks[n].event));
		json_append(one, index_or_none(timeline->marks[n].bar));
		json_append(one, json_number(timeline->marks[n].row));
		json_append(all, one);
	}
	return all;
}

static json_object *lines_json(const struct timeline *timeline)
{
	json_object *all = json_array();
	size_t n;

	for (n = 0; n < timeline->nr_lines; n++) {
		json_object *one = json_array();

		json_append(one, json_number(timeline->lines[n].event));
		json_append(one, json_number(timeline->lines[n].kind));
		json_append(one, json_text(timeline->lines[n].label));
		json_append(all, one);
	}
	return all;
}

static json_object *rows_json(const struct timeline *timeline)
{
	json_object *all = json_array();
	size_t n;

	for (n = 0; n < timeline->nr_rows; n++) {
		json_object *one = json_array();

		json_append(one, json_number(timeline->rows[n].group));
		json_append(one, json_text(timeline->rows[n].label));
		json_append(all, one);
	}
	return all;
}

static json_object *groups_json(const struct timeline *timeline)
{
	json_object *all = json_array();
	size_t n;

	for (n = 0; n < timeline->nr_groups; n++) {
		json_object *one = json_array();

		json_append(one, json_text(timeline->groups[n].label));
		json_append(one, json_number(timeline->groups[n].first));
		json_append(all, one);
	}
	return all;
}

static json_object *looks_json(bool of_lines)
{
	json_object *all = json_array();
	size_t n, count = of_lines ? NR_LINE_KINDS : NR_KINDS;

	for (n = 0; n < count; n++) {
		json_object *one = json_array();

		json_append(one, json_text(of_lines ? line_kinds[n].name : kinds[n].name));
		json_append(one, json_text(of_lines ? line_kinds[n].color : kinds[n].color));
		if (!of_lines)
			json_append(one, json_text(kinds[n].ink));
		json_append(all, one);
	}
	return all;
}

/* JSON in a script of a page: nothing in it may end the script. */
static void put_json(json_object *json, FILE *out)
{
	const char *text = need((void *)json_object_to_json_string_ext(json,
			JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));

	for (; *text; text++) {
		if (*text == '<')
			fputs("\\u003c", out);
		else
			fputc(*text, out);
	}
	json_object_put(json);
}

void timeline_html(const struct timeline *timeline, const char *title, bool by_order, FILE *out)
{
	const char *place = strstr(timeline_page, PLACE);
	json_object *data = json_map();

	json_put(data, "title", json_text(title));
	json_put(data, "axis", json_text(by_order ? "order" : "time"));
	json_put(data, "lost", json_number(timeline->trace.lost));
	json_put(data, "kinds", looks_json(false));
	json_put(data, "line_kinds", looks_json(true));
	json_put(data, "events", events_json(timeline));
	json_put(data, "bars", bars_json(timeline));
	json_put(data, "marks", marks_json(timeline));
	json_put(data, "lines", lines_json(timeline));
	json_put(data, "rows", rows_json(timeline));
	json_put(data, "groups", groups_json(timeline));
	fwrite(timeline_page, 1, place - timeline_page, out);
	put_json(data, out);
	fputs(place + strlen(PLACE), out);
}
