// SPDX-License-Identifier: GPL-2.0
/*
 * Records to text.
 */
#include <errno.h>

#include "internal.h"

static void write_value(const char *text, FILE *stream)
{
	for (; *text; text++) {
		unsigned char c = *text;

		if (c <= ' ' || c > '~' || c == '=' || c == '%')
			fprintf(stream, "%%%02X", c);
		else
			fputc(c, stream);
	}
}

static void write_record(const struct uobjscope_record *record, FILE *stream)
{
	fputs(record->name, stream);
	for (size_t i = 0; i < record->count; i++) {
		fprintf(stream, " %s=", record->fields[i].name);
		write_value(record->fields[i].text, stream);
	}
	fputc('\n', stream);
}

static void write_section(const struct uobjscope *scope, int n, FILE *stream)
{
	unsigned long long records = 0;

	write_record(scope->headers[n], stream);
	for (struct part *part = scope->parts; part; part = part->next)
		for (size_t i = 0; i < part->count; i++)
			if (part->records[i].section == uobjscope_section_info[n].section) {
				write_record(&part->records[i], stream);
				records++;
			}
	fprintf(stream, "end records=%llu\n", records);
}

int uobjscope_write(const struct uobjscope *scope, FILE *stream)
{
	/* The snapshot comes last: what is cut short then never has one. */
	for (int n = ARRAY_SIZE(scope->headers); n-- > 0; )
		if (scope->headers[n])
			write_section(scope, n, stream);
	if (fflush(stream) || ferror(stream)) {
		if (!errno)
			errno = EIO;
		return -1;
	}
	return 0;
}
