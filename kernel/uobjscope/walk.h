/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The walk: what its parts share.
 *
 * Locks are taken in this order, those in brackets by trylock only:
 *
 *	walk_lock			one walk at a time
 *	 devices_lock			one batch
 *	  [lists_mutex]			kernels without probes
 *	  restrack's xa_lock		one batch
 *	  [bitmap_lock] [mlx5_dm.lock]
 *	 [hw_destroy_rwsem], read	one batch
 *	  mmap_xa's xa_lock		the same batch
 *	   [dmabufs_lock]
 *	 RCU, for a ufile's handles	one batch
 *	 uobjects_lock			one batch
 *	 [umap_lock]			one ufile's mappings
 *	 [dma_buf.resv]			one dma_buf's attachments
 *	  registry_lock			innermost of all
 *
 * What is not named under another is taken with nothing but walk_lock held.
 * Between batches nothing is held but a reference to the ufile, and to the
 * uobject where a list is to be walked on from.
 */
#ifndef UOBJSCOPE_WALK_H
#define UOBJSCOPE_WALK_H

#include <rdma/uverbs_types.h>

#include "map.h"
#include "record.h"
#include "registry.h"
#include "vector.h"

/** define SCOPE_BATCH - records made under one hold of a lock */
#define SCOPE_BATCH	64

/** define SCOPE_DMABUFS_MAX - dma-bufs of mmap entries that are counted under one hold */
#define SCOPE_DMABUFS_MAX	1024U

/** define SCOPE_IMPORTERS - importer operations whose names are kept */
#define SCOPE_IMPORTERS	8

struct dma_buf_attach_ops;
struct rdma_user_mmap_entry;

/**
 * struct scope_importer - what is known of importer operations
 * @ops: their address
 * @symbol: their name
 * @umem: their private pointer is an ib_umem_dmabuf
 * @ours: it is a dmabuf_importer_priv
 */
struct scope_importer {
	const struct dma_buf_attach_ops	*ops;
	char				symbol[SCOPE_SYMBOL];
	bool				umem;
	bool				ours;
};

/**
 * struct scope_walked - a ufile and where its records are
 * @record: its own record
 * @known: of it by the registry, at the start
 * @ufile: the ufile with a reference where there are no probes, else NULL
 * @uobjs: first uobj record, until @uobjs_end
 * @uobjs_end: the record after the last one
 * @mmaps: first mmap record
 * @mmaps_end: the record after the last one
 * @vmas: first vma record
 * @vmas_end: the record after the last one
 * @attaches: first attach record
 * @attaches_end: the record after the last one
 * @dmabuf: first dma_buf of it that the registry knows, as an index plus 1
 * @walked: the walk has been there
 */
struct scope_walked {
	struct scope_ufile_record	record;
	struct scope_registered		known;
	struct ib_uverbs_file		*ufile;
	u32				uobjs, uobjs_end;
	u32				mmaps, mmaps_end;
	u32				vmas, vmas_end;
	u32				attaches, attaches_end;
	u32				dmabuf;
	bool				walked;
};

/**
 * struct scope_walked_device - a device that is in the snapshot
 * @record: its record
 * @number: see struct scope_device
 * @address: of the ib_device, to match only
 * @uverbs: of the ib_uverbs_device, to match only
 * @driver: enum scope_driver
 * @refused: it does not fit, and nothing of it is shown
 * @wanted: it is to be in the snapshot
 */
struct scope_walked_device {
	struct scope_device_record	record;
	unsigned int			number;
	unsigned long			address;
	unsigned long			uverbs;
	u8				driver;
	bool				refused;
	bool				wanted;
};

/**
 * struct scope_known_dmabuf - a dma_buf that the registry knows
 * @address: of it
 * @next: of the same ufile, as an index plus 1
 */
struct scope_known_dmabuf {
	unsigned long	address;
	u32		next;
};

/**
 * struct scope_tracked - what resource tracking knows of a uobject
 * @has: SCOPE_HAS_* of the values that are there
 * @type: object type id
 * @id: restrack id, a QP's number
 * @pdn: restrack id of the protection domain
 * @users: usecnt
 * @cqe: CQ: entries
 * @lkey: MR: local key
 * @dm: MR: the ib_dm that it is on, or 0
 * @length: MR: bytes
 */
struct scope_tracked {
	u32	has;
	u32	type;
	u32	id;
	u32	pdn;
	s32	users;
	u32	cqe;
	u32	lkey;
	u64	length;
	unsigned long dm;
};

/**
 * struct scope_walk - a snapshot in the making
 * @devices: struct scope_walked_device
 * @ufiles: struct scope_walked
 * @uobjs: struct scope_uobj_record
 * @mmaps: struct scope_mmap_record
 * @vmas: struct scope_vma_record
 * @attaches: struct scope_attach_record
 * @tracked: struct scope_tracked
 * @dmabufs: struct scope_known_dmabuf
 * @tracked_by_object: finds @tracked
 * @device_by_uverbs: finds @devices
 * @device_by_address: finds @devices
 * @mmap_by_object: finds @mmaps by what a uobject's object pointer would be
 * @mmap_by_entry: finds @mmaps
 * @uobj_by_dmabuf: finds @uobjs
 * @importers: names that are known
 * @nr_importers: in @importers
 * @missed: calls that the probes had missed at the start
 * @patience: tries left in this snapshot, for all locks together
 * @deref: module parameter deref at the start
 * @fprobe: the registry is fed by probes, and its entries can be followed
 */
struct scope_walk {
	struct scope_vector	devices;
	struct scope_vector	ufiles;
	struct scope_vector	uobjs;
	struct scope_vector	mmaps;
	struct scope_vector	vmas;
	struct scope_vector	attaches;
	struct scope_vector	tracked;
	struct scope_vector	dmabufs;
	struct scope_map	tracked_by_object;
	struct scope_map	device_by_uverbs;
	struct scope_map	device_by_address;
	struct scope_map	mmap_by_object;
	struct scope_map	mmap_by_entry;
	struct scope_map	uobj_by_dmabuf;
	struct scope_importer	importers[SCOPE_IMPORTERS];
	unsigned int		nr_importers;
	u64			missed;
	unsigned int		patience;
	bool			deref;
	bool			fprobe;
};

bool scope_walk_lock_ucontext(struct scope_walk *walk, struct ib_uverbs_file *ufile);
void scope_walk_unlock_ucontext(struct ib_uverbs_file *ufile, u64 began);

int scope_walk_uobjects(struct scope_walk *walk, struct scope_walked *walked,
			struct ib_uverbs_file *ufile);
int scope_walk_mmaps(struct scope_walk *walk, struct scope_walked *walked,
		     struct ib_uverbs_file *ufile);
int scope_walk_vmas(struct scope_walk *walk, struct scope_walked *walked,
		    struct ib_uverbs_file *ufile);
int scope_walk_deref(struct scope_walk *walk, struct scope_walked *walked,
		     struct ib_uverbs_file *ufile);
int scope_walk_restrack(struct scope_walk *walk, unsigned int number);

void scope_fill_uobj(struct scope_uobj_record *r, const struct ib_uobject *uobj, bool is_fd);
u32 scope_fill_mmap(struct scope_mmap_record *r, struct rdma_user_mmap_entry *entry);
bool scope_next_entry(struct xarray *xa, unsigned long *index,
		      struct rdma_user_mmap_entry **entry);

/* What lies behind the objects of mlx5_ib. */
struct ib_device;
struct ib_dm;

void scope_var_mmap(struct scope_mmap_record *r, const struct rdma_user_mmap_entry *entry);
void scope_var_usage(struct ib_device *ibdev, struct scope_device_record *r);
void scope_dm_mmap(struct scope_mmap_record *r, struct rdma_user_mmap_entry *entry);
void scope_dm_usage(struct ib_device *ibdev, struct scope_device_record *r);
void scope_dm_read(struct scope_uobj_record *r, const struct ib_dm *ibdm);
void scope_dm_from_mmap(struct scope_uobj_record *r, const struct scope_mmap_record *mmap);

#endif /* UOBJSCOPE_WALK_H */
