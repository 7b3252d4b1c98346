/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames by the modes that tell of a VIP and its port beside the packet, as a balancer sends them,
 * and GUE's variant 0: built by their own hand, sharing no code with src/tunnel.
 */
#pragma once

#include <stdbool.h>

#include "decap/abi_agent.h"
#include "tests/lib/frame/frame.h"

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

/* `at` counts from the outer IP header, or from the inner one. */
struct told_lie {
	enum { TOLD_OUTER = 1, TOLD_INNER } in;
	uint16_t at, size;
	uint32_t value;
};

/* A zero in `told` is what an honest balancer writes for the packet. */
struct told_row {
	const char *name;
	struct told told;
	struct frame_spec spec; /* as the client sent it */
	uint16_t server;        /* the port that it must come to; 0: as it is */
	enum agent_verdict verdict;
	bool untouched; /* there is no transport header in it */
	uint8_t tos_result;
	struct told_lie lies[2];
};

extern const struct told_row told_rows[];
extern const size_t told_row_count;

/*
 * The frame that arrives for `inner`, whose IP packet begins at ret->l4 where there is a tunnel.
 * By ipopt `inner` is the packet to the backend's address and port, with its checksums.
 */
void told_build(const struct told *told, const struct frame *inner, struct frame *ret);

/* Writes the right checksums of an IP packet's own header and of TCP, UDP, ICMP or ICMPv6. */
void told_finish(struct frame *frame);
/* Whether they are right. A UDP checksum of 0 is. */
bool told_is_right(const struct frame *frame);
