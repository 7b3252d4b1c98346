/* SPDX-License-Identifier: BSD-2-Clause */
/* What services have of the same VIPs: listens beside each other, and addresses of backends that
 * are no VIPs. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "conf/source.h"
#include "conf/verify/verify.h"

/* The distinct listens of one VIP. */
struct group {
	const struct entry *listens[CONF_VIP_LISTENS_MAX];
	size_t count;
};

struct context {
	struct reader *reader;
	const struct conf *conf;
	struct neighbours *neighbours;
	size_t neighbour_count, neighbour_room;
};

/* --- listens beside each other --- */

static bool holds(const struct conf_listen *wide, const struct conf_listen *narrow)
{
	return wide->proto == CONF_PROTO_ANY ||
	       (wide->proto == narrow->proto && wide->first <= narrow->first &&
		wide->last >= narrow->last);
}

static bool overlap(const struct conf_listen *a, const struct conf_listen *b)
{
	return a->proto == b->proto && a->first <= b->last && b->first <= a->last && !holds(a, b) &&
	       !holds(b, a);
}

static bool is_before(const struct entry *a, const struct entry *b)
{
	if (a->place.line != b->place.line)
		return a->place.line < b->place.line;
	return a->place.column < b->place.column;
}

static void check_overlap(struct reader *reader, const struct entry *a, const struct entry *b)
{
	const struct entry *first = is_before(a, b) ? a : b, *second = first == a ? b : a;
	char one[CONF_LISTEN_TEXT_MAX], other[CONF_LISTEN_TEXT_MAX];

	if (!overlap(a->at, b->at))
		return;
	reader_error(reader, second->place,
		     "%s of %s overlaps %s of %s in line %d on VIP %.*s, expected one within the "
		     "other or none in common",
		     conf_listen_format(second->at, one), second->owner,
		     conf_listen_format(first->at, other), first->owner,
		     source_line(first->place.line), (int)strcspn(a->key, " "), a->key);
}

/* Kept to be looked at later, together with the same two of other VIPs. */
static void add_neighbours(struct context *context, const struct entry *a, const struct entry *b)
{
	struct neighbours *grown = context->neighbours;
	size_t count = context->neighbour_count;

	if (count == context->neighbour_room) {
		context->neighbour_room = count ? count * 2 : 64;
		grown = arena_array(context->reader->scratch, context->neighbour_room,
				    sizeof(*grown));
		if (count)
			memcpy(grown, context->neighbours, count * sizeof(*grown));
		context->neighbours = grown;
	}
	grown[count] = (struct neighbours){
		.a = &context->conf->services[a->index],
		.b = &context->conf->services[b->index],
		.listen_a = a->at,
		.listen_b = b->at,
		.vip = a->key,
	};
	context->neighbour_count++;
}

static void check_neighbours(struct context *context, const struct entry *a, const struct entry *b)
{
	const struct conf_service *services = context->conf->services;

	check_overlap(context->reader, a, b);
	if (a->index != b->index && (verify_changes_ports(services[a->index].forward) ||
				     verify_changes_ports(services[b->index].forward)))
		add_neighbours(context, a, b);
}

/* --- endpoints --- */

/* The key is "VIP proto/port", so that sorting gathers an address's listens. */
static void add_endpoints(struct reader *reader, const struct conf_service *service, size_t index,
			  struct entries *entries)
{
	const char *owner = verify_label(reader, "service", service->name);

	for (size_t i = 0; i < service->vip_count; i++) {
		const char *vip = verify_prefix(reader, &service->vips[i]);

		if (!reader_node(reader, &service->vips[i]))
			continue;
		for (size_t j = 0; j < service->listen_count; j++) {
			const struct conf_listen *listen = &service->listens[j];
			char text[CONF_LISTEN_TEXT_MAX];
			const char *key = arena_printf(reader->scratch, "%s %s", vip,
						       conf_listen_format(listen, text));
			struct entry *entry = entries_add(reader, entries, key, listen);

			if (!entry)
				continue;
			entry->owner = owner;
			entry->index = index;
		}
	}
}

static void count_vip(struct reader *reader, const struct entry *entry, size_t vips[2])
{
	bool range = memchr(entry->key, '/', strcspn(entry->key, " ")) != NULL;
	int most = range ? CONF_VIP_RANGES_MAX : CONF_VIPS_MAX;

	if (++vips[range] == (size_t)most + 1)
		reader_error(reader, entry->place,
			     "there are more than %d VIPs%s, expected %d at most in all services",
			     most, range ? " that are prefixes" : "", most);
}

static void add_listen(struct context *context, const struct entry *entry, struct group *group)
{
	if (group->count == CONF_VIP_LISTENS_MAX) {
		reader_error(context->reader, entry->place,
			     "VIP %.*s has more than %d listens, expected %d at most over all "
			     "services",
			     (int)strcspn(entry->key, " "), entry->key, CONF_VIP_LISTENS_MAX,
			     CONF_VIP_LISTENS_MAX);
		group->count++;
	}
	if (group->count > CONF_VIP_LISTENS_MAX)
		return;
	for (size_t i = 0; i < group->count; i++)
		check_neighbours(context, group->listens[i], entry);
	group->listens[group->count++] = entry;
}

static void check_endpoints(struct context *context, const struct entries *entries)
{
	const char *vip = "", *last = "";
	struct group group = {0};
	size_t vips[2] = {0};

	for (size_t i = 0; i < entries->count; i++) {
		const struct entry *entry = &entries->list[i];

		if (strncmp(vip, entry->key, strcspn(entry->key, " ") + 1) != 0) {
			vip = entry->key;
			group.count = 0;
			count_vip(context->reader, entry, vips);
		}
		if (strcmp(last, entry->key) != 0)
			add_listen(context, entry, &group);
		last = entry->key;
	}
}

/* --- backends that are VIPs --- */

static int compare_prefixes(const void *a, const void *b)
{
	const struct prefix *x = a, *y = b;
	int order = memcmp(x->addr.bytes, y->addr.bytes, sizeof(x->addr.bytes));

	return order ? order : (int)x->length - (int)y->length;
}

/* Prefixes hold each other or have nothing in common: the outermost are left, sorted. */
static size_t keep_outermost(struct prefix *list, size_t count)
{
	size_t kept = 0;

	qsort(list, count, sizeof(*list), compare_prefixes);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || !prefix_has(&list[kept - 1], &list[i].addr))
			list[kept++] = list[i];
	}
	return kept;
}

static bool any_has(const struct prefix *list, size_t count, const struct addr *addr)
{
	size_t low = 0, high = count;

	/* The last that begins at the address or before it is left of `low`. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (memcmp(list[middle].addr.bytes, addr->bytes, sizeof(addr->bytes)) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && prefix_has(&list[low - 1], addr);
}

static void check_backends_apart(struct reader *reader, const struct conf *conf)
{
	size_t count = 0;
	struct prefix *vips;

	for (size_t i = 0; i < conf->service_count; i++)
		count += conf->services[i].vip_count;
	vips = arena_array(reader->scratch, count, sizeof(*vips));
	count = 0;
	for (size_t i = 0; i < conf->service_count; i++) {
		const struct conf_service *service = &conf->services[i];

		for (size_t j = 0; j < service->vip_count; j++) {
			if (reader_node(reader, &service->vips[j]))
				vips[count++] = service->vips[j];
		}
	}
	count = keep_outermost(vips, count);
	for (size_t i = 0; i < conf->pool_count; i++) {
		for (size_t j = 0; j < conf->pools[i].backend_count; j++) {
			const struct conf_backend *backend = &conf->pools[i].backends[j];
			char text[ADDR_TEXT_MAX];

			if (!any_has(vips, count, &backend->address))
				continue;
			reader_error(
				reader, reader_place(reader, &backend->address, backend->place),
				"address %s of backend \"%s\" is a VIP, expected one of the "
				"host's own",
				addr_format(&backend->address, text), verify_name(backend->name));
		}
	}
}

void verify_listens(struct reader *reader, const struct conf *conf)
{
	struct context context = {.reader = reader, .conf = conf};
	struct entries endpoints;
	size_t most = 0;

	for (size_t i = 0; i < conf->service_count; i++)
		most += conf->services[i].vip_count * conf->services[i].listen_count;
	endpoints = entries_new(reader, most);
	for (size_t i = 0; i < conf->service_count; i++)
		add_endpoints(reader, &conf->services[i], i, &endpoints);
	/* A VIP that a service has twice was reported, and is not once more for each listen. */
	entries_drop_repeated(&endpoints);
	entries_refuse_twins(reader, &endpoints, "VIP and listen");
	check_endpoints(&context, &endpoints);
	verify_ways_back(reader, conf, context.neighbours, context.neighbour_count);
	check_backends_apart(reader, conf);
}
