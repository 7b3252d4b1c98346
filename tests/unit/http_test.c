/* SPDX-License-Identifier: BSD-2-Clause */
/* The admin port: the server on the test's loop and its own thread, clients on raw sockets here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../lib/loop.h"
#include "admin/http.h"
#include "admin/http_words.h"

enum { WAIT_MS = 20000 };

static uv_loop_t loop;
static struct http *http;
static uint16_t port;
static unsigned handled;
static struct http_exchange *held[HTTP_WAITING_MAX + 8];
static size_t held_count;
static uint32_t request_ms;

/* --- routes --- */

static void echo(void *arg, struct http_exchange *exchange)
{
	char text[256];
	uint64_t number = 0;
	int code = http_query_number(exchange, "n", 7, 100, &number);

	assert_ptr_equal(arg, &handled);
	handled++;
	snprintf(text, sizeof(text), "rest=%s q=%s n=%llu code=%d open=%d", http_rest(exchange),
		 http_query(exchange, "q") ?: "none", (unsigned long long)number, code,
		 http_wants_openmetrics(exchange));
	http_reply_text(exchange, 200, text);
}

static void at_once(void *arg, struct http_exchange *exchange)
{
	(void)arg;
	http_reply_text(exchange, 503, "at once");
}

static void hold(void *arg, struct http_exchange *exchange)
{
	(void)arg;
	held[held_count++] = exchange;
}

enum { LARGE = 32 * 1024 * 1024 };

static void large(void *arg, struct http_exchange *exchange)
{
	char *text = calloc(1, LARGE);
	struct http_response response = {.type = "text/plain"};

	(void)arg;
	response.shared = http_body_new(text, LARGE);
	http_reply(exchange, &response);
}

static const struct http_route routes[] = {
	{.path = "/",
	 .type = "text/html",
	 .body = "<p>",
	 .length = 3,
	 .etag = "\"1\"",
	 .cache = "max-age=60"},
	{.path = "/echo", .handler = echo, .arg = &handled},
	{.path = "/echo/", .prefix = true, .handler = echo, .arg = &handled},
	{.path = "/once", .at_once = true, .handler = at_once},
	{.path = "/hold", .handler = hold},
	{.path = "/large", .handler = large},
};

static int listen_at(const char *address, struct err *err)
{
	struct http_spec spec = {.routes = routes,
				 .route_count = sizeof(routes) / sizeof(routes[0]),
				 .request_ms = request_ms,
				 .answer_ms = request_ms};

	assert_int_equal(addr_parse(address, &spec.address), 0);
	spec.port = port;
	return http_open(&loop, &spec, &http, err);
}

/* A port that nobody has: of the kernel's choice, and given back at once. */
static uint16_t free_port(void)
{
	struct sockaddr_storage name;
	struct addr local;
	socklen_t length = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	addr_parse("127.0.0.1", &local);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, addr_sockaddr(&local, 0, &name)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &length), 0);
	close(fd);
	return (uint16_t)(((uint8_t *)&name)[2] << 8 | ((uint8_t *)&name)[3]);
}

static int set_up(void **state)
{
	struct err err = {0};

	request_ms = *state ? WAIT_MS : 1000;
	uv_loop_init(&loop);
	handled = 0;
	held_count = 0;
	port = free_port();
	if (listen_at("127.0.0.1", &err))
		fail_msg("%s", err.text);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < held_count; i++)
		http_drop(held[i]);
	http_close(http);
	uv_run(&loop, UV_RUN_DEFAULT);
	return uv_loop_close(&loop);
}

/* --- clients --- */

static int dial(void)
{
	struct sockaddr_storage name;
	struct addr local;
	socklen_t length;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	addr_parse("127.0.0.1", &local);
	length = addr_sockaddr(&local, port, &name);
	assert_int_equal(connect(fd, (struct sockaddr *)&name, length), 0);
	return fd;
}

static void put(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Until it is closed, while the loop runs; into `text`, cut to its room. */
static void receive(int fd, char *text, size_t room)
{
	uint64_t end_ns = uv_hrtime() + WAIT_MS * 1000000ULL;
	size_t length = 0;

	for (;;) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		char waste[65536];
		ssize_t got;

		assert_true(uv_hrtime() < end_ns);
		uv_run(&loop, UV_RUN_NOWAIT);
		if (poll(&ready, 1, 5) <= 0)
			continue;
		got = recv(fd, waste, sizeof(waste), MSG_DONTWAIT);
		if (got <= 0)
			break;
		for (ssize_t i = 0; i < got && length + 1 < room; i++)
			text[length++] = waste[i];
	}
	text[length] = '\0';
	close(fd);
}

static char answer[8192];

static const char *ask(const char *request)
{
	int fd = dial();

	put(fd, request);
	receive(fd, answer, sizeof(answer));
	return answer;
}

#define GET(target)                                                           \
	ask("GET " target " HTTP/1.1\r\nHost: localhost\r\nConnection: close" \
	    "\r\n\r\n")

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in: %s", part, text);
}

/* --- tests --- */

static void test_routes(void **state)
{
	(void)state;
	assert_has(GET("/"), "200 OK");
	assert_has(answer, "\r\n\r\n<p>");
	assert_has(answer, "Content-Type: text/html\r\n");
	assert_has(answer, "Cache-Control: max-age=60\r\n");
	assert_has(GET("/echo"), "rest= q=none n=7 code=0 open=0");
	assert_has(answer, "Cache-Control: no-store\r\n");
	assert_has(GET("/echo/a%20b?q=x%26y&n=100"), "rest=a b q=x&y n=100 code=0");
	assert_has(GET("/echo?n=101"), "code=-22");
	assert_has(GET("/once"), "503");
	assert_has(answer, "at once");
	assert_has(GET("/nothing"), "404");
	assert_has(GET("/../../etc/passwd"), "404");
	assert_has(GET("/%2e%2e/%2e%2e/etc/passwd"), "404");
	assert_has(GET("//"), "404");
	assert_int_equal(handled, 3);
}

static void test_security_headers(void **state)
{
	const char *const targets[] = {"/", "/echo", "/nothing"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char request[128];

		snprintf(request, sizeof(request),
			 "GET %s HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n"
			 "Connection: close\r\n\r\n",
			 targets[i]);
		ask(request);
		assert_has(answer, "X-Content-Type-Options: nosniff\r\n");
		assert_has(answer, "Content-Security-Policy: default-src 'none'");
		assert_has(answer, "X-Frame-Options: DENY\r\n");
		assert_null(strstr(answer, "Access-Control"));
	}
}

static void test_methods(void **state)
{
	(void)state;
	ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
	assert_has(answer, "405");
	assert_has(answer, "Allow: GET, HEAD\r\n");
	ask("OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	assert_has(answer, "405");
	ask("HEAD /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	assert_has(answer, "200 OK");
	assert_null(strstr(answer, "rest="));
	ask("GET /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n");
	assert_has(answer, "400");
	assert_int_equal(handled, 1);
	assert_int_equal(http_counts(http).denied, 3);
}

static void test_hosts(void **state)
{
	(void)state;
	assert_has(ask("GET / HTTP/1.1\r\nHost: evil.example:9700\r\nConnection: close\r\n\r\n"),
		   "403");
	assert_has(ask("GET / HTTP/1.1\r\nConnection: close\r\n\r\n"), "400");
	assert_has(ask("GET / HTTP/1.0\r\n\r\n"), "200 OK");
	assert_has(ask("GET / HTTP/1.1\r\nHost: [::1]:1\r\nConnection: close\r\n\r\n"), "200 OK");
}

static void test_same_tag(void **state)
{
	(void)state;
	ask("GET / HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \"1\"\r\n"
	    "Connection: close\r\n\r\n");
	assert_has(answer, "304");
	assert_has(answer, "ETag: \"1\"\r\n");
	assert_null(strstr(answer, "<p>"));
}

static void test_keep_alive(void **state)
{
	int fd = dial();

	(void)state;
	put(fd, "GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n"
		"GET /echo?q=2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	receive(fd, answer, sizeof(answer));
	assert_has(answer, "q=none");
	assert_has(answer, "q=2");
}

static void test_port_in_use(void **state)
{
	struct http *first = http;
	struct err err = {0};

	(void)state;
	assert_int_equal(listen_at("127.0.0.1", &err), -EADDRINUSE);
	assert_has(err.text, "another process has the port");
	assert_ptr_equal(http, first);
	assert_int_equal(listen_at("192.0.2.200", &err), -EADDRNOTAVAIL);
	assert_has(err.text, "this host has no such address");
}

/* A request that is never whole is cut, even if it goes on and on. */
static void test_slow_request(void **state)
{
	uint64_t end_ns = uv_hrtime() + WAIT_MS * 1000000ULL;
	int fd = dial();
	ssize_t got = -1;

	(void)state;
	put(fd, "GET /echo HTTP/1.1\r\n");
	while (got != 0) {
		char byte;

		assert_true(uv_hrtime() < end_ns);
		uv_run(&loop, UV_RUN_NOWAIT);
		poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 50);
		if (send(fd, "X", 1, MSG_NOSIGNAL) < 0)
			break;
		got = recv(fd, &byte, 1, MSG_DONTWAIT);
		if (got < 0 && errno == ECONNRESET)
			break;
	}
	close(fd);
	assert_int_equal(http_counts(http).timed_out, 1);
	assert_int_equal(handled, 0);
}

static void test_large_request(void **state)
{
	int fd = dial();
	size_t sent = 0;

	(void)state;
	put(fd, "GET /echo HTTP/1.1\r\nHost: localhost\r\nX: ");
	while (sent < 1024 * 1024) {
		char block[4096];
		ssize_t now;

		memset(block, 'x', sizeof(block));
		now = send(fd, block, sizeof(block), MSG_NOSIGNAL);
		if (now < 0)
			break;
		sent += (size_t)now;
	}
	receive(fd, answer, sizeof(answer));
	assert_int_equal(handled, 0);
	assert_has(GET("/echo"), "200 OK");
}

/* Who says nothing gives way to who does. */
static void test_many_connections(void **state)
{
	int silent[3 * HTTP_CLIENTS_MAX];
	size_t count = sizeof(silent) / sizeof(silent[0]);

	(void)state;
	for (size_t i = 0; i < count; i++)
		silent[i] = dial();
	assert_has(GET("/echo"), "200 OK");
	assert_true(http_counts(http).refused >= HTTP_CLIENTS_MAX);
	assert_true(http_counts(http).clients <= HTTP_CLIENTS_MAX + 8);
	for (size_t i = 0; i < count; i++)
		close(silent[i]);
}

static bool all_held(void *arg)
{
	return held_count >= *(size_t *)arg;
}

/* What a handler keeps is answered when it likes; while it is late others are served. */
static void test_held(void **state)
{
	size_t two = 2;
	int fds[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		fds[i] = dial();
		put(fds[i], "GET /hold HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	}
	assert_true(loop_until(&loop, all_held, &two));
	assert_has(GET("/echo"), "200 OK");
	http_reply_text(held[0], 200, "late");
	http_drop(held[1]);
	held_count = 0;
	for (size_t i = 0; i < 2; i++) {
		receive(fds[i], answer, sizeof(answer));
		assert_true(strstr(answer, "late") || strstr(answer, " 503 "));
	}
}

/* The loop does not turn: who waits is told, and so is who would be one too many. */
static void test_stuck_loop(void **state)
{
	size_t count = HTTP_WAITING_MAX + 4, full = 0;
	int fds[HTTP_WAITING_MAX + 4];

	(void)state;
	for (size_t i = 0; i < count; i++) {
		fds[i] = dial();
		put(fds[i], "GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	}
	for (size_t i = 0; i < count; i++) {
		ssize_t got, length = 0;

		while ((got = recv(fds[i], answer + length, 4096, 0)) > 0)
			length += got;
		answer[length] = '\0';
		assert_has(answer, " 503 ");
		assert_has(answer, "Retry-After: 1\r\n");
		full++;
		close(fds[i]);
	}
	assert_int_equal(full, count);
	assert_int_equal(handled, 0);
	assert_int_equal(http_counts(http).busy, count);
	assert_has(GET("/echo"), "200 OK");
}

/* Answers that nobody reads are not made without end. */
static void test_slow_readers(void **state)
{
	int fds[HTTP_HELD_MAX / LARGE + 2];
	size_t count = sizeof(fds) / sizeof(fds[0]);
	uint64_t end_ns = uv_hrtime() + WAIT_MS * 1000000ULL;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		fds[i] = dial();
		put(fds[i], "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
	}
	while (http_counts(http).requests < count) {
		assert_true(uv_hrtime() < end_ns);
		uv_run(&loop, UV_RUN_NOWAIT);
		poll(NULL, 0, 5);
	}
	assert_true(http_counts(http).busy >= 2);
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	assert_has(GET("/echo"), "200 OK");
}

static void test_host_words(void **state)
{
	static const char *const good[] = {"localhost",   "LocalHost:9700", "127.0.0.1",
					   "127.9.9.9:1", "[::1]",          "[::1]:65535"};
	static const char *const bad[] = {"",
					  "evil.example",
					  "localhost.evil.example",
					  "localhost:",
					  "localhost:x",
					  "127.0.0.1.evil.example",
					  "[::1",
					  "[::1]x",
					  "::1",
					  "[127.0.0.1]",
					  "[localhost]",
					  "10.0.0.1",
					  "0.0.0.0",
					  "127.0.0.1:123456",
					  "[::ffff:127.0.0.1]"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(http_host_is_local(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(http_host_is_local(bad[i]));
}

static void test_accept_words(void **state)
{
	(void)state;
	assert_true(http_accept_openmetrics(
		"application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
		"version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
	assert_true(http_accept_openmetrics("application/openmetrics-text"));
	assert_false(http_accept_openmetrics("text/plain;version=0.0.4, */*"));
	assert_false(http_accept_openmetrics("application/openmetrics-text;q=0"));
	assert_false(http_accept_openmetrics("application/openmetrics-text;q=0.2,text/plain"));
	assert_false(http_accept_openmetrics("application/openmetrics-text;q=2"));
	assert_false(http_accept_openmetrics("*/*"));
	assert_false(http_accept_openmetrics(",;,;=,"));
	assert_false(http_accept_openmetrics(""));
}

static void test_other_words(void **state)
{
	uint64_t number;

	(void)state;
	assert_true(http_tag_matches("\"a\", W/\"b\"", "\"b\""));
	assert_true(http_tag_matches("*", "\"b\""));
	assert_false(http_tag_matches("\"bb\"", "\"b\""));
	assert_false(http_tag_matches("", "\"b\""));
	assert_int_equal(http_number_parse("18446744073709551615", UINT64_MAX, &number), 0);
	assert_int_equal(http_number_parse("18446744073709551616", UINT64_MAX, &number), -EINVAL);
	assert_int_equal(http_number_parse("-1", UINT64_MAX, &number), -EINVAL);
	assert_int_equal(http_number_parse("", UINT64_MAX, &number), -EINVAL);
	assert_int_equal(http_number_parse("1 ", UINT64_MAX, &number), -EINVAL);
}

#define TEST(name)    cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define PATIENT(name) cmocka_unit_test_prestate_setup_teardown(name, set_up, tear_down, &request_ms)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PATIENT(test_routes),
		PATIENT(test_security_headers),
		PATIENT(test_methods),
		PATIENT(test_hosts),
		PATIENT(test_same_tag),
		PATIENT(test_keep_alive),
		PATIENT(test_port_in_use),
		TEST(test_slow_request),
		PATIENT(test_large_request),
		PATIENT(test_many_connections),
		TEST(test_held),
		TEST(test_stuck_loop),
		PATIENT(test_slow_readers),
		cmocka_unit_test(test_host_words),
		cmocka_unit_test(test_accept_words),
		cmocka_unit_test(test_other_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
