// SPDX-License-Identifier: GPL-2.0
/*
 * uobjscope timeline: lifetime events as a picture.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "record.h"
#include "timeline.h"

#define KERNEL_TRACE	"/sys/kernel/tracing/trace"

/* The last part of a path, which says as much as one wants to read. */
static char *title_of(const struct options *options)
{
	const char *path = options->nargs ? options->args[0] : "the running kernel", *slash;

	slash = strrchr(path, '/');
	if (!strcmp(path, "-"))
		path = "standard input";
	return format("Lifetimes: %s", slash && slash[1] ? slash + 1 : path);
}

static int read_events(const struct options *options, struct trace *trace)
{
	if (options->quoted && options->nargs)
		return record_command(options->args, trace);
	return trace_read(trace, options->nargs ? options->args[0] : KERNEL_TRACE);
}

int cmd_timeline(const struct options *options)
{
	static const char *const formats[] = { "perfetto", "svg", "html" };
	bool by_order = options->axis && !strcmp(options->axis, "order");
	struct timeline timeline = { 0 };
	size_t which = 0;
	char *title;
	FILE *out;
	int status;

	while (options->format && which < ARRAY_SIZE(formats) &&
	       strcmp(options->format, formats[which]))
		which++;
	if (which == ARRAY_SIZE(formats)) {
		complain("--format %s: expected perfetto, svg or html", options->format);
		return EXIT_USAGE;
	}
	if (options->axis && !by_order && strcmp(options->axis, "time")) {
		complain("--axis %s: expected time or order", options->axis);
		return EXIT_USAGE;
	}
	status = read_events(options, &timeline.trace);
	if (status) {
		trace_free(&timeline.trace);
		return status;
	}
	timeline_make(&timeline);
	timeline_lay_out(&timeline);
	title = title_of(options);
	out = begin_output();
	if (which == 0)
		timeline_perfetto(&timeline, out);
	else if (which == 1)
		timeline_svg(&timeline, title, by_order, out);
	else
		timeline_html(&timeline, title, by_order, out);
	status = end_output(out, EXIT_FINE);
	free(title);
	timeline_free(&timeline);
	return status;
}
