/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <unistd.h>

#include "base/time.h"
#include "weir/agent/app.h"
#include "weir/agent/app_state.h"

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

static const char *const mode_names[] = {
	[LINK_XDP_NATIVE] = "native",
	[LINK_XDP_GENERIC] = "generic",
	[LINK_XDP_AUTO] = "auto",
};

static void add_count(json_t *object, const char *name, struct abi_count count)
{
	char lower[32];
	size_t i;

	for (i = 0; name[i] && i + 1 < sizeof(lower); i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	lower[i] = '\0';
	json_object_set_new(object, lower,
			    json_pack("{s:I, s:I}", "packets", (json_int_t)count.packets, "bytes",
				      (json_int_t)count.bytes));
}

static json_t *report_interfaces(const struct agent_app *app)
{
	const struct links *links = agent_dp_links(app->dp);
	json_t *list = json_array();

	for (size_t i = 0; i < links->count; i++) {
		const struct link_attached *attached = &links->attached[i];
		bool fell_back = attached->wanted == LINK_XDP_AUTO &&
				 attached->mode == LINK_XDP_GENERIC;

		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:b, s:b, s:s}", "name",
						      attached->interface, "xdp",
						      mode_names[attached->mode], "wanted",
						      mode_names[attached->wanted], "fallback",
						      fell_back, "adopted", attached->adopted,
						      "why", attached->why));
	}
	return list;
}

json_t *agent_app_report(const struct agent_app *app)
{
	json_t *vips = json_array(), *balancers = json_array();
	json_t *verdicts = json_object(), *clamps = json_object();
	char text[ADDR_TEXT_MAX];

	for (size_t i = 0; i < app->conf->vip_count; i++)
		json_array_append_new(vips, json_string(addr_format(&app->conf->vips[i], text)));
	for (size_t i = 0; i < app->conf->balancer_count; i++)
		json_array_append_new(balancers,
				      json_string(prefix_format(&app->conf->balancers[i], text)));
	for (int i = 0; i < AGENT_VERDICT_COUNT; i++)
		add_count(verdicts, verdict_names[i],
			  agent_dp_verdict_count(app->dp, (enum agent_verdict)i));
	for (int i = 0; i < AGENT_CLAMP_COUNT; i++)
		add_count(clamps, clamp_names[i],
			  agent_dp_clamp_count(app->dp, (enum agent_clamp)i));
	return json_pack(
		"{s:s, s:s, s:i, s:f, s:b, s:s, s:o, s:o, s:o, s:i, s:{s:i, s:i}, s:o, s:o}",
		"agent", app->conf->name, "version", WEIR_VERSION, "pid", (int)getpid(), "uptime_s",
		(double)(time_now_ns() - app->started_ns) / (double)TIME_SECOND_NS, "adopted",
		app->adopted, "file", app->file, "interfaces", report_interfaces(app), "vips", vips,
		"balancers", balancers, "path_mtu", (int)app->path_mtu, "mss", "ipv4",
		app->limits.mss4, "ipv6", app->limits.mss6, "verdicts", verdicts, "syn_acks",
		clamps);
}
