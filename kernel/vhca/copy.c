// SPDX-License-Identifier: GPL-2.0
/*
 * Copying within one's own memory by a work request, MLX5_OPCODE_MMO: a data path of the
 * device that needs no receiver (mlx5dv_wr_memcpy()).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mlx5/cq.h>

#include "vhca.h"

/* opmod of opmod_idx_opcode: copy. */
#define VHCA_MMO_OPMOD_SHIFT	24
#define VHCA_MMO_COPY		1

/**
 * struct vhca_copy_wqe - such a work request, struct mlx5_mmo_wqe of libmlx5
 * @ctrl: as all have it
 * @metadata: where the device may keep something meanwhile; not used
 * @from: memory that is copied
 * @to: and where it goes, as many bytes
 */
struct vhca_copy_wqe {
	struct mlx5_wqe_ctrl_seg	ctrl;
	u8				metadata[16];
	struct mlx5_wqe_data_seg	from;
	struct mlx5_wqe_data_seg	to;
};

static struct vhca_access vhca_copy_access(const struct vhca_qp *qp,
					   const struct mlx5_wqe_data_seg *data,
					   u8 right)
{
	return (struct vhca_access) {
		.key	 = be32_to_cpu(data->lkey),
		.right	 = right,
		.pd	 = qp->pd,
		.qpn	 = qp->object.id,
		.address = be64_to_cpu(data->addr),
		.len	 = be32_to_cpu(data->byte_count),
	};
}

/* Piece by piece; the memory of a packet is what they go through. */
static bool vhca_copy_pieces(struct vhca *v, struct vhca_access *from,
			     struct vhca_access *to, void *piece)
{
	u64 left = from->len;

	while (left) {
		from->len = min_t(u64, left, VHCA_MAX_PAYLOAD);
		to->len = from->len;
		if (!vhca_access_read(v, from, piece) ||
		    !vhca_access_write(v, to, piece))
			return false;
		from->address += from->len;
		to->address += from->len;
		left -= from->len;
	}
	return true;
}

/**
 * vhca_copy_execute - copy memory as a work request says
 * @v: the device
 * @qp: the queue pair that it was posted to
 * @wqe: the request, a copy
 * @len: bytes of it
 *
 * Both keys must be good for all of it before the first byte moves.  A page fault is an
 * error.
 *
 * Context: firmware thread, vhca.lock held
 * Return: 0, or the syndrome of the error completion, MLX5_CQE_SYNDROME_*
 */
u8 vhca_copy_execute(struct vhca *v, struct vhca_qp *qp, const void *wqe, u32 len)
{
	const struct vhca_copy_wqe *w = wqe;
	struct vhca_access from, to;
	struct vhca_packet *packet;
	bool copied;

	if (!qp->copies || len < sizeof(*w) ||
	    be32_to_cpu(w->ctrl.opmod_idx_opcode) >> VHCA_MMO_OPMOD_SHIFT !=
	    VHCA_MMO_COPY)
		return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	from = vhca_copy_access(qp, &w->from, VHCA_LOCAL_READ);
	to = vhca_copy_access(qp, &w->to, VHCA_LOCAL_WRITE);
	if (!from.len || from.len != to.len || from.len > BIT(VHCA_LOG_MAX_COPY))
		return MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
	v->poll_bytes += from.len;
	if (!vhca_access_allowed(v, &from) || !vhca_access_allowed(v, &to))
		return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
	packet = vhca_packet_get(v, min_t(u64, from.len, VHCA_MAX_PAYLOAD));
	if (!packet)
		return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	copied = vhca_copy_pieces(v, &from, &to, packet->payload);
	vhca_packet_put(v, packet);
	return copied ? 0 : MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
}
