// SPDX-License-Identifier: GPL-2.0
/*
 * Known faults that take the kernel with them and need dmabuf_importer.ko; otherwise
 * as known_crash.c.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/caller.h"
#include "common/dm_ops.h"
#include "common/helper_module.h"
#include "common/importer.h"
#include "common/marker.h"

FIXTURE(known_crash_importer)
{
	struct bed bed;
	int imp;
};

FIXTURE_SETUP(known_crash_importer)
{
	const char *missing;

	if (!getenv("OWN_GUEST")) {
		bed_mark(_metadata, "begin");
		bed_mark(_metadata, "end");
		SKIP(return, "may take the kernel down: set OWN_GUEST=1 where that does no harm");
	}
	if (!bed_make(_metadata, &self->bed, true))
		return;
	missing = importer_missing();
	if (missing) {
		bed_mark(_metadata, "end");
		SKIP(return, "%s", missing);
	}
	importer_open(&self->imp);
}

FIXTURE_TEARDOWN(known_crash_importer)
{
	bed_mark(_metadata, "end");
}

/* Whatever is mapped of a uverbs file keeps it open. */
static void unmap_uverbs(void)
{
	char *maps = text_read("/proc/self/maps");
	unsigned long begin, end;
	char *line, *next;

	for (line = maps; line && *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		if (strstr(line, "/dev/infiniband/uverbs") &&
		    sscanf(line, "%lx-%lx", &begin, &end) == 2)
			munmap((void *)begin, end - begin);
	}
	free(maps);
}

static int close_fd(void *arg)
{
	return close(*(int *)arg) ? errno : 0;
}

/*
 * DMABUF-08, L02: the cleanup of a context waits for the importer of its second dma-buf;
 * meanwhile the first one is closed, and freed although the cleanup has it before it.
 */
TEST_F(known_crash_importer, l02_close_during_cleanup)
{
	struct dmabuf_importer_query query;
	struct ibv_dm *first, *second;
	struct caller cleanup;
	struct ibv_context *ctx;
	int first_fd, second_fd;
	uint32_t id;

	ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, ctx);
	dm_alloc(ctx, 4096, &first);
	dm_alloc(ctx, 4096, &second);
	dmabuf_export(first, &first_fd);
	/* The newest object is the first to go. */
	dmabuf_export(second, &second_fd);
	ASSERT_EQ(0, _importer_attach(self->imp, self->bed.dev.pci, second_fd,
				      DMABUF_IMPORTER_PEER2PEER, DMABUF_IMPORTER_ON_RELEASE,
				      &id));
	ASSERT_EQ(0, _importer_map(self->imp, id, NULL));
	unmap_uverbs();
	caller_start(&cleanup, close_fd, &ctx->cmd_fd);
	caller_waits(&cleanup, "uverbs_dmabuf_fd_destroy_uobj");
	ASSERT_EQ(0, _importer_query(self->imp, id, &query));
	ASSERT_EQ(1U, query.invalidations);
	ASSERT_EQ(0, close(first_fd));
	ASSERT_FALSE(caller_is_done(&cleanup));
	marker_reached("L02: the cleanup waits for an importer, another dma-buf is closed");
	ASSERT_EQ(0, _importer_release(self->imp, id));
	caller_end(&cleanup, 0);
	ASSERT_EQ(0, _importer_detach(self->imp, id));
	ASSERT_EQ(0, close(second_fd));
}

static int free_memory(void *dm)
{
	return ibv_free_dm(dm);
}

/* Holds the lock of the list of all dma-bufs while it waits for the lock of one of them. */
static int read_file(void *path)
{
	char *text = text_read(path);
	const int err = text ? 0 : errno;

	free(text);
	return err;
}

#define EXPORTING	"l03_export"

static int export_memory(void *dm)
{
	int fd;

	prctl(PR_SET_NAME, EXPORTING);
	return _dmabuf_export(dm, &fd);
}

/*
 * DMABUF-09, L03: the memory is freed while it is exported.  The export fails with EIO; the
 * dma-buf that it had made goes at the end of the system call, and by then its uobject
 * has been freed.
 *
 * How the export is kept waiting: a fence keeps the free of other memory waiting, with the
 * reservation lock of that memory's dma-buf; a reader of bufinfo waits for that lock with
 * the lock of the list of dma-bufs; and the export waits to enter its own there.
 */
TEST_F(known_crash_importer, l03_export_aborted)
{
	struct caller other_free, reader, export;
	struct ibv_dm *memory, *other;
	struct ibv_context *ctx;
	uint32_t id, fence;
	int err, other_fd;

	err = helper_load("late_return", "task=" EXPORTING " error=5");
	if (err == ENOENT)
		SKIP(return, "no late_return.ko");
	ASSERT_EQ(0, err);
	ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, ctx);
	dm_alloc(ctx, 4096, &memory);
	dm_alloc(ctx, 4096, &other);
	dmabuf_export(other, &other_fd);
	ASSERT_EQ(0, _importer_attach(self->imp, self->bed.dev.pci, other_fd,
				      DMABUF_IMPORTER_PEER2PEER, DMABUF_IMPORTER_AT_ONCE, &id));
	importer_hold_fence(self->imp, id, DMABUF_IMPORTER_BOOKKEEP, 60000, &fence);
	caller_start(&other_free, free_memory, other);
	caller_waits(&other_free, "dma_resv_wait_timeout");
	caller_start(&reader, read_file, "/sys/kernel/debug/dma_buf/bufinfo");
	caller_waits(&reader, "dma_buf_debug_show");
	caller_start(&export, export_memory, memory);
	caller_waits(&export, "dma_buf_export");
	dm_free(memory);
	importer_signal(self->imp, fence);
	caller_end(&other_free, 0);
	caller_end(&reader, 0);
	caller_end(&export, EIO);
	ASSERT_EQ(1, helper_number("late_return", "late"));
	ASSERT_EQ(0, helper_unload("late_return"));
	ASSERT_EQ(0, _importer_detach(self->imp, id));
	ASSERT_EQ(0, close(other_fd));
	ASSERT_EQ(0, ibv_close_device(ctx));
	ASSERT_LEDGER(0, "memic");
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
