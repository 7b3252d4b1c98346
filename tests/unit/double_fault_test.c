/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two faults at once, with a second chance: every short sequence of what happens to one backend or
 * to the file, of deaths of nodes with all that they know, of restarts, moves of flows, and time.
 * Connections begin after each event at both nodes, and send through whichever they come to: whom
 * that one sends them to, or names beside, must be who has them. As tests/e2e/chaos.sh it stays
 * with what is promised: one backend is odd at a time; once it is mended, and before a file goes
 * back, all connections close for new ones; a node dies amid one change of the file at most.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/run/pair.h"
#include "pkt/parse.h"

enum {
	LENGTH_MAX = 12,
	SLOTS_MAX = 16,
	PORTS = 60,   /* of a slot, one for each connection of a sequence */
	FLOWS = 1500, /* in a sequence */
	TOLD_MAX = 10,
	USUAL = PAIR_SPARE, /* backends that are always in the file */
	SPARE = PAIR_SPARE,
	STEP_MS = 700,
	CHECK_MS = 150,
	WAITS = GENERATION_WAITS,
};

enum kind { FAIL, DRAIN, MAINT, SHARE, WEIGHT, KINDS };

/* Events: a kind for each usual backend, and then these. */
enum { ADD = KINDS * USUAL, MEND, NODE_1, NODE_2, SLOWLY, MOVE };
enum { RESTART_1 = MOVE + 1, RESTART_2, WAIT, EVENTS };
enum { WAITS_FOR = 3 };

struct faults {
	const char *name, *pool, *seed;
	unsigned int length;
	uint64_t idle_ms;
	bool apart;   /* all connections of a slot are at one node */
	bool reloads; /* a new file is read without a restart */
};

struct flow {
	uint16_t port;
	uint8_t owner; /* a backend, or PAIR_NOBODY: it is over */
	uint8_t home;  /* the node that it comes to while that serves */
	bool quiet;    /* sends only so that it is not forgotten */
	uint64_t heard_ms;
	unsigned int step; /* when it began */
};

static struct {
	const struct faults *about;
	unsigned int length, at;
	unsigned int events[LENGTH_MAX];
	uint64_t number, count, broken;
	bool breaks; /* this one */
	unsigned int ran;
	struct flow flows[FLOWS];
	uint32_t flow_count;
	uint32_t slots;
	uint16_t ports[SLOTS_MAX][PORTS];
	uint32_t used[SLOTS_MAX];
	uint64_t changed_ms[2]; /* the file, the last two times */
	bool moved;             /* flows change nodes */
} fault;

/* --- words --- */

static void tell_event(unsigned int event)
{
	static const char *const kinds[KINDS] = {"fails", "drains", "goes into maint",
						 "has a share of 50", "has the weight 30"};
	static const char *const others[] = {"b4 is added",
					     "the odd one is mended",
					     "node 1 dies or returns",
					     "node 2 dies or returns",
					     "the dead node returns slowly",
					     "flows change nodes",
					     "daemon 1 restarts",
					     "daemon 2 restarts",
					     "half an idle time",
					     "one and a half idle times",
					     "four idle times and more"};

	if (event < ADD)
		print_error("b%u %s; ", event / KINDS + 1, kinds[event % KINDS]);
	else
		print_error("%s; ", others[event - ADD]);
}

static void tell_word(uint8_t n, uint32_t slot)
{
	const struct pair_node *node = &pair.nodes[n];
	uint64_t word;

	if (!node->balancer)
		return;
	word = native_tables(node->native)->slots[balancer_first_slot(node->balancer, 0) + slot];
	print_error("  node %u: current b%u previous b%u other b%u%s%s%s\n", n + 1,
		    node->numbers[abi_slot_current(word)] + 1,
		    abi_slot_previous(word) ? node->numbers[abi_slot_previous(word)] + 1 : 0,
		    node->numbers[abi_slot_other(word)] + 1,
		    word & ABI_SLOT_TRANSITION ? " TRANSITION" : "",
		    word & ABI_SLOT_DOUBT ? " DOUBT" : "", word & ABI_SLOT_ASK ? " ASK" : "");
}

static void tell_break(const struct flow *flow, uint8_t n, const struct pair_answer *answer)
{
	if (fault.breaks)
		return;
	fault.breaks = true;
	if (++fault.broken > TOLD_MAX)
		return;
	print_error("%s (%llu): ", fault.about->name, (unsigned long long)fault.number);
	for (unsigned int i = 0; i < fault.length; i++) {
		print_error("%s", i == fault.at ? "HERE " : "");
		tell_event(fault.events[i]);
	}
	print_error(
		"\n  slot %u, %s, of b%u, home node %u, began after event %u, heard %llu ms ago; "
		"node %u sends it to b%d beside b%d\n",
		answer->slot, flow->quiet ? "quiet" : "loud", flow->owner + 1, flow->home + 1,
		flow->step, (unsigned long long)(pair.now_ms - flow->heard_ms), n + 1,
		(int8_t)answer->first + 1, (int8_t)answer->second + 1);
	for (uint8_t i = 0; i < PAIR_NODES; i++)
		tell_word(i, answer->slot);
}

/* --- connections --- */

static bool answers(uint8_t number)
{
	return number != PAIR_NOBODY && !pair.backends[number].fails;
}

static bool is_excused(uint8_t number)
{
	return !answers(number) || pair.backends[number].admin == POOL_MAINT;
}

static uint8_t node_of(const struct flow *flow)
{
	uint8_t home = flow->home ^ fault.moved;

	return pair.nodes[home].knows ? home : !home;
}

/* The agent of the first one hands on, if its machine is alive. */
static void send_segment(struct flow *flow, uint8_t flags)
{
	uint8_t n = node_of(flow);
	struct pair_answer answer;

	if (is_excused(flow->owner))
		flow->owner = PAIR_NOBODY;
	if (flow->owner == PAIR_NOBODY)
		return;
	answer = pair_segment(&pair.nodes[n], flow->port, flags);
	if (answer.first != flow->owner && (answer.second != flow->owner || !answers(answer.first)))
		tell_break(flow, n, &answer);
	flow->heard_ms = pair.now_ms;
}

static void send_all(bool quiet_too)
{
	for (uint32_t i = 0; i < fault.flow_count; i++) {
		struct flow *flow = &fault.flows[i];

		if (quiet_too || !flow->quiet ||
		    pair.now_ms - flow->heard_ms >= pair.idle_ms * 6 / 10)
			send_segment(flow, PKT_TCP_ACK);
	}
}

static void open_flow(uint32_t slot, uint8_t home, bool quiet)
{
	struct flow *flow = &fault.flows[fault.flow_count++];

	assert_true(fault.flow_count < FLOWS && fault.used[slot] < PORTS);
	*flow = (struct flow){.port = fault.ports[slot][fault.used[slot]++],
			      .home = home ^ fault.moved,
			      .quiet = quiet,
			      .step = fault.at};
	flow->owner = pair_segment(&pair.nodes[node_of(flow)], flow->port, PKT_TCP_SYN).first;
	send_segment(flow, PKT_TCP_ACK);
}

static bool begins_at(uint8_t n, uint32_t slot)
{
	return pair.nodes[n].knows && (!fault.about->apart || (slot / 2 % 2) == n);
}

/* One more at each node that serves, in each slot. */
static void open_flows(bool quiet)
{
	for (uint8_t n = 0; n < PAIR_NODES; n++) {
		for (uint32_t slot = 0; slot < fault.slots; slot++) {
			if (begins_at(n, slot))
				open_flow(slot, n, quiet);
		}
	}
}

/* All close in order, or those of one backend. */
static void close_flows(uint8_t number)
{
	for (uint32_t i = 0; i < fault.flow_count; i++) {
		struct flow *flow = &fault.flows[i];

		if (number != PAIR_NOBODY && flow->owner != number)
			continue;
		send_segment(flow, PKT_TCP_ACK | PKT_TCP_FIN);
		flow->owner = PAIR_NOBODY;
	}
}

static void renew(void)
{
	close_flows(PAIR_NOBODY);
	open_flows(false);
	open_flows(true);
}

/* --- events --- */

static void pass(uint64_t ms)
{
	const uint64_t step_ms = pair.idle_ms / 5;

	for (uint64_t end_ms = pair.now_ms + ms; pair.now_ms < end_ms;) {
		uint64_t rest_ms = end_ms - pair.now_ms;

		pair_pass(rest_ms < step_ms ? rest_ms : step_ms);
		send_all(false);
	}
}

static void know(struct pair_node *node)
{
	pair_pass(CHECK_MS);
	pair_know(node, fault.number % USUAL);
	send_all(false);
}

static void bring_up(void)
{
	for (uint8_t n = 0; n < PAIR_NODES; n++) {
		if (!pair.nodes[n].balancer)
			pair_load(&pair.nodes[n]);
		if (!pair.nodes[n].knows)
			know(&pair.nodes[n]);
	}
}

static void restart(struct pair_node *node, bool reloads)
{
	if (reloads)
		pair_reload(node);
	else
		pair_load(node);
	if (!node->knows)
		return;
	send_all(false);
	know(node);
}

static void new_file(void)
{
	for (uint8_t n = 0; n < PAIR_NODES; n++) {
		if (pair.nodes[n].balancer)
			restart(&pair.nodes[n], fault.about->reloads);
	}
	fault.changed_ms[0] = fault.changed_ms[1];
	fault.changed_ms[1] = pair.now_ms;
}

static bool is_lately(uint64_t ms)
{
	return ms && pair.now_ms - ms < (WAITS + 1) * pair.idle_ms;
}

/* One node hears of it first, and connections begin meanwhile. */
static void tell(uint8_t number)
{
	uint8_t first = fault.number / 3 % PAIR_NODES;

	for (uint8_t i = 0; i < PAIR_NODES; i++) {
		struct pair_node *node = &pair.nodes[i ^ first];

		if (node->balancer && node->knows)
			pair_tell(node, number);
		if (i == 0)
			open_flows(true);
	}
}

static bool disturb(uint8_t number, enum kind kind)
{
	struct pair_backend *backend = &pair.backends[number];

	if (pair_odd_one() != PAIR_NOBODY || (kind == WEIGHT && is_lately(fault.changed_ms[1])))
		return false;
	if (kind == WEIGHT) {
		if (number == SPARE)
			backend->listed = true;
		else
			backend->weight = 30;
		new_file();
		return true;
	}
	if (kind == FAIL)
		backend->fails = true;
	else if (kind == SHARE)
		backend->share = 50;
	else
		backend->admin = kind == DRAIN ? POOL_DRAIN : POOL_MAINT;
	tell(number);
	return true;
}

static void remove_spare(void)
{
	struct pair_backend *backend = &pair.backends[SPARE];

	backend->admin = POOL_DRAIN;
	tell(SPARE);
	send_all(false);
	pair_pass(CHECK_MS);
	close_flows(SPARE);
	backend->listed = false;
	backend->admin = POOL_ACTIVE;
	for (uint8_t n = 0; n < PAIR_NODES; n++)
		pair.nodes[n].told[SPARE] = *backend;
}

static bool mend(void)
{
	uint8_t number = pair_odd_one();
	struct pair_backend *backend;
	bool was_maint = false;

	if (number == PAIR_NOBODY)
		return false;
	backend = &pair.backends[number];
	if (pair_table_is_odd(number)) {
		bring_up();
		renew();
		if (number == SPARE)
			remove_spare();
		else
			backend->weight = 100;
		new_file();
	} else {
		was_maint = backend->admin == POOL_MAINT;
		*backend = (struct pair_backend){.listed = true, .weight = 100, .share = 100};
		tell(number);
		send_all(false);
		bring_up();
	}
	send_all(false);
	renew();
	/* Who served in its place had the slots for good, and is remembered for an idle time. One
	 * change more within it would be a third owner. */
	if (was_maint)
		pass(pair.idle_ms + pair.idle_ms / 5);
	return true;
}

static bool die_or_return(uint8_t n, bool slowly)
{
	struct pair_node *node = &pair.nodes[n];

	if (!node->balancer) {
		pair_load(node);
		if (slowly)
			pair_hear(node, fault.number % USUAL);
		else
			know(node);
		return true;
	}
	if (slowly || !pair.nodes[!n].knows || is_lately(fault.changed_ms[0]))
		return false;
	pair_die(node);
	return true;
}

/* Connections from before a file live no longer than a node remembers what there was. */
static void pass_on(uint64_t ms)
{
	if (fault.changed_ms[1] && pair.now_ms + ms - fault.changed_ms[1] >= WAITS * pair.idle_ms)
		renew();
	pass(ms);
}

static bool is_starting(void)
{
	for (uint8_t n = 0; n < PAIR_NODES; n++) {
		if (pair.nodes[n].balancer && !pair.nodes[n].knows)
			return true;
	}
	return false;
}

/* Whether it is an event here. */
static bool happen(unsigned int event)
{
	static const uint64_t waits[WAITS_FOR] = {5, 15, 10 * WAITS + 15};

	if (event < ADD)
		return disturb((uint8_t)(event / KINDS), event % KINDS);
	switch (event) {
	case ADD: return disturb(SPARE, WEIGHT);
	case MEND: return mend();
	case NODE_1:
	case NODE_2: return die_or_return((uint8_t)(event - NODE_1), false);
	case SLOWLY: return die_or_return(pair.nodes[0].balancer != NULL, true);
	case MOVE: fault.moved = !fault.moved; return pair.nodes[0].knows && pair.nodes[1].knows;
	case RESTART_1:
	case RESTART_2:
		if (!pair.nodes[event - RESTART_1].balancer)
			return false;
		restart(&pair.nodes[event - RESTART_1], false);
		return true;
	default:
		/* Checks that have no result for so long there are none. */
		if (is_starting())
			return false;
		pass_on(waits[event - WAIT] * pair.idle_ms / 10);
		return true;
	}
}

/* --- a sequence --- */

static void begin_anew(void)
{
	uint8_t odd = pair_odd_one();
	bool file = odd != PAIR_NOBODY && pair_table_is_odd(odd);

	fault.flow_count = 0;
	if (odd != PAIR_NOBODY) {
		pair.backends[odd] =
			(struct pair_backend){.listed = odd != SPARE, .weight = 100, .share = 100};
		for (uint8_t n = 0; n < PAIR_NODES; n++)
			pair.nodes[n].told[odd] = pair.backends[odd];
	}
	for (uint8_t n = 0; n < PAIR_NODES; n++) {
		if (file || !pair.nodes[n].balancer)
			pair_load(&pair.nodes[n]);
		pair_know(&pair.nodes[n], 0);
	}
	for (int i = 0; i < 3; i++)
		pair_pass((WAITS + 1) * pair.idle_ms + POOL_STARTING_MS);
	for (uint8_t n = 0; n < PAIR_NODES; n++)
		assert_int_equal(pool_moving_slots(balancer_pool(pair.nodes[n].balancer, 0)), 0);
	memset(fault.used, 0, sizeof(fault.used));
	memset(fault.changed_ms, 0, sizeof(fault.changed_ms));
	fault.at = 0;
	fault.moved = fault.breaks = false;
}

/* Returns how many of the events could happen. */
static unsigned int run_sequence(void)
{
	begin_anew();
	open_flows(false);
	open_flows(true);
	for (fault.at = 0; fault.at < fault.length; fault.at++) {
		bool starts = is_starting();

		pair_pass(STEP_MS);
		if (!happen(fault.events[fault.at]))
			return fault.at;
		for (uint8_t n = 0; n < PAIR_NODES; n++) {
			if (starts && pair.nodes[n].balancer && !pair.nodes[n].knows)
				know(&pair.nodes[n]);
		}
		send_all(false);
		open_flows(false);
		open_flows(true);
	}
	fault.at = fault.length - 1;
	pair_pass(STEP_MS);
	send_all(true);
	return fault.length;
}

static bool go_on(unsigned int step)
{
	for (unsigned int i = step + 1; i < fault.length; i++)
		fault.events[i] = 0;
	for (;; step--) {
		if (++fault.events[step] < EVENTS + WAITS_FOR - 1)
			return true;
		fault.events[step] = 0;
		if (step == 0)
			return false;
	}
}

/* Ports by their slots. */
static void find_ports(void)
{
	uint32_t full = 0;

	memset(fault.used, 0, sizeof(fault.used));
	fault.slots = pool_table_size(balancer_pool(pair.nodes[0].balancer, 0));
	assert_true(fault.slots <= SLOTS_MAX);
	for (uint16_t port = 1; full < fault.slots; port++) {
		uint32_t slot = pair_segment(&pair.nodes[0], port, PKT_TCP_SYN).slot;

		assert_true(port < UINT16_MAX && slot < fault.slots);
		if (fault.used[slot] < PORTS)
			fault.ports[slot][fault.used[slot]++] = port;
		full += fault.used[slot] == PORTS;
		fault.used[slot] += fault.used[slot] == PORTS;
	}
}

static void run_length(unsigned int length)
{
	unsigned int done;

	fault.length = length;
	fault.count = 0;
	memset(fault.events, 0, sizeof(fault.events));
	do {
		fault.number++;
		done = run_sequence();
		fault.count += done == fault.length;
	} while (go_on(done < fault.length ? done : fault.length - 1));
	print_message("# %s: %llu sequences of %u events\n", fault.about->name,
		      (unsigned long long)fault.count, fault.length);
}

static void run_all(const struct faults *about)
{
	const char *deeper = getenv("MODEL_DEEPER");
	unsigned int longest =
		about->length + (deeper ? (unsigned int)strtoul(deeper, NULL, 10) : 0);

	assert_true(longest <= LENGTH_MAX);
	memset(&fault, 0, sizeof(fault));
	fault.about = about;
	pair_begin(about->pool, about->seed, about->idle_ms);
	begin_anew();
	find_ports();
	for (unsigned int length = 1; length <= longest && !fault.broken; length++)
		run_length(length);
	pair_end();
	if (fault.broken)
		fail_msg("%llu sequences break a connection", (unsigned long long)fault.broken);
}

#define FAULTS(what, ...)                                                          \
	static void test_##what(void **state)                                      \
	{                                                                          \
		static const struct faults about = {.name = #what, ##__VA_ARGS__}; \
                                                                                   \
		(void)state;                                                       \
		run_all(&about);                                                   \
	}
/* Sanitizers make it ten times as slow. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
enum { APART = __has_feature(address_sanitizer) ? 2 : 3 };
FAULTS(ring, .pool = "hash: ring, table_size: 13", .seed = "one", .length = 2, .idle_ms = 5000)
FAULTS(apart, .pool = "hash: ring, table_size: 16", .seed = "two", .length = APART, .idle_ms = 5000,
       .apart = true)
FAULTS(slow, .pool = "hash: ring, table_size: 13", .seed = "two", .length = 2, .idle_ms = 100000)
FAULTS(reload, .pool = "hash: ring, table_size: 16", .seed = "two", .length = 2, .idle_ms = 5000,
       .apart = true, .reloads = true)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_reload),
	};

	cmocka_set_test_filter(getenv("MODEL_ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
