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

/* Either the whole snapshot is there under its name, or what was there before. */
static int replace(const struct uobjscope *scope, const char *path)
{
	char *temporary = format("%s.XXXXXX", path);
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
	if (!failed && rename(temporary, path)) {
		failed = true;
		cannot_write(path);
	}
	if (failed)
		unlink(temporary);
	free(temporary);
	return failed ? EXIT_UNREADABLE : EXIT_FINE;
}

int cmd_save(const struct options *options)
{
	const char *path = options->args[0];
	struct uobjscope *scope = load(options);
	struct stat stat;
	int status;

	if (!scope)
		return EXIT_UNREADABLE;
	if (!strcmp(path, "-"))
		status = uobjscope_write(scope, stdout) ? cannot_write("standard output") :
							  EXIT_FINE;
	else if (!lstat(path, &stat) && !S_ISREG(stat.st_mode))
		status = write_directly(scope, path);
	else
		status = replace(scope, path);
	uobjscope_free(scope);
	return status;
}
