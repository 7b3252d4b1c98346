/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The admin port's connections, on a thread of their own. Every call of the library is made here.
 * A connection is in one of three phases, each with a deadline:
 *
 *   it reads a request (HTTP_REQUEST_MS) -> waits for the loop (HTTP_ANSWER_MS) -> is sent
 *   (HTTP_REQUEST_MS, and a second for HTTP_READ_RATE bytes) -> reads the next
 *
 * The library's own timeouts are for silence, which a client can avoid with a byte now and then. A
 * connection that is late is shut down here, and the library finds it ended. Where all places are
 * taken the one that has been longest without a whole request gives way to who comes.
 */
#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "admin/http_room.h"
#include "admin/http_words.h"
#include "base/time.h"

/* --- requests --- */

static const struct http_route *find_route(const struct http *http, const char *path)
{
	const struct http_route *best = NULL;
	size_t best_length = 0;

	for (size_t i = 0; i < http->route_count; i++) {
		const struct http_route *route = &http->routes[i];
		size_t length = strlen(route->path);

		if (!route->prefix && strcmp(route->path, path) == 0)
			return route;
		if (route->prefix && length > best_length &&
		    strncmp(route->path, path, length) == 0) {
			best = route;
			best_length = length;
		}
	}
	return best;
}

/* What there is no room for is left out: of all that we know the names are short. */
static enum MHD_Result keep_query(void *arg, enum MHD_ValueKind kind, const char *name,
				  const char *value)
{
	struct http_exchange *exchange = arg;
	size_t name_size = strlen(name) + 1, value_size = value ? strlen(value) + 1 : 1;
	char *at = exchange->query + exchange->query_length;

	(void)kind;
	if (name_size + value_size > sizeof(exchange->query) - exchange->query_length)
		return MHD_NO;
	memcpy(at, name, name_size);
	memcpy(at + name_size, value ? value : "", value_size);
	exchange->query_length += name_size + value_size;
	return MHD_YES;
}

static struct http_exchange *exchange_new(struct client *client, const struct http_route *route,
					  const char *path)
{
	struct http_exchange *exchange = calloc(1, sizeof(*exchange));
	const char *accept = MHD_lookup_connection_value(client->connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_ACCEPT);

	if (!exchange)
		return NULL;
	exchange->http = client->http;
	exchange->client = client;
	exchange->route = route;
	exchange->openmetrics = accept && http_accept_openmetrics(accept);
	strcpy(exchange->path, path);
	MHD_get_connection_values(client->connection, MHD_GET_ARGUMENT_KIND, keep_query, exchange);
	return exchange;
}

/* False: too many wait. */
static bool hand_over(struct http_exchange *exchange)
{
	struct http *http = exchange->http;
	bool fits;

	pthread_mutex_lock(&http->lock);
	fits = http->waiting_count < HTTP_WAITING_MAX;
	if (fits) {
		TAILQ_INSERT_TAIL(&http->waiting, exchange, link);
		http->waiting_count++;
	}
	pthread_mutex_unlock(&http->lock);
	return fits;
}

static enum MHD_Result ask_handler(struct client *client, const struct http_route *route,
				   const char *path)
{
	struct http_exchange *exchange = exchange_new(client, route, path);

	if (!exchange)
		return http_say_busy(client);
	if (route->at_once) {
		route->handler(route->arg, exchange);
		return http_send_answer(client, exchange);
	}
	if (!hand_over(exchange)) {
		http_exchange_free(exchange);
		return http_say_busy(client);
	}
	client->exchange = exchange;
	client->phase = CLIENT_WAITS;
	client->deadline_ms = client->http->now_ms + client->http->answer_ms;
	client->suspended = true;
	MHD_suspend_connection(client->connection);
	uv_async_send(&client->http->async);
	return MHD_YES;
}

static bool has_content(struct MHD_Connection *connection)
{
	const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_CONTENT_LENGTH);

	return (length && strcmp(length, "0") != 0) ||
	       MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
					   MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

/* True: it may not be asked at all, and its sender is told so. */
static bool is_refused(struct client *client, const char *method, const char *version,
		       enum MHD_Result *ret)
{
	const char *host = MHD_lookup_connection_value(client->connection, MHD_HEADER_KIND,
						       MHD_HTTP_HEADER_HOST);

	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		*ret = http_say(client, MHD_HTTP_METHOD_NOT_ALLOWED,
				"this port only reads: changes go through the control socket\n");
	else if (!host && strcmp(version, MHD_HTTP_VERSION_1_0) != 0)
		*ret = http_say(client, MHD_HTTP_BAD_REQUEST, "no Host header\n");
	else if (client->http->is_local && host && !http_host_is_local(host))
		*ret = http_say(client, MHD_HTTP_FORBIDDEN,
				"this port is on the loopback: ask for it by 127.0.0.1, [::1] or "
				"localhost\n");
	else if (has_content(client->connection))
		*ret = http_say(client, MHD_HTTP_BAD_REQUEST, "a request here has no content\n");
	else
		return false;
	return true;
}

static enum MHD_Result on_request(struct client *client, const char *path)
{
	const struct http_route *route =
		strlen(path) <= HTTP_TARGET_MAX ? find_route(client->http, path) : NULL;

	client->asked = true;
	if (!route)
		return http_say(client, MHD_HTTP_NOT_FOUND, "there is nothing of that name\n");
	return route->handler ? ask_handler(client, route, path)
			      : http_send_constant(client, route);
}

/*
 * Called when a request's header is there, when the request is whole, and when a suspended
 * connection goes on. What is answered the first time ends the connection, as content may follow.
 */
#define CONTENT const char *upload, size_t *upload_length, void **request
static enum MHD_Result on_access(void *arg, struct MHD_Connection *connection, const char *path,
				 const char *method, const char *version, CONTENT)
{
	struct client *client =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
			->socket_context;
	enum MHD_Result ret = MHD_YES;

	(void)arg;
	(void)upload;
	*upload_length = 0;
	if (!client)
		return MHD_NO;
	if (*request != client) {
		*request = client;
		is_refused(client, method, version, &ret);
		return ret;
	}
	if (!client->asked)
		return on_request(client, path);
	return client->exchange ? http_send_answer(client, client->exchange)
				: http_say_busy(client);
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **request,
			 enum MHD_RequestTerminationCode code)
{
	struct client *client = *request;
	struct http *http = arg;

	(void)connection;
	(void)code;
	if (!client)
		return;
	client->phase = CLIENT_READS;
	client->asked = false;
	client->deadline_ms = http->now_ms + http->request_ms;
}

/* --- connections --- */

static void cut(struct client *client)
{
	if (client->is_cut)
		return;
	client->is_cut = true;
	shutdown(client->fd, SHUT_RDWR);
}

/* Who has been longest without a whole request; else who comes waits in vain, too. */
static void cut_for_room(struct http *http, const struct client *newest)
{
	struct client *client, *oldest = NULL;

	LIST_FOREACH(client, &http->clients, link)
	{
		if (client != newest && client->phase == CLIENT_READS && !client->is_cut &&
		    (!oldest || client->deadline_ms <= oldest->deadline_ms))
			oldest = client;
	}
	if (oldest)
		cut(oldest);
}

static void on_started(struct http *http, struct MHD_Connection *connection, void **context)
{
	struct client *client = calloc(1, sizeof(*client));
	bool is_full;

	*context = client;
	if (!client)
		return;
	client->http = http;
	client->connection = connection;
	client->fd =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	client->deadline_ms = http->now_ms + http->request_ms;
	LIST_INSERT_HEAD(&http->clients, client, link);
	pthread_mutex_lock(&http->lock);
	http->counts.accepted++;
	is_full = ++http->counts.clients > HTTP_CLIENTS_MAX;
	http->counts.refused += is_full;
	pthread_mutex_unlock(&http->lock);
	if (is_full)
		cut_for_room(http, client);
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http *http = arg;
	struct client *client = *context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		on_started(http, connection, context);
		return;
	}
	if (!client)
		return;
	http->has_closed = true;
	LIST_REMOVE(client, link);
	if (client->exchange)
		http_exchange_free(client->exchange);
	pthread_mutex_lock(&http->lock);
	http->counts.clients--;
	pthread_mutex_unlock(&http->lock);
	free(client);
	*context = NULL;
}

static void resume(struct client *client)
{
	if (client->suspended)
		MHD_resume_connection(client->connection);
	client->suspended = false;
}

/* The loop was not in time: whoever has the exchange then forgets it. */
static void give_up(struct client *client)
{
	struct http *http = client->http;
	struct http_exchange *exchange = client->exchange;
	enum exchange_state state;

	pthread_mutex_lock(&http->lock);
	state = exchange->state;
	if (state == EXCHANGE_WAITS) {
		TAILQ_REMOVE(&http->waiting, exchange, link);
		http->waiting_count--;
	} else if (state == EXCHANGE_TAKEN) {
		exchange->state = EXCHANGE_GONE;
	}
	pthread_mutex_unlock(&http->lock);
	if (state == EXCHANGE_ANSWERED)
		return;
	if (state == EXCHANGE_WAITS)
		http_exchange_free(exchange);
	client->exchange = NULL;
	resume(client);
}

/* Before the cut: who sees that it is cut finds it counted. */
static void count_late(struct http *http)
{
	pthread_mutex_lock(&http->lock);
	http->counts.timed_out++;
	pthread_mutex_unlock(&http->lock);
}

static void look_for_late(struct http *http, bool all)
{
	struct client *client;

	LIST_FOREACH(client, &http->clients, link)
	{
		if (client->deadline_ms > http->now_ms && !all)
			continue;
		if (client->phase == CLIENT_WAITS && client->exchange) {
			give_up(client);
		} else if (client->phase != CLIENT_WAITS && !client->is_cut) {
			count_late(http);
			cut(client);
		}
	}
}

/* --- the thread --- */

static void resume_done(struct http *http)
{
	struct exchanges done = TAILQ_HEAD_INITIALIZER(done);
	struct http_exchange *exchange;

	pthread_mutex_lock(&http->lock);
	TAILQ_CONCAT(&done, &http->done, link);
	pthread_mutex_unlock(&http->lock);
	while ((exchange = TAILQ_FIRST(&done))) {
		TAILQ_REMOVE(&done, exchange, link);
		resume(exchange->client);
	}
}

static int wait_ms(const struct http *http)
{
	MHD_UNSIGNED_LONG_LONG library;
	uint64_t wait = UINT64_MAX;
	const struct client *client;

	if (MHD_get_timeout(http->daemon, &library) == MHD_YES)
		wait = library;
	LIST_FOREACH(client, &http->clients, link)
	{
		uint64_t left =
			client->deadline_ms > http->now_ms ? client->deadline_ms - http->now_ms : 0;

		/* What is late and still there was cut already, or its answer is on its way. */
		if (left && left < wait)
			wait = left;
	}
	return wait > HTTP_ANSWER_MS ? (LIST_EMPTY(&http->clients) ? -1 : HTTP_ANSWER_MS)
				     : (int)wait;
}

static bool is_stopped(struct http *http)
{
	bool stop;

	pthread_mutex_lock(&http->lock);
	stop = http->stop;
	pthread_mutex_unlock(&http->lock);
	return stop;
}

/* A library that had no room looks at its listening socket again only when it runs once more. */
static void run_library(struct http *http)
{
	do {
		http->has_closed = false;
		MHD_run(http->daemon);
	} while (http->has_closed);
}

/* Nothing that this thread does takes any; the others keep theirs. */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	syscall(SYS_capset, &header, none);
}

static void *run(void *arg)
{
	struct http *http = arg;
	struct pollfd fds[] = {{.fd = http->epoll_fd, .events = POLLIN},
			       {.fd = http->wake_fd, .events = POLLIN}};

	drop_capabilities();
	while (!is_stopped(http)) {
		uint64_t count;

		poll(fds, 2, wait_ms(http));
		http->now_ms = time_now_ms();
		while (read(http->wake_fd, &count, sizeof(count)) > 0)
			;
		resume_done(http);
		look_for_late(http, false);
		run_library(http);
	}
	/* Connections that are suspended must not be when the library ends. */
	resume_done(http);
	look_for_late(http, true);
	MHD_run(http->daemon);
	MHD_stop_daemon(http->daemon);
	return NULL;
}

int http_thread_start(struct http *http, struct err *err)
{
	sigset_t all, before;
	int code;

	LIST_INIT(&http->clients);
	http->now_ms = time_now_ms();
	http->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_access, http,
		MHD_OPTION_LISTEN_SOCKET, http->listen_fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)HTTP_CLIENTS_MAX + HTTP_SPARE_CLIENTS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)HTTP_MEMORY_MAX, MHD_OPTION_CONNECTION_TIMEOUT, 0U,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, http, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, http, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
	if (!http->daemon)
		return err_set(err, -EIO, "the admin port's server does not start");
	http->listen_fd = -1; /* the library's */
	http->epoll_fd = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = -pthread_create(&http->thread, NULL, run, http);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!code)
		return 0;
	MHD_stop_daemon(http->daemon);
	return err_set(err, code, "the admin port's thread: %s", strerror(-code));
}

void http_thread_end(struct http *http)
{
	pthread_join(http->thread, NULL);
}
