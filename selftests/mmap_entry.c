// SPDX-License-Identifier: GPL-2.0
/*
 * Lifetime of an mmap entry (struct rdma_user_mmap_entry).
 *
 * VARs, TLP VARs and device memory are mapped through the same few functions of the
 * RDMA core, core/ib_core_uverbs.c.  What these promise is stated here for each of the
 * kinds: what the entry counts, who may map it, when its offsets are free again, and
 * that the driver is told of its end exactly once, by whoever was the last.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/dm_ops.h"
#include "common/entry_ops.h"
#include "common/kernel_counts.h"
#include "common/kernel_signs.h"
#include "common/memory_type.h"
#include "common/var_ops.h"

/* Of the kinds that can have any number, so many. */
#define PAGES	3

FIXTURE(mmap_entry)
{
	struct bed bed;
	struct kernel_counts counts;
	struct ibv_context *ctx;
	const char *used;
	size_t page_size;
	int64_t seq;
	int fd;
};

FIXTURE_VARIANT(mmap_entry)
{
	enum entry_kind kind;
};

FIXTURE_VARIANT_ADD(mmap_entry, var)
{
	.kind = ENTRY_VAR,
};

FIXTURE_VARIANT_ADD(mmap_entry, tlp_var)
{
	.kind = ENTRY_TLP_VAR,
};

FIXTURE_VARIANT_ADD(mmap_entry, memic)
{
	.kind = ENTRY_MEMIC,
};

FIXTURE_SETUP(mmap_entry)
{
	if (!bed_make(_metadata, &self->bed, false) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	/* Several of them must fit. */
	if (!entry_pages(&self->bed.dev, variant->kind, 8 * PAGES) ||
	    bed_lacks_vars(_metadata, &self->bed, 8)) {
		bed_mark(_metadata, "end");
		SKIP(return, "the device has too few %s: load mlx5_vhca with more",
		     entry_name(variant->kind));
	}
	self->used = entry_used(variant->kind);
	self->page_size = sysconf(_SC_PAGESIZE);
	self->seq = vhca_seq(&self->bed.dev);
	ASSERT_LE(0, self->seq);
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	self->fd = self->ctx->cmd_fd;
	counts_of(_metadata, &self->counts, self->fd);
}

FIXTURE_TEARDOWN(mmap_entry)
{
	if (self->ctx)
		EXPECT_EQ(0, ibv_close_device(self->ctx));
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

#define ENTRY(entry) \
	OURS("kind=%s pgoff=%lu", entry_name((entry)->kind), pgoff_of((entry)->off))

/* What the entry counts: its creator, mappings, live dma-bufs. */
#define ASSERT_ENTRY(entry, mappings, dmabufs_, removed) \
	ASSERT_ONE(MMAP, ENTRY(entry), \
		   scope_kv("ref=%d vmas=%d dmabufs=%d driver_removed=%d", \
			    !(removed) + (mappings) + (dmabufs_), mappings, dmabufs_, removed))

/* Nothing is left of it, nor in the driver nor in the device. */
#define ASSERT_GONE(entry) \
do { \
	ASSERT_NONE(MMAP, ENTRY(entry)); \
	ASSERT_DEVICE(0, self->used); \
	ASSERT_LEDGER(0, "memic"); \
} while (0)

/* How often the device was told of an end; it is not told of that of a VAR. */
#define ASSERT_FREED(times) \
do { \
	if (variant->kind == ENTRY_MEMIC) \
		ASSERT_EQ(times, vhca_count_since(&self->bed.dev, self->seq, \
						  VHCA_DEALLOC_MEMIC, VHCA_ANY)); \
} while (0)

/*
 * ENT-01: At rest the entry counts its creator, each mapping and each live dma-buf,
 * and nothing else.  Of a dma-buf of a freed object it counts the uobject, which
 * stays until the last descriptor is closed, and no more by its list.
 */
TEST_F(mmap_entry, ent_01_what_it_counts)
{
	struct entry entry;
	void *map[2];
	int dmabuf[2];
	int i;

	entry_alloc(self->fd, variant->kind, PAGES, &entry);
	LOOK();
	ASSERT_ENTRY(&entry, 0, 0, 0);
	for (i = 0; i < 2; i++) {
		entry_map(self->fd, &entry, &map[i]);
		LOOK();
		ASSERT_ENTRY(&entry, i + 1, i, 0);
		raw_dmabuf_export(self->fd, entry.off, &dmabuf[i]);
		LOOK();
		ASSERT_ENTRY(&entry, i + 1, i + 1, 0);
	}
	ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("ref=4 uobjects=%d", self->counts.uobjects + 3));
	ASSERT_UNEXPLAINED(0, scope_kv("ufile:%lu/mmap:%lu", self->counts.ufile,
				       pgoff_of(entry.off)));
	ASSERT_EQ(0, close(dmabuf[0]));
	LOOK();
	ASSERT_ENTRY(&entry, 2, 1, 0);
	ASSERT_EQ(0, munmap(map[1], entry.length));
	LOOK();
	ASSERT_ENTRY(&entry, 1, 1, 0);

	entry_free(self->fd, &entry);
	LOOK();
	ASSERT_ONE(MMAP, ENTRY(&entry), "ref=2 vmas=1 dmabufs=0 driver_removed=1");
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=2 revoked=1 kref=0");
	ASSERT_EQ(0, munmap(map[0], entry.length));
	LOOK();
	ASSERT_ONE(MMAP, ENTRY(&entry), "ref=1 vmas=0 dmabufs=0 driver_removed=1");
	ASSERT_DEVICE(entry_takes(&entry), self->used);
	ASSERT_FREED(0);
	ASSERT_EQ(0, close(dmabuf[1]));
	LOOK();
	ASSERT_GONE(&entry);
	ASSERT_FREED(1);
}

/* What a walk has of its object, at random. */
struct walk {
	struct entry entry;
	uint64_t addr;
	void *map[4];
	int dmabuf[4];
	struct peer child[3];
	int their_maps[3];
	bool freed;
	unsigned int random;
};

static unsigned int walk_random(struct walk *walk, unsigned int below)
{
	return rand_r(&walk->random) % below;
}

static int walk_count(void *const *map, size_t count)
{
	int n = 0;

	while (count--)
		n += !!map[count];
	return n;
}

/* How many mappings there are, of this process and of the children. */
static int walk_mappings(const struct walk *walk)
{
	int n = walk_count(walk->map, ARRAY_SIZE(walk->map));
	size_t i;

	for (i = 0; i < ARRAY_SIZE(walk->child); i++)
		n += walk->their_maps[i];
	return n;
}

static int walk_dmabufs(const struct walk *walk)
{
	int n = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(walk->dmabuf); i++)
		n += walk->dmabuf[i] >= 0;
	return n;
}

/* One thing is done if it is not there yet, and undone if it is. */
static int walk_step(const struct device *dev, int fd, struct walk *walk)
{
	unsigned int i;
	void *place;
	int err;

	switch (walk_random(walk, 8)) {
	case 0: case 1: case 2:
		i = walk_random(walk, ARRAY_SIZE(walk->map));
		if (!walk->map[i]) {
			err = _entry_map(fd, &walk->entry, &walk->map[i]);
			return err ?: _entry_store(dev, walk->entry.kind, walk->addr,
						   walk->map[i]);
		}
		err = munmap(walk->map[i], walk->entry.length) ? errno : 0;
		walk->map[i] = NULL;
		return err;
	case 3: case 4:
		i = walk_random(walk, ARRAY_SIZE(walk->dmabuf));
		if (walk->dmabuf[i] < 0)
			return _raw_dmabuf_export(fd, walk->entry.off, &walk->dmabuf[i]);
		err = close(walk->dmabuf[i]) ? errno : 0;
		walk->dmabuf[i] = -1;
		return err;
	case 5: case 6:
		/*
		 * Children have no dma-buf: they would hold those that are closed here.
		 */
		i = walk_random(walk, ARRAY_SIZE(walk->child));
		if (walk->child[i].pid) {
			walk->their_maps[i] = 0;
			err = walk_random(walk, 2) ? _peer_end(&walk->child[i]) :
						     _peer_kill(&walk->child[i]);
			walk->child[i].pid = 0;
			return err;
		}
		if (walk_dmabufs(walk))
			return 0;
		walk->their_maps[i] = walk_count(walk->map, ARRAY_SIZE(walk->map));
		return _peer_fork(&walk->child[i]);
	default:
		i = walk_random(walk, ARRAY_SIZE(walk->map));
		if (!walk->map[i])
			return 0;
		place = mmap(NULL, walk->entry.length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
		walk->map[i] = mremap(walk->map[i], walk->entry.length, walk->entry.length,
				      MREMAP_MAYMOVE | MREMAP_FIXED, place);
		if (walk->map[i] != place)
			return EXDEV;
		return _entry_store(dev, walk->entry.kind, walk->addr, place);
	}
}

/* The steps of a walk; SEED= in the environment repeats one. */
#define STEPS	60

/*
 * ENT-01, ENT-06: Sixty steps at random, among them maps, moves, exports, children that
 * inherit, exit and are killed.  After each the entry counts what there is, and that
 * many mappings are known of the object.
 */
TEST_F(mmap_entry, ent_01_random_walk)
{
	struct walk walk = { .dmabuf = { -1, -1, -1, -1 } };
	const char *seed = getenv("SEED");
	size_t i;
	int step;

	walk.random = seed ? strtoul(seed, NULL, 0) : (unsigned int)time(NULL);
	TH_LOG("SEED=%u", walk.random);
	entry_alloc(self->fd, variant->kind, PAGES, &walk.entry);
	LOOK();
	walk.addr = VALUE(MMAP, ENTRY(&walk.entry), "addr");
	for (step = 0; step < STEPS; step++) {
		ASSERT_EQ(0, walk_step(&self->bed.dev, self->fd, &walk));
		LOOK();
		ASSERT_ENTRY(&walk.entry, walk_mappings(&walk), walk_dmabufs(&walk), 0);
		ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("ref=%d", 2 + walk_dmabufs(&walk)));
	}
	/* And down again, the object first. */
	entry_free(self->fd, &walk.entry);
	for (i = 0; i < ARRAY_SIZE(walk.child); i++)
		if (walk.child[i].pid)
			peer_end(&walk.child[i]);
	for (i = 0; i < ARRAY_SIZE(walk.map); i++)
		if (walk.map[i])
			ASSERT_EQ(0, munmap(walk.map[i], walk.entry.length));
	LOOK();
	if (walk_dmabufs(&walk))
		ASSERT_ONE(MMAP, ENTRY(&walk.entry),
			   scope_kv("ref=%d vmas=0 dmabufs=0 driver_removed=1",
				    walk_dmabufs(&walk)));
	for (i = 0; i < ARRAY_SIZE(walk.dmabuf); i++)
		if (walk.dmabuf[i] >= 0)
			ASSERT_EQ(0, close(walk.dmabuf[i]));
	LOOK();
	ASSERT_GONE(&walk.entry);
	ASSERT_FREED(1);
}

/*
 * ENT-02: An offset is not given to another object while a mapping of the freed one is
 * left; then it is the first to be given.
 */
TEST_F(mmap_entry, ent_02_offset_stays_taken)
{
	struct entry entry, other[4], again;
	uint64_t first, pgoff;
	void *map;
	int i;

	entry_alloc(self->fd, variant->kind, PAGES, &entry);
	first = pgoff_of(entry.off);
	entry_map(self->fd, &entry, &map);
	entry_free(self->fd, &entry);
	for (i = 0; i < 4; i++) {
		entry_alloc(self->fd, variant->kind, 1, &other[i]);
		pgoff = pgoff_of(other[i].off);
		ASSERT_TRUE(pgoff + other[i].length / self->page_size <= first ||
			    pgoff >= first + entry.length / self->page_size);
		LOOK();
		ASSERT_ENTRY(&entry, 1, 0, 1);
		ASSERT_ENTRY(&other[i], 0, 0, 0);
	}
	ASSERT_EQ(0, munmap(map, entry.length));
	LOOK();
	ASSERT_NONE(MMAP, ENTRY(&entry));
	entry_alloc(self->fd, variant->kind, PAGES, &again);
	ASSERT_EQ(entry.off, again.off);
	entry_free(self->fd, &again);
	for (i = 0; i < 4; i++)
		entry_free(self->fd, &other[i]);
	LOOK();
	ASSERT_GONE(&entry);
}

/*
 * ENT-03, C9, ERRNO-VAR: Once the object is freed its entry can be mapped no more, nor
 * exported, though there is a mapping and a dma-buf of it.  Neither attempt is counted.
 */
TEST_F(mmap_entry, ent_03_nothing_new_after_removal)
{
	struct entry entry;
	int dmabuf, i;
	void *map;

	entry_alloc(self->fd, variant->kind, PAGES, &entry);
	entry_map(self->fd, &entry, &map);
	raw_dmabuf_export(self->fd, entry.off, &dmabuf);
	entry_free(self->fd, &entry);
	LOOK();
	ASSERT_ONE(MMAP, ENTRY(&entry), "ref=2 vmas=1 dmabufs=0 driver_removed=1");
	for (i = 0; i < 100; i++) {
		entry_map_err(EINVAL, self->fd, &entry);
		raw_dmabuf_export_err(EINVAL, self->fd, entry.off);
	}
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_EQ(0, close(dmabuf));
	LOOK();
	ASSERT_ENTRY(&entry, 1, 0, 1);
	entry_map_err(EINVAL, self->fd, &entry);
	raw_dmabuf_export_err(EINVAL, self->fd, entry.off);
	ASSERT_EQ(0, munmap(map, entry.length));
	entry_map_err(EINVAL, self->fd, &entry);
	raw_dmabuf_export_err(EINVAL, self->fd, entry.off);
	LOOK();
	ASSERT_GONE(&entry);
	ASSERT_FREED(1);
}

/*
 * ENT-04, ERRNO-VAR: Only the very offset, the whole length and MAP_SHARED are accepted.
 * A refused mapping takes no reference with it.
 */
TEST_F(mmap_entry, ent_04_wrong_mappings)
{
	const size_t page = self->page_size;
	struct entry entry;
	size_t at;
	int i;

	entry_alloc(self->fd, variant->kind, PAGES, &entry);
	LOOK();
	for (i = 0; i < 100; i++) {
		entry_map_as_err(EINVAL, self->fd, entry.length, MAP_PRIVATE, entry.off);
		entry_map_as_err(EINVAL, self->fd, entry.length + page, MAP_SHARED, entry.off);
		entry_map_as_err(EINVAL, self->fd, 2 * entry.length, MAP_SHARED, entry.off);
		/* Within the entry, and the offset behind it. */
		for (at = page; at <= entry.length; at += page) {
			entry_map_as_err(EINVAL, self->fd, entry.length, MAP_SHARED,
					 entry.off + at);
			entry_map_as_err(EINVAL, self->fd, page, MAP_SHARED, entry.off + at);
		}
		for (at = page; at < entry.length; at += page)
			entry_map_as_err(EINVAL, self->fd, at, MAP_SHARED, entry.off);
		/* What the kernel cannot even ask the driver about. */
		entry_map_as_err(EINVAL, self->fd, entry.length, MAP_SHARED, entry.off + 1);
		entry_map_as_err(EINVAL, self->fd, 0, MAP_SHARED, entry.off);
	}
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_ENTRY(&entry, 0, 0, 0);
	entry_free(self->fd, &entry);
	LOOK();
	ASSERT_GONE(&entry);
}

/*
 * ENT-08: What is a doorbell is mapped so that a store reaches the device as it is, and
 * memory so that stores may be combined; the copy in a child as well.  When the last of the
 * mappings is gone the kernel does not remember any.
 */
TEST_F(mmap_entry, ent_08_memory_type)
{
	static const char uncached[] = "uncached-minus", combining[] = "write-combining";
	const bool memory = variant->kind == ENTRY_MEMIC;
	const char *type = memory ? combining : uncached;
	const char *other = memory ? uncached : combining;
	const int before = memory_types(type), others = memory_types(other);
	struct entry entry;
	struct peer child;
	void *map;

	if (before < 0 && errno == ENOENT)
		SKIP(return, "the kernel keeps no memory types: not x86, or booted with nopat");
	ASSERT_LE(0, before);
	entry_alloc(self->fd, variant->kind, 1, &entry);
	entry_map(self->fd, &entry, &map);
	ASSERT_EQ(before + 1, memory_types(type));
	ASSERT_EQ(others, memory_types(other));
	peer_fork(&child);
	ASSERT_EQ(0, munmap(map, entry.length));
	ASSERT_EQ(before + 1, memory_types(type));
	ASSERT_EQ(others, memory_types(other));
	peer_kill(&child);
	ASSERT_EQ(before, memory_types(type));
	entry_free(self->fd, &entry);
}

/* Who holds the last reference, and how it is dropped. */
enum last {
	LAST_FREE,
	LAST_UNMAP,
	LAST_CHILD_EXIT,
	LAST_CHILD_KILLED,
	LAST_DMABUF,
	LAST_MOVED_OVER,
	LAST_CASES,
};

/*
 * ENT-05: The driver is told once that the entry is free, by whoever was the last: the
 * call that frees the object, munmap, a mapping on top, the end of a process, the last
 * close of a dma-buf.  It is so told before that call, or wait() for that process,
 * returns, and not before.
 */
TEST_F(mmap_entry, ent_05_freed_once_by_the_last)
{
	struct entry entry;
	struct peer child;
	int last, dmabuf;
	void *map;

	for (last = 0; last < LAST_CASES; last++) {
		self->seq = vhca_seq(&self->bed.dev);
		entry_alloc(self->fd, variant->kind, PAGES, &entry);
		entry_map(self->fd, &entry, &map);
		if (last == LAST_DMABUF)
			raw_dmabuf_export(self->fd, entry.off, &dmabuf);
		if (last == LAST_CHILD_EXIT || last == LAST_CHILD_KILLED)
			peer_fork(&child);
		if (last == LAST_FREE) {
			ASSERT_EQ(0, munmap(map, entry.length));
		} else {
			entry_free(self->fd, &entry);
			if (last != LAST_UNMAP && last != LAST_MOVED_OVER)
				ASSERT_EQ(0, munmap(map, entry.length));
		}
		LOOK();
		ASSERT_ONE(MMAP, ENTRY(&entry), scope_kv("ref=1 driver_removed=%d",
							 last != LAST_FREE));
		ASSERT_DEVICE(entry_takes(&entry), self->used);
		ASSERT_FREED(0);
		switch (last) {
		case LAST_FREE:
			entry_free(self->fd, &entry);
			break;
		case LAST_UNMAP:
			ASSERT_EQ(0, munmap(map, entry.length));
			break;
		case LAST_MOVED_OVER:
			ASSERT_EQ(map, mmap(map, entry.length, PROT_NONE,
					    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
			ASSERT_EQ(0, munmap(map, entry.length));
			break;
		case LAST_CHILD_EXIT:
			peer_end(&child);
			break;
		case LAST_CHILD_KILLED:
			peer_kill(&child);
			break;
		case LAST_DMABUF:
			ASSERT_EQ(0, close(dmabuf));
			break;
		}
		LOOK();
		ASSERT_GONE(&entry);
		ASSERT_FREED(1);
	}
}

/*
 * ENT-05: The context is closed under the entry: with a mapping left by munmap, without
 * one by close().
 */
TEST_F(mmap_entry, ent_05_freed_by_the_files_end)
{
	struct ibv_context *other;
	struct entry entry;
	bool mapped = false;
	void *map = NULL;

	do {
		self->seq = vhca_seq(&self->bed.dev);
		other = device_open(&self->bed.dev);
		ASSERT_NE(NULL, other);
		entry_alloc(other->cmd_fd, variant->kind, PAGES, &entry);
		if (mapped)
			entry_map(other->cmd_fd, &entry, &map);
		LOOK();
		ASSERT_DEVICE(entry_takes(&entry), self->used);
		ASSERT_EQ(0, ibv_close_device(other));
		if (mapped) {
			LOOK();
			ASSERT_DEVICE(entry_takes(&entry), self->used);
			ASSERT_FREED(0);
			ASSERT_EQ(0, munmap(map, entry.length));
		}
		LOOK();
		ASSERT_DEVICE(0, self->used);
		ASSERT_LEDGER(0, "memic");
		ASSERT_FREED(1);
		mapped = !mapped;
	} while (mapped);
}

/*
 * ENT-06: No two mappings share what the kernel tracks one by: two in this process, two
 * more in a child, and when any one goes exactly one is gone.
 */
TEST_F(mmap_entry, ent_06_each_mapping_is_tracked)
{
	struct entry entry;
	struct peer child;
	int64_t umaps;
	void *map[2];
	int i;

	entry_alloc(self->fd, variant->kind, PAGES, &entry);
	for (i = 0; i < 2; i++)
		entry_map(self->fd, &entry, &map[i]);
	LOOK();
	umaps = VALUE(UFILE, OUR_UFILE, "umaps");
	peer_fork(&child);
	LOOK();
	ASSERT_ENTRY(&entry, 4, 0, 0);
	ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("umaps=%ld", 2 * umaps));
	for (i = 0; i < 2; i++) {
		ASSERT_ENTRY_OF(ENTRY(&entry), VMA,
				OURS("start=%lu pid=%d", (uintptr_t)map[i], getpid()));
		ASSERT_ENTRY_OF(ENTRY(&entry), VMA,
				OURS("start=%lu pid=%d", (uintptr_t)map[i], child.pid));
	}
	entry_free(self->fd, &entry);
	peer_unmap(&child, (uintptr_t)map[0], entry.length);
	LOOK();
	ASSERT_ENTRY(&entry, 3, 0, 1);
	ASSERT_NONE(VMA, OURS("start=%lu pid=%d", (uintptr_t)map[0], child.pid));
	ASSERT_EQ(0, munmap(map[1], entry.length));
	LOOK();
	ASSERT_ENTRY(&entry, 2, 0, 1);
	ASSERT_ONE(VMA, OURS("start=%lu pid=%d", (uintptr_t)map[1], child.pid), "");
	peer_kill(&child);
	LOOK();
	ASSERT_ENTRY(&entry, 1, 0, 1);
	ASSERT_EQ(0, munmap(map[0], entry.length));
	LOOK();
	ASSERT_GONE(&entry);
	ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("umaps=%ld", umaps - 2));
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
