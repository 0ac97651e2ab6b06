// SPDX-License-Identifier: GPL-2.0
/*
 * What the virtual HCA does with queues: created of what does not fit, moved
 * from state to state out of order, destroyed while in use, and filled with
 * requests that no driver posts.
 */
#include "kselftest_harness.h"

#include "common/ifc.h"
#include "common/raw_bed.h"
#include "common/raw_queues.h"

FIXTURE(device_queues)
{
	struct bed bed;
	struct raw raw;
	struct raw_queues queues;
};

FIXTURE_SETUP(device_queues)
{
	self->queues.raw = &self->raw;
	self->queues.service = MLX5_QPC_ST_RC;
	self->queues.log_cq = 6;
	raw_bed_make(_metadata, &self->bed, &self->raw);
}

FIXTURE_TEARDOWN(device_queues)
{
	raw_bed_unmake(_metadata, &self->bed, &self->raw);
}

/* What an object is on cannot go before it. */
TEST_F(device_queues, destroyed_in_order)
{
	struct raw_queues *q = &self->queues;
	const struct {
		uint16_t opcode;
		uint32_t number;
		unsigned int users;
		const char *kind;
	} used[] = {
		{ MLX5_CMD_OP_DEALLOC_PD,	0, 1, "pd" },	/* by the QP */
		{ MLX5_CMD_OP_DESTROY_EQ,	0, 1, "eq" },	/* by the CQ */
		{ MLX5_CMD_OP_DESTROY_CQ,	0, 2, "cq" },	/* by the QP, for both queues */
		{ MLX5_CMD_OP_DEALLOC_UAR,	0, 3, "uar" },	/* by all three */
	};
	size_t i;

	marker_expect("mlx5_vhca: .* violation: destroy_of_busy ");
	ASSERT_STATUS(IFC_OK, raw_queues_create(q));
	for (i = 0; i < ARRAY_SIZE(used); i++) {
		const uint32_t numbers[] = { q->pd, q->eqn, q->cqn, q->uar };

		ASSERT_STATUS(IFC_BAD_RES_STATE,
			      raw_name(&self->raw, used[i].opcode, 0, numbers[i]));
		ASSERT_VIOLATION("destroy_of_busy", numbers[i], used[i].users, used[i].kind);
		ASSERT_EQ(1, vhca_find(&self->bed.dev, used[i].kind, numbers[i], NULL));
	}
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DESTROY_QP, 0, q->qpn));
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DESTROY_CQ, 0, q->cqn));
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DESTROY_EQ, 0, q->eqn));
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DEALLOC_PD, 0, q->pd));
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DEALLOC_UAR, 0, q->uar));
	ASSERT_NO_VIOLATION();
}

/* Send a CREATE with one thing of it changed; on the way out it is as before. */
#define ASSERT_REFUSED(status, type, set) \
do { \
	uint32_t __out[DEVX_ST_SZ_DW(alloc_pd_out)]; \
	raw_queues_##type(&self->queues, in); \
	set; \
	ASSERT_STATUS(status, raw_send(&self->raw, in, RAW_CREATE_BYTES(type), __out, \
				       sizeof(__out))) \
		TH_LOG(#set); \
} while (0)

#define NOT_RAM	0xfedcba9876000000ull

TEST_F(device_queues, eq_of_what_does_not_fit)
{
	uint32_t in[RAW_CREATE_DW(eq)], out[DEVX_ST_SZ_DW(create_eq_out)];
	void *eqc = DEVX_ADDR_OF(create_eq_in, in, eq_context_entry);

	marker_expect("mlx5_vhca: .* not RAM, refused");
	ASSERT_STATUS(IFC_OK, raw_queues_begin(&self->queues));
	ASSERT_REFUSED(IFC_BAD_PARAM, eq, DEVX_SET(eqc, eqc, log_eq_size, 17));
	ASSERT_REFUSED(IFC_BAD_PARAM, eq, DEVX_SET(eqc, eqc, log_eq_size, 31));
	ASSERT_REFUSED(IFC_BAD_INP_LEN, eq, DEVX_SET(eqc, eqc, log_eq_size, RAW_LOG_EQ + 1));
	ASSERT_REFUSED(IFC_BAD_INP_LEN, eq, DEVX_SET(eqc, eqc, page_offset, 1));
	ASSERT_REFUSED(IFC_BAD_PARAM, eq, DEVX_SET(eqc, eqc, intr, 0xfff));
	ASSERT_REFUSED(IFC_BAD_PARAM, eq, DEVX_SET(eqc, eqc, log_page_size, 31));
	ASSERT_REFUSED(IFC_BAD_RES, eq, DEVX_SET(eqc, eqc, uar_page, RAW_NOBODY));
	ASSERT_REFUSED(IFC_BAD_RES, eq, DEVX_SET(eqc, eqc, uar_page, 0));
	ASSERT_REFUSED(IFC_BAD_PARAM, eq, DEVX_SET64(create_eq_in, in, pas[0], NOT_RAM));
	ASSERT_REFUSED(IFC_BAD_PARAM, eq, DEVX_SET64(create_eq_in, in, pas[0], 0));
	/* The BAR of the device is no RAM either. */
	ASSERT_LEDGER(0, "eq");

	raw_queues_eq(&self->queues, in);
	ASSERT_STATUS(IFC_BAD_INP_LEN,
		      raw_send(&self->raw, in, DEVX_ST_SZ_BYTES(create_eq_in), out, sizeof(out)));
	ASSERT_LEDGER(0, "eq");
	ASSERT_NO_VIOLATION();
}

TEST_F(device_queues, cq_of_what_does_not_fit)
{
	uint32_t in[RAW_CREATE_DW(cq)];
	uint32_t eq[RAW_CREATE_DW(eq)], out[DEVX_ST_SZ_DW(create_eq_out)];
	void *cqc = DEVX_ADDR_OF(create_cq_in, in, cq_context);

	marker_expect("mlx5_vhca: .* not RAM, refused");
	ASSERT_STATUS(IFC_OK, raw_queues_begin(&self->queues));
	raw_queues_eq(&self->queues, eq);
	ASSERT_STATUS(IFC_OK, raw_command(&self->raw, eq, out));
	self->queues.eqn = DEVX_GET(create_eq_out, out, eq_number);
	ASSERT_REFUSED(IFC_BAD_PARAM, cq, DEVX_SET(cqc, cqc, log_cq_size, 19));
	ASSERT_REFUSED(IFC_BAD_PARAM, cq, DEVX_SET(cqc, cqc, log_cq_size, 31));
	ASSERT_REFUSED(IFC_BAD_INP_LEN, cq, DEVX_SET(cqc, cqc, log_cq_size, 7));
	ASSERT_REFUSED(IFC_BAD_INP_LEN, cq, DEVX_SET(cqc, cqc, cqe_sz, 1));
	ASSERT_REFUSED(IFC_BAD_INP_LEN, cq, DEVX_SET(cqc, cqc, cqe_sz, 2));
	ASSERT_REFUSED(IFC_BAD_PARAM, cq, DEVX_SET(cqc, cqc, cqe_sz, 3));
	ASSERT_REFUSED(IFC_BAD_PARAM, cq, DEVX_SET(cqc, cqc, log_page_size, 31));
	ASSERT_REFUSED(IFC_BAD_RES, cq, DEVX_SET(cqc, cqc, c_eqn_or_apu_element, 0));
	ASSERT_REFUSED(IFC_BAD_RES, cq, DEVX_SET(cqc, cqc, c_eqn_or_apu_element, 0xfe));
	ASSERT_REFUSED(IFC_BAD_RES, cq, DEVX_SET(cqc, cqc, uar_page, RAW_NOBODY));
	ASSERT_REFUSED(IFC_BAD_PARAM, cq, DEVX_SET64(cqc, cqc, dbr_addr, NOT_RAM));
	ASSERT_REFUSED(IFC_BAD_PARAM, cq, DEVX_SET64(cqc, cqc, dbr_addr, 0));
	ASSERT_REFUSED(IFC_BAD_PARAM, cq, DEVX_SET64(create_cq_in, in, pas[0], NOT_RAM));
	/* A refused CQ is on nothing. */
	ASSERT_LEDGER(0, "cq");
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DESTROY_EQ, 0, self->queues.eqn));
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DEALLOC_UAR, 0, self->queues.uar));
	ASSERT_NO_VIOLATION();
}

TEST_F(device_queues, qp_of_what_does_not_fit)
{
	uint32_t in[RAW_CREATE_DW(qp)];
	void *qpc = DEVX_ADDR_OF(create_qp_in, in, qpc);

	marker_expect("mlx5_vhca: .* not RAM, refused");
	ASSERT_STATUS(IFC_OK, raw_queues_create(&self->queues));
	ASSERT_REFUSED(IFC_BAD_PARAM, qp, DEVX_SET(qpc, qpc, log_rq_stride, 7));
	ASSERT_REFUSED(IFC_BAD_PARAM, qp, DEVX_SET(qpc, qpc, log_rq_size, 15);
		       DEVX_SET(qpc, qpc, log_rq_stride, 6));
	ASSERT_REFUSED(IFC_BAD_INP_LEN, qp, DEVX_SET(qpc, qpc, log_rq_size, 9));
	ASSERT_REFUSED(IFC_BAD_INP_LEN, qp, DEVX_SET(qpc, qpc, log_sq_size, 6));
	ASSERT_REFUSED(IFC_BAD_PARAM, qp, DEVX_SET(qpc, qpc, log_page_size, 31));
	ASSERT_REFUSED(IFC_BAD_RES, qp, DEVX_SET(qpc, qpc, pd, RAW_NOBODY));
	ASSERT_REFUSED(IFC_BAD_RES, qp, DEVX_SET(qpc, qpc, cqn_snd, RAW_NOBODY));
	ASSERT_REFUSED(IFC_BAD_RES, qp, DEVX_SET(qpc, qpc, cqn_rcv, RAW_NOBODY));
	ASSERT_REFUSED(IFC_BAD_RES, qp, DEVX_SET(qpc, qpc, uar_page, RAW_NOBODY));
	ASSERT_REFUSED(IFC_BAD_PARAM, qp, DEVX_SET64(qpc, qpc, dbr_addr, NOT_RAM));
	ASSERT_REFUSED(IFC_BAD_PARAM, qp, DEVX_SET64(qpc, qpc, dbr_addr, 0));
	ASSERT_REFUSED(IFC_BAD_PARAM, qp, DEVX_SET64(create_qp_in, in, pas[0], NOT_RAM));
	ASSERT_LEDGER(1, "qp");
	/* The one that was made is the only one on it. */
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DESTROY_QP, 0, self->queues.qpn));
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DESTROY_CQ, 0, self->queues.cqn));
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DEALLOC_PD, 0, self->queues.pd));
	ASSERT_NO_VIOLATION();
}

/* What the ledger says of a QP's state. */
/* A CREATE_RMP that must succeed: sixteen requests of 32 bytes in the spare page. */
#define RMP_BYTES	(DEVX_ST_SZ_BYTES(create_rmp_in) + 8)
#define LOG_REQUESTS	4

static void rmp_in(const struct raw_queues *q, uint32_t *in)
{
	void *wq = DEVX_ADDR_OF(create_rmp_in, in, ctx.wq);

	memset(in, 0, RMP_BYTES);
	DEVX_SET(create_rmp_in, in, opcode, MLX5_CMD_OP_CREATE_RMP);
	DEVX_SET(wq, wq, pd, q->pd);
	DEVX_SET(wq, wq, log_wq_sz, LOG_REQUESTS);
	DEVX_SET(wq, wq, log_wq_stride, 5);
	DEVX_SET(wq, wq, lwm, 3);
	DEVX_SET64(wq, wq, dbr_addr, q->spare_address + 2048);
	DEVX_SET64(wq, wq, pas[0], q->spare_address);
}

TEST_F(device_queues, rmp_of_what_does_not_fit)
{
	uint32_t in[RMP_BYTES / 4], out[DEVX_ST_SZ_DW(create_rmp_out)];
	uint32_t query[DEVX_ST_SZ_DW(query_rmp_in)] = {}, seen[DEVX_ST_SZ_DW(query_rmp_out)];
	uint32_t modify[DEVX_ST_SZ_DW(modify_rmp_in)] = {};
	void *wq = DEVX_ADDR_OF(create_rmp_in, in, ctx.wq);
	uint32_t rmpn;

#define ASSERT_RMP_REFUSED(status, set) \
do { \
	rmp_in(&self->queues, in); \
	set; \
	ASSERT_STATUS(status, raw_send(&self->raw, in, RMP_BYTES, out, sizeof(out))) \
		TH_LOG(#set); \
} while (0)
	marker_expect("mlx5_vhca: .* not RAM, refused");
	marker_expect("mlx5_vhca: .* violation: destroy_of_busy ");
	ASSERT_STATUS(IFC_OK, raw_queues_begin(&self->queues));
	ASSERT_RMP_REFUSED(IFC_BAD_PARAM, DEVX_SET(wq, wq, log_wq_sz, 16));
	ASSERT_RMP_REFUSED(IFC_BAD_PARAM, DEVX_SET(wq, wq, log_wq_stride, 4));
	ASSERT_RMP_REFUSED(IFC_BAD_PARAM, DEVX_SET(wq, wq, log_wq_stride, 10));
	ASSERT_RMP_REFUSED(IFC_BAD_PARAM, DEVX_SET(wq, wq, wq_type, 1));
	ASSERT_RMP_REFUSED(IFC_BAD_PARAM, DEVX_SET(wq, wq, wq_umem_valid, 1));
	ASSERT_RMP_REFUSED(IFC_BAD_PARAM, DEVX_SET(wq, wq, log_wq_pg_sz, 31));
	ASSERT_RMP_REFUSED(IFC_BAD_INP_LEN, DEVX_SET(wq, wq, log_wq_sz, 8));
	ASSERT_RMP_REFUSED(IFC_BAD_RES, DEVX_SET(wq, wq, pd, RAW_NOBODY));
	ASSERT_RMP_REFUSED(IFC_BAD_PARAM, DEVX_SET64(wq, wq, dbr_addr, NOT_RAM));
	ASSERT_RMP_REFUSED(IFC_BAD_PARAM, DEVX_SET64(wq, wq, pas[0], NOT_RAM));
	ASSERT_LEDGER(0, "rmp");
	ASSERT_RMP_REFUSED(IFC_OK, DEVX_SET(wq, wq, lwm, 3));
	rmpn = DEVX_GET(create_rmp_out, out, rmpn);

	/* The limit is read as it was given, and set. */
	DEVX_SET(query_rmp_in, query, opcode, MLX5_CMD_OP_QUERY_RMP);
	DEVX_SET(query_rmp_in, query, rmpn, rmpn);
	ASSERT_STATUS(IFC_OK, raw_command(&self->raw, query, seen));
	ASSERT_EQ(3u, DEVX_GET(query_rmp_out, seen, rmp_context.wq.lwm));
	ASSERT_EQ(self->queues.pd, DEVX_GET(query_rmp_out, seen, rmp_context.wq.pd));
	DEVX_SET(modify_rmp_in, modify, opcode, MLX5_CMD_OP_MODIFY_RMP);
	DEVX_SET(modify_rmp_in, modify, rmpn, rmpn);
	DEVX_SET(modify_rmp_in, modify, bitmask.lwm, 1);
	DEVX_SET(modify_rmp_in, modify, ctx.wq.lwm, 7);
	ASSERT_STATUS(IFC_OK, raw_command(&self->raw, modify, out));
	ASSERT_STATUS(IFC_OK, raw_command(&self->raw, query, seen));
	ASSERT_EQ(7u, DEVX_GET(query_rmp_out, seen, rmp_context.wq.lwm));

	/* The PD goes after it. */
	ASSERT_STATUS(IFC_BAD_RES_STATE,
		      raw_name(&self->raw, MLX5_CMD_OP_DEALLOC_PD, 0, self->queues.pd));
	ASSERT_VIOLATION("destroy_of_busy", self->queues.pd, 1, "pd");
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DESTROY_RMP, 0, rmpn));
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DEALLOC_PD, 0, self->queues.pd));
	ASSERT_NO_VIOLATION();
}

/* Where CREATE_CQ has the umem, for which mlx5_ifc.h has no names; in dwords. */
#define CQ_UMEM_OFFSET	(0x2a0 / 32)	/* the lower half */
#define CQ_UMEM_ID	(0x2c0 / 32)

#define UMEM_BYTES	(DEVX_ST_SZ_BYTES(create_umem_in) + 8)
/* Of a page in its list: it may be read and written. */
#define UMEM_RIGHTS	3

/* A queue in registered memory: within it, of the same user context, and before it goes. */
TEST_F(device_queues, cq_on_umem)
{
	uint32_t umem[UMEM_BYTES / 4] = {}, out[DEVX_ST_SZ_DW(create_umem_out)];
	uint32_t in[RAW_CREATE_DW(cq)], eq[RAW_CREATE_DW(eq)];
	uint32_t eq_out[DEVX_ST_SZ_DW(create_eq_out)], id, uctx;
	struct raw_queues *q = &self->queues;

	marker_expect("mlx5_vhca: .* violation: destroy_of_busy ");
	ASSERT_STATUS(IFC_OK, raw_queues_begin(q));
	raw_queues_eq(q, eq);
	ASSERT_STATUS(IFC_OK, raw_command(&self->raw, eq, eq_out));
	q->eqn = DEVX_GET(create_eq_out, eq_out, eq_number);
	ASSERT_STATUS(IFC_OK, raw_create(&self->raw, MLX5_CMD_OP_CREATE_UCTX, 0, &uctx));
	DEVX_SET(create_umem_in, umem, opcode, MLX5_CMD_OP_CREATE_UMEM);
	DEVX_SET64(create_umem_in, umem, umem.num_of_mtt, 2);
	ASSERT_STATUS(IFC_BAD_INP_LEN, raw_send(&self->raw, umem, UMEM_BYTES, out, sizeof(out)));
	DEVX_SET64(create_umem_in, umem, umem.num_of_mtt, 1);
	DEVX_SET(create_umem_in, umem, umem.page_offset, 4096);
	ASSERT_STATUS(IFC_BAD_PARAM, raw_send(&self->raw, umem, UMEM_BYTES, out, sizeof(out)));
	DEVX_SET(create_umem_in, umem, umem.page_offset, 64);
	umem[UMEM_BYTES / 4 - 2] = htobe32(q->spare_address >> 32);
	umem[UMEM_BYTES / 4 - 1] = htobe32(q->spare_address | UMEM_RIGHTS);
	ASSERT_STATUS(IFC_OK, raw_send(&self->raw, umem, UMEM_BYTES, out, sizeof(out)));
	id = DEVX_GET(create_umem_out, out, umem_id);

#define ASSERT_ON_UMEM(status, number, offset, uid_) \
do { \
	raw_queues_cq(q, in); \
	DEVX_SET(create_cq_in, in, uid, uid_); \
	DEVX_SET(create_cq_in, in, cq_context.log_cq_size, 4); \
	DEVX_SET(create_cq_in, in, cq_umem_valid, 1); \
	in[CQ_UMEM_OFFSET] = htobe32(offset); \
	in[CQ_UMEM_ID] = htobe32(number); \
	ASSERT_STATUS(status, raw_send(&self->raw, in, RAW_CREATE_BYTES(cq), eq_out, \
				       sizeof(eq_out))); \
} while (0)
	ASSERT_ON_UMEM(IFC_BAD_RES, RAW_NOBODY, 0, 0);
	ASSERT_ON_UMEM(IFC_BAD_RES, id, 0, uctx);
	/* Sixteen entries of 64 bytes, behind the 64 bytes that are not of the memory. */
	ASSERT_ON_UMEM(IFC_BAD_PARAM, id, 4096 - 1024, 0);
	ASSERT_ON_UMEM(IFC_BAD_PARAM, id, 0xffffffc0, 0);
	ASSERT_LEDGER(0, "cq");
	ASSERT_ON_UMEM(IFC_OK, id, 4096 - 1024 - 64, 0);
	q->cqn = DEVX_GET(create_cq_out, eq_out, cqn);
	ASSERT_STATUS(IFC_BAD_RES_STATE,
		      raw_name(&self->raw, MLX5_CMD_OP_DESTROY_UMEM, 0, id));
	ASSERT_VIOLATION("destroy_of_busy", id, 1, "umem");
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DESTROY_CQ, 0, q->cqn));
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, MLX5_CMD_OP_DESTROY_UMEM, 0, id));
	ASSERT_NO_VIOLATION();
}

static bool qp_is(const struct device *dev, uint32_t qpn, const char *state)
{
	struct vhca_file file;
	char kind[32], is[16];
	bool found = false;
	unsigned int i;

	if (vhca_open(dev, "ledger", &file))
		return false;
	for (i = 0; i < file.count && !found; i++)
		found = vhca_key(file.record[i], "kind", kind, sizeof(kind)) &&
			!strcmp(kind, "qp") && vhca_number(file.record[i], "id") == qpn &&
			vhca_key(file.record[i], "state", is, sizeof(is)) && !strcmp(is, state);
	vhca_close(&file);
	return found;
}

/* Every transition from every state: those of the specification and no other. */
TEST_F(device_queues, qp_states)
{
	enum { RST, INIT, RTR, RTS, ERR, STATES };
	static const char * const names[] = { "rst", "init", "rtr", "rts", "err" };
	static const struct {
		uint16_t opcode;
		int to[STATES];		/* from each state; -1 if it is refused */
	} moves[] = {
		{ MLX5_CMD_OP_RST2INIT_QP,	{ INIT, -1, -1, -1, -1 } },
		{ MLX5_CMD_OP_INIT2INIT_QP,	{ -1, INIT, -1, -1, -1 } },
		{ MLX5_CMD_OP_INIT2RTR_QP,	{ -1, RTR, -1, -1, -1 } },
		{ MLX5_CMD_OP_RTR2RTS_QP,	{ -1, -1, RTS, -1, -1 } },
		{ MLX5_CMD_OP_RTS2RTS_QP,	{ -1, -1, -1, RTS, -1 } },
		{ MLX5_CMD_OP_SQERR2RTS_QP,	{ -1, -1, -1, -1, -1 } },
		{ MLX5_CMD_OP_2ERR_QP,		{ ERR, ERR, ERR, ERR, ERR } },
		{ MLX5_CMD_OP_2RST_QP,		{ RST, RST, RST, RST, RST } },
	};
	static const uint16_t way[] = {
		MLX5_CMD_OP_RST2INIT_QP, MLX5_CMD_OP_INIT2RTR_QP, MLX5_CMD_OP_RTR2RTS_QP,
	};
	struct raw_queues *q = &self->queues;
	size_t m;
	int from, i, to;

	ASSERT_STATUS(IFC_OK, raw_queues_create(q));
	for (from = RST; from < STATES; from++) {
		for (m = 0; m < ARRAY_SIZE(moves); m++) {
			ASSERT_STATUS(IFC_OK, raw_queues_modify(q, MLX5_CMD_OP_2RST_QP));
			for (i = 0; i < from && from != ERR; i++)
				ASSERT_STATUS(IFC_OK, raw_queues_modify(q, way[i]));
			if (from == ERR)
				ASSERT_STATUS(IFC_OK, raw_queues_modify(q, MLX5_CMD_OP_2ERR_QP));
			ASSERT_TRUE(qp_is(&self->bed.dev, q->qpn, names[from]));
			to = moves[m].to[from];
			ASSERT_STATUS(to < 0 ? IFC_BAD_QP_STATE : IFC_OK,
				      raw_queues_modify(q, moves[m].opcode))
				TH_LOG("command 0x%x from %s", moves[m].opcode, names[from]);
			ASSERT_TRUE(qp_is(&self->bed.dev, q->qpn, names[to < 0 ? from : to]))
				TH_LOG("command 0x%x from %s", moves[m].opcode, names[from]);
		}
	}
	ASSERT_NO_VIOLATION();
}

/* Wait for violations, and look at the first of them, the others being announced. */
#define ASSERT_SEEN(count, name, which, more) \
do { \
	struct vhca_violation __violation; \
	self->bed.before.violations += count; \
	ASSERT_EQ(self->bed.before.violations, \
		  raw_bed_wait(&self->bed.dev, self->bed.before.violations)); \
	ASSERT_EQ(1, vhca_violation_at(&self->bed.dev, self->bed.before.violations - count, \
				       &__violation)); \
	ASSERT_STREQ(name, __violation.what); \
	ASSERT_EQ((uint64_t)(which), __violation.object); \
	ASSERT_EQ((uint64_t)(more), __violation.detail); \
} while (0)

/* Requests that begin before the doorbell's index and end behind it. */
TEST_F(device_queues, wqe_beyond_doorbell)
{
	struct raw_queues *q = &self->queues;

	marker_expect("mlx5_vhca: .* violation: (wqe_beyond_doorbell|sq_lost) ");
	ASSERT_STATUS(IFC_OK, raw_queues_create(q));
	ASSERT_STATUS(IFC_OK, raw_queues_ready(q));
	raw_queues_wqe(q, 0, MLX5_OPCODE_NOP, 1, 0);
	raw_queues_wqe(q, 1, MLX5_OPCODE_NOP, 5, 0);
	raw_queues_ring(q, true, 2);
	ASSERT_SEEN(2, "wqe_beyond_doorbell", q->qpn, 1);
	ASSERT_TRUE(qp_is(&self->bed.dev, q->qpn, "err"));
}

/* More posted than the queue holds. */
TEST_F(device_queues, sq_overrun)
{
	struct raw_queues *q = &self->queues;
	const unsigned int posted = (1u << RAW_LOG_SQ) + 1;

	marker_expect("mlx5_vhca: .* violation: sq_overrun ");
	ASSERT_STATUS(IFC_OK, raw_queues_create(q));
	ASSERT_STATUS(IFC_OK, raw_queues_ready(q));
	raw_queues_ring(q, true, posted);
	ASSERT_SEEN(1, "sq_overrun", q->qpn, posted);
	ASSERT_TRUE(qp_is(&self->bed.dev, q->qpn, "err"));
}

TEST_F(device_queues, rq_overrun)
{
	struct raw_queues *q = &self->queues;
	const unsigned int posted = (1u << RAW_LOG_RQ) + 1;

	marker_expect("mlx5_vhca: .* violation: rq_overrun ");
	ASSERT_STATUS(IFC_OK, raw_queues_create(q));
	ASSERT_STATUS(IFC_OK, raw_queues_ready(q));
	raw_queues_ring(q, false, posted);
	ASSERT_STATUS(IFC_OK, raw_queues_modify(q, MLX5_CMD_OP_2ERR_QP));
	ASSERT_SEEN(1, "rq_overrun", q->qpn, posted);
}

/* One completion more than the queue holds: it is lost, and nothing else is written. */
TEST_F(device_queues, cq_overrun)
{
	struct raw_queues *q = &self->queues;
	const unsigned int entries = 4;
	unsigned int i;

	marker_expect("mlx5_vhca: .* violation: cq_overrun ");
	/* The driver hears of it, and knows no such queue. */
	marker_expect("mlx5_core .*(CQ error on CQN|event for bogus CQ)");
	q->log_cq = 2;
	ASSERT_STATUS(IFC_OK, raw_queues_create(q));
	ASSERT_STATUS(IFC_OK, raw_queues_ready(q));
	for (i = 0; i <= entries; i++)
		raw_queues_wqe(q, i, MLX5_OPCODE_NOP, 1, 0);
	raw_queues_ring(q, true, entries + 1);
	ASSERT_SEEN(1, "cq_overrun", q->cqn, entries);
	for (i = 0; i < entries; i++) {
		struct mlx5_cqe64 *cqe = (struct mlx5_cqe64 *)(q->cq + i * sizeof(*cqe));

		EXPECT_EQ(MLX5_CQE_REQ << 4, cqe->op_own);
		EXPECT_EQ(i, be16toh(cqe->wqe_counter));
	}
	for (i = entries * sizeof(struct mlx5_cqe64); i < 4096; i++)
		ASSERT_EQ(0xff, q->cq[i]);
}

/* Flags of the UMR control segment, from linux/mlx5/device.h. */
#define UMR_CHECK_NOT_FREE	0x20
#define UMR_CHECK_FREE		0x40
#define UMR_INLINE		0x80

#define KEY_LENGTH	4096u

#define UMR_DS	((16 + 48 + 64 + 64) / 16)
#define UMR_BBS	3

/* A request with one unit of inline translations, all of them 0. */
static void post_umr(struct raw_queues *q, uint32_t key, uint8_t flags, uint16_t octowords,
		     uint64_t mask)
{
	struct mlx5_wqe_umr_ctrl_seg *umr;

	memset(q->wq + RAW_SQ_OFFSET, 0, UMR_BBS * RAW_BB);
	umr = raw_queues_wqe(q, 0, MLX5_OPCODE_UMR, UMR_DS, key << 8);
	umr->flags = flags;
	umr->klm_octowords = htobe16(octowords);
	umr->mkey_mask = htobe64(mask);
	raw_queues_ring(q, true, UMR_BBS);
}

FIXTURE(device_umr)
{
	struct bed bed;
	struct raw raw;
	struct raw_queues queues;
	uint32_t key;
};

/* A key of the given kind, and a queue pair of the same PD. */
FIXTURE_VARIANT(device_umr)
{
	const char *what;
	bool by_key;		/* the key is the object, and not some other */
	bool umr_en;
	bool free;
	uint8_t flags;
	uint16_t octowords;
	uint64_t detail;	/* 0: the QP's number */
};

FIXTURE_VARIANT_ADD(device_umr, unknown_mkey) {
	.what = "umr_unknown_mkey", .umr_en = true, .flags = UMR_INLINE,
};

FIXTURE_VARIANT_ADD(device_umr, not_enabled) {
	.what = "umr_not_enabled", .by_key = true, .flags = UMR_INLINE,
};

FIXTURE_VARIANT_ADD(device_umr, check_free) {
	.what = "umr_check_failed", .by_key = true, .umr_en = true, .free = true,
	.flags = UMR_INLINE | UMR_CHECK_FREE, .detail = UMR_INLINE | UMR_CHECK_FREE,
};

FIXTURE_VARIANT_ADD(device_umr, check_not_free) {
	.what = "umr_check_failed", .by_key = true, .umr_en = true,
	.flags = UMR_INLINE | UMR_CHECK_NOT_FREE, .detail = UMR_INLINE | UMR_CHECK_NOT_FREE,
};

FIXTURE_VARIANT_ADD(device_umr, out_of_range) {
	.what = "umr_out_of_range", .by_key = true, .umr_en = true,
	.flags = UMR_INLINE, .octowords = 8, .detail = 8,
};

FIXTURE_SETUP(device_umr)
{
	uint32_t in[DEVX_ST_SZ_DW(create_mkey_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(create_mkey_out)];
	void *mkc = DEVX_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);

	self->queues.raw = &self->raw;
	self->queues.service = MLX5_QPC_ST_RC;
	self->queues.log_cq = 6;
	if (!raw_bed_make(_metadata, &self->bed, &self->raw))
		return;
	ASSERT_STATUS(IFC_OK, raw_queues_create(&self->queues));
	ASSERT_STATUS(IFC_OK, raw_queues_ready(&self->queues));
	DEVX_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	DEVX_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_MTT);
	DEVX_SET(mkc, mkc, pd, self->queues.pd);
	DEVX_SET(mkc, mkc, umr_en, variant->umr_en);
	DEVX_SET(mkc, mkc, free, variant->free);
	DEVX_SET(mkc, mkc, qpn, 0xffffff);
	DEVX_SET(mkc, mkc, log_page_size, 12);
	DEVX_SET64(mkc, mkc, len, KEY_LENGTH);
	/* One unit of 64 bytes. */
	DEVX_SET(mkc, mkc, translations_octword_size, 4);
	ASSERT_STATUS(IFC_OK, raw_command(&self->raw, in, out));
	self->key = DEVX_GET(create_mkey_out, out, mkey_index);
}

FIXTURE_TEARDOWN(device_umr)
{
	raw_bed_unmake(_metadata, &self->bed, &self->raw);
}

/* The request fails, the QP with it, and the key is what it was. */
TEST_F(device_umr, refused)
{
	struct raw_queues *q = &self->queues;
	const uint32_t key = variant->by_key ? self->key : RAW_NOBODY;
	const uint64_t mask_len = 1, mask_free = 1ull << 29;
	struct mlx5_err_cqe *cqe = (struct mlx5_err_cqe *)q->cq;
	struct vhca_file file;
	unsigned int i, seen = 0;
	char kind[32];

	marker_expect("mlx5_vhca: .* violation: umr_");
	/* Both would be set to 0, if it were done. */
	post_umr(q, key, variant->flags, variant->octowords, mask_len | mask_free);
	ASSERT_SEEN(1, variant->what, key, variant->detail ?: q->qpn);
	ASSERT_TRUE(qp_is(&self->bed.dev, q->qpn, "err"));
	ASSERT_EQ(MLX5_CQE_REQ_ERR << 4, cqe->op_own);
	ASSERT_NE(0, cqe->syndrome);

	ASSERT_EQ(0, vhca_open(&self->bed.dev, "ledger", &file));
	for (i = 0; i < file.count; i++) {
		if (!vhca_key(file.record[i], "kind", kind, sizeof(kind)) ||
		    strcmp(kind, "mkey") || vhca_number(file.record[i], "id") != self->key)
			continue;
		EXPECT_EQ(variant->free, vhca_number(file.record[i], "free"));
		EXPECT_EQ(KEY_LENGTH, vhca_number(file.record[i], "length"));
		seen++;
	}
	vhca_close(&file);
	ASSERT_EQ(1u, seen);
}

int main(int argc, char **argv)
{
	return raw_bed_main(argc, argv);
}
