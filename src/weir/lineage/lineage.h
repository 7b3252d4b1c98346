/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which pool and which service of one configuration goes on as which of another. A name is what
 * people call it; a connection knows an address and a port of the service that it came to, and the
 * backend that it has. So services are known again by what they listen on, and pools by whom they
 * consist of and by whom they serve; names only decide between equals. Pure: no I/O, no tables are
 * written. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "engine/tables.h"

#define LINEAGE_NONE SIZE_MAX

struct lineage_member {
	struct addr addr;
	uint16_t port;
	uint32_t number; /* of a configuration: its place in the pool; of tables: its record */
};

struct lineage_pool {
	uint64_t name;                  /* its identity (assemble_name_identity) */
	struct lineage_member *members; /* sorted by address and port */
	size_t count;
};

struct lineage_service {
	uint64_t name;
	size_t pool;     /* LINEAGE_NONE: unknown */
	uint32_t record; /* of tables */
};

struct lineage_listen {
	struct prefix vip;
	struct conf_listen on;
	size_t service;
};

/* One of the two. */
struct lineage_side {
	struct lineage_pool *pools;
	size_t pool_count;
	struct lineage_service *services;
	size_t service_count;
	struct lineage_listen *listens; /* sorted by VIP */
	size_t listen_count;
	struct lineage_member *members; /* of all pools */
};

/* That a service's flows came by the one pool, and now come by the other; or the two have the same
 * name. */
struct lineage_pair {
	size_t before, now;
};

/* Each by its place; LINEAGE_NONE: there is none. */
struct lineage {
	struct lineage_side before, now;
	size_t *pools;              /* the earlier one that goes on as this pool */
	size_t *heirs;              /* the other way round, by earlier pool */
	size_t *services;           /* whose record the service has: each is given once */
	size_t *sources;            /* who had most of what it listens on */
	struct lineage_pair *pairs; /* sorted */
	size_t pair_count;
};

/* 0 or -errno; then there is nothing to be freed. */
int lineage_of_conf(const struct conf *before, const struct conf *now, struct lineage *ret);
/*
 * From what tables say that an earlier daemon left: a pool that no service has, and VIPs in tables
 * that were begun anew (engine/carry), are not known there.
 */
int lineage_of_tables(const struct dp_tables *before, const struct conf *now, struct lineage *ret);
void lineage_fini(struct lineage *lineage);
/* Is there such a pair? */
bool lineage_is_pair(const struct lineage *lineage, size_t before, size_t now);
/* By address and port, for qsort and bsearch. */
int lineage_member_order(const void *a, const void *b);
/* The member of the pool with that address and port, or NULL. */
const struct lineage_member *lineage_member(const struct lineage_pool *pool,
					    const struct addr *addr, uint16_t port);
