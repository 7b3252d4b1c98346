/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of values against each other, and what can only be resolved when all is read: the order
 * of it, what is the node's own, and the agent's file. */
#include <string.h>

#include "conf/verify/verify.h"
#include "hash/maglev.h"

enum {
	ENDPOINTS_MAX = (CONF_VIPS_MAX + CONF_VIP_RANGES_MAX) * CONF_VIP_LISTENS_MAX,
	MTU6_MIN = 1280,
};

static void check_interfaces(struct reader *reader, const char *const *interfaces, size_t count)
{
	struct entries entries = entries_new(reader, count);

	for (size_t i = 0; i < count; i++)
		entries_add(reader, &entries, interfaces[i], &interfaces[i]);
	entries_refuse_twins(reader, &entries, "interface");
}

/* --- sums --- */

static void size_table(struct reader *reader, struct conf_pool *pool)
{
	struct conf_place place = reader_place(reader, &pool->table_size, pool->place);
	const struct conf_key key = {.type = CONF_TYPE_TABLE_SIZE};
	char expected[EXPECTED_MAX];

	if (pool->table_size == 0)
		pool->table_size = maglev_size_auto(pool->backend_count);
	if (pool->hash == CONF_HASH_MAGLEV && !maglev_size_allowed(pool->table_size)) {
		conf_key_expected(&key, expected, sizeof(expected));
		reader_error(reader, place,
			     "table_size \"%u\" is not a size that Maglev allows, expected %s",
			     pool->table_size, expected);
	}
	if (pool->hash == CONF_HASH_MAGLEV && pool->backend_count > pool->table_size)
		reader_error(reader, place,
			     "table_size %u is too small for %zu backends, expected auto or a slot "
			     "for each at least",
			     pool->table_size, pool->backend_count);
}

static bool check_pool_sums(struct reader *reader, const struct conf *conf)
{
	size_t backends = 0, slots = 0;

	for (size_t i = 0; i < conf->pool_count; i++) {
		const struct conf_pool *pool = &conf->pools[i];

		backends += pool->backend_count;
		slots += pool->table_size;
		if (backends > CONF_BACKENDS_MAX) {
			reader_error(
				reader, pool->place,
				"with this pool there are %zu backends, expected %d at most in "
				"all pools",
				backends, CONF_BACKENDS_MAX);
			return false;
		}
		if (slots > CONF_SLOTS_MAX) {
			reader_error(
				reader, reader_place(reader, &pool->table_size, pool->place),
				"with this pool the tables have %zu slots, expected %d at most "
				"in all pools",
				slots, CONF_SLOTS_MAX);
			return false;
		}
	}
	return true;
}

static bool check_service_sums(struct reader *reader, const struct conf *conf)
{
	size_t endpoints = 0, access = 0;

	for (size_t i = 0; i < conf->service_count; i++) {
		const struct conf_service *service = &conf->services[i];

		endpoints += service->vip_count * service->listen_count;
		access += service->allow_count + service->deny_count;
		if (endpoints > ENDPOINTS_MAX) {
			reader_error(reader, service->place,
				     "with this service there are %zu pairs of VIP and listen, "
				     "expected %d at most in all services",
				     endpoints, ENDPOINTS_MAX);
			return false;
		}
		if (access > CONF_ACCESS_MAX) {
			reader_error(reader, service->place,
				     "with this service allow and deny have %zu prefixes, expected "
				     "%d at most in all services",
				     access, CONF_ACCESS_MAX);
			return false;
		}
	}
	return true;
}

/* --- the path's MTU --- */

static bool is6(const struct addr *addr)
{
	return !addr_is4(addr) && !addr_is_none(addr);
}

static bool uses_ipv6(const struct conf *conf)
{
	for (size_t i = 0; i < conf->service_count; i++) {
		if (verify_any6(conf->services[i].vips, conf->services[i].vip_count))
			return true;
	}
	for (size_t i = 0; i < conf->pool_count; i++) {
		for (size_t j = 0; j < conf->pools[i].backend_count; j++) {
			if (is6(&conf->pools[i].backends[j].address))
				return true;
		}
	}
	return false;
}

bool verify_any6(const struct prefix *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (is6(&list[i].addr))
			return true;
	}
	return false;
}

/* RFC 8200 section 5. */
static void check_mtu(struct reader *reader, const uint32_t *mtu, bool ipv6)
{
	struct conf_place start = {1, 1};

	if (*mtu && *mtu < MTU6_MIN && ipv6)
		reader_error(
			reader, reader_place(reader, mtu, start),
			"path_mtu %u is too small for the IPv6 addresses of this file, expected "
			"%d or more",
			*mtu, MTU6_MIN);
}

/* --- a node's file --- */

/* An agent's lock, socket and pins are named agent-NAME; a node's must not be the same. */
static void check_node_name(struct reader *reader, const struct conf_node *node)
{
	static const struct conf_place start = {1, 1};

	if (node->name && strncmp(node->name, "agent-", strlen("agent-")) == 0)
		reader_error(reader, reader_place(reader, &node->name, start),
			     "name \"%s\" is what an agent's files are called, expected a name "
			     "that does not begin with agent-",
			     node->name);
}

static void verify_node(struct reader *reader, struct conf_node *node)
{
	static const struct conf_place start = {1, 1};

	node->has_source4 = reader_node(reader, &node->source4) != NULL;
	node->has_source6 = reader_node(reader, &node->source6) != NULL;
	check_node_name(reader, node);
	check_interfaces(reader, node->interfaces, node->interface_count);
	verify_prefixes_once(reader, node->balancers, node->balancer_count, "balancer");
	if (node->decap && node->balancer_count == 0)
		reader_error(reader, reader_place(reader, &node->decap, start),
			     "decap is true but no balancers are believed, expected balancers: "
			     "[PREFIX, ...] beside it");
	/* There a frame from a host of the same machine may lack its checksum still. */
	if (node->engine == CONF_ENGINE_AF_XDP && node->xdp == CONF_XDP_GENERIC)
		reader_error(reader, reader_place(reader, &node->engine, start),
			     "engine af_xdp gets packets from drivers alone, expected xdp: native "
			     "or auto beside it");
}

void verify_conf(struct reader *reader, struct conf *conf)
{
	bool fits;

	verify_node(reader, &conf->node);
	for (size_t i = 0; i < conf->pool_count; i++)
		size_table(reader, &conf->pools[i]);
	/* With too many for any table nothing is compared with anything. */
	fits = check_pool_sums(reader, conf) && check_service_sums(reader, conf);
	if (!fits)
		return;
	verify_pools(reader, conf);
	verify_services(reader, conf);
	verify_listens(reader, conf);
	verify_announce(reader, conf);
	verify_checks(reader, conf);
	check_mtu(reader, &conf->node.path_mtu, uses_ipv6(conf));
}

/* --- an agent's file --- */

static const struct conf_place start = {1, 1};

static bool has_vip(const struct conf_agent *agent, const struct addr *addr)
{
	for (size_t i = 0; i < agent->vip_count; i++) {
		if (prefix_has(&agent->vips[i], addr))
			return true;
	}
	return false;
}

static void check_port(struct reader *reader, const struct conf_agent *agent,
		       const struct conf_port *port)
{
	char text[ADDR_TEXT_MAX];

	if (reader_node(reader, &port->vip) && !has_vip(agent, &port->vip))
		reader_error(reader, reader_place(reader, &port->vip, port->place),
			     "vip %s is none of the agent's, expected one of vips",
			     addr_format(&port->vip, text));
	if (port->to && port->listen.first == port->to)
		reader_error(reader, reader_place(reader, &port->to, port->place),
			     "port %u is that of listen, expected another, or this element left "
			     "out",
			     port->to);
}

/* A VIP's port goes to one port, and comes from one: else an answer has two ways back. */
static void check_agent_ports(struct reader *reader, const struct conf_agent *agent)
{
	struct entries listens = entries_new(reader, agent->port_count);
	struct entries ends = entries_new(reader, agent->port_count);

	for (size_t i = 0; i < agent->port_count; i++) {
		const struct conf_port *port = &agent->ports[i];
		const struct conf_listen end = {port->listen.proto, port->to, port->to};
		const char *vip = verify_address(reader, &port->vip);
		char text[CONF_LISTEN_TEXT_MAX];

		check_port(reader, agent, port);
		if (!port->listen.proto || !reader_node(reader, &port->vip))
			continue;
		conf_listen_format(&port->listen, text);
		entries_add(reader, &listens, arena_printf(reader->scratch, "%s %s", vip, text),
			    &port->listen);
		conf_listen_format(&end, text);
		entries_add(reader, &ends, arena_printf(reader->scratch, "%s %s", vip, text),
			    &port->to);
	}
	entries_refuse_twins(reader, &listens, "listen");
	entries_refuse_twins(reader, &ends, "port to which");
}

static bool takes(const struct conf_agent *agent, enum conf_forward mode)
{
	for (size_t i = 0; i < agent->forward_count; i++) {
		if (agent->forward[i] == mode)
			return true;
	}
	return false;
}

static void default_forward(struct reader *reader, struct conf_agent *agent)
{
	static const enum conf_forward modes[] = {CONF_FORWARD_IPIP, CONF_FORWARD_GRE,
						  CONF_FORWARD_GUE};

	agent->forward = arena_alloc(reader->arena, sizeof(modes));
	memcpy(agent->forward, modes, sizeof(modes));
	agent->forward_count = sizeof(modes) / sizeof(modes[0]);
}

/* An element that was refused has no node, and stands for no mode. */
static void check_agent_forward(struct reader *reader, struct conf_agent *agent)
{
	struct entries modes = entries_new(reader, agent->forward_count);

	for (size_t i = 0; i < agent->forward_count; i++)
		entries_add(reader, &modes, conf_forward_name(agent->forward[i]),
			    &agent->forward[i]);
	entries_refuse_twins(reader, &modes, "mode");
	if (agent->forward_count == 0)
		default_forward(reader, agent);
	if (agent->port_count && !takes(agent, CONF_FORWARD_GENEVE) &&
	    !takes(agent, CONF_FORWARD_IPOPT))
		reader_error(reader, agent->ports[0].place,
			     "ports are changed by geneve and ipopt alone, expected one of them "
			     "in forward");
	if (agent->peer_count && !takes(agent, CONF_FORWARD_GUE))
		reader_error(reader, reader_place(reader, &agent->peers[0], start),
			     "peers hand packets on by gue alone, expected it in forward");
}

static void check_netns(struct reader *reader, const struct conf_agent *agent)
{
	struct entries names = entries_new(reader, agent->netns_count);

	for (size_t i = 0; i < agent->netns_count; i++)
		entries_add(reader, &names, agent->netns[i], &agent->netns[i]);
	entries_refuse_twins(reader, &names, "network namespace");
}

void verify_agent(struct reader *reader, struct conf_agent *agent)
{
	check_interfaces(reader, agent->interfaces, agent->interface_count);
	verify_prefixes_once(reader, agent->vips, agent->vip_count, "VIP");
	verify_prefixes_once(reader, agent->balancers, agent->balancer_count, "balancer");
	verify_prefixes_once(reader, agent->peers, agent->peer_count, "peer");
	check_agent_forward(reader, agent);
	check_agent_ports(reader, agent);
	check_netns(reader, agent);
	check_mtu(reader, &agent->path_mtu, verify_any6(agent->vips, agent->vip_count));
}
