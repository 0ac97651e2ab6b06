/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's own counts as a test's witness: what uobjscope.ko shows, from the
 * test's first step to its last.
 *
 * A fixture has a member "bed" of struct bed and a member "counts" of struct
 * kernel_counts:
 *
 *	if (!bed_make(_metadata, &self->bed, false) ||
 *	    !counts_begin(_metadata, &self->bed, &self->counts))
 *		return;
 *	self->ctx = device_open(&self->bed.dev);
 *	counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
 *
 * and at its end, after everything was closed:
 *
 *	counts_end(_metadata, &self->counts);
 *	bed_unmake(_metadata, &self->bed);
 *
 * In between each step is a call, a LOOK(), and what must then be true.  Records are
 * named and described as scope.h says.  To be included after bed.h.
 */
#ifndef _SELFTESTS_KERNEL_COUNTS_H
#define _SELFTESTS_KERNEL_COUNTS_H

#include <time.h>
#include <unistd.h>

#include "bed.h"
#include "scope.h"

/**
 * struct kernel_counts - what a test knows of the kernel's counts
 * @scope: its snapshots; the first one is what deltas refer to
 * @device: name of the device
 * @ufile: id of the fixture's own ufile, once counts_of() was called
 * @uobjects: how many uobjects that one had then
 */
struct kernel_counts {
	struct scope scope;
	char device[64];
	uint64_t ufile;
	int uobjects;
};

/**
 * counts_begin() - take the snapshot that all deltas of a test refer to
 * @_metadata: the harness's own
 * @bed: made by bed_make()
 * @counts: filled in
 *
 * The test is skipped, and the bed unmade, where no snapshot can be taken.
 *
 * Return: whether the set-up may go on.
 */
static inline bool counts_begin(struct __test_metadata *_metadata, struct bed *bed,
				struct kernel_counts *counts)
{
	const char *missing = scope_missing();

	if (missing) {
		bed_mark(_metadata, "end");
		SKIP(return false, "%s", missing);
	}
	snprintf(counts->device, sizeof(counts->device), "%s", bed->dev.name);
	ASSERT_EQ(0, scope_take(&counts->scope));
	return true;
}

/**
 * counts_of() - say which ufile is the test's own
 * @_metadata: the harness's own
 * @counts: of counts_begin()
 * @cmd_fd: command descriptor of the context
 *
 * Takes a snapshot.
 */
static inline void counts_of(struct __test_metadata *_metadata, struct kernel_counts *counts,
			     int cmd_fd)
{
	ASSERT_EQ(0, scope_take(&counts->scope));
	counts->ufile = scope_ufile(&counts->scope, getpid(), cmd_fd);
	ASSERT_NE(0UL, counts->ufile);
	counts->uobjects = scope_count(&counts->scope, UOBJSCOPE_UOBJ,
				       scope_kv("ufile=%lu", counts->ufile));
}

/**
 * counts_end() - check that the kernel holds what it held at the test's start
 * @_metadata: the harness's own
 * @counts: of counts_begin(); no longer usable afterwards
 *
 * All contexts must be closed and all peers gone.  What a killed process held may
 * be given back only after its parent was told of its death, so this waits up to
 * two seconds.  What is left is printed with who holds it.
 */
static inline void counts_end(struct __test_metadata *_metadata, struct kernel_counts *counts)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	int tries = 0;

	while (_metadata->exit_code == KSFT_PASS) {
		EXPECT_EQ(0, scope_take(&counts->scope))
			break;
		if (!scope_left(&counts->scope))
			break;
		if (tries++ == 100) {
			EXPECT_EQ(0, scope_left(&counts->scope));
			TH_LOG("not given back by the end of the test, in the kernel:");
			scope_print_left(&counts->scope);
			break;
		}
		nanosleep(&pause, NULL);
	}
	scope_drop(&counts->scope);
}

/* A snapshot, and what must be true of it. */
#define LOOK() \
	ASSERT_EQ(0, scope_take(&self->counts.scope))
/* There is one record with the keys @where, and it has the keys @is as well. */
#define ASSERT_ONE(type, where, is) \
do { \
	const int __wrong = scope_check(&self->counts.scope, UOBJSCOPE_##type, where, is); \
	ASSERT_EQ(0, __wrong) \
		scope_print_differences(&self->counts.scope); \
} while (0)
#define ASSERT_COUNT(count, type, where) \
do { \
	const int __there = scope_count(&self->counts.scope, UOBJSCOPE_##type, where); \
	ASSERT_EQ(count, __there) { \
		TH_LOG("%s records with %s", #type, where); \
		scope_print_differences(&self->counts.scope); \
	} \
} while (0)
#define ASSERT_NONE(type, where) \
	ASSERT_COUNT(0, type, where)

/* Both records are there, and the second one's mmap entry is the first one. */
#define ASSERT_ENTRY_OF(entry, type, where) \
do { \
	const struct uobjscope_record *__record = \
		scope_find(&self->counts.scope, UOBJSCOPE_##type, where); \
	const struct uobjscope_record *__entry = \
		scope_find(&self->counts.scope, UOBJSCOPE_MMAP, entry); \
	ASSERT_NE(NULL, __record); \
	ASSERT_NE(NULL, __entry); \
	ASSERT_EQ(__entry, uobjscope_entry_of(self->counts.scope.now, __record)); \
} while (0)

/* Keys of a record of the fixture's own ufile, or of another one. */
#define OURS(fmt, ...) \
	scope_kv("ufile=%lu " fmt, self->counts.ufile, ##__VA_ARGS__)
#define THEIRS(ufile, fmt, ...) \
	scope_kv("ufile=%lu " fmt, ufile, ##__VA_ARGS__)
#define OUR_UFILE \
	scope_kv("id=%lu", self->counts.ufile)
#define OUR_DEVICE \
	scope_kv("name=%s", self->counts.device)

/* A number of a record by the last snapshot; SCOPE_NOTHING if it is not there. */
#define VALUE(type, where, key) \
	scope_value(self->counts.scope.now, UOBJSCOPE_##type, where, key)

/* A count of the device is this much more than in the first snapshot. */
#define ASSERT_DEVICE(delta, key) \
do { \
	int64_t __first = scope_value(self->counts.scope.first, UOBJSCOPE_DEVICE, \
				      OUR_DEVICE, key); \
	ASSERT_NE(SCOPE_NOTHING, __first); \
	ASSERT_EQ(__first + (delta), VALUE(DEVICE, OUR_DEVICE, key)) \
		scope_print_differences(&self->counts.scope); \
} while (0)

/* References of an object that no record accounts for, or that one way does. */
#define ASSERT_UNEXPLAINED(count, object) \
	ASSERT_EQ(count, scope_unexplained(&self->counts.scope, object))
#define ASSERT_HELD_BY(count, how, object) \
	ASSERT_EQ(count, scope_held_by(&self->counts.scope, object, UOBJSCOPE_HOLDER_##how))

/**
 * counts_changed() - how the last two snapshots differ, with diagnostics
 * @counts: of counts_begin()
 *
 * Return: the number of records that differ, or -1.
 */
static inline int counts_changed(const struct kernel_counts *counts)
{
	const int differences = scope_differences(&counts->scope);

	if (differences)
		scope_print_differences(&counts->scope);
	return differences;
}

/* The last two snapshots are the same. */
#define ASSERT_UNCHANGED() \
	ASSERT_EQ(0, counts_changed(&self->counts))

/**
 * pgoff_of() - key of the mmap entry that the driver gives an offset for
 * @off: the offset, in bytes, as the library has it
 *
 * The driver puts the two halves of it in other places there (mlx5_ib's
 * mlx5_entry_to_mmap_offset()).
 *
 * Return: start_pgoff of the rdma_user_mmap_entry.
 */
static inline uint64_t pgoff_of(uint64_t off)
{
	const uint64_t page = off / sysconf(_SC_PAGESIZE);

	return (page >> 8 & 0xff) << 16 | (page >> 16) << 8 | (page & 0xff);
}

#endif /* _SELFTESTS_KERNEL_COUNTS_H */
