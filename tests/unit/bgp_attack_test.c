/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a router that means no good says on a session, and what it is told: the NOTIFICATION of the
 * RFC for it, and no more than its own connection is lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bgp_raw.h"
#include "tests/lib/hex.h"

enum { HEX_MAX = 2 * WIRE_MAX + 1 };

#define MARKER    "ffffffffffffffffffffffffffffffff"
#define KEEPALIVE MARKER "0013 04"
/* Version, AS 65009, hold time, router id 9. */
#define OPEN_HEAD "04 fdf1 005a 00000009"
#define AS4       "4104 0000fdf1"
#define MP4       "0104 00010001"

/* What is said, the last of it wrong; and the NOTIFICATION for that. */
static const struct {
	const char *hex;
	uint8_t code, subcode;
} wrong[] = {
	/* headers: RFC 4271 section 6.1 */
	{"00" MARKER "0013 04", 1, 1},
	{"fffffffffffffffffffffffffffffffe 0013 04", 1, 1},
	{MARKER "0012 04", 1, 2},
	{MARKER "0000 01", 1, 2},
	{MARKER "1001 01", 1, 2},
	{MARKER "ffff 02", 1, 2},
	{MARKER "0014 04 00", 1, 2},
	{MARKER "001c 01", 1, 2},
	{MARKER "0016 02 000000", 1, 2},
	{MARKER "0013 00", 1, 3},
	{MARKER "0013 09", 1, 3},
	{MARKER "0013 ff", 1, 3},
	/* OPEN: section 6.2 */
	{MARKER "001d 01 03 fdf1 005a 00000009 00", 2, 1},
	{MARKER "001d 01 05 fdf1 005a 00000009 00", 2, 1},
	{MARKER "001d 01 04 fdf2 005a 00000009 00", 2, 2},
	{MARKER "001d 01 04 0000 005a 00000009 00", 2, 2},
	{MARKER "0025 01" OPEN_HEAD "08 0206 4104 0000fdf2", 2, 2},
	{MARKER "0025 01" OPEN_HEAD "08 0206 4104 00000000", 2, 2},
	{MARKER "001d 01 04 fdf1 0001 00000009 00", 2, 6},
	{MARKER "001d 01 04 fdf1 0002 00000009 00", 2, 6},
	{MARKER "001d 01 04 fdf1 005a 00000000 00", 2, 3},
	{MARKER "0020 01" OPEN_HEAD "03 0101 00", 2, 4},
	/* capabilities that are cut, or of odd lengths: RFC 5492, 4760, 6793, 4724, 8950 */
	{MARKER "001e 01" OPEN_HEAD "02 02", 2, 0},
	{MARKER "001f 01" OPEN_HEAD "02 0205", 2, 0},
	{MARKER "0020 01" OPEN_HEAD "03 0201 41", 2, 0},
	{MARKER "0024 01" OPEN_HEAD "07 0205 4103 00fdf1", 2, 0},
	{MARKER "0026 01" OPEN_HEAD "09 0207 4105 0000fdf100", 2, 0},
	{MARKER "0026 01" OPEN_HEAD "09 0207 0105 0001000100", 2, 0},
	{MARKER "0022 01" OPEN_HEAD "05 0203 0201 00", 2, 0},
	{MARKER "0022 01" OPEN_HEAD "05 0203 4001 00", 2, 0},
	{MARKER "0026 01" OPEN_HEAD "09 0207 0505 0001000100", 2, 0},
	{MARKER "0025 01" OPEN_HEAD "08 0206 41ff 0000fdf1", 2, 0},
	{MARKER "001d 01" OPEN_HEAD "ff", 2, 0},
	{MARKER "0020 01" OPEN_HEAD "ff ff 0001", 2, 0},
	/* none of our families: RFC 5492 section 3 */
	{MARKER "0025 01" OPEN_HEAD "08 0206 0104 00020001", 2, 7},
	/* what should come later: RFC 6608 */
	{KEEPALIVE, 5, 1},
	{MARKER "0017 02 00000000", 5, 1},
	{MARKER "0017 05 00010001", 5, 1},
	{MARKER "001d 01" OPEN_HEAD "00" MARKER "0017 02 00000000", 5, 2},
	{MARKER "001d 01" OPEN_HEAD "00" MARKER "001d 01" OPEN_HEAD "00", 5, 2},
	{MARKER "001d 01" OPEN_HEAD "00" KEEPALIVE MARKER "001d 01" OPEN_HEAD "00", 5, 3},
	/* an UPDATE of a session that is up: section 6.3, RFC 7606 */
	{MARKER "001d 01" OPEN_HEAD "00" KEEPALIVE MARKER "0017 02 0001 0000", 3, 1},
	{MARKER "001d 01" OPEN_HEAD "00" KEEPALIVE MARKER "0017 02 0000 ffff", 3, 1},
	{MARKER "001d 01" OPEN_HEAD "00" KEEPALIVE MARKER "0018 02 0001 21 0000", 3, 10},
	{MARKER "001d 01" OPEN_HEAD "00" KEEPALIVE MARKER "001b 02 0000 0004 400101 09", 3, 1},
	{MARKER "001d 01" OPEN_HEAD "00" KEEPALIVE MARKER "001a 02 0000 0003 400100", 3, 1},
};

/* The whole of it, or a byte at a time with a turn of the loop between. */
static void say_hex(const char *hex, bool in_bits)
{
	static uint8_t bytes[HEX_MAX];
	size_t length = hex_bytes(hex, bytes);

	for (size_t i = 0; in_bits && i < length; i++) {
		if (send(raw, bytes + i, 1, MSG_NOSIGNAL) != 1)
			break;
		uv_run(&loop, UV_RUN_NOWAIT);
	}
	if (!in_bits)
		say(bytes, (int)length);
}

static void begin_again(void)
{
	struct bgp_spec spec = spec_of(1);

	begin_raw(&spec);
}

static void end_again(void)
{
	close(raw);
	raw = -1;
	close_side(&a);
	uv_run(&loop, UV_RUN_DEFAULT);
}

static void assert_told(size_t row, bool in_bits)
{
	struct wire_notice notice;

	begin_again();
	say_hex(wrong[row].hex, in_bits);
	hear(WIRE_NOTIFICATION);
	wire_notice_parse(heard, (size_t)heard_length, &notice);
	if (notice.code != wrong[row].code || notice.subcode != wrong[row].subcode)
		fail_msg("row %zu: %d/%d", row, notice.code, notice.subcode);
	assert_true(loop_until(&loop, raw_closed, NULL));
	assert_int_equal(bgp_peer_status(a.peer)->notifications_out, 1);
	assert_int_equal(bgp_peer_status(a.peer)->state, BGP_PEER_IDLE);
	end_again();
}

static void test_each_has_its_answer(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_told(i, false);
		assert_told(i, true);
	}
}

/* Odd, but in order. */
static const char *const right[] = {
	MARKER "001d 01 04 fdf1 0000 00000009 00",
	MARKER "001d 01 04 fdf1 0003 00000009 00",
	/* our own router id, as the AS is another (RFC 6286) */
	MARKER "001d 01 04 fdf1 005a 00000001 00",
	MARKER "0025 01 04 5ba0 005a 00000009 08 0206" AS4,
	/* a capability that nobody knows, one twice, three parameters, the long form (RFC 9072) */
	MARKER "0026 01" OPEN_HEAD "09 0207 c805 0102030405",
	MARKER "002b 01" OPEN_HEAD "0e 020c" MP4 MP4,
	MARKER "002f 01" OPEN_HEAD "12 0206" MP4 "0206" AS4 "0200",
	MARKER "0029 01" OPEN_HEAD "ff ff 0009 02 0006" AS4,
};

static bool a_is_up(void *arg)
{
	(void)arg;
	return bgp_peer_status(a.peer)->state == BGP_PEER_ESTABLISHED;
}

static void test_what_is_odd_but_right(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * sizeof(right) / sizeof(*right); i++) {
		begin_again();
		say_hex(right[i / 2], i & 1);
		say_hex(KEEPALIVE, i & 1);
		if (!loop_until(&loop, a_is_up, NULL))
			fail_msg("row %zu: %s", i / 2, bgp_peer_status(a.peer)->last_error);
		end_again();
	}
}

/* No answer to a NOTIFICATION, whatever is in it, and when. */
static void test_a_notice_has_no_answer(void **state)
{
	static const char *const notices[] = {
		MARKER "0015 03 0601",
		MARKER "0015 03 ffff",
		MARKER "0018 03 0602 ff4142",
		MARKER "001d 01" OPEN_HEAD "00" KEEPALIVE MARKER "0017 03 0602 01 0a",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(notices) / sizeof(*notices); i++) {
		begin_again();
		say_hex(notices[i], false);
		assert_true(loop_until(&loop, raw_closed, NULL));
		assert_int_equal(bgp_peer_status(a.peer)->notifications_in, 1);
		assert_int_equal(bgp_peer_status(a.peer)->notifications_out, 0);
		end_again();
	}
}

static bool has_counted(void *arg)
{
	return bgp_peer_status(a.peer)->updates_in == *(uint64_t *)arg;
}

/* Every attribute of the greatest length, of bytes that mean nothing: costs its routes at most. */
static void test_attributes_of_all_types(void **state)
{
	static uint8_t message[WIRE_MAX];
	static const uint8_t head[] = {0x40, 1, 1, 0, 0x40, 2, 0, 0x40, 3, 4, 192, 0, 2, 9};
	static const uint8_t route_bytes[] = {32, 198, 51, 100, 1};
	const size_t from = WIRE_HEADER + 4 + sizeof(head);
	const size_t list = WIRE_MAX - WIRE_HEADER - 4 - sizeof(route_bytes);
	const size_t value = WIRE_MAX - from - 4 - sizeof(route_bytes);
	uint64_t sent = 0;

	(void)state;
	begin_again();
	say_hex(MARKER "001d 01" OPEN_HEAD "00" KEEPALIVE, false);
	assert_true(loop_until(&loop, a_is_up, NULL));
	for (int type = 4; type < 256; type++) {
		if (type == 14 || type == 15)
			continue; /* whose prefixes could not be found: the session's end */
		memset(message, 0xff, sizeof(message));
		message[16] = WIRE_MAX >> 8;
		message[17] = 0;
		message[18] = WIRE_UPDATE;
		message[19] = message[20] = 0;
		message[21] = (uint8_t)(list >> 8);
		message[22] = (uint8_t)list;
		memcpy(message + WIRE_HEADER + 4, head, sizeof(head));
		message[from] = 0xd0; /* optional, transitive, of two bytes of length */
		message[from + 1] = (uint8_t)type;
		message[from + 2] = (uint8_t)(value >> 8);
		message[from + 3] = (uint8_t)value;
		memcpy(message + WIRE_MAX - sizeof(route_bytes), route_bytes, sizeof(route_bytes));
		say(message, WIRE_MAX);
		sent++;
		assert_true(loop_until(&loop, has_counted, &sent));
		if (bgp_peer_status(a.peer)->state != BGP_PEER_ESTABLISHED)
			fail_msg("type %d: %s", type, bgp_peer_status(a.peer)->last_error);
	}
	assert_true(bgp_peer_status(a.peer)->malformed > 10);
	end_again();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_has_its_answer, set_up, end_raw),
		cmocka_unit_test_setup_teardown(test_what_is_odd_but_right, set_up, end_raw),
		cmocka_unit_test_setup_teardown(test_a_notice_has_no_answer, set_up, end_raw),
		cmocka_unit_test_setup_teardown(test_attributes_of_all_types, set_up, end_raw),
	};

	return cmocka_run_group_tests(tests, open_world, NULL);
}
