/* SPDX-License-Identifier: BSD-2-Clause */
/* When a drain has ended: by packets, by an agent's count, and by the two together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <string.h>

#include "weir/draining/ending.h"

enum { START = 1000000 };

static struct ending begun(bool has_agent)
{
	struct ending ending;

	ending_begin(&ending, 100, START);
	ending.has_agent = has_agent;
	return ending;
}

static void assert_words(const struct ending *ending, uint64_t now_ms, const char *expected)
{
	char text[ENDING_WORDS_MAX];

	assert_string_equal(ending_words(ending, "connection refused", now_ms, text), expected);
}

static void test_by_packets_alone(void **state)
{
	struct ending ending = begun(false);

	(void)state;
	assert_false(ending_step(&ending, 100, false, START + 1));
	assert_false(ending_step(&ending, 101, false, START + 5000));
	assert_false(ending_step(&ending, 101, false, START + 5000 + ENDING_QUIET_MS - 1));
	assert_int_equal(ending.by, ENDING_NOT);
	assert_words(&ending, START + 9000, "by packets, none for 4 s");
	assert_true(ending_step(&ending, 101, false, START + 5000 + ENDING_QUIET_MS));
	assert_int_equal(ending.by, ENDING_BY_PACKETS);
	assert_words(&ending, START + 5000 + ENDING_QUIET_MS, "drained by packets, none for 10 s");
	assert_true(ending_step(&ending, 102, false, START + 20000));
	assert_int_equal(ending.by, ENDING_NOT);
}

static void test_the_agents_count_decides(void **state)
{
	struct ending ending = begun(true);
	uint64_t now = START + 100;

	(void)state;
	assert_int_equal(ending_agent(&ending, now), ENDING_ASKED);
	assert_words(&ending, now, "its agent is being asked");
	/* Not even a long silence of packets ends it before it has been asked. */
	assert_false(ending_step(&ending, 100, false, START + 60000));
	now = START + 60000;
	ending_hear(&ending, true, 12, now);
	assert_false(ending_step(&ending, 100, false, now));
	assert_words(&ending, now, "12 connections by its agent");
	ending_hear(&ending, true, 1, now + 600000);
	assert_false(ending_step(&ending, 100, false, now + 600000));
	assert_words(&ending, now + 600000, "1 connection by its agent");
	now += 602000;
	ending_hear(&ending, true, 0, now);
	assert_true(ending_step(&ending, 100, false, now));
	assert_int_equal(ending.by, ENDING_BY_AGENT);
	assert_words(&ending, now, "drained: no connection by its agent");
	assert_string_equal(ending_by_name(ending.by), "agent");
}

/* Handshakes and UDP are no established connections. */
static void test_packets_count_where_connections_do_not(void **state)
{
	struct ending ending = begun(true);

	(void)state;
	ending_hear(&ending, true, 0, START + 1);
	assert_false(ending_step(&ending, 150, false, START + 1000));
	assert_words(&ending, START + 1000,
		     "no connection by its agent, but packets came until just now");
	assert_false(ending_step(&ending, 150, false, START + 1000 + ENDING_COUNTED_MS - 1));
	assert_true(ending_step(&ending, 150, false, START + 1000 + ENDING_COUNTED_MS));
	assert_true(ending_step(&ending, 151, false, START + 9000));
	assert_int_equal(ending.by, ENDING_NOT);
}

static void test_an_agent_that_never_answers(void **state)
{
	struct ending ending = begun(true);

	(void)state;
	ending_hear(&ending, false, 0, START + 10);
	assert_int_equal(ending_agent(&ending, START + 10), ENDING_SILENT);
	assert_words(&ending, START + 2000,
		     "agent not reachable (connection refused): by packets, none for 2 s");
	assert_true(ending_step(&ending, 100, false, START + ENDING_QUIET_MS));
	assert_int_equal(ending.by, ENDING_BY_PACKETS);
	assert_words(&ending, START + ENDING_QUIET_MS,
		     "agent not reachable (connection refused): drained by packets, none for 10 s");
	/* It comes to know better. */
	ending_hear(&ending, true, 3, START + 20000);
	assert_true(ending_step(&ending, 100, false, START + 20000));
	assert_int_equal(ending.by, ENDING_NOT);
}

/* One lost answer is no silence, however quiet it is; some in a row are. */
static void test_an_agent_that_falls_silent(void **state)
{
	struct ending ending = begun(true);
	uint64_t heard = START + 60000;

	(void)state;
	ending_hear(&ending, true, 2, heard);
	ending_hear(&ending, false, 0, heard + 2000);
	assert_false(ending_step(&ending, 100, false, heard + ENDING_BELIEVED_MS));
	assert_int_equal(ending_agent(&ending, heard + ENDING_BELIEVED_MS), ENDING_COUNTS);
	assert_int_equal(ending_agent(&ending, heard + ENDING_BELIEVED_MS + 1), ENDING_SILENT);
	assert_true(ending_step(&ending, 100, false, heard + ENDING_BELIEVED_MS + 1));
	assert_int_equal(ending.by, ENDING_BY_PACKETS);
	/* That it was not asked is not its silence. */
	ending_hear(&ending, true, 2, heard);
	assert_int_equal(ending_agent(&ending, heard + 3600000), ENDING_COUNTS);
}

static void test_the_limit_ends_all(void **state)
{
	struct ending ending = begun(true);

	(void)state;
	ending_hear(&ending, true, 7, START);
	assert_true(ending_step(&ending, 200, true, START + 1));
	assert_int_equal(ending.by, ENDING_BY_LIMIT);
	assert_words(&ending, START + 1, "drained: its time was over");
	assert_false(ending_step(&ending, 300, true, START + 2));
}

/* What an agent said of itself may be long. */
static void test_words_fit(void **state)
{
	struct ending ending = begun(true);
	char text[ENDING_WORDS_MAX], why[1000];

	(void)state;
	memset(why, 'x', sizeof(why) - 1);
	why[sizeof(why) - 1] = '\0';
	ending_hear(&ending, false, 0, START);
	ending_words(&ending, why, START + UINT32_MAX, text);
	assert_true(strlen(text) < ENDING_WORDS_MAX - 1);
	assert_non_null(strstr(text, "by packets, none for"));
	ending_hear(&ending, true, UINT64_MAX, START);
	assert_words(&ending, START, "18446744073709551615 connections by its agent");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_packets_alone),
		cmocka_unit_test(test_the_agents_count_decides),
		cmocka_unit_test(test_packets_count_where_connections_do_not),
		cmocka_unit_test(test_an_agent_that_never_answers),
		cmocka_unit_test(test_an_agent_that_falls_silent),
		cmocka_unit_test(test_the_limit_ends_all),
		cmocka_unit_test(test_words_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
