/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/live/steps.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "conf/conf.h"
#include "flow/flow.h"
#include "pkt/parse.h"
#include "tunnel/mode.h"
#include "weir/show.h"

/* --- small things --- */

static json_t *name_or_null(struct name_text text)
{
	return text.text[0] ? json_string(text.text) : json_null();
}

static json_t *json_addr(const struct pkt_addr *addr)
{
	struct addr back = dp_addr_back(addr);
	char text[ADDR_TEXT_MAX];

	return json_string(addr_format(&back, text));
}

static json_t *json_mac(const uint8_t mac[6])
{
	return json_sprintf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
			    mac[5]);
}

static const struct pkt *packet_of(const struct steps *why)
{
	return native_packet(live_native(why->live));
}

static const struct abi_service *service_of(const struct steps *why)
{
	uint32_t record = why->result->trace.service;

	return record && record < ABI_SERVICES ? &live_tables(why->live)->services[record] : NULL;
}

static const struct abi_backend *backend_of(const struct steps *why)
{
	uint32_t record = why->result->trace.backend;

	return record && record < ABI_BACKENDS ? &live_tables(why->live)->backends[record] : NULL;
}

/* --- whose it is --- */

static json_t *json_listen(uint64_t listen)
{
	uint16_t first = (uint16_t)listen, last = (uint16_t)(listen >> 16);
	uint8_t proto = (uint8_t)(listen >> 32);
	const char *text = proto == IPPROTO_TCP ? "tcp" : proto == IPPROTO_UDP ? "udp" : NULL;

	if (proto == ABI_PROTO_ANY)
		return json_string("any");
	if (!text)
		return json_sprintf("protocol %u", proto);
	if (first == last)
		return json_sprintf("%s/%u", text, first);
	return json_sprintf("%s/%u-%u", text, first, last);
}

/* Null where the destination is no VIP; `listens` is all that it has. */
static json_t *json_vip(const struct steps *why)
{
	const struct pkt *pkt = packet_of(why);
	const struct abi_vip *vip;
	json_t *listens;

	if (why->result->trace.verdict == VERDICT_NOT_IP || !pkt->version)
		return json_null();
	vip = native_vip(live_native(why->live), pkt);
	if (!vip || !vip->listens[0])
		return json_null();
	listens = json_array();
	for (size_t i = 0; i < ABI_VIP_LISTENS && vip->listens[i]; i++)
		json_array_append_new(listens, json_listen(vip->listens[i]));
	return json_pack("{s:o, s:b, s:o}", "address", json_addr(&pkt->dst), "by_prefix",
			 !pkt_addr_equal(&vip->addr, &pkt->dst), "listens", listens);
}

static json_t *json_access(const struct steps *why)
{
	static const char *const answers[] = {"nothing", "allow", "deny"};
	uint32_t answer;

	if (!(service_of(why)->flags & ABI_SERVICE_ACCESS))
		return json_null();
	answer = native_access(live_native(why->live), packet_of(why));
	return json_string(answers[answer <= ABI_ACCESS_DENY ? answer : 0]);
}

static json_t *json_rate(const struct steps *why)
{
	const struct abi_service *service = service_of(why);
	struct live_rate rate;

	if (!(service->flags & ABI_SERVICE_RATE) || !service->rate_gap)
		return json_null();
	rate = live_rate(why->live, why->result->trace.service, why->now_ns);
	return json_pack("{s:I, s:i, s:i}", "a_second_and_core",
			 (json_int_t)((TIME_SECOND_NS << 8) / service->rate_gap), "cores",
			 (int)rate.cores, "refusing", (int)rate.refusing);
}

/* --- who gets it --- */

static const char *key_of(const struct abi_service *service)
{
	static const char *const keys[] = {
		[ABI_POLICY_SOURCE] = "source",
		[ABI_POLICY_2TUPLE] = "source, destination",
		[ABI_POLICY_3TUPLE] = "source, destination, protocol",
		[ABI_POLICY_4TUPLE] = "source, destination and port, protocol",
		[ABI_POLICY_5TUPLE] = "source and port, destination and port, protocol",
		[ABI_POLICY_SOURCE_PREFIX] = "the source's prefix",
		[ABI_POLICY_FLOW_LABEL] = "source, destination, flow label; without one, all five",
		[ABI_POLICY_QUIC_CID] = "the server that a connection id names; else all five",
	};
	uint8_t policy = service->flags & ABI_SERVICE_POLICY ? service->policy : ABI_POLICY_5TUPLE;

	return policy < sizeof(keys) / sizeof(keys[0]) ? keys[policy] : "unknown";
}

static json_t *json_policy(const struct steps *why)
{
	const struct abi_service *service = service_of(why);
	uint8_t policy = service->flags & ABI_SERVICE_POLICY ? service->policy : ABI_POLICY_5TUPLE;
	uint64_t hash = native_policy_hash(live_native(why->live), packet_of(why));

	return json_pack("{s:s, s:s, s:o}", "name", conf_policy_name((enum conf_policy)policy),
			 "key", key_of(service), "hash",
			 json_sprintf("%016llx", (unsigned long long)hash));
}

static json_t *json_slot(const struct steps *why)
{
	uint64_t table = service_of(why)->table;
	uint32_t first = (uint32_t)table, size = (uint32_t)(table >> 32);
	uint32_t slot = why->result->trace.slot;
	uint64_t word;

	if (slot >= size || (uint64_t)first + size > ABI_SLOTS)
		return json_null();
	word = live_tables(why->live)->slots[first + slot];
	return json_pack(
		"{s:i, s:i, s:o, s:o, s:o, s:b, s:b, s:b}", "number", (int)slot, "of", (int)size,
		"owner", name_or_null(names_backend(why->names, abi_slot_current(word))),
		"previous", name_or_null(names_backend(why->names, abi_slot_previous(word))),
		"other", name_or_null(names_backend(why->names, abi_slot_other(word))),
		"in_transition", (word & ABI_SLOT_TRANSITION) != 0, "late",
		(word & ABI_SLOT_LATE) != 0, "in_doubt",
		(word & (ABI_SLOT_DOUBT | ABI_SLOT_ASK)) != 0);
}

static double seconds_of(uint32_t ticks)
{
	return (double)((uint64_t)ticks << ABI_TICK_SHIFT) / (double)TIME_SECOND_NS;
}

/* Null: there is none. */
static json_t *json_flow(const struct steps *why)
{
	static const char *const states[] = {
		[FLOW_NONE] = "none",
		[FLOW_HANDSHAKE] = "handshake",
		[FLOW_ESTABLISHED] = "established",
		[FLOW_FIN] = "closing",
		[FLOW_RST] = "reset",
		[FLOW_UDP] = "udp",
		[FLOW_FRAGMENT] = "fragments",
		[FLOW_BACKUP] = "backup",
	};
	const struct abi_node *node = live_tables(why->live)->node;
	uint32_t age, limit;
	struct flow flow;
	bool holds = native_flow(live_native(why->live), packet_of(why), &flow);

	if (!flow.pin)
		return json_null();
	/* An age is counted one tick too high (flow.h). */
	age = flow_pin_age(flow.pin, flow.tick) - 1;
	limit = flow_limit_ticks(node, flow_pin_state(flow.pin));
	if (age > FLOW_TIME_MASK)
		age = 0;
	return json_pack("{s:s, s:o, s:b, s:f, s:f}", "state", states[flow_pin_state(flow.pin)],
			 "backend",
			 name_or_null(names_backend(why->names, flow_pin_backend(flow.pin))),
			 "decides", holds, "age_s", seconds_of(age), "left_s",
			 seconds_of(age < limit ? limit - age : 0));
}

static json_t *json_backend(const struct steps *why)
{
	const struct abi_backend *backend = backend_of(why);

	if (!backend)
		return json_null();
	return json_pack("{s:o, s:o, s:b, s:b, s:b}", "name",
			 name_or_null(names_backend(why->names, why->result->trace.backend)),
			 "address", json_addr(&backend->addr), "healthy",
			 (backend->flags & ABI_BACKEND_HEALTHY) != 0, "takes_new_flows",
			 (backend->flags & ABI_BACKEND_UP) != 0, "keeps_flows",
			 (backend->flags & ABI_BACKEND_KEEP) != 0);
}

/* --- how it gets there --- */

static json_t *json_size(const struct steps *why)
{
	const struct abi_backend *backend = backend_of(why);
	const struct pkt *pkt = packet_of(why);
	uint32_t added;

	if (!backend)
		return json_null();
	added = tunnel_mode_overhead(service_of(why)->mode, pkt_addr_is4(&backend->addr),
				     pkt->version == 4);
	return json_pack("{s:i, s:i, s:i, s:b}", "packet", (int)pkt->length, "added", (int)added,
			 "mtu", (int)backend->mtu, "fits", pkt->length + added <= backend->mtu);
}

static const char *mode_name(uint8_t mode)
{
	static const char *const modes[TUNNEL_MODES] = {
		[TUNNEL_IPIP] = "ipip",   [TUNNEL_GRE] = "gre",       [TUNNEL_GUE] = "gue",
		[TUNNEL_L2DSR] = "l2dsr", [TUNNEL_GENEVE] = "geneve", [TUNNEL_IPOPT] = "ipopt",
		[TUNNEL_GUE0] = "gue",
	};

	return modes[mode % TUNNEL_MODES];
}

/* The frame's IP header as it leaves, where something stands around the packet; else null. */
static json_t *json_outer(const struct steps *why)
{
	uint8_t *frame = (uint8_t *)why->out; /* parsing writes nothing */
	struct pkt_ctx ctx = {frame, frame, frame + why->result->length, 0};
	uint8_t mode = service_of(why)->mode;
	struct pkt pkt = {0};
	json_t *object;

	if (mode == TUNNEL_L2DSR || mode == TUNNEL_IPOPT ||
	    (why->result->trace.verdict != VERDICT_FORWARDED &&
	     why->result->trace.verdict != VERDICT_REDIRECTED))
		return json_null();
	ctx.data += pkt_vlan_count(&ctx) * PKT_VLAN_TAG;
	if (pkt_parse_ip(&ctx, &pkt) != PKT_PARSED)
		return json_null();
	object = json_pack("{s:o, s:o, s:i}", "source", json_addr(&pkt.src), "destination",
			   json_addr(&pkt.dst), "protocol", (int)pkt.proto);
	if (pkt.proto == IPPROTO_UDP && pkt_parse_l4(&ctx, &pkt) == PKT_PARSED) {
		json_object_set_new(object, "source_port", json_integer(PKT_HOST16(pkt.sport)));
		json_object_set_new(object, "port", json_integer(PKT_HOST16(pkt.dport)));
	}
	return object;
}

static json_t *json_next_hop(const struct steps *why)
{
	const struct abi_backend *backend = backend_of(why);

	if (!backend || !(backend->flags & ABI_BACKEND_NEIGH))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:b, s:b}", "interface",
			 name_or_null(names_interface(why->names, backend->ifindex)), "mac",
			 json_mac(backend->dst_mac), "own_mac", json_mac(backend->src_mac),
			 "is_backend", (backend->flags & ABI_BACKEND_LINK) != 0, "tagged",
			 (backend->flags & ABI_BACKEND_TAGGED) != 0);
}

/* --- all of it --- */

static json_t *json_out(const struct steps *why)
{
	static const char digits[] = "0123456789abcdef";
	json_t *list = json_array();
	char *text;

	if (!dp_action_leaves(why->result->action))
		return list;
	text = malloc(2 * why->result->length + 1);
	if (!text)
		return list;
	for (size_t i = 0; i < why->result->length; i++) {
		text[2 * i] = digits[why->out[i] >> 4];
		text[2 * i + 1] = digits[why->out[i] & 15];
	}
	json_array_append_new(list, json_stringn(text, 2 * why->result->length));
	free(text);
	return list;
}

/* Steps that were not reached, or are not the service's, are null. */
static void add_steps(const struct steps *why, json_t *object)
{
	json_object_set_new(object, "vip", json_vip(why));
	if (!service_of(why))
		return;
	json_object_set_new(object, "access", json_access(why));
	json_object_set_new(object, "rate", json_rate(why));
	json_object_set_new(object, "policy", json_policy(why));
	json_object_set_new(object, "slot", json_slot(why));
	json_object_set_new(object, "flow", json_flow(why));
	json_object_set_new(object, "chosen", json_backend(why));
	json_object_set_new(object, "mode", json_string(mode_name(service_of(why)->mode)));
	json_object_set_new(object, "size", json_size(why));
	json_object_set_new(object, "outer", json_outer(why));
	json_object_set_new(object, "next_hop", json_next_hop(why));
}

json_t *steps_json(const struct steps *why)
{
	const struct abi_trace *trace = &why->result->trace;
	json_t *object = json_pack(
		"{s:s, s:s, s:o, s:o, s:s, s:o, s:s, s:s, s:I, s:s}", "verdict",
		show_verdict(trace->verdict).text, "action", dp_action_name(why->result->action),
		"service", name_or_null(names_service(why->names, trace->service)), "backend",
		name_or_null(names_backend(why->names, trace->backend)), "why",
		show_why(trace->why).text, "out", json_out(why), "help",
		show_verdict_help(trace->verdict), "packet", why->packet, "length",
		(json_int_t)why->length, "interface", live_link(why->live)->interface);

	add_steps(why, object);
	return object;
}
