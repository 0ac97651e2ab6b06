// SPDX-License-Identifier: GPL-2.0
/*
 * What the host can do to the module's text that a kernel cannot do to itself: let
 * memory run out at each place, make user space end, and let libuobjscope read it.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <sys/mman.h>
#include <unistd.h>

#include <uobjscope.h>

#include "map.h"
#include "report.h"
#include "text.h"
#include "vector.h"

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* More than the first allocations are for, so that all of them come to pass. */
#define ENTRIES		20000

/* Does the array have so many entries, each its own number? */
static bool vector_is_whole(const struct scope_vector *v, u32 nr)
{
	u32 n;

	if (v->nr != nr)
		return false;
	for (n = 0; n < nr; n++)
		if (*(u64 *)scope_vector_at(v, n) != n)
			return false;
	return true;
}

static void vector_without_memory(struct kunit *test)
{
	struct scope_vector v;
	int refused = 0;

	scope_vector_init(&v, sizeof(u64));
	while (v.nr < ENTRIES) {
		u32 nr = v.nr, room = v.room;

		host_memory = 0;
		if (scope_vector_reserve(&v, 1)) {
			refused++;
			KUNIT_ASSERT_EQ(test, room, v.room);
			KUNIT_ASSERT_TRUE(test, vector_is_whole(&v, nr));
			/* The first of the two allocations of a piece succeeds. */
			host_memory = 1;
			if (scope_vector_reserve(&v, 1))
				KUNIT_ASSERT_TRUE(test, vector_is_whole(&v, nr));
			host_memory = -1;
			KUNIT_ASSERT_EQ(test, 0, scope_vector_reserve(&v, 1));
		}
		*(u64 *)scope_vector_push(&v) = nr;
	}
	KUNIT_EXPECT_EQ(test, refused, (int)(ENTRIES * sizeof(u64) / PAGE_SIZE) + 1);
	KUNIT_EXPECT_TRUE(test, vector_is_whole(&v, ENTRIES));
	scope_vector_free(&v);
}

static void map_without_memory(struct kunit *test)
{
	struct scope_map map = {};
	int refused = 0;
	u32 n, value;

	for (n = 1; n <= ENTRIES; n++) {
		host_memory = 0;
		if (scope_map_put(&map, n, n)) {
			refused++;
			KUNIT_EXPECT_FALSE(test, scope_map_get(&map, n, &value));
			host_memory = -1;
			KUNIT_ASSERT_EQ(test, 0, scope_map_put(&map, n, n));
		}
	}
	KUNIT_EXPECT_GT(test, refused, 5);
	for (n = 1; n <= ENTRIES; n++) {
		KUNIT_ASSERT_TRUE(test, scope_map_get(&map, n, &value));
		KUNIT_ASSERT_EQ(test, n, value);
	}
	scope_map_free(&map);
}

/* A text of some pages whose bytes tell where they are. */
static void make_text(struct kunit *test, struct scope_text *text)
{
	struct scope_line *line = kunit_kzalloc(test, sizeof(*line), GFP_KERNEL);
	u32 n;

	scope_text_init(text);
	for (n = 0; text->size < 3 * PAGE_SIZE + 100; n++) {
		scope_line_begin(line, "x");
		scope_line_number(line, "n", n * 7919);
		scope_line_end(line);
		KUNIT_ASSERT_EQ(test, 0, scope_text_add(text, line));
	}
}

static void text_without_memory(struct kunit *test)
{
	struct scope_line *line = kunit_kzalloc(test, sizeof(*line), GFP_KERNEL);
	struct scope_text text;
	int n;

	scope_text_init(&text);
	scope_line_begin(line, "x");
	scope_line_end(line);
	/* A page, and the table of pages. */
	for (n = 0; n < 2; n++) {
		host_memory = n;
		KUNIT_EXPECT_EQ(test, -ENOMEM, scope_text_add(&text, line));
		KUNIT_EXPECT_EQ(test, 0ULL, text.lines);
		scope_text_free(&text);
		scope_text_init(&text);
	}
	host_memory = 2;
	KUNIT_ASSERT_EQ(test, 0, scope_text_add(&text, line));
	KUNIT_EXPECT_EQ(test, 1ULL, text.lines);
	scope_text_free(&text);
}

static void text_is_read_in_any_pieces(struct kunit *test)
{
	static const size_t pieces[] = { 1, 7, 4095, 4096, 4097, 5000, 1 << 20 };
	char *whole, *again;
	struct scope_text text;
	loff_t pos = 0;
	unsigned int n;

	make_text(test, &text);
	whole = kunit_kzalloc(test, text.size, GFP_KERNEL);
	again = kunit_kzalloc(test, text.size, GFP_KERNEL);
	KUNIT_ASSERT_EQ(test, text.size, scope_text_read(&text, whole, text.size, &pos));
	KUNIT_EXPECT_EQ(test, text.size, pos);
	for (n = 0; n < ARRAY_SIZE(pieces); n++) {
		ssize_t done;

		memset(again, 0, text.size);
		for (pos = 0; pos < text.size; ) {
			loff_t at = pos;
			size_t left = text.size - at;
			size_t expected = left < pieces[n] ? left : pieces[n];

			/* It is asked for no more than there is room for. */
			done = scope_text_read(&text, again + at, expected, &pos);
			KUNIT_ASSERT_EQ(test, (ssize_t)expected, done);
			KUNIT_ASSERT_EQ(test, at + done, pos);
		}
		KUNIT_EXPECT_EQ(test, 0, memcmp(whole, again, text.size));
		KUNIT_EXPECT_EQ(test, 0, scope_text_read(&text, again, 1, &pos));
	}
	/* Asked for more than is left, and beyond the end. */
	pos = text.size - 5;
	KUNIT_EXPECT_EQ(test, 5, scope_text_read(&text, again, text.size, &pos));
	pos = text.size + 5;
	KUNIT_EXPECT_EQ(test, 0, scope_text_read(&text, again, text.size, &pos));
	scope_text_free(&text);
}

static void text_where_user_space_ends(struct kunit *test)
{
	struct scope_text text;
	loff_t pos = 0;
	char *to;

	make_text(test, &text);
	to = kunit_kzalloc(test, text.size, GFP_KERNEL);
	host_user_end = to;
	KUNIT_EXPECT_EQ(test, -EFAULT, scope_text_read(&text, to, text.size, &pos));
	KUNIT_EXPECT_EQ(test, 0, pos);
	/* What was copied is told, and the position is behind that. */
	host_user_end = to + PAGE_SIZE + 10;
	KUNIT_EXPECT_EQ(test, (ssize_t)PAGE_SIZE, scope_text_read(&text, to, text.size, &pos));
	KUNIT_EXPECT_EQ(test, (loff_t)PAGE_SIZE, pos);
	KUNIT_EXPECT_EQ(test, -EFAULT, scope_text_read(&text, host_user_end, 10, &pos));
	KUNIT_EXPECT_EQ(test, (loff_t)PAGE_SIZE, pos);
	scope_text_free(&text);
}

static u64 plain_token(unsigned long address)
{
	return address;
}

/**
 * struct told - a snapshot that report.c tells, and what libuobjscope understands
 * @line:	the line in the making
 * @text:	all of it
 * @records:	how many there are
 */
struct told {
	struct scope_line line;
	char text[1 << 16];
	size_t used;
	unsigned int records;
};

static void tell(struct told *told)
{
	memcpy(told->text + told->used, told->line.text, told->line.used);
	told->used += told->line.used;
	told->records++;
}

static struct uobjscope *understand(struct kunit *test, struct told *told, unsigned int what)
{
	int fd = memfd_create("told", MFD_CLOEXEC);
	struct uobjscope_error error = {};
	struct uobjscope *scope;

	scope_report_end(&told->line, told->records - 1);
	tell(told);
	KUNIT_ASSERT_EQ(test, (ssize_t)told->used, write(fd, told->text, told->used));
	KUNIT_ASSERT_EQ(test, 0, lseek(fd, 0, SEEK_SET));
	scope = uobjscope_load_fd(fd, "told", what, &error);
	close(fd);
	if (!scope)
		printf("# %s\n", error.message);
	KUNIT_ASSERT_NOT_NULL(test, scope);
	return scope;
}

static struct told *begin(struct kunit *test)
{
	struct scope_header header = { .kernel = "7.2.12+deb14-amd64", .time_ns = 5, .seq = 6 };
	struct told *told = kunit_kzalloc(test, sizeof(*told), GFP_KERNEL);

	scope_report_header(&told->line, &header);
	tell(told);
	return told;
}

/* The n-th of a sequence without a pattern that would hide a mistake. */
static u64 odd(u64 *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return *seed >> 33 ^ *seed << 31;
}

static void fill_comm(char *comm, u64 *seed)
{
	unsigned int n;

	for (n = 0; n < SCOPE_COMM - 1; n++)
		comm[n] = odd(seed) % 255 + 1;
}

#define UFILES	100
/* No kernel has a larger process id. */
#define PID_MAX	(4 << 20)

/* Numbers of any size and names of any bytes come back as they were. */
static void library_reads_ufiles(struct kunit *test)
{
	static const char * const states[] = {
		"live", "nocontext", "closed", "destroying", "disassociated",
	};
	struct told *told = begin(test);
	struct scope_ufile_record r[UFILES] = {};
	struct uobjscope *scope;
	u64 seed = 1;
	int n;

	for (n = 0; n < UFILES; n++) {
		r[n].id = odd(&seed) | 1;
		r[n].state = n % 5;
		r[n].ref = odd(&seed);
		r[n].pid = n % 2 ? odd(&seed) % PID_MAX + 1 : 0;
		r[n].umaps_known = n % 3;
		r[n].umaps = odd(&seed);
		r[n].changed_known = n % 7;
		r[n].changed = n % 4 > 1;
		strscpy(r[n].uverbs, "uverbs0");
		strscpy(r[n].device, n % 6 ? "mlx5_0" : "");
		fill_comm(r[n].comm, &seed);
		scope_report_ufile(&told->line, &r[n]);
		tell(told);
	}
	scope = understand(test, told, UOBJSCOPE_SNAPSHOT);
	KUNIT_EXPECT_EQ(test, (size_t)UFILES, uobjscope_count(scope, UOBJSCOPE_UFILE));
	for (n = 0; n < UFILES; n++) {
		const struct uobjscope_record *ufile = uobjscope_ufile(scope, r[n].id);
		uint64_t value = 0;
		int64_t ref = 0;

		KUNIT_ASSERT_NOT_NULL(test, ufile);
		KUNIT_EXPECT_STREQ(test, uobjscope_text(ufile, UOBJSCOPE_KEY_STATE), states[n % 5]);
		KUNIT_EXPECT_TRUE(test, uobjscope_get_signed(ufile, UOBJSCOPE_KEY_REF, &ref));
		KUNIT_EXPECT_EQ(test, (int64_t)r[n].ref, ref);
		KUNIT_EXPECT_EQ(test, !!r[n].pid, uobjscope_has(ufile, UOBJSCOPE_KEY_PID));
		if (uobjscope_get(ufile, UOBJSCOPE_KEY_PID, &value)) {
			KUNIT_EXPECT_EQ(test, r[n].pid, value);
			KUNIT_EXPECT_STREQ(test, uobjscope_text(ufile, UOBJSCOPE_KEY_COMM),
					   r[n].comm);
		}
		KUNIT_EXPECT_EQ(test, r[n].umaps_known,
				uobjscope_get(ufile, UOBJSCOPE_KEY_UMAPS, &value));
		if (r[n].umaps_known)
			KUNIT_EXPECT_EQ(test, r[n].umaps, value);
		KUNIT_EXPECT_EQ(test, r[n].changed_known,
				uobjscope_get(ufile, UOBJSCOPE_KEY_CHANGED, &value));
		if (r[n].changed_known)
			KUNIT_EXPECT_EQ(test, r[n].changed, value);
	}
	uobjscope_free(scope);
}

#define TYPES	0x20
#define DRIVER	0x1000

/* Each type, with each of the optional keys there or not. */
static void library_reads_uobjects(struct kunit *test)
{
	struct told *told = begin(test);
	struct scope_uobj_record r = { .ufile = 1, .address = 0x1000, .object = 0x2000 };
	struct scope_ufile_record ufile = { .id = 1, .uverbs = "uverbs0" };
	struct uobjscope *scope;
	struct uobjscope_group group;
	u32 n, bit;

	scope_report_ufile(&told->line, &ufile);
	tell(told);
	for (n = 0; n < 2 * TYPES; n++) {
		r.type = n % TYPES + (n < TYPES ? 0 : DRIVER);
		r.driver = SCOPE_DRIVER_MLX5;
		r.handle = n;
		r.ref = n - 5;
		r.usecnt = n % 3 - 1;
		r.state = n % 4;
		r.has = 0;
		for (bit = 0; bit <= 16; bit++)
			r.has |= (n + bit) % 3 ? BIT(bit) : 0;
		r.entry = r.has & SCOPE_HAS_ENTRY ? 0x3000 : 0;
		r.ino = n + 1;
		r.length = ~0ULL - n;
		scope_report_uobj(&told->line, &r, plain_token);
		tell(told);
	}
	scope = understand(test, told, UOBJSCOPE_SNAPSHOT);
	group = uobjscope_find(scope, UOBJSCOPE_UOBJS_BY_UFILE, 1);
	KUNIT_ASSERT_EQ(test, (size_t)2 * TYPES, group.count);
	for (n = 0; n < group.count; n++) {
		uint64_t handle = 0, type = 0;
		int64_t ref = 0;

		uobjscope_get(group.records[n], UOBJSCOPE_KEY_HANDLE, &handle);
		uobjscope_get(group.records[n], UOBJSCOPE_KEY_TYPE_ID, &type);
		uobjscope_get_signed(group.records[n], UOBJSCOPE_KEY_REF, &ref);
		KUNIT_EXPECT_EQ(test, handle % TYPES + (handle < TYPES ? 0 : DRIVER), type);
		KUNIT_EXPECT_EQ(test, (int64_t)handle - 5, ref);
		KUNIT_EXPECT_EQ(test, (handle + 12) % 3 != 0,
				uobjscope_has(group.records[n], UOBJSCOPE_KEY_ENTRY));
	}
	uobjscope_free(scope);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(vector_without_memory),
	KUNIT_CASE(map_without_memory),
	KUNIT_CASE(text_without_memory),
	KUNIT_CASE(text_is_read_in_any_pieces),
	KUNIT_CASE(text_where_user_space_ends),
	KUNIT_CASE(library_reads_ufiles),
	KUNIT_CASE(library_reads_uobjects),
	{}
};

static struct kunit_suite suite = {
	.name		= "host",
	.test_cases	= cases,
};

kunit_test_suite(suite);
