/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A test prints one line, "ok NAME" or "not ok NAME # why"; run.sh numbers them.
 */
#ifndef TEST_H
#define TEST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static int test_failures;
static char test_why[600];

/* The first failure of a test is the one that is told. */
#define EXPECT(condition, ...)							\
	do {									\
		if (!(condition) && !*test_why)					\
			test_fail(__LINE__, #condition, " " __VA_ARGS__);	\
	} while (0)

static void __attribute__((format(printf, 3, 4)))
test_fail(int line, const char *condition, const char *format, ...)
{
	int n = snprintf(test_why, sizeof(test_why), "line %d: %s:", line, condition);
	va_list args;

	va_start(args, format);
	if (n > 0 && (size_t)n < sizeof(test_why))
		vsnprintf(test_why + n, sizeof(test_why) - n, format, args);
	va_end(args);
}

static void test_end(const char *name)
{
	if (*test_why)
		printf("not ok %s # %s\n", name, test_why);
	else
		printf("ok %s\n", name);
	fflush(stdout);
	test_failures += *test_why != 0;
	*test_why = '\0';
}

/* The whole of a file, with a NUL behind it. */
static __attribute__((unused)) char *test_read(const char *path, size_t *length)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t n = 0;

	while (file) {
		text = realloc(text, n + 65537);
		size_t got = fread(text + n, 1, 65536, file);

		n += got;
		if (!got)
			break;
	}
	if (!file) {
		printf("Bail out! cannot read %s\n", path);
		exit(1);
	}
	fclose(file);
	text[n] = '\0';
	*length = n;
	return text;
}

#endif
