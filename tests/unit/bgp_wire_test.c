/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bgp/wire.h: framing, OPEN and what two of them come to, ROUTE-REFRESH, NOTIFICATION and its
 * words; each as a table, with refusals and what the peer is told of them.
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
#include "bgp/wire/wire.h"

#define ONES         "ffffffffffffffffffffffffffffffff"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void assert_notice(const struct wire_notice *notice, const char *hex)
{
	uint8_t want[WIRE_MAX];
	size_t length = hex_bytes(hex, want);

	assert_int_equal(notice->code, want[0]);
	assert_int_equal(notice->subcode, want[1]);
	assert_int_equal(notice->length, length - 2);
	assert_memory_equal(notice->data, want + 2, length - 2);
}

struct frame_row {
	const char *bytes;
	int want; /* the length; 0: wait; -1: refused */
	const char *notice;
	enum wire_type type;
};

static const struct frame_row frames[] = {
	{"", 0, NULL, 0},
	{"ff", 0, NULL, 0},
	{ONES "0013", 0, NULL, 0},
	{ONES "001304", 19, NULL, WIRE_KEEPALIVE},
	{ONES "001304" ONES, 19, NULL, WIRE_KEEPALIVE},
	{ONES "001302", -1, "0102 0013", 0},
	{ONES "001702", 0, NULL, 0},
	{ONES "001702 00000000", 23, NULL, WIRE_UPDATE},
	{ONES "001705 00010001", 23, NULL, WIRE_REFRESH},
	{ONES "001805 00010001 00", -1, "0102 0018", 0},
	{ONES "001605 000100", -1, "0102 0016", 0},
	{ONES "001503 0602", 21, NULL, WIRE_NOTIFICATION},
	{ONES "001403 06", -1, "0102 0014", 0},
	{ONES "001c01", -1, "0102 001c", 0},
	{ONES "001404 00", -1, "0102 0014", 0},
	{ONES "001204", -1, "0102 0012", 0},
	{ONES "000004", -1, "0102 0000", 0},
	{ONES "100002", 0, NULL, 0},
	{ONES "100102", -1, "0102 1001", 0},
	{ONES "ffff02", -1, "0102 ffff", 0},
	{ONES "001300", -1, "0103 00", 0},
	{ONES "001306", -1, "0103 06", 0},
	{ONES "0013ff", -1, "0103 ff", 0},
	{"474554202f20", -1, "0101", 0},
	{"00", -1, "0101", 0},
	{"fffffffffffffffffffffffffffffffe 001304", -1, "0101", 0},
};

static void test_frames(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < COUNT(frames); i++) {
		const struct frame_row *row = &frames[i];
		uint8_t bytes[WIRE_MAX];
		size_t length = hex_bytes(row->bytes, bytes);
		struct wire_notice fault = {0};
		enum wire_type type = 0;
		int got = wire_frame(bytes, length, &type, &fault);

		if (got != (row->want < 0 ? -EPROTO : row->want))
			fail_msg("row %zu: %d", i, got);
		if (row->notice)
			assert_notice(&fault, row->notice);
		assert_int_equal(type, row->type);
	}
}

/* A whole message of this type around a body in hex. */
static size_t message(enum wire_type type, const char *body, uint8_t *bytes)
{
	size_t length = WIRE_HEADER + hex_bytes(body, bytes + WIRE_HEADER);
	enum wire_type found = 0;
	struct wire_notice fault;

	memset(bytes, 0xff, 16);
	bytes[16] = (uint8_t)(length >> 8);
	bytes[17] = (uint8_t)length;
	bytes[18] = (uint8_t)type;
	assert_int_equal(wire_frame(bytes, length, &found, &fault), length);
	return length;
}

struct open_row {
	const char *body;
	const char *notice; /* NULL: taken */
	struct wire_open want;
};

#define HEAD  "04 fde8 005a c0000201 " /* AS 65000, hold 90 s, 192.0.2.1 */
#define TRANS "04 5ba0 005a c0000201 " /* AS_TRANS */
#define BASIC .asn = 65000, .hold_s = 90, .router_id = 0xc0000201

static const struct open_row opens[] = {
	{HEAD "00", NULL, {BASIC, .ipv4 = true}},
	/* Families, and that of nobody's. */
	{HEAD "08 0206 0104 00010001", NULL, {BASIC, .ipv4 = true}},
	{HEAD "08 0206 0104 00020001", NULL, {BASIC, .ipv6 = true}},
	{HEAD "08 0206 0104 0002ff01", NULL, {BASIC, .ipv6 = true}},
	{HEAD "10 0206 0104 00010001 0206 0104 00020001",
	 NULL,
	 {BASIC, .ipv4 = true, .ipv6 = true}},
	{HEAD "0e 020c 0104 00010001 0104 00020001", NULL, {BASIC, .ipv4 = true, .ipv6 = true}},
	{HEAD "08 0206 0104 00010002", NULL, {BASIC}},
	{HEAD "08 0206 0104 00190041", NULL, {BASIC}},
	/* Four-byte AS. */
	{HEAD "08 0206 4104 0000fde8", NULL, {BASIC, .ipv4 = true, .as4 = true}},
	{TRANS "08 0206 4104 000186a0",
	 NULL,
	 {.asn = 100000, .hold_s = 90, .router_id = 0xc0000201, .ipv4 = true, .as4 = true}},
	{TRANS "08 0206 4104 00000000", "0202", {0}},
	{HEAD "08 0206 4104 0000fde9", "0202", {0}},
	{"04 0000 005a c0000201 00", "0202", {0}},
	/* Refresh, next hops of IPv6, what nobody knows. */
	{HEAD "04 0202 0200", NULL, {BASIC, .ipv4 = true, .refresh = true}},
	{HEAD "0a 0208 0506 000100010002", NULL, {BASIC, .ipv4 = true, .next_hop6 = true}},
	{HEAD "0a 0208 0506 000100020002", NULL, {BASIC, .ipv4 = true}},
	{HEAD "10 020e 050c 000100800002 000100010002",
	 NULL,
	 {BASIC, .ipv4 = true, .next_hop6 = true}},
	{HEAD "0d 020b 8000 4600 4903 016100 0600", NULL, {BASIC, .ipv4 = true, .skipped = 4}},
	{HEAD "02 0200", NULL, {BASIC, .ipv4 = true}},
	/* Graceful restart: bits, time, families. */
	{HEAD "06 0204 4002 0078", NULL, {BASIC, .ipv4 = true, .graceful = true, .restart_s = 120}},
	{HEAD "0e 020c 400a cfff 00010180 00020100",
	 NULL,
	 {BASIC, .ipv4 = true, .graceful = true, .restarting = true, .graceful_notice = true,
	  .restart_s = 4095, .graceful4 = true, .forwarding4 = true, .graceful6 = true}},
	{HEAD "0a 0208 4006 4001 00010280",
	 NULL,
	 {BASIC, .ipv4 = true, .graceful = true, .graceful_notice = true, .restart_s = 1}},
	/* Twice: the last. */
	{HEAD "10 0208 4006 8005 00010180 0204 4002 0006",
	 NULL,
	 {BASIC, .ipv4 = true, .graceful = true, .restart_s = 6}},
	/* Hold times. */
	{"04 fde8 0000 c0000201 00", NULL, {.asn = 65000, .router_id = 0xc0000201, .ipv4 = true}},
	{"04 fde8 0003 c0000201 00",
	 NULL,
	 {.asn = 65000, .hold_s = 3, .router_id = 0xc0000201, .ipv4 = true}},
	{"04 fde8 0001 c0000201 00", "0206", {0}},
	{"04 fde8 0002 c0000201 00", "0206", {0}},
	{"04 fde8 005a 00000000 00", "0203", {0}},
	{"03 fde8 005a c0000201 00", "0201 0004", {0}},
	{"05 fde8 005a c0000201 00", "0201 0004", {0}},
	/* Parameters: of another type, longer or shorter than they say. */
	{HEAD "03 010100", "0204", {0}},
	{HEAD "04 0202 0200 00", "0200", {0}},
	{HEAD "05 0202 0200", "0200", {0}},
	{HEAD "04 0203 0200", "0200", {0}},
	{HEAD "01 02", "0200", {0}},
	{HEAD "04 0202 0201", "0200", {0}},
	{HEAD "03 0201 02", "0200", {0}},
	/* Capabilities of a wrong length. */
	{HEAD "07 0205 0103 000100", "0200", {0}},
	{HEAD "05 0203 0201 00", "0200", {0}},
	{HEAD "07 0205 4103 00fde8", "0200", {0}},
	{HEAD "09 0207 0505 0001000100", "0200", {0}},
	{HEAD "05 0203 4001 00", "0200", {0}},
	{HEAD "07 0205 4003 000000", "0200", {0}},
	/* Extended parameters, RFC 9072. */
	{HEAD "ff ff 0009 020006 0104 00020001", NULL, {BASIC, .ipv6 = true}},
	{HEAD "04 ff 0005 020002 0200", NULL, {BASIC, .ipv4 = true, .refresh = true}},
	{HEAD "ff ff 0008 020006 0104 00020001", "0200", {0}},
	{HEAD "ff ff 00", "0200", {0}},
	{HEAD "ff ff 0002 0200", "0200", {0}},
	{HEAD "ff ff 0000", NULL, {BASIC, .ipv4 = true}},
};

static void assert_open(const struct wire_open *got, const struct wire_open *want)
{
	assert_int_equal(got->asn, want->asn);
	assert_int_equal(got->router_id, want->router_id);
	assert_int_equal(got->hold_s, want->hold_s);
	assert_int_equal(got->as4, want->as4);
	assert_int_equal(got->ipv4, want->ipv4);
	assert_int_equal(got->ipv6, want->ipv6);
	assert_int_equal(got->refresh, want->refresh);
	assert_int_equal(got->next_hop6, want->next_hop6);
	assert_int_equal(got->graceful, want->graceful);
	assert_int_equal(got->graceful4, want->graceful4);
	assert_int_equal(got->graceful6, want->graceful6);
	assert_int_equal(got->forwarding4, want->forwarding4);
	assert_int_equal(got->forwarding6, want->forwarding6);
	assert_int_equal(got->restarting, want->restarting);
	assert_int_equal(got->graceful_notice, want->graceful_notice);
	assert_int_equal(got->restart_s, want->restart_s);
	assert_int_equal(got->skipped, want->skipped);
}

static void test_opens(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < COUNT(opens); i++) {
		const struct open_row *row = &opens[i];
		uint8_t bytes[WIRE_MAX];
		size_t length = message(WIRE_OPEN, row->body, bytes);
		struct wire_notice fault = {0};
		struct wire_open open = {0};
		int got = wire_open_parse(bytes, length, &open, &fault);

		if (got != (row->notice ? -EPROTO : 0))
			fail_msg("row %zu: %d, %d/%d", i, got, fault.code, fault.subcode);
		if (row->notice)
			assert_notice(&fault, row->notice);
		else
			assert_open(&open, &row->want);
	}
}

struct format_row {
	struct wire_open open;
	const char *body; /* NULL: refused */
};

#define WEIR .hold_s = 90, .router_id = 0xc0000201

static const struct format_row formats[] = {
	{{WEIR, .asn = 65010}, "04 fdf2 005a c0000201 00"},
	{{WEIR, .asn = 65010, .ipv4 = true}, "04 fdf2 005a c0000201 08 0206 0104 00010001"},
	{{WEIR, .asn = 4200000000, .ipv6 = true, .as4 = true},
	 "04 5ba0 005a c0000201 0e 020c 0104 00020001 4104 fa56ea00"},
	{{WEIR, .asn = 65010, .ipv4 = true, .ipv6 = true, .as4 = true, .refresh = true,
	  .next_hop6 = true, .graceful = true, .graceful4 = true, .graceful6 = true,
	  .forwarding6 = true, .restarting = true, .graceful_notice = true, .restart_s = 120},
	 "04 fdf2 005a c0000201 2a 0228 0104 00010001 0104 00020001 0200 0506 000100010002"
	 "400a c078 00010100 00020180 4104 0000fdf2"},
	{{WEIR, .asn = 65010, .graceful = true, .restart_s = 65535},
	 "04 fdf2 005a c0000201 06 0204 4002 0fff"},
	{{.asn = 65010, .router_id = 1}, "04 fdf2 0000 00000001 00"},
	{{WEIR, .asn = 0}, NULL},
	{{WEIR, .asn = 65535}, "04 ffff 005a c0000201 00"},
	{{WEIR, .asn = 65536}, NULL},
	{{.asn = 1, .hold_s = 90}, NULL},
	{{.asn = 1, .router_id = 1, .hold_s = 2}, NULL},
};

/* What we say is what the row has, and is read back as what was said. */
static void test_open_format(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < COUNT(formats); i++) {
		struct wire_open open = formats[i].open, back;
		uint8_t bytes[WIRE_MAX], want[WIRE_MAX];
		struct wire_notice fault;
		int length = wire_open_format(&open, bytes);

		if (!formats[i].body) {
			assert_int_equal(length, -EINVAL);
			continue;
		}
		assert_int_equal(length, message(WIRE_OPEN, formats[i].body, want));
		assert_memory_equal(bytes, want, (size_t)length);
		assert_int_equal(wire_open_parse(bytes, (size_t)length, &back, &fault), 0);
		open.ipv4 |= !open.ipv6;
		if (open.restart_s > WIRE_RESTART_MAX_S)
			open.restart_s = WIRE_RESTART_MAX_S;
		assert_open(&back, &open);
	}
}

struct accept_row {
	struct wire_open ours, theirs;
	uint32_t peer_asn;
	const char *notice;
	struct wire_session want;
};

static const struct accept_row accepts[] = {
	{{.asn = 1, .router_id = 1, .hold_s = 90, .ipv4 = true, .as4 = true, .refresh = true},
	 {.asn = 2, .router_id = 1, .hold_s = 240, .ipv4 = true, .ipv6 = true, .as4 = true},
	 2,
	 NULL,
	 {.asn = 1, .peer_asn = 2, .hold_s = 90, .keepalive_s = 30, .as4 = true, .ipv4 = true}},
	{{.asn = 1, .router_id = 1, .hold_s = 90, .ipv4 = true, .ipv6 = true, .refresh = true},
	 {.asn = 1, .router_id = 2, .hold_s = 3, .ipv6 = true, .as4 = true, .refresh = true},
	 1,
	 NULL,
	 {.asn = 1,
	  .peer_asn = 1,
	  .hold_s = 3,
	  .keepalive_s = 1,
	  .internal = true,
	  .ipv6 = true,
	  .refresh = true}},
	{{.asn = 1, .router_id = 1, .hold_s = 90, .ipv4 = true},
	 {.asn = 2, .router_id = 2, .hold_s = 0, .ipv4 = true},
	 2,
	 NULL,
	 {.asn = 1, .peer_asn = 2, .ipv4 = true}},
	/* IPv4 by IPv6 needs both, and IPv4. */
	{{.asn = 1, .router_id = 1, .ipv4 = true, .next_hop6 = true},
	 {.asn = 2, .router_id = 2, .ipv4 = true, .next_hop6 = true},
	 2,
	 NULL,
	 {.asn = 1, .peer_asn = 2, .ipv4 = true, .next_hop6 = true}},
	{{.asn = 1, .router_id = 1, .ipv6 = true, .next_hop6 = true},
	 {.asn = 2, .router_id = 2, .ipv6 = true, .next_hop6 = true},
	 2,
	 NULL,
	 {.asn = 1, .peer_asn = 2, .ipv6 = true}},
	/* A helper needs no families of its own. */
	{{.asn = 1,
	  .router_id = 1,
	  .ipv4 = true,
	  .ipv6 = true,
	  .graceful = true,
	  .graceful4 = true,
	  .graceful6 = true,
	  .graceful_notice = true},
	 {.asn = 2, .router_id = 2, .ipv4 = true, .graceful = true},
	 2,
	 NULL,
	 {.asn = 1, .peer_asn = 2, .ipv4 = true, .graceful4 = true}},
	{{.asn = 1,
	  .router_id = 1,
	  .ipv6 = true,
	  .graceful = true,
	  .graceful6 = true,
	  .graceful_notice = true},
	 {.asn = 2, .router_id = 2, .ipv6 = true, .graceful = true, .graceful_notice = true},
	 2,
	 NULL,
	 {.asn = 1, .peer_asn = 2, .ipv6 = true, .graceful6 = true, .graceful_notice = true}},
	/* A router that keeps nothing, and a family for which we did not ask. */
	{{.asn = 1, .router_id = 1, .ipv4 = true, .graceful = true, .graceful4 = true},
	 {.asn = 2, .router_id = 2, .ipv4 = true},
	 2,
	 NULL,
	 {.asn = 1, .peer_asn = 2, .ipv4 = true}},
	{{.asn = 1,
	  .router_id = 1,
	  .ipv4 = true,
	  .ipv6 = true,
	  .graceful = true,
	  .graceful6 = true},
	 {.asn = 2, .router_id = 2, .ipv4 = true, .ipv6 = true, .graceful = true},
	 2,
	 NULL,
	 {.asn = 1, .peer_asn = 2, .ipv4 = true, .ipv6 = true, .graceful6 = true}},
	{{.asn = 1,
	  .router_id = 1,
	  .ipv4 = true,
	  .ipv6 = true,
	  .graceful = true,
	  .graceful4 = true},
	 {.asn = 2, .router_id = 2, .ipv4 = true, .ipv6 = true, .graceful = true},
	 2,
	 NULL,
	 {.asn = 1, .peer_asn = 2, .ipv4 = true, .ipv6 = true, .graceful4 = true}},
	/* Refused: another AS, our own id in our AS, nothing in common. */
	{{.asn = 1, .router_id = 1, .ipv4 = true},
	 {.asn = 3, .router_id = 2, .ipv4 = true},
	 2,
	 "0202",
	 {0}},
	{{.asn = 1, .router_id = 1, .ipv4 = true},
	 {.asn = 1, .router_id = 1, .ipv4 = true},
	 1,
	 "0203",
	 {0}},
	{{.asn = 1, .router_id = 1, .ipv4 = true},
	 {.asn = 2, .router_id = 2, .ipv6 = true},
	 2,
	 "0207 0104 00010001",
	 {0}},
	{{.asn = 1, .router_id = 1, .ipv4 = true, .ipv6 = true},
	 {.asn = 2, .router_id = 2},
	 2,
	 "0207 0104 00010001 0104 00020001",
	 {0}},
};

static void test_accepts(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < COUNT(accepts); i++) {
		const struct accept_row *row = &accepts[i];
		const struct wire_session *want = &row->want;
		struct wire_notice fault = {0};
		struct wire_session got = {0};
		int err = wire_open_accept(&row->ours, &row->theirs, row->peer_asn, &got, &fault);

		if (err != (row->notice ? -EPROTO : 0))
			fail_msg("row %zu: %d, %d/%d", i, err, fault.code, fault.subcode);
		if (row->notice) {
			assert_notice(&fault, row->notice);
			continue;
		}
		assert_int_equal(got.asn, want->asn);
		assert_int_equal(got.peer_asn, want->peer_asn);
		assert_int_equal(got.hold_s, want->hold_s);
		assert_int_equal(got.keepalive_s, want->keepalive_s);
		assert_int_equal(got.internal, want->internal);
		assert_int_equal(got.as4, want->as4);
		assert_int_equal(got.ipv4, want->ipv4);
		assert_int_equal(got.ipv6, want->ipv6);
		assert_int_equal(got.next_hop6, want->next_hop6);
		assert_int_equal(got.refresh, want->refresh);
		assert_int_equal(got.graceful4, want->graceful4);
		assert_int_equal(got.graceful6, want->graceful6);
		assert_int_equal(got.graceful_notice, want->graceful_notice);
	}
}

static void test_refresh(void **unused)
{
	static const struct {
		const char *body;
		struct wire_session session;
		int want; /* the family, or -ENOMSG */
	} rows[] = {
		{"00010001", {.ipv4 = true}, WIRE_IPV4},
		{"00020001", {.ipv4 = true, .ipv6 = true}, WIRE_IPV6},
		{"00020001", {.ipv4 = true}, -ENOMSG},
		{"00010001", {.ipv6 = true}, -ENOMSG},
		{"00010002", {.ipv4 = true}, -ENOMSG},
		{"00010101", {.ipv4 = true}, -ENOMSG},
		{"00190041", {.ipv4 = true}, -ENOMSG},
	};
	uint8_t bytes[WIRE_MAX], want[WIRE_MAX];

	(void)unused;
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t length = message(WIRE_REFRESH, rows[i].body, bytes);
		enum wire_family family = 0;
		int got = wire_refresh_parse(bytes, length, &rows[i].session, &family);

		assert_int_equal(got ? got : (int)family, rows[i].want);
	}
	message(WIRE_REFRESH, "00020001", want);
	assert_int_equal(wire_refresh_format(WIRE_IPV6, bytes), 23);
	assert_memory_equal(bytes, want, 23);
	message(WIRE_KEEPALIVE, "", want);
	assert_int_equal(wire_keepalive_format(bytes), 19);
	assert_memory_equal(bytes, want, 19);
}

struct text_row {
	const char *body;
	const char *text;
};

static const struct text_row texts[] = {
	{"0602", "cease, administrative shutdown"},
	{"0602 0c 6261636b206174206e6f6f6e", "cease, administrative shutdown: \"back at noon\""},
	{"0604 02 c3bc ffff", "cease, administrative reset: \"\u00fc\""},
	{"0602 00", "cease, administrative shutdown"},
	{"0602 05 61", "cease, administrative shutdown"},
	/* Not to be printed as it is: controls, quotes, halves, surrogates, overlong, overrides. */
	{"0602 06 1b5b0a220061", "cease, administrative shutdown: \"?[???a\""},
	{"0602 03 c3 2841", "cease, administrative shutdown: \"?(A\""},
	{"0602 01 c3", "cease, administrative shutdown: \"?\""},
	{"0602 03 eda080", "cease, administrative shutdown: \"\?\?\?\""},
	{"0602 02 c0af", "cease, administrative shutdown: \"\?\?\""},
	{"0602 03 e280ae", "cease, administrative shutdown: \"\?\?\?\""},
	{"0602 04 f0908080", "cease, administrative shutdown: \"\U00010000\""},
	{"0602 04 f4908080", "cease, administrative shutdown: \"\?\?\?\?\""},
	{"0602 06 e0a080ee8080", "cease, administrative shutdown: \"\u0800\ue000\""},
	{"0602 03 e09f80", "cease, administrative shutdown: \"\?\?\?\""},
	{"0602 09 e281a6e2808ee4b8ad", "cease, administrative shutdown: \"\?\?\?\?\?\?\u4e2d\""},
	{"0602 09 e281a9c2a0f48fbfbf",
	 "cease, administrative shutdown: \"\?\?\?\u00a0\U0010ffff\""},
	{"0602 02 c285", "cease, administrative shutdown: \"\?\?\""},
	/* Only these carry one. */
	{"0603 0161", "cease, peer de-configured"},
	{"0609", "cease, hard reset"},
	{"0609 0602 0161", "cease, hard reset, cease, administrative shutdown: \"a\""},
	{"0609 0400", "cease, hard reset, hold timer expired"},
	{"0609 06", "cease, hard reset"},
	{"060a", "cease, BFD down"},
	{"0400", "hold timer expired"},
	{"0800", "send hold timer expired"},
	{"0501", "unexpected message, in OpenSent"},
	{"0101", "message header error, connection not synchronized"},
	{"0202", "OPEN error, bad peer AS"},
	{"0203", "OPEN error, bad BGP identifier"},
	{"0205", "OPEN error, authentication failure"},
	{"0301", "UPDATE error, malformed attribute list"},
	{"030b", "UPDATE error, malformed AS_PATH"},
	{"0701", "ROUTE-REFRESH error, invalid message length"},
	{"030c", "UPDATE error, subcode 12"},
	{"0209", "OPEN error, subcode 9"},
	{"020a", "OPEN error, subcode 10"},
	{"0363", "UPDATE error, subcode 99"},
	{"0364", "UPDATE error, subcode 100"},
	{"03ff", "UPDATE error, subcode 255"},
	{"0900", "error 9"},
	{"0007", "error 0, subcode 7"},
	{"ff63", "error 255, subcode 99"},
};

static void test_texts(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < COUNT(texts); i++) {
		uint8_t bytes[WIRE_MAX], again[WIRE_MAX];
		size_t length = message(WIRE_NOTIFICATION, texts[i].body, bytes);
		char text[WIRE_NOTICE_TEXT_MAX];
		struct wire_notice notice;

		wire_notice_parse(bytes, length, &notice);
		assert_string_equal(wire_notice_text(&notice, text), texts[i].text);
		assert_int_equal(wire_notice_format(&notice, again), length);
		assert_memory_equal(again, bytes, length);
	}
}

/* A text is cut between characters, and goes along where it may. */
static void test_cease(void **unused)
{
	char text[600], words[WIRE_NOTICE_TEXT_MAX];
	struct wire_notice notice;

	(void)unused;
	for (size_t i = 0; i < 598; i += 2)
		memcpy(text + i, "\u00fc", 2);
	text[598] = '\0';
	notice = wire_notice_cease(WIRE_CEASE_SHUTDOWN, text);
	assert_int_equal(notice.length, 255);
	assert_int_equal(notice.data[0], 254);
	assert_memory_equal(notice.data + 1, text, 254);
	assert_non_null(strstr(wire_notice_text(&notice, words), "\u00fc\""));
	text[255] = '\0';
	memset(text, 'a', 255);
	notice = wire_notice_cease(WIRE_CEASE_RESET, text);
	assert_int_equal(notice.length, 256);
	assert_int_equal(notice.data[0], 255);
	assert_int_equal(strlen(wire_notice_text(&notice, words)),
			 strlen("cease, administrative reset: ") + 257);
	assert_int_equal(wire_notice_cease(WIRE_CEASE_SHUTDOWN, NULL).length, 0);
	assert_int_equal(wire_notice_cease(WIRE_CEASE_COLLISION, "no").length, 0);
	notice = wire_notice(WIRE_ERR_HOLD, 0);
	assert_string_equal(wire_notice_text(&notice, words), "hold timer expired");
}

/* The largest NOTIFICATION there is; nothing of it is lost. */
static void test_notice_largest(void **unused)
{
	static uint8_t bytes[WIRE_MAX], again[WIRE_MAX];
	char words[WIRE_NOTICE_TEXT_MAX];
	struct wire_notice notice;

	(void)unused;
	memset(bytes, 0xff, sizeof(bytes));
	bytes[16] = WIRE_MAX >> 8;
	bytes[17] = 0;
	bytes[18] = WIRE_NOTIFICATION;
	bytes[19] = WIRE_CEASE;
	bytes[20] = WIRE_CEASE_SHUTDOWN;
	wire_notice_parse(bytes, sizeof(bytes), &notice);
	assert_int_equal(notice.length, WIRE_NOTICE_DATA_MAX);
	assert_int_equal(wire_notice_format(&notice, again), WIRE_MAX);
	assert_memory_equal(bytes, again, WIRE_MAX);
	assert_true(strlen(wire_notice_text(&notice, words)) < sizeof(words) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),      cmocka_unit_test(test_opens),
		cmocka_unit_test(test_open_format), cmocka_unit_test(test_accepts),
		cmocka_unit_test(test_refresh),     cmocka_unit_test(test_texts),
		cmocka_unit_test(test_cease),       cmocka_unit_test(test_notice_largest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
