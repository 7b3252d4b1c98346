// SPDX-License-Identifier: BSD-2-Clause
/*
 * A data plane that is taken over: with another configuration's features what the pinned tables
 * hold is served on until they hold the new configuration; tables of another size are made beside
 * them, whoever dies amid it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <bpf/bpf.h>
#include <ftw.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/time.h"
#include "dp/verdict.h"
#include "engine/dp.h"
#include "flow/flow.h"

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

/* --- tables beside others that are at work --- */

static struct dp *open_with(const char *pins, uint32_t entries)
{
	const struct dp_options options = {
		.pin_dir = pins, .flow_entries = entries, .features = ABI_HAS_TRACE};
	struct dp *dp;
	struct err err;

	if (dp_open(&options, &dp, &err))
		fail_msg("%s", err.text);
	return dp;
}

static void attach(struct dp *dp)
{
	struct err err;

	if (dp_attach(dp, "lo", LINK_XDP_GENERIC, &err))
		fail_msg("%s", err.text);
}

/* A namespace of our own, and a data plane at work on its loopback, with one flow and one count. */
static void begin_at_work(const char *name, char pins[80])
{
	struct abi_flow *flow;
	struct dp *dp;

	if (geteuid() != 0) {
		print_message("bpffs needs root\n");
		skip();
	}
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	snprintf(root, sizeof(root), "/sys/fs/bpf/weir-%s-%d", name, (int)getpid());
	snprintf(pins, 80, "%s/node", root);
	dp = open_with(pins, ABI_FLOWS_MIN);
	assert_string_equal(dp_not_adopted_why(dp), "");
	attach(dp);
	dp_settle(dp);
	dp_tables(dp)->node->established_ticks = 1 << 20;
	dp_tables(dp)->backends[3].identity = 33;
	flow = &dp_tables(dp)->flows[5].flows[1];
	*flow = (struct abi_flow){
		0x123456789abcd000 | 7,
		flow_pin(7, 3, 0, FLOW_ESTABLISHED, (uint32_t)(time_now_ns() >> ABI_TICK_SHIFT))};
	assert_int_equal(verdict(dp), VERDICT_NOT_VIP);
	assert_int_equal(dp_verdict_count(dp, VERDICT_NOT_VIP).packets, 1);
	dp_close(dp);
}

/* How many entries of that flow there are. */
static size_t copies(struct dp *dp)
{
	struct dp_tables *tables = dp_tables(dp);
	size_t found = 0;

	for (uint32_t i = 0; i < tables->flow_buckets * ABI_BUCKET_FLOWS; i++)
		found += tables->flows[i / ABI_BUCKET_FLOWS].flows[i % ABI_BUCKET_FLOWS].key ==
			 (0x123456789abcd000 | 7);
	return found;
}

static bool exists(const char *pins, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", pins, name);
	return access(path, F_OK) == 0;
}

static void test_other_size(void **state)
{
	char pins[80];
	struct dp *dp;

	(void)state;
	begin_at_work("size", pins);
	dp = open_with(pins, 4 * ABI_FLOWS_MIN);
	assert_true(dp_adopted(dp));
	assert_true(dp_is_beside(dp));
	assert_string_equal(dp_not_carried_why(dp), "");
	assert_int_equal(dp_tables(dp)->backends[3].identity, 33);
	assert_int_not_equal(copies(dp), 0);
	attach(dp);
	assert_int_equal(dp_verdict_count(dp, VERDICT_NOT_VIP).packets, 1);
	assert_true(exists(pins, "new"));
	dp_settle(dp);
	assert_false(dp_is_beside(dp));
	assert_int_equal(dp_carried(dp).flows, 1);
	assert_int_equal(dp_carried(dp).lost, 0);
	assert_false(exists(pins, "new"));
	dp_close(dp);
	dp = open_with(pins, 4 * ABI_FLOWS_MIN);
	assert_true(dp_adopted(dp));
	assert_false(dp_is_beside(dp));
	dp_teardown(dp);
	dp_close(dp);
	assert_int_equal(access(pins, F_OK), -1);
}

/* Killed once the program was exchanged, and before the pins were moved. */
static void test_death_after_the_exchange(void **state)
{
	char pins[80];
	struct dp *dp;

	(void)state;
	begin_at_work("after", pins);
	dp = open_with(pins, 4 * ABI_FLOWS_MIN);
	attach(dp);
	dp_close(dp);
	assert_true(exists(pins, "new"));
	dp = open_with(pins, 4 * ABI_FLOWS_MIN);
	assert_true(dp_adopted(dp));
	assert_false(dp_is_beside(dp));
	assert_false(exists(pins, "new"));
	assert_int_not_equal(copies(dp), 0);
	dp_teardown(dp);
	dp_close(dp);
}

/* Killed before: the program that is attached is the old one. */
static void test_death_before_the_exchange(void **state)
{
	char pins[80], path[128];
	struct dp *dp;

	(void)state;
	begin_at_work("before", pins);
	dp = open_with(pins, 4 * ABI_FLOWS_MIN);
	snprintf(path, sizeof(path), "%s/new", pins);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/new/flows", pins);
	assert_int_equal(bpf_obj_pin(dp_slow_map(dp), path), 0);
	dp_close(dp);
	dp = open_with(pins, ABI_FLOWS_MIN);
	assert_true(dp_adopted(dp));
	assert_false(dp_is_beside(dp));
	assert_false(exists(pins, "new"));
	assert_int_equal(copies(dp), 1);
	dp_teardown(dp);
	dp_close(dp);
}

/* A start that fails after it has exchanged the program gives the old one back. */
static void test_put_back(void **state)
{
	struct bpf_link_info before = {0}, after = {0};
	uint32_t length = sizeof(before);
	char pins[80], path[128];
	struct dp *dp;
	int link;

	(void)state;
	begin_at_work("back", pins);
	snprintf(path, sizeof(path), "%s/link-lo", pins);
	link = bpf_obj_get(path);
	assert_int_equal(bpf_obj_get_info_by_fd(link, &before, &length), 0);
	dp = open_with(pins, 4 * ABI_FLOWS_MIN);
	attach(dp);
	assert_int_equal(bpf_obj_get_info_by_fd(link, &after, &length), 0);
	assert_int_not_equal(after.prog_id, before.prog_id);
	dp_put_back(dp);
	dp_close(dp);
	assert_int_equal(bpf_obj_get_info_by_fd(link, &after, &length), 0);
	assert_int_equal(after.prog_id, before.prog_id);
	close(link);
	dp = open_with(pins, ABI_FLOWS_MIN);
	assert_true(dp_adopted(dp));
	assert_false(dp_is_beside(dp));
	assert_int_equal(copies(dp), 1);
	dp_teardown(dp);
	dp_close(dp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_prefix_stays_until_tables_change, remove_pins),
		cmocka_unit_test_teardown(test_gaps_are_not_believed, remove_pins),
		cmocka_unit_test_teardown(test_other_size, remove_pins),
		cmocka_unit_test_teardown(test_death_after_the_exchange, remove_pins),
		cmocka_unit_test_teardown(test_death_before_the_exchange, remove_pins),
		cmocka_unit_test_teardown(test_put_back, remove_pins),
	};

	return cmocka_run_group_tests_name("adopt", tests, NULL, NULL);
}
