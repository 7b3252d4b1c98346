/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine of RFC 5880: three states that both ends walk through in step (6.2), a poll sequence
 * for other intervals (6.5), AdminDown. The order of bfd_fsm_receive is that of section 6.8.6,
 * which matters: a final bit counts also while AdminDown, whose packets are then dropped.
 *
 * Detection times have 64 bits: 255 times the longest interval is 300 hours. They are cut to 32
 * only where they are shown.
 */
#include "bfd/fsm.h"

#include <string.h>

#define NEVER UINT64_MAX

/* By our state, then the peer's as its packet says: section 6.8.6's cases, 6.2's picture. */
static const enum bfd_state next[4][4] = {
	[BFD_ADMIN_DOWN] = {BFD_ADMIN_DOWN, BFD_ADMIN_DOWN, BFD_ADMIN_DOWN, BFD_ADMIN_DOWN},
	[BFD_DOWN] = {[BFD_ADMIN_DOWN] = BFD_DOWN,
		      [BFD_DOWN] = BFD_INIT,
		      [BFD_INIT] = BFD_UP,
		      [BFD_UP] = BFD_DOWN},
	[BFD_INIT] = {[BFD_ADMIN_DOWN] = BFD_DOWN,
		      [BFD_DOWN] = BFD_INIT,
		      [BFD_INIT] = BFD_UP,
		      [BFD_UP] = BFD_UP},
	[BFD_UP] = {[BFD_ADMIN_DOWN] = BFD_DOWN,
		    [BFD_DOWN] = BFD_DOWN,
		    [BFD_INIT] = BFD_UP,
		    [BFD_UP] = BFD_UP},
};

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint64_t detect_us(const struct bfd_fsm *fsm)
{
	return (uint64_t)fsm->peer_multiplier * larger(fsm->receive.applied_us, fsm->peer_send_us);
}

uint32_t bfd_fsm_detect_us(const struct bfd_fsm *fsm)
{
	uint64_t us = detect_us(fsm);

	return us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

/* Silence is what a peer may ask for in two ways; a poll goes out all the same (section 6.8.7). */
uint32_t bfd_fsm_send_us(const struct bfd_fsm *fsm)
{
	bool demanded = fsm->peer_demand && fsm->state == BFD_UP && fsm->peer_state == BFD_UP;

	if (!fsm->peer_receive_us || (demanded && !fsm->polling))
		return 0;
	return larger(fsm->send.applied_us, fsm->peer_receive_us);
}

/* Less by 0 to 25 %; by 10 to 25 % where a single late packet would be a failure. */
static uint64_t spread(uint32_t interval_us, uint8_t multiplier, uint32_t chance)
{
	uint32_t least = multiplier == 1 ? 10 : 0;
	uint32_t thousandths = least * 10 + chance % ((25 - least) * 10 + 1);

	return interval_us - (uint64_t)interval_us * thousandths / 1000;
}

/* After what changes the interval: a shorter one counts from the last packet, not from now. */
static void schedule(struct bfd_fsm *fsm, uint32_t chance)
{
	uint32_t interval_us = bfd_fsm_send_us(fsm);

	fsm->send_at_us = interval_us ? fsm->sent_us + spread(interval_us, fsm->multiplier, chance)
				      : NEVER;
}

static void begin_poll(struct bfd_fsm *fsm)
{
	fsm->polling = true;
	fsm->polled = false;
}

static void end_poll(struct bfd_fsm *fsm)
{
	fsm->polling = false;
	fsm->send.applied_us = fsm->send.offered_us;
	fsm->receive.applied_us = fsm->receive.offered_us;
}

static bool offer(struct bfd_fsm_interval *interval, uint32_t us, bool at_once)
{
	bool other = interval->offered_us != us;

	interval->offered_us = us;
	if (at_once)
		interval->applied_us = us;
	return other;
}

/*
 * What section 6.8.3 lets us offer in this state. A longer sending interval and a shorter receiving
 * one wait for the peer's answer if it may count by the old ones: while up, and when we say
 * AdminDown, which so goes out as often as before until it is heard.
 */
static void offer_all(struct bfd_fsm *fsm)
{
	uint32_t us = fsm->interval_us;
	uint32_t send_us = fsm->state == BFD_UP ? us : larger(us, BFD_FSM_SLOW_US);
	bool wait = fsm->state == BFD_UP || fsm->state == BFD_ADMIN_DOWN;
	bool other = offer(&fsm->send, send_us, !wait || send_us < fsm->send.applied_us);

	other |= offer(&fsm->receive, us, !wait || us > fsm->receive.applied_us);
	if (other)
		begin_poll(fsm);
}

/* The peer as it is before its first packet (section 6.8.1). */
static void forget(struct bfd_fsm *fsm)
{
	fsm->your = 0;
	fsm->heard_us = 0;
	fsm->peer_state = BFD_DOWN;
	fsm->peer_demand = false;
	fsm->peer_receive_us = 1;
}

void bfd_fsm_init(struct bfd_fsm *fsm, uint32_t own, uint32_t interval_us, uint8_t multiplier,
		  uint64_t now_us)
{
	memset(fsm, 0, sizeof(*fsm));
	fsm->own = own;
	fsm->state = BFD_DOWN;
	fsm->interval_us = interval_us;
	fsm->multiplier = multiplier;
	forget(fsm);
	offer_all(fsm);
	fsm->polling = false;
	fsm->send_at_us = now_us;
}

/* It is said at once (section 6.8.7): that spares the peer its detection time. */
static int enter(struct bfd_fsm *fsm, enum bfd_state state, uint8_t diag, uint64_t now_us)
{
	if (state == fsm->state)
		return 0;
	if (state == BFD_UP)
		fsm->diag = BFD_DIAG_NONE;
	else if (state != BFD_INIT)
		fsm->diag = diag;
	fsm->state = state;
	offer_all(fsm);
	fsm->send_at_us = now_us;
	return BFD_FSM_CHANGED;
}

static void take(struct bfd_fsm *fsm, const struct bfd_packet *packet, uint64_t now_us)
{
	fsm->your = packet->own;
	fsm->peer_state = packet->state;
	fsm->peer_diag = packet->diag;
	fsm->peer_demand = packet->demand;
	fsm->peer_independent = packet->independent;
	fsm->peer_multiplier = packet->multiplier;
	fsm->peer_send_us = packet->send_us;
	fsm->peer_receive_us = packet->receive_us;
	fsm->heard_us = now_us;
}

int bfd_fsm_receive(struct bfd_fsm *fsm, const struct bfd_packet *packet, uint64_t now_us,
		    uint32_t chance)
{
	uint32_t before_us = bfd_fsm_send_us(fsm);
	int actions;

	take(fsm, packet, now_us);
	if (packet->final && fsm->polling && fsm->polled)
		end_poll(fsm);
	actions = enter(fsm, next[fsm->state][packet->state], BFD_DIAG_NEIGHBOUR, now_us);
	if (!actions && bfd_fsm_send_us(fsm) != before_us)
		schedule(fsm, chance);
	if (packet->poll && fsm->state != BFD_ADMIN_DOWN)
		actions |= BFD_FSM_SEND_FINAL;
	return actions;
}

/* In any state: a peer that begins anew must not be met with the discriminator that it had. */
static int expire(struct bfd_fsm *fsm, uint64_t now_us, uint32_t chance)
{
	forget(fsm);
	if (fsm->state == BFD_INIT || fsm->state == BFD_UP)
		return enter(fsm, BFD_DOWN, BFD_DIAG_EXPIRED, now_us);
	schedule(fsm, chance);
	return 0;
}

int bfd_fsm_tick(struct bfd_fsm *fsm, uint64_t now_us, uint32_t chance)
{
	int actions = 0;

	if (fsm->heard_us && now_us - fsm->heard_us >= detect_us(fsm))
		actions = expire(fsm, now_us, chance);
	if (now_us < fsm->send_at_us)
		return actions;
	fsm->sent_us = now_us;
	fsm->polled = true;
	schedule(fsm, chance);
	return actions | BFD_FSM_SEND;
}

uint64_t bfd_fsm_deadline(const struct bfd_fsm *fsm)
{
	uint64_t detect_at_us = fsm->heard_us ? fsm->heard_us + detect_us(fsm) : NEVER;

	return detect_at_us < fsm->send_at_us ? detect_at_us : fsm->send_at_us;
}

void bfd_fsm_change(struct bfd_fsm *fsm, uint32_t interval_us, uint8_t multiplier, uint64_t now_us)
{
	fsm->interval_us = interval_us;
	fsm->multiplier = multiplier;
	offer_all(fsm);
	fsm->send_at_us = now_us;
}

void bfd_fsm_disable(struct bfd_fsm *fsm, uint64_t now_us)
{
	enter(fsm, BFD_ADMIN_DOWN, BFD_DIAG_ADMIN, now_us);
	begin_poll(fsm);
}

struct bfd_packet bfd_fsm_packet(const struct bfd_fsm *fsm, bool final)
{
	return (struct bfd_packet){
		.state = fsm->state,
		.diag = fsm->diag,
		.poll = fsm->polling && !final,
		.final = final,
		.multiplier = fsm->multiplier,
		.own = fsm->own,
		.your = fsm->your,
		.send_us = fsm->send.offered_us,
		.receive_us = fsm->receive.offered_us,
	};
}
