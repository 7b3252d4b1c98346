/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A BFD session with a peer that sends anything at any time. The input is our interval and
 * multiplier, then steps: how long nothing happens, and a datagram or something of our own. What
 * must hold whatever comes: the session walks only along the edges of RFC 5880 section 6.2, is
 * never up after a detection time of silence, sends no oftener than the interval less a quarter
 * (but for changes and answers), always has a deadline ahead, and writes what it can read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bfd/fsm.h"

enum { BEGIN_US = 1000000, STEP_HEAD = 3, OWN = 0x01020304 };

enum kind { DATAGRAM, FITTING, CHANGE, DISABLE, KINDS };

struct input {
	const uint8_t *bytes;
	size_t left;
};

static void check_line(bool right, int line)
{
	if (right)
		return;
	fprintf(stderr, "bfd_fuzz: line %d does not hold\n", line);
	abort();
}

#define check(right) check_line(right, __LINE__)

/* Fewer if there are fewer; the rest is zero. */
static size_t take(struct input *input, uint8_t *to, size_t count)
{
	size_t got = count < input->left ? count : input->left;

	memset(to, 0, count);
	memcpy(to, input->bytes, got);
	input->bytes += got;
	input->left -= got;
	return got;
}

struct world {
	struct bfd_fsm fsm;
	uint64_t now_us;
	uint64_t sent_us; /* the last regular packet; 0: something changed since */
	uint32_t random;
};

static uint32_t chance(struct world *world)
{
	world->random = world->random * 1664525 + 1013904223;
	return world->random;
}

/* What goes out is what a peer takes, and says what is. */
static void check_packet(const struct bfd_fsm *fsm, bool final)
{
	struct bfd_packet packet = bfd_fsm_packet(fsm, final), again;
	uint8_t bytes[BFD_PACKET_LENGTH];

	bfd_packet_format(&packet, bytes);
	check(packet.your || (packet.state != BFD_UP && packet.state != BFD_INIT));
	check(bfd_packet_parse(bytes, sizeof(bytes), &again) == BFD_PACKET_OK);
	check(again.own == packet.own && again.your == packet.your);
	check(again.state == fsm->state && again.final == final && again.diag == fsm->diag);
	check(!again.independent && !again.demand && !(again.poll && again.final));
	check(fsm->state == BFD_UP || packet.send_us >= BFD_FSM_SLOW_US);
}

static void check_edge(enum bfd_state before, enum bfd_state after, int actions)
{
	static const bool edges[4][4] = {
		[BFD_ADMIN_DOWN] = {[BFD_ADMIN_DOWN] = true},
		[BFD_DOWN] = {[BFD_DOWN] = true, [BFD_INIT] = true, [BFD_UP] = true},
		[BFD_INIT] = {[BFD_INIT] = true, [BFD_DOWN] = true, [BFD_UP] = true},
		[BFD_UP] = {[BFD_UP] = true, [BFD_DOWN] = true},
	};

	check((unsigned)after < 4 && edges[before][after]);
	check((before != after) == !!(actions & BFD_FSM_CHANGED));
}

static void tick(struct world *world)
{
	struct bfd_fsm *fsm = &world->fsm;
	enum bfd_state before = fsm->state;
	uint32_t interval_us = bfd_fsm_send_us(fsm);
	int actions = bfd_fsm_tick(fsm, world->now_us, chance(world));

	check_edge(before, fsm->state, actions);
	check(bfd_fsm_deadline(fsm) > world->now_us);
	if (fsm->state == BFD_UP && bfd_fsm_detect_us(fsm) < UINT32_MAX)
		check(fsm->heard_us && world->now_us - fsm->heard_us < bfd_fsm_detect_us(fsm));
	if (actions & BFD_FSM_CHANGED)
		world->sent_us = 0;
	if (!(actions & BFD_FSM_SEND))
		return;
	check_packet(fsm, false);
	if (bfd_fsm_send_us(fsm) < interval_us) /* a peer forgotten, and what it wanted */
		interval_us = bfd_fsm_send_us(fsm);
	if (world->sent_us)
		check((world->now_us - world->sent_us) * 1000 >= (uint64_t)interval_us * 749);
	world->sent_us = world->now_us;
}

/* Lets time pass, with a tick at each deadline, as the thread does. */
static void pass(struct world *world, uint64_t us)
{
	uint64_t end_us = world->now_us + us;

	for (int i = 0; i < 8 && bfd_fsm_deadline(&world->fsm) < end_us; i++) {
		world->now_us = bfd_fsm_deadline(&world->fsm);
		tick(world);
	}
	world->now_us = end_us;
	tick(world);
}

static void receive(struct world *world, const uint8_t *bytes, size_t length)
{
	struct bfd_fsm *fsm = &world->fsm;
	enum bfd_state before = fsm->state;
	uint32_t interval_us = bfd_fsm_send_us(fsm);
	struct bfd_packet packet;
	int actions;

	if (bfd_packet_parse(bytes, length, &packet) != BFD_PACKET_OK)
		return;
	check(packet.own && packet.multiplier && length >= BFD_PACKET_LENGTH);
	if (packet.your && packet.your != OWN)
		return;
	actions = bfd_fsm_receive(fsm, &packet, world->now_us, chance(world));
	check_edge(before, fsm->state, actions);
	check(!(actions & BFD_FSM_SEND) && bfd_fsm_deadline(fsm) >= fsm->sent_us);
	check(!(actions & BFD_FSM_SEND_FINAL) || packet.poll);
	if (actions & BFD_FSM_SEND_FINAL)
		check_packet(fsm, true);
	if (actions & BFD_FSM_CHANGED || interval_us != bfd_fsm_send_us(fsm))
		world->sent_us = 0;
}

static void step(struct world *world, struct input *input)
{
	uint8_t head[STEP_HEAD], bytes[64];
	size_t length;

	take(input, head, sizeof(head));
	pass(world, ((uint64_t)head[1] << 8 | head[2]) << (head[0] >> 4));
	switch (head[0] % KINDS) {
	case DATAGRAM:
		length = take(input, bytes, head[0] & 8 ? sizeof(bytes) : BFD_PACKET_LENGTH);
		receive(world, bytes, length);
		break;
	case FITTING: /* for this session, of version 1 */
		take(input, bytes, BFD_PACKET_LENGTH);
		bytes[0] = (uint8_t)(0x20 | (bytes[0] & 0x1f));
		bytes[3] = BFD_PACKET_LENGTH;
		memcpy(bytes + 8, &(uint32_t){__builtin_bswap32(OWN)}, 4);
		receive(world, bytes, BFD_PACKET_LENGTH);
		break;
	case CHANGE:
		take(input, bytes, 3);
		bfd_fsm_change(&world->fsm, ((uint32_t)bytes[0] << 8 | bytes[1]) * 900 + 10000,
			       bytes[2] | 1, world->now_us);
		world->sent_us = 0;
		break;
	default:
		if (!(head[0] & 8))
			break;
		bfd_fsm_disable(&world->fsm, world->now_us);
		world->sent_us = 0;
	}
	tick(world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	struct world world = {.now_us = BEGIN_US};
	uint8_t head[4];

	take(&input, head, sizeof(head));
	world.random = head[3];
	bfd_fsm_init(&world.fsm, OWN, ((uint32_t)head[0] << 8 | head[1]) * 900 + 10000, head[2] | 1,
		     world.now_us);
	tick(&world);
	while (input.left)
		step(&world, &input);
	return 0;
}
