/* SPDX-License-Identifier: BSD-2-Clause */
/* Shares of slots in hash/overlay.h and hash/ring.h: what a step moves, and how evenly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "hash/maglev.h"
#include "hash/overlay.h"
#include "hash/ring.h"

enum { COUNT = 100, SIZE = 65537, TABLES = 10 };

static struct maglev_member members[COUNT];
static uint32_t base[SIZE], owners[SIZE], kept[SIZE];
static uint32_t own[COUNT]; /* base slots, by member */
static uint8_t share[COUNT];

/* A random number of the test's own, the same in each run. */
static uint64_t draw(void)
{
	static uint64_t state = 5;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state ^ state >> 29) * 0xff51afd7ed558ccdULL;
}

static struct overlay *make(uint32_t size, size_t count)
{
	struct overlay *overlay;

	for (size_t i = 0; i < count; i++)
		members[i] = (struct maglev_member){draw(), 100};
	assert_int_equal(maglev_build(members, count, draw(), size, base), 0);
	assert_int_equal(overlay_new(base, size, count, &overlay), 0);
	memset(share, 100, sizeof(share));
	memset(own, 0, sizeof(own));
	for (uint32_t slot = 0; slot < size; slot++)
		own[base[slot]]++;
	return overlay;
}

static void take(void *arg, uint32_t slot, uint32_t owner, uint32_t other)
{
	(void)arg;
	assert_true(owner != other);
	owners[slot] = owner;
}

static void apply(const struct overlay *overlay, const uint8_t *was)
{
	memcpy(kept, owners, sizeof(kept));
	overlay_apply(overlay, was, share, take, NULL);
}

/* One member up and down in steps: each moves its own slots alone, to the slot as many as the
 * share says, and what a smaller share has a larger one has. */
static void test_steps_move_their_own(void **state)
{
	struct overlay *overlay = make(SIZE, COUNT);
	uint8_t was[COUNT];

	(void)state;
	memset(share, 0, sizeof(share));
	memset(share, 100, COUNT / 2);
	apply(overlay, NULL);
	for (unsigned step = 1; step <= 200; step++) {
		bool more = step <= 100;
		uint32_t at_home = 0;

		memcpy(was, share, sizeof(was));
		share[70] = (uint8_t)(more ? step : 200 - step);
		apply(overlay, was);
		for (uint32_t slot = 0; slot < SIZE; slot++) {
			at_home += base[slot] == 70 && owners[slot] == 70;
			if (owners[slot] != kept[slot])
				assert_int_equal(more ? owners[slot] : kept[slot], 70);
			else
				assert_true(owners[slot] != 70 || share[70] > 0);
		}
		assert_in_range(200 * at_home + 100, 2 * own[70] * share[70],
				2 * own[70] * share[70] + 200);
	}
	overlay_free(overlay);
}

/* A share that comes to less than a slot is one all the same. */
static void test_a_little_is_something(void **state)
{
	struct overlay *overlay = make(251, COUNT);
	uint32_t at_home[COUNT] = {0};

	(void)state;
	memset(share, 1, sizeof(share));
	overlay_apply(overlay, NULL, share, take, NULL);
	for (uint32_t slot = 0; slot < 251; slot++)
		at_home[owners[slot]] += base[slot] == owners[slot];
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(at_home[i], 1);

	/* Alone it serves all, of whatever share. */
	memset(share, 0, sizeof(share));
	share[31] = 1;
	overlay_apply(overlay, NULL, share, take, NULL);
	for (uint32_t slot = 0; slot < 251; slot++)
		assert_int_equal(owners[slot], 31);
	overlay_free(overlay);
}

/*
 * The largest relative deviation, in percent, from what a member would serve if what each one lends
 * went to all others exactly in proportion to what they have.
 */
static double worst_deviation(uint32_t size, size_t count)
{
	double has[COUNT], all = 0, lent = 0, worst = 0;
	uint32_t serves[COUNT] = {0};

	for (uint32_t slot = 0; slot < size; slot++)
		serves[owners[slot]]++;
	for (size_t i = 0; i < count; i++) {
		has[i] = own[i] * share[i] / 100.0;
		all += has[i];
	}
	for (size_t i = 0; i < count; i++)
		lent += (own[i] - has[i]) / (all - has[i]);
	for (size_t i = 0; i < count; i++) {
		double ideal = has[i] * (1 + lent - (own[i] - has[i]) / (all - has[i]));
		double error = share[i] ? serves[i] / ideal - 1 : 0;

		assert_true(share[i] || !serves[i]);
		if (error > worst || -error > worst)
			worst = error > 0 ? error : -error;
	}
	return 100 * worst;
}

/* Gives this share to so many of those that have all of theirs. */
static void give(uint32_t how_many, uint8_t percent, size_t count)
{
	while (how_many > 0) {
		uint8_t *one = &share[draw() % count];

		how_many -= *one == 100;
		*one = *one == 100 ? percent : *one;
	}
}

static void test_shares_stay_even(void **state)
{
	static const struct {
		const char *what;
		struct {
			uint32_t how_many;
			uint8_t percent;
		} given[3];
		double limit;
	} cases[] = {
		{"one at 10 %", {{1, 10}}, 1},
		{"one at 20 %", {{1, 20}}, 1},
		{"one at 30 %", {{1, 30}}, 1},
		{"one at 40 %", {{1, 40}}, 1},
		{"one at 50 %", {{1, 50}}, 1},
		{"one at 60 %", {{1, 60}}, 1},
		{"one at 70 %", {{1, 70}}, 1},
		{"one at 80 %", {{1, 80}}, 1},
		{"one at 90 %", {{1, 90}}, 1},
		{"ten at 50 %", {{10, 50}}, 2.2},
		{"five down, five at 30 %, five at 60 %", {{5, 0}, {5, 30}, {5, 60}}, 4},
		{"half at 50 %", {{50, 50}}, 4.5},
		{"all at 50 %", {{100, 50}}, 4},
		{"half down, ten at 20 %", {{50, 0}, {10, 20}}, 15},
		{"all at 10 %", {{100, 10}}, 12},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double sum = 0, worst = 0;

		for (int table = 0; table < TABLES; table++) {
			struct overlay *overlay = make(SIZE, COUNT);
			double deviation;

			for (size_t k = 0; k < 3; k++)
				give(cases[i].given[k].how_many, cases[i].given[k].percent, COUNT);
			apply(overlay, NULL);
			overlay_free(overlay);
			deviation = worst_deviation(SIZE, COUNT);
			sum += deviation / TABLES;
			worst = deviation > worst ? deviation : worst;
		}
		print_message("# %s of 100: shares within %.2f / %.2f %%\n", cases[i].what, sum,
			      worst);
		assert_true(worst <= cases[i].limit);
	}
}

static void take_counts(void *arg, uint32_t slot, uint32_t owner, uint32_t other)
{
	(void)slot;
	(void)other;
	((uint32_t *)arg)[owner]++;
}

/* A ring's member has its part of a weighted ring, by its tokens, and as even as these are many. */
static void test_ring_shares(void **state)
{
	enum { FEW = 10 };
	struct ring *ring;

	(void)state;
	for (size_t i = 0; i < FEW; i++)
		members[i] = (struct maglev_member){draw(), 100};
	assert_int_equal(ring_new(members, FEW, 9, RING_TOKENS_DEFAULT, SIZE, &ring), 0);
	for (uint8_t percent = 10; percent <= 90; percent += 40) {
		uint32_t serves[FEW] = {0};
		double ideal = SIZE * percent / (100.0 * (FEW - 1) + percent), error;

		memset(share, 100, FEW);
		share[4] = percent;
		ring_apply(ring, NULL, share, take_counts, serves);
		error = serves[4] / ideal - 1;
		print_message("# ring, one of 10 at %u %%: %.1f %% of what it should have\n",
			      percent, 100 * error + 100);
		assert_true(error * error <= 16.0 / (RING_TOKENS_DEFAULT * percent / 100));
	}
	ring_free(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_move_their_own),
		cmocka_unit_test(test_a_little_is_something),
		cmocka_unit_test(test_shares_stay_even),
		cmocka_unit_test(test_ring_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
