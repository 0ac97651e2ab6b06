/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects that the device holds for its driver, and the ledger that lists
 * them.
 *
 * Every object of every kind begins with a struct vhca_object.  The ledger
 * finds an object by kind and number and keeps all of them in order of birth.
 * All of it belongs to the holder of vhca.lock.
 */
#ifndef VHCA_OBJECT_H
#define VHCA_OBJECT_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct vhca;
struct vhca_cmd;

enum vhca_kind {
	VHCA_NO_KIND,
	VHCA_EQ,
	VHCA_CQ,
	VHCA_QP,
	VHCA_SQ,
	VHCA_MKEY,
	VHCA_PSV,
	VHCA_PD,
	VHCA_UAR,
	VHCA_XRCD,
	VHCA_XRC_SRQ,
	VHCA_RMP,
	VHCA_UCTX,
	VHCA_UMEM,
	VHCA_FLOW_COUNTER,
	VHCA_RATE,
	VHCA_GENERAL_OBJECT,
	VHCA_MEMIC,
	VHCA_MEMIC_OPERATION,
	VHCA_KINDS
};

/*
 * A queue pair is on one PD, two CQs, a UAR, a shared receive queue or XRC domain, and two
 * pieces of registered memory.
 */
#define VHCA_MAX_USES	7

/**
 * struct vhca_object - what all objects have in common
 * @node: place in vhca_ledger.births
 * @kind: what it is
 * @id: its number, or for device memory its offset in BAR0
 * @uid: user context (CREATE_UCTX) it was created for, 0 for the kernel
 * @born_seq: sequence number of the command that created it
 * @born_ns: and when that was, in ns of CLOCK_MONOTONIC
 * @users: how many other objects are on it; it cannot be destroyed before them
 * @nr_uses: number of entries in @uses
 * @uses: the objects that it is on
 */
struct vhca_object {
	struct list_head	node;
	enum vhca_kind		kind;
	u64			id;
	u16			uid;
	u64			born_seq;
	u64			born_ns;
	unsigned int		users;
	unsigned int		nr_uses;
	struct vhca_object	*uses[VHCA_MAX_USES];
};

/**
 * struct vhca_detail - one key=value of a record
 * @key: the key
 * @text: the value if it is a word, else NULL
 * @value: the value if it is a number
 * @hex: print @value in hex, as addresses and identifiers are
 */
struct vhca_detail {
	const char	*key;
	const char	*text;
	u64		value;
	bool		hex;
};

#define VHCA_MAX_DETAILS	10

/**
 * struct vhca_object_record - an object as the debugfs ledger shows it
 * @kind: name of the kind
 * @id: see struct vhca_object
 * @uid: see struct vhca_object
 * @born_seq: see struct vhca_object
 * @born_ns: see struct vhca_object
 * @nr_details: number of entries in @details
 * @details: what is particular to the kind
 */
struct vhca_object_record {
	const char		*kind;
	u64			id;
	u16			uid;
	u64			born_seq;
	u64			born_ns;
	unsigned int		nr_details;
	struct vhca_detail	details[VHCA_MAX_DETAILS];
};

void vhca_detail_hex(struct vhca_object_record *record, const char *key,
		     u64 value);
void vhca_detail_dec(struct vhca_object_record *record, const char *key,
		     u64 value);
void vhca_detail_text(struct vhca_object_record *record, const char *key,
		      const char *text);

/**
 * struct vhca_kind_info - what the ledger has to know of a kind
 * @name: as printed
 * @min: smallest number handed out, for kinds that the device numbers
 * @max: largest number handed out, 0 for kinds that have an address instead
 * @release: free the object, which the ledger has forgotten already
 * @describe: add the details of the kind to a record; may be NULL
 */
struct vhca_kind_info {
	const char	*name;
	u32		min;
	u32		max;
	void		(*release)(struct vhca *v, struct vhca_object *object);
	void		(*describe)(struct vhca_object *object,
				    struct vhca_object_record *record);
};

extern const struct vhca_kind_info vhca_eq_kind;
extern const struct vhca_kind_info vhca_cq_kind;
extern const struct vhca_kind_info vhca_qp_kind;
extern const struct vhca_kind_info vhca_sq_kind;
extern const struct vhca_kind_info vhca_mkey_kind;
extern const struct vhca_kind_info vhca_psv_kind;
extern const struct vhca_kind_info vhca_pd_kind;
extern const struct vhca_kind_info vhca_uar_kind;
extern const struct vhca_kind_info vhca_xrcd_kind;
extern const struct vhca_kind_info vhca_xrc_srq_kind;
extern const struct vhca_kind_info vhca_rmp_kind;
extern const struct vhca_kind_info vhca_uctx_kind;
extern const struct vhca_kind_info vhca_umem_kind;
extern const struct vhca_kind_info vhca_flow_counter_kind;
extern const struct vhca_kind_info vhca_rate_kind;
extern const struct vhca_kind_info vhca_general_object_kind;
extern const struct vhca_kind_info vhca_memic_kind;
extern const struct vhca_kind_info vhca_memic_operation_kind;

/**
 * struct vhca_ledger - every live object
 * @births: all of them, oldest first
 * @count: how many there are
 * @counts: how many there are of each kind
 * @by_id: all of a kind, by number
 * @next_id: where the search for a free number starts, by kind
 */
struct vhca_ledger {
	struct list_head	births;
	unsigned int		count;
	unsigned int		counts[VHCA_KINDS];
	struct xarray		by_id[VHCA_KINDS];
	u32			next_id[VHCA_KINDS];
};

void vhca_ledger_init(struct vhca *v);
void vhca_ledger_forget(struct vhca *v);
void vhca_ledger_reset(struct vhca *v, const char *why);
void vhca_ledger_exit(struct vhca *v);
u8 vhca_ledger_add(struct vhca *v, struct vhca_object *object,
		   enum vhca_kind kind, struct vhca_cmd *cmd);
u8 vhca_ledger_add_at(struct vhca *v, struct vhca_object *object,
		      enum vhca_kind kind, u64 id, struct vhca_cmd *cmd);
void vhca_ledger_remove(struct vhca *v, struct vhca_object *object);
struct vhca_object *vhca_ledger_find(struct vhca *v, enum vhca_kind kind,
				     u64 id);
u8 vhca_object_use(struct vhca *v, struct vhca_object *object,
		   enum vhca_kind kind, u64 id);
u8 vhca_object_use_own(struct vhca *v, struct vhca_object *object,
		       enum vhca_kind kind, u64 id, const struct vhca_cmd *cmd);
void vhca_object_unuse(struct vhca_object *object);
const struct vhca_kind_info *vhca_kind_info(enum vhca_kind kind);
void vhca_object_describe(struct vhca_object *object,
			  struct vhca_object_record *record);

#endif /* VHCA_OBJECT_H */
