// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of what the importer does without a dma-buf: the ring of events,
 * the longest times, what an export can be like, and what each command refuses.
 * Attachments and exports are the selftests' business.
 */
#include <kunit/test.h>
#include <linux/sizes.h>

#include "importer.h"

static void put(void *importer)
{
	importer_put(importer);
}

static int importer_test_init(struct kunit *test)
{
	test->priv = importer_new();
	KUNIT_ASSERT_NOT_NULL(test, test->priv);
	return kunit_add_action_or_reset(test, put, test->priv);
}

static void add_events(struct importer *importer, unsigned int nr)
{
	while (nr--)
		importer_event(importer, DMABUF_IMPORTER_EVENT_UNMAP, importer->seq + 100, 7);
}

/* Take all events, which are those from @first to @last. */
static void expect_events(struct kunit *test, u64 first, u64 last)
{
	struct dmabuf_importer_event event;
	struct importer *importer = test->priv;
	u64 seq, time = 0;

	for (seq = first; seq <= last; seq++) {
		KUNIT_ASSERT_TRUE(test, importer_take_event(importer, &event));
		KUNIT_ASSERT_EQ(test, event.seq, seq);
		KUNIT_ASSERT_EQ(test, event.id, seq - 1 + 100);
		KUNIT_EXPECT_EQ(test, event.type, DMABUF_IMPORTER_EVENT_UNMAP);
		KUNIT_EXPECT_EQ(test, event.state, 7);
		KUNIT_EXPECT_EQ(test, event.reserved, 0);
		KUNIT_EXPECT_GE(test, event.time_ns, time);
		time = event.time_ns;
	}
	KUNIT_EXPECT_FALSE(test, importer_take_event(importer, &event));
}

/* As many as are kept, and one more: the oldest is missing, and no other. */
static void event_ring_keeps_the_last(struct kunit *test)
{
	struct importer *importer = test->priv;

	expect_events(test, 1, 0);
	add_events(importer, DMABUF_IMPORTER_EVENTS);
	expect_events(test, 1, DMABUF_IMPORTER_EVENTS);
	add_events(importer, DMABUF_IMPORTER_EVENTS + 1);
	expect_events(test, DMABUF_IMPORTER_EVENTS + 2, 2 * DMABUF_IMPORTER_EVENTS + 1);
}

/* Reading between them makes room. */
static void event_ring_between_reads(struct kunit *test)
{
	struct dmabuf_importer_event event;
	struct importer *importer = test->priv;
	unsigned int n;

	add_events(importer, DMABUF_IMPORTER_EVENTS - 1);
	for (n = 1; n <= 10; n++) {
		KUNIT_ASSERT_TRUE(test, importer_take_event(importer, &event));
		KUNIT_EXPECT_EQ(test, event.seq, n);
	}
	add_events(importer, 11);
	expect_events(test, 11, DMABUF_IMPORTER_EVENTS + 10);
	add_events(importer, 3 * DMABUF_IMPORTER_EVENTS);
	expect_events(test, 3 * DMABUF_IMPORTER_EVENTS + 11, 4 * DMABUF_IMPORTER_EVENTS + 10);
}

static void event_read_and_poll_without_one(struct kunit *test)
{
	struct file *file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);
	struct dmabuf_importer_event event;
	struct importer *importer = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, file);
	file->private_data = importer;
	file->f_flags = O_NONBLOCK;
	KUNIT_EXPECT_EQ(test, importer_poll(file, NULL), 0);
	KUNIT_EXPECT_EQ(test, importer_read_events(file, NULL, sizeof(event), NULL), -EAGAIN);
	KUNIT_EXPECT_EQ(test, importer_read_events(file, NULL, sizeof(event) - 1, NULL),
			-EINVAL);
	add_events(importer, 1);
	KUNIT_EXPECT_EQ(test, importer_poll(file, NULL), EPOLLIN | EPOLLRDNORM);
	/* What has no room for it does not take it. */
	KUNIT_EXPECT_EQ(test, importer_read_events(file, NULL, sizeof(event) - 1, NULL),
			-EINVAL);
	expect_events(test, 1, 1);
	KUNIT_EXPECT_EQ(test, importer_poll(file, NULL), 0);
}

static void limit_bounds(struct kunit *test)
{
	u32 limit = 0;

	KUNIT_EXPECT_TRUE(test, importer_limit(&limit));
	KUNIT_EXPECT_EQ(test, limit, importer_max_hold_ms);
	KUNIT_EXPECT_TRUE(test, importer_limit(&limit));
	limit = 1;
	KUNIT_EXPECT_TRUE(test, importer_limit(&limit));
	KUNIT_EXPECT_EQ(test, limit, 1);
	limit = importer_max_hold_ms + 1;
	KUNIT_EXPECT_FALSE(test, importer_limit(&limit));
	limit = U32_MAX;
	KUNIT_EXPECT_FALSE(test, importer_limit(&limit));
}

static void export_is_good(struct kunit *test)
{
	static const struct {
		const char *what;
		struct dmabuf_importer_export export;
		bool good;
	} wishes[] = {
		{ "a page", { .size = PAGE_SIZE }, true },
		{ "the largest", { .size = IMPORTER_MAX_EXPORT }, true },
		{ "nothing", { .size = 0 }, false },
		{ "less than a page", { .size = PAGE_SIZE - 1 }, false },
		{ "no whole pages", { .size = PAGE_SIZE + 1 }, false },
		{ "too large", { .size = IMPORTER_MAX_EXPORT + PAGE_SIZE }, false },
		{ "much too large", { .size = 0 - PAGE_SIZE }, false },
		{ "static", { .size = PAGE_SIZE, .flags = DMABUF_IMPORTER_EXPORT_STATIC },
		  true },
		{ "contiguous", { .size = PAGE_SIZE, .flags = DMABUF_IMPORTER_EXPORT_CONTIGUOUS },
		  true },
		{ "an unknown flag", { .size = PAGE_SIZE, .flags = 4 }, false },
		{ "a descriptor", { .size = PAGE_SIZE, .fd = 1 }, false },
		{ "an id", { .size = PAGE_SIZE, .id = 1 }, false },
		{ "attaching fails", { .size = PAGE_SIZE, .attach_error = MAX_ERRNO }, true },
		{ "no errno", { .size = PAGE_SIZE, .attach_error = MAX_ERRNO + 1 }, false },
		{ "pinning fails", { .size = PAGE_SIZE, .pin_error = MAX_ERRNO }, true },
		{ "no errno of pin", { .size = PAGE_SIZE, .pin_error = MAX_ERRNO + 1 }, false },
		{ "busy pin", { .size = PAGE_SIZE, .pin_error = EBUSY }, false },
		{ "pin of static", { .size = PAGE_SIZE, .pin_error = ENOMEM,
				     .flags = DMABUF_IMPORTER_EXPORT_STATIC }, false },
		{ "mapping fails", { .size = PAGE_SIZE, .map_error = MAX_ERRNO }, true },
		{ "no errno of map", { .size = PAGE_SIZE, .map_error = MAX_ERRNO + 1 }, false },
		{ "the second fails", { .size = PAGE_SIZE, .map_error = EIO,
					.map_error_nth = 2 }, true },
		{ "with no error", { .size = PAGE_SIZE, .map_error_nth = 2 }, false },
		{ "a stall", { .size = PAGE_SIZE, .map_stall_ms = 1 }, true },
		{ "too long a stall", { .size = PAGE_SIZE, .map_stall_ms = U32_MAX }, false },
	};
	struct dmabuf_importer_export export;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wishes); i++) {
		export = wishes[i].export;
		KUNIT_EXPECT_EQ_MSG(test, importer_export_is_good(&export), wishes[i].good, "%s",
				    wishes[i].what);
		/* No wait means none, and not the longest. */
		KUNIT_EXPECT_EQ_MSG(test, export.map_stall_ms, wishes[i].export.map_stall_ms,
				    "%s", wishes[i].what);
	}
}

/* A command's argument, whichever. */
union argument {
	struct dmabuf_importer_id id;
	struct dmabuf_importer_map map;
	struct dmabuf_importer_entries entries;
	struct dmabuf_importer_read read;
	struct dmabuf_importer_query query;
	struct dmabuf_importer_set_policy policy;
	struct dmabuf_importer_stall stall;
	struct dmabuf_importer_fence fence;
	struct dmabuf_importer_invalidate invalidate;
	struct dmabuf_importer_export_query export_query;
};

/**
 * struct request - a command with an argument that it cannot take
 * @what: the command and what is wrong
 * @run: the command
 * @argument: its argument
 * @err: what it answers
 */
struct request {
	const char	*what;
	int		(*run)(struct importer *importer, void *arg);
	union argument	argument;
	int		err;
};

/* What is wrong is said before it is looked who is meant; nobody is there. */
static const struct request requests[] = {
	{ "detach", importer_detach, { .id = { .id = 1 } }, -ENOENT },
	{ "detach 0", importer_detach, { .id = { .id = 0 } }, -ENOENT },
	{ "detach reserved", importer_detach, { .id = { 1, 1 } }, -EINVAL },
	{ "map", importer_map, { .map = { .id = 1 } }, -ENOENT },
	{ "map from device", importer_map, { .map = { .id = 1, .direction = DMA_FROM_DEVICE } },
	  -ENOENT },
	{ "map nowhere", importer_map, { .map = { .id = 1, .direction = DMA_NONE } }, -EINVAL },
	{ "map reserved", importer_map, { .map = { .id = 1, .reserved = 1 } }, -EINVAL },
	{ "map nents", importer_map, { .map = { .id = 1, .nents = 1 } }, -EINVAL },
	{ "map length", importer_map, { .map = { .id = 1, .length = 1 } }, -EINVAL },
	{ "unmap", importer_unmap, { .id = { .id = 1 } }, -ENOENT },
	{ "unmap reserved", importer_unmap, { .id = { 1, 1 } }, -EINVAL },
	{ "entries", importer_entries,
	  { .entries = { .id = 1, .count = DMABUF_IMPORTER_MAX_ENTRIES } }, -ENOENT },
	{ "entries none", importer_entries, { .entries = { .id = 1 } }, -EINVAL },
	{ "entries many", importer_entries,
	  { .entries = { .id = 1, .count = DMABUF_IMPORTER_MAX_ENTRIES + 1 } }, -EINVAL },
	{ "entries reserved", importer_entries,
	  { .entries = { .id = 1, .count = 1, .reserved = 1 } }, -EINVAL },
	{ "read", importer_read,
	  { .read = { .id = 1, .length = DMABUF_IMPORTER_MAX_READ } }, -ENOENT },
	{ "read much", importer_read,
	  { .read = { .id = 1, .length = DMABUF_IMPORTER_MAX_READ + 1 } }, -EINVAL },
	{ "read nothing", importer_read, { .read = { .id = 1 } }, -EINVAL },
	{ "pin", importer_pin, { .id = { .id = 1 } }, -ENOENT },
	{ "pin reserved", importer_pin, { .id = { 1, 1 } }, -EINVAL },
	{ "unpin", importer_unpin, { .id = { .id = 1 } }, -ENOENT },
	{ "unpin reserved", importer_unpin, { .id = { 1, 1 } }, -EINVAL },
	{ "query", importer_query, { .query = { .id = 1 } }, -ENOENT },
	{ "query state", importer_query, { .query = { .id = 1, .state = 1 } }, -EINVAL },
	{ "query time", importer_query, { .query = { .id = 1, .last_time_ns = 1 } }, -EINVAL },
	{ "policy", importer_set_policy,
	  { .policy = { .id = 1, .policy = DMABUF_IMPORTER_NEVER } }, -ENOENT },
	{ "policy unknown", importer_set_policy,
	  { .policy = { .id = 1, .policy = DMABUF_IMPORTER_NEVER + 1 } }, -EINVAL },
	{ "release", importer_release, { .id = { .id = 1 } }, -ENOENT },
	{ "release reserved", importer_release, { .id = { 1, 1 } }, -EINVAL },
	{ "stall", importer_stall, { .stall = { .id = 1 } }, -ENOENT },
	{ "stall long", importer_stall, { .stall = { .id = 1, .limit_ms = U32_MAX } }, -EINVAL },
	{ "resume", importer_resume, { .id = { .id = 1 } }, -ENOENT },
	{ "resume reserved", importer_resume, { .id = { 1, 1 } }, -EINVAL },
	{ "fence", importer_hold_fence,
	  { .fence = { .id = 1, .usage = DMABUF_IMPORTER_BOOKKEEP } }, -ENOENT },
	{ "fence usage", importer_hold_fence,
	  { .fence = { .id = 1, .usage = DMABUF_IMPORTER_BOOKKEEP + 1 } }, -EINVAL },
	{ "fence id", importer_hold_fence, { .fence = { .id = 1, .fence = 1 } }, -EINVAL },
	{ "fence long", importer_hold_fence, { .fence = { .id = 1, .limit_ms = U32_MAX } },
	  -EINVAL },
	{ "signal", importer_signal, { .id = { .id = 1 } }, -ENOENT },
	{ "signal reserved", importer_signal, { .id = { 1, 1 } }, -EINVAL },
	{ "invalidate", importer_invalidate, { .invalidate = { .id = 1, .flags = 7 } }, -ENOENT },
	{ "move", importer_invalidate, { .invalidate = { .id = 1, .flags = 10 } }, -ENOENT },
	{ "move and revoke", importer_invalidate, { .invalidate = { .id = 1, .flags = 9 } },
	  -EINVAL },
	{ "invalidate flags", importer_invalidate, { .invalidate = { .id = 1, .flags = 16 } },
	  -EINVAL },
	{ "invalidate mappings", importer_invalidate,
	  { .invalidate = { .id = 1, .mappings = 1 } }, -EINVAL },
	{ "invalidate long", importer_invalidate,
	  { .invalidate = { .id = 1, .limit_ms = U32_MAX } }, -EINVAL },
	{ "export query", importer_export_query, { .export_query = { .id = 1 } }, -ENOENT },
	{ "export query maps", importer_export_query,
	  { .export_query = { .id = 1, .maps = 1 } }, -EINVAL },
	{ "export resume", importer_export_resume, { .id = { .id = 1 } }, -ENOENT },
	{ "export resume reserved", importer_export_resume, { .id = { 1, 1 } }, -EINVAL },
};

static void commands_refuse(struct kunit *test)
{
	struct importer *importer = test->priv;
	union argument argument;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		argument = requests[i].argument;
		KUNIT_EXPECT_EQ_MSG(test, requests[i].run(importer, &argument), requests[i].err,
				    "%s", requests[i].what);
	}
	/* Nothing is left of them. */
	KUNIT_EXPECT_TRUE(test, xa_empty(&importer->attachments));
	KUNIT_EXPECT_TRUE(test, xa_empty(&importer->fences));
	KUNIT_EXPECT_TRUE(test, xa_empty(&importer->exports));
	KUNIT_EXPECT_EQ(test, importer->seq, 0);
	KUNIT_EXPECT_EQ(test, kref_read(&importer->kref), 1);
}

/* Good wishes get as far as the device, which is not there. */
static void attach_checks_wishes(struct kunit *test)
{
	const u32 p2p = DMABUF_IMPORTER_PEER2PEER, none = DMABUF_IMPORTER_NO_CALLBACK;
	const u32 fixed = DMABUF_IMPORTER_STATIC, domain = 0xfffe;
	const struct {
		struct dmabuf_importer_attach attach;
		int err;
	} wishes[] = {
		{ { .domain = domain }, -ENODEV },
		{ { .domain = domain, .flags = p2p }, -ENODEV },
		{ { .domain = domain, .flags = fixed }, -ENODEV },
		{ { .domain = domain, .flags = fixed | p2p }, -EINVAL },
		{ { .domain = domain, .flags = fixed | none }, -EINVAL },
		{ { .domain = domain, .flags = ~(p2p | none | fixed) }, -EINVAL },
		{ { .domain = domain, .policy = DMABUF_IMPORTER_NEVER }, -ENODEV },
		{ { .domain = domain, .policy = DMABUF_IMPORTER_NEVER + 1 }, -EINVAL },
		{ { .domain = domain, .reserved = 1 }, -EINVAL },
		{ { .domain = domain, .id = 1 }, -EINVAL },
		/* Its low 31 bits are the machine's first domain. */
		{ { .domain = 1U << 31 }, -ENODEV },
	};
	struct dmabuf_importer_attach attach;
	struct importer *importer = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wishes); i++) {
		attach = wishes[i].attach;
		KUNIT_EXPECT_EQ_MSG(test, importer_attach(importer, &attach), wishes[i].err,
				    "wish %u", i);
	}
	KUNIT_EXPECT_TRUE(test, xa_empty(&importer->attachments));
	KUNIT_EXPECT_EQ(test, kref_read(&importer->kref), 1);
}

static struct kunit_case importer_cases[] = {
	KUNIT_CASE(event_ring_keeps_the_last),
	KUNIT_CASE(event_ring_between_reads),
	KUNIT_CASE(event_read_and_poll_without_one),
	KUNIT_CASE(limit_bounds),
	KUNIT_CASE(export_is_good),
	KUNIT_CASE(commands_refuse),
	KUNIT_CASE(attach_checks_wishes),
	{}
};

static struct kunit_suite importer_suite = {
	.name		= "dmabuf_importer",
	.init		= importer_test_init,
	.test_cases	= importer_cases,
};

kunit_test_suite(importer_suite);
