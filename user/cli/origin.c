// SPDX-License-Identifier: GPL-2.0
/*
 * The events that made what a snapshot has.
 *
 * A token stands for an address, and so may have been another object's before; an event
 * counts only if it was about the same ufile, too.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "origin.h"

/* Of ufile @ufile, where that is not NULL. */
static const struct birth *find(const struct births *births, const char *event,
				const char *key, const char *value, const char *ufile)
{
	const struct birth *birth = births_find(births, event, key, value);
	char *wanted, *at;
	size_t length;

	if (!birth || !ufile)
		return birth;
	wanted = format("ufile=%s", ufile);
	length = strlen(wanted);
	at = strstr(birth->fields, wanted);
	if (at && at[length] && at[length] != ' ')
		at = NULL;
	free(wanted);
	return at ? birth : NULL;
}

static const struct birth *find_token(const struct births *births, const char *event,
				      const char *key, const struct uobjscope_record *record,
				      enum uobjscope_key token)
{
	uint64_t value, ufile;
	const struct birth *birth;
	char *text, *of;

	if (!uobjscope_get(record, token, &value) ||
	    !uobjscope_get(record, UOBJSCOPE_KEY_UFILE, &ufile))
		return NULL;
	text = format("%016" PRIx64, value);
	of = format("%" PRIu64, ufile);
	birth = find(births, event, key, text, of);
	free(text);
	free(of);
	return birth;
}

static const struct birth *find_number(const struct births *births, const char *event,
				       const char *key, const struct uobjscope_record *record,
				       enum uobjscope_key number)
{
	const struct birth *birth;
	uint64_t value;
	char *text;

	if (!uobjscope_get(record, number, &value))
		return NULL;
	text = format("%" PRIu64, value);
	birth = find(births, event, key, text, NULL);
	free(text);
	return birth;
}

static const struct birth *of_uobj(const struct births *births,
				   const struct uobjscope_record *uobj)
{
	return find_token(births,
			  uobjscope_type_is(uobj, "DMABUF") ? "dmabuf_export" : "uobject_commit",
			  "uobject", uobj, UOBJSCOPE_KEY_TOKEN);
}

/* What an fd says of its uobject is the type: only if there is one, that is it. */
static const struct birth *of_uobj_fd(const struct births *births,
				      const struct uobjscope *scope,
				      const struct uobjscope_record *fd)
{
	const char *type = uobjscope_text(fd, UOBJSCOPE_KEY_TYPE);
	const struct uobjscope_record *only = NULL;
	struct uobjscope_group uobjs;
	uint64_t ufile;

	if (!type || !uobjscope_get(fd, UOBJSCOPE_KEY_UFILE, &ufile))
		return NULL;
	uobjs = uobjscope_find(scope, UOBJSCOPE_UOBJS_BY_UFILE, ufile);
	for (size_t i = 0; i < uobjs.count; i++) {
		if (!uobjscope_type_is(uobjs.records[i], type))
			continue;
		if (only)
			return NULL;
		only = uobjs.records[i];
	}
	return only ? of_uobj(births, only) : NULL;
}

static const struct birth *of_fd(const struct births *births, const struct uobjscope *scope,
				 const struct uobjscope_record *fd)
{
	const char *kind = uobjscope_text(fd, UOBJSCOPE_KEY_KIND);

	if (!kind)
		return NULL;
	if (!strcmp(kind, "uverbs"))
		return find_number(births, "ufile_open", "ufile", fd, UOBJSCOPE_KEY_UFILE);
	if (!strcmp(kind, "dmabuf"))
		return find_number(births, "dmabuf_export", "ino", fd, UOBJSCOPE_KEY_INO);
	return of_uobj_fd(births, scope, fd);
}

const struct birth *origin_of(const struct births *births, const struct uobjscope *scope,
			      const struct uobjscope_record *record)
{
	if (!births || !record)
		return NULL;
	switch (uobjscope_record_type(record)) {
	case UOBJSCOPE_UFILE:
		return find_number(births, "ufile_open", "ufile", record, UOBJSCOPE_KEY_ID);
	case UOBJSCOPE_UOBJ:
		return of_uobj(births, record);
	case UOBJSCOPE_MMAP:
		return find_token(births, "mmap_entry_insert", "entry", record,
				  UOBJSCOPE_KEY_ENTRY);
	case UOBJSCOPE_VMA:
		return find_token(births, "vma_open", "vma", record, UOBJSCOPE_KEY_TOKEN);
	case UOBJSCOPE_ATTACH:
		return find_token(births, "dmabuf_attach", "attachment", record,
				  UOBJSCOPE_KEY_TOKEN);
	case UOBJSCOPE_FD:
		return of_fd(births, scope, record);
	default:
		return NULL;
	}
}

/* Is what an event was about in the snapshot, among those of its ufile? */
static bool is_there(const struct uobjscope *scope, enum uobjscope_index index, uint64_t ufile,
		     const struct birth *birth, const char *key)
{
	struct uobjscope_group group = uobjscope_find(scope, index, ufile);
	const char *at = strstr(birth->fields, key);
	uint64_t token = at ? strtoull(at + strlen(key), NULL, 16) : 0, other;

	for (size_t i = 0; i < group.count; i++)
		if (uobjscope_get(group.records[i], UOBJSCOPE_KEY_TOKEN, &other) &&
		    other == token)
			return true;
	return false;
}

const struct birth *origin_untracked(const struct births *births,
				     const struct uobjscope *scope,
				     const struct uobjscope_report *report,
				     const struct uobjscope_tally *tally,
				     const struct birth *after)
{
	char *fields;

	if (report->kind != UOBJSCOPE_OBJECT_UFILE || strcmp(tally->name, "file_ref"))
		return NULL;
	fields = format("ufile=%" PRIu64 " entry=%016x", report->id, 0);
	do
		after = births_each(births, after, "vma_open", fields);
	while (after && is_there(scope, UOBJSCOPE_VMAS_BY_UFILE, report->id, after, "vma="));
	free(fields);
	return after;
}

const struct birth *origin_unfreed(const struct births *births, const struct uobjscope *scope,
				   const struct uobjscope_record *ufile,
				   const struct birth *after)
{
	uint64_t id;
	char *fields;

	if (!uobjscope_get(ufile, UOBJSCOPE_KEY_ID, &id))
		return NULL;
	fields = format("ufile=%" PRIu64, id);
	do
		after = births_each(births, after, "uobject_commit", fields);
	while (after && is_there(scope, UOBJSCOPE_UOBJS_BY_UFILE, id, after, " uobject="));
	free(fields);
	return after;
}

/* ---- print ---- */

/* A name may hold anything, also what would move a terminal's cursor. */
static void print_maker(const struct birth *birth, FILE *out)
{
	fprintf(out, "%.6f by %d (", birth->seconds, birth->tid);
	for (const char *at = birth->comm; *at; at++)
		fprintf(out, *at < ' ' || *at > '~' || *at == '%' ? "%%%02X" : "%c",
			(unsigned char)*at);
	fprintf(out, ")");
}

void print_origin(const struct birth *birth, FILE *out)
{
	if (!birth)
		return;
	fprintf(out, "      %s ", birth->event);
	print_maker(birth, out);
	fputc('\n', out);
}

static void print_stack(const struct birth *birth, FILE *out)
{
	const char *at, *end;

	for (at = birth->stack ? birth->stack : ""; *at; at = end + 1) {
		end = strchr(at, '\n');
		fprintf(out, "      %.*s\n", (int)(end - at), at);
	}
}

void print_birth(const struct birth *birth, FILE *out)
{
	if (!birth) {
		fputs("  birth not seen\n", out);
		return;
	}
	fputs("  born ", out);
	print_maker(birth, out);
	fprintf(out, ", %s\n", birth->event);
	print_stack(birth, out);
}

void print_unfreed(const struct birth *birth, FILE *out)
{
	const char *type = strstr(birth->fields, "type=");

	fputs("  never freed: ", out);
	if (type)
		fprintf(out, "%.*s, ", (int)strcspn(type, " "), type);
	fputs("born ", out);
	print_maker(birth, out);
	fputc('\n', out);
	print_stack(birth, out);
}

json_object *json_birth(const struct birth *birth)
{
	json_object *map, *stack;
	const char *at, *end;

	if (!birth)
		return NULL;
	map = json_map();
	json_put(map, "event", json_text(birth->event));
	json_put(map, "seconds", need(json_object_new_double(birth->seconds)));
	json_put(map, "tid", json_number(birth->tid));
	json_put(map, "comm", json_text(birth->comm));
	json_put(map, "fields", json_text(birth->fields));
	if (!birth->stack)
		return map;
	stack = json_array();
	for (at = birth->stack; *at; at = end + 1) {
		char *function;

		end = strchr(at, '\n');
		function = format("%.*s", (int)(end - at), at);
		json_append(stack, json_text(function));
		free(function);
	}
	json_put(map, "stack", stack);
	return map;
}
