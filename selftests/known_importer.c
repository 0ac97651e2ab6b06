// SPDX-License-Identifier: GPL-2.0
/*
 * Known faults that need an importer which does as it is told: dmabuf_importer.ko.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/dm_ops.h"
#include "common/importer.h"
#include "common/known.h"
#include "common/process.h"

FIXTURE(known_importer)
{
	struct bed bed;
	struct known_issue issue;
	struct ibv_context *ctx;
	struct ibv_dm *dm;
	int fd;
	int imp;
};

FIXTURE_SETUP(known_importer)
{
	const char *missing;

	if (!bed_make(_metadata, &self->bed, true))
		return;
	missing = importer_missing();
	if (missing) {
		bed_mark(_metadata, "end");
		SKIP(return, "%s", missing);
	}
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	dm_alloc(self->ctx, 4096, &self->dm);
	dmabuf_export(self->dm, &self->fd);
	importer_open(&self->imp);
}

FIXTURE_TEARDOWN(known_importer)
{
	bed_mark(_metadata, "end");
}

/* Wait up to a number of milliseconds for a child's end; whether it has come. */
static bool has_ended(pid_t pid, int limit_ms)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	siginfo_t info;

	for (; limit_ms > 0; limit_ms -= 20) {
		info.si_pid = 0;
		if (waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/*
 * ATT-19, L21: uverbs takes an importer that cannot be told of a revocation.  Freeing the
 * memory then waits for it, and not even SIGKILL ends that.
 */
TEST_F(known_importer, l21_no_invalidate)
{
	const char *where = "rdma_user_mmap_entry_remove";
	struct process_look look = {};
	int err, status, tries = 0;
	bool survived;
	uint32_t id;
	pid_t pid;

	if (!known_look_up(_metadata, &self->issue, "L21"))
		return;
	err = _importer_attach(self->imp, self->bed.dev.pci, self->fd,
			       DMABUF_IMPORTER_PEER2PEER | DMABUF_IMPORTER_NO_CALLBACK,
			       DMABUF_IMPORTER_NEVER, &id);
	if (err) {
		ASSERT_EQ(EOPNOTSUPP, err);
		known_report(_metadata, &self->issue, false);
		return;
	}
	ASSERT_EQ(0, _importer_map(self->imp, id, NULL));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(ibv_free_dm(self->dm));
	while (process_look(pid, where, &look) != 1 && !has_ended(pid, 20))
		ASSERT_GT(500, tries++);
	ASSERT_TRUE(look.there);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	survived = !has_ended(pid, 500) && process_look(pid, where, &look) == 1;
	process_look_end(&look);
	/* Nothing else ends it. */
	ASSERT_EQ(0, _importer_unmap(self->imp, id));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status));
	ASSERT_EQ(0, _importer_detach(self->imp, id));
	known_report(_metadata, &self->issue, survived);
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
