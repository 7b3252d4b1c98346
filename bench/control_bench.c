/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Milliseconds of what the control plane does, on one core, over tables in plain memory:
 *
 *  - 1,000 services with pools of ten backends, read from their file, checked, and brought into
 *    empty tables; and one backend's weight changed in that file, read again and brought in;
 *  - a backend that fails in every one of 200 pools of 20, and 20 backends that fail in 50 pools of
 *    35 at once, with tables of 65537 slots. Together these are more slots than a node's tables
 *    hold, so they stand in memory of their own.
 *
 * It is the thread's own time that counts, whatever else the machine does. It reports the least,
 * the middle and the greatest of several rounds; it does not judge.
 */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/time.h"
#include "engine/native.h"
#include "pool/pool.h"
#include "weir/balancer/balancer.h"
#include "weir/source/load.h"

enum {
	SERVICES = 1000,
	BACKENDS = 10, /* of each */
	ROUNDS = 9,
	SIZE = 65537,
	FILE_MAX = 4 * 1024 * 1024,
};

struct row {
	const char *name;
	double ms[ROUNDS];
	size_t count;
};

static struct row rows[8];
static size_t row_count;

static uint64_t spent_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * TIME_SECOND_NS + (uint64_t)now.tv_nsec;
}

static void note(const char *name, uint64_t since_ns)
{
	double ms = (double)(spent_ns() - since_ns) / TIME_MILLI_NS;
	size_t at = 0;

	while (at < row_count && strcmp(rows[at].name, name) != 0)
		at++;
	if (at == row_count)
		rows[row_count++].name = name;
	rows[at].ms[rows[at].count++] = ms;
}

static void fail(const char *what)
{
	fprintf(stderr, "control_bench: %s\n", what);
	exit(1);
}

/* --- a configuration --- */

static char *file_text(unsigned first_weight)
{
	char *text = malloc(FILE_MAX);
	size_t used = 0;

	if (!text)
		fail("out of memory");
#define PUT(...) used += (size_t)snprintf(text + used, FILE_MAX - used, __VA_ARGS__)
	PUT("node: {name: n, interfaces: [eth0]}\nseed: bench\npools:\n");
	for (unsigned p = 0; p < SERVICES; p++) {
		PUT("  - name: p%u\n    check: {type: tcp, port: 80}\n    backends:\n", p);
		for (unsigned b = 0; b < BACKENDS; b++)
			PUT("      - {name: b%u, address: 10.%u.%u.%u, weight: %u}\n", b, p / 250,
			    p % 250, b + 1, p + b == 0 ? first_weight : 100);
	}
	PUT("services:\n");
	for (unsigned s = 0; s < SERVICES; s++)
		PUT("  - {name: s%u, vips: [198.18.%u.%u], listen: [tcp/80], pool: p%u}\n", s,
		    s / 250, s % 250, s);
#undef PUT
	return text;
}

/* As the daemon does it beside its loop. */
static struct conf *read_text(const char *text)
{
	struct err_list errors = {0};
	struct load_digest digest;
	struct conf *conf;

	if (conf_parse(text, strlen(text), &conf, &errors))
		fail(errors.errors[0].text);
	if (load_digest_of(conf, &digest))
		fail("out of memory");
	return conf;
}

static void ignore_record(void *arg, uint32_t record)
{
	(void)arg;
	(void)record;
}

static struct balancer_start start_at(uint64_t now_ms)
{
	return (struct balancer_start){
		.health = POOL_HEALTHY,
		.unchecked = POOL_HEALTHY,
		.now_ms = now_ms,
		.new_backend = ignore_record,
		.new_service = ignore_record,
	};
}

static void run_configurations(void)
{
	char *texts[] = {file_text(100), file_text(50)};

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct balancer_start start = start_at(1000);
		struct balancer *balancer, *next;
		struct native *native;
		struct conf *conf, *other;
		struct err err;
		uint64_t since_ns = spent_ns(), middle_ns;

		if (native_new(ABI_FLOWS_MIN, &native))
			fail("out of memory");
		since_ns = spent_ns();
		conf = read_text(texts[0]);
		note("10,000 backends in 1,000 services: read", since_ns);
		middle_ns = spent_ns();
		if (balancer_new(conf, native_tables(native), &start, &balancer, &err))
			fail(err.text);
		note("  brought into empty tables", middle_ns);
		note("  both", since_ns);
		since_ns = spent_ns();
		other = read_text(texts[1]);
		note("one backend's weight in it: read", since_ns);
		middle_ns = spent_ns();
		start = start_at(2000);
		if (balancer_prepare(other, balancer, &start, &next, &err))
			fail(err.text);
		balancer_commit(next);
		note("  brought in", middle_ns);
		balancer_free(next);
		conf_free(conf);
		conf_free(other);
		native_free(native);
	}
	free(texts[0]);
	free(texts[1]);
}

/* --- failures --- */

struct table {
	struct pool *pool;
	uint64_t *slots;
};

static struct table make_table(size_t member_count, uint64_t seed)
{
	struct pool_member_spec *members = calloc(member_count, sizeof(*members));
	struct pool_spec spec = {
		.name = "bench",
		.seed = seed,
		.table_size = SIZE,
		.idle_ms = 7200 * 1000,
		.members = members,
		.member_count = member_count,
	};
	struct table table = {.slots = calloc(SIZE, sizeof(uint64_t))};

	for (size_t i = 0; i < member_count; i++)
		members[i] = (struct pool_member_spec){
			.name = "b",
			.identity = (i + 1) * 0x9e3779b97f4a7c15ULL,
			.weight = 100,
			.index = (uint32_t)i + 1,
			.health = POOL_HEALTHY,
		};
	if (!table.slots || pool_new(&spec, &table.pool))
		fail("out of memory");
	pool_write_slots(table.pool, table.slots, 1000);
	free(members);
	return table;
}

/* The first `failing` members of all of them fail, and return between the rounds. */
static void run_failures(const char *name, size_t tables, size_t members, size_t failing)
{
	struct table *all = calloc(tables, sizeof(*all));
	uint64_t now_ms = 1000;

	for (size_t t = 0; t < tables; t++)
		all[t] = make_table(members, 1);
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t since_ns = spent_ns();

		now_ms += 1000;
		for (size_t t = 0; t < tables; t++) {
			for (size_t m = 0; m < failing; m++)
				pool_set_health(all[t].pool, m, POOL_UNHEALTHY, now_ms);
			pool_update_slots(all[t].pool, all[t].slots, now_ms);
		}
		note(name, since_ns);
		now_ms += 1000;
		for (size_t t = 0; t < tables; t++) {
			for (size_t m = 0; m < failing; m++)
				pool_set_health(all[t].pool, m, POOL_HEALTHY, now_ms);
			pool_update_slots(all[t].pool, all[t].slots, now_ms);
		}
	}
	for (size_t t = 0; t < tables; t++) {
		pool_free(all[t].pool);
		free(all[t].slots);
	}
	free(all);
}

/* --- what is said --- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static json_t *report(void)
{
	json_t *list = json_array();

	printf("%-48s %10s %10s %10s\n", "MILLISECONDS", "LEAST", "MIDDLE", "MOST");
	for (size_t i = 0; i < row_count; i++) {
		struct row *row = &rows[i];
		double *ms = row->ms;

		qsort(ms, row->count, sizeof(*ms), compare);
		printf("%-48s %10.2f %10.2f %10.2f\n", row->name, ms[0], ms[row->count / 2],
		       ms[row->count - 1]);
		json_array_append_new(list,
				      json_pack("{s:s, s:f, s:f, s:f}", "name", row->name, "min_ms",
						ms[0], "median_ms", ms[row->count / 2], "max_ms",
						ms[row->count - 1]));
	}
	return list;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"json", required_argument, NULL, 'j'}, {0}};
	char path[4096] = "";
	json_t *list;
	int option;

	/* The other benchmark's options are none of its business; its file is that one's. */
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'j')
			snprintf(path, sizeof(path), "%s.control", optarg);
	}
	run_configurations();
	run_failures("one backend fails in 200 pools of 20", 200, 20, 1);
	run_failures("20 backends fail in 50 pools of 35", 50, 35, 20);
	list = report();
	if (*path && json_dump_file(list, path, JSON_INDENT(2)))
		fail("cannot write the file");
	json_decref(list);
	return 0;
}
