/* SPDX-License-Identifier: BSD-2-Clause */
/* weir scaffold: the options; nothing is printed that `weir check` would refuse. */
#include "weir/scaffold/scaffold.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "weir/command.h"

static const char help[] =
	"usage: weir scaffold [OPTION ...]\n"
	"\n"
	"Prints a first services file with comments, for what this host is: its interfaces, their\n"
	"addresses, MTU and drivers, its router. Guesses in it are marked; weir check takes it.\n"
	"\n"
	"      --interface NAME   where the VIPs' packets arrive; by default that of the default\n"
	"                         route, or all that are up; repeatable, as those that follow\n"
	"      --vip ADDRESS      of the service\n"
	"      --listen PORT      tcp/80, udp/any, any; tcp/80 by default\n"
	"      --backend ADDRESS  who serves\n"
	"      --agent            a backend's file instead\n"
	"      --balancer PREFIX  in that, whose tunnels are believed\n"
	"      --help             this text\n"
	"\n"
	"Exit status: 0; 1 when there is no such interface, or something of it would be refused.\n";

enum kind { INTERFACE = 1000, VIP, LISTEN, BACKEND, BALANCER };

static int append(const char **list, size_t *count, const char *option, const char *value)
{
	if (*count == SCAFFOLD_MAX)
		return command_usage_error("scaffold", "--%s: %d of them at most", option,
					   SCAFFOLD_MAX);
	list[(*count)++] = value;
	return EXIT_OK;
}

static int append_address(const char **list, size_t *count, const char *option, const char *value)
{
	struct prefix prefix;

	if (prefix_parse(value, &prefix))
		return command_usage_error("scaffold", "--%s: %s is no address", option, value);
	return append(list, count, option, value);
}

/* It is written between quotes, and judged as the rest of the file is. */
static int append_listen(struct scaffold *wanted, const char *value)
{
	if (strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789/-") != strlen(value))
		return command_usage_error("scaffold", "--listen: %s, expected as tcp/80", value);
	return append(wanted->listens, &wanted->listen_count, "listen", value);
}

static int take(struct scaffold *wanted, int option, const char *value)
{
	switch (option) {
	case 'a': wanted->agent = true; return EXIT_OK;
	case INTERFACE:
		return append(wanted->interfaces, &wanted->interface_count, "interface", value);
	case VIP: return append_address(wanted->vips, &wanted->vip_count, "vip", value);
	case LISTEN: return append_listen(wanted, value);
	case BACKEND:
		return append_address(wanted->backends, &wanted->backend_count, "backend", value);
	case BALANCER:
		return append_address(wanted->balancers, &wanted->balancer_count, "balancer",
				      value);
	default: return EXIT_USAGE;
	}
}

/* By the same reader that will read it. */
static bool is_right(const struct scaffold *wanted, const char *text)
{
	struct err_list errors = {0};
	struct conf_agent *agent = NULL;
	struct conf *conf = NULL;
	bool right = wanted->agent ? !conf_agent_parse(text, strlen(text), &agent, &errors)
				   : !conf_parse(text, strlen(text), &conf, &errors);

	if (!right)
		command_print_errors("scaffold", "what would be printed", &errors);
	err_list_fini(&errors);
	conf_agent_free(agent);
	conf_free(conf);
	return right;
}

static int print(const struct scaffold *wanted)
{
	struct scaffold_host host;
	char *text = NULL;
	struct err err;
	size_t size;
	FILE *out;
	int status = EXIT_NO;

	if (scaffold_find(wanted, &host, &err))
		return command_fail("scaffold", "%s", err.text);
	out = open_memstream(&text, &size);
	if (out) {
		if (wanted->agent)
			scaffold_write_agent(out, wanted, &host);
		else
			scaffold_write_node(out, wanted, &host);
	}
	scaffold_host_fini(&host);
	if (!out || fclose(out))
		status = command_fail("scaffold", "out of memory");
	else if (is_right(wanted, text))
		status = fputs(text, stdout) < 0 ? EXIT_NO : EXIT_OK;
	free(text);
	return status;
}

int command_scaffold(int argc, char **argv)
{
	static const struct option options[] = {
		{"agent", no_argument, NULL, 'a'},
		{"backend", required_argument, NULL, BACKEND},
		{"balancer", required_argument, NULL, BALANCER},
		{"interface", required_argument, NULL, INTERFACE},
		{"listen", required_argument, NULL, LISTEN},
		{"vip", required_argument, NULL, VIP},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct scaffold wanted = {0};
	int option;

	while ((option = command_option(argc, argv, ":h", options)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		if (take(&wanted, option, optarg) != EXIT_OK)
			return EXIT_USAGE;
	}
	if (optind != argc)
		return command_usage_error("scaffold", "%s is one word too many", argv[optind]);
	if (wanted.agent && (wanted.backend_count || wanted.listen_count))
		return command_usage_error("scaffold",
					   "an agent's file has no --backend and no --listen");
	if (!wanted.agent && wanted.balancer_count)
		return command_usage_error("scaffold", "--balancer is for --agent");
	return print(&wanted);
}
