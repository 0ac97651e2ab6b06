// SPDX-License-Identifier: GPL-2.0
/*
 * Damage the samples in ROUNDS ways and see to it that the library neither
 * crashes (it is built with sanitizers) nor takes a part for the whole.
 *
 * A damaged text may still be a good one, if the damage hit a value.  Then it
 * must be whole: as many records as its lines, and its text can be read again.
 *
 * fuzz ROUNDS SEED FILE...
 */
#include <stdint.h>

#include <uobjscope.h>

#include "test.h"

#define SECTIONS 4

static uint64_t state;

/* xorshift64*, so that a seed means the same everywhere */
static uint64_t random_number(uint64_t limit)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 0x2545f4914f6cdd1dULL >> 11) % limit;
}

struct text {
	char *bytes;
	size_t length;
};

static void insert(struct text *text, size_t at, const char *bytes, size_t length)
{
	text->bytes = realloc(text->bytes, text->length + length + 1);
	memmove(text->bytes + at + length, text->bytes + at, text->length - at);
	memcpy(text->bytes + at, bytes, length);
	text->length += length;
}

static void erase(struct text *text, size_t at, size_t length)
{
	memmove(text->bytes + at, text->bytes + at + length, text->length - at - length);
	text->length -= length;
}

/* Begin of the line that holds a byte, and the begin of the next one. */
static void line_at(const struct text *text, size_t at, size_t *begin, size_t *end)
{
	*begin = at;
	while (*begin && text->bytes[*begin - 1] != '\n')
		--*begin;
	*end = at;
	while (*end < text->length && text->bytes[*end] != '\n')
		++*end;
	if (*end < text->length)
		++*end;
}

static void damage(struct text *text)
{
	static const char *const words[] = {
		"=", " ", "\n", "%", "%00", "%41", "-", "-1", "0x", "18446744073709551616",
		"end records=", "end records=0\n", "uobjscope v=1\n", "fds v=1\n", " ufile=2",
		" entry=-", " handle=0", " pid=155", "uobj ", "mmap ", "\r", "\t", "\xff",
	};
	size_t at, begin, end, length;
	const char *word;
	char *copy;

	if (!text->length)
		return;
	at = random_number(text->length);
	line_at(text, at, &begin, &end);
	switch (random_number(8)) {
	case 0:
		text->bytes[at] ^= 1 << random_number(8);
		break;
	case 1:
		text->bytes[at] = random_number(256);
		break;
	case 2:
		text->length = at;
		break;
	case 3:
		erase(text, at, random_number(text->length - at < 40 ? text->length - at : 40));
		break;
	case 4:
		word = words[random_number(ARRAY_SIZE(words))];
		insert(text, at, word, strlen(word));
		break;
	case 5:
		erase(text, begin, end - begin);
		break;
	case 6:
		/* A line once more, somewhere else. */
		length = end - begin;
		copy = malloc(length);
		memcpy(copy, text->bytes + begin, length);
		line_at(text, random_number(text->length), &begin, &end);
		insert(text, begin, copy, length);
		free(copy);
		break;
	default:
		for (size_t i = begin; i < end; i++)
			if (text->bytes[i] >= '0' && text->bytes[i] <= '9')
				text->bytes[i] = '0' + random_number(10);
	}
}

static size_t count_records(const struct uobjscope *scope)
{
	size_t records = 0;

	for (int type = 0; type < UOBJSCOPE_TYPES; type++)
		records += uobjscope_count(scope, type);
	return records;
}

/* What is not a header and not an end is a record. */
static bool is_whole(const struct uobjscope *scope, const struct text *text)
{
	unsigned int sections = uobjscope_sections(scope);
	size_t lines = 0, headers = 0;

	for (size_t i = 0; i < text->length; i++)
		lines += text->bytes[i] == '\n';
	for (int i = 0; i < SECTIONS; i++)
		headers += sections >> i & 1;
	return text->length && text->bytes[text->length - 1] == '\n' &&
	       count_records(scope) + 2 * headers == lines;
}

/* Use everything once, for the sanitizers. */
static void use(const struct uobjscope *scope, const struct uobjscope *other)
{
	static const char *const objects[] = {
		"ino:3", "ufile:2", "pid:155", "pid:156/fd:9", "ufile:2/DM:2", "ufile:2/1",
		"ufile:2/ASYNC_EVENT", "ufile:2/mmap:0x90001", "ufile:7",
	};
	struct uobjscope_diff *diff = uobjscope_diff(scope, other, NULL);
	const struct uobjscope_change *change;

	for (size_t i = 0; (change = uobjscope_diff_change(diff, i)); i++) {
		enum uobjscope_key key = uobjscope_diff_key(diff, change, 0);

		EXPECT((key == UOBJSCOPE_KEYS) == (change->kind != UOBJSCOPE_CHANGED));
	}
	uobjscope_diff_free(diff);
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		struct uobjscope_holders *holders = uobjscope_holders(scope, objects[i], NULL);
		const struct uobjscope_report *report;

		for (size_t j = 0; (report = uobjscope_holders_report(holders, j)); j++)
			for (size_t k = 0; k < report->count; k++) {
				const struct uobjscope_tally *t = &report->tallies[k];

				EXPECT(!t->known || t->total < 0 ||
				       (int64_t)(t->explained + t->unexplained - t->surplus) ==
				       t->total);
			}
		uobjscope_holders_free(holders);
	}
	for (size_t i = 0; i < uobjscope_count(scope, UOBJSCOPE_ATTACH); i++)
		uobjscope_mr_of(scope, uobjscope_record(scope, UOBJSCOPE_ATTACH, i));
}

static void check(const struct uobjscope *scope, const struct text *text,
		  const struct uobjscope *other)
{
	struct uobjscope *again;
	size_t length;
	char *written;
	FILE *stream;

	EXPECT(is_whole(scope, text), "%zu records of %zu bytes", count_records(scope),
	       text->length);
	use(scope, other);
	stream = open_memstream(&written, &length);
	EXPECT(!uobjscope_write(scope, stream));
	fclose(stream);
	again = uobjscope_parse(written, length, "again", UOBJSCOPE_SNAPSHOT, NULL);
	EXPECT(again && count_records(again) == count_records(scope));
	uobjscope_free(again);
	free(written);
}

int main(int argc, char **argv)
{
	unsigned long rounds, good = 0;

	if (argc < 4) {
		fprintf(stderr, "usage: fuzz ROUNDS SEED FILE...\n");
		return 2;
	}
	rounds = strtoul(argv[1], NULL, 10);
	state = strtoull(argv[2], NULL, 10) | 1;
	for (unsigned long i = 0; i < rounds && !*test_why; i++) {
		const char *path = argv[3 + random_number(argc - 3)];
		struct uobjscope_error error = { 0 };
		struct uobjscope *whole, *scope;
		struct text text;

		text.bytes = test_read(path, &text.length);
		whole = uobjscope_parse(text.bytes, text.length, path, UOBJSCOPE_SNAPSHOT, NULL);
		EXPECT(whole, "%s", path);
		for (uint64_t n = 1 + random_number(3); n; n--)
			damage(&text);
		scope = uobjscope_parse(text.bytes, text.length, path, UOBJSCOPE_SNAPSHOT,
					&error);
		EXPECT(scope || (error.status && *error.message && !strchr(error.message, '\n')),
		       "round %lu", i);
		if (scope && whole) {
			check(scope, &text, whole);
			good++;
		}
		uobjscope_free(scope);
		uobjscope_free(whole);
		free(text.bytes);
	}
	/* Neither everything nor nothing gets through, else this tests little. */
	EXPECT(good > rounds / 100 && good < rounds / 2, "%lu of %lu were taken", good, rounds);
	test_end("fuzz.damaged-samples");
	return test_failures != 0;
}
