/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of libuobjscope share.  Nothing here is for its users.
 */
#ifndef UOBJSCOPE_INTERNAL_H
#define UOBJSCOPE_INTERNAL_H

#include <uobjscope.h>

/* Not exported by the shared library. */
#pragma GCC visibility push(hidden)

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* One line.  Its strings lie in the text of the part that it came from. */
struct uobjscope_record {
	enum uobjscope_type type;
	enum uobjscope_section section;
	unsigned long line;
	const char *name;
	struct uobjscope_field *fields;
	size_t count;
};

/**
 * struct part - a text that was parsed, and all records that lie in it
 * @next:	the part that was added before
 * @text:	the text; the parser puts NULs and unescaped bytes into it
 * @records:	one for each line that is neither a header nor an end
 * @count:	number of @records
 * @headers:	one for each section that the text has
 * @fields:	the fields of all records, one after the other
 * @sections:	which sections the text has
 */
struct part {
	struct part *next;
	char *text;
	struct uobjscope_record *records;
	size_t count;
	struct uobjscope_record headers[4];
	struct uobjscope_field *fields;
	unsigned int sections;
};

struct index_item {
	uint64_t first;
	uint64_t second;
	const struct uobjscope_record *record;
};

/* Records sorted by one or two keys; both arrays are in the same order. */
struct index {
	struct index_item *items;
	const struct uobjscope_record **records;
	size_t count;
};

struct uobjscope {
	struct part *parts;
	unsigned int sections;
	const struct uobjscope_record *headers[4];
	const struct uobjscope_record **by_type[UOBJSCOPE_TYPES];
	size_t count[UOBJSCOPE_TYPES];
	struct index indexes[UOBJSCOPE_INDEXES];
	size_t changed;
};

/**
 * struct key_info - what is known of a key
 * @name:	its name
 * @form:	what its values look like
 * @dash:	whether `-` stands for "there is none"
 * @max:	largest value of a number
 */
struct key_info {
	const char *name;
	enum uobjscope_form form;
	bool dash;
	uint64_t max;
};

extern const struct key_info uobjscope_key_info[UOBJSCOPE_KEYS];

/**
 * struct record_info - what is known of a record
 * @name:	first word of its line
 * @section:	section that it belongs to
 * @type:	its type
 * @needed:	keys without which it says nothing, ended by %UOBJSCOPE_KEYS
 */
struct record_info {
	const char *name;
	enum uobjscope_section section;
	enum uobjscope_type type;
	enum uobjscope_key needed[5];
};

/**
 * struct section_info - what is known of a section
 * @name:	first word of its header
 * @section:	which it is
 */
struct section_info {
	const char *name;
	enum uobjscope_section section;
};

extern const struct section_info uobjscope_section_info[4];

const struct record_info *uobjscope_record_info(enum uobjscope_section section,
						const char *name);
enum uobjscope_key uobjscope_key_by_name(const char *name);

/* Fill *error if there is one; return -1 so that a caller can end with it. */
int uobjscope_fail(struct uobjscope_error *error, enum uobjscope_status status,
		   unsigned long line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int uobjscope_nomem(struct uobjscope_error *error, const char *name);

/* What fits into a message of a text that may be anything. */
#define QUOTED_MAX 41
const char *uobjscope_quote(char quoted[QUOTED_MAX], const char *text, size_t length);

/*
 * Parse text into a part.  The text belongs to the part from then on, also
 * where the call fails and returns NULL.
 */
struct part *uobjscope_parse_part(char *text, size_t length, const char *name,
				  unsigned int want, struct uobjscope_error *error);
void uobjscope_free_part(struct part *part);

/* A snapshot with this one part, which then belongs to it, also on failure. */
struct uobjscope *uobjscope_from_part(struct part *part, const char *name,
				      struct uobjscope_error *error);

/* Read up to the end, or until the text is seen to be none of ours. */
char *uobjscope_read_all(int fd, const char *name, size_t *length,
			 struct uobjscope_error *error);
/* Whether text begins as one of ours, as far as it goes. */
bool uobjscope_starts_well(const char *text, size_t length);

/* (Re)build what makes look-ups fast; on failure the snapshot is as it was. */
int uobjscope_build(struct uobjscope *scope, const char *name, struct uobjscope_error *error);

#pragma GCC visibility pop

#endif
