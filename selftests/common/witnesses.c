// SPDX-License-Identifier: GPL-2.0
#include <time.h>

#include "kernel_signs.h"
#include "milliseconds.h"
#include "text.h"
#include "witnesses.h"

int witnesses_take(const struct device *dev, struct witnesses *witnesses)
{
	scope_drop(&witnesses->scope);
	witnesses->fds = fd_count();
	witnesses->dmabufs = dmabuf_count("ib_uverbs");
	return scope_take(&witnesses->scope) ?: rest_take_device(dev, &witnesses->device);
}

bool witnesses_agree(const struct device *dev, struct witnesses *witnesses, uint64_t patience)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	const uint64_t until = milliseconds() + patience;
	struct rest now = {};
	int fds, dmabufs;

	while (true) {
		if (scope_take(&witnesses->scope) || rest_take_device(dev, &now))
			return false;
		fds = fd_count();
		dmabufs = dmabuf_count("ib_uverbs");
		if (!scope_left(&witnesses->scope) && rest_is_same(&witnesses->device, &now) &&
		    fds == witnesses->fds && dmabufs == witnesses->dmabufs)
			return true;
		if (milliseconds() >= until)
			break;
		nanosleep(&pause, NULL);
	}
	rest_print_difference(dev, &witnesses->device, &now);
	if (fds != witnesses->fds || dmabufs != witnesses->dmabufs)
		diag("descriptors: %+d, dma-bufs: %+d", fds - witnesses->fds,
		     dmabufs - witnesses->dmabufs);
	scope_print_left(&witnesses->scope);
	return false;
}
