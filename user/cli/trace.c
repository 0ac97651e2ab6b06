// SPDX-License-Identifier: GPL-2.0
/*
 * Read lifetime events.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "instance.h"
#include "trace.h"

/* The first byte of a trace.dat, which no text has. */
#define DAT_MAGIC	0x17

bool trace_field(const struct trace_event *event, const char *name, char *value, size_t size)
{
	const size_t length = strlen(name);
	const char *at;

	*value = 0;
	for (at = event->fields; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
		if (strncmp(at, name, length) || at[length] != '=')
			continue;
		at += length + 1;
		snprintf(value, size, "%.*s", (int)strcspn(at, " "), at);
		break;
	}
	return *value;
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

/* A task's name may have anything in it.  What is found points into text. */
static bool parse(char *text, struct trace_event *event)
{
	char *cpu, *dash, *at, *end = NULL;

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
	*dash = 0;
	event->comm = text;
	event->pid = atoi(dash + 1);
	/* The time is the first word that is a number with a colon. */
	for (at = strchr(cpu + 2, ' '); at; at = strchr(at, ' ')) {
		at += strspn(at, " ");
		event->us = strtod(at, &end) * 1e6;
		if (end != at && *end == ':')
			break;
	}
	if (!at)
		return false;
	at = end + 1;
	at += strspn(at, " ");
	end = strchr(at, ':');
	if (!end)
		return false;
	*end = 0;
	event->name = at;
	event->fields = end + 1 + strspn(end + 1, " ");
	return true;
}

/* Is it an event of ours, of the virtual HCA's, or a line of the kernel's log? */
static bool is_wanted(const struct trace_event *event)
{
	static const char *const prefixes[] = {
		"uobject_", "ufile_", "mmap_entry_", "vma_", "var_free", "memic_", "dmabuf_",
	};
	size_t n;

	for (n = 0; n < ARRAY_SIZE(prefixes); n++)
		if (!strncmp(event->name, prefixes[n], strlen(prefixes[n])))
			return true;
	return !strcmp(event->name, "command") || !strcmp(event->name, "console");
}

static void add(struct trace *trace, const struct trace_event *event, char *text)
{
	if (trace->count == trace->room) {
		trace->room = trace->room ? 2 * trace->room : 256;
		trace->events = need(realloc(trace->events,
					     trace->room * sizeof(*trace->events)));
		trace->texts = need(realloc(trace->texts, trace->room * sizeof(*trace->texts)));
	}
	trace->events[trace->count] = *event;
	/* What one processor's clock is behind another's is no time that goes back. */
	if (trace->count && event->us < trace->events[trace->count - 1].us)
		trace->events[trace->count].us = trace->events[trace->count - 1].us;
	trace->texts[trace->count++] = text;
}

/* In a buffer that was full, the last events are where the first ones were. */
static bool says_overwritten(const char *text)
{
	unsigned long long there, written;

	return sscanf(text, "# entries-in-buffer/entries-written: %llu/%llu", &there,
		      &written) == 2 && there < written;
}

static bool says_lost(const char *text)
{
	return (strstr(text, "LOST") && strstr(text, "EVENTS]")) ||
	       strstr(text, "EVENTS DROPPED]") || says_overwritten(text);
}

void trace_lose(struct trace *trace)
{
	trace->lost++;
	if (trace->count)
		trace->events[trace->count - 1].after_lost = true;
}

static void read_text(struct trace *trace, FILE *file)
{
	struct trace_event event = { 0 };
	char *text = NULL;
	bool lost = false;
	ssize_t length;
	size_t size;

	while (true) {
		text = NULL;
		size = 0;
		length = getline(&text, &size, file);
		if (length < 0)
			break;
		text[strcspn(text, "\n")] = 0;
		if (says_lost(text)) {
			trace->lost++;
			lost = true;
		} else if (*text != '#' && parse(text, &event) && is_wanted(&event)) {
			event.after_lost = lost;
			lost = false;
			add(trace, &event, text);
			continue;
		}
		free(text);
	}
	free(text);
	if (lost && trace->count)
		trace->events[trace->count - 1].after_lost = true;
}

/* The events of a trace.dat, as trace-cmd prints them; the child is *pid. */
static FILE *report_of(const char *path, pid_t *pid)
{
	/* Whole nanoseconds; and a path is a path, whatever it begins with. */
	char *const argv[] = { "trace-cmd", "report", "-t", "-i", (char *)path, NULL };
	posix_spawn_file_actions_t actions;
	int fds[2], err;
	FILE *file;

	if (pipe(fds))
		return NULL;
	if (posix_spawn_file_actions_init(&actions))
		no_memory();
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	/* What is wrong we say in one line. */
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addclose(&actions, fds[0]);
	posix_spawn_file_actions_addclose(&actions, fds[1]);
	err = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (err) {
		close(fds[0]);
		errno = err;
		return NULL;
	}
	file = need(fdopen(fds[0], "r"));
	return file;
}

static int read_dat(struct trace *trace, const char *path)
{
	pid_t pid;
	FILE *file = report_of(path, &pid);
	int status;

	if (!file) {
		complain("%s: a trace.dat, expected trace-cmd to read it: %s", path,
			 strerror(errno));
		return EXIT_UNREADABLE;
	}
	read_text(trace, file);
	fclose(file);
	if (command_reap(pid, "trace-cmd", &status))
		return EXIT_UNREADABLE;
	if (!status)
		return EXIT_FINE;
	complain("%s: a trace.dat, expected trace-cmd report to read it: status %d", path,
		 WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return EXIT_UNREADABLE;
}

/* Without moving on in it: what can be read once is a text. */
static bool is_dat(FILE *file)
{
	int c = getc(file);

	if (c != EOF)
		ungetc(c, file);
	return c == DAT_MAGIC;
}

static int read_path(struct trace *trace, const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	int status = EXIT_FINE;

	if (!file) {
		complain("%s: cannot open: %s", path, strerror(errno));
		return EXIT_UNREADABLE;
	}
	if (!is_dat(file)) {
		read_text(trace, file);
		if (ferror(file)) {
			complain("%s: cannot read: %s", path, strerror(errno));
			status = EXIT_UNREADABLE;
		}
	} else if (file == stdin) {
		complain("-: a trace.dat, expected its name, or what trace-cmd report prints");
		status = EXIT_UNREADABLE;
	} else {
		status = read_dat(trace, path);
	}
	if (file != stdin)
		fclose(file);
	return status;
}

/* The kernel's log alone is no timeline. */
static bool has_lifetimes(const struct trace *trace)
{
	size_t n;

	for (n = 0; n < trace->count; n++)
		if (strcmp(trace->events[n].name, "console"))
			return true;
	return false;
}

int trace_read(struct trace *trace, const char *path)
{
	int status = read_path(trace, path);

	if (status)
		return status;
	if (!has_lifetimes(trace)) {
		complain("%s: no lifetime events, expected those of trace-cmd record -e uobjscope",
			 path);
		return EXIT_UNREADABLE;
	}
	if (trace->lost)
		remark("events were lost in %lu places, bars may be too long", trace->lost);
	return EXIT_FINE;
}

void trace_free(struct trace *trace)
{
	size_t n;

	for (n = 0; n < trace->count; n++)
		free(trace->texts[n]);
	free(trace->texts);
	free(trace->events);
	memset(trace, 0, sizeof(*trace));
}
