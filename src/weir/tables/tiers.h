/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The balancers in front of this node, whose tunnels are taken off, in the packet path's tables.
 * Under running packets: who is believed before and after is so all the while. Used while a
 * configuration is brought into the tables; belongs to the balancer. One thread.
 */
#pragma once

#include "base/err.h"
#include "conf/conf.h"
#include "engine/tables.h"

struct tiers {
	const struct conf_node *node;
	struct dp_tables *tables;
	struct dp_held *old; /* who was believed before, sorted */
	size_t old_count;
};

/* Adds those that the node names. 0, or -errno and none has been added. */
int tiers_add(struct tiers *tiers, const struct conf_node *node, struct dp_tables *tables,
	      struct err *err);
/* Then either those go that it does not name, */
void tiers_drop(struct tiers *tiers);
/* or those that were added. */
void tiers_undo(struct tiers *tiers);
void tiers_fini(struct tiers *tiers);
