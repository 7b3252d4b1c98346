/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/time.h"
#include "weir/node/announcer_state.h"

/* Seconds since a time of the wall's clock, which may have been set back; null: never. */
static json_t *since(uint64_t wall_ms)
{
	uint64_t now = time_wall_ms();

	if (!wall_ms)
		return json_null();
	return json_real(wall_ms < now ? (double)(now - wall_ms) / 1e3 : 0.0);
}

json_t *announcer_report_vip(const struct announcer *announcer, size_t at)
{
	const struct policy_vip *vip = policy_vip(announcer->policy, at);
	const struct withdrawal *by_hand = by_hand_find(&announcer->by_hand, &vip->prefix);
	const struct told *told = &announcer->told[at];
	char text[ADDR_TEXT_MAX], why[POLICY_WHY_MAX];
	json_t *services = json_array();

	for (size_t i = 0; i < vip->service_count; i++)
		json_array_append_new(
			services,
			json_string(announcer->app->conf->services[vip->services[i]].name));
	return json_pack("{s:s, s:b, s:s, s:f, s:o, s:o, s:s}", "vip",
			 prefix_format_short(&vip->prefix, text), "announced", told->there, "why",
			 policy_why(announcer->policy, at, why), "since_s",
			 (double)(time_now_ms() - vip->since_ms) / 1e3, "services", services,
			 "withdrawn_since_s", since(by_hand ? by_hand->since_ms : 0), "error",
			 told->failed ? told->error : "");
}

static json_t *report_drain(const struct announcer *announcer)
{
	const struct drain *drain = &announcer->drain;

	if (drain->phase == DRAIN_NONE)
		return json_null();
	/* Agents cannot tell by which node a connection comes. */
	return json_pack("{s:s, s:f, s:o, s:f, s:s}", "phase", drain_phase_name(drain->phase),
			 "phase_s", (double)(time_now_ms() - drain->since_ms) / 1e3, "since_s",
			 since(announcer->by_hand.drain_since_ms), "packets_per_s", drain->rate,
			 "judged_by", "packets");
}

/* But for the VIPs, of which there may be many. */
json_t *announcer_report_node(const struct app *app)
{
	const struct announcer *announcer = app->announcer;
	json_t *object;

	if (!announcer)
		return json_null();
	object = json_pack("{s:s, s:b, s:o, s:o}", "via",
			   announcer->routers ? "bgp" : "kernel-route", "complete",
			   announcer->ready, "drain", report_drain(announcer),
			   "all_withdrawn_since_s", since(announcer->by_hand.all_since_ms));
	if (announcer->routers)
		json_object_set_new(object, "bgp", routers_report(announcer->routers));
	else
		json_object_set_new(object, "table", json_integer(announcer->table));
	return object;
}

json_t *announcer_report(const struct app *app)
{
	const struct announcer *announcer = app->announcer;
	json_t *object = announcer_report_node(app), *vips;

	if (!announcer)
		return object;
	vips = json_array();
	for (size_t i = 0; i < announcer->told_count; i++)
		json_array_append_new(vips, announcer_report_vip(announcer, i));
	json_object_set_new(object, "vips", vips);
	return object;
}
