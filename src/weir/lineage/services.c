/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whoever had most of what a service listens on has its flows. Where several services come from one
 * (it was split), the one with most of it has the record, and the others begin with what it says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/lineage/room.h"

/* That a listen of the service `now` was one of `before`. */
struct vote {
	size_t now, before;
};

/* What a service is said to be, and how often. */
struct said {
	size_t before, votes;
	bool same_name;
};

static bool overlaps(const struct conf_listen *one, const struct conf_listen *two)
{
	if (one->proto != two->proto && one->proto != CONF_PROTO_ANY &&
	    two->proto != CONF_PROTO_ANY)
		return false;
	return one->first <= two->last && two->first <= one->last;
}

/* Packets find the narrower one. */
static uint32_t width(const struct conf_listen *listen)
{
	return (uint32_t)(listen->last - listen->first) + (listen->proto == CONF_PROTO_ANY) * 65536;
}

static size_t first_of(const struct lineage_side *side, const struct prefix *vip)
{
	size_t low = 0, high = side->listen_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lineage_prefix_order(&side->listens[middle].vip, vip) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Among the listens of one VIP, from `at` on. */
static size_t narrowest(const struct lineage_side *side, size_t at, const struct conf_listen *on)
{
	const struct prefix *vip = &side->listens[at].vip;
	size_t found = LINEAGE_NONE;
	uint32_t least = UINT32_MAX;

	for (; at < side->listen_count && prefix_equal(&side->listens[at].vip, vip); at++) {
		const struct lineage_listen *listen = &side->listens[at];

		if (!overlaps(&listen->on, on) || width(&listen->on) >= least)
			continue;
		least = width(&listen->on);
		found = listen->service;
	}
	return found;
}

/* The longest prefix that holds the VIP; they come with the shorter first. */
static size_t covering(const struct lineage_side *side, const struct prefix *vip)
{
	size_t found = LINEAGE_NONE;

	for (size_t i = 0; i < side->listen_count; i++) {
		const struct prefix *held = &side->listens[i].vip;

		if (held->length >= vip->length || prefix_is_host(held) ||
		    addr_is4(&held->addr) != addr_is4(&vip->addr) || !prefix_has(held, &vip->addr))
			continue;
		if (found == LINEAGE_NONE || !prefix_equal(&side->listens[found].vip, held))
			found = i;
	}
	return found;
}

/* To which service packets for it went. */
static size_t who_had(const struct lineage_side *before, const struct lineage_listen *listen)
{
	size_t at = first_of(before, &listen->vip);

	if (at == before->listen_count || !prefix_equal(&before->listens[at].vip, &listen->vip))
		at = covering(before, &listen->vip);
	return at == LINEAGE_NONE ? at : narrowest(before, at, &listen->on);
}

static int by_now(const void *a, const void *b)
{
	const struct vote *one = a, *two = b;

	if (one->now != two->now)
		return one->now < two->now ? -1 : 1;
	return (one->before > two->before) - (one->before < two->before);
}

static bool is_better(const struct said *one, const struct said *two)
{
	if (one->votes != two->votes)
		return one->votes > two->votes;
	return one->same_name && !two->same_name;
}

static void count(const struct lineage *lineage, const struct vote *votes, size_t vote_count,
		  struct said *said)
{
	for (size_t i = 0, next; i < vote_count; i = next) {
		struct said *of = &said[votes[i].now], one = {.before = votes[i].before};

		for (next = i; next < vote_count && by_now(&votes[next], &votes[i]) == 0; next++)
			one.votes++;
		one.same_name = lineage->before.services[one.before].name ==
				lineage->now.services[votes[i].now].name;
		if (is_better(&one, of))
			*of = one;
	}
}

/* Each record to the one that is most of what it was. */
static void give(struct lineage *lineage, const struct said *said, size_t *winners)
{
	for (size_t i = 0; i < lineage->now.service_count; i++) {
		size_t before = said[i].before;

		if (!said[i].votes)
			continue;
		lineage->sources[i] = before;
		if (winners[before] == LINEAGE_NONE || is_better(&said[i], &said[winners[before]]))
			winners[before] = i;
	}
	for (size_t i = 0; i < lineage->before.service_count; i++) {
		if (winners[i] != LINEAGE_NONE)
			lineage->services[winners[i]] = i;
	}
}

struct named {
	uint64_t name;
	size_t at;
};

static int by_name(const void *a, const void *b)
{
	const struct named *one = a, *two = b;

	return (one->name > two->name) - (one->name < two->name);
}

/* One that listens where nobody did is still the one of its name, if nobody else is. */
static void give_by_name(struct lineage *lineage, const size_t *winners, struct named *names)
{
	const struct lineage_side *before = &lineage->before;

	for (size_t i = 0; i < before->service_count; i++)
		names[i] = (struct named){before->services[i].name, i};
	qsort(names, before->service_count, sizeof(*names), by_name);
	for (size_t i = 0; i < lineage->now.service_count; i++) {
		const struct named key = {.name = lineage->now.services[i].name}, *found;

		if (lineage->sources[i] != LINEAGE_NONE || !before->service_count)
			continue;
		found = bsearch(&key, names, before->service_count, sizeof(key), by_name);
		if (found && winners[found->at] == LINEAGE_NONE)
			lineage->services[i] = lineage->sources[i] = found->at;
	}
}

int lineage_find_services(struct lineage *lineage)
{
	const struct lineage_side *now = &lineage->now, *before = &lineage->before;
	struct vote *votes = calloc(now->listen_count + 1, sizeof(*votes));
	struct said *said = calloc(now->service_count + 1, sizeof(*said));
	size_t *winners = calloc(before->service_count + 1, sizeof(*winners));
	struct named *names = calloc(before->service_count + 1, sizeof(*names));
	size_t vote_count = 0;
	int ret = votes && said && winners && names ? 0 : -ENOMEM;

	if (!ret) {
		for (size_t i = 0; i < now->listen_count; i++) {
			const struct lineage_listen *listen = &now->listens[i];
			size_t had = who_had(before, listen);

			if (had != LINEAGE_NONE)
				votes[vote_count++] = (struct vote){listen->service, had};
		}
		qsort(votes, vote_count, sizeof(*votes), by_now);
		count(lineage, votes, vote_count, said);
		memset(winners, 0xff, before->service_count * sizeof(*winners));
		give(lineage, said, winners);
		give_by_name(lineage, winners, names);
	}
	free(votes);
	free(said);
	free(winners);
	free(names);
	return ret;
}
