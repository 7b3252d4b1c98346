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

#include "bgp/wire.h"

#define STOPPED (FSM_STOP_CONNECT_RETRY | FSM_DROP)
#define CLEARED (STOPPED | FSM_COUNT_CLEAR)
#define FAILED  (STOPPED | FSM_COUNT_FAILURE | FSM_BACK_OFF)
#define SAYING  FSM_SEND_NOTICE
#define OPENED  (FSM_STOP_CONNECT_RETRY | FSM_SEND_OPEN | FSM_START_HOLD_LONG)
#define ALIVE   (FSM_SEND_KEEPALIVE | FSM_START_KEEPALIVE)

static const struct fsm_step idle[FSM_EVENTS] = {
	[FSM_START] = {FSM_CONNECT, FSM_CONNECT_TCP | FSM_START_CONNECT_RETRY},
	[FSM_START_PASSIVE] = {FSM_ACTIVE, 0},
	[FSM_STOP] = {FSM_IDLE, FSM_COUNT_CLEAR},
	/* All others: nothing is there that they could be about. */
};

static const struct fsm_step connecting[FSM_EVENTS] = {
	[FSM_START] = {FSM_CONNECT, 0},
	[FSM_START_PASSIVE] = {FSM_CONNECT, 0},
	[FSM_STOP] = {FSM_IDLE, CLEARED},
	[FSM_LOST] = {FSM_IDLE, FAILED},
	[FSM_ABANDON] = {FSM_IDLE, CLEARED},
	[FSM_CONNECT_RETRY_EXPIRED] = {FSM_CONNECT,
				       FSM_DROP | FSM_CONNECT_TCP | FSM_START_CONNECT_RETRY},
	[FSM_HOLD_EXPIRED] = {FSM_IDLE, FAILED},
	[FSM_KEEPALIVE_EXPIRED] = {FSM_IDLE, FAILED},
	[FSM_SEND_HOLD_EXPIRED] = {FSM_IDLE, FAILED},
	[FSM_TCP_CONNECTED] = {FSM_OPENSENT, OPENED},
	[FSM_TCP_ACCEPTED] = {FSM_OPENSENT, OPENED},
	[FSM_TCP_FAILED] = {FSM_IDLE, FAILED},
	[FSM_HEADER_ERROR] = {FSM_IDLE, FAILED},
	[FSM_OPEN_TAKEN] = {FSM_IDLE, FAILED},
	[FSM_OPEN_ERROR] = {FSM_IDLE, FAILED},
	[FSM_COLLISION] = {FSM_IDLE, STOPPED},
	[FSM_NOTICE_VERSION] = {FSM_IDLE, FAILED},
	[FSM_NOTICE] = {FSM_IDLE, FAILED},
	[FSM_KEEPALIVE_TAKEN] = {FSM_IDLE, FAILED},
	[FSM_UPDATE_TAKEN] = {FSM_IDLE, FAILED},
	[FSM_UPDATE_ERROR] = {FSM_IDLE, FAILED},
	[FSM_REFRESH_TAKEN] = {FSM_IDLE, FAILED},
};

static const struct fsm_step active[FSM_EVENTS] = {
	[FSM_START] = {FSM_ACTIVE, 0},
	[FSM_START_PASSIVE] = {FSM_ACTIVE, 0},
	[FSM_STOP] = {FSM_IDLE, CLEARED},
	[FSM_LOST] = {FSM_IDLE, FAILED},
	[FSM_ABANDON] = {FSM_IDLE, CLEARED},
	[FSM_CONNECT_RETRY_EXPIRED] = {FSM_CONNECT, FSM_CONNECT_TCP | FSM_START_CONNECT_RETRY},
	[FSM_HOLD_EXPIRED] = {FSM_IDLE, FAILED},
	[FSM_KEEPALIVE_EXPIRED] = {FSM_IDLE, FAILED},
	[FSM_SEND_HOLD_EXPIRED] = {FSM_IDLE, FAILED},
	[FSM_TCP_CONNECTED] = {FSM_OPENSENT, OPENED},
	[FSM_TCP_ACCEPTED] = {FSM_OPENSENT, OPENED},
	[FSM_TCP_FAILED] = {FSM_IDLE, FAILED},
	[FSM_HEADER_ERROR] = {FSM_IDLE, FAILED},
	[FSM_OPEN_TAKEN] = {FSM_IDLE, FAILED},
	[FSM_OPEN_ERROR] = {FSM_IDLE, FAILED},
	[FSM_COLLISION] = {FSM_IDLE, STOPPED},
	[FSM_NOTICE_VERSION] = {FSM_IDLE, FAILED},
	[FSM_NOTICE] = {FSM_IDLE, FAILED},
	[FSM_KEEPALIVE_TAKEN] = {FSM_IDLE, FAILED},
	[FSM_UPDATE_TAKEN] = {FSM_IDLE, FAILED},
	[FSM_UPDATE_ERROR] = {FSM_IDLE, FAILED},
	[FSM_REFRESH_TAKEN] = {FSM_IDLE, FAILED},
};

static const struct fsm_step opensent[FSM_EVENTS] = {
	[FSM_START] = {FSM_OPENSENT, 0},
	[FSM_START_PASSIVE] = {FSM_OPENSENT, 0},
	[FSM_STOP] = {FSM_IDLE, SAYING | CLEARED},
	[FSM_LOST] = {FSM_IDLE, SAYING | FAILED},
	[FSM_ABANDON] = {FSM_IDLE, CLEARED},
	[FSM_CONNECT_RETRY_EXPIRED] = {FSM_IDLE, SAYING | FAILED},
	[FSM_HOLD_EXPIRED] = {FSM_IDLE, SAYING | FAILED},
	[FSM_KEEPALIVE_EXPIRED] = {FSM_IDLE, SAYING | FAILED},
	[FSM_SEND_HOLD_EXPIRED] = {FSM_IDLE, SAYING | FAILED},
	[FSM_TCP_CONNECTED] = {FSM_OPENSENT, 0}, /* another connection's */
	[FSM_TCP_ACCEPTED] = {FSM_OPENSENT, 0},
	[FSM_TCP_FAILED] = {FSM_IDLE, FAILED},
	[FSM_HEADER_ERROR] = {FSM_IDLE, SAYING | FAILED},
	[FSM_OPEN_TAKEN] = {FSM_OPENCONFIRM, ALIVE | FSM_START_HOLD},
	[FSM_OPEN_ERROR] = {FSM_IDLE, SAYING | FAILED},
	[FSM_COLLISION] = {FSM_IDLE, SAYING | STOPPED},
	[FSM_NOTICE_VERSION] = {FSM_IDLE, FAILED},
	[FSM_NOTICE] = {FSM_IDLE, FAILED},
	[FSM_KEEPALIVE_TAKEN] = {FSM_IDLE, SAYING | FAILED},
	[FSM_UPDATE_TAKEN] = {FSM_IDLE, SAYING | FAILED},
	[FSM_UPDATE_ERROR] = {FSM_IDLE, SAYING | FAILED},
	[FSM_REFRESH_TAKEN] = {FSM_IDLE, SAYING | FAILED},
};

static const struct fsm_step openconfirm[FSM_EVENTS] = {
	[FSM_START] = {FSM_OPENCONFIRM, 0},
	[FSM_START_PASSIVE] = {FSM_OPENCONFIRM, 0},
	[FSM_STOP] = {FSM_IDLE, SAYING | CLEARED},
	[FSM_LOST] = {FSM_IDLE, SAYING | FAILED},
	[FSM_ABANDON] = {FSM_IDLE, CLEARED},
	[FSM_CONNECT_RETRY_EXPIRED] = {FSM_IDLE, SAYING | FAILED},
	[FSM_HOLD_EXPIRED] = {FSM_IDLE, SAYING | FAILED},
	[FSM_KEEPALIVE_EXPIRED] = {FSM_OPENCONFIRM, ALIVE},
	[FSM_SEND_HOLD_EXPIRED] = {FSM_IDLE, SAYING | FAILED},
	[FSM_TCP_CONNECTED] = {FSM_OPENCONFIRM, 0},
	[FSM_TCP_ACCEPTED] = {FSM_OPENCONFIRM, 0},
	[FSM_TCP_FAILED] = {FSM_IDLE, FAILED},
	[FSM_HEADER_ERROR] = {FSM_IDLE, SAYING | FAILED},
	[FSM_OPEN_TAKEN] = {FSM_IDLE, SAYING | FAILED},
	[FSM_OPEN_ERROR] = {FSM_IDLE, SAYING | FAILED},
	[FSM_COLLISION] = {FSM_IDLE, SAYING | STOPPED},
	[FSM_NOTICE_VERSION] = {FSM_IDLE, FAILED},
	[FSM_NOTICE] = {FSM_IDLE, FAILED},
	[FSM_KEEPALIVE_TAKEN] = {FSM_ESTABLISHED, FSM_START_HOLD | FSM_UP},
	[FSM_UPDATE_TAKEN] = {FSM_IDLE, SAYING | FAILED},
	[FSM_UPDATE_ERROR] = {FSM_IDLE, SAYING | FAILED},
	[FSM_REFRESH_TAKEN] = {FSM_IDLE, SAYING | FAILED},
};

static const struct fsm_step established[FSM_EVENTS] = {
	[FSM_START] = {FSM_ESTABLISHED, 0},
	[FSM_START_PASSIVE] = {FSM_ESTABLISHED, 0},
	[FSM_STOP] = {FSM_IDLE, SAYING | FSM_DOWN | CLEARED},
	[FSM_LOST] = {FSM_IDLE, SAYING | FSM_DOWN | FAILED},
	[FSM_ABANDON] = {FSM_IDLE, FSM_DOWN | CLEARED},
	[FSM_CONNECT_RETRY_EXPIRED] = {FSM_IDLE, SAYING | FSM_DOWN | FAILED},
	[FSM_HOLD_EXPIRED] = {FSM_IDLE, SAYING | FSM_DOWN | FAILED},
	[FSM_KEEPALIVE_EXPIRED] = {FSM_ESTABLISHED, ALIVE},
	[FSM_SEND_HOLD_EXPIRED] = {FSM_IDLE, SAYING | FSM_DOWN | FAILED},
	[FSM_TCP_CONNECTED] = {FSM_ESTABLISHED, 0},
	[FSM_TCP_ACCEPTED] = {FSM_ESTABLISHED, 0},
	[FSM_TCP_FAILED] = {FSM_IDLE, FSM_DOWN | FAILED},
	[FSM_HEADER_ERROR] = {FSM_IDLE, SAYING | FSM_DOWN | FAILED},
	[FSM_OPEN_TAKEN] = {FSM_IDLE, SAYING | FSM_DOWN | FAILED},
	[FSM_OPEN_ERROR] = {FSM_IDLE, SAYING | FSM_DOWN | FAILED},
	[FSM_COLLISION] = {FSM_IDLE, SAYING | FSM_DOWN | STOPPED},
	[FSM_NOTICE_VERSION] = {FSM_IDLE, FSM_DOWN | FAILED},
	[FSM_NOTICE] = {FSM_IDLE, FSM_DOWN | FAILED},
	[FSM_KEEPALIVE_TAKEN] = {FSM_ESTABLISHED, FSM_START_HOLD | FSM_COUNT_CLEAR},
	[FSM_UPDATE_TAKEN] = {FSM_ESTABLISHED, FSM_START_HOLD},
	[FSM_UPDATE_ERROR] = {FSM_IDLE, SAYING | FSM_DOWN | FAILED},
	[FSM_REFRESH_TAKEN] = {FSM_ESTABLISHED, FSM_ANSWER_REFRESH},
};

static const struct fsm_step *const states[FSM_STATES] = {
	[FSM_IDLE] = idle,         [FSM_CONNECT] = connecting,      [FSM_ACTIVE] = active,
	[FSM_OPENSENT] = opensent, [FSM_OPENCONFIRM] = openconfirm, [FSM_ESTABLISHED] = established,
};

struct fsm_step fsm_step(enum fsm_state state, enum fsm_event event)
{
	return states[state][event];
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
