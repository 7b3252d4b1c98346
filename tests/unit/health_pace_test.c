/* SPDX-License-Identifier: BSD-2-Clause */
/* When targets are probed first, of which nothing is known, and when the second time. Probes fail
 * at once, as there is no route, so each has ended when the next begins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "../lib/health/health_world.h"

enum { MANY = 400, SOME = 10, INTERVAL_MS = 20000 };

static struct health_check *checks[MANY];
static size_t told[MANY], told_count;

static void on_changed(void *arg, struct health_check *check, enum health_state state)
{
	size_t at = (size_t)((struct health_check **)arg - checks);

	assert_int_equal(state, HEALTH_UNHEALTHY);
	assert_ptr_equal(checks[at], check);
	assert_true(told_count < MANY);
	told[told_count++] = at;
}

static void add_all(enum health_state initial)
{
	struct health_spec spec = health_spec_of("192.0.2.1", 1);

	told_count = 0;
	spec.interval_ms = INTERVAL_MS;
	spec.initial = initial;
	for (size_t i = 0; i < MANY; i++) {
		spec.port = (uint16_t)(i + 1);
		assert_int_equal(health_add(health_all, &spec, on_changed, &checks[i], &checks[i]),
				 0);
	}
}

static bool have_told(void *arg)
{
	return told_count >= *(const size_t *)arg;
}

static uint64_t probes_of(size_t at)
{
	return health_status(checks[at])->failures;
}

static void test_order(void **state)
{
	size_t all = MANY;

	(void)state;
	add_all(HEALTH_UNKNOWN);
	assert_int_equal(told_count, 0);
	assert_true(loop_until(&health_loop, have_told, &all));
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(told[i], i);
}

/* Who has gone, or whose turn was waited for when all ended, is not probed. */
static void test_removed(void **state)
{
	size_t half = MANY / 2;

	(void)state;
	add_all(HEALTH_UNKNOWN);
	for (size_t i = 0; i < MANY; i += 2)
		health_remove(checks[i]);
	assert_true(loop_until(&health_loop, have_told, &half));
	for (size_t i = 0; i < half; i++)
		assert_int_equal(told[i], 2 * i + 1);
	for (size_t i = 1; i < MANY; i += 2)
		health_remove(checks[i]);
	add_all(HEALTH_UNKNOWN);
	health_end();
	assert_int_equal(told_count, 0);
}

static bool some_have_two(void *arg)
{
	size_t count = 0;

	(void)arg;
	for (size_t i = 0; i < MANY; i++)
		count += probes_of(i) > 1;
	return count >= SOME;
}

/* They came in order and as fast as could be: the next ones do not. */
static void test_spread(void **state)
{
	bool is_later = false;

	(void)state;
	add_all(HEALTH_UNKNOWN);
	assert_true(loop_until(&health_loop, some_have_two, NULL));
	for (size_t i = SOME; i < MANY; i++)
		is_later |= probes_of(i) > 1;
	assert_true(is_later);
}

static bool some_have_one(void *arg)
{
	size_t count = 0;

	(void)arg;
	for (size_t i = 0; i < MANY; i++)
		count += probes_of(i) > 0;
	return count >= SOME;
}

/* What is known is no cause to hurry. */
static void test_known(void **state)
{
	bool is_later = false;

	(void)state;
	add_all(HEALTH_UNHEALTHY);
	assert_true(loop_until(&health_loop, some_have_one, NULL));
	for (size_t i = SOME; i < MANY; i++)
		is_later |= probes_of(i) > 0;
	assert_true(is_later);
	assert_int_equal(told_count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, health_set_up, health_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_order),
		TEST(test_removed),
		TEST(test_spread),
		TEST(test_known),
	};

	return cmocka_run_group_tests(tests, health_open_world, NULL);
}
