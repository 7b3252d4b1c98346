/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of the packet table (packets.c, which includes this amid its array): slots in transition. */

/* Who begins goes to the new owner; whoever comes amid a flow to the one before. */
#define BEGINS(name, service, ...)     ROW(name, FORWARDED, SLOT, service, service##_B, __VA_ARGS__)
#define STAYS(name, service, why, ...) ROW(name, FORWARDED, why, service, MOVED_B, __VA_ARGS__)
#define SYN                            .tcp_flags = FRAME_SYN
#define DATAGRAM                       .proto = IPPROTO_UDP, .dport = 53, .payload = 30
BEGINS("tcp4 syn in a transition", MOVE, TO4(WORLD_MOVE_VIP4), SYN),
	BEGINS("tcp6 syn in a transition", MOVE, TO6(WORLD_MOVE_VIP6), SYN),
	BEGINS("tcp4 syn late in a transition", LATE, TO4(WORLD_LATE_VIP4), SYN),
	BEGINS("tcp4 syn after a flip", FLIP, TO4(WORLD_FLIP_VIP4), SYN),
	BEGINS("tcp6 syn after a flip", FLIP, TO6(WORLD_FLIP_VIP6), SYN),
	STAYS("tcp4 in a transition", MOVE, PREVIOUS, TO4(WORLD_MOVE_VIP4), .payload = 7),
	STAYS("tcp6 in a transition", MOVE, PREVIOUS, TO6(WORLD_MOVE_VIP6), .payload = 7),
	STAYS("tcp4 syn and ack in a transition", MOVE, PREVIOUS, TO4(WORLD_MOVE_VIP4),
	      .tcp_flags = FRAME_SYN | FRAME_ACK),
	STAYS("tcp4 fin in a transition", MOVE, PREVIOUS, TO4(WORLD_MOVE_VIP4),
	      .tcp_flags = FRAME_FIN | FRAME_ACK),
	STAYS("tcp4 rst in a transition", MOVE, PREVIOUS, TO4(WORLD_MOVE_VIP4),
	      .tcp_flags = FRAME_RST),
	STAYS("tcp4 tagged in a transition", MOVE, PREVIOUS, TO4(WORLD_MOVE_VIP4), .vlans = 1),
	STAYS("tcp6 behind options in a transition", MOVE, PREVIOUS, TO6(WORLD_MOVE_VIP6),
	      BEHIND(OPTIONS)),
	STAYS("tcp4 late in a transition", LATE, PREVIOUS, TO4(WORLD_LATE_VIP4)),
	STAYS("tcp4 after a flip", FLIP, OLD_TABLE, TO4(WORLD_FLIP_VIP4)),
	STAYS("tcp6 after a flip", FLIP, OLD_TABLE, TO6(WORLD_FLIP_VIP6), .payload = 7),
	STAYS("udp4 in a transition", MOVE, PREVIOUS, TO4(WORLD_MOVE_VIP4), DATAGRAM),
	STAYS("udp6 in a transition", MOVE, PREVIOUS, TO6(WORLD_MOVE_VIP6), DATAGRAM),
	STAYS("udp4 after a flip", FLIP, OLD_TABLE, TO4(WORLD_FLIP_VIP4), DATAGRAM),
	BEGINS("udp4 late in a transition", LATE, TO4(WORLD_LATE_VIP4), DATAGRAM),
	STAYS("udp4 first fragment in a transition", MOVE, PREVIOUS, TO4(WORLD_MOVE_VIP4), DATAGRAM,
	      .frag = MORE),
	STAYS("udp4 last fragment in a transition", MOVE, PREVIOUS, TO4(WORLD_MOVE_VIP4), DATAGRAM,
	      .frag = 185),
	BEGINS("udp4 last fragment late in a transition", LATE, TO4(WORLD_LATE_VIP4), DATAGRAM,
	       .frag = 185),
	STAYS("udp6 first fragment after a flip", FLIP, OLD_TABLE, TO6(WORLD_FLIP_VIP6),
	      BEHIND(SPLIT), .frag = 1, DATAGRAM),
	RELAYED("icmp4 error in a transition", MOVE, MOVED_B, ERROR4(3), .dst = WORLD_MOVE_VIP4,
		ABOUT(FROM4(WORLD_MOVE_VIP4, 80), .payload = 9)),
	RELAYED("icmp6 error in a transition", MOVE, MOVED_B, ERROR6(2), .dst = WORLD_MOVE_VIP6,
		ABOUT(FROM6(WORLD_MOVE_VIP6, 80), .payload = 9)),
	RELAYED("icmp4 error after a flip", FLIP, MOVED_B, ERROR4(3), .dst = WORLD_FLIP_VIP4,
		ABOUT(FROM4(WORLD_FLIP_VIP4, 80), .payload = 9)),
	RELAYED("icmp4 error about udp, late in a transition", LATE, LATE_B, ERROR4(3),
		.dst = WORLD_LATE_VIP4,
		ABOUT(FROM4(WORLD_LATE_VIP4, 53), .proto = IPPROTO_UDP, .payload = 9)),
#undef BEGINS
#undef STAYS
#undef SYN
#undef DATAGRAM
