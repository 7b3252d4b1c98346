// SPDX-License-Identifier: BSD-2-Clause
#include "tests/lib/model/space.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka wants the two above, and what space.h has */
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Beside each state. */
struct node {
	uint32_t from; /* the one before */
	uint16_t action;
	uint16_t depth;
};

struct found {
	const struct space *space;
	uint8_t *states;
	struct node *nodes;
	size_t count, room;
	uint64_t *seen; /* an open-addressed set of hashes; 0: free */
	size_t seen_room;
};

static uint8_t *state_of(const struct found *found, size_t node)
{
	return found->states + node * found->space->size;
}

static bool see_in(uint64_t *set, size_t room, uint64_t hash)
{
	size_t at = hash & (room - 1);

	for (; set[at]; at = (at + 1) & (room - 1)) {
		if (set[at] == hash)
			return false;
	}
	set[at] = hash;
	return true;
}

static void grow_seen(struct found *found)
{
	size_t room = found->seen_room ? 2 * found->seen_room : 1 << 16;
	uint64_t *set = calloc(room, sizeof(*set));

	assert_non_null(set);
	for (size_t i = 0; i < found->seen_room; i++) {
		if (found->seen[i])
			see_in(set, room, found->seen[i]);
	}
	free(found->seen);
	found->seen = set;
	found->seen_room = room;
}

static void grow(struct found *found)
{
	found->room = found->room ? 2 * found->room : 1 << 14;
	found->nodes = realloc(found->nodes, found->room * sizeof(*found->nodes));
	found->states = realloc(found->states, found->room * found->space->size);
	assert_non_null(found->nodes);
	assert_non_null(found->states);
}

/* Unless it is known. */
static void add(struct found *found, const void *state, struct node node)
{
	uint64_t hash = XXH3_64bits(state, found->space->size) | 1;

	if (2 * found->count >= found->seen_room)
		grow_seen(found);
	if (!see_in(found->seen, found->seen_room, hash))
		return;
	if (found->count == found->room)
		grow(found);
	memcpy(state_of(found, found->count), state, found->space->size);
	found->nodes[found->count++] = node;
}

static void tell_history(const struct found *found, uint32_t node)
{
	char text[32];

	if (node == 0)
		return;
	tell_history(found, found->nodes[node].from);
	print_error("%s; ", found->space->say(found->nodes[node].action, text));
}

static void expand(struct found *found, uint32_t node, void *next)
{
	const struct space *space = found->space;

	for (uint32_t action = 0; action < space->actions; action++) {
		struct node then = {node, (uint16_t)action,
				    (uint16_t)(found->nodes[node].depth + 1)};
		const char *wrong;
		bool done;
		char text[32];

		memcpy(next, state_of(found, node), space->size);
		wrong = space->act(next, action, &done);
		if (!done)
			continue;
		if (wrong) {
			tell_history(found, node);
			fail_msg("%s: %s: %s", space->name, space->say(action, text), wrong);
		}
		add(found, next, then);
	}
}

static unsigned int depth_of(const struct space *space)
{
	const char *text = getenv("MODEL_DEEPER");

	return space->depth + (text ? (unsigned int)strtoul(text, NULL, 10) : 0);
}

void space_search(const struct space *space, const void *first)
{
	struct found found = {.space = space};
	unsigned int depth = depth_of(space);
	void *next = malloc(space->size);

	assert_non_null(next);
	add(&found, first, (struct node){0, 0, 0});
	for (uint32_t node = 0; node < found.count && found.nodes[node].depth < depth; node++)
		expand(&found, node, next);
	print_message("# %s: %zu states, %u actions at most\n", space->name, found.count,
		      found.nodes[found.count - 1].depth);
	free(next);
	free(found.states);
	free(found.nodes);
	free(found.seen);
}
