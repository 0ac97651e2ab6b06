/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Touching memory that may not be there.
 */
#ifndef _SELFTESTS_TOUCH_H
#define _SELFTESTS_TOUCH_H

#include <stdint.h>

/**
 * touch_read() - read a word
 * @at: the word
 * @word: filled in
 *
 * By several threads at a time, too.
 *
 * Return: 0, or EFAULT if that was answered with SIGBUS.
 */
int touch_read(const uint32_t *at, uint32_t *word);

/**
 * touch_write() - write a word
 * @at: where to
 * @word: the word
 *
 * Return: 0, or EFAULT if that was answered with SIGBUS.
 */
int touch_write(uint32_t *at, uint32_t word);

/* The word at an address is this one. */
#define ASSERT_WORD(expected, at) \
do { \
	uint32_t __word = ~(uint32_t)(expected); \
	ASSERT_EQ(0, touch_read(at, &__word)); \
	ASSERT_EQ((uint32_t)(expected), __word); \
} while (0)

/* There is nothing to be read. */
#define ASSERT_NO_WORD(at) \
do { \
	uint32_t __word = 0; \
	ASSERT_EQ(EFAULT, touch_read(at, &__word)) \
		TH_LOG("read: %#x", __word); \
} while (0)

#endif /* _SELFTESTS_TOUCH_H */
