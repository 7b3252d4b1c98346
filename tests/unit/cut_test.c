// SPDX-License-Identifier: BSD-2-Clause
/*
 * The cutter against a slow receiver: pieces of random packets, of every size, path and kind of
 * options, cut once more on the way and in any order, are put together again byte by byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "../lib/frame/frame.h"
#include "slow/cut.h"

enum { PACKET_MAX = 65535, PIECES_MAX = 9000, DF = 0x4000, MF = 0x2000 };

/* A receiver: one byte of note for each byte of the datagram. */
static uint8_t received[PACKET_MAX + 8], seen[PACKET_MAX + 8];
static size_t received_end; /* known with the last piece */

static size_t get16(const uint8_t *at)
{
	return (size_t)at[0] * 256 + at[1];
}

static size_t random_below(size_t limit)
{
	return (size_t)(frame_random() % limit);
}

static void put_checksum(uint8_t *packet)
{
	frame_put(packet + 10, 2, 0);
	frame_put(packet + 10, 2, frame_checksum(packet, (size_t)(packet[0] & 15) * 4, 0));
}

static void receive_begin(void)
{
	memset(seen, 0, sizeof(seen));
	received_end = SIZE_MAX;
}

static void receive(const uint8_t *piece, size_t length)
{
	size_t header = (size_t)(piece[0] & 15) * 4, offset = (get16(piece + 6) & 0x1fff) * 8;

	assert_int_equal(frame_checksum(piece, header, 0), 0);
	assert_int_equal(get16(piece + 2), length);
	for (size_t i = 0; i < length - header; i++) {
		assert_true(offset + i < PACKET_MAX);
		assert_int_equal(seen[offset + i], 0);
		seen[offset + i] = 1;
		received[offset + i] = piece[header + i];
	}
	if (!(get16(piece + 6) & MF)) {
		assert_true(received_end == SIZE_MAX);
		received_end = offset + length - header;
	}
}

/* What stands in each place of `packet` from its own offset on, and nothing beside it. */
static void check_received(const uint8_t *packet, size_t length)
{
	size_t header = (size_t)(packet[0] & 15) * 4, offset = (get16(packet + 6) & 0x1fff) * 8;
	size_t end = offset + length - header;

	for (size_t i = 0; i < offset; i++)
		assert_int_equal(seen[i], 0);
	for (size_t i = offset; i < end; i++)
		assert_int_equal(seen[i], 1);
	assert_int_equal(seen[end], 0);
	assert_memory_equal(received + offset, packet + header, length - header);
	assert_true(received_end == (get16(packet + 6) & MF ? SIZE_MAX : end));
}

static size_t make_packet(uint8_t *packet, size_t options, size_t data, size_t fragment)
{
	size_t header = 20 + options;

	memset(packet, 0, header);
	packet[0] = (uint8_t)(0x40 | header / 4);
	packet[1] = (uint8_t)frame_random();
	frame_put(packet + 2, 2, (uint32_t)(header + data));
	frame_put(packet + 4, 2, (uint32_t)frame_random() & 0xffff);
	frame_put(packet + 6, 2, (uint32_t)fragment);
	packet[8] = (uint8_t)frame_random();
	packet[9] = 17;
	frame_put(packet + 12, 4, 0xcb007105);
	frame_put(packet + 16, 4, 0xc633640a);
	for (size_t i = 0; i < data; i++)
		packet[header + i] = (uint8_t)frame_random();
	put_checksum(packet);
	return header + data;
}

/* Options of every kind, of `room` bytes. */
static void make_options(uint8_t *packet, size_t room)
{
	uint8_t *at = packet + 20, *end = at + room;

	while (at < end) {
		size_t left = (size_t)(end - at), length = 2 + random_below(left);

		if (random_below(8) == 0)
			break; /* the rest is the end of options */
		if (left < 2 || random_below(3) == 0) {
			*at++ = 1;
			continue;
		}
		if (length > left)
			length = left;
		at[0] = (uint8_t)(random_below(2) ? 0x80 | 2 : 7);
		at[1] = (uint8_t)length;
		for (size_t i = 2; i < length; i++)
			at[i] = (uint8_t)frame_random();
		at += length;
	}
	put_checksum(packet);
}

/* The slow twin: those options that are copied, one after the other, filled up with zeros. */
static size_t copied_options(const uint8_t *packet, uint8_t *ret)
{
	size_t header = (size_t)(packet[0] & 15) * 4, length = 0;

	for (size_t at = 20; at < header && packet[at] != 0;) {
		size_t size = packet[at] == 1 ? 1 : packet[at + 1];

		for (size_t i = 0; packet[at] & 0x80 && i < size; i++)
			ret[length++] = packet[at + i];
		at += size;
	}
	while (length % 4)
		ret[length++] = 0;
	return length;
}

static void check_header(const uint8_t *packet, const uint8_t *piece, bool first)
{
	size_t header = (size_t)(packet[0] & 15) * 4, own = (size_t)(piece[0] & 15) * 4;
	uint8_t options[40];
	size_t length = copied_options(packet, options);

	assert_int_equal(piece[1], packet[1]);
	assert_memory_equal(piece + 4, packet + 4, 2);
	assert_int_equal(piece[6] & 0x80, packet[6] & 0x80);
	assert_memory_equal(piece + 8, packet + 8, 2);
	assert_memory_equal(piece + 12, packet + 12, 8);
	if (first) {
		assert_int_equal(own, header);
		assert_memory_equal(piece + 20, packet + 20, header - 20);
		return;
	}
	assert_int_equal(own, 20 + length);
	assert_memory_equal(piece + 20, options, length);
}

/* Cuts, checks each piece, cuts some of them again for a smaller path; returns how many. */
static size_t cut_all(const uint8_t *packet, size_t length, size_t mtu, bool again)
{
	static uint8_t pieces[2][PACKET_MAX];
	uint8_t *piece = pieces[again];
	struct slow_cut cut;
	size_t count = 0, size;

	assert_int_equal(slow_cut_begin(&cut, packet, length + random_below(9), mtu), 0);
	while ((size = slow_cut_next(&cut, piece)) != 0) {
		size_t header = (size_t)(piece[0] & 15) * 4;

		assert_true(size <= mtu && count < PIECES_MAX);
		check_header(packet, piece, count == 0);
		if (get16(piece + 6) & MF)
			assert_int_equal((size - header) % 8, 0);
		if (!again && random_below(4) == 0)
			cut_all(piece, size, header + 8 + random_below(600), true);
		else
			receive(piece, size);
		count++;
	}
	assert_int_equal(slow_cut_next(&cut, piece), 0);
	return count;
}

static void test_random(void **state)
{
	enum { ROUNDS = 4000 };
	static uint8_t packet[PACKET_MAX + 16];

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		size_t options = random_below(3) ? 0 : 4 * random_below(11);
		size_t data = random_below(round % 100 == 0 ? 65000 : 3000);
		size_t mtu = 20 + options + 8 + random_below(round % 2 ? 100 : 3000);
		size_t fragment = random_below(2) ? 0 : random_below(100);
		size_t length;

		if (random_below(3) == 0) {
			fragment |= MF;
			data = data / 8 * 8;
		}
		if (random_below(8) == 0)
			fragment |= 0x8000;
		if ((fragment & 0x1fff) * 8 + 20 + options + data > PACKET_MAX)
			continue;
		length = make_packet(packet, options, data, fragment);
		make_options(packet, options);
		receive_begin();
		cut_all(packet, length, mtu, false);
		check_received(packet, length);
	}
}

/* As many pieces as there must be, and not more. */
static void test_counts(void **state)
{
	static const struct {
		size_t data, mtu, pieces;
	} cases[] = {
		{1480, 1480, 2}, {1480, 1500, 1}, {1481, 1500, 2}, {0, 28, 1},  {8, 28, 1},
		{9, 28, 2},      {64, 28, 8},     {1460, 1480, 1}, {24, 43, 2}, {23, 43, 1},
	};
	static uint8_t packet[PACKET_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t length = make_packet(packet, 0, cases[i].data, 0);

		receive_begin();
		assert_int_equal(cut_all(packet, length, cases[i].mtu, true), cases[i].pieces);
		check_received(packet, length);
	}
}

static int begin(const uint8_t *packet, size_t length, size_t mtu)
{
	struct slow_cut cut;

	return slow_cut_begin(&cut, packet, length, mtu);
}

static void test_refusals(void **state)
{
	static uint8_t packet[PACKET_MAX];
	size_t length = make_packet(packet, 0, 100, DF);

	(void)state;
	assert_int_equal(begin(packet, length, 68), -EPERM);
	length = make_packet(packet, 0, 100, 0);
	assert_int_equal(begin(packet, length, 28), 0);
	assert_int_equal(begin(packet, length, 27), -EMSGSIZE);
	assert_int_equal(begin(packet, length - 1, 68), -EINVAL);
	assert_int_equal(begin(packet, 19, 68), -EINVAL);
	packet[10] ^= 1; /* a wrong checksum is not made right */
	assert_int_equal(begin(packet, length, 68), -EINVAL);
	length = make_packet(packet, 0, 100, 0);
	packet[0] = 0x65;
	put_checksum(packet);
	assert_int_equal(begin(packet, length, 68), -EINVAL);
	packet[0] = 0x44;
	frame_put(packet + 10, 2, 0);
	frame_put(packet + 10, 2, frame_checksum(packet, 16, 0));
	assert_int_equal(begin(packet, length, 68), -EINVAL);
	length = make_packet(packet, 0, 100, MF); /* a piece amid others, not of eights */
	assert_int_equal(begin(packet, length, 68), -EINVAL);
	length = make_packet(packet, 0, 100, 8190); /* beyond the largest datagram */
	assert_int_equal(begin(packet, length, 68), -EINVAL);
	length = make_packet(packet, 0, 95 - 80, 8180);
	assert_int_equal(begin(packet, length, 68), 0);
	length = make_packet(packet, 0, 96, 8180);
	assert_int_equal(begin(packet, length, 68), -EINVAL);
}

static void test_wrong_options(void **state)
{
	static const uint8_t options[][4] = {
		{0x82, 0, 0, 0}, {0x82, 1, 0, 0}, {0x82, 5, 0, 0}, {1, 1, 1, 0x82}, {7, 3, 0, 7},
	};
	static uint8_t packet[PACKET_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		size_t length = make_packet(packet, 4, 100, 0);

		memcpy(packet + 20, options[i], 4);
		put_checksum(packet);
		assert_int_equal(begin(packet, length, 68), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_wrong_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
