/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BGP finite state machine as a table: a state and an event give the next state and what is to
 * be done (RFC 4271 section 8, with 6608, 6286 and 9687; without DelayOpen). Pure: no timers, no
 * sockets, no memory of its own. Any thread.
 *
 * A connection has a state, not a peer: a session keeps one for its own attempts (from Idle), and
 * one for a connection that the peer made while the first has not come to an end (from Active, by
 * FSM_TCP_ACCEPTED). When an OPEN came, fsm_collide says which of two stays (section 6.8).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum fsm_state {
	FSM_IDLE,
	FSM_CONNECT,
	FSM_ACTIVE,
	FSM_OPENSENT,
	FSM_OPENCONFIRM,
	FSM_ESTABLISHED,
	FSM_STATES,
};

/* The RFC's number is beside each. */
enum fsm_event {
	FSM_START,                 /* 1, 3, 13: also when the idle hold time (back-off) is over */
	FSM_START_PASSIVE,         /* 4, 5: the peer is to connect, we never do */
	FSM_STOP,                  /* 2: by the operator; the caller's notice (a cease) goes out */
	FSM_LOST,                  /* 8: by ourselves, as when BFD says down; the caller's notice */
	FSM_ABANDON,               /* ours: TCP closes without a word, for a graceful restart */
	FSM_CONNECT_RETRY_EXPIRED, /* 9 */
	FSM_HOLD_EXPIRED,          /* 10 */
	FSM_KEEPALIVE_EXPIRED,     /* 11 */
	FSM_SEND_HOLD_EXPIRED,     /* 29, RFC 9687: the peer took no byte for that long */
	FSM_TCP_CONNECTED,         /* 16: our connect() went through */
	FSM_TCP_ACCEPTED,          /* 17: the peer's came in */
	FSM_TCP_FAILED,            /* 18: refused, timed out, reset or closed by the peer */
	FSM_HEADER_ERROR,          /* 21: from wire_frame, with its fault */
	FSM_OPEN_TAKEN,            /* 19: an OPEN that wire_open_accept takes */
	FSM_OPEN_ERROR,            /* 22: one that parsing or accepting refuses, with its fault */
	FSM_COLLISION,             /* 23: this connection is the one to close */
	FSM_NOTICE_VERSION,        /* 24: a NOTIFICATION of a version error */
	FSM_NOTICE,                /* 25: any other */
	FSM_KEEPALIVE_TAKEN,       /* 26 */
	FSM_UPDATE_TAKEN,          /* 27 */
	FSM_UPDATE_ERROR,          /* 28: with its fault */
	FSM_REFRESH_TAKEN,         /* a ROUTE-REFRESH, RFC 2918 */
	FSM_EVENTS,
};

/* To be done in this order. */
enum fsm_action {
	/* The fault's, the caller's cease, or fsm_notice's; closing must not wait for it. */
	FSM_SEND_NOTICE = 1 << 0,
	FSM_DOWN = 1 << 1, /* the session was established and is no more */
	FSM_STOP_CONNECT_RETRY = 1 << 2,
	/* This connection ends: TCP closes, the hold, keepalive and send hold timers stop. */
	FSM_DROP = 1 << 3,
	FSM_COUNT_FAILURE = 1 << 4, /* one more for fsm_back_off_ms */
	FSM_COUNT_CLEAR = 1 << 5,
	FSM_BACK_OFF = 1 << 6, /* start again (FSM_START) after fsm_back_off_ms */
	FSM_CONNECT_TCP = 1 << 7,
	FSM_START_CONNECT_RETRY = 1 << 8,
	FSM_SEND_OPEN = 1 << 9,
	FSM_START_HOLD_LONG = 1 << 10, /* FSM_HOLD_LONG_MS */
	FSM_SEND_KEEPALIVE = 1 << 11,
	FSM_START_KEEPALIVE = 1 << 12, /* the negotiated one; not if the hold time is 0 */
	FSM_START_HOLD = 1 << 13,      /* anew, negotiated; if that is 0, it stops */
	FSM_UP = 1 << 14,              /* established: everything is to be announced */
	FSM_ANSWER_REFRESH = 1 << 15,
};

enum {
	FSM_HOLD_LONG_MS = 240 * 1000,    /* section 8: until the OPEN came */
	FSM_CONNECT_RETRY_MS = 30 * 1000, /* how long one attempt may take */
	FSM_BACK_OFF_MIN_MS = 1000,
	FSM_BACK_OFF_MAX_MS = 60 * 1000,
	FSM_SEND_HOLD_MIN_MS =
		480 * 1000, /* RFC 9687: the greater of this and twice the hold time */
};

struct fsm_step {
	enum fsm_state next;
	uint32_t actions;
};

struct fsm_step fsm_step(enum fsm_state state, enum fsm_event event);

/*
 * The NOTIFICATION of FSM_SEND_NOTICE where neither a fault nor a cease came with the event: the
 * hold timers' and that of an event that the state does not expect. False: the event's own.
 */
bool fsm_notice(enum fsm_state state, enum fsm_event event, uint8_t *ret_code,
		uint8_t *ret_subcode);

/* Who we or they are. */
struct fsm_side {
	uint32_t router_id; /* host order */
	uint32_t asn;
};

enum fsm_collision { FSM_KEEP_BOTH, FSM_CLOSE_NEW, FSM_CLOSE_OLD };

/*
 * An OPEN came on a new connection of a peer that has another one already, in state `old`;
 * `old_is_ours` if we made that. The answer's FSM_COLLISION goes to the one to close. Both sides
 * come to the same one, as that of the greater router id (then AS, RFC 6286) stays.
 */
enum fsm_collision fsm_collide(enum fsm_state old, bool old_is_ours, const struct fsm_side *us,
			       const struct fsm_side *peer);

/* How long to wait after so many failures in a row (1 at least), doubling; jitter as below. */
uint32_t fsm_back_off_ms(uint32_t failures, uint32_t random);
/* 75 to 100 % of it (section 10), by any 32 random bits. */
uint32_t fsm_jitter_ms(uint32_t interval_ms, uint32_t random);
uint32_t fsm_send_hold_ms(uint16_t hold_s);

const char *fsm_state_name(enum fsm_state state); /* as `OpenConfirm` */
