/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which slot a packet has by its service's policy, and which server it names: what must come of
 * it, said slowly and apart from the packet path. Numbers are the host's, addresses as on the
 * wire.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dp/abi.h"

/* A packet, or the flow that it belongs to, as its sender would say it. */
struct expect_flow {
	bool ipv6;
	uint8_t src[16], dst[16]; /* 4 bytes of IPv4 */
	uint16_t sport, dport;
	uint8_t proto;
	uint32_t label;
};

/* The place in a table of `slots`. `prefix` is in bits, for policy source-prefix. */
uint32_t expect_slot(const struct expect_flow *flow, enum abi_policy policy, unsigned int prefix,
		     uint64_t seed, uint32_t slots);

/* The id of the server that a datagram names; 0: none. config and length are those of QUIC-LB. */
uint32_t expect_quic(const uint8_t *payload, size_t length, enum abi_cid layout,
		     unsigned int config, unsigned int id_length);

/* The id of the server in a TCP header's options; 0: none. */
uint32_t expect_tcp_option(const uint8_t *options, size_t length);
