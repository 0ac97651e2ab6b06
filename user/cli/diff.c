// SPDX-License-Identifier: GPL-2.0
/*
 * uobjscope diff: what differs between two snapshots.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char *const kind_names[] = {
	[UOBJSCOPE_ADDED]	= "added",
	[UOBJSCOPE_REMOVED]	= "removed",
	[UOBJSCOPE_CHANGED]	= "changed",
};

/* An entry token says nothing outside of its snapshot, the entry's pgoff does. */
static char *side_text(const struct uobjscope *scope, const struct uobjscope_record *record,
		       enum uobjscope_key key)
{
	const struct uobjscope_record *entry;

	if (key != UOBJSCOPE_KEY_ENTRY)
		return value_text(record, key);
	entry = uobjscope_entry_of(scope, record);
	if (entry)
		return value_text(entry, UOBJSCOPE_KEY_PGOFF);
	return need(strdup(uobjscope_has(record, key) ? "unknown" : "-"));
}

static void print_changed(const struct uobjscope_diff *diff,
			  const struct uobjscope_change *change,
			  const struct uobjscope *before, const struct uobjscope *after,
			  FILE *out)
{
	char *title = title_text(change->before);
	const char *separator = ":";
	enum uobjscope_key key = 0;

	fprintf(out, "~ %s", title);
	free(title);
	while ((key = uobjscope_diff_key(diff, change, key)) != UOBJSCOPE_KEYS) {
		char *old = side_text(before, change->before, key);
		char *new = side_text(after, change->after, key);

		fprintf(out, "%s %s %s -> %s", separator, uobjscope_key_name(key), old, new);
		free(old);
		free(new);
		separator = ",";
		key++;
	}
	fputc('\n', out);
}

static json_object *json_change(const struct uobjscope_diff *diff,
				const struct uobjscope_change *change,
				const struct uobjscope *before, const struct uobjscope *after)
{
	const struct uobjscope_record *any = change->before ? change->before : change->after;
	json_object *map = json_map();
	enum uobjscope_key key = 0;
	json_object *keys;

	json_put(map, "change", json_text(kind_names[change->kind]));
	json_put(map, "record", json_text(uobjscope_record_name(any)));
	if (change->before)
		json_put(map, "before", json_record(before, change->before));
	if (change->after)
		json_put(map, "after", json_record(after, change->after));
	if (change->kind != UOBJSCOPE_CHANGED)
		return map;
	keys = json_array();
	while ((key = uobjscope_diff_key(diff, change, key)) != UOBJSCOPE_KEYS)
		json_append(keys, json_text(uobjscope_key_name(key++)));
	json_put(map, "keys", keys);
	return map;
}

static void print_diff(const struct uobjscope_diff *diff, const struct uobjscope *before,
		       const struct uobjscope *after, bool json, FILE *out)
{
	static const char signs[] = {
		[UOBJSCOPE_ADDED] = '+', [UOBJSCOPE_REMOVED] = '-'
	};
	json_object *array = json ? json_array() : NULL;
	const struct uobjscope_change *change;
	size_t counts[3] = { 0 };

	for (size_t i = 0; (change = uobjscope_diff_change(diff, i)); i++) {
		counts[change->kind]++;
		if (json) {
			json_append(array, json_change(diff, change, before, after));
		} else if (change->kind == UOBJSCOPE_CHANGED) {
			print_changed(diff, change, before, after, out);
		} else {
			char *text = record_text(change->before ? change->before :
								  change->after);

			fprintf(out, "%c %s\n", signs[change->kind], text);
			free(text);
		}
	}
	if (json) {
		json_object *map = json_map();

		json_put(map, "changes", array);
		for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
			json_put(map, kind_names[i], json_number(counts[i]));
		json_print(map, out, false);
	} else {
		fprintf(out, "%zu added, %zu removed, %zu changed\n", counts[UOBJSCOPE_ADDED],
			counts[UOBJSCOPE_REMOVED], counts[UOBJSCOPE_CHANGED]);
	}
}

/* What makes a comparison say less than it seems to. */
static void note_doubts(const struct uobjscope *before, const struct uobjscope *after)
{
	const struct uobjscope_record *a = uobjscope_header(before, UOBJSCOPE_SNAPSHOT);
	const struct uobjscope_record *b = uobjscope_header(after, UOBJSCOPE_SNAPSHOT);
	const char *x = uobjscope_text(a, UOBJSCOPE_KEY_KERNEL);
	const char *y = uobjscope_text(b, UOBJSCOPE_KEY_KERNEL);
	unsigned int fds = uobjscope_sections(before) ^ uobjscope_sections(after);
	uint64_t m, n;

	if (x && y && strcmp(x, y))
		remark("the snapshots are of two kernels, a ufile of one is none of the other");
	else if (uobjscope_get(a, UOBJSCOPE_KEY_TIME_NS, &m) &&
		 uobjscope_get(b, UOBJSCOPE_KEY_TIME_NS, &n) && m > n)
		remark("the first snapshot is the later one, or the machine was restarted");
	if (fds & UOBJSCOPE_FDS)
		remark("only one of the snapshots has fds, they are not compared");
}

int cmd_diff(const struct options *options)
{
	struct uobjscope *before = load_file(options, options->args[0]);
	struct uobjscope *after = before ? load_file(options, options->args[1]) : NULL;
	struct uobjscope_diff *diff;
	int status = EXIT_UNREADABLE;

	if (before && after) {
		FILE *out = begin_output();

		note_doubts(before, after);
		diff = need(uobjscope_diff(before, after, NULL));
		print_diff(diff, before, after, options->json, out);
		status = uobjscope_diff_count(diff) ? EXIT_DIFFERENT : EXIT_FINE;
		status = end_output(out, status);
		uobjscope_diff_free(diff);
	}
	uobjscope_free(after);
	uobjscope_free(before);
	return status;
}
