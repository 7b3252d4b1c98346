/* SPDX-License-Identifier: BSD-2-Clause */
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "weir/again/again.h"
#include "weir/command.h"
#include "weir/node/app.h"

static const char help[] =
	"usage: weir run --config FILE [--debug] [--log FORMAT]\n"
	"\n"
	"Balances: loads the services, attaches to the interfaces, serves until SIGTERM.\n"
	"\n"
	"  -c, --config FILE  node and services; see weir.yaml(5)\n"
	"      --debug        log more\n"
	"      --log FORMAT   text (key=value, the default) or json\n"
	"      --help         this text\n"
	"\n"
	"SIGTERM, SIGINT and `weir stop` detach and leave nothing behind but what operators have\n"
	"set, for the next start. At `weir restart`, and after any other end of the process, the\n"
	"kernel forwards on as before, and who comes next takes over without losing a packet.\n";

/*
 * A file is read beside the loop, and takes megabytes for as long. One heap for all threads, which
 * keeps what is free, has them from the last time: a thread's own would ask the kernel for each
 * page anew (docs/design/19-reload.md). Threads that are in a hurry do not allocate.
 */
static void keep_memory(void)
{
#ifdef __GLIBC__
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, 64 * 1024 * 1024);
#endif
}

static int load_and_run(const char *file)
{
	int status = EXIT_OK;
	struct conf *conf;
	bool again = false;
	struct err err;

	keep_memory();
	conf = command_load_conf("run", file);
	if (!conf)
		return EXIT_NO;
	if (app_run(conf, file, &again, &err))
		status = command_fail("run", "%s", err.text);
	conf_free(conf);
	if (again && again_call(&err))
		status = command_fail("run", "%s; the kernel forwards on", err.text);
	return status;
}

int command_run_node(int argc, char **argv)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"debug", no_argument, NULL, 'd'},
		{"log", required_argument, NULL, 'l'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *file = NULL;
	int option;

	while ((option = command_option(argc, argv, ":c:h", options)) != -1) {
		switch (option) {
		case 'c':
			if (command_set_once(&file, "run", "config", optarg))
				return EXIT_USAGE;
			break;
		case 'd': log_set_level(LOG_DEBUG); break;
		case 'l':
			if (command_set_log("run", optarg))
				return EXIT_USAGE;
			break;
		case 'h': fputs(help, stdout); return EXIT_OK;
		default: return EXIT_USAGE;
		}
	}
	if (!file || optind != argc)
		return command_usage_error("run", "--config FILE is needed, and nothing else");
	return load_and_run(file);
}
