// SPDX-License-Identifier: GPL-2.0
/*
 * Records as JSON.  Where rdma(8) shows the same thing the name is its own.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

json_object *json_map(void)
{
	return need(json_object_new_object());
}

json_object *json_array(void)
{
	return need(json_object_new_array());
}

void json_put(json_object *map, const char *key, json_object *value)
{
	if (json_object_object_add(map, key, value))
		no_memory();
}

void json_append(json_object *array, json_object *value)
{
	if (json_object_array_add(array, value))
		no_memory();
}

json_object *json_number(uint64_t number)
{
	return need(json_object_new_uint64(number));
}

/* Length of the UTF-8 sequence at text, 0 if it is none. */
static size_t utf8_length(const unsigned char *text)
{
	static const unsigned int least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int value;
	size_t n;

	if (*text < 0x80)
		return 1;
	if (*text >= 0xc2 && *text <= 0xdf)
		n = 2;
	else if (*text >= 0xe0 && *text <= 0xef)
		n = 3;
	else if (*text >= 0xf0 && *text <= 0xf4)
		n = 4;
	else
		return 0;
	value = *text & (0x7f >> n);
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (text[i] & 0x3f);
	}
	if (value < least[n] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 0;
	return n;
}

char *utf8_text(const char *text)
{
	const unsigned char *from = (const unsigned char *)text;
	char *copy = need(malloc(strlen(text) * 3 + 1));
	char *to = copy;

	while (*from) {
		size_t n = utf8_length(from);

		if (n) {
			memcpy(to, from, n);
			to += n;
			from += n;
		} else {
			memcpy(to, "\xef\xbf\xbd", 3);
			to += 3;
			from++;
		}
	}
	*to = 0;
	return copy;
}

/* JSON is UTF-8; the name of a task need not be. */
json_object *json_text(const char *text)
{
	char *copy = utf8_text(text);
	json_object *json = json_object_new_string(copy);

	free(copy);
	return need(json);
}

static json_object *json_field(const struct uobjscope_field *field)
{
	if (field->none)
		return NULL;
	switch (field->form) {
	case UOBJSCOPE_FORM_NUMBER:
	case UOBJSCOPE_FORM_HEX:
		return json_number(field->value);
	case UOBJSCOPE_FORM_SIGNED:
		return need(json_object_new_int64((int64_t)field->value));
	case UOBJSCOPE_FORM_BOOL:
		return need(json_object_new_boolean(field->value));
	default:
		return json_text(field->text);
	}
}

static const char *json_name(enum uobjscope_type type, const struct uobjscope_field *field)
{
	if ((type == UOBJSCOPE_DEVICE && field->key == UOBJSCOPE_KEY_NAME) ||
	    (type == UOBJSCOPE_UFILE && field->key == UOBJSCOPE_KEY_DEVICE) ||
	    (type == UOBJSCOPE_ATTACH && field->key == UOBJSCOPE_KEY_IBDEV))
		return "ifname";
	if (type == UOBJSCOPE_UFILE && field->key == UOBJSCOPE_KEY_ID)
		return "ufile";
	return field->name;
}

static void add_from_ufile(json_object *map, const struct uobjscope_record *ufile,
			   const char *name, enum uobjscope_key key)
{
	const struct uobjscope_field *field = uobjscope_field(ufile, key);

	if (field && !json_object_object_get_ex(map, name, NULL))
		json_put(map, name, json_field(field));
}

json_object *json_record(const struct uobjscope *scope, const struct uobjscope_record *record)
{
	enum uobjscope_type type = uobjscope_record_type(record);
	const struct uobjscope_field *fields;
	json_object *map = json_map();
	size_t count;

	fields = uobjscope_fields(record, &count);
	for (size_t i = 0; i < count; i++) {
		const char *name = json_name(type, &fields[i]);

		/* A key of later times may be called as one of ours is here. */
		if (!json_object_object_get_ex(map, name, NULL))
			json_put(map, name, json_field(&fields[i]));
	}
	if (scope && (type == UOBJSCOPE_UOBJ || type == UOBJSCOPE_MMAP)) {
		const struct uobjscope_record *ufile = uobjscope_ufile_of(scope, record);

		add_from_ufile(map, ufile, "ifname", UOBJSCOPE_KEY_DEVICE);
		add_from_ufile(map, ufile, "pid", UOBJSCOPE_KEY_PID);
		add_from_ufile(map, ufile, "comm", UOBJSCOPE_KEY_COMM);
	}
	return map;
}

json_object *json_header(const struct uobjscope *scope)
{
	json_object *map = json_record(NULL, uobjscope_header(scope, UOBJSCOPE_SNAPSHOT));

	json_put(map, "changed", json_number(uobjscope_changed(scope)));
	return map;
}

void json_print(json_object *json, FILE *out, bool compact)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE |
		    (compact ? JSON_C_TO_STRING_PLAIN :
			       JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED);

	fprintf(out, "%s\n", (const char *)need((void *)
		json_object_to_json_string_ext(json, flags)));
	json_object_put(json);
}
