/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of `weir trace` on a live node: a line a step, of those that there were. */
#include <stdarg.h>
#include <stdio.h>

#include "weir/answer.h"
#include "weir/live/steps.h"

static const char *text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* "nobody" for null. */
static const char *who(const json_t *object, const char *key)
{
	const char *name = text(object, key);

	return name ? name : "nobody";
}

__attribute__((format(printf, 2, 3))) static void line(const char *step, const char *format, ...)
{
	va_list args;

	printf("   %-9s ", step);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static void print_vip(const json_t *vip)
{
	const json_t *listen;
	size_t i;

	if (!json_is_object(vip)) {
		line("VIP", "none: the destination is not one");
		return;
	}
	printf("   %-9s %s%s, listens on", "VIP", text(vip, "address"),
	       answer_is(vip, "by_prefix") ? " by its prefix" : "");
	json_array_foreach(json_object_get(vip, "listens"), i, listen)
		printf(" %s", json_string_value(listen));
	putchar('\n');
}

static void print_special(const json_t *why)
{
	const json_t *rate = json_object_get(why, "rate");
	const char *access = text(why, "access");

	if (access)
		line("access", "the list says %s of the source", access);
	if (json_is_object(rate))
		line("rate", "%lld a second and core; %lld of %lld cores refuse now",
		     answer_number(rate, "a_second_and_core"), answer_number(rate, "refusing"),
		     answer_number(rate, "cores"));
}

static void print_slot(const json_t *why)
{
	const json_t *policy = json_object_get(why, "policy"), *slot = json_object_get(why, "slot");

	line("policy", "%s: %s; hash %s", text(policy, "name"), text(policy, "key"),
	     text(policy, "hash"));
	if (!json_is_object(slot)) {
		line("slot", "none: the pool has no table");
		return;
	}
	line("slot", "%lld of %lld: owner %s, before %s, else %s; %s%s",
	     answer_number(slot, "number"), answer_number(slot, "of"), who(slot, "owner"),
	     who(slot, "previous"), who(slot, "other"),
	     answer_is(slot, "in_transition") ? "in transition" : "settled",
	     answer_is(slot, "in_doubt") ? ", other nodes may know more of its flows" : "");
}

static void print_flow(const json_t *why)
{
	const json_t *flow = json_object_get(why, "flow");

	if (!json_is_object(flow))
		line("flow", "has no entry");
	else
		line("flow", "%s at %s, seen %.0f s ago, %.0f s left%s", text(flow, "state"),
		     who(flow, "backend"), json_real_value(json_object_get(flow, "age_s")),
		     json_real_value(json_object_get(flow, "left_s")),
		     answer_is(flow, "decides") ? "" : "; it does not decide about this packet");
}

static void print_backend(const json_t *why)
{
	const json_t *chosen = json_object_get(why, "chosen");

	if (!json_is_object(chosen)) {
		line("backend", "nobody (%s)", text(why, "why"));
		return;
	}
	line("backend", "%s, %s, by %s: %s, %s, %s", who(chosen, "name"), text(chosen, "address"),
	     text(why, "why"), answer_is(chosen, "healthy") ? "healthy" : "not healthy",
	     answer_is(chosen, "takes_new_flows") ? "takes new flows" : "takes no new flows",
	     answer_is(chosen, "keeps_flows") ? "keeps flows" : "keeps no flows");
}

static void print_sending(const json_t *why)
{
	const json_t *size = json_object_get(why, "size");
	const json_t *outer = json_object_get(why, "outer");
	const json_t *hop = json_object_get(why, "next_hop");

	if (json_is_object(size))
		line("size", "%lld and %lld of %s, MTU %lld: %s", answer_number(size, "packet"),
		     answer_number(size, "added"), text(why, "mode"), answer_number(size, "mtu"),
		     answer_is(size, "fits") ? "fits" : "TOO BIG");
	if (json_is_object(outer) && json_object_get(outer, "port"))
		line("mode", "%s, from %s port %lld to %s port %lld", text(why, "mode"),
		     text(outer, "source"), answer_number(outer, "source_port"),
		     text(outer, "destination"), answer_number(outer, "port"));
	else if (json_is_object(outer))
		line("mode", "%s, from %s to %s, protocol %lld", text(why, "mode"),
		     text(outer, "source"), text(outer, "destination"),
		     answer_number(outer, "protocol"));
	else
		line("mode", "%s", text(why, "mode"));
	if (json_is_object(hop))
		line("next hop", "%s of %s, out at %s%s", text(hop, "mac"),
		     answer_is(hop, "is_backend") ? "the backend" : "a router",
		     who(hop, "interface"), answer_is(hop, "tagged") ? ", with VLAN tags" : "");
	else if (json_is_object(json_object_get(why, "chosen")))
		line("next hop", "not known");
}

void steps_print(uint64_t packet, const json_t *why)
{
	printf("%llu: %lld bytes, %s: %s (%s), %s\n", (unsigned long long)packet,
	       answer_number(why, "length"), text(why, "packet"), text(why, "verdict"),
	       text(why, "action"), text(why, "help"));
	print_vip(json_object_get(why, "vip"));
	if (!text(why, "service"))
		return;
	line("service", "%s", text(why, "service"));
	print_special(why);
	print_slot(why);
	print_flow(why);
	print_backend(why);
	print_sending(why);
}
