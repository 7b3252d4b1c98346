/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the speaker share, and nobody else reads: speaker.c has the interface,
 * listen.c what comes in; what a session does is in session/.
 */
#pragma once

#include <net/if.h>
#include <sys/queue.h>

#include "base/log.h"
#include "bgp/conn/conn.h"
#include "bgp/fsm.h"
#include "bgp/rib.h"
#include "bgp/speaker.h"
#include "bgp/wire/wire.h"

enum { BGP_STOP_TEXT_MAX = 128 };

/* Of a track; RETRY is the peer's own, for the next attempt or the end of one. */
enum deadline { RETRY, HOLD, KEEPALIVE, SEND_HOLD, DEADLINES };

/* One connection's state machine. A router has two: when both ends connect at the same time there
 * are two connections for a moment (RFC 4271 section 6.8). */
struct track {
	struct bgp_peer *peer;
	enum fsm_state state;
	struct conn *conn;
	bool dialed; /* we made the connection */
	struct wire_open theirs;
	struct wire_session session;   /* from OpenConfirm on */
	enum wire_family refresh;      /* what is asked for again */
	uint64_t deadlines[DEADLINES]; /* monotonic ms; 0: none */
};

struct bgp_peer {
	LIST_ENTRY(bgp_peer) link;
	struct bgp *bgp;
	struct bgp_peer_spec spec;
	char *password; /* its own; NULL: none */
	char interface[IF_NAMESIZE];
	bool internal; /* of our own AS */
	struct listener *listener;
	struct track tracks[2];
	struct track *own, *other; /* `own` is the one that attempts */
	uv_timer_t timer;          /* of the earliest deadline */
	uint32_t failures;         /* in a row, for the back-off */
	uint32_t flaps;            /* sessions in a row that were short */
	bool wary;                 /* nothing is accepted during this back-off */
	bool stopped;
	struct rib_cursor cursors[RIB_FAMILIES];
	bool end_of_rib_due[RIB_FAMILIES];
	struct bgp_peer_status status;
	bgp_changed *changed;
	void *arg;
	bool notify; /* `changed` is to be called */
	struct log_limit log;
};

LIST_HEAD(bgp_listeners, listener);

struct bgp {
	uv_loop_t *loop;
	struct bgp_spec spec;
	char stop_text[BGP_STOP_TEXT_MAX + 1];
	struct rib *rib;
	struct conn_group group;
	LIST_HEAD(, bgp_peer) peers;
	size_t peer_count;
	struct bgp_listeners listeners;
	struct bgp_status status;
	struct log_limit log;
	uv_timer_t flush;  /* at the end of a loop turn in which something changed */
	uv_timer_t ready;  /* the first set of routes is waited for so long */
	uv_timer_t stop;   /* a planned stop takes so long at most */
	uv_timer_t listen; /* what could not be listened on is tried again */
	size_t handles;    /* not closed yet, with the peers' and listeners' */
	uint64_t random;
	bool stopping; /* what is established ends when all is told */
	bool closed;
	bgp_stopped *stopped;
	void *stopped_arg;
};

/* speaker.c */
void bgp_touch(struct bgp *bgp); /* something is to be told, or called back */
uint32_t bgp_random(struct bgp *bgp);
void bgp_count_handle(struct bgp *bgp, uv_handle_t *handle, void *data);
void bgp_handle_closed(struct bgp *bgp); /* may free it */

/* listen.c */
int listen_join(struct bgp_peer *peer);
void listen_leave(struct bgp_peer *peer);
void listen_retry(struct bgp *bgp);
void listen_stop(struct bgp *bgp);
