/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control packet:
 *
 *   byte 0   version (3 bits), diagnostic (5)
 *        1   state (2), poll, final, independent of the control plane, authenticated, demand,
 *            multipoint
 *        2   multiplier
 *        3   length
 *        4   the sender's discriminator, then ours as it knows it, then its three intervals
 *
 * What follows the length in the datagram is not ours to read, so it is not looked at.
 */
#include "bfd/wire.h"

enum {
	VERSION = 1,
	FLAG_POLL = 1 << 5,
	FLAG_FINAL = 1 << 4,
	FLAG_INDEPENDENT = 1 << 3,
	FLAG_AUTHENTICATED = 1 << 2,
	FLAG_DEMAND = 1 << 1,
	FLAG_MULTIPOINT = 1 << 0,
};

static uint32_t read32(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

static void write32(uint8_t *bytes, uint32_t value)
{
	bytes[0] = (uint8_t)(value >> 24);
	bytes[1] = (uint8_t)(value >> 16);
	bytes[2] = (uint8_t)(value >> 8);
	bytes[3] = (uint8_t)value;
}

/* Both at once would be an answer that asks; section 4.1 forbids it. */
static bool flags_ok(uint8_t flags)
{
	return !(flags & FLAG_MULTIPOINT) &&
	       (flags & (FLAG_POLL | FLAG_FINAL)) != (FLAG_POLL | FLAG_FINAL);
}

/* Who does not know our discriminator yet cannot have heard us (section 6.8.6). */
static bool state_ok(const struct bfd_packet *packet)
{
	return packet->your || packet->state == BFD_DOWN || packet->state == BFD_ADMIN_DOWN;
}

enum bfd_verdict bfd_packet_parse(const uint8_t *bytes, size_t length, struct bfd_packet *ret)
{
	struct bfd_packet packet;

	if (length < BFD_PACKET_LENGTH || bytes[0] >> 5 != VERSION)
		return BFD_PACKET_MALFORMED;
	if (bytes[3] < BFD_PACKET_LENGTH || bytes[3] > length || !flags_ok(bytes[1]))
		return BFD_PACKET_MALFORMED;
	packet = (struct bfd_packet){
		.diag = bytes[0] & 0x1f,
		.state = bytes[1] >> 6,
		.poll = bytes[1] & FLAG_POLL,
		.final = bytes[1] & FLAG_FINAL,
		.independent = bytes[1] & FLAG_INDEPENDENT,
		.demand = bytes[1] & FLAG_DEMAND,
		.multiplier = bytes[2],
		.own = read32(bytes + 4),
		.your = read32(bytes + 8),
		.send_us = read32(bytes + 12),
		.receive_us = read32(bytes + 16),
		.echo_us = read32(bytes + 20),
	};
	if (!packet.multiplier || !packet.own || !state_ok(&packet))
		return BFD_PACKET_MALFORMED;
	if (bytes[1] & FLAG_AUTHENTICATED)
		return BFD_PACKET_AUTHENTICATED;
	*ret = packet;
	return BFD_PACKET_OK;
}

void bfd_packet_format(const struct bfd_packet *packet, uint8_t bytes[BFD_PACKET_LENGTH])
{
	bytes[0] = (uint8_t)(VERSION << 5 | (packet->diag & 0x1f));
	bytes[1] = (uint8_t)(packet->state << 6 | (packet->poll ? FLAG_POLL : 0) |
			     (packet->final ? FLAG_FINAL : 0) |
			     (packet->independent ? FLAG_INDEPENDENT : 0) |
			     (packet->demand ? FLAG_DEMAND : 0));
	bytes[2] = packet->multiplier;
	bytes[3] = BFD_PACKET_LENGTH;
	write32(bytes + 4, packet->own);
	write32(bytes + 8, packet->your);
	write32(bytes + 12, packet->send_us);
	write32(bytes + 16, packet->receive_us);
	write32(bytes + 20, packet->echo_us);
}

const char *bfd_diag_text(uint8_t diag)
{
	static const char *const texts[] = {
		[BFD_DIAG_NONE] = "",
		[BFD_DIAG_EXPIRED] = "nothing received within the detection time",
		[BFD_DIAG_ECHO] = "the echo function failed",
		[BFD_DIAG_NEIGHBOUR] = "the neighbour signalled down",
		[BFD_DIAG_FORWARDING] = "the forwarding plane was reset",
		[BFD_DIAG_PATH] = "the path is down",
		[BFD_DIAG_CONCATENATED] = "a concatenated path is down",
		[BFD_DIAG_ADMIN] = "switched off",
		[BFD_DIAG_REVERSE] = "a reverse concatenated path is down",
	};

	return diag < sizeof(texts) / sizeof(*texts) ? texts[diag] : "an unknown diagnostic";
}
