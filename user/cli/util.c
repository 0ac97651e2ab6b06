// SPDX-License-Identifier: GPL-2.0
/*
 * Messages, loading and output.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"

static void say(const char *prefix, const char *format, va_list args)
{
	fprintf(stderr, "uobjscope: %s", prefix);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("", format, args);
	va_end(args);
}

void remark(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("note: ", format, args);
	va_end(args);
}

void no_memory(void)
{
	static const char message[] = "uobjscope: out of memory; nothing was printed\n";

	/* stdio might want memory itself; and there is nobody left to tell. */
	if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0)
		_exit(EXIT_UNREADABLE);
	_exit(EXIT_UNREADABLE);
}

void *need(void *memory)
{
	if (!memory)
		no_memory();
	return memory;
}

char *format(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		no_memory();
	va_end(args);
	return text;
}

/* What is true of a snapshot as a whole and would be overlooked in it. */
void note_limits(const struct uobjscope *scope)
{
	const struct uobjscope_record *header = uobjscope_header(scope, UOBJSCOPE_SNAPSHOT);
	const char *registry = uobjscope_text(header, UOBJSCOPE_KEY_REGISTRY);
	size_t changed = uobjscope_changed(scope);
	uint64_t dropped, refused;

	if (changed)
		remark("%zu ufile(s) changed while they were read, records may not fit each other",
		       changed);
	if (uobjscope_get(header, UOBJSCOPE_KEY_DROPPED, &dropped) && dropped)
		remark("%llu ufile(s) or dma-buf(s) are missing, the module had no room for them",
		       (unsigned long long)dropped);
	if (uobjscope_get(header, UOBJSCOPE_KEY_REFUSED, &refused) && refused)
		remark("%llu device(s) were refused by the layout guard, nothing of them is here",
		       (unsigned long long)refused);
	if (registry && !strcmp(registry, "devices"))
		remark("no fprobes in this kernel: closed and disassociated ufiles are missing");
}

static struct uobjscope *finish_load(struct uobjscope *scope, const struct options *options,
				     bool fds)
{
	struct uobjscope_error error;

	if ((fds && options->fds && uobjscope_add_fds(scope, options->fds, &error)) ||
	    (options->device && uobjscope_select_device(scope, options->device, &error))) {
		complain("%s", error.message);
		uobjscope_free(scope);
		return NULL;
	}
	return scope;
}

struct uobjscope *load_file(const struct options *options, const char *path)
{
	struct uobjscope_error error;
	struct uobjscope *scope = uobjscope_load_file(path, UOBJSCOPE_SNAPSHOT, &error);

	if (!scope) {
		complain("%s", error.message);
		return NULL;
	}
	scope = finish_load(scope, options, false);
	if (scope)
		note_limits(scope);
	return scope;
}

struct uobjscope *load_silently(const struct options *options)
{
	struct uobjscope_kernel how = {
		.dir = options->debugfs,
		.device = options->device,
		.no_fds = options->fds,
	};
	struct uobjscope_error error;
	struct uobjscope *scope;

	if (options->file)
		scope = uobjscope_load_file(options->file, UOBJSCOPE_SNAPSHOT, &error);
	else
		scope = uobjscope_load_kernel(&how, &error);
	if (!scope) {
		complain("%s", error.message);
		return NULL;
	}
	return finish_load(scope, options, true);
}

struct uobjscope *load(const struct options *options)
{
	struct uobjscope *scope = load_silently(options);

	if (scope)
		note_limits(scope);
	return scope;
}

static char *output_text;
static size_t output_length;

FILE *begin_output(void)
{
	return need(open_memstream(&output_text, &output_length));
}

int end_output(FILE *out, int status)
{
	bool failed;

	/* A stream in memory fails for want of memory only. */
	if (ferror(out) | fclose(out))
		no_memory();
	errno = 0;
	failed = fwrite(output_text, 1, output_length, stdout) != output_length;
	failed |= fflush(stdout) != 0;
	if (failed) {
		complain("standard output: cannot write: %s", strerror(errno ? errno : EIO));
		status = EXIT_UNREADABLE;
	}
	free(output_text);
	output_text = NULL;
	return status;
}

int terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (columns) {
		char *end;
		long n = strtol(columns, &end, 10);

		if (end != columns && !*end && n > 0 && n < 100000)
			return n;
	}
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return 80;
}
