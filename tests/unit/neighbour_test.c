/* SPDX-License-Identifier: BSD-2-Clause */
/* What is asked of the kernel's neighbour tables, and given back: see tests/lib/kernel/pairs.h. */
#include <errno.h>
#include <linux/neighbour.h>
#include <net/if.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/kernel/pairs.h"
#include "../lib/loop.h"
#include "net/nexthop.h"
#include "net/rtnl.h"

static uv_loop_t loop;
static struct nexthops *nexthops;

static int set_up(void **state)
{
	(void)state;
	pairs_add(0);
	pairs_run("ip addr add fd00::1/64 dev v0 nodad");
	pairs_run("PEER ip addr add fd00::2/64 dev v1 nodad");
	uv_loop_init(&loop);
	return nexthops_open(&loop, &nexthops, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	nexthops_close(nexthops);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	pairs_run("ip link del v0");
	return 0;
}

static void on_changed(void *arg, const struct nexthop *nexthop)
{
	bool *resolved = arg;

	*resolved = nexthop->resolved;
}

static struct addr addr_of(const char *text)
{
	struct addr addr;

	assert_int_equal(addr_parse(text, &addr), 0);
	return addr;
}

static bool is_given_back(void *arg)
{
	return !pairs_neighbour("v0", arg).managed;
}

static bool is_set(void *arg)
{
	return *(const bool *)arg;
}

/* What a killed run has asked for and nobody here wants is given back; the rest stays. */
static void test_reclaims(void **state)
{
	struct rtnl_neigh left = {.ifindex = if_nametoindex("v0")};
	struct nexthop_watch *watch;
	bool resolved = false;
	struct addr held;
	struct rtnl rtnl;

	(void)state;
	pairs_run("ip neigh add 10.0.0.3 dev v0 managed");
	assert_int_equal(rtnl_open(&rtnl), 0);
	left.addr = addr_of("10.0.0.2");
	assert_int_equal(rtnl_neigh_ask(&rtnl, &left, RTNL_ASK_MANAGED), 0);
	left.addr = addr_of("fd00::2");
	assert_int_equal(rtnl_neigh_ask(&rtnl, &left, RTNL_ASK_MANAGED), 0);
	left.addr = addr_of("10.0.0.9");
	assert_int_equal(rtnl_neigh_ask(&rtnl, &left, RTNL_ASK_MANAGED), 0);
	rtnl_close(&rtnl);
	held = addr_of("10.0.0.2");
	assert_int_equal(nexthops_watch(nexthops, &held, on_changed, &resolved, &watch), 0);
	assert_true(loop_until(&loop, is_given_back, (void *)"fd00::2"));
	assert_true(loop_until(&loop, is_given_back, (void *)"10.0.0.9"));
	assert_true(loop_until(&loop, is_set, &resolved));
	assert_true(pairs_neighbour("v0", "10.0.0.2").managed);
	assert_true(pairs_neighbour("v0", "10.0.0.3").managed); /* somebody else's */
}

static bool is_reachable(void *arg)
{
	return pairs_neighbour("v0", arg).state & NUD_REACHABLE;
}

/* What is asked of a kernel that does not keep neighbours resolved by itself. */
static void test_ask_once(void **state)
{
	struct rtnl_neigh key = {.ifindex = if_nametoindex("v0"), .addr = addr_of("10.0.0.2")};
	struct rtnl rtnl;

	(void)state;
	assert_int_equal(rtnl_open(&rtnl), 0);
	assert_int_equal(rtnl_neigh_ask(&rtnl, &key, RTNL_ASK_ONCE), 0);
	assert_true(loop_until(&loop, is_reachable, (void *)"10.0.0.2"));
	assert_false(pairs_neighbour("v0", "10.0.0.2").managed);
	assert_int_equal(rtnl_neigh_delete(&rtnl, &key), 0);
	assert_int_equal(pairs_neighbour("v0", "10.0.0.2").state, 0);
	key.ifindex = 9999;
	assert_int_equal(rtnl_neigh_ask(&rtnl, &key, RTNL_ASK_ONCE), -ENODEV);
	rtnl_close(&rtnl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reclaims, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ask_once, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, pairs_open, pairs_close);
}
