/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports that change between VIP and backend: which modes can, and that there is one way back. An
 * answer leaves the backend from its own port; the agent knows by VIP, protocol and that port
 * which port of the VIP the client spoke to, so two listens of a VIP must not meet in one port of
 * a host.
 */
#include <stdlib.h>
#include <string.h>

#include "conf/verify/verify.h"

/* Backends looked at over all pairs of services: a second of work, far beyond any real file. */
enum { STEPS_MAX = 4 * 1024 * 1024 };

bool verify_changes_ports(enum conf_forward forward)
{
	return forward == CONF_FORWARD_GENEVE || forward == CONF_FORWARD_IPOPT;
}

static bool is_one(const struct conf_listen *listen)
{
	return listen->first == listen->last;
}

/* --- a service by itself --- */

static void refuse_port(struct reader *reader, const struct conf_service *service,
			const struct conf_backend *backend, const struct conf_listen *listen)
{
	char text[CONF_LISTEN_TEXT_MAX];
	const char *ports = conf_listen_format(listen, text);

	if (listen->proto != CONF_PROTO_ANY)
		ports = strchr(text, '/') + 1;
	reader_error(reader, reader_place(reader, &backend->port, backend->place),
		     "backend \"%s\" has port %u but service \"%s\" listens on %s: %s cannot "
		     "change ports%s, expected the same port or none",
		     verify_name(backend->name), backend->port, verify_name(service->name), ports,
		     conf_forward_name(service->forward),
		     verify_changes_ports(service->forward) ? " of more than one" : "");
}

static void refuse_two(struct reader *reader, const struct conf_service *service,
		       const struct conf_backend *backend, const struct conf_listen *const two[2])
{
	char one[CONF_LISTEN_TEXT_MAX], other[CONF_LISTEN_TEXT_MAX];

	reader_error(reader, reader_place(reader, &backend->port, backend->place),
		     "%s and %s of service \"%s\" would meet in port %u of backend \"%s\", with no "
		     "way back, expected a service for each or no port",
		     conf_listen_format(two[0], one), conf_listen_format(two[1], other),
		     verify_name(service->name), backend->port, verify_name(backend->name));
}

static void check_backend(struct reader *reader, const struct conf_service *service,
			  const struct conf_backend *backend)
{
	bool changes = verify_changes_ports(service->forward);

	for (size_t i = 0; i < service->listen_count; i++) {
		const struct conf_listen *listen = &service->listens[i];

		if (!listen->proto ||
		    (is_one(listen) && (changes || listen->first == backend->port)))
			continue;
		refuse_port(reader, service, backend, listen);
		return;
	}
	for (size_t i = 0; changes && i < service->listen_count; i++) {
		for (size_t j = 0; j < i; j++) {
			const struct conf_listen *two[] = {&service->listens[j],
							   &service->listens[i]};

			if (!two[1]->proto || two[0]->proto != two[1]->proto ||
			    two[0]->first == two[1]->first)
				continue;
			refuse_two(reader, service, backend, two);
			return;
		}
	}
}

/* Ends when the list of errors is full: all services may share a pool of all backends. */
void verify_ports(struct reader *reader, const struct conf_service *service)
{
	const struct conf_pool *pool = service->pool;

	for (size_t i = 0; pool && i < pool->backend_count && !reader->errors->dropped; i++) {
		if (pool->backends[i].port)
			check_backend(reader, service, &pool->backends[i]);
	}
}

/* --- two services of one VIP --- */

struct context {
	struct reader *reader;
	const struct conf *conf;
	const struct conf_backend ***sorted; /* a pool's backends; NULL: not needed yet */
	size_t steps;
};

static int compare_ends(const struct addr *addr, uint16_t port, const struct conf_backend *backend)
{
	int order = memcmp(addr->bytes, backend->address.bytes, sizeof(addr->bytes));

	return order ? order : (int)port - (int)backend->port;
}

static int compare_backends(const void *a, const void *b)
{
	const struct conf_backend *x = *(const struct conf_backend *const *)a;

	return compare_ends(&x->address, x->port, *(const struct conf_backend *const *)b);
}

static const struct conf_backend **sorted(struct context *context, const struct conf_pool *pool)
{
	const struct conf_backend ***ret = &context->sorted[pool - context->conf->pools];

	if (*ret)
		return *ret;
	*ret = arena_array(context->reader->scratch, pool->backend_count, sizeof(**ret));
	for (size_t i = 0; i < pool->backend_count; i++)
		(*ret)[i] = &pool->backends[i];
	qsort(*ret, pool->backend_count, sizeof(**ret), compare_backends);
	return *ret;
}

static bool has_end(struct context *context, const struct conf_pool *pool, const struct addr *addr,
		    uint16_t port)
{
	const struct conf_backend **list = sorted(context, pool);
	size_t low = 0, high = pool->backend_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_ends(addr, port, list[middle]);

		if (order == 0)
			return true;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

static void refuse_meeting(struct context *context, const struct neighbours *pair,
			   const struct conf_backend *backend)
{
	char one[CONF_LISTEN_TEXT_MAX], other[CONF_LISTEN_TEXT_MAX];

	reader_error(context->reader, reader_place(context->reader, &backend->port, backend->place),
		     "%s of service \"%s\" and %s of \"%s\" on VIP %.*s would meet in port %u of "
		     "backend \"%s\", with no way back, expected another port",
		     conf_listen_format(pair->listen_a, one), verify_name(pair->a->name),
		     conf_listen_format(pair->listen_b, other), verify_name(pair->b->name),
		     (int)strcspn(pair->vip, " "), pair->vip, backend->port,
		     verify_name(backend->name));
}

/* Whether what service a sends to another port of a host reaches a port that b uses there. */
static void check_way_back(struct context *context, const struct neighbours *pair)
{
	const struct conf_listen *a = pair->listen_a, *b = pair->listen_b;
	const struct conf_pool *pool = pair->a->pool, *other = pair->b->pool;

	if (!pool || !other || !verify_changes_ports(pair->a->forward) || !is_one(a) ||
	    (a->proto != b->proto && b->proto != CONF_PROTO_ANY))
		return;
	context->steps += pool->backend_count;
	if (context->steps > STEPS_MAX)
		return;
	for (size_t i = 0; i < pool->backend_count; i++) {
		const struct conf_backend *backend = &pool->backends[i];
		const struct addr *addr = &backend->address;
		uint16_t port = backend->port;

		if (!port || port == a->first)
			continue;
		if (!has_end(context, other, addr, port) &&
		    !(b->first <= port && port <= b->last && has_end(context, other, addr, 0)))
			continue;
		refuse_meeting(context, pair, backend);
		return;
	}
}

static int compare_listens(const struct conf_listen *a, const struct conf_listen *b)
{
	if (a->proto != b->proto)
		return a->proto - b->proto;
	return a->first != b->first ? a->first - b->first : a->last - b->last;
}

static int compare_services(const struct conf_service *a, const struct conf_service *b)
{
	if (a->pool != b->pool)
		return a->pool < b->pool ? -1 : 1;
	return verify_changes_ports(a->forward) - verify_changes_ports(b->forward);
}

/* 0: what is true of the one pair is true of the other. */
static int compare_neighbours(const void *a, const void *b)
{
	const struct neighbours *x = a, *y = b;
	int order = compare_services(x->a, y->a);

	order = order ? order : compare_services(x->b, y->b);
	order = order ? order : compare_listens(x->listen_a, y->listen_a);
	return order ? order : compare_listens(x->listen_b, y->listen_b);
}

static int compare_places(const void *a, const void *b)
{
	const struct neighbours *x = a, *y = b;
	int order = compare_neighbours(a, b);

	if (order)
		return order;
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return strcmp(x->vip, y->vip);
}

void verify_ways_back(struct reader *reader, const struct conf *conf, struct neighbours *list,
		      size_t count)
{
	struct context context = {.reader = reader, .conf = conf};

	if (count == 0)
		return;
	context.sorted = arena_array(reader->scratch, conf->pool_count, sizeof(*context.sorted));
	qsort(list, count, sizeof(*list), compare_places);
	for (size_t i = 0; i < count && !reader->errors->dropped; i++) {
		struct neighbours turned = {list[i].b, list[i].a, list[i].listen_b,
					    list[i].listen_a, list[i].vip};

		if (i && compare_neighbours(&list[i - 1], &list[i]) == 0)
			continue;
		check_way_back(&context, &list[i]);
		check_way_back(&context, &turned);
	}
	if (context.steps > STEPS_MAX)
		reader_error(reader, (struct conf_place){1, 1},
			     "too many backends of services that share VIPs and change ports, "
			     "expected fewer");
}
