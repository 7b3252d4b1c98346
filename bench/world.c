// SPDX-License-Identifier: BSD-2-Clause
#include "bench/world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/setting.h"
#include "conf/conf.h"
#include "weir/balancer/balancer.h"

enum {
	IFINDEX = 1, /* of the loopback, which a test run comes in at */
	MTU = 1600,
};

struct world {
	struct conf *conf;
	struct dp *dp;
	struct balancer *balancer;
};

static void put_pool(FILE *out, const struct world_spec *spec, uint32_t at)
{
	fprintf(out, "  - name: p%u\n    check: {type: none}\n", at);
	if (spec->slots)
		fprintf(out, "    table_size: %u\n", spec->slots);
	fputs("    backends:\n", out);
	for (uint32_t i = 0; i < spec->backends; i++) {
		fprintf(out,
			spec->ipv6 ? "      - {name: b%u, address: \"2001:db8:9:%x::%x\""
				   : "      - {name: b%u, address: 10.9.%u.%u",
			i, at / 8, (at % 8) * 16 + i + 1);
		if (spec->quic)
			fprintf(out, ", server_id: %u", i + 1);
		fputs("}\n", out);
	}
}

static void put_service(FILE *out, const struct world_spec *spec, uint32_t at)
{
	char vip[64];

	if (spec->ipv6)
		snprintf(vip, sizeof(vip), "\"2001:db8:b::%x\"", at);
	else
		snprintf(vip, sizeof(vip), "198.18.%u.%u", at >> 8, at & 255);
	fprintf(out,
		"  - {name: s%u, vips: [%s], listen: [tcp/80, udp/80], pool: p%u, forward: %s, "
		"tracking: %s%s}\n",
		at, vip, at, spec->forward, spec->tracking,
		spec->quic ? ", policy: quic-cid, quic: {cid: katran}" : "");
}

static struct conf *read_conf(const struct world_spec *spec)
{
	struct err_list errors = {0};
	struct conf *conf;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		bench_die("memory", ENOMEM);
	fputs("node: {name: bench, interfaces: [lo], "
	      "tunnel: {source4: 100.64.1.0/24, source6: \"2001:db8:f::/64\"}}\npools:\n",
	      out);
	for (uint32_t i = 0; i < spec->services; i++)
		put_pool(out, spec, i);
	fputs("services:\n", out);
	for (uint32_t i = 0; i < spec->services; i++)
		put_service(out, spec, i);
	fclose(out);
	if (conf_parse(text, strlen(text), &conf, &errors))
		bench_die(errors.count ? errors.errors[0].text : "the configuration", EINVAL);
	free(text);
	return conf;
}

static void ignore_record(void *arg, uint32_t record)
{
	(void)arg;
	(void)record;
}

static void fill(struct world *world, uint32_t ifindex)
{
	static const struct balancer_start start = {.health = POOL_HEALTHY,
						    .unchecked = POOL_HEALTHY,
						    .new_backend = ignore_record,
						    .new_service = ignore_record};
	const struct dp_nexthop hop = {.ifindex = ifindex ? ifindex : IFINDEX,
				       .mtu = MTU,
				       .src_mac = {2, 0, 0, 0, 0, 1},
				       .dst_mac = {2, 0, 0, 0, 0, 2},
				       .on_link = true};
	struct dp_tables *tables = dp_tables(world->dp);
	struct err err;

	if (balancer_new(world->conf, tables, &start, &world->balancer, &err))
		bench_die(err.text, EINVAL);
	for (size_t p = 0; p < world->conf->pool_count; p++) {
		for (size_t m = 0; m < world->conf->pools[p].backend_count; m++)
			balancer_set_nexthop(world->balancer, p, m, &hop);
	}
	balancer_settle(world->balancer, 0);
	/* As they are when nothing has happened for long. */
	for (uint32_t i = 0; i < ABI_SLOTS; i++)
		tables->slots[i] &= ~(uint64_t)(ABI_SLOT_TRANSITION | ABI_SLOT_DOUBT);
	tables->node->insert_limit = UINT32_MAX;
}

struct world *world_open(const struct world_spec *spec)
{
	struct world *world = calloc(1, sizeof(*world));
	struct dp_options options = {.flow_entries = spec->flows, .steers = spec->steers};
	struct err err;

	if (!world)
		bench_die("memory", ENOMEM);
	world->conf = read_conf(spec);
	options.features = spec->all ? (uint32_t)ABI_HAS_ALL : balancer_features(world->conf);
	if (dp_open(&options, &world->dp, &err))
		bench_die(err.text, EINVAL);
	fill(world, spec->ifindex);
	return world;
}

void world_close(struct world *world)
{
	if (!world)
		return;
	balancer_free(world->balancer);
	dp_close(world->dp);
	conf_free(world->conf);
	free(world);
}

struct dp *world_dp(const struct world *world)
{
	return world->dp;
}
