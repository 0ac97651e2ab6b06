/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What another module may read of an attachment of ours, without any symbol of
 * this module.
 *
 * Such an attachment is told by the name of its importer operations: it begins
 * with DMABUF_IMPORTER_OPS_PREFIX and is a symbol of the module dmabuf_importer.
 * Static attachments have no operations and thus cannot be told.
 */
#ifndef DMABUF_IMPORTER_ATTACHMENT_H
#define DMABUF_IMPORTER_ATTACHMENT_H

#include <linux/types.h>

#define DMABUF_IMPORTER_OPS_PREFIX	"dmabuf_importer_ops_"
#define DMABUF_IMPORTER_PRIV_MAGIC	0x75da7701

/**
 * struct dmabuf_importer_priv - where dma_buf_attachment.importer_priv points to
 * @magic: DMABUF_IMPORTER_PRIV_MAGIC, which changes whenever this structure does
 * @mapped: there is a mapping
 * @pinned: it is pinned
 *
 * @mapped and @pinned change with the dma-buf's reservation object locked only.
 * The structure lives until after dma_buf_detach().
 */
struct dmabuf_importer_priv {
	u32	magic;
	bool	mapped;
	bool	pinned;
};

#endif /* DMABUF_IMPORTER_ATTACHMENT_H */
