/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BGP speaker: one independent session a router, over which the node's VIPs are announced.
 * Routes are a set of the speaker's own; every session that is up, or comes up, is brought to that
 * set by UPDATEs alone, at the pace at which its router reads. What routers announce is checked,
 * counted and dropped. Everything is copied from what a caller passes. All calls and callbacks on
 * the loop's thread. Addresses and communities in host order where they are numbers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/addr.h"
#include "base/err.h"

enum {
	BGP_PORT = 179,
	BGP_HOLD_DEFAULT_S = 90,
	BGP_HOLD_MIN_S = 3, /* but for 0: no keepalives at all (RFC 4271 section 4.2) */
	BGP_RESTART_MAX_S = 4095,
	BGP_PASSWORD_MAX = 80, /* TCP_MD5SIG_MAXKEYLEN */
	BGP_PEERS_MAX = 256,
	BGP_ROUTES_MAX = 65536,
	BGP_COMMUNITIES_MAX = 64,
	BGP_PREPEND_MAX = 32,
	BGP_TEXT_MAX = 192,
};

/* What holds for all sessions. Zero is a sensible value of all but the first two. */
struct bgp_spec {
	uint32_t asn;       /* 1 to 4294967294, not 23456 */
	uint32_t router_id; /* not 0; 192.0.2.1 is 0xc0000201 */
	uint32_t hold_s;    /* proposed; 0: BGP_HOLD_DEFAULT_S; else BGP_HOLD_MIN_S to 65535 */
	uint32_t restart_s; /* a router keeps our routes so long without us; 0: never (RFC 4724) */
	bool restarting;    /* the tables of the process before still forward: R and F bits */
	uint32_t send_hold_s; /* who takes no byte for so long is given up; 0: as RFC 9687 has it */
	uint16_t listen_port; /* 0: BGP_PORT */
	uint32_t local_pref;  /* for routers of our own AS; 0: 100 */
	const char *stop_text; /* for the router's log (RFC 9003), cut to 128 bytes; NULL: none */
};

struct bgp_peer_spec {
	struct addr address;
	const char *interface; /* of a link-local address, and of none other; else NULL */
	struct addr local;     /* to connect from and listen on; none: the kernel's choice, any */
	uint16_t port;         /* to connect to; 0: BGP_PORT */
	uint32_t asn;          /* the router's; the session is refused if it says another */
	const char *password;  /* TCP-MD5 (RFC 2385), 1 to BGP_PASSWORD_MAX bytes; NULL: none */
	uint8_t hops;          /* 0: on the link; else so many at most (multihop) */
	bool gtsm;             /* RFC 5082; not with hops */
	bool passive;          /* waits for the router to connect */
	/*
	 * Next hops; none: the session's own address, which suits its own family. The other
	 * family is announced over the session only where its next hop is given here, or, IPv4
	 * over an IPv6 session, with `extended_next_hop`, if the router can too (RFC 8950).
	 */
	struct addr next_hop4, next_hop6;
	bool extended_next_hop;
};

/* RFC 4271 section 8.2.2 */
enum bgp_peer_state {
	BGP_PEER_IDLE, /* waits for the next attempt, or stopped */
	BGP_PEER_CONNECT,
	BGP_PEER_ACTIVE, /* waits for the router to connect */
	BGP_PEER_OPEN_SENT,
	BGP_PEER_OPEN_CONFIRM,
	BGP_PEER_ESTABLISHED,
};

struct bgp_peer_status {
	enum bgp_peer_state state;
	uint64_t since_ns;             /* of that state, monotonic */
	uint64_t established_ns;       /* the last time it came up; 0: never */
	char last_error[BGP_TEXT_MAX]; /* why it last went down or could not come up; "" if never */
	uint64_t last_error_ns;
	struct addr local_address; /* of the session; none when there is no connection */
	uint32_t router_id;        /* the router's, as its last OPEN said */
	uint32_t hold_s;           /* as negotiated; 0: none */
	bool ipv4, ipv6;           /* routes of that family are announced over it */
	bool graceful_restart;     /* the router keeps our routes while we restart */
	uint32_t prefixes;         /* that it was told and not told otherwise */
	uint32_t pending;          /* changes that it was not told yet */
	uint64_t ups, downs;       /* came up, went down */
	uint64_t attempts;         /* connections begun, ours and the router's */
	uint64_t messages_in, messages_out, updates_in, updates_out;
	uint64_t notifications_in, notifications_out, refreshes_in;
	uint64_t routes_dropped; /* announced by the router */
	uint64_t malformed;      /* messages with an error, also those treated as withdrawals */
	uint64_t collisions;     /* connections closed for another of the same router */
};

struct bgp_status {
	uint32_t routes;     /* announced */
	uint64_t strangers;  /* connections from addresses of no peer, closed */
	uint64_t refused;    /* connections from a peer that were not wanted then, closed */
	bool ready, stopped; /* bgp_ready, bgp_stop were called */
	bool graceful_shutdown;
	char listen_error[BGP_TEXT_MAX]; /* "" if every address is listened on */
};

struct bgp;
struct bgp_peer;

struct bgp_large { /* RFC 8092 */
	uint32_t global, local1, local2;
};

struct bgp_route {
	struct prefix prefix;
	uint32_t med;
	bool has_med;
	uint8_t prepend; /* our AS so many times more, for routers of other ASes */
	const uint32_t *communities;
	size_t community_count; /* BGP_COMMUNITIES_MAX at most, of each kind */
	const struct bgp_large *large_communities;
	size_t large_community_count;
};

enum bgp_stop {
	BGP_STOP_PLANNED, /* withdraws all, then Cease: traffic leaves before the session does */
	BGP_STOP_RESTART, /* closes without a word: routers keep the routes for restart_s */
};

/*
 * Called from the loop, never from within a function below, after the state changed; changes of
 * one loop turn are one call. It may call anything, bgp_remove_peer and bgp_close too.
 */
typedef void bgp_changed(void *arg, struct bgp_peer *peer, enum bgp_peer_state state);
/* Every session is closed. It may call bgp_close. */
typedef void bgp_stopped(void *arg);

/* -EINVAL with words for a value out of range. Nothing is sent before there is a peer. */
int bgp_open(uv_loop_t *loop, const struct bgp_spec *spec, struct bgp **ret, struct err *err);

/*
 * Begins connecting, or listening, in this loop turn's end. -EEXIST if there is a peer of this
 * address, -EINVAL, -ENOSPC with words. An address that cannot be listened on is no error: it is in
 * bgp_status, and tried again. `changed` may be NULL.
 */
int bgp_add_peer(struct bgp *bgp, const struct bgp_peer_spec *spec, bgp_changed *changed, void *arg,
		 struct bgp_peer **ret, struct err *err);
/* Cease/peer de-configured, and the peer is gone: no callback comes any more. */
void bgp_remove_peer(struct bgp_peer *peer);

/* Whether its sessions are signed by this one; NULL: by none. */
bool bgp_peer_has_password(const struct bgp_peer *peer, const char *password);

/*
 * Announces, or changes what is announced of the same prefix; the same again is nothing. Changes of
 * one loop turn leave together. -EINVAL (bits past the length, too many communities), -ENOSPC.
 */
int bgp_announce(struct bgp *bgp, const struct bgp_route *route);
/* -ENOENT if it is not announced. */
int bgp_withdraw(struct bgp *bgp, const struct prefix *prefix);

/*
 * The first set of routes is complete. Until then, and for restart_s at most, no End-of-RIB is sent
 * if `restarting`: routers keep what the process before had announced, so that a VIP whose health
 * is not known yet is not lost. To be called also without graceful restart.
 */
void bgp_ready(struct bgp *bgp);

/*
 * The way to the router is broken (BFD says so): the session ends at once with Cease/BFD down (RFC
 * 9384) and these words; the next attempt comes after a back-off. Nothing if there is no session.
 */
void bgp_peer_lost(struct bgp_peer *peer, const char *why);

/* RFC 8326: every route is announced again with GRACEFUL_SHUTDOWN (LOCAL_PREF 0 in our own AS), or
 * without. */
void bgp_set_graceful_shutdown(struct bgp *bgp, bool on);

/*
 * Ends all sessions, for good. `stopped` comes when the last is closed: what was written has
 * reached the routers, or a few seconds passed. A second call only hastens: BGP_STOP_RESTART ends
 * what a planned stop still waits for. `stopped` may be NULL.
 */
void bgp_stop(struct bgp *bgp, enum bgp_stop how, bgp_stopped *stopped, void *arg);
/* Frees at once, closing what bgp_stop did not, as BGP_STOP_RESTART does. The loop must run until
 * its handles are closed. */
void bgp_close(struct bgp *bgp);

/* Valid until the loop runs on or the peer is removed. */
const struct bgp_peer_status *bgp_peer_status(struct bgp_peer *peer);
const struct bgp_status *bgp_status(struct bgp *bgp);
const char *bgp_peer_state_name(enum bgp_peer_state state);
