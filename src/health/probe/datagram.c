/* SPDX-License-Identifier: BSD-2-Clause */
#include "health/probe/datagram.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "health/probe/socket.h"

enum { BURST = 16 }; /* answers looked at in one go */

struct probe {
	uv_poll_t poll;
	struct probe_order order;
	datagram_judge *judge;
	int fd;
	size_t length;
	uint8_t question[];
};

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void datagram_cancel(struct probe *probe)
{
	uv_close((uv_handle_t *)&probe->poll, on_closed);
	close(probe->fd);
}

/* PROBE_RUNNING: nothing is there, or nothing that counts. */
static void receive(struct probe *probe, struct datagram_verdict *verdict)
{
	uint8_t bytes[DATAGRAM_MAX];
	struct datagram question = {probe->question, probe->length}, answer = {bytes, 0};
	const char *words;

	for (int i = 0; i < BURST && verdict->result == PROBE_RUNNING; i++) {
		ssize_t length = recv(probe->fd, bytes, sizeof(bytes), 0);

		if (length < 0 && errno == EAGAIN)
			break;
		if (length < 0) {
			verdict->result = socket_verdict(errno, &words);
			snprintf(verdict->error, sizeof(verdict->error), "%s", words);
		} else {
			answer.length = (size_t)length;
			probe->judge(probe->order.spec, &question, &answer, verdict);
		}
	}
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	struct probe *probe = poll->data;
	struct probe_order order = probe->order;
	struct datagram_verdict verdict = {.result = PROBE_RUNNING};

	(void)status;
	(void)events;
	receive(probe, &verdict);
	if (verdict.result == PROBE_RUNNING)
		return;
	datagram_cancel(probe);
	order.done(order.arg, verdict.result, verdict.error);
}

/* Returns an errno. The descriptor is the probe's afterwards. */
static int watch(const struct probe_order *order, const struct datagram *question, int fd,
		 struct probe **ret)
{
	struct probe *probe = calloc(1, sizeof(*probe) + question->length);
	int code;

	if (!probe)
		return ENOMEM;
	probe->order = *order;
	probe->fd = fd;
	probe->length = question->length;
	memcpy(probe->question, question->bytes, question->length);
	probe->poll.data = probe;
	code = uv_poll_init(order->loop, &probe->poll, fd);
	if (code) {
		free(probe);
		return -code;
	}
	uv_poll_start(&probe->poll, UV_READABLE, on_event);
	*ret = probe;
	return 0;
}

enum probe_result datagram_start(const struct probe_order *order, const struct datagram *question,
				 datagram_judge *judge, struct probe **ret, const char **ret_error)
{
	int fd, code = socket_connect(order, SOCK_DGRAM, &fd);

	if (!code && send(fd, question->bytes, question->length, 0) < 0)
		code = errno;
	if (!code)
		code = watch(order, question, fd, ret);
	if (!code) {
		(*ret)->judge = judge;
		return PROBE_RUNNING;
	}
	if (fd >= 0)
		close(fd);
	return socket_verdict(code, ret_error);
}
