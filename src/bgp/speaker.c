/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BGP speaker (RFC 4271), for a node that announces and learns nothing.
 *
 *   bgp_announce, bgp_withdraw --> rib (a set, in the order of changes)
 *                                   |  a cursor a router and family
 *   router --> conn --> wire --> session (two tracks) --> tell --> conn --> router
 *                                fsm, a table
 *
 * A session shares nothing with another but the set of routes, which it only reads. So a router
 * that stalls, floods or flaps costs its own buffers, which are bounded, and its own back-off,
 * which grows to a minute. Nothing is queued for a router: what it was not told yet is where its
 * cursor is in the set, and a route that changed ten times meanwhile is told once.
 *
 * What a caller changes is told, and what changed is called back, by one timer of no time: at the
 * end of the loop turn. So changes leave together, and a callback may do anything.
 *
 * RFCs: 4271, 4760 (IPv6), 5492, 6793 (4-byte AS), 6286, 6608, 7606, 2918 (route refresh), 1997,
 * 8092, 4724 and 8538 (graceful restart, as the one that restarts), 8326 (graceful shutdown), 2385
 * (MD5), 5082 (GTSM), 4486, 9003, 9384 (why a session ends), 8950 (IPv4 over IPv6), 9687.
 */
#include "bgp/speaker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "bgp/password.h"
#include "bgp/session/session.h"

enum {
	LOCAL_PREF_DEFAULT = 100,
	STOP_MS = 5000,
};

/* --- handles --- */

void bgp_count_handle(struct bgp *bgp, uv_handle_t *handle, void *data)
{
	handle->data = data;
	bgp->handles++;
}

/* All memory goes with the last handle. */
static void free_if_done(struct bgp *bgp)
{
	if (!bgp->closed || bgp->handles)
		return;
	rib_free(bgp->rib);
	free(bgp);
}

void bgp_handle_closed(struct bgp *bgp)
{
	bgp->handles--;
	free_if_done(bgp);
}

static void on_timer_closed(uv_handle_t *handle)
{
	bgp_handle_closed(handle->data);
}

static void on_peer_closed(uv_handle_t *handle)
{
	struct bgp_peer *peer = handle->data;
	struct bgp *bgp = peer->bgp;

	password_free(peer->password);
	free(peer);
	bgp_handle_closed(bgp);
}

/* --- once a loop turn --- */

uint32_t bgp_random(struct bgp *bgp)
{
	bgp->random ^= bgp->random >> 12;
	bgp->random ^= bgp->random << 25;
	bgp->random ^= bgp->random >> 27;
	return (uint32_t)(bgp->random * 0x2545f4914f6cdd1dULL >> 32);
}

static void on_flush(uv_timer_t *timer);

void bgp_touch(struct bgp *bgp)
{
	if (!bgp->closed && !uv_is_active((uv_handle_t *)&bgp->flush))
		uv_timer_start(&bgp->flush, on_flush, 0, 0);
}

static bool lags(struct bgp_peer *peer)
{
	bool has_more = false;

	for (int family = 0; family < RIB_FAMILIES; family++)
		has_more |=
			session_track(peer) && tell_has(peer, (enum rib_family)family) &&
			rib_first(peer->bgp->rib, (enum rib_family)family, &peer->cursors[family]);
	return has_more;
}

/* What was withdrawn is forgotten once every router knows. One that lags behind by more than all
 * routes there may be has not read for long, and is given up. */
static void prune(struct bgp *bgp)
{
	bool crowded = rib_withdrawn(bgp->rib) > BGP_ROUTES_MAX;
	struct wire_notice cease = wire_notice_cease(WIRE_CEASE_RESOURCES, NULL);
	struct bgp_peer *peer;
	uint64_t needs[RIB_FAMILIES] = {UINT64_MAX, UINT64_MAX};

	if (!rib_withdrawn(bgp->rib))
		return;
	LIST_FOREACH(peer, &bgp->peers, link)
	{
		if (crowded && lags(peer)) {
			session_error(peer, "the router reads too slowly");
			session_event(peer, FSM_LOST, &cease);
		}
		for (int family = 0; family < RIB_FAMILIES; family++) {
			uint64_t need = rib_cursor_needs(&peer->cursors[family]);

			if (session_track(peer) && tell_has(peer, (enum rib_family)family) &&
			    need < needs[family])
				needs[family] = need;
		}
	}
	for (int family = 0; family < RIB_FAMILIES; family++)
		rib_prune(bgp->rib, (enum rib_family)family, needs[family]);
}

static void end_session(struct bgp_peer *peer)
{
	struct wire_notice cease = session_cease(peer, WIRE_CEASE_SHUTDOWN, peer->bgp->stop_text);

	if (session_track(peer))
		session_error(peer, "stopped");
	session_event(peer, FSM_STOP, &cease);
}

static void tell_all(struct bgp *bgp)
{
	struct bgp_peer *peer;

	LIST_FOREACH(peer, &bgp->peers, link)
	{
		struct track *track;
		bool all = tell(peer);

		track = session_track(peer);
		if (bgp->stopping && track && all && conn_unsent(track->conn) == 0)
			end_session(peer);
	}
	prune(bgp);
}

/* A callback may remove peers, and close all: after each one the list is another. */
static void call_back(struct bgp *bgp)
{
	struct bgp_peer *peer;

	do {
		LIST_FOREACH(peer, &bgp->peers, link)
		if (peer->notify)
			break;
		if (!peer)
			return;
		peer->notify = false;
		if (peer->changed)
			peer->changed(peer->arg, peer, peer->status.state);
	} while (!bgp->closed);
}

static void report_stopped(struct bgp *bgp)
{
	bgp_stopped *stopped = bgp->stopped;

	if (!bgp->status.stopped || !LIST_EMPTY(&bgp->group.conns))
		return;
	uv_timer_stop(&bgp->stop);
	bgp->stopped = NULL;
	if (stopped)
		stopped(bgp->stopped_arg);
}

static void on_flush(uv_timer_t *timer)
{
	struct bgp *bgp = timer->data;

	tell_all(bgp);
	call_back(bgp);
	if (!bgp->closed)
		report_stopped(bgp);
}

static void on_empty(void *arg)
{
	bgp_touch(arg);
}

/* --- open and close --- */

static int check_spec(const struct bgp_spec *spec, struct err *err)
{
	if (spec->asn == 0 || spec->asn == UINT32_MAX || spec->asn == WIRE_AS_TRANS)
		return err_set(err, -EINVAL, "AS number %u is not one to use", spec->asn);
	if (spec->router_id == 0)
		return err_set(err, -EINVAL, "the router id is 0.0.0.0");
	if (spec->hold_s && (spec->hold_s < BGP_HOLD_MIN_S || spec->hold_s > UINT16_MAX))
		return err_set(err, -EINVAL, "a hold time of %u s; from %d to %d", spec->hold_s,
			       BGP_HOLD_MIN_S, UINT16_MAX);
	if (spec->restart_s > BGP_RESTART_MAX_S)
		return err_set(err, -EINVAL, "a restart time of %u s; at most %d", spec->restart_s,
			       BGP_RESTART_MAX_S);
	return 0;
}

static void on_ready_late(uv_timer_t *timer)
{
	bgp_ready(timer->data);
}

static void init_timers(struct bgp *bgp)
{
	uv_timer_t *timers[] = {&bgp->flush, &bgp->ready, &bgp->stop, &bgp->listen};

	for (size_t i = 0; i < sizeof(timers) / sizeof(*timers); i++) {
		uv_timer_init(bgp->loop, timers[i]);
		bgp_count_handle(bgp, (uv_handle_t *)timers[i], bgp);
	}
	if (bgp->spec.restarting)
		uv_timer_start(&bgp->ready, on_ready_late, bgp->spec.restart_s * 1000ULL, 0);
}

static void copy_spec(struct bgp *bgp, const struct bgp_spec *spec)
{
	bgp->spec = *spec;
	snprintf(bgp->stop_text, sizeof(bgp->stop_text), "%s",
		 spec->stop_text ? spec->stop_text : "");
	bgp->spec.stop_text = bgp->stop_text;
	if (!spec->hold_s)
		bgp->spec.hold_s = BGP_HOLD_DEFAULT_S;
	if (!spec->listen_port)
		bgp->spec.listen_port = BGP_PORT;
	if (!spec->local_pref)
		bgp->spec.local_pref = LOCAL_PREF_DEFAULT;
}

int bgp_open(uv_loop_t *loop, const struct bgp_spec *spec, struct bgp **ret, struct err *err)
{
	int code = check_spec(spec, err);
	struct bgp *bgp;

	if (code)
		return code;
	bgp = calloc(1, sizeof(*bgp));
	if (bgp)
		bgp->rib = rib_new();
	if (!bgp || !bgp->rib) {
		free(bgp);
		return err_set(err, -ENOMEM, "no memory");
	}
	bgp->loop = loop;
	bgp->random = time_now_ns() | 1;
	bgp->group = (struct conn_group){.loop = loop, .empty = on_empty, .arg = bgp};
	copy_spec(bgp, spec);
	init_timers(bgp);
	*ret = bgp;
	return 0;
}

void bgp_close(struct bgp *bgp)
{
	struct bgp_peer *peer;

	if (!bgp->status.stopped)
		bgp_stop(bgp, BGP_STOP_RESTART, NULL, NULL);
	while ((peer = LIST_FIRST(&bgp->peers)))
		bgp_remove_peer(peer);
	conn_group_abort(&bgp->group);
	bgp->closed = true;
	uv_close((uv_handle_t *)&bgp->flush, on_timer_closed);
	uv_close((uv_handle_t *)&bgp->ready, on_timer_closed);
	uv_close((uv_handle_t *)&bgp->stop, on_timer_closed);
	uv_close((uv_handle_t *)&bgp->listen, on_timer_closed);
}

/* --- peers --- */

static int check_link(const struct bgp_peer_spec *spec, struct err *err)
{
	bool is_local = addr_is_link_local(&spec->address);

	if (is_local && !spec->interface)
		return err_set(err, -EINVAL, "a link-local address needs an interface");
	if (spec->interface && !is_local)
		return err_set(err, -EINVAL, "an interface is for a link-local address");
	if (spec->interface && (!*spec->interface || strlen(spec->interface) >= IF_NAMESIZE))
		return err_set(err, -EINVAL, "no interface is named so");
	if (addr_is_link_local(&spec->local) || (is_local && !addr_is_none(&spec->local)))
		return err_set(err, -EINVAL, "the local address of a link is the interface's own");
	if (is_local && spec->hops)
		return err_set(err, -EINVAL, "a link-local address is on the link, not hops away");
	return 0;
}

static int check_address(const struct bgp_peer_spec *spec, struct err *err)
{
	const struct addr *local = &spec->local;

	if (addr_is_none(&spec->address))
		return err_set(err, -EINVAL, "the peer has no address");
	if (!addr_is_none(local) && addr_is4(local) != addr_is4(&spec->address))
		return err_set(err, -EINVAL, "the local address is of another family");
	if (!addr_is_none(&spec->next_hop4) && !addr_is4(&spec->next_hop4))
		return err_set(err, -EINVAL, "the next hop for IPv4 is no IPv4 address");
	if (addr_is4(&spec->next_hop6))
		return err_set(err, -EINVAL, "the next hop for IPv6 is no IPv6 address");
	if (spec->extended_next_hop && addr_is4(&spec->address))
		return err_set(err, -EINVAL, "IPv6 next hops for IPv4 need an IPv6 session");
	return check_link(spec, err);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* The kernel keeps one key for an address, whatever the link. */
static int check_twin(const struct bgp_peer *peer, const struct bgp_peer_spec *spec,
		      struct err *err)
{
	if (!addr_equal(&peer->spec.address, &spec->address))
		return 0;
	if (same_text(peer->spec.interface, spec->interface))
		return err_set(err, -EEXIST, "there is a peer of this address");
	if (!same_text(peer->spec.password, spec->password))
		return err_set(err, -EINVAL, "peers of one address have one password");
	return 0;
}

static int check_peer(const struct bgp *bgp, const struct bgp_peer_spec *spec, struct err *err)
{
	int code = check_address(spec, err);
	const struct bgp_peer *peer;

	if (code)
		return code;
	if (spec->asn == 0 || spec->asn == UINT32_MAX || spec->asn == WIRE_AS_TRANS)
		return err_set(err, -EINVAL, "the peer's AS number %u is not one", spec->asn);
	if (spec->password && (!*spec->password || strlen(spec->password) > BGP_PASSWORD_MAX))
		return err_set(err, -EINVAL, "a password has 1 to %d bytes", BGP_PASSWORD_MAX);
	if (spec->hops && spec->gtsm)
		return err_set(err, -EINVAL, "GTSM is for a peer on the link, not for multihop");
	if (bgp->peer_count >= BGP_PEERS_MAX)
		return err_set(err, -ENOSPC, "more than %d peers", BGP_PEERS_MAX);
	LIST_FOREACH(peer, &bgp->peers, link)
	if (!code)
		code = check_twin(peer, spec, err);
	return code;
}

/* 0 or -ENOMEM. */
static int copy_peer_spec(struct bgp_peer *peer, const struct bgp_peer_spec *spec)
{
	peer->spec = *spec;
	peer->internal = spec->asn == peer->bgp->spec.asn;
	if (spec->interface) {
		snprintf(peer->interface, sizeof(peer->interface), "%s", spec->interface);
		peer->spec.interface = peer->interface;
	}
	if (!spec->password)
		return 0;
	peer->password = password_new(spec->password);
	peer->spec.password = peer->password;
	return peer->password ? 0 : -ENOMEM;
}

int bgp_add_peer(struct bgp *bgp, const struct bgp_peer_spec *spec, bgp_changed *changed, void *arg,
		 struct bgp_peer **ret, struct err *err)
{
	int code = check_peer(bgp, spec, err);
	struct bgp_peer *peer;

	if (code)
		return code;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return err_set(err, -ENOMEM, "no memory");
	peer->bgp = bgp;
	peer->changed = changed;
	peer->arg = arg;
	peer->stopped = bgp->status.stopped;
	code = copy_peer_spec(peer, spec);
	if (!code && !peer->stopped)
		code = listen_join(peer);
	if (code) {
		password_free(peer->password);
		free(peer);
		return err_set(err, -ENOMEM, "no memory");
	}
	uv_timer_init(bgp->loop, &peer->timer);
	session_init(peer);
	LIST_INSERT_HEAD(&bgp->peers, peer, link);
	bgp->peer_count++;
	if (!peer->stopped)
		session_start(peer);
	*ret = peer;
	return 0;
}

void bgp_remove_peer(struct bgp_peer *peer)
{
	struct wire_notice cease = session_cease(peer, WIRE_CEASE_DECONFIGURED, NULL);

	peer->stopped = true;
	session_error(peer, "no longer a peer");
	session_event(peer, FSM_STOP, &cease);
	listen_leave(peer);
	LIST_REMOVE(peer, link);
	peer->bgp->peer_count--;
	uv_close((uv_handle_t *)&peer->timer, on_peer_closed);
}

bool bgp_peer_has_password(const struct bgp_peer *peer, const char *password)
{
	return strcmp(peer->password ? peer->password : "", password ? password : "") == 0;
}

void bgp_peer_lost(struct bgp_peer *peer, const char *why)
{
	struct wire_notice cease = session_cease(peer, WIRE_CEASE_BFD_DOWN, NULL);

	if (peer->status.state < BGP_PEER_OPEN_SENT)
		return;
	session_error(peer, "%s", why);
	session_event(peer, FSM_LOST, &cease);
}

/* --- routes --- */

int bgp_announce(struct bgp *bgp, const struct bgp_route *route)
{
	int code = bgp->stopping ? -ESHUTDOWN : rib_set(bgp->rib, route);

	if (code > 0)
		bgp_touch(bgp);
	return code < 0 ? code : 0;
}

int bgp_withdraw(struct bgp *bgp, const struct prefix *prefix)
{
	int code = rib_withdraw(bgp->rib, prefix);

	if (!code)
		bgp_touch(bgp);
	return code;
}

void bgp_ready(struct bgp *bgp)
{
	uv_timer_stop(&bgp->ready);
	bgp->status.ready = true;
	bgp_touch(bgp);
}

void bgp_set_graceful_shutdown(struct bgp *bgp, bool on)
{
	struct bgp_peer *peer;

	if (bgp->status.graceful_shutdown == on)
		return;
	bgp->status.graceful_shutdown = on;
	LIST_FOREACH(peer, &bgp->peers, link)
	for (int family = 0; family < RIB_FAMILIES; family++)
		tell_again(peer, (enum rib_family)family);
	bgp_touch(bgp);
}

/* --- stop --- */

static void on_stop_late(uv_timer_t *timer)
{
	struct bgp *bgp = timer->data;
	struct bgp_peer *peer;

	LIST_FOREACH(peer, &bgp->peers, link)
	end_session(peer);
	conn_group_abort(&bgp->group);
}

static void stop_peer(struct bgp_peer *peer, enum bgp_stop how)
{
	peer->stopped = true;
	if (how == BGP_STOP_RESTART && session_track(peer))
		session_error(peer, "stopped, for a restart");
	if (how == BGP_STOP_RESTART)
		session_event(peer, FSM_ABANDON, NULL);
	else if (!session_track(peer))
		end_session(peer);
}

void bgp_stop(struct bgp *bgp, enum bgp_stop how, bgp_stopped *stopped, void *arg)
{
	struct bgp_peer *peer;

	listen_stop(bgp);
	if (how == BGP_STOP_PLANNED && !bgp->status.stopped) {
		rib_withdraw_all(bgp->rib);
		bgp->stopping = true;
		uv_timer_start(&bgp->stop, on_stop_late, STOP_MS, 0);
	}
	LIST_FOREACH(peer, &bgp->peers, link)
	stop_peer(peer, how);
	if (how == BGP_STOP_RESTART)
		conn_group_abort(&bgp->group);
	bgp->status.stopped = true;
	if (stopped) {
		bgp->stopped = stopped;
		bgp->stopped_arg = arg;
	}
	bgp_touch(bgp);
}

/* --- status --- */

const struct bgp_peer_status *bgp_peer_status(struct bgp_peer *peer)
{
	struct bgp_peer_status *status = &peer->status;

	status->prefixes = status->pending = 0;
	for (int family = 0; family < RIB_FAMILIES; family++) {
		enum rib_family which = (enum rib_family)family;

		if (!session_track(peer) || !tell_has(peer, which))
			continue;
		status->prefixes +=
			(uint32_t)rib_held(peer->bgp->rib, which, &peer->cursors[family]);
		status->pending +=
			(uint32_t)rib_pending(peer->bgp->rib, which, &peer->cursors[family]);
	}
	return status;
}

const struct bgp_status *bgp_status(struct bgp *bgp)
{
	bgp->status.routes = (uint32_t)rib_count(bgp->rib);
	return &bgp->status;
}

const char *bgp_peer_state_name(enum bgp_peer_state state)
{
	return fsm_state_name((enum fsm_state)state);
}
