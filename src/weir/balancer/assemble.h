/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the configuration to pools: the identities and the seed that every node of a fleet derives
 * in the same way from the same file, and a pool built with them. What a name or an address hashes
 * to is part of what nodes agree on: changing it here changes every table of a fleet. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "pool/pool.h"

/* The fleet's seed as a number. */
uint64_t assemble_seed(const char *text);

/* Of a backend in a table: by address and port alone, so a renamed backend keeps its slots. */
uint64_t assemble_backend_identity(const struct conf_backend *backend);
/* Of a backend's record in the data plane: by pool, address and port. Never 0. */
uint64_t assemble_record_identity(const struct conf_pool *pool, const struct conf_backend *backend);
/* Of anything that is known by its name among its kind. Never 0. */
uint64_t assemble_name_identity(const char *kind, const char *name);

/* What the operator wants of a backend, as the file says it. */
enum pool_admin assemble_admin(enum conf_state state);

/*
 * Builds the pool with its members in the file's order. `indices` are the backends' records, NULL:
 * 1, 2, ... Everybody begins with `health`. As pool_new: 0, -EINVAL or -ENOMEM.
 */
int assemble_pool(const struct conf *conf, const struct conf_pool *pool, const uint32_t *indices,
		  enum pool_health health, struct pool **ret);

/* Whether two configurations make the same pool of it, but for the state that each backend is
 * wanted in. */
bool assemble_pool_same(const struct conf *conf, const struct conf_pool *pool,
			const struct conf *other, const struct conf_pool *other_pool);

/* enum tunnel_mode. */
uint8_t assemble_mode(const struct conf_service *service);
/* Between packets at the limit, in 2^-8 ns; 0: no limit. */
uint64_t assemble_rate_gap(uint32_t packets_per_second);
