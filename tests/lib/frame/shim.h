/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the forwarding modes put before a packet beside the outer IP header, and what ipopt makes of
 * the packet itself: a part of frame.h's encapsulator, by its own hand from the RFCs.
 */
#pragma once

#include "tests/lib/frame/frame.h"

/* Bytes between the outer IP header and the packet. */
size_t shim_length(const struct frame_tunnel *tunnel, bool inner4);
/* The outer header's protocol. */
uint8_t shim_proto(const struct frame_tunnel *tunnel, bool inner4);
/* For `length` bytes of IP packet at `ip`; `at` has shim_length zeroed bytes. */
void shim_write(const struct frame_tunnel *tunnel, const uint8_t *ip, size_t length, uint8_t *at);

/* ipopt: bytes of the option. */
size_t shim_option_length(bool ipv4);
/*
 * The packet at `ip` for the tunnel's dst and port, with VIP and vip_port in an option, to `at`.
 * `length` are the frame's bytes from there, padding included, which goes along.
 */
void shim_write_option(const struct frame_tunnel *tunnel, const uint8_t *ip, size_t length,
		       uint8_t *at);
