/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What fixtures of tests with raw commands have in common.  To be included
 * after kselftest_harness.h.
 */
#ifndef _SELFTESTS_RAW_BED_H
#define _SELFTESTS_RAW_BED_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bed.h"
#include "raw.h"

/* A number that no object has, of those that fit where it is put. */
#define RAW_NOBODY	0xfffffe

/**
 * raw_bed_make() - find the device and get ready to send it commands
 * @_metadata: the harness's own
 * @bed: filled in
 * @raw: filled in
 *
 * Return: whether the set-up may go on.
 */
static inline bool raw_bed_make(struct __test_metadata *_metadata, struct bed *bed,
				struct raw *raw)
{
	const char *reason;

	if (!bed_make(_metadata, bed, true))
		return false;
	reason = raw_open(raw, &bed->dev);
	if (reason) {
		bed_mark(_metadata, "end");
		SKIP(return false, "%s", reason);
	}
	/* The descriptor is this program's own. */
	bed->before.fds++;
	return true;
}

/**
 * raw_bed_unmake() - give back what is left, and check that all is as it was
 * @_metadata: the harness's own
 * @bed: filled in by raw_bed_make()
 * @raw: filled in by raw_bed_make()
 */
static inline void raw_bed_unmake(struct __test_metadata *_metadata, struct bed *bed,
				  struct raw *raw)
{
	EXPECT_EQ(0, raw_close(raw));
	bed->before.fds--;
	bed_unmake(_metadata, bed);
}

/* The command was executed, with this status. */
#define ASSERT_STATUS(status, call) ASSERT_EQ((int)(status), call)

/* The device has seen nothing more that no correct driver does. */
#define ASSERT_NO_VIOLATION() \
	ASSERT_EQ(self->bed.before.violations, vhca_violations(&self->bed.dev))

/*
 * It has seen just one more thing, this one; it is then no difference at the
 * test's end.
 */
#define ASSERT_VIOLATION(name, which, more, of) \
do { \
	struct vhca_violation __violation; \
	self->bed.before.violations++; \
	ASSERT_EQ(self->bed.before.violations, \
		  vhca_last_violation(&self->bed.dev, &__violation)); \
	ASSERT_STREQ(name, __violation.what); \
	ASSERT_EQ((uint64_t)(which), __violation.object); \
	ASSERT_EQ((uint64_t)(more), __violation.detail); \
	ASSERT_STREQ(of, __violation.kind); \
} while (0)

/* When its object came and went: the commands of these numbers. */
#define ASSERT_LIFE(from, to) \
do { \
	struct vhca_violation __violation; \
	ASSERT_LT(0, vhca_last_violation(&self->bed.dev, &__violation)); \
	ASSERT_EQ((uint64_t)(from), __violation.born); \
	ASSERT_EQ((uint64_t)(to), __violation.died); \
} while (0)

/**
 * raw_bed_wait() - wait until the device has seen violations
 * @dev: the device
 * @count: how many there are to be
 *
 * For what it finds in work queues, which nobody is told of.
 *
 * Return: how many there are; if fewer than @count, then after ten seconds.
 */
static inline int raw_bed_wait(const struct device *dev, int count)
{
	const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
	int tries, n = -1;

	for (tries = 0; tries < 2000; tries++) {
		n = vhca_violations(dev);
		if (n < 0 || n >= count)
			break;
		nanosleep(&pause, NULL);
	}
	return n;
}

/* The program that loaded the module; not a test of it, which is a child. */
static pid_t raw_bed_loader;

static inline void raw_bed_unload(void)
{
	if (getpid() == raw_bed_loader && raw_unload())
		diag("mlx5_raw_command stays loaded: %s", strerror(errno));
}

/**
 * raw_bed_main() - what main() does in place of TEST_HARNESS_MAIN
 * @argc: as given to main()
 * @argv: as given to main()
 *
 * The harness does not come back: it ends the program.
 *
 * Return: exit status of the tests.
 */
static inline int raw_bed_main(int argc, char **argv)
{
	if (raw_load()) {
		raw_bed_loader = getpid();
		atexit(raw_bed_unload);
	}
	return bed_main(argc, argv);
}

#endif /* _SELFTESTS_RAW_BED_H */
