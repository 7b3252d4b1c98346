/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/sim/print.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"

enum { EVENT_COLUMNS = 28 };

static const struct column {
	const char *name;
	size_t offset;
} columns[] = {
	{"moved", offsetof(struct sim_counts, moved)},
	{"broken", offsetof(struct sim_counts, broken)},
	{"handed_on", offsetof(struct sim_counts, handed)},
	{"stalled", offsetof(struct sim_counts, stalled)},
	{"excused", offsetof(struct sim_counts, excused)},
	{"refused", offsetof(struct sim_counts, refused)},
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static uint64_t value_of(const struct sim_counts *counts, size_t column)
{
	return *(const uint64_t *)(const void *)((const char *)counts + columns[column].offset);
}

static void add_up(struct sim_counts *total, const struct sim_counts *counts)
{
	total->moved += counts->moved;
	total->broken += counts->broken;
	total->handed += counts->handed;
	total->stalled += counts->stalled;
	total->excused += counts->excused;
	total->refused += counts->refused;
}

static size_t pool_members(const struct sim_fleet *fleet)
{
	size_t count = 0;

	for (size_t i = 0; i < fleet->count; i++)
		count += fleet->backends[i].present;
	return count;
}

/* --- the table --- */

static void print_head(const struct sim_print *print)
{
	const struct sim_spec *spec = print->spec;

	printf("service %s, pool %s: %zu %s, %" PRIu32 " slots; %" PRIu32 " flows, seed %" PRIu64
	       "; %" PRIu64 " MB\n\n",
	       print->service->name, print->service->pool->name, pool_members(spec->fleet),
	       plural(pool_members(spec->fleet), "backend", "backends"), spec->fleet->table_size,
	       spec->flows, spec->seed, print->memory / 1000000);
	printf("%10s  %-*s  %-12s", "AT", EVENT_COLUMNS, "EVENT", "% OF FLOWS");
	printf(" %9s %9s %9s %9s %9s %9s\n", "MOVED", "BROKEN", "HANDED ON", "STALLED", "EXCUSED",
	       "REFUSED");
}

static void print_counts(const struct sim_print *print, const char *name,
			 const struct sim_counts *counts)
{
	printf("  %-12s", name);
	for (size_t i = 0; i < COLUMNS; i++) {
		uint64_t value = value_of(counts, i);

		if (value)
			printf(" %9.4f", 100.0 * (double)value / print->spec->flows);
		else
			printf(" %9s", "0");
	}
	putchar('\n');
}

static void print_rows(const struct sim_print *print, const struct sim_counts *schemes,
		       const char *lines[SIM_SCHEMES])
{
	for (int i = 0; i < SIM_SCHEMES; i++) {
		printf("%-*.*s", 12 + EVENT_COLUMNS, 12 + EVENT_COLUMNS, lines[i]);
		print_counts(print, sim_scheme_names[i], &schemes[i]);
	}
	putchar('\n');
}

static void print_row(const struct sim_print *print, const struct sim_row *row)
{
	char first[96], second[96], nodes[96];
	const char *lines[SIM_SCHEMES] = {first, second, nodes, "", ""};
	const char *text = row->step ? row->step->text : "the flows begin";
	size_t length = strlen(text);

	snprintf(first, sizeof(first), "%9.1fs  %s",
		 row->step ? (double)row->step->at_ms / 1000 : 0, text);
	snprintf(second, sizeof(second), "%12s%s", "",
		 length > EVENT_COLUMNS ? text + EVENT_COLUMNS : "");
	snprintf(nodes, sizeof(nodes), "%12s%u %s, %.2f %% to another", "", row->nodes,
		 plural(row->nodes, "node", "nodes"),
		 100.0 * (double)row->node_moved / print->spec->flows);
	print_rows(print, row->schemes, lines);
}

/* --- JSON --- */

static json_t *counts_json(const struct sim_counts *schemes)
{
	json_t *all = json_object();

	for (int i = 0; i < SIM_SCHEMES; i++) {
		json_t *one = json_object();

		for (size_t column = 0; column < COLUMNS; column++)
			json_object_set_new(
				one, columns[column].name,
				json_integer((json_int_t)value_of(&schemes[i], column)));
		json_object_set_new(all, sim_scheme_names[i], one);
	}
	return all;
}

static void add_row(struct sim_print *print, const struct sim_row *row)
{
	struct sim_nodes_stats stats = sim_nodes_stats(print->nodes);

	json_array_append_new(print->rows,
			      json_pack("{s:s?, s:I, s:i, s:I, s:o, s:{s:I, s:I, s:I}}", "event",
					row->step ? row->step->text : NULL, "at_ms",
					(json_int_t)(row->step ? row->step->at_ms : 0), "nodes",
					(int)row->nodes, "node_moved", (json_int_t)row->node_moved,
					"schemes", counts_json(row->schemes), "flow_tables",
					"recorded", (json_int_t)stats.recorded, "skipped",
					(json_int_t)stats.skipped, "evicted",
					(json_int_t)stats.evicted));
}

static int print_json(const struct sim_print *print, double seconds)
{
	const struct sim_spec *spec = print->spec;
	json_t *all = json_pack("{s:s, s:s, s:I, s:i, s:I, s:I, s:I, s:f, s:O, s:o}", "service",
				print->service->name, "pool", print->service->pool->name, "flows",
				(json_int_t)spec->flows, "table_size", (int)spec->fleet->table_size,
				"nodes", (json_int_t)spec->events->nodes, "seed",
				(json_int_t)spec->seed, "memory_bytes", (json_int_t)print->memory,
				"cpu_seconds", seconds, "events", print->rows, "total",
				counts_json(print->total));
	int error = all ? json_dumpf(all, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER) : -1;

	putchar('\n');
	json_decref(all);
	return error ? -ENOMEM : 0;
}

/* --- both --- */

void sim_print_begin(struct sim_print *print)
{
	if (print->json)
		print->rows = json_array();
	else
		print_head(print);
}

void sim_print_row(struct sim_print *print, const struct sim_row *row)
{
	for (int i = 0; i < SIM_SCHEMES; i++)
		add_up(&print->total[i], &row->schemes[i]);
	if (print->json)
		add_row(print, row);
	else
		print_row(print, row);
}

int sim_print_end(struct sim_print *print, double seconds)
{
	struct sim_nodes_stats stats = sim_nodes_stats(print->nodes);
	const char *lines[SIM_SCHEMES] = {"", "", "", "", ""};
	char all[64];

	if (print->json)
		return print_json(print, seconds);
	snprintf(all, sizeof(all), "%12s%s", "", "all of it");
	lines[0] = all;
	print_rows(print, print->total, lines);
	printf("Weir's flow tables: %" PRIu64 " recorded, %" PRIu64 " skipped, %" PRIu64
	       " evicted. %.1f s of a processor.\n",
	       stats.recorded, stats.skipped, stats.evicted, seconds);
	return 0;
}

void sim_print_fini(struct sim_print *print)
{
	json_decref(print->rows);
}
