/* SPDX-License-Identifier: BSD-2-Clause */
/* A node's way out of use, by time and by the packets that still come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/announce/drain.h"

static void test_phases(void **state)
{
	static const struct {
		uint64_t now_ms, packets;
		enum drain_phase phase;
		double rate;
	} steps[] = {
		{1000, 200, DRAIN_SHUNNED, 100},
		{4999, 600, DRAIN_SHUNNED, 100.025},
		{5000, 600, DRAIN_WITHDRAWN, 0},
		{6000, 601, DRAIN_WITHDRAWN, 1},
		{8000, 601, DRAIN_WITHDRAWN, 0},
		{8999, 601, DRAIN_WITHDRAWN, 0},
		{9000, 601, DRAIN_ENDED, 0},
		{10000, 601, DRAIN_ENDED, 0},
		/* A router that comes back to it. */
		{11000, 701, DRAIN_WITHDRAWN, 100},
		{14000, 701, DRAIN_ENDED, 0},
	};
	struct drain drain = {0};
	enum drain_phase phase = DRAIN_SHUNNED;

	(void)state;
	assert_false(drain_step(&drain, 5, 1));
	drain_begin(&drain, 5000, 100, 0);
	assert_int_equal(drain.phase, DRAIN_SHUNNED);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		bool changed = drain_step(&drain, steps[i].packets, steps[i].now_ms);

		assert_int_equal(drain.phase, steps[i].phase);
		assert_int_equal(changed, drain.phase != phase);
		assert_true(drain.rate > steps[i].rate - 0.01 && drain.rate < steps[i].rate + 0.01);
		phase = drain.phase;
		/* Asked again it begins nothing anew. */
		drain_begin(&drain, 5000, 0, steps[i].now_ms);
		assert_int_equal(drain.phase, phase);
	}
	drain_end(&drain);
	assert_int_equal(drain.phase, DRAIN_NONE);
}

static void test_at_once(void **state)
{
	struct drain drain = {0};

	(void)state;
	drain_begin(&drain, 0, 100, 7);
	assert_int_equal(drain.phase, DRAIN_WITHDRAWN);
	assert_false(drain_step(&drain, 100, 7 + DRAIN_QUIET_MS - 1));
	assert_true(drain_step(&drain, 100, 7 + DRAIN_QUIET_MS));
	assert_string_equal(drain_phase_name(drain.phase), "ended");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
