/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As much of KUnit as the suites here use, on the host.
 */
#ifndef HOST_KUNIT_TEST_H
#define HOST_KUNIT_TEST_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <linux/slab.h>
#include <linux/types.h>

#define GFP_KERNEL	0

/**
 * struct kunit - a test that runs
 * @name:	its name
 * @failed:	an expectation was not met
 * @end:	where an assertion that was not met leads to
 * @memory:	what kunit_kzalloc() gave out
 */
struct kunit {
	const char *name;
	bool failed;
	jmp_buf end;
	struct host_memory *memory;
};

/**
 * struct kunit_case - a test
 * @run_case:	the function
 * @name:	its name
 */
struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
};

/**
 * struct kunit_suite - tests
 * @name:	their name in common
 * @test_cases:	the last one is all 0
 */
struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
};

/**
 * host_suite - the only suite of this program
 */
extern struct kunit_suite *const host_suite;

void *kunit_kzalloc(struct kunit *test, size_t size, int gfp);

/**
 * host_failed() - an expectation was not met
 * @test:	the test
 * @at:		file and line
 * @what:	what was expected
 * @seen:	the value that was seen, as text
 * @end:	the test cannot go on
 */
void host_failed(struct kunit *test, const char *at, const char *what, const char *seen,
		 bool end);

#define KUNIT_CASE(function)		{ function, #function }
#define kunit_test_suite(suite)		struct kunit_suite *const host_suite = &(suite)

#define HOST_STRING_(token)		#token
#define HOST_STRING(token)		HOST_STRING_(token)
#define HOST_AT				__FILE__ ":" HOST_STRING(__LINE__)

#define HOST_COMPARE(test, a, op, b, end)					\
do {										\
	__auto_type __a = (a);							\
	__auto_type __b = (b);							\
	char __seen[80];							\
										\
	if (__a op __b)								\
		break;								\
	snprintf(__seen, sizeof(__seen), "%lld and %lld",			\
		 (long long)__a, (long long)__b);				\
	host_failed(test, HOST_AT, #a " " #op " " #b, __seen, end);		\
} while (0)

#define HOST_TRUE(test, condition, end)						\
do {										\
	if (!(condition))							\
		host_failed(test, HOST_AT, #condition, "false", end);		\
} while (0)

#define KUNIT_EXPECT_EQ(test, a, b)		HOST_COMPARE(test, a, ==, b, false)
#define KUNIT_EXPECT_GT(test, a, b)		HOST_COMPARE(test, a, >, b, false)
#define KUNIT_EXPECT_LE(test, a, b)		HOST_COMPARE(test, a, <=, b, false)
#define KUNIT_ASSERT_EQ(test, a, b)		HOST_COMPARE(test, a, ==, b, true)
#define KUNIT_ASSERT_GE(test, a, b)		HOST_COMPARE(test, a, >=, b, true)
#define KUNIT_EXPECT_TRUE(test, condition)	HOST_TRUE(test, condition, false)
#define KUNIT_EXPECT_FALSE(test, condition)	HOST_TRUE(test, !(condition), false)
#define KUNIT_ASSERT_TRUE(test, condition)	HOST_TRUE(test, condition, true)
#define KUNIT_ASSERT_NOT_NULL(test, pointer)	HOST_TRUE(test, (pointer) != NULL, true)
#define KUNIT_EXPECT_PTR_EQ(test, a, b)		HOST_TRUE(test, (a) == (b), false)
#define KUNIT_EXPECT_STREQ(test, a, b)						\
do {										\
	const char *__a = (a);							\
										\
	if (strcmp(__a, b))							\
		host_failed(test, HOST_AT, #a " is " #b, __a, false);		\
} while (0)

#endif /* HOST_KUNIT_TEST_H */
