/* SPDX-License-Identifier: BSD-2-Clause */
/* Each service by itself and with its pool: what its settings say of each other. */
#include <netinet/in.h>
#include <string.h>

#include "conf/verify/verify.h"

static struct entries pool_names(struct reader *reader, const struct conf *conf)
{
	struct entries names = entries_new(reader, conf->pool_count);

	for (size_t i = 0; i < conf->pool_count; i++) {
		struct entry *entry =
			entries_add(reader, &names, conf->pools[i].name, &conf->pools[i].name);

		if (entry)
			entry->index = i;
	}
	entries_refuse_twins(reader, &names, "pool");
	return names;
}

static void resolve_pool(struct reader *reader, const struct conf *conf,
			 const struct entries *names, struct conf_service *service)
{
	const struct tree_node *node = reader_node(reader, &service->pool);
	const struct entry *found;
	const char *name;

	if (!node)
		return;
	name = node->text;
	found = entries_find(names, name);
	if (found) {
		service->pool = &conf->pools[found->index];
		conf->pools[found->index].second_chance |= service->second_chance;
	} else if (names->count == conf->pool_count) {
		reader_error(reader, reader_place(reader, &service->pool, service->place),
			     "pool %s is not in this file, expected the name of one that is",
			     quote(name, strlen(name)).text);
	}
}

/* Linux gives a connection another flow label when it repeats itself. */
static void check_flow_label(struct reader *reader, const struct conf_service *service)
{
	if (service->policy != CONF_POLICY_FLOW_LABEL || service->tracking == CONF_TRACKING_ALWAYS)
		return;
	for (size_t i = 0; i < service->listen_count; i++) {
		uint8_t proto = service->listens[i].proto;

		if (proto != IPPROTO_TCP && proto != CONF_PROTO_ANY)
			continue;
		reader_error(reader, reader_place(reader, &service->policy, service->place),
			     "policy flow-label would lose TCP connections, whose label changes "
			     "after a timeout, expected tracking: always or listens on UDP alone");
		return;
	}
}

/* The option of IPv4 has no room for an IPv6 address, and the other way round nothing gains. */
static void check_ipopt(struct reader *reader, const struct conf_service *service)
{
	bool first4;

	if (service->forward != CONF_FORWARD_IPOPT || !service->pool || !service->vip_count ||
	    addr_is_none(&service->vips[0].addr))
		return;
	first4 = addr_is4(&service->vips[0].addr);
	for (size_t i = 1; i < service->vip_count; i++) {
		if (addr_is4(&service->vips[i].addr) == first4 ||
		    addr_is_none(&service->vips[i].addr))
			continue;
		reader_error(reader, reader_place(reader, &service->vips[i], service->place),
			     "service \"%s\" forwards by ipopt and has VIPs of both families, "
			     "expected one family",
			     verify_name(service->name));
		return;
	}
	for (size_t i = 0; i < service->pool->backend_count; i++) {
		const struct conf_backend *backend = &service->pool->backends[i];

		if (addr_is4(&backend->address) == first4 || addr_is_none(&backend->address))
			continue;
		reader_error(reader, reader_place(reader, &backend->address, backend->place),
			     "backend \"%s\" is of another family than the VIPs of service "
			     "\"%s\", which ipopt cannot carry, expected one family",
			     verify_name(backend->name), verify_name(service->name));
		return;
	}
}

/* No other mode has room for the other owner's address. */
static void check_second_chance(struct reader *reader, const struct conf_service *service)
{
	if (!service->second_chance || service->forward == CONF_FORWARD_GUE)
		return;
	reader_error(reader, reader_place(reader, &service->second_chance, service->place),
		     "service \"%s\" forwards by %s, which can name no second backend, expected "
		     "forward: gue, or no second_chance",
		     verify_name(service->name), conf_forward_name(service->forward));
}

static const char *lookup_misses(const struct conf_service *service)
{
	if (service->tracking != CONF_TRACKING_ALWAYS)
		return "is not tracking: always";
	if (service->policy == CONF_POLICY_QUIC_CID)
		return "has policy: quic-cid";
	if (service->tcp_server_id)
		return "has tcp_server_id";
	return service->second_chance ? "has second_chance" : NULL;
}

/*
 * Two slots are offered to flows that nothing else decides for, and are known of a flow by its
 * entry alone. Entries that say nothing of their slot must not hold up its transition for those who
 * wait for it.
 */
static void check_lookup(struct reader *reader, const struct conf *conf,
			 const struct conf_service *service)
{
	struct conf_place place = reader_place(reader, &service->lookup, service->place);
	const char *misses = lookup_misses(service);

	if (service->lookup != CONF_LOOKUP_DUAL)
		return;
	if (misses)
		reader_error(reader, place,
			     "service \"%s\" %s, expected lookup: single, or tracking: always "
			     "without quic-cid, tcp_server_id and second_chance",
			     verify_name(service->name), misses);
	for (size_t i = 0; i < conf->service_count; i++) {
		const struct conf_service *other = &conf->services[i];

		if (!service->pool || other->pool != service->pool ||
		    other->tracking != CONF_TRACKING_TRANSITION || other == service)
			continue;
		reader_error(reader, place,
			     "service \"%s\" has the same pool and tracking: transition, expected "
			     "lookup: single, or a pool of its own",
			     verify_name(other->name));
		return;
	}
}

/* Ends when the list of errors is full: all services may share a pool of all backends. */
static void check_ids(struct reader *reader, const struct conf_service *service)
{
	const struct conf_pool *pool = service->pool;
	unsigned bits = service->quic.length * 8U;

	if (service->policy != CONF_POLICY_QUIC_CID || service->quic.cid != CONF_CID_QUIC_LB ||
	    !pool || !bits)
		return;
	for (size_t i = 0; i < pool->backend_count && !reader->errors->dropped; i++) {
		const struct conf_backend *backend = &pool->backends[i];

		if ((uint64_t)backend->server_id >> bits == 0)
			continue;
		reader_error(reader, reader_place(reader, &backend->server_id, backend->place),
			     "server_id %u of backend \"%s\" does not fit the quic.length of %u in "
			     "service \"%s\", expected %llu at most",
			     backend->server_id, verify_name(backend->name), service->quic.length,
			     verify_name(service->name), (1ULL << bits) - 1);
	}
}

/* --- access lists --- */

static void add_access(struct reader *reader, struct entries *entries, const struct prefix *list,
		       size_t count, const char *owner)
{
	for (size_t i = 0; i < count; i++) {
		struct entry *entry =
			entries_add(reader, entries, verify_prefix(reader, &list[i]), &list[i]);

		if (entry)
			entry->owner = owner;
	}
}

/* The default, also where it is written, is no list at all. */
static bool allows_all(const struct conf_service *service)
{
	return service->allow_count == 2 && service->allow[0].length == 0 &&
	       service->allow[1].length == 0;
}

static void check_access(struct reader *reader, struct conf_service *service)
{
	struct entries entries;

	if (service->allow_count + service->deny_count == 0)
		return;
	entries = entries_new(reader, service->allow_count + service->deny_count);
	add_access(reader, &entries, service->allow, service->allow_count, "allow");
	add_access(reader, &entries, service->deny, service->deny_count, "deny");
	entries_refuse_twins(reader, &entries, "prefix");
	for (size_t i = 0; i < service->deny_count; i++) {
		if (service->deny[i].length || !reader_node(reader, &service->deny[i]))
			continue;
		reader_error(reader, reader_place(reader, &service->deny[i], service->place),
			     "deny holds every address of a family, expected longer prefixes, or "
			     "allow without that family");
	}
	if (allows_all(service))
		service->allow_count = 0;
}

void verify_services(struct reader *reader, struct conf *conf)
{
	struct entries names = entries_new(reader, conf->service_count);
	struct entries pools = pool_names(reader, conf);

	for (size_t i = 0; i < conf->service_count; i++) {
		struct conf_service *service = &conf->services[i];

		entries_add(reader, &names, service->name, &service->name);
		resolve_pool(reader, conf, &pools, service);
		verify_prefixes_once(reader, service->vips, service->vip_count, "VIP");
		verify_ports(reader, service);
		check_flow_label(reader, service);
		check_ipopt(reader, service);
		check_second_chance(reader, service);
		check_ids(reader, service);
		check_access(reader, service);
	}
	for (size_t i = 0; i < conf->service_count; i++)
		check_lookup(reader, conf, &conf->services[i]);
	entries_refuse_twins(reader, &names, "service");
}
