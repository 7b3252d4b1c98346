/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon's slow path: what the packet path cannot do, since it makes one frame of one. A
 * packet that is too big and may be fragmented comes up by the engine's ring, is cut here, each
 * piece is wrapped by the packet path's own code (engine/native.h), and leaves by a packet socket
 * (send.h). The inner packet is cut, not the outer one: a receiver of tunnels would have to put
 * together what came from every client, and agents do not; the backend's host does that anyway.
 */
#include "slow/cut.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
	HEADER_MIN = 20,
	UNIT = 8, /* offsets count these */
	DATAGRAM_MAX = 65535,
	FLAG_DF = 0x4000,
	FLAG_MF = 0x2000,
	OFFSET_MASK = 0x1fff,
	OPTION_END = 0,
	OPTION_NOP = 1,
	OPTION_COPIED = 0x80, /* goes into every piece */
};

static size_t get16(const uint8_t *at)
{
	return (size_t)at[0] << 8 | at[1];
}

static void put16(uint8_t *at, size_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static uint16_t checksum(const uint8_t *header, size_t length)
{
	size_t sum = 0;

	for (size_t i = 0; i < length; i += 2)
		sum += get16(header + i);
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* The header of later pieces has those options alone that say so. */
static bool copy_options(struct slow_cut *cut)
{
	size_t at = HEADER_MIN, to = HEADER_MIN;

	memset(cut->later, OPTION_END, sizeof(cut->later));
	memcpy(cut->later, cut->packet, HEADER_MIN);
	while (at < cut->header && cut->packet[at] != OPTION_END) {
		uint8_t kind = cut->packet[at];
		size_t length = 1;

		if (kind != OPTION_NOP)
			length = at + 1 < cut->header ? cut->packet[at + 1] : 0;
		if (kind != OPTION_NOP && (length < 2 || length > cut->header - at))
			return false;
		if (kind & OPTION_COPIED) {
			memcpy(cut->later + to, cut->packet + at, length);
			to += length;
		}
		at += length;
	}
	cut->later_length = (to + 3) / 4 * 4;
	cut->later[0] = (uint8_t)(0x40 | cut->later_length / 4);
	return true;
}

int slow_cut_begin(struct slow_cut *cut, const uint8_t *packet, size_t length, size_t mtu)
{
	size_t header, total, fragment, data;

	if (length < HEADER_MIN || packet[0] >> 4 != 4)
		return -EINVAL;
	header = (size_t)(packet[0] & 15) * 4;
	total = get16(packet + 2);
	fragment = get16(packet + 6);
	if (header < HEADER_MIN || header > total || total > length || checksum(packet, header))
		return -EINVAL;
	data = total - header;
	if (fragment & FLAG_DF)
		return -EPERM;
	if (fragment & FLAG_MF && data % UNIT)
		return -EINVAL;
	if ((fragment & OFFSET_MASK) * UNIT + total > DATAGRAM_MAX)
		return -EINVAL;
	if (mtu < header + UNIT)
		return -EMSGSIZE;
	*cut = (struct slow_cut){.packet = packet, .header = header, .end = data, .mtu = mtu};
	return copy_options(cut) ? 0 : -EINVAL;
}

size_t slow_cut_next(struct slow_cut *cut, uint8_t *piece)
{
	bool first = cut->at == 0;
	size_t header = first ? cut->header : cut->later_length;
	size_t fragment = get16(cut->packet + 6);
	size_t data = cut->end - cut->at, most = cut->mtu - header;

	/* A packet without data is one piece. */
	if (cut->at > cut->end || (data == 0 && !first))
		return 0;
	if (data > most) {
		data = most / UNIT * UNIT;
		fragment |= FLAG_MF;
	}
	memcpy(piece, first ? cut->packet : cut->later, header);
	memcpy(piece + header, cut->packet + cut->header + cut->at, data);
	put16(piece + 2, header + data);
	put16(piece + 6, fragment + cut->at / UNIT);
	put16(piece + 10, 0);
	put16(piece + 10, checksum(piece, header));
	cut->at += data ? data : 1;
	return header + data;
}
