/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A flow as it is typed, `tcp 192.0.2.1:40000 198.51.100.10:443`, and a frame of such a one.
 * IPv6 addresses stand in brackets before a port. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"

struct tuple {
	uint8_t proto;         /* IPPROTO_TCP or UDP; 0: any */
	struct addr src, dst;  /* none: any */
	uint16_t sport, dport; /* host order; 0: any */
};

/* Three words: protocol, source, destination; each but for its port may be `any`. */
int tuple_parse(const char *const words[3], struct tuple *ret, struct err *err);
/* The same with blanks between the words. */
int tuple_parse_text(const char *text, struct tuple *ret, struct err *err);
/* Whether it names all, of one family; else the error says what it lacks. */
int tuple_is_whole(const struct tuple *tuple, struct err *err);

enum { TUPLE_FRAME_MAX = 3520 };
struct tuple_packet {
	struct tuple tuple;
	uint8_t tcp_flags;
	size_t length; /* of the IP packet; 0: as short as it can be */
};
/* Writes the Ethernet frame, checksums and all. Its length, or 0: `length` is too short or long. */
size_t tuple_frame(const struct tuple_packet *packet, uint8_t frame[TUPLE_FRAME_MAX]);
