// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "process.h"
#include "text.h"

#define PATIENCE	20	/* seconds */

/* Read a file of the process until it is as wanted; the last text is left to the caller. */
static int process_poll(pid_t pid, const char *file, bool (*wanted)(const char *, const void *),
			const void *what, char **text)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	char path[64];
	int tries;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	*text = NULL;
	for (tries = 0; tries < PATIENCE * 100; tries++) {
		free(*text);
		*text = text_read(path);
		if (!*text)
			return errno;
		if (wanted(*text, what))
			return 0;
		nanosleep(&pause, NULL);
	}
	return ETIMEDOUT;
}

/* How often it was given the processor, and whether it sleeps now; -1 with errno. */
static int process_rest(pid_t pid, unsigned long long *switches)
{
	static const char * const lines[] = {
		"\nvoluntary_ctxt_switches:", "\nnonvoluntary_ctxt_switches:",
	};
	char path[64], *status;
	const char *line;
	int sleeps;
	size_t i;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = text_read(path);
	if (!status)
		return -1;
	*switches = 0;
	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		line = strstr(status, lines[i]);
		*switches += line ? strtoull(line + strlen(lines[i]), NULL, 10) : 0;
	}
	sleeps = !!strstr(status, "\nState:\tD") || !!strstr(status, "\nState:\tS");
	free(status);
	return sleeps;
}

int process_look(pid_t pid, const char *function, struct process_look *look)
{
	const bool was_there = look->there;
	const unsigned long long before = look->switches;
	char path[64];
	int sleeps = process_rest(pid, &look->switches);

	look->there = false;
	free(look->stack);
	snprintf(path, sizeof(path), "/proc/%d/stack", pid);
	look->stack = text_read(path);
	if (sleeps < 0 || !look->stack)
		return -1;
	look->there = sleeps && strstr(look->stack, function);
	return look->there && was_there && look->switches == before;
}

void process_look_end(struct process_look *look)
{
	free(look->stack);
	memset(look, 0, sizeof(*look));
}

int _process_waits(pid_t pid, const char *function)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	struct process_look look = {};
	int tries, waits = 0, err = 0;

	for (tries = 0; tries < PATIENCE * 100 && !waits; tries++) {
		if (tries)
			nanosleep(&pause, NULL);
		waits = process_look(pid, function, &look);
	}
	if (waits < 0)
		err = errno;
	else if (!waits)
		err = ETIMEDOUT;
	if (err)
		diag("process %d is not in %s but in: %s", pid, function,
		     look.stack ? look.stack : "(nobody knows)");
	process_look_end(&look);
	return err;
}

static bool is_asleep(const char *text, const void *unused)
{
	(void)unused;
	return strstr(text, "\nState:\tD");
}

int _process_sleeps(pid_t pid)
{
	char *status;
	int err = process_poll(pid, "status", is_asleep, NULL, &status);

	free(status);
	return err;
}

/* Its own signals, and those of all threads; a bit each, the first one for signal 1. */
static bool has_signal(const char *text, const void *signal)
{
	static const char * const lines[] = { "\nSigPnd:", "\nShdPnd:" };
	const uint64_t bit = 1ULL << (*(const int *)signal - 1);
	const char *line;
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		line = strstr(text, lines[i]);
		if (line && strtoull(line + strlen(lines[i]), NULL, 16) & bit)
			return true;
	}
	return false;
}

int _process_owes(pid_t pid, int signal)
{
	char *status;
	int err = process_poll(pid, "status", has_signal, &signal, &status);

	free(status);
	return err;
}
