/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/node/drains.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/event.h"
#include "base/time.h"
#include "health/fetch.h"
#include "weir/draining/answer.h"
#include "weir/draining/ending.h"
#include "weir/show.h"

enum {
	STEP_MS = 500,
	ASK_MS = 2000, /* between questions to an agent, which looks no more often itself */
	ASK_TIMEOUT_MS = 1500,
	ASK_PAUSE_MAX = 8, /* times ASK_MS, to one that does not answer */
	ASKED_MAX = 16,    /* at once */
};

static const char agent_path[] = "/api/v1/connections";

struct drains {
	struct app *app;
	uv_timer_t timer; /* runs while somebody drains */
	struct fetches *fetches;
	unsigned under_way;
	size_t cursor; /* of the backend whose turn it is to be asked */
	struct drains_counts counts;
};

/* A backend that drains. */
struct draining {
	struct drains *drains;
	struct app_backend *backend;
	struct ending ending;
	struct fetch *fetch; /* NULL: it is not being asked */
	uint64_t ask_ms;     /* not before */
	bool told_silent;
	struct err why; /* of its agent's silence */
};

static const struct conf_pool *conf_pool(const struct app_backend *backend)
{
	return &backend->app->conf->pools[backend->pool];
}

static const struct conf_backend *conf_backend(const struct app_backend *backend)
{
	return &conf_pool(backend)->backends[backend->member];
}

/* --- its end --- */

static void note(struct draining *draining, const char *message, const char *why)
{
	struct app_backend *backend = draining->backend;
	const char *by = ending_by_name(draining->ending.by);

	event_note(&(struct event_about){"backend", 2, LOG_INFO, &backend->log}, message,
		   "pool=%s backend=%s by=%s%s%s", conf_pool(backend)->name,
		   conf_backend(backend)->name, by ? by : "packets", *why ? " reason=" : "",
		   *why ? log_quote(why).text : "");
}

static void step(struct draining *draining, uint64_t now_ms)
{
	struct app_backend *backend = draining->backend;
	struct balancer *balancer = backend->app->balancer;
	uint32_t record = balancer_backend_record(balancer, backend->pool, backend->member);
	bool over =
		pool_member_is_cut(balancer_pool(balancer, backend->pool), backend->member, now_ms);
	bool was_ended = draining->ending.by != ENDING_NOT, is_ended;

	draining->ending.has_agent = conf_pool(backend)->agent_port != 0;
	ending_step(&draining->ending, dp_backend_count(backend->app->dp, record).packets, over,
		    now_ms);
	is_ended = draining->ending.by != ENDING_NOT;
	if (is_ended != was_ended)
		note(draining,
		     is_ended ? "its drain has ended" : "its drain has not ended after all", "");
	if (draining->told_silent || ending_agent(&draining->ending, now_ms) != ENDING_SILENT)
		return;
	draining->told_silent = true;
	note(draining, "its agent does not tell of connections", draining->why.text);
}

/* --- its agent --- */

/* Of all services of the pool, sorted; for free(). NULL: out of memory. */
static struct prefix *vips_of(const struct app_backend *backend, size_t *ret_count)
{
	const struct conf *conf = backend->app->conf;
	struct prefix *vips;
	size_t count = 0;

	for (size_t i = 0; i < conf->service_count; i++) {
		if (conf->services[i].pool == conf_pool(backend))
			count += conf->services[i].vip_count;
	}
	vips = calloc(count + 1, sizeof(*vips));
	if (!vips)
		return NULL;
	*ret_count = 0;
	for (size_t i = 0; i < conf->service_count; i++) {
		const struct conf_service *service = &conf->services[i];

		if (service->pool != conf_pool(backend))
			continue;
		memcpy(vips + *ret_count, service->vips, service->vip_count * sizeof(*vips));
		*ret_count += service->vip_count;
	}
	answer_sort(vips, count);
	return vips;
}

/* -errno, and why it is not believed. */
static int read_answer(struct draining *draining, const char *body, size_t length, uint64_t *ret)
{
	size_t count;
	struct prefix *vips = vips_of(draining->backend, &count);
	int error;

	if (!vips)
		return err_set(&draining->why, -ENOMEM, "out of memory");
	error = answer_read(body, length, vips, count, ret, &draining->why);
	free(vips);
	return error;
}

static uint64_t pause_ms(const struct ending *ending)
{
	uint64_t times = ending->failures < ASK_PAUSE_MAX ? ending->failures : ASK_PAUSE_MAX;

	return ASK_MS * (times ? times : 1);
}

static void on_answer(void *arg, const char *error, const char *body, size_t length)
{
	struct draining *draining = arg;
	struct drains *drains = draining->drains;
	uint64_t now_ms = time_now_ms(), connections = 0;
	bool counted = false;

	draining->fetch = NULL;
	drains->under_way--;
	if (error)
		err_set(&draining->why, -EIO, "%s", error);
	else
		counted = read_answer(draining, body, length, &connections) == 0;
	drains->counts.failed += !counted;
	ending_hear(&draining->ending, counted, connections, now_ms);
	draining->ask_ms = now_ms + pause_ms(&draining->ending);
	step(draining, now_ms);
}

static void ask(struct draining *draining, uint64_t now_ms)
{
	struct drains *drains = draining->drains;
	const struct app_backend *backend = draining->backend;
	const struct fetch_spec spec = {
		.address = conf_backend(backend)->address,
		.port = conf_pool(backend)->agent_port,
		.path = agent_path,
		.timeout_ms = ASK_TIMEOUT_MS,
		.body_max = ANSWER_MAX,
	};

	draining->ask_ms = now_ms + ASK_MS;
	if (fetch_start(drains->fetches, &spec, on_answer, draining, &draining->fetch))
		return;
	drains->under_way++;
	drains->counts.asked++;
}

/* From where the last turn ended, so that each has its own. */
static void ask_some(struct drains *drains, uint64_t now_ms)
{
	const struct app *app = drains->app;

	for (size_t i = 0; i < app->backend_count && drains->under_way < ASKED_MAX; i++) {
		size_t at = (drains->cursor + i) % app->backend_count;
		struct draining *draining = app->backends[at]->draining;

		if (!draining || draining->fetch || now_ms < draining->ask_ms ||
		    !draining->ending.has_agent)
			continue;
		ask(draining, now_ms);
		if (drains->under_way == ASKED_MAX)
			drains->cursor = at + 1;
	}
}

/* --- who drains --- */

static void begin(struct drains *drains, struct app_backend *backend, uint64_t now_ms)
{
	const struct balancer *balancer = backend->app->balancer;
	uint32_t record = balancer_backend_record(balancer, backend->pool, backend->member);
	struct draining *draining = calloc(1, sizeof(*draining));

	/* The next look tries again. */
	if (!draining)
		return;
	draining->drains = drains;
	draining->backend = backend;
	ending_begin(&draining->ending, dp_backend_count(backend->app->dp, record).packets, now_ms);
	backend->draining = draining;
}

void drains_forget(struct app_backend *backend)
{
	struct draining *draining = backend->draining;

	if (!draining)
		return;
	if (draining->fetch) {
		fetch_cancel(draining->fetch);
		draining->drains->under_way--;
	}
	free(draining);
	backend->draining = NULL;
}

static bool drains(const struct app_backend *backend)
{
	const struct pool *pool = balancer_pool(backend->app->balancer, backend->pool);

	return pool_member_admin(pool, backend->member) == POOL_DRAIN;
}

static void on_step(uv_timer_t *timer)
{
	struct drains *all = timer->data;
	struct app *app = all->app;
	uint64_t now_ms = time_now_ms();
	bool some = false;

	for (size_t i = 0; i < app->backend_count; i++) {
		struct app_backend *backend = app->backends[i];

		if (!drains(backend)) {
			drains_forget(backend);
			continue;
		}
		some = true;
		if (!backend->draining)
			begin(all, backend, now_ms);
		if (backend->draining)
			step(backend->draining, now_ms);
	}
	ask_some(all, now_ms);
	if (!some)
		uv_timer_stop(timer);
}

void drains_look(struct app *app)
{
	if (app->drains && !uv_is_active((uv_handle_t *)&app->drains->timer))
		uv_timer_start(&app->drains->timer, on_step, 0, STEP_MS);
}

/* --- life --- */

static void free_drains(uv_handle_t *handle)
{
	free(handle->data);
}

int drains_open(struct app *app, struct err *err)
{
	struct drains *all = calloc(1, sizeof(*all));

	if (!all || fetches_open(&app->daemon.loop, &all->fetches)) {
		free(all);
		return err_set(err, -ENOMEM, "out of memory");
	}
	all->app = app;
	uv_timer_init(&app->daemon.loop, &all->timer);
	all->timer.data = all;
	app->drains = all;
	drains_look(app);
	return 0;
}

void drains_close(struct app *app)
{
	if (!app->drains)
		return;
	for (size_t i = 0; i < app->backend_count; i++)
		drains_forget(app->backends[i]);
	fetches_close(app->drains->fetches);
	uv_close((uv_handle_t *)&app->drains->timer, free_drains);
	app->drains = NULL;
}

/* --- for who asks --- */

static json_t *report_agent(const struct draining *draining, uint64_t now_ms)
{
	const struct ending *ending = &draining->ending;
	enum ending_agent agent = ending_agent(ending, now_ms);
	bool counts = agent == ENDING_COUNTS;

	if (agent == ENDING_NO_AGENT)
		return json_null();
	return json_pack("{s:i, s:b, s:o, s:o, s:o}", "port",
			 conf_pool(draining->backend)->agent_port, "counts", counts, "connections",
			 counts ? json_integer((json_int_t)ending->connections) : json_null(),
			 "age_s",
			 ending->counted_ms ? json_real((double)(now_ms - ending->counted_ms) / 1e3)
					    : json_null(),
			 "error", show_bytes(ending->failures ? draining->why.text : ""));
}

json_t *drains_report(const struct app_backend *backend)
{
	const struct draining *draining = backend->draining;
	uint64_t now_ms = time_now_ms();
	char words[ENDING_WORDS_MAX];

	if (!draining || !drains(backend))
		return json_null();
	return json_pack(
		"{s:b, s:s?, s:f, s:o, s:o}", "ended", draining->ending.by != ENDING_NOT, "by",
		ending_by_name(draining->ending.by), "quiet_s",
		(double)(now_ms - draining->ending.quiet_ms) / 1e3, "agent",
		report_agent(draining, now_ms), "words",
		show_bytes(ending_words(&draining->ending, draining->why.text, now_ms, words)));
}

bool drains_has(const struct app_backend *backend, bool *ret_ended)
{
	if (!backend->draining || !drains(backend))
		return false;
	*ret_ended = backend->draining->ending.by != ENDING_NOT;
	return true;
}

bool drains_connections(const struct app_backend *backend, uint64_t *ret)
{
	const struct draining *draining = backend->draining;

	if (!draining || !drains(backend) ||
	    ending_agent(&draining->ending, time_now_ms()) != ENDING_COUNTS)
		return false;
	*ret = draining->ending.connections;
	return true;
}

struct drains_counts drains_counts(const struct app *app)
{
	return app->drains ? app->drains->counts : (struct drains_counts){0};
}
