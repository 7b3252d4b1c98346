/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `weir capture` asks of a running node: that the program that tells of packets takes the
 * balancer's place, for as long as the process that asks lives, and a bounded time at most. And
 * which record is whose. The loop's thread.
 */
#pragma once

#include <jansson.h>

#include "weir/node/app_state.h"

struct capturer;

/* Requests: capture, capture_begin, capture_end, records; of a struct app. */
extern const struct daemon_op capturer_ops[];
/* Before the loop closes. */
void capturer_close(struct app *app);
