/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything that can fail is done before anything is written that a packet meets: memory is taken,
 * access lists are built beside those in use, prefixes are put where they change nothing, and where
 * a place depends on what else is there it is tried in a copy.
 */
#include <errno.h>
#include <stdlib.h>

#include "weir/balancer/state.h"
#include "weir/tables/servers.h"

static struct reserved *make(const struct balancer *balancer)
{
	struct reserved *reserved = calloc(1, sizeof(*reserved));

	if (!reserved)
		return NULL;
	reserved->lists = calloc(balancer->conf->service_count + 1, sizeof(*reserved->lists));
	reserved->keep = calloc(ABI_BACKENDS + ABI_SERVICES, 1);
	reserved->keys = calloc(ABI_BACKENDS, sizeof(*reserved->keys));
	return reserved;
}

/* Does the service go on with the list that it has? Sorting a long one to find that out takes the
 * loop longer than it may be held up. */
static bool keeps_list(const struct balancer *balancer, size_t at, uint32_t *ret_list)
{
	const struct abi_service *service = &balancer->tables->services[balancer->services[at]];
	size_t before = balanced_service_before(balancer, at);

	if (before == SIZE_MAX || balancer->sources[at] != balancer->services[at] ||
	    !access_same(&balancer->from->conf->services[before], &balancer->conf->services[at]))
		return false;
	*ret_list = service->flags & ABI_SERVICE_ACCESS ? service->access : 0;
	return true;
}

static int build_lists(struct balancer *balancer, struct err *err)
{
	struct reserved *reserved = balancer->reserved;
	int ret = 0;

	for (size_t i = 0; i < balancer->conf->service_count && !ret; i++) {
		if (keeps_list(balancer, i, &reserved->lists[i]))
			continue;
		ret = access_build(&reserved->access, &balancer->conf->services[i],
				   balancer->services[i], &reserved->lists[i], err);
	}
	return ret;
}

/* The lists that were built are those that no service points at: they go as a start lets them. */
static void drop_lists(struct balancer *balancer)
{
	struct access access;
	struct err err;

	if (access_init(&access, balancer->tables, &err) == 0)
		access_fini(&access);
}

static int reserve_prefixes(struct balancer *balancer, struct err *err)
{
	struct reserved *reserved = balancer->reserved;
	int ret = access_init(&reserved->access, balancer->tables, err);

	if (!ret)
		ret = vips_init(&reserved->vips, balancer->conf, balancer->services,
				balancer->tables, err);
	if (!ret)
		ret = build_lists(balancer, err);
	if (!ret)
		ret = tiers_add(&reserved->tiers, &balancer->conf->node, balancer->tables, err);
	if (ret)
		return ret;
	ret = vips_reserve(&reserved->vips, err);
	if (ret)
		tiers_undo(&reserved->tiers);
	return ret;
}

static void free_reserved(struct reserved *reserved)
{
	vips_fini(&reserved->vips);
	tiers_fini(&reserved->tiers);
	access_fini(&reserved->access);
	free(reserved->lists);
	free(reserved->keep);
	free(reserved->keys);
	free(reserved);
}

int reserve_all(struct balancer *balancer, struct err *err)
{
	struct reserved *reserved = balancer->reserved = make(balancer);
	int ret = 0;

	if (!reserved)
		return err_set(err, -ENOMEM, "out of memory");
	if (!reserved->lists || !reserved->keep || !reserved->keys)
		ret = err_set(err, -ENOMEM, "out of memory");
	if (!ret)
		ret = servers_check(balancer, balancer->tables, err);
	if (!ret)
		ret = reserve_prefixes(balancer, err);
	if (ret) {
		free_reserved(reserved);
		balancer->reserved = NULL;
		drop_lists(balancer);
	}
	return ret;
}

int reserve_make_room(struct balancer *balancer, struct err *err)
{
	uint64_t *keys = calloc(ABI_BACKENDS, sizeof(*keys));
	struct vips vips;
	int ret;

	if (!keys)
		return err_set(err, -ENOMEM, "out of memory");
	ret = vips_init(&vips, balancer->conf, balancer->services, balancer->tables, err);
	if (!ret) {
		if (vips_drop(&vips))
			dp_tables_wait(balancer->tables);
		vips_clear(&vips);
		vips_fini(&vips);
		servers_drop_old(balancer, balancer->tables, keys);
	}
	free(keys);
	return ret;
}

void reserve_end(struct balancer *balancer, bool undo)
{
	struct reserved *reserved = balancer->reserved;

	if (!reserved)
		return;
	if (undo) {
		vips_release(&reserved->vips);
		tiers_undo(&reserved->tiers);
	}
	free_reserved(reserved);
	balancer->reserved = NULL;
	if (undo)
		drop_lists(balancer);
}
