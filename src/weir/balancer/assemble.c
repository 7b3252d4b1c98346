/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/balancer/assemble.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/time.h"
#include "tunnel/mode.h"

static uint64_t hash_text(const char *text, uint64_t seed)
{
	return XXH64(text, strlen(text), seed);
}

static uint64_t hash_backend(const struct conf_backend *backend, uint64_t seed)
{
	uint8_t bytes[sizeof(backend->address.bytes) + 2];

	memcpy(bytes, backend->address.bytes, sizeof(backend->address.bytes));
	bytes[sizeof(bytes) - 2] = (uint8_t)(backend->port >> 8);
	bytes[sizeof(bytes) - 1] = (uint8_t)backend->port;
	return XXH64(bytes, sizeof(bytes), seed);
}

static uint64_t not_zero(uint64_t identity)
{
	return identity ? identity : 1;
}

uint64_t assemble_seed(const char *text)
{
	return hash_text(text, 0);
}

uint64_t assemble_backend_identity(const struct conf_backend *backend)
{
	return hash_backend(backend, 0);
}

uint64_t assemble_record_identity(const struct conf_pool *pool, const struct conf_backend *backend)
{
	return not_zero(hash_backend(backend, assemble_name_identity("pool", pool->name)));
}

uint64_t assemble_name_identity(const char *kind, const char *name)
{
	return not_zero(hash_text(name, hash_text(kind, 0)));
}

enum pool_admin assemble_admin(enum conf_state state)
{
	switch (state) {
	case CONF_STATE_DRAIN: return POOL_DRAIN;
	case CONF_STATE_MAINT: return POOL_MAINT;
	case CONF_STATE_ACTIVE: break;
	}
	return POOL_ACTIVE;
}

/* All of a specification but the members. */
static struct pool_spec spec_of(const struct conf *conf, const struct conf_pool *pool)
{
	return (struct pool_spec){
		.name = pool->name,
		.seed = assemble_seed(conf->seed),
		.tokens = pool->hash == CONF_HASH_RING ? pool->tokens : 0,
		.table_size = pool->table_size,
		.on_down_keep_ms = pool->on_down == CONF_ON_DOWN_KEEP ? pool->on_down_keep_ms : 0,
		.backup_below = pool->backup_below,
		.slow_start_ms = pool->slow_start_ms,
		.drain_limit_ms = pool->drain_limit_ms,
		.idle_ms = conf->node.flows.established_ms,
		.datagram_ms = conf->node.flows.udp_ms,
		.doubt_ms = pool->second_chance ? conf->node.flows.established_ms : 0,
		.member_count = pool->backend_count,
	};
}

static bool same_backend(const struct conf_backend *one, const struct conf_backend *two)
{
	return strcmp(one->name, two->name) == 0 && addr_equal(&one->address, &two->address) &&
	       one->port == two->port && one->weight == two->weight && one->backup == two->backup;
}

bool assemble_pool_same(const struct conf *conf, const struct conf_pool *pool,
			const struct conf *other, const struct conf_pool *other_pool)
{
	struct pool_spec one = spec_of(conf, pool), two = spec_of(other, other_pool);

	if (strcmp(one.name, two.name) != 0 || one.seed != two.seed || one.tokens != two.tokens ||
	    one.table_size != two.table_size || one.on_down_keep_ms != two.on_down_keep_ms ||
	    one.backup_below != two.backup_below || one.slow_start_ms != two.slow_start_ms ||
	    one.drain_limit_ms != two.drain_limit_ms || one.idle_ms != two.idle_ms ||
	    one.datagram_ms != two.datagram_ms || one.doubt_ms != two.doubt_ms ||
	    one.member_count != two.member_count)
		return false;
	for (size_t i = 0; i < one.member_count; i++) {
		if (!same_backend(&pool->backends[i], &other_pool->backends[i]))
			return false;
	}
	return true;
}

int assemble_pool(const struct conf *conf, const struct conf_pool *pool, const uint32_t *indices,
		  enum pool_health health, struct pool **ret)
{
	struct pool_member_spec *members = calloc(pool->backend_count, sizeof(*members));
	struct pool_spec spec = spec_of(conf, pool);
	int error;

	if (!members)
		return -ENOMEM;
	spec.members = members;
	for (size_t i = 0; i < pool->backend_count; i++) {
		const struct conf_backend *backend = &pool->backends[i];

		members[i] = (struct pool_member_spec){
			.name = backend->name,
			.identity = assemble_backend_identity(backend),
			.weight = backend->weight,
			.index = indices ? indices[i] : (uint32_t)i + 1,
			.admin = assemble_admin(backend->state),
			.health = health,
			.backup = backend->backup,
		};
	}
	error = pool_new(&spec, ret);
	free(members);
	return error;
}

uint8_t assemble_mode(const struct conf_service *service)
{
	static const uint8_t modes[] = {
		[CONF_FORWARD_IPIP] = TUNNEL_IPIP,   [CONF_FORWARD_GRE] = TUNNEL_GRE,
		[CONF_FORWARD_GUE] = TUNNEL_GUE,     [CONF_FORWARD_GENEVE] = TUNNEL_GENEVE,
		[CONF_FORWARD_IPOPT] = TUNNEL_IPOPT, [CONF_FORWARD_L2DSR] = TUNNEL_L2DSR,
	};

	return service->second_chance ? TUNNEL_GUE0 : modes[service->forward];
}

uint64_t assemble_rate_gap(uint32_t packets_per_second)
{
	if (!packets_per_second)
		return 0;
	return ((TIME_SECOND_NS << 8) + packets_per_second / 2) / packets_per_second;
}
