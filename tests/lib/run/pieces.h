/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagrams in pieces, as a sender or a router cuts them (RFC 791, RFC 8200 section 4.5), and runs
 * of these in the engines of engines.h. For cmocka tests: what is wrong fails the test that runs.
 */
#pragma once

#include "tests/lib/frame/frame.h"
#include "tests/lib/run/engines.h"

enum { PIECES = 3, PIECES_ORDERS = 6 };

struct pieces {
	struct frame piece[PIECES];
};

/* Every order of three. */
extern const uint8_t pieces_orders[PIECES_ORDERS][PIECES];

/*
 * Cuts the packet of `spec`, without extension headers, into three; its payload is of a length that
 * makes them. Of IPv4 the id's low 16 bits count.
 */
void pieces_cut(const struct frame_spec *spec, uint32_t id, struct pieces *ret);

/* A datagram of 3000 bytes in pieces, or a packet of a few, from port `sport` to the VIP. */
struct frame_spec pieces_spec(const char *vip, uint8_t proto, uint16_t sport, uint16_t dport);

/* Runs a piece in every engine. The backend that it went to. */
uint32_t pieces_run(const struct frame *piece);
/* The same; which end it came to, and why if ret_why is not NULL. */
enum verdict pieces_verdict(const struct frame *piece, enum why *ret_why);

/* Runs all three, of a datagram with this id; they must go to one backend, which is returned. */
uint32_t pieces_run_all(const struct frame_spec *spec, uint32_t id, const uint8_t order[PIECES]);
/* Where a packet of the flow that is not in pieces goes. */
uint32_t pieces_run_whole(const struct frame_spec *spec);

/* An event's count over all engines. */
uint64_t pieces_event(enum abi_event event);
