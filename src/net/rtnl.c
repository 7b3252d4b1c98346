/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/rtnl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/time.h>

enum {
	MESSAGE_MAX = 512,           /* what we send */
	ANSWER_MAX = 32 * 1024,      /* what one receive takes */
	EVENTS_BUFFER = 4096 * 1024, /* notifications that may wait for the loop */
	READS_MAX = 32,              /* receives a call: the loop has other work too */
	WALKS = 5,                   /* through a list that changes */
};

static const int groups[] = {RTNLGRP_NEIGH,      RTNLGRP_LINK,        RTNLGRP_IPV4_ROUTE,
			     RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
			     RTNLGRP_IPV4_RULE,  RTNLGRP_IPV6_RULE,   RTNLGRP_NEXTHOP};

/* Where the attributes of a message go: `set` by type, types above `max` left out. */
struct attributes {
	const struct nlattr **set;
	uint16_t max;
};

static int keep(const struct nlattr *attribute, void *arg)
{
	struct attributes *attributes = arg;
	uint16_t type = mnl_attr_get_type(attribute);

	if (type <= attributes->max)
		attributes->set[type] = attribute;
	return MNL_CB_OK;
}

static void parse(const struct nlmsghdr *message, size_t header, const struct nlattr **set,
		  uint16_t max)
{
	struct attributes attributes = {set, max};

	memset(set, 0, ((size_t)max + 1) * sizeof(*set));
	mnl_attr_parse(message, (unsigned)header, keep, &attributes);
}

static bool holds(const struct nlattr *attribute, size_t length)
{
	return attribute && mnl_attr_get_payload_len(attribute) >= length;
}

static uint32_t get_u32(const struct nlattr *attribute)
{
	return holds(attribute, 4) ? mnl_attr_get_u32(attribute) : 0;
}

static struct addr get_addr(const struct nlattr *attribute, int family)
{
	struct addr none = {0};

	if (!holds(attribute, family == AF_INET ? 4 : 16))
		return none;
	return addr_from_bytes(family, mnl_attr_get_payload(attribute));
}

static void put_addr(struct nlmsghdr *message, uint16_t type, const struct addr *addr)
{
	if (addr_is4(addr))
		mnl_attr_put(message, type, 4, addr->bytes + 12);
	else
		mnl_attr_put(message, type, 16, addr->bytes);
}

static uint8_t family_of(const struct addr *addr)
{
	return addr_is4(addr) ? AF_INET : AF_INET6;
}

/* An IPv4 route through an IPv6 next hop (RFC 8950) names it in RTA_VIA. */
static struct addr get_via(const struct nlattr *attribute)
{
	struct addr none = {0};
	const struct rtvia *via;
	size_t length;

	if (!holds(attribute, sizeof(*via)))
		return none;
	via = mnl_attr_get_payload(attribute);
	length = via->rtvia_family == AF_INET ? 4 : 16;
	if (!holds(attribute, sizeof(*via) + length))
		return none;
	return addr_from_bytes(via->rtvia_family, via->rtvia_addr);
}

static uint32_t get_metric_mtu(const struct nlattr *metrics)
{
	const struct nlattr *metric;

	if (!metrics)
		return 0;
	mnl_attr_for_each_nested(metric, metrics)
	{
		if (mnl_attr_get_type(metric) == RTAX_MTU)
			return get_u32(metric);
	}
	return 0;
}

static bool expires(const struct nlattr *cacheinfo)
{
	const struct rta_cacheinfo *info;

	if (!holds(cacheinfo, sizeof(*info)))
		return false;
	info = mnl_attr_get_payload(cacheinfo);
	return info->rta_expires > 0;
}

static int parse_route(const struct nlmsghdr *message, struct rtnl_route *ret, bool *ret_expires)
{
	const struct rtmsg *header = mnl_nlmsg_get_payload(message);
	const struct nlattr *set[RTA_MAX + 1];

	if (mnl_nlmsg_get_payload_len(message) < sizeof(*header))
		return -EPROTO;
	parse(message, sizeof(*header), set, RTA_MAX);
	*ret = (struct rtnl_route){
		.type = header->rtm_type,
		.tunnelled = set[RTA_ENCAP_TYPE] != NULL,
		.ifindex = get_u32(set[RTA_OIF]),
		.mtu = get_metric_mtu(set[RTA_METRICS]),
		.gateway = set[RTA_VIA] ? get_via(set[RTA_VIA])
					: get_addr(set[RTA_GATEWAY], header->rtm_family),
		.source = get_addr(set[RTA_PREFSRC], header->rtm_family),
	};
	*ret_expires = expires(set[RTA_CACHEINFO]);
	return 0;
}

/* As of a message, of an attribute that holds attributes. */
static void parse_nested(const struct nlattr *nested, const struct nlattr **set, uint16_t max)
{
	struct attributes attributes = {set, max};

	memset(set, 0, ((size_t)max + 1) * sizeof(*set));
	if (nested)
		mnl_attr_parse_nested(nested, keep, &attributes);
}

/* The tag of a VLAN's device. Its priority is that of packets that have none of their own. */
static uint32_t get_vlan(const struct nlattr *data)
{
	const struct nlattr *set[IFLA_VLAN_MAX + 1];
	uint32_t protocol = ETH_P_8021Q;

	parse_nested(data, set, IFLA_VLAN_MAX);
	if (!holds(set[IFLA_VLAN_ID], 2))
		return 0;
	if (holds(set[IFLA_VLAN_PROTOCOL], 2))
		protocol = ntohs(mnl_attr_get_u16(set[IFLA_VLAN_PROTOCOL]));
	return protocol << 16 | mnl_attr_get_u16(set[IFLA_VLAN_ID]);
}

/*
 * Devices of these kinds have no function by which XDP in a driver sends (ndo_xdp_xmit). A VLAN's
 * device is no obstacle, for we send by the one below it; unless that is in another namespace.
 */
static void read_link_kind(const struct nlattr **link, struct rtnl_link *ret)
{
	static const char *const kinds[] = {"bridge", "macvlan", "ipvlan"};
	const struct nlattr *set[IFLA_INFO_MAX + 1];
	const char *kind;

	parse_nested(link[IFLA_LINKINFO], set, IFLA_INFO_MAX);
	if (!set[IFLA_INFO_KIND] || mnl_attr_validate(set[IFLA_INFO_KIND], MNL_TYPE_NUL_STRING))
		return;
	kind = mnl_attr_get_str(set[IFLA_INFO_KIND]);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		ret->stacked |= strcmp(kind, kinds[i]) == 0;
	if (strcmp(kind, "vlan") != 0)
		return;
	ret->vlan = get_vlan(set[IFLA_INFO_DATA]);
	ret->over = get_u32(link[IFLA_LINK]);
	if (!ret->vlan || !ret->over || link[IFLA_LINK_NETNSID]) {
		ret->vlan = 0;
		ret->stacked = true;
	}
}

int rtnl_link_parse(const struct nlmsghdr *message, struct rtnl_link *ret)
{
	const struct ifinfomsg *header = mnl_nlmsg_get_payload(message);
	const struct nlattr *set[IFLA_MAX + 1];

	/* The bridge speaks of its ports in the same messages, with half of what we need. */
	if (mnl_nlmsg_get_payload_len(message) < sizeof(*header) || header->ifi_family != AF_UNSPEC)
		return -EPROTO;
	parse(message, sizeof(*header), set, IFLA_MAX);
	*ret = (struct rtnl_link){
		.ifindex = (uint32_t)header->ifi_index,
		.flags = header->ifi_flags,
		.mtu = get_u32(set[IFLA_MTU]),
		.type = header->ifi_type,
	};
	read_link_kind(set, ret);
	if (holds(set[IFLA_ADDRESS], sizeof(ret->mac)))
		memcpy(ret->mac, mnl_attr_get_payload(set[IFLA_ADDRESS]), sizeof(ret->mac));
	if (set[IFLA_IFNAME] && mnl_attr_validate(set[IFLA_IFNAME], MNL_TYPE_NUL_STRING) == 0)
		strncpy(ret->name, mnl_attr_get_str(set[IFLA_IFNAME]), sizeof(ret->name) - 1);
	return 0;
}

static int parse_neigh(const struct nlmsghdr *message, struct rtnl_neigh *ret)
{
	const struct ndmsg *header = mnl_nlmsg_get_payload(message);
	const struct nlattr *set[NDA_MAX + 1];
	const struct nlattr *mac;

	if (mnl_nlmsg_get_payload_len(message) < sizeof(*header) ||
	    (header->ndm_family != AF_INET && header->ndm_family != AF_INET6))
		return -EPROTO;
	parse(message, sizeof(*header), set, NDA_MAX);
	*ret = (struct rtnl_neigh){
		.ifindex = (uint32_t)header->ndm_ifindex,
		.addr = get_addr(set[NDA_DST], header->ndm_family),
		.state = header->ndm_state,
		.flags = header->ndm_flags,
		.protocol = holds(set[NDA_PROTOCOL], 1) ? mnl_attr_get_u8(set[NDA_PROTOCOL]) : 0,
		.managed = get_u32(set[NDA_FLAGS_EXT]) & NTF_EXT_MANAGED,
	};
	mac = set[NDA_LLADDR];
	if (mac && mnl_attr_get_payload_len(mac) == sizeof(ret->mac)) {
		memcpy(ret->mac, mnl_attr_get_payload(mac), sizeof(ret->mac));
		ret->has_mac = true;
	}
	return 0;
}

static int open_query(struct mnl_socket **ret)
{
	struct timeval wait = {.tv_sec = RTNL_WAIT_MS / 1000};
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);

	if (!socket)
		return -errno;
	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait))) {
		int code = -errno;

		mnl_socket_close(socket);
		return code;
	}
	*ret = socket;
	return 0;
}

/* A kernel that lacks a group is older than what we ask for, but most of them are enough. */
static int join_groups(struct mnl_socket *socket)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		int group = groups[i];

		if (mnl_socket_setsockopt(socket, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) &&
		    group <= RTNLGRP_IPV6_ROUTE)
			return -errno;
	}
	return 0;
}

static int open_events(struct mnl_socket **ret)
{
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int size = EVENTS_BUFFER;
	int code;

	if (!socket)
		return -errno;
	/* A larger buffer makes losses rare; without the right to it they are merely likelier. */
	setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	code = mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ? -errno : join_groups(socket);
	if (code) {
		mnl_socket_close(socket);
		return code;
	}
	*ret = socket;
	return 0;
}

int rtnl_open(struct rtnl *ret)
{
	struct rtnl rtnl = {0};
	int code = open_query(&rtnl.query);

	if (code)
		return code;
	code = open_events(&rtnl.events);
	if (code) {
		mnl_socket_close(rtnl.query);
		return code;
	}
	*ret = rtnl;
	return 0;
}

void rtnl_close(struct rtnl *rtnl)
{
	mnl_socket_close(rtnl->query);
	mnl_socket_close(rtnl->events);
	*rtnl = (struct rtnl){0};
}

int rtnl_events_fd(const struct rtnl *rtnl)
{
	return mnl_socket_get_fd(rtnl->events);
}

static bool event_of(const struct nlmsghdr *message, struct rtnl_event *ret)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(message);
	const struct nlattr *set[RTA_MAX + 1];

	switch (message->nlmsg_type) {
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		ret->kind = message->nlmsg_type == RTM_NEWNEIGH ? RTNL_NEIGH : RTNL_NEIGH_GONE;
		return parse_neigh(message, &ret->neigh) == 0;
	case RTM_NEWLINK:
	case RTM_DELLINK:
		ret->kind = message->nlmsg_type == RTM_NEWLINK ? RTNL_LINK : RTNL_LINK_GONE;
		return rtnl_link_parse(message, &ret->link) == 0;
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		ret->kind = RTNL_ROUTE;
		if (mnl_nlmsg_get_payload_len(message) < sizeof(*route) ||
		    (route->rtm_family != AF_INET && route->rtm_family != AF_INET6))
			return false;
		parse(message, sizeof(*route), set, RTA_MAX);
		/* A default route carries no RTA_DST: all zero, which is what it means. */
		ret->prefix.addr = get_addr(set[RTA_DST], route->rtm_family);
		if (!set[RTA_DST] && route->rtm_family == AF_INET)
			ret->prefix.addr = addr_from4(0);
		ret->prefix.length = route->rtm_dst_len;
		return true;
	case RTM_NEWADDR:
	case RTM_DELADDR:
	case RTM_NEWRULE:
	case RTM_DELRULE:
	case RTM_NEWNEXTHOP:
	case RTM_DELNEXTHOP: ret->kind = RTNL_RULES; return true;
	default: return false;
	}
}

int rtnl_events_read(struct rtnl *rtnl, rtnl_event_handler *handler, void *arg)
{
	char buffer[ANSWER_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));

	for (int i = 0; i < READS_MAX; i++) {
		ssize_t got = mnl_socket_recvfrom(rtnl->events, buffer, sizeof(buffer));
		const struct nlmsghdr *message = (const struct nlmsghdr *)buffer;
		int left = (int)got;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN ? 0 : -errno;
		for (; mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
			struct rtnl_event event = {0};

			if (event_of(message, &event))
				handler(arg, &event);
		}
	}
	return 0;
}

struct question {
	char buffer[MESSAGE_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	char answer[ANSWER_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
};

static void *begin(struct question *question, uint16_t type, uint16_t flags, size_t header)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(question->buffer);

	message->nlmsg_type = type;
	message->nlmsg_flags = NLM_F_REQUEST | flags;
	return mnl_nlmsg_put_extra_header(message, header);
}

static struct nlmsghdr *message_of(struct question *question)
{
	return (struct nlmsghdr *)question->buffer;
}

static int error_of(const struct nlmsghdr *message)
{
	const struct nlmsgerr *answer = mnl_nlmsg_get_payload(message);

	if (mnl_nlmsg_get_payload_len(message) < sizeof(*answer))
		return -EPROTO;
	return answer->error;
}

/* Sends, and waits for the answer of the same number. *ret_answer points into the question; NULL
 * for a bare acknowledgement. */
static int ask(struct rtnl *rtnl, struct question *question, const struct nlmsghdr **ret_answer)
{
	struct nlmsghdr *message = message_of(question);

	*ret_answer = NULL;
	message->nlmsg_seq = ++rtnl->sequence;
	if (mnl_socket_sendto(rtnl->query, message, message->nlmsg_len) < 0)
		return -errno;
	for (;;) {
		ssize_t got = mnl_socket_recvfrom(rtnl->query, question->answer, ANSWER_MAX);
		const struct nlmsghdr *answer = (const struct nlmsghdr *)question->answer;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		/* A late answer to a question that we gave up is none of ours. */
		if (!mnl_nlmsg_ok(answer, (int)got) || answer->nlmsg_seq != rtnl->sequence)
			continue;
		if (answer->nlmsg_type == NLMSG_ERROR)
			return error_of(answer);
		*ret_answer = answer;
		return 0;
	}
}

static int route_get(struct rtnl *rtnl, const struct addr *to, uint32_t flags,
		     struct rtnl_route *ret, bool *ret_expires)
{
	struct question question;
	const struct nlmsghdr *answer;
	struct rtmsg *header = begin(&question, RTM_GETROUTE, 0, sizeof(*header));
	int code;

	header->rtm_family = family_of(to);
	header->rtm_dst_len = addr_is4(to) ? 32 : 128;
	header->rtm_flags = flags;
	put_addr(message_of(&question), RTA_DST, to);
	code = ask(rtnl, &question, &answer);
	if (code)
		return code;
	return answer ? parse_route(answer, ret, ret_expires) : -EPROTO;
}

/*
 * The plain lookup gives what the kernel would do: rules, the next hop chosen of many, the source.
 * It also mixes in a path MTU learned from an ICMP error, which anybody may forge, which ends by
 * itself and of whose end nothing tells us; then the route as configured (fib match) has the MTU.
 */
int rtnl_route_get(struct rtnl *rtnl, const struct addr *to, struct rtnl_route *ret)
{
	struct rtnl_route configured;
	struct rtnl_route route;
	bool learned;
	int code = route_get(rtnl, to, 0, &route, &learned);

	if (code)
		return code;
	if (learned && route.mtu) {
		code = route_get(rtnl, to, RTM_F_FIB_MATCH, &configured, &learned);
		if (code)
			return code;
		route.mtu = configured.mtu;
	}
	*ret = route;
	return 0;
}

int rtnl_link_get(struct rtnl *rtnl, uint32_t ifindex, struct rtnl_link *ret)
{
	struct question question;
	const struct nlmsghdr *answer;
	struct ifinfomsg *header = begin(&question, RTM_GETLINK, 0, sizeof(*header));
	int code;

	header->ifi_index = (int)ifindex;
	mnl_attr_put_u32(message_of(&question), IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	code = ask(rtnl, &question, &answer);
	if (code)
		return code;
	return answer ? rtnl_link_parse(answer, ret) : -EPROTO;
}

static struct ndmsg *begin_neigh(struct question *question, uint16_t type, uint16_t flags,
				 const struct rtnl_neigh *neigh)
{
	struct ndmsg *header = begin(question, type, flags, sizeof(*header));

	header->ndm_family = family_of(&neigh->addr);
	header->ndm_ifindex = (int)neigh->ifindex;
	put_addr(message_of(question), NDA_DST, &neigh->addr);
	return header;
}

int rtnl_neigh_get(struct rtnl *rtnl, const struct rtnl_neigh *key, struct rtnl_neigh *ret)
{
	struct question question;
	const struct nlmsghdr *answer;
	int code;

	begin_neigh(&question, RTM_GETNEIGH, 0, key);
	code = ask(rtnl, &question, &answer);
	if (code)
		return code;
	return answer ? parse_neigh(answer, ret) : -EPROTO;
}

struct walk {
	void (*each)(void *arg, const struct rtnl_neigh *neigh);
	void *arg;
};

static int walk_neigh(const struct nlmsghdr *message, void *arg)
{
	const struct walk *walk = arg;
	struct rtnl_neigh neigh;

	if (message->nlmsg_type == RTM_NEWNEIGH && parse_neigh(message, &neigh) == 0)
		walk->each(walk->arg, &neigh);
	return MNL_CB_OK;
}

static int walk_once(struct walk *walk)
{
	struct question question;
	struct mnl_socket *socket;
	int code = open_query(&socket), got = MNL_CB_OK;

	if (code)
		return code;
	begin(&question, RTM_GETNEIGH, NLM_F_DUMP, sizeof(struct ndmsg));
	if (mnl_socket_sendto(socket, question.buffer, message_of(&question)->nlmsg_len) < 0)
		got = MNL_CB_ERROR;
	while (got > MNL_CB_STOP) {
		ssize_t length = mnl_socket_recvfrom(socket, question.answer, ANSWER_MAX);

		got = length < 0
			      ? MNL_CB_ERROR
			      : mnl_cb_run(question.answer, (size_t)length, 0, 0, walk_neigh, walk);
	}
	code = got == MNL_CB_ERROR ? -errno : 0;
	mnl_socket_close(socket);
	return code;
}

/* -EINTR is a signal, or the kernel's word that the list changed meanwhile (NLM_F_DUMP_INTR). */
int rtnl_neigh_each(void (*each)(void *arg, const struct rtnl_neigh *neigh), void *arg)
{
	struct walk walk = {each, arg};
	int code = walk_once(&walk);

	for (int i = 1; code == -EINTR && i < WALKS; i++)
		code = walk_once(&walk);
	return code;
}

/*
 * The kernel reads a change by hand as the whole truth: a flag that is not said again is taken
 * away. So EXT_LEARNED, which belongs to somebody else, is repeated.
 */
int rtnl_neigh_ask(struct rtnl *rtnl, const struct rtnl_neigh *neigh, enum rtnl_ask how)
{
	struct question question;
	const struct nlmsghdr *answer;
	struct ndmsg *header =
		begin_neigh(&question, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_ACK, neigh);
	struct nlmsghdr *message = message_of(&question);

	header->ndm_flags = neigh->flags & NTF_EXT_LEARNED;
	if (!neigh->protocol)
		mnl_attr_put_u8(message, NDA_PROTOCOL, RTNL_PROTOCOL);
	if (how == RTNL_ASK_MANAGED)
		mnl_attr_put_u32(message, NDA_FLAGS_EXT, NTF_EXT_MANAGED);
	else
		header->ndm_flags |= NTF_USE;
	return ask(rtnl, &question, &answer);
}

int rtnl_neigh_delete(struct rtnl *rtnl, const struct rtnl_neigh *neigh)
{
	struct question question;
	const struct nlmsghdr *answer;

	begin_neigh(&question, RTM_DELNEIGH, NLM_F_ACK, neigh);
	return ask(rtnl, &question, &answer);
}
