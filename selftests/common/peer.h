/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A second process that does what the test asks it to do, one step at a time.
 *
 * Every step is a request and an answer over a SOCK_SEQPACKET socket, so a
 * test knows that the peer has done it, and nobody ever sleeps.  Operations
 * return 0 or the errno that the peer got; EPIPE means that the peer is gone.
 * Names are as explained in var_ops.h.
 *
 * A peer dies with the process that started it.
 */
#ifndef _SELFTESTS_PEER_H
#define _SELFTESTS_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <infiniband/verbs.h>

/**
 * struct peer - another process
 * @pid: its number
 * @sock: this side's end of the socket
 */
struct peer {
	pid_t pid;
	int sock;
};

/**
 * struct peer_var - a VAR that the peer has
 * @token: what names it in later requests
 * @page_id: as in struct mlx5dv_var
 * @length: as in struct mlx5dv_var
 * @mmap_off: as in struct mlx5dv_var
 */
struct peer_var {
	uint64_t token;
	uint32_t page_id;
	uint32_t length;
	uint64_t mmap_off;
};

/**
 * peer_is_wanted() - was this program started as a peer?
 * @argc: as given to main()
 * @argv: as given to main()
 *
 * Return: whether main() must call peer_main() and do nothing else.
 */
bool peer_is_wanted(int argc, char **argv);

/**
 * peer_main() - serve as a peer until the socket is closed
 * @argv: as given to main()
 *
 * Return: exit status.
 */
int peer_main(char **argv);

/**
 * _peer_start() - start a peer that shares nothing with this process
 * @peer: filled in
 *
 * The peer is a new execution of the same program: it inherits no mapping and
 * no descriptor of a context, both of which a fork would.  UOBJSCOPE_PEER in the
 * environment names another program for it, peer.c built for another word size.
 *
 * Return: 0 or an errno.
 */
int _peer_start(struct peer *peer);

/**
 * _peer_fork() - start a peer as a copy of this process
 * @peer: filled in
 *
 * The peer has the same mappings at the same addresses and the same
 * descriptors.
 *
 * Return: 0 or an errno.
 */
int _peer_fork(struct peer *peer);

/**
 * _peer_end() - have the peer exit without cleaning up, and wait for it
 * @peer: the peer
 *
 * Return: 0, or EIO if it did not exit with status 0.
 */
int _peer_end(struct peer *peer);

/**
 * _peer_kill() - send SIGKILL to the peer and wait for its death
 * @peer: the peer
 *
 * Return: 0, or EIO if it did not die of that.
 */
int _peer_kill(struct peer *peer);

/**
 * _peer_open() - have the peer open a context of its own
 * @peer: the peer
 * @name: name of the device
 *
 * Return: 0 or an errno.
 */
int _peer_open(struct peer *peer, const char *name);

/**
 * _peer_import() - have the peer import a context of this process
 * @peer: the peer
 * @ctx: the context, whose command descriptor is sent
 *
 * Return: 0 or an errno.
 */
int _peer_import(struct peer *peer, struct ibv_context *ctx);

/**
 * _peer_lend() - import the peer's context here
 * @peer: the peer, whose command descriptor is received
 * @ctx: the context
 *
 * Return: 0 or an errno.
 */
int _peer_lend(struct peer *peer, struct ibv_context **ctx);

/**
 * _peer_close() - have the peer close its context
 * @peer: the peer
 *
 * Return: 0 or an errno.
 */
int _peer_close(struct peer *peer);

/**
 * _peer_var_alloc() - have the peer allocate a VAR
 * @peer: the peer
 * @var: filled in
 *
 * Return: 0 or an errno.
 */
int _peer_var_alloc(struct peer *peer, struct peer_var *var);

/**
 * _peer_var_export() - have the peer export a VAR
 * @peer: the peer
 * @var: the VAR
 * @blob: VAR_BLOB_MAX bytes for the attributes
 *
 * Return: 0 or an errno.
 */
int _peer_var_export(struct peer *peer, const struct peer_var *var, void *blob);

/**
 * _peer_var_import() - have the peer import a VAR
 * @peer: the peer
 * @blob: VAR_BLOB_MAX bytes with the attributes
 * @var: filled in
 *
 * Return: 0 or an errno.
 */
int _peer_var_import(struct peer *peer, const void *blob, struct peer_var *var);

/**
 * _peer_var_map() - have the peer map a VAR
 * @peer: the peer
 * @var: the VAR
 * @addr: address in the peer
 *
 * Return: 0 or an errno.
 */
int _peer_var_map(struct peer *peer, const struct peer_var *var, uint64_t *addr);

/**
 * _peer_var_free() - have the peer free a VAR, imported or not
 * @peer: the peer
 * @var: the VAR
 *
 * Return: 0, since mlx5dv_free_var() returns nothing, or EPIPE.
 */
int _peer_var_free(struct peer *peer, const struct peer_var *var);

/**
 * _peer_var_unimport() - have the peer unimport a VAR
 * @peer: the peer
 * @var: the VAR
 *
 * Return: 0 or EPIPE.
 */
int _peer_var_unimport(struct peer *peer, const struct peer_var *var);

/**
 * _peer_unmap() - have the peer unmap
 * @peer: the peer
 * @addr: address in the peer
 * @length: bytes
 *
 * Return: 0 or an errno.
 */
int _peer_unmap(struct peer *peer, uint64_t addr, uint64_t length);

/**
 * _peer_poke() - have the peer write a word to its memory
 * @peer: the peer
 * @addr: address in the peer
 * @word: the word
 *
 * Return: 0, or EPIPE if the peer did not survive it.
 */
int _peer_poke(struct peer *peer, uint64_t addr, uint32_t word);

/**
 * _peer_raw_var_free() - have the peer free a VAR by ioctl
 * @peer: the peer
 * @handle: uobject handle
 *
 * Return: 0 or the errno that mlx5dv_free_var() keeps for itself.
 */
int _peer_raw_var_free(struct peer *peer, uint32_t handle);

/**
 * _peer_dm_alloc() - have the peer allocate a DM
 * @peer: the peer
 * @length: bytes
 * @token: what names it in later requests
 * @handle: its uobject handle
 *
 * Return: 0 or an errno.
 */
int _peer_dm_alloc(struct peer *peer, uint64_t length, uint64_t *token, uint32_t *handle);

/**
 * _peer_dm_import() - have the peer import a DM of its context
 * @peer: the peer
 * @handle: handle of the DM
 * @token: what names it in later requests
 *
 * Return: 0 or an errno.
 */
int _peer_dm_import(struct peer *peer, uint32_t handle, uint64_t *token);

/**
 * _peer_dm_read() - have the peer read from a DM
 * @peer: the peer
 * @token: the DM
 * @offset: bytes from its begin
 * @word: the word there
 *
 * Return: 0 or an errno.
 */
int _peer_dm_read(struct peer *peer, uint64_t token, uint64_t offset, uint32_t *word);

/**
 * _peer_dm_write() - have the peer write to a DM
 * @peer: the peer
 * @token: the DM
 * @offset: bytes from its begin
 * @word: the word to write there
 *
 * Return: 0 or an errno.
 */
int _peer_dm_write(struct peer *peer, uint64_t token, uint64_t offset, uint32_t word);

/**
 * _peer_dm_unimport() - have the peer unimport a DM
 * @peer: the peer
 * @token: the DM
 *
 * Return: 0 or EPIPE.
 */
int _peer_dm_unimport(struct peer *peer, uint64_t token);

/**
 * _peer_dm_free() - have the peer free a DM, imported or not
 * @peer: the peer
 * @token: the DM
 *
 * Return: 0 or an errno.
 */
int _peer_dm_free(struct peer *peer, uint64_t token);

/**
 * _peer_dm_reg() - have the peer register a memory region on a DM
 * @peer: the peer, which allocates a PD for it the first time
 * @token: the DM
 * @length: bytes, from the begin of the DM
 * @mr: what names the region in later requests
 *
 * Return: 0 or an errno.
 */
int _peer_dm_reg(struct peer *peer, uint64_t token, uint64_t length, uint64_t *mr);

/**
 * _peer_mr_dereg() - have the peer deregister a memory region
 * @peer: the peer
 * @mr: the region
 *
 * Return: 0 or an errno.
 */
int _peer_mr_dereg(struct peer *peer, uint64_t mr);

/**
 * _peer_dm_map_op() - have the peer map an operation of a DM
 * @peer: the peer
 * @token: the DM
 * @op: the operation
 * @addr: address in the peer
 *
 * Return: 0 or an errno.
 */
int _peer_dm_map_op(struct peer *peer, uint64_t token, uint8_t op, uint64_t *addr);

/**
 * _peer_dm_export() - have the peer export a DM as a dma-buf
 * @peer: the peer
 * @token: the DM
 * @number: descriptor there
 *
 * Return: 0 or an errno.
 */
int _peer_dm_export(struct peer *peer, uint64_t token, int *number);

/**
 * _peer_raw_export() - have the peer export any mmap entry of its context by ioctl
 * @peer: the peer
 * @off: offset that the entry is mapped by, in bytes
 * @number: descriptor there
 *
 * Return: 0 or an errno.
 */
int _peer_raw_export(struct peer *peer, uint64_t off, int *number);

/**
 * _peer_keep_fd() - give the peer a descriptor
 * @peer: the peer
 * @fd: descriptor here
 * @number: descriptor there
 *
 * Return: 0 or an errno.
 */
int _peer_keep_fd(struct peer *peer, int fd, int *number);

/**
 * _peer_close_fd() - have the peer close a descriptor
 * @peer: the peer
 * @number: descriptor there
 *
 * Return: 0 or an errno.
 */
int _peer_close_fd(struct peer *peer, int number);

#define peer_start(peer)		ASSERT_EQ(0, _peer_start(peer))
#define peer_fork(peer)			ASSERT_EQ(0, _peer_fork(peer))
#define peer_end(peer)			ASSERT_EQ(0, _peer_end(peer))
#define peer_kill(peer)			ASSERT_EQ(0, _peer_kill(peer))
#define peer_open(peer, name)		ASSERT_EQ(0, _peer_open(peer, name))
#define peer_import(peer, ctx)		ASSERT_EQ(0, _peer_import(peer, ctx))
#define peer_lend(peer, ctx)		ASSERT_EQ(0, _peer_lend(peer, ctx))
#define peer_close(peer)		ASSERT_EQ(0, _peer_close(peer))
#define peer_var_alloc(peer, var)	ASSERT_EQ(0, _peer_var_alloc(peer, var))
#define peer_var_export(peer, var, blob) \
					ASSERT_EQ(0, _peer_var_export(peer, var, blob))
#define peer_var_import(peer, blob, var) \
					ASSERT_EQ(0, _peer_var_import(peer, blob, var))
#define peer_var_map(peer, var, addr)	ASSERT_EQ(0, _peer_var_map(peer, var, addr))
#define peer_var_map_err(err, peer, var) \
do { \
	uint64_t __addr; \
	ASSERT_EQ(err, _peer_var_map(peer, var, &__addr)); \
} while (0)
#define peer_var_free(peer, var)	ASSERT_EQ(0, _peer_var_free(peer, var))
#define peer_var_unimport(peer, var)	ASSERT_EQ(0, _peer_var_unimport(peer, var))
#define peer_unmap(peer, addr, length)	ASSERT_EQ(0, _peer_unmap(peer, addr, length))
#define peer_poke(peer, addr, word)	ASSERT_EQ(0, _peer_poke(peer, addr, word))
#define peer_raw_var_free_err(err, peer, handle) \
					ASSERT_EQ(err, _peer_raw_var_free(peer, handle))
#define peer_dm_alloc(peer, length, token, handle) \
					ASSERT_EQ(0, _peer_dm_alloc(peer, length, token, handle))
#define peer_dm_import(peer, handle, token) \
					ASSERT_EQ(0, _peer_dm_import(peer, handle, token))
#define peer_dm_read(peer, token, offset, word) \
					ASSERT_EQ(0, _peer_dm_read(peer, token, offset, word))
#define peer_dm_write(peer, token, offset, word) \
					ASSERT_EQ(0, _peer_dm_write(peer, token, offset, word))
#define peer_dm_unimport(peer, token)	ASSERT_EQ(0, _peer_dm_unimport(peer, token))
#define peer_dm_free(peer, token)	ASSERT_EQ(0, _peer_dm_free(peer, token))
#define peer_dm_free_err(err, peer, token) \
					ASSERT_EQ(err, _peer_dm_free(peer, token))
#define peer_dm_import_err(err, peer, handle) \
do { \
	uint64_t __token; \
	ASSERT_EQ(err, _peer_dm_import(peer, handle, &__token)); \
} while (0)
#define peer_dm_reg(peer, token, length, mr) \
					ASSERT_EQ(0, _peer_dm_reg(peer, token, length, mr))
#define peer_mr_dereg(peer, mr)		ASSERT_EQ(0, _peer_mr_dereg(peer, mr))
#define peer_dm_map_op(peer, token, op, addr) \
					ASSERT_EQ(0, _peer_dm_map_op(peer, token, op, addr))
#define peer_dm_export(peer, token, number) \
					ASSERT_EQ(0, _peer_dm_export(peer, token, number))
#define peer_raw_export(peer, off, number) \
					ASSERT_EQ(0, _peer_raw_export(peer, off, number))
#define peer_raw_export_err(err, peer, off) \
do { \
	int __number; \
	ASSERT_EQ(err, _peer_raw_export(peer, off, &__number)); \
} while (0)
#define peer_keep_fd(peer, fd, number)	ASSERT_EQ(0, _peer_keep_fd(peer, fd, number))
#define peer_close_fd(peer, number)	ASSERT_EQ(0, _peer_close_fd(peer, number))

#endif /* _SELFTESTS_PEER_H */
