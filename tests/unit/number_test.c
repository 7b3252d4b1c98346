/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/plan/number.h"

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
	} right[] = {
		{"0", 0},
		{"400", 400},
		{"10k", 10000},
		{"2.5G", 2500000000},
		{"0.0001M", 100},
		{"999999999999999", 999999999999999},
		{"18446744T", 18446744000000000000ULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		uint64_t value = 1;

		assert_true(number_parse(right[i].text, &value));
		assert_int_equal(value, right[i].value);
	}
}

static void test_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"k",
		".5k",
		"1.",
		"1.k",
		"1.5",
		"-1",
		"+1",
		" 1",
		"1 ",
		"1e9",
		"1kk",
		"25Gbit",
		/* More places than the letter gives. */
		"1.2345k",
		"1000000000000000",
		/* 64 bits hold no more: a remainder would be another number. */
		"18446745T",
		"18446744.073709551616T",
		"18446744.1T",
		"999999999999999T",
		"18446744074000G",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		uint64_t value = 7;

		if (number_parse(wrong[i], &value))
			fail_msg("%s is %llu", wrong[i], (unsigned long long)value);
		assert_int_equal(value, 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
