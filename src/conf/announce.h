/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration's part on who is told of the VIPs: routers by BGP, or a routing table; and
 * when, and with what attributes. Part of conf.h, by whose rules it lives. Zero stands for what is
 * not given, unless said otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

/* Where in the file a thing stands, for checks made after parsing. */
struct conf_place {
	int line;
	int column;
};

enum {
	CONF_PEERS_MAX = 64,
	CONF_COMMUNITIES_MAX = 32, /* of a kind, of a service */
	CONF_PREPEND_MAX = 16,
	CONF_LARGE_PARTS = 3,
};

enum conf_via { CONF_VIA_BGP, CONF_VIA_KERNEL_ROUTE };
enum conf_when { CONF_WHEN_ANY, CONF_WHEN_ALL };

struct conf_bfd {
	uint32_t interval_ms; /* 0: there is none */
	uint32_t multiplier;
};

struct conf_peer {
	struct addr address;
	const char *interface; /* of a link-local address; else NULL */
	struct addr source;    /* none: the kernel's choice */
	uint16_t port;
	uint32_t asn;
	const char *password_file; /* NULL: none */
	uint8_t hops;              /* 0: on the link */
	bool gtsm, passive, extended_next_hop;
	struct conf_bfd bfd;
	struct conf_place place;
};

struct conf_bgp {
	uint32_t asn;          /* 0: no BGP */
	struct addr router_id; /* IPv4 */
	uint64_t hold_ms, graceful_restart_ms, graceful_shutdown_ms;
	struct addr next_hop4, next_hop6; /* none: the session's own address */
	uint32_t local_pref;
	struct conf_peer *peers;
	size_t peer_count; /* 1 or more, if there is BGP */
};

/* How this node announces, whatever the service. */
struct conf_announcing {
	enum conf_via via;
	uint32_t table;        /* of kernel routes */
	uint64_t stop_wait_ms; /* from the routes' end to that of forwarding */
};

struct conf_large {
	uint32_t parts[CONF_LARGE_PARTS];
};

/* When and how a service's VIPs are announced. */
struct conf_announce {
	uint32_t min_usable; /* 1 or more */
	enum conf_when when;
	uint64_t hold_up_ms;
	uint32_t *communities;
	size_t community_count;
	struct conf_large *large_communities;
	size_t large_community_count;
	uint32_t med; /* 0: none is sent */
	uint8_t prepend;
};
