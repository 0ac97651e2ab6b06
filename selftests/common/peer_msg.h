/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What goes over the socket between a test and its peer.
 */
#ifndef _SELFTESTS_PEER_MSG_H
#define _SELFTESTS_PEER_MSG_H

#include <stdint.h>

#include "var_ops.h"

/**
 * enum peer_op - what the peer shall do
 * @PEER_OPEN: open the device that data names
 * @PEER_IMPORT: import the context whose command descriptor comes along
 * @PEER_LEND: send the command descriptor back
 * @PEER_CLOSE: close the context
 * @PEER_VAR_ALLOC: answer: token, page id, length and offset in arg
 * @PEER_VAR_EXPORT: token in arg; answer: attributes in data
 * @PEER_VAR_IMPORT: attributes in data; answer as for PEER_VAR_ALLOC
 * @PEER_VAR_MAP: token in arg; answer: address in arg
 * @PEER_VAR_FREE: token in arg
 * @PEER_VAR_UNIMPORT: token in arg
 * @PEER_UNMAP: address and length in arg
 * @PEER_POKE: address and word in arg
 * @PEER_RAW_VAR_FREE: handle in arg
 * @PEER_DM_ALLOC: bytes in arg; answer: token and handle in arg
 * @PEER_DM_IMPORT: handle in arg; answer: token in arg
 * @PEER_DM_READ: token and offset in arg; answer: word in arg
 * @PEER_DM_WRITE: token, offset and word in arg
 * @PEER_DM_UNIMPORT: token in arg
 * @PEER_DM_FREE: token in arg
 * @PEER_DM_REG: token and bytes in arg; answer: token of the region in arg
 * @PEER_MR_DEREG: token of the region in arg
 * @PEER_DM_MAP_OP: token and operation in arg; answer: address in arg
 * @PEER_DM_EXPORT: token in arg; answer: descriptor in arg
 * @PEER_RAW_EXPORT: offset in arg; answer as for PEER_DM_EXPORT
 * @PEER_KEEP_FD: keep the descriptor that comes along; answer: its number in arg
 * @PEER_CLOSE_FD: number in arg
 */
enum peer_op {
	PEER_OPEN,
	PEER_IMPORT,
	PEER_LEND,
	PEER_CLOSE,
	PEER_VAR_ALLOC,
	PEER_VAR_EXPORT,
	PEER_VAR_IMPORT,
	PEER_VAR_MAP,
	PEER_VAR_FREE,
	PEER_VAR_UNIMPORT,
	PEER_UNMAP,
	PEER_POKE,
	PEER_RAW_VAR_FREE,
	PEER_DM_ALLOC,
	PEER_DM_IMPORT,
	PEER_DM_READ,
	PEER_DM_WRITE,
	PEER_DM_UNIMPORT,
	PEER_DM_FREE,
	PEER_DM_REG,
	PEER_MR_DEREG,
	PEER_DM_MAP_OP,
	PEER_DM_EXPORT,
	PEER_RAW_EXPORT,
	PEER_KEEP_FD,
	PEER_CLOSE_FD,
};

/* The peer lacks what the test needs, and is gone. */
#define PEER_SKIPS	(-1)

/**
 * struct peer_msg - a request or its answer
 * @op: what to do
 * @err: answer: 0, an errno, or PEER_SKIPS with the reason in @data
 * @arg: numbers, see enum peer_op
 * @data: bytes, see enum peer_op
 */
struct peer_msg {
	uint32_t op;
	int32_t err;
	uint64_t arg[4];
	uint8_t data[VAR_BLOB_MAX];
};

/**
 * peer_send() - send a message
 * @sock: the socket
 * @msg: the message
 * @fd: descriptor to send along, -1 for none
 *
 * Return: 0 or an errno.
 */
int peer_send(int sock, const struct peer_msg *msg, int fd);

/**
 * peer_receive() - wait for a message
 * @sock: the socket
 * @msg: filled in
 * @fd: descriptor that came along (close on exec), -1 for none
 *
 * Does not return if the answer is that the test must be skipped.
 *
 * Return: 0, EPIPE if the other side is gone, or another errno.
 */
int peer_receive(int sock, struct peer_msg *msg, int *fd);

/**
 * peer_skips() - let skip_test() end the other side's test
 * @sock: the socket
 *
 * Its reason is then the answer to the request that cannot be done.
 */
void peer_skips(int sock);

/**
 * peer_serve() - do what the other side asks for until it goes
 * @sock: the socket
 */
void peer_serve(int sock);

#endif /* _SELFTESTS_PEER_MSG_H */
