/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/trace/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "pkt/parse.h"
#include "weir/command.h"

static const char name[] = "trace";

void trace_print_help(void)
{
	puts("usage: weir trace PACKETS [OPTION ...]\n"
	     "       weir trace --config FILE PACKETS [OPTION ...]\n"
	     "\n"
	     "Says what would become of packets, and why, without sending anything. Flows carry\n"
	     "over from one packet to the next.\n"
	     "\n"
	     "Without --config it is asked of the tables that packets meet on this node right "
	     "now,\n"
	     "which are read and not changed: no flow is entered, no counter moves. Needs root.\n"
	     "With it, of the tables that a file would make.\n"
	     "\n"
	     "PACKETS are one of\n"
	     "  tcp|udp SRC DST    as tcp 192.0.2.1:40000 198.51.100.10:443, [ADDRESS]:PORT for "
	     "IPv6\n"
	     "  --packet HEX       a frame; blanks and colons between bytes are skipped; "
	     "repeatable\n"
	     "  --pcap FILE        frames from a pcap or pcapng file, whose time stamps are the\n"
	     "                     clock of a file's tables; - reads standard input\n"
	     "\n"
	     "      --syn          tcp: a SYN, and not a segment of a connection under way\n"
	     "      --length N     of that packet, with its IP header\n" ASK_HELP
	     "  -j, --json         a JSON object a packet: verdict, action, service, backend, "
	     "why,\n"
	     "                     out (frames that leave, in hex); live, all that decided as "
	     "well\n"
	     "      --help         this text\n"
	     "\n"
	     "With --config:\n"
	     "      --engine ENGINE  native (default), or xdp: the program in the kernel, needs "
	     "root\n"
	     "      --down NAMES   backends taken as down: b1,b2 or pool/b1; all others are "
	     "healthy\n"
	     "      --drain NAMES  backends taken as draining\n"
	     "      --lost NAMES   backends whose next hop is taken as unknown\n"
	     "      --away NAMES   backends taken as behind another interface\n"
	     "      --mac SRC,DST  of frames that leave (02:00:00:00:00:01,02:00:00:00:00:02)");
}

static int set_once(const char **field, const char *option)
{
	return command_set_once(field, name, option, optarg);
}

static int set_length(struct trace_options *options)
{
	char *end;
	long length = strtol(optarg, &end, 10);

	if (*end || length < 1 || length > TUPLE_FRAME_MAX)
		return command_usage_error(name, "--length %s: expected 1 to %d", optarg,
					   TUPLE_FRAME_MAX);
	options->tuple.length = (size_t)length;
	return EXIT_OK;
}

static int set_tuple(struct trace_options *options, int argc, char **argv)
{
	struct err err;

	if (optind == argc)
		return EXIT_OK;
	if (argc - optind != 3 && strcasecmp(argv[optind], "tcp") &&
	    strcasecmp(argv[optind], "udp"))
		return command_usage_error(name, "\"%s\": no such argument", argv[optind]);
	if (argc - optind != 3)
		return command_usage_error(name, "expected tcp or udp, source, destination");
	if (tuple_parse((const char *const *)&argv[optind], &options->tuple.tuple, &err) ||
	    tuple_is_whole(&options->tuple.tuple, &err))
		return command_usage_error(name, "%s", err.text);
	return EXIT_OK;
}

/* What only makes sense of a file's tables, or only of live ones. */
static int check_kind(const struct trace_options *options)
{
	const struct {
		const char *option, *value;
	} offline[] = {{"engine", options->engine}, {"down", options->down},
		       {"drain", options->drain},   {"lost", options->lost},
		       {"away", options->away},     {"mac", options->mac}};

	if (options->config && ask_is_named(&options->ask))
		return command_usage_error(name, "--config and --%s exclude each other",
					   options->ask.node     ? "node"
					   : options->ask.socket ? "socket"
								 : "pid");
	for (size_t i = 0; i < sizeof(offline) / sizeof(offline[0]) && !options->config; i++) {
		if (offline[i].value)
			return command_usage_error(name, "--%s is for --config FILE",
						   offline[i].option);
	}
	return EXIT_OK;
}

static int check(const struct trace_options *options, bool syn)
{
	bool tuple = options->tuple.tuple.proto != 0;
	int given = tuple + (options->pcap != NULL) + (options->packet_count != 0);

	if (given > 1)
		return command_usage_error(name, "a flow, --packet and --pcap exclude each other");
	if (!given)
		return command_usage_error(name, "tcp|udp SRC DST, --packet or --pcap is missing");
	if ((syn || options->tuple.length) && !tuple)
		return command_usage_error(name, "--%s is for tcp|udp SRC DST",
					   syn ? "syn" : "length");
	if (options->engine && strcmp(options->engine, "native") != 0 &&
	    strcmp(options->engine, "xdp") != 0)
		return command_usage_error(name, "--engine %s: expected native or xdp",
					   options->engine);
	return check_kind(options);
}

int trace_parse_options(int argc, char **argv, struct trace_options *options)
{
	static const struct option known[] = {
		{"config", required_argument, NULL, 'c'},
		{"packet", required_argument, NULL, 'k'},
		{"pcap", required_argument, NULL, 'f'},
		{"engine", required_argument, NULL, 'e'},
		{"down", required_argument, NULL, 'd'},
		{"drain", required_argument, NULL, 'r'},
		{"lost", required_argument, NULL, 'l'},
		{"away", required_argument, NULL, 'a'},
		{"mac", required_argument, NULL, 'm'},
		{"syn", no_argument, NULL, 'y'},
		{"length", required_argument, NULL, 'L'},
		ASK_OPTIONS,
		{NULL, 0, NULL, 0},
	};
	bool syn = false;
	int option, wrong = 0;

	while (!wrong && (option = command_option(argc, argv, ASK_LETTERS, known)) != -1) {
		switch (option) {
		case 'c': wrong = set_once(&options->config, "config"); break;
		case 'k': options->packets[options->packet_count++] = optarg; break;
		case 'f': wrong = set_once(&options->pcap, "pcap"); break;
		case 'e': wrong = set_once(&options->engine, "engine"); break;
		case 'd': wrong = set_once(&options->down, "down"); break;
		case 'r': wrong = set_once(&options->drain, "drain"); break;
		case 'l': wrong = set_once(&options->lost, "lost"); break;
		case 'a': wrong = set_once(&options->away, "away"); break;
		case 'm': wrong = set_once(&options->mac, "mac"); break;
		case 'y': syn = true; break;
		case 'L': wrong = set_length(options); break;
		case 'h': options->help = true; return EXIT_OK;
		default: wrong = ask_option(&options->ask, name, option, optarg);
		}
	}
	options->tuple.tcp_flags = syn ? PKT_TCP_SYN : PKT_TCP_ACK;
	if (!wrong)
		wrong = set_tuple(options, argc, argv);
	return wrong ? wrong : check(options, syn);
}
