// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of what can be tested without a device, but not without the kernel:
 * the registry, the layout guard's arithmetic, and the walks over structures made
 * here.  Locks and lifetimes are the selftests' business.
 */
#include <kunit/test.h>
#include <linux/dma-buf.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_std_types.h>
#include <rdma/uverbs_types.h>

#include "guard.h"
#include "registry.h"
#include "walk.h"

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

/* The file is what is counted, and may be gone before the dma_buf. */
static void registry_lets_a_closed_file_be(struct kunit *test)
{
	struct dma_buf *dmabuf = kunit_kzalloc(test, sizeof(*dmabuf), GFP_KERNEL);
	struct ib_uverbs_file *ufile = new_ufile(test);
	u64 id = scope_registry_add_ufile(ufile, false);

	KUNIT_ASSERT_NOT_NULL(test, dmabuf);
	KUNIT_EXPECT_EQ(test, 0ULL, scope_registry_close_dmabuf(NULL));
	KUNIT_EXPECT_EQ(test, 0ULL, scope_registry_close_dmabuf(dmabuf));
	scope_registry_add_dmabuf(dmabuf, ufile);
	KUNIT_EXPECT_EQ(test, id, scope_registry_close_dmabuf(dmabuf));
	/* Which follows no file: there is none. */
	KUNIT_EXPECT_NULL(test, scope_registry_get_dmabuf((unsigned long)dmabuf));
	KUNIT_EXPECT_EQ(test, id, scope_registry_dmabuf_ufile(dmabuf));
	scope_registry_remove_dmabuf(dmabuf);
	KUNIT_EXPECT_EQ(test, 0ULL, scope_registry_dmabuf_ufile(dmabuf));
	scope_registry_remove_ufile(ufile);
}

static void registry_has_no_limit(struct kunit *test)
{
	struct ib_uverbs_file *ufiles = kvcalloc(2000, sizeof(*ufiles), GFP_KERNEL);
	struct scope_registry_counts before, now;
	u32 n;

	KUNIT_ASSERT_NOT_NULL(test, ufiles);
	scope_registry_count(&before);
	for (n = 0; n < 2000; n++)
		scope_registry_add_ufile(&ufiles[n], false);
	scope_registry_count(&now);
	KUNIT_EXPECT_EQ(test, before.ufiles + 2000, now.ufiles + now.dropped - before.dropped);
	for (n = 0; n < 2000; n++)
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

/* A program can make the list as long as it likes. */
static void mmap_walk_counts_no_long_list(struct kunit *test)
{
	struct list_head *nodes = kunit_kcalloc(test, SCOPE_DMABUFS_MAX + 1, sizeof(*nodes),
						GFP_KERNEL);
	struct made_xarray *made = kunit_kzalloc(test, sizeof(*made), GFP_KERNEL);
	struct scope_mmap_record most = {}, r = {};
	unsigned int n;

	KUNIT_ASSERT_NOT_NULL(test, nodes);
	KUNIT_ASSERT_NOT_NULL(test, made);
	xa_init_flags(&made->xa, XA_FLAGS_ALLOC);
	put_entry(test, made, 0, 0x80000, 1);
	for (n = 0; n < SCOPE_DMABUFS_MAX; n++)
		list_add(&nodes[n], &made->entries[0].dmabufs);
	KUNIT_EXPECT_EQ(test, SCOPE_DMABUFS_MAX, scope_fill_mmap(&most, &made->entries[0]));
	KUNIT_EXPECT_TRUE(test, most.dmabufs_known);
	KUNIT_EXPECT_EQ(test, SCOPE_DMABUFS_MAX, most.dmabufs);
	list_add(&nodes[n], &made->entries[0].dmabufs);
	KUNIT_EXPECT_LE(test, SCOPE_DMABUFS_MAX, scope_fill_mmap(&r, &made->entries[0]));
	KUNIT_EXPECT_FALSE(test, r.dmabufs_known);
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
	KUNIT_CASE(registry_add_find_remove),
	KUNIT_CASE(registry_passes_by_the_dying),
	KUNIT_CASE(registry_counts_events),
	KUNIT_CASE(registry_lets_a_closed_file_be),
	KUNIT_CASE_SLOW(registry_has_no_limit),
	KUNIT_CASE(guard_names_the_first_misfit),
	KUNIT_CASE(mmap_walk_sees_each_entry_once),
	KUNIT_CASE(mmap_walk_counts_no_long_list),
	KUNIT_CASE(mmap_walk_passes_by_the_unfinished),
	KUNIT_CASE(uobject_states),
	{}
};

static struct kunit_suite suite = {
	.name		= "uobjscope_kernel",
	.test_cases	= cases,
};

kunit_test_suite(suite);
