/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BFD's one packet, the control packet (RFC 5880 section 4.1), parsed and written. Pure. Intervals
 * in microseconds, as on the wire; all numbers in host order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bfd/bfd.h"

enum {
	BFD_PACKET_LENGTH = 24,      /* of a packet without authentication: all that we send */
	BFD_PACKET_LENGTH_MAX = 255, /* its length field has a byte */
};

/* Why a session is not up, as a packet says it. */
enum bfd_diag {
	BFD_DIAG_NONE,
	BFD_DIAG_EXPIRED,
	BFD_DIAG_ECHO,
	BFD_DIAG_NEIGHBOUR,
	BFD_DIAG_FORWARDING,
	BFD_DIAG_PATH,
	BFD_DIAG_CONCATENATED,
	BFD_DIAG_ADMIN,
	BFD_DIAG_REVERSE,
};

struct bfd_packet {
	enum bfd_state state;
	uint8_t diag;
	bool poll, final, independent, demand;
	uint8_t multiplier;
	uint32_t own, your;  /* discriminators; `your` is 0 while it is not known */
	uint32_t send_us;    /* the least that the sender wants between two that it sends */
	uint32_t receive_us; /* the same for what it receives; 0: it wants none */
	uint32_t echo_us;
};

enum bfd_verdict { BFD_PACKET_OK, BFD_PACKET_MALFORMED, BFD_PACKET_AUTHENTICATED };

/* `length` is the whole datagram's. What may be checked without knowing a session (RFC 5880
 * section 6.8.6) is. *ret is written when BFD_PACKET_OK. */
enum bfd_verdict bfd_packet_parse(const uint8_t *bytes, size_t length, struct bfd_packet *ret);
void bfd_packet_format(const struct bfd_packet *packet, uint8_t bytes[BFD_PACKET_LENGTH]);

/* In words; "" for none. */
const char *bfd_diag_text(uint8_t diag);
