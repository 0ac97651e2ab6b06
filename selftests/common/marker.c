// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "marker.h"

static void marker_line(const char *line)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	/* One write is one record; if it is refused there is no mark. */
	if (write(fd, line, strlen(line)) < 0)
		errno = 0;
	close(fd);
}

void marker_write(const char *edge, const char *test)
{
	char line[512];

	snprintf(line, sizeof(line), "uobjscope: %s %s.%s\n", edge,
		 program_invocation_short_name, test);
	marker_line(line);
}

void marker_expect(const char *pattern)
{
	char line[512];

	snprintf(line, sizeof(line), "uobjscope: expect %s\n", pattern);
	marker_line(line);
}

void marker_reached(const char *window)
{
	char line[512];

	snprintf(line, sizeof(line), "uobjscope: reached %s\n", window);
	marker_line(line);
}
