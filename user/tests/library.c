// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of libuobjscope that need no kernel.
 *
 * library SAMPLES-FOLDER SCRATCH-FOLDER SECONDS
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <uobjscope.h>

#include "test.h"

#define HEADER "uobjscope v=1 kernel=k time_ns=1 seq=1 deref=0 registry=fprobe dropped=0\n"

static const char *samples;
static const char *scratch;

static struct uobjscope *parse(const char *text, struct uobjscope_error *error)
{
	return uobjscope_parse(text, strlen(text), "text", UOBJSCOPE_SNAPSHOT, error);
}

static struct uobjscope *sample(const char *name, const char *fds)
{
	char path[4096];
	struct uobjscope_error error;
	struct uobjscope *scope;

	snprintf(path, sizeof(path), "%s/%s", samples, name);
	scope = uobjscope_load_file(path, UOBJSCOPE_SNAPSHOT, &error);
	if (scope && fds) {
		snprintf(path, sizeof(path), "%s/%s", samples, fds);
		if (uobjscope_add_fds(scope, path, &error)) {
			uobjscope_free(scope);
			scope = NULL;
		}
	}
	if (!scope) {
		printf("Bail out! %s\n", error.message);
		exit(1);
	}
	return scope;
}

/* ---- the parser ---- */

static const struct bad {
	const char *name;
	const char *text;
	enum uobjscope_status status;
	unsigned long line;
	const char *message;
} bad_texts[] = {
	{ "empty", "", UOBJSCOPE_ERR_TRUNCATED, 0, "empty" },
	{ "foreign", "root:x:0:0\n", UOBJSCOPE_ERR_FOREIGN, 1, "expected 'uobjscope v=1'" },
	{ "foreign-without-newline", "hello", UOBJSCOPE_ERR_FOREIGN, 1, "'hello'" },
	{ "no-version", "uobjscope kernel=k\nend records=0\n", UOBJSCOPE_ERR_FOREIGN, 1,
	  "no version" },
	{ "version-2", "uobjscope v=2 {x}\n", UOBJSCOPE_ERR_VERSION, 1, "expected version 1" },
	{ "version-10", "uobjscope v=10\nend records=0\n", UOBJSCOPE_ERR_VERSION, 1,
	  "version 10" },
	{ "version-01", "uobjscope v=01\nend records=0\n", UOBJSCOPE_ERR_VERSION, 1, "01" },
	{ "other-section", "fds v=1\nend records=0\n", UOBJSCOPE_ERR_TRUNCATED, 2,
	  "no 'uobjscope v=1' text" },
	{ "no-end", HEADER "device name=a\n", UOBJSCOPE_ERR_TRUNCATED, 2, "after line 2" },
	{ "no-last-newline", HEADER "end records=0", UOBJSCOPE_ERR_TRUNCATED, 2,
	  "no newline" },
	{ "too-few-records", HEADER "device name=a\nend records=2\n", UOBJSCOPE_ERR_TRUNCATED,
	  3, "1 records, expected 2" },
	{ "too-many-records", HEADER "device name=a\nend records=0\n",
	  UOBJSCOPE_ERR_TRUNCATED, 3, "1 records, expected 0" },
	{ "end-without-number", HEADER "end records=\n", UOBJSCOPE_ERR_SYNTAX, 2,
	  "expected 'end records=N'" },
	{ "end-with-more", HEADER "end records=0 x=1\n", UOBJSCOPE_ERR_SYNTAX, 2,
	  "expected 'end records=N'" },
	{ "text-after-end", HEADER "end records=0\ndevice name=a\n", UOBJSCOPE_ERR_SYNTAX, 3,
	  "after the end" },
	{ "two-snapshots", HEADER "end records=0\n" HEADER "end records=0\n",
	  UOBJSCOPE_ERR_SYNTAX, 3, "a second 'uobjscope'" },
	{ "empty-line", HEADER "\nend records=1\n", UOBJSCOPE_ERR_SYNTAX, 2, "empty" },
	{ "tab", HEADER "device\tname=a\nend records=1\n", UOBJSCOPE_ERR_SYNTAX, 2,
	  "byte 0x09 in column 7" },
	{ "carriage-return", HEADER "device name=a\r\nend records=1\n", UOBJSCOPE_ERR_SYNTAX,
	  2, "byte 0x0d" },
	{ "high-byte", HEADER "device name=\xc3\xa4\nend records=1\n", UOBJSCOPE_ERR_SYNTAX,
	  2, "byte 0xc3" },
	{ "two-blanks", HEADER "device  name=a\nend records=1\n", UOBJSCOPE_ERR_SYNTAX, 2,
	  "two blanks" },
	{ "blank-at-end", HEADER "device name=a\x20\nend records=1\n", UOBJSCOPE_ERR_SYNTAX, 2,
	  "two blanks" },
	{ "no-equals", HEADER "device name\nend records=1\n", UOBJSCOPE_ERR_SYNTAX, 2,
	  "not of the form key=value" },
	{ "equals-in-value", HEADER "device name=a=b\nend records=1\n", UOBJSCOPE_ERR_SYNTAX,
	  2, "expected %3D" },
	{ "key-in-capitals", HEADER "device Name=a\nend records=1\n", UOBJSCOPE_ERR_SYNTAX, 2,
	  "not a key" },
	{ "record-in-capitals", HEADER "Device name=a\nend records=1\n", UOBJSCOPE_ERR_SYNTAX,
	  2, "not the name of a record" },
	{ "escape-cut", HEADER "device name=a%4\nend records=1\n", UOBJSCOPE_ERR_SYNTAX, 2,
	  "two hexadecimal digits" },
	{ "escape-wrong", HEADER "device name=a%4g\nend records=1\n", UOBJSCOPE_ERR_SYNTAX, 2,
	  "two hexadecimal digits" },
	{ "escape-nul", HEADER "device name=a%00b\nend records=1\n", UOBJSCOPE_ERR_SYNTAX, 2,
	  "%00" },
	{ "same-key-twice", HEADER "device name=a name=b\nend records=1\n",
	  UOBJSCOPE_ERR_SYNTAX, 2, "'name' is there twice" },
	{ "same-unknown-key-twice", HEADER "device name=a zz=1 ab=2 zz=3\nend records=1\n",
	  UOBJSCOPE_ERR_SYNTAX, 2, "'zz' is there twice" },
	{ "key-missing", HEADER "uobj ufile=1 type=PD\nend records=1\n", UOBJSCOPE_ERR_SYNTAX,
	  2, "uobj without 'class'" },
	{ "ufile-twice", HEADER "ufile id=3 state=live\nufile id=4 state=live\n"
	  "ufile id=3 state=live\nend records=3\n", UOBJSCOPE_ERR_SYNTAX, 4,
	  "ufile 3 is there twice" },
	{ "number-negative", HEADER "ufile id=-1 state=live\nend records=1\n",
	  UOBJSCOPE_ERR_SYNTAX, 2, "id=-1" },
	{ "number-with-sign", HEADER "ufile id=+1 state=live\nend records=1\n",
	  UOBJSCOPE_ERR_SYNTAX, 2, "id=+1" },
	{ "number-empty", HEADER "ufile id= state=live\nend records=1\n", UOBJSCOPE_ERR_SYNTAX,
	  2, "id=" },
	{ "number-leading-zero", HEADER "ufile id=01 state=live\nend records=1\n",
	  UOBJSCOPE_ERR_SYNTAX, 2, "id=01" },
	{ "number-letters", HEADER "ufile id=1a state=live\nend records=1\n",
	  UOBJSCOPE_ERR_SYNTAX, 2, "id=1a" },
	{ "number-hex-empty", HEADER "ufile id=0x state=live\nend records=1\n",
	  UOBJSCOPE_ERR_SYNTAX, 2, "id=0x" },
	{ "number-64-bits-and-one",
	  HEADER "ufile id=18446744073709551616 state=live\nend records=1\n",
	  UOBJSCOPE_ERR_SYNTAX, 2, "from 0 to 18446744073709551615" },
	{ "handle-32-bits-and-one",
	  HEADER "uobj ufile=1 type=PD class=idr handle=4294967296\nend records=1\n",
	  UOBJSCOPE_ERR_SYNTAX, 2, "from 0 to 4294967295" },
	{ "usecnt-too-low",
	  HEADER "uobj ufile=1 type=PD class=idr usecnt=-2147483649\nend records=1\n",
	  UOBJSCOPE_ERR_SYNTAX, 2, "from -2147483648 to 2147483647" },
	{ "pid-too-large", HEADER "ufile id=1 state=live pid=4194305\nend records=1\n",
	  UOBJSCOPE_ERR_SYNTAX, 2, "from 0 to 4194304" },
	{ "refused-32-bits-and-one", "uobjscope v=1 refused=4294967296\nend records=0\n",
	  UOBJSCOPE_ERR_SYNTAX, 1, "from 0 to 4294967295" },
	{ "bool-2", HEADER "ufile id=1 state=live changed=2\nend records=1\n",
	  UOBJSCOPE_ERR_SYNTAX, 2, "expected 0 or 1" },
	{ "token-short", HEADER "uobj ufile=1 type=PD class=idr token=123456789abcdef\n"
	  "end records=1\n", UOBJSCOPE_ERR_SYNTAX, 2, "16 hexadecimal digits" },
	{ "token-long", HEADER "uobj ufile=1 type=PD class=idr token=123456789abcdef01\n"
	  "end records=1\n", UOBJSCOPE_ERR_SYNTAX, 2, "16 hexadecimal digits" },
};

static void test_bad_texts(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad_texts); i++) {
		const struct bad *bad = &bad_texts[i];
		struct uobjscope_error error = { 0 };
		struct uobjscope *scope = parse(bad->text, &error);
		char name[100];

		EXPECT(!scope);
		EXPECT(error.status == bad->status, "status %d: %s", error.status, error.message);
		EXPECT(error.line == bad->line, "line %lu: %s", error.line, error.message);
		EXPECT(strstr(error.message, bad->message), "%s", error.message);
		EXPECT(!strchr(error.message, '\n'));
		uobjscope_free(scope);
		/* Nobody needs to want to know. */
		EXPECT(!parse(bad->text, NULL));
		snprintf(name, sizeof(name), "parse.refuses.%s", bad->name);
		test_end(name);
	}
}

static void test_line_length(void)
{
	char text[3000], name[1200];
	struct uobjscope_error error;
	struct uobjscope *scope;

	memset(name, 'x', sizeof(name));
	for (int extra = 0; extra <= 1; extra++) {
		int n = UOBJSCOPE_LINE_MAX - (int)strlen("device name=") + extra;

		snprintf(text, sizeof(text), HEADER "device name=%.*s\nend records=1\n", n, name);
		scope = parse(text, &error);
		if (extra)
			EXPECT(!scope && error.line == 2 && strstr(error.message, "1025 bytes"),
			       "%s", error.message);
		else
			EXPECT(scope, "%s", error.message);
		uobjscope_free(scope);
	}
	test_end("parse.line-length");
}

static void test_nul_byte(void)
{
	char text[] = HEADER "device name=a?b\nend records=1\n";
	struct uobjscope_error error = { 0 };

	*strchr(text, '?') = '\0';
	EXPECT(!uobjscope_parse(text, sizeof(text) - 1, "text", UOBJSCOPE_SNAPSHOT, &error));
	EXPECT(strstr(error.message, "byte 0x00"), "%s", error.message);
	test_end("parse.refuses.nul");
}

#define LARGEST_UOBJ \
	"uobj ufile=0xffffffffffffffff type=PD class=idr handle=4294967295 " \
	"usecnt=-1 token=-\n"

static void test_numbers(void)
{
	struct uobjscope *scope = parse(HEADER
		"ufile id=18446744073709551615 state=live ref=-1073741824 pid=4194304 comm=\n"
		LARGEST_UOBJ
		"end records=2\n", NULL);
	const struct uobjscope_record *ufile, *uobj;
	uint64_t value = 7;
	int64_t number = 7;

	EXPECT(scope);
	ufile = uobjscope_ufile(scope, UINT64_MAX);
	uobj = uobjscope_uobj(scope, UINT64_MAX, "pd", UINT32_MAX);
	EXPECT(ufile && uobj);
	EXPECT(uobjscope_get_signed(ufile, UOBJSCOPE_KEY_REF, &number) && number == -1073741824);
	EXPECT(uobjscope_get_signed(uobj, UOBJSCOPE_KEY_USECNT, &number) && number == -1);
	EXPECT(uobjscope_get(ufile, UOBJSCOPE_KEY_PID, &value) && value == 4194304);
	EXPECT(!strcmp(uobjscope_text(ufile, UOBJSCOPE_KEY_COMM), ""));
	value = 7;
	EXPECT(!uobjscope_get(ufile, UOBJSCOPE_KEY_CTXN, &value) && value == 7);
	EXPECT(uobjscope_field(uobj, UOBJSCOPE_KEY_TOKEN)->none);
	EXPECT(!uobjscope_has(uobj, UOBJSCOPE_KEY_TOKEN));
	EXPECT(!uobjscope_text(uobj, UOBJSCOPE_KEY_TOKEN));
	EXPECT(uobjscope_find(scope, UOBJSCOPE_UFILES_BY_ID, UINT64_MAX).count == 1);
	uobjscope_free(scope);
	test_end("parse.numbers");
}

/* The header counts devices, the text info says it of each one. */
static void test_refused(void)
{
	struct uobjscope *scope = sample("refused.txt", NULL);
	char path[4096];
	uint64_t value = 7;

	EXPECT(uobjscope_get(uobjscope_header(scope, UOBJSCOPE_SNAPSHOT), UOBJSCOPE_KEY_REFUSED,
			     &value) && value == 2);
	uobjscope_free(scope);
	snprintf(path, sizeof(path), "%s/info.txt", samples);
	scope = uobjscope_load_file(path, UOBJSCOPE_INFO, NULL);
	EXPECT(scope && uobjscope_get(uobjscope_record(scope, UOBJSCOPE_DEVICE, 0),
				      UOBJSCOPE_KEY_REFUSED, &value) && !value);
	uobjscope_free(scope);
	test_end("parse.refused");
}

static void test_escapes(void)
{
	struct uobjscope *scope = sample("live.txt", NULL);
	const char *comm = uobjscope_text(uobjscope_ufile(scope, 3), UOBJSCOPE_KEY_COMM);

	EXPECT(comm && !strcmp(comm, "a b=c%d\n"), "%s", comm);
	uobjscope_free(scope);
	test_end("parse.escapes");
}

static void test_unknown_kept(void)
{
	struct uobjscope *scope = sample("later-keys.txt", NULL);
	const struct uobjscope_record *quark = uobjscope_record(scope, UOBJSCOPE_OTHER, 0);
	const struct uobjscope_field *fields;
	size_t count;

	EXPECT(quark && !strcmp(uobjscope_record_name(quark), "quark"));
	fields = uobjscope_fields(uobjscope_ufile(scope, 1), &count);
	EXPECT(count > 2 && !strcmp(fields[count - 1].name, "mass") &&
	       !strcmp(fields[count - 1].text, "heavy") &&
	       fields[count - 1].key == UOBJSCOPE_KEY_OTHER);
	EXPECT(!uobjscope_field(uobjscope_ufile(scope, 1), UOBJSCOPE_KEY_OTHER));
	EXPECT(uobjscope_changed(scope) == 1);
	EXPECT(uobjscope_count(scope, UOBJSCOPE_DEVICE) == 1);
	uobjscope_free(scope);
	test_end("parse.unknown-is-kept");
}

/* A text of all sections, as `save` writes it. */
static char *write_text(const struct uobjscope *scope, size_t *length)
{
	char *text;
	FILE *stream = open_memstream(&text, length);

	EXPECT(!uobjscope_write(scope, stream));
	fclose(stream);
	return text;
}

static void test_every_prefix(void)
{
	struct uobjscope *scope = sample("live.txt", "live.fds");
	size_t length, taken = 0;
	char *text = write_text(scope, &length);
	struct uobjscope *whole = parse(text, NULL);

	EXPECT(whole);
	uobjscope_free(whole);
	for (size_t n = 0; n < length; n++) {
		struct uobjscope *part = uobjscope_parse(text, n, "text", UOBJSCOPE_SNAPSHOT,
							 NULL);

		taken += !!part;
		uobjscope_free(part);
	}
	EXPECT(!taken, "%zu of %zu prefixes were taken for whole", taken, length);
	free(text);
	uobjscope_free(scope);
	test_end("parse.refuses.every-prefix");
}

static void test_every_missing_line(void)
{
	char path[4096];
	size_t length, taken = 0, lines = 0;
	char *text, *copy;

	snprintf(path, sizeof(path), "%s/live.txt", samples);
	text = test_read(path, &length);
	copy = malloc(length);
	for (char *line = text; *line; lines++) {
		char *next = strchr(line, '\n') + 1;
		size_t before = line - text;
		struct uobjscope *scope;

		memcpy(copy, text, before);
		memcpy(copy + before, next, length - (next - text));
		scope = uobjscope_parse(copy, length - (next - line), "text",
					UOBJSCOPE_SNAPSHOT, NULL);
		taken += !!scope;
		uobjscope_free(scope);
		line = next;
	}
	EXPECT(lines > 20 && !taken, "%zu of %zu were taken for whole", taken, lines);
	free(copy);
	free(text);
	test_end("parse.refuses.every-missing-line");
}

static void test_round_trip(void)
{
	static const char *const names[] = { "live.txt", "freed.txt", "unbound.txt",
					     "later-keys.txt", "refused.txt" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct uobjscope *scope = sample(names[i], NULL);
		size_t n, m;
		char *first = write_text(scope, &n);
		struct uobjscope *again = parse(first, NULL);
		char *second = again ? write_text(again, &m) : NULL;
		struct uobjscope_diff *diff = again ? uobjscope_diff(scope, again, NULL) : NULL;

		EXPECT(again && n == m && !memcmp(first, second, n), "%s", names[i]);
		EXPECT(diff && !uobjscope_diff_count(diff), "%s", names[i]);
		uobjscope_diff_free(diff);
		uobjscope_free(again);
		uobjscope_free(scope);
		free(first);
		free(second);
	}
	test_end("write.round-trip");
}

static void test_info_and_layout(void)
{
	char path[4096];
	struct uobjscope *scope;
	uint64_t ns = 0;
	int64_t number = 0;

	snprintf(path, sizeof(path), "%s/info.txt", samples);
	scope = uobjscope_load_file(path, UOBJSCOPE_INFO, NULL);
	EXPECT(scope && uobjscope_count(scope, UOBJSCOPE_PROBE) == 2);
	EXPECT(scope && uobjscope_get(uobjscope_record(scope, UOBJSCOPE_LOCK, 0),
				      UOBJSCOPE_KEY_MAX_HELD_NS, &ns) && ns == 12345);
	EXPECT(scope && uobjscope_get_signed(uobjscope_record(scope, UOBJSCOPE_PROBE, 1),
					     UOBJSCOPE_KEY_ERROR, &number) && number == -2);
	uobjscope_free(scope);
	EXPECT(!uobjscope_load_file(path, UOBJSCOPE_SNAPSHOT, NULL));
	snprintf(path, sizeof(path), "%s/layout.txt", samples);
	scope = uobjscope_load_file(path, UOBJSCOPE_LAYOUT, NULL);
	EXPECT(scope && uobjscope_count(scope, UOBJSCOPE_STRUCT) == 1 &&
	       uobjscope_count(scope, UOBJSCOPE_MEMBER) == 1);
	uobjscope_free(scope);
	test_end("parse.info-and-layout");
}

/* ---- look-ups ---- */

static void test_lookup(void)
{
	struct uobjscope *scope = sample("live.txt", "live.fds");
	const struct uobjscope_record *dm = uobjscope_uobj(scope, 2, "DM", 2);
	const struct uobjscope_record *var = uobjscope_uobj(scope, 2, "VAR", 1);
	const struct uobjscope_record *attach = uobjscope_record(scope, UOBJSCOPE_ATTACH, 0);
	struct uobjscope_group group;
	uint64_t value;

	EXPECT(dm && var && attach);
	EXPECT(!uobjscope_uobj(scope, 2, "PD", 2));
	EXPECT(uobjscope_uobj(scope, 2, NULL, 2) == dm);
	EXPECT(!uobjscope_uobj(scope, 3, NULL, 2));
	/* Records without a handle are not those with the largest one. */
	EXPECT(!uobjscope_uobj(scope, 2, NULL, UINT32_MAX));
	EXPECT(uobjscope_entry_of(scope, var) == uobjscope_mmap(scope, 2, 0x90001));
	/* The DM has no entry token, its entry has the DM's object token. */
	EXPECT(!uobjscope_has(dm, UOBJSCOPE_KEY_ENTRY));
	EXPECT(uobjscope_entry_of(scope, dm) == uobjscope_mmap(scope, 2, 0x80000));
	EXPECT(uobjscope_mr_of(scope, attach) == uobjscope_uobj(scope, 2, "MR", 5));
	EXPECT(uobjscope_get(uobjscope_dmabuf(scope, 3), UOBJSCOPE_KEY_FILE_REF, &value) &&
	       value == 4);
	EXPECT(!uobjscope_dmabuf(scope, 5));
	group = uobjscope_find(scope, UOBJSCOPE_VMAS_BY_PID, 155);
	EXPECT(group.count == 4, "%zu", group.count);
	group = uobjscope_find(scope, UOBJSCOPE_FDS_BY_INO, 3);
	EXPECT(group.count == 2, "%zu", group.count);
	group = uobjscope_find_both(scope, UOBJSCOPE_FDS_BY_PID, 156, 9);
	EXPECT(group.count == 1, "%zu", group.count);
	group = uobjscope_find(scope, UOBJSCOPE_UFILES_BY_ID, 9);
	EXPECT(!group.count);
	uobjscope_free(scope);
	test_end("lookup.records");
}

static void test_groups(void)
{
	struct uobjscope *scope = sample("live.txt", "live.fds");
	struct uobjscope_group *groups;
	size_t count;

	EXPECT(!uobjscope_groups(scope, UOBJSCOPE_FDS_BY_PID, &groups, &count));
	EXPECT(count == 2 && groups[0].value == 155 && groups[0].count == 4 &&
	       groups[1].value == 156 && groups[1].count == 1);
	free(groups);
	EXPECT(!uobjscope_groups(scope, UOBJSCOPE_UOBJS_BY_MRN, &groups, &count));
	EXPECT(count == 2);
	free(groups);
	uobjscope_free(scope);
	test_end("lookup.groups");
}

static void test_select_device(void)
{
	struct uobjscope *scope = sample("unbound.txt", "unbound.fds");
	struct uobjscope_error error = { 0 };

	EXPECT(uobjscope_select_device(scope, "mlx5_9", &error) == -1 &&
	       error.status == UOBJSCOPE_ERR_NO_DEVICE && strstr(error.message, "mlx5_1"),
	       "%s", error.message);
	EXPECT(uobjscope_count(scope, UOBJSCOPE_UFILE) == 2);
	/* The device is gone, its uverbs name is not. */
	EXPECT(!uobjscope_select_device(scope, "uverbs0", &error));
	EXPECT(uobjscope_count(scope, UOBJSCOPE_UFILE) == 2);
	EXPECT(!uobjscope_count(scope, UOBJSCOPE_DEVICE));
	EXPECT(uobjscope_count(scope, UOBJSCOPE_FD) == 4);
	uobjscope_free(scope);
	scope = sample("unbound.txt", "unbound.fds");
	EXPECT(!uobjscope_select_device(scope, "mlx5_1", &error));
	EXPECT(!uobjscope_count(scope, UOBJSCOPE_UFILE) && !uobjscope_count(scope, UOBJSCOPE_UOBJ));
	EXPECT(uobjscope_count(scope, UOBJSCOPE_DEVICE) == 1);
	uobjscope_free(scope);
	test_end("lookup.select-device");
}

/* ---- differences ---- */

static size_t count_changes(const struct uobjscope_diff *diff, enum uobjscope_change_kind kind)
{
	const struct uobjscope_change *change;
	size_t count = 0;

	for (size_t i = 0; (change = uobjscope_diff_change(diff, i)); i++)
		count += change->kind == kind;
	return count;
}

static void expect_diff(const char *name, const char *a, const char *b, size_t added,
			size_t removed, size_t changed)
{
	struct uobjscope_error error = { 0 };
	struct uobjscope *before = parse(a, &error);
	struct uobjscope *after = before ? parse(b, &error) : NULL;
	struct uobjscope_diff *diff;
	char test[100];

	EXPECT(before && after, "%s", error.message);
	diff = before && after ? uobjscope_diff(before, after, NULL) : NULL;
	EXPECT(diff && count_changes(diff, UOBJSCOPE_ADDED) == added &&
	       count_changes(diff, UOBJSCOPE_REMOVED) == removed &&
	       count_changes(diff, UOBJSCOPE_CHANGED) == changed,
	       "%zu added, %zu removed, %zu changed",
	       diff ? count_changes(diff, UOBJSCOPE_ADDED) : 0,
	       diff ? count_changes(diff, UOBJSCOPE_REMOVED) : 0,
	       diff ? count_changes(diff, UOBJSCOPE_CHANGED) : 0);
	uobjscope_diff_free(diff);
	uobjscope_free(before);
	uobjscope_free(after);
	snprintf(test, sizeof(test), "diff.%s", name);
	test_end(test);
}

#define PD "uobj ufile=1 type=PD class=idr handle=1 "
#define CHANNEL(ref, token) \
	"uobj ufile=1 type=COMP_CHANNEL type_id=0x2 class=fd ref=" ref " token=" token "\n"
#define T1 "0000000000000001"
#define T2 "0000000000000002"
#define T3 "0000000000000003"

static void test_diffs(void)
{
	expect_diff("tokens-are-no-identity",
		    HEADER PD "token=" T1 "\nend records=1\n",
		    HEADER PD "token=" T2 "\nend records=1\n",
		    0, 0, 0);
	expect_diff("reused-token-is-another-object",
		    HEADER "uobj ufile=1 type=PD class=idr handle=1 token=" T1 "\nend records=1\n",
		    HEADER "uobj ufile=2 type=PD class=idr handle=1 token=" T1 "\nend records=1\n",
		    1, 1, 0);
	expect_diff("type-is-part-of-identity",
		    HEADER "uobj ufile=1 type=PD type_id=0x1 class=idr handle=1\nend records=1\n",
		    HEADER "uobj ufile=1 type=CQ type_id=0x3 class=idr handle=1\nend records=1\n",
		    1, 1, 0);
	expect_diff("type-that-lost-its-name",
		    HEADER "uobj ufile=1 type=MLX5_VAR type_id=0x1006 class=idr handle=1\n"
		    "end records=1\n",
		    HEADER "uobj ufile=1 type=DRIVER type_id=0x1006 class=idr handle=1\n"
		    "end records=1\n",
		    0, 0, 1);
	expect_diff("key-that-went-away",
		    HEADER "ufile id=1 state=live ctxn=1\nend records=1\n",
		    HEADER "ufile id=1 state=live\nend records=1\n", 0, 0, 1);
	expect_diff("unknown-keys-and-records-are-ignored",
		    HEADER "ufile id=1 state=live zz=1\nquark a=1\nend records=2\n",
		    HEADER "ufile id=1 state=live zz=2\nend records=1\n", 0, 0, 0);
	expect_diff("changed-is-ignored",
		    HEADER "ufile id=1 state=live changed=0\nend records=1\n",
		    HEADER "ufile id=1 state=live changed=1\nend records=1\n", 0, 0, 0);
	expect_diff("entry-by-its-pgoff",
		    HEADER "mmap ufile=1 pgoff=0x1 kind=VAR entry=" T1 "\n"
		    "mmap ufile=1 pgoff=0x2 kind=VAR entry=" T2 "\n"
		    "vma ufile=1 pid=1 start=0x1 end=0x2 entry=" T1 "\nend records=3\n",
		    HEADER "mmap ufile=1 pgoff=0x1 kind=VAR entry=" T2 "\n"
		    "mmap ufile=1 pgoff=0x2 kind=VAR entry=" T3 "\n"
		    "vma ufile=1 pid=1 start=0x1 end=0x2 entry=" T2 "\nend records=3\n", 0, 0, 0);
	expect_diff("entry-that-was-let-go",
		    HEADER "mmap ufile=1 pgoff=0x1 kind=VAR entry=" T1 "\n"
		    "vma ufile=1 pid=1 start=0x1 end=0x2 entry=" T1 "\nend records=2\n",
		    HEADER "mmap ufile=1 pgoff=0x1 kind=VAR entry=" T1 "\n"
		    "vma ufile=1 pid=1 start=0x1 end=0x2 entry=-\nend records=2\n", 0, 0, 1);
	expect_diff("one-without-handle-changes",
		    HEADER CHANNEL("2", T1) "end records=1\n",
		    HEADER CHANNEL("3", T2) "end records=1\n", 0, 0, 1);
	expect_diff("equal-ones-without-handle-are-paired",
		    HEADER CHANNEL("2", T1) CHANNEL("2", T2) CHANNEL("4", T3) "end records=3\n",
		    HEADER CHANNEL("4", T1) CHANNEL("2", T3) CHANNEL("5", T2) "end records=3\n",
		    0, 0, 1);
	expect_diff("many-without-handle-are-not-guessed",
		    HEADER CHANNEL("2", T1) CHANNEL("3", T2) "end records=2\n",
		    HEADER CHANNEL("4", T1) CHANNEL("5", T2) "end records=2\n", 2, 2, 0);
	expect_diff("dma-buf-by-inode",
		    HEADER "uobj ufile=1 type=DMABUF class=fd ino=3 kref=1\n"
		    "uobj ufile=1 type=DMABUF class=fd ino=4 kref=1\nend records=2\n",
		    HEADER "uobj ufile=1 type=DMABUF class=fd ino=4 kref=2\n"
		    "uobj ufile=1 type=DMABUF class=fd ino=3 kref=2\nend records=2\n", 0, 0, 2);
	expect_diff("attachment-that-is-unmapped",
		    HEADER "attach ufile=1 ino=3 device=d importer=i mapped=1 mrn=5\n"
		    "attach ufile=1 ino=3 device=d importer=i mapped=1 mrn=6\nend records=2\n",
		    HEADER "attach ufile=1 ino=3 device=d importer=i mapped=1 mrn=6\n"
		    "attach ufile=1 ino=3 device=d importer=i mapped=0\nend records=2\n", 0, 0, 1);
	expect_diff("nothing", HEADER "end records=0\n", HEADER "end records=0\n", 0, 0, 0);
}

static void test_diff_samples(void)
{
	struct uobjscope *live = sample("live.txt", NULL);
	struct uobjscope *freed = sample("freed.txt", NULL);
	struct uobjscope_diff *diff = uobjscope_diff(live, freed, NULL);
	const struct uobjscope_change *change;
	bool found = false;

	EXPECT(diff && uobjscope_diff_count(diff) == 4);
	for (size_t i = 0; (change = uobjscope_diff_change(diff, i)); i++) {
		if (change->type != UOBJSCOPE_MMAP)
			continue;
		found = true;
		EXPECT(uobjscope_diff_key(diff, change, 0) == UOBJSCOPE_KEY_REF);
		EXPECT(uobjscope_diff_key(diff, change, UOBJSCOPE_KEY_REF + 1) ==
		       UOBJSCOPE_KEY_DRIVER_REMOVED);
		EXPECT(uobjscope_diff_key(diff, change, UOBJSCOPE_KEY_DRIVER_REMOVED + 1) ==
		       UOBJSCOPE_KEYS);
	}
	EXPECT(found);
	uobjscope_diff_free(diff);
	uobjscope_free(live);
	uobjscope_free(freed);
	test_end("diff.freed-but-mapped-var");
}

/* ---- holders ---- */

/* explained, unexplained and the total of the count called name, of report n */
static const struct uobjscope_tally *tally(const struct uobjscope_holders *holders, size_t n,
					   const char *name)
{
	const struct uobjscope_report *report = uobjscope_holders_report(holders, n);

	for (size_t i = 0; report && i < report->count; i++)
		if (!strcmp(report->tallies[i].name, name))
			return &report->tallies[i];
	return NULL;
}

static void expect_tally(const struct uobjscope *scope, const char *object, const char *name,
			 int64_t total, uint64_t explained, uint64_t unexplained)
{
	struct uobjscope_error error = { 0 };
	struct uobjscope_holders *holders = uobjscope_holders(scope, object, &error);
	const struct uobjscope_tally *t = holders ? tally(holders, 0, name) : NULL;

	EXPECT(holders, "%s: %s", object, error.message);
	EXPECT(t, "%s has no %s", object, name);
	EXPECT(!t || (t->known ? t->total : -1) == total, "%s %s %lld", object, name,
	       (long long)t->total);
	EXPECT(!t || t->explained == explained, "%s %s explained %llu", object, name,
	       (unsigned long long)t->explained);
	EXPECT(!t || t->unexplained == unexplained, "%s %s unexplained %llu", object, name,
	       (unsigned long long)t->unexplained);
	uobjscope_holders_free(holders);
}

static void test_holders_live(void)
{
	struct uobjscope *scope = sample("live.txt", "live.fds");

	/* One fd of the dma-buf is in flight in a socket. */
	expect_tally(scope, "ino:3", "file_ref", 4, 3, 1);
	expect_tally(scope, "ino:3", "kref", 2, 2, 0);
	expect_tally(scope, "ino:3", "ref", 2, 2, 0);
	expect_tally(scope, "ino:4", "file_ref", 1, 1, 0);
	expect_tally(scope, "pid:156/fd:9", "file_ref", 4, 3, 1);
	expect_tally(scope, "ufile:2", "ref", 4, 4, 0);
	expect_tally(scope, "ufile:2", "file_ref", 5, 5, 0);
	expect_tally(scope, "ufile:2/DM:2", "entry.ref", 4, 4, 0);
	expect_tally(scope, "ufile:2/dm:2", "dm_ref", 2, 2, 0);
	expect_tally(scope, "ufile:2/DM:2", "dm_users", 1, 0, 1);
	expect_tally(scope, "ufile:2/VAR:1", "entry.ref", 2, 2, 0);
	expect_tally(scope, "ufile:2/mmap:0x90001", "ref", 2, 2, 0);
	expect_tally(scope, "ufile:2/3", "users", 3, 3, 0);
	expect_tally(scope, "ufile:2/CQ:6", "users", 2, 0, 2);
	expect_tally(scope, "ufile:2/ASYNC_EVENT", "ref", 5, 2, 3);
	expect_tally(scope, "pid:155/fd:4", "file_ref", 1, 1, 0);
	/* Opened, no fd seen: somebody must have it. */
	expect_tally(scope, "ufile:3", "file_ref", -1, 0, 1);
	uobjscope_free(scope);
	test_end("holders.live");
}

static void test_holders_no_fds(void)
{
	struct uobjscope *scope = sample("live.txt", NULL);
	struct uobjscope_holders *holders = uobjscope_holders(scope, "ino:3", NULL);
	const struct uobjscope_tally *t = tally(holders, 0, "file_ref");

	EXPECT(t && t->unexplained == 3 && t->note && strstr(t->note, "no file descriptors"));
	uobjscope_holders_free(holders);
	uobjscope_free(scope);
	test_end("holders.without-fds");
}

static void test_holders_unbound(void)
{
	struct uobjscope *scope = sample("unbound.txt", "unbound.fds");

	/*
	 * The file, the dma-buf whose uobject is gone, and one async file for sure:
	 * two fds with two references each may be one file.
	 */
	expect_tally(scope, "ufile:2", "ref", 4, 3, 1);
	expect_tally(scope, "ufile:2/PD:3", "ref", 1, 1, 0);
	/* Leaked: nothing at all holds it. */
	expect_tally(scope, "ufile:7", "ref", 1, 0, 1);
	/* A dma-buf of somebody else, in an fd. */
	expect_tally(scope, "pid:170/fd:5", "file_ref", 2, 1, 1);
	uobjscope_free(scope);
	test_end("holders.after-unbind");
}

static void test_holders_pid(void)
{
	struct uobjscope *scope = sample("live.txt", "live.fds");
	struct uobjscope_holders *holders = uobjscope_holders(scope, "pid:155", NULL);

	/* two dma-bufs, the ufile, three entries, the async file; the ufile once */
	EXPECT(uobjscope_holders_count(holders) == 7, "%zu", uobjscope_holders_count(holders));
	uobjscope_holders_free(holders);
	holders = uobjscope_holders(scope, "pid:1", NULL);
	EXPECT(holders && !uobjscope_holders_count(holders));
	uobjscope_holders_free(holders);
	uobjscope_free(scope);
	test_end("holders.pid");
}

#define REVOKED_DMABUF \
	"uobj ufile=1 type=DMABUF class=fd ref=2 usecnt=2 state=live ino=8 file_ref=3 " \
	"kref=1 revoked=1\n"

static void test_holders_odd(void)
{
	struct uobjscope *scope = parse(HEADER
		"ufile id=1 state=live listed=1 ref=0\n"
		"uobj ufile=1 type=QP class=idr handle=1 ref=-5 usecnt=-1 state=locked\n"
		REVOKED_DMABUF
		"attach ufile=1 ino=8 state=busy\n"
		"end records=4\n", NULL);
	struct uobjscope_holders *holders;
	const struct uobjscope_tally *t;

	EXPECT(scope);
	/* Read at different instants: a file and a DMABUF, but the count was 0. */
	holders = uobjscope_holders(scope, "ufile:1", NULL);
	t = tally(holders, 0, "ref");
	EXPECT(t && t->surplus == 2 && !t->unexplained && t->note);
	uobjscope_holders_free(holders);
	expect_tally(scope, "ufile:1/1", "ref", -5, 2, 0);
	holders = uobjscope_holders(scope, "ufile:1/1", NULL);
	t = tally(holders, 0, "usecnt");
	EXPECT(t && strstr(t->note, "locked"));
	uobjscope_holders_free(holders);
	expect_tally(scope, "ino:8", "file_ref", 3, 0, 3);
	expect_tally(scope, "ino:8", "kref", 1, 0, 1);
	expect_tally(scope, "ino:8", "usecnt", 2, 0, 2);
	holders = uobjscope_holders(scope, "ino:8", NULL);
	t = tally(holders, 0, "file_ref");
	EXPECT(t && strstr(t->note, "busy"));
	uobjscope_holders_free(holders);
	uobjscope_free(scope);
	test_end("holders.odd");
}

#define DEAD_FD(fd, file) \
	"fd pid=1 fd=" fd " kind=uobj type=COMP_CHANNEL ufile=1 file_ref=2 state=dead" \
	" file=" file "\n"

static void test_holders_tokens(void)
{
	static const char text[] = "fds v=1 time_ns=1\n" DEAD_FD("3", T1) DEAD_FD("4", T1)
		DEAD_FD("5", T2) "end records=3\n" HEADER
		"ufile id=1 state=closed listed=0 ref=2\n"
		"uobj ufile=1 type=DM class=idr handle=1 ref=2 dm_users=2 object=" T3 "\n"
		"uobj ufile=1 type=MR class=idr handle=2 ref=2 state=live mrn=4 dm=" T3 "\n"
		"end records=3\n";
	struct uobjscope *scope = parse(text, NULL);

	EXPECT(scope);
	expect_tally(scope, "ufile:1", "ref", 2, 2, 0);
	expect_tally(scope, "pid:1/fd:3", "file_ref", 2, 2, 0);
	expect_tally(scope, "pid:1/fd:5", "file_ref", 2, 1, 1);
	expect_tally(scope, "ufile:1/DM:1", "dm_users", 2, 1, 1);
	uobjscope_free(scope);
	test_end("holders.file-and-dm-tokens");
}

static void test_holders_names(void)
{
	static const char *const wrong[] = {
		"", "3", "ino:", "ino:x", "ino:3/", "ino:18446744073709551616", "pid:1/2",
		"pid:1/fd:", "pid:/fd:1", "ufile:", "ufile:1/", "ufile:1/mmap", "ufile:1/DM:",
		"ufile:1/DM:x", "ufile:1/:3", "ufile:1/4294967296", "ufile:1/D-M:3", "INO:3",
		"ufile:1/DM:4:5", "ufile:1/AVERYVERYVERYVERYLONGTYPENAMETHATNOBODYHAS:1",
	};
	struct uobjscope *scope = sample("live.txt", NULL);

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct uobjscope_error error = { 0 };

		EXPECT(!uobjscope_holders(scope, wrong[i], &error), "'%s' was taken", wrong[i]);
		EXPECT(error.status == UOBJSCOPE_ERR_ARGUMENT, "'%s'", wrong[i]);
	}
	uobjscope_free(scope);
	test_end("holders.refuses-wrong-names");
}

/* ---- the running kernel, played by a folder of pipes ---- */

struct server {
	const char *path;
	const char *const *texts;
	size_t count;
	size_t served;
};

/* Each opening of the pipe gets the next text, for then the next pipe is there. */
static void *serve(void *argument)
{
	struct server *server = argument;

	for (size_t i = 0; i < server->count; i++) {
		int fd = open(server->path, O_WRONLY | O_CLOEXEC);
		size_t length = strlen(server->texts[i]);

		/* Before the reader can see the end of the text. */
		__atomic_fetch_add(&server->served, 1, __ATOMIC_SEQ_CST);
		unlink(server->path);
		if (i + 1 < server->count && mkfifo(server->path, 0600))
			break;
		if (write(fd, server->texts[i], length) != (ssize_t)length)
			break;
		close(fd);
	}
	return NULL;
}

/* Whom nobody reads from any more is not waited for. */
static void dismiss(struct server *server, pthread_t thread)
{
	while (pthread_tryjoin_np(thread, NULL)) {
		int fd = open(server->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

		usleep(1000);
		if (fd >= 0)
			close(fd);
	}
}

#define CHANGED HEADER "ufile id=1 state=live changed=1\nend records=1\n"
#define QUIET HEADER "ufile id=2 state=live changed=0\nend records=1\n"

static struct uobjscope *load_served(const char *const *texts, size_t count, bool no_retry)
{
	struct uobjscope_kernel how = { .dir = scratch, .no_retry = no_retry };
	struct server server = { .texts = texts, .count = count };
	struct uobjscope_error error;
	struct uobjscope *scope;
	size_t served;
	char path[4096];
	pthread_t thread;

	snprintf(path, sizeof(path), "%s/snapshot", scratch);
	unlink(path);
	server.path = path;
	EXPECT(!mkfifo(path, 0600));
	pthread_create(&thread, NULL, serve, &server);
	scope = uobjscope_load_kernel(&how, &error);
	EXPECT(scope, "%s", error.message);
	served = __atomic_load_n(&server.served, __ATOMIC_SEQ_CST);
	dismiss(&server, thread);
	EXPECT(served == count, "%zu reads, expected %zu", served, count);
	unlink(path);
	return scope;
}

static void test_retry(void)
{
	static const char *const texts[] = { CHANGED, CHANGED, QUIET };
	static const char *const never[] = { CHANGED, CHANGED, CHANGED, CHANGED };
	struct uobjscope *scope;

	scope = load_served(texts, 3, false);
	EXPECT(scope && !uobjscope_changed(scope) && uobjscope_ufile(scope, 2));
	uobjscope_free(scope);
	test_end("kernel.retries-while-changed");
	/* One read and three retries; a fifth would wait for a pipe that is not there. */
	scope = load_served(never, 4, false);
	EXPECT(scope && uobjscope_changed(scope) == 1);
	uobjscope_free(scope);
	test_end("kernel.gives-up-and-says-so");
	scope = load_served(never, 1, true);
	EXPECT(scope && uobjscope_changed(scope) == 1);
	uobjscope_free(scope);
	test_end("kernel.no-retry");
}

/* ---- size ---- */

#define MANY_VARS \
	"uobj ufile=1 type=MLX5_VAR type_id=0x1006 class=idr handle=%zu ref=2 usecnt=0 " \
	"state=live token=%016zx page_id=%zu entry=%016zx\n"
#define MANY_CHANNELS \
	"uobj ufile=1 type=COMP_CHANNEL type_id=0x2 class=fd ref=%zu usecnt=0 state=live\n"
#define MANY_ENTRIES \
	"mmap ufile=1 pgoff=0x%zx npages=1 ref=2 driver_removed=0 kind=VAR entry=%016zx " \
	"vmas=1 dmabufs=0\n" \
	"vma ufile=1 pid=5 start=0x%zx000 end=0x%zx000 entry=%016zx\n"

/* One ufile with so many uobjects; half of them have an entry and a mapping. */
static char *many(size_t count, size_t *length)
{
	char *text;
	FILE *stream = open_memstream(&text, length);

	fputs(HEADER "ufile id=1 state=live listed=1 ref=2\n", stream);
	for (size_t i = 0; i < count / 2; i++)
		fprintf(stream, MANY_VARS, i, i + 1, i, i + 1);
	for (size_t i = 0; i < count / 2; i++)
		fprintf(stream, MANY_CHANNELS, i % 7);
	/* Backwards, so that they have to be sorted. */
	for (size_t i = count / 2; i-- > 0; )
		fprintf(stream, MANY_ENTRIES, i, i + 1, i + 1, i + 2, i + 1);
	fprintf(stream, "end records=%zu\n", 1 + count / 2 * 4);
	fclose(stream);
	return text;
}

/* Of this process' own work: what else the machine does is not measured. */
static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static double time_of(size_t count)
{
	size_t length;
	char *text = many(count, &length);
	double start = seconds();
	struct uobjscope *a = uobjscope_parse(text, length, "text", UOBJSCOPE_SNAPSHOT, NULL);
	struct uobjscope *b = uobjscope_parse(text, length, "text", UOBJSCOPE_SNAPSHOT, NULL);
	struct uobjscope_diff *diff = uobjscope_diff(a, b, NULL);
	struct uobjscope_holders *ufile = uobjscope_holders(a, "ufile:1", NULL);
	struct uobjscope_holders *pid = uobjscope_holders(a, "pid:5", NULL);
	size_t found = 0;

	for (size_t i = 0; i < count / 2; i++)
		found += uobjscope_uobj(a, 1, "VAR", i) && uobjscope_mmap(a, 1, i);
	EXPECT(found == count / 2);
	EXPECT(diff && !uobjscope_diff_count(diff));
	EXPECT(ufile && pid && uobjscope_holders_count(pid) == count / 2);
	uobjscope_holders_free(pid);
	uobjscope_holders_free(ufile);
	uobjscope_diff_free(diff);
	uobjscope_free(b);
	uobjscope_free(a);
	free(text);
	return seconds() - start;
}

static void test_size(double limit)
{
	double small, large;

	time_of(5000);
	small = time_of(5000);
	large = time_of(20000);
	/* Two parses, a diff, all holders of a process and all look-ups. */
	EXPECT(large < limit, "%.3f s", large);
	/* Four times the objects; sorting and a cold cache cost a little more. */
	EXPECT(large < small * 4 * 3 + 0.02, "%.3f s and %.3f s", small, large);
	printf("size: 5000 objects %.3f s, 20000 objects %.3f s\n", small, large);
	test_end("size.20000-objects");
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: library SAMPLES SCRATCH SECONDS\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	samples = argv[1];
	scratch = argv[2];
	test_bad_texts();
	test_line_length();
	test_nul_byte();
	test_numbers();
	test_refused();
	test_escapes();
	test_unknown_kept();
	test_every_prefix();
	test_every_missing_line();
	test_round_trip();
	test_info_and_layout();
	test_lookup();
	test_groups();
	test_select_device();
	test_diffs();
	test_diff_samples();
	test_holders_live();
	test_holders_no_fds();
	test_holders_unbound();
	test_holders_pid();
	test_holders_odd();
	test_holders_tokens();
	test_holders_names();
	test_retry();
	test_size(strtod(argv[3], NULL));
	return test_failures != 0;
}
