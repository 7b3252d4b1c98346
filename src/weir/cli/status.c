/* SPDX-License-Identifier: BSD-2-Clause */
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "admin/control.h"
#include "weir/command.h"
#include "weir/instance.h"

enum { ANSWER_TIMEOUT_MS = 5000 };

static const char help[] =
	"usage: weir status [--node NAME | --socket PATH] [--json]\n"
	"\n"
	"Shows a running node: interfaces, services, backends with health and share of slots,\n"
	"what became of the packets. Where no node runs, the agent.\n"
	"\n"
	"  -n, --node NAME    which node; needed only where several run on this machine; the\n"
	"                     agent NAME is agent-NAME\n"
	"      --socket PATH  its control socket, instead\n"
	"  -j, --json         everything, as JSON\n"
	"      --help         this text\n"
	"\n"
	"Exit status: 0; 1 when none answers.\n";

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "?";
}

static json_int_t number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static int is_true(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
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
	       text(status, kind), text(status, "version"), number(status, "pid"), ready,
	       json_real_value(json_object_get(status, "uptime_s")),
	       is_true(status, "adopted") ? ", took over a running data plane" : "");
}

static void print_interfaces(const json_t *status)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(status, "interfaces"), i, item)
	{
		printf("interface %s: XDP %s", text(item, "name"), text(item, "xdp"));
		if (is_true(item, "fallback"))
			printf(", FELL BACK from native (%s)", text(item, "why"));
		putchar('\n');
	}
}

/* What is not as by default. */
static void print_settings(const json_t *service)
{
	const char *policy = text(service, "policy");

	if (strcmp(policy, "5-tuple") != 0)
		printf(", policy %s", policy);
	if (number(service, "rate_limit"))
		printf(", %" JSON_INTEGER_FORMAT " packets a core and second",
		       number(service, "rate_limit"));
	if (number(service, "allow"))
		printf(", %" JSON_INTEGER_FORMAT " allowed", number(service, "allow"));
	if (number(service, "deny"))
		printf(", %" JSON_INTEGER_FORMAT " denied", number(service, "deny"));
}

static void print_services(const json_t *status)
{
	const json_t *item;
	size_t i;

	printf("\n%-16s %-12s %14s %16s  %s\n", "SERVICE", "POOL", "PACKETS", "BYTES", "LISTENS");
	json_array_foreach(json_object_get(status, "services"), i, item)
	{
		printf("%-16s %-12s %14" JSON_INTEGER_FORMAT " %16" JSON_INTEGER_FORMAT "  ",
		       text(item, "name"), text(item, "pool"), number(item, "packets"),
		       number(item, "bytes"));
		print_joined(json_object_get(item, "vips"));
		putchar(' ');
		print_joined(json_object_get(item, "listen"));
		print_settings(item);
		putchar('\n');
	}
}

static void print_backend(const char *pool, const json_t *backend)
{
	const json_t *check = json_object_get(backend, "check");
	const char *why = is_true(backend, "next_hop") ? "" : text(backend, "next_hop_why");
	const char *error = json_is_object(check) ? text(check, "last_error") : "";

	printf("%-12s %-12s %-24s %6" JSON_INTEGER_FORMAT " %-7s %-10s %6.2f%% "
	       "%14" JSON_INTEGER_FORMAT "%s%s%s%s\n",
	       pool, text(backend, "name"), text(backend, "address"), number(backend, "weight"),
	       text(backend, "state"), text(backend, "health"),
	       json_real_value(json_object_get(backend, "share")), number(backend, "packets"),
	       *why || *error ? "  " : "", why, *why && *error ? "; " : "", error);
}

static void print_pools(const json_t *status)
{
	const json_t *pool, *backend;
	size_t i, j;

	printf("\n%-12s %-12s %-24s %6s %-7s %-10s %7s %14s\n", "POOL", "BACKEND", "ADDRESS",
	       "WEIGHT", "STATE", "HEALTH", "SLOTS", "PACKETS");
	json_array_foreach(json_object_get(status, "pools"), i, pool)
	{
		json_array_foreach(json_object_get(pool, "backends"), j, backend)
			print_backend(text(pool, "name"), backend);
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
		if (number(count, "packets"))
			printf("%-16s %14" JSON_INTEGER_FORMAT " %16" JSON_INTEGER_FORMAT "\n",
			       name, number(count, "packets"), number(count, "bytes"));
	}
}

/* Only where there was something to split: most networks never have it. */
static void print_split(const json_t *split)
{
	if (number(split, "packets") + number(split, "refused") + number(split, "failed") +
		    number(split, "lost") ==
	    0)
		return;
	printf("split: %" JSON_INTEGER_FORMAT " packets into %" JSON_INTEGER_FORMAT
	       " pieces; %" JSON_INTEGER_FORMAT " refused, %" JSON_INTEGER_FORMAT
	       " failed, %" JSON_INTEGER_FORMAT " lost%s\n",
	       number(split, "packets"), number(split, "pieces"), number(split, "refused"),
	       number(split, "failed"), number(split, "lost"),
	       is_true(split, "reading") ? "" : "; NOBODY READS");
}

static void print_node(const json_t *status)
{
	const json_t *flows = json_object_get(status, "flows");

	print_head("node", status,
		   is_true(status, "ready") ? "ready, " : "not ready yet: checks under way, ");
	print_interfaces(status);
	print_services(status);
	print_pools(status);
	print_counts("VERDICT", json_object_get(status, "verdicts"));
	printf("\nflows: %" JSON_INTEGER_FORMAT " new, %" JSON_INTEGER_FORMAT
	       " skipped, %" JSON_INTEGER_FORMAT " evicted; room for %" JSON_INTEGER_FORMAT "\n",
	       number(flows, "new"), number(flows, "skipped"), number(flows, "evicted"),
	       number(flows, "entries"));
	print_split(json_object_get(status, "split"));
}

/* Those of the file, and how many answers had theirs changed. */
static void print_ports(const json_t *status)
{
	const json_t *port, *answers = json_object_get(status, "answers_from_vip_port");
	size_t i;

	json_array_foreach(json_object_get(status, "ports"), i, port)
	{
		printf("port: %s %s is served at %" JSON_INTEGER_FORMAT "\n", text(port, "vip"),
		       text(port, "listen"), number(port, "to"));
	}
	if (number(answers, "packets"))
		printf("answers from a VIP's port: %" JSON_INTEGER_FORMAT "\n",
		       number(answers, "packets"));
}

/* The modes, and that something came by another. */
static void print_forward(const json_t *status)
{
	const json_t *off = json_object_get(json_object_get(status, "verdicts"), "mode_off");

	printf("\nforward: ");
	print_joined(json_object_get(status, "forward"));
	if (number(off, "packets"))
		printf("; %" JSON_INTEGER_FORMAT " packets CAME BY ANOTHER: left to the host",
		       number(off, "packets"));
}

static void print_list(const char *what, const json_t *list)
{
	if (!json_array_size(list))
		return;
	printf("\n%s: ", what);
	print_joined(list);
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
	       number(mss, "ipv4"), number(mss, "ipv6"));
	print_ports(status);
	print_counts("VERDICT", json_object_get(status, "verdicts"));
	print_counts("SYN-ACK", json_object_get(status, "syn_acks"));
}

static int show(const char *socket, int as_json)
{
	json_t *request = json_pack("{s:s}", "op", "status");
	json_t *status = NULL;
	struct err err;
	int ret = control_call(socket, request, ANSWER_TIMEOUT_MS, &status, &err);

	json_decref(request);
	if (ret)
		return command_fail("status", "%s", err.text);
	if (as_json) {
		json_dumpf(status, stdout, JSON_INDENT(2));
		putchar('\n');
	} else if (json_object_get(status, "agent")) {
		print_agent(status);
	} else {
		print_node(status);
	}
	json_decref(status);
	return EXIT_OK;
}

int command_status(int argc, char **argv)
{
	static const struct option options[] = {
		{"node", required_argument, NULL, 'n'},
		{"socket", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *node = NULL, *socket = NULL;
	char found[INSTANCE_PATH_MAX];
	struct instance instance;
	struct err err;
	int as_json = 0, wrong = 0, option;

	while (!wrong && (option = command_option(argc, argv, ":n:jh", options)) != -1) {
		switch (option) {
		case 'n': wrong = command_set_once(&node, "status", "node", optarg); break;
		case 's': wrong = command_set_once(&socket, "status", "socket", optarg); break;
		case 'j': as_json = 1; break;
		case 'h': fputs(help, stdout); return EXIT_OK;
		default: return EXIT_USAGE;
		}
	}
	if (wrong)
		return wrong;
	if (optind != argc)
		return command_usage_error("status", "\"%s\" is too much", argv[optind]);
	if (node && socket)
		return command_usage_error("status", "--node and --socket exclude each other");
	if (node) {
		instance_init(&instance, "", node);
		socket = instance.socket;
	} else if (!socket) {
		if (instance_find_socket(found, &err))
			return command_fail("status", "%s", err.text);
		socket = found;
	}
	return show(socket, as_json);
}
