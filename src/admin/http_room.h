/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the admin port's two halves share: http.c, on the loop's thread, which asks handlers, and
 * http_thread.c, which has the connections. They hand exchanges to each other under `lock`, and
 * wake each other: the loop by `async`, the thread by `wake_fd`.
 */
#pragma once

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "admin/http.h"

enum {
	HTTP_QUERY_MAX = 2048,  /* bytes of a query's names and values, decoded; the rest is cut */
	HTTP_SPARE_CLIENTS = 8, /* accepted above HTTP_CLIENTS_MAX, for which others are cut */
};

/* Where an exchange is; changes under the lock. */
enum exchange_state {
	EXCHANGE_WAITS,    /* in `waiting`: the thread's */
	EXCHANGE_TAKEN,    /* a handler has it: the loop's */
	EXCHANGE_ANSWERED, /* in `done`, or the thread's */
	EXCHANGE_GONE,     /* taken, but nobody waits for the answer any more: the loop's */
};

struct http_exchange {
	TAILQ_ENTRY(http_exchange) link;
	struct http *http;
	const struct http_route *route;
	struct client *client;
	enum exchange_state state;
	bool openmetrics;
	struct http_response response;
	char path[HTTP_TARGET_MAX + 1];
	size_t query_length;
	char query[HTTP_QUERY_MAX]; /* name\0value\0 ... */
};
TAILQ_HEAD(exchanges, http_exchange);

struct http_body {
	atomic_uint uses;
	size_t length;
	char *text;
};

/* A connection; the thread's. */
struct client {
	LIST_ENTRY(client) link;
	struct http *http;
	struct MHD_Connection *connection;
	int fd;
	enum { CLIENT_READS, CLIENT_WAITS, CLIENT_IS_SENT } phase;
	uint64_t deadline_ms; /* of the phase */
	bool is_cut;
	bool asked; /* its request was looked at */
	bool suspended;
	struct http_exchange *exchange; /* while it waits, and until the answer is queued */
};

struct http {
	uv_loop_t *loop;
	uv_async_t async;
	uv_timer_t rest; /* runs while the loop's share is used up */
	unsigned handles;
	const struct http_route *routes;
	size_t route_count;
	uint32_t request_ms, answer_ms;
	bool is_local; /* hosts are checked */
	int listen_fd, wake_fd, epoll_fd;
	pthread_t thread;
	struct MHD_Daemon *daemon; /* the thread's */
	LIST_HEAD(, client) clients;
	uint64_t now_ms; /* of the thread's turn */
	bool has_closed; /* a connection, since the library began to run */

	pthread_mutex_t lock; /* over all that follows */
	struct exchanges waiting, done;
	unsigned waiting_count;
	bool stop;
	struct http_counts counts;
	size_t held; /* bytes of answers that are not sent yet */
};

/* --- http_thread.c --- */

int http_thread_start(struct http *http, struct err *err);
/* Ends every connection; what handlers have is theirs. */
void http_thread_end(struct http *http);

/* --- http_answer.c: each ends a request --- */

/* Constant text. */
enum MHD_Result http_say(struct client *client, unsigned status, const char *text);
enum MHD_Result http_say_busy(struct client *client);
enum MHD_Result http_send_constant(struct client *client, const struct http_route *route);
/* The exchange ends with it. */
enum MHD_Result http_send_answer(struct client *client, struct http_exchange *exchange);

/* --- http.c --- */

void http_exchange_free(struct http_exchange *exchange);
/* Lets go of what an answer holds. */
void http_response_fini(struct http_response *response);
