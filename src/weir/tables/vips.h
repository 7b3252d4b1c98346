/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A configuration's VIPs in the packet path's tables: addresses, and prefixes with the records
 * that belong to them. Used while a configuration is brought into the tables; belongs to the
 * balancer. One thread.
 */
#pragma once

#include "base/err.h"
#include "conf/conf.h"
#include "engine/tables.h"

/* One VIP of one service. */
struct vips_named {
	struct prefix vip;
	size_t service; /* in the configuration */
	uint32_t place; /* that the first of a new prefix was given; 0: none */
};

/* A record that is left belongs to no prefix any more, but a packet may still look at it. */
enum vips_use { VIPS_FREE, VIPS_USED, VIPS_LEFT };

struct vips {
	const struct conf *conf;
	const uint32_t *services; /* records, in the configuration's order */
	struct dp_tables *tables;
	struct vips_named *named; /* all of the configuration, sorted by VIP */
	size_t named_count;
	struct dp_held
		*old; /* prefixes that were there before, sorted; those dropped have value 0 */
	size_t old_count;
	uint8_t use[ABI_VIP_RANGES]; /* of each record: enum vips_use */
};

/* Reads the tables as they are. -ENOSPC: what the configuration names does not fit. */
int vips_init(struct vips *vips, const struct conf *conf, const uint32_t *services,
	      struct dp_tables *tables, struct err *err);
void vips_fini(struct vips *vips);
/*
 * Finds places for all that it names beside what is there. A prefix that is new is put there at
 * once, as what packets for it have met so far. 0, or -errno and nothing has changed.
 */
int vips_reserve(struct vips *vips, struct err *err);
/* Undoes that. */
void vips_release(struct vips *vips);
/* Then writes all of it; those that stay are there throughout. */
void vips_write(struct vips *vips);
/*
 * Takes away what it does not name. Returns how many went: the records of prefixes are to be
 * cleared by vips_clear once no packet can have found one (dp_tables_wait).
 */
size_t vips_drop(struct vips *vips);
void vips_clear(struct vips *vips);

/* A prefix that is held, as it is written in a file. */
struct prefix vips_prefix(const struct abi_prefix *held);
