/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Milliseconds of what the control plane does, on one core, over tables in plain memory:
 *
 *  - 1,000 services with pools of ten backends, read from their file, checked, and brought into
 *    empty tables; and one backend's weight changed in that file, read again and brought in;
 *  - base tables, and events of backends in many pools at once (failures.c), beside a plain loop.
 *
 * It is the thread's own time that counts, whatever else the machine does. It reports; it does not
 * judge.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/failures.h"
#include "bench/report.h"
#include "bench/timing.h"
#include "engine/native.h"
#include "pool/pool.h"
#include "weir/balancer/balancer.h"
#include "weir/source/load.h"

enum {
	SERVICES = 1000,
	BACKENDS = 10, /* of each */
	FILE_MAX = 4 * 1024 * 1024,
};

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

	for (unsigned round = 0; round < TIMING_ROUNDS; round++) {
		struct balancer_start start = start_at(1000);
		struct balancer *balancer, *next;
		struct native *native;
		struct conf *conf, *other;
		struct err err;
		uint64_t since_ns = timing_spent_ns(), middle_ns;

		if (native_new(ABI_FLOWS_MIN, &native))
			fail("out of memory");
		since_ns = timing_spent_ns();
		conf = read_text(texts[0]);
		timing_note("1,000 services x 10 backends: file read", since_ns);
		middle_ns = timing_spent_ns();
		if (balancer_new(conf, native_tables(native), &start, &balancer, &err))
			fail(err.text);
		timing_note("1,000 services x 10 backends: into empty tables", middle_ns);
		timing_note("1,000 services x 10 backends: both", since_ns);
		since_ns = timing_spent_ns();
		other = read_text(texts[1]);
		timing_note("one backend's weight of 10,000: file read", since_ns);
		middle_ns = timing_spent_ns();
		start = start_at(2000);
		if (balancer_prepare(other, balancer, &start, &next, &err))
			fail(err.text);
		balancer_commit(next);
		timing_note("one backend's weight of 10,000: brought in", middle_ns);
		balancer_free(next);
		conf_free(conf);
		conf_free(other);
		native_free(native);
	}
	free(texts[0]);
	free(texts[1]);
}

int main(void)
{
	run_configurations();
	failures_run();
	report_print();
	return 0;
}
