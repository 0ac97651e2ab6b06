/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a store through a mapping of a VAR arrives, as the device sees it.
 *
 * The virtual HCA keeps what is written to its doorbell pages; real hardware
 * does not.  Names are as explained in var_ops.h.
 */
#ifndef _SELFTESTS_DOORBELL_H
#define _SELFTESTS_DOORBELL_H

#include <stdint.h>

#include "device.h"
#include "peer.h"

/**
 * enum doorbell_region - which doorbell pages
 * @DOORBELL_VAR: of VAR objects
 * @DOORBELL_TLP_VAR: of TLP VAR objects
 * @DOORBELL_REGIONS: number of regions
 */
enum doorbell_region {
	DOORBELL_VAR,
	DOORBELL_TLP_VAR,
	DOORBELL_REGIONS,
};

/**
 * _doorbell_store() - store a word through a mapping and look where it arrives
 * @dev: the device
 * @map: the mapping
 * @region: the region that it maps a page of
 * @page_id: which page
 *
 * The word is one that the place does not hold yet.  All doorbell pages of the
 * device are compared before and after.
 *
 * Return: 0 if the word arrived on that page and nothing else changed, EXDEV
 * if not (diagnostics say what did change), or another errno.
 */
int _doorbell_store(const struct device *dev, uint32_t *map,
		    enum doorbell_region region, uint32_t page_id);

/**
 * _doorbell_peer_store() - the same through a mapping of a peer
 * @dev: the device
 * @peer: the peer
 * @addr: address of the mapping in the peer
 * @region: the region that it maps a page of
 * @page_id: which page
 *
 * Return: as _doorbell_store().
 */
int _doorbell_peer_store(const struct device *dev, struct peer *peer, uint64_t addr,
			 enum doorbell_region region, uint32_t page_id);

#define doorbell_store(map, region, page_id) \
	ASSERT_EQ(0, _doorbell_store(&self->bed.dev, map, region, page_id))
#define doorbell_peer_store(peer, addr, region, page_id) \
	ASSERT_EQ(0, _doorbell_peer_store(&self->bed.dev, peer, addr, region, page_id))

#endif /* _SELFTESTS_DOORBELL_H */
