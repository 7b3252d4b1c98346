/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RFC 4271 section 8.2.2 as a table, and what belongs to it: collisions (6.8, RFC 6286), intervals.
 *
 * Where this differs from the RFC's text, on purpose:
 * - A connection that fails in OpenSent goes to Idle and backs off, not to Active: one that is
 *   accepted and closed at once, by a router that does not know us, is not made anew every time
 *   that a timer for silent routers says.
 * - Each end but the operator's, and but that of a collision, counts for the back-off, which is the
 *   RFC's DampPeerOscillations with a figure.
 * - A NOTIFICATION in OpenSent is not answered by another one: 6.4 forbids what 8.2.2 says there.
 * - Message header errors in Established are told as such (6.1), not as errors of the machine.
 * - Whether a second OPEN is a collision is a question of two connections (fsm_collide); on one it
 *   is unexpected.
 */
#include "bgp/fsm.h"

#include <stddef.h>

#include "bgp/wire/wire.h"

#define STOPPED (FSM_STOP_CONNECT_RETRY | FSM_DROP)
#define CLEARED (STOPPED | FSM_COUNT_CLEAR)
#define FAILED  (STOPPED | FSM_COUNT_FAILURE | FSM_BACK_OFF)
#define SAYING  FSM_SEND_NOTICE
#define OPENED  (FSM_STOP_CONNECT_RETRY | FSM_SEND_OPEN | FSM_START_HOLD_LONG)
#define ALIVE   (FSM_SEND_KEEPALIVE | FSM_START_KEEPALIVE)

/* A state: what each event makes of it, and "any other event" of section 8.2.2. */
struct row {
	bool is; /* this event is one that the state names */
	struct fsm_step step;
};

struct state {
	struct fsm_step other;
	struct row rows[FSM_EVENTS];
};

#define ON(event, ...) [event] = {true, {__VA_ARGS__}}
/* Until TCP is there. */
#define ON_WITHOUT_TCP(state)                                                                      \
	ON(FSM_START, state, 0), ON(FSM_START_PASSIVE, state, 0), ON(FSM_STOP, FSM_IDLE, CLEARED), \
		ON(FSM_ABANDON, FSM_IDLE, CLEARED), ON(FSM_COLLISION, FSM_IDLE, STOPPED),          \
		ON(FSM_TCP_CONNECTED, FSM_OPENSENT, OPENED),                                       \
		ON(FSM_TCP_ACCEPTED, FSM_OPENSENT, OPENED)
/* From then on; TCP connects for another connection. An end is that of the session too: `down`. */
#define ON_WITH_TCP(state, down)                                                 \
	ON(FSM_START, state, 0), ON(FSM_START_PASSIVE, state, 0),                \
		ON(FSM_STOP, FSM_IDLE, SAYING | (down) | CLEARED),               \
		ON(FSM_ABANDON, FSM_IDLE, (down) | CLEARED),                     \
		ON(FSM_COLLISION, FSM_IDLE, SAYING | (down) | STOPPED),          \
		ON(FSM_TCP_CONNECTED, state, 0), ON(FSM_TCP_ACCEPTED, state, 0), \
		ON(FSM_TCP_FAILED, FSM_IDLE, (down) | FAILED),                   \
		ON(FSM_NOTICE_VERSION, FSM_IDLE, (down) | FAILED),               \
		ON(FSM_NOTICE, FSM_IDLE, (down) | FAILED)

static const struct state states[FSM_STATES] = {
	/* Nothing is there that other events could be about. */
	[FSM_IDLE] = {.other = {FSM_IDLE, 0},
		      .rows = {ON(FSM_START, FSM_CONNECT,
				  FSM_CONNECT_TCP | FSM_START_CONNECT_RETRY),
			       ON(FSM_START_PASSIVE, FSM_ACTIVE, 0),
			       ON(FSM_STOP, FSM_IDLE, FSM_COUNT_CLEAR)}},
	[FSM_CONNECT] = {.other = {FSM_IDLE, FAILED},
			 .rows = {ON_WITHOUT_TCP(FSM_CONNECT),
				  ON(FSM_CONNECT_RETRY_EXPIRED, FSM_CONNECT,
				     FSM_DROP | FSM_CONNECT_TCP | FSM_START_CONNECT_RETRY)}},
	[FSM_ACTIVE] = {.other = {FSM_IDLE, FAILED},
			.rows = {ON_WITHOUT_TCP(FSM_ACTIVE),
				 ON(FSM_CONNECT_RETRY_EXPIRED, FSM_CONNECT,
				    FSM_CONNECT_TCP | FSM_START_CONNECT_RETRY)}},
	[FSM_OPENSENT] = {.other = {FSM_IDLE, SAYING | FAILED},
			  .rows = {ON_WITH_TCP(FSM_OPENSENT, 0),
				   ON(FSM_OPEN_TAKEN, FSM_OPENCONFIRM, ALIVE | FSM_START_HOLD)}},
	[FSM_OPENCONFIRM] = {.other = {FSM_IDLE, SAYING | FAILED},
			     .rows = {ON_WITH_TCP(FSM_OPENCONFIRM, 0),
				      ON(FSM_KEEPALIVE_EXPIRED, FSM_OPENCONFIRM, ALIVE),
				      ON(FSM_KEEPALIVE_TAKEN, FSM_ESTABLISHED,
					 FSM_START_HOLD | FSM_UP)}},
	[FSM_ESTABLISHED] = {.other = {FSM_IDLE, SAYING | FSM_DOWN | FAILED},
			     .rows = {ON_WITH_TCP(FSM_ESTABLISHED, FSM_DOWN),
				      ON(FSM_KEEPALIVE_EXPIRED, FSM_ESTABLISHED, ALIVE),
				      ON(FSM_KEEPALIVE_TAKEN, FSM_ESTABLISHED,
					 FSM_START_HOLD | FSM_COUNT_CLEAR),
				      ON(FSM_UPDATE_TAKEN, FSM_ESTABLISHED, FSM_START_HOLD),
				      ON(FSM_REFRESH_TAKEN, FSM_ESTABLISHED, FSM_ANSWER_REFRESH)}},
};

struct fsm_step fsm_step(enum fsm_state state, enum fsm_event event)
{
	const struct row *row = &states[state].rows[event];

	return row->is ? row->step : states[state].other;
}

bool fsm_notice(enum fsm_state state, enum fsm_event event, uint8_t *ret_code, uint8_t *ret_subcode)
{
	uint8_t code = WIRE_ERR_FSM, subcode = 0;

	switch (event) {
	case FSM_HOLD_EXPIRED: code = WIRE_ERR_HOLD; break;
	case FSM_SEND_HOLD_EXPIRED: code = WIRE_ERR_SEND_HOLD; break;
	case FSM_COLLISION:
		code = WIRE_CEASE;
		subcode = WIRE_CEASE_COLLISION;
		break;
	case FSM_STOP:
	case FSM_LOST:
	case FSM_HEADER_ERROR: return false;
	/* An OPEN or UPDATE where there should be none is that first, and wrong only then. */
	case FSM_OPEN_ERROR:
		if (state == FSM_OPENSENT)
			return false;
		break;
	case FSM_UPDATE_ERROR:
		if (state == FSM_ESTABLISHED)
			return false;
		break;
	default: break;
	}
	if (!(fsm_step(state, event).actions & FSM_SEND_NOTICE))
		return false;
	if (code == WIRE_ERR_FSM)
		subcode = (uint8_t)(WIRE_IN_OPENSENT + (state - FSM_OPENSENT));
	*ret_code = code;
	*ret_subcode = subcode;
	return true;
}

/* RFC 6286 section 2.3: by the router ids, as numbers; between different AS they may be alike. */
static bool ours_stays(const struct fsm_side *us, const struct fsm_side *peer)
{
	if (us->router_id != peer->router_id)
		return us->router_id > peer->router_id;
	return us->asn > peer->asn;
}

enum fsm_collision fsm_collide(enum fsm_state old, bool old_is_ours, const struct fsm_side *us,
			       const struct fsm_side *peer)
{
	if (old < FSM_OPENSENT)
		return FSM_KEEP_BOTH;
	/*
	 * OpenSent too: who is at the other end we know by its address. To wait for its OPEN there
	 * would let the one come up here that the peer closes, as it has both OPENs already.
	 */
	if (old == FSM_ESTABLISHED)
		return FSM_CLOSE_NEW;
	return ours_stays(us, peer) == old_is_ours ? FSM_CLOSE_NEW : FSM_CLOSE_OLD;
}

uint32_t fsm_jitter_ms(uint32_t interval_ms, uint32_t random)
{
	uint64_t quarter = (interval_ms + 3ull) / 4;

	return interval_ms - (uint32_t)(quarter * random >> 32);
}

uint32_t fsm_back_off_ms(uint32_t failures, uint32_t random)
{
	uint32_t interval_ms = FSM_BACK_OFF_MIN_MS;

	while (failures-- > 1 && interval_ms < FSM_BACK_OFF_MAX_MS)
		interval_ms *= 2;
	if (interval_ms > FSM_BACK_OFF_MAX_MS)
		interval_ms = FSM_BACK_OFF_MAX_MS;
	/* The first comes at once, but not earlier than that. */
	return interval_ms == FSM_BACK_OFF_MIN_MS ? interval_ms
						  : fsm_jitter_ms(interval_ms, random);
}

uint32_t fsm_send_hold_ms(uint16_t hold_s)
{
	uint32_t twice_ms = hold_s * 2000u;

	return twice_ms > FSM_SEND_HOLD_MIN_MS ? twice_ms : (uint32_t)FSM_SEND_HOLD_MIN_MS;
}

const char *fsm_state_name(enum fsm_state state)
{
	static const char *const names[FSM_STATES] = {
		[FSM_IDLE] = "Idle",
		[FSM_CONNECT] = "Connect",
		[FSM_ACTIVE] = "Active",
		[FSM_OPENSENT] = "OpenSent",
		[FSM_OPENCONFIRM] = "OpenConfirm",
		[FSM_ESTABLISHED] = "Established",
	};

	return names[state];
}
