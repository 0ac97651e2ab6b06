// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper_module.h"
#include "text.h"

int helper_open(const char *name)
{
	static const char * const folders[] = { "", "modules/" };
	char self[2048], path[4096];
	const char *end;
	unsigned int i;
	ssize_t len;
	int fd;

	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len > 0) {
		self[len] = '\0';
		end = strrchr(self, '/') + 1;
		for (i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
			snprintf(path, sizeof(path), "%.*s%s%s.ko", (int)(end - self), self,
				 folders[i], name);
			fd = open(path, O_RDONLY | O_CLOEXEC);
			if (fd >= 0)
				return fd;
		}
	}
	snprintf(path, sizeof(path), "/uobjscope/modules/%s.ko", name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int helper_load(const char *name, const char *parameters)
{
	int fd = helper_open(name);
	int err;

	if (fd < 0)
		return errno;
	err = syscall(SYS_finit_module, fd, parameters, 0) ? errno : 0;
	if (err)
		diag("%s.ko with '%s' does not load: %s", name, parameters, strerror(err));
	close(fd);
	return err;
}

int helper_unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

long helper_number(const char *name, const char *parameter)
{
	char path[256], *text;
	long number;

	snprintf(path, sizeof(path), "/sys/module/%s/parameters/%s", name, parameter);
	text = text_read(path);
	if (!text)
		return -1;
	number = strtol(text, NULL, 0);
	free(text);
	return number;
}
