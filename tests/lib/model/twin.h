/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One slot of a pool, and all that can happen to it: the rules by which its word follows its
 * members' states, said by the tests' own hand and small enough that every history can be tried.
 * Whom the slot belongs to while some are not usable is a list, the first usable of which serves.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/tables.h"

enum {
	TWIN_MEMBERS = 3,
	TWIN_ORDERS = 6,       /* in which they may be asked */
	TWIN_FIRST_RECORD = 1, /* of backends */
	TWIN_SLOTS = 2,        /* the table before a flip and after it, each of one slot */
};

enum twin_health { TWIN_UP, TWIN_DOWN, TWIN_EXPIRED /* down, beyond on_down_keep */ };
enum twin_admin { TWIN_ACTIVE, TWIN_DRAIN, TWIN_MAINT, TWIN_REMOVED };

/* All state; no holes, so that it can be compared as bytes. */
struct twin {
	uint8_t health[TWIN_MEMBERS];
	uint8_t admin[TWIN_MEMBERS];
	uint8_t order;
	uint8_t at;       /* which of the slots is the present table */
	uint8_t flipping; /* the other one is the old table */
	uint8_t flip_age; /* in steps of time, up to one more than matters */
	uint8_t since_age;
	uint8_t relied_age; /* since a flow went on without an entry */
	uint8_t lowered;    /* members that stopped taking flows since the word last followed */
	uint8_t pad[3];
	uint64_t words[TWIN_SLOTS];
};

struct twin_limits {
	uint8_t members; /* that take part */
	uint8_t idle;    /* steps of time without a packet that end a connection */
	uint8_t late;    /* the same for datagrams */
};

uint32_t twin_flags(const struct twin *twin, uint32_t member);
/* The first usable one's record; 0: nobody is. */
uint32_t twin_owner(const struct twin *twin, const struct twin_limits *limits);
bool twin_is_settled(const struct twin *twin, const struct twin_limits *limits);

/* What happens. Each returns whether anything did. */
bool twin_set_health(struct twin *twin, const struct twin_limits *limits, uint32_t member,
		     enum twin_health health);
/* To and from TWIN_REMOVED it is a change of the file: the word follows at once. */
bool twin_set_admin(struct twin *twin, const struct twin_limits *limits, uint32_t member,
		    enum twin_admin admin);
/* The word follows the members. */
bool twin_settle(struct twin *twin, const struct twin_limits *limits);
/* Another base table. */
bool twin_set_order(struct twin *twin, const struct twin_limits *limits, uint8_t order);
/* Another size, seed or policy: a new table with its own order. */
bool twin_flip(struct twin *twin, const struct twin_limits *limits, uint8_t order);
/* A daemon that comes up again takes the words as they are, and every change as of now. */
bool twin_restart(struct twin *twin);
/* A step of time; then a transition ends if it may. `pinned`: a live entry names another. */
void twin_step(struct twin *twin, const struct twin_limits *limits);
void twin_end(struct twin *twin, const struct twin_limits *limits, bool pinned);
