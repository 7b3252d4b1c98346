/* SPDX-License-Identifier: BSD-2-Clause */
/* Which backend is meant, and what is said when it is none or several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "tests/lib/conf_expect.h"
#include "weir/operate/find.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const char file[] = NODE "pools:\n"
				"- name: web\n"
				"  backends:\n"
				"  - {name: alpha, address: 10.0.1.1}\n"
				"  - {name: beta, address: 10.0.1.2}\n"
				"  - {name: b1, address: 10.0.1.3}\n"
				"- name: dns\n"
				"  backends:\n"
				"  - {name: beta, address: 10.0.1.2}\n"
				"  - {name: gamma.example, address: 10.0.1.4}\n" SERVICE;

static void test_found(void **state)
{
	static const struct {
		const char *text;
		size_t pool, member;
	} cases[] = {
		{"alpha", 0, 0},    {"web/alpha", 0, 0},     {"web/beta", 0, 1},
		{"dns/beta", 1, 0}, {"gamma.example", 1, 1}, {"b1", 0, 2},
	};
	struct conf *conf = conf_expect_right(file);

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		size_t pool = 9, member = 9;
		struct err err;

		assert_int_equal(find_backend(conf, cases[i].text, &pool, &member, &err), 0);
		assert_int_equal(pool, cases[i].pool);
		assert_int_equal(member, cases[i].member);
	}
	conf_free(conf);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *said;
	} cases[] = {
		{"beta", -EEXIST, "backend beta is in several pools; name one: web/beta, dns/beta"},
		{"alhpa", -ENOENT, "there is no backend alhpa; near is: web/alpha"},
		{"Alpha", -ENOENT, "there is no backend Alpha; near is: web/alpha"},
		{"betas", -ENOENT, "there is no backend betas; near is: web/beta, dns/beta"},
		{"dsn/beta", -ENOENT, "there is no backend dsn/beta; near is: dns/beta"},
		{"dns/alpha", -ENOENT,
		 "there is no backend dns/alpha; there are: web/alpha, web/beta, web/b1, dns/beta, "
		 "..."},
		{"gamma", -ENOENT, "there is no backend gamma; near is: dns/gamma.example"},
		{"b2", -ENOENT, "there is no backend b2; near is: web/b1"},
		{"zzzzzz", -ENOENT,
		 "there is no backend zzzzzz; there are: web/alpha, web/beta, web/b1, dns/beta, "
		 "..."},
		{"", -EINVAL, "a backend is written as NAME or POOL/NAME"},
		{"/alpha", -EINVAL, "a backend is written"},
		{"web/", -EINVAL, "a backend is written"},
		{"web/x/alpha", -EINVAL, "a backend is written"},
		{"al pha", -EINVAL, "a backend is written"},
		{"caf\xc3\xa9", -EINVAL, "a backend is written"},
		{"b123456789b123456789b123456789b123456789b123456789b123456789b123", -EINVAL,
		 "a backend is written"},
	};
	struct conf *conf = conf_expect_right(file);

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		size_t pool, member;
		struct err err;

		assert_int_equal(find_backend(conf, cases[i].text, &pool, &member, &err),
				 cases[i].code);
		if (strncmp(err.text, cases[i].said, strlen(cases[i].said)) != 0)
			fail_msg("%s: %s", cases[i].text, err.text);
	}
	conf_free(conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("find", tests, NULL, NULL);
}
