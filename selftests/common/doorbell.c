// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "doorbell.h"
#include "text.h"

/* Not the first word, so that an offset within the page is seen as well. */
#define DOORBELL_WORD	7

#define DOORBELL_FLIP	0x5aa5c33cU

static const char * const doorbell_name[DOORBELL_REGIONS] = {
	[DOORBELL_VAR] = "var",
	[DOORBELL_TLP_VAR] = "tlp_var",
};

struct doorbell_image {
	uint32_t *mem[DOORBELL_REGIONS];
};

static const struct vhca_region *doorbell_layout(const struct device *dev, int region)
{
	return region == DOORBELL_VAR ? &dev->info.var : &dev->info.tlp_var;
}

static void doorbell_drop(struct doorbell_image *image)
{
	int i;

	for (i = 0; i < DOORBELL_REGIONS; i++)
		free(image->mem[i]);
}

static int doorbell_take(const struct device *dev, struct doorbell_image *image)
{
	uint64_t size;
	int i, err;

	memset(image, 0, sizeof(*image));
	for (i = 0; i < DOORBELL_REGIONS; i++) {
		size = doorbell_layout(dev, i)->size;
		if (!size)
			continue;
		image->mem[i] = malloc(size);
		err = image->mem[i] ? vhca_memory(dev, doorbell_name[i], 0, image->mem[i], size) :
		      ENOMEM;
		if (err) {
			doorbell_drop(image);
			return err;
		}
	}
	return 0;
}

/* Index of the word in the memory of its region. */
static uint64_t doorbell_index(const struct device *dev, int region, uint32_t page_id)
{
	const struct vhca_region *layout = doorbell_layout(dev, region);

	return (uint64_t)page_id * layout->stride / sizeof(uint32_t) + DOORBELL_WORD;
}

/* Is the one word the only difference? */
static int doorbell_compare(const struct device *dev, const struct doorbell_image *before,
			    int region, uint64_t index, uint32_t word)
{
	struct doorbell_image after;
	int i, err, wrong = 0;
	uint64_t w, size;

	err = doorbell_take(dev, &after);
	if (err)
		return err;
	for (i = 0; i < DOORBELL_REGIONS; i++) {
		size = doorbell_layout(dev, i)->size / sizeof(uint32_t);
		for (w = 0; w < size; w++) {
			uint32_t expected = before->mem[i][w];

			if (i == region && w == index)
				expected = word;
			if (after.mem[i][w] == expected)
				continue;
			/* A few lines tell as much as a thousand. */
			if (wrong++ < 8)
				diag("%s memory at 0x%llx: expected 0x%x, the device sees 0x%x",
				     doorbell_name[i], (unsigned long long)w * sizeof(uint32_t),
				     expected, after.mem[i][w]);
		}
	}
	doorbell_drop(&after);
	return wrong ? EXDEV : 0;
}

/* Store by @peer at @addr if there is one, else at @map. */
static int doorbell_do(const struct device *dev, struct peer *peer, uint64_t addr,
		       uint32_t *map, int region, uint32_t page_id)
{
	struct doorbell_image before;
	uint64_t index;
	uint32_t word;
	int err;

	if (page_id >= doorbell_layout(dev, region)->count) {
		diag("%s has no page %u", doorbell_name[region], page_id);
		return ERANGE;
	}
	err = doorbell_take(dev, &before);
	if (err)
		return err;
	index = doorbell_index(dev, region, page_id);
	word = before.mem[region][index] ^ DOORBELL_FLIP;
	if (peer)
		err = _peer_poke(peer, addr + DOORBELL_WORD * sizeof(word), word);
	else
		__atomic_store_n(&map[DOORBELL_WORD], word, __ATOMIC_RELAXED);
	if (!err)
		err = doorbell_compare(dev, &before, region, index, word);
	doorbell_drop(&before);
	return err;
}

int _doorbell_store(const struct device *dev, uint32_t *map,
		    enum doorbell_region region, uint32_t page_id)
{
	return doorbell_do(dev, NULL, 0, map, region, page_id);
}

int _doorbell_peer_store(const struct device *dev, struct peer *peer, uint64_t addr,
			 enum doorbell_region region, uint32_t page_id)
{
	return doorbell_do(dev, peer, addr, NULL, region, page_id);
}
