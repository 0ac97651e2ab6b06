/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a test of kselftest_harness.h reports a known fault.  To be included after it.
 *
 * The harness reports XFAIL by variant only (XFAIL_ADD), which knows nothing of
 * versions, so the exit code is set as SKIP() sets its own.
 */
#ifndef _SELFTESTS_KNOWN_H
#define _SELFTESTS_KNOWN_H

#include "known_issues.h"
#include "reproduce.h"

/**
 * known_look_up() - find the entry of a fault
 * @_metadata: the harness's own
 * @issue: filled in
 * @id: the fault's name
 *
 * The test is skipped if the fault would not show here.
 *
 * Return: whether the test may go on.
 */
static inline bool known_look_up(struct __test_metadata *_metadata, struct known_issue *issue,
				 const char *id)
{
	ASSERT_EQ(0, known_issue(id, issue));
	if (issue->state == KNOWN_HIDDEN)
		SKIP(return false, "%s %s: %s", issue->id, issue->title, issue->why);
	return true;
}

/**
 * known_report() - set a test's verdict, as its last act
 * @_metadata: the harness's own
 * @issue: filled in by known_look_up()
 * @seen: whether the fault has shown
 *
 * A test that has failed otherwise stays failed.
 */
static inline void known_report(struct __test_metadata *_metadata,
				const struct known_issue *issue, bool seen)
{
	char reason[KNOWN_REASON];
	const int code = known_verdict(issue, seen, reason);

	/* What an EXPECT_EQ() has found is no part of the fault. */
	if (_metadata->exit_code != KSFT_PASS)
		return;
	if (reason[0])
		TH_LOG("%s%s", code == KSFT_PASS ? "note: " : "", reason);
	if (code == KSFT_XFAIL || code == KSFT_SKIP)
		snprintf(_metadata->results->reason, sizeof(_metadata->results->reason), "%s",
			 reason);
	_metadata->exit_code = code;
}

/**
 * known_reproduce() - run a fault's reproducer
 * @_metadata: the harness's own
 * @program: the reproducer
 * @device: the device under test
 * @seen: filled in with whether the fault has shown
 *
 * The test is skipped if the reproducer cannot tell, and fails if it ends as none does.
 *
 * Return: whether the test may go on.
 */
static inline bool known_reproduce(struct __test_metadata *_metadata, const char *program,
				   const char *device, int *seen)
{
	*seen = reproduce(program, device);
	if (*seen == REPRODUCE_CANNOT_TELL)
		SKIP(return false, "%s cannot tell", program);
	ASSERT_LE(0, *seen);
	return true;
}

#endif /* _SELFTESTS_KNOWN_H */
