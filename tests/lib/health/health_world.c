/* SPDX-License-Identifier: BSD-2-Clause */
#include "health_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

uv_loop_t health_loop;
struct health *health_all;

int health_open_world(void **state)
{
	(void)state;
	if (unshare(CLONE_NEWNET)) {
		print_message("network namespaces need root\n");
		return -1;
	}
	return system("ip link set lo up");
}

int health_set_up(void **state)
{
	(void)state;
	uv_loop_init(&health_loop);
	return health_open(&health_loop, &health_all);
}

void health_end(void)
{
	if (health_all)
		health_close(health_all);
	health_all = NULL;
	uv_run(&health_loop, UV_RUN_DEFAULT);
}

int health_tear_down(void **state)
{
	(void)state;
	health_end();
	return uv_loop_close(&health_loop);
}

struct addr health_addr(const char *text)
{
	struct addr addr;

	assert_int_equal(addr_parse(text, &addr), 0);
	return addr;
}

int health_listen(const char *text, uint16_t port, int backlog)
{
	struct addr addr = health_addr(text);
	struct sockaddr_storage storage;
	socklen_t length = addr_sockaddr(&addr, port, &storage);
	int fd = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	assert_return_code(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), errno);
	assert_return_code(bind(fd, (struct sockaddr *)&storage, length), errno);
	assert_return_code(listen(fd, backlog), errno);
	return fd;
}

void health_on_changed(void *arg, struct health_check *check, enum health_state state)
{
	struct health_seen *seen = arg;

	assert_ptr_equal(check, seen->check);
	assert_int_equal(health_status(check)->state, state);
	assert_int_not_equal(state, seen->state);
	seen->state = state;
	seen->changes++;
	seen->then = *health_status(check);
	if (seen->remove)
		health_remove(check);
}

struct health_spec health_spec_of(const char *address, uint16_t port)
{
	return (struct health_spec){
		.type = HEALTH_TCP,
		.address = health_addr(address),
		.port = port,
		.interval_ms = 10,
		.timeout_ms = 5000,
		.rise = 1,
		.fall = 1,
	};
}

void health_add_seen(struct health_seen *seen, const struct health_spec *spec)
{
	seen->state = spec->initial;
	assert_int_equal(health_add(health_all, spec, health_on_changed, seen, &seen->check), 0);
}

bool health_has_state(void *arg)
{
	struct health_seen *seen = arg;

	return seen->state == seen->wanted;
}

void health_wait_state(struct health_seen *seen, enum health_state state)
{
	seen->wanted = state;
	assert_true(loop_until(&health_loop, health_has_state, seen));
}

bool health_has_probes(void *arg)
{
	struct health_seen *seen = arg;
	const struct health_status *status = health_status(seen->check);

	return status->successes + status->failures >= seen->probes;
}

void health_wait_probes(struct health_seen *seen, uint64_t more)
{
	const struct health_status *status = health_status(seen->check);

	seen->probes = status->successes + status->failures + more;
	assert_true(loop_until(&health_loop, health_has_probes, seen));
}
