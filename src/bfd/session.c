/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session at work: its socket, its packets in and out, its news. Which session a packet is for
 * says the discriminator in it (RFC 5880 section 6.8.6), or, before the peer knows that, where it
 * came from; but always it must come from the session's peer. (The RFC would let a peer change its
 * address on the way. No router needs that, and a stranger who guesses could use it.)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/time.h"
#include "bfd/room.h"

enum {
	RETRY_US = 1000000,
	LEAVE_MAX_US = 5000000, /* however long the detection time */
};

/* xorshift32, for spreading and for discriminators that need only differ. */
uint32_t bfd_random(struct bfd *bfd)
{
	bfd->random ^= bfd->random << 13;
	bfd->random ^= bfd->random >> 17;
	bfd->random ^= bfd->random << 5;
	return bfd->random;
}

static int family_of(const struct bfd_session *session)
{
	return addr_is4(&session->spec.peer) ? AF_INET : AF_INET6;
}

/* --- out --- */

/* A change is worth a line; the status has it until it works again. */
static void note_error(struct bfd_session *session, const char *what, int error)
{
	char text[sizeof(session->error)], peer[ADDR_TEXT_MAX];

	snprintf(text, sizeof(text), "%s: %s", what, strerror(-error));
	session->send_errors++;
	if (strcmp(text, session->error) == 0)
		return;
	memcpy(session->error, text, sizeof(text));
	log_write(LOG_WARN, &session->limit, "BFD", "peer=%s error=%s",
		  addr_format_on(&session->spec.peer, session->interface, peer),
		  log_quote(text).text);
}

static bool open_sender(struct bfd_session *session, uint64_t now_us)
{
	if (session->fd >= 0)
		return true;
	if (now_us < session->open_at_us)
		return false;
	session->scope = session->interface[0] ? if_nametoindex(session->interface) : 0;
	session->fd = session->interface[0] && !session->scope
			      ? -ENODEV
			      : bfd_sender_open(family_of(session), &session->spec.local,
						bfd_random(session->bfd));
	if (session->fd >= 0)
		return true;
	note_error(session, "no socket to send from", session->fd);
	session->fd = -1;
	session->open_at_us = now_us + RETRY_US;
	return false;
}

/* The interface may be another of the same name. */
static void look_again(struct bfd_session *session, uint64_t now_us)
{
	if (!session->scope)
		return;
	close(session->fd);
	session->fd = -1;
	session->open_at_us = now_us + RETRY_US;
}

/* A packet that does not fit into the device's queue is lost as one on the wire is. */
static void send_packet(struct bfd_session *session, bool final, uint64_t now_us)
{
	struct bfd_packet packet = bfd_fsm_packet(&session->fsm, final);
	uint8_t bytes[BFD_PACKET_LENGTH];
	struct sockaddr_storage to;
	socklen_t length = addr_sockaddr(
		&session->spec.peer, session->spec.hops ? BFD_PORT_MULTIHOP : BFD_PORT_DIRECT, &to);

	if (!open_sender(session, now_us))
		return;
	if (session->scope)
		((struct sockaddr_in6 *)&to)->sin6_scope_id = session->scope;
	bfd_packet_format(&packet, bytes);
	if (sendto(session->fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL,
		   (struct sockaddr *)&to, length) < 0) {
		note_error(session, "cannot send", -errno);
		look_again(session, now_us);
		return;
	}
	session->sent++;
	session->error[0] = '\0';
}

/* --- news --- */

static void note_up(struct bfd_session *session)
{
	session->ups++;
	session->up_news = true;
}

/* A loss that was not told yet is not lost in what came after it. */
static void note_down(struct bfd_session *session)
{
	bool off = session->fsm.peer_state == BFD_ADMIN_DOWN;

	session->up_news = false;
	if (!session->down_news || session->down == BFD_NEWS_OFF)
		session->down = off ? BFD_NEWS_OFF : BFD_NEWS_LOST;
	session->down_news = true;
	session->losses += !off;
}

static void note_change(struct bfd_session *session, enum bfd_state before)
{
	const struct bfd_fsm *fsm = &session->fsm;

	if (fsm->state == before)
		return;
	session->since_ns = time_now_ns();
	if (fsm->state == BFD_DOWN) {
		session->why = fsm->diag;
		session->peer_why = fsm->peer_diag;
	}
	if (session->leaving)
		return;
	if (fsm->state == BFD_UP)
		note_up(session);
	else if (before == BFD_UP)
		note_down(session);
	if (session->up_news || session->down_news)
		uv_async_send(&session->bfd->async);
}

/* --- in --- */

struct bfd_session *bfd_session_of(struct bfd *bfd, uint32_t discriminator)
{
	struct bfd_session *session;

	for (session = LIST_FIRST(&bfd->sessions); session; session = LIST_NEXT(session, link))
		if (session->fsm.own == discriminator)
			return session;
	return NULL;
}

/* There is one at most: who comes ends what was leaving. */
static struct bfd_session *session_with(struct bfd *bfd, const struct bfd_datagram *datagram,
					bool multihop)
{
	struct bfd_session *session;

	for (session = LIST_FIRST(&bfd->sessions); session; session = LIST_NEXT(session, link))
		if (!session->spec.hops == !multihop &&
		    addr_equal(&session->spec.peer, &datagram->from) &&
		    (!session->interface[0] || session->scope == datagram->scope))
			return session;
	return NULL;
}

static bool refuse(struct bfd_session *session, uint64_t *counter)
{
	(*counter)++;
	if (session)
		session->refused++;
	return false;
}

static bool is_fit(struct bfd *bfd, struct bfd_session *session,
		   const struct bfd_datagram *datagram, struct bfd_packet *ret)
{
	switch (bfd_packet_parse(datagram->bytes, datagram->length, ret)) {
	case BFD_PACKET_OK: break;
	case BFD_PACKET_AUTHENTICATED: return refuse(session, &bfd->refusals.authenticated);
	default: return refuse(session, &bfd->refusals.malformed);
	}
	if (!session || (ret->your && ret->your != session->fsm.own))
		return refuse(session, &bfd->refusals.unknown);
	if (!session->spec.hops && datagram->ttl != 255)
		return refuse(session, &bfd->refusals.hops);
	return true;
}

void bfd_session_receive(struct bfd *bfd, const struct bfd_listener *listener,
			 const struct bfd_datagram *datagram, uint64_t now_us)
{
	struct bfd_session *session = session_with(bfd, datagram, listener->multihop);
	struct bfd_packet packet;
	enum bfd_state before;
	int actions;

	if (!is_fit(bfd, session, datagram, &packet))
		return;
	session->received++;
	before = session->fsm.state;
	actions = bfd_fsm_receive(&session->fsm, &packet, now_us, bfd_random(bfd));
	note_change(session, before);
	if (actions & BFD_FSM_SEND_FINAL)
		send_packet(session, true, now_us);
}

/* --- time --- */

/* Its end: the peer has answered, or never knew us, or had the time. */
static bool has_left(const struct bfd_session *session, uint64_t now_us)
{
	return session->leaving &&
	       (!session->fsm.polling || !session->fsm.your || now_us >= session->leave_at_us);
}

bool bfd_session_tick(struct bfd_session *session, uint64_t now_us)
{
	enum bfd_state before = session->fsm.state;
	int actions;

	if (has_left(session, now_us)) {
		bfd_session_free(session);
		return false;
	}
	actions = bfd_fsm_tick(&session->fsm, now_us, bfd_random(session->bfd));
	note_change(session, before);
	if (actions & BFD_FSM_SEND)
		send_packet(session, false, now_us);
	return true;
}

/* The first packet goes out here, from the caller's thread. */
void bfd_session_leave(struct bfd_session *session, uint64_t now_us)
{
	uint64_t detect_us = (uint64_t)session->fsm.multiplier * bfd_fsm_send_us(&session->fsm);

	if (session->leaving)
		return;
	session->leaving = true;
	session->bfd->count--;
	session->leave_at_us = now_us + (detect_us < LEAVE_MAX_US ? detect_us : LEAVE_MAX_US);
	bfd_fsm_disable(&session->fsm, now_us);
	if (session->fsm.your && (bfd_fsm_tick(&session->fsm, now_us, 0) & BFD_FSM_SEND))
		send_packet(session, false, now_us);
}

void bfd_session_free(struct bfd_session *session)
{
	LIST_REMOVE(session, link);
	bfd_listeners_renew(session->bfd);
	if (session->fd >= 0)
		close(session->fd);
	free(session);
}
