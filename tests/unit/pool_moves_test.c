/* SPDX-License-Identifier: BSD-2-Clause */
/* What a pool counts of slots that change hands: as many as who fails or returns had, and none of
 * them collateral. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "pool/pool.h"

enum { SIZE = 2039, MEMBERS = 5 };

static uint64_t slots[SIZE];

static struct pool *make(void)
{
	static const char *const names[MEMBERS] = {"a", "b", "c", "d", "e"};
	struct pool_member_spec members[MEMBERS];
	struct pool_spec spec = {.name = "web",
				 .seed = 7,
				 .table_size = SIZE,
				 .idle_ms = 1000,
				 .datagram_ms = 1000,
				 .members = members,
				 .member_count = MEMBERS};
	struct pool *pool;

	for (uint32_t i = 0; i < MEMBERS; i++)
		members[i] = (struct pool_member_spec){.name = names[i],
						       .identity = 1000 + i,
						       .weight = 100,
						       .index = i + 1,
						       .health = POOL_HEALTHY};
	assert_int_equal(pool_new(&spec, &pool), 0);
	memset(slots, 0, sizeof(slots));
	pool_write_slots(pool, slots, 1000);
	return pool;
}

static void test_moves(void **state)
{
	struct pool *pool = make();
	uint32_t owned = pool_member_slots(pool, 2);
	struct pool_moves moves = pool_moves(pool);

	(void)state;
	/* From nobody is no change of hands. */
	assert_int_equal(moves.slots, 0);
	assert_true(owned > 0);
	pool_set_health(pool, 2, POOL_UNHEALTHY, 2000);
	pool_update_slots(pool, slots, 2000);
	moves = pool_moves(pool);
	assert_int_equal(moves.slots, owned);
	assert_int_equal(moves.collateral, 0);
	pool_set_health(pool, 2, POOL_HEALTHY, 3000);
	pool_update_slots(pool, slots, 3000);
	moves = pool_moves(pool);
	assert_int_equal(moves.slots, 2 * owned);
	assert_int_equal(moves.collateral, 0);
	pool_update_slots(pool, slots, 4000);
	assert_int_equal(pool_moves(pool).slots, 2 * owned);
	pool_free(pool);
}

/* All of them together are moved once, whoever stands in for whom. */
static void test_two_at_once(void **state)
{
	struct pool *pool = make();
	uint32_t owned = pool_member_slots(pool, 1) + pool_member_slots(pool, 4);

	(void)state;
	pool_set_health(pool, 1, POOL_UNHEALTHY, 2000);
	pool_set_health(pool, 4, POOL_UNHEALTHY, 2000);
	pool_update_slots(pool, slots, 2000);
	assert_int_equal(pool_moves(pool).slots, owned);
	assert_int_equal(pool_moves(pool).collateral, 0);
	pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_two_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
