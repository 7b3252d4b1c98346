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
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "../lib/frame/frame.h"
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

static uint64_t range(uint16_t first, uint16_t last, uint32_t service)
{
	return abi_listen(first, last, IPPROTO_TCP, service);
}

static uint64_t any(uint32_t service)
{
	return abi_listen(0, 65535, ABI_PROTO_ANY, service);
}

/* As a packet looks (choose/find.h), in a hand of its own. */
static uint32_t look(const uint64_t *words, uint8_t proto, uint16_t port)
{
	for (size_t i = 0; i < ABI_VIP_LISTENS; i++) {
		uint64_t word = __atomic_load_n(&words[i], __ATOMIC_ACQUIRE);
		uint8_t of = (uint8_t)(word >> 32);

		if (!word)
			return 0;
		if (of == 0xff ||
		    (of == proto && port >= (uint16_t)word && port <= (uint16_t)(word >> 16)))
			return (uint32_t)(word >> 40);
	}
	return 0;
}

static uint32_t serves(uint8_t proto, uint16_t port)
{
	struct addr vip = vip_of(1);
	const uint64_t *listens = dp_tables_vip(tables, &vip);

	assert_non_null(listens);
	return look(listens, proto, port);
}

/* A new service on ports that stay, ports that come and go. */
static void test_listens_change(void **state)
{
	(void)state;
	assert_int_equal(SET(tcp(80, 1), tcp(443, 2)), 0);
	assert_int_equal(serves(IPPROTO_TCP, 80), 1);
	assert_int_equal(serves(IPPROTO_TCP, 443), 2);
	assert_int_equal(SET(tcp(22, 3), tcp(25, 3), tcp(80, 1), tcp(443, 4)), 0);
	assert_int_equal(serves(IPPROTO_TCP, 22), 3);
	assert_int_equal(serves(IPPROTO_TCP, 80), 1);
	assert_int_equal(serves(IPPROTO_TCP, 443), 4);
	assert_int_equal(serves(IPPROTO_TCP, 81), 0);
	assert_int_equal(SET(tcp(25, 3), tcp(22, 3), tcp(443, 4)), 0);
	assert_int_equal(serves(IPPROTO_TCP, 80), 0);
	assert_int_equal(serves(IPPROTO_TCP, 443), 4);
	assert_int_equal(SET(abi_listen(443, 443, IPPROTO_UDP, 4)), 0);
	assert_int_equal(serves(IPPROTO_TCP, 443), 0);
	assert_int_equal(serves(IPPROTO_UDP, 443), 4);
}

/* However the file orders them, and in whatever order they come, the narrower decides. */
static void test_narrower_first(void **state)
{
	(void)state;
	assert_int_equal(SET(any(1), range(0, 65535, 2), range(1000, 1999, 3), range(1500, 1509, 4),
			     tcp(1505, 5)),
			 0);
	assert_int_equal(serves(IPPROTO_TCP, 1505), 5);
	assert_int_equal(serves(IPPROTO_TCP, 1500), 4);
	assert_int_equal(serves(IPPROTO_TCP, 1510), 3);
	assert_int_equal(serves(IPPROTO_TCP, 0), 2);
	assert_int_equal(serves(IPPROTO_UDP, 1505), 1);
	assert_int_equal(serves(IPPROTO_ESP, 0), 1);
	/* One more of each width, amid what is there. */
	assert_int_equal(SET(any(1), range(0, 65535, 2), range(1000, 1999, 3), range(1500, 1509, 4),
			     tcp(1505, 5), tcp(1506, 6), range(1400, 1599, 7)),
			 0);
	assert_int_equal(serves(IPPROTO_TCP, 1505), 5);
	assert_int_equal(serves(IPPROTO_TCP, 1506), 6);
	assert_int_equal(serves(IPPROTO_TCP, 1500), 4);
	assert_int_equal(serves(IPPROTO_TCP, 1400), 7);
	assert_int_equal(serves(IPPROTO_TCP, 1399), 3);
	assert_int_equal(SET(range(1000, 1999, 3)), 0);
	assert_int_equal(serves(IPPROTO_TCP, 1505), 3);
	assert_int_equal(serves(IPPROTO_UDP, 1505), 0);
}

/* --- beside a reader --- */

/* What the reader looks for: `always` is in every list, and nothing that is narrower over it. */
enum { ALWAYS = 7000, ALWAYS_SERVICE = 9, WIDE_PORT = 60000, WIDE_SERVICE = 10 };

static struct reader {
	pthread_t thread;
	bool stop;
	uint64_t searches; /* begun and ended, each adds one */
	uint64_t missed;
	uint64_t wrong;
} reader;

/* Slow amid a search, so that a writer gets far meanwhile. */
static uint32_t look_slowly(const uint64_t *words, uint8_t proto, uint16_t port, uint32_t slow)
{
	for (size_t i = 0; i < ABI_VIP_LISTENS; i++) {
		uint64_t word = __atomic_load_n(&words[i], __ATOMIC_ACQUIRE);

		if (look(&word, proto, port) || !word)
			return word ? (uint32_t)(word >> 40) : 0;
		for (uint32_t turns = 0; i == slow && turns < 200; turns++)
			sched_yield();
	}
	return 0;
}

static void *read_always(void *arg)
{
	const uint64_t *words = arg;

	for (uint32_t round = 0; !__atomic_load_n(&reader.stop, __ATOMIC_ACQUIRE); round++) {
		uint32_t always, wide;

		__atomic_add_fetch(&reader.searches, 1, __ATOMIC_SEQ_CST);
		always = look_slowly(words, IPPROTO_TCP, ALWAYS, round % 64);
		wide = look_slowly(words, IPPROTO_TCP, WIDE_PORT, round / 64 % 64);
		__atomic_add_fetch(&reader.searches, 1, __ATOMIC_SEQ_CST);
		reader.missed += !always || !wide;
		reader.wrong += (always && always != ALWAYS_SERVICE) ||
				(wide && wide != WIDE_SERVICE);
	}
	return NULL;
}

/* Odd: a search is under way. It, and none that begins later, is waited for. */
static void wait_reader(void *readers)
{
	uint64_t now = __atomic_load_n(&reader.searches, __ATOMIC_SEQ_CST);

	(void)readers;
	while (now % 2 && __atomic_load_n(&reader.searches, __ATOMIC_SEQ_CST) == now)
		sched_yield();
}

/* A list of any length with both in it; the rest comes and goes and is over no port of theirs. */
static size_t random_list(uint64_t *listens)
{
	size_t count = 0, wanted = frame_random() % (ABI_VIP_LISTENS - 1);

	listens[count++] = range(ALWAYS - 10, ALWAYS + 10, ALWAYS_SERVICE);
	for (size_t i = 0; i < wanted; i++) {
		uint16_t kind = frame_random() % 4, at = (uint16_t)(frame_random() % 100);

		if (kind == 0)
			listens[count++] = tcp(1000 + (uint16_t)i, 1 + at);
		else if (kind == 1)
			listens[count++] = range(2000 + 100 * (uint16_t)i,
						 2000 + 100 * (uint16_t)i + at, 1 + at);
		else if (kind == 2)
			listens[count++] =
				abi_listen((uint16_t)i, (uint16_t)(i + at), IPPROTO_UDP, 1 + at);
		else
			listens[count++] = range(100 * (uint16_t)i, 30000 + at, 1 + at);
	}
	listens[count++] = range(0, 65535, WIDE_SERVICE);
	return count;
}

/* The wide ones overlap what is always there, and stand behind it. */
static void test_beside_a_reader(void **state)
{
	enum { CHANGES = 20000 };
	uint64_t listens[ABI_VIP_LISTENS];
	struct addr vip = vip_of(1);
	size_t count = random_list(listens);

	(void)state;
	tables->wait_readers = wait_reader;
	memset(&reader, 0, sizeof(reader));
	assert_int_equal(dp_tables_set_vip(tables, &vip, listens, count), 0);
	assert_int_equal(pthread_create(&reader.thread, NULL, read_always,
					(void *)dp_tables_vip(tables, &vip)),
			 0);
	for (int i = 0; i < CHANGES; i++) {
		count = random_list(listens);
		assert_int_equal(dp_tables_set_vip(tables, &vip, listens, count), 0);
		for (size_t l = 0; l < count; l++) {
			uint64_t at = listens[l];
			uint32_t found = serves((uint8_t)(at >> 32), (uint16_t)at);

			/* Narrower ones may be over its first port. */
			assert_int_not_equal(found, 0);
		}
	}
	__atomic_store_n(&reader.stop, true, __ATOMIC_RELEASE);
	pthread_join(reader.thread, NULL);
	assert_true(reader.searches > 100);
	assert_int_equal(reader.missed, 0);
	assert_int_equal(reader.wrong, 0);
}

/* The words after any change serve as the list does, narrowest first: against a slow twin. */
static uint32_t twin(const uint64_t *listens, size_t count, uint8_t proto, uint16_t port)
{
	uint32_t best = UINT32_MAX, service = 0;

	for (size_t i = 0; i < count; i++) {
		uint8_t of = (uint8_t)(listens[i] >> 32);
		uint32_t first = (uint16_t)listens[i], last = (uint16_t)(listens[i] >> 16);
		uint32_t width = of == 0xff ? 1U << 20 : last - first;

		if ((of == 0xff || (of == proto && port >= first && port <= last)) &&
		    width < best) {
			best = width;
			service = (uint32_t)(listens[i] >> 40);
		}
	}
	return service;
}

static void test_against_a_twin(void **state)
{
	enum { CHANGES = 3000, WIDTHS = 8 };
	uint64_t listens[ABI_VIP_LISTENS];
	struct addr vip = vip_of(1);

	(void)state;
	for (int change = 0; change < CHANGES; change++) {
		size_t count = 1 + frame_random() % ABI_VIP_LISTENS;

		/* Widths that differ, so that one is the narrowest: a width a place, any order. */
		for (size_t i = 0; i < count; i++) {
			size_t place = frame_random() % (i + 1);
			uint16_t width = (uint16_t)(i * WIDTHS),
				 at = (uint16_t)(frame_random() % 60);

			listens[i] = listens[place];
			listens[place] =
				i == 13 ? any(14)
					: abi_listen(at, at + width,
						     frame_random() % 2 ? IPPROTO_TCP : IPPROTO_UDP,
						     1 + (uint32_t)i);
		}
		assert_int_equal(dp_tables_set_vip(tables, &vip, listens, count), 0);
		for (uint16_t port = 0; port < 180; port++) {
			uint8_t proto = port % 2 ? IPPROTO_TCP : IPPROTO_UDP;

			if (serves(proto, port) != twin(listens, count, proto, port))
				fail_msg("change %d, port %u: service %u, expected %u", change,
					 port, serves(proto, port),
					 twin(listens, count, proto, port));
		}
	}
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
	for (uint16_t i = 0; i < ABI_VIP_LISTENS; i++) {
		assert_int_equal(serves(IPPROTO_TCP, 1000 + i), 0);
		assert_int_equal(serves(IPPROTO_TCP, 2000 + i), 1);
	}
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
		TEST(test_listens_change),
		TEST(test_narrower_first),
		TEST(test_against_a_twin),
		TEST(test_beside_a_reader),
		TEST(test_full),
		TEST(test_places_are_released),
		TEST(test_addresses_come_and_go),
	};

	return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
