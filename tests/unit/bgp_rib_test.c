/* SPDX-License-Identifier: BSD-2-Clause */
/* What is announced, and how far a session has told it; the last test against a slow twin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/rib.h"

static struct rib *rib;

static int set_up(void **state)
{
	(void)state;
	rib = rib_new();
	return rib ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	rib_free(rib);
	return 0;
}

static struct bgp_route route(const char *text, uint32_t med)
{
	struct bgp_route made = {.has_med = true, .med = med};

	assert_int_equal(prefix_parse(text, &made.prefix), 0);
	return made;
}

static int announce(const char *text, uint32_t med)
{
	struct bgp_route made = route(text, med);

	return rib_set(rib, &made);
}

static int withdraw(const char *text)
{
	struct bgp_route made = route(text, 0);

	return rib_withdraw(rib, &made.prefix);
}

/* Everything that is not told yet, as `+prefix` and `-prefix`; tells `count` of it. */
static const char *told(struct rib_cursor *cursor, enum rib_family family, int count)
{
	static char text[1024];
	const struct rib_route *entry = rib_first(rib, family, cursor);
	char prefix[ADDR_TEXT_MAX];

	text[0] = '\0';
	for (; entry && count--; entry = rib_after(entry, cursor)) {
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%s",
			 *text ? " " : "", entry->withdrawn ? "-" : "+",
			 prefix_format_short(&entry->route.prefix, prefix));
		rib_cursor_told(cursor, entry);
	}
	return text;
}

static const char *told4(struct rib_cursor *cursor)
{
	return told(cursor, RIB_IPV4, 1000);
}

static void test_set(void **state)
{
	(void)state;
	assert_int_equal(announce("192.0.2.1", 1), 1);
	assert_int_equal(announce("192.0.2.1", 1), 0);
	assert_int_equal(announce("192.0.2.1", 2), 1);
	assert_int_equal(announce("2001:db8::1", 2), 1);
	assert_int_equal(rib_count(rib), 2);
	assert_int_equal(withdraw("192.0.2.2"), -ENOENT);
	assert_int_equal(withdraw("192.0.2.1"), 0);
	assert_int_equal(withdraw("192.0.2.1"), -ENOENT);
	assert_int_equal(rib_count(rib), 1);
	assert_int_equal(rib_withdrawn(rib), 1);
	assert_int_equal(announce("192.0.2.1", 2), 1);
	assert_int_equal(rib_withdrawn(rib), 0);
}

static void test_refused(void **state)
{
	struct bgp_route bad = route("192.0.2.0/24", 1);

	(void)state;
	bad.prefix.length = 23;
	assert_int_equal(rib_set(rib, &bad), 1);
	bad.prefix.length = 22;
	assert_int_equal(rib_set(rib, &bad), -EINVAL);
	bad.prefix.length = 33;
	assert_int_equal(rib_set(rib, &bad), -EINVAL);
	bad = route("2001:db8::/32", 1);
	bad.prefix.length = 129;
	assert_int_equal(rib_set(rib, &bad), -EINVAL);
	bad = route("192.0.2.0/24", 1);
	bad.prepend = BGP_PREPEND_MAX + 1;
	assert_int_equal(rib_set(rib, &bad), -EINVAL);
	bad = route("192.0.2.0/24", 1);
	bad.community_count = BGP_COMMUNITIES_MAX + 1;
	assert_int_equal(rib_set(rib, &bad), -EINVAL);
	bad.community_count = 0;
	bad.large_community_count = BGP_COMMUNITIES_MAX + 1;
	assert_int_equal(rib_set(rib, &bad), -EINVAL);
}

static void test_full(void **state)
{
	struct bgp_route more = route("10.0.0.0", 0);
	int code = 1;

	(void)state;
	for (uint32_t i = 0; i < BGP_ROUTES_MAX; i++) {
		memcpy(more.prefix.addr.bytes + 12, &i, sizeof(i));
		code = rib_set(rib, &more);
		if (code != 1)
			break;
	}
	assert_int_equal(code, 1);
	assert_int_equal(announce("2001:db8::1", 1), -ENOSPC);
	assert_int_equal(rib_withdraw(rib, &more.prefix), 0);
	assert_int_equal(announce("2001:db8::1", 1), 1);
}

static void test_attributes(void **state)
{
	uint32_t one[] = {1, 2}, two[] = {1, 3};
	struct bgp_large large[] = {{1, 2, 3}}, other[] = {{1, 2, 4}};
	struct bgp_route a = route("192.0.2.1", 1), b = route("192.0.2.2", 1);

	(void)state;
	assert_true(rib_same_attributes(&a, &b));
	b.med = 2;
	assert_false(rib_same_attributes(&a, &b));
	a.has_med = b.has_med = false;
	assert_true(rib_same_attributes(&a, &b));
	b.prepend = 1;
	assert_false(rib_same_attributes(&a, &b));
	a.prepend = 1;
	a.communities = one;
	b.communities = two;
	a.community_count = b.community_count = 1;
	assert_true(rib_same_attributes(&a, &b));
	a.community_count = b.community_count = 2;
	assert_false(rib_same_attributes(&a, &b));
	b.communities = one;
	a.large_communities = large;
	a.large_community_count = 1;
	assert_false(rib_same_attributes(&a, &b));
	b.large_communities = other;
	b.large_community_count = 1;
	assert_false(rib_same_attributes(&a, &b));
	b.large_communities = large;
	assert_true(rib_same_attributes(&a, &b));
}

/* The caller's lists may change as soon as the call returned. */
static void test_lists_are_copied(void **state)
{
	uint32_t communities[] = {1, 2};
	struct bgp_route made = route("192.0.2.1", 1);
	struct rib_cursor cursor;

	(void)state;
	made.communities = communities;
	made.community_count = 2;
	assert_int_equal(rib_set(rib, &made), 1);
	communities[0] = 7;
	rib_cursor_begin(rib, &cursor);
	assert_int_equal(rib_first(rib, RIB_IPV4, &cursor)->route.communities[0], 1);
}

static void test_tell(void **state)
{
	struct rib_cursor cursor;

	(void)state;
	announce("192.0.2.1", 1);
	announce("2001:db8::1", 1);
	announce("192.0.2.2", 1);
	announce("192.0.2.3", 1);
	withdraw("192.0.2.2");
	rib_cursor_begin(rib, &cursor);
	/* A new session need not hear what went before it. */
	assert_int_equal(rib_pending(rib, RIB_IPV4, &cursor), 2);
	assert_string_equal(told4(&cursor), "+192.0.2.1 +192.0.2.3");
	assert_string_equal(told4(&cursor), "");
	withdraw("192.0.2.1");
	announce("192.0.2.2", 1);
	assert_int_equal(rib_pending(rib, RIB_IPV4, &cursor), 2);
	assert_int_equal(rib_held(rib, RIB_IPV4, &cursor), 1);
	assert_string_equal(told4(&cursor), "-192.0.2.1 +192.0.2.2");
	/* What changes several times is told once, as it is then. */
	announce("192.0.2.9", 1);
	announce("192.0.2.3", 2);
	announce("192.0.2.3", 3);
	withdraw("192.0.2.9");
	assert_string_equal(told4(&cursor), "+192.0.2.3 -192.0.2.9");
	assert_int_equal(rib_held(rib, RIB_IPV4, &cursor), 2);
}

static void test_tell_again(void **state)
{
	struct rib_cursor cursor;

	(void)state;
	announce("192.0.2.1", 1);
	announce("192.0.2.2", 1);
	announce("192.0.2.3", 1);
	rib_cursor_begin(rib, &cursor);
	told4(&cursor);
	withdraw("192.0.2.1");
	told4(&cursor);
	withdraw("192.0.2.2");
	rib_cursor_again(&cursor);
	/* It has two still, knows that the first went, and has to hear of the second. */
	assert_int_equal(rib_held(rib, RIB_IPV4, &cursor), 1);
	assert_string_equal(told(&cursor, RIB_IPV4, 1), "+192.0.2.3");
	/* Asked once more, half-way. */
	rib_cursor_again(&cursor);
	assert_string_equal(told4(&cursor), "+192.0.2.3 -192.0.2.2");
	assert_string_equal(told4(&cursor), "");
}

static void test_prune(void **state)
{
	struct rib_cursor cursor;

	(void)state;
	announce("192.0.2.1", 1);
	announce("192.0.2.2", 1);
	rib_cursor_begin(rib, &cursor);
	told4(&cursor);
	withdraw("192.0.2.1");
	rib_prune(rib, RIB_IPV4, rib_cursor_needs(&cursor));
	assert_int_equal(rib_withdrawn(rib), 1);
	assert_string_equal(told4(&cursor), "-192.0.2.1");
	rib_prune(rib, RIB_IPV6, UINT64_MAX);
	assert_int_equal(rib_withdrawn(rib), 1);
	rib_prune(rib, RIB_IPV4, rib_cursor_needs(&cursor));
	assert_int_equal(rib_withdrawn(rib), 0);
	assert_int_equal(rib_count(rib), 1);
}

static void test_withdraw_all(void **state)
{
	struct rib_cursor cursor;

	(void)state;
	announce("192.0.2.1", 1);
	announce("192.0.2.2", 1);
	announce("2001:db8::1", 1);
	withdraw("192.0.2.1");
	announce("192.0.2.3", 1);
	rib_cursor_begin(rib, &cursor);
	told4(&cursor);
	rib_withdraw_all(rib);
	rib_withdraw_all(rib);
	assert_int_equal(rib_count(rib), 0);
	assert_int_equal(rib_withdrawn(rib), 4);
	assert_string_equal(told4(&cursor), "-192.0.2.2 -192.0.2.3");
	rib_cursor_begin(rib, &cursor);
	assert_string_equal(told4(&cursor), "");
}

/* --- against a twin: a router's own table, which is what it was told --- */

enum { PREFIXES = 12, ROUTERS = 3, STEPS = 20000 };

static uint32_t random_state;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)random_state * limit >> 32);
}

/* MED of each prefix, 0: not there. */
static uint32_t ours[PREFIXES], theirs[ROUTERS][PREFIXES];
static struct rib_cursor cursors[ROUTERS];

static void hear(int router, uint32_t count)
{
	const struct rib_route *entry = rib_first(rib, RIB_IPV4, &cursors[router]);

	for (; entry && count--; entry = rib_after(entry, &cursors[router])) {
		theirs[router][entry->route.prefix.addr.bytes[15]] =
			entry->withdrawn ? 0 : entry->route.med;
		rib_cursor_told(&cursors[router], entry);
	}
}

static void change(void)
{
	uint32_t which = random_below(PREFIXES), med = random_below(3);
	struct bgp_route made = route("192.0.2.0/32", med);

	made.prefix.addr.bytes[15] = (uint8_t)which;
	if (med)
		assert_int_equal(rib_set(rib, &made), ours[which] != med);
	else
		assert_int_equal(rib_withdraw(rib, &made.prefix), ours[which] ? 0 : -ENOENT);
	ours[which] = med;
}

static void forget(void)
{
	uint64_t needs = UINT64_MAX;

	for (int router = 0; router < ROUTERS; router++) {
		uint64_t need = rib_cursor_needs(&cursors[router]);

		needs = need < needs ? need : needs;
	}
	rib_prune(rib, RIB_IPV4, needs);
}

static void test_twin(void **state)
{
	(void)state;
	random_state = 1;
	for (int step = 0; step < STEPS; step++) {
		int router = (int)random_below(ROUTERS);

		switch (random_below(8)) {
		case 0: rib_cursor_again(&cursors[router]); break;
		case 1:
			rib_cursor_begin(rib, &cursors[router]);
			memset(theirs[router], 0, sizeof(theirs[router]));
			break;
		case 2: forget(); break;
		case 3:
		case 4: hear(router, random_below(4)); break;
		default: change(); break;
		}
		if (step % 16)
			continue;
		hear(router, UINT32_MAX);
		assert_memory_equal(theirs[router], ours, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_set, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test_setup_teardown(test_lists_are_copied, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tell, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tell_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_prune, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_withdraw_all, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_twin, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
