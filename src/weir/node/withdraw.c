/* SPDX-License-Identifier: BSD-2-Clause */
/* What operators ask of announcing: VIPs withdrawn and given back, and the node out of use. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/event.h"
#include "base/time.h"
#include "weir/node/announcer_state.h"
#include "weir/show.h"

/* --- what is kept --- */

static int store(struct announcer *announcer, struct err *err)
{
	if (!by_hand_is_empty(&announcer->by_hand))
		return store_write(announcer->store, by_hand_to_json(&announcer->by_hand), err);
	if (unlink(announcer->store) && errno != ENOENT && errno != ENOTDIR)
		return err_set(err, -errno, "cannot remove %s: %s", announcer->store,
			       strerror(errno));
	return 0;
}

static void save(struct announcer *announcer, struct err *ret_err)
{
	ret_err->text[0] = '\0';
	if (store(announcer, ret_err))
		log_warn("what is withdrawn by hand is not kept: it ends with this process",
			 "reason=%s", log_quote(ret_err->text).text);
	announcer->unsaved = ret_err->text[0];
}

/* A VIP that the file lacks by now may come back in it. */
void withdraw_load(struct announcer *announcer)
{
	struct by_hand *by_hand = &announcer->by_hand;
	struct err err;
	int code;

	store_path_of(announcer->app->daemon.instance.name, "announce", announcer->store);
	if (store_read(announcer->store, by_hand_parse, by_hand, &err)) {
		code = store_set_aside(announcer->store);
		log_error("what was withdrawn by hand is lost: the node announces as its file says",
			  "reason=%s aside=%s.damaged%s%s", log_quote(err.text).text,
			  announcer->store, code ? " failed=" : "",
			  code ? log_quote(strerror(-code)).text : "");
		return;
	}
	if (by_hand->drain_since_ms)
		drain_begin(&announcer->drain, 0, announcer_packets(announcer->app), time_now_ms());
	if (!by_hand_is_empty(by_hand))
		event_note(&(struct event_about){"operator", 0, LOG_INFO, NULL},
			   "routes are withdrawn by hand", "vips=%zu all=%s node_drains=%s",
			   by_hand->count, by_hand->all_since_ms ? "yes" : "no",
			   by_hand->drain_since_ms ? "yes" : "no");
}

/* --- answers --- */

static json_t *refuse(const char *text)
{
	return json_pack("{s:s}", "error", text);
}

static json_t *refuse_err(const struct err *err)
{
	return json_pack("{s:o}", "error", show_bytes(err->text));
}

static int count_announced(const struct announcer *announcer)
{
	int count = 0;

	for (size_t i = 0; i < announcer->told_count; i++)
		count += announcer->told[i].there;
	return count;
}

static json_t *describe(struct announcer *announcer, bool changed)
{
	struct err err = {0};

	if (changed || announcer->unsaved)
		save(announcer, &err);
	if (changed)
		announcer_apply(announcer);
	return json_pack("{s:i, s:i, s:b, s:s}", "announced", count_announced(announcer), "vips",
			 (int)announcer->told_count, "changed", changed, "not_kept", err.text);
}

/* --- VIPs --- */

static int find_vip(const struct announcer *announcer, const char *text, size_t *ret,
		    struct err *err)
{
	struct prefix prefix;

	if (prefix_parse(text, &prefix))
		return err_set(err, -EINVAL, "%.64s is no address and no prefix", text);
	*ret = policy_find_vip(announcer->policy, &prefix);
	if (*ret == SIZE_MAX)
		return err_set(err, -ENOENT, "%.64s is no VIP of this node's file", text);
	return 0;
}

static json_t *describe_vip(struct announcer *announcer, size_t at, bool changed)
{
	json_t *answer = describe(announcer, changed);
	const struct policy_vip *vip = policy_vip(announcer->policy, at);
	char text[ADDR_TEXT_MAX], why[POLICY_WHY_MAX];

	json_object_set_new(answer, "vip", json_string(prefix_format_short(&vip->prefix, text)));
	json_object_set_new(answer, "is_announced", json_boolean(announcer->told[at].there));
	json_object_set_new(answer, "why", json_string(policy_why(announcer->policy, at, why)));
	return answer;
}

static json_t *withdraw_one(struct announcer *announcer, const char *text)
{
	struct by_hand *by_hand = &announcer->by_hand;
	const struct prefix *prefix;
	struct err err;
	bool known;
	size_t at;

	if (find_vip(announcer, text, &at, &err))
		return refuse_err(&err);
	prefix = &announcer->told[at].prefix;
	known = by_hand_find(by_hand, prefix);
	if (by_hand_add(by_hand, prefix, time_wall_ms()))
		return refuse("out of memory");
	return describe_vip(announcer, at, !known);
}

static json_t *announce_one(struct announcer *announcer, const char *text)
{
	struct err err;
	size_t at;

	if (find_vip(announcer, text, &at, &err))
		return refuse_err(&err);
	if (announcer->by_hand.all_since_ms)
		return refuse("all VIPs are withdrawn; `weir announce` without a VIP ends that");
	return describe_vip(announcer, at,
			    by_hand_remove(&announcer->by_hand, &announcer->told[at].prefix));
}

static json_t *withdraw_all(struct announcer *announcer)
{
	bool known = announcer->by_hand.all_since_ms;

	if (!known)
		announcer->by_hand.all_since_ms = time_wall_ms();
	return describe(announcer, !known);
}

/* A node that drains goes on to. */
static json_t *announce_all(struct announcer *announcer)
{
	struct by_hand *by_hand = &announcer->by_hand;
	bool changed = by_hand->all_since_ms || by_hand->count;

	by_hand->all_since_ms = 0;
	by_hand->count = 0;
	return describe(announcer, changed);
}

static json_t *on_vip(struct announcer *announcer, const char *op, const json_t *request)
{
	bool away = strcmp(op, "withdraw") == 0;
	const char *name, *vip = NULL;

	if (json_unpack((json_t *)request, "{s:s, s?s !}", "op", &name, "vip", &vip))
		return refuse("expected a VIP, or nothing");
	if (vip)
		return (away ? withdraw_one : announce_one)(announcer, vip);
	return (away ? withdraw_all : announce_all)(announcer);
}

/* --- the node --- */

static json_t *list_moving(const struct app *app)
{
	json_t *list = json_array();

	for (size_t p = 0; p < app->conf->pool_count; p++) {
		const struct pool *pool = balancer_pool(app->balancer, p);

		if (pool_moving_slots(pool))
			json_array_append_new(list, json_pack("{s:s, s:i}", "pool", pool_name(pool),
							      "in_transition",
							      (int)pool_moving_slots(pool)));
	}
	return list;
}

static json_t *on_node(struct announcer *announcer, bool drains, const json_t *request)
{
	struct by_hand *by_hand = &announcer->by_hand;
	bool changed = drains != (by_hand->drain_since_ms != 0);
	uint64_t shun_ms = announcer->routers ? announcer->app->conf->bgp.graceful_shutdown_ms : 0;
	json_t *answer;

	if (json_object_size(request) != 1)
		return refuse("expected nothing beside it");
	if (changed && drains) {
		by_hand->drain_since_ms = time_wall_ms();
		drain_begin(&announcer->drain, shun_ms, announcer_packets(announcer->app),
			    time_now_ms());
		announcer_step_on(announcer);
	} else if (changed) {
		by_hand->drain_since_ms = 0;
		drain_end(&announcer->drain);
	}
	if (changed)
		event_note(&(struct event_about){"node", 0, LOG_INFO, NULL},
			   drains ? "node drains" : "node is in use again", "phase=%s",
			   drain_phase_name(announcer->drain.phase));
	answer = describe(announcer, changed);
	json_object_set_new(answer, "phase", json_string(drain_phase_name(announcer->drain.phase)));
	json_object_set_new(answer, "moving", list_moving(announcer->app));
	return answer;
}

/* NULL: it may be asked. */
static json_t *refuse_all(const struct app *app)
{
	if (!app->announcer)
		return refuse("this node announces nothing: its file has no bgp, and no "
			      "announce.via: kernel-route");
	return app->announcer->ending ? refuse("this node is being stopped") : NULL;
}

static json_t *on_vips(void *arg, const struct daemon_request *request)
{
	const struct app *app = arg;
	json_t *refusal = refuse_all(app);

	return refusal ? refusal : on_vip(app->announcer, request->op, request->json);
}

static json_t *on_node_drain(void *arg, const struct daemon_request *request)
{
	const struct app *app = arg;
	json_t *refusal = refuse_all(app);

	return refusal ? refusal : on_node(app->announcer, true, request->json);
}

static json_t *on_node_undrain(void *arg, const struct daemon_request *request)
{
	const struct app *app = arg;
	json_t *refusal = refuse_all(app);

	return refusal ? refusal : on_node(app->announcer, false, request->json);
}

const struct daemon_op withdraw_ops[] = {
	{"withdraw", DAEMON_CHANGES, on_vips},
	{"announce", DAEMON_CHANGES, on_vips},
	{"node-drain", DAEMON_CHANGES, on_node_drain},
	{"node-undrain", DAEMON_CHANGES, on_node_undrain},
	{0},
};
