// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

void diag(const char *fmt, ...)
{
	int saved_errno = errno;
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* One write, so that lines of a peer process do not get mixed up. */
	fprintf(stderr, "# %s\n", line);
	errno = saved_errno;
}

char *text_read(const char *path)
{
	size_t size = 0, room = 0;
	char *text = NULL, *more;
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	do {
		if (room - size < 4096) {
			room += 65536;
			more = realloc(text, room);
			if (!more)
				goto err;
			text = more;
		}
		n = read(fd, text + size, room - size - 1);
		if (n < 0)
			goto err;
		size += n;
	} while (n);
	close(fd);
	text[size] = 0;
	return text;
err:
	free(text);
	close(fd);
	return NULL;
}

int text_write(const char *path, const char *text, int flags)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	const ssize_t length = strlen(text);
	ssize_t n;
	int err = 0;

	if (fd < 0)
		return errno;
	/* One write is one request. */
	n = write(fd, text, length);
	if (n != length)
		err = n < 0 ? errno : EIO;
	close(fd);
	return err;
}
