/* SPDX-License-Identifier: BSD-2-Clause */
#include "netlink/netlink.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>

enum {
	ANSWER_MAX = 32 * 1024, /* more than the kernel puts into one read */
	WAIT_S = 2,
	TRIES = 10,   /* of a dump */
	SEQUENCE = 1, /* a socket asks once */
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

int netlink_ask(int bus, struct nlmsghdr *request, mnl_cb_t each, void *arg)
{
	char buffer[ANSWER_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct mnl_socket *socket = open_socket(bus);
	int ret = MNL_CB_OK, error;

	if (!socket)
		return -errno;
	request->nlmsg_seq = SEQUENCE;
	if (mnl_socket_sendto(socket, request, request->nlmsg_len) < 0)
		ret = MNL_CB_ERROR;
	while (ret > MNL_CB_STOP) {
		ssize_t length = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));

		ret = length < 0 ? MNL_CB_ERROR
				 : mnl_cb_run(buffer, (size_t)length, SEQUENCE,
					      mnl_socket_get_portid(socket), each, arg);
	}
	error = ret == MNL_CB_ERROR ? -errno : 0;
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
