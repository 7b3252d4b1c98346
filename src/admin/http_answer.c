/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers, as the admin port's thread gives them to the library. */
#include <stdlib.h>
#include <string.h>

#include "admin/http_room.h"
#include "admin/http_words.h"

/* No page from elsewhere is let in, and ours loads nothing from elsewhere. */
static const struct {
	const char *name, *value;
} fixed_headers[] = {
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
	{"Referrer-Policy", "no-referrer"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Content-Security-Policy",
	 "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
	 "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
	 "require-trusted-types-for 'script'"},
};

/* A response and what it holds of `held`, until the library has sent it. */
struct sending {
	struct http *http;
	struct http_response response;
	size_t length;
};

static void on_sent(void *arg)
{
	struct sending *sending = arg;

	pthread_mutex_lock(&sending->http->lock);
	sending->http->held -= sending->length;
	pthread_mutex_unlock(&sending->http->lock);
	http_response_fini(&sending->response);
	free(sending);
}

static bool hold(struct http *http, size_t length)
{
	bool fits;

	pthread_mutex_lock(&http->lock);
	fits = http->held + length <= HTTP_HELD_MAX;
	if (fits)
		http->held += length;
	pthread_mutex_unlock(&http->lock);
	return fits;
}

/* Takes what `answer` holds. NULL: out of memory, or too much is being sent. */
static struct MHD_Response *make_response(struct http *http, struct http_response *answer)
{
	const struct http_body *shared = answer->shared;
	size_t length = shared ? shared->length : answer->length;
	char *text = shared ? shared->text : answer->body;
	struct sending *sending = malloc(sizeof(*sending));
	struct MHD_Response *response;

	if (!sending || !hold(http, length)) {
		free(sending);
		http_response_fini(answer);
		return NULL;
	}
	*sending = (struct sending){.http = http, .response = *answer, .length = length};
	*answer = (struct http_response){.status = answer->status, .type = answer->type};
	response = MHD_create_response_from_buffer_with_free_callback_cls(length, text ? text : "",
									  on_sent, sending);
	if (!response)
		on_sent(sending);
	return response;
}

static void add_headers(struct MHD_Response *response, const char *type, const char *cache)
{
	for (size_t i = 0; i < sizeof(fixed_headers) / sizeof(fixed_headers[0]); i++)
		MHD_add_response_header(response, fixed_headers[i].name, fixed_headers[i].value);
	if (type)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL,
				cache ? cache : "no-store");
}

static void count_answer(struct http *http, unsigned status)
{
	pthread_mutex_lock(&http->lock);
	http->counts.requests++;
	http->counts.busy += status == MHD_HTTP_SERVICE_UNAVAILABLE;
	http->counts.denied += status == MHD_HTTP_METHOD_NOT_ALLOWED ||
			       status == MHD_HTTP_FORBIDDEN || status == MHD_HTTP_BAD_REQUEST;
	pthread_mutex_unlock(&http->lock);
}

static enum MHD_Result queue(struct client *client, unsigned status, struct MHD_Response *response,
			     size_t length)
{
	enum MHD_Result ret = MHD_queue_response(client->connection, status, response);

	MHD_destroy_response(response);
	client->phase = CLIENT_IS_SENT;
	client->deadline_ms =
		client->http->now_ms + client->http->request_ms + length * 1000 / HTTP_READ_RATE;
	count_answer(client->http, status);
	return ret;
}

enum MHD_Result http_say(struct client *client, unsigned status, const char *text)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);

	if (!response)
		return MHD_NO;
	add_headers(response, "text/plain; charset=utf-8", NULL);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
	return queue(client, status, response, 0);
}

enum MHD_Result http_say_busy(struct client *client)
{
	return http_say(client, MHD_HTTP_SERVICE_UNAVAILABLE,
			"the daemon is busy: ask again in a moment\n");
}

enum MHD_Result http_send_constant(struct client *client, const struct http_route *route)
{
	const char *wanted = MHD_lookup_connection_value(client->connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_IF_NONE_MATCH);
	bool is_same = route->etag && wanted && http_tag_matches(wanted, route->etag);
	size_t length = is_same ? 0 : route->length;
	struct MHD_Response *response = MHD_create_response_from_buffer(length, (void *)route->body,
									MHD_RESPMEM_PERSISTENT);

	if (!response)
		return MHD_NO;
	add_headers(response, is_same ? NULL : route->type, route->cache);
	if (route->etag)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, route->etag);
	return queue(client, is_same ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, response, length);
}

/* The exchange ends with it. */
enum MHD_Result http_send_answer(struct client *client, struct http_exchange *exchange)
{
	struct http_response *answer = &exchange->response;
	size_t length = answer->shared ? answer->shared->length : answer->length;
	struct MHD_Response *response = make_response(client->http, answer);
	enum MHD_Result ret;

	client->exchange = NULL;
	if (!response) {
		http_exchange_free(exchange);
		return http_say_busy(client);
	}
	add_headers(response, answer->type, exchange->route->cache);
	ret = queue(client, answer->status, response, length);
	http_exchange_free(exchange);
	return ret;
}
