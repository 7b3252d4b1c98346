/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The generic netlink family "netdev", one question: NETDEV_CMD_DEV_GET. Its numbers are written
 * down here, for the headers of Linux 6.1 do not have them.
 */
#include "host/xdp_features.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <net/if.h>
#include <stdint.h>
#include <string.h>

enum {
	NETDEV_DEV_GET = 1,
	NETDEV_DEV_IFINDEX = 1,
	NETDEV_DEV_XDP_FEATURES = 3,
	NETDEV_XDP_BASIC = 1 << 0, /* aborted, drop, pass, tx */
	NETDEV_VERSION = 1,
};

struct search {
	uint16_t type; /* of the attribute that is asked for */
	uint64_t value;
	bool found;
};

static int read_attribute(const struct nlattr *attribute, void *arg)
{
	struct search *search = arg;
	uint16_t length = mnl_attr_get_payload_len(attribute);

	if (mnl_attr_get_type(attribute) != search->type || length > sizeof(search->value))
		return MNL_CB_OK;
	memcpy(&search->value, mnl_attr_get_payload(attribute), length);
	search->found = true;
	return MNL_CB_OK;
}

static int read_message(const struct nlmsghdr *message, void *arg)
{
	mnl_attr_parse(message, sizeof(struct genlmsghdr), read_attribute, arg);
	return MNL_CB_OK;
}

static struct nlmsghdr *request(char *buffer, uint16_t family, uint8_t command, uint8_t version)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct genlmsghdr *generic;

	message->nlmsg_type = family;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	message->nlmsg_seq = 1;
	generic = mnl_nlmsg_put_extra_header(message, sizeof(*generic));
	generic->cmd = command;
	generic->version = version;
	return message;
}

static int ask(struct mnl_socket *socket, struct nlmsghdr *message, struct search *search)
{
	char buffer[8192] __attribute__((aligned(NLMSG_ALIGNTO)));
	int ret = MNL_CB_OK;

	if (mnl_socket_sendto(socket, message, message->nlmsg_len) < 0)
		return -errno;
	while (ret > MNL_CB_STOP) {
		ssize_t length = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));

		if (length < 0)
			return -errno;
		ret = mnl_cb_run(buffer, (size_t)length, 1, mnl_socket_get_portid(socket),
				 read_message, search);
	}
	if (ret == MNL_CB_ERROR)
		return -errno;
	return search->found ? 0 : -EOPNOTSUPP;
}

static int ask_features(struct mnl_socket *socket, uint32_t ifindex, uint64_t *ret)
{
	char buffer[256] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct search family = {.type = CTRL_ATTR_FAMILY_ID};
	struct search features = {.type = NETDEV_DEV_XDP_FEATURES};
	struct nlmsghdr *message = request(buffer, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	int error;

	mnl_attr_put_strz(message, CTRL_ATTR_FAMILY_NAME, "netdev");
	error = ask(socket, message, &family);
	if (error)
		return error == -ENOENT ? -EOPNOTSUPP : error;
	message = request(buffer, (uint16_t)family.value, NETDEV_DEV_GET, NETDEV_VERSION);
	mnl_attr_put_u32(message, NETDEV_DEV_IFINDEX, ifindex);
	error = ask(socket, message, &features);
	if (!error)
		*ret = features.value;
	return error;
}

int xdp_features_native(const char *interface, bool *ret)
{
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	uint64_t features;
	int error;

	if (!socket)
		return -errno;
	error = mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0
			? -errno
			: ask_features(socket, if_nametoindex(interface), &features);
	mnl_socket_close(socket);
	if (!error)
		*ret = features & NETDEV_XDP_BASIC;
	return error;
}
