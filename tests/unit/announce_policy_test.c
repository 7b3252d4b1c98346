/* SPDX-License-Identifier: BSD-2-Clause */
/* When VIPs are announced: services that share them, backends that drain, time, and hands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/conf_expect.h"
#include "weir/announce/policy.h"

#define POOLS                                                                           \
	NODE "pools:\n"                                                                 \
	     "- {name: p, backends: [{name: a, address: 10.0.1.1}, {name: b, address: " \
	     "10.0.1.2}]}\n"                                                            \
	     "- {name: q, backends: [{name: a, address: 10.0.1.1}]}\n"                  \
	     "services:\n"
#define SERVICE_OF(name, vips, port, pool, announce)                               \
	"- {name: " name ", vips: [" vips "], listen: [tcp/" port "], pool: " pool \
	", announce: {" announce "}}\n"

static struct prefix prefix_of(const char *text)
{
	struct prefix prefix;

	assert_int_equal(prefix_parse(text, &prefix), 0);
	return prefix;
}

static const struct policy_vip *vip_of(const struct policy *policy, const char *text)
{
	struct prefix prefix = prefix_of(text);
	size_t at = policy_find_vip(policy, &prefix);

	assert_true(at < policy_vip_count(policy));
	return policy_vip(policy, at);
}

static bool announced(const struct policy *policy, const char *text)
{
	return vip_of(policy, text)->announced;
}

static void expect_why(const struct policy *policy, const char *vip, const char *why)
{
	struct prefix prefix = prefix_of(vip);
	char text[POLICY_WHY_MAX];

	assert_string_equal(policy_why(policy, policy_find_vip(policy, &prefix), text), why);
}

/* --- a VIP of one service: each step is what its pool has, and what follows --- */

struct step {
	uint64_t now_ms;
	uint32_t usable, draining;
	bool announced;
	const char *why;
	uint64_t deadline_ms; /* 0: none */
};

static void play(const char *text, const struct step *steps, size_t count)
{
	struct conf *conf = conf_expect_right(text);
	struct policy *policy = policy_new(conf, NULL, 0);

	assert_non_null(policy);
	assert_false(announced(policy, "192.0.2.1"));
	for (size_t i = 0; i < count; i++) {
		uint64_t deadline;

		policy_set_pool(policy, 0, steps[i].usable, steps[i].draining);
		policy_decide(policy, steps[i].now_ms);
		if (announced(policy, "192.0.2.1") != steps[i].announced)
			fail_msg("step %zu: announced %d", i, !steps[i].announced);
		expect_why(policy, "192.0.2.1", steps[i].why);
		deadline = policy_deadline_ms(policy);
		assert_int_equal(deadline == UINT64_MAX ? 0 : deadline, steps[i].deadline_ms);
	}
	policy_free(policy);
	conf_free(conf);
}

#define PLAY(text, steps) play(text, steps, sizeof(steps) / sizeof((steps)[0]))

/* The policy's part of what case 29 says of the last backend. */
static void test_case_29_last_backend(void **state)
{
	static const struct step steps[] = {
		{1, 0, 0, false, "s has 0 usable backends, of 1 at least", 0},
		/* Who drains makes nobody begin. */
		{2, 0, 1, false, "s has 0 usable backends, of 1 at least", 0},
		{3, 1, 0, true, "s has 1 usable backend", 0},
		{4, 0, 1, true, "s has 0 usable backends and 1 that drains", 0},
		{5, 0, 0, false, "s has 0 usable backends, of 1 at least", 0},
		{6, 0, 1, false, "s has 0 usable backends, of 1 at least", 0},
		{7, 2, 0, true, "s has 2 usable backends", 0},
		{8, 0, 0, false, "s has 0 usable backends, of 1 at least", 0},
	};

	(void)state;
	PLAY(POOLS SERVICE_OF("s", "192.0.2.1", "80", "p", ""), steps);
}

static void test_min_usable(void **state)
{
	static const struct step steps[] = {
		{1, 1, 0, false, "s has 1 usable backend, of 2 at least", 0},
		{2, 1, 1, false, "s has 1 usable backend, of 2 at least", 0},
		{3, 2, 0, true, "s has 2 usable backends", 0},
		{4, 1, 1, true, "s has 1 usable backend and 1 that drains", 0},
		{5, 0, 2, true, "s has 0 usable backends and 2 that drain", 0},
		{6, 0, 1, false, "s has 0 usable backends, of 2 at least", 0},
		{7, 2, 0, true, "s has 2 usable backends", 0},
		{8, 1, 0, false, "s has 1 usable backend, of 2 at least", 0},
	};

	(void)state;
	PLAY(POOLS SERVICE_OF("s", "192.0.2.1", "80", "p", "min_usable: 2"), steps);
}

static void test_hold_up(void **state)
{
	static const struct step steps[] = {
		/* The first time at once. */
		{1, 1, 0, true, "s has 1 usable backend", 0},
		{2, 0, 0, false, "s has 0 usable backends, of 1 at least", 0},
		{3, 1, 0, false, "s has 1 usable backend again, for less than hold_up", 503},
		{500, 2, 0, false, "s has 2 usable backends again, for less than hold_up", 503},
		/* A break, and it begins anew. */
		{501, 0, 0, false, "s has 0 usable backends, of 1 at least", 0},
		{502, 1, 0, false, "s has 1 usable backend again, for less than hold_up", 1002},
		{1001, 1, 0, false, "s has 1 usable backend again, for less than hold_up", 1002},
		{1002, 1, 0, true, "s has 1 usable backend", 0},
		{1003, 0, 0, false, "s has 0 usable backends, of 1 at least", 0},
	};

	(void)state;
	PLAY(POOLS SERVICE_OF("s", "192.0.2.1", "80", "p", "hold_up: 500ms"), steps);
}

/* A daemon that starts on the tables of another does not know what that one had announced. */
static void test_assumed(void **state)
{
	struct conf *conf =
		conf_expect_right(POOLS SERVICE_OF("s", "192.0.2.1", "80", "p", "")
					  SERVICE_OF("t", "192.0.2.2", "80", "q", "hold_up: 1s"));
	struct policy *policy = policy_new(conf, NULL, 0);

	(void)state;
	policy_assume_served(policy);
	policy_set_pool(policy, 0, 0, 1);
	policy_decide(policy, 1);
	assert_true(announced(policy, "192.0.2.1"));
	assert_false(announced(policy, "192.0.2.2"));
	/* It had failed, so it comes back as one that did. */
	policy_set_pool(policy, 1, 1, 0);
	policy_decide(policy, 2);
	assert_false(announced(policy, "192.0.2.2"));
	assert_int_equal(policy_deadline_ms(policy), 1002);
	policy_free(policy);
	conf_free(conf);
}

/* --- VIPs that are shared --- */

static void expect_shared(const char *text, const bool want[4])
{
	struct conf *conf = conf_expect_right(text);
	struct policy *policy = policy_new(conf, NULL, 0);

	assert_int_equal(policy_vip_count(policy), 2);
	assert_int_equal(vip_of(policy, "192.0.2.1")->service_count, 2);
	for (uint32_t i = 0; i < 4; i++) {
		policy_set_pool(policy, 0, i & 1, 0);
		policy_set_pool(policy, 1, i >> 1, 0);
		policy_decide(policy, i);
		assert_int_equal(announced(policy, "192.0.2.1"), want[i]);
		assert_int_equal(announced(policy, "2001:db8::/64"), i >> 1);
	}
	policy_set_pool(policy, 1, 0, 0);
	policy_decide(policy, 9);
	expect_why(policy, "192.0.2.1",
		   want[1] ? "s has 1 usable backend" : "t has 0 usable backends, of 1 at least");
	policy_free(policy);
	conf_free(conf);
}

static void test_any_and_all(void **state)
{
	(void)state;
	expect_shared(POOLS SERVICE_OF("s", "192.0.2.1", "80", "p", "when: any")
			      SERVICE_OF("t", "192.0.2.1, \"2001:db8::/64\"", "443", "q", ""),
		      (const bool[]){false, true, true, true});
	expect_shared(POOLS SERVICE_OF("s", "192.0.2.1", "80", "p", "when: all") SERVICE_OF(
			      "t", "192.0.2.1, \"2001:db8::/64\"", "443", "q", "when: all"),
		      (const bool[]){false, false, false, true});
}

/* A prefix and its first address are two routes. */
static void test_prefixes(void **state)
{
	struct conf *conf = conf_expect_right(
		POOLS SERVICE_OF("s", "192.0.2.0/24, 192.0.2.0, 192.0.2.9", "80", "p", ""));
	struct policy *policy = policy_new(conf, NULL, 0);

	(void)state;
	assert_int_equal(policy_vip_count(policy), 3);
	assert_int_equal(vip_of(policy, "192.0.2.0/24")->prefix.length, 24);
	assert_int_equal(vip_of(policy, "192.0.2.0")->prefix.length, 32);
	policy_free(policy);
	conf_free(conf);
}

/* --- hands, and other files --- */

static void test_withdrawn(void **state)
{
	struct conf *conf = conf_expect_right(POOLS SERVICE_OF("s", "192.0.2.1", "80", "p", ""));
	struct policy *policy = policy_new(conf, NULL, 0);

	(void)state;
	policy_set_pool(policy, 0, 2, 0);
	policy_decide(policy, 1);
	policy_withdraw(policy, 0, true);
	assert_true(announced(policy, "192.0.2.1"));
	policy_decide(policy, 2);
	assert_false(announced(policy, "192.0.2.1"));
	assert_int_equal(policy_vip(policy, 0)->since_ms, 2);
	expect_why(policy, "192.0.2.1", "withdrawn by hand");
	policy_withdraw(policy, 0, false);
	policy_decide(policy, 3);
	assert_true(announced(policy, "192.0.2.1"));
	policy_free(policy);
	conf_free(conf);
}

/* What is the same in a new file goes on: nothing is announced a second time, nor hold_up lost. */
static void test_new_file(void **state)
{
	struct conf *old =
		conf_expect_right(POOLS SERVICE_OF("s", "192.0.2.1", "80", "p", "hold_up: 1s")
					  SERVICE_OF("t", "192.0.2.2", "80", "q", "hold_up: 1s"));
	struct conf *new = conf_expect_right(
		POOLS SERVICE_OF("u", "192.0.2.3", "80", "p", "")
			SERVICE_OF("t", "192.0.2.2", "80", "q", "hold_up: 1s")
				SERVICE_OF("s", "192.0.2.1", "80", "p", "hold_up: 1s"));
	struct policy *before = policy_new(old, NULL, 0), *policy;

	(void)state;
	policy_set_pool(before, 0, 1, 0);
	policy_set_pool(before, 1, 1, 0);
	policy_decide(before, 1);
	policy_set_pool(before, 1, 0, 0);
	policy_decide(before, 2);
	policy = policy_new(new, before, 5);
	policy_free(before);
	conf_free(old);
	assert_true(announced(policy, "192.0.2.1"));
	assert_int_equal(vip_of(policy, "192.0.2.1")->since_ms, 1);
	assert_false(announced(policy, "192.0.2.2"));
	assert_false(announced(policy, "192.0.2.3"));
	policy_set_pool(policy, 0, 0, 1);
	policy_set_pool(policy, 1, 1, 0);
	policy_decide(policy, 6);
	assert_true(announced(policy, "192.0.2.1"));
	assert_false(announced(policy, "192.0.2.3"));
	assert_int_equal(policy_deadline_ms(policy), 1006);
	policy_decide(policy, 1006);
	assert_true(announced(policy, "192.0.2.2"));
	policy_free(policy);
	conf_free(new);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_case_29_last_backend),
		cmocka_unit_test(test_min_usable),
		cmocka_unit_test(test_hold_up),
		cmocka_unit_test(test_any_and_all),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_withdrawn),
		cmocka_unit_test(test_new_file),
		cmocka_unit_test(test_assumed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
