/* SPDX-License-Identifier: BSD-2-Clause */
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "weir/answer.h"
#include "weir/cli/announced.h"
#include "weir/cli/ask.h"
#include "weir/command.h"

enum { AGE_MAX = 32 };

static const char help[] =
	"usage: weir status [--node NAME | --socket PATH] [--json]\n"
	"\n"
	"Shows a running node: interfaces, services, backends with health and share of slots,\n"
	"what became of the packets. Where no node runs, the agent.\n"
	"\n" ASK_HELP "  -j, --json         everything, as JSON\n"
	"      --help         this text\n"
	"\n"
	"Exit status: 0; 1 when none answers.\n";

static const char agent_help[] =
	"usage: weir agent status [--node NAME | --socket PATH] [--json]\n"
	"\n"
	"Shows an agent: its interfaces, what became of the packets, and how many established\n"
	"connections each VIP has on this host.\n"
	"\n"
	"  -n, --node NAME    which agent; needed only where several run on this machine\n"
	"      --socket PATH  its control socket, instead\n"
	"      --pid NUMBER   its process, instead\n"
	"  -j, --json         as JSON, documented in weir-agent(8)\n"
	"      --help         this text\n";

static const char *count_word(const json_t *object, const char *key, const char *one,
			      const char *more)
{
	return plural((uint64_t)answer_number(object, key), one, more);
}

static void print_joined(const json_t *list)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item) printf("%s%s", i ? "," : "", json_string_value(item));
}

static void print_head(const char *kind, const json_t *status, const char *ready)
{
	printf("%s %s (weir %s, process %" JSON_INTEGER_FORMAT "): %sup %.0f s%s\n", kind,
	       answer_text(status, kind), answer_text(status, "version"),
	       answer_number(status, "pid"), ready,
	       json_real_value(json_object_get(status, "uptime_s")),
	       answer_is(status, "adopted") ? ", took over a running data plane" : "");
}

static void print_configuration(const json_t *status)
{
	const json_t *configuration = json_object_get(status, "configuration");
	const json_t *refusal = json_object_get(configuration, "refusal");
	const json_t *first = json_array_get(json_object_get(refusal, "errors"), 0);

	if (!configuration)
		return;
	printf("configuration: generation %" JSON_INTEGER_FORMAT ", digest %s\n",
	       answer_number(configuration, "generation"), answer_text(configuration, "digest"));
	if (!first)
		return;
	printf("%s IS REFUSED", answer_text(status, "file"));
	if (answer_number(first, "line"))
		printf(", line %" JSON_INTEGER_FORMAT " column %" JSON_INTEGER_FORMAT,
		       answer_number(first, "line"), answer_number(first, "column"));
	printf(": %s\n", answer_text(first, "text"));
}

static void print_interfaces(const json_t *status)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(status, "interfaces"), i, item)
	{
		printf("interface %s: XDP %s", answer_text(item, "name"), answer_text(item, "xdp"));
		if (answer_is(item, "fallback"))
			printf(", FELL BACK from native (%s)", answer_text(item, "why"));
		putchar('\n');
	}
}

static void print_workers(const json_t *status)
{
	const json_t *workers = json_object_get(status, "workers");
	json_int_t running = (json_int_t)json_array_size(json_object_get(workers, "running"));

	if (!json_is_object(workers))
		return;
	printf("engine %s: %" JSON_INTEGER_FORMAT " %s", answer_text(status, "engine"), running,
	       running == 1 ? "worker" : "workers");
	if (answer_number(workers, "missing"))
		printf(", %" JSON_INTEGER_FORMAT " MISSING: the kernel forwards what they should",
		       answer_number(workers, "missing"));
	putchar('\n');
}

/* What is not as by default. */
static void print_settings(const json_t *service)
{
	const char *policy = answer_text(service, "policy");

	if (strcmp(policy, "5-tuple") != 0)
		printf(", policy %s", policy);
	if (answer_number(service, "rate_limit"))
		printf(", %" JSON_INTEGER_FORMAT " %s a core and second",
		       answer_number(service, "rate_limit"),
		       count_word(service, "rate_limit", "packet", "packets"));
	if (answer_number(service, "allow"))
		printf(", %" JSON_INTEGER_FORMAT " allowed", answer_number(service, "allow"));
	if (answer_number(service, "deny"))
		printf(", %" JSON_INTEGER_FORMAT " denied", answer_number(service, "deny"));
}

static void print_services(const json_t *status)
{
	const json_t *item;
	size_t i;

	printf("\n%-16s %-12s %14s %16s  %s\n", "SERVICE", "POOL", "PACKETS", "BYTES", "LISTENS");
	json_array_foreach(json_object_get(status, "services"), i, item)
	{
		printf("%-16s %-12s %14" JSON_INTEGER_FORMAT " %16" JSON_INTEGER_FORMAT "  ",
		       answer_text(item, "name"), answer_text(item, "pool"),
		       answer_number(item, "packets"), answer_number(item, "bytes"));
		print_joined(json_object_get(item, "vips"));
		putchar(' ');
		print_joined(json_object_get(item, "listen"));
		print_settings(item);
		putchar('\n');
	}
}

static void print_note(int *count, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Notes on a backend, of which there may be several. */
static void print_note(int *count, const char *format, ...)
{
	va_list args;

	fputs((*count)++ ? "; " : "  ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

/* "3 h", "12 s" */
static void put_age(double seconds, char text[AGE_MAX])
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = {{"d", 86400}, {"h", 3600}, {"m", 60}};
	size_t i = 0;

	while (i < sizeof(units) / sizeof(units[0]) && seconds < 2 * units[i].seconds)
		i++;
	if (i == sizeof(units) / sizeof(units[0]))
		snprintf(text, AGE_MAX, "%.0f s", seconds);
	else
		snprintf(text, AGE_MAX, "%.0f %s", seconds / units[i].seconds, units[i].unit);
}

/* What was set by hand, beside what the file says. */
static void print_override(int *notes, const json_t *backend)
{
	const json_t *override = json_object_get(backend, "override");
	char age[AGE_MAX];

	if (json_object_get(override, "state")) {
		put_age(json_real_value(json_object_get(override, "state_since_s")), age);
		print_note(notes, "OVERRIDDEN: %s for %s, the file says %s",
			   answer_text(override, "state"), age, answer_text(backend, "file_state"));
	}
	if (json_object_get(override, "percent")) {
		put_age(json_real_value(json_object_get(override, "percent_since_s")), age);
		print_note(notes, "OVERRIDDEN: %" JSON_INTEGER_FORMAT " %% of its weight for %s",
			   answer_number(override, "percent"), age);
	}
}

/* A limit that has passed has cut what was left. */
static void print_drain(int *notes, const json_t *backend)
{
	const json_t *left = json_object_get(backend, "drain_left_s");
	const char *words = answer_text(json_object_get(backend, "drain"), "words");
	char age[AGE_MAX];

	if (strcmp(answer_text(backend, "state"), "drain") != 0)
		return;
	if (json_real_value(left) > 0) {
		put_age(json_real_value(left), age);
		print_note(notes, "drains for %s at most, %" JSON_INTEGER_FORMAT " %s left", age,
			   answer_number(backend, "flows"),
			   count_word(backend, "flows", "flow", "flows"));
	} else if (json_is_real(left)) {
		print_note(notes, "its time to drain is over");
	} else {
		print_note(notes, "drains, %" JSON_INTEGER_FORMAT " %s left",
			   answer_number(backend, "flows"),
			   count_word(backend, "flows", "flow", "flows"));
	}
	if (strcmp(words, "?") != 0)
		print_note(notes, "%s", words);
}

static void print_notes(const json_t *backend)
{
	const json_t *check = json_object_get(backend, "check");
	const char *error = json_is_object(check) ? answer_text(check, "last_error") : "";
	const json_t *override = json_object_get(backend, "override");
	bool set = json_object_get(override, "percent") != NULL;
	json_int_t percent = answer_number(backend, "percent");
	int notes = 0;

	print_override(&notes, backend);
	print_drain(&notes, backend);
	/* Less than what was set by hand: slow_start. */
	if (percent > 0 && percent < (set ? answer_number(override, "percent") : 100))
		print_note(&notes, "begins slowly, at %" JSON_INTEGER_FORMAT " %%", percent);
	if (answer_is(backend, "backup"))
		print_note(&notes, "backup");
	if (!answer_is(backend, "next_hop"))
		print_note(&notes, "%s", answer_text(backend, "next_hop_why"));
	if (*error)
		print_note(&notes, "%s", error);
}

static void print_backend(const char *pool, const json_t *backend)
{
	printf("%-12s %-12s %-24s %6" JSON_INTEGER_FORMAT " %-7s %-10s %6.2f%% "
	       "%7" JSON_INTEGER_FORMAT " %14" JSON_INTEGER_FORMAT,
	       pool, answer_text(backend, "name"), answer_text(backend, "address"),
	       answer_number(backend, "weight"), answer_text(backend, "state"),
	       answer_text(backend, "health"), json_real_value(json_object_get(backend, "share")),
	       answer_number(backend, "slots"), answer_number(backend, "packets"));
	print_notes(backend);
	putchar('\n');
}

static void print_pools(const json_t *status)
{
	const json_t *pool, *backend;
	size_t i, j;

	printf("\n%-12s %-12s %-24s %6s %-7s %-10s %7s %7s %14s\n", "POOL", "BACKEND", "ADDRESS",
	       "WEIGHT", "STATE", "HEALTH", "SHARE", "SLOTS", "PACKETS");
	json_array_foreach(json_object_get(status, "pools"), i, pool)
	{
		json_array_foreach(json_object_get(pool, "backends"), j, backend)
			print_backend(answer_text(pool, "name"), backend);
	}
}

/* Whose slots changed hands, and may still have flows from before. */
static void print_transitions(const json_t *status)
{
	const char *blank = "\n";
	const json_t *pool;
	size_t i;

	json_array_foreach(json_object_get(status, "pools"), i, pool)
	{
		if (!answer_number(pool, "in_transition"))
			continue;
		printf("%spool %s: %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
		       " slots in transition\n",
		       blank, answer_text(pool, "name"), answer_number(pool, "in_transition"),
		       answer_number(pool, "table_size"));
		blank = "";
	}
}

/* The counters that are not 0. */
static void print_counts(const char *head, const json_t *counts)
{
	const char *name;
	json_t *count;

	printf("\n%-16s %14s %16s\n", head, "PACKETS", "BYTES");
	json_object_foreach((json_t *)counts, name, count)
	{
		if (answer_number(count, "packets"))
			printf("%-16s %14" JSON_INTEGER_FORMAT " %16" JSON_INTEGER_FORMAT "\n",
			       name, answer_number(count, "packets"),
			       answer_number(count, "bytes"));
	}
}

/* Only where there was something to split: most networks never have it. */
static void print_split(const json_t *split)
{
	if (answer_number(split, "packets") + answer_number(split, "refused") +
		    answer_number(split, "failed") + answer_number(split, "lost") ==
	    0)
		return;
	printf("split: %" JSON_INTEGER_FORMAT " %s into %" JSON_INTEGER_FORMAT
	       " pieces; %" JSON_INTEGER_FORMAT " refused, %" JSON_INTEGER_FORMAT
	       " failed, %" JSON_INTEGER_FORMAT " lost%s\n",
	       answer_number(split, "packets"), count_word(split, "packets", "packet", "packets"),
	       answer_number(split, "pieces"), answer_number(split, "refused"),
	       answer_number(split, "failed"), answer_number(split, "lost"),
	       answer_is(split, "reading") ? "" : "; NOBODY READS");
}

static void print_node(const json_t *status)
{
	const json_t *flows = json_object_get(status, "flows");

	print_head("node", status,
		   answer_is(status, "ready") ? "ready, " : "not ready yet: checks under way, ");
	print_configuration(status);
	print_interfaces(status);
	print_workers(status);
	print_services(status);
	print_pools(status);
	print_transitions(status);
	print_counts("VERDICT", json_object_get(status, "verdicts"));
	printf("\nflows: %" JSON_INTEGER_FORMAT " new, %" JSON_INTEGER_FORMAT
	       " skipped, %" JSON_INTEGER_FORMAT " evicted; room for %" JSON_INTEGER_FORMAT "\n",
	       answer_number(flows, "new"), answer_number(flows, "skipped"),
	       answer_number(flows, "evicted"), answer_number(flows, "entries"));
	print_split(json_object_get(status, "split"));
	announced_print(json_object_get(status, "announce"));
}

/* Those of the file, and how many answers had theirs changed. */
static void print_ports(const json_t *status)
{
	const json_t *port, *answers = json_object_get(status, "answers_from_vip_port");
	size_t i;

	json_array_foreach(json_object_get(status, "ports"), i, port)
	{
		printf("port: %s %s is served at %" JSON_INTEGER_FORMAT "\n",
		       answer_text(port, "vip"), answer_text(port, "listen"),
		       answer_number(port, "to"));
	}
	if (answer_number(answers, "packets"))
		printf("answers from a VIP's port: %" JSON_INTEGER_FORMAT "\n",
		       answer_number(answers, "packets"));
}

/* The modes, and that something came by another. */
static void print_forward(const json_t *status)
{
	const json_t *off = json_object_get(json_object_get(status, "verdicts"), "mode_off");

	printf("\nforward: ");
	print_joined(json_object_get(status, "forward"));
	if (answer_number(off, "packets"))
		printf("; %" JSON_INTEGER_FORMAT " %s CAME BY ANOTHER: left to the host",
		       answer_number(off, "packets"),
		       count_word(off, "packets", "packet", "packets"));
}

static void print_list(const char *what, const json_t *list)
{
	if (!json_array_size(list))
		return;
	printf("\n%s: ", what);
	print_joined(list);
}

static void print_connections(const json_t *connections)
{
	const char *least = json_is_true(json_object_get(connections, "at_least")) ? "at least "
										   : "";
	const json_t *vip, *space;
	size_t i;

	if (!json_is_object(connections))
		return;
	if (*answer_text(connections, "error"))
		printf("\nestablished connections cannot be counted: %s\n",
		       answer_text(connections, "error"));
	json_array_foreach(json_object_get(connections, "vips"), i, vip) printf(
		"%sestablished connections of %s: %s%" JSON_INTEGER_FORMAT "\n", i ? "" : "\n",
		answer_text(vip, "vip"), least, answer_number(vip, "established"));
	json_array_foreach(json_object_get(connections, "netns"), i, space)
	{
		if (*answer_text(space, "error"))
			printf("those in network namespace %s ARE NOT COUNTED: %s\n",
			       answer_text(space, "name"), answer_text(space, "error"));
	}
}

static void print_agent(const json_t *status)
{
	const json_t *mss = json_object_get(status, "mss");

	print_head("agent", status, "");
	print_interfaces(status);
	printf("VIPs: ");
	print_joined(json_object_get(status, "vips"));
	printf("\ntunnels from: ");
	print_joined(json_object_get(status, "balancers"));
	print_list("peers", json_object_get(status, "peers"));
	print_list("sockets also in", json_object_get(status, "netns"));
	print_forward(status);
	printf("\nMSS of SYN-ACKs: %" JSON_INTEGER_FORMAT " (IPv4), %" JSON_INTEGER_FORMAT
	       " (IPv6) at most\n",
	       answer_number(mss, "ipv4"), answer_number(mss, "ipv6"));
	print_ports(status);
	print_counts("VERDICT", json_object_get(status, "verdicts"));
	print_counts("SYN-ACK", json_object_get(status, "syn_acks"));
	print_connections(json_object_get(status, "connections"));
}

static int show(int argc, char **argv, bool agent)
{
	static const struct option options[] = {ASK_OPTIONS, {0}};
	struct ask ask = {.agent = agent};
	json_t *status;
	int wrong = EXIT_OK, option;

	while (!wrong && (option = command_option(argc, argv, ASK_LETTERS, options)) != -1) {
		if (option == 'h') {
			fputs(agent ? agent_help : help, stdout);
			return EXIT_OK;
		}
		wrong = ask_option(&ask, "status", option, optarg);
	}
	if (wrong)
		return wrong;
	if (optind != argc)
		return command_usage_error("status", "\"%s\" is too much", argv[optind]);
	wrong = ask_daemon(&ask, "status", json_pack("{s:s}", "op", "status"), &status);
	if (wrong)
		return wrong;
	if (ask.json)
		ask_print_json(status);
	else if (json_object_get(status, "agent"))
		print_agent(status);
	else
		print_node(status);
	json_decref(status);
	return EXIT_OK;
}

int command_status(int argc, char **argv)
{
	return show(argc, argv, false);
}

int command_agent_status(int argc, char **argv)
{
	return show(argc, argv, true);
}
