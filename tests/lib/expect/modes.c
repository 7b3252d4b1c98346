// SPDX-License-Identifier: BSD-2-Clause
#include "tests/lib/expect/modes.h"

#include <arpa/inet.h>
#include <string.h>

#include "tests/lib/expect/fragments.h"
#include "tests/lib/frame/place.h"
#include "tests/lib/frame/shim.h"

uint32_t expect_overhead(enum frame_mode mode, bool outer4, bool inner4)
{
	struct frame_tunnel tunnel = {.mode = mode, .outer4 = outer4};

	if (mode == FRAME_L2DSR)
		return 0;
	if (mode == FRAME_IPOPT)
		return (uint32_t)shim_option_length(inner4);
	return (outer4 ? 20U : 40U) + (uint32_t)shim_length(&tunnel, inner4);
}

static uint64_t word_of(const struct dp_tables *tables, const struct abi_trace *trace)
{
	return tables->slots[(uint32_t)tables->services[trace->service].table + trace->slot];
}

/* A SYN, and no SYN-ACK. */
static bool begins(const uint8_t *ip, size_t length)
{
	struct place place = place_find(ip, length);

	return place.proto == IPPROTO_TCP && !place.later && place.at + 14 <= length &&
	       (ip[place.at + 13] & (FRAME_SYN | FRAME_ACK)) == FRAME_SYN;
}

/* Whether a packet with a second chance names anybody: else it goes by variant 1. */
static bool in_doubt(const struct dp_tables *tables, const struct abi_trace *trace,
		     const uint8_t *frame, size_t length)
{
	uint64_t word = word_of(tables, trace);
	size_t link = frame_link_length(frame, length);
	bool later;

	if (expect_is_piece(frame, length, &later) || begins(frame + link, length - link))
		return false;
	return word >> 60 & 1 || word >> 62 & 1 ||
	       !(tables->backends[word & 0xfffff].flags & ABI_BACKEND_UP);
}

static bool goes_on(const struct dp_tables *tables, uint32_t backend)
{
	return backend && tables->backends[backend].flags & ABI_BACKEND_KEEP;
}

/*
 * Who else has the slot: who it is given to, or who had it before; else the third of the word's
 * owners.
 */
static uint32_t other_of(const struct dp_tables *tables, uint64_t word, uint32_t chosen)
{
	uint32_t owners[3] = {word & 0xfffff, word >> 20 & 0xfffff, word >> 40 & 0xfffff};

	if (owners[0] != chosen && goes_on(tables, owners[0]))
		return owners[0];
	if (owners[1] != chosen && goes_on(tables, owners[1]))
		return owners[1];
	return owners[2] != chosen && goes_on(tables, owners[2]) ? owners[2] : 0;
}

static void tell_other(const struct dp_tables *tables, const struct abi_trace *trace,
		       struct frame_tunnel *ret)
{
	uint32_t other = other_of(tables, word_of(tables, trace), trace->backend);
	struct addr addr;

	if (other == 0)
		return;
	addr = dp_addr_back(&tables->backends[other].addr);
	if (addr_is4(&addr) != ret->outer4)
		return;
	ret->other_family = ret->outer4 ? 4 : 6;
	memcpy(ret->other, ret->outer4 ? addr.bytes + 12 : addr.bytes, ret->outer4 ? 4 : 16);
}

void expect_told(const struct dp_tables *tables, const struct abi_trace *trace,
		 const uint8_t *frame, size_t length, struct frame_tunnel *ret)
{
	size_t link = frame_link_length(frame, length);
	const uint8_t *ip = frame + link;
	size_t packet = ip[0] >> 4 == 4 ? (size_t)(ip[2] << 8 | ip[3])
					: 40 + (size_t)(ip[4] << 8 | ip[5]);
	uint16_t port = ntohs(tables->backends[trace->backend].port);

	ret->vip_port = place_vip_port(ip, packet);
	ret->port = ret->vip_port && port ? port : ret->vip_port;
	if (ret->mode == FRAME_GUE0 && !in_doubt(tables, trace, frame, length))
		ret->mode = FRAME_GUE;
	if (ret->mode == FRAME_GUE0)
		tell_other(tables, trace, ret);
}
