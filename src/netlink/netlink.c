/* SPDX-License-Identifier: BSD-2-Clause */
#include "netlink/netlink.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	ANSWER_MAX = 32 * 1024, /* more than the kernel puts into one read */
	WAIT_S = 2,
	TRIES = 10,        /* of a dump */
	SEQUENCE = 1,      /* a socket asks once */
	UNREAD_MAX = 4096, /* reads of what nobody wants any more */
};

/* NULL with errno. */
static struct mnl_socket *open_socket(int bus)
{
	const struct timeval wait = {.tv_sec = WAIT_S};
	struct mnl_socket *socket = mnl_socket_open2(bus, SOCK_CLOEXEC);
	int on = 1, error;

	if (!socket)
		return NULL;
	/* A kernel that cannot do it sends more than was asked for. */
	mnl_socket_setsockopt(socket, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
	if (!mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) &&
	    !setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)))
		return socket;
	error = errno;
	mnl_socket_close(socket);
	errno = error;
	return NULL;
}

static int converse(struct mnl_socket *socket, struct nlmsghdr *request, mnl_cb_t each, void *arg)
{
	char buffer[ANSWER_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	int ret = MNL_CB_OK;

	if (mnl_socket_sendto(socket, request, request->nlmsg_len) < 0)
		ret = MNL_CB_ERROR;
	while (ret > MNL_CB_STOP) {
		ssize_t length = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));

		ret = length < 0 ? MNL_CB_ERROR
				 : mnl_cb_run(buffer, (size_t)length, request->nlmsg_seq,
					      mnl_socket_get_portid(socket), each, arg);
	}
	return ret == MNL_CB_ERROR ? -errno : 0;
}

int netlink_ask(int bus, struct nlmsghdr *request, mnl_cb_t each, void *arg)
{
	struct mnl_socket *socket = open_socket(bus);
	int error;

	if (!socket)
		return -errno;
	request->nlmsg_seq = SEQUENCE;
	error = converse(socket, request, each, arg);
	mnl_socket_close(socket);
	return error;
}

/* A listing goes on as it is read, whoever began it. */
static int read_rest(int fd)
{
	char buffer[ANSWER_MAX];

	for (int i = 0; i < UNREAD_MAX; i++) {
		if (recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT) < 0 && errno != ENOBUFS)
			return errno == EAGAIN ? 0 : -errno;
	}
	return -EBUSY;
}

int netlink_ask_on(int fd, struct nlmsghdr *request, mnl_cb_t each, void *arg)
{
	static uint32_t sequence = SEQUENCE;
	int error = read_rest(fd), copy;
	struct mnl_socket *socket;

	if (error)
		return error;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* which the library will close */
	socket = copy < 0 ? NULL : mnl_socket_fdopen(copy);
	if (!socket) {
		error = -errno;
		if (copy >= 0)
			close(copy);
		return error;
	}
	request->nlmsg_seq = ++sequence;
	error = converse(socket, request, each, arg);
	mnl_socket_close(socket);
	return error;
}

int netlink_dump(int bus, struct nlmsghdr *request, mnl_cb_t each, void (*again)(void *arg),
		 void *arg)
{
	int ret = netlink_ask(bus, request, each, arg);

	for (int i = 1; ret == -EINTR && i < TRIES; i++) {
		again(arg);
		ret = netlink_ask(bus, request, each, arg);
	}
	return ret;
}
