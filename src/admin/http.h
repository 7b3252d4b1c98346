/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The admin port: HTTP that only reads, for metrics, health, JSON and the page. Connections live on
 * a thread of this server's own, which does all that a client can drag out; the loop gets whole
 * requests, one at a time, and no more of them than a fifth of its time can answer. Everything a
 * client can cause is bounded by the limits below and counted; GET and HEAD alone are answered.
 *
 * Routes are set before http_open and never change. A route has a constant body, or a handler. All
 * calls on the loop's thread, but for handlers of routes that are `at_once`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/addr.h"
#include "base/err.h"

enum {
	HTTP_CLIENTS_MAX = 64,             /* connections; later ones are closed at once */
	HTTP_WAITING_MAX = 32,             /* requests for the loop; others are told 503 */
	HTTP_MEMORY_MAX = 16 * 1024,       /* bytes of a connection, so of a request too: 431 */
	HTTP_REQUEST_MS = 5000,            /* until a request is whole, or the next one begins */
	HTTP_ANSWER_MS = 10000,            /* until the loop has answered: 503 */
	HTTP_READ_RATE = 256 * 1024,       /* bytes a second that a client reads at least */
	HTTP_HELD_MAX = 128 * 1024 * 1024, /* bytes of answers that are being sent: 503 */
	HTTP_TARGET_MAX = 1024,            /* of a path; longer ones are not found */
};

struct http;
struct http_exchange; /* a request that waits for its answer */

/*
 * Answers the exchange with http_reply, before it returns or later. Each exchange must be answered
 * once, with http_drop where nothing can be said any more.
 */
typedef void http_handler(void *arg, struct http_exchange *exchange);

struct http_route {
	const char *path; /* "/metrics"; with `prefix` whatever begins so: "/api/v1/pools/" */
	bool prefix;      /* the longest that fits is taken, an exact path before any prefix */
	bool at_once; /* the handler runs on the server's thread, and replies before it returns */
	http_handler *handler; /* NULL: what follows is the answer */
	void *arg;
	const char *type; /* "text/html; charset=utf-8" */
	const void *body;
	size_t length;
	const char *cache; /* Cache-Control; NULL: no-store */
	const char *etag;  /* in its quotes; NULL: none; If-None-Match is answered by 304 */
};

struct http_response {
	unsigned status;  /* 0: 200 */
	const char *type; /* constant text */
	char *body;       /* for free(): http_reply takes it in any case; NULL: none */
	size_t length;
	/* Shared with others: http_body_new. `body` and `length` are then not looked at. */
	struct http_body *shared;
};

/* A body that several answers share; counted, any thread. */
struct http_body;
/* Takes `text` in any case (for free()); NULL: out of memory. */
struct http_body *http_body_new(char *text, size_t length);
struct http_body *http_body_get(struct http_body *body);
void http_body_put(struct http_body *body);

struct http_spec {
	struct addr address;
	uint16_t port;
	const struct http_route *routes; /* live as long as the server */
	size_t route_count;
	uint32_t request_ms, answer_ms; /* 0: HTTP_REQUEST_MS, HTTP_ANSWER_MS */
};

/*
 * Listens and starts the thread. 0, or -errno and err, which says what to do: -EADDRINUSE,
 * -EADDRNOTAVAIL ... Where `address` is a loopback's, a request must name such a host, or no page
 * from elsewhere could be kept from reading by a name that it makes point here.
 */
int http_open(uv_loop_t *loop, const struct http_spec *spec, struct http **ret, struct err *err);
/* Ends every connection and the thread; exchanges that are still held must be dropped before.
 * Frees when the loop has closed its handles. NULL is none. */
void http_close(struct http *http);

/* --- of an exchange --- */

/* The path, decoded; with a prefix route what follows the prefix. */
const char *http_path(const struct http_exchange *exchange);
const char *http_rest(const struct http_exchange *exchange);
/* The query's value of that name, decoded; NULL: none. */
const char *http_query(const struct http_exchange *exchange, const char *name);
/* The same as a number: `absent` where there is none, 0 or -EINVAL where it is none up to `max`. */
int http_query_number(const struct http_exchange *exchange, const char *name, uint64_t absent,
		      uint64_t max, uint64_t *ret);
/* Whether the client would rather have OpenMetrics than Prometheus' older text. */
bool http_wants_openmetrics(const struct http_exchange *exchange);

void http_reply(struct http_exchange *exchange, const struct http_response *response);
/* A line of text. */
void http_reply_text(struct http_exchange *exchange, unsigned status, const char *text);
void http_drop(struct http_exchange *exchange);

/* --- what is counted --- */

struct http_counts {
	uint64_t accepted;  /* connections */
	uint64_t refused;   /* connections beyond HTTP_CLIENTS_MAX */
	uint64_t timed_out; /* connections that were cut for taking too long */
	uint64_t requests;  /* that got an answer, of any kind */
	uint64_t denied;    /* of these: other methods, other hosts */
	uint64_t busy;      /* of these: 503, for the limits above */
	unsigned clients;   /* now */
};
/* Any thread. */
struct http_counts http_counts(struct http *http);
