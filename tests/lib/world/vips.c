// SPDX-License-Identifier: BSD-2-Clause
/* VIPs that are prefixes, and access lists, in the world of packet tests. */
#include <assert.h>
#include <netinet/in.h>

#include "base/addr.h"
#include "tests/lib/world/world.h"

static const struct {
	const char *vip;
	uint32_t service;
} ranges[] = {
	{"198.18.0.0/16", WORLD_WIDE},   {"2001:db8:20::/48", WORLD_WIDE},
	{"198.18.5.0/24", WORLD_NARROW}, {"2001:db8:20:5::/64", WORLD_NARROW},
	{"198.19.0.2/31", WORLD_PAIR},   {"2001:db8:21::2/127", WORLD_PAIR},
};

static const struct {
	uint32_t service;
	const char *prefix;
	uint32_t value;
} lists[] = {
	{WORLD_GUARD, "203.0.113.0/24", ABI_ACCESS_ALLOW},
	{WORLD_GUARD, "203.0.113.128/25", ABI_ACCESS_DENY},
	{WORLD_GUARD, "203.0.113.200/32", ABI_ACCESS_ALLOW},
	{WORLD_GUARD, "2001:db8:c::/48", ABI_ACCESS_ALLOW},
	{WORLD_GUARD, "2001:db8:c:8000::/49", ABI_ACCESS_DENY},
	{WORLD_GUARD, "2001:db8:c:8000::c8/128", ABI_ACCESS_ALLOW},
	{WORLD_GUARD6, "::/0", ABI_ACCESS_ALLOW},
};

static struct prefix parse(const char *text)
{
	struct prefix prefix;

	if (prefix_parse(text, &prefix) != 0)
		assert(!"a prefix of the world");
	return prefix;
}

/* The listens in the order that set_range has to mend. */
static void fill_range(struct dp_tables *tables, uint32_t at)
{
	struct prefix vip = parse(ranges[at].vip);
	uint32_t service = ranges[at].service;
	uint64_t listens[3];
	size_t count = 0;
	int result;

	if (service != WORLD_WIDE)
		listens[count++] = abi_listen(0, 65535, ABI_PROTO_ANY, service);
	if (service != WORLD_PAIR)
		listens[count++] = abi_listen(80, 80, IPPROTO_TCP, service);
	if (service == WORLD_WIDE)
		listens[count++] = abi_listen(443, 443, IPPROTO_TCP, service);
	result = dp_tables_set_range(tables, ABI_VIPS + at, &vip, listens, count);
	assert(result == 0);
	(void)result;
}

void world_fill_vips(struct dp_tables *tables)
{
	for (uint32_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		fill_range(tables, i);
	for (uint32_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct abi_service *service = &tables->services[lists[i].service];
		struct prefix prefix = parse(lists[i].prefix);
		struct abi_prefix key;
		int result;

		service->access = ABI_LIST_ACCESS + lists[i].service;
		service->flags |= ABI_SERVICE_ACCESS;
		key = dp_prefix(service->access, &prefix);
		result = tables->set_prefix(tables->prefixes, &key, lists[i].value);
		assert(result == 0);
		(void)result;
	}
}
