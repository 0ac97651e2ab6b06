// SPDX-License-Identifier: GPL-2.0
/*
 * uobjscope watch: show, again and again.
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

static int show_once(const struct options *options, bool first)
{
	struct uobjscope *scope = load(options);
	bool clear = isatty(STDOUT_FILENO) && !options->json;
	FILE *out;
	int status;

	if (!scope)
		return EXIT_UNREADABLE;
	out = begin_output();
	if (clear) {
		char now[32];
		time_t t = time(NULL);
		struct tm tm;

		strftime(now, sizeof(now), "%F %T", localtime_r(&t, &tm));
		fprintf(out, "\033[H\033[J%s, every %g s\n\n", now, options->interval);
	} else if (!first && !options->json) {
		fputc('\n', out);
	}
	status = print_show(scope, options->nargs ? options->args[0] : NULL, options->json,
			    true, out);
	status = end_output(out, status);
	uobjscope_free(scope);
	return status;
}

/* Whether somebody wants it to end while it waits. */
static bool wait_for(double seconds, const sigset_t *signals)
{
	struct timespec time = {
		.tv_sec = seconds,
		.tv_nsec = (seconds - floor(seconds)) * 1e9,
	};

	return sigtimedwait(signals, NULL, &time) > 0;
}

int cmd_watch(const struct options *options)
{
	struct options every = *options;
	unsigned long reads = 0;
	sigset_t signals;
	int status;

	if (!every.interval)
		every.interval = 2;
	/* They are taken between two reads only, so that no table is cut short. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	do {
		status = show_once(&every, !reads++);
	} while (!status && (!options->count || reads < options->count) &&
		 !wait_for(every.interval, &signals));
	return status;
}
