/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time is divided into passes, in which every flow sends once, in order, while the clock goes on
 * evenly. A step has two: a short one between the change and when slots follow, for those few flows
 * that happen to send then, and a whole one after it. While nothing happens further passes are
 * made as often as flows must send to stay known, and after whatever changes by time alone; none,
 * if no answer can differ.
 */
#include "sim/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/scheme.h"

enum {
	BLOCK = 4096, /* flows that all schemes see one after the other */
	EARLY = 20,   /* one flow of so many sends before slots follow */
};

const char *const sim_scheme_names[SIM_SCHEMES] = {"weir", "maglev+flows", "maglev", "ring",
						   "modulo"};

struct run {
	const struct sim_spec *spec;
	struct sim_scheme schemes[SIM_SCHEMES]; /* of Weir's: only what is of each flow */
	uint16_t *nodes;                        /* by flow */
	bool *gone;                             /* by backend, in this pass */
	bool *up;                               /* by node: it runs */
	uint8_t ends[BLOCK];                    /* of this block's flows: the connection ends */
	struct sim_row row;
	uint64_t start_ms, now_ms, last_pass_ms, passes;
	size_t step;
};

/* A pass over all flows, or over a part of them. */
struct pass {
	struct run *run;
	uint64_t from_ns, to_ns;
	uint32_t every, first; /* flows first, first + every, ... send */
	uint32_t begin, end;   /* the block */
	uint64_t now_ns;       /* while it is played */
};

/* --- one flow --- */

static struct sim_answer ask_weir(const struct pass *pass, uint32_t flow, enum sim_segment segment)
{
	const struct run *run = pass->run;
	const struct sim_weir *weir = run->spec->weir;
	uint8_t turn = run->schemes[SIM_SCHEME_WEIR].turn[flow];

	return weir->packet(weir->arg, run->nodes[flow], sim_tuple(run->spec->seed, flow, turn),
			    segment, pass->now_ns);
}

static void begin_weir(const struct pass *pass, struct sim_counts *counts, uint32_t flow)
{
	struct sim_scheme *scheme = &pass->run->schemes[SIM_SCHEME_WEIR];
	struct sim_answer answer;

	scheme->turn[flow]++;
	answer = ask_weir(pass, flow, SIM_SYN);
	scheme->own[flow] = answer.backend;
	counts->refused += answer.backend == SIM_NOBODY;
	if (answer.backend == SIM_NOBODY)
		return;
	/* The rest of the handshake. Its way is a flow's, no longer a beginning's. */
	answer = ask_weir(pass, flow, SIM_DATA);
	counts->moved += answer.backend != scheme->own[flow];
	counts->broken += answer.backend != scheme->own[flow];
}

/* Flows in whose course nothing is new take the first three lines. */
static void send_weir(const struct pass *pass, struct sim_counts *counts, uint32_t flow)
{
	struct run *run = pass->run;
	uint16_t own = run->schemes[SIM_SCHEME_WEIR].own[flow];
	const struct sim_backend *backends = run->spec->fleet->backends;
	struct sim_answer answer;

	if (own == SIM_NOBODY)
		return begin_weir(pass, counts, flow);
	if (run->gone[own]) {
		counts->excused++;
		counts->moved++;
		return begin_weir(pass, counts, flow);
	}
	answer = ask_weir(pass, flow, run->ends[flow - pass->begin] ? SIM_FIN : SIM_DATA);
	if (answer.backend != own) {
		counts->moved++;
		if (answer.backend != SIM_NOBODY && backends[answer.backend].dead) {
			counts->stalled++;
			return;
		}
		if (answer.backend == SIM_NOBODY || answer.second != own) {
			counts->broken++;
			return begin_weir(pass, counts, flow);
		}
		counts->handed++;
	}
	if (run->ends[flow - pass->begin])
		begin_weir(pass, counts, flow);
}

static uint64_t hash_of(const struct run *run, const struct sim_scheme *scheme, uint32_t flow)
{
	struct sim_tuple tuple = sim_tuple(run->spec->seed, flow, scheme->turn[flow]);

	return sim_mix(run->spec->fleet->seed, (uint64_t)tuple.client << 16 | (uint64_t)tuple.port);
}

static uint16_t *pin_of(const struct run *run, const struct sim_scheme *scheme, uint32_t flow)
{
	return &scheme->pins[(size_t)run->nodes[flow] * run->spec->flows + flow];
}

/* Does a node keep to a flow's entry? */
static bool pin_holds(const struct run *run, uint16_t pin)
{
	return pin != SIM_NOBODY && !run->gone[pin] && !run->spec->fleet->backends[pin].unhealthy;
}

static void begin_other(const struct run *run, struct sim_scheme *scheme, struct sim_counts *counts,
			uint32_t flow)
{
	uint16_t *own = &scheme->own[flow];

	scheme->turn[flow]++;
	*own = SIM_NOBODY;
	if (run->nodes[flow] != SIM_NO_NODE)
		*own = sim_scheme_choose(scheme, hash_of(run, scheme, flow));
	counts->refused += *own == SIM_NOBODY;
	if (!scheme->pinned)
		return;
	/* It is another tuple, which no node knows. */
	for (uint32_t node = 0; node < run->spec->events->nodes; node++)
		scheme->pins[(size_t)node * run->spec->flows + flow] = SIM_NOBODY;
	if (run->nodes[flow] != SIM_NO_NODE)
		*pin_of(run, scheme, flow) = *own;
}

static uint16_t choose(const struct run *run, struct sim_scheme *scheme, uint32_t flow)
{
	uint16_t chosen, *pin;

	if (run->nodes[flow] == SIM_NO_NODE)
		return SIM_NOBODY;
	if (!scheme->pinned)
		return sim_scheme_choose(scheme, hash_of(run, scheme, flow));
	pin = pin_of(run, scheme, flow);
	if (pin_holds(run, *pin))
		return *pin;
	chosen = sim_scheme_choose(scheme, hash_of(run, scheme, flow));
	*pin = chosen;
	return chosen;
}

static void send_other(const struct pass *pass, struct sim_scheme *scheme,
		       struct sim_counts *counts, uint32_t flow)
{
	const struct run *run = pass->run;
	uint16_t own = scheme->own[flow];

	if (own == SIM_NOBODY)
		return begin_other(run, scheme, counts, flow);
	if (run->gone[own]) {
		counts->excused++;
		counts->moved++;
		return begin_other(run, scheme, counts, flow);
	}
	if (choose(run, scheme, flow) != own) {
		counts->moved++;
		counts->broken++;
		return begin_other(run, scheme, counts, flow);
	}
	if (run->ends[flow - pass->begin])
		begin_other(run, scheme, counts, flow);
}

/* --- passes --- */

/* Whose connections end by themselves now: each with a chance of pass over lifetime. */
static void draw_ends(const struct pass *pass)
{
	struct run *run = pass->run;
	uint64_t ms = (pass->to_ns - pass->from_ns) / 1000000, lifetime = run->spec->lifetime_ms;
	uint64_t limit;

	if (!lifetime)
		return;
	limit = ms >= lifetime ? UINT64_MAX : UINT64_MAX / lifetime * ms;
	for (uint32_t flow = pass->begin; flow < pass->end; flow++)
		run->ends[flow - pass->begin] = sim_mix(run->spec->seed + run->passes, flow) <
						limit;
}

static void play_block(struct pass *pass)
{
	struct run *run = pass->run;
	uint32_t first = pass->begin + pass->first;

	draw_ends(pass);
	for (uint32_t flow = first; flow < pass->end; flow += pass->every)
		send_weir(pass, &run->row.schemes[SIM_SCHEME_WEIR], flow);
	for (int i = SIM_SCHEME_WEIR + 1; i < SIM_SCHEMES; i++) {
		for (uint32_t flow = first; flow < pass->end; flow += pass->every)
			send_other(pass, &run->schemes[i], &run->row.schemes[i], flow);
	}
}

static void note_gone(struct run *run)
{
	const struct sim_fleet *fleet = run->spec->fleet;

	for (size_t i = 0; i < fleet->count; i++)
		run->gone[i] = sim_backend_gone(&fleet->backends[i], run->now_ms);
}

/* The flows that every `every`-th sends, until `to_ms`. */
static void play(struct run *run, uint64_t to_ms, uint32_t every)
{
	const struct sim_spec *spec = run->spec;
	struct pass pass = {
		.run = run,
		.from_ns = run->now_ms * 1000000,
		.to_ns = to_ms * 1000000,
		.every = every,
		.first = every > 1 ? (uint32_t)(sim_mix(spec->seed, run->passes) % every) : 0,
	};
	size_t steps = spec->events->step_count + 1;

	note_gone(run);
	run->passes++;
	for (uint32_t flow = 0; flow < spec->flows; flow = pass.end) {
		double share = (double)flow / spec->flows;

		pass.begin = flow;
		pass.end = spec->flows - flow > BLOCK ? flow + BLOCK : spec->flows;
		pass.now_ns =
			pass.from_ns + (uint64_t)(share * (double)(pass.to_ns - pass.from_ns));
		play_block(&pass);
		if (spec->progress)
			spec->progress(spec->arg, ((double)run->step + share) / (double)steps);
	}
	run->now_ms = to_ms;
	if (every == 1)
		run->last_pass_ms = to_ms;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When the next flow's patience, or a backend's time, is over. */
static uint64_t next_end(const struct run *run)
{
	const struct sim_fleet *fleet = run->spec->fleet;
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < fleet->count; i++) {
		if (fleet->backends[i].ends_ms > run->now_ms)
			next = least(next, fleet->backends[i].ends_ms);
	}
	return next;
}

/* Time passes until then. */
static void wait_until(struct run *run, uint64_t until_ms)
{
	const struct sim_spec *spec = run->spec;
	const struct sim_weir *weir = spec->weir;
	bool due = false;

	while (run->now_ms < until_ms) {
		uint64_t next = weir->deadline_ms(weir->arg, run->now_ms), end = next_end(run);
		bool state = weir->has_state(weir->arg) || spec->lifetime_ms;

		next = least(next, end);
		if (state)
			next = least(next, run->last_pass_ms + spec->idle_ms / 2);
		if (next <= run->now_ms)
			next = run->now_ms + 1;
		due |= next < until_ms;
		next = least(next, until_ms);
		run->now_ms = next;
		weir->tick(weir->arg, next);
		if (due && (next - run->last_pass_ms >= spec->interval_ms || next == until_ms)) {
			play(run, least(next + spec->interval_ms, until_ms), 1);
			due = false;
		}
	}
}

/* --- events --- */

static void change_backend(struct sim_fleet *fleet, const struct sim_event *event, uint64_t now_ms)
{
	struct sim_backend *backend = &fleet->backends[event->which];

	if (event->what <= SIM_RETURN)
		backend->unchecked = event->what == SIM_UNCHECKED;
	switch (event->what) {
	case SIM_UNCHECKED: backend->unhealthy = true; break;
	case SIM_FAIL: backend->dead = backend->unhealthy = backend->lost = true; break;
	case SIM_UNHEALTHY: backend->unhealthy = true; break;
	case SIM_RETURN: backend->dead = backend->unhealthy = false; break;
	case SIM_DRAIN: backend->drain = true; break;
	case SIM_MAINT: backend->maint = backend->lost = true; break;
	case SIM_READY: backend->drain = backend->maint = false; break;
	case SIM_WEIGHT: backend->share = (uint8_t)event->share; break;
	case SIM_ADD: backend->present = true; break;
	default: backend->present = backend->drain = backend->maint = false; backend->lost = true;
	}
	if (event->what == SIM_DRAIN)
		backend->ends_ms = least(backend->ends_ms, now_ms + fleet->drain_limit_ms);
	else if (event->what == SIM_UNHEALTHY || event->what == SIM_FAIL)
		backend->ends_ms = least(backend->ends_ms, now_ms + fleet->on_down_keep_ms);
	else if (!backend->drain && !backend->unhealthy)
		backend->ends_ms = UINT64_MAX;
}

static int change_node(struct run *run, const struct sim_event *event)
{
	const struct sim_weir *weir = run->spec->weir;
	struct sim_router *router = run->spec->router;
	struct sim_scheme *pinned = &run->schemes[SIM_SCHEME_MAGLEV_PINNED];
	uint32_t node = event->which, flows = run->spec->flows;
	bool in = event->what == SIM_NODE_UP || event->what == SIM_NODE_IN;

	router->up[node] = in && (event->what == SIM_NODE_UP || run->up[node]);
	if (event->what == SIM_NODE_DOWN && run->up[node]) {
		weir->node_down(weir->arg, node);
		run->up[node] = false;
	} else if (event->what == SIM_NODE_UP && !run->up[node]) {
		memset(pinned->pins + (size_t)node * flows, 0xff, flows * sizeof(*pinned->pins));
		run->up[node] = true;
		return weir->node_up(weir->arg, node, run->now_ms);
	}
	return 0;
}

/* Sets *ret_members where the pool has others than before. */
static int change(struct run *run, const struct sim_event *event, bool *ret_members)
{
	const struct sim_weir *weir = run->spec->weir;
	struct sim_router *router = run->spec->router;

	switch (event->what) {
	case SIM_NODE_DOWN:
	case SIM_NODE_UP:
	case SIM_NODE_OUT:
	case SIM_NODE_IN: return change_node(run, event);
	case SIM_REHASH: router->seed = sim_mix(router->seed, 1); return 0;
	case SIM_ROUTER: router->routing = (enum sim_routing)event->which; return 0;
	case SIM_WAIT: return 0;
	default: break;
	}
	change_backend(run->spec->fleet, event, run->now_ms);
	if (event->what == SIM_ADD || event->what == SIM_REMOVE)
		*ret_members = true;
	else if (!*ret_members)
		weir->backend(weir->arg, event->which, run->now_ms);
	return 0;
}

static int build_schemes(struct run *run, struct err *err)
{
	for (int i = SIM_SCHEME_WEIR + 1; i < SIM_SCHEMES; i++) {
		int error = sim_scheme_build(&run->schemes[i], run->spec->fleet);

		if (error)
			return err_set(err, error, "%s: cannot build its table: %s",
				       sim_scheme_names[i], strerror(-error));
	}
	return 0;
}

static void spread(struct run *run)
{
	const struct sim_router *router = run->spec->router;

	run->row.nodes = 0;
	for (uint32_t i = 0; i < router->nodes; i++)
		run->row.nodes += router->up[i];
	run->row.node_moved = sim_router_spread(router, run->nodes, run->spec->flows);
}

static int apply(struct run *run, const struct sim_step *step, struct err *err)
{
	const struct sim_weir *weir = run->spec->weir;
	bool members = false;
	int error = 0;

	for (size_t i = 0; i < step->count && !error; i++)
		error = change(run, &run->spec->events->events[step->first + i], &members);
	if (!error && members)
		error = weir->members(weir->arg, run->now_ms);
	if (error)
		return err_set(err, error, "%s: %s", step->text, strerror(-error));
	spread(run);
	return build_schemes(run, err);
}

/* Slots follow, and all flows send, until `until_ms` at the latest. */
static void settle_all(struct run *run, uint64_t until_ms)
{
	const struct sim_weir *weir = run->spec->weir;
	struct sim_fleet *fleet = run->spec->fleet;
	uint64_t end = least(run->now_ms + run->spec->interval_ms, until_ms);

	weir->settle(weir->arg, run->now_ms);
	play(run, end > run->now_ms ? end : run->now_ms, 1);
	weir->tick(weir->arg, run->now_ms);
	for (size_t i = 0; i < fleet->count; i++)
		fleet->backends[i].lost = false;
}

static int take_step(struct run *run, struct err *err)
{
	const struct sim_spec *spec = run->spec;
	const struct sim_step *step = &spec->events->steps[run->step];
	bool last = run->step + 1 == spec->events->step_count;
	uint64_t next = last ? UINT64_MAX : run->start_ms + step[1].at_ms;
	int error;

	run->row = (struct sim_row){.step = step};
	error = apply(run, step, err);
	if (error)
		return error;
	play(run, run->now_ms + spec->settle_ms, EARLY);
	settle_all(run, next);
	if (!last)
		wait_until(run, next);
	spec->row(spec->arg, &run->row);
	return 0;
}

/* --- the whole --- */

uint64_t sim_run_memory(uint32_t flows, uint32_t nodes)
{
	return (uint64_t)flows * (sizeof(uint16_t) * (1 + nodes) +
				  SIM_SCHEMES * (sizeof(uint16_t) + sizeof(uint8_t)));
}

static bool alloc(struct run *run)
{
	static const struct sim_scheme kinds[SIM_SCHEMES] = {
		[SIM_SCHEME_MAGLEV_PINNED] = {.kind = SIM_MAGLEV, .pinned = true},
		[SIM_SCHEME_MAGLEV] = {.kind = SIM_MAGLEV},
		[SIM_SCHEME_RING] = {.kind = SIM_RING},
		[SIM_SCHEME_MODULO] = {.kind = SIM_MODULO},
	};
	uint32_t flows = run->spec->flows, nodes = run->spec->events->nodes;
	size_t pins = (size_t)nodes * flows;
	bool whole = true;

	run->nodes = malloc(flows * sizeof(*run->nodes));
	run->gone = calloc(run->spec->fleet->count + 1, sizeof(bool));
	run->up = calloc(nodes, sizeof(bool));
	for (int i = 0; i < SIM_SCHEMES; i++) {
		struct sim_scheme *scheme = &run->schemes[i];

		*scheme = kinds[i];
		scheme->own = malloc(flows * sizeof(*scheme->own));
		scheme->turn = calloc(flows, sizeof(*scheme->turn));
		scheme->pins = scheme->pinned ? malloc(pins * sizeof(*scheme->pins)) : NULL;
		whole &= scheme->own && scheme->turn && (!scheme->pinned || scheme->pins);
		if (whole)
			memset(scheme->own, 0xff, flows * sizeof(*scheme->own));
		if (whole && scheme->pinned)
			memset(scheme->pins, 0xff, pins * sizeof(*scheme->pins));
	}
	whole &= run->nodes && run->gone && run->up;
	if (whole)
		memset(run->nodes, 0xff, flows * sizeof(*run->nodes));
	return whole;
}

static void release(struct run *run)
{
	for (int i = 0; i < SIM_SCHEMES; i++) {
		free(run->schemes[i].table);
		free(run->schemes[i].own);
		free(run->schemes[i].turn);
		free(run->schemes[i].pins);
	}
	for (uint32_t i = 0; run->up && i < run->spec->events->nodes; i++) {
		if (run->up[i])
			run->spec->weir->node_down(run->spec->weir->arg, i);
	}
	free(run->nodes);
	free(run->gone);
	free(run->up);
}

/* Nodes begin, and all flows. */
static int begin_run(struct run *run, struct err *err)
{
	const struct sim_spec *spec = run->spec;
	int error = build_schemes(run, err);

	for (uint32_t i = 0; i < spec->events->nodes && !error; i++) {
		if (!spec->router->up[i])
			continue;
		error = spec->weir->node_up(spec->weir->arg, i, 0);
		run->up[i] = !error;
		if (error)
			err_set(err, error, "node %u: %s", i + 1, strerror(-error));
	}
	if (error)
		return error;
	spread(run);
	run->row.node_moved = 0;
	spec->weir->settle(spec->weir->arg, 0);
	play(run, spec->fill_ms, 1);
	/* What the file's times are counted from. */
	run->start_ms = run->now_ms;
	if (spec->events->step_count)
		wait_until(run, run->start_ms + spec->events->steps[0].at_ms);
	return 0;
}

int sim_run(const struct sim_spec *spec, struct err *err)
{
	struct run run = {.spec = spec};
	int error = alloc(&run) ? 0 : err_set(err, -ENOMEM, "out of memory");

	spec->router->nodes = spec->events->nodes;
	if (!error)
		error = begin_run(&run, err);
	if (!error)
		spec->row(spec->arg, &run.row);
	for (; !error && run.step < spec->events->step_count; run.step++)
		error = take_step(&run, err);
	release(&run);
	return error;
}
