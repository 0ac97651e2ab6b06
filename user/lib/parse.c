// SPDX-License-Identifier: GPL-2.0
/*
 * Text to records.
 *
 * The text is cut up where it lies: blanks, '=' and newlines become NULs, and
 * %XX becomes its byte, so that every string of a record points into the text.
 * Counting newlines and '=' beforehand tells how much room all records need, so
 * that memory is asked for twice and not once a line.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/**
 * struct parser - where the parser stands
 * @name:	of the text, for messages
 * @part:	what is being filled
 * @fields:	next free field
 * @line:	number of the current line, from 1
 * @section:	section that the line belongs to, NULL between two sections
 * @records:	records seen in that section
 * @error:	where to put what went wrong
 */
struct parser {
	const char *name;
	struct part *part;
	struct uobjscope_field *fields;
	unsigned long line;
	const struct section_info *section;
	uint64_t records;
	struct uobjscope_error *error;
};

#define syntax(parser, format, ...)						\
	uobjscope_fail((parser)->error, UOBJSCOPE_ERR_SYNTAX, (parser)->line,	\
		       "%s: line %lu: " format, (parser)->name, (parser)->line,	\
		       ##__VA_ARGS__)

static bool is_word(const char *text)
{
	if (*text < 'a' || *text > 'z')
		return false;
	while ((*text >= 'a' && *text <= 'z') || (*text >= '0' && *text <= '9') ||
	       *text == '_' || *text == '.')
		text++;
	return !*text;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static int unescape(struct parser *parser, const char *key, char *text)
{
	char *to = text;

	for (char *from = text; *from; from++) {
		if (*from == '=')
			return syntax(parser, "key '%s': a '=' in the value, expected %%3D", key);
		if (*from != '%') {
			*to++ = *from;
			continue;
		}
		int high = hex_digit(from[1]);
		int low = high < 0 ? -1 : hex_digit(from[2]);

		if (low < 0)
			return syntax(parser,
				      "key '%s': '%%' is not followed by two hexadecimal digits",
				      key);
		if (!high && !low)
			return syntax(parser, "key '%s': %%00 cannot be part of a value", key);
		*to++ = high << 4 | low;
		from += 2;
	}
	*to = '\0';
	return 0;
}

/* Digits of one base, no sign, no blank, no leading zero but 0 itself. */
static bool parse_unsigned(const char *text, uint64_t *value)
{
	bool hex = text[0] == '0' && text[1] == 'x';
	uint64_t v = 0;

	if (hex)
		text += 2;
	if (!*text || (!hex && text[0] == '0' && text[1]))
		return false;
	for (; *text; text++) {
		int digit = hex_digit(*text);

		if (digit < 0 || (!hex && digit > 9))
			return false;
		if (__builtin_mul_overflow(v, hex ? 16 : 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit, &v))
			return false;
	}
	*value = v;
	return true;
}

static bool parse_token(const char *text, uint64_t *value)
{
	uint64_t v = 0;
	int digits = 0;

	for (; *text; text++, digits++) {
		int digit = hex_digit(*text);

		if (digit < 0 || digits == 16)
			return false;
		v = v << 4 | digit;
	}
	*value = v;
	return digits == 16;
}

static int parse_value(struct parser *parser, struct uobjscope_field *field)
{
	const struct key_info *info = &uobjscope_key_info[field->key];
	char quoted[QUOTED_MAX];
	bool negative, ok;

	if (info->dash && !strcmp(field->text, "-")) {
		field->none = true;
		return 0;
	}
	uobjscope_quote(quoted, field->text, strlen(field->text));
	switch (info->form) {
	case UOBJSCOPE_FORM_STRING:
		return 0;
	case UOBJSCOPE_FORM_TOKEN:
		if (!parse_token(field->text, &field->value))
			return syntax(parser, "%s=%s: expected 16 hexadecimal digits",
				      field->name, quoted);
		return 0;
	case UOBJSCOPE_FORM_BOOL:
		ok = parse_unsigned(field->text, &field->value);
		if (!ok || field->value > 1)
			return syntax(parser, "%s=%s: expected 0 or 1", field->name, quoted);
		return 0;
	case UOBJSCOPE_FORM_SIGNED:
		negative = field->text[0] == '-';
		ok = parse_unsigned(field->text + negative, &field->value);
		/* The most negative number is one further from 0 than the largest. */
		if (!ok || field->value > info->max + negative)
			return syntax(parser, "%s=%s: expected a number from -%llu to %llu",
				      field->name, quoted, (unsigned long long)info->max + 1,
				      (unsigned long long)info->max);
		if (negative)
			field->value = -field->value;
		return 0;
	case UOBJSCOPE_FORM_NUMBER:
	case UOBJSCOPE_FORM_HEX:
		ok = parse_unsigned(field->text, &field->value);
		if (!ok || field->value > info->max)
			return syntax(parser, "%s=%s: expected a number from 0 to %llu",
				      field->name, quoted, (unsigned long long)info->max);
		return 0;
	}
	return 0;
}

static int parse_field(struct parser *parser, struct uobjscope_field *field, char *text)
{
	char *equals = strchr(text, '=');
	char quoted[QUOTED_MAX];

	if (!equals)
		return syntax(parser, "'%s' is not of the form key=value",
			      uobjscope_quote(quoted, text, strlen(text)));
	*equals = '\0';
	if (!is_word(text))
		return syntax(parser, "'%s' is not a key",
			      uobjscope_quote(quoted, text, strlen(text)));
	field->name = text;
	field->text = equals + 1;
	field->key = uobjscope_key_by_name(text);
	field->form = UOBJSCOPE_FORM_STRING;
	field->none = false;
	field->value = 0;
	if (unescape(parser, text, equals + 1))
		return -1;
	if (field->key == UOBJSCOPE_KEY_OTHER)
		return 0;
	field->form = uobjscope_key_info[field->key].form;
	return parse_value(parser, field);
}

/* Keep the fields of a record in the order of their keys. */
static int insert_field(struct parser *parser, struct uobjscope_record *record,
			const struct uobjscope_field *field)
{
	size_t i = record->count;

	if (field->key == UOBJSCOPE_KEY_OTHER) {
		for (size_t j = record->count; j-- > 0; ) {
			if (record->fields[j].key != UOBJSCOPE_KEY_OTHER)
				break;
			if (!strcmp(record->fields[j].name, field->name))
				return syntax(parser, "key '%s' is there twice", field->name);
		}
	}
	while (i > 0 && record->fields[i - 1].key > field->key) {
		record->fields[i] = record->fields[i - 1];
		i--;
	}
	if (i > 0 && record->fields[i - 1].key == field->key &&
	    field->key != UOBJSCOPE_KEY_OTHER)
		return syntax(parser, "key '%s' is there twice", field->name);
	record->fields[i] = *field;
	record->count++;
	return 0;
}

/* A line into its first word and its fields; the line ends in a NUL. */
static int parse_words(struct parser *parser, struct uobjscope_record *record, char *line)
{
	struct uobjscope_field field;
	char quoted[QUOTED_MAX];
	char *word = line;
	char *next;

	record->line = parser->line;
	record->name = line;
	record->fields = parser->fields;
	record->count = 0;
	next = strchr(word, ' ');
	if (next)
		*next++ = '\0';
	if (!is_word(word))
		return syntax(parser, "'%s' is not the name of a record",
			      uobjscope_quote(quoted, word, strlen(word)));
	while (next) {
		word = next;
		next = strchr(word, ' ');
		if (next)
			*next++ = '\0';
		if (!*word)
			return syntax(parser, "two blanks, or one at the end of the line");
		if (parse_field(parser, &field, word) || insert_field(parser, record, &field))
			return -1;
	}
	parser->fields += record->count;
	return 0;
}

static int check_bytes(struct parser *parser, const char *line, size_t length)
{
	if (length > UOBJSCOPE_LINE_MAX)
		return syntax(parser, "%zu bytes long, expected at most %d",
			      length, UOBJSCOPE_LINE_MAX);
	if (!length)
		return syntax(parser, "empty, expected a record");
	for (size_t i = 0; i < length; i++)
		if (line[i] < ' ' || line[i] > '~')
			return syntax(parser,
				      "byte 0x%02x in column %zu, expected printable ASCII",
				      (unsigned char)line[i], i + 1);
	return 0;
}

static const struct section_info *section_by_word(const char *line, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(uobjscope_section_info); i++) {
		size_t n = strlen(uobjscope_section_info[i].name);

		if (length > n && line[n] == ' ' &&
		    !memcmp(line, uobjscope_section_info[i].name, n))
			return &uobjscope_section_info[i];
	}
	return NULL;
}

/* The value of v=, whatever the rest of the line looks like. */
static const char *find_version(const char *line, size_t length, size_t *version_length)
{
	const char *end = line + length;

	for (const char *p = line; p + 3 <= end; p++) {
		if (memcmp(p, " v=", 3))
			continue;
		p += 3;
		*version_length = 0;
		while (p + *version_length < end && p[*version_length] != ' ')
			++*version_length;
		return p;
	}
	return NULL;
}

static int parse_header(struct parser *parser, char *line, size_t length)
{
	const struct section_info *section = section_by_word(line, length);
	struct uobjscope_record *header;
	char quoted[QUOTED_MAX];
	const char *version;
	size_t n = 0;

	if (!section && parser->line == 1) {
		const char *blank = memchr(line, ' ', length);

		return uobjscope_fail(parser->error, UOBJSCOPE_ERR_FOREIGN, 1,
				      "%s: not a uobjscope snapshot: line 1 begins with '%s', expected 'uobjscope v=%d'",
				      parser->name,
				      uobjscope_quote(quoted, line,
						      blank ? (size_t)(blank - line) : length),
				      UOBJSCOPE_FORMAT_VERSION);
	}
	if (!section)
		return syntax(parser, "'%s' after the end of the text",
			      uobjscope_quote(quoted, line, length));
	/* Another version may differ in all that follows, so this comes first. */
	version = find_version(line, length, &n);
	if (!version)
		return uobjscope_fail(parser->error, UOBJSCOPE_ERR_FOREIGN, parser->line,
				      "%s: not a uobjscope snapshot: line %lu has no version, expected '%s v=%d'",
				      parser->name, parser->line, section->name,
				      UOBJSCOPE_FORMAT_VERSION);
	if (n != 1 || *version != '0' + UOBJSCOPE_FORMAT_VERSION)
		return uobjscope_fail(parser->error, UOBJSCOPE_ERR_VERSION, parser->line,
				      "%s: line %lu: version %s of the format, expected version %d",
				      parser->name, parser->line,
				      uobjscope_quote(quoted, version, n),
				      UOBJSCOPE_FORMAT_VERSION);
	if (parser->part->sections & section->section)
		return syntax(parser, "a second '%s' text", section->name);
	if (check_bytes(parser, line, length))
		return -1;
	line[length] = '\0';
	header = &parser->part->headers[section - uobjscope_section_info];
	header->type = UOBJSCOPE_OTHER;
	header->section = section->section;
	if (parse_words(parser, header, line))
		return -1;
	parser->section = section;
	parser->records = 0;
	return 0;
}

static int parse_end(struct parser *parser, char *line)
{
	static const char begin[] = "end records=";
	char quoted[QUOTED_MAX];
	uint64_t records;

	if (strncmp(line, begin, sizeof(begin) - 1) ||
	    strchr(line, 'x') || !parse_unsigned(line + sizeof(begin) - 1, &records))
		return syntax(parser, "'%s', expected 'end records=N'",
			      uobjscope_quote(quoted, line, strlen(line)));
	if (records != parser->records)
		return uobjscope_fail(parser->error, UOBJSCOPE_ERR_TRUNCATED, parser->line,
				      "%s: line %lu: not whole: %llu records, expected %llu",
				      parser->name, parser->line,
				      (unsigned long long)parser->records,
				      (unsigned long long)records);
	parser->part->sections |= parser->section->section;
	parser->section = NULL;
	return 0;
}

static int parse_record(struct parser *parser, char *line, size_t length)
{
	struct uobjscope_record *record = &parser->part->records[parser->part->count];
	const struct record_info *info;

	if (check_bytes(parser, line, length))
		return -1;
	line[length] = '\0';
	if (!strncmp(line, "end", 3) && (line[3] == ' ' || !line[3]))
		return parse_end(parser, line);
	if (parse_words(parser, record, line))
		return -1;
	record->section = parser->section->section;
	info = uobjscope_record_info(record->section, record->name);
	record->type = info ? info->type : UOBJSCOPE_OTHER;
	for (const enum uobjscope_key *key = info ? info->needed : NULL;
	     key && *key != UOBJSCOPE_KEYS; key++)
		if (!uobjscope_has(record, *key))
			return syntax(parser, "%s without '%s'", record->name,
				      uobjscope_key_info[*key].name);
	parser->part->count++;
	parser->records++;
	return 0;
}

static int parse_lines(struct parser *parser, char *text, size_t length)
{
	char *end = text + length;

	while (text < end) {
		char *newline = memchr(text, '\n', end - text);
		size_t n = (newline ? newline : end) - text;

		parser->line++;
		/* Something else without a newline is foreign, not cut short. */
		if (!newline && parser->line == 1 && !uobjscope_starts_well(text, n))
			return parse_header(parser, text, n);
		if (!newline)
			return uobjscope_fail(parser->error, UOBJSCOPE_ERR_TRUNCATED, parser->line,
					      "%s: line %lu: cut short: no newline at its end",
					      parser->name, parser->line);
		if (parser->section ? parse_record(parser, text, n) :
				      parse_header(parser, text, n))
			return -1;
		text = newline + 1;
	}
	if (parser->section)
		return uobjscope_fail(parser->error, UOBJSCOPE_ERR_TRUNCATED, parser->line,
				      "%s: cut short after line %lu, expected 'end records=N'",
				      parser->name, parser->line);
	return 0;
}

static int check_sections(struct parser *parser, unsigned int want)
{
	unsigned int have = parser->part->sections;

	if (!have)
		return uobjscope_fail(parser->error, UOBJSCOPE_ERR_TRUNCATED, 0,
				      "%s: empty, expected 'uobjscope v=%d'",
				      parser->name, UOBJSCOPE_FORMAT_VERSION);
	for (size_t i = 0; i < ARRAY_SIZE(uobjscope_section_info); i++) {
		const struct section_info *info = &uobjscope_section_info[i];

		if (!(want & info->section) || have & info->section)
			continue;
		return uobjscope_fail(parser->error, UOBJSCOPE_ERR_TRUNCATED, parser->line,
				      "%s: cut short or something else: no '%s v=%d' text in it",
				      parser->name, info->name, UOBJSCOPE_FORMAT_VERSION);
	}
	return 0;
}

static size_t count_byte(const char *text, size_t length, char byte)
{
	const char *end = text + length;
	size_t n = 0;

	while ((text = memchr(text, byte, end - text))) {
		n++;
		text++;
	}
	return n;
}

bool uobjscope_starts_well(const char *text, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(uobjscope_section_info); i++) {
		const char *name = uobjscope_section_info[i].name;
		size_t n = strlen(name);

		if (length > n ? !memcmp(text, name, n) && text[n] == ' ' :
				 !memcmp(text, name, length))
			return true;
	}
	return false;
}

struct part *uobjscope_parse_part(char *text, size_t length, const char *name,
				  unsigned int want, struct uobjscope_error *error)
{
	size_t lines = count_byte(text, length, '\n');
	size_t fields = count_byte(text, length, '=');
	struct part *part = calloc(1, sizeof(*part));
	struct parser parser = { .name = name, .part = part, .error = error };

	if (!part) {
		free(text);
		uobjscope_nomem(error, name);
		return NULL;
	}
	part->text = text;
	/* A room more than needed, for the line that is one too many. */
	part->records = calloc(lines + 1, sizeof(*part->records));
	part->fields = calloc(fields + 1, sizeof(*part->fields));
	if (!part->records || !part->fields) {
		uobjscope_nomem(error, name);
		goto fail;
	}
	parser.fields = part->fields;
	if (parse_lines(&parser, text, length) || check_sections(&parser, want))
		goto fail;
	return part;

fail:
	uobjscope_free_part(part);
	return NULL;
}

void uobjscope_free_part(struct part *part)
{
	free(part->fields);
	free(part->records);
	free(part->text);
	free(part);
}

struct uobjscope *uobjscope_from_part(struct part *part, const char *name,
				      struct uobjscope_error *error)
{
	struct uobjscope *scope = calloc(1, sizeof(*scope));

	if (!scope) {
		uobjscope_free_part(part);
		uobjscope_nomem(error, name);
		return NULL;
	}
	scope->parts = part;
	if (uobjscope_build(scope, name, error)) {
		uobjscope_free(scope);
		return NULL;
	}
	return scope;
}

struct uobjscope *uobjscope_parse(const char *text, size_t length, const char *name,
				  unsigned int want, struct uobjscope_error *error)
{
	char *copy = malloc(length + 1);
	struct part *part;

	if (!copy) {
		uobjscope_nomem(error, name);
		return NULL;
	}
	memcpy(copy, text, length);
	copy[length] = '\0';
	part = uobjscope_parse_part(copy, length, name, want, error);
	return part ? uobjscope_from_part(part, name, error) : NULL;
}
