/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of the packet table (packets.c, which includes this amid its array): replies. */

/* No backend, and the sender is to be told: RST. */
#define TO_REFUSE4                     TO4(WORLD_REFUSE_VIP4)
#define TO_REFUSE6                     TO6(WORLD_REFUSE_VIP6)
#define UDP53                          .proto = IPPROTO_UDP, .dport = 53
#define NOBODY_FOR(name, verdict, ...) ROW(name, verdict, EMPTY, REFUSE, NOBODY, __VA_ARGS__)
#define TURNED(name, ...)              NOBODY_FOR(name, REJECTED, __VA_ARGS__)
#define UNTURNED(name, ...)            NOBODY_FOR(name, EMPTY, __VA_ARGS__)
TURNED("tcp4 syn, rejected", TO_REFUSE4, .tcp_flags = FRAME_SYN, .tcp_options = 20),
	TURNED("tcp4 ack, rejected", TO_REFUSE4),
	TURNED("tcp4 data, rejected", TO_REFUSE4, .payload = 1000,
	       .tcp_flags = FRAME_ACK | FRAME_PSH),
	TURNED("tcp4 fin, rejected", TO_REFUSE4, .tcp_flags = FRAME_FIN),
	TURNED("tcp4 fin ack, rejected", TO_REFUSE4, .tcp_flags = FRAME_FIN | FRAME_ACK),
	TURNED("tcp4 syn fin, rejected", TO_REFUSE4, .tcp_flags = FRAME_SYN | FRAME_FIN,
	       .payload = 3),
	TURNED("tcp4 syn ack, rejected", TO_REFUSE4, .tcp_flags = FRAME_SYN | FRAME_ACK),
	TURNED("tcp4 no flags, rejected", TO_REFUSE4, LIE_TCP_FLAGS(0), .payload = 77),
	TURNED("tcp4 syn with data, rejected", TO_REFUSE4, .tcp_flags = FRAME_SYN,
	       .tcp_options = 12, .payload = 501),
	TURNED("tcp4 syn, the last sequence number, rejected", TO_REFUSE4, .tcp_flags = FRAME_SYN,
	       LIE(L4, 4, 4, 0xffffffff)),
	TURNED("tcp4 syn, padded, rejected", TO_REFUSE4, .tcp_flags = FRAME_SYN, .padding = 6),
	TURNED("tcp4 syn, long padding, rejected", TO_REFUSE4, .tcp_flags = FRAME_SYN,
	       .padding = 300),
	TURNED("tcp4 syn with ip options, rejected", TO_REFUSE4, .tcp_flags = FRAME_SYN,
	       .ip_options = 8),
	TURNED("tcp4 data with most options, rejected", TO_REFUSE4, .ip_options = 40,
	       .tcp_options = 40, .payload = 9, LIE_TCP_FLAGS(FRAME_PSH)),
	TURNED("tcp4 every field set, rejected", TO_REFUSE4, .tos = 0xff, .ttl = 1,
	       .frag = DONT | 0x8000, .tcp_flags = FRAME_SYN),
	TURNED("tcp4 syn, tagged, rejected", TO_REFUSE4, .tcp_flags = FRAME_SYN, .vlans = 1),
	TURNED("tcp4 data, twice tagged, rejected", TO_REFUSE4, .payload = 100, .vlans = 2,
	       .padding = 4),
	TURNED("tcp4 without data, of full size, rejected", TO_REFUSE4, .frag = DONT,
	       .payload = WORLD_MTU - 40, LIE_TCP_FLAGS(FRAME_FIN)),
	TURNED("tcp4 longer than any path, rejected", TO_REFUSE4, .payload = 3000),
	UNTURNED("tcp4 rst is not rejected", TO_REFUSE4, .tcp_flags = FRAME_RST),
	UNTURNED("tcp4 rst ack is not rejected", TO_REFUSE4, .tcp_flags = FRAME_RST | FRAME_ACK),
	TURNED("tcp6 syn, rejected", TO_REFUSE6, .tcp_flags = FRAME_SYN, .tcp_options = 20),
	TURNED("tcp6 ack, rejected", TO_REFUSE6),
	TURNED("tcp6 fin with data, rejected", TO_REFUSE6, .tcp_flags = FRAME_FIN, .payload = 1001),
	TURNED("tcp6 syn, padded, rejected", TO_REFUSE6, .tcp_flags = FRAME_SYN, .padding = 2),
	TURNED("tcp6 behind options, rejected", TO_REFUSE6, .tcp_flags = FRAME_SYN, .payload = 5,
	       BEHIND(HOP, OPTIONS)),
	TURNED("tcp6 behind four headers, rejected", TO_REFUSE6, .payload = 5,
	       BEHIND(HOP, OPTIONS, ROUTING, OPTIONS)),
	TURNED("tcp6 syn, twice tagged, rejected", TO_REFUSE6, .tcp_flags = FRAME_SYN, .vlans = 2),
	TURNED("tcp6 class and label, rejected", TO_REFUSE6, .tos = 0xff, .ttl = 1,
	       LIE(IP, 1, 3, 0xffffff), .tcp_flags = FRAME_SYN),
	UNTURNED("tcp6 rst is not rejected", TO_REFUSE6, .tcp_flags = FRAME_RST),
	UNTURNED("tcp6 rst behind options is not rejected", TO_REFUSE6, .tcp_flags = FRAME_RST,
		 BEHIND(OPTIONS)),
	ROW("tcp4 of a pool without a table, rejected", REJECTED, EMPTY, REFUSE_BARE, NOBODY,
	    TO4(WORLD_REFUSE_BARE_VIP4), .tcp_flags = FRAME_SYN),
	ROW("udp6 of a pool without a table, rejected", REJECTED, EMPTY, REFUSE_BARE, NOBODY,
	    TO6(WORLD_REFUSE_BARE_VIP6), UDP53, .payload = 12),

	/* No backend, and the sender is to be told: ICMP. */
	TURNED("udp4, rejected", TO_REFUSE4, UDP53, .payload = 33),
	TURNED("udp4 empty, rejected", TO_REFUSE4, UDP53),
	TURNED("udp4 padded, rejected", TO_REFUSE4, UDP53, .payload = 1, .padding = 17),
	TURNED("udp4 odd, rejected", TO_REFUSE4, UDP53, .payload = 3),
	TURNED("udp4 as long as the quote, rejected", TO_REFUSE4, UDP53, .payload = 520),
	TURNED("udp4 longer than the quote, rejected", TO_REFUSE4, UDP53, .payload = 521),
	TURNED("udp4 of full size, rejected", TO_REFUSE4, UDP53, .payload = WORLD_MTU - 28),
	TURNED("udp4 with most ip options, rejected", TO_REFUSE4, UDP53, .ip_options = 40,
	       .payload = 30, .tos = 0xb9),
	TURNED("udp4 tagged, rejected", TO_REFUSE4, UDP53, .payload = 30, .vlans = 1),
	TURNED("udp6, rejected", TO_REFUSE6, UDP53, .payload = 40),
	TURNED("udp6 empty, rejected", TO_REFUSE6, UDP53),
	TURNED("udp6 odd and padded, rejected", TO_REFUSE6, UDP53, .payload = 5, .padding = 9),
	TURNED("udp6 as long as the quote, rejected", TO_REFUSE6, UDP53, .payload = 1184),
	TURNED("udp6 longer than the quote, rejected", TO_REFUSE6, UDP53, .payload = 1185),
	TURNED("udp6 behind options, rejected", TO_REFUSE6, UDP53, .payload = 8, BEHIND(OPTIONS)),
	TURNED("udp6 twice tagged, rejected", TO_REFUSE6, UDP53, .payload = 9, .vlans = 2),

/* The same, and its sender must not be told. */
#define UNTURNED4(from) \
	UNTURNED("udp4 is not rejected from " from, .src = from, .dst = WORLD_REFUSE_VIP4, UDP53)
#define UNTURNED6(from)                                                                    \
	UNTURNED("tcp6 is not rejected from " from, .src = from, .dst = WORLD_REFUSE_VIP6, \
		 .tcp_flags = FRAME_SYN)
	UNTURNED4("0.0.0.0"), UNTURNED4("127.0.0.1"), UNTURNED4("224.0.0.1"),
	UNTURNED4("255.255.255.255"), UNTURNED4(WORLD_REFUSE_VIP4), UNTURNED6("::"),
	UNTURNED6("::1"), UNTURNED6("ff0e::1:2"), UNTURNED6(WORLD_REFUSE_VIP6),
	UNTURNED("tcp4 is not rejected to all on the link", TO_REFUSE4, .tcp_flags = FRAME_SYN,
		 LIE(LINK, 0, 4, 0xffffffff)),
	UNTURNED("udp6 is not rejected from a group on the link", TO_REFUSE6, UDP53,
		 LIE(LINK, 6, 1, 0x33)),
	UNTURNED("icmp4 error is not rejected", ERROR4(3), .dst = WORLD_REFUSE_VIP4,
		 ABOUT(FROM4(WORLD_REFUSE_VIP4, 80))),
	UNTURNED("icmp6 error is not rejected", ERROR6(2), .dst = WORLD_REFUSE_VIP6,
		 ABOUT(FROM6(WORLD_REFUSE_VIP6, 80), .payload = 20)),
#undef UNTURNED4
#undef UNTURNED6

/* No backend, and the host gets it. */
#define PASSED(name, ...) ROW(name, EMPTY_PASSED, EMPTY, PASS, NOBODY, __VA_ARGS__)
	PASSED("tcp4 syn, passed", TO4(WORLD_PASS_VIP4), .tcp_flags = FRAME_SYN),
	PASSED("tcp6 rst, passed", TO6(WORLD_PASS_VIP6), .tcp_flags = FRAME_RST),
	PASSED("udp4, passed", TO4(WORLD_PASS_VIP4), UDP53, .payload = 4, .padding = 14),
	PASSED("udp6 twice tagged, passed", TO6(WORLD_PASS_VIP6), UDP53, .vlans = 2),
	PASSED("icmp4 error, passed", ERROR4(3), .dst = WORLD_PASS_VIP4,
	       ABOUT(FROM4(WORLD_PASS_VIP4, 80))),
	PASSED("icmp6 error, tagged, passed", ERROR6(1), .dst = WORLD_PASS_VIP6, .vlans = 1,
	       ABOUT(FROM6(WORLD_PASS_VIP6, 80))),
#undef PASSED

/* Too big, may be fragmented, and the daemon gets it. */
#define CUT(name, service, ...)   ROW(name, TOO_BIG_SPLIT, SLOT, service, service##_B, __VA_ARGS__)
#define WHOLE(name, service, ...) ROW(name, FORWARDED, SLOT, service, service##_B, __VA_ARGS__)
	CUT("case 6: udp4 full size, cut", CUT4, TO4(WORLD_CUT4_VIP4), UDP53,
	    .payload = WORLD_MTU - 28),
	CUT("tcp4 a byte too long, cut", CUT4, TO4(WORLD_CUT4_VIP4), .payload = FITS_4IN4 + 1),
	CUT("tcp4 syn, a byte too long, cut", CUT4, TO4(WORLD_CUT4_VIP4), .payload = FITS_4IN4 + 1,
	    .tcp_flags = FRAME_SYN),
	CUT("udp4 far too long, cut", CUT4, TO4(WORLD_CUT4_VIP4), UDP53, .payload = 3000),
	CUT("udp4 too long, the reserved flag set, cut", CUT4, TO4(WORLD_CUT4_VIP4), UDP53,
	    .frag = 0x8000, .payload = WORLD_MTU - 28),
	CUT("udp4 too long with ip options, cut", CUT4, TO4(WORLD_CUT4_VIP4), UDP53,
	    .ip_options = 12, .payload = WORLD_MTU - 40),
	CUT("udp4 too long and padded, cut", CUT4, TO4(WORLD_CUT4_VIP4), UDP53,
	    .payload = WORLD_MTU - 40, .padding = 9),
	CUT("udp4 too long, tagged, cut", CUT4, TO4(WORLD_CUT4_VIP4), UDP53,
	    .payload = WORLD_MTU - 28, .vlans = 1),
	CUT("udp4 too long, twice tagged, cut", CUT4, TO4(WORLD_CUT4_VIP4), UDP53,
	    .payload = WORLD_MTU - 28, .vlans = 2),
	CUT("udp4 too long from no host, cut", CUT4, .src = "0.0.0.0", .dst = WORLD_CUT4_VIP4,
	    UDP53, .payload = WORLD_MTU - 28),
	CUT("udp4 a byte too long by gue over ipv6, cut", CUT6, TO4(WORLD_CUT6_VIP4), UDP53,
	    .payload = WORLD_MTU - 48 - 28 + 1),
	CUT("udp4 a byte too long by l2dsr, cut", CUT_LINK, TO4(WORLD_CUT_LINK_VIP4), UDP53,
	    .payload = WORLD_MTU - 28 + 1),
	ROW("icmp4 error too long, cut", TOO_BIG_SPLIT, ICMP, CUT4, CUT4_B, ERROR4(3),
	    .dst = WORLD_CUT4_VIP4, ABOUT(FROM4(WORLD_CUT4_VIP4, 80), .payload = 1440)),
	WHOLE("udp4 as long as the path, not cut", CUT4, TO4(WORLD_CUT4_VIP4), UDP53,
	      .payload = WORLD_MTU - 20 - 28),
	WHOLE("udp4 as long as the path by gue over ipv6, not cut", CUT6, TO4(WORLD_CUT6_VIP4),
	      UDP53, .payload = WORLD_MTU - 48 - 28),
	TOLD("udp4 df, too long, told and not cut", CUT4, CUT4_B, TO4(WORLD_CUT4_VIP4), UDP53,
	     .frag = DONT, .payload = WORLD_MTU - 28),
	TOLD("udp6 too long, told and not cut", CUT4, CUT4_B, TO6(WORLD_CUT4_VIP6), UDP53,
	     .payload = WORLD_MTU - 48),
	TOLD("udp6 too long by l2dsr, told and not cut", CUT_LINK, CUT_LINK_B,
	     TO6(WORLD_CUT_LINK_VIP6), UDP53, .payload = WORLD_MTU - 48 + 1),
#undef CUT
#undef WHOLE

	/* Too big, may be fragmented, and its sender is told all the same. */
	TOLD("case 6: udp4 full size, told without df", TELL, TELL_B, TO4(WORLD_TELL_VIP4), UDP53,
	     .payload = WORLD_MTU - 28),
	TOLD("tcp4 a byte too long, told without df", TELL, TELL_B, TO4(WORLD_TELL_VIP4),
	     .payload = FITS_4IN4 + 1),
	TOLD("udp4 too long, tagged, told without df", TELL, TELL_B, TO4(WORLD_TELL_VIP4), UDP53,
	     .payload = WORLD_MTU - 28, .vlans = 1, .padding = 3),
	TOLD("udp4 too long, ip options, told without df", TELL, TELL_B, TO4(WORLD_TELL_VIP4),
	     UDP53, .ip_options = 40, .payload = WORLD_MTU - 68),
	TOLD("udp4 df too long, told too", TELL, TELL_B, TO4(WORLD_TELL_VIP4), UDP53, .frag = DONT,
	     .payload = WORLD_MTU - 28),
	TOLD("udp4 too long by gre, told without df", TELL_NODF, TELL_NODF_B,
	     TO4(WORLD_TELL_NODF_VIP4), UDP53, .payload = WORLD_MTU - 28),
	UNTOLD("udp4 too long from no host, without df", TELL, TELL_B, .src = "0.0.0.0",
	       .dst = WORLD_TELL_VIP4, UDP53, .payload = WORLD_MTU - 28),
	UNTOLD("udp4 df too long, told only without df", TELL_NODF, TELL_NODF_B,
	       TO4(WORLD_TELL_NODF_VIP4), UDP53, .frag = DONT, .payload = WORLD_MTU - 28),
	UNTOLD("udp6 too long, told only without df", TELL_NODF, TELL_NODF_B,
	       TO6(WORLD_TELL_NODF_VIP6), UDP53, .payload = WORLD_MTU - 48),
#undef TO_REFUSE4
#undef TO_REFUSE6
#undef UDP53
#undef NOBODY_FOR
#undef TURNED
#undef UNTURNED
