// SPDX-License-Identifier: GPL-2.0
/*
 * The file info: what the module itself is up to.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/utsname.h>
#include <rdma/ib_verbs.h>

#include "events.h"
#include "hold.h"
#include "info.h"
#include "registry.h"
#include "report.h"
#include "roots.h"
#include "snapshot.h"
#include "text.h"

static int add(struct scope_text *text, struct scope_line *line)
{
	scope_line_end(line);
	return scope_text_add(text, line);
}

static int add_probes(struct scope_text *text, struct scope_line *line)
{
	struct scope_probe_state state;
	unsigned int n;
	int err = 0;

	for (n = 0; !err && scope_events_state(n, &state); n++) {
		scope_line_begin(line, "probe");
		scope_line_word(line, "symbol", state.symbol);
		scope_line_number(line, "on", state.on);
		if (state.on)
			scope_line_number(line, "missed", state.missed);
		else if (state.error)
			scope_line_signed(line, "error", state.error);
		err = add(text, line);
	}
	return err;
}

static int add_registry(struct scope_text *text, struct scope_line *line)
{
	struct scope_registry_counts counts;

	scope_registry_count(&counts);
	scope_line_begin(line, "registry");
	scope_line_word(line, "kind", scope_snapshot_has_fprobe() ? "fprobe" : "devices");
	scope_line_number(line, "ufiles", counts.ufiles);
	scope_line_number(line, "dmabufs", counts.dmabufs);
	scope_line_number(line, "dropped", counts.dropped);
	scope_line_number(line, "seq", scope_registry_seq());
	return add(text, line);
}

static int add_devices(struct scope_text *text, struct scope_line *line)
{
	struct scope_device *device;
	unsigned int number = 0;
	int err = 0;

	while (!err && (device = scope_device_lock_next(number))) {
		number = device->number;
		scope_line_begin(line, "device");
		scope_line_text(line, "name", device->ibdev->name);
		scope_line_number(line, "refused", !!device->misfit.text[0]);
		if (device->misfit.text[0])
			scope_line_text(line, "reason", device->misfit.text);
		scope_device_unlock();
		err = add(text, line);
	}
	return err;
}

static int add_locks(struct scope_text *text, struct scope_line *line)
{
	unsigned int n;
	int err = 0;

	for (n = 0; n < SCOPE_LOCKS && !err; n++) {
		scope_line_begin(line, "lock");
		scope_line_word(line, "name", scope_hold_name(n));
		scope_line_number(line, "max_held_ns", scope_hold_longest(n));
		err = add(text, line);
	}
	return err;
}

/**
 * scope_info - tell of the module
 * @text: empty; all of the file info, if there is no error
 *
 * Context: may sleep; takes devices_lock.
 * Return: 0 or -ENOMEM
 */
int scope_info(struct scope_text *text)
{
	struct scope_line *line = kmalloc_obj(*line, SCOPE_GFP);
	int err;

	if (!line)
		return -ENOMEM;
	scope_line_begin(line, "info");
	scope_line_number(line, "v", SCOPE_FORMAT);
	scope_line_text(line, "version", THIS_MODULE->version ? THIS_MODULE->version : "-");
	scope_line_text(line, "kernel", init_utsname()->release);
	err = add(text, line);
	if (!err)
		err = add_probes(text, line);
	if (!err)
		err = add_registry(text, line);
	if (!err)
		err = add_devices(text, line);
	if (!err)
		err = add_locks(text, line);
	if (!err) {
		scope_report_end(line, text->lines - 1);
		err = scope_text_add(text, line);
	}
	kfree(line);
	return err;
}
