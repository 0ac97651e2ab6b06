// SPDX-License-Identifier: GPL-2.0
#include <poll.h>

#include "event.h"

int event_wait(struct ibv_context *ctx)
{
	struct pollfd pfd = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;
	int type;

	if (poll(&pfd, 1, 60000) != 1)
		return -1;
	if (ibv_get_async_event(ctx, &event))
		return -2;
	type = event.event_type;
	ibv_ack_async_event(&event);
	return type;
}
