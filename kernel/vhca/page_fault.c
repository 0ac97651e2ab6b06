// SPDX-License-Identifier: GPL-2.0
/*
 * Page faults, see page_fault.h.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mlx5/driver.h>

#include "vhca.h"

/* pftype_wq and pftype_token: the type is above these. */
#define VHCA_PFTYPE_SHIFT	24

/**
 * vhca_page_faults_init - make a device that has none
 * @v: the device
 */
void vhca_page_faults_init(struct vhca *v)
{
	INIT_LIST_HEAD(&v->page_faults.list);
}

static struct vhca_eq *vhca_page_fault_eq(struct vhca *v)
{
	struct vhca_object *object;
	unsigned long eqn;

	xa_for_each(&v->ledger.by_id[VHCA_EQ], eqn, object) {
		struct vhca_eq *eq = to_vhca_eq(object);

		if (eq->events[0] & BIT_ULL(MLX5_EVENT_TYPE_PAGE_FAULT))
			return eq;
	}
	return NULL;
}

static struct vhca_page_fault *vhca_page_fault_find(struct vhca *v, u32 token)
{
	struct vhca_page_fault *fault;

	list_for_each_entry(fault, &v->page_faults.list, node)
		if (fault->token == token)
			return fault;
	return NULL;
}

static u32 vhca_page_fault_token(struct vhca *v)
{
	struct vhca_page_faults *all = &v->page_faults;

	do {
		all->token = (all->token + 1) & VHCA_TOKEN_MASK;
	} while (!all->token || vhca_page_fault_find(v, all->token));
	return all->token;
}

/*
 * A fault of one side of a queue pair begins.  None does where the transport
 * cannot stop (of UC and of the driver's own none can), or where no event queue
 * wants to hear of it: then what is not present is an error.
 */
static struct vhca_page_fault *vhca_page_fault_new(struct vhca *v,
						   struct vhca_qp *qp,
						   enum vhca_side side,
						   struct vhca_packet *packet)
{
	struct vhca_page_fault *fault = &qp->faults[side];

	if (!(vhca_is_reliable(qp->service) || qp->service == MLX5_QP_ST_UD) ||
	    !vhca_page_fault_eq(v))
		return NULL;
	*fault = (struct vhca_page_fault) {
		.state	= VHCA_FAULT_HELD,
		.token	= vhca_page_fault_token(v),
		.qpn	= qp->object.id,
		.number	= qp->object.id,
		.packet	= packet,
	};
	list_add_tail(&fault->node, &v->page_faults.list);
	v->page_faults.nr++;
	v->page_faults.stats.raised++;
	return fault;
}

static void vhca_page_fault_of_wqe(struct vhca_page_fault *fault, u8 type,
				   u16 index, u32 committed, u32 len)
{
	fault->sub_type = MLX5_PFAULT_SUBTYPE_WQE;
	fault->type = type;
	fault->event.wqe.bytes_committed = cpu_to_be32(committed);
	fault->event.wqe.wqe_index = cpu_to_be16(index);
	fault->event.wqe.packet_length = cpu_to_be16(len);
	fault->event.wqe.token = cpu_to_be32(fault->token);
	fault->event.wqe.pftype_wq = cpu_to_be32((u32)type <<
						 VHCA_PFTYPE_SHIFT |
						 fault->number);
}

/**
 * vhca_page_fault_send - a sender's own memory is not present
 * @v: the device
 * @qp: the queue pair, whose message is under way
 * @len: bytes of the present piece
 * @answer: the bytes that came for it, and that the fault keeps; NULL if it
 *	was to be sent
 *
 * Context: firmware thread, vhca.lock held
 * Return: true if there is a fault to wait for; false if it is an error
 */
bool vhca_page_fault_send(struct vhca *v, struct vhca_qp *qp, u32 len,
			  struct vhca_packet *answer)
{
	struct vhca_message *m = &qp->message;
	struct vhca_page_fault *fault;

	fault = vhca_page_fault_new(v, qp, VHCA_REQUESTER, answer);
	if (!fault)
		return false;
	vhca_page_fault_of_wqe(fault, answer ?
			       MLX5_WQE_PF_TYPE_REQ_READ_OR_ATOMIC :
			       MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE,
			       m->index, m->offset, len);
	return true;
}

/**
 * vhca_page_fault_receive - the memory of a receive request is not present
 * @v: the device
 * @qp: the queue pair that is receiving
 * @packet: what was to go there; the fault keeps it
 *
 * Context: firmware thread, vhca.lock held
 * Return: true if there is a fault to wait for; false if it is an error
 */
bool vhca_page_fault_receive(struct vhca *v, struct vhca_qp *qp,
			     struct vhca_packet *packet)
{
	const struct vhca_reception *r = &qp->reception;
	struct vhca_page_fault *fault;

	fault = vhca_page_fault_new(v, qp, VHCA_RESPONDER, packet);
	if (!fault)
		return false;
	if (r->srqn)
		fault->number = r->srqn;
	vhca_page_fault_of_wqe(fault, r->srqn ? MLX5_WQE_PF_TYPE_RMP :
						MLX5_WQE_PF_TYPE_RESP,
			       r->counter, packet->offset, packet->len);
	return true;
}

/**
 * vhca_page_fault_rdma - memory that the other side has named is not present
 * @v: the device
 * @qp: the queue pair that was asked
 * @packet: the request; the fault keeps it
 * @write: it writes there
 *
 * Context: firmware thread, vhca.lock held
 * Return: true if there is a fault to wait for; false if it is an error
 */
bool vhca_page_fault_rdma(struct vhca *v, struct vhca_qp *qp,
			  struct vhca_packet *packet, bool write)
{
	struct vhca_page_fault *fault;

	fault = vhca_page_fault_new(v, qp, VHCA_RESPONDER, packet);
	if (!fault)
		return false;
	fault->sub_type = MLX5_PFAULT_SUBTYPE_RDMA;
	fault->type = MLX5_PFAULT_RDMA | (write ? MLX5_PFAULT_WRITE : 0);
	fault->event.rdma.bytes_committed = cpu_to_be32(packet->offset);
	fault->event.rdma.r_key = cpu_to_be32(packet->rkey);
	fault->event.rdma.packet_length = cpu_to_be16(packet->len);
	fault->event.rdma.rdma_op_len = cpu_to_be32(packet->total);
	fault->event.rdma.rdma_va = cpu_to_be64(packet->address);
	fault->event.rdma.pftype_token = cpu_to_be32((u32)fault->type <<
						     VHCA_PFTYPE_SHIFT |
						     fault->token);
	return true;
}

/* It is no longer waited for. */
static void vhca_page_fault_unlist(struct vhca *v,
				   struct vhca_page_fault *fault)
{
	list_del(&fault->node);
	v->page_faults.nr--;
	if (fault->state == VHCA_FAULT_TOLD)
		v->page_faults.nr_told--;
}

static void vhca_page_fault_answer(struct vhca *v,
				   struct vhca_page_fault *fault, bool failed)
{
	vhca_page_fault_unlist(v, fault);
	fault->state = VHCA_FAULT_RESUMED;
	fault->failed = failed;
	if (failed)
		v->page_faults.stats.failed++;
	else
		v->page_faults.stats.resumed++;
}

/**
 * vhca_page_faults_tell - tell the driver of faults that it does not know yet
 * @v: the device
 *
 * Context: firmware thread, vhca.lock held, bus mastering allowed
 */
void vhca_page_faults_tell(struct vhca *v)
{
	struct vhca_page_faults *all = &v->page_faults;
	struct vhca_page_fault *fault, *next;
	struct vhca_eq *eq;

	if (all->hold || all->nr == all->nr_told)
		return;
	eq = vhca_page_fault_eq(v);
	list_for_each_entry_safe(fault, next, &all->list, node) {
		if (fault->state == VHCA_FAULT_TOLD)
			continue;
		if (!eq) {
			vhca_page_fault_answer(v, fault, true);
			continue;
		}
		if (all->nr_told == VHCA_MAX_TOLD)
			break;
		fault->state = VHCA_FAULT_TOLD;
		all->nr_told++;
		all->stats.told++;
		vhca_eq_post_page_fault(v, eq, fault->sub_type, &fault->event);
	}
}

/**
 * vhca_page_faults_hold - keep all faults from the driver, or tell it of them
 * @v: the device
 * @hold: keep them
 *
 * Between a fault and its event there is always some time; this makes it long.
 *
 * Context: process context, takes vhca.lock
 */
void vhca_page_faults_hold(struct vhca *v, bool hold)
{
	mutex_lock(&v->lock);
	v->page_faults.hold = hold;
	mutex_unlock(&v->lock);
	vhca_firmware_wake(v);
}

/* What was kept for the side that goes on is done again. */
static void vhca_requester_go_on(struct vhca *v, struct vhca_qp *qp)
{
	struct vhca_page_fault *fault = &qp->faults[VHCA_REQUESTER];
	struct vhca_packet *answer = fault->packet;

	fault->state = VHCA_NO_FAULT;
	fault->packet = NULL;
	if (fault->failed)
		vhca_requester_give_up(v, qp);
	else if (answer && vhca_requester_take(v, answer))
		return;
	if (answer)
		vhca_packet_put(v, answer);
}

static void vhca_responder_go_on(struct vhca *v, struct vhca_qp *qp)
{
	struct vhca_page_fault *fault = &qp->faults[VHCA_RESPONDER];
	struct vhca_packet *request = fault->packet;

	fault->state = VHCA_NO_FAULT;
	fault->packet = NULL;
	if (fault->failed)
		request->reply = vhca_responder_give_up(v, qp, request,
							fault->sub_type ==
							MLX5_PFAULT_SUBTYPE_WQE);
	else
		request->reply = vhca_responder_execute(v, request);
	if (request->reply != VHCA_UNANSWERED)
		vhca_fabric_answer(v, request);
}

/**
 * vhca_page_fault_go_on - have a queue pair go on if its faults were resumed
 * @v: the device
 * @qp: the queue pair; one in its error state has no faults any more
 *
 * Context: firmware thread, vhca.lock held, from within a poll
 * Return: true if there was something to do
 */
bool vhca_page_fault_go_on(struct vhca *v, struct vhca_qp *qp)
{
	bool busy = false;

	if (qp->state == MLX5_QP_STATE_ERR)
		vhca_page_fault_drop(v, qp);
	if (qp->faults[VHCA_REQUESTER].state == VHCA_FAULT_RESUMED) {
		vhca_requester_go_on(v, qp);
		busy = true;
	}
	if (qp->faults[VHCA_RESPONDER].state == VHCA_FAULT_RESUMED) {
		vhca_responder_go_on(v, qp);
		busy = true;
	}
	return busy;
}

/* The driver may answer still: it does not look who has met the fault. */
static void vhca_page_fault_forget(struct vhca *v,
				   struct vhca_page_fault *fault)
{
	struct vhca_page_faults *all = &v->page_faults;

	switch (fault->state) {
	case VHCA_NO_FAULT:
		return;
	case VHCA_FAULT_TOLD:
		all->dropped[all->next_dropped++ % VHCA_DROPPED] = fault->token;
		fallthrough;
	case VHCA_FAULT_HELD:
		vhca_page_fault_unlist(v, fault);
		all->stats.dropped++;
		break;
	case VHCA_FAULT_RESUMED:
		break;
	}
	fault->state = VHCA_NO_FAULT;
}

/**
 * vhca_page_fault_drop - forget the faults of a queue pair
 * @v: the device
 * @qp: the queue pair, which is being destroyed or reset or has failed
 *
 * A request that was kept is lost, as are all that come to such a queue pair.
 *
 * Context: vhca.lock held
 */
void vhca_page_fault_drop(struct vhca *v, struct vhca_qp *qp)
{
	struct vhca_page_fault *fault = qp->faults;
	struct vhca_packet *packet;

	vhca_page_fault_forget(v, &fault[VHCA_REQUESTER]);
	packet = fault[VHCA_REQUESTER].packet;
	fault[VHCA_REQUESTER].packet = NULL;
	if (packet)
		vhca_packet_free(packet);
	vhca_page_fault_forget(v, &fault[VHCA_RESPONDER]);
	packet = fault[VHCA_RESPONDER].packet;
	fault[VHCA_RESPONDER].packet = NULL;
	if (packet) {
		v->stats.packets_lost++;
		packet->reply = VHCA_LOST;
		vhca_fabric_answer(v, packet);
	}
}

/* Was this fault dropped since the driver was told?  Once it is not, then. */
static bool vhca_page_fault_was_dropped(struct vhca *v, u32 token)
{
	u32 *dropped = v->page_faults.dropped;
	unsigned int i;

	for (i = 0; token && i < VHCA_DROPPED; i++) {
		if (dropped[i] != token)
			continue;
		dropped[i] = 0;
		return true;
	}
	return false;
}

/**
 * vhca_cmd_page_fault_resume - PAGE_FAULT_RESUME: a fault was served or cannot
 *	be, from mlx5_ib_page_fault_resume()
 * @v: the device
 * @cmd: the command, page_fault_resume_in
 *
 * The driver names the queue pair of a work request, which it holds, but may
 * have reset meanwhile.  Of an RDMA operation it was told the token alone, which
 * it repeats; and it has no hold on that queue pair, which may be gone by now.
 *
 * Return: MLX5_CMD_STAT_*
 */
u8 vhca_cmd_page_fault_resume(struct vhca *v, struct vhca_cmd *cmd)
{
	void *info = MLX5_ADDR_OF(page_fault_resume_in, cmd->in,
				  page_fault_info.trans_page_fault_info);
	u32 token = MLX5_GET(trans_page_fault_info, info, fault_token);
	u32 number = MLX5_GET(trans_page_fault_info, info, wq_number);
	u8 type = MLX5_GET(trans_page_fault_info, info, page_fault_type);
	struct vhca_page_fault *fault;
	u32 wanted;

	cmd->object = token;
	fault = vhca_page_fault_find(v, token);
	if (!fault && vhca_page_fault_was_dropped(v, token)) {
		v->page_faults.stats.late++;
		return MLX5_CMD_STAT_OK;
	}
	if (!fault || fault->state != VHCA_FAULT_TOLD) {
		vhca_violation(v, "resume_of_no_fault", token, number, NULL);
		return MLX5_CMD_STAT_BAD_RES_ERR;
	}
	wanted = fault->sub_type == MLX5_PFAULT_SUBTYPE_WQE ? fault->number :
							      token;
	if (type != fault->type || number != wanted) {
		vhca_violation(v, "resume_of_other_fault", token, number,
			       NULL);
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	}
	vhca_page_fault_answer(v, fault, MLX5_GET(trans_page_fault_info, info,
						  error));
	return MLX5_CMD_STAT_OK;
}
