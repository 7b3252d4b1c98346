/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of the packet table (packets.c, which includes this amid its array): fragments. */

#define UDP4(vip)                         TO4(vip), .proto = IPPROTO_UDP
#define UDP6(vip)                         TO6(vip), .proto = IPPROTO_UDP
#define LATER4                            .frag = 185
#define LATER6                            .frag = 185 << 3
#define FIRST6                            .frag = 1
#define IN_PIECE                          BEHIND(SPLIT)
#define ID4(id)                           LIE(IP, 4, 2, id)
#define GOES(name, service, backend, ...) ROW(name, FORWARDED, SLOT, service, backend, __VA_ARGS__)

/* Where several services listen, and where none takes pieces. */
#define EARLY(name, ...) ROW("case 8: " name, FRAGMENT_EARLY, FRAGMENT, NONE, NOBODY, __VA_ARGS__)
#define DROPPED(name, service, ...) \
	ROW("case 8: " name, FRAGMENT, FRAGMENT, service, NOBODY, __VA_ARGS__)

/* First pieces go where their flow goes. */
TO_B4("tcp4 first fragment", TO4(WORLD_ONE4_VIP4), .frag = MORE, .payload = 32),
	TO_B4("tcp4 syn, first fragment", TO4(WORLD_ONE4_VIP4), .tcp_flags = FRAME_SYN,
	      .frag = MORE, .payload = 4),
	TO_B4("udp4 first fragment", UDP4(WORLD_ONE4_VIP4), .dport = 53, .frag = MORE,
	      .payload = 1200),
	TO_B4("udp4 first fragment of 3000 bytes", UDP4(WORLD_ONE4_VIP4), .dport = 53, .frag = MORE,
	      .payload = 1392, LIE_UDP_LENGTH(3000)),
	TO_B4("udp4 first fragment of 65507 bytes", UDP4(WORLD_ONE4_VIP4), .dport = 53,
	      .frag = MORE, .payload = 8, LIE_UDP_LENGTH(65507)),
	TO_B4("udp4 first fragment, a header and no more", UDP4(WORLD_ONE4_VIP4), .dport = 53,
	      .frag = MORE),
	TO_B4("udp4 first fragment, df", UDP4(WORLD_ONE4_VIP4), .dport = 53, .frag = MORE | DONT,
	      .payload = 16),
	TO_B4("udp4 first fragment, id 0", UDP4(WORLD_ONE4_VIP4), .dport = 53, .frag = MORE,
	      .payload = 16, ID4(0)),
	TO_B4("udp4 first fragment, every field set", UDP4(WORLD_ONE4_VIP4), .dport = 53, .ttl = 1,
	      .frag = MORE | DONT | 0x8000, .tos = 0xff, .payload = 16, ID4(0xffff)),
	TO_B4("tcp4 first fragment, ip options", TO4(WORLD_ONE4_VIP4), .frag = MORE,
	      .ip_options = 40),
	TO_B4("udp4 first fragment, as long as the path", UDP4(WORLD_ONE4_VIP4), .dport = 53,
	      .frag = MORE, .payload = FITS_4IN4 + 12),
	TO_B4("udp6 first fragment over ipv4", UDP6(WORLD_ONE4_VIP6), .dport = 53, IN_PIECE, FIRST6,
	      .payload = 16),
	TO_B6("tcp6 first fragment", TO6(WORLD_ONE6_VIP6), IN_PIECE, FIRST6, .payload = 32),
	TO_B6("udp6 first fragment", UDP6(WORLD_ONE6_VIP6), .dport = 443, IN_PIECE, FIRST6,
	      .payload = 32, LIE_UDP_LENGTH(3000)),
	TO_B6("udp6 first fragment, reserved bits", UDP6(WORLD_ONE6_VIP6), .dport = 443, IN_PIECE,
	      .frag = 7, .payload = 32),
	TO_B6("tcp6 first fragment behind three headers", TO6(WORLD_ONE6_VIP6),
	      BEHIND(HOP, OPTIONS, ROUTING, SPLIT), FIRST6),
	TO_B6("udp6 first fragment before options", UDP6(WORLD_ONE6_VIP6), .dport = 443,
	      BEHIND(SPLIT, OPTIONS), FIRST6, .payload = 8),
	TO_B6("udp4 first fragment over ipv6", UDP4(WORLD_ONE6_VIP4), .dport = 443, .frag = MORE,
	      .payload = 8),
	TO_B6("udp4 first fragment, twice tagged", UDP4(WORLD_ONE6_VIP4), .dport = 443,
	      .frag = MORE, .vlans = 2, .payload = 8),
	GOES("tcp4 first fragment, other service of the vip", LOOSE, L1, TO4(WORLD_ONE4_VIP4),
	     .dport = 9000, .frag = MORE),
	ROW("tcp4 first fragment, redirected", REDIRECTED, SLOT, AWAY, AWAY1, TO4(WORLD_AWAY_VIP4),
	    .frag = MORE, .payload = 4),

	/* Later ones have no ports, whatever stands where ports would be. */
	TO_B4("case 8: udp4 last fragment first", UDP4(WORLD_ONE4_VIP4), .dport = 9999, LATER4,
	      .payload = 8),
	TO_B4("case 8: udp4 middle fragment first", UDP4(WORLD_ONE4_VIP4), .dport = 9999,
	      .payload = 16, .frag = MORE | DONT | 0x1fff),
	TO_B4("case 8: udp4 last fragment first, a byte", UDP4(WORLD_ONE4_VIP4), LATER4,
	      LIE_IP4_LENGTH(21)),
	TO_B4("case 8: udp4 last fragment first, no byte", UDP4(WORLD_ONE4_VIP4), LATER4,
	      LIE_IP4_LENGTH(20)),
	TO_B4("case 8: udp4 last fragment first, id 0", UDP4(WORLD_ONE4_VIP4), LATER4, ID4(0)),
	TO_B4("case 8: udp4 last fragment first, ip options", UDP4(WORLD_ONE4_VIP4), LATER4,
	      .ip_options = 12),
	TO_B4("case 8: udp4 last fragment first, padded", UDP4(WORLD_ONE4_VIP4), LATER4,
	      .padding = 18),
	TO_B4("case 8: udp4 last fragment first, tagged", UDP4(WORLD_ONE4_VIP4), LATER4, .vlans = 1,
	      .payload = 8),
	TO_B6("case 8: tcp4 last fragment first", TO4(WORLD_ONE6_VIP4), LATER4, .payload = 8),
	TO_B6("case 8: tcp6 last fragment first", TO6(WORLD_ONE6_VIP6), IN_PIECE, LATER6,
	      .payload = 8),
	TO_B6("case 8: udp6 last fragment first", UDP6(WORLD_ONE6_VIP6), IN_PIECE, LATER6,
	      .payload = 32),
	TO_B6("case 8: udp6 middle fragment first", UDP6(WORLD_ONE6_VIP6), IN_PIECE, .frag = 0xffff,
	      .payload = 32),
	TO_B6("case 8: udp6 last fragment first, no byte", UDP6(WORLD_ONE6_VIP6), IN_PIECE, LATER6,
	      LIE_IP6_LENGTH(8)),
	TO_B6("case 8: udp6 last fragment first, behind options", UDP6(WORLD_ONE6_VIP6),
	      BEHIND(HOP, SPLIT), LATER6, .payload = 32),
	TO_B6("case 8: udp6 last fragment first, of a packet with options", UDP6(WORLD_ONE6_VIP6),
	      BEHIND(SPLIT, OPTIONS), LATER6, .payload = 32),
	ROW("case 8: tcp4 last fragment first, redirected", REDIRECTED, SLOT, AWAY, AWAY1,
	    TO4(WORLD_AWAY_VIP4), LATER4, .payload = 4),
	GOES("case 8: udp4 last fragment first, by gre over ipv6", GRE6, GRE6_B,
	     UDP4(WORLD_GRE6_VIP4), LATER4, .payload = 4),
	GOES("case 8: udp6 last fragment first, by gue over ipv4", GUE4, GUE4_B,
	     UDP6(WORLD_GUE4_VIP6), IN_PIECE, LATER6, .payload = 4),
	GOES("case 8: udp4 last fragment first, by l2dsr", LINK4, LINK4_B, UDP4(WORLD_LINK4_VIP4),
	     LATER4, .payload = 40),

	/* Where several services listen on the protocol, only the first piece says which. */
	GOES("udp4 first fragment of one twin", TWIN_A, TWIN_A_B, UDP4(WORLD_TWIN_VIP4),
	     .dport = 53, .frag = MORE),
	GOES("udp4 first fragment of the other twin", TWIN_B, TWIN_B_B, UDP4(WORLD_TWIN_VIP4),
	     .dport = 443, .frag = MORE),
	GOES("tcp6 first fragment of the other twin", TWIN_B, TWIN_B_B, TO6(WORLD_TWIN_VIP6),
	     .dport = 443, IN_PIECE, FIRST6),
	EARLY("udp4 last fragment of a twin first", UDP4(WORLD_TWIN_VIP4), .dport = 53, LATER4,
	      .payload = 8),
	EARLY("tcp4 last fragment of a twin first", TO4(WORLD_TWIN_VIP4), LATER4, .payload = 8),
	EARLY("udp6 last fragment of a twin first", UDP6(WORLD_TWIN_VIP6), .dport = 443, IN_PIECE,
	      LATER6, .payload = 8),
	EARLY("udp6 last fragment of a twin first, of a packet with options", UDP6(WORLD_TWIN_VIP6),
	      .dport = 443, BEHIND(SPLIT, OPTIONS), LATER6, .payload = 8),
	EARLY("tcp4 last fragment first, two services", TO4(WORLD_ONE4_VIP4), LATER4, .payload = 8,
	      ID4(0x7777)),

	/* A listen on everything: any protocol in pieces. */
	GOES("udp4 first fragment to any", EVERY, EVERY_B, UDP4(WORLD_EVERY_VIP4), .dport = 7,
	     .frag = MORE),
	GOES("udp4 last fragment to any", EVERY, EVERY_B, UDP4(WORLD_EVERY_VIP4), LATER4,
	     .payload = 3),
	GOES("gre4 first fragment to any", EVERY, EVERY_B, TO4(WORLD_EVERY_VIP4),
	     .proto = IPPROTO_GRE, .frag = MORE, .payload = 8),
	GOES("gre4 last fragment to any", EVERY, EVERY_B, TO4(WORLD_EVERY_VIP4),
	     .proto = IPPROTO_GRE, LATER4, .payload = 8),
	GOES("esp6 last fragment to any", EVERY, EVERY_B, TO6(WORLD_EVERY_VIP6),
	     .proto = IPPROTO_ESP, IN_PIECE, LATER6, .payload = 8),
	GOES("udp6 first fragment before options to any", EVERY, EVERY_B, UDP6(WORLD_EVERY_VIP6),
	     BEHIND(SPLIT, OPTIONS), FIRST6, .payload = 8),

	/* `fragments: drop`: each piece, and only pieces. */
	DROPPED("tcp4 first fragment of what takes none", WHOLE, TO4(WORLD_WHOLE_VIP4),
		.frag = MORE, .payload = 8),
	DROPPED("udp4 first fragment of what takes none", WHOLE, UDP4(WORLD_WHOLE_VIP4),
		.dport = 53, .frag = MORE, .payload = 8),
	DROPPED("udp6 first fragment of what takes none", WHOLE2, UDP6(WORLD_WHOLE_VIP6),
		.dport = 443, IN_PIECE, FIRST6, .payload = 8),
	DROPPED("tcp4 last fragment of what takes none", WHOLE, TO4(WORLD_WHOLE_VIP4), LATER4,
		.payload = 8),
	DROPPED("tcp6 last fragment of what takes none", WHOLE, TO6(WORLD_WHOLE_VIP6), IN_PIECE,
		LATER6, .payload = 8),
	DROPPED("udp4 last fragment, of two that take none", NONE, UDP4(WORLD_WHOLE_VIP4), LATER4,
		.payload = 8),
	DROPPED("udp4 middle fragment, of two that take none", NONE, UDP4(WORLD_WHOLE_VIP4),
		.frag = MORE | 1, .payload = 8),
	GOES("tcp6 atomic fragment of what takes no pieces", WHOLE, WHOLE_B, TO6(WORLD_WHOLE_VIP6),
	     IN_PIECE),
	NOT_OURS("tcp4 first fragment, a port that nobody listens on", NOT_LISTENED,
		 TO4(WORLD_WHOLE_VIP4), .dport = 22, .frag = MORE),

	/* The whole datagram in a piece (RFC 6946): an ordinary packet. */
	TO_B6("tcp6 atomic fragment", TO6(WORLD_ONE6_VIP6), IN_PIECE),
	TO_B6("udp6 atomic fragment, reserved bits", UDP6(WORLD_ONE6_VIP6), .dport = 443, IN_PIECE,
	      .frag = 6, .payload = 9),
	TO_B4("udp6 atomic fragment over ipv4, behind options", UDP6(WORLD_ONE4_VIP6), .dport = 53,
	      BEHIND(OPTIONS, SPLIT), .payload = 9),
	NOT_OURS("tcp6 atomic fragment, a port that nobody listens on", NOT_LISTENED,
		 TO6(WORLD_ONE6_VIP6), IN_PIECE, .dport = 22),
	REFUSED("udp6 atomic fragment, length beyond the packet", TRUNCATED, UDP6(WORLD_ONE6_VIP6),
		.dport = 443, IN_PIECE, LIE_UDP_LENGTH(9)),

	/* Pieces of pieces. */
	BEYOND("tcp6 atomic fragment in an atomic fragment", TO6(WORLD_ONE6_VIP6),
	       BEHIND(SPLIT, SPLIT)),
	BEYOND("tcp6 first fragment in a first fragment", TO6(WORLD_ONE6_VIP6),
	       BEHIND(SPLIT, SPLIT), FIRST6, .payload = 8),
	BEYOND("tcp6 first fragment in one, options between", TO6(WORLD_ONE6_VIP6),
	       BEHIND(SPLIT, OPTIONS, SPLIT), FIRST6, .payload = 8),

	/* First pieces that hide what they are of. */
	REFUSED("tcp4 first fragment of 16 bytes", TRUNCATED, TO4(WORLD_ONE4_VIP4), .frag = MORE,
		LIE_IP4_LENGTH(36)),
	REFUSED("tcp4 first fragment, data offset 4", TRUNCATED, TO4(WORLD_ONE4_VIP4), .frag = MORE,
		LIE_TCP_OFFSET(4)),
	REFUSED("tcp4 first fragment, options beyond it", TRUNCATED, TO4(WORLD_ONE4_VIP4),
		.frag = MORE, LIE_TCP_OFFSET(6)),
	REFUSED("udp4 first fragment of 7 bytes", TRUNCATED, UDP4(WORLD_ONE4_VIP4), .dport = 53,
		.frag = MORE, LIE_IP4_LENGTH(27)),
	REFUSED("udp4 first fragment, no byte", TRUNCATED, UDP4(WORLD_ONE4_VIP4), .dport = 53,
		.frag = MORE, LIE_IP4_LENGTH(20)),
	REFUSED("udp4 first fragment, length 7", TRUNCATED, UDP4(WORLD_ONE4_VIP4), .dport = 53,
		.frag = MORE, .payload = 8, LIE_UDP_LENGTH(7)),
	REFUSED("udp4 first fragment of what takes none, 4 bytes", TRUNCATED,
		UDP4(WORLD_WHOLE_VIP4), .dport = 53, .frag = MORE, LIE_IP4_LENGTH(24)),
	REFUSED("tcp6 first fragment of 8 bytes", TRUNCATED, TO6(WORLD_ONE6_VIP6), IN_PIECE, FIRST6,
		LIE_IP6_LENGTH(16)),
	REFUSED("udp6 first fragment, ports in the padding", TRUNCATED, UDP6(WORLD_ONE6_VIP6),
		.dport = 443, IN_PIECE, FIRST6, LIE_IP6_LENGTH(8), .padding = 20),
	REFUSED("udp6 first fragment, half a header", TRUNCATED, UDP6(WORLD_ONE6_VIP6),
		.dport = 443, IN_PIECE, FIRST6, LIE_IP6_LENGTH(7)),

	/* What nobody listens on, and what cannot leave. */
	NOT_OURS("udp4 last fragment where nobody listens on udp", NOT_LISTENED,
		 UDP4(WORLD_EMPTY_VIP4), LATER4, .payload = 8),
	NOT_OURS("udp6 last fragment where nobody listens on udp", NOT_LISTENED,
		 UDP6(WORLD_EMPTY_VIP6), IN_PIECE, LATER6, .payload = 8),
	NOT_OURS("gre4 first fragment where nobody listens on gre", OTHER_PROTOCOL,
		 TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_GRE, .frag = MORE, .payload = 8),
	NOT_OURS("gre4 last fragment where nobody listens on gre", OTHER_PROTOCOL,
		 TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_GRE, LATER4, .payload = 8),
	NOT_OURS("icmp4 echo, first fragment", OTHER_PROTOCOL, TO4(WORLD_ONE4_VIP4),
		 .proto = IPPROTO_ICMP, .frag = MORE, .payload = 8),
	NOT_OURS("icmp4 echo, last fragment", OTHER_PROTOCOL, TO4(WORLD_EVERY_VIP4),
		 .proto = IPPROTO_ICMP, LATER4, .payload = 8),
	NOT_OURS("icmp6 echo, first fragment", OTHER_PROTOCOL, TO6(WORLD_ONE6_VIP6),
		 .proto = IPPROTO_ICMPV6, IN_PIECE, FIRST6, .payload = 8),
	ROW("tcp4 first fragment, no backend", EMPTY, EMPTY, EMPTY, NOBODY, TO4(WORLD_EMPTY_VIP4),
	    .frag = MORE),
	ROW("tcp4 last fragment, no backend", EMPTY, EMPTY, EMPTY, NOBODY, TO4(WORLD_EMPTY_VIP4),
	    LATER4),
	ROW("tcp6 last fragment, no backend", EMPTY, EMPTY, EMPTY, NOBODY, TO6(WORLD_EMPTY_VIP6),
	    IN_PIECE, LATER6),
	ROW("tcp4 last fragment, no table", EMPTY, EMPTY, BARE, NOBODY, TO4(WORLD_BARE_VIP4),
	    LATER4),
	ROW("tcp4 last fragment, no next hop", NO_NEIGHBOR, SLOT, LOST, LOST1, TO4(WORLD_LOST_VIP4),
	    LATER4),
	UNTOLD("udp4 first fragment, a byte too long", ONE4, B4, UDP4(WORLD_ONE4_VIP4), .dport = 53,
	       .frag = MORE, .payload = FITS_4IN4 + 13),
	UNTOLD("udp4 last fragment, a byte too long", ONE4, B4, UDP4(WORLD_ONE4_VIP4), .dport = 53,
	       LATER4, .payload = FITS_4IN4 + 13),

#undef UDP4
#undef UDP6
#undef LATER4
#undef LATER6
#undef FIRST6
#undef IN_PIECE
#undef ID4
#undef GOES
#undef EARLY
#undef DROPPED
