/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/tables/tiers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_named(const struct conf_node *node, const struct abi_prefix *prefix)
{
	for (size_t i = 0; i < node->balancer_count; i++) {
		struct abi_prefix named = dp_prefix(ABI_LIST_BALANCERS, &node->balancers[i]);

		if (memcmp(&named, prefix, sizeof(named)) == 0)
			return true;
	}
	return false;
}

static bool was_there(const struct tiers *tiers, const struct abi_prefix *prefix)
{
	const struct dp_held key = {.prefix = *prefix};

	return tiers->old_count &&
	       bsearch(&key, tiers->old, tiers->old_count, sizeof(key), dp_held_compare);
}

int tiers_add(struct tiers *tiers, const struct conf_node *node, struct dp_tables *tables,
	      struct err *err)
{
	int ret;

	*tiers = (struct tiers){.node = node, .tables = tables};
	ret = dp_tables_hold(tables, ABI_LIST_BALANCERS, ABI_LIST_BALANCERS, &tiers->old,
			     &tiers->old_count);
	if (ret)
		return err_set(err, ret, "the balancers that were there cannot be read: %s",
			       strerror(-ret));
	for (size_t i = 0; i < node->balancer_count && !ret; i++) {
		struct abi_prefix prefix = dp_prefix(ABI_LIST_BALANCERS, &node->balancers[i]);

		if (!was_there(tiers, &prefix))
			ret = tables->set_prefix(tables->prefixes, &prefix, 1);
	}
	if (!ret)
		return 0;
	tiers_undo(tiers);
	tiers_fini(tiers);
	return err_set(err, ret,
		       "node.balancers do not fit: with all VIPs and access lists there are %d "
		       "prefixes",
		       ABI_PREFIXES);
}

void tiers_drop(struct tiers *tiers)
{
	for (size_t i = 0; i < tiers->old_count; i++) {
		if (!is_named(tiers->node, &tiers->old[i].prefix))
			tiers->tables->set_prefix(tiers->tables->prefixes, &tiers->old[i].prefix,
						  0);
	}
}

void tiers_undo(struct tiers *tiers)
{
	for (size_t i = 0; i < tiers->node->balancer_count; i++) {
		struct abi_prefix prefix =
			dp_prefix(ABI_LIST_BALANCERS, &tiers->node->balancers[i]);

		if (!was_there(tiers, &prefix))
			tiers->tables->set_prefix(tiers->tables->prefixes, &prefix, 0);
	}
}

void tiers_fini(struct tiers *tiers)
{
	free(tiers->old);
	tiers->old = NULL;
	tiers->old_count = 0;
}
