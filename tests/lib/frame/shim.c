// SPDX-License-Identifier: BSD-2-Clause
/*
 * Checksums by another way than the packet path's: the ones that come are not updated by what
 * changes, but chosen so that the sum over all that they cover is, modulo 65535, what it was. So a
 * right one stays right, and a wrong one is wrong by the same.
 */
#include "tests/lib/frame/shim.h"

#include <netinet/in.h>
#include <string.h>

#include "tests/lib/frame/place.h"

enum { ONES = 65535, OPTION4 = 8, OPTION6 = 24 };

static size_t address_length(bool ipv4)
{
	return ipv4 ? 4 : 16;
}

size_t shim_length(const struct frame_tunnel *tunnel, bool inner4)
{
	switch (tunnel->mode) {
	case FRAME_GRE: return 4;
	case FRAME_GUE: return 8;
	case FRAME_GENEVE: return 8 + 8 + 4 + 4 + address_length(inner4);
	case FRAME_GUE0: return 8 + 4 + 4 + address_length(tunnel->outer4);
	default: return 0;
	}
}

uint8_t shim_proto(const struct frame_tunnel *tunnel, bool inner4)
{
	switch (tunnel->mode) {
	case FRAME_GRE: return 47;
	case FRAME_GUE:
	case FRAME_GENEVE:
	case FRAME_GUE0: return 17;
	default: return inner4 ? 4 : 41;
	}
}

/* RFC 8926, sections 3.4 and 3.5. */
static void write_geneve(const struct frame_tunnel *tunnel, const uint8_t *ip, uint8_t *at)
{
	bool inner4 = ip[0] >> 4 == 4;
	size_t address = address_length(inner4);

	frame_put(at, 1, (uint32_t)(8 + address) / 4);
	frame_put(at + 2, 2, inner4 ? 0x0800 : 0x86dd);
	frame_put(at + 8, 4, 0xff570100 | (uint32_t)(4 + address) / 4);
	frame_put(at + 12, 2, tunnel->vip_port);
	frame_put(at + 14, 2, tunnel->port);
	memcpy(at + 16, ip + (inner4 ? 16 : 24), address);
}

/* The draft, section 3.1, and the private data. */
static void write_gue0(const struct frame_tunnel *tunnel, bool inner4, uint8_t *at)
{
	size_t address = address_length(tunnel->outer4);

	frame_put(at, 1, (uint32_t)(4 + address) / 4);
	frame_put(at + 1, 1, inner4 ? 4 : 41);
	frame_put(at + 4, 4, 0x01000000 | tunnel->other_family);
	memcpy(at + 8, tunnel->other, address);
}

void shim_write(const struct frame_tunnel *tunnel, const uint8_t *ip, size_t length, uint8_t *at)
{
	bool inner4 = ip[0] >> 4 == 4;

	if (tunnel->mode == FRAME_GRE) {
		frame_put(at + 2, 2, inner4 ? 0x0800 : 0x86dd);
		return;
	}
	if (shim_proto(tunnel, inner4) != 17)
		return;
	/* RFC 768: ports, length, no checksum. */
	frame_put(at, 2, tunnel->sport);
	frame_put(at + 2, 2, tunnel->mode == FRAME_GENEVE ? 6081 : 6080);
	frame_put(at + 4, 2, (uint32_t)(length + shim_length(tunnel, inner4)));
	if (tunnel->mode == FRAME_GENEVE)
		write_geneve(tunnel, ip, at + 8);
	else if (tunnel->mode == FRAME_GUE0)
		write_gue0(tunnel, inner4, at + 8);
}

/* --- ipopt --- */

size_t shim_option_length(bool ipv4)
{
	return ipv4 ? OPTION4 : OPTION6;
}

/* Modulo 65535, where an odd last byte is a word's first. */
static uint32_t sum_of(const uint8_t *bytes, size_t length)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < length; i++)
		sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
	return (uint32_t)(sum % ONES);
}

/* What has to stand where there is 0 now, for a sum of `wanted`. */
static uint16_t fill_sum(uint32_t wanted, uint32_t sum)
{
	return (uint16_t)((wanted + ONES - sum % ONES) % ONES);
}

static void write_option4(const struct frame_tunnel *tunnel, const uint8_t *ip, uint8_t *at)
{
	size_t header = (size_t)(ip[0] & 15) * 4;

	memcpy(at, ip, 20);
	frame_put(at + 20, 2, 0x9a08);
	frame_put(at + 22, 2, tunnel->vip_port);
	memcpy(at + 24, ip + 16, 4);
	memcpy(at + 28, ip + 20, header - 20);
	frame_put(at, 1, (uint32_t)(0x40 | (header + OPTION4) / 4));
	frame_put(at + 2, 2, (uint32_t)(ip[2] << 8 | ip[3]) + OPTION4);
	memcpy(at + 16, tunnel->dst, 4);
	frame_put(at + 10, 2, 0);
	frame_put(at + 10, 2, fill_sum(sum_of(ip, header), sum_of(at, header + OPTION4)));
}

static void write_option6(const struct frame_tunnel *tunnel, const uint8_t *ip, uint8_t *at)
{
	memcpy(at, ip, 40);
	frame_put(at + 4, 2, (uint32_t)(ip[4] << 8 | ip[5]) + OPTION6);
	frame_put(at + 6, 1, IPPROTO_DSTOPTS);
	memcpy(at + 24, tunnel->dst, 16);
	frame_put(at + 40, 4, (uint32_t)ip[6] << 24 | 0x021b12);
	frame_put(at + 44, 2, tunnel->vip_port);
	memcpy(at + 46, ip + 24, 16);
	frame_put(at + 62, 2, 0x0100);
}

/* `l4` is the header as it goes, `length` bytes to the packet's end. */
static void change_l4(const struct frame_tunnel *tunnel, const struct place *place,
		      const uint8_t *ip, size_t length, uint8_t *l4)
{
	bool ipv4 = ip[0] >> 4 == 4;
	size_t address = address_length(ipv4), check = place->proto == IPPROTO_TCP ? 16 : 6;
	uint32_t before = sum_of(ip + (ipv4 ? 16 : 24), address) + sum_of(l4, length), after;
	uint16_t sum;

	frame_put(l4 + 2, 2, tunnel->port);
	if (place->proto == IPPROTO_UDP && l4[check] == 0 && l4[check + 1] == 0)
		return;
	frame_put(l4 + check, 2, 0);
	after = sum_of(tunnel->dst, address) + sum_of(l4, length);
	sum = fill_sum(before, after);
	frame_put(l4 + check, 2, place->proto == IPPROTO_UDP && sum == 0 ? 0xffff : sum);
}

void shim_write_option(const struct frame_tunnel *tunnel, const uint8_t *ip, size_t length,
		       uint8_t *at)
{
	bool ipv4 = ip[0] >> 4 == 4;
	size_t packet = ipv4 ? (size_t)(ip[2] << 8 | ip[3]) : 40 + (size_t)(ip[4] << 8 | ip[5]);
	size_t header = ipv4 ? (size_t)(ip[0] & 15) * 4 : 40, option = shim_option_length(ipv4);
	struct place place = place_find(ip, packet);

	if (ipv4)
		write_option4(tunnel, ip, at);
	else
		write_option6(tunnel, ip, at);
	memcpy(at + header + option, ip + header, length - header);
	if (!place.later && (place.proto == IPPROTO_TCP || place.proto == IPPROTO_UDP))
		change_l4(tunnel, &place, ip, packet - place.at, at + place.at + option);
}
