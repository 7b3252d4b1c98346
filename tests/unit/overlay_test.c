/* SPDX-License-Identifier: BSD-2-Clause */
/* hash/overlay.h: its properties under random histories, and a slow twin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/twin/slots.h"
#include "hash/maglev.h"
#include "hash/overlay.h"

enum { MEMBERS_MAX = 1000 };

static struct maglev_member members[MEMBERS_MAX];
static uint32_t base[MAGLEV_SIZE_MAX];
static uint32_t owners[MAGLEV_SIZE_MAX], others[MAGLEV_SIZE_MAX];
static uint32_t fresh_owners[MAGLEV_SIZE_MAX], fresh_others[MAGLEV_SIZE_MAX];
static uint32_t kept_owners[MAGLEV_SIZE_MAX];
static struct overlay *overlay_told;
static uint8_t touched[MAGLEV_SIZE_MAX];
static uint8_t was[MEMBERS_MAX], share[MEMBERS_MAX];

/* A random number of the test's own, the same in each run. */
static uint64_t draw(void)
{
	static uint64_t state = 2;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state ^ state >> 29) * 0xff51afd7ed558ccdULL;
}

/* 0, or with this chance in percent a share: a part if it may be one. */
static uint8_t draw_share(uint32_t percent, bool part)
{
	if (draw() % 100 >= percent)
		return 0;
	return part ? (uint8_t)(1 + draw() % 100) : 100;
}

/* A base table of members with these weights in turn; everybody usable. */
static struct overlay *make(size_t count, uint32_t size, const uint32_t *weights,
			    size_t weight_count)
{
	struct overlay *overlay;

	for (size_t i = 0; i < count; i++)
		members[i] = (struct maglev_member){draw(), weights[i % weight_count]};
	assert_int_equal(maglev_build(members, count, draw(), size, base), 0);
	assert_int_equal(overlay_new(base, size, count, &overlay), 0);
	memset(share, 100, sizeof(share));
	return overlay;
}

static const uint32_t equal[] = {100}, mixed[] = {1, 10, 3, 0, 7, 100}, heavy[] = {100000, 1, 2};

/* Takes the answers in. */
struct answers {
	uint32_t *owners, *others;
};

static void answer(void *arg, uint32_t slot, uint32_t owner, uint32_t other)
{
	const struct answers *answers = arg;

	answers->owners[slot] = owner;
	answers->others[slot] = other;
	touched[slot]++;
}

/* The answers for the present shares, whatever was before. */
static void apply_whole(const struct overlay *overlay, uint32_t *to_owners, uint32_t *to_others)
{
	struct answers answers = {to_owners, to_others};

	memset(to_owners, 0xff, sizeof(owners));
	memset(to_others, 0xff, sizeof(others));
	overlay_apply(overlay, NULL, share, answer, &answers);
}

static void assert_equals_twin(uint32_t size)
{
	static struct twin_member twins[MEMBERS_MAX];

	for (size_t i = 0; i < MEMBERS_MAX; i++)
		twins[i].share = share[i];
	twin_serve(twins, base, size, fresh_owners, fresh_others);
	assert_memory_equal(owners, fresh_owners, size * sizeof(*owners));
	assert_memory_equal(others, fresh_others, size * sizeof(*others));
}

static void test_equals_the_twin(void **state)
{
	static const struct {
		size_t count;
		uint32_t size;
		const uint32_t *weights;
		size_t weight_count;
	} cases[] = {
		{1, 251, equal, 1},  {2, 251, equal, 1},   {3, 251, heavy, 3},
		{10, 251, mixed, 6}, {100, 251, equal, 1}, {12, 2039, mixed, 6},
		{9, 2039, heavy, 3}, {40, 2039, equal, 1}, {300, 2039, mixed, 6},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t count = cases[i].count;
		struct overlay *overlay =
			make(count, cases[i].size, cases[i].weights, cases[i].weight_count);

		/* From all of them usable to hardly anybody and none; whole ones and parts. */
		for (uint32_t percent = 100; percent <= 100; percent -= 5) {
			for (size_t m = 0; m < count; m++)
				share[m] = draw_share(percent, percent % 10 != 0);
			apply_whole(overlay, owners, others);
			assert_equals_twin(cases[i].size);
		}
		memset(share, 0, sizeof(share));
		share[draw() % count] = 100;
		share[draw() % count] = 1;
		apply_whole(overlay, owners, others);
		assert_equals_twin(cases[i].size);
		overlay_free(overlay);
	}
}

/* Applies a change of the shares to `owners` and `others`: each slot is told of
 * once at most. */
static void apply(const struct overlay *overlay, uint32_t size)
{
	struct answers answers = {owners, others};

	memset(touched, 0, size);
	memcpy(kept_owners, owners, size * sizeof(*owners));
	overlay_apply(overlay, was, share, answer, &answers);
	for (uint32_t slot = 0; slot < size; slot++)
		assert_true(touched[slot] <= 1);
	memcpy(was, share, sizeof(was));
}

static void assert_is_fresh(const struct overlay *overlay, uint32_t size)
{
	apply_whole(overlay, fresh_owners, fresh_others);
	assert_memory_equal(owners, fresh_owners, size * sizeof(*owners));
	assert_memory_equal(others, fresh_others, size * sizeof(*others));
}

/* One member's share changed: collateral 0, and what it gets back is what it had. */
static void assert_moved_only(uint32_t member, bool more, uint32_t size)
{
	for (uint32_t slot = 0; slot < size; slot++) {
		if (owners[slot] != kept_owners[slot])
			assert_int_equal(more ? owners[slot] : kept_owners[slot], member);
		if (owners[slot] != HASH_NOBODY)
			assert_true(share[owners[slot]] > 0);
		if (share[base[slot]] == 100)
			assert_int_equal(owners[slot], base[slot]);
		else if (owners[slot] != base[slot])
			assert_int_equal(others[slot], base[slot]);
	}
}

static void run_history(size_t count, uint32_t size, const uint32_t *weights, size_t weight_count)
{
	struct overlay *overlay = make(count, size, weights, weight_count);

	memcpy(was, share, sizeof(was));
	apply_whole(overlay, owners, others);
	for (int event = 0; event < 200; event++) {
		/* Failures rule, then returns: everybody is down in between. */
		uint32_t member = (uint32_t)(draw() % count);
		uint8_t before = share[member];
		bool up = draw() % 4 == 0 ? event < 100 : event >= 100;

		share[member] = draw() % 3 == 0 ? draw_share(50, true) : up ? 100 : 0;
		apply(overlay, size);
		assert_moved_only(member, share[member] > before, size);
		assert_is_fresh(overlay, size);
	}
	for (size_t i = 0; i < count; i++)
		share[i] = draw_share(50, i % 2);
	apply(overlay, size);
	assert_is_fresh(overlay, size);
	overlay_free(overlay);
}

static void test_any_history(void **state)
{
	(void)state;
	run_history(1, 251, equal, 1);
	run_history(2, 251, heavy, 2);
	run_history(3, 509, heavy, 3);
	run_history(8, 1021, mixed, 6);
	run_history(20, 2039, equal, 1);
	run_history(60, 4093, mixed, 6);
	run_history(100, 16381, equal, 1);
	run_history(30, 16381, heavy, 3);
}

/* `others` is exactly who serves once the base owner fails. */
static void test_others_serve_next(void **state)
{
	static const uint32_t sizes[] = {251, 2039, 16381};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct overlay *overlay = make(12, sizes[i], i == 1 ? heavy : mixed, 3);

		share[3] = share[7] = 0;
		share[5] = 40;
		apply_whole(overlay, owners, others);
		for (uint32_t failed = 0; failed < 12; failed++) {
			uint8_t before = share[failed];

			share[failed] = 0;
			apply_whole(overlay, fresh_owners, fresh_others);
			share[failed] = before;
			for (uint32_t slot = 0; slot < sizes[i]; slot++) {
				if (base[slot] == failed && owners[slot] == failed)
					assert_int_equal(fresh_owners[slot], others[slot]);
			}
		}
		overlay_free(overlay);
	}
}

/* The same members in another order: the same answers, by identity. */
static void test_order_does_not_matter(void **state)
{
	enum { COUNT = 40, SIZE = 4093, SHIFT = 17 };
	static struct maglev_member moved[COUNT];
	static uint8_t moved_share[COUNT];
	static uint32_t moved_base[SIZE];
	struct overlay *overlay = make(COUNT, SIZE, mixed, 6), *moved_overlay;

	(void)state;
	assert_int_equal(maglev_build(members, COUNT, 4, SIZE, base), 0);
	overlay_free(overlay);
	assert_int_equal(overlay_new(base, SIZE, COUNT, &overlay), 0);
	for (size_t i = 0; i < COUNT; i++)
		moved[(i + SHIFT) % COUNT] = members[i];
	assert_int_equal(maglev_build(moved, COUNT, 4, SIZE, moved_base), 0);
	assert_int_equal(overlay_new(moved_base, SIZE, COUNT, &moved_overlay), 0);
	for (int percent = 90; percent > 0; percent -= 20) {
		for (size_t i = 0; i < COUNT; i++) {
			share[i] = i == 5 ? 100 : draw_share((uint32_t)percent, i % 2);
			moved_share[(i + SHIFT) % COUNT] = share[i];
		}
		apply_whole(overlay, owners, others);
		overlay_apply(moved_overlay, NULL, moved_share, answer,
			      &(struct answers){fresh_owners, fresh_others});
		for (uint32_t slot = 0; slot < SIZE; slot++) {
			assert_int_equal((owners[slot] + SHIFT) % COUNT, fresh_owners[slot]);
			if (others[slot] != HASH_NOBODY)
				assert_int_equal((others[slot] + SHIFT) % COUNT,
						 fresh_others[slot]);
			else
				assert_int_equal(fresh_others[slot], HASH_NOBODY);
		}
	}
	overlay_free(overlay);
	overlay_free(moved_overlay);
}

/* The largest relative deviation of a usable member's share from its ideal, in percent. */
static double worst_share(size_t count, uint32_t size)
{
	static uint32_t counts[MEMBERS_MAX];
	double total = 0, worst = 0;

	memset(counts, 0, sizeof(counts));
	for (uint32_t slot = 0; slot < size; slot++)
		counts[owners[slot]]++;
	for (size_t i = 0; i < count; i++)
		total += share[i] ? members[i].weight : 0;
	for (size_t i = 0; i < count; i++) {
		double ideal = size * (double)members[i].weight / total;
		double error = (counts[i] > ideal ? counts[i] - ideal : ideal - counts[i]) / ideal;

		if (!share[i])
			assert_int_equal(counts[i], 0);
		else if (error > worst)
			worst = error;
	}
	return 100 * worst;
}

static void test_shares_stay_even(void **state)
{
	static const struct {
		uint32_t down;
		double limit;
	} cases[] = {{1, 1}, {5, 2.2}, {50, 4}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		double worst = 0;

		for (int times = 0; times < 10; times++) {
			struct overlay *overlay = make(100, 65537, equal, 1);

			for (uint32_t down = 0; down < cases[i].down;) {
				uint8_t *victim = &share[draw() % 100];

				down += *victim > 0;
				*victim = 0;
			}
			apply_whole(overlay, owners, others);
			overlay_free(overlay);
			if (worst_share(100, 65537) > worst)
				worst = worst_share(100, 65537);
		}
		print_message("%u of 100 down: shares within %.2f %%\n", cases[i].down, worst);
		assert_true(worst <= cases[i].limit);
	}
}

/* Members that a walk would hardly ever meet are found all the same. */
static void test_last_resort(void **state)
{
	enum { COUNT = 1000, SIZE = 131071, LEFT = 999 };
	static const uint32_t tiny[] = {1000, 1000, 1000, 1000, 10};
	struct overlay *overlay = make(COUNT, SIZE, tiny, 5);
	uint32_t counts[2] = {0};

	(void)state;
	memset(share, 0, sizeof(share));
	share[LEFT] = 100;
	apply_whole(overlay, owners, others);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		assert_int_equal(owners[slot], LEFT);
		assert_int_equal(others[slot], base[slot] == LEFT ? HASH_NOBODY : base[slot]);
	}
	share[LEFT - 5] = 100;
	apply_whole(overlay, owners, others);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		assert_true(owners[slot] == LEFT || owners[slot] == LEFT - 5);
		counts[owners[slot] == LEFT]++;
	}
	print_message("two of weight 10 among 1000: %u and %u slots\n", counts[0], counts[1]);
	assert_true(counts[0] > 0 && counts[1] > 0);
	overlay_free(overlay);
}

static void test_nobody(void **state)
{
	struct overlay *overlay = make(6, 251, mixed, 6);

	(void)state;
	memset(share, 0, sizeof(share));
	share[3] = 100; /* of weight 0: has nothing to lend */
	apply_whole(overlay, owners, others);
	for (uint32_t slot = 0; slot < 251; slot++) {
		assert_int_equal(owners[slot], HASH_NOBODY);
		assert_int_equal(others[slot], base[slot]);
	}
	overlay_free(overlay);
}

/* Tables that Maglev does not make: of one slot, of no prime size, with slots of nobody. */
static void test_odd_tables(void **state)
{
	static const uint32_t odd[] = {0, 1, HASH_NOBODY, 0, 2, 2, HASH_NOBODY, 1};
	struct overlay *overlay;

	(void)state;
	for (uint32_t size = 0; size <= 8; size++) {
		memset(share, 100, sizeof(share));
		assert_int_equal(overlay_new(odd, size, 3, &overlay), 0);
		for (uint32_t left = 8; left-- > 0;) {
			for (uint32_t m = 0; m < 3; m++)
				share[m] = left >> m & 1 ? 100 : 0;
			apply_whole(overlay, owners, others);
			for (uint32_t slot = 0; slot < size; slot++) {
				if (odd[slot] == HASH_NOBODY)
					assert_int_equal(owners[slot], HASH_NOBODY);
				else if (share[odd[slot]])
					assert_int_equal(owners[slot], odd[slot]);
				else
					assert_true(owners[slot] == HASH_NOBODY ||
						    share[owners[slot]]);
			}
		}
		overlay_free(overlay);
	}
	assert_int_equal(overlay_new(odd, 8, 2, &overlay), -EINVAL);
}

static void assert_places(const struct overlay *overlay, const uint32_t *of, uint32_t size)
{
	uint32_t runs = 0, owned = 0, different = 0;

	memset(touched, 0, sizeof(touched));
	for (uint32_t slot = 0; slot < size; slot++) {
		uint32_t place = overlay_place(overlay, slot);

		assert_true(place < size);
		assert_int_equal(overlay_slot(overlay, place), slot);
		assert_int_equal(overlay_base(overlay, place), of[slot]);
		if (of[slot] == HASH_NOBODY)
			continue;
		owned++;
		different += !touched[of[slot]];
		touched[of[slot]] = 1;
	}
	/* A member's are in a row, and nobody's are last. */
	for (uint32_t place = 0; place < size; place++) {
		uint32_t owner = overlay_base(overlay, place);

		assert_int_equal(owner == HASH_NOBODY, place >= owned);
		runs += place < owned && (!place || owner != overlay_base(overlay, place - 1));
	}
	assert_int_equal(runs, different);
}

static void test_places(void **state)
{
	static const uint32_t odd[] = {0, 1, HASH_NOBODY, 0, 2, 2, HASH_NOBODY, 1};
	struct overlay *overlay;

	(void)state;
	for (uint32_t size = 0; size <= 8; size++) {
		assert_int_equal(overlay_new(odd, size, 3, &overlay), 0);
		assert_places(overlay, odd, size);
		overlay_free(overlay);
	}
	overlay = make(40, 2039, mixed, 6);
	assert_places(overlay, base, 2039);
	overlay_free(overlay);
}

/* Of whom a change says so the base owner serves before and after. */
static void assert_kept(void *arg, const struct overlay_change *changes, size_t count,
			const struct overlay_change *next)
{
	uint32_t *kept = arg;

	for (size_t i = 0; i < count; i++) {
		const struct overlay_change *it = &changes[i];

		assert_int_equal(it->base, base[it->slot]);
		assert_int_equal(it->place, overlay_place(overlay_told, it->slot));
		assert_in_range(next[i].slot, 0, 2038);
		if (it->kept) {
			assert_int_equal(it->owner, it->base);
			assert_int_equal(owners[it->slot], it->base);
			(*kept)++;
		}
	}
}

static void test_kept_are_told(void **state)
{
	uint32_t kept = 0;

	(void)state;
	overlay_told = make(40, 2039, mixed, 6);
	for (uint32_t round = 0; round < 50; round++) {
		for (size_t m = 0; m < 40; m++)
			share[m] = draw_share(70, round % 2);
		apply_whole(overlay_told, owners, others);
		memcpy(was, share, sizeof(was));
		for (size_t m = round % 40; m < 40; m += 7)
			share[m] = draw_share(50, round % 3);
		overlay_change(overlay_told, was, share, assert_kept, &kept);
	}
	assert_true(kept > 0);
	overlay_free(overlay_told);
}

/* Nodes of one fleet may run two versions: what a version answers, the next one answers too. */
static void test_kept_answers(void **state)
{
	struct overlay *overlay;
	uint64_t digest = 0;

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		members[i] = (struct maglev_member){0x0123456789abcdefULL * (i + 1), 1};
	for (const uint32_t *size = maglev_sizes(); *size; size++) {
		assert_int_equal(maglev_build(members, 10, 0x5eed, *size, base), 0);
		assert_int_equal(overlay_new(base, *size, 10, &overlay), 0);
		memset(share, 100, sizeof(share));
		share[2] = share[3] = share[8] = 0;
		apply_whole(overlay, owners, others);
		for (uint32_t slot = 0; slot < *size; slot++)
			digest = (digest * 1000003 + owners[slot]) * 1000003 + others[slot];
		overlay_free(overlay);
	}
	assert_int_equal(digest, 0x513f09b161117c9bULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equals_the_twin),
		cmocka_unit_test(test_any_history),
		cmocka_unit_test(test_others_serve_next),
		cmocka_unit_test(test_order_does_not_matter),
		cmocka_unit_test(test_shares_stay_even),
		cmocka_unit_test(test_last_resort),
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_odd_tables),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_kept_are_told),
		cmocka_unit_test(test_kept_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
