/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows with the same features share a program, as in a node they would. All are measured in turn,
 * one short sample each, and again: what slows the machine for a while slows them alike.
 */
#include "weir/measure/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dp/verdict.h"
#include "engine/dp.h"
#include "weir/balancer/balancer.h"
#include "weir/measure/packet.h"

enum {
	FLOWS = 1024, /* a power of two, in the source port */
	FLOW_ENTRIES = 65536,
	IFINDEX = 1, /* of the loopback, which a test run comes in at */
	MTU = 9216,
	GROUPS = 4, /* by family, and with a second chance or not */
};

static const struct {
	const char *name, *forward;
	bool second;
} modes[] = {
	{"ipip", "ipip", false},     {"gre", "gre", false},
	{"gue", "gue", false},       {"gue-second-chance", "gue", true},
	{"geneve", "geneve", false}, {"ipopt", "ipopt", false},
	{"l2dsr", "l2dsr", false},
};
enum { MODES = sizeof(modes) / sizeof(modes[0]) };

/* Rows of one set of features, with their engine. */
struct group {
	bool ipv6, second;
	struct conf *conf;
	struct dp *dp;
	struct balancer *balancer;
};

struct subject {
	struct group *group;
	struct measure_run run;
	uint8_t frame[ROWS_FRAME_MAX];
	double ns[ROWS_ROUNDS_MAX];
};

struct work {
	const struct rows_options *options;
	struct rows *ret;
	struct measure *measure;
	struct group groups[GROUPS];
	struct subject *subjects; /* one a row of `ret` */
	double nothing_ns[ROWS_ROUNDS_MAX], move_ns[ROWS_ROUNDS_MAX];
	struct err *err;
};

bool rows_is_mode(const char *mode)
{
	for (size_t i = 0; i < MODES; i++) {
		if (strcmp(modes[i].name, mode) == 0)
			return true;
	}
	return false;
}

static bool is_wanted(const struct rows_options *options, size_t mode)
{
	return !options->mode || strcmp(options->mode, modes[mode].name) == 0;
}

/* --- a group's configuration and tables --- */

#define MORE "listen: [tcp/80], pool: web, forward: %s, second_chance: %s, tracking: %s},\n"

static void put_conf(FILE *out, const struct work *work, const struct group *group)
{
	fprintf(out,
		"node: {name: bench, interfaces: [lo], flows: {entries: %d}, "
		"tunnel: {source4: 100.64.1.0/24, source6: \"2001:db8:f::/64\"}}\n"
		"pools: [{name: web, check: {type: none}, backends: [\n",
		FLOW_ENTRIES);
	for (uint32_t i = 0; i < work->options->backends; i++) {
		uint32_t last = 1 + i % 250;

		if (group->ipv6)
			fprintf(out, "{name: b%u, address: \"2001:db8:9::%x:%x\"},\n", i, i / 250,
				last);
		else
			fprintf(out, "{name: b%u, address: 10.9.%u.%u},\n", i, i / 250, last);
	}
	fputs("]}]\nservices: [\n", out);
	for (size_t i = 0; i < MODES; i++) {
		for (int always = 0; always < 2 && modes[i].second == group->second; always++)
			fprintf(out,
				group->ipv6 ? "{name: s%zu-%d, vips: [\"2001:db8:b::%zx\"], " MORE
					    : "{name: s%zu-%d, vips: [198.18.0.%zu], " MORE,
				i, always, 2 * i + (size_t)always + 16, modes[i].forward,
				modes[i].second ? "true" : "false",
				always ? "always" : "transition");
	}
	fputs("]\n", out);
}

static int read_conf(struct work *work, struct group *group)
{
	struct err_list errors = {0};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int error;

	if (!out)
		return err_set(work->err, -ENOMEM, "out of memory");
	put_conf(out, work, group);
	fclose(out);
	error = conf_parse(text, strlen(text), &group->conf, &errors);
	if (error)
		err_set(work->err, error, "%s", errors.count ? errors.errors[0].text : "conf");
	err_list_fini(&errors);
	free(text);
	return error;
}

static void ignore_record(void *arg, uint32_t record)
{
	(void)arg;
	(void)record;
}

/* As a node's are when nothing has happened for long; with a second chance, as they are when it
 * is not sure whose a flow is, for else it is plain gue. */
static void settle_slots(struct group *group)
{
	uint64_t *slots = dp_tables(group->dp)->slots + balancer_first_slot(group->balancer, 0);

	for (uint32_t i = 0; i < group->conf->pools[0].table_size; i++) {
		slots[i] &= ~(uint64_t)(ABI_SLOT_TRANSITION | ABI_SLOT_DOUBT);
		if (group->second)
			slots[i] |= ABI_SLOT_DOUBT;
	}
}

static int fill(struct work *work, struct group *group)
{
	static const struct balancer_start start = {.health = POOL_HEALTHY,
						    .unchecked = POOL_HEALTHY,
						    .new_backend = ignore_record,
						    .new_service = ignore_record};
	const struct dp_nexthop hop = {.ifindex = IFINDEX,
				       .mtu = MTU,
				       .src_mac = {2, 0, 0, 0, 0, 1},
				       .dst_mac = {2, 0, 0, 0, 0, 2},
				       .on_link = true};
	int error = balancer_new(group->conf, dp_tables(group->dp), &start, &group->balancer,
				 work->err);

	if (error)
		return error;
	for (size_t m = 0; m < group->conf->pools[0].backend_count; m++)
		balancer_set_nexthop(group->balancer, 0, m, &hop);
	balancer_settle(group->balancer, 0);
	settle_slots(group);
	return 0;
}

static int open_group(struct work *work, struct group *group)
{
	struct dp_options options = {.flow_entries = FLOW_ENTRIES};
	int error;

	if (group->dp)
		return 0;
	error = read_conf(work, group);
	if (error)
		return error;
	options.features = balancer_features(group->conf);
	error = dp_open(&options, &group->dp, work->err);
	return error ? error : fill(work, group);
}

/* --- subjects --- */

/* Runs it once: by what it grows is how far its start is moved. The second time its flow is
 * known. */
static int try_once(struct subject *subject)
{
	size_t length = subject->run.length;
	struct abi_count before = dp_verdict_count(subject->group->dp, VERDICT_FORWARDED);
	struct abi_count after;
	int error;

	error = measure_once(&subject->run, &length);
	after = dp_verdict_count(subject->group->dp, VERDICT_FORWARDED);
	if (error)
		return error;
	if (after.packets == before.packets)
		return -EPROTO;
	subject->run.whole.head = (uint32_t)(length - subject->run.length);
	return 0;
}

static int add_subject(struct work *work, size_t mode, bool ipv6, bool always)
{
	struct subject *subject = &work->subjects[work->ret->count];
	struct row *row = &work->ret->rows[work->ret->count];
	struct packet packet = {.ipv6 = ipv6,
				.vip = (uint8_t)(2 * mode + always + 16),
				.length = work->options->frame};
	int error;

	subject->group = &work->groups[ipv6 + 2 * modes[mode].second];
	subject->group->ipv6 = ipv6;
	subject->group->second = modes[mode].second;
	error = open_group(work, subject->group);
	if (error)
		return error;
	packet_build(&packet, subject->frame);
	subject->run = (struct measure_run){.program_fd = dp_program_fd(subject->group->dp),
					    .bytes = subject->frame,
					    .length = packet.length,
					    .repeat = work->options->repeat};
	subject->run.whole.length = packet.length;
	subject->run.whole.port_at = packet.port_at;
	subject->run.whole.flows_mask = FLOWS - 1;
	memcpy(subject->run.whole.headers, subject->frame, MEASURE_HEADERS);
	error = try_once(subject);
	if (!error)
		error = try_once(subject);
	if (error)
		return err_set(work->err, error, "a packet by %s is not forwarded: %s",
			       modes[mode].name, strerror(-error));
	row->mode = modes[mode].name;
	row->ipv6 = ipv6;
	row->always = always;
	work->ret->count++;
	return 0;
}

static int add_subjects(struct work *work)
{
	int error = 0;

	for (int kind = 0; kind < (work->options->plain4 ? 1 : 4) && !error; kind++) {
		for (size_t i = 0; i < MODES && !error; i++) {
			if (is_wanted(work->options, i))
				error = add_subject(work, i, kind & 1, kind & 2);
		}
	}
	return error;
}

/* --- measuring --- */

static int run_one(struct work *work, struct subject *subject, uint32_t round)
{
	uint64_t before = dp_verdict_count(subject->group->dp, VERDICT_FORWARDED).packets;
	int error = measure_run(work->measure, &subject->run);

	if (error)
		return error;
	subject->ns[round] = subject->run.ns;
	subject->run.whole.first += measure_rounds(subject->run.repeat);
	before += measure_rounds(subject->run.repeat);
	/* All but those that something else than a plain packet's way took. */
	return dp_verdict_count(subject->group->dp, VERDICT_FORWARDED).packets == before ? 0
											 : -EPROTO;
}

static int run_all(struct work *work)
{
	const struct rows_options *options = work->options;
	int error = 0;

	for (uint32_t round = 0; round < options->rounds && !error; round++) {
		if (options->progress)
			options->progress(options->arg, round, options->rounds);
		error = measure_base(work->measure, &work->subjects[0].run,
				     &work->nothing_ns[round], &work->move_ns[round]);
		for (size_t i = 0; i < work->ret->count && !error; i++)
			error = run_one(work, &work->subjects[i], round);
	}
	if (options->progress)
		options->progress(options->arg, options->rounds, options->rounds);
	return error ? err_set(work->err, error, "a test run: %s", strerror(-error)) : 0;
}

/* What making the frame whole takes, and its start's way back. */
static void take_off(struct work *work)
{
	uint32_t rounds = work->options->rounds;
	/* The least: what a neighbour on the machine did to it must not make all rows faster. */
	double nothing_ns = measure_spread(work->nothing_ns, rounds).min;
	double move_ns = (measure_spread(work->move_ns, rounds).min - nothing_ns) / 2;

	work->ret->overhead_ns = nothing_ns;
	for (size_t i = 0; i < work->ret->count; i++) {
		struct subject *subject = &work->subjects[i];

		for (uint32_t round = 0; round < rounds; round++) {
			subject->ns[round] -= nothing_ns;
			if (subject->run.whole.head)
				subject->ns[round] -= move_ns;
		}
		work->ret->rows[i].ns = measure_spread(subject->ns, rounds);
	}
}

int rows_measure(const struct rows_options *options, struct rows *ret, struct err *err)
{
	struct work work = {.options = options, .ret = ret, .err = err};
	int error = measure_open(&work.measure, err);

	ret->count = 0;
	if (error)
		return error;
	ret->quick = measure_is_quick(work.measure);
	work.subjects = calloc(ROWS_MAX, sizeof(*work.subjects));
	error = work.subjects ? add_subjects(&work) : err_set(err, -ENOMEM, "out of memory");
	if (!error)
		error = run_all(&work);
	if (!error)
		take_off(&work);
	for (size_t i = 0; i < GROUPS; i++) {
		balancer_free(work.groups[i].balancer);
		if (work.groups[i].dp)
			dp_close(work.groups[i].dp);
		conf_free(work.groups[i].conf);
	}
	free(work.subjects);
	measure_close(work.measure);
	return error;
}
