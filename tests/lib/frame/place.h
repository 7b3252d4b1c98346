/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the transport header of an IP packet stands, and which port of the VIP it is about, for
 * tests that say what the packet path must make of a packet: by its own hand, from RFC 791, 8200,
 * 792 and 4443. Only for packets whose lengths hold.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct place {
	uint8_t proto; /* what stands there */
	bool later;    /* a piece of a datagram that is not the first: no header stands there */
	size_t at;     /* from the IP header */
};

struct place place_find(const uint8_t *ip, size_t length);
/* TCP's or UDP's destination; of an ICMP error the source of what it quotes; else 0. */
uint16_t place_vip_port(const uint8_t *ip, size_t length);
