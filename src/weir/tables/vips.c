/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/tables/vips.h"

#include <assert.h>
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
				(struct vips_named){.vip = conf->services[i].vips[v], .service = i};
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

struct prefix vips_prefix(const struct abi_prefix *held)
{
	struct prefix prefix = {.addr = dp_addr_back(&held->addr)};
	uint32_t mapped = held->table == abi_prefix_table(ABI_LIST_VIPS, 1) ? DP_PREFIX_MAPPED_BITS
									    : 0;

	prefix.length = (uint8_t)(held->length - DP_PREFIX_TABLE_BITS - mapped);
	return prefix;
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

static const struct prefix *vip_at(const struct vips *vips, size_t first)
{
	return &vips->named[first].vip;
}

static bool has_new_addresses(const struct vips *vips)
{
	for (size_t i = 0; i < vips->named_count; i++) {
		const struct prefix *vip = vip_at(vips, i);

		if (prefix_is_host(vip) && !dp_tables_vip(vips->tables, &vip->addr))
			return true;
	}
	return false;
}

/* In a copy: whether a place is found depends on all that is there. */
static int check_addresses(const struct vips *vips, struct err *err)
{
	const size_t size = (ABI_VIPS + ABI_VIP_RANGES) * sizeof(struct abi_vip);
	struct dp_tables copy = *vips->tables;
	size_t at = 0;
	int ret = 0;

	if (!has_new_addresses(vips))
		return 0;
	copy.wait_readers = NULL;
	copy.vips = malloc(size);
	if (!copy.vips)
		return err_set(err, -ENOMEM, "out of memory");
	memcpy(copy.vips, vips->tables->vips, size);
	while (at < vips->named_count && !ret) {
		const struct prefix *vip = vip_at(vips, at);
		uint64_t listens[ABI_VIP_LISTENS + 1];
		char text[ADDR_TEXT_MAX];
		size_t count;

		at = collect_listens(vips, at, listens, &count);
		if (!prefix_is_host(vip))
			continue;
		ret = dp_tables_set_vip(&copy, &vip->addr, listens, count);
		if (ret)
			err_set(err, ret, "VIP %s: no room for it beside those that are there",
				prefix_format_short(vip, text));
	}
	free(copy.vips);
	return ret;
}

/* What packets for the prefix meet now: the words of the longest one that holds it, or none. */
static size_t present_listens(const struct vips *vips, const struct prefix *vip,
			      uint64_t listens[ABI_VIP_LISTENS])
{
	uint32_t place = 0, length = 0;
	size_t count = 0;

	for (size_t i = 0; i < vips->old_count; i++) {
		struct prefix old = vips_prefix(&vips->old[i].prefix);

		if (!vips->old[i].value || old.length < length || old.length > vip->length ||
		    addr_is4(&old.addr) != addr_is4(&vip->addr) || !prefix_has(&old, &vip->addr))
			continue;
		place = vips->old[i].value;
		length = old.length;
	}
	while (place && count < ABI_VIP_LISTENS && vips->tables->vips[place].listens[count]) {
		listens[count] = vips->tables->vips[place].listens[count];
		count++;
	}
	return count;
}

static int reserve_range(struct vips *vips, size_t first, struct err *err)
{
	const struct prefix *vip = vip_at(vips, first);
	uint64_t listens[ABI_VIP_LISTENS];
	char text[ADDR_TEXT_MAX];
	size_t count = present_listens(vips, vip, listens);
	uint32_t place = take_place(vips);
	int ret = place ? dp_tables_set_range(vips->tables, place, vip, listens, count) : -ENOSPC;

	if (ret && place) {
		/* No packet has found it. */
		clear_listens(vips, place);
		*use_of(vips, place) = VIPS_FREE;
	}
	if (ret)
		return err_set(err, ret, "VIP %s: no room for it beside those that are there",
			       prefix_format_short(vip, text));
	vips->named[first].place = place;
	return 0;
}

int vips_reserve(struct vips *vips, struct err *err)
{
	size_t at = 0;
	int ret = check_addresses(vips, err);

	while (at < vips->named_count && !ret) {
		uint64_t listens[ABI_VIP_LISTENS + 1];
		size_t first = at, count;
		const struct dp_held *old;

		at = collect_listens(vips, at, listens, &count);
		if (prefix_is_host(vip_at(vips, first)))
			continue;
		old = find_old(vips, vip_at(vips, first));
		if (!old || !use_of(vips, old->value))
			ret = reserve_range(vips, first, err);
	}
	if (ret)
		vips_release(vips);
	return ret;
}

void vips_release(struct vips *vips)
{
	bool any = false;

	for (size_t i = 0; i < vips->named_count; i++) {
		struct vips_named *named = &vips->named[i];
		struct abi_prefix prefix = dp_prefix(ABI_LIST_VIPS, &named->vip);

		if (!named->place)
			continue;
		dp_tables_drop_range(vips->tables, &prefix);
		*use_of(vips, named->place) = VIPS_LEFT;
		named->place = 0;
		any = true;
	}
	if (!any)
		return;
	dp_tables_wait(vips->tables);
	vips_clear(vips);
}

static void write_vip(struct vips *vips, size_t first, const uint64_t *listens, size_t count)
{
	const struct prefix *vip = vip_at(vips, first);
	int ret = 0;

	if (prefix_is_host(vip))
		ret = dp_tables_set_vip(vips->tables, &vip->addr, listens, count);
	else if (vips->named[first].place)
		dp_tables_fill_range(vips->tables, vips->named[first].place, listens, count);
	else
		dp_tables_fill_range(vips->tables, find_old(vips, vip)->value, listens, count);
	assert(!ret);
	(void)ret;
}

void vips_write(struct vips *vips)
{
	size_t at = 0;

	while (at < vips->named_count) {
		uint64_t listens[ABI_VIP_LISTENS + 1];
		size_t first = at, count;

		at = collect_listens(vips, at, listens, &count);
		write_vip(vips, first, listens, count);
	}
}

/* --- taking away --- */

static size_t drop_addresses(struct vips *vips)
{
	size_t dropped = 0;

	for (size_t i = 0; i < ABI_VIPS; i++) {
		struct prefix vip = {.addr = dp_addr_back(&vips->tables->vips[i].addr)};

		vip.length = addr_is4(&vip.addr) ? 32 : 128;
		if (addr_is_none(&vip.addr) || names(vips, &vip))
			continue;
		dropped += vips->tables->vips[i].listens[0] != 0;
		dp_tables_set_vip(vips->tables, &vip.addr, NULL, 0);
	}
	return dropped;
}

size_t vips_drop(struct vips *vips)
{
	size_t dropped = drop_addresses(vips);

	for (size_t i = 0; i < vips->old_count; i++) {
		struct dp_held *old = &vips->old[i];
		struct prefix vip = vips_prefix(&old->prefix);
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
