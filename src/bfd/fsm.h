/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One session's state machine and timers (RFC 5880 sections 6.2, 6.5, 6.8), pure: time and chance
 * are handed in. Times are microseconds of the monotonic clock, from 1. The caller sends what
 * bfd_fsm_packet gives when a call's actions say so, and calls bfd_fsm_tick at bfd_fsm_deadline,
 * which any other call may bring nearer.
 */
#pragma once

#include "bfd/wire.h"

enum bfd_fsm_action {
	BFD_FSM_SEND = 1 << 0,       /* a packet is due; of bfd_fsm_tick alone */
	BFD_FSM_SEND_FINAL = 1 << 1, /* the answer to a poll, at once and whatever the interval */
	BFD_FSM_CHANGED = 1 << 2,    /* `state` is another than before */
};

enum {
	BFD_FSM_SLOW_US =
		1000000, /* the least that we offer to send at while not up (section 6.8.3) */
};

/* An interval that is told by a poll sequence, and counts once the peer has answered where
 * section 6.8.3 wants that. */
struct bfd_fsm_interval {
	uint32_t offered_us, applied_us;
};

struct bfd_fsm {
	enum bfd_state state;
	uint8_t diag;
	uint8_t multiplier;
	uint32_t interval_us; /* configured */
	struct bfd_fsm_interval send, receive;
	uint32_t own, your; /* discriminators */
	bool polling;       /* P in each packet, until an F */
	bool polled;        /* one with P and what is offered now has gone out */

	/* The peer's last packet; as before a first one otherwise. */
	enum bfd_state peer_state;
	uint8_t peer_diag, peer_multiplier;
	bool peer_demand, peer_independent;
	uint32_t peer_send_us, peer_receive_us;

	uint64_t heard_us; /* when that came; 0: none within a detection time */
	uint64_t sent_us;
	uint64_t send_at_us; /* UINT64_MAX: not before something changes */
};

/* `own` is the discriminator, not 0. The first packet is due at once. */
void bfd_fsm_init(struct bfd_fsm *fsm, uint32_t own, uint32_t interval_us, uint8_t multiplier,
		  uint64_t now_us);

/* A packet of this session, which bfd_packet_parse let pass. `chance` is any random number, here
 * and below: packets are spread by up to a quarter of the interval (section 6.8.7). Returns
 * actions. */
int bfd_fsm_receive(struct bfd_fsm *fsm, const struct bfd_packet *packet, uint64_t now_us,
		    uint32_t chance);

/* What is due: the detection time, the next packet. Returns actions. */
int bfd_fsm_tick(struct bfd_fsm *fsm, uint64_t now_us, uint32_t chance);
uint64_t bfd_fsm_deadline(const struct bfd_fsm *fsm);

/* Other parameters; the session stays as it is and begins a poll sequence. */
void bfd_fsm_change(struct bfd_fsm *fsm, uint32_t interval_us, uint8_t multiplier, uint64_t now_us);

/* AdminDown, for good, told by a poll sequence: `polling` ends when the peer has heard it. */
void bfd_fsm_disable(struct bfd_fsm *fsm, uint64_t now_us);

/* What to send now, or as the answer to a poll. */
struct bfd_packet bfd_fsm_packet(const struct bfd_fsm *fsm, bool final);

/* 0: nothing was heard yet, or nothing is to be sent. */
uint32_t bfd_fsm_detect_us(const struct bfd_fsm *fsm);
uint32_t bfd_fsm_send_us(const struct bfd_fsm *fsm);
