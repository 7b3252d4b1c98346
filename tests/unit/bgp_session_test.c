/* SPDX-License-Identifier: BSD-2-Clause */
/* A speaker whose router is a bare socket: what goes over the wire, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bgp_raw.h"

static bool a_up(void *arg)
{
	(void)arg;
	return a.state == BGP_PEER_ESTABLISHED;
}

static void test_hold_expires(void **state)
{
	struct bgp_spec spec = spec_of(1);
	struct wire_notice notice;

	(void)state;
	spec.hold_s = 3;
	begin_raw(&spec);
	say_open(90);
	assert_true(loop_until(&loop, a_up, NULL));
	/* Ours come, the router's do not. */
	hear(WIRE_KEEPALIVE);
	hear(WIRE_NOTIFICATION);
	wire_notice_parse(heard, (size_t)heard_length, &notice);
	assert_int_equal(notice.code, WIRE_ERR_HOLD);
	assert_true(loop_until(&loop, raw_closed, NULL));
	assert_non_null(strstr(bgp_peer_status(a.peer)->last_error, "hold timer"));
}

static bool is_given_up(void *arg)
{
	(void)arg;
	return bgp_peer_status(a.peer)->downs == 1;
}

/* A router that sends keepalives and reads nothing (RFC 9687). */
static void test_send_hold_expires(void **state)
{
	struct bgp_spec spec = spec_of(1);
	int small = 4096;

	(void)state;
	spec.send_hold_s = 1;
	begin_raw(&spec);
	setsockopt(raw, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	say_open(0);
	assert_true(loop_until(&loop, a_up, NULL));
	announce(&a, 0, 60000);
	assert_true(loop_until(&loop, is_given_up, NULL));
	assert_non_null(strstr(bgp_peer_status(a.peer)->last_error, "send hold"));
	assert_int_equal(bgp_peer_status(a.peer)->notifications_out, 1);
}

static void test_garbage(void **state)
{
	struct bgp_spec spec = spec_of(1);
	struct wire_notice notice;
	uint8_t garbage[WIRE_HEADER] = {0};

	(void)state;
	begin_raw(&spec);
	say(garbage, sizeof(garbage));
	hear(WIRE_OPEN);
	hear(WIRE_NOTIFICATION);
	wire_notice_parse(heard, (size_t)heard_length, &notice);
	assert_int_equal(notice.code, WIRE_ERR_HEADER);
	assert_int_equal(bgp_peer_status(a.peer)->malformed, 1);
	/* Whoever did that waits. */
	close(raw);
	raw = connect_raw(9, 1);
	assert_true(loop_until(&loop, raw_closed, NULL));
	assert_int_equal(bgp_status(a.bgp)->refused, 1);
}

/* No End-of-RIB before the first set of routes is complete; then each family's. */
static void test_restarting(void **state)
{
	struct bgp_spec spec = spec_of(1);
	struct wire_open open;
	struct wire_notice fault;

	(void)state;
	spec.restarting = true;
	spec.restart_s = 100;
	begin_raw(&spec);
	hear(WIRE_OPEN);
	assert_int_equal(wire_open_parse(heard, (size_t)heard_length, &open, &fault), 0);
	assert_true(open.restarting && open.forwarding4 && open.graceful_notice);
	assert_int_equal(open.restart_s, 100);
	say_open(90);
	announce(&a, 1, 1);
	hear(WIRE_UPDATE);
	assert_true(heard_length > WIRE_HEADER + 4);
	assert_true(loop_until(&loop, is_told, &a));
	assert_int_equal(bgp_peer_status(a.peer)->updates_out, 1);
	bgp_ready(a.bgp);
	hear(WIRE_UPDATE);
	assert_int_equal(heard_length, WIRE_HEADER + 4);
	assert_int_equal(bgp_peer_status(a.peer)->updates_out, 2);
}

static bool a_stranger(void *arg)
{
	(void)arg;
	return bgp_status(a.bgp)->strangers == 1;
}

static void test_stranger(void **state)
{
	struct bgp_spec spec = spec_of(1);
	struct bgp_peer_spec peer = peer_of(1, 9);

	(void)state;
	open_side(&a, &spec);
	add_peer(&a, &peer);
	raw = connect_raw(8, 1);
	assert_true(loop_until(&loop, raw_closed, NULL));
	assert_true(loop_until(&loop, a_stranger, NULL));
	assert_int_equal(bgp_peer_status(a.peer)->state, BGP_PEER_IDLE);
}

static bool one_stranger(void *arg)
{
	(void)arg;
	return bgp_status(a.bgp)->strangers == 1 && bgp_status(a.bgp)->refused == 0;
}

/* A peer of any address beside one that has its own: the port is listened on all the same, and a
 * connection to another address than its own is not the peer's. */
static void test_listens_for_all(void **state)
{
	struct bgp_spec spec = spec_of(1);
	struct bgp_peer_spec peer = peer_of(1, 9), any = peer_of(1, 8);

	(void)state;
	memset(&any.local, 0, sizeof(any.local));
	any.passive = peer.passive = true;
	open_side(&a, &spec);
	add_peer(&a, &peer);
	add_peer(&a, &any);
	assert_string_equal(bgp_status(a.bgp)->listen_error, "");
	raw = connect_raw(9, 2);
	assert_true(loop_until(&loop, raw_closed, NULL));
	assert_true(loop_until(&loop, one_stranger, NULL));
	close(raw);
	raw = connect_raw(9, 1);
	hear(WIRE_OPEN);
	close(raw);
	raw = connect_raw(8, 2);
	hear(WIRE_OPEN);
}

/* A second connection of an established router: a collision at first, later a restart of one that
 * keeps our routes meanwhile. */
static bool is_older(void *arg)
{
	uint64_t ms = *(uint64_t *)arg;

	return uv_hrtime() - bgp_peer_status(a.peer)->established_ns > ms * 1000000;
}

static bool up_twice(void *arg)
{
	(void)arg;
	return bgp_peer_status(a.peer)->ups == 2;
}

static void test_connects_anew(void **state)
{
	struct bgp_spec spec = spec_of(1);
	struct wire_notice notice;
	uint64_t ms = 5100;
	int first;

	(void)state;
	spec.restart_s = 10;
	begin_raw(&spec);
	say_open(90);
	assert_true(loop_until(&loop, a_up, NULL));
	first = raw;
	raw = connect_raw(9, 1);
	say_open(90);
	hear(WIRE_NOTIFICATION);
	wire_notice_parse(heard, (size_t)heard_length, &notice);
	assert_int_equal(notice.code, WIRE_CEASE);
	assert_int_equal(notice.subcode, WIRE_CEASE_COLLISION);
	close(raw);
	assert_true(loop_until(&loop, is_older, &ms));
	assert_int_equal(bgp_peer_status(a.peer)->downs, 0);
	raw = connect_raw(9, 1);
	say_open(90);
	assert_true(loop_until(&loop, up_twice, NULL));
	assert_int_equal(bgp_peer_status(a.peer)->downs, 1);
	close(first);
}

/* A port that is taken is no reason not to connect; when it is free it is listened on. */
static bool listens(void *arg)
{
	(void)arg;
	return !*bgp_status(a.bgp)->listen_error;
}

static void test_port_taken(void **state)
{
	struct bgp_spec spec = spec_of(1);
	struct bgp_peer_spec peer = peer_of(1, 9);
	struct sockaddr_storage at;
	struct addr own = addr_of(1);
	socklen_t length = addr_sockaddr(&own, BGP_PORT, &at);

	(void)state;
	raw = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(raw, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	assert_int_equal(bind(raw, (struct sockaddr *)&at, length), 0);
	assert_int_equal(listen(raw, 1), 0);
	open_side(&a, &spec);
	add_peer(&a, &peer);
	assert_non_null(strstr(bgp_status(a.bgp)->listen_error, "127.0.0.1 port 179"));
	close(raw);
	raw = -1;
	assert_true(loop_until(&loop, listens, NULL));
	raw = connect_raw(9, 1);
	hear(WIRE_OPEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hold_expires, set_up, end_raw),
		cmocka_unit_test_setup_teardown(test_send_hold_expires, set_up, end_raw),
		cmocka_unit_test_setup_teardown(test_garbage, set_up, end_raw),
		cmocka_unit_test_setup_teardown(test_restarting, set_up, end_raw),
		cmocka_unit_test_setup_teardown(test_listens_for_all, set_up, end_raw),
		cmocka_unit_test_setup_teardown(test_connects_anew, set_up, end_raw),
		cmocka_unit_test_setup_teardown(test_stranger, set_up, end_raw),
		cmocka_unit_test_setup_teardown(test_port_taken, set_up, end_raw),
	};

	return cmocka_run_group_tests(tests, open_world, NULL);
}
