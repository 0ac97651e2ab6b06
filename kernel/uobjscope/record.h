/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a snapshot is made of: flat records.  The walk fills them while it holds
 * locks, report.c turns them into text afterwards.
 *
 * No structure of the kernel appears here.  Addresses are kept as numbers, to
 * match records with each other; they leave the module as tokens only.
 */
#ifndef UOBJSCOPE_RECORD_H
#define UOBJSCOPE_RECORD_H

#include <linux/bits.h>
#include <linux/types.h>

/** define SCOPE_NAME - bytes of a device's name, the final 0 included */
#define SCOPE_NAME	64
/** define SCOPE_COMM - bytes of a task's name, the final 0 included */
#define SCOPE_COMM	16
/** define SCOPE_SYMBOL - bytes of a kernel symbol with its module */
#define SCOPE_SYMBOL	96

/**
 * enum scope_driver - whose private structures lie behind the objects
 * @SCOPE_DRIVER_UNKNOWN: the device was never seen
 * @SCOPE_DRIVER_OTHER: a driver whose structures are not looked into
 * @SCOPE_DRIVER_MLX5: mlx5_ib
 */
enum scope_driver {
	SCOPE_DRIVER_UNKNOWN,
	SCOPE_DRIVER_OTHER,
	SCOPE_DRIVER_MLX5,
};

/**
 * enum scope_ufile_state - see Documentation/uobjscope.rst
 * @SCOPE_UFILE_LIVE: has a ucontext
 * @SCOPE_UFILE_NOCONTEXT: opened, no ucontext yet
 * @SCOPE_UFILE_CLOSED: its file was closed, something else holds it
 * @SCOPE_UFILE_DESTROYING: hw_destroy_rwsem was not to be had
 * @SCOPE_UFILE_DISASSOCIATED: the device went away under it
 */
enum scope_ufile_state {
	SCOPE_UFILE_LIVE,
	SCOPE_UFILE_NOCONTEXT,
	SCOPE_UFILE_CLOSED,
	SCOPE_UFILE_DESTROYING,
	SCOPE_UFILE_DISASSOCIATED,
};

/**
 * enum scope_uobj_state - see Documentation/uobjscope.rst
 * @SCOPE_UOBJ_LIVE: committed, not locked for writing
 * @SCOPE_UOBJ_LOCKED: locked for writing: being changed or destroyed
 * @SCOPE_UOBJ_COMMITTING: on the list, not yet to be found by its handle
 * @SCOPE_UOBJ_DEAD: the hardware object is gone, the uobject is not
 */
enum scope_uobj_state {
	SCOPE_UOBJ_LIVE,
	SCOPE_UOBJ_LOCKED,
	SCOPE_UOBJ_COMMITTING,
	SCOPE_UOBJ_DEAD,
};

/**
 * enum scope_mmap_kind - what an mmap entry maps (enum mlx5_ib_mmap_type)
 * @SCOPE_MMAP_UNKNOWN: of a driver that is not looked into
 * @SCOPE_MMAP_MEMIC: device memory
 * @SCOPE_MMAP_VAR: a doorbell page of the virtio emulation
 * @SCOPE_MMAP_UAR_WC: a user access region, write combining
 * @SCOPE_MMAP_UAR_NC: a user access region, not cached
 * @SCOPE_MMAP_MEMIC_OP: an operation page of device memory
 * @SCOPE_MMAP_TLP_VAR: a response gateway page of the TLP emulation
 */
enum scope_mmap_kind {
	SCOPE_MMAP_UNKNOWN,
	SCOPE_MMAP_MEMIC,
	SCOPE_MMAP_VAR,
	SCOPE_MMAP_UAR_WC,
	SCOPE_MMAP_UAR_NC,
	SCOPE_MMAP_MEMIC_OP,
	SCOPE_MMAP_TLP_VAR,
};

/**
 * struct scope_usage - how much of a region is in use
 * @known: the region exists and its lock was to be had
 * @used: bits set in its bitmap
 * @entries: bits that it has
 */
struct scope_usage {
	bool	known;
	u64	used;
	u64	entries;
};

/**
 * struct scope_device_record - a device line
 * @name: of the ib_device
 * @uverbs: of its uverbs device
 * @driver: name of the driver's module
 * @bus: name of the device below, empty where there is none
 * @bus_is_pci: @bus is a PCI address
 * @ufiles: of it in this snapshot
 * @var: doorbell pages (VAR)
 * @tlp_var: response gateway pages (TLP VAR)
 * @memic: pages of device memory
 */
struct scope_device_record {
	char			name[SCOPE_NAME];
	char			uverbs[SCOPE_NAME];
	char			driver[SCOPE_NAME];
	char			bus[SCOPE_NAME];
	bool			bus_is_pci;
	u32			ufiles;
	struct scope_usage	var;
	struct scope_usage	tlp_var;
	struct scope_usage	memic;
};

/**
 * struct scope_ufile_record - a ufile line
 * @id: given by the registry
 * @device: name of the ib_device, empty when it is gone
 * @uverbs: name of the uverbs device
 * @comm: of the task that opened it
 * @pid: of that task, 0 if not known
 * @state: enum scope_ufile_state
 * @listed: on the uverbs device's list of files
 * @ref: ib_uverbs_file.ref without what the walk added
 * @uobjects: records of its uobjects
 * @reserved: handles that are taken and lead to no uobject yet
 * @umaps: mappings, where @umaps_known
 * @umaps_known: umap_lock was to be had
 * @ctxn: restrack id of its ucontext, where @ctxn_known
 * @ctxn_known: it has a ucontext
 * @file_open: its struct file has not been released, where @file_known
 * @file_known: the registry saw the file's fate
 * @changed: an event touched it during the walk, where @changed_known
 * @changed_known: events are being counted
 */
struct scope_ufile_record {
	u64	id;
	char	device[SCOPE_NAME];
	char	uverbs[SCOPE_NAME];
	char	comm[SCOPE_COMM];
	u32	pid;
	u8	state;
	bool	listed;
	s32	ref;
	u32	uobjects;
	u32	reserved;
	u32	umaps;
	bool	umaps_known;
	u32	ctxn;
	bool	ctxn_known;
	bool	file_open;
	bool	file_known;
	bool	changed;
	bool	changed_known;
};

/* Which optional keys of a uobj line are known. */
#define SCOPE_HAS_PDN		BIT(0)
#define SCOPE_HAS_USERS		BIT(1)
#define SCOPE_HAS_CQ		BIT(2)	/* cqn and cqe */
#define SCOPE_HAS_LQPN		BIT(3)
#define SCOPE_HAS_MR		BIT(4)	/* mrn, lkey and mrlen */
#define SCOPE_HAS_SRQN		BIT(5)
#define SCOPE_HAS_DM		BIT(6)	/* length and dm_users */
#define SCOPE_HAS_DRIVER_DM	BIT(7)	/* dm_type, dev_addr and dm_size */
#define SCOPE_HAS_MEMIC		BIT(8)	/* dm_ref and ops */
#define SCOPE_HAS_ICM		BIT(9)	/* obj_id */
#define SCOPE_HAS_VAR		BIT(10)	/* page_id */
#define SCOPE_HAS_VAR_BIT	BIT(11)
#define SCOPE_HAS_ENTRY		BIT(12)
#define SCOPE_HAS_KREF		BIT(13)	/* kref and revoked */
#define SCOPE_HAS_DMABUF	BIT(14)	/* ino, file_ref and size */
#define SCOPE_HAS_IMPORT	BIT(15)	/* dmabuf_ino: imports that dma-buf */
#define SCOPE_HAS_DEREF_BUSY	BIT(16)	/* deref=busy: it was locked */

/**
 * struct scope_uobj_record - a uobj line
 * @address: of the ib_uobject
 * @object: ib_uobject.object
 * @entry: its mmap entry (%SCOPE_HAS_ENTRY)
 * @dmabuf: its dma_buf, to match only
 * @dm: MR: the ib_dm that it is on, or 0
 * @ufile: id of its ufile
 * @has: SCOPE_HAS_*
 * @type: object type id
 * @driver: enum scope_driver
 * @state: enum scope_uobj_state
 * @is_fd: class fd, else class idr
 * @handle: where it is not @is_fd
 * @ref: ib_uobject.ref
 * @usecnt: ib_uobject.usecnt
 * @pdn: restrack id of the protection domain
 * @id: restrack id: cqn, lqpn, mrn or srqn
 * @users: PD and CQ: usecnt of the verbs object
 * @cqe: CQ: entries
 * @lkey: MR: local key
 * @length: MR: bytes.  DM: ib_dm.length
 * @dm_size: DM: bytes that the driver took
 * @dev_addr: DM: address
 * @dm_type: DM: enum mlx5_ib_uapi_dm_type
 * @dm_ref: MEMIC: mlx5_ib_dm_memic.ref
 * @dm_users: DM: ib_dm.usecnt
 * @ops: MEMIC: operations mapped
 * @obj_id: SW ICM: object of the device
 * @page_id: VAR: page
 * @var_bit: VAR: bit of the page in the region's bitmap
 * @ino: DMABUF: inode.  MR: inode of the dma-buf that it imports
 * @file_ref: DMABUF: references to the file without what the walk added
 * @size: DMABUF: bytes
 * @kref: DMABUF: ib_uverbs_dmabuf_file.kref
 * @revoked: DMABUF: ib_uverbs_dmabuf_file.revoked
 */
struct scope_uobj_record {
	unsigned long	address;
	unsigned long	object;
	unsigned long	entry;
	unsigned long	dmabuf;
	unsigned long	dm;
	u64		ufile;
	u32		has;
	u32		type;
	u8		driver;
	u8		state;
	bool		is_fd;
	u32		handle;
	s32		ref;
	s32		usecnt;
	union {
		struct {
			u32	pdn;
			u32	id;
			s32	users;
			u32	cqe;
			u32	lkey;
		};
		struct {
			u64	dm_size;
			u64	dev_addr;
			u32	dm_type;
			s32	dm_ref;
			s32	dm_users;
			u32	ops;
			u32	obj_id;
		};
		struct {
			u32	page_id;
			bool	var_bit;
		};
		struct {
			u64	file_ref;
			u64	size;
			s32	kref;
			bool	revoked;
		};
	};
	u64		length;
	u64		ino;
};

/**
 * struct scope_mmap_record - an mmap line
 * @address: of the rdma_user_mmap_entry
 * @object: what a uobject's object pointer is if it is the uobject's entry
 * @ufile: id of its ufile
 * @pgoff: first page offset
 * @npages: pages
 * @ref: rdma_user_mmap_entry.ref
 * @removed: driver_removed
 * @kind: enum scope_mmap_kind
 * @vmas: mappings in this snapshot, where @vmas_known
 * @vmas_known: umap_lock was to be had
 * @dmabufs: length of its list of dma-bufs, where @dmabufs_known
 * @dmabufs_known: dmabufs_lock was to be had, and they are SCOPE_DMABUFS_MAX at most
 * @addr: mlx5_user_mmap_entry.address, where @kind is known
 * @page_id: VAR, TLP VAR and UAR: page
 * @var_bit: bit of the page in the region's bitmap, where @var_bit_known
 * @var_bit_known: the region is there
 * @length: MEMIC: ib_dm.length
 * @dm_size: MEMIC: bytes that the driver took
 * @dev_addr: MEMIC: address
 * @dm_type: MEMIC: enum mlx5_ib_uapi_dm_type
 * @dm_ref: MEMIC: mlx5_ib_dm_memic.ref
 * @dm_users: MEMIC: ib_dm.usecnt
 * @ops: MEMIC: operations mapped
 * @op: MEMIC operation: its number
 */
struct scope_mmap_record {
	unsigned long	address;
	unsigned long	object;
	u64		ufile;
	u64		pgoff;
	u64		npages;
	s32		ref;
	bool		removed;
	u8		kind;
	u32		vmas;
	bool		vmas_known;
	u32		dmabufs;
	bool		dmabufs_known;
	u64		addr;
	u32		page_id;
	bool		var_bit;
	bool		var_bit_known;
	u64		length;
	u64		dm_size;
	u64		dev_addr;
	u32		dm_type;
	s32		dm_ref;
	s32		dm_users;
	u32		ops;
	u32		op;
};

/**
 * struct scope_vma_record - a vma line
 * @entry: address of its mmap entry, 0 for none
 * @address: its own, to match only
 * @ufile: id of its ufile
 * @pid: of the owner of its address space, 0 if not known
 * @start: first address
 * @end: the address after the last one
 */
struct scope_vma_record {
	unsigned long	entry;
	unsigned long	address;
	u64		ufile;
	u32		pid;
	u64		start;
	u64		end;
};

/**
 * struct scope_attach_record - an attach line
 * @address: the attachment's, to match only; 0 if @busy
 * @ufile: id of the exporter's ufile
 * @ino: inode of the dma-buf
 * @busy: the reservation lock was not to be had, the rest is not known
 * @device: importer's device
 * @importer: symbol of the importer's operations, empty for none
 * @peer2peer: the importer can do peer to peer
 * @invalidate: the importer has an invalidate operation
 * @ours: the importer is dmabuf_importer.ko, @mapped and @pinned are known
 * @umem: the importer is an ib_umem_dmabuf, all below is known
 * @ibdev: importing ib_device
 * @mapped: there is a scatterlist
 * @pinned: ib_umem_dmabuf.pinned, or dmabuf_importer_priv.pinned
 * @revoked: ib_umem_dmabuf.revoked
 * @offset: into the dma-buf
 * @length: bytes
 * @mr: address of the importing MR, to match only, 0 if not known
 * @mr_tracked: that MR is in resource tracking
 * @mrn: restrack id of that MR, where @mr_tracked
 * @lkey: of that MR
 */
struct scope_attach_record {
	unsigned long	address;
	u64		ufile;
	u64		ino;
	bool		busy;
	char		device[SCOPE_NAME];
	char		importer[SCOPE_SYMBOL];
	bool		peer2peer;
	bool		invalidate;
	bool		ours;
	bool		umem;
	char		ibdev[SCOPE_NAME];
	bool		mapped;
	bool		pinned;
	bool		revoked;
	u64		offset;
	u64		length;
	unsigned long	mr;
	bool		mr_tracked;
	u32		mrn;
	u32		lkey;
};

/**
 * enum scope_fd_kind - what a file descriptor leads to
 * @SCOPE_FD_UVERBS: a uverbs file
 * @SCOPE_FD_DMABUF: a dma-buf, of any exporter
 * @SCOPE_FD_UOBJ: a uobject of class fd
 */
enum scope_fd_kind {
	SCOPE_FD_UVERBS,
	SCOPE_FD_DMABUF,
	SCOPE_FD_UOBJ,
};

/**
 * struct scope_fd_record - an fd line
 * @pid: of the process
 * @comm: of the process
 * @fd: number
 * @kind: enum scope_fd_kind
 * @file_ref: references to the file without what the walk added
 * @ufile: id, 0 if not known
 * @ino: dma-buf: inode
 * @size: dma-buf: bytes
 * @exporter: dma-buf: name of the exporter
 * @type: uobject: object type id
 * @driver: uobject: enum scope_driver
 * @live: uobject: the hardware object is still there
 * @file: uobject: the struct file
 */
struct scope_fd_record {
	u32	pid;
	char	comm[SCOPE_COMM];
	u32	fd;
	u8	kind;
	u64	file_ref;
	u64	ufile;
	u64	ino;
	u64	size;
	char	exporter[SCOPE_NAME];
	u32	type;
	u8	driver;
	bool	live;
	unsigned long file;
};

/**
 * struct scope_header - the first line of a snapshot
 * @kernel: release
 * @time_ns: monotonic clock at the start
 * @seq: lifetime events at the start
 * @deref: uobjects were locked where needed
 * @fprobe: the registry is fed by probes
 * @dropped: ufiles and dma-bufs that the registry had no room for
 * @refused: devices that the layout guard refused, of which nothing is shown
 */
struct scope_header {
	const char	*kernel;
	u64		time_ns;
	u64		seq;
	bool		deref;
	bool		fprobe;
	u64		dropped;
	u32		refused;
};

#endif /* UOBJSCOPE_RECORD_H */
