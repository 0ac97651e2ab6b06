/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The network between the ports of all devices, each of which has one.
 *
 * A queue pair sends a message in pieces, one at a time.  Each piece is a
 * packet: the sender's firmware thread fills it and puts it into the inbox of
 * the port that it is for, the thread of that device executes it and sends the
 * same packet back as the answer.  Neither thread holds its own lock and takes
 * that of the other's device.  Two queue pairs of one device talk in the same way.
 *
 * A packet that was accepted is always answered, as long as the asking port
 * exists; where there is a page fault, when that was served.  One that a real
 * network would lose comes back as VHCA_LOST, and the sender then waits as if
 * nothing had come.  So nothing is executed twice, and there are no duplicates
 * to be told apart.
 */
#ifndef VHCA_FABRIC_H
#define VHCA_FABRIC_H

#include <linux/list.h>
#include <linux/mlx5/qp.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_mad.h>

struct vhca;

/* Bytes of a piece: what one allocation gets easily, and one poll copies fast. */
#define VHCA_MAX_PAYLOAD	SZ_32K

/* Packets that a port keeps to use again; memory that is cleared costs time. */
#define VHCA_SPARE_PACKETS	32

/* Requests that wait in an inbox at most; answers have a place always. */
#define VHCA_INBOX_SIZE		256

/* The queue pair that management datagrams go to, whatever its number is else. */
#define VHCA_GSI_QPN		1

/* grh_gid_fl of struct mlx5_av: there is a global route. */
#define VHCA_AV_GRH		BIT(30)

/* The subnet manager is the last node that a LID names, and no device. */
#define VHCA_MANAGER_LID	0xbfff
#define VHCA_MANAGER_INDEX	(VHCA_MANAGER_LID - 1)

/* All management datagrams have this size, in bytes. */
#define VHCA_MAD_SIZE		256

/**
 * enum vhca_reply - what became of a request
 * @VHCA_UNANSWERED: it is the request itself, to be executed or waiting
 * @VHCA_ACK: executed
 * @VHCA_LOST: nobody who could have executed it
 * @VHCA_RNR: no receive request is posted
 * @VHCA_NAK_INVALID_REQUEST: not allowed on that queue pair, or does not fit
 * @VHCA_NAK_ACCESS: the key does not allow it
 * @VHCA_NAK_OPERATION: the receiver failed
 */
enum vhca_reply {
	VHCA_UNANSWERED,
	VHCA_ACK,
	VHCA_LOST,
	VHCA_RNR,
	VHCA_NAK_INVALID_REQUEST,
	VHCA_NAK_ACCESS,
	VHCA_NAK_OPERATION,
};

/**
 * struct vhca_packet - a piece of a message, or the answer to it
 * @node: place in an inbox
 * @reply: whether it is an answer, and which
 * @source: index of the asking device
 * @source_qpn: its queue pair
 * @shown_qpn: and the number of it that the target is told
 * @source_life: and the life of that; an answer to an earlier one is ignored
 * @target_qpn: queue pair that it is for
 * @sent: vhca_fabric_now() when it was sent; a queue pair whose life is
 *	younger does not take it
 * @service: MLX5_QP_ST_RC, UC, UD, XRC or DCI
 * @opcode: MLX5_OPCODE_*
 * @solicited: the receiver asked to be told of this message
 * @rnr_timer: with VHCA_RNR: when to try again, as in min_rnr_nak
 * @psn: sequence number, of pieces
 * @total: bytes of the message
 * @offset: where in it this piece begins, in bytes
 * @len: bytes of this piece
 * @rkey: key of the memory at the target
 * @address: where in that memory the message begins
 * @immediate: immediate data, or the key to be invalidated
 * @srqn: shared receive queue at the target, with XRC
 * @qkey: of a datagram
 * @dc_key: key of the target, with DC
 * @global: a datagram, or DC: it has a global route
 * @group: a datagram to all who are in the multicast group @gid
 * @gid: the group
 * @sl: its service level
 * @swap_add: operand of an atomic operation
 * @compare: operand of compare and swap
 * @room: bytes that @payload can hold
 * @payload: @len bytes that go to the target, or come from it with VHCA_ACK
 */
struct vhca_packet {
	struct list_head	node;
	enum vhca_reply		reply;
	unsigned int		source;
	u32			source_qpn;
	u32			shown_qpn;
	u64			source_life;
	u32			target_qpn;
	u64			sent;
	u8			service;
	u8			opcode;
	bool			solicited;
	u8			rnr_timer;
	u32			psn;
	u32			total;
	u32			offset;
	u32			len;
	u32			rkey;
	u64			address;
	__be32			immediate;
	u32			srqn;
	u32			qkey;
	u64			dc_key;
	bool			global;
	bool			group;
	__be64			gid[2];
	u8			sl;
	u64			swap_add;
	u64			compare;
	u32			room;
	void			*payload;
};

static inline bool vhca_packet_is_last(const struct vhca_packet *packet)
{
	return packet->offset + packet->len == packet->total;
}

/**
 * struct vhca_port - where packets arrive
 * @node: place in the list of ports, under RCU
 * @lock: protects what follows; a leaf, taken with or without vhca.lock
 * @open: packets may come
 * @requests: packets in @inbox that are no answers
 * @inbox: packets, oldest first
 * @spare: packets of VHCA_MAX_PAYLOAD bytes, under vhca.lock
 * @nr_spare: how many
 */
struct vhca_port {
	struct list_head	node;
	spinlock_t		lock;	/* see above */
	bool			open;
	unsigned int		requests;
	struct list_head	inbox;
	struct list_head	spare;
	unsigned int		nr_spare;
};

/**
 * struct vhca_route - where a packet goes
 * @global: to a GID; else to a LID
 * @lid: the LID
 * @gid: the GID
 */
struct vhca_route {
	bool	global;
	u16	lid;
	__be64	gid[2];
};

/**
 * enum vhca_sent - what became of a packet that was to be sent
 * @VHCA_SENT: it is on its way and belongs to the fabric
 * @VHCA_FULL: the inbox is full, try again; it is still the caller's
 * @VHCA_NOBODY: no such port; it is still the caller's
 */
enum vhca_sent {
	VHCA_SENT,
	VHCA_FULL,
	VHCA_NOBODY,
};

void vhca_fabric_init(struct vhca *v);
void vhca_fabric_join(struct vhca *v);
void vhca_fabric_leave(struct vhca *v);
enum vhca_sent vhca_fabric_send(struct vhca *v, const struct vhca_route *route,
				struct vhca_packet *packet);
bool vhca_fabric_find(const struct vhca_route *route, unsigned int *index);
bool vhca_fabric_poll(struct vhca *v, bool able);
void vhca_fabric_answer(struct vhca *v, struct vhca_packet *packet);
struct vhca_route vhca_route_of_path(const void *path);
struct vhca_route vhca_route_of_av(const struct mlx5_av *av);
bool vhca_route_leads_to(const struct vhca_route *route, unsigned int index);
void vhca_fabric_gid(unsigned int index, __be64 gid[2]);
bool vhca_fabric_memic(u64 phys, void *data, u64 len, bool write);
u64 vhca_fabric_now(void);
u64 vhca_fabric_new_life(void);
struct vhca_packet *vhca_packet_get(struct vhca *v, u32 len);
void vhca_packet_put(struct vhca *v, struct vhca_packet *packet);
void vhca_packet_free(struct vhca_packet *packet);
void vhca_fabric_exit(struct vhca *v);

/**
 * vhca_gid_is_group - is it the GID of a multicast group?
 * @gid: the GID
 *
 * Return: true if it is; false for that of a port
 */
static inline bool vhca_gid_is_group(const __be64 gid[2])
{
	return be64_to_cpu(gid[0]) >> 56 == 0xff;
}

/**
 * vhca_packet_is_management - is it from a driver's management queue pair to such a one?
 * @packet: the packet
 *
 * A user could send by the Q_Key, but not from a queue pair that is shown as that one.
 *
 * Return: true if it is
 */
static inline bool vhca_packet_is_management(const struct vhca_packet *packet)
{
	return packet->service == MLX5_QP_ST_UD && packet->target_qpn == VHCA_GSI_QPN &&
	       packet->shown_qpn == VHCA_GSI_QPN && packet->qkey == IB_QP1_QKEY &&
	       packet->total == VHCA_MAD_SIZE;
}

/* manager.c */
struct vhca_packet *vhca_manager_answer(struct vhca *v, const struct vhca_packet *request);

/* multicast.c */
void vhca_multicast_receive(struct vhca *v, struct vhca_packet *packet);

#endif /* VHCA_FABRIC_H */
