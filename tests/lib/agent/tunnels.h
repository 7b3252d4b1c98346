/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of tunnels' frames for the agent: each row a frame as it arrives and what must become
 * of it where TUNNEL_VIP4, TUNNEL_VIP6 and two prefixes are the VIPs and tunnel_balancers is
 * believed.
 */
#pragma once

#include "decap/abi_agent.h"
#include "tests/lib/frame/frame.h"

#define TUNNEL_VIP4   "198.51.100.10"
#define TUNNEL_VIP6   "2001:db8:10::10"
#define TUNNEL_VIPS4  "198.51.100.64/26" /* VIPs that are prefixes */
#define TUNNEL_VIPS6  "2001:db8:20::/48"
#define TUNNEL_LB4    "100.64.1.77" /* in a balancer's prefix */
#define TUNNEL_LB6    "2001:db8:f::77"
#define TUNNEL_PEERS4 "10.0.1.0/24"
#define TUNNEL_PEERS6 "2001:db8:1::/64"

enum { TUNNEL_BALANCERS = 3 };
extern const char *const tunnel_balancers[TUNNEL_BALANCERS];

/* What stands in the outer header beyond the plain tunnel. */
enum tunnel_shape {
	TUNNEL_PLAIN,
	TUNNEL_OPTIONS4, /* four bytes of IPv4 options */
	TUNNEL_LIMIT6,   /* a tunnel encapsulation limit */
	TUNNEL_PADDED6,  /* a destination options header without it */
	TUNNEL_TAGGED,   /* a VLAN tag */
	TUNNEL_BARE,     /* no tunnel at all: the inner frame as it is */
};

/* In the frame as it arrives; `at` counts from the outer IP header, or from the inner one. */
struct tunnel_lie {
	enum { TUNNEL_OUTER = 1, TUNNEL_INNER } in;
	uint16_t at;
	uint8_t size;
	uint32_t value;
};

struct tunnel_row {
	const char *name;
	const char *from; /* outer source; its family is the tunnel's */
	struct frame_spec inner;
	enum agent_verdict verdict;
	enum tunnel_shape shape;
	uint8_t outer_tos;  /* set if not 0 */
	uint8_t tos_result; /* of the inner packet, if it changes */
	struct tunnel_lie lies[2];
	uint16_t padding, cut;
	enum frame_mode mode;
};

extern const struct tunnel_row tunnel_rows[];
extern const size_t tunnel_row_count;

/* The inner frame alone, and the frame as it arrives, whose l4 is where the inner packet begins. */
void tunnel_build(const struct tunnel_row *row, struct frame *inner, struct frame *arrived);
