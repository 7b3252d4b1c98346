/* SPDX-License-Identifier: BSD-2-Clause */
/* How `weir trace` says what became of a packet: a JSON object a line, or words. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "dp/verdict.h"
#include "engine/tables.h"
#include "weir/balancer/balancer.h"

enum { TRACE_PROBLEM_MAX = 128 };

/* Records of the tables by what they are called in the file; names belong to the balancer. */
struct trace_names {
	const char **services; /* by record; NULL: free */
	const char **backends;
	const struct dp_tables *tables;
};

/* 0 or -ENOMEM. */
int trace_names_init(struct trace_names *names, const struct balancer *balancer,
		     const struct dp_tables *tables);
void trace_names_fini(struct trace_names *names);

struct trace_packet {
	uint64_t number; /* from 1 */
	size_t length;   /* as it came */
	char text[192];  /* what it is: protocol, addresses, ports */
	const struct dp_result *result;
	const uint8_t *out; /* the frame afterwards */
};

/* Fills `text`. */
void trace_packet_describe(struct trace_packet *packet, uint8_t *frame, size_t length);

void trace_print(const struct trace_names *names, const struct trace_packet *packet);
void trace_print_json(const struct trace_names *names, const struct trace_packet *packet);
/* A packet that no engine was given. `problem` holds nothing that JSON would escape. */
void trace_print_refused(uint64_t number, const char *problem);
void trace_print_refused_json(const char *problem);
