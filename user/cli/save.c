// SPDX-License-Identifier: GPL-2.0
/*
 * uobjscope save: keep a snapshot in a file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

static int cannot_write(const char *path)
{
	complain("%s: cannot write: %s", path, strerror(errno));
	return EXIT_UNREADABLE;
}

/* What is no regular file (a terminal, a pipe, /dev/null) cannot be replaced. */
static int write_directly(const struct uobjscope *scope, const char *path)
{
	FILE *file = fopen(path, "we");
	bool failed;

	if (!file)
		return cannot_write(path);
	failed = uobjscope_write(scope, file) != 0;
	if (failed)
		cannot_write(path);
	if (fclose(file) && !failed)
		return cannot_write(path);
	return failed ? EXIT_UNREADABLE : EXIT_FINE;
}

/*
 * Either the whole snapshot is there under its name, or what was there before.  The file
 * is target, which the user calls path.
 */
static int replace(const struct uobjscope *scope, const char *path, const char *target)
{
	char *temporary = format("%s.XXXXXX", target);
	int fd = mkstemp(temporary);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	bool failed;

	if (!file) {
		int status = cannot_write(path);

		if (fd >= 0) {
			close(fd);
			unlink(temporary);
		}
		free(temporary);
		return status;
	}
	failed = uobjscope_write(scope, file) || fsync(fd);
	if (failed)
		cannot_write(path);
	if (fclose(file) && !failed) {
		failed = true;
		cannot_write(path);
	}
	if (!failed && rename(temporary, target)) {
		failed = true;
		cannot_write(path);
	}
	if (failed)
		unlink(temporary);
	free(temporary);
	return failed ? EXIT_UNREADABLE : EXIT_FINE;
}

/* A link stays one: what counts is the file that it leads to. */
static int save_to(const struct uobjscope *scope, const char *path)
{
	struct stat file;
	char *target;
	int status;

	if (stat(path, &file)) {
		/* It leads nowhere yet: there is nothing that could be lost. */
		if (!lstat(path, &file) && S_ISLNK(file.st_mode))
			return write_directly(scope, path);
		return replace(scope, path, path);
	}
	if (!S_ISREG(file.st_mode))
		return write_directly(scope, path);
	target = realpath(path, NULL);
	if (!target)
		return cannot_write(path);
	status = replace(scope, path, target);
	free(target);
	return status;
}

int cmd_save(const struct options *options)
{
	const char *path = options->args[0];
	struct uobjscope *scope = load(options);
	int status;

	if (!scope)
		return EXIT_UNREADABLE;
	if (!strcmp(path, "-"))
		status = uobjscope_write(scope, stdout) ? cannot_write("standard output") :
							  EXIT_FINE;
	else
		status = save_to(scope, path);
	uobjscope_free(scope);
	return status;
}
