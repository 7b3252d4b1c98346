/* SPDX-License-Identifier: BSD-2-Clause */
/* The TCP probe: a connection that is established is a success, and is reset at once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "health/probe/socket.h"

struct probe {
	uv_poll_t poll;
	struct probe_order order;
	int fd;
};

/*
 * Where nobody listens on a port of the ephemeral range, a socket of this host may be given that
 * very port and meet itself (a simultaneous open, RFC 9293 section 3.5).
 */
static bool met_itself(int fd, const struct sockaddr_storage *peer, socklen_t peer_length)
{
	struct sockaddr_storage own = {0};
	socklen_t length = sizeof(own);

	return getsockname(fd, (struct sockaddr *)&own, &length) == 0 && length == peer_length &&
	       memcmp(&own, peer, length) == 0;
}

/* 0, or the errno of what went wrong with the connection. */
static int outcome(int fd)
{
	struct sockaddr_storage peer = {0};
	socklen_t length = sizeof(int);
	int code = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length))
		return errno;
	if (code)
		return code;
	length = sizeof(peer);
	if (getpeername(fd, (struct sockaddr *)&peer, &length))
		return errno;
	return met_itself(fd, &peer, length) ? ECONNREFUSED : 0;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void cancel(struct probe *probe)
{
	uv_close((uv_handle_t *)&probe->poll, on_closed);
	close(probe->fd);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	struct probe *probe = poll->data;
	struct probe_order order = probe->order;
	const char *error;
	enum probe_result result = socket_verdict(outcome(probe->fd), &error);

	(void)status;
	(void)events;
	cancel(probe);
	order.done(order.arg, result, error);
}

/* Returns an errno. The descriptor is the probe's afterwards. */
static int watch(const struct probe_order *order, int fd, struct probe **ret)
{
	struct probe *probe = calloc(1, sizeof(*probe));
	int code;

	if (!probe)
		return ENOMEM;
	probe->order = *order;
	probe->fd = fd;
	probe->poll.data = probe;
	code = uv_poll_init(order->loop, &probe->poll, fd);
	if (code) {
		free(probe);
		return -code;
	}
	uv_poll_start(&probe->poll, UV_WRITABLE, on_event);
	*ret = probe;
	return 0;
}

static enum probe_result start(const struct probe_order *order, struct probe **ret,
			       const char **ret_error)
{
	int fd, code = socket_connect(order, SOCK_STREAM, &fd);

	if (code == EINPROGRESS) {
		code = watch(order, fd, ret);
		if (!code)
			return PROBE_RUNNING;
	}
	if (fd >= 0)
		close(fd);
	return socket_verdict(code, ret_error);
}

const struct probe_type probe_tcp = {
	.name = "tcp", .start = start, .cancel = cancel, .has_port = true, .has_ways = true};
