/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/workers/limit.h"

#include "tunnel/mode.h"
#include "weir/balancer/assemble.h"

static bool has_family(const struct conf_pool *pool, bool is4)
{
	for (size_t i = 0; i < pool->backend_count; i++) {
		if (addr_is4(&pool->backends[i].address) == is4)
			return true;
	}
	return false;
}

static uint32_t service_overhead(const struct conf_service *service)
{
	bool outer[] = {has_family(service->pool, false), has_family(service->pool, true)};
	uint32_t most = 0;

	for (size_t i = 0; i < service->vip_count; i++) {
		bool inner4 = addr_is4(&service->vips[i].addr);

		for (int outer4 = 0; outer4 <= 1; outer4++) {
			uint32_t added =
				tunnel_mode_overhead(assemble_mode(service), outer4, inner4);

			if (outer[outer4] && added > most)
				most = added;
		}
	}
	return most;
}

uint32_t limit_overhead(const struct conf *conf)
{
	uint32_t most = 0;

	for (size_t i = 0; i < conf->service_count; i++) {
		uint32_t added = service_overhead(&conf->services[i]);

		if (added > most)
			most = added;
	}
	return most;
}
