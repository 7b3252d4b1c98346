/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BFD's state machine as tables: every pair of states, the timers, polls, AdminDown. `now` is a
 * number that the tests advance; chance 0 takes nothing off an interval.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "bfd/fsm.h"

enum { MS = 1000, S = 1000 * MS, OWN = 7, PEER = 9, BEGIN = 5 * S };

static uint64_t now;

static struct bfd_packet from_peer(enum bfd_state state)
{
	return (struct bfd_packet){
		.state = state,
		.multiplier = 3,
		.own = PEER,
		.your = OWN,
		.send_us = 100 * MS,
		.receive_us = 100 * MS,
	};
}

static int hear(struct bfd_fsm *fsm, enum bfd_state state)
{
	struct bfd_packet packet = from_peer(state);

	return bfd_fsm_receive(fsm, &packet, now, 0);
}

static int tick(struct bfd_fsm *fsm)
{
	return bfd_fsm_tick(fsm, now, 0);
}

/* A session at 50 ms x 3 that has just sent its first packet. */
static struct bfd_fsm begin(void)
{
	struct bfd_fsm fsm;

	now = BEGIN;
	bfd_fsm_init(&fsm, OWN, 50 * MS, 3, now);
	assert_int_equal(tick(&fsm), BFD_FSM_SEND);
	return fsm;
}

static void answer_poll(struct bfd_fsm *fsm)
{
	struct bfd_packet packet = from_peer(fsm->peer_state);

	packet.final = true;
	bfd_fsm_receive(fsm, &packet, now, 0);
}

/* By way of the handshake, polls answered. */
static struct bfd_fsm begin_in(enum bfd_state state)
{
	struct bfd_fsm fsm = begin();

	if (state == BFD_ADMIN_DOWN)
		bfd_fsm_disable(&fsm, now);
	if (state == BFD_INIT || state == BFD_UP)
		hear(&fsm, BFD_DOWN);
	if (state == BFD_UP)
		hear(&fsm, BFD_UP);
	tick(&fsm);
	if (state == BFD_UP)
		answer_poll(&fsm);
	assert_int_equal(fsm.state, state);
	return fsm;
}

static void test_every_pair_of_states(void **state)
{
	enum { A = BFD_ADMIN_DOWN, D = BFD_DOWN, I = BFD_INIT, U = BFD_UP };
	static const struct {
		int before, heard, after;
		uint8_t diag;
	} rows[] = {
		{A, A, A, 7}, {A, D, A, 7}, {A, I, A, 7}, {A, U, A, 7}, /* deaf */
		{D, A, D, 0}, {D, D, I, 0}, {D, I, U, 0}, {D, U, D, 0}, {I, A, D, 3}, {I, D, I, 0},
		{I, I, U, 0}, {I, U, U, 0}, {U, A, D, 3}, {U, D, D, 3}, {U, I, U, 0}, {U, U, U, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bfd_fsm fsm = begin_in((enum bfd_state)rows[i].before);
		int actions = hear(&fsm, (enum bfd_state)rows[i].heard);
		bool changed = rows[i].before != rows[i].after;

		if ((int)fsm.state != rows[i].after || fsm.diag != rows[i].diag ||
		    actions != (changed ? BFD_FSM_CHANGED : 0))
			fail_msg("row %zu: state %d, diagnostic %d, actions %d", i, fsm.state,
				 fsm.diag, actions);
		/* A change is said at once, what is none waits for its time. */
		assert_int_equal(tick(&fsm) & BFD_FSM_SEND, changed ? BFD_FSM_SEND : 0);
	}
}

static void test_silence_in_every_state(void **state)
{
	static const struct {
		enum bfd_state before, after;
		uint8_t diag;
	} rows[] = {
		{BFD_DOWN, BFD_DOWN, 0},
		{BFD_INIT, BFD_DOWN, 1},
		{BFD_UP, BFD_DOWN, 1},
		{BFD_ADMIN_DOWN, BFD_ADMIN_DOWN, 7},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bfd_fsm fsm = begin_in(rows[i].before);
		bool changed = rows[i].before != rows[i].after;

		/* Up, and what a peer that is not of our mind says: nothing changes. */
		hear(&fsm, rows[i].before == BFD_INIT ? BFD_DOWN : BFD_UP);
		assert_int_equal(fsm.state, rows[i].before);
		assert_int_equal(fsm.your, PEER);
		now += 300 * MS - 1;
		tick(&fsm);
		assert_int_equal(fsm.state, rows[i].before);
		assert_int_equal(fsm.your, PEER);
		now += 1;
		assert_int_equal(tick(&fsm) & BFD_FSM_CHANGED, changed ? BFD_FSM_CHANGED : 0);
		assert_int_equal(fsm.state, rows[i].after);
		assert_int_equal(fsm.diag, rows[i].diag);
		assert_int_equal(fsm.your, 0); /* it may begin anew */
		assert_true(bfd_fsm_deadline(&fsm) > now);
	}
}

/* Multiplier of the peer, times the larger of what it sends and what we want to receive. */
static void test_detection_time(void **state)
{
	static const struct {
		uint32_t send_us;
		uint8_t multiplier;
		uint32_t detect_us;
	} rows[] = {
		{100 * MS, 3, 300 * MS}, {10 * MS, 3, 150 * MS},      {0, 1, 50 * MS},
		{1 * S, 255, 255 * S},   {UINT32_MAX, 2, UINT32_MAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bfd_fsm fsm = begin_in(BFD_UP);
		struct bfd_packet packet = from_peer(BFD_UP);

		packet.send_us = rows[i].send_us;
		packet.multiplier = rows[i].multiplier;
		bfd_fsm_receive(&fsm, &packet, now, 0);
		assert_int_equal(bfd_fsm_detect_us(&fsm), rows[i].detect_us);
	}
}

static void test_slow_until_up_then_a_poll(void **state)
{
	struct bfd_fsm fsm = begin();
	struct bfd_packet packet = bfd_fsm_packet(&fsm, false);

	(void)state;
	assert_int_equal(packet.state, BFD_DOWN);
	assert_int_equal(packet.your, 0);
	assert_int_equal(packet.send_us, 1 * S);
	assert_int_equal(packet.receive_us, 50 * MS);
	assert_false(packet.poll);
	assert_int_equal(bfd_fsm_deadline(&fsm), now + 1 * S);

	hear(&fsm, BFD_DOWN);
	now += 1;
	assert_int_equal(tick(&fsm), BFD_FSM_SEND);
	packet = bfd_fsm_packet(&fsm, false);
	assert_int_equal(packet.state, BFD_INIT);
	assert_int_equal(packet.your, PEER);
	assert_int_equal(bfd_fsm_send_us(&fsm), 1 * S);

	hear(&fsm, BFD_INIT);
	assert_int_equal(fsm.state, BFD_UP);
	assert_int_equal(bfd_fsm_send_us(&fsm), 100 * MS); /* shorter: at once */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(tick(&fsm), BFD_FSM_SEND);
		packet = bfd_fsm_packet(&fsm, false);
		assert_true(packet.poll);
		assert_int_equal(packet.send_us, 50 * MS);
		hear(&fsm, BFD_UP);
		now += 100 * MS;
	}
	answer_poll(&fsm);
	packet = bfd_fsm_packet(&fsm, false);
	assert_false(packet.poll);
}

static void test_a_final_bit_counts_for_a_poll_that_went_out(void **state)
{
	struct bfd_fsm fsm = begin_in(BFD_UP);
	struct bfd_packet final = from_peer(BFD_UP);

	(void)state;
	final.final = true;
	bfd_fsm_change(&fsm, 80 * MS, 3, now);
	assert_true(fsm.polling);
	bfd_fsm_receive(&fsm, &final, now, 0); /* to one before */
	assert_true(fsm.polling);
	assert_int_equal(tick(&fsm), BFD_FSM_SEND);
	bfd_fsm_receive(&fsm, &final, now, 0);
	assert_false(fsm.polling);
}

/* A longer sending and a shorter receiving interval wait for the peer's answer. */
static void test_other_intervals_while_up(void **state)
{
	static const struct {
		uint32_t to_us, send_before_us, send_after_us, detect_before_us, detect_after_us;
	} rows[] = {
		{400 * MS, 100 * MS, 400 * MS, 1200 * MS, 1200 * MS},
		{200 * MS, 100 * MS, 200 * MS, 600 * MS, 600 * MS},
		{10 * MS, 100 * MS, 100 * MS, 300 * MS, 300 * MS}, /* as slow as the peer */
	};
	struct bfd_fsm fsm;
	struct bfd_packet quick = from_peer(BFD_UP);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		fsm = begin_in(BFD_UP);
		bfd_fsm_change(&fsm, rows[i].to_us, 5, now);
		assert_int_equal(fsm.state, BFD_UP);
		assert_int_equal(bfd_fsm_send_us(&fsm), rows[i].send_before_us);
		assert_int_equal(bfd_fsm_detect_us(&fsm), rows[i].detect_before_us);
		assert_int_equal(bfd_fsm_packet(&fsm, false).send_us, rows[i].to_us);
		assert_int_equal(bfd_fsm_packet(&fsm, false).multiplier, 5);
		assert_int_equal(tick(&fsm), BFD_FSM_SEND);
		answer_poll(&fsm);
		assert_int_equal(bfd_fsm_send_us(&fsm), rows[i].send_after_us);
		assert_int_equal(bfd_fsm_detect_us(&fsm), rows[i].detect_after_us);
	}

	fsm = begin_in(BFD_UP);
	quick.send_us = 10 * MS;
	bfd_fsm_receive(&fsm, &quick, now, 0);
	bfd_fsm_change(&fsm, 20 * MS, 3, now);
	assert_int_equal(bfd_fsm_detect_us(&fsm), 150 * MS);
	tick(&fsm);
	quick.final = true;
	bfd_fsm_receive(&fsm, &quick, now, 0);
	assert_int_equal(bfd_fsm_detect_us(&fsm), 60 * MS);
}

static void test_a_poll_is_answered(void **state)
{
	static const enum bfd_state states[] = {BFD_DOWN, BFD_INIT, BFD_UP};
	struct bfd_packet packet = from_peer(BFD_UP);

	(void)state;
	packet.poll = true;
	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
		struct bfd_fsm fsm = begin_in(states[i]);
		uint64_t due = fsm.send_at_us;

		assert_true(bfd_fsm_receive(&fsm, &packet, now, 0) & BFD_FSM_SEND_FINAL);
		fsm.polling = true;
		assert_true(bfd_fsm_packet(&fsm, true).final);
		assert_false(bfd_fsm_packet(&fsm, true).poll);
		if (states[i] == BFD_UP)
			assert_int_equal(fsm.send_at_us, due); /* beside the regular ones */
	}
	struct bfd_fsm fsm = begin_in(BFD_ADMIN_DOWN);

	assert_int_equal(bfd_fsm_receive(&fsm, &packet, now, 0), 0);
}

static void test_a_peer_that_wants_silence(void **state)
{
	struct bfd_fsm fsm = begin_in(BFD_UP);
	struct bfd_packet packet = from_peer(BFD_UP);

	(void)state;
	packet.receive_us = 0;
	bfd_fsm_receive(&fsm, &packet, now, 0);
	assert_int_equal(bfd_fsm_send_us(&fsm), 0);
	assert_int_equal(fsm.send_at_us, UINT64_MAX);
	packet.receive_us = 1;
	bfd_fsm_receive(&fsm, &packet, now, 0);
	assert_int_equal(bfd_fsm_send_us(&fsm), 50 * MS);

	packet.demand = true;
	bfd_fsm_receive(&fsm, &packet, now, 0);
	assert_int_equal(bfd_fsm_send_us(&fsm), 0);
	bfd_fsm_change(&fsm, 70 * MS, 3, now); /* a poll goes out all the same */
	assert_int_not_equal(bfd_fsm_send_us(&fsm), 0);
	tick(&fsm);
	packet.final = true;
	bfd_fsm_receive(&fsm, &packet, now, 0);
	assert_int_equal(bfd_fsm_send_us(&fsm), 0);
	packet.final = false;
	packet.state = BFD_INIT; /* demand counts while both are up */
	bfd_fsm_receive(&fsm, &packet, now, 0);
	assert_int_equal(bfd_fsm_send_us(&fsm), 70 * MS);
}

/* An interval that shrinks counts from the last packet: the next may be due at once. */
static void test_a_shorter_interval_counts_from_the_last_packet(void **state)
{
	struct bfd_fsm fsm = begin_in(BFD_UP);
	struct bfd_packet packet = from_peer(BFD_UP);

	(void)state;
	packet.receive_us = 10 * S;
	bfd_fsm_receive(&fsm, &packet, now, 0);
	assert_int_equal(fsm.send_at_us, fsm.sent_us + 10 * S);
	now += 200 * MS;
	packet.receive_us = 100 * MS;
	bfd_fsm_receive(&fsm, &packet, now, 0);
	assert_int_equal(tick(&fsm), BFD_FSM_SEND);
}

static void test_spread(void **state)
{
	static const struct {
		uint8_t multiplier;
		uint32_t least_us, most_us;
	} rows[] = {{3, 75 * MS, 100 * MS}, {1, 75 * MS, 90 * MS}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t least = UINT64_MAX, most = 0;
		struct bfd_fsm fsm = begin_in(BFD_UP);

		bfd_fsm_change(&fsm, 50 * MS, rows[i].multiplier, now);
		for (uint32_t chance = 0; chance < 1000; chance++) {
			uint64_t gap;

			hear(&fsm, BFD_UP);
			now = fsm.send_at_us;
			assert_int_equal(bfd_fsm_tick(&fsm, now, chance), BFD_FSM_SEND);
			gap = fsm.send_at_us - now;
			least = gap < least ? gap : least;
			most = gap > most ? gap : most;
		}
		assert_int_equal(least, rows[i].least_us);
		assert_int_equal(most, rows[i].most_us);
	}
}

static void test_admin_down_goes_out_until_it_is_heard(void **state)
{
	struct bfd_fsm fsm = begin_in(BFD_UP);
	struct bfd_packet packet;

	(void)state;
	bfd_fsm_disable(&fsm, now);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(tick(&fsm), BFD_FSM_SEND);
		packet = bfd_fsm_packet(&fsm, false);
		assert_int_equal(packet.state, BFD_ADMIN_DOWN);
		assert_int_equal(packet.diag, 7);
		assert_true(packet.poll);
		now += 100 * MS; /* as often as before */
	}
	packet = from_peer(BFD_DOWN);
	packet.final = true;
	bfd_fsm_receive(&fsm, &packet, now, 0);
	assert_false(fsm.polling);
	assert_int_equal(fsm.state, BFD_ADMIN_DOWN);
}

static void test_admin_down_is_told_from_any_state(void **state)
{
	static const enum bfd_state states[] = {BFD_DOWN, BFD_INIT, BFD_UP};

	(void)state;
	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
		struct bfd_fsm fsm = begin_in(states[i]);

		fsm.polling = false;
		bfd_fsm_disable(&fsm, now);
		assert_int_equal(tick(&fsm), BFD_FSM_SEND);
		assert_true(bfd_fsm_packet(&fsm, false).poll);
	}
}

/* Two machines and a wire that loses what the row says; both must get up, and down together. */
static void test_two_machines(void **state)
{
	(void)state;
	for (uint32_t loss = 0; loss < 60; loss += 20) {
		struct bfd_fsm ends[2];
		uint32_t random = 1;

		now = BEGIN;
		bfd_fsm_init(&ends[0], 11, 50 * MS, 3, now);
		bfd_fsm_init(&ends[1], 12, 300 * MS, 3, now);
		for (; now < BEGIN + 60 * S; now += MS) {
			for (int i = 0; i < 2; i++) {
				struct bfd_packet packet;

				random = random * 1664525 + 1013904223;
				if (!(bfd_fsm_tick(&ends[i], now, random >> 8) & BFD_FSM_SEND))
					continue;
				packet = bfd_fsm_packet(&ends[i], false);
				if ((random >> 16) % 100 < loss || now > BEGIN + 50 * S)
					continue;
				if (bfd_fsm_receive(&ends[!i], &packet, now, random >> 4) &
				    BFD_FSM_SEND_FINAL) {
					packet = bfd_fsm_packet(&ends[!i], true);
					bfd_fsm_receive(&ends[i], &packet, now, random >> 4);
				}
			}
			if (now == BEGIN + 50 * S && !loss) {
				assert_int_equal(ends[0].state, BFD_UP);
				assert_int_equal(ends[1].state, BFD_UP);
				assert_int_equal(bfd_fsm_send_us(&ends[0]), 300 * MS);
				assert_int_equal(bfd_fsm_detect_us(&ends[0]), 900 * MS);
				assert_false(ends[0].polling || ends[1].polling);
			}
		}
		assert_int_equal(ends[0].state, BFD_DOWN);
		assert_int_equal(ends[1].state, BFD_DOWN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_pair_of_states),
		cmocka_unit_test(test_silence_in_every_state),
		cmocka_unit_test(test_detection_time),
		cmocka_unit_test(test_slow_until_up_then_a_poll),
		cmocka_unit_test(test_a_final_bit_counts_for_a_poll_that_went_out),
		cmocka_unit_test(test_other_intervals_while_up),
		cmocka_unit_test(test_a_poll_is_answered),
		cmocka_unit_test(test_a_peer_that_wants_silence),
		cmocka_unit_test(test_a_shorter_interval_counts_from_the_last_packet),
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_admin_down_goes_out_until_it_is_heard),
		cmocka_unit_test(test_admin_down_is_told_from_any_state),
		cmocka_unit_test(test_two_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
