// SPDX-License-Identifier: BSD-2-Clause
/*
 * Next hops through VLANs' devices: what the kernel says of such a device, in messages made here
 * (not every kernel has them), and the tags, interface and MTU that follow from it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "engine/tables.h"
#include "net/hop.h"

enum { UP = IFF_UP | IFF_LOWER_UP };

/* A link as the kernel would tell it; of kind "vlan" where `id` is not 0. */
struct told {
	const char *kind;
	uint16_t id;
	uint16_t protocol; /* 0: not told */
	uint32_t over;
	bool elsewhere; /* the one below is in another namespace */
};

static struct rtnl_link parse(const struct told *told)
{
	static char buffer[1024];
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *header;
	struct nlattr *info, *data;
	struct rtnl_link ret;

	message->nlmsg_type = RTM_NEWLINK;
	header = mnl_nlmsg_put_extra_header(message, sizeof(*header));
	header->ifi_index = 7;
	header->ifi_type = ARPHRD_ETHER;
	header->ifi_flags = UP;
	mnl_attr_put_strz(message, IFLA_IFNAME, "eth0.100");
	mnl_attr_put_u32(message, IFLA_MTU, 1500);
	mnl_attr_put(message, IFLA_ADDRESS, 6, "\2\0\0\0\0\7");
	if (told->over)
		mnl_attr_put_u32(message, IFLA_LINK, told->over);
	if (told->elsewhere)
		mnl_attr_put_u32(message, IFLA_LINK_NETNSID, 1);
	info = mnl_attr_nest_start(message, IFLA_LINKINFO);
	mnl_attr_put_strz(message, IFLA_INFO_KIND, told->kind);
	data = mnl_attr_nest_start(message, IFLA_INFO_DATA);
	if (told->protocol)
		mnl_attr_put_u16(message, IFLA_VLAN_PROTOCOL, htons(told->protocol));
	if (told->id)
		mnl_attr_put_u16(message, IFLA_VLAN_ID, told->id);
	mnl_attr_nest_end(message, data);
	mnl_attr_nest_end(message, info);
	assert_int_equal(rtnl_link_parse(message, &ret), 0);
	assert_int_equal(ret.ifindex, 7);
	assert_string_equal(ret.name, "eth0.100");
	return ret;
}

static void test_told_by_the_kernel(void **state)
{
	static const struct {
		const char *name;
		struct told told;
		uint32_t vlan, over;
		bool stacked;
	} rows[] = {
		{"802.1Q", {"vlan", 100, ETH_P_8021Q, 3, false}, 0x81000064, 3, false},
		{"802.1ad", {"vlan", 4094, ETH_P_8021AD, 3, false}, 0x88a80ffe, 3, false},
		{"no protocol told", {"vlan", 1, 0, 3, false}, 0x81000001, 3, false},
		{"no id told", {"vlan", 0, ETH_P_8021Q, 3, false}, 0, 3, true},
		{"nothing below", {"vlan", 100, ETH_P_8021Q, 0, false}, 0, 0, true},
		{"below in another namespace", {"vlan", 9, ETH_P_8021Q, 3, true}, 0, 3, true},
		{"a veth has a peer", {"veth", 0, 0, 3, false}, 0, 0, false},
		{"a vxlan has an id too", {"vxlan", 100, 0, 3, false}, 0, 0, false},
		{"a bridge", {"bridge", 0, 0, 0, false}, 0, 0, true},
		{"a macvlan", {"macvlan", 0, 0, 3, false}, 0, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rtnl_link link = parse(&rows[i].told);

		if (link.vlan != rows[i].vlan || link.over != rows[i].over ||
		    link.stacked != rows[i].stacked)
			fail_msg("%s: vlan %#x over %u stacked %d", rows[i].name, link.vlan,
				 link.over, link.stacked);
	}
}

/* A message cut short anywhere is refused or read in part, and never read past. */
static void test_cut_short(void **state)
{
	char buffer[256];
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct nlattr *info, *data;
	struct rtnl_link link;

	(void)state;
	mnl_nlmsg_put_extra_header(message, sizeof(struct ifinfomsg));
	mnl_attr_put_u32(message, IFLA_LINK, 3);
	info = mnl_attr_nest_start(message, IFLA_LINKINFO);
	mnl_attr_put_strz(message, IFLA_INFO_KIND, "vlan");
	data = mnl_attr_nest_start(message, IFLA_INFO_DATA);
	mnl_attr_put_u16(message, IFLA_VLAN_ID, 100);
	mnl_attr_nest_end(message, data);
	mnl_attr_nest_end(message, info);
	assert_int_equal(rtnl_link_parse(message, &link), 0);
	assert_int_equal(link.vlan, 0x81000064);
	for (uint32_t length = sizeof(*message); length < message->nlmsg_len; length++) {
		char cut[256];
		struct nlmsghdr *copy =
			(struct nlmsghdr *)(void *)(cut + sizeof(cut) - 4 - (length + 3) / 4 * 4);

		memcpy(copy, message, length);
		copy->nlmsg_len = length;
		if (rtnl_link_parse(copy, &link) == 0)
			assert_true(link.vlan == 0 || NLMSG_ALIGN(length) == message->nlmsg_len);
	}
}

static struct rtnl_link link_of(const char *name, uint32_t ifindex, uint32_t mtu)
{
	struct rtnl_link link = {.ifindex = ifindex, .flags = UP, .mtu = mtu, .type = ARPHRD_ETHER};

	strncpy(link.name, name, sizeof(link.name) - 1);
	link.mac[5] = (uint8_t)ifindex;
	return link;
}

static struct rtnl_link vlan_of(const char *name, uint32_t ifindex, uint32_t tag, uint32_t over)
{
	struct rtnl_link link = link_of(name, ifindex, 1500);

	link.vlan = tag;
	link.over = over;
	return link;
}

static struct neighbour neighbour = {.has_mac = true, .mac = {2, 0, 0, 0, 0, 0x99}};

static struct hop_facts facts_of(const struct rtnl_link *link)
{
	struct hop_facts facts = {
		.route = {.type = RTN_UNICAST, .ifindex = link->ifindex},
		.link = link,
		.neighbour = &neighbour,
	};

	addr_parse("10.0.0.2", &facts.address);
	addr_parse("10.0.0.1", &facts.route.source);
	return facts;
}

static void test_one_tag(void **state)
{
	struct rtnl_link eth0 = link_of("eth0", 2, 1500);
	struct rtnl_link vlan = vlan_of("eth0.100", 7, 0x81000064, 2);
	struct hop_facts facts = facts_of(&vlan);
	struct nexthop hop;

	(void)state;
	facts.below[0] = &eth0;
	assert_int_equal(hop_compose(&facts, &hop), HOP_NOTHING);
	assert_true(hop.resolved);
	assert_false(hop.stacked);
	assert_int_equal(hop.ifindex, 2);
	assert_int_equal(hop.tags[0], 0x81000064);
	assert_int_equal(hop.tags[1], 0);
	assert_int_equal(hop.mtu, 1496);
	assert_int_equal(hop.src_mac[5], 7); /* the VLAN's device's own */
	assert_int_equal(hop.dst_mac[5], 0x99);
	facts.route.mtu = 1400;
	hop_compose(&facts, &hop);
	assert_int_equal(hop.mtu, 1400);
	facts.route.mtu = 9000;
	eth0.mtu = 1504; /* room for the tag: the packet may be whole */
	hop_compose(&facts, &hop);
	assert_int_equal(hop.mtu, 1500);
	vlan.mtu = 1300;
	hop_compose(&facts, &hop);
	assert_int_equal(hop.mtu, 1300);
}

static void test_two_tags(void **state)
{
	struct rtnl_link eth0 = link_of("eth0", 2, 1500);
	struct rtnl_link outer = vlan_of("eth0.100", 7, 0x88a80064, 2);
	struct rtnl_link inner = vlan_of("eth0.100.200", 8, 0x810000c8, 7);
	struct hop_facts facts = facts_of(&inner);
	struct nexthop hop, one;

	(void)state;
	facts.below[0] = &outer;
	facts.below[1] = &eth0;
	assert_int_equal(hop_compose(&facts, &hop), HOP_NOTHING);
	assert_int_equal(hop.ifindex, 2);
	assert_int_equal(hop.tags[0], 0x88a80064);
	assert_int_equal(hop.tags[1], 0x810000c8);
	assert_int_equal(hop.mtu, 1492);
	assert_int_equal(hop.src_mac[5], 8);
	one = hop;
	one.tags[1]++;
	assert_false(hop_same(&one, &hop));
}

static void assert_missing(const struct hop_facts *facts, const char *why)
{
	struct nexthop hop;

	assert_int_equal(hop_compose(facts, &hop), HOP_LINK);
	assert_false(hop.resolved);
	assert_string_equal(hop.why, why);
}

static void test_no_way_down(void **state)
{
	struct rtnl_link eth0 = link_of("eth0", 2, 1500);
	struct rtnl_link first = vlan_of("eth0.1", 7, 0x81000001, 2);
	struct rtnl_link second = vlan_of("eth0.1.2", 8, 0x81000002, 7);
	struct rtnl_link third = vlan_of("eth0.1.2.3", 9, 0x81000003, 8);
	struct hop_facts facts = facts_of(&third);
	struct nexthop hop;

	(void)state;
	facts.below[0] = &second;
	facts.below[1] = &first;
	assert_missing(&facts, "eth0.1.2.3 has more than 2 VLAN tags");
	facts = facts_of(&first);
	assert_missing(&facts, "interface 2 is gone");
	facts.below[0] = &eth0;
	eth0.flags = IFF_UP;
	assert_missing(&facts, "eth0 has no carrier");
	eth0.flags = UP;
	eth0.stacked = true;
	assert_int_equal(hop_compose(&facts, &hop), HOP_NOTHING);
	assert_true(hop.stacked); /* a VLAN over a bridge */
}

static void test_into_the_tables(void **state)
{
	struct dp_nexthop hop = {.ifindex = 2, .mtu = 1492, .on_link = true};
	struct abi_backend backend = {0};
	struct addr addr;

	(void)state;
	addr_parse("10.0.0.2", &addr);
	dp_tables_set_tunnel(&backend, &addr);
	dp_tables_set_nexthop(&backend, &hop);
	assert_int_equal(backend.flags, ABI_BACKEND_NEIGH | ABI_BACKEND_LINK);
	hop.tags[0] = 0x88a80064;
	hop.tags[1] = 0x810000c8;
	dp_tables_set_nexthop(&backend, &hop);
	assert_int_equal(backend.flags, ABI_BACKEND_NEIGH | ABI_BACKEND_LINK | ABI_BACKEND_TAGGED);
	assert_memory_equal(backend.tags, "\x88\xa8\x00\x64\x81\x00\x00\xc8", 8);
	hop.tags[1] = 0;
	dp_tables_set_nexthop(&backend, &hop);
	assert_memory_equal(backend.tags, "\x88\xa8\x00\x64\x00\x00\x00\x00", 8);
	assert_true(backend.flags & ABI_BACKEND_TAGGED);
	dp_tables_set_nexthop(&backend, NULL);
	assert_false(backend.flags & ABI_BACKEND_NEIGH);
	hop.tags[0] = 0;
	dp_tables_set_nexthop(&backend, &hop);
	assert_int_equal(backend.flags, ABI_BACKEND_NEIGH | ABI_BACKEND_LINK);
	assert_memory_equal(backend.tags, "\0\0\0\0\0\0\0\0", 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_told_by_the_kernel),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_one_tag),
		cmocka_unit_test(test_two_tags),
		cmocka_unit_test(test_no_way_down),
		cmocka_unit_test(test_into_the_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
