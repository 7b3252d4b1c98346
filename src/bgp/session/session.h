/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A router's session, for the speaker alone: session.c has its events, act.c what they cause,
 * tell.c what the router is told.
 */
#pragma once

#include "bgp/state.h"

/* act.c */
struct happening { /* while one event is taken */
	enum fsm_event event;
	enum fsm_state before;
	const struct wire_notice *notice; /* to be sent, or NULL */
	bool says_goodbye;
};
/* `wanted`: bits of enum fsm_action, done in their order. */
void act(struct track *track, uint32_t wanted, struct happening *happening);
void act_arm(struct bgp_peer *peer); /* after a deadline changed */
void act_retry(struct bgp_peer *peer, uint32_t after_ms);
struct wire_open act_our_open(const struct bgp_peer *peer);
/* Bytes were added; or some went out. */
void act_progress(struct track *track, bool some_went);

/* session.c */
extern const struct conn_ops session_conn_ops;
void session_on_timer(uv_timer_t *timer);
void session_init(struct bgp_peer *peer);
void session_start(struct bgp_peer *peer);
/* Takes the descriptor. */
void session_accept(struct bgp_peer *peer, int fd);
/* To both tracks; `notice` may be NULL. */
void session_event(struct bgp_peer *peer, enum fsm_event event, const struct wire_notice *notice);
/* The established track, or NULL. */
struct track *session_track(struct bgp_peer *peer);
/* A cease that is meant: not the beginning of a graceful restart (RFC 8538). */
struct wire_notice session_cease(const struct bgp_peer *peer, enum wire_cease_subcode subcode,
				 const char *text);
void session_error(struct bgp_peer *peer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* tell.c */
void tell_begin(struct track *track);
/* As much as there is room for. True: nothing is left to tell. */
bool tell(struct bgp_peer *peer);
void tell_again(struct bgp_peer *peer, enum rib_family family);
bool tell_has(const struct bgp_peer *peer, enum rib_family family); /* announced over it */
