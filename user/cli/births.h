/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When, by whom and on what way objects were made: the lifetime events of uobjscope.ko
 * while a command runs.
 */
#ifndef UOBJSCOPE_BIRTHS_H
#define UOBJSCOPE_BIRTHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct birth - one event
 * @event: its name
 * @fields: all of its fields, as the kernel prints them
 * @comm: name of the thread
 * @tid: number of the thread
 * @seconds: time, by the clock of the kernel's log
 * @stack: functions of the kernel, the innermost first, with a newline after each; NULL if
 *	it is not known
 */
struct birth {
	const char *event;
	char *fields;
	char *comm;
	int tid;
	double seconds;
	char *stack;
};

struct births;

/**
 * births_begin() - begin to listen
 * @debugfs: folder of uobjscope.ko
 * @why: set to why there are no events, to be freed, where there are none
 *
 * Makes an instance of the kernel's tracing of its own, and switches the events on.  As for
 * instance_begin(), command_catch_signals() comes before it.
 *
 * Return: for births_end() and births_free(), or NULL.
 */
struct births *births_begin(const char *debugfs, char **why);

/** births_read() - take what events there are; does not wait */
void births_read(struct births *births);

/**
 * births_check() - have it among what was lost if somebody has switched the events off
 * @births: may be NULL
 *
 * That is said in a note, once.
 */
void births_check(struct births *births);

/**
 * births_end() - take the last events, and leave the kernel's tracing as it was
 * @births: may be NULL
 */
void births_end(struct births *births);

/** births_free() - after births_end(); NULL is fine */
void births_free(struct births *births);

/**
 * births_lost() - events that were lost
 * @births: the events
 *
 * Return: how many the buffers had no room for, and one more if they were switched off: how
 * many are missing then is not known.
 */
unsigned long births_lost(const struct births *births);

/**
 * births_find() - the last event about an object
 * @births: may be NULL
 * @event: name of the event
 * @key: field that names the object
 * @value: what it must be, as the kernel prints it
 *
 * Of mappings and ufiles that have gone nothing is kept.
 *
 * Return: the event, or NULL.
 */
const struct birth *births_find(const struct births *births, const char *event,
				const char *key, const char *value);

/**
 * births_each() - the events of a name that have all of the fields
 * @births: may be NULL
 * @after: the one returned before, NULL for the first one
 * @event: name of the event
 * @fields: "key=value", with blanks between
 *
 * Return: the next one, in the order of time, or NULL.
 */
const struct birth *births_each(const struct births *births, const struct birth *after,
				const char *event, const char *fields);

/**
 * births_follow() - whose objects are the command's
 * @births: may be NULL
 * @pid: the process; all threads and processes that it makes from now on belong to it
 */
void births_follow(struct births *births, int pid);

/** births_is_ours() - was it made by the process of births_follow(), or by one of its own? */
bool births_is_ours(const struct births *births, const struct birth *birth);

/** births_has_process() - is it the process of births_follow(), or one of its own? */
bool births_has_process(const struct births *births, uint64_t pid);

#endif
