// SPDX-License-Identifier: GPL-2.0
/*
 * What there is before the first random input: objects of the user, of a victim, of a
 * process without a user context, and the driver's own; see fuzz_kunit.h.
 *
 * They are made by the commands that mlx5_ib sends for them, and all lead somewhere.
 */
#include <linux/slab.h>

#include "fuzz_kunit.h"

/* Each object's place in the page of doorbell records. */
#define FUZZ_RECORD		64

/**
 * struct fuzz_owner - on whose behalf objects are made
 * @uid: user context
 * @pd: protection domain
 * @cq: completion queue
 * @rmp: shared receive queue
 * @next: the page that its next queue gets
 * @step: from there to the one after it
 * @records: page of its doorbell records
 * @nr_records: how many of them there are
 */
struct fuzz_owner {
	u16		uid;
	u32		pd;
	u32		cq;
	u32		rmp;
	unsigned int	next;
	unsigned int	step;
	unsigned int	records;
	unsigned int	nr_records;
};

static u32 fuzz_made(struct fuzz *f, u16 opcode, u32 in_len)
{
	u64 seen = f->refused;
	u32 number = 0;

	fuzz_send(f, in_len, vhca_command_find(opcode)->out_size, false);
	KUNIT_EXPECT_EQ_MSG(f->test, f->refused, seen, "opcode 0x%x", opcode);
	if (f->refused == seen)
		number = list_last_entry(&f->v->ledger.births, struct vhca_object, node)->id;
	return number;
}

static u32 fuzz_plain(struct fuzz *f, u16 opcode, u16 uid)
{
	return fuzz_made(f, opcode, fuzz_start(f, opcode, uid));
}

static u32 fuzz_page_behind(struct fuzz *f, u32 len, unsigned int page)
{
	__be64 address = cpu_to_be64(fuzz_page_address(f, page));

	memcpy((void *)f->message + len, &address, sizeof(address));
	return len + sizeof(address);
}

static unsigned int fuzz_take_page(struct fuzz_owner *o)
{
	unsigned int page = o->next;

	o->next += o->step;
	return page;
}

static u64 fuzz_take_record(struct fuzz *f, struct fuzz_owner *o)
{
	return fuzz_page_address(f, o->records) + FUZZ_RECORD * o->nr_records++;
}

/* ALLOC_UAR would map a page of the window; all else of it is this. */
static void fuzz_make_uar(struct fuzz *f)
{
	struct vhca_object *uar = kzalloc_obj(*uar);
	struct vhca_cmd cmd = {};

	KUNIT_ASSERT_NOT_NULL(f->test, uar);
	KUNIT_ASSERT_EQ(f->test, vhca_ledger_add(f->v, uar, VHCA_UAR, &cmd),
			MLX5_CMD_STAT_OK);
}

/* All events but those of commands; or page faults as well. */
static u32 fuzz_make_eq(struct fuzz *f, unsigned int page, bool faults)
{
	u32 len = fuzz_start(f, MLX5_CMD_OP_CREATE_EQ, 0);
	void *eqc = MLX5_ADDR_OF(create_eq_in, f->message, eq_context_entry);

	MLX5_SET(eqc, eqc, log_eq_size, 6);
	MLX5_SET(eqc, eqc, uar_page, fuzz_object(f, VHCA_UAR, false)->id);
	MLX5_SET64(create_eq_in, f->message, event_bitmask[0],
		   faults ? U64_MAX : ~BIT_ULL(MLX5_EVENT_TYPE_PAGE_FAULT));
	return fuzz_made(f, MLX5_CMD_OP_CREATE_EQ, fuzz_page_behind(f, len, page));
}

static u32 fuzz_make_cq(struct fuzz *f, struct fuzz_owner *o)
{
	u32 len = fuzz_start(f, MLX5_CMD_OP_CREATE_CQ, o->uid);
	void *cqc = MLX5_ADDR_OF(create_cq_in, f->message, cq_context);

	MLX5_SET(cqc, cqc, log_cq_size, 5);
	MLX5_SET(cqc, cqc, c_eqn_or_apu_element, fuzz_object(f, VHCA_EQ, false)->id);
	MLX5_SET(cqc, cqc, uar_page, fuzz_object(f, VHCA_UAR, false)->id);
	MLX5_SET64(cqc, cqc, dbr_addr, fuzz_take_record(f, o));
	return fuzz_made(f, MLX5_CMD_OP_CREATE_CQ,
			 fuzz_page_behind(f, len, fuzz_take_page(o)));
}

static u32 fuzz_make_rmp(struct fuzz *f, struct fuzz_owner *o)
{
	u32 len = fuzz_start(f, MLX5_CMD_OP_CREATE_RMP, o->uid);
	void *wq = MLX5_ADDR_OF(create_rmp_in, f->message, ctx.wq);

	MLX5_SET(wq, wq, pd, o->pd);
	MLX5_SET(wq, wq, log_wq_sz, 4);
	MLX5_SET(wq, wq, log_wq_stride, 6);
	MLX5_SET64(wq, wq, dbr_addr, fuzz_take_record(f, o));
	return fuzz_made(f, MLX5_CMD_OP_CREATE_RMP,
			 fuzz_page_behind(f, len, fuzz_take_page(o)));
}

static void fuzz_make_xrc_srq(struct fuzz *f, struct fuzz_owner *o, u32 xrcd)
{
	u32 len = fuzz_start(f, MLX5_CMD_OP_CREATE_XRC_SRQ, o->uid);
	void *srqc = MLX5_ADDR_OF(create_xrc_srq_in, f->message, xrc_srq_context_entry);
	u64 record = fuzz_take_record(f, o);

	MLX5_SET(xrc_srqc, srqc, pd, o->pd);
	MLX5_SET(xrc_srqc, srqc, cqn, o->cq);
	MLX5_SET(xrc_srqc, srqc, xrcd, xrcd);
	MLX5_SET(xrc_srqc, srqc, log_xrc_srq_size, 4);
	MLX5_SET(xrc_srqc, srqc, log_rq_stride, 2);
	MLX5_SET(xrc_srqc, srqc, db_record_addr_h, record >> 32);
	MLX5_SET(xrc_srqc, srqc, db_record_addr_l, (u32)record >> 2);
	fuzz_made(f, MLX5_CMD_OP_CREATE_XRC_SRQ, fuzz_page_behind(f, len, fuzz_take_page(o)));
}

static struct vhca_qp *fuzz_make_qp(struct fuzz *f, struct fuzz_owner *o, u8 service,
				    bool shares, u32 xrcd)
{
	u32 len = fuzz_start(f, MLX5_CMD_OP_CREATE_QP, o->uid);
	void *qpc = MLX5_ADDR_OF(create_qp_in, f->message, qpc);
	u32 number;

	MLX5_SET(qpc, qpc, st, service);
	MLX5_SET(qpc, qpc, pd, o->pd);
	MLX5_SET(qpc, qpc, cqn_snd, o->cq);
	MLX5_SET(qpc, qpc, cqn_rcv, o->cq);
	MLX5_SET(qpc, qpc, rq_type, service == MLX5_QP_ST_DCI ? 3 : shares);
	MLX5_SET(qpc, qpc, srqn_rmpn_xrqn, shares ? o->rmp : 0);
	MLX5_SET(qpc, qpc, xrcd, xrcd);
	MLX5_SET(qpc, qpc, log_rq_size, 4);
	MLX5_SET(qpc, qpc, log_rq_stride, 2);
	MLX5_SET(qpc, qpc, log_sq_size, 4);
	MLX5_SET(qpc, qpc, log_num_dci_stream_channels, service == MLX5_QP_ST_DCI);
	MLX5_SET64(qpc, qpc, dbr_addr, fuzz_take_record(f, o));
	number = fuzz_made(f, MLX5_CMD_OP_CREATE_QP,
			   fuzz_page_behind(f, len, fuzz_take_page(o)));
	return to_vhca_qp(vhca_ledger_find(f->v, VHCA_QP, number));
}

static void fuzz_make_dct(struct fuzz *f, struct fuzz_owner *o, u64 key)
{
	u32 len = fuzz_start(f, MLX5_CMD_OP_CREATE_DCT, o->uid);
	void *dctc = MLX5_ADDR_OF(create_dct_in, f->message, dct_context_entry);

	MLX5_SET(dctc, dctc, pd, o->pd);
	MLX5_SET(dctc, dctc, cqn, o->cq);
	MLX5_SET(dctc, dctc, srqn_xrqn, o->rmp);
	MLX5_SET(dctc, dctc, rre, 1);
	MLX5_SET(dctc, dctc, rwe, 1);
	MLX5_SET(dctc, dctc, rae, 1);
	MLX5_SET64(dctc, dctc, dc_access_key, key);
	fuzz_made(f, MLX5_CMD_OP_CREATE_DCT, len);
}

/*
 * Registered memory: pages @first, @first + 2 and so on, but for @edge bytes at either end.
 * The last may be absent.
 */
static void fuzz_make_key(struct fuzz *f, const struct fuzz_owner *o, unsigned int first,
			  unsigned int nr, u32 edge, bool absent)
{
	u32 len = fuzz_start(f, MLX5_CMD_OP_CREATE_MKEY, 0);
	void *mkc = MLX5_ADDR_OF(create_mkey_in, f->message, memory_key_mkey_entry);
	__be64 *mtt = (void *)f->message + len;
	unsigned int i;

	for (i = 0; i < nr; i++)
		mtt[i] = cpu_to_be64(fuzz_page_address(f, first + 2 * i) |
				     (absent && i + 1 == nr ? 0 : 3));
	MLX5_SET(create_mkey_in, f->message, pg_access, 1);
	MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_MTT);
	MLX5_SET(mkc, mkc, umr_en, 1);
	MLX5_SET(mkc, mkc, lr, 1);
	MLX5_SET(mkc, mkc, lw, 1);
	MLX5_SET(mkc, mkc, rr, 1);
	MLX5_SET(mkc, mkc, rw, 1);
	MLX5_SET(mkc, mkc, a, 1);
	MLX5_SET(mkc, mkc, pd, o->pd);
	MLX5_SET(mkc, mkc, qpn, VHCA_ANY_QP);
	MLX5_SET(mkc, mkc, mkey_7_0, fuzz_below(f, 256));
	MLX5_SET64(mkc, mkc, start_addr, ((u64)first << VHCA_PAGE_SHIFT) + edge);
	MLX5_SET64(mkc, mkc, len, ((u64)nr << VHCA_PAGE_SHIFT) - 2 * edge);
	MLX5_SET(mkc, mkc, log_page_size, VHCA_PAGE_SHIFT);
	MLX5_SET(mkc, mkc, translations_octword_size, DIV_ROUND_UP(nr, 2));
	fuzz_made(f, MLX5_CMD_OP_CREATE_MKEY, len + nr * sizeof(*mtt));
}

/* A memory window, or what else leads to other keys. */
static u32 fuzz_make_window(struct fuzz *f, const struct fuzz_owner *o)
{
	u32 len = fuzz_start(f, MLX5_CMD_OP_CREATE_MKEY, 0);
	void *mkc = MLX5_ADDR_OF(create_mkey_in, f->message, memory_key_mkey_entry);

	MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_KLMS);
	MLX5_SET(mkc, mkc, umr_en, 1);
	MLX5_SET(mkc, mkc, lr, 1);
	MLX5_SET(mkc, mkc, lw, 1);
	MLX5_SET(mkc, mkc, pd, o->pd);
	MLX5_SET(mkc, mkc, qpn, VHCA_ANY_QP);
	MLX5_SET(mkc, mkc, en_rinval, 1);
	MLX5_SET(mkc, mkc, translations_octword_size, 8);
	return fuzz_made(f, MLX5_CMD_OP_CREATE_MKEY, len);
}

static void fuzz_make_umem(struct fuzz *f, const struct fuzz_owner *o, unsigned int first,
			   unsigned int nr)
{
	u32 len = fuzz_start(f, MLX5_CMD_OP_CREATE_UMEM, o->uid);
	void *umem = MLX5_ADDR_OF(create_umem_in, f->message, umem);
	unsigned int i;

	MLX5_SET64(umem, umem, num_of_mtt, nr);
	for (i = 0; i < nr; i++)
		len = fuzz_page_behind(f, len, first + 2 * i);
	fuzz_made(f, MLX5_CMD_OP_CREATE_UMEM, len);
}

static void fuzz_make_owner(struct fuzz *f, struct fuzz_owner *o)
{
	o->pd = fuzz_plain(f, MLX5_CMD_OP_ALLOC_PD, o->uid);
	o->cq = fuzz_make_cq(f, o);
	o->rmp = fuzz_make_rmp(f, o);
}

/* Receive requests for whoever may take them. */
static void fuzz_fill_rmp(struct fuzz *f, struct fuzz_owner *o)
{
	struct vhca_srq *srq = to_vhca_srq(vhca_ledger_find(f->v, VHCA_RMP, o->rmp));
	struct vhca_object *key = fuzz_object(f, VHCA_MKEY, false);
	unsigned int i;

	for (i = 0; i < BIT(srq->log_size); i++) {
		struct mlx5_wqe_srq_next_seg *link;
		struct mlx5_wqe_data_seg *data;
		void *mkc = to_vhca_mkey(key)->context;

		link = vhca_buffer_at(&srq->buffer, (u64)i << srq->log_stride,
				      BIT(srq->log_stride));
		link->next_wqe_index = cpu_to_be16(i + 1);
		data = (void *)(link + 1);
		data->byte_count = cpu_to_be32(VHCA_PAGE_SIZE);
		data->lkey = cpu_to_be32(key->id << 8 | MLX5_GET(mkc, mkc, mkey_7_0));
		data->addr = cpu_to_be64(MLX5_GET64(mkc, mkc, start_addr));
	}
	*srq->doorbell = cpu_to_be32(i);
}

/* Who does nothing: its queues wait for work, its memory can be written by its key. */
static void fuzz_make_victim(struct fuzz *f, struct fuzz_owner *o, unsigned int memory)
{
	struct vhca_object *window;

	fuzz_make_owner(f, o);
	fuzz_make_key(f, o, memory, 3, 0, false);
	fuzz_fill_rmp(f, o);
	fuzz_make_umem(f, o, memory + 6, 2);
	f->window = fuzz_make_window(f, o);
	window = vhca_ledger_find(f->v, VHCA_MKEY, f->window);
	memcpy(f->window_context, to_vhca_mkey(window)->context, sizeof(f->window_context));
	fuzz_ready(f, fuzz_make_qp(f, o, MLX5_QP_ST_RC, false, 0));
	fuzz_make_dct(f, o, U64_MAX / 3);
}

/* Who sends random input as a user. */
static void fuzz_make_user(struct fuzz *f, struct fuzz_owner *o)
{
	u32 xrcd = fuzz_plain(f, MLX5_CMD_OP_ALLOC_XRCD, o->uid);

	fuzz_make_owner(f, o);
	fuzz_make_xrc_srq(f, o, xrcd);
	fuzz_make_qp(f, o, MLX5_QP_ST_RC, false, 0);
	fuzz_make_qp(f, o, MLX5_QP_ST_RC, true, 0);
	fuzz_make_qp(f, o, MLX5_QP_ST_UD, false, 0);
	fuzz_make_qp(f, o, MLX5_QP_ST_DCI, false, 0);
	fuzz_make_qp(f, o, MLX5_QP_ST_XRC, false, xrcd);
	fuzz_make_dct(f, o, 0);
	/* Behind its queues and records, to the last page. */
	KUNIT_ASSERT_LE(f->test, o->next, FUZZ_REGION);
	fuzz_make_key(f, o, FUZZ_REGION, FUZZ_REGION_PAGES, FUZZ_EDGE, false);
	fuzz_make_key(f, o, 48, 2, 0, true);
	fuzz_make_window(f, o);
	fuzz_make_window(f, o);
	fuzz_make_umem(f, o, 52, 4);
	fuzz_make_umem(f, o, 58, 3);
}

/* As after power-on, so that the same input finds the same numbers. */
static void fuzz_forget(struct vhca *v)
{
	enum vhca_kind kind;

	vhca_fabric_poll(v, false);
	vhca_ledger_forget(v);
	for (kind = VHCA_EQ; kind < VHCA_KINDS; kind++)
		v->ledger.next_id[kind] = vhca_kind_info(kind)->min;
	v->nr_fw_pages = 0;
	v->turn = 0;
	v->page_faults.token = 0;
	vhca_caps_reset(v);
}

/**
 * fuzz_scene - begin with a device that has what a user and others have
 * @f: whose device; all that was there goes
 */
void fuzz_scene(struct fuzz *f)
{
	struct fuzz_owner user = {
		.uid = f->uid, .next = FUZZ_FIRST_SHARED + 2, .step = 2,
		.records = FUZZ_FIRST_SHARED,
	};
	struct fuzz_owner victim = {
		.uid = f->victim, .next = FUZZ_QUIET, .step = 1,
		.records = FUZZ_FIRST_SHARED - 1,
	};
	u16 uid = f->uid;

	mutex_lock(&f->v->lock);
	fuzz_forget(f->v);
	mutex_unlock(&f->v->lock);
	fuzz_fill(f);
	/* It is the driver that makes them. */
	f->uid = 0;
	fuzz_make_uar(f);
	fuzz_make_eq(f, FUZZ_EVENTS, false);
	fuzz_make_eq(f, FUZZ_EVENTS + 1, true);
	fuzz_make_victim(f, &victim, 41);
	fuzz_make_user(f, &user);
	f->uid = uid;
	memcpy(f->quiet, f->memory + (FUZZ_QUIET << VHCA_PAGE_SHIFT), sizeof(f->quiet));
}
