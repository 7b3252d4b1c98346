/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir: a layer-4 load balancer. This is the command table; the picture of the whole is in
 * ARCHITECTURE.md.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir/command.h"

static const struct {
	const char *name;
	command_run *run;
	const char *help;
} commands[] = {
	{"run", command_run_node, "balance: load the services, attach to the interfaces, serve"},
	{"agent", command_agent, "on a backend: take the tunnels in for the VIPs"},
	{"check", command_check, "say whether a services file is right, and what is wrong with it"},
	{"scaffold", command_scaffold, "write a first services file, or an agent's, for this host"},
	{"sim", command_sim,
	 "replay failures over many flows, for Weir and for other ways to balance"},
	{"status", command_status, "show services, backends and counters of a running node"},
	{"top", command_top, "show a running node's services, live, at a terminal"},
	{"events", command_events,
	 "what changed of late on a running node: backends, routers, ..."},
	{"names", command_names, "print the names of services, pools, backends or VIPs"},
	{"reload", command_reload, "let a running node read its file again, now"},
	{"diff", command_diff, "say what a file would change on a running node"},
	{"drain", command_drain, "take a backend out gently: no new flows, old ones go on"},
	{"maint", command_maint, "take a backend out at once: its flows are cut"},
	{"ready", command_ready, "let a backend take new flows again; forget what was set by hand"},
	{"weight", command_weight, "give new flows to a part of a backend's slots alone"},
	{"withdraw", command_withdraw, "tell routers that a VIP, or none, is served here any more"},
	{"announce", command_announce, "end that: a VIP is announced while its backends serve it"},
	{"node", command_node, "drain: take this node out of use, gently; undrain"},
	{"restart", command_restart,
	 "put a running daemon's successor in its place, without a gap"},
	{"ipvs", command_ipvs, "list a running node's services as ipvsadm -Ln would"},
	{"plan", command_plan, "how many cores and nodes, what tables and sizes, for a rate"},
	{"bench", command_bench, "how long a packet takes on this machine, by mode"},
	{"import", command_import,
	 "write a services file from keepalived.conf or from ipvsadm -Sn"},
	{"stop", command_stop, "end a running daemon: nothing is forwarded any more"},
	{"table", command_table, "print a pool's table: which backend owns which slot"},
	{"trace", command_trace, "say what would become of given packets, and why"},
	{"capture", command_capture, "show packets of a running node, with what became of each"},
	{"explain", command_explain, "say what a verdict means, and what to do about it"},
};

static void print_usage(FILE *out)
{
	fputs("usage: weir COMMAND [OPTION ...]\n\n", out);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].help);
	fputs("\n`weir COMMAND --help` tells a command's options; `weir --version` the version.\n",
	      out);
}

/*
 * A descriptor that a command opens must not become standard output or error because the caller
 * closed these: the log would go into a socket or a file of ours. What stands in for them refuses
 * what is written, as a closed one does.
 */
static int fill_standard(void)
{
	static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
			return -1;
	}
	return 0;
}

/* Output that did not arrive is a failure, whatever the command thinks of it. */
static int finish(int status)
{
	bool failed = fflush(stdout) != 0;

	if (status != EXIT_OK || !(failed || ferror(stdout)))
		return status;
	fprintf(stderr, "weir: cannot write the output%s%s\n", failed ? ": " : "",
		failed ? strerror(errno) : "");
	return EXIT_NO;
}

static int run(int argc, char **argv)
{
	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		print_usage(stdout);
		return EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("weir " WEIR_VERSION);
		return EXIT_OK;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	}
	fprintf(stderr, "weir: no command \"%s\"; `weir --help` lists them\n", argv[1]);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	if (fill_standard())
		return EXIT_NO;
	return finish(run(argc, argv));
}
