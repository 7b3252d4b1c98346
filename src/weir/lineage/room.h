/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of this room have of each other. */
#pragma once

#include "weir/lineage/lineage.h"

int lineage_prefix_order(const struct prefix *one, const struct prefix *two);

/* 0 or -errno; then there is nothing to be freed. */
int lineage_side_of(const struct conf *conf, struct lineage_side *ret);
int lineage_side_of_tables(const struct dp_tables *tables, struct lineage_side *ret);
void lineage_side_fini(struct lineage_side *side);

/* Fill `services` and `sources`. 0 or -ENOMEM. */
int lineage_find_services(struct lineage *lineage);
/* Fills `pools`, which are all LINEAGE_NONE, when `pairs` are known. 0 or -ENOMEM. */
int lineage_find_pools(struct lineage *lineage);
