/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marks in the kernel log, so that what the kernel says during a test can be
 * told from what it says during others.
 */
#ifndef _SELFTESTS_MARKER_H
#define _SELFTESTS_MARKER_H

/**
 * marker_write() - write one mark to the kernel log
 * @edge: "begin" or "end"
 * @test: name of the test as its result line has it
 *
 * The line reads "uobjscope: begin PROGRAM.TEST".  Where /dev/kmsg cannot be
 * written nothing happens.
 */
void marker_write(const char *edge, const char *test);

/**
 * marker_expect() - say that lines in the kernel log are part of the test
 * @pattern: regular expression that matches them; holds until the test ends
 */
void marker_expect(const char *pattern);

#endif /* _SELFTESTS_MARKER_H */
