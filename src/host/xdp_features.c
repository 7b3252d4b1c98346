/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The generic netlink family "netdev", one question: NETDEV_CMD_DEV_GET. Its numbers are written
 * down here, for the headers of Linux 6.1 do not have them.
 */
#include "host/xdp_features.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <net/if.h>
#include <stdint.h>
#include <string.h>

#include "netlink/netlink.h"

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
	generic = mnl_nlmsg_put_extra_header(message, sizeof(*generic));
	generic->cmd = command;
	generic->version = version;
	return message;
}

static int ask(struct nlmsghdr *message, struct search *search)
{
	int error = netlink_ask(NETLINK_GENERIC, message, read_message, search);

	return !error && !search->found ? -EOPNOTSUPP : error;
}

int xdp_features_native(const char *interface, bool *ret)
{
	char buffer[NETLINK_REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct search family = {.type = CTRL_ATTR_FAMILY_ID};
	struct search features = {.type = NETDEV_DEV_XDP_FEATURES};
	struct nlmsghdr *message = request(buffer, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	int error;

	mnl_attr_put_strz(message, CTRL_ATTR_FAMILY_NAME, "netdev");
	error = ask(message, &family);
	if (error)
		return error == -ENOENT ? -EOPNOTSUPP : error;
	message = request(buffer, (uint16_t)family.value, NETDEV_DEV_GET, NETDEV_VERSION);
	mnl_attr_put_u32(message, NETDEV_DEV_IFINDEX, if_nametoindex(interface));
	error = ask(message, &features);
	if (!error)
		*ret = features.value & NETDEV_XDP_BASIC;
	return error;
}
