// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suites of what can be tested without a device: the text, the registry,
 * the layout guard's arithmetic, and the walks over structures made here.  Locks
 * and lifetimes are the selftests' business.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/xarray.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_std_types.h>
#include <rdma/uverbs_types.h>

#include "guard.h"
#include "map.h"
#include "names.h"
#include "registry.h"
#include "report.h"
#include "text.h"
#include "vector.h"
#include "walk.h"

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

static void line_never_overflows(struct kunit *test)
{
	struct scope_line *line = new_line(test);
	char value[SCOPE_COMM];
	int n;

	memset(value, '\n', sizeof(value));
	value[SCOPE_COMM - 1] = 0;
	scope_line_begin(line, "x");
	for (n = 0; n < SCOPE_LINE; n++)
		scope_line_text(line, "comm", value);
	scope_line_end(line);
	KUNIT_EXPECT_LE(test, line->used, (unsigned int)SCOPE_LINE);
	KUNIT_EXPECT_EQ(test, line->text[line->used - 1], '\n');
	/* An escape is whole or missing. */
	for (n = 0; n < line->used; n++)
		if (line->text[n] == '%')
			KUNIT_EXPECT_EQ(test, line->text[n + 1], '0');
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

	scope_report_uobj(line, &uobj, plain_token);
	expect_end(test, line, "0010 ino=5 file_ref=2 size=4096 kref=0 revoked=1\n");
	scope_report_attach(line, &busy);
	KUNIT_EXPECT_STREQ(test, text_of(test, line), "attach ufile=1 ino=5 state=busy\n");
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

static struct ib_uverbs_file *new_ufile(struct kunit *test)
{
	struct ib_uverbs_file *ufile = kunit_kzalloc(test, sizeof(*ufile), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ufile);
	kref_init(&ufile->ref);
	return ufile;
}

static void registry_add_find_remove(struct kunit *test)
{
	struct ib_uverbs_file *one = new_ufile(test), *two = new_ufile(test);
	struct scope_registry_counts before, now;
	struct scope_registered known;
	u64 id = scope_registry_add_ufile(one, true);

	scope_registry_count(&before);
	KUNIT_ASSERT_NE(test, 0ULL, id);
	KUNIT_EXPECT_EQ(test, id, scope_registry_add_ufile(one, false));
	KUNIT_EXPECT_EQ(test, id, scope_registry_ufile_id(one));
	KUNIT_EXPECT_EQ(test, 0ULL, scope_registry_ufile_id(two));
	KUNIT_ASSERT_TRUE(test, scope_registry_read_ufile(id, &known));
	KUNIT_EXPECT_EQ(test, (u32)current->tgid, known.pid);
	KUNIT_EXPECT_STREQ(test, current->comm, known.comm);
	KUNIT_EXPECT_TRUE(test, scope_registry_next_ufile(id - 1, &known));
	KUNIT_EXPECT_EQ(test, id, known.id);

	KUNIT_EXPECT_PTR_EQ(test, one, scope_registry_get_ufile(id));
	KUNIT_EXPECT_EQ(test, 2u, kref_read(&one->ref));

	scope_registry_remove_ufile(one);
	scope_registry_remove_ufile(two);
	KUNIT_EXPECT_FALSE(test, scope_registry_read_ufile(id, &known));
	KUNIT_EXPECT_NULL(test, scope_registry_get_ufile(id));
	scope_registry_count(&now);
	KUNIT_EXPECT_EQ(test, before.ufiles - 1, now.ufiles);
	/* An id is never given out again, an address is. */
	KUNIT_EXPECT_GT(test, scope_registry_add_ufile(one, false), id);
	scope_registry_remove_ufile(one);
}

static void registry_passes_by_the_dying(struct kunit *test)
{
	struct ib_uverbs_file *ufile = new_ufile(test);
	u64 id = scope_registry_add_ufile(ufile, false);

	refcount_set(&ufile->ref.refcount, 0);
	KUNIT_EXPECT_NULL(test, scope_registry_get_ufile(id));
	scope_registry_remove_ufile(ufile);
}

static void registry_counts_events(struct kunit *test)
{
	struct ib_uverbs_file *ufile = new_ufile(test);
	u64 id = scope_registry_add_ufile(ufile, false);
	struct scope_registered known = {};
	u64 seq = scope_registry_seq();

	KUNIT_EXPECT_EQ(test, id, scope_registry_event_at(ufile));
	scope_registry_event(id);
	scope_registry_event(0);
	KUNIT_EXPECT_TRUE(test, scope_registry_read_ufile(id, &known));
	KUNIT_EXPECT_EQ(test, 2ULL, known.events);
	KUNIT_EXPECT_GE(test, scope_registry_seq(), seq + 3);
	/* What came first is remembered. */
	scope_registry_note_end(ufile, false);
	scope_registry_note_end(ufile, true);
	KUNIT_EXPECT_TRUE(test, scope_registry_read_ufile(id, &known));
	KUNIT_EXPECT_TRUE(test, known.disassociated);
	KUNIT_EXPECT_FALSE(test, known.closed);
	KUNIT_EXPECT_TRUE(test, known.released);
	scope_registry_remove_ufile(ufile);
}

static void registry_has_no_limit(struct kunit *test)
{
	struct ib_uverbs_file *ufiles = kvcalloc(20000, sizeof(*ufiles), GFP_KERNEL);
	struct scope_registry_counts before, now;
	u32 n;

	KUNIT_ASSERT_NOT_NULL(test, ufiles);
	scope_registry_count(&before);
	for (n = 0; n < 20000; n++)
		scope_registry_add_ufile(&ufiles[n], false);
	scope_registry_count(&now);
	KUNIT_EXPECT_EQ(test, before.ufiles + 20000, now.ufiles + now.dropped - before.dropped);
	for (n = 0; n < 20000; n++)
		scope_registry_remove_ufile(&ufiles[n]);
	scope_registry_count(&now);
	KUNIT_EXPECT_EQ(test, before.ufiles, now.ufiles);
	kvfree(ufiles);
}

static void guard_names_the_first_misfit(struct kunit *test)
{
	static const struct scope_size sizes[] = {
		{ "fits", 8, 8 }, { "absent", 16, 0 }, { "grown", 200, 224 }, { "shrunk", 8, 4 },
	};
	struct scope_misfit misfit = {};

	KUNIT_EXPECT_TRUE(test, scope_guard_sizes(sizes, 2, &misfit));
	KUNIT_EXPECT_STREQ(test, misfit.text, "");
	KUNIT_EXPECT_FALSE(test, scope_guard_sizes(sizes, ARRAY_SIZE(sizes), &misfit));
	KUNIT_EXPECT_STREQ(test, misfit.text,
			   "struct grown has 200 bytes in this build and 224 in the kernel");
}

/**
 * struct made_xarray - an mmap_xa with an entry of three pages and one of one
 * @xa: the xarray
 * @entries: in it
 */
struct made_xarray {
	struct xarray			xa;
	struct rdma_user_mmap_entry	entries[2];
};

static void put_entry(struct kunit *test, struct made_xarray *made, int n,
		      unsigned long pgoff, size_t npages)
{
	struct rdma_user_mmap_entry *entry = &made->entries[n];
	size_t page;

	kref_init(&entry->ref);
	mutex_init(&entry->dmabufs_lock);
	INIT_LIST_HEAD(&entry->dmabufs);
	entry->start_pgoff = pgoff;
	entry->npages = npages;
	for (page = 0; page < npages; page++)
		KUNIT_ASSERT_EQ(test, 0, xa_insert(&made->xa, pgoff + page, entry, GFP_KERNEL));
}

static void mmap_walk_sees_each_entry_once(struct kunit *test)
{
	struct made_xarray *made = kunit_kzalloc(test, sizeof(*made), GFP_KERNEL);
	struct rdma_user_mmap_entry *entry = NULL;
	struct scope_mmap_record r = {};
	unsigned long index = 0;

	KUNIT_ASSERT_NOT_NULL(test, made);
	xa_init_flags(&made->xa, XA_FLAGS_ALLOC);
	put_entry(test, made, 0, 0x80000, 3);
	put_entry(test, made, 1, 0x90001, 1);
	made->entries[0].driver_removed = true;
	xa_lock(&made->xa);
	KUNIT_EXPECT_TRUE(test, scope_next_entry(&made->xa, &index, &entry));
	KUNIT_EXPECT_PTR_EQ(test, entry, &made->entries[0]);
	scope_fill_mmap(&r, entry);
	KUNIT_EXPECT_TRUE(test, scope_next_entry(&made->xa, &index, &entry));
	KUNIT_EXPECT_PTR_EQ(test, entry, &made->entries[1]);
	KUNIT_EXPECT_FALSE(test, scope_next_entry(&made->xa, &index, &entry));
	xa_unlock(&made->xa);
	KUNIT_EXPECT_EQ(test, 0x80000ULL, r.pgoff);
	KUNIT_EXPECT_EQ(test, 3ULL, r.npages);
	KUNIT_EXPECT_EQ(test, 1, r.ref);
	KUNIT_EXPECT_TRUE(test, r.removed);
	KUNIT_EXPECT_TRUE(test, r.dmabufs_known);
	KUNIT_EXPECT_EQ(test, 0u, r.dmabufs);
	xa_destroy(&made->xa);
}

static void mmap_walk_passes_by_the_unfinished(struct kunit *test)
{
	struct made_xarray *made = kunit_kzalloc(test, sizeof(*made), GFP_KERNEL);
	struct rdma_user_mmap_entry *entry = NULL;
	unsigned long index = 0;

	KUNIT_ASSERT_NOT_NULL(test, made);
	xa_init_flags(&made->xa, XA_FLAGS_ALLOC);
	put_entry(test, made, 0, 0x80000, 2);
	put_entry(test, made, 1, 0x80002, 1);
	/* As it is between the insertion of its pages and the setting of its offset. */
	made->entries[0].start_pgoff = 0;
	xa_lock(&made->xa);
	KUNIT_EXPECT_TRUE(test, scope_next_entry(&made->xa, &index, &entry));
	KUNIT_EXPECT_PTR_EQ(test, entry, &made->entries[1]);
	xa_unlock(&made->xa);
	xa_destroy(&made->xa);
}

static void uobject_states(struct kunit *test)
{
	static const struct uverbs_api_object type = { .id = UVERBS_OBJECT_PD };
	struct ib_uobject *uobj = kunit_kzalloc(test, sizeof(*uobj), GFP_KERNEL);
	struct scope_uobj_record r = {};

	KUNIT_ASSERT_NOT_NULL(test, uobj);
	kref_init(&uobj->ref);
	uobj->uapi_object = &type;
	uobj->id = 5;
	uobj->object = uobj;
	uobj->context = (struct ib_ucontext *)uobj;
	scope_fill_uobj(&r, uobj, false);
	KUNIT_EXPECT_EQ(test, (u8)SCOPE_UOBJ_LIVE, r.state);
	KUNIT_EXPECT_EQ(test, 5u, r.handle);
	atomic_set(&uobj->usecnt, -1);
	scope_fill_uobj(&r, uobj, false);
	KUNIT_EXPECT_EQ(test, (u8)SCOPE_UOBJ_LOCKED, r.state);
	scope_fill_uobj(&r, uobj, true);
	KUNIT_EXPECT_EQ(test, (u8)SCOPE_UOBJ_COMMITTING, r.state);
	uobj->object = NULL;
	scope_fill_uobj(&r, uobj, false);
	KUNIT_EXPECT_EQ(test, (u8)SCOPE_UOBJ_DEAD, r.state);
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
	KUNIT_CASE(registry_add_find_remove),
	KUNIT_CASE(registry_passes_by_the_dying),
	KUNIT_CASE(registry_counts_events),
	KUNIT_CASE(registry_has_no_limit),
	KUNIT_CASE(guard_names_the_first_misfit),
	KUNIT_CASE(mmap_walk_sees_each_entry_once),
	KUNIT_CASE(mmap_walk_passes_by_the_unfinished),
	KUNIT_CASE(uobject_states),
	{}
};

static struct kunit_suite suite = {
	.name		= "uobjscope",
	.test_cases	= cases,
};

kunit_test_suite(suite);
