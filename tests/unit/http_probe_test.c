/* SPDX-License-Identifier: BSD-2-Clause */
/* The HTTP probe against a server of the test's own, which answers as a row says: rightly, wrongly,
 * without an end, or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/health/health_world.h"

enum after { STAYS, CLOSES, GOES_ON, DRIPS, RESETS };

enum { DRIP_MS = 10 };

/* What every request is answered with. */
static struct {
	uv_tcp_t listener;
	const char *answer;
	const char *script;      /* a letter a request: S 200, F 503; after its end no answer */
	const char *script_path; /* of the requests that it answers; NULL: of all */
	enum after after;
	char request[4096]; /* the last */
	unsigned connections, open;
	size_t sent; /* of what goes on */
} server;

struct client {
	uv_tcp_t tcp;
	uv_write_t write;
	uv_timer_t drip; /* when the next byte goes out */
	char bytes[4096];
	size_t used;
};

static void on_drip_closed(uv_handle_t *handle)
{
	server.open--;
	free(handle->data);
}

static void on_client_closed(uv_handle_t *handle)
{
	struct client *client = handle->data;

	uv_close((uv_handle_t *)&client->drip, on_drip_closed);
}

static void client_close(struct client *client)
{
	if (!uv_is_closing((uv_handle_t *)&client->tcp))
		uv_close((uv_handle_t *)&client->tcp, on_client_closed);
}

static void client_answer(struct client *client);

static void on_drip(uv_timer_t *timer)
{
	client_answer(timer->data);
}

static void on_written(uv_write_t *write, int status)
{
	struct client *client = write->data;

	if (status || server.after == CLOSES)
		client_close(client);
	else if (server.after == GOES_ON)
		client_answer(client);
	else if (server.after == DRIPS)
		uv_timer_start(&client->drip, on_drip, DRIP_MS, 0);
}

static void client_answer(struct client *client)
{
	static char more[4096];
	uv_buf_t buffer =
		uv_buf_init((char *)(uintptr_t)server.answer, (unsigned)strlen(server.answer));

	/* After the first time over and over: a header, the body's last line, or all of it. */
	if (server.after == GOES_ON && client->used == SIZE_MAX) {
		const char *last = strrchr(server.answer, '\n') + 1;

		if (*last == '\0')
			last = strstr(server.answer, "\r\n\r\n") ? server.answer : "X: y\r\n";
		*more = '\0';
		while (strlen(more) + strlen(last) < sizeof(more))
			strcat(more, last);
		buffer = uv_buf_init(more, (unsigned)strlen(more));
	}
	if (server.after == DRIPS && client->used == SIZE_MAX)
		buffer = uv_buf_init((char *)(uintptr_t) "X", 1);
	client->used = SIZE_MAX;
	server.sent += buffer.len;
	client->write.data = client;
	uv_write(&client->write, (uv_stream_t *)&client->tcp, &buffer, 1, on_written);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	struct client *client = handle->data;

	(void)size;
	*buffer = client->used == SIZE_MAX
			  ? uv_buf_init(client->bytes, 1)
			  : uv_buf_init(client->bytes + client->used,
					(unsigned)(sizeof(client->bytes) - 1 - client->used));
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
	struct client *client = stream->data;

	(void)buffer;
	if (length < 0) {
		client_close(client);
		return;
	}
	if (client->used == SIZE_MAX)
		return;
	client->used += (size_t)length;
	client->bytes[client->used] = '\0';
	if (!strstr(client->bytes, "\r\n\r\n"))
		return;
	/* Of a check that has gone: its last request may be read only now. */
	if (server.script_path && !strstr(client->bytes, server.script_path))
		return;
	strcpy(server.request, client->bytes);
	if (server.script && *server.script)
		server.answer = *server.script++ == 'S'
					? "HTTP/1.1 200 Right\r\nContent-Length: 0\r\n\r\n"
					: "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
	else if (server.script)
		server.answer = NULL;
	if (server.after == RESETS)
		uv_tcp_close_reset(&client->tcp, on_client_closed);
	else if (server.answer)
		client_answer(client);
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct client *client = calloc(1, sizeof(*client));

	assert_int_equal(status, 0);
	server.connections++;
	server.open++;
	uv_tcp_init(&health_loop, &client->tcp);
	client->tcp.data = client;
	uv_timer_init(&health_loop, &client->drip);
	client->drip.data = client;
	assert_int_equal(uv_accept(listener, (uv_stream_t *)&client->tcp), 0);
	uv_read_start((uv_stream_t *)&client->tcp, on_alloc, on_read);
}

static void serve(const char *answer, enum after after)
{
	server.answer = answer;
	server.after = after;
	server.sent = 0;
}

static int set_up(void **state)
{
	struct sockaddr_storage storage;
	struct addr addr = {0};

	memset(&server, 0, sizeof(server));
	addr_parse("127.0.0.1", &addr);
	addr_sockaddr(&addr, HEALTH_PORT, &storage);
	return health_set_up(state) || uv_tcp_init(&health_loop, &server.listener) ||
	       uv_tcp_bind(&server.listener, (struct sockaddr *)&storage, 0) ||
	       uv_listen((uv_stream_t *)&server.listener, 1024, on_connection);
}

static int tear_down(void **state)
{
	uv_close((uv_handle_t *)&server.listener, NULL);
	return health_tear_down(state);
}

static struct health_bytes bytes_of(const char *text)
{
	return (struct health_bytes){text, strlen(text)};
}

static struct health_spec http_spec(void)
{
	struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_PORT);

	spec.type = HEALTH_HTTP;
	health_expect(&spec, 200);
	return spec;
}

/* One probe decides; its reason ends so, "" a success. */
static void expect(const struct health_spec *spec, const char *error)
{
	struct health_seen seen = {0};

	health_add_seen(&seen, spec);
	health_wait_state(&seen, *error ? HEALTH_UNHEALTHY : HEALTH_HEALTHY);
	assert_string_equal(seen.then.last_error, error);
	health_remove(seen.check);
}

/* --- tests --- */

#define OK "HTTP/1.1 200 Right\r\n"

static void test_answers(void **state)
{
	static const struct {
		const char *answer;
		enum after after;
		const char *error;
	} rows[] = {
		{OK "Content-Length: 0\r\n\r\n", STAYS, ""},
		{OK "Content-Length: 5\r\n\r\nhello", STAYS, ""},
		{OK "Content-Length: 5\r\n\r\nh", STAYS, ""}, /* all is known */
		{OK "\r\n", CLOSES, ""},
		{OK "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", STAYS, ""},
		{"HTTP/1.0 200\r\n\r\n", CLOSES, ""},
		{"HTTP/1.1 100 Continue\r\n\r\n" OK "Content-Length: 0\r\n\r\n", STAYS, ""},
		{"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", STAYS,
		 "status 503, expected 200"},
		{"HTTP/1.1 404 Not there\r\nContent-Length: 9\r\n\r\n", STAYS,
		 "no answer within 200 ms"},
		{"HTTP/1.1 302 There\r\nLocation: http://127.0.0.1:8080/\r\nContent-Length: "
		 "0\r\n\r\n",
		 STAYS, "status 302, expected 200"},
		{"", CLOSES, "Empty reply from server"},
		{NULL, STAYS, "no answer within 200 ms"},
		{"HTTP/1.1 200", STAYS, "no answer within 200 ms"},
		/* a byte now and then, of a header and of a body, is no answer either */
		{OK, DRIPS, "no answer within 200 ms"},
		{"HTTP/1.1 404 Not there\r\nContent-Length: 1000000000\r\n\r\n", DRIPS,
		 "status 404, expected 200"},
		{"nonsense\r\n\r\n", CLOSES, "Received HTTP/0.9 when not allowed"},
		{OK "X: y\r\n", GOES_ON, "the headers are longer than 64 KiB"},
		{"HTTP/1.1 100 Continue\r\n\r\n", GOES_ON, "the headers are longer than 64 KiB"},
		{NULL, RESETS, "Recv failure: Connection reset by peer"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct health_spec spec = http_spec();

		serve(rows[i].answer, rows[i].after);
		spec.timeout_ms = strstr(rows[i].error, "within") ? 200 : 10000;
		expect(&spec, rows[i].error);
		assert_true(server.sent < 4 * 1024 * 1024);
	}
	uv_close((uv_handle_t *)&server.listener, NULL);
	uv_run(&health_loop, UV_RUN_NOWAIT);
	{
		struct health_spec spec = http_spec();

		expect(&spec, "connection refused");
	}
	uv_tcp_init(&health_loop, &server.listener);
}

static void test_body(void **state)
{
	static const struct {
		const char *answer;
		enum after after;
		const char *error;
	} rows[] = {
		{OK "Content-Length: 5\r\n\r\nready", STAYS, ""},
		{OK "\r\nxready", CLOSES, ""},
		{OK "Content-Length: 500\r\n\r\nready", STAYS, ""},
		{OK "\r\nread", CLOSES, "the body does not contain what is expected"},
		{OK "Content-Length: 0\r\n\r\n", STAYS,
		 "the body does not contain what is expected"},
		{OK "\r\nready not\n.", GOES_ON, ""},
		{OK "\r\nnot\nrea", GOES_ON,
		 "the first 64 KiB of the body do not contain what is expected"},
		{"HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nready", STAYS,
		 "status 500, expected 200"},
		{OK "Transfer-Encoding: chunked\r\n\r\n2\r\nre\r\n1\r\na\r\n1\r\nd\r\n3\r\nyou\r\n",
		 STAYS, ""},
		{OK "Transfer-Encoding: chunked\r\n\r\n2\r\nre\r\n3\r\nrea\r\n2\r\ndy\r\n", STAYS,
		 ""},
		{OK "Transfer-Encoding: chunked\r\n\r\n4\r\nread\r\n1\r\n \r\n2\r\ny.\r\n0\r\n\r\n",
		 STAYS, "the body does not contain what is expected"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct health_spec spec = http_spec();

		serve(rows[i].answer, rows[i].after);
		spec.texts[HEALTH_BODY] = bytes_of("ready");
		expect(&spec, rows[i].error);
		assert_true(server.sent < 4 * 1024 * 1024);
	}
}

static void test_body_of_one(void **state)
{
	struct health_spec spec = http_spec();

	(void)state;
	serve(OK "\r\nxyz", CLOSES);
	spec.texts[HEALTH_BODY] = bytes_of("z");
	expect(&spec, "");
}

static void test_request(void **state)
{
	struct health_spec spec = http_spec();

	(void)state;
	setenv("http_proxy", "http://192.0.2.1:1", 1);
	serve(OK "Content-Length: 0\r\n\r\n", STAYS);
	expect(&spec, "");
	assert_string_equal(server.request, "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"
					    "User-Agent: weir/" WEIR_VERSION "\r\n"
					    "Accept: */*\r\n\r\n");
	spec.texts[HEALTH_PATH] = bytes_of("/a/../b?c=d&e=%20f");
	spec.texts[HEALTH_HOST] = bytes_of("shop.example:99");
	spec.head = true;
	expect(&spec, "");
	assert_string_equal(server.request, "HEAD /a/../b?c=d&e=%20f HTTP/1.1\r\n"
					    "Host: shop.example:99\r\n"
					    "User-Agent: weir/" WEIR_VERSION "\r\n"
					    "Accept: */*\r\n\r\n");
	unsetenv("http_proxy");
}

static void test_statuses(void **state)
{
	struct health_spec spec = http_spec();

	(void)state;
	health_expect(&spec, 599);
	health_expect(&spec, 204);
	assert_int_equal(health_expect(&spec, 99), -EINVAL);
	assert_int_equal(health_expect(&spec, 600), -EINVAL);
	serve("HTTP/1.1 204 Nothing\r\n\r\n", STAYS);
	expect(&spec, "");
	serve("HTTP/1.1 599 Other\r\nContent-Length: 0\r\n\r\n", STAYS);
	expect(&spec, "");
	serve("HTTP/1.1 201 Made\r\nContent-Length: 0\r\n\r\n", STAYS);
	expect(&spec, "status 201, expected 200, 204, 599");
	for (unsigned status = 300; status < 310; status++)
		health_expect(&spec, status);
	expect(&spec, "status 201, expected 200, 204, 300, 301, 302 or others");
}

static bool script_is_over(void *arg)
{
	struct health_seen *seen = arg;
	const struct health_status *status = health_status(seen->check);

	return !*server.script && status->successes + status->failures >= seen->probes;
}

/* Only failures in a row count; each success begins the count anew. */
static void test_case_28_fall(void **state)
{
	static const struct {
		const char *script;
		enum health_state state;
	} rows[] = {
		{"FSFSFS", HEALTH_HEALTHY},  {"FFSFFSFF", HEALTH_HEALTHY},
		{"FFF", HEALTH_UNHEALTHY},   {"FSFSFSFFF", HEALTH_UNHEALTHY},
		{"FFFSF", HEALTH_UNHEALTHY}, {"FFFSS", HEALTH_HEALTHY},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct health_seen seen = {.probes = strlen(rows[i].script)};
		struct health_spec spec = http_spec();
		char path[] = "/row-0 ";

		path[5] = (char)('0' + i);
		spec.texts[HEALTH_PATH] = (struct health_bytes){path, 6};
		serve(NULL, STAYS);
		server.script = rows[i].script;
		server.script_path = path;
		spec.initial = HEALTH_HEALTHY;
		spec.fall = 3;
		spec.rise = 2;
		spec.timeout_ms = 60000; /* the one after the script stays unanswered */
		health_add_seen(&seen, &spec);
		assert_true(loop_until(&health_loop, script_is_over, &seen));
		assert_int_equal(seen.state, rows[i].state);
		health_remove(seen.check);
		server.script_path = "none";
	}
}

/* No connection is left, and none used twice. */
static void test_many(void **state)
{
	enum { MANY = 300 };
	static struct health_seen seen[MANY];
	struct health_spec spec = http_spec();

	(void)state;
	serve(OK "Content-Length: 0\r\n\r\n", STAYS);
	spec.interval_ms = 300;
	for (int i = 0; i < MANY; i++, spec.timeout_ms++)
		health_add_seen(&seen[i], &spec);
	for (int i = 0; i < MANY; i++) {
		health_wait_state(&seen[i], HEALTH_HEALTHY);
		seen[i].probes = 3;
		assert_true(loop_until(&health_loop, health_has_probes, &seen[i]));
		assert_int_equal(seen[i].changes, 1);
	}
	assert_true(server.connections >= 3 * MANY);
	uv_close((uv_handle_t *)&server.listener, NULL);
	health_end();
	uv_tcp_init(&health_loop, &server.listener);
	assert_int_equal(server.open, 0);
	assert_int_not_equal(system("awk '$4 == \"06\"' /proc/net/tcp | grep -q ."), 0);
}

static unsigned open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static bool has_rounds(void *arg)
{
	return health_sums(health_all).started >= *(uint64_t *)arg;
}

/* Targets that accept and never answer: a socket each, and no more memory after many rounds than
 * after a few. */
static void test_bounded(void **state)
{
	enum { MANY = 100 };
	static struct health_seen seen[MANY];
	struct health_spec spec = http_spec();
	uint64_t few = 5 * MANY, many = 30 * MANY;
	struct mallinfo2 before, after;
	unsigned most, least = open_descriptors();

	(void)state;
	serve(OK "X: y\r\n", STAYS);
	spec.timeout_ms = 20;
	spec.interval_ms = 30;
	spec.fall = 1000;
	spec.initial = HEALTH_HEALTHY;
	for (int i = 0; i < MANY; i++, spec.interval_ms++)
		health_add_seen(&seen[i], &spec);
	assert_true(loop_until(&health_loop, has_rounds, &few));
	before = mallinfo2();
	assert_true(loop_until(&health_loop, has_rounds, &many));
	after = mallinfo2();
	most = open_descriptors();
	/* Of each probe two: the server's end too. */
	assert_in_range(most, 0, least + 2 * MANY + 32);
	assert_true(after.uordblks < before.uordblks + 1024 * 1024);
	for (int i = 0; i < MANY; i++)
		assert_true(health_status(seen[i].check)->failures > 0);
}

static bool are_open(void *arg)
{
	return server.open >= *(unsigned *)arg;
}

/* In the middle of a handshake each has a connection's memory, and not the authorities'. */
static void test_bounded_tls(void **state)
{
	unsigned many = 100;
	static struct health_seen seen[100];
	struct health_spec spec = http_spec();
	struct mallinfo2 before = mallinfo2(), after;

	(void)state;
	serve(NULL, STAYS);
	spec.type = HEALTH_HTTPS;
	spec.timeout_ms = 60000;
	for (unsigned i = 0; i < many; i++, spec.timeout_ms++)
		health_add_seen(&seen[i], &spec);
	assert_true(loop_until(&health_loop, are_open, &many));
	after = mallinfo2();
	assert_true(after.uordblks < before.uordblks + (4 << 20) + many * (160 << 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_body, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_body_of_one, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_request, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_statuses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_case_28_fall, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bounded_tls, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, health_open_world, NULL);
}
