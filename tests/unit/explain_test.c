/* SPDX-License-Identifier: BSD-2-Clause */
/* Every verdict is explained; what is said to be typed is a command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/explain/texts.h"
#include "weir/show.h"

static void test_all_explained(void **state)
{
	(void)state;
	for (uint32_t v = 0; v < VERDICT_COUNT; v++) {
		const struct explain_text *text = explain_text(v);

		assert_non_null(text->meaning);
		assert_true(strlen(text->meaning) > 20);
		assert_non_null(text->causes[0]);
		assert_non_null(text->steps[0]);
		/* It says more than the list's own help. */
		assert_string_not_equal(text->meaning, show_verdict_help(v));
	}
}

/* A step that has packets of a verdict captured names that verdict. */
static void test_steps_fit(void **state)
{
	static const char capture[] = "weir capture --verdict ";
	uint32_t found = 0;

	(void)state;
	for (uint32_t v = 0; v < VERDICT_COUNT; v++) {
		const char *const *steps = explain_text(v)->steps;

		for (size_t i = 0; i < EXPLAIN_LINES_MAX && steps[i]; i++) {
			struct show_label name = show_verdict(v);
			size_t length = strlen(name.text);
			const char *at = steps[i] + strlen(capture);

			if (strncmp(steps[i], capture, strlen(capture)) != 0)
				continue;
			assert_memory_equal(at, name.text, length);
			assert_true(at[length] == '\0' || at[length] == ' ');
			found++;
		}
	}
	assert_true(found > 5);
}

static void test_names(void **state)
{
	enum verdict verdict;

	(void)state;
	for (uint32_t v = 0; v < VERDICT_COUNT; v++) {
		assert_true(show_find_verdict(show_verdict(v).text, &verdict));
		assert_int_equal(verdict, v);
	}
	assert_false(show_find_verdict("", &verdict));
	assert_false(show_find_verdict("forward", &verdict));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_explained),
		cmocka_unit_test(test_steps_fit),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
