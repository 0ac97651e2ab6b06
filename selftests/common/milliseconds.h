/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What time it is, for how long something took or may take.
 */
#ifndef _SELFTESTS_MILLISECONDS_H
#define _SELFTESTS_MILLISECONDS_H

#include <stdint.h>
#include <time.h>

/**
 * milliseconds() - the monotonic clock
 *
 * Return: milliseconds since some time.
 */
static inline uint64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

#endif /* _SELFTESTS_MILLISECONDS_H */
