/* SPDX-License-Identifier: BSD-2-Clause */
/* weir ipvs: a running node's services in the shape of ipvsadm's list. */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weir/answer.h"
#include "weir/cli/ask.h"
#include "weir/command.h"

enum { ENDPOINT_MAX = 96, LARGE = 100000000 };

static const char help[] =
	"usage: weir ipvs -Ln [--stats | --rate] [--exact] [--node NAME | --socket PATH] [--json]\n"
	"\n"
	"Shows a running node's services as ipvsadm -Ln would, for scripts and eyes that know it: "
	"a\n"
	"line for each VIP, protocol and port, and one for each backend of its pool.\n"
	"\n"
	"  -L, -l, --list     to list, the only thing that it does\n"
	"  -n, --numeric      addresses in numbers, as always\n"
	"      --stats        packets and bytes in place of weights\n"
	"      --rate         the same, in a second that it waits for\n"
	"      --exact        large numbers in full\n"
	"      --node NAME    which node; needed only where several run on this machine\n"
	"      --socket PATH  its control socket, instead\n"
	"      --pid NUMBER   its process, instead\n"
	"  -j, --json         what weir status --json says\n"
	"      --help         this text\n"
	"\n"
	"Weight is what new flows go by: 0 where a backend takes none. ActiveConn counts flows "
	"that\n"
	"the node remembers, which it does not of settled slots. Answers do not pass the node, so\n"
	"nothing goes out. A pool's figures stand under each of its services.\n"
	"\n"
	"Exit status: 0; 1 when none answers.\n";

enum shape { SHAPE_LIST, SHAPE_STATS, SHAPE_RATE };

struct view {
	enum shape shape;
	bool exact;
	const json_t *now, *before; /* before: of --rate */
};

static const json_t *find(const json_t *list, const char *name)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (strcmp(answer_text(item, "name"), name) == 0)
			return item;
	}
	return NULL;
}

/* As ipvsadm does: thousands, millions, of what needs more than eight digits. */
static void print_large(const struct view *view, json_int_t value)
{
	static const char letters[] = "KMGT";
	size_t letter = 0;

	if (view->exact || value < LARGE) {
		printf(" %8" JSON_INTEGER_FORMAT, value);
		return;
	}
	for (value /= 1000; value >= LARGE && letters[letter + 1]; letter++)
		value /= 1000;
	printf(" %7" JSON_INTEGER_FORMAT "%c", value, letters[letter]);
}

/* Connections are not counted, and answers go another way. */
static void print_counts(const struct view *view, const json_t *now, const json_t *before)
{
	print_large(view, 0);
	print_large(view, answer_number(now, "packets") - answer_number(before, "packets"));
	print_large(view, 0);
	print_large(view, answer_number(now, "bytes") - answer_number(before, "bytes"));
	print_large(view, 0);
	putchar('\n');
}

/* "198.51.100.10:80", "[2001:db8::10]:80" */
static const char *endpoint(const char *address, const char *port, char ret[ENDPOINT_MAX])
{
	snprintf(ret, ENDPOINT_MAX, strchr(address, ':') ? "[%s]:%s" : "%s:%s", address, port);
	return ret;
}

static const char *forward_name(const char *forward)
{
	if (strcmp(forward, "l2dsr") == 0 || strcmp(forward, "ipopt") == 0)
		return "Route";
	return strcmp(forward, "nat") == 0 || strcmp(forward, "fullnat") == 0 ? "Masq" : "Tunnel";
}

static json_int_t weight_now(const json_t *backend)
{
	const json_t *percent = json_object_get(backend, "percent");

	if (!json_is_true(json_object_get(backend, "usable")) || !answer_number(backend, "slots"))
		return 0;
	if (!json_is_integer(percent))
		return answer_number(backend, "weight");
	return (answer_number(backend, "weight") * json_integer_value(percent) + 99) / 100;
}

static void print_backend(const struct view *view, const json_t *service, const char *port,
			  const json_t *backend, const json_t *before)
{
	char own[16], where[ENDPOINT_MAX];

	if (answer_number(backend, "port")) {
		snprintf(own, sizeof(own), "%d", (int)answer_number(backend, "port"));
		port = own;
	}
	printf("  -> %-28s", endpoint(answer_text(backend, "address"), port, where));
	if (view->shape != SHAPE_LIST) {
		print_counts(view, backend, before);
		return;
	}
	printf(" %-7s %-6" JSON_INTEGER_FORMAT " %-10" JSON_INTEGER_FORMAT " %-10d\n",
	       forward_name(answer_text(service, "forward")), weight_now(backend),
	       answer_number(backend, "flows"), 0);
}

static void print_service(const struct view *view, const json_t *service, const char *vip,
			  const char *listen)
{
	const char *slash = strchr(listen, '/');
	const char *port = slash && strcmp(slash, "/any") != 0 ? slash + 1 : "0";
	const char *proto = strncmp(listen, "tcp", 3) == 0   ? "TCP"
			    : strncmp(listen, "udp", 3) == 0 ? "UDP"
							     : "ANY";
	const json_t *pool =
		find(json_object_get(view->now, "pools"), answer_text(service, "pool"));
	const json_t *old =
		find(json_object_get(view->before, "pools"), answer_text(service, "pool"));
	char where[ENDPOINT_MAX], head[ENDPOINT_MAX + 8];
	const json_t *backend;
	size_t i;

	snprintf(head, sizeof(head), "%s  %s", proto, endpoint(vip, port, where));
	if (view->shape == SHAPE_LIST) {
		printf("%s mh%s\n", head,
		       strncmp(answer_text(service, "policy"), "source", 6) == 0
			       ? " (mh-fallback)"
			       : " (mh-fallback,mh-port)");
	} else {
		printf("%-33s", head);
		print_counts(view, service,
			     find(json_object_get(view->before, "services"),
				  answer_text(service, "name")));
	}
	json_array_foreach(json_object_get(pool, "backends"), i, backend)
		print_backend(view, service, port, backend,
			      find(json_object_get(old, "backends"), answer_text(backend, "name")));
}

static void print_head(const struct view *view)
{
	static const char *const columns[][5] = {
		[SHAPE_STATS] = {"Conns", "InPkts", "OutPkts", "InBytes", "OutBytes"},
		[SHAPE_RATE] = {"CPS", "InPPS", "OutPPS", "InBPS", "OutBPS"},
	};

	printf("IP Virtual Server version 1.2.1 (size=%" JSON_INTEGER_FORMAT ")\n",
	       answer_number(json_object_get(view->now, "flows"), "entries"));
	if (view->shape == SHAPE_LIST) {
		puts("Prot LocalAddress:Port Scheduler Flags\n"
		     "  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn");
		return;
	}
	printf("%-33s", "Prot LocalAddress:Port");
	for (size_t i = 0; i < 5; i++)
		printf(" %8s", columns[view->shape][i]);
	puts("\n  -> RemoteAddress:Port");
}

static void print_all(const struct view *view)
{
	const json_t *service, *vip, *listen;
	size_t i, j, k;

	print_head(view);
	json_array_foreach(json_object_get(view->now, "services"), i, service)
	{
		json_array_foreach(json_object_get(service, "vips"), j, vip)
		{
			json_array_foreach(json_object_get(service, "listen"), k, listen)
				print_service(view, service, json_string_value(vip),
					      json_string_value(listen));
		}
	}
}

static int get(const struct ask *ask, json_t **ret)
{
	int wrong = ask_daemon(ask, "ipvs", json_pack("{s:s}", "op", "status"), ret);

	if (wrong || !json_object_get(*ret, "agent"))
		return wrong;
	json_decref(*ret);
	return command_fail("ipvs", "that is an agent, which has no services");
}

static int show(const struct ask *ask, struct view *view)
{
	static const struct timespec second = {.tv_sec = 1};
	json_t *before = NULL, *now = NULL;
	int wrong = EXIT_OK;

	if (view->shape == SHAPE_RATE) {
		wrong = get(ask, &before);
		nanosleep(&second, NULL);
	}
	if (!wrong)
		wrong = get(ask, &now);
	if (!wrong) {
		view->now = now;
		view->before = before;
		if (ask->json)
			ask_print_json(now);
		else
			print_all(view);
		json_decref(now);
	}
	json_decref(before);
	return wrong;
}

int command_ipvs(int argc, char **argv)
{
	static const struct option longs[] = {{"list", no_argument, NULL, 'L'},
					      {"numeric", no_argument, NULL, 'N'},
					      {"stats", no_argument, NULL, 'S'},
					      {"rate", no_argument, NULL, 'R'},
					      {"exact", no_argument, NULL, 'E'},
					      ASK_OPTIONS,
					      {0}};
	struct view view = {0};
	struct ask ask = {0};
	bool list = false;
	int option;

	while ((option = command_option(argc, argv, ":Llnjh", longs)) != -1) {
		switch (option) {
		case 'h': fputs(help, stdout); return EXIT_OK;
		case 'L':
		case 'l': list = true; break;
		case 'N': break;
		case 'S': view.shape = SHAPE_STATS; break;
		case 'R': view.shape = SHAPE_RATE; break;
		case 'E': view.exact = true; break;
		case 'n':
			/* The letter is ipvsadm's; --node has a value. */
			if (optarg && ask_option(&ask, "ipvs", option, optarg))
				return EXIT_USAGE;
			break;
		default:
			if (ask_option(&ask, "ipvs", option, optarg))
				return EXIT_USAGE;
		}
	}
	if (optind != argc)
		return command_usage_error("ipvs", "\"%s\" is too much", argv[optind]);
	if (!list)
		return command_usage_error("ipvs", "it lists alone: weir ipvs -Ln");
	return show(&ask, &view);
}
