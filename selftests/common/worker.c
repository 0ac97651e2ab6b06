// SPDX-License-Identifier: GPL-2.0
/*
 * The messages are a peer's (peer_msg.h), with operations of their own.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"
#include "dm_ops.h"
#include "peer_msg.h"
#include "worker.h"

#define WORKER_ARGUMENT	"--worker"

/**
 * enum worker_op - what the process shall do
 * @WORKER_OPEN: open the device that data names; answer: command descriptor in arg
 * @WORKER_EXPORT: length, and whether to keep it, in arg; answer: descriptor
 * @WORKER_REGISTER: length in arg, descriptor comes along; answer: lkey and rkey in arg
 * @WORKER_DEREGISTER: deregister that region
 * @WORKER_MAKE_END: answer: number of the queue pair and LID in arg
 * @WORKER_CONNECT: the same of the other side in arg, its GID in data
 * @WORKER_TRANSFER: opcode, address, key, seed in arg; answer: status and old value in arg
 * @WORKER_CLOSE: close the context
 */
enum worker_op {
	WORKER_OPEN,
	WORKER_EXPORT,
	WORKER_REGISTER,
	WORKER_DEREGISTER,
	WORKER_MAKE_END,
	WORKER_CONNECT,
	WORKER_TRANSFER,
	WORKER_CLOSE,
};

/* All that the process has. */
static struct {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	struct end end;
	struct region region;
	struct region word;
} its;

static int worker_do_open(struct peer_msg *msg)
{
	struct device dev = {};

	memcpy(dev.name, msg->data, sizeof(dev.name) - 1);
	its.ctx = device_open(&dev);
	if (!its.ctx)
		return errno;
	its.pd = ibv_alloc_pd(its.ctx);
	msg->arg[0] = its.ctx->cmd_fd;
	return its.pd ? 0 : errno;
}

/* The answer takes the descriptor along; @fd is closed after that. */
static int worker_do_export(struct peer_msg *msg, int *fd)
{
	int err = _dm_alloc(its.ctx, msg->arg[0], &its.dm);

	if (err)
		return err;
	err = _dmabuf_export(its.dm, fd);
	if (!err && msg->arg[1] && fcntl(*fd, F_DUPFD_CLOEXEC, 0) < 0)
		err = errno;
	return err;
}

static int worker_do_register(struct peer_msg *msg, int fd)
{
	its.mr = ibv_reg_dmabuf_mr(its.pd, 0, msg->arg[0], 0, fd, CONNECTION_ALL_ACCESS);
	if (!its.mr)
		return errno;
	msg->arg[0] = its.mr->lkey;
	msg->arg[1] = its.mr->rkey;
	return 0;
}

static int worker_do_make_end(struct peer_msg *msg)
{
	int err = _end_make(its.pd, &connection_defaults, &its.end);

	if (!err)
		err = _region_make(its.pd, WORKER_LENGTH, 5, CONNECTION_ALL_ACCESS, &its.region);
	if (!err)
		err = _region_make(its.pd, sizeof(uint64_t), 8, CONNECTION_ALL_ACCESS, &its.word);
	if (err)
		return err;
	msg->arg[0] = its.end.qp->qp_num;
	msg->arg[1] = its.end.lid;
	memcpy(msg->data, &its.end.gid, sizeof(its.end.gid));
	return 0;
}

/* What there is to know of the other end of a connection. */
static void other_end(const struct peer_msg *msg, struct end *end, struct ibv_qp *qp)
{
	*qp = (struct ibv_qp){ .qp_num = msg->arg[0] };
	*end = (struct end){ .qp = qp, .lid = msg->arg[1] };
	memcpy(&end->gid, msg->data, sizeof(end->gid));
}

static int worker_do_connect(const struct peer_msg *msg)
{
	struct ibv_qp qp;
	struct end other;

	other_end(msg, &other, &qp);
	return _end_connect(&its.end, &other, &connection_defaults);
}

static int worker_do_transfer(struct peer_msg *msg)
{
	const enum ibv_wr_opcode opcode = msg->arg[0];
	const bool is_atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct region *region = is_atomic ? &its.word : &its.region;
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = opcode };
	struct ibv_wc wc;
	int err;

	if (is_atomic) {
		wr.wr.atomic.remote_addr = msg->arg[1];
		wr.wr.atomic.rkey = msg->arg[2];
		wr.wr.atomic.compare_add = msg->arg[3];
	} else {
		wr.wr.rdma.remote_addr = msg->arg[1];
		wr.wr.rdma.rkey = msg->arg[2];
	}
	region_fill(region, opcode == IBV_WR_RDMA_WRITE ? msg->arg[3] : 255 - msg->arg[3]);
	err = _post(&its.end, &wr, region);
	if (!err)
		err = _end_wait(&its.end, &wc);
	if (err)
		return err;
	msg->arg[0] = wc.status;
	if (is_atomic)
		memcpy(&msg->arg[1], region->data, sizeof(uint64_t));
	else if (wc.status == IBV_WC_SUCCESS &&
		 !region_holds(region, 0, WORKER_LENGTH, msg->arg[3], 0))
		return EIO;
	return region_is_guarded(region) ? 0 : EIO;
}

/* @fd is the descriptor that came along, and the one that goes with the answer. */
static int worker_do(struct peer_msg *msg, int *fd)
{
	const int came = *fd;
	int err;

	*fd = -1;
	switch (msg->op) {
	case WORKER_OPEN:
		return worker_do_open(msg);
	case WORKER_EXPORT:
		return worker_do_export(msg, fd);
	case WORKER_REGISTER:
		err = worker_do_register(msg, came);
		close(came);
		return err;
	case WORKER_DEREGISTER:
		return ibv_dereg_mr(its.mr);
	case WORKER_MAKE_END:
		return worker_do_make_end(msg);
	case WORKER_CONNECT:
		return worker_do_connect(msg);
	case WORKER_TRANSFER:
		return worker_do_transfer(msg);
	case WORKER_CLOSE:
		return ibv_close_device(its.ctx) ? errno : 0;
	}
	return EOPNOTSUPP;
}

static void worker_serve(int sock)
{
	struct peer_msg msg;
	int fd, err;

	while (!peer_receive(sock, &msg, &fd)) {
		msg.err = worker_do(&msg, &fd);
		err = peer_send(sock, &msg, fd);
		if (fd >= 0) {
			/* The test counts the file's references: say when this one is gone. */
			close(fd);
			if (!err)
				err = peer_send(sock, &msg, -1);
		}
		if (err)
			break;
	}
}

/*
 * Send a request, with a descriptor if @fd is not -1, and wait for the answer; for one with a
 * descriptor, until the other side has closed its own as well.
 */
static int worker_call_fd(struct worker *worker, enum worker_op op, struct peer_msg *msg, int fd,
			  int *fd_back)
{
	int err, got, none;

	msg->op = op;
	err = peer_send(worker->sock, msg, fd);
	if (err)
		return err;
	err = peer_receive(worker->sock, msg, &got);
	if (!err && got >= 0)
		err = peer_receive(worker->sock, msg, &none);
	if (err)
		return err;
	if (fd_back)
		*fd_back = got;
	else if (got >= 0)
		close(got);
	return msg->err;
}

static int worker_call(struct worker *worker, enum worker_op op, struct peer_msg *msg)
{
	return worker_call_fd(worker, op, msg, -1, NULL);
}

bool worker_is_wanted(int argc, char **argv)
{
	return argc == 4 && !strcmp(argv[1], WORKER_ARGUMENT);
}

int worker_main(char **argv)
{
	/* Die with the parent, also if that happened before the kernel was asked. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != atoi(argv[3]))
		_exit(1);
	peer_skips(atoi(argv[2]));
	worker_serve(atoi(argv[2]));
	/* As a killed process: nothing is cleaned up on the way. */
	_exit(0);
}

int _worker_start(struct worker *worker, const char *name)
{
	char number[16], parent[16];
	char * const argv[] = {
		program_invocation_name, (char *)WORKER_ARGUMENT, number, parent, NULL
	};
	posix_spawn_file_actions_t actions;
	struct peer_msg msg = {};
	int sock[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock))
		return errno;
	snprintf(number, sizeof(number), "%d", sock[1]);
	snprintf(parent, sizeof(parent), "%d", getpid());
	err = posix_spawn_file_actions_init(&actions);
	if (err)
		goto out;
	/* Onto itself: this descriptor stays open over the exec. */
	err = posix_spawn_file_actions_adddup2(&actions, sock[1], sock[1]);
	if (!err)
		err = posix_spawn(&worker->pid, "/proc/self/exe", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
out:
	close(sock[1]);
	if (err) {
		close(sock[0]);
		return err;
	}
	worker->sock = sock[0];
	snprintf((char *)msg.data, sizeof(msg.data), "%s", name);
	err = worker_call(worker, WORKER_OPEN, &msg);
	worker->cmd_fd = msg.arg[0];
	return err;
}

static int worker_wait_for(struct worker *worker, int *status)
{
	pid_t pid;

	do {
		pid = waitpid(worker->pid, status, 0);
	} while (pid < 0 && errno == EINTR);
	close(worker->sock);
	return pid < 0 ? errno : 0;
}

int _worker_end(struct worker *worker)
{
	int status, err;

	shutdown(worker->sock, SHUT_RDWR);
	err = worker_wait_for(worker, &status);
	if (err)
		return err;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : EIO;
}

int _worker_wait(struct worker *worker)
{
	int status, err;

	err = worker_wait_for(worker, &status);
	if (err)
		return err;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : EIO;
}

int _worker_kill(struct worker *worker)
{
	if (kill(worker->pid, SIGKILL))
		return errno;
	return _worker_wait(worker);
}

int _worker_export(struct worker *worker, size_t length, bool keep, int *fd)
{
	struct peer_msg msg = { .arg = { length, keep } };

	return worker_call_fd(worker, WORKER_EXPORT, &msg, -1, fd);
}

int _worker_register(struct worker *worker, int fd, size_t length, struct ibv_mr *mr)
{
	struct peer_msg msg = { .arg = { length } };
	int err = worker_call_fd(worker, WORKER_REGISTER, &msg, fd, NULL);

	*mr = (struct ibv_mr){ .lkey = msg.arg[0], .rkey = msg.arg[1] };
	return err;
}

int _worker_deregister(struct worker *worker)
{
	struct peer_msg msg = {};

	return worker_call(worker, WORKER_DEREGISTER, &msg);
}

int _worker_connect(struct worker *worker, struct end *end,
		    const struct connection_options *options)
{
	struct peer_msg msg = {};
	struct ibv_qp qp;
	struct end other;
	int err;

	err = worker_call(worker, WORKER_MAKE_END, &msg);
	if (err)
		return err;
	other_end(&msg, &other, &qp);
	err = _end_connect(end, &other, options);
	if (err)
		return err;
	msg.arg[0] = end->qp->qp_num;
	msg.arg[1] = end->lid;
	memcpy(msg.data, &end->gid, sizeof(end->gid));
	return worker_call(worker, WORKER_CONNECT, &msg);
}

int _worker_transfer(struct worker *worker, enum ibv_wr_opcode opcode, uint64_t address,
		     uint32_t rkey, uint64_t seed, enum ibv_wc_status *status, uint64_t *old)
{
	struct peer_msg msg = { .arg = { opcode, address, rkey, seed } };
	int err = worker_call(worker, WORKER_TRANSFER, &msg);

	*status = msg.arg[0];
	if (old)
		*old = msg.arg[1];
	return err;
}

int _worker_close(struct worker *worker)
{
	struct peer_msg msg = {};

	return worker_call(worker, WORKER_CLOSE, &msg);
}
