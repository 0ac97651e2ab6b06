/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ending a test as skipped from a function that the harness knows nothing of: where a
 * library call or a kernel object turns out not to be there.
 */
#ifndef _SELFTESTS_SKIP_H
#define _SELFTESTS_SKIP_H

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

/**
 * skip_begin() - say where the result of the running test is
 * @reason: the reason's place, in memory that the harness shares with the test
 * @size: bytes there
 * @exit_code: the result's place, likewise
 *
 * All of NULL, 0 and NULL when no test runs.
 */
void skip_begin(char *reason, size_t size, int *exit_code);

/**
 * skip_instead() - say who is told in place of the harness
 * @tell: called with the reason; the process ends when it returns
 *
 * For processes that a test has started.
 */
void skip_instead(void (*tell)(const char *reason));

/**
 * skip_test() - end the running test as skipped, and the process with it
 * @fmt: why, and the way out
 *
 * What the process holds the kernel takes back; the fixture's end is not run.  A process
 * that the test has forked takes the test with it, by a signal.  Where no test runs, the
 * reason is printed and the exit status is that of a skip.
 */
__printf(1, 2) __attribute__((noreturn)) void skip_test(const char *fmt, ...);

/**
 * kernel_is_before() - is the running kernel older than that version?
 * @major: its first number
 * @minor: its second one
 *
 * For what no other sign tells; a kernel whose version cannot be read is not older.
 *
 * Return: whether it is.
 */
bool kernel_is_before(int major, int minor);

#endif /* _SELFTESTS_SKIP_H */
