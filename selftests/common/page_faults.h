/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The page faults of the virtual HCA: the file page_faults below debugfs.
 *
 * Its counts are totals over the life of the module, so all that is asked of them is how
 * they differ from those of the test's start.  To be included after vhca.h.
 */
#ifndef _SELFTESTS_PAGE_FAULTS_H
#define _SELFTESTS_PAGE_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"
#include "vhca.h"

/**
 * struct page_faults - what the device has counted
 * @hold: the driver is told of none
 * @held: faults that it has not been told of now
 * @waiting: faults that it has been told of, and has not resumed
 * @raised: faults
 * @told: events
 * @resumed: faults that the driver has served
 * @failed: those that it could not serve
 * @dropped: those whose queue pair has ended before
 * @late: those among them that were resumed nevertheless
 */
struct page_faults {
	bool hold;
	unsigned int held;
	unsigned int waiting;
	uint64_t raised;
	uint64_t told;
	uint64_t resumed;
	uint64_t failed;
	uint64_t dropped;
	uint64_t late;
};

/**
 * _page_faults_take() - read the counts
 * @dev: the device
 * @faults: filled in
 *
 * Return: 0 or an errno.
 */
int _page_faults_take(const struct device *dev, struct page_faults *faults);

/**
 * _page_faults_since() - how the counts differ
 * @dev: the device
 * @before: earlier counts
 * @delta: filled in with the differences; @held, @waiting and @hold are those of now
 *
 * Return: 0 or an errno.
 */
int _page_faults_since(const struct device *dev, const struct page_faults *before,
		       struct page_faults *delta);

/**
 * _page_faults_held() - wait until the device holds faults back
 * @dev: the device, which was asked to hold them
 * @count: how many
 *
 * Return: 0, ETIMEDOUT if there are not that many within twenty seconds, or an errno.
 */
int _page_faults_held(const struct device *dev, unsigned int count);

/**
 * _page_faults_over() - wait until the driver has answered all faults
 * @dev: the device
 *
 * Return: 0, ETIMEDOUT if it has not within twenty seconds, or an errno.
 */
int _page_faults_over(const struct device *dev);

/**
 * _page_faults_late() - wait until faults of queue pairs that are gone were resumed
 * @dev: the device
 * @before: earlier counts
 * @count: how many since then
 *
 * Return: 0, ETIMEDOUT if there are not that many within twenty seconds, or an errno.
 */
int _page_faults_late(const struct device *dev, const struct page_faults *before,
		      unsigned int count);

#define page_faults_take(dev, faults)	ASSERT_EQ(0, _page_faults_take(dev, faults))
#define page_faults_held(dev, count)	ASSERT_EQ(0, _page_faults_held(dev, count))
#define page_faults_over(dev)		ASSERT_EQ(0, _page_faults_over(dev))
#define page_faults_late(dev, before, count) \
	ASSERT_EQ(0, _page_faults_late(dev, before, count))

/* The driver is told of no fault, or of all that there are. */
#define page_faults_hold(dev)		ASSERT_EQ(0, vhca_write(dev, "page_faults", "hold"))
#define page_faults_tell(dev)		ASSERT_EQ(0, vhca_write(dev, "page_faults", "tell"))

/*
 * There were so many since then, and none is left; in the order of the structure, and
 * what is not named is zero.
 */
#define ASSERT_PAGE_FAULTS(dev, before, ...) \
do { \
	const struct page_faults __wanted = { __VA_ARGS__ }; \
	struct page_faults __is; \
	ASSERT_EQ(0, _page_faults_since(dev, before, &__is)); \
	ASSERT_EQ(__wanted.raised, __is.raised); \
	ASSERT_EQ(__wanted.told, __is.told); \
	ASSERT_EQ(__wanted.resumed, __is.resumed); \
	ASSERT_EQ(__wanted.failed, __is.failed); \
	ASSERT_EQ(__wanted.dropped, __is.dropped); \
	ASSERT_EQ(__wanted.late, __is.late); \
	ASSERT_EQ(0U, __is.held); \
	ASSERT_EQ(0U, __is.waiting); \
} while (0)

#endif /* _SELFTESTS_PAGE_FAULTS_H */
