// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer_msg.h"
#include "skip.h"

int peer_send(int sock, const struct peer_msg *msg, int fd)
{
	struct iovec iov = { .iov_base = (void *)msg, .iov_len = sizeof(*msg) };
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct msghdr hdr = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;
	ssize_t n;

	if (fd >= 0) {
		hdr.msg_control = control.buf;
		hdr.msg_controllen = sizeof(control.buf);
		cmsg = CMSG_FIRSTHDR(&hdr);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	}
	n = sendmsg(sock, &hdr, MSG_NOSIGNAL);
	if (n < 0)
		return errno;
	return n == sizeof(*msg) ? 0 : EMSGSIZE;
}

int peer_receive(int sock, struct peer_msg *msg, int *fd)
{
	struct iovec iov = { .iov_base = msg, .iov_len = sizeof(*msg) };
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct msghdr hdr = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	struct cmsghdr *cmsg;
	ssize_t n;

	*fd = -1;
	do {
		n = recvmsg(sock, &hdr, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? EPIPE : errno;
	if (!n)
		return EPIPE;
	cmsg = CMSG_FIRSTHDR(&hdr);
	if (cmsg && cmsg->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(cmsg), sizeof(*fd));
	if (n == sizeof(*msg) && msg->err == PEER_SKIPS)
		skip_test("%.*s", (int)sizeof(msg->data), (char *)msg->data);
	return n == sizeof(*msg) ? 0 : EMSGSIZE;
}

static int skips_to;

static void tell_skip(const char *reason)
{
	struct peer_msg msg = { .err = PEER_SKIPS };

	snprintf((char *)msg.data, sizeof(msg.data), "%s", reason);
	peer_send(skips_to, &msg, -1);
}

void peer_skips(int sock)
{
	skips_to = sock;
	skip_instead(tell_skip);
}
