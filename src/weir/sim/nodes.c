/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/sim/nodes.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "engine/native.h"
#include "pkt/parse.h"
#include "weir/balancer/assemble.h"
#include "weir/balancer/balancer.h"
#include "weir/generation/generation.h"

enum { SURVEY_PAUSE_MS = 100 }; /* between its pieces, at most */

/* The configuration of the one service, with who is in its pool now. */
struct edition {
	struct conf conf;
	struct conf_pool pool;
	struct conf_service service;
	size_t *numbers; /* by member: in the fleet */
};

struct sim_node {
	struct native *native;
	struct balancer *balancer;
	uint16_t *numbers;       /* by record: in the fleet */
	struct pkt packet;       /* all that packets have alike */
	struct generations kept; /* its file, which stays when it dies */
};

struct sim_nodes {
	struct sim_nodes_spec spec;
	const struct sim_fleet *fleet;
	struct edition *edition;
	struct sim_node *nodes;      /* native NULL: it does not run */
	struct sim_nodes_stats past; /* of nodes that died */
	uint64_t now_ms;             /* while a balancer begins */
	struct sim_node *fresh;      /* the same, with empty tables; else NULL */
	struct err err;
};

/* --- the configuration --- */

bool sim_nodes_fleet(const struct conf *conf, const struct conf_service *service,
		     struct sim_fleet *ret)
{
	const struct conf_pool *pool = service->pool;

	ret->seed = assemble_seed(conf->seed);
	ret->table_size = pool->table_size;
	ret->backup_below = pool->backup_below;
	ret->drain_limit_ms = pool->drain_limit_ms;
	ret->on_down_keep_ms = pool->on_down == CONF_ON_DOWN_KEEP ? pool->on_down_keep_ms : 0;
	for (size_t i = 0; i < pool->backend_count; i++) {
		const struct conf_backend *backend = &pool->backends[i];
		struct sim_backend copy = {
			.name = backend->name,
			.address = backend->address,
			.port = backend->port,
			.weight = backend->weight,
			.share = 100,
			.backup = backend->backup,
			.present = true,
			.drain = backend->state == CONF_STATE_DRAIN,
			.maint = backend->state == CONF_STATE_MAINT,
			.conf = i,
		};

		if (sim_fleet_add(ret, &copy) == SIM_NOBODY)
			return false;
	}
	sim_nodes_identify(ret);
	return true;
}

/* As a line of the file would have it. */
static struct conf_backend backend_conf(const struct conf_pool *pool,
					const struct sim_backend *backend)
{
	struct conf_backend conf = {.name = backend->name};

	if (pool && backend->conf < pool->backend_count)
		conf = pool->backends[backend->conf];
	conf.address = backend->address;
	conf.port = backend->port;
	conf.weight = backend->weight;
	conf.state = backend->maint   ? CONF_STATE_MAINT
		     : backend->drain ? CONF_STATE_DRAIN
				      : CONF_STATE_ACTIVE;
	return conf;
}

void sim_nodes_identify(struct sim_fleet *fleet)
{
	for (size_t i = 0; i < fleet->count; i++) {
		struct conf_backend conf = backend_conf(NULL, &fleet->backends[i]);

		fleet->backends[i].identity = assemble_backend_identity(&conf);
	}
}

static void edition_free(struct edition *edition)
{
	if (!edition)
		return;
	arena_free(edition->conf.arena);
	free(edition);
}

static int edition_new(const struct sim_nodes *nodes, struct edition **ret)
{
	const struct sim_nodes_spec *spec = &nodes->spec;
	const struct sim_fleet *fleet = nodes->fleet;
	struct edition *new = calloc(1, sizeof(*new));
	uint64_t limit = (uint64_t)spec->conf->node.flows.insert_limit * spec->cores;
	struct conf_pool *pool;

	if (!new)
		return -ENOMEM;
	new->conf = *spec->conf;
	new->conf.arena = arena_new();
	new->conf.node.flows.insert_limit = limit > UINT32_MAX ? UINT32_MAX : (uint32_t)limit;
	new->pool = *spec->service->pool;
	new->service = *spec->service;
	new->service.pool = &new->pool;
	/* Who may come, and how often, is not the question. */
	new->service.allow_count = new->service.deny_count = 0;
	new->service.rate_limit = 0;
	new->conf.pools = pool = &new->pool;
	new->conf.services = &new->service;
	new->conf.pool_count = new->conf.service_count = 1;
	pool->backends = arena_array(new->conf.arena, fleet->count, sizeof(*pool->backends));
	pool->backend_count = 0;
	new->numbers = arena_array(new->conf.arena, fleet->count, sizeof(*new->numbers));
	for (size_t i = 0; i < fleet->count; i++) {
		if (!fleet->backends[i].present)
			continue;
		new->numbers[pool->backend_count] = i;
		pool->backends[pool->backend_count++] =
			backend_conf(spec->service->pool, &fleet->backends[i]);
	}
	*ret = new;
	return 0;
}

/* --- nodes --- */

static void tell(const struct sim_nodes *nodes, struct sim_node *node, size_t member,
		 uint64_t now_ms)
{
	const struct sim_backend *backend =
		&nodes->fleet->backends[nodes->edition->numbers[member]];

	balancer_set_admin(node->balancer, 0, member,
			   backend->maint   ? POOL_MAINT
			   : backend->drain ? POOL_DRAIN
					    : POOL_ACTIVE,
			   now_ms);
	balancer_set_share(node->balancer, 0, member, backend->share, now_ms);
	balancer_set_health(node->balancer, 0, member,
			    backend->unchecked   ? POOL_UNKNOWN
			    : backend->unhealthy ? POOL_UNHEALTHY
						 : POOL_HEALTHY,
			    now_ms);
}

static void ignore_record(void *arg, uint32_t record)
{
	(void)arg;
	(void)record;
}

/* What operators have set holds from the first packet on. */
static void prepare(void *arg, const struct conf *conf, size_t at, struct pool *pool)
{
	const struct sim_nodes *nodes = arg;

	for (size_t i = 0; i < pool_member_count(pool); i++)
		pool_set_share(pool, i, nodes->fleet->backends[nodes->edition->numbers[i]].share,
			       nodes->now_ms);
	if (nodes->fresh)
		generations_begin(&nodes->fresh->kept, conf, at, pool, nodes->now_ms,
				  nodes->now_ms);
}

/* The packet that all of the node's are like. */
static struct pkt packet_of(const struct sim_nodes *nodes, const struct sim_node *node)
{
	const struct prefix *vip = &nodes->edition->service.vips[0];
	const struct conf_listen *listen = &nodes->edition->service.listens[0];

	return (struct pkt){
		.dst = dp_addr(&vip->addr),
		.src = dp_addr(&vip->addr), /* the client's address goes over its end */
		.dport = PKT_BE16(listen->first ? listen->first : 1),
		.proto = nodes->spec.proto,
		.version = addr_is4(&vip->addr) ? 4 : 6,
		.length = 64,
		.frame_length = 78,
		.service = balancer_service_record(node->balancer, 0),
	};
}

/* Brings the configuration of now into the node's tables, which may have an older one. */
static int load(struct sim_nodes *nodes, struct sim_node *node, uint64_t now_ms)
{
	struct balancer_start start = {
		.health = POOL_UNKNOWN,
		.now_ms = now_ms,
		.new_backend = ignore_record,
		.new_service = ignore_record,
		.prepare = prepare,
		.arg = nodes,
	};
	const struct edition *edition = nodes->edition;
	int error;

	nodes->now_ms = now_ms;
	error = generations_turn(&node->kept, &edition->conf, now_ms);
	if (error < 0)
		return error;
	error = balancer_new(&edition->conf, native_tables(node->native), &start, &node->balancer,
			     &nodes->err);
	if (error)
		return error;
	memset(node->numbers, 0xff, ABI_BACKENDS * sizeof(*node->numbers));
	for (size_t i = 0; i < edition->pool.backend_count; i++) {
		uint32_t record = balancer_backend_record(node->balancer, 0, i);

		node->numbers[record] = (uint16_t)edition->numbers[i];
		tell(nodes, node, i, now_ms);
	}
	node->packet = packet_of(nodes, node);
	return 0;
}

static void node_down(void *arg, uint32_t number)
{
	struct sim_nodes *nodes = arg;
	struct sim_node *node = &nodes->nodes[number];

	if (!node->native)
		return;
	nodes->past.recorded += native_event_count(node->native, ABI_EVENT_FLOW_NEW);
	nodes->past.skipped += native_event_count(node->native, ABI_EVENT_FLOW_SKIPPED);
	nodes->past.evicted += native_event_count(node->native, ABI_EVENT_FLOW_EVICTED);
	balancer_free(node->balancer);
	native_free(node->native);
	free(node->numbers);
	*node = (struct sim_node){.kept = node->kept};
}

static int node_up(void *arg, uint32_t number, uint64_t now_ms)
{
	struct sim_nodes *nodes = arg;
	struct sim_node *node = &nodes->nodes[number];
	int error = native_new(nodes->spec.conf->node.flows.entries, &node->native);
	struct dp_tables *tables;

	if (error) {
		node->native = NULL;
		return error;
	}
	node->numbers = calloc(ABI_BACKENDS, sizeof(*node->numbers));
	if (!node->numbers)
		return -ENOMEM;
	tables = native_tables(node->native);
	tables->node->flow_secret = sim_mix(nodes->spec.seed + number, now_ms);
	tables->node->vip_secret = sim_mix(nodes->spec.seed + number, now_ms + 1);
	nodes->fresh = node;
	error = load(nodes, node, now_ms);
	nodes->fresh = NULL;
	if (!error)
		balancer_settle(node->balancer, now_ms);
	return error;
}

/* --- what happens --- */

static void backend_changed(void *arg, size_t backend, uint64_t now_ms)
{
	struct sim_nodes *nodes = arg;
	const struct edition *edition = nodes->edition;
	size_t member = 0;

	while (member < edition->pool.backend_count && edition->numbers[member] != backend)
		member++;
	if (member == edition->pool.backend_count)
		return;
	for (uint32_t i = 0; i < nodes->spec.nodes; i++) {
		if (nodes->nodes[i].native)
			tell(nodes, &nodes->nodes[i], member, now_ms);
	}
}

static int members_changed(void *arg, uint64_t now_ms)
{
	struct sim_nodes *nodes = arg;
	struct edition *old = nodes->edition;
	int error = edition_new(nodes, &nodes->edition);

	if (error)
		return error;
	for (uint32_t i = 0; i < nodes->spec.nodes && !error; i++) {
		struct sim_node *node = &nodes->nodes[i];

		if (!node->native)
			continue;
		balancer_free(node->balancer);
		node->balancer = NULL;
		error = load(nodes, node, now_ms);
	}
	edition_free(old);
	return error;
}

static void settle(void *arg, uint64_t now_ms)
{
	struct sim_nodes *nodes = arg;

	for (uint32_t i = 0; i < nodes->spec.nodes; i++) {
		if (nodes->nodes[i].balancer)
			balancer_settle(nodes->nodes[i].balancer, now_ms);
	}
}

static uint64_t deadline_ms(void *arg, uint64_t now_ms)
{
	struct sim_nodes *nodes = arg;
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < nodes->spec.nodes; i++) {
		uint64_t deadline = nodes->nodes[i].balancer
					    ? balancer_deadline_ms(nodes->nodes[i].balancer, now_ms)
					    : UINT64_MAX;

		if (deadline < first)
			first = deadline;
	}
	return first;
}

static void tick(void *arg, uint64_t now_ms)
{
	struct sim_nodes *nodes = arg;

	for (uint32_t i = 0; i < nodes->spec.nodes; i++) {
		struct balancer *balancer = nodes->nodes[i].balancer;

		if (!balancer)
			continue;
		balancer_tick(balancer, now_ms);
		/* One look through the flow table, which takes a node some seconds. */
		while (balancer_survey(balancer, now_ms) <= SURVEY_PAUSE_MS)
			;
	}
}

static bool node_has_state(const struct sim_node *node)
{
	const struct dp_tables *tables = native_tables(node->native);
	uint32_t record = balancer_service_record(node->balancer, 0);
	const struct abi_service *service = &tables->services[record];
	uint32_t first = balancer_first_slot(node->balancer, 0);
	uint32_t size = pool_table_size(balancer_pool(node->balancer, 0));

	if (service->flags & (ABI_SERVICE_TRACK | ABI_SERVICE_FLIP))
		return true;
	for (uint32_t slot = first; slot < first + size; slot++) {
		if (tables->slots[slot] & (ABI_SLOT_TRANSITION | ABI_SLOT_DOUBT))
			return true;
	}
	return false;
}

static bool has_state(void *arg)
{
	struct sim_nodes *nodes = arg;

	for (uint32_t i = 0; i < nodes->spec.nodes; i++) {
		if (nodes->nodes[i].balancer && node_has_state(&nodes->nodes[i]))
			return true;
	}
	return false;
}

static struct sim_answer send_packet(void *arg, uint32_t number, struct sim_tuple tuple,
				     enum sim_segment segment, uint64_t now_ns)
{
	static const uint8_t flags[] = {
		[SIM_SYN] = PKT_TCP_SYN,
		[SIM_DATA] = PKT_TCP_ACK,
		[SIM_FIN] = PKT_TCP_FIN | PKT_TCP_ACK,
	};
	struct sim_answer answer = {SIM_NOBODY, SIM_NOBODY};
	struct sim_nodes *nodes = arg;
	struct sim_node *node;
	struct pkt packet;
	uint32_t backend, second;

	if (number == SIM_NO_NODE)
		return answer;
	node = &nodes->nodes[number];
	packet = node->packet;
	packet.src.word[3] = tuple.client;
	packet.sport = tuple.port;
	packet.tcp_flags = flags[segment];
	backend = native_choose(node->native, &packet, now_ns, &second);
	if (backend)
		answer.backend = node->numbers[backend];
	if (second)
		answer.second = node->numbers[second];
	return answer;
}

/* --- life --- */

int sim_nodes_new(const struct sim_nodes_spec *spec, const struct sim_fleet *fleet,
		  struct sim_nodes **ret)
{
	struct sim_nodes *nodes = calloc(1, sizeof(*nodes));
	int error = nodes ? 0 : -ENOMEM;

	if (error)
		return error;
	nodes->spec = *spec;
	nodes->fleet = fleet;
	nodes->nodes = calloc(spec->nodes, sizeof(*nodes->nodes));
	error = nodes->nodes ? edition_new(nodes, &nodes->edition) : -ENOMEM;
	if (error)
		sim_nodes_free(nodes);
	else
		*ret = nodes;
	return error;
}

void sim_nodes_free(struct sim_nodes *nodes)
{
	if (!nodes)
		return;
	for (uint32_t i = 0; nodes->nodes && i < nodes->spec.nodes; i++) {
		node_down(nodes, i);
		generations_fini(&nodes->nodes[i].kept);
	}
	edition_free(nodes->edition);
	free(nodes->nodes);
	free(nodes);
}

struct sim_weir sim_nodes_weir(struct sim_nodes *nodes)
{
	return (struct sim_weir){
		.arg = nodes,
		.node_up = node_up,
		.node_down = node_down,
		.backend = backend_changed,
		.members = members_changed,
		.settle = settle,
		.deadline_ms = deadline_ms,
		.tick = tick,
		.has_state = has_state,
		.packet = send_packet,
	};
}

uint64_t sim_nodes_memory(const struct conf *conf, uint32_t table_size)
{
	return (uint64_t)dp_flow_buckets(conf->node.flows.entries) * sizeof(struct abi_bucket) +
	       ABI_SLOTS * sizeof(uint64_t) + (ABI_VIPS + ABI_VIP_RANGES) * sizeof(struct abi_vip) +
	       ABI_SERVERS * sizeof(struct abi_server) + ABI_SERVICES * sizeof(struct abi_service) +
	       ABI_BACKENDS * sizeof(struct abi_backend) +
	       (uint64_t)table_size * 64; /* base table, overlay and what changes of it */
}

const char *sim_nodes_error(const struct sim_nodes *nodes)
{
	return nodes->err.text;
}

struct sim_nodes_stats sim_nodes_stats(const struct sim_nodes *nodes)
{
	struct sim_nodes_stats stats = nodes->past;

	for (uint32_t i = 0; i < nodes->spec.nodes; i++) {
		const struct native *native = nodes->nodes[i].native;

		if (!native)
			continue;
		stats.recorded += native_event_count(native, ABI_EVENT_FLOW_NEW);
		stats.skipped += native_event_count(native, ABI_EVENT_FLOW_SKIPPED);
		stats.evicted += native_event_count(native, ABI_EVENT_FLOW_EVICTED);
	}
	return stats;
}
