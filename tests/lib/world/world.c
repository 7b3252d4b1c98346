// SPDX-License-Identifier: BSD-2-Clause
#include "tests/lib/world/world.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "base/addr.h"
#include "tests/lib/world/policy.h"

static const struct {
	const char *name, *vips[2];
	uint64_t listens[3];
	uint32_t slots;
	bool untracked, not_in_file, drops_pieces;
	enum tunnel_mode mode;
	uint32_t other; /* its slots' other owner */
	uint16_t mss;
	uint32_t flags; /* beside those that follow from `untracked` */
} services[WORLD_SERVICES] = {
#define TCP(first, last) ((uint64_t)(first) | (uint64_t)(last) << 16 | (uint64_t)IPPROTO_TCP << 32)
#define UDP(first, last) ((uint64_t)(first) | (uint64_t)(last) << 16 | (uint64_t)IPPROTO_UDP << 32)
	[WORLD_NONE] = {.name = "none"},
	[WORLD_ONE4] = {"one4",
			{WORLD_ONE4_VIP4, WORLD_ONE4_VIP6},
			{TCP(80, 80), TCP(8000, 8099), UDP(53, 53)},
			.slots = 1},
	[WORLD_ONE6] = {"one6",
			{WORLD_ONE6_VIP4, WORLD_ONE6_VIP6},
			{TCP(80, 80), UDP(443, 443)},
			.slots = 1},
	[WORLD_LOOSE] = {"loose",
			 {WORLD_ONE4_VIP4, WORLD_ONE4_VIP6},
			 {TCP(9000, 9000)},
			 .slots = 1,
			 .untracked = true},
	[WORLD_MANY] = {"many",
			{WORLD_MANY_VIP4, WORLD_MANY_VIP6},
			{TCP(443, 443), UDP(443, 443)},
			.slots = WORLD_MANY_SLOTS},
	[WORLD_EMPTY] = {"empty", {WORLD_EMPTY_VIP4, WORLD_EMPTY_VIP6}, {TCP(80, 80)}, .slots = 1},
	[WORLD_BARE] = {"bare", {WORLD_BARE_VIP4}, {TCP(80, 80)}, .not_in_file = true},
	[WORLD_LOST] = {"lost",
			{WORLD_LOST_VIP4, WORLD_LOST_VIP6},
			{TCP(80, 80)},
			.slots = 1,
			.not_in_file = true},
	[WORLD_AWAY] = {"away",
			{WORLD_AWAY_VIP4, WORLD_AWAY_VIP6},
			{TCP(80, 80)},
			.slots = 1,
			.not_in_file = true},
	[WORLD_SMALL] = {"small",
			 {WORLD_SMALL_VIP4, WORLD_SMALL_VIP6},
			 {TCP(80, 80)},
			 .slots = 1,
			 .not_in_file = true},
#define MODE(service_name, mode_name, name_upper)                                           \
	{                                                                                   \
		service_name, {WORLD_##name_upper##_VIP4, WORLD_##name_upper##_VIP6},       \
			{TCP(80, 80), UDP(53, 53)}, .slots = 1, .mode = TUNNEL_##mode_name, \
	}
	[WORLD_GRE4] = MODE("gre4", GRE, GRE4),
	[WORLD_GRE6] = MODE("gre6", GRE, GRE6),
	[WORLD_GUE4] = MODE("gue4", GUE, GUE4),
	[WORLD_GUE6] = MODE("gue6", GUE, GUE6),
	[WORLD_LINK4] = MODE("link4", L2DSR, LINK4),
	[WORLD_LINK6] = MODE("link6", L2DSR, LINK6),
	[WORLD_FAR] = {"far",
		       {WORLD_FAR_VIP4, WORLD_FAR_VIP6},
		       {TCP(80, 80)},
		       .slots = 1,
		       .not_in_file = true,
		       .mode = TUNNEL_L2DSR},
#define VIPS(service_name, vip4, vip6, ...)                                                 \
	{                                                                                   \
		service_name, {vip4, vip6}, {__VA_ARGS__}, .slots = 1, .not_in_file = true, \
	}
#define ANY (65535ULL << 16 | (uint64_t)ABI_PROTO_ANY << 32)
	[WORLD_PORTS] = VIPS("ports", WORLD_ANY_VIP4, WORLD_ANY_VIP6, UDP(53, 53), TCP(1500, 1599),
			     TCP(80, 80)),
	[WORLD_RANGE] = VIPS("range", WORLD_ANY_VIP4, WORLD_ANY_VIP6, TCP(1000, 1999), UDP(1, 52)),
	[WORLD_ALL] = VIPS("all", WORLD_ANY_VIP4, WORLD_ANY_VIP6, TCP(0, 65535)),
	[WORLD_ANY] = VIPS("any", WORLD_ANY_VIP4, WORLD_ANY_VIP6, ANY),
	[WORLD_WIDE] = VIPS("wide", NULL, NULL, TCP(80, 80), TCP(443, 443)),
	[WORLD_NARROW] = VIPS("narrow", NULL, NULL, TCP(80, 80), ANY),
	[WORLD_POINT] = VIPS("point", WORLD_POINT_VIP4, WORLD_POINT_VIP6, TCP(8080, 8080)),
	[WORLD_PAIR] = VIPS("pair", NULL, NULL, ANY),
	[WORLD_GUARD] = VIPS("guard", WORLD_GUARD_VIP4, WORLD_GUARD_VIP6, TCP(80, 80), ANY),
	[WORLD_GUARD6] = VIPS("guard6", WORLD_GUARD6_VIP4, WORLD_GUARD6_VIP6, TCP(80, 80), ANY),
#undef ANY
#undef VIPS
#define APART(service_name, mode_name, name_upper, other_owner)                             \
	{                                                                                   \
		service_name, {WORLD_##name_upper##_VIP4, WORLD_##name_upper##_VIP6},       \
			{TCP(80, 80), UDP(53, 53)}, .slots = 1, .mode = TUNNEL_##mode_name, \
						    .not_in_file = true,                    \
						    .other = WORLD_##other_owner,           \
	}
	[WORLD_GENEVE4] = MODE("geneve4", GENEVE, GENEVE4),
	[WORLD_GENEVE6] = MODE("geneve6", GENEVE, GENEVE6),
	[WORLD_GENEVE4P] = MODE("geneve4p", GENEVE, GENEVE4P),
	[WORLD_GENEVE6P] = MODE("geneve6p", GENEVE, GENEVE6P),
	[WORLD_IPOPT4] = APART("ipopt4", IPOPT, IPOPT4, NOBODY),
	[WORLD_IPOPT6] = APART("ipopt6", IPOPT, IPOPT6, NOBODY),
	[WORLD_IPOPT4P] = {"ipopt4p",
			   {WORLD_IPOPT4P_VIP4},
			   {TCP(80, 80), UDP(53, 53)},
			   .slots = 1,
			   .mode = TUNNEL_IPOPT},
	[WORLD_IPOPT6P] = {"ipopt6p",
			   {WORLD_IPOPT6P_VIP6},
			   {TCP(80, 80), UDP(53, 53)},
			   .slots = 1,
			   .mode = TUNNEL_IPOPT},
	[WORLD_GUE0_4] = APART("gue0_4", GUE0, GUE0_4, SECOND4),
	[WORLD_GUE0_6] = APART("gue0_6", GUE0, GUE0_6, SECOND6),
#undef APART
#define OF_LINK(service_name, name_upper, ...)                                                     \
	{                                                                                          \
		service_name, {WORLD_##name_upper##_VIP4, WORLD_##name_upper##_VIP6},              \
			{TCP(80, 80), UDP(53, 53)}, .slots = 1, .not_in_file = true, ##__VA_ARGS__ \
	}
	[WORLD_VLAN] = OF_LINK("vlan", VLAN),
	[WORLD_QINQ] = OF_LINK("qinq", QINQ),
	[WORLD_VLINK] = OF_LINK("vlink", VLINK, .mode = TUNNEL_L2DSR),
	[WORLD_CLAMP] = OF_LINK("clamp", CLAMP, .untracked = true, .mss = WORLD_MSS),
	[WORLD_VCLAMP] = OF_LINK("vclamp", VCLAMP, .untracked = true, .mss = WORLD_MSS),
#undef OF_LINK
#undef MODE
#define POLICY(service_name, name_upper)                                               \
	{                                                                              \
		service_name, {WORLD_##name_upper##_VIP4, WORLD_##name_upper##_VIP6},  \
			{TCP(443, 443), UDP(443, 443)}, .slots = 1, .untracked = true, \
							.not_in_file = true,           \
	}
	[WORLD_CID] = POLICY("cid", CID),
	[WORLD_KATRAN] = POLICY("katran", KATRAN),
	[WORLD_LABEL] = POLICY("label", LABEL),
#undef POLICY
	[WORLD_TWIN_A] = {"twin-a",
			  {WORLD_TWIN_VIP4, WORLD_TWIN_VIP6},
			  {UDP(53, 53), TCP(80, 80)},
			  .slots = 1,
			  .not_in_file = true},
	[WORLD_TWIN_B] = {"twin-b",
			  {WORLD_TWIN_VIP4, WORLD_TWIN_VIP6},
			  {UDP(443, 443), TCP(443, 443)},
			  .slots = 1,
			  .not_in_file = true},
	[WORLD_WHOLE] = {"whole",
			 {WORLD_WHOLE_VIP4, WORLD_WHOLE_VIP6},
			 {TCP(80, 80), UDP(53, 53)},
			 .slots = 1,
			 .not_in_file = true,
			 .drops_pieces = true},
	[WORLD_WHOLE2] = {"whole2",
			  {WORLD_WHOLE_VIP4, WORLD_WHOLE_VIP6},
			  {UDP(443, 443)},
			  .slots = 1,
			  .not_in_file = true,
			  .drops_pieces = true},
	[WORLD_EVERY] = {"every",
			 {WORLD_EVERY_VIP4, WORLD_EVERY_VIP6},
			 {(uint64_t)65535 << 16 | (uint64_t)ABI_PROTO_ANY << 32},
			 .slots = 1,
			 .not_in_file = true},
	[WORLD_CROWD] = {"crowd",
			 {WORLD_CROWD_VIP4, WORLD_CROWD_VIP6},
			 {TCP(443, 443), UDP(443, 443)},
			 .slots = WORLD_CROWD_SLOTS,
			 .untracked = true,
			 .not_in_file = true},
#define REPLIES(service_name, upper, slot_count, flag, tunnel)                                \
	{                                                                                     \
		service_name, {WORLD_##upper##_VIP4, WORLD_##upper##_VIP6},                   \
			{TCP(80, 80), UDP(53, 53)}, .slots = slot_count, .not_in_file = true, \
						    .mode = TUNNEL_##tunnel,                  \
						    .flags = ABI_SERVICE_##flag,              \
	}
	[WORLD_REFUSE] = REPLIES("refuse", REFUSE, 1, REJECT, IPIP),
	[WORLD_REFUSE_BARE] = REPLIES("refusebare", REFUSE_BARE, 0, REJECT, IPIP),
	[WORLD_PASS] = REPLIES("pass", PASS, 1, PASS, IPIP),
	[WORLD_CUT4] = REPLIES("cut4", CUT4, 1, NODF_FRAGMENT, IPIP),
	[WORLD_CUT6] = REPLIES("cut6", CUT6, 1, NODF_FRAGMENT, GUE),
	[WORLD_CUT_LINK] = REPLIES("cutlink", CUT_LINK, 1, NODF_FRAGMENT, L2DSR),
	[WORLD_TELL] = REPLIES("tell", TELL, 1, NODF_ICMP, IPIP),
	[WORLD_TELL_NODF] = REPLIES("tellnodf", TELL_NODF, 1, NODF_ICMP, GRE),
#undef REPLIES
#define UNSETTLED(service_name, upper)                                               \
	{                                                                            \
		service_name, {WORLD_##upper##_VIP4, WORLD_##upper##_VIP6},          \
			{TCP(80, 80), UDP(53, 53)}, .slots = 1, .untracked = true,   \
						    .not_in_file = true,             \
						    .flags = ABI_SERVICE_TRANSITION, \
	}
	[WORLD_MOVE] = UNSETTLED("move", MOVE),
	[WORLD_LATE] = UNSETTLED("late", LATE),
	[WORLD_FLIP] = UNSETTLED("flip", FLIP),
#undef UNSETTLED
#undef TCP
#undef UDP
};

static const struct {
	const char *name, *addr;
	uint32_t service; /* whose slots it owns */
} backends[WORLD_BACKENDS] = {
	[WORLD_NOBODY] = {"none", NULL, WORLD_NONE},
	[WORLD_B4] = {"b4", "10.0.1.11", WORLD_ONE4},
	[WORLD_B6] = {"b6", "2001:db8:9::9", WORLD_ONE6},
	[WORLD_L1] = {"l1", "10.0.1.12", WORLD_LOOSE},
	[WORLD_M1] = {"m1", "10.0.2.1", WORLD_MANY},
	[WORLD_M2] = {"m2", "10.0.2.2", WORLD_MANY},
	[WORLD_M3] = {"m3", "2001:db8:9::3", WORLD_MANY},
	[WORLD_M4] = {"m4", "2001:db8:9::4", WORLD_MANY},
	[WORLD_LOST1] = {"lost1", "10.0.3.1", WORLD_LOST},
	[WORLD_AWAY1] = {"away1", "10.0.3.2", WORLD_AWAY},
	[WORLD_SMALL1] = {"small1", "10.0.3.3", WORLD_SMALL},
	[WORLD_GRE4_B] = {"gre4b", "10.0.4.1", WORLD_GRE4},
	[WORLD_GRE6_B] = {"gre6b", "2001:db8:9::41", WORLD_GRE6},
	[WORLD_GUE4_B] = {"gue4b", "10.0.4.2", WORLD_GUE4},
	[WORLD_GUE6_B] = {"gue6b", "2001:db8:9::42", WORLD_GUE6},
	[WORLD_LINK4_B] = {"link4b", "10.0.4.3", WORLD_LINK4},
	[WORLD_LINK6_B] = {"link6b", "2001:db8:9::43", WORLD_LINK6},
	[WORLD_FAR_B] = {"farb", "10.0.4.4", WORLD_FAR},
	[WORLD_CID1] = {"cid1", "10.0.7.1", WORLD_CID},
	[WORLD_CID2] = {"cid2", "2001:db8:9::72", WORLD_NONE},
	[WORLD_CID3] = {"cid3", "10.0.7.3", WORLD_NONE},
	[WORLD_KATRAN1] = {"katran1", "10.0.7.4", WORLD_KATRAN},
	[WORLD_LABEL1] = {"label1", "10.0.7.5", WORLD_LABEL},
	[WORLD_TWIN_A_B] = {"twin-ab", "10.0.8.1", WORLD_TWIN_A},
	[WORLD_TWIN_B_B] = {"twin-bb", "2001:db8:9::852", WORLD_TWIN_B},
	[WORLD_WHOLE_B] = {"wholeb", "10.0.8.3", WORLD_WHOLE},
	[WORLD_EVERY_B] = {"everyb", "10.0.8.4", WORLD_EVERY},
	[WORLD_CROWD1] = {"crowd1", "10.0.8.11", WORLD_CROWD},
	{"crowd2", "10.0.8.12", WORLD_CROWD},
	{"crowd3", "10.0.8.13", WORLD_CROWD},
	{"crowd4", "10.0.8.14", WORLD_CROWD},
	{"crowd5", "2001:db8:9::855", WORLD_CROWD},
	{"crowd6", "2001:db8:9::856", WORLD_CROWD},
	{"crowd7", "2001:db8:9::857", WORLD_CROWD},
	{"crowd8", "2001:db8:9::858", WORLD_CROWD},
	[WORLD_CUT4_B] = {"cut4b", "10.0.9.1", WORLD_CUT4},
	[WORLD_CUT6_B] = {"cut6b", "2001:db8:9::91", WORLD_CUT6},
	[WORLD_CUT_LINK_B] = {"cutlinkb", "10.0.9.2", WORLD_CUT_LINK},
	[WORLD_TELL_B] = {"tellb", "10.0.9.3", WORLD_TELL},
	[WORLD_TELL_NODF_B] = {"tellnodfb", "10.0.9.4", WORLD_TELL_NODF},
	[WORLD_E1] = {"e1", "10.0.3.4", WORLD_NONE},
	[WORLD_PORTS_B] = {"portsb", "10.0.6.1", WORLD_PORTS},
	[WORLD_RANGE_B] = {"rangeb", "10.0.6.2", WORLD_RANGE},
	[WORLD_ALL_B] = {"allb", "10.0.6.3", WORLD_ALL},
	[WORLD_ANY_B] = {"anyb", "10.0.6.4", WORLD_ANY},
	[WORLD_WIDE_B] = {"wideb", "10.0.6.5", WORLD_WIDE},
	[WORLD_NARROW_B] = {"narrowb", "10.0.6.6", WORLD_NARROW},
	[WORLD_POINT_B] = {"pointb", "10.0.6.7", WORLD_POINT},
	[WORLD_PAIR_B] = {"pairb", "10.0.6.8", WORLD_PAIR},
	[WORLD_GUARD_B] = {"guardb", "10.0.6.9", WORLD_GUARD},
	[WORLD_GUARD6_B] = {"guard6b", "10.0.6.10", WORLD_GUARD6},
	[WORLD_GENEVE4_B] = {"geneve4b", "10.0.5.1", WORLD_GENEVE4},
	[WORLD_GENEVE6_B] = {"geneve6b", "2001:db8:9::52", WORLD_GENEVE6},
	[WORLD_GENEVE4P_B] = {"geneve4pb", "10.0.5.3", WORLD_GENEVE4P},
	[WORLD_GENEVE6P_B] = {"geneve6pb", "2001:db8:9::54", WORLD_GENEVE6P},
	[WORLD_IPOPT4_B] = {"ipopt4b", "10.0.5.5", WORLD_IPOPT4},
	[WORLD_IPOPT6_B] = {"ipopt6b", "2001:db8:9::56", WORLD_IPOPT6},
	[WORLD_IPOPT4P_B] = {"ipopt4pb", "10.0.5.7", WORLD_IPOPT4P},
	[WORLD_IPOPT6P_B] = {"ipopt6pb", "2001:db8:9::58", WORLD_IPOPT6P},
	[WORLD_GUE0_4_B] = {"gue0_4b", "10.0.5.9", WORLD_GUE0_4},
	[WORLD_GUE0_6_B] = {"gue0_6b", "2001:db8:9::510", WORLD_GUE0_6},
	[WORLD_SECOND4] = {"second4", "10.0.5.99", WORLD_NONE},
	[WORLD_SECOND6] = {"second6", "2001:db8:9::599", WORLD_NONE},
	[WORLD_VLAN_B] = {"vlanb", "10.0.9.1", WORLD_VLAN},
	[WORLD_QINQ_B] = {"qinqb", "2001:db8:9::91", WORLD_QINQ},
	[WORLD_VLINK_B] = {"vlinkb", "10.0.9.3", WORLD_VLINK},
	[WORLD_CLAMP_B] = {"clampb", "10.0.9.4", WORLD_CLAMP},
	[WORLD_VCLAMP_B] = {"vclampb", "10.0.9.5", WORLD_VCLAMP},
	[WORLD_MOVE_B] = {"moveb", "10.0.10.1", WORLD_MOVE},
	[WORLD_MOVED_B] = {"movedb", "10.0.10.2", WORLD_NONE},
	[WORLD_LATE_B] = {"lateb", "2001:db8:9::a3", WORLD_LATE},
	[WORLD_FLIP_B] = {"flipb", "10.0.10.4", WORLD_FLIP},
};

/* Of their links, as in a frame. */
static const uint32_t backend_tags[WORLD_BACKENDS][2] = {
	[WORLD_VLAN_B] = {0x81000064},
	[WORLD_QINQ_B] = {0x88a80064, 0x8100e0c8},
	[WORLD_VLINK_B] = {0x81000065},
	[WORLD_VCLAMP_B] = {0x81000064},
};

/* Their own; 0: the VIP's. */
static const uint16_t backend_ports[WORLD_BACKENDS] = {
	[WORLD_GENEVE4P_B] = WORLD_PORT,
	[WORLD_GENEVE6P_B] = WORLD_PORT,
	[WORLD_IPOPT4P_B] = WORLD_PORT,
	[WORLD_IPOPT6P_B] = WORLD_PORT,
};

const char *world_service_name(uint32_t service)
{
	return service < WORLD_SERVICES ? services[service].name : "out of range";
}

const char *world_backend_name(uint32_t backend)
{
	return backend < WORLD_BACKENDS ? backends[backend].name : "out of range";
}

bool world_service_tracks(uint32_t service)
{
	return service != WORLD_NONE &&
	       (!services[service].untracked || services[service].flags & ABI_SERVICE_TRANSITION);
}

bool world_service_pins(uint32_t service)
{
	return service != WORLD_NONE && !services[service].drops_pieces;
}

enum tunnel_mode world_service_mode(uint32_t service)
{
	return services[service].mode;
}

bool world_service_in_file(uint32_t service)
{
	return !services[service].not_in_file;
}

bool world_vip_in_file(const char *vip)
{
	bool found = false;

	for (uint32_t s = 1; vip && s < WORLD_SERVICES; s++) {
		for (int v = 0; v < 2 && services[s].vips[v]; v++) {
			if (strcmp(services[s].vips[v], vip) != 0)
				continue;
			if (!services[s].not_in_file)
				return true;
			found = true;
		}
	}
	return !found;
}

static struct addr parse(const char *text)
{
	struct addr addr;

	if (addr_parse(text, &addr) != 0)
		assert(!"an address of the world");
	return addr;
}

struct addr world_backend_addr(uint32_t backend)
{
	return parse(backends[backend].addr);
}

uint16_t world_backend_port(uint32_t backend, uint16_t vip_port)
{
	return backend_ports[backend] ? backend_ports[backend] : vip_port;
}

static void fill_node(struct dp_tables *tables)
{
	struct abi_node *node = tables->node;
	struct addr source4 = parse("100.64.1.0"), source6 = parse("2001:db8:f::");

	node->slot_seed = 0x5eed5eed5eed5eed;
	node->flow_secret = 0x0123456789abcdef;
	node->vip_secret = 0xfedcba9876543210;
	node->source4 = dp_addr(&source4);
	node->source6 = dp_addr(&source6);
	node->source4_vary = htonl(0xff);
	node->source6_vary = htonl(0xffffffff);
	node->flow_buckets_mask = tables->flow_buckets - 1;
	node->insert_limit = 1000000;
	node->reply_limit = 1000000;
	node->slow_limit = 1000000;
	node->established_ticks = 7200;
	node->handshake_ticks = 30;
	node->closing_ticks = 15;
	node->udp_ticks = 60;
	node->fragment_ticks = 28;
}

static void fill_backend(struct dp_tables *tables, uint32_t index)
{
	struct abi_backend *backend = &tables->backends[index];
	struct addr addr = world_backend_addr(index);
	struct dp_nexthop hop = {
		.ifindex = index == WORLD_AWAY1 || index == WORLD_QINQ_B ? WORLD_AWAY_IFINDEX
									 : WORLD_IFINDEX,
		.mtu = index == WORLD_SMALL1 ? WORLD_SMALL_MTU : WORLD_MTU,
		.tags = {backend_tags[index][0], backend_tags[index][1]},
		.on_link = index != WORLD_FAR_B,
	};

	for (int i = 0; i < 2; i++)
		hop.mtu -= hop.tags[i] ? 4 : 0;
	memcpy(hop.src_mac, WORLD_SRC_MAC, sizeof(hop.src_mac));
	memcpy(hop.dst_mac, WORLD_DST_MAC, sizeof(hop.dst_mac));
	backend->identity = 1000 + index;
	backend->generation = 1;
	backend->flags = ABI_BACKEND_UP | ABI_BACKEND_KEEP | ABI_BACKEND_HEALTHY;
	backend->port = htons(backend_ports[index]);
	dp_tables_set_tunnel(backend, &addr);
	dp_tables_set_nexthop(backend, index == WORLD_LOST1 ? NULL : &hop);
}

/* Slots in the order of services; the backends of one take turns. */
static void fill_slots(struct dp_tables *tables)
{
	uint32_t first = 0;

	for (uint32_t s = 1; s < WORLD_SERVICES; s++) {
		uint32_t owner = 0;

		tables->services[s].table = abi_table(first, services[s].slots);
		for (uint32_t i = 0; i < services[s].slots; i++) {
			for (uint32_t tried = 0; tried < WORLD_BACKENDS; tried++) {
				owner = (owner + 1) % WORLD_BACKENDS;
				if (backends[owner].service == s)
					break;
			}
			if (backends[owner].service != s)
				owner = WORLD_NOBODY;
			tables->slots[first + i] = abi_slot(owner, 0, services[s].other);
			if (services[s].mode == TUNNEL_GUE0)
				tables->slots[first + i] |= ABI_SLOT_DOUBT;
		}
		first += services[s].slots;
	}
}

/* An address gets the listens of every service that has it. */
static void fill_vip(struct dp_tables *tables, const char *vip)
{
	struct addr addr = parse(vip);
	uint64_t listens[ABI_VIP_LISTENS];
	size_t count = 0;
	int result;

	for (uint32_t s = 1; s < WORLD_SERVICES; s++) {
		for (int v = 0; v < 2; v++) {
			if (!services[s].vips[v] || strcmp(services[s].vips[v], vip) != 0)
				continue;
			for (int l = 0; l < 3 && services[s].listens[l]; l++)
				listens[count++] = services[s].listens[l] | (uint64_t)s << 40;
		}
	}
	result = dp_tables_set_vip(tables, &addr, listens, count);
	assert(result == 0);
	(void)result;
}

void world_fill(struct dp_tables *tables)
{
	fill_node(tables);
	for (uint32_t b = 1; b < WORLD_BACKENDS; b++)
		fill_backend(tables, b);
	fill_slots(tables);
	for (uint32_t s = 1; s < WORLD_SERVICES; s++) {
		tables->services[s].identity = 100 + s;
		tables->services[s].pool_identity = 200 + s;
		tables->services[s].mode = (uint8_t)services[s].mode;
		tables->services[s].flags =
			services[s].flags |
			(services[s].untracked ? 0 : ABI_SERVICE_TRACK | ABI_SERVICE_TOO_BIG);
		if (world_service_pins(s))
			tables->services[s].flags |= ABI_SERVICE_FRAGMENTS;
		tables->services[s].mss = services[s].mss;
		if (services[s].mss)
			tables->services[s].flags |= ABI_SERVICE_MSS;
		if (services[s].mode == TUNNEL_GUE0)
			tables->services[s].flags |= ABI_SERVICE_SECOND;
		if (s == WORLD_TELL_NODF)
			tables->services[s].flags &= ~(uint32_t)ABI_SERVICE_TOO_BIG;
		for (int v = 0; v < 2 && services[s].vips[v]; v++)
			fill_vip(tables, services[s].vips[v]);
	}
	world_fill_vips(tables);
	world_fill_policies(tables);
	world_fill_transitions(tables);
	world_forget_flows(tables);
}

void world_forget_flows(struct dp_tables *tables)
{
	memset(tables->flows, 0, tables->flow_buckets * sizeof(tables->flows[0]));
}

void world_many_to(struct dp_tables *tables, uint32_t backend)
{
	uint32_t first = (uint32_t)tables->services[WORLD_MANY].table;

	for (uint32_t i = 0; i < WORLD_MANY_SLOTS; i++)
		tables->slots[first + i] = abi_slot(backend, 0, 0);
}
