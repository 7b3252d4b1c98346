/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which segments a socket accepts: a table of sockets and segments, each row run at every offset
 * of both sequence spaces where a number of it wraps around, and a search that no window is wider
 * than it says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "second/accept.h"

enum {
	FIN = PKT_TCP_FIN,
	SYN = PKT_TCP_SYN,
	RST = PKT_TCP_RST,
	ACK = PKT_TCP_ACK,
	MORE = 8, /* PSH: says nothing here */
	QUOTED = 0x100,
	COOKIE = 1,
	LISTENS = 2,
	/* What the client sent begins at THEIRS, what the host did at OURS. */
	WINDOW = 64000,
	MAX_WINDOW = 30000,
	SENT = 5000, /* and not yet acknowledged */
};

struct row {
	const char *name;
	enum accept_kind kind;
	unsigned flags;   /* of the segment, and QUOTED */
	int32_t seq, ack; /* beyond what is expected, and beyond the first not acknowledged */
	enum accepted wanted;
	unsigned extra;
};

#define NONE    ACCEPTED_NONE
#define REFUSED ACCEPTED_REFUSED
#define YES     ACCEPTED_YES

static const struct row rows[] = {
	{"nobody, SYN", ACCEPT_NOBODY, SYN, 0, 0, NONE, 0},
	{"nobody, data", ACCEPT_NOBODY, ACK, 0, 0, NONE, 0},
	{"nobody, quoted", ACCEPT_NOBODY, QUOTED, 0, 0, NONE, 0},

	{"listener, SYN", ACCEPT_LISTENER, SYN, 77, 99, YES, 0},
	{"listener, SYN that wants ECN", ACCEPT_LISTENER, SYN | 0xc0, 77, 99, YES, 0},
	{"listener, SYN of fast open", ACCEPT_LISTENER, SYN | MORE, 0, 0, YES, 0},
	{"listener, data", ACCEPT_LISTENER, ACK | MORE, 0, 0, NONE, 0},
	{"listener, a cookie", ACCEPT_LISTENER, ACK, 0, 0, YES, COOKIE},
	{"listener, a cookie with data", ACCEPT_LISTENER, ACK | MORE, 0, 0, YES, COOKIE},
	{"listener, SYN and ACK", ACCEPT_LISTENER, SYN | ACK, 0, 0, NONE, 0},
	{"listener, RST", ACCEPT_LISTENER, RST, 0, 0, NONE, 0},
	{"listener, SYN and RST", ACCEPT_LISTENER, SYN | RST, 0, 0, NONE, 0},
	{"listener, quoted", ACCEPT_LISTENER, QUOTED, 0, 0, NONE, COOKIE},

	{"pending, its ACK", ACCEPT_PENDING, ACK, 0, 1, YES, 0},
	{"pending, its ACK with data", ACCEPT_PENDING, ACK | MORE, 0, 1, YES, 0},
	{"pending, its ACK is lost and more comes", ACCEPT_PENDING, ACK, 1460, 1, YES, 0},
	{"pending, FIN at once", ACCEPT_PENDING, ACK | FIN, 0, 1, YES, 0},
	{"pending, another's ACK", ACCEPT_PENDING, ACK, 0, 2, REFUSED, 0},
	{"pending, ACK of less", ACCEPT_PENDING, ACK, 0, 0, REFUSED, 0},
	{"pending, data of another", ACCEPT_PENDING, ACK, WINDOW + 1, 1, REFUSED, 0},
	{"pending, its SYN again", ACCEPT_PENDING, SYN, -1, 0, YES, 0},
	{"pending, another SYN", ACCEPT_PENDING, SYN, 1 << 30, 0, YES, 0},
	{"pending, RST", ACCEPT_PENDING, RST, 0, 0, YES, 0},
	{"pending, another's RST", ACCEPT_PENDING, RST, WINDOW + 1, 0, REFUSED, 0},
	{"pending, RST with its ACK", ACCEPT_PENDING, RST | ACK, 0, 1, YES, 0},
	{"pending, RST with another's ACK", ACCEPT_PENDING, RST | ACK, 0, 5, REFUSED, 0},
	{"pending, its SYN-ACK quoted", ACCEPT_PENDING, QUOTED, 0, 0, YES, 0},
	{"pending, another's SYN-ACK quoted", ACCEPT_PENDING, QUOTED, 0, -1, REFUSED, 0},

	{"connected, data", ACCEPT_CONNECTED, ACK, 0, 0, YES, 0},
	{"connected, all is acknowledged", ACCEPT_CONNECTED, ACK, 0, SENT, YES, 0},
	{"connected, more than was sent", ACCEPT_CONNECTED, ACK, 0, SENT + 1, REFUSED, 0},
	{"connected, an old ACK", ACCEPT_CONNECTED, ACK, 0, -MAX_WINDOW, YES, 0},
	{"connected, an ancient ACK", ACCEPT_CONNECTED, ACK, 0, -MAX_WINDOW - 65537, REFUSED, 0},
	{"connected, the window's end", ACCEPT_CONNECTED, ACK, WINDOW, 0, YES, 0},
	{"connected, beyond the window", ACCEPT_CONNECTED, ACK, WINDOW + 1, 0, REFUSED, 0},
	{"connected, a keepalive", ACCEPT_CONNECTED, ACK, -1, SENT, YES, 0},
	{"connected, a repetition", ACCEPT_CONNECTED, ACK, -65000, 0, YES, 0},
	{"connected, of a large window", ACCEPT_CONNECTED, ACK, -(1 << 28), 0, YES, 0},
	{"connected, of a larger one", ACCEPT_CONNECTED, ACK, -(1 << 28) - 1, 0, REFUSED, 0},
	{"connected, FIN", ACCEPT_CONNECTED, ACK | FIN, 0, SENT, YES, 0},
	{"connected, FIN again", ACCEPT_CONNECTED, ACK | FIN, -1, SENT, YES, 0},
	{"connected, FIN of another", ACCEPT_CONNECTED, ACK | FIN, 0, 1 << 29, REFUSED, 0},
	{"connected, RST", ACCEPT_CONNECTED, RST, 0, 0, YES, 0},
	{"connected, RST a while ago", ACCEPT_CONNECTED, RST, -65536, 0, YES, 0},
	{"connected, RST of another", ACCEPT_CONNECTED, RST, -65537, 0, REFUSED, 0},
	{"connected, RST beyond the window", ACCEPT_CONNECTED, RST, WINDOW + 1, 0, REFUSED, 0},
	{"connected, RST with ACK", ACCEPT_CONNECTED, RST | ACK, 0, SENT, YES, 0},
	{"connected, RST with another's ACK", ACCEPT_CONNECTED, RST | ACK, 0, -(1 << 29), REFUSED,
	 0},
	{"connected, SYN", ACCEPT_CONNECTED, SYN, 1 << 29, 0, YES, 0},
	{"connected, SYN and ACK of another", ACCEPT_CONNECTED, SYN | ACK, 1 << 29, 0, REFUSED, 0},
	{"connected, no flags", ACCEPT_CONNECTED, 0, 0, 0, REFUSED, 0},
	{"connected, FIN alone", ACCEPT_CONNECTED, FIN, 0, 0, REFUSED, 0},
	{"connected, quoted", ACCEPT_CONNECTED, QUOTED, 0, 0, YES, 0},
	{"connected, its last quoted", ACCEPT_CONNECTED, QUOTED, 0, SENT, YES, 0},
	{"connected, acknowledged since", ACCEPT_CONNECTED, QUOTED, 0, -65536, YES, 0},
	{"connected, another's quoted", ACCEPT_CONNECTED, QUOTED, 0, SENT + 1, REFUSED, 0},
	{"connected, an ancient one quoted", ACCEPT_CONNECTED, QUOTED, 0, -65537, REFUSED, 0},

	{"waiting, FIN again", ACCEPT_WAITING, ACK | FIN, -1, 0, YES, 0},
	{"waiting, the last ACK", ACCEPT_WAITING, ACK, 0, 0, YES, 0},
	{"waiting, data (FIN_WAIT2)", ACCEPT_WAITING, ACK, 1000, 0, YES, 0},
	{"waiting, more than was sent", ACCEPT_WAITING, ACK, 0, 1, REFUSED, 0},
	{"waiting, its ports again", ACCEPT_WAITING, ACK, 15600000, 1 << 30, REFUSED, 0},
	{"waiting, its ports again, by chance acknowledged", ACCEPT_WAITING, ACK, 15600000, 0,
	 REFUSED, 0},
	{"waiting, its ports again, by chance expected", ACCEPT_WAITING, ACK, 0, 1 << 20, REFUSED,
	 0},
	{"waiting, SYN", ACCEPT_WAITING, SYN, 15600000, 0, YES, LISTENS},
	{"waiting, SYN, but nobody listens", ACCEPT_WAITING, SYN, 15600000, 0, NONE, 0},
	{"waiting, RST", ACCEPT_WAITING, RST, 0, 0, YES, 0},
	{"waiting, RST of the ports' next", ACCEPT_WAITING, RST, 15600000, 0, REFUSED, 0},
	{"waiting, quoted", ACCEPT_WAITING, QUOTED, 0, -1, YES, 0},
};

static struct accept_socket make_socket(const struct row *row, uint32_t theirs, uint32_t ours)
{
	struct accept_socket socket = {
		.kind = row->kind,
		.rcv_nxt = theirs,
		.rcv_window = WINDOW,
		.snd_una = ours,
		.snd_end = ours + SENT,
		.snd_window = MAX_WINDOW,
		.cookie = row->extra == COOKIE,
		.listens = row->extra == LISTENS,
	};

	if (row->kind == ACCEPT_PENDING)
		socket.snd_end = ours + 1;
	if (row->kind == ACCEPT_WAITING) {
		socket.snd_end = ours;
		socket.snd_window = 0;
	}
	return socket;
}

static void run_at(const struct row *row, uint32_t theirs, uint32_t ours)
{
	struct accept_socket socket = make_socket(row, theirs, ours);
	struct accept_segment segment = {
		.seq = theirs + (uint32_t)row->seq,
		.ack = ours + (uint32_t)row->ack,
		.flags = (uint8_t)row->flags,
		.quoted = (row->flags & QUOTED) != 0,
	};

	if (segment.quoted)
		segment.seq = ours + (uint32_t)row->ack;
	if (accept_decide(&socket, &segment) != row->wanted)
		fail_msg("%s, at %u and %u: %d, should be %d", row->name, theirs, ours,
			 accept_decide(&socket, &segment), row->wanted);
}

/* Where a number that is near what is expected is 0, or 2^31, or next to either. */
static void test_table(void **state)
{
	static const uint32_t near[] = {
		0,
		1,
		SENT,
		WINDOW,
		MAX_WINDOW,
		65536,
		1 << 28,
		15600000,
		0x7fffffff,
		0x80000000,
		-1U,
		-SENT,
		-WINDOW,
		-MAX_WINDOW,
		-65536U,
		-(1U << 28),
		12345678,
		0x80000000 - SENT,
		0x80000000 - WINDOW,
		0x80000000 - (1U << 28),
	};
	const size_t count = sizeof(near) / sizeof(near[0]);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t theirs = 0; theirs < count; theirs++) {
			for (size_t ours = 0; ours < count; ours++)
				run_at(&rows[i], near[theirs], near[ours]);
		}
	}
}

/* Of all acknowledgements in steps of a prime, as many are accepted as the window is wide. */
static void test_share_of_strangers(void **state)
{
	const struct row row = {.kind = ACCEPT_CONNECTED};
	const struct accept_socket socket = make_socket(&row, 4000000000U, 4294960000U);
	const uint32_t step = 1009;
	uint64_t accepted = 0, tried = 0;

	(void)state;
	for (uint64_t ack = 0; ack <= UINT32_MAX; ack += step, tried++) {
		struct accept_segment segment = {4000000000U, (uint32_t)ack, ACK, 0, {0}};

		accepted += accept_decide(&socket, &segment) == ACCEPTED_YES;
	}
	/* SENT, the largest window and 64 KiB: one of 42,000 of what is random */
	assert_in_range(accepted, (SENT + MAX_WINDOW + 65536) / step - 1,
			(SENT + MAX_WINDOW + 65536) / step + 1);
	assert_true(tried > 4000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_share_of_strangers),
	};

	return cmocka_run_group_tests_name("accept", tests, NULL, NULL);
}
