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

/* A process that runs has no stack to show, but one that was preempted has. */
static bool has_function(const char *text, const void *function)
{
	return strstr(text, function);
}

static bool is_not_runnable(const char *text, const void *unused)
{
	(void)unused;
	return !strstr(text, "\nState:\tR");
}

int _process_waits(pid_t pid, const char *function)
{
	char *stack, *status = NULL;
	int err = process_poll(pid, "stack", has_function, function, &stack);

	if (err)
		diag("process %d is not in %s but in: %s", pid, function, stack ? stack : "-");
	/* Preempted on its way to where it waits, it would come to do more first. */
	if (!err)
		err = process_poll(pid, "status", is_not_runnable, NULL, &status);
	free(status);
	free(stack);
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
