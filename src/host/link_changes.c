/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "host/host.h"
#include "netlink/netlink.h"

static int read_attribute(const struct nlattr *attribute, void *arg)
{
	if (mnl_attr_get_type(attribute) == IFLA_CARRIER_CHANGES &&
	    mnl_attr_validate(attribute, MNL_TYPE_U32) >= 0)
		*(int64_t *)arg = mnl_attr_get_u32(attribute);
	return MNL_CB_OK;
}

static int read_link(const struct nlmsghdr *message, void *arg)
{
	if (message->nlmsg_type != RTM_NEWLINK)
		return MNL_CB_OK;
	return mnl_attr_parse(message, sizeof(struct ifinfomsg), read_attribute, arg);
}

int host_interface_carrier_changes(const char *interface, uint32_t *ret)
{
	char room[NETLINK_REQUEST_MAX];
	struct nlmsghdr *message = mnl_nlmsg_put_header(room);
	int64_t found = -1;
	int error;

	message->nlmsg_type = RTM_GETLINK;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	mnl_nlmsg_put_extra_header(message, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(message, IFLA_IFNAME, interface);
	error = netlink_ask(NETLINK_ROUTE, message, read_link, &found);
	if (error || found < 0)
		return error ? error : -ENOENT;
	*ret = (uint32_t)found;
	return 0;
}
