/* SPDX-License-Identifier: BSD-2-Clause */
/* Speakers that are each other's routers, on the loopback of a network namespace of the test's own;
 * and a router made of a bare socket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/loop.h"
#include "bgp/speaker.h"
#include "bgp/wire.h"

enum { ROUNDS = 20, MANY = 3000 };

/* A speaker at 127.0.0.N, AS 65000 + N, whose only peer is the other one. */
struct side {
	int number;
	struct bgp *bgp;
	struct bgp_peer *peer;
	unsigned int calls;
	enum bgp_peer_state state; /* as called back */
	bool stopped;
	bool closes, removes; /* in the callback */
};

static uv_loop_t loop;
static struct side a, b;

static int open_world(void **state)
{
	(void)state;
	if (unshare(CLONE_NEWNET)) {
		print_message("network namespaces need root\n");
		return -1;
	}
	return system("ip link set lo up");
}

static int set_up(void **state)
{
	(void)state;
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	a.number = 1;
	b.number = 2;
	return uv_loop_init(&loop);
}

static void close_side(struct side *side)
{
	if (side->bgp)
		bgp_close(side->bgp);
	side->bgp = NULL;
	side->peer = NULL;
}

/* The loop ends by itself: no handle is left. */
static int tear_down(void **state)
{
	(void)state;
	close_side(&a);
	close_side(&b);
	uv_run(&loop, UV_RUN_DEFAULT);
	return uv_loop_close(&loop);
}

static struct addr addr_of(int number)
{
	return addr_from4(htonl(0x7f000000 + (uint32_t)number));
}

static struct bgp_spec spec_of(int number)
{
	return (struct bgp_spec){
		.asn = 65000 + (uint32_t)number,
		.router_id = (uint32_t)number,
		.stop_text = "back at noon",
	};
}

/* From `from`, for a peer at `to`. */
static struct bgp_peer_spec peer_of(int from, int to)
{
	return (struct bgp_peer_spec){
		.address = addr_of(to),
		.local = addr_of(from),
		.asn = 65000 + (uint32_t)to,
	};
}

static void on_changed(void *arg, struct bgp_peer *peer, enum bgp_peer_state state)
{
	struct side *side = arg;

	assert_ptr_equal(peer, side->peer);
	side->calls++;
	side->state = state;
	if (side->removes && state == BGP_PEER_ESTABLISHED) {
		bgp_remove_peer(peer);
		side->peer = NULL;
	}
	if (side->closes && state == BGP_PEER_ESTABLISHED)
		close_side(side);
}

static void open_side(struct side *side, const struct bgp_spec *spec)
{
	struct err err;

	assert_int_equal(bgp_open(&loop, spec, &side->bgp, &err), 0);
}

static void add_peer(struct side *side, const struct bgp_peer_spec *spec)
{
	struct err err;

	assert_int_equal(bgp_add_peer(side->bgp, spec, on_changed, side, &side->peer, &err), 0);
}

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

static struct bgp_route route(uint32_t number)
{
	return (struct bgp_route){.prefix = {addr_from4(htonl(0x0a000000 + number)), 32}};
}

static void announce(struct side *side, uint32_t from, uint32_t count)
{
	for (uint32_t i = from; i < from + count; i++) {
		struct bgp_route made = route(i);

		assert_int_equal(bgp_announce(side->bgp, &made), 0);
	}
}

static bool heard_many(void *arg)
{
	struct side *side = arg;

	return bgp_peer_status(side->peer)->routes_dropped >= MANY;
}

static bool is_told(void *arg)
{
	struct side *side = arg;
	const struct bgp_peer_status *status = bgp_peer_status(side->peer);

	return status->state == BGP_PEER_ESTABLISHED && !status->pending;
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
	BAD(addr_parse("fe80::1", &bad.address), "link-local");
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

/* --- a bare socket --- */

static int raw = -1;

static int connect_raw(int from, int to)
{
	struct sockaddr_storage local, peer;
	struct addr from_addr = addr_of(from), to_addr = addr_of(to);
	socklen_t local_length = addr_sockaddr(&from_addr, 0, &local);
	socklen_t peer_length = addr_sockaddr(&to_addr, BGP_PORT, &peer);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&local, local_length), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&peer, peer_length), 0);
	return fd;
}

static void say(const uint8_t *message, int length)
{
	assert_true(length > 0);
	assert_int_equal(send(raw, message, (size_t)length, MSG_NOSIGNAL), length);
}

static void say_open(uint16_t hold_s)
{
	struct wire_open open = {
		.asn = 65009, .router_id = 9, .hold_s = hold_s, .as4 = true, .ipv4 = true};
	uint8_t message[WIRE_MAX];

	say(message, wire_open_format(&open, message));
	say(message, wire_keepalive_format(message));
}

static uint8_t heard[WIRE_MAX];
static int heard_length;
static enum wire_type heard_type;

/* The next message of that type; those before it are dropped. */
static bool hears(void *arg)
{
	enum wire_type wanted = *(enum wire_type *)arg;
	struct wire_notice fault;
	ssize_t got;

	for (;;) {
		got = recv(raw, heard, sizeof(heard), MSG_PEEK | MSG_DONTWAIT);
		if (got <= 0)
			return false;
		heard_length = wire_frame(heard, (size_t)got, &heard_type, &fault);
		if (heard_length <= 0)
			return false;
		recv(raw, heard, (size_t)heard_length, 0);
		if (heard_type == wanted)
			return true;
	}
}

static bool raw_closed(void *arg)
{
	ssize_t got = recv(raw, heard, sizeof(heard), MSG_DONTWAIT);

	(void)arg;
	return got == 0 || (got < 0 && errno != EAGAIN);
}

static void hear(enum wire_type type)
{
	assert_true(loop_until(&loop, hears, &type));
}

static void begin_raw(struct bgp_spec *spec)
{
	struct bgp_peer_spec peer = peer_of(1, 9);

	peer.passive = true;
	open_side(&a, spec);
	add_peer(&a, &peer);
	raw = connect_raw(9, 1);
}

static int end_raw(void **state)
{
	if (raw >= 0)
		close(raw);
	raw = -1;
	return tear_down(state);
}

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
		cmocka_unit_test_setup_teardown(test_hold_expires, set_up, end_raw),
		cmocka_unit_test_setup_teardown(test_garbage, set_up, end_raw),
		cmocka_unit_test_setup_teardown(test_restarting, set_up, end_raw),
		cmocka_unit_test_setup_teardown(test_stranger, set_up, end_raw),
		cmocka_unit_test_setup_teardown(test_port_taken, set_up, end_raw),
	};

	return cmocka_run_group_tests(tests, open_world, NULL);
}
