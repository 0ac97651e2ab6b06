// SPDX-License-Identifier: GPL-2.0
/*
 * Random work requests, receive requests and doorbells, written to where a driver or a
 * user would write them; see fuzz_kunit.h.
 */
#include <rdma/ib_mad.h>
#include <rdma/ib_sa.h>

#include "fuzz_kunit.h"

#define FUZZ_SEGMENT		16
#define FUZZ_OPMOD_COPY		BIT(24)

/* Room for a request: what its size field can say, and some. */
#define FUZZ_MAX_WQE		(64 * FUZZ_SEGMENT)

/**
 * struct fuzz_place - memory behind a key
 * @key: the key
 * @address: an address that it covers
 * @len: bytes from there, that it covers as well
 */
struct fuzz_place {
	u32	key;
	u64	address;
	u32	len;
};

/* A key that is good for the queue, mostly; else somebody's. */
static struct vhca_object *fuzz_key(struct fuzz *f)
{
	unsigned int tries = fuzz_one_in(f, 8) ? 1 : 8;
	struct vhca_object *object;
	void *mkc;

	do {
		object = fuzz_object(f, VHCA_MKEY, false);
		if (!object)
			break;
		mkc = to_vhca_mkey(object)->context;
		if (MLX5_GET(mkc, mkc, pd) == f->pd && MLX5_GET64(mkc, mkc, len))
			break;
	} while (--tries);
	return object;
}

/* A key, and a place behind it; now and then not quite. */
static struct fuzz_place fuzz_place(struct fuzz *f)
{
	struct vhca_object *object = fuzz_key(f);
	struct fuzz_place place = {};
	u64 start, size, skip;
	void *mkc;

	if (object) {
		mkc = to_vhca_mkey(object)->context;
		start = MLX5_GET64(mkc, mkc, start_addr);
		if (vhca_mkey_mode(to_vhca_mkey(object)) == MLX5_MKC_ACCESS_MODE_MEMIC)
			start = 0;
		size = min_t(u64, MLX5_GET64(mkc, mkc, len), U32_MAX);
		skip = fuzz_one_in(f, 2) ? 0 : fuzz_below(f, size);
		place.key = object->id << 8 | MLX5_GET(mkc, mkc, mkey_7_0);
		place.address = start + skip;
		place.len = fuzz_below(f, min_t(u64, size - skip, 2 * VHCA_PAGE_SIZE) + 1);
	}
	switch (fuzz_below(f, 32)) {
	case 0:
		place.key ^= BIT(fuzz_below(f, 32));
		break;
	case 1:
		place.address += fuzz_value(f);
		break;
	case 2:
		place.len = fuzz_value(f);
		break;
	case 3:
		place.key = VHCA_NULL_MKEY;
		break;
	}
	return place;
}

static u32 fuzz_data_segment(struct fuzz *f, void *at)
{
	struct fuzz_place place = fuzz_place(f);
	struct mlx5_wqe_data_seg *data = at;

	data->byte_count = cpu_to_be32(place.len);
	data->lkey = cpu_to_be32(place.key);
	data->addr = cpu_to_be64(place.address);
	return sizeof(*data);
}

/* Data that is in the request itself. */
static u32 fuzz_inline_segment(struct fuzz *f, void *at)
{
	struct mlx5_wqe_inline_seg *segment = at;
	u32 n = fuzz_below(f, 64);

	segment->byte_count = cpu_to_be32((fuzz_one_in(f, 16) ? fuzz_value(f) : n) |
					  MLX5_INLINE_SEG);
	memset(segment + 1, 0x11, n);
	return ALIGN(sizeof(*segment) + n, FUZZ_SEGMENT);
}

static u32 fuzz_address_vector(struct fuzz *f, void *at)
{
	struct mlx5_wqe_datagram_seg *datagram = at;

	memset(datagram, 0, sizeof(*datagram));
	datagram->av.key.qkey.qkey = cpu_to_be32(fuzz_below(f, 2));
	if (fuzz_one_in(f, 2))
		datagram->av.key.dc_key = 0;
	datagram->av.dqp_dct = cpu_to_be32(fuzz_number(f, VHCA_QP, false) |
					   MLX5_EXTENDED_UD_AV);
	if (fuzz_one_in(f, 8))
		datagram->av.rlid = cpu_to_be16(fuzz_value(f));
	if (fuzz_one_in(f, 8)) {
		datagram->av.grh_gid_fl = cpu_to_be32(VHCA_AV_GRH);
		fuzz_group_gid(f, datagram->av.rgid);
	}
	return sizeof(*datagram);
}

static u32 fuzz_remote(struct fuzz *f, void *at)
{
	struct mlx5_wqe_raddr_seg *raddr = at;
	struct fuzz_place place;
	u32 pd = f->pd;

	/* The other side's keys may be in another domain. */
	if (fuzz_one_in(f, 3))
		f->pd = fuzz_number(f, VHCA_PD, false);
	place = fuzz_place(f);
	f->pd = pd;
	*raddr = (struct mlx5_wqe_raddr_seg) {
		.raddr = cpu_to_be64(place.address),
		.rkey = cpu_to_be32(place.key),
	};
	return sizeof(*raddr);
}

/* A format of signatures that the owner of a key may have meant. */
static u32 fuzz_bsf(struct fuzz *f, void *at)
{
	static const u8 formats[] = { 0x20, 0x40, 0 };
	struct mlx5_bsf *bsf = at;

	memset(bsf, 0, sizeof(*bsf));
	bsf->basic.check_byte_mask = fuzz_value(f);
	bsf->basic.mem.bs_selector = fuzz_one_in(f, 4) ? fuzz_value(f) : 1 + fuzz_below(f, 2);
	bsf->basic.m_bfs_psv = cpu_to_be32(formats[fuzz_below(f, ARRAY_SIZE(formats))] << 24 |
					   fuzz_number(f, VHCA_PSV, f->uid));
	bsf->m_inl.vld_refresh = cpu_to_be16(BIT(15));
	bsf->m_inl.sig_type = 1 + fuzz_below(f, 2);
	bsf->m_inl.dif_inc_ref_guard_check = fuzz_value(f);
	return sizeof(*bsf);
}

static u32 fuzz_psv(struct fuzz *f, void *at)
{
	struct mlx5_seg_set_psv *set = at;

	*set = (struct mlx5_seg_set_psv) {
		.psv_num = cpu_to_be32(fuzz_number(f, VHCA_PSV, f->uid)),
		.transient_sig = cpu_to_be32(fuzz_value(f)),
	};
	return sizeof(*set);
}

/* A key that leads to other keys, mostly, as only that is a user's to change. */
static u32 fuzz_window(struct fuzz *f)
{
	unsigned int tries = fuzz_one_in(f, 4) ? 1 : 16;
	struct vhca_object *object;
	u8 mode;

	do {
		object = fuzz_object(f, VHCA_MKEY, false);
		if (!object)
			return fuzz_value(f);
		mode = vhca_mkey_mode(to_vhca_mkey(object));
		if (MLX5_GET(mkc, to_vhca_mkey(object)->context, pd) == f->pd &&
		    (mode == MLX5_MKC_ACCESS_MODE_KLMS || mode == MLX5_MKC_ACCESS_MODE_KSM))
			break;
	} while (--tries);
	return object->id << 8 | MLX5_GET(mkc, to_vhca_mkey(object)->context, mkey_7_0);
}

static u32 fuzz_umr(struct fuzz *f, void *wqe)
{
	struct mlx5_wqe_ctrl_seg *ctrl = wqe;
	struct mlx5_wqe_umr_ctrl_seg *umr = (void *)(ctrl + 1);
	void *mkc = umr + 1;
	u8 mode = fuzz_one_in(f, 2) ? MLX5_MKC_ACCESS_MODE_KLMS : MLX5_MKC_ACCESS_MODE_MTT;
	u32 at = sizeof(*ctrl) + sizeof(*umr) + MLX5_ST_SZ_BYTES(mkc);
	u32 n;

	ctrl->umr_mkey = cpu_to_be32(fuzz_window(f));
	memset(umr, 0, at - sizeof(*ctrl));
	umr->flags = fuzz_one_in(f, 4) ? fuzz_value(f) :
		     fuzz_one_in(f, 4) ? 0 : MLX5_UMR_INLINE;
	umr->mkey_mask = cpu_to_be64(fuzz_one_in(f, 4) ? fuzz_value(f) :
				     MLX5_MKEY_MASK_LEN | MLX5_MKEY_MASK_START_ADDR);
	MLX5_SET(mkc, mkc, pd, fuzz_number(f, VHCA_PD, f->uid));
	MLX5_SET(mkc, mkc, qpn, VHCA_ANY_QP);
	MLX5_SET(mkc, mkc, lr, 1);
	MLX5_SET(mkc, mkc, lw, 1);
	MLX5_SET(mkc, mkc, rr, 1);
	MLX5_SET(mkc, mkc, rw, 1);
	MLX5_SET(mkc, mkc, mkey_7_0, be32_to_cpu(ctrl->umr_mkey) & 0xff);
	MLX5_SET64(mkc, mkc, len, fuzz_one_in(f, 4) ? fuzz_value(f) : VHCA_PAGE_SIZE);
	MLX5_SET64(mkc, mkc, start_addr, fuzz_one_in(f, 4) ? fuzz_value(f) : 0);
	MLX5_SET(mkc, mkc, log_page_size, VHCA_PAGE_SHIFT);
	if (!(umr->flags & MLX5_UMR_INLINE)) {
		umr->xlt_octowords = cpu_to_be16(fuzz_below(f, 9));
		return at + fuzz_data_segment(f, wqe + at);
	}
	n = fuzz_translations(f, wqe + at, mode, FUZZ_MAX_WQE / 4);
	umr->xlt_octowords = cpu_to_be16(n / VHCA_OCTOWORD + fuzz_one_in(f, 16));
	if (fuzz_one_in(f, 4)) {
		umr->bsf_octowords = cpu_to_be16(VHCA_BSF_OCTOWORDS + fuzz_one_in(f, 16));
		umr->mkey_mask |= cpu_to_be64(MLX5_MKEY_MASK_BSF_EN);
		MLX5_SET(mkc, mkc, bsf_en, 1);
		n += fuzz_bsf(f, wqe + at + n);
	}
	return at + n;
}

static u8 fuzz_opcode(struct fuzz *f)
{
	static const u8 opcodes[] = {
		MLX5_OPCODE_NOP, MLX5_OPCODE_SEND, MLX5_OPCODE_SEND_IMM,
		MLX5_OPCODE_SEND_INVAL, MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE_IMM,
		MLX5_OPCODE_RDMA_READ, MLX5_OPCODE_ATOMIC_CS, MLX5_OPCODE_ATOMIC_FA,
		MLX5_OPCODE_UMR, MLX5_OPCODE_SET_PSV, VHCA_OPCODE_COPY,
	};

	return fuzz_one_in(f, 64) ? fuzz_value(f) : opcodes[fuzz_below(f, ARRAY_SIZE(opcodes))];
}

/* A request for a queue pair; returns its bytes. */
static u32 fuzz_request(struct fuzz *f, const struct vhca_qp *qp, void *wqe)
{
	struct mlx5_wqe_ctrl_seg *ctrl = wqe;
	u8 opcode = fuzz_opcode(f);
	u32 at = sizeof(*ctrl), n;

	memset(wqe, 0, FUZZ_MAX_WQE);
	ctrl->opmod_idx_opcode = cpu_to_be32(opcode);
	ctrl->fm_ce_se = fuzz_value(f) | (fuzz_one_in(f, 2) ? MLX5_WQE_CTRL_CQ_UPDATE : 0);
	ctrl->imm = cpu_to_be32(fuzz_place(f).key);
	if (opcode == MLX5_OPCODE_UMR)
		return fuzz_umr(f, wqe);
	if (opcode == MLX5_OPCODE_SET_PSV)
		return at + fuzz_psv(f, wqe + at);
	if (opcode == VHCA_OPCODE_COPY) {
		ctrl->opmod_idx_opcode |= cpu_to_be32(FUZZ_OPMOD_COPY);
		at += FUZZ_SEGMENT;
		at += fuzz_data_segment(f, wqe + at);
		memcpy(wqe + at, wqe + at - FUZZ_SEGMENT, sizeof(__be32));
		return at + fuzz_data_segment(f, wqe + at);
	}
	if (vhca_has_addresses(qp->service))
		at += fuzz_address_vector(f, wqe + at);
	if (qp->service == MLX5_QP_ST_XRC) {
		*(__be32 *)(wqe + at) = cpu_to_be32(fuzz_number(f, VHCA_XRC_SRQ, false));
		at += FUZZ_SEGMENT;
	}
	switch (opcode) {
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_FA:
		at += fuzz_remote(f, wqe + at) + FUZZ_SEGMENT;
		at += fuzz_data_segment(f, wqe + at);
		((struct mlx5_wqe_data_seg *)(wqe + at))[-1].byte_count = cpu_to_be32(8);
		return at;
	case MLX5_OPCODE_RDMA_WRITE:
	case MLX5_OPCODE_RDMA_WRITE_IMM:
	case MLX5_OPCODE_RDMA_READ:
		at += fuzz_remote(f, wqe + at);
		break;
	}
	for (n = fuzz_below(f, fuzz_one_in(f, 4) ? 5 : 2); n; n--)
		at += fuzz_one_in(f, 4) ? fuzz_inline_segment(f, wqe + at) :
					  fuzz_data_segment(f, wqe + at);
	return at;
}

/* Write a request to a send queue, and ring. */
static void fuzz_post(struct fuzz *f, struct vhca_qp *qp)
{
	u16 pi = vhca_doorbell(&qp->doorbell[MLX5_SND_DBR]);
	struct mlx5_wqe_ctrl_seg *ctrl;
	u8 wqe[FUZZ_MAX_WQE];
	u32 len, bbs, i;
	void *at;

	f->pd = qp->pd;
	len = fuzz_request(f, qp, wqe);
	ctrl = (void *)wqe;
	ctrl->qpn_ds = cpu_to_be32((u32)qp->object.id << 8 |
				   (fuzz_one_in(f, 32) ? fuzz_below(f, 64) :
							 len / FUZZ_SEGMENT));
	if (fuzz_one_in(f, 3))
		fuzz_spoil(f, wqe, len, fuzz_one_in(f, 8) ? 0 : sizeof(*ctrl));
	bbs = max(DIV_ROUND_UP(len, MLX5_SEND_WQE_BB), 1);
	/* What does not fit waits for its turn, mostly. */
	if ((u16)(pi - qp->sq_ci) + bbs > BIT(qp->log_sq) && !fuzz_one_in(f, 32))
		return;
	for (i = 0; i < bbs; i++) {
		at = vhca_buffer_at(&qp->buffer, qp->sq_offset +
				    ((pi + i) & (BIT(qp->log_sq) - 1)) * MLX5_SEND_WQE_BB,
				    MLX5_SEND_WQE_BB);
		if (at)
			memcpy(at, wqe + i * MLX5_SEND_WQE_BB, MLX5_SEND_WQE_BB);
	}
	pi = fuzz_one_in(f, 64) ? fuzz_value(f) : pi + bbs;
	WRITE_ONCE(qp->doorbell[MLX5_SND_DBR], cpu_to_be32(pi));
}

/* Data segments of a receive request, behind the first @skip bytes. */
static void fuzz_receive(struct fuzz *f, u8 *wqe, u32 skip, u32 len)
{
	u32 at = skip;

	memset(wqe, 0, len);
	while (at + FUZZ_SEGMENT <= len && !fuzz_one_in(f, 4))
		at += fuzz_data_segment(f, wqe + at);
	if (at + FUZZ_SEGMENT <= len)
		((struct mlx5_wqe_data_seg *)(wqe + at))->lkey =
			MLX5_TERMINATE_SCATTER_LIST_LKEY;
	if (fuzz_one_in(f, 3))
		fuzz_spoil(f, wqe, len, 0);
}

static void fuzz_post_receive(struct fuzz *f, struct vhca_qp *qp)
{
	u8 log_stride = MLX5_GET(qpc, qp->context, log_rq_stride) + 4;
	u16 pi = vhca_doorbell(&qp->doorbell[MLX5_RCV_DBR]);
	u8 *at;

	f->pd = qp->pd;
	if ((u16)(pi - qp->rq_ci) >= BIT(qp->log_rq) && !fuzz_one_in(f, 32))
		return;
	at = vhca_buffer_at(&qp->buffer,
			    (u64)(pi & (BIT(qp->log_rq) - 1)) << log_stride,
			    BIT(log_stride));
	if (at)
		fuzz_receive(f, at, 0, BIT(log_stride));
	pi = fuzz_one_in(f, 64) ? fuzz_value(f) : pi + 1;
	WRITE_ONCE(qp->doorbell[MLX5_RCV_DBR], cpu_to_be32(pi));
}

static void fuzz_post_shared(struct fuzz *f, struct vhca_srq *srq)
{
	u16 pi, index;
	u8 *at;

	if (!srq->doorbell)
		return;
	f->pd = srq->pd;
	pi = vhca_doorbell(srq->doorbell);
	if ((u16)(pi - srq->taken) >= BIT(srq->log_size) && !fuzz_one_in(f, 32))
		return;
	index = (srq->next + pi - srq->taken) & (BIT(srq->log_size) - 1);
	at = vhca_buffer_at(&srq->buffer, (u64)index << srq->log_stride,
			    BIT(srq->log_stride));
	if (at) {
		fuzz_receive(f, at, FUZZ_SEGMENT, BIT(srq->log_stride));
		((struct mlx5_wqe_srq_next_seg *)at)->next_wqe_index =
			cpu_to_be16(fuzz_one_in(f, 32) ? fuzz_value(f) : index + 1);
	}
	pi = fuzz_one_in(f, 64) ? fuzz_value(f) : pi + 1;
	WRITE_ONCE(*srq->doorbell, cpu_to_be32(pi));
}

/* The owner has consumed all, or says something else; and may ask for an event. */
static void fuzz_consume(struct fuzz *f, struct vhca_cq *cq)
{
	u32 ci = fuzz_one_in(f, 16) ? fuzz_value(f) : cq->pi;

	WRITE_ONCE(cq->doorbell[VHCA_CQ_CONSUMER], cpu_to_be32(ci & 0xffffff));
	if (fuzz_one_in(f, 2))
		WRITE_ONCE(cq->doorbell[VHCA_CQ_ARM],
			   cpu_to_be32(fuzz_one_in(f, 8) ? fuzz_value(f) :
				       (fuzz_below(f, 4) << 28 | (ci & 0xffffff))));
}

static void fuzz_write(struct fuzz *f)
{
	struct vhca_object *object;
	struct vhca_qp *qp;

	f->inputs++;
	switch (fuzz_below(f, 8)) {
	case 0:
		object = fuzz_object(f, VHCA_CQ, f->uid);
		if (object)
			fuzz_consume(f, to_vhca_cq(object));
		return;
	case 1:
		object = fuzz_object(f, fuzz_one_in(f, 2) ? VHCA_RMP : VHCA_XRC_SRQ, f->uid);
		if (object)
			fuzz_post_shared(f, to_vhca_srq(object));
		return;
	}
	object = fuzz_object(f, VHCA_QP, f->uid);
	if (!object)
		return;
	qp = to_vhca_qp(object);
	if (qp->has_rq && fuzz_one_in(f, 3)) {
		fuzz_post_receive(f, qp);
		return;
	}
	if (!qp->has_sq)
		return;
	if (qp->state != MLX5_QP_STATE_RTS && !fuzz_one_in(f, 4))
		fuzz_ready(f, qp);
	fuzz_post(f, qp);
}

/*
 * What waits for a time has come to it, or has not: the clock has no say in it, or the
 * same input would not do the same again.
 */
static void fuzz_time_passes(struct fuzz *f)
{
	struct vhca_object *object;
	unsigned long id;

	xa_for_each(&f->v->ledger.by_id[VHCA_QP], id, object) {
		struct vhca_message *m = &to_vhca_qp(object)->message;

		if (m->resume_ns)
			m->resume_ns = fuzz_one_in(f, 2) ? 1 : U64_MAX;
	}
}

/* A GID that the subnet manager may be asked for. */
static void fuzz_gid(struct fuzz *f, void *at)
{
	__be64 gid[2];

	vhca_fabric_gid(f->v->index, gid);
	memcpy(at, gid, sizeof(gid));
}

/**
 * fuzz_datagram - have the subnet manager answer something like a question
 * @f: on whose behalf; only a driver can
 */
void fuzz_datagram(struct fuzz *f)
{
	static const u16 attributes[] = {
		IB_SA_ATTR_CLASS_PORTINFO, IB_SA_ATTR_PATH_REC, IB_SA_ATTR_MC_MEMBER_REC,
	};
	static const u8 methods[] = {
		IB_MGMT_METHOD_GET, IB_MGMT_METHOD_SET, IB_SA_METHOD_DELETE,
	};
	struct vhca_packet *packet, *answer;
	struct ib_sa_mad *mad;

	f->inputs++;
	mutex_lock(&f->v->lock);
	packet = vhca_packet_get(f->v, VHCA_MAD_SIZE);
	if (!packet)
		goto unlock;
	mad = packet->payload;
	memset(mad, 0, sizeof(*mad));
	mad->mad_hdr.base_version = IB_MGMT_BASE_VERSION;
	mad->mad_hdr.mgmt_class = IB_MGMT_CLASS_SUBN_ADM;
	mad->mad_hdr.class_version = IB_SA_CLASS_VERSION;
	mad->mad_hdr.method = methods[fuzz_below(f, ARRAY_SIZE(methods))];
	mad->mad_hdr.attr_id = cpu_to_be16(attributes[fuzz_below(f, ARRAY_SIZE(attributes))]);
	mad->sa_hdr.comp_mask = (__force ib_sa_comp_mask)fuzz_value(f);
	/* Both of a path, or what a member record has there. */
	fuzz_gid(f, mad->data + 8);
	fuzz_gid(f, mad->data + 24);
	fuzz_spoil(f, mad, sizeof(*mad), 0);
	packet->service = MLX5_QP_ST_UD;
	packet->shown_qpn = VHCA_GSI_QPN;
	packet->target_qpn = VHCA_GSI_QPN;
	packet->qkey = IB_QP1_QKEY;
	packet->total = fuzz_one_in(f, 16) ? fuzz_value(f) : VHCA_MAD_SIZE;
	answer = vhca_manager_answer(f->v, packet);
	if (answer) {
		KUNIT_EXPECT_TRUE(f->test, vhca_packet_is_management(answer));
		vhca_packet_put(f->v, answer);
	}
	vhca_packet_put(f->v, packet);
unlock:
	mutex_unlock(&f->v->lock);
}

/**
 * fuzz_work - write some requests and doorbells, and have the device look
 * @f: on whose behalf
 */
void fuzz_work(struct fuzz *f)
{
	unsigned int n = 1 + fuzz_below(f, 6);

	while (n--)
		fuzz_write(f);
	mutex_lock(&f->v->lock);
	fuzz_time_passes(f);
	vhca_workqueue_poll(f->v);
	mutex_unlock(&f->v->lock);
}
