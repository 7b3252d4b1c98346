/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of packets: each row a frame and what must become of it in the world of world.h, in
 * whatever engine runs it. A row stands for itself: it meets an empty flow table.
 */
#pragma once

#include "dp/verdict.h"
#include "tests/lib/frame/frame.h"
#include "tests/lib/world/world.h"

struct packet_row {
	const char *name;
	struct frame_spec spec;
	enum verdict verdict;
	enum why why;
	uint32_t service; /* enum world_service */
	uint32_t backend; /* enum world_backend */
	bool not_in_file; /* of a row without a service: its VIP is one of tables alone */
};

extern const struct packet_row packet_rows[];
extern const size_t packet_row_count;

static inline bool packet_row_leaves(const struct packet_row *row)
{
	return row->verdict == VERDICT_FORWARDED || row->verdict == VERDICT_REDIRECTED;
}

/* A piece of a datagram that is not the first. */
static inline bool packet_row_is_later(const struct packet_row *row)
{
	for (int i = 0; i < FRAME_EXTENSIONS; i++) {
		if (row->spec.extensions[i] == FRAME_EXT_FRAGMENT)
			return (row->spec.frag & 0xfff8) != 0;
	}
	return (row->spec.frag & 0x1fff) != 0;
}

/* To its sender, by the node itself. */
static inline bool packet_row_is_answered(const struct packet_row *row)
{
	return row->verdict == VERDICT_TOO_BIG_ANSWERED || row->verdict == VERDICT_ECHO_ANSWERED ||
	       row->verdict == VERDICT_REJECTED;
}

/* A segment from WORLD_CLIENT to WORLD_MANY, which has four backends. */
void packets_build_many(bool ipv6, uint16_t sport, uint8_t tcp_flags, struct frame *ret);
