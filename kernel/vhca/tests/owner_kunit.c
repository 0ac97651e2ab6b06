// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of user contexts: what a user creates by DEVX is on what is that user's
 * own, whatever numbers it writes into a command.
 */
#include <linux/slab.h>

#include "device_kunit.h"

#define USER	7
#define OTHER	8

/* An object without anything in it, as its number is all that is looked at. */
static u32 add(struct kunit *test, enum vhca_kind kind, u16 uid)
{
	size_t size = max(max3(sizeof(struct vhca_cq), sizeof(struct vhca_srq),
			       sizeof(struct vhca_object)), sizeof(struct vhca_eq));
	struct vhca_object *object = vhca_kunit_add(test, kind, uid, size);

	return object->id;
}

static struct vhca_cmd *command(struct kunit *test, u16 opcode, u16 uid)
{
	const struct vhca_command *row = vhca_command_find(opcode);
	struct vhca_cmd *cmd;

	KUNIT_ASSERT_NOT_NULL(test, row);
	cmd = vhca_kunit_command(test, opcode, row->in_size, row->out_size);
	MLX5_SET(alloc_pd_in, cmd->in, uid, uid);
	return cmd;
}

/* A queue pair without queues needs no memory. */
static struct vhca_cmd *create_qp(struct kunit *test, u16 uid, u8 service)
{
	struct vhca_cmd *cmd = command(test, MLX5_CMD_OP_CREATE_QP, uid);
	void *qpc = MLX5_ADDR_OF(create_qp_in, cmd->in, qpc);

	MLX5_SET(qpc, qpc, st, service);
	MLX5_SET(qpc, qpc, no_sq, 1);
	MLX5_SET(qpc, qpc, rq_type, 3);
	if (uid)
		MLX5_SET(qpc, qpc, pd, add(test, VHCA_PD, uid));
	return cmd;
}

/* What is in the user's own context, in another's, and in none. */
static const u16 owners[] = { USER, OTHER, 0 };

/* The user is refused all but its own; the driver may name everything. */
static void expect_own(struct kunit *test, struct vhca_cmd *cmd, u16 uid, u16 owner,
		       const char *what)
{
	bool good = !uid || owner == uid;
	struct vhca *v = test->priv;

	KUNIT_EXPECT_EQ_MSG(test, vhca_kunit_execute(test, cmd),
			    good ? MLX5_CMD_STAT_OK : MLX5_CMD_STAT_BAD_RES_ERR,
			    "%s of user context %u, command of %u", what, owner, uid);
	/* That is no fault of the driver's, who cannot know. */
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 0);
}

static void owner_of_qp(struct kunit *test)
{
	struct vhca_cmd *cmd;
	unsigned int i, uid, n;
	void *qpc;

	for (n = 0; n < 2 * ARRAY_SIZE(owners); n++) {
		i = n / 2;
		uid = n % 2 ? USER : 0;
		cmd = create_qp(test, uid, MLX5_QP_ST_RC);
		qpc = MLX5_ADDR_OF(create_qp_in, cmd->in, qpc);
		MLX5_SET(qpc, qpc, pd, add(test, VHCA_PD, owners[i]));
		expect_own(test, cmd, uid, owners[i], "domain");

		cmd = create_qp(test, uid, MLX5_QP_ST_RC);
		qpc = MLX5_ADDR_OF(create_qp_in, cmd->in, qpc);
		MLX5_SET(qpc, qpc, cqn_snd, add(test, VHCA_CQ, owners[i]));
		expect_own(test, cmd, uid, owners[i], "CQ of the send queue");

		cmd = create_qp(test, uid, MLX5_QP_ST_RC);
		qpc = MLX5_ADDR_OF(create_qp_in, cmd->in, qpc);
		MLX5_SET(qpc, qpc, cqn_rcv, add(test, VHCA_CQ, owners[i]));
		expect_own(test, cmd, uid, owners[i], "CQ of the receive queue");

		cmd = create_qp(test, uid, MLX5_QP_ST_RC);
		qpc = MLX5_ADDR_OF(create_qp_in, cmd->in, qpc);
		MLX5_SET(qpc, qpc, rq_type, 1);
		MLX5_SET(qpc, qpc, srqn_rmpn_xrqn, add(test, VHCA_RMP, owners[i]));
		expect_own(test, cmd, uid, owners[i], "shared receive queue");

		cmd = create_qp(test, uid, MLX5_QP_ST_XRC);
		qpc = MLX5_ADDR_OF(create_qp_in, cmd->in, qpc);
		MLX5_SET(qpc, qpc, xrcd, add(test, VHCA_XRCD, owners[i]));
		expect_own(test, cmd, uid, owners[i], "XRC domain");
	}
}

static void owner_of_dct(struct kunit *test)
{
	unsigned int i, uid, n, foreign;
	struct vhca_cmd *cmd;
	void *dctc;

	for (n = 0; n < 2 * ARRAY_SIZE(owners); n++) {
		i = n / 2;
		uid = n % 2 ? USER : 0;
		for (foreign = 0; foreign < 3; foreign++) {
			cmd = command(test, MLX5_CMD_OP_CREATE_DCT, uid);
			dctc = MLX5_ADDR_OF(create_dct_in, cmd->in, dct_context_entry);
			MLX5_SET(dctc, dctc, pd,
				 add(test, VHCA_PD, foreign == 0 ? owners[i] : uid));
			MLX5_SET(dctc, dctc, cqn,
				 add(test, VHCA_CQ, foreign == 1 ? owners[i] : uid));
			MLX5_SET(dctc, dctc, srqn_xrqn,
				 add(test, VHCA_RMP, foreign == 2 ? owners[i] : uid));
			expect_own(test, cmd, uid, owners[i], foreign == 0 ? "domain" :
				   foreign == 1 ? "CQ" : "shared receive queue");
		}
	}
}

/* Without a doorbell record these need no memory. */
static void owner_of_shared_queue(struct kunit *test)
{
	struct vhca_cmd *cmd;
	unsigned int i, uid, n;
	void *srqc;

	for (n = 0; n < 2 * ARRAY_SIZE(owners); n++) {
		i = n / 2;
		uid = n % 2 ? USER : 0;
		cmd = command(test, MLX5_CMD_OP_CREATE_RMP, uid);
		MLX5_SET(create_rmp_in, cmd->in, ctx.wq.pd, add(test, VHCA_PD, owners[i]));
		expect_own(test, cmd, uid, owners[i], "domain of an RMP");

		cmd = command(test, MLX5_CMD_OP_CREATE_XRC_SRQ, uid);
		srqc = MLX5_ADDR_OF(create_xrc_srq_in, cmd->in, xrc_srq_context_entry);
		MLX5_SET(xrc_srqc, srqc, pd, add(test, VHCA_PD, owners[i]));
		expect_own(test, cmd, uid, owners[i], "domain of an XRC SRQ");

		cmd = command(test, MLX5_CMD_OP_CREATE_XRC_SRQ, uid);
		srqc = MLX5_ADDR_OF(create_xrc_srq_in, cmd->in, xrc_srq_context_entry);
		MLX5_SET(xrc_srqc, srqc, cqn, add(test, VHCA_CQ, owners[i]));
		expect_own(test, cmd, uid, owners[i], "CQ of an XRC SRQ");

		cmd = command(test, MLX5_CMD_OP_CREATE_XRC_SRQ, uid);
		srqc = MLX5_ADDR_OF(create_xrc_srq_in, cmd->in, xrc_srq_context_entry);
		MLX5_SET(xrc_srqc, srqc, xrcd, add(test, VHCA_XRCD, owners[i]));
		expect_own(test, cmd, uid, owners[i], "XRC domain of an XRC SRQ");
	}
}

/* No domain at all is none of the user's either. */
static void owner_of_no_domain(struct kunit *test)
{
	struct vhca_cmd *cmd = create_qp(test, USER, MLX5_QP_ST_RC);
	struct vhca *v = test->priv;

	MLX5_SET(create_qp_in, cmd->in, qpc.pd, 0);
	KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_BAD_RES_ERR);
	KUNIT_EXPECT_EQ(test, v->recorder.nr_violations, 0);
}

/* A page that the user has registered, with these rights. */
static u32 create_umem(struct kunit *test, void *page, u64 rights)
{
	const struct vhca_command *row = vhca_command_find(MLX5_CMD_OP_CREATE_UMEM);
	struct vhca_cmd *cmd = vhca_kunit_command(test, MLX5_CMD_OP_CREATE_UMEM,
						  row->in_size + sizeof(__be64),
						  row->out_size);
	void *umem = MLX5_ADDR_OF(create_umem_in, cmd->in, umem);

	MLX5_SET(alloc_pd_in, cmd->in, uid, USER);
	MLX5_SET64(umem, umem, num_of_mtt, 1);
	*(__be64 *)MLX5_ADDR_OF(umem, umem, mtt) = cpu_to_be64(virt_to_phys(page) | rights);
	KUNIT_ASSERT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_OK);
	return MLX5_GET(create_umem_out, cmd->out, umem_id);
}

/* Entries are written to registered memory if that may be written, and nowhere else. */
static void owner_of_read_only_memory(struct kunit *test)
{
	static const u64 rights[] = { MLX5_EN_RD, MLX5_EN_RD | MLX5_EN_WR };
	u8 *page = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	struct vhca_cmd *cmd;
	unsigned int i;
	u32 umem;
	void *cqc;

	KUNIT_ASSERT_NOT_NULL(test, page);
	for (i = 0; i < ARRAY_SIZE(rights); i++) {
		umem = create_umem(test, page, rights[i]);
		cmd = command(test, MLX5_CMD_OP_CREATE_CQ, USER);
		cqc = MLX5_ADDR_OF(create_cq_in, cmd->in, cq_context);
		MLX5_SET(cqc, cqc, c_eqn_or_apu_element, add(test, VHCA_EQ, 0));
		MLX5_SET(cqc, cqc, uar_page, add(test, VHCA_UAR, USER));
		MLX5_SET(cqc, cqc, dbr_umem_valid, 1);
		vhca_kunit_put(cqc, VHCA_CQC_DBR_UMEM_ID, umem);
		MLX5_SET(create_cq_in, cmd->in, cq_umem_valid, 1);
		vhca_kunit_put(cmd->in, VHCA_CREATE_CQ_UMEM_ID, umem);
		vhca_kunit_put(cmd->in, VHCA_CREATE_CQ_UMEM_OFFSET + 1, 64);
		KUNIT_EXPECT_EQ_MSG(test, vhca_kunit_execute(test, cmd),
				    i ? MLX5_CMD_STAT_OK : MLX5_CMD_STAT_BAD_PARAM_ERR,
				    "rights 0x%llx", rights[i]);
		if (!i)
			KUNIT_EXPECT_NULL(test, memchr_inv(page, 0, PAGE_SIZE));
	}
}

/* A doorbell record that lies in two pages has one that is not the user's. */
static void owner_of_doorbell(struct kunit *test)
{
	u8 *pages = kunit_kzalloc(test, 2 * PAGE_SIZE, GFP_KERNEL);
	struct vhca_cmd *cmd = command(test, MLX5_CMD_OP_CREATE_CQ, USER);
	void *cqc = MLX5_ADDR_OF(create_cq_in, cmd->in, cq_context);

	KUNIT_ASSERT_NOT_NULL(test, pages);
	MLX5_SET(cqc, cqc, c_eqn_or_apu_element, add(test, VHCA_EQ, 0));
	MLX5_SET(cqc, cqc, uar_page, add(test, VHCA_UAR, USER));
	MLX5_SET64(cqc, cqc, dbr_addr, virt_to_phys(pages) + PAGE_SIZE - sizeof(__be32));
	KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_BAD_PARAM_ERR);
	KUNIT_EXPECT_NULL(test, memchr_inv(pages, 0, 2 * PAGE_SIZE));
}

/* A target of DC is no queue pair that DESTROY_QP ends or QUERY_QP shows. */
static void owner_of_other_form(struct kunit *test)
{
	static const u16 opcodes[] = { MLX5_CMD_OP_QUERY_QP, MLX5_CMD_OP_DESTROY_QP };
	struct vhca_cmd *cmd = command(test, MLX5_CMD_OP_CREATE_DCT, 0);
	void *dctc = MLX5_ADDR_OF(create_dct_in, cmd->in, dct_context_entry);
	struct vhca *v = test->priv;
	unsigned int i;
	u32 dctn;

	MLX5_SET(dctc, dctc, pd, add(test, VHCA_PD, 0));
	MLX5_SET(dctc, dctc, cqn, add(test, VHCA_CQ, 0));
	MLX5_SET(dctc, dctc, srqn_xrqn, add(test, VHCA_RMP, 0));
	KUNIT_ASSERT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_OK);
	dctn = MLX5_GET(create_dct_out, cmd->out, dctn);
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		cmd = command(test, opcodes[i], 0);
		MLX5_SET(destroy_qp_in, cmd->in, qpn, dctn);
		KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd),
				MLX5_CMD_STAT_BAD_RES_ERR);
	}
	KUNIT_EXPECT_NOT_NULL(test, vhca_ledger_find(v, VHCA_QP, dctn));
	vhca_kunit_expect_violation(test, 0, "destroy_of_unknown", dctn,
				    MLX5_CMD_OP_DESTROY_QP);
}

/* The driver's alone are those that may change all keys or speak for the port. */
static void owner_of_registration(struct kunit *test)
{
	static const u8 others[] = { MLX5_QP_ST_QP0, MLX5_QP_ST_QP1 };
	struct vhca *v = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, create_qp(test, USER, others[i])),
				MLX5_CMD_STAT_BAD_PARAM_ERR);
		KUNIT_EXPECT_EQ(test, v->gsi, 0);
		KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, create_qp(test, 0, others[i])),
				MLX5_CMD_STAT_OK);
	}
	KUNIT_EXPECT_NE(test, v->gsi, 0);
	KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, create_qp(test, USER,
								 MLX5_QP_ST_REG_UMR)),
			MLX5_CMD_STAT_BAD_PARAM_ERR);
	KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, create_qp(test, 0,
								 MLX5_QP_ST_REG_UMR)),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, create_qp(test, USER, MLX5_QP_ST_RC)),
			MLX5_CMD_STAT_OK);
}

/* What a queue pair that never receives would receive from leads to nothing. */
static void owner_of_unused_queue(struct kunit *test)
{
	struct vhca_cmd *cmd;
	void *qpc;

	cmd = create_qp(test, USER, MLX5_QP_ST_DCI);
	qpc = MLX5_ADDR_OF(create_qp_in, cmd->in, qpc);
	MLX5_SET(qpc, qpc, rq_type, 1);
	MLX5_SET(qpc, qpc, srqn_rmpn_xrqn, add(test, VHCA_RMP, 0));
	KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_OK);

	cmd = create_qp(test, USER, MLX5_QP_ST_RC);
	qpc = MLX5_ADDR_OF(create_qp_in, cmd->in, qpc);
	MLX5_SET(qpc, qpc, rq_type, 1);
	MLX5_SET(qpc, qpc, srqn_rmpn_xrqn, add(test, VHCA_RMP, 0));
	KUNIT_EXPECT_EQ(test, vhca_kunit_execute(test, cmd), MLX5_CMD_STAT_BAD_RES_ERR);
}

/* A list of a user's is as long as it is advertised, and no longer. */
static void owner_of_long_list(struct kunit *test)
{
	static const struct { u32 octowords; u16 uid; u8 status; } lists[] = {
		{ BIT(VHCA_LOG_MAX_KLMS), USER, MLX5_CMD_STAT_OK },
		{ BIT(VHCA_LOG_MAX_KLMS) + 1, USER, MLX5_CMD_STAT_LIM_ERR },
		{ U32_MAX, USER, MLX5_CMD_STAT_LIM_ERR },
		{ BIT(VHCA_LOG_MAX_KLMS) + 1, 0, MLX5_CMD_STAT_OK },
	};
	u32 pd = add(test, VHCA_PD, USER);
	struct vhca_cmd *cmd;
	unsigned int i;
	void *mkc;

	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		cmd = command(test, MLX5_CMD_OP_CREATE_MKEY, lists[i].uid);
		mkc = MLX5_ADDR_OF(create_mkey_in, cmd->in, memory_key_mkey_entry);
		MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_KLMS);
		MLX5_SET(mkc, mkc, pd, pd);
		MLX5_SET(mkc, mkc, translations_octword_size, lists[i].octowords);
		KUNIT_EXPECT_EQ_MSG(test, vhca_kunit_execute(test, cmd), lists[i].status,
				    "%u of user context %u", lists[i].octowords,
				    lists[i].uid);
	}
}

static struct kunit_case vhca_owner_cases[] = {
	KUNIT_CASE(owner_of_qp),
	KUNIT_CASE(owner_of_dct),
	KUNIT_CASE(owner_of_shared_queue),
	KUNIT_CASE(owner_of_no_domain),
	KUNIT_CASE(owner_of_read_only_memory),
	KUNIT_CASE(owner_of_doorbell),
	KUNIT_CASE(owner_of_other_form),
	KUNIT_CASE(owner_of_registration),
	KUNIT_CASE(owner_of_unused_queue),
	KUNIT_CASE(owner_of_long_list),
	{}
};

static struct kunit_suite vhca_owner_suite = {
	.name		= "mlx5_vhca_owner",
	.init		= vhca_kunit_init,
	.test_cases	= vhca_owner_cases,
};

kunit_test_suite(vhca_owner_suite);
