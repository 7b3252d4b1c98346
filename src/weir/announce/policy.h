/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which VIPs are announced: from what the configuration says (services[].announce), what each pool
 * has of usable and of draining backends, and what operators withdrew. State in, decisions out; no
 * I/O and no clock (times are passed in). One thread.
 *
 * A service begins to serve when enough backends take new flows, and goes on to while those that
 * drain make up for the missing ones: new flows fail then, but the old ones are still carried. One
 * that stopped begins again only when it could have served for hold_up without a break.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"

enum { POLICY_WHY_MAX = 192 };

/* A VIP, as a route. */
struct policy_vip {
	struct prefix prefix;
	const struct conf_announce *announce; /* of a service of it: they agree on the route */
	size_t *services;                     /* places in the configuration */
	size_t service_count;
	bool withdrawn;    /* by hand: policy_withdraw */
	bool announced;    /* as of the last policy_decide */
	uint64_t since_ms; /* that it is so */
};

struct policy;

/* `before` (or NULL) is the policy of the configuration before: what is the same goes on, and it
 * may be freed then. `conf` must outlive it. NULL: out of memory. */
struct policy *policy_new(const struct conf *conf, const struct policy *before, uint64_t now_ms);
void policy_free(struct policy *policy);

/* Before the first policy_decide: an earlier daemon may have announced everything, so what only
 * drains by now is kept. */
void policy_assume_served(struct policy *policy);

/* What the pool at that place of the configuration has: backends that take new flows, and that
 * drain and still have flows. */
void policy_set_pool(struct policy *policy, size_t pool, uint32_t usable, uint32_t draining);
void policy_withdraw(struct policy *policy, size_t vip, bool withdrawn);
/* Brings `announced` of all to what it is at `now_ms`. */
void policy_decide(struct policy *policy, uint64_t now_ms);
/* When that changes by time alone; UINT64_MAX: never. */
uint64_t policy_deadline_ms(const struct policy *policy);

/* In the order of their prefixes. */
size_t policy_vip_count(const struct policy *policy);
const struct policy_vip *policy_vip(const struct policy *policy, size_t vip);
/* SIZE_MAX: there is none. */
size_t policy_find_vip(const struct policy *policy, const struct prefix *prefix);
/* Why it is announced or not, as of the last policy_decide: "web serves with 2 of 1 backends".
 * Returns `text`. */
const char *policy_why(const struct policy *policy, size_t vip, char text[POLICY_WHY_MAX]);
