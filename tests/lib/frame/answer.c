// SPDX-License-Identifier: BSD-2-Clause
#include "tests/lib/frame/answer.h"

#include <netinet/in.h>
#include <string.h>

enum { IPV4_HEADER = 20, IPV6_HEADER = 40, ICMP_HEADER = 8, TTL = 64 };

/* The headers from the packet's destination to its source; `length` of the IP packet. */
static void begin(const uint8_t *frame, size_t length, struct frame *ret)
{
	const uint8_t *ip = frame + FRAME_ETH;
	uint8_t *to = ret->bytes + FRAME_ETH;

	memset(ret, 0, sizeof(*ret));
	memcpy(ret->bytes, frame + 6, 6);
	memcpy(ret->bytes + 6, frame, 6);
	memcpy(ret->bytes + 12, frame + 12, 2);
	ret->length = FRAME_ETH + length;
	ret->ip = FRAME_ETH;
	if (ip[0] >> 4 == 4) {
		ret->l4 = FRAME_ETH + IPV4_HEADER;
		to[0] = 0x45;
		frame_put(to + 2, 2, (uint32_t)length);
		to[8] = TTL;
		to[9] = IPPROTO_ICMP;
		memcpy(to + 12, ip + 16, 4);
		memcpy(to + 16, ip + 12, 4);
		return;
	}
	ret->l4 = FRAME_ETH + IPV6_HEADER;
	to[0] = 0x60;
	frame_put(to + 4, 2, (uint32_t)length - IPV6_HEADER);
	to[6] = IPPROTO_ICMPV6;
	to[7] = TTL;
	memcpy(to + 8, ip + 24, 16);
	memcpy(to + 24, ip + 8, 16);
}

static void finish(struct frame *ret)
{
	uint8_t *ip = ret->bytes + FRAME_ETH, *icmp = ret->bytes + ret->l4;
	size_t length = ret->length - ret->l4;
	uint32_t pseudo = 0;

	frame_put(icmp + 2, 2, 0);
	if (ip[0] >> 4 == 4) {
		frame_put(ip + 10, 2, 0);
		frame_put(ip + 10, 2, frame_checksum(ip, IPV4_HEADER, 0));
	} else {
		pseudo = IPPROTO_ICMPV6 + (uint32_t)length +
			 (uint16_t)~frame_checksum(ip + 8, 32, 0);
	}
	frame_put(icmp + 2, 2, frame_checksum(icmp, length, pseudo));
}

void answer_echo(const uint8_t *frame, size_t length, struct frame *ret)
{
	const uint8_t *ip = frame + FRAME_ETH;
	bool ipv4 = ip[0] >> 4 == 4;
	size_t packet = ipv4 ? (size_t)(ip[2] << 8 | ip[3])
			     : IPV6_HEADER + (size_t)(ip[4] << 8 | ip[5]);
	uint16_t was = 0, is;
	uint8_t *icmp;

	begin(frame, packet, ret);
	if (ipv4)
		memcpy(ret->bytes + FRAME_ETH + 4, ip + 4, 2);
	icmp = ret->bytes + ret->l4;
	memcpy(icmp, frame + ret->l4, ret->length - ret->l4);
	memcpy(&was, icmp + 2, 2);
	finish(ret); /* of the request: is its checksum right? */
	memcpy(&is, icmp + 2, 2);
	icmp[0] = ipv4 ? 0 : 129;
	finish(ret);
	/* A wrong one must stay wrong, by as much: the sender is the one to see it. */
	if (was != is) {
		uint32_t sum =
			(uint32_t)(icmp[2] << 8 | icmp[3]) + ntohs(was) + (uint16_t)~ntohs(is);

		while (sum > 0xffff)
			sum = (sum & 0xffff) + (sum >> 16);
		frame_put(icmp + 2, 2, sum);
	}
	/* Of all zeros the sum must be minus zero: that one is written always. */
	if (icmp[2] == 0 && icmp[3] == 0)
		frame_put(icmp + 2, 2, 0xffff);
	/* Padding goes back where it came from. */
	memcpy(ret->bytes + ret->length, frame + ret->length, length - ret->length);
	ret->length = length;
}

/* Quotes at most what leaves room for the headers in 576 or 1280 bytes, in whole words. */
static void put_error(const uint8_t *frame, unsigned type, unsigned code, uint32_t rest,
		      struct frame *ret)
{
	const uint8_t *ip = frame + FRAME_ETH;
	bool ipv4 = ip[0] >> 4 == 4;
	size_t quote = ipv4 ? (size_t)(ip[2] << 8 | ip[3])
			    : IPV6_HEADER + (size_t)(ip[4] << 8 | ip[5]);
	size_t header = ipv4 ? IPV4_HEADER : IPV6_HEADER;
	size_t most = (ipv4 ? 576 : 1280) - header - ICMP_HEADER;
	uint8_t *icmp;

	/* Whole words of the packet, and so nothing of its padding. */
	quote = quote < most ? quote / 4 * 4 : most;
	begin(frame, header + ICMP_HEADER + quote, ret);
	if (ipv4)
		frame_put(ret->bytes + FRAME_ETH + 6, 2, 0x4000);
	icmp = ret->bytes + ret->l4;
	icmp[0] = (uint8_t)type;
	icmp[1] = (uint8_t)code;
	frame_put(icmp + 4, 4, rest);
	memcpy(icmp + ICMP_HEADER, ip, quote);
	finish(ret);
}

void answer_too_big(const uint8_t *frame, size_t length, uint32_t fits, struct frame *ret)
{
	bool ipv4 = frame[FRAME_ETH] >> 4 == 4;

	(void)length;
	put_error(frame, ipv4 ? 3 : 2, ipv4 ? 4 : 0, !ipv4 && fits < 1280 ? 1280 : fits, ret);
}

void answer_no_port(const uint8_t *frame, struct frame *ret)
{
	bool ipv4 = frame[FRAME_ETH] >> 4 == 4;

	put_error(frame, ipv4 ? 3 : 1, ipv4 ? 3 : 4, 0, ret);
}

static uint32_t get32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

void answer_reset(const uint8_t *frame, size_t at, struct frame *ret)
{
	enum { TCP_HEADER = 20 };
	const uint8_t *ip = frame + FRAME_ETH, *tcp = frame + at;
	bool ipv4 = ip[0] >> 4 == 4;
	size_t header = ipv4 ? IPV4_HEADER : IPV6_HEADER;
	size_t end = ipv4 ? (size_t)(ip[2] << 8 | ip[3])
			  : IPV6_HEADER + (size_t)(ip[4] << 8 | ip[5]);
	uint32_t pseudo = IPPROTO_TCP + TCP_HEADER, data;
	uint8_t *to;

	data = (uint32_t)(FRAME_ETH + end - at) - (uint32_t)(tcp[12] >> 4) * 4;
	begin(frame, header + TCP_HEADER, ret);
	to = ret->bytes + FRAME_ETH;
	to[ipv4 ? 9 : 6] = IPPROTO_TCP;
	if (ipv4) {
		frame_put(to + 6, 2, 0x4000);
		frame_put(to + 10, 2, frame_checksum(to, IPV4_HEADER, 0));
	}
	pseudo += (uint16_t)~frame_checksum(to + (ipv4 ? 12 : 8), ipv4 ? 8 : 32, 0);
	to = ret->bytes + ret->l4;
	memcpy(to, tcp + 2, 2);
	memcpy(to + 2, tcp, 2);
	to[12] = TCP_HEADER / 4 << 4;
	to[13] = FRAME_RST;
	if (tcp[13] & FRAME_ACK) {
		memcpy(to + 4, tcp + 8, 4);
	} else {
		if (tcp[13] & FRAME_SYN)
			data++;
		if (tcp[13] & FRAME_FIN)
			data++;
		frame_put(to + 8, 4, get32(tcp + 4) + data);
		to[13] |= FRAME_ACK;
	}
	frame_put(to + 16, 2, frame_checksum(to, TCP_HEADER, pseudo));
}
