// SPDX-License-Identifier: GPL-2.0
/*
 * dmabuf_importer.ko: each command, each refusal, and each way to end.
 *
 * Exporters are the module's own, which counts what importers do to it, and
 * udmabuf, which is the kernel's.  Second witnesses are bufinfo, poll() on the
 * dma-buf, the functions that a waiting thread is in, and the module's
 * reference count.  No RDMA device is needed.
 */
#include <fcntl.h>
#include <linux/memfd.h>
#include <linux/udmabuf.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/caller.h"
#include "common/importer.h"
#include "common/kernel_signs.h"

#define PAGES	4
#define NOBODY	65534
#define NO_ID	0xabcdef

/* Kinds of attachment. */
#define P2P	DMABUF_IMPORTER_PEER2PEER
#define DEAF	DMABUF_IMPORTER_NO_CALLBACK
#define STATIC	DMABUF_IMPORTER_STATIC

FIXTURE(import)
{
	char pci[32];
	int imp;
	size_t size;
	int fds;
	int refs;
};

FIXTURE_SETUP(import)
{
	const char *missing = importer_missing();

	bed_mark(_metadata, "begin");
	if (!missing && importer_some_pci(self->pci))
		missing = "no PCI device";
	if (missing) {
		bed_mark(_metadata, "end");
		SKIP(return, "%s", missing);
	}
	self->size = PAGES * sysconf(_SC_PAGESIZE);
	self->fds = fd_count();
	self->refs = module_refcount(IMPORTER_MODULE);
	ASSERT_LE(0, self->refs);
	ASSERT_EQ(0, dmabuf_count(IMPORTER_MODULE));
	importer_open(&self->imp);
}

/* A test closes what it has made; the module then holds nothing. */
FIXTURE_TEARDOWN(import)
{
	if (self->imp >= 0)
		EXPECT_EQ(0, close(self->imp));
	if (_metadata->exit_code == KSFT_PASS) {
		EXPECT_EQ(self->fds, fd_count());
		EXPECT_EQ(self->refs, module_refcount(IMPORTER_MODULE));
		EXPECT_EQ(0, dmabuf_count(IMPORTER_MODULE));
	}
	bed_mark(_metadata, "end");
}

/* An export with nothing special about it but what is said. */
#define EXPORT(...) \
	((struct dmabuf_importer_export){ .size = self->size, ##__VA_ARGS__ })

#define ASSERT_STATE(expected, attachment) \
do { \
	struct dmabuf_importer_query __query; \
	importer_query(self->imp, attachment, &__query); \
	ASSERT_EQ((uint32_t)(expected), __query.state); \
} while (0)

/* What importers did to the export, in the order of the structure. */
#define ASSERT_EXPORT(export, ...) \
do { \
	const struct dmabuf_importer_export_query __expected = { \
		.id = (export)->id, __VA_ARGS__ \
	}; \
	struct dmabuf_importer_export_query __is; \
	importer_export_query(self->imp, (export)->id, &__is); \
	ASSERT_EQ(__expected.state, __is.state); \
	ASSERT_EQ(__expected.attaches, __is.attaches); \
	ASSERT_EQ(__expected.attaches_refused, __is.attaches_refused); \
	ASSERT_EQ(__expected.detaches, __is.detaches); \
	ASSERT_EQ(__expected.maps, __is.maps); \
	ASSERT_EQ(__expected.maps_failed, __is.maps_failed); \
	ASSERT_EQ(__expected.unmaps, __is.unmaps); \
	ASSERT_EQ(__expected.pins, __is.pins); \
	ASSERT_EQ(__expected.pins_failed, __is.pins_failed); \
	ASSERT_EQ(__expected.unpins, __is.unpins); \
	ASSERT_EQ(__expected.invalidations, __is.invalidations); \
	ASSERT_EQ(__expected.altered, __is.altered); \
	ASSERT_EQ(__expected.moves, __is.moves); \
} while (0)

#define ALIVE	.state = DMABUF_IMPORTER_EXPORT_ALIVE

/* The dma-buf has so many file references and attachments. */
#define ASSERT_DMABUF(fd, references, importers) \
do { \
	struct dmabuf_sign __sign; \
	ASSERT_EQ(1, dmabuf_look(dmabuf_inode(fd), &__sign)); \
	ASSERT_EQ(references, __sign.files); \
	ASSERT_EQ(importers, __sign.attachments); \
} while (0)

#define ASSERT_NO_EVENT() \
	ASSERT_EQ(0, importer_has_event(self->imp))

/* Is all that is written to the dma-buf done, as far as poll() is told of it? */
static bool dmabuf_is_idle(int fd)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN | POLLOUT };

	return poll(&poller, 1, 0) == 1 && poller.revents == (POLLIN | POLLOUT);
}

/* How an invalidation is made in a thread of its own. */
struct invalidation {
	int imp;
	uint32_t id;
	uint32_t flags;
	uint32_t left;
};

static int invalidate(void *arg)
{
	struct invalidation *i = arg;

	return _importer_invalidate(i->imp, i->id, i->flags, 0, &i->left);
}

#define INVALIDATION(export, how) \
	((struct invalidation){ .imp = self->imp, .id = (export)->id, .flags = how })

/* The device: its version, its mode, and what it answers to nonsense. */
TEST_F(import, device)
{
	struct dmabuf_importer_version version;
	struct dmabuf_importer_attach *bad;
	struct dmabuf_importer_export export;
	struct stat st;
	pid_t child;
	int status;

	ASSERT_EQ(0, importer_ioctl(self->imp, DMABUF_IMPORTER_GET_VERSION, &version));
	ASSERT_EQ((uint32_t)DMABUF_IMPORTER_VERSION, version.version);
	ASSERT_LT(0U, version.max_hold_ms);
	ASSERT_LE(self->size, version.max_export);
	ASSERT_EQ(self->refs + 1, module_refcount(IMPORTER_MODULE));

	ASSERT_EQ(0, stat(IMPORTER_DEVICE, &st));
	ASSERT_EQ(0600U, st.st_mode & 07777);
	child = fork();
	if (!child)
		_exit(setuid(NOBODY) || open(IMPORTER_DEVICE, O_RDWR) >= 0 || errno != EACCES);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_EQ(0, status);

	ASSERT_EQ(ENOTTY, importer_ioctl(self->imp, _IO(DMABUF_IMPORTER_TYPE, 0x7f), NULL));
	/* The right number with another size is another command. */
	ASSERT_EQ(ENOTTY, importer_ioctl(self->imp,
					 _IOWR(DMABUF_IMPORTER_TYPE, 0x01, uint32_t), NULL));
	ASSERT_EQ(EFAULT, importer_ioctl(self->imp, DMABUF_IMPORTER_ATTACH, (void *)16));

	/* An answer that could not be written: nothing is done. */
	export = EXPORT();
	importer_export(self->imp, &export);
	bad = mmap(NULL, self->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, bad);
	*bad = (struct dmabuf_importer_attach){ .fd = export.fd };
	ASSERT_EQ(0, mprotect(bad, self->size, PROT_READ));
	ASSERT_EQ(EFAULT, importer_ioctl(self->imp, DMABUF_IMPORTER_ATTACH, bad));
	ASSERT_EXPORT(&export, ALIVE);
	ASSERT_EQ(0, munmap(bad, self->size));
	ASSERT_EQ(0, close(export.fd));
}

/* read() and poll() without an event, and with more events than are kept. */
TEST_F(import, events)
{
	struct dmabuf_importer_event event[2], *many;
	struct dmabuf_importer_export export = EXPORT();
	uint32_t id, i;

	ASSERT_NO_EVENT();
	ASSERT_EQ(0, fcntl(self->imp, F_SETFL, O_NONBLOCK));
	ASSERT_EQ(-1, read(self->imp, event, sizeof(event)));
	ASSERT_EQ(EAGAIN, errno);
	ASSERT_EQ(-1, read(self->imp, event, sizeof(event[0]) - 1));
	ASSERT_EQ(EINVAL, errno);

	importer_export(self->imp, &export);
	importer_attach(self->imp, self->pci, export.fd, P2P, DMABUF_IMPORTER_AT_ONCE, &id);
	importer_invalidate(self->imp, export.id, 0, 0);
	/* Whole events only. */
	ASSERT_EQ((ssize_t)sizeof(event[0]), read(self->imp, event, sizeof(event) - 1));
	ASSERT_EQ(1UL, event[0].seq);
	ASSERT_EQ((uint32_t)DMABUF_IMPORTER_EVENT_INVALIDATE, event[0].type);
	ASSERT_EQ(id, event[0].id);
	ASSERT_NO_EVENT();

	for (i = 0; i < DMABUF_IMPORTER_EVENTS + 10; i++)
		importer_invalidate(self->imp, export.id, 0, 0);
	many = calloc(DMABUF_IMPORTER_EVENTS + 1, sizeof(*many));
	ASSERT_NE(NULL, many);
	ASSERT_EQ((ssize_t)(DMABUF_IMPORTER_EVENTS * sizeof(*many)),
		  read(self->imp, many, (DMABUF_IMPORTER_EVENTS + 1) * sizeof(*many)));
	for (i = 0; i < DMABUF_IMPORTER_EVENTS; i++) {
		/* Number 1 was read, the ten after it were not kept. */
		ASSERT_EQ(i + 12, many[i].seq);
		ASSERT_LE(i ? many[i - 1].time_ns : event[0].time_ns, many[i].time_ns);
	}
	ASSERT_NO_EVENT();
	free(many);
	ASSERT_EQ(0, close(export.fd));
}

/* ATTACH: nothing that cannot be leaves an attachment or a file reference. */
TEST_F(import, attach_refusals)
{
	struct dmabuf_importer_export export = EXPORT(.attach_error = EPERM);
	struct dmabuf_importer_export good = EXPORT();
	const struct dmabuf_importer_attach fine = { .fd = -1 };
	struct dmabuf_importer_attach attach;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	importer_export(self->imp, &export);
	importer_export(self->imp, &good);
	importer_attach_err(EBADF, self->imp, self->pci, -1, P2P, 0);
	importer_attach_err(EINVAL, self->imp, self->pci, null, P2P, 0);
	importer_attach_err(ENODEV, self->imp, "fffe:7f:1f.7", good.fd, P2P, 0);
	importer_attach_err(ENODEV, self->imp, "fffffffe:00:00.0", good.fd, P2P, 0);
	importer_attach_err(EINVAL, self->imp, self->pci, good.fd, 8, 0);
	importer_attach_err(EINVAL, self->imp, self->pci, good.fd, STATIC | P2P, 0);
	importer_attach_err(EINVAL, self->imp, self->pci, good.fd, STATIC | DEAF, 0);
	importer_attach_err(EINVAL, self->imp, self->pci, good.fd, P2P, DMABUF_IMPORTER_NEVER + 1);
	attach = fine;
	attach.reserved = 1;
	ASSERT_EQ(EINVAL, importer_ioctl(self->imp, DMABUF_IMPORTER_ATTACH, &attach));
	attach = fine;
	attach.id = 1;
	ASSERT_EQ(EINVAL, importer_ioctl(self->imp, DMABUF_IMPORTER_ATTACH, &attach));
	ASSERT_EXPORT(&good, ALIVE);
	ASSERT_DMABUF(good.fd, 1, 0);

	/* What the exporter says. */
	importer_attach_err(EPERM, self->imp, self->pci, export.fd, P2P, 0);
	ASSERT_EXPORT(&export, ALIVE, .attaches_refused = 1);
	ASSERT_DMABUF(export.fd, 1, 0);
	ASSERT_EQ(0, close(export.fd));
	ASSERT_EQ(0, close(good.fd));
	ASSERT_EQ(0, close(null));
}

/* Every command that names something says so if there is no such thing. */
TEST_F(import, unknown_ids)
{
	struct dmabuf_importer_query query;
	struct dmabuf_importer_export_query export_query;
	struct dmabuf_importer_entry entry;
	struct dmabuf_importer_id id = { .id = NO_ID, .reserved = 1 };
	static const unsigned long with_id[] = {
		DMABUF_IMPORTER_DETACH, DMABUF_IMPORTER_UNMAP, DMABUF_IMPORTER_PIN,
		DMABUF_IMPORTER_UNPIN, DMABUF_IMPORTER_RELEASE, DMABUF_IMPORTER_RESUME,
		DMABUF_IMPORTER_SIGNAL, DMABUF_IMPORTER_EXPORT_RESUME,
	};
	unsigned int i;
	char byte;

	for (i = 0; i < ARRAY_SIZE(with_id); i++) {
		id.reserved = 1;
		ASSERT_EQ(EINVAL, importer_ioctl(self->imp, with_id[i], &id));
		id.reserved = 0;
		ASSERT_EQ(ENOENT, importer_ioctl(self->imp, with_id[i], &id));
	}
	importer_map_err(ENOENT, self->imp, NO_ID);
	importer_entries_err(ENOENT, self->imp, NO_ID, 0, &entry, 1);
	importer_read_err(ENOENT, self->imp, NO_ID, 0, &byte, 1);
	ASSERT_EQ(ENOENT, _importer_query(self->imp, NO_ID, &query));
	importer_policy_err(ENOENT, self->imp, NO_ID, DMABUF_IMPORTER_NEVER);
	importer_policy_err(EINVAL, self->imp, NO_ID, DMABUF_IMPORTER_NEVER + 1);
	importer_stall_err(ENOENT, self->imp, NO_ID, 1);
	importer_hold_fence_err(ENOENT, self->imp, NO_ID, DMABUF_IMPORTER_BOOKKEEP, 1);
	importer_invalidate_err(ENOENT, self->imp, NO_ID, 0, 1);
	ASSERT_EQ(ENOENT, _importer_export_query(self->imp, NO_ID, &export_query));
	query = (struct dmabuf_importer_query){ .id = NO_ID, .fences = 1 };
	ASSERT_EQ(EINVAL, importer_ioctl(self->imp, DMABUF_IMPORTER_QUERY, &query));
	export_query = (struct dmabuf_importer_export_query){ .id = NO_ID, .unpins = 1 };
	ASSERT_EQ(EINVAL, importer_ioctl(self->imp, DMABUF_IMPORTER_EXPORT_QUERY, &export_query));
}

/* One context's ids mean nothing to another. */
TEST_F(import, contexts_are_apart)
{
	struct dmabuf_importer_export export = EXPORT();
	uint32_t id, fence;
	int other;

	importer_open(&other);
	importer_export(self->imp, &export);
	importer_attach(self->imp, self->pci, export.fd, P2P, 0, &id);
	importer_hold_fence(self->imp, id, DMABUF_IMPORTER_BOOKKEEP, 0, &fence);
	importer_map_err(ENOENT, other, id);
	importer_detach_err(ENOENT, other, id);
	importer_signal_err(ENOENT, other, fence);
	importer_invalidate_err(ENOENT, other, export.id, 0, 1);
	ASSERT_EQ(0, close(other));
	ASSERT_DMABUF(export.fd, 2, 1);
	importer_signal(self->imp, fence);
	importer_detach(self->imp, id);
	ASSERT_EQ(0, close(export.fd));
}

/*
 * ATT-02: Attaching and detaching; the kernel's list of attachments, the file
 * references and the exporter's count say the same.
 */
TEST_F(import, attach_detach)
{
	static const uint32_t flags[] = { 0, P2P, DEAF, P2P | DEAF, STATIC };
	struct dmabuf_importer_export export = EXPORT();
	uint32_t id[ARRAY_SIZE(flags)], i;
	struct dmabuf_importer_query query;
	struct dmabuf_sign sign;

	importer_export(self->imp, &export);
	ASSERT_EQ(1, fd_is_cloexec(export.fd));
	ASSERT_EQ((off_t)self->size, lseek(export.fd, 0, SEEK_END));
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		importer_attach(self->imp, self->pci, export.fd, flags[i],
				i % (DMABUF_IMPORTER_NEVER + 1), &id[i]);
		ASSERT_DMABUF(export.fd, i + 2, (int)i + 1);
		importer_query(self->imp, id[i], &query);
		ASSERT_EQ(flags[i], query.flags);
		ASSERT_EQ(i % (DMABUF_IMPORTER_NEVER + 1), query.policy);
		ASSERT_EQ(0U, query.state);
	}
	ASSERT_EQ(1, dmabuf_look(dmabuf_inode(export.fd), &sign));
	ASSERT_STREQ(self->pci, sign.importer);
	ASSERT_STREQ(IMPORTER_MODULE, sign.exporter);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		importer_detach(self->imp, id[i]);
		importer_detach_err(ENOENT, self->imp, id[i]);
		ASSERT_DMABUF(export.fd, (long)ARRAY_SIZE(flags) - i,
			      (int)ARRAY_SIZE(flags) - (int)i - 1);
	}
	ASSERT_EXPORT(&export, ALIVE, .attaches = ARRAY_SIZE(flags),
		      .detaches = ARRAY_SIZE(flags));
	/* Ids do not come back at once. */
	importer_attach(self->imp, self->pci, export.fd, P2P, 0, &i);
	ASSERT_LT(id[ARRAY_SIZE(flags) - 1], i);
	importer_detach(self->imp, i);

	ASSERT_EQ(0, close(export.fd));
	ASSERT_EXPORT(&export, .attaches = ARRAY_SIZE(flags) + 1,
		      .detaches = ARRAY_SIZE(flags) + 1);
	importer_invalidate_err(ENOENT, self->imp, export.id, 0, 0);
}

/*
 * Mapping: what is mapped is the whole buffer, and what is read through it is
 * what was written to it.
 */
TEST_F(import, map)
{
	struct dmabuf_importer_export export = EXPORT();
	struct dmabuf_importer_entry entry[PAGES + 1];
	struct dmabuf_importer_map map = {};
	struct dmabuf_importer_query query;
	uint32_t id, count, i;
	uint64_t length, sum;
	char *memory, *seen;

	importer_export(self->imp, &export);
	memory = mmap(NULL, self->size, PROT_READ | PROT_WRITE, MAP_SHARED, export.fd, 0);
	ASSERT_NE(MAP_FAILED, memory);
	for (i = 0; i < self->size; i++)
		memory[i] = i / 4096 + i;
	seen = malloc(self->size);
	ASSERT_NE(NULL, seen);

	importer_attach(self->imp, self->pci, export.fd, 0, 0, &id);
	importer_unmap_err(ENODATA, self->imp, id);
	importer_entries_err(ENODATA, self->imp, id, 0, entry, 1);
	importer_read_err(ENODATA, self->imp, id, 0, seen, 1);
	map = (struct dmabuf_importer_map){ .id = id, .direction = 3 };
	ASSERT_EQ(EINVAL, importer_ioctl(self->imp, DMABUF_IMPORTER_MAP, &map));
	map = (struct dmabuf_importer_map){ .id = id, .reserved = 1 };
	ASSERT_EQ(EINVAL, importer_ioctl(self->imp, DMABUF_IMPORTER_MAP, &map));
	ASSERT_EXPORT(&export, ALIVE, .attaches = 1);

	for (i = 0; i < 3; i++) {
		map = (struct dmabuf_importer_map){ .id = id, .direction = i };
		ASSERT_EQ(0, importer_ioctl(self->imp, DMABUF_IMPORTER_MAP, &map));
		ASSERT_EQ(self->size, map.length);
		ASSERT_STATE(DMABUF_IMPORTER_MAPPED, id);
		importer_unmap(self->imp, id);
		importer_unmap_err(ENODATA, self->imp, id);
		ASSERT_STATE(0, id);
		ASSERT_EXPORT(&export, ALIVE, .attaches = 1, .maps = i + 1, .unmaps = i + 1);
	}

	ASSERT_EQ(0, _importer_map(self->imp, id, &length));
	ASSERT_EQ(self->size, length);
	importer_map_err(EBUSY, self->imp, id);
	importer_query(self->imp, id, &query);
	ASSERT_EQ(4U, query.maps);
	ASSERT_EQ(3U, query.unmaps);
	ASSERT_EQ(0U, query.map_error);
	ASSERT_LT(0U, query.nents);

	count = ARRAY_SIZE(entry);
	importer_entries(self->imp, id, 0, entry, &count);
	ASSERT_EQ(query.nents, count);
	for (i = 0, sum = 0; i < count; i++) {
		ASSERT_NE(0UL, entry[i].address);
		ASSERT_EQ(0UL, entry[i].address % sysconf(_SC_PAGESIZE));
		sum += entry[i].length;
	}
	ASSERT_EQ(self->size, sum);
	i = 1;
	importer_entries(self->imp, id, count - 1, &entry[PAGES], &i);
	ASSERT_EQ(1U, i);
	ASSERT_EQ(entry[count - 1].address, entry[PAGES].address);
	importer_entries(self->imp, id, count, entry, &i);
	ASSERT_EQ(0U, i);
	importer_entries_err(EINVAL, self->imp, id, 0, entry, 0);
	importer_entries_err(EINVAL, self->imp, id, 0, entry, DMABUF_IMPORTER_MAX_ENTRIES + 1);
	importer_entries_err(EFAULT, self->imp, id, 0, (void *)16, 1);

	importer_read(self->imp, id, 0, seen, self->size);
	ASSERT_EQ(0, memcmp(memory, seen, self->size));
	importer_read(self->imp, id, 4095, seen, 2);
	ASSERT_EQ(0, memcmp(memory + 4095, seen, 2));
	importer_read_err(EINVAL, self->imp, id, 0, seen, 0);
	importer_read_err(EINVAL, self->imp, id, 0, seen, DMABUF_IMPORTER_MAX_READ + 1);
	importer_read_err(EINVAL, self->imp, id, self->size - 1, seen, 2);
	importer_read_err(EINVAL, self->imp, id, UINT64_MAX, seen, 2);
	importer_read_err(EFAULT, self->imp, id, 0, (void *)16, 2);

	/* Detaching gives the mapping back first. */
	importer_detach(self->imp, id);
	ASSERT_EXPORT(&export, ALIVE, .attaches = 1, .detaches = 1, .maps = 4, .unmaps = 4);
	free(seen);
	ASSERT_EQ(0, munmap(memory, self->size));
	ASSERT_EQ(0, close(export.fd));
}

/* Pinning, by the importer and, for a static one, by the kernel. */
TEST_F(import, pin)
{
	struct dmabuf_importer_export export = EXPORT(), never = EXPORT(.pin_error = EOPNOTSUPP);
	struct dmabuf_importer_query query;
	uint32_t id, fixed;

	importer_export(self->imp, &export);
	importer_attach(self->imp, self->pci, export.fd, P2P, 0, &id);
	importer_unpin_err(ENODATA, self->imp, id);
	importer_pin(self->imp, id);
	ASSERT_STATE(DMABUF_IMPORTER_PINNED, id);
	importer_pin_err(EBUSY, self->imp, id);
	ASSERT_EXPORT(&export, ALIVE, .attaches = 1, .pins = 1);
	importer_map(self->imp, id);
	ASSERT_STATE(DMABUF_IMPORTER_PINNED | DMABUF_IMPORTER_MAPPED, id);
	importer_unpin(self->imp, id);
	ASSERT_STATE(DMABUF_IMPORTER_MAPPED, id);
	importer_unpin_err(ENODATA, self->imp, id);
	importer_pin(self->imp, id);
	importer_query(self->imp, id, &query);
	ASSERT_EQ(2U, query.pins);
	ASSERT_EQ(1U, query.unpins);
	importer_detach(self->imp, id);
	ASSERT_EXPORT(&export, ALIVE, .attaches = 1, .detaches = 1, .maps = 1, .unmaps = 1,
		      .pins = 2, .unpins = 2);

	importer_attach(self->imp, self->pci, export.fd, STATIC, 0, &fixed);
	importer_pin_err(EINVAL, self->imp, fixed);
	importer_unpin_err(EINVAL, self->imp, fixed);
	importer_map(self->imp, fixed);
	ASSERT_STATE(DMABUF_IMPORTER_MAPPED, fixed);
	ASSERT_EXPORT(&export, ALIVE, .attaches = 2, .detaches = 1, .maps = 2, .unmaps = 1,
		      .pins = 3, .unpins = 2);
	importer_unmap(self->imp, fixed);
	ASSERT_EXPORT(&export, ALIVE, .attaches = 2, .detaches = 1, .maps = 2, .unmaps = 2,
		      .pins = 3, .unpins = 3);
	importer_detach(self->imp, fixed);
	ASSERT_EQ(0, close(export.fd));

	importer_export(self->imp, &never);
	importer_attach(self->imp, self->pci, never.fd, P2P, 0, &id);
	importer_pin_err(EOPNOTSUPP, self->imp, id);
	importer_attach(self->imp, self->pci, never.fd, STATIC, 0, &fixed);
	importer_map_err(EOPNOTSUPP, self->imp, fixed);
	ASSERT_STATE(0, id);
	ASSERT_EXPORT(&never, ALIVE, .attaches = 2, .pins_failed = 2);
	importer_detach(self->imp, id);
	importer_detach(self->imp, fixed);
	ASSERT_EQ(0, close(never.fd));
}

/*
 * ATT-22: An exporter whose map fails, always or once; who has pinned it before
 * unpins it once.
 */
TEST_F(import, map_fails)
{
	struct dmabuf_importer_export always = EXPORT(.map_error = EIO);
	struct dmabuf_importer_export second = EXPORT(.map_error = ENOSPC, .map_error_nth = 2);
	struct dmabuf_importer_query query;
	uint32_t id;

	importer_export(self->imp, &always);
	importer_attach(self->imp, self->pci, always.fd, P2P, 0, &id);
	importer_pin(self->imp, id);
	importer_map_err(EIO, self->imp, id);
	importer_query(self->imp, id, &query);
	ASSERT_EQ((uint32_t)EIO, query.map_error);
	ASSERT_EQ(0U, query.maps);
	ASSERT_EQ((uint32_t)DMABUF_IMPORTER_PINNED, query.state);
	importer_detach(self->imp, id);
	ASSERT_EXPORT(&always, ALIVE, .attaches = 1, .detaches = 1, .maps_failed = 1, .pins = 1,
		      .unpins = 1);
	/* By the kernel itself. */
	importer_attach(self->imp, self->pci, always.fd, STATIC, 0, &id);
	importer_map_err(EIO, self->imp, id);
	ASSERT_EXPORT(&always, ALIVE, .attaches = 2, .detaches = 1, .maps_failed = 2, .pins = 2,
		      .unpins = 2);
	importer_detach(self->imp, id);
	ASSERT_EQ(0, close(always.fd));

	importer_export(self->imp, &second);
	importer_attach(self->imp, self->pci, second.fd, P2P, 0, &id);
	importer_map(self->imp, id);
	importer_unmap(self->imp, id);
	importer_map_err(ENOSPC, self->imp, id);
	importer_map(self->imp, id);
	importer_query(self->imp, id, &query);
	ASSERT_EQ(0U, query.map_error);
	importer_detach(self->imp, id);
	ASSERT_EXPORT(&second, ALIVE, .attaches = 1, .detaches = 1, .maps = 2, .maps_failed = 1,
		      .unmaps = 2);
	ASSERT_EQ(0, close(second.fd));
}

/* EXPORT: what cannot be leaves no dma-buf and no descriptor. */
TEST_F(import, export_refusals)
{
	struct dmabuf_importer_version version;
	struct dmabuf_importer_export bad[] = {
		{ .size = 0 }, { .size = 1 }, { .size = self->size + 1 },
		EXPORT(.flags = 4), EXPORT(.fd = 1), EXPORT(.id = 1),
		EXPORT(.attach_error = 4096), EXPORT(.pin_error = 4096),
		EXPORT(.map_error = 4096), EXPORT(.map_error_nth = 1),
		/* The kernel warns of an exporter that cannot pin because it is busy. */
		EXPORT(.pin_error = EBUSY),
		EXPORT(.pin_error = EIO, .flags = DMABUF_IMPORTER_EXPORT_STATIC),
		EXPORT(.map_stall_ms = UINT32_MAX),
		{ .size = UINT64_MAX - 4095 },
	};
	static const uint32_t bad_flags[] = {
		16, DMABUF_IMPORTER_MOVE | DMABUF_IMPORTER_REVOKE,
		DMABUF_IMPORTER_MOVE | DMABUF_IMPORTER_WAIT_UNMAPPED,
	};
	struct dmabuf_importer_invalidate how = { .id = NO_ID };
	struct dmabuf_importer_export good = EXPORT();
	struct rlimit limit, none;
	int fds = fd_count();
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		importer_export_err(EINVAL, self->imp, &bad[i])
			TH_LOG("number %u of the bad ones", i);
	ASSERT_EQ(0, importer_ioctl(self->imp, DMABUF_IMPORTER_GET_VERSION, &version));
	good.size = version.max_export + sysconf(_SC_PAGESIZE);
	importer_export_err(EINVAL, self->imp, &good);

	good = EXPORT();
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = limit.rlim_max };
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	err = _importer_export(self->imp, &good);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	ASSERT_EQ(EMFILE, err);
	ASSERT_EQ(fds, fd_count());
	ASSERT_EQ(0, dmabuf_count(IMPORTER_MODULE));

	for (i = 0; i < ARRAY_SIZE(bad_flags); i++) {
		how.flags = bad_flags[i];
		ASSERT_EQ(EINVAL, importer_ioctl(self->imp, DMABUF_IMPORTER_INVALIDATE, &how));
	}
	how = (struct dmabuf_importer_invalidate){ .id = NO_ID, .mappings = 1 };
	ASSERT_EQ(EINVAL, importer_ioctl(self->imp, DMABUF_IMPORTER_INVALIDATE, &how));
	importer_invalidate_err(EINVAL, self->imp, NO_ID, 0, version.max_hold_ms + 1);

	/* The largest one. */
	good.size = version.max_export;
	importer_export(self->imp, &good);
	ASSERT_EQ((off_t)good.size, lseek(good.fd, 0, SEEK_END));
	ASSERT_EQ(MAP_FAILED, mmap(NULL, good.size, PROT_READ, MAP_PRIVATE, good.fd, 0));
	ASSERT_EQ(0, close(good.fd));
}

/*
 * Policy "at once": the callback gives the mapping back while the exporter
 * invalidates, and can be mapped again after it.
 */
TEST_F(import, invalidate_at_once)
{
	struct dmabuf_importer_export export = EXPORT();
	struct dmabuf_importer_query query;
	uint32_t id;

	importer_export(self->imp, &export);
	importer_attach(self->imp, self->pci, export.fd, 0, DMABUF_IMPORTER_AT_ONCE, &id);
	/* Also told who has no mapping. */
	importer_invalidate(self->imp, export.id, 0, 0);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id, 0);
	ASSERT_NO_EVENT();

	importer_pin(self->imp, id);
	importer_map(self->imp, id);
	importer_invalidate(self->imp, export.id, 0, 0);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id,
		       DMABUF_IMPORTER_MAPPED | DMABUF_IMPORTER_PINNED);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_UNMAP, id, 0);
	ASSERT_NO_EVENT();
	importer_query(self->imp, id, &query);
	ASSERT_EQ((uint32_t)DMABUF_IMPORTER_PINNED, query.state);
	ASSERT_EQ(2U, query.invalidations);
	ASSERT_EQ((uint32_t)(DMABUF_IMPORTER_MAPPED | DMABUF_IMPORTER_PINNED), query.last_state);
	ASSERT_EQ(2UL, query.last_seq);
	ASSERT_NE(0UL, query.last_time_ns);
	ASSERT_EXPORT(&export, ALIVE, .attaches = 1, .maps = 1, .unmaps = 1, .pins = 1,
		      .invalidations = 2);

	importer_unpin(self->imp, id);
	importer_map(self->imp, id);
	importer_invalidate(self->imp, export.id,
			    DMABUF_IMPORTER_REVOKE | DMABUF_IMPORTER_WAIT_FENCES |
			    DMABUF_IMPORTER_WAIT_UNMAPPED, 0);
	importer_map_err(ENODEV, self->imp, id);
	importer_query(self->imp, id, &query);
	ASSERT_EQ((uint32_t)ENODEV, query.map_error);
	ASSERT_EQ(0U, query.state);
	ASSERT_EXPORT(&export, .state = DMABUF_IMPORTER_EXPORT_ALIVE |
		      DMABUF_IMPORTER_EXPORT_REVOKED, .attaches = 1, .maps = 2, .maps_failed = 1,
		      .unmaps = 2, .pins = 1, .unpins = 1, .invalidations = 3);
	importer_detach(self->imp, id);
	ASSERT_EQ(0, close(export.fd));
}

/*
 * Number of the physical page behind an address, 0 if that cannot be had.  What a device
 * is given may be the address of a bounce buffer, and says nothing of where the page is.
 */
static uint64_t frame_of(const uint8_t *address)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;

	/* A page that nobody has looked at yet is none. */
	(void)__atomic_load_n(address, __ATOMIC_RELAXED);
	if (fd >= 0 && pread(fd, &entry, sizeof(entry),
			     (uintptr_t)address / page * sizeof(entry)) != sizeof(entry))
		entry = 0;
	if (fd >= 0)
		close(fd);
	return entry & ((1ULL << 55) - 1);
}

/*
 * MOVE: the content is on other pages then, for the next map and for a process that has
 * the buffer mapped, before as well as after.
 */
TEST_F(import, move)
{
	struct dmabuf_importer_export export = EXPORT();
	const size_t page = self->size / PAGES;
	uint64_t frame[PAGES];
	uint32_t id, seen, i;
	uint8_t *at;

	importer_export(self->imp, &export);
	at = mmap(NULL, self->size, PROT_READ | PROT_WRITE, MAP_SHARED, export.fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)at);
	for (i = 0; i < self->size; i++)
		at[i] = i / page + i;
	importer_attach(self->imp, self->pci, export.fd, 0, DMABUF_IMPORTER_AT_ONCE, &id);
	importer_map(self->imp, id);
	for (i = 0; i < PAGES; i++) {
		frame[i] = frame_of(at + i * page);
		ASSERT_NE(0UL, frame[i]);
	}
	importer_invalidate(self->imp, export.id, DMABUF_IMPORTER_MOVE, 0);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id, DMABUF_IMPORTER_MAPPED);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_UNMAP, id, 0);
	for (i = 0; i < self->size; i++)
		ASSERT_EQ((uint8_t)(i / page + i), at[i]);
	for (i = 0; i < PAGES; i++)
		ASSERT_NE(frame[i], frame_of(at + i * page));
	/* What is written now is what an importer reads. */
	for (i = 0; i < PAGES; i++)
		memcpy(at + i * page, &i, sizeof(i));
	importer_map(self->imp, id);
	for (i = 0; i < PAGES; i++) {
		importer_read(self->imp, id, i * page, &seen, sizeof(seen));
		ASSERT_EQ(i, seen);
	}
	ASSERT_EXPORT(&export, ALIVE, .attaches = 1, .maps = 2, .unmaps = 1, .invalidations = 1,
		      .moves = 1);
	importer_detach(self->imp, id);
	/* Nobody is attached: it moves as well, and a mapping that is gone is no matter. */
	ASSERT_EQ(0, munmap(at, self->size));
	importer_invalidate(self->imp, export.id, DMABUF_IMPORTER_MOVE, 0);
	at = mmap(NULL, self->size, PROT_READ, MAP_SHARED, export.fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)at);
	for (i = 0; i < PAGES; i++)
		ASSERT_EQ(0, memcmp(at + i * page, &i, sizeof(i)));
	ASSERT_EQ(0, munmap(at, self->size));
	ASSERT_EXPORT(&export, ALIVE, .attaches = 1, .detaches = 1, .maps = 2, .unmaps = 2,
		      .invalidations = 2, .moves = 2);
	ASSERT_EQ(0, close(export.fd));
}

/* MOVE: of a dma-buf whose file is gone, which somebody has open with O_PATH. */
TEST_F(import, move_without_a_file)
{
	struct dmabuf_importer_export export = EXPORT();
	char name[32];
	int path;

	importer_export(self->imp, &export);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", export.fd);
	path = open(name, O_PATH | O_CLOEXEC);
	ASSERT_LE(0, path);
	ASSERT_EQ(0, close(export.fd));
	importer_invalidate(self->imp, export.id, DMABUF_IMPORTER_MOVE, 0);
	ASSERT_EXPORT(&export, ALIVE, .invalidations = 1, .moves = 1);
	ASSERT_EQ(0, close(path));
	ASSERT_EXPORT(&export, .invalidations = 1, .moves = 1);
	importer_invalidate_err(ENOENT, self->imp, export.id, DMABUF_IMPORTER_MOVE, 0);
}

/* The pages of a buffer that was asked for in one block, of every second place. */
TEST_F(import, move_contiguous)
{
	struct dmabuf_importer_export export =
		EXPORT(.flags = DMABUF_IMPORTER_EXPORT_CONTIGUOUS);
	const size_t page = self->size / PAGES;
	unsigned int move, i;
	uint8_t *at;

	importer_export(self->imp, &export);
	at = mmap(NULL, self->size, PROT_READ, MAP_SHARED, export.fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)at);
	for (move = 0; move < 4; move++) {
		const uint64_t first = frame_of(at);

		ASSERT_NE(0UL, first);
		for (i = 0; i < PAGES; i++)
			ASSERT_EQ(move % 2 ? first - i : first + i, frame_of(at + i * page));
		importer_invalidate(self->imp, export.id, DMABUF_IMPORTER_MOVE, 0);
	}
	ASSERT_EXPORT(&export, ALIVE, .invalidations = 4, .moves = 4);
	ASSERT_EQ(0, munmap(at, self->size));
	ASSERT_EQ(0, close(export.fd));
}

/*
 * MOVE: what is pinned stays, and nobody is told; what somebody keeps mapped stays, and he
 * was told; a static exporter never moves.
 */
TEST_F(import, move_refusals)
{
	struct dmabuf_importer_export never = EXPORT(.flags = DMABUF_IMPORTER_EXPORT_STATIC);
	struct dmabuf_importer_export export = EXPORT();
	uint64_t frame;
	uint32_t id;
	void *at;

	importer_export(self->imp, &export);
	at = mmap(NULL, self->size, PROT_READ, MAP_SHARED, export.fd, 0);
	ASSERT_NE(MAP_FAILED, at);
	frame = frame_of(at);
	ASSERT_NE(0UL, frame);
	importer_attach(self->imp, self->pci, export.fd, 0, DMABUF_IMPORTER_NEVER, &id);
	importer_pin(self->imp, id);
	importer_invalidate_err(EBUSY, self->imp, export.id, DMABUF_IMPORTER_MOVE, 0);
	ASSERT_NO_EVENT();
	importer_unpin(self->imp, id);
	importer_map(self->imp, id);
	importer_invalidate_err(EBUSY, self->imp, export.id, DMABUF_IMPORTER_MOVE, 0);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id, DMABUF_IMPORTER_MAPPED);
	ASSERT_EQ(frame, frame_of(at));
	ASSERT_EXPORT(&export, ALIVE, .attaches = 1, .maps = 1, .pins = 1, .unpins = 1,
		      .invalidations = 1);
	importer_detach(self->imp, id);
	ASSERT_EQ(0, munmap(at, self->size));
	ASSERT_EQ(0, close(export.fd));
	importer_invalidate_err(ENOENT, self->imp, export.id, DMABUF_IMPORTER_MOVE, 0);

	importer_export(self->imp, &never);
	importer_invalidate_err(EOPNOTSUPP, self->imp, never.id, DMABUF_IMPORTER_MOVE, 0);
	ASSERT_EXPORT(&never, ALIVE);
	ASSERT_EQ(0, close(never.fd));
}

/*
 * Policy "on release": the exporter waits for the mapping until it is released,
 * and for nothing else.
 */
TEST_F(import, invalidate_on_release)
{
	struct dmabuf_importer_export export = EXPORT();
	struct invalidation how;
	struct caller caller;
	uint32_t id;

	importer_export(self->imp, &export);
	importer_attach(self->imp, self->pci, export.fd, P2P, DMABUF_IMPORTER_ON_RELEASE, &id);
	importer_map(self->imp, id);
	importer_release_err(ENODATA, self->imp, id);
	importer_invalidate(self->imp, export.id, 0, 1);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id, DMABUF_IMPORTER_MAPPED);
	ASSERT_NO_EVENT();
	ASSERT_STATE(DMABUF_IMPORTER_MAPPED | DMABUF_IMPORTER_OWED, id);
	importer_invalidate_err(ETIMEDOUT, self->imp, export.id, DMABUF_IMPORTER_WAIT_UNMAPPED, 1);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id,
		       DMABUF_IMPORTER_MAPPED | DMABUF_IMPORTER_OWED);

	how = INVALIDATION(&export, DMABUF_IMPORTER_WAIT_UNMAPPED);
	caller_start(&caller, invalidate, &how);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id,
		       DMABUF_IMPORTER_MAPPED | DMABUF_IMPORTER_OWED);
	caller_waits(&caller, "importer_invalidate");
	ASSERT_EXPORT(&export, ALIVE, .attaches = 1, .maps = 1, .invalidations = 3);
	importer_release(self->imp, id);
	caller_end(&caller, 0);
	ASSERT_EQ(0U, how.left);
	ASSERT_STATE(0, id);
	importer_release_err(ENODATA, self->imp, id);
	/* UNMAP is an answer, too. */
	importer_map(self->imp, id);
	importer_invalidate(self->imp, export.id, 0, 1);
	importer_unmap(self->imp, id);
	importer_release_err(ENODATA, self->imp, id);
	importer_detach(self->imp, id);
	ASSERT_EXPORT(&export, ALIVE, .attaches = 1, .detaches = 1, .maps = 2, .unmaps = 2,
		      .invalidations = 4);
	ASSERT_EQ(0, close(export.fd));
}

/*
 * ATT-19: Policy "never", and no callback at all: neither lets go by itself.
 */
TEST_F(import, invalidate_never)
{
	struct dmabuf_importer_export export = EXPORT();
	uint32_t stubborn, deaf, fixed;

	importer_export(self->imp, &export);
	importer_attach(self->imp, self->pci, export.fd, P2P, DMABUF_IMPORTER_NEVER, &stubborn);
	importer_attach(self->imp, self->pci, export.fd, P2P | DEAF, 0, &deaf);
	importer_attach(self->imp, self->pci, export.fd, STATIC, 0, &fixed);
	importer_map(self->imp, stubborn);
	importer_map(self->imp, deaf);
	importer_map(self->imp, fixed);
	importer_stall_err(EINVAL, self->imp, deaf, 0);
	importer_stall_err(EINVAL, self->imp, fixed, 0);
	importer_invalidate(self->imp, export.id, 0, 3);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, stubborn,
		       DMABUF_IMPORTER_MAPPED);
	ASSERT_NO_EVENT();
	importer_release_err(EPERM, self->imp, stubborn);
	importer_release_err(ENODATA, self->imp, deaf);
	ASSERT_STATE(DMABUF_IMPORTER_MAPPED, deaf);
	importer_invalidate_err(ETIMEDOUT, self->imp, export.id, DMABUF_IMPORTER_WAIT_UNMAPPED, 1);
	importer_unmap(self->imp, deaf);
	importer_unmap(self->imp, fixed);
	/* It thinks better of it. */
	importer_policy(self->imp, stubborn, DMABUF_IMPORTER_ON_RELEASE);
	importer_release(self->imp, stubborn);
	importer_invalidate(self->imp, export.id, DMABUF_IMPORTER_WAIT_UNMAPPED, 0);
	importer_detach(self->imp, stubborn);
	importer_detach(self->imp, deaf);
	importer_detach(self->imp, fixed);
	ASSERT_EQ(0, close(export.fd));
}

/*
 * A stall holds the exporter within its walk over the attachments, with the
 * reservation lock held; those that come later on the list have not been told.
 */
TEST_F(import, stall)
{
	struct dmabuf_importer_export export = EXPORT();
	struct dmabuf_importer_query query;
	struct invalidation how;
	struct caller caller;
	uint32_t later, id;

	importer_export(self->imp, &export);
	/* The kernel adds to the front of its list (dma_buf_dynamic_attach()). */
	importer_attach(self->imp, self->pci, export.fd, P2P, DMABUF_IMPORTER_AT_ONCE, &later);
	importer_attach(self->imp, self->pci, export.fd, P2P, DMABUF_IMPORTER_AT_ONCE, &id);
	importer_map(self->imp, later);
	importer_map(self->imp, id);
	importer_resume_err(ENODATA, self->imp, id);
	importer_stall_err(EINVAL, self->imp, id, UINT32_MAX);
	importer_stall(self->imp, id, 0);
	importer_stall_err(EBUSY, self->imp, id, 0);
	ASSERT_STATE(DMABUF_IMPORTER_MAPPED | DMABUF_IMPORTER_ARMED, id);
	/* Disarmed, it is as if nothing had been. */
	importer_resume(self->imp, id);
	ASSERT_STATE(DMABUF_IMPORTER_MAPPED, id);
	importer_stall(self->imp, id, 0);

	how = INVALIDATION(&export, DMABUF_IMPORTER_WAIT_UNMAPPED);
	caller_start(&caller, invalidate, &how);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id,
		       DMABUF_IMPORTER_MAPPED | DMABUF_IMPORTER_STALLED);
	caller_waits(&caller, "dma_buf_invalidate_mappings");
	ASSERT_STATE(DMABUF_IMPORTER_MAPPED | DMABUF_IMPORTER_STALLED, id);
	importer_stall_err(EBUSY, self->imp, id, 0);
	importer_query(self->imp, later, &query);
	ASSERT_EQ(0U, query.invalidations);
	ASSERT_EQ((uint32_t)DMABUF_IMPORTER_MAPPED, query.state);
	ASSERT_EXPORT(&export, ALIVE, .attaches = 2, .maps = 2, .invalidations = 1);
	ASSERT_NO_EVENT();

	importer_resume(self->imp, id);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_RESUME, id, 0);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_UNMAP, id, 0);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, later, DMABUF_IMPORTER_MAPPED);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_UNMAP, later, 0);
	caller_end(&caller, 0);
	importer_resume_err(ENODATA, self->imp, id);
	/* It was for one call. */
	importer_invalidate(self->imp, export.id, 0, 0);
	importer_detach(self->imp, id);
	importer_detach(self->imp, later);
	ASSERT_EQ(0, close(export.fd));
}

/*
 * The policy is asked for when a stall ends; and a command that needs the
 * reservation lock meanwhile can be interrupted.
 */
static int map_one(void *arg)
{
	struct invalidation *i = arg;

	return _importer_map(i->imp, i->id, NULL);
}

static void nothing(int signal __attribute__((unused)))
{
}

TEST_F(import, stall_keeps_others_out)
{
	const struct sigaction action = { .sa_handler = nothing };
	struct dmabuf_importer_export export = EXPORT();
	struct invalidation how, map;
	struct caller exporter, other;
	uint32_t id, waits;

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	importer_export(self->imp, &export);
	importer_attach(self->imp, self->pci, export.fd, P2P, DMABUF_IMPORTER_AT_ONCE, &waits);
	importer_attach(self->imp, self->pci, export.fd, P2P, DMABUF_IMPORTER_AT_ONCE, &id);
	importer_map(self->imp, id);
	importer_stall(self->imp, id, 0);
	how = INVALIDATION(&export, 0);
	caller_start(&exporter, invalidate, &how);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, id,
		       DMABUF_IMPORTER_MAPPED | DMABUF_IMPORTER_STALLED);

	map = (struct invalidation){ .imp = self->imp, .id = waits };
	caller_start(&other, map_one, &map);
	caller_waits(&other, "importer_attachment_lock");
	ASSERT_EQ(0, pthread_kill(other.thread, SIGUSR1));
	caller_end(&other, EINTR);
	ASSERT_STATE(0, waits);

	importer_policy(self->imp, id, DMABUF_IMPORTER_NEVER);
	importer_resume(self->imp, id);
	caller_end(&exporter, 0);
	ASSERT_EQ(1U, how.left);
	ASSERT_STATE(DMABUF_IMPORTER_MAPPED | DMABUF_IMPORTER_OWED, id);
	importer_detach(self->imp, waits);
	importer_detach(self->imp, id);
	ASSERT_EQ(0, close(export.fd));
}

/*
 * ATT-07: Fences.  poll() on the dma-buf sees those of the implicit kinds and
 * waits for them; who invalidates waits for all.
 */
TEST_F(import, fence)
{
	static const struct {
		uint32_t usage;
		bool idle;
	} usage[] = {
		{ DMABUF_IMPORTER_BOOKKEEP, true },
		{ DMABUF_IMPORTER_USE_READ, false },
		{ DMABUF_IMPORTER_WRITE, false },
		{ DMABUF_IMPORTER_KERNEL, false },
	};
	struct dmabuf_importer_export export = EXPORT();
	struct dmabuf_importer_fence bad = { .usage = 4 };
	struct dmabuf_importer_query query;
	struct invalidation how;
	struct caller caller;
	uint32_t id, fence, second;
	unsigned int i;

	importer_export(self->imp, &export);
	importer_attach(self->imp, self->pci, export.fd, P2P, DMABUF_IMPORTER_AT_ONCE, &id);
	bad.id = id;
	ASSERT_EQ(EINVAL, importer_ioctl(self->imp, DMABUF_IMPORTER_HOLD_FENCE, &bad));
	bad = (struct dmabuf_importer_fence){ .id = id, .fence = 1 };
	ASSERT_EQ(EINVAL, importer_ioctl(self->imp, DMABUF_IMPORTER_HOLD_FENCE, &bad));
	importer_hold_fence_err(EINVAL, self->imp, id, DMABUF_IMPORTER_BOOKKEEP, UINT32_MAX);
	ASSERT_TRUE(dmabuf_is_idle(export.fd));

	for (i = 0; i < ARRAY_SIZE(usage); i++) {
		importer_hold_fence(self->imp, id, usage[i].usage, 0, &fence);
		importer_query(self->imp, id, &query);
		ASSERT_EQ(1U, query.fences);
		ASSERT_EQ(usage[i].idle, dmabuf_is_idle(export.fd))
			TH_LOG("usage %u", usage[i].usage);
		importer_invalidate(self->imp, export.id, 0, 0);
		importer_invalidate_err(ETIMEDOUT, self->imp, export.id,
					DMABUF_IMPORTER_WAIT_FENCES, 1);
		importer_signal(self->imp, fence);
		importer_signal_err(ENOENT, self->imp, fence);
		ASSERT_TRUE(dmabuf_is_idle(export.fd));
		importer_invalidate(self->imp, export.id, DMABUF_IMPORTER_WAIT_FENCES, 0);
		importer_query(self->imp, id, &query);
		ASSERT_EQ(0U, query.fences);
	}

	/* It waits for both, the one that is signalled last included. */
	importer_hold_fence(self->imp, id, DMABUF_IMPORTER_BOOKKEEP, 0, &fence);
	importer_hold_fence(self->imp, id, DMABUF_IMPORTER_BOOKKEEP, 0, &second);
	ASSERT_NE(fence, second);
	importer_query(self->imp, id, &query);
	ASSERT_EQ(2U, query.fences);
	how = INVALIDATION(&export, DMABUF_IMPORTER_WAIT_FENCES);
	caller_start(&caller, invalidate, &how);
	caller_waits(&caller, "dma_resv_wait_timeout");
	importer_signal(self->imp, second);
	caller_waits(&caller, "dma_resv_wait_timeout");
	importer_signal(self->imp, fence);
	caller_end(&caller, 0);

	/* A fence outlives the attachment that it was made through. */
	importer_hold_fence(self->imp, id, DMABUF_IMPORTER_WRITE, 0, &fence);
	importer_detach(self->imp, id);
	ASSERT_FALSE(dmabuf_is_idle(export.fd));
	importer_signal(self->imp, fence);
	ASSERT_TRUE(dmabuf_is_idle(export.fd));
	ASSERT_EQ(0, close(export.fd));
}

/* A slow exporter: map waits until it is told to go on, or is interrupted. */
TEST_F(import, map_stall)
{
	const struct sigaction action = { .sa_handler = nothing };
	struct dmabuf_importer_export export = EXPORT(.map_stall_ms = 60000);
	struct dmabuf_importer_export_query query;
	struct invalidation map;
	struct caller caller;
	uint32_t id;

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	importer_export(self->imp, &export);
	importer_attach(self->imp, self->pci, export.fd, P2P, 0, &id);
	importer_export_resume_err(ENODATA, self->imp, export.id);
	map = (struct invalidation){ .imp = self->imp, .id = id };
	caller_start(&caller, map_one, &map);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_MAP_STALL, export.id, 0);
	caller_waits(&caller, "dma_buf_map_attachment");
	importer_export_query(self->imp, export.id, &query);
	ASSERT_EQ((uint32_t)(DMABUF_IMPORTER_EXPORT_ALIVE | DMABUF_IMPORTER_EXPORT_STALLED),
		  query.state);
	ASSERT_STATE(0, id);
	importer_export_resume(self->imp, export.id);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_MAP_RESUME, export.id, 0);
	caller_end(&caller, 0);
	ASSERT_STATE(DMABUF_IMPORTER_MAPPED, id);
	importer_unmap(self->imp, id);

	caller_start(&caller, map_one, &map);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_MAP_STALL, export.id, 0);
	caller_waits(&caller, "dma_buf_map_attachment");
	ASSERT_EQ(0, pthread_kill(caller.thread, SIGUSR1));
	caller_end(&caller, EINTR);
	ASSERT_EXPORT(&export, ALIVE, .attaches = 1, .maps = 1, .maps_failed = 1, .unmaps = 1);
	importer_detach(self->imp, id);
	ASSERT_EQ(0, close(export.fd));
}

/* Another context's export: its end ends the wait, and the export goes on without. */
TEST_F(import, map_stall_ends_with_the_context)
{
	struct dmabuf_importer_export export = EXPORT(.map_stall_ms = 60000);
	struct invalidation map;
	struct caller caller;
	uint32_t id;
	int other;

	importer_open(&other);
	importer_export(other, &export);
	importer_attach(self->imp, self->pci, export.fd, P2P, 0, &id);
	map = (struct invalidation){ .imp = self->imp, .id = id };
	caller_start(&caller, map_one, &map);
	importer_event(other, DMABUF_IMPORTER_EVENT_MAP_STALL, export.id, 0);
	caller_waits(&caller, "dma_buf_map_attachment");
	ASSERT_EQ(0, close(other));
	caller_end(&caller, 0);
	importer_unmap(self->imp, id);
	importer_map(self->imp, id);
	importer_detach(self->imp, id);
	ASSERT_EQ(0, close(export.fd));
}

/*
 * Closing the context gives back all there is: mappings, pins, attachments; ends
 * stalls and signals fences.  The export is another's, and counts.
 */
TEST_F(import, close_gives_all_back)
{
	struct dmabuf_importer_export export = EXPORT();
	struct invalidation how;
	struct caller caller;
	uint32_t id, fence;
	int other, i;

	importer_export(self->imp, &export);
	importer_open(&other);
	/* A kernel that checks the use of the DMA API complains beyond eight. */
	for (i = 0; i < 8; i++) {
		importer_attach(other, self->pci, export.fd, i % 2 ? P2P : STATIC, 0, &id);
		importer_map(other, id);
	}
	importer_pin(other, id);
	importer_hold_fence(other, id, DMABUF_IMPORTER_WRITE, 0, &fence);
	ASSERT_FALSE(dmabuf_is_idle(export.fd));
	importer_policy(other, id, DMABUF_IMPORTER_NEVER);
	importer_stall(other, id, 0);
	how = INVALIDATION(&export, DMABUF_IMPORTER_WAIT_FENCES | DMABUF_IMPORTER_WAIT_UNMAPPED);
	caller_start(&caller, invalidate, &how);
	importer_event(other, DMABUF_IMPORTER_EVENT_INVALIDATE, id, DMABUF_IMPORTER_MAPPED |
		       DMABUF_IMPORTER_PINNED | DMABUF_IMPORTER_STALLED);
	caller_waits(&caller, "dma_buf_invalidate_mappings");
	ASSERT_EQ(0, close(other));
	caller_end(&caller, 0);
	ASSERT_TRUE(dmabuf_is_idle(export.fd));
	ASSERT_DMABUF(export.fd, 1, 0);
	/* Four static ones were pinned by the kernel, and one of the others by us. */
	ASSERT_EXPORT(&export, ALIVE, .attaches = 8, .detaches = 8, .maps = 8, .unmaps = 8,
		      .pins = 5, .unpins = 5, .invalidations = 1);
	ASSERT_EQ(0, close(export.fd));
}

/* What a killed process leaves: nothing, wherever it was killed. */
struct victim {
	bool policy;
	bool stall;
	bool fence;
	bool invalidates;
};

static void victim_run(const struct victim *v, const char *pci, int fd, int theirs, int ready)
{
	const uint32_t policy = v->policy ? DMABUF_IMPORTER_NEVER : DMABUF_IMPORTER_AT_ONCE;
	struct dmabuf_importer_export export = { .size = 4096 };
	struct invalidation how = {};
	struct caller caller;
	uint32_t id, own, fence;
	int imp;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (_importer_open(&imp) || _importer_export(imp, &export) ||
	    _importer_attach(imp, pci, export.fd, P2P, policy, &own) ||
	    _importer_map(imp, own, NULL) ||
	    _importer_attach(imp, pci, fd, P2P, policy, &id) ||
	    _importer_map(imp, id, NULL) || _importer_pin(imp, id))
		_exit(1);
	if (v->fence && _importer_hold_fence(imp, own, DMABUF_IMPORTER_BOOKKEEP, 0, &fence))
		_exit(2);
	if (v->stall && _importer_stall(imp, own, 100))
		_exit(3);
	if (v->invalidates) {
		struct dmabuf_importer_event event;

		how = (struct invalidation){
			.imp = imp, .id = export.id, .flags = DMABUF_IMPORTER_WAIT_FENCES |
			DMABUF_IMPORTER_WAIT_UNMAPPED,
		};
		if (_caller_start(&caller, invalidate, &how) || _importer_event(imp, &event))
			_exit(4);
	}
	close(theirs);
	if (write(ready, "r", 1) != 1)
		_exit(5);
	for (;;)
		pause();
}

TEST_F_TIMEOUT(import, killed, 120)
{
	static const struct victim victims[] = {
		{ },
		{ .policy = true, .invalidates = true },
		{ .fence = true, .invalidates = true },
		/* A stall is beyond signals, so this one ends by its limit. */
		{ .policy = true, .fence = true, .stall = true, .invalidates = true },
	};
	struct dmabuf_importer_export export = EXPORT();
	int pipes[2], status;
	unsigned int i;
	pid_t child;
	char byte;

	marker_expect("dmabuf_importer: .* callback goes on after 100 ms");
	importer_export(self->imp, &export);
	for (i = 0; i < ARRAY_SIZE(victims); i++) {
		ASSERT_EQ(0, pipe2(pipes, O_CLOEXEC));
		child = fork();
		if (!child)
			victim_run(&victims[i], self->pci, export.fd, self->imp, pipes[1]);
		ASSERT_EQ(0, close(pipes[1]));
		ASSERT_EQ(1, read(pipes[0], &byte, 1));
		/* Not bufinfo, which wants a lock that may be held while a fence is waited for. */
		ASSERT_EXPORT(&export, ALIVE, .attaches = i + 1, .detaches = i, .maps = i + 1,
			      .unmaps = i, .pins = i + 1, .unpins = i);
		ASSERT_EQ(0, kill(child, SIGKILL));
		ASSERT_EQ(child, waitpid(child, &status, 0));
		ASSERT_TRUE(WIFSIGNALED(status));
		/* Its files are closed before its parent is told. */
		ASSERT_EXPORT(&export, ALIVE, .attaches = i + 1, .detaches = i + 1, .maps = i + 1,
			      .unmaps = i + 1, .pins = i + 1, .unpins = i + 1);
		ASSERT_EQ(1, dmabuf_count(IMPORTER_MODULE));
		ASSERT_EQ(0, close(pipes[0]));
	}
	ASSERT_EQ(0, close(export.fd));
}

/*
 * The kernel's own exporter of a process's memory: what an importer reads is what
 * is in that memory.  It knows nothing of pins and invalidation.
 */
TEST_F(import, udmabuf)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC };
	struct dmabuf_importer_query query;
	int memfd, udmabuf, fd;
	char *memory, *seen;
	uint64_t length;
	uint32_t id, i;

	udmabuf = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	if (udmabuf < 0)
		SKIP(return, "no /dev/udmabuf: a kernel with CONFIG_UDMABUF has it");
	memfd = memfd_create("importer", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	ASSERT_LE(0, memfd);
	ASSERT_EQ(0, ftruncate(memfd, self->size));
	ASSERT_EQ(0, fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	memory = mmap(NULL, self->size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	ASSERT_NE(MAP_FAILED, memory);
	for (i = 0; i < self->size; i++)
		memory[i] = 7 * i + i / 4096;
	create.memfd = memfd;
	create.size = self->size;
	fd = ioctl(udmabuf, UDMABUF_CREATE, &create);
	ASSERT_LE(0, fd);

	importer_attach(self->imp, self->pci, fd, 0, DMABUF_IMPORTER_NEVER, &id);
	ASSERT_DMABUF(fd, 2, 1);
	ASSERT_EQ(0, _importer_map(self->imp, id, &length));
	ASSERT_EQ(self->size, length);
	seen = malloc(self->size);
	ASSERT_NE(NULL, seen);
	importer_read(self->imp, id, 0, seen, self->size);
	ASSERT_EQ(0, memcmp(memory, seen, self->size));
	memory[1000] ^= 0xff;
	importer_read(self->imp, id, 1000, seen, 1);
	ASSERT_EQ(memory[1000], seen[0]);
	importer_pin(self->imp, id);
	importer_query(self->imp, id, &query);
	ASSERT_EQ((uint32_t)(DMABUF_IMPORTER_MAPPED | DMABUF_IMPORTER_PINNED), query.state);
	importer_detach(self->imp, id);
	ASSERT_DMABUF(fd, 1, 0);

	free(seen);
	ASSERT_EQ(0, munmap(memory, self->size));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, close(memfd));
	ASSERT_EQ(0, close(udmabuf));
}

/*
 * Threads that do anything to the same few attachments of one context, in any
 * order, while the export is invalidated.  Whatever each call says, nothing may
 * be left at the end, and each success has its counterpart.
 */
#define STORM_THREADS	3
#define STORM_ROUNDS	1500
#define STORM_IDS	4

struct storm {
	int imp;
	const char *pci;
	struct dmabuf_importer_export *export;
	unsigned int seed;
	uint32_t *ids;
};

static int storm(void *arg)
{
	struct storm *s = arg;
	struct dmabuf_importer_query query;
	uint32_t *place, id, other;
	int i, err;

	for (i = 0; i < STORM_ROUNDS; i++) {
		place = &s->ids[rand_r(&s->seed) % STORM_IDS];
		id = __atomic_load_n(place, __ATOMIC_RELAXED);
		switch (rand_r(&s->seed) % 14) {
		case 0:
		case 1:
			err = _importer_attach(s->imp, s->pci, s->export->fd,
					       rand_r(&s->seed) % 2 ? P2P : P2P | DEAF,
					       rand_r(&s->seed) % 3, &id);
			if (err)
				break;
			other = __atomic_exchange_n(place, id, __ATOMIC_RELAXED);
			err = _importer_detach(s->imp, other);
			break;
		case 2:
			err = _importer_detach(s->imp, id);
			break;
		case 3:
		case 4:
			err = _importer_map(s->imp, id, NULL);
			break;
		case 5:
			err = _importer_unmap(s->imp, id);
			break;
		case 6:
			err = _importer_pin(s->imp, id);
			break;
		case 7:
			err = _importer_unpin(s->imp, id);
			break;
		case 8:
			err = _importer_release(s->imp, id);
			break;
		case 9:
			err = _importer_hold_fence(s->imp, id, rand_r(&s->seed) % 4, 0, &other);
			if (!err)
				err = _importer_signal(s->imp, other);
			break;
		case 10:
			err = _importer_stall(s->imp, id, 0);
			if (!err)
				err = _importer_resume(s->imp, id);
			break;
		case 11:
			err = _importer_policy(s->imp, id, rand_r(&s->seed) % 3);
			break;
		case 12:
			err = _importer_query(s->imp, id, &query);
			break;
		default:
			err = _importer_invalidate(s->imp, s->export->id, 0, 0, &other);
		}
		if (err && err != ENOENT && err != ENODATA && err != EBUSY && err != EPERM &&
		    err != EINVAL)
			return err;
	}
	return 0;
}

TEST_F_TIMEOUT(import, storm, 120)
{
	const char *given = getenv("SEED");
	const unsigned int seed = given ? strtoul(given, NULL, 0) : (unsigned long)time(NULL);
	struct dmabuf_importer_export export = EXPORT();
	struct dmabuf_importer_export_query query;
	struct caller caller[STORM_THREADS];
	struct storm s[STORM_THREADS];
	uint32_t ids[2][STORM_IDS] = {};
	unsigned int i;
	int other;

	TH_LOG("SEED=%u", seed);
	importer_export(self->imp, &export);
	importer_open(&other);
	/* One context is closed with all that is left in it; in the other all is detached. */
	for (i = 0; i < STORM_THREADS; i++) {
		s[i] = (struct storm){
			.imp = i ? self->imp : other, .pci = self->pci, .export = &export,
			.seed = seed + i, .ids = ids[!i],
		};
		caller_start(&caller[i], storm, &s[i]);
	}
	for (i = 0; i < STORM_THREADS; i++) {
		int result = -1;

		while (_caller_end(&caller[i], &result) == ETIMEDOUT)
			;
		ASSERT_EQ(0, result);
	}
	ASSERT_EQ(0, close(other));
	for (i = 0; i < STORM_IDS; i++)
		_importer_detach(self->imp, ids[0][i]);
	importer_export_query(self->imp, export.id, &query);
	TH_LOG("%u attachments, %u mappings, %u pins, %u invalidations", query.attaches,
	       query.maps, query.pins, query.invalidations);
	ASSERT_LT(0U, query.attaches);
	ASSERT_LT(0U, query.maps);
	ASSERT_LT(0U, query.pins);
	ASSERT_EQ(query.attaches, query.detaches);
	ASSERT_EQ(query.maps, query.unmaps);
	ASSERT_EQ(query.pins, query.unpins);
	ASSERT_DMABUF(export.fd, 1, 0);
	ASSERT_TRUE(dmabuf_is_idle(export.fd));
	ASSERT_EQ(0, close(export.fd));
}

/* The module itself: its parameter, its time limits, and when it can be unloaded. */
FIXTURE(importer_module)
{
	char pci[32];
	size_t size;
	int imp;
};

#define LIMIT_MS	"200"

FIXTURE_SETUP(importer_module)
{
	const char *missing = importer_missing();

	bed_mark(_metadata, "begin");
	if (!missing && importer_some_pci(self->pci))
		missing = "no PCI device";
	if (!missing && _importer_unload())
		missing = "dmabuf_importer.ko is in use: close what uses it";
	if (!missing && _importer_load("max_hold_ms=" LIMIT_MS))
		missing = "dmabuf_importer.ko does not load again: name it in DMABUF_IMPORTER_KO";
	if (missing) {
		bed_mark(_metadata, "end");
		SKIP(return, "%s", missing);
	}
	self->size = PAGES * sysconf(_SC_PAGESIZE);
	importer_open(&self->imp);
}

FIXTURE_TEARDOWN(importer_module)
{
	close(self->imp);
	EXPECT_EQ(0, _importer_unload());
	EXPECT_EQ(0, _importer_load(""));
	bed_mark(_metadata, "end");
}

/*
 * Nothing is held back for longer than the module's limit, and what ends because
 * of it says so: to the context, and in the kernel log.
 */
TEST_F(importer_module, limits)
{
	struct dmabuf_importer_export export = EXPORT(.map_stall_ms = 1);
	struct dmabuf_importer_query query;
	uint32_t stubborn, deaf, fence, id, i;

	marker_expect("dmabuf_importer: .* (taken back|goes on|signalled) after [0-9]+ ms");
	importer_export(self->imp, &export);
	importer_attach(self->imp, self->pci, export.fd, P2P, DMABUF_IMPORTER_NEVER, &stubborn);
	importer_attach(self->imp, self->pci, export.fd, P2P | DEAF, 0, &deaf);
	importer_hold_fence_err(EINVAL, self->imp, deaf, DMABUF_IMPORTER_BOOKKEEP,
				atoi(LIMIT_MS) + 1);
	importer_stall_err(EINVAL, self->imp, stubborn, atoi(LIMIT_MS) + 1);

	for (i = 0; i < 2; i++) {
		id = i ? deaf : stubborn;
		importer_map(self->imp, id);
		importer_event(self->imp, DMABUF_IMPORTER_EVENT_MAP_STALL, export.id, 0);
		importer_event(self->imp, DMABUF_IMPORTER_EVENT_MAP_RESUME, export.id,
			       DMABUF_IMPORTER_BY_LIMIT);
		importer_event(self->imp, DMABUF_IMPORTER_EVENT_UNMAP, id,
			       DMABUF_IMPORTER_BY_LIMIT);
		importer_unmap_err(ENODATA, self->imp, id);
		importer_query(self->imp, id, &query);
		ASSERT_EQ(0U, query.state);
		ASSERT_EQ(1U, query.unmaps);
		ASSERT_EQ(1U, query.unmaps_by_limit);
	}

	importer_stall(self->imp, stubborn, 1);
	importer_invalidate(self->imp, export.id, 0, 0);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_INVALIDATE, stubborn,
		       DMABUF_IMPORTER_STALLED);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_RESUME, stubborn, DMABUF_IMPORTER_BY_LIMIT);

	importer_hold_fence(self->imp, deaf, DMABUF_IMPORTER_WRITE, 1, &fence);
	importer_event(self->imp, DMABUF_IMPORTER_EVENT_FENCE, fence, DMABUF_IMPORTER_BY_LIMIT);
	ASSERT_TRUE(dmabuf_is_idle(export.fd));
	importer_signal_err(ETIME, self->imp, fence);
	importer_signal_err(ENOENT, self->imp, fence);
	ASSERT_EXPORT(&export, ALIVE, .attaches = 2, .maps = 2, .unmaps = 2, .invalidations = 1);
	ASSERT_EQ(0, close(export.fd));
}

/*
 * The module is in use while a context is open, and while a dma-buf of it lives;
 * then it can go.
 */
TEST_F(importer_module, unload)
{
	struct dmabuf_importer_export export = EXPORT();
	uint32_t id, fence;
	int other;

	importer_export(self->imp, &export);
	importer_unload_err(EAGAIN);
	importer_open(&other);
	importer_attach(other, self->pci, export.fd, P2P, 0, &id);
	importer_hold_fence(other, id, DMABUF_IMPORTER_BOOKKEEP, 0, &fence);
	ASSERT_EQ(0, close(self->imp));
	importer_unload_err(EAGAIN);
	/* The last descriptor, but the attachment keeps the file. */
	ASSERT_EQ(0, close(export.fd));
	ASSERT_EQ(1, dmabuf_count(IMPORTER_MODULE));
	importer_unload_err(EAGAIN);
	ASSERT_EQ(0, close(other));
	ASSERT_EQ(0, dmabuf_count(IMPORTER_MODULE));
	importer_unload();
	ASSERT_EQ(-1, access(IMPORTER_DEVICE, F_OK));

	marker_expect("dmabuf_importer: parameter max_hold_ms: got [0-9]+, expected 1 to 600000");
	importer_load_err(EINVAL, "max_hold_ms=0");
	importer_load_err(EINVAL, "max_hold_ms=600001");
	/* What can only be read is no reason to crash; the kernel adds a line of its own. */
	marker_expect("dmabuf_importer: parameter moves: to be read only");
	marker_expect("`1' invalid for parameter `moves'");
	importer_load_err(EPERM, "moves=1");
	importer_load("max_hold_ms=600000");
	importer_open(&self->imp);
}

/* A fence of a module that is gone can still be looked at. */
TEST_F(importer_module, unload_under_a_fence)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = self->size };
	int udmabuf = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;
	uint32_t id, fence;

	if (udmabuf < 0)
		SKIP(return, "no /dev/udmabuf: a kernel with CONFIG_UDMABUF has it");
	create.memfd = memfd_create("importer", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	ASSERT_EQ(0, ftruncate(create.memfd, self->size));
	ASSERT_EQ(0, fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	fd = ioctl(udmabuf, UDMABUF_CREATE, &create);
	ASSERT_LE(0, fd);
	importer_attach(self->imp, self->pci, fd, 0, 0, &id);
	importer_hold_fence(self->imp, id, DMABUF_IMPORTER_WRITE, 0, &fence);
	ASSERT_FALSE(dmabuf_is_idle(fd));
	ASSERT_EQ(0, close(self->imp));
	importer_unload();
	ASSERT_TRUE(dmabuf_is_idle(fd));
	ASSERT_DMABUF(fd, 1, 0);
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, close(create.memfd));
	ASSERT_EQ(0, close(udmabuf));
	importer_load("");
	importer_open(&self->imp);
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
