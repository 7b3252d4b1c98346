/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BFD (RFC 5880, 5881, 5883), asynchronous mode: is the path to a router alive, known within
 * multiplier x interval. All sessions run on a thread of this room's own, so that a busy event loop
 * costs no session; all calls below and all callbacks are on the loop's thread. A session is added
 * and works on for itself: what the host lacks (an address, a route, the UDP port) is tried again
 * each second and is said in the status meanwhile.
 *
 * Not spoken: authentication, demand mode of our own (a peer's is respected), echo. Refused and
 * counted: packets that RFC 5880 section 6.8.6 discards, that do not come from a session's peer, or
 * that came to a direct session over a router.
 *
 * We say C = 0: this BFD lives and dies with the daemon (RFC 5882 section 4.3). So a router may
 * take its end for that of the control plane alone and keep the routes by graceful restart (BIRD:
 * `bfd graceful`; FRR by itself, if TCP ended first), or move the traffic at once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/addr.h"
#include "base/err.h"

enum {
	BFD_SESSIONS_MAX = 256, /* of one struct bfd */
	BFD_INTERVAL_MIN_MS = 10,
	BFD_INTERVAL_MAX_MS = 60000,
	BFD_MULTIPLIER_MAX = 255,
	BFD_CLOSE_MS = 200, /* what bfd_close may take */
};

/* The values of the wire (RFC 5880 section 4.1). */
enum bfd_state { BFD_ADMIN_DOWN, BFD_DOWN, BFD_INIT, BFD_UP };

/*
 * What becomes of a session, for its owner. Only BFD_NEWS_LOST says that the path failed: a
 * session that never was up has none (the router may not speak BFD), and a peer that switched BFD
 * off (AdminDown) says nothing of the path (RFC 5882 section 3.2).
 */
enum bfd_news {
	BFD_NEWS_UP,
	BFD_NEWS_LOST, /* was up; nothing came in time, or the peer says that it hears nothing */
	BFD_NEWS_OFF,  /* was up; the peer switched it off */
};

struct bfd_spec {
	struct addr local;     /* the source; none (all zero): as the kernel's routes say */
	struct addr peer;      /* of the same family */
	const char *interface; /* of a link-local peer, and of none other; else NULL */
	uint32_t interval_ms;  /* that we want to send and to receive at, once up */
	uint8_t multiplier;    /* so many intervals without a packet, and the peer gives us up */
	/* 0: directly connected (UDP 3784, only packets with TTL 255 are heard). Else multihop (UDP
	 * 4784), over any number of hops: routers begin those with a TTL of their own choice. */
	uint8_t hops;
};

struct bfd_status {
	enum bfd_state state, peer_state;
	uint64_t since_ns; /* of the last change of state, monotonic */
	const char *why; /* of the last time down, in words of a diagnostic; "" if there was none */
	const char *peer_why;      /* what the peer says of that */
	char error[128];           /* what the host lacks to send or to listen; "" if nothing */
	uint32_t send_interval_us; /* now; 0: the peer asked for silence */
	uint32_t detect_us;        /* now; 0 before the first packet */
	uint32_t discriminator, peer_discriminator;
	bool peer_independent; /* its C bit */
	uint32_t ups, losses;  /* since it was added */
	uint64_t sent, received;
	uint64_t refused; /* with this peer's address, but not fit for the session */
	uint64_t send_errors;
};

/* Packets that no session took, and why. */
struct bfd_refusals {
	uint64_t malformed, authenticated;
	uint64_t unknown; /* for no session, or not from its peer */
	uint64_t hops;    /* from elsewhere than the link, for a direct session */
	/* Dropped in the kernel: from elsewhere than the link, from no peer, too many. */
	uint64_t kernel;
};

struct bfd;         /* all sessions, and the thread */
struct bfd_session; /* one */

/*
 * On the loop's thread, soon after it happened. News of one session come in order; of several that
 * the loop was too busy for, the latest loss and then the latest state are told. May call anything
 * below but bfd_close.
 */
typedef void bfd_changed(void *arg, struct bfd_session *session, enum bfd_news news);

/* Starts the thread. 0, or -errno with *err. */
int bfd_open(uv_loop_t *loop, struct bfd **ret, struct err *err);

/*
 * Starts a session. 0 or -errno with *err: -EINVAL a bad value, -EEXIST there is one with this peer
 * (of the same kind, direct or multihop), -ENOSPC too many, -ENOMEM. *ret stays valid until
 * bfd_remove or bfd_close.
 */
int bfd_add(struct bfd *bfd, const struct bfd_spec *spec, bfd_changed *changed, void *arg,
	    struct bfd_session **ret, struct err *err);

/* Another interval or multiplier for a live session, told by a poll sequence (RFC 5880 section
 * 6.5): it does not go down. 0 or -EINVAL with *err. */
int bfd_change(struct bfd_session *session, uint32_t interval_ms, uint8_t multiplier,
	       struct err *err);

/* No news after this. The thread goes on to say AdminDown for one detection time, so that the peer
 * takes it for our will and not for a failure. */
void bfd_remove(struct bfd_session *session);

void bfd_status(const struct bfd_session *session, struct bfd_status *ret);
void bfd_refusals(const struct bfd *bfd, struct bfd_refusals *ret);
const char *bfd_state_name(enum bfd_state state); /* "up", "down", "init", "admin-down" */

/*
 * Says AdminDown to every peer, returns when each has answered, or after BFD_CLOSE_MS; ends the
 * thread and frees. The loop must run once more for its handle to close. NULL is none.
 *
 * A daemon that is killed says nothing: its peers find out by the detection time.
 */
void bfd_close(struct bfd *bfd);
