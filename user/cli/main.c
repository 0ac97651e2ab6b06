// SPDX-License-Identifier: GPL-2.0
/*
 * The uobjscope command: its command line.
 */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

enum {
	OPTION_FDS = 256,
	OPTION_DEBUGFS,
	OPTION_COUNT,
	OPTION_USAGE,
	OPTION_FORMAT,
	OPTION_AXIS,
};

/**
 * struct command - a first word
 * @name:	the word
 * @run:	what it does
 * @least:	fewest arguments
 * @most:	most arguments
 * @expected:	what these are, for an error
 */
struct command {
	const char *name;
	int (*run)(const struct options *options);
	int least;
	int most;
	const char *expected;
};

static const struct command commands[] = {
	{ "show", cmd_show, 0, 1, "at most one of var, dm, dmabuf, mmap, ufile, uobj" },
	{ "tree", cmd_tree, 0, 0, "no argument" },
	{ "diff", cmd_diff, 2, 2, "two files" },
	{ "save", cmd_save, 1, 1, "one file" },
	{ "watch", cmd_watch, 0, 1, "at most one of var, dm, dmabuf, mmap, ufile, uobj" },
	{ "holders", cmd_holders, 1, 1,
	  "one of ino:N, pid:N, pid:N/fd:N, ufile:N, ufile:N/TYPE:HANDLE, ufile:N/mmap:PGOFF" },
	{ "timeline", cmd_timeline, 0, 1, "at most one file, or -- and a command" },
	{ "leaks", cmd_leaks, 1, INT_MAX, "a command to run, after --" },
};

static const struct argp_option argp_options[] = {
	{ "device", 'd', "NAME", 0, "Only this device (mlx5_0 or uverbs0)", 0 },
	{ "file", 'f', "FILE", 0,
	  "A saved snapshot, not the running kernel; - is standard input", 0 },
	{ "fds", OPTION_FDS, "FILE", 0, "File descriptors for a snapshot that has none", 0 },
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ "interval", 'n', "SECONDS", 0, "watch: wait so long between two reads (2)", 0 },
	{ "count", OPTION_COUNT, "N", 0, "watch: end after N reads", 0 },
	{ "debugfs", OPTION_DEBUGFS, "DIR", 0, "Folder of uobjscope.ko (" UOBJSCOPE_DIR ")", 0 },
	{ "format", OPTION_FORMAT, "NAME", 0, "timeline: perfetto, svg or html (perfetto)", 0 },
	{ "axis", OPTION_AXIS, "NAME", 0,
	  "timeline: time, or order, where each event has the same room (time)", 0 },
	{ "help", 'h', NULL, 0, "Print this and end", -1 },
	{ "usage", OPTION_USAGE, NULL, 0, "Print a short usage and end", -1 },
	{ "version", 'V', NULL, 0, "Print the version and end", -1 },
	{ 0 }
};

static const char doc[] =
	"Show RDMA user objects, VARs, device memory and dma-bufs, and who keeps them alive.\n"
	"\vCommands:\n"
	"  show [var|dm|dmabuf|mmap|ufile|uobj]   tables of objects\n"
	"  tree                                   objects below what they belong to\n"
	"  diff A B                               compare two saved snapshots\n"
	"  save FILE                              save a snapshot and the fds; - is standard output\n"
	"  watch [-n SECONDS] [show arguments]    show again and again\n"
	"  holders OBJECT                         who keeps it alive; OBJECT is one of ino:3,\n"
	"                                         pid:77, pid:77/fd:5, ufile:2, ufile:2/DM:4,\n"
	"                                         ufile:2/mmap:0x80000\n"
	"  timeline [FILE | -- COMMAND...]        lifetime events as a picture: of a trace.dat, of\n"
	"                                         what trace-cmd report prints (- is standard\n"
	"                                         input), of the running kernel, or of a command\n"
	"  leaks -- COMMAND [ARGUMENT...]         run a command, and tell what it leaves behind,\n"
	"                                         who made it, and who keeps it\n"
	"\n"
	"Exit status: 0 fine, 1 differences, or something left, or nothing found,\n"
	"2 wrong usage, 3 cannot read or not a snapshot, 4 nothing left by a command\n"
	"that has failed.";

static double parse_seconds(const char *text, struct argp_state *state)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !isfinite(seconds) || seconds < 0.01 || seconds > 86400)
		argp_error(state, "-n %s: expected a number of seconds from 0.01 to 86400", text);
	return seconds;
}

static unsigned long parse_count(const char *text, struct argp_state *state)
{
	unsigned long count;
	char *end;

	errno = 0;
	count = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || !count)
		argp_error(state, "--count %s: expected a number from 1 on", text);
	return count;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'd':
		options->device = arg;
		return 0;
	case 'f':
		options->file = arg;
		return 0;
	case 'j':
		options->json = true;
		return 0;
	case 'n':
		options->interval = parse_seconds(arg, state);
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case 'V':
		printf("uobjscope %s\n", uobjscope_version());
		exit(EXIT_FINE);
	case OPTION_FDS:
		options->fds = arg;
		return 0;
	case OPTION_COUNT:
		options->count = parse_count(arg, state);
		return 0;
	case OPTION_DEBUGFS:
		options->debugfs = arg;
		return 0;
	case OPTION_FORMAT:
		options->format = arg;
		return 0;
	case OPTION_AXIS:
		options->axis = arg;
		return 0;
	case OPTION_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return 0;
	case ARGP_KEY_ARGS:
		options->command = state->argv[state->next];
		options->args = state->argv + state->next + 1;
		options->nargs = state->argc - state->next - 1;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no command, expected one of those that --help names");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse_option,
	.args_doc = "COMMAND [ARGUMENT...]",
	.doc = doc,
};

static int wrong(const char *what, const char *expected)
{
	complain("%s: expected %s", what, expected);
	return EXIT_USAGE;
}

/* Standard input is at its end after the first time, whatever it is. */
static int check_again(const char *path)
{
	struct stat file;

	if (!strcmp(path, "-"))
		return wrong("watch", "a file that can be read again, not standard input");
	/* What is not there is told by who opens it. */
	if (!stat(path, &file) && !S_ISREG(file.st_mode))
		return wrong(path, "a regular file, which watch can read again");
	return EXIT_FINE;
}

static int check(const struct options *options, const struct command *command)
{
	const bool watch = command->run == cmd_watch;
	const bool timeline = command->run == cmd_timeline;
	int status = EXIT_FINE;

	/* What it runs may have words of any number, and options that are not ours. */
	if (!(timeline && options->quoted) &&
	    (options->nargs < command->least || options->nargs > command->most))
		return wrong(command->name, command->expected);
	if (command->run == cmd_leaks && !options->quoted)
		return wrong(command->name, command->expected);
	if ((watch || command->run == cmd_show) && options->nargs && !is_show(options->args[0]))
		return wrong(options->args[0], "one of var, dm, dmabuf, mmap, ufile, uobj");
	if (!watch && (options->interval || options->count))
		return wrong(command->name, "no -n and no --count, these are for watch");
	if (command->run == cmd_diff && (options->file || options->fds || options->debugfs))
		return wrong("diff", "two files and no -f, --fds or --debugfs");
	if (command->run == cmd_save && options->json)
		return wrong("save", "no --json: a snapshot is saved as the kernel prints it");
	if (!timeline && (options->format || options->axis))
		return wrong(command->name, "no --format and no --axis, these are for timeline");
	if (timeline && (options->file || options->fds || options->debugfs ||
			 options->device || options->json))
		return wrong("timeline", "a file, and no -d, -f, --fds, --debugfs or --json");
	if (command->run == cmd_leaks && (options->file || options->fds))
		return wrong("leaks", "no -f and no --fds: it is about the running kernel");
	if (options->file && options->debugfs)
		return wrong("-f", "either -f or --debugfs");
	if (watch && options->file)
		status = check_again(options->file);
	if (watch && options->fds && !status)
		status = check_again(options->fds);
	return status;
}

/* The words behind a --, before these are sorted behind all options. */
static int count_quoted(int argc, char **argv)
{
	int n;

	for (n = 1; n < argc; n++)
		if (!strcmp(argv[n], "--"))
			return argc - n - 1;
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = { 0 };
	const int quoted = count_quoted(argc, argv);
	int status;

	/* Of a child nothing is known where whoever started us has ignored that. */
	signal(SIGCHLD, SIG_DFL);
	setlocale(LC_CTYPE, "");
	argp_err_exit_status = EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &options))
		no_memory();
	options.quoted = quoted && quoted == options.nargs;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].name, options.command))
			continue;
		status = check(&options, &commands[i]);
		return status ? status : commands[i].run(&options);
	}
	return wrong(options.command,
		     "one of show, tree, diff, save, watch, holders, timeline, leaks");
}
