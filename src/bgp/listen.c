/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What comes in: a listening socket an address that routers connect to, shared by those of the
 * same; or one for all addresses of the family, as soon as one peer has none of its own, for the
 * kernel does not have both. It has the keys of its peers, so that no other SYN of theirs is
 * answered. Whoever is no peer is reset at once, and costs nothing else.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bgp/conn/tcp.h"
#include "bgp/session/session.h"

enum {
	RETRY_MS = 3000,
	ACCEPTS = 16, /* a loop turn */
};

struct listener {
	LIST_ENTRY(listener) link;
	struct bgp *bgp;
	struct addr local;
	int family;
	int fd;         /* -1: not open, tried again */
	uv_poll_t poll; /* of an open one */
	unsigned int users;
};

static void on_retry(uv_timer_t *timer)
{
	listen_retry(timer->data);
}

static void fails(struct listener *listener, int code)
{
	struct bgp *bgp = listener->bgp;
	char address[ADDR_TEXT_MAX];
	const char *any = listener->family == AF_INET ? "0.0.0.0" : "::";

	snprintf(bgp->status.listen_error, sizeof(bgp->status.listen_error), "%s port %d: %s",
		 addr_is_none(&listener->local) ? any : addr_format(&listener->local, address),
		 bgp->spec.listen_port, strerror(-code));
	uv_timer_start(&bgp->listen, on_retry, RETRY_MS, 0);
}

/* Where it came from. */
struct caller {
	struct addr address;
	uint32_t scope; /* an interface's index, of a link-local one */
};

static bool is_peer(const struct bgp_peer *peer, const struct caller *caller)
{
	return addr_equal(&peer->spec.address, &caller->address) &&
	       (!peer->spec.interface || if_nametoindex(peer->spec.interface) == caller->scope);
}

static struct bgp_peer *peer_of(const struct bgp *bgp, const struct caller *caller)
{
	struct bgp_peer *peer;

	LIST_FOREACH(peer, &bgp->peers, link)
	if (is_peer(peer, caller))
		return peer;
	return NULL;
}

/* Whether it came to the address that the peer is to connect to. */
static bool is_for(const struct bgp_peer *peer, int fd)
{
	struct addr local;

	return addr_is_none(&peer->spec.local) ||
	       (!tcp_local(fd, &local) && addr_equal(&local, &peer->spec.local));
}

static void take(struct listener *listener, int fd, const struct caller *from)
{
	struct bgp *bgp = listener->bgp;
	struct bgp_peer *peer = peer_of(bgp, from);

	if (peer && peer->listener == listener && is_for(peer, fd)) {
		session_accept(peer, fd);
		return;
	}
	bgp->status.strangers++;
	tcp_abort(fd);
}

/* Out of descriptors, say: those that wait are let wait. */
static void pause_it(struct listener *listener, int code)
{
	uv_poll_stop(&listener->poll);
	fails(listener, code);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	struct listener *listener = poll->data;
	struct caller from;

	(void)status;
	(void)events;
	for (int i = 0; i < ACCEPTS; i++) {
		int fd = tcp_accept(listener->fd, &from.address, &from.scope);

		if (fd == -ECONNABORTED || fd == -EINTR)
			continue;
		if (fd == -EAGAIN)
			return;
		if (fd < 0) {
			pause_it(listener, fd);
			return;
		}
		take(listener, fd, &from);
	}
}

static int set_keys(struct listener *listener)
{
	struct bgp_peer *peer;
	int code = 0;

	LIST_FOREACH(peer, &listener->bgp->peers, link)
	if (!code && peer->listener == listener && peer->spec.password)
		code = tcp_set_key(listener->fd, &peer->spec.address, peer->password);
	return code;
}

static int open_it(struct listener *listener)
{
	struct bgp *bgp = listener->bgp;
	int code;

	listener->fd = tcp_listen(&listener->local, listener->family, bgp->spec.listen_port);
	if (listener->fd < 0)
		return listener->fd;
	code = set_keys(listener);
	if (!code)
		code = uv_poll_init(bgp->loop, &listener->poll, listener->fd);
	if (code) {
		close(listener->fd);
		listener->fd = -1;
		return code;
	}
	bgp_count_handle(bgp, (uv_handle_t *)&listener->poll, listener);
	uv_poll_start(&listener->poll, UV_READABLE, on_event);
	return 0;
}

static struct listener *find(struct bgp *bgp, const struct addr *local, int family)
{
	struct listener *listener;

	LIST_FOREACH(listener, &bgp->listeners, link)
	if (listener->family == family && addr_equal(&listener->local, local))
		return listener;
	return NULL;
}

static struct listener *add(struct bgp *bgp, const struct addr *local, int family)
{
	struct listener *listener = calloc(1, sizeof(*listener));

	if (!listener)
		return NULL;
	*listener = (struct listener){.bgp = bgp, .local = *local, .family = family, .fd = -1};
	LIST_INSERT_HEAD(&bgp->listeners, listener, link);
	return listener;
}

static void on_closed(uv_handle_t *handle)
{
	struct listener *listener = handle->data;
	struct bgp *bgp = listener->bgp;

	free(listener);
	bgp_handle_closed(bgp);
}

static void drop(struct listener *listener)
{
	LIST_REMOVE(listener, link);
	if (listener->fd < 0) {
		free(listener);
		return;
	}
	uv_close((uv_handle_t *)&listener->poll, on_closed);
	close(listener->fd);
}

void listen_leave(struct bgp_peer *peer)
{
	struct listener *listener = peer->listener;

	peer->listener = NULL;
	if (!listener)
		return;
	if (listener->fd >= 0 && peer->spec.password) {
		tcp_set_key(listener->fd, &peer->spec.address, NULL);
		set_keys(listener); /* of the same address on another link */
	}
	if (--listener->users == 0)
		drop(listener);
}

static int family_of(const struct bgp_peer *peer)
{
	return addr_is4(&peer->spec.address) ? AF_INET : AF_INET6;
}

/* Those that listen on single addresses now do so on all. */
static void gather_peers(struct listener *listener)
{
	struct bgp_peer *peer;

	LIST_FOREACH(peer, &listener->bgp->peers, link)
	if (family_of(peer) == listener->family && peer->listener != listener) {
		listen_leave(peer);
		peer->listener = listener;
		listener->users++;
	}
}

/* The one that there is, or a new one that is not open yet; NULL: no memory. */
static struct listener *listener_for(const struct bgp_peer *peer)
{
	static const struct addr all;
	int family = family_of(peer);
	struct listener *listener = find(peer->bgp, &all, family);

	if (!listener)
		listener = find(peer->bgp, &peer->spec.local, family);
	if (listener)
		return listener;
	listener = add(peer->bgp, &peer->spec.local, family);
	if (listener && addr_is_none(&peer->spec.local))
		gather_peers(listener);
	return listener;
}

int listen_join(struct bgp_peer *peer)
{
	struct listener *listener = listener_for(peer);
	int code = 0;

	if (!listener)
		return -ENOMEM;
	peer->listener = listener;
	listener->users++;
	if (listener->fd < 0)
		code = open_it(listener);
	if (!code && peer->spec.password)
		code = tcp_set_key(listener->fd, &peer->spec.address, peer->password);
	if (code)
		fails(listener, code);
	return 0;
}

void listen_retry(struct bgp *bgp)
{
	struct listener *listener;
	int code;

	bgp->status.listen_error[0] = '\0';
	LIST_FOREACH(listener, &bgp->listeners, link)
	{
		code = listener->fd < 0 ? open_it(listener) : set_keys(listener);
		if (code)
			fails(listener, code);
		else
			uv_poll_start(&listener->poll, UV_READABLE, on_event);
	}
}

void listen_stop(struct bgp *bgp)
{
	struct bgp_peer *peer;

	LIST_FOREACH(peer, &bgp->peers, link)
	listen_leave(peer);
}
