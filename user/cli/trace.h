/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lifetime events as text: what the kernel's file trace has, and what trace-cmd report
 * prints of a trace.dat:
 *
 *	   program-1234    [001] ..... 12.345678: vma_open: ufile=3 vma=... entry=...
 */
#ifndef UOBJSCOPE_CLI_TRACE_H
#define UOBJSCOPE_CLI_TRACE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct trace_event - an event
 * @us:		its time in microseconds, by the clock of the trace
 * @pid:	of the task
 * @comm:	of the task; any bytes
 * @name:	of the event
 * @fields:	the rest of the line, without a blank before it
 * @after_lost:	events before it were lost
 */
struct trace_event {
	double us;
	int pid;
	const char *comm;
	const char *name;
	const char *fields;
	bool after_lost;
};

/**
 * struct trace - events in the order of their times
 * @events:	these
 * @texts:	what each of them points into
 * @count:	of both
 * @room:	for so many
 * @lost:	places at which events were lost
 */
struct trace {
	struct trace_event *events;
	char **texts;
	size_t count;
	size_t room;
	unsigned long lost;
};

/**
 * trace_read() - read the lifetime events of a file, and what else a timeline shows
 * @trace:	all zero
 * @path:	of a text or a trace.dat; "-" is standard input, which must be a text
 *
 * Others than those of uobjscope.ko, mlx5_vhca.ko and the kernel's log are passed over.
 *
 * Return: EXIT_FINE, or EXIT_UNREADABLE after a line that says why; give @trace to
 * trace_free() in any case.
 */
int trace_read(struct trace *trace, const char *path);

/**
 * trace_lose() - events were lost, it is not known where
 * @trace:	of trace_read()
 *
 * The last event comes after them.
 */
void trace_lose(struct trace *trace);

/**
 * trace_free() - give back what trace_read() has made
 * @trace:	of trace_read(), or all zero
 */
void trace_free(struct trace *trace);

/**
 * trace_field() - a field of an event
 * @event:	the event
 * @name:	of the field
 * @value:	its text, cut off if there is no room, empty if it is not there
 * @size:	of @value
 *
 * Return: whether it is there and not empty.
 */
bool trace_field(const struct trace_event *event, const char *name, char *value, size_t size);

#endif
