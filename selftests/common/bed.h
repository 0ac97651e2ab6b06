/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every fixture has: the device, the state at rest, the marks in the
 * kernel log.  To be included after kselftest_harness.h.
 */
#ifndef _SELFTESTS_BED_H
#define _SELFTESTS_BED_H

#include "device.h"
#include "marker.h"
#include "peer.h"
#include "real_device.h"
#include "rest.h"
#include "skip.h"
#include "text.h"
#include "vhca.h"

/**
 * struct bed - what a test lies in
 * @dev: the device under test
 * @before: the state at the start
 */
struct bed {
	struct device dev;
	struct rest before;
};

/**
 * bed_mark() - mark the test's begin or end in the kernel log
 * @_metadata: the harness's own
 * @edge: "begin" or "end"
 *
 * From here on skip_test() knows the test.
 *
 * The name is put together as the harness does it for the result line.  It
 * hands the variant's name to nobody, so this is looked up by the address of
 * the variant's data.
 */
static inline void bed_mark(struct __test_metadata *_metadata, const char *edge)
{
	const struct __fixture_variant_metadata *v;
	const char *variant = "";
	char name[256];

	for (v = _metadata->fixture->variant; v; v = v->next)
		if (v->data == _metadata->variant)
			variant = v->name;
	snprintf(name, sizeof(name), "%s%s%s.%s", _metadata->fixture->name,
		 variant[0] ? "." : "", variant, _metadata->name);
	marker_write(edge, name);
	skip_begin(_metadata->results->reason, sizeof(_metadata->results->reason),
		   &_metadata->exit_code);
}

/**
 * bed_make() - find the device and note the state at rest
 * @_metadata: the harness's own
 * @bed: filled in
 * @warm_up: have the driver make first what it makes for memory regions
 *
 * The test is skipped where there is no device to test.
 *
 * Return: whether the set-up may go on.
 */
static inline bool bed_make(struct __test_metadata *_metadata, struct bed *bed, bool warm_up)
{
	const char *reason;

	bed_mark(_metadata, "begin");
	reason = device_find(&bed->dev);
	if (reason) {
		bed_mark(_metadata, "end");
		SKIP(return false, "%s", reason);
	}
	ASSERT_EQ(0, vhca_read_info(&bed->dev, &bed->dev.info));
	if (warm_up)
		ASSERT_EQ(0, device_warm_up(&bed->dev));
	ASSERT_EQ(0, rest_take(&bed->dev, &bed->before));
	return true;
}

/**
 * bed_unmake() - check that everything is as it was found
 * @_metadata: the harness's own
 * @bed: filled in by bed_make()
 *
 * All contexts must be closed and all peers must be gone.  A test that failed
 * already may have stopped anywhere and is not checked: what it still holds
 * goes when its process ends.
 */
static inline void bed_unmake(struct __test_metadata *_metadata, struct bed *bed)
{
	struct rest after = {};

	if (_metadata->exit_code == KSFT_PASS) {
		EXPECT_EQ(0, rest_return(&bed->dev, &bed->before, &after)) {
			TH_LOG("not given back by the end of the test:");
			rest_print_difference(&bed->dev, &bed->before, &after);
		}
	}
	bed_mark(_metadata, "end");
}

/**
 * bed_lacks_vars() - skip a test that needs more VAR pages than there are
 * @_metadata: the harness's own
 * @bed: filled in by bed_make()
 * @count: how many it needs
 *
 * Return: whether the test must return.
 */
static inline bool bed_lacks_vars(struct __test_metadata *_metadata, const struct bed *bed,
				  int count)
{
	if (bed->before.vars >= count)
		return false;
	SKIP(return true, "fewer than %d VAR pages: load mlx5_vhca with more", count);
}

/*
 * The device holds this many more objects of a kind than at the test's start; of a real one
 * nobody knows.
 */
#define ASSERT_LEDGER(delta, kind) \
do { \
	int __delta = 0; \
	if (!device_has_ledger(&self->bed.dev)) \
		break; \
	ASSERT_EQ(0, rest_ledger_delta(&self->bed.dev, &self->bed.before, kind, &__delta)); \
	ASSERT_EQ(delta, __delta) \
		rest_print_ledger(&self->bed.dev, &self->bed.before); \
} while (0)

/*
 * The harness exits itself, and takes a run in which nothing was tested for one that
 * is good.  What a test forks may come here too.
 */
static inline void bed_exit(int status, void *harness)
{
	if (status != KSFT_PASS || getpid() != (pid_t)(uintptr_t)harness)
		return;
	if (ksft_get_xskip_cnt() && !ksft_get_pass_cnt() && !ksft_get_xfail_cnt()) {
		fflush(NULL);
		_exit(KSFT_SKIP);
	}
}

/**
 * bed_slowness() - how many times longer all takes, on a kernel that checks much
 *
 * Return: what SLOW in the environment says, 1 without it.  A test of many equal steps
 * makes do with that much fewer.
 */
static inline unsigned int bed_slowness(void)
{
	const char *slow = getenv("SLOW");

	return slow ? strtoul(slow, NULL, 10) ?: 1 : 1;
}

/**
 * bed_main() - what main() does in place of TEST_HARNESS_MAIN
 * @argc: as given to main()
 * @argv: as given to main()
 *
 * A program whose tests are all skipped exits with the status of a skip.  Each test may
 * take bed_slowness() times longer than it says.
 *
 * Return: exit status of the tests, or of a peer of one of them.
 */
static inline int bed_main(int argc, char **argv)
{
	const unsigned int slowness = bed_slowness();
	struct __fixture_metadata *fixture;
	struct __test_metadata *test;

	if (peer_is_wanted(argc, argv))
		return peer_main(argv);
	for (fixture = __fixture_list; fixture; fixture = fixture->next)
		for (test = fixture->tests; test; test = test->next)
			test->timeout *= slowness;
	on_exit(bed_exit, (void *)(uintptr_t)getpid());
	return test_harness_run(argc, argv);
}

#endif /* _SELFTESTS_BED_H */
