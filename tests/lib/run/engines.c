// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "tests/lib/expect/expect.h"
#include "tests/lib/run/engines.h"
#include "tests/lib/world/world.h"

struct engine engines[2];
size_t engine_count;
uint64_t engines_now_ns = 1000 * TIME_SECOND_NS;

void engine_run(const struct engine *engine, const uint8_t *frame, size_t length,
		struct engine_outcome *ret)
{
	size_t capacity = length + NATIVE_HEADROOM;
	uint8_t *buffer = malloc(2 + capacity);
	int result;

	assert_non_null(buffer);
	memset(ret, 0, sizeof(*ret));
	memset(&ret->result, 0xff, sizeof(ret->result));
	memcpy(buffer + 2, frame, length);
	if (engine->native)
		result = native_run(engine->native, buffer + 2, length, capacity, engines_now_ns,
				    &ret->result);
	else
		result = dp_run(engine->dp, buffer + 2, length, capacity, engines_now_ns,
				&ret->result);
	if (result != 0)
		fail_msg("%s refused to run a frame of %zu bytes: %d", engine->name, length,
			 result);
	assert_true(ret->result.length <= capacity);
	memcpy(ret->bytes, buffer + 2, ret->result.length);
	free(buffer);
}

static bool is_equal(const struct engine_outcome *a, const struct engine_outcome *b)
{
	return memcmp(&a->result.trace, &b->result.trace, sizeof(a->result.trace)) == 0 &&
	       a->result.action == b->result.action && a->result.length == b->result.length &&
	       memcmp(a->bytes, b->bytes, a->result.length) == 0;
}

void engines_run(const char *name, const struct frame *frame, struct engine_outcome *ret)
{
	static struct engine_outcome other;

	for (size_t i = 0; i < engine_count; i++) {
		struct engine_outcome *outcome = i == 0 ? ret : &other;
		const char *problem;

		engine_run(&engines[i], frame->bytes, frame->length, outcome);
		problem = expect_sane(engines[i].tables, frame->bytes, frame->length,
				      &outcome->result, outcome->bytes);
		if (problem) {
			frame_say(frame->bytes, frame->length);
			fail_msg("%s: %s: %s", name, engines[i].name, problem);
		}
		if (i == 0 || is_equal(ret, &other))
			continue;
		frame_say(frame->bytes, frame->length);
		fail_msg("%s: the engines differ: verdicts %u and %u, why %u and %u", name,
			 ret->result.trace.verdict, other.result.trace.verdict,
			 ret->result.trace.why, other.result.trace.why);
	}
}

void engines_forget_flows(void)
{
	for (size_t i = 0; i < engine_count; i++)
		world_forget_flows(engines[i].tables);
}

void engines_refill(void)
{
	for (size_t i = 0; i < engine_count; i++)
		world_fill(engines[i].tables);
}

/* The insert limit is a core's own: stay on one. */
static void stay_on_core(void)
{
	cpu_set_t cores;
	int core = sched_getcpu();

	CPU_ZERO(&cores);
	CPU_SET(core < 0 ? 0 : core, &cores);
	sched_setaffinity(0, sizeof(cores), &cores);
}

int engines_open(void **state)
{
	struct dp_options options = {.flow_entries = WORLD_FLOWS,
				     .features = ABI_HAS_ALL | ABI_HAS_TRACE};
	struct err err;

	(void)state;
	stay_on_core();
	engines[0].name = "native";
	if (native_new(WORLD_FLOWS, &engines[0].native) != 0)
		return -1;
	engines[0].tables = native_tables(engines[0].native);
	engine_count = 1;
	if (geteuid() == 0) {
		engines[1].name = "xdp";
		if (dp_open(&options, &engines[1].dp, &err) != 0) {
			print_error("%s\n", err.text);
			return -1;
		}
		engines[1].tables = dp_tables(engines[1].dp);
		engine_count = 2;
	}
	engines_refill();
	return 0;
}

int engines_close(void **state)
{
	(void)state;
	native_free(engines[0].native);
	if (engine_count == 2)
		dp_close(engines[1].dp);
	return 0;
}

/* Without the kernel's engine this says so, and the rest ran natively. */
void engines_test_kernel_ran(void **state)
{
	(void)state;
	if (engine_count < 2) {
		print_message("no BPF_PROG_TEST_RUN: needs root\n");
		skip();
	}
	assert_non_null(engines[1].dp);
}

struct abi_count engine_verdict_count(const struct engine *engine, uint32_t verdict)
{
	return engine->native ? native_verdict_count(engine->native, verdict)
			      : dp_verdict_count(engine->dp, verdict);
}

struct abi_count engine_service_count(const struct engine *engine, uint32_t service)
{
	return engine->native ? native_service_count(engine->native, service)
			      : dp_service_count(engine->dp, service);
}

struct abi_count engine_backend_count(const struct engine *engine, uint32_t backend)
{
	return engine->native ? native_backend_count(engine->native, backend)
			      : dp_backend_count(engine->dp, backend);
}

uint64_t engine_event_count(const struct engine *engine, enum abi_event event)
{
	return engine->native ? native_event_count(engine->native, event)
			      : dp_event_count(engine->dp, event);
}
