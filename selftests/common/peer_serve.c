// SPDX-License-Identifier: GPL-2.0
/*
 * The peer's side: one function an operation.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "dm_ops.h"
#include "peer_msg.h"

/* The peer's only context. */
static struct ibv_context *peer_ctx;

/* Of its memory regions. */
static struct ibv_pd *peer_pd;

static struct mlx5dv_var *peer_token_var(const struct peer_msg *msg)
{
	return (struct mlx5dv_var *)(uintptr_t)msg->arg[0];
}

static struct ibv_dm *peer_token_dm(const struct peer_msg *msg)
{
	return (struct ibv_dm *)(uintptr_t)msg->arg[0];
}

static void peer_answer_var(struct peer_msg *msg, const struct mlx5dv_var *var)
{
	msg->arg[0] = (uintptr_t)var;
	if (!var)
		return;
	msg->arg[1] = var->page_id;
	msg->arg[2] = var->length;
	msg->arg[3] = var->mmap_off;
}

static int peer_do_open(struct peer_msg *msg)
{
	struct device dev = {};

	memcpy(dev.name, msg->data, sizeof(dev.name) - 1);
	peer_ctx = device_open(&dev);
	return peer_ctx ? 0 : errno;
}

static int peer_do_import(int *fd)
{
	peer_ctx = ibv_import_device(*fd);
	if (!peer_ctx)
		return errno;
	/* The context owns it now. */
	*fd = -1;
	return 0;
}

static int peer_do_close(void)
{
	int err = ibv_close_device(peer_ctx) ? errno : 0;

	peer_ctx = NULL;
	peer_pd = NULL;
	return err;
}

static int peer_do_dm_alloc(struct peer_msg *msg)
{
	struct ibv_dm *dm;
	int err;

	err = _dm_alloc(peer_ctx, msg->arg[0], &dm);
	msg->arg[0] = (uintptr_t)dm;
	if (!err)
		msg->arg[1] = dm->handle;
	return err;
}

static int peer_do_dm_import(struct peer_msg *msg)
{
	struct ibv_dm *dm;
	int err;

	err = _dm_import(peer_ctx, msg->arg[0], &dm);
	msg->arg[0] = (uintptr_t)dm;
	return err;
}

static int peer_do_dm_read(struct peer_msg *msg)
{
	uint32_t word = 0;
	int err;

	err = ibv_memcpy_from_dm(&word, peer_token_dm(msg), msg->arg[1], sizeof(word));
	msg->arg[2] = word;
	return err;
}

static int peer_do_dm_write(struct peer_msg *msg)
{
	uint32_t word = msg->arg[2];

	return ibv_memcpy_to_dm(peer_token_dm(msg), msg->arg[1], &word, sizeof(word));
}

static int peer_do_dm_reg(struct peer_msg *msg)
{
	struct ibv_mr *mr;
	int err;

	if (!peer_pd)
		peer_pd = ibv_alloc_pd(peer_ctx);
	if (!peer_pd)
		return errno;
	err = _mr_reg_dm(peer_pd, peer_token_dm(msg), 0, msg->arg[1], &mr);
	msg->arg[0] = (uintptr_t)mr;
	return err;
}

static int peer_do_map_op(struct peer_msg *msg)
{
	void *addr;
	int err;

	err = _dm_map_op(peer_token_dm(msg), msg->arg[1], &addr);
	msg->arg[0] = (uintptr_t)addr;
	return err;
}

static int peer_do_export(struct peer_msg *msg)
{
	int err, fd;

	if (msg->op == PEER_DM_EXPORT)
		err = _dmabuf_export(peer_token_dm(msg), &fd);
	else
		err = _raw_dmabuf_export(peer_ctx->cmd_fd, msg->arg[0], &fd);
	msg->arg[0] = fd;
	return err;
}

/* @fd is -1 afterwards if the descriptor that came along is kept. */
static int peer_do(struct peer_msg *msg, int *fd)
{
	struct mlx5dv_var *var = NULL;
	uint32_t *map;
	int err = 0;

	switch (msg->op) {
	case PEER_OPEN:
		return peer_do_open(msg);
	case PEER_IMPORT:
		return peer_do_import(fd);
	case PEER_LEND:
		return 0;
	case PEER_CLOSE:
		return peer_do_close();
	case PEER_VAR_ALLOC:
		err = _var_alloc(peer_ctx, 0, &var);
		peer_answer_var(msg, var);
		return err;
	case PEER_VAR_EXPORT:
		return mlx5dv_var_export(peer_token_var(msg), msg->data);
	case PEER_VAR_IMPORT:
		err = _var_import(peer_ctx, msg->data, &var);
		peer_answer_var(msg, var);
		return err;
	case PEER_VAR_MAP:
		err = _var_map(peer_ctx, peer_token_var(msg), &map);
		msg->arg[0] = (uintptr_t)map;
		return err;
	case PEER_VAR_FREE:
		mlx5dv_free_var(peer_token_var(msg));
		return 0;
	case PEER_VAR_UNIMPORT:
		mlx5dv_var_unimport(peer_token_var(msg));
		return 0;
	case PEER_UNMAP:
		return munmap((void *)(uintptr_t)msg->arg[0], msg->arg[1]) ? errno : 0;
	case PEER_POKE:
		map = (uint32_t *)(uintptr_t)msg->arg[0];
		__atomic_store_n(map, (uint32_t)msg->arg[1], __ATOMIC_RELAXED);
		return 0;
	case PEER_RAW_VAR_FREE:
		return _raw_var_free(peer_ctx->cmd_fd, msg->arg[0]);
	case PEER_DM_ALLOC:
		return peer_do_dm_alloc(msg);
	case PEER_DM_IMPORT:
		return peer_do_dm_import(msg);
	case PEER_DM_READ:
		return peer_do_dm_read(msg);
	case PEER_DM_WRITE:
		return peer_do_dm_write(msg);
	case PEER_DM_UNIMPORT:
		ibv_unimport_dm(peer_token_dm(msg));
		return 0;
	case PEER_DM_FREE:
		return ibv_free_dm(peer_token_dm(msg));
	case PEER_DM_REG:
		return peer_do_dm_reg(msg);
	case PEER_MR_DEREG:
		return ibv_dereg_mr((struct ibv_mr *)(uintptr_t)msg->arg[0]);
	case PEER_DM_MAP_OP:
		return peer_do_map_op(msg);
	case PEER_DM_EXPORT:
	case PEER_RAW_EXPORT:
		return peer_do_export(msg);
	case PEER_KEEP_FD:
		msg->arg[0] = *fd;
		*fd = -1;
		return 0;
	case PEER_CLOSE_FD:
		return close(msg->arg[0]) ? errno : 0;
	}
	return EOPNOTSUPP;
}

void peer_serve(int sock)
{
	struct peer_msg msg;
	int fd, lent;

	peer_skips(sock);
	while (!peer_receive(sock, &msg, &fd)) {
		msg.err = peer_do(&msg, &fd);
		if (fd >= 0)
			close(fd);
		lent = msg.op == PEER_LEND && peer_ctx ? peer_ctx->cmd_fd : -1;
		if (peer_send(sock, &msg, lent))
			break;
	}
}
