// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every history of a slot, up to a length or without one, and a flow amid it: the packet path as
 * it is (natively), over a pool's rules as tests/lib/model/twin.h has them, beside an ideal tracker
 * that remembers for the idle time which backend the flow has, whatever the slot says. The flow
 * must stay there while that backend may keep it.
 *
 * States are searched breadth first, and all histories that lead to one state go on as one: each is
 * put into the tables, an event is let happen or a packet is run, and what the tables hold then is
 * the next state. Times count back from the present, so that states which differ in nothing else
 * are one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dp/verdict.h"
#include "engine/native.h"
#include "flow/flow.h"

#include "../lib/frame/frame.h"
#include "../lib/model/space.h"
#include "../lib/model/twin.h"
#include "../lib/world/world.h"

enum {
	IDLE = 3, /* steps of time: of established connections */
	CLOSING = 1,
	DATAGRAM_IDLE = 2,
	FLOODS = 6, /* connections that begin at once */
	SERVICE = WORLD_MOVE,
	BASE = 1000, /* the present tick */
	NO_LIMIT = UINT32_MAX,
	GENERATION = 5,
	VOID_AGE = 500,
};

/* --- a state --- */

enum flow_phase { FLOW_IS_NONE, FLOW_IS_OPEN };

struct state {
	struct twin twin;
	struct abi_bucket bucket; /* the flow table; times as if it were BASE now */
	uint8_t phase;
	uint8_t backend; /* that the ideal tracker has */
	uint8_t silent;  /* steps of time since the flow's last packet */
	uint8_t limited; /* no entry can be made */
	uint8_t pad[4];
};

/* What a search is about. */
struct search {
	struct twin_limits limits;
	bool datagrams, floods, limit, flips, orders, leaving;
	bool keeps;         /* no flow is cut */
	bool prompt;        /* the word follows at once */
	unsigned int depth; /* events and packets in a row, and MODEL_DEEPER more */
	const char *name;
};

static struct {
	struct native *native;
	struct dp_tables *tables;
	const struct search *search;
	struct frame syn, ack, fin, rst, udp, floods[FLOODS];
	uint64_t relied; /* before the action */
} model;

static struct abi_backend *record_of(uint32_t member)
{
	return &model.tables->backends[member + TWIN_FIRST_RECORD];
}

static uint32_t slot_at(uint32_t at)
{
	return WORLD_OLD_SLOT + at;
}

/* The flags, the words and the service, as the control plane writes them. */
static void write_twin(const struct twin *twin)
{
	struct abi_service *service = &model.tables->services[SERVICE];

	for (uint32_t m = 0; m < model.search->limits.members; m++)
		record_of(m)->flags = twin_flags(twin, m) | ABI_BACKEND_NEIGH;
	for (uint32_t at = 0; at < TWIN_SLOTS; at++)
		model.tables->slots[slot_at(at)] = twin->words[at];
	service->table = abi_table(slot_at(twin->at), 1);
	service->flags = ABI_SERVICE_TRANSITION | (twin->flipping ? ABI_SERVICE_FLIP : 0);
	service->old_table = twin->flipping ? abi_table(slot_at(twin->at ^ 1), 1) : 0;
	service->old_policy = ABI_POLICY_5TUPLE;
}

/* Flows that went on without an entry that they should have: the daemon waits for them. */
static uint64_t relying(void)
{
	return native_event_count(model.native, ABI_EVENT_FLOW_RELIES);
}

static void load(const struct state *state)
{
	write_twin(&state->twin);
	model.tables->flows[0] = state->bucket;
	model.tables->node->insert_limit = state->limited ? 0 : NO_LIMIT;
	model.relied = relying();
}

static void store(struct state *state)
{
	state->bucket = model.tables->flows[0];
	if (relying() != model.relied)
		state->twin.relied_age = 0;
}

/* --- packets --- */

static uint32_t run(const struct frame *frame)
{
	static uint8_t buffer[FRAME_MAX + NATIVE_HEADROOM];
	struct dp_result result;

	memcpy(buffer, frame->bytes, frame->length);
	assert_int_equal(native_run(model.native, buffer, frame->length,
				    frame->length + NATIVE_HEADROOM,
				    (uint64_t)BASE << ABI_TICK_SHIFT, &result),
			 0);
	return result.trace.verdict == VERDICT_FORWARDED ? result.trace.backend : 0;
}

static void forget(struct state *state)
{
	state->phase = FLOW_IS_NONE;
	state->backend = 0;
	state->silent = 0;
}

/* The flow has gone somewhere; NULL: as it must. */
static const char *check_kept(struct state *state, uint32_t got)
{
	uint32_t flags = state->backend ? twin_flags(&state->twin, state->backend - 1U) : 0;

	/* Its backend may keep it no longer; the next one resets it. */
	if (!(flags & ABI_BACKEND_KEEP)) {
		forget(state);
		return NULL;
	}
	state->silent = 0;
	if (got == state->backend)
		return NULL;
	/* A datagram waits for nobody who does not answer. */
	if (model.search->datagrams && !(flags & ABI_BACKEND_HEALTHY)) {
		state->backend = (uint8_t)got;
		if (!got || !(twin_flags(&state->twin, got - 1) & ABI_BACKEND_KEEP))
			forget(state);
		return NULL;
	}
	return "a flow has left its backend";
}

/* An established entry keeps a SYN (RFC 5961): its flow may live, whatever the model knows. */
static bool is_held(const struct state *state)
{
	for (int i = 0; i < ABI_BUCKET_FLOWS; i++) {
		uint64_t pin = state->bucket.flows[i].pin;

		if (flow_pin_state(pin) == FLOW_ESTABLISHED &&
		    flow_pin_live(model.tables->node, pin, BASE))
			return true;
	}
	return false;
}

/* One that begins must reach somebody usable, if its slot's word knows one. */
static const char *check_begun(const struct state *state, uint32_t got)
{
	uint32_t owner = twin_owner(&state->twin, &model.search->limits);

	if (state->limited || model.search->datagrams || is_held(state) || !owner ||
	    !twin_is_settled(&state->twin, &model.search->limits))
		return NULL;
	return owner == got ? NULL : "a connection has not begun at the slot's owner";
}

/*
 * Known and accepted, so left out: a connection ends, another one with its addresses and ports
 * begins within the closing time and in a settled slot, and a transition begins, also within it.
 * The old entry then decides for the new connection: to the right backend, but with a closing one's
 * time.
 */
static void forget_closing(const struct state *state)
{
	if (state->twin.words[state->twin.at] & ABI_SLOT_TRANSITION)
		return;
	for (int i = 0; i < ABI_BUCKET_FLOWS; i++) {
		struct abi_flow *entry = &model.tables->flows[0].flows[i];

		if (flow_pin_state(entry->pin) == FLOW_FIN ||
		    flow_pin_state(entry->pin) == FLOW_RST)
			*entry = (struct abi_flow){0, 0};
	}
}

static const char *open_flow(struct state *state)
{
	const char *wrong;
	uint32_t got;

	forget_closing(state);
	got = run(model.search->datagrams ? &model.udp : &model.syn);
	wrong = check_begun(state, got);
	if (wrong || !got || !(twin_flags(&state->twin, got - 1) & ABI_BACKEND_KEEP))
		return wrong;
	state->phase = FLOW_IS_OPEN;
	state->backend = (uint8_t)got;
	state->silent = 0;
	return model.search->datagrams ? NULL : check_kept(state, run(&model.ack));
}

static const char *send_segment(struct state *state)
{
	return check_kept(state, run(model.search->datagrams ? &model.udp : &model.ack));
}

static const char *send_fin(struct state *state)
{
	const char *wrong = check_kept(state, run(&model.fin));

	forget(state);
	return wrong;
}

/* By somebody who only knows its addresses and ports; its next packet comes soon. */
static const char *forge_rst(struct state *state)
{
	const char *wrong;

	run(&model.rst);
	wrong = send_segment(state);
	return wrong;
}

static const char *flood(void)
{
	for (int i = 0; i < FLOODS; i++)
		run(&model.floods[i]);
	return NULL;
}

/* --- time --- */

/* An entry that is void for good, be it of old age or because its backend's flows were cut. */
static void make_void(struct abi_flow *entry)
{
	uint64_t slot = entry->pin >> FLOW_SLOT_SHIFT << FLOW_SLOT_SHIFT;

	entry->pin = slot | (uint64_t)FLOW_FIN << FLOW_STATE_SHIFT | (BASE - VOID_AGE);
}

/* What an entry is a step of time later. */
static void age_entry(struct abi_flow *entry)
{
	uint32_t age = flow_pin_age(entry->pin, BASE) + 1;
	uint32_t limit = flow_limit_ticks(model.tables->node, flow_pin_state(entry->pin));

	if (age > limit)
		make_void(entry);
	else
		entry->pin = (entry->pin & ~(uint64_t)FLOW_TIME_MASK) | (BASE + 1 - age);
}

/* Is an entry of the present table live that names another than the word's current? */
static bool is_pinned(const struct state *state)
{
	uint32_t slot = slot_at(state->twin.at);
	uint32_t current = abi_slot_current(state->twin.words[state->twin.at]);

	for (int i = 0; i < ABI_BUCKET_FLOWS; i++) {
		uint64_t key = state->bucket.flows[i].key, pin = state->bucket.flows[i].pin;

		if (!pin || (pin >> FLOW_SLOT_SHIFT) != slot >> FLOW_KEY_SLOT_BITS ||
		    (key & FLOW_KEY_SLOT_MASK) != (slot & FLOW_KEY_SLOT_MASK) ||
		    flow_pin_generation(pin) != GENERATION)
			continue;
		if (flow_pin_live(model.tables->node, pin, BASE) &&
		    flow_pin_backend(pin) != current)
			return true;
	}
	return false;
}

static const char *step(struct state *state)
{
	uint8_t idle = model.search->datagrams ? DATAGRAM_IDLE : IDLE;

	/* The word follows within moments. */
	twin_settle(&state->twin, &model.search->limits);
	for (int i = 0; i < ABI_BUCKET_FLOWS; i++) {
		if (state->bucket.flows[i].pin)
			age_entry(&state->bucket.flows[i]);
	}
	if (state->phase == FLOW_IS_OPEN && ++state->silent >= idle)
		forget(state);
	twin_step(&state->twin, &model.search->limits);
	twin_end(&state->twin, &model.search->limits, is_pinned(state));
	return NULL;
}

/* --- what can happen --- */

/* The member's flows are cut, and its pins are void for good. */
static void cut(struct state *state, uint32_t member)
{
	for (int i = 0; i < ABI_BUCKET_FLOWS; i++) {
		struct abi_flow *entry = &state->bucket.flows[i];

		if (flow_pin_backend(entry->pin) == member + TWIN_FIRST_RECORD)
			make_void(entry);
	}
	if (state->backend == member + TWIN_FIRST_RECORD)
		forget(state);
}

static bool set_admin(struct state *state, uint32_t member, enum twin_admin admin)
{
	if (!twin_set_admin(&state->twin, &model.search->limits, member, admin))
		return false;
	if (admin == TWIN_MAINT || admin == TWIN_REMOVED)
		cut(state, member);
	return true;
}

static bool set_health(struct state *state, uint32_t member, enum twin_health health)
{
	return twin_set_health(&state->twin, &model.search->limits, member, health);
}

enum { OF_MEMBER = 7 };

static bool happen_to(struct state *state, uint32_t member, uint32_t what)
{
	switch (what) {
	case 0: return set_health(state, member, TWIN_DOWN);
	case 1: return set_health(state, member, TWIN_UP);
	case 2: return !model.search->keeps && set_health(state, member, TWIN_EXPIRED);
	case 3: return set_admin(state, member, TWIN_DRAIN);
	case 4: return set_admin(state, member, TWIN_ACTIVE);
	case 5: return !model.search->keeps && set_admin(state, member, TWIN_MAINT);
	default: return model.search->leaving && set_admin(state, member, TWIN_REMOVED);
	}
}

/* To the whole; returns false for what changes nothing. */
static bool happen(struct state *state, uint32_t what)
{
	const struct search *search = model.search;
	struct twin *twin = &state->twin;

	switch (what) {
	case 0: return twin_settle(twin, &search->limits);
	case 1: return twin_restart(twin);
	case 2: return search->orders && twin_set_order(twin, &search->limits, twin->order ^ 1);
	case 3: return search->orders && twin_set_order(twin, &search->limits, 2);
	case 4: return search->flips && twin_flip(twin, &search->limits, twin->order);
	case 5: return search->flips && twin_flip(twin, &search->limits, twin->order ^ 1);
	case 6: state->limited ^= 1; return search->limit;
	default: return false;
	}
}

enum { EVENTS = 7, PACKETS = 6 };

/* Whether it can be done now; *ret_wrong is what went wrong, if something did. */
static bool act(struct state *state, uint32_t what, const char **ret_wrong)
{
	bool is_open = state->phase == FLOW_IS_OPEN, tcp = !model.search->datagrams;

	*ret_wrong = NULL;
	switch (what) {
	case 0: *ret_wrong = step(state); return true;
	case 1: return !is_open && (*ret_wrong = open_flow(state), true);
	case 2: return is_open && (*ret_wrong = send_segment(state), true);
	case 3: return is_open && tcp && (*ret_wrong = send_fin(state), true);
	case 4: return is_open && tcp && (*ret_wrong = forge_rst(state), true);
	default: return model.search->floods && (*ret_wrong = flood(), true);
	}
}

static uint32_t actions(void)
{
	return model.search->limits.members * OF_MEMBER + EVENTS + PACKETS;
}

/* Returns whether it is an action here. */
static bool apply(struct state *state, uint32_t action, const char **ret_wrong)
{
	uint32_t of_members = model.search->limits.members * OF_MEMBER;

	*ret_wrong = NULL;
	if (action < of_members) {
		if (!happen_to(state, action / OF_MEMBER, action % OF_MEMBER))
			return false;
		if (model.search->prompt)
			twin_settle(&state->twin, &model.search->limits);
		return true;
	}
	if (action < of_members + EVENTS)
		return happen(state, action - of_members);
	load(state);
	if (!act(state, action - of_members - EVENTS, ret_wrong))
		return false;
	if (action - of_members != EVENTS)
		store(state);
	return true;
}

static const char *action_text(uint32_t action, char text[32])
{
	static const char *const of_member[] = {"fails",  "returns", "has expired", "drains",
						"active", "maint",   "removed"};
	static const char *const others[] = {"settle",
					     "restart",
					     "another base table",
					     "a third base table",
					     "flip",
					     "flip and order",
					     "limit on or off",
					     "time",
					     "SYN",
					     "segment",
					     "FIN",
					     "forged RST",
					     "flood of SYN"};
	uint32_t of_members = model.search->limits.members * OF_MEMBER;

	if (action < of_members)
		snprintf(text, 32, "%u %s", action / OF_MEMBER + TWIN_FIRST_RECORD,
			 of_member[action % OF_MEMBER]);
	else
		snprintf(text, 32, "%s", others[action - of_members]);
	return text;
}

/* --- the search --- */

static const char *step_from(void *state, uint32_t action, bool *ret_done)
{
	const char *wrong;

	*ret_done = apply(state, action, &wrong);
	return wrong;
}

static void search(const struct search *what)
{
	struct space space = {
		.name = what->name,
		.size = sizeof(struct state),
		.depth = what->depth,
		.act = step_from,
		.say = action_text,
	};
	struct state first;

	memset(&first, 0, sizeof(first));
	model.search = what;
	for (uint32_t m = what->limits.members; m < TWIN_MEMBERS; m++)
		first.twin.admin[m] = TWIN_REMOVED;
	first.twin.relied_age = what->limits.idle + 1;
	twin_settle(&first.twin, &what->limits);
	first.twin.words[0] &= ABI_SLOT_TRANSITION - 1;
	space.actions = actions();
	space_search(&space, &first);
}

#define SEARCH(what, ...)                                                          \
	static void test_##what(void **state)                                      \
	{                                                                          \
		static const struct search about = {.name = #what, ##__VA_ARGS__}; \
                                                                                   \
		(void)state;                                                       \
		search(&about);                                                    \
	}
#define LIMITS(count) .limits = {count, IDLE, DATAGRAM_IDLE}
SEARCH(two, LIMITS(2), .leaving = true, .orders = true, .depth = 9)
SEARCH(two_flips, LIMITS(2), .flips = true, .depth = 8)
SEARCH(two_limit, LIMITS(2), .limit = true, .keeps = true, .prompt = true, .depth = 12)
SEARCH(two_flood, LIMITS(2), .floods = true, .depth = 7)
SEARCH(two_datagrams, LIMITS(2), .datagrams = true, .leaving = true, .orders = true, .depth = 8)
SEARCH(three, LIMITS(3), .leaving = true, .orders = true, .depth = 7)
SEARCH(three_flips, LIMITS(3), .orders = true, .flips = true, .depth = 6)

/* --- setting up --- */

static void build(struct frame *frame, uint16_t sport, uint8_t proto, uint8_t flags)
{
	const struct frame_spec spec = {.src = WORLD_CLIENT4,
					.dst = WORLD_MOVE_VIP4,
					.sport = sport,
					.dport = proto == IPPROTO_TCP ? 80 : 53,
					.proto = proto,
					.tcp_flags = flags};

	frame_build(&spec, frame);
}

static int set_up(void **state)
{
	struct abi_node *node;

	(void)state;
	if (native_new(WORLD_FLOWS, &model.native))
		return -1;
	model.tables = native_tables(model.native);
	world_fill(model.tables);
	node = model.tables->node;
	node->flow_buckets_mask = 0;
	/* One more than the times, as a daemon fills them. */
	node->established_ticks = IDLE + 1;
	node->handshake_ticks = 2;
	node->closing_ticks = CLOSING + 1;
	node->udp_ticks = DATAGRAM_IDLE + 1;
	for (uint32_t m = 0; m < TWIN_MEMBERS; m++)
		record_of(m)->generation = GENERATION;
	build(&model.syn, 1000, IPPROTO_TCP, FRAME_SYN);
	build(&model.ack, 1000, IPPROTO_TCP, FRAME_ACK);
	build(&model.fin, 1000, IPPROTO_TCP, FRAME_FIN | FRAME_ACK);
	build(&model.rst, 1000, IPPROTO_TCP, FRAME_RST);
	build(&model.udp, 1000, IPPROTO_UDP, 0);
	for (uint16_t i = 0; i < FLOODS; i++)
		build(&model.floods[i], (uint16_t)(2000 + i), IPPROTO_TCP, FRAME_SYN);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	native_free(model.native);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two),           cmocka_unit_test(test_two_flips),
		cmocka_unit_test(test_two_limit),     cmocka_unit_test(test_two_flood),
		cmocka_unit_test(test_two_datagrams), cmocka_unit_test(test_three),
		cmocka_unit_test(test_three_flips),
	};

	/* One alone, for those that take long with MODEL_DEEPER. */
	cmocka_set_test_filter(getenv("MODEL_ONLY"));
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
