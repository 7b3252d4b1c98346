/* SPDX-License-Identifier: BSD-2-Clause */
/* Health checks against real sockets on the loopback of a network namespace of the test's own, so
 * that every port is free. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../lib/health/health_world.h"
#include "health/rise_fall.h"

/* A listener whose queue is full drops each further SYN without a word. */
struct silent {
	int listener;
	int clients[4];
};

static void silent_open(struct silent *silent)
{
	struct addr addr = health_addr("127.0.0.1");
	struct sockaddr_storage storage;
	socklen_t length = addr_sockaddr(&addr, HEALTH_SILENT_PORT, &storage);

	silent->listener = health_listen("127.0.0.1", HEALTH_SILENT_PORT, 0);
	for (int i = 0; i < 4; i++) {
		silent->clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(silent->clients[i], (struct sockaddr *)&storage, length);
	}
}

static void silent_close(struct silent *silent)
{
	for (int i = 0; i < 4; i++)
		close(silent->clients[i]);
	close(silent->listener);
}

/* One letter a result: S success, F failure. One a state after it: ? unknown, U up, D down. */
static void test_rise_fall(void **state)
{
	static const struct {
		uint32_t rise, fall;
		enum health_state initial;
		const char *results, *states;
	} rows[] = {
		{2, 3, HEALTH_HEALTHY, "FSFSFS", "UUUUUU"}, /* case 28 */
		{2, 3, HEALTH_HEALTHY, "FFF", "UUD"},       /* case 28 */
		{2, 3, HEALTH_HEALTHY, "FFSFFSFFF", "UUUUUUUUD"},
		{2, 3, HEALTH_UNKNOWN, "SFFF", "UUUD"},
		{2, 3, HEALTH_UNKNOWN, "FSFSS", "DDDDU"},
		{2, 3, HEALTH_UNHEALTHY, "SFSFSS", "DDDDDU"},
		{1, 1, HEALTH_UNKNOWN, "FSFS", "DUDU"},
		{3, 1, HEALTH_UNHEALTHY, "SSSF", "DDUD"},
		{1, 4, HEALTH_UNHEALTHY, "SFFFSFFFF", "UUUUUUUUD"},
		{2, 2, HEALTH_HEALTHY, "FFFFSS", "UDDDDU"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rise_fall counts = {rows[i].rise, rows[i].fall, rows[i].initial, 0};
		char states[16] = "";

		for (size_t j = 0; rows[i].results[j]; j++) {
			enum health_state before = counts.state;
			bool changed = rise_fall_step(&counts, rows[i].results[j] == 'S');

			assert_int_equal(changed, counts.state != before);
			states[j] = "?UD"[counts.state];
		}
		assert_string_equal(states, rows[i].states);
	}
}

static void test_up(void **state)
{
	struct health_seen ip4 = {0}, ip6 = {0};
	struct health_spec spec4 = health_spec_of("127.0.0.1", HEALTH_PORT);
	struct health_spec spec6 = health_spec_of("::1", HEALTH_PORT);
	int fd4 = health_listen("127.0.0.1", HEALTH_PORT, 16);
	int fd6 = health_listen("::1", HEALTH_PORT, 16);

	(void)state;
	spec4.interval_ms = spec6.interval_ms = 60000; /* the first is not waited for so long */
	health_add_seen(&ip4, &spec4);
	health_add_seen(&ip6, &spec6);
	assert_int_equal(health_status(ip4.check)->state, HEALTH_UNKNOWN);
	health_wait_state(&ip4, HEALTH_HEALTHY);
	health_wait_state(&ip6, HEALTH_HEALTHY);
	assert_int_equal(health_status(ip4.check)->successes, 1);
	assert_int_equal(health_status(ip4.check)->failures, 0);
	assert_true(health_status(ip4.check)->latency_ns > 0);
	assert_true(health_status(ip4.check)->since_ns > 0);
	assert_string_equal(health_status(ip4.check)->last_error, "");
	close(fd4);
	close(fd6);
}

/* No TIME_WAIT is left on this side, and the server sees the end at once. */
static void test_reset(void **state)
{
	struct health_seen seen = {0};
	struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_PORT);
	int listener = health_listen("127.0.0.1", HEALTH_PORT, 16);
	char byte;
	int fd;

	(void)state;
	spec.interval_ms = 60000;
	health_add_seen(&seen, &spec);
	health_wait_state(&seen, HEALTH_HEALTHY);
	fd = accept(listener, NULL, NULL);
	assert_return_code(fd, errno);
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(fd);
	close(listener);
	/* In /proc/net/tcp the fourth field is the state, 06 is TIME_WAIT. */
	assert_int_not_equal(system("awk '$4 == \"06\"' /proc/net/tcp | grep -q ."), 0);
}

static void test_refused(void **state)
{
	struct health_seen seen = {0};
	struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_PORT);

	(void)state;
	spec.fall = 3;
	health_add_seen(&seen, &spec);
	health_wait_state(&seen, HEALTH_UNHEALTHY);
	assert_int_equal(seen.then.failures, 1);
	assert_string_equal(seen.then.last_error, "connection refused");
}

static void test_timeout(void **state)
{
	struct health_seen seen = {0};
	struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_SILENT_PORT);
	struct silent silent;

	(void)state;
	silent_open(&silent);
	spec.timeout_ms = 50;
	spec.initial = HEALTH_HEALTHY;
	health_add_seen(&seen, &spec);
	health_wait_state(&seen, HEALTH_UNHEALTHY);
	assert_string_equal(health_status(seen.check)->last_error, "no answer within 50 ms");
	silent_close(&silent);
}

static void test_no_route(void **state)
{
	struct health_seen seen = {0};
	struct health_spec spec = health_spec_of("192.0.2.1", HEALTH_PORT);

	(void)state;
	health_add_seen(&seen, &spec);
	health_wait_state(&seen, HEALTH_UNHEALTHY);
	assert_string_equal(health_status(seen.check)->last_error, "network is unreachable");
}

/* Down, up and down again as the listener goes and comes, with the counts in between. */
static void test_flap(void **state)
{
	struct health_seen seen = {0};
	struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_PORT);
	const struct health_status *status;
	uint64_t before;
	int fd = health_listen("127.0.0.1", HEALTH_PORT, 4096);

	(void)state;
	spec.rise = 2;
	spec.fall = 3;
	health_add_seen(&seen, &spec);
	status = health_status(seen.check);
	for (int i = 0; i < 3; i++) {
		health_wait_state(&seen, HEALTH_HEALTHY);
		health_wait_probes(&seen, 3);
		close(fd);
		before = status->failures;
		health_wait_state(&seen, HEALTH_UNHEALTHY);
		assert_int_equal(seen.then.failures - before, 3);
		before = status->successes;
		fd = health_listen("127.0.0.1", HEALTH_PORT, 4096);
		health_wait_state(&seen, HEALTH_HEALTHY);
		assert_int_equal(seen.then.successes - before, 2);
	}
	assert_int_equal(seen.changes, 7);
	close(fd);
}

static void test_initial(void **state)
{
	struct health_seen up = {0}, down = {0};
	struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_PORT);
	int fd = health_listen("::1", HEALTH_PORT, 4096);

	(void)state;
	spec.fall = spec.rise = 3;
	spec.initial = HEALTH_HEALTHY;
	health_add_seen(&up, &spec);
	assert_int_equal(health_status(up.check)->state, HEALTH_HEALTHY);
	spec.address = health_addr("::1");
	spec.initial = HEALTH_UNHEALTHY;
	health_add_seen(&down, &spec);
	health_wait_state(&up, HEALTH_UNHEALTHY);
	health_wait_state(&down, HEALTH_HEALTHY);
	/* Not decided by the first result. */
	assert_int_equal(up.then.failures, 3);
	assert_int_equal(down.then.successes, 3);
	assert_int_equal(up.changes, 1);
	assert_int_equal(down.changes, 1);
	close(fd);
}

static unsigned open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 3; /* ".", ".." and the directory's own */
}

static bool has_descriptors(void *arg)
{
	return open_descriptors() == *(unsigned *)arg;
}

/* Whether the probe's socket is there (a descriptor more), by a listener that answers nothing. */
static void start_silent(struct health_seen *seen, unsigned more)
{
	struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_SILENT_PORT);
	unsigned count = open_descriptors() + more;

	spec.timeout_ms = 60000;
	/* Each a probe of its own. */
	for (unsigned i = 0; i < more; i++, spec.timeout_ms++)
		health_add_seen(&seen[i], &spec);
	assert_true(loop_until(&health_loop, has_descriptors, &count));
}

static void test_remove(void **state)
{
	struct health_seen under_way[1] = {0}, in_callback = {.remove = true}, waiting = {0};
	struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_PORT);
	struct silent silent;
	unsigned count;

	(void)state;
	silent_open(&silent);
	/* The health_loop's own descriptors are made by its first run. */
	uv_run(&health_loop, UV_RUN_NOWAIT);
	count = open_descriptors();
	start_silent(under_way, 1);
	health_remove(under_way[0].check);
	assert_int_equal(open_descriptors(), count);

	health_add_seen(&in_callback, &spec);
	health_wait_state(&in_callback, HEALTH_UNHEALTHY);
	spec.interval_ms = 60000;
	spec.initial = HEALTH_HEALTHY;
	health_add_seen(&waiting, &spec);
	health_remove(waiting.check);
	health_add_seen(&waiting, &spec);
	health_end();
	assert_int_equal(in_callback.changes, 1);
	assert_int_equal(under_way[0].changes, 0);
	silent_close(&silent);
}

static void test_close_under_way(void **state)
{
	enum { MANY = 20 };
	struct health_seen seen[MANY] = {0};
	struct silent silent;
	unsigned count;

	(void)state;
	silent_open(&silent);
	uv_run(&health_loop, UV_RUN_NOWAIT);
	count = open_descriptors();
	start_silent(seen, MANY);
	health_end();
	assert_int_equal(open_descriptors(), count);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(seen[i].changes, 0);
	silent_close(&silent);
}

static bool has_not_run(void *arg)
{
	struct health_seen *seen = arg;

	return health_status(seen->check)->not_run >= 5;
}

/* Without descriptors nothing is known of the backend, so nothing changes. */
static void test_no_descriptors(void **state)
{
	struct health_seen seen = {0};
	struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_PORT);
	struct rlimit before, none;
	int fd = health_listen("127.0.0.1", HEALTH_PORT, 4096);

	(void)state;
	health_add_seen(&seen, &spec);
	health_wait_state(&seen, HEALTH_HEALTHY);
	assert_return_code(getrlimit(RLIMIT_NOFILE, &before), errno);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	assert_return_code(setrlimit(RLIMIT_NOFILE, &none), errno);
	assert_true(loop_until(&health_loop, has_not_run, &seen));
	assert_return_code(setrlimit(RLIMIT_NOFILE, &before), errno);
	assert_string_equal(health_status(seen.check)->last_error,
			    "probe not run: too many open files");
	assert_int_equal(health_status(seen.check)->failures, 0);
	assert_int_equal(seen.changes, 1);
	health_wait_probes(&seen, 1);
	assert_string_equal(health_status(seen.check)->last_error, "");
	close(fd);
}

/* With one ephemeral port a probe of that port gets it for its own, and connects to itself. */
static void test_self_connection(void **state)
{
	struct health_seen seen = {0};
	struct health_spec spec = health_spec_of("127.0.0.1", 40000);

	(void)state;
	assert_int_equal(system("echo 40000 40000 > /proc/sys/net/ipv4/ip_local_port_range"), 0);
	health_add_seen(&seen, &spec);
	health_wait_state(&seen, HEALTH_UNHEALTHY);
	assert_string_equal(health_status(seen.check)->last_error, "connection refused");
	assert_int_equal(system("echo 32768 60999 > /proc/sys/net/ipv4/ip_local_port_range"), 0);
}

/* The health_loop was busy for longer than the timeout, but the answer came in time. */
static void test_busy_loop(void **state)
{
	struct health_seen seen = {0};
	struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_PORT);
	int fd = health_listen("127.0.0.1", HEALTH_PORT, 4096);
	uint64_t end_ns;

	(void)state;
	spec.timeout_ms = 20;
	spec.initial = HEALTH_UNHEALTHY;
	health_add_seen(&seen, &spec);
	for (int i = 0; i < 10; i++) {
		uv_run(&health_loop, UV_RUN_ONCE);
		for (end_ns = uv_hrtime() + 60000000; uv_hrtime() < end_ns;)
			;
	}
	health_wait_state(&seen, HEALTH_HEALTHY);
	assert_int_equal(health_status(seen.check)->failures, 0);
	close(fd);
}

static void on_accept(uv_poll_t *poll, int status, int events)
{
	int fd;

	(void)status;
	(void)events;
	while ((fd = accept4(*(int *)poll->data, NULL, NULL, SOCK_NONBLOCK)) >= 0)
		close(fd);
}

static void test_many(void **state)
{
	enum { MANY = 1000 };
	struct health_seen *seen = calloc(MANY, sizeof(*seen));
	struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_PORT);
	int fd = health_listen("127.0.0.1", HEALTH_PORT, 4096);
	uv_poll_t server;

	(void)state;
	uv_poll_init(&health_loop, &server, fd);
	server.data = &fd;
	uv_poll_start(&server, UV_READABLE, on_accept);
	spec.interval_ms = 500;
	for (int i = 0; i < MANY; i++)
		health_add_seen(&seen[i], &spec);
	for (int i = 0; i < MANY; i++)
		health_wait_state(&seen[i], HEALTH_HEALTHY);
	for (int i = 0; i < MANY; i++) {
		seen[i].probes = 3;
		assert_true(loop_until(&health_loop, health_has_probes, &seen[i]));
	}
	for (int i = 0; i < MANY; i++)
		assert_int_equal(seen[i].changes, 1);
	uv_close((uv_handle_t *)&server, NULL);
	health_end();
	close(fd);
	free(seen);
}

static void test_bad_spec(void **state)
{
	struct health_spec good = health_spec_of("127.0.0.1", HEALTH_PORT);
	struct health_spec bad[10];
	struct health_check *check;

	(void)state;
	for (int i = 0; i < 10; i++)
		bad[i] = good;
	bad[0].interval_ms = 0;
	bad[1].timeout_ms = 0;
	bad[2].rise = 0;
	bad[3].fall = 0;
	bad[4].port = 0;
	bad[5].type = (enum health_type)99;
	memset(&bad[6].address, 0, sizeof(bad[6].address));
	bad[7].jitter = HEALTH_JITTER_MAX + 1;
	bad[8].texts[HEALTH_PATH] = (struct health_bytes){"/", 1};
	bad[9].type = HEALTH_UDP;
	bad[9].texts[HEALTH_SEND] = (struct health_bytes){"x", HEALTH_TEXT_MAX + 1};
	for (int i = 0; i < 10; i++)
		assert_int_equal(health_add(health_all, &bad[i], health_on_changed, NULL, &check),
				 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rise_fall),
		cmocka_unit_test_setup_teardown(test_up, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_reset, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_refused, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_timeout, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_no_route, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_flap, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_initial, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_remove, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_close_under_way, health_set_up,
						health_tear_down),
		cmocka_unit_test_setup_teardown(test_no_descriptors, health_set_up,
						health_tear_down),
		cmocka_unit_test_setup_teardown(test_self_connection, health_set_up,
						health_tear_down),
		cmocka_unit_test_setup_teardown(test_busy_loop, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_many, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_bad_spec, health_set_up, health_tear_down),
	};

	return cmocka_run_group_tests(tests, health_open_world, NULL);
}
