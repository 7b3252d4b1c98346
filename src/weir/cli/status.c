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
	"what became of the packets.\n"
	"\n"
	"  -n, --node NAME    which node; needed only where several run on this machine\n"
	"      --socket PATH  its control socket, instead; an agent's is printed as JSON\n"
	"  -j, --json         everything, as JSON\n"
	"      --help         this text\n"
	"\n"
	"Exit status: 0; 1 when no node answers.\n";

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
		putchar('\n');
	}
}

static void print_backend(const char *pool, const json_t *backend)
{
	const json_t *check = json_object_get(backend, "check");
	const char *error = json_is_object(check) ? text(check, "last_error") : "";

	printf("%-12s %-12s %-24s %6" JSON_INTEGER_FORMAT " %-7s %-10s %6.2f%% "
	       "%14" JSON_INTEGER_FORMAT "  %s%s\n",
	       pool, text(backend, "name"), text(backend, "address"), number(backend, "weight"),
	       text(backend, "state"), text(backend, "health"),
	       json_real_value(json_object_get(backend, "share")), number(backend, "packets"),
	       is_true(backend, "next_hop") ? "" : text(backend, "next_hop_why"), error);
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

static void print_verdicts(const json_t *status)
{
	const json_t *flows = json_object_get(status, "flows");
	const char *name;
	json_t *count;

	printf("\n%-16s %14s %16s\n", "VERDICT", "PACKETS", "BYTES");
	json_object_foreach(json_object_get(status, "verdicts"), name, count)
	{
		if (number(count, "packets"))
			printf("%-16s %14" JSON_INTEGER_FORMAT " %16" JSON_INTEGER_FORMAT "\n",
			       name, number(count, "packets"), number(count, "bytes"));
	}
	printf("\nflows: %" JSON_INTEGER_FORMAT " new, %" JSON_INTEGER_FORMAT
	       " skipped, %" JSON_INTEGER_FORMAT " evicted; room for %" JSON_INTEGER_FORMAT "\n",
	       number(flows, "new"), number(flows, "skipped"), number(flows, "evicted"),
	       number(flows, "entries"));
}

static void print_status(const json_t *status)
{
	printf("node %s (weir %s, process %" JSON_INTEGER_FORMAT "): %s, up %.0f s%s\n",
	       text(status, "node"), text(status, "version"), number(status, "pid"),
	       is_true(status, "ready") ? "ready" : "not ready yet: checks under way",
	       json_real_value(json_object_get(status, "uptime_s")),
	       is_true(status, "adopted") ? ", took over a running data plane" : "");
	print_interfaces(status);
	print_services(status);
	print_pools(status);
	print_verdicts(status);
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
	/* An agent's is for programs alone. */
	if (as_json || json_object_get(status, "agent")) {
		json_dumpf(status, stdout, JSON_INDENT(2));
		putchar('\n');
	} else {
		print_status(status);
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
	char found[INSTANCE_PATH_MAX];
	struct instance instance;
	const char *socket = NULL;
	struct err err;
	int as_json = 0, option;

	while ((option = command_option(argc, argv, ":n:jh", options)) != -1) {
		switch (option) {
		case 'n':
			instance_init(&instance, "", optarg);
			socket = instance.socket;
			break;
		case 's': socket = optarg; break;
		case 'j': as_json = 1; break;
		case 'h': fputs(help, stdout); return EXIT_OK;
		default: return EXIT_USAGE;
		}
	}
	if (optind != argc)
		return command_usage_error("status", "\"%s\" is too much", argv[optind]);
	if (!socket) {
		if (instance_find_socket(found, &err))
			return command_fail("status", "%s", err.text);
		socket = found;
	}
	return show(socket, as_json);
}
