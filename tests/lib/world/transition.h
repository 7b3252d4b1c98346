/* SPDX-License-Identifier: BSD-2-Clause */
/* A part of world.h: services whose slots, or whose tables, have changed lately. */
#pragma once

#include "engine/tables.h"

enum {
	WORLD_OLD_SLOT = 4000, /* FLIP's old table begins there, with slots to spare */
	WORLD_OLD_SLOTS = 101,
};

void world_fill_transitions(struct dp_tables *tables);
/* The word of a service's slots, all of them. */
void world_set_word(struct dp_tables *tables, uint32_t service, uint64_t word);
