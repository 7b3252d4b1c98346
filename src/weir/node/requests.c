/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/node/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/event.h"
#include "base/time.h"
#include "weir/balancer/assemble.h"
#include "weir/node/announcer.h"
#include "weir/node/drains.h"
#include "weir/node/report.h"
#include "weir/operate/find.h"
#include "weir/show.h"

/* A backend, and what it is to be. */
struct target {
	struct app *app;
	const struct conf *conf;
	size_t pool, member;
};

static const struct conf_pool *conf_pool(const struct target *target)
{
	return &target->conf->pools[target->pool];
}

static const struct conf_backend *conf_backend(const struct target *target)
{
	return &conf_pool(target)->backends[target->member];
}

static struct override *override_of(const struct target *target)
{
	return overrides_find(&target->app->overrides, conf_pool(target)->name,
			      conf_backend(target)->name);
}

static enum pool_admin state_of(const struct target *target, const struct override *override)
{
	return override && override->has_state ? override->state
					       : assemble_admin(conf_backend(target)->state);
}

static unsigned percent_of(const struct override *override)
{
	return override && override->has_percent ? override->percent : OVERRIDE_WHOLE;
}

/* The wall's clock may have been set back since. */
static uint64_t age_ms(uint64_t since_ms)
{
	uint64_t wall_ms = time_wall_ms();

	return since_ms < wall_ms ? wall_ms - since_ms : 0;
}

/* When it began by the clock that the pool counts with, or that clock's own beginning. */
static uint64_t began_ms(const struct override *override, uint64_t now)
{
	uint64_t age = override && override->drain_since_ms ? age_ms(override->drain_since_ms) : 0;

	return age < now ? now - age : 0;
}

/* --- what is kept --- */

static void save(struct app *app, struct err *ret_err)
{
	ret_err->text[0] = '\0';
	if (store_save(app->store, &app->overrides, ret_err))
		log_warn("overrides are not kept: they end with this process", "reason=%s",
			 log_quote(ret_err->text).text);
}

/* Whether it drains is remembered with what is overridden; what says nothing more goes. 0 or
 * -ENOMEM. */
static int note_drain(const struct target *target)
{
	struct override *override = override_of(target);
	bool drains = state_of(target, override) == POOL_DRAIN;

	if (!override && !drains)
		return 0;
	if (!override)
		override = overrides_add(&target->app->overrides, conf_pool(target)->name,
					 conf_backend(target)->name);
	if (!override)
		return -ENOMEM;
	if (!drains)
		override->drain_since_ms = 0;
	else if (!override->drain_since_ms)
		override->drain_since_ms = time_wall_ms();
	if (override_is_empty(override))
		overrides_remove(&target->app->overrides, override);
	return 0;
}

static bool is_configured(const struct conf *conf, const struct override *override)
{
	for (size_t p = 0; p < conf->pool_count; p++) {
		const struct conf_pool *pool = &conf->pools[p];

		if (strcmp(pool->name, override->pool) != 0)
			continue;
		for (size_t m = 0; m < pool->backend_count; m++) {
			if (strcmp(pool->backends[m].name, override->backend) == 0)
				return true;
		}
	}
	return false;
}

static void drop_strangers(struct app *app)
{
	for (size_t i = app->overrides.count; i-- > 0;) {
		struct override *override = &app->overrides.list[i];

		if (is_configured(app->conf, override))
			continue;
		if (override_is_set(override))
			event_note(
				&(struct event_about){"operator", 2, LOG_WARN, NULL},
				"an override is dropped: the backend is not in the file any more",
				"pool=%s backend=%s", override->pool, override->backend);
		overrides_remove(&app->overrides, override);
	}
}

static void log_kept(const struct app *app)
{
	for (size_t i = 0; i < app->overrides.count; i++) {
		const struct override *override = &app->overrides.list[i];

		if (override_is_set(override))
			event_note(&(struct event_about){"operator", 2, LOG_INFO, NULL},
				   "backend is overridden",
				   "pool=%s backend=%s state=%s percent=%u", override->pool,
				   override->backend,
				   override->has_state ? show_admin(override->state) : "file",
				   percent_of(override));
	}
}

/* An override to what the file says by now has come to its end. */
static void adapt(struct app *app)
{
	for (size_t p = 0; p < app->conf->pool_count; p++) {
		for (size_t m = 0; m < app->conf->pools[p].backend_count; m++) {
			const struct target target = {app, app->conf, p, m};
			struct override *override = override_of(&target);

			if (override && override->has_state && override->state == POOL_ACTIVE &&
			    conf_backend(&target)->state == CONF_STATE_ACTIVE)
				override->has_state = false;
			note_drain(&target);
		}
	}
}

/* To what is configured. */
static void fit(struct app *app)
{
	json_t *before = overrides_to_json(&app->overrides), *after;
	struct err err;

	drop_strangers(app);
	adapt(app);
	after = overrides_to_json(&app->overrides);
	if (app->unsaved || !json_equal(before, after)) {
		save(app, &err);
		app->unsaved = err.text[0];
	}
	json_decref(before);
	json_decref(after);
}

int requests_follow(const struct app *app, const struct conf *conf, const struct built *built,
		    struct overrides *ret)
{
	struct lineage lineage;
	int error;

	if (!app->overrides.count)
		return 0;
	if (built->count)
		return overrides_follow(&app->overrides, &built->lineage, conf, ret);
	error = lineage_of_conf(app->conf, conf, &lineage);
	if (error)
		return error;
	error = overrides_follow(&app->overrides, &lineage, conf, ret);
	lineage_fini(&lineage);
	return error;
}

void requests_take(struct app *app, struct overrides *overrides)
{
	struct overrides old = app->overrides;

	app->unsaved |= old.count != overrides->count ||
			(old.count &&
			 memcmp(old.list, overrides->list, old.count * sizeof(*old.list)) != 0);
	app->overrides = *overrides;
	*overrides = (struct overrides){0};
	overrides_fini(&old);
}

/* An earlier daemon's pools may have had other names. */
static void follow(struct app *app)
{
	struct overrides followed = {0};
	struct lineage lineage;

	if (!app->overrides.count || lineage_of_tables(dp_tables(app->dp), app->conf, &lineage))
		return;
	if (!overrides_follow(&app->overrides, &lineage, app->conf, &followed))
		requests_take(app, &followed);
	lineage_fini(&lineage);
}

void requests_load(struct app *app)
{
	struct err err;

	store_path(app->daemon.instance.name, app->store);
	if (store_load(app->store, &app->overrides, &err)) {
		int code = store_set_aside(app->store);

		log_error("overrides are lost: the node starts as its file says",
			  "reason=%s aside=%s.damaged%s%s", log_quote(err.text).text, app->store,
			  code ? " failed=" : "", code ? log_quote(strerror(-code)).text : "");
	}
	follow(app);
	fit(app);
	log_kept(app);
}

void requests_prepare(void *app, const struct conf *conf, size_t at, struct pool *pool)
{
	struct target target = {app, conf, at, 0};
	uint64_t now = time_now_ms();

	for (; target.member < pool_member_count(pool); target.member++) {
		const struct override *override = override_of(&target);

		pool_set_admin(pool, target.member, state_of(&target, override),
			       began_ms(override, now));
		pool_set_share(pool, target.member, percent_of(override), now);
	}
}

/* --- changes --- */

/* Into the tables; packets meet it when this returns. */
static void apply(const struct target *target)
{
	struct balancer *balancer = target->app->balancer;
	const struct override *override = override_of(target);
	uint64_t now = time_now_ms();

	balancer_set_admin(balancer, target->pool, target->member, state_of(target, override),
			   began_ms(override, now));
	balancer_set_share(balancer, target->pool, target->member, percent_of(override), now);
	drains_look(target->app);
	event_note(&(struct event_about){"operator", 2, LOG_INFO, NULL},
		   override_is_set(override) ? "backend is overridden"
					     : "backend is as the file says",
		   "pool=%s backend=%s state=%s percent=%u", conf_pool(target)->name,
		   conf_backend(target)->name, show_admin(state_of(target, override)),
		   percent_of(override));
}

/* A pool that stays has the states that the file gave before. */
void requests_reload(struct app *app)
{
	fit(app);
	drains_look(app);
	for (size_t p = 0; p < app->conf->pool_count; p++) {
		const struct pool *pool = balancer_pool(app->balancer, p);

		for (size_t m = 0; m < pool_member_count(pool); m++) {
			const struct target target = {app, app->conf, p, m};

			if (pool_member_admin(pool, m) != state_of(&target, override_of(&target)))
				apply(&target);
		}
	}
}

static json_t *refuse(const char *text)
{
	return json_pack("{s:s}", "error", text);
}

static int count_usable(const struct target *target)
{
	const struct pool *pool = balancer_pool(target->app->balancer, target->pool);
	int usable = 0;

	for (size_t i = 0; i < pool_member_count(pool); i++)
		usable += pool_member_usable(pool, i);
	return usable;
}

static json_t *describe(const struct target *target, bool changed, const struct err *unkept)
{
	const struct pool *pool = balancer_pool(target->app->balancer, target->pool);

	json_t *answer = json_pack(
		"{s:s, s:s, s:i, s:i, s:b, s:s}", "pool", conf_pool(target)->name, "backend",
		conf_backend(target)->name, "table_size", (int)pool_table_size(pool), "usable",
		count_usable(target), "changed", changed, "not_kept", unkept->text);

	requests_show(target->app, target->pool, target->member, answer);
	return answer;
}

static bool same(const struct override *left, const struct override *right)
{
	return left->has_state == right->has_state && left->has_percent == right->has_percent &&
	       (!left->has_state || left->state == right->state) &&
	       (!left->has_percent || left->percent == right->percent);
}

/* Brings the backend's override to `wanted`, on the disk first, then in the tables. */
static json_t *change(const struct target *target, const struct override *wanted)
{
	struct overrides *overrides = &target->app->overrides;
	struct override *override =
		overrides_add(overrides, conf_pool(target)->name, conf_backend(target)->name);
	struct err err = {0};
	bool changed;

	if (!override)
		return refuse("out of memory");
	changed = !same(override, wanted);
	override->has_state = wanted->has_state;
	override->state = wanted->state;
	override->state_since_ms = wanted->state_since_ms;
	override->has_percent = wanted->has_percent;
	override->percent = wanted->percent;
	override->percent_since_ms = wanted->percent_since_ms;
	note_drain(target);
	if (changed || target->app->unsaved)
		save(target->app, &err);
	target->app->unsaved = err.text[0];
	if (changed)
		apply(target);
	app_settle(target->app);
	return describe(target, changed, &err);
}

static struct override present(const struct target *target)
{
	const struct override *override = override_of(target);

	return override ? *override : (struct override){0};
}

static json_t *set_state(const struct target *target, enum pool_admin state)
{
	struct override wanted = present(target);

	if (!wanted.has_state || wanted.state != state)
		wanted.state_since_ms = time_wall_ms();
	wanted.state = state;
	wanted.has_state = state != POOL_ACTIVE || conf_backend(target)->state != CONF_STATE_ACTIVE;
	return change(target, &wanted);
}

static json_t *set_percent(const struct target *target, unsigned percent)
{
	struct override wanted = present(target);

	if (percent_of(&wanted) != percent)
		wanted.percent_since_ms = time_wall_ms();
	wanted.percent = (uint8_t)percent;
	wanted.has_percent = percent != OVERRIDE_WHOLE;
	return change(target, &wanted);
}

/* --- requests --- */

/* NULL and a target, or the refusal. */
static json_t *find(const char *name, struct target *ret)
{
	struct err err;

	if (find_backend(ret->app->conf, name, &ret->pool, &ret->member, &err))
		return refuse(err.text);
	return NULL;
}

static json_t *set_state_of(struct app *app, const struct daemon_request *request,
			    enum pool_admin state)
{
	struct target target = {.app = app, .conf = app->conf};
	const char *op, *name;
	json_t *refusal;

	if (json_unpack((json_t *)request->json, "{s:s, s:s !}", "op", &op, "backend", &name))
		return refuse("expected a backend's name and nothing else");
	refusal = find(name, &target);
	return refusal ? refusal : set_state(&target, state);
}

static json_t *on_weight(void *arg, const struct daemon_request *request)
{
	struct app *app = arg;
	struct target target = {.app = app, .conf = app->conf};
	const char *op, *name;
	json_int_t percent;
	json_t *refusal;

	if (json_unpack((json_t *)request->json, "{s:s, s:s, s:I !}", "op", &op, "backend", &name,
			"percent", &percent))
		return refuse("expected a backend's name and a percentage");
	if (percent < 0 || percent > OVERRIDE_WHOLE)
		return refuse("expected a percentage from 0 to 100");
	refusal = find(name, &target);
	return refusal ? refusal : set_percent(&target, (unsigned)percent);
}

/* Whose override was taken away, into `ret`, which has room for all of them. */
static size_t take_away_all(struct app *app, struct target *ret)
{
	size_t count = 0;

	for (size_t p = 0; p < app->conf->pool_count; p++) {
		for (size_t m = 0; m < app->conf->pools[p].backend_count; m++) {
			const struct target target = {app, app->conf, p, m};
			struct override *override = override_of(&target);

			if (!override_is_set(override))
				continue;
			override->has_state = override->has_percent = false;
			note_drain(&target);
			ret[count++] = target;
		}
	}
	return count;
}

static json_t *clear_all(struct app *app)
{
	struct target *targets = calloc(app->overrides.count + 1, sizeof(*targets));
	struct err err;
	size_t count;

	if (!targets)
		return refuse("out of memory");
	count = take_away_all(app, targets);
	save(app, &err);
	app->unsaved = err.text[0];
	for (size_t i = 0; i < count; i++)
		apply(&targets[i]);
	free(targets);
	app_settle(app);
	return json_pack("{s:i, s:s}", "cleared", (int)count, "not_kept", err.text);
}

static json_t *on_clear(void *arg, const struct daemon_request *request)
{
	struct app *app = arg;
	static const struct override nothing;
	struct target target = {.app = app, .conf = app->conf};
	const char *op, *name = NULL;
	json_t *refusal;
	int all = 0;

	if (json_unpack((json_t *)request->json, "{s:s, s?s, s?b !}", "op", &op, "backend", &name,
			"all", &all) ||
	    (name != NULL) == (all != 0))
		return refuse("expected a backend's name, or all");
	if (all)
		return clear_all(app);
	refusal = find(name, &target);
	return refusal ? refusal : change(&target, &nothing);
}

/* What status has of it alone. */
static json_t *on_backend(void *arg, const struct daemon_request *request)
{
	struct app *app = arg;
	struct target target = {.app = app, .conf = app->conf};
	const char *op, *name;
	json_t *refusal, *answer;
	size_t at = 0;

	if (json_unpack((json_t *)request->json, "{s:s, s:s !}", "op", &op, "backend", &name))
		return refuse("expected a backend's name and nothing else");
	refusal = find(name, &target);
	if (refusal)
		return refusal;
	for (size_t p = 0; p < target.pool; p++)
		at += app->conf->pools[p].backend_count;
	answer = report_backend(app->backends[at + target.member]);
	json_object_set_new(answer, "pool", json_string(conf_pool(&target)->name));
	return answer;
}

static json_t *on_drain(void *app, const struct daemon_request *request)
{
	return set_state_of(app, request, POOL_DRAIN);
}

static json_t *on_maint(void *app, const struct daemon_request *request)
{
	return set_state_of(app, request, POOL_MAINT);
}

static json_t *on_ready(void *app, const struct daemon_request *request)
{
	return set_state_of(app, request, POOL_ACTIVE);
}

const struct daemon_op requests_ops[] = {
	{"drain", DAEMON_CHANGES, on_drain},
	{"maint", DAEMON_CHANGES, on_maint},
	{"ready", DAEMON_CHANGES, on_ready},
	{"weight", DAEMON_CHANGES, on_weight},
	{"clear", DAEMON_CHANGES, on_clear},
	{"backend", DAEMON_READS, on_backend},
	{0},
};

/* --- for status --- */

/* What is overridden, and since when; null: nothing. */
static json_t *show_override(const struct override *override)
{
	json_t *object;

	if (!override_is_set(override))
		return json_null();
	object = json_object();
	if (override->has_state) {
		json_object_set_new(object, "state", json_string(show_admin(override->state)));
		json_object_set_new(object, "state_since_s",
				    json_real((double)age_ms(override->state_since_ms) / 1e3));
	}
	if (override->has_percent) {
		json_object_set_new(object, "percent", json_integer(override->percent));
		json_object_set_new(object, "percent_since_s",
				    json_real((double)age_ms(override->percent_since_ms) / 1e3));
	}
	return object;
}

/* Seconds until a draining backend's flows are cut; null: it does not drain, or for ever. */
static json_t *show_drain(const struct override *override, uint64_t limit_ms)
{
	uint64_t age;

	if (!override || !override->drain_since_ms || !limit_ms)
		return json_null();
	age = age_ms(override->drain_since_ms);
	return json_real(age < limit_ms ? (double)(limit_ms - age) / 1e3 : 0.0);
}

void requests_show(struct app *app, size_t pool, size_t member, json_t *object)
{
	const struct target target = {app, app->conf, pool, member};
	const struct pool *state = balancer_pool(app->balancer, pool);
	const struct override *override = override_of(&target);

	json_object_set_new(object, "state",
			    json_string(show_admin(pool_member_admin(state, member))));
	json_object_set_new(object, "file_state",
			    json_string(show_admin(assemble_admin(conf_backend(&target)->state))));
	json_object_set_new(object, "percent", json_integer(pool_member_share(state, member)));
	json_object_set_new(object, "slots", json_integer(pool_member_slots(state, member)));
	json_object_set_new(object, "flows",
			    json_integer(balancer_flows(app->balancer, pool, member)));
	json_object_set_new(object, "drain_left_s",
			    show_drain(override, conf_pool(&target)->drain_limit_ms));
	json_object_set_new(object, "override", show_override(override));
}
