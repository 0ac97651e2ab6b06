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

#include "fabric.h"
#include "object.h"
#include "page_fault.h"

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

/* So that one queue does not keep the thread from the others: requests at a time. */
#define VHCA_WORK_BATCH		64

/* What a request and a packet cost beyond their bytes, see vhca.poll_bytes. */
#define VHCA_REQUEST_COST	SZ_256
#define VHCA_PACKET_COST	SZ_1K

void *vhca_ram(u64 address, u64 len);
bool vhca_page_is_free(u64 address);

/**
 * vhca_ring_word - read a word that the driver or a user rings by
 * @word: the word, in their memory
 *
 * It is a read by the device.  Where a driver could not tell it that a queue is gone (L34
 * of Documentation/known-issues.rst), the memory has been freed: what is read then is
 * whatever a device would read, and nothing that KASAN is to judge.
 *
 * Context: any
 * Return: the word as it stands there
 */
static __no_kasan_or_inline __be32 vhca_ring_word(const __be32 *word)
{
	return READ_ONCE(*word);
}

/**
 * vhca_doorbell - the same as a number
 * @word: the word, in the memory of who rings
 *
 * Context: any
 * Return: vhca_ring_word() in the processor's byte order
 */
static inline u32 vhca_doorbell(const __be32 *word)
{
	return be32_to_cpu(vhca_ring_word(word));
}

void *vhca_dma_pointer(struct vhca *v, u64 address, u64 len);
u8 vhca_buffer_init(struct vhca *v, struct vhca_buffer *buffer,
		    const __be64 *pas, u32 nr_pas, u8 log_page_size,
		    u8 page_offset, u64 size);
u8 vhca_doorbell_init(struct vhca *v, u64 address, unsigned int words, __be32 **doorbell);
void vhca_doorbell_mark(__be32 *word, u32 mark);
void *vhca_calloc(struct vhca *v, size_t n, size_t size);
void vhca_buffer_exit(struct vhca_buffer *buffer);
void *vhca_buffer_at(struct vhca_buffer *buffer, u64 offset, u32 len);

/* A page of a queue is at most 1 GiB, as on x86 no larger one exists. */
#define VHCA_MAX_LOG_PAGE_SIZE	18	/* in units of 4 KiB */

/**
 * struct vhca_umem_place - a place in memory that a user has registered
 * @id: number of the umem
 * @offset: bytes from its begin
 * @write: the device writes there
 */
struct vhca_umem_place {
	u32	id;
	u64	offset;
	bool	write;
};

/* cmd_umem.c */
u8 vhca_umem_buffer(struct vhca *v, struct vhca_object *user,
		    struct vhca_buffer *buffer, struct vhca_umem_place where,
		    u64 size, const struct vhca_cmd *cmd);
u8 vhca_umem_doorbell(struct vhca *v, struct vhca_object *user,
		      struct vhca_umem_place where, const struct vhca_cmd *cmd,
		      __be32 **doorbell);

/* Fields that the programmer's manual has and mlx5_ifc.h no name for, by their dword. */
#define VHCA_QPC_DBR_UMEM_ID	(0x720 / 32)
#define VHCA_MODIFY_QP_EXT	(0x40 / 32)	/* qpc_ext, the top bit */
#define VHCA_MODIFY_QP_EXT_MASK	(0x860 / 32)	/* opt_param_mask_95_32, the lower half */
#define VHCA_MODIFY_QP_EXT_DATA	(0x880 / 32)	/* qpc_data_ext */
#define VHCA_MODIFY_QP_EXT_GROUPS	(0x8a0 / 32)	/* to ask by, and to answer by */
#define VHCA_QPC_EXT_MMO	BIT(29)
#define VHCA_QPC_EXT_STREAM	0xffff
#define VHCA_OPTPAR_EXT_STREAM	BIT(0)
#define VHCA_OPTPAR_EXT_GROUPS	BIT(1)
#define VHCA_OPTPAR_EXT_MMO	BIT(3)
#define VHCA_CQC_DBR_UMEM_ID	(0x20 / 32)
#define VHCA_CREATE_CQ_UMEM_OFFSET	(0x280 / 32)	/* and the next one */
#define VHCA_CREATE_CQ_UMEM_ID	(0x2c0 / 32)

/**
 * vhca_field - one of these
 * @structure: the structure that has it
 * @dword: which it is
 *
 * Return: its value
 */
static inline u32 vhca_field(const void *structure, unsigned int dword)
{
	return be32_to_cpup((const __be32 *)structure + dword);
}

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
void vhca_eq_post_event(struct vhca *v, u8 type, const void *data, size_t len);
void vhca_eq_post_qp_event(struct vhca *v, u8 type, u32 qpn);
void vhca_eq_post_command(struct vhca *v, unsigned int entry, u64 seq,
			  bool quiet);
void vhca_eq_post_page_fault(struct vhca *v, struct vhca_eq *eq, u8 sub_type,
			     const struct mlx5_eqe_page_fault *event);

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
 * @solicited: what @pi became with the last entry that a user who waits for
 *	solicited ones only wants to hear of
 * @answered: the arm word that was answered last
 * @doorbell: its record: consumer index, then arm word
 * @failed: it has overrun, and its owner was told
 * @buffer: the entries
 */
struct vhca_cq {
	struct vhca_object	object;
	u32			eqn;
	u8			log_size;
	u8			log_entry;
	bool			ignore_overrun;
	u32			pi;
	u32			solicited;
	u32			answered;
	bool			failed;
	__be32			*doorbell;
	struct vhca_buffer	buffer;
};

void vhca_cq_post(struct vhca *v, u32 cqn, struct mlx5_cqe64 *cqe,
		  bool solicited);
void vhca_cq_notify(struct vhca *v, struct vhca_cq *cq);

void vhca_complete(struct vhca *v, u32 cqn, struct mlx5_cqe64 *cqe, u16 counter,
		   u8 syndrome, bool solicited);

/* Streams of a DCI that can have failed before it fails itself, log2. */
#define VHCA_LOG_MAX_FAILED_STREAMS	4

/* Sequence numbers have 24 bits. */
#define VHCA_PSN_MASK		0xffffff

/* Largest work requests, in bytes; they are advertised. */
#define VHCA_MAX_SQ_WQE		1024
#define VHCA_MAX_RQ_WQE		512

/**
 * struct vhca_message - the message that a QP is sending
 * @active: there is one
 * @away: its present piece is a packet that was not answered yet
 * @opcode: MLX5_OPCODE_*
 * @flags: fm_ce_se of the request's control segment
 * @index: of the request in the send queue
 * @bbs: basic blocks of the request
 * @wqe_len: bytes of the request
 * @data: where in the request its data segments begin, in bytes
 * @total: bytes of the message
 * @offset: bytes of it that were acknowledged
 * @psn: sequence number of the present piece
 * @losses: how often the present piece was lost
 * @refusals: how often the receiver was not ready for it
 * @resume_ns: not to be sent again before, in ns of CLOCK_MONOTONIC
 * @wqe: the request, a copy, as its owner may write to the queue at any time
 */
struct vhca_message {
	bool	active;
	bool	away;
	u8	opcode;
	u8	flags;
	u16	index;
	u16	bbs;
	u32	wqe_len;
	u32	data;
	u32	total;
	u32	offset;
	u32	psn;
	u8	losses;
	u8	refusals;
	u64	resume_ns;
	u8	wqe[VHCA_MAX_SQ_WQE];
};

/**
 * struct vhca_srq - a shared receive queue, from create_rmp_in or
 *	create_xrc_srq_in
 * @object: what all objects have; its id is the queue's number
 * @pd: protection domain of its requests
 * @xrcd: XRC domain, and with it:
 * @cqn: CQ that is told
 * @user_index: by which its owner finds it
 * @log_size: log2 of the number of requests
 * @log_stride: log2 of the bytes from one to the next
 * @limit: who has fewer requests left than these is told so; 0: nobody
 * @taken: counts requests that were taken
 * @next: index of the one that is taken next
 * @doorbell: counts requests that were posted
 * @context: the driver's rmpc or xrc_srqc
 * @buffer: the requests
 */
struct vhca_srq {
	struct vhca_object	object;
	u32			pd;
	u32			xrcd;
	u32			cqn;
	u32			user_index;
	u8			log_size;
	u8			log_stride;
	u16			limit;
	u16			taken;
	u16			next;
	__be32			*doorbell;
	u32			context[MLX5_ST_SZ_DW(rmpc)];
	struct vhca_buffer	buffer;
};

static_assert(MLX5_ST_SZ_DW(xrc_srqc) <= MLX5_ST_SZ_DW(rmpc));

/**
 * struct vhca_reception - what a QP is receiving
 * @psn: sequence number of the next piece
 * @active: a receive request is being filled
 * @source: with DC: by that device
 * @source_life: and that life of a queue pair of it
 * @since_ns: when a piece came last, in ns of CLOCK_MONOTONIC
 * @srqn: shared queue that the request was taken from, or 0
 * @index: where in its queue it is
 * @counter: what the completion calls it
 * @cqn: CQ that is told of it
 * @user_index: by which the owner of the queue finds that
 * @pd: protection domain of its memory
 * @first: data segments begin behind so many others in @wqe
 * @wqe_len: bytes of @wqe
 * @wqe: the receive request, a copy
 */
struct vhca_reception {
	u32	psn;
	bool	active;
	u32	source;
	u64	source_life;
	u64	since_ns;
	u32	srqn;
	u16	index;
	u16	counter;
	u32	cqn;
	u32	user_index;
	u32	pd;
	u32	first;
	u32	wqe_len;
	u8	wqe[VHCA_MAX_RQ_WQE];
};

/**
 * struct vhca_qp - a queue pair, from create_qp_in and the QP transitions
 * @object: what all objects have; its id is the QP number
 * @service: service type, MLX5_QP_ST_*
 * @state: MLX5_QP_STATE_*
 * @privileged: the driver's own; it may use physical addresses
 * @copies: it takes requests to copy memory
 * @draining: a signature was wrong, and it stops behind the request that it was in
 * @failed_streams: of a DCI: streams that have failed
 * @nr_failed_streams: how many
 * @groups: multicast groups that it is in
 * @life: changes when the QP is made and when it is reset, see fabric.h
 * @stopped_by: serial of the fault that stopped its work last, or 0
 * @pd: protection domain
 * @send_cqn: CQ of the send queue
 * @recv_cqn: CQ of the receive queue
 * @has_sq: there is a send queue of this QP's own
 * @has_rq: there is a receive queue of this QP's own
 * @shares_rq: it receives from a shared one
 * @log_sq: log2 of the send queue's size in units of MLX5_SEND_WQE_BB bytes
 * @log_rq: log2 of the number of receive work requests
 * @sq_offset: where in @buffer the send queue begins, in bytes
 * @sq_ci: consumer index of the send queue, in the units of @log_sq
 * @rq_ci: consumer index of the receive queue
 * @doorbell: its record: producer index of the receive, then the send queue
 * @context: the driver's qpc, merged over the transitions
 * @buffer: receive queue, then send queue
 * @message: what is being sent
 * @reception: what is being received
 * @faults: page faults that either side waits for
 */
struct vhca_qp {
	struct vhca_object	object;
	u8			service;
	u8			state;
	bool			privileged;
	bool			copies;
	bool			draining;
	u16			failed_streams[BIT(VHCA_LOG_MAX_FAILED_STREAMS)];
	u8			nr_failed_streams;
	u16			groups;
	u64			life;
	u64			stopped_by;
	u32			pd;
	u32			send_cqn;
	u32			recv_cqn;
	bool			has_sq;
	bool			has_rq;
	bool			shares_rq;
	u8			log_sq;
	u8			log_rq;
	u32			sq_offset;
	u16			sq_ci;
	u16			rq_ci;
	__be32			*doorbell;
	u32			context[MLX5_ST_SZ_DW(qpc)];
	struct vhca_buffer	buffer;
	struct vhca_message	message;
	struct vhca_reception	reception;
	struct vhca_page_fault	faults[VHCA_SIDES];
};

/* Does a service answer each packet, and send what was lost again? */
static inline bool vhca_is_reliable(u8 service)
{
	return service == MLX5_QP_ST_RC || service == MLX5_QP_ST_XRC ||
	       service == MLX5_QP_ST_DCI || service == MLX5_QP_ST_DCT;
}

/* Does each work request say where it goes? */
static inline bool vhca_has_addresses(u8 service)
{
	return service == MLX5_QP_ST_UD || service == MLX5_QP_ST_DCI;
}

/* workqueue.c */
bool vhca_workqueue_poll(struct vhca *v);
void vhca_workqueue_watch(struct vhca *v);
void vhca_workqueue_resume(struct vhca *v, u64 ns);
void vhca_send_complete(struct vhca *v, struct vhca_qp *qp, u16 index,
			u8 opcode, u32 bytes, u8 syndrome);

/* receive.c */
bool vhca_receive_pd(struct vhca *v, const struct vhca_qp *qp, u32 srqn,
		     u32 *pd);
bool vhca_receive_posted(struct vhca *v, struct vhca_qp *qp, u32 srqn,
			 u16 *posted);
bool vhca_receive_fetch(struct vhca *v, struct vhca_qp *qp, u32 srqn);
void vhca_receive_complete(struct vhca *v, struct vhca_qp *qp,
			   struct mlx5_cqe64 *cqe, u8 syndrome,
			   bool solicited);
bool vhca_receive_flush(struct vhca *v, struct vhca_qp *qp);

/* stream.c */
bool vhca_stream_has_failed(const struct vhca_qp *qp);
void vhca_request_has_failed(struct vhca_qp *qp);
void vhca_stream_reset(struct vhca_qp *qp, u16 stream);

/* send_queue.c */
#define VHCA_REGISTERS	8	/* in a UAR, both halves of each */
bool vhca_send_queues_poll(struct vhca *v);
void vhca_send_queues_watch(struct vhca *v);

/* copy.c */
#define VHCA_OPCODE_COPY	0x2f	/* MLX5_OPCODE_MMO of libmlx5 */
u8 vhca_copy_execute(struct vhca *v, struct vhca_qp *qp, const void *wqe, u32 len);

/* requester.c */
u8 vhca_requester_begin(struct vhca_qp *qp);
bool vhca_requester_send(struct vhca *v, struct vhca_qp *qp);
bool vhca_requester_take(struct vhca *v, struct vhca_packet *packet);
void vhca_requester_give_up(struct vhca *v, struct vhca_qp *qp);

/* multicast.c */
void vhca_multicast_leave(struct vhca *v, struct vhca_qp *qp);

/* responder.c */
enum vhca_reply vhca_responder_execute(struct vhca *v,
				       struct vhca_packet *packet);
void vhca_responder_datagram(struct vhca *v, struct vhca_qp *qp, struct vhca_packet *packet);
enum vhca_reply vhca_responder_give_up(struct vhca *v, struct vhca_qp *qp,
				       const struct vhca_packet *packet,
				       bool receiving);

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
 * @bsf: its block signature format, if bsf_en says so
 * @signature_failed: its owner knows of a wrong signature
 */
struct vhca_mkey {
	struct vhca_object	object;
	u32			context[MLX5_ST_SZ_DW(mkc)];
	__be64			*xlt;
	u32			octowords;
	struct mlx5_bsf		bsf;
	bool			signature_failed;
};

u8 vhca_mkey_mode(const struct vhca_mkey *mkey);
bool vhca_mkey_free(const struct vhca_mkey *mkey);
void vhca_mkey_check_pd(struct vhca *v, const struct vhca_mkey *mkey,
			u64 detail);
void vhca_mkey_check_memic(struct vhca *v, u64 start, u64 len);

/* A key that leads nowhere and is never present. */
#define VHCA_NULL_MKEY	0x200

/* qpn of mkc: the key is bound to no queue pair. */
#define VHCA_ANY_QP	0xffffff

/* What an access needs of a key, as the mkc has it. */
#define VHCA_LOCAL_READ		BIT(0)
#define VHCA_LOCAL_WRITE	BIT(1)
#define VHCA_REMOTE_READ	BIT(2)
#define VHCA_REMOTE_WRITE	BIT(3)
#define VHCA_REMOTE_ATOMIC	BIT(4)

/**
 * struct vhca_access - an access to memory by a key
 * @key: the key, with its variant
 * @right: VHCA_LOCAL_READ or one of the others
 * @pd: protection domain of the queue pair
 * @qpn: number of the queue pair
 * @address: where
 * @len: bytes
 * @absent: returned where it has failed: because a translation is not present
 */
struct vhca_access {
	u32	key;
	u8	right;
	u32	pd;
	u32	qpn;
	u64	address;
	u64	len;
	bool	absent;
};

bool vhca_access_allowed(struct vhca *v, const struct vhca_access *access);
bool vhca_access_read(struct vhca *v, struct vhca_access *access, void *to);
bool vhca_access_write(struct vhca *v, struct vhca_access *access,
		       const void *from);
bool vhca_access_invalidate(struct vhca *v, const struct vhca_access *access);
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
#define to_vhca_srq(o)	container_of(o, struct vhca_srq, object)
#define to_vhca_mkey(o)	container_of(o, struct vhca_mkey, object)

#endif /* VHCA_QUEUES_H */
