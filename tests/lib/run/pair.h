/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two nodes before the same backends, each the daemon's own balancer over a native engine: starts
 * with a file that may be new, deaths with the tables and returns with what the disk has, checks,
 * what operators tell, time, and packets with whom they name beside. What goes wrong fails a test.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "engine/native.h"
#include "weir/balancer/balancer.h"
#include "weir/generation/generation.h"

enum {
	PAIR_NODES = 2,
	PAIR_BACKENDS = 4, /* numbers 0 to 3 */
	PAIR_RECORDS = 64,
	PAIR_SPARE = PAIR_BACKENDS - 1, /* not in the file at first */
	PAIR_NOBODY = 255,
};

/* What the file says of a backend, what operators do, and whether it answers its checks. */
struct pair_backend {
	bool listed, fails;
	uint32_t weight;
	enum pool_admin admin;
	unsigned int share;
};

struct pair_node {
	struct native *native;
	struct conf *conf;
	struct balancer *balancer; /* NULL: it is dead */
	bool fresh;                /* its tables were empty at this start */
	bool knows;                /* its backends, so the router uses it */
	uint8_t numbers[PAIR_RECORDS];
	/* Its disk: outlives it. */
	struct generations kept;
	struct pair_backend told[PAIR_BACKENDS];
};

struct pair {
	struct pair_node nodes[PAIR_NODES];
	struct pair_backend backends[PAIR_BACKENDS];
	const char *pool, *seed; /* keys of the pool, and the seed, both of YAML */
	uint64_t idle_ms;
	uint64_t now_ms;
};
extern struct pair pair;

/* All backends but the last are in the file, and all is well; the nodes are dead. */
void pair_begin(const char *pool, const char *seed, uint64_t idle_ms);
void pair_end(void);

/* A start over what is in the tables, and one over none; neither knows its backends at once. */
void pair_load(struct pair_node *node);
/* The daemon that runs goes over to the file. */
void pair_reload(struct pair_node *node);
void pair_die(struct pair_node *node);
/* The check of a backend has a result, whoever that is: by its place in the node's file. */
void pair_hear(struct pair_node *node, size_t member);
/* All of them in turn, from one on, and then what operators wanted meanwhile. */
void pair_know(struct pair_node *node, size_t first);
/* The present state of a backend, told to a node that knows the others. */
void pair_tell(struct pair_node *node, uint8_t number);
/* Time, with what is due and a survey on all nodes. */
void pair_pass(uint64_t ms);

/* Is the base table another because of it, and whom is anything the matter with? One at most, or
 * PAIR_NOBODY. */
bool pair_table_is_odd(uint8_t number);
uint8_t pair_odd_one(void);

struct pair_answer {
	uint8_t first, second; /* backends, or PAIR_NOBODY */
	uint32_t slot;         /* of the pool's */
};
/* A TCP segment from a port. */
struct pair_answer pair_segment(struct pair_node *node, uint16_t port, uint8_t tcp_flags);
