/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs frames that come in at an agent: natively, in memory of their own length, and in the kernel,
 * with equal verdict and bytes. To be included once by a cmocka test, after cmocka.h.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include <linux/bpf.h>

#include "tests/lib/agent/agents.h"
#include "tests/lib/frame/frame.h"

/* --- the native world --- */

static uint64_t native_counts[AGENT_VERDICT_COUNT];
static struct abi_count kernel_counts[AGENT_VERDICT_COUNT]; /* agents_kernel's, as last seen */

struct pkt;
static void env_count(const struct pkt *pkt, uint32_t verdict)
{
	(void)pkt;
	native_counts[verdict]++;
}

#define env_takes(mode) (agents_takes >> (mode)&1)
#define env_vip         agents_vip
#define env_balancer    agents_balancer
#define env_peer        agents_peer
#define env_port        agents_port
#define env_learn_port  agents_learn_port

/* The socket that a test has put there, for every tuple; a program in the kernel finds none. */
#define env_spaces()                             1
#define env_socket(ctx, pkt, second, space, ret) ((void)(space), *(ret) = agents_socket)
#define env_route(ctx, second, version, ret)     ((void)(ret), 0)
#include "decap/decap.h"

static const uint32_t actions[] = {
#define ACTION(name, action, help) XDP_##action,
	AGENT_VERDICTS(ACTION)
#undef ACTION
};

static const char *const names[] = {
#define NAME(name, action, help) #name,
	AGENT_VERDICTS(NAME)
#undef NAME
};

struct outcome {
	int verdict;
	size_t length;
	uint8_t bytes[FRAME_MAX];
};

/* In memory of exactly the frame's length, so that the sanitizer sees each byte past it. */
static void run_native(const uint8_t *frame, size_t length, struct outcome *ret)
{
	uint8_t *memory = malloc(length + 2); /* frames begin at 2 modulo 4 */
	struct pkt_ctx ctx = {memory, memory + 2, memory + 2 + length, 1};
	struct second second = {0};
	struct pkt pkt = {0};

	memcpy(memory + 2, frame, length);
	ret->verdict = decap(&ctx, &pkt, &second);
	assert_true(ret->verdict >= 0 && ret->verdict < AGENT_VERDICT_COUNT);
	ret->length = (size_t)(ctx.data_end - ctx.data);
	memcpy(ret->bytes, ctx.data, ret->length);
	free(memory);
}

/* The kernel tells its verdict by the counter that went up, and one must. */
static void run_kernel(const uint8_t *frame, size_t length, struct outcome *ret)
{
	struct abi_count *before = kernel_counts;
	uint32_t action = AGENTS_ACTION_NONE;
	int counted = 0;

	memcpy(ret->bytes, frame, length);
	ret->length = length;
	assert_int_equal(agent_dp_run(agents_kernel, AGENT_DP_DECAP, ret->bytes, &ret->length,
				      FRAME_MAX, &action),
			 0);
	for (int i = 0; i < AGENT_VERDICT_COUNT; i++) {
		struct abi_count now = agent_dp_verdict_count(agents_kernel, (enum agent_verdict)i);

		if (now.packets == before[i].packets)
			continue;
		assert_int_equal(now.packets, before[i].packets + 1);
		assert_int_equal(now.bytes, before[i].bytes + length);
		ret->verdict = i;
		before[i] = now;
		counted++;
	}
	assert_int_equal(counted, 1);
	assert_int_equal(action, actions[ret->verdict]);
}

/*
 * Runs the frame in both worlds. An unchanged frame is demanded of all that is not taken out, but
 * for one whose mark of congestion is looked at last, and which is dropped.
 */
static void run_both(const char *name, const uint8_t *frame, size_t length, struct outcome *ret)
{
	static struct outcome other;

	run_native(frame, length, ret);
	if (ret->verdict != AGENT_DECAPSULATED && ret->verdict != AGENT_RESTORED &&
	    ret->verdict != AGENT_TAKEN && ret->verdict != AGENT_HANDED_ON &&
	    ret->verdict != AGENT_HANDED_WEAK && ret->verdict != AGENT_NOT_ECT) {
		if (ret->length != length || memcmp(ret->bytes, frame, length) != 0) {
			frame_say(frame, length);
			fail_msg("%s: changed, though its verdict is %s", name,
				 names[ret->verdict]);
		}
	}
	if (!agents_kernel || length < FRAME_ETH || agents_socket.kind)
		return;
	run_kernel(frame, length, &other);
	if (other.verdict == ret->verdict && other.length == ret->length &&
	    memcmp(other.bytes, ret->bytes, ret->length) == 0)
		return;
	frame_say(frame, length);
	fail_msg("%s: native %s %zu bytes, kernel %s %zu bytes, or bytes differ", name,
		 names[ret->verdict], ret->length, names[other.verdict], other.length);
}
