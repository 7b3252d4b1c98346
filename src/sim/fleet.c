/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir sim in four parts. The fleet is the truth about the backends, and events change it. The
 * router says which node a flow comes to. Schemes say which backend gets its packets: tables as
 * others have them (scheme.c), and Weir's own nodes, which are not of this room: they are its
 * packet path and its tables, behind struct sim_weir. The run (run.c) lets every flow send packets
 * after each event, and compares whom they reach with whom the flow's connection is at.
 */
#include "sim/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void sim_fleet_init(struct sim_fleet *fleet)
{
	*fleet = (struct sim_fleet){.arena = arena_new()};
}

void sim_fleet_fini(struct sim_fleet *fleet)
{
	free(fleet->backends);
	arena_free(fleet->arena);
}

size_t sim_fleet_add(struct sim_fleet *fleet, const struct sim_backend *backend)
{
	struct sim_backend *new;

	if (fleet->count == SIM_BACKENDS_MAX)
		return SIM_NOBODY;
	if (fleet->count == fleet->room) {
		size_t room = fleet->room ? 2 * fleet->room : 16;

		new = realloc(fleet->backends, room * sizeof(*new));
		if (!new)
			return SIM_NOBODY;
		fleet->backends = new;
		fleet->room = room;
	}
	new = &fleet->backends[fleet->count];
	*new = *backend;
	new->name = arena_strdup(fleet->arena, backend->name);
	new->ends_ms = UINT64_MAX;
	return fleet->count++;
}

size_t sim_fleet_find(const struct sim_fleet *fleet, const char *name, size_t length)
{
	for (size_t i = 0; i < fleet->count; i++) {
		const char *known = fleet->backends[i].name;

		if (strlen(known) == length && memcmp(known, name, length) == 0)
			return i;
	}
	return SIM_NOBODY;
}

bool sim_backend_usable(const struct sim_backend *backend)
{
	return backend->present && !backend->unhealthy && !backend->drain && !backend->maint &&
	       backend->share && backend->weight;
}

bool sim_fleet_needs_backups(const struct sim_fleet *fleet)
{
	size_t usable = 0;

	for (size_t i = 0; i < fleet->count; i++)
		usable += !fleet->backends[i].backup && sim_backend_usable(&fleet->backends[i]);
	return usable < fleet->backup_below;
}

bool sim_backend_gone(const struct sim_backend *backend, uint64_t now_ms)
{
	return backend->lost || backend->dead || backend->maint || !backend->present ||
	       now_ms >= backend->ends_ms;
}
