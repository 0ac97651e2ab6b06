// SPDX-License-Identifier: GPL-2.0
/*
 * L01: a dma-buf that is closed after its context leaks the uverbs file.
 *
 * Symptom: export a dma-buf of device memory, close the context, close the dma-buf.
 * The struct ib_uverbs_file, the dma-buf's uobject and the default async event file
 * stay for ever; about 2 KB each time, for everybody who may open the device.
 *
 * Wrong: uverbs_dmabuf_release() in drivers/infiniband/core/uverbs_std_types_dmabuf.c
 * returns early if uobj.context is NULL.  That is meant for an export that is aborted,
 * but the cleanup of a closed uverbs file sets it to NULL as well, so that the references
 * on the ufile and on the uobject are never dropped.  Linux 7.0 to 7.2.
 *
 * Fix: tell the aborted export by something of its own, as 7.3 does, which clears
 * dma_buf->priv there and calls uverbs_uobject_release() in all other cases.
 *
 * Seen by: kprobes on ib_uverbs_open() and ib_uverbs_release_file(), which run once for
 * each file.  Needs root, tracefs, and that nobody else opens the device meanwhile.
 *
 * Build:  gcc -Wall -o l01_ufile_leak l01_ufile_leak.c -lmlx5 -libverbs
 * Run:    ./l01_ufile_leak [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT_TELL	4
#define TRACING		"/sys/kernel/tracing/"

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

static int say(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_APPEND);
	int bad = fd < 0 || write(fd, text, strlen(text)) < 0;

	if (fd >= 0)
		close(fd);
	return bad;
}

/* How often a probe was hit, -1 if it is not there. */
static long hits(const char *probe)
{
	FILE *profile = fopen(TRACING "kprobe_profile", "r");
	long count, found = -1;
	char name[128];

	while (profile && fscanf(profile, "%127s %ld %*[^\n]", name, &count) == 2)
		if (!strcmp(name, probe))
			found = count;
	if (profile)
		fclose(profile);
	return found;
}

static void remove_probes(void)
{
	say(TRACING "events/l01/enable", "0");
	say(TRACING "kprobe_events", "-:l01/l01_open");
	say(TRACING "kprobe_events", "-:l01/l01_release");
}

static int use(const char *name)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_context *ctx = open_device(name);
	struct ibv_dm *dm = ctx ? ibv_alloc_dm(ctx, &attr) : NULL;
	int fd = dm ? ibv_dm_export_dmabuf_fd(dm) : -1;

	if (fd < 0)
		err(CANNOT_TELL, "no dma-buf of device memory");
	ibv_free_dm(dm);
	ibv_close_device(ctx);
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	long opened, released;
	int status;
	pid_t pid;

	if (say(TRACING "kprobe_events", "p:l01/l01_open ib_uverbs_open") ||
	    say(TRACING "kprobe_events", "p:l01/l01_release ib_uverbs_release_file") ||
	    say(TRACING "events/l01/enable", "1")) {
		remove_probes();
		err(CANNOT_TELL, "no kprobes in %s: be root, mount tracefs", TRACING);
	}
	/* A process of its own: whatever it still has goes with it. */
	pid = fork();
	if (!pid)
		_exit(use(argc > 1 ? argv[1] : NULL));
	waitpid(pid, &status, 0);
	opened = hits("l01_open");
	released = hits("l01_release");
	remove_probes();
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return CANNOT_TELL;
	if (opened < 1 || released < 0)
		errx(CANNOT_TELL, "the probes were not hit");
	printf("%s: %ld uverbs files opened, %ld released\n", released < opened ? "bad" : "good",
	       opened, released);
	return released < opened;
}
