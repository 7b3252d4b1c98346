/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes at a balancer that stands behind another one: the packet path with tunnels taken off.
 * The frame ends where its memory ends. The same packet ends in the same way again, and one that
 * was refused with its tunnel on stays as it was. What is in no tunnel, packet_fuzz.c looks at.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/world/world.h"
#include "dp/verdict.h"
#include "engine/native.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 3000 };

static struct native *native;

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "unwrap_fuzz: %s\n", what);
	abort();
}

static void open_engine(void)
{
	static const char *const believed[] = {"100.64.7.0/24", "2001:db8:7::/48"};
	struct dp_tables *tables;

	must(native_new(ABI_FLOWS_MIN, &native) == 0, "no engine");
	tables = native_tables(native);
	world_fill(tables);
	for (size_t i = 0; i < 2; i++) {
		struct abi_prefix key;
		struct prefix prefix;

		must(prefix_parse(believed[i], &prefix) == 0, "no prefix");
		key = dp_prefix(ABI_LIST_BALANCERS, &prefix);
		must(tables->set_prefix(tables->prefixes, &key, 1) == 0, "no room");
	}
}

static void run(const uint8_t *frame, size_t length, uint8_t *out, struct dp_result *result)
{
	size_t capacity = length + NATIVE_HEADROOM;
	uint8_t *buffer = malloc(2 + capacity);

	must(buffer, "out of memory");
	if (length)
		memcpy(buffer + 2, frame, length);
	must(native_run(native, buffer + 2, length, capacity, 1, result) == 0, "refused");
	must(result->length <= capacity, "longer than its memory");
	memcpy(out, buffer + 2, result->length);
	free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t first_out[INPUT_MAX + NATIVE_HEADROOM], out[INPUT_MAX + NATIVE_HEADROOM];
	struct dp_result first, second;
	uint32_t verdict;

	if (size > INPUT_MAX)
		return -1;
	if (!native)
		open_engine();
	world_forget_flows(native_tables(native));
	run(data, size, first_out, &first);
	run(data, size, out, &second);
	verdict = first.trace.verdict;
	must(verdict == second.trace.verdict && first.trace.backend == second.trace.backend &&
		     first.length == second.length && memcmp(first_out, out, first.length) == 0,
	     "the same packet again ended otherwise");
	if (verdict == VERDICT_NOT_VIP || verdict == VERDICT_BAD_SOURCE ||
	    verdict == VERDICT_NOT_ECT || verdict == VERDICT_CIRCLED)
		must(first.length == size && memcmp(first_out, data, size) == 0,
		     "a frame that was refused differs");
	return 0;
}
