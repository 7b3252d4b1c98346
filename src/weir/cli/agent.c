/* SPDX-License-Identifier: BSD-2-Clause */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "weir/again/again.h"
#include "weir/agent/app.h"
#include "weir/command.h"

static const char help[] =
	"usage: weir agent --config FILE [--check] [--debug] [--log FORMAT]\n"
	"       weir agent status ...    what it does; see its --help\n"
	"\n"
	"On a backend: puts the VIPs on the loopback, keeps ARP silent about them, takes the\n"
	"tunnels of the balancers off, clamps the MSS of SYN-ACKs to what fits the tunnel.\n"
	"\n"
	"  -c, --config FILE  what to do; see weir.yaml(5)\n"
	"      --check        only say what on this host would hinder; exit 1 if something would\n"
	"      --debug        log more\n"
	"      --log FORMAT   text (key=value, the default) or json\n"
	"      --help         this text\n"
	"\n"
	"SIGTERM, SIGINT and `weir stop` undo all of it. At `weir restart`, and after any other\n"
	"end of the process, the kernel takes tunnels off as before, and who comes next takes\n"
	"over without losing a packet.\n";

struct options {
	const char *file;
	bool check;
};

static int run(const struct conf_agent *conf, const struct options *options, bool *ret_again)
{
	struct err err;

	if (options->check)
		return agent_check(conf, stdout) ? EXIT_NO : EXIT_OK;
	if (agent_app_run(conf, options->file, ret_again, &err))
		return command_fail("agent", "%s", err.text);
	return EXIT_OK;
}

static int load_and_run(const struct options *options)
{
	struct conf_agent *conf = command_load_agent("agent", options->file);
	bool again = false;
	struct err err;
	int status;

	if (!conf)
		return EXIT_NO;
	status = run(conf, options, &again);
	conf_agent_free(conf);
	if (again && again_call(&err))
		return command_fail("agent", "%s; the kernel takes tunnels off as before",
				    err.text);
	return status;
}

int command_agent(int argc, char **argv)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'}, {"check", no_argument, NULL, 'k'},
		{"debug", no_argument, NULL, 'd'},        {"log", required_argument, NULL, 'l'},
		{"help", no_argument, NULL, 'h'},         {0},
	};
	struct options given = {0};
	int option;

	if (argc > 1 && strcmp(argv[1], "status") == 0)
		return command_agent_status(argc - 1, argv + 1);
	while ((option = command_option(argc, argv, ":c:h", options)) != -1) {
		switch (option) {
		case 'c':
			if (command_set_once(&given.file, "agent", "config", optarg))
				return EXIT_USAGE;
			break;
		case 'k': given.check = true; break;
		case 'd': log_set_level(LOG_DEBUG); break;
		case 'l':
			if (command_set_log("agent", optarg))
				return EXIT_USAGE;
			break;
		case 'h': fputs(help, stdout); return EXIT_OK;
		default: return EXIT_USAGE;
		}
	}
	if (!given.file || optind != argc)
		return command_usage_error("agent", "--config FILE is needed, and nothing else");
	return load_and_run(&given);
}
