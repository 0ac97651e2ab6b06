// SPDX-License-Identifier: GPL-2.0
/*
 * The switch of the lifetime events.
 *
 * Their probes are registered by a person, and never when somebody enables a tracepoint:
 * that happens under the tracepoints' mutex, which the registration of a probe may want.
 *
 * mlx5_ib may be loaded and unloaded meanwhile.  Its functions are probed from before its
 * init function runs until after its exit function has.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cleanup.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dying.h"
#include "lifetime_probe.h"
#include "report.h"
#include "snapshot.h"
#include "text.h"

/* Protects all of this.  Outside of all locks of the kernel's tracing. */
static DEFINE_MUTEX(lifetime_lock);
static bool switched_on;

static int at_begin(struct fprobe *fprobe, unsigned long ip, unsigned long return_ip,
		    struct scope_regs *regs, void *data)
{
	struct scope_lifetime_probe *probe = container_of(fprobe, struct scope_lifetime_probe,
							  fprobe);

	return !probe->begin(regs, data);
}

static void at_end(struct fprobe *fprobe, unsigned long ip, unsigned long return_ip,
		   struct scope_regs *regs, void *data)
{
	struct scope_lifetime_probe *probe = container_of(fprobe, struct scope_lifetime_probe,
							  fprobe);

	probe->end(scope_regs_result(regs), data);
}

static void start(struct scope_lifetime_probe *probe)
{
	struct fprobe *fprobe = &probe->fprobe;

	probe->on = true;
	if (!probe->begin)
		return;
	memset(fprobe, 0, sizeof(*fprobe));
	fprobe->entry_handler = at_begin;
	if (probe->end) {
		fprobe->exit_handler = at_end;
		fprobe->entry_data_size = sizeof(struct scope_call);
	}
	scope_fprobe_make_room(fprobe);
	probe->error = register_fprobe_syms(fprobe, &probe->symbol, 1);
	probe->on = !probe->error;
}

static void stop(struct scope_lifetime_probe *probe)
{
	if (probe->on && probe->begin)
		unregister_fprobe(&probe->fprobe);
	probe->on = false;
	probe->error = 0;
}

/*
 * A module is there before this is called, and its functions can be found, but none has
 * run; and none runs any more when it is said to be going.
 */
static int module_changes(struct notifier_block *block, unsigned long state, void *data)
{
	const struct module *module = data;
	unsigned int n;

	if (state != MODULE_STATE_COMING && state != MODULE_STATE_GOING)
		return NOTIFY_DONE;
	guard(mutex)(&lifetime_lock);
	if (!switched_on)
		return NOTIFY_DONE;
	for (n = 0; n < scope_lifetime_nr_probes; n++) {
		struct scope_lifetime_probe *probe = &scope_lifetime_probes[n];

		if (!probe->module || strcmp(probe->module, module->name))
			continue;
		if (state == MODULE_STATE_COMING && !probe->on) {
			start(probe);
		} else if (state == MODULE_STATE_GOING) {
			stop(probe);
			probe->error = -ENOENT;
		}
	}
	return NOTIFY_DONE;
}

static struct notifier_block module_block = {
	.notifier_call	= module_changes,
	/* Before fprobe's own, which takes the functions from under a probe. */
	.priority	= 1,
};

/**
 * scope_lifetime_start - follow modules; the events are switched off
 *
 * Return: 0 or an error
 */
int scope_lifetime_start(void)
{
	return register_module_notifier(&module_block);
}

/**
 * scope_lifetime_stop - switch the events off for good
 *
 * Context: may sleep; nobody can switch them on any more.
 */
void scope_lifetime_stop(void)
{
	unregister_module_notifier(&module_block);
	scope_lifetime_switch(false);
}

/**
 * scope_lifetime_switch - register the probes of the events, or unregister them
 * @on: register
 *
 * A function that cannot be probed is no error: scope_lifetime_list() tells of it.
 *
 * Context: may sleep; takes lifetime_lock.
 * Return: 0, or -EOPNOTSUPP where the registry has no probes, without which events would
 * not know whose objects they tell of
 */
int scope_lifetime_switch(bool on)
{
	unsigned int n;

	guard(mutex)(&lifetime_lock);
	if (on && !scope_snapshot_has_fprobe())
		return -EOPNOTSUPP;
	if (on == switched_on)
		return 0;
	WRITE_ONCE(switched_on, on);
	for (n = 0; n < scope_lifetime_nr_probes; n++) {
		if (on)
			start(&scope_lifetime_probes[n]);
		else
			stop(&scope_lifetime_probes[n]);
	}
	if (!on)
		scope_dying_clear();
	return 0;
}

/**
 * scope_lifetime_is_on - how does the switch stand?
 *
 * Context: any
 * Return: whether the events are switched on
 */
bool scope_lifetime_is_on(void)
{
	return READ_ONCE(switched_on);
}

static const char *why_off(const struct scope_lifetime_probe *probe)
{
	if (!switched_on)
		return "switch";
	if (probe->error == -ENOENT)
		return probe->module ? "no_function_or_module" : "no_function";
	return "error";
}

static int add_event(struct scope_text *text, struct scope_line *line,
		     const struct scope_lifetime_probe *probe, const char *name)
{
	scope_line_begin(line, "event");
	scope_line_word(line, "name", name);
	scope_line_word(line, "symbol", probe->symbol);
	if (probe->module)
		scope_line_word(line, "module", probe->module);
	scope_line_number(line, "on", probe->on);
	if (probe->on && probe->begin)
		scope_line_number(line, "missed", probe->fprobe.nmissed);
	else if (!probe->on)
		scope_line_word(line, "why", why_off(probe));
	if (probe->error)
		scope_line_signed(line, "error", probe->error);
	scope_line_end(line);
	return scope_text_add(text, line);
}

/**
 * scope_lifetime_list - tell of each event whether it is on, and why not
 * @text: empty; all of the file events, if there is no error
 *
 * Context: may sleep; takes lifetime_lock.
 * Return: 0 or -ENOMEM
 */
int scope_lifetime_list(struct scope_text *text)
{
	struct scope_line *line __free(kfree) = kmalloc_obj(*line, SCOPE_GFP);
	unsigned int n, e;
	int err;

	if (!line)
		return -ENOMEM;
	guard(mutex)(&lifetime_lock);
	scope_line_begin(line, "events");
	scope_line_number(line, "v", SCOPE_FORMAT);
	scope_line_number(line, "on", switched_on);
	scope_line_number(line, "dropped", scope_dying_dropped());
	scope_line_end(line);
	err = scope_text_add(text, line);
	for (n = 0; n < scope_lifetime_nr_probes; n++) {
		const struct scope_lifetime_probe *probe = &scope_lifetime_probes[n];

		for (e = 0; e < SCOPE_PROBE_EVENTS && probe->events[e] && !err; e++)
			err = add_event(text, line, probe, probe->events[e]);
	}
	if (err)
		return err;
	scope_report_end(line, text->lines - 1);
	return scope_text_add(text, line);
}
