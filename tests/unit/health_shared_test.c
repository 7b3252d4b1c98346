/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks that share a probe, and when the next one comes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../lib/health/health_world.h"

static void on_counted(uv_poll_t *poll, int status, int events)
{
	struct counted {
		int fd;
		unsigned count;
	} *counted = poll->data;
	int fd;

	(void)status;
	(void)events;
	while ((fd = accept4(counted->fd, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
		counted->count++;
		close(fd);
	}
}

/* Many checks, one probe; each counts for itself, and one that is removed is missed by nobody. */
static void test_shared(void **state)
{
	enum { MANY = 50 };
	struct {
		int fd;
		unsigned count;
	} server = {health_listen("127.0.0.1", HEALTH_PORT, 4096), 0};
	struct health_seen seen[MANY] = {0}, late = {0}, other = {0};
	struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_PORT);
	uv_poll_t poll;

	(void)state;
	uv_poll_init(&health_loop, &poll, server.fd);
	poll.data = &server;
	uv_poll_start(&poll, UV_READABLE, on_counted);
	spec.interval_ms = 60000;
	for (int i = 0; i < MANY; i++) {
		spec.fall = 1 + (uint32_t)i % 3; /* not the probe's concern */
		spec.initial = i % 2 ? HEALTH_UNHEALTHY : HEALTH_UNKNOWN;
		seen[i].remove = i == MANY / 2;
		health_add_seen(&seen[i], &spec);
	}
	assert_int_equal(health_sums(health_all).checks, MANY);
	assert_int_equal(health_sums(health_all).probes, 1);
	for (int i = 0; i < MANY; i++)
		health_wait_state(&seen[i], HEALTH_HEALTHY);
	assert_int_equal(health_sums(health_all).started, 1);
	assert_int_equal(health_sums(health_all).checks, MANY - 1);

	/* It need not wait for as long as an interval. */
	spec.initial = HEALTH_UNKNOWN;
	health_add_seen(&late, &spec);
	health_wait_state(&late, HEALTH_HEALTHY);
	assert_int_equal(health_sums(health_all).started, 2);
	assert_true(server.count <= 2);

	spec.interval_ms--;
	health_add_seen(&other, &spec);
	assert_int_equal(health_sums(health_all).probes, 2);
	health_remove(late.check);
	health_remove(other.check);
	assert_int_equal(health_sums(health_all).probes, 1);
	uv_close((uv_handle_t *)&poll, NULL);
	health_end();
	close(server.fd);
}

/* The callback of one removes all others. */
static struct health_seen crowd[8];

static void on_first(void *arg, struct health_check *check, enum health_state state)
{
	(void)arg;
	(void)state;
	for (int i = 0; i < 8; i++) {
		if (crowd[i].check != check)
			health_remove(crowd[i].check);
	}
	crowd[0].check = check;
	crowd[0].state = state;
}

static void test_remove_others(void **state)
{
	struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_PORT);

	(void)state;
	for (int i = 0; i < 8; i++)
		assert_int_equal(health_add(health_all, &spec, on_first, NULL, &crowd[i].check), 0);
	health_wait_state(&crowd[0], HEALTH_UNHEALTHY);
	assert_int_equal(health_sums(health_all).checks, 1);
	health_remove(crowd[0].check);
	assert_int_equal(health_sums(health_all).probes, 0);
}

/* While it is not sure the next probe comes soon. */
static void test_fast_interval(void **state)
{
	struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_PORT);
	struct health_seen seen = {0};

	(void)state;
	spec.interval_ms = 3600000;
	spec.fast_interval_ms = 5;
	spec.rise = spec.fall = 4;
	spec.initial = HEALTH_UNKNOWN;
	health_add_seen(&seen, &spec);
	health_wait_state(&seen, HEALTH_UNHEALTHY);
	health_remove(seen.check);
	/* The first comes within the interval, so it is made short; three more are fast. */
	seen = (struct health_seen){0};
	spec.interval_ms = 20;
	spec.initial = HEALTH_HEALTHY;
	health_add_seen(&seen, &spec);
	health_wait_state(&seen, HEALTH_UNHEALTHY);
	assert_int_equal(seen.then.failures, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_shared, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_remove_others, health_set_up,
						health_tear_down),
		cmocka_unit_test_setup_teardown(test_fast_interval, health_set_up,
						health_tear_down),
	};

	return cmocka_run_group_tests(tests, health_open_world, NULL);
}
