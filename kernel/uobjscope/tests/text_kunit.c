// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of what makes text: lines, reports, names, and what they are kept in.
 *
 * Nothing but linux/ and the user space interface of the RDMA core is used here and
 * by what is tested, so that user/tests/kernel compiles both for the host as well.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "map.h"
#include "names.h"
#include "report.h"
#include "text.h"
#include "vector.h"

static u64 plain_token(unsigned long address)
{
	return address;
}

/* A line's text, as a string. */
static const char *text_of(struct kunit *test, const struct scope_line *line)
{
	char *text = kunit_kzalloc(test, line->used + 1, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, text);
	memcpy(text, line->text, line->used);
	return text;
}

static struct scope_line *new_line(struct kunit *test)
{
	struct scope_line *line = kunit_kzalloc(test, sizeof(*line), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, line);
	return line;
}

static void line_numbers(struct kunit *test)
{
	struct scope_line *line = new_line(test);

	scope_line_begin(line, "x");
	scope_line_number(line, "a", 0);
	scope_line_number(line, "b", 4294967296ULL);
	scope_line_number(line, "c", U64_MAX);
	scope_line_signed(line, "d", -1);
	scope_line_signed(line, "e", S64_MIN);
	scope_line_end(line);
	KUNIT_EXPECT_STREQ(test, text_of(test, line),
			   "x a=0 b=4294967296 c=18446744073709551615 d=-1 e=-9223372036854775808\n");

	scope_line_begin(line, "y");
	scope_line_hex(line, "f", 0);
	scope_line_hex(line, "g", 0x80000);
	scope_line_hex(line, "h", U64_MAX);
	scope_line_token(line, "i", 0xabc);
	scope_line_end(line);
	KUNIT_EXPECT_STREQ(test, text_of(test, line),
			   "y f=0x0 g=0x80000 h=0xffffffffffffffff i=0000000000000abc\n");
}

static void line_escapes(struct kunit *test)
{
	struct scope_line *line = new_line(test);

	scope_line_begin(line, "x");
	scope_line_text(line, "comm", "a b=c%d\n\x7f\xff~!");
	scope_line_text(line, "empty", "");
	scope_line_end(line);
	KUNIT_EXPECT_STREQ(test, text_of(test, line),
			   "x comm=a%20b%3Dc%25d%0A%7F%FF~! empty=\n");
}

/* With a first word of any length, so that the line is full at any place of a pair. */
static void line_never_overflows(struct kunit *test)
{
	struct scope_line *line = new_line(test);
	char value[SCOPE_COMM], record[64];
	int length, n;

	memset(value, '\n', sizeof(value));
	value[SCOPE_COMM - 1] = 0;
	for (length = 1; length < sizeof(record); length++) {
		memset(record, 'x', sizeof(record));
		record[length] = 0;
		scope_line_begin(line, record);
		for (n = 0; n < SCOPE_LINE; n++)
			scope_line_text(line, "comm", value);
		scope_line_end(line);
		KUNIT_EXPECT_LE(test, line->used, (unsigned int)SCOPE_LINE);
		KUNIT_EXPECT_EQ(test, line->text[line->used - 1], '\n');
		/* An escape is whole or missing. */
		for (n = 0; n < line->used; n++)
			if (line->text[n] == '%')
				KUNIT_ASSERT_EQ(test, 0, memcmp(&line->text[n], "%0A", 3));
	}
}

/* Does the line end like this? */
static void expect_end(struct kunit *test, const struct scope_line *line, const char *end)
{
	const char *text = text_of(test, line);
	size_t length = strlen(text);

	KUNIT_ASSERT_GE(test, length, strlen(end));
	KUNIT_EXPECT_STREQ(test, text + length - strlen(end), end);
}

static void report_leaves_out_the_unknown(struct kunit *test)
{
	struct scope_line *line = new_line(test);
	struct scope_ufile_record ufile = {
		.id = 3, .uverbs = "uverbs0", .state = SCOPE_UFILE_DESTROYING, .ref = 1,
	};
	struct scope_uobj_record uobj = {
		.ufile = 3, .type = UVERBS_OBJECT_DM, .handle = 7, .ref = 2, .usecnt = -1,
		.state = SCOPE_UOBJ_LOCKED, .address = 0x10, .object = 0x20,
	};

	scope_report_ufile(line, &ufile);
	expect_end(test, line, " state=destroying listed=0 ref=1 uobjects=0\n");
	scope_report_uobj(line, &uobj, plain_token);
	expect_end(test, line, " state=locked token=0000000000000010 object=0000000000000020\n");
}

static void report_dmabuf(struct kunit *test)
{
	struct scope_line *line = new_line(test);
	struct scope_uobj_record uobj = {
		.ufile = 1, .type = UVERBS_OBJECT_DMABUF, .is_fd = true, .ref = 1,
		.state = SCOPE_UOBJ_DEAD, .address = 0x10,
		.has = SCOPE_HAS_DMABUF | SCOPE_HAS_KREF | SCOPE_HAS_ENTRY,
		.ino = 5, .file_ref = 2, .size = 4096, .kref = 0, .revoked = true,
	};
	struct scope_attach_record busy = { .ufile = 1, .ino = 5, .busy = true };
	struct scope_attach_record ours = {
		.address = 0x20, .ufile = 1, .ino = 5, .ours = true, .mapped = true,
	};
	struct scope_attach_record unknown = { .ufile = 1, .ino = 5 };

	scope_report_uobj(line, &uobj, plain_token);
	expect_end(test, line, "0010 ino=5 file_ref=2 size=4096 kref=0 revoked=1\n");
	scope_report_attach(line, &busy, plain_token);
	KUNIT_EXPECT_STREQ(test, text_of(test, line), "attach ufile=1 ino=5 state=busy\n");
	scope_report_attach(line, &ours, plain_token);
	expect_end(test, line, " mapped=1 pinned=0 token=0000000000000020\n");
	scope_report_attach(line, &unknown, plain_token);
	expect_end(test, line, " invalidate=0 importer=none\n");
}

static void names_of_types(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, scope_type_name(UVERBS_OBJECT_PD, SCOPE_DRIVER_OTHER), "PD");
	KUNIT_EXPECT_STREQ(test, scope_type_name(MLX5_IB_OBJECT_VAR, SCOPE_DRIVER_MLX5),
			   "MLX5_VAR");
	KUNIT_EXPECT_STREQ(test, scope_type_name(MLX5_IB_OBJECT_VAR, SCOPE_DRIVER_OTHER),
			   "DRIVER");
	KUNIT_EXPECT_STREQ(test, scope_type_name(0xfff, SCOPE_DRIVER_OTHER), "UNKNOWN");
	KUNIT_EXPECT_STREQ(test, scope_type_name(0x1fff, SCOPE_DRIVER_MLX5), "DRIVER");
}

static void text_spans_pages(struct kunit *test)
{
	struct scope_line *line = new_line(test);
	struct scope_text text;
	unsigned int n, lines = 3 * PAGE_SIZE / 64;

	scope_text_init(&text);
	for (n = 0; n < lines; n++) {
		scope_line_begin(line, "x");
		scope_line_hex(line, "n", n);
		scope_line_text(line, "filler", "0123456789012345678901234567890123456789");
		scope_line_end(line);
		KUNIT_ASSERT_EQ(test, 0, scope_text_add(&text, line));
	}
	KUNIT_EXPECT_EQ(test, text.lines, lines);
	KUNIT_EXPECT_GT(test, text.pages.nr, 1u);
	/* The last byte is where the size says. */
	KUNIT_EXPECT_EQ(test, '\n', ((char *)scope_vector_at(&text.pages, text.pages.nr - 1))
			[offset_in_page(text.size - 1)]);
	scope_text_free(&text);
}

static void vector_keeps_its_place(struct kunit *test)
{
	struct scope_vector v;
	u64 *first;
	u32 n;

	scope_vector_init(&v, sizeof(u64));
	KUNIT_ASSERT_EQ(test, 0, scope_vector_reserve(&v, 1));
	first = scope_vector_push(&v);
	*first = 42;
	for (n = 1; n < 20000; n++) {
		KUNIT_ASSERT_EQ(test, 0, scope_vector_reserve(&v, 1));
		*(u64 *)scope_vector_push(&v) = n;
	}
	KUNIT_EXPECT_PTR_EQ(test, first, (u64 *)scope_vector_at(&v, 0));
	KUNIT_EXPECT_EQ(test, 42, *first);
	KUNIT_EXPECT_EQ(test, 19999, *(u64 *)scope_vector_at(&v, 19999));
	scope_vector_free(&v);
	KUNIT_EXPECT_EQ(test, 0u, scope_vector_room(&v));
}

static void map_finds_all(struct kunit *test)
{
	struct scope_map map = {};
	u32 n, value;

	KUNIT_EXPECT_FALSE(test, scope_map_get(&map, 1, &value));
	for (n = 1; n < 5000; n++)
		KUNIT_ASSERT_EQ(test, 0, scope_map_put(&map, (u64)n << 6, n));
	KUNIT_ASSERT_EQ(test, 0, scope_map_put(&map, 64, 7));
	for (n = 2; n < 5000; n++) {
		KUNIT_ASSERT_TRUE(test, scope_map_get(&map, (u64)n << 6, &value));
		KUNIT_EXPECT_EQ(test, n, value);
	}
	KUNIT_EXPECT_TRUE(test, scope_map_get(&map, 64, &value));
	KUNIT_EXPECT_EQ(test, 7u, value);
	KUNIT_EXPECT_FALSE(test, scope_map_get(&map, 65, &value));
	KUNIT_EXPECT_FALSE(test, scope_map_get(&map, 0, &value));
	scope_map_free(&map);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(line_numbers),
	KUNIT_CASE(line_escapes),
	KUNIT_CASE(line_never_overflows),
	KUNIT_CASE(report_leaves_out_the_unknown),
	KUNIT_CASE(report_dmabuf),
	KUNIT_CASE(names_of_types),
	KUNIT_CASE(text_spans_pages),
	KUNIT_CASE(vector_keeps_its_place),
	KUNIT_CASE(map_finds_all),
	{}
};

static struct kunit_suite suite = {
	.name		= "uobjscope_text",
	.test_cases	= cases,
};

kunit_test_suite(suite);
