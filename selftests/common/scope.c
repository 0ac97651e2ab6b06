// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scope.h"
#include "text.h"

#define KV_BUFFERS	8
#define KV_LENGTH	512

const char *scope_missing(void)
{
	if (access(UOBJSCOPE_DIR "/snapshot", R_OK))
		return "no " UOBJSCOPE_DIR "/snapshot: load uobjscope.ko, be root, mount debugfs";
	return NULL;
}

static void scope_drop_one(struct uobjscope *old, const struct scope *scope)
{
	if (old != scope->first && old != scope->before && old != scope->now)
		uobjscope_free(old);
}

int scope_deref(bool on)
{
	return text_write("/sys/module/uobjscope/parameters/deref", on ? "1" : "0", 0);
}

int scope_take(struct scope *scope)
{
	struct uobjscope_error error;
	struct uobjscope *old = scope->before;
	struct uobjscope *now;

	now = uobjscope_load_kernel(NULL, &error);
	if (!now) {
		diag("no snapshot: %s", error.message);
		return EIO;
	}
	scope->before = scope->now ? scope->now : now;
	scope->now = now;
	if (!scope->first)
		scope->first = now;
	scope_drop_one(old, scope);
	return 0;
}

void scope_drop(struct scope *scope)
{
	const struct scope old = *scope;

	memset(scope, 0, sizeof(*scope));
	uobjscope_free(old.first);
	if (old.before != old.first)
		uobjscope_free(old.before);
	if (old.now != old.before && old.now != old.first)
		uobjscope_free(old.now);
}

const char *scope_kv(const char *fmt, ...)
{
	static char buffers[KV_BUFFERS][KV_LENGTH];
	static unsigned int turn;
	char *text = buffers[turn++ % KV_BUFFERS];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, KV_LENGTH, fmt, ap);
	va_end(ap);
	return text;
}

/* One "key=value" or "!key" of an expectation. */
struct word {
	char key[64];
	char value[256];
	bool absent;
};

/* The next word of @text, which is moved behind it; false at its end. */
static bool next_word(const char **text, struct word *word)
{
	const char *p = *text + strspn(*text, " ");
	size_t length = strcspn(p, " ");
	const char *equals = memchr(p, '=', length);
	size_t key;

	if (!length)
		return false;
	*text = p + length;
	word->absent = *p == '!';
	if (word->absent) {
		p++;
		length--;
	}
	key = equals && !word->absent ? (size_t)(equals - p) : length;
	snprintf(word->key, sizeof(word->key), "%.*s", (int)key, p);
	snprintf(word->value, sizeof(word->value), "%.*s",
		 key < length ? (int)(length - key - 1) : 0, p + key + 1);
	return true;
}

static const struct uobjscope_field *field_of(const struct uobjscope_record *record,
					      const char *key)
{
	const struct uobjscope_field *field;
	size_t i, count;

	field = uobjscope_fields(record, &count);
	for (i = 0; i < count; i++)
		if (!strcmp(field[i].name, key))
			return &field[i];
	return NULL;
}

static bool field_is(const struct uobjscope_field *field, const struct word *word)
{
	if (word->absent || !field)
		return word->absent && !field;
	if (field->none)
		return !strcmp(word->value, "-");
	switch (field->form) {
	case UOBJSCOPE_FORM_STRING:
	case UOBJSCOPE_FORM_TOKEN:
		return !strcmp(field->text, word->value);
	case UOBJSCOPE_FORM_SIGNED:
		return (int64_t)field->value == strtoll(word->value, NULL, 0);
	default:
		return field->value == strtoull(word->value, NULL, 0);
	}
}

static bool record_is(const struct uobjscope_record *record, const char *where)
{
	struct word word;

	while (next_word(&where, &word))
		if (!field_is(field_of(record, word.key), &word))
			return false;
	return true;
}

static const struct uobjscope_record *find(const struct uobjscope *of, enum uobjscope_type type,
					   const char *where, int *count)
{
	const struct uobjscope_record *record, *found = NULL;
	size_t n;

	*count = 0;
	for (n = 0; (record = uobjscope_record(of, type, n)); n++) {
		if (!record_is(record, where))
			continue;
		if (!found)
			found = record;
		++*count;
	}
	return found;
}

const struct uobjscope_record *scope_find(const struct scope *scope, enum uobjscope_type type,
					  const char *where)
{
	int count;

	return find(scope->now, type, where, &count);
}

int scope_count(const struct scope *scope, enum uobjscope_type type, const char *where)
{
	int count;

	find(scope->now, type, where, &count);
	return count;
}

uint64_t scope_ufile(const struct scope *scope, pid_t pid, int fd)
{
	struct uobjscope_group fds;
	uint64_t id = 0;

	fds = uobjscope_find_both(scope->now, UOBJSCOPE_FDS_BY_PID, pid, fd);
	if (fds.count)
		uobjscope_get(fds.records[0], UOBJSCOPE_KEY_UFILE, &id);
	return id;
}

static void print_record(const char *prefix, const struct uobjscope_record *record)
{
	const struct uobjscope_field *field;
	size_t i, count, used;
	char line[900];

	field = uobjscope_fields(record, &count);
	used = snprintf(line, sizeof(line), "%s", uobjscope_record_name(record));
	for (i = 0; i < count && used < sizeof(line); i++)
		if (field[i].form != UOBJSCOPE_FORM_TOKEN)
			used += snprintf(line + used, sizeof(line) - used, " %s=%s",
					 field[i].name, field[i].text);
	diag("%s%s", prefix, line);
}

static bool changed(const struct uobjscope *of, const struct uobjscope_record *record)
{
	const struct uobjscope_record *ufile = record;
	uint64_t value = 0;

	if (uobjscope_record_type(record) != UOBJSCOPE_UFILE)
		ufile = uobjscope_ufile_of(of, record);
	uobjscope_get(ufile, UOBJSCOPE_KEY_CHANGED, &value);
	return value;
}

int scope_check(const struct scope *scope, enum uobjscope_type type, const char *where,
		const char *is)
{
	const struct uobjscope_record *record;
	const struct uobjscope_field *field;
	int count, wrong = 0;
	struct word word;

	record = find(scope->now, type, where, &count);
	if (count != 1) {
		diag("expected one record with %s, seen %d", where, count);
		return 1;
	}
	while (next_word(&is, &word)) {
		field = field_of(record, word.key);
		if (field_is(field, &word))
			continue;
		if (word.absent)
			diag("%s: expected no %s, seen %s", where, word.key, field->text);
		else
			diag("%s: expected %s=%s, seen %s", where, word.key, word.value,
			     field ? field->text : "none");
		wrong++;
	}
	if (changed(scope->now, record)) {
		diag("%s: its ufile changed while it was looked at", where);
		wrong++;
	}
	if (wrong)
		print_record("the record: ", record);
	return wrong;
}

int64_t scope_value(const struct uobjscope *of, enum uobjscope_type type, const char *where,
		    const char *key)
{
	const struct uobjscope_record *record;
	const struct uobjscope_field *field;
	int count;

	record = find(of, type, where, &count);
	field = record ? field_of(record, key) : NULL;
	if (count != 1 || !field || field->none || field->form == UOBJSCOPE_FORM_STRING)
		return SCOPE_NOTHING;
	return field->value;
}

/* What one count of one object adds to a sum. */
static int64_t tally_part(const struct uobjscope_tally *tally,
			  const enum uobjscope_holder_kind *kind)
{
	int64_t sum = 0;
	size_t i;

	if (!kind)
		return tally->unexplained;
	for (i = 0; i < tally->count; i++)
		if (tally->holders[i].kind == *kind)
			sum += tally->holders[i].refs;
	return sum;
}

static int64_t sum_of_holders(const struct scope *scope, const char *object,
			      const enum uobjscope_holder_kind *kind)
{
	const struct uobjscope_report *report;
	struct uobjscope_holders *holders;
	struct uobjscope_error error;
	int64_t sum = -1;
	size_t n, t;

	holders = uobjscope_holders(scope->now, object, &error);
	if (!holders) {
		diag("holders of %s: %s", object, error.message);
		return -1;
	}
	for (n = 0; (report = uobjscope_holders_report(holders, n)); n++) {
		if (sum < 0)
			sum = 0;
		for (t = 0; t < report->count; t++)
			sum += tally_part(&report->tallies[t], kind);
	}
	uobjscope_holders_free(holders);
	return sum;
}

int64_t scope_unexplained(const struct scope *scope, const char *object)
{
	return sum_of_holders(scope, object, NULL);
}

int64_t scope_held_by(const struct scope *scope, const char *object,
		      enum uobjscope_holder_kind kind)
{
	return sum_of_holders(scope, object, &kind);
}

int scope_differences(const struct scope *scope)
{
	struct uobjscope_diff *diff = uobjscope_diff(scope->before, scope->now, NULL);
	int count = diff ? (int)uobjscope_diff_count(diff) : -1;

	uobjscope_diff_free(diff);
	return count;
}

static void print_change(const struct uobjscope_diff *diff, const struct uobjscope_change *change)
{
	const struct uobjscope_field *before, *after;
	enum uobjscope_key key = 0;

	if (change->kind == UOBJSCOPE_ADDED) {
		print_record("+ ", change->after);
	} else if (change->kind == UOBJSCOPE_REMOVED) {
		print_record("- ", change->before);
	} else {
		print_record("~ ", change->after);
		while ((key = uobjscope_diff_key(diff, change, key)) != UOBJSCOPE_KEYS) {
			before = uobjscope_field(change->before, key);
			after = uobjscope_field(change->after, key);
			diag("    %s: %s before, %s now", uobjscope_key_name(key),
			     before ? before->text : "none", after ? after->text : "none");
			key++;
		}
	}
}

static void print_differences(const struct uobjscope *before, const struct uobjscope *after,
			      const char *since)
{
	const struct uobjscope_change *change;
	struct uobjscope_error error;
	struct uobjscope_diff *diff;
	size_t n;

	diff = uobjscope_diff(before, after, &error);
	if (!diff) {
		diag("no differences: %s", error.message);
		return;
	}
	diag("since the %s:%s", since, uobjscope_diff_count(diff) ? "" : " nothing");
	for (n = 0; (change = uobjscope_diff_change(diff, n)); n++)
		print_change(diff, change);
	uobjscope_diff_free(diff);
}

void scope_print_differences(const struct scope *scope)
{
	print_differences(scope->before, scope->now, "snapshot before");
}

/*
 * Files that others have closed and the kernel has leaked (L01) lose their device when that
 * is removed, and the device that comes then has none of them.  How many it has is told by
 * the ufiles themselves.
 */
static bool is_older_leak(const struct uobjscope_diff *diff, const struct uobjscope_change *change)
{
	const enum uobjscope_key first = uobjscope_diff_key(diff, change, 0);
	const struct uobjscope_field *state;

	if (change->kind != UOBJSCOPE_CHANGED ||
	    uobjscope_diff_key(diff, change, first + 1) != UOBJSCOPE_KEYS)
		return false;
	if (change->type == UOBJSCOPE_DEVICE)
		return first == UOBJSCOPE_KEY_UFILES;
	state = uobjscope_field(change->before, UOBJSCOPE_KEY_STATE);
	return change->type == UOBJSCOPE_UFILE && first == UOBJSCOPE_KEY_DEVICE && state &&
	       !strcmp(state->text, "closed");
}

int scope_left(const struct scope *scope)
{
	struct uobjscope_diff *diff = uobjscope_diff(scope->first, scope->now, NULL);
	const struct uobjscope_change *change;
	int count = diff ? 0 : -1;
	size_t n;

	for (n = 0; diff && (change = uobjscope_diff_change(diff, n)); n++)
		count += !is_older_leak(diff, change);
	uobjscope_diff_free(diff);
	return count;
}

/* What holds something and is not a record of its own. */
static const char *const holder_names[UOBJSCOPE_HOLDER_EXPORTER + 1] = {
	[UOBJSCOPE_HOLDER_FILE] = "the open file",
	[UOBJSCOPE_HOLDER_LIST] = "the ufile's list",
	[UOBJSCOPE_HOLDER_HANDLE] = "the handle",
	[UOBJSCOPE_HOLDER_DRIVER] = "the driver, until the object is freed",
	[UOBJSCOPE_HOLDER_EXPORTER] = "the exporter, until it is revoked",
};

/* So many references of one count, and whose they are. */
static void print_share(const struct uobjscope_tally *tally, uint64_t refs,
			const struct uobjscope_record *record, const char *name)
{
	char prefix[128];

	if (tally->known)
		snprintf(prefix, sizeof(prefix), "    %s, %lu of %ld: ", tally->name, refs,
			 tally->total);
	else
		snprintf(prefix, sizeof(prefix), "    %s, %lu: ", tally->name, refs);
	if (name || !record)
		diag("%s%s", prefix, name ? name : "unknown");
	else
		print_record(prefix, record);
}

/* Who makes up the counts of an object, as far as it is known. */
static void print_holders(const struct scope *scope, const char *object)
{
	const struct uobjscope_report *report;
	struct uobjscope_holders *holders;
	const struct uobjscope_tally *tally;
	size_t n, t, h;

	holders = uobjscope_holders(scope->now, object, NULL);
	for (n = 0; holders && (report = uobjscope_holders_report(holders, n)); n++) {
		diag("%s is held by:", object);
		for (t = 0; t < report->count; t++) {
			tally = &report->tallies[t];
			for (h = 0; h < tally->count; h++)
				print_share(tally, tally->holders[h].refs,
					    tally->holders[h].record,
					    holder_names[tally->holders[h].kind]);
			if (tally->unexplained)
				print_share(tally, tally->unexplained, NULL, "unexplained");
		}
	}
	uobjscope_holders_free(holders);
}

/* The object that a record is of, as uobjscope_holders() wants it; NULL for others. */
static const char *object_of(const struct uobjscope_record *record)
{
	uint64_t ufile = 0, id = 0;

	uobjscope_get(record, UOBJSCOPE_KEY_UFILE, &ufile);
	switch (uobjscope_record_type(record)) {
	case UOBJSCOPE_UFILE:
		uobjscope_get(record, UOBJSCOPE_KEY_ID, &id);
		return scope_kv("ufile:%lu", id);
	case UOBJSCOPE_MMAP:
		uobjscope_get(record, UOBJSCOPE_KEY_PGOFF, &id);
		return scope_kv("ufile:%lu/mmap:%#lx", ufile, id);
	case UOBJSCOPE_UOBJ:
		if (uobjscope_get(record, UOBJSCOPE_KEY_INO, &id))
			return scope_kv("ino:%lu", id);
		return NULL;
	default:
		return NULL;
	}
}

void scope_print_left(const struct scope *scope)
{
	const struct uobjscope_change *change;
	struct uobjscope_diff *diff;
	const char *object;
	size_t n;

	print_differences(scope->first, scope->now, "test's start");
	diff = uobjscope_diff(scope->first, scope->now, NULL);
	for (n = 0; diff && (change = uobjscope_diff_change(diff, n)); n++) {
		object = change->kind == UOBJSCOPE_ADDED ? object_of(change->after) : NULL;
		if (object)
			print_holders(scope, object);
	}
	uobjscope_diff_free(diff);
}
