/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames by the modes that tell of a VIP and its port beside the packet, as a balancer sends them,
 * and GUE's variant 0: built by their own hand, sharing no code with src/tunnel.
 */
#pragma once

#include <stdbool.h>

#include "frame.h"

enum told_mode { TOLD_GENEVE, TOLD_GUE0, TOLD_IPOPT };

/* What else stands in Geneve's header. */
enum told_shape {
	TOLD_PLAIN,
	TOLD_NO_OPTION,
	TOLD_AFTER,    /* ours comes after two others */
	TOLD_BEFORE,   /* and before */
	TOLD_LAST,     /* as the last of as many as are stepped over */
	TOLD_TOO_MANY, /* one more */
	TOLD_TWICE,    /* one with port 1 before the right one */
	TOLD_CRITICAL, /* another is critical */
	TOLD_WORDS3,   /* ours has a word too many */
	TOLD_LONGEST,  /* another has all the words that its length can say */
};

struct told {
	enum told_mode mode;
	enum told_shape shape;
	const char *from, *to; /* outer addresses; by ipopt `to` is the destination */
	const char *vip;
	uint16_t vip_port, port; /* of Geneve's option; by ipopt the first */
	uint8_t outer_tos;
	uint8_t words; /* of GUE's private data */
};

/*
 * The frame that arrives for `inner`, whose IP packet begins at ret->l4 where there is a tunnel.
 * By ipopt `inner` is the packet to the backend's address and port, with its checksums.
 */
void told_build(const struct told *told, const struct frame *inner, struct frame *ret);

/* Writes the right checksums of an IP packet's own header and of TCP, UDP, ICMP or ICMPv6. */
void told_finish(struct frame *frame);
/* Whether they are right. A UDP checksum of 0 is. */
bool told_is_right(const struct frame *frame);
