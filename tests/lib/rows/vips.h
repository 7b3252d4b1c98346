/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of the packet table (packets.c, which includes this amid its array): vips. */

/* A packet of a service that is not in the file, and one that nobody gets. */
#define OF(name, service, ...)       ROW(name, FORWARDED, SLOT, service, service##_B, __VA_ARGS__)
#define ERROR_OF(name, service, ...) ROW(name, FORWARDED, ICMP, service, service##_B, __VA_ARGS__)
#define DENIES(name, service, ...)   ROW(name, DENIED, ACL, service, NOBODY, __VA_ARGS__)
#define NOBODYS(row_name, row_verdict, row_why, ...)                                       \
	{                                                                                  \
		.name = row_name, .spec = {__VA_ARGS__}, .verdict = VERDICT_##row_verdict, \
		.why = WHY_##row_why, .not_in_file = true,                                 \
	}
#define UDP(port)   .proto = IPPROTO_UDP, .dport = (port)
#define BARE(name)  .proto = (IPPROTO_##name), .payload = 40
#define ANY4        TO4(WORLD_ANY_VIP4)
#define ANY6        TO6(WORLD_ANY_VIP6)
#define GUARD4(who) .src = (who), .dst = WORLD_GUARD_VIP4
#define GUARD6(who) .src = (who), .dst = WORLD_GUARD_VIP6
#define QUOTED4(vip, client, ...) \
	ERROR4(3), .dst = (vip), ABOUT(.src = (vip), .dst = (client), __VA_ARGS__)
#define QUOTED6(vip, client, ...) \
	ERROR6(2), .dst = (vip), ABOUT(.src = (vip), .dst = (client), __VA_ARGS__)

/* Ranges of ports: their edges, and the narrower before the wider. */
OF("tcp4, one port amid all", PORTS, ANY4), OF("tcp6, one port amid all", PORTS, ANY6),
	OF("tcp4 below one port", ALL, ANY4, .dport = 79),
	OF("tcp4 above one port", ALL, ANY4, .dport = 81),
	OF("tcp4 port 0 of all", ALL, ANY4, LIE(L4, 2, 2, 0)),
	OF("tcp6 port 65535 of all", ALL, ANY6, .dport = 65535),
	OF("tcp4 below the range", ALL, ANY4, .dport = 999),
	OF("tcp4 first of the range", RANGE, ANY4, .dport = 1000),
	OF("tcp4 below the range in the range", RANGE, ANY4, .dport = 1499),
	OF("tcp4 first of the range in the range", PORTS, ANY4, .dport = 1500),
	OF("tcp6 last of the range in the range", PORTS, ANY6, .dport = 1599),
	OF("tcp6 above the range in the range", RANGE, ANY6, .dport = 1600),
	OF("tcp6 last of the range", RANGE, ANY6, .dport = 1999),
	OF("tcp6 above the range", ALL, ANY6, .dport = 2000),
	OF("udp4 port of a tcp range", ANY, ANY4, UDP(1500)),
	OF("udp4 port 0 of any", ANY, ANY4, .proto = IPPROTO_UDP, LIE(L4, 2, 2, 0)),
	OF("udp4 first of the range", RANGE, ANY4, UDP(1)),
	OF("udp4 last of the range", RANGE, ANY4, UDP(52)),
	OF("udp6 one port above the range", PORTS, ANY6, UDP(53), .payload = 5),
	OF("udp6 port of any", ANY, ANY6, UDP(54), .payload = 5),

	/* Case 34: other protocols are served where a service takes all. */
	OF("case 34: esp4", ANY, ANY4, BARE(ESP)), OF("case 34: esp6", ANY, ANY6, BARE(ESP)),
	OF("case 34: sctp4", ANY, ANY4, BARE(SCTP)), OF("case 34: sctp6", ANY, ANY6, BARE(SCTP)),
	OF("case 34: gre4", ANY, ANY4, BARE(GRE)), OF("case 34: gre6", ANY, ANY6, BARE(GRE)),
	OF("case 34: ah6", ANY, ANY6, BARE(AH)), OF("case 34: ipip4", ANY, ANY4, BARE(IPIP)),
	OF("case 34: protocol 255 without data", ANY, ANY4, .proto = 255),
	OF("case 34: esp4 tagged", ANY, ANY4, BARE(ESP), .vlans = 1),
	OF("case 34: esp6 twice tagged", ANY, ANY6, BARE(ESP), .vlans = 2),
	OF("case 34: esp4 behind ip options", ANY, ANY4, BARE(ESP), .ip_options = 8),
	OF("case 34: esp6 behind options", ANY, ANY6, BARE(ESP), BEHIND(HOP, OPTIONS)),
	OF("case 34: sctp6 behind a routing header", ANY, ANY6, BARE(SCTP), BEHIND(ROUTING)),
	OF("case 34: tcp6 behind options", PORTS, ANY6, BEHIND(OPTIONS)),
	OF("case 34: udp6 behind options", ANY, ANY6, UDP(4000), BEHIND(HOP, OPTIONS)),
	OF("case 34: no next header", ANY, ANY6, .proto = IPPROTO_NONE),
	OF("case 34: esp4 padded", ANY, ANY4, .proto = IPPROTO_ESP, .payload = 9, .padding = 20),
	NOBODYS("case 34: esp6 behind too many headers", EXTENSIONS, LIMIT, ANY6, BARE(ESP),
		BEHIND(HOP, OPTIONS, ROUTING, OPTIONS, OPTIONS)),
	NOT_OURS("case 34: esp4 that nobody takes", OTHER_PROTOCOL, TO4(WORLD_ONE4_VIP4),
		 BARE(ESP)),
	NOT_OURS("case 34: sctp6 that nobody takes", OTHER_PROTOCOL, TO6(WORLD_ONE6_VIP6),
		 BARE(SCTP)),
	NOT_OURS("case 34: gre4 that nobody takes, tagged", OTHER_PROTOCOL, TO4(WORLD_ONE4_VIP4),
		 BARE(GRE), .vlans = 2),
	ROW("esp4 df, a byte too long", TOO_BIG_ANSWERED, SLOT, ANY, ANY_B, ANY4,
	    .proto = IPPROTO_ESP, .frag = DONT, .payload = WORLD_MTU - 20 - 20 + 1),
	OF("esp4 as long as the path", ANY, ANY4, .proto = IPPROTO_ESP,
	   .payload = WORLD_MTU - 20 - 20),
	ROW("esp6, a byte too long", TOO_BIG_ANSWERED, SLOT, ANY, ANY_B, ANY6, .proto = IPPROTO_ESP,
	    .payload = WORLD_MTU - 20 - 40 + 1),

	/* ICMP of which nobody else is the addressee goes along; the rest as ever. */
	OF("icmp4 echo reply for any", ANY, ANY4, .proto = IPPROTO_ICMP, LIE(L4, 0, 1, 0)),
	OF("icmp4 timestamp for any", ANY, ANY4, ICMP4(13), .payload = 12),
	OF("icmp6 echo reply for any", ANY, ANY6, ICMP6(129), .payload = 20),
	OF("icmp6 echo reply for any behind options", ANY, ANY6, ICMP6(129), BEHIND(OPTIONS)),
	OF("icmp6 in ipv4 for any", ANY, ANY4, ICMP6(128)),
	OF("icmp4 in ipv6 for any", ANY, ANY6, ICMP4(8)),
	NOBODYS("icmp4 echo to any", ECHO_ANSWERED, ICMP, ANY4, ICMP4(8), .payload = 56),
	NOBODYS("icmp6 echo to any", ECHO_ANSWERED, ICMP, ANY6, ICMP6(128), .payload = 56),
	NOBODYS("icmp4 echo to any with ip options", OTHER_PROTOCOL, ICMP, ANY4, ICMP4(8),
		.ip_options = 4),
	NOBODYS("icmp6 echo to any behind options", OTHER_PROTOCOL, ICMP, ANY6, ICMP6(128),
		BEHIND(HOP)),
	NOBODYS("icmp4 unreachable about nothing to any", OTHER_PROTOCOL, ICMP, ANY4, ICMP4(3),
		.payload = 28),
	NOBODYS("icmp6 too big about nothing to any", OTHER_PROTOCOL, ICMP, ANY6, ICMP6(2)),
	NOBODYS("icmp6 neighbour solicitation to any", OTHER_PROTOCOL, ICMP, ANY6, ICMP6(135),
		.payload = 16),
	NOBODYS("icmp6 router solicitation to any", OTHER_PROTOCOL, ICMP, ANY6, ICMP6(133)),
	NOBODYS("icmp6 redirect to any", OTHER_PROTOCOL, ICMP, ANY6, ICMP6(137), .payload = 32),
	OF("icmp6 listener report to any", ANY, ANY6, ICMP6(132), .payload = 16),
	OF("icmp6 type beyond neighbour discovery to any", ANY, ANY6, ICMP6(138), .payload = 16),
	NOBODYS("icmp4 cut short to any", OTHER_PROTOCOL, ICMP, ANY4, .proto = IPPROTO_ICMP,
		LIE_IP4_LENGTH(27)),

	/* Case 32: an error reaches the flow that it quotes, also of another protocol. */
	ERROR_OF("case 32: icmp4 about esp", ANY,
		 QUOTED4(WORLD_ANY_VIP4, WORLD_CLIENT4, BARE(ESP))),
	ERROR_OF("case 32: icmp6 about esp", ANY,
		 QUOTED6(WORLD_ANY_VIP6, WORLD_CLIENT6, BARE(ESP))),
	ERROR_OF("case 32: icmp4 about gre, header alone", ANY,
		 QUOTED4(WORLD_ANY_VIP4, WORLD_CLIENT4, BARE(GRE)), .quote_length = 20),
	ERROR_OF("case 32: icmp4 about a later piece of esp", ANY,
		 QUOTED4(WORLD_ANY_VIP4, WORLD_CLIENT4, BARE(ESP), .frag = 20)),
	ERROR_OF("case 32: icmp6 about sctp behind options", ANY,
		 QUOTED6(WORLD_ANY_VIP6, WORLD_CLIENT6, BARE(SCTP), BEHIND(OPTIONS))),
	ERROR_OF("case 32: icmp4 about an echo reply", ANY,
		 QUOTED4(WORLD_ANY_VIP4, WORLD_CLIENT4, ICMP4(13))),
	ERROR_OF("case 32: icmp4 about tcp of a range", RANGE,
		 QUOTED4(WORLD_ANY_VIP4, WORLD_CLIENT4, PORTS(1600))),
	ERROR_OF("case 32: icmp6 about udp of any", ANY,
		 QUOTED6(WORLD_ANY_VIP6, WORLD_CLIENT6, .proto = IPPROTO_UDP, PORTS(99))),
	UNRELAYED("icmp4 about esp that nobody takes",
		  QUOTED4(WORLD_ONE4_VIP4, WORLD_CLIENT4, BARE(ESP))),
	UNRELAYED("icmp6 about esp that nobody takes",
		  QUOTED6(WORLD_ONE6_VIP6, WORLD_CLIENT6, BARE(ESP))),
	NOBODYS("icmp4 about esp, half a header", OTHER_PROTOCOL, ICMP,
		QUOTED4(WORLD_ANY_VIP4, WORLD_CLIENT4, BARE(ESP)), .quote_length = 19,
		.padding = 30),

	/* VIPs that are prefixes: the longest decides; its gaps nobody fills. */
	OF("tcp4 first address of a prefix", WIDE, TO4("198.18.0.0")),
	OF("tcp4 last address of a prefix", WIDE, TO4("198.18.255.255"), .dport = 443),
	NOT_OURS("case 31: tcp4 below a prefix", NOT_VIP, TO4("198.17.255.255")),
	NOT_OURS("case 31: tcp4 above a prefix", NOT_VIP, TO4("198.19.0.0")),
	OF("tcp6 first address of a prefix", WIDE, TO6("2001:db8:20::")),
	OF("tcp6 last address of a prefix", WIDE, TO6("2001:db8:20:ffff:ffff:ffff:ffff:ffff")),
	NOT_OURS("case 31: tcp6 below a prefix", NOT_VIP,
		 TO6("2001:db8:1f:ffff:ffff:ffff:ffff:ffff")),
	NOT_OURS("case 31: tcp6 above a prefix", NOT_VIP, TO6("2001:db8:22::")),
	OF("tcp4 of a longer prefix", NARROW, TO4("198.18.5.0")),
	OF("tcp4 beside a longer prefix", WIDE, TO4("198.18.6.0")),
	OF("tcp6 of a longer prefix", NARROW, TO6("2001:db8:20:5::77")),
	OF("tcp4 any of a longer prefix, not the wider's port", NARROW, TO4("198.18.5.6"),
	   .dport = 443),
	OF("esp4 to a prefix", NARROW, TO4("198.18.5.6"), BARE(ESP)),
	OF("gre6 to a prefix", NARROW, TO6("2001:db8:20:5:1::"), BARE(GRE)),
	NOBODYS("esp4 to a prefix that does not take it", OTHER_PROTOCOL, NOT_VIP,
		TO4("198.18.7.7"), BARE(ESP)),
	OF("tcp4 of an address in prefixes", POINT, TO4(WORLD_POINT_VIP4), .dport = 8080),
	OF("tcp6 of an address in prefixes", POINT, TO6(WORLD_POINT_VIP6), .dport = 8080),
	NOBODYS("tcp4 of an address, a port of its prefix", NOT_LISTENED, NOT_VIP,
		TO4(WORLD_POINT_VIP4)),
	NOBODYS("tcp6 of an address, a port of its prefix", NOT_LISTENED, NOT_VIP,
		TO6(WORLD_POINT_VIP6)),
	NOBODYS("esp6 to an address whose prefix takes it", OTHER_PROTOCOL, NOT_VIP,
		TO6(WORLD_POINT_VIP6), BARE(ESP)),
	NOBODYS("tcp4 of a prefix, a port that nobody listens on", NOT_LISTENED, NOT_VIP,
		TO4("198.18.9.9"), .dport = 81),
	OF("tcp4 first of a pair", PAIR, TO4("198.19.0.2"), .dport = 1),
	OF("tcp4 second of a pair", PAIR, TO4("198.19.0.3"), .dport = 65535),
	NOT_OURS("case 31: tcp4 beyond a pair", NOT_VIP, TO4("198.19.0.4")),
	NOT_OURS("case 31: esp4 before a pair", NOT_VIP, TO4("198.19.0.1"), BARE(ESP)),
	OF("udp6 second of a pair", PAIR, TO6("2001:db8:21::3"), UDP(9)),
	NOT_OURS("case 31: udp6 beyond a pair", NOT_VIP, TO6("2001:db8:21::4"), UDP(9)),
	OF("tcp4 of a prefix, tagged", WIDE, TO4("198.18.1.1"), .vlans = 1),
	OF("tcp6 of a prefix behind options", WIDE, TO6("2001:db8:20::1"), BEHIND(OPTIONS)),
	NOBODYS("icmp4 echo to a prefix", ECHO_ANSWERED, ICMP, TO4("198.18.1.1"), ICMP4(8)),
	NOBODYS("icmp6 echo to a prefix", ECHO_ANSWERED, ICMP, TO6("2001:db8:20::9"), ICMP6(128)),
	ERROR_OF("case 32: icmp4 to a prefix", WIDE,
		 QUOTED4("198.18.1.1", WORLD_CLIENT4, PORTS(80))),
	ERROR_OF("case 32: icmp6 to a prefix", NARROW,
		 QUOTED6("2001:db8:20:5::6", WORLD_CLIENT6, PORTS(80))),
	NOBODYS("case 32: icmp4 to a prefix about a port of another", NOT_LISTENED, ICMP,
		QUOTED4(WORLD_POINT_VIP4, WORLD_CLIENT4, PORTS(80))),
	ROW("tcp6 of a prefix, a byte too long", TOO_BIG_ANSWERED, SLOT, WIDE, WIDE_B,
	    TO6("2001:db8:20::1"), .payload = FITS_6IN4 + 1),

	/* Only a VIP is ours, whatever else is configured. */
	NOT_OURS("case 31: icmp4 echo", NOT_VIP, TO4("198.51.100.101"), ICMP4(8)),
	NOT_OURS("case 31: icmp6 echo", NOT_VIP, TO6("2001:db8:10::101"), ICMP6(128)),
	NOT_OURS("case 31: icmp4 error", NOT_VIP,
		 QUOTED4("198.51.100.101", WORLD_CLIENT4, PORTS(80))),
	NOT_OURS("case 31: fragment", NOT_VIP, TO4("198.51.100.101"), .frag = MORE, .payload = 32),
	NOT_OURS("case 31: later fragment", NOT_VIP, TO6("2001:db8:10::101"), BEHIND(SPLIT),
		 .frag = 4 << 3, .payload = 32),
	NOT_OURS("case 31: tcp4 with ip options", NOT_VIP, TO4("198.51.100.101"), .ip_options = 40),
	NOT_OURS("case 31: tcp6 behind options", NOT_VIP, TO6("2001:db8:10::101"),
		 BEHIND(HOP, OPTIONS)),
	NOT_OURS("case 31: esp4", NOT_VIP, TO4("198.51.100.101"), BARE(ESP)),
	NOT_OURS("case 31: sctp6", NOT_VIP, TO6("2001:db8:10::101"), BARE(SCTP)),
	NOT_OURS("case 31: gre4", NOT_VIP, TO4("198.51.100.101"), BARE(GRE)),
	NOT_OURS("case 31: ipv6 in ipv4", NOT_VIP, TO4("198.51.100.101"), BARE(IPV6)),
	NOT_OURS("case 31: neighbour solicitation", NOT_VIP, TO6("ff02::1:ff00:100"), ICMP6(135),
		 .payload = 16),

	/* Access lists: the longest prefix decides, for either family by its own. */
	OF("tcp4 allowed", GUARD, GUARD4("203.0.113.5")),
	OF("tcp4 allowed, last address", GUARD, GUARD4("203.0.113.127")),
	DENIES("tcp4 denied amid allowed", GUARD, GUARD4("203.0.113.128")),
	DENIES("tcp4 denied, last address", GUARD, GUARD4("203.0.113.255")),
	OF("tcp4 allowed amid denied", GUARD, GUARD4("203.0.113.200")),
	DENIES("tcp4 beside allowed amid denied", GUARD, GUARD4("203.0.113.201")),
	DENIES("tcp4 from elsewhere", GUARD, GUARD4("203.0.114.5")),
	OF("tcp6 allowed", GUARD, GUARD6("2001:db8:c::5")),
	DENIES("tcp6 denied amid allowed", GUARD, GUARD6("2001:db8:c:8000::")),
	OF("tcp6 allowed amid denied", GUARD, GUARD6("2001:db8:c:8000::c8")),
	DENIES("tcp6 from elsewhere", GUARD, GUARD6("2001:db8:d::5")),
	DENIES("esp4 denied", GUARD, GUARD4("203.0.114.5"), BARE(ESP)),
	DENIES("udp4 denied on another port", GUARD, GUARD4("203.0.114.5"), UDP(999)),
	DENIES("tcp4 denied, tagged", GUARD, GUARD4("203.0.114.5"), .vlans = 1),
	DENIES("tcp6 denied behind options", GUARD, GUARD6("2001:db8:d::5"), BEHIND(OPTIONS)),
	DENIES("tcp4 denied, too long", GUARD, GUARD4("203.0.114.5"), .frag = DONT,
	       .payload = FITS_4IN4 + 1),
	/* Of an error it is the quoted client that must be allowed, not the router. */
	ERROR_OF("icmp4 about an allowed client", GUARD,
		 QUOTED4(WORLD_GUARD_VIP4, "203.0.113.5", PORTS(80))),
	ERROR_OF("icmp4 about an allowed client from a denied router", GUARD, .src = "192.0.2.77",
		 .dst = WORLD_GUARD_VIP4, ICMP4(11), ABOUT(FROM4(WORLD_GUARD_VIP4, 80))),
	DENIES("icmp4 about a denied client", GUARD,
	       QUOTED4(WORLD_GUARD_VIP4, "203.0.113.129", PORTS(80))),
	DENIES("icmp6 about a denied client", GUARD,
	       QUOTED6(WORLD_GUARD_VIP6, "2001:db8:d::5", PORTS(80))),
	DENIES("icmp4 about esp of a denied client", GUARD,
	       QUOTED4(WORLD_GUARD_VIP4, "203.0.114.5", BARE(ESP))),
	DENIES("tcp4 where only ipv6 may", GUARD6, TO4(WORLD_GUARD6_VIP4)),
	OF("tcp6 where only ipv6 may", GUARD6, TO6(WORLD_GUARD6_VIP6)),
	DENIES("sctp4 where only ipv6 may", GUARD6, TO4(WORLD_GUARD6_VIP4), BARE(SCTP)),

#undef OF
#undef ERROR_OF
#undef DENIES
#undef NOBODYS
#undef UDP
#undef BARE
#undef ANY4
#undef ANY6
#undef GUARD4
#undef GUARD6
#undef QUOTED4
#undef QUOTED6
