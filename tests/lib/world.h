/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The small world that packet tests play in: services, backends and a node, written into an
 * engine's tables by hand (so a test needs no configuration and knows every answer), and the same
 * services as a file for the command line. Each service but MANY has one backend, so that a row
 * can name it.
 */
#pragma once

#include <stdbool.h>

#include "engine/tables.h"
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
	WORLD_FAR, /* tcp/80; l2dsr, but its backend is behind a router */
	/* Egress into VLANs, and clamped SYNs (rows_links.h). */
	WORLD_VLAN,   /* tcp/80, udp/53; ipip over IPv4 with a tag; tracked */
	WORLD_QINQ,   /* tcp/80; ipip over IPv6 with two tags, at another interface; tracked */
	WORLD_VLINK,  /* tcp/80; l2dsr with a tag; tracked */
	WORLD_CLAMP,  /* tcp/80; ipip, the MSS of SYNs is WORLD_MSS at most; not tracked */
	WORLD_VCLAMP, /* tcp/80; both: ipip with a tag, and WORLD_MSS; not tracked */
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
	WORLD_E1, /* the backend that WORLD_EMPTY does not have: in the file it is down */
	WORLD_VLAN_B,
	WORLD_QINQ_B,
	WORLD_VLINK_B,
	WORLD_CLAMP_B,
	WORLD_VCLAMP_B,
	WORLD_BACKENDS,
};

enum {
	WORLD_IFINDEX = 1, /* where frames come in */
	WORLD_AWAY_IFINDEX = 77,
	WORLD_MTU = 1500,
	WORLD_SMALL_MTU = 1300,
	WORLD_MANY_SLOTS = 251,
	WORLD_MSS = 1400,
	WORLD_FLOWS = 4096,
};

#define WORLD_CLIENT4 "203.0.113.5"
#define WORLD_CLIENT6 "2001:db8:c::5"
#define WORLD_ROUTER4 "203.0.113.1"
#define WORLD_ROUTER6 "2001:db8:c::1"
/* A service's VIPs, by the number in its name's comment above: 198.51.100.10 is ONE4's. */
#define WORLD_ONE4_VIP4  "198.51.100.10"
#define WORLD_ONE4_VIP6  "2001:db8:10::10"
#define WORLD_ONE6_VIP4  "198.51.100.20"
#define WORLD_ONE6_VIP6  "2001:db8:10::20"
#define WORLD_MANY_VIP4  "198.51.100.30"
#define WORLD_MANY_VIP6  "2001:db8:10::30"
#define WORLD_EMPTY_VIP4 "198.51.100.40"
#define WORLD_EMPTY_VIP6 "2001:db8:10::40"
#define WORLD_BARE_VIP4  "198.51.100.50"
#define WORLD_LOST_VIP4  "198.51.100.60"
#define WORLD_LOST_VIP6  "2001:db8:10::60"
#define WORLD_AWAY_VIP4  "198.51.100.70"
#define WORLD_AWAY_VIP6  "2001:db8:10::70"
#define WORLD_SMALL_VIP4 "198.51.100.80"
#define WORLD_SMALL_VIP6 "2001:db8:10::80"

#define WORLD_GRE4_VIP4  "198.51.100.90"
#define WORLD_GRE4_VIP6  "2001:db8:10::90"
#define WORLD_GRE6_VIP4  "198.51.100.91"
#define WORLD_GRE6_VIP6  "2001:db8:10::91"
#define WORLD_GUE4_VIP4  "198.51.100.92"
#define WORLD_GUE4_VIP6  "2001:db8:10::92"
#define WORLD_GUE6_VIP4  "198.51.100.93"
#define WORLD_GUE6_VIP6  "2001:db8:10::93"
#define WORLD_LINK4_VIP4 "198.51.100.94"
#define WORLD_LINK4_VIP6 "2001:db8:10::94"
#define WORLD_LINK6_VIP4 "198.51.100.95"
#define WORLD_LINK6_VIP6 "2001:db8:10::95"
#define WORLD_FAR_VIP4   "198.51.100.96"
#define WORLD_FAR_VIP6   "2001:db8:10::96"

#define WORLD_VLAN_VIP4   "198.51.100.150"
#define WORLD_VLAN_VIP6   "2001:db8:10::150"
#define WORLD_QINQ_VIP4   "198.51.100.151"
#define WORLD_QINQ_VIP6   "2001:db8:10::151"
#define WORLD_VLINK_VIP4  "198.51.100.152"
#define WORLD_VLINK_VIP6  "2001:db8:10::152"
#define WORLD_CLAMP_VIP4  "198.51.100.153"
#define WORLD_CLAMP_VIP6  "2001:db8:10::153"
#define WORLD_VCLAMP_VIP4 "198.51.100.154"
#define WORLD_VCLAMP_VIP6 "2001:db8:10::154"

#define WORLD_SRC_MAC "\x02\x00\x00\x00\x00\x01"
#define WORLD_DST_MAC "\x02\x00\x00\x00\x00\x02"

/* What a service and a backend are called in WORLD_YAML; "none" for 0. */
const char *world_service_name(uint32_t service);
const char *world_backend_name(uint32_t backend);
/* Where the backend's tunnel ends. */
struct addr world_backend_addr(uint32_t backend);
bool world_service_tracks(uint32_t service);
enum tunnel_mode world_service_mode(uint32_t service);
/* Of the services file: WORLD_EMPTY's backend e1 is to be said down, others behave as ONE4. */
bool world_service_in_file(uint32_t service);

/* Writes everything and forgets all flows. */
void world_fill(struct dp_tables *tables);
void world_forget_flows(struct dp_tables *tables);
/* Gives all of WORLD_MANY's slots to one backend. */
void world_many_to(struct dp_tables *tables, uint32_t backend);

extern const char world_yaml[];
