// SPDX-License-Identifier: GPL-2.0
/*
 * Names of objects: ino:N, pid:N/fd:N, ufile:N/TYPE:HANDLE and the like.
 */
#include <string.h>

#include "object.h"

/* A decimal or 0x number up to one of the characters in @ends. */
static const char *number(const char *text, const char *ends, uint64_t *value)
{
	bool hex = !strncmp(text, "0x", 2);
	const char *p = hex ? text + 2 : text;
	const char *digits = p;
	uint64_t v = 0;

	for (; *p && !strchr(ends, *p); p++) {
		unsigned int digit;

		if (*p >= '0' && *p <= '9')
			digit = *p - '0';
		else if (hex && *p >= 'a' && *p <= 'f')
			digit = *p - 'a' + 10;
		else
			return NULL;
		if (__builtin_mul_overflow(v, hex ? 16 : 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit, &v))
			return NULL;
	}
	*value = v;
	return p == digits ? NULL : p;
}

static const char *after(const char *text, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(text, prefix, n) ? NULL : text + n;
}

static bool is_type(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789",
			    text[i]))
			return false;
	return length && length < sizeof(((struct object *)NULL)->type);
}

/* What comes after ufile:N/ */
static bool parse_in_ufile(struct object *object, const char *text)
{
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);
	const char *end;

	if (*text >= '0' && *text <= '9') {
		object->form = OBJECT_UFILE_HANDLE;
		end = number(text, "", &object->second);
		return end && object->second <= UINT32_MAX;
	}
	if (!is_type(text, length))
		return false;
	memcpy(object->type, text, length);
	if (!colon) {
		object->form = OBJECT_UFILE_TYPE;
		return strcmp(object->type, "mmap") != 0;
	}
	end = number(colon + 1, "", &object->second);
	if (!strcmp(object->type, "mmap")) {
		object->form = OBJECT_UFILE_MMAP;
		return end;
	}
	object->form = OBJECT_UFILE_HANDLE;
	return end && object->second <= UINT32_MAX;
}

static bool parse(struct object *object, const char *name)
{
	const char *text;

	memset(object, 0, sizeof(*object));
	text = after(name, "ino:");
	if (text) {
		object->form = OBJECT_INO;
		return number(text, "", &object->number);
	}
	text = after(name, "pid:");
	if (text) {
		text = number(text, "/", &object->number);
		object->form = OBJECT_PID;
		if (!text || !*text)
			return text;
		object->form = OBJECT_PID_FD;
		text = after(text, "/fd:");
		return text && number(text, "", &object->second);
	}
	text = after(name, "ufile:");
	if (text) {
		text = number(text, "/", &object->number);
		object->form = OBJECT_UFILE;
		if (!text || !*text)
			return text;
		return parse_in_ufile(object, text + 1);
	}
	return false;
}

int uobjscope_parse_object(struct object *object, const char *name,
			   struct uobjscope_error *error)
{
	char quoted[QUOTED_MAX];

	if (parse(object, name))
		return 0;
	return uobjscope_fail(error, UOBJSCOPE_ERR_ARGUMENT, 0,
			      "'%s' names no object, expected ino:N, pid:N, pid:N/fd:N, ufile:N, ufile:N/TYPE, ufile:N/TYPE:HANDLE, ufile:N/HANDLE or ufile:N/mmap:PGOFF",
			      uobjscope_quote(quoted, name, strlen(name)));
}
