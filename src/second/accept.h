/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Would a socket take this segment for its own? That one exists is not enough: a client may have
 * the same ports again while a socket of the connection before is left, and that one must not
 * swallow what another host's waits for. Pure rules over numbers; who asks brings them.
 *
 * What tells two connections of one tuple apart is the acknowledgement, for a server's numbers
 * begin anywhere (RFC 6528). A client's begin higher each time, by the clock, so the sequence may
 * lie far below what is expected (a repetition), but not beyond the window. Numbers wrap around.
 */
#pragma once

#include "pkt/parse.h"

enum {
	/* Repetitions begin so far below what is expected, at most. No window is larger in
	 * practice; and who is refused for ever, for want of an answer, would stall. */
	ACCEPT_BEHIND = 1 << 28,
	/* The same of what says nothing of the other direction, and of acknowledgements: the
	 * largest window that a client without scaling has (RFC 9293). */
	ACCEPT_NEAR = 1 << 16,
};

enum accept_kind {
	ACCEPT_NOBODY,
	ACCEPT_LISTENER,
	ACCEPT_PENDING,   /* a SYN has come and was answered */
	ACCEPT_CONNECTED, /* or closing, and not yet without a process's memory of it */
	ACCEPT_WAITING,   /* TIME_WAIT, or FIN_WAIT2 in its shape */
};

struct accept_socket {
	__u32 kind;       /* enum accept_kind */
	__u32 rcv_nxt;    /* expected */
	__u32 rcv_window; /* beyond it, what the client was allowed */
	__u32 snd_una;    /* ours, the first that is not acknowledged */
	__u32 snd_end;    /* ours, beyond all that was sent or is about to be */
	__u32 snd_window; /* the most that the client ever allowed */
	__u8 cookie;      /* a listener: the acknowledgement is a SYN cookie of its own */
	__u8 listens;     /* beside one that waits: somebody listens */
	__u8 pad[2];
};

/* Of a quoted segment, one of the host's own, only the first numbers are known. */
struct accept_segment {
	__u32 seq;
	__u32 ack;
	__u8 flags; /* pkt_tcp_flags */
	__u8 quoted;
	__u8 pad[2];
};

enum accepted {
	ACCEPTED_NONE,    /* there is no socket for it */
	ACCEPTED_REFUSED, /* there is, and it would not take it */
	ACCEPTED_YES,
};

/* Whether `number` is among `first` and the `length` that follow it. */
PKT_INLINE int accept_within(__u32 number, __u32 first, __u32 length)
{
	return number - first <= length;
}

/* The host sent it, a while ago perhaps; an error about it is for who still waits for an answer. */
PKT_INLINE int accept_quoted(const struct accept_socket *socket,
			     const struct accept_segment *segment)
{
	__u32 behind = socket->kind == ACCEPT_PENDING ? 0 : ACCEPT_NEAR;

	return accept_within(segment->seq, socket->snd_una - behind,
			     socket->snd_end - socket->snd_una + behind);
}

/* RFC 5961, section 5.2, for what it acknowledges. */
PKT_INLINE int accept_ack(const struct accept_socket *socket, const struct accept_segment *segment)
{
	__u32 behind = socket->snd_window + ACCEPT_NEAR;

	if (socket->kind == ACCEPT_PENDING)
		return segment->ack == socket->snd_end;
	return accept_within(segment->ack, socket->snd_una - behind,
			     socket->snd_end - socket->snd_una + behind);
}

PKT_INLINE int accept_numbers(const struct accept_socket *socket,
			      const struct accept_segment *segment)
{
	int has_ack = (segment->flags & PKT_TCP_ACK) != 0;
	__u32 behind = has_ack ? ACCEPT_BEHIND : ACCEPT_NEAR;

	if (segment->quoted)
		return accept_quoted(socket, segment);
	if (!has_ack && !(segment->flags & PKT_TCP_RST))
		return 0;
	return (!has_ack || accept_ack(socket, segment)) &&
	       accept_within(segment->seq, socket->rcv_nxt - behind, socket->rcv_window + behind);
}

/* Nobody resets or answers a listener: what is neither a SYN nor a cookie is not for it. */
PKT_INLINE enum accepted accept_listener(const struct accept_socket *socket,
					 const struct accept_segment *segment, int begins)
{
	return begins || (!segment->quoted && socket->cookie) ? ACCEPTED_YES : ACCEPTED_NONE;
}

/*
 * A SYN is for who listens, and for a connection that is there already: the host's challenge is
 * what tells a client that began anew (RFC 5961, section 4.2).
 */
PKT_INLINE enum accepted accept_decide(const struct accept_socket *socket,
				       const struct accept_segment *segment)
{
	__u8 asked = segment->flags & (PKT_TCP_SYN | PKT_TCP_ACK | PKT_TCP_RST);
	int begins = !segment->quoted && asked == PKT_TCP_SYN;

	switch (socket->kind) {
	case ACCEPT_NOBODY: return ACCEPTED_NONE;
	case ACCEPT_LISTENER: return accept_listener(socket, segment, begins);
	case ACCEPT_WAITING:
		if (begins)
			return socket->listens ? ACCEPTED_YES : ACCEPTED_NONE;
		break;
	default:
		if (begins)
			return ACCEPTED_YES;
		break;
	}
	return accept_numbers(socket, segment) ? ACCEPTED_YES : ACCEPTED_REFUSED;
}
