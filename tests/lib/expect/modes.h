/* SPDX-License-Identifier: BSD-2-Clause */
/* What the forwarding modes tell the other end, as the tables have it: a part of expect.h. */
#pragma once

#include "engine/tables.h"
#include "tests/lib/frame/frame.h"

/* Bytes that a mode adds to a packet. */
uint32_t expect_overhead(enum frame_mode mode, bool outer4, bool inner4);
/*
 * Fills what Geneve, ipopt and GUE's variant 0 have beside addresses, for a frame that goes to the
 * trace's backend; mode, outer4 and dst are there.
 */
void expect_told(const struct dp_tables *tables, const struct abi_trace *trace,
		 const uint8_t *frame, size_t length, struct frame_tunnel *ret);
