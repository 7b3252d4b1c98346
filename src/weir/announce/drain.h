/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a node goes out of use: its routes are first announced as ones to avoid (RFC 8326), so that
 * routers have another before they lose this one; then withdrawn; then it forwards what still comes
 * until that has ended. Told the time and the packets that came by then; pure. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum drain_phase {
	DRAIN_NONE,
	DRAIN_SHUNNED,   /* announced, with the community */
	DRAIN_WITHDRAWN, /* packets may still come */
	DRAIN_ENDED,     /* and none has for DRAIN_QUIET_MS */
};

enum { DRAIN_QUIET_MS = 3000, DRAIN_STEP_MS = 1000 };

/* Zero-initialise. */
struct drain {
	enum drain_phase phase;
	uint64_t since_ms;   /* of the phase */
	uint64_t until_ms;   /* of DRAIN_SHUNNED */
	uint64_t quiet_ms;   /* since when no packet came */
	uint64_t stepped_ms; /* the last drain_step */
	uint64_t packets;    /* as of then */
	double rate;         /* packets a second between the last two */
};

/* `shun_ms` 0: withdrawn at once. Nothing if it drains already. */
void drain_begin(struct drain *drain, uint64_t shun_ms, uint64_t packets, uint64_t now_ms);
void drain_end(struct drain *drain);
/* To be called each DRAIN_STEP_MS or so, with the packets for VIPs so far. Whether the phase is
 * another now. */
bool drain_step(struct drain *drain, uint64_t packets, uint64_t now_ms);
/* "none", "shunned", "withdrawn", "ended" */
const char *drain_phase_name(enum drain_phase phase);
