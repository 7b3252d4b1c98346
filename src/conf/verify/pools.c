/* SPDX-License-Identifier: BSD-2-Clause */
/* Pools and their backends, and the ports of checks, which depend on the services. */
#include <netinet/in.h>

#include "conf/verify/verify.h"

static void check_timing(struct reader *reader, const struct conf_check *check,
			 struct conf_place otherwise)
{
	struct conf_place place = reader_place(reader, &check->interval_ms, otherwise);

	if (check->timeout_ms > check->interval_ms)
		reader_error(reader, reader_place(reader, &check->timeout_ms, place),
			     "timeout of %u ms is longer than the interval of %u ms, expected a "
			     "probe to end before the next begins",
			     check->timeout_ms, check->interval_ms);
}

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
	for (size_t i = 0; i < conf->pool_count; i++) {
		check_timing(reader, &conf->pools[i].check, conf->pools[i].place);
		check_backends(reader, &conf->pools[i]);
	}
}

/* --- checks --- */

/* The first TCP listen that has a port, or was refused and may have been one; NULL: none. */
static const struct conf_listen *first_tcp(const struct conf_service *service)
{
	for (size_t i = 0; i < service->listen_count; i++) {
		const struct conf_listen *listen = &service->listens[i];

		if (!listen->proto || (listen->proto == IPPROTO_TCP && listen->first))
			return listen;
	}
	return NULL;
}

static struct conf_place check_place(const struct reader *reader, const struct conf_pool *pool)
{
	return reader_place(reader, &pool->check.type, pool->place);
}

/* The port that serves what comes to `port`, where all backends have the same. */
static uint16_t backends_port(struct reader *reader, const struct conf_pool *pool, uint16_t port)
{
	uint16_t first = pool->backends[0].port ? pool->backends[0].port : port;

	for (size_t i = 1; i < pool->backend_count; i++) {
		const struct conf_backend *backend = &pool->backends[i];

		if ((backend->port ? backend->port : port) == first)
			continue;
		reader_error(reader, check_place(reader, pool),
			     "the backends of pool \"%s\" serve on different ports, expected "
			     "check: {port: PORT} or check: {type: none}",
			     verify_name(pool->name));
		break;
	}
	return first;
}

/* Probes go to the first TCP port of the first service that has one, and where the mode changes
 * it to the backends', unless a port is given. */
static void resolve_port(struct reader *reader, const struct conf *conf, struct conf_pool *pool)
{
	size_t users = 0;

	for (size_t i = 0; i < conf->service_count; i++) {
		const struct conf_service *service = &conf->services[i];
		const struct conf_listen *listen;

		if (service->pool != pool || service->listen_count == 0)
			continue;
		users++;
		listen = first_tcp(service);
		if (!listen)
			continue;
		pool->check.port = listen->first;
		if (verify_changes_ports(service->forward) && pool->backend_count)
			pool->check.port = backends_port(reader, pool, listen->first);
		return;
	}
	if (users == 0)
		pool->check.type = CONF_CHECK_NONE; /* nobody to check it for: a warning says so */
	else
		reader_error(reader, check_place(reader, pool),
			     "the check of pool \"%s\" has no port and no service of the pool "
			     "listens on a TCP port, expected check: {port: PORT} or check: {type: "
			     "none}",
			     verify_name(pool->name));
}

void verify_checks(struct reader *reader, struct conf *conf)
{
	for (size_t i = 0; i < conf->pool_count; i++) {
		struct conf_pool *pool = &conf->pools[i];

		if (pool->check.type != CONF_CHECK_NONE && !reader_node(reader, &pool->check.port))
			resolve_port(reader, conf, pool);
	}
}
