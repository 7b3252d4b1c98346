/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir sim: what becomes of many flows when backends and nodes come and go, for Weir and for other
 * ways to balance, without a network.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/time.h"
#include "conf/conf.h"
#include "sim/run.h"
#include "weir/command.h"
#include "weir/sim/nodes.h"
#include "weir/sim/print.h"

enum {
	FLOWS_DEFAULT = 1000000,
	FLOWS_MAX = 1000000000,
	NODES_DEFAULT = 2,
	CORES_DEFAULT = 4,
	CORES_MAX = 4096,
	GAP_MS = 60 * 1000,
	INTERVAL_MS = 10 * 1000,
	SETTLE_MS = 50, /* as `weir run` gathers what happens */
	MEMORY_MB_DEFAULT = 8192,
};
#define PROGRESS_NS (2 * TIME_SECOND_NS)

static const char name[] = "sim";

struct options {
	const char *config, *events, *service, *router;
	const char *flows, *nodes, *seed, *cores, *memory; /* numbers */
	const char *gap, *interval, *lifetime;             /* times */
	bool json, quiet;
};

struct command {
	struct options options;
	struct conf *conf;
	const struct conf_service *service;
	struct sim_fleet fleet;
	struct sim_router router;
	struct sim_events events;
	struct sim_nodes *nodes;
	struct sim_weir weir;
	struct sim_spec spec;
	struct sim_print print;
	uint64_t cores, memory_mb, node_count, gap_ms;
	uint64_t began_ns, told_ns;
};

static void print_help(void)
{
	fputs("usage: weir sim --config FILE --events FILE [OPTION ...]\n"
	      "\n"
	      "Replays failures and changes over synthetic flows, without a network, and prints "
	      "for "
	      "each\n"
	      "which part of the flows moved, broke, or was handed on: with Weir's own tables and "
	      "packet\n"
	      "path, and with Maglev (with and without a flow table on each node), a ring, and "
	      "modulo,\n"
	      "which are built anew of whoever is healthy.\n"
	      "\n"
	      "  --config FILE     the services file\n"
	      "  --events FILE     what happens; - is standard input\n"
	      "  --service NAME    may be left out when the file has only one\n"
	      "  --flows N         at any time (1M; k, M)\n"
	      "  --nodes N         at first (2)\n"
	      "  --router WAY      modulo (default) or hrw: how routers spread flows over nodes\n"
	      "  --gap TIME        before an event without a time (60s)\n"
	      "  --interval TIME   in which each flow sends after an event (10s)\n"
	      "  --lifetime TIME   mean of a connection; without it, they last\n"
	      "  --cores N         of a node: so many times its insert limit (4)\n"
	      "  --memory MB       refuse to need more (8192)\n"
	      "  --seed N          of flows and routers (1); the same gives the same\n"
	      "  --quiet           no progress on standard error\n"
	      "  -j, --json        everything, in numbers of flows\n"
	      "  --help            this text\n"
	      "\n",
	      stdout);
	fputs(sim_events_help, stdout);
}

/* --- the command line --- */

static const struct option known[] = {
	{"config", required_argument, NULL, 'c'},   {"events", required_argument, NULL, 'e'},
	{"service", required_argument, NULL, 's'},  {"flows", required_argument, NULL, 'f'},
	{"nodes", required_argument, NULL, 'n'},    {"router", required_argument, NULL, 'r'},
	{"gap", required_argument, NULL, 'g'},      {"interval", required_argument, NULL, 'i'},
	{"lifetime", required_argument, NULL, 'l'}, {"cores", required_argument, NULL, 'o'},
	{"memory", required_argument, NULL, 'm'},   {"seed", required_argument, NULL, 'd'},
	{"quiet", no_argument, NULL, 'q'},          {"json", no_argument, NULL, 'j'},
	{"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0},
};

static const char **field_of(struct options *options, int option)
{
	switch (option) {
	case 'c': return &options->config;
	case 'e': return &options->events;
	case 's': return &options->service;
	case 'f': return &options->flows;
	case 'n': return &options->nodes;
	case 'r': return &options->router;
	case 'g': return &options->gap;
	case 'i': return &options->interval;
	case 'l': return &options->lifetime;
	case 'o': return &options->cores;
	case 'm': return &options->memory;
	default: return &options->seed;
	}
}

static const char *name_of(int option)
{
	const struct option *at = known;

	while (at->val != option)
		at++;
	return at->name;
}

static int parse_options(int argc, char **argv, struct options *options, bool *done)
{
	int option, wrong = 0;

	*done = true;
	while (!wrong && (option = command_option(argc, argv, ":jh", known)) != -1) {
		switch (option) {
		case 'h': print_help(); return EXIT_OK;
		case 'j': options->json = true; break;
		case 'q': options->quiet = true; break;
		case '?': return EXIT_USAGE;
		default:
			wrong = command_set_once(field_of(options, option), name, name_of(option),
						 optarg);
		}
	}
	if (wrong)
		return wrong;
	if (optind < argc)
		return command_usage_error(name, "unexpected \"%s\"", argv[optind]);
	if (!options->config)
		return command_usage_error(name, "--config is missing");
	if (!options->events)
		return command_usage_error(name, "--events is missing");
	*done = false;
	return EXIT_OK;
}

struct unit {
	const char *suffix;
	uint64_t factor;
};
static const struct unit counts[] = {{"", 1}, {"k", 1000}, {"M", 1000000}, {NULL, 0}};
static const struct unit numbers[] = {{"", 1}, {NULL, 0}};
static const struct unit times[] = {
	{"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 3600 * 1000}, {NULL, 0}};

/* A number with a unit, `least` to `most`; the fallback where there is no text. */
struct range {
	const char *option;
	const struct unit *units;
	uint64_t least, most;
};

static int parse_number(const struct range *range, const char *text, uint64_t *value)
{
	uint64_t number = 0;
	const char *at = text;

	if (!text)
		return 0;
	for (; *at >= '0' && *at <= '9' && number < UINT32_MAX; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	for (const struct unit *unit = range->units; at > text && unit->suffix; unit++) {
		if (strcmp(at, unit->suffix) != 0)
			continue;
		*value = number * unit->factor;
		if (*value >= range->least && *value <= range->most)
			return 0;
	}
	return command_usage_error(name, "--%s %s: expected %" PRIu64 " to %" PRIu64 "%s",
				   range->option, text, range->least, range->most,
				   range->units == times ? " ms, in ms, s, m or h" : "");
}

static int parse_numbers(struct command *command)
{
	static const struct range flows = {"flows", counts, 1, FLOWS_MAX};
	static const struct range nodes = {"nodes", numbers, 1, SIM_NODES_MAX};
	static const struct range seed = {"seed", numbers, 0, UINT32_MAX};
	static const struct range cores = {"cores", numbers, 1, CORES_MAX};
	static const struct range memory = {"memory", numbers, 1, UINT32_MAX};
	static const struct range gap = {"gap", times, 1, 86400000};
	static const struct range interval = {"interval", times, 1, 3600000};
	static const struct range lifetime = {"lifetime", times, 1, 86400000};
	const struct options *options = &command->options;
	struct sim_spec *spec = &command->spec;
	uint64_t flow_count = FLOWS_DEFAULT;
	int wrong = parse_number(&flows, options->flows, &flow_count);

	command->cores = CORES_DEFAULT;
	command->memory_mb = MEMORY_MB_DEFAULT;
	command->node_count = NODES_DEFAULT;
	command->gap_ms = GAP_MS;
	spec->interval_ms = INTERVAL_MS;
	spec->seed = 1;
	wrong = wrong ? wrong : parse_number(&nodes, options->nodes, &command->node_count);
	wrong = wrong ? wrong : parse_number(&seed, options->seed, &spec->seed);
	wrong = wrong ? wrong : parse_number(&cores, options->cores, &command->cores);
	wrong = wrong ? wrong : parse_number(&memory, options->memory, &command->memory_mb);
	wrong = wrong ? wrong : parse_number(&interval, options->interval, &spec->interval_ms);
	wrong = wrong ? wrong : parse_number(&lifetime, options->lifetime, &spec->lifetime_ms);
	spec->flows = (uint32_t)flow_count;
	if (!wrong && options->router) {
		int routing = sim_routing_find(options->router);

		if (routing < 0)
			wrong = command_usage_error(name, "--router %s: expected modulo or hrw",
						    options->router);
		else
			command->router.routing = (enum sim_routing)routing;
	}
	return wrong ? wrong : parse_number(&gap, options->gap, &command->gap_ms);
}

/* --- files --- */

static int find_service(struct command *command)
{
	const struct conf *conf = command->conf;
	const char *wanted = command->options.service;

	for (size_t i = 0; i < conf->service_count; i++) {
		const struct conf_service *service = &conf->services[i];

		if (wanted ? strcmp(service->name, wanted) == 0 : conf->service_count == 1)
			command->service = service;
	}
	if (command->service)
		return EXIT_OK;
	if (wanted)
		fprintf(stderr, "weir sim: no service \"%s\"; the file has", wanted);
	else
		fputs("weir sim: which --service? The file has", stderr);
	for (size_t i = 0; i < conf->service_count; i++)
		fprintf(stderr, "%s%s", i ? ", " : " ", conf->services[i].name);
	fputs(conf->service_count ? "\n" : " none\n", stderr);
	return EXIT_NO;
}

static int read_events(struct command *command)
{
	const struct sim_reading reading = {&command->fleet, (uint32_t)command->node_count,
					    command->gap_ms};
	const char *file = command->options.events;
	struct err_list errors = {0};
	struct err err = {0};
	size_t length;
	char *text;
	int error;

	if (conf_read(file, &text, &length, &err))
		return command_fail(name, "%s", err.text);
	if (strlen(text) != length) {
		free(text);
		return command_fail(name, "%s: has a zero byte, so is no text", file);
	}
	error = sim_events_parse(text, &reading, &command->events, &errors);
	free(text);
	if (error == -ENOMEM)
		command_fail(name, "out of memory");
	else if (error)
		command_print_errors(name, file, &errors);
	err_list_fini(&errors);
	sim_nodes_identify(&command->fleet);
	return error ? EXIT_NO : EXIT_OK;
}

/* --- the run --- */

static void row(void *arg, const struct sim_row *found)
{
	struct command *command = arg;

	sim_print_row(&command->print, found);
}

static void progress(void *arg, double share)
{
	struct command *command = arg;
	uint64_t now = time_now_ns();

	if (command->options.quiet || now - command->told_ns < PROGRESS_NS)
		return;
	command->told_ns = now;
	fprintf(stderr, "weir sim: %.0f %%, %.0f s\n", 100 * share,
		time_since_s(command->began_ns));
}

static uint8_t proto_of(const struct conf_service *service)
{
	return service->listens[0].proto == IPPROTO_UDP ? IPPROTO_UDP : IPPROTO_TCP;
}

/* Half of what the insert limits allow, so that all could be recorded. */
static uint64_t fill_ms(const struct command *command)
{
	uint64_t limit =
		command->conf->node.flows.insert_limit * command->cores * command->node_count / 2;
	uint64_t needed = limit ? command->spec.flows * 1000ULL / limit : 0;

	return needed > command->spec.interval_ms ? needed : command->spec.interval_ms;
}

static int prepare(struct command *command)
{
	const struct conf_flows *flows = &command->conf->node.flows;
	const struct sim_nodes_spec spec = {
		.conf = command->conf,
		.service = command->service,
		.proto = proto_of(command->service),
		.cores = (uint32_t)command->cores,
		.seed = command->spec.seed,
		.nodes = command->events.nodes,
	};
	struct sim_spec *run = &command->spec;
	uint64_t memory = sim_run_memory(run->flows, spec.nodes) +
			  spec.nodes * sim_nodes_memory(command->conf, command->fleet.table_size);

	command->print = (struct sim_print){
		.spec = run,
		.service = command->service,
		.memory = memory,
		.json = command->options.json,
	};
	if (memory / 1000000 > command->memory_mb)
		return command_fail(name,
				    "this needs %" PRIu64 " MB, more than --memory %" PRIu64
				    ": fewer flows, fewer nodes, or a larger --memory",
				    memory / 1000000, command->memory_mb);
	if (sim_nodes_new(&spec, &command->fleet, &command->nodes))
		return command_fail(name, "out of memory");
	command->weir = sim_nodes_weir(command->nodes);
	command->print.nodes = command->nodes;
	for (uint64_t i = 0; i < command->node_count; i++)
		command->router.up[i] = true;
	command->router.seed = sim_mix(run->seed, 0x726f75746572);
	run->idle_ms = spec.proto == IPPROTO_UDP ? flows->udp_ms : flows->established_ms;
	run->settle_ms = SETTLE_MS;
	run->fill_ms = fill_ms(command);
	run->fleet = &command->fleet;
	run->router = &command->router;
	run->events = &command->events;
	run->weir = &command->weir;
	run->row = row;
	run->progress = progress;
	run->arg = command;
	return EXIT_OK;
}

static int simulate(struct command *command)
{
	struct err err = {0};
	const char *why;

	command->began_ns = command->told_ns = time_now_ns();
	sim_print_begin(&command->print);
	if (sim_run(&command->spec, &err)) {
		why = sim_nodes_error(command->nodes);
		return command_fail(name, "%s%s%s", err.text, *why ? ": " : "", why);
	}
	if (sim_print_end(&command->print, (double)clock() / CLOCKS_PER_SEC))
		return command_fail(name, "cannot write what was found");
	return EXIT_OK;
}

static int run(struct command *command)
{
	int status = parse_numbers(command);

	if (status)
		return status;
	command->conf = command_load_conf(name, command->options.config);
	if (!command->conf)
		return EXIT_NO;
	status = find_service(command);
	if (!status && !sim_nodes_fleet(command->conf, command->service, &command->fleet))
		status = command_fail(name, "too many backends");
	if (!status)
		status = read_events(command);
	if (!status)
		status = prepare(command);
	return status ? status : simulate(command);
}

int command_sim(int argc, char **argv)
{
	struct command *command = calloc(1, sizeof(*command));
	bool done;
	int status;

	if (!command)
		return command_fail(name, "out of memory");
	sim_fleet_init(&command->fleet);
	status = parse_options(argc, argv, &command->options, &done);
	if (!done)
		status = run(command);
	sim_print_fini(&command->print);
	sim_nodes_free(command->nodes);
	sim_events_fini(&command->events);
	sim_fleet_fini(&command->fleet);
	conf_free(command->conf);
	free(command);
	return status;
}
