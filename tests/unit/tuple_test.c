/* SPDX-License-Identifier: BSD-2-Clause */
/* A flow as it is typed, and the frame made of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "weir/live/tuple.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void test_parses(void **state)
{
	static const struct {
		const char *text, *src, *dst;
		uint8_t proto;
		uint16_t sport, dport;
	} rows[] = {
		{"tcp 192.0.2.1:40000 198.51.100.10:443", "192.0.2.1", "198.51.100.10", 6, 40000,
		 443},
		{"udp [2001:db8::1]:1 [2001:db8::2]:65535", "2001:db8::1", "2001:db8::2", 17, 1,
		 65535},
		{"UDP any 198.51.100.10:53", "::", "198.51.100.10", 17, 0, 53},
		{" any  any:53\t2001:db8::2 ", "::", "2001:db8::2", 0, 53, 0},
		{"tcp [2001:db8::1] any", "2001:db8::1", "::", 6, 0, 0},
		{"tcp 192.0.2.1:any 198.51.100.10:443", "192.0.2.1", "198.51.100.10", 6, 0, 443},
	};
	char text[ADDR_TEXT_MAX];
	struct tuple tuple;
	struct err err;

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		assert_int_equal(tuple_parse_text(rows[i].text, &tuple, &err), 0);
		assert_int_equal(tuple.proto, rows[i].proto);
		assert_string_equal(addr_format(&tuple.src, text), rows[i].src);
		assert_string_equal(addr_format(&tuple.dst, text), rows[i].dst);
		assert_int_equal(tuple.sport, rows[i].sport);
		assert_int_equal(tuple.dport, rows[i].dport);
	}
}

static void test_refuses(void **state)
{
	static const char *const rows[] = {
		"",
		"tcp",
		"tcp 192.0.2.1:1",
		"tcp 192.0.2.1:1 192.0.2.2:2 more",
		"sctp 192.0.2.1:1 192.0.2.2:2",
		"tcp 192.0.2.1:0 192.0.2.2:2",
		"tcp 192.0.2.1:65536 192.0.2.2:2",
		"tcp 192.0.2.1: 192.0.2.2:2",
		"tcp 192.0.2.1:1x 192.0.2.2:2",
		"tcp 192.0.2.1:-1 192.0.2.2:2",
		"tcp 192.0.2.256:1 192.0.2.2:2",
		"tcp 192.0.2.1:1 [2001:db8::1]:2",
		"tcp [2001:db8::1:1 [2001:db8::1]:2",
		"tcp [] []",
		"tcp :1 :2",
		"tcp nonsense 192.0.2.2:2",
		"tcp 1111111111111111111111111111111111111111111111111111111111111111:1 any",
	};
	struct tuple tuple = {.proto = 99};
	struct err err;

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		err.text[0] = '\0';
		assert_int_not_equal(tuple_parse_text(rows[i], &tuple, &err), 0);
		assert_string_not_equal(err.text, "");
		assert_int_equal(tuple.proto, 99);
	}
}

static void test_wholeness(void **state)
{
	struct tuple tuple;
	struct err err;

	(void)state;
	tuple_parse_text("tcp 192.0.2.1:1 192.0.2.2:2", &tuple, &err);
	assert_int_equal(tuple_is_whole(&tuple, &err), 0);
	tuple_parse_text("tcp 192.0.2.1 192.0.2.2:2", &tuple, &err);
	assert_int_not_equal(tuple_is_whole(&tuple, &err), 0);
	tuple_parse_text("any 192.0.2.1:1 192.0.2.2:2", &tuple, &err);
	assert_int_not_equal(tuple_is_whole(&tuple, &err), 0);
	tuple_parse_text("udp any:1 192.0.2.2:2", &tuple, &err);
	assert_int_not_equal(tuple_is_whole(&tuple, &err), 0);
}

/* What a receiver adds up (RFC 1071): all ones where the sum is right. */
static uint16_t add_up(const uint8_t *bytes, size_t length, uint32_t total)
{
	for (size_t i = 0; i < length; i += 2)
		total += (uint32_t)bytes[i] << 8 | (i + 1 < length ? bytes[i + 1] : 0U);
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	return (uint16_t)total;
}

static void check_frame(const char *text, size_t length, size_t ip, uint8_t proto)
{
	struct tuple_packet packet = {.tcp_flags = 2, .length = length};
	uint8_t frame[TUPLE_FRAME_MAX];
	size_t addresses = ip == 20 ? 12 : 8, got, l4;
	struct err err;

	assert_int_equal(tuple_parse_text(text, &packet.tuple, &err), 0);
	got = tuple_frame(&packet, frame);
	assert_true(got > 14 + ip);
	if (length)
		assert_int_equal(got, 14 + length);
	l4 = got - 14 - ip;
	if (ip == 20)
		assert_int_equal(add_up(frame + 14, ip, 0), 0xffff);
	assert_int_equal(frame[14] >> 4, ip == 20 ? 4 : 6);
	assert_int_equal(frame[14 + (ip == 20 ? 9 : 6)], proto);
	assert_int_equal(add_up(frame + 14 + ip, l4,
				add_up(frame + 14 + addresses, ip - addresses, proto + l4)),
			 0xffff);
	assert_int_equal(frame[14 + ip] << 8 | frame[14 + ip + 1], packet.tuple.sport);
	assert_int_equal(frame[14 + ip + 2] << 8 | frame[14 + ip + 3], packet.tuple.dport);
	if (proto == IPPROTO_TCP)
		assert_int_equal(frame[14 + ip + 13], 2);
	else
		assert_int_equal(frame[14 + ip + 4] << 8 | frame[14 + ip + 5], l4);
}

static void test_frames(void **state)
{
	static const size_t lengths[] = {0, 61, 576, 1499, TUPLE_FRAME_MAX - 14};

	(void)state;
	for (size_t i = 0; i < LENGTH(lengths); i++) {
		check_frame("tcp 192.0.2.1:40000 198.51.100.10:443", lengths[i], 20, IPPROTO_TCP);
		check_frame("udp 192.0.2.1:40000 198.51.100.10:53", lengths[i], 20, IPPROTO_UDP);
		check_frame("tcp [2001:db8::1]:1 [2001:db8::2]:2", lengths[i], 40, IPPROTO_TCP);
		check_frame("udp [2001:db8::1]:1 [2001:db8::2]:2", lengths[i], 40, IPPROTO_UDP);
	}
}

static void test_lengths(void **state)
{
	struct tuple_packet packet = {0};
	uint8_t frame[TUPLE_FRAME_MAX];
	struct err err;

	(void)state;
	tuple_parse_text("udp 192.0.2.1:1 192.0.2.2:2", &packet.tuple, &err);
	packet.length = 27;
	assert_int_equal(tuple_frame(&packet, frame), 0);
	packet.length = 28;
	assert_int_equal(tuple_frame(&packet, frame), 42);
	packet.length = TUPLE_FRAME_MAX - 13;
	assert_int_equal(tuple_frame(&packet, frame), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parses),    cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_wholeness), cmocka_unit_test(test_frames),
		cmocka_unit_test(test_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
