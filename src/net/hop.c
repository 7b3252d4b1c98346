/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/hop.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

enum { HOP_TAG_BYTES = 4 };

static void set_why(struct nexthop *nexthop, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void set_why(struct nexthop *nexthop, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(nexthop->why, sizeof(nexthop->why), format, args);
	va_end(args);
}

static bool check_route(const struct hop_facts *facts, struct nexthop *ret)
{
	char text[ADDR_TEXT_MAX];

	addr_format(&facts->address, text);
	if (facts->route_error == -ENETUNREACH) {
		set_why(ret, "no route to %s", text);
	} else if (facts->route_error) {
		set_why(ret, "no route to %s: %s", text, strerror(-facts->route_error));
	} else if (facts->route.type == RTN_LOCAL) {
		set_why(ret, "%s is an address of this host", text);
	} else if (facts->route.type != RTN_UNICAST) {
		set_why(ret, "the route to %s is not to a single host", text);
	} else if (facts->route.tunnelled) {
		set_why(ret, "the route to %s leads through a tunnel", text);
	} else if (addr_is_none(&facts->route.source)) {
		set_why(ret, "this host has no address to reach %s from", text);
	} else {
		return true;
	}
	return false;
}

static bool check_link(const struct rtnl_link *link, uint32_t ifindex, struct nexthop *ret)
{
	if (!link)
		set_why(ret, "interface %u is gone", ifindex);
	else if (link->flags & IFF_LOOPBACK)
		set_why(ret, "%s is the loopback", link->name);
	else if (link->type != ARPHRD_ETHER || link->flags & (IFF_NOARP | IFF_POINTOPOINT))
		set_why(ret, "%s has no neighbours to resolve (no ARP)", link->name);
	else if (!(link->flags & IFF_UP))
		set_why(ret, "%s is down", link->name);
	else if (!(link->flags & IFF_LOWER_UP))
		set_why(ret, "%s has no carrier", link->name);
	else
		return true;
	return false;
}

static bool check_neighbour(const struct hop_facts *facts, struct nexthop *ret)
{
	const struct neighbour *neighbour = facts->neighbour;
	const char *link = facts->link->name;
	char text[ADDR_TEXT_MAX];

	if (!neighbour) {
		set_why(ret, "out of memory");
		return false;
	}
	addr_format(&neighbour->kernel.addr, text);
	if (neighbour->has_mac)
		return true;
	if (neighbour->refused)
		set_why(ret, "cannot ask for %s on %s: %s", text, link,
			strerror(-neighbour->refused));
	else
		set_why(ret,
			neighbour->failed ? "%s on %s does not answer"
					  : "waiting for %s on %s to answer",
			text, link);
	return false;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * By a VLAN's device, or one over another, to the interface that sends: the tags on the way, and
 * the MTU, in which that interface must have room for them. A device tags what it is given on the
 * outside, so the last one's tag is the outer one.
 */
static bool descend(const struct hop_facts *facts, struct nexthop *ret)
{
	const struct rtnl_link *link = facts->link;
	uint32_t count = 0;

	ret->mtu = link->mtu;
	for (; link->vlan; count++) {
		uint32_t over = link->over;

		if (count == NEXTHOP_TAGS) {
			set_why(ret, "%s has more than %d VLAN tags", facts->link->name,
				NEXTHOP_TAGS);
			return false;
		}
		ret->tags[1] = ret->tags[0];
		ret->tags[0] = link->vlan;
		link = facts->below[count];
		if (!check_link(link, over, ret))
			return false;
		ret->mtu = least(ret->mtu, link->mtu);
	}
	if (link->mtu > HOP_TAG_BYTES * count)
		ret->mtu = least(ret->mtu, link->mtu - HOP_TAG_BYTES * count);
	ret->ifindex = link->ifindex;
	ret->stacked = link->stacked;
	return true;
}

enum hop_missing hop_compose(const struct hop_facts *facts, struct nexthop *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!check_route(facts, ret))
		return HOP_ROUTE;
	ret->ifindex = facts->route.ifindex;
	ret->source = facts->route.source;
	ret->on_link = addr_is_none(&facts->route.gateway);
	if (!check_link(facts->link, facts->route.ifindex, ret) || !descend(facts, ret))
		return HOP_LINK;
	if (facts->route.mtu)
		ret->mtu = least(ret->mtu, facts->route.mtu);
	memcpy(ret->src_mac, facts->link->mac, sizeof(ret->src_mac));
	if (!check_neighbour(facts, ret))
		return HOP_NEIGHBOUR;
	memcpy(ret->dst_mac, facts->neighbour->mac, sizeof(ret->dst_mac));
	ret->resolved = true;
	return HOP_NOTHING;
}

bool hop_is_pending(const struct neighbour *neighbour)
{
	return neighbour && !neighbour->has_mac && !neighbour->failed && !neighbour->refused;
}

bool hop_may_stay(const struct rtnl_link *link)
{
	return link && link->flags & IFF_UP && link->flags & IFF_LOWER_UP;
}

bool hop_same(const struct nexthop *a, const struct nexthop *b)
{
	return a->resolved == b->resolved && a->on_link == b->on_link && a->stacked == b->stacked &&
	       a->ifindex == b->ifindex && a->mtu == b->mtu &&
	       memcmp(a->tags, b->tags, sizeof(a->tags)) == 0 &&
	       memcmp(a->src_mac, b->src_mac, sizeof(a->src_mac)) == 0 &&
	       memcmp(a->dst_mac, b->dst_mac, sizeof(a->dst_mac)) == 0 &&
	       addr_equal(&a->source, &b->source) && strcmp(a->why, b->why) == 0;
}

bool hop_same_link(const struct rtnl_link *a, const struct rtnl_link *b)
{
	return a->flags == b->flags && a->mtu == b->mtu && a->type == b->type &&
	       a->stacked == b->stacked && a->vlan == b->vlan && a->over == b->over &&
	       memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 && strcmp(a->name, b->name) == 0;
}
