// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of page faults: what the driver is told, what it may answer, and what is
 * left of a queue pair that has ended.
 */
#include <linux/mlx5/driver.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "device_kunit.h"

#define LOG_EVENTS	6
#define EVENTS		BIT(LOG_EVENTS)

/**
 * struct bed - what most tests need
 * @v: the device
 * @events: the entries of an event queue for page faults
 * @qp: a connected queue pair that is able to send
 */
struct bed {
	struct vhca	*v;
	struct mlx5_eqe	*events;
	struct vhca_qp	*qp;
};

static struct vhca_qp *new_qp(struct kunit *test, u8 service)
{
	struct vhca *v = test->priv;
	struct vhca_qp *qp = kzalloc_obj(*qp);
	struct vhca_cmd cmd = {};

	KUNIT_ASSERT_NOT_NULL(test, qp);
	qp->service = service;
	qp->state = MLX5_QP_STATE_RTS;
	KUNIT_ASSERT_EQ(test, vhca_ledger_add(v, &qp->object, VHCA_QP, &cmd), MLX5_CMD_STAT_OK);
	return qp;
}

static struct mlx5_eqe *new_eq(struct kunit *test)
{
	struct vhca *v = test->priv;
	struct vhca_eq *eq = kzalloc_obj(*eq);
	struct vhca_cmd cmd = {};

	KUNIT_ASSERT_NOT_NULL(test, eq);
	eq->log_size = LOG_EVENTS;
	eq->events[0] = BIT_ULL(MLX5_EVENT_TYPE_PAGE_FAULT);
	eq->buffer.page_shift = PAGE_SHIFT;
	eq->buffer.nr_pages = 1;
	eq->buffer.pages = kvcalloc(1, sizeof(*eq->buffer.pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, eq->buffer.pages);
	eq->buffer.pages[0] = kunit_kzalloc(test, EVENTS * sizeof(struct mlx5_eqe), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, eq->buffer.pages[0]);
	KUNIT_ASSERT_EQ(test, vhca_ledger_add(v, &eq->object, VHCA_EQ, &cmd), MLX5_CMD_STAT_OK);
	return eq->buffer.pages[0];
}

static struct bed bed(struct kunit *test)
{
	return (struct bed) {
		.v	= test->priv,
		.events	= new_eq(test),
		.qp	= new_qp(test, MLX5_QP_ST_RC),
	};
}

/* A request of another device that is not there: its answer is freed at once. */
static struct vhca_packet *request(struct kunit *test)
{
	struct vhca_packet *packet = vhca_packet_get(test->priv, 100);

	KUNIT_ASSERT_NOT_NULL(test, packet);
	packet->source = 99;
	packet->service = MLX5_QP_ST_RC;
	packet->opcode = MLX5_OPCODE_RDMA_WRITE;
	packet->rkey = 0x12345678;
	packet->address = 0x1122334455667788;
	packet->offset = 0x8000;
	packet->total = 0x8064;
	return packet;
}

static u8 resume(struct kunit *test, u32 token, u32 number, u8 type, bool error)
{
	struct vhca_cmd *cmd = vhca_kunit_command(test, MLX5_CMD_OP_PAGE_FAULT_RESUME,
						  MLX5_ST_SZ_BYTES(page_fault_resume_in),
						  MLX5_ST_SZ_BYTES(page_fault_resume_out));
	void *info = MLX5_ADDR_OF(page_fault_resume_in, cmd->in,
				  page_fault_info.trans_page_fault_info);

	MLX5_SET(trans_page_fault_info, info, fault_token, token);
	MLX5_SET(trans_page_fault_info, info, wq_number, number);
	MLX5_SET(trans_page_fault_info, info, page_fault_type, type);
	MLX5_SET(trans_page_fault_info, info, error, error);
	return vhca_kunit_execute(test, cmd);
}

/* Only who can stop has a fault, and only if somebody hears of it. */
static void page_fault_needs_listener(struct kunit *test)
{
	struct vhca *v = test->priv;
	struct vhca_qp *qp = new_qp(test, MLX5_QP_ST_RC);

	KUNIT_EXPECT_FALSE(test, vhca_page_fault_send(v, qp, 1, NULL));
	new_eq(test);
	KUNIT_EXPECT_FALSE(test, vhca_page_fault_send(v, new_qp(test, MLX5_QP_ST_UC), 1, NULL));
	KUNIT_EXPECT_FALSE(test, vhca_page_fault_send(v, new_qp(test, MLX5_QP_ST_REG_UMR), 1,
						      NULL));
	KUNIT_EXPECT_EQ(test, v->page_faults.stats.raised, 0);
	KUNIT_EXPECT_TRUE(test, vhca_page_fault_send(v, qp, 1, NULL));
	KUNIT_EXPECT_EQ(test, v->page_faults.stats.raised, 1);
}

/* What mlx5_ib_eq_pf_process() of the driver reads. */
static void page_fault_event_of_request(struct kunit *test)
{
	struct bed b = bed(test);
	struct mlx5_eqe *eqe = b.events;
	u32 qpn = b.qp->object.id;

	b.qp->message.index = 0x1234;
	b.qp->message.offset = 0x10000;
	KUNIT_ASSERT_TRUE(test, vhca_page_fault_send(b.v, b.qp, 0x8000, NULL));
	vhca_page_faults_tell(b.v);
	KUNIT_EXPECT_EQ(test, eqe->type, MLX5_EVENT_TYPE_PAGE_FAULT);
	KUNIT_EXPECT_EQ(test, eqe->sub_type, MLX5_PFAULT_SUBTYPE_WQE);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(eqe->data.page_fault.wqe.bytes_committed), 0x10000);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(eqe->data.page_fault.wqe.wqe_index), 0x1234);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(eqe->data.page_fault.wqe.packet_length), 0x8000);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(eqe->data.page_fault.wqe.token), 1);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(eqe->data.page_fault.wqe.pftype_wq), 1 << 24 | qpn);
}

static void page_fault_event_of_key(struct kunit *test)
{
	struct bed b = bed(test);
	struct mlx5_eqe *eqe = b.events;

	KUNIT_ASSERT_TRUE(test, vhca_page_fault_rdma(b.v, b.qp, request(test), true));
	vhca_page_faults_tell(b.v);
	KUNIT_EXPECT_EQ(test, eqe->sub_type, MLX5_PFAULT_SUBTYPE_RDMA);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(eqe->data.page_fault.rdma.bytes_committed), 0x8000);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(eqe->data.page_fault.rdma.r_key), 0x12345678);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(eqe->data.page_fault.rdma.packet_length), 100);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(eqe->data.page_fault.rdma.rdma_op_len), 0x8064);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(eqe->data.page_fault.rdma.rdma_va),
			0x1122334455667788);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(eqe->data.page_fault.rdma.pftype_token), 6 << 24 | 1);
}

/* An answer counts once, and only if all of it is right. */
static void page_fault_answer_is_exact(struct kunit *test)
{
	struct bed b = bed(test);
	u32 qpn = b.qp->object.id;
	unsigned int n = b.v->recorder.nr_violations;

	KUNIT_ASSERT_TRUE(test, vhca_page_fault_send(b.v, b.qp, 1, NULL));
	/* The driver has not been told yet. */
	KUNIT_EXPECT_EQ(test, resume(test, 1, qpn, 1, false), MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, n++, "resume_of_no_fault", 1, qpn);
	vhca_page_faults_tell(b.v);
	KUNIT_EXPECT_EQ(test, resume(test, 2, qpn, 1, false), MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, n++, "resume_of_no_fault", 2, qpn);
	KUNIT_EXPECT_EQ(test, resume(test, 1, qpn + 1, 1, false), MLX5_CMD_STAT_BAD_PARAM_ERR);
	vhca_kunit_expect_violation(test, n++, "resume_of_other_fault", 1, qpn + 1);
	KUNIT_EXPECT_EQ(test, resume(test, 1, qpn, 3, false), MLX5_CMD_STAT_BAD_PARAM_ERR);
	vhca_kunit_expect_violation(test, n++, "resume_of_other_fault", 1, qpn);
	KUNIT_EXPECT_EQ(test, b.qp->faults[VHCA_REQUESTER].state, VHCA_FAULT_TOLD);

	KUNIT_EXPECT_EQ(test, resume(test, 1, qpn, 1, false), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, b.qp->faults[VHCA_REQUESTER].state, VHCA_FAULT_RESUMED);
	KUNIT_EXPECT_FALSE(test, b.qp->faults[VHCA_REQUESTER].failed);
	KUNIT_EXPECT_EQ(test, resume(test, 1, qpn, 1, false), MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, n++, "resume_of_no_fault", 1, qpn);
	KUNIT_EXPECT_TRUE(test, vhca_page_fault_go_on(b.v, b.qp));
	KUNIT_EXPECT_FALSE(test, vhca_page_fault_go_on(b.v, b.qp));
	KUNIT_EXPECT_EQ(test, b.v->page_faults.stats.resumed, 1);
}

/* A fault that could not be served fails the message. */
static void page_fault_answer_with_error(struct kunit *test)
{
	struct bed b = bed(test);

	b.qp->message.active = true;
	KUNIT_ASSERT_TRUE(test, vhca_page_fault_send(b.v, b.qp, 1, NULL));
	vhca_page_faults_tell(b.v);
	KUNIT_EXPECT_EQ(test, resume(test, 1, b.qp->object.id, 1, true), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, b.qp->state, MLX5_QP_STATE_RTS);
	KUNIT_EXPECT_TRUE(test, vhca_page_fault_go_on(b.v, b.qp));
	KUNIT_EXPECT_EQ(test, b.qp->state, MLX5_QP_STATE_ERR);
	KUNIT_EXPECT_FALSE(test, b.qp->message.active);
	KUNIT_EXPECT_EQ(test, b.v->page_faults.stats.failed, 1);
}

/* The fault of a key is answered by its token alone. */
static void page_fault_answer_by_token(struct kunit *test)
{
	struct bed b = bed(test);
	unsigned int n = b.v->recorder.nr_violations;

	KUNIT_ASSERT_TRUE(test, vhca_page_fault_rdma(b.v, b.qp, request(test), false));
	vhca_page_faults_tell(b.v);
	KUNIT_EXPECT_EQ(test, resume(test, 1, b.qp->object.id, 4, false),
			MLX5_CMD_STAT_BAD_PARAM_ERR);
	vhca_kunit_expect_violation(test, n, "resume_of_other_fault", 1, b.qp->object.id);
	KUNIT_EXPECT_EQ(test, resume(test, 1, 1, 4, false), MLX5_CMD_STAT_OK);
	vhca_page_fault_drop(b.v, b.qp);
	KUNIT_EXPECT_NULL(test, b.qp->faults[VHCA_RESPONDER].packet);
}

/* Of a queue pair that has ended the driver may resume what it was told of, once. */
static void page_fault_late_answer(struct kunit *test)
{
	struct bed b = bed(test);
	struct vhca_page_faults *all = &b.v->page_faults;
	unsigned int n = b.v->recorder.nr_violations;

	KUNIT_ASSERT_TRUE(test, vhca_page_fault_rdma(b.v, b.qp, request(test), false));
	vhca_page_faults_tell(b.v);
	KUNIT_ASSERT_TRUE(test, vhca_page_fault_send(b.v, b.qp, 1, NULL));
	KUNIT_EXPECT_EQ(test, all->nr, 2);
	KUNIT_EXPECT_EQ(test, all->nr_told, 1);
	vhca_ledger_remove(b.v, &b.qp->object);
	KUNIT_EXPECT_EQ(test, all->nr, 0);
	KUNIT_EXPECT_EQ(test, all->nr_told, 0);
	KUNIT_EXPECT_EQ(test, all->stats.dropped, 2);
	KUNIT_EXPECT_EQ(test, b.v->stats.packets_lost, 1);
	KUNIT_EXPECT_EQ(test, resume(test, 1, 1, 4, true), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, all->stats.late, 1);
	KUNIT_EXPECT_EQ(test, resume(test, 1, 1, 4, true), MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, n++, "resume_of_no_fault", 1, 1);
	/* Nobody was told of the other one. */
	KUNIT_EXPECT_EQ(test, resume(test, 2, 2, 1, true), MLX5_CMD_STAT_BAD_RES_ERR);
	vhca_kunit_expect_violation(test, n++, "resume_of_no_fault", 2, 2);
	/* And token 0 is no entry of the list that is free. */
	KUNIT_EXPECT_EQ(test, resume(test, 0, 0, 1, true), MLX5_CMD_STAT_BAD_RES_ERR);
}

/* The driver is told of so many at once, and of the next one when it has answered. */
static void page_fault_tells_up_to_limit(struct kunit *test)
{
	struct bed b = bed(test);
	struct vhca_page_faults *all = &b.v->page_faults;
	struct vhca_qp *last = NULL;
	unsigned int i;

	for (i = 0; i <= VHCA_MAX_TOLD; i++) {
		last = new_qp(test, MLX5_QP_ST_RC);
		KUNIT_ASSERT_TRUE(test, vhca_page_fault_send(b.v, last, 1, NULL));
	}
	vhca_page_faults_tell(b.v);
	KUNIT_EXPECT_EQ(test, all->nr_told, VHCA_MAX_TOLD);
	KUNIT_EXPECT_EQ(test, last->faults[VHCA_REQUESTER].state, VHCA_FAULT_HELD);
	KUNIT_EXPECT_EQ(test, resume(test, 1, last->object.id - VHCA_MAX_TOLD, 1, false),
			MLX5_CMD_STAT_OK);
	vhca_page_faults_tell(b.v);
	KUNIT_EXPECT_EQ(test, last->faults[VHCA_REQUESTER].state, VHCA_FAULT_TOLD);
	KUNIT_EXPECT_EQ(test, all->stats.told, VHCA_MAX_TOLD + 1);
}

/* Held back, they are told later; without a listener by then they fail. */
static void page_fault_hold(struct kunit *test)
{
	struct bed b = bed(test);
	struct vhca_object *eq = vhca_ledger_find(b.v, VHCA_EQ, 1);

	vhca_page_faults_hold(b.v, true);
	KUNIT_ASSERT_TRUE(test, vhca_page_fault_send(b.v, b.qp, 1, NULL));
	vhca_page_faults_tell(b.v);
	KUNIT_EXPECT_EQ(test, b.qp->faults[VHCA_REQUESTER].state, VHCA_FAULT_HELD);
	KUNIT_ASSERT_NOT_NULL(test, eq);
	vhca_ledger_remove(b.v, eq);
	vhca_page_faults_hold(b.v, false);
	vhca_page_faults_tell(b.v);
	KUNIT_EXPECT_EQ(test, b.qp->faults[VHCA_REQUESTER].state, VHCA_FAULT_RESUMED);
	KUNIT_EXPECT_TRUE(test, b.qp->faults[VHCA_REQUESTER].failed);
}

/* Tokens go round, and never are those of a fault that waits. */
static void page_fault_tokens(struct kunit *test)
{
	struct bed b = bed(test);
	struct vhca_qp *second = new_qp(test, MLX5_QP_ST_RC);

	b.v->page_faults.token = VHCA_TOKEN_MASK - 1;
	KUNIT_ASSERT_TRUE(test, vhca_page_fault_send(b.v, b.qp, 1, NULL));
	KUNIT_EXPECT_EQ(test, b.qp->faults[VHCA_REQUESTER].token, VHCA_TOKEN_MASK);
	KUNIT_ASSERT_TRUE(test, vhca_page_fault_send(b.v, second, 1, NULL));
	KUNIT_EXPECT_EQ(test, second->faults[VHCA_REQUESTER].token, 1);
	b.v->page_faults.token = VHCA_TOKEN_MASK - 1;
	KUNIT_ASSERT_TRUE(test, vhca_page_fault_send(b.v, new_qp(test, MLX5_QP_ST_RC), 1, NULL));
	KUNIT_EXPECT_EQ(test, b.v->page_faults.token, 2);
}

static struct kunit_case vhca_page_fault_cases[] = {
	KUNIT_CASE(page_fault_needs_listener),
	KUNIT_CASE(page_fault_event_of_request),
	KUNIT_CASE(page_fault_event_of_key),
	KUNIT_CASE(page_fault_answer_is_exact),
	KUNIT_CASE(page_fault_answer_with_error),
	KUNIT_CASE(page_fault_answer_by_token),
	KUNIT_CASE(page_fault_late_answer),
	KUNIT_CASE(page_fault_tells_up_to_limit),
	KUNIT_CASE(page_fault_hold),
	KUNIT_CASE(page_fault_tokens),
	{}
};

static struct kunit_suite vhca_page_fault_suite = {
	.name		= "mlx5_vhca_page_fault",
	.init		= vhca_kunit_init,
	.test_cases	= vhca_page_fault_cases,
};

kunit_test_suite(vhca_page_fault_suite);
