// SPDX-License-Identifier: BSD-2-Clause
/*
 * Weir's functions as they are compiled natively: nanoseconds a call, of this thread's own time.
 * Rows take turns, a sample each a round: what disturbs the machine for a while disturbs all alike.
 *
 * With --count every row runs once, between two functions that do nothing but are seen by the one
 * who counts instructions (bench/count), and its name is printed with how many calls it was.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/native/native.h"
#include "bench/report.h"
#include "bench/setting.h"
#include "bench/timing.h"

enum {
	ROUNDS = 21,
	SAMPLE = 16384,
	COUNTED = 256, /* calls that are counted, where a row does not say how many */
	COUNTED_ENTRIES = 16 * 1024,
	ROWS_MAX = 128,
};

static const struct native_row *rows[ROWS_MAX];
static void *data[ROWS_MAX];
static size_t row_count;

static void add_rows(const struct native_row *from, enum native_when not, const char *only)
{
	for (; from->name; from++) {
		if (from->when == not || !strstr(from->name, only))
			continue;
		if (row_count == ROWS_MAX)
			bench_die("rows", E2BIG);
		rows[row_count] = from;
		data[row_count++] = from->prepare(from);
	}
}

/* --- counted --- */

/* Seen from outside by their names: neither may be merged or left out. */
__attribute__((noinline, used)) void native_count_begin(void);
__attribute__((noinline, used)) void native_count_end(void);

void native_count_begin(void)
{
	__asm__ volatile("# begin" : : : "memory");
}

void native_count_end(void)
{
	__asm__ volatile("# end" : : : "memory");
}

static void count_all(void)
{
	for (size_t i = 0; i < row_count; i++) {
		uint32_t count = rows[i]->count < COUNTED && rows[i]->count ? rows[i]->count
									    : COUNTED;

		rows[i]->run(data[i], count);
		native_count_begin();
		rows[i]->run(data[i], count);
		native_count_end();
		printf("%u\t%s\n", count, rows[i]->name);
	}
}

/* --- timed --- */

static void time_row(size_t at)
{
	const struct native_row *row = rows[at];
	uint32_t count = row->count ? row->count : SAMPLE;
	uint64_t since_ns;

	/* What is meant to be in the cache is brought there; the rest need not be gone through. */
	row->run(data[at], row->setting ? count : count / 8);
	since_ns = timing_spent_ns();
	row->run(data[at], count);
	report_value(row->name, "ns", (double)(timing_spent_ns() - since_ns) / count);
}

static void time_all(uint32_t rounds)
{
	for (uint32_t round = 0; round < rounds; round++) {
		for (size_t i = 0; i < row_count; i++)
			time_row(i);
	}
	for (size_t i = 0; i < row_count; i++) {
		char name[96];

		if (rows[i]->base)
			report_compare(rows[i]->name, rows[i]->base);
		/* One of those that are as full says it for all. */
		if (!rows[i]->fill || rows[i]->base || rows[i]->setting ||
		    strstr(rows[i]->name, "miss"))
			continue;
		snprintf(name, sizeof(name), "flow table %u %% full, flows lost", rows[i]->fill);
		report_value(name, "%", fill_lost(rows[i]->fill));
	}
	report_print();
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"rounds", required_argument, NULL, 'r'},
						{"only", required_argument, NULL, 'o'},
						{"count", no_argument, NULL, 'c'},
						{NULL, 0, NULL, 0}};
	uint32_t rounds = ROUNDS;
	const char *only = "";
	bool counts = false;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'r': rounds = (uint32_t)strtoul(optarg, NULL, 10); break;
		case 'o': only = optarg; break;
		case 'c': counts = true; break;
		default:
			fputs("usage: native_bench [--rounds N] [--only TEXT] [--count]\n", stderr);
			return 2;
		}
	}
	if (counts)
		fill_set_size(COUNTED_ENTRIES);
	for (size_t i = 0; i < 3; i++) {
		const struct native_row *all[] = {path_rows, fill_rows, build_rows};

		add_rows(all[i], counts ? NATIVE_TIMED : NATIVE_COUNTED, only);
	}
	if (counts)
		count_all();
	else
		time_all(rounds ? rounds : 1);
	return 0;
}
