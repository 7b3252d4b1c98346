/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A daemon with 10,000 backends, each with a check by TCP, over a veth:
 *
 *  - its start with 1,000 services of ten backends: until it runs, until all are known to be well
 *    and in the tables, and its memory then;
 *  - one backend's weight changed in that file: how long that takes once the file has settled;
 *  - that file in the place of one with a single backend: how long the loop is held up, as it says
 *    itself, and the longest that a question had to wait meanwhile;
 *  - a backend of 200 pools of 50 fails: from the end of the probe to the last slot written, less
 *    the time in which changes are gathered.
 *
 * All is elapsed time of a whole system, so what else the machine does counts. It reports; it
 * does not judge.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "bench/report.h"
#include "bench/stage.h"
#include "dp/abi.h"

enum {
	BACKENDS = 10000,
	POOLS = 1000,
	LARGE_POOLS = 200, /* with one backend that is in all of them */
	TABLE = 1021,      /* a hundred slots a backend */
	TABLE_LARGE = 8191,
	SETTLE_MS = 50,
	ROUNDS_DEFAULT = 3,
	FAILURES = 2, /* a round */
	WAIT_MS = 60000,
	FILE_MAX = 4 * 1024 * 1024,
	SLOTS_MAX = 64 * 1024,
};

static const char shared_address[] = "10.200.0.1";

static void fail(const char *what)
{
	fprintf(stderr, "load_bench: %s\n", what);
	exit(1);
}

/* --- files --- */

struct writer {
	char *text;
	size_t used;
};

#define PUT(writer, ...)                                                    \
	(writer)->used += (size_t)snprintf((writer)->text + (writer)->used, \
					   FILE_MAX - (writer)->used, __VA_ARGS__)

static void put_pool(struct writer *writer, unsigned pool, unsigned backends, unsigned first_weight)
{
	PUT(writer,
	    "  - name: p%u\n    table_size: %u\n    check: {type: tcp, port: 80, interval: 2s, "
	    "rise: 1, fall: 1}\n"
	    "    backends:\n",
	    pool, backends > BACKENDS / POOLS ? TABLE_LARGE : TABLE);
	for (unsigned i = 0; i < backends; i++)
		PUT(writer, "      - {name: b%u, address: 10.%u.%u.%u, weight: %u}\n", i,
		    pool / 250, pool % 250, i + 1, pool + i == 0 ? first_weight : 100);
}

/* For free(). */
static char *make_file(const struct stage *stage, unsigned pools, unsigned backends,
		       unsigned first_weight)
{
	struct writer writer = {.text = malloc(FILE_MAX)};

	if (!writer.text)
		fail("out of memory");
	PUT(&writer,
	    "node: {name: %s, interfaces: [eth0], xdp: auto, settle: %dms}\nseed: bench\npools:\n",
	    stage->name, SETTLE_MS);
	for (unsigned p = 0; p < pools; p++) {
		put_pool(&writer, p, backends - (pools == LARGE_POOLS), first_weight);
		if (pools == LARGE_POOLS)
			PUT(&writer, "      - {name: shared, address: %s}\n", shared_address);
	}
	PUT(&writer, "services:\n");
	for (unsigned s = 0; s < pools; s++)
		PUT(&writer, "  - {name: s%u, vips: [198.18.%u.%u], listen: [tcp/80], pool: p%u}\n",
		    s, s / 250, s % 250, s);
	return writer.text;
}

static void write_file(const struct stage *stage, unsigned pools, unsigned backends,
		       unsigned first_weight)
{
	char *text = make_file(stage, pools, backends, first_weight);

	stage_write(stage, text);
	free(text);
}

/* --- starts and reloads --- */

static double since_ms(uint64_t then_ns, uint64_t now_ns)
{
	return (double)(now_ns - then_ns) / TIME_MILLI_NS;
}

static void pause_ms(long ms)
{
	const struct timespec pause = {.tv_nsec = ms * (long)TIME_MILLI_NS};

	nanosleep(&pause, NULL);
}

static uint64_t hear(struct stage *stage, const char *what)
{
	uint64_t heard_ns = stage_hear(stage, what, WAIT_MS);

	if (!heard_ns) {
		fprintf(stderr, "load_bench: the daemon's last line: %s", stage->line);
		fail(what);
	}
	return heard_ns;
}

/* All in the table that take new flows. */
static unsigned count_up(const struct abi_backend *backends)
{
	unsigned count = 0;

	for (unsigned i = 1; i < ABI_BACKENDS; i++)
		count += (__atomic_load_n(&backends[i].flags, __ATOMIC_RELAXED) & ABI_BACKEND_UP) !=
			 0;
	return count;
}

/* What it says meanwhile is read, or it would have to wait for us. */
static void wait_for_backends(struct stage *stage, const struct abi_backend *backends,
			      unsigned count)
{
	uint64_t end_ns = time_now_ns() + WAIT_MS * TIME_MILLI_NS;

	while (count_up(backends) < count) {
		if (time_now_ns() > end_ns)
			fail("the backends do not become healthy");
		stage_hear(stage, "never said", 5);
	}
}

static const struct abi_backend *backends_of(const struct stage *stage)
{
	return stage_table(stage, "backends", ABI_BACKENDS * sizeof(struct abi_backend));
}

static void run_start(struct stage *stage)
{
	uint64_t began_ns, ran_ns;

	write_file(stage, POOLS, BACKENDS / POOLS, 100);
	began_ns = time_now_ns();
	stage_start(stage);
	ran_ns = hear(stage, "msg=\"running\"");
	report_value("start, 1,000 services x 10 backends: it runs", "ms",
		     since_ms(began_ns, ran_ns));
	wait_for_backends(stage, backends_of(stage), BACKENDS);
	report_value("start: every backend known and in the tables", "ms",
		     since_ms(began_ns, time_now_ns()));
	report_limit("start: every backend known and in the tables", 2000);
	report_value("memory, 1,000 services x 10 backends", "MiB", stage_memory(stage, "VmRSS"));
	report_value("memory that is not the tables themselves", "MiB",
		     stage_memory(stage, "RssAnon"));
}

static void run_changes(struct stage *stage)
{
	static const unsigned weights[] = {50, 100};

	/* The first look at the file, which is as it was. */
	pause_ms(300);
	for (size_t i = 0; i < sizeof(weights) / sizeof(weights[0]); i++) {
		double read_ms, applied_ms;

		write_file(stage, POOLS, BACKENDS / POOLS, weights[i]);
		hear(stage, "another configuration runs");
		read_ms = stage_number(stage, "read_ms=");
		applied_ms = stage_number(stage, "applied_ms=");
		report_value("reload, one backend's weight: file read beside", "ms", read_ms);
		report_value("reload, one backend's weight: applied", "ms", applied_ms);
		report_value("reload, one backend's weight: both", "ms", read_ms + applied_ms);
		report_limit("reload, one backend's weight: both", 50);
	}
}

/* Questions all the while, on a thread of their own. */
struct asker {
	const struct stage *stage;
	atomic_bool ends;
	double most_ms; /* the longest that one waited */
	pthread_t thread;
};

static void *ask(void *arg)
{
	struct asker *asker = arg;

	while (!atomic_load(&asker->ends)) {
		double ms = stage_ask(asker->stage);

		if (ms > asker->most_ms)
			asker->most_ms = ms;
		pause_ms(1);
	}
	return NULL;
}

static void run_large_change(struct stage *stage)
{
	struct asker asker = {.stage = stage};
	const struct abi_backend *backends;

	write_file(stage, 1, 1, 100);
	stage_start(stage);
	hear(stage, "msg=\"running\"");
	backends = backends_of(stage);
	wait_for_backends(stage, backends, 1);
	if (pthread_create(&asker.thread, NULL, ask, &asker))
		fail("no thread");
	write_file(stage, POOLS, BACKENDS / POOLS, 100);
	hear(stage, "another configuration runs");
	report_value("reload, 10,000 backends in place of one: applied", "ms",
		     stage_number(stage, "applied_ms="));
	wait_for_backends(stage, backends, BACKENDS);
	atomic_store(&asker.ends, true);
	pthread_join(asker.thread, NULL);
	report_value("reload: longest wait for an answer till all known", "ms", asker.most_ms);
	stage_stop(stage);
}

/* --- a failure --- */

/* Slots that name the shared backend's records. */
struct shared {
	const struct abi_backend *backends;
	const uint64_t *slots;
	uint32_t records[LARGE_POOLS];
	unsigned record_count;
	uint32_t named[SLOTS_MAX];
	unsigned named_count;
};

static void find_records(struct shared *shared)
{
	static const uint8_t wanted[] = {10, 200, 0, 1};

	shared->record_count = 0;
	for (uint32_t i = 1; i < ABI_BACKENDS; i++) {
		const uint8_t *bytes = (const uint8_t *)&shared->backends[i].addr;

		if (shared->backends[i].identity && memcmp(bytes + 12, wanted, 4) == 0 &&
		    shared->record_count < LARGE_POOLS)
			shared->records[shared->record_count++] = i;
	}
	if (shared->record_count != LARGE_POOLS)
		fail("the shared backend is not in all pools");
}

static void find_slots(struct shared *shared)
{
	static bool is_shared[ABI_BACKENDS];

	memset(is_shared, 0, sizeof(is_shared));
	for (unsigned i = 0; i < shared->record_count; i++)
		is_shared[shared->records[i]] = true;
	shared->named_count = 0;
	for (uint32_t i = 0; i < ABI_SLOTS && shared->named_count < SLOTS_MAX; i++) {
		if (is_shared[abi_slot_current(shared->slots[i]) % ABI_BACKENDS])
			shared->named[shared->named_count++] = i;
	}
	if (!shared->named_count)
		fail("no slot names the shared backend");
}

/* The records that have the flag. */
static unsigned count_flagged(const struct shared *shared)
{
	unsigned count = 0;

	for (unsigned i = 0; i < shared->record_count; i++)
		count += (__atomic_load_n(&shared->backends[shared->records[i]].flags,
					  __ATOMIC_ACQUIRE) &
			  ABI_BACKEND_UP) != 0;
	return count;
}

static bool is_named(const struct shared *shared, unsigned at)
{
	uint32_t record = abi_slot_current(
		__atomic_load_n(&shared->slots[shared->named[at]], __ATOMIC_ACQUIRE));

	for (unsigned i = 0; i < shared->record_count; i++) {
		if (shared->records[i] == record)
			return true;
	}
	return false;
}

/* Looks without a pause, as it is about milliseconds; what is found is not looked at again. */
static void watch_failure(struct shared *shared)
{
	uint64_t end_ns = time_now_ns() + WAIT_MS * TIME_MILLI_NS, told_ns, all_ns;
	unsigned left = shared->named_count;

	while (count_flagged(shared) == shared->record_count) {
		if (time_now_ns() > end_ns)
			fail("the shared backend does not fail");
		pause_ms(1);
	}
	told_ns = time_now_ns();
	while (count_flagged(shared))
		continue;
	all_ns = time_now_ns();
	report_value("a backend of 200 pools fails: all flags", "ms", since_ms(told_ns, all_ns));
	while (left) {
		if (time_now_ns() > end_ns)
			fail("slots still name the backend that failed");
		while (left && !is_named(shared, left - 1))
			left--;
	}
	report_value("a backend of 200 pools fails: last slot written", "ms",
		     since_ms(told_ns, time_now_ns()) - SETTLE_MS);
}

static void run_failures(struct stage *stage)
{
	static struct shared shared;

	write_file(stage, LARGE_POOLS, BACKENDS / LARGE_POOLS, 100);
	stage_start(stage);
	hear(stage, "msg=\"running\"");
	shared.backends = backends_of(stage);
	shared.slots = stage_table(stage, "slots", ABI_SLOTS * sizeof(uint64_t));
	wait_for_backends(stage, shared.backends, BACKENDS);
	find_records(&shared);
	for (unsigned i = 0; i < FAILURES; i++) {
		/* Slots follow a moment after the flags. */
		stage_hear(stage, "never said", 500);
		find_slots(&shared);
		stage_answer(stage, shared_address, false);
		watch_failure(&shared);
		stage_answer(stage, shared_address, true);
		wait_for_backends(stage, shared.backends, BACKENDS);
	}
	stage_stop(stage);
}

int main(int argc, char **argv)
{
	int rounds = argc == 3 && strcmp(argv[1], "--rounds") == 0 ? atoi(argv[2]) : ROUNDS_DEFAULT;
	static struct stage stage;

	if (rounds < 1 || argc == 2 || argc > 3)
		fail("usage: load_bench [--rounds N]");
	stage_open(&stage);
	for (int i = 0; i < rounds; i++) {
		run_start(&stage);
		run_changes(&stage);
		stage_stop(&stage);
		run_large_change(&stage);
		run_failures(&stage);
	}
	report_print();
	return 0;
}
