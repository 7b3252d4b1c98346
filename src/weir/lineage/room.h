/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of this room have of each other. */
#pragma once

#include "weir/lineage/lineage.h"

int lineage_prefix_order(const struct prefix *one, const struct prefix *two);

/* Fill `services` and `sources`. 0 or -ENOMEM. */
int lineage_find_services(struct lineage *lineage);
/* Fills `pools`, which are all LINEAGE_NONE, when `pairs` are known. 0 or -ENOMEM. */
int lineage_find_pools(struct lineage *lineage);
