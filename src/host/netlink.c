/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/netlink.h"

#include <errno.h>
#include <sys/socket.h>

int netlink_ask(int bus, struct nlmsghdr *request, mnl_cb_t each, void *arg)
{
	char buffer[32768] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct mnl_socket *socket = mnl_socket_open2(bus, SOCK_CLOEXEC);
	int ret = MNL_CB_OK;

	if (!socket)
		return -errno;
	request->nlmsg_seq = 1;
	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    mnl_socket_sendto(socket, request, request->nlmsg_len) < 0)
		ret = MNL_CB_ERROR;
	while (ret > MNL_CB_STOP) {
		ssize_t length = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));

		ret = length < 0 ? MNL_CB_ERROR
				 : mnl_cb_run(buffer, (size_t)length, 1,
					      mnl_socket_get_portid(socket), each, arg);
	}
	ret = ret == MNL_CB_ERROR ? -errno : 0;
	mnl_socket_close(socket);
	return ret;
}
