/* SPDX-License-Identifier: BSD-2-Clause */
/* weir plan: how many cores and nodes, what tables, what packet sizes. */
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"
#include "conf/conf.h"
#include "tunnel/mode.h"
#include "weir/command.h"
#include "weir/measure/progress.h"
#include "weir/measure/rows.h"
#include "weir/plan/number.h"
#include "weir/plan/plan.h"

enum { IP4 = 20, IP6 = 40, TCP = 20, IP6_MIN = 1280, FCS = 4 };

static const char help[] =
	"usage: weir plan --rate BITS [--packet-size BYTES] [--flows N] [--backends N]\n"
	"                 [--services N] [--mode MODE] [--mtu BYTES] [--cores-per-node N]\n"
	"                 [--driver-ns NS | --ns-per-packet NS] [--json]\n"
	"\n"
	"Measures how long a packet takes on this machine, as weir bench does, and says what a "
	"fleet\n"
	"needs for the rate: cores, nodes, tables and how even they are, flow memory, MTU and "
	"MSS.\n"
	"\n"
	"      --rate BITS          a second, on the wire, as 25G\n"
	"      --packet-size BYTES  of a frame with its checksum, 64 at least (400)\n"
	"      --flows N            at once, as 10M (1M)\n"
	"      --backends N         of a pool (100)\n"
	"      --services N         each with a pool of its own (1)\n"
	"      --mode MODE          as weir bench; the packet sizes are shown for all (ipip)\n"
	"      --mtu BYTES          of the way to the backends (1500)\n"
	"      --cores-per-node N   that a node has for it (this machine's)\n"
	"      --driver-ns NS       what the card's driver and cold caches take beside what is\n"
	"                           measured (60)\n"
	"      --ns-per-packet NS   count with this, all in, and measure nothing; as 192\n"
	"  -j, --json               as JSON\n"
	"      --help               this text\n"
	"\n"
	"Exit status: 0; 1 when it cannot be measured or no table is large enough.\n";

struct options {
	struct plan_asked asked;
	const char *mode;
	uint32_t mtu;
	double driver_ns, measured_ns; /* 0: nothing was measured */
	bool json;
};

/* --- packet sizes --- */

static const struct {
	const char *name;
	enum tunnel_mode mode;
	bool one_family;
} modes[] = {
	{"ipip", TUNNEL_IPIP, false},     {"gre", TUNNEL_GRE, false},
	{"gue", TUNNEL_GUE, false},       {"gue-second-chance", TUNNEL_GUE0, false},
	{"geneve", TUNNEL_GENEVE, false}, {"ipopt", TUNNEL_IPOPT, true},
	{"l2dsr", TUNNEL_L2DSR, true},
};

struct size {
	const char *mode;
	bool outer4, inner4;
	uint32_t overhead, inner, mss, fabric;
};

typedef void take_size(void *arg, const struct size *size);

static void each_size(const struct options *options, take_size *take, void *arg)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		for (int way = 0; way < 4; way++) {
			struct size size = {modes[i].name, way < 2, way % 2 == 0, 0, 0, 0, 0};
			uint32_t headers = (size.inner4 ? IP4 : IP6) + TCP;

			if (modes[i].one_family && size.outer4 != size.inner4)
				continue;
			size.overhead = tunnel_mode_overhead((uint8_t)modes[i].mode, size.outer4,
							     size.inner4);
			size.inner = options->mtu > size.overhead ? options->mtu - size.overhead
								  : 0;
			size.mss = size.inner > headers ? size.inner - headers : 0;
			size.fabric = 1500 + size.overhead;
			take(arg, &size);
		}
	}
}

static void print_size(void *arg, const struct size *size)
{
	(void)arg;
	printf("%-18s %s in %s %9u %9u %9u %12u%s\n", size->mode, size->inner4 ? "IPv4" : "IPv6",
	       size->outer4 ? "IPv4" : "IPv6", size->overhead, size->inner, size->mss, size->fabric,
	       !size->inner4 && size->inner < IP6_MIN ? "  less than IPv6 allows" : "");
}

static void size_json(void *arg, const struct size *size)
{
	json_array_append_new(arg, json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i}", "mode",
					     size->mode, "inner", size->inner4 ? "ipv4" : "ipv6",
					     "outer", size->outer4 ? "ipv4" : "ipv6", "overhead",
					     (int)size->overhead, "packet", (int)size->inner, "mss",
					     (int)size->mss, "mtu_for_1500", (int)size->fabric));
}

/* --- the whole --- */

static void print_text(const struct options *options, const struct plan *plan)
{
	const struct plan_asked *asked = &options->asked;

	printf("rate: %.1f Gbit/s of %u-byte frames (%u on the wire): %.2f Mpps\n",
	       asked->rate_bps / 1e9, asked->frame, asked->frame + PLAN_WIRE_BYTES, plan->mpps);
	if (options->measured_ns > 0)
		printf("a core: %.1f ns a packet (%s here, measured), %.0f for the driver: %.2f "
		       "Mpps\n",
		       options->measured_ns, options->mode, options->driver_ns, plan->core_mpps);
	else
		printf("a core: %.1f ns a packet, as given: %.2f Mpps\n", asked->ns,
		       plan->core_mpps);
	printf("cores: %u, each busy for %d %% of its time at most; %u bare (%.2f of all their "
	       "time)\n",
	       plan->cores, PLAN_BUSY_PERCENT, plan->cores_bare, plan->cores_exact);
	printf("nodes: %u of %u %s, and one more so that one may fail\n", plan->nodes,
	       asked->cores_a_node, plural(asked->cores_a_node, "core", "cores"));
	printf("tables: %u slots a pool (table_size: auto), %.1f MB for %u %s%s\n",
	       plan->table_size, (double)plan->table_bytes / 1e6, asked->services,
	       plural(asked->services, "pool", "pools"),
	       (uint64_t)asked->services * plan->table_size > CONF_SLOTS_MAX
		       ? ": MORE THAN A NODE HAS, give pools a smaller table_size"
		       : "");
	printf("imbalance: the worst of %u %s %.2f %% off its share, %.2f %% when one is "
	       "down\n",
	       asked->backends, plural(asked->backends, "backend", "backends"), plan->share_error,
	       plan->share_error_failed);
	printf("disruption: when one fails %.2f %% of new flows go elsewhere, those of others: "
	       "%.2f %%;\n  when one is added %.2f %% do, and flows that are there stay\n",
	       plan->moved_failed, plan->moved_other, plan->moved_added);
	printf("flow memory: tracking: transition, entries: %" PRIu64 " (%.1f MB); always, %" PRIu64
	       " (%.1f MB)\n",
	       plan->flow_entries_moving, (double)plan->flow_entries_moving * PLAN_FLOW_BYTES / 1e6,
	       plan->flow_entries, (double)plan->flow_entries * PLAN_FLOW_BYTES / 1e6);
	if (plan->flow_entries < 2 * asked->flows)
		puts("  the largest table is less than twice the flows: some are not remembered");
	printf("\nsizes over a path of %u bytes:\n%-18s %-12s %9s %9s %9s %12s\n", options->mtu,
	       "MODE", "FAMILIES", "OVERHEAD", "PACKET", "MSS", "MTU FOR 1500");
	each_size(options, print_size, NULL);
}

static void print_json(const struct options *options, const struct plan *plan)
{
	const struct plan_asked *asked = &options->asked;
	json_t *sizes = json_array(), *whole;

	each_size(options, size_json, sizes);
	whole = json_pack("{s:f, s:i, s:I, s:i, s:i, s:s, s:f, s:f, s:f, s:f, s:f}", "rate_bps",
			  asked->rate_bps, "packet_size", (int)asked->frame, "flows",
			  (json_int_t)asked->flows, "backends", (int)asked->backends, "services",
			  (int)asked->services, "mode", options->mode, "measured_ns",
			  options->measured_ns, "driver_ns",
			  options->measured_ns > 0 ? options->driver_ns : 0.0, "ns_per_packet",
			  asked->ns, "mpps", plan->mpps, "core_mpps", plan->core_mpps);
	json_object_update_new(
		whole,
		json_pack("{s:f, s:i, s:i, s:i, s:i, s:I, s:i, s:f, s:f, s:f, s:f, s:f, s:I, s:I, "
			  "s:o}",
			  "cores_exact", plan->cores_exact, "cores_bare", (int)plan->cores_bare,
			  "cores", (int)plan->cores, "cores_per_node", (int)asked->cores_a_node,
			  "nodes", (json_int_t)plan->nodes, "table_bytes",
			  (json_int_t)plan->table_bytes, "table_size", (int)plan->table_size,
			  "share_error_percent", plan->share_error, "share_error_failed_percent",
			  plan->share_error_failed, "moved_failed_percent", plan->moved_failed,
			  "moved_other_percent", plan->moved_other, "moved_added_percent",
			  plan->moved_added, "flow_entries_transition",
			  (json_int_t)plan->flow_entries_moving, "flow_entries_always",
			  (json_int_t)plan->flow_entries, "sizes", sizes));
	json_dumpf(whole, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(whole);
}

/* --- the command --- */

/* The plain packet of the mode, of the size that is planned for as far as a test run takes it. */
static int measure(struct options *options)
{
	struct progress progress = {0};
	uint32_t frame = options->asked.frame - FCS;
	struct rows_options wanted = {.mode = options->mode,
				      .plain4 = true,
				      .rounds = 51,
				      .repeat = 1500,
				      .backends = options->asked.backends,
				      .progress = progress_show,
				      .arg = &progress};
	static struct rows rows;
	struct err err;

	wanted.frame = frame < ROWS_FRAME_MIN   ? ROWS_FRAME_MIN
		       : frame > ROWS_FRAME_MAX ? ROWS_FRAME_MAX
						: frame;
	if (wanted.backends > ROWS_BACKENDS_MAX)
		wanted.backends = ROWS_BACKENDS_MAX;
	if (rows_measure(&wanted, &rows, &err))
		return command_fail("plan", "%s; or give --ns-per-packet", err.text);
	options->measured_ns = rows.rows[0].ns.median;
	if (rows.rows[0].ns.median > 2 * rows.rows[0].ns.min)
		fprintf(stderr,
			"weir plan: much else runs on this machine: a packet took %.1f ns in the "
			"median, %.1f at least\n",
			rows.rows[0].ns.median, rows.rows[0].ns.min);
	options->asked.ns = options->measured_ns + options->driver_ns;
	return EXIT_OK;
}

static int take_number(const char *option, uint64_t least, uint64_t most, uint32_t *ret)
{
	uint64_t value;

	if (!number_parse(optarg, &value) || value < least || value > most)
		return command_usage_error("plan", "--%s is a number from %" PRIu64 " to %" PRIu64,
					   option, least, most);
	*ret = (uint32_t)value;
	return EXIT_OK;
}

static int take_large(const char *option, uint64_t most, uint64_t *ret)
{
	if (!number_parse(optarg, ret) || !*ret || *ret > most)
		return command_usage_error("plan",
					   "--%s is a number above 0, such as 25G, and not "
					   "above %" PRIu64,
					   option, most);
	return EXIT_OK;
}

static int take_ns(const char *option, double *ret)
{
	char *end;

	*ret = strtod(optarg, &end);
	if (*end || end == optarg || !(*ret >= 0.1 && *ret <= 1e6))
		return command_usage_error("plan", "--%s is a number from 0.1 to 1000000", option);
	return EXIT_OK;
}

static int take_option(struct options *options, int option)
{
	struct plan_asked *asked = &options->asked;
	uint64_t rate = 0;
	int status;

	switch (option) {
	case 'r':
		status = take_large("rate", 100000000000000, &rate);
		asked->rate_bps = (double)rate;
		return status;
	case 'p': return take_number("packet-size", PLAN_FRAME_MIN, PLAN_FRAME_MAX, &asked->frame);
	case 'f': return take_large("flows", 1000000000000, &asked->flows);
	case 'b': return take_number("backends", 1, CONF_BACKENDS_MAX, &asked->backends);
	case 's': return take_number("services", 1, CONF_SERVICES_MAX, &asked->services);
	case 'c': return take_number("cores-per-node", 1, 4096, &asked->cores_a_node);
	case 't': return take_number("mtu", 576, PLAN_FRAME_MAX, &options->mtu);
	case 'n': return take_ns("ns-per-packet", &asked->ns);
	case 'd': return take_ns("driver-ns", &options->driver_ns);
	case 'm':
		if (!rows_is_mode(optarg))
			return command_usage_error("plan", "\"%s\" is not a mode", optarg);
		options->mode = optarg;
		return EXIT_OK;
	case 'j': options->json = true; return EXIT_OK;
	default: return EXIT_USAGE;
	}
}

static int make(struct options *options)
{
	struct plan plan;
	int error;

	if (!options->asked.rate_bps)
		return command_usage_error("plan", "--rate is needed, as 25G");
	if (options->asked.ns == 0 && measure(options))
		return EXIT_NO;
	error = plan_make(&options->asked, &plan);
	if (error)
		return command_fail("plan", "a table for %u %s: %s", options->asked.backends,
				    plural(options->asked.backends, "backend", "backends"),
				    strerror(-error));
	if (options->json)
		print_json(options, &plan);
	else
		print_text(options, &plan);
	return EXIT_OK;
}

int command_plan(int argc, char **argv)
{
	static const struct option longs[] = {{"rate", required_argument, NULL, 'r'},
					      {"packet-size", required_argument, NULL, 'p'},
					      {"flows", required_argument, NULL, 'f'},
					      {"backends", required_argument, NULL, 'b'},
					      {"services", required_argument, NULL, 's'},
					      {"mode", required_argument, NULL, 'm'},
					      {"mtu", required_argument, NULL, 't'},
					      {"cores-per-node", required_argument, NULL, 'c'},
					      {"ns-per-packet", required_argument, NULL, 'n'},
					      {"driver-ns", required_argument, NULL, 'd'},
					      {"json", no_argument, NULL, 'j'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct options options = {
		.asked = {.frame = 400,
			  .flows = 1000000,
			  .backends = 100,
			  .services = 1,
			  .cores_a_node = cores > 0 ? (uint32_t)cores : 1},
		.mode = "ipip",
		.mtu = 1500,
		.driver_ns = 60,
	};
	uint32_t seen = 0;
	int option;

	while ((option = command_option(argc, argv, ":jh", longs)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		if (option == '?' || command_come_once(&seen, "plan", longs, option) ||
		    take_option(&options, option))
			return EXIT_USAGE;
	}
	if (optind != argc)
		return command_usage_error("plan", "\"%s\" is too much", argv[optind]);
	return make(&options);
}
