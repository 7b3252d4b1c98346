/* SPDX-License-Identifier: BSD-2-Clause */
#include <unistd.h>

#include "base/time.h"
#include "weir/agent/app.h"
#include "weir/agent/app_state.h"
#include "weir/figures/agent.h"
#include "weir/show.h"

static const char *const verdict_names[] = {
#define NAME(name, action, help) #name,
	AGENT_VERDICTS(NAME)
#undef NAME
};

static const char *const clamp_names[] = {
#define NAME(name, help) #name,
	AGENT_CLAMPS(NAME)
#undef NAME
};

json_t *agent_app_report(void *arg)
{
	struct agent_app *app = arg;
	const struct conf_agent *conf = app->conf;
	json_t *verdicts = json_object(), *clamps = json_object();

	for (int i = 0; i < AGENT_VERDICT_COUNT; i++)
		json_object_set_new(
			verdicts, show_label(verdict_names[i]).text,
			show_count(agent_dp_verdict_count(app->dp, (enum agent_verdict)i)));
	for (int i = 0; i < AGENT_CLAMP_COUNT; i++)
		json_object_set_new(clamps, show_label(clamp_names[i]).text,
				    show_count(agent_dp_clamp_count(app->dp, (enum agent_clamp)i)));
	return json_pack(
		"{s:s, s:s, s:i, s:f, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:{s:i, s:i}, s:o, "
		"s:o, s:o, s:o, s:o, s:o, s:o}",
		"agent", conf->name, "version", WEIR_VERSION, "pid", (int)getpid(), "uptime_s",
		time_since_s(app->daemon.started_ns), "adopted", app->adopted, "file",
		show_bytes(app->daemon.file), "interfaces", show_links(agent_dp_links(app->dp)),
		"vips", show_vips(conf->vips, conf->vip_count), "balancers",
		show_prefixes(conf->balancers, conf->balancer_count), "peers",
		show_prefixes(conf->peers, conf->peer_count), "netns",
		show_strings(conf->netns, conf->netns_count), "path_mtu", (int)app->path_mtu, "mss",
		"ipv4", app->limits.mss4, "ipv6", app->limits.mss6, "forward",
		show_forwards(conf->forward, conf->forward_count), "ports",
		show_ports(conf->ports, conf->port_count), "answers_from_vip_port",
		show_count(agent_dp_port_count(app->dp)), "verdicts", verdicts, "syn_acks", clamps,
		"connections", agent_connections_report(app), "admin",
		exporter_report(app->exporter));
}
