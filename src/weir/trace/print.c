/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/trace/print.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/addr.h"
#include "pkt/parse.h"
#include "pkt/vlan.h"
#include "tunnel/mode.h"
#include "weir/show.h"

int trace_names_init(struct trace_names *names, const struct balancer *balancer,
		     const struct dp_tables *tables)
{
	const struct conf *conf = balancer_conf(balancer);

	names->tables = tables;
	names->services = calloc(ABI_SERVICES, sizeof(*names->services));
	names->backends = calloc(ABI_BACKENDS, sizeof(*names->backends));
	if (!names->services || !names->backends)
		return -ENOMEM;
	for (size_t s = 0; s < conf->service_count; s++)
		names->services[balancer_service_record(balancer, s)] = conf->services[s].name;
	for (size_t p = 0; p < conf->pool_count; p++) {
		for (size_t m = 0; m < conf->pools[p].backend_count; m++)
			names->backends[balancer_backend_record(balancer, p, m)] =
				conf->pools[p].backends[m].name;
	}
	return 0;
}

void trace_names_fini(struct trace_names *names)
{
	free(names->services);
	free(names->backends);
}

static const char *service_name(const struct trace_names *names, uint32_t record)
{
	return record && record < ABI_SERVICES ? names->services[record] : NULL;
}

static const char *backend_name(const struct trace_names *names, uint32_t record)
{
	return record && record < ABI_BACKENDS ? names->backends[record] : NULL;
}

/* --- JSON --- */

/* Names hold nothing to escape (conf.h). */
static void print_json_name(const char *key, const char *value)
{
	if (value)
		printf("\"%s\": \"%s\", ", key, value);
	else
		printf("\"%s\": null, ", key);
}

static void print_hex(const uint8_t *bytes, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	char text[512];
	size_t used = 0;

	for (size_t i = 0; i < length; i++) {
		text[used++] = digits[bytes[i] >> 4];
		text[used++] = digits[bytes[i] & 15];
		if (used == sizeof(text) || i + 1 == length) {
			fwrite(text, 1, used, stdout);
			used = 0;
		}
	}
}

void trace_print_json(const struct trace_names *names, const struct trace_packet *packet)
{
	const struct abi_trace *trace = &packet->result->trace;

	putchar('{');
	print_json_name("verdict", show_verdict(trace->verdict).text);
	print_json_name("action", dp_action_name(packet->result->action));
	print_json_name("service", service_name(names, trace->service));
	print_json_name("backend", backend_name(names, trace->backend));
	print_json_name("why", show_why(trace->why).text);
	fputs("\"out\": [", stdout);
	if (dp_action_leaves(packet->result->action)) {
		putchar('"');
		print_hex(packet->out, packet->result->length);
		putchar('"');
	}
	puts("]}");
}

void trace_print_refused_json(const char *problem)
{
	printf("{\"verdict\": null, \"action\": null, \"service\": null, \"backend\": null, "
	       "\"why\": null, \"out\": [], \"error\": \"%s\"}\n",
	       problem);
}

/* --- words --- */

void trace_packet_describe(struct trace_packet *packet, uint8_t *frame, size_t length)
{
	struct pkt_ctx ctx = {.head = frame, .data = frame, .data_end = frame + length};
	char src_text[ADDR_TEXT_MAX], dst_text[ADDR_TEXT_MAX];
	struct pkt pkt = {0};
	struct addr src, dst;
	bool ports;

	/* Past the tags: where the addresses would be does not matter here. */
	ctx.data += pkt_vlan_count(&ctx) * PKT_VLAN_TAG;
	if (pkt_parse_ip(&ctx, &pkt) != PKT_PARSED) {
		snprintf(packet->text, sizeof(packet->text), "no whole IP packet");
		return;
	}
	src = dp_addr_back(&pkt.src);
	dst = dp_addr_back(&pkt.dst);
	addr_format(&src, src_text);
	addr_format(&dst, dst_text);
	ports = (pkt.proto == IPPROTO_TCP || pkt.proto == IPPROTO_UDP) && !pkt.fragment &&
		pkt_parse_l4(&ctx, &pkt) == PKT_PARSED;
	if (ports)
		snprintf(packet->text, sizeof(packet->text), "%s from %s port %u to %s port %u",
			 pkt.proto == IPPROTO_TCP ? "TCP" : "UDP", src_text, PKT_HOST16(pkt.sport),
			 dst_text, PKT_HOST16(pkt.dport));
	else
		snprintf(packet->text, sizeof(packet->text), "IPv%u%s from %s to %s, protocol %u",
			 pkt.version, pkt.fragment ? " fragment" : "", src_text, dst_text,
			 pkt.proto);
}

static const char *why_text(uint32_t why)
{
	switch (why) {
	case WHY_FLOW: return "the flow's entry gives it to";
	case WHY_BACKUP: return "its flow's backend is gone, and the flow's backup is";
	case WHY_CID: return "its connection id names";
	case WHY_OPTION: return "its TCP option names";
	case WHY_FRAGMENT: return "the other pieces went to";
	case WHY_ICMP: return "an error about a flow of";
	case WHY_OTHER: return "whose owner is down, so the slot's other owner takes it:";
	case WHY_PREVIOUS: return "its flow is from before the slot's change and stays at";
	case WHY_OLD_TABLE: return "its flow is from before the table's change and stays at";
	case WHY_LIMIT: return "it was for";
	default: return "the slot gives it to";
	}
}

/* To the backend, and so by the service's mode; an answer of the node's own has no tunnel. */
static bool packet_is_sent(const struct dp_result *result)
{
	return result->trace.verdict == VERDICT_FORWARDED ||
	       result->trace.verdict == VERDICT_REDIRECTED;
}

static const char *forward_name(const struct trace_names *names, const struct abi_trace *trace)
{
	static const char *const modes[TUNNEL_MODES] = {
		[TUNNEL_IPIP] = "ipip",   [TUNNEL_GRE] = "gre",       [TUNNEL_GUE] = "gue",
		[TUNNEL_L2DSR] = "l2dsr", [TUNNEL_GENEVE] = "geneve", [TUNNEL_IPOPT] = "ipopt",
		[TUNNEL_GUE0] = "gue",
	};

	return modes[names->tables->services[trace->service].mode % TUNNEL_MODES];
}

struct policy_text {
	char text[32];
};

/* How the slot was found, where it is not by the 5-tuple. */
static struct policy_text policy_text(const struct trace_names *names,
				      const struct abi_trace *trace)
{
	const struct abi_service *service = &names->tables->services[trace->service];
	struct policy_text policy = {""};

	if (service->flags & ABI_SERVICE_POLICY)
		snprintf(policy.text, sizeof(policy.text), " by %s",
			 conf_policy_name((enum conf_policy)service->policy));
	return policy;
}

/* Refused before a slot was asked, so that there is none to tell of. */
static const char *refused_text(const struct abi_trace *trace)
{
	if (trace->backend)
		return NULL;
	switch (trace->why) {
	case WHY_ACL: return "its access list refused it";
	case WHY_RATE: return "its rate limit refused it";
	case WHY_FRAGMENT: return "its setting for fragments refused it";
	case WHY_ICMP: return "its policy cannot place the error";
	default: return NULL;
	}
}

/* Where the slot points now is worth saying where an entry decided otherwise. */
static void print_choice(const struct trace_names *names, const struct abi_trace *trace)
{
	uint64_t table = names->tables->services[trace->service].table;
	uint32_t first = (uint32_t)table, size = (uint32_t)(table >> 32);
	const char *backend = backend_name(names, trace->backend), *owner = NULL;
	const char *refused = refused_text(trace);
	char text[ADDR_TEXT_MAX];
	struct addr addr;

	if (refused) {
		printf("   service %s: %s", service_name(names, trace->service), refused);
		return;
	}
	if (trace->slot < size)
		owner = backend_name(names,
				     abi_slot_current(names->tables->slots[first + trace->slot]));
	printf("   service %s, slot %u of %u%s, owner %s", service_name(names, trace->service),
	       trace->slot, size, policy_text(names, trace).text, owner ? owner : "nobody");
	if (!backend)
		return;
	addr = dp_addr_back(&names->tables->backends[trace->backend].addr);
	printf("; %s %s (%s)", why_text(trace->why), backend, addr_format(&addr, text));
}

void trace_print(const struct trace_names *names, const struct trace_packet *packet)
{
	const struct dp_result *result = packet->result;

	printf("%llu: %zu bytes, %s: %s (%s), %s\n", (unsigned long long)packet->number,
	       packet->length, packet->text, show_verdict(result->trace.verdict).text,
	       dp_action_name(result->action), show_verdict_help(result->trace.verdict));
	if (!service_name(names, result->trace.service))
		return;
	print_choice(names, &result->trace);
	if (packet_is_sent(result))
		printf("; leaves by %s with %zu bytes", forward_name(names, &result->trace),
		       result->length);
	else if (dp_action_leaves(result->action))
		printf("; the answer has %zu bytes", result->length);
	putchar('\n');
}

void trace_print_refused(uint64_t number, const char *problem)
{
	printf("%llu: not run: %s\n", (unsigned long long)number, problem);
}
