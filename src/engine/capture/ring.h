/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The other end of a capture, in a process of its own: reads what the program tells. It ends with
 * the process: what is told after that is lost, and counted. One thread.
 */
#pragma once

#include "engine/capture/capture.h"

struct capture_ring;

/* `bytes` are the frame's, until it returns. */
typedef void capture_take(void *arg, const struct abi_capture *record, const uint8_t *bytes);

int capture_ring_open(const struct capture_ids *ids, capture_take *take, void *arg,
		      struct capture_ring **ret, struct err *err);
void capture_ring_close(struct capture_ring *ring);
/* Takes what is there, waits for it up to so long. 0 or -errno; -EINTR: a signal came. */
int capture_ring_poll(struct capture_ring *ring, int timeout_ms);
/* Sums over the cores, so far. */
struct abi_capture_counts capture_ring_counts(const struct capture_ring *ring);
/* Whether the program is still there: attached, or held by its daemon. */
bool capture_ring_is_fed(const struct capture_ring *ring);
