/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of the driver that the device reads and writes (buffers, doorbell
 * records), the objects that consist of it (EQ, CQ, QP), and memory keys.
 */
#ifndef VHCA_QUEUES_H
#define VHCA_QUEUES_H

#include <linux/mlx5/device.h>
#include <linux/mlx5/mlx5_ifc.h>
#include <linux/mlx5/qp.h>

#include "object.h"

/**
 * struct vhca_buffer - a work, completion or event queue in driver memory
 * @pages: the pages, each of 1 << @page_shift bytes and checked to be RAM
 * @nr_pages: entries in @pages
 * @page_shift: log2 of the page size in bytes
 * @offset: where in the first page the queue begins, in bytes
 */
struct vhca_buffer {
	void	**pages;
	u32	nr_pages;
	u8	page_shift;
	u64	offset;
};

void *vhca_dma_pointer(struct vhca *v, u64 address, u64 len);
u8 vhca_buffer_init(struct vhca *v, struct vhca_buffer *buffer,
		    const __be64 *pas, u32 nr_pas, u8 log_page_size,
		    u8 page_offset, u64 size);
void vhca_buffer_exit(struct vhca_buffer *buffer);
void *vhca_buffer_at(struct vhca_buffer *buffer, u64 offset, u32 len);

/**
 * struct vhca_eq - an event queue, from create_eq_in
 * @object: what all objects have; its id is the EQ number
 * @vector: MSI-X vector to raise
 * @log_size: log2 of the number of entries
 * @pi: producer index, counts entries written
 * @events: event types that this queue wants, by number
 * @buffer: the entries
 */
struct vhca_eq {
	struct vhca_object	object;
	u16			vector;
	u8			log_size;
	u32			pi;
	u64			events[4];
	struct vhca_buffer	buffer;
};

void vhca_eq_post(struct vhca *v, struct vhca_eq *eq, u8 type,
		  const void *data, size_t len);
void vhca_eq_post_command(struct vhca *v, unsigned int entry, u64 seq);

/* The words of a CQ's doorbell record. */
#define VHCA_CQ_CONSUMER	0
#define VHCA_CQ_ARM		1

/**
 * struct vhca_cq - a completion queue, from create_cq_in
 * @object: what all objects have; its id is the CQ number
 * @eqn: event queue that is told
 * @log_size: log2 of the number of entries
 * @log_entry: log2 of the size of an entry in bytes, 6 or 7
 * @ignore_overrun: the driver does not keep the consumer index
 * @pi: producer index, counts entries written
 * @answered: the arm word that was answered last
 * @doorbell: its record: consumer index, then arm word
 * @buffer: the entries
 */
struct vhca_cq {
	struct vhca_object	object;
	u32			eqn;
	u8			log_size;
	u8			log_entry;
	bool			ignore_overrun;
	u32			pi;
	u32			answered;
	__be32			*doorbell;
	struct vhca_buffer	buffer;
};

void vhca_cq_post(struct vhca *v, u32 cqn, struct mlx5_cqe64 *cqe);
void vhca_cq_notify(struct vhca *v, struct vhca_cq *cq);

/**
 * struct vhca_qp - a queue pair, from create_qp_in and the QP transitions
 * @object: what all objects have; its id is the QP number
 * @service: service type, MLX5_QP_ST_*
 * @state: MLX5_QP_STATE_*
 * @pd: protection domain
 * @send_cqn: CQ of the send queue
 * @recv_cqn: CQ of the receive queue
 * @has_sq: there is a send queue of this QP's own
 * @has_rq: there is a receive queue of this QP's own
 * @log_sq: log2 of the send queue's size in units of MLX5_SEND_WQE_BB bytes
 * @log_rq: log2 of the number of receive work requests
 * @sq_offset: where in @buffer the send queue begins, in bytes
 * @sq_ci: consumer index of the send queue, in the units of @log_sq
 * @rq_ci: consumer index of the receive queue
 * @doorbell: its record: producer index of the receive, then the send queue
 * @context: the driver's qpc, merged over the transitions
 * @buffer: receive queue, then send queue
 */
struct vhca_qp {
	struct vhca_object	object;
	u8			service;
	u8			state;
	u32			pd;
	u32			send_cqn;
	u32			recv_cqn;
	bool			has_sq;
	bool			has_rq;
	u8			log_sq;
	u8			log_rq;
	u32			sq_offset;
	u16			sq_ci;
	u16			rq_ci;
	__be32			*doorbell;
	u32			context[MLX5_ST_SZ_DW(qpc)];
	struct vhca_buffer	buffer;
};

bool vhca_workqueue_poll(struct vhca *v);

/* Translations are counted in units of 16 bytes. */
#define VHCA_OCTOWORD	16

/* Low bits of an MTT are the access flags. */
#define VHCA_MTT_FLAGS	7ULL

/**
 * struct vhca_mkey - a memory key, from create_mkey_in and UMR work requests
 * @object: what all objects have; its id is the index, without the variant
 * @context: the mkc
 * @xlt: the translations: MTT (8 bytes) or KLM/KSM (16 bytes), as the driver
 *	gives them
 * @octowords: size of @xlt in units of 16 bytes
 */
struct vhca_mkey {
	struct vhca_object	object;
	u32			context[MLX5_ST_SZ_DW(mkc)];
	__be64			*xlt;
	u32			octowords;
};

u8 vhca_mkey_mode(const struct vhca_mkey *mkey);
bool vhca_mkey_free(const struct vhca_mkey *mkey);
void vhca_mkey_check_memic(struct vhca *v, u64 start, u64 len);
u8 vhca_umr_execute(struct vhca *v, struct vhca_qp *qp, const void *wqe,
		    u32 len);

/* Take those bits of @from that are set in @take; all of @dwords words. */
static inline void vhca_merge(u32 *to, const u32 *from, const u32 *take,
			      unsigned int dwords)
{
	while (dwords--) {
		*to = (*to & ~*take) | (*from & *take);
		to++;
		from++;
		take++;
	}
}

#define to_vhca_eq(o)	container_of(o, struct vhca_eq, object)
#define to_vhca_cq(o)	container_of(o, struct vhca_cq, object)
#define to_vhca_qp(o)	container_of(o, struct vhca_qp, object)
#define to_vhca_mkey(o)	container_of(o, struct vhca_mkey, object)

#endif /* VHCA_QUEUES_H */
