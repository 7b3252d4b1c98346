/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bgp/fsm.h: each state with each event against a table of letters, what must hold for all of
 * them, the NOTIFICATIONs, collisions as both sides see them, intervals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/fsm.h"
#include "bgp/wire/wire.h"

/* A letter's meaning. Whoever leaves Established has FSM_DOWN too. */
struct meaning {
	char letter;
	int next; /* -1: as it was */
	uint32_t actions;
};

static const uint32_t END = FSM_STOP_CONNECT_RETRY | FSM_DROP;
static const uint32_t AGAIN = FSM_COUNT_FAILURE | FSM_BACK_OFF;

static struct meaning meaning_of(char letter)
{
	const struct meaning meanings[] = {
		{'.', -1, 0},
		/* towards Idle: in silence, or with a NOTIFICATION (capitals) */
		{'f', FSM_IDLE, END | AGAIN},
		{'F', FSM_IDLE, END | AGAIN | FSM_SEND_NOTICE},
		{'s', FSM_IDLE, END | FSM_COUNT_CLEAR},
		{'S', FSM_IDLE, END | FSM_COUNT_CLEAR | FSM_SEND_NOTICE},
		{'x', FSM_IDLE, END},
		{'X', FSM_IDLE, END | FSM_SEND_NOTICE},
		{'0', FSM_IDLE, FSM_COUNT_CLEAR},
		/* onwards */
		{'c', FSM_CONNECT, FSM_CONNECT_TCP | FSM_START_CONNECT_RETRY},
		{'r', FSM_CONNECT, FSM_DROP | FSM_CONNECT_TCP | FSM_START_CONNECT_RETRY},
		{'p', FSM_ACTIVE, 0},
		{'o', FSM_OPENSENT, FSM_STOP_CONNECT_RETRY | FSM_SEND_OPEN | FSM_START_HOLD_LONG},
		{'q', FSM_OPENCONFIRM, FSM_SEND_KEEPALIVE | FSM_START_KEEPALIVE | FSM_START_HOLD},
		{'e', FSM_ESTABLISHED, FSM_START_HOLD | FSM_UP},
		/* staying */
		{'k', -1, FSM_SEND_KEEPALIVE | FSM_START_KEEPALIVE},
		{'h', -1, FSM_START_HOLD},
		{'H', -1, FSM_START_HOLD | FSM_COUNT_CLEAR},
		{'a', -1, FSM_ANSWER_REFRESH},
	};

	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (meanings[i].letter == letter)
			return meanings[i];
	fail();
	return meanings[0];
}

/* A row an event, a letter a state: Idle, Connect, Active, OpenSent, OpenConfirm, Established. */
static const char *const table[FSM_EVENTS] = {
	[FSM_START] = "c.....",
	[FSM_START_PASSIVE] = "p.....",
	[FSM_STOP] = "0ssSSS",
	[FSM_LOST] = ".ffFFF",
	[FSM_ABANDON] = ".sssss",
	[FSM_CONNECT_RETRY_EXPIRED] = ".rcFFF",
	[FSM_HOLD_EXPIRED] = ".ffFFF",
	[FSM_KEEPALIVE_EXPIRED] = ".ffFkk",
	[FSM_SEND_HOLD_EXPIRED] = ".ffFFF",
	[FSM_TCP_CONNECTED] = ".oo...",
	[FSM_TCP_ACCEPTED] = ".oo...",
	[FSM_TCP_FAILED] = ".fffff",
	[FSM_HEADER_ERROR] = ".ffFFF",
	[FSM_OPEN_TAKEN] = ".ffqFF",
	[FSM_OPEN_ERROR] = ".ffFFF",
	[FSM_COLLISION] = ".xxXXX",
	[FSM_NOTICE_VERSION] = ".fffff",
	[FSM_NOTICE] = ".fffff",
	[FSM_KEEPALIVE_TAKEN] = ".ffFeH",
	[FSM_UPDATE_TAKEN] = ".ffFFh",
	[FSM_UPDATE_ERROR] = ".ffFFF",
	[FSM_REFRESH_TAKEN] = ".ffFFa",
};

static void test_table(void **unused)
{
	(void)unused;
	for (int event = 0; event < FSM_EVENTS; event++) {
		assert_int_equal(strlen(table[event]), FSM_STATES);
		for (int state = 0; state < FSM_STATES; state++) {
			struct fsm_step step =
				fsm_step((enum fsm_state)state, (enum fsm_event)event);
			struct meaning want = meaning_of(table[event][state]);
			int next = want.next < 0 ? state : want.next;

			if (state == FSM_ESTABLISHED && next != FSM_ESTABLISHED)
				want.actions |= FSM_DOWN;
			if ((int)step.next != next || step.actions != want.actions)
				fail_msg("event %d in %s: %s %x, not %s %x", event,
					 fsm_state_name((enum fsm_state)state),
					 fsm_state_name(step.next), step.actions,
					 fsm_state_name((enum fsm_state)next), want.actions);
		}
	}
}

/* Whatever the table says, a caller that does as it is told loses and leaks nothing. */
static void test_promises(void **unused)
{
	(void)unused;
	for (int event = 0; event < FSM_EVENTS; event++) {
		for (int state = 0; state < FSM_STATES; state++) {
			struct fsm_step step =
				fsm_step((enum fsm_state)state, (enum fsm_event)event);
			bool ends = state != FSM_IDLE && step.next == FSM_IDLE;

			if (ends)
				assert_int_equal(step.actions & END, END);
			if (step.actions & FSM_BACK_OFF)
				assert_int_equal(step.next, FSM_IDLE);
			/* Nobody is told anything before our OPEN, nor in answer to a notice. */
			if (step.actions & FSM_SEND_NOTICE) {
				assert_true(state >= FSM_OPENSENT && ends);
				assert_true(event != FSM_NOTICE && event != FSM_NOTICE_VERSION &&
					    event != FSM_ABANDON && event != FSM_TCP_FAILED);
			}
			assert_int_equal(!!(step.actions & FSM_UP),
					 state != FSM_ESTABLISHED && step.next == FSM_ESTABLISHED);
			assert_int_equal(!!(step.actions & FSM_DOWN),
					 state == FSM_ESTABLISHED && step.next != FSM_ESTABLISHED);
			/* Only the operator's word and a planned restart need no new start. */
			if (ends && !(step.actions & FSM_BACK_OFF))
				assert_true(event == FSM_STOP || event == FSM_ABANDON ||
					    event == FSM_COLLISION);
		}
	}
}

struct notice_row {
	enum fsm_state state;
	enum fsm_event event;
	int code; /* 0: the event's own, or none */
	int subcode;
};

static const struct notice_row notices[] = {
	{FSM_OPENSENT, FSM_HOLD_EXPIRED, 4, 0},
	{FSM_ESTABLISHED, FSM_HOLD_EXPIRED, 4, 0},
	{FSM_ESTABLISHED, FSM_SEND_HOLD_EXPIRED, 8, 0},
	{FSM_OPENCONFIRM, FSM_COLLISION, 6, 7},
	{FSM_OPENSENT, FSM_KEEPALIVE_TAKEN, 5, 1},
	{FSM_OPENSENT, FSM_UPDATE_TAKEN, 5, 1},
	{FSM_OPENSENT, FSM_UPDATE_ERROR, 5, 1},
	{FSM_OPENCONFIRM, FSM_UPDATE_TAKEN, 5, 2},
	{FSM_OPENCONFIRM, FSM_OPEN_TAKEN, 5, 2},
	{FSM_OPENCONFIRM, FSM_REFRESH_TAKEN, 5, 2},
	{FSM_ESTABLISHED, FSM_OPEN_TAKEN, 5, 3},
	{FSM_ESTABLISHED, FSM_OPEN_ERROR, 5, 3},
	{FSM_OPENSENT, FSM_OPEN_ERROR, 0, 0},
	{FSM_ESTABLISHED, FSM_UPDATE_ERROR, 0, 0},
	{FSM_ESTABLISHED, FSM_HEADER_ERROR, 0, 0},
	{FSM_ESTABLISHED, FSM_STOP, 0, 0},
	{FSM_ESTABLISHED, FSM_LOST, 0, 0},
	{FSM_ESTABLISHED, FSM_NOTICE, 0, 0},
	{FSM_ESTABLISHED, FSM_KEEPALIVE_TAKEN, 0, 0},
	{FSM_CONNECT, FSM_HOLD_EXPIRED, 0, 0},
	{FSM_IDLE, FSM_COLLISION, 0, 0},
};

static void test_notices(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < sizeof(notices) / sizeof(notices[0]); i++) {
		uint8_t code = 0, subcode = 0;
		bool own = fsm_notice(notices[i].state, notices[i].event, &code, &subcode);

		if (own != (notices[i].code != 0) || code != notices[i].code ||
		    subcode != notices[i].subcode)
			fail_msg("row %zu: %d, %d/%d", i, own, code, subcode);
	}
}

/* A session's life, by the events of one connection. */
static void test_walk(void **unused)
{
	static const enum fsm_event way[] = {
		FSM_START,        FSM_TCP_CONNECTED,     FSM_OPEN_TAKEN,      FSM_KEEPALIVE_TAKEN,
		FSM_UPDATE_TAKEN, FSM_KEEPALIVE_EXPIRED, FSM_KEEPALIVE_TAKEN, FSM_ABANDON};
	static const enum fsm_state through[] = {FSM_CONNECT,     FSM_OPENSENT,    FSM_OPENCONFIRM,
						 FSM_ESTABLISHED, FSM_ESTABLISHED, FSM_ESTABLISHED,
						 FSM_ESTABLISHED, FSM_IDLE};
	enum fsm_state state = FSM_IDLE;

	(void)unused;
	for (size_t i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		state = fsm_step(state, way[i]).next;
		assert_int_equal(state, through[i]);
	}
}

struct collision_row {
	enum fsm_state old;
	bool old_is_ours;
	struct fsm_side us, peer;
	enum fsm_collision want;
};

static const struct collision_row collisions[] = {
	{FSM_IDLE, true, {1, 1}, {2, 2}, FSM_KEEP_BOTH},
	{FSM_CONNECT, true, {1, 1}, {2, 2}, FSM_KEEP_BOTH},
	{FSM_ACTIVE, true, {1, 1}, {2, 2}, FSM_KEEP_BOTH},
	{FSM_OPENSENT, true, {1, 1}, {2, 2}, FSM_CLOSE_OLD},
	{FSM_OPENSENT, false, {1, 1}, {2, 2}, FSM_CLOSE_NEW},
	{FSM_OPENCONFIRM, true, {1, 1}, {2, 2}, FSM_CLOSE_OLD},
	{FSM_OPENCONFIRM, false, {1, 1}, {2, 2}, FSM_CLOSE_NEW},
	{FSM_OPENCONFIRM, true, {2, 1}, {1, 2}, FSM_CLOSE_NEW},
	{FSM_OPENCONFIRM, false, {2, 1}, {1, 2}, FSM_CLOSE_OLD},
	/* As numbers without a sign. */
	{FSM_OPENCONFIRM, true, {0xc0000201, 1}, {0x0a000001, 2}, FSM_CLOSE_NEW},
	/* The same router id: the greater AS (RFC 6286). */
	{FSM_OPENCONFIRM, true, {7, 70000}, {7, 65000}, FSM_CLOSE_NEW},
	{FSM_OPENCONFIRM, true, {7, 65000}, {7, 70000}, FSM_CLOSE_OLD},
	{FSM_ESTABLISHED, true, {1, 1}, {2, 2}, FSM_CLOSE_NEW},
	{FSM_ESTABLISHED, false, {2, 1}, {1, 2}, FSM_CLOSE_NEW},
};

static void test_collisions(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < sizeof(collisions) / sizeof(collisions[0]); i++) {
		const struct collision_row *row = &collisions[i];

		if (fsm_collide(row->old, row->old_is_ours, &row->us, &row->peer) != row->want)
			fail_msg("row %zu", i);
	}
}

/* Whichever connection each side sees as the old one, both keep the same. */
static void test_collision_agreement(void **unused)
{
	static const struct fsm_side sides[] = {
		{1, 65001}, {2, 65001}, {1, 65002}, {0x80000000, 5}};

	(void)unused;
	for (size_t a = 0; a < 4; a++) {
		for (size_t b = 0; b < 4; b++) {
			if (a == b)
				continue;
			for (int order = 0; order < 4; order++) {
				bool a_old = order & 1, b_old = order & 2; /* is its own */
				enum fsm_collision at_a =
					fsm_collide(FSM_OPENCONFIRM, a_old, &sides[a], &sides[b]);
				enum fsm_collision at_b =
					fsm_collide(FSM_OPENCONFIRM, b_old, &sides[b], &sides[a]);
				bool a_keeps_own = (at_a == FSM_CLOSE_NEW) == a_old;
				bool b_keeps_own = (at_b == FSM_CLOSE_NEW) == b_old;

				assert_true(a_keeps_own != b_keeps_own);
			}
		}
	}
}

static void test_intervals(void **unused)
{
	static const uint32_t most[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};

	(void)unused;
	for (uint32_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		assert_int_equal(fsm_back_off_ms(i + 1, 0), most[i]);
		assert_true(fsm_back_off_ms(i + 1, UINT32_MAX) >= most[i] * 3 / 4);
		assert_true(fsm_back_off_ms(i + 1, UINT32_MAX) >= FSM_BACK_OFF_MIN_MS);
		assert_true(fsm_back_off_ms(i + 1, 0x80000000) <= most[i]);
	}
	assert_int_equal(fsm_back_off_ms(0, 0), 1000);
	assert_int_equal(fsm_back_off_ms(UINT32_MAX, 0), 60000);
	assert_int_equal(fsm_jitter_ms(30000, 0), 30000);
	assert_int_equal(fsm_jitter_ms(30000, 0x80000000), 26250);
	assert_in_range(fsm_jitter_ms(30000, UINT32_MAX), 22500, 22501);
	assert_int_equal(fsm_jitter_ms(0, UINT32_MAX), 0);
	assert_in_range(fsm_jitter_ms(UINT32_MAX, UINT32_MAX), UINT32_MAX / 4 * 3, UINT32_MAX);
	assert_int_equal(fsm_send_hold_ms(0), 480000);
	assert_int_equal(fsm_send_hold_ms(90), 480000);
	assert_int_equal(fsm_send_hold_ms(300), 600000);
	assert_int_equal(fsm_send_hold_ms(65535), 131070000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),      cmocka_unit_test(test_promises),
		cmocka_unit_test(test_notices),    cmocka_unit_test(test_walk),
		cmocka_unit_test(test_collisions), cmocka_unit_test(test_collision_agreement),
		cmocka_unit_test(test_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
