/* SPDX-License-Identifier: BSD-2-Clause */
/* Speakers that are each other's routers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "bgp_sides.h"

enum { ROUNDS = 20, MANY = 3000, STORM = 10000 };

static bool both_up(void *arg)
{
	(void)arg;
	return a.state == BGP_PEER_ESTABLISHED && b.state == BGP_PEER_ESTABLISHED;
}

static bool is_down(void *arg)
{
	struct side *side = arg;

	return side->state < BGP_PEER_ESTABLISHED && bgp_peer_status(side->peer)->downs == 1;
}

static void begin(void)
{
	struct bgp_spec spec_a = spec_of(1), spec_b = spec_of(2);
	struct bgp_peer_spec peer_b = peer_of(1, 2), peer_a = peer_of(2, 1);

	open_side(&a, &spec_a);
	open_side(&b, &spec_b);
	add_peer(&a, &peer_b);
	add_peer(&b, &peer_a);
	assert_true(loop_until(&loop, both_up, NULL));
}

static bool heard_many(void *arg)
{
	struct side *side = arg;

	return bgp_peer_status(side->peer)->routes_dropped >= MANY;
}

static void test_refused_specs(void **state)
{
	static const struct {
		struct bgp_spec spec;
		const char *words;
	} rows[] = {
		{{.asn = 0, .router_id = 1}, "AS number 0"},
		{{.asn = 23456, .router_id = 1}, "AS number 23456"},
		{{.asn = 4294967295, .router_id = 1}, "AS number 4294967295"},
		{{.asn = 1, .router_id = 0}, "router id"},
		{{.asn = 1, .router_id = 1, .hold_s = 2}, "hold time of 2 s"},
		{{.asn = 1, .router_id = 1, .hold_s = 65536}, "hold time"},
		{{.asn = 1, .router_id = 1, .restart_s = 4096}, "restart time"},
	};
	struct bgp *bgp;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(bgp_open(&loop, &rows[i].spec, &bgp, &err), -EINVAL);
		assert_non_null(strstr(err.text, rows[i].words));
	}
}

static void refuse_peer(const struct bgp_peer_spec *spec, int code, const char *words)
{
	struct bgp_peer *peer;
	struct err err = {0};

	assert_int_equal(bgp_add_peer(a.bgp, spec, NULL, NULL, &peer, &err), code);
	if (!strstr(err.text, words))
		fail_msg("%s", err.text);
}

static void test_refused_peers(void **state)
{
	struct bgp_spec spec = spec_of(1);
	struct bgp_peer_spec good = peer_of(1, 2), bad;
	char long_password[BGP_PASSWORD_MAX + 2];

	(void)state;
	open_side(&a, &spec);
	add_peer(&a, &good);
	refuse_peer(&good, -EEXIST, "this address");
	good.address = addr_of(3);
#define BAD(change, words)                         \
	do {                                       \
		bad = good;                        \
		change;                            \
		refuse_peer(&bad, -EINVAL, words); \
	} while (0)
	BAD(memset(&bad.address, 0, sizeof(bad.address)), "no address");
	BAD((addr_parse("fe80::1", &bad.address), memset(&bad.local, 0, sizeof(bad.local))),
	    "needs an interface");
	BAD(bad.interface = "lo", "for a link-local address");
	BAD((addr_parse("fe80::1", &bad.address), bad.interface = "more-than-15-letters",
	     memset(&bad.local, 0, sizeof(bad.local))),
	    "named so");
	BAD((addr_parse("fe80::1", &bad.address), bad.interface = "lo",
	     addr_parse("fe80::2", &bad.local)),
	    "interface's own");
	BAD((addr_parse("fe80::1", &bad.address), bad.interface = "lo", bad.hops = 2,
	     memset(&bad.local, 0, sizeof(bad.local))),
	    "not hops away");
	BAD(addr_parse("::1", &bad.local), "another family");
	BAD(addr_parse("::1", &bad.next_hop4), "no IPv4 address");
	BAD(addr_parse("192.0.2.1", &bad.next_hop6), "no IPv6 address");
	BAD(bad.extended_next_hop = true, "IPv6 session");
	BAD(bad.asn = 0, "AS number 0");
	BAD(bad.asn = 23456, "AS number 23456");
	BAD(bad.password = "", "1 to 80");
	memset(long_password, 'x', sizeof(long_password));
	long_password[sizeof(long_password) - 1] = '\0';
	BAD(bad.password = long_password, "1 to 80");
	BAD((bad.hops = 3, bad.gtsm = true), "not for multihop");
#undef BAD
	/* One address on two links: two peers, of one password. */
	addr_parse("fe80::1", &good.address);
	memset(&good.local, 0, sizeof(good.local));
	good.interface = "lo";
	good.password = "one";
	add_peer(&a, &good);
	refuse_peer(&good, -EEXIST, "this address");
	good.interface = "eth0";
	good.password = "two";
	refuse_peer(&good, -EINVAL, "one password");
	good.password = "one";
	add_peer(&a, &good);
	good = peer_of(1, 4);
	long_password[BGP_PASSWORD_MAX] = '\0';
	good.password = long_password;
	add_peer(&a, &good);
}

/* Both connect at the same time, and one connection of two stays. */
static void test_collision(void **state)
{
	uint64_t collisions = 0;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		begin();
		announce(&a, 0, 1);
		assert_true(loop_until(&loop, is_told, &a));
		assert_int_equal(bgp_peer_status(a.peer)->ups, 1);
		assert_int_equal(bgp_peer_status(b.peer)->ups, 1);
		assert_int_equal(bgp_peer_status(a.peer)->downs, 0);
		assert_int_equal(bgp_peer_status(b.peer)->downs, 0);
		collisions += bgp_peer_status(a.peer)->collisions;
		collisions += bgp_peer_status(b.peer)->collisions;
		close_side(&a);
		close_side(&b);
		uv_run(&loop, UV_RUN_DEFAULT);
		a.state = b.state = BGP_PEER_IDLE;
	}
	assert_true(collisions > 0);
}

static void test_passive(void **state)
{
	struct bgp_spec spec_a = spec_of(1), spec_b = spec_of(2);
	struct bgp_peer_spec peer_b = peer_of(1, 2), peer_a = peer_of(2, 1);

	(void)state;
	peer_b.passive = true;
	spec_b.asn = peer_a.asn;
	peer_b.asn = peer_a.asn;
	spec_a.hold_s = 40;
	spec_b.hold_s = 30;
	open_side(&a, &spec_a);
	open_side(&b, &spec_b);
	add_peer(&a, &peer_b);
	add_peer(&b, &peer_a);
	assert_true(loop_until(&loop, both_up, NULL));
	assert_int_equal(bgp_peer_status(a.peer)->attempts, 1);
	assert_int_equal(bgp_peer_status(a.peer)->hold_s, 30);
	assert_int_equal(bgp_peer_status(a.peer)->router_id, 2);
	assert_true(bgp_peer_status(a.peer)->ipv4);
	assert_false(bgp_peer_status(a.peer)->ipv6);
}

/* Two that wait never meet; and say that they wait. */
static bool both_wait(void *arg)
{
	(void)arg;
	return a.state == BGP_PEER_ACTIVE && b.state == BGP_PEER_ACTIVE;
}

static void test_both_passive(void **state)
{
	struct bgp_spec spec_a = spec_of(1), spec_b = spec_of(2);
	struct bgp_peer_spec peer_b = peer_of(1, 2), peer_a = peer_of(2, 1);

	(void)state;
	peer_a.passive = peer_b.passive = true;
	open_side(&a, &spec_a);
	open_side(&b, &spec_b);
	add_peer(&a, &peer_b);
	add_peer(&b, &peer_a);
	assert_true(loop_until(&loop, both_wait, NULL));
	assert_int_equal(bgp_peer_status(a.peer)->attempts, 0);
}

static void test_changes_of_a_turn(void **state)
{
	const struct bgp_peer_status *status;
	struct bgp_route made = route(1);
	uint64_t before;

	(void)state;
	begin();
	assert_true(loop_until(&loop, is_told, &a));
	before = bgp_peer_status(a.peer)->updates_out;
	announce(&a, 0, MANY);
	for (made.med = 1; made.med < 10; made.med++)
		assert_int_equal(bgp_announce(a.bgp, &made), 0);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(bgp_withdraw(a.bgp, &(struct prefix){route(i).prefix.addr, 32}),
				 0);
	announce(&a, 0, 10);
	assert_true(loop_until(&loop, heard_many, &b));
	status = bgp_peer_status(a.peer);
	assert_int_equal(status->prefixes, MANY);
	assert_int_equal(bgp_peer_status(b.peer)->routes_dropped, MANY);
	assert_in_range(status->updates_out - before, 4, 6);
	/* What is so already is not told. */
	before = status->updates_out;
	announce(&a, 0, 1);
	announce(&a, MANY, 1);
	assert_true(loop_until(&loop, is_told, &a));
	assert_int_equal(bgp_peer_status(a.peer)->updates_out, before + 1);
	assert_int_equal(bgp_status(a.bgp)->routes, MANY + 1);
}

static void on_stopped(void *arg)
{
	struct side *side = arg;

	side->stopped = true;
}

static bool has_stopped(void *arg)
{
	return ((struct side *)arg)->stopped;
}

static void test_planned_stop(void **state)
{
	(void)state;
	begin();
	announce(&a, 0, MANY);
	bgp_stop(a.bgp, BGP_STOP_PLANNED, on_stopped, &a);
	assert_true(loop_until(&loop, has_stopped, &a));
	assert_true(loop_until(&loop, is_down, &b));
	assert_non_null(strstr(bgp_peer_status(b.peer)->last_error, "back at noon"));
	assert_int_equal(bgp_announce(a.bgp, &(struct bgp_route){.prefix = route(1).prefix}),
			 -ESHUTDOWN);
	assert_int_equal(bgp_peer_status(a.peer)->state, BGP_PEER_IDLE);
}

static void test_restart_stop(void **state)
{
	(void)state;
	begin();
	bgp_stop(a.bgp, BGP_STOP_RESTART, on_stopped, &a);
	assert_true(loop_until(&loop, has_stopped, &a));
	assert_true(loop_until(&loop, is_down, &b));
	assert_non_null(strstr(bgp_peer_status(b.peer)->last_error, "closed the connection"));
	assert_int_equal(bgp_peer_status(b.peer)->notifications_in, 0);
}

static void test_lost(void **state)
{
	(void)state;
	begin();
	bgp_peer_lost(a.peer, "BFD is down");
	assert_int_equal(bgp_peer_status(a.peer)->state, BGP_PEER_IDLE);
	assert_string_equal(bgp_peer_status(a.peer)->last_error, "BFD is down");
	assert_true(loop_until(&loop, is_down, &b));
	assert_non_null(strstr(bgp_peer_status(b.peer)->last_error, "BFD"));
	a.state = b.state = BGP_PEER_IDLE;
	assert_true(loop_until(&loop, both_up, NULL));
	assert_int_equal(bgp_peer_status(a.peer)->ups, 2);
	bgp_remove_peer(a.peer);
	a.peer = NULL;
	assert_int_equal(bgp_peer_status(b.peer)->downs, 1);
}

static void test_callback_removes(void **state)
{
	(void)state;
	a.removes = true;
	begin();
	assert_null(a.peer);
	assert_true(loop_until(&loop, is_down, &b));
	assert_non_null(strstr(bgp_peer_status(b.peer)->last_error, "de-configured"));
}

static void test_callback_closes(void **state)
{
	(void)state;
	a.closes = true;
	begin();
	assert_null(a.bgp);
	assert_true(loop_until(&loop, is_down, &b));
}

/* Anything at any time; then all is as it should be. */
static uint32_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)random_state * limit >> 32);
}

static void renew(struct side *side)
{
	struct bgp_peer_spec spec = peer_of(side->number, 3 - side->number);

	if (side->peer)
		bgp_remove_peer(side->peer);
	spec.passive = random_below(4) == 0;
	add_peer(side, &spec);
}

static void do_anything(struct side *side)
{
	struct bgp_route made = route(random_below(2 * MANY));

	switch (random_below(16)) {
	case 0: bgp_peer_lost(side->peer, "lost"); break;
	case 1: renew(side); break;
	case 2: bgp_set_graceful_shutdown(side->bgp, random_below(2)); break;
	case 3: announce(side, random_below(MANY), MANY); break;
	case 4: bgp_ready(side->bgp); break;
	case 5:
		for (uint32_t i = 0; i < MANY; i++)
			bgp_withdraw(side->bgp, &(struct prefix){route(i).prefix.addr, 32});
		break;
	case 6:
	case 7:
	case 8:
		made.prepend = (uint8_t)random_below(4);
		assert_int_equal(bgp_announce(side->bgp, &made), 0);
		break;
	default: uv_run(&loop, random_below(2) ? UV_RUN_NOWAIT : UV_RUN_ONCE); break;
	}
}

static bool both_told(void *arg)
{
	(void)arg;
	return is_told(&a) && is_told(&b) && bgp_peer_status(a.peer)->ups == 1 &&
	       bgp_peer_status(b.peer)->ups == 1;
}

static void test_storm(void **state)
{
	struct side *sides[] = {&a, &b};
	uv_timer_t tick;

	(void)state;
	begin();
	/* A turn of the loop ends soon, also where nothing happens. */
	uv_timer_init(&loop, &tick);
	uv_timer_start(&tick, loop_wake, 1, 1);
	for (int step = 0; step < STORM; step++)
		do_anything(sides[random_below(2)]);
	uv_close((uv_handle_t *)&tick, NULL);
	/* Without back-off and with both attempting. */
	do {
		bgp_remove_peer(a.peer);
		bgp_remove_peer(b.peer);
		a.peer = b.peer = NULL;
		uv_run(&loop, UV_RUN_NOWAIT);
		renew(&a);
		renew(&b);
	} while (random_below(2));
	assert_true(loop_until(&loop, both_told, NULL));
	assert_int_equal(bgp_peer_status(a.peer)->prefixes, bgp_status(a.bgp)->routes);
	assert_int_equal(bgp_peer_status(b.peer)->prefixes, bgp_status(b.bgp)->routes);
	assert_int_equal(bgp_peer_status(a.peer)->malformed, 0);
	assert_int_equal(bgp_peer_status(b.peer)->malformed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refused_specs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused_peers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_collision, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_passive, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_both_passive, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_changes_of_a_turn, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_planned_stop, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_restart_stop, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lost, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_callback_removes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_callback_closes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_storm, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, open_world, NULL);
}
