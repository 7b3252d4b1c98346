/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A balancer over the native engine, and connections through it: starts with files, events, time
 * that passes, and packets. One at a time; what goes wrong fails the test that asked.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "engine/native.h"
#include "weir/balancer/balancer.h"

enum {
	STORY_FLOWS = 400,
	STORY_ENTRIES = 8192,
	STORY_IDLE_MS = 100000, /* node.flows.established */
	STORY_CLOSING_MS = 5000,
	STORY_STEP_MS = 9000, /* between two packets of a flow in story_live_on */
};

struct story {
	struct native *native;
	struct dp_tables *tables;
	struct conf *conf;
	struct balancer *balancer;
	uint64_t now_ms;
	uint32_t owners[STORY_FLOWS]; /* the records that flows began on */
};
extern struct story story;

/* For cmocka: a new engine; none, with what is left of the last. */
int story_set_up(void **state);
int story_tear_down(void **state);

/* Chance, the same in each run. */
uint64_t story_draw(void);

/* What files of these tests say; what is not named is usual. */
struct story_file {
	const char *pool; /* keys of pool web */
	const char *seed;
	const char *service; /* keys of the service */
	const char *tracking;
	const char *more;     /* pools */
	const char *services; /* more of them */
};

/* Backends of a pool with the keys of YAML: STORY_SIZED(509) has four. */
#define STORY_B(n)        "{name: b" #n ", address: 10.0.0." #n "}"
#define STORY_FOUR        STORY_B(1) ", " STORY_B(2) ", " STORY_B(3) ", " STORY_B(4)
#define STORY_BACKENDS    "backends: [" STORY_FOUR "]"
#define STORY_SIZED(size) "table_size: " #size ", " STORY_BACKENDS

/* A start of the daemon over what is in the tables, and a death that leaves them. */
void story_begin(const struct story_file *file);
void story_killed(void);
void story_restart(const struct story_file *file);
void story_all_healthy(void);
/* The record of a member of the first pool. */
uint32_t story_record(size_t member);
/* Slots in transition, of all pools. */
uint32_t story_moving(void);
/* A whole survey, if one is wanted. */
void story_survey(void);
/* Time, with what is due then, and a survey. */
void story_pass(uint64_t ms);

/* A TCP segment of the flow; the record that it went to, or 0. */
uint32_t story_segment(uint32_t flow, uint8_t tcp_flags);
void story_connect(uint32_t flow);
void story_connect_all(void);
/* Every second one: 0 those of even numbers, 1 the others. */
void story_connect_half(uint32_t first);
/* Each flow's next segment goes where it began. */
void story_all_stay(void);
/* Flows that a backend got with the SYN. */
uint32_t story_flows_of(uint32_t record);
/* Until the idle time is through everybody sends now and then, and stays. */
void story_live_on(void);
/* All close, after which nothing is in transition. */
void story_all_end(void);
