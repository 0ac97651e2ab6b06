// SPDX-License-Identifier: GPL-2.0
/*
 * Fields of a record, and records by what identifies them.
 */
#include <string.h>
#include <strings.h>

#include "internal.h"

unsigned int uobjscope_sections(const struct uobjscope *scope)
{
	return scope->sections;
}

const struct uobjscope_record *uobjscope_header(const struct uobjscope *scope,
						enum uobjscope_section section)
{
	for (size_t i = 0; i < ARRAY_SIZE(uobjscope_section_info); i++)
		if (uobjscope_section_info[i].section == section)
			return scope->headers[i];
	return NULL;
}

size_t uobjscope_changed(const struct uobjscope *scope)
{
	return scope->changed;
}

size_t uobjscope_count(const struct uobjscope *scope, enum uobjscope_type type)
{
	return type < UOBJSCOPE_TYPES ? scope->count[type] : 0;
}

const struct uobjscope_record *uobjscope_record(const struct uobjscope *scope,
						enum uobjscope_type type, size_t n)
{
	return n < uobjscope_count(scope, type) ? scope->by_type[type][n] : NULL;
}

enum uobjscope_type uobjscope_record_type(const struct uobjscope_record *record)
{
	return record->type;
}

const char *uobjscope_record_name(const struct uobjscope_record *record)
{
	return record->name;
}

unsigned long uobjscope_record_line(const struct uobjscope_record *record)
{
	return record->line;
}

const struct uobjscope_field *uobjscope_fields(const struct uobjscope_record *record,
					       size_t *count)
{
	*count = record->count;
	return record->fields;
}

const struct uobjscope_field *uobjscope_field(const struct uobjscope_record *record,
					      enum uobjscope_key key)
{
	/* An unknown key is none that one could ask for. */
	if (!record || key >= UOBJSCOPE_KEYS)
		return NULL;
	for (size_t i = 0; i < record->count && record->fields[i].key <= key; i++)
		if (record->fields[i].key == key)
			return &record->fields[i];
	return NULL;
}

bool uobjscope_has(const struct uobjscope_record *record, enum uobjscope_key key)
{
	const struct uobjscope_field *field = uobjscope_field(record, key);

	return field && !field->none;
}

bool uobjscope_get(const struct uobjscope_record *record, enum uobjscope_key key,
		   uint64_t *value)
{
	const struct uobjscope_field *field = uobjscope_field(record, key);

	if (!field || field->none || field->form == UOBJSCOPE_FORM_STRING)
		return false;
	*value = field->value;
	return true;
}

bool uobjscope_get_signed(const struct uobjscope_record *record, enum uobjscope_key key,
			  int64_t *value)
{
	uint64_t bits;

	if (!uobjscope_get(record, key, &bits))
		return false;
	*value = (int64_t)bits;
	return true;
}

const char *uobjscope_text(const struct uobjscope_record *record, enum uobjscope_key key)
{
	const struct uobjscope_field *field = uobjscope_field(record, key);

	return field && !field->none ? field->text : NULL;
}

static const struct uobjscope_record *only_one(struct uobjscope_group group)
{
	return group.count ? group.records[0] : NULL;
}

const struct uobjscope_record *uobjscope_ufile(const struct uobjscope *scope, uint64_t id)
{
	return only_one(uobjscope_find(scope, UOBJSCOPE_UFILES_BY_ID, id));
}

bool uobjscope_type_is(const struct uobjscope_record *uobj, const char *type)
{
	const char *is = uobjscope_text(uobj, UOBJSCOPE_KEY_TYPE);

	if (!is)
		return false;
	/* The driver's own types carry its name, which everybody leaves out. */
	return !strcasecmp(is, type) ||
	       (!strncmp(is, "MLX5_", 5) && !strcasecmp(is + 5, type));
}

const struct uobjscope_record *uobjscope_uobj(const struct uobjscope *scope, uint64_t ufile,
					      const char *type, uint32_t handle)
{
	struct uobjscope_group group =
		uobjscope_find_both(scope, UOBJSCOPE_UOBJS_BY_UFILE, ufile, handle);

	for (size_t i = 0; i < group.count; i++)
		if (!type || uobjscope_type_is(group.records[i], type))
			return group.records[i];
	return NULL;
}

const struct uobjscope_record *uobjscope_dmabuf(const struct uobjscope *scope, uint64_t ino)
{
	return only_one(uobjscope_find(scope, UOBJSCOPE_UOBJS_BY_INO, ino));
}

const struct uobjscope_record *uobjscope_mmap(const struct uobjscope *scope, uint64_t ufile,
					      uint64_t pgoff)
{
	return only_one(uobjscope_find_both(scope, UOBJSCOPE_MMAPS_BY_UFILE, ufile, pgoff));
}

const struct uobjscope_record *uobjscope_entry_of(const struct uobjscope *scope,
						  const struct uobjscope_record *record)
{
	struct uobjscope_group group;
	uint64_t token;

	if (record->type == UOBJSCOPE_MMAP)
		return record;
	if (uobjscope_get(record, UOBJSCOPE_KEY_ENTRY, &token))
		return only_one(uobjscope_find(scope, UOBJSCOPE_MMAPS_BY_ENTRY, token));
	if (!uobjscope_type_is(record, "DM") ||
	    !uobjscope_get(record, UOBJSCOPE_KEY_OBJECT, &token))
		return NULL;
	group = uobjscope_find(scope, UOBJSCOPE_MMAPS_BY_OBJECT, token);
	for (size_t i = 0; i < group.count; i++) {
		const char *kind = uobjscope_text(group.records[i], UOBJSCOPE_KEY_KIND);

		if (!strcmp(kind, "MEMIC"))
			return group.records[i];
	}
	return NULL;
}

const struct uobjscope_record *uobjscope_ufile_of(const struct uobjscope *scope,
						  const struct uobjscope_record *record)
{
	uint64_t ufile;

	if (record->type == UOBJSCOPE_UFILE)
		return record;
	if (!uobjscope_get(record, UOBJSCOPE_KEY_UFILE, &ufile))
		return NULL;
	return uobjscope_ufile(scope, ufile);
}

const struct uobjscope_record *uobjscope_mr_of(const struct uobjscope *scope,
					       const struct uobjscope_record *attach)
{
	const char *ibdev = uobjscope_text(attach, UOBJSCOPE_KEY_IBDEV);
	struct uobjscope_group group;
	uint64_t mrn;

	if (!ibdev || !uobjscope_get(attach, UOBJSCOPE_KEY_MRN, &mrn))
		return NULL;
	group = uobjscope_find(scope, UOBJSCOPE_UOBJS_BY_MRN, mrn);
	for (size_t i = 0; i < group.count; i++) {
		const struct uobjscope_record *ufile =
			uobjscope_ufile_of(scope, group.records[i]);
		const char *device = uobjscope_text(ufile, UOBJSCOPE_KEY_DEVICE);

		if (device && !strcmp(device, ibdev))
			return group.records[i];
	}
	return NULL;
}

const char *uobjscope_version(void)
{
	return UOBJSCOPE_VERSION;
}
