/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A text fetched from servers of the test's own, on a thread beside the loop, which answer rightly,
 * wrongly, without an end, or not at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../lib/loop.h"
#include "health/fetch.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { BODY_MAX = 10000, PATIENT_MS = 20000, MANY = 40 };

enum after { CLOSES, STAYS, GOES_ON };

/* What every request is answered with. */
static struct {
	int listener;
	uint16_t port;
	pthread_t thread;
	const char *answer; /* what is sent; of what goes on the second text, over and over */
	const char *more;
	enum after after;
	char request[1024]; /* the last */
} server;

static struct {
	unsigned calls;
	char error[256];
	char body[BODY_MAX + 1];
	size_t length;
} got;

static uv_loop_t loop;
static struct fetches *fetches;

/* --- the server --- */

static bool send_all(int fd, const char *text)
{
	return send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

static void serve(int fd)
{
	size_t used = 0;
	ssize_t length = 1;
	char byte;

	server.request[0] = '\0';
	while (length > 0 && !strstr(server.request, "\r\n\r\n")) {
		length = recv(fd, server.request + used, sizeof(server.request) - 1 - used, 0);
		used += length > 0 ? (size_t)length : 0;
		server.request[used] = '\0';
	}
	if (length > 0 && send_all(fd, server.answer) && server.after != CLOSES) {
		while (server.after == GOES_ON && send_all(fd, server.more))
			;
		/* Until the client has had enough. */
		while (recv(fd, &byte, 1, 0) > 0)
			;
	}
	close(fd);
}

static void *run(void *arg)
{
	int fd;

	(void)arg;
	while ((fd = accept(server.listener, NULL, NULL)) >= 0)
		serve(fd);
	return NULL;
}

static int set_up(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t length = sizeof(at);

	(void)state;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(server.listener, (struct sockaddr *)&at, sizeof(at)) ||
	    listen(server.listener, 64) ||
	    getsockname(server.listener, (struct sockaddr *)&at, &length))
		return -1;
	server.port = ntohs(at.sin_port);
	if (pthread_create(&server.thread, NULL, run, NULL))
		return -1;
	return uv_loop_init(&loop) || fetches_open(&loop, &fetches);
}

static int tear_down(void **state)
{
	(void)state;
	shutdown(server.listener, SHUT_RDWR);
	pthread_join(server.thread, NULL);
	close(server.listener);
	fetches_close(fetches);
	uv_run(&loop, UV_RUN_DEFAULT);
	return uv_loop_close(&loop);
}

/* --- the client --- */

static void on_done(void *arg, const char *error, const char *body, size_t length)
{
	(void)arg;
	got.calls++;
	snprintf(got.error, sizeof(got.error), "%s", error ? error : "");
	got.length = length;
	assert_true(length <= BODY_MAX);
	if (body)
		memcpy(got.body, body, length);
	got.body[length] = '\0';
}

static bool has_calls(void *arg)
{
	return got.calls >= *(const unsigned *)arg;
}

static struct fetch *start(uint16_t port, uint32_t timeout_ms)
{
	struct fetch_spec spec = {.port = port,
				  .path = "/api/v1/connections",
				  .timeout_ms = timeout_ms,
				  .body_max = BODY_MAX};
	struct fetch *fetch = NULL;

	assert_int_equal(addr_parse("127.0.0.1", &spec.address), 0);
	assert_int_equal(fetch_start(fetches, &spec, on_done, NULL, &fetch), 0);
	return fetch;
}

static void fetch_one(uint16_t port, uint32_t timeout_ms)
{
	unsigned one = 1;

	got.calls = 0;
	start(port, timeout_ms);
	assert_int_equal(got.calls, 0);
	assert_true(loop_until(&loop, has_calls, &one));
	assert_int_equal(got.calls, 1);
}

#define OK "HTTP/1.1 200 OK\r\n"

static void test_bodies(void **state)
{
	static const struct {
		const char *answer, *body;
	} cases[] = {
		{OK "Content-Length: 5\r\n\r\nhello", "hello"},
		{OK "\r\nuntil the end", "until the end"},
		{OK "Content-Length: 0\r\n\r\n", ""},
		{OK "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "abcde"},
		{"HTTP/1.1 100 Continue\r\n\r\n" OK "Content-Length: 1\r\n\r\nx", "x"},
	};

	(void)state;
	server.after = CLOSES;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		server.answer = cases[i].answer;
		fetch_one(server.port, PATIENT_MS);
		assert_string_equal(got.error, "");
		assert_int_equal(got.length, strlen(cases[i].body));
		assert_string_equal(got.body, cases[i].body);
	}
	assert_non_null(strstr(server.request, "GET /api/v1/connections HTTP/1.1\r\n"));
	assert_non_null(strstr(server.request, "Host: 127.0.0.1:"));
	assert_non_null(strstr(server.request, "User-Agent: weir/"));
}

static void test_refusals(void **state)
{
	static const struct {
		const char *answer, *why;
	} cases[] = {
		{"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello",
		 "status 404, expected 200"},
		{"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
		 "status 301, expected 200"},
		{"HTTP/1.1 204 No Content\r\n\r\n", "status 204, expected 200"},
		{"SSH-2.0-OpenSSH_9.2\r\n", "HTTP/0.9"},
		{"", "Empty reply"},
		{OK "Content-Length: 50\r\n\r\nshort", "45 bytes remaining to read"},
		{OK "Content-Length: 10001\r\n\r\n", ""},
	};

	(void)state;
	server.after = CLOSES;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		server.answer = cases[i].answer;
		fetch_one(server.port, PATIENT_MS);
		if (!*got.error || !strstr(got.error, cases[i].why))
			fail_msg("%zu: \"%s\"", i, got.error);
	}
}

static void test_without_an_end(void **state)
{
	static const struct {
		const char *answer, *more, *why;
	} cases[] = {
		{OK "\r\n", "0123456789", "its answer is too long"},
		{OK "Transfer-Encoding: chunked\r\n\r\n", "4\r\nmore\r\n",
		 "its answer is too long"},
		{OK, "X-More: and more of it\r\n", "its headers are too long"},
		{OK "X-Long: ", "and longer, ", "its headers are too long"},
		{"HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
		 "its headers are too long"},
	};

	(void)state;
	server.after = GOES_ON;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		server.answer = cases[i].answer;
		server.more = cases[i].more;
		fetch_one(server.port, PATIENT_MS);
		if (!*got.error || !strstr(got.error, cases[i].why))
			fail_msg("%zu: \"%s\"", i, got.error);
	}
}

static void test_silence(void **state)
{
	static const char *const answers[] = {"", OK, OK "Content-Length: 9\r\n\r\nhello"};

	(void)state;
	server.after = STAYS;
	for (size_t i = 0; i < LENGTH(answers); i++) {
		server.answer = answers[i];
		fetch_one(server.port, 200);
		assert_string_equal(got.error, "no answer in time");
	}
}

static void test_nobody_listens(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t length = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	/* Bound, so that nobody else gets it, and not listening. */
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
	fetch_one(ntohs(at.sin_port), PATIENT_MS);
	assert_string_equal(got.error, "connection refused");
	close(fd);
}

/* What is ended calls nobody; others go on. */
static void test_some_are_cancelled(void **state)
{
	struct fetch *list[MANY];
	unsigned half = MANY / 2;

	(void)state;
	server.after = CLOSES;
	server.answer = OK "Content-Length: 2\r\n\r\nok";
	got.calls = 0;
	for (size_t i = 0; i < MANY; i++)
		list[i] = start(server.port, PATIENT_MS);
	for (size_t i = 0; i < MANY; i += 2)
		fetch_cancel(list[i]);
	assert_true(loop_until(&loop, has_calls, &half));
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(got.calls, half);
	assert_string_equal(got.body, "ok");
}

/* The end of all, by tear_down. */
static void test_some_are_left(void **state)
{
	(void)state;
	server.after = CLOSES;
	got.calls = 0;
	for (size_t i = 0; i < MANY; i++)
		start(server.port, PATIENT_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bodies),         cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_without_an_end), cmocka_unit_test(test_silence),
		cmocka_unit_test(test_nobody_listens), cmocka_unit_test(test_some_are_cancelled),
		cmocka_unit_test(test_some_are_left),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
