/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Page faults: what the device does where a translation is not there that its
 * driver may bring.
 *
 * The side of a queue pair that has met one stops, and the driver is told by an
 * event of the transport scheme: by the work request that cannot go on, or by
 * the key and the address of the packet that cannot be executed.  It brings the
 * translation and sends PAGE_FAULT_RESUME, or says there that it cannot.
 *
 * Each side has one fault at most, so a queue pair has two.
 */
#ifndef VHCA_PAGE_FAULT_H
#define VHCA_PAGE_FAULT_H

#include <linux/list.h>
#include <linux/mlx5/device.h>
#include <linux/types.h>

struct vhca;
struct vhca_packet;
struct vhca_qp;

/*
 * Faults that the driver knows of and has not resumed, at most; later ones wait
 * until it has.  mlx5_ib's event queue has room for some thousand.
 */
#define VHCA_MAX_TOLD		256

/* Faults that were dropped and may be resumed still: so many are remembered. */
#define VHCA_DROPPED		256

/* Tokens have 24 bits; none is 0. */
#define VHCA_TOKEN_MASK		0xffffff

/**
 * enum vhca_page_fault_state - how far a fault has come
 * @VHCA_NO_FAULT: there is none
 * @VHCA_FAULT_HELD: the driver has not been told of it yet
 * @VHCA_FAULT_TOLD: it has, and has not answered
 * @VHCA_FAULT_RESUMED: it has, and the queue pair can go on
 */
enum vhca_page_fault_state {
	VHCA_NO_FAULT,
	VHCA_FAULT_HELD,
	VHCA_FAULT_TOLD,
	VHCA_FAULT_RESUMED,
};

/**
 * enum vhca_side - the two sides of a queue pair, each of which can stop
 * @VHCA_REQUESTER: the one that sends and asks
 * @VHCA_RESPONDER: the one that receives and is asked
 * @VHCA_SIDES: how many there are
 */
enum vhca_side {
	VHCA_REQUESTER,
	VHCA_RESPONDER,
	VHCA_SIDES,
};

/**
 * struct vhca_page_fault - a page fault of one side of a queue pair
 * @node: place in vhca_page_faults.list while it is held or told
 * @state: how far it has come
 * @failed: with VHCA_FAULT_RESUMED: the driver could not serve it
 * @token: names it in event and answer
 * @sub_type: MLX5_PFAULT_SUBTYPE_WQE or MLX5_PFAULT_SUBTYPE_RDMA
 * @type: what was being done, MLX5_PFAULT_* bits
 * @qpn: number of the queue pair
 * @number: that of the queue that a work request is in: the queue pair's or a
 *	shared receive queue's
 * @event: what the driver is told
 * @packet: what is to be done again: of a receiver the request, of a sender the
 *	answer with the bytes that it has asked for; NULL if it was about to
 *	send
 */
struct vhca_page_fault {
	struct list_head		node;
	enum vhca_page_fault_state	state;
	bool				failed;
	u32				token;
	u8				sub_type;
	u8				type;
	u32				qpn;
	u32				number;
	struct mlx5_eqe_page_fault	event;
	struct vhca_packet		*packet;
};

/**
 * struct vhca_page_fault_stats - totals over the life of the module
 * @raised: faults
 * @told: events that the driver got
 * @resumed: those that it has served
 * @failed: those that it could not, or that nobody was there for any more
 * @dropped: whose queue pair was destroyed or reset or has failed before
 * @late: resumed after that
 */
struct vhca_page_fault_stats {
	u64	raised;
	u64	told;
	u64	resumed;
	u64	failed;
	u64	dropped;
	u64	late;
};

/**
 * struct vhca_page_faults - all of a device; vhca.lock held
 * @list: those that are held or told, oldest first
 * @hold: tell the driver of none
 * @nr: entries in @list
 * @nr_told: how many of them are told
 * @token: the last one given
 * @dropped: tokens of faults that were dropped after the driver was told, 0 for
 *	none
 * @next_dropped: where in @dropped the next one goes
 * @stats: totals
 */
struct vhca_page_faults {
	struct list_head		list;
	bool				hold;
	unsigned int			nr;
	unsigned int			nr_told;
	u32				token;
	u32				dropped[VHCA_DROPPED];
	unsigned int			next_dropped;
	struct vhca_page_fault_stats	stats;
};

void vhca_page_faults_init(struct vhca *v);
bool vhca_page_fault_send(struct vhca *v, struct vhca_qp *qp, u32 len,
			  struct vhca_packet *answer);
bool vhca_page_fault_receive(struct vhca *v, struct vhca_qp *qp,
			     struct vhca_packet *packet);
bool vhca_page_fault_rdma(struct vhca *v, struct vhca_qp *qp,
			  struct vhca_packet *packet, bool write);
bool vhca_page_fault_go_on(struct vhca *v, struct vhca_qp *qp);
void vhca_page_fault_drop(struct vhca *v, struct vhca_qp *qp);
void vhca_page_faults_tell(struct vhca *v);
void vhca_page_faults_hold(struct vhca *v, bool hold);

#endif /* VHCA_PAGE_FAULT_H */
