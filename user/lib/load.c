// SPDX-License-Identifier: GPL-2.0
/*
 * Where the text comes from: a file, a descriptor, the running kernel.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define DEBUGFS_DIR	"/sys/kernel/debug"
#define DEBUGFS_TYPE	0x64626720

static int read_failed(const char *name, struct uobjscope_error *error)
{
	if (errno == ENOMEM)
		return uobjscope_fail(error, UOBJSCOPE_ERR_NOMEM, 0,
				      "%s: the kernel has not enough memory for it; nothing of it was used",
				      name);
	return uobjscope_fail(error, UOBJSCOPE_ERR_IO, 0, "%s: cannot read: %s",
			      name, strerror(errno));
}

char *uobjscope_read_all(int fd, const char *name, size_t *length,
			 struct uobjscope_error *error)
{
	size_t size = 64 * 1024, used = 0;
	char *text = malloc(size);

	while (text) {
		ssize_t n = read(fd, text + used, size - used - 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			read_failed(name, error);
			free(text);
			return NULL;
		}
		used += n;
		text[used] = '\0';
		/* Enough is there to see that it is something else. */
		if (!n || !uobjscope_starts_well(text, used)) {
			*length = used;
			return text;
		}
		if (used == size - 1) {
			char *more = size > SIZE_MAX / 2 ? NULL : realloc(text, size * 2);

			if (!more)
				break;
			text = more;
			size *= 2;
		}
	}
	free(text);
	uobjscope_nomem(error, name);
	return NULL;
}

static struct part *load_part(int fd, const char *name, unsigned int want,
			      struct uobjscope_error *error)
{
	size_t length;
	char *text = uobjscope_read_all(fd, name, &length, error);

	return text ? uobjscope_parse_part(text, length, name, want, error) : NULL;
}

struct uobjscope *uobjscope_load_fd(int fd, const char *name, unsigned int want,
				    struct uobjscope_error *error)
{
	struct part *part = load_part(fd, name, want, error);

	return part ? uobjscope_from_part(part, name, error) : NULL;
}

static int open_file(const char *path, struct uobjscope_error *error)
{
	int fd;

	/* The module makes the text then; who waits for another reader can be interrupted. */
	do
		fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return uobjscope_fail(error, UOBJSCOPE_ERR_ACCESS, 0, "%s: cannot open: %s",
				      path, strerror(errno));
	if (fd < 0 && errno == ENOMEM)
		return read_failed(path, error);
	if (fd < 0)
		return uobjscope_fail(error, UOBJSCOPE_ERR_IO, 0, "%s: cannot open: %s",
				      path, strerror(errno));
	return fd;
}

static struct part *load_path(const char *path, unsigned int want,
			      struct uobjscope_error *error)
{
	struct part *part;
	int fd;

	if (!strcmp(path, "-"))
		return load_part(STDIN_FILENO, "standard input", want, error);
	fd = open_file(path, error);
	if (fd < 0)
		return NULL;
	part = load_part(fd, path, want, error);
	close(fd);
	return part;
}

struct uobjscope *uobjscope_load_file(const char *path, unsigned int want,
				      struct uobjscope_error *error)
{
	struct part *part = load_path(path, want, error);

	return part ? uobjscope_from_part(part, path, error) : NULL;
}

static int add_part(struct uobjscope *scope, struct part *part, const char *name,
		    struct uobjscope_error *error)
{
	int ret;

	part->next = scope->parts;
	scope->parts = part;
	ret = uobjscope_build(scope, name, error);
	if (ret) {
		scope->parts = part->next;
		uobjscope_free_part(part);
	}
	return ret;
}

int uobjscope_add_fds(struct uobjscope *scope, const char *path, struct uobjscope_error *error)
{
	struct part *part;

	if (scope->sections & UOBJSCOPE_FDS)
		return uobjscope_fail(error, UOBJSCOPE_ERR_ARGUMENT, 0,
				      "%s: the snapshot has its own fds already", path);
	part = load_path(path, UOBJSCOPE_FDS, error);
	if (!part)
		return -1;
	if (part->sections != UOBJSCOPE_FDS) {
		uobjscope_free_part(part);
		return uobjscope_fail(error, UOBJSCOPE_ERR_FOREIGN, 0,
				      "%s: more than the text 'fds v=%d' in it", path,
				      UOBJSCOPE_FORMAT_VERSION);
	}
	return add_part(scope, part, path, error);
}

/* Why the folder of uobjscope.ko cannot be used; it is a directory or errno tells. */
static int explain_folder(const char *dir, struct uobjscope_error *error)
{
	int why = errno;
	struct statfs fs;

	if (why == EACCES || why == EPERM)
		return uobjscope_fail(error, UOBJSCOPE_ERR_ACCESS, 0,
				      "%s: %s: expected %s", dir, strerror(why),
				      geteuid() ? "to be run as root" :
						  "a kernel that is not locked down");
	if (strcmp(dir, UOBJSCOPE_DIR))
		return uobjscope_fail(error, UOBJSCOPE_ERR_NO_MODULE, 0,
				      "%s: %s: expected the folder of uobjscope.ko",
				      dir, strerror(why));
	if (statfs(DEBUGFS_DIR, &fs) || fs.f_type != DEBUGFS_TYPE)
		return uobjscope_fail(error, UOBJSCOPE_ERR_NO_DEBUGFS, 0,
				      "%s: debugfs is not mounted, expected: mount -t debugfs none %s",
				      DEBUGFS_DIR, DEBUGFS_DIR);
	return uobjscope_fail(error, UOBJSCOPE_ERR_NO_MODULE, 0,
			      "%s: uobjscope.ko is not loaded, expected: modprobe uobjscope",
			      dir);
}

static char *join(const char *dir, const char *device, const char *file,
		  struct uobjscope_error *error)
{
	char *path;
	int n = device ? asprintf(&path, "%s/%s/%s", dir, device, file) :
			 asprintf(&path, "%s/%s", dir, file);

	if (n < 0) {
		uobjscope_nomem(error, dir);
		return NULL;
	}
	return path;
}

static void wait_a_little(int retry)
{
	struct timespec time = { .tv_nsec = 1000000L << retry };

	nanosleep(&time, NULL);
}

static struct uobjscope *load_retrying(const char *path, bool retry,
				       struct uobjscope_error *error)
{
	struct uobjscope *scope;

	for (int n = 0; ; n++) {
		scope = uobjscope_load_file(path, UOBJSCOPE_SNAPSHOT, error);
		if (!scope || !scope->changed || !retry || n == UOBJSCOPE_RETRIES)
			return scope;
		uobjscope_free(scope);
		wait_a_little(n);
	}
}

/* A device has a file of its own; by its uverbs name it is found in the whole. */
static struct uobjscope *load_snapshot(const char *dir, const struct uobjscope_kernel *how,
				       struct uobjscope_error *error)
{
	bool plain = how->device && !strchr(how->device, '/') && how->device[0] != '.';
	struct uobjscope *scope = NULL;
	char *path = NULL;

	if (plain) {
		path = join(dir, how->device, "snapshot", error);
		if (!path)
			return NULL;
	}
	if (!path || access(path, F_OK)) {
		free(path);
		path = join(dir, NULL, "snapshot", error);
		if (!path)
			return NULL;
	}
	scope = load_retrying(path, !how->no_retry, error);
	free(path);
	if (scope && how->device && uobjscope_select_device(scope, how->device, error)) {
		uobjscope_free(scope);
		scope = NULL;
	}
	return scope;
}

static int load_fds(struct uobjscope *scope, const char *dir, struct uobjscope_error *error)
{
	char *path = join(dir, NULL, "fds", error);
	int ret;

	if (!path)
		return -1;
	if (access(path, F_OK) && errno == ENOENT)
		ret = 0;
	else
		ret = uobjscope_add_fds(scope, path, error);
	free(path);
	return ret;
}

struct uobjscope *uobjscope_load_kernel(const struct uobjscope_kernel *how,
					struct uobjscope_error *error)
{
	static const struct uobjscope_kernel everything;
	struct uobjscope *scope;
	const char *dir;
	DIR *folder;

	if (!how)
		how = &everything;
	dir = how->dir ? how->dir : UOBJSCOPE_DIR;
	folder = opendir(dir);
	if (!folder) {
		explain_folder(dir, error);
		return NULL;
	}
	closedir(folder);
	scope = load_snapshot(dir, how, error);
	if (scope && !how->no_fds &&
	    (load_fds(scope, dir, error) ||
	     (how->device && uobjscope_select_device(scope, how->device, error)))) {
		uobjscope_free(scope);
		scope = NULL;
	}
	return scope;
}
