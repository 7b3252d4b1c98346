/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What must hold of any run of any frame, whatever it holds: for the packet table, for mutated
 * frames and for the fuzzer alike.
 */
#pragma once

#include "engine/tables.h"
#include "tests/lib/frame/frame.h"
#include "tunnel/mode.h"

/*
 * Compares what came of `frame` with what the builder of frame.h makes of it: a frame that does
 * not leave is untouched, one that leaves is the same packet in a right outer header, for the
 * backend that the trace names, from inside the node's source prefix; an answer of the node's
 * own is what answer.h makes of it, to a sender that may be answered. `out` is the frame
 * afterwards. NULL, or what is wrong (static memory).
 */
const char *expect_sane(const struct dp_tables *tables, const uint8_t *frame, size_t length,
			const struct dp_result *result, const uint8_t *out);

/* What the builder calls a mode. */
enum frame_mode expect_mode(enum tunnel_mode mode);

/* For the other files of this kind. Whether an answer may go to the sender of an untagged IP
 * frame, as its addresses on the link and in IP say. */
bool expect_may_be_answered(const uint8_t *frame);
/* NULL, or in what `out` differs. */
const char *expect_same(const struct dp_result *result, const uint8_t *out,
			const struct frame *expected);
