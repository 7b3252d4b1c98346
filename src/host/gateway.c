/* SPDX-License-Identifier: BSD-2-Clause */
/* The default route of the main table: by whom this host reaches all that is not near it. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "host/host.h"
#include "netlink/netlink.h"

struct reading {
	const struct nlattr *gateway, *oif, *priority;
};

struct search {
	struct host_gateway *found;
	uint32_t priority;
};

static int read_attribute(const struct nlattr *attribute, void *arg)
{
	struct reading *reading = arg;

	switch (mnl_attr_get_type(attribute)) {
	case RTA_GATEWAY: reading->gateway = attribute; break;
	case RTA_OIF: reading->oif = attribute; break;
	case RTA_PRIORITY: reading->priority = attribute; break;
	}
	return MNL_CB_OK;
}

/* A route of several next hops tells none here. */
static int look(const struct nlmsghdr *message, void *arg)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(message);
	struct search *search = arg;
	struct reading reading = {0};
	uint32_t priority;

	if (message->nlmsg_type != RTM_NEWROUTE || route->rtm_dst_len ||
	    route->rtm_table != RT_TABLE_MAIN || route->rtm_type != RTN_UNICAST)
		return MNL_CB_OK;
	mnl_attr_parse(message, sizeof(*route), read_attribute, &reading);
	if (!reading.gateway || !reading.oif ||
	    mnl_attr_get_payload_len(reading.gateway) < (route->rtm_family == AF_INET ? 4 : 16))
		return MNL_CB_OK;
	priority = reading.priority ? mnl_attr_get_u32(reading.priority) : 0;
	if (search->found->ifindex && priority >= search->priority)
		return MNL_CB_OK;
	search->priority = priority;
	*search->found = (struct host_gateway){
		.addr = addr_from_bytes(route->rtm_family, mnl_attr_get_payload(reading.gateway)),
		.ifindex = mnl_attr_get_u32(reading.oif),
	};
	return MNL_CB_OK;
}

static void forget(void *arg)
{
	struct search *search = arg;

	memset(search->found, 0, sizeof(*search->found));
	search->priority = 0;
}

int host_gateway(int family, struct host_gateway *ret, struct err *err)
{
	char buffer[NETLINK_REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct search search = {.found = ret};
	struct rtmsg *route;
	int error;

	memset(ret, 0, sizeof(*ret));
	request->nlmsg_type = RTM_GETROUTE;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	route = mnl_nlmsg_put_extra_header(request, sizeof(*route));
	route->rtm_family = (unsigned char)family;
	error = netlink_dump(NETLINK_ROUTE, request, look, forget, &search);
	if (error)
		return err_set(err, error, "cannot list routes: %s", strerror(-error));
	return 0;
}
