/* SPDX-License-Identifier: BSD-2-Clause */
/* The control socket's client, for the command line: it blocks, but never past its deadline. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "admin/control.h"
#include "base/time.h"

enum { READ_MIN = 64 * 1024 }; /* room for a read, at least */

struct answer {
	char *text;
	size_t length, room;
	bool ended; /* the line is complete, or the daemon closed */
};

static int left_ms(uint64_t end_ns)
{
	uint64_t now_ns = time_now_ns();

	return now_ns < end_ns ? (int)((end_ns - now_ns + TIME_MILLI_NS - 1) / TIME_MILLI_NS) : 0;
}

/* 0 or -errno; an error of the socket is left to the next call on it. */
static int wait_for(int fd, short events, uint64_t end_ns)
{
	struct pollfd ready = {.fd = fd, .events = events};
	int count;

	do {
		count = poll(&ready, 1, left_ms(end_ns));
	} while (count < 0 && errno == EINTR);
	if (count < 0)
		return -errno;
	return count ? 0 : -ETIMEDOUT;
}

/* A full queue cannot be polled for; the send timeout bounds the wait for a place in it. */
static int connect_by(int fd, const char *path, uint64_t end_ns)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int ms = left_ms(end_ns);
	struct timeval wait = {.tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000};
	int code;

	strcpy(name.sun_path, path);
	if (ms == 0)
		return -ETIMEDOUT;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)))
		return -errno;
	do {
		code = connect(fd, (struct sockaddr *)&name, sizeof(name)) ? -errno : 0;
	} while (code == -EINTR && left_ms(end_ns));
	return code == -EAGAIN || code == -EINTR ? -ETIMEDOUT : code;
}

static int send_all(int fd, const char *text, size_t length, uint64_t end_ns)
{
	while (length) {
		ssize_t sent = send(fd, text, length, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent >= 0) {
			text += sent;
			length -= (size_t)sent;
		} else if (errno == EAGAIN) {
			int code = wait_for(fd, POLLOUT, end_ns);

			if (code)
				return code;
		} else if (errno == EPIPE || errno == ECONNRESET) {
			return 0; /* it may have answered before it hung up */
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

static int make_room(struct answer *answer)
{
	size_t room = answer->room ? answer->room * 2 : 2 * READ_MIN;
	char *grown;

	if (answer->room - answer->length >= READ_MIN)
		return 0;
	if (answer->length > CONTROL_ANSWER_MAX)
		return -EMSGSIZE;
	grown = realloc(answer->text, room);
	if (!grown)
		return -ENOMEM;
	answer->text = grown;
	answer->room = room;
	return 0;
}

static int receive_some(int fd, struct answer *answer)
{
	char *end = answer->text + answer->length;
	ssize_t got = recv(fd, end, answer->room - answer->length, MSG_DONTWAIT);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	answer->length += (size_t)got;
	answer->ended = got == 0 || memchr(end, '\n', (size_t)got);
	return 0;
}

static int receive_all(int fd, struct answer *answer, uint64_t end_ns)
{
	while (!answer->ended) {
		int code = wait_for(fd, POLLIN, end_ns);

		if (!code)
			code = make_room(answer);
		if (!code)
			code = receive_some(fd, answer);
		if (code)
			return code;
	}
	return 0;
}

static int explain(int code, const char *path, int timeout_ms, struct err *err)
{
	switch (code) {
	case 0: return 0;
	case -ENOENT:
	case -ECONNREFUSED: return err_set(err, code, "no daemon listens on %s", path);
	case -ETIMEDOUT:
		return err_set(err, code, "no answer on %s within %d ms", path, timeout_ms);
	case -EMSGSIZE: return err_set(err, code, "the answer on %s is too large", path);
	default: return err_set(err, code, "%s: %s", path, strerror(-code));
	}
}

static int exchange(const char *path, const char *request, uint64_t end_ns, struct answer *answer)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int code;

	if (fd < 0)
		return -errno;
	code = connect_by(fd, path, end_ns);
	if (!code)
		code = send_all(fd, request, strlen(request), end_ns);
	if (!code)
		code = send_all(fd, "\n", 1, end_ns);
	if (!code)
		code = receive_all(fd, answer, end_ns);
	close(fd);
	return code;
}

static int understand(const struct answer *answer, const char *path, json_t **ret, struct err *err)
{
	json_error_t error;
	json_t *json = json_loadb(answer->text, answer->length, 0, &error);
	const char *refused;

	if (!json_is_object(json)) {
		json_decref(json);
		return err_set(err, -EPROTO, "%s on %s",
			       answer->length ? "the answer is no JSON object" : "no answer", path);
	}
	refused = json_string_value(json_object_get(json, "error"));
	if (refused) {
		err_set(err, -EREMOTEIO, "%s", refused);
		json_decref(json);
		return -EREMOTEIO;
	}
	*ret = json;
	return 0;
}

int control_call(const char *path, const json_t *request, int timeout_ms, json_t **ret,
		 struct err *err)
{
	uint64_t end_ns =
		time_now_ns() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * TIME_MILLI_NS;
	struct answer answer = {0};
	char *text;
	int code;

	if (!*path || strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return err_set(err, -ENAMETOOLONG, "not the path of a socket: %.150s", path);
	text = json_dumps(request, JSON_COMPACT);
	if (!text || strlen(text) > CONTROL_REQUEST_MAX) {
		code = text ? -E2BIG : -EINVAL;
		free(text);
		return err_set(err, code, "the request is %s",
			       code == -E2BIG ? "too large" : "no JSON");
	}
	code = explain(exchange(path, text, end_ns, &answer), path, timeout_ms, err);
	if (!code)
		code = understand(&answer, path, ret, err);
	free(text);
	free(answer.text);
	return code;
}
