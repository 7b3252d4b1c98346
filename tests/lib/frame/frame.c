// SPDX-License-Identifier: BSD-2-Clause
/*
 * The frame builder. A spec is laid down front to back: link, IP, extension headers, L4, payload;
 * lengths and checksums are written when the end is known. Lies come after all that, so that one
 * lie changes one thing: a wrong total length leaves the TCP checksum as it was, and the IPv4
 * checksum is made right again, for a packet path that believed it would else refuse the frame
 * for another reason than the row means.
 *
 * The encapsulator writes the outer headers from RFC 2003, 2473 and 4213 (those of other modes:
 * shim.c) as the packet path's documentation fixes the free fields (DF, id 0, TTL 64, no UDP
 * checksum). It is slow and plain on purpose: it is the twin that the packet path is compared with.
 */
#include "tests/lib/frame/frame.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/addr.h"

#include "tests/lib/frame/shim.h"

enum { IPV4_HEADER = 20, IPV6_HEADER = 40, OUTER_TTL = 64, EXTENSION_LENGTH = 8 };

static void put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, (uint16_t)(value >> 16));
	put16(at + 2, (uint16_t)value);
}

static uint16_t get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

/* The next `size` bytes, zeroed. */
static uint8_t *extend(struct frame *frame, size_t size)
{
	uint8_t *at = frame->bytes + frame->length;

	assert(frame->length + size <= FRAME_MAX);
	memset(at, 0, size);
	frame->length += size;
	return at;
}

static struct addr parse(const char *text)
{
	struct addr addr;

	if (addr_parse(text, &addr) != 0)
		assert(!"an address that a test gave");
	return addr;
}

uint16_t frame_checksum(const void *data, size_t length, uint32_t sum)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i + 1 < length; i += 2)
		sum += get16(bytes + i);
	if (length % 2 != 0)
		sum += (uint32_t)bytes[length - 1] << 8;
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void write_link(const struct frame_spec *spec, struct frame *frame, uint16_t ethertype)
{
	uint8_t *at = extend(frame, 12);

	memcpy(at, FRAME_NODE_MAC, 6);
	memcpy(at + 6, FRAME_CLIENT_MAC, 6);
	for (unsigned int left = spec->vlans; left > 0; left--) {
		at = extend(frame, 4);
		put16(at, left > 1 ? 0x88a8 : 0x8100);
		put16(at + 2, (uint16_t)(100 + left));
	}
	put16(extend(frame, 2), spec->ethertype ? spec->ethertype : ethertype);
}

static void write_ipv4(const struct frame_spec *spec, struct frame *frame, uint8_t proto)
{
	struct addr src = parse(spec->src), dst = parse(spec->dst);
	uint8_t *at = extend(frame, IPV4_HEADER + (size_t)spec->ip_options);

	at[0] = (uint8_t)(0x40 | (IPV4_HEADER + spec->ip_options) / 4);
	at[1] = spec->tos;
	put16(at + 4, 0x1234);
	put16(at + 6, spec->frag);
	at[8] = spec->ttl ? spec->ttl : 63;
	at[9] = proto;
	memcpy(at + 12, src.bytes + 12, 4);
	memcpy(at + 16, dst.bytes + 12, 4);
	memset(at + IPV4_HEADER, 1, spec->ip_options); /* no-operation options */
}

static uint8_t extension_proto(uint8_t extension)
{
	switch (extension) {
	case FRAME_EXT_HOP: return IPPROTO_HOPOPTS;
	case FRAME_EXT_ROUTING: return IPPROTO_ROUTING;
	case FRAME_EXT_FRAGMENT: return IPPROTO_FRAGMENT;
	default: return IPPROTO_DSTOPTS;
	}
}

/* Each header names the one after it, the last one `proto`. */
static void write_ipv6(const struct frame_spec *spec, struct frame *frame, uint8_t proto)
{
	struct addr src = parse(spec->src), dst = parse(spec->dst);
	uint8_t *at = extend(frame, IPV6_HEADER), *next = at + 6;

	put32(at, 6U << 28 | (uint32_t)spec->tos << 20 | 0xbeef);
	at[7] = spec->ttl ? spec->ttl : 63;
	memcpy(at + 8, src.bytes, 16);
	memcpy(at + 24, dst.bytes, 16);
	for (int i = 0; i < FRAME_EXTENSIONS && spec->extensions[i] != FRAME_EXT_END; i++) {
		*next = extension_proto(spec->extensions[i]);
		next = extend(frame, EXTENSION_LENGTH);
		if (spec->extensions[i] == FRAME_EXT_FRAGMENT)
			put16(next + 2, spec->frag);
		else if (spec->extensions[i] != FRAME_EXT_ROUTING)
			put16(next + 2, 0x0104); /* PadN over the remaining six bytes */
	}
	*next = proto;
}

static void write_l4(const struct frame_spec *spec, struct frame *frame, uint8_t proto)
{
	uint8_t *at;

	if (proto == IPPROTO_TCP) {
		at = extend(frame, 20 + (size_t)spec->tcp_options);
		put32(at + 4, 0x01020304);
		put32(at + 8, 0x0a0b0c0d);
		at[12] = (uint8_t)((20 + spec->tcp_options) / 4 << 4);
		at[13] = spec->tcp_flags ? spec->tcp_flags : FRAME_ACK;
		put16(at + 14, 0xfaf0);
		memset(at + 20, 1, spec->tcp_options);
		if (spec->mss)
			put32(at + 20, 0x02040000U | spec->mss);
	} else if (proto == IPPROTO_UDP) {
		at = extend(frame, 8);
		put16(at + 4, (uint16_t)(8 + spec->payload));
	} else if (proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6) {
		at = extend(frame, 8);
		at[0] = spec->icmp_type ? spec->icmp_type : proto == IPPROTO_ICMP ? 8 : 128;
		put16(at + 4, 77);
		return;
	} else {
		return;
	}
	put16(at, spec->sport ? spec->sport : 40000);
	put16(at + 2, spec->dport ? spec->dport : 80);
}

static void write_payload(struct frame *frame, size_t length)
{
	uint8_t *at = extend(frame, length);

	for (size_t i = 0; i < length; i++)
		at[i] = (uint8_t)(i * 7 + 1);
}

/* As an ICMP error has it. One deep: what is quoted quotes nothing. */
static void write_quote(const struct frame_spec *spec, struct frame *frame)
{
	struct frame quoted;
	size_t length;

	if (!spec->quote)
		return;
	assert(!spec->quote->quote);
	frame_build(spec->quote, &quoted);
	length = spec->quote_length ? spec->quote_length : quoted.length - quoted.ip;
	assert(length <= quoted.length - quoted.ip);
	memcpy(extend(frame, length), quoted.bytes + quoted.ip, length);
}

static void finish_l4(struct frame *frame, bool ipv4, uint8_t proto)
{
	uint8_t *ip = frame->bytes + frame->ip, *l4 = frame->bytes + frame->l4;
	size_t length = frame->length - frame->l4, addresses = ipv4 ? 8 : 32;
	size_t place = proto == IPPROTO_TCP ? 16 : proto == IPPROTO_UDP ? 6 : 2;
	uint32_t pseudo = proto + (uint32_t)length;
	uint16_t sum;

	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP && proto != IPPROTO_ICMP &&
	    proto != IPPROTO_ICMPV6)
		return;
	if (proto == IPPROTO_ICMP)
		pseudo = 0;
	else
		pseudo += (uint16_t)~frame_checksum(ip + (ipv4 ? 12 : 8), addresses, 0);
	sum = frame_checksum(l4, length, pseudo);
	put16(l4 + place, proto == IPPROTO_UDP && sum == 0 ? 0xffff : sum);
}

static void finish_ipv4_checksum(struct frame *frame, size_t header)
{
	uint8_t *ip = frame->bytes + frame->ip;

	put16(ip + 10, 0);
	put16(ip + 10, frame_checksum(ip, header, 0));
}

static void apply_patch(struct frame *frame, const struct frame_patch *patch)
{
	size_t at = patch->layer == FRAME_AT_LINK ? 0
		    : patch->layer == FRAME_AT_IP ? frame->ip
						  : frame->l4;

	at += patch->offset;
	assert(at + patch->size <= frame->length);
	for (unsigned int i = 0; i < patch->size; i++)
		frame->bytes[at + i] = (uint8_t)(patch->value >> 8 * (patch->size - 1 - i));
}

static void tell_lies(const struct frame_spec *spec, struct frame *frame, bool ipv4)
{
	for (int i = 0; i < FRAME_PATCHES; i++)
		apply_patch(frame, &spec->patches[i]);
	if (ipv4 && !spec->keep_ip_checksum)
		finish_ipv4_checksum(frame, IPV4_HEADER + (size_t)spec->ip_options);
	memset(extend(frame, spec->padding), 0xee, spec->padding);
	assert(spec->cut <= frame->length);
	frame->length -= spec->cut;
}

void frame_build(const struct frame_spec *spec, struct frame *ret)
{
	uint8_t proto = spec->proto ? spec->proto : IPPROTO_TCP;
	struct addr dst = spec->dst ? parse(spec->dst) : (struct addr){0};
	bool ipv4 = spec->dst && addr_is4(&dst);

	memset(ret, 0, sizeof(*ret));
	write_link(spec, ret, !spec->dst ? 0x0806 : ipv4 ? 0x0800 : 0x86dd);
	ret->ip = ret->l4 = ret->length;
	if (!spec->dst) {
		write_payload(ret, spec->payload);
		tell_lies(spec, ret, false);
		return;
	}
	if (ipv4)
		write_ipv4(spec, ret, proto);
	else
		write_ipv6(spec, ret, proto);
	ret->l4 = ret->length;
	write_l4(spec, ret, proto);
	write_quote(spec, ret);
	write_payload(ret, spec->payload);
	if (ipv4)
		put16(ret->bytes + ret->ip + 2, (uint16_t)(ret->length - ret->ip));
	else
		put16(ret->bytes + ret->ip + 4, (uint16_t)(ret->length - ret->ip - IPV6_HEADER));
	finish_l4(ret, ipv4, proto);
	tell_lies(spec, ret, ipv4);
}

struct outer {
	const struct frame_tunnel *tunnel;
	uint8_t tos, proto;
	size_t length; /* of what it carries */
};

static void write_outer4(const struct outer *outer, struct frame *frame)
{
	uint8_t *at = extend(frame, IPV4_HEADER);

	at[0] = 0x45;
	at[1] = outer->tos;
	put16(at + 2, (uint16_t)(IPV4_HEADER + outer->length));
	put16(at + 6, 0x4000); /* DF */
	at[8] = OUTER_TTL;
	at[9] = outer->proto;
	memcpy(at + 12, outer->tunnel->src, 4);
	memcpy(at + 16, outer->tunnel->dst, 4);
	put16(at + 10, frame_checksum(at, IPV4_HEADER, 0));
}

static void write_outer6(const struct outer *outer, struct frame *frame)
{
	uint8_t *at = extend(frame, IPV6_HEADER);

	put32(at, 6U << 28 | (uint32_t)outer->tos << 20 | outer->tunnel->flow_label);
	put16(at + 4, (uint16_t)outer->length);
	at[6] = outer->proto;
	at[7] = OUTER_TTL;
	memcpy(at + 8, outer->tunnel->src, 16);
	memcpy(at + 24, outer->tunnel->dst, 16);
}

size_t frame_link_length(const uint8_t *bytes, size_t length)
{
	size_t link = FRAME_ETH;

	while (link < FRAME_ETH + 8 && length >= link + 4 &&
	       (get16(bytes + link - 2) == 0x8100 || get16(bytes + link - 2) == 0x88a8))
		link += 4;
	return link;
}

void frame_encapsulate(const uint8_t *inner, size_t length, const struct frame_tunnel *tunnel,
		       struct frame *ret)
{
	size_t link = frame_link_length(inner, length);
	const uint8_t *ip = inner + link;
	bool inner4 = get16(ip - 2) == 0x0800;
	size_t inner_length = inner4 ? get16(ip + 2) : (size_t)IPV6_HEADER + get16(ip + 4);
	struct outer outer = {
		.tunnel = tunnel,
		.tos = inner4 ? ip[1] : (uint8_t)(ip[0] << 4 | ip[1] >> 4),
		.proto = shim_proto(tunnel, inner4),
		.length = inner_length + shim_length(tunnel, inner4),
	};
	uint8_t *at;

	memset(ret, 0, sizeof(*ret));
	at = extend(ret, tunnel->untagged ? FRAME_ETH : link);
	memcpy(at, tunnel->dst_mac, 6);
	memcpy(at + 6, tunnel->src_mac, 6);
	if (!tunnel->untagged)
		memcpy(at + 12, inner + 12, link - FRAME_ETH);
	ret->ip = ret->l4 = ret->length;
	if (tunnel->mode == FRAME_L2DSR) {
		memcpy(ret->bytes + ret->length - 2, ip - 2, 2);
		memcpy(extend(ret, length - link), ip, length - link);
		return;
	}
	if (tunnel->mode == FRAME_IPOPT) {
		memcpy(ret->bytes + ret->length - 2, ip - 2, 2);
		at = extend(ret, length - link + shim_option_length(inner4));
		shim_write_option(tunnel, ip, length - link, at);
		return;
	}
	put16(ret->bytes + ret->length - 2, tunnel->outer4 ? 0x0800 : 0x86dd);
	if (tunnel->outer4)
		write_outer4(&outer, ret);
	else
		write_outer6(&outer, ret);
	shim_write(tunnel, ip, inner_length, extend(ret, shim_length(tunnel, inner4)));
	ret->l4 = ret->length;
	/* Everything after the link header goes along, padding too. */
	memcpy(extend(ret, length - link), ip, length - link);
}

void frame_hex(const uint8_t *bytes, size_t length, char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < length; i++) {
		*text++ = digits[bytes[i] >> 4];
		*text++ = digits[bytes[i] & 15];
	}
	*text = '\0';
}

void frame_say(const uint8_t *bytes, size_t length)
{
	static char text[2 * FRAME_MAX + 1];

	frame_hex(bytes, length, text);
	fprintf(stderr, "frame: %s\n", text);
}

void frame_put(uint8_t *at, size_t size, uint32_t value)
{
	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(value >> 8 * (size - 1 - i));
}

/* xorshift64 */
uint64_t frame_random(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}
