// SPDX-License-Identifier: GPL-2.0
/*
 * Who keeps an object in the end: the holders of an object are objects themselves, and a
 * person wants to know which process has to close what, or that none has to.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "keepers.h"
#include "origin.h"

/**
 * struct keeper - one of them
 * @holder: a descriptor, mapping, attachment or uobject; its record is NULL for the others
 * @ufile: the object was not destroyed, and goes with this one, which is open
 * @object: of which object that is
 * @count: name of the object's count
 * @unexplained: references that nobody is seen to have
 */
struct keeper {
	struct uobjscope_holder holder;
	const struct uobjscope_record *ufile;
	char *object;
	const char *count;
	uint64_t unexplained;
};

/**
 * struct keepers - all of an object
 * @scope: the snapshot
 * @births: the events, or NULL
 * @keepers: what was found
 * @count: of @keepers
 * @seen: objects that were followed
 * @seen_count: of @seen
 */
struct keepers {
	const struct uobjscope *scope;
	const struct births *births;
	struct keeper *keepers;
	size_t count;
	char **seen;
	size_t seen_count;
};

static void follow(struct keepers *keepers, const char *object);

static bool is_new(struct keepers *keepers, const char *object)
{
	for (size_t i = 0; i < keepers->seen_count; i++)
		if (!strcmp(keepers->seen[i], object))
			return false;
	keepers->seen = need(realloc(keepers->seen,
				     (keepers->seen_count + 1) * sizeof(*keepers->seen)));
	keepers->seen[keepers->seen_count++] = need(strdup(object));
	return true;
}

static struct keeper *add(struct keepers *keepers)
{
	struct keeper *keeper;

	keepers->keepers = need(realloc(keepers->keepers,
					(keepers->count + 1) * sizeof(*keepers->keepers)));
	keeper = &keepers->keepers[keepers->count++];
	memset(keeper, 0, sizeof(*keeper));
	return keeper;
}

static void add_holder(struct keepers *keepers, const struct uobjscope_holder *holder)
{
	for (size_t i = 0; i < keepers->count; i++)
		if (keepers->keepers[i].holder.record == holder->record)
			return;
	add(keepers)->holder = *holder;
}

static void add_record(struct keepers *keepers, enum uobjscope_holder_kind kind,
		       const struct uobjscope_record *record)
{
	const struct uobjscope_holder holder = { .kind = kind, .refs = 1, .record = record };

	add_holder(keepers, &holder);
}

/* What nobody is seen to have, but for what only an event tells of. */
static void add_unexplained(struct keepers *keepers, const struct uobjscope_report *report,
			    const struct uobjscope_tally *tally, const char *object)
{
	const struct birth *birth = NULL;
	uint64_t left = tally->unexplained;
	struct keeper *keeper;

	/* The first one of a context is the ufile's as well: ib_uverbs_init_async_event_file(). */
	if (left && report->kind == UOBJSCOPE_OBJECT_UOBJ &&
	    uobjscope_type_is(report->record, "ASYNC_EVENT"))
		left--;
	while (left && keepers->births &&
	       (birth = origin_untracked(keepers->births, keepers->scope, report, tally, birth)))
		left--;
	if (!left)
		return;
	keeper = add(keepers);
	keeper->object = need(strdup(object));
	keeper->count = tally->name;
	keeper->unexplained = left;
}

static void follow_number(struct keepers *keepers, const struct uobjscope_record *record,
			  const char *pattern, enum uobjscope_key key)
{
	uint64_t number;
	char *object;

	if (!uobjscope_get(record, key, &number))
		return;
	object = format("%s%" PRIu64, pattern, number);
	follow(keepers, object);
	free(object);
}

/* The descriptors of a uobject that is a file; what a descriptor says of it is its type. */
static void add_files(struct keepers *keepers, const struct uobjscope_record *uobj)
{
	const char *type = uobjscope_text(uobj, UOBJSCOPE_KEY_TYPE);
	struct uobjscope_group fds;
	uint64_t ufile;

	if (!type || !uobjscope_get(uobj, UOBJSCOPE_KEY_UFILE, &ufile))
		return;
	fds = uobjscope_find(keepers->scope, UOBJSCOPE_FDS_BY_UFILE, ufile);
	for (size_t i = 0; i < fds.count; i++) {
		const char *kind = uobjscope_text(fds.records[i], UOBJSCOPE_KEY_KIND);
		const char *other = uobjscope_text(fds.records[i], UOBJSCOPE_KEY_TYPE);

		if (kind && other && !strcmp(kind, "uobj") && !strcmp(other, type))
			add_record(keepers, UOBJSCOPE_HOLDER_FD, fds.records[i]);
	}
}

static void follow_uobj(struct keepers *keepers, const struct uobjscope_record *uobj)
{
	if (uobjscope_type_is(uobj, "DMABUF"))
		follow_number(keepers, uobj, "ino:", UOBJSCOPE_KEY_INO);
	else
		add_files(keepers, uobj);
}

/*
 * A uobject has its list and its handle, and the driver an entry, until it is destroyed, at
 * last with its ufile.  If that is open, who has it open is told with the ufile itself.
 */
static void follow_owner(struct keepers *keepers, const struct uobjscope_record *record)
{
	const struct uobjscope_record *ufile = uobjscope_ufile_of(keepers->scope, record);
	uint64_t open;

	if (!uobjscope_get(ufile, UOBJSCOPE_KEY_FILE_OPEN, &open) || !open) {
		follow_number(keepers, record, "ufile:", UOBJSCOPE_KEY_UFILE);
		return;
	}
	for (size_t i = 0; i < keepers->count; i++)
		if (keepers->keepers[i].ufile == ufile)
			return;
	add(keepers)->ufile = ufile;
}

static void take_holder(struct keepers *keepers, const struct uobjscope_report *report,
			const struct uobjscope_holder *holder)
{
	switch (holder->kind) {
	case UOBJSCOPE_HOLDER_FD:
	case UOBJSCOPE_HOLDER_VMA:
	case UOBJSCOPE_HOLDER_ATTACH:
		add_holder(keepers, holder);
		break;
	case UOBJSCOPE_HOLDER_UOBJ:
		if (!strcmp(uobjscope_text(holder->record, UOBJSCOPE_KEY_CLASS) ?: "", "fd"))
			follow_uobj(keepers, holder->record);
		else
			add_holder(keepers, holder);
		break;
	case UOBJSCOPE_HOLDER_DMABUF:
		follow_number(keepers, holder->record, "ino:", UOBJSCOPE_KEY_INO);
		break;
	case UOBJSCOPE_HOLDER_DRIVER:
		follow_owner(keepers, holder->record);
		break;
	case UOBJSCOPE_HOLDER_LIST:
	case UOBJSCOPE_HOLDER_HANDLE:
		follow_owner(keepers, report->record);
		break;
	case UOBJSCOPE_HOLDER_FILE:
		if (report->kind == UOBJSCOPE_OBJECT_UOBJ)
			add_files(keepers, report->record);
		break;
	case UOBJSCOPE_HOLDER_ENTRY:
	case UOBJSCOPE_HOLDER_EXPORTER:
		break;
	}
}

/* A dma-buf is as long as its file; and of what is there anyway it says nothing who uses it. */
bool keepers_decides(const struct uobjscope_report *report, const struct uobjscope_tally *tally)
{
	switch (report->kind) {
	case UOBJSCOPE_OBJECT_DMABUF:
		return !strcmp(tally->name, "file_ref");
	case UOBJSCOPE_OBJECT_UOBJ:
		return !strcmp(tally->name, "ref") || !strcmp(tally->name, "dm_users");
	case UOBJSCOPE_OBJECT_MMAP:
		return !strcmp(tally->name, "ref");
	default:
		return true;
	}
}

/*
 * The files of its uobjects keep a ufile, but as long as it is open they say nothing: the
 * library has one of each context.
 */
static bool is_open(const struct uobjscope_report *report)
{
	uint64_t open = 1;

	uobjscope_get(report->record, UOBJSCOPE_KEY_FILE_OPEN, &open);
	return report->kind == UOBJSCOPE_OBJECT_UFILE && open;
}

static void take_report(struct keepers *keepers, const struct uobjscope_report *report,
			const char *object)
{
	for (size_t i = 0; i < report->count; i++) {
		const struct uobjscope_tally *tally = &report->tallies[i];

		if (!keepers_decides(report, tally))
			continue;
		for (size_t j = 0; j < tally->count; j++)
			if (!is_open(report) || tally->holders[j].kind != UOBJSCOPE_HOLDER_UOBJ)
				take_holder(keepers, report, &tally->holders[j]);
		add_unexplained(keepers, report, tally, object);
	}
}

static void follow(struct keepers *keepers, const char *object)
{
	const struct uobjscope_report *report;
	struct uobjscope_holders *holders;

	if (!is_new(keepers, object))
		return;
	holders = need(uobjscope_holders(keepers->scope, object, NULL));
	for (size_t i = 0; (report = uobjscope_holders_report(holders, i)); i++)
		take_report(keepers, report, object);
	uobjscope_holders_free(holders);
}

struct keepers *keepers_find(const struct uobjscope *scope, const struct births *births,
			     const char *object)
{
	struct keepers *keepers = need(calloc(1, sizeof(*keepers)));

	keepers->scope = scope;
	keepers->births = births;
	follow(keepers, object);
	return keepers;
}

void keepers_free(struct keepers *keepers)
{
	for (size_t i = 0; i < keepers->count; i++)
		free(keepers->keepers[i].object);
	for (size_t i = 0; i < keepers->seen_count; i++)
		free(keepers->seen[i]);
	free(keepers->keepers);
	free(keepers->seen);
	free(keepers);
}

static void print_ufile(const struct uobjscope *scope, const struct uobjscope_record *ufile,
			FILE *out)
{
	char *id = value_text(ufile, UOBJSCOPE_KEY_ID);
	char *process = process_text(scope, ufile);

	fprintf(out, "ufile %s, which is open, of %s", id, process);
	free(id);
	free(process);
}

void keepers_print(const struct keepers *keepers, const struct uobjscope *scope, FILE *out)
{
	for (size_t i = 0; i < keepers->count; i++) {
		const struct keeper *keeper = &keepers->keepers[i];

		fputs("  kept by ", out);
		if (keeper->holder.record)
			print_holder(scope, &keeper->holder, 0, out);
		else if (keeper->ufile)
			print_ufile(scope, keeper->ufile, out);
		else
			fprintf(out, "nobody who is seen: %s of %s has %" PRIu64 " unexplained",
				keeper->count, keeper->object, keeper->unexplained);
		fputc('\n', out);
	}
	if (!keepers->count)
		fputs("  kept by nobody who is seen\n", out);
}

json_object *keepers_json(const struct keepers *keepers, const struct uobjscope *scope)
{
	json_object *array = json_array();

	for (size_t i = 0; i < keepers->count; i++) {
		const struct keeper *keeper = &keepers->keepers[i];
		json_object *map;

		if (keeper->holder.record) {
			json_append(array, json_holder(scope, &keeper->holder));
			continue;
		}
		map = json_map();
		json_append(array, map);
		if (keeper->ufile) {
			json_put(map, "holder", json_text("ufile"));
			json_put(map, "ufile", json_record(scope, keeper->ufile));
			continue;
		}
		json_put(map, "holder", NULL);
		json_put(map, "object", json_text(keeper->object));
		json_put(map, "count", json_text(keeper->count));
		json_put(map, "unexplained", json_number(keeper->unexplained));
	}
	return array;
}
