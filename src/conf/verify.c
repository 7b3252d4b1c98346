/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of values against each other, and what can only be resolved when all is read. A value
 * that was refused before is empty here, and is passed over. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "conf/room.h"
#include "hash/maglev.h"

enum { ENDPOINTS_MAX = CONF_VIPS_MAX * CONF_VIP_LISTENS_MAX, MTU6_MIN = 1280 };

/* --- what must come once --- */

/* A thing that must be the only one of its kind, as a text to sort by. */
struct entry {
	const char *key;
	const char *owner; /* 'backend "b1"' */
	struct conf_place place;
	size_t index; /* of what it belongs to, in its list */
};

struct entries {
	struct entry *list;
	size_t count;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	if (order)
		return order;
	if (x->place.line != y->place.line)
		return x->place.line - y->place.line;
	if (x->place.column != y->place.column)
		return x->place.column - y->place.column;
	return (x->index > y->index) - (x->index < y->index);
}

static int compare_key(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->key, ((const struct entry *)b)->key);
}

static struct entries entries_new(struct reader *reader, size_t most)
{
	return (struct entries){.list = arena_array(reader->scratch, most, sizeof(struct entry))};
}

static void entries_sort(struct entries *entries)
{
	qsort(entries->list, entries->count, sizeof(*entries->list), compare_entries);
}

static const struct entry *entries_find(const struct entries *entries, const char *key)
{
	const struct entry wanted = {.key = key};

	if (entries->count == 0)
		return NULL;
	return bsearch(&wanted, entries->list, entries->count, sizeof(wanted), compare_key);
}

/* `what` is that of which `owner` is to have one of its own. */
static void refuse_twins(struct reader *reader, struct entries *entries, const char *what)
{
	const struct entry *first = entries->list;

	entries_sort(entries);
	for (size_t i = 1; i < entries->count; i++) {
		const struct entry *entry = &entries->list[i];

		if (strcmp(first->key, entry->key) != 0)
			first = entry;
		else if (entry->owner)
			reader_error(reader, entry->place,
				     "%s %s of %s is that of %s in line %d, expected another", what,
				     entry->key, entry->owner, first->owner, first->place.line);
		else
			reader_error(reader, entry->place,
				     "%s %s is there already in line %d, expected it once", what,
				     entry->key, first->place.line);
	}
}

static void add_entry(const struct reader *reader, struct entries *entries, const char *key,
		      const void *at)
{
	struct entry *entry = &entries->list[entries->count];

	if (!key || !reader_node(reader, at))
		return;
	*entry = (struct entry){.key = key};
	entry->place = reader_place(reader, at, entry->place);
	entries->count++;
}

static const char *address_text(struct reader *reader, const struct addr *addr)
{
	char text[ADDR_TEXT_MAX];

	return arena_strdup(reader->scratch, addr_format(addr, text));
}

static const char *prefix_text(struct reader *reader, const struct prefix *prefix)
{
	char text[ADDR_TEXT_MAX];

	return arena_strdup(reader->scratch, prefix_format_short(prefix, text));
}

static void check_interfaces(struct reader *reader, const char *const *interfaces, size_t count)
{
	struct entries entries = entries_new(reader, count);

	for (size_t i = 0; i < count; i++)
		add_entry(reader, &entries, interfaces[i], &interfaces[i]);
	refuse_twins(reader, &entries, "interface");
}

static void check_vips_once(struct reader *reader, const struct prefix *vips, size_t count)
{
	struct entries entries = entries_new(reader, count);

	for (size_t i = 0; i < count; i++)
		add_entry(reader, &entries, prefix_text(reader, &vips[i]), &vips[i]);
	refuse_twins(reader, &entries, "VIP");
}

static const char *label(struct reader *reader, const char *kind, const char *name)
{
	return arena_printf(reader->scratch, "%s \"%s\"", kind, name ? name : "?");
}

/* --- pools --- */

static void size_table(struct reader *reader, struct conf_pool *pool)
{
	struct conf_place place = reader_place(reader, &pool->table_size, pool->place);

	if (pool->table_size == 0)
		pool->table_size = maglev_size_auto(pool->backend_count);
	if (pool->backend_count > pool->table_size)
		reader_error(reader, place,
			     "table_size %u is too small for %zu backends, expected auto or a slot "
			     "for each at least",
			     pool->table_size, pool->backend_count);
}

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
static void check_backends(struct reader *reader, const struct conf_pool *pool)
{
	struct entries names = entries_new(reader, pool->backend_count);
	struct entries identities = entries_new(reader, pool->backend_count);

	for (size_t i = 0; i < pool->backend_count; i++) {
		const struct conf_backend *backend = &pool->backends[i];
		const char *identity = address_text(reader, &backend->address);
		size_t before = identities.count;

		if (backend->port)
			identity = arena_printf(reader->scratch, "%s port %u", identity,
						backend->port);
		add_entry(reader, &names, backend->name, &backend->name);
		add_entry(reader, &identities, identity, &backend->address);
		if (identities.count > before)
			identities.list[before].owner = label(reader, "backend", backend->name);
	}
	refuse_twins(reader, &names, "backend");
	refuse_twins(reader, &identities, "address");
}

/* False when there are too many for any table: then nothing is compared with anything. */
static bool check_sums(struct reader *reader, const struct conf *conf)
{
	size_t backends = 0, slots = 0, endpoints = 0;

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
	for (size_t i = 0; i < conf->service_count; i++) {
		const struct conf_service *service = &conf->services[i];

		endpoints += service->vip_count * service->listen_count;
		if (endpoints > ENDPOINTS_MAX) {
			reader_error(reader, service->place,
				     "with this service there are %zu pairs of VIP and listen, "
				     "expected %d at most in all services",
				     endpoints, ENDPOINTS_MAX);
			return false;
		}
	}
	return true;
}

static struct entries pool_names(struct reader *reader, const struct conf *conf)
{
	struct entries names = entries_new(reader, conf->pool_count);

	for (size_t i = 0; i < conf->pool_count; i++) {
		size_t before = names.count;

		add_entry(reader, &names, conf->pools[i].name, &conf->pools[i].name);
		if (names.count > before)
			names.list[before].index = i;
	}
	refuse_twins(reader, &names, "pool");
	return names;
}

/* --- services --- */

static void resolve_pool(struct reader *reader, const struct conf *conf,
			 const struct entries *names, struct conf_service *service)
{
	const yaml_node_t *node = reader_node(reader, &service->pool);
	const struct entry *found;
	const char *name;

	if (!node)
		return;
	name = (const char *)node->data.scalar.value;
	found = entries_find(names, name);
	if (found)
		service->pool = &conf->pools[found->index];
	else if (names->count == conf->pool_count)
		reader_error(reader, reader_place(reader, &service->pool, service->place),
			     "pool %s is not in this file, expected the name of one that is",
			     quote(name, strlen(name)).text);
}

/* Probes go to the first TCP port of the first service that has one, unless a port is given. */
static void resolve_check_port(struct reader *reader, const struct conf *conf,
			       struct conf_pool *pool)
{
	struct conf_place place = reader_place(reader, &pool->check.type, pool->place);
	size_t users = 0;

	if (pool->check.type == CONF_CHECK_NONE || reader_node(reader, &pool->check.port))
		return;
	for (size_t i = 0; i < conf->service_count; i++) {
		const struct conf_service *service = &conf->services[i];

		if (service->pool != pool || service->listen_count == 0)
			continue;
		users++;
		for (size_t j = 0; j < service->listen_count; j++) {
			/* No protocol: this listen was refused, and may have been TCP. */
			if (service->listens[j].proto == IPPROTO_UDP)
				continue;
			pool->check.port = service->listens[j].first;
			return;
		}
	}
	if (users == 0)
		pool->check.type = CONF_CHECK_NONE; /* nobody to check it for: a warning says so */
	else
		reader_error(reader, place,
			     "the check of pool \"%s\" has no port and no service of the pool "
			     "listens on TCP, expected check: {port: PORT} or check: {type: none}",
			     pool->name ? pool->name : "?");
}

/* Ends when the list of errors is full: all services may share a pool of all backends. */
static void check_ports(struct reader *reader, const struct conf_service *service)
{
	const struct conf_pool *pool = service->pool;

	for (size_t i = 0; pool && i < pool->backend_count && !reader->errors->dropped; i++) {
		const struct conf_backend *backend = &pool->backends[i];

		for (size_t j = 0; backend->port && j < service->listen_count; j++) {
			if (service->listens[j].first == backend->port ||
			    service->listens[j].first == 0)
				continue;
			reader_error(reader, reader_place(reader, &backend->port, backend->place),
				     "backend \"%s\" has port %u but service \"%s\" listens on %u: "
				     "%s cannot change ports, expected the same port or none",
				     backend->name ? backend->name : "?", backend->port,
				     service->name ? service->name : "?", service->listens[j].first,
				     conf_forward_name(service->forward));
			break;
		}
	}
}

/* The key is "VIP proto/port", so that sorting gathers an address's listens. */
static void add_endpoints(struct reader *reader, const struct conf_service *service, size_t index,
			  struct entries *entries)
{
	const char *owner = label(reader, "service", service->name);

	for (size_t i = 0; i < service->vip_count; i++) {
		const char *vip = prefix_text(reader, &service->vips[i]);

		for (size_t j = 0; j < service->listen_count; j++) {
			const struct conf_listen *listen = &service->listens[j];
			size_t before = entries->count;
			char text[CONF_LISTEN_TEXT_MAX];
			const char *key = arena_printf(reader->scratch, "%s %s", vip,
						       conf_listen_format(listen, text));

			if (reader_node(reader, &service->vips[i]))
				add_entry(reader, entries, key, listen);
			if (entries->count == before)
				continue;
			entries->list[before].owner = owner;
			entries->list[before].index = index;
		}
	}
}

/* A VIP that a service has twice was reported as such, and not once more for each listen. */
static void drop_repeated(struct entries *entries)
{
	size_t kept = 0;

	entries_sort(entries);
	for (size_t i = 0; i < entries->count; i++) {
		if (kept == 0 || compare_entries(&entries->list[kept - 1], &entries->list[i]) != 0)
			entries->list[kept++] = entries->list[i];
	}
	entries->count = kept;
}

static void check_endpoints(struct reader *reader, const struct entries *entries)
{
	const char *vip = "", *last = "";
	size_t vips = 0, listens = 0;

	for (size_t i = 0; i < entries->count; i++) {
		const struct entry *entry = &entries->list[i];
		size_t length = strcspn(entry->key, " ") + 1;

		if (strncmp(vip, entry->key, length) != 0) {
			vip = entry->key;
			listens = 0;
			vips++;
			if (vips == CONF_VIPS_MAX + 1)
				reader_error(reader, entry->place,
					     "there are more than %d VIPs, expected %d at most in "
					     "all services",
					     CONF_VIPS_MAX, CONF_VIPS_MAX);
		}
		listens += strcmp(last, entry->key) != 0;
		last = entry->key;
		if (listens == CONF_VIP_LISTENS_MAX + 1)
			reader_error(reader, entry->place,
				     "VIP %.*s has more than %d listens, expected %d at most over "
				     "all services",
				     (int)length - 1, entry->key, CONF_VIP_LISTENS_MAX,
				     CONF_VIP_LISTENS_MAX);
	}
}

static void check_backends_apart(struct reader *reader, const struct conf *conf)
{
	size_t most = 0;
	struct entries vips;

	for (size_t i = 0; i < conf->service_count; i++)
		most += conf->services[i].vip_count;
	vips = entries_new(reader, most);
	for (size_t i = 0; i < conf->service_count; i++) {
		const struct conf_service *service = &conf->services[i];

		for (size_t j = 0; j < service->vip_count; j++)
			add_entry(reader, &vips, prefix_text(reader, &service->vips[j]),
				  &service->vips[j]);
	}
	entries_sort(&vips);
	for (size_t i = 0; i < conf->pool_count; i++) {
		for (size_t j = 0; j < conf->pools[i].backend_count; j++) {
			const struct conf_backend *backend = &conf->pools[i].backends[j];
			char text[ADDR_TEXT_MAX];

			if (!entries_find(&vips, addr_format(&backend->address, text)))
				continue;
			reader_error(reader,
				     reader_place(reader, &backend->address, backend->place),
				     "address %s of backend \"%s\" is a VIP, expected one of the "
				     "host's own",
				     text, backend->name ? backend->name : "?");
		}
	}
}

static void verify_services(struct reader *reader, struct conf *conf, const struct entries *pools)
{
	struct entries names = entries_new(reader, conf->service_count);
	struct entries endpoints;
	size_t most = 0;

	for (size_t i = 0; i < conf->service_count; i++) {
		struct conf_service *service = &conf->services[i];

		add_entry(reader, &names, service->name, &service->name);
		resolve_pool(reader, conf, pools, service);
		check_vips_once(reader, service->vips, service->vip_count);
		check_ports(reader, service);
		most += service->vip_count * service->listen_count;
	}
	refuse_twins(reader, &names, "service");
	endpoints = entries_new(reader, most);
	for (size_t i = 0; i < conf->service_count; i++)
		add_endpoints(reader, &conf->services[i], i, &endpoints);
	drop_repeated(&endpoints);
	refuse_twins(reader, &endpoints, "VIP and listen");
	check_endpoints(reader, &endpoints);
	check_backends_apart(reader, conf);
}

/* --- the path's MTU --- */

static bool any6(const struct addr *addrs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!addr_is4(&addrs[i]) && !addr_is_none(&addrs[i]))
			return true;
	}
	return false;
}

static bool vips6(const struct prefix *vips, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (any6(&vips[i].addr, 1))
			return true;
	}
	return false;
}

static bool uses_ipv6(const struct conf *conf)
{
	for (size_t i = 0; i < conf->service_count; i++) {
		if (vips6(conf->services[i].vips, conf->services[i].vip_count))
			return true;
	}
	for (size_t i = 0; i < conf->pool_count; i++) {
		for (size_t j = 0; j < conf->pools[i].backend_count; j++) {
			if (any6(&conf->pools[i].backends[j].address, 1))
				return true;
		}
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

void verify_conf(struct reader *reader, struct conf *conf)
{
	struct entries pools;

	conf->node.has_source4 = reader_node(reader, &conf->node.source4) != NULL;
	conf->node.has_source6 = reader_node(reader, &conf->node.source6) != NULL;
	check_node_name(reader, &conf->node);
	check_interfaces(reader, conf->node.interfaces, conf->node.interface_count);
	for (size_t i = 0; i < conf->pool_count; i++)
		size_table(reader, &conf->pools[i]);
	if (!check_sums(reader, conf))
		return;
	for (size_t i = 0; i < conf->pool_count; i++) {
		check_timing(reader, &conf->pools[i].check, conf->pools[i].place);
		check_backends(reader, &conf->pools[i]);
	}
	pools = pool_names(reader, conf);
	verify_services(reader, conf, &pools);
	for (size_t i = 0; i < conf->pool_count; i++)
		resolve_check_port(reader, conf, &conf->pools[i]);
	check_mtu(reader, &conf->node.path_mtu, uses_ipv6(conf));
}

void verify_agent(struct reader *reader, struct conf_agent *agent)
{
	struct entries balancers = entries_new(reader, agent->balancer_count);

	check_interfaces(reader, agent->interfaces, agent->interface_count);
	check_vips_once(reader, agent->vips, agent->vip_count);
	for (size_t i = 0; i < agent->balancer_count; i++) {
		char text[ADDR_TEXT_MAX];

		prefix_format(&agent->balancers[i], text);
		add_entry(reader, &balancers, arena_strdup(reader->scratch, text),
			  &agent->balancers[i]);
	}
	refuse_twins(reader, &balancers, "balancer");
	check_mtu(reader, &agent->path_mtu, vips6(agent->vips, agent->vip_count));
}
