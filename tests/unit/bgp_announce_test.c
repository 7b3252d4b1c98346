/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bgp/wire_update.h, what we send: byte by byte against a table; packed as full as it goes; and
 * read back by the parser, which shares nothing with the writer but the numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/hex.h"
#include "bgp/wire/update.h"

#define PLAIN            \
	{                \
		.med = 0 \
	}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { PREFIXES_MAX = 3, MANY = 5000 };

static const struct wire_session ebgp = {
	.asn = 65010, .peer_asn = 65000, .as4 = true, .ipv4 = true, .ipv6 = true};
static const struct wire_session wide = {
	.asn = 100000, .peer_asn = 65000, .as4 = true, .ipv4 = true, .ipv6 = true};
static const struct wire_session wide2 = {.asn = 100000, .peer_asn = 65000, .ipv4 = true};
static const struct wire_session last2 = {.asn = 65535, .peer_asn = 65000, .ipv4 = true};
static const struct wire_session narrow2 = {.asn = 65010, .peer_asn = 65000, .ipv4 = true};
static const struct wire_session ibgp = {
	.asn = 65010, .peer_asn = 65010, .internal = true, .as4 = true, .ipv4 = true, .ipv6 = true};
static const struct wire_session next6 = {
	.asn = 65010, .peer_asn = 65000, .as4 = true, .ipv4 = true, .next_hop6 = true};
static const struct wire_session only6 = {
	.asn = 65010, .peer_asn = 65000, .as4 = true, .ipv6 = true};

static const uint32_t communities[] = {65010u << 16 | 100, WIRE_GRACEFUL_SHUTDOWN};
static const struct wire_large large[] = {{4200000000u, 1, 0xffffffff}};

struct row {
	const struct wire_session *session;
	const char *next_hop, *link_local;
	const char *prefixes[PREFIXES_MAX];
	const char *body; /* NULL: `want` is the error */
	int want;         /* how many are taken */
	bool lists;
	struct wire_path path;
};

static const struct row rows[] = {
	{&ebgp,
	 "192.0.2.1",
	 NULL,
	 {"198.51.100.10/32"},
	 "0000 0014 40010100 400206 0201 0000fdf2 400304 c0000201 20 c633640a",
	 1,
	 false,
	 PLAIN},
	/* Several, of any length; up to one of another family. */
	{&ebgp,
	 "192.0.2.1",
	 NULL,
	 {"198.51.100.0/24", "0.0.0.0/0", "10.128.0.0/9"},
	 "0000 0014 40010100 400206 0201 0000fdf2 400304 c0000201 18 c63364 00 09 0a80",
	 3,
	 false,
	 PLAIN},
	{&ebgp,
	 "192.0.2.1",
	 NULL,
	 {"198.51.100.0/24", "2001:db8::/32", "10.128.0.0/9"},
	 "0000 0014 40010100 400206 0201 0000fdf2 400304 c0000201 18 c63364",
	 1,
	 false,
	 PLAIN},
	/* Everything that a path may have. */
	{&ebgp,
	 "192.0.2.1",
	 NULL,
	 {"198.51.100.10/32"},
	 "0000 003d 40010100 40020e 0203 0000fdf2 0000fdf2 0000fdf2 400304 c0000201"
	 "800404 0000000a c00808 fdf20064 ffff0000 c0200c fa56ea00 00000001 ffffffff"
	 "20 c633640a",
	 1,
	 true,
	 {.has_med = true, .med = 10, .prepend = 2, .local_pref = 100}},
	{&ibgp,
	 "192.0.2.1",
	 NULL,
	 {"198.51.100.10/32"},
	 "0000 001c 40010100 400200 400304 c0000201 800404 00000000 400504 00000064 20 c633640a",
	 1,
	 false,
	 {.has_med = true, .prepend = 2, .local_pref = 100}},
	/* AS of two bytes, and what has no room there. */
	{&narrow2,
	 "192.0.2.1",
	 NULL,
	 {"198.51.100.10/32"},
	 "0000 0012 40010100 400204 0201 fdf2 400304 c0000201 20 c633640a",
	 1,
	 false,
	 PLAIN},
	{&last2,
	 "192.0.2.1",
	 NULL,
	 {"198.51.100.10/32"},
	 "0000 0012 40010100 400204 0201 ffff 400304 c0000201 20 c633640a",
	 1,
	 false,
	 PLAIN},
	{&wide,
	 "192.0.2.1",
	 NULL,
	 {"198.51.100.10/32"},
	 "0000 0014 40010100 400206 0201 000186a0 400304 c0000201 20 c633640a",
	 1,
	 false,
	 PLAIN},
	{&wide2,
	 "192.0.2.1",
	 NULL,
	 {"198.51.100.10/32"},
	 "0000 0021 40010100 400206 0202 5ba0 5ba0 400304 c0000201"
	 "c0110a 0202 000186a0 000186a0 20 c633640a",
	 1,
	 false,
	 {.prepend = 1}},
	/* IPv6: its own attribute, first. */
	{&ebgp,
	 "2001:db8::1",
	 NULL,
	 {"2001:db8:10::10/128", "::/0"},
	 "0000 0038 900e 0027 000201 10 20010db8000000000000000000000001 00"
	 "80 20010db8001000000000000000000010 00 40010100 400206 0201 0000fdf2",
	 2,
	 false,
	 PLAIN},
	{&ebgp,
	 "2001:db8::1",
	 "fe80::1",
	 {"2001:db8:10::/48"},
	 "0000 003d 900e 002c 000201 20 20010db8000000000000000000000001"
	 "fe800000000000000000000000000001 00 30 20010db80010 40010100 400206 0201 0000fdf2",
	 1,
	 false,
	 PLAIN},
	{&ibgp,
	 "2001:db8::1",
	 NULL,
	 {"2001:db8:10::/48"},
	 "0000 002e 900e 001c 000201 10 20010db8000000000000000000000001 00"
	 "30 20010db80010 40010100 400200 400504 ffffffff",
	 1,
	 false,
	 {.local_pref = 0xffffffff}},
	/* IPv4 by IPv6. */
	{&next6,
	 "2001:db8::1",
	 NULL,
	 {"198.51.100.10/32", "10.0.0.0/8"},
	 "0000 002d 900e 001c 000101 10 20010db8000000000000000000000001 00"
	 "20 c633640a 08 0a 40010100 400206 0201 0000fdf2",
	 2,
	 false,
	 PLAIN},
	{&next6,
	 "192.0.2.1",
	 NULL,
	 {"198.51.100.10/32"},
	 "0000 0014 40010100 400206 0201 0000fdf2 400304 c0000201 20 c633640a",
	 1,
	 false,
	 PLAIN},
	/* What the session has not. */
	{&ebgp, "2001:db8::1", NULL, {"198.51.100.10/32"}, NULL, -EAFNOSUPPORT, false, PLAIN},
	{&ebgp, "192.0.2.1", NULL, {"2001:db8:10::/48"}, NULL, -EAFNOSUPPORT, false, PLAIN},
	{&next6, "2001:db8::1", NULL, {"2001:db8:10::/48"}, NULL, -EAFNOSUPPORT, false, PLAIN},
	{&only6, "192.0.2.1", NULL, {"198.51.100.10/32"}, NULL, -EAFNOSUPPORT, false, PLAIN},
	{&ebgp, NULL, NULL, {"2001:db8:10::/48"}, NULL, -EAFNOSUPPORT, false, PLAIN},
	{&ebgp, NULL, NULL, {"198.51.100.10/32"}, NULL, -EAFNOSUPPORT, false, PLAIN},
	/* Limits. */
	{&ebgp, "192.0.2.1", NULL, {NULL}, NULL, -EINVAL, false, PLAIN},
	{&ebgp, "192.0.2.1", NULL, {"10.0.0.0/8"}, NULL, -EINVAL, false, {.prepend = 255}},
	{&ebgp,
	 "192.0.2.1",
	 NULL,
	 {"10.0.0.0/8"},
	 NULL,
	 -EINVAL,
	 false,
	 {.community_count = WIRE_COMMUNITIES_MAX + 1}},
	{&ebgp,
	 "192.0.2.1",
	 NULL,
	 {"10.0.0.0/8"},
	 NULL,
	 -EINVAL,
	 false,
	 {.large_count = WIRE_LARGE_MAX + 1}},
};

static struct addr address(const char *text)
{
	struct addr addr = {0};

	if (text)
		assert_int_equal(addr_parse(text, &addr), 0);
	return addr;
}

static size_t parse_prefixes(const char *const *texts, struct prefix *prefixes)
{
	size_t count = 0;

	for (; count < PREFIXES_MAX && texts[count]; count++)
		assert_int_equal(prefix_parse(texts[count], &prefixes[count]), 0);
	return count;
}

static void assert_message(size_t i, const uint8_t *message, int length, const char *body)
{
	uint8_t want[WIRE_MAX];
	size_t want_length = WIRE_HEADER + hex_bytes(body, want + WIRE_HEADER);
	struct wire_notice fault;
	enum wire_type type;

	if (length < 0 || (size_t)length != want_length ||
	    memcmp(message + WIRE_HEADER, want + WIRE_HEADER, want_length - WIRE_HEADER) != 0)
		fail_msg("row %zu: %d bytes, not %zu, or others", i, length, want_length);
	assert_int_equal(wire_frame(message, (size_t)length, &type, &fault), length);
	assert_int_equal(type, WIRE_UPDATE);
}

/* What we send is taken by whoever reads as we do. */
static struct wire_update read_back(const struct wire_session *session, const uint8_t *message,
				    int length)
{
	struct wire_notice fault;
	struct wire_update update;

	assert_int_equal(wire_update_parse(session, message, (size_t)length, &update, &fault), 0);
	assert_int_equal(update.treatment, WIRE_TAKEN);
	assert_int_equal(update.foreign, 0);
	return update;
}

static void test_announce(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct row *row = &rows[i];
		struct wire_path path = row->path;
		struct prefix prefixes[PREFIXES_MAX];
		size_t count = parse_prefixes(row->prefixes, prefixes), taken = 0;
		uint8_t message[WIRE_MAX];
		struct wire_update update;
		int length;

		path.next_hop = address(row->next_hop);
		path.link_local = address(row->link_local);
		if (row->lists) {
			path.communities = communities;
			path.community_count = COUNT(communities);
			path.large = large;
			path.large_count = COUNT(large);
		}
		length =
			wire_update_announce(row->session, &path, prefixes, count, message, &taken);
		if (!row->body) {
			if (length != row->want)
				fail_msg("row %zu: %d", i, length);
			continue;
		}
		assert_message(i, message, length, row->body);
		assert_int_equal(taken, row->want);
		update = read_back(row->session, message, length);
		assert_int_equal(update.announced4 + update.announced6, row->want);
	}
}

static void test_withdraw(void **unused)
{
	static const struct {
		const struct wire_session *session;
		const char *prefixes[PREFIXES_MAX];
		const char *body;
		int want;
	} withdrawals[] = {
		{&ebgp, {"198.51.100.10/32"}, "0005 20 c633640a 0000", 1},
		{&ebgp, {"0.0.0.0/0", "10.0.0.0/8", "::/0"}, "0003 00 08 0a 0000", 2},
		{&next6, {"198.51.100.10/32"}, "0005 20 c633640a 0000", 1},
		{&ebgp,
		 {"2001:db8:10::10/128", "2001:db8::/32", "10.0.0.0/8"},
		 "0000 001d 900f 0019 000201 80 20010db8001000000000000000000010 20 20010db8",
		 2},
		{&only6, {"10.0.0.0/8"}, NULL, -EAFNOSUPPORT},
		{&next6, {"::/0"}, NULL, -EAFNOSUPPORT},
		{&ebgp, {NULL}, NULL, -EINVAL},
	};

	(void)unused;
	for (size_t i = 0; i < COUNT(withdrawals); i++) {
		struct prefix prefixes[PREFIXES_MAX];
		size_t count = parse_prefixes(withdrawals[i].prefixes, prefixes), taken = 0;
		uint8_t message[WIRE_MAX];
		struct wire_update update;
		int length = wire_update_withdraw(withdrawals[i].session, prefixes, count, message,
						  &taken);

		if (!withdrawals[i].body) {
			assert_int_equal(length, withdrawals[i].want);
			continue;
		}
		assert_message(i, message, length, withdrawals[i].body);
		assert_int_equal(taken, withdrawals[i].want);
		update = read_back(withdrawals[i].session, message, length);
		assert_int_equal(update.withdrawn4 + update.withdrawn6, withdrawals[i].want);
		assert_false(update.end_of_rib4 || update.end_of_rib6);
	}
}

static void test_end_of_rib(void **unused)
{
	uint8_t message[WIRE_MAX];
	struct wire_update update;
	int length;

	(void)unused;
	length = wire_update_end_of_rib(WIRE_IPV4, message);
	assert_message(0, message, length, "0000 0000");
	update = read_back(&ebgp, message, length);
	assert_true(update.end_of_rib4 && !update.end_of_rib6);
	length = wire_update_end_of_rib(WIRE_IPV6, message);
	assert_message(1, message, length, "0000 0007 900f 0003 000201");
	update = read_back(&ebgp, message, length);
	assert_true(update.end_of_rib6 && !update.end_of_rib4);
}

/* A prefix that prefix_parse would not give. */
static void test_broken_prefix(void **unused)
{
	struct wire_path path = {.next_hop = address("192.0.2.1")};
	struct prefix prefixes[2] = {{address("10.0.0.0"), 8}, {address("10.0.0.1"), 33}};
	uint8_t message[WIRE_MAX];
	size_t taken = 0;

	(void)unused;
	assert_true(wire_update_announce(&ebgp, &path, prefixes, 2, message, &taken) > 0);
	assert_int_equal(taken, 1);
	assert_int_equal(wire_update_announce(&ebgp, &path, prefixes + 1, 1, message, &taken),
			 -EINVAL);
	assert_int_equal(wire_update_withdraw(&ebgp, prefixes + 1, 1, message, &taken), -EINVAL);
}

static struct prefix many[MANY];

/* Addresses with their number in them, all of one length. */
static void make_many(bool is4)
{
	for (uint32_t i = 0; i < MANY; i++) {
		many[i] = (struct prefix){address(is4 ? "10.1.0.0" : "2001:db8::"), is4 ? 32 : 128};
		many[i].addr.bytes[14] = (uint8_t)(i >> 8);
		many[i].addr.bytes[15] = (uint8_t)i;
	}
}

/* Takes them all in messages that have no room for one more. */
static void pack(const struct wire_session *session, const struct wire_path *path, size_t size)
{
	size_t at = 0, taken = 0;

	while (at < MANY) {
		uint8_t message[WIRE_MAX];
		struct wire_update update;
		int length;

		length =
			path ? wire_update_announce(session, path, many + at, MANY - at, message,
						    &taken)
			     : wire_update_withdraw(session, many + at, MANY - at, message, &taken);
		assert_in_range(length, WIRE_HEADER, WIRE_MAX);
		assert_in_range(taken, 1, MANY - at);
		update = read_back(session, message, length);
		assert_int_equal(update.announced4 + update.announced6, path ? taken : 0);
		assert_int_equal(update.withdrawn4 + update.withdrawn6, path ? 0 : taken);
		at += taken;
		if (at < MANY)
			assert_true((size_t)length + size > WIRE_MAX);
	}
}

static void test_packing(void **unused)
{
	static const uint32_t all[WIRE_COMMUNITIES_MAX];
	static const struct wire_large all_large[WIRE_LARGE_MAX];
	struct wire_path path = {.next_hop = address("192.0.2.1")};
	struct wire_path full = {
		.communities = all,
		.community_count = WIRE_COMMUNITIES_MAX,
		.large = all_large,
		.large_count = WIRE_LARGE_MAX,
		.has_med = true,
		.prepend = WIRE_PREPEND_MAX,
		.next_hop = address("192.0.2.1"),
	};

	(void)unused;
	make_many(true);
	pack(&ebgp, &path, 5);
	pack(&ebgp, NULL, 5);
	pack(&wide2, &full, 5);
	path.next_hop = full.next_hop = address("2001:db8::1");
	pack(&next6, &path, 5);
	make_many(false);
	pack(&ebgp, &path, 17);
	pack(&ebgp, NULL, 17);
	full.link_local = address("fe80::1");
	pack(&wide, &full, 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_announce),   cmocka_unit_test(test_withdraw),
		cmocka_unit_test(test_end_of_rib), cmocka_unit_test(test_broken_prefix),
		cmocka_unit_test(test_packing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
