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

/**
 * marker_reached() - say that a test has come to what it was made for
 * @window: which moment, in a few words
 *
 * The line reads "uobjscope: reached WINDOW".  Of a test that takes the kernel with it
 * this is what is left, and without it such an end says nothing of the test's subject.
 */
void marker_reached(const char *window);

#endif /* _SELFTESTS_MARKER_H */
