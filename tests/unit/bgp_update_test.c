/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bgp/wire_update.h, what the peer sends: a table of UPDATEs with what they come to, whether
 * taken, taken in part (RFC 7606) or refused with what the peer is told; then any message, cut and
 * bent, ends as one of these.
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

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct wire_session
	ebgp = {.asn = 65010, .peer_asn = 65000, .as4 = true, .ipv4 = true, .ipv6 = true},
	ebgp2 = {.asn = 65010, .peer_asn = 65000, .ipv4 = true},
	ibgp = {.asn = 65010,
		.peer_asn = 65010,
		.internal = true,
		.as4 = true,
		.ipv4 = true,
		.ipv6 = true},
	next6 = {.asn = 65010, .peer_asn = 65000, .as4 = true, .ipv4 = true, .next_hop6 = true},
	only6 = {.asn = 65010, .peer_asn = 65000, .as4 = true, .ipv6 = true};

/* Attributes that are as they should be. */
#define ORIGIN   "40010100"
#define PATH     "400206 0201 0000fde8"
#define PATH2    "400204 0201 fde8"
#define HOP      "400304 c00002fe"
#define NLRI     "18 c63364" /* 198.51.100.0/24 */
#define REACH6   "800e1e 000201 10 20010db8000000000000000000000001 00 40 20010db800100000"
#define UNREACH6 "800f0c 000201 40 20010db800100000"

struct row {
	const struct wire_session *session;
	const char *withdrawn, *attributes, *announced;
	const char *notice; /* NULL: the session lives */
	struct wire_update want;
};

#define OK       NULL
#define DROPS(n) WIRE_DISCARDED, .attribute = (n)
#define GOES(n)  WIRE_AS_IF_WITHDRAWN, .attribute = (n)
#define IN4(...)                               \
	{                                      \
		.announced4 = 1, ##__VA_ARGS__ \
	}
#define OUT4(n)                                       \
	{                                             \
		.withdrawn4 = 1, .treatment = GOES(n) \
	}
#define LESS4(n)                                       \
	{                                              \
		.announced4 = 1, .treatment = DROPS(n) \
	}

static const struct row rows[] = {
	/* As it should be. */
	{&ebgp, "", ORIGIN PATH HOP, NLRI, OK, IN4()},
	{&ebgp,
	 "",
	 ORIGIN PATH HOP,
	 NLRI "00"
	      "20 c6336401"
	      "01 80"
	      "09 0a80",
	 OK,
	 {.announced4 = 5}},
	{&ebgp, NLRI "20 c6336401", "", "", OK, {.withdrawn4 = 2}},
	{&ebgp, "20 c6336401", ORIGIN PATH HOP, NLRI, OK, {.announced4 = 1, .withdrawn4 = 1}},
	{&ebgp, "", REACH6 ORIGIN PATH, "", OK, {.announced6 = 1}},
	{&ebgp, "", UNREACH6, "", OK, {.withdrawn6 = 1}},
	{&ebgp,
	 "",
	 REACH6 UNREACH6 ORIGIN PATH HOP,
	 NLRI,
	 OK,
	 {.announced4 = 1, .announced6 = 1, .withdrawn6 = 1}},
	{&ebgp,
	 "",
	 "900e001e 000201 10 20010db8000000000000000000000001 00 40 20010db800100000" ORIGIN PATH,
	 "",
	 OK,
	 {.announced6 = 1}},
	{&ebgp2, "", ORIGIN PATH2 HOP, NLRI, OK, IN4()},
	{&ebgp, "",
	 ORIGIN PATH HOP "800404 00000064"
			 "c00804 fdf20064"
			 "c0200c fdf2000000000001"
			 "00000002"
			 "c010080002fde800000064"
			 "c01808 0001020304050607",
	 NLRI, OK, IN4()},
	{&ebgp, "", ORIGIN "400200" HOP, NLRI, OK, IN4()},
	{&ebgp, "", ORIGIN "400210 0102 00000001 00000002 0201 00000003" HOP, NLRI, OK, IN4()},
	{&ibgp, "",
	 ORIGIN PATH HOP "400504 00000064"
			 "800904 0a000001"
			 "800a08 0a0000010a000002",
	 NLRI, OK, IN4()},
	{&ebgp, "",
	 ORIGIN PATH HOP "400600"
			 "c00708 0000fde8 0a000001",
	 NLRI, OK, IN4()},
	{&ebgp, "", ORIGIN PATH HOP "c01914 0002 20010db8000000000000000000000001 0064", NLRI, OK,
	 IN4()},
	{&ebgp, "", "40010102" PATH HOP "c01010 0002fde800000064 0002fde800000065", NLRI, OK,
	 IN4()},
	/* What nobody knows, but may be sent. */
	{&ebgp, "",
	 ORIGIN PATH HOP "c0c800"
			 "e0c901 00"
			 "80ca02 0102",
	 NLRI, OK, IN4()},
	/* The end of what there was. */
	{&ebgp, "", "", "", OK, {.end_of_rib4 = true}},
	{&ebgp, "", "800f03 000201", "", OK, {.end_of_rib6 = true}},
	{&ebgp, "", "800f03 000101", "", OK, {.end_of_rib4 = true}},
	{&ebgp, "", "800f03 000102", "", OK, {.foreign = 1}},
	{&only6, "", "", "", OK, {.foreign = 0}},
	{&ebgp, NLRI, "800f03 000201", "", OK, {.withdrawn4 = 1}},
	{&ebgp, "", "800f03 000201" ORIGIN, "", OK, {.foreign = 0}},
	/* Families that this session has not. */
	{&ebgp2, "", REACH6 ORIGIN PATH2, "", OK, {.foreign = 1}},
	{&ebgp2, "", UNREACH6, "", OK, {.foreign = 1}},
	{&only6, "", ORIGIN PATH HOP, NLRI, OK, {.foreign = 1}},
	{&only6, NLRI, "", "", OK, {.foreign = 1}},
	{&ebgp, "", "800e0b 001941 04 00000000 00 ffff" ORIGIN PATH, "", OK, {.foreign = 1}},
	/* IPv4 by an IPv6 next hop. */
	{&next6, "", "800e19 000101 10 20010db8000000000000000000000001 00 18 c63364" ORIGIN PATH,
	 "", OK, IN4()},
	{&next6, "",
	 "800e29 000101 20 20010db8000000000000000000000001"
	 "fe800000000000000000000000000001 00 18 c63364" ORIGIN PATH,
	 "", OK, IN4()},
	{&ebgp, "", "800e0d 000101 04 c00002fe 00 18 c63364" ORIGIN PATH, "", OK, IN4()},
	{&ebgp,
	 "",
	 "800e19 000101 10 20010db8000000000000000000000001 00 18 c63364" ORIGIN PATH,
	 "",
	 "0309 800e19 000101 10 20010db8000000000000000000000001 00 18 c63364",
	 {0}},
	/* Treated as withdrawn: one at fault. */
	{&ebgp, "", "40010103" PATH HOP, NLRI, OK, OUT4(1)},
	{&ebgp, "", "400100" PATH HOP, NLRI, OK, OUT4(1)},
	{&ebgp, "", "4001020000" PATH HOP, NLRI, OK, OUT4(1)},
	{&ebgp, "", "c0010100" PATH HOP, NLRI, OK, OUT4(1)},
	{&ebgp, "", ORIGIN "400206 0301 0000fde8" HOP, NLRI, OK, OUT4(2)},
	{&ebgp, "", ORIGIN "400206 0501 0000fde8" HOP, NLRI, OK, OUT4(2)},
	{&ebgp, "", ORIGIN "400206 0202 0000fde8" HOP, NLRI, OK, OUT4(2)},
	{&ebgp, "", ORIGIN "400207 0201 0000fde8 02" HOP, NLRI, OK, OUT4(2)},
	{&ebgp, "", ORIGIN "400202 0200" HOP, NLRI, OK, OUT4(2)},
	{&ebgp, "", ORIGIN "400206 0201 00000000" HOP, NLRI, OK, OUT4(2)},
	{&ebgp, "", ORIGIN PATH2 HOP, NLRI, OK, OUT4(2)},
	{&ebgp, "", ORIGIN PATH "400303 c00002", NLRI, OK, OUT4(3)},
	{&ebgp, "", ORIGIN PATH "400300", NLRI, OK, OUT4(3)},
	{&ebgp, "", ORIGIN PATH HOP "800403 000064", NLRI, OK, OUT4(4)},
	{&ebgp, "", ORIGIN PATH HOP "c00404 00000064", NLRI, OK, OUT4(4)},
	{&ibgp, "", ORIGIN PATH HOP "400503 000064", NLRI, OK, OUT4(5)},
	{&ibgp, "", ORIGIN PATH HOP "800905 0a00000100", NLRI, OK, OUT4(9)},
	{&ibgp, "", ORIGIN PATH HOP "800a00", NLRI, OK, OUT4(10)},
	{&ibgp, "", ORIGIN PATH HOP "800a06 0a0000010a00", NLRI, OK, OUT4(10)},
	{&ebgp, "", ORIGIN PATH HOP "c00800", NLRI, OK, OUT4(8)},
	{&ebgp, "", ORIGIN PATH HOP "c00806 fdf20064fdf2", NLRI, OK, OUT4(8)},
	{&ebgp, "", ORIGIN PATH HOP "800804 fdf20064", NLRI, OK, OUT4(8)},
	{&ebgp, "", ORIGIN PATH HOP "c01007 0002fde8000000", NLRI, OK, OUT4(16)},
	{&ebgp, "", ORIGIN PATH HOP "c0190100", NLRI, OK, OUT4(25)},
	{&ebgp, "", ORIGIN PATH HOP "c02004 fdf20064", NLRI, OK, OUT4(32)},
	{&ebgp, "", ORIGIN PATH HOP "c02000", NLRI, OK, OUT4(32)},
	/* One missing. */
	{&ebgp, "", PATH HOP, NLRI, OK, OUT4(1)},
	{&ebgp, "", ORIGIN HOP, NLRI, OK, OUT4(2)},
	{&ebgp, "", ORIGIN PATH, NLRI, OK, OUT4(3)},
	{&ebgp, "", "", NLRI, OK, OUT4(1)},
	{&ebgp, "", REACH6 PATH, "", OK, {.withdrawn6 = 1, .treatment = GOES(1)}},
	{&ebgp, "", REACH6 ORIGIN, "", OK, {.withdrawn6 = 1, .treatment = GOES(2)}},
	/* The list ends within one. */
	{&ebgp, "", ORIGIN PATH HOP "40", NLRI, OK, OUT4(0)},
	{&ebgp, "", ORIGIN PATH HOP "4006", NLRI, OK, OUT4(0)},
	{&ebgp, "", ORIGIN PATH HOP "c00805 fdf20064", NLRI, OK, OUT4(0)},
	{&ebgp, "", ORIGIN PATH HOP "d008 00", NLRI, OK, OUT4(0)},
	{&ebgp, "", REACH6 ORIGIN PATH "c008", "", OK, {.withdrawn6 = 1, .treatment = GOES(0)}},
	/* All of a message goes, whichever family was at fault. */
	{&ebgp,
	 "",
	 REACH6 "40010109" PATH HOP,
	 NLRI,
	 OK,
	 {.withdrawn4 = 1, .withdrawn6 = 1, .treatment = GOES(1)}},
	/* Left out. */
	{&ebgp, "", ORIGIN PATH HOP "400504 00000064", NLRI, OK, LESS4(5)},
	{&ebgp, "", ORIGIN PATH HOP "400500", NLRI, OK, LESS4(5)},
	{&ebgp, "", ORIGIN PATH HOP "800904 0a000001", NLRI, OK, LESS4(9)},
	{&ebgp, "", ORIGIN PATH HOP "800a04 0a000001", NLRI, OK, LESS4(10)},
	{&ebgp, "", ORIGIN PATH HOP "40060100", NLRI, OK, LESS4(6)},
	{&ebgp, "", ORIGIN PATH HOP "c00600", NLRI, OK, LESS4(6)},
	{&ebgp, "", ORIGIN PATH HOP "c00706 fde80a000001", NLRI, OK, LESS4(7)},
	{&ebgp2, "", ORIGIN PATH2 HOP "c00708 0000fde80a000001", NLRI, OK, LESS4(7)},
	{&ebgp2, "", ORIGIN PATH2 HOP "c00706 fde80a000001", NLRI, OK, IN4()},
	{&ebgp2, "", ORIGIN PATH2 HOP "c01106 0201 000186a0", NLRI, OK, IN4()},
	{&ebgp2, "", ORIGIN PATH2 HOP "c01106 0202 000186a0", NLRI, OK, LESS4(17)},
	{&ebgp2, "", ORIGIN PATH2 HOP "c01100", NLRI, OK, LESS4(17)},
	{&ebgp2, "", ORIGIN PATH2 HOP "c01207 000186a00a0000", NLRI, OK, LESS4(18)},
	{&ebgp, "", ORIGIN PATH HOP "c01106 0201 000186a0", NLRI, OK, LESS4(17)},
	{&ebgp, "", ORIGIN PATH HOP ORIGIN, NLRI, OK, LESS4(1)},
	{&ebgp, "", ORIGIN PATH HOP "40010109", NLRI, OK, LESS4(1)},
	{&ebgp, "",
	 ORIGIN PATH HOP "c0c80100"
			 "c0c80100",
	 NLRI, OK, LESS4(200)},
	/* The worst of several counts, and of equal ones the first. */
	{&ebgp, "", ORIGIN ORIGIN PATH HOP "c00800", NLRI, OK, OUT4(8)},
	{&ebgp, "",
	 ORIGIN PATH HOP "c00800"
			 "800400",
	 NLRI, OK, OUT4(8)},
	{&ebgp, "", ORIGIN PATH HOP "c00800" ORIGIN, NLRI, OK, OUT4(8)},
	{&ebgp,
	 "",
	 "c00e1a 000201 10 20010db8000000000000000000000001 00 20 20010db8" ORIGIN PATH,
	 "",
	 OK,
	 {.withdrawn6 = 1, .treatment = WIRE_AS_IF_WITHDRAWN, .attribute = 14}},
	/* What ends the session: lengths that leave the routes in doubt. */
	{&ebgp, "21 c633640100", "", "", "030a", {0}},
	{&ebgp, "20 c63364", "", "", "030a", {0}},
	{&ebgp, "", ORIGIN PATH HOP, "21 c633640100", "030a", {0}},
	{&ebgp, "", ORIGIN PATH HOP, "18 c633", "030a", {0}},
	{&ebgp, "", ORIGIN PATH HOP, NLRI "ff", "030a", {0}},
	{&only6, "", ORIGIN PATH HOP, "18 c633", "030a", {0}},
	{&ebgp, "", "40c800", "", "0302 40c800", {0}},
	{&ebgp, "", ORIGIN PATH HOP "50c80001ff", NLRI, "0302 50c80001ff", {0}},
	{&ebgp, "", "000000", "", "0302 000000", {0}},
	{&ebgp, "", UNREACH6 UNREACH6, "", "0301", {0}},
	{&ebgp, "", REACH6 REACH6 ORIGIN PATH, "", "0301", {0}},
	/* RFC 7606 section 5.2: no route can be found that it would be about. */
	{&ebgp, "", "c00f03 000201", "", "0301", {0}},
	{&ebgp, "", "40010109", "", "0301", {0}},
	{&ebgp, NLRI, "40010109" PATH HOP, "", "0301", {0}},
	{&ebgp, "", UNREACH6 "40010109", "", "0301", {0}},
	{&ebgp, "", "400101", "", "0301", {0}},
	{&ebgp, "", "400e03 000201", "", "0309 400e03 000201", {0}},
	{&ebgp, "", "800f02 0002", "", "0309 800f02 0002", {0}},
	{&ebgp, "", "800f00", "", "0309 800f00", {0}},
	{&ebgp, "", "800f04 000201 81", "", "0309 800f04 000201 81", {0}},
	{&ebgp, "", "800f05 000201 1020", "", "0309 800f05 000201 1020", {0}},
	{&ebgp, "", "800e04 00020110", "", "0309 800e04 00020110", {0}},
	{&ebgp, "", "800e05 00020100 00", "", "0309 800e05 00020100 00", {0}},
	{&ebgp, "", "800e09 00020104 c00002fe 00", "", "0309 800e09 00020104 c00002fe 00", {0}},
	{&ebgp, "", "800e05 000101ff 00", "", "0309 800e05 000101ff 00", {0}},
	{&ebgp, "", "800e05 001941ff 00", "", "0309 800e05 001941ff 00", {0}},
	{&ebgp,
	 "",
	 "800e0d 000101 04 c00002fe 00 21 c63364",
	 "",
	 "0309 800e0d 000101 04 c00002fe 00 21 c63364",
	 {0}},
	{&ebgp,
	 "",
	 "800f15 000201 81 2001000000000000000000000000000000",
	 "",
	 "0309 800f15 000201 81 2001000000000000000000000000000000",
	 {0}},
	{&ebgp, "", "800f09 000101 21 c633640100", "", "0309 800f09 000101 21 c633640100", {0}},
	{&ebgp,
	 "",
	 "800e0f 000101 04 c00002fe 00 21 c633640100",
	 "",
	 "0309 800e0f 000101 04 c00002fe 00 21 c633640100",
	 {0}},
	{&ebgp,
	 "",
	 "800e27 000201 10 20010db8000000000000000000000001 00"
	 "81 2001000000000000000000000000000000",
	 "",
	 "0309 800e27 000201 10 20010db8000000000000000000000001 00"
	 "81 2001000000000000000000000000000000",
	 {0}},
};

static void put16(uint8_t *at, size_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static size_t build(const struct row *row, uint8_t *bytes)
{
	size_t at = WIRE_HEADER + 2, part;
	struct wire_notice fault;
	enum wire_type type;

	memset(bytes, 0xff, 16);
	bytes[18] = WIRE_UPDATE;
	part = hex_bytes(row->withdrawn, bytes + at);
	put16(bytes + at - 2, part);
	at += part + 2;
	part = hex_bytes(row->attributes, bytes + at);
	put16(bytes + at - 2, part);
	at += part;
	at += hex_bytes(row->announced, bytes + at);
	put16(bytes + 16, at);
	assert_int_equal(wire_frame(bytes, at, &type, &fault), at);
	return at;
}

static void assert_notice(size_t i, const struct wire_notice *notice, const char *hex)
{
	uint8_t want[WIRE_MAX];
	size_t length = hex_bytes(hex, want);

	if (notice->code != want[0] || notice->subcode != want[1] || notice->length != length - 2 ||
	    memcmp(notice->data, want + 2, length - 2) != 0)
		fail_msg("row %zu: %d/%d, %d bytes", i, notice->code, notice->subcode,
			 notice->length);
}

static void assert_update(size_t i, const struct wire_update *got, const struct wire_update *want)
{
	if (got->announced4 != want->announced4 || got->announced6 != want->announced6 ||
	    got->withdrawn4 != want->withdrawn4 || got->withdrawn6 != want->withdrawn6 ||
	    got->foreign != want->foreign || got->end_of_rib4 != want->end_of_rib4 ||
	    got->end_of_rib6 != want->end_of_rib6 || got->treatment != want->treatment ||
	    got->attribute != want->attribute)
		fail_msg("row %zu: in %u %u, out %u %u, foreign %u, end %d %d, %d of %d (%s)", i,
			 got->announced4, got->announced6, got->withdrawn4, got->withdrawn6,
			 got->foreign, got->end_of_rib4, got->end_of_rib6, (int)got->treatment,
			 got->attribute, got->why ? got->why : "-");
	assert_int_equal(!got->why, got->treatment == WIRE_TAKEN);
}

static void test_rows(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < COUNT(rows); i++) {
		static uint8_t bytes[WIRE_MAX];
		size_t length = build(&rows[i], bytes);
		struct wire_notice fault = {0};
		struct wire_update update = {0};
		int err = wire_update_parse(rows[i].session, bytes, length, &update, &fault);

		if (err != (rows[i].notice ? -EPROTO : 0))
			fail_msg("row %zu: %d, %d/%d", i, err, fault.code, fault.subcode);
		if (rows[i].notice)
			assert_notice(i, &fault, rows[i].notice);
		else
			assert_update(i, &update, &rows[i].want);
	}
}

/* The two lengths of the message itself. */
static void test_lengths(void **unused)
{
	static const struct {
		const char *body;
		bool refused;
	} bodies[] = {
		{"0000 0000", false},         {"0001 0000", true},
		{"0000 0001", true},          {"ffff 0000", true},
		{"0000 ffff", true},          {"0001 00 0000", false},
		{"0002 00 0000", true},       {"0003 00 0000", true},
		{"0001 00 0001", true},       {"0000 0004 40010100", false},
		{"0000 0005 40010100", true},
	};

	(void)unused;
	for (size_t i = 0; i < COUNT(bodies); i++) {
		uint8_t bytes[WIRE_MAX] = {0};
		size_t length = WIRE_HEADER + hex_bytes(bodies[i].body, bytes + WIRE_HEADER);
		struct wire_notice fault = {0};
		struct wire_update update;
		int err = wire_update_parse(&ebgp, bytes, length, &update, &fault);

		if (err != (bodies[i].refused ? -EPROTO : 0))
			fail_msg("row %zu: %d", i, err);
		if (err)
			assert_notice(i, &fault, "0301");
	}
}

/* Any byte of any row changed, on each kind of session: taken, or refused as an UPDATE error. */
static void test_bent(void **unused)
{
	static const struct wire_session *const sessions[] = {&ebgp, &ebgp2, &ibgp, &next6, &only6};
	uint32_t refused = 0, taken = 0;

	(void)unused;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint8_t whole[WIRE_MAX];
		size_t length = build(&rows[i], whole);

		for (size_t at = WIRE_HEADER; at < length; at++) {
			for (int value = 0; value < 256; value += 5) {
				/* Its own memory, so that a read past its end is seen. */
				uint8_t *bytes = malloc(length);
				struct wire_notice fault = {0};
				struct wire_update update = {0};

				memcpy(bytes, whole, length);
				bytes[at] = (uint8_t)value;
				if (wire_update_parse(sessions[(at + (size_t)value) % 5], bytes,
						      length, &update, &fault)) {
					assert_int_equal(fault.code, WIRE_ERR_UPDATE);
					assert_int_not_equal(fault.subcode, 0);
					refused++;
				} else {
					assert_int_equal(fault.code, 0);
					taken++;
				}
				free(bytes);
			}
		}
	}
	assert_true(refused > 1000 && taken > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_bent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
