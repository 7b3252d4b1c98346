// SPDX-License-Identifier: BSD-2-Clause
/*
 * A data plane that is taken over with another configuration's features: what the pinned tables
 * hold is served on until they hold the new configuration.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <ftw.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/addr.h"
#include "dp/verdict.h"
#include "engine/dp.h"

enum { FRAME = 64, CAPACITY = 512, CLOCK_NS = 1 << ABI_TICK_SHIFT };

/* UDP from 203.0.113.2 to port 53 of 198.51.100.10. */
static const uint8_t query[FRAME] = {
	[12] = 0x08, [14] = 0x45, [17] = 28,   [22] = 64,  [23] = IPPROTO_UDP,
	[26] = 203,  [28] = 113,  [29] = 2,    [30] = 198, [31] = 51,
	[32] = 100,  [33] = 10,   [34] = 0x80, [37] = 53,  [39] = 8,
};

static char root[64]; /* of the pins */

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *at)
{
	(void)stat;
	(void)kind;
	(void)at;
	return remove(path);
}

/* Whatever is left where an assertion failed. */
static int remove_pins(void **state)
{
	(void)state;
	nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return 0;
}

static struct dp *take_over(const char *pins, uint32_t features)
{
	const struct dp_options options = {
		.pin_dir = pins, .flow_entries = ABI_FLOWS_MIN, .features = features};
	struct dp *dp;
	struct err err;

	if (dp_open(&options, &dp, &err))
		fail_msg("%s", err.text);
	return dp;
}

static uint32_t verdict(struct dp *dp)
{
	uint8_t frame[CAPACITY];
	struct dp_result result;

	memcpy(frame, query, FRAME);
	assert_int_equal(dp_run(dp, frame, FRAME, sizeof(frame), CLOCK_NS, &result), 0);
	return result.trace.verdict;
}

static void test_prefix_stays_until_tables_change(void **state)
{
	const uint64_t listen = abi_listen(53, 53, IPPROTO_UDP, 1);
	struct prefix vip;
	char pins[80];
	struct dp *dp;

	(void)state;
	if (geteuid() != 0) {
		print_message("bpffs needs root\n");
		skip();
	}
	snprintf(root, sizeof(root), "/sys/fs/bpf/weir-adopt-%d", (int)getpid());
	snprintf(pins, sizeof(pins), "%s/node", root);
	assert_int_equal(prefix_parse("198.51.100.0/24", &vip), 0);
	dp = take_over(pins, ABI_HAS_TRACE | ABI_HAS_RANGES);
	assert_int_equal(dp_tables_set_range(dp_tables(dp), ABI_VIPS, &vip, &listen, 1), 0);
	assert_int_equal(verdict(dp), VERDICT_EMPTY);
	dp_close(dp);
	/* A configuration that needs no prefixes: twice, as the first start may be killed. */
	for (int i = 0; i < 2; i++) {
		dp = take_over(pins, ABI_HAS_TRACE);
		assert_true(dp_adopted(dp));
		assert_int_equal(verdict(dp), VERDICT_EMPTY);
		if (i == 1)
			dp_tables(dp)->node->features = 0; /* as if the tables were changed */
		dp_close(dp);
	}
	dp = take_over(pins, ABI_HAS_TRACE);
	assert_int_equal(verdict(dp), VERDICT_NOT_VIP);
	dp_teardown(dp);
	dp_close(dp);
}

/* A service's number in one table means nothing where the services are new. */
static void test_gaps_are_not_believed(void **state)
{
	static const char *const gone[] = {"node",  "vips",    "services", "backends",
					   "slots", "servers", "prefixes", "flows"};
	const uint64_t listen = abi_listen(53, 53, IPPROTO_UDP, 1);
	struct prefix vip;
	char pins[80], path[128];
	struct dp *dp;

	(void)state;
	if (geteuid() != 0) {
		print_message("bpffs needs root\n");
		skip();
	}
	snprintf(root, sizeof(root), "/sys/fs/bpf/weir-gaps-%d", (int)getpid());
	snprintf(pins, sizeof(pins), "%s/node", root);
	assert_int_equal(prefix_parse("198.51.100.0/24", &vip), 0);
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		dp = take_over(pins, ABI_HAS_TRACE | ABI_HAS_RANGES);
		assert_false(dp_adopted(dp));
		assert_int_equal(dp_tables_set_range(dp_tables(dp), ABI_VIPS, &vip, &listen, 1), 0);
		dp_close(dp);
		snprintf(path, sizeof(path), "%s/%s", pins, gone[i]);
		assert_int_equal(unlink(path), 0);
		dp = take_over(pins, ABI_HAS_TRACE | ABI_HAS_RANGES);
		assert_false(dp_adopted(dp));
		assert_string_equal(dp_not_adopted_why(dp), "some pins are missing");
		assert_int_equal(verdict(dp), VERDICT_NOT_VIP);
		dp_close(dp);
		dp = take_over(pins, ABI_HAS_TRACE);
		assert_true(dp_adopted(dp));
		assert_string_equal(dp_not_adopted_why(dp), "");
		dp_teardown(dp);
		dp_close(dp);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_prefix_stays_until_tables_change, remove_pins),
		cmocka_unit_test_teardown(test_gaps_are_not_believed, remove_pins),
	};

	return cmocka_run_group_tests_name("adopt", tests, NULL, NULL);
}
