// SPDX-License-Identifier: GPL-2.0
/*
 * Lifetime of a VAR in one process and its children.
 *
 * A VAR is a doorbell page of the device that a process may map.  Allocating
 * one is arithmetic of the driver, and firmware is not told.  So the witnesses
 * are: what the calls return; what the kernel counts, of the uobject, the mmap
 * entry, the mappings and the bitmap; whether an allocation gets the page; and
 * where in the device's memory a store through a mapping arrives.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/dm_ops.h"
#include "common/doorbell.h"
#include "common/entry_ops.h"
#include "common/kernel_counts.h"
#include "common/uverbs_ioctl.h"
#include "common/var_ops.h"

FIXTURE(var)
{
	struct bed bed;
	struct kernel_counts counts;
	struct ibv_context *ctx;
	size_t page_size;
	/* Which of a test's cases it is at. */
	const char *at;
};

FIXTURE_SETUP(var)
{
	if (!bed_make(_metadata, &self->bed, false) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	self->page_size = sysconf(_SC_PAGESIZE);
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
}

FIXTURE_TEARDOWN(var)
{
	if (self->at && _metadata->exit_code != KSFT_PASS)
		TH_LOG("it was at the case %s", self->at);
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

/* Is the page of a VAR in nobody's hands? */
#define ASSERT_PAGE_FREE(yes, page_id) \
	ASSERT_EQ(yes, var_page_is_free(self->ctx->cmd_fd, 0, page_id))
#define ASSERT_TLP_PAGE_FREE(yes, page_id) \
	ASSERT_EQ(yes, var_page_is_free(self->ctx->cmd_fd, MLX5DV_VAR_ALLOC_FLAG_TLP, page_id))

/* The only VAR of a ufile has this many mappings and can, or cannot, get more. */
#define ASSERT_VAR_OF(ufile_, mappings, removed) \
	ASSERT_ONE(MMAP, THEIRS(ufile_, "kind=VAR"), \
		   scope_kv("ref=%d vmas=%d dmabufs=0 driver_removed=%d", \
			    (removed) ? (mappings) : (mappings) + 1, mappings, removed))
#define ASSERT_VAR(mappings, removed) \
	ASSERT_VAR_OF(self->counts.ufile, mappings, removed)

/* Nothing is left of any VAR of the fixture's ufile. */
#define ASSERT_NO_VAR() \
do { \
	ASSERT_NONE(UOBJ, OURS("type=MLX5_VAR")); \
	ASSERT_NONE(MMAP, OURS("kind=VAR")); \
	ASSERT_DEVICE(0, "var_used"); \
} while (0)

/*
 * VAR-01, UOBJ-01: An allocation gives the number of a page, the length of it and
 * an offset to map it by.  The page is taken, its uobject has the list's and the
 * handle's reference, its entry the creator's, and firmware is told nothing.
 */
TEST_F(var, var_01_alloc_takes_a_page)
{
	const struct vhca_region *region = &self->bed.dev.info.var;
	int64_t seq = vhca_seq(&self->bed.dev);
	struct mlx5dv_var *var;

	ASSERT_LE(0, seq);
	var_alloc(self->ctx, 0, &var);
	ASSERT_GT(region->count, var->page_id);
	ASSERT_LE(region->stride, var->length);
	ASSERT_EQ(0UL, var->length % self->page_size);
	ASSERT_EQ(0UL, var->mmap_off % self->page_size);
	ASSERT_PAGE_FREE(0, var->page_id);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=MLX5_VAR"),
		   scope_kv("ref=2 usecnt=0 state=live page_id=%u var_bit=1", var->page_id));
	ASSERT_VAR(0, 0);
	ASSERT_ONE(MMAP, OURS("kind=VAR"),
		   scope_kv("pgoff=%lu npages=%lu page_id=%u var_bit=1 addr=%lu",
			    pgoff_of(var->mmap_off), var->length / self->page_size, var->page_id,
			    device_bar(&self->bed.dev) + region->offset +
			    (uint64_t)var->page_id * region->stride));
	ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("ref=2 uobjects=%d", self->counts.uobjects + 1));
	ASSERT_DEVICE(1, "var_used");
	ASSERT_EQ((int64_t)region->count, VALUE(DEVICE, OUR_DEVICE, "var_entries"));

	mlx5dv_free_var(var);
	LOOK();
	ASSERT_NO_VAR();
	ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("ref=2 uobjects=%d", self->counts.uobjects));
	ASSERT_EQ(0, vhca_other_since(&self->bed.dev, seq));
}

/*
 * VAR-01, UOBJ-05: Of the pages the lowest free one is taken, of the offsets and
 * of the handles as well: what one VAR gives back in the middle the next one gets.
 */
TEST_F(var, var_01_lowest_is_taken)
{
	struct raw_var var[3], next;
	int i;

	if (bed_lacks_vars(_metadata, &self->bed, 3))
		return;
	for (i = 0; i < 3; i++) {
		raw_var_alloc(self->ctx->cmd_fd, 0, &var[i]);
		if (!i)
			continue;
		ASSERT_LT(var[i - 1].page_id, var[i].page_id);
		ASSERT_LT(var[i - 1].mmap_off, var[i].mmap_off);
		ASSERT_LT(var[i - 1].handle, var[i].handle);
	}
	raw_var_free(self->ctx->cmd_fd, var[1].handle);
	LOOK();
	ASSERT_DEVICE(2, "var_used");
	raw_var_alloc(self->ctx->cmd_fd, 0, &next);
	ASSERT_EQ(var[1].page_id, next.page_id);
	ASSERT_EQ(var[1].mmap_off, next.mmap_off);
	ASSERT_EQ(var[1].handle, next.handle);
	LOOK();
	ASSERT_DEVICE(3, "var_used");
	ASSERT_ONE(UOBJ, OURS("type=MLX5_VAR handle=%u", next.handle),
		   scope_kv("ref=2 usecnt=0 page_id=%u", next.page_id));
	for (i = 0; i < 3; i++)
		raw_var_free(self->ctx->cmd_fd, var[i].handle);
}

/*
 * VAR-01: The bitmap belongs to the device, so two contexts never get the same
 * page, and a store through either mapping arrives on its own page only.  Offsets
 * belong to the context: both may have the same, and it leads each to its own.
 */
TEST_F(var, var_01_contexts_get_different_pages)
{
	struct mlx5dv_var *var, *other_var;
	uint32_t *map, *other_map;
	struct ibv_context *other;
	uint64_t ufile;

	if (bed_lacks_vars(_metadata, &self->bed, 2))
		return;
	other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, other);
	var_alloc(self->ctx, 0, &var);
	map_err(EINVAL, other, var->length, MAP_SHARED, var->mmap_off);
	var_alloc(other, 0, &other_var);
	ASSERT_NE(var->page_id, other_var->page_id);
	ASSERT_EQ(var->mmap_off, other_var->mmap_off);
	var_map(self->ctx, var, &map);
	var_map(other, other_var, &other_map);
	LOOK();
	ufile = scope_ufile(&self->counts.scope, getpid(), other->cmd_fd);
	ASSERT_NE(self->counts.ufile, ufile);
	ASSERT_VAR(1, 0);
	ASSERT_VAR_OF(ufile, 1, 0);
	ASSERT_ONE(MMAP, OURS("kind=VAR"), scope_kv("page_id=%u", var->page_id));
	ASSERT_ONE(MMAP, THEIRS(ufile, "kind=VAR"), scope_kv("page_id=%u", other_var->page_id));
	ASSERT_DEVICE(2, "var_used");

	doorbell_store(map, DOORBELL_VAR, var->page_id);
	doorbell_store(other_map, DOORBELL_VAR, other_var->page_id);
	unmap(map, var->length);
	LOOK();
	ASSERT_VAR(0, 0);
	ASSERT_VAR_OF(ufile, 1, 0);
	unmap(other_map, other_var->length);
	mlx5dv_free_var(var);
	mlx5dv_free_var(other_var);
	ASSERT_EQ(0, ibv_close_device(other));
	LOOK();
	ASSERT_NO_VAR();
}

/*
 * VAR-02, ENT-01: Each mapping takes one reference to the mmap entry, is mapped to
 * the device's page, and gives the reference back when it is unmapped.  After a
 * thousand of them there is still the creator's.
 */
TEST_F(var, var_02_map_and_unmap)
{
	struct mlx5dv_var *var;
	uint32_t *map[3];
	int64_t umaps;
	int i;

	var_alloc(self->ctx, 0, &var);
	LOOK();
	umaps = VALUE(UFILE, OUR_UFILE, "umaps");
	for (i = 0; i < 3; i++) {
		var_map(self->ctx, var, &map[i]);
		LOOK();
		ASSERT_VAR(i + 1, 0);
		ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("ref=2 umaps=%ld", umaps + i + 1));
		ASSERT_ONE(VMA, OURS("start=%lu", (uintptr_t)map[i]),
			   scope_kv("pid=%d end=%lu", getpid(), (uintptr_t)map[i] + var->length));
		ASSERT_ENTRY_OF(OURS("kind=VAR"), VMA, OURS("start=%lu", (uintptr_t)map[i]));
		doorbell_store(map[i], DOORBELL_VAR, var->page_id);
	}
	ASSERT_ONE(UOBJ, OURS("type=MLX5_VAR"), "ref=2 usecnt=0 state=live");
	for (i = 0; i < 3; i++) {
		unmap(map[i], var->length);
		LOOK();
		ASSERT_VAR(2 - i, 0);
		ASSERT_NONE(VMA, OURS("start=%lu", (uintptr_t)map[i]));
	}
	for (i = 0; i < 1000; i++) {
		var_map(self->ctx, var, &map[0]);
		unmap(map[0], var->length);
	}
	LOOK();
	ASSERT_VAR(0, 0);
	ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("ref=2 umaps=%ld", umaps));
	ASSERT_PAGE_FREE(0, var->page_id);
	mlx5dv_free_var(var);
	LOOK();
	ASSERT_NO_VAR();
}

/*
 * VAR-03, UOBJ-05, ENT-05: A VAR that nobody maps is gone when the free returns,
 * with its entry, its offset and its page: the next allocation gets the same page,
 * the same offset and the same handle.
 */
TEST_F(var, var_03_freed_page_is_reused)
{
	struct raw_var var, again;
	int i;

	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	raw_var_free(self->ctx->cmd_fd, var.handle);
	LOOK();
	ASSERT_NO_VAR();
	ASSERT_PAGE_FREE(1, var.page_id);
	raw_var_free_err(ENOENT, self->ctx->cmd_fd, var.handle);
	for (i = 0; i < 1000; i++) {
		raw_var_alloc(self->ctx->cmd_fd, 0, &again);
		ASSERT_EQ(var.page_id, again.page_id);
		ASSERT_EQ(var.mmap_off, again.mmap_off);
		ASSERT_EQ(var.handle, again.handle);
		raw_var_free(self->ctx->cmd_fd, again.handle);
	}
	LOOK();
	ASSERT_NO_VAR();
}

/*
 * VAR-04, ENT-02, ENT-03, C7, C9, S10: A VAR is freed while it is mapped.  The
 * handle is gone and nobody can map the offset any more, but the mapping still
 * reaches the page.  Therefore neither page nor offset may be handed out before
 * the mapping is gone.
 */
TEST_F(var, var_04_free_while_mapped)
{
	struct raw_var var, next, reused;
	const char *entry;
	uint32_t *map;

	if (bed_lacks_vars(_metadata, &self->bed, 2))
		return;
	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	ASSERT_EQ(0, _map(self->ctx, var.length, MAP_SHARED, var.mmap_off, &map));
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=MLX5_VAR"), "ref=2 usecnt=0 state=live var_bit=1");
	ASSERT_VAR(1, 0);

	raw_var_free(self->ctx->cmd_fd, var.handle);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=MLX5_VAR"));
	ASSERT_VAR(1, 1);
	ASSERT_ONE(MMAP, OURS("kind=VAR"),
		   scope_kv("pgoff=%lu page_id=%u var_bit=1", pgoff_of(var.mmap_off),
			    var.page_id));
	ASSERT_DEVICE(1, "var_used");
	ASSERT_HELD_BY(1, VMA, scope_kv("ufile:%lu/mmap:%lu", self->counts.ufile,
					pgoff_of(var.mmap_off)));

	map_err(EINVAL, self->ctx, var.length, MAP_SHARED, var.mmap_off);
	raw_var_free_err(ENOENT, self->ctx->cmd_fd, var.handle);
	LOOK();
	ASSERT_UNCHANGED();

	ASSERT_PAGE_FREE(0, var.page_id);
	raw_var_alloc(self->ctx->cmd_fd, 0, &next);
	ASSERT_NE(var.page_id, next.page_id);
	ASSERT_NE(var.mmap_off, next.mmap_off);
	ASSERT_EQ(var.handle, next.handle);
	doorbell_store(map, DOORBELL_VAR, var.page_id);
	LOOK();
	ASSERT_DEVICE(2, "var_used");
	entry = OURS("kind=VAR pgoff=%lu", pgoff_of(var.mmap_off));
	ASSERT_ONE(MMAP, entry, "ref=1 vmas=1 driver_removed=1 var_bit=1");
	ASSERT_ONE(MMAP, OURS("kind=VAR pgoff=%lu", pgoff_of(next.mmap_off)),
		   "ref=1 vmas=0 driver_removed=0 var_bit=1");

	unmap(map, var.length);
	LOOK();
	ASSERT_NONE(MMAP, OURS("kind=VAR pgoff=%lu", pgoff_of(var.mmap_off)));
	ASSERT_DEVICE(1, "var_used");
	ASSERT_PAGE_FREE(1, var.page_id);
	raw_var_alloc(self->ctx->cmd_fd, 0, &reused);
	ASSERT_EQ(var.page_id, reused.page_id);
	ASSERT_EQ(var.mmap_off, reused.mmap_off);
	raw_var_free(self->ctx->cmd_fd, next.handle);
	raw_var_free(self->ctx->cmd_fd, reused.handle);
	LOOK();
	ASSERT_NO_VAR();
}

/*
 * VAR-04, VAR-09: The same where there is no other page: while the only one is
 * mapped, freed or not, there is none to be had.
 */
TEST_F(var, var_04_the_only_page)
{
	const int total = self->bed.before.vars;
	struct raw_var *var, only;
	uint32_t *map;
	int i;

	real_device_must_allow(&self->bed.dev, "exhaustion");
	var = calloc(total, sizeof(*var));
	ASSERT_NE(NULL, var);
	for (i = 0; i < total - 1; i++)
		raw_var_alloc(self->ctx->cmd_fd, 0, &var[i]);
	raw_var_alloc(self->ctx->cmd_fd, 0, &only);
	raw_var_alloc_err(ENOSPC, self->ctx->cmd_fd, 0, 0);
	ASSERT_EQ(0, _map(self->ctx, only.length, MAP_SHARED, only.mmap_off, &map));
	raw_var_free(self->ctx->cmd_fd, only.handle);
	raw_var_alloc_err(ENOSPC, self->ctx->cmd_fd, 0, 0);
	LOOK();
	ASSERT_DEVICE(total, "var_used");
	ASSERT_COUNT(total - 1, UOBJ, OURS("type=MLX5_VAR ref=2"));
	ASSERT_COUNT(total, MMAP, OURS("kind=VAR ref=1 var_bit=1"));
	ASSERT_ONE(MMAP, OURS("kind=VAR driver_removed=1"), scope_kv("page_id=%u", only.page_id));

	unmap(map, only.length);
	raw_var_alloc(self->ctx->cmd_fd, 0, &var[total - 1]);
	ASSERT_EQ(only.page_id, var[total - 1].page_id);
	for (i = 0; i < total; i++)
		raw_var_free(self->ctx->cmd_fd, var[i].handle);
	LOOK();
	ASSERT_NO_VAR();
	free(var);
}

/*
 * VAR-05, ENT-06: A child inherits the mapping and with it a reference of its own:
 * the page is held until the child unmaps, whatever the parent does before.
 */
TEST_F(var, var_05_fork_holds_the_page)
{
	uint32_t *map;
	struct mlx5dv_var *var;
	struct peer child;
	uint32_t page_id;
	size_t length;

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	length = var->length;
	var_map(self->ctx, var, &map);
	LOOK();
	ASSERT_VAR(1, 0);
	peer_fork(&child);
	LOOK();
	ASSERT_VAR(2, 0);
	ASSERT_COUNT(1, VMA, OURS("start=%lu pid=%d", (uintptr_t)map, getpid()));
	ASSERT_COUNT(1, VMA, OURS("start=%lu pid=%d", (uintptr_t)map, child.pid));
	unmap(map, length);
	LOOK();
	ASSERT_VAR(1, 0);
	ASSERT_NONE(VMA, OURS("start=%lu pid=%d", (uintptr_t)map, getpid()));
	mlx5dv_free_var(var);
	LOOK();
	ASSERT_VAR(1, 1);
	ASSERT_DEVICE(1, "var_used");
	ASSERT_PAGE_FREE(0, page_id);
	doorbell_peer_store(&child, (uintptr_t)map, DOORBELL_VAR, page_id);
	peer_unmap(&child, (uintptr_t)map, length);
	LOOK();
	ASSERT_NO_VAR();
	ASSERT_PAGE_FREE(1, page_id);
	peer_end(&child);
}

/*
 * VAR-05: The other order: the child goes first, and the parent's mapping and
 * its VAR are as before.
 */
TEST_F(var, var_05_child_goes_first)
{
	uint32_t *map;
	struct mlx5dv_var *var;
	struct peer child;
	uint32_t page_id;

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	var_map(self->ctx, var, &map);
	peer_fork(&child);
	doorbell_peer_store(&child, (uintptr_t)map, DOORBELL_VAR, page_id);
	LOOK();
	ASSERT_VAR(2, 0);
	peer_end(&child);
	LOOK();
	ASSERT_VAR(1, 0);
	ASSERT_NONE(VMA, OURS("pid=%d", child.pid));
	ASSERT_PAGE_FREE(0, page_id);
	doorbell_store(map, DOORBELL_VAR, page_id);
	unmap(map, var->length);
	LOOK();
	ASSERT_VAR(0, 0);
	ASSERT_PAGE_FREE(0, page_id);
	mlx5dv_free_var(var);
	LOOK();
	ASSERT_NO_VAR();
	ASSERT_PAGE_FREE(1, page_id);
}

/* What two processes that were born with a mapping of one VAR still have. */
struct heirs {
	struct peer peer[2];
	bool alive[2];
	bool maps[2];
	bool freed;
};

/*
 * One step: which process by the case of the letter, the parent in upper case.
 * u unmaps, f frees, s stores, x exits, k is killed.
 */
static int heirs_step(const struct device *dev, struct heirs *heirs, struct mlx5dv_var *var,
		      uint32_t *map, uint32_t page_id, size_t length, char step)
{
	const int who = step >= 'a';
	struct peer *peer = &heirs->peer[who];
	const struct peer_var theirs = { .token = (uintptr_t)var };

	switch (step | 0x20) {
	case 'u':
		heirs->maps[who] = false;
		return _peer_unmap(peer, (uintptr_t)map, length);
	case 'f':
		heirs->freed = true;
		return _peer_var_free(peer, &theirs);
	case 's':
		return _doorbell_peer_store(dev, peer, (uintptr_t)map, DOORBELL_VAR, page_id);
	default:
		heirs->maps[who] = false;
		heirs->alive[who] = false;
		return (step | 0x20) == 'k' ? _peer_kill(peer) : _peer_end(peer);
	}
}

/*
 * VAR-05, VAR-14, ENT-01, ENT-05: Parent and child unmap, free and exit in every
 * order.  At each step the entry counts the mappings that are left and, until the
 * VAR is freed, its creator; when nothing is left of both the page is free.  A
 * process that is there but neither maps nor has freed keeps it by the open file.
 */
TEST_F(var, var_05_every_order)
{
	static const char *const orders[] = {
		/* The parent unmaps, frees and exits in every order, then the child. */
		"Xsu", "Xsx", "UXsu", "UXsk", "FXsu", "FXsx", "UFXsu", "UFXsx", "FUXsu", "FUXsk",
		/* The child in between, and before. */
		"UsFuX", "FuUX", "uUFX", "uXx", "xUFX", "kFX",
		/* The child frees. */
		"fsSuUX", "ufUX", "Xfsx", "fXsx",
	};
	struct ibv_context *other;
	struct mlx5dv_var *var;
	struct heirs heirs;
	uint32_t page_id, *map;
	const char *step;
	uint64_t ufile;
	size_t length;
	unsigned int i;
	int left;

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		self->at = orders[i];
		heirs = (struct heirs){ .alive = { true, true }, .maps = { true, true } };
		other = device_open(&self->bed.dev);
		ASSERT_NE(NULL, other);
		var_alloc(other, 0, &var);
		page_id = var->page_id;
		length = var->length;
		var_map(other, var, &map);
		LOOK();
		ufile = scope_ufile(&self->counts.scope, getpid(), other->cmd_fd);
		ASSERT_NE(0UL, ufile);
		peer_fork(&heirs.peer[0]);
		peer_fork(&heirs.peer[1]);
		/* They have it all; what this process has would be a third one's. */
		unmap(map, length);
		ASSERT_EQ(0, ibv_close_device(other));
		LOOK();
		ASSERT_VAR_OF(ufile, 2, 0);
		for (step = orders[i]; *step; step++) {
			ASSERT_EQ(0, heirs_step(&self->bed.dev, &heirs, var, map, page_id, length,
						*step));
			LOOK();
			left = heirs.maps[0] + heirs.maps[1];
			if (!heirs.alive[0] && !heirs.alive[1]) {
				ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
				left = 0;
			} else if (left || !heirs.freed) {
				ASSERT_VAR_OF(ufile, left, heirs.freed);
				left = 1;
			} else {
				ASSERT_NONE(MMAP, THEIRS(ufile, "kind=VAR"));
			}
			ASSERT_DEVICE(left, "var_used");
		}
		for (left = 0; left < 2; left++)
			if (heirs.alive[left])
				peer_end(&heirs.peer[left]);
		LOOK();
		ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
		ASSERT_DEVICE(0, "var_used");
		/* The library's part of it; the context that it came from is gone. */
		mlx5dv_var_unimport(var);
	}
}

/* What a child did and got. */
struct child_calls {
	int alloc;
	int free;
	int map;
	struct raw_var var;
};

/* Run in a child until its end; what it writes the parent can read. */
static int in_a_child(void (*run)(int cmd_fd, uint32_t handle, struct child_calls *calls),
		      int cmd_fd, uint32_t handle, struct child_calls *calls)
{
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		run(cmd_fd, handle, calls);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return errno;
	return status ? ECHILD : 0;
}

static void alloc_and_free(int cmd_fd, uint32_t handle, struct child_calls *calls)
{
	void *map;

	calls->alloc = _raw_var_alloc(cmd_fd, 0, 0, &calls->var);
	calls->map = _entry_map_as(cmd_fd, calls->var.length, MAP_SHARED, calls->var.mmap_off,
				   &map);
	calls->free = _raw_var_free(cmd_fd, handle);
}

/*
 * VAR-05: A child has the command descriptor as well.  What it allocates belongs to
 * the file and outlives it, what it frees is freed for its parent, and its mapping
 * goes with it.
 */
TEST_F(var, var_05_child_calls)
{
	struct child_calls *calls;
	struct raw_var var;

	if (bed_lacks_vars(_metadata, &self->bed, 2))
		return;
	calls = mmap(NULL, sizeof(*calls), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)calls);
	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	ASSERT_EQ(0, in_a_child(alloc_and_free, self->ctx->cmd_fd, var.handle, calls));
	ASSERT_EQ(0, calls->alloc);
	ASSERT_EQ(0, calls->map);
	ASSERT_EQ(0, calls->free);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=MLX5_VAR"),
		   scope_kv("handle=%u page_id=%u ref=2 usecnt=0 state=live", calls->var.handle,
			    calls->var.page_id));
	ASSERT_VAR(0, 0);
	ASSERT_DEVICE(1, "var_used");
	raw_var_free_err(ENOENT, self->ctx->cmd_fd, var.handle);
	raw_var_free(self->ctx->cmd_fd, calls->var.handle);
	LOOK();
	ASSERT_NO_VAR();
	ASSERT_EQ(0, munmap(calls, sizeof(*calls)));
}

/*
 * VAR-06: A mapping that is not to be inherited takes no reference for the
 * child, so the page is free although the child lives.  That cannot be taken back,
 * and an empty copy is refused, as for all mappings of a device.
 */
TEST_F(var, var_06_dontfork_holds_nothing)
{
	uint32_t *map;
	struct mlx5dv_var *var;
	struct peer child;
	uint32_t page_id;

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	var_map(self->ctx, var, &map);
	ASSERT_EQ(0, madvise(map, var->length, MADV_DONTFORK));
	ASSERT_EQ(-1, madvise(map, var->length, MADV_DOFORK));
	ASSERT_EQ(EINVAL, errno);
	ASSERT_EQ(-1, madvise(map, var->length, MADV_WIPEONFORK));
	ASSERT_EQ(EINVAL, errno);
	LOOK();
	ASSERT_VAR(1, 0);
	peer_fork(&child);
	LOOK();
	ASSERT_VAR(1, 0);
	ASSERT_NONE(VMA, OURS("start=%lu pid=%d", (uintptr_t)map, child.pid));
	/* The other mappings of the file are inherited, so the child is there. */
	ASSERT_NE(0, scope_count(&self->counts.scope, UOBJSCOPE_VMA, OURS("pid=%d", child.pid)));
	doorbell_store(map, DOORBELL_VAR, page_id);
	unmap(map, var->length);
	mlx5dv_free_var(var);
	LOOK();
	ASSERT_NO_VAR();
	ASSERT_PAGE_FREE(1, page_id);
	peer_end(&child);
}

/*
 * VAR-06: Without MADV_DONTFORK the other two are refused in the same way, and the
 * mapping is inherited as before.
 */
TEST_F(var, var_06_refused_advice_changes_nothing)
{
	static const int refused[] = { MADV_DOFORK, MADV_WIPEONFORK };
	struct mlx5dv_var *var;
	struct peer child;
	uint32_t *map;
	unsigned int i;

	var_alloc(self->ctx, 0, &var);
	var_map(self->ctx, var, &map);
	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		ASSERT_EQ(-1, madvise(map, var->length, refused[i]));
		ASSERT_EQ(EINVAL, errno);
	}
	peer_fork(&child);
	LOOK();
	ASSERT_VAR(2, 0);
	doorbell_peer_store(&child, (uintptr_t)map, DOORBELL_VAR, var->page_id);
	peer_end(&child);
	unmap(map, var->length);
	mlx5dv_free_var(var);
}

/*
 * VAR-07, ENT-06: A mapping that is moved reaches the same page from its new place,
 * and the references of the old and the new place balance.
 */
TEST_F(var, var_07_moved_mapping)
{
	uint32_t *map, *moved;
	struct mlx5dv_var *var;
	uint32_t page_id;
	size_t length;
	void *place;

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	length = var->length;
	var_map(self->ctx, var, &map);
	place = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, place);
	moved = mremap(map, length, length,
		       MREMAP_MAYMOVE | MREMAP_FIXED, place);
	ASSERT_EQ(place, moved);
	LOOK();
	ASSERT_VAR(1, 0);
	ASSERT_NONE(VMA, OURS("start=%lu", (uintptr_t)map));
	ASSERT_ONE(VMA, OURS("start=%lu", (uintptr_t)moved),
		   scope_kv("end=%lu pid=%d", (uintptr_t)moved + length, getpid()));
	ASSERT_ENTRY_OF(OURS("kind=VAR"), VMA, OURS("start=%lu", (uintptr_t)moved));
	doorbell_store(moved, DOORBELL_VAR, page_id);
	mlx5dv_free_var(var);
	LOOK();
	ASSERT_VAR(1, 1);
	unmap(moved, length);
	LOOK();
	ASSERT_NO_VAR();
	ASSERT_PAGE_FREE(1, page_id);
}

/*
 * VAR-07, ENT-06: A mapping of a device cannot grow, cannot be duplicated by a move
 * of length 0, and its old place cannot be kept.  A refused move takes nothing.
 */
TEST_F(var, var_07_refused_moves)
{
	struct mlx5dv_var *var;
	uint32_t *map;
	size_t length;

	var_alloc(self->ctx, 0, &var);
	length = var->length;
	var_map(self->ctx, var, &map);
	LOOK();
	ASSERT_VAR(1, 0);
	ASSERT_EQ(MAP_FAILED, mremap(map, length, 2 * length, MREMAP_MAYMOVE));
	ASSERT_EQ(EFAULT, errno);
	ASSERT_EQ(MAP_FAILED, mremap(map, length, 2 * length, 0));
	ASSERT_EQ(EFAULT, errno);
	ASSERT_EQ(MAP_FAILED, mremap(map, 0, length, MREMAP_MAYMOVE));
	ASSERT_EQ(EFAULT, errno);
	ASSERT_EQ(MAP_FAILED, mremap(map, length, length, MREMAP_MAYMOVE | MREMAP_DONTUNMAP));
	ASSERT_EQ(EINVAL, errno);
	LOOK();
	ASSERT_UNCHANGED();
	doorbell_store(map, DOORBELL_VAR, var->page_id);
	unmap(map, length);
	mlx5dv_free_var(var);
}

/*
 * VAR-07, VAR-02: Other memory is mapped over the mapping, by mmap and by a move of
 * another VAR's mapping.  What was there before is given up as by munmap.
 */
TEST_F(var, var_07_mapped_over)
{
	struct raw_var var[2];
	uint32_t *map[2], *moved;
	void *over;
	int i;

	if (bed_lacks_vars(_metadata, &self->bed, 2))
		return;
	for (i = 0; i < 2; i++) {
		raw_var_alloc(self->ctx->cmd_fd, 0, &var[i]);
		ASSERT_EQ(0, _map(self->ctx, var[i].length, MAP_SHARED, var[i].mmap_off, &map[i]));
		raw_var_free(self->ctx->cmd_fd, var[i].handle);
	}
	LOOK();
	ASSERT_COUNT(2, MMAP, OURS("kind=VAR ref=1 vmas=1 driver_removed=1"));
	moved = mremap(map[0], var[0].length, var[0].length, MREMAP_MAYMOVE | MREMAP_FIXED,
		       map[1]);
	ASSERT_EQ(map[1], moved);
	LOOK();
	ASSERT_VAR(1, 1);
	ASSERT_ONE(MMAP, OURS("kind=VAR"), scope_kv("page_id=%u", var[0].page_id));
	ASSERT_DEVICE(1, "var_used");
	doorbell_store(moved, DOORBELL_VAR, var[0].page_id);
	over = mmap(moved, var[0].length, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	ASSERT_EQ((void *)moved, over);
	LOOK();
	ASSERT_NO_VAR();
	ASSERT_EQ(0, munmap(over, var[0].length));
}

/*
 * VAR-09: All pages but those in use can be had, the lowest first.  Then
 * ENOSPC, also after all were freed while they are mapped.  Once they are
 * unmapped all can be had again.
 */
TEST_F(var, var_09_exhaustion)
{
	const int total = self->bed.before.vars;
	uint32_t **map;
	struct raw_var *var;
	int i, last = -1;

	real_device_must_allow(&self->bed.dev, "exhaustion");
	ASSERT_LT(0, total);
	ASSERT_GE((int)self->bed.dev.info.var.count, total);
	var = calloc(total, sizeof(*var));
	map = calloc(total, sizeof(*map));
	ASSERT_NE(NULL, var);
	ASSERT_NE(NULL, map);

	for (i = 0; i < total; i++) {
		raw_var_alloc(self->ctx->cmd_fd, 0, &var[i]);
		ASSERT_LT(last, (int)var[i].page_id);
		last = var[i].page_id;
	}
	LOOK();
	ASSERT_DEVICE(total, "var_used");
	ASSERT_EQ(VALUE(DEVICE, OUR_DEVICE, "var_entries"), VALUE(DEVICE, OUR_DEVICE, "var_used"));
	ASSERT_COUNT(total, UOBJ, OURS("type=MLX5_VAR ref=2 usecnt=0"));
	raw_var_alloc_err(ENOSPC, self->ctx->cmd_fd, 0, 0);
	var_alloc_err(ENOSPC, self->ctx, 0);
	LOOK();
	ASSERT_UNCHANGED();

	for (i = 0; i < total; i++) {
		ASSERT_EQ(0, _map(self->ctx, var[i].length, MAP_SHARED, var[i].mmap_off, &map[i]));
		raw_var_free(self->ctx->cmd_fd, var[i].handle);
	}
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=MLX5_VAR"));
	ASSERT_COUNT(total, MMAP, OURS("kind=VAR ref=1 vmas=1 driver_removed=1"));
	ASSERT_DEVICE(total, "var_used");
	raw_var_alloc_err(ENOSPC, self->ctx->cmd_fd, 0, 0);
	doorbell_store(map[total - 1], DOORBELL_VAR, var[total - 1].page_id);

	for (i = 0; i < total; i++)
		unmap(map[i], var[i].length);
	LOOK();
	ASSERT_NO_VAR();
	ASSERT_EQ(total, var_count_free(self->ctx->cmd_fd, 0));
	LOOK();
	ASSERT_NO_VAR();
	free(map);
	free(var);
}

/*
 * VAR-10, ERRNO-VAR: An unknown flag, an attribute that is missing, an object and a
 * method that the kernel does not have: each is refused before anything is made.
 */
TEST_F(var, var_10_refused_allocations)
{
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE, 0),
	};
	/* A kernel without TLP VARs has no flags at all. */
	int refusal = self->bed.dev.info.tlp_var.count ? EINVAL : EPROTONOSUPPORT;
	const int fd = self->ctx->cmd_fd;
	struct raw_var none;

	/* Of a real device nobody knows whether it has such. */
	if (!device_has_ledger(&self->bed.dev)) {
		refusal = _raw_var_alloc(fd, 1U << 31, 0, &none);
		ASSERT_TRUE(refusal == EINVAL || refusal == EPROTONOSUPPORT);
	}
	raw_var_alloc_err(refusal, fd, 1U << 31, 0);
	raw_var_alloc_err(refusal, fd, MLX5DV_VAR_ALLOC_FLAG_TLP << 1, 0);
	ASSERT_EQ(EINVAL, uverbs_ioctl(fd, MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_ALLOC,
				       attr, 1));
	/* As of a device without VARs, whose driver does not have the object. */
	ASSERT_EQ(EPROTONOSUPPORT, uverbs_ioctl(fd, MLX5_IB_OBJECT_VAR + 0x800,
						MLX5_IB_METHOD_VAR_OBJ_ALLOC, attr, 1));
	ASSERT_EQ(EPROTONOSUPPORT, uverbs_ioctl(fd, MLX5_IB_OBJECT_VAR,
						MLX5_IB_METHOD_VAR_OBJ_DESTROY + 1, attr, 1));
	LOOK();
	ASSERT_UNCHANGED();
	/* All of them for a moment. */
	if (device_has_ledger(&self->bed.dev))
		ASSERT_EQ(self->bed.before.vars, var_count_free(fd, 0));
}

/*
 * VAR-11: TLP VARs have pages and a bitmap of their own.  Freeing one gives
 * back the page there and not the one of the same number among the others.
 */
TEST_F(var, var_11_tlp_has_its_own_pages)
{
	struct mlx5dv_var *var, *tlp, *next;
	uint32_t *map;
	uint32_t page_id;

	if (!self->bed.dev.info.tlp_var.count)
		SKIP(return, "the device has no TLP VAR: load mlx5_vhca with them");
	if (bed_lacks_vars(_metadata, &self->bed, 2))
		return;
	var_alloc(self->ctx, 0, &var);
	var_alloc(self->ctx, MLX5DV_VAR_ALLOC_FLAG_TLP, &tlp);
	page_id = tlp->page_id;
	ASSERT_GT(self->bed.dev.info.tlp_var.count, page_id);
	ASSERT_EQ(var->page_id, page_id);
	ASSERT_TLP_PAGE_FREE(0, page_id);
	var_map(self->ctx, tlp, &map);
	LOOK();
	ASSERT_DEVICE(1, "var_used");
	ASSERT_DEVICE(1, "tlp_var_used");
	ASSERT_VAR(0, 0);
	ASSERT_ONE(MMAP, OURS("kind=TLP_VAR"),
		   scope_kv("ref=2 vmas=1 driver_removed=0 page_id=%u addr=%lu", page_id,
			    device_bar(&self->bed.dev) + self->bed.dev.info.tlp_var.offset +
			    (uint64_t)page_id * self->bed.dev.info.tlp_var.stride));
	doorbell_store(map, DOORBELL_TLP_VAR, page_id);
	unmap(map, tlp->length);
	mlx5dv_free_var(tlp);
	LOOK();
	ASSERT_NONE(MMAP, OURS("kind=TLP_VAR"));
	ASSERT_DEVICE(1, "var_used");
	ASSERT_DEVICE(0, "tlp_var_used");
	ASSERT_TLP_PAGE_FREE(1, page_id);
	ASSERT_PAGE_FREE(0, var->page_id);
	var_alloc(self->ctx, 0, &next);
	ASSERT_NE(var->page_id, next->page_id);
	mlx5dv_free_var(next);
	mlx5dv_free_var(var);
	LOOK();
	ASSERT_NO_VAR();
}

/*
 * VAR-11, VAR-09, ERRNO-VAR: Without a page left there are still pages of the other
 * sort.
 */
TEST_F(var, var_11_tlp_exhaustion)
{
	const int total = self->bed.before.tlp_vars;
	struct raw_var tlp[64], var;
	int i;

	real_device_must_allow(&self->bed.dev, "exhaustion");
	if (!self->bed.dev.info.tlp_var.count)
		SKIP(return, "the device has no TLP VAR: load mlx5_vhca with them");
	ASSERT_LT(0, total);
	ASSERT_GE(64, total);
	for (i = 0; i < total; i++)
		raw_var_alloc(self->ctx->cmd_fd, MLX5DV_VAR_ALLOC_FLAG_TLP, &tlp[i]);
	raw_var_alloc_err(ENOSPC, self->ctx->cmd_fd, MLX5DV_VAR_ALLOC_FLAG_TLP, 0);
	LOOK();
	ASSERT_DEVICE(total, "tlp_var_used");
	ASSERT_DEVICE(0, "var_used");
	ASSERT_EQ(VALUE(DEVICE, OUR_DEVICE, "tlp_var_entries"),
		  VALUE(DEVICE, OUR_DEVICE, "tlp_var_used"));
	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	raw_var_free(self->ctx->cmd_fd, var.handle);
	for (i = 0; i < total; i++)
		raw_var_free(self->ctx->cmd_fd, tlp[i].handle);
	ASSERT_EQ(total, var_count_free(self->ctx->cmd_fd, MLX5DV_VAR_ALLOC_FLAG_TLP));
	LOOK();
	ASSERT_DEVICE(0, "tlp_var_used");
}

/* A second context, with its ufile and the state that it has. */
#define OPEN_OTHER(other, ufile) \
do { \
	other = device_open(&self->bed.dev); \
	ASSERT_NE(NULL, other); \
	LOOK(); \
	ufile = scope_ufile(&self->counts.scope, getpid(), (other)->cmd_fd); \
	ASSERT_NE(0UL, ufile); \
	ASSERT_ONE(UFILE, scope_kv("id=%lu", ufile), "ref=2 state=live file_open=1 listed=1"); \
} while (0)

/*
 * VAR-12, UOBJ-08: The context is closed and no mapping is left.  The VAR is gone
 * when the close returns, and so is the ufile.
 */
TEST_F(var, var_12_close_frees)
{
	struct ibv_context *other;
	struct raw_var var;
	uint64_t ufile;

	OPEN_OTHER(other, ufile);
	raw_var_alloc(other->cmd_fd, 0, &var);
	LOOK();
	ASSERT_VAR_OF(ufile, 0, 0);
	ASSERT_PAGE_FREE(0, var.page_id);
	ASSERT_EQ(0, ibv_close_device(other));
	LOOK();
	ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
	ASSERT_NONE(MMAP, THEIRS(ufile, ""));
	ASSERT_DEVICE(0, "var_used");
	ASSERT_PAGE_FREE(1, var.page_id);
	ASSERT_LEDGER(1, "uctx");
}

/*
 * VAR-13, UOBJ-08: The context is closed while a page of it is mapped.  The mapping
 * holds the file, so nothing is destroyed, neither in the driver nor in the
 * device, until the mapping goes.
 */
TEST_F(var, var_13_mapping_outlives_close)
{
	struct mlx5dv_var *var;
	struct ibv_context *other;
	uint32_t *map, page_id;
	uint64_t ufile;
	size_t length;

	OPEN_OTHER(other, ufile);
	var_alloc(other, 0, &var);
	page_id = var->page_id;
	length = var->length;
	var_map(other, var, &map);
	ASSERT_LEDGER(2, "uctx");
	ASSERT_EQ(0, ibv_close_device(other));
	ASSERT_LEDGER(2, "uctx");
	LOOK();
	/* The library's async event file is closed, so its reference is gone. */
	ASSERT_ONE(UFILE, scope_kv("id=%lu", ufile),
		   "ref=1 state=live file_open=1 listed=1 umaps=1 uobjects=1");
	ASSERT_ONE(UOBJ, THEIRS(ufile, ""), "type=MLX5_VAR ref=2 usecnt=0 state=live");
	ASSERT_VAR_OF(ufile, 1, 0);
	ASSERT_NONE(FD, THEIRS(ufile, ""));
	ASSERT_HELD_BY(1, VMA, scope_kv("ufile:%lu/mmap:%lu", ufile, pgoff_of(var->mmap_off)));
	ASSERT_UNEXPLAINED(0, scope_kv("ufile:%lu", ufile));
	ASSERT_PAGE_FREE(0, page_id);
	doorbell_store(map, DOORBELL_VAR, page_id);
	unmap(map, length);
	LOOK();
	ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
	ASSERT_DEVICE(0, "var_used");
	ASSERT_LEDGER(1, "uctx");
	ASSERT_PAGE_FREE(1, page_id);
	/* The library's part of it; the context that it came from is gone. */
	mlx5dv_var_unimport(var);
}

/*
 * VAR-13: It is any mapping of the file that keeps all of its objects: that of one
 * VAR keeps another VAR, device memory, and a region on it with its domain.
 */
TEST_F(var, var_13_mapping_keeps_all)
{
	struct raw_var var, unmapped;
	struct ibv_context *other;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_dm *dm;
	uint64_t ufile;
	uint32_t *map;

	if (bed_lacks_vars(_metadata, &self->bed, 2))
		return;
	if (self->bed.dev.info.memic.size < 4096)
		SKIP(return, "no MEMIC: load mlx5_vhca with a larger memic_size");
	OPEN_OTHER(other, ufile);
	pd = ibv_alloc_pd(other);
	ASSERT_NE(NULL, pd);
	dm_alloc(other, 4096, &dm);
	mr_reg_dm(pd, dm, 0, 4096, &mr);
	/* The memory stays, without the library's mapping of it. */
	ibv_unimport_dm(dm);
	raw_var_alloc(other->cmd_fd, 0, &unmapped);
	raw_var_alloc(other->cmd_fd, 0, &var);
	ASSERT_EQ(0, _map(other, var.length, MAP_SHARED, var.mmap_off, &map));
	raw_var_free(other->cmd_fd, var.handle);
	ASSERT_EQ(0, ibv_close_device(other));
	LOOK();
	ASSERT_ONE(UFILE, scope_kv("id=%lu", ufile),
		   "ref=1 state=live file_open=1 umaps=1 uobjects=4");
	ASSERT_ONE(UOBJ, THEIRS(ufile, "type=MLX5_VAR"), "ref=2 usecnt=0 state=live");
	ASSERT_ONE(UOBJ, THEIRS(ufile, "type=PD"), "ref=2 usecnt=0 users=1 state=live");
	ASSERT_ONE(UOBJ, THEIRS(ufile, "type=MR"), "ref=2 usecnt=0 state=live");
	ASSERT_ONE(UOBJ, THEIRS(ufile, "type=DM"), "ref=2 usecnt=0 dm_users=1 state=live");
	ASSERT_ONE(MMAP, THEIRS(ufile, "kind=VAR page_id=%u", unmapped.page_id),
		   "ref=1 vmas=0 driver_removed=0");
	ASSERT_ONE(MMAP, THEIRS(ufile, "kind=VAR page_id=%u", var.page_id),
		   "ref=1 vmas=1 driver_removed=1");
	ASSERT_DEVICE(2, "var_used");
	ASSERT_LEDGER(1, "pd");
	ASSERT_LEDGER(1, "mkey");
	ASSERT_LEDGER(1, "memic");

	unmap(map, var.length);
	LOOK();
	ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
	ASSERT_NONE(UOBJ, THEIRS(ufile, ""));
	ASSERT_DEVICE(0, "var_used");
	ASSERT_LEDGER(0, "pd");
	ASSERT_LEDGER(0, "mkey");
	ASSERT_LEDGER(0, "memic");
}

/*
 * VAR-13: The mapping may be one that the library made and never undoes: of
 * device memory that was not freed before its context was closed.  A VAR of the same
 * context lives as long as the process, or until somebody finds the mapping.
 */
TEST_F(var, var_13_leaked_mapping_of_memory)
{
	struct ibv_context *other;
	int64_t start, end;
	struct raw_var var;
	struct ibv_dm *dm;
	uint64_t ufile;

	if (self->bed.dev.info.memic.size < 4096)
		SKIP(return, "no MEMIC: load mlx5_vhca with a larger memic_size");
	OPEN_OTHER(other, ufile);
	raw_var_alloc(other->cmd_fd, 0, &var);
	dm_alloc(other, 4096, &dm);
	ASSERT_EQ(0, ibv_close_device(other));
	LOOK();
	ASSERT_ONE(UFILE, scope_kv("id=%lu", ufile), "ref=1 state=live file_open=1 umaps=1");
	ASSERT_ONE(UOBJ, THEIRS(ufile, "type=DM"), "ref=2 usecnt=0 dm_ref=1 state=live");
	ASSERT_ONE(UOBJ, THEIRS(ufile, "type=MLX5_VAR"), "ref=2 usecnt=0 state=live");
	ASSERT_DEVICE(1, "var_used");
	ASSERT_DEVICE(1, "memic_pages_used");
	start = VALUE(VMA, THEIRS(ufile, "pid=%d", getpid()), "start");
	end = VALUE(VMA, THEIRS(ufile, "pid=%d", getpid()), "end");
	ASSERT_EQ(4096, end - start);
	ASSERT_EQ(0, munmap((void *)start, end - start));
	LOOK();
	ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
	ASSERT_DEVICE(0, "var_used");
	ASSERT_DEVICE(0, "memic_pages_used");
	ASSERT_LEDGER(0, "memic");
}

/*
 * VAR-14: A process is killed while it has a VAR and a mapping of it.  Both go.
 */
TEST_F(var, var_14_sigkill)
{
	struct peer_var var;
	struct peer peer;
	uint64_t addr;

	peer_start(&peer);
	peer_open(&peer, self->bed.dev.name);
	peer_var_alloc(&peer, &var);
	peer_var_map(&peer, &var, &addr);
	doorbell_peer_store(&peer, addr, DOORBELL_VAR, var.page_id);
	ASSERT_PAGE_FREE(0, var.page_id);
	LOOK();
	ASSERT_ONE(UFILE, scope_kv("pid=%d", peer.pid), "ref=2 state=live file_open=1");
	ASSERT_ONE(VMA, scope_kv("pid=%d start=%lu", peer.pid, addr), "");
	ASSERT_ONE(MMAP, scope_kv("kind=VAR page_id=%u", var.page_id),
		   "ref=2 vmas=1 driver_removed=0");
	ASSERT_DEVICE(1, "var_used");
	peer_kill(&peer);
	LOOK();
	ASSERT_NONE(UFILE, scope_kv("pid=%d", peer.pid));
	ASSERT_NONE(VMA, scope_kv("pid=%d", peer.pid));
	ASSERT_DEVICE(0, "var_used");
	ASSERT_PAGE_FREE(1, var.page_id);
	ASSERT_LEDGER(1, "uctx");
}

/*
 * VAR-14: Another process has the killed one's command descriptor.  The mapping is
 * gone with the address space that it was in, the VAR and its page stay.
 */
TEST_F(var, var_14_descriptor_is_elsewhere)
{
	struct ibv_context *lent;
	struct peer_var var;
	struct peer peer;
	uint64_t ufile, addr;

	peer_start(&peer);
	peer_open(&peer, self->bed.dev.name);
	peer_var_alloc(&peer, &var);
	peer_var_map(&peer, &var, &addr);
	ASSERT_EQ(0, _peer_lend(&peer, &lent));
	LOOK();
	ufile = scope_ufile(&self->counts.scope, getpid(), lent->cmd_fd);
	ASSERT_NE(0UL, ufile);
	ASSERT_VAR_OF(ufile, 1, 0);
	peer_kill(&peer);
	LOOK();
	ASSERT_ONE(UFILE, scope_kv("id=%lu", ufile), "state=live file_open=1");
	ASSERT_NONE(VMA, THEIRS(ufile, "pid=%d", peer.pid));
	ASSERT_VAR_OF(ufile, 0, 0);
	ASSERT_ONE(UOBJ, THEIRS(ufile, "type=MLX5_VAR"), "ref=2 usecnt=0 state=live");
	ASSERT_DEVICE(1, "var_used");
	ASSERT_PAGE_FREE(0, var.page_id);
	ASSERT_EQ(0, ibv_close_device(lent));
	LOOK();
	ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
	ASSERT_DEVICE(0, "var_used");
	ASSERT_LEDGER(1, "uctx");
}

/*
 * VAR-17, C7: mlx5dv_free_var() has no result.  If the kernel refuses, here because the
 * handle leads to nothing any more, a library with assertions ends the program, and
 * Debian's, without them, says nothing.  For the kernel it is a refused free.
 */
TEST_F(var, var_17_refused_free_is_silent)
{
	struct raw_var alias = {};
	struct mlx5dv_var *var;
	uint32_t *map;
	int status;
	pid_t pid;

	var_alloc(self->ctx, 0, &var);
	LOOK();
	alias.handle = VALUE(UOBJ, OURS("type=MLX5_VAR"), "handle");
	var_map(self->ctx, var, &map);
	raw_var_free(self->ctx->cmd_fd, alias.handle);
	LOOK();
	ASSERT_VAR(1, 1);
	pid = fork();
	if (!pid) {
		/* Without the library's word of the failed assertion. */
		close(STDERR_FILENO);
		mlx5dv_free_var(var);
		_exit(0);
	}
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status) ? WTERMSIG(status) == SIGABRT : !WEXITSTATUS(status));
	LOOK();
	ASSERT_UNCHANGED();
	unmap(map, var->length);
	mlx5dv_var_unimport(var);
	LOOK();
	ASSERT_NO_VAR();
}

/*
 * VAR-17, C7: In the same way a free by a stale handle says nothing when it frees
 * another VAR, that has got the handle since.
 */
TEST_F(var, var_17_stale_free)
{
	struct raw_var next;
	struct mlx5dv_var *var;
	int64_t handle;

	var_alloc(self->ctx, 0, &var);
	LOOK();
	handle = VALUE(UOBJ, OURS("type=MLX5_VAR"), "handle");
	raw_var_free(self->ctx->cmd_fd, handle);
	raw_var_alloc(self->ctx->cmd_fd, 0, &next);
	ASSERT_EQ(handle, (int64_t)next.handle);
	mlx5dv_free_var(var);
	LOOK();
	ASSERT_NO_VAR();
	raw_var_free_err(ENOENT, self->ctx->cmd_fd, next.handle);
}

/* An object of several pages, of the kind that has them on this device. */
FIXTURE(var_pages)
{
	struct bed bed;
	struct kernel_counts counts;
	struct ibv_context *ctx;
	struct entry entry;
	const char *used;
	size_t page_size;
	uint64_t addr;
	int takes;
	int pages;
	char *map;
};

/* The object's only mapping, which fragments are made of. */
FIXTURE_SETUP(var_pages)
{
	static const enum entry_kind kinds[] = { ENTRY_VAR, ENTRY_TLP_VAR, ENTRY_MEMIC };
	unsigned int i = 0;
	void *map;

	if (!bed_make(_metadata, &self->bed, false) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	while (i < ARRAY_SIZE(kinds) && entry_pages(&self->bed.dev, kinds[i], 4) < 3)
		i++;
	if (i == ARRAY_SIZE(kinds)) {
		bed_mark(_metadata, "end");
		SKIP(return, "no object of 3 pages: load mlx5_vhca with log_var_stride=14");
	}
	self->page_size = sysconf(_SC_PAGESIZE);
	self->pages = entry_pages(&self->bed.dev, kinds[i], 4);
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
	entry_alloc(self->ctx->cmd_fd, kinds[i], 4, &self->entry);
	self->used = entry_used(self->entry.kind);
	self->takes = entry_takes(&self->entry);
	entry_map(self->ctx->cmd_fd, &self->entry, &map);
	self->map = map;
	LOOK();
	self->addr = VALUE(MMAP, OURS("kind=%s", entry_name(kinds[i])), "addr");
}

FIXTURE_TEARDOWN(var_pages)
{
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

#define THE_ENTRY \
	OURS("pgoff=%lu npages=%d", pgoff_of(self->entry.off), self->pages)

/* So many fragments are left, and the object is, or is not, freed. */
#define ASSERT_FRAGMENTS(count, freed) \
do { \
	ASSERT_ONE(MMAP, THE_ENTRY, \
		   scope_kv("ref=%d vmas=%d driver_removed=%d", \
			    (freed) ? (count) : (count) + 1, count, freed)); \
	ASSERT_DEVICE(self->takes, self->used); \
} while (0)

/* This page of the object is mapped here, by a mapping that knows the entry. */
#define ASSERT_PAGE_AT(place, page, start) \
do { \
	entry_store(self->entry.kind, self->addr + (page) * self->page_size, place); \
	ASSERT_ENTRY_OF(THE_ENTRY, VMA, OURS("start=%lu pid=%d", (uintptr_t)(start), getpid())); \
} while (0)

#define PAGE(n) \
	(self->map + (n) * self->page_size)

/*
 * VAR-08, VAR-04, ENT-01, ENT-02, ENT-06: A page in the middle is unmapped.  Each of the
 * two fragments is a mapping with a reference of its own, and the last of them to go
 * gives back the pages and all the offsets of an object that was freed meanwhile.
 */
TEST_F(var_pages, var_08_partial_unmap)
{
	const uint64_t first = pgoff_of(self->entry.off);
	struct entry other[2];
	uint64_t pgoff;
	int i;

	ASSERT_FRAGMENTS(1, 0);
	for (i = 0; i < self->pages; i++)
		ASSERT_PAGE_AT(PAGE(i), i, self->map);
	ASSERT_EQ(0, munmap(PAGE(1), self->page_size));
	LOOK();
	ASSERT_FRAGMENTS(2, 0);
	ASSERT_ONE(VMA, OURS("start=%lu", (uintptr_t)PAGE(0)),
		   scope_kv("end=%lu", (uintptr_t)PAGE(1)));
	ASSERT_ONE(VMA, OURS("start=%lu", (uintptr_t)PAGE(2)),
		   scope_kv("end=%lu", (uintptr_t)PAGE(self->pages)));
	ASSERT_PAGE_AT(PAGE(0), 0, PAGE(0));
	ASSERT_PAGE_AT(PAGE(2), 2, PAGE(2));

	entry_free(self->ctx->cmd_fd, &self->entry);
	LOOK();
	ASSERT_FRAGMENTS(2, 1);
	/* Not even the offset of the page that is not mapped any more. */
	for (i = 0; i < 2; i++) {
		entry_alloc(self->ctx->cmd_fd, self->entry.kind, 1, &other[i]);
		pgoff = pgoff_of(other[i].off);
		ASSERT_TRUE(pgoff + other[i].length / self->page_size <= first ||
			    pgoff >= first + self->pages);
	}
	for (i = 0; i < 2; i++)
		entry_free(self->ctx->cmd_fd, &other[i]);
	ASSERT_EQ(0, munmap(PAGE(0), self->page_size));
	LOOK();
	ASSERT_FRAGMENTS(1, 1);
	ASSERT_PAGE_AT(PAGE(2), 2, PAGE(2));
	entry_map_err(EINVAL, self->ctx->cmd_fd, &self->entry);
	ASSERT_EQ(0, munmap(PAGE(2), (self->pages - 2) * self->page_size));
	LOOK();
	ASSERT_NONE(MMAP, THE_ENTRY);
	ASSERT_DEVICE(0, self->used);
	entry_alloc(self->ctx->cmd_fd, self->entry.kind, 4, &other[0]);
	ASSERT_EQ(self->entry.off, other[0].off);
	entry_free(self->ctx->cmd_fd, &other[0]);
}

/*
 * VAR-08, ENT-06: Other rights for the page in the middle make three mappings.  They
 * stay three when the rights are the same again, and are three in a child as well.
 */
TEST_F(var_pages, var_08_mprotect)
{
	struct peer child;
	int i;

	ASSERT_EQ(0, mprotect(PAGE(1), self->page_size, PROT_READ));
	LOOK();
	ASSERT_FRAGMENTS(3, 0);
	ASSERT_EQ(0, mprotect(PAGE(1), self->page_size, PROT_READ | PROT_WRITE));
	LOOK();
	ASSERT_FRAGMENTS(3, 0);
	for (i = 0; i < 3; i++)
		ASSERT_PAGE_AT(PAGE(i), i, PAGE(i));

	peer_fork(&child);
	LOOK();
	ASSERT_FRAGMENTS(6, 0);
	peer_unmap(&child, (uintptr_t)PAGE(1), self->page_size);
	LOOK();
	ASSERT_FRAGMENTS(5, 0);
	entry_free(self->ctx->cmd_fd, &self->entry);
	ASSERT_EQ(0, munmap(self->map, self->entry.length));
	LOOK();
	ASSERT_FRAGMENTS(2, 1);
	peer_end(&child);
	LOOK();
	ASSERT_NONE(MMAP, THE_ENTRY);
	ASSERT_DEVICE(0, self->used);
}

/*
 * VAR-08, VAR-06: A page that children shall not have is a mapping of its own, and the
 * child has the others.
 */
TEST_F(var_pages, var_08_a_page_not_inherited)
{
	struct peer child;

	ASSERT_EQ(0, madvise(PAGE(1), self->page_size, MADV_DONTFORK));
	LOOK();
	ASSERT_FRAGMENTS(3, 0);
	peer_fork(&child);
	LOOK();
	ASSERT_FRAGMENTS(5, 0);
	ASSERT_NONE(VMA, OURS("start=%lu pid=%d", (uintptr_t)PAGE(1), child.pid));
	ASSERT_ONE(VMA, OURS("start=%lu pid=%d", (uintptr_t)PAGE(2), child.pid), "");
	entry_free(self->ctx->cmd_fd, &self->entry);
	ASSERT_EQ(0, munmap(self->map, self->entry.length));
	LOOK();
	ASSERT_FRAGMENTS(2, 1);
	peer_kill(&child);
	LOOK();
	ASSERT_NONE(MMAP, THE_ENTRY);
	ASSERT_DEVICE(0, self->used);
}

/*
 * VAR-07: A mapping that shrinks loses its end as by munmap: it is one mapping still,
 * with one reference.
 */
TEST_F(var_pages, var_07_shrink)
{
	int left;

	for (left = self->pages - 1; left; left--) {
		ASSERT_EQ(self->map, mremap(self->map, (left + 1) * self->page_size,
					    left * self->page_size, 0));
		LOOK();
		ASSERT_FRAGMENTS(1, 0);
		ASSERT_ONE(VMA, OURS("start=%lu", (uintptr_t)self->map),
			   scope_kv("end=%lu", (uintptr_t)PAGE(left)));
		ASSERT_PAGE_AT(PAGE(left - 1), left - 1, self->map);
	}
	entry_free(self->ctx->cmd_fd, &self->entry);
	LOOK();
	ASSERT_FRAGMENTS(1, 1);
	ASSERT_EQ(0, munmap(self->map, self->page_size));
	LOOK();
	ASSERT_NONE(MMAP, THE_ENTRY);
	ASSERT_DEVICE(0, self->used);
}

/*
 * VAR-07, VAR-08: One page is moved away.  It leads to the same page of the device from
 * its new place, and the hole that it leaves makes two of the rest.
 */
TEST_F(var_pages, var_07_move_a_page)
{
	char *place, *moved;

	place = mmap(NULL, self->page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)place);
	moved = mremap(PAGE(1), self->page_size, self->page_size,
		       MREMAP_MAYMOVE | MREMAP_FIXED, place);
	ASSERT_EQ(place, moved);
	LOOK();
	ASSERT_FRAGMENTS(3, 0);
	ASSERT_NONE(VMA, OURS("start=%lu", (uintptr_t)PAGE(1)));
	ASSERT_PAGE_AT(moved, 1, moved);
	ASSERT_PAGE_AT(PAGE(2), 2, PAGE(2));
	entry_free(self->ctx->cmd_fd, &self->entry);
	ASSERT_EQ(0, munmap(self->map, self->entry.length));
	LOOK();
	ASSERT_FRAGMENTS(1, 1);
	ASSERT_PAGE_AT(moved, 1, moved);
	ASSERT_EQ(0, munmap(moved, self->page_size));
	LOOK();
	ASSERT_NONE(MMAP, THE_ENTRY);
	ASSERT_DEVICE(0, self->used);
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
