/* SPDX-License-Identifier: BSD-2-Clause */
/* What base tables were made of: turned over with the file, as text; what a pool begins after. */
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

#include "dp/abi.h"
#include "hash/maglev.h"
#include "weir/balancer/assemble.h"
#include "weir/generation/generation.h"

enum { IDLE_MS = 60000, SIZE = 251, NOW_MS = 5000 };
#define B(n)  "{name: b" #n ", address: 10.0.0." #n "}"
#define B12   B(1) ", " B(2)
#define B123  B12 ", " B(3)
#define START 1764486000000ULL

static struct generations kept;

/* A file with one pool of these keys, whose service may have a second chance. */
static struct conf *parse(const char *pool, bool second)
{
	struct err_list errors = {0};
	struct conf *conf;
	char text[2048];

	snprintf(text, sizeof(text),
		 "node: {name: n, interfaces: [eth0], flows: {established: 60s}}\n"
		 "seed: one\n"
		 "pools: [{name: web, check: {port: 80}, %s}]\n"
		 "services: [{name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web,\n"
		 "  forward: gue, second_chance: %s}]\n",
		 pool, second ? "true" : "false");
	if (conf_parse(text, strlen(text), &conf, &errors))
		fail_msg("line %d: %s", errors.errors[0].line, errors.errors[0].text);
	return conf;
}

static int turn(const char *pool, uint64_t wall_ms)
{
	struct conf *conf = parse(pool, true);
	int ret = generations_turn(&kept, conf, wall_ms);

	conf_free(conf);
	return ret;
}

static int tear_down(void **state)
{
	(void)state;
	generations_fini(&kept);
	return 0;
}

static void test_turn(void **state)
{
	const struct generation_pool *pool;

	(void)state;
	assert_int_equal(turn("table_size: 251, backends: [" B12 "]", START), 1);
	assert_int_equal(kept.count, 1);
	pool = kept.pools;
	assert_string_equal(pool->name, "web");
	assert_int_equal(pool->now.count, 2);
	assert_int_equal(pool->before.count, 0);
	/* The same: names, their order and states are no part of the table. */
	assert_int_equal(turn("table_size: 251, backends: [" B(
				      2) ", "
					 "{name: c, address: 10.0.0.1, state: drain}]",
			      START + 5),
			 0);
	/* One more. */
	assert_int_equal(turn("table_size: 251, backends: [" B123 "]", START + 10), 1);
	pool = kept.pools;
	assert_int_equal(pool->now.count, 3);
	assert_int_equal(pool->before.count, 2);
	assert_int_equal(pool->switched_ms, START + 10);
	assert_int_equal(turn("table_size: 251, backends: [" B123 "]", START + 20), 0);
	assert_int_equal(kept.pools->before.count, 2);
	assert_int_equal(kept.pools->switched_ms, START + 10);
	/* Another weight, port, size, hash. */
	assert_int_equal(turn("table_size: 251, backends: [" B12 ", "
			      "{name: b3, address: 10.0.0.3, weight: 7}]",
			      START + 30),
			 1);
	assert_int_equal(kept.pools->before.members[2].weight, 100);
	assert_int_equal(kept.pools->now.members[2].weight, 7);
	assert_int_equal(turn("table_size: 509, backends: [" B123 "]", START + 40), 1);
	assert_int_equal(kept.pools->before.table_size, 251);
	assert_int_equal(turn("hash: ring, table_size: 509, backends: [" B123 "]", START + 50), 1);
	assert_int_equal(kept.pools->before.tokens, 0);
	assert_int_equal(kept.pools->now.tokens, 150);
	assert_int_equal(kept.pools->switched_ms, START + 50);
}

#define POOLS(first, one, second, two)                                                    \
	"node: {name: n, interfaces: [eth0]}\npools:\n"                                   \
	"- {name: " first ", check: {port: 80}, table_size: 251, backends: [" one "]}\n"  \
	"- {name: " second ", check: {port: 80}, table_size: 251, backends: [" two "]}\n" \
	"services: []\n"

static int turn_file(const char *text, uint64_t wall_ms)
{
	struct err_list errors = {0};
	struct conf *conf;
	int ret;

	if (conf_parse(text, strlen(text), &conf, &errors))
		fail_msg("line %d: %s", errors.errors[0].line, errors.errors[0].text);
	ret = generations_turn(&kept, conf, wall_ms);
	conf_free(conf);
	return ret;
}

/* Pools swap names: their tables are what they were. */
static void test_names_swap(void **state)
{
	(void)state;
	turn_file(POOLS("a", B(1), "b", B(2)), START);
	assert_int_equal(turn_file(POOLS("a", B12, "b", B(2)), START + 1), 1);
	assert_int_equal(turn_file(POOLS("a", B(2), "b", B12), START + 2), 1);
	assert_string_equal(kept.pools[0].name, "a");
	assert_int_equal(kept.pools[0].before.count, 0);
	assert_int_equal(kept.pools[1].before.count, 1);
	assert_int_equal(kept.pools[1].switched_ms, START + 1);
	assert_int_equal(turn_file(POOLS("a", B(2), "b", B12), START + 3), 0);
	/* One that becomes like another is not that one. */
	assert_int_equal(turn_file(POOLS("a", B12, "b", B12), START + 4), 1);
	assert_int_equal(kept.pools[0].before.count, 1);
	assert_int_equal(kept.pools[0].switched_ms, START + 4);
	assert_int_equal(kept.pools[1].switched_ms, START + 1);
	/* A new name, and another has the old one. */
	assert_int_equal(turn_file(POOLS("b", B(3), "c", B12), START + 5), 1);
	assert_int_equal(kept.pools[1].before.count, 1);
}

/* --- text --- */

static void round_trip(void)
{
	json_t *json = generations_to_json(&kept), *again;
	struct generations read = {0};
	struct err err = {0};
	char *text;

	assert_non_null(json);
	text = json_dumps(json, JSON_INDENT(1));
	if (generations_parse(text, strlen(text), &read, &err))
		fail_msg("%s", err.text);
	again = generations_to_json(&read);
	assert_true(json_equal(json, again));
	json_decref(again);
	generations_fini(&read);
	/* No beginning of it is taken for the whole. */
	for (size_t length = 0; length < strlen(text); length++) {
		assert_int_equal(generations_parse(text, length, &read, &err), -EINVAL);
		assert_null(read.pools);
	}
	free(text);
	json_decref(json);
}

static void test_text(void **state)
{
	(void)state;
	round_trip();
	turn("table_size: 251, backends: [" B12 "]", START);
	round_trip();
	turn("table_size: 251, hash: ring, backends: [" B123
	     ", {name: b4, address: \"2001:db8::4\", port: 80, weight: 0}]",
	     START + 1);
	round_trip();
}

#define GENERATION(seed, hash, tokens, size, backends)                         \
	"{\"seed\": \"" seed "\", \"hash\": \"" hash "\", \"tokens\": " tokens \
	", \"table_size\": " size ", \"backends\": [" backends "]}"
#define ONE        "{\"address\": \"10.0.0.1\", \"port\": 0, \"weight\": 1}"
#define GOOD       GENERATION("0123456789abcdef", "maglev", "0", "251", ONE)
#define POOL(what) "{\"version\": 1, \"pools\": [{\"pool\": \"web\", \"now\": " what "}]}"

static void test_refusals(void **state)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{}",
		"{\"version\": 1}",
		"{\"version\": 1, \"pools\": {}}",
		"{\"version\": 2, \"pools\": []}",
		"{\"version\": 1, \"pools\": [], \"x\": 1}",
		"{\"version\": 1, \"version\": 1, \"pools\": []}",
		"{\"version\": 1, \"pools\": [1]}",
		"{\"version\": 1, \"pools\": [{\"pool\": \"\", \"now\": " GOOD "}]}",
		"{\"version\": 1, \"pools\": [{\"pool\": \"a234567890123456789012345678901234567"
		"8901234567890123456789012345\", \"now\": " GOOD "}]}",
		"{\"version\": 1, \"pools\": [{\"pool\": \"web\"}]}",
		"{\"version\": 1, \"pools\": [{\"pool\": \"web\", \"now\": " GOOD
		", \"switched_ms\": -1}]}",
		"{\"version\": 1, \"pools\": [{\"pool\": \"web\", \"now\": " GOOD
		", \"before\": {}}]}",
		"{\"version\": 1, \"pools\": [{\"pool\": \"web\", \"now\": " GOOD
		", \"before\": " GENERATION("0123456789abcdef", "maglev", "0", "251", "") "}]}",
		POOL(GENERATION("0123456789abcde", "maglev", "0", "251", ONE)),
		POOL(GENERATION("0123456789abcdeg", "maglev", "0", "251", ONE)),
		POOL(GENERATION("0123456789abcdef", "ring", "0", "251", ONE)),
		POOL(GENERATION("0123456789abcdef", "maglev", "1", "251", ONE)),
		POOL(GENERATION("0123456789abcdef", "maglev", "-1", "251", ONE)),
		POOL(GENERATION("0123456789abcdef", "maglev", "0", "0", ONE)),
		POOL(GENERATION("0123456789abcdef", "maglev", "0", "131072", ONE)),
		POOL(GENERATION("0123456789abcdef", "maglev", "0", "251", ONE ", " ONE)),
		POOL(GENERATION("0123456789abcdef", "maglev", "0", "251", "1")),
		POOL(GENERATION("0123456789abcdef", "maglev", "0", "251",
				"{\"address\": \"10.0.0\", \"port\": 0, \"weight\": 1}")),
		POOL(GENERATION("0123456789abcdef", "maglev", "0", "251",
				"{\"address\": \"10.0.0.1\", \"port\": 65536, \"weight\": 1}")),
		POOL(GENERATION("0123456789abcdef", "maglev", "0", "251",
				"{\"address\": \"10.0.0.1\", \"port\": 0, \"weight\": 1000001}")),
		POOL(GENERATION("0123456789abcdef", "maglev", "0", "251",
				"{\"address\": \"10.0.0.1\", \"port\": 0, \"weight\": -1}")),
	};
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (generations_parse(texts[i], strlen(texts[i]), &kept, &err) != -EINVAL)
			fail_msg("taken: %s", texts[i]);
		assert_null(kept.pools);
		assert_true(err.text[0]);
	}
	assert_int_equal(generations_parse(POOL(GOOD), strlen(POOL(GOOD)), &kept, &err), 0);
}

/* --- what a pool begins after --- */

struct begun {
	struct conf *conf;
	struct pool *pool;
	int ret;
	uint64_t slots[SIZE];
};

/* All members healthy, with records 1 and up. */
static void begin(struct begun *begun, const char *pool, bool second, uint64_t wall_ms)
{
	begun->conf = parse(pool, second);
	assert_true(generations_turn(&kept, begun->conf, wall_ms) >= 0);
	assert_int_equal(
		assemble_pool(begun->conf, begun->conf->pools, NULL, POOL_UNKNOWN, &begun->pool),
		0);
	begun->ret = generations_begin(&kept, begun->conf, 0, begun->pool, wall_ms, NOW_MS);
	memset(begun->slots, 0, sizeof(begun->slots));
	pool_write_slots(begun->pool, begun->slots, NOW_MS);
	for (size_t m = 0; m < pool_member_count(begun->pool); m++)
		pool_set_health(begun->pool, m, POOL_HEALTHY, NOW_MS);
	pool_update_slots(begun->pool, begun->slots, NOW_MS + 50);
}

static void end(struct begun *begun)
{
	pool_free(begun->pool);
	conf_free(begun->conf);
}

/* The last number of a member's address; 0: of nobody. */
static unsigned number_of(const struct begun *table, uint32_t member)
{
	return member == HASH_NOBODY ? 0 : table->conf->pools[0].backends[member].address.bytes[15];
}

static bool has_number(const struct begun *table, unsigned number)
{
	for (size_t m = 0; m < pool_member_count(table->pool); m++) {
		if (number_of(table, (uint32_t)m) == number)
			return true;
	}
	return false;
}

/* Who is gone has drained before. */
static void drain_the_gone(struct begun *old, const struct begun *new)
{
	for (size_t m = 0; m < pool_member_count(old->pool); m++) {
		if (!has_number(new, number_of(old, (uint32_t)m)))
			pool_set_admin(old->pool, m, POOL_DRAIN, NOW_MS + 60);
	}
	pool_update_slots(old->pool, old->slots, NOW_MS + 60);
}

/* Each slot of another owner is in transition from that one; no other is. */
static void expect_after(struct begun *old, const struct begun *new)
{
	uint32_t moving = 0;

	drain_the_gone(old, new);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		unsigned was = number_of(old, pool_slot_owner(old->pool, slot));
		unsigned is = number_of(new, pool_slot_base(new->pool, slot));
		uint32_t record = abi_slot_previous(new->slots[slot]);

		assert_true(was && is);
		assert_int_equal(record ? number_of(new, record - 1) : 0, was != is ? was : 0);
		assert_true(!(new->slots[slot] & ABI_SLOT_TRANSITION) == (was == is));
		moving += was != is;
	}
	assert_int_equal(pool_moving_slots(new->pool), moving);
}

static void follow(const char *from, const char *to)
{
	struct begun old, new;

	begin(&old, from, true, START);
	assert_int_equal(old.ret, 0);
	assert_int_equal(pool_moving_slots(old.pool), 0);
	begin(&new, to, true, START + IDLE_MS - 1);
	assert_int_equal(new.ret, 1);
	expect_after(&old, &new);
	/* Again and again, until flows from before are gone. */
	end(&new);
	begin(&new, to, true, START + IDLE_MS - 1 + GENERATION_WAITS * IDLE_MS - 1);
	assert_int_equal(new.ret, 1);
	expect_after(&old, &new);
	end(&new);
	begin(&new, to, true, START + IDLE_MS - 1 + GENERATION_WAITS * IDLE_MS);
	assert_int_equal(new.ret, 0);
	assert_int_equal(pool_moving_slots(new.pool), 0);
	end(&new);
	end(&old);
	generations_fini(&kept);
}

static void test_begins_after(void **state)
{
	(void)state;
	follow("table_size: 251, backends: [" B12 "]", "table_size: 251, backends: [" B123 "]");
	follow("table_size: 251, backends: [" B123 "]",
	       "table_size: 251, backends: [" B(3) ", " B(1) "]");
	follow("table_size: 251, backends: [" B123 "]",
	       "table_size: 251, backends: [" B12 ", {name: b3, address: 10.0.0.3, weight: 400}]");
	follow("table_size: 251, backends: [" B123 "]",
	       "table_size: 251, hash: ring, backends: [" B123 "]");
	follow("table_size: 251, hash: ring, tokens: 30, backends: [" B123 "]",
	       "table_size: 251, hash: ring, backends: [" B12 "]");
}

/* Records are those of members in order. All are unknown. */
static void assemble(struct begun *begun, const char *pool, uint64_t wall_ms)
{
	begun->conf = parse(pool, true);
	assert_true(generations_turn(&kept, begun->conf, wall_ms) >= 0);
	assert_int_equal(
		assemble_pool(begun->conf, begun->conf->pools, NULL, POOL_UNKNOWN, &begun->pool),
		0);
}

/*
 * A node begins from nothing, and before it has met more than one backend it is started again with
 * one more. Who stood in is nobody's previous: flows of other nodes are where the table before
 * says, and no longer where the one before that does.
 */
static void test_begins_amid_a_start(void **state)
{
	const uint64_t until_ms = NOW_MS + POOL_STARTING_MS;
	struct begun whole, old, new;

	(void)state;
	begin(&whole, "table_size: 251, backends: [" B123 "]", true, START);
	turn("table_size: 251, backends: [" B12 "]", START - 1);
	assemble(&old, "table_size: 251, backends: [" B123 "]", START);
	assert_int_equal(generations_begin(&kept, old.conf, 0, old.pool, START, NOW_MS), 1);
	memset(new.slots, 0, sizeof(new.slots));
	pool_set_health(old.pool, 0, POOL_HEALTHY, NOW_MS);
	pool_write_slots(old.pool, new.slots, NOW_MS);
	assemble(&new, "table_size: 251, backends: [" B123 ", " B(4) "]", START + 900);
	assert_int_equal(generations_begin(&kept, new.conf, 0, new.pool, START + 900, NOW_MS + 900),
			 1);
	assert_int_equal(pool_adopt_slots(new.pool, new.slots, until_ms, NOW_MS + 900), 0);
	pool_set_health(new.pool, 0, POOL_HEALTHY, NOW_MS + 900);
	for (size_t m = pool_member_count(new.pool); m-- > 0;) {
		pool_set_health(new.pool, m, POOL_HEALTHY, NOW_MS + 900 + m);
		pool_write_slots(new.pool, new.slots, NOW_MS + 900 + m);
	}
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		unsigned was = number_of(&whole, pool_slot_owner(whole.pool, slot));
		unsigned is = number_of(&new, pool_slot_owner(new.pool, slot));
		uint32_t record = abi_slot_previous(new.slots[slot]);

		if (was != is)
			assert_int_equal(record ? number_of(&new, record - 1) : 0, was);
		assert_true(new.slots[slot] & ABI_SLOT_DOUBT);
	}
	end(&new);
	end(&old);
	end(&whole);
}

/* Later, too, what was told gives way to who is seen to leave, whatever restarts there were. */
static void test_gives_way(void **state)
{
	struct begun old, new;

	(void)state;
	turn("table_size: 251, backends: [" B123 ", " B(4) "]", START - 1);
	begin(&old, "table_size: 251, backends: [" B123 "]", true, START);
	assert_int_equal(old.ret, 1);
	assert_true(pool_moving_slots(old.pool) > 0);
	assemble(&new, "table_size: 251, backends: [" B123 ", " B(4) "]", START + 20000);
	memcpy(new.slots, old.slots, sizeof(new.slots));
	assert_int_equal(
		pool_adopt_slots(new.pool, new.slots, NOW_MS + POOL_STARTING_MS, NOW_MS + 20000),
		0);
	for (size_t m = 0; m < 3; m++)
		pool_set_health(new.pool, m, POOL_HEALTHY, NOW_MS + 20000);
	pool_write_slots(new.pool, new.slots, NOW_MS + 20000);
	pool_set_health(new.pool, 3, POOL_HEALTHY, NOW_MS + 20500);
	pool_update_slots(new.pool, new.slots, NOW_MS + 20500);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		unsigned was = number_of(&old, pool_slot_owner(old.pool, slot));
		uint32_t record = abi_slot_previous(new.slots[slot]);

		if (number_of(&new, pool_slot_owner(new.pool, slot)) == 4)
			assert_int_equal(record ? number_of(&new, record - 1) : 0, was);
	}
	end(&new);
	end(&old);
}

static void test_begins_anew(void **state)
{
	struct begun begun;

	(void)state;
	/* Without a second owner to name it would be a guess. */
	turn("table_size: 251, backends: [" B12 "]", START);
	begin(&begun, "table_size: 251, backends: [" B123 "]", false, START + 1);
	assert_int_equal(pool_moving_slots(begun.pool), 0);
	end(&begun);
	/* The clock was set back: nobody knows how long ago it was. */
	begin(&begun, "table_size: 251, backends: [" B123 "]", true, START - 3600000);
	assert_true(pool_moving_slots(begun.pool) > 0);
	end(&begun);
	generations_fini(&kept);
	/* Slots were others. */
	turn("table_size: 509, backends: [" B12 "]", START);
	begin(&begun, "table_size: 251, backends: [" B123 "]", true, START + 1);
	assert_int_equal(begun.ret, -EINVAL);
	assert_int_equal(pool_moving_slots(begun.pool), 0);
	end(&begun);
	generations_fini(&kept);
	/* A table that cannot be, of a file that looks well. */
	turn("table_size: 251, backends: [" B12 "]", START);
	turn("table_size: 251, backends: [" B123 "]", START);
	kept.pools[0].before.tokens = 65537;
	begin(&begun, "table_size: 251, backends: [" B123 "]", true, START + 1);
	assert_int_equal(begun.ret, -EINVAL);
	assert_int_equal(pool_moving_slots(begun.pool), 0);
	end(&begun);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_turn, tear_down),
		cmocka_unit_test_teardown(test_names_swap, tear_down),
		cmocka_unit_test_teardown(test_text, tear_down),
		cmocka_unit_test_teardown(test_refusals, tear_down),
		cmocka_unit_test_teardown(test_begins_after, tear_down),
		cmocka_unit_test_teardown(test_begins_amid_a_start, tear_down),
		cmocka_unit_test_teardown(test_gives_way, tear_down),
		cmocka_unit_test_teardown(test_begins_anew, tear_down),
	};

	return cmocka_run_group_tests_name("generation", tests, NULL, NULL);
}
