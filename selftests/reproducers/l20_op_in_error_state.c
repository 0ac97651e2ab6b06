// SPDX-License-Identifier: GPL-2.0
/*
 * L20: MODIFY_MEMIC is unknown to a driver in its error state.
 *
 * Symptom: after a fatal error of the device, freeing device memory with an operation that
 * was mapped writes "Unknown FW command (519)" to the kernel log.  The free succeeds.
 *
 * Wrong: mlx5_internal_err_ret_value() in drivers/net/ethernet/mellanox/mlx5/core/cmd.c,
 * which answers for a device that is gone, does not know MODIFY_MEMIC, by which the driver
 * gives an operation back.  Linux 5.13 and later.
 *
 * Fix: let it succeed there, as DEALLOC_MEMIC does.
 *
 * Needs root, and mlx5_vhca.ko, the virtual HCA of this suite, which can be told to fail.
 * The device recovers some seconds afterwards.
 *
 * Build:  gcc -Wall -o l20_op_in_error_state l20_op_in_error_state.c -lmlx5 -libverbs
 * Run:    ./l20_op_in_error_state [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CANNOT_TELL	4
#define LENGTH		4096
#define COMPLAINT	"Unknown FW command (519)"

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

/* The device fails for good, by a file of mlx5_vhca; then its driver has seen it. */
static void fail(struct ibv_context *ctx)
{
	struct pollfd pfd = { .fd = ctx->async_fd, .events = POLLIN };
	char path[PATH_MAX], function[PATH_MAX];
	struct ibv_async_event event;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device",
		 ibv_get_device_name(ctx->device));
	if (!realpath(path, function))
		err(CANNOT_TELL, "%s", path);
	snprintf(path, sizeof(path), "/sys/kernel/debug/mlx5_vhca/%.64s/health",
		 strrchr(function, '/') + 1);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, "fatal\n", 6) < 0)
		err(CANNOT_TELL, "%s: load mlx5_vhca, be root", path);
	close(fd);
	if (poll(&pfd, 1, 60000) != 1 || ibv_get_async_event(ctx, &event) ||
	    event.event_type != IBV_EVENT_DEVICE_FATAL)
		errx(CANNOT_TELL, "no word of a fatal error within a minute");
	ibv_ack_async_event(&event);
}

/* How many of the lines that a reader of the kernel log has not seen yet complain. */
static int complaints(int kmsg)
{
	char record[8192];
	ssize_t len;
	int count = 0;

	do {
		len = read(kmsg, record, sizeof(record) - 1);
		if (len > 0) {
			record[len] = '\0';
			count += !!strstr(record, COMPLAINT);
		}
		/* EPIPE: some were overwritten. */
	} while (len > 0 || errno == EPIPE);
	if (errno != EAGAIN)
		err(CANNOT_TELL, "/dev/kmsg");
	return count;
}

int main(int argc, char **argv)
{
	struct ibv_alloc_dm_attr attr = { .length = LENGTH };
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	struct ibv_dm *dm = ctx ? ibv_alloc_dm(ctx, &attr) : NULL;
	char *op = dm ? mlx5dv_dm_map_op_addr(dm, 0) : NULL;
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	int freed, seen;

	if (!op)
		err(CANNOT_TELL, "no operation on device memory");
	if (kmsg < 0 || lseek(kmsg, 0, SEEK_END) < 0)
		err(CANNOT_TELL, "/dev/kmsg: be root");
	fail(ctx);
	munmap(op - (uintptr_t)op % sysconf(_SC_PAGESIZE), LENGTH);
	freed = ibv_free_dm(dm);
	seen = complaints(kmsg);
	printf("%s: the free: %s; '%s' in the kernel log: %d times\n",
	       seen || freed ? "bad" : "good", strerror(freed), COMPLAINT, seen);
	return seen || freed;
}
