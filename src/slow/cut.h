/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cuts an IPv4 packet into fragments that fit a path (RFC 791, section 2.3 and 3.1), also one that
 * is a fragment itself. Pure: bytes in, bytes out, no allocation. Any thread.
 *
 * A packet that its receiver would refuse is refused here: a header that is wrong or has a wrong
 * checksum (a piece's own would be right, and hide that), options that run over their end, data
 * that reach beyond the largest datagram. So is one that must not be cut.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SLOW_HEADER_MAX = 60 };

/* A packet on its way into pieces; the packet is the caller's, and must stay meanwhile. */
struct slow_cut {
	const uint8_t *packet;
	size_t header;
	size_t end; /* of the packet's data */
	size_t at;  /* of the data, what comes next */
	size_t mtu;
	uint8_t later[SLOW_HEADER_MAX]; /* the header of pieces but the first */
	size_t later_length;
};

/*
 * `packet` begins with its IP header and may be followed by padding up to `length`. 0; -EINVAL: it
 * is refused; -EPERM: it has DF; -EMSGSIZE: `mtu` has no room for a header and eight bytes.
 */
int slow_cut_begin(struct slow_cut *cut, const uint8_t *packet, size_t length, size_t mtu);
/* The next piece, into `mtu` bytes. Its length; 0: there is none. */
size_t slow_cut_next(struct slow_cut *cut, uint8_t *piece);
