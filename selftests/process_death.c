// SPDX-License-Identifier: GPL-2.0
/*
 * What is left of a process that ends without a word, and of a context that is closed
 * before the dma-bufs that were exported through it: nothing, in the order that the device
 * needs, as soon as the last reference is gone.
 *
 * The files of a process that ends are closed after its mappings are gone, and the one with
 * the highest number is released first: the kernel queues them as it finds them and takes
 * the last one in first (close_files() in fs/file.c, task_work_add() in
 * kernel/task_work.c).  So it is the numbers that say whether a dma-buf or its uverbs file
 * goes first.  One that executes another program loses its files first and its mappings
 * after that (begin_new_exec() in fs/exec.c); a mapping then is the uverbs file's last
 * reference, which is queued last, and the uverbs file goes first whatever its number is.
 *
 * Where the uverbs file goes first, kernels before 7.3 leak it (L01), which is why these
 * tests have a guest of their own.
 */
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/caller.h"
#include "common/dmabuf_counts.h"
#include "common/importer.h"
#include "common/known.h"
#include "common/process.h"
#include "common/var_ops.h"
#include "common/worker.h"

#define DM_SIZE		8192
#define DM_NEEDED	(4 * DM_SIZE)

#define P2P		DMABUF_IMPORTER_PEER2PEER

/*
 * The verdict of a test in which the last reference to a dma-buf goes after its ufile: if
 * the ufile is there still, held by nobody, that is L01.
 */
static void report_ufile(struct __test_metadata *_metadata, struct kernel_counts *counts,
			 const struct known_issue *issue, uint64_t ufile)
{
	int seen;

	ASSERT_EQ(0, scope_take(&counts->scope));
	seen = scope_count(&counts->scope, UOBJSCOPE_UFILE, scope_kv("id=%lu", ufile));
	if (seen && issue->state == KNOWN_LIVE) {
		/* That, and nothing else.  Its uobject is on no list any more. */
		ASSERT_EQ(0, scope_check(&counts->scope, UOBJSCOPE_UFILE, scope_kv("id=%lu", ufile),
					 "ref=1 state=closed file_open=0 umaps=0"));
		ASSERT_EQ(1, scope_unexplained(&counts->scope, scope_kv("ufile:%lu", ufile)));
	}
	known_report(_metadata, issue, seen);
}

/* How a process ends: it is killed, it exits, it executes another program. */
enum { KILL, EXIT, EXEC };

/* What it has by then. */
enum {
	VAR		= 1 << 0,
	VAR_MAPPED	= 1 << 1,
	VAR_FREED	= 1 << 2,
	DM		= 1 << 3,
	OP		= 1 << 4,
	DM_MR		= 1 << 5,
	DMABUF		= 1 << 6,
	DMABUF_LOW	= 1 << 7,	/* its number is below that of the uverbs file */
	DMABUF_MR	= 1 << 8,
	DM_FREED	= 1 << 9,
};

FIXTURE(process_death)
{
	struct bed bed;
	struct kernel_counts counts;
	struct known_issue issue;
	int64_t seq;
	struct peer peer;
	uint64_t ufile;
	uint64_t ino;
	uint32_t mkey;
	struct vhca_object memic;
};

FIXTURE_VARIANT(process_death)
{
	unsigned int has;
	int how;
};

#define ALL	(VAR | VAR_MAPPED | DM | OP | DM_MR | DMABUF | DMABUF_MR)

FIXTURE_VARIANT_ADD(process_death, open)
{
	.has = 0,
	.how = KILL,
};

FIXTURE_VARIANT_ADD(process_death, var_mapped)
{
	.has = VAR | VAR_MAPPED,
	.how = KILL,
};

FIXTURE_VARIANT_ADD(process_death, var_freed)
{
	.has = VAR | VAR_MAPPED | VAR_FREED,
	.how = KILL,
};

FIXTURE_VARIANT_ADD(process_death, dm)
{
	.has = DM,
	.how = KILL,
};

FIXTURE_VARIANT_ADD(process_death, dm_op)
{
	.has = DM | OP,
	.how = KILL,
};

FIXTURE_VARIANT_ADD(process_death, dm_op_freed)
{
	.has = DM | OP | DM_FREED,
	.how = KILL,
};

FIXTURE_VARIANT_ADD(process_death, dm_mr)
{
	.has = DM | OP | DM_MR,
	.how = KILL,
};

FIXTURE_VARIANT_ADD(process_death, dmabuf)
{
	.has = DM | DMABUF,
	.how = KILL,
};

FIXTURE_VARIANT_ADD(process_death, dmabuf_freed)
{
	.has = DM | DMABUF | DM_FREED,
	.how = KILL,
};

FIXTURE_VARIANT_ADD(process_death, dmabuf_low)
{
	.has = DM | DMABUF | DMABUF_LOW,
	.how = KILL,
};

FIXTURE_VARIANT_ADD(process_death, dmabuf_low_freed)
{
	.has = DM | DMABUF | DMABUF_LOW | DM_FREED,
	.how = KILL,
};

FIXTURE_VARIANT_ADD(process_death, dmabuf_mr)
{
	.has = DM | DMABUF | DMABUF_MR,
	.how = KILL,
};

FIXTURE_VARIANT_ADD(process_death, all)
{
	.has = ALL,
	.how = KILL,
};

FIXTURE_VARIANT_ADD(process_death, exit_dmabuf)
{
	.has = DM | DMABUF,
	.how = EXIT,
};

FIXTURE_VARIANT_ADD(process_death, exit_dmabuf_low)
{
	.has = DM | DMABUF | DMABUF_LOW,
	.how = EXIT,
};

FIXTURE_VARIANT_ADD(process_death, exit_all)
{
	.has = ALL,
	.how = EXIT,
};

FIXTURE_VARIANT_ADD(process_death, exec_dm)
{
	.has = VAR | VAR_MAPPED | DM | OP | DM_MR,
	.how = EXEC,
};

FIXTURE_VARIANT_ADD(process_death, exec_dmabuf)
{
	.has = DM | DMABUF,
	.how = EXEC,
};

FIXTURE_VARIANT_ADD(process_death, exec_all)
{
	.has = ALL,
	.how = EXEC,
};

FIXTURE_SETUP(process_death)
{
	if (!bed_make(_metadata, &self->bed, true) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	if (self->bed.dev.info.memic.size < DM_NEEDED) {
		bed_mark(_metadata, "end");
		SKIP(return, "less than %d bytes of MEMIC: load mlx5_vhca with a larger memic_size",
		     DM_NEEDED);
	}
	ASSERT_EQ(0, known_issue("L01", &self->issue));
	self->seq = vhca_seq(&self->bed.dev);
	ASSERT_LE(0, self->seq);
}

FIXTURE_TEARDOWN(process_death)
{
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

/**
 * struct holding - what a process that will die says of itself
 * @err: 0, or an errno: it could not get what it was to have
 * @cmd_fd: its command descriptor
 * @ino: its dma-buf
 * @mkey: number of the mkey of its region on device memory
 */
struct holding {
	int err;
	int cmd_fd;
	uint64_t ino;
	uint32_t mkey;
};

/* In the process that will die: get what it is to have. */
static int hold(const struct device *dev, unsigned int has, struct holding *holding)
{
	struct ibv_context *ctx;
	int err = 0, fd, low = -1;
	struct mlx5dv_var *var;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_dm *dm;
	uint32_t *map;
	void *op;

	if (has & DMABUF_LOW) {
		low = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (low < 0)
			return errno;
	}
	ctx = device_open(dev);
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	if (!pd)
		return errno;
	holding->cmd_fd = ctx->cmd_fd;
	if (has & VAR)
		err = _var_alloc(ctx, 0, &var);
	if (!err && has & VAR_MAPPED)
		err = _var_map(ctx, var, &map);
	if (!err && has & VAR_FREED)
		mlx5dv_free_var(var);
	if (!err && has & DM)
		err = _dm_alloc(ctx, DM_SIZE, &dm);
	/* Before the operation is mapped: after that it would be exported (L10). */
	if (!err && has & DMABUF)
		err = _dmabuf_export(dm, &fd);
	if (!err && has & OP)
		err = _dm_map_op(dm, 0, &op);
	if (!err && has & DM_MR) {
		err = _mr_reg_dm(pd, dm, 0, DM_SIZE, &mr);
		if (!err)
			holding->mkey = mr_mkey(mr);
	}
	if (!err && has & DMABUF_MR)
		err = _mr_reg_dmabuf(pd, 0, DM_SIZE, fd, &mr);
	if (!err && has & DM_FREED)
		err = ibv_free_dm(dm);
	if (err || !(has & DMABUF))
		return err;
	holding->ino = dmabuf_inode(fd);
	if (has & DMABUF_LOW) {
		/* As dup2() does, but close on exec. */
		if (dup3(fd, low, O_CLOEXEC) < 0)
			return errno;
		close(fd);
		fd = low;
	}
	return !(has & DMABUF_LOW) == (fd > ctx->cmd_fd) ? 0 : EDOM;
}

/* The life of the process: get it, say so, wait for a word, and end that way or not at all. */
static void live(const struct device *dev, unsigned int has, int how, int sock, pid_t parent)
{
	struct holding holding = {};
	char number[16], pid[16], byte;
	char * const argv[] = { program_invocation_name, (char *)"--peer", number, pid, NULL };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	holding.err = hold(dev, has, &holding);
	if (write(sock, &holding, sizeof(holding)) != sizeof(holding) || read(sock, &byte, 1) != 1)
		_exit(1);
	if (how == EXEC) {
		snprintf(number, sizeof(number), "%d", sock);
		snprintf(pid, sizeof(pid), "%d", parent);
		fcntl(sock, F_SETFD, 0);
		execv("/proc/self/exe", argv);
		_exit(1);
	}
	if (how == KILL)
		pause();
	_exit(0);
}

/*
 * Start the process and see what it has.  A descriptor that it has is never ours.
 */
static void begin(struct __test_metadata *_metadata, struct _test_data_process_death *self,
		  unsigned int has, int how)
{
	struct holding holding;
	pid_t parent = getpid();
	int sock[2];
	ssize_t size;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock));
	self->peer.pid = fork();
	ASSERT_LE(0, self->peer.pid);
	if (!self->peer.pid) {
		close(sock[0]);
		live(&self->bed.dev, has, how, sock[1], parent);
	}
	ASSERT_EQ(0, close(sock[1]));
	self->peer.sock = sock[0];
	size = read(sock[0], &holding, sizeof(holding));
	ASSERT_EQ((ssize_t)sizeof(holding), size);
	ASSERT_EQ(0, holding.err);
	self->ino = holding.ino;
	self->mkey = holding.mkey;
	LOOK();
	self->ufile = scope_ufile(&self->counts.scope, self->peer.pid, holding.cmd_fd);
	ASSERT_NE(0UL, self->ufile);
	ASSERT_ONE(UFILE, scope_kv("id=%lu", self->ufile),
		   scope_kv("ref=%d state=live file_open=1", 2 + !!(has & DMABUF)));
	if (has & VAR)
		ASSERT_ONE(MMAP, THEIRS(self->ufile, "kind=VAR"),
			   scope_kv("ref=%d vmas=%d driver_removed=%d var_bit=1",
				    !(has & VAR_FREED) + !!(has & VAR_MAPPED),
				    !!(has & VAR_MAPPED), !!(has & VAR_FREED)));
	ASSERT_DEVICE(!!(has & VAR), "var_used");
	ASSERT_DEVICE(has & DM ? DM_SIZE / 4096 : 0, "memic_pages_used");
	if (has & DM)
		ASSERT_NEW_MEMIC(&self->memic);
	if (has & DM && !(has & DM_FREED)) {
		ASSERT_ONE(MMAP, THEIRS(self->ufile, "kind=MEMIC"),
			   scope_kv("ref=%d vmas=1 dmabufs=%d driver_removed=0",
				    2 + !!(has & DMABUF), !!(has & DMABUF)));
		ASSERT_ONE(UOBJ, THEIRS(self->ufile, "type=DM"),
			   scope_kv("ref=2 usecnt=0 dm_users=%d ops=%d", !!(has & DM_MR),
				    !!(has & OP)));
	}
	if (has & OP) {
		ASSERT_ONE(MMAP, THEIRS(self->ufile, "kind=MEMIC_OP"),
			   scope_kv("ref=%d vmas=1 driver_removed=%d", 1 + !(has & DM_FREED),
				    !!(has & DM_FREED)));
		ASSERT_LEDGER(1, "memic_operation");
	}
	if (has & DMABUF) {
		const bool freed = has & DM_FREED, mapped = has & DMABUF_MR;

		ASSERT_DMABUF(self->ino, scope_kv("ref=2 file_ref=%d kref=%d revoked=%d",
						  1 + mapped, freed ? 0 : 1 + mapped, freed));
	}
	ASSERT_LEDGER(!!(has & DM_MR) + !!(has & DMABUF_MR), "mkey");
}

/* The device was told to free nothing that something else was still led to. */
static void check_order(struct __test_metadata *_metadata, struct _test_data_process_death *self,
			unsigned int has)
{
	struct vhca_history history;
	uint64_t freed = 0, operation = 0, mkey = 0;
	unsigned int i;

	ASSERT_MEMIC_FREED(1, &self->memic);
	ASSERT_EQ(0, vhca_since(&self->bed.dev, self->seq, &history));
	for (i = 0; i < history.count; i++) {
		const struct vhca_command *command = &history.command[i];

		if (command->status)
			continue;
		if (command->opcode == VHCA_DEALLOC_MEMIC)
			freed = command->seq;
		if (command->opcode == VHCA_MODIFY_MEMIC &&
		    command->op_mod == VHCA_MEMIC_OPERATION_DEALLOC)
			operation = command->seq;
		if (command->opcode == VHCA_DESTROY_MKEY && command->object == self->mkey)
			mkey = command->seq;
	}
	vhca_forget(&history);
	if (has & OP) {
		ASSERT_NE(0UL, operation);
		ASSERT_LT(operation, freed);
	}
	if (has & DM_MR) {
		ASSERT_NE(0UL, mkey);
		ASSERT_LT(mkey, freed);
	}
}

/*
 * Nothing of the process is left.  Where its dma-buf has gone after its file, that was the
 * kernel's to see to.
 */
static void check_gone(struct __test_metadata *_metadata, struct _test_data_process_death *self,
		       unsigned int has, int how)
{
	const bool file_first = has & (how == EXEC ? DMABUF : DMABUF_LOW | DMABUF_MR);

	LOOK();
	ASSERT_NONE(VMA, THEIRS(self->ufile, ""));
	ASSERT_NONE(FD, THEIRS(self->ufile, ""));
	ASSERT_NONE(MMAP, THEIRS(self->ufile, ""));
	ASSERT_NONE(UOBJ, THEIRS(self->ufile, "state=live"));
	ASSERT_NONE(ATTACH, THEIRS(self->ufile, ""));
	ASSERT_DEVICE(0, "var_used");
	ASSERT_DEVICE(0, "memic_pages_used");
	ASSERT_LEDGER(0, "memic_operation");
	ASSERT_LEDGER(0, "mkey");
	ASSERT_LEDGER(0, "pd");
	if (has & DM)
		check_order(_metadata, self, has);
	if (has & DMABUF)
		ASSERT_EQ(0, dmabuf_look(self->ino, &(struct dmabuf_sign){}));
	if (file_first)
		report_ufile(_metadata, &self->counts, &self->issue, self->ufile);
	else
		ASSERT_NONE(UFILE, scope_kv("id=%lu", self->ufile));
}

/* Tell the process to go on. */
#define go_on() \
	ASSERT_EQ(1, write(self->peer.sock, "", 1))

/*
 * VAR-14, DM-16, DMABUF-07, DMABUF-03, DMABUF-06, DMABUF-01: A process ends with all that
 * the variant names: it is killed, it exits, or it executes another program, for which all
 * that it has is closed.  When its parent hears of it, all is gone, and on the device the
 * operation and the region before the memory.
 */
TEST_F(process_death, var_14_dmabuf_07_ends)
{
	/* Before there is a process whose end loses a file on kernels with L01. */
	if (variant->has & DM && !device_has_ledger(&self->bed.dev))
		real_device_needs_ledger(&self->bed.dev);
	begin(_metadata, self, variant->has, variant->how);
	go_on();
	switch (variant->how) {
	case KILL:
		peer_kill(&self->peer);
		break;
	case EXIT:
		peer_end(&self->peer);
		break;
	case EXEC:
		/* It has started when it answers. */
		ASSERT_EQ(EBADF, _peer_close_fd(&self->peer, 1 << 20));
		break;
	}
	check_gone(_metadata, self, variant->has, variant->how);
	if (variant->how == EXEC)
		ASSERT_EQ(0, _peer_end(&self->peer));
}

/*
 * The file that a dma-buf was exported through goes first, and others have the dma-buf.
 */
FIXTURE(file_goes_first)
{
	struct bed bed;
	struct kernel_counts counts;
	struct known_issue issue;
	int64_t seq;
	struct ibv_context *exporter;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	struct vhca_object memic;
	struct worker worker;
	uint64_t ufile;
	uint64_t ino;
	int fd;
	int imp;
};

FIXTURE_SETUP(file_goes_first)
{
	self->fd = -1;
	self->imp = -1;
	if (!bed_make(_metadata, &self->bed, true) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	if (self->bed.dev.info.memic.size < DM_NEEDED) {
		bed_mark(_metadata, "end");
		SKIP(return, "less than %d bytes of MEMIC: load mlx5_vhca with a larger memic_size",
		     DM_NEEDED);
	}
	ASSERT_EQ(0, known_issue("L01", &self->issue));
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	self->pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, self->pd);
	self->seq = vhca_seq(&self->bed.dev);
	ASSERT_LE(0, self->seq);
}

FIXTURE_TEARDOWN(file_goes_first)
{
	if (self->imp >= 0)
		EXPECT_EQ(0, close(self->imp));
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

/* A context of dmabuf_importer.ko; or the test is skipped, and must return. */
static bool lacks_importer(struct __test_metadata *_metadata,
			   struct _test_data_file_goes_first *self)
{
	const char *missing = importer_missing();

	if (missing)
		SKIP(return true, "%s", missing);
	ASSERT_EQ(0, _importer_open(&self->imp));
	return false;
}

/* An exporting context of this process, with device memory and a dma-buf of it. */
static void export_here(struct __test_metadata *_metadata, struct _test_data_file_goes_first *self)
{
	self->exporter = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->exporter);
	ASSERT_EQ(0, _dm_alloc(self->exporter, DM_SIZE, &self->dm));
	ASSERT_EQ(0, _dmabuf_export(self->dm, &self->fd));
	self->ino = dmabuf_inode(self->fd);
	ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "memic", self->seq, &self->memic));
	LOOK();
	self->ufile = scope_ufile(&self->counts.scope, getpid(), self->exporter->cmd_fd);
	ASSERT_NE(0UL, self->ufile);
}

/* The same in another process, which may keep a descriptor of the dma-buf. */
static void export_there(struct __test_metadata *_metadata, struct _test_data_file_goes_first *self,
			 bool keep)
{
	worker_start(&self->worker, self->bed.dev.name);
	worker_export(&self->worker, DM_SIZE, keep, &self->fd);
	self->ino = dmabuf_inode(self->fd);
	ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "memic", self->seq, &self->memic));
	LOOK();
	self->ufile = scope_ufile(&self->counts.scope, self->worker.pid, self->worker.cmd_fd);
	ASSERT_NE(0UL, self->ufile);
}

/*
 * The file is closed: its objects are gone, the memory is the device's own again, and what
 * is left is what the dma-buf needs: the ufile, and the uobject, which is dead.
 */
#define ASSERT_CLOSED(its_files, its_attachments) \
do { \
	struct dmabuf_sign __sign; \
	LOOK(); \
	ASSERT_ONE(UFILE, scope_kv("id=%lu", self->ufile), \
		   "ref=1 state=closed file_open=0 listed=0 umaps=0"); \
	ASSERT_NONE(UOBJ, THEIRS(self->ufile, "state=live")); \
	ASSERT_ONE(UOBJ, THEIRS(self->ufile, "type=DMABUF"), \
		   "ref=1 state=dead class=fd kref=0 revoked=1"); \
	ASSERT_NONE(MMAP, THEIRS(self->ufile, "")); \
	ASSERT_NONE(VMA, THEIRS(self->ufile, "")); \
	ASSERT_EQ(1, dmabuf_look(self->ino, &__sign)); \
	ASSERT_EQ(its_files, __sign.files); \
	ASSERT_EQ(its_attachments, __sign.attachments); \
	ASSERT_DEVICE(0, "memic_pages_used"); \
	ASSERT_MEMIC_FREED(1, &self->memic); \
} while (0)

/* Nothing of the dma-buf is left, unless it is L01; as a test's last act. */
#define check_released() \
do { \
	ASSERT_EQ(0, dmabuf_look(self->ino, &(struct dmabuf_sign){})); \
	ASSERT_MEMIC_FREED(1, &self->memic); \
	report_ufile(_metadata, &self->counts, &self->issue, self->ufile); \
} while (0)

/*
 * DMABUF-06, UOBJ-08, C12, S16: The memory is freed, the context closed, and then the
 * dma-buf.  The free has revoked it, the close of the context gives all back but what the
 * dma-buf needs, the last close that.
 */
TEST_F(file_goes_first, dmabuf_06_memory_freed)
{
	export_here(_metadata, self);
	dm_free(self->dm);
	ASSERT_DMABUF(self->ino, "ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_MEMIC_FREED(0, &self->memic);
	ASSERT_EQ(0, ibv_close_device(self->exporter));
	ASSERT_CLOSED(1, 0);
	ASSERT_EQ(0, close(self->fd));
	check_released();
}

/* DMABUF-06, S16: The context is closed with the memory allocated: the close revokes. */
TEST_F(file_goes_first, dmabuf_06_memory_not_freed)
{
	export_here(_metadata, self);
	/* The library's mapping would keep the file. */
	ibv_unimport_dm(self->dm);
	ASSERT_DMABUF(self->ino, "ref=2 file_ref=1 kref=1 revoked=0");
	ASSERT_EQ(0, ibv_close_device(self->exporter));
	ASSERT_CLOSED(1, 0);
	mr_reg_dmabuf_err(ENODEV, self->pd, 0, DM_SIZE, self->fd);
	ASSERT_CLOSED(1, 0);
	ASSERT_EQ(0, close(self->fd));
	check_released();
}

/*
 * DMABUF-06, DMABUF-07: The exporting process is killed, and another one has the dma-buf,
 * so it is the last, whatever the numbers are.
 */
TEST_F(file_goes_first, dmabuf_07_other_process_has_it)
{
	export_there(_metadata, self, true);
	ASSERT_DMABUF(self->ino, "ref=2 file_ref=2 kref=1 revoked=0");
	worker_kill(&self->worker);
	ASSERT_CLOSED(1, 0);
	mr_reg_dmabuf_err(ENODEV, self->pd, 0, DM_SIZE, self->fd);
	ASSERT_EQ(0, close(self->fd));
	check_released();
}

/* A random number, and the next one. */
static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

/*
 * DMABUF-16, DMABUF-15, ATT-08: A descriptor whose memory, uobjects and file are gone: every
 * operation on it is answered, and none has an effect.  What is mapped, attached or asked
 * for at random beside that ends in an error or in nothing.
 */
TEST_F(file_goes_first, dmabuf_16_outlives_all)
{
	const char *seed = getenv("SEED");
	uint64_t state = seed ? strtoull(seed, NULL, 0) : 1;
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	uint8_t argument[256];
	unsigned int request, type;
	uint32_t id;
	int i, copy;

	if (lacks_importer(_metadata, self))
		return;
	TH_LOG("SEED=%lu", state);
	export_here(_metadata, self);
	dm_free(self->dm);
	ASSERT_EQ(0, ibv_close_device(self->exporter));
	ASSERT_CLOSED(1, 0);
	ASSERT_EQ(MAP_FAILED, mmap(NULL, DM_SIZE, PROT_READ, MAP_SHARED, self->fd, 0));
	ASSERT_EQ(EINVAL, errno);
	ASSERT_EQ(DM_SIZE, lseek(self->fd, 0, SEEK_END));
	ASSERT_EQ(0, ioctl(self->fd, DMA_BUF_SET_NAME_B, "outlives all"));
	ASSERT_EQ(0, ioctl(self->fd, DMA_BUF_IOCTL_SYNC, &sync));
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW;
	ASSERT_EQ(0, ioctl(self->fd, DMA_BUF_IOCTL_SYNC, &sync));
	ASSERT_EQ(1, fdinfo_count(self->fd));
	copy = fcntl(self->fd, F_DUPFD_CLOEXEC, 0);
	ASSERT_LE(0, copy);
	ASSERT_EQ(0, close(copy));
	mr_reg_dmabuf_err(ENODEV, self->pd, 0, DM_SIZE, self->fd);
	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, DMABUF_IMPORTER_AT_ONCE, &id);
	importer_map_err(ENODEV, self->imp, id);
	importer_pin_err(EOPNOTSUPP, self->imp, id);
	ASSERT_CLOSED(2, 1);
	importer_detach(self->imp, id);
	for (i = 0; i < 1000; i++) {
		size_t j;

		for (j = 0; j < sizeof(argument); j++)
			argument[j] = next_random(&state);
		/* Any size and direction; the numbers are those of dma-bufs, and some more. */
		type = i & 1 ? DMA_BUF_BASE : next_random(&state) & 0xff;
		request = _IOC(next_random(&state) & 3, type, next_random(&state) % 6,
			       next_random(&state) % 64);
		/* It makes a descriptor of what fences there are. */
		if (request == DMA_BUF_IOCTL_EXPORT_SYNC_FILE)
			continue;
		ioctl(self->fd, request, argument);
	}
	ASSERT_CLOSED(1, 0);
	ASSERT_EQ(0, close(self->fd));
	check_released();
}

/*
 * ATT-06, ATT-10, UOBJ-08: The exporter's context is closed under a memory region of
 * another one.  The region has lost its translation when the close returns; deregistering
 * it lets go of an attachment that nobody else has anything of.
 */
TEST_F(file_goes_first, att_06_closed_under_a_region)
{
	struct ibv_mr *mr;

	export_here(_metadata, self);
	mr_reg_dmabuf(self->pd, 0, DM_SIZE, self->fd, &mr);
	ASSERT_DMABUF(self->ino, "ref=2 file_ref=2 kref=2 revoked=0");
	ASSERT_TRANSLATES(true, mr_mkey(mr));
	ibv_unimport_dm(self->dm);
	ASSERT_EQ(0, ibv_close_device(self->exporter));
	ASSERT_CLOSED(2, 1);
	ASSERT_TRANSLATES(false, mr_mkey(mr));
	mr_dereg(mr);
	ASSERT_CLOSED(1, 0);
	ASSERT_EQ(0, close(self->fd));
	check_released();
	EXPECT_EQ(self->bed.before.violations, vhca_violations(&self->bed.dev));
}

/* ATT-06, DMABUF-07: The same, and the exporter is another process, which is killed. */
TEST_F(file_goes_first, att_06_killed_under_a_region)
{
	struct ibv_mr *mr;

	export_there(_metadata, self, true);
	mr_reg_dmabuf(self->pd, 0, DM_SIZE, self->fd, &mr);
	ASSERT_DMABUF(self->ino, "ref=2 file_ref=3 kref=2 revoked=0");
	ASSERT_TRANSLATES(true, mr_mkey(mr));
	worker_kill(&self->worker);
	ASSERT_CLOSED(2, 1);
	ASSERT_TRANSLATES(false, mr_mkey(mr));
	ASSERT_EQ(0, close(self->fd));
	ASSERT_CLOSED(1, 1);
	mr_dereg(mr);
	check_released();
	EXPECT_EQ(self->bed.before.violations, vhca_violations(&self->bed.dev));
}

/*
 * ATT-12, DMABUF-06: No descriptor is left when the exporter's context is closed: the
 * region's reference is the last, and its end that of the dma-buf.
 */
TEST_F(file_goes_first, att_12_region_is_last)
{
	struct ibv_mr *mr;

	export_here(_metadata, self);
	mr_reg_dmabuf(self->pd, 0, DM_SIZE, self->fd, &mr);
	ASSERT_EQ(0, close(self->fd));
	ASSERT_DMABUF(self->ino, "ref=2 file_ref=1 kref=2 revoked=0");
	dm_free(self->dm);
	ASSERT_DMABUF(self->ino, "ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_MEMIC_FREED(0, &self->memic);
	ASSERT_EQ(0, ibv_close_device(self->exporter));
	ASSERT_CLOSED(1, 1);
	mr_dereg(mr);
	check_released();
}

/*
 * DMABUF-06, DM-16: The region is of the exporter's own context.  Closing that deregisters
 * it, and the dma-buf with it, whose file is gone then or all but gone.
 */
TEST_F(file_goes_first, dmabuf_06_own_region)
{
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	export_here(_metadata, self);
	pd = ibv_alloc_pd(self->exporter);
	ASSERT_NE(NULL, pd);
	mr_reg_dmabuf(pd, 0, DM_SIZE, self->fd, &mr);
	ASSERT_EQ(0, close(self->fd));
	ASSERT_DMABUF(self->ino, "ref=2 file_ref=1 kref=2 revoked=0");
	ibv_unimport_dm(self->dm);
	ASSERT_EQ(0, ibv_close_device(self->exporter));
	ASSERT_LEDGER(0, "mkey");
	ASSERT_LEDGER(1, "pd");
	check_released();
}

static int close_context(void *arg)
{
	return ibv_close_device(arg) ? errno : 0;
}

/* What the cleanup of a file waits in until the last mapping is gone. */
#define WAITS_FOR_UNMAP	"uverbs_dmabuf_fd_destroy_uobj"

/* It waits: revoked, mapped, and the memory is there. */
#define ASSERT_CLEANUP_WAITS() \
do { \
	LOOK(); \
	ASSERT_ONE(UFILE, scope_kv("id=%lu", self->ufile), "state=destroying"); \
	ASSERT_COUNT(1, ATTACH, scope_kv("ino=%lu mapped=1", self->ino)); \
	ASSERT_MEMIC_FREED(0, &self->memic); \
} while (0)

/*
 * ATT-06, ATT-07: Closing the exporter's context waits for an importer that takes its time
 * to give the mapping back: it does not return before, and then it does.
 */
TEST_F(file_goes_first, att_06_close_waits)
{
	struct caller caller;
	uint32_t id;

	if (lacks_importer(_metadata, self))
		return;
	export_here(_metadata, self);
	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, DMABUF_IMPORTER_ON_RELEASE,
			&id);
	importer_map(self->imp, id);
	ibv_unimport_dm(self->dm);
	caller_start(&caller, close_context, self->exporter);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id, DMABUF_IMPORTER_MAPPED);
	caller_waits(&caller, WAITS_FOR_UNMAP);
	ASSERT_CLEANUP_WAITS();
	ASSERT_FALSE(caller_is_done(&caller));
	importer_release(self->imp, id);
	caller_end(&caller, 0);
	ASSERT_CLOSED(2, 1);
	importer_map_err(ENODEV, self->imp, id);
	importer_detach(self->imp, id);
	ASSERT_EQ(0, close(self->fd));
	check_released();
}

/* ATT-07: And so it waits for a fence, with nothing mapped any more. */
TEST_F(file_goes_first, att_07_close_waits_for_a_fence)
{
	struct caller caller;
	uint32_t id, fence;

	if (lacks_importer(_metadata, self))
		return;
	export_here(_metadata, self);
	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, DMABUF_IMPORTER_AT_ONCE, &id);
	importer_map(self->imp, id);
	importer_hold_fence(self->imp, id, DMABUF_IMPORTER_BOOKKEEP, 0, &fence);
	ibv_unimport_dm(self->dm);
	caller_start(&caller, close_context, self->exporter);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id, DMABUF_IMPORTER_MAPPED);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_UNMAP, id, 0);
	caller_waits(&caller, "dma_resv_wait_timeout");
	LOOK();
	ASSERT_ONE(ATTACH, scope_kv("ino=%lu", self->ino), "state=busy");
	ASSERT_MEMIC_FREED(0, &self->memic);
	ASSERT_FALSE(caller_is_done(&caller));
	importer_signal(self->imp, fence);
	caller_end(&caller, 0);
	ASSERT_CLOSED(2, 1);
	importer_detach(self->imp, id);
	ASSERT_EQ(0, close(self->fd));
	check_released();
}

/*
 * ATT-06, ATT-07, DMABUF-07: The exporting process is killed, and does not die before the
 * importer has given the mapping back; killing it again does not help.
 */
TEST_F(file_goes_first, att_07_killed_process_waits)
{
	uint32_t id;

	if (lacks_importer(_metadata, self))
		return;
	export_there(_metadata, self, true);
	importer_attach(self->imp, self->bed.dev.pci, self->fd, P2P, DMABUF_IMPORTER_ON_RELEASE,
			&id);
	importer_map(self->imp, id);
	ASSERT_EQ(0, kill(self->worker.pid, SIGKILL));
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id, DMABUF_IMPORTER_MAPPED);
	process_waits(self->worker.pid, WAITS_FOR_UNMAP);
	ASSERT_EQ(0, kill(self->worker.pid, SIGKILL));
	process_waits(self->worker.pid, WAITS_FOR_UNMAP);
	ASSERT_CLEANUP_WAITS();
	ASSERT_EQ(0, waitpid(self->worker.pid, NULL, WNOHANG));
	importer_release(self->imp, id);
	worker_wait(&self->worker);
	ASSERT_CLOSED(2, 1);
	importer_detach(self->imp, id);
	ASSERT_EQ(0, close(self->fd));
	check_released();
}

int main(int argc, char **argv)
{
	if (worker_is_wanted(argc, argv))
		return worker_main(argv);
	return bed_main(argc, argv);
}
