/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What we announce: a set of routes a family, in the order of their last change, each with that
 * change's number. A session needs to remember only how far it has told its router: what changed
 * twice before it got there is told once, and a router that does not read costs nothing but the
 * routes that were withdrawn meanwhile. Pure: no I/O, no clock. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/addr.h"
#include "bgp/speaker.h"

enum rib_family { RIB_IPV4, RIB_IPV6, RIB_FAMILIES };

struct rib_route {
	TAILQ_ENTRY(rib_route) link; /* by `change` */
	LIST_ENTRY(rib_route) chain; /* by prefix */
	uint64_t change;             /* the number of the last one, from 1 */
	bool withdrawn;              /* kept until every session has told so */
	struct bgp_route route;      /* its lists are the rib's */
};

struct rib;

/* How far one session is with one family. Zero: told nothing. */
struct rib_cursor {
	uint64_t told; /* every change up to this one */
	uint64_t skip; /* withdrawals up to this one the router knows or need not know */
	uint64_t held; /* the router has what it was told up to here, also while told anew */
};

struct rib *rib_new(void);
void rib_free(struct rib *rib);
enum rib_family rib_family_of(const struct prefix *prefix);

/* 1 if that changes something, else 0. -EINVAL, -ENOSPC (BGP_ROUTES_MAX), -ENOMEM. */
int rib_set(struct rib *rib, const struct bgp_route *route);
/* -ENOENT if it is not there. */
int rib_withdraw(struct rib *rib, const struct prefix *prefix);
void rib_withdraw_all(struct rib *rib);

size_t rib_count(const struct rib *rib);     /* announced */
size_t rib_withdrawn(const struct rib *rib); /* withdrawn and still kept */
/* Whether two routes can be in one UPDATE. */
bool rib_same_attributes(const struct bgp_route *a, const struct bgp_route *b);

/* For a session that just came up. */
void rib_cursor_begin(const struct rib *rib, struct rib_cursor *ret);
/* All is told once more; what is withdrawn meanwhile is told as ever. */
void rib_cursor_again(struct rib_cursor *cursor);
/* The first change not told, or NULL; and the one after `route`. Telling is `cursor->told =
 * route->change`, in this order. */
const struct rib_route *rib_first(const struct rib *rib, enum rib_family family,
				  const struct rib_cursor *cursor);
const struct rib_route *rib_after(const struct rib_route *route, const struct rib_cursor *cursor);
/* Up to here nothing is left to tell. */
void rib_cursor_told(struct rib_cursor *cursor, const struct rib_route *route);
/* Forgets what was withdrawn up to that change. */
void rib_prune(struct rib *rib, enum rib_family family, uint64_t change);
/* Below which rib_prune must not go for this session. */
uint64_t rib_cursor_needs(const struct rib_cursor *cursor);

/* Routes that the router has; changes that it was not told. These walk over all. */
size_t rib_held(const struct rib *rib, enum rib_family family, const struct rib_cursor *cursor);
size_t rib_pending(const struct rib *rib, enum rib_family family, const struct rib_cursor *cursor);
