/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a backend's link and a clamped MSS make of a frame, by the test's own hand: a part of
 * expect.c's twin.
 */
#pragma once

#include "engine/tables.h"
#include "tests/lib/frame/frame.h"

/* The frame as the service sends it on: in a SYN with a larger MSS than its own stands its own. */
void expect_links_clamp(const struct abi_service *service, const uint8_t *frame, size_t length,
			struct frame *ret);
/* Puts the backend's tags into an untagged frame. */
void expect_links_tag(const struct abi_backend *backend, struct frame *frame);
/* Of a frame's own tags, the bytes that go along to the backend. */
uint32_t expect_links_kept(const struct abi_backend *backend, size_t tags);
