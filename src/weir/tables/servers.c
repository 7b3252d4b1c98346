/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/tables/servers.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/servers.h"

_Static_assert((int)CONF_POLICY_SOURCE == ABI_POLICY_SOURCE &&
		       (int)CONF_POLICY_5TUPLE == ABI_POLICY_5TUPLE &&
		       (int)CONF_POLICY_QUIC_CID == ABI_POLICY_QUIC_CID,
	       "policies are numbered alike");
_Static_assert((int)CONF_CID_KATRAN == ABI_CID_KATRAN, "and so are layouts of connection ids");
_Static_assert((int)CONF_BACKENDS_MAX <= ABI_SERVERS_USED, "every backend may have an id");

uint32_t servers_write_policy(const struct conf_service *conf, struct abi_service *service)
{
	uint32_t flags = 0;

	service->source_prefix4 = conf->source_prefix4;
	service->source_prefix6 = conf->source_prefix6;
	service->cid = (uint8_t)conf->quic.cid;
	service->cid_length = conf->quic.length;
	service->cid_config = conf->quic.config;
	service->policy = (uint8_t)conf->policy;
	if (conf->policy != CONF_POLICY_5TUPLE)
		flags |= ABI_SERVICE_POLICY;
	if (conf->tcp_server_id)
		flags |= ABI_SERVICE_SERVER_ID;
	return flags;
}

static int write_ids(const struct balancer *balancer, struct dp_tables *tables)
{
	const struct conf *conf = balancer_conf(balancer);
	int ret = 0;

	for (size_t p = 0; p < conf->pool_count; p++) {
		const struct conf_pool *pool = &conf->pools[p];

		for (size_t b = 0; b < pool->backend_count && !ret; b++) {
			if (pool->backends[b].server_id)
				ret = dp_servers_set(tables, balancer_first_slot(balancer, p),
						     pool->backends[b].server_id,
						     balancer_backend_record(balancer, p, b));
		}
	}
	return ret;
}

static bool names_any(const struct conf *conf)
{
	for (size_t p = 0; p < conf->pool_count; p++) {
		for (size_t b = 0; b < conf->pools[p].backend_count; b++) {
			if (conf->pools[p].backends[b].server_id)
				return true;
		}
	}
	return false;
}

/* In a copy: whether a place is found depends on all that is there. */
int servers_check(const struct balancer *balancer, const struct dp_tables *tables, struct err *err)
{
	struct dp_tables copy = *tables;
	int ret;

	if (!names_any(balancer_conf(balancer)))
		return 0;
	copy.servers = malloc(ABI_SERVERS * sizeof(*copy.servers));
	if (!copy.servers)
		return err_set(err, -ENOMEM, "out of memory");
	memcpy(copy.servers, tables->servers, ABI_SERVERS * sizeof(*copy.servers));
	ret = write_ids(balancer, &copy);
	free(copy.servers);
	return ret ? err_set(err, ret, "the table of server ids has no room for all of them") : 0;
}

void servers_write(const struct balancer *balancer, struct dp_tables *tables)
{
	int ret = write_ids(balancer, tables);

	assert(!ret);
	(void)ret;
}

static int compare_keys(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The ids that the configuration names, sorted; `keys` has room for one a backend. */
static size_t collect_keys(const struct balancer *balancer, uint64_t *keys)
{
	const struct conf *conf = balancer_conf(balancer);
	size_t count = 0;

	for (size_t p = 0; p < conf->pool_count; p++) {
		const struct conf_pool *pool = &conf->pools[p];

		for (size_t b = 0; b < pool->backend_count; b++) {
			if (pool->backends[b].server_id)
				keys[count++] = abi_server_key(balancer_first_slot(balancer, p),
							       pool->backends[b].server_id);
		}
	}
	qsort(keys, count, sizeof(*keys), compare_keys);
	return count;
}

void servers_drop_old(const struct balancer *balancer, struct dp_tables *tables, uint64_t *keys)
{
	size_t count = collect_keys(balancer, keys);
	struct dp_server server;
	uint32_t place = 0;

	while (dp_servers_next(tables, &place, &server)) {
		uint64_t key = abi_server_key(server.first_slot, server.id);

		if (!count || !bsearch(&key, keys, count, sizeof(*keys), compare_keys))
			dp_servers_remove(tables, server.first_slot, server.id);
	}
}
