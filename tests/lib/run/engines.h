/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engines that packet tests run frames in, over the world of world.h: the native one, and the
 * kernel's (BPF_PROG_TEST_RUN) where the test is root. For cmocka tests: what is wrong fails the
 * test that runs.
 *
 * Frames start at an address = 2 mod 4, as drivers place them, and end where their memory ends:
 * the native engine runs a frame at the end of its buffer, so a read past it is seen.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/dp.h"
#include "engine/native.h"
#include "tests/lib/frame/frame.h"

enum { ENGINES_TICK_NS = 1 << ABI_TICK_SHIFT };

struct engine {
	const char *name;
	struct native *native; /* one of the two */
	struct dp *dp;
	struct dp_tables *tables;
};

struct engine_outcome {
	struct dp_result result;
	uint8_t bytes[FRAME_MAX + NATIVE_HEADROOM];
};

extern struct engine engines[2];
extern size_t engine_count;
extern uint64_t engines_now_ns; /* a test may move it on */

/* cmocka's group set-up and tear-down. */
int engines_open(void **state);
int engines_close(void **state);
/* A test that says so, as a skip, where the kernel's engine is missing. */
void engines_test_kernel_ran(void **state);

/* Fills the tables anew, without flows. */
void engines_refill(void);
void engines_forget_flows(void);

void engine_run(const struct engine *engine, const uint8_t *frame, size_t length,
		struct engine_outcome *ret);
/*
 * Runs in every engine; they must agree to the last byte, and expect_sane must hold. `name` is
 * for the message.
 */
void engines_run(const char *name, const struct frame *frame, struct engine_outcome *ret);

struct abi_count engine_verdict_count(const struct engine *engine, uint32_t verdict);
struct abi_count engine_service_count(const struct engine *engine, uint32_t service);
struct abi_count engine_backend_count(const struct engine *engine, uint32_t backend);
uint64_t engine_event_count(const struct engine *engine, enum abi_event event);
