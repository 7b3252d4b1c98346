/* SPDX-License-Identifier: BSD-2-Clause */
#include "health/probe/socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

bool socket_is_ours(int code)
{
	switch (code) {
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ENOBUFS:
	case EAGAIN:
	case EADDRINUSE:
	case EADDRNOTAVAIL: return true;
	default: return false;
	}
}

enum probe_result socket_verdict(int code, const char **ret_error)
{
	*ret_error = code ? uv_strerror(-code) : "";
	if (!code)
		return PROBE_SUCCEEDED;
	return socket_is_ours(code) ? PROBE_NOT_RUN : PROBE_REFUSED;
}

void socket_reset_on_close(int fd)
{
	struct linger reset = {.l_onoff = 1};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

int socket_prepare(const struct probe_order *order, int fd)
{
	const struct health_spec *spec = order->spec;

	return spec->way ? order->prepare(order->prepare_arg, spec->way, fd, &spec->address) : 0;
}

int socket_connect(const struct probe_order *order, int type, int *ret)
{
	const struct health_spec *spec = order->spec;
	struct sockaddr_storage to;
	socklen_t length = addr_sockaddr(&spec->address, spec->port, &to);
	int fd = socket(to.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int code;

	*ret = -1;
	if (fd < 0)
		return errno;
	if (type == SOCK_STREAM)
		socket_reset_on_close(fd);
	code = socket_prepare(order, fd);
	if (!code && connect(fd, (struct sockaddr *)&to, length))
		code = errno;
	if (code && code != EINPROGRESS)
		close(fd);
	else
		*ret = fd;
	return code;
}
