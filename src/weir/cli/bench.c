/* SPDX-License-Identifier: BSD-2-Clause */
/* weir bench: how long a packet takes on this machine, by mode. */
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/plural.h"
#include "weir/command.h"
#include "weir/measure/progress.h"
#include "weir/measure/rows.h"
#include "weir/plan/number.h"

static const char help[] =
	"usage: weir bench [--mode MODE] [--rounds N] [--repeat N] [--backends N]\n"
	"                  [--frame BYTES] [--json]\n"
	"\n"
	"Measures how long this machine's kernel takes for a packet, one core, by mode: the "
	"daemon's\n"
	"own program, run on packets in memory (BPF_PROG_TEST_RUN). Nothing is sent and no "
	"interface\n"
	"is touched; a node that runs goes on, and is slowed for some seconds on one core.\n"
	"\n"
	"      --mode MODE     one alone: ipip, gre, gue, gue-second-chance, geneve, ipopt, l2dsr\n"
	"      --rounds N      samples of each, of which least, median and greatest are shown "
	"(51)\n"
	"      --repeat N      packets of a sample (1500)\n"
	"      --backends N    of the pool (100)\n"
	"      --frame BYTES   of a packet with its Ethernet header (128)\n"
	"  -j, --json          as JSON\n"
	"      --help          this text\n"
	"\n"
	"Exit status: 0; 1 when it cannot be measured.\n";

static double mpps(double ns)
{
	return ns > 0 ? 1000 / ns : 0;
}

/* Half of the samples took twice as long as they could. */
static bool is_disturbed(const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		if (rows->rows[i].ns.median > 2 * rows->rows[i].ns.min)
			return true;
	}
	return false;
}

static void print_text(const struct rows_options *options, const struct rows *rows)
{
	printf("ns a packet, over %u %s of %u %s of %u bytes; %u %s, 1024 flows\n", options->rounds,
	       plural(options->rounds, "sample", "samples"), options->repeat,
	       plural(options->repeat, "packet", "packets"), options->frame, options->backends,
	       plural(options->backends, "backend", "backends"));
	printf("%.1f ns were taken off for making each packet anew\n\n", rows->overhead_ns);
	printf("%-18s %-6s %-10s %7s %7s %7s %12s\n", "MODE", "FAMILY", "TRACKING", "MIN", "MEDIAN",
	       "MAX", "MPPS A CORE");
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];

		printf("%-18s %-6s %-10s %7.1f %7.1f %7.1f %12.1f\n", row->mode,
		       row->ipv6 ? "IPv6" : "IPv4", row->always ? "always" : "transition",
		       row->ns.min, row->ns.median, row->ns.max, mpps(row->ns.median));
	}
	if (is_disturbed(rows))
		puts("\nMuch else runs on this machine: the least are nearer to what a packet "
		     "takes.");
	puts("\nWithout the card, its driver and cold caches: what a node forwards is less. "
	     "`weir plan` counts with that.");
}

static void print_json(const struct rows_options *options, const struct rows *rows)
{
	json_t *list = json_array(), *whole;
	struct utsname machine;

	uname(&machine);
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];

		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f}", "mode", row->mode,
					"family", row->ipv6 ? "ipv6" : "ipv4", "tracking",
					row->always ? "always" : "transition", "min_ns",
					row->ns.min, "median_ns", row->ns.median, "max_ns",
					row->ns.max, "mpps", mpps(row->ns.median)));
	}
	whole = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:f, s:o}", "kernel", machine.release,
			  "machine", machine.machine, "rounds", (int)options->rounds, "repeat",
			  (int)options->repeat, "backends", (int)options->backends, "frame",
			  (int)options->frame, "overhead_ns", rows->overhead_ns, "rows", list);
	json_dumpf(whole, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(whole);
}

static int take_number(const char *option, uint32_t least, uint32_t most, uint32_t *ret)
{
	uint64_t value;

	if (!number_parse(optarg, &value) || value < least || value > most)
		return command_usage_error("bench", "--%s is a number from %u to %u", option, least,
					   most);
	*ret = (uint32_t)value;
	return EXIT_OK;
}

static int take_option(struct rows_options *options, int option)
{
	switch (option) {
	case 'm':
		if (!rows_is_mode(optarg))
			return command_usage_error("bench", "\"%s\" is not a mode", optarg);
		options->mode = optarg;
		return EXIT_OK;
	case 'r': return take_number("rounds", 1, ROWS_ROUNDS_MAX, &options->rounds);
	case 'n': return take_number("repeat", 2, 1000000, &options->repeat);
	case 'b': return take_number("backends", 1, ROWS_BACKENDS_MAX, &options->backends);
	case 'f': return take_number("frame", ROWS_FRAME_MIN, ROWS_FRAME_MAX, &options->frame);
	default: return EXIT_USAGE;
	}
}

int command_bench(int argc, char **argv)
{
	static const struct option longs[] = {{"mode", required_argument, NULL, 'm'},
					      {"rounds", required_argument, NULL, 'r'},
					      {"repeat", required_argument, NULL, 'n'},
					      {"backends", required_argument, NULL, 'b'},
					      {"frame", required_argument, NULL, 'f'},
					      {"json", no_argument, NULL, 'j'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	struct progress progress = {0};
	struct rows_options options = {.rounds = 51,
				       .repeat = 1500,
				       .backends = 100,
				       .frame = 128,
				       .progress = progress_show,
				       .arg = &progress};
	static struct rows rows;
	struct err err;
	uint32_t seen = 0;
	bool json = false;
	int option;

	while ((option = command_option(argc, argv, ":jh", longs)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		json |= option == 'j';
		if (option == '?' || command_come_once(&seen, "bench", longs, option) ||
		    (option != 'j' && take_option(&options, option)))
			return EXIT_USAGE;
	}
	if (optind != argc)
		return command_usage_error("bench", "\"%s\" is too much", argv[optind]);
	if (rows_measure(&options, &rows, &err))
		return command_fail("bench", "%s", err.text);
	if (json)
		print_json(&options, &rows);
	else
		print_text(&options, &rows);
	return EXIT_OK;
}
