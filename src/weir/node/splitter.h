/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon's slow path, put together: what the packet path found too big and may be cut comes
 * from the engine's ring, is cut (slow/cut.h), wrapped by the packet path's own code over its own
 * tables (engine/native.h), and sent (slow/send.h). How much comes is limited before
 * (node.slow_limit), so nothing queues here. Libuv's thread.
 */
#pragma once

#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "engine/dp.h"

struct splitter;

struct splitter_counts {
	uint64_t packets; /* cut and sent, every piece */
	uint64_t pieces;
	uint64_t refused; /* packets whose receiver would refuse them, or that cannot be cut */
	uint64_t failed;  /* packets of which a piece found no next hop, or could not be sent */
};

/* 0, or -errno: nothing is read then. Close it before the engine. */
int splitter_open(uv_loop_t *loop, struct dp *dp, struct splitter **ret, struct err *err);
/* The loop must run on until its handles are closed. */
void splitter_close(struct splitter *splitter);
/* All 0 for NULL. */
struct splitter_counts splitter_counts(const struct splitter *splitter);
