// SPDX-License-Identifier: BSD-2-Clause
#include "tests/lib/world/transition.h"

#include "tests/lib/world/world.h"

void world_set_word(struct dp_tables *tables, uint32_t service, uint64_t word)
{
	uint32_t first = (uint32_t)tables->services[service].table;
	uint32_t size = (uint32_t)(tables->services[service].table >> 32);

	for (uint32_t slot = 0; slot < size; slot++)
		tables->slots[first + slot] = word;
}

void world_fill_transitions(struct dp_tables *tables)
{
	struct abi_service *flip = &tables->services[WORLD_FLIP];

	tables->node->old_slot_seed = 0x01d5eed01d5eed;
	world_set_word(tables, WORLD_MOVE,
		       abi_slot(WORLD_MOVE_B, WORLD_MOVED_B, 0) | ABI_SLOT_TRANSITION);
	world_set_word(tables, WORLD_LATE,
		       abi_slot(WORLD_LATE_B, WORLD_MOVED_B, 0) | ABI_SLOT_TRANSITION |
			       ABI_SLOT_LATE);
	world_set_word(tables, WORLD_FLIP, abi_slot(WORLD_FLIP_B, 0, 0) | ABI_SLOT_TRANSITION);
	flip->flags |= ABI_SERVICE_FLIP;
	flip->old_policy = ABI_POLICY_5TUPLE;
	flip->old_table = abi_table(WORLD_OLD_SLOT, WORLD_OLD_SLOTS);
	for (uint32_t slot = 0; slot < WORLD_OLD_SLOTS; slot++)
		tables->slots[WORLD_OLD_SLOT + slot] = abi_slot(WORLD_MOVED_B, 0, 0);
}
