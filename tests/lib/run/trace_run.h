/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Running `weir trace` as a user does, for cmocka tests: the program of the same build, captures
 * made record by record, and the lines that it prints.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "tests/lib/frame/frame.h"

#define TRACE_SECOND_NS 1000000000ULL

/* In a directory of their own, which trace_set_up makes; the file holds world_yaml. */
extern char trace_conf[96], trace_pcap[96];

/* cmocka's group set-up and tear-down. */
int trace_set_up(void **state);
int trace_tear_down(void **state);

struct trace_outcome {
	int status;
	char *out, *err;
	long max_rss_kb;
};

/* The arguments, up to NULL, follow `weir trace`. Free with trace_done. */
struct trace_outcome trace_run_as(uid_t user, const char *const *arguments);
#define trace_run(...) trace_run_as(geteuid(), (const char *const[]){__VA_ARGS__, NULL})
void trace_done(struct trace_outcome *outcome);
void trace_expect_ok(const struct trace_outcome *outcome);
/* The exit status, and a text in what it said on standard error; frees the outcome. */
void trace_expect_failure(struct trace_outcome *outcome, int status, const char *text);

/* A capture at trace_pcap, with time stamps in nanoseconds. */
FILE *trace_pcap_open(uint32_t link_type);
void trace_pcap_add(FILE *file, uint64_t ns, const void *bytes, size_t length, size_t wire);
void trace_pcap_add_frame(FILE *file, uint64_t ns, const struct frame_spec *spec);
void trace_pcap_close(FILE *file);
void trace_write_file(const char *path, const void *bytes, size_t size);

/* The object of the next line, and *text moved past it; NULL at the end. */
json_t *trace_next_line(char **text);
/* A string of it; "none" for null. */
const char *trace_field(const json_t *line, const char *key);
void trace_expect_field(const json_t *line, const char *key, const char *expected);
