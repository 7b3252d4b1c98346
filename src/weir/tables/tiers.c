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

int tiers_write(const struct conf_node *node, struct dp_tables *tables, struct err *err)
{
	struct dp_held *old;
	size_t count;
	int ret = dp_tables_hold(tables, ABI_LIST_BALANCERS, ABI_LIST_BALANCERS, &old, &count);

	if (ret)
		return err_set(err, ret, "the balancers that were there cannot be read: %s",
			       strerror(-ret));
	for (size_t i = 0; i < node->balancer_count && !ret; i++) {
		struct abi_prefix prefix = dp_prefix(ABI_LIST_BALANCERS, &node->balancers[i]);

		ret = tables->set_prefix(tables->prefixes, &prefix, 1);
	}
	for (size_t i = 0; i < count; i++) {
		if (!is_named(node, &old[i].prefix))
			tables->set_prefix(tables->prefixes, &old[i].prefix, 0);
	}
	free(old);
	if (ret)
		return err_set(err, ret,
			       "node.balancers do not fit: with all VIPs and access lists there "
			       "are %d prefixes",
			       ABI_PREFIXES);
	return 0;
}
