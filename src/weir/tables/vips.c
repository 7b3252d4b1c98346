/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/tables/vips.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_prefixes(const struct prefix *one, const struct prefix *two)
{
	if (one->length != two->length)
		return one->length < two->length ? -1 : 1;
	return memcmp(&one->addr, &two->addr, sizeof(one->addr));
}

/* By service within a VIP, so that listens come in the file's order. */
static int by_vip(const void *a, const void *b)
{
	const struct vips_named *one = a, *two = b;
	int order = compare_prefixes(&one->vip, &two->vip);

	return order ? order : (one->service > two->service) - (one->service < two->service);
}

/* bsearch, whatever the service. */
static int has_vip(const void *key, const void *named)
{
	return compare_prefixes(key, &((const struct vips_named *)named)->vip);
}

static bool names(const struct vips *vips, const struct prefix *vip)
{
	return vips->named_count &&
	       bsearch(vip, vips->named, vips->named_count, sizeof(*vips->named), has_vip);
}

/* NULL: no place of a prefix. */
static uint8_t *use_of(struct vips *vips, uint32_t place)
{
	uint32_t range = place - ABI_VIPS;

	return range < ABI_VIP_RANGES ? &vips->use[range] : NULL;
}

static int name_all(struct vips *vips)
{
	const struct conf *conf = vips->conf;

	for (size_t i = 0; i < conf->service_count; i++)
		vips->named_count += conf->services[i].vip_count;
	vips->named = calloc(vips->named_count + 1, sizeof(*vips->named));
	if (!vips->named)
		return -ENOMEM;
	vips->named_count = 0;
	for (size_t i = 0; i < conf->service_count; i++) {
		for (size_t v = 0; v < conf->services[i].vip_count; v++)
			vips->named[vips->named_count++] =
				(struct vips_named){conf->services[i].vips[v], i};
	}
	qsort(vips->named, vips->named_count, sizeof(*vips->named), by_vip);
	return 0;
}

/* The listens of all services that have the VIP at `first`. Returns the next VIP's place. */
static size_t collect_listens(const struct vips *vips, size_t first,
			      uint64_t listens[ABI_VIP_LISTENS + 1], size_t *ret_count)
{
	size_t at = first, count = 0;

	for (; at < vips->named_count; at++) {
		size_t number = vips->named[at].service;
		const struct conf_service *service = &vips->conf->services[number];

		if (!prefix_equal(&vips->named[at].vip, &vips->named[first].vip))
			break;
		for (size_t l = 0; l < service->listen_count && count <= ABI_VIP_LISTENS; l++) {
			const struct conf_listen *listen = &service->listens[l];

			listens[count++] = abi_listen(listen->first, listen->last, listen->proto,
						      vips->services[number]);
		}
	}
	*ret_count = count;
	return at;
}

/* What will not fit is refused before anything changes. */
static int check(const struct vips *vips, struct err *err)
{
	size_t ranges = 0, at = 0;

	while (at < vips->named_count) {
		const struct prefix *vip = &vips->named[at].vip;
		uint64_t listens[ABI_VIP_LISTENS + 1];
		char text[ADDR_TEXT_MAX];
		size_t count;

		at = collect_listens(vips, at, listens, &count);
		ranges += !prefix_is_host(vip);
		if (count > ABI_VIP_LISTENS)
			return err_set(err, -ENOSPC, "VIP %s: more than %d listens",
				       prefix_format_short(vip, text), ABI_VIP_LISTENS);
	}
	if (ranges > ABI_VIP_RANGES)
		return err_set(err, -ENOSPC, "%zu VIPs are prefixes: the tables hold %d at most",
			       ranges, ABI_VIP_RANGES);
	return 0;
}

int vips_init(struct vips *vips, const struct conf *conf, const uint32_t *services,
	      struct dp_tables *tables, struct err *err)
{
	int ret;

	*vips = (struct vips){.conf = conf, .services = services, .tables = tables};
	ret = name_all(vips);
	if (!ret)
		ret = dp_tables_hold(tables, ABI_LIST_VIPS, ABI_LIST_VIPS, &vips->old,
				     &vips->old_count);
	if (ret) {
		vips_fini(vips);
		return err_set(err, ret, "the VIPs that were there cannot be read: %s",
			       strerror(-ret));
	}
	for (size_t i = 0; i < vips->old_count; i++) {
		uint8_t *use = use_of(vips, vips->old[i].value);

		if (use)
			*use = VIPS_USED;
	}
	ret = check(vips, err);
	if (ret)
		vips_fini(vips);
	return ret;
}

void vips_fini(struct vips *vips)
{
	free(vips->named);
	free(vips->old);
	vips->named = NULL;
	vips->old = NULL;
}

/* --- writing --- */

/* The prefix as it was there before, or NULL. */
static struct dp_held *find_old(const struct vips *vips, const struct prefix *vip)
{
	const struct dp_held key = {.prefix = dp_prefix(ABI_LIST_VIPS, vip)};

	return vips->old_count ? bsearch(&key, vips->old, vips->old_count, sizeof(*vips->old),
					 dp_held_compare)
			       : NULL;
}

static void clear_listens(struct vips *vips, uint32_t place)
{
	memset(vips->tables->vips[place].listens, 0, sizeof(vips->tables->vips[place].listens));
}

static void drop_addresses(struct vips *vips)
{
	for (size_t i = 0; i < ABI_VIPS; i++) {
		struct prefix vip = {.addr = dp_addr_back(&vips->tables->vips[i].addr)};

		vip.length = addr_is4(&vip.addr) ? 32 : 128;
		if (!addr_is_none(&vip.addr) && !names(vips, &vip))
			dp_tables_set_vip(vips->tables, &vip.addr, NULL, 0);
	}
}

/* Twice as many addresses as are allowed may not find their places: then the old ones go first. */
static int write_address(struct vips *vips, const struct addr *vip, const uint64_t *listens,
			 size_t count)
{
	int ret = dp_tables_set_vip(vips->tables, vip, listens, count);

	if (ret != -ENOSPC)
		return ret;
	drop_addresses(vips);
	return dp_tables_set_vip(vips->tables, vip, listens, count);
}

/* A record that no prefix points at. 0: none. */
static uint32_t take_place(struct vips *vips)
{
	for (uint32_t i = 0; i < ABI_VIP_RANGES; i++) {
		if (vips->use[i] != VIPS_FREE)
			continue;
		vips->use[i] = VIPS_USED;
		clear_listens(vips, ABI_VIPS + i);
		return ABI_VIPS + i;
	}
	return 0;
}

static int write_range(struct vips *vips, const struct prefix *vip, const uint64_t *listens,
		       size_t count)
{
	const struct dp_held *old = find_old(vips, vip);
	uint32_t place = old && use_of(vips, old->value) ? old->value : take_place(vips);

	/* Without room for the old ones beside the new ones, the old ones go first. */
	if (!place && vips_drop(vips)) {
		dp_tables_wait(vips->tables);
		vips_clear(vips);
		place = take_place(vips);
	}
	if (!place)
		return -ENOSPC;
	return dp_tables_set_range(vips->tables, place, vip, listens, count);
}

int vips_write(struct vips *vips, struct err *err)
{
	size_t at = 0;

	while (at < vips->named_count) {
		const struct prefix *vip = &vips->named[at].vip;
		uint64_t listens[ABI_VIP_LISTENS + 1];
		char text[ADDR_TEXT_MAX];
		size_t count;
		int ret;

		at = collect_listens(vips, at, listens, &count);
		if (prefix_is_host(vip))
			ret = write_address(vips, &vip->addr, listens, count);
		else
			ret = write_range(vips, vip, listens, count);
		if (ret)
			return err_set(err, ret, "VIP %s: no room for it",
				       prefix_format_short(vip, text));
	}
	return 0;
}

/* --- taking away --- */

/* As it is written in a file. */
static struct prefix prefix_of(const struct abi_prefix *held)
{
	struct prefix prefix = {.addr = dp_addr_back(&held->addr)};
	uint32_t mapped = held->table == abi_prefix_table(ABI_LIST_VIPS, 1) ? DP_PREFIX_MAPPED_BITS
									    : 0;

	prefix.length = (uint8_t)(held->length - DP_PREFIX_TABLE_BITS - mapped);
	return prefix;
}

size_t vips_drop(struct vips *vips)
{
	size_t dropped = 0;

	drop_addresses(vips);
	for (size_t i = 0; i < vips->old_count; i++) {
		struct dp_held *old = &vips->old[i];
		struct prefix vip = prefix_of(&old->prefix);
		uint8_t *use = use_of(vips, old->value);

		if (!old->value || names(vips, &vip))
			continue;
		dp_tables_drop_range(vips->tables, &old->prefix);
		old->value = 0;
		dropped++;
		if (use)
			*use = VIPS_LEFT;
	}
	return dropped;
}

void vips_clear(struct vips *vips)
{
	for (uint32_t i = 0; i < ABI_VIP_RANGES; i++) {
		if (vips->use[i] != VIPS_LEFT)
			continue;
		clear_listens(vips, ABI_VIPS + i);
		vips->use[i] = VIPS_FREE;
	}
}
