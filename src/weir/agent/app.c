/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `weir agent`. The order of the start: the lock, so that there is one writer; the file that says
 * what an earlier agent changed; the programs, which touch nothing until attached; the plan of
 * changes, written to the file; ARP's silence, before there is a VIP to speak of; the programs on
 * the interfaces; the VIPs. So a VIP is on the host only while its tunnels are understood and its
 * name is not spoken.
 *
 * A death by SIGKILL leaves all of that in place, and the kernel decapsulates on. The next agent
 * finds the file, exchanges the programs in place, and undoes at its own end what was changed by
 * its predecessor, to what was there before either.
 */
#include "weir/agent/app.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/event.h"
#include "base/log.h"
#include "base/time.h"
#include "host/host.h"
#include "weir/agent/app_state.h"
#include "weir/agent/host.h"
#include "weir/figures/agent.h"

/* Between looks at what is not taken in; and after a word about it. */
enum { HINT_MS = 1000, HINT_QUIET_MS = 60000 };
/* Between looks at whom packets were handed on to. */
enum { ONWARDS_MS = 250 };

/* --- start --- */

/* The smallest MTU, where the file says none: by which interface a SYN-ACK leaves is not known. */
static int find_path_mtu(struct agent_app *app, struct err *err)
{
	app->path_mtu = app->conf->path_mtu;
	for (size_t i = 0; !app->conf->path_mtu && i < app->conf->interface_count; i++) {
		uint32_t mtu;
		int error = host_interface_mtu(app->conf->interfaces[i], &mtu, err);

		if (error)
			return error;
		if (i == 0 || mtu < app->path_mtu)
			app->path_mtu = mtu;
	}
	return 0;
}

static struct agent_dp_port *list_ports(const struct conf_agent *conf)
{
	struct agent_dp_port *list = calloc(conf->port_count + 1, sizeof(*list));

	for (size_t i = 0; list && i < conf->port_count; i++)
		list[i] = (struct agent_dp_port){
			.vip = conf->ports[i].vip,
			.proto = conf->ports[i].listen.proto,
			.port = conf->ports[i].listen.first,
			.to = conf->ports[i].to,
		};
	return list;
}

static enum agent_takes takes_of(const struct conf_agent *conf)
{
	static const enum agent_takes takes[] = {
		[CONF_FORWARD_IPIP] = AGENT_TAKES_IPIP,
		[CONF_FORWARD_GRE] = AGENT_TAKES_GRE,
		[CONF_FORWARD_GUE] = AGENT_TAKES_GUE,
		[CONF_FORWARD_GENEVE] = AGENT_TAKES_GENEVE,
		[CONF_FORWARD_IPOPT] = AGENT_TAKES_IPOPT,
	};
	uint32_t all = 0;

	for (size_t i = 0; i < conf->forward_count; i++)
		all |= takes[conf->forward[i]];
	if (conf->peer_count)
		all |= AGENT_TAKES_SECOND;
	return (enum agent_takes)all;
}

static void find_limits(struct agent_app *app)
{
	const struct conf_agent *conf = app->conf;
	enum agent_takes takes = takes_of(conf);

	app->limits = agent_dp_limits(
		app->path_mtu,
		agent_dp_overhead(takes, conf->balancers, conf->balancer_count, true),
		agent_dp_overhead(takes, conf->balancers, conf->balancer_count, false));
}

/* Namespaces that come later are not known: then the agent is started again. */
static int find_spaces(const struct conf_agent *conf, int32_t *spaces, struct err *err)
{
	int error = 0;

	for (size_t i = 0; !error && i < conf->netns_count; i++)
		error = host_netns_id(conf->netns[i], &spaces[i], err);
	return error;
}

static int open_programs(struct agent_app *app, struct err *err)
{
	const struct conf_agent *conf = app->conf;
	int32_t spaces[CONF_NETNS_MAX];
	struct agent_dp_options options = {
		.pin_dir = app->daemon.instance.pins,
		.vips = conf->vips,
		.vip_count = conf->vip_count,
		.balancers = conf->balancers,
		.balancer_count = conf->balancer_count,
		.peers = conf->peers,
		.peer_count = conf->peer_count,
		.spaces = spaces,
		.space_count = conf->netns_count,
		.takes = takes_of(conf),
		.port_count = conf->port_count,
	};
	struct agent_dp_port *ports;
	int error = find_path_mtu(app, err);

	if (!error)
		error = find_spaces(conf, spaces, err);
	if (error)
		return error;
	ports = list_ports(conf);
	if (!ports)
		return err_set(err, -ENOMEM, "out of memory");
	find_limits(app);
	options.limits = app->limits;
	options.ports = ports;
	error = agent_dp_open(&options, &app->dp, err);
	free(ports);
	return error;
}

/*
 * Keeps the neighbours known through which packets were handed on: the program can ask for what the
 * kernel knows, but not make it look. A datagram without content makes it.
 */
static void on_onwards(uv_timer_t *timer)
{
	struct agent_app *app = timer->data;
	struct addr others[AGENT_OTHERS];
	size_t count = agent_dp_others(app->dp, others, AGENT_OTHERS);

	for (size_t i = 0; i < count; i++)
		host_nudge(&others[i]);
}

static void warn_of_space(const struct host_space *space)
{
	event_note(&(struct event_about){"config", 0, LOG_WARN, NULL},
		   "connections in a network namespace are not counted", "netns=%s reason=%s",
		   space->name, log_quote(space->err.text).text);
}

/* One that was made anew would live on by our socket. */
static void look_at_spaces(struct agent_app *app)
{
	for (size_t i = 0; i < app->conf->netns_count; i++) {
		struct host_space *space = &app->spaces[i];
		bool was_open = space->fd >= 0;

		host_space_look(space);
		if (was_open && space->fd < 0)
			warn_of_space(space);
	}
}

/* A balancer sends what the file does not list: its service serves nobody here. */
static void on_hint(uv_timer_t *timer)
{
	struct agent_app *app = timer->data;
	uint64_t now = agent_dp_verdict_count(app->dp, AGENT_MODE_OFF).packets;
	bool quiet = time_now_ms() < app->hint_quiet_ms;

	look_at_spaces(app);
	uv_timer_start(timer, on_hint, HINT_MS, 0);
	if (quiet)
		return;
	if (now != app->modes_off) {
		app->hint_quiet_ms = time_now_ms() + HINT_QUIET_MS;
		log_warn("packets come in a mode that is not taken in, and are left to the host",
			 "packets=%llu key=forward", (unsigned long long)(now - app->modes_off));
	}
	app->modes_off = now;
}

/* What was set for the old interface went with it. */
static int reattach(void *arg, size_t at, struct err *err)
{
	struct agent_app *app = arg;
	int error = agent_dp_reattach(app->dp, at, err);

	if (!error)
		daemon_log_attached(&agent_dp_links(app->dp)->attached[at]);
	if (!error && agent_host_apply_settings(&app->state, err))
		log_warn("the new interface is not set up", "reason=%s", log_quote(err->text).text);
	return error;
}

static int attach_all(struct agent_app *app, struct err *err)
{
	const struct conf_agent *conf = app->conf;
	const char *names[LINKS_MAX];
	int error = links_order(agent_dp_links(app->dp), conf->interfaces, conf->interface_count,
				names, err);

	if (error)
		return error;
	for (size_t i = 0; i < conf->interface_count; i++) {
		error = agent_dp_attach(app->dp, names[i], daemon_xdp(conf->xdp), err);
		if (error)
			return error;
		daemon_log_attached(&agent_dp_links(app->dp)->attached[i]);
	}
	event_note(&(struct event_about){"config", 0, LOG_INFO, NULL}, "SYN-ACKs are clamped",
		   "path_mtu=%u mss4=%u mss6=%u", app->path_mtu, app->limits.mss4,
		   app->limits.mss6);
	links_detach_others(agent_dp_links(app->dp));
	return agent_dp_keep_ports(app->dp, conf->vips, conf->vip_count, err);
}

/* A file that says nothing sensible must not keep a backend from serving. */
static void read_state(struct agent_app *app)
{
	struct err err;

	agent_state_path(&app->daemon.instance, app->state_path);
	if (agent_state_read(app->state_path, &app->state, &err))
		log_warn("what an earlier agent changed is not known, and will stay", "reason=%s",
			 log_quote(err.text).text);
	app->adopted = app->state.interface_count > 0;
	if (app->adopted)
		event_note(&(struct event_about){"daemon", 0, LOG_INFO, NULL},
			   "found an earlier agent's work", "file=%s", app->state_path);
}

static int start(struct agent_app *app, struct err *err)
{
	int error = open_programs(app, err);

	if (!error)
		error = agent_host_plan(app->conf, &app->state, err);
	if (!error)
		error = agent_state_write(app->state_path, &app->state, err);
	if (!error)
		error = agent_host_apply_settings(&app->state, err);
	if (!error)
		error = attach_all(app, err);
	if (!error)
		error = agent_host_apply_vips(&app->state, err);
	if (error)
		return error;
	agent_host_release_others(app->conf, &app->state);
	error = agent_state_write(app->state_path, &app->state, err);
	if (error)
		return error;
	uv_timer_start(&app->hint, on_hint, HINT_MS, 0);
	for (size_t i = 0; i < app->conf->netns_count; i++) {
		if (app->spaces[i].fd < 0)
			warn_of_space(&app->spaces[i]);
	}
	if (app->conf->peer_count)
		uv_timer_start(&app->onwards, on_onwards, ONWARDS_MS, ONWARDS_MS);
	daemon_watch(&app->daemon, agent_dp_links(app->dp), reattach, app);
	error = daemon_listen(&app->daemon, agent_app_report, NULL, app, err);
	return error ? error : agent_metrics_open(app, err);
}

/* --- end --- */

/* What this start did not get hold of may serve another: its tc program must stay. */
static void forget_unattached(struct agent_app *app)
{
	for (size_t i = app->state.interface_count; i-- > 0;) {
		const char *name = app->state.interfaces[i].name;

		if (!app->dp || !links_find(agent_dp_links(app->dp), name))
			agent_state_drop_interface(&app->state, i);
	}
}

/* What this start attached beside what its predecessor had. */
static void release_new(struct agent_app *app)
{
	struct err err;

	for (size_t i = app->state.interface_count; app->dp && i-- > 0;) {
		const struct link_attached *attached =
			links_find(agent_dp_links(app->dp), app->state.interfaces[i].name);

		if (!attached || attached->adopted)
			continue;
		agent_host_release(&app->state.interfaces[i]);
		agent_state_drop_interface(&app->state, i);
	}
	if (app->dp)
		links_detach_new(agent_dp_links(app->dp));
	if (agent_state_write(app->state_path, &app->state, &err))
		log_warn("the state file is behind", "reason=%s", log_quote(err.text).text);
}

/* After a failed start that would have taken over, the predecessor's work stays as it is; and ours
 * before a restart. */
static void undo(struct agent_app *app, bool failed, bool again)
{
	if (failed && !app->adopted)
		forget_unattached(app);
	if (failed && app->adopted) {
		release_new(app);
	} else if (!again) {
		agent_host_undo(&app->state);
		if (app->dp)
			agent_dp_teardown(app->dp);
		unlink(app->state_path);
	}
	uv_close((uv_handle_t *)&app->hint, NULL);
	uv_close((uv_handle_t *)&app->onwards, NULL);
	if (app->dp)
		agent_dp_close(app->dp);
	agent_state_fini(&app->state);
}

static int lock_namespace(struct agent_app *app, struct err *err)
{
	struct err why;
	int error = instance_init_namespace(&app->namespace, &why);

	if (!error)
		error = instance_lock(&app->namespace, &why);
	if (!error)
		return 0;
	return err_set(err, error, "%s%s",
		       error == -EBUSY ? "another agent is in this network namespace: " : "",
		       why.text);
}

int agent_app_run(const struct conf_agent *conf, const char *file, bool *ret_again, struct err *err)
{
	struct agent_app app = {.conf = conf};
	enum daemon_end end = DAEMON_STOP;
	const struct privileges_files files = {.first = file};
	/* While it may. */
	int error = host_spaces_open(conf->netns, conf->netns_count, app.spaces, err);

	if (!error)
		error = daemon_open(&app.daemon, PRIVILEGES_AGENT, conf->name, &files, err);
	if (error)
		return error;
	error = lock_namespace(&app, err);
	if (error) {
		daemon_close(&app.daemon);
		return error;
	}
	uv_timer_init(&app.daemon.loop, &app.hint);
	app.hint.data = &app;
	uv_timer_init(&app.daemon.loop, &app.onwards);
	app.onwards.data = &app;
	read_state(&app);
	error = start(&app, err);
	if (!error) {
		event_note(&(struct event_about){"daemon", 0, LOG_INFO, NULL}, "running",
			   "agent=%s file=%s vips=%zu balancers=%zu", conf->name,
			   log_quote(file).text, conf->vip_count, conf->balancer_count);
		end = daemon_run(&app.daemon);
	}
	*ret_again = daemon_calls_again(&app.daemon);
	agent_metrics_close(&app);
	if (*ret_again)
		host_spaces_hand_over(app.spaces, conf->netns_count);
	else
		host_spaces_close(app.spaces, conf->netns_count);
	undo(&app, error != 0, end == DAEMON_RESTART);
	daemon_let_go(&app.daemon, &app.namespace);
	daemon_close(&app.daemon);
	if (!error && end == DAEMON_STOP)
		log_info("stopped", "agent=%s", conf->name);
	return error;
}
