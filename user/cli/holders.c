// SPDX-License-Identifier: GPL-2.0
/*
 * uobjscope holders: who keeps an object alive.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "origin.h"

static const char *const object_names[] = {
	[UOBJSCOPE_OBJECT_DMABUF]	= "dmabuf",
	[UOBJSCOPE_OBJECT_UFILE]	= "ufile",
	[UOBJSCOPE_OBJECT_UOBJ]		= "uobj",
	[UOBJSCOPE_OBJECT_MMAP]		= "mmap",
	[UOBJSCOPE_OBJECT_FILE]		= "file",
};

static const char *const holder_names[] = {
	[UOBJSCOPE_HOLDER_FD]		= "fd",
	[UOBJSCOPE_HOLDER_VMA]		= "mapping",
	[UOBJSCOPE_HOLDER_ATTACH]	= "attachment",
	[UOBJSCOPE_HOLDER_UOBJ]		= "uobject",
	[UOBJSCOPE_HOLDER_DMABUF]	= "dma-buf",
	[UOBJSCOPE_HOLDER_ENTRY]	= "entry",
	[UOBJSCOPE_HOLDER_FILE]		= "file",
	[UOBJSCOPE_HOLDER_LIST]		= "list",
	[UOBJSCOPE_HOLDER_HANDLE]	= "handle",
	[UOBJSCOPE_HOLDER_DRIVER]	= "driver",
	[UOBJSCOPE_HOLDER_EXPORTER]	= "exporter",
};

/* " key value" for those keys that are there. */
static void print_keys(const struct uobjscope_record *record, const enum uobjscope_key *keys,
		       size_t count, FILE *out)
{
	for (size_t i = 0; i < count; i++) {
		char *text;

		if (!uobjscope_has(record, keys[i]))
			continue;
		text = value_text(record, keys[i]);
		fprintf(out, " %s %s", uobjscope_key_name(keys[i]), text);
		free(text);
	}
}

#define print_these(record, out, ...)						\
	do {									\
		const enum uobjscope_key keys[] = { __VA_ARGS__ };		\
		print_keys(record, keys, ARRAY_SIZE(keys), out);		\
	} while (0)

static void print_process(const struct uobjscope *scope, const struct uobjscope_record *record,
			  FILE *out)
{
	char *text = process_text(scope, record);

	fprintf(out, " %s", text);
	free(text);
}

void print_title(const struct uobjscope *scope, const struct uobjscope_report *report, FILE *out)
{
	const struct uobjscope_record *record = report->record;

	switch (report->kind) {
	case UOBJSCOPE_OBJECT_DMABUF:
		fprintf(out, "dma-buf ino %" PRIu64, report->id);
		print_these(record, out, UOBJSCOPE_KEY_SIZE, UOBJSCOPE_KEY_REVOKED,
			    UOBJSCOPE_KEY_EXPORTER, UOBJSCOPE_KEY_UFILE);
		break;
	case UOBJSCOPE_OBJECT_UFILE:
		fprintf(out, "ufile %" PRIu64, report->id);
		print_these(record, out, UOBJSCOPE_KEY_STATE, UOBJSCOPE_KEY_DEVICE,
			    UOBJSCOPE_KEY_UVERBS);
		break;
	case UOBJSCOPE_OBJECT_UOBJ:
		fprintf(out, "uobject ufile %" PRIu64, report->id);
		print_these(record, out, UOBJSCOPE_KEY_TYPE, UOBJSCOPE_KEY_HANDLE,
			    UOBJSCOPE_KEY_STATE);
		break;
	case UOBJSCOPE_OBJECT_MMAP:
		fprintf(out, "mmap entry ufile %" PRIu64, report->id);
		print_these(record, out, UOBJSCOPE_KEY_PGOFF, UOBJSCOPE_KEY_KIND,
			    UOBJSCOPE_KEY_PAGE_ID);
		break;
	case UOBJSCOPE_OBJECT_FILE:
		fprintf(out, "file of");
		print_these(record, out, UOBJSCOPE_KEY_TYPE, UOBJSCOPE_KEY_UFILE,
			    UOBJSCOPE_KEY_STATE);
		break;
	}
	/* Of an fd the pid is a holder; here it would be taken for the owner. */
	if (record && uobjscope_record_type(record) != UOBJSCOPE_FD) {
		fprintf(out, ", opened by");
		print_process(scope, record, out);
	}
	fputc('\n', out);
}

static void print_attachment(const struct uobjscope *scope,
			     const struct uobjscope_holder *holder, FILE *out)
{
	print_these(holder->record, out, UOBJSCOPE_KEY_DEVICE, UOBJSCOPE_KEY_IMPORTER,
		    UOBJSCOPE_KEY_MAPPED, UOBJSCOPE_KEY_PINNED);
	if (!uobjscope_has(holder->record, UOBJSCOPE_KEY_MRN))
		return;
	fprintf(out, ", MR");
	print_these(holder->record, out, UOBJSCOPE_KEY_MRN, UOBJSCOPE_KEY_LKEY);
	if (uobjscope_has(holder->record, UOBJSCOPE_KEY_IBDEV)) {
		char *device = value_text(holder->record, UOBJSCOPE_KEY_IBDEV);

		fprintf(out, " on %s", device);
		free(device);
	}
	if (holder->mr) {
		fprintf(out, " of");
		print_these(holder->mr, out, UOBJSCOPE_KEY_UFILE);
		print_process(scope, holder->mr, out);
	}
}

void print_holder(const struct uobjscope *scope, const struct uobjscope_holder *holder,
		  int width, FILE *out)
{
	const struct uobjscope_record *record = holder->record;

	fprintf(out, "%-*s", width, holder_names[holder->kind]);
	switch (holder->kind) {
	case UOBJSCOPE_HOLDER_FD:
		print_process(scope, record, out);
		print_these(record, out, UOBJSCOPE_KEY_FD, UOBJSCOPE_KEY_TYPE,
			    UOBJSCOPE_KEY_STATE);
		break;
	case UOBJSCOPE_HOLDER_VMA:
		print_process(scope, record, out);
		print_these(record, out, UOBJSCOPE_KEY_START, UOBJSCOPE_KEY_END);
		break;
	case UOBJSCOPE_HOLDER_ATTACH:
		print_attachment(scope, holder, out);
		break;
	case UOBJSCOPE_HOLDER_UOBJ:
		print_these(record, out, UOBJSCOPE_KEY_UFILE, UOBJSCOPE_KEY_TYPE,
			    UOBJSCOPE_KEY_HANDLE, UOBJSCOPE_KEY_INO, UOBJSCOPE_KEY_MRN,
			    UOBJSCOPE_KEY_LQPN, UOBJSCOPE_KEY_SRQN);
		break;
	case UOBJSCOPE_HOLDER_DMABUF:
		print_these(record, out, UOBJSCOPE_KEY_INO);
		fprintf(out, ", its uobject is destroyed");
		break;
	case UOBJSCOPE_HOLDER_ENTRY:
		print_these(record, out, UOBJSCOPE_KEY_PGOFF, UOBJSCOPE_KEY_KIND,
			    UOBJSCOPE_KEY_OP);
		break;
	case UOBJSCOPE_HOLDER_FILE:
		fprintf(out, " it is open");
		break;
	case UOBJSCOPE_HOLDER_LIST:
		fprintf(out, " the ufile's list of uobjects");
		break;
	case UOBJSCOPE_HOLDER_HANDLE:
		fprintf(out, " the ufile's table of handles");
		break;
	case UOBJSCOPE_HOLDER_DRIVER:
		fprintf(out, " until it removes the entry");
		break;
	case UOBJSCOPE_HOLDER_EXPORTER:
		fprintf(out, " until it revokes the dma-buf");
		break;
	}
	if (holder->refs != 1)
		fprintf(out, " (%" PRIu64 " references)", holder->refs);
}

/* The event that made a holder; one that no record names came with the object itself. */
static const struct birth *origin_of_holder(const struct births *births,
					    const struct uobjscope *scope,
					    const struct uobjscope_report *report,
					    const struct uobjscope_holder *holder)
{
	return origin_of(births, scope, holder->record ? holder->record : report->record);
}

/* Mappings that no record tells of, and only an event did. */
static uint64_t print_untracked(const struct births *births, const struct uobjscope *scope,
				const struct uobjscope_report *report,
				const struct uobjscope_tally *tally, FILE *out)
{
	const struct birth *birth = NULL;
	uint64_t count = 0;

	while (count < tally->unexplained &&
	       (birth = origin_untracked(births, scope, report, tally, birth))) {
		fputs("    mapping that the RDMA core does not track\n", out);
		print_origin(birth, out);
		count++;
	}
	return count;
}

void print_report(const struct uobjscope *scope, const struct uobjscope_report *report,
		  const struct births *births, FILE *out)
{
	for (size_t i = 0; i < report->count; i++) {
		const struct uobjscope_tally *tally = &report->tallies[i];
		uint64_t unexplained = tally->unexplained;

		if (tally->known)
			fprintf(out, "  %s %" PRId64 "\n", tally->name, tally->total);
		else
			fprintf(out, "  %s not known\n", tally->name);
		for (size_t j = 0; j < tally->count; j++) {
			const struct uobjscope_holder *holder = &tally->holders[j];

			fputs("    ", out);
			print_holder(scope, holder, 11, out);
			fputc('\n', out);
			if (births)
				print_origin(origin_of_holder(births, scope, report, holder), out);
		}
		if (births)
			unexplained -= print_untracked(births, scope, report, tally, out);
		fprintf(out, "    unexplained %" PRIu64 "%s\n", unexplained,
			!tally->known && unexplained ? " or more" : "");
		if (tally->note)
			fprintf(out, "    note: %s\n", tally->note);
	}
}

json_object *json_holder(const struct uobjscope *scope, const struct uobjscope_holder *holder)
{
	json_object *map = json_map();

	json_put(map, "holder", json_text(holder_names[holder->kind]));
	json_put(map, "refs", json_number(holder->refs));
	if (holder->record)
		json_put(map, uobjscope_record_name(holder->record),
			 json_record(scope, holder->record));
	if (holder->mr)
		json_put(map, "mr", json_record(scope, holder->mr));
	return map;
}

static uint64_t json_untracked(const struct births *births, const struct uobjscope *scope,
			       const struct uobjscope_report *report,
			       const struct uobjscope_tally *tally, json_object *holders)
{
	const struct birth *birth = NULL;
	uint64_t count = 0;

	while (count < tally->unexplained &&
	       (birth = origin_untracked(births, scope, report, tally, birth))) {
		json_object *map = json_map();

		json_put(map, "holder", json_text("untracked mapping"));
		json_put(map, "refs", json_number(1));
		json_put(map, "event", json_birth(birth));
		json_append(holders, map);
		count++;
	}
	return count;
}

static json_object *json_tally(const struct uobjscope *scope,
			       const struct uobjscope_report *report,
			       const struct uobjscope_tally *tally, const struct births *births)
{
	json_object *holders = json_array();
	json_object *map = json_map();
	uint64_t untracked = 0;

	json_put(map, "count", json_text(tally->name));
	json_put(map, "value", tally->known ? need(json_object_new_int64(tally->total)) : NULL);
	for (size_t i = 0; i < tally->count; i++) {
		json_object *holder = json_holder(scope, &tally->holders[i]);

		if (births)
			json_put(holder, "event",
				 json_birth(origin_of_holder(births, scope, report,
							     &tally->holders[i])));
		json_append(holders, holder);
	}
	if (births)
		untracked = json_untracked(births, scope, report, tally, holders);
	json_put(map, "holders", holders);
	json_put(map, "explained", json_number(tally->explained + untracked));
	json_put(map, "unexplained", json_number(tally->unexplained - untracked));
	json_put(map, "surplus", json_number(tally->surplus));
	if (tally->note)
		json_put(map, "note", json_text(tally->note));
	return map;
}

json_object *json_report(const struct uobjscope *scope, const struct uobjscope_report *report,
			 const struct births *births)
{
	json_object *counts = json_array();
	json_object *map = json_map();

	json_put(map, "object", json_text(object_names[report->kind]));
	json_put(map, report->kind == UOBJSCOPE_OBJECT_DMABUF ? "ino" : "ufile",
		 json_number(report->id));
	if (report->record)
		json_put(map, "record", json_record(scope, report->record));
	for (size_t i = 0; i < report->count; i++)
		json_append(counts, json_tally(scope, report, &report->tallies[i], births));
	json_put(map, "counts", counts);
	return map;
}

static int print_holders(const struct uobjscope *scope, const struct uobjscope_holders *holders,
			 bool json)
{
	json_object *array = json ? json_array() : NULL;
	const struct uobjscope_report *report;
	FILE *out = begin_output();

	for (size_t i = 0; (report = uobjscope_holders_report(holders, i)); i++) {
		if (json) {
			json_append(array, json_report(scope, report, NULL));
			continue;
		}
		if (i)
			fputc('\n', out);
		print_title(scope, report, out);
		print_report(scope, report, NULL, out);
	}
	if (json)
		json_print(array, out, false);
	return end_output(out, EXIT_FINE);
}

int cmd_holders(const struct options *options)
{
	const char *name = options->args[0];
	struct uobjscope_holders *holders;
	struct uobjscope_error error;
	struct uobjscope *scope;
	int status;

	scope = load(options);
	if (!scope)
		return EXIT_UNREADABLE;
	holders = uobjscope_holders(scope, name, &error);
	if (!holders) {
		complain("%s", error.message);
		status = error.status == UOBJSCOPE_ERR_ARGUMENT ? EXIT_USAGE : EXIT_UNREADABLE;
	} else if (!uobjscope_holders_count(holders)) {
		complain("nothing in the snapshot is %s%s", name,
			 uobjscope_sections(scope) & UOBJSCOPE_FDS ? "" :
			 " (it has no file descriptors, see --fds)");
		status = EXIT_DIFFERENT;
	} else {
		status = print_holders(scope, holders, options->json);
	}
	uobjscope_holders_free(holders);
	uobjscope_free(scope);
	return status;
}
