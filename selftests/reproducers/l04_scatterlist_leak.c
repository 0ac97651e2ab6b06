// SPDX-License-Identifier: GPL-2.0
/*
 * L04: each mapping of a dma-buf of device memory leaks its scatterlist.
 *
 * Symptom: 32 bytes or more of kernel memory for each attach, map and unmap of a dma-buf
 * that ib_uverbs or vfio exports; ibv_reg_dmabuf_mr() and ibv_dereg_mr() do all three.
 *
 * Wrong: dma_buf_phys_vec_to_sgt() in drivers/dma-buf/dma-buf-mapping.c sets
 * sgt.orig_nents to 0, because there are no pages; dma_buf_free_sgt() then calls
 * sg_free_table(), which frees as many entries as orig_nents says: none.
 * Linux 6.19 and later, 7.3 included.
 *
 * Fix: leave orig_nents as sg_alloc_table() sets it until the table is freed, or set it
 * again in dma_buf_free_sgt().
 *
 * Seen by: the kernel's own tracepoints kmem:kmalloc and kmem:kfree for this process, of
 * which each scatterlist must have both.  Needs root and tracefs.
 *
 * Build:  gcc -Wall -o l04_scatterlist_leak l04_scatterlist_leak.c -lmlx5 -libverbs
 * Run:    ./l04_scatterlist_leak [DEVICE]
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
#include <sys/stat.h>
#include <unistd.h>

#define CANNOT_TELL	4
#define INSTANCE	"/sys/kernel/tracing/instances/l04"
#define ROUNDS		10
#define MANY		4096

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
	int fd = open(file, O_WRONLY);
	int bad = fd < 0 || write(fd, text, strlen(text)) < 0;

	if (fd >= 0)
		close(fd);
	return bad;
}

static void use(const char *name)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_context *ctx = open_device(name);
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	struct ibv_dm *dm = pd ? ibv_alloc_dm(ctx, &attr) : NULL;
	int fd = dm ? ibv_dm_export_dmabuf_fd(dm) : -1;
	int i;

	if (fd < 0)
		err(CANNOT_TELL, "no dma-buf of device memory");
	for (i = 0; i < ROUNDS; i++) {
		struct ibv_mr *mr = ibv_reg_dmabuf_mr(pd, 0, 4096, 0, fd, IBV_ACCESS_LOCAL_WRITE);

		if (!mr)
			err(CANNOT_TELL, "no region on the dma-buf");
		ibv_dereg_mr(mr);
	}
	close(fd);
	ibv_free_dm(dm);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
}

/* Scatterlists that were allocated and not freed; @all: all of them. */
static int count_leaks(int *all)
{
	static char live[MANY][32];
	FILE *trace = fopen(INSTANCE "/trace", "r");
	char line[512], ptr[sizeof(live[0])] = "", *p;
	int count = 0, i;

	*all = 0;
	while (trace && fgets(line, sizeof(line), trace)) {
		p = strstr(line, "ptr=");
		if (!p || sscanf(p, "ptr=%31s", ptr) != 1)
			continue;
		if (strstr(line, " kmalloc: ") &&
		    (strstr(line, "call_site=sg_kmalloc+") ||
		     strstr(line, "call_site=__sg_alloc_table+")) && count < MANY) {
			memcpy(live[count++], ptr, sizeof(ptr));
			++*all;
		} else if (strstr(line, " kfree: ")) {
			for (i = 0; i < count && strcmp(live[i], ptr); i++)
				;
			if (i < count)
				memmove(live[i], live[--count], sizeof(live[i]));
		}
	}
	if (trace)
		fclose(trace);
	return count;
}

int main(int argc, char **argv)
{
	int leaks, all;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	if ((mkdir(INSTANCE, 0700) && errno != EEXIST) || say(INSTANCE "/set_event_pid", pid) ||
	    say(INSTANCE "/events/kmem/kmalloc/enable", "1") ||
	    say(INSTANCE "/events/kmem/kfree/enable", "1"))
		err(CANNOT_TELL, "no tracing in " INSTANCE ": be root, mount tracefs");
	use(argc > 1 ? argv[1] : NULL);
	say(INSTANCE "/tracing_on", "0");
	leaks = count_leaks(&all);
	rmdir(INSTANCE);
	if (all < ROUNDS)
		errx(CANNOT_TELL, "%d scatterlists seen for %d mappings", all, ROUNDS);
	printf("%s: %d mappings, %d scatterlists allocated, %d not freed\n",
	       leaks >= ROUNDS ? "bad" : "good", ROUNDS, all, leaks);
	return leaks >= ROUNDS;
}
