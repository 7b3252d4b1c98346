/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What routers know follows what backends can do, and must do so in the right order. A VIP whose
 * last backend fails is withdrawn in the turn of the loop that learns of it, before slots are
 * written. At a start nothing is announced before the program is attached; and where an earlier
 * daemon's tables forward on, what it had announced stays until every check has had a result. At a
 * stop routes go first, then sessions, then, when routers have had time, the program.
 */
#include "weir/node/announcer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/event.h"
#include "base/time.h"
#include "net/kernel_route.h"
#include "weir/node/announcer_state.h"
#include "weir/node/watch.h"

enum {
	MEET_MS = 8000,     /* at an end, for routers that know of the daemon before this one */
	MEET_LOOK_MS = 100, /* between looks at them */
};

_Static_assert(CONF_COMMUNITIES_MAX <= (int)BGP_COMMUNITIES_MAX &&
		       CONF_PREPEND_MAX <= (int)BGP_PREPEND_MAX &&
		       CONF_PEERS_MAX <= (int)BGP_PEERS_MAX &&
		       CONF_VIPS_MAX + CONF_VIP_RANGES_MAX < (int)BGP_ROUTES_MAX,
	       "what a file may say the speaker takes");

/* --- routes --- */

static int tell_routers(struct announcer *announcer, const struct policy_vip *vip, struct err *err)
{
	const struct conf_announce *announce = vip->announce;
	struct bgp_large large[CONF_COMMUNITIES_MAX];
	const struct bgp_route route = {
		.prefix = vip->prefix,
		.med = announce->med,
		.has_med = announce->med != 0,
		.prepend = announce->prepend,
		.communities = announce->communities,
		.community_count = announce->community_count,
		.large_communities = large,
		.large_community_count = announce->large_community_count,
	};
	int code;

	for (size_t i = 0; i < announce->large_community_count; i++) {
		const uint32_t *parts = announce->large_communities[i].parts;

		large[i] = (struct bgp_large){parts[0], parts[1], parts[2]};
	}
	code = bgp_announce(routers_bgp(announcer->routers), &route);
	return code ? err_set(err, code, "%s", strerror(-code)) : 0;
}

static int announce(struct announcer *announcer, const struct policy_vip *vip, struct err *err)
{
	if (announcer->routers)
		return tell_routers(announcer, vip, err);
	return kernel_route_add(announcer->table, &vip->prefix, err);
}

static int withdraw(struct announcer *announcer, const struct prefix *prefix, struct err *err)
{
	if (!announcer->routers)
		return kernel_route_remove(announcer->table, prefix, err);
	bgp_withdraw(routers_bgp(announcer->routers), prefix);
	return 0;
}

static void log_change(struct announcer *announcer, size_t at, bool there)
{
	char vip[ADDR_TEXT_MAX], why[POLICY_WHY_MAX];

	event_note(&(struct event_about){"vip", 1, LOG_INFO, &announcer->log},
		   there ? "VIP is announced" : "VIP is withdrawn", "vip=%s reason=%s",
		   prefix_format_short(&announcer->told[at].prefix, vip),
		   log_quote(policy_why(announcer->policy, at, why)).text);
}

/* One VIP's route brought to what the policy wants. */
static void bring(struct announcer *announcer, size_t at)
{
	const struct policy_vip *vip = policy_vip(announcer->policy, at);
	struct told *told = &announcer->told[at];
	bool wanted = vip->announced, failed = told->failed;
	struct err err;

	if (wanted == told->there && !failed)
		return;
	told->failed = (wanted ? announce(announcer, vip, &err)
			       : withdraw(announcer, &vip->prefix, &err)) != 0;
	if (told->failed) {
		if (!failed || strcmp(told->error, err.text) != 0)
			event_note(&(struct event_about){"vip", 0, LOG_ERROR, &announcer->log},
				   "a route cannot be changed", "reason=%s",
				   log_quote(err.text).text);
		strcpy(told->error, err.text);
		announcer_step_on(announcer);
		return;
	}
	told->error[0] = '\0';
	if (wanted != told->there)
		log_change(announcer, at, wanted);
	told->there = wanted;
}

/* --- what pools have --- */

static bool may_have_flows(const struct app *app, size_t at, const struct pool *pool, size_t member,
			   uint64_t now_ms)
{
	return pool_member_admin(pool, member) == POOL_DRAIN &&
	       !pool_member_is_cut(pool, member, now_ms) &&
	       pool_member_flags(pool, member, now_ms) & ABI_BACKEND_KEEP &&
	       (pool_moving_slots(pool) || balancer_flows(app->balancer, at, member));
}

static void count_pools(struct announcer *announcer, uint64_t now_ms)
{
	const struct app *app = announcer->app;

	for (size_t p = 0; p < app->conf->pool_count; p++) {
		const struct pool *pool = balancer_pool(app->balancer, p);
		uint32_t usable = 0, draining = 0;

		for (size_t m = 0; m < pool_member_count(pool); m++) {
			usable += pool_member_usable(pool, m);
			draining += may_have_flows(app, p, pool, m, now_ms);
		}
		policy_set_pool(announcer->policy, p, usable, draining);
	}
}

uint64_t announcer_packets(const struct app *app)
{
	uint64_t packets = 0;

	for (size_t i = 0; i < app->conf->service_count; i++)
		packets += dp_service_count(app->dp, balancer_service_record(app->balancer, i))
				   .packets;
	return packets;
}

/* --- deciding --- */

static void set_withdrawn(struct announcer *announcer)
{
	const struct by_hand *by_hand = &announcer->by_hand;
	bool all = by_hand->all_since_ms || announcer->drain.phase >= DRAIN_WITHDRAWN;

	for (size_t i = 0; i < policy_vip_count(announcer->policy); i++)
		policy_withdraw(announcer->policy, i,
				all || by_hand_find(by_hand, &announcer->told[i].prefix));
}

/* Routes of an earlier daemon that nothing stands for: they were waiting for this one to know. */
static void drop_stranger(void *arg, const struct prefix *prefix)
{
	struct announcer *announcer = arg;
	size_t at = policy_find_vip(announcer->policy, prefix);
	struct err err;

	if (at != SIZE_MAX && announcer->told[at].there)
		return;
	if (kernel_route_remove(announcer->table, prefix, &err))
		event_note(&(struct event_about){"vip", 0, LOG_ERROR, &announcer->log},
			   "a route cannot be changed", "reason=%s", log_quote(err.text).text);
}

static void drop_strangers(struct announcer *announcer)
{
	struct err err;

	if (kernel_route_list(announcer->table, drop_stranger, announcer, &err))
		log_warn("routes of an earlier daemon may be left", "reason=%s",
			 log_quote(err.text).text);
}

static void withdraw_kernel_routes(struct announcer *announcer)
{
	for (size_t i = 0; i < announcer->told_count; i++)
		announcer->told[i].there = false;
	drop_strangers(announcer);
}

static void become_ready(struct announcer *announcer)
{
	if (announcer->ready || !watch_is_ready(announcer->app))
		return;
	announcer->ready = true;
	if (announcer->routers)
		bgp_ready(routers_bgp(announcer->routers));
	else
		drop_strangers(announcer);
}

static void on_time(uv_timer_t *timer)
{
	announcer_look(((struct announcer *)timer->data)->app);
}

static void decide(struct announcer *announcer)
{
	uint64_t now = time_now_ms(), deadline;

	uv_timer_stop(&announcer->soon);
	if (announcer->ending)
		return;
	count_pools(announcer, now);
	policy_decide(announcer->policy, now);
	for (size_t i = 0; i < announcer->told_count; i++)
		bring(announcer, i);
	become_ready(announcer);
	deadline = policy_deadline_ms(announcer->policy);
	if (deadline == UINT64_MAX)
		uv_timer_stop(&announcer->deadline);
	else
		uv_timer_start(&announcer->deadline, on_time, deadline > now ? deadline - now : 0,
			       0);
}

static void on_soon(uv_timer_t *timer)
{
	decide(timer->data);
}

void announcer_look(struct app *app)
{
	struct announcer *announcer = app->announcer;

	if (announcer && !uv_is_active((uv_handle_t *)&announcer->soon))
		uv_timer_start(&announcer->soon, on_soon, 0, 0);
}

void announcer_apply(struct announcer *announcer)
{
	if (announcer->routers)
		bgp_set_graceful_shutdown(routers_bgp(announcer->routers),
					  announcer->drain.phase == DRAIN_SHUNNED);
	set_withdrawn(announcer);
	decide(announcer);
}

static void on_step(uv_timer_t *timer)
{
	struct announcer *announcer = timer->data;
	struct drain *drain = &announcer->drain;
	bool retry = false;

	if (drain_step(drain, announcer_packets(announcer->app), time_now_ms())) {
		event_note(
			&(struct event_about){"node", 0, LOG_INFO, NULL},
			drain->phase == DRAIN_ENDED ? "node is drained: no traffic comes any more"
						    : "node drains: its routes are withdrawn",
			"phase=%s packets_per_s=%.0f", drain_phase_name(drain->phase), drain->rate);
		announcer_apply(announcer);
	} else {
		decide(announcer);
	}
	for (size_t i = 0; i < announcer->told_count; i++)
		retry = retry || announcer->told[i].failed;
	if (!retry && drain->phase == DRAIN_NONE && announcer->ready)
		uv_timer_stop(timer);
}

void announcer_step_on(struct announcer *announcer)
{
	if (!announcer->ending && !uv_is_active((uv_handle_t *)&announcer->step))
		uv_timer_start(&announcer->step, on_step, DRAIN_STEP_MS, DRAIN_STEP_MS);
}

/* --- start, and other configurations --- */

static bool is_announcing(const struct conf *conf)
{
	return conf->bgp.asn || conf->announcing.via == CONF_VIA_KERNEL_ROUTE;
}

/* A list for the policy's VIPs; what was told of those that are in it before goes on. */
static int list_told(struct announcer *announcer)
{
	size_t count = policy_vip_count(announcer->policy);
	struct told *list = calloc(count + 1, sizeof(*list));
	struct err err;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		list[i].prefix = policy_vip(announcer->policy, i)->prefix;
	for (size_t i = 0; i < announcer->told_count; i++) {
		struct told *before = &announcer->told[i];
		size_t at = policy_find_vip(announcer->policy, &before->prefix);

		if (at != SIZE_MAX)
			list[at] = *before;
		else if (before->there && withdraw(announcer, &before->prefix, &err))
			log_error("a route is left", "reason=%s", log_quote(err.text).text);
	}
	free(announcer->told);
	announcer->told = list;
	announcer->told_count = count;
	return 0;
}

static int begin(struct announcer *announcer, bool restarting, struct err *err)
{
	struct app *app = announcer->app;

	announcer->via = app->conf->announcing.via;
	announcer->table = app->conf->announcing.table;
	announcer->policy = policy_new(app->conf, NULL, time_now_ms());
	if (!announcer->policy || list_told(announcer))
		return err_set(err, -ENOMEM, "out of memory");
	if (restarting)
		policy_assume_served(announcer->policy);
	if (restarting)
		announcer->kept_until_ms = time_now_ms() + app->conf->bgp.graceful_restart_ms;
	if (announcer->via == CONF_VIA_KERNEL_ROUTE)
		return 0;
	return routers_open(&app->daemon.loop, &app->conf->bgp, restarting, &announcer->routers,
			    err);
}

static void list_timers(struct announcer *announcer, uv_timer_t *ret[ANNOUNCER_TIMERS])
{
	ret[0] = &announcer->soon;
	ret[1] = &announcer->deadline;
	ret[2] = &announcer->step;
	ret[3] = &announcer->wait;
}

int announcer_open(struct app *app, struct err *err)
{
	struct announcer *announcer;
	uv_timer_t *timers[ANNOUNCER_TIMERS];
	int code;

	if (!is_announcing(app->conf))
		return 0;
	announcer = calloc(1, sizeof(*announcer));
	if (!announcer)
		return err_set(err, -ENOMEM, "out of memory");
	announcer->app = app;
	list_timers(announcer, timers);
	for (size_t i = 0; i < ANNOUNCER_TIMERS; i++) {
		uv_timer_init(&app->daemon.loop, timers[i]);
		timers[i]->data = announcer;
	}
	announcer->handles = ANNOUNCER_TIMERS;
	app->announcer = announcer;
	code = begin(announcer, dp_adopted(app->dp) || dp_is_beside(app->dp), err);
	if (code)
		return code;
	withdraw_load(announcer);
	announcer_apply(announcer);
	announcer_step_on(announcer);
	return 0;
}

int announcer_check(const struct conf *conf, struct err *err)
{
	return routers_check(&conf->bgp, err);
}

/* What holds for all sessions changed: they begin anew, and routers keep the routes until then. */
static int reopen_routers(struct announcer *announcer, struct err *err)
{
	struct app *app = announcer->app;
	struct routers *fresh;
	int code;

	event_note(&(struct event_about){"bgp", 0, LOG_WARN, NULL},
		   "BGP begins anew, as what holds for all sessions changed", "asn=%u",
		   app->conf->bgp.asn);
	routers_close(announcer->routers);
	announcer->routers = NULL;
	code = routers_open(&app->daemon.loop, &app->conf->bgp, true, &fresh, err);
	if (code)
		return code;
	announcer->routers = fresh;
	if (announcer->ready)
		bgp_ready(routers_bgp(fresh));
	return 0;
}

/* Attributes may be others, of routes that stay. */
static void announce_again(struct announcer *announcer)
{
	struct err err;

	for (size_t i = 0; announcer->routers && i < announcer->told_count; i++) {
		if (announcer->told[i].there)
			announce(announcer, policy_vip(announcer->policy, i), &err);
	}
}

static int take(struct announcer *announcer, struct err *err)
{
	struct app *app = announcer->app;
	struct policy *policy = policy_new(app->conf, announcer->policy, time_now_ms());

	if (!policy)
		return err_set(err, -ENOMEM, "out of memory");
	policy_free(announcer->policy);
	announcer->policy = policy;
	if (list_told(announcer))
		return err_set(err, -ENOMEM, "out of memory");
	if (announcer->routers && !announcer->ending &&
	    !routers_take(announcer->routers, &app->conf->bgp))
		return reopen_routers(announcer, err);
	return 0;
}

static bool is_same_way(const struct announcer *announcer, const struct conf *conf)
{
	return is_announcing(conf) && announcer->via == conf->announcing.via &&
	       announcer->table == conf->announcing.table;
}

/* Another way: what was told in the old one is taken back. */
static void change_way(struct app *app, struct err *err)
{
	struct announcer *announcer = app->announcer;

	if (announcer && announcer->routers)
		routers_leave(announcer->routers);
	else if (announcer)
		withdraw_kernel_routes(announcer);
	announcer_close(app);
	if (announcer_open(app, err))
		event_note(&(struct event_about){"vip", 0, LOG_ERROR, NULL}, "nothing is announced",
			   "reason=%s", log_quote(err->text).text);
}

void announcer_take(struct app *app)
{
	struct announcer *announcer = app->announcer;
	struct err err;

	/* The end goes on as it began. */
	if (!announcer || (!announcer->ending && !is_same_way(announcer, app->conf))) {
		change_way(app, &err);
		return;
	}
	if (take(announcer, &err)) {
		event_note(&(struct event_about){"vip", 0, LOG_ERROR, NULL},
			   "nothing is announced any more", "reason=%s", log_quote(err.text).text);
		announcer_close(app);
		return;
	}
	if (announcer->ending)
		return;
	announce_again(announcer);
	announcer_apply(announcer);
}

/* --- the end --- */

static void on_waited(uv_timer_t *timer)
{
	daemon_end_now(&((struct announcer *)timer->data)->app->daemon);
}

static void on_stopped(void *arg)
{
	struct announcer *announcer = arg;
	uint64_t wait_ms = announcer->app->conf->announcing.stop_wait_ms;

	event_note(&(struct event_about){"node", 0, LOG_INFO, NULL}, "routes are withdrawn",
		   "forwarding_on_ms=%llu", (unsigned long long)wait_ms);
	uv_timer_start(&announcer->wait, on_waited, wait_ms, 0);
}

static void on_left(void *arg)
{
	daemon_end_now(&((struct announcer *)arg)->app->daemon);
}

static bool is_known_anywhere(const struct announcer *announcer)
{
	bool any = announcer->routers && routers_know_any(announcer->routers);

	for (size_t i = 0; !announcer->routers && i < announcer->told_count; i++)
		any = any || announcer->told[i].there;
	return any;
}

static void end_routes(struct announcer *announcer, bool stop)
{
	bool known = is_known_anywhere(announcer);

	if (announcer->routers)
		bgp_stop(routers_bgp(announcer->routers),
			 stop ? BGP_STOP_PLANNED : BGP_STOP_RESTART,
			 stop && known ? on_stopped : on_left, announcer);
	else if (stop)
		withdraw_kernel_routes(announcer);
	if (!announcer->routers)
		(stop && known ? on_stopped : on_left)(announcer);
}

static bool has_to_meet(const struct announcer *announcer)
{
	return announcer->routers && time_now_ms() < announcer->kept_until_ms &&
	       !routers_are_met(announcer->routers);
}

/*
 * A router that keeps the routes of the daemon before this one would send packets here for long
 * after nothing is attached any more. It is told first, if it can be met soon.
 */
static void on_meeting(uv_timer_t *timer)
{
	struct announcer *announcer = timer->data;

	if (has_to_meet(announcer) && time_now_ms() < announcer->meet_until_ms) {
		uv_timer_start(timer, on_meeting, MEET_LOOK_MS, 0);
		return;
	}
	if (has_to_meet(announcer))
		log_warn("a router that may keep this node's routes could not be told of its end",
			 "waited_ms=%d", MEET_MS);
	end_routes(announcer, true);
}

void announcer_end(void *arg, enum daemon_end end)
{
	struct app *app = arg;
	struct announcer *announcer = app->announcer;
	bool is_first;

	if (!announcer) {
		daemon_end_now(&app->daemon);
		return;
	}
	is_first = !announcer->ending;
	announcer->ending = true;
	uv_timer_stop(&announcer->step);
	announcer->meet_until_ms = time_now_ms() + MEET_MS;
	if (end == DAEMON_STOP && is_first)
		on_meeting(&announcer->wait);
	else
		end_routes(announcer, end == DAEMON_STOP);
}

static void on_closed(uv_handle_t *handle)
{
	struct announcer *announcer = handle->data;

	if (--announcer->handles == 0)
		free(announcer);
}

void announcer_close(struct app *app)
{
	struct announcer *announcer = app->announcer;
	uv_timer_t *timers[ANNOUNCER_TIMERS];

	if (!announcer)
		return;
	app->announcer = NULL;
	routers_close(announcer->routers);
	policy_free(announcer->policy);
	free(announcer->told);
	by_hand_fini(&announcer->by_hand);
	list_timers(announcer, timers);
	for (size_t i = 0; i < ANNOUNCER_TIMERS; i++)
		uv_close((uv_handle_t *)timers[i], on_closed);
}
