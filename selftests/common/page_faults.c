// SPDX-License-Identifier: GPL-2.0
/*
 * The page faults of the virtual HCA, see page_faults.h.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "page_faults.h"

/* Twenty seconds, in steps of two milliseconds. */
#define PATIENCE	10000

int _page_faults_take(const struct device *dev, struct page_faults *faults)
{
	struct vhca_file file;
	char state[16];
	unsigned int i;
	int err;

	err = vhca_open(dev, "page_faults", &file);
	if (err)
		return err;
	*faults = (struct page_faults) {
		.hold	 = vhca_number(file.header, "hold"),
		.raised	 = vhca_number(file.header, "raised"),
		.told	 = vhca_number(file.header, "told"),
		.resumed = vhca_number(file.header, "resumed"),
		.failed	 = vhca_number(file.header, "failed"),
		.dropped = vhca_number(file.header, "dropped"),
		.late	 = vhca_number(file.header, "late"),
	};
	for (i = 0; i < file.count; i++) {
		if (!vhca_key(file.record[i], "state", state, sizeof(state)))
			continue;
		if (!strcmp(state, "held"))
			faults->held++;
		else
			faults->waiting++;
	}
	vhca_close(&file);
	return 0;
}

int _page_faults_since(const struct device *dev, const struct page_faults *before,
		       struct page_faults *delta)
{
	int err = _page_faults_take(dev, delta);

	if (err)
		return err;
	delta->raised -= before->raised;
	delta->told -= before->told;
	delta->resumed -= before->resumed;
	delta->failed -= before->failed;
	delta->dropped -= before->dropped;
	delta->late -= before->late;
	return 0;
}

/**
 * struct goal - what is waited for
 * @is_reached: whether it is so
 * @number: a number that it takes
 */
struct goal {
	bool (*is_reached)(const struct page_faults *now, uint64_t number);
	uint64_t number;
};

static int wait_for(const struct device *dev, const struct goal *goal)
{
	const struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };
	struct page_faults now;
	unsigned int tries;
	int err;

	for (tries = 0; tries < PATIENCE; tries++) {
		err = _page_faults_take(dev, &now);
		if (err)
			return err;
		if (goal->is_reached(&now, goal->number))
			return 0;
		nanosleep(&pause, NULL);
	}
	return ETIMEDOUT;
}

static bool are_held(const struct page_faults *now, uint64_t number)
{
	return now->held == number;
}

static bool are_over(const struct page_faults *now, uint64_t number)
{
	return now->held + now->waiting == number;
}

static bool are_late(const struct page_faults *now, uint64_t number)
{
	return now->late >= number;
}

int _page_faults_held(const struct device *dev, unsigned int count)
{
	return wait_for(dev, &(struct goal){ are_held, count });
}

int _page_faults_over(const struct device *dev)
{
	return wait_for(dev, &(struct goal){ are_over, 0 });
}

int _page_faults_late(const struct device *dev, const struct page_faults *before,
		      unsigned int count)
{
	return wait_for(dev, &(struct goal){ are_late, before->late + count });
}
