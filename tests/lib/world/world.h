/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The small world that packet tests play in: services, backends and a node, written into an
 * engine's tables by hand (so a test needs no configuration and knows every answer), and the same
 * services as a file for the command line. Each service but MANY and CROWD has one backend, so that
 * a row can name it.
 */
#pragma once

#include <stdbool.h>

#include "engine/tables.h"
#include "tests/lib/world/addresses.h"
#include "tests/lib/world/transition.h"
#include "tests/lib/world/vips.h"
#include "tunnel/mode.h"

enum world_service {
	WORLD_NONE,
	WORLD_ONE4,  /* tcp/80, tcp/8000-8099, udp/53; an IPv4 tunnel; tracked */
	WORLD_ONE6,  /* tcp/80, udp/443; an IPv6 tunnel; tracked */
	WORLD_LOOSE, /* tcp/9000 of ONE4's VIPs; an IPv4 tunnel; not tracked; too big: dropped */
	WORLD_MANY,  /* tcp/443, udp/443; four backends, two behind each kind of tunnel; tracked */
	WORLD_EMPTY, /* tcp/80; its slots have no owner */
	WORLD_BARE,  /* tcp/80; has no slots at all */
	WORLD_LOST,  /* tcp/80; no next hop */
	WORLD_AWAY,  /* tcp/80; leaves at another interface */
	WORLD_SMALL, /* tcp/80; a path of WORLD_SMALL_MTU bytes */
	WORLD_GRE4,  /* these: tcp/80, udp/53; in the mode and the outer family of their name */
	WORLD_GRE6,
	WORLD_GUE4,
	WORLD_GUE6,
	WORLD_LINK4, /* the same by l2dsr; the family is that of the backend's address */
	WORLD_LINK6,
	WORLD_FAR,     /* tcp/80; l2dsr, but its backend is behind a router */
	WORLD_GENEVE4, /* these: tcp/80, udp/53; mode and outer family by their name ... */
	WORLD_GENEVE6,
	WORLD_GENEVE4P, /* ... P: to WORLD_PORT of the backend */
	WORLD_GENEVE6P,
	WORLD_IPOPT4,
	WORLD_IPOPT6,
	WORLD_IPOPT4P,
	WORLD_IPOPT6P,
	WORLD_GUE0_4, /* GUE's variant 0; SECOND4 is the slot's other owner */
	WORLD_GUE0_6, /* SECOND6 */

	/* Listens, prefixes and access lists (world_vips.c), each ipip to an IPv4 backend: */
	WORLD_PORTS,  /* tcp/80, tcp/1500-1599, udp/53 of ANY's VIPs */
	WORLD_RANGE,  /* tcp/1000-1999, udp/1-52 of them */
	WORLD_ALL,    /* tcp/0-65535 of them */
	WORLD_ANY,    /* any */
	WORLD_WIDE,   /* tcp/80, tcp/443 of a /16 and a /48 */
	WORLD_NARROW, /* tcp/80, any of a /24 and a /64 in them */
	WORLD_POINT,  /* tcp/8080 of an address in these */
	WORLD_PAIR,   /* any of a /31 and a /127 */
	WORLD_GUARD,  /* tcp/80, any; an access list with holes in holes */
	WORLD_GUARD6, /* tcp/80, any; all of IPv6 may, and nobody else */
	/* These: tcp/443, udp/443; not tracked; their policies are those of world_policy.c. */
	WORLD_CID,    /* quic-cid as QUIC-LB has it, and the server's id in TCP's option */
	WORLD_KATRAN, /* quic-cid as Katran has it */
	WORLD_LABEL,  /* flow-label */
	/* Of the VIPs ...102 these two: pieces without ports may be either's. */
	WORLD_TWIN_A, /* udp/53, tcp/80 */
	WORLD_TWIN_B, /* udp/443, tcp/443 */
	WORLD_WHOLE,  /* tcp/80, udp/53; takes no pieces: alone of all services */
	WORLD_WHOLE2, /* udp/443 of WHOLE's VIPs; the same */
	WORLD_EVERY,  /* every protocol and port */
	WORLD_CROWD,  /* tcp/443, udp/443; eight backends, untracked */
	/* Egress into VLANs, and clamped SYNs (rows_links.h). */
	WORLD_VLAN,   /* tcp/80, udp/53; ipip over IPv4 with a tag; tracked */
	WORLD_QINQ,   /* tcp/80; ipip over IPv6 with two tags, at another interface; tracked */
	WORLD_VLINK,  /* tcp/80; l2dsr with a tag; tracked */
	WORLD_CLAMP,  /* tcp/80; ipip, the MSS of SYNs is WORLD_MSS at most; not tracked */
	WORLD_VCLAMP, /* tcp/80; both: ipip with a tag, and WORLD_MSS; not tracked */
	/* Of replies: tcp/80, udp/53. */
	WORLD_REFUSE,      /* on_empty: reject; its slots have no owner */
	WORLD_REFUSE_BARE, /* the same without any slots */
	WORLD_PASS,        /* on_empty: pass */
	WORLD_CUT4,        /* oversize_nodf: fragment; an IPv4 tunnel */
	WORLD_CUT6,        /* the same by GUE in IPv6 */
	WORLD_CUT_LINK,    /* and by l2dsr */
	WORLD_TELL,        /* oversize_nodf: icmp */
	WORLD_TELL_NODF,   /* the same, and oversize_df: drop */
	/* These: tcp/80, udp/53; `tracking: transition`, and their slot is in one. */
	WORLD_MOVE, /* from MOVED_B */
	WORLD_LATE, /* the same, for long already */
	WORLD_FLIP, /* MOVED_B is who the old table names */
	WORLD_SERVICES,
};

enum world_backend {
	WORLD_NOBODY,
	WORLD_B4,
	WORLD_B6,
	WORLD_L1,
	WORLD_M1,
	WORLD_M2,
	WORLD_M3,
	WORLD_M4,
	WORLD_LOST1,
	WORLD_AWAY1,
	WORLD_SMALL1,
	WORLD_GRE4_B,
	WORLD_GRE6_B,
	WORLD_GUE4_B,
	WORLD_GUE6_B,
	WORLD_LINK4_B,
	WORLD_LINK6_B,
	WORLD_FAR_B,
	WORLD_CID1, /* owns CID's slots; id 1 */
	WORLD_CID2, /* owns none: only ids lead to it */
	WORLD_CID3, /* the same, but it may keep no flows */
	WORLD_KATRAN1,
	WORLD_LABEL1,
	WORLD_TWIN_A_B,
	WORLD_TWIN_B_B,
	WORLD_WHOLE_B,
	WORLD_EVERY_B,
	WORLD_CROWD1,
	WORLD_CROWD8 = WORLD_CROWD1 + 7,
	WORLD_CUT4_B,
	WORLD_CUT6_B,
	WORLD_CUT_LINK_B,
	WORLD_TELL_B,
	WORLD_TELL_NODF_B,
	WORLD_E1, /* the backend that WORLD_EMPTY does not have: in the file it is down */
	WORLD_GENEVE4_B,
	WORLD_GENEVE6_B,
	WORLD_GENEVE4P_B,
	WORLD_GENEVE6P_B,
	WORLD_IPOPT4_B,
	WORLD_IPOPT6_B,
	WORLD_IPOPT4P_B,
	WORLD_IPOPT6P_B,
	WORLD_GUE0_4_B,
	WORLD_GUE0_6_B,
	WORLD_SECOND4, /* no slot's first owner */
	WORLD_SECOND6,
	WORLD_PORTS_B,
	WORLD_RANGE_B,
	WORLD_ALL_B,
	WORLD_ANY_B,
	WORLD_WIDE_B,
	WORLD_NARROW_B,
	WORLD_POINT_B,
	WORLD_PAIR_B,
	WORLD_GUARD_B,
	WORLD_GUARD6_B,
	WORLD_VLAN_B,
	WORLD_QINQ_B,
	WORLD_VLINK_B,
	WORLD_CLAMP_B,
	WORLD_VCLAMP_B,
	WORLD_MOVE_B,
	WORLD_MOVED_B, /* no slot's owner any more */
	WORLD_LATE_B,
	WORLD_FLIP_B,
	WORLD_BACKENDS,
};

enum {
	WORLD_IFINDEX = 1, /* where frames come in */
	WORLD_AWAY_IFINDEX = 77,
	WORLD_MTU = 1500,
	WORLD_SMALL_MTU = 1300,
	WORLD_MANY_SLOTS = 251,
	WORLD_CROWD_SLOTS = 509,
	WORLD_MSS = 1400,
	WORLD_FLOWS = 4096,
	WORLD_PORT = 8080,
};

#define WORLD_CLIENT4 "203.0.113.5"
#define WORLD_CLIENT6 "2001:db8:c::5"
#define WORLD_ROUTER4 "203.0.113.1"
#define WORLD_ROUTER6 "2001:db8:c::1"
#define WORLD_SRC_MAC "\x02\x00\x00\x00\x00\x01"
#define WORLD_DST_MAC "\x02\x00\x00\x00\x00\x02"

/* What a service and a backend are called in WORLD_YAML; "none" for 0. */
const char *world_service_name(uint32_t service);
const char *world_backend_name(uint32_t backend);
/* Where the backend's tunnel ends. */
struct addr world_backend_addr(uint32_t backend);
/* The port to deliver to of what came to the VIP's. */
uint16_t world_backend_port(uint32_t backend, uint16_t vip_port);
/* Has every flow an entry? */
bool world_service_tracks(uint32_t service);
/* `fragments: pin` */
bool world_service_pins(uint32_t service);
enum tunnel_mode world_service_mode(uint32_t service);
/* Of the services file: WORLD_EMPTY's backend e1 is to be said down, others behave as ONE4. */
bool world_service_in_file(uint32_t service);
/* False for a VIP (NULL: none) that only services have which are not there. */
bool world_vip_in_file(const char *vip);

/* Writes everything and forgets all flows. */
void world_fill(struct dp_tables *tables);
void world_forget_flows(struct dp_tables *tables);
/* Gives all of WORLD_MANY's slots to one backend. */
void world_many_to(struct dp_tables *tables, uint32_t backend);

extern const char world_yaml[];
