/* SPDX-License-Identifier: BSD-2-Clause */
#include "bgp/rib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 8192 };

LIST_HEAD(bucket, rib_route);
TAILQ_HEAD(rib_list, rib_route);

struct rib {
	struct rib_list routes[RIB_FAMILIES];
	struct bucket buckets[BUCKETS];
	uint64_t change; /* the last number given */
	size_t count, withdrawn;
};

struct rib *rib_new(void)
{
	struct rib *rib = calloc(1, sizeof(*rib));

	if (!rib)
		return NULL;
	for (int family = 0; family < RIB_FAMILIES; family++)
		TAILQ_INIT(&rib->routes[family]);
	return rib;
}

enum rib_family rib_family_of(const struct prefix *prefix)
{
	return addr_is4(&prefix->addr) ? RIB_IPV4 : RIB_IPV6;
}

static struct bucket *bucket_of(struct rib *rib, const struct prefix *prefix)
{
	return &rib->buckets[addr_hash(&prefix->addr, prefix->length) % BUCKETS];
}

static struct rib_route *find(struct rib *rib, const struct prefix *prefix)
{
	struct rib_route *entry;

	LIST_FOREACH(entry, bucket_of(rib, prefix), chain)
	if (prefix_equal(&entry->route.prefix, prefix))
		return entry;
	return NULL;
}

static void free_lists(struct bgp_route *route)
{
	free((void *)route->communities);
	free((void *)route->large_communities);
	route->communities = NULL;
	route->large_communities = NULL;
	route->community_count = route->large_community_count = 0;
}

static void drop(struct rib *rib, struct rib_route *entry)
{
	TAILQ_REMOVE(&rib->routes[rib_family_of(&entry->route.prefix)], entry, link);
	LIST_REMOVE(entry, chain);
	free_lists(&entry->route);
	free(entry);
}

void rib_free(struct rib *rib)
{
	struct rib_route *entry;

	for (int family = 0; rib && family < RIB_FAMILIES; family++)
		while ((entry = TAILQ_FIRST(&rib->routes[family])))
			drop(rib, entry);
	free(rib);
}

bool rib_same_attributes(const struct bgp_route *a, const struct bgp_route *b)
{
	return a->has_med == b->has_med && (!a->has_med || a->med == b->med) &&
	       a->prepend == b->prepend && a->community_count == b->community_count &&
	       a->large_community_count == b->large_community_count &&
	       !memcmp(a->communities ?: (const uint32_t *)"",
		       b->communities ?: (const uint32_t *)"",
		       a->community_count * sizeof(*a->communities)) &&
	       !memcmp(a->large_communities ?: (const struct bgp_large *)"",
		       b->large_communities ?: (const struct bgp_large *)"",
		       a->large_community_count * sizeof(*a->large_communities));
}

static bool prefix_is_sound(const struct prefix *prefix)
{
	bool is4 = addr_is4(&prefix->addr);
	unsigned int first = is4 ? 96 + prefix->length : prefix->length;

	if (first > 128)
		return false;
	for (unsigned int bit = first; bit < 128; bit++)
		if (prefix->addr.bytes[bit / 8] & 0x80 >> bit % 8)
			return false;
	return true;
}

static bool is_sound(const struct bgp_route *route)
{
	return prefix_is_sound(&route->prefix) && route->prepend <= BGP_PREPEND_MAX &&
	       route->community_count <= BGP_COMMUNITIES_MAX &&
	       route->large_community_count <= BGP_COMMUNITIES_MAX;
}

/* A list's copy, or NULL for none; false if there is no memory. */
static bool copy_list(const void *list, size_t size, const void **ret)
{
	void *copy = size ? malloc(size) : NULL;

	if (size && !copy)
		return false;
	*ret = size ? memcpy(copy, list, size) : NULL;
	return true;
}

static int copy_route(const struct bgp_route *route, struct bgp_route *ret)
{
	const void *communities, *large;

	if (!copy_list(route->communities, route->community_count * sizeof(*route->communities),
		       &communities))
		return -ENOMEM;
	if (!copy_list(route->large_communities,
		       route->large_community_count * sizeof(*route->large_communities), &large)) {
		free((void *)communities);
		return -ENOMEM;
	}
	*ret = *route;
	ret->communities = communities;
	ret->large_communities = large;
	return 0;
}

/* A new entry, not announced yet and not counted. */
static struct rib_route *add(struct rib *rib, const struct prefix *prefix)
{
	struct rib_route *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->route.prefix = *prefix;
	LIST_INSERT_HEAD(bucket_of(rib, prefix), entry, chain);
	TAILQ_INSERT_TAIL(&rib->routes[rib_family_of(prefix)], entry, link);
	return entry;
}

static void changed(struct rib *rib, struct rib_route *entry)
{
	enum rib_family family = rib_family_of(&entry->route.prefix);

	entry->change = ++rib->change;
	TAILQ_REMOVE(&rib->routes[family], entry, link);
	TAILQ_INSERT_TAIL(&rib->routes[family], entry, link);
}

int rib_set(struct rib *rib, const struct bgp_route *route)
{
	struct rib_route *entry = find(rib, &route->prefix);
	bool is_there = entry && !entry->withdrawn;
	struct bgp_route copy;
	int code;

	if (!is_sound(route))
		return -EINVAL;
	if (is_there && rib_same_attributes(&entry->route, route))
		return 0;
	if (!is_there && rib->count >= BGP_ROUTES_MAX)
		return -ENOSPC;
	code = copy_route(route, &copy);
	if (code)
		return code;
	if (!entry)
		entry = add(rib, &route->prefix);
	if (!entry) {
		free_lists(&copy);
		return -ENOMEM;
	}
	free_lists(&entry->route);
	entry->route = copy;
	rib->withdrawn -= entry->withdrawn;
	rib->count += !is_there;
	entry->withdrawn = false;
	changed(rib, entry);
	return 1;
}

static void withdraw(struct rib *rib, struct rib_route *entry)
{
	entry->withdrawn = true;
	free_lists(&entry->route);
	rib->count--;
	rib->withdrawn++;
	changed(rib, entry);
}

int rib_withdraw(struct rib *rib, const struct prefix *prefix)
{
	struct rib_route *entry = find(rib, prefix);

	if (!entry || entry->withdrawn)
		return -ENOENT;
	withdraw(rib, entry);
	return 0;
}

void rib_withdraw_all(struct rib *rib)
{
	uint64_t last = rib->change;

	for (int family = 0; family < RIB_FAMILIES; family++) {
		struct rib_route *entry = TAILQ_FIRST(&rib->routes[family]), *next;

		/* What is withdrawn goes to the tail, past `last`. */
		for (; entry && entry->change <= last; entry = next) {
			next = TAILQ_NEXT(entry, link);
			if (!entry->withdrawn)
				withdraw(rib, entry);
		}
	}
}

size_t rib_count(const struct rib *rib)
{
	return rib->count;
}

size_t rib_withdrawn(const struct rib *rib)
{
	return rib->withdrawn;
}

void rib_cursor_begin(const struct rib *rib, struct rib_cursor *ret)
{
	*ret = (struct rib_cursor){.skip = rib->change};
}

void rib_cursor_again(struct rib_cursor *cursor)
{
	cursor->skip = rib_cursor_needs(cursor);
	cursor->told = 0;
}

uint64_t rib_cursor_needs(const struct rib_cursor *cursor)
{
	return cursor->told > cursor->skip ? cursor->told : cursor->skip;
}

static const struct rib_route *to_tell(const struct rib_route *entry,
				       const struct rib_cursor *cursor)
{
	while (entry && entry->withdrawn && entry->change <= cursor->skip)
		entry = TAILQ_NEXT(entry, link);
	return entry;
}

/* From the tail, as what is not told yet is there. */
const struct rib_route *rib_first(const struct rib *rib, enum rib_family family,
				  const struct rib_cursor *cursor)
{
	const struct rib_route *first = NULL, *entry;

	TAILQ_FOREACH_REVERSE(entry, &rib->routes[family], rib_list, link)
	{
		if (entry->change <= cursor->told)
			break;
		first = entry;
	}
	return to_tell(first, cursor);
}

const struct rib_route *rib_after(const struct rib_route *route, const struct rib_cursor *cursor)
{
	return to_tell(TAILQ_NEXT(route, link), cursor);
}

void rib_cursor_told(struct rib_cursor *cursor, const struct rib_route *route)
{
	cursor->told = route->change;
	if (cursor->held < cursor->told)
		cursor->held = cursor->told;
}

void rib_prune(struct rib *rib, enum rib_family family, uint64_t change)
{
	struct rib_route *entry = TAILQ_FIRST(&rib->routes[family]), *next;

	for (; rib->withdrawn && entry && entry->change <= change; entry = next) {
		next = TAILQ_NEXT(entry, link);
		if (!entry->withdrawn)
			continue;
		drop(rib, entry);
		rib->withdrawn--;
	}
}

size_t rib_held(const struct rib *rib, enum rib_family family, const struct rib_cursor *cursor)
{
	const struct rib_route *entry;
	size_t held = 0;

	TAILQ_FOREACH(entry, &rib->routes[family], link)
	{
		if (entry->change > cursor->held)
			break;
		held += !entry->withdrawn;
	}
	return held;
}

size_t rib_pending(const struct rib *rib, enum rib_family family, const struct rib_cursor *cursor)
{
	const struct rib_route *entry = rib_first(rib, family, cursor);
	size_t pending = 0;

	for (; entry; entry = rib_after(entry, cursor))
		pending++;
	return pending;
}
