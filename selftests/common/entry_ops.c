// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dm_ops.h"
#include "entry_ops.h"
#include "text.h"
#include "var_ops.h"

/* How mlx5_ib's mmap() knows device memory: enum mlx5_ib_mmap_cmd, MLX5_IB_MMAP_DEVICE_MEM. */
#define MMAP_DEVICE_MEM	8ULL

static const struct {
	const char *name;
	const char *used;
	const char *memory;
} kinds[ENTRY_KINDS] = {
	[ENTRY_VAR] = { "VAR", "var_used", "var" },
	[ENTRY_TLP_VAR] = { "TLP_VAR", "tlp_var_used", "tlp_var" },
	[ENTRY_MEMIC] = { "MEMIC", "memic_pages_used", "memic" },
};

const char *entry_name(enum entry_kind kind)
{
	return kinds[kind].name;
}

const char *entry_used(enum entry_kind kind)
{
	return kinds[kind].used;
}

int entry_takes(const struct entry *entry)
{
	return entry->kind == ENTRY_MEMIC ? entry->length / sysconf(_SC_PAGESIZE) : 1;
}

int entry_pages(const struct device *dev, enum entry_kind kind, int wanted)
{
	const size_t page = sysconf(_SC_PAGESIZE);

	switch (kind) {
	case ENTRY_VAR:
		return dev->info.var.count ? dev->info.var.stride / page : 0;
	case ENTRY_TLP_VAR:
		return dev->info.tlp_var.count ? dev->info.tlp_var.stride / page : 0;
	default:
		return dev->info.memic.size >= wanted * page ? wanted : 0;
	}
}

static int alloc_var(int fd, struct entry *entry)
{
	struct raw_var var;
	int err;

	err = _raw_var_alloc(fd, entry->kind == ENTRY_TLP_VAR ? MLX5DV_VAR_ALLOC_FLAG_TLP : 0, 0,
			     &var);
	if (err)
		return err;
	entry->handle = var.handle;
	entry->page_id = var.page_id;
	entry->length = var.length;
	entry->off = var.mmap_off;
	return 0;
}

static int alloc_memic(int fd, int pages, struct entry *entry)
{
	const uint64_t page = sysconf(_SC_PAGESIZE);
	uint64_t index;
	struct raw_dm dm;
	int err;

	err = _raw_dm_alloc(fd, pages * page, 0, &dm);
	if (err)
		return err;
	index = dm.page_idx;
	entry->handle = dm.handle;
	entry->page_id = 0;
	entry->length = pages * page;
	/* mlx5_ib's get_command() and get_extended_index() take it apart. */
	entry->off = (MMAP_DEVICE_MEM << 8 | (index >> 8) << 16 | (index & 0xff)) * page;
	return 0;
}

int _entry_alloc(int fd, enum entry_kind kind, int pages, struct entry *entry)
{
	entry->kind = kind;
	return kind == ENTRY_MEMIC ? alloc_memic(fd, pages, entry) : alloc_var(fd, entry);
}

int _entry_free(int fd, const struct entry *entry)
{
	return entry->kind == ENTRY_MEMIC ? _raw_dm_free(fd, entry->handle) :
					    _raw_var_free(fd, entry->handle);
}

int _entry_map_as(int fd, size_t length, int flags, uint64_t off, void **map)
{
	*map = mmap(NULL, length, PROT_READ | PROT_WRITE, flags, fd, off);
	return *map == MAP_FAILED ? errno : 0;
}

int _entry_map(int fd, const struct entry *entry, void **map)
{
	return _entry_map_as(fd, entry->length, MAP_SHARED, entry->off, map);
}

static const struct vhca_region *region_of(const struct device *dev, enum entry_kind kind)
{
	switch (kind) {
	case ENTRY_VAR:
		return &dev->info.var;
	case ENTRY_TLP_VAR:
		return &dev->info.tlp_var;
	default:
		return &dev->info.memic;
	}
}

/* Whether the only word that differs is the one at @place, which is @word now. */
static bool is_only_change(const uint32_t *before, const uint32_t *after, size_t words,
			   size_t place, uint32_t word)
{
	bool good = true;
	size_t i;

	for (i = 0; i < words; i++) {
		if (i == place ? after[i] == word : after[i] == before[i])
			continue;
		diag("word %zu of the region: %#x before, %#x now; stored was word %zu, %#x", i,
		     before[i], after[i], place, word);
		good = false;
	}
	return good;
}

int _entry_store(const struct device *dev, enum entry_kind kind, uint64_t addr, void *word)
{
	const struct vhca_region *region = region_of(dev, kind);
	const uint64_t offset = addr - device_bar(dev) - region->offset;
	uint32_t *before, *after, value;
	int err;

	if (offset >= region->size) {
		diag("%#lx is not in the region %s of the device", addr, kinds[kind].memory);
		return EXDEV;
	}
	before = malloc(2 * region->size);
	if (!before)
		return ENOMEM;
	after = before + region->size / sizeof(*after);
	err = vhca_memory(dev, kinds[kind].memory, 0, before, region->size);
	if (err)
		goto out;
	value = before[offset / sizeof(value)] + 1;
	__atomic_store_n((uint32_t *)word, value, __ATOMIC_SEQ_CST);
	err = vhca_memory(dev, kinds[kind].memory, 0, after, region->size);
	if (!err && !is_only_change(before, after, region->size / sizeof(value),
				    offset / sizeof(value), value))
		err = EXDEV;
out:
	free(before);
	return err;
}
