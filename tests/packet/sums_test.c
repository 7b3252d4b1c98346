/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every checksum of what comes out, by full recomputation: each row of the table of packets in each
 * mode, whatever its service's own, to backends of both families. Where all sums of the frame that
 * came in were right, all sums of the one that leaves are, in every layer: of the outer header, the
 * inner packet, an answer. Nothing here shares code with what writes or mends them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <string.h>

#include "../lib/rows/packets.h"
#include "../lib/run/engines.h"

enum { IP4 = 20, IP6 = 40, PSEUDO = 40, GRE = 4, UDP = 8, GENEVE = 8, LEVELS = 3 };
enum { GUE_PORT = 6080, GENEVE_PORT = 6081 };

struct layer {
	const uint8_t *ip;
	const uint8_t *l4;
	size_t length; /* from l4 on */
	uint8_t proto;
	bool in_pieces;
};

static unsigned int read16(const uint8_t *at)
{
	return (unsigned int)at[0] << 8 | at[1];
}

/* TCP's, UDP's or ICMPv6's, with the pseudo-header that it has. */
static bool is_right_with_pseudo(const struct layer *layer)
{
	static uint8_t sum[PSEUDO + FRAME_MAX];
	bool ipv4 = layer->ip[0] >> 4 == 4;

	memset(sum, 0, PSEUDO);
	memcpy(sum, layer->ip + (ipv4 ? 12 : 8), ipv4 ? 8 : 32);
	frame_put(sum + 32, 4, (uint32_t)layer->length);
	frame_put(sum + 36, 4, layer->proto);
	memcpy(sum + PSEUDO, layer->l4, layer->length);
	return frame_checksum(sum, PSEUDO + layer->length, 0) == 0;
}

/* Finds what follows IPv6's extension headers. */
static bool find_l4(struct layer *layer)
{
	while (layer->proto == IPPROTO_HOPOPTS || layer->proto == IPPROTO_DSTOPTS ||
	       layer->proto == IPPROTO_ROUTING || layer->proto == IPPROTO_FRAGMENT) {
		size_t size = 8;

		if (layer->length < 8)
			return false;
		if (layer->proto == IPPROTO_FRAGMENT && read16(layer->l4 + 2) & 0xfff9)
			layer->in_pieces = true;
		if (layer->proto != IPPROTO_FRAGMENT)
			size += layer->l4[1] * 8U;
		if (size > layer->length)
			return false;
		layer->proto = layer->l4[0];
		layer->l4 += size;
		layer->length -= size;
	}
	return true;
}

/* Fills the layer; false where the header is none, or its sum or its lengths are wrong. */
static bool read_ip(const uint8_t *ip, size_t length, struct layer *ret)
{
	size_t header;

	memset(ret, 0, sizeof(*ret));
	ret->ip = ip;
	if (length >= IP4 && ip[0] >> 4 == 4) {
		header = (ip[0] & 15) * 4U;
		if (header < IP4 || read16(ip + 2) < header || read16(ip + 2) > length ||
		    frame_checksum(ip, header, 0) != 0)
			return false;
		ret->l4 = ip + header;
		ret->length = read16(ip + 2) - header;
		ret->proto = ip[9];
		ret->in_pieces = read16(ip + 6) & 0x3fff;
		return true;
	}
	if (length < IP6 || ip[0] >> 4 != 6 || IP6 + read16(ip + 4) > length)
		return false;
	ret->l4 = ip + IP6;
	ret->length = read16(ip + 4);
	ret->proto = ip[6];
	return find_l4(ret);
}

/* Bytes before the packet in a tunnel; 0: it is none. */
static size_t shim_of(const struct layer *layer)
{
	if (layer->proto == IPPROTO_GRE)
		return GRE;
	if (layer->proto != IPPROTO_UDP || layer->length < UDP + GENEVE)
		return 0;
	if (read16(layer->l4 + 2) == GUE_PORT)
		return layer->l4[UDP] >> 6 ? UDP : UDP + 4 + (layer->l4[UDP] & 31) * 4U;
	if (read16(layer->l4 + 2) == GENEVE_PORT)
		return UDP + GENEVE + (layer->l4[UDP] & 63) * 4U;
	return 0;
}

static bool is_right_l4(const struct layer *layer)
{
	if (layer->proto == IPPROTO_TCP)
		return layer->length >= 20 && is_right_with_pseudo(layer);
	if (layer->proto == IPPROTO_ICMPV6)
		return layer->length >= 8 && is_right_with_pseudo(layer);
	if (layer->proto == IPPROTO_ICMP)
		return layer->length >= 8 && frame_checksum(layer->l4, layer->length, 0) == 0;
	if (layer->proto == IPPROTO_UDP)
		return layer->length >= UDP && read16(layer->l4 + 4) == layer->length &&
		       (read16(layer->l4 + 6) == 0 || is_right_with_pseudo(layer));
	return true;
}

/* All sums of a packet and of what is in it, but for those that only whole datagrams have. */
static bool is_right(const uint8_t *ip, size_t length)
{
	for (int level = 0; level < LEVELS; level++) {
		struct layer layer;
		size_t shim;

		if (!read_ip(ip, length, &layer))
			return false;
		if (layer.in_pieces)
			return true;
		if (!is_right_l4(&layer))
			return false;
		shim = shim_of(&layer);
		if (!shim && layer.proto != IPPROTO_IPIP && layer.proto != IPPROTO_IPV6)
			return true;
		if (shim > layer.length)
			return false;
		ip = layer.l4 + shim;
		length = layer.length - shim;
	}
	return true;
}

static bool is_right_frame(const uint8_t *bytes, size_t length)
{
	size_t link = frame_link_length(bytes, length);

	return length > link && is_right(bytes + link, length - link);
}

/* By ipopt the agent makes ICMPv6's sum right again, with the address that was the packet's. */
static bool is_left_to_agent(enum tunnel_mode mode, const struct engine_outcome *outcome)
{
	size_t link = frame_link_length(outcome->bytes, outcome->result.length);
	struct layer layer;

	return mode == TUNNEL_IPOPT &&
	       read_ip(outcome->bytes + link, outcome->result.length - link, &layer) &&
	       layer.proto == IPPROTO_ICMPV6;
}

static void set_mode(enum tunnel_mode mode)
{
	for (size_t e = 0; e < engine_count; e++) {
		for (uint32_t s = 1; s < WORLD_SERVICES; s++)
			engines[e].tables->services[s].mode = mode;
	}
}

static void check_row(const struct packet_row *row, enum tunnel_mode mode, size_t *right)
{
	static struct engine_outcome outcome;
	struct frame frame;

	frame_build(&row->spec, &frame);
	if (!is_right_frame(frame.bytes, frame.length))
		return;
	for (size_t e = 0; e < engine_count; e++) {
		engine_run(&engines[e], frame.bytes, frame.length, &outcome);
		if (outcome.result.action != 3 &&
		    outcome.result.action != 4) /* XDP_TX, _REDIRECT */
			continue;
		if (is_left_to_agent(mode, &outcome) &&
		    outcome.result.trace.verdict != VERDICT_TOO_BIG_ANSWERED &&
		    outcome.result.trace.verdict != VERDICT_ECHO_ANSWERED)
			continue;
		if (!is_right_frame(outcome.bytes, outcome.result.length)) {
			frame_say(frame.bytes, frame.length);
			frame_say(outcome.bytes, outcome.result.length);
			fail_msg("%s in mode %u, %s: a wrong sum, verdict %u", row->name, mode,
				 engines[e].name, outcome.result.trace.verdict);
		}
		++*right;
	}
}

static void test_every_mode(void **state)
{
	size_t right = 0;

	(void)state;
	for (enum tunnel_mode mode = 0; mode < TUNNEL_MODES; mode++) {
		set_mode(mode);
		engines_forget_flows();
		for (size_t i = 0; i < packet_row_count; i++)
			check_row(&packet_rows[i], mode, &right);
	}
	engines_refill();
	assert_true(right > TUNNEL_MODES * packet_row_count / 3);
}

/* A sum of zero in UDP says that there is none: one that was there must not get lost. */
static bool has_udp_sum(const struct engine_outcome *outcome)
{
	struct layer layer;

	return read_ip(outcome->bytes + FRAME_ETH, outcome->result.length - FRAME_ETH, &layer) &&
	       (layer.proto != IPPROTO_UDP || read16(layer.l4 + 6) != 0);
}

/* Every value that a sum can have, where ipopt mends it: none of the two zeros goes wrong. */
static void test_every_sum(void **state)
{
	static const char *const vips[] = {WORLD_IPOPT4P_VIP4, WORLD_IPOPT6P_VIP6};
	static struct engine_outcome outcome;
	struct frame frame;

	(void)state;
	for (uint32_t i = 0; i < 4 * 65536; i++) {
		bool udp = i & 1, ipv6 = i & 2;
		struct frame_spec spec = {.src = ipv6 ? WORLD_CLIENT6 : WORLD_CLIENT4,
					  .dst = vips[ipv6],
					  .proto = udp ? IPPROTO_UDP : IPPROTO_TCP,
					  .dport = udp ? 53 : 80,
					  .sport = (uint16_t)(i >> 2)};

		frame_build(&spec, &frame);
		engine_run(&engines[0], frame.bytes, frame.length, &outcome);
		assert_int_equal(outcome.result.trace.verdict, VERDICT_FORWARDED);
		assert_true(is_right_frame(outcome.bytes, outcome.result.length));
		assert_true(has_udp_sum(&outcome));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_test_kernel_ran),
		cmocka_unit_test(test_every_mode),
		cmocka_unit_test(test_every_sum),
	};

	return cmocka_run_group_tests(tests, engines_open, engines_close);
}
