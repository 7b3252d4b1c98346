/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A scrape of a thousand services with ten backends each is a hundred thousand lines. It is built
 * by one job at a time, a piece of EXPORTER_PIECE_NS, then a pause of three times that, until it is
 * whole; where the configuration changes underneath it begins anew. Everybody who asked for that
 * format meanwhile, and for FRESH_MS after, gets the same text, of which there is one in memory.
 */
#include "weir/metrics/exporter.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/time.h"

enum {
	PULSE_MS = 100,
	ALIVE_MS = 1000,
	AGAIN_MS = 5000, /* a port that was not to be had */
	FRESH_MS = 500,
	PAUSE_MS = 3 * EXPORTER_PIECE_NS / 1000000,
	TRIES_MAX = 5,
	WAITERS_MAX = HTTP_CLIENTS_MAX + 16,
	OWN_ROUTES = 3,
	HANDLES = 4,
};

enum format { PLAIN, OPEN, FORMATS };

struct waiters {
	struct http_exchange *list[WAITERS_MAX];
	size_t count;
	struct http_body *body; /* the last one, while it is fresh */
	uint64_t made_ms;
};

struct job {
	bool runs;
	enum format format;
	struct scrape scrape;
	uint64_t generation;
	size_t list, family, at;
	unsigned tries;
	uint64_t spent_ns;
};

struct exporter {
	struct exporter_spec spec;
	struct http_route routes[OWN_ROUTES + EXPORTER_ROUTES_MAX];
	size_t route_count;
	struct conf_endpoint endpoint;
	struct http *http; /* NULL: it does not listen */
	struct err error;  /* why */
	struct log_limit log;
	uv_timer_t pulse, again, piece, stale;
	unsigned handles;
	atomic_uint_fast64_t turned_ms; /* the loop, last */
	uint64_t due_ns;
	struct metrics_histogram lag;
	struct waiters waiters[FORMATS];
	struct job job;
	uint64_t scrapes, scrape_ns;
};

/* --- the loop's pulse --- */

static void on_pulse(uv_timer_t *timer)
{
	struct exporter *exporter = timer->data;
	uint64_t now_ns = time_now_ns();

	metrics_observe(&exporter->lag, now_ns > exporter->due_ns ? now_ns - exporter->due_ns : 0);
	exporter->due_ns = now_ns + PULSE_MS * TIME_MILLI_NS;
	atomic_store(&exporter->turned_ms, now_ns / TIME_MILLI_NS);
	uv_timer_start(timer, on_pulse, PULSE_MS, 0);
}

/* On the server's thread: a loop that hangs cannot say so. */
static void answer_alive(void *arg, struct http_exchange *exchange)
{
	struct exporter *exporter = arg;
	uint64_t turned_ms = atomic_load(&exporter->turned_ms), now_ms = time_now_ms();

	if (now_ms > turned_ms + PULSE_MS + ALIVE_MS)
		http_reply_text(exchange, 503, "the event loop has not turned for over a second");
	else
		http_reply_text(exchange, 200, "alive");
}

/* --- JSON --- */

void exporter_reply_json(struct http_exchange *exchange, unsigned status, json_t *json)
{
	struct http_response response = {.status = status, .type = "application/json"};
	char *text = json ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

	json_decref(json);
	if (!text) {
		http_drop(exchange);
		return;
	}
	response.body = text;
	response.length = strlen(text);
	text[response.length++] = '\n'; /* in place of the final zero */
	http_reply(exchange, &response);
}

static void answer_ready(void *arg, struct http_exchange *exchange)
{
	struct exporter *exporter = arg;
	json_t *ready = exporter->spec.ready(exporter->spec.app);

	exporter_reply_json(exchange, json_is_true(json_object_get(ready, "ready")) ? 200 : 503,
			    ready);
}

/* --- scrapes --- */

static void run_piece(struct exporter *exporter);

static void on_piece(uv_timer_t *timer)
{
	run_piece(timer->data);
}

static void drop_waiters(struct waiters *waiters)
{
	for (size_t i = 0; i < waiters->count; i++)
		http_drop(waiters->list[i]);
	waiters->count = 0;
}

static void answer_one(struct http_exchange *exchange, enum format format, struct http_body *body)
{
	const struct http_response response = {
		.type = format == OPEN ? METRICS_OPEN_TYPE : METRICS_PLAIN_TYPE,
		.shared = http_body_get(body),
	};

	http_reply(exchange, &response);
}

static void end_job(struct exporter *exporter)
{
	struct job *job = &exporter->job;
	size_t length;

	free(metrics_end(&job->scrape.text, &length));
	free(job->scrape.notes);
	job->scrape = (struct scrape){0};
	job->runs = false;
}

static void begin_scrape(struct exporter *exporter)
{
	struct job *job = &exporter->job;

	job->list = job->family = job->at = 0;
	job->generation = exporter->spec.generation(exporter->spec.app);
	job->scrape.app = exporter->spec.app;
	job->scrape.links = exporter->spec.links;
	metrics_begin(&job->scrape.text, job->format == OPEN);
	if (exporter->spec.prepare && !exporter->spec.prepare(&job->scrape))
		job->scrape.text.failed = true;
}

static void begin_job(struct exporter *exporter)
{
	struct job *job = &exporter->job;

	for (enum format format = PLAIN; format < FORMATS && !job->runs; format++) {
		if (!exporter->waiters[format].count)
			continue;
		*job = (struct job){.runs = true, .format = format};
		begin_scrape(exporter);
		uv_timer_start(&exporter->piece, on_piece, 0, 0);
	}
}

static void on_stale(uv_timer_t *timer)
{
	struct exporter *exporter = timer->data;

	for (size_t i = 0; i < FORMATS; i++) {
		http_body_put(exporter->waiters[i].body);
		exporter->waiters[i].body = NULL;
	}
}

static void put_own(struct exporter *exporter, struct metrics_text *text)
{
	const struct exporter_self self = {
		.lag = &exporter->lag,
		.http = http_counts(exporter->http),
		.scrapes = exporter->scrapes,
		.scrape_ns = exporter->scrape_ns,
	};

	metrics_put_self(text, &self);
}

/* The text is whole, or failed. */
static void finish_job(struct exporter *exporter)
{
	struct job *job = &exporter->job;
	struct waiters *waiters = &exporter->waiters[job->format];
	struct http_body *body;
	size_t length;
	char *text;

	put_own(exporter, &job->scrape.text);
	text = metrics_end(&job->scrape.text, &length);
	body = http_body_new(text, length);
	if (body) {
		for (size_t i = 0; i < waiters->count; i++)
			answer_one(waiters->list[i], job->format, body);
		waiters->count = 0;
		http_body_put(waiters->body);
		waiters->body = body;
		waiters->made_ms = time_now_ms();
		uv_timer_start(&exporter->stale, on_stale, FRESH_MS, 0);
	}
	drop_waiters(waiters);
	exporter->scrapes++;
	exporter->scrape_ns = job->spent_ns;
	end_job(exporter);
	begin_job(exporter);
}

/* One sample, or the step to the next family. False: there is no more. */
static bool step(struct exporter *exporter)
{
	struct job *job = &exporter->job;
	const struct family_list *list = &exporter->spec.lists[job->list];
	const struct family *family;
	size_t count;

	if (job->list == exporter->spec.list_count || job->scrape.text.failed)
		return false;
	if (job->family == list->count) {
		job->list++;
		job->family = 0;
		return true;
	}
	family = &list->families[job->family];
	count = family->count ? family->count(&job->scrape) : 1;
	if (job->at == 0 && count)
		metrics_family(&job->scrape.text, family->name, family->type, family->help);
	if (job->at < count)
		family->sample(&job->scrape, job->at++);
	if (job->at >= count) {
		job->family++;
		job->at = 0;
	}
	return true;
}

static void begin_anew(struct exporter *exporter)
{
	struct job *job = &exporter->job;
	enum format format = job->format;
	unsigned tries = job->tries + 1;
	uint64_t spent_ns = job->spent_ns;

	end_job(exporter);
	*job = (struct job){.runs = true, .format = format, .tries = tries, .spent_ns = spent_ns};
	begin_scrape(exporter);
}

static void run_piece(struct exporter *exporter)
{
	struct job *job = &exporter->job;
	uint64_t began_ns = time_now_ns();
	bool more = true;

	if (job->generation != exporter->spec.generation(exporter->spec.app)) {
		if (job->tries == TRIES_MAX) {
			drop_waiters(&exporter->waiters[job->format]);
			end_job(exporter);
			begin_job(exporter);
			return;
		}
		begin_anew(exporter);
	}
	while (more && time_now_ns() - began_ns < EXPORTER_PIECE_NS) {
		for (size_t i = 0; i < 16 && more; i++)
			more = step(exporter);
	}
	job->spent_ns += time_now_ns() - began_ns;
	if (more)
		uv_timer_start(&exporter->piece, on_piece, PAUSE_MS, 0);
	else
		finish_job(exporter);
}

static void answer_metrics(void *arg, struct http_exchange *exchange)
{
	struct exporter *exporter = arg;
	enum format format = http_wants_openmetrics(exchange) ? OPEN : PLAIN;
	struct waiters *waiters = &exporter->waiters[format];

	if (waiters->body && time_now_ms() - waiters->made_ms < FRESH_MS) {
		answer_one(exchange, format, waiters->body);
	} else if (waiters->count == WAITERS_MAX) {
		http_drop(exchange);
	} else {
		waiters->list[waiters->count++] = exchange;
		if (!exporter->job.runs)
			begin_job(exporter);
	}
}

/* --- the port --- */

static void on_again(uv_timer_t *timer);

static void try_listen(struct exporter *exporter)
{
	const struct http_spec spec = {
		.address = exporter->endpoint.address,
		.port = exporter->endpoint.port,
		.routes = exporter->routes,
		.route_count = exporter->route_count,
	};
	char text[CONF_ENDPOINT_TEXT_MAX];

	if (!http_open(exporter->spec.loop, &spec, &exporter->http, &exporter->error)) {
		exporter->error = (struct err){0};
		log_info("metrics and health are served", "address=%s",
			 conf_endpoint_format(&exporter->endpoint, text));
		return;
	}
	exporter->http = NULL;
	log_write(LOG_ERROR, &exporter->log, "no metrics and health are served",
		  "key=admin reason=%s", log_quote(exporter->error.text).text);
	uv_timer_start(&exporter->again, on_again, AGAIN_MS, 0);
}

static void on_again(uv_timer_t *timer)
{
	try_listen(timer->data);
}

/* Nobody waits for an answer any more. */
static void stop_listening(struct exporter *exporter)
{
	uv_timer_stop(&exporter->again);
	uv_timer_stop(&exporter->piece);
	if (exporter->job.runs)
		end_job(exporter);
	for (size_t i = 0; i < FORMATS; i++)
		drop_waiters(&exporter->waiters[i]);
	http_close(exporter->http);
	exporter->http = NULL;
}

void exporter_listen(struct exporter *exporter, const struct conf_endpoint *endpoint)
{
	if (exporter->endpoint.port == endpoint->port &&
	    addr_equal(&exporter->endpoint.address, &endpoint->address))
		return;
	stop_listening(exporter);
	exporter->endpoint = *endpoint;
	exporter->error = (struct err){0};
	if (endpoint->port)
		try_listen(exporter);
}

json_t *exporter_report(const struct exporter *exporter)
{
	char text[CONF_ENDPOINT_TEXT_MAX];

	if (!exporter)
		return json_null();
	return json_pack("{s:s, s:s}", "listen", conf_endpoint_format(&exporter->endpoint, text),
			 "error", exporter->error.text);
}

/* --- life --- */

static void set_routes(struct exporter *exporter)
{
	const struct http_route own[OWN_ROUTES] = {
		{.path = "/metrics", .handler = answer_metrics, .arg = exporter},
		{.path = "/healthz", .handler = answer_alive, .arg = exporter, .at_once = true},
		{.path = "/readyz", .handler = answer_ready, .arg = exporter},
	};
	size_t count = exporter->spec.route_count;

	memcpy(exporter->routes, own, sizeof(own));
	if (count > EXPORTER_ROUTES_MAX)
		count = EXPORTER_ROUTES_MAX;
	for (size_t i = 0; i < count; i++) {
		struct http_route *route = &exporter->routes[OWN_ROUTES + i];

		*route = exporter->spec.routes[i];
		if (!route->arg)
			route->arg = exporter->spec.app;
	}
	exporter->route_count = OWN_ROUTES + count;
}

int exporter_open(const struct exporter_spec *spec, struct exporter **ret)
{
	struct exporter *exporter = calloc(1, sizeof(*exporter));
	uv_timer_t *timers[HANDLES];

	if (!exporter)
		return -ENOMEM;
	exporter->spec = *spec;
	set_routes(exporter);
	timers[0] = &exporter->pulse;
	timers[1] = &exporter->again;
	timers[2] = &exporter->piece;
	timers[3] = &exporter->stale;
	for (size_t i = 0; i < HANDLES; i++) {
		uv_timer_init(spec->loop, timers[i]);
		timers[i]->data = exporter;
	}
	exporter->handles = HANDLES;
	uv_update_time(spec->loop);
	exporter->due_ns = time_now_ns();
	on_pulse(&exporter->pulse);
	*ret = exporter;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct exporter *exporter = handle->data;

	if (--exporter->handles == 0)
		free(exporter);
}

void exporter_close(struct exporter *exporter)
{
	if (!exporter)
		return;
	stop_listening(exporter);
	on_stale(&exporter->stale);
	uv_close((uv_handle_t *)&exporter->pulse, on_closed);
	uv_close((uv_handle_t *)&exporter->again, on_closed);
	uv_close((uv_handle_t *)&exporter->piece, on_closed);
	uv_close((uv_handle_t *)&exporter->stale, on_closed);
}
