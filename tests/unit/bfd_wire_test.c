/* SPDX-License-Identifier: BSD-2-Clause */
/* BFD's control packet: what section 6.8.6 of RFC 5880 lets pass and what it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "bfd/wire.h"

/* Up, diagnostic 0, multiplier 3, discriminators 0x01020304 and 0x0a0b0c0d, 50 ms, 100 ms, 0. */
static const uint8_t good[BFD_PACKET_LENGTH] = {
	0x20, 0xc0, 3,    24,   1, 2, 3,    4,    0x0a, 0x0b, 0x0c, 0x0d,
	0,    0,    0xc3, 0x50, 0, 1, 0x86, 0xa0, 0,    0,    0,    0,
};

static void test_a_packet_is_read(void **state)
{
	struct bfd_packet packet;

	(void)state;
	assert_int_equal(bfd_packet_parse(good, sizeof(good), &packet), BFD_PACKET_OK);
	assert_int_equal(packet.state, BFD_UP);
	assert_int_equal(packet.diag, 0);
	assert_int_equal(packet.multiplier, 3);
	assert_int_equal(packet.own, 0x01020304);
	assert_int_equal(packet.your, 0x0a0b0c0d);
	assert_int_equal(packet.send_us, 50000);
	assert_int_equal(packet.receive_us, 100000);
	assert_int_equal(packet.echo_us, 0);
	assert_false(packet.poll || packet.final || packet.independent || packet.demand);
}

static void test_each_flag_is_read(void **state)
{
	struct bfd_packet packet;
	uint8_t bytes[BFD_PACKET_LENGTH];

	(void)state;
	memcpy(bytes, good, sizeof(bytes));
	bytes[1] = 0xc0 | 0x20;
	assert_int_equal(bfd_packet_parse(bytes, sizeof(bytes), &packet), BFD_PACKET_OK);
	assert_true(packet.poll && !packet.final && !packet.independent && !packet.demand);
	bytes[1] = 0xc0 | 0x10;
	assert_int_equal(bfd_packet_parse(bytes, sizeof(bytes), &packet), BFD_PACKET_OK);
	assert_true(!packet.poll && packet.final && !packet.independent && !packet.demand);
	bytes[1] = 0xc0 | 0x08;
	assert_int_equal(bfd_packet_parse(bytes, sizeof(bytes), &packet), BFD_PACKET_OK);
	assert_true(!packet.poll && !packet.final && packet.independent && !packet.demand);
	bytes[1] = 0xc0 | 0x02;
	assert_int_equal(bfd_packet_parse(bytes, sizeof(bytes), &packet), BFD_PACKET_OK);
	assert_true(!packet.poll && !packet.final && !packet.independent && packet.demand);
}

static void test_what_is_written_is_read_alike(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 64; bits++) {
		struct bfd_packet packet = {
			.state = bits & 3,
			.diag = (uint8_t)(bits % 32),
			.poll = (bits & 12) == 4,
			.final = (bits & 12) == 8,
			.independent = bits & 16,
			.demand = bits & 32,
			.multiplier = (uint8_t)(bits + 1),
			.own = 0xfffefdfcu,
			.your = 0x80000001u,
			.send_us = 0xfffffffe,
			.receive_us = 0x12345678,
			.echo_us = bits,
		};
		struct bfd_packet again = {0};
		uint8_t bytes[BFD_PACKET_LENGTH];

		bfd_packet_format(&packet, bytes);
		assert_int_equal(bfd_packet_parse(bytes, sizeof(bytes), &again), BFD_PACKET_OK);
		assert_int_equal(again.state, packet.state);
		assert_int_equal(again.diag, packet.diag);
		assert_int_equal(again.poll, packet.poll);
		assert_int_equal(again.final, packet.final);
		assert_int_equal(again.independent, packet.independent);
		assert_int_equal(again.demand, packet.demand);
		assert_int_equal(again.multiplier, packet.multiplier);
		assert_int_equal(again.own, packet.own);
		assert_int_equal(again.your, packet.your);
		assert_int_equal(again.send_us, packet.send_us);
		assert_int_equal(again.receive_us, packet.receive_us);
		assert_int_equal(again.echo_us, packet.echo_us);
	}
}

static void test_what_is_wrong_is_refused(void **state)
{
	static const struct {
		const char *what;
		unsigned at;
		uint8_t value;
		enum bfd_verdict verdict;
	} rows[] = {
		{"version 0", 0, 0x00, BFD_PACKET_MALFORMED},
		{"version 2", 0, 0x40, BFD_PACKET_MALFORMED},
		{"a length below the least", 3, 23, BFD_PACKET_MALFORMED},
		{"a length beyond the datagram", 3, 25, BFD_PACKET_MALFORMED},
		{"multiplier 0", 2, 0, BFD_PACKET_MALFORMED},
		{"multipoint", 1, 0xc1, BFD_PACKET_MALFORMED},
		{"poll and final", 1, 0xf0, BFD_PACKET_MALFORMED},
		{"authenticated", 1, 0xc4, BFD_PACKET_AUTHENTICATED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint8_t bytes[BFD_PACKET_LENGTH];
		struct bfd_packet packet = {.multiplier = 77};

		memcpy(bytes, good, sizeof(bytes));
		bytes[rows[i].at] = rows[i].value;
		if (bfd_packet_parse(bytes, sizeof(bytes), &packet) != rows[i].verdict)
			fail_msg("%s", rows[i].what);
		assert_int_equal(packet.multiplier, 77);
	}
}

static void test_discriminators_of_zero(void **state)
{
	uint8_t bytes[BFD_PACKET_LENGTH];
	struct bfd_packet packet;

	(void)state;
	memcpy(bytes, good, sizeof(bytes));
	memset(bytes + 4, 0, 4);
	assert_int_equal(bfd_packet_parse(bytes, sizeof(bytes), &packet), BFD_PACKET_MALFORMED);
	memcpy(bytes, good, sizeof(bytes));
	memset(bytes + 8, 0, 4);
	for (unsigned i = 0; i < 4; i++) {
		bool right = i == BFD_ADMIN_DOWN || i == BFD_DOWN;

		bytes[1] = (uint8_t)(i << 6);
		assert_int_equal(bfd_packet_parse(bytes, sizeof(bytes), &packet),
				 right ? BFD_PACKET_OK : BFD_PACKET_MALFORMED);
	}
}

static void test_every_shorter_datagram_is_refused(void **state)
{
	struct bfd_packet packet;

	(void)state;
	for (size_t length = 0; length < sizeof(good); length++)
		assert_int_equal(bfd_packet_parse(good, length, &packet), BFD_PACKET_MALFORMED);
}

static void test_what_follows_is_not_looked_at(void **state)
{
	uint8_t bytes[BFD_PACKET_LENGTH];
	struct bfd_packet packet;

	(void)state;
	memcpy(bytes, good, sizeof(bytes));
	assert_int_equal(bfd_packet_parse(bytes, 9000, &packet), BFD_PACKET_OK);
	bytes[3] = 52;
	assert_int_equal(bfd_packet_parse(bytes, 52, &packet), BFD_PACKET_OK);
}

static void test_every_diagnostic_has_words(void **state)
{
	(void)state;
	assert_string_equal(bfd_diag_text(0), "");
	for (unsigned diag = 1; diag < 256; diag++)
		assert_true(strlen(bfd_diag_text((uint8_t)diag)) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_packet_is_read),
		cmocka_unit_test(test_each_flag_is_read),
		cmocka_unit_test(test_what_is_written_is_read_alike),
		cmocka_unit_test(test_what_is_wrong_is_refused),
		cmocka_unit_test(test_discriminators_of_zero),
		cmocka_unit_test(test_every_shorter_datagram_is_refused),
		cmocka_unit_test(test_what_follows_is_not_looked_at),
		cmocka_unit_test(test_every_diagnostic_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
