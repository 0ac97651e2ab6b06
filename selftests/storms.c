// SPDX-License-Identifier: GPL-2.0
/*
 * Many do the same at once: threads and processes that make, map, export and free.
 *
 * What must hold meanwhile the threads assert themselves; afterwards the kernel's
 * counts and the device's ledger must be what they were.  Choices follow from SEED, see
 * common/storm.h; that the kernel's races come out as they did before does not.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/connection.h"
#include "common/dm_ops.h"
#include "common/importer.h"
#include "common/kernel_counts.h"
#include "common/known.h"
#include "common/peer_msg.h"
#include "common/storm.h"
#include "common/touch.h"
#include "common/unbind.h"
#include "common/uverbs_ioctl.h"
#include "common/var_ops.h"

#include <rdma/mlx5_user_ioctl_cmds.h>

#define DM_SIZE		4096
#define VARS_MAX	4096
#define TIMEOUT		60

FIXTURE(storms)
{
	struct bed bed;
	struct kernel_counts counts;
	struct ibv_context *ctx;
	struct ibv_context *other;
	struct storm *storm;
	int64_t unexplained;
	int imp;
};

/* What all threads of a storm use. */
struct stage {
	struct ibv_context *ctx[2];
	int imp;
	const char *pci;
	bool exports;
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	struct raw_var var;
	struct raw_dm raw_dm;
	uint32_t handle;
	uint64_t off;
	int fd;
	uint32_t *map;
	int result[STORM_THREADS];
	uint32_t page[STORM_THREADS];
	unsigned int rounds;
	unsigned int late;
	unsigned int exported;
	unsigned int closed;
	bool done;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	uint32_t owner[VARS_MAX];
	uint8_t blob[VAR_BLOB_MAX];
};

static struct stage *stage;

FIXTURE_SETUP(storms)
{
	const char *missing = storm_missing();

	self->imp = -1;
	ASSERT_FALSE(unbind_is_stuck())
		TH_LOG("an earlier removal is still waiting");
	unbind_mend();
	if (!bed_make(_metadata, &self->bed, true) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	if (missing) {
		bed_mark(_metadata, "end");
		SKIP(return, "%s", missing);
	}
	if (bed_lacks_vars(_metadata, &self->bed, 64)) {
		bed_mark(_metadata, "end");
		return;
	}
	/* Two storms look at dma-bufs with it; they say so by need_dmabufs(). */
	if (!importer_missing())
		importer_open(&self->imp);
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	self->other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->other);
	counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
	/* A mapping of the library that the core does not know. */
	self->unexplained = scope_unexplained(&self->counts.scope,
					      scope_kv("ufile:%lu", self->counts.ufile));
	stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	ASSERT_NE(MAP_FAILED, stage);
	stage->ctx[0] = self->ctx;
	stage->ctx[1] = self->other;
	stage->imp = self->imp;
	stage->pci = self->bed.dev.pci;
}

FIXTURE_TEARDOWN(storms)
{
	if (self->imp >= 0)
		EXPECT_EQ(0, close(self->imp));
	if (self->other)
		EXPECT_EQ(0, ibv_close_device(self->other));
	if (self->ctx)
		EXPECT_EQ(0, ibv_close_device(self->ctx));
	EXPECT_EQ(0, _unbind_mend());
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

/* Asked before the storm, and not within. */
static void need_dmabufs(void)
{
	if (kernel_is_before(7, 0))
		skip_test("no UVERBS_OBJECT_DMABUF: the kernel is older than 7.0");
}

static void need_importer(int imp)
{
	need_dmabufs();
	if (imp < 0)
		skip_test("%s", importer_missing());
}

#define STORM(count, run) \
do { \
	storm_start(&self->storm, _metadata->name, count, 0, run, stage); \
	storm_end(self->storm); \
} while (0)

/* The context has what it had before the storm, and the device no more. */
#define ASSERT_CALM() \
do { \
	LOOK(); \
	ASSERT_COUNT(self->counts.uobjects, UOBJ, OURS("usecnt=0")); \
	ASSERT_COUNT(self->counts.uobjects, UOBJ, OURS("")); \
	ASSERT_NONE(MMAP, OURS("kind=VAR")); \
	ASSERT_NONE(MMAP, OURS("kind=MEMIC")); \
	ASSERT_NONE(MMAP, OURS("kind=MEMIC_OP")); \
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=2"); \
	ASSERT_DEVICE(0, "var_used"); \
	ASSERT_DEVICE(0, "memic_pages_used"); \
	ASSERT_UNEXPLAINED(self->unexplained, scope_kv("ufile:%lu", self->counts.ufile)); \
} while (0)

static int alloc_var(struct ibv_context *ctx, struct raw_var *var)
{
	return _raw_var_alloc(ctx->cmd_fd, 0, 0, var);
}

static int map_var(struct ibv_context *ctx, const struct raw_var *var, uint32_t **map)
{
	*map = mmap(NULL, var->length, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->cmd_fd,
		    var->mmap_off);
	return *map == MAP_FAILED ? errno : 0;
}

#define OWNED	8

static void set_owner(struct storm_thread *t, uint32_t page_id, uint32_t owner, uint32_t expected)
{
	const uint32_t seen = __atomic_exchange_n(&stage->owner[page_id], owner, __ATOMIC_ACQ_REL);

	if (seen != expected)
		storm_fail(t, "VAR page %u is of %u, not of %u", page_id, seen, expected);
}

/* A page of a VAR has one owner, of all contexts; who has none is number 0. */
static void own_vars(struct storm_thread *t)
{
	const int fd = stage->ctx[t->index & 1]->cmd_fd;
	const uint32_t me = t->index + 1;
	struct raw_var var[OWNED];
	int n = 0, i;

	while (storm_goes_on(t)) {
		if (n < OWNED && (!n || storm_random(t, 2))) {
			if (!STORM_WORKS(t, "alloc", _raw_var_alloc(fd, 0, 0, &var[n])))
				return;
			set_owner(t, var[n++].page_id, me, 0);
			continue;
		}
		i = storm_random(t, n);
		set_owner(t, var[i].page_id, 0, me);
		STORM_WORKS(t, "free", _raw_var_free(fd, var[i].handle));
		var[i] = var[--n];
	}
	while (n--) {
		set_owner(t, var[n].page_id, 0, me);
		STORM_WORKS(t, "free", _raw_var_free(fd, var[n].handle));
	}
}

/* CON-01, VAR-01: Nobody has the VAR page that somebody else has. */
TEST_F_TIMEOUT(storms, con_01_alloc_free, TIMEOUT)
{
	STORM(4, own_vars);
	ASSERT_CALM();
}

/* A VAR that is mapped, and perhaps freed already. */
struct mapped_var {
	struct raw_var var;
	uint32_t *map;
	uint32_t token;
	bool freed;
};

static void check_token(struct storm_thread *t, const struct mapped_var *m)
{
	const uint32_t seen = __atomic_load_n(m->map, __ATOMIC_RELAXED);

	if (seen != m->token)
		storm_fail(t, "VAR page %u: expected %#x, seen %#x", m->var.page_id, m->token,
			   seen);
}

/* The child has the mapping as well, and nothing else to do. */
static void fork_and_look(struct storm_thread *t, const struct mapped_var *m)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(__atomic_load_n(m->map, __ATOMIC_RELAXED) != m->token);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		storm_fail(t, "child: status %#x", status);
}

#define MAPPED	4

static void map_vars(struct storm_thread *t)
{
	struct ibv_context *ctx = stage->ctx[0];
	struct mapped_var m[MAPPED] = {};
	uint32_t number = 0;
	int i;

	while (storm_goes_on(t)) {
		struct mapped_var *one = &m[storm_random(t, MAPPED)];
		const uint32_t choice = storm_random(t, 16);

		if (!one->map) {
			if (!STORM_WORKS(t, "alloc", alloc_var(ctx, &one->var)) ||
			    !STORM_WORKS(t, "mmap", map_var(ctx, &one->var, &one->map)))
				break;
			one->freed = false;
			one->token = (t->index + 1) << 24 | (++number & 0xffffff);
			__atomic_store_n(one->map, one->token, __ATOMIC_RELAXED);
			continue;
		}
		check_token(t, one);
		if (!choice)
			fork_and_look(t, one);
		if (choice < 8 && !one->freed) {
			STORM_WORKS(t, "free", _raw_var_free(ctx->cmd_fd, one->var.handle));
			one->freed = true;
		}
		if (choice > 8 && one->freed) {
			STORM_WORKS(t, "munmap", _unmap(one->map, one->var.length));
			one->map = NULL;
		}
	}
	for (i = 0; i < MAPPED; i++) {
		if (!m[i].map)
			continue;
		check_token(t, &m[i]);
		STORM_WORKS(t, "munmap", _unmap(m[i].map, m[i].var.length));
		if (!m[i].freed)
			STORM_WORKS(t, "free", _raw_var_free(ctx->cmd_fd, m[i].var.handle));
	}
}

/*
 * CON-02, ENT-01, VAR-04, VAR-05: A page belongs to its mapping, freed or not and copied or
 * not, until that goes: what was written there is there.
 */
TEST_F_TIMEOUT(storms, con_02_map_fork_unmap, TIMEOUT)
{
	STORM(4, map_vars);
	ASSERT_CALM();
}

static int anybody_maps(int threads)
{
	int i, n = 0;

	for (i = 1; i < threads; i++)
		n += !stage->result[i];
	return n;
}

/*
 * The first one makes a VAR and frees it, two map it meanwhile, and the last one is somebody
 * else who takes pages.
 */
static void map_against_free(struct storm_thread *t)
{
	const int mappers = t->storm->count - 1, stranger = t->storm->count - 1;
	struct ibv_context *ctx = stage->ctx[t->index == stranger];
	uint32_t *map = NULL, *again;
	struct raw_var own;

	while (storm_next(t)) {
		int *result = &stage->result[t->index];

		if (!t->index)
			STORM_WORKS(t, "alloc", alloc_var(ctx, &stage->var));
		storm_meet(t);
		storm_jitter(t);
		if (!t->index) {
			STORM_WORKS(t, "free", _raw_var_free(ctx->cmd_fd, stage->var.handle));
		} else if (t->index < mappers) {
			*result = map_var(ctx, &stage->var, &map);
			STORM_ALLOWS(t, "mmap", *result, EINVAL);
		}
		storm_meet(t);
		if (!t->index) {
			/* Freed is freed, also while it is mapped. */
			if (!map_var(ctx, &stage->var, &again))
				storm_fail(t, "a VAR was mapped after it was freed");
		} else if (t->index < mappers && !*result) {
			__atomic_store_n(map, 0x5a5a5a5a, __ATOMIC_RELAXED);
		} else if (t->index == stranger) {
			STORM_WORKS(t, "alloc", alloc_var(ctx, &own));
			if (own.page_id == stage->var.page_id && anybody_maps(mappers))
				storm_fail(t, "VAR page %u is mapped and was given away",
					   own.page_id);
			STORM_WORKS(t, "mmap", map_var(ctx, &own, &map));
			__atomic_store_n(map, t->rounds, __ATOMIC_RELAXED);
		}
		storm_meet(t);
		if (t->index && t->index < mappers && !*result) {
			STORM_WORKS(t, "munmap", _unmap(map, stage->var.length));
		} else if (t->index == stranger) {
			if (__atomic_load_n(map, __ATOMIC_RELAXED) != t->rounds)
				storm_fail(t, "VAR page %u is somebody else's too", own.page_id);
			STORM_WORKS(t, "munmap", _unmap(map, own.length));
			STORM_WORKS(t, "free", _raw_var_free(ctx->cmd_fd, own.handle));
		}
	}
}

/*
 * CON-03, ENT-03, VAR-04: mmap() beside the free has the page, until it is unmapped, or is
 * refused; after the free it is refused; and nobody is given a page that is still mapped.
 */
TEST_F_TIMEOUT(storms, con_03_map_against_free, TIMEOUT)
{
	STORM(4, map_against_free);
	ASSERT_CALM();
}

static void free_twice(struct storm_thread *t)
{
	const int fd = stage->ctx[0]->cmd_fd;
	int *result = stage->result;

	while (storm_next(t)) {
		/* Both choose the same, as both choose by the round. */
		const bool dm = t->rounds & 1;

		if (!t->index) {
			STORM_WORKS(t, "alloc", dm ? _raw_dm_alloc(fd, DM_SIZE, 0, &stage->raw_dm) :
				    _raw_var_alloc(fd, 0, 0, &stage->var));
			stage->handle = dm ? stage->raw_dm.handle : stage->var.handle;
		}
		storm_meet(t);
		storm_jitter(t);
		result[t->index] = dm ? _raw_dm_free(fd, stage->handle) :
				   _raw_var_free(fd, stage->handle);
		STORM_ALLOWS(t, "free", result[t->index], EBUSY, ENOENT);
		storm_meet(t);
		if (!t->index && !result[0] == !result[1])
			storm_fail(t, "freed twice: %s, %s", strerror(result[0]),
				   strerror(result[1]));
	}
}

/* CON-04, UOBJ-02, IMP-08: Of two that free the same handle one does. */
TEST_F_TIMEOUT(storms, con_04_free_twice, TIMEOUT)
{
	STORM(2, free_twice);
	ASSERT_CALM();
}

/* The dma-buf of memory that was freed cannot be mapped, whoever came first. */
static void check_revoked(struct storm_thread *t, int fd)
{
	uint32_t id;
	int err;

	if (!STORM_WORKS(t, "attach", _importer_attach(stage->imp, stage->pci, fd,
						       DMABUF_IMPORTER_PEER2PEER, 0, &id)))
		return;
	err = _importer_map(stage->imp, id, NULL);
	if (err != ENODEV)
		storm_fail(t, "a dma-buf of memory that was freed was mapped: %s", strerror(err));
	STORM_WORKS(t, "detach", _importer_detach(stage->imp, id));
}

#define EXPORTS	32

/*
 * One frees an object while the other exports it again and again.  Mostly a VAR, which is
 * made and freed without the device.
 */
static void export_against_free(struct storm_thread *t)
{
	const int cmd_fd = stage->ctx[0]->cmd_fd;
	int fd[EXPORTS], n, err;

	while (storm_next(t)) {
		const bool dm = t->rounds % 8 == 0;

		if (!t->index) {
			STORM_WORKS(t, "alloc", dm ? _raw_dm_alloc(cmd_fd, DM_SIZE, 0,
								   &stage->raw_dm) :
				    alloc_var(stage->ctx[0], &stage->var));
			stage->off = dm ? raw_dm_off(stage->raw_dm.page_idx) : stage->var.mmap_off;
		}
		storm_meet(t);
		n = 0;
		if (!t->index) {
			storm_jitter(t);
			STORM_WORKS(t, "free", dm ? _raw_dm_free(cmd_fd, stage->raw_dm.handle) :
				    _raw_var_free(cmd_fd, stage->var.handle));
		} else {
			do {
				err = _raw_dmabuf_export(cmd_fd, stage->off, &fd[n]);
			} while (!err && ++n < EXPORTS);
			STORM_ALLOWS(t, "export", err, EINVAL, EIO);
			stage->late += err == EIO;
		}
		storm_meet(t);
		/* The last one may have been too late; all were revoked. */
		if (n)
			check_revoked(t, fd[n - 1]);
		if (n > 1)
			check_revoked(t, fd[storm_random(t, n - 1)]);
		while (n--)
			STORM_WORKS(t, "close", close(fd[n]) ? errno : 0);
	}
}

/*
 * CON-05, DMABUF-09, ENT-03: An export beside the free has a dma-buf that is revoked, or is
 * refused.
 */
TEST_F_TIMEOUT(storms, con_05_export_against_free, TIMEOUT)
{
	need_importer(self->imp);
	STORM(2, export_against_free);
	TH_LOG("%u exports were under way when the object was freed", stage->late);
	ASSERT_CALM();
}

static int alloc_and_export(int cmd_fd)
{
	int err;

	err = _raw_dm_alloc(cmd_fd, DM_SIZE, 0, &stage->raw_dm);
	if (err)
		return err;
	return _raw_dmabuf_export(cmd_fd, raw_dm_off(stage->raw_dm.page_idx), &stage->fd);
}

static void close_against_free(struct storm_thread *t)
{
	const int cmd_fd = stage->ctx[0]->cmd_fd;

	while (storm_next(t)) {
		if (!t->index)
			STORM_WORKS(t, "alloc and export", alloc_and_export(cmd_fd));
		storm_meet(t);
		storm_jitter(t);
		if (!t->index)
			STORM_WORKS(t, "free", _raw_dm_free(cmd_fd, stage->raw_dm.handle));
		else
			STORM_WORKS(t, "close", close(stage->fd) ? errno : 0);
	}
}

/* CON-06, DMABUF-03, DMABUF-05: The last close of a dma-buf beside the free of its memory. */
TEST_F_TIMEOUT(storms, con_06_close_against_free, TIMEOUT)
{
	need_dmabufs();
	STORM(2, close_against_free);
	ASSERT_CALM();
}

/* A process that has a context and hands dma-bufs of it to its parent. */
static int export_and_wait(int sock, const struct device *dev)
{
	struct ibv_context *ctx = device_open(dev);
	struct peer_msg msg = {};
	struct raw_var var;
	int i, fd;

	if (!ctx)
		return errno;
	for (i = 0; i < EXPORTS; i++)
		if (_raw_var_alloc(ctx->cmd_fd, 0, 0, &var) ||
		    _raw_dmabuf_export(ctx->cmd_fd, var.mmap_off, &fd) ||
		    peer_send(sock, &msg, fd) || close(fd))
			return EIO;
	pause();
	return 0;
}

static void *close_all(void *arg)
{
	int *fd = arg;
	int i;

	for (i = 0; i < EXPORTS; i++)
		close(fd[i]);
	return NULL;
}

/*
 * CON-07, DMABUF-08: The last closes of dma-bufs while their ufile is being cleaned up. A
 * process with a context dies, and its parent has the dma-bufs.
 */
TEST_F_TIMEOUT(storms, con_07_close_against_cleanup, TIMEOUT)
{
	const time_t end = time(NULL) + storm_seconds();
	int sock[2], fd[EXPORTS], i, rounds = 0;
	struct known_issue leak, uaf;
	struct peer_msg msg;
	pthread_t closer;
	pid_t pid;

	need_dmabufs();
	ASSERT_EQ(0, known_issue("L01", &leak));
	ASSERT_EQ(0, known_issue("L02", &uaf));
	/* It would show nothing on most kernels, and leave them with memory that is damaged. */
	if (leak.state != KNOWN_FIXED || uaf.state != KNOWN_FIXED)
		SKIP(return, "this kernel has L02 (%s): see known_crash_importer", uaf.title);
	do {
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(sock[0]);
			_exit(export_and_wait(sock[1], &self->bed.dev));
		}
		ASSERT_EQ(0, close(sock[1]));
		for (i = 0; i < EXPORTS; i++)
			ASSERT_EQ(0, peer_receive(sock[0], &msg, &fd[i]));
		ASSERT_EQ(0, close(sock[0]));
		ASSERT_EQ(0, pthread_create(&closer, NULL, close_all, fd));
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
		ASSERT_EQ(0, pthread_join(closer, NULL));
	} while (++rounds < 3 || time(NULL) < end);
	TH_LOG("%d rounds", rounds);
	ASSERT_CALM();
}

static int touch_in_child(uint32_t *at)
{
	uint32_t word;
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		touch_read(at, &word);
		_exit(0);
	}
	if (pid < 0)
		return errno;
	return waitpid(pid, &status, 0) == pid ? status : errno;
}

/* A VAR that was just made is mapped, copied, freed and mapped again, all perhaps too late. */
static void use_vanishing_var(struct storm_thread *t, const struct raw_var *var)
{
	struct ibv_context *ctx = stage->ctx[0];
	uint32_t *map, *again, word;

	if (STORM_ALLOWS(t, "mmap", map_var(ctx, var, &map), EIO)) {
		if (touch_read(map, &word))
			storm_fail(t, "SIGBUS in a mapping of our own");
		if (!storm_random(t, 4))
			STORM_WORKS(t, "fork", touch_in_child(map));
		/* The others stay until the context is closed, or the device goes. */
		if (storm_random(t, 8))
			STORM_WORKS(t, "free", _raw_var_free(ctx->cmd_fd, var->handle));
		if (STORM_ALLOWS(t, "second mmap", map_var(ctx, var, &again), EIO, EINVAL))
			STORM_WORKS(t, "second munmap", _unmap(again, var->length));
		STORM_WORKS(t, "munmap", _unmap(map, var->length));
	}
}

/* What a program does, on a device that may go at any moment. */
static void use_vanishing(struct storm_thread *t)
{
	const int cmd_fd = stage->ctx[0]->cmd_fd;
	struct raw_var var;
	struct raw_dm dm;
	uint64_t off;
	int fd;

	while (storm_goes_on(t)) {
		if (STORM_ALLOWS(t, "alloc of a VAR", alloc_var(stage->ctx[0], &var), EIO, ENOSPC))
			use_vanishing_var(t, &var);
		if (!STORM_ALLOWS(t, "alloc of a DM", _raw_dm_alloc(cmd_fd, DM_SIZE, 0, &dm), EIO))
			continue;
		off = raw_dm_off(dm.page_idx);
		if (stage->exports &&
		    STORM_ALLOWS(t, "export", _raw_dmabuf_export(cmd_fd, off, &fd), EIO))
			STORM_WORKS(t, "close", close(fd) ? errno : 0);
		STORM_WORKS(t, "free of a DM", _raw_dm_free(cmd_fd, dm.handle));
	}
}

/*
 * CON-08, UOBJ-09, VAR-15: The device goes while threads use it: nothing hangs, nobody sees
 * another errno than EIO, and what was not freed is free.
 */
TEST_F_TIMEOUT(storms, con_08_removal, TIMEOUT)
{
	const time_t end = time(NULL) + storm_seconds();
	struct known_issue leak, uaf;
	char ledger[512];

	ASSERT_EQ(0, known_issue("L01", &leak));
	ASSERT_EQ(0, known_issue("L02", &uaf));
	stage->exports = leak.state == KNOWN_FIXED && uaf.state == KNOWN_FIXED;
	ASSERT_NE(NULL, unbind_baseline(&self->bed.dev));
	/* Its contexts are of the device that was there before. */
	ASSERT_EQ(0, ibv_close_device(self->other));
	self->other = NULL;
	do {
		ASSERT_EQ(0, ibv_close_device(self->ctx));
		self->ctx = device_open(&self->bed.dev);
		ASSERT_NE(NULL, self->ctx);
		stage->ctx[0] = self->ctx;
		counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
		storm_start(&self->storm, _metadata->name, 4, STORM_UNTIL_STOPPED, use_vanishing,
			    stage);
		ASSERT_TRUE(storm_began(self->storm, 5));
		unbind(&self->bed.dev, UNBIND_RDMA);
		storm_stop(self->storm);
		storm_end(self->storm);
		ASSERT_EQ(0, unbind_ledger(&self->bed.dev, ledger, sizeof(ledger)));
		ASSERT_STREQ(unbind_baseline(&self->bed.dev), ledger);
		LOOK();
		ASSERT_ONE(UFILE, OUR_UFILE, "state=disassociated ref=2 umaps=0");
		ASSERT_NONE(UOBJ, OURS("state=live"));
		ASSERT_NONE(MMAP, OURS(""));
		bind_again(&self->bed.dev);
	} while (time(NULL) < end);
}

/* DM_MAP_OP_ADDR, and the page index that the operation is mapped by. */
static int map_op(int fd, uint32_t handle, uint8_t op, uint32_t *page)
{
	uint64_t offset;
	uint16_t index = 0;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE, handle),
		uverbs_in(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, &op, sizeof(op)),
		uverbs_out(MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET, &offset,
			   sizeof(offset)),
		uverbs_out(MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX, &index, sizeof(index)),
	};
	int err;

	err = uverbs_ioctl(fd, UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_MAP_OP_ADDR, attr, 4);
	*page = index;
	return err;
}

static void map_same_op(struct storm_thread *t)
{
	const int fd = stage->ctx[0]->cmd_fd;
	int i;

	while (storm_next(t)) {
		if (!t->index)
			STORM_WORKS(t, "alloc", _raw_dm_alloc(fd, DM_SIZE, 0, &stage->raw_dm));
		storm_meet(t);
		STORM_WORKS(t, "map of an operation",
			    map_op(fd, stage->raw_dm.handle, 0, &stage->page[t->index]));
		storm_meet(t);
		if (t->index)
			continue;
		stage->rounds++;
		for (i = 1; i < t->storm->count; i++)
			if (stage->page[i] != stage->page[0])
				storm_fail(t, "operation 0 is at page %u and at page %u",
					   stage->page[0], stage->page[i]);
		STORM_WORKS(t, "free", _raw_dm_free(fd, stage->raw_dm.handle));
	}
}

/* How often the device was told to make an operation. */
static int count_op_allocs(const struct device *dev, int64_t seq)
{
	struct vhca_history history;
	unsigned int i;
	int n = 0;

	if (vhca_since(dev, seq, &history))
		return -1;
	for (i = 0; i < history.count; i++)
		n += history.command[i].opcode == VHCA_MODIFY_MEMIC &&
		     history.command[i].op_mod == VHCA_MEMIC_OPERATION_ALLOC;
	vhca_forget(&history);
	return n;
}

/*
 * CON-09, DM-07: Of many who ask for the same operation one has the device make it, and all
 * are told the same page.
 */
TEST_F_TIMEOUT(storms, con_09_same_operation, TIMEOUT)
{
	int64_t seq;

	if (!(self->bed.dev.info.memic_operations & 1))
		SKIP(return, "the device has no MEMIC operation 0");
	seq = vhca_seq(&self->bed.dev);
	storm_start(&self->storm, _metadata->name, STORM_THREADS, STORM_UNTIL_STOPPED,
		    map_same_op, stage);
	/* As many as the device remembers. */
	storm_began(self->storm, 10);
	storm_stop(self->storm);
	storm_end(self->storm);
	ASSERT_LT(0U, stage->rounds);
	ASSERT_EQ((int)stage->rounds, count_op_allocs(&self->bed.dev, seq));
	STORM(STORM_THREADS, map_same_op);
	ASSERT_CALM();
}

static void register_against_free(struct storm_thread *t)
{
	struct ibv_context *ctx = stage->ctx[0];
	int *result = stage->result;

	while (storm_next(t)) {
		if (!t->index)
			STORM_WORKS(t, "alloc", _dm_alloc(ctx, DM_SIZE, &stage->dm));
		storm_meet(t);
		storm_jitter(t);
		if (!t->index) {
			result[0] = _raw_dm_free(ctx->cmd_fd, stage->dm->handle);
			STORM_ALLOWS(t, "free", result[0], EBUSY);
		} else {
			result[1] = _mr_reg_dm(stage->pd, stage->dm, 0, DM_SIZE, &stage->mr);
			STORM_ALLOWS(t, "registration", result[1], ENOENT, EBUSY);
		}
		storm_meet(t);
		if (t->index)
			continue;
		if (!result[0] == !result[1])
			storm_fail(t, "free: %s, registration: %s", strerror(result[0]),
				   strerror(result[1]));
		if (!result[1])
			STORM_WORKS(t, "dereg", ibv_dereg_mr(stage->mr));
		if (result[0])
			STORM_WORKS(t, "free", _raw_dm_free(ctx->cmd_fd, stage->dm->handle));
		ibv_unimport_dm(stage->dm);
	}
}

/* CON-10, DM-03, UOBJ-03: There is a region, or the memory is freed, and never both. */
TEST_F_TIMEOUT(storms, con_10_register_against_free, TIMEOUT)
{
	stage->pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, stage->pd);
	STORM(2, register_against_free);
	ASSERT_EQ(0, ibv_dealloc_pd(stage->pd));
	ASSERT_CALM();
}

static void dmabuf_region_against_free(struct storm_thread *t)
{
	const int cmd_fd = stage->ctx[0]->cmd_fd;
	struct ibv_pd *pd = NULL;
	struct ibv_mr *mr;
	int err;

	if (t->index) {
		pd = ibv_alloc_pd(stage->ctx[t->index & 1]);
		if (!pd)
			storm_fail(t, "pd: %s", strerror(errno));
	}
	while (storm_next(t)) {
		if (!t->index)
			STORM_WORKS(t, "alloc and export", alloc_and_export(cmd_fd));
		storm_meet(t);
		storm_jitter(t);
		if (!t->index) {
			STORM_WORKS(t, "free", _raw_dm_free(cmd_fd, stage->raw_dm.handle));
		} else {
			do {
				err = _mr_reg_dmabuf(pd, 0, DM_SIZE, stage->fd, &mr);
				STORM_ALLOWS(t, "registration", err, ENODEV);
				storm_jitter(t);
				if (!err)
					STORM_WORKS(t, "dereg", ibv_dereg_mr(mr));
			} while (!err);
		}
		storm_meet(t);
		if (!t->index) {
			check_revoked(t, stage->fd);
			STORM_WORKS(t, "close", close(stage->fd) ? errno : 0);
		}
	}
	if (pd)
		STORM_WORKS(t, "dealloc of the PD", ibv_dealloc_pd(pd));
}

/*
 * CON-11, ATT-05, ATT-10: Regions on a dma-buf come and go until its memory is freed: the
 * free waits for those that are there, and none comes afterwards.
 */
TEST_F_TIMEOUT(storms, con_11_dmabuf_region_against_free, TIMEOUT)
{
	struct known_issue issue;

	need_importer(self->imp);
	ASSERT_EQ(0, known_issue("L36", &issue));
	if (issue.state == KNOWN_LIVE)
		SKIP(return, "this kernel has L36 (%s): see known_crash", issue.title);
	STORM(3, dmabuf_region_against_free);
	ASSERT_CALM();
}

#define KEPT	6
#define HOARD_PATIENCE	20	/* seconds */

/*
 * Of each kind some, until this process is killed; how many VARs, is told.  No region on a
 * dma-buf of its own: that outlives the context for a moment, which kernels before 7.3
 * cannot take (L01).
 */
static void hoard(struct storm_thread *t, const struct device *dev, unsigned int *made)
{
	struct ibv_context *ctx = device_open(dev);
	struct mlx5dv_var *var[KEPT] = {};
	struct ibv_dm *dm[KEPT] = {};
	struct ibv_mr *mr[KEPT] = {};
	int fd[KEPT], i, kept = 0;
	struct ibv_pd *pd;
	uint32_t *map;
	void *op;

	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	for (i = 0; i < KEPT; i++)
		fd[i] = -1;
	while (pd) {
		i = storm_random(t, KEPT);
		switch (storm_random(t, 8)) {
		case 0:
			if (var[i])
				mlx5dv_free_var(var[i]);
			*made += !_var_alloc(ctx, 0, &var[i]);
			break;
		case 1:
			/* A process must not have too many. */
			if (var[i] && kept++ < 1000)
				_var_map(ctx, var[i], &map);
			break;
		case 2:
			if (!dm[i])
				_dm_alloc(ctx, DM_SIZE, &dm[i]);
			break;
		case 3:
			if (dm[i] && !mr[i] && !ibv_free_dm(dm[i]))
				dm[i] = NULL;
			break;
		case 4:
			if (dm[i] && kept++ < 1000)
				_dm_map_op(dm[i], 0, &op);
			break;
		case 5:
			if (dm[i] && !mr[i])
				_mr_reg_dm(pd, dm[i], 0, DM_SIZE, &mr[i]);
			break;
		case 6:
			if (mr[i] && !ibv_dereg_mr(mr[i]))
				mr[i] = NULL;
			break;
		case 7:
			if (fd[i] >= 0)
				close(fd[i]);
			fd[i] = -1;
			if (dm[i])
				_dmabuf_export(dm[i], &fd[i]);
			break;
		}
	}
	_exit(1);
}

/*
 * CON-12, VAR-14, DM-16, DMABUF-07: Processes that have made, mapped, registered and exported
 * are killed at any moment: nothing is left of them.
 */
TEST_F_TIMEOUT(storms, con_12_sigkill, TIMEOUT)
{
	const time_t end = time(NULL) + storm_seconds();
	struct storm_thread t = { .state = storm_seed(_metadata->name) };
	int rounds = 0, status;
	struct timespec delay;
	unsigned int *made, before;
	time_t patience;
	pid_t pid[2];
	int i;

	need_dmabufs();
	made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)made);
	do {
		before = *made;
		for (i = 0; i < 2; i++) {
			t.state += i;
			pid[i] = fork();
			ASSERT_LE(0, pid[i]);
			if (!pid[i]) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				hoard(&t, &self->bed.dev, made);
			}
		}
		/*
		 * A slow machine would have killed them before they had anything, every time:
		 * in every second round the moment comes after the first VAR.
		 */
		delay = (struct timespec){ .tv_nsec = 1000 * 1000 };
		patience = time(NULL) + HOARD_PATIENCE;
		while (rounds % 2 && __atomic_load_n(made, __ATOMIC_RELAXED) == before &&
		       time(NULL) < patience)
			nanosleep(&delay, NULL);
		delay.tv_nsec = storm_random(&t, 100 * 1000 * 1000);
		nanosleep(&delay, NULL);
		for (i = 0; i < 2; i++)
			ASSERT_EQ(0, kill(pid[i], SIGKILL));
		for (i = 0; i < 2; i++) {
			ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
			ASSERT_TRUE(WIFSIGNALED(status));
			ASSERT_EQ(SIGKILL, WTERMSIG(status));
		}
	} while (++rounds < 3 || time(NULL) < end);
	TH_LOG("%d rounds, %u VARs", rounds, *made);
	/* Somebody who was killed had made something. */
	ASSERT_LT(0U, *made);
	ASSERT_EQ(0, munmap(made, sizeof(*made)));
}

#define SHARERS	4

/* The first process makes a VAR and device memory. */
static int make_shared(struct ibv_context *ctx, struct mlx5dv_var **var)
{
	int err;

	err = _raw_dm_alloc(ctx->cmd_fd, DM_SIZE, 0, &stage->raw_dm);
	if (!err)
		err = _var_alloc(ctx, 0, var);
	return err ? err : mlx5dv_var_export(*var, stage->blob);
}

/* The memory is imported, and the import freed, which has a result, or given up. */
static void share_dm(struct storm_thread *t, struct ibv_context *ctx)
{
	int *result = &stage->result[t->index];
	struct ibv_dm *dm;

	*result = ENOENT;
	if (!STORM_ALLOWS(t, "import of a DM", _dm_import(ctx, stage->raw_dm.handle, &dm),
			  ENOENT, EBUSY, EINVAL))
		return;
	storm_jitter(t);
	if (storm_random(t, 2)) {
		*result = ibv_free_dm(dm);
		STORM_ALLOWS(t, "free of a DM", *result, ENOENT, EBUSY);
	}
	if (*result)
		ibv_unimport_dm(dm);
}

/* The VAR is mapped, and freed or given up; the first process frees in any case. */
static void share_var(struct storm_thread *t, struct ibv_context *ctx, struct mlx5dv_var *var)
{
	uint32_t *map, word;

	if (STORM_ALLOWS(t, "mmap", _var_map(ctx, var, &map), EINVAL)) {
		if (touch_read(map, &word))
			storm_fail(t, "SIGBUS in a mapping of our own");
		STORM_WORKS(t, "munmap", _unmap(map, var->length));
	}
	storm_jitter(t);
	if (!t->index || storm_random(t, 2))
		mlx5dv_free_var(var);
	else
		mlx5dv_var_unimport(var);
}

static void share_and_free(struct storm_thread *t)
{
	struct ibv_context *ctx = ibv_import_device(dup(stage->ctx[0]->cmd_fd));
	struct mlx5dv_var *var;
	int i, frees;

	if (!ctx)
		_exit(1);
	while (storm_next(t)) {
		if (!t->index && !STORM_WORKS(t, "alloc", make_shared(ctx, &var)))
			_exit(1);
		storm_meet(t);
		if (t->index && !STORM_WORKS(t, "import of a VAR",
					     _var_import(ctx, stage->blob, &var)))
			_exit(1);
		share_dm(t, ctx);
		share_var(t, ctx, var);
		storm_meet(t);
		if (t->index)
			continue;
		for (i = 0, frees = 0; i < t->storm->count; i++)
			frees += !stage->result[i];
		if (frees > 1)
			storm_fail(t, "%d processes have freed one DM", frees);
		if (!frees)
			STORM_WORKS(t, "free of a DM", _raw_dm_free(ctx->cmd_fd,
								    stage->raw_dm.handle));
	}
	if (ibv_close_device(ctx))
		storm_fail(t, "close: %s", strerror(errno));
}

/*
 * CON-13, IMP-06, IMP-08, IMP-14: Processes that share a ufile free what the others free: each
 * object is destroyed once, and nobody is left with anything.
 */
TEST_F_TIMEOUT(storms, con_13_processes_share, TIMEOUT)
{
	storm_start(&self->storm, _metadata->name, SHARERS, STORM_OF_PROCESSES, share_and_free,
		    stage);
	storm_end(self->storm);
	ASSERT_CALM();
}

#define LEAVERS	8

/* Unmap, exit, or be killed, when told to. */
static void leave(struct storm_thread *t)
{
	uint32_t *map = stage->map;

	storm_meet(t);
	if (!t->index)
		return;
	storm_jitter(t);
	switch (storm_random(t, 3)) {
	case 0:
		STORM_WORKS(t, "munmap", _unmap(map, stage->var.length));
		break;
	case 1:
		_exit(0);
	default:
		/* The mapping goes with the address space. */
		break;
	}
}

/*
 * CON-14, VAR-15: Processes unmap and die while the removal takes their mappings.
 * disassociate.c has the case that the address space is being torn down at that moment.
 */
TEST_F_TIMEOUT(storms, con_14_leave_at_removal, TIMEOUT)
{
	const time_t end = time(NULL) + storm_seconds();
	struct unbind unbind_;
	char ledger[512];

	ASSERT_NE(NULL, unbind_baseline(&self->bed.dev));
	ASSERT_EQ(0, ibv_close_device(self->other));
	self->other = NULL;
	do {
		ASSERT_EQ(0, ibv_close_device(self->ctx));
		self->ctx = device_open(&self->bed.dev);
		ASSERT_NE(NULL, self->ctx);
		counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
		raw_var_alloc(self->ctx->cmd_fd, 0, &stage->var);
		ASSERT_EQ(0, map_var(self->ctx, &stage->var, &stage->map));
		storm_start(&self->storm, _metadata->name, LEAVERS, STORM_OF_PROCESSES, leave,
			    stage);
		unbind_start(&unbind_, &self->bed.dev, UNBIND_RDMA);
		storm_end(self->storm);
		unbind_end(&unbind_);
		ASSERT_EQ(0, unbind_ledger(&self->bed.dev, ledger, sizeof(ledger)));
		ASSERT_STREQ(unbind_baseline(&self->bed.dev), ledger);
		LOOK();
		ASSERT_ONE(UFILE, OUR_UFILE, "state=disassociated ref=2 umaps=0");
		ASSERT_NONE(MMAP, OURS(""));
		ASSERT_NONE(VMA, OURS(""));
		unmap(stage->map, stage->var.length);
		bind_again(&self->bed.dev);
	} while (time(NULL) < end);
}

/* Close the descriptor that the other one will get, as long as it exports. */
static void close_until_done(struct storm_thread *t)
{
	while (!__atomic_load_n(&stage->done, __ATOMIC_ACQUIRE)) {
		t->rounds++;
		/* Nothing else is opened or closed meanwhile. */
		if (!close(stage->fd))
			__atomic_add_fetch(&stage->closed, 1, __ATOMIC_RELEASE);
	}
}

static void close_what_comes(struct storm_thread *t)
{
	const int cmd_fd = stage->ctx[1]->cmd_fd;
	int fd;

	if (t->index)
		return close_until_done(t);
	while (storm_goes_on(t)) {
		if (!STORM_WORKS(t, "export", _raw_dmabuf_export(cmd_fd, stage->var.mmap_off, &fd)))
			break;
		stage->exported++;
		if (fd != stage->fd) {
			storm_fail(t, "descriptor %d, not %d", fd, stage->fd);
			break;
		}
		while (__atomic_load_n(&stage->closed, __ATOMIC_ACQUIRE) != stage->exported)
			sched_yield();
	}
	__atomic_store_n(&stage->done, true, __ATOMIC_RELEASE);
}

/*
 * CON-15, UOBJ-08, DMABUF-03: A dma-buf is closed as soon as there is a descriptor of it,
 * before the export has returned.  The context has no event file any more, so the ufile has
 * its file alone beside the dma-buf: whoever takes a reference late takes it of nothing.
 */
TEST_F_TIMEOUT(storms, con_15_close_what_comes, TIMEOUT)
{
	const uint64_t theirs = scope_ufile(&self->counts.scope, getpid(), self->other->cmd_fd);
	int fd;

	need_dmabufs();
	ASSERT_NE(0UL, theirs);
	raw_var_alloc(self->other->cmd_fd, 0, &stage->var);
	ASSERT_EQ(0, close(self->other->async_fd));
	LOOK();
	ASSERT_ONE(UFILE, scope_kv("id=%lu", theirs), "ref=1 state=live");
	/* The lowest free one comes next. */
	stage->fd = fcntl(self->ctx->cmd_fd, F_DUPFD_CLOEXEC, 0);
	ASSERT_LE(0, stage->fd);
	ASSERT_EQ(0, close(stage->fd));
	STORM(2, close_what_comes);
	ASSERT_EQ(stage->exported, stage->closed);
	LOOK();
	ASSERT_ONE(UFILE, scope_kv("id=%lu", theirs), "ref=1 state=live");
	ASSERT_NONE(UOBJ, THEIRS(theirs, "type=DMABUF"));
	ASSERT_ONE(MMAP, THEIRS(theirs, "kind=VAR"), "ref=1 dmabufs=0");
	raw_var_free(self->other->cmd_fd, stage->var.handle);
	/* For the library to close. */
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	if (fd != self->other->async_fd) {
		ASSERT_EQ(self->other->async_fd, dup2(fd, self->other->async_fd));
		ASSERT_EQ(0, close(fd));
	}
}

/*
 * CQ_CREATE with a channel, and with no entries: the channel is looked up and let go of,
 * and nothing else is done.
 */
static int look_up_channel(int cmd_fd, int channel)
{
	const uint64_t zero = 0;
	uint32_t answer;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(UVERBS_ATTR_CREATE_CQ_HANDLE, 0),
		uverbs_in(UVERBS_ATTR_CREATE_CQ_CQE, &zero, sizeof(uint32_t)),
		uverbs_in(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &zero, sizeof(uint64_t)),
		uverbs_handle(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, channel),
		uverbs_in(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &zero, sizeof(uint32_t)),
		uverbs_out(UVERBS_ATTR_CREATE_CQ_RESP_CQE, &answer, sizeof(answer)),
	};

	return uverbs_ioctl(cmd_fd, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, attr, 6);
}

/* The first one uses a channel until it is gone; the other closes it. */
static void close_channel(struct storm_thread *t)
{
	struct ibv_context *ctx = stage->ctx[0];
	int err, spare;

	while (storm_next(t)) {
		if (!t->index) {
			stage->channel = ibv_create_comp_channel(ctx);
			if (!stage->channel)
				storm_fail(t, "channel: %s", strerror(errno));
		}
		storm_meet(t);
		if (!stage->channel)
			continue;
		if (t->index) {
			storm_jitter(t);
			STORM_WORKS(t, "close", close(stage->channel->fd) ? errno : 0);
		} else {
			do {
				err = look_up_channel(ctx->cmd_fd, stage->channel->fd);
			} while (err == EINVAL);
			if (err != EBADF)
				storm_fail(t, "CQ: %s", strerror(err));
		}
		storm_meet(t);
		if (t->index)
			continue;
		/* For the library to close. */
		spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (spare != stage->channel->fd) {
			dup2(spare, stage->channel->fd);
			close(spare);
		}
		STORM_WORKS(t, "destroy of a channel", ibv_destroy_comp_channel(stage->channel));
	}
}

/*
 * UOBJ-13, UOBJ-12: A completion channel is closed while a command looks it up, uses it and
 * lets go of it: the command has it or is told that there is none, and it is never found
 * locked when it goes.
 */
TEST_F_TIMEOUT(storms, uobj_13_close_channel, TIMEOUT)
{
	STORM(2, close_channel);
	ASSERT_CALM();
}

int main(int argc, char **argv)
{
	struct __fixture_metadata *f;
	struct __test_metadata *t;

	/* STRESS is known when it runs only, and timeouts are compiled in. */
	for (f = __fixture_list; f; f = f->next)
		for (t = f->tests; t; t = t->next)
			t->timeout += storm_seconds();
	return bed_main(argc, argv);
}
