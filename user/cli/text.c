// SPDX-License-Identifier: GPL-2.0
/*
 * Records as text for a person.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/*
 * The name of a task may hold anything, also what would move a terminal's cursor.
 * In a line of key=value a blank would be ambiguous as well.
 */
static void put_safe(FILE *out, const char *text, bool in_line)
{
	for (; *text; text++) {
		unsigned char c = *text;

		if (c < ' ' || c > '~' || c == '%' || (in_line && (c == ' ' || c == '=')))
			fprintf(out, "%%%02X", c);
		else
			fputc(c, out);
	}
}

struct buffer {
	char *text;
	size_t length;
	FILE *stream;
};

static void open_buffer(struct buffer *buffer)
{
	buffer->stream = need(open_memstream(&buffer->text, &buffer->length));
}

static char *close_buffer(struct buffer *buffer)
{
	if (ferror(buffer->stream) | fclose(buffer->stream))
		no_memory();
	return buffer->text;
}

static char *safe(const char *text)
{
	const char *p = text;
	struct buffer buffer;

	while (*p >= ' ' && *p <= '~' && *p != '%')
		p++;
	if (!*p)
		return need(strdup(text));
	open_buffer(&buffer);
	put_safe(buffer.stream, text, false);
	return close_buffer(&buffer);
}

char *value_text(const struct uobjscope_record *record, enum uobjscope_key key)
{
	const char *text = uobjscope_text(record, key);

	return safe(text && *text ? text : "-");
}

static bool is_identifying(enum uobjscope_type type, enum uobjscope_key key)
{
	switch (key) {
	case UOBJSCOPE_KEY_NAME:
	case UOBJSCOPE_KEY_ID:
	case UOBJSCOPE_KEY_UFILE:
	case UOBJSCOPE_KEY_INO:
		return true;
	case UOBJSCOPE_KEY_TYPE:
	case UOBJSCOPE_KEY_HANDLE:
		return type == UOBJSCOPE_UOBJ;
	case UOBJSCOPE_KEY_PGOFF:
		return type == UOBJSCOPE_MMAP;
	case UOBJSCOPE_KEY_PID:
		return type == UOBJSCOPE_VMA || type == UOBJSCOPE_FD;
	case UOBJSCOPE_KEY_START:
		return type == UOBJSCOPE_VMA;
	case UOBJSCOPE_KEY_FD:
	case UOBJSCOPE_KEY_KIND:
		return type == UOBJSCOPE_FD;
	case UOBJSCOPE_KEY_DEVICE:
	case UOBJSCOPE_KEY_IMPORTER:
	case UOBJSCOPE_KEY_MRN:
		return type == UOBJSCOPE_ATTACH;
	default:
		return false;
	}
}

static char *fields_text(const struct uobjscope_record *record, bool all)
{
	const struct uobjscope_field *fields;
	struct buffer buffer;
	size_t count;

	open_buffer(&buffer);
	fputs(uobjscope_record_name(record), buffer.stream);
	fields = uobjscope_fields(record, &count);
	for (size_t i = 0; i < count; i++) {
		if (all ? fields[i].form == UOBJSCOPE_FORM_TOKEN && !fields[i].none :
			  !is_identifying(uobjscope_record_type(record), fields[i].key))
			continue;
		fprintf(buffer.stream, " %s=", fields[i].name);
		put_safe(buffer.stream, fields[i].text, true);
	}
	return close_buffer(&buffer);
}

char *title_text(const struct uobjscope_record *record)
{
	return fields_text(record, false);
}

char *record_text(const struct uobjscope_record *record)
{
	return fields_text(record, true);
}

char *process_text(const struct uobjscope *scope, const struct uobjscope_record *record)
{
	enum uobjscope_type type = uobjscope_record_type(record);
	uint64_t pid;
	char *comm, *text;

	/* Who opened the ufile says nothing of who maps it. */
	if (type != UOBJSCOPE_VMA && type != UOBJSCOPE_FD)
		record = uobjscope_ufile_of(scope, record);
	if (!uobjscope_get(record, UOBJSCOPE_KEY_PID, &pid))
		return need(strdup("pid not known"));
	/* A mapping has no name with it, an fd of the same process has. */
	if (type == UOBJSCOPE_VMA) {
		struct uobjscope_group fds = uobjscope_find(scope, UOBJSCOPE_FDS_BY_PID, pid);

		if (fds.count)
			record = fds.records[0];
	}
	if (!uobjscope_has(record, UOBJSCOPE_KEY_COMM))
		return format("pid %llu", (unsigned long long)pid);
	comm = value_text(record, UOBJSCOPE_KEY_COMM);
	text = format("pid %llu (%s)", (unsigned long long)pid, comm);
	free(comm);
	return text;
}

char *number_text(const struct uobjscope_record *uobj)
{
	static const enum uobjscope_key keys[] = {
		UOBJSCOPE_KEY_CQN, UOBJSCOPE_KEY_LQPN, UOBJSCOPE_KEY_SRQN, UOBJSCOPE_KEY_MRN,
		UOBJSCOPE_KEY_INO, UOBJSCOPE_KEY_PAGE_ID, UOBJSCOPE_KEY_PDN,
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		uint64_t value;

		if (uobjscope_get(uobj, keys[i], &value))
			return format("%s %llu", uobjscope_key_name(keys[i]),
				      (unsigned long long)value);
	}
	return need(strdup("-"));
}
