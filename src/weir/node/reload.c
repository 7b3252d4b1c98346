/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A reload is a start over the running tables, but that what is known goes on: what has not changed
 * is moved, not made anew. All that can fail comes first, and touches nothing that packets meet or
 * that the running configuration has: the file's own mistakes, what only a restart can change, a
 * program for what is new in it, places in the tables, checks and next hops. Then all of it is
 * brought in within one turn of the loop, and nothing of that can fail.
 */
#include "weir/node/reload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/event.h"
#include "base/time.h"
#include "weir/metrics/exporter.h"
#include "weir/node/announcer.h"
#include "weir/node/history.h"
#include "weir/node/requests.h"
#include "weir/node/watch.h"
#include "weir/show.h"
#include "weir/source/follow.h"
#include "weir/source/load.h"
#include "weir/workers/workers.h"

enum outcome { APPLIED, UNCHANGED, REFUSED };

struct reload {
	struct app *app;
	struct follow *follow; /* NULL: standard input */
	struct follow *second; /* source.file; NULL: there is none */
	char *second_file;
	struct load load;
	uv_work_t save;
	bool closing;
	bool is_busy, is_asked;           /* for what is being read, and not only told of */
	bool loads_again, is_asked_again; /* the same of the next time */
	const struct conf *first;         /* the start's, which is not ours */
	uint64_t begun, ended;            /* how often the file was read */
	uint64_t generation;              /* of what runs, 1 at the start */
	uint64_t generation_ns;           /* since when */
	struct load_digest running;       /* empty until it is known */
	uint64_t counts[REFUSED + 1];
	enum outcome outcome; /* of the last time */
	uint64_t took_ns;     /* on the loop */
	struct err_list refusal;
	uint64_t refused_ns;
};

/* --- what is refused --- */

static bool same_errors(const struct err_list *one, const struct err_list *two)
{
	if (one->count != two->count || one->dropped != two->dropped)
		return false;
	for (size_t i = 0; i < one->count; i++) {
		if (one->errors[i].line != two->errors[i].line ||
		    one->errors[i].column != two->errors[i].column ||
		    strcmp(one->errors[i].text, two->errors[i].text) != 0)
			return false;
	}
	return true;
}

static void log_refusal(const struct reload *reload)
{
	const struct err_list *errors = &reload->refusal;

	for (size_t i = 0; i < errors->count; i++) {
		const struct err *err = &errors->errors[i];

		event_note(&(struct event_about){"config", 1, LOG_ERROR, NULL},
			   "the file is refused, nothing changes",
			   "file=%s line=%d column=%d reason=%s",
			   log_quote(err->file ? err->file : reload->app->daemon.file).text,
			   err->line, err->column, log_quote(err->text).text);
	}
}

/* Takes the errors. The same ones are not said again. */
static void refuse(struct reload *reload, struct err_list *errors)
{
	bool is_known = same_errors(&reload->refusal, errors);

	err_list_fini(&reload->refusal);
	reload->refusal = *errors;
	*errors = (struct err_list){0};
	reload->refused_ns = time_now_ns();
	reload->outcome = REFUSED;
	if (!is_known)
		log_refusal(reload);
}

static void refuse_for(struct reload *reload, const char *reason)
{
	struct err_list errors = {0};

	err_list_add(&errors, 0, 0, "%s", reason);
	refuse(reload, &errors);
}

static bool same_interfaces(const struct conf_node *one, const struct conf_node *two)
{
	if (one->interface_count != two->interface_count)
		return false;
	for (size_t i = 0; i < one->interface_count; i++) {
		if (strcmp(one->interfaces[i], two->interfaces[i]) != 0)
			return false;
	}
	return true;
}

/* What of the node only a restart can change; NULL: nothing. */
static const char *needs_restart(const struct conf_node *old, const struct conf_node *new)
{
	if (strcmp(old->name, new->name) != 0)
		return "node.name";
	if (!same_interfaces(old, new))
		return "node.interfaces";
	if (old->xdp != new->xdp)
		return "node.xdp";
	if (old->engine != new->engine)
		return "node.engine";
	if (old->workers != new->workers)
		return "node.workers";
	if (old->flows.entries != new->flows.entries)
		return "node.flows.entries";
	return NULL;
}

/* --- bringing it in --- */

struct next {
	const struct conf *conf;
	struct balancer *balancer;
	struct watch_next watch;
	struct overrides overrides;
};

/* With what operators have set, as it will be: packets are to meet it from the first. */
static int prepare_balancer(struct app *app, struct next *next, struct built *built,
			    struct err *err)
{
	struct balancer_start start = app_balancer_start(app);
	struct overrides present = app->overrides;
	int ret;

	/* Others serve until those that are new are known to be well. */
	start.unchecked = POOL_UNKNOWN;
	start.built = built;
	if (requests_follow(app, next->conf, built, &next->overrides))
		return err_set(err, -ENOMEM, "out of memory");
	app->overrides = next->overrides;
	ret = balancer_prepare(next->conf, app->balancer, &start, &next->balancer, err);
	app->overrides = present;
	return ret;
}

/* All that can fail. 0, or err and nothing has changed. */
static int prepare(struct app *app, struct next *next, struct built *built, struct err *err)
{
	const char *fixed = needs_restart(&app->conf->node, &next->conf->node);
	int ret;

	if (fixed)
		return err_set(err, -EINVAL, "%s differs, which only a restart can change", fixed);
	ret = announcer_check(next->conf, err);
	if (ret)
		return ret;
	ret = dp_need(app->dp, balancer_features(next->conf), err);
	if (!ret)
		ret = prepare_balancer(app, next, built, err);
	if (ret)
		return ret;
	next->watch = (struct watch_next){
		.app = app,
		.conf = next->conf,
		.balancer = next->balancer,
		.built = built,
		.awaits = true,
	};
	ret = watch_prepare(&next->watch, err);
	if (ret)
		balancer_free(next->balancer);
	return ret;
}

static void commit(struct app *app, struct next *next)
{
	const struct conf *old = app->conf;

	workers_expect_conf(app, next->conf);
	balancer_commit(next->balancer);
	app->balancer = next->balancer;
	app->conf = next->conf;
	watch_commit(&next->watch);
	requests_take(app, &next->overrides);
	requests_reload(app);
	app_settle(app);
	follow_set_settle(app->reload->follow, app->conf->node.settle_ms);
	if (app->reload->second)
		follow_set_settle(app->reload->second, app->conf->node.settle_ms);
	announcer_take(app);
	history_turn(app);
	app_open_splitter(app);
	exporter_listen(app->exporter, &app->conf->node.admin);
	if (old != app->reload->first)
		conf_free((struct conf *)old);
}

static size_t count_stays(const struct app *app)
{
	size_t count = 0;

	for (size_t i = 0; i < app->conf->pool_count; i++)
		count += balancer_pool_stays(app->balancer, i);
	return count;
}

static void apply(struct reload *reload)
{
	struct app *app = reload->app;
	struct next next = {.conf = reload->load.conf};
	uint64_t started_ns = time_now_ns();
	struct err err;

	if (prepare(app, &next, &reload->load.built, &err)) {
		overrides_fini(&next.overrides);
		conf_free(reload->load.conf);
		refuse_for(reload, err.text);
		return;
	}
	commit(app, &next);
	reload->running = reload->load.digest;
	reload->generation++;
	reload->generation_ns = time_now_ns();
	reload->took_ns = reload->generation_ns - started_ns;
	reload->outcome = APPLIED;
	err_list_fini(&reload->refusal);
	event_note(&(struct event_about){"config", 0, LOG_INFO, NULL}, "another configuration runs",
		   "generation=%llu digest=%s services=%zu pools=%zu unchanged_pools=%zu "
		   "backends=%zu read_ms=%.1f applied_ms=%.1f",
		   (unsigned long long)reload->generation, reload->running.shared,
		   app->conf->service_count, app->conf->pool_count, count_stays(app),
		   app->backend_count, (double)reload->load.took_ns / TIME_MILLI_NS,
		   (double)reload->took_ns / TIME_MILLI_NS);
}

/* --- reading --- */

static void begin(struct reload *reload, bool is_asked);
static void on_changed(void *arg);

static int follow(struct reload *reload, const char *file, struct follow **ret)
{
	int error = follow_open(&reload->app->daemon.loop, file, on_changed, reload, ret);

	if (!error)
		follow_set_settle(*ret, reload->app->conf->node.settle_ms);
	return error;
}

/* What the file that runs, or one that would, says of a second one. */
static void follow_second(struct reload *reload, const char *file)
{
	char *copy = file ? strdup(file) : NULL;

	if (!file == !reload->second_file && (!file || strcmp(file, reload->second_file) == 0)) {
		free(copy);
		return;
	}
	follow_close(reload->second);
	free(reload->second_file);
	reload->second = NULL;
	reload->second_file = copy;
	if (file && (!copy || follow(reload, copy, &reload->second)))
		log_warn("the second file is not followed", "file=%s", log_quote(file).text);
}

/* A mark at a file's end, alone, is no other configuration, but counts from now on. */
static void take_ends(struct conf *running, const struct conf *same)
{
	running->ended = same->ended;
	running->source_ended = same->source_ended;
}

/* What was read is another file's, or what is wrong with it. */
static void take(struct reload *reload, struct load *load)
{
	if (load->conf)
		follow_second(reload, load->conf->source_file);
	/* It is where the mistake may be, or what is missing. */
	else if (load->errors.file)
		follow_second(reload, load->errors.file);
	if (!load->conf) {
		refuse(reload, &load->errors);
	} else if (strcmp(load->digest.whole, reload->running.whole) == 0) {
		take_ends((struct conf *)reload->app->conf, load->conf);
		conf_free(load->conf);
		err_list_fini(&reload->refusal);
		reload->outcome = UNCHANGED;
		/* What it names may be another: a router's password. */
		if (reload->is_asked)
			announcer_take(reload->app);
	} else {
		apply(reload);
	}
	built_free(&load->built);
	reload->counts[reload->outcome]++;
}

/* It was written over while it was read: it will be told of once more. */
static bool is_stale(const struct reload *reload, const struct load *load)
{
	return !load->conf && !reload->is_asked &&
	       (!follow_is_current(reload->follow) ||
		(reload->second && !follow_is_current(reload->second)));
}

static void end_turn(struct reload *reload)
{
	reload->is_busy = false;
	if (reload->loads_again && !reload->closing)
		begin(reload, reload->is_asked_again);
}

static void save(uv_work_t *work)
{
	history_save(((struct reload *)work->data)->app);
}

static void on_saved(uv_work_t *work, int status)
{
	(void)status;
	end_turn(work->data);
}

/* To the disk, beside the loop: nobody else touches it until that has ended. */
static void begin_save(struct reload *reload)
{
	reload->save.data = reload;
	if (uv_queue_work(&reload->app->daemon.loop, &reload->save, save, on_saved))
		end_turn(reload);
}

static void on_loaded(struct load *load)
{
	struct reload *reload = load->arg;

	if (reload->closing || reload->app->daemon.end != DAEMON_RUNS) {
		conf_free(load->conf);
		built_free(&load->built);
		err_list_fini(&load->errors);
		return;
	}
	if (is_stale(reload, load))
		err_list_fini(&load->errors);
	else
		take(reload, load);
	reload->ended++;
	if (reload->app->generations_unsaved)
		begin_save(reload);
	else
		end_turn(reload);
}

/* What is being read may be older than what is asked for: then it is read once more. */
static void begin(struct reload *reload, bool is_asked)
{
	if (reload->is_busy) {
		reload->is_asked_again |= is_asked;
		reload->loads_again = true;
		return;
	}
	reload->loads_again = reload->is_asked_again = false;
	reload->is_asked = is_asked;
	reload->begun++;
	reload->load.running = reload->app->conf;
	reload->is_busy = load_start(&reload->app->daemon.loop, &reload->load) == 0;
	if (reload->is_busy)
		return;
	refuse_for(reload, "the file cannot be read now");
	reload->counts[REFUSED]++;
	reload->ended++;
}

static void on_changed(void *arg)
{
	begin(arg, false);
}

void reload_now(struct app *app)
{
	if (app->reload->follow)
		begin(app->reload, true);
	else
		log_warn("standard input cannot be read again", "file=-");
}

/* --- life --- */

int reload_open(struct app *app, struct err *err)
{
	struct reload *reload = calloc(1, sizeof(*reload));
	int ret;

	if (!reload)
		return err_set(err, -ENOMEM, "out of memory");
	app->reload = reload;
	reload->app = app;
	reload->first = app->conf;
	reload->generation = 1;
	reload->generation_ns = time_now_ns();
	reload->load = (struct load){.file = app->daemon.file, .done = on_loaded, .arg = reload};
	ret = load_digest_of(app->conf, &reload->running);
	if (!ret && strcmp(app->daemon.file, "-") != 0)
		ret = follow(reload, app->daemon.file, &reload->follow);
	if (!ret)
		follow_second(reload, app->conf->source_file);
	return ret ? err_set(err, ret, "the file cannot be followed: %s", strerror(-ret)) : 0;
}

void reload_close(struct app *app)
{
	if (!app->reload)
		return;
	app->reload->closing = true;
	follow_close(app->reload->follow);
	follow_close(app->reload->second);
}

void reload_free(struct app *app)
{
	if (!app->reload)
		return;
	if (app->conf != app->reload->first)
		conf_free((struct conf *)app->conf);
	err_list_fini(&app->reload->refusal);
	free(app->reload->second_file);
	free(app->reload);
	app->reload = NULL;
}

/* --- asking --- */

static json_t *show_errors(const struct err_list *errors)
{
	json_t *list = json_array();

	for (size_t i = 0; i < errors->count; i++)
		json_array_append_new(list, json_pack("{s:s?, s:i, s:i, s:o}", "file",
						      errors->errors[i].file, "line",
						      errors->errors[i].line, "column",
						      errors->errors[i].column, "text",
						      show_bytes(errors->errors[i].text)));
	return list;
}

static json_t *show_refusal(const struct reload *reload)
{
	if (!reload->refusal.count)
		return json_null();
	return json_pack("{s:f, s:I, s:o}", "ago_s", time_since_s(reload->refused_ns), "more",
			 (json_int_t)reload->refusal.dropped, "errors",
			 show_errors(&reload->refusal));
}

struct reload_facts reload_facts(const struct app *app)
{
	const struct reload *reload = app->reload;

	if (!reload)
		return (struct reload_facts){.digest = ""};
	return (struct reload_facts){
		.generation = reload->generation,
		.since_ns = reload->generation_ns,
		.digest = reload->running.shared,
		.applied = reload->counts[APPLIED],
		.unchanged = reload->counts[UNCHANGED],
		.refused = reload->counts[REFUSED],
		.took_ns = reload->took_ns,
		.is_refused = reload->refusal.count > 0,
	};
}

json_t *reload_report(const struct app *app)
{
	const struct reload *reload = app->reload;

	if (!reload)
		return json_null();
	return json_pack("{s:I, s:s, s:f, s:I, s:I, s:I, s:o}", "generation",
			 (json_int_t)reload->generation, "digest", reload->running.shared,
			 "since_s", time_since_s(reload->generation_ns), "applied",
			 (json_int_t)reload->counts[APPLIED], "unchanged",
			 (json_int_t)reload->counts[UNCHANGED], "refused",
			 (json_int_t)reload->counts[REFUSED], "refusal", show_refusal(reload));
}

static json_t *answer_reload(struct app *app)
{
	struct reload *reload = app->reload;

	if (!reload->follow)
		return json_pack("{s:s}", "error", "standard input cannot be read again");
	begin(reload, true);
	return json_pack("{s:I}", "ticket", (json_int_t)(reload->begun + reload->loads_again));
}

static json_t *answer_result(struct app *app, const json_t *request)
{
	static const char *const names[] = {"applied", "unchanged", "refused"};
	const struct reload *reload = app->reload;
	json_int_t ticket;
	const char *op;
	json_t *answer;

	if (json_unpack((json_t *)request, "{s:s, s:I !}", "op", &op, "ticket", &ticket))
		return json_pack("{s:s}", "error", "expected a ticket");
	if (ticket > (json_int_t)reload->ended)
		return json_pack("{s:b}", "done", 0);
	answer = reload_report(app);
	json_object_set_new(answer, "done", json_true());
	json_object_set_new(answer, "file", show_bytes(app->daemon.file));
	json_object_set_new(answer, "outcome", json_string(names[reload->outcome]));
	json_object_set_new(answer, "applied_ms",
			    json_real((double)reload->took_ns / TIME_MILLI_NS));
	return answer;
}

static json_t *answer_configuration(const struct app *app)
{
	char *text = conf_format(app->conf);
	json_t *answer = text ? json_pack("{s:I, s:s, s:s}", "generation",
					  (json_int_t)app->reload->generation, "digest",
					  app->reload->running.shared, "text", text)
			      : NULL;

	free(text);
	return answer ? answer : json_pack("{s:s}", "error", "out of memory");
}

/* NULL: it may be asked. */
static json_t *refuse_early(const struct app *app)
{
	return app->reload ? NULL
			   : json_pack("{s:s}", "error", "the node is not through with its start");
}

static json_t *on_reload(void *arg, const struct daemon_request *request)
{
	json_t *refusal = refuse_early(arg);

	(void)request;
	return refusal ? refusal : answer_reload(arg);
}

static json_t *on_result(void *arg, const struct daemon_request *request)
{
	json_t *refusal = refuse_early(arg);

	return refusal ? refusal : answer_result(arg, request->json);
}

static json_t *on_configuration(void *arg, const struct daemon_request *request)
{
	json_t *refusal = refuse_early(arg);

	(void)request;
	return refusal ? refusal : answer_configuration(arg);
}

const struct daemon_op reload_ops[] = {
	{"reload", DAEMON_CHANGES, on_reload},
	{"reload_result", DAEMON_READS, on_result},
	{"configuration", DAEMON_READS, on_configuration},
	{0},
};
