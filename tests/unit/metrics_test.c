/* SPDX-License-Identifier: BSD-2-Clause */
/* The text formats to the byte; scrapes in pieces, also while the configuration changes; a loop
 * that hangs. The exporter on the test's loop, clients on raw sockets here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../lib/loop.h"
#include "base/time.h"
#include "weir/metrics/exporter.h"

/* --- text --- */

static char *example(bool open)
{
	struct metrics_histogram histogram = {0};
	struct metrics_text text;
	size_t length;
	char *ret;

	metrics_begin(&text, open);
	metrics_family(&text, "t_packets", METRIC_COUNTER, "some");
	metrics_put(&text, 7, {"pool", "a\"b\\c\nd"}, {"backend", ""});
	metrics_put(&text, UINT64_MAX, {"pool", "x"}, {"backend", "y"});
	metrics_family(&text, "t_age_seconds", METRIC_GAUGE, "old");
	metrics_sample_real(&text, NULL, 0, 0.25);
	metrics_family(&text, "t_lag_seconds", METRIC_HISTOGRAM, "late");
	metrics_observe(&histogram, 0);
	metrics_observe(&histogram, 250000);
	metrics_observe(&histogram, 250001);
	metrics_observe(&histogram, 10000000000ULL);
	metrics_put_histogram(&text, &histogram);
	ret = metrics_end(&text, &length);
	assert_non_null(ret);
	ret = realloc(ret, length + 1);
	ret[length] = '\0';
	return ret;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in: %s", part, text);
}

static void test_text(void **state)
{
	char *text = example(false);

	(void)state;
	assert_has(text, "# HELP t_packets_total some\n# TYPE t_packets_total counter\n"
			 "t_packets_total{pool=\"a\\\"b\\\\c\\nd\",backend=\"\"} 7\n"
			 "t_packets_total{pool=\"x\",backend=\"y\"} 18446744073709551615\n"
			 "# HELP t_age_seconds old\n# TYPE t_age_seconds gauge\n"
			 "t_age_seconds 0.25\n"
			 "# HELP t_lag_seconds late\n# TYPE t_lag_seconds histogram\n"
			 "t_lag_seconds_bucket{le=\"0.00025\"} 2\n"
			 "t_lag_seconds_bucket{le=\"0.0005\"} 3\n");
	assert_has(text, "t_lag_seconds_bucket{le=\"2.048\"} 3\n"
			 "t_lag_seconds_bucket{le=\"+Inf\"} 4\n"
			 "t_lag_seconds_sum 10.0005\n");
	assert_has(text, "\nt_lag_seconds_count 4\n");
	assert_null(strstr(text, "EOF"));
	free(text);
	text = example(true);
	assert_has(text, "# HELP t_packets some\n# TYPE t_packets counter\n"
			 "t_packets_total{pool=");
	assert_string_equal(text + strlen(text) - 8, "4\n# EOF\n");
	free(text);
}

/* --- the exporter --- */

enum { MANY = 300000, WAIT_MS = 30000 };

static uv_loop_t loop;
static struct exporter *exporter;
static struct conf_endpoint endpoint;
static uint64_t generation;
static uint64_t change_at; /* the configuration changes when this sample is made; 0: never */
static size_t sampled, begun;
static char *got;
static size_t got_length;

static size_t count_many(const struct scrape *scrape)
{
	(void)scrape;
	return MANY;
}

static void sample_many(struct scrape *scrape, size_t at)
{
	begun += at == 0;
	if (++sampled == change_at)
		generation++;
	metrics_put(&scrape->text, at, {"generation", generation == 1 ? "old" : "new"});
}

static const struct family families[] = {
	{"t_many", METRIC_COUNTER, "many", count_many, sample_many},
};
static const struct family_list lists[] = {{families, 1}};

static uint64_t generation_of(const void *app)
{
	(void)app;
	return generation;
}

static json_t *ready(void *app)
{
	return json_pack("{s:b, s:b}", "ready", app != NULL, "same", app == &generation);
}

static uint16_t free_port(void)
{
	struct sockaddr_storage name;
	socklen_t length = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct addr local;

	addr_parse("127.0.0.1", &local);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, addr_sockaddr(&local, 0, &name)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &length), 0);
	close(fd);
	return (uint16_t)(((uint8_t *)&name)[2] << 8 | ((uint8_t *)&name)[3]);
}

static int set_up(void **state)
{
	const struct exporter_spec spec = {
		.loop = &loop,
		.app = &generation,
		.lists = lists,
		.list_count = 1,
		.generation = generation_of,
		.ready = ready,
	};

	(void)state;
	uv_loop_init(&loop);
	generation = 1;
	sampled = begun = change_at = 0;
	assert_int_equal(exporter_open(&spec, &exporter), 0);
	addr_parse("127.0.0.1", &endpoint.address);
	endpoint.port = free_port();
	exporter_listen(exporter, &endpoint);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	exporter_close(exporter);
	uv_run(&loop, UV_RUN_DEFAULT);
	free(got);
	got = NULL;
	return uv_loop_close(&loop);
}

static int dial(const char *target)
{
	struct sockaddr_storage name;
	char request[256];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), length;
	socklen_t size = addr_sockaddr(&endpoint.address, endpoint.port, &name);

	assert_int_equal(connect(fd, (struct sockaddr *)&name, size), 0);
	length = snprintf(request, sizeof(request),
			  "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
			  target);
	assert_int_equal(send(fd, request, (size_t)length, MSG_NOSIGNAL), length);
	return fd;
}

/* Into `got`, while the loop turns, or not. */
static void receive(int fd, bool turns)
{
	uint64_t end_ns = time_now_ns() + WAIT_MS * TIME_MILLI_NS;
	ssize_t now = 1;

	got_length = 0;
	while (now != 0) {
		struct pollfd ready_fd = {.fd = fd, .events = POLLIN};

		assert_true(time_now_ns() < end_ns);
		if (turns)
			uv_run(&loop, UV_RUN_NOWAIT);
		if (poll(&ready_fd, 1, 1) <= 0)
			continue;
		got = realloc(got, got_length + 65537);
		now = recv(fd, got + got_length, 65536, MSG_DONTWAIT);
		if (now > 0)
			got_length += (size_t)now;
	}
	got[got_length] = '\0';
	close(fd);
}

/* Every line, once, in order; by pieces, so other work of the loop comes in between. */
static void test_pieces(void **state)
{
	uint64_t turns = loop.timer_counter;
	char *at;

	(void)state;
	receive(dial("/metrics"), true);
	at = strstr(got, "# TYPE t_many_total counter\n");
	assert_non_null(at);
	for (size_t i = 0; i < MANY; i++) {
		char line[64];
		int length =
			snprintf(line, sizeof(line), "\nt_many_total{generation=\"old\"} %zu\n", i);

		at = strchr(at, '\n');
		assert_non_null(at);
		assert_memory_equal(at, line, length);
		at++;
	}
	assert_int_equal(sampled, MANY);
	/* A piece is a timer of its own: there were several. */
	assert_true(loop.timer_counter - turns > 5);
}

static void test_change_in_between(void **state)
{
	(void)state;
	change_at = MANY / 2;
	receive(dial("/metrics"), true);
	assert_has(got, "200 OK");
	assert_null(strstr(got, "generation=\"old\""));
	assert_int_equal(begun, 2);
}

/* Several that ask at once are given the same text. */
static void test_shared(void **state)
{
	int fds[4];

	(void)state;
	for (size_t i = 0; i < 4; i++)
		fds[i] = dial("/metrics");
	for (size_t i = 0; i < 4; i++) {
		receive(fds[i], true);
		assert_has(got, "200 OK");
		assert_has(got, "t_many_total{generation=\"old\"} 299999\n");
	}
	assert_true(begun < 4);
}

static void test_ready(void **state)
{
	(void)state;
	receive(dial("/readyz"), true);
	assert_has(got, "200 OK");
	assert_has(got, "{\"ready\":true,\"same\":true}\n");
	receive(dial("/nothing"), true);
	assert_has(got, "404");
}

/* The loop hangs: only who does not depend on it can say so. */
static void test_hanging_loop(void **state)
{
	uint64_t end_ns = time_now_ns() + WAIT_MS * TIME_MILLI_NS;

	(void)state;
	receive(dial("/healthz"), true);
	assert_has(got, "200 OK");
	do {
		assert_true(time_now_ns() < end_ns);
		receive(dial("/healthz"), false);
		poll(NULL, 0, 50);
	} while (!strstr(got, " 503 "));
	assert_has(got, "has not turned");
	for (;;) {
		assert_true(time_now_ns() < end_ns);
		receive(dial("/healthz"), true);
		if (strstr(got, "200 OK"))
			break;
	}
}

/* The port is taken: an error that is told, and tried again; another one is had at once. */
static void test_taken(void **state)
{
	struct sockaddr_storage name;
	struct conf_endpoint other = endpoint, off = {.port = 0};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	json_t *report;

	(void)state;
	other.port = free_port();
	assert_int_equal(bind(fd, (struct sockaddr *)&name,
			      addr_sockaddr(&other.address, other.port, &name)),
			 0);
	assert_int_equal(listen(fd, 1), 0);
	exporter_listen(exporter, &other);
	report = exporter_report(exporter);
	assert_has(json_string_value(json_object_get(report, "error")), "another process has");
	json_decref(report);
	close(fd);
	exporter_listen(exporter, &off);
	report = exporter_report(exporter);
	assert_string_equal(json_string_value(json_object_get(report, "listen")), "off");
	assert_string_equal(json_string_value(json_object_get(report, "error")), "");
	json_decref(report);
	exporter_listen(exporter, &endpoint);
	receive(dial("/healthz"), true);
	assert_has(got, "200 OK");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		TEST(test_pieces),
		TEST(test_change_in_between),
		TEST(test_shared),
		TEST(test_ready),
		TEST(test_hanging_loop),
		TEST(test_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
