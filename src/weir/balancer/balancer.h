/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A configuration brought into the packet path's tables: which record each backend and service
 * has, where each pool's slots lie, what each VIP listens on; and from then on the changes that
 * health and next hops bring. The same for `weir run` (tables that packets read meanwhile, and
 * that an earlier daemon may have filled) and for `weir trace` (tables of its own). It does no
 * I/O; times are passed in. One thread.
 *
 * Records are known again by identity: a backend that was there keeps its record, so the flows
 * pinned to it stay, and its counters go on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/conf.h"
#include "engine/tables.h"
#include "pool/pool.h"
#include "weir/balancer/built.h"

struct balancer;

/* Until when tables that began empty name who only stands in for others (pool_adopt_slots). */
uint64_t balancer_starting_until_ms(const struct dp_tables *tables);

/* How a balancer begins; of one that takes another's place, how what is new in it does. */
struct balancer_start {
	enum pool_health health;    /* of backends that no earlier daemon left up */
	enum pool_health unchecked; /* the same of those in pools without checks */
	uint64_t now_ms;
	/* Records that get a new owner, for their counters start at zero; never NULL. */
	void (*new_backend)(void *arg, uint32_t record);
	void (*new_service)(void *arg, uint32_t record);
	/* A pool is built, nothing told to it and no table written yet: for what is to hold from
	 * the first packet on. May be NULL. */
	void (*prepare)(void *arg, const struct conf *conf, size_t at, struct pool *pool);
	/* How many flows, over all time, went on without an entry that they should have
	 * (ABI_EVENT_FLOW_RELIES). Asked as long as the balancer lives. NULL: none. */
	uint64_t (*relying)(void *arg);
	void *arg;
	/* Pools that are built already, which are taken out of it. NULL: none is. */
	struct built *built;
};

/*
 * Fills the tables. `conf` must outlive the balancer. Backends whose records an earlier daemon
 * left up are healthy to begin with. -ENOSPC: more than the tables hold.
 */
int balancer_new(const struct conf *conf, struct dp_tables *tables,
		 const struct balancer_start *start, struct balancer **ret, struct err *err);
/* One that was only prepared takes back what it has reserved. */
void balancer_free(struct balancer *balancer);

/*
 * Another configuration in place of the one that runs, as a start over its tables would bring it
 * in, but that what is known goes on: pools in which nothing changed are taken over as they are,
 * and of others what is known of their members and slots (pool_inherit).
 *
 * Prepares a balancer in place of `from`, which goes on as before. Packets meet nothing new. All
 * that can fail does so here: -ENOSPC, -ENOMEM. Then commit, or free, before anything of `from`
 * changes.
 */
int balancer_prepare(const struct conf *conf, struct balancer *from,
		     const struct balancer_start *start, struct balancer **ret, struct err *err);
/* Brings it into the tables, and frees the one whose place it takes. */
void balancer_commit(struct balancer *balancer);
/* Since the last commit: the pool is the same as before, but for what is to be told to it. */
bool balancer_pool_stays(const struct balancer *balancer, size_t pool);

const struct conf *balancer_conf(const struct balancer *balancer);
/* Pools, members and services are named by their place in the configuration. */
const struct pool *balancer_pool(const struct balancer *balancer, size_t pool);
/*
 * What became of a pool's slots since the last call: how many changed hands, and whether those in
 * transition have come to the end of it. False: neither.
 */
struct balancer_news {
	uint64_t slots;
	bool settled;
};
bool balancer_pool_news(struct balancer *balancer, size_t pool, struct balancer_news *ret);
uint32_t balancer_backend_record(const struct balancer *balancer, size_t pool, size_t member);
uint32_t balancer_first_slot(const struct balancer *balancer, size_t pool);
uint32_t balancer_service_record(const struct balancer *balancer, size_t service);

/*
 * The backend's record says it at once, so a flow that begins goes elsewhere (choose/choose.h); its
 * slots are given to others by balancer_settle, once for any number of changes.
 */
void balancer_set_health(struct balancer *balancer, size_t pool, size_t member,
			 enum pool_health health, uint64_t now_ms);
void balancer_set_admin(struct balancer *balancer, size_t pool, size_t member,
			enum pool_admin admin, uint64_t now_ms);
/* The operator's share of a backend's weight, 0 to 100. */
void balancer_set_share(struct balancer *balancer, size_t pool, size_t member, unsigned percent,
			uint64_t now_ms);
void balancer_settle(struct balancer *balancer, uint64_t now_ms);
/* NULL: the next hop is not known. */
void balancer_set_nexthop(struct balancer *balancer, size_t pool, size_t member,
			  const struct dp_nexthop *hop);
/* The node's own address of a family, the outer source where node.tunnel names none. */
void balancer_set_source(struct balancer *balancer, const struct addr *source);

/* What changes by time alone: call it at the deadline. UINT64_MAX: none. */
uint64_t balancer_deadline_ms(const struct balancer *balancer, uint64_t now_ms);
void balancer_tick(struct balancer *balancer, uint64_t now_ms);

/*
 * Slots stay in transition until the flow table is seen to hold nothing against their end. Does a
 * piece of looking, of a millisecond at most; returns in how many it wants to go on, UINT64_MAX:
 * when something has changed, or at the deadline.
 */
uint64_t balancer_survey(struct balancer *balancer, uint64_t now_ms);
/* The backend's live entries when the table was last looked through. */
uint32_t balancer_flows(const struct balancer *balancer, size_t pool, size_t member);
/* Whether the service's flows may still come from an old table (abi_service.old_table). */
bool balancer_service_flips(const struct balancer *balancer, size_t service);

/* What the packet path needs for it: bits of enum abi_feature. */
uint32_t balancer_features(const struct conf *conf);
