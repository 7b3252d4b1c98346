/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/announce/drain.h"

static void enter(struct drain *drain, enum drain_phase phase, uint64_t now_ms)
{
	drain->phase = phase;
	drain->since_ms = now_ms;
	drain->quiet_ms = now_ms;
}

void drain_begin(struct drain *drain, uint64_t shun_ms, uint64_t packets, uint64_t now_ms)
{
	if (drain->phase != DRAIN_NONE)
		return;
	*drain = (struct drain){
		.until_ms = now_ms + shun_ms, .stepped_ms = now_ms, .packets = packets};
	enter(drain, shun_ms ? DRAIN_SHUNNED : DRAIN_WITHDRAWN, now_ms);
}

void drain_end(struct drain *drain)
{
	*drain = (struct drain){0};
}

static void count(struct drain *drain, uint64_t packets, uint64_t now_ms)
{
	uint64_t passed_ms = now_ms - drain->stepped_ms;

	if (packets != drain->packets)
		drain->quiet_ms = now_ms;
	if (passed_ms)
		drain->rate = (double)(packets - drain->packets) * 1e3 / (double)passed_ms;
	drain->packets = packets;
	drain->stepped_ms = now_ms;
}

bool drain_step(struct drain *drain, uint64_t packets, uint64_t now_ms)
{
	enum drain_phase before = drain->phase;

	if (before == DRAIN_NONE)
		return false;
	count(drain, packets, now_ms);
	if (before == DRAIN_SHUNNED && now_ms >= drain->until_ms)
		enter(drain, DRAIN_WITHDRAWN, now_ms);
	else if (before == DRAIN_WITHDRAWN && now_ms - drain->quiet_ms >= DRAIN_QUIET_MS)
		enter(drain, DRAIN_ENDED, now_ms);
	else if (before == DRAIN_ENDED && drain->quiet_ms == now_ms)
		enter(drain, DRAIN_WITHDRAWN, now_ms);
	return drain->phase != before;
}

const char *drain_phase_name(enum drain_phase phase)
{
	static const char *const names[] = {
		[DRAIN_NONE] = "none",
		[DRAIN_SHUNNED] = "shunned",
		[DRAIN_WITHDRAWN] = "withdrawn",
		[DRAIN_ENDED] = "ended",
	};

	return names[phase];
}
