// SPDX-License-Identifier: GPL-2.0
/*
 * Known faults that take the kernel with them and need dmabuf_importer.ko; otherwise
 * as known_crash.c.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/caller.h"
#include "common/dm_ops.h"
#include "common/importer.h"

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
 * DMABUF-08: the cleanup of a context waits for the importer of its second dma-buf;
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
	ASSERT_EQ(0, _importer_release(self->imp, id));
	caller_end(&cleanup, 0);
	ASSERT_EQ(0, _importer_detach(self->imp, id));
	ASSERT_EQ(0, close(second_fd));
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
