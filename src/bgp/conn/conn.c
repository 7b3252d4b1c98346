/* SPDX-License-Identifier: BSD-2-Clause */
#include "bgp/conn/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bgp/conn/tcp.h"

enum phase { CONNECTING, OPEN, LINGERING, CLOSED };

struct conn {
	LIST_ENTRY(conn) link;
	struct conn_group *group;
	uv_poll_t poll;
	uv_timer_t timer; /* of lingering */
	int handles;      /* of the two above, not closed yet */
	int fd;
	enum phase phase;
	const struct conn_ops *ops;
	void *arg;
	size_t in_length;
	size_t out_start, out_length;
	uint8_t in[CONN_IN_MAX];
	uint8_t out[CONN_OUT_MAX];
};

static void on_event(uv_poll_t *poll, int status, int events);

static void on_handle_closed(uv_handle_t *handle)
{
	struct conn *conn = handle->data;

	if (--conn->handles == 0)
		free(conn);
}

/* Off the loop and out of its group; its memory goes when the loop has closed the handles. */
static void leave(struct conn *conn)
{
	struct conn_group *group = conn->group;

	LIST_REMOVE(conn, link);
	group->lingering -= conn->phase == LINGERING;
	conn->phase = CLOSED;
	uv_close((uv_handle_t *)&conn->poll, on_handle_closed);
	uv_close((uv_handle_t *)&conn->timer, on_handle_closed);
	if (LIST_EMPTY(&group->conns) && group->empty)
		group->empty(group->arg);
}

static void end(struct conn *conn, bool reset)
{
	int fd = conn->fd;

	leave(conn);
	if (reset)
		tcp_abort(fd);
	else
		close(fd);
}

static void watch(struct conn *conn)
{
	bool writes = conn->phase == CONNECTING || conn->out_length > 0;

	uv_poll_start(&conn->poll,
		      (writes ? UV_WRITABLE : 0) | (conn->phase == CONNECTING ? 0 : UV_READABLE),
		      on_event);
}

int conn_open(struct conn_group *group, int fd, bool connecting, const struct conn_ops *ops,
	      void *arg, struct conn **ret)
{
	struct conn *conn = calloc(1, sizeof(*conn));
	int code = conn ? 0 : -ENOMEM;

	if (!code)
		code = uv_poll_init(group->loop, &conn->poll, fd);
	if (code) {
		free(conn);
		tcp_abort(fd);
		return code;
	}
	uv_timer_init(group->loop, &conn->timer);
	conn->poll.data = conn->timer.data = conn;
	conn->handles = 2;
	conn->group = group;
	conn->fd = fd;
	conn->phase = connecting ? CONNECTING : OPEN;
	conn->ops = ops;
	conn->arg = arg;
	LIST_INSERT_HEAD(&group->conns, conn, link);
	watch(conn);
	*ret = conn;
	return 0;
}

static void compact(struct conn *conn)
{
	memmove(conn->out, conn->out + conn->out_start, conn->out_length);
	conn->out_start = 0;
}

uint8_t *conn_room(struct conn *conn)
{
	if (conn->phase != OPEN || CONN_OUT_MAX - conn->out_length < WIRE_MAX)
		return NULL;
	if (CONN_OUT_MAX - conn->out_start - conn->out_length < WIRE_MAX)
		compact(conn);
	return conn->out + conn->out_start + conn->out_length;
}

bool conn_has_room_for_routes(const struct conn *conn)
{
	return conn->phase == OPEN && CONN_OUT_MAX - conn->out_length >= CONN_SPARE + WIRE_MAX;
}

void conn_add(struct conn *conn, size_t length)
{
	conn->out_length += length;
}

size_t conn_unsent(const struct conn *conn)
{
	return conn->out_length;
}

/* What goes wrong with the connection is also to be read from it, and is told from there. */
static void send_some(struct conn *conn)
{
	ssize_t sent;

	while (conn->out_length > 0) {
		sent = send(conn->fd, conn->out + conn->out_start, conn->out_length, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			break;
		conn->out_start += (size_t)sent;
		conn->out_length -= (size_t)sent;
	}
	if (conn->out_length == 0)
		conn->out_start = 0;
}

void conn_flush(struct conn *conn)
{
	if (conn->phase != OPEN)
		return;
	send_some(conn);
	watch(conn);
}

void conn_local(const struct conn *conn, struct addr *ret)
{
	if (tcp_local(conn->fd, ret))
		memset(ret, 0, sizeof(*ret));
}

/* Hands on each whole message; stops when one of them closed the connection. */
static void take_messages(struct conn *conn)
{
	struct wire_notice fault;
	enum wire_type type;
	size_t at = 0;
	int length;

	while (conn->phase == OPEN) {
		length = wire_frame(conn->in + at, conn->in_length - at, &type, &fault);
		if (length < 0) {
			conn->ops->fault(conn->arg, &fault);
			return;
		}
		if (length == 0)
			break;
		conn->ops->message(conn->arg, type, conn->in + at, (size_t)length);
		at += (size_t)length;
	}
	conn->in_length -= at;
	memmove(conn->in, conn->in + at, conn->in_length);
}

void conn_read(struct conn *conn)
{
	ssize_t got;

	if (conn->phase != OPEN)
		return;
	got = recv(conn->fd, conn->in + conn->in_length, CONN_IN_MAX - conn->in_length, 0);
	if (got > 0) {
		conn->in_length += (size_t)got;
		take_messages(conn);
	} else if (got == 0) {
		conn->ops->ended(conn->arg, 0);
	} else if (errno != EAGAIN && errno != EINTR) {
		conn->ops->ended(conn->arg, -errno);
	}
}

static void linger_on(struct conn *conn)
{
	ssize_t got;

	if (conn->out_length > 0) {
		send_some(conn);
		if (conn->out_length == 0)
			shutdown(conn->fd, SHUT_WR);
		watch(conn);
	}
	got = recv(conn->fd, conn->in, CONN_IN_MAX, 0);
	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
		end(conn, false);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	struct conn *conn = poll->data;
	size_t unsent = conn->out_length;

	if (status < 0)
		events = UV_READABLE | UV_WRITABLE;
	if (conn->phase == LINGERING) {
		linger_on(conn);
		return;
	}
	if (conn->phase == CONNECTING) {
		int code = tcp_outcome(conn->fd);

		conn->phase = code ? CONNECTING : OPEN;
		watch(conn);
		conn->ops->connected(conn->arg, code);
		return;
	}
	if (events & UV_WRITABLE) {
		conn_flush(conn);
		if (conn->out_length < unsent)
			conn->ops->sent(conn->arg);
	}
	if (events & UV_READABLE)
		conn_read(conn);
}

static void on_linger_over(uv_timer_t *timer)
{
	end(timer->data, true);
}

static void linger(struct conn *conn)
{
	conn->phase = LINGERING;
	conn->group->lingering++;
	send_some(conn);
	if (conn->out_length == 0)
		shutdown(conn->fd, SHUT_WR);
	watch(conn);
	uv_timer_start(&conn->timer, on_linger_over, CONN_LINGER_MS, 0);
}

void conn_close(struct conn *conn, enum conn_close how)
{
	if (how == CONN_LINGER && conn->phase == OPEN &&
	    conn->group->lingering < CONN_LINGERING_MAX)
		linger(conn);
	else
		end(conn, how == CONN_ABORT);
}

void conn_group_abort(struct conn_group *group)
{
	struct conn *conn, *next;

	for (conn = LIST_FIRST(&group->conns); conn; conn = next) {
		next = LIST_NEXT(conn, link);
		if (conn->phase == LINGERING)
			end(conn, true);
	}
}
