/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each pool wishes to go on from the earlier one with which it shares most members. An earlier pool
 * belongs to whom its services' flows come to now, or who has its name, if that one shares anything
 * with it. What belongs to nobody is given away; what belongs to somebody changes hands in rings
 * only, in which everybody gets what it wishes most of what is left (top trading cycles). So pools
 * whose names go round in a ring are found, and a pool that is merely edited never loses what it
 * was to another that looks more like it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/lineage/room.h"

enum {
	WISHES = 8, /* of a pool, that are kept */
	LOOKS = 64, /* pools that are looked at for one member, beside those of pairs */
};

struct wish {
	size_t before;
	uint32_t shared;
	bool is_pair, same_name;
};

/* A pool of now that is not settled yet. */
struct seeker {
	struct wish wishes[WISHES]; /* the best first */
	size_t count, next;
	uint32_t walk; /* the last one that came by */
};

struct seek {
	struct lineage *lineage;
	struct seeker *seekers;
	size_t *owners;               /* by earlier pool */
	struct lineage_member *index; /* of earlier pools without heirs; `number` is the pool */
	size_t index_count;
	uint32_t *shared; /* by earlier pool */
	size_t *touched;
};

static const struct lineage_pool *now_at(const struct seek *seek, size_t at)
{
	return &seek->lineage->now.pools[at];
}

static const struct lineage_pool *before_at(const struct seek *seek, size_t at)
{
	return &seek->lineage->before.pools[at];
}

static bool is_settled(const struct seek *seek, size_t now)
{
	return seek->lineage->pools[now] != LINEAGE_NONE;
}

static bool is_given(const struct seek *seek, size_t before)
{
	return seek->lineage->heirs[before] != LINEAGE_NONE;
}

static void give(const struct seek *seek, size_t before, size_t now)
{
	seek->lineage->pools[now] = before;
	seek->lineage->heirs[before] = now;
}

static bool same_members(const struct lineage_pool *one, const struct lineage_pool *two)
{
	if (one->count != two->count)
		return false;
	for (size_t i = 0; i < one->count; i++) {
		if (lineage_member_order(&one->members[i], &two->members[i]) != 0)
			return false;
	}
	return true;
}

/* Most pools: the same name, the same members. */
static void settle_same(const struct seek *seek)
{
	const struct lineage *lineage = seek->lineage;

	for (size_t i = 0; i < lineage->pair_count; i++) {
		struct lineage_pair pair = lineage->pairs[i];
		const struct lineage_pool *before = before_at(seek, pair.before);

		if (before->name == now_at(seek, pair.now)->name && !is_settled(seek, pair.now) &&
		    same_members(before, now_at(seek, pair.now)))
			give(seek, pair.before, pair.now);
	}
}

/* --- what each wishes --- */

static uint32_t count_shared(const struct lineage_pool *one, const struct lineage_pool *two)
{
	uint32_t shared = 0;

	for (size_t i = 0, j = 0; i < one->count && j < two->count;) {
		int order = lineage_member_order(&one->members[i], &two->members[j]);

		shared += order == 0;
		i += order <= 0;
		j += order >= 0;
	}
	return shared;
}

static bool is_better_wish(const struct seek *seek, const struct wish *one, const struct wish *two)
{
	size_t first = before_at(seek, one->before)->count;
	size_t second = before_at(seek, two->before)->count;

	if (one->shared != two->shared)
		return one->shared > two->shared;
	if (first != second)
		return first < second;
	if (one->is_pair != two->is_pair)
		return one->is_pair;
	return one->same_name && !two->same_name;
}

static void wish(struct seek *seek, size_t now, size_t before, uint32_t shared)
{
	struct seeker *seeker = &seek->seekers[now];
	struct wish one = {
		.before = before,
		.shared = shared,
		.is_pair = lineage_is_pair(seek->lineage, before, now),
		.same_name = before_at(seek, before)->name == now_at(seek, now)->name,
	};
	size_t at = seeker->count;

	while (at > 0 && is_better_wish(seek, &one, &seeker->wishes[at - 1]))
		at--;
	if (at == WISHES)
		return;
	if (seeker->count < WISHES)
		seeker->count++;
	memmove(&seeker->wishes[at + 1], &seeker->wishes[at],
		(seeker->count - 1 - at) * sizeof(one));
	seeker->wishes[at] = one;
}

static int by_member(const void *a, const void *b)
{
	const struct lineage_member *one = a, *two = b;
	int order = lineage_member_order(a, b);

	return order ? order : (one->number > two->number) - (one->number < two->number);
}

static void make_index(struct seek *seek)
{
	const struct lineage_side *before = &seek->lineage->before;

	for (size_t i = 0; i < before->pool_count; i++) {
		for (size_t m = 0; m < before->pools[i].count && !is_given(seek, i); m++) {
			seek->index[seek->index_count] = before->pools[i].members[m];
			seek->index[seek->index_count++].number = (uint32_t)i;
		}
	}
	qsort(seek->index, seek->index_count, sizeof(*seek->index), by_member);
}

/* Where those with this member begin. */
static size_t find_index(const struct seek *seek, const struct lineage_member *member)
{
	size_t low = 0, high = seek->index_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lineage_member_order(&seek->index[middle], member) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t count_member(struct seek *seek, const struct lineage_member *member, size_t touched)
{
	size_t at = find_index(seek, member), end = at + LOOKS;

	for (; at < seek->index_count && at < end; at++) {
		size_t before = seek->index[at].number;

		if (lineage_member_order(&seek->index[at], member) != 0)
			break;
		if (!seek->shared[before]++)
			seek->touched[touched++] = before;
	}
	return touched;
}

/* Those of pairs come from wish_pairs. */
static void wish_others(struct seek *seek, size_t now)
{
	const struct lineage_pool *pool = now_at(seek, now);
	size_t touched = 0;

	for (size_t m = 0; m < pool->count; m++)
		touched = count_member(seek, &pool->members[m], touched);
	for (size_t i = 0; i < touched; i++) {
		size_t before = seek->touched[i];

		if (!lineage_is_pair(seek->lineage, before, now))
			wish(seek, now, before, seek->shared[before]);
		seek->shared[before] = 0;
	}
}

static void wish_pairs(struct seek *seek)
{
	for (size_t i = 0; i < seek->lineage->pair_count; i++) {
		struct lineage_pair pair = seek->lineage->pairs[i];
		uint32_t shared;

		if (is_settled(seek, pair.now) || is_given(seek, pair.before))
			continue;
		shared = count_shared(before_at(seek, pair.before), now_at(seek, pair.now));
		if (shared)
			wish(seek, pair.now, pair.before, shared);
	}
}

/* --- whose each earlier pool is --- */

static const struct wish *wish_for(const struct seek *seek, size_t now, size_t before)
{
	const struct seeker *seeker = &seek->seekers[now];

	for (size_t i = 0; i < seeker->count; i++) {
		if (seeker->wishes[i].before == before)
			return &seeker->wishes[i];
	}
	return NULL;
}

static bool is_better_owner(const struct seek *seek, size_t before, size_t one, size_t two)
{
	const struct wish *first = wish_for(seek, one, before), *second;

	if (!first)
		return false;
	second = two == LINEAGE_NONE ? NULL : wish_for(seek, two, before);
	if (!second)
		return true;
	if (first->shared != second->shared)
		return first->shared > second->shared;
	if (now_at(seek, one)->count != now_at(seek, two)->count)
		return now_at(seek, one)->count < now_at(seek, two)->count;
	return first->same_name && !second->same_name;
}

static void find_owners(struct seek *seek)
{
	memset(seek->owners, 0xff, seek->lineage->before.pool_count * sizeof(*seek->owners));
	for (size_t i = 0; i < seek->lineage->pair_count; i++) {
		struct lineage_pair pair = seek->lineage->pairs[i];
		size_t *owner = &seek->owners[pair.before];

		if (!is_settled(seek, pair.now) &&
		    is_better_owner(seek, pair.before, pair.now, *owner))
			*owner = pair.now;
	}
}

/* --- giving --- */

/* Of what is left. LINEAGE_NONE: nothing. */
static size_t wanted(const struct seek *seek, size_t now)
{
	struct seeker *seeker = &seek->seekers[now];

	if (is_settled(seek, now))
		return LINEAGE_NONE;
	while (seeker->next < seeker->count && is_given(seek, seeker->wishes[seeker->next].before))
		seeker->next++;
	return seeker->next < seeker->count ? seeker->wishes[seeker->next].before : LINEAGE_NONE;
}

/* It is nobody's: to the one of those who want it most that is most of it. */
static void give_away(const struct seek *seek, size_t before)
{
	size_t best = LINEAGE_NONE;

	for (size_t i = 0; i < seek->lineage->now.pool_count; i++) {
		if (wanted(seek, i) == before && is_better_owner(seek, before, i, best))
			best = i;
	}
	give(seek, before, best);
}

/* All of a ring, of which `first` is one. */
static void give_ring(const struct seek *seek, size_t first)
{
	size_t at = first;

	do {
		size_t before = wanted(seek, at);

		give(seek, before, at);
		at = seek->owners[before];
	} while (at != first);
}

/* From one to the owner of what it wants, and so on, till it ends or comes round. */
static void follow(const struct seek *seek, size_t now, uint32_t walk)
{
	for (;;) {
		size_t before = wanted(seek, now), owner = seek->owners[before];

		if (owner == LINEAGE_NONE || wanted(seek, owner) == LINEAGE_NONE) {
			give_away(seek, before);
			return;
		}
		if (seek->seekers[now].walk == walk) {
			give_ring(seek, now);
			return;
		}
		seek->seekers[now].walk = walk;
		now = owner;
	}
}

static void give_all(const struct seek *seek)
{
	uint32_t walk = 0;

	for (size_t i = 0; i < seek->lineage->now.pool_count; i++) {
		while (wanted(seek, i) != LINEAGE_NONE)
			follow(seek, i, ++walk);
	}
}

static void fini(struct seek *seek)
{
	free(seek->seekers);
	free(seek->owners);
	free(seek->index);
	free(seek->shared);
	free(seek->touched);
}

static int init(struct seek *seek)
{
	const struct lineage_side *before = &seek->lineage->before;
	size_t members = 0;

	for (size_t i = 0; i < before->pool_count; i++)
		members += before->pools[i].count;
	seek->seekers = calloc(seek->lineage->now.pool_count + 1, sizeof(*seek->seekers));
	seek->owners = calloc(before->pool_count + 1, sizeof(*seek->owners));
	seek->index = calloc(members + 1, sizeof(*seek->index));
	seek->shared = calloc(before->pool_count + 1, sizeof(*seek->shared));
	seek->touched = calloc(before->pool_count + 1, sizeof(*seek->touched));
	if (seek->seekers && seek->owners && seek->index && seek->shared && seek->touched)
		return 0;
	fini(seek);
	return -ENOMEM;
}

int lineage_find_pools(struct lineage *lineage)
{
	struct seek seek = {.lineage = lineage};
	int ret;

	settle_same(&seek);
	ret = init(&seek);
	if (ret)
		return ret;
	make_index(&seek);
	wish_pairs(&seek);
	for (size_t i = 0; i < lineage->now.pool_count; i++) {
		if (!is_settled(&seek, i))
			wish_others(&seek, i);
	}
	find_owners(&seek);
	give_all(&seek);
	fini(&seek);
	return 0;
}
