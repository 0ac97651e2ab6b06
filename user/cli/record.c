// SPDX-License-Identifier: GPL-2.0
/*
 * Record the lifetime events of a command, in a tracefs instance of its own.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli.h"
#include "instance.h"
#include "record.h"

/* Of each processor; an event takes some 100 bytes. */
#define BUFFER_KB	"8192"

/* Everything is set before the first event comes. */
static int set_up(const struct instance *instance, char **why)
{
	if (instance_set(instance, "tracing_on", "0", why) ||
	    instance_set(instance, "trace_clock", "mono", why) ||
	    instance_set(instance, "buffer_size_kb", BUFFER_KB, why) ||
	    instance_set(instance, "events/uobjscope/enable", "1", why))
		return -1;
	/* Only where the device is the virtual one, and where the kernel has that event. */
	instance_set(instance, "events/mlx5_vhca/enable", "1", NULL);
	instance_set(instance, "events/printk/enable", "1", NULL);
	return 0;
}

/* Standard output is the picture's. */
static int run_command(char *const *argv)
{
	int err = command_start(argv, true), status;

	if (err > 0)
		complain("%s: cannot start: %s", argv[0], strerror(err));
	if (err || command_wait(argv[0], &status, NULL, NULL))
		return EXIT_UNREADABLE;
	if (WIFSIGNALED(status))
		remark("%s was ended by signal %d", argv[0], WTERMSIG(status));
	else if (WEXITSTATUS(status))
		remark("%s ended with status %d", argv[0], WEXITSTATUS(status));
	return EXIT_FINE;
}

static int record(char *const *argv, struct trace *trace, const struct instance *instance)
{
	char *path = format("%s/trace", instance->dir);
	bool is_on;
	int status;

	instance_set(instance, "tracing_on", "1", NULL);
	status = run_command(argv);
	is_on = instance_is_on(instance);
	instance_set(instance, "tracing_on", "0", NULL);
	instance_set(instance, "events/enable", "0", NULL);
	if (!status)
		status = trace_read(trace, path);
	free(path);
	if (!is_on)
		trace_lose(trace);
	return status;
}

int record_command(char *const *argv, struct trace *trace)
{
	struct instance instance;
	char *why;
	int status;

	command_catch_signals();
	if (!instance_begin(&instance, "timeline", UOBJSCOPE_DIR, &why) &&
	    !set_up(&instance, &why))
		status = record(argv, trace, &instance);
	else
		status = EXIT_UNREADABLE;
	if (why)
		complain("the lifetime events cannot be recorded: %s", why);
	free(why);
	instance_end(&instance);
	command_release_signals();
	return status;
}
