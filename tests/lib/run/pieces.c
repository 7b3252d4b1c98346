// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <netinet/in.h>
#include <string.h>

#include "dp/verdict.h"
#include "tests/lib/run/pieces.h"
#include "tests/lib/world/world.h"

enum { IPV4_HEADER = 20, IPV6_HEADER = 40, FRAGMENT_HEADER = 8, UNIT = 8 };

const uint8_t pieces_orders[PIECES_ORDERS][PIECES] = {
	{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0},
};

static void put_header4(struct frame *piece, const struct frame *whole, uint32_t id, size_t offset,
			bool more)
{
	uint8_t *ip = piece->bytes + FRAME_ETH;

	memcpy(ip, whole->bytes + FRAME_ETH, IPV4_HEADER);
	frame_put(ip + 2, 2, (uint32_t)(piece->length - FRAME_ETH));
	frame_put(ip + 4, 2, id & 0xffff);
	frame_put(ip + 6, 2, (uint32_t)(offset / UNIT) | (more ? 0x2000 : 0));
	frame_put(ip + 10, 2, 0);
	frame_put(ip + 10, 2, frame_checksum(ip, IPV4_HEADER, 0));
}

static void put_header6(struct frame *piece, const struct frame *whole, uint32_t id, size_t offset,
			bool more)
{
	uint8_t *ip = piece->bytes + FRAME_ETH, *header = ip + IPV6_HEADER;

	memcpy(ip, whole->bytes + FRAME_ETH, IPV6_HEADER);
	frame_put(ip + 4, 2, (uint32_t)(piece->length - FRAME_ETH - IPV6_HEADER));
	header[0] = ip[6];
	header[1] = 0;
	ip[6] = IPPROTO_FRAGMENT;
	frame_put(header + 2, 2, (uint32_t)offset | (more ? 1 : 0));
	frame_put(header + 4, 4, id);
}

void pieces_cut(const struct frame_spec *spec, uint32_t id, struct pieces *ret)
{
	struct frame whole;
	size_t header, data, part, offset = 0;
	bool ipv4;

	frame_build(spec, &whole);
	ipv4 = whole.bytes[12] == 0x08;
	header = FRAME_ETH + (ipv4 ? IPV4_HEADER : IPV6_HEADER);
	data = whole.length - header;
	part = (data / PIECES + UNIT - 1) / UNIT * UNIT;
	assert_true(data > (PIECES - 1) * part);
	for (size_t i = 0; i < PIECES; i++, offset += part) {
		struct frame *piece = &ret->piece[i];
		size_t length = i == PIECES - 1 ? data - offset : part;
		size_t begins = header + (ipv4 ? 0 : FRAGMENT_HEADER);

		memset(piece, 0, sizeof(*piece));
		memcpy(piece->bytes, whole.bytes, FRAME_ETH);
		memcpy(piece->bytes + begins, whole.bytes + header + offset, length);
		piece->length = begins + length;
		piece->ip = FRAME_ETH;
		piece->l4 = begins;
		if (ipv4)
			put_header4(piece, &whole, id, offset, i < PIECES - 1);
		else
			put_header6(piece, &whole, id, offset, i < PIECES - 1);
	}
}

struct frame_spec pieces_spec(const char *vip, uint8_t proto, uint16_t sport, uint16_t dport)
{
	return (struct frame_spec){
		.src = strchr(vip, ':') ? WORLD_CLIENT6 : WORLD_CLIENT4,
		.dst = vip,
		.proto = proto,
		.sport = sport,
		.dport = dport,
		.payload = 3000 - UNIT,
	};
}

enum verdict pieces_verdict(const struct frame *piece, enum why *ret_why)
{
	static struct engine_outcome outcome;

	engines_run("a piece", piece, &outcome);
	if (ret_why)
		*ret_why = outcome.result.trace.why;
	return outcome.result.trace.verdict;
}

uint32_t pieces_run(const struct frame *piece)
{
	static struct engine_outcome outcome;

	engines_run("a piece", piece, &outcome);
	if (outcome.result.trace.verdict != VERDICT_FORWARDED) {
		frame_say(piece->bytes, piece->length);
		fail_msg("a piece: verdict %u", outcome.result.trace.verdict);
	}
	return outcome.result.trace.backend;
}

uint32_t pieces_run_all(const struct frame_spec *spec, uint32_t id, const uint8_t order[PIECES])
{
	struct pieces pieces;
	uint32_t backend = 0;

	pieces_cut(spec, id, &pieces);
	for (size_t i = 0; i < PIECES; i++) {
		uint32_t to = pieces_run(&pieces.piece[order[i]]);

		if (i > 0 && to != backend)
			fail_msg("port %u, order %u %u %u: piece %u to %s, the one before to %s",
				 spec->sport, order[0], order[1], order[2], order[i],
				 world_backend_name(to), world_backend_name(backend));
		backend = to;
	}
	return backend;
}

uint32_t pieces_run_whole(const struct frame_spec *spec)
{
	struct frame_spec small = *spec;
	struct frame frame;

	small.payload = 8;
	frame_build(&small, &frame);
	return pieces_run(&frame);
}

uint64_t pieces_event(enum abi_event event)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < engine_count; i++)
		sum += engine_event_count(&engines[i], event);
	return sum;
}
