// SPDX-License-Identifier: BSD-2-Clause
/*
 * The packet path on any bytes: an input is a frame, run twice in the world of
 * tests/lib/world/world.h, which has IPv4 and IPv6 VIPs, every kind of tunnel, tracked and
 * untracked services. What expect.h says must hold; the second run, which may find the flow that
 * the first one recorded, must end alike. The frame ends where its memory ends, so a read past
 * it is seen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/expect/expect.h"
#include "../lib/frame/frame.h"
#include "../lib/world/world.h"
#include "dp/verdict.h"
#include "engine/native.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 3000 };

static struct native *native;

static void fail(const char *problem)
{
	fprintf(stderr, "packet_fuzz: %s\n", problem);
	abort();
}

/* `out` has room for INPUT_MAX + NATIVE_HEADROOM bytes. */
static void run(const uint8_t *frame, size_t length, uint8_t *out, struct dp_result *result)
{
	size_t capacity = length + NATIVE_HEADROOM;
	uint8_t *buffer = malloc(2 + capacity);
	const char *problem;

	if (!buffer)
		abort();
	if (length)
		memcpy(buffer + 2, frame, length);
	if (native_run(native, buffer + 2, length, capacity, 1, result) != 0)
		fail("the engine refused");
	if (result->length > capacity)
		fail("longer than its memory");
	memcpy(out, buffer + 2, result->length);
	free(buffer);
	problem = expect_sane(native_tables(native), frame, length, result, out);
	if (problem)
		fail(problem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t first_out[INPUT_MAX + NATIVE_HEADROOM], out[INPUT_MAX + NATIVE_HEADROOM];
	struct dp_result first, second;

	if (size > INPUT_MAX)
		return -1;
	if (!native) {
		if (native_new(ABI_FLOWS_MIN, &native) != 0)
			abort();
		world_fill(native_tables(native));
	}
	world_forget_flows(native_tables(native));
	run(data, size, first_out, &first);
	run(data, size, out, &second);
	if (first.trace.verdict != second.trace.verdict ||
	    first.trace.backend != second.trace.backend || first.length != second.length ||
	    memcmp(first_out, out, first.length) != 0)
		fail("the same packet again ended otherwise");
	return 0;
}
