/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writer of VIPs and their listens. A packet goes through a VIP's words from the front, ends at
 * the first empty one, and may be anywhere amid them while they change. So:
 *
 *  - A word of other ports never stands for a moment between two that stay: what is taken away in
 *    the middle becomes a second copy of its right neighbour. Of two copies the left one is as good
 *    as free: who has passed it has seen it, who has not meets the right one.
 *  - Words move towards the end only, each being written at its new place before it goes from the
 *    old one: a search that has not met it yet still has it before itself.
 *  - Only where the end is reached and free room is in front must one move to the front, past
 *    searches under way; then its old place is kept until these are over (dp_tables_wait).
 *
 * Of listens that overlap the narrower decides, so words are in the order of their width; those
 * of the same width cannot overlap, and stand in any order.
 */
#include <errno.h>

#include "engine/tables.h"
#include "pkt/hash.h"

enum { WIDTH_ANY = 65536 };

static void store(uint64_t *to, uint64_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELEASE);
}

/* --- listens --- */

static uint32_t width_of(uint64_t listen)
{
	if ((uint8_t)(listen >> 32) == ABI_PROTO_ANY)
		return WIDTH_ANY;
	return (uint32_t)(uint16_t)(listen >> 16) - (uint16_t)listen;
}

/* The same protocol and ports, whatever the service. */
static bool is_same(uint64_t one, uint64_t two)
{
	return (one ^ two) << 24 == 0;
}

static const uint64_t *find_listen(const uint64_t *listens, size_t count, uint64_t listen)
{
	for (size_t i = 0; i < count; i++) {
		if (is_same(listens[i], listen))
			return &listens[i];
	}
	return NULL;
}

/* A VIP's words while they change. */
struct words {
	uint64_t *at;
	size_t used;
	const uint64_t *wanted;
	size_t wanted_count;
	const struct dp_tables *tables;
};

/* May the word be written over? It goes, or is the left one of two copies. */
static bool is_free(const struct words *words, size_t place)
{
	uint64_t listen = words->at[place];

	return !find_listen(words->wanted, words->wanted_count, listen) ||
	       find_listen(&words->at[place + 1], words->used - place - 1, listen);
}

/* Where a listen of this width belongs: behind all narrower ones that stay. */
static size_t first_place(const struct words *words, uint32_t width)
{
	size_t place = words->used;

	while (place > 0 && (is_free(words, place - 1) || width_of(words->at[place - 1]) >= width))
		place--;
	return place;
}

/* Everything from `place` to the free word at `hole` goes one on; then `place` is free. */
static void move_on(struct words *words, size_t place, size_t hole)
{
	if (hole == words->used)
		words->used++;
	for (size_t i = hole; i > place; i--)
		store(&words->at[i], words->at[i - 1]);
}

/*
 * Makes the word before `end` free in place of the free one at `hole`. Of several of one width, the
 * last goes to the front, so that there are as few waits as widths.
 */
static void move_back(struct words *words, size_t hole, size_t end)
{
	while (hole + 1 < end) {
		size_t from = hole + 1;

		while (from + 1 < end &&
		       width_of(words->at[from + 1]) == width_of(words->at[hole + 1]))
			from++;
		store(&words->at[hole], words->at[from]);
		dp_tables_wait(words->tables);
		hole = from;
	}
}

/* The first word that is free, from `place` on; words->used: none. */
static size_t find_hole(const struct words *words, size_t place)
{
	while (place < words->used && !is_free(words, place))
		place++;
	return place;
}

static void insert(struct words *words, uint64_t listen)
{
	size_t place = first_place(words, width_of(listen));
	size_t hole = find_hole(words, place);

	if (hole < ABI_VIP_LISTENS) {
		/* Past others of the same width: fewer have to move. */
		while (place < hole && width_of(words->at[place]) <= width_of(listen))
			place++;
		move_on(words, place, hole);
	} else {
		hole = place;
		while (hole > 0 && !is_free(words, hole - 1))
			hole--;
		if (!hole)
			return; /* more listens than words: the caller has refused that */
		move_back(words, hole - 1, place);
		place--;
	}
	store(&words->at[place], listen);
}

/* What goes now: at the end it is cut off, elsewhere a copy of its neighbour takes its place. */
static void take_away(struct words *words)
{
	for (size_t i = words->used; i-- > 0;) {
		if (find_listen(words->wanted, words->wanted_count, words->at[i]))
			continue;
		if (i + 1 == words->used)
			store(&words->at[--words->used], 0);
		else
			store(&words->at[i], words->at[i + 1]);
	}
}

static void set_listens(const struct dp_tables *tables, struct abi_vip *vip,
			const uint64_t *listens, size_t count)
{
	struct words words = {
		.at = (uint64_t *)vip->listens,
		.wanted = listens,
		.wanted_count = count,
		.tables = tables,
	};

	while (words.used < ABI_VIP_LISTENS && words.at[words.used])
		words.used++;
	/* Another service of the same ports is one store. */
	for (size_t i = 0; i < words.used; i++) {
		const uint64_t *wanted = find_listen(listens, count, words.at[i]);

		if (wanted && *wanted != words.at[i])
			store(&words.at[i], *wanted);
	}
	for (size_t i = 0; i < count; i++) {
		if (!find_listen(words.at, words.used, listens[i]))
			insert(&words, listens[i]);
	}
	take_away(&words);
}

/* --- addresses --- */

static bool is_unused(const struct abi_vip *vip)
{
	return !(vip->addr.half[0] | vip->addr.half[1]);
}

/* The address's place, else the first one that nobody has; NULL: none in reach. */
static struct abi_vip *find_vip(const struct dp_tables *tables, const struct pkt_addr *addr)
{
	uint32_t place = pkt_hash_addr(addr, tables->node->vip_secret);
	struct abi_vip *free_place = NULL;

	for (uint32_t i = 0; i < ABI_VIP_PROBES; i++) {
		struct abi_vip *vip = &tables->vips[(place + i) & (ABI_VIPS - 1)];

		if (pkt_addr_equal(&vip->addr, addr))
			return vip;
		if (!free_place && !vip->listens[0])
			free_place = vip;
		if (is_unused(vip))
			break;
	}
	return free_place;
}

static void set_address(struct abi_vip *vip, const struct pkt_addr *addr)
{
	store((uint64_t *)&vip->addr.half[0], addr->half[0]);
	store((uint64_t *)&vip->addr.half[1], addr->half[1]);
}

/* Addresses without listens at the end of a run: a search ends before them as well. */
static void release_places(const struct dp_tables *tables, size_t at)
{
	while (is_unused(&tables->vips[(at + 1) & (ABI_VIPS - 1)])) {
		struct abi_vip *vip = &tables->vips[at];

		if (is_unused(vip) || vip->listens[0])
			return;
		store((uint64_t *)&vip->addr.half[1], 0);
		store((uint64_t *)&vip->addr.half[0], 0);
		at = (at - 1) & (ABI_VIPS - 1);
	}
}

int dp_tables_set_vip(struct dp_tables *tables, const struct addr *vip, const uint64_t *listens,
		      size_t count)
{
	struct pkt_addr addr = dp_addr(vip);
	struct abi_vip *place = find_vip(tables, &addr);

	if (count > ABI_VIP_LISTENS)
		return -ENOSPC;
	if (!place || !pkt_addr_equal(&place->addr, &addr)) {
		if (!count)
			return 0;
		if (!place)
			return -ENOSPC;
		set_address(place, &addr);
	}
	set_listens(tables, place, listens, count);
	if (!count)
		release_places(tables, (size_t)(place - tables->vips));
	return 0;
}

const uint64_t *dp_tables_vip(const struct dp_tables *tables, const struct addr *vip)
{
	struct pkt_addr addr = dp_addr(vip);
	struct abi_vip *place = find_vip(tables, &addr);

	return place && pkt_addr_equal(&place->addr, &addr) ? (const uint64_t *)place->listens
							    : NULL;
}

/* --- prefixes --- */

int dp_tables_set_range(struct dp_tables *tables, uint32_t place, const struct prefix *vip,
			const uint64_t *listens, size_t count)
{
	struct abi_prefix prefix = dp_prefix(ABI_LIST_VIPS, vip);

	if (count > ABI_VIP_LISTENS)
		return -ENOSPC;
	set_address(&tables->vips[place], &prefix.addr);
	set_listens(tables, &tables->vips[place], listens, count);
	return tables->set_prefix(tables->prefixes, &prefix, place);
}

void dp_tables_fill_range(struct dp_tables *tables, uint32_t place, const uint64_t *listens,
			  size_t count)
{
	set_listens(tables, &tables->vips[place], listens, count);
}

int dp_tables_drop_range(struct dp_tables *tables, const struct abi_prefix *vip)
{
	return tables->set_prefix(tables->prefixes, vip, 0);
}
