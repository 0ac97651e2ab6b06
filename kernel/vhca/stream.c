// SPDX-License-Identifier: GPL-2.0
/*
 * Streams of a DCI: requests that fail together and leave the others alone.  The queue pair
 * fails when as many streams have failed as it was made to bear.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "vhca.h"

/* Where the control segment has the stream, in bytes; mlx5_wqe_ctrl_seg has no name for it. */
#define VHCA_CTRL_STREAM	9

static bool vhca_has_streams(const struct vhca_qp *qp)
{
	return qp->service == MLX5_QP_ST_DCI &&
	       MLX5_GET(qpc, qp->context, log_num_dci_stream_channels);
}

static u16 vhca_stream_of(const struct vhca_message *m)
{
	return m->wqe[VHCA_CTRL_STREAM] << 8 | m->wqe[VHCA_CTRL_STREAM + 1];
}

/**
 * vhca_stream_has_failed - is a request of a stream that has failed before?
 * @qp: the queue pair, whose message has the request
 *
 * Context: firmware thread, vhca.lock held
 * Return: true if it is
 */
bool vhca_stream_has_failed(const struct vhca_qp *qp)
{
	u16 stream = vhca_stream_of(&qp->message);
	unsigned int i;

	for (i = 0; i < qp->nr_failed_streams; i++)
		if (qp->failed_streams[i] == stream)
			return true;
	return false;
}

/**
 * vhca_request_has_failed - what comes of a request that has failed
 * @qp: the queue pair, whose message has the request
 *
 * The queue pair fails, or the stream alone.
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_request_has_failed(struct vhca_qp *qp)
{
	u8 log = MLX5_GET(qpc, qp->context, log_num_dci_errored_streams);

	if (!vhca_has_streams(qp) || log > VHCA_LOG_MAX_FAILED_STREAMS) {
		qp->state = MLX5_QP_STATE_ERR;
		return;
	}
	if (qp->state != MLX5_QP_STATE_RTS || vhca_stream_has_failed(qp))
		return;
	qp->failed_streams[qp->nr_failed_streams++] =
		vhca_stream_of(&qp->message);
	if (qp->nr_failed_streams >= BIT(log))
		qp->state = MLX5_QP_STATE_ERR;
}

/**
 * vhca_stream_reset - have a stream go on
 * @qp: the queue pair
 * @stream: the stream, which may not have failed at all
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_stream_reset(struct vhca_qp *qp, u16 stream)
{
	unsigned int i;

	for (i = 0; i < qp->nr_failed_streams; i++) {
		if (qp->failed_streams[i] != stream)
			continue;
		qp->failed_streams[i] =
			qp->failed_streams[--qp->nr_failed_streams];
		return;
	}
}
