/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the uobjscope command share.
 */
#ifndef UOBJSCOPE_CLI_H
#define UOBJSCOPE_CLI_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <uobjscope.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Exit statuses, as the man page has them. */
enum {
	EXIT_FINE	= 0,
	EXIT_DIFFERENT	= 1,	/* also: nothing was found */
	EXIT_USAGE	= 2,
	EXIT_UNREADABLE	= 3,
	EXIT_COMMAND	= 4,	/* leaks: nothing is left, but the command has failed */
};

/**
 * struct options - the command line
 * @command:	first word
 * @args:	the words after it
 * @nargs:	their number
 * @device:	-d, or NULL
 * @file:	-f, or NULL for the running kernel
 * @fds:	--fds, or NULL
 * @debugfs:	--debugfs, or NULL
 * @json:	--json
 * @interval:	-n, in seconds, 0 if not given
 * @count:	--count, 0 for no end
 * @format:	--format, or NULL
 * @axis:	--axis, or NULL
 * @quoted:	all words after the command were behind a --
 */
struct options {
	const char *command;
	char **args;
	int nargs;
	const char *device;
	const char *file;
	const char *fds;
	const char *debugfs;
	bool json;
	double interval;
	unsigned long count;
	const char *format;
	const char *axis;
	bool quoted;
};

/* ---- util.c ---- */

/* One line to stderr that begins with the program's name. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void remark(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* There is no memory: say so and end; nothing was printed yet. */
__attribute__((noreturn)) void no_memory(void);
void *need(void *memory);
char *format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Read what -f, -d and --fds ask for; NULL after an error line was printed. */
struct uobjscope *load(const struct options *options);
struct uobjscope *load_file(const struct options *options, const char *path);
/* The same of load() without a word on what is doubtful in it, which is said apart. */
struct uobjscope *load_silently(const struct options *options);
void note_limits(const struct uobjscope *scope);

/*
 * Output is collected and then printed at once, so that an error on the way
 * leaves nothing that could be taken for a result.
 */
FILE *begin_output(void);
/* Return status, or EXIT_UNREADABLE if it could not be written. */
int end_output(FILE *out, int status);

/* Columns of the terminal, 0 if output goes elsewhere: then nothing is cut. */
int terminal_width(void);

/* ---- text.c ---- */

/* A value for a person, printable ASCII only; "-" if it is absent or none. */
char *value_text(const struct uobjscope_record *record, enum uobjscope_key key);
/* type and identifying keys of a record: "uobj ufile=2 type=DM handle=3" */
char *title_text(const struct uobjscope_record *record);
/* all keys of a record that mean something outside of its snapshot */
char *record_text(const struct uobjscope_record *record);
/* "pid 77 (name)": the process of a vma or an fd, else the opener of the ufile */
char *process_text(const struct uobjscope *scope, const struct uobjscope_record *record);
/* the device's own number of a uobject: "mrn 3"; "-" if it has none */
char *number_text(const struct uobjscope_record *uobj);

/* ---- json.c ---- */

/*
 * A record with the names that rdma(8) has; scope adds ifname, pid and comm of
 * the ufile where the record has none.
 */
json_object *json_record(const struct uobjscope *scope, const struct uobjscope_record *record);
json_object *json_array(void);
/* A copy that is UTF-8; U+FFFD stands for what is not. */
char *utf8_text(const char *text);
json_object *json_map(void);
void json_put(json_object *map, const char *key, json_object *value);
void json_append(json_object *array, json_object *value);
json_object *json_text(const char *text);
json_object *json_number(uint64_t number);
json_object *json_header(const struct uobjscope *scope);
/* Print and give back; one line if compact. */
void json_print(json_object *json, FILE *out, bool compact);

/* ---- table.c ---- */

/**
 * struct column - a column of a table
 * @name:	its heading
 * @right:	align to the right
 * @hide:	where the terminal is too narrow, columns with the highest number are
 *		left out first, those with 0 last
 */
struct column {
	const char *name;
	bool right;
	int hide;
};

struct table;

struct table *table_new(const struct column *columns, size_t count);
/* Cells fill a row from the left, then the next; the table frees the text. */
void table_cell(struct table *table, char *text);
void table_print(struct table *table, const char *caption, FILE *out, int width);
void table_free(struct table *table);

/* ---- holders.c, with the events that made the holders where births is not NULL ---- */

struct births;

void print_report(const struct uobjscope *scope, const struct uobjscope_report *report,
		  const struct births *births, FILE *out);
json_object *json_report(const struct uobjscope *scope, const struct uobjscope_report *report,
			 const struct births *births);
/* Its kind is padded to so many columns. */
void print_holder(const struct uobjscope *scope, const struct uobjscope_holder *holder,
		  int width, FILE *out);
void print_title(const struct uobjscope *scope, const struct uobjscope_report *report,
		 FILE *out);
json_object *json_holder(const struct uobjscope *scope, const struct uobjscope_holder *holder);

/* ---- commands ---- */

int print_show(const struct uobjscope *scope, const char *what, bool json, bool compact,
	       FILE *out);
bool is_show(const char *what);

int cmd_show(const struct options *options);
int cmd_tree(const struct options *options);
int cmd_diff(const struct options *options);
int cmd_save(const struct options *options);
int cmd_watch(const struct options *options);
int cmd_timeline(const struct options *options);
int cmd_holders(const struct options *options);
int cmd_leaks(const struct options *options);

#endif
