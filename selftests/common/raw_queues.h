/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queues made with raw commands, in memory of mlx5_raw_command.ko, small enough
 * to be overrun.
 */
#ifndef _SELFTESTS_RAW_QUEUES_H
#define _SELFTESTS_RAW_QUEUES_H

#include "raw.h"

#define RAW_LOG_EQ	6	/* log2 of entries */
#define RAW_LOG_SQ	4	/* log2 of basic blocks of 64 bytes */
#define RAW_LOG_RQ	4	/* log2 of work requests of 16 bytes */
#define RAW_SQ_OFFSET	(16u << RAW_LOG_RQ)	/* behind the receive queue */
#define RAW_BB		64u	/* bytes */

/**
 * struct raw_queues - a queue pair and what it is on
 * @raw: the device
 * @service: service of the queue pair, MLX5_QPC_ST_*
 * @log_cq: log2 of the entries of the completion queue
 * @uar: the UAR of all
 * @pd: protection domain
 * @eqn: event queue
 * @cqn: completion queue, of both work queues
 * @qpn: queue pair
 * @qp_doorbell: producer index of the receive and of the send queue
 * @cq: the completion queue's entries
 * @wq: the receive queue, then the send queue
 * @spare: a page that nothing lies in
 * @spare_address: its DMA address
 *
 * @service and @log_cq are the caller's choice.
 */
struct raw_queues {
	struct raw *raw;
	uint8_t service;
	uint8_t log_cq;
	uint32_t uar;
	uint32_t pd;
	uint32_t eqn;
	uint32_t cqn;
	uint32_t qpn;
	__be32 *qp_doorbell;
	uint8_t *cq;
	uint8_t *wq;
	uint8_t *spare;
	uint64_t spare_address;
};

/* Inputs of the creating commands, to be changed before they are sent. */
#define RAW_CREATE_BYTES(type)	(DEVX_ST_SZ_BYTES(create_##type##_in) + 8)
#define RAW_CREATE_DW(type)	(RAW_CREATE_BYTES(type) / 4)

/**
 * raw_queues_begin() - get memory, a UAR and a PD
 * @queues: @raw, @service and @log_cq are set, the rest is filled in
 *
 * Return: as raw_send(), or a negative errno.
 */
int raw_queues_begin(struct raw_queues *queues);

/**
 * raw_queues_eq() - input of a CREATE_EQ that must succeed
 * @queues: after raw_queues_begin()
 * @in: RAW_CREATE_DW(eq) dwords
 */
void raw_queues_eq(const struct raw_queues *queues, uint32_t *in);

/**
 * raw_queues_cq() - input of a CREATE_CQ that must succeed
 * @queues: with @eqn set
 * @in: RAW_CREATE_DW(cq) dwords
 */
void raw_queues_cq(const struct raw_queues *queues, uint32_t *in);

/**
 * raw_queues_qp() - input of a CREATE_QP that must succeed
 * @queues: with @cqn set
 * @in: RAW_CREATE_DW(qp) dwords
 */
void raw_queues_qp(const struct raw_queues *queues, uint32_t *in);

/**
 * raw_queues_create() - create an EQ, a CQ and a QP on them
 * @queues: as for raw_queues_begin()
 *
 * Return: as raw_queues_begin().
 */
int raw_queues_create(struct raw_queues *queues);

/**
 * raw_queues_modify() - send a transition of the queue pair's state
 * @queues: the queues
 * @opcode: RST2INIT_QP and so on
 *
 * Return: as raw_send().
 */
int raw_queues_modify(struct raw_queues *queues, uint16_t opcode);

/**
 * raw_queues_ready() - bring the queue pair from reset to ready to send
 * @queues: the queues
 *
 * Return: as raw_send().
 */
int raw_queues_ready(struct raw_queues *queues);

/**
 * raw_queues_wqe() - write the control segment of a send work request
 * @queues: the queues
 * @index: basic block that it begins at
 * @opcode: MLX5_OPCODE_*
 * @ds: size that it claims, in units of 16 bytes
 * @imm: the segment's last dword
 *
 * A completion is asked for.
 *
 * Return: where the rest of the request goes.
 */
void *raw_queues_wqe(struct raw_queues *queues, uint16_t index, uint8_t opcode, uint8_t ds,
		     uint32_t imm);

/**
 * raw_queues_ring() - tell the device of work requests
 * @queues: the queues
 * @send: of the send queue, else of the receive queue
 * @index: the new producer index
 */
void raw_queues_ring(struct raw_queues *queues, bool send, uint16_t index);

#endif /* _SELFTESTS_RAW_QUEUES_H */
