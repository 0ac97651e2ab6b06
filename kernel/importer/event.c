// SPDX-License-Identifier: GPL-2.0
/*
 * Events: what happened without being asked for by a command, for read() and
 * poll().
 */
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "importer.h"

/**
 * importer_event - note an event and wake who waits for one
 * @importer: the context
 * @type: enum dmabuf_importer_event_type
 * @id: of the attachment, fence or export
 * @state: enum dmabuf_importer_state
 *
 * Context: process context, the reservation lock may be held.  Takes importer.lock.
 * Return: the event
 */
struct dmabuf_importer_event importer_event(struct importer *importer, u32 type, u32 id,
					    u32 state)
{
	struct dmabuf_importer_event event = {
		.time_ns	= ktime_get_ns(),
		.type		= type,
		.id		= id,
		.state		= state,
	};

	spin_lock(&importer->lock);
	event.seq = ++importer->seq;
	importer->events[event.seq % DMABUF_IMPORTER_EVENTS] = event;
	if (event.seq - importer->first > DMABUF_IMPORTER_EVENTS)
		importer->first = event.seq - DMABUF_IMPORTER_EVENTS;
	spin_unlock(&importer->lock);
	wake_up_interruptible(&importer->wait);
	return event;
}

static bool has_event(struct importer *importer)
{
	bool has;

	spin_lock(&importer->lock);
	has = importer->first != importer->seq;
	spin_unlock(&importer->lock);
	return has;
}

/**
 * importer_take_event - take the oldest event away
 * @importer: the context
 * @event: filled if there is one
 *
 * Context: process context.  Takes importer.lock.
 * Return: whether there was one
 */
bool importer_take_event(struct importer *importer, struct dmabuf_importer_event *event)
{
	bool has;

	spin_lock(&importer->lock);
	has = importer->first != importer->seq;
	if (has)
		*event = importer->events[++importer->first % DMABUF_IMPORTER_EVENTS];
	spin_unlock(&importer->lock);
	return has;
}

/**
 * importer_read_events - read() of the file
 * @file: the file
 * @to: where to
 * @count: bytes there; only whole events are returned
 * @pos: not used, the file is a stream
 *
 * Waits for the first event unless the file is non-blocking.
 *
 * Context: process context, may sleep
 * Return: bytes written, -EINVAL if there is no room for one event, -EAGAIN if
 *	there is none and the file is non-blocking, -ERESTARTSYS, -EFAULT
 */
ssize_t importer_read_events(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	struct importer *importer = file->private_data;
	struct dmabuf_importer_event event;
	size_t done = 0;
	int err;

	if (count < sizeof(event))
		return -EINVAL;
	while (count - done >= sizeof(event)) {
		if (!importer_take_event(importer, &event)) {
			if (done)
				break;
			if (file->f_flags & O_NONBLOCK)
				return -EAGAIN;
			err = wait_event_interruptible(importer->wait, has_event(importer));
			if (err)
				return err;
			continue;
		}
		if (copy_to_user(to + done, &event, sizeof(event)))
			return done ?: -EFAULT;
		done += sizeof(event);
	}
	return done;
}

/**
 * importer_poll - poll() of the file
 * @file: the file
 * @table: as given by poll()
 *
 * Return: EPOLLIN if there is an event to be read
 */
__poll_t importer_poll(struct file *file, poll_table *table)
{
	struct importer *importer = file->private_data;

	poll_wait(file, &importer->wait, table);
	return has_event(importer) ? EPOLLIN | EPOLLRDNORM : 0;
}
