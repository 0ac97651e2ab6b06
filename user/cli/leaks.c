// SPDX-License-Identifier: GPL-2.0
/*
 * uobjscope leaks: run a command, and tell what it leaves behind.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "births.h"
#include "cli.h"
#include "instance.h"
#include "keepers.h"
#include "origin.h"

/* What the kernel still has to do for a process that has ended may take so long. */
#define SETTLE_MS	2000
#define SETTLE_STEP_MS	200
/* It is done when nothing has changed in so many looks, one after the other. */
#define SETTLE_LOOKS	3

/**
 * struct leaks - what is known of a run
 * @options: the command line
 * @before: before the command
 * @after: after it
 * @births: the events, or NULL
 * @no_births: why there are none, or NULL
 * @status: of the command, as waitpid() has it
 * @names: the objects that are left, as uobjscope_holders() names them
 * @records: their records
 * @count: of both
 * @others: objects that other processes have made meanwhile
 */
struct leaks {
	const struct options *options;
	struct uobjscope *before;
	struct uobjscope *after;
	struct births *births;
	char *no_births;
	int status;
	char **names;
	const struct uobjscope_record **records;
	size_t count;
	size_t others;
};

/* ---- the command ---- */

static void read_births(void *births)
{
	births_read(births);
}

/* With --json standard output is for that. */
static int run_command(struct leaks *leaks)
{
	const struct options *options = leaks->options;
	const char *name = options->args[0];
	int err;

	fflush(stdout);
	births_follow(leaks->births, getpid());
	err = command_start(options->args, options->json);
	if (err > 0)
		complain("%s: cannot run: %s", name, strerror(err));
	if (err)
		return -1;
	return command_wait(name, &leaks->status, leaks->births ? read_births : NULL,
			    leaks->births);
}

/* ---- what is left ---- */

static char *name_of(const struct uobjscope_record *record)
{
	uint64_t ufile, number;

	switch (uobjscope_record_type(record)) {
	case UOBJSCOPE_UFILE:
		return uobjscope_get(record, UOBJSCOPE_KEY_ID, &ufile) ?
		       format("ufile:%" PRIu64, ufile) : NULL;
	case UOBJSCOPE_UOBJ:
		if (uobjscope_type_is(record, "DMABUF") &&
		    uobjscope_get(record, UOBJSCOPE_KEY_INO, &number))
			return format("ino:%" PRIu64, number);
		if (!uobjscope_get(record, UOBJSCOPE_KEY_UFILE, &ufile))
			return NULL;
		if (uobjscope_get(record, UOBJSCOPE_KEY_HANDLE, &number))
			return format("ufile:%" PRIu64 "/%" PRIu64, ufile, number);
		return format("ufile:%" PRIu64 "/%s", ufile,
			      uobjscope_text(record, UOBJSCOPE_KEY_TYPE));
	case UOBJSCOPE_MMAP:
		if (uobjscope_get(record, UOBJSCOPE_KEY_UFILE, &ufile) &&
		    uobjscope_get(record, UOBJSCOPE_KEY_PGOFF, &number))
			return format("ufile:%" PRIu64 "/mmap:0x%" PRIx64, ufile, number);
		return NULL;
	default:
		return NULL;
	}
}

static void add(struct leaks *leaks, const struct uobjscope_record *record)
{
	char *name = record ? name_of(record) : NULL;

	if (!name)
		return;
	for (size_t i = 0; i < leaks->count; i++) {
		if (leaks->records[i] == record) {
			free(name);
			return;
		}
	}
	leaks->names = need(realloc(leaks->names, (leaks->count + 1) * sizeof(*leaks->names)));
	leaks->records = need(realloc(leaks->records,
				      (leaks->count + 1) * sizeof(*leaks->records)));
	leaks->names[leaks->count] = name;
	leaks->records[leaks->count++] = record;
}

/* Objects whose maker is not known count as the command's. */
static bool is_ours(const struct leaks *leaks, const struct uobjscope_record *record)
{
	const struct birth *birth = origin_of(leaks->births, leaks->after, record);

	return !birth || births_is_ours(leaks->births, birth);
}

/* A holder that came to an object that was there before. */
static const struct uobjscope_record *held_by(const struct leaks *leaks,
					      const struct uobjscope_record *holder)
{
	const struct uobjscope_record *entry;
	uint64_t number;

	switch (uobjscope_record_type(holder)) {
	case UOBJSCOPE_VMA:
		entry = uobjscope_entry_of(leaks->after, holder);
		return entry ? entry : uobjscope_ufile_of(leaks->after, holder);
	case UOBJSCOPE_ATTACH:
		return uobjscope_get(holder, UOBJSCOPE_KEY_INO, &number) ?
		       uobjscope_dmabuf(leaks->after, number) : NULL;
	case UOBJSCOPE_FD:
		if (leaks->births && uobjscope_get(holder, UOBJSCOPE_KEY_PID, &number) &&
		    !births_has_process(leaks->births, number))
			return NULL;
		if (uobjscope_get(holder, UOBJSCOPE_KEY_INO, &number))
			return uobjscope_dmabuf(leaks->after, number);
		return uobjscope_ufile_of(leaks->after, holder);
	default:
		return NULL;
	}
}

/* References that no holder explains, of all counts that keep an object. */
static uint64_t unexplained(const struct uobjscope *scope, const struct uobjscope_record *record)
{
	char *name = name_of(record);
	const struct uobjscope_report *report;
	struct uobjscope_holders *holders;
	uint64_t sum = 0;

	if (!name)
		return 0;
	holders = need(uobjscope_holders(scope, name, NULL));
	for (size_t i = 0; (report = uobjscope_holders_report(holders, i)); i++)
		for (size_t j = 0; j < report->count; j++)
			if (keepers_decides(report, &report->tallies[j]))
				sum += report->tallies[j].unexplained;
	uobjscope_holders_free(holders);
	free(name);
	return sum;
}

/* Is it an object of a process that is not the command's?  What is not known is not. */
static bool is_of_others(const struct leaks *leaks, const struct uobjscope_record *record)
{
	uint64_t pid;

	return leaks->births &&
	       uobjscope_get(uobjscope_ufile_of(leaks->after, record), UOBJSCOPE_KEY_PID, &pid) &&
	       !births_has_process(leaks->births, pid);
}

static void take_change(struct leaks *leaks, const struct uobjscope_change *change)
{
	const struct uobjscope_record *record = change->after;
	char *name;
	bool ours;

	if (change->kind == UOBJSCOPE_REMOVED)
		return;
	switch (change->type) {
	case UOBJSCOPE_UFILE:
	case UOBJSCOPE_UOBJ:
	case UOBJSCOPE_MMAP:
		if (change->kind == UOBJSCOPE_CHANGED &&
		    unexplained(leaks->before, change->before) >=
		    unexplained(leaks->after, record))
			return;
		break;
	case UOBJSCOPE_VMA:
	case UOBJSCOPE_ATTACH:
	case UOBJSCOPE_FD:
		if (change->kind == UOBJSCOPE_CHANGED)
			return;
		break;
	default:
		return;
	}
	/* References to what was there before come and go with what its owner does. */
	ours = is_ours(leaks, record) &&
	       !(change->kind == UOBJSCOPE_CHANGED && is_of_others(leaks, record));
	if (!ours) {
		leaks->others += change->type != UOBJSCOPE_FD;
		return;
	}
	name = name_of(record);
	add(leaks, name ? record : held_by(leaks, record));
	free(name);
}

static void forget(struct leaks *leaks)
{
	for (size_t i = 0; i < leaks->count; i++)
		free(leaks->names[i]);
	leaks->count = 0;
	leaks->others = 0;
	uobjscope_free(leaks->after);
	leaks->after = NULL;
}

static bool compare(struct leaks *leaks)
{
	const struct uobjscope_change *change;
	struct uobjscope_diff *diff;

	leaks->after = load_silently(leaks->options);
	if (!leaks->after)
		return false;
	if (leaks->births)
		births_read(leaks->births);
	births_check(leaks->births);
	diff = need(uobjscope_diff(leaks->before, leaks->after, NULL));
	for (size_t i = 0; (change = uobjscope_diff_change(diff, i)); i++)
		take_change(leaks, change);
	uobjscope_diff_free(diff);
	return true;
}

/* Files are released, and some objects freed, a moment after a process has ended. */
static bool look(struct leaks *leaks)
{
	int waited = 0, same = 0;
	size_t last = 0;

	for (;;) {
		if (!compare(leaks))
			return false;
		same = leaks->count == last ? same + 1 : 0;
		last = leaks->count;
		if (!leaks->count || same == SETTLE_LOOKS || waited >= SETTLE_MS)
			return true;
		forget(leaks);
		poll(NULL, 0, SETTLE_STEP_MS);
		waited += SETTLE_STEP_MS;
	}
}

/* ---- tell ---- */

static bool has_failed(const struct leaks *leaks)
{
	return !WIFEXITED(leaks->status) || WEXITSTATUS(leaks->status);
}

/* Of several objects with one name, the one that is meant. */
static const struct uobjscope_report *report_of(const struct uobjscope_holders *holders,
						const struct uobjscope_record *record)
{
	const struct uobjscope_report *report;

	for (size_t i = 0; (report = uobjscope_holders_report(holders, i)); i++)
		if (report->record == record)
			return report;
	return uobjscope_holders_report(holders, 0);
}

/* They are told where a ufile has references that nobody is seen to hold: these may do. */
static bool may_have_unfreed(const struct uobjscope_report *report)
{
	return report->kind == UOBJSCOPE_OBJECT_UFILE && report->record && report->count &&
	       report->tallies[0].unexplained;
}

static void tell_unfreed(const struct leaks *leaks, const struct uobjscope_report *report,
			 FILE *out)
{
	const struct birth *birth = NULL;

	while (may_have_unfreed(report) &&
	       (birth = origin_unfreed(leaks->births, leaks->after, report->record, birth)))
		print_unfreed(birth, out);
}

static json_object *json_unfreed(const struct leaks *leaks,
				 const struct uobjscope_report *report)
{
	const struct birth *birth = NULL;
	json_object *array = json_array();

	while (may_have_unfreed(report) &&
	       (birth = origin_unfreed(leaks->births, leaks->after, report->record, birth)))
		json_append(array, json_birth(birth));
	return array;
}

static void tell_object(const struct leaks *leaks, size_t n, json_object *array, FILE *out)
{
	struct uobjscope_holders *holders = need(uobjscope_holders(leaks->after, leaks->names[n],
								   NULL));
	const struct uobjscope_report *report = report_of(holders, leaks->records[n]);
	struct keepers *keepers = keepers_find(leaks->after, leaks->births, leaks->names[n]);
	json_object *map;

	if (!report) {
		uobjscope_holders_free(holders);
		keepers_free(keepers);
		return;
	}
	if (array) {
		map = json_report(leaks->after, report, leaks->births);
		json_put(map, "birth",
			 json_birth(origin_of(leaks->births, leaks->after, report->record)));
		json_put(map, "kept_by", keepers_json(keepers, leaks->after));
		json_put(map, "never_freed", json_unfreed(leaks, report));
		json_append(array, map);
	} else {
		fputc('\n', out);
		print_title(leaks->after, report, out);
		keepers_print(keepers, leaks->after, out);
		print_birth(origin_of(leaks->births, leaks->after, report->record), out);
		tell_unfreed(leaks, report, out);
		print_report(leaks->after, report, leaks->births, out);
	}
	uobjscope_holders_free(holders);
	keepers_free(keepers);
}

static json_object *json_command(const struct leaks *leaks)
{
	json_object *map = json_map(), *words = json_array();

	for (int i = 0; i < leaks->options->nargs; i++)
		json_append(words, json_text(leaks->options->args[i]));
	json_put(map, "arguments", words);
	if (WIFEXITED(leaks->status))
		json_put(map, "status", json_number(WEXITSTATUS(leaks->status)));
	else
		json_put(map, "signal", json_number(WTERMSIG(leaks->status)));
	return map;
}

static void remark_on(const struct leaks *leaks)
{
	note_limits(leaks->after);
	if (leaks->no_births)
		remark("births are not known: %s", leaks->no_births);
	else if (births_lost(leaks->births))
		remark("%lu events or more were lost, some births are not known",
		       births_lost(leaks->births));
	if (leaks->others)
		remark("%zu objects or holders that other processes made meanwhile are left out",
		       leaks->others);
	if (WIFSIGNALED(leaks->status))
		remark("the command was ended by signal %d", WTERMSIG(leaks->status));
	else if (has_failed(leaks))
		remark("the command ended with status %d", WEXITSTATUS(leaks->status));
}

static int tell(const struct leaks *leaks)
{
	json_object *array = leaks->options->json ? json_array() : NULL;
	FILE *out = begin_output();
	json_object *map;

	remark_on(leaks);
	if (!array && leaks->count)
		fprintf(out, "%zu object%s left by %s\n", leaks->count,
			leaks->count == 1 ? " is" : "s are", leaks->options->args[0]);
	else if (!array)
		fprintf(out, "nothing is left by %s\n", leaks->options->args[0]);
	for (size_t i = 0; i < leaks->count; i++)
		tell_object(leaks, i, array, out);
	if (array) {
		map = json_map();
		json_put(map, "command", json_command(leaks));
		json_put(map, "births_known", need(json_object_new_boolean(!!leaks->births)));
		json_put(map, "events_lost",
			 json_number(leaks->births ? births_lost(leaks->births) : 0));
		json_put(map, "others", json_number(leaks->others));
		json_put(map, "left", array);
		json_print(map, out, false);
	}
	if (leaks->count)
		return end_output(out, EXIT_DIFFERENT);
	return end_output(out, has_failed(leaks) ? EXIT_COMMAND : EXIT_FINE);
}

int cmd_leaks(const struct options *options)
{
	struct leaks leaks = { .options = options };
	int status = EXIT_UNREADABLE;
	bool good;

	/* Not before the first snapshot is there: what fails then has changed nothing. */
	leaks.before = load(options);
	if (!leaks.before)
		return EXIT_UNREADABLE;
	command_catch_signals();
	leaks.births = births_begin(options->debugfs ? options->debugfs : UOBJSCOPE_DIR,
				    &leaks.no_births);
	/* What others have made since then has a birth or is in this one. */
	uobjscope_free(leaks.before);
	leaks.before = load_silently(options);
	good = leaks.before && !run_command(&leaks) && look(&leaks);
	births_end(leaks.births);
	command_release_signals();
	if (good)
		status = tell(&leaks);
	births_free(leaks.births);
	forget(&leaks);
	free(leaks.names);
	free(leaks.records);
	free(leaks.no_births);
	uobjscope_free(leaks.before);
	return status;
}
