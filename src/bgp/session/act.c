/* SPDX-License-Identifier: BSD-2-Clause */
/* What the state machine's table says is to be done, an action a function; and deadlines. */
#include <string.h>

#include "base/event.h"
#include "base/time.h"
#include "bgp/conn/tcp.h"
#include "bgp/session/session.h"

enum { CALM_MS = 60 * 1000 }; /* a session that was up so long begins its back-off anew */

/* One timer for all deadlines of a router. */
void act_arm(struct bgp_peer *peer)
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
		uv_timer_start(&peer->timer, session_on_timer,
			       earliest_ms > now_ms ? earliest_ms - now_ms : 0, 0);
	else
		uv_timer_stop(&peer->timer);
}

static void set_deadline(struct track *track, enum deadline which, uint32_t after_ms)
{
	track->deadlines[which] = time_now_ms() + after_ms;
	act_arm(track->peer);
}

/* The next attempt is the peer's, whichever track asks for it. */
void act_retry(struct bgp_peer *peer, uint32_t after_ms)
{
	peer->own->deadlines[RETRY] = time_now_ms() + after_ms;
	peer->other->deadlines[RETRY] = 0;
	act_arm(peer);
}

void act_progress(struct track *track, bool some_went)
{
	uint32_t given_s = track->peer->bgp->spec.send_hold_s;

	if (conn_unsent(track->conn) == 0)
		track->deadlines[SEND_HOLD] = 0;
	else if (some_went || !track->deadlines[SEND_HOLD])
		set_deadline(track, SEND_HOLD,
			     given_s ? given_s * 1000U : fsm_send_hold_ms(track->session.hold_s));
}

/* --- messages out --- */

static void send_message(struct track *track, int length)
{
	if (length <= 0)
		return;
	conn_add(track->conn, (size_t)length);
	track->peer->status.messages_out++;
	conn_flush(track->conn);
	act_progress(track, false);
}

struct wire_open act_our_open(const struct bgp_peer *peer)
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
	/* Each router hears it once at least: it may have missed that we went. */
	open.restarting = spec->restarting && (!ready || !peer->status.ups);
	open.graceful4 = open.ipv4;
	open.graceful6 = open.ipv6;
	/* A first start has nothing that still forwards; later the tables are always there. */
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
	peer->flaps++;
	if (time_now_ns() - peer->status.established_ns >= CALM_MS * TIME_MILLI_NS)
		peer->flaps = peer->failures = 0;
	peer->status.downs++;
	event_note(&(struct event_about){"bgp", 1, LOG_WARN, &peer->log}, "the BGP session is down",
		   "peer=%s reason=%s",
		   addr_format_on(&peer->spec.address, peer->interface, address),
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
		act_retry(peer, fsm_back_off_ms(peer->failures ? peer->failures : 1,
						bgp_random(peer->bgp)));
}

static void do_connect(struct track *track, struct happening *happening)
{
	struct bgp_peer *peer = track->peer;
	int fd = tcp_connect(&peer->spec, peer->internal), code = fd;

	(void)happening;
	peer->status.attempts++;
	track->dialed = true;
	if (fd >= 0)
		code = conn_open(&peer->bgp->group, fd, true, &session_conn_ops, track,
				 &track->conn);
	if (code < 0)
		session_error(peer, "connect: %s", strerror(-code));
}

static void do_start_retry(struct track *track, struct happening *happening)
{
	(void)happening;
	if (track == track->peer->own)
		act_retry(track->peer,
			  fsm_jitter_ms(FSM_CONNECT_RETRY_MS, bgp_random(track->peer->bgp)));
}

static void do_open(struct track *track, struct happening *happening)
{
	struct wire_open open = act_our_open(track->peer);
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
	peer->failures = peer->flaps; /* not what it took to find the router */
	peer->status.ups++;
	peer->status.established_ns = time_now_ns();
	peer->status.router_id = track->theirs.router_id;
	peer->status.hold_s = track->session.hold_s;
	peer->status.graceful_restart = track->session.graceful4 || track->session.graceful6;
	tell_begin(track);
	bgp_touch(peer->bgp);
	event_note(&(struct event_about){"bgp", 1, LOG_INFO, &peer->log}, "the BGP session is up",
		   "peer=%s", addr_format_on(&peer->spec.address, peer->interface, address));
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

void act(struct track *track, uint32_t wanted, struct happening *happening)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		if (wanted & actions[i].action)
			actions[i].run(track, happening);
}
