/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/announce/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"

struct pool_count {
	uint32_t usable, draining;
};

struct service {
	bool serves;
	bool fell;  /* has served before, so hold_up counts */
	bool waits; /* could serve, and hold_up runs since since_ms */
	uint64_t since_ms;
};

struct policy {
	const struct conf *conf;
	struct pool_count *pools; /* by place in the configuration, as are services */
	struct service *services;
	struct policy_vip *vips; /* by prefix */
	size_t vip_count;
	size_t *places; /* what the VIPs' services point into */
};

/* --- VIPs, of all services --- */

struct pair {
	struct prefix prefix;
	size_t service;
};

static int compare_prefixes(const struct prefix *a, const struct prefix *b)
{
	int order = memcmp(a->addr.bytes, b->addr.bytes, sizeof(a->addr.bytes));

	return order ? order : (int)a->length - (int)b->length;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int order = compare_prefixes(&x->prefix, &y->prefix);

	return order ? order : (x->service > y->service) - (x->service < y->service);
}

static size_t count_pairs(const struct conf *conf)
{
	size_t count = 0;

	for (size_t i = 0; i < conf->service_count; i++)
		count += conf->services[i].vip_count;
	return count;
}

static void list_pairs(const struct conf *conf, struct pair *pairs)
{
	size_t at = 0;

	for (size_t i = 0; i < conf->service_count; i++) {
		for (size_t v = 0; v < conf->services[i].vip_count; v++)
			pairs[at++] = (struct pair){conf->services[i].vips[v], i};
	}
	qsort(pairs, at, sizeof(*pairs), compare_pairs);
}

/* Pairs of one prefix stand together. */
static void make_vips(struct policy *policy, const struct pair *pairs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct policy_vip *vip = &policy->vips[policy->vip_count];

		policy->places[i] = pairs[i].service;
		if (i && prefix_equal(&pairs[i].prefix, &pairs[i - 1].prefix)) {
			vip[-1].service_count++;
			continue;
		}
		vip->prefix = pairs[i].prefix;
		vip->announce = &policy->conf->services[pairs[i].service].announce;
		vip->services = &policy->places[i];
		vip->service_count = 1;
		policy->vip_count++;
	}
}

static int find_vips(struct policy *policy)
{
	size_t count = count_pairs(policy->conf);
	struct pair *pairs = calloc(count + 1, sizeof(*pairs));

	policy->places = calloc(count + 1, sizeof(*policy->places));
	policy->vips = calloc(count + 1, sizeof(*policy->vips));
	if (pairs && policy->places && policy->vips) {
		list_pairs(policy->conf, pairs);
		make_vips(policy, pairs, count);
	}
	free(pairs);
	return pairs && policy->places && policy->vips ? 0 : -1;
}

/* --- what goes on --- */

static int compare_named(const void *a, const void *b)
{
	return strcmp((*(const struct conf_service *const *)a)->name,
		      (*(const struct conf_service *const *)b)->name);
}

static void take_services(struct policy *policy, const struct policy *before,
			  const struct conf_service **sorted)
{
	size_t count = before->conf->service_count;

	for (size_t i = 0; i < count; i++)
		sorted[i] = &before->conf->services[i];
	qsort(sorted, count, sizeof(*sorted), compare_named);
	for (size_t i = 0; i < policy->conf->service_count; i++) {
		const struct conf_service *wanted = &policy->conf->services[i], **found;

		found = bsearch(&wanted, sorted, count, sizeof(*sorted), compare_named);
		if (found)
			policy->services[i] = before->services[*found - before->conf->services];
	}
}

static int take_over(struct policy *policy, const struct policy *before)
{
	const struct conf_service **sorted =
		calloc(before->conf->service_count + 1, sizeof(*sorted));

	if (!sorted)
		return -1;
	take_services(policy, before, sorted);
	free(sorted);
	for (size_t i = 0; i < policy->vip_count; i++) {
		struct policy_vip *vip = &policy->vips[i];
		size_t at = policy_find_vip(before, &vip->prefix);

		if (at == SIZE_MAX)
			continue;
		vip->withdrawn = before->vips[at].withdrawn;
		vip->announced = before->vips[at].announced;
		vip->since_ms = before->vips[at].since_ms;
	}
	return 0;
}

struct policy *policy_new(const struct conf *conf, const struct policy *before, uint64_t now_ms)
{
	struct policy *policy = calloc(1, sizeof(*policy));

	if (!policy)
		return NULL;
	policy->conf = conf;
	policy->pools = calloc(conf->pool_count + 1, sizeof(*policy->pools));
	policy->services = calloc(conf->service_count + 1, sizeof(*policy->services));
	if (!policy->pools || !policy->services || find_vips(policy)) {
		policy_free(policy);
		return NULL;
	}
	for (size_t i = 0; i < policy->vip_count; i++)
		policy->vips[i].since_ms = now_ms;
	if (before && take_over(policy, before)) {
		policy_free(policy);
		return NULL;
	}
	return policy;
}

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	free(policy->pools);
	free(policy->services);
	free(policy->vips);
	free(policy->places);
	free(policy);
}

void policy_assume_served(struct policy *policy)
{
	for (size_t i = 0; i < policy->conf->service_count; i++)
		policy->services[i].serves = true;
}

/* --- deciding --- */

void policy_set_pool(struct policy *policy, size_t pool, uint32_t usable, uint32_t draining)
{
	policy->pools[pool] = (struct pool_count){usable, draining};
}

void policy_withdraw(struct policy *policy, size_t vip, bool withdrawn)
{
	policy->vips[vip].withdrawn = withdrawn;
}

static const struct pool_count *pool_of(const struct policy *policy, size_t service)
{
	return &policy->pools[policy->conf->services[service].pool - policy->conf->pools];
}

static void decide_service(struct policy *policy, size_t at, uint64_t now_ms)
{
	const struct conf_announce *announce = &policy->conf->services[at].announce;
	const struct pool_count *count = pool_of(policy, at);
	struct service *service = &policy->services[at];
	bool enough = count->usable >= announce->min_usable;

	if (service->serves) {
		service->serves = count->usable + count->draining >= announce->min_usable;
		service->fell = !service->serves;
		return;
	}
	if (!enough) {
		service->waits = false;
		return;
	}
	if (!service->waits) {
		service->waits = true;
		service->since_ms = now_ms;
	}
	if (!service->fell || now_ms - service->since_ms >= announce->hold_up_ms) {
		service->serves = true;
		service->waits = false;
	}
}

static bool is_served(const struct policy *policy, const struct policy_vip *vip)
{
	bool all = vip->announce->when == CONF_WHEN_ALL;

	for (size_t i = 0; i < vip->service_count; i++) {
		if (policy->services[vip->services[i]].serves != all)
			return !all;
	}
	return all;
}

void policy_decide(struct policy *policy, uint64_t now_ms)
{
	for (size_t i = 0; i < policy->conf->service_count; i++)
		decide_service(policy, i, now_ms);
	for (size_t i = 0; i < policy->vip_count; i++) {
		struct policy_vip *vip = &policy->vips[i];
		bool announced = !vip->withdrawn && is_served(policy, vip);

		if (announced != vip->announced)
			vip->since_ms = now_ms;
		vip->announced = announced;
	}
}

uint64_t policy_deadline_ms(const struct policy *policy)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < policy->conf->service_count; i++) {
		const struct service *service = &policy->services[i];
		uint64_t at = service->since_ms + policy->conf->services[i].announce.hold_up_ms;

		if (service->waits && at < first)
			first = at;
	}
	return first;
}

/* --- to be read --- */

size_t policy_vip_count(const struct policy *policy)
{
	return policy->vip_count;
}

const struct policy_vip *policy_vip(const struct policy *policy, size_t vip)
{
	return &policy->vips[vip];
}

static int compare_vip(const void *key, const void *vip)
{
	return compare_prefixes(key, &((const struct policy_vip *)vip)->prefix);
}

size_t policy_find_vip(const struct policy *policy, const struct prefix *prefix)
{
	const struct policy_vip *found = bsearch(prefix, policy->vips, policy->vip_count,
						 sizeof(*policy->vips), compare_vip);

	return found ? (size_t)(found - policy->vips) : SIZE_MAX;
}

/* The service that decided: with `all` the first that is not like the others, else any. */
static size_t deciding(const struct policy *policy, const struct policy_vip *vip)
{
	bool served = is_served(policy, vip);

	for (size_t i = 0; i < vip->service_count; i++) {
		if (policy->services[vip->services[i]].serves == served)
			return vip->services[i];
	}
	return vip->services[0];
}

const char *policy_why(const struct policy *policy, size_t vip, char text[POLICY_WHY_MAX])
{
	size_t at = deciding(policy, &policy->vips[vip]);
	const struct conf_service *service = &policy->conf->services[at];
	const struct pool_count *count = pool_of(policy, at);
	const char *name = service->name;
	const char *backends = plural(count->usable, "backend", "backends");
	uint32_t wanted = service->announce.min_usable;

	if (policy->vips[vip].withdrawn)
		snprintf(text, POLICY_WHY_MAX, "withdrawn by hand");
	else if (policy->services[at].waits)
		snprintf(text, POLICY_WHY_MAX, "%s has %u usable %s again, for less than hold_up",
			 name, count->usable, backends);
	else if (count->usable >= wanted)
		snprintf(text, POLICY_WHY_MAX, "%s has %u usable %s", name, count->usable,
			 backends);
	else if (policy->services[at].serves)
		snprintf(text, POLICY_WHY_MAX, "%s has %u usable %s and %u that %s", name,
			 count->usable, backends, count->draining,
			 plural(count->draining, "drains", "drain"));
	else
		snprintf(text, POLICY_WHY_MAX, "%s has %u usable %s, of %u at least", name,
			 count->usable, backends, wanted);
	return text;
}
