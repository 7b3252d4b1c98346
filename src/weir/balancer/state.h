/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a balancer is, shared by the files that make it: places.c gives everything its place in the
 * tables, reserve.c sees that there is room for all of it, write.c fills them, flips.c sees to
 * services whose slots change their meaning, survey.c walks the flow table, balancer.c does the
 * rest.
 */
#pragma once

#include "weir/balancer/balancer.h"
#include "weir/balancer/survey.h"
#include "weir/lineage/lineage.h"
#include "weir/tables/access.h"
#include "weir/tables/tiers.h"
#include "weir/tables/vips.h"

struct balanced_pool {
	struct pool *pool;
	uint64_t identity;
	uint32_t *records; /* of its members */
	uint32_t first_slot;
	uint64_t *words; /* while it begins: those that it began with (built.h), or NULL */
	struct balanced_pool *from; /* while it begins: what its pool was; NULL: there was none */
	bool stays;                 /* it is that pool */
	bool takes_name;     /* another pool had its name: what is counted by it begins anew */
	bool parts;          /* others have members of it: its slots stay as they were, for flows */
	bool adopted;        /* its slots are those of an earlier daemon, and mean the same */
	bool spoiled;        /* they are, but mean something else: there was no room for others */
	bool unsettled;      /* members changed since the slots were written */
	bool holds;          /* while it is written: flows may have entries in any of its slots */
	bool follows;        /* a service of it looks flows up in slots in transition alone */
	bool was_moving;     /* of what balancer_pool_news told: slots were in transition */
	uint64_t told_slots; /* and so many had changed hands */
	bool surveyed;       /* the survey that is under way looks at it */
};

/* What has been made ready for the writing, so that nothing of that can fail. */
struct reserved {
	struct access access;
	struct tiers tiers;
	struct vips vips;
	uint32_t *lists; /* of services: their access lists' numbers, 0: none */
	uint8_t *keep;   /* room to find what goes: a byte a record of backends and services */
	uint64_t *keys;  /* and of server ids: ABI_BACKENDS */
};

struct balancer {
	const struct conf *conf;
	struct dp_tables *tables;
	struct balancer_start start; /* while it begins */
	struct balancer *from;       /* the same: whose place it takes, or NULL */
	struct reserved *reserved;   /* the same: NULL: nothing is */
	struct balanced_pool *pools;
	uint32_t *services;      /* records */
	uint32_t *sources;       /* while it begins: of services: the record of who had its flows */
	struct lineage *lineage; /* while places are sought: who goes on as whom */
	struct lineage own_lineage; /* it, if it was not found before (built.h) */
	uint64_t *flip_until_ms;    /* of services; 0: none is under way */
	bool *flips_now;            /* of services: it begins with this balancer */
	uint64_t flips_from_ms;
	bool no_room_for_flips; /* old tables had to be given up */
	struct survey survey;
	uint64_t (*relying)(void *arg); /* of balancer_start */
	void *arg;
	uint64_t relied;       /* what it said last */
	uint64_t next_look_ms; /* when it is asked next */
};

/* Where the configuration's pool stands among the balancer's. */
static inline struct balanced_pool *balanced_pool(const struct balancer *balancer,
						  const struct conf_pool *pool)
{
	return &balancer->pools[pool - balancer->conf->pools];
}

static inline uint64_t *balanced_slots(const struct balancer *balancer,
				       const struct balanced_pool *pool)
{
	return balancer->tables->slots + pool->first_slot;
}

/* Where the balancer from which this one takes over has the service whose flows it has now;
 * SIZE_MAX: nowhere. */
size_t balanced_service_before(const struct balancer *balancer, size_t service);
/* The record that says of the service what was, until all is written: its own, or that of the one
 * from which it parts. */
static inline struct abi_service *balanced_source(const struct balancer *balancer, size_t service)
{
	return &balancer->tables->services[balancer->sources[service]];
}

/* --- claims.c: 0, or -errno and err; nothing of it is written --- */

/* Each member of each pool gets a record. */
int claims_find(struct balancer *balancer, struct err *err);

/* --- places.c: the same --- */

/* Who goes on as whom. */
int places_find_lineage(struct balancer *balancer, struct err *err);

/* Builds the pools, with records for their members. */
int places_build_pools(struct balancer *balancer, struct err *err);
int places_claim_services(struct balancer *balancer, struct err *err);
/* Each pool keeps its slots or gets free ones; those in use now stay whole until the end. */
int places_find_slots(struct balancer *balancer, struct err *err);
/* Writes whose the records are that had another owner, and what is fixed of each. */
void places_write(struct balancer *balancer);

/* --- reserve.c --- */

/* Room for all, in what packets do not look at yet. 0, or -errno, err, and all is as it was. */
int reserve_all(struct balancer *balancer, struct err *err);
/* Takes away first what the configuration does not name: its flows are cut a moment earlier. */
int reserve_make_room(struct balancer *balancer, struct err *err);
/* Nothing is left of it; `undo`: nor in the tables, for it was not written. */
void reserve_end(struct balancer *balancer, bool undo);

/* --- write.c --- */

/* At a start: what an earlier daemon's words say of the pools that have them. 0 or -ENOMEM. */
int write_adopt(struct balancer *balancer);
/* All is reserved. */
void write_all(struct balancer *balancer);
/* A member's flags as they are at `now_ms`, without UP while pool_member_returned. */
void write_flag(struct balancer *balancer, size_t pool, size_t member, uint64_t now_ms);
void write_flags(struct balancer *balancer, size_t pool, uint64_t now_ms);

/* --- balancer.c --- */

/*
 * Did flows go on without entries of late? They must not be taken for silent ones. When they did
 * is not known, so it is asked now and then while slots are in transition, and before any ends.
 */
void balancer_look_who_relies(struct balancer *balancer, uint64_t now_ms);

/* --- survey.c --- */

/* The survey of the balancer whose place this one takes. */
void survey_take_over(struct balancer *balancer);

/* --- flips.c --- */

/* Which services' flows come by another table or another policy than they went. */
void flips_find(struct balancer *balancer);
/* Says so in their records, before anything of theirs changes. */
void flips_write(struct balancer *balancer);
/* The service's; one that goes on over a start does, too, as pools do not know of it. */
bool flips_begins(const struct balancer *balancer, size_t service);
void flips_tick(struct balancer *balancer, uint64_t now_ms);
uint64_t flips_deadline_ms(const struct balancer *balancer);
/* For another idle time. */
void flips_wait(struct balancer *balancer, uint64_t now_ms);
