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
#include "bgp/state.h"
#include "bgp/tcp.h"
#include "bgp/wire_update.h"

enum {
	CALM_MS = 60 * 1000,     /* a session that was up so long begins its back-off anew */
	SUPERSEDE_MS = 5 * 1000, /* and so long, is not a twin of one that begins */
};

/* While one event is taken. */
struct happening {
	enum fsm_event event;
	enum fsm_state before;
	const struct wire_notice *notice; /* to be sent, or NULL */
	bool says_goodbye;
};

static void take(struct track *track, enum fsm_event event, const struct wire_notice *notice);
static void on_timer(uv_timer_t *timer);

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

/* --- timers --- */

/* One timer for all deadlines of a router. */
static void arm(struct bgp_peer *peer)
{
	uint64_t earliest_ms = 0, now_ms = time_now_ms();

	for (int i = 0; i < 2; i++)
		for (int which = 0; which < DEADLINES; which++) {
			uint64_t due_ms = peer->tracks[i].deadlines[which];

			if (due_ms && (!earliest_ms || due_ms < earliest_ms))
				earliest_ms = due_ms;
		}
	uv_update_time(peer->bgp->loop);
	if (earliest_ms)
		uv_timer_start(&peer->timer, on_timer,
			       earliest_ms > now_ms ? earliest_ms - now_ms : 0, 0);
	else
		uv_timer_stop(&peer->timer);
}

static void set_deadline(struct track *track, enum deadline which, uint32_t after_ms)
{
	track->deadlines[which] = time_now_ms() + after_ms;
	arm(track->peer);
}

/* The next attempt is the peer's, whichever track asks for it. */
static void set_retry(struct bgp_peer *peer, uint32_t after_ms)
{
	peer->own->deadlines[RETRY] = time_now_ms() + after_ms;
	peer->other->deadlines[RETRY] = 0;
	arm(peer);
}

void session_progress(struct track *track, bool some_went)
{
	if (conn_unsent(track->conn) == 0)
		track->deadlines[SEND_HOLD] = 0;
	else if (some_went || !track->deadlines[SEND_HOLD])
		set_deadline(track, SEND_HOLD, fsm_send_hold_ms(track->session.hold_s));
}

/* --- messages out --- */

static void send_message(struct track *track, int length)
{
	if (length <= 0)
		return;
	conn_add(track->conn, (size_t)length);
	track->peer->status.messages_out++;
	conn_flush(track->conn);
	session_progress(track, false);
}

static struct wire_open our_open(const struct bgp_peer *peer)
{
	const struct bgp_spec *spec = &peer->bgp->spec;
	bool is4 = addr_is4(&peer->spec.address);
	bool ready = peer->bgp->status.ready;
	struct wire_open open = {
		.asn = spec->asn,
		.router_id = spec->router_id,
		.hold_s = (uint16_t)spec->hold_s,
		.as4 = true,
		.refresh = true,
		.next_hop6 = peer->spec.extended_next_hop,
	};

	open.ipv4 = is4 || peer->spec.extended_next_hop || !addr_is_none(&peer->spec.next_hop4);
	open.ipv6 = !is4 || !addr_is_none(&peer->spec.next_hop6);
	if (!spec->restart_s)
		return open;
	open.graceful = open.graceful_notice = true;
	open.restart_s = (uint16_t)spec->restart_s;
	open.restarting = spec->restarting && !ready;
	open.graceful4 = open.ipv4;
	open.graceful6 = open.ipv6;
	/* A first start has nothing that still forwards; later the tables are there all the time. */
	open.forwarding4 = open.ipv4 && (spec->restarting || ready);
	open.forwarding6 = open.ipv6 && (spec->restarting || ready);
	return open;
}

static void send_notice(struct track *track, const struct wire_notice *notice)
{
	struct bgp_peer *peer = track->peer;
	uint8_t *room = track->conn ? conn_room(track->conn) : NULL;
	char text[WIRE_NOTICE_TEXT_MAX];

	if (notice->code != WIRE_CEASE)
		session_error(peer, "told the router: %s", wire_notice_text(notice, text));
	if (!room)
		return;
	send_message(track, wire_notice_format(notice, room));
	peer->status.notifications_out++;
}

/* --- actions, in the order of the table's bits --- */

static void do_notice(struct track *track, struct happening *happening)
{
	struct wire_notice notice;
	uint8_t code, subcode;

	happening->says_goodbye = true;
	if (happening->notice) {
		send_notice(track, happening->notice);
	} else if (fsm_notice(happening->before, happening->event, &code, &subcode)) {
		notice = wire_notice(code, subcode);
		send_notice(track, &notice);
	}
}

static void do_down(struct track *track, struct happening *happening)
{
	struct bgp_peer *peer = track->peer;
	char address[ADDR_TEXT_MAX];

	(void)happening;
	if (time_now_ns() - peer->status.established_ns >= CALM_MS * TIME_MILLI_NS)
		peer->failures = 0;
	peer->status.downs++;
	log_write(LOG_WARN, &peer->log, "the BGP session is down", "peer=%s reason=%s",
		  addr_format(&peer->spec.address, address),
		  log_quote(peer->status.last_error).text);
}

static void do_stop_retry(struct track *track, struct happening *happening)
{
	(void)happening;
	if (track == track->peer->own)
		track->deadlines[RETRY] = 0;
}

static void do_drop(struct track *track, struct happening *happening)
{
	struct conn *conn = track->conn;

	for (int which = HOLD; which < DEADLINES; which++)
		track->deadlines[which] = 0;
	track->conn = NULL;
	if (conn)
		conn_close(conn, happening->says_goodbye ? CONN_LINGER : CONN_SHUT);
}

static void do_count(struct track *track, struct happening *happening)
{
	(void)happening;
	track->peer->failures++;
}

/* While the other track has a connection there is nothing to attempt. */
static void do_back_off(struct track *track, struct happening *happening)
{
	struct bgp_peer *peer = track->peer;

	if (peer->stopped)
		return;
	peer->wary = happening->before >= FSM_OPENSENT && happening->event != FSM_COLLISION;
	if (peer->own->state == FSM_IDLE)
		set_retry(peer, fsm_back_off_ms(peer->failures ? peer->failures : 1,
						bgp_random(peer->bgp)));
}

static const struct conn_ops conn_ops;

static void do_connect(struct track *track, struct happening *happening)
{
	struct bgp_peer *peer = track->peer;
	int fd = tcp_connect(&peer->spec, peer->internal), code = fd;

	(void)happening;
	peer->status.attempts++;
	track->dialed = true;
	if (fd >= 0)
		code = conn_open(&peer->bgp->group, fd, true, &conn_ops, track, &track->conn);
	if (code < 0)
		session_error(peer, "connect: %s", strerror(-code));
}

static void do_start_retry(struct track *track, struct happening *happening)
{
	(void)happening;
	if (track == track->peer->own)
		set_retry(track->peer,
			  fsm_jitter_ms(FSM_CONNECT_RETRY_MS, bgp_random(track->peer->bgp)));
}

static void do_open(struct track *track, struct happening *happening)
{
	struct wire_open open = our_open(track->peer);
	uint8_t *room = conn_room(track->conn);

	(void)happening;
	if (room)
		send_message(track, wire_open_format(&open, room));
}

static void do_hold_long(struct track *track, struct happening *happening)
{
	(void)happening;
	set_deadline(track, HOLD, FSM_HOLD_LONG_MS);
}

/* Without room for it there is no need of it: the router reads nothing. */
static void do_keepalive(struct track *track, struct happening *happening)
{
	uint8_t *room = conn_room(track->conn);

	(void)happening;
	if (room)
		send_message(track, wire_keepalive_format(room));
}

static void do_start_keepalive(struct track *track, struct happening *happening)
{
	(void)happening;
	if (track->session.keepalive_s)
		set_deadline(track, KEEPALIVE,
			     fsm_jitter_ms(track->session.keepalive_s * 1000U,
					   bgp_random(track->peer->bgp)));
}

static void do_start_hold(struct track *track, struct happening *happening)
{
	(void)happening;
	track->deadlines[HOLD] = 0;
	if (track->session.hold_s)
		set_deadline(track, HOLD, track->session.hold_s * 1000U);
}

static void do_up(struct track *track, struct happening *happening)
{
	struct bgp_peer *peer = track->peer;
	char address[ADDR_TEXT_MAX];

	(void)happening;
	peer->status.ups++;
	peer->status.established_ns = time_now_ns();
	peer->status.router_id = track->theirs.router_id;
	peer->status.hold_s = track->session.hold_s;
	peer->status.graceful_restart = track->session.graceful4 || track->session.graceful6;
	tell_begin(track);
	bgp_touch(peer->bgp);
	log_write(LOG_INFO, &peer->log, "the BGP session is up", "peer=%s",
		  addr_format(&peer->spec.address, address));
}

static void do_refresh(struct track *track, struct happening *happening)
{
	(void)happening;
	tell_again(track->peer, track->refresh == WIRE_IPV4 ? RIB_IPV4 : RIB_IPV6);
	bgp_touch(track->peer->bgp);
}

static const struct {
	enum fsm_action action;
	void (*run)(struct track *track, struct happening *happening);
} actions[] = {
	{FSM_SEND_NOTICE, do_notice},
	{FSM_DOWN, do_down},
	{FSM_STOP_CONNECT_RETRY, do_stop_retry},
	{FSM_DROP, do_drop},
	{FSM_COUNT_FAILURE, do_count},
	/* FSM_COUNT_CLEAR: a session that is soon down again is a failure too, see do_down */
	{FSM_BACK_OFF, do_back_off},
	{FSM_CONNECT_TCP, do_connect},
	{FSM_START_CONNECT_RETRY, do_start_retry},
	{FSM_SEND_OPEN, do_open},
	{FSM_START_HOLD_LONG, do_hold_long},
	{FSM_SEND_KEEPALIVE, do_keepalive},
	{FSM_START_KEEPALIVE, do_start_keepalive},
	{FSM_START_HOLD, do_start_hold},
	{FSM_UP, do_up},
	{FSM_ANSWER_REFRESH, do_refresh},
};

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

static void take(struct track *track, enum fsm_event event, const struct wire_notice *notice)
{
	struct happening happening = {.event = event, .before = track->state, .notice = notice};
	struct fsm_step step = fsm_step(track->state, event);

	track->state = step.next;
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		if (step.actions & actions[i].action)
			actions[i].run(track, &happening);
	note_state(track->peer);
	/* A socket that could not even begin to connect. */
	if (step.actions & FSM_CONNECT_TCP && !track->conn)
		take(track, FSM_TCP_FAILED, NULL);
	arm(track->peer);
}

void session_event(struct bgp_peer *peer, enum fsm_event event, const struct wire_notice *notice)
{
	take(peer->other, event, notice);
	take(peer->own, event, notice);
}

static struct track *twin_of(const struct track *track)
{
	struct bgp_peer *peer = track->peer;

	return track == peer->own ? peer->other : peer->own;
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
	if (collision == FSM_KEEP_BOTH)
		return true;
	track->peer->status.collisions++;
	take(collision == FSM_CLOSE_NEW ? track : twin, FSM_COLLISION, &cease);
	return collision == FSM_CLOSE_OLD;
}

static void on_open(struct track *track, const uint8_t *message, size_t length)
{
	struct bgp_peer *peer = track->peer;
	struct wire_open ours = our_open(peer);
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

	session_progress(track, true);
	arm(track->peer);
	if (track->state == FSM_ESTABLISHED)
		bgp_touch(track->peer->bgp);
}

static const struct conn_ops conn_ops = {
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
	if (track != peer->own || peer->other->conn)
		return;
	if (track->state == FSM_IDLE)
		take(track, peer->spec.passive ? FSM_START_PASSIVE : FSM_START, NULL);
	else
		take(track, FSM_CONNECT_RETRY_EXPIRED, NULL);
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

static void on_timer(uv_timer_t *timer)
{
	struct bgp_peer *peer = timer->data;
	uint64_t now_ms = time_now_ms();

	for (int i = 0; i < 2; i++)
		for (int which = 0; which < DEADLINES; which++) {
			uint64_t due_ms = peer->tracks[i].deadlines[which];

			if (due_ms && due_ms <= now_ms)
				deadline_passed(&peer->tracks[i], (enum deadline)which);
		}
	arm(peer);
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
	set_retry(peer, 0);
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
	if (conn_open(&peer->bgp->group, fd, false, &conn_ops, track, &track->conn))
		return;
	if (track != peer->own)
		track->state = FSM_ACTIVE;
	take(track, FSM_TCP_ACCEPTED, NULL);
}
