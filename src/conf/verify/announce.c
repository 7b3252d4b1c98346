/* SPDX-License-Identifier: BSD-2-Clause */
/* What is announced, how and to whom: values against each other. */
#include <string.h>

#include "conf/source.h"
#include "conf/verify/verify.h"

enum { AS_TRANS = 23456, AS_LAST_16 = 65535, SECOND_MS = 1000, TABLE_LOCAL = 255 };

static const struct conf_place start = {1, 1};

/* --- BGP --- */

/* RFC 6793 section 9, RFC 7300. */
static void check_asn(struct reader *reader, const uint32_t *asn, struct conf_place place)
{
	if (*asn == AS_TRANS || *asn == AS_LAST_16)
		reader_error(reader, reader_place(reader, asn, place),
			     "asn %u is reserved, expected another", *asn);
}

/* The protocol counts seconds. */
static void check_seconds(struct reader *reader, const uint64_t *time_ms, const char *name)
{
	if (*time_ms % SECOND_MS)
		reader_error(reader, reader_place(reader, time_ms, start),
			     "%s %llums is no whole number of seconds, expected one, such as %llus",
			     name, (unsigned long long)*time_ms,
			     (unsigned long long)(*time_ms / SECOND_MS + 1));
}

static void check_family(struct reader *reader, const struct addr *addr, bool is4, const char *name)
{
	char text[ADDR_TEXT_MAX];

	if (!addr_is_none(addr) && addr_is4(addr) != is4)
		reader_error(reader, reader_place(reader, addr, start), "%s %s is not IPv%d", name,
			     addr_format(addr, text), is4 ? 4 : 6);
}

/* Such an address is one of many, each on a link of its own. */
static void check_link(struct reader *reader, const struct conf_peer *peer)
{
	bool is_local = addr_is_link_local(&peer->address);

	if (is_local && !peer->interface)
		reader_error(
			reader, reader_place(reader, &peer->address, peer->place),
			"the router's address is link-local, expected its interface beside it");
	if (!is_local && peer->interface)
		reader_error(reader, reader_place(reader, &peer->interface, peer->place),
			     "interface is for link-local addresses, expected it to be left out");
	if (is_local && !addr_is_none(&peer->source))
		reader_error(reader, reader_place(reader, &peer->source, peer->place),
			     "on a link the interface's own address is used, expected source to "
			     "be left out");
	if (is_local && peer->hops)
		reader_error(reader, reader_place(reader, &peer->hops, peer->place),
			     "the router's address is of the link, expected hops to be left out");
}

static const char *name_router(struct reader *reader, const struct conf_peer *peer)
{
	char text[ADDR_TEXT_MAX];

	return arena_strdup(reader->scratch, addr_format_on(&peer->address, peer->interface, text));
}

static void check_peer(struct reader *reader, const struct conf_peer *peer)
{
	bool known = reader_node(reader, &peer->address), is4 = addr_is4(&peer->address);
	char text[ADDR_TEXT_MAX];

	check_asn(reader, &peer->asn, peer->place);
	if (peer->gtsm && peer->hops)
		reader_error(reader, reader_place(reader, &peer->gtsm, peer->place),
			     "gtsm says that the router is on the link, hops that it is not, "
			     "expected one of them");
	if (peer->password_file && *peer->password_file != '/')
		reader_error(reader, reader_place(reader, &peer->password_file, peer->place),
			     "password_file is no absolute path, expected one");
	if (!known)
		return;
	check_link(reader, peer);
	if (!addr_is_none(&peer->source) && addr_is4(&peer->source) != is4)
		reader_error(reader, reader_place(reader, &peer->source, peer->place),
			     "source %s is of another family than the router, expected IPv%d",
			     addr_format(&peer->source, text), is4 ? 4 : 6);
	if (peer->extended_next_hop && is4)
		reader_error(reader, reader_place(reader, &peer->extended_next_hop, peer->place),
			     "extended_next_hop is for IPv6 sessions, expected it to be left out");
}

static void check_bgp(struct reader *reader, const struct conf_bgp *bgp)
{
	struct entries addresses = entries_new(reader, bgp->peer_count);

	check_asn(reader, &bgp->asn, start);
	check_family(reader, &bgp->router_id, true, "router_id");
	check_family(reader, &bgp->next_hop4, true, "next_hop4");
	check_family(reader, &bgp->next_hop6, false, "next_hop6");
	check_seconds(reader, &bgp->hold_ms, "hold");
	check_seconds(reader, &bgp->graceful_restart_ms, "graceful_restart");
	for (size_t i = 0; i < bgp->peer_count; i++) {
		const struct addr *address = &bgp->peers[i].address;

		check_peer(reader, &bgp->peers[i]);
		entries_add(reader, &addresses, name_router(reader, &bgp->peers[i]), address);
	}
	entries_refuse_twins(reader, &addresses, "router");
}

/* --- services --- */

static void check_min_usable(struct reader *reader, const struct conf_service *service)
{
	const struct conf_announce *announce = &service->announce;

	if (service->pool && announce->min_usable > service->pool->backend_count)
		reader_error(reader, reader_place(reader, &announce->min_usable, service->place),
			     "min_usable %u is more than pool \"%s\" has backends, expected %zu at "
			     "most",
			     announce->min_usable, verify_name(service->pool->name),
			     service->pool->backend_count);
}

static bool same_list(const void *a, size_t a_count, const void *b, size_t b_count, size_t width)
{
	return a_count == b_count && (a_count == 0 || memcmp(a, b, a_count * width) == 0);
}

/* What two services say differently of the same route; NULL: nothing. */
static const char *difference(const struct conf_announce *a, const struct conf_announce *b)
{
	if (a->when != b->when)
		return "when";
	if (a->med != b->med)
		return "med";
	if (a->prepend != b->prepend)
		return "prepend";
	if (!same_list(a->communities, a->community_count, b->communities, b->community_count,
		       sizeof(*a->communities)))
		return "communities";
	if (!same_list(a->large_communities, a->large_community_count, b->large_communities,
		       b->large_community_count, sizeof(*a->large_communities)))
		return "large_communities";
	return NULL;
}

/* A VIP is one route, whoever shares it. Of two services one is told, once. */
static void check_shared(struct reader *reader, const struct conf *conf, struct entries *vips)
{
	size_t told = SIZE_MAX;

	entries_sort(vips);
	for (size_t i = 1; i < vips->count; i++) {
		const struct entry *a = &vips->list[i - 1], *b = &vips->list[i];
		const struct conf_service *first = &conf->services[a->index];
		const struct conf_service *second = &conf->services[b->index];
		const char *what;

		if (a->index == b->index || strcmp(a->key, b->key) != 0 || b->index == told)
			continue;
		what = difference(&first->announce, &second->announce);
		if (!what)
			continue;
		told = b->index;
		reader_error(reader, b->place,
			     "VIP %s is also of service \"%s\" in line %d, whose announce has "
			     "another %s, expected the same",
			     b->key, verify_name(first->name), source_line(first->place.line),
			     what);
	}
}

static void check_services(struct reader *reader, const struct conf *conf)
{
	struct entries vips;
	size_t count = 0;

	for (size_t i = 0; i < conf->service_count; i++) {
		check_min_usable(reader, &conf->services[i]);
		count += conf->services[i].vip_count;
	}
	vips = entries_new(reader, count);
	for (size_t i = 0; i < conf->service_count; i++) {
		const struct conf_service *service = &conf->services[i];

		for (size_t v = 0; v < service->vip_count; v++) {
			struct entry *entry = entries_add(reader, &vips,
							  verify_prefix(reader, &service->vips[v]),
							  &service->vips[v]);

			if (entry)
				entry->index = i;
		}
	}
	check_shared(reader, conf, &vips);
}

void verify_announce(struct reader *reader, const struct conf *conf)
{
	check_bgp(reader, &conf->bgp);
	if (conf->announcing.table == TABLE_LOCAL)
		reader_error(reader, reader_place(reader, &conf->announcing.table, start),
			     "table 255 is the kernel's own, expected another");
	if (conf->announcing.via == CONF_VIA_KERNEL_ROUTE && conf->bgp.asn)
		reader_error(reader, reader_place(reader, &conf->announcing.via, start),
			     "via is kernel-route while there is bgp, expected one of the two");
	check_services(reader, conf);
}
