/* SPDX-License-Identifier: BSD-2-Clause */
/* Pools and their backends. */
#include "conf/verify/verify.h"

/* A backend's identity is its address, and its port where one is given. */
static const char *identity(struct reader *reader, const struct conf_backend *backend)
{
	const char *address = verify_address(reader, &backend->address);

	if (!backend->port)
		return address;
	return arena_printf(reader->scratch, "%s port %u", address, backend->port);
}

static void check_backends(struct reader *reader, const struct conf_pool *pool)
{
	struct entries names = entries_new(reader, pool->backend_count);
	struct entries identities = entries_new(reader, pool->backend_count);
	struct entries ids = entries_new(reader, pool->backend_count);

	for (size_t i = 0; i < pool->backend_count; i++) {
		const struct conf_backend *backend = &pool->backends[i];
		const char *owner = verify_label(reader, "backend", backend->name);
		struct entry *entry;

		entries_add(reader, &names, backend->name, &backend->name);
		entry = entries_add(reader, &identities, identity(reader, backend),
				    &backend->address);
		if (entry)
			entry->owner = owner;
		entry = entries_add(reader, &ids,
				    arena_printf(reader->scratch, "%u", backend->server_id),
				    &backend->server_id);
		if (entry)
			entry->owner = owner;
	}
	entries_refuse_twins(reader, &names, "backend");
	entries_refuse_twins(reader, &identities, "address");
	entries_refuse_twins(reader, &ids, "server_id");
}

void verify_pools(struct reader *reader, const struct conf *conf)
{
	for (size_t i = 0; i < conf->pool_count; i++)
		check_backends(reader, &conf->pools[i]);
}
