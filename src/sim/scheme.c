/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/scheme.h"

#include <errno.h>
#include <stdlib.h>

#include "base/factor.h"
#include "hash/maglev.h"
#include "hash/ring.h"
#include "pkt/hash.h"

/* Who can take new flows, and their numbers. */
struct usable {
	struct maglev_member *members;
	uint16_t *numbers;
	size_t count;
	uint32_t tokens; /* of a ring, a unit of weight */
};

/*
 * Weights are in hundredths, for shares. A ring has RING_TOKENS_DEFAULT tokens a unit of weight as
 * configured, however the weights of those that are left can be divided: else a share of one would
 * change the tokens of all.
 */
static void divide_weights(struct usable *usable, uint32_t configured)
{
	uint32_t factor = 0;

	for (size_t i = 0; i < usable->count; i++)
		factor = factor_common(usable->members[i].weight, factor);
	for (size_t i = 0; i < usable->count; i++)
		usable->members[i].weight /= factor;
	if (usable->count)
		usable->tokens =
			(uint32_t)((uint64_t)RING_TOKENS_DEFAULT * factor / (100ULL * configured));
	if (!usable->tokens)
		usable->tokens = 1;
}

static int list_usable(const struct sim_fleet *fleet, struct usable *ret)
{
	bool backups = sim_fleet_needs_backups(fleet);
	uint32_t configured = 0;

	*ret = (struct usable){
		.members = calloc(fleet->count + 1, sizeof(*ret->members)),
		.numbers = calloc(fleet->count + 1, sizeof(*ret->numbers)),
	};
	if (!ret->members || !ret->numbers)
		return -ENOMEM;
	for (size_t i = 0; i < fleet->count; i++) {
		const struct sim_backend *backend = &fleet->backends[i];

		if (backend->present)
			configured = factor_common(backend->weight, configured);
		if (!sim_backend_usable(backend) || (backend->backup && !backups))
			continue;
		ret->members[ret->count] =
			(struct maglev_member){backend->identity, backend->weight * backend->share};
		ret->numbers[ret->count++] = (uint16_t)i;
	}
	divide_weights(ret, configured);
	return 0;
}

static int build_maglev(const struct sim_fleet *fleet, const struct usable *usable, uint32_t *slots)
{
	return maglev_build(usable->members, usable->count, fleet->seed, fleet->table_size, slots);
}

static int build_ring(const struct sim_fleet *fleet, const struct usable *usable, uint32_t *slots)
{
	struct ring *ring;
	int error = ring_new(usable->members, usable->count, fleet->seed, usable->tokens,
			     fleet->table_size, &ring);

	if (error)
		return error;
	for (uint32_t slot = 0; slot < fleet->table_size; slot++)
		slots[slot] = ring_base(ring, slot);
	ring_free(ring);
	return 0;
}

/* A turn a unit of weight, in the list's order. */
static uint32_t modulo_size(const struct usable *usable)
{
	uint64_t size = 0;

	for (size_t i = 0; i < usable->count; i++)
		size += usable->members[i].weight;
	return size > SIM_MODULO_MAX ? 0 : (uint32_t)size;
}

static int build_modulo(const struct usable *usable, uint32_t *slots)
{
	uint32_t at = 0;

	for (size_t i = 0; i < usable->count; i++) {
		for (uint32_t turn = 0; turn < usable->members[i].weight; turn++)
			slots[at++] = (uint32_t)i;
	}
	return 0;
}

static int build(struct sim_scheme *scheme, const struct sim_fleet *fleet,
		 const struct usable *usable)
{
	uint32_t size = scheme->kind == SIM_MODULO ? modulo_size(usable) : fleet->table_size;
	uint32_t *slots = calloc(size + 1, sizeof(*slots));
	uint16_t *table = calloc(size + 1, sizeof(*table));
	int error = slots && table ? 0 : -ENOMEM;

	if (!error && scheme->kind == SIM_MODULO)
		error = size || !usable->count ? build_modulo(usable, slots) : -ERANGE;
	else if (!error && usable->count)
		error = scheme->kind == SIM_RING ? build_ring(fleet, usable, slots)
						 : build_maglev(fleet, usable, slots);
	if (!error) {
		free(scheme->table);
		scheme->table = table;
		scheme->size = usable->count ? size : 0;
		for (uint32_t slot = 0; slot < scheme->size; slot++)
			table[slot] = usable->numbers[slots[slot]];
		table = NULL;
	}
	free(slots);
	free(table);
	return error;
}

int sim_scheme_build(struct sim_scheme *scheme, const struct sim_fleet *fleet)
{
	struct usable usable;
	int error = list_usable(fleet, &usable);

	if (!error)
		error = build(scheme, fleet, &usable);
	free(usable.members);
	free(usable.numbers);
	return error;
}

uint16_t sim_scheme_choose(const struct sim_scheme *scheme, uint64_t hash)
{
	if (!scheme->size)
		return SIM_NOBODY;
	if (scheme->kind == SIM_MODULO)
		return scheme->table[(uint32_t)(hash >> 32) % scheme->size];
	return scheme->table[pkt_hash_below(hash, scheme->size)];
}
