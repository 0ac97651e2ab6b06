// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "rdma_show.h"
#include "text.h"

static char *read_all(FILE *from)
{
	size_t size = 0, room = 65536, n;
	char *text = malloc(room), *more;

	while (text && (n = fread(text + size, 1, room - size - 1, from))) {
		size += n;
		if (room - size > 1)
			continue;
		room *= 2;
		more = realloc(text, room);
		if (!more) {
			free(text);
			return NULL;
		}
		text = more;
	}
	if (text)
		text[size] = 0;
	return text;
}

/* The objects of the one array that the text is; none has another within. */
static int split(struct rdma_show *show)
{
	char *p = show->text, **more;

	for (p = strchr(p, '{'); p; p = strchr(p, '{')) {
		more = realloc(show->object, (show->count + 1) * sizeof(*more));
		if (!more)
			return ENOMEM;
		show->object = more;
		show->object[show->count++] = ++p;
		p += strcspn(p, "{}");
		if (*p != '}')
			return EPROTO;
		*p++ = 0;
	}
	return 0;
}

int rdma_show(const char *type, struct rdma_show *show)
{
	char command[128];
	int status, err;
	FILE *from;

	memset(show, 0, sizeof(*show));
	snprintf(command, sizeof(command), "rdma -jj resource show %s 2>&1", type);
	from = popen(command, "re");
	if (!from)
		return errno;
	show->text = read_all(from);
	status = pclose(from);
	if (!show->text)
		return ENOMEM;
	if (status) {
		diag("%s: status %d: %.200s", command, WEXITSTATUS(status), show->text);
		rdma_forget(show);
		return WEXITSTATUS(status) == 127 ? ENOENT : EIO;
	}
	err = split(show);
	if (err) {
		diag("%s: not as expected", command);
		rdma_forget(show);
	}
	return err;
}

void rdma_forget(struct rdma_show *show)
{
	free(show->object);
	free(show->text);
	memset(show, 0, sizeof(*show));
}

int64_t rdma_number(const char *object, const char *key)
{
	char name[64], *end;
	int64_t number;
	const char *p;

	snprintf(name, sizeof(name), "\"%s\":", key);
	p = strstr(object, name);
	if (!p)
		return INT64_MIN;
	p += strlen(name);
	p += strspn(p, " ");
	/* Keys of memory are in hexadecimal, which JSON has as a string only. */
	number = *p == '"' ? strtoll(++p, &end, 16) : strtoll(p, &end, 10);
	return end == p ? INT64_MIN : number;
}
