/* SPDX-License-Identifier: BSD-2-Clause */
/* Next hops against the real kernel: the two namespaces of tests/lib/kernel/pairs.h. */
#include "net/nexthop.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <net/if.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/kernel/pairs.h"
#include "../lib/loop.h"
#include "net/rtnl.h"

static uv_loop_t loop;
static struct nexthops *nexthops;

static int set_up(void **state)
{
	(void)state;
	pairs_add(0);
	pairs_add(2);
	pairs_run("ip addr add fd00::1/64 dev v0 nodad");
	pairs_run("PEER ip addr add fd00::2/64 dev v1 nodad");
	uv_loop_init(&loop);
	nexthops = NULL;
	return nexthops_open(&loop, &nexthops, NULL);
}

static void close_nexthops(void)
{
	if (nexthops)
		nexthops_close(nexthops);
	nexthops = NULL;
	uv_run(&loop, UV_RUN_DEFAULT);
}

static int tear_down(void **state)
{
	(void)state;
	close_nexthops();
	assert_int_equal(uv_loop_close(&loop), 0);
	pairs_run("ip link del v0; ip link del v2; ip route flush table main type unreachable");
	return 0;
}

/* What one watch was told. */
struct seen {
	struct nexthop_watch *watch;
	struct nexthop last;
	unsigned calls, losses; /* losses: from resolved to not */
	bool unwatch;           /* at the first call */
	const char *why;        /* waited for by has_why */
	int mac;                /* waited for by has_mac */
	uint32_t mtu;           /* waited for by has_mtu */
	bool stacked;           /* waited for by has_stacked */
};

static void on_changed(void *arg, const struct nexthop *nexthop)
{
	struct seen *seen = arg;

	seen->calls++;
	seen->losses += seen->last.resolved && !nexthop->resolved;
	seen->last = *nexthop;
	if (seen->unwatch)
		nexthops_unwatch(seen->watch);
}

static struct addr addr_of(const char *text)
{
	struct addr addr;

	assert_int_equal(addr_parse(text, &addr), 0);
	return addr;
}

static void watch(struct seen *seen, const char *text)
{
	struct addr addr = addr_of(text);

	assert_int_equal(nexthops_watch(nexthops, &addr, on_changed, seen, &seen->watch), 0);
}

static bool has_mac(void *arg)
{
	struct seen *seen = arg;
	uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)seen->mac};

	return seen->last.resolved && memcmp(seen->last.dst_mac, mac, sizeof(mac)) == 0;
}

static bool has_why(void *arg)
{
	struct seen *seen = arg;

	return seen->calls && !seen->last.resolved && strstr(seen->last.why, seen->why);
}

static bool has_mtu(void *arg)
{
	struct seen *seen = arg;

	return seen->last.mtu == seen->mtu;
}

static bool has_stacked(void *arg)
{
	struct seen *seen = arg;

	return seen->last.resolved && seen->last.stacked == seen->stacked;
}

static void wait_mac(struct seen *seen, int mac)
{
	seen->mac = mac;
	if (!loop_until(&loop, has_mac, seen))
		fail_msg("MAC is ..:%02x, resolved %d, why '%s'", seen->last.dst_mac[5],
			 seen->last.resolved, seen->last.why);
}

static void wait_why(struct seen *seen, const char *why)
{
	seen->why = why;
	if (!loop_until(&loop, has_why, seen))
		fail_msg("resolved %d, why '%s', expected '%s'", seen->last.resolved,
			 seen->last.why, why);
}

static bool is_waiting(void *arg)
{
	return strstr(nexthop_now(((struct seen *)arg)->watch)->why, "waiting for");
}

/* While a neighbour has never answered nor failed nobody is told: what he has may still hold. */
static void wait_waiting(struct seen *seen)
{
	assert_true(loop_until(&loop, is_waiting, seen));
	assert_int_equal(seen->calls, 0);
}

static void assert_source(const struct seen *seen, const char *text)
{
	struct addr addr = addr_of(text);

	assert_true(addr_equal(&seen->last.source, &addr));
}

static void test_direct(void **state)
{
	struct seen seen = {0};

	(void)state;
	watch(&seen, "10.0.0.2");
	assert_false(nexthop_now(seen.watch)->resolved);
	wait_mac(&seen, 1);
	assert_int_equal(seen.last.ifindex, if_nametoindex("v0"));
	assert_int_equal(seen.last.mtu, 1500);
	assert_int_equal(seen.last.src_mac[5], 0);
	assert_int_equal(seen.last.src_mac[0], 2);
	assert_source(&seen, "10.0.0.1");
	assert_string_equal(seen.last.why, "");
	assert_true(seen.last.on_link);
	assert_true(nexthop_now(seen.watch)->resolved);
	assert_true(pairs_neighbour("v0", "10.0.0.2").managed);
}

static void test_gateway(void **state)
{
	struct seen seen = {0};

	(void)state;
	pairs_run("ip route add 192.0.2.0/24 via 10.0.1.2 mtu 1400 src 10.0.0.1");
	watch(&seen, "192.0.2.7");
	wait_mac(&seen, 3);
	assert_int_equal(seen.last.ifindex, if_nametoindex("v2"));
	assert_int_equal(seen.last.mtu, 1400);
	assert_false(seen.last.on_link);
	assert_source(&seen, "10.0.0.1");
	pairs_run("ip route replace 192.0.2.0/24 via 10.0.1.2 mtu 9000");
	seen.mtu = 1500; /* no route makes an interface larger */
	assert_true(loop_until(&loop, has_mtu, &seen));
	pairs_run("ip link set v2 mtu 1300");
	seen.mtu = 1300;
	assert_true(loop_until(&loop, has_mtu, &seen));
}

static void test_ip6(void **state)
{
	struct seen direct = {0}, routed = {0}, mixed = {0};

	(void)state;
	pairs_run("ip -6 route add 2001:db8::/32 via fd00::2 mtu 1280");
	pairs_run("ip route add 198.51.100.0/24 via inet6 fd00::2 dev v0");
	watch(&direct, "fd00::2");
	watch(&routed, "2001:db8::5");
	watch(&mixed, "198.51.100.9");
	wait_mac(&direct, 1);
	wait_mac(&routed, 1);
	wait_mac(&mixed, 1);
	assert_true(direct.last.on_link);
	assert_false(mixed.last.on_link);
	assert_int_equal(direct.last.mtu, 1500);
	assert_int_equal(routed.last.mtu, 1280);
	assert_source(&direct, "fd00::1");
	assert_source(&mixed, "10.0.0.1");
	assert_true(pairs_neighbour("v0", "fd00::2").managed);
}

static void test_mac_changed(void **state)
{
	struct seen ip4 = {0}, ip6 = {0};

	(void)state;
	pairs_run("ip route add 192.0.2.0/24 via 10.0.0.2");
	watch(&ip4, "192.0.2.1");
	watch(&ip6, "fd00::2");
	wait_mac(&ip4, 1);
	wait_mac(&ip6, 1);
	pairs_run("PEER ip link set v1 address 02:00:00:00:00:77");
	pairs_send_from_peer("10.0.0.1");
	pairs_send_from_peer("fd00::1");
	wait_mac(&ip4, 0x77);
	wait_mac(&ip6, 0x77);
	assert_int_equal(ip4.losses + ip6.losses, 0);
}

static bool is_managed_again(void *arg)
{
	struct rtnl_neigh found = pairs_neighbour("v0", arg);

	return found.managed && found.state & NUD_REACHABLE;
}

static void test_flush(void **state)
{
	struct seen ip4 = {0}, ip6 = {0};

	(void)state;
	watch(&ip4, "10.0.0.2");
	watch(&ip6, "fd00::2");
	wait_mac(&ip4, 1);
	wait_mac(&ip6, 1);
	for (int i = 0; i < 3; i++) {
		pairs_run("ip neigh flush dev v0");
		assert_true(loop_until(&loop, is_managed_again, (void *)"10.0.0.2"));
		assert_true(loop_until(&loop, is_managed_again, (void *)"fd00::2"));
	}
	/* The MAC that we knew went on being reported. */
	assert_int_equal(ip4.losses + ip6.losses, 0);
}

static void test_flush_and_new_mac(void **state)
{
	struct seen seen = {0};

	(void)state;
	watch(&seen, "10.0.0.2");
	wait_mac(&seen, 1);
	pairs_run("PEER ip link set v1 address 02:00:00:00:00:78");
	pairs_run("ip neigh flush dev v0");
	wait_mac(&seen, 0x78);
	assert_int_equal(seen.losses, 0);
}

static void test_bounce(void **state)
{
	struct seen direct = {0}, routed = {0}, ip6 = {0};

	(void)state;
	pairs_run("ip route add 192.0.2.0/24 via 10.0.0.2");
	pairs_run("ip route add 192.0.0.0/16 via 10.0.1.2");
	watch(&direct, "10.0.0.2");
	watch(&routed, "192.0.2.1");
	watch(&ip6, "fd00::2");
	wait_mac(&direct, 1);
	wait_mac(&routed, 1);
	wait_mac(&ip6, 1);
	pairs_run("ip link set v0 down");
	wait_why(&direct, "no route to 10.0.0.2");
	wait_mac(&routed, 3); /* the wider route takes over */
	wait_why(&ip6, "no route to fd00::2");
	pairs_run("ip link set v0 up && ip addr add fd00::1/64 dev v0 nodad");
	pairs_run("ip route add 192.0.2.0/24 via 10.0.0.2");
	wait_mac(&direct, 1);
	wait_mac(&routed, 1);
	wait_mac(&ip6, 1);
	pairs_run("PEER ip link set v1 down");
	wait_why(&direct, "v0 has no carrier");
	pairs_run("PEER sh -c 'ip link set v1 up && ip addr add fd00::2/64 dev v1 nodad'");
	wait_mac(&direct, 1);
	wait_mac(&routed, 1);
	wait_mac(&ip6, 1);
	assert_true(loop_until(&loop, is_managed_again, (void *)"10.0.0.2"));
}

static void test_other_gateway(void **state)
{
	struct seen seen = {0};

	(void)state;
	pairs_run("ip route add 192.0.2.0/24 via 10.0.0.2");
	watch(&seen, "192.0.2.1");
	wait_mac(&seen, 1);
	pairs_run("ip route replace 192.0.2.0/24 via 10.0.1.2");
	wait_mac(&seen, 3);
	assert_source(&seen, "10.0.1.1");
	/* The gateway that nobody needs any more is given back. */
	assert_false(pairs_neighbour("v0", "10.0.0.2").managed);
	pairs_run("ip route add 192.0.2.1/32 via 10.0.0.2");
	wait_mac(&seen, 1);
	pairs_run("ip rule add to 192.0.2.1 lookup 100");
	pairs_run("ip route add default via 10.0.1.2 table 100");
	wait_mac(&seen, 3);
	pairs_run("ip rule del to 192.0.2.1 lookup 100");
	wait_mac(&seen, 1);
}

static void test_no_route(void **state)
{
	struct seen seen = {0}, seen6 = {0};

	(void)state;
	watch(&seen, "203.0.113.5");
	watch(&seen6, "2001:db8::1");
	wait_why(&seen, "no route to 203.0.113.5");
	wait_why(&seen6, "no route to 2001:db8::1");
	pairs_run("ip route add 203.0.113.0/24 via 10.0.0.2");
	pairs_run("ip -6 route add default via fd00::2");
	wait_mac(&seen, 1);
	wait_mac(&seen6, 1);
	pairs_run("ip route add unreachable 203.0.113.5");
	pairs_run("ip -6 route add unreachable 2001:db8::1");
	wait_why(&seen, "no route to 203.0.113.5");
	wait_why(&seen6, "no route to 2001:db8::1");
	pairs_run("ip -6 route del unreachable 2001:db8::1");
	wait_mac(&seen6, 1);
}

static void test_silent(void **state)
{
	struct seen ip4 = {0}, ip6 = {0};

	(void)state;
	watch(&ip4, "10.0.0.9");
	watch(&ip6, "fd00::9");
	wait_waiting(&ip4);
	assert_string_equal(nexthop_now(ip4.watch)->why, "waiting for 10.0.0.9 on v0 to answer");
	wait_why(&ip4, "10.0.0.9 on v0 does not answer");
	wait_why(&ip6, "fd00::9 on v0 does not answer");
	pairs_run("PEER ip addr add 10.0.0.9/24 dev v1");
	pairs_run("PEER ip addr add fd00::9/64 dev v1 nodad");
	wait_mac(&ip4, 1);
	wait_mac(&ip6, 1);
}

/* A neighbour that answered, and goes: only the kernel's verdict makes it unresolved. */
static void test_lost(void **state)
{
	struct seen seen = {0};

	(void)state;
	watch(&seen, "10.0.0.2");
	wait_mac(&seen, 1);
	pairs_run("PEER ip addr del 10.0.0.2/24 dev v1");
	pairs_run("ip neigh change 10.0.0.2 dev v0 lladdr 02:00:00:00:00:01 nud probe");
	wait_why(&seen, "10.0.0.2 on v0 does not answer");
	pairs_run("PEER ip addr add 10.0.0.2/24 dev v1");
	wait_mac(&seen, 1);
	assert_int_equal(seen.losses, 1);
}

static void test_no_neighbours(void **state)
{
	struct seen own = {0}, loopback = {0}, broadcast = {0}, silent = {0};

	(void)state;
	pairs_run("ip link set v2 arp off");
	watch(&own, "10.0.0.1");
	watch(&loopback, "127.0.0.9");
	watch(&broadcast, "10.0.0.255");
	watch(&silent, "10.0.1.2");
	wait_why(&own, "10.0.0.1 is an address of this host");
	wait_why(&loopback, "127.0.0.9 is an address of this host");
	wait_why(&broadcast, "not to a single host");
	wait_why(&silent, "v2 has no neighbours to resolve");
	pairs_run("ip link set v2 arp on");
	wait_mac(&silent, 3);
	pairs_run("ip addr del 10.0.0.1/24 dev v0");
	wait_why(&own, "no route to 10.0.0.1");
}

/* What XDP in a driver cannot send by is known as such, by the event too. */
static void test_stacked(void **state)
{
	struct seen seen = {0};

	(void)state;
	watch(&seen, "10.0.1.2");
	wait_mac(&seen, 3);
	assert_false(seen.last.stacked);
	pairs_run("ip link add name b9 type bridge; ip link set v2 master b9; ip link set b9 up;"
		  "ip addr del 10.0.1.1/24 dev v2; ip addr add 10.0.1.1/24 dev b9");
	seen.stacked = true;
	assert_true(loop_until(&loop, has_stacked, &seen));
	assert_int_equal(seen.last.ifindex, if_nametoindex("b9"));
	pairs_run("ip link del b9; ip addr add 10.0.1.1/24 dev v2");
	seen.stacked = false;
	assert_true(loop_until(&loop, has_stacked, &seen));
	assert_int_equal(seen.last.ifindex, if_nametoindex("v2"));
}

static void test_interface_removed(void **state)
{
	struct seen seen = {0};

	(void)state;
	watch(&seen, "10.0.1.2");
	wait_mac(&seen, 3);
	pairs_run("ip link del v2");
	wait_why(&seen, "no route to 10.0.1.2");
	pairs_add(2);
	wait_mac(&seen, 3);
	assert_int_equal(seen.last.ifindex, if_nametoindex("v2"));
}

static void test_shared(void **state)
{
	struct seen first = {0}, second = {.unwatch = true}, third = {0};

	(void)state;
	watch(&first, "10.0.0.2");
	watch(&second, "10.0.0.2");
	wait_mac(&first, 1);
	assert_int_equal(second.calls, 1);
	watch(&third, "10.0.0.2");
	wait_mac(&third, 1);
	assert_int_equal(third.calls, 1); /* known at once */
	nexthops_unwatch(first.watch);
	pairs_run("PEER ip link set v1 address 02:00:00:00:00:79");
	pairs_send_from_peer("10.0.0.1");
	wait_mac(&third, 0x79);
	assert_int_equal(first.last.dst_mac[5], 1);
	nexthops_unwatch(third.watch);
	assert_false(pairs_neighbour("v0", "10.0.0.2").managed);
}

/* All that watch through one gateway hear of it, however many they are. */
static void test_many(void **state)
{
	enum { MANY = 3000 };
	struct seen *seen = calloc(MANY, sizeof(*seen));

	(void)state;
	pairs_run("ip route add 172.16.0.0/12 via 10.0.0.2");
	for (int i = 0; i < MANY; i++) {
		char text[ADDR_TEXT_MAX];

		snprintf(text, sizeof(text), "172.16.%d.%d", i / 256, i % 256);
		watch(&seen[i], text);
	}
	for (int i = 0; i < MANY; i++)
		wait_mac(&seen[i], 1);
	pairs_run("PEER ip link set v1 address 02:00:00:00:00:7a");
	pairs_send_from_peer("10.0.0.1");
	for (int i = 0; i < MANY; i++)
		wait_mac(&seen[i], 0x7a);
	pairs_run("ip route replace 172.16.0.0/12 via 10.0.1.2");
	for (int i = 0; i < MANY; i++)
		wait_mac(&seen[i], 3);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(seen[i].losses, 0);
	close_nexthops();
	free(seen);
}

/* Drops that the kernel counts for this process's netlink sockets. */
static unsigned long drops(void)
{
	FILE *file = fopen("/proc/self/net/netlink", "r");
	char line[256];
	unsigned long sum = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		unsigned long dropped;

		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %*s %lu", &dropped) == 1)
			sum += dropped;
	}
	fclose(file);
	return sum;
}

/* While the loop stands still more happens than the socket holds. */
static void test_overrun(void **state)
{
	struct seen routed = {0}, direct = {0};

	(void)state;
	pairs_run("ip route add 192.0.2.0/24 via 10.0.0.2");
	watch(&routed, "192.0.2.1");
	watch(&direct, "10.0.0.2");
	wait_mac(&routed, 1);
	wait_mac(&direct, 1);
	for (int i = 0; i < 20 && drops() == 0; i++) {
		pairs_run("seq 1 250 | while read -r n; do for m in 1 2 3 4 5 6 7 8; do "
			  "echo route add 172.20.$n.$m via 10.0.0.2; done; done | ip -batch -");
		pairs_run("ip route flush via 10.0.0.2 root 172.20.0.0/16");
	}
	assert_true(drops() > 0);
	/* These are lost for certain: the socket has no room. */
	pairs_run("ip route replace 192.0.2.0/24 via 10.0.1.2");
	pairs_run("PEER ip link set v1 address 02:00:00:00:00:7b");
	pairs_send_from_peer("10.0.0.1");
	wait_mac(&routed, 3);
	wait_mac(&direct, 0x7b);
	/* And the socket is listened to again. */
	pairs_run("ip route replace 192.0.2.0/24 via 10.0.0.2");
	wait_mac(&routed, 0x7b);
}

static void test_close_gives_back(void **state)
{
	struct seen seen[4] = {0};

	(void)state;
	pairs_run("PEER ip addr add 10.0.0.3/24 dev v1");
	pairs_run("ip neigh add 10.0.0.3 dev v0 managed");
	pairs_run("ip neigh add 10.0.0.4 dev v0 lladdr 02:00:00:00:00:44 nud permanent");
	watch(&seen[0], "10.0.0.2");
	watch(&seen[1], "10.0.0.3");
	watch(&seen[2], "10.0.0.4");
	watch(&seen[3], "10.0.0.5");
	wait_mac(&seen[0], 1);
	wait_mac(&seen[1], 1);
	wait_mac(&seen[2], 0x44);
	wait_waiting(&seen[3]);
	close_nexthops();
	assert_false(pairs_neighbour("v0", "10.0.0.2").managed);
	assert_true(pairs_neighbour("v0", "10.0.0.2").has_mac); /* others may go on using it */
	assert_true(pairs_neighbour("v0", "10.0.0.3").managed); /* somebody else's */
	assert_int_equal(pairs_neighbour("v0", "10.0.0.4").state, NUD_PERMANENT);
	assert_int_equal(pairs_neighbour("v0", "10.0.0.5").state, 0);
}

/* What a run that was killed left behind is taken over, and given back. */
static void test_adopts(void **state)
{
	struct rtnl_neigh left = {.ifindex = if_nametoindex("v0"), .addr = addr_of("10.0.0.2")};
	struct seen seen = {0};
	struct rtnl rtnl;

	(void)state;
	assert_int_equal(rtnl_open(&rtnl), 0);
	assert_int_equal(rtnl_neigh_ask(&rtnl, &left, RTNL_ASK_MANAGED), 0);
	rtnl_close(&rtnl);
	watch(&seen, "10.0.0.2");
	wait_mac(&seen, 1);
	close_nexthops();
	assert_false(pairs_neighbour("v0", "10.0.0.2").managed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_direct, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gateway, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ip6, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_mac_changed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_flush, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_flush_and_new_mac, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bounce, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_gateway, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_route, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_silent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lost, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_neighbours, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stacked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_interface_removed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_shared, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_overrun, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_close_gives_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_adopts, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, pairs_open, pairs_close);
}
