/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of server ids (abi_server): which backend a QUIC connection id or a TCP option names
 * among those of its pool. The pool is known by its first slot, as in the service's record, so
 * that a packet needs no further look-up. Written under running packets, which find an id that
 * stays at any moment. One writer.
 */
#pragma once

#include "engine/tables.h"

/*
 * Gives an id of the pool a backend, in place where it has another. Neither id nor backend is 0.
 * 0, or -ENOSPC: no place within ABI_SERVER_PROBES.
 */
int dp_servers_set(struct dp_tables *tables, uint32_t first_slot, uint32_t id, uint32_t backend);
/* An id that is not there is none. */
void dp_servers_remove(struct dp_tables *tables, uint32_t first_slot, uint32_t id);
/* 0: unknown. */
uint32_t dp_servers_find(const struct dp_tables *tables, uint32_t first_slot, uint32_t id);

struct dp_server {
	uint32_t first_slot;
	uint32_t id;
	uint32_t backend;
};

/*
 * The first id at or behind *place, which is 0 at the start and is moved on behind it. Whether
 * there is one. Ids that are removed meanwhile may move nothing but themselves.
 */
bool dp_servers_next(const struct dp_tables *tables, uint32_t *place, struct dp_server *ret);
