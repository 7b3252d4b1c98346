/* SPDX-License-Identifier: BSD-2-Clause */
/* A part of world.h: VIPs that are prefixes, listens of all kinds, access lists. */
#pragma once

#include "engine/tables.h"

#define WORLD_ANY_VIP4    "198.51.100.100"
#define WORLD_ANY_VIP6    "2001:db8:10::100"
#define WORLD_POINT_VIP4  "198.18.5.5"
#define WORLD_POINT_VIP6  "2001:db8:20:5::5"
#define WORLD_GUARD_VIP4  "198.51.100.110"
#define WORLD_GUARD_VIP6  "2001:db8:10::110"
#define WORLD_GUARD6_VIP4 "198.51.100.111"
#define WORLD_GUARD6_VIP6 "2001:db8:10::111"

/* The prefixes and the lists; the rest stands in world.c's tables. */
void world_fill_vips(struct dp_tables *tables);
