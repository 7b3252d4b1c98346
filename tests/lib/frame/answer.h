/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the node itself should answer to a frame, built by the test's own hand: nothing here shares
 * code with src/pkt and src/dp. Only for whole, untagged IP frames.
 */
#pragma once

#include "tests/lib/frame/frame.h"

/* To an echo request; without IPv4 options. */
void answer_echo(const uint8_t *frame, size_t length, struct frame *ret);
/* "Too big", where `fits` bytes would have fitted (RFC 1191; RFC 4443, section 3.2). */
void answer_too_big(const uint8_t *frame, size_t length, uint32_t fits, struct frame *ret);
/* "Port unreachable" (RFC 792; RFC 4443, section 3.1). */
void answer_no_port(const uint8_t *frame, struct frame *ret);
/* The RST for the segment at `at` (RFC 9293, section 3.10.7.1), which is no RST itself. */
void answer_reset(const uint8_t *frame, size_t at, struct frame *ret);
