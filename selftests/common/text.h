/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading the small text files in which the kernel shows its state, and
 * writing diagnostics that the kselftest runner passes on.
 */
#ifndef _SELFTESTS_TEXT_H
#define _SELFTESTS_TEXT_H

#include <stddef.h>

/* As kselftest.h has it, which not every file includes. */
#ifndef __printf
#define __printf(a, b)	__attribute__((format(printf, a, b)))
#endif

/**
 * diag() - write one line of diagnostics
 * @fmt: format, without the newline
 *
 * The line begins with "# " on stderr, which is how TAP marks what is not a
 * result.  errno is preserved.
 */
__printf(1, 2) void diag(const char *fmt, ...);

/**
 * text_read() - read a text file of procfs, sysfs or debugfs at one go
 * @path: the file
 *
 * These files have no size that could be asked for, so the text is read until
 * the end.
 *
 * Return: the text with a terminating NUL, to be freed by the caller, or NULL
 * with errno set.
 */
char *text_read(const char *path);

/**
 * text_write() - write a text to a file of procfs, sysfs or debugfs at one go
 * @path: the file, which is there
 * @text: what is written
 * @flags: of open() beyond O_WRONLY and O_CLOEXEC
 *
 * Return: 0 or an errno.
 */
int text_write(const char *path, const char *text, int flags);

#endif /* _SELFTESTS_TEXT_H */
