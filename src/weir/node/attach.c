/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/node/attach.h"

#include "base/event.h"
#include "base/log.h"
#include "bpf/gro.h"

/* The tables that were pinned did not do. */
static void say_not_adopted(const struct app *app)
{
	const char *why = dp_not_adopted_why(app->dp), *lost = dp_not_carried_why(app->dp);

	if (!*why)
		return;
	if (dp_adopted(app->dp) && !*lost)
		event_note(
			&(struct event_about){"daemon", 0, LOG_INFO, NULL},
			"tables are made anew beside those that are at work, and hold what these "
			"do",
			"reason=%s", log_quote(why).text);
	else
		event_note(&(struct event_about){"daemon", 0, LOG_WARN, NULL},
			   "all tables are made anew, flows are forgotten",
			   "pins=%s reason=%s carried=%s", app->daemon.instance.pins,
			   log_quote(why).text,
			   log_quote(*lost ? lost : "nothing is attached").text);
}

int attach_open(struct app *app, struct err *err)
{
	const struct dp_options options = {
		.pin_dir = app->daemon.instance.pins,
		.flow_entries = app->conf->node.flows.entries,
		.features = balancer_features(app->conf),
		.steers = app->conf->node.engine == CONF_ENGINE_AF_XDP,
	};

	int ret = dp_open(&options, &app->dp, err);

	if (!ret)
		say_not_adopted(app);
	return ret;
}

const char *attach_tables(const struct app *app)
{
	bool others = *dp_not_adopted_why(app->dp);

	if (dp_adopted(app->dp))
		return others ? "carried" : "adopted";
	return others ? "forgotten" : "new";
}

static bool is_generic(void *arg, const char *interface)
{
	const struct link_attached *attached =
		links_find(dp_links(((const struct app *)arg)->dp), interface);

	return attached && attached->mode == LINK_XDP_GENERIC;
}

bool attach_all_generic(const struct app *app)
{
	const struct conf_node *node = &app->conf->node;

	for (size_t i = 0; i < node->interface_count; i++) {
		if (!is_generic((void *)app, node->interfaces[i]))
			return false;
	}
	return true;
}

static void now_attached(const struct app *app, const struct link_attached *attached)
{
	struct err err;

	daemon_log_attached(attached);
	if (attached->mode == LINK_XDP_GENERIC &&
	    gro_suspend(dp_links(app->dp)->dir, attached->interface, &err))
		log_warn("what is joined on receiving will be too big for the tunnel", "reason=%s",
			 log_quote(err.text).text);
}

static bool is_older(void *arg, const char *interface)
{
	const struct link_attached *attached =
		links_find(dp_links(((struct app *)arg)->dp), interface);

	return !attached || attached->adopted;
}

int attach_again(void *arg, size_t at, struct err *err)
{
	struct app *app = arg;
	int ret = dp_reattach(app->dp, at, err);

	if (!ret)
		now_attached(app, &dp_links(app->dp)->attached[at]);
	return ret;
}

/* New tables are at work in the place of others. */
static void settle(struct app *app)
{
	struct dp_carried carried;

	dp_settle(app->dp);
	carried = dp_carried(app->dp);
	event_note(&(struct event_about){"daemon", 0, LOG_INFO, NULL},
		   "the tables from before are exchanged", "flows=%llu lost=%llu",
		   (unsigned long long)carried.flows, (unsigned long long)carried.lost);
}

int attach_all(struct app *app, struct err *err)
{
	const struct conf_node *node = &app->conf->node;
	const char *names[LINKS_MAX];
	int ret =
		links_order(dp_links(app->dp), node->interfaces, node->interface_count, names, err);

	if (ret)
		return ret;
	for (size_t i = 0; i < node->interface_count; i++) {
		ret = dp_attach(app->dp, names[i], daemon_xdp(node->xdp), err);
		if (ret)
			return ret;
		now_attached(app, &dp_links(app->dp)->attached[i]);
	}
	if (dp_is_beside(app->dp))
		settle(app);
	links_detach_others(dp_links(app->dp));
	gro_resume(dp_links(app->dp)->dir, is_generic, app);
	return 0;
}

void attach_stop(struct app *app, bool failed)
{
	if (!app->dp)
		return;
	if (failed && dp_is_beside(app->dp)) {
		gro_resume(dp_links(app->dp)->dir, is_older, app);
		dp_put_back(app->dp);
	} else if (!failed || !dp_adopted(app->dp)) {
		gro_resume(dp_links(app->dp)->dir, NULL, NULL);
		dp_teardown(app->dp);
	} else {
		gro_resume(dp_links(app->dp)->dir, is_older, app);
		links_detach_new(dp_links(app->dp));
	}
	dp_close(app->dp);
}

void attach_leave(struct app *app)
{
	dp_close(app->dp);
}
