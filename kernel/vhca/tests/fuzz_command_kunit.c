// SPDX-License-Identifier: GPL-2.0
/*
 * Random commands, delivered as a driver delivers them: by the command queue, in chains
 * of mailboxes.  See fuzz_kunit.h.
 *
 * ALLOC_UAR is not sent, nor a send queue made ready: both map pages of a window that
 * this device does not have.
 */
#include <linux/io.h>
#include <linux/mlx5/driver.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "fuzz_kunit.h"
#include "scheduling.h"

/* Mailbox blocks, as the driver aligns them. */
#define FUZZ_BLOCK_STRIDE	SZ_1K
#define FUZZ_BLOCKS_IN		1	/* page that they begin at, of the input */
#define FUZZ_BLOCKS_OUT		4

/* log2 of the most entries of a queue, which are 64 bytes at least. */
#define FUZZ_LOG_ENTRIES	6
#define FUZZ_MAX_OUT		(16 + FUZZ_BLOCKS * MLX5_CMD_DATA_BLOCK_SIZE)

static struct mlx5_cmd_prot_block *fuzz_block(struct fuzz *f, unsigned int page,
					      unsigned int i)
{
	return (void *)(f->memory + (page << VHCA_PAGE_SHIFT) +
			i * FUZZ_BLOCK_STRIDE);
}

/* Make a chain for @len bytes, copied from @from unless that is NULL. */
static __be64 fuzz_chain(struct fuzz *f, unsigned int page, u8 token, const void *from,
			 u32 len)
{
	unsigned int i, nr = DIV_ROUND_UP(len, MLX5_CMD_DATA_BLOCK_SIZE);

	for (i = 0; i < nr; i++) {
		struct mlx5_cmd_prot_block *block = fuzz_block(f, page, i);
		u32 at = i * MLX5_CMD_DATA_BLOCK_SIZE;

		if (from)
			memcpy(block->data, from + at,
			       min_t(u32, len - at, MLX5_CMD_DATA_BLOCK_SIZE));
		block->block_num = cpu_to_be32(i);
		block->token = token;
		block->next = i + 1 < nr ?
			      cpu_to_be64(virt_to_phys(fuzz_block(f, page, i + 1))) : 0;
	}
	return nr ? cpu_to_be64(virt_to_phys(fuzz_block(f, page, 0))) : 0;
}

/* Of the delivery itself something is wrong. */
static void fuzz_spoil_delivery(struct fuzz *f, struct mlx5_cmd_layout *layout)
{
	unsigned int page = fuzz_one_in(f, 2) ? FUZZ_BLOCKS_IN : FUZZ_BLOCKS_OUT;
	struct mlx5_cmd_prot_block *block = fuzz_block(f, page,
						       fuzz_below(f, FUZZ_BLOCKS));
	struct mlx5_cmd_prot_block *next;

	switch (fuzz_below(f, 10)) {
	case 0:
		layout->inlen = cpu_to_be32(fuzz_value(f));
		break;
	case 1:
		layout->outlen = cpu_to_be32(fuzz_value(f));
		break;
	case 2:
		layout->inlen = cpu_to_be32(fuzz_below(f, FUZZ_MAX_MESSAGE));
		break;
	case 3:
		layout->in_ptr = cpu_to_be64(fuzz_address(f));
		break;
	case 4:
		layout->out_ptr = cpu_to_be64(fuzz_address(f));
		break;
	case 5:
		block->token++;
		break;
	case 6:
		block->block_num = cpu_to_be32(fuzz_value(f));
		break;
	case 7:
		block->next = cpu_to_be64(fuzz_address(f));
		break;
	case 8:
		/* A loop, now and then. */
		next = fuzz_block(f, page, fuzz_below(f, FUZZ_BLOCKS));
		block->next = cpu_to_be64(virt_to_phys(next));
		break;
	default:
		fuzz_spoil(f, layout, sizeof(*layout) - 1, 0);
		break;
	}
}

/*
 * A message as long as the entry says, so that who goes beyond it is found.  Short ones
 * are kept, as it takes longer to get memory than to execute most commands.
 */
static void *fuzz_exactly(void **kept, u32 len)
{
	if (!len || len > VHCA_MAX_MESSAGE)
		return NULL;
	if (len > FUZZ_KEPT)
		return kvmalloc(len, GFP_KERNEL);
	if (!kept[len])
		kept[len] = kmalloc(len, GFP_KERNEL);
	return kept[len];
}

static void fuzz_put_message(void *message, u32 len)
{
	if (len > FUZZ_KEPT)
		kvfree(message);
}

/**
 * fuzz_send - have the device execute a command
 * @f: whose message is the input
 * @in_len: bytes of it
 * @out_len: bytes of the output
 * @spoil: the delivery may go wrong
 *
 * Return: the status in the output; MLX5_CMD_STAT_INT_ERR if there is none
 */
u8 fuzz_send(struct fuzz *f, u32 in_len, u32 out_len, bool spoil)
{
	struct mlx5_cmd_layout *layout = (void *)f->memory;
	struct vhca *v = f->v;
	u8 status = MLX5_CMD_STAT_INT_ERR;

	f->last = MLX5_GET(alloc_pd_in, f->message, opcode);
	*layout = (struct mlx5_cmd_layout) {
		.type	= MLX5_PCI_CMD_XPORT,
		.inlen	= cpu_to_be32(in_len),
		.outlen	= cpu_to_be32(out_len),
		.token	= prandom_u32_state(&f->random),
	};
	memcpy(layout->in, f->message, min_t(u32, in_len, sizeof(layout->in)));
	if (in_len > sizeof(layout->in))
		layout->in_ptr = fuzz_chain(f, FUZZ_BLOCKS_IN, layout->token,
					    (void *)f->message + sizeof(layout->in),
					    in_len - sizeof(layout->in));
	if (out_len > sizeof(layout->out))
		layout->out_ptr = fuzz_chain(f, FUZZ_BLOCKS_OUT, layout->token, NULL,
					     out_len - sizeof(layout->out));
	if (spoil)
		fuzz_spoil_delivery(f, layout);
	in_len = be32_to_cpu(layout->inlen);
	out_len = be32_to_cpu(layout->outlen);
	v->in = fuzz_exactly(f->kept_in, in_len);
	v->out = fuzz_exactly(f->kept_out, out_len);
	layout->status_own = CMD_OWNER_HW;
	vhca_cmdq_reset(v);
	v->cmdq_dma = f->start;
	iowrite32be(BIT(0), v->init_segment + offsetof(struct mlx5_init_seg, cmd_dbell));
	f->inputs++;
	f->sending = true;
	mutex_lock(&v->lock);
	vhca_cmdq_poll(v);
	mutex_unlock(&v->lock);
	f->sending = false;
	KUNIT_EXPECT_FALSE(f->test, layout->status_own & CMD_OWNER_HW);
	if (!(layout->status_own >> 1))
		status = be32_to_cpu(layout->out[0]) >> 24;
	if (status)
		f->refused++;
	else
		f->done++;
	fuzz_put_message(v->in, in_len);
	fuzz_put_message(v->out, out_len);
	v->in = NULL;
	v->out = NULL;
	return status;
}

/**
 * fuzz_start - begin a command
 * @f: whose message it becomes
 * @opcode: MLX5_CMD_OP_*
 * @uid: the user context that it is of
 *
 * Return: the shortest input of it, in bytes
 */
u32 fuzz_start(struct fuzz *f, u16 opcode, u16 uid)
{
	const struct vhca_command *row = vhca_command_find(opcode);

	memset(f->message, 0, sizeof(f->message));
	MLX5_SET(alloc_pd_in, f->message, opcode, opcode);
	MLX5_SET(alloc_pd_in, f->message, uid, uid);
	return row ? row->in_size : MLX5_ST_SZ_BYTES(alloc_pd_in);
}

/* Pages of a queue behind the shortest input; returns the length of the whole. */
static u32 fuzz_pages(struct fuzz *f, u32 at)
{
	u32 n = fuzz_below(f, 6);

	while (n-- && at + sizeof(u64) <= FUZZ_MAX_MESSAGE) {
		__be64 address = cpu_to_be64(fuzz_address(f));

		memcpy((void *)f->message + at, &address, sizeof(address));
		at += sizeof(address);
	}
	return at;
}

/* A doorbell record for the driver's pointer, or within a umem. */
static u64 fuzz_record(struct fuzz *f, bool umem)
{
	u64 offset = fuzz_below(f, VHCA_PAGE_SIZE / 64) * 64;

	if (!umem)
		return fuzz_address(f) + (fuzz_one_in(f, 8) ? 0 : offset);
	return fuzz_one_in(f, 16) ? fuzz_value(f) : offset;
}

static u32 fuzz_create_eq(struct fuzz *f, u32 len)
{
	void *eqc = MLX5_ADDR_OF(create_eq_in, f->message, eq_context_entry);

	MLX5_SET(eqc, eqc, log_eq_size, fuzz_below(f, FUZZ_LOG_ENTRIES + 1));
	MLX5_SET(eqc, eqc, intr, fuzz_below(f, 2));
	MLX5_SET(eqc, eqc, uar_page, fuzz_number(f, VHCA_UAR, false));
	MLX5_SET64(create_eq_in, f->message, event_bitmask[0], fuzz_value(f));
	return fuzz_pages(f, len);
}

static void fuzz_field_set(void *structure, unsigned int dword, u32 value)
{
	((__be32 *)structure)[dword] = cpu_to_be32(value);
}

static u32 fuzz_create_cq(struct fuzz *f, u32 len)
{
	void *cqc = MLX5_ADDR_OF(create_cq_in, f->message, cq_context);
	bool umem = f->uid || fuzz_one_in(f, 2);

	MLX5_SET(cqc, cqc, log_cq_size, fuzz_below(f, FUZZ_LOG_ENTRIES + 1));
	MLX5_SET(cqc, cqc, cqe_sz, fuzz_one_in(f, 3) ? fuzz_below(f, 4) : 0);
	MLX5_SET(cqc, cqc, oi, fuzz_below(f, 2));
	MLX5_SET(cqc, cqc, c_eqn_or_apu_element, fuzz_number(f, VHCA_EQ, false));
	MLX5_SET(cqc, cqc, uar_page, fuzz_number(f, VHCA_UAR, false));
	MLX5_SET64(cqc, cqc, dbr_addr, fuzz_record(f, umem));
	if (!umem)
		return fuzz_pages(f, len);
	MLX5_SET(cqc, cqc, dbr_umem_valid, 1);
	fuzz_field_set(cqc, VHCA_CQC_DBR_UMEM_ID, fuzz_number(f, VHCA_UMEM, true));
	MLX5_SET(create_cq_in, f->message, cq_umem_valid, 1);
	fuzz_field_set(f->message, VHCA_CREATE_CQ_UMEM_ID,
		       fuzz_number(f, VHCA_UMEM, !fuzz_one_in(f, 4)));
	fuzz_field_set(f->message, VHCA_CREATE_CQ_UMEM_OFFSET + 1, fuzz_record(f, true));
	return len;
}

static u32 fuzz_modify_cq(struct fuzz *f, u32 len)
{
	void *cqc = MLX5_ADDR_OF(modify_cq_in, f->message, cq_context);

	MLX5_SET(modify_cq_in, f->message, op_mod, fuzz_below(f, 2));
	MLX5_SET(modify_cq_in, f->message, cqn, fuzz_number(f, VHCA_CQ, f->uid));
	MLX5_SET(cqc, cqc, log_cq_size, fuzz_below(f, FUZZ_LOG_ENTRIES + 1));
	MLX5_SET(cqc, cqc, cqe_sz, fuzz_one_in(f, 3) ? fuzz_below(f, 4) : 0);
	return fuzz_pages(f, len);
}

static u8 fuzz_service(struct fuzz *f)
{
	static const u8 services[] = {
		MLX5_QP_ST_RC, MLX5_QP_ST_RC, MLX5_QP_ST_UC, MLX5_QP_ST_UD,
		MLX5_QP_ST_XRC, MLX5_QP_ST_DCI, MLX5_QP_ST_REG_UMR, MLX5_QP_ST_QP1,
	};

	return fuzz_one_in(f, 32) ? fuzz_value(f) : services[fuzz_below(f, 8)];
}

static u32 fuzz_create_qp(struct fuzz *f, u32 len)
{
	void *qpc = MLX5_ADDR_OF(create_qp_in, f->message, qpc);
	bool umem = f->uid || fuzz_one_in(f, 3);
	bool own = !fuzz_one_in(f, 4);
	u32 shared = fuzz_number(f, VHCA_RMP, own);

	MLX5_SET(qpc, qpc, st, fuzz_service(f));
	MLX5_SET(qpc, qpc, pd, fuzz_number(f, VHCA_PD, own));
	MLX5_SET(qpc, qpc, cqn_snd, fuzz_number(f, VHCA_CQ, own));
	MLX5_SET(qpc, qpc, cqn_rcv, fuzz_number(f, VHCA_CQ, own));
	MLX5_SET(qpc, qpc, uar_page, fuzz_number(f, VHCA_UAR, false));
	MLX5_SET(qpc, qpc, xrcd, fuzz_number(f, VHCA_XRCD, false));
	MLX5_SET(qpc, qpc, rlky, fuzz_one_in(f, 4));
	MLX5_SET(qpc, qpc, no_sq, fuzz_one_in(f, 8));
	MLX5_SET(qpc, qpc, rq_type, fuzz_one_in(f, 8) ? fuzz_below(f, 8) : fuzz_below(f, 2));
	MLX5_SET(qpc, qpc, srqn_rmpn_xrqn, shared);
	MLX5_SET(qpc, qpc, log_rq_size, fuzz_below(f, FUZZ_LOG_ENTRIES));
	MLX5_SET(qpc, qpc, log_rq_stride, fuzz_below(f, 4));
	MLX5_SET(qpc, qpc, log_sq_size, fuzz_below(f, FUZZ_LOG_ENTRIES));
	MLX5_SET(qpc, qpc, wq_signature, fuzz_one_in(f, 8));
	MLX5_SET(qpc, qpc, log_num_dci_stream_channels, fuzz_below(f, 4));
	MLX5_SET(qpc, qpc, log_num_dci_errored_streams, fuzz_below(f, 8));
	MLX5_SET64(qpc, qpc, dbr_addr, fuzz_record(f, umem));
	if (!umem)
		return fuzz_pages(f, len);
	MLX5_SET(qpc, qpc, dbr_umem_valid, 1);
	fuzz_field_set(qpc, VHCA_QPC_DBR_UMEM_ID, fuzz_number(f, VHCA_UMEM, true));
	MLX5_SET(create_qp_in, f->message, wq_umem_valid, 1);
	MLX5_SET(create_qp_in, f->message, wq_umem_id,
		 fuzz_number(f, VHCA_UMEM, !fuzz_one_in(f, 4)));
	MLX5_SET64(create_qp_in, f->message, wq_umem_offset, fuzz_record(f, true));
	return len;
}

static u32 fuzz_modify_qp(struct fuzz *f, u32 len)
{
	void *qpc = MLX5_ADDR_OF(init2rtr_qp_in, f->message, qpc);
	u16 opcode = MLX5_GET(alloc_pd_in, f->message, opcode);

	MLX5_SET(dealloc_pd_in, f->message, pd, fuzz_number(f, VHCA_QP, f->uid));
	if (opcode == MLX5_CMD_OP_2ERR_QP || opcode == MLX5_CMD_OP_2RST_QP)
		return len;
	MLX5_SET(init2rtr_qp_in, f->message, opt_param_mask, fuzz_value(f));
	MLX5_SET(qpc, qpc, remote_qpn, fuzz_number(f, VHCA_QP, f->uid));
	MLX5_SET(qpc, qpc, rre, 1);
	MLX5_SET(qpc, qpc, rwe, 1);
	MLX5_SET(qpc, qpc, rae, 1);
	MLX5_SET(qpc, qpc, retry_count, fuzz_below(f, 2));
	MLX5_SET(qpc, qpc, rnr_retry, fuzz_below(f, 2));
	MLX5_SET(qpc, qpc, min_rnr_nak, 1);
	MLX5_SET(qpc, qpc, q_key, fuzz_below(f, 2));
	if (opcode == MLX5_CMD_OP_INIT2INIT_QP || fuzz_one_in(f, 8))
		len = (VHCA_MODIFY_QP_EXT_DATA + 1) * sizeof(__be32);
	if (len > VHCA_MODIFY_QP_EXT_DATA * sizeof(__be32)) {
		fuzz_field_set(f->message, VHCA_MODIFY_QP_EXT, BIT(31));
		fuzz_field_set(f->message, VHCA_MODIFY_QP_EXT_MASK,
			       fuzz_one_in(f, 2) ? U32_MAX : fuzz_value(f));
		fuzz_field_set(f->message, VHCA_MODIFY_QP_EXT_DATA,
			       fuzz_one_in(f, 2) ? U32_MAX : fuzz_value(f));
	}
	return len;
}

/**
 * fuzz_translations - make translations of a memory key
 * @f: whose memory they lead to
 * @to: where they go
 * @mode: MLX5_MKC_ACCESS_MODE_*
 * @max: most bytes of them
 *
 * A user gives the kind that leads to other keys, or that it must not give.
 *
 * Return: bytes of them, whole units of 16
 */
u32 fuzz_translations(struct fuzz *f, void *to, u8 mode, u32 max)
{
	u32 n = fuzz_below(f, 9) * VHCA_OCTOWORD, i;

	n = min(n, round_down(max, VHCA_OCTOWORD));
	for (i = 0; i < n; i += VHCA_OCTOWORD, to += VHCA_OCTOWORD) {
		struct vhca_object *object = fuzz_object(f, VHCA_MKEY, false);
		struct mlx5_klm *klm = to;
		__be64 *mtt = to;

		if (mode != MLX5_MKC_ACCESS_MODE_KLMS && mode != MLX5_MKC_ACCESS_MODE_KSM) {
			mtt[0] = cpu_to_be64(fuzz_address(f) | fuzz_below(f, 4));
			mtt[1] = cpu_to_be64(fuzz_address(f) | 3);
			continue;
		}
		memset(klm, 0, sizeof(*klm));
		if (object)
			klm->key = cpu_to_be32(object->id << 8 |
					       MLX5_GET(mkc, to_vhca_mkey(object)->context,
							mkey_7_0));
		if (object && !fuzz_one_in(f, 8))
			klm->va = cpu_to_be64(MLX5_GET64(mkc,
							 to_vhca_mkey(object)->context,
							 start_addr));
		klm->bcount = cpu_to_be32(fuzz_below(f, VHCA_PAGE_SIZE));
		/* Those behind it are strided then. */
		if (!i && fuzz_one_in(f, 8)) {
			klm->bcount = cpu_to_be32(1 + fuzz_below(f, 512));
			klm->key = cpu_to_be32(0x400);
			/* Rounds without end must come to one, too. */
			klm->va = cpu_to_be64((fuzz_one_in(f, 4) ? (u64)U32_MAX :
					       fuzz_below(f, 64)) << 32 |
					      fuzz_below(f, 4));
		}
	}
	return n;
}

static u32 fuzz_create_mkey(struct fuzz *f, u32 len)
{
	static const u8 modes[] = {
		MLX5_MKC_ACCESS_MODE_MTT, MLX5_MKC_ACCESS_MODE_MTT,
		MLX5_MKC_ACCESS_MODE_KLMS, MLX5_MKC_ACCESS_MODE_KSM,
		MLX5_MKC_ACCESS_MODE_KLMS, MLX5_MKC_ACCESS_MODE_PA,
		MLX5_MKC_ACCESS_MODE_MEMIC, MLX5_MKC_ACCESS_MODE_SW_ICM,
	};
	void *mkc = MLX5_ADDR_OF(create_mkey_in, f->message, memory_key_mkey_entry);
	u8 mode = fuzz_one_in(f, 32) ? fuzz_below(f, 32) : modes[fuzz_below(f, 8)];
	u32 given = fuzz_translations(f, (void *)f->message + len, mode, 256);

	MLX5_SET(create_mkey_in, f->message, pg_access, fuzz_below(f, 2));
	MLX5_SET(mkc, mkc, access_mode_1_0, mode & 3);
	MLX5_SET(mkc, mkc, access_mode_4_2, mode >> 2);
	MLX5_SET(mkc, mkc, free, fuzz_one_in(f, 8));
	MLX5_SET(mkc, mkc, umr_en, !fuzz_one_in(f, 4));
	MLX5_SET(mkc, mkc, en_rinval, fuzz_one_in(f, 4));
	MLX5_SET(mkc, mkc, lr, !fuzz_one_in(f, 8));
	MLX5_SET(mkc, mkc, lw, !fuzz_one_in(f, 8));
	MLX5_SET(mkc, mkc, rr, !fuzz_one_in(f, 8));
	MLX5_SET(mkc, mkc, rw, !fuzz_one_in(f, 8));
	MLX5_SET(mkc, mkc, a, !fuzz_one_in(f, 8));
	MLX5_SET(mkc, mkc, qpn, fuzz_one_in(f, 8) ? fuzz_number(f, VHCA_QP, false) :
						    VHCA_ANY_QP);
	MLX5_SET(mkc, mkc, mkey_7_0, fuzz_below(f, 256));
	MLX5_SET(mkc, mkc, pd, fuzz_number(f, VHCA_PD, !fuzz_one_in(f, 4)));
	MLX5_SET(mkc, mkc, length64, fuzz_one_in(f, 8));
	MLX5_SET64(mkc, mkc, start_addr, fuzz_one_in(f, 16) ? fuzz_value(f) :
		   mode == MLX5_MKC_ACCESS_MODE_MEMIC ? VHCA_MEMIC_BASE :
		   mode == MLX5_MKC_ACCESS_MODE_PA ? fuzz_address(f) :
		   fuzz_below(f, 16) << 8);
	MLX5_SET64(mkc, mkc, len, fuzz_one_in(f, 16) ? fuzz_value(f) :
		   fuzz_below(f, 4 * VHCA_PAGE_SIZE));
	MLX5_SET(mkc, mkc, log_page_size, fuzz_one_in(f, 8) ? fuzz_below(f, 64) :
							      VHCA_PAGE_SHIFT);
	MLX5_SET(mkc, mkc, bsf_octword_size, fuzz_one_in(f, 2) ? VHCA_BSF_OCTOWORDS : 0);
	/* All that a key can have would be a lot to clear. */
	MLX5_SET(mkc, mkc, translations_octword_size, fuzz_one_in(f, 256) ? fuzz_value(f) :
		 fuzz_below(f, 2 * given / VHCA_OCTOWORD + 4));
	return len + given;
}

static u32 fuzz_create_dct(struct fuzz *f, u32 len)
{
	void *dctc = MLX5_ADDR_OF(create_dct_in, f->message, dct_context_entry);
	bool own = !fuzz_one_in(f, 4);

	MLX5_SET(dctc, dctc, pd, fuzz_number(f, VHCA_PD, own));
	MLX5_SET(dctc, dctc, cqn, fuzz_number(f, VHCA_CQ, own));
	MLX5_SET(dctc, dctc, srqn_xrqn, fuzz_number(f, VHCA_RMP, own));
	MLX5_SET(dctc, dctc, rre, 1);
	MLX5_SET(dctc, dctc, rwe, 1);
	MLX5_SET(dctc, dctc, rae, 1);
	return len;
}

static u32 fuzz_create_rmp(struct fuzz *f, u32 len)
{
	void *wq = MLX5_ADDR_OF(create_rmp_in, f->message, ctx.wq);

	MLX5_SET(wq, wq, pd, fuzz_number(f, VHCA_PD, !fuzz_one_in(f, 4)));
	MLX5_SET(wq, wq, log_wq_sz, fuzz_below(f, FUZZ_LOG_ENTRIES));
	MLX5_SET(wq, wq, log_wq_stride, 5 + fuzz_below(f, 4));
	MLX5_SET(wq, wq, lwm, fuzz_below(f, 8));
	MLX5_SET64(wq, wq, dbr_addr, fuzz_record(f, false));
	return fuzz_pages(f, len);
}

static u32 fuzz_create_xrc_srq(struct fuzz *f, u32 len)
{
	void *srqc = MLX5_ADDR_OF(create_xrc_srq_in, f->message, xrc_srq_context_entry);
	u64 record = fuzz_record(f, false);
	bool own = !fuzz_one_in(f, 4);

	MLX5_SET(xrc_srqc, srqc, pd, fuzz_number(f, VHCA_PD, own));
	MLX5_SET(xrc_srqc, srqc, cqn, fuzz_number(f, VHCA_CQ, own));
	MLX5_SET(xrc_srqc, srqc, xrcd, fuzz_number(f, VHCA_XRCD, false));
	MLX5_SET(xrc_srqc, srqc, log_xrc_srq_size, fuzz_below(f, FUZZ_LOG_ENTRIES));
	MLX5_SET(xrc_srqc, srqc, log_rq_stride, 1 + fuzz_below(f, 4));
	MLX5_SET(xrc_srqc, srqc, lwm, fuzz_below(f, 8));
	MLX5_SET(xrc_srqc, srqc, db_record_addr_h, record >> 32);
	MLX5_SET(xrc_srqc, srqc, db_record_addr_l, (u32)record >> 2);
	return fuzz_pages(f, len);
}

static u32 fuzz_create_umem(struct fuzz *f, u32 len)
{
	u32 end = fuzz_pages(f, len);
	void *umem = MLX5_ADDR_OF(create_umem_in, f->message, umem);

	MLX5_SET(umem, umem, log_page_size, fuzz_one_in(f, 8) ? fuzz_below(f, 32) : 0);
	MLX5_SET(umem, umem, page_offset, fuzz_one_in(f, 2) ? 0 :
					  fuzz_below(f, VHCA_PAGE_SIZE));
	MLX5_SET64(umem, umem, num_of_mtt, fuzz_one_in(f, 16) ? fuzz_value(f) :
		   (end - len) / sizeof(u64));
	return end;
}

static u32 fuzz_memic(struct fuzz *f, u32 len)
{
	struct vhca_object *object = fuzz_object(f, VHCA_MEMIC, false);
	void *in = f->message;
	u64 start = VHCA_MEMIC_BASE + (fuzz_below(f, 17) << VHCA_PAGE_SHIFT);

	if (object && fuzz_one_in(f, 2))
		start = object->id;
	switch (MLX5_GET(alloc_pd_in, in, opcode)) {
	case MLX5_CMD_OP_ALLOC_MEMIC:
		MLX5_SET64(alloc_memic_in, in, range_start_addr, start);
		MLX5_SET(alloc_memic_in, in, range_size,
			 fuzz_below(f, 5) << VHCA_PAGE_SHIFT);
		MLX5_SET(alloc_memic_in, in, memic_size,
			 (1 + fuzz_below(f, 4)) << VHCA_PAGE_SHIFT);
		break;
	case MLX5_CMD_OP_DEALLOC_MEMIC:
		MLX5_SET64(dealloc_memic_in, in, memic_start_addr, start);
		MLX5_SET(dealloc_memic_in, in, memic_size,
			 (1 + fuzz_below(f, 4)) << VHCA_PAGE_SHIFT);
		break;
	default:
		MLX5_SET(modify_memic_in, in, op_mod, fuzz_below(f, 2));
		MLX5_SET64(modify_memic_in, in, memic_start_addr, start);
		MLX5_SET(modify_memic_in, in, memic_operation_type, fuzz_below(f, 3));
		break;
	}
	return len;
}

static u32 fuzz_scheduling(struct fuzz *f)
{
	__be32 *in = (__be32 *)f->message;
	void *context = in + VHCA_SCHEDULING_CONTEXT;

	in[VHCA_SCHEDULING_HIERARCHY] = cpu_to_be32(SCHEDULING_HIERARCHY_NIC << 24);
	MLX5_SET(scheduling_context, context, element_type,
		 fuzz_one_in(f, 2) ? SCHEDULING_CONTEXT_ELEMENT_TYPE_TSAR :
				     SCHEDULING_CONTEXT_ELEMENT_TYPE_QUEUE_GROUP);
	MLX5_SET(scheduling_context, context, parent_element_id,
		 fuzz_one_in(f, 4) ? 0 : fuzz_number(f, VHCA_GENERAL_OBJECT, f->uid));
	return VHCA_SCHEDULING_CONTEXT * sizeof(*in) + MLX5_ST_SZ_BYTES(scheduling_context);
}

static u32 fuzz_general_object(struct fuzz *f, u32 len)
{
	static const u16 types[] = {
		MLX5_OBJ_TYPE_SW_ICM, VHCA_OBJ_RESERVED_QPN, VHCA_OBJ_SCHEDULING, 0xd,
	};
	u16 type = fuzz_one_in(f, 4) ? fuzz_value(f) : types[fuzz_below(f, ARRAY_SIZE(types))];
	u32 longest = MLX5_ST_SZ_BYTES(create_sw_icm_in);
	void *in = f->message;

	MLX5_SET(general_obj_in_cmd_hdr, in, obj_type, type);
	MLX5_SET(general_obj_in_cmd_hdr, in, obj_id,
		 fuzz_number(f, VHCA_GENERAL_OBJECT, f->uid));
	if (fuzz_one_in(f, 8))
		return len;
	if (type == VHCA_OBJ_SCHEDULING)
		return max(len, fuzz_scheduling(f));
	MLX5_SET64(create_sw_icm_in, in, sw_icm.sw_icm_start_addr,
		   (u64)(1 + fuzz_below(f, 4)) << 32 | fuzz_below(f, 64) << 12);
	MLX5_SET(create_sw_icm_in, in, sw_icm.log_sw_icm_size, 12 + fuzz_below(f, 8));
	return max(len, longest);
}

static u32 fuzz_resume(struct fuzz *f, u32 len)
{
	void *info = MLX5_ADDR_OF(page_fault_resume_in, f->message,
				  page_fault_info.trans_page_fault_info);
	struct vhca_page_fault *fault;

	fault = list_first_entry_or_null(&f->v->page_faults.list,
					 struct vhca_page_fault, node);
	if (!fault)
		return len;
	MLX5_SET(trans_page_fault_info, info, fault_token, fault->token);
	MLX5_SET(trans_page_fault_info, info, page_fault_type, fault->type);
	MLX5_SET(trans_page_fault_info, info, wq_number,
		 fault->sub_type == MLX5_PFAULT_SUBTYPE_WQE ? fault->number :
							      fault->token);
	MLX5_SET(trans_page_fault_info, info, error, fuzz_below(f, 2));
	return len;
}

static u32 fuzz_manage_pages(struct fuzz *f, u32 len)
{
	u32 end = fuzz_pages(f, len);

	MLX5_SET(manage_pages_in, f->message, op_mod, fuzz_below(f, 4));
	MLX5_SET(manage_pages_in, f->message, input_num_entries,
		 fuzz_one_in(f, 8) ? fuzz_value(f) : (end - len) / sizeof(u64));
	return end;
}

static u32 fuzz_access_reg(struct fuzz *f, u32 len)
{
	static const u16 registers[] = { 0x9001, 0x5004, 0x5003, 0x500f, 0xc00e, 0x7004 };

	MLX5_SET(access_register_in, f->message, op_mod, fuzz_below(f, 3));
	MLX5_SET(access_register_in, f->message, register_id,
		 fuzz_one_in(f, 4) ? fuzz_value(f) : registers[fuzz_below(f, 6)]);
	return len + fuzz_below(f, 128);
}

static u32 fuzz_caps(struct fuzz *f, u32 len)
{
	MLX5_SET(alloc_pd_in, f->message, op_mod, fuzz_one_in(f, 4) ? fuzz_value(f) :
						  fuzz_below(f, 64));
	if (MLX5_GET(alloc_pd_in, f->message, opcode) == MLX5_CMD_OP_SET_HCA_CAP &&
	    !fuzz_one_in(f, 4))
		len += VHCA_PAGE_SIZE;
	return len;
}

static u32 fuzz_create_psv(struct fuzz *f, u32 len)
{
	MLX5_SET(create_psv_in, f->message, num_psv, f->uid ? 1 : fuzz_below(f, 6));
	MLX5_SET(create_psv_in, f->message, pd, fuzz_number(f, VHCA_PD, f->uid));
	return len;
}

static u32 fuzz_group(struct fuzz *f, u32 len)
{
	MLX5_SET(attach_to_mcg_in, f->message, qpn, fuzz_number(f, VHCA_QP, f->uid));
	fuzz_group_gid(f, MLX5_ADDR_OF(attach_to_mcg_in, f->message, multicast_gid));
	return len;
}

/* Fill in what is between the header and the end; returns the length. */
static u32 fuzz_body(struct fuzz *f, u16 opcode, enum vhca_kind kind, u32 len)
{
	switch (opcode) {
	case MLX5_CMD_OP_CREATE_EQ:
		return fuzz_create_eq(f, len);
	case MLX5_CMD_OP_CREATE_CQ:
		return fuzz_create_cq(f, len);
	case MLX5_CMD_OP_MODIFY_CQ:
		return fuzz_modify_cq(f, len);
	case MLX5_CMD_OP_CREATE_QP:
		return fuzz_create_qp(f, len);
	case MLX5_CMD_OP_RST2INIT_QP:
	case MLX5_CMD_OP_INIT2INIT_QP:
	case MLX5_CMD_OP_INIT2RTR_QP:
	case MLX5_CMD_OP_RTR2RTS_QP:
	case MLX5_CMD_OP_RTS2RTS_QP:
	case MLX5_CMD_OP_SQERR2RTS_QP:
	case MLX5_CMD_OP_SQD_RTS_QP:
	case MLX5_CMD_OP_2ERR_QP:
	case MLX5_CMD_OP_2RST_QP:
	case MLX5_CMD_OP_QUERY_QP:
		return fuzz_modify_qp(f, len);
	case MLX5_CMD_OP_CREATE_MKEY:
		return fuzz_create_mkey(f, len);
	case MLX5_CMD_OP_CREATE_PSV:
		return fuzz_create_psv(f, len);
	case MLX5_CMD_OP_CREATE_DCT:
		return fuzz_create_dct(f, len);
	case MLX5_CMD_OP_CREATE_RMP:
		return fuzz_create_rmp(f, len);
	case MLX5_CMD_OP_CREATE_XRC_SRQ:
		return fuzz_create_xrc_srq(f, len);
	case MLX5_CMD_OP_CREATE_UMEM:
		return fuzz_create_umem(f, len);
	case MLX5_CMD_OP_ALLOC_MEMIC:
	case MLX5_CMD_OP_DEALLOC_MEMIC:
	case MLX5_CMD_OP_MODIFY_MEMIC:
		return fuzz_memic(f, len);
	case MLX5_CMD_OP_CREATE_GENERAL_OBJECT:
	case MLX5_CMD_OP_MODIFY_GENERAL_OBJECT:
	case MLX5_CMD_OP_DESTROY_GENERAL_OBJECT:
		return fuzz_general_object(f, len);
	case MLX5_CMD_OP_PAGE_FAULT_RESUME:
		return fuzz_resume(f, len);
	case MLX5_CMD_OP_MANAGE_PAGES:
		return fuzz_manage_pages(f, len);
	case MLX5_CMD_OP_ATTACH_TO_MCG:
	case MLX5_CMD_OP_DETACH_FROM_MCG:
		return fuzz_group(f, len);
	case MLX5_CMD_OP_ACCESS_REG:
		return fuzz_access_reg(f, len);
	case MLX5_CMD_OP_QUERY_HCA_CAP:
	case MLX5_CMD_OP_SET_HCA_CAP:
		return fuzz_caps(f, len);
	default:
		if (kind)
			MLX5_SET(dealloc_pd_in, f->message, pd, fuzz_number(f, kind, f->uid));
		return len;
	}
}

/* Commands of which one in so many is sent, as they end what all others build on. */
static bool fuzz_is_rare(struct fuzz *f, u16 opcode)
{
	switch (opcode) {
	case MLX5_CMD_OP_TEARDOWN_HCA:
	case MLX5_CMD_OP_DISABLE_HCA:
		return !fuzz_one_in(f, 16);
	default:
		return false;
	}
}

/* What mlx5_ib lets a user send: see devx_is_obj_create_cmd() and those behind it. */
static bool fuzz_user_may(const struct vhca_command *row)
{
	switch (row->opcode) {
	case MLX5_CMD_OP_CREATE_GENERAL_OBJECT:
	case MLX5_CMD_OP_MODIFY_GENERAL_OBJECT:
	case MLX5_CMD_OP_CREATE_MKEY:
	case MLX5_CMD_OP_CREATE_PSV:
	case MLX5_CMD_OP_CREATE_CQ:
	case MLX5_CMD_OP_ALLOC_PD:
	case MLX5_CMD_OP_CREATE_RMP:
	case MLX5_CMD_OP_CREATE_SQ:
	case MLX5_CMD_OP_ALLOC_FLOW_COUNTER:
	case MLX5_CMD_OP_CREATE_QP:
	case MLX5_CMD_OP_CREATE_XRC_SRQ:
	case MLX5_CMD_OP_CREATE_DCT:
	case MLX5_CMD_OP_ALLOC_XRCD:
	case MLX5_CMD_OP_MODIFY_CQ:
	case MLX5_CMD_OP_MODIFY_RMP:
	case MLX5_CMD_OP_RST2INIT_QP:
	case MLX5_CMD_OP_INIT2RTR_QP:
	case MLX5_CMD_OP_INIT2INIT_QP:
	case MLX5_CMD_OP_RTR2RTS_QP:
	case MLX5_CMD_OP_RTS2RTS_QP:
	case MLX5_CMD_OP_SQERR2RTS_QP:
	case MLX5_CMD_OP_SQD_RTS_QP:
	case MLX5_CMD_OP_2ERR_QP:
	case MLX5_CMD_OP_2RST_QP:
	case MLX5_CMD_OP_ARM_XRC_SRQ:
	case MLX5_CMD_OP_QUERY_MKEY:
	case MLX5_CMD_OP_QUERY_RMP:
	case MLX5_CMD_OP_QUERY_QP:
	case MLX5_CMD_OP_QUERY_XRC_SRQ:
	case MLX5_CMD_OP_QUERY_DCT:
	case MLX5_CMD_OP_QUERY_HCA_CAP:
	case MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT:
	case MLX5_CMD_OP_QUERY_ADAPTER:
	case MLX5_CMD_OP_QUERY_ISSI:
	case MLX5_CMD_OP_DESTROY_MKEY:
	case MLX5_CMD_OP_DESTROY_PSV:
	case MLX5_CMD_OP_DESTROY_CQ:
	case MLX5_CMD_OP_DESTROY_QP:
	case MLX5_CMD_OP_DESTROY_DCT:
	case MLX5_CMD_OP_DEALLOC_PD:
	case MLX5_CMD_OP_DEALLOC_XRCD:
	case MLX5_CMD_OP_DESTROY_RMP:
	case MLX5_CMD_OP_DESTROY_XRC_SRQ:
		return true;
	default:
		return false;
	}
}

/*
 * What mlx5_ib makes of a user's command: it sets the user context, says that queues are
 * in registered memory (devx_set_umem_valid()), and takes no number of another's object
 * for what is modified, asked for or destroyed.
 */
static void fuzz_as_driver_sends(struct fuzz *f, const struct vhca_command *row)
{
	void *in = f->message;
	bool creates = false;

	MLX5_SET(alloc_pd_in, in, opcode, row->opcode);
	MLX5_SET(alloc_pd_in, in, uid, f->uid);
	switch (row->opcode) {
	case MLX5_CMD_OP_CREATE_MKEY: {
		void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
		u8 mode = MLX5_GET(mkc, mkc, access_mode_4_2) << 2 |
			  MLX5_GET(mkc, mkc, access_mode_1_0);

		if (mode != MLX5_MKC_ACCESS_MODE_KLMS && mode != MLX5_MKC_ACCESS_MODE_KSM)
			MLX5_SET(create_mkey_in, in, mkey_umem_valid, 1);
		creates = true;
		break;
	}
	case MLX5_CMD_OP_CREATE_CQ:
		MLX5_SET(create_cq_in, in, cq_umem_valid, 1);
		MLX5_SET(create_cq_in, in, cq_context.dbr_umem_valid, 1);
		creates = true;
		break;
	case MLX5_CMD_OP_CREATE_QP:
		MLX5_SET(create_qp_in, in, qpc.dbr_umem_valid, 1);
		MLX5_SET(create_qp_in, in, wq_umem_valid, 1);
		creates = true;
		break;
	case MLX5_CMD_OP_CREATE_SQ:
		MLX5_SET(create_sq_in, in, ctx.wq.dbr_umem_valid, 1);
		MLX5_SET(create_sq_in, in, ctx.wq.wq_umem_valid, 1);
		creates = true;
		break;
	case MLX5_CMD_OP_MODIFY_CQ:
		MLX5_SET(modify_cq_in, in, cq_umem_valid, 1);
		break;
	case MLX5_CMD_OP_CREATE_RMP:
		MLX5_SET(create_rmp_in, in, ctx.wq.dbr_umem_valid, 1);
		MLX5_SET(create_rmp_in, in, ctx.wq.wq_umem_valid, 1);
		creates = true;
		break;
	case MLX5_CMD_OP_CREATE_XRC_SRQ:
		MLX5_SET(create_xrc_srq_in, in, xrc_srq_umem_valid, 1);
		MLX5_SET(create_xrc_srq_in, in, xrc_srq_context_entry.dbr_umem_valid, 1);
		creates = true;
		break;
	case MLX5_CMD_OP_CREATE_GENERAL_OBJECT:
	case MLX5_CMD_OP_CREATE_DCT:
	case MLX5_CMD_OP_CREATE_PSV:
	case MLX5_CMD_OP_ALLOC_PD:
	case MLX5_CMD_OP_ALLOC_XRCD:
	case MLX5_CMD_OP_ALLOC_FLOW_COUNTER:
		creates = true;
		break;
	}
	if (!creates) {
		enum vhca_kind kind = row->kind ?: VHCA_QP;
		struct vhca_object *own = fuzz_object(f, kind, true);

		MLX5_SET(dealloc_pd_in, in, pd, own ? own->id : 0);
	}
}

/* The row of a command to send; what creates comes more often than what destroys. */
static const struct vhca_command *fuzz_row(struct fuzz *f)
{
	const struct vhca_command *row;
	unsigned int rows = 0;

	while (vhca_command_row(rows))
		rows++;
	do {
		row = vhca_command_row(fuzz_below(f, rows));
	} while (row->opcode == MLX5_CMD_OP_ALLOC_UAR || fuzz_is_rare(f, row->opcode) ||
		 (f->uid && !fuzz_user_may(row)));
	return row;
}

/**
 * fuzz_command - send any command
 * @f: on whose behalf
 */
void fuzz_command(struct fuzz *f)
{
	const struct vhca_command *row = fuzz_row(f);
	u32 out_len = row->out_size;
	u32 len;

	len = fuzz_start(f, row->opcode, f->uid ?: fuzz_one_in(f, 8) ? fuzz_below(f, 8) : 0);
	len = min_t(u32, fuzz_body(f, row->opcode, row->kind, len), FUZZ_MAX_MESSAGE);
	if (fuzz_one_in(f, 8))
		len = 16 + fuzz_below(f, FUZZ_MAX_MESSAGE - 15);
	if (fuzz_one_in(f, 3))
		out_len = max_t(u32, 8, fuzz_one_in(f, 2) ? fuzz_below(f, FUZZ_MAX_OUT + 1) :
				out_len + fuzz_below(f, 64));
	out_len = min_t(u32, out_len, FUZZ_MAX_OUT);
	fuzz_spoil(f, f->message, len, sizeof(u32));
	if (f->uid)
		fuzz_as_driver_sends(f, row);
	else if (fuzz_one_in(f, 64))
		MLX5_SET(alloc_pd_in, f->message, opcode, fuzz_below(f, 32) << 8);
	if (MLX5_GET(alloc_pd_in, f->message, opcode) == MLX5_CMD_OP_MODIFY_SQ)
		MLX5_SET(modify_sq_in, f->message, ctx.state, MLX5_SQC_STATE_ERR);
	fuzz_send(f, len, out_len, !f->uid && fuzz_one_in(f, 8));
}

/**
 * fuzz_ready - have a queue pair ready to send, if it can be
 * @f: on whose behalf
 * @qp: the queue pair
 */
void fuzz_ready(struct fuzz *f, struct vhca_qp *qp)
{
	static const u16 steps[] = {
		MLX5_CMD_OP_2RST_QP, MLX5_CMD_OP_RST2INIT_QP, MLX5_CMD_OP_INIT2INIT_QP,
		MLX5_CMD_OP_INIT2RTR_QP, MLX5_CMD_OP_RTR2RTS_QP,
	};
	u32 qpn = qp->object.id;
	unsigned int i;
	u32 len;

	/* As its owner does with the record of a queue that is reset. */
	if (qp->doorbell)
		memset(qp->doorbell, 0, 2 * sizeof(*qp->doorbell));
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		/* It brings the right to copy, and nothing else that is new. */
		if (steps[i] == MLX5_CMD_OP_INIT2INIT_QP && !fuzz_one_in(f, 4))
			continue;
		len = fuzz_start(f, steps[i], f->uid);
		len = fuzz_modify_qp(f, len);
		MLX5_SET(dealloc_pd_in, f->message, pd, qpn);
		/* To itself, most of the time. */
		if (i && !fuzz_one_in(f, 4))
			MLX5_SET(init2rtr_qp_in, f->message, qpc.remote_qpn, qpn);
		fuzz_send(f, len, vhca_command_find(steps[i])->out_size, false);
	}
}
