/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the XDP program gives to the daemon (verdict too_big_split): a ring of each core, bounded;
 * what finds it full is lost, and counted by the program (ABI_EVENT_SLOW_LOST), as is all while
 * nobody reads. One thread.
 */
#pragma once

#include "engine/dp.h"

struct slow_ring;

/* `frame` has slow->length bytes, and is gone afterwards. */
typedef void slow_ring_take(void *arg, const struct abi_slow *slow, const uint8_t *frame);

/* Reads the engine's frames from now on; a second reader takes the place of the first. Close it
 * before the engine. */
int slow_ring_open(struct dp *dp, slow_ring_take *take, void *arg, struct slow_ring **ret,
		   struct err *err);
void slow_ring_close(struct slow_ring *ring);
/* Readable when there is something to read. */
int slow_ring_fd(const struct slow_ring *ring);
/* Takes what is there, at most what the rings hold. */
void slow_ring_read(struct slow_ring *ring);
