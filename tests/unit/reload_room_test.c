/* SPDX-License-Identifier: BSD-2-Clause */
/* A configuration that cannot be brought in, for there is no memory or no room, leaves all tables
 * as they were, whatever it is that lacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/run/reloading.h"

enum { SIZE = 251, TEXT_MAX = 16 * 1024 };

#define NODE "node: {name: n, interfaces: [eth0]}\n"
#define THREE                                                                                  \
	"backends: [{name: b1, address: 10.0.0.1}, {name: b2, address: 10.0.0.2}, {name: b3, " \
	"address: 10.0.0.3}]"

/* All that packets read. */
struct image {
	struct abi_node node;
	struct abi_vip vips[ABI_VIPS + ABI_VIP_RANGES];
	struct abi_service services[ABI_SERVICES];
	struct abi_backend backends[ABI_BACKENDS];
	uint64_t slots[8 * SIZE];
	struct abi_server servers[ABI_SERVERS];
	struct dp_held prefixes[4096];
	size_t prefix_count;
};

static void take(struct image *image)
{
	struct dp_held *held;

	memset(image, 0, sizeof(*image));
	image->node = *reloading.tables->node;
	memcpy(image->vips, reloading.tables->vips, sizeof(image->vips));
	memcpy(image->services, reloading.tables->services, sizeof(image->services));
	memcpy(image->backends, reloading.tables->backends, sizeof(image->backends));
	memcpy(image->slots, reloading.tables->slots, sizeof(image->slots));
	memcpy(image->servers, reloading.tables->servers, sizeof(image->servers));
	assert_int_equal(
		dp_tables_hold(reloading.tables, 0, UINT32_MAX >> 1, &held, &image->prefix_count),
		0);
	assert_true(image->prefix_count <= 4096);
	for (size_t i = 0; i < image->prefix_count; i++) {
		memcpy(&image->prefixes[i].prefix, &held[i].prefix, sizeof(held[i].prefix));
		image->prefixes[i].value = held[i].value;
	}
	free(held);
	/* A place of a prefix that was never given out keeps whose it was to be. */
	for (uint32_t i = ABI_VIPS; i < ABI_VIPS + ABI_VIP_RANGES; i++) {
		if (!image->vips[i].listens[0])
			memset(&image->vips[i], 0, sizeof(image->vips[i]));
	}
}

static const char *rich(const char *vips, const char *deny, const char *balancers)
{
	static char text[TEXT_MAX];

	snprintf(text, sizeof(text),
		 "node: {name: n, interfaces: [eth0], decap: true, balancers: [%s]}\n"
		 "pools: [{name: web, table_size: 251, check: {port: 80}, " THREE "}]\n"
		 "services: [{name: shop, vips: [%s], listen: [tcp/80], pool: web, deny: "
		 "[%s]}]\n",
		 balancers, vips, deny);
	return text;
}

/* Whichever prefix there is no memory for, nothing has changed; with memory it goes on. */
static void test_no_memory(void **state)
{
	static struct image before, after;
	const char *wanted;
	struct err err;
	int tries = 0;

	(void)state;
	reloading_begin(rich("192.0.2.0/24, 192.0.2.1", "203.0.113.0/24", "100.64.0.0/24"));
	take(&before);
	wanted = rich("192.0.2.0/25, 198.18.0.0/16, 192.0.2.9", "203.0.113.0/25, 10.9.0.0/16",
		      "100.64.1.0/24, 100.64.2.0/24");
	for (;; tries++) {
		reloading.inserts_left = tries;
		if (!reloading_try(wanted, &err))
			break;
		take(&after);
		assert_memory_equal(&before, &after, sizeof(before));
	}
	assert_true(tries > 5);
	take(&after);
	assert_int_not_equal(before.prefix_count, after.prefix_count);
	reloading.inserts_left = -1;
	reloading_reload(rich("192.0.2.0/24, 192.0.2.1", "203.0.113.0/24", "100.64.0.0/24"));
}

static char *many_ranges(unsigned first, unsigned count)
{
	static char text[64 * 1024];
	size_t used = 0;

	used += (size_t)snprintf(text, sizeof(text),
				 NODE
				 "pools: [{name: web, table_size: 251, check: {port: 80}, " THREE
				 "}]\nservices: [{name: shop, listen: [tcp/80], pool: web, "
				 "vips: [");
	for (unsigned i = first; i < first + count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s10.%u.%u.%u/28",
					 i == first ? "" : ", ", 10 + (i >> 12), i >> 4 & 255,
					 (i & 15) * 16);
	snprintf(text + used, sizeof(text) - used, "]}]\n");
	return text;
}

/* Tables that have no room for the new beside the old: refused, whole, and in two steps it goes. */
static void test_no_room(void **state)
{
	static struct image before, after;
	struct err err;

	(void)state;
	reloading_begin(many_ranges(0, ABI_VIP_RANGES));
	take(&before);
	assert_int_equal(reloading_try(many_ranges(1, ABI_VIP_RANGES), &err), -ENOSPC);
	assert_non_null(strstr(err.text, "no room"));
	take(&after);
	assert_memory_equal(&before, &after, sizeof(before));
	reloading_reload(many_ranges(1, ABI_VIP_RANGES - 1));
	reloading_reload(many_ranges(1, ABI_VIP_RANGES));
}

/* The same of slots. */
static void test_no_slots(void **state)
{
	static const char file[] = NODE
		"seed: %s\n"
		"pools: [{name: a, table_size: 131071, check: {port: 80}, " THREE "},\n"
		"{name: b, table_size: 131071, check: {port: 80}, " THREE "},\n"
		"{name: c, table_size: 131071, check: {port: 80}, " THREE "},\n"
		"{name: d, table_size: 131071, check: {port: 80}, " THREE "},\n"
		"{name: e, table_size: 131071, check: {port: 80}, " THREE "},\n"
		"{name: f, table_size: 131071, check: {port: 80}, " THREE "},\n"
		"{name: g, table_size: 131071, check: {port: 80}, " THREE "},\n"
		"{name: h, table_size: 131071, check: {port: 80}, " THREE "},\n"
		"{name: i, table_size: 131071, check: {port: 80}, " THREE "}]\n"
		"services: [{name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: a}]\n";
	static struct image before, after;
	char text[TEXT_MAX];
	struct err err;

	(void)state;
	snprintf(text, sizeof(text), file, "one");
	reloading_begin(text);
	take(&before);
	snprintf(text, sizeof(text), file, "two");
	assert_int_equal(reloading_try(text, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "do not fit beside those in use"));
	take(&after);
	assert_memory_equal(&before, &after, sizeof(before));
	snprintf(text, sizeof(text), file, "one");
	reloading_reload(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_no_memory, reloading_set_up,
						reloading_tear_down),
		cmocka_unit_test_setup_teardown(test_no_room, reloading_set_up,
						reloading_tear_down),
		cmocka_unit_test_setup_teardown(test_no_slots, reloading_set_up,
						reloading_tear_down),
	};

	return cmocka_run_group_tests_name("reload_room", tests, NULL, NULL);
}
