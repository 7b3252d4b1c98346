// SPDX-License-Identifier: BSD-2-Clause
#include "tests/lib/expect/expect.h"

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "dp/verdict.h"
#include "tests/lib/expect/fragments.h"
#include "tests/lib/expect/links.h"
#include "tests/lib/expect/modes.h"
#include "tests/lib/expect/replies.h"
#include "tests/lib/frame/answer.h"
#include "tests/lib/frame/frame.h"

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
	size_t link = frame_link_length(frame, length), inner;

	if (length < link + 20)
		return false;
	if (frame[link - 2] == 0x08 && frame[link - 1] == 0x00) {
		inner = (size_t)(frame[link + 2] << 8 | frame[link + 3]);
		return frame[link] >> 4 == 4 && link + inner <= length;
	}
	if (length < link + 40 || frame[link - 2] != 0x86 || frame[link - 1] != 0xdd)
		return false;
	inner = 40 + (size_t)(frame[link + 4] << 8 | frame[link + 5]);
	return frame[link] >> 4 == 6 && link + inner <= length;
}

enum frame_mode expect_mode(enum tunnel_mode mode)
{
	static const enum frame_mode modes[TUNNEL_MODES] = {
		[TUNNEL_IPIP] = FRAME_IPIP,     [TUNNEL_GRE] = FRAME_GRE,
		[TUNNEL_GUE] = FRAME_GUE,       [TUNNEL_L2DSR] = FRAME_L2DSR,
		[TUNNEL_GENEVE] = FRAME_GENEVE, [TUNNEL_IPOPT] = FRAME_IPOPT,
		[TUNNEL_GUE0] = FRAME_GUE0,
	};

	return modes[mode];
}

static bool is_udp(enum frame_mode mode)
{
	return mode == FRAME_GUE || mode == FRAME_GENEVE || mode == FRAME_GUE0;
}

/* Source, flow label and source port are taken over from the frame: they are ours to choose. */
static const char *read_tunnel(const struct dp_tables *tables, const struct abi_trace *trace,
			       const uint8_t *out, struct frame_tunnel *ret)
{
	const struct abi_backend *backend = &tables->backends[trace->backend];
	const struct abi_node *node = tables->node;
	struct addr to = dp_addr_back(&backend->addr), source4, source6;
	const uint8_t *outer = out + frame_link_length(out, FRAME_ETH + 8), *between;

	source4 = dp_addr_back(&node->source4);
	source6 = dp_addr_back(&node->source6);
	memset(ret, 0, sizeof(*ret));
	ret->mode = expect_mode((enum tunnel_mode)tables->services[trace->service].mode);
	ret->outer4 = addr_is4(&to);
	memcpy(ret->dst_mac, backend->dst_mac, 6);
	memcpy(ret->src_mac, backend->src_mac, 6);
	if (ret->outer4)
		memcpy(ret->dst, to.bytes + 12, 4);
	else
		memcpy(ret->dst, to.bytes, 16);
	if (ret->mode == FRAME_L2DSR || ret->mode == FRAME_IPOPT)
		return NULL;
	between = outer + (ret->outer4 ? 20 : 40);
	if (is_udp(ret->mode))
		ret->sport = (uint16_t)(between[0] << 8 | between[1]);
	if (is_udp(ret->mode) && ret->sport < 49152)
		return "the UDP source port is below 49152";
	if (ret->outer4) {
		memcpy(ret->src, outer + 12, 4);
		if (!is_inside(ret->src, source4.bytes + 12, 4,
			       is_udp(ret->mode) ? 0 : node->source4_vary))
			return "the outer IPv4 source is outside the node's prefix";
		return NULL;
	}
	memcpy(ret->src, outer + 8, 16);
	if (!is_inside(ret->src, source6.bytes, 16, is_udp(ret->mode) ? 0 : node->source6_vary))
		return "the outer IPv6 source is outside the node's prefix";
	ret->flow_label = (uint32_t)(outer[1] & 15) << 16 | (uint32_t)outer[2] << 8 | outer[3];
	return NULL;
}

const char *expect_same(const struct dp_result *result, const uint8_t *out,
			const struct frame *expected)
{
	static _Thread_local char problem[64];

	if (result->length != expected->length)
		return "left with another length than expected";
	for (size_t i = 0; i < expected->length; i++) {
		if (out[i] == expected->bytes[i])
			continue;
		snprintf(problem, sizeof(problem), "byte %zu is 0x%02x, expected 0x%02x", i, out[i],
			 expected->bytes[i]);
		return problem;
	}
	return NULL;
}

/* For ipopt's option; and a backend of the packet's family. */
static bool has_room(const uint8_t *ip, const struct frame_tunnel *tunnel)
{
	if (ip[0] >> 4 == 4)
		return tunnel->outer4 && (ip[0] & 15) <= 13;
	return !tunnel->outer4 && ip[6] != 0;
}

static const char *check_left(const struct dp_tables *tables, const uint8_t *frame, size_t length,
			      const struct dp_result *result, const uint8_t *out)
{
	static _Thread_local struct frame sent;
	const struct abi_backend *backend;
	struct frame_tunnel tunnel;
	enum frame_mode mode;
	struct frame expected;
	const char *wrong;

	if (result->trace.backend == 0 || result->trace.backend >= ABI_BACKENDS)
		return "left without a backend";
	if (result->trace.service == 0 || result->trace.service >= ABI_SERVICES)
		return "left without a service";
	if (!holds_ip(frame, length))
		return "left, but its lengths contradict each other";
	mode = expect_mode((enum tunnel_mode)tables->services[result->trace.service].mode);
	if (result->length < length - (frame_link_length(frame, length) - FRAME_ETH) + 20 &&
	    mode != FRAME_L2DSR && mode != FRAME_IPOPT)
		return "left without an outer header";
	wrong = read_tunnel(tables, &result->trace, out, &tunnel);
	if (wrong)
		return wrong;
	backend = &tables->backends[result->trace.backend];
	tunnel.untagged = result->trace.verdict == VERDICT_REDIRECTED || backend->tags[0];
	expect_told(tables, &result->trace, frame, length, &tunnel);
	if (mode == FRAME_IPOPT && !has_room(frame + frame_link_length(frame, length), &tunnel))
		return "left with an option, and has no room for one";
	expect_links_clamp(&tables->services[result->trace.service], frame, length, &sent);
	frame_encapsulate(sent.bytes, length, &tunnel, &expected);
	expect_links_tag(backend, &expected);
	return expect_same(result, out, &expected);
}

/* Who may be answered at all: one host, as its addresses on the link and in IP say. */
bool expect_may_be_answered(const uint8_t *frame)
{
	static const uint8_t none[8];
	const uint8_t *ip = frame + FRAME_ETH, *from = ip + (frame[12] == 0x08 ? 12 : 8);

	if (frame[0] & 1 || frame[6] & 1)
		return false;
	if (frame[12] == 0x08)
		return from[0] != 0 && from[0] != 127 && from[0] < 224 &&
		       memcmp(from, from + 4, 4) != 0;
	return from[0] != 0xff && memcmp(from, none, 8) != 0 && memcmp(from, from + 16, 16) != 0;
}

/* `tags`: bytes of those that the frame came with. */
static const char *check_told_size(const struct dp_tables *tables, const uint8_t *frame,
				   size_t length, size_t tags, const struct dp_result *result,
				   const uint8_t *out)
{
	const struct abi_backend *backend = &tables->backends[result->trace.backend];
	const uint8_t *ip = frame + FRAME_ETH;
	bool ipv4 = frame[12] == 0x08;
	struct addr to = dp_addr_back(&backend->addr);
	uint8_t mode = tables->services[result->trace.service].mode;
	uint32_t fits = backend->mtu - expect_links_kept(backend, tags) -
			expect_overhead(expect_mode((enum tunnel_mode)mode), addr_is4(&to), ipv4);
	uint32_t packet = ipv4 ? (uint32_t)(ip[2] << 8 | ip[3])
			       : 40 + (uint32_t)(ip[4] << 8 | ip[5]);
	uint32_t told;
	struct frame expected;

	if (packet <= fits)
		return "told that it is too big, and would have fitted";
	told = !ipv4 || ip[6] & 0x40 ? ABI_SERVICE_TOO_BIG : ABI_SERVICE_NODF_ICMP;
	if (told == ABI_SERVICE_NODF_ICMP &&
	    tables->services[result->trace.service].flags & ABI_SERVICE_NODF_FRAGMENT)
		return "told that it is too big, and is to be fragmented";
	if (!ipv4 && packet <= 1280)
		return "told that it is too big, and may be sent by any host";
	/* ICMPv6 of other types than errors may be; the types begin behind the errors'. */
	if (ipv4 ? ip[9] == 1 : ip[6] == 58 && ip[40] < 128)
		return "an error, and answered by one";
	if (!(tables->services[result->trace.service].flags & told))
		return "told that it is too big, against its service";
	answer_too_big(frame, length, fits, &expected);
	return expect_same(result, out, &expected);
}

static const char *check_answer(const struct dp_tables *tables, const uint8_t *frame, size_t length,
				size_t tags, const struct dp_result *result, const uint8_t *out)
{
	const uint8_t *ip = frame + FRAME_ETH;
	struct frame expected;

	if (!holds_ip(frame, length))
		return "answered, but its lengths contradict each other";
	if (!expect_may_be_answered(frame))
		return "answered, and its source is no host";
	if (result->trace.verdict == VERDICT_TOO_BIG_ANSWERED)
		return check_told_size(tables, frame, length, tags, result, out);
	if (result->trace.verdict == VERDICT_REJECTED)
		return expect_rejected(tables, frame, length, result, out);
	if (frame[12] == 0x08 ? ip[0] != 0x45 || ip[9] != 1 || ip[20] != 8 || ip[21] != 0
			      : ip[6] != 58 || ip[40] != 128 || ip[41] != 0)
		return "answered, and is no echo request";
	answer_echo(frame, length, &expected);
	return expect_same(result, out, &expected);
}

/* A tagged frame is answered as any other, and the answer has its tags. */
static const char *check_tagged_answer(const struct dp_tables *tables, const uint8_t *frame,
				       size_t length, const struct dp_result *result,
				       const uint8_t *out)
{
	static _Thread_local struct frame in, answer;
	size_t tags = frame_link_length(frame, length) - FRAME_ETH, macs = FRAME_ETH - 2;
	struct dp_result untagged = *result;

	if (!tags)
		return check_answer(tables, frame, length, 0, result, out);
	if (result->length < FRAME_ETH + tags || memcmp(out + macs, frame + macs, tags) != 0)
		return "answered without its tags";
	in.length = length - tags;
	memcpy(in.bytes, frame, macs);
	memcpy(in.bytes + macs, frame + macs + tags, in.length - macs);
	untagged.length = answer.length = result->length - tags;
	memcpy(answer.bytes, out, macs);
	memcpy(answer.bytes + macs, out + macs + tags, answer.length - macs);
	return check_answer(tables, in.bytes, in.length, tags, &untagged, answer.bytes);
}

static bool is_answer(uint32_t verdict)
{
	return verdict == VERDICT_TOO_BIG_ANSWERED || verdict == VERDICT_ECHO_ANSWERED ||
	       verdict == VERDICT_REJECTED;
}

static bool is_untold(uint32_t verdict)
{
	return verdict == VERDICT_EMPTY || verdict == VERDICT_EMPTY_PASSED ||
	       verdict == VERDICT_TOO_BIG || verdict == VERDICT_TOO_BIG_SPLIT ||
	       verdict == VERDICT_SPLIT_LIMITED;
}

static const char *check_untold(const struct dp_tables *tables, const uint8_t *frame, size_t length,
				const struct dp_result *result)
{
	static _Thread_local struct frame in;
	size_t tags = frame_link_length(frame, length) - FRAME_ETH, macs = FRAME_ETH - 2;

	in.length = length - tags;
	memcpy(in.bytes, frame, macs);
	memcpy(in.bytes + macs, frame + macs + tags, in.length - macs);
	return expect_untold(tables, in.bytes, in.length, result);
}

const char *expect_sane(const struct dp_tables *tables, const uint8_t *frame, size_t length,
			const struct dp_result *result, const uint8_t *out)
{
	uint32_t verdict = result->trace.verdict;
	const char *wrong;

	if (verdict >= VERDICT_COUNT)
		return "no such verdict";
	if (result->trace.why >= WHY_COUNT)
		return "no such reason";
	if (result->action != actions[verdict])
		return "the action is not the verdict's";
	wrong = expect_pieces(tables, frame, length, result);
	if (wrong)
		return wrong;
	if (verdict == VERDICT_FORWARDED || verdict == VERDICT_REDIRECTED)
		return check_left(tables, frame, length, result, out);
	if (is_answer(verdict))
		return check_tagged_answer(tables, frame, length, result, out);
	if (result->length != length || memcmp(out, frame, length) != 0)
		return "did not leave, but was changed";
	return is_untold(verdict) ? check_untold(tables, frame, length, result) : NULL;
}
