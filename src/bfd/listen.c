/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The listeners: opened when a first session of their family and kind is there, tried again each
 * second if another program has the port, closed with the last one.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "bfd/room.h"

enum { RETRY_US = 1000000, BATCHES_MAX = 4 };

static bool serves(const struct bfd_listener *listener, const struct bfd_session *session)
{
	return listener->multihop == (session->spec.hops != 0) &&
	       (listener->family == AF_INET) == addr_is4(&session->spec.peer);
}

static void close_one(struct bfd_listener *listener)
{
	if (listener->fd < 0)
		return;
	listener->drops += bfd_listener_drops(listener->fd);
	close(listener->fd);
	listener->fd = -1;
}

static void note_error(struct bfd_listener *listener, const char *what, int error)
{
	char text[sizeof(listener->error)];

	snprintf(text, sizeof(text), "%s UDP port %d: %s", what,
		 listener->multihop ? BFD_PORT_MULTIHOP : BFD_PORT_DIRECT, strerror(-error));
	if (strcmp(text, listener->error) == 0)
		return;
	memcpy(listener->error, text, sizeof(text));
	log_write(LOG_WARN, &listener->limit, "BFD", "error=%s", log_quote(text).text);
}

static void open_one(struct bfd_listener *listener, uint64_t now_us)
{
	int fd;

	if (now_us < listener->open_at_us)
		return;
	fd = bfd_listener_open(listener->family,
			       listener->multihop ? BFD_PORT_MULTIHOP : BFD_PORT_DIRECT);
	if (fd < 0) {
		note_error(listener, "cannot listen on", fd);
		listener->open_at_us = now_us + RETRY_US;
		return;
	}
	listener->fd = fd;
	listener->stale = true;
	listener->error[0] = '\0';
}

/* BIRD begins multihop packets with TTL 64, so that the TTL says nothing there. */
static void filter(struct bfd *bfd, struct bfd_listener *listener)
{
	struct addr addresses[BFD_SESSIONS_MAX];
	struct bfd_peers peers = {.addresses = addresses, .ttl_min = listener->multihop ? 0 : 255};
	struct bfd_session *session;
	int error;

	for (session = LIST_FIRST(&bfd->sessions); session; session = LIST_NEXT(session, link))
		if (serves(listener, session) && peers.count < BFD_SESSIONS_MAX)
			addresses[peers.count++] = session->spec.peer;
	error = bfd_listener_admit(listener->fd, listener->family, &peers);
	if (error)
		note_error(listener, "no filter for", error);
	listener->stale = false;
}

static bool is_wanted(struct bfd *bfd, const struct bfd_listener *listener)
{
	struct bfd_session *session;

	for (session = LIST_FIRST(&bfd->sessions); session; session = LIST_NEXT(session, link))
		if (serves(listener, session))
			return true;
	return false;
}

uint64_t bfd_listeners_tend(struct bfd *bfd, uint64_t now_us)
{
	uint64_t again_us = UINT64_MAX;

	for (int i = 0; i < BFD_LISTENERS; i++) {
		struct bfd_listener *listener = &bfd->listeners[i];
		bool wanted = is_wanted(bfd, listener);

		if (!wanted)
			close_one(listener);
		else if (listener->fd < 0)
			open_one(listener, now_us);
		if (listener->fd >= 0 && listener->stale)
			filter(bfd, listener);
		if (wanted && listener->fd < 0 && listener->open_at_us < again_us)
			again_us = listener->open_at_us;
	}
	return again_us;
}

void bfd_listeners_renew(struct bfd *bfd)
{
	for (int i = 0; i < BFD_LISTENERS; i++)
		bfd->listeners[i].stale = true;
}

/* Bounded, so that a flood delays nobody's timers: what is left is read in the next turn. */
void bfd_listeners_read(struct bfd *bfd, uint64_t now_us)
{
	struct bfd_datagram batch[BFD_BATCH];

	for (int i = 0; i < BFD_LISTENERS; i++) {
		struct bfd_listener *listener = &bfd->listeners[i];
		size_t count = BFD_BATCH;

		for (int j = 0; listener->fd >= 0 && j < BATCHES_MAX && count == BFD_BATCH; j++) {
			count = bfd_listener_receive(listener->fd, batch);
			for (size_t k = 0; k < count; k++)
				bfd_session_receive(bfd, listener, &batch[k], now_us);
		}
	}
}

void bfd_listeners_close(struct bfd *bfd)
{
	for (int i = 0; i < BFD_LISTENERS; i++)
		close_one(&bfd->listeners[i]);
}
