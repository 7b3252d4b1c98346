/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Local routes: the kernel makes one for each address, and takes any other in the same way. What
 * comes for an address of the prefix is then the host's, a socket that listens on any address
 * answers from it, and no interface has it: neither ARP nor neighbour discovery speaks of it.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "host/host.h"
#include "netlink/netlink.h"

enum { LOOPBACK_IFINDEX = 1 };

/* An address's bytes as netlink has them, into `ret`; returns how many. */
static size_t wire_bytes(const struct addr *addr, uint8_t ret[16])
{
	uint32_t be32;

	if (!addr_is4(addr)) {
		memcpy(ret, addr->bytes, sizeof(addr->bytes));
		return sizeof(addr->bytes);
	}
	be32 = addr_be32(addr);
	memcpy(ret, &be32, sizeof(be32));
	return sizeof(be32);
}

static struct nlmsghdr *route_request(char *buffer, uint16_t type, uint16_t flags,
				      const struct prefix *prefix)
{
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	bool is4 = addr_is4(&prefix->addr);
	uint8_t bytes[16];
	size_t length = wire_bytes(&prefix->addr, bytes);
	struct rtmsg *route;

	request->nlmsg_type = type;
	request->nlmsg_flags = NLM_F_REQUEST | flags;
	route = mnl_nlmsg_put_extra_header(request, sizeof(*route));
	route->rtm_family = is4 ? AF_INET : AF_INET6;
	if (type == RTM_GETROUTE)
		return request;
	route->rtm_dst_len = prefix->length;
	route->rtm_table = RT_TABLE_LOCAL;
	route->rtm_protocol = RTPROT_STATIC;
	route->rtm_scope = is4 ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE;
	route->rtm_type = RTN_LOCAL;
	mnl_attr_put(request, RTA_DST, length, bytes);
	mnl_attr_put_u32(request, RTA_OIF, LOOPBACK_IFINDEX);
	return request;
}

/* --- looking --- */

struct search {
	const struct prefix *prefix;
	uint8_t bytes[16];
	size_t length;
	bool found;
};

struct seen {
	const struct nlattr *dst, *oif;
};

static int read_attribute(const struct nlattr *attribute, void *arg)
{
	struct seen *seen = arg;

	if (mnl_attr_get_type(attribute) == RTA_DST)
		seen->dst = attribute;
	if (mnl_attr_get_type(attribute) == RTA_OIF)
		seen->oif = attribute;
	return MNL_CB_OK;
}

/* The address of a prefix of no length is left out. */
static bool is_searched(const struct search *search, const struct seen *seen)
{
	if (!seen->oif || mnl_attr_get_u32(seen->oif) != LOOPBACK_IFINDEX)
		return false;
	if (!seen->dst)
		return search->prefix->length == 0;
	return mnl_attr_get_payload_len(seen->dst) >= search->length &&
	       memcmp(mnl_attr_get_payload(seen->dst), search->bytes, search->length) == 0;
}

static int look_at(const struct nlmsghdr *message, void *arg)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(message);
	struct search *search = arg;
	struct seen seen = {0};

	if (message->nlmsg_type != RTM_NEWROUTE || route->rtm_table != RT_TABLE_LOCAL ||
	    route->rtm_type != RTN_LOCAL || route->rtm_dst_len != search->prefix->length)
		return MNL_CB_OK;
	mnl_attr_parse(message, sizeof(*route), read_attribute, &seen);
	search->found = search->found || is_searched(search, &seen);
	return MNL_CB_OK;
}

static void forget(void *arg)
{
	((struct search *)arg)->found = false;
}

int host_local_route_exists(const struct prefix *prefix, bool *ret, struct err *err)
{
	char buffer[NETLINK_REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct search search = {.prefix = prefix};
	int error;

	search.length = wire_bytes(&prefix->addr, search.bytes);
	error = netlink_dump(NETLINK_ROUTE, route_request(buffer, RTM_GETROUTE, NLM_F_DUMP, prefix),
			     look_at, forget, &search);
	if (error)
		return err_set(err, error, "cannot list routes: %s", strerror(-error));
	*ret = search.found;
	return 0;
}

/* --- changing --- */

static int change(uint16_t type, uint16_t flags, const struct prefix *prefix, struct err *err)
{
	char buffer[NETLINK_REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	char text[ADDR_TEXT_MAX];
	int error = netlink_ask(NETLINK_ROUTE,
				route_request(buffer, type, NLM_F_ACK | flags, prefix), NULL, NULL);

	if (error)
		return err_set(err, error, "cannot %s the local route for %s: %s",
			       type == RTM_NEWROUTE ? "make" : "remove",
			       prefix_format(prefix, text), strerror(-error));
	return 0;
}

int host_local_route_add(const struct prefix *prefix, struct err *err)
{
	return change(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, prefix, err);
}

int host_local_route_remove(const struct prefix *prefix, struct err *err)
{
	return change(RTM_DELROUTE, 0, prefix, err);
}
