/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/kernel_route.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "netlink/netlink.h"

/* --- asking --- */

static struct nlmsghdr *begin(char *buffer, uint16_t type, uint16_t flags, uint32_t table)
{
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct rtmsg *route;

	request->nlmsg_type = type;
	request->nlmsg_flags = NLM_F_REQUEST | flags;
	route = mnl_nlmsg_put_extra_header(request, sizeof(*route));
	route->rtm_protocol = NETLINK_PROTOCOL;
	/* A number that has no room in the old field stands in the attribute alone. */
	route->rtm_table = table <= UINT8_MAX ? (uint8_t)table : RT_TABLE_UNSPEC;
	mnl_attr_put_u32(request, RTA_TABLE, table);
	return request;
}

static struct nlmsghdr *about(char *buffer, uint16_t type, uint16_t flags, uint32_t table,
			      const struct prefix *prefix)
{
	struct nlmsghdr *request = begin(buffer, type, NLM_F_ACK | flags, table);
	struct rtmsg *route = mnl_nlmsg_get_payload(request);
	bool is4 = addr_is4(&prefix->addr);

	route->rtm_family = is4 ? AF_INET : AF_INET6;
	route->rtm_dst_len = prefix->length;
	route->rtm_scope = RT_SCOPE_UNIVERSE;
	route->rtm_type = RTN_BLACKHOLE;
	mnl_attr_put(request, RTA_DST, is4 ? 4 : 16, prefix->addr.bytes + (is4 ? 12 : 0));
	return request;
}

/* --- looking --- */

/* What was found, kept until all is: then the table may be changed. */
struct look {
	uint32_t table;
	struct prefix *found;
	size_t count, room;
	size_t before; /* of the other family */
};

static bool keep(struct look *look, const struct prefix *prefix)
{
	size_t room = look->room ? 2 * look->room : 64;
	struct prefix *found = look->found;

	if (look->count == look->room) {
		found = reallocarray(found, room, sizeof(*found));
		if (!found)
			return false;
		look->found = found;
		look->room = room;
	}
	found[look->count++] = *prefix;
	return true;
}

struct seen {
	const struct nlattr *dst, *table;
};

static int read_attribute(const struct nlattr *attribute, void *arg)
{
	struct seen *seen = arg;

	if (mnl_attr_get_type(attribute) == RTA_DST)
		seen->dst = attribute;
	if (mnl_attr_get_type(attribute) == RTA_TABLE &&
	    mnl_attr_get_payload_len(attribute) >= sizeof(uint32_t))
		seen->table = attribute;
	return MNL_CB_OK;
}

static int look_at(const struct nlmsghdr *message, void *arg)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(message);
	struct look *look = arg;
	struct seen seen = {0};
	struct prefix prefix;
	size_t room;

	if (message->nlmsg_type != RTM_NEWROUTE ||
	    mnl_nlmsg_get_payload_len(message) < sizeof(*route) ||
	    route->rtm_protocol != NETLINK_PROTOCOL || route->rtm_type != RTN_BLACKHOLE ||
	    (route->rtm_family != AF_INET && route->rtm_family != AF_INET6))
		return MNL_CB_OK;
	mnl_attr_parse(message, sizeof(*route), read_attribute, &seen);
	room = route->rtm_family == AF_INET ? 4 : 16;
	if (!seen.table || mnl_attr_get_u32(seen.table) != look->table || !seen.dst ||
	    mnl_attr_get_payload_len(seen.dst) < room)
		return MNL_CB_OK;
	prefix.addr = addr_from_bytes(route->rtm_family, mnl_attr_get_payload(seen.dst));
	prefix.length = route->rtm_dst_len;
	if (keep(look, &prefix))
		return MNL_CB_OK;
	errno = ENOMEM;
	return MNL_CB_ERROR;
}

static void forget(void *arg)
{
	struct look *look = arg;

	look->count = look->before;
}

static int look_through(struct look *look, unsigned char family)
{
	char buffer[NETLINK_REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *request = begin(buffer, RTM_GETROUTE, NLM_F_DUMP, look->table);
	int code;

	((struct rtmsg *)mnl_nlmsg_get_payload(request))->rtm_family = family;
	look->before = look->count;
	code = netlink_dump(NETLINK_ROUTE, request, look_at, forget, look);
	/* A table is made by its first route. */
	return code == -ENOENT ? 0 : code;
}

int kernel_route_list(uint32_t table, kernel_route_seen *each, void *arg, struct err *err)
{
	struct look look = {.table = table};
	int code = look_through(&look, AF_INET);

	if (!code)
		code = look_through(&look, AF_INET6);
	for (size_t i = 0; !code && i < look.count; i++)
		each(arg, &look.found[i]);
	free(look.found);
	if (code)
		return err_set(err, code, "cannot list routing table %u: %s", table,
			       strerror(-code));
	return 0;
}

/* --- changing --- */

struct search {
	const struct prefix *prefix;
	bool found;
};

static void compare(void *arg, const struct prefix *prefix)
{
	struct search *search = arg;

	search->found = search->found || prefix_equal(prefix, search->prefix);
}

static bool is_ours(uint32_t table, const struct prefix *prefix)
{
	struct search search = {.prefix = prefix};
	struct err err;

	return kernel_route_list(table, compare, &search, &err) == 0 && search.found;
}

int kernel_route_add(uint32_t table, const struct prefix *prefix, struct err *err)
{
	char buffer[NETLINK_REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	char text[ADDR_TEXT_MAX];
	int code = netlink_ask(
		NETLINK_ROUTE,
		about(buffer, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, table, prefix), NULL, NULL);

	if (code == -EEXIST && is_ours(table, prefix))
		return 0;
	if (code)
		return err_set(err, code, "cannot make the route for %s in table %u: %s",
			       prefix_format(prefix, text), table, strerror(-code));
	return 0;
}

int kernel_route_remove(uint32_t table, const struct prefix *prefix, struct err *err)
{
	char buffer[NETLINK_REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	char text[ADDR_TEXT_MAX];
	int code = netlink_ask(NETLINK_ROUTE, about(buffer, RTM_DELROUTE, 0, table, prefix), NULL,
			       NULL);

	if (code && code != -ESRCH && code != -ENOENT)
		return err_set(err, code, "cannot remove the route for %s from table %u: %s",
			       prefix_format(prefix, text), table, strerror(-code));
	return 0;
}
