/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Another process with a context of its own: it exports device memory, registers a
 * dma-buf that it is given, and moves data, one step at a time as a peer does (peer.h).
 *
 * It has at most one of each: context, device memory, export, region, queue pair.  The
 * names of the operations are explained in var_ops.h.
 */
#ifndef _SELFTESTS_WORKER_H
#define _SELFTESTS_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <infiniband/verbs.h>

#include "connection.h"

/**
 * struct worker - the process
 * @pid: its number
 * @sock: this side's end of the socket
 * @cmd_fd: number of its command descriptor, there
 */
struct worker {
	pid_t pid;
	int sock;
	int cmd_fd;
};

/* Bytes that a transfer moves. */
#define WORKER_LENGTH	512

/**
 * worker_is_wanted() - was this program started as such a process?
 * @argc: as given to main()
 * @argv: as given to main()
 *
 * Return: whether main() must call worker_main() and do nothing else.
 */
bool worker_is_wanted(int argc, char **argv);

/**
 * worker_main() - do what is asked for until the socket is closed
 * @argv: as given to main()
 *
 * Return: exit status.
 */
int worker_main(char **argv);

/**
 * _worker_start() - start the process, which opens the device
 * @worker: filled in
 * @name: name of the device
 *
 * It is a new execution of the same program: it inherits no mapping and no descriptor.
 *
 * Return: 0 or an errno.
 */
int _worker_start(struct worker *worker, const char *name);

/**
 * _worker_end() - have the process exit without cleaning up, and wait for it
 * @worker: the process
 *
 * Return: 0, or EIO if it did not exit with status 0.
 */
int _worker_end(struct worker *worker);

/**
 * _worker_kill() - send SIGKILL to the process, and wait for its death
 * @worker: the process
 *
 * Return: 0, or EIO if it did not die of that.
 */
int _worker_kill(struct worker *worker);

/**
 * _worker_wait() - wait for the death of a process that was sent SIGKILL
 * @worker: the process
 *
 * Return: 0, or EIO if it did not die of that.
 */
int _worker_wait(struct worker *worker);

/**
 * _worker_export() - have it allocate device memory and export it
 * @worker: the process
 * @length: bytes
 * @keep: it keeps its own descriptor of the dma-buf
 * @fd: a descriptor for this process
 *
 * Return: 0 or an errno.
 */
int _worker_export(struct worker *worker, size_t length, bool keep, int *fd);

/**
 * _worker_register() - have it register all of a dma-buf
 * @worker: the process
 * @fd: the dma-buf, of which it keeps no descriptor
 * @length: bytes of the dma-buf
 * @mr: rkey and lkey are filled in, and nothing else
 *
 * With all rights, and with addresses from 0.
 *
 * Return: 0 or an errno.
 */
int _worker_register(struct worker *worker, int fd, size_t length, struct ibv_mr *mr);

/**
 * _worker_deregister() - have it deregister that region
 * @worker: the process
 *
 * Return: 0 or an errno.
 */
int _worker_deregister(struct worker *worker);

/**
 * _worker_connect() - connect its queue pair, which it makes, with one of this process
 * @worker: the process
 * @end: the one of this process; connected as well
 * @options: what the connection is like
 *
 * Return: 0 or an errno.
 */
int _worker_connect(struct worker *worker, struct end *end,
		    const struct connection_options *options);

/**
 * _worker_transfer() - have it read or write memory of the other side
 * @worker: the process
 * @opcode: IBV_WR_RDMA_WRITE or _READ of WORKER_LENGTH bytes, or an atomic of eight
 * @address: where
 * @rkey: with which key
 * @seed: write: the pattern of region_fill(); read: the pattern that must be there;
 *	  fetch and add: what to add
 * @status: of the completion
 * @old: atomic: what was there before; may be NULL
 *
 * Return: 0, EIO if something else was read than expected, or an errno.
 */
int _worker_transfer(struct worker *worker, enum ibv_wr_opcode opcode, uint64_t address,
		     uint32_t rkey, uint64_t seed, enum ibv_wc_status *status, uint64_t *old);

/**
 * _worker_close() - have it close its context
 * @worker: the process
 *
 * Return: 0 or an errno.
 */
int _worker_close(struct worker *worker);

#define worker_start(worker, name)	ASSERT_EQ(0, _worker_start(worker, name))
#define worker_end(worker)		ASSERT_EQ(0, _worker_end(worker))
#define worker_kill(worker)		ASSERT_EQ(0, _worker_kill(worker))
#define worker_wait(worker)		ASSERT_EQ(0, _worker_wait(worker))
#define worker_export(worker, length, keep, fd) \
					ASSERT_EQ(0, _worker_export(worker, length, keep, fd))
#define worker_register(worker, fd, length, mr) \
					ASSERT_EQ(0, _worker_register(worker, fd, length, mr))
#define worker_register_err(err, worker, fd, length) \
do { \
	struct ibv_mr __mr; \
	ASSERT_EQ(err, _worker_register(worker, fd, length, &__mr)); \
} while (0)
#define worker_deregister(worker)	ASSERT_EQ(0, _worker_deregister(worker))
#define worker_connect(worker, end, options) \
					ASSERT_EQ(0, _worker_connect(worker, end, options))
#define worker_transfer(worker, opcode, address, rkey, seed, old) \
do { \
	enum ibv_wc_status __status = IBV_WC_GENERAL_ERR; \
	ASSERT_EQ(0, _worker_transfer(worker, opcode, address, rkey, seed, &__status, old)); \
	ASSERT_ENUM(IBV_WC_SUCCESS, __status) \
		TH_LOG("%s", ibv_wc_status_str(__status)); \
} while (0)
#define worker_close(worker)		ASSERT_EQ(0, _worker_close(worker))

#endif /* _SELFTESTS_WORKER_H */
