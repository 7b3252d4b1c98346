/* SPDX-License-Identifier: BSD-2-Clause */
/* What is kept of events: numbers, subjects, how many of one subject, what is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "weir/events/events.h"

enum { NOW_MS = 1000000 };

static void note(struct events *events, const char *subject, const char *message, uint64_t now_ms)
{
	struct event event = {.kind = "backend", .message = message, .level = LOG_INFO};

	snprintf(event.subject, sizeof(event.subject), "%s", subject);
	snprintf(event.fields, sizeof(event.fields), "pool=web backend=%s", subject);
	events_note(events, &event, now_ms);
}

static json_t *since(struct events *events, uint64_t seq, uint64_t now_ms)
{
	const struct events_wanted wanted = {.since = seq, .limit = EVENTS_LIST_MAX};

	return events_list(events, &wanted, now_ms);
}

static json_int_t number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static const json_t *event_at(const json_t *answer, size_t at)
{
	return json_array_get(json_object_get(answer, "events"), at);
}

static size_t count(const json_t *answer)
{
	return json_array_size(json_object_get(answer, "events"));
}

static void assert_text(const json_t *object, const char *key, const char *text)
{
	assert_string_equal(json_string_value(json_object_get(object, key)), text);
}

static void test_numbers(void **state)
{
	struct events *events = events_new();
	json_t *answer;

	(void)state;
	answer = since(events, 0, NOW_MS);
	assert_int_equal(count(answer), 0);
	assert_int_equal(number(answer, "next"), 0);
	json_decref(answer);
	note(events, "b1", "first", NOW_MS);
	note(events, "b2", "second", NOW_MS);
	note(events, "b3", "third", NOW_MS);
	answer = since(events, 1, NOW_MS);
	assert_int_equal(count(answer), 2);
	assert_int_equal(number(event_at(answer, 0), "seq"), 2);
	assert_text(event_at(answer, 0), "subject", "b2");
	assert_text(event_at(answer, 1), "text", "third");
	assert_text(json_object_get(event_at(answer, 1), "fields"), "backend", "b3");
	assert_int_equal(number(answer, "next"), 3);
	assert_int_equal(number(answer, "lost"), 0);
	json_decref(answer);
	/* Numbers of an earlier daemon. */
	answer = since(events, 99, NOW_MS);
	assert_int_equal(count(answer), 0);
	assert_int_equal(number(answer, "next"), 3);
	json_decref(answer);
	events_free(events);
}

static void test_newest(void **state)
{
	struct events *events = events_new();
	struct events_wanted wanted = {.newest = true, .limit = 2, .kind = "backend"};
	json_t *answer;

	(void)state;
	for (int i = 0; i < 5; i++) {
		char name[8];

		snprintf(name, sizeof(name), "b%d", i);
		note(events, name, "x", NOW_MS);
	}
	answer = events_list(events, &wanted, NOW_MS);
	assert_int_equal(count(answer), 2);
	assert_text(event_at(answer, 0), "subject", "b3");
	json_decref(answer);
	wanted.kind = "bgp";
	answer = events_list(events, &wanted, NOW_MS);
	assert_int_equal(count(answer), 0);
	assert_int_equal(number(answer, "next"), 5);
	json_decref(answer);
	/* In parts. */
	wanted = (struct events_wanted){.limit = 2};
	answer = events_list(events, &wanted, NOW_MS);
	assert_int_equal(number(answer, "next"), 2);
	assert_int_equal(number(answer, "last"), 5);
	json_decref(answer);
	events_free(events);
}

/* One that flaps is bounded, the others are kept, and its last state comes to be known. */
static void test_flapping(void **state)
{
	struct events *events = events_new();
	json_t *answer;

	(void)state;
	for (int i = 0; i < 1000; i++)
		note(events, "flaps", i % 2 ? "down" : "up", NOW_MS);
	note(events, "calm", "up", NOW_MS);
	answer = since(events, 0, NOW_MS);
	assert_int_equal(count(answer), EVENTS_BURST + 1);
	assert_int_equal(number(answer, "suppressed"), 1000 - EVENTS_BURST);
	assert_text(event_at(answer, EVENTS_BURST), "subject", "calm");
	json_decref(answer);
	/* Later: the last one, with how many there were before it. */
	answer = since(events, EVENTS_BURST + 1, NOW_MS + EVENTS_REST_MS);
	assert_int_equal(count(answer), 1);
	assert_text(event_at(answer, 0), "text", "down");
	assert_int_equal(number(event_at(answer, 0), "suppressed"), 1000 - EVENTS_BURST - 1);
	json_decref(answer);
	/* Whoever flaps for ever gets one in so much time. */
	for (uint64_t i = 0; i < 100; i++)
		note(events, "flaps", "up", NOW_MS + 2 * EVENTS_REST_MS + i * EVENTS_REST_MS / 10);
	answer = since(events, EVENTS_BURST + 2, NOW_MS + 11 * EVENTS_REST_MS);
	assert_in_range(count(answer), 9, 11);
	json_decref(answer);
	events_free(events);
}

static void test_lost(void **state)
{
	struct events *events = events_new();
	json_t *answer;

	(void)state;
	for (int i = 0; i < EVENTS_MAX + 10; i++) {
		char name[16];

		snprintf(name, sizeof(name), "b%d", i);
		/* Apart, so that none shares another's rate. */
		note(events, name, "x", NOW_MS + (uint64_t)i * EVENTS_REST_MS * EVENTS_BURST);
	}
	answer = since(events, 0, NOW_MS);
	assert_int_equal(number(answer, "lost"), 10);
	assert_int_equal(number(answer, "kept"), EVENTS_MAX);
	assert_int_equal(count(answer), EVENTS_LIST_MAX);
	assert_int_equal(number(event_at(answer, 0), "seq"), 11);
	json_decref(answer);
	events_free(events);
}

static void keep(void *arg, const struct event *event)
{
	events_note(arg, event, NOW_MS);
}

/* From a noted event to what is shown: subjects, quotes, escapes, what is too long. */
static void test_noted(void **state)
{
	struct events *events = events_new();
	const struct event_about two = {"backend", 2, LOG_DEBUG, NULL};
	const struct event_about one = {"config", 1, LOG_DEBUG, NULL};
	const struct event_about none = {"daemon", 0, LOG_DEBUG, NULL};
	char longest[2000];
	json_t *answer;

	(void)state;
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	event_keep(keep, events);
	event_note(&two, "backend is unhealthy", "pool=%s backend=%s reason=%s", "web", "b1",
		   log_quote("no \"answer\"\x1b[31m").text);
	event_note(&one, "the file is refused", "file=%s line=%d", log_quote("/a b\\c").text, 3);
	event_note(&none, "running", "pid=%d", 7);
	event_note(&one, "long", "file=%s", longest);
	event_note(&one, "long", "file=%s", log_quote(longest).text);
	event_note(&(struct event_about){NULL, 1, LOG_DEBUG, NULL}, "no news", "pid=%d", 7);
	event_keep(NULL, NULL);
	event_note(&none, "not kept", "pid=%d", 7);
	answer = since(events, 0, NOW_MS);
	assert_int_equal(count(answer), 5);
	assert_text(event_at(answer, 0), "subject", "web/b1");
	assert_text(json_object_get(event_at(answer, 0), "fields"), "reason",
		    "no \"answer\"\x1b[31m");
	assert_text(event_at(answer, 1), "subject", "/a b\\c");
	assert_int_equal(number(json_object_get(event_at(answer, 1), "fields"), "line"), 3);
	assert_text(event_at(answer, 2), "subject", "");
	assert_int_equal(json_object_size(json_object_get(event_at(answer, 2), "fields")), 1);
	assert_true(json_string_length(json_object_get(event_at(answer, 3), "subject")) <
		    EVENT_SUBJECT_MAX);
	json_decref(answer);
	events_free(events);
}

static void test_answers(void **state)
{
	static const char *const refused[] = {
		"{\"op\": \"events\", \"since\": -2}",  "{\"op\": \"events\", \"since\": \"1\"}",
		"{\"op\": \"events\", \"limit\": 501}", "{\"op\": \"events\", \"limit\": -1}",
		"{\"op\": \"events\", \"kind\": 1}",    "{\"op\": \"events\", \"other\": 1}",
	};
	struct events *events = events_new();

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		json_t *request = json_loads(refused[i], 0, NULL);
		json_t *answer = events_answer(events, request);

		assert_non_null(json_object_get(answer, "error"));
		json_decref(answer);
		json_decref(request);
	}
	events_free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),  cmocka_unit_test(test_newest),
		cmocka_unit_test(test_flapping), cmocka_unit_test(test_lost),
		cmocka_unit_test(test_noted),    cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
