/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects of any kind that have an mmap entry, without the library in between:
 * what is true of mapping one is true of mapping all.
 *
 * The three names of each operation are explained in var_ops.h.
 */
#ifndef _SELFTESTS_ENTRY_OPS_H
#define _SELFTESTS_ENTRY_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "device.h"

/**
 * enum entry_kind - what the mmap entry belongs to
 * @ENTRY_VAR: a VAR
 * @ENTRY_TLP_VAR: a TLP VAR
 * @ENTRY_MEMIC: device memory that is not SW ICM
 * @ENTRY_KINDS: number of kinds
 */
enum entry_kind {
	ENTRY_VAR,
	ENTRY_TLP_VAR,
	ENTRY_MEMIC,
	ENTRY_KINDS,
};

/**
 * struct entry - an object that can be mapped
 * @kind: what it is
 * @handle: its uobject
 * @page_id: which page of the device, not of device memory
 * @length: bytes to map
 * @off: where to map them from, in bytes
 */
struct entry {
	enum entry_kind kind;
	uint32_t handle;
	uint32_t page_id;
	size_t length;
	uint64_t off;
};

/**
 * entry_name() - the kind as a record's key "kind" has it
 * @kind: the kind
 *
 * Return: the name.
 */
const char *entry_name(enum entry_kind kind);

/**
 * entry_used() - the key of a device's record that counts what is in use
 * @kind: the kind
 *
 * Return: the key.
 */
const char *entry_used(enum entry_kind kind);

/**
 * entry_takes() - by how much an object raises that count
 * @entry: the object
 *
 * Return: pages of the device.
 */
int entry_takes(const struct entry *entry);

/**
 * entry_pages() - how many pages an object of a kind can have
 * @dev: the device
 * @kind: the kind
 * @wanted: so many are wanted
 *
 * The pages of a VAR are as many as its stride, of device memory as many as asked
 * for.
 *
 * Return: the number, 0 if the device has no such objects.
 */
int entry_pages(const struct device *dev, enum entry_kind kind, int wanted);

/**
 * _entry_alloc() - allocate an object by ioctl
 * @fd: command descriptor of a context
 * @kind: what it shall be
 * @pages: pages of device memory
 * @entry: filled in
 *
 * Return: 0 or an errno.
 */
int _entry_alloc(int fd, enum entry_kind kind, int pages, struct entry *entry);

/**
 * _entry_free() - free it by ioctl
 * @fd: command descriptor of the context
 * @entry: the object
 *
 * Return: 0 or an errno.
 */
int _entry_free(int fd, const struct entry *entry);

/**
 * _entry_map() - map an object
 * @fd: command descriptor of the context
 * @entry: the object
 * @map: the mapping
 *
 * Return: 0 or an errno.
 */
int _entry_map(int fd, const struct entry *entry, void **map);

/**
 * _entry_map_as() - try to map an object in another way
 * @fd: command descriptor of the context
 * @length: bytes to map
 * @flags: MAP_SHARED or MAP_PRIVATE
 * @off: where to map them from
 * @map: the mapping
 *
 * Return: 0 or an errno.
 */
int _entry_map_as(int fd, size_t length, int flags, uint64_t off, void **map);

/**
 * _entry_store() - store a word through a mapping and look where it arrives
 * @dev: the device
 * @kind: what the mapping is of
 * @addr: where in the device's BAR0 the page is that it should lead to, from the
 *	  beginning of physical memory, as in the record of the mmap entry
 * @word: where to store, the first word of a page
 *
 * All memory of that kind is compared before and after.
 *
 * Return: 0 if the word arrived there and nothing else changed, EXDEV if not, or
 * another errno.
 */
int _entry_store(const struct device *dev, enum entry_kind kind, uint64_t addr, void *word);

#define entry_alloc(fd, kind, pages, entry) \
	ASSERT_EQ(0, _entry_alloc(fd, kind, pages, entry))
#define entry_free(fd, entry) \
	ASSERT_EQ(0, _entry_free(fd, entry))
#define entry_free_err(err, fd, entry) \
	ASSERT_EQ(err, _entry_free(fd, entry))
#define entry_map(fd, entry, map) \
	ASSERT_EQ(0, _entry_map(fd, entry, map))
#define entry_store(kind, addr, word) \
	ASSERT_EQ(0, _entry_store(&self->bed.dev, kind, addr, word))
#define entry_map_err(err, fd, entry) \
	entry_map_as_err(err, fd, (entry)->length, MAP_SHARED, (entry)->off)
#define entry_map_as_err(err, fd, length, flags, off) \
do { \
	void *__map; \
	ASSERT_EQ(err, _entry_map_as(fd, length, flags, off, &__map)); \
} while (0)

#endif /* _SELFTESTS_ENTRY_OPS_H */
