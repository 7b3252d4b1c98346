/* SPDX-License-Identifier: BSD-2-Clause */
/* host/host.h in a network namespace of its own: the real kernel's addresses and sysctls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/host.h"

static struct addr parse(const char *text)
{
	struct addr addr;

	assert_int_equal(addr_parse(text, &addr), 0);
	return addr;
}

/* How often the address stands on the interface. */
static int count_on(const char *text, uint32_t ifindex)
{
	struct addr addr = parse(text);
	struct host_address *list;
	int found = 0;
	size_t count;
	struct err err;

	assert_int_equal(host_addresses(&list, &count, &err), 0);
	for (size_t i = 0; i < count; i++)
		found += addr_equal(&list[i].addr, &addr) && list[i].ifindex == ifindex;
	free(list);
	return found;
}

static void test_addresses_come_and_go(void **state)
{
	static const char *const texts[] = {"198.51.100.10", "2001:db8:10::10", "203.0.113.255"};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct addr addr = parse(texts[i]);

		assert_int_equal(count_on(texts[i], 1), 0);
		assert_int_equal(host_loopback_add(&addr, &err), 0);
		assert_int_equal(count_on(texts[i], 1), 1);
		assert_int_equal(host_loopback_add(&addr, &err), -EEXIST);
		assert_int_equal(host_loopback_remove(&addr, &err), 0);
		assert_int_equal(count_on(texts[i], 1), 0);
		assert_int_equal(host_loopback_remove(&addr, &err), -EADDRNOTAVAIL);
		assert_non_null(strstr(err.text, texts[i]));
	}
}

static void test_addresses_of_other_interfaces_are_told_apart(void **state)
{
	struct addr addr = parse("192.0.2.7");
	struct err err;

	(void)state;
	assert_int_equal(system("ip addr add 192.0.2.7/24 dev v0"), 0);
	assert_int_equal(count_on("192.0.2.7", if_nametoindex("v0")), 1);
	assert_int_equal(count_on("192.0.2.7", 1), 0);
	assert_int_equal(host_loopback_add(&addr, &err), 0);
	assert_int_equal(count_on("192.0.2.7", 1), 1);
	assert_int_equal(host_loopback_remove(&addr, &err), 0);
	assert_int_equal(count_on("192.0.2.7", if_nametoindex("v0")), 1);
}

/* Where the kernel has VLAN devices; else that nothing else is taken for one. */
static void test_below_a_vlan(void **state)
{
	char below[IF_NAMESIZE] = "as it was";

	(void)state;
	assert_int_equal(host_interface_below("lo", below), -ENOENT);
	assert_int_equal(host_interface_below("v0", below), -ENOENT);
	assert_int_equal(host_interface_below("nowhere0", below), -ENOENT);
	assert_string_equal(below, "as it was");
	if (system("ip link add link v0 name v0.7 type vlan id 7 2>/dev/null") != 0)
		return;
	assert_int_equal(host_interface_below("v0.7", below), 0);
	assert_string_equal(below, "v0");
	assert_int_equal(system("ip link del v0.7"), 0);
}

static void test_many_addresses_are_listed(void **state)
{
	struct err err;
	char text[32];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "10.%d.%d.1", i / 250, i % 250);
		struct addr addr = parse(text);

		assert_int_equal(host_loopback_add(&addr, &err), 0);
	}
	assert_int_equal(count_on("10.0.0.1", 1), 1);
	assert_int_equal(count_on("10.3.249.1", 1), 1);
}

static bool has_route(const struct prefix *prefix)
{
	struct err err;
	bool there;

	assert_int_equal(host_local_route_exists(prefix, &there, &err), 0);
	return there;
}

static void test_local_routes_come_and_go(void **state)
{
	static const char *const texts[] = {"198.51.100.64/26", "198.51.100.64/27",
					    "2001:db8:20::/48", "2001:db8:20::/64", "0.0.0.0/0"};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct prefix prefix;

		assert_int_equal(prefix_parse(texts[i], &prefix), 0);
		assert_false(has_route(&prefix));
		assert_int_equal(host_local_route_add(&prefix, &err), 0);
		assert_true(has_route(&prefix));
		assert_int_equal(host_local_route_add(&prefix, &err), -EEXIST);
		assert_int_equal(host_local_route_remove(&prefix, &err), 0);
		assert_false(has_route(&prefix));
		assert_int_equal(host_local_route_remove(&prefix, &err), -ESRCH);
		assert_non_null(strstr(err.text, texts[i]));
	}
}

static void test_sysctls_read_back_and_refuse(void **state)
{
	struct err err;
	int value;

	(void)state;
	assert_int_equal(host_sysctl_write("net/ipv4/conf/v0/arp_announce", 1, &err), 0);
	assert_int_equal(host_sysctl_read("net/ipv4/conf/v0/arp_announce", &value, &err), 0);
	assert_int_equal(value, 1);
	assert_int_equal(host_sysctl_write("net/ipv4/conf/v0/arp_announce", 0, &err), 0);
	assert_int_equal(host_sysctl_read("net/ipv4/conf/nope/arp_ignore", &value, &err), -ENOENT);
	assert_non_null(strstr(err.text, "nope"));
	assert_int_equal(host_sysctl_read("kernel/ostype", &value, &err), -EINVAL);
}

static void put(const char *where, const char *key, int value)
{
	char name[HOST_SYSCTL_NAME_MAX];
	struct err err;

	snprintf(name, sizeof(name), "net/ipv4/conf/%s/%s", where, key);
	assert_int_equal(host_sysctl_write(name, value, &err), 0);
}

static void test_needed_sysctls_follow_the_effective_value(void **state)
{
	/* The host's settings, and what must change: a value, or -1 for nothing. */
	static const struct {
		int ignore, announce, filter_all, filter_own;
		int want_ignore, want_announce, want_filter;
	} cases[] = {
		{0, 0, 0, 0, 1, 2, -1},  {0, 0, 0, 1, 1, 2, 2},    {0, 0, 1, 0, 1, 2, 2},
		{0, 0, 1, 1, 1, 2, 2},   {0, 0, 1, 2, 1, 2, -1},   {0, 0, 2, 1, 1, 2, -1},
		{1, 1, 2, 2, -1, 2, -1}, {2, 2, 0, 0, -1, -1, -1}, {8, 0, 0, 0, -1, 2, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int ignore = -1, announce = -1, filter = -1;
		struct host_sysctl needed[HOST_SYSCTLS_MAX];
		struct err err;
		size_t count;

		put("all", "arp_ignore", cases[i].ignore);
		put("all", "arp_announce", cases[i].announce);
		put("all", "rp_filter", cases[i].filter_all);
		put("v0", "rp_filter", cases[i].filter_own);
		assert_int_equal(host_sysctls_needed("v0", needed, &count, &err), 0);
		for (size_t j = 0; j < count; j++) {
			if (strcmp(needed[j].name, "net/ipv4/conf/all/arp_ignore") == 0)
				ignore = needed[j].value;
			else if (strcmp(needed[j].name, "net/ipv4/conf/all/arp_announce") == 0)
				announce = needed[j].value;
			else if (strcmp(needed[j].name, "net/ipv4/conf/v0/rp_filter") == 0)
				filter = needed[j].value;
			else
				fail_msg("unexpected: %s", needed[j].name);
		}
		assert_int_equal(ignore, cases[i].want_ignore);
		assert_int_equal(announce, cases[i].want_announce);
		assert_int_equal(filter, cases[i].want_filter);
	}
}

static int set_up(void **state)
{
	(void)state;
	return unshare(CLONE_NEWNET) || system("ip link set lo up") ||
	       system("ip link add v0 type veth peer name v1");
}

/* In a directory of its own: a FIFO among the namespaces would make others wait. */
static void test_a_fifo_is_no_namespace(void **state)
{
	char directory[] = "/tmp/weir-host-XXXXXX", path[64], name[80];
	int32_t id = 7;
	struct err err;

	(void)state;
	mkdir("/run/netns", 0755);
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/fifo", directory);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(name, sizeof(name), "../..%s", path);
	assert_true(host_netns_id(name, &id, &err) < 0);
	assert_non_null(strstr(err.text, "it has no id"));
	assert_int_equal(id, 7);
	unlink(path);
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_come_and_go),
		cmocka_unit_test(test_addresses_of_other_interfaces_are_told_apart),
		cmocka_unit_test(test_below_a_vlan),
		cmocka_unit_test(test_many_addresses_are_listed),
		cmocka_unit_test(test_local_routes_come_and_go),
		cmocka_unit_test(test_a_fifo_is_no_namespace),
		cmocka_unit_test(test_sysctls_read_back_and_refuse),
		cmocka_unit_test(test_needed_sysctls_follow_the_effective_value),
	};

	if (geteuid() != 0) {
		puts("skipped: needs root for a network namespace");
		return 77;
	}
	return cmocka_run_group_tests(tests, set_up, NULL);
}
