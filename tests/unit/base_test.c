/* SPDX-License-Identifier: BSD-2-Clause */
/* The base room: errors and their list, the arena, addresses and prefixes, log lines. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/log_json.h"
#include "base/time.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* --- errors --- */

static void test_err_set(void **state)
{
	struct err err = {.line = 7, .column = 8};
	char text[2 * ERR_TEXT_MAX];

	(void)state;
	assert_int_equal(err_set(&err, -EINVAL, "%s %d", "seven", 7), -EINVAL);
	assert_string_equal(err.text, "seven 7");
	assert_int_equal(err.line, 0);
	assert_int_equal(err.column, 0);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_set(&err, -1, "%s", text);
	assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
	assert_int_equal(err_set(NULL, -ENOENT, "nobody listens"), -ENOENT);
}

static void test_err_list_sorts(void **state)
{
	static const struct {
		int line, column;
	} places[] = {{3, 1}, {1, 9}, {1, 2}, {3, 1}, {0, 0}};
	static const int order[] = {4, 2, 1, 0, 3}; /* the two at 3:1 as they came */
	struct err_list list = {0};

	(void)state;
	for (size_t i = 0; i < LENGTH(places); i++)
		err_list_add(&list, places[i].line, places[i].column, "%zu", i);
	err_list_sort(&list);
	assert_int_equal(list.count, LENGTH(places));
	for (size_t i = 0; i < list.count; i++)
		assert_int_equal(atoi(list.errors[i].text), order[i]);
	err_list_fini(&list);
	assert_int_equal(list.count, 0);
	assert_null(list.errors);
}

static void test_err_list_is_bounded(void **state)
{
	struct err_list list = {0};

	(void)state;
	for (int i = 0; i < ERR_LIST_MAX + 5; i++)
		err_list_add(&list, i + 1, 1, "no");
	assert_int_equal(list.count, ERR_LIST_MAX);
	assert_int_equal(list.dropped, 5);
	assert_int_equal(list.errors[list.count - 1].line, ERR_LIST_MAX);
	err_list_fini(&list);
}

/* --- arena --- */

static void test_arena(void **state)
{
	static const size_t sizes[] = {0, 1, 15, 16, 17, 4096, 16 * 1024, 100 * 1024};
	enum { ROUNDS = 200 };
	struct arena *arena = arena_new();
	unsigned char *blocks[ROUNDS];

	(void)state;
	for (size_t i = 0; i < ROUNDS; i++) {
		size_t size = sizes[i % LENGTH(sizes)];

		blocks[i] = arena_alloc(arena, size);
		assert_int_equal((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
		for (size_t j = 0; j < size; j++)
			assert_int_equal(blocks[i][j], 0);
		memset(blocks[i], (int)i, size);
	}
	/* None lies over another. */
	for (size_t i = 0; i < ROUNDS; i++) {
		for (size_t j = 0; j < sizes[i % LENGTH(sizes)]; j++)
			assert_int_equal(blocks[i][j], i);
	}
	arena_free(arena);
	arena_free(NULL);
}

static void test_arena_text(void **state)
{
	struct arena *arena = arena_new();
	char text[1000];
	uint64_t *numbers = arena_array(arena, 3, sizeof(*numbers));

	(void)state;
	numbers[2] = 7;
	assert_string_equal(arena_strdup(arena, ""), "");
	assert_string_equal(arena_strdup(arena, "web"), "web");
	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_string_equal(arena_printf(arena, "%s", text), text);
	assert_string_equal(arena_printf(arena, "%d/%s", 80, "tcp"), "80/tcp");
	assert_int_equal(numbers[2], 7);
	arena_free(arena);
}

/* --- addresses --- */

static void test_addresses(void **state)
{
	static const char *const right[] = {
		"0.0.0.0", "10.0.0.1",    "255.255.255.255", "::",
		"::1",     "2001:db8::1", "fe80::1",         "2001:db8:0:1::2:3"};
	static const char *const wrong[] = {"",
					    "10.0.0",
					    "10.0.0.256",
					    "10.0.0.1 ",
					    " 10.0.0.1",
					    "010.0.0.1",
					    "10.0.0.1/8",
					    "::ffff:1.2.3.4",
					    "2001:db8:::1",
					    "fe80::1%lo",
					    "1:2:3:4:5:6:7:8:9",
					    "web"};
	char text[ADDR_TEXT_MAX];
	struct addr addr;

	(void)state;
	for (size_t i = 0; i < LENGTH(right); i++) {
		assert_int_equal(addr_parse(right[i], &addr), 0);
		assert_string_equal(addr_format(&addr, text), right[i]);
		assert_int_equal(addr_is4(&addr), strchr(right[i], ':') == NULL);
		assert_int_equal(addr_is_none(&addr), strcmp(right[i], "::") == 0);
	}
	for (size_t i = 0; i < LENGTH(wrong); i++)
		assert_int_equal(addr_parse(wrong[i], &addr), -EINVAL);
}

static void test_address_forms(void **state)
{
	static const uint8_t bytes[4] = {198, 51, 100, 10};
	struct sockaddr_storage storage;
	const struct sockaddr_in *in = (const struct sockaddr_in *)&storage;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&storage;
	struct addr addr = addr_from_bytes(AF_INET, bytes), other;
	char text[ADDR_TEXT_MAX];

	(void)state;
	assert_string_equal(addr_format(&addr, text), "198.51.100.10");
	assert_int_equal(addr_be32(&addr), htonl(0xc633640a));
	other = addr_from4(htonl(0xc633640a));
	assert_true(addr_equal(&addr, &other));
	assert_int_equal(addr_sockaddr(&addr, 80, &storage), sizeof(*in));
	assert_int_equal(in->sin_family, AF_INET);
	assert_int_equal(in->sin_port, htons(80));
	assert_int_equal(in->sin_addr.s_addr, htonl(0xc633640a));
	assert_int_equal(addr_parse("2001:db8::9", &addr), 0);
	assert_int_equal(addr_sockaddr(&addr, 443, &storage), sizeof(*in6));
	assert_int_equal(in6->sin6_family, AF_INET6);
	assert_int_equal(in6->sin6_port, htons(443));
	assert_memory_equal(&in6->sin6_addr, addr.bytes, 16);
}

static void test_prefixes(void **state)
{
	static const struct {
		const char *text, *printed; /* NULL: refused */
		const char *in, *out;
	} cases[] = {
		{"10.0.0.0/8", "10.0.0.0/8", "10.255.255.255", "11.0.0.0"},
		{"0.0.0.0/0", "0.0.0.0/0", "203.0.113.9", "::1"},
		{"::/0", "::/0", "2001:db8::1", "10.0.0.1"},
		{"192.0.2.1", "192.0.2.1/32", "192.0.2.1", "192.0.2.2"},
		{"192.0.2.128/25", "192.0.2.128/25", "192.0.2.200", "192.0.2.127"},
		{"2001:db8:f::/64", "2001:db8:f::/64", "2001:db8:f::9", "2001:db8:f:1::"},
		{"2001:db8::1/128", "2001:db8::1/128", "2001:db8::1", "2001:db8::"},
		{"10.0.0.1/8", NULL, NULL, NULL},
		{"10.0.0.0/33", NULL, NULL, NULL},
		{"2001:db8::/129", NULL, NULL, NULL},
		{"10.0.0.0/", NULL, NULL, NULL},
		{"10.0.0.0/-1", NULL, NULL, NULL},
		{"10.0.0.0/8x", NULL, NULL, NULL},
		{"10.0.0.0/ 8", NULL, NULL, NULL},
		{"/8", NULL, NULL, NULL},
		{"10.0.0.0/99999999999999999999", NULL, NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		char text[ADDR_TEXT_MAX];
		struct prefix prefix;
		struct addr in, out;

		if (!cases[i].printed) {
			assert_int_equal(prefix_parse(cases[i].text, &prefix), -EINVAL);
			continue;
		}
		assert_int_equal(prefix_parse(cases[i].text, &prefix), 0);
		assert_string_equal(prefix_format(&prefix, text), cases[i].printed);
		assert_int_equal(addr_parse(cases[i].in, &in), 0);
		assert_int_equal(addr_parse(cases[i].out, &out), 0);
		assert_true(prefix_has(&prefix, &in));
		assert_false(prefix_has(&prefix, &out));
	}
}

/* --- the log: its lines are caught in a pipe that stands in for standard error --- */

static char caught[64 * 1024];

static void say_plain(void)
{
	log_info("started", "node=%s port=%d", "lb1", 80);
	log_error("no fields", "%s", "");
	log_debug("too fine", "%s", "");
}

static void say_debug(void)
{
	log_set_level(LOG_DEBUG);
	log_debug("fine", "%s", "");
	log_set_level(LOG_INFO);
}

static void say_quoted(void)
{
	log_warn("odd", "text=%s", log_quote("a\"b\\c\nd\x1b[1m").text);
}

static void say_long(void)
{
	char text[2 * LOG_LINE_MAX];

	memset(text, 'z', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_info("long", "text=%s", text);
	log_info("quoted", "text=%s", log_quote(text).text);
}

static uint32_t passed_before; /* in the second before */

/* Within one second: the clock is read again if the second changed under it. */
static void say_often(void)
{
	struct log_limit limit = {.second = time_now_ns() / TIME_SECOND_NS - 1,
				  .passed = passed_before};

	for (int i = 0; i < 3 * LOG_BURST; i++)
		log_write(LOG_WARN, &limit, "again", "i=%d", i);
}

static const char *heard(void (*say)(void))
{
	int saved = dup(STDERR_FILENO), ends[2];
	ssize_t got;

	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	say();
	dup2(saved, STDERR_FILENO);
	close(saved);
	got = read(ends[0], caught, sizeof(caught) - 1);
	close(ends[0]);
	caught[got > 0 ? got : 0] = '\0';
	return caught;
}

static size_t lines_of(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static void test_log_lines(void **state)
{
	(void)state;
	assert_int_equal(log_level(), LOG_INFO);
	assert_string_equal(heard(say_plain), "level=info msg=\"started\" node=lb1 port=80\n"
					      "level=error msg=\"no fields\" \n");
	assert_string_equal(heard(say_debug), "level=debug msg=\"fine\" \n");
	assert_string_equal(heard(say_quoted),
			    "level=warn msg=\"odd\" text=\"a\\\"b\\\\c\\x0ad\\x1b[1m\"\n");
}

static void test_log_is_bounded(void **state)
{
	const char *text = heard(say_long);
	size_t first = strcspn(text, "\n") + 1;

	(void)state;
	assert_int_equal(lines_of(text), 2);
	assert_true(first <= LOG_LINE_MAX);
	assert_true(strlen(text) - first < LOG_QUOTED_MAX + 40);
}

static size_t lines_after(uint32_t passed)
{
	uint64_t before, after;
	size_t lines;

	passed_before = passed;
	do {
		before = time_now_ns() / TIME_SECOND_NS;
		lines = lines_of(heard(say_often));
		after = time_now_ns() / TIME_SECOND_NS;
	} while (before != after);
	return lines;
}

/* A single line is no burst: one that follows it must not keep the last word back. */
static void test_log_limit(void **state)
{
	(void)state;
	assert_int_equal(lines_after(0), LOG_BURST);
	assert_int_equal(lines_after(1), LOG_BURST);
	assert_int_equal(lines_after(LOG_BURST), 1);
}

static void test_log_json(void **state)
{
	static const struct {
		const char *fields, *want;
	} cases[] = {
		{"", ""},
		{"a=1 b=x c=\"two words\"", ",\"a\":1,\"b\":\"x\",\"c\":\"two words\""},
		{"a=-1.5 b=01 c=1. d=- e=",
		 ",\"a\":-1.5,\"b\":\"01\",\"c\":\"1.\",\"d\":\"-\",\"e\":\"\""},
		{"a=\"1\" b=10.0.0.1", ",\"a\":\"1\",\"b\":\"10.0.0.1\""},
		{"q=\"a\\\"b\\\\c\\x1b\" z=2", ",\"q\":\"a\\\"b\\\\c\\u001b\",\"z\":2"},
		{"cut=\"no end", ",\"cut\":\"no end\""},
		{"cut=\"\\", ",\"cut\":\"\\u005c\""},
		{"u=\"\xc3\xa9\xff\xed\xa0\x80\"",
		 ",\"u\":\"\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
		{"no pairs here", ""},
	};
	char line[LOG_JSON_MAX + 1], want[LOG_JSON_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct log_parts parts = {.time = {.tv_sec = 86400, .tv_nsec = 7000000},
						.level = "warn",
						.message = "it \"is\"",
						.fields = cases[i].fields};

		line[log_json(&parts, line)] = '\0';
		snprintf(want, sizeof(want),
			 "{\"time\":\"1970-01-02T00:00:00.007Z\",\"level\":\"warn\",\"msg\":\"it "
			 "\\u0022is\\u0022\"%s}\n",
			 cases[i].want);
		assert_string_equal(line, want);
	}
}

/* Whatever comes, of any length: it ends as it should, within its room. */
static void test_log_json_is_bounded(void **state)
{
	char fields[3 * LOG_JSON_MAX], line[LOG_JSON_MAX + 1];

	(void)state;
	for (size_t length = LOG_JSON_MAX - 200; length < sizeof(fields); length += 1) {
		const struct log_parts parts = {
			.level = "info", .message = length % 2 ? "m" : fields, .fields = fields};
		json_t *json;
		size_t used;

		memset(fields, length % 3 ? 0x1b : 'x', length);
		memcpy(fields, "k=1 l=", 6);
		fields[length] = '\0';
		used = log_json(&parts, line);
		assert_in_range(used, 100, LOG_JSON_MAX);
		line[used] = '\0';
		json = json_loads(line, 0, NULL);
		assert_non_null(json);
		json_decref(json);
	}
}

static void test_escape_controls(void **state)
{
	static const char *const rows[][2] = {
		{"", ""},
		{"plain, gr\xc3\xbc\xc3\x9f", "plain, gr\xc3\xbc\xc3\x9f"},
		{"\x1b[31mred\n\x7f\t", "?[31mred???"},
		{"C1: \xc2\x9b"
		 "2J\xc2\xa0.",
		 "C1: ??2J\xc2\xa0."},
		/* Cut short. */
		{"\xc2", "\xc2"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[64];

		strcpy(text, rows[i][0]);
		escape_controls(text);
		assert_string_equal(text, rows[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_err_set),
		cmocka_unit_test(test_err_list_sorts),
		cmocka_unit_test(test_err_list_is_bounded),
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_arena_text),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_address_forms),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_escape_controls),
		cmocka_unit_test(test_log_lines),
		cmocka_unit_test(test_log_is_bounded),
		cmocka_unit_test(test_log_limit),
		cmocka_unit_test(test_log_json),
		cmocka_unit_test(test_log_json_is_bounded),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
