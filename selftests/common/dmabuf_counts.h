/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a test expects of device memory and of dma-bufs of it, from all witnesses at
 * once: the kernel's counts, bufinfo, fdinfo and the device's ledger.
 *
 * A fixture has the members "bed", "counts" (kernel_counts.h) and "seq", the number of
 * the device's last command before the test made anything.  To be included after
 * kernel_counts.h.
 */
#ifndef _SELFTESTS_DMABUF_COUNTS_H
#define _SELFTESTS_DMABUF_COUNTS_H

#include "dm_ops.h"
#include "kernel_counts.h"
#include "kernel_signs.h"
#include "memic_counts.h"

/* The mkey of a region leads to memory or not, as far as the device says. */
#define ASSERT_TRANSLATES(yes, number) \
do { \
	struct vhca_object __mkey; \
	ASSERT_EQ(1, vhca_find(&self->bed.dev, "mkey", number, &__mkey)); \
	ASSERT_EQ(0UL, __mkey.free); \
	if (__mkey.translations >= 0) \
		ASSERT_EQ(yes, __mkey.translations > 0); \
} while (0)

/*
 * A new snapshot has one uobject for the dma-buf with that inode number, it is as
 * expected, and bufinfo says the same of files, size and attachments.
 */
#define ASSERT_DMABUF(inode, is) \
do { \
	const uint64_t __inode = (inode); \
	struct dmabuf_sign __sign; \
	LOOK(); \
	ASSERT_ONE(UOBJ, scope_kv("type=DMABUF ino=%lu", __inode), is); \
	ASSERT_EQ(1, dmabuf_look(__inode, &__sign)); \
	ASSERT_STREQ("ib_uverbs", __sign.exporter); \
	ASSERT_ONE(UOBJ, scope_kv("type=DMABUF ino=%lu", __inode), \
		   scope_kv("file_ref=%ld size=%lu", __sign.files, __sign.size)); \
	ASSERT_COUNT(__sign.attachments, ATTACH, scope_kv("ino=%lu", __inode)); \
} while (0)

/* A new snapshot has nothing of it any more, and neither has bufinfo. */
#define ASSERT_NO_DMABUF(inode) \
do { \
	const uint64_t __inode = (inode); \
	struct dmabuf_sign __sign; \
	LOOK(); \
	ASSERT_NONE(UOBJ, scope_kv("type=DMABUF ino=%lu", __inode)); \
	ASSERT_NONE(ATTACH, scope_kv("ino=%lu", __inode)); \
	ASSERT_NONE(FD, scope_kv("ino=%lu", __inode)); \
	ASSERT_EQ(0, dmabuf_look(__inode, &__sign)); \
} while (0)

/**
 * offset_of() - what to map an mmap entry by
 * @pgoff: key of the entry, as uobjscope.ko shows it
 *
 * The opposite of pgoff_of(), mlx5_ib's mlx5_entry_to_mmap_offset().
 *
 * Return: offset in bytes.
 */
static inline uint64_t offset_of(uint64_t pgoff)
{
	const uint64_t page = (pgoff >> 8 & 0xff) << 16 | (pgoff >> 16 & 0xff) << 8 |
			      (pgoff & 0xff);

	return page * sysconf(_SC_PAGESIZE);
}

#endif /* _SELFTESTS_DMABUF_COUNTS_H */
