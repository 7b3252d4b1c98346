/* SPDX-License-Identifier: BSD-2-Clause */
/* What weir top makes of answers: rates, order, pages, keys; and that no name reaches a terminal
 * as it is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "weir/top/model.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { WIDTH = 80, HEIGHT = 24, FIRST_ROW = 6 };
#define SECOND 1000000000LL

static void take(struct top *top, json_t *answer, int expected)
{
	assert_non_null(answer);
	assert_int_equal(top_take(top, answer), expected);
	json_decref(answer);
}

static json_t *node(long long started_ns, int generation, long long dropped)
{
	return json_pack(
		"{s:s, s:s, s:I, s:i, s:f, s:[{s:s, s:s}], s:{s:{s:I, s:I}, s:{s:I, s:I}}, "
		"s:{s:I, s:I}, s:{s:i, s:i, s:i, s:i}, s:i, s:i}",
		"node", "lb1", "version", "1", "started_ns", (json_int_t)started_ns, "generation",
		generation, "uptime_s", 3700.0, "interfaces", "name", "eth0", "xdp", "native",
		"verdicts", "forwarded", "packets", (json_int_t)5000, "bytes", (json_int_t)500000,
		"denied", "packets", (json_int_t)dropped, "bytes", (json_int_t)dropped * 100,
		"flows", "used", (json_int_t)12, "entries", (json_int_t)1048576, "routing", "vips",
		3, "announced", 2, "routers", 2, "routers_up", 1, "backends", 10, "usable", 9);
}

/* Of three services, each by packets; `names`: with these. */
static json_t *services(long long seconds, bool names, const long long packets[3])
{
	json_t *list = json_pack("{s:[I,I,I], s:[I,I,I], s:[i,i,i], s:[i,i,i]}", "packets",
				 (json_int_t)packets[0], (json_int_t)packets[1],
				 (json_int_t)packets[2], "bytes", (json_int_t)packets[0] * 100,
				 (json_int_t)packets[1] * 100, (json_int_t)packets[2] * 100,
				 "usable", 2, 1, 0, "backends", 2, 2, 2);

	if (names)
		json_object_update_new(list, json_pack("{s:[s,s,s], s:[s,s,s]}", "names", "web",
						       "dns", "mail", "pools", "p1", "p2", "p3"));
	return json_pack("{s:o, s:I, s:o}", "node", node(1, 1, seconds * 10), "clock_ns",
			 (json_int_t)(seconds * SECOND), "services", list);
}

static void begin(struct top *top)
{
	top_init(top);
	take(top, services(1, true, (long long[]){1000, 2000, 3000}), 0);
	take(top, services(3, false, (long long[]){1400, 2100, 3000}), 0);
}

static const char *line(struct top *top, size_t at)
{
	static struct top_line lines[TOP_HEIGHT_MAX];

	top_render(top, lines, WIDTH, HEIGHT);
	return lines[at].text;
}

static void assert_line(struct top *top, size_t at, const char *part)
{
	if (!strstr(line(top, at), part))
		fail_msg("line %zu is \"%s\", without \"%s\"", at, line(top, at), part);
}

static void test_meters(void **state)
{
	struct top_meter meter = {0};

	(void)state;
	top_meter_read(&meter, 1000, 5000, 0);
	assert_false(meter.has_rate);
	top_meter_read(&meter, 1500, 6000, SECOND / 2);
	assert_true(meter.has_rate);
	assert_float_equal(meter.packets_s, 1000, 1e-6);
	assert_float_equal(meter.bits_s, 16000, 1e-6);
	/* It counts anew: nothing is known of the time between. */
	top_meter_read(&meter, 10, 100, SECOND);
	assert_false(meter.has_rate);
	top_meter_read(&meter, 10, 100, SECOND);
	assert_true(meter.has_rate);
	assert_float_equal(meter.packets_s, 0, 1e-6);
}

static void test_texts(void **state)
{
	static const struct {
		double value;
		const char *text;
	} numbers[] =
		{
			{0, "0"},         {7, "7"},          {2.5, "2.50"},     {99.96, "100"},
			{999.4, "999"},   {999.6, "1.00k"},  {12345, "12.3k"},  {999600, "1.00M"},
			{5.2e6, "5.20M"}, {1.23e11, "123G"}, {1.8e19, "18.0E"}, {9.9e21, "9900E"},
		},
	  times[] = {
		  {-1, "0s"},      {59.9, "59s"},    {61, "1m01s"},
		  {3660, "1h01m"}, {90000, "1d01h"}, {1e13, "0s"},
	  };
	char text[TOP_NUMBER_MAX], clean[16];

	(void)state;
	for (size_t i = 0; i < LENGTH(numbers); i++)
		assert_string_equal(top_number(numbers[i].value, text), numbers[i].text);
	for (size_t i = 0; i < LENGTH(times); i++)
		assert_string_equal(top_time(times[i].value, text), times[i].text);
	top_clean("a\x1b[2J\nb\x7f", clean, sizeof(clean));
	assert_string_equal(clean, "a?[2J?b?");
	top_clean("\xc2\x9b"
		  "31m\xe2\x82\xac",
		  clean, sizeof(clean));
	assert_string_equal(clean, "?31m?");
	top_clean("a text that is too long", clean, sizeof(clean));
	assert_string_equal(clean, "a text that is ");
}

static void test_services(void **state)
{
	struct top top;

	(void)state;
	begin(&top);
	assert_line(&top, 0, "lb1  generation 1");
	assert_line(&top, 0, "up 1h01m  xdp: eth0 native");
	assert_line(&top, 2, "drops:  denied 10/s");
	assert_line(&top, 3, "routers 1/2 up  VIPs 2/3 out  usable 9/10");
	assert_line(&top, 4, "services 1-3 of 3  by packets");
	/* 400 packets in two seconds. */
	assert_line(&top, FIRST_ROW, "web ");
	assert_line(&top, FIRST_ROW, " 200 ");
	assert_line(&top, FIRST_ROW, " 160k ");
	assert_line(&top, FIRST_ROW, " 2/2 ");
	assert_line(&top, FIRST_ROW + 1, "dns ");
	assert_line(&top, FIRST_ROW + 2, "mail ");
	top_press(&top, 't');
	assert_line(&top, FIRST_ROW, "mail ");
	top_press(&top, 'u');
	assert_line(&top, FIRST_ROW, "mail ");
	assert_line(&top, FIRST_ROW + 2, "web ");
	top_press(&top, 'n');
	assert_line(&top, FIRST_ROW, "dns ");
	top_press(&top, 'r');
	assert_line(&top, FIRST_ROW, "web ");
	assert_line(&top, 4, "by name, reversed");
	assert_line(&top, HEIGHT - 1, "q quit");
	for (size_t i = 0; i < HEIGHT; i++)
		assert_true(strlen(line(&top, i)) <= WIDTH);
	top_fini(&top);
}

/* Another configuration, another daemon: names are asked for, and no rate is made of two things. */
static void test_generations(void **state)
{
	struct top top;
	json_t *answer, *question;

	(void)state;
	begin(&top);
	answer = services(4, false, (long long[]){1400, 2100, 3000});
	json_object_set_new(answer, "node", node(1, 2, 0));
	take(&top, answer, -EAGAIN);
	question = top_question(&top);
	assert_int_equal(json_integer_value(json_object_get(question, "generation")), -1);
	json_decref(question);
	answer = services(5, true, (long long[]){2400, 2100, 3000});
	json_object_set_new(answer, "node", node(1, 2, 0));
	json_array_set_new(json_object_get(json_object_get(answer, "services"), "names"), 1,
			   json_string("other"));
	take(&top, answer, 0);
	assert_true(top.services.rows[0].meter.has_rate);
	assert_false(top.services.rows[1].meter.has_rate);
	/* The same generation of the next daemon. */
	answer = services(6, false, (long long[]){1, 1, 1});
	json_object_set_new(answer, "node", node(2, 2, 0));
	take(&top, answer, -EAGAIN);
	/* No answer at all, or one of another kind. */
	take(&top, json_pack("{s:i}", "x", 1), -EPROTO);
	take(&top, json_pack("{s:{}, s:i}", "node", "clock_ns", 0), -EPROTO);
	take(&top,
	     json_pack("{s:o, s:I, s:i}", "node", node(2, 2, 0), "clock_ns", (json_int_t)7,
		       "services", 3),
	     -EAGAIN);
	top_fini(&top);
}

static void test_filter(void **state)
{
	struct top top;

	(void)state;
	begin(&top);
	assert_int_equal(top_press(&top, '/'), TOP_DRAW);
	top_press(&top, 'q'); /* is a letter now */
	assert_line(&top, 4, "services 0-0 of 0  with \"q_\"");
	assert_int_equal(top_press(&top, TOP_KEY_ENTER), TOP_DRAW);
	assert_int_equal(top_press(&top, TOP_KEY_ENTER), TOP_STAYS); /* there is no row */
	top_press(&top, '/');
	top_press(&top, TOP_KEY_BACK);
	top_press(&top, TOP_KEY_BACK);
	top_press(&top, 'm');
	assert_line(&top, FIRST_ROW, "mail ");
	assert_line(&top, 4, "1-1 of 1");
	for (int i = 0; i < 2 * TOP_FILTER_MAX; i++)
		top_press(&top, 'x');
	assert_int_equal(strlen(top.filter), TOP_FILTER_MAX - 1);
	top_press(&top, TOP_KEY_ESCAPE);
	assert_line(&top, 4, "1-3 of 3");
	assert_int_equal(top_press(&top, 'q'), TOP_QUIT);
	top_fini(&top);
}

static json_t *backends(long long seconds, long long packets)
{
	return json_pack(
		"{s:o, s:I, s:{s:s, s:i, s:[{s:s, s:s, s:s, s:s, s:b, s:f, s:I, s:I, s:I}, "
		"{s:s, s:s, s:s, s:s, s:b, s:f, s:I, s:I, s:I}]}}",
		"node", node(1, 1, 0), "clock_ns", (json_int_t)(seconds * SECOND), "pool", "pool",
		"p2", "total", 5000, "list", "name", "b1", "address", "10.0.0.1", "health",
		"healthy", "state", "active", "usable", true, "share", 75.0, "flows", (json_int_t)7,
		"packets", (json_int_t)packets, "bytes", (json_int_t)0, "name", "b2", "address",
		"10.0.0.2", "health", "healthy", "state", "drain", "usable", false, "share", 25.0,
		"flows", (json_int_t)0, "packets", (json_int_t)packets * 2, "bytes", (json_int_t)0);
}

static void test_backends(void **state)
{
	struct top top;
	json_t *question;

	(void)state;
	begin(&top);
	top_press(&top, TOP_KEY_DOWN);
	assert_int_equal(top_press(&top, TOP_KEY_ENTER), TOP_ASK);
	question = top_question(&top);
	assert_string_equal(json_string_value(json_object_get(question, "service")), "dns");
	json_decref(question);
	take(&top, backends(4, 100), 0);
	assert_line(&top, FIRST_ROW, " - ");
	take(&top, backends(5, 200), 0);
	assert_line(&top, 4, "dns, pool p2: the first 2 of 5000 backends 1-2 of 2");
	assert_line(&top, FIRST_ROW, "b2 ");
	assert_line(&top, FIRST_ROW, "drain healthy");
	assert_line(&top, FIRST_ROW, " 200 ");
	assert_line(&top, FIRST_ROW + 1, "b1 ");
	assert_line(&top, FIRST_ROW + 1, "75.00%");
	take(&top,
	     json_pack("{s:o, s:I, s:n}", "node", node(1, 1, 0), "clock_ns",
		       (json_int_t)(6 * SECOND), "pool"),
	     0);
	assert_line(&top, 4, "there is no such service any more");
	assert_int_equal(top_press(&top, TOP_KEY_ESCAPE), TOP_ASK);
	assert_int_equal(top.selected, 1);
	/* What was counted meanwhile is not the last second's. */
	take(&top, services(60, false, (long long[]){9999, 9999, 9999}), 0);
	assert_false(top.services.rows[0].meter.has_rate);
	top_fini(&top);
}

static json_t *many(int count, long long seconds)
{
	json_t *names = json_array(), *pools = json_array(), *packets = json_array();
	json_t *answer = services(seconds, true, (long long[]){0, 0, 0});
	json_t *list = json_object_get(answer, "services");

	for (int i = 0; i < count; i++) {
		json_array_append_new(names, json_sprintf("s%04d", i));
		json_array_append_new(pools, json_string("p"));
		json_array_append_new(packets, json_integer(i * seconds));
	}
	json_object_set(list, "bytes", packets);
	json_object_set(list, "usable", packets);
	json_object_set(list, "backends", packets);
	json_object_set_new(list, "packets", packets);
	json_object_set_new(list, "names", names);
	json_object_set_new(list, "pools", pools);
	return answer;
}

static void test_pages(void **state)
{
	const size_t page = HEIGHT - 7;
	struct top top;

	(void)state;
	top_init(&top);
	take(&top, many(1000, 1), 0);
	take(&top, many(1000, 2), 0);
	assert_line(&top, FIRST_ROW, "s0999");
	assert_int_equal(top.page, page);
	top_press(&top, TOP_KEY_PAGE_DOWN);
	assert_int_equal(top.selected, page);
	top_press(&top, TOP_KEY_END);
	assert_line(&top, HEIGHT - 2, "s0000");
	top_press(&top, TOP_KEY_DOWN);
	assert_int_equal(top.selected, 999);
	/* The selection goes with its row. */
	top_press(&top, 'n');
	assert_int_equal(top.selected, 0);
	assert_line(&top, FIRST_ROW, "s0000");
	top_press(&top, TOP_KEY_UP);
	assert_int_equal(top.selected, 0);
	top_press(&top, TOP_KEY_HOME);
	assert_false(top.follows);
	/* Fewer than there were, and none. */
	top_press(&top, TOP_KEY_END);
	take(&top, many(3, 3), 0);
	assert_int_equal(top.selected, 2);
	assert_line(&top, FIRST_ROW + 2, "s0002");
	take(&top, many(0, 4), 0);
	assert_line(&top, 4, "services 0-0 of 0");
	top_fini(&top);
}

/* Screens of any size. */
static void test_sizes(void **state)
{
	static struct top_line lines[TOP_HEIGHT_MAX];
	struct top top;

	(void)state;
	begin(&top);
	for (size_t width = 1; width < TOP_WIDTH_MAX + 100; width += 13) {
		for (size_t height = 1; height < TOP_HEIGHT_MAX; height += 7) {
			top_render(&top, lines, width, height);
			for (size_t i = 0; i < height; i++)
				assert_true(strlen(lines[i].text) <= width);
		}
	}
	top_fini(&top);
}

/* Whatever a node says, only what a screen may have comes out. */
static void test_hostile(void **state)
{
	static struct top_line lines[TOP_HEIGHT_MAX];
	const char *bad = "\x1b]0;x\x07\x1b[2J\xc2\x9b"
			  "31m\r\n\x7f";
	struct top top;
	json_t *answer, *list;

	(void)state;
	top_init(&top);
	for (int i = 0; i < 2; i++) {
		answer = services(1 + i, true, (long long[]){1, 2, 3});
		list = json_object_get(answer, "services");
		for (size_t k = 0; k < 3; k++) {
			json_array_set_new(json_object_get(list, "names"), k, json_string(bad));
			json_array_set_new(json_object_get(list, "pools"), k, json_string(bad));
		}
		json_array_set_new(json_object_get(list, "packets"), 0, json_integer(-5));
		json_array_set_new(json_object_get(list, "usable"), 0, json_string("x"));
		json_object_set_new(json_object_get(answer, "node"), "node", json_string(bad));
		json_object_set_new(json_object_get(answer, "node"), "version", json_integer(7));
		take(&top, answer, 0);
	}
	top_render(&top, lines, WIDTH, HEIGHT);
	for (size_t i = 0; i < HEIGHT; i++) {
		for (const char *c = lines[i].text; *c; c++)
			assert_true(*c >= 0x20 && *c < 0x7f);
	}
	top_fini(&top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meters),   cmocka_unit_test(test_texts),
		cmocka_unit_test(test_services), cmocka_unit_test(test_generations),
		cmocka_unit_test(test_filter),   cmocka_unit_test(test_backends),
		cmocka_unit_test(test_pages),    cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
