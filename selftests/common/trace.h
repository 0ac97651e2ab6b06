/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lifetime events of uobjscope.ko and the commands of the virtual HCA, in the order in
 * which they happened, for tests that state it.
 *
 * An event is described by its name and, after it, by some of its fields as the kernel
 * prints them: "uobject_destroy type=MLX5_VAR reason=close".
 */
#ifndef _SELFTESTS_TRACE_H
#define _SELFTESTS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct trace_event - one event
 * @pid: of the task
 * @text: name and fields
 */
struct trace_event {
	int pid;
	char *text;
};

/**
 * struct trace - what happened between _trace_begin() and _trace_end()
 * @instance: buffers of this test's own
 * @tep: knows the fields
 * @events: in order
 * @count: of @events
 * @room: for so many
 * @lost: events that the buffers had no room for
 */
struct trace {
	struct tracefs_instance *instance;
	struct tep_handle *tep;
	struct trace_event *events;
	size_t count;
	size_t room;
	uint64_t lost;
};

/**
 * trace_switch() - switch the lifetime events on until this process ends
 *
 * For main(), before any test.  What was switched on already stays on.
 *
 * Return: whether they are on.
 */
bool trace_switch(void);

/**
 * trace_missing() - why there are no such events
 * @events: names of the events that are needed, with blanks between
 *
 * Return: NULL if there are, else the text for a SKIP, with the way out.
 */
const char *trace_missing(const char *events);

/**
 * _trace_begin() - begin to listen
 * @trace: all zero
 *
 * Return: 0 or an errno.
 */
int _trace_begin(struct trace *trace);

/**
 * _trace_end() - stop listening and read what there is
 * @trace: of _trace_begin()
 *
 * Return: 0, EOVERFLOW if events were lost, or an errno.
 */
int _trace_end(struct trace *trace);

/**
 * trace_drop() - forget the events
 * @trace: of _trace_begin(), or all zero; all zero afterwards
 */
void trace_drop(struct trace *trace);

/**
 * trace_find() - the first event that is described so
 * @trace: of _trace_end()
 * @from: index of the first one that is looked at; less than 0 finds none
 * @event: its name and some of its fields
 *
 * Return: its index, or -1.
 */
int trace_find(const struct trace *trace, int from, const char *event);

/**
 * trace_is() - is an event described so?
 * @trace: of _trace_end()
 * @at: index of the event
 * @event: its name and some of its fields
 *
 * Return: whether it is.
 */
bool trace_is(const struct trace *trace, int at, const char *event);

/**
 * trace_field() - a field of an event
 * @trace: of _trace_end()
 * @at: index of the event; less than 0 has no fields
 * @field: its name
 *
 * Return: the text after the field's name and "=", up to a blank, in one of a few static
 * buffers that are used in turn; empty if there is none.
 */
const char *trace_field(const struct trace *trace, int at, const char *field);

/**
 * _trace_sequence() - did just this happen?
 * @trace: of _trace_end()
 * @which: some fields that an event must have, or it is passed over
 * @names: the names of events that are looked at, with blanks between
 * @steps: what those must be, in their order; ends with NULL
 *
 * What is wrong is written as diagnostics.
 *
 * Return: 0, or 1 if something else happened.
 */
int _trace_sequence(const struct trace *trace, const char *which, const char *names,
		    const char *const *steps);

/**
 * _trace_order() - did these happen one after the other, whatever else happened?
 * @trace: of _trace_end()
 * @steps: the events; ends with NULL
 *
 * What is wrong is written as diagnostics.
 *
 * Return: 0, or 1 if not.
 */
int _trace_order(const struct trace *trace, const char *const *steps);

/**
 * trace_print() - write all events as diagnostics
 * @trace: of _trace_end()
 */
void trace_print(const struct trace *trace);

#define trace_begin(trace)	ASSERT_EQ(0, _trace_begin(trace))
#define trace_end(trace)	ASSERT_EQ(0, _trace_end(trace))
#define trace_sequence(trace, which, names, ...) \
	ASSERT_EQ(0, _trace_sequence(trace, which, names, \
				     (const char *const []) { __VA_ARGS__, NULL }))
#define trace_order(trace, ...) \
	ASSERT_EQ(0, _trace_order(trace, (const char *const []) { __VA_ARGS__, NULL }))

#endif /* _SELFTESTS_TRACE_H */
