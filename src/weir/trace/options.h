/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of `weir trace`: of a file's tables, or of those that a node runs with. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "weir/cli/ask.h"
#include "weir/live/tuple.h"

struct trace_options {
	const char *config; /* NULL: the live tables */
	const char *pcap, *engine, *down, *drain, *lost, *away, *mac;
	const char **packets; /* of --packet, in hex; the caller's, with room for argc */
	size_t packet_count;
	struct tuple_packet tuple; /* tuple.proto 0: none was given */
	struct ask ask;
	bool help;
};

/* EXIT_OK, or EXIT_USAGE and a word about it. */
int trace_parse_options(int argc, char **argv, struct trace_options *options);
void trace_print_help(void);

/* What `weir trace` does without --config: its exit status. */
int trace_live(const struct trace_options *options);
