// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel_signs.h"
#include "text.h"

#define BUFINFO	"/sys/kernel/debug/dma_buf/bufinfo"

/* A line that describes a dma-buf: size flags mode count exporter inode name. */
static bool bufinfo_object(const char *line, struct dmabuf_sign *sign, uint64_t *inode)
{
	unsigned long long size, number;

	memset(sign, 0, sizeof(*sign));
	if (sscanf(line, "%llu %*x %*x %ld %31s %llu", &size, &sign->files, sign->exporter,
		   &number) != 4)
		return false;
	sign->size = size;
	*inode = number;
	return true;
}

uint64_t dmabuf_inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

int dmabuf_look(uint64_t inode, struct dmabuf_sign *sign)
{
	char *text = text_read(BUFINFO), *line, *next;
	bool found = false, attached = false;
	struct dmabuf_sign other;
	uint64_t other_inode;

	if (!text)
		return -1;
	for (line = text; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (!found) {
			found = bufinfo_object(line, &other, &other_inode) &&
				other_inode == inode;
			if (found)
				*sign = other;
		} else if (!strcmp(line, "\tAttached Devices:")) {
			attached = true;
		} else if (!strncmp(line, "Total ", 6)) {
			break;
		} else if (attached) {
			sign->attachments++;
			snprintf(sign->importer, sizeof(sign->importer), "%s", line + 1);
		}
	}
	free(text);
	return found;
}

int dmabuf_count(const char *exporter)
{
	char *text = text_read(BUFINFO), *line, *next;
	struct dmabuf_sign sign;
	uint64_t inode;
	int n = 0;

	if (!text)
		return -1;
	for (line = text; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (bufinfo_object(line, &sign, &inode) && !strcmp(sign.exporter, exporter))
			n++;
	}
	free(text);
	return n;
}

long fdinfo_count(int fd)
{
	char path[64], *text, *p;
	long count = -1;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	text = text_read(path);
	if (!text)
		return -1;
	p = strstr(text, "\ncount:");
	if (p)
		count = strtol(p + strlen("\ncount:"), NULL, 10);
	free(text);
	return count;
}

bool fd_is_cloexec(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	return flags >= 0 && flags & FD_CLOEXEC;
}

int kernel_warnings(void)
{
	char *text = text_read("/sys/kernel/warn_count");
	int count;

	if (!text)
		return -1;
	count = atoi(text);
	free(text);
	return count;
}

int fd_count(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	/* Less ".", ".." and the folder's own descriptor. */
	return n - 3;
}

int module_refcount(const char *name)
{
	char path[96], *text;
	int count;

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", name);
	text = text_read(path);
	if (!text)
		return -1;
	count = atoi(text);
	free(text);
	return count;
}

long kernel_number(const char *path, const char *name)
{
	char *text;
	const char *at;
	long number;

	/* Reading it has the kernel add up what the processors have counted. */
	free(text_read("/proc/sys/vm/stat_refresh"));
	text = text_read(path);
	at = text ? strstr(text, name) : NULL;
	number = at ? strtol(at + strlen(name), NULL, 10) : -1;
	free(text);
	return number;
}

long slab_count(const char *cache)
{
	const size_t length = strlen(cache);
	FILE *file = fopen("/proc/slabinfo", "re");
	char line[512];
	long count = -1;

	if (!file)
		return -1;
	while (count < 0 && fgets(line, sizeof(line), file))
		if (!strncmp(line, cache, length) && line[length] == ' ')
			count = strtol(line + length, NULL, 10);
	fclose(file);
	if (count < 0)
		errno = ENOENT;
	return count;
}

void slab_shrink(const char *cache)
{
	char path[300];
	int err;

	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink", cache);
	err = text_write(path, "1", 0);
	/* There may be no such cache. */
	if (err && err != ENOENT)
		diag("%s: %s", path, strerror(err));
}
