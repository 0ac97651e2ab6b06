// SPDX-License-Identifier: GPL-2.0
/*
 * L14: ibv_import_device() closes the descriptor on some failures and not on others.
 *
 * Symptom: a caller whose import failed cannot know whether the descriptor is still its
 * own: it leaks it, or closes one that another thread has got in the meantime.
 *
 * Wrong: ibv_import_device() in libibverbs/device.c of rdma-core leaves it open where the
 * device is not found, and the provider closes it where its context cannot be made.
 *
 * Fix: leave it to the caller after every failure, and say so in the manual page.
 *
 * Build:  gcc -Wall -o l14_import_fd l14_import_fd.c -lmlx5 -libverbs
 * Run:    ./l14_import_fd [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CANNOT_TELL	4

/* The first mlx5 device, or the one of that name. */
static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (; list && *list; list++)
		if (mlx5dv_is_supported(*list) &&
		    (!name || !strcmp(name, ibv_get_device_name(*list))))
			return ibv_open_device(*list);
	errno = ENODEV;
	return NULL;
}

/* Is the descriptor open after the import that must fail? */
static int is_left(int fd, const char *what, int *error)
{
	if (fd < 0)
		err(CANNOT_TELL, "%s", what);
	if (ibv_import_device(fd))
		errx(CANNOT_TELL, "the import of %s succeeded", what);
	*error = errno;
	return fcntl(fd, F_GETFD) >= 0;
}

int main(int argc, char **argv)
{
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	int null_left, null_error, empty_left, empty_error;
	char link[64], path[128];
	ssize_t len;

	if (!ctx)
		err(CANNOT_TELL, "no mlx5 device");
	null_left = is_left(open("/dev/null", O_RDWR), "/dev/null", &null_error);
	/* A descriptor of the device in which no context was made. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", ctx->cmd_fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		err(CANNOT_TELL, "%s", link);
	path[len] = '\0';
	empty_left = is_left(open(path, O_RDWR), path, &empty_error);
	printf("%s: after %s it is %s, after %s it is %s\n",
	       null_left == empty_left ? "good" : "bad",
	       strerror(null_error), null_left ? "open" : "closed",
	       strerror(empty_error), empty_left ? "open" : "closed");
	return null_left != empty_left;
}
