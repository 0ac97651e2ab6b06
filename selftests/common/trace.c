// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracefs.h>

#include "text.h"
#include "trace.h"

#define SCOPE_DEBUGFS	"/sys/kernel/debug/uobjscope"
#define SWITCH		SCOPE_DEBUGFS "/trace"
#define EVENTS		SCOPE_DEBUGFS "/events"
#define BUFFER_KB	1024

static bool is_on(void)
{
	char state = '0';
	int fd = open(SWITCH, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (read(fd, &state, 1) != 1)
		state = '0';
	close(fd);
	return state == '1';
}

/* Tests are processes of their own, and end as well. */
static void switch_off(int status, void *owner)
{
	(void)status;
	if (getpid() == (pid_t)(uintptr_t)owner)
		text_write(SWITCH, "0", 0);
}

bool trace_switch(void)
{
	if (is_on())
		return true;
	if (text_write(SWITCH, "1", 0))
		return false;
	on_exit(switch_off, (void *)(uintptr_t)getpid());
	return true;
}

/* Is @word, of @length bytes, one of the words of @text? */
static bool has_word(const char *text, const char *word, size_t length)
{
	const char *at;

	for (at = text; *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (strcspn(at, " ") == length && !memcmp(at, word, length))
			return true;
	return false;
}

static bool has_words(const char *text, const char *words)
{
	size_t length;

	for (; *words; words += length, words += strspn(words, " ")) {
		length = strcspn(words, " ");
		if (!has_word(text, words, length))
			return false;
	}
	return true;
}

/* The first event of @events that is off, in @line. */
static bool find_off(const char *events, char *line, size_t size)
{
	FILE *file = fopen(EVENTS, "r");
	char name[64];
	bool off = false;

	if (!file)
		return true;
	while (!off && fgets(line, size, file)) {
		line[strcspn(line, "\n")] = 0;
		off = sscanf(line, "event name=%63s", name) == 1 && has_word(line, "on=0", 4) &&
		      has_word(events, name, strlen(name));
	}
	fclose(file);
	return off;
}

const char *trace_missing(const char *events)
{
	static char reason[512];
	char line[256] = "";

	if (access(SWITCH, W_OK))
		return "no " SWITCH ": load uobjscope.ko, be root";
	if (!tracefs_tracing_dir())
		return "no tracefs: mount -t tracefs none /sys/kernel/tracing";
	if (!is_on())
		return "the lifetime events cannot be switched on: see the kernel log";
	if (!find_off(events, line, sizeof(line)))
		return NULL;
	snprintf(reason, sizeof(reason), "this kernel does not have all events: %s", line);
	return reason;
}

int _trace_begin(struct trace *trace)
{
	char name[64];

	snprintf(name, sizeof(name), "uobjscope-%d", getpid());
	trace->instance = tracefs_instance_create(name);
	if (!trace->instance)
		return errno ?: ENOMEM;
	tracefs_trace_off(trace->instance);
	/* Counts up with each event of all processors: what is read is in its order. */
	if (tracefs_instance_file_write(trace->instance, "trace_clock", "counter") < 0 ||
	    tracefs_instance_set_buffer_size(trace->instance, BUFFER_KB, -1) ||
	    tracefs_event_enable(trace->instance, "uobjscope", NULL))
		return errno ?: EIO;
	/* Only where the device is the virtual one. */
	tracefs_event_enable(trace->instance, "mlx5_vhca", NULL);
	return tracefs_trace_on(trace->instance) ? errno : 0;
}

static int take(struct tep_event *event, struct tep_record *record, int cpu, void *context)
{
	struct trace *trace = context;
	struct trace_event *taken;
	struct trace_seq seq;

	(void)cpu;
	if (strcmp(event->system, "uobjscope") && strcmp(event->system, "mlx5_vhca"))
		return 0;
	if (trace->count == trace->room) {
		size_t room = trace->room * 2 ?: 256;
		void *more = realloc(trace->events, room * sizeof(*trace->events));

		if (!more)
			return -1;
		trace->events = more;
		trace->room = room;
	}
	trace_seq_init(&seq);
	trace_seq_printf(&seq, "%s ", event->name);
	tep_print_event(trace->tep, &seq, record, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&seq);
	taken = &trace->events[trace->count];
	taken->pid = tep_data_pid(trace->tep, record);
	taken->text = strdup(seq.buffer);
	trace_seq_destroy(&seq);
	if (!taken->text)
		return -1;
	trace->count++;
	return 0;
}

/* Events that a buffer had no room for; libtracefs has no call for one of an instance. */
static uint64_t count_lost(struct tracefs_instance *instance)
{
	char file[64], *text, *at;
	uint64_t lost = 0;
	long cpu;

	for (cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		snprintf(file, sizeof(file), "per_cpu/cpu%ld/stats", cpu);
		text = tracefs_instance_file_read(instance, file, NULL);
		at = text ? strstr(text, "overrun: ") : NULL;
		if (at)
			lost += strtoull(at + strlen("overrun: "), NULL, 10);
		free(text);
	}
	return lost;
}

int _trace_end(struct trace *trace)
{
	const char *const systems[] = { "uobjscope", "mlx5_vhca", NULL };
	int err = 0;

	tracefs_trace_off(trace->instance);
	trace->lost = count_lost(trace->instance);
	trace->tep = tracefs_local_events_system(NULL, systems);
	if (!trace->tep)
		return errno ?: ENOMEM;
	if (tracefs_iterate_raw_events(trace->tep, trace->instance, NULL, 0, take, trace))
		err = errno ?: EIO;
	tracefs_event_disable(trace->instance, NULL, NULL);
	return err ?: (trace->lost ? EOVERFLOW : 0);
}

void trace_drop(struct trace *trace)
{
	size_t n;

	for (n = 0; n < trace->count; n++)
		free(trace->events[n].text);
	free(trace->events);
	if (trace->tep)
		tep_free(trace->tep);
	if (trace->instance) {
		tracefs_instance_destroy(trace->instance);
		tracefs_instance_free(trace->instance);
	}
	memset(trace, 0, sizeof(*trace));
}

bool trace_is(const struct trace *trace, int at, const char *event)
{
	return has_words(trace->events[at].text, event);
}

int trace_find(const struct trace *trace, int from, const char *event)
{
	size_t n;

	if (from < 0)
		return -1;
	for (n = from; n < trace->count; n++)
		if (has_words(trace->events[n].text, event))
			return n;
	return -1;
}

const char *trace_field(const struct trace *trace, int at, const char *field)
{
	static char buffers[8][64];
	static unsigned int turn;
	char *buffer = buffers[turn++ % 8];
	const size_t length = strlen(field);
	const char *word;

	*buffer = 0;
	if (at < 0 || (size_t)at >= trace->count)
		return buffer;
	for (word = trace->events[at].text; *word;
	     word += strcspn(word, " "), word += strspn(word, " "))
		if (!strncmp(word, field, length) && word[length] == '=')
			snprintf(buffer, sizeof(buffers[0]), "%.*s",
				 (int)strcspn(word + length + 1, " "), word + length + 1);
	return buffer;
}

int _trace_sequence(const struct trace *trace, const char *which, const char *names,
		    const char *const *steps)
{
	const char *text;
	int step = 0;
	size_t n;

	for (n = 0; n < trace->count; n++) {
		text = trace->events[n].text;
		if (!has_words(text, which) || !has_word(names, text, strcspn(text, " ")))
			continue;
		if (steps[step] && has_words(text, steps[step])) {
			step++;
			continue;
		}
		printf("# step %d: expected %s, seen %s\n", step + 1,
		       steps[step] ?: "nothing more", text);
		trace_print(trace);
		return 1;
	}
	if (!steps[step])
		return 0;
	printf("# step %d: expected %s, seen nothing more\n", step + 1, steps[step]);
	trace_print(trace);
	return 1;
}

int _trace_order(const struct trace *trace, const char *const *steps)
{
	int at = 0, step;

	for (step = 0; steps[step]; step++) {
		at = trace_find(trace, at, steps[step]);
		if (at < 0) {
			printf("# step %d: expected %s after the steps before it\n", step + 1,
			       steps[step]);
			trace_print(trace);
			return 1;
		}
		at++;
	}
	return 0;
}

void trace_print(const struct trace *trace)
{
	size_t n;

	for (n = 0; n < trace->count; n++)
		printf("# %4zu pid=%d %s\n", n, trace->events[n].pid, trace->events[n].text);
	fflush(stdout);
}
