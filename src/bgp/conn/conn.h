/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One TCP connection that carries BGP messages, with bounded buffers both ways: what the other end
 * does not read waits in CONN_OUT_MAX bytes and no more, what it sends is read CONN_IN_MAX at a
 * time. It is closed at once, or lingers a while so that a last message arrives. It belongs to a
 * group, which knows when the last one is gone. On the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "base/addr.h"
#include "bgp/wire/wire.h"

enum {
	CONN_IN_MAX = 4 * WIRE_MAX,
	CONN_OUT_MAX = 16 * WIRE_MAX,
	CONN_SPARE = 2 * WIRE_MAX, /* of those, not for routes */
	CONN_LINGER_MS = 2000,
	CONN_LINGERING_MAX = 64, /* in a group; more are reset */
};

struct conn;

/* Each may close the connection. */
struct conn_ops {
	void (*connected)(void *arg, int code); /* ours went through, or a -errno */
	void (*message)(void *arg, enum wire_type type, const uint8_t *message, size_t length);
	void (*fault)(void *arg, const struct wire_notice *fault); /* by wire_frame */
	void (*ended)(void *arg, int code); /* by the other end: 0, or a -errno */
	void (*sent)(void *arg);            /* bytes went out later than conn_flush */
};

struct conn_group {
	uv_loop_t *loop;
	LIST_HEAD(, conn) conns; /* not closed, or lingering */
	size_t lingering;
	void (*empty)(void *arg); /* the last one is gone; may be NULL */
	void *arg;
};

/* The descriptor is the connection's from here on, also if this fails. */
int conn_open(struct conn_group *group, int fd, bool connecting, const struct conn_ops *ops,
	      void *arg, struct conn **ret);

/* WIRE_MAX bytes to write a message to, NULL: they are not free. conn_add says how long it got,
 * conn_flush hands what was added to the kernel, as much as it takes. */
uint8_t *conn_room(struct conn *conn);
bool conn_has_room_for_routes(const struct conn *conn);
void conn_add(struct conn *conn, size_t length);
void conn_flush(struct conn *conn);
size_t conn_unsent(const struct conn *conn);
/* Looks for messages that came and were not seen yet. */
void conn_read(struct conn *conn);
void conn_local(const struct conn *conn, struct addr *ret);

enum conn_close { CONN_LINGER, CONN_SHUT, CONN_ABORT };
/*
 * No callback comes any more. CONN_LINGER sends what was added and waits until the other end has
 * closed too, at most CONN_LINGER_MS; CONN_SHUT drops it, and CONN_ABORT resets.
 */
void conn_close(struct conn *conn, enum conn_close how);
/* Every connection that lingers ends now. */
void conn_group_abort(struct conn_group *group);
