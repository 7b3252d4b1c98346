/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables' writer: VIPs and their listens, as they come and go under running packets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>

#include "engine/native.h"

static struct native *native;
static struct dp_tables *tables;

static int set_up(void **state)
{
	(void)state;
	if (native_new(ABI_FLOWS_MIN, &native))
		return -1;
	tables = native_tables(native);
	tables->node->vip_secret = 7;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	native_free(native);
	return 0;
}

static uint64_t tcp(uint16_t port, uint32_t service)
{
	return abi_listen(port, port, IPPROTO_TCP, service);
}

static struct addr vip_of(uint32_t number)
{
	return addr_from4(htonl(0xc6330000 + number));
}

static int set(const uint64_t *listens, size_t count)
{
	struct addr vip = vip_of(1);

	return dp_tables_set_vip(tables, &vip, listens, count);
}

#define SET(...) \
	set((const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void expect(size_t at, uint64_t listen)
{
	struct addr vip = vip_of(1);
	const uint64_t *listens = dp_tables_vip(tables, &vip);

	assert_non_null(listens);
	assert_int_equal(listens[at], listen);
}

/* A packet may look at any moment, and stops at the first empty word. */
static void test_listens_stay(void **state)
{
	(void)state;
	assert_int_equal(SET(tcp(80, 1), tcp(443, 2)), 0);
	/* New ones in front in the file, and another service on a port that stays. */
	assert_int_equal(SET(tcp(22, 3), tcp(25, 3), tcp(80, 1), tcp(443, 4)), 0);
	expect(0, tcp(80, 1));
	expect(1, tcp(443, 4));
	expect(4, 0);
	/* The last one takes the place of one that is taken away. */
	assert_int_equal(SET(tcp(25, 3), tcp(22, 3), tcp(443, 4)), 0);
	expect(1, tcp(443, 4));
	expect(3, 0);
	assert_int_equal(SET(abi_listen(443, 443, IPPROTO_UDP, 4)), 0);
	expect(0, abi_listen(443, 443, IPPROTO_UDP, 4));
	expect(1, 0);
}

static void test_full(void **state)
{
	uint64_t listens[ABI_VIP_LISTENS + 1];
	struct addr vip = vip_of(1);

	(void)state;
	for (uint16_t i = 0; i <= ABI_VIP_LISTENS; i++)
		listens[i] = tcp(1000 + i, 1);
	assert_int_equal(dp_tables_set_vip(tables, &vip, listens, ABI_VIP_LISTENS + 1), -ENOSPC);
	assert_null(dp_tables_vip(tables, &vip));
	assert_int_equal(dp_tables_set_vip(tables, &vip, listens, ABI_VIP_LISTENS), 0);
	/* All others, without a word to spare. */
	for (uint16_t i = 0; i < ABI_VIP_LISTENS; i++)
		listens[i] = tcp(2000 + i, 1);
	assert_int_equal(dp_tables_set_vip(tables, &vip, listens, ABI_VIP_LISTENS), 0);
	for (size_t i = 0; i < ABI_VIP_LISTENS; i++)
		expect(i, listens[i]);
	assert_int_equal(dp_tables_set_vip(tables, &vip, NULL, 0), 0);
	assert_null(dp_tables_vip(tables, &vip));
}

/* When all are gone nothing is left that a search would have to pass. */
static void test_places_are_released(void **state)
{
	const uint64_t listen = tcp(80, 1);

	(void)state;
	for (uint32_t i = 0; i < ABI_VIPS_USED; i++) {
		struct addr vip = vip_of(i);

		assert_int_equal(dp_tables_set_vip(tables, &vip, &listen, 1), 0);
	}
	for (uint32_t i = 0; i < ABI_VIPS_USED; i++) {
		struct addr vip = vip_of(i);

		assert_int_equal(dp_tables_set_vip(tables, &vip, NULL, 0), 0);
	}
	for (uint32_t i = 0; i < ABI_VIPS; i++)
		assert_true(!(tables->vips[i].addr.half[0] | tables->vips[i].addr.half[1]));
}

/* However many addresses have come and gone, those that are there have their place. */
static void test_addresses_come_and_go(void **state)
{
	enum { STAY = ABI_VIPS_USED - 1, PASS = 4 * ABI_VIPS };
	const uint64_t listen = tcp(80, 1);

	(void)state;
	for (uint32_t i = 0; i < STAY + PASS; i++) {
		struct addr vip = vip_of(i);

		if (dp_tables_set_vip(tables, &vip, &listen, 1))
			fail_msg("no place for address %u", i);
		if (i >= STAY)
			assert_int_equal(dp_tables_set_vip(tables, &vip, NULL, 0), 0);
	}
	for (uint32_t i = 0; i < STAY; i++) {
		struct addr vip = vip_of(i);
		const uint64_t *listens = dp_tables_vip(tables, &vip);

		assert_non_null(listens);
		assert_int_equal(listens[0], listen);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_listens_stay),
		TEST(test_full),
		TEST(test_places_are_released),
		TEST(test_addresses_come_and_go),
	};

	return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
