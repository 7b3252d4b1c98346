/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The admin port. Everything that takes as long as a client likes is on a thread of its own
 * (http_thread.c): accepting, reading, sending, deadlines. What is asked of the daemon's state is
 * asked on the loop, where that state is, by whole requests:
 *
 *   thread: read, checked, suspended -> loop: the handler -> thread: resumed, sent
 *
 * After a handler that took t the next is called no earlier than 4t later, so that whoever asks
 * for much, or often, has a fifth of the loop at most. Requests that wait too long, and those that
 * come while HTTP_WAITING_MAX wait, get 503 from the thread.
 */
#include "admin/http.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "admin/http_room.h"
#include "admin/http_words.h"
#include "base/time.h"

enum {
	BACKLOG = 256,
	REST = 4, /* so many times as long as a handler took */
};

/* --- bodies --- */

struct http_body *http_body_new(char *text, size_t length)
{
	struct http_body *body = text ? malloc(sizeof(*body)) : NULL;

	if (!body) {
		free(text);
		return NULL;
	}
	atomic_init(&body->uses, 1);
	body->text = text;
	body->length = length;
	return body;
}

struct http_body *http_body_get(struct http_body *body)
{
	atomic_fetch_add(&body->uses, 1);
	return body;
}

void http_body_put(struct http_body *body)
{
	if (!body || atomic_fetch_sub(&body->uses, 1) != 1)
		return;
	free(body->text);
	free(body);
}

void http_response_fini(struct http_response *response)
{
	free(response->body);
	http_body_put(response->shared);
	response->body = NULL;
	response->shared = NULL;
}

void http_exchange_free(struct http_exchange *exchange)
{
	http_response_fini(&exchange->response);
	free(exchange);
}

/* --- the loop's half --- */

/* The next that still waits; it is the loop's from now on. */
static struct http_exchange *take(struct http *http, bool *ret_more)
{
	struct http_exchange *exchange;

	pthread_mutex_lock(&http->lock);
	exchange = TAILQ_FIRST(&http->waiting);
	if (exchange) {
		TAILQ_REMOVE(&http->waiting, exchange, link);
		http->waiting_count--;
		exchange->state = EXCHANGE_TAKEN;
	}
	*ret_more = !TAILQ_EMPTY(&http->waiting);
	pthread_mutex_unlock(&http->lock);
	return exchange;
}

static void on_rest(uv_timer_t *timer);

static void serve(struct http *http)
{
	bool more;
	struct http_exchange *exchange;
	uint64_t began_ns;

	if (uv_is_active((uv_handle_t *)&http->rest))
		return;
	exchange = take(http, &more);
	if (!exchange)
		return;
	began_ns = time_now_ns();
	exchange->route->handler(exchange->route->arg, exchange);
	/* Also where no other waits yet: the next may come at once. */
	uv_timer_start(&http->rest, on_rest, (time_now_ns() - began_ns) * REST / TIME_MILLI_NS, 0);
}

static void on_rest(uv_timer_t *timer)
{
	serve(timer->data);
}

static void on_async(uv_async_t *async)
{
	serve(async->data);
}

static void wake(const struct http *http)
{
	uint64_t one = 1;

	/* Full it wakes as well. */
	if (write(http->wake_fd, &one, sizeof(one)) < 0)
		return;
}

/* Takes the response. */
static void hand_back(struct http_exchange *exchange, const struct http_response *response)
{
	struct http *http = exchange->http;
	bool is_gone;

	exchange->response = *response;
	if (exchange->route->at_once) {
		exchange->state = EXCHANGE_ANSWERED;
		return;
	}
	pthread_mutex_lock(&http->lock);
	is_gone = exchange->state == EXCHANGE_GONE;
	if (!is_gone) {
		exchange->state = EXCHANGE_ANSWERED;
		TAILQ_INSERT_TAIL(&http->done, exchange, link);
	}
	pthread_mutex_unlock(&http->lock);
	if (is_gone)
		http_exchange_free(exchange);
	else
		wake(http);
}

void http_reply(struct http_exchange *exchange, const struct http_response *response)
{
	struct http_response answer = *response;

	if (!answer.status)
		answer.status = MHD_HTTP_OK;
	hand_back(exchange, &answer);
}

void http_reply_text(struct http_exchange *exchange, unsigned status, const char *text)
{
	size_t length = strlen(text);
	char *body = malloc(length + 2);
	struct http_response response = {
		.status = body ? status : MHD_HTTP_SERVICE_UNAVAILABLE,
		.type = "text/plain; charset=utf-8",
		.body = body,
		.length = body ? length + 1 : 0,
	};

	if (body) {
		memcpy(body, text, length);
		memcpy(body + length, "\n", 2);
	}
	hand_back(exchange, &response);
}

void http_drop(struct http_exchange *exchange)
{
	const struct http_response response = {.status = MHD_HTTP_SERVICE_UNAVAILABLE};

	hand_back(exchange, &response);
}

/* --- of an exchange --- */

const char *http_path(const struct http_exchange *exchange)
{
	return exchange->path;
}

const char *http_rest(const struct http_exchange *exchange)
{
	return exchange->path + strlen(exchange->route->path);
}

const char *http_query(const struct http_exchange *exchange, const char *name)
{
	const char *at = exchange->query, *end = at + exchange->query_length;

	while (at < end) {
		const char *value = at + strlen(at) + 1;

		if (strcmp(at, name) == 0)
			return value;
		at = value + strlen(value) + 1;
	}
	return NULL;
}

int http_query_number(const struct http_exchange *exchange, const char *name, uint64_t absent,
		      uint64_t max, uint64_t *ret)
{
	const char *text = http_query(exchange, name);

	if (text)
		return http_number_parse(text, max, ret);
	*ret = absent;
	return 0;
}

bool http_wants_openmetrics(const struct http_exchange *exchange)
{
	return exchange->openmetrics;
}

struct http_counts http_counts(struct http *http)
{
	struct http_counts counts;

	pthread_mutex_lock(&http->lock);
	counts = http->counts;
	pthread_mutex_unlock(&http->lock);
	return counts;
}

/* --- open and close --- */

static const char *advice(int code)
{
	switch (code) {
	case -EADDRINUSE: return ": another process has the port; name another, or `off`";
	case -EADDRNOTAVAIL: return ": this host has no such address";
	case -EACCES: return ": a port below 1024 takes CAP_NET_BIND_SERVICE";
	default: return "";
	}
}

static int bind_to(int fd, const struct http_spec *spec)
{
	struct sockaddr_storage name;
	socklen_t length = addr_sockaddr(&spec->address, spec->port, &name);
	const int on = 1;

	/* A restart must not wait for connections that it closed itself. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    (!addr_is4(&spec->address) &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on))) ||
	    bind(fd, (struct sockaddr *)&name, length) || listen(fd, BACKLOG))
		return -errno;
	return 0;
}

static int open_sockets(struct http *http, const struct http_spec *spec, struct err *err)
{
	int family = addr_is4(&spec->address) ? AF_INET : AF_INET6;
	char text[ADDR_TEXT_MAX];
	int code = 0;

	http->listen_fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	http->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (http->listen_fd < 0 || http->wake_fd < 0)
		code = -errno;
	if (!code)
		code = bind_to(http->listen_fd, spec);
	if (!code)
		return 0;
	return err_set(err, code, "cannot listen for HTTP on %s port %u: %s%s",
		       addr_format(&spec->address, text), spec->port, strerror(-code),
		       advice(code));
}

static void free_http(struct http *http)
{
	if (http->listen_fd >= 0)
		close(http->listen_fd);
	if (http->wake_fd >= 0)
		close(http->wake_fd);
	pthread_mutex_destroy(&http->lock);
	free(http);
}

static void on_closed(uv_handle_t *handle)
{
	struct http *http = handle->data;

	if (--http->handles == 0)
		free_http(http);
}

static void close_handles(struct http *http)
{
	uv_close((uv_handle_t *)&http->async, on_closed);
	uv_close((uv_handle_t *)&http->rest, on_closed);
}

int http_open(uv_loop_t *loop, const struct http_spec *spec, struct http **ret, struct err *err)
{
	struct http *http = calloc(1, sizeof(*http));
	int code;

	if (!http)
		return err_set(err, -ENOMEM, "admin port: out of memory");
	http->loop = loop;
	http->routes = spec->routes;
	http->route_count = spec->route_count;
	http->request_ms = spec->request_ms ? spec->request_ms : HTTP_REQUEST_MS;
	http->answer_ms = spec->answer_ms ? spec->answer_ms : HTTP_ANSWER_MS;
	http->is_local = addr_is_loopback(&spec->address);
	http->listen_fd = http->wake_fd = -1;
	TAILQ_INIT(&http->waiting);
	TAILQ_INIT(&http->done);
	pthread_mutex_init(&http->lock, NULL);
	code = open_sockets(http, spec, err);
	if (!code) {
		code = uv_async_init(loop, &http->async, on_async);
		if (code)
			err_set(err, code, "admin port: %s", uv_strerror(code));
	}
	if (code) {
		free_http(http);
		return code;
	}
	uv_timer_init(loop, &http->rest);
	http->handles = 2;
	http->async.data = http->rest.data = http;
	code = http_thread_start(http, err);
	if (code) {
		close_handles(http);
		return code;
	}
	*ret = http;
	return 0;
}

void http_close(struct http *http)
{
	if (!http)
		return;
	pthread_mutex_lock(&http->lock);
	http->stop = true;
	pthread_mutex_unlock(&http->lock);
	wake(http);
	http_thread_end(http);
	close_handles(http);
}
