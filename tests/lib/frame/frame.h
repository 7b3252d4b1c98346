/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Builds the frames that tests send, from a description in which 0 is the usual: an honest frame
 * with right lengths and checksums. Lies are said apart and come last: patches, then padding,
 * then a cut. Also builds what the packet path should make of a frame, by its own hand: nothing
 * here shares code with src/pkt. Addresses are text; a bad one aborts the test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FRAME_MAX = 4096,
	FRAME_ETH = 14,
	FRAME_PATCHES = 3,
	FRAME_EXTENSIONS = 6,
};

#define FRAME_CLIENT_MAC "\x02\x00\x00\x00\xc1\x01"
#define FRAME_NODE_MAC   "\x02\x00\x00\x00\x10\x01"

enum { FRAME_FIN = 1, FRAME_SYN = 2, FRAME_RST = 4, FRAME_PSH = 8, FRAME_ACK = 16 };

enum frame_layer { FRAME_AT_LINK, FRAME_AT_IP, FRAME_AT_L4 };

/* IPv6 extension headers, 8 bytes each. */
enum frame_extension {
	FRAME_EXT_END,
	FRAME_EXT_HOP,
	FRAME_EXT_ROUTING,
	FRAME_EXT_FRAGMENT,
	FRAME_EXT_DESTINATION,
};

/* Writes `size` bytes (1, 2 or 4; 0: no patch) of `value`, in network order. */
struct frame_patch {
	enum frame_layer layer;
	uint8_t offset;
	uint8_t size;
	uint32_t value;
};

struct frame_spec {
	const char *src, *dst; /* the family is theirs; without: no IP, the payload alone */
	uint16_t sport, dport; /* 40000 and 80 by default */
	uint8_t proto;         /* TCP by default; ICMP and ICMPv6 get a header too */
	uint8_t tcp_flags;     /* ACK by default */
	uint8_t tcp_options;   /* bytes, a multiple of 4 */
	uint16_t mss;          /* TCP: an option, the first; it needs 4 bytes of them */
	uint8_t icmp_type;     /* echo request by default */
	uint8_t ip_options;    /* IPv4: bytes, a multiple of 4 */
	uint8_t tos;           /* or traffic class */
	uint8_t ttl;           /* or hop limit; 63 by default */
	uint8_t vlans;         /* tags: 1 is 802.1Q, 2 puts an 802.1ad one before it */
	uint16_t ethertype;    /* in place of the right one */
	uint16_t frag;         /* flags and offset, as IPv4's or the fragment header has them */
	uint16_t payload;      /* bytes after the last header */
	const struct frame_spec *quote;       /* an IP packet that stands before the payload ... */
	uint16_t quote_length;                /* ... with this many bytes of it; else the whole */
	uint8_t extensions[FRAME_EXTENSIONS]; /* enum frame_extension */
	struct frame_patch patches[FRAME_PATCHES];
	bool keep_ip_checksum; /* else it is made right again after the patches */
	uint16_t padding;      /* bytes after the packet, as short Ethernet frames have */
	uint16_t cut;          /* bytes taken off the end */
};

struct frame {
	uint8_t bytes[FRAME_MAX];
	size_t length;
	size_t ip; /* where its header begins; so for the next */
	size_t l4;
};

void frame_build(const struct frame_spec *spec, struct frame *ret);

enum frame_mode {
	FRAME_IPIP,
	FRAME_GRE,
	FRAME_GUE,
	FRAME_L2DSR,
	FRAME_GENEVE,
	FRAME_IPOPT,
	FRAME_GUE0,
};

/* What a tunnel adds; addresses in network order, 4 or 16 bytes by `outer4`. */
struct frame_tunnel {
	enum frame_mode mode;
	bool outer4;
	uint16_t sport; /* of what is in UDP */
	uint8_t src[16], dst[16];
	uint8_t src_mac[6], dst_mac[6];
	uint32_t flow_label;
	bool untagged;           /* VLAN tags do not go along */
	uint16_t vip_port, port; /* of Geneve and ipopt: as it came, and to deliver to */
	uint8_t other_family;    /* of GUE's variant 0: the other owner; 0: none */
	uint8_t other[16];
};

/* Where the packet begins: behind the Ethernet header and at most two VLAN tags. */
size_t frame_link_length(const uint8_t *bytes, size_t length);

/* The frame that should leave for `inner`: only for IP frames; l4 is where the inner packet
 * begins. */
void frame_encapsulate(const uint8_t *inner, size_t length, const struct frame_tunnel *tunnel,
		       struct frame *ret);

/* RFC 1071 over `length` bytes, starting from `sum`; a right header gives 0 with its own in it. */
uint16_t frame_checksum(const void *data, size_t length, uint32_t sum);

/* Hex without blanks into `text`, of 2 * length + 1 bytes. */
void frame_hex(const uint8_t *bytes, size_t length, char *text);
/* The frame in hex, on standard error. */
void frame_say(const uint8_t *bytes, size_t length);

/* Writes `size` bytes of `value` in network order. */
void frame_put(uint8_t *at, size_t size, uint32_t value);
/* To damage frames with: any number, the same ones in every run. */
uint64_t frame_random(void);
