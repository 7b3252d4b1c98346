// SPDX-License-Identifier: BSD-2-Clause
#include "expect.h"

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "frame.h"
#include "pkt/verdict.h"

static const uint32_t actions[VERDICT_COUNT] = {
#define ACTION(name, action, help) [VERDICT_##name] = XDP_##action,
	VERDICTS(ACTION)
#undef ACTION
};

/* The source varies in its last 32 bits, where `vary` (network order) allows it. */
static bool is_inside(const uint8_t *source, const uint8_t *fixed, size_t size, uint32_t vary)
{
	uint32_t got, want;

	memcpy(&got, source + size - 4, 4);
	memcpy(&want, fixed + size - 4, 4);
	return memcmp(source, fixed, size - 4) == 0 && (got & ~vary) == (want & ~vary);
}

static bool holds_ip(const uint8_t *frame, size_t length)
{
	size_t inner;

	if (length < FRAME_ETH + 20)
		return false;
	if (frame[12] == 0x08 && frame[13] == 0x00) {
		inner = (size_t)(frame[FRAME_ETH + 2] << 8 | frame[FRAME_ETH + 3]);
		return frame[FRAME_ETH] >> 4 == 4 && FRAME_ETH + inner <= length;
	}
	if (length < FRAME_ETH + 40 || frame[12] != 0x86 || frame[13] != 0xdd)
		return false;
	inner = 40 + (size_t)(frame[FRAME_ETH + 4] << 8 | frame[FRAME_ETH + 5]);
	return frame[FRAME_ETH] >> 4 == 6 && FRAME_ETH + inner <= length;
}

enum frame_mode expect_mode(enum pkt_mode mode)
{
	static const enum frame_mode modes[PKT_MODES] = {
		[PKT_MODE_IPIP] = FRAME_IPIP,
		[PKT_MODE_GRE] = FRAME_GRE,
		[PKT_MODE_GUE] = FRAME_GUE,
		[PKT_MODE_L2DSR] = FRAME_L2DSR,
	};

	return modes[mode];
}

/* Source, flow label and source port are taken over from the frame: they are ours to choose. */
static const char *read_tunnel(const struct dp_tables *tables, const struct abi_trace *trace,
			       const uint8_t *out, struct frame_tunnel *ret)
{
	const struct abi_backend *backend = &tables->backends[trace->backend];
	const struct abi_node *node = tables->node;
	struct addr to = dp_addr_back(&backend->addr), source4, source6;
	const uint8_t *outer = out + FRAME_ETH, *between;

	source4 = dp_addr_back(&node->source4);
	source6 = dp_addr_back(&node->source6);
	memset(ret, 0, sizeof(*ret));
	ret->mode = expect_mode((enum pkt_mode)tables->services[trace->service].mode);
	ret->outer4 = addr_is4(&to);
	memcpy(ret->dst_mac, backend->dst_mac, 6);
	memcpy(ret->src_mac, backend->src_mac, 6);
	if (ret->mode == FRAME_L2DSR)
		return NULL;
	between = outer + (ret->outer4 ? 20 : 40);
	if (ret->mode == FRAME_GUE)
		ret->sport = (uint16_t)(between[0] << 8 | between[1]);
	if (ret->mode == FRAME_GUE && ret->sport < 49152)
		return "the UDP source port is below 49152";
	if (ret->outer4) {
		memcpy(ret->src, outer + 12, 4);
		memcpy(ret->dst, to.bytes + 12, 4);
		if (!is_inside(ret->src, source4.bytes + 12, 4,
			       ret->mode == FRAME_GUE ? 0 : node->source4_vary))
			return "the outer IPv4 source is outside the node's prefix";
		return NULL;
	}
	memcpy(ret->src, outer + 8, 16);
	memcpy(ret->dst, to.bytes, 16);
	if (!is_inside(ret->src, source6.bytes, 16,
		       ret->mode == FRAME_GUE ? 0 : node->source6_vary))
		return "the outer IPv6 source is outside the node's prefix";
	ret->flow_label = (uint32_t)(outer[1] & 15) << 16 | (uint32_t)outer[2] << 8 | outer[3];
	return NULL;
}

static const char *check_left(const struct dp_tables *tables, const uint8_t *frame, size_t length,
			      const struct dp_result *result, const uint8_t *out)
{
	static _Thread_local char problem[64];
	struct frame_tunnel tunnel;
	struct frame expected;
	const char *wrong;

	if (result->trace.backend == 0 || result->trace.backend >= ABI_BACKENDS)
		return "left without a backend";
	if (result->trace.service == 0 || result->trace.service >= ABI_SERVICES)
		return "left without a service";
	if (!holds_ip(frame, length))
		return "left, but its lengths contradict each other";
	if (result->length < length + 20 &&
	    tables->services[result->trace.service].mode != PKT_MODE_L2DSR)
		return "left without an outer header";
	wrong = read_tunnel(tables, &result->trace, out, &tunnel);
	if (wrong)
		return wrong;
	frame_encapsulate(frame, length, &tunnel, &expected);
	if (result->length != expected.length)
		return "left with another length than expected";
	for (size_t i = 0; i < expected.length; i++) {
		if (out[i] == expected.bytes[i])
			continue;
		snprintf(problem, sizeof(problem), "byte %zu is 0x%02x, expected 0x%02x", i, out[i],
			 expected.bytes[i]);
		return problem;
	}
	return NULL;
}

const char *expect_sane(const struct dp_tables *tables, const uint8_t *frame, size_t length,
			const struct dp_result *result, const uint8_t *out)
{
	uint32_t verdict = result->trace.verdict;

	if (verdict >= VERDICT_COUNT)
		return "no such verdict";
	if (result->trace.why >= WHY_COUNT)
		return "no such reason";
	if (result->action != actions[verdict])
		return "the action is not the verdict's";
	if (verdict == VERDICT_FORWARDED || verdict == VERDICT_REDIRECTED)
		return check_left(tables, frame, length, result, out);
	if (result->length != length || memcmp(out, frame, length) != 0)
		return "did not leave, but was changed";
	return NULL;
}
