/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A router's session: what happens on its connections and with their timers goes as events to the
 * table of fsm.h, and what that says is done here, an action a function.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "bgp/conn/tcp.h"
#include "bgp/session/session.h"
#include "bgp/wire/update.h"

enum {
	CALM_MS = 60 * 1000,     /* a session that was up so long begins its back-off anew */
	SUPERSEDE_MS = 5 * 1000, /* and so long, is not a twin of one that begins */
};

static void take(struct track *track, enum fsm_event event, const struct wire_notice *notice);

void session_error(struct bgp_peer *peer, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(peer->status.last_error, sizeof(peer->status.last_error), format, list);
	va_end(list);
	peer->status.last_error_ns = time_now_ns();
}

struct track *session_track(struct bgp_peer *peer)
{
	for (int i = 0; i < 2; i++)
		if (peer->tracks[i].state == FSM_ESTABLISHED && peer->tracks[i].conn)
			return &peer->tracks[i];
	return NULL;
}

struct wire_notice session_cease(const struct bgp_peer *peer, enum wire_cease_subcode subcode,
				 const char *text)
{
	const struct track *track = session_track((struct bgp_peer *)peer);
	struct wire_notice cease = wire_notice_cease(subcode, text), hard;

	if (!track || !track->session.graceful_notice)
		return cease;
	hard = wire_notice(WIRE_CEASE, WIRE_CEASE_HARD_RESET);
	hard.data[0] = cease.code;
	hard.data[1] = cease.subcode;
	if (cease.length > WIRE_NOTICE_DATA_MAX - 2)
		cease.length = WIRE_NOTICE_DATA_MAX - 2;
	memcpy(hard.data + 2, cease.data, cease.length);
	hard.length = (uint16_t)(cease.length + 2);
	return hard;
}

/* --- events --- */

static enum bgp_peer_state state_of(const struct bgp_peer *peer)
{
	enum fsm_state own = peer->own->state;
	enum fsm_state other = peer->other->conn ? peer->other->state : FSM_IDLE;

	return (enum bgp_peer_state)(own > other ? own : other);
}

static void note_state(struct bgp_peer *peer)
{
	struct bgp_peer_status *status = &peer->status;
	enum bgp_peer_state state = state_of(peer);

	if (state == status->state)
		return;
	if (state < BGP_PEER_ESTABLISHED) {
		status->local_address = (struct addr){0};
		status->ipv4 = status->ipv6 = status->graceful_restart = false;
		status->hold_s = 0;
	}
	status->state = state;
	status->since_ns = time_now_ns();
	peer->notify = true;
	bgp_touch(peer->bgp);
}

static struct track *twin_of(const struct track *track)
{
	struct bgp_peer *peer = track->peer;

	return track == peer->own ? peer->other : peer->own;
}

static void take(struct track *track, enum fsm_event event, const struct wire_notice *notice)
{
	struct happening happening = {.event = event, .before = track->state, .notice = notice};
	struct fsm_step step = fsm_step(track->state, event);

	track->state = step.next;
	act(track, step.actions, &happening);
	note_state(track->peer);
	/* A socket that could not even begin to connect. */
	if (step.actions & FSM_CONNECT_TCP && !track->conn)
		take(track, FSM_TCP_FAILED, NULL);
	/* Another attempt has nothing left to win. */
	if (step.actions & FSM_UP && twin_of(track)->conn)
		take(twin_of(track), FSM_COLLISION, NULL);
	act_arm(track->peer);
}

void session_event(struct bgp_peer *peer, enum fsm_event event, const struct wire_notice *notice)
{
	take(peer->other, event, notice);
	take(peer->own, event, notice);
}

/* --- what connections say --- */

static void on_connected(void *arg, int code)
{
	struct track *track = arg;

	if (!code) {
		take(track, FSM_TCP_CONNECTED, NULL);
		return;
	}
	session_error(track->peer, "connect: %s", strerror(-code));
	take(track, FSM_TCP_FAILED, NULL);
}

static void on_ended(void *arg, int code)
{
	struct track *track = arg;

	/* What it said last explains more. */
	session_error(track->peer, "the router closed the connection%s%s", code ? ": " : "",
		      code ? strerror(-code) : "");
	take(track, FSM_TCP_FAILED, NULL);
}

static void on_fault(void *arg, const struct wire_notice *fault)
{
	struct track *track = arg;

	track->peer->status.malformed++;
	take(track, FSM_HEADER_ERROR, fault);
}

/* False: this connection is the one that ends. */
static bool survives_collision(struct track *track)
{
	const struct bgp_peer *peer = track->peer;
	struct track *twin = twin_of(track);
	struct fsm_side us = {peer->bgp->spec.router_id, peer->bgp->spec.asn};
	struct fsm_side them = {track->theirs.router_id, track->theirs.asn};
	struct wire_notice cease = wire_notice_cease(WIRE_CEASE_COLLISION, NULL);
	enum fsm_collision collision;

	if (!twin->conn)
		return true;
	collision = fsm_collide(twin->state, twin->dialed, &us, &them);
	/* One that has not connected yet is no use; of two by the same side the older is dead. */
	if (twin->state < FSM_OPENSENT ||
	    (twin->state < FSM_ESTABLISHED && twin->dialed == track->dialed))
		collision = FSM_CLOSE_OLD;
	track->peer->status.collisions++;
	take(collision == FSM_CLOSE_NEW ? track : twin, FSM_COLLISION, &cease);
	return collision == FSM_CLOSE_OLD;
}

static void on_open(struct track *track, const uint8_t *message, size_t length)
{
	struct bgp_peer *peer = track->peer;
	struct wire_open ours = act_our_open(peer);
	struct wire_notice fault;
	int code = 0;

	if (track->state == FSM_OPENSENT)
		code = wire_open_parse(message, length, &track->theirs, &fault);
	if (!code && track->state == FSM_OPENSENT)
		code = wire_open_accept(&ours, &track->theirs, peer->spec.asn, &track->session,
					&fault);
	if (code) {
		peer->status.malformed++;
		take(track, FSM_OPEN_ERROR, &fault);
		return;
	}
	if (track->state != FSM_OPENSENT || survives_collision(track))
		take(track, FSM_OPEN_TAKEN, NULL);
}

static void on_update(struct track *track, const uint8_t *message, size_t length)
{
	struct bgp_peer_status *status = &track->peer->status;
	struct wire_update update;
	struct wire_notice fault;

	status->updates_in++;
	if (track->state != FSM_ESTABLISHED) {
		take(track, FSM_UPDATE_TAKEN, NULL);
		return;
	}
	if (wire_update_parse(&track->session, message, length, &update, &fault)) {
		status->malformed++;
		take(track, FSM_UPDATE_ERROR, &fault);
		return;
	}
	status->routes_dropped += update.announced4 + update.announced6;
	status->malformed += update.treatment != WIRE_TAKEN;
	take(track, FSM_UPDATE_TAKEN, NULL);
}

static void on_notice(struct track *track, const uint8_t *message, size_t length)
{
	struct wire_notice notice;
	char text[WIRE_NOTICE_TEXT_MAX];

	wire_notice_parse(message, length, &notice);
	track->peer->status.notifications_in++;
	session_error(track->peer, "the router says: %s", wire_notice_text(&notice, text));
	take(track,
	     notice.code == WIRE_ERR_OPEN && notice.subcode == WIRE_BAD_VERSION ? FSM_NOTICE_VERSION
										: FSM_NOTICE,
	     NULL);
}

static void on_refresh(struct track *track, const uint8_t *message, size_t length)
{
	if (track->state == FSM_ESTABLISHED &&
	    wire_refresh_parse(message, length, &track->session, &track->refresh))
		return;
	track->peer->status.refreshes_in++;
	take(track, FSM_REFRESH_TAKEN, NULL);
}

static void on_message(void *arg, enum wire_type type, const uint8_t *message, size_t length)
{
	struct track *track = arg;

	track->peer->status.messages_in++;
	switch (type) {
	case WIRE_OPEN: on_open(track, message, length); break;
	case WIRE_UPDATE: on_update(track, message, length); break;
	case WIRE_NOTIFICATION: on_notice(track, message, length); break;
	case WIRE_KEEPALIVE: take(track, FSM_KEEPALIVE_TAKEN, NULL); break;
	case WIRE_REFRESH: on_refresh(track, message, length); break;
	}
}

static void on_sent(void *arg)
{
	struct track *track = arg;

	act_progress(track, true);
	act_arm(track->peer);
	if (track->state == FSM_ESTABLISHED)
		bgp_touch(track->peer->bgp);
}

const struct conn_ops session_conn_ops = {
	.connected = on_connected,
	.message = on_message,
	.fault = on_fault,
	.ended = on_ended,
	.sent = on_sent,
};

/* --- what timers say --- */

/* What came in time may still wait in the socket, when the loop was held up by other work. */
static void hold_expired(struct track *track)
{
	track->deadlines[HOLD] = 0;
	if (track->conn)
		conn_read(track->conn);
	if (track->conn && !track->deadlines[HOLD])
		take(track, FSM_HOLD_EXPIRED, NULL);
}

static void retry_expired(struct track *track)
{
	struct bgp_peer *peer = track->peer;

	peer->wary = false;
	if (peer->other->conn)
		act_retry(peer, FSM_CONNECT_RETRY_MS);
	else if (peer->own->state == FSM_IDLE)
		take(peer->own, peer->spec.passive ? FSM_START_PASSIVE : FSM_START, NULL);
	else if (!peer->spec.passive)
		take(peer->own, FSM_CONNECT_RETRY_EXPIRED, NULL);
}

static void deadline_passed(struct track *track, enum deadline which)
{
	track->deadlines[which] = 0;
	switch (which) {
	case RETRY: retry_expired(track); break;
	case HOLD: hold_expired(track); break;
	case KEEPALIVE: take(track, FSM_KEEPALIVE_EXPIRED, NULL); break;
	case SEND_HOLD: take(track, FSM_SEND_HOLD_EXPIRED, NULL); break;
	case DEADLINES: break;
	}
}

void session_on_timer(uv_timer_t *timer)
{
	struct bgp_peer *peer = timer->data;
	uint64_t now_ms = time_now_ms();

	for (int i = 0; i < 2; i++)
		for (int which = 0; which < DEADLINES; which++) {
			uint64_t due_ms = peer->tracks[i].deadlines[which];

			if (due_ms && due_ms <= now_ms)
				deadline_passed(&peer->tracks[i], (enum deadline)which);
		}
	act_arm(peer);
}

/* --- from outside --- */

void session_init(struct bgp_peer *peer)
{
	for (int i = 0; i < 2; i++)
		peer->tracks[i].peer = peer;
	peer->own = &peer->tracks[0];
	peer->other = &peer->tracks[1];
	peer->status.since_ns = time_now_ns();
	bgp_count_handle(peer->bgp, (uv_handle_t *)&peer->timer, peer);
}

void session_start(struct bgp_peer *peer)
{
	act_retry(peer, 0);
}

/* The one that takes what came in; NULL: it is not wanted. */
static struct track *track_for_accepted(struct bgp_peer *peer)
{
	struct track *own = peer->own, *other = peer->other;

	if (peer->stopped || (own->state == FSM_IDLE && !other->conn && peer->wary))
		return NULL;
	if (own->state == FSM_ACTIVE && !own->conn)
		return own;
	if (!other->conn)
		return other;
	/* The router makes one connection at a time: an older one that is not up is forgotten. */
	if (other->state < FSM_ESTABLISHED) {
		take(other, FSM_TCP_FAILED, NULL);
		return other;
	}
	if (own->conn)
		return NULL;
	peer->own = other;
	peer->other = own;
	peer->own->deadlines[RETRY] = peer->other->deadlines[RETRY] = 0;
	return peer->other;
}

/* A router that keeps our routes over a restart may have restarted without a word: its new
 * connection ends the old one (RFC 4724 section 5). */
static void supersede(struct bgp_peer *peer)
{
	struct track *track = session_track(peer);

	if (!track || !track->theirs.graceful ||
	    time_now_ns() - peer->status.established_ns < SUPERSEDE_MS * TIME_MILLI_NS)
		return;
	session_error(peer, "the router connected anew");
	take(track, FSM_TCP_FAILED, NULL);
	peer->wary = false;
}

void session_accept(struct bgp_peer *peer, int fd)
{
	struct track *track;

	supersede(peer);
	track = track_for_accepted(peer);
	if (!track || tcp_adopt(fd, &peer->spec, peer->internal)) {
		peer->bgp->status.refused++;
		tcp_abort(fd);
		return;
	}
	peer->status.attempts++;
	track->dialed = false;
	if (conn_open(&peer->bgp->group, fd, false, &session_conn_ops, track, &track->conn))
		return;
	if (track != peer->own)
		track->state = FSM_ACTIVE;
	take(track, FSM_TCP_ACCEPTED, NULL);
}
