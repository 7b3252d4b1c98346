/* SPDX-License-Identifier: BSD-2-Clause */
/* What a router is told: the difference between our routes and what it has, as UPDATEs. */
#include <errno.h>
#include <string.h>

#include "bgp/session/session.h"
#include "bgp/wire/update.h"

enum { BATCH = 1024 }; /* prefixes; no message has room for more */

_Static_assert(sizeof(struct bgp_large) == sizeof(struct wire_large), "one is read as the other");

/* Routes that one UPDATE can tell, as they follow each other. */
struct batch {
	size_t count;
	struct prefix prefixes[BATCH];
	const struct rib_route *routes[BATCH];
	uint32_t communities[BGP_COMMUNITIES_MAX + 1];
};

static const enum wire_family wire_families[] = {
	[RIB_IPV4] = WIRE_IPV4,
	[RIB_IPV6] = WIRE_IPV6,
};

bool tell_has(const struct bgp_peer *peer, enum rib_family family)
{
	return family == RIB_IPV4 ? peer->status.ipv4 : peer->status.ipv6;
}

static struct addr next_hop_of(const struct bgp_peer *peer, enum rib_family family)
{
	const struct addr *given = family == RIB_IPV4 ? &peer->spec.next_hop4
						      : &peer->spec.next_hop6;

	return addr_is_none(given) ? peer->status.local_address : *given;
}

/* Whether routes of the family can be announced, and not only be negotiated. */
static bool has_next_hop(const struct track *track, enum rib_family family)
{
	struct addr next_hop = next_hop_of(track->peer, family);

	if (family == RIB_IPV6)
		return track->session.ipv6 && !addr_is4(&next_hop);
	return track->session.ipv4 && (addr_is4(&next_hop) || track->session.next_hop6);
}

void tell_begin(struct track *track)
{
	struct bgp_peer *peer = track->peer;

	conn_local(track->conn, &peer->status.local_address);
	peer->status.ipv4 = has_next_hop(track, RIB_IPV4);
	peer->status.ipv6 = has_next_hop(track, RIB_IPV6);
	for (int family = 0; family < RIB_FAMILIES; family++)
		rib_cursor_begin(peer->bgp->rib, &peer->cursors[family]);
	peer->end_of_rib_due[RIB_IPV4] = track->session.ipv4;
	peer->end_of_rib_due[RIB_IPV6] = track->session.ipv6;
	if (peer->spec.extended_next_hop && !peer->status.ipv4)
		session_error(peer, "the router takes no IPv4 routes with IPv6 next hops");
}

void tell_again(struct bgp_peer *peer, enum rib_family family)
{
	rib_cursor_again(&peer->cursors[family]);
}

static bool goes_with(const struct rib_route *first, const struct rib_route *route)
{
	if (first->withdrawn || route->withdrawn)
		return first->withdrawn && route->withdrawn;
	return rib_same_attributes(&first->route, &route->route);
}

static void gather(const struct rib_route *first, const struct rib_cursor *cursor,
		   struct batch *batch)
{
	const struct rib_route *route = first;

	batch->count = 0;
	while (route && batch->count < BATCH && goes_with(first, route)) {
		batch->prefixes[batch->count] = route->route.prefix;
		batch->routes[batch->count++] = route;
		route = rib_after(route, cursor);
	}
}

static struct wire_path path_of(const struct bgp_peer *peer, const struct rib_route *first,
				struct batch *batch)
{
	const struct bgp_route *route = &first->route;
	const struct bgp *bgp = peer->bgp;
	bool leaves = bgp->status.graceful_shutdown;
	struct addr next_hop = next_hop_of(peer, rib_family_of(&route->prefix)), link_local = {0};
	size_t count = route->community_count;

	if (count)
		memcpy(batch->communities, route->communities, count * sizeof(*route->communities));
	if (leaves)
		batch->communities[count++] = WIRE_GRACEFUL_SHUTDOWN;
	/* RFC 2545 section 3: a next hop of our link has its address of the link beside it. */
	if (peer->spec.interface && !addr_is4(&next_hop) && !addr_is_link_local(&next_hop))
		link_local = peer->status.local_address;
	return (struct wire_path){
		.next_hop = next_hop,
		.link_local = link_local,
		.communities = batch->communities,
		.community_count = count,
		.large = (const struct wire_large *)route->large_communities,
		.large_count = route->large_community_count,
		.med = route->med,
		.has_med = route->has_med,
		.local_pref = leaves ? 0 : bgp->spec.local_pref,
		.prepend = route->prepend,
	};
}

static int format(struct track *track, struct batch *batch, uint8_t *message, size_t *ret_taken)
{
	const struct rib_route *first = batch->routes[0];
	struct wire_path path;

	if (first->withdrawn)
		return wire_update_withdraw(&track->session, batch->prefixes, batch->count, message,
					    ret_taken);
	path = path_of(track->peer, first, batch);
	return wire_update_announce(&track->session, &path, batch->prefixes, batch->count, message,
				    ret_taken);
}

static void add_update(struct track *track, int length)
{
	struct bgp_peer_status *status = &track->peer->status;

	conn_add(track->conn, (size_t)length);
	status->messages_out++;
	status->updates_out++;
}

/* One message, of the first routes not told; returns the next. What cannot be formatted is passed
 * over. */
static const struct rib_route *tell_some(struct track *track, const struct rib_route *first,
					 struct rib_cursor *cursor)
{
	struct batch batch;
	size_t taken = 1;
	int length;

	gather(first, cursor, &batch);
	length = format(track, &batch, conn_room(track->conn), &taken);
	if (length > 0)
		add_update(track, length);
	else
		session_error(track->peer, "a route cannot be announced: %s", strerror(-length));
	rib_cursor_told(cursor, batch.routes[taken - 1]);
	return rib_after(batch.routes[taken - 1], cursor);
}

static void tell_end(struct track *track, enum rib_family family)
{
	struct bgp_peer *peer = track->peer;

	if (!peer->end_of_rib_due[family] || !conn_has_room_for_routes(track->conn))
		return;
	if (peer->bgp->spec.restarting && !peer->bgp->status.ready)
		return;
	add_update(track, wire_update_end_of_rib(wire_families[family], conn_room(track->conn)));
	peer->end_of_rib_due[family] = false;
}

/* True: all is told. Without room nothing is looked for: a router that stalls costs nothing. */
static bool tell_family(struct track *track, enum rib_family family)
{
	struct bgp_peer *peer = track->peer;
	struct rib_cursor *cursor = &peer->cursors[family];
	const struct rib_route *route = NULL;

	if (!conn_has_room_for_routes(track->conn))
		return false;
	if (tell_has(peer, family))
		route = rib_first(peer->bgp->rib, family, cursor);
	while (route && conn_has_room_for_routes(track->conn))
		route = tell_some(track, route, cursor);
	if (!route)
		tell_end(track, family);
	return !route;
}

bool tell(struct bgp_peer *peer)
{
	struct track *track = session_track(peer);
	size_t unsent;
	bool all = true;

	if (!track)
		return true;
	unsent = conn_unsent(track->conn);
	for (int family = 0; family < RIB_FAMILIES; family++)
		all &= tell_family(track, (enum rib_family)family);
	if (conn_unsent(track->conn) > unsent) {
		unsent = conn_unsent(track->conn);
		conn_flush(track->conn);
		act_progress(track, conn_unsent(track->conn) < unsent);
	}
	/* The kernel took it all: more in the next loop turn, as other routers wait too. */
	if (!all && conn_has_room_for_routes(track->conn))
		bgp_touch(peer->bgp);
	return all;
}
