/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What comes in at an agent, as any bytes: the frame ends where its memory ends, so a read past it
 * is seen. A frame that is not taken out of a tunnel stays as it was; one that is begins with a
 * link header and has a whole packet for a VIP. And the same bytes as a frame that leaves, in
 * which the clamp looks for an MSS, and a port may have to become the VIP's.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/agent/agents.h"
#include "decap/abi_agent.h"

#define env_takes(mode) 1
#define env_vip         agents_vip
#define env_balancer    agents_balancer
#define env_peer        agents_peer
#define env_port        agents_port
#define env_learn_port  agents_learn_port

#define env_spaces()                             1
#define env_socket(ctx, pkt, second, space, ret) ((void)(space), *(ret) = agents_socket)
#define env_route(ctx, second, version, ret)     ((void)(ret), 0)

struct pkt;
static unsigned counted;

static void env_count(const struct pkt *pkt, uint32_t verdict)
{
	(void)pkt;
	(void)verdict;
	counted++;
}

#include "decap/clamp.h"
#include "decap/decap.h"
#include "decap/leaving.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 3000 };

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "tunnel_fuzz: %s\n", what);
	abort();
}

static void check_taken_out(const struct pkt_ctx *ctx)
{
	struct pkt pkt = {0};

	must(pkt_parse_ip(ctx, &pkt) == PKT_PARSED, "what was taken out is no whole packet");
	must(agents_vip(&pkt.dst) == pkt.version, "what was taken out is for no VIP");
}

static void fuzz_decap(const uint8_t *data, size_t size)
{
	uint8_t *memory = malloc(2 + size); /* frames begin at 2 modulo 4 */
	struct pkt_ctx ctx = {memory, memory + 2, memory + 2 + size, 1};
	struct second second = {0};
	struct pkt pkt = {0};
	int verdict;

	must(memory, "out of memory");
	if (size)
		memcpy(memory + 2, data, size);
	counted = 0;
	verdict = decap(&ctx, &pkt, &second);
	must(verdict >= 0 && verdict < AGENT_VERDICT_COUNT, "no verdict");
	must(counted == 1, "not counted once");
	if (verdict == AGENT_DECAPSULATED || verdict == AGENT_RESTORED || verdict == AGENT_TAKEN)
		check_taken_out(&ctx);
	else if (verdict == AGENT_HANDED_ON || verdict == AGENT_HANDED_WEAK)
		must(ctx.data == memory + 2 && second.hops == 0, "handed on twice");
	else if (verdict != AGENT_NOT_ECT) /* looked at last; such a frame is dropped */
		must(ctx.data == memory + 2 && (!size || memcmp(ctx.data, data, size) == 0),
		     "a frame that was left alone differs");
	free(memory);
}

static void fuzz_clamp(const uint8_t *data, size_t size)
{
	uint8_t *memory = malloc(2 + size);
	struct pkt_cursor cursor = {memory + 2, memory + 2 + size};
	struct agent_limits limits = agents_limits();
	struct clamp clamp = {0};

	must(memory, "out of memory");
	if (size)
		memcpy(memory + 2, data, size);
	if (clamp_wanted(cursor, &limits, &clamp)) {
		must(clamp.mss.size <= PKT_TCP_OPTIONS_MAX, "more options than a header has");
		if (clamp.options_at + clamp.mss.size <= size) {
			memcpy(clamp.options, data + clamp.options_at, clamp.mss.size);
			if (clamp_walk(&clamp) == AGENT_CLAMP_CLAMPED)
				must(clamp_mss_at(&clamp) + 2 <= size, "an MSS outside the frame");
		}
	}
	free(memory);
}

static void fuzz_leaving(const uint8_t *data, size_t size)
{
	uint8_t *memory = malloc(2 + size);
	struct pkt_cursor cursor = {memory + 2, memory + 2 + size};
	struct leaving leaving = {0};

	must(memory, "out of memory");
	if (size)
		memcpy(memory + 2, data, size);
	if (leaving_read(cursor, &leaving)) {
		must(leaving.port_at + 4 <= size, "ports outside the frame");
		must(memcmp(&leaving.key.port, data + leaving.port_at, 2) == 0, "another port");
		must(leaving.key.way == AGENT_WAY_OUT, "another way");
	}
	free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool filled;

	if (size > INPUT_MAX)
		return -1;
	if (!filled)
		must(agents_fill() == 0, "the addresses are wrong");
	filled = true;
	fuzz_decap(data, size);
	fuzz_clamp(data, size);
	fuzz_leaving(data, size);
	return 0;
}
