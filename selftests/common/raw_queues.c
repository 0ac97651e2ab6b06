// SPDX-License-Identifier: GPL-2.0
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "raw_queues.h"

/* The memory, page by page. */
enum raw_page { RAW_DOORBELLS, RAW_EQ, RAW_CQ, RAW_WQ, RAW_SPARE, RAW_PAGES };

#define RAW_PAGE_SIZE	4096u
#define RAW_CQ_DOORBELL	0
#define RAW_QP_DOORBELL	64

static uint64_t raw_address(const struct raw_queues *queues, enum raw_page page)
{
	return queues->raw->address + page * RAW_PAGE_SIZE;
}

static uint8_t *raw_pointer(const struct raw_queues *queues, enum raw_page page)
{
	return queues->raw->memory + page * RAW_PAGE_SIZE;
}

int raw_queues_begin(struct raw_queues *queues)
{
	int status = -raw_memory(queues->raw, RAW_PAGES * RAW_PAGE_SIZE);

	if (status)
		return status;
	queues->qp_doorbell = (void *)(raw_pointer(queues, RAW_DOORBELLS) + RAW_QP_DOORBELL);
	queues->cq = raw_pointer(queues, RAW_CQ);
	queues->wq = raw_pointer(queues, RAW_WQ);
	queues->spare = raw_pointer(queues, RAW_SPARE);
	queues->spare_address = raw_address(queues, RAW_SPARE);
	/* No entry of the device's yet: the owner bit of the first round is 0. */
	memset(queues->cq, 0xff, RAW_PAGE_SIZE);
	status = raw_create(queues->raw, MLX5_CMD_OP_ALLOC_UAR, 0, &queues->uar);
	if (status)
		return status;
	return raw_create(queues->raw, MLX5_CMD_OP_ALLOC_PD, 0, &queues->pd);
}

void raw_queues_eq(const struct raw_queues *queues, uint32_t *in)
{
	void *eqc = DEVX_ADDR_OF(create_eq_in, in, eq_context_entry);

	memset(in, 0, RAW_CREATE_BYTES(eq));
	DEVX_SET(create_eq_in, in, opcode, MLX5_CMD_OP_CREATE_EQ);
	DEVX_SET(eqc, eqc, log_eq_size, RAW_LOG_EQ);
	DEVX_SET(eqc, eqc, uar_page, queues->uar);
	/* The first vector that no command's completion comes by. */
	DEVX_SET(eqc, eqc, intr, 1);
	DEVX_SET64(create_eq_in, in, pas[0], raw_address(queues, RAW_EQ));
}

void raw_queues_cq(const struct raw_queues *queues, uint32_t *in)
{
	void *cqc = DEVX_ADDR_OF(create_cq_in, in, cq_context);

	memset(in, 0, RAW_CREATE_BYTES(cq));
	DEVX_SET(create_cq_in, in, opcode, MLX5_CMD_OP_CREATE_CQ);
	DEVX_SET(cqc, cqc, log_cq_size, queues->log_cq);
	DEVX_SET(cqc, cqc, uar_page, queues->uar);
	DEVX_SET(cqc, cqc, c_eqn_or_apu_element, queues->eqn);
	DEVX_SET64(cqc, cqc, dbr_addr, raw_address(queues, RAW_DOORBELLS) + RAW_CQ_DOORBELL);
	DEVX_SET64(create_cq_in, in, pas[0], raw_address(queues, RAW_CQ));
}

void raw_queues_qp(const struct raw_queues *queues, uint32_t *in)
{
	void *qpc = DEVX_ADDR_OF(create_qp_in, in, qpc);

	memset(in, 0, RAW_CREATE_BYTES(qp));
	DEVX_SET(create_qp_in, in, opcode, MLX5_CMD_OP_CREATE_QP);
	DEVX_SET(qpc, qpc, st, queues->service);
	DEVX_SET(qpc, qpc, pm_state, MLX5_QPC_PM_STATE_MIGRATED);
	DEVX_SET(qpc, qpc, pd, queues->pd);
	DEVX_SET(qpc, qpc, cqn_snd, queues->cqn);
	DEVX_SET(qpc, qpc, cqn_rcv, queues->cqn);
	DEVX_SET(qpc, qpc, uar_page, queues->uar);
	DEVX_SET(qpc, qpc, log_sq_size, RAW_LOG_SQ);
	DEVX_SET(qpc, qpc, log_rq_size, RAW_LOG_RQ);
	DEVX_SET(qpc, qpc, user_index, 0xffffff);
	/* As the driver's own have it: it may use what is not a user's to use. */
	DEVX_SET(qpc, qpc, rlky, 1);
	DEVX_SET64(qpc, qpc, dbr_addr, raw_address(queues, RAW_DOORBELLS) + RAW_QP_DOORBELL);
	DEVX_SET64(create_qp_in, in, pas[0], raw_address(queues, RAW_WQ));
}

/* Send it; the number is where ALLOC_PD has it as well. */
static int raw_queues_send(struct raw_queues *queues, const uint32_t *in, size_t len,
			   uint32_t *number)
{
	uint32_t out[DEVX_ST_SZ_DW(alloc_pd_out)];
	int status = raw_send(queues->raw, in, len, out, sizeof(out));

	*number = DEVX_GET(alloc_pd_out, out, pd);
	return status;
}

int raw_queues_create(struct raw_queues *queues)
{
	uint32_t eq[RAW_CREATE_DW(eq)], cq[RAW_CREATE_DW(cq)], qp[RAW_CREATE_DW(qp)];
	int status;

	status = raw_queues_begin(queues);
	if (status)
		return status;
	raw_queues_eq(queues, eq);
	status = raw_queues_send(queues, eq, sizeof(eq), &queues->eqn);
	if (status)
		return status;
	raw_queues_cq(queues, cq);
	status = raw_queues_send(queues, cq, sizeof(cq), &queues->cqn);
	if (status)
		return status;
	raw_queues_qp(queues, qp);
	return raw_queues_send(queues, qp, sizeof(qp), &queues->qpn);
}

/* All transitions are as long as this one or shorter. */
int raw_queues_modify(struct raw_queues *queues, uint16_t opcode)
{
	uint32_t in[DEVX_ST_SZ_DW(rst2init_qp_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(rst2init_qp_out)];
	void *qpc = DEVX_ADDR_OF(rst2init_qp_in, in, qpc);
	void *path = DEVX_ADDR_OF(qpc, qpc, primary_address_path);

	DEVX_SET(rst2init_qp_in, in, opcode, opcode);
	DEVX_SET(rst2init_qp_in, in, qpn, queues->qpn);
	DEVX_SET(qpc, qpc, pm_state, MLX5_QPC_PM_STATE_MIGRATED);
	DEVX_SET(ads, path, vhca_port_num, 1);
	DEVX_SET(ads, path, rlid, 1);
	switch (opcode) {
	case MLX5_CMD_OP_INIT2RTR_QP:
		DEVX_SET(qpc, qpc, mtu, 5);	/* 4096 bytes */
		DEVX_SET(qpc, qpc, log_msg_max, 30);
		DEVX_SET(qpc, qpc, remote_qpn, queues->qpn);
		break;
	case MLX5_CMD_OP_RTR2RTS_QP:
		DEVX_SET(ads, path, ack_timeout, 14);
		DEVX_SET(qpc, qpc, retry_count, 7);
		DEVX_SET(qpc, qpc, rnr_retry, 7);
		break;
	}
	return raw_command(queues->raw, in, out);
}

int raw_queues_ready(struct raw_queues *queues)
{
	static const uint16_t way[] = {
		MLX5_CMD_OP_RST2INIT_QP, MLX5_CMD_OP_INIT2RTR_QP, MLX5_CMD_OP_RTR2RTS_QP,
	};
	int status = 0;
	size_t i;

	for (i = 0; i < sizeof(way) / sizeof(*way) && !status; i++)
		status = raw_queues_modify(queues, way[i]);
	return status;
}

void *raw_queues_wqe(struct raw_queues *queues, uint16_t index, uint8_t opcode, uint8_t ds,
		     uint32_t imm)
{
	uint8_t *wqe = queues->wq + RAW_SQ_OFFSET + (index % (1u << RAW_LOG_SQ)) * RAW_BB;
	struct mlx5_wqe_ctrl_seg *ctrl = (void *)wqe;

	memset(wqe, 0, RAW_BB);
	mlx5dv_set_ctrl_seg(ctrl, index, opcode, 0, queues->qpn, MLX5_WQE_CTRL_CQ_UPDATE, ds, 0,
			    htobe32(imm));
	return ctrl + 1;
}

void raw_queues_ring(struct raw_queues *queues, bool send, uint16_t index)
{
	/* What is written before must be seen before. */
	__atomic_store_n(&queues->qp_doorbell[send ? MLX5_SND_DBR : MLX5_RCV_DBR],
			 htobe32(index), __ATOMIC_RELEASE);
}
