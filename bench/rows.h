/* SPDX-License-Identifier: BSD-2-Clause */
/* What is measured: packet_bench.c includes this amid its array. A mode needs a row or two. */

/* By the families of the outer and the inner packet; with and without an entry for each flow. */
#define IN(row_name, row_mode, outer, inner)                                          \
	{.name = row_name, .mode = (row_mode), .outer6 = (outer), .inner6 = (inner)}, \
	{                                                                             \
		.name = row_name " tracked", .mode = (row_mode), .outer6 = (outer),   \
		.inner6 = (inner), .flags = ABI_SERVICE_TRACK                         \
	}
#define SAME_FAMILY(name, mode) \
	IN(name " 4in4", mode, false, false), IN(name " 6in6", mode, true, true)
#define ALL_FAMILIES(name, mode)                                      \
	SAME_FAMILY(name, mode), IN(name " 4in6", mode, true, false), \
		IN(name " 6in4", mode, false, true)
ALL_FAMILIES("ipip", TUNNEL_IPIP), ALL_FAMILIES("gre", TUNNEL_GRE), ALL_FAMILIES("gue", TUNNEL_GUE),
	ALL_FAMILIES("gue variant 0", TUNNEL_GUE0), ALL_FAMILIES("geneve", TUNNEL_GENEVE),
	SAME_FAMILY("ipopt", TUNNEL_IPOPT), SAME_FAMILY("l2dsr", TUNNEL_L2DSR),
#undef ALL_FAMILIES
#undef SAME_FAMILY
#undef IN

	/* What a service may ask for beside, by ipip 4in4. */
	{.name = "udp", .kind = KIND_UDP},
	{.name = "access list of 1000 prefixes", .flags = ABI_SERVICE_ACCESS},
	{.name = "rate limit", .flags = ABI_SERVICE_RATE},
	{.name = "syn, mss clamped", .kind = KIND_SYN, .flags = ABI_SERVICE_MSS},
	{.name = "tcp of a service that clamps", .flags = ABI_SERVICE_MSS},
#define POLICY(text, number)                                                                       \
	{                                                                                          \
		.name = "policy " text, .flags = ABI_SERVICE_POLICY, .policy = ABI_POLICY_##number \
	}
	POLICY("source", SOURCE), POLICY("2-tuple", 2TUPLE), POLICY("3-tuple", 3TUPLE),
	POLICY("4-tuple", 4TUPLE), POLICY("source-prefix", SOURCE_PREFIX),
	{.name = "policy flow-label",
	 .inner6 = true,
	 .outer6 = true,
	 .kind = KIND_UDP,
	 .flags = ABI_SERVICE_POLICY,
	 .policy = ABI_POLICY_FLOW_LABEL},
	{.name = "policy quic-cid",
	 .kind = KIND_UDP,
	 .flags = ABI_SERVICE_POLICY,
	 .policy = ABI_POLICY_QUIC_CID},
#undef POLICY
	{.name = "tcp server id, none in the packet", .flags = ABI_SERVICE_SERVER_ID},
	{.name = "came with a vlan tag", .vlans = 1},
	{.name = "came with two vlan tags", .vlans = 2},
	{.name = "leaves with a vlan tag", .tagged = true},
	{.name = "first fragment", .kind = KIND_FRAGMENT, .flags = ABI_SERVICE_FRAGMENTS},
	{.name = "later fragment", .kind = KIND_LATER, .flags = ABI_SERVICE_FRAGMENTS},
	{.name = "icmp error about a flow", .kind = KIND_ERROR},
	{.name = "behind two ipv6 extension headers",
	 .kind = KIND_EXTENSIONS,
	 .inner6 = true,
	 .outer6 = true},

	{.name = "for a vip that is a prefix", .kind = KIND_RANGE},
	{.name = "neither tcp nor udp, of proto: any", .kind = KIND_OTHER},
	{.name = "in another balancer's tunnel", .kind = KIND_TUNNELED},

	/* How much there is of it. A service pins fragments unless told not to. */
	{.name = "tcp of a service that pins fragments", .flags = ABI_SERVICE_FRAGMENTS},
	{.name = "1 flow", .flows = 1}, {.name = "16k flows", .flows = 16384},
	{.name = "512k flows", .flows = 524288},
	{.name = "64 services", .vips = 64, .flows = 16384},
	{.name = "1 flow tracked", .flows = 1, .flags = ABI_SERVICE_TRACK},
	{.name = "16k flows tracked", .flows = 16384, .flags = ABI_SERVICE_TRACK},
	{.name = "512k flows tracked", .flows = 524288, .flags = ABI_SERVICE_TRACK},
	{.name = "64 services tracked", .vips = 64, .flows = 16384, .flags = ABI_SERVICE_TRACK},

	/* Slots that change hands. */
	{.name = "settled slot", .flags = ABI_SERVICE_TRANSITION},
	{.name = "slot in transition, known flow", .flags = ABI_SERVICE_TRANSITION, .moving = true},
	{.name = "slot in transition, 512k known flows",
	 .flags = ABI_SERVICE_TRANSITION,
	 .moving = true,
	 .flows = 524288},
	{.name = "slot in transition, no entry",
	 .flags = ABI_SERVICE_TRANSITION,
	 .moving = true,
	 .keepless = true},

	/* What the node answers, and what it does not take. */
	{.name = "echo, ipv4", .kind = KIND_ECHO},
	{.name = "echo, ipv6", .kind = KIND_ECHO, .inner6 = true, .outer6 = true},
	{.name = "too big, ipv4", .kind = KIND_TOO_BIG, .flags = ABI_SERVICE_TOO_BIG, .head = 28},
	{.name = "too big, ipv6",
	 .kind = KIND_TOO_BIG,
	 .inner6 = true,
	 .outer6 = true,
	 .flags = ABI_SERVICE_TOO_BIG,
	 .head = 48},
	{.name = "no backend, tcp: reset", .empty = true, .flags = ABI_SERVICE_REJECT},
	{.name = "no backend, udp: icmp",
	 .kind = KIND_UDP,
	 .empty = true,
	 .flags = ABI_SERVICE_REJECT},
	{.name = "too big, to the daemon", .kind = KIND_SPLIT, .flags = ABI_SERVICE_NODF_FRAGMENT},
	{.name = "denied by a list of 1000 prefixes",
	 .kind = KIND_DENIED,
	 .flags = ABI_SERVICE_ACCESS},
	{.name = "above the rate limit", .kind = KIND_LIMITED, .flags = ABI_SERVICE_RATE},
	{.name = "no vip, ipv4", .kind = KIND_NOT_VIP},
	{.name = "no vip, ipv6", .kind = KIND_NOT_VIP, .inner6 = true, .outer6 = true},
	{.name = "no ip", .kind = KIND_NOT_IP},
