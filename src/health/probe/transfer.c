/* SPDX-License-Identifier: BSD-2-Clause */
#include "health/probe/transfer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct transfers {
	uv_loop_t *loop;
	uv_timer_t timer;
	CURLM *multi;
	transfers_done *done;
};

/* One of libcurl's sockets. */
struct watch {
	uv_poll_t poll;
	struct transfers *transfers;
	curl_socket_t fd;
};

static void free_handle(uv_handle_t *handle)
{
	free(handle->data);
}

static void tell_done(struct transfers *transfers)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(transfers->multi, &left))) {
		CURL *easy = message->easy_handle;
		CURLcode code = message->data.result;
		char *private = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private);
		curl_multi_remove_handle(transfers->multi, easy);
		transfers->done(easy, code, private);
	}
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	struct watch *watch = poll->data;
	struct transfers *transfers = watch->transfers;
	/* An error is for libcurl to read from the socket, in words. */
	int what = (events & UV_READABLE || status ? CURL_CSELECT_IN : 0) |
		   (events & UV_WRITABLE || status ? CURL_CSELECT_OUT : 0);
	int running;

	curl_multi_socket_action(transfers->multi, watch->fd, what, &running);
	tell_done(transfers);
}

static struct watch *watch_new(struct transfers *transfers, curl_socket_t fd)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	if (uv_poll_init_socket(transfers->loop, &watch->poll, fd)) {
		free(watch);
		return NULL;
	}
	watch->poll.data = watch;
	watch->transfers = transfers;
	watch->fd = fd;
	curl_multi_assign(transfers->multi, fd, watch);
	return watch;
}

/* Without memory for a watch the transfer ends by its timeout. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
	struct transfers *transfers = arg;
	struct watch *watch = known;
	int events = (what & CURL_POLL_IN ? UV_READABLE : 0) |
		     (what & CURL_POLL_OUT ? UV_WRITABLE : 0);

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (watch) {
			uv_close((uv_handle_t *)&watch->poll, free_handle);
			curl_multi_assign(transfers->multi, fd, NULL);
		}
		return 0;
	}
	if (!watch)
		watch = watch_new(transfers, fd);
	if (watch && events)
		uv_poll_start(&watch->poll, events, on_event);
	return 0;
}

static void on_timer(uv_timer_t *timer)
{
	struct transfers *transfers = timer->data;
	int running;

	curl_multi_socket_action(transfers->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	tell_done(transfers);
}

static int set_timer(CURLM *multi, long timeout_ms, void *arg)
{
	struct transfers *transfers = arg;

	(void)multi;
	if (timeout_ms < 0)
		uv_timer_stop(&transfers->timer);
	else
		uv_timer_start(&transfers->timer, on_timer, (uint64_t)timeout_ms, 0);
	return 0;
}

struct transfers *transfers_new(uv_loop_t *loop, transfers_done *done)
{
	struct transfers *transfers = calloc(1, sizeof(*transfers));

	if (!transfers)
		return NULL;
	transfers->multi = curl_multi_init();
	if (!transfers->multi) {
		free(transfers);
		return NULL;
	}
	transfers->loop = loop;
	transfers->done = done;
	uv_timer_init(loop, &transfers->timer);
	transfers->timer.data = transfers;
	curl_multi_setopt(transfers->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(transfers->multi, CURLMOPT_SOCKETDATA, transfers);
	curl_multi_setopt(transfers->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	curl_multi_setopt(transfers->multi, CURLMOPT_TIMERDATA, transfers);
	return transfers;
}

void transfers_close(struct transfers *transfers)
{
	curl_multi_cleanup(transfers->multi);
	uv_close((uv_handle_t *)&transfers->timer, free_handle);
}

void transfers_set(CURL *easy, long buffer)
{
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	/* Addresses need no cache, and libcurl walks over all of it for each connection. */
	curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, buffer);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "weir/" WEIR_VERSION);
}

int transfers_add(struct transfers *transfers, CURL *easy)
{
	return curl_multi_add_handle(transfers->multi, easy) == CURLM_OK ? 0 : -ENOMEM;
}

void transfers_remove(struct transfers *transfers, CURL *easy)
{
	curl_multi_remove_handle(transfers->multi, easy);
}
