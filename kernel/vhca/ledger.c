// SPDX-License-Identifier: GPL-2.0
/*
 * The ledger: every object that the device was told to create and not yet
 * told to destroy.  See object.h.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "vhca.h"

static const struct vhca_kind_info *const vhca_kinds[VHCA_KINDS] = {
	[VHCA_EQ]		= &vhca_eq_kind,
	[VHCA_CQ]		= &vhca_cq_kind,
	[VHCA_QP]		= &vhca_qp_kind,
	[VHCA_SQ]		= &vhca_sq_kind,
	[VHCA_MKEY]		= &vhca_mkey_kind,
	[VHCA_PSV]		= &vhca_psv_kind,
	[VHCA_PD]		= &vhca_pd_kind,
	[VHCA_UAR]		= &vhca_uar_kind,
	[VHCA_XRCD]		= &vhca_xrcd_kind,
	[VHCA_XRC_SRQ]		= &vhca_xrc_srq_kind,
	[VHCA_RMP]		= &vhca_rmp_kind,
	[VHCA_UCTX]		= &vhca_uctx_kind,
	[VHCA_UMEM]		= &vhca_umem_kind,
	[VHCA_FLOW_COUNTER]	= &vhca_flow_counter_kind,
	[VHCA_RATE]		= &vhca_rate_kind,
	[VHCA_GENERAL_OBJECT]	= &vhca_general_object_kind,
	[VHCA_MEMIC]		= &vhca_memic_kind,
	[VHCA_MEMIC_OPERATION]	= &vhca_memic_operation_kind,
};

/**
 * vhca_kind_info - what there is to know of a kind
 * @kind: the kind, not VHCA_NO_KIND
 *
 * Return: its description
 */
const struct vhca_kind_info *vhca_kind_info(enum vhca_kind kind)
{
	return vhca_kinds[kind];
}

/**
 * vhca_ledger_init - make an empty ledger
 * @v: the device
 */
void vhca_ledger_init(struct vhca *v)
{
	struct vhca_ledger *l = &v->ledger;
	enum vhca_kind kind;

	INIT_LIST_HEAD(&l->births);
	for (kind = VHCA_EQ; kind < VHCA_KINDS; kind++) {
		xa_init_flags(&l->by_id[kind], XA_FLAGS_ALLOC);
		l->next_id[kind] = vhca_kinds[kind]->min;
	}
}

static void vhca_ledger_born(struct vhca *v, struct vhca_object *object,
			     enum vhca_kind kind, struct vhca_cmd *cmd)
{
	struct vhca_ledger *l = &v->ledger;

	object->kind = kind;
	object->uid = cmd->uid;
	object->born_seq = cmd->seq;
	object->born_ns = cmd->ns;
	list_add_tail(&object->node, &l->births);
	l->count++;
	l->counts[kind]++;
	cmd->object = object->id;
}

/**
 * vhca_ledger_add - enter a new object under a number of the device's choice
 * @v: the device
 * @object: the object; on success its id is set
 * @kind: its kind
 * @cmd: the command that creates it
 *
 * Numbers are handed out in turn, so that one that was destroyed does not come
 * back at once and its late use is seen.
 *
 * Context: firmware thread, vhca.lock held
 * Return: MLX5_CMD_STAT_OK, or LIM_ERR if there is no number left, or
 *	NO_RES_ERR if there is no memory
 */
u8 vhca_ledger_add(struct vhca *v, struct vhca_object *object,
		   enum vhca_kind kind, struct vhca_cmd *cmd)
{
	const struct vhca_kind_info *info = vhca_kinds[kind];
	struct vhca_ledger *l = &v->ledger;
	u32 id;
	int err;

	err = xa_alloc_cyclic(&l->by_id[kind], &id, object,
			      XA_LIMIT(info->min, info->max),
			      &l->next_id[kind], GFP_KERNEL);
	if (err < 0)
		return err == -EBUSY ? MLX5_CMD_STAT_LIM_ERR :
				       MLX5_CMD_STAT_NO_RES_ERR;
	object->id = id;
	vhca_ledger_born(v, object, kind, cmd);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_ledger_add_at - enter a new object under a number that is given
 * @v: the device
 * @object: the object; on success its id is set
 * @kind: its kind
 * @id: the number, which is free
 * @cmd: the command that creates it
 *
 * Context: firmware thread, vhca.lock held
 * Return: MLX5_CMD_STAT_OK, or NO_RES_ERR if there is no memory
 */
u8 vhca_ledger_add_at(struct vhca *v, struct vhca_object *object,
		      enum vhca_kind kind, u64 id, struct vhca_cmd *cmd)
{
	if (xa_insert(&v->ledger.by_id[kind], id, object, GFP_KERNEL))
		return MLX5_CMD_STAT_NO_RES_ERR;
	object->id = id;
	vhca_ledger_born(v, object, kind, cmd);
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_ledger_remove - take an object out of the ledger and free it
 * @v: the device
 * @object: the object
 *
 * Context: vhca.lock held
 */
void vhca_ledger_remove(struct vhca *v, struct vhca_object *object)
{
	struct vhca_ledger *l = &v->ledger;

	vhca_death_record(v, object);
	xa_erase(&l->by_id[object->kind], object->id);
	list_del(&object->node);
	l->count--;
	l->counts[object->kind]--;
	vhca_object_unuse(object);
	vhca_kinds[object->kind]->release(v, object);
}

/**
 * vhca_ledger_find - look an object up
 * @v: the device
 * @kind: its kind
 * @id: its number
 *
 * Context: vhca.lock held
 * Return: the object or NULL
 */
struct vhca_object *vhca_ledger_find(struct vhca *v, enum vhca_kind kind,
				     u64 id)
{
	return xa_load(&v->ledger.by_id[kind], id);
}

/**
 * vhca_object_use - put an object on another
 * @v: the device
 * @object: the one that uses; it need not be in the ledger yet
 * @kind: kind of the one that is used
 * @id: its number
 *
 * The other cannot be destroyed before this one.
 *
 * Context: firmware thread, vhca.lock held
 * Return: MLX5_CMD_STAT_OK, or BAD_RES_ERR if there is no such object
 */
u8 vhca_object_use(struct vhca *v, struct vhca_object *object,
		   enum vhca_kind kind, u64 id)
{
	struct vhca_object *used = vhca_ledger_find(v, kind, id);

	if (!used)
		vhca_check_use(v, kind, id, v->recorder.opcode);
	if (!used || WARN_ON_ONCE(object->nr_uses == VHCA_MAX_USES))
		return MLX5_CMD_STAT_BAD_RES_ERR;
	used->users++;
	object->uses[object->nr_uses++] = used;
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_object_use_own - put an object on another that must be of the same user context
 * @v: the device
 * @object: the one that uses; it need not be in the ledger yet
 * @kind: kind of the one that is used
 * @id: its number
 * @cmd: the command that creates @object
 *
 * A user of DEVX writes any number into the context of what it creates, and the driver
 * does not look: were it another user's protection domain, the keys of all that is in it
 * would be good.  The driver itself has user context 0 and may name everything.
 *
 * Context: firmware thread, vhca.lock held
 * Return: as vhca_object_use(); BAD_RES_ERR as well if it is somebody else's
 */
u8 vhca_object_use_own(struct vhca *v, struct vhca_object *object,
		       enum vhca_kind kind, u64 id, const struct vhca_cmd *cmd)
{
	struct vhca_object *used = vhca_ledger_find(v, kind, id);

	if (used && cmd->uid && used->uid != cmd->uid)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	return vhca_object_use(v, object, kind, id);
}

/**
 * vhca_object_unuse - take an object off all others
 * @object: the one that uses
 *
 * Context: vhca.lock held
 */
void vhca_object_unuse(struct vhca_object *object)
{
	while (object->nr_uses)
		object->uses[--object->nr_uses]->users--;
}

/**
 * vhca_ledger_forget - forget all objects
 * @v: the device
 *
 * Context: vhca.lock held
 */
void vhca_ledger_forget(struct vhca *v)
{
	struct vhca_ledger *l = &v->ledger;
	struct vhca_object *object;

	/* Youngest first: what uses an object is younger than that object. */
	while (!list_empty(&l->births)) {
		object = list_last_entry(&l->births, struct vhca_object, node);
		vhca_ledger_remove(v, object);
	}
	/* Nothing is left that would have to be looked at. */
	v->resume_ns = 0;
}

/**
 * vhca_ledger_reset - forget all objects; those that are left were leaked
 * @v: the device
 * @why: what happened, for the log
 *
 * Context: vhca.lock held
 */
void vhca_ledger_reset(struct vhca *v, const char *why)
{
	struct vhca_ledger *l = &v->ledger;
	enum vhca_kind kind;

	for (kind = VHCA_EQ; kind < VHCA_KINDS; kind++) {
		if (l->counts[kind])
			vhca_violation_leak(v, why, l->counts[kind],
					    vhca_kinds[kind]->name);
	}
	vhca_ledger_forget(v);
}

/**
 * vhca_ledger_exit - free the ledger, which is empty
 * @v: the device
 */
void vhca_ledger_exit(struct vhca *v)
{
	enum vhca_kind kind;

	for (kind = VHCA_EQ; kind < VHCA_KINDS; kind++)
		xa_destroy(&v->ledger.by_id[kind]);
}

static void vhca_detail(struct vhca_object_record *record,
			struct vhca_detail detail)
{
	if (!WARN_ON_ONCE(record->nr_details == VHCA_MAX_DETAILS))
		record->details[record->nr_details++] = detail;
}

/**
 * vhca_detail_hex - add an address or identifier to a record
 * @record: the record
 * @key: the key
 * @value: the value
 */
void vhca_detail_hex(struct vhca_object_record *record, const char *key,
		     u64 value)
{
	vhca_detail(record, (struct vhca_detail) {
		.key = key, .value = value, .hex = true });
}

/**
 * vhca_detail_dec - add a count or size to a record
 * @record: the record
 * @key: the key
 * @value: the value
 */
void vhca_detail_dec(struct vhca_object_record *record, const char *key,
		     u64 value)
{
	vhca_detail(record, (struct vhca_detail) {
		.key = key, .value = value });
}

/**
 * vhca_detail_text - add a word to a record
 * @record: the record
 * @key: the key
 * @text: the word, a constant
 */
void vhca_detail_text(struct vhca_object_record *record, const char *key,
		      const char *text)
{
	vhca_detail(record, (struct vhca_detail) {
		.key = key, .text = text });
}

/**
 * vhca_object_describe - fill the record of an object
 * @object: the object
 * @record: the record
 *
 * Context: vhca.lock held
 */
void vhca_object_describe(struct vhca_object *object,
			  struct vhca_object_record *record)
{
	const struct vhca_kind_info *info = vhca_kinds[object->kind];

	*record = (struct vhca_object_record) {
		.kind		= info->name,
		.id		= object->id,
		.uid		= object->uid,
		.born_seq	= object->born_seq,
		.born_ns	= object->born_ns,
	};
	if (info->describe)
		info->describe(object, record);
}
