/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names that change hands between two configurations, with flows that go on: by a reload, by a
 * start over the tables of a daemon that was killed, and by both in turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "../lib/frame/frame.h"
#include "../lib/run/reloading.h"
#include "base/time.h"

enum { TEXT_MAX = 16 * 1024, FLOWS = 60, LISTENS_MAX = 8, IDLE_MS = 60 * 1000, PIECE_MS = 10 };

#define NODE                                                            \
	"node: {name: n, interfaces: [eth0], flows: {established: 1m, " \
	"insert_limit: 4G}}\nseed: one\npools:\n"

/* "@v1" is a VIP, "@x1" the first backend of a group x, of the family that is tried. */
#define B(at) "{name: b" #at ", address: @" #at "}"
#define OF3(one, two, three)                                         \
	"{name: b1, address: @" #one "}, {name: b2, address: @" #two \
	"}, {name: b3, address: @" #three "}"
#define X OF3(x1, x2, x3)
#define Y OF3(y1, y2, y3)
#define Z OF3(z1, z2, z3)
#define SIZED(name, size, members) \
	"- {name: " name ", table_size: " size ", check: {port: 80}, backends: [" members "]}\n"
#define POOL(name, members) SIZED(name, "251", members)
#define PORT(name, vips, port, pool) \
	"- {name: " name ", vips: [" vips "], listen: [tcp/" port "], pool: " pool "}\n"
#define SERVICE(name, vips, pool) PORT(name, vips, "80", pool)
#define SERVICES                  "services:\n"

static const struct change {
	const char *name, *before, *after;
	bool renames; /* alone: nothing is in transition */
} changes[] = {
	{"pools swap names",
	 POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v1", "a") SERVICE("t", "@v2", "b"),
	 POOL("b", X) POOL("a", Y) SERVICES SERVICE("s", "@v1", "b") SERVICE("t", "@v2", "a"),
	 true},
	{"and stand where the other stood",
	 POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v1", "a") SERVICE("t", "@v2", "b"),
	 POOL("a", Y) POOL("b", X) SERVICES SERVICE("s", "@v1", "b") SERVICE("t", "@v2", "a"),
	 true},
	{"names of three go round",
	 POOL("a", X) POOL("b", Y) POOL("c", Z) SERVICES SERVICE("s", "@v1", "a")
		 SERVICE("t", "@v2", "b") SERVICE("u", "@v3", "c"),
	 POOL("b", X) POOL("c", Y) POOL("a", Z) SERVICES SERVICE("s", "@v1", "b")
		 SERVICE("t", "@v2", "c") SERVICE("u", "@v3", "a"),
	 true},
	{"a new name, and a new pool has the old one",
	 POOL("a", X) SERVICES SERVICE("s", "@v1", "a"),
	 POOL("b", X) POOL("a", Z) SERVICES SERVICE("s", "@v1", "b") SERVICE("u", "@v3", "a"),
	 false},
	{"the same, and the new one has a backend of the old one",
	 POOL("a", X) SERVICES SERVICE("s", "@v1", "a"),
	 POOL("a", OF3(x1, z1, z2)) POOL("b", X) SERVICES SERVICE("u", "@v3", "a")
		 SERVICE("s", "@v1", "b"),
	 false},
	{"a name moves to a pool that was there",
	 POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v1", "a") SERVICE("t", "@v2", "b"),
	 POOL("c", X) POOL("a", Y) SERVICES SERVICE("s", "@v1", "c") SERVICE("t", "@v2", "a"),
	 true},
	{"members swap pools",
	 POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v1", "a") SERVICE("t", "@v2", "b"),
	 POOL("a", Y) POOL("b", X) SERVICES SERVICE("s", "@v1", "a") SERVICE("t", "@v2", "b"),
	 false},
	{"the same of pools with a member in common",
	 POOL("a", X) POOL("b", OF3(x3, y1, y2)) SERVICES SERVICE("s", "@v1", "a")
		 SERVICE("t", "@v2", "b"),
	 POOL("a", OF3(x3, y1, y2)) POOL("b", X) SERVICES SERVICE("s", "@v1", "a")
		 SERVICE("t", "@v2", "b"),
	 false},
	{"services swap names",
	 POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v1", "a") SERVICE("t", "@v2", "b"),
	 POOL("a", X) POOL("b", Y) SERVICES SERVICE("t", "@v1", "a") SERVICE("s", "@v2", "b"),
	 false},
	{"services swap addresses",
	 POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v1", "a") SERVICE("t", "@v2", "b"),
	 POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v2", "a") SERVICE("t", "@v1", "b"),
	 false},
	{"services swap ports",
	 POOL("a", X) POOL("b", Y) SERVICES PORT("s", "@v1", "80", "a") PORT("t", "@v1", "81", "b"),
	 POOL("a", X) POOL("b", Y) SERVICES PORT("s", "@v1", "81", "a") PORT("t", "@v1", "80", "b"),
	 false},
	{"names of three services go round",
	 POOL("a", X) POOL("b", Y) POOL("c", Z) SERVICES SERVICE("s", "@v1", "a")
		 SERVICE("t", "@v2", "b") SERVICE("u", "@v3", "c"),
	 POOL("a", X) POOL("b", Y) POOL("c", Z) SERVICES SERVICE("t", "@v1", "a")
		 SERVICE("u", "@v2", "b") SERVICE("s", "@v3", "c"),
	 false},
	{"pools and services swap names",
	 POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v1", "a") SERVICE("t", "@v2", "b"),
	 POOL("b", X) POOL("a", Y) SERVICES SERVICE("t", "@v1", "b") SERVICE("s", "@v2", "a"),
	 false},
	{"a service has a new name, and a new one the old",
	 POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v1", "a"),
	 POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v2", "b") SERVICE("t", "@v1", "a"),
	 false},
	{"an address goes to a service of its own, with another pool",
	 POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v1, @v2", "a") SERVICE("t", "@v3", "b"),
	 POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v1", "a") SERVICE("t", "@v3", "b")
		 SERVICE("u", "@v2", "b"),
	 false},
	{"an address goes to a service that is there, with the same pool",
	 POOL("a", X) SERVICES SERVICE("s", "@v1, @v2", "a") SERVICE("t", "@v3", "a"),
	 POOL("a", X) SERVICES SERVICE("s", "@v1", "a") SERVICE("t", "@v3, @v2", "a"), false},
	{"pools swap names and are edited",
	 POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v1", "a") SERVICE("t", "@v2", "b"),
	 POOL("b", X ", {name: b4, address: @z1}") POOL("a", B(y1) ", " B(y2))
		 SERVICES SERVICE("s", "@v1", "b") SERVICE("t", "@v2", "a"),
	 false},
	{"pools of other sizes swap names",
	 SIZED("a", "251", X) SIZED("b", "509", Y) SERVICES SERVICE("s", "@v1", "a")
		 SERVICE("t", "@v2", "b"),
	 SIZED("a", "509", Y) SIZED("b", "251", X) SERVICES SERVICE("s", "@v1", "b")
		 SERVICE("t", "@v2", "a"),
	 true},
	{"sizes change with the names",
	 SIZED("a", "251", X) SIZED("b", "509", Y) SERVICES SERVICE("s", "@v1", "a")
		 SERVICE("t", "@v2", "b"),
	 SIZED("a", "251", Y) SIZED("b", "509", X) SERVICES SERVICE("s", "@v1", "b")
		 SERVICE("t", "@v2", "a"),
	 false},
	{"two pools become one",
	 POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v1", "a") SERVICE("t", "@v2", "b"),
	 POOL("c", X ", {name: b4, address: @y1}, {name: b5, address: @y2}, "
		     "{name: b6, address: @y3}") SERVICES SERVICE("s", "@v1", "c")
		 SERVICE("t", "@v2", "c"),
	 false},
	{"a backend goes with its service's flows to the other pool",
	 POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v1", "a") SERVICE("t", "@v2", "b"),
	 POOL("a", B(x1) ", " B(x2)) POOL("b", Y ", {name: b4, address: @x3}")
		 SERVICES SERVICE("s", "@v1", "b") SERVICE("t", "@v2", "b"),
	 false},
	{"a pool is divided between two services",
	 POOL("a", X ", {name: b4, address: @y1}, {name: b5, address: @y2}")
		 SERVICES SERVICE("s", "@v1", "a") SERVICE("t", "@v2", "a"),
	 POOL("b", B(y1) ", " B(y2)) POOL("a", X) SERVICES SERVICE("s", "@v1", "a")
		 SERVICE("t", "@v2", "b"),
	 false},
};

/* --- files --- */

static bool is_six; /* the family that is tried */

static char *put_address(char *out, const char *name)
{
	static const char groups[] = "vxyz";
	int group = (int)(strchr(groups, name[0]) - groups);

	return out + sprintf(out, is_six ? "'2001:db8:%d::%c'" : "10.0.%d.%c", group, name[1]);
}

static const char *file(const char *change)
{
	static char text[TEXT_MAX];
	char *out = stpcpy(text, NODE);

	for (const char *at = change; *at; at++) {
		if (*at != '@') {
			*out++ = *at;
			continue;
		}
		out = put_address(out, at + 1);
		at += 2;
	}
	*out = '\0';
	return text;
}

/* --- flows --- */

static struct listen {
	struct addr vip;
	uint16_t port;
	struct addr backends[FLOWS];
} listens[LISTENS_MAX];
static size_t listen_count;
static uint16_t first_port, last_port; /* of the flows that are opened, and of all */

static struct addr run_segment(const struct listen *listen, unsigned flow, uint8_t tcp_flags)
{
	char vip[ADDR_TEXT_MAX];
	struct frame_spec spec = {
		.src = is_six ? "2001:db8:f::5" : "203.0.113.5",
		.dst = addr_format(&listen->vip, vip),
		.sport = (uint16_t)(first_port + flow),
		.dport = listen->port,
		.tcp_flags = tcp_flags,
	};
	uint8_t buffer[2 + FRAME_MAX + NATIVE_HEADROOM];
	struct dp_result result;
	struct frame frame;

	frame_build(&spec, &frame);
	memcpy(buffer + 2, frame.bytes, frame.length);
	assert_int_equal(native_run(reloading.native, buffer + 2, frame.length,
				    frame.length + NATIVE_HEADROOM,
				    reloading.now_ms * TIME_MILLI_NS, &result),
			 0);
	return dp_addr_back(&reloading.tables->backends[result.trace.backend].addr);
}

static void open_flows(void)
{
	listen_count = 0;
	for (size_t i = 0; i < reloading.conf->service_count; i++) {
		const struct conf_service *service = &reloading.conf->services[i];

		for (size_t v = 0; v < service->vip_count; v++) {
			struct listen *listen = &listens[listen_count++];

			*listen = (struct listen){.vip = service->vips[v].addr,
						  .port = service->listens[0].first};
			for (unsigned f = 0; f < FLOWS; f++)
				listen->backends[f] = run_segment(listen, f, FRAME_SYN);
		}
	}
}

static bool has(const struct conf_pool *pool, const struct addr *addr)
{
	for (size_t i = 0; i < pool->backend_count; i++) {
		if (addr_equal(&pool->backends[i].address, addr))
			return true;
	}
	return false;
}

static bool is_named(const struct addr *addr)
{
	for (size_t i = 0; i < reloading.conf->pool_count; i++) {
		if (has(&reloading.conf->pools[i], addr))
			return true;
	}
	return false;
}

static bool is_served(const struct listen *listen)
{
	for (size_t i = 0; i < reloading.conf->service_count; i++) {
		const struct conf_service *service = &reloading.conf->services[i];

		for (size_t v = 0; v < service->vip_count; v++) {
			if (addr_equal(&service->vips[v].addr, &listen->vip) &&
			    service->listens[0].first == listen->port)
				return true;
		}
	}
	return false;
}

/* But for those of backends and addresses that are not in the file any more. */
static void all_stay(void)
{
	for (size_t i = 0; i < listen_count; i++) {
		if (!is_served(&listens[i]))
			continue;
		for (unsigned f = 0; f < FLOWS; f++) {
			struct addr now;

			if (!is_named(&listens[i].backends[f]))
				continue;
			now = run_segment(&listens[i], f, FRAME_ACK);
			if (!addr_equal(&now, &listens[i].backends[f])) {
				char was[ADDR_TEXT_MAX], is[ADDR_TEXT_MAX];

				fail_msg("flow %u of listen %zu is cut: %s, then %s", f, i,
					 addr_format(&listens[i].backends[f], was),
					 addr_format(&now, is));
			}
		}
	}
}

/* Those that begin are its pool's. */
static void new_ones_are_right(void)
{
	uint16_t old_port = first_port;

	first_port = last_port = (uint16_t)(last_port + FLOWS);
	for (size_t i = 0; i < reloading.conf->service_count; i++) {
		const struct conf_service *service = &reloading.conf->services[i];

		for (size_t v = 0; v < service->vip_count; v++) {
			struct listen listen = {
				service->vips[v].addr, service->listens[0].first, {{{0}}}};

			for (unsigned f = 0; f < FLOWS; f++) {
				struct addr addr = run_segment(&listen, f, FRAME_SYN);

				if (!has(service->pool, &addr))
					fail_msg("service %s: a flow goes to another pool's",
						 service->name);
			}
		}
	}
	first_port = old_port;
}

static uint32_t moving(void)
{
	uint32_t ret = 0;

	for (size_t i = 0; i < reloading.conf->pool_count; i++)
		ret += pool_moving_slots(balancer_pool(reloading.balancer, i));
	return ret;
}

static void settle(void)
{
	for (int i = 0; i < 100; i++) {
		uint64_t pause = 0;

		reloading.now_ms += IDLE_MS / 10;
		balancer_tick(reloading.balancer, reloading.now_ms);
		/* Once through the table; the next survey is for another time. */
		for (int step = 0; step < 10000 && pause <= PIECE_MS; step++)
			pause = balancer_survey(reloading.balancer, reloading.now_ms);
		all_stay();
	}
}

/* --- ways --- */

static void change_to(const char *text, bool restarts)
{
	if (restarts)
		reloading_restart(text);
	else
		reloading_reload(text);
	all_stay();
	reloading_all_well();
	all_stay();
}

/* There, on over a time in which everything settles, and back. */
static void one_way(const struct change *change, bool restarts)
{
	first_port = last_port = 1000;
	reloading_begin(file(change->before));
	open_flows();
	change_to(file(change->after), restarts);
	if (change->renames && !restarts)
		assert_int_equal(moving(), 0);
	new_ones_are_right();
	settle();
	new_ones_are_right();
	open_flows();
	change_to(file(change->before), restarts);
	new_ones_are_right();
}

static void all_changes(void **state, bool restarts)
{
	for (size_t i = 0; i < 2 * sizeof(changes) / sizeof(changes[0]); i++) {
		is_six = i % 2;
		print_message("  %s%s\n", changes[i / 2].name, is_six ? ", IPv6" : "");
		one_way(&changes[i / 2], restarts);
		reloading_tear_down(state);
		assert_int_equal(reloading_set_up(state), 0);
	}
}

static void test_reload(void **state)
{
	all_changes(state, false);
}

static void test_restart(void **state)
{
	all_changes(state, true);
}

/* --- names by chance --- */

enum { GROUPS = 4, NAMES = 6, ROUNDS = 120 };

static unsigned below(unsigned limit)
{
	return (unsigned)(frame_random() % limit);
}

static void shuffle(unsigned *list, unsigned count)
{
	for (unsigned i = count - 1; i > 0; i--) {
		unsigned other = below(i + 1), kept = list[i];

		list[i] = list[other];
		list[other] = kept;
	}
}

/* Of all that connections depend on nothing changes: `sizes` are the groups' tables, `serves` which
 * group each VIP has. Names, and the order of all, are any. */
static const char *named_by_chance(const unsigned *sizes, const unsigned *serves)
{
	static const char *const names[NAMES] = {"a", "b", "c", "d", "e", "f"};
	static char text[TEXT_MAX];
	unsigned pools[NAMES], services[NAMES], order[GROUPS] = {0, 1, 2, 3};
	char *out = text;

	for (unsigned i = 0; i < NAMES; i++)
		pools[i] = services[i] = i;
	shuffle(pools, NAMES);
	shuffle(services, NAMES);
	shuffle(order, GROUPS);
	for (unsigned i = 0; i < GROUPS; i++) {
		unsigned group = order[i];

		out += sprintf(out, "- {name: %s, table_size: %u, check: {port: 80}, backends: [",
			       names[pools[group]], sizes[group]);
		for (unsigned m = 0; m < 3; m++)
			out += sprintf(out, "%s{name: b%u, address: @%c%u}", m ? ", " : "", m,
				       "vxyz"[group], 5 + m);
		out += sprintf(out, "]}\n");
	}
	out += sprintf(out, "services:\n");
	shuffle(order, GROUPS);
	for (unsigned i = 0; i < GROUPS; i++)
		out += sprintf(out, "- {name: %s, vips: [@v%u], listen: [tcp/80], pool: %s}\n",
			       names[services[order[i]]], 1 + order[i],
			       names[pools[serves[order[i]]]]);
	return text;
}

/* Names go everywhere, by reloads and starts; now and then VIPs change their pools as well, once
 * all has settled: of two such changes at a time tables remember one (flips.c). */
static void test_any_names(void **state)
{
	unsigned sizes[GROUPS] = {251, 509, 251, 251}, serves[GROUPS] = {0, 1, 2, 3};

	(void)state;
	is_six = false;
	first_port = last_port = 1000;
	reloading_begin(file(named_by_chance(sizes, serves)));
	open_flows();
	for (int round = 0; round < ROUNDS; round++) {
		bool restarts = below(3) == 0, moves = round % 10 == 9;
		uint32_t moved = moving();

		if (moves)
			shuffle(serves, GROUPS);
		change_to(file(named_by_chance(sizes, serves)), restarts);
		if (!moves)
			assert_int_equal(moving(), moved);
		new_ones_are_right();
		if (!moves)
			continue;
		/* Names change once more while old tables are in use. */
		change_to(file(named_by_chance(sizes, serves)), below(2));
		settle();
		open_flows();
	}
}

/* --- what is said in the manual --- */

/* An address that joins a service which goes on with others has the other pool's old table or
 * none: one old table is all that a service has. */
static void test_joining_is_a_move(void **state)
{
	unsigned cut = 0;

	(void)state;
	is_six = false;
	first_port = last_port = 1000;
	reloading_begin(file(POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v1, @v2", "a")
				     SERVICE("t", "@v3, @v4", "b")));
	open_flows();
	reloading_reload(file(POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v1", "a")
				      SERVICE("t", "@v3, @v4, @v2", "b")));
	for (size_t i = 0; i < listen_count; i++) {
		for (unsigned f = 0; f < FLOWS; f++) {
			struct addr now = run_segment(&listens[i], f, FRAME_ACK);
			bool stays = addr_equal(&now, &listens[i].backends[f]);

			cut += !stays;
			assert_true(stays || i == 1);
		}
	}
	assert_int_equal(cut, FLOWS);
}

/* What is counted by names: with a new one it goes on, with one that another had it begins anew. */
static void test_counts(void **state)
{
	(void)state;
	is_six = false;
	reloading_begin(file(POOL("a", X) POOL("b", Y) SERVICES SERVICE("s", "@v1", "a")
				     SERVICE("t", "@v2", "b")));
	reloading_reload(file(POOL("c", X) POOL("b", Y) SERVICES SERVICE("s", "@v1", "c")
				      SERVICE("t", "@v2", "b")));
	assert_int_equal(reloading.fresh, 0);
	reloading_reload(file(POOL("b", X) POOL("c", Y) SERVICES SERVICE("s", "@v1", "b")
				      SERVICE("t", "@v2", "c")));
	assert_int_equal(reloading.fresh, 6);
	reloading_restart(file(POOL("c", X) POOL("b", Y) SERVICES SERVICE("t", "@v1", "c")
				       SERVICE("s", "@v2", "b")));
	assert_int_equal(reloading.fresh, 6 + 2);
}

/* A pool that is merely edited is not taken for another that looks more like it. */
static void test_edit_is_no_swap(void **state)
{
	uint32_t record;

	(void)state;
	is_six = false;
	reloading_begin(file(POOL("a", X) POOL("b", OF3(x3, y1, y2))
				     SERVICES SERVICE("s", "@v1", "a") SERVICE("t", "@v2", "b")));
	record = balancer_backend_record(reloading.balancer, 0, 2);
	reloading_reload(file(POOL("a", OF3(x3, y1, y3)) POOL("b", OF3(x3, y1, y2))
				      POOL("c", OF3(x1, x2, z1)) SERVICES SERVICE("s", "@v1", "a")
					      SERVICE("t", "@v2", "b") SERVICE("u", "@v3", "c")));
	assert_int_equal(balancer_backend_record(reloading.balancer, 0, 0), record);
	assert_true(balancer_pool_stays(reloading.balancer, 1));
	/* Two of a's, which is there still: they have been removed from it. */
	assert_int_equal(reloading.fresh, 2 + 3 + 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, reloading_set_up, reloading_tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_reload), TEST(test_restart),           TEST(test_any_names),
		TEST(test_counts), TEST(test_joining_is_a_move), TEST(test_edit_is_no_swap),
	};

	return cmocka_run_group_tests_name("swap", tests, NULL, NULL);
}
