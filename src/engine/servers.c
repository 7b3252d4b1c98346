/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/servers.h"

#include <errno.h>

#include "pkt/hash.h"

static void store(uint64_t *to, uint64_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELEASE);
}

static void store_backend(struct abi_server *server, uint32_t backend)
{
	__atomic_store_n(&server->backend, backend, __ATOMIC_RELEASE);
}

/* The key's place, else the first one that no id has; NULL: none in reach. */
static struct abi_server *find(const struct dp_tables *tables, uint64_t key)
{
	uint32_t place = (uint32_t)pkt_hash_end(pkt_hash_add(tables->node->vip_secret, key));
	struct abi_server *free_place = NULL;

	for (uint32_t i = 0; i < ABI_SERVER_PROBES; i++) {
		struct abi_server *server = &tables->servers[(place + i) & (ABI_SERVERS - 1)];

		if (server->key == key)
			return server;
		if (!free_place && !server->backend)
			free_place = server;
		if (!server->key)
			break;
	}
	return free_place;
}

/*
 * A place taken away has no backend when its key changes, and a reader that saw the old key asks
 * for it again after the backend: so it gets the backend of no other id.
 */
int dp_servers_set(struct dp_tables *tables, uint32_t first_slot, uint32_t id, uint32_t backend)
{
	uint64_t key = abi_server_key(first_slot, id);
	struct abi_server *server = find(tables, key);

	if (!server)
		return -ENOSPC;
	if (server->key != key)
		store((uint64_t *)&server->key, key);
	if (server->backend != backend)
		store_backend(server, backend);
	return 0;
}

/* Ids without a backend at the end of a run: a search ends before them as well. */
static void release_places(struct dp_tables *tables, size_t at)
{
	while (!tables->servers[(at + 1) & (ABI_SERVERS - 1)].key) {
		struct abi_server *server = &tables->servers[at];

		if (!server->key || server->backend)
			return;
		store((uint64_t *)&server->key, 0);
		at = (at - 1) & (ABI_SERVERS - 1);
	}
}

void dp_servers_remove(struct dp_tables *tables, uint32_t first_slot, uint32_t id)
{
	uint64_t key = abi_server_key(first_slot, id);
	struct abi_server *server = find(tables, key);

	if (!server || server->key != key)
		return;
	store_backend(server, 0);
	release_places(tables, (size_t)(server - tables->servers));
}

uint32_t dp_servers_find(const struct dp_tables *tables, uint32_t first_slot, uint32_t id)
{
	uint64_t key = abi_server_key(first_slot, id);
	const struct abi_server *server = find(tables, key);

	return server && server->key == key ? server->backend : 0;
}

bool dp_servers_next(const struct dp_tables *tables, uint32_t *place, struct dp_server *ret)
{
	while (*place < ABI_SERVERS) {
		const struct abi_server *server = &tables->servers[(*place)++];

		if (!server->key || !server->backend)
			continue;
		ret->first_slot = abi_server_first_slot(server->key);
		ret->id = (uint32_t)server->key;
		ret->backend = server->backend;
		return true;
	}
	return false;
}
