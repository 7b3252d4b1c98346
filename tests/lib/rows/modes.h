/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of the packet table (packets.c, which includes this amid its array): modes. */

#define DNS                .proto = IPPROTO_UDP, .dport = 53
#define LONGEST4(overhead) .payload = WORLD_MTU - (overhead)-40
#define LONGER4(overhead)  .payload = WORLD_MTU - (overhead)-40 + 1
#define LONGEST6(overhead) .payload = WORLD_MTU - (overhead)-60
#define LONGER6(overhead)  .payload = WORLD_MTU - (overhead)-60 + 1
#define QUOTE4(mode)       ABOUT(FROM4(WORLD_##mode##_VIP4, 80), .payload = 60)
#define QUOTE6(mode)       ABOUT(FROM6(WORLD_##mode##_VIP6, 80), .payload = 60)
#define UDP_QUOTE4(mode)   ABOUT(FROM4(WORLD_##mode##_VIP4, 53), .proto = IPPROTO_UDP, .payload = 9)
#define UDP_QUOTE6(mode)   ABOUT(FROM6(WORLD_##mode##_VIP6, 53), .proto = IPPROTO_UDP, .payload = 9)
#define ERROR4_OF(mode, name, number, ...)                                        \
	RELAYED("icmp4 error " name " by " #mode, mode, mode##_B, ERROR4(number), \
		.dst = WORLD_##mode##_VIP4, __VA_ARGS__)
#define ERROR6_OF(mode, name, number, ...)                                        \
	RELAYED("icmp6 error " name " by " #mode, mode, mode##_B, ERROR6(number), \
		.dst = WORLD_##mode##_VIP6, __VA_ARGS__)

/* IPv4 packets, by WORLD_MODE: what IN_MODE has, for modes whose overhead differs by family. */
#define FIRST4(mode, overhead)                                                                    \
	IN(mode, "tcp4 by " #mode, TO4_OF(mode), .payload = 100),                                 \
		IN(mode, "tcp4 syn by " #mode, TO4_OF(mode), .tcp_flags = FRAME_SYN,              \
		   .tcp_options = 20),                                                            \
		IN(mode, "case 35: tcp4 tos by " #mode, TO4_OF(mode), .tos = 0xb9, .ttl = 1),     \
		IN(mode, "tcp4 df by " #mode, TO4_OF(mode), .frag = DONT),                        \
		IN(mode, "tcp4 ip options by " #mode, TO4_OF(mode), .ip_options = 8,              \
		   .payload = 3),                                                                 \
		IN(mode, "tcp4 padded by " #mode, TO4_OF(mode), .padding = 6),                    \
		IN(mode, "udp4 by " #mode, TO4_OF(mode), DNS, .payload = 33),                     \
		IN(mode, "tcp4 as long as the path by " #mode, TO4_OF(mode), LONGEST4(overhead)), \
		TOO_BIG_IN(mode, "tcp4 a byte too long by " #mode, TO4_OF(mode),                  \
			   LONGER4(overhead)),                                                    \
		TOLD("tcp4 df a byte too long by " #mode, mode, mode##_B, TO4_OF(mode),           \
		     LONGER4(overhead), .frag = DONT)
#define FIRST6(mode, overhead)                                                                    \
	IN(mode, "tcp6 by " #mode, TO6_OF(mode), .payload = 100),                                 \
		IN(mode, "case 35: tcp6 class by " #mode, TO6_OF(mode), .tos = 0xff, .ttl = 1),   \
		IN(mode, "tcp6 padded by " #mode, TO6_OF(mode), .padding = 2),                    \
		IN(mode, "udp6 by " #mode, TO6_OF(mode), DNS, .payload = 1),                      \
		IN(mode, "tcp6 as long as the path by " #mode, TO6_OF(mode), LONGEST6(overhead)), \
		TOLD("tcp6 a byte too long by " #mode, mode, mode##_B, TO6_OF(mode),              \
		     LONGER6(overhead))

/* And for every mode: tags, options, errors, checksums. */
#define SECOND4(mode, overhead)                                                                   \
	IN(mode, "tcp4 tagged by " #mode, TO4_OF(mode), .vlans = 1, .payload = 20),               \
		IN(mode, "tcp4 twice tagged by " #mode, TO4_OF(mode), .vlans = 2),                \
		IN(mode, "udp4 tagged by " #mode, TO4_OF(mode), DNS, .vlans = 1),                 \
		IN(mode, "udp4 twice tagged and padded by " #mode, TO4_OF(mode), DNS, .vlans = 2, \
		   .padding = 10),                                                                \
		IN(mode, "tcp4 ip options of 32 bytes by " #mode, TO4_OF(mode), .ip_options = 32, \
		   .vlans = 1, .payload = 7),                                                     \
		IN(mode, "udp4 ip options by " #mode, TO4_OF(mode), DNS, .ip_options = 4,         \
		   .payload = 2),                                                                 \
		IN(mode, "tcp4 fin with most options by " #mode, TO4_OF(mode),                    \
		   .tcp_flags = FRAME_FIN | FRAME_ACK, .tcp_options = 40, .payload = 1),          \
		IN(mode, "udp4 without checksum by " #mode, TO4_OF(mode), DNS, .payload = 8,      \
		   LIE(L4, 6, 2, 0)),                                                             \
		IN(mode, "tcp4 wrong tcp checksum by " #mode, TO4_OF(mode),                       \
		   LIE(L4, 16, 2, 0xbad)),                                                        \
		IN(mode, "tcp4 wrong ip checksum by " #mode, TO4_OF(mode), LIE(IP, 10, 2, 0xbad), \
		   .keep_ip_checksum = true),                                                     \
		IN(mode, "udp4 wrong checksum by " #mode, TO4_OF(mode), DNS, .payload = 3,        \
		   LIE(L4, 6, 2, 0xbad)),                                                         \
		IN(mode, "tcp4 tagged, as long as the path by " #mode, TO4_OF(mode), .vlans = 1,  \
		   LONGEST4((overhead) + 4)),                                                     \
		ERROR4_OF(mode, "about tcp", 3, QUOTE4(mode)),                                    \
		ERROR4_OF(mode, "about udp", 11, UDP_QUOTE4(mode)),                               \
		ERROR4_OF(mode, "tagged", 12, QUOTE4(mode), .vlans = 1),                          \
		ERROR4_OF(mode, "with ip options", 3, UDP_QUOTE4(mode), .ip_options = 8),         \
		ERROR4_OF(mode, "padded", 11, QUOTE4(mode), .quote_length = 28, .padding = 4)
#define SECOND6(mode, overhead)                                                                  \
	IN(mode, "tcp6 tagged by " #mode, TO6_OF(mode), .vlans = 1, .payload = 20),              \
		IN(mode, "udp6 twice tagged by " #mode, TO6_OF(mode), DNS, .vlans = 2),          \
		IN(mode, "tcp6 syn by " #mode, TO6_OF(mode), .tcp_flags = FRAME_SYN,             \
		   .tcp_options = 20),                                                           \
		IN(mode, "tcp6 behind options by " #mode, TO6_OF(mode), BEHIND(OPTIONS),         \
		   .payload = 3),                                                                \
		IN(mode, "udp6 behind a routing header by " #mode, TO6_OF(mode), DNS,            \
		   BEHIND(ROUTING), .vlans = 1),                                                 \
		IN(mode, "tcp6 behind three headers by " #mode, TO6_OF(mode),                    \
		   BEHIND(OPTIONS, ROUTING, OPTIONS), .padding = 3),                             \
		IN(mode, "udp6 without checksum by " #mode, TO6_OF(mode), DNS, .payload = 8,     \
		   LIE(L4, 6, 2, 0)),                                                            \
		IN(mode, "tcp6 wrong checksum by " #mode, TO6_OF(mode), LIE(L4, 16, 2, 0xbad)),  \
		IN(mode, "tcp6 tagged, as long as the path by " #mode, TO6_OF(mode), .vlans = 2, \
		   LONGEST6((overhead) + 8)),                                                    \
		ERROR6_OF(mode, "about tcp", 1, QUOTE6(mode)),                                   \
		ERROR6_OF(mode, "about udp", 2, UDP_QUOTE6(mode)),                               \
		ERROR6_OF(mode, "tagged", 3, QUOTE6(mode), .vlans = 1),                          \
		ERROR6_OF(mode, "behind options", 4, QUOTE6(mode), BEHIND(OPTIONS))
#define BEHIND_HOP6(mode)                                                                         \
	IN(mode, "tcp6 behind hop-by-hop options by " #mode, TO6_OF(mode), BEHIND(HOP)),          \
		IN(mode, "udp6 behind hop-by-hop and other options by " #mode, TO6_OF(mode), DNS, \
		   BEHIND(HOP, OPTIONS), .vlans = 1)
#define MOST_OPTIONS4(mode) \
	IN(mode, "tcp4 most ip options by " #mode, TO4_OF(mode), .ip_options = 40, .payload = 9)

#define NO_ROOM_IN(mode, name, ...) ROW(name, NO_ROOM_OPTION, SLOT, mode, mode##_B, __VA_ARGS__)

SECOND4(GRE4, 24), SECOND6(GRE4, 24), BEHIND_HOP6(GRE4), MOST_OPTIONS4(GRE4), SECOND4(GRE6, 44),
	SECOND6(GRE6, 44), BEHIND_HOP6(GRE6), MOST_OPTIONS4(GRE6), SECOND4(GUE4, 28),
	SECOND6(GUE4, 28), BEHIND_HOP6(GUE4), MOST_OPTIONS4(GUE4), SECOND4(GUE6, 48),
	SECOND6(GUE6, 48), BEHIND_HOP6(GUE6), MOST_OPTIONS4(GUE6), SECOND4(LINK4, 0),
	SECOND6(LINK4, 0), BEHIND_HOP6(LINK4), MOST_OPTIONS4(LINK4),

	FIRST4(GENEVE4, 48), SECOND4(GENEVE4, 48), MOST_OPTIONS4(GENEVE4), FIRST6(GENEVE4, 60),
	SECOND6(GENEVE4, 60), BEHIND_HOP6(GENEVE4), FIRST4(GENEVE6, 68), SECOND4(GENEVE6, 68),
	MOST_OPTIONS4(GENEVE6), FIRST6(GENEVE6, 80), SECOND6(GENEVE6, 80), BEHIND_HOP6(GENEVE6),
	FIRST4(GENEVE4P, 48), SECOND4(GENEVE4P, 48), FIRST6(GENEVE4P, 60), SECOND6(GENEVE4P, 60),
	FIRST4(GENEVE6P, 68), SECOND4(GENEVE6P, 68), FIRST6(GENEVE6P, 80), SECOND6(GENEVE6P, 80),

	FIRST4(GUE0_4, 40), SECOND4(GUE0_4, 40), MOST_OPTIONS4(GUE0_4), FIRST6(GUE0_4, 40),
	SECOND6(GUE0_4, 40), BEHIND_HOP6(GUE0_4), FIRST4(GUE0_6, 72), SECOND4(GUE0_6, 72),
	MOST_OPTIONS4(GUE0_6), FIRST6(GUE0_6, 72), SECOND6(GUE0_6, 72), BEHIND_HOP6(GUE0_6),

	FIRST4(IPOPT4, 8), SECOND4(IPOPT4, 8), FIRST6(IPOPT6, 24), SECOND6(IPOPT6, 24),
	FIRST4(IPOPT4P, 8), SECOND4(IPOPT4P, 8), FIRST6(IPOPT6P, 24), SECOND6(IPOPT6P, 24),
	NO_ROOM_IN(IPOPT4, "tcp4 36 bytes of ip options by ipopt", TO4_OF(IPOPT4),
		   .ip_options = 36),
	NO_ROOM_IN(IPOPT4P, "udp4 most ip options by ipopt", TO4_OF(IPOPT4P), DNS, .ip_options = 40,
		   .payload = 5),
	NO_ROOM_IN(IPOPT6, "tcp6 behind hop-by-hop options by ipopt", TO6_OF(IPOPT6), BEHIND(HOP)),
	NO_ROOM_IN(IPOPT6P, "udp6 behind hop-by-hop options by ipopt, tagged", TO6_OF(IPOPT6P), DNS,
		   BEHIND(HOP, OPTIONS), .vlans = 1),
	NO_ROOM_IN(IPOPT4, "tcp6 by ipopt to an ipv4 backend", TO6_OF(IPOPT4), .payload = 40),
	NO_ROOM_IN(IPOPT6, "tcp4 by ipopt to an ipv6 backend", TO4_OF(IPOPT6), .payload = 40),
	NO_ROOM_IN(IPOPT6, "udp4 by ipopt to an ipv6 backend, tagged", TO4_OF(IPOPT6), DNS,
		   .vlans = 2),
	ROW("icmp6 error by ipopt to an ipv4 backend", NO_ROOM_OPTION, ICMP, IPOPT4, IPOPT4_B,
	    ERROR6(2), .dst = WORLD_IPOPT4_VIP6, QUOTE6(IPOPT4)),
	ROW("icmp4 error by ipopt, 40 bytes of options", NO_ROOM_OPTION, ICMP, IPOPT4, IPOPT4_B,
	    ERROR4(3), .dst = WORLD_IPOPT4_VIP4, .ip_options = 40, QUOTE4(IPOPT4)),
