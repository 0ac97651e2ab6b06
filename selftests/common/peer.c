// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peer.h"
#include "peer_msg.h"

#define PEER_ARGUMENT	"--peer"

bool peer_is_wanted(int argc, char **argv)
{
	return argc == 4 && !strcmp(argv[1], PEER_ARGUMENT);
}

/* Die with the parent, also if that happened before the kernel was asked. */
static void peer_attach(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
}

int peer_main(char **argv)
{
	peer_attach(atoi(argv[3]));
	peer_serve(atoi(argv[2]));
	/* As a killed process: nothing is cleaned up on the way. */
	_exit(0);
}

int _peer_start(struct peer *peer)
{
	char number[16], parent[16];
	char * const argv[] = {
		program_invocation_name, (char *)PEER_ARGUMENT, number, parent, NULL
	};
	const char *program = getenv("UOBJSCOPE_PEER") ?: "/proc/self/exe";
	posix_spawn_file_actions_t actions;
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
		err = posix_spawn(&peer->pid, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
out:
	close(sock[1]);
	if (err)
		close(sock[0]);
	else
		peer->sock = sock[0];
	return err;
}

int _peer_fork(struct peer *peer)
{
	pid_t parent = getpid();
	int sock[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock))
		return errno;
	peer->pid = fork();
	if (peer->pid < 0) {
		err = errno;
		close(sock[0]);
		close(sock[1]);
		return err;
	}
	if (!peer->pid) {
		close(sock[0]);
		peer_attach(parent);
		peer_serve(sock[1]);
		_exit(0);
	}
	close(sock[1]);
	peer->sock = sock[0];
	return 0;
}

static int peer_wait(struct peer *peer, int *status)
{
	pid_t pid;

	do {
		pid = waitpid(peer->pid, status, 0);
	} while (pid < 0 && errno == EINTR);
	close(peer->sock);
	return pid < 0 ? errno : 0;
}

int _peer_end(struct peer *peer)
{
	int status, err;

	/* Not only closed: a forked peer has a copy of other peers' sockets. */
	shutdown(peer->sock, SHUT_RDWR);
	err = peer_wait(peer, &status);
	if (err)
		return err;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : EIO;
}

int _peer_kill(struct peer *peer)
{
	int status, err;

	if (kill(peer->pid, SIGKILL))
		return errno;
	err = peer_wait(peer, &status);
	if (err)
		return err;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : EIO;
}

/* Send a request, with a descriptor if @fd is not -1, and wait for the answer. */
static int peer_call_fd(struct peer *peer, enum peer_op op, struct peer_msg *msg, int fd,
			int *fd_back)
{
	int err, got;

	msg->op = op;
	err = peer_send(peer->sock, msg, fd);
	if (err)
		return err;
	err = peer_receive(peer->sock, msg, &got);
	if (err)
		return err;
	if (fd_back)
		*fd_back = got;
	else if (got >= 0)
		close(got);
	return msg->err;
}

static int peer_call(struct peer *peer, enum peer_op op, struct peer_msg *msg)
{
	return peer_call_fd(peer, op, msg, -1, NULL);
}

int _peer_open(struct peer *peer, const char *name)
{
	struct peer_msg msg = {};

	snprintf((char *)msg.data, sizeof(msg.data), "%s", name);
	return peer_call(peer, PEER_OPEN, &msg);
}

int _peer_import(struct peer *peer, struct ibv_context *ctx)
{
	struct peer_msg msg = {};

	return peer_call_fd(peer, PEER_IMPORT, &msg, ctx->cmd_fd, NULL);
}

int _peer_lend(struct peer *peer, struct ibv_context **ctx)
{
	struct peer_msg msg = {};
	int fd, err;

	err = peer_call_fd(peer, PEER_LEND, &msg, -1, &fd);
	if (err)
		return err;
	*ctx = ibv_import_device(fd);
	return *ctx ? 0 : errno;
}

int _peer_close(struct peer *peer)
{
	struct peer_msg msg = {};

	return peer_call(peer, PEER_CLOSE, &msg);
}

static void peer_take_var(const struct peer_msg *msg, struct peer_var *var)
{
	var->token = msg->arg[0];
	var->page_id = msg->arg[1];
	var->length = msg->arg[2];
	var->mmap_off = msg->arg[3];
}

int _peer_var_alloc(struct peer *peer, struct peer_var *var)
{
	struct peer_msg msg = {};
	int err = peer_call(peer, PEER_VAR_ALLOC, &msg);

	peer_take_var(&msg, var);
	return err;
}

int _peer_var_export(struct peer *peer, const struct peer_var *var, void *blob)
{
	struct peer_msg msg = { .arg = { var->token } };
	int err = peer_call(peer, PEER_VAR_EXPORT, &msg);

	memcpy(blob, msg.data, sizeof(msg.data));
	return err;
}

int _peer_var_import(struct peer *peer, const void *blob, struct peer_var *var)
{
	struct peer_msg msg = {};
	int err;

	memcpy(msg.data, blob, sizeof(msg.data));
	err = peer_call(peer, PEER_VAR_IMPORT, &msg);
	peer_take_var(&msg, var);
	return err;
}

int _peer_var_map(struct peer *peer, const struct peer_var *var, uint64_t *addr)
{
	struct peer_msg msg = { .arg = { var->token } };
	int err = peer_call(peer, PEER_VAR_MAP, &msg);

	*addr = msg.arg[0];
	return err;
}

int _peer_var_free(struct peer *peer, const struct peer_var *var)
{
	struct peer_msg msg = { .arg = { var->token } };

	return peer_call(peer, PEER_VAR_FREE, &msg);
}

int _peer_var_unimport(struct peer *peer, const struct peer_var *var)
{
	struct peer_msg msg = { .arg = { var->token } };

	return peer_call(peer, PEER_VAR_UNIMPORT, &msg);
}

int _peer_unmap(struct peer *peer, uint64_t addr, uint64_t length)
{
	struct peer_msg msg = { .arg = { addr, length } };

	return peer_call(peer, PEER_UNMAP, &msg);
}

int _peer_poke(struct peer *peer, uint64_t addr, uint32_t word)
{
	struct peer_msg msg = { .arg = { addr, word } };

	return peer_call(peer, PEER_POKE, &msg);
}

int _peer_raw_var_free(struct peer *peer, uint32_t handle)
{
	struct peer_msg msg = { .arg = { handle } };

	return peer_call(peer, PEER_RAW_VAR_FREE, &msg);
}

int _peer_dm_alloc(struct peer *peer, uint64_t length, uint64_t *token, uint32_t *handle)
{
	struct peer_msg msg = { .arg = { length } };
	int err = peer_call(peer, PEER_DM_ALLOC, &msg);

	*token = msg.arg[0];
	*handle = msg.arg[1];
	return err;
}

int _peer_dm_import(struct peer *peer, uint32_t handle, uint64_t *token)
{
	struct peer_msg msg = { .arg = { handle } };
	int err = peer_call(peer, PEER_DM_IMPORT, &msg);

	*token = msg.arg[0];
	return err;
}

int _peer_dm_read(struct peer *peer, uint64_t token, uint64_t offset, uint32_t *word)
{
	struct peer_msg msg = { .arg = { token, offset } };
	int err = peer_call(peer, PEER_DM_READ, &msg);

	*word = msg.arg[2];
	return err;
}

int _peer_dm_write(struct peer *peer, uint64_t token, uint64_t offset, uint32_t word)
{
	struct peer_msg msg = { .arg = { token, offset, word } };

	return peer_call(peer, PEER_DM_WRITE, &msg);
}

int _peer_dm_unimport(struct peer *peer, uint64_t token)
{
	struct peer_msg msg = { .arg = { token } };

	return peer_call(peer, PEER_DM_UNIMPORT, &msg);
}

int _peer_dm_free(struct peer *peer, uint64_t token)
{
	struct peer_msg msg = { .arg = { token } };

	return peer_call(peer, PEER_DM_FREE, &msg);
}

int _peer_dm_reg(struct peer *peer, uint64_t token, uint64_t length, uint64_t *mr)
{
	struct peer_msg msg = { .arg = { token, length } };
	int err = peer_call(peer, PEER_DM_REG, &msg);

	*mr = msg.arg[0];
	return err;
}

int _peer_mr_dereg(struct peer *peer, uint64_t mr)
{
	struct peer_msg msg = { .arg = { mr } };

	return peer_call(peer, PEER_MR_DEREG, &msg);
}

int _peer_dm_map_op(struct peer *peer, uint64_t token, uint8_t op, uint64_t *addr)
{
	struct peer_msg msg = { .arg = { token, op } };
	int err = peer_call(peer, PEER_DM_MAP_OP, &msg);

	*addr = msg.arg[0];
	return err;
}

int _peer_dm_export(struct peer *peer, uint64_t token, int *number)
{
	struct peer_msg msg = { .arg = { token } };
	int err = peer_call(peer, PEER_DM_EXPORT, &msg);

	*number = msg.arg[0];
	return err;
}

int _peer_raw_export(struct peer *peer, uint64_t off, int *number)
{
	struct peer_msg msg = { .arg = { off } };
	int err = peer_call(peer, PEER_RAW_EXPORT, &msg);

	*number = msg.arg[0];
	return err;
}

int _peer_keep_fd(struct peer *peer, int fd, int *number)
{
	struct peer_msg msg = {};
	int err = peer_call_fd(peer, PEER_KEEP_FD, &msg, fd, NULL);

	*number = msg.arg[0];
	return err;
}

int _peer_close_fd(struct peer *peer, int number)
{
	struct peer_msg msg = { .arg = { number } };

	return peer_call(peer, PEER_CLOSE_FD, &msg);
}
